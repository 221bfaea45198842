//! Notifications of events: bearers that are established or released, and changes of cells.

use super::{ERAB, Entry, Service};
use crate::notify::Item;
use crate::report::Report;
use crate::types::{
    AssociateId, CELL_CHANGE_NOTIFICATION, COMPLETED, CellChangeNotification, Ecgi,
    ErabQosParameters, ErabReleaseInfo, FilterCriteriaQci, RabEstNotification, RabRelNotification,
    TimeStamp, WrittenSubscription,
};
use std::collections::BTreeMap;

impl Service {
    /// Notifies the subscribers that a UE's bearer was established or released in `cell`.
    pub(super) fn bearers(
        &self,
        subscriptions: &BTreeMap<u64, Entry>,
        report: &Report,
        cell: usize,
        came: bool,
    ) {
        let associate_id: Vec<AssociateId> = report.ue.iter().map(AssociateId::of).collect();
        let (time_stamp, ecgi) = (TimeStamp::now(), self.cell.ecgi(cell));
        for entry in subscriptions.values() {
            let (filter, wants_came) = match &entry.written {
                WrittenSubscription::RabEstSubscription(rab) => (&rab.filter_criteria_qci, true),
                WrittenSubscription::RabRelSubscription(rab) => (&rab.filter_criteria_qci, false),
                WrittenSubscription::CellChangeSubscription(_)
                | WrittenSubscription::JustfullRanReportSubscription(_) => continue,
            };
            if wants_came != came || !self.wanted(filter, &ecgi) {
                continue;
            }
            let (associate_id, ecgi) = (associate_id.clone(), ecgi.clone());
            let text = if came {
                serde_json::to_string(&RabEstNotification {
                    notification_type: "RabEstNotification".into(),
                    time_stamp,
                    associate_id,
                    ecgi,
                    erab_id: ERAB,
                    erab_qos_parameters: ErabQosParameters { qci: self.cell.qci },
                })
            } else {
                serde_json::to_string(&RabRelNotification {
                    notification_type: "RabRelNotification".into(),
                    time_stamp,
                    associate_id,
                    ecgi,
                    erab_release_info: ErabReleaseInfo { erab_id: ERAB },
                })
            };
            entry.mailbox.put(Item::Text(text.unwrap_or_default()));
        }
    }

    /// Notifies the subscribers that the UE of `report` left the first of `cells` for the second.
    pub(super) fn moved(
        &self,
        subscriptions: &BTreeMap<u64, Entry>,
        report: &Report,
        cells: [usize; 2],
    ) {
        let [left, new] = cells.map(|cell| self.cell.ecgi(cell));
        for entry in subscriptions.values() {
            let WrittenSubscription::CellChangeSubscription(of) = &entry.written else { continue };
            let cells = &of.filter_criteria_assoc_ho.ecgi;
            let wanted = cells.is_empty() || cells.contains(&left) || cells.contains(&new);
            if !wanted || !entry.is_about(&report.ue) {
                continue;
            }
            let text = serde_json::to_string(&CellChangeNotification {
                notification_type: CELL_CHANGE_NOTIFICATION.into(),
                time_stamp: TimeStamp::now(),
                associate_id: report.ue.iter().map(AssociateId::of).collect(),
                src_ecgi: left.clone(),
                trg_ecgi: vec![new.clone()],
                ho_status: COMPLETED,
                cell: report.cell.as_deref().unwrap_or_default().into(),
            });
            entry.mailbox.put(Item::Text(text.unwrap_or_default()));
        }
    }

    /// True if the filter selects the bearers of the cell `ecgi`.
    fn wanted(&self, filter: &FilterCriteriaQci, ecgi: &Ecgi) -> bool {
        filter.qci == self.cell.qci
            && filter.erab_id.is_none_or(|erab| erab == ERAB)
            && (filter.ecgi.is_empty() || filter.ecgi.contains(ecgi))
    }
}
