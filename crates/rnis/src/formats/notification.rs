//! The service's messages, read by its client. In a list, entries that are no reports are counted,
//! and the others are used.

use crate::malformed::Malformed;
use crate::report::{Report, WrittenReport};
use crate::types::{RAN_REPORT_NOTIFICATION, TimeStamp};
use serde::Deserialize;
use serde_json::Value;

/// The content of a notification.
#[derive(Clone, Debug, PartialEq)]
pub enum Notification {
    /// Reports, and the number of entries that were no reports.
    Reports(Vec<Report>, u64),
    /// The subscription is about to end.
    Expiry,
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
