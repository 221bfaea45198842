//! Common parts of all types of subscriptions.

use crate::query::Problem;
use crate::types::{
    CELL_CHANGE_SUBSCRIPTION, COMPLETED, LinkType, Links, RAN_REPORT_SUBSCRIPTION, TimeStamp,
    WrittenSubscription,
};
use axum::http::Uri;
use justfull_net::{Prefix, clock};
use std::time::Duration;

/// Default and longest lifetime of a subscription.
const HOUR: u32 = 3_600;
const LONGEST: u32 = 24 * HOUR;
/// Longest address of a receiver.
const LONGEST_CALLBACK: usize = 1_000;
/// Most UEs of a filter.
const MOST_UES: usize = 1_000;
/// Longest time between two notifications, in ms.
const LONGEST_PERIOD: u32 = 10_000;

impl TimeStamp {
    /// The time.
    #[must_use]
    pub fn now() -> Self {
        let now = clock::unix_time();
        Self { seconds: now.as_secs() as u32, nano_seconds: now.subsec_nanos() }
    }
}

/// The field of that name, for every type.
macro_rules! of_each {
    ($subscription:expr, $inner:ident => $field:expr) => {
        match $subscription {
            WrittenSubscription::RabEstSubscription($inner)
            | WrittenSubscription::RabRelSubscription($inner) => $field,
            WrittenSubscription::CellChangeSubscription($inner) => $field,
            WrittenSubscription::JustfullRanReportSubscription($inner) => $field,
        }
    };
}

impl WrittenSubscription {
    /// Its type.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::RabEstSubscription(_) => "RabEstSubscription",
            Self::RabRelSubscription(_) => "RabRelSubscription",
            Self::CellChangeSubscription(_) => CELL_CHANGE_SUBSCRIPTION,
            Self::JustfullRanReportSubscription(_) => RAN_REPORT_SUBSCRIPTION,
        }
    }

    /// Its type in the filter of the list of subscriptions.
    pub(crate) fn short(name: &str) -> &'static str {
        match name {
            "RabEstSubscription" => "rab_est",
            "RabRelSubscription" => "rab_rel",
            CELL_CHANGE_SUBSCRIPTION => "cell_change",
            _ => "justfull_ran_report",
        }
    }

    pub(crate) fn callback(&self) -> &str {
        of_each!(self, inner => &inner.callback_reference)
    }

    pub(crate) fn link(&self) -> &str {
        let links = of_each!(self, inner => &inner.links);
        links.as_ref().map_or("", |links| &links.own.href)
    }

    pub(crate) fn set_link(&mut self, href: &str) {
        let links = Links { own: LinkType { href: href.into() } };
        of_each!(self, inner => inner.links = Some(links));
    }

    /// When it ends; [`WrittenSubscription::check`] has set that.
    pub(crate) fn deadline(&self) -> TimeStamp {
        let deadline = of_each!(self, inner => inner.expiry_deadline);
        deadline.unwrap_or(TimeStamp { seconds: 0, nano_seconds: 0 })
    }

    /// Least time between two notifications.
    pub(crate) fn period(&self) -> Duration {
        match self {
            Self::JustfullRanReportSubscription(reports) => {
                Duration::from_millis(reports.filter_criteria_ran_report.period_ms.into())
            }
            _ => Duration::ZERO,
        }
    }

    /// Reads a request's body.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Problem> {
        let bad = |e: serde_json::Error| Problem::new(400, format!("the body: {e}"));
        let tree: serde_json::Value = serde_json::from_slice(body).map_err(bad)?;
        let Some(name) = tree.get("subscriptionType").and_then(serde_json::Value::as_str) else {
            return Err(Problem::new(400, "field `subscriptionType` is missing"));
        };
        const UNSERVED: [&str; 6] = [
            "RabModSubscription",
            "MeasRepUeSubscription",
            "NrMeasRepUeSubscription",
            "MeasTaSubscription",
            "CaReconfSubscription",
            "S1BearerSubscription",
        ];
        if UNSERVED.contains(&name) {
            return Err(Problem::new(
                422,
                format!(
                    "{name}: the cell reports nothing of it; served are RabEstSubscription, \
                     RabRelSubscription, {CELL_CHANGE_SUBSCRIPTION} and {RAN_REPORT_SUBSCRIPTION}"
                ),
            ));
        }
        serde_json::from_value(tree).map_err(bad)
    }

    /// Checks it, sets its deadline, and returns its UEs; empty: all.
    pub(crate) fn check(&mut self) -> Result<Vec<Prefix>, Problem> {
        let refused = |what: String| Problem::new(422, what);
        let uri: Option<Uri> = self.callback().parse().ok();
        let http = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some()
        });
        if !http || self.callback().len() > LONGEST_CALLBACK {
            return Err(refused(format!(
                "`callbackReference`: allowed is an http or https URI of at most \
                 {LONGEST_CALLBACK} bytes"
            )));
        }
        let now = TimeStamp::now();
        let deadline = of_each!(self, inner => &mut inner.expiry_deadline);
        let wanted = deadline
            .unwrap_or(TimeStamp { seconds: now.seconds.saturating_add(HOUR), nano_seconds: 0 });
        if wanted <= now {
            return Err(refused("`expiryDeadline` is in the past".into()));
        }
        let latest = TimeStamp { seconds: now.seconds.saturating_add(LONGEST), ..now };
        *deadline = Some(wanted.min(latest));
        let ues = match self {
            Self::RabEstSubscription(_) | Self::RabRelSubscription(_) => return Ok(Vec::new()),
            Self::CellChangeSubscription(changes) => {
                let filter = &changes.filter_criteria_assoc_ho;
                if filter.ho_status != [COMPLETED] {
                    return Err(refused(format!(
                        "`hoStatus`: found {:?}, served is [{COMPLETED}], COMPLETED",
                        filter.ho_status
                    )));
                }
                &filter.associate_id
            }
            Self::JustfullRanReportSubscription(reports) => {
                let filter = &reports.filter_criteria_ran_report;
                if !(1..=LONGEST_PERIOD).contains(&filter.period_ms) {
                    return Err(refused(format!(
                        "`periodMs`: found {}, allowed is 1 to {LONGEST_PERIOD}",
                        filter.period_ms
                    )));
                }
                &filter.associate_id
            }
        };
        if ues.len() > MOST_UES {
            return Err(refused(format!("`associateId`: allowed are at most {MOST_UES}")));
        }
        ues.iter().map(|id| id.prefix().map_err(|why| refused(why.to_string()))).collect()
    }
}
