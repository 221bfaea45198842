//! The service's messages, read by its client. In a list, entries that are no reports are counted,
//! and the others are used.

use crate::malformed::Malformed;
use crate::report::{MOST_ADDRESSES, Report, WrittenReport, cell_name};
use crate::types::{
    AssociateId, CELL_CHANGE_NOTIFICATION, COMPLETED, Ecgi, RAN_REPORT_NOTIFICATION, TimeStamp,
};
use justfull_net::Prefix;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// The content of a notification.
#[derive(Clone, Debug, PartialEq)]
pub enum Notification {
    /// Reports, and the number of entries that were no reports.
    Reports(Vec<Report>, u64),
    /// A UE has changed its cell.
    CellChange(CellChange),
    /// The subscription is about to end.
    Expiry,
}

/// A completed handover (GS MEC 012 section 6.4.2).
#[derive(Clone, Debug, PartialEq)]
pub struct CellChange {
    /// Addresses or prefixes of the UE, 1 to [`MOST_ADDRESSES`].
    pub ue: Vec<Prefix>,
    /// The new cell's name in reports: the attribute `cell_id` of the extension, and without it
    /// the identity in the target's ECGI.
    pub cell: Arc<str>,
}

/// A `CellChangeNotification`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenChange {
    associate_id: Vec<AssociateId>,
    trg_ecgi: Vec<Ecgi>,
    ho_status: u8,
    #[serde(rename = "cell_id")]
    cell: Option<String>,
}

impl TryFrom<WrittenChange> for CellChange {
    type Error = Malformed;

    fn try_from(written: WrittenChange) -> Result<Self, Malformed> {
        if written.ho_status != COMPLETED {
            let found = written.ho_status;
            return Err(format!("`hoStatus` is {found}, subscribed to is {COMPLETED}").into());
        }
        // An address after NAT and a TEID (types 3 and 4) name no UE here.
        let known = written.associate_id.iter().filter(|id| matches!(id.kind, 1 | 2));
        let ue: Vec<Prefix> = known.map(AssociateId::prefix).collect::<Result<_, _>>()?;
        if !(1..=MOST_ADDRESSES).contains(&ue.len()) {
            let found = ue.len();
            return Err(format!(
                "`associateId` has {found} addresses, allowed is 1 to {MOST_ADDRESSES}"
            )
            .into());
        }
        let [target] = &written.trg_ecgi[..] else {
            let found = written.trg_ecgi.len();
            return Err(format!("`trgEcgi` has {found} cells, a completed handover has 1").into());
        };
        let cell = cell_name(written.cell.as_deref().unwrap_or(&target.cell_id))?;
        Ok(Self { ue, cell })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Any {
    notification_type: Option<String>,
    expiry_deadline: Option<TimeStamp>,
    reports: Option<Vec<Value>>,
}

/// Reads a notification's body.
///
/// # Errors
/// It is no notification of a type that the client subscribes to.
pub fn notification(body: &[u8]) -> Result<Notification, Malformed> {
    let any: Any = serde_json::from_slice(body)?;
    match (any.notification_type.as_deref(), any.reports, any.expiry_deadline) {
        (Some(RAN_REPORT_NOTIFICATION), Some(values), _) => {
            let (reports, garbled) = each(values);
            Ok(Notification::Reports(reports, garbled))
        }
        (Some(CELL_CHANGE_NOTIFICATION), None, _) => {
            let written: WrittenChange = serde_json::from_slice(body)?;
            written.try_into().map(Notification::CellChange)
        }
        (None | Some("ExpiryNotification"), None, Some(_)) => Ok(Notification::Expiry),
        (kind, ..) => {
            Err(format!("a notification of type {kind:?}, which is not subscribed to").into())
        }
    }
}

/// Reads the answer to a query for reports: the reports, and the number of entries that were no
/// reports.
///
/// # Errors
/// It is no such answer.
pub fn reports(body: &[u8]) -> Result<(Vec<Report>, u64), Malformed> {
    let any: Any = serde_json::from_slice(body)?;
    any.reports.map(each).ok_or_else(|| "it has no `reports`".into())
}

fn each(values: Vec<Value>) -> (Vec<Report>, u64) {
    let mut garbled = 0;
    let reports = values.into_iter().filter_map(|value| {
        let written = serde_json::from_value::<WrittenReport>(value).ok();
        let report = written.and_then(|written| Report::try_from(written).ok());
        garbled += u64::from(report.is_none());
        report
    });
    (reports.collect(), garbled)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGE: &str = r#"{"notificationType": "CellChangeNotification",
        "timeStamp": {"seconds": 1, "nanoSeconds": 0}, "hoStatus": 3,
        "associateId": [{"type": 4, "value": "7"}, {"type": 1, "value": "10.45.0.1"}],
        "srcEcgi": {"cellId": "0000001", "plmn": {"mcc": "001", "mnc": "01"}},
        "trgEcgi": [{"cellId": "0000002", "plmn": {"mcc": "001", "mnc": "01"}}]}"#;

    #[test]
    fn a_change_of_the_cell_names_the_ue_and_the_new_cell() {
        let change = |cell: &str| {
            let ue = vec!["10.45.0.1".parse().expect("an address")];
            Ok(Notification::CellChange(CellChange { ue, cell: cell.into() }))
        };
        assert_eq!(notification(CHANGE.as_bytes()), change("0000002"));
        let named = CHANGE.replacen('{', r#"{"cell_id": "east/1","#, 1);
        assert_eq!(notification(named.as_bytes()), change("east/1"));
    }

    #[test]
    fn a_wrong_change_of_the_cell_is_refused() {
        let many = r#"{"type": 1, "value": "10.45.0.1"}, "#.repeat(MOST_ADDRESSES) + "{\"type\": 1";
        let target = r#"[{"cellId": "0000002", "plmn": {"mcc": "001", "mnc": "01"}}]"#;
        let two = format!("{}, {}", &target[..target.len() - 1], &target[1..]);
        for (from, to) in [
            ("\"hoStatus\": 3", "\"hoStatus\": 1"),
            ("\"hoStatus\": 3", "\"hoStatus\": 259"),
            ("\"hoStatus\": 3,", ""),
            ("{\"type\": 1", "{\"type\": 3"),
            ("{\"type\": 1", "{\"type\": 2"),
            ("{\"type\": 1", &many),
            ("10.45.0.1", "ten"),
            (target, "[]"),
            (target, &two),
            ("0000002", ""),
            ("0000002", "a b"),
            ("{", r#"{"cell_id": 7, "#),
            ("{", r#"{"cell_id": "a\"b", "#),
            ("{", r#"{"reports": [], "#),
        ] {
            let text = CHANGE.replacen(from, to, 1);
            assert_ne!(text, CHANGE, "{from}");
            assert!(notification(text.as_bytes()).is_err(), "{to}");
        }
        for end in 0..CHANGE.len() {
            assert!(notification(&CHANGE.as_bytes()[..end]).is_err(), "cut to {end} bytes");
        }
    }

    #[test]
    fn good_reports_are_taken_and_bad_ones_counted() {
        let good = r#"{"associateId": [{"type": 1, "value": "10.45.0.1"}], "at_us": 1,
            "cell": "bytes", "slot_us": 1000, "slots": 1, "offered": 2500, "used": 0}"#;
        let list = format!(r#"[{good}, 7, {{"at_us": 1}}]"#);
        let (read, garbled) = reports(format!(r#"{{"reports": {list}}}"#).as_bytes()).expect("one");
        assert_eq!((read.len(), garbled), (1, 2));
        let text =
            format!(r#"{{"notificationType": "{RAN_REPORT_NOTIFICATION}", "reports": {list}}}"#);
        assert_eq!(notification(text.as_bytes()), Ok(Notification::Reports(read, 2)));
        let expiry =
            r#"{"_links": {"self": "x"}, "expiryDeadline": {"seconds": 1, "nanoSeconds": 0}}"#;
        assert_eq!(notification(expiry.as_bytes()), Ok(Notification::Expiry));
        for text in
            ["", "{}", "[]", r#"{"notificationType": "RabEstNotification"}"#, "{\"reports\": 1}"]
        {
            assert!(notification(text.as_bytes()).is_err(), "{text}");
            assert!(reports(text.as_bytes()).is_err(), "{text}");
        }
    }
}
