//! Data types of ETSI GS MEC 012 V2.1.1, sections 6.2 to 6.6, in the form of its OpenAPI
//! description, and the types of the extension.
//!
//! Optional attributes that no report of a cell fills are left out, such as the temporary
//! identifier of a UE.

pub use crate::associate::AssociateId;
use crate::report::WrittenReport;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The path of the service (section 7.2: `{apiRoot}/rni/v2`).
pub const ROOT: &str = "/rni/v2";
/// The path of the OpenAPI description.
pub const DOCUMENT: &str = "/openapi.json";
/// The path of the extension's reports.
pub const REPORTS: &str = "/justfull/v1/ran_reports";
/// `subscriptionType` of the extension.
pub const RAN_REPORT_SUBSCRIPTION: &str = "JustfullRanReportSubscription";
/// `subscriptionType` and `notificationType` of changes of cells (sections 6.3.2 and 6.4.2).
pub const CELL_CHANGE_SUBSCRIPTION: &str = "CellChangeSubscription";
/// See [`CELL_CHANGE_SUBSCRIPTION`].
pub const CELL_CHANGE_NOTIFICATION: &str = "CellChangeNotification";
/// `hoStatus` of a handover that is over (section 6.4.2).
pub const COMPLETED: u8 = 3;
/// `notificationType` of the extension.
pub const RAN_REPORT_NOTIFICATION: &str = "JustfullRanReportNotification";

/// A time since 1970-01-01 UTC (section 6.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeStamp {
    /// Its seconds.
    #[schema(maximum = 4_294_967_295_u32)]
    pub seconds: u32,
    /// Its nanoseconds.
    #[schema(maximum = 999_999_999)]
    pub nano_seconds: u32,
}

/// A public land mobile network (section 6.5.5).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
pub struct Plmn {
    /// Mobile country code.
    pub mcc: String,
    /// Mobile network code.
    pub mnc: String,
}

/// A cell (section 6.5.6).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ecgi {
    /// Its identity in the network, in hexadecimal digits.
    pub cell_id: String,
    /// Its network.
    pub plmn: Plmn,
}

/// The networks of an application instance (section 6.2.3).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlmnInfo {
    /// When this was so.
    pub time_stamp: TimeStamp,
    /// The application instance of the request.
    pub app_instance_id: String,
    /// The networks.
    #[schema(min_items = 1)]
    pub plmn: Vec<Plmn>,
}

/// Bearers of the cells (section 6.2.2).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RabInfo {
    /// When this was so.
    pub time_stamp: TimeStamp,
    /// The application instance of the request; empty if the request has none.
    pub app_instance_id: String,
    /// Number of this answer.
    pub request_id: String,
    /// The cells with a requested UE.
    pub cell_user_info: Vec<CellUserInfo>,
}

/// UEs of a cell.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CellUserInfo {
    /// The cell.
    pub ecgi: Ecgi,
    /// Its UEs.
    #[schema(min_items = 1)]
    pub ue_info: Vec<UeInfo>,
}

/// A UE and its bearers.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UeInfo {
    /// The UE.
    pub associate_id: Vec<AssociateId>,
    /// Its bearers.
    #[schema(min_items = 1)]
    pub erab_info: Vec<ErabInfo>,
}

/// A bearer.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErabInfo {
    /// Its number in its UE.
    pub erab_id: u8,
    /// Its quality of service.
    pub erab_qos_parameters: ErabQosParameters,
}

/// S1 bearers of UEs (section 7.5).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct S1BearerInfo {
    /// When this was so.
    pub time_stamp: TimeStamp,
    /// The requested UEs.
    pub s1_ue_info: Vec<S1UeInfo>,
}

/// A UE and its S1 bearers. It has no temporary identifier: none is known.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct S1UeInfo {
    /// The UE.
    pub associate_id: Vec<AssociateId>,
    /// Its cell.
    #[schema(min_items = 1, max_items = 1)]
    pub ecgi: Vec<Ecgi>,
    /// Its bearers.
    #[schema(min_items = 1, max_items = 1)]
    pub s1_bearer_info_detailed: Vec<S1BearerInfoDetailed>,
}

/// An S1 bearer. The ends of its tunnel (`enbInfo`, `sGwInfo`) are left out: none is known.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct S1BearerInfoDetailed {
    /// Its number in its UE.
    pub erab_id: u8,
}

/// Quality of service of a bearer.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
pub struct ErabQosParameters {
    /// QoS class identifier (TS 23.401).
    pub qci: u8,
}

/// Measurements of layer 2 (section 6.2.5).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct L2Meas {
    /// When this was so.
    pub time_stamp: TimeStamp,
    /// Of cells.
    pub cell_info: Vec<CellInfo>,
    /// Of UEs.
    #[serde(rename = "cellUEInfo")]
    pub cell_ue_info: Vec<CellUeInfo>,
}

/// Measurements of a cell. Bearers here have no guaranteed bit rate.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct CellInfo {
    /// Downlink resource blocks in use without a guaranteed rate, in per cent (TS 36.314).
    pub dl_nongbr_prb_usage_cell: u8,
    /// Downlink resource blocks in use, in per cent (TS 36.314).
    pub dl_total_prb_usage_cell: u8,
    /// The cell.
    pub ecgi: Ecgi,
    /// UEs that were sent something.
    pub number_of_active_ue_dl_nongbr_cell: u32,
}

/// Measurements of a UE. Bearers here have no guaranteed bit rate.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct CellUeInfo {
    /// The UE.
    #[serde(rename = "associateId")]
    pub associate_id: AssociateId,
    /// Sent in the last period, in kbit (TS 36.314 section 4.1.8).
    pub dl_nongbr_data_volume_ue: u64,
    /// Sent in the last period, in kbit/s (TS 36.314 section 4.1.6).
    pub dl_nongbr_throughput_ue: u64,
    /// Its cell.
    pub ecgi: Ecgi,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
pub struct LinkType {
    /// Where it leads.
    pub href: String,
}

/// The link of a resource to itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
pub struct Links {
    /// Its address.
    #[serde(rename = "self")]
    pub own: LinkType,
}

/// The subscriptions that there are (section 6.3.9).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct SubscriptionLinkList {
    /// Links to them.
    #[serde(rename = "_links")]
    pub links: SubscriptionLinks,
}

/// Links to subscriptions.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct SubscriptionLinks {
    /// The list's own address.
    #[serde(rename = "self")]
    pub own: LinkType,
    /// One for each subscription.
    pub subscription: Vec<SubscriptionLink>,
}

/// A link to a subscription.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionLink {
    /// Its address.
    pub href: String,
    /// Its type.
    pub subscription_type: String,
}

/// A subscription of a type that is served.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, ToSchema)]
#[schema(as = InlineSubscription)]
#[serde(tag = "subscriptionType")]
pub enum WrittenSubscription {
    /// A bearer was established (section 6.3.3).
    RabEstSubscription(RabSubscription),
    /// A bearer was released (section 6.3.5).
    RabRelSubscription(RabSubscription),
    /// A UE changed its cell (section 6.3.2).
    CellChangeSubscription(CellChangeSubscription),
    /// Reports of the radio (the extension).
    JustfullRanReportSubscription(RanReportSubscription),
}

/// A subscription to what happens to bearers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RabSubscription {
    /// The subscription's own address; the service sets it.
    #[serde(rename = "_links", default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub links: Option<Links>,
    /// Where notifications are sent.
    #[schema(format = "uri", max_length = 1000, pattern = "^https?://")]
    pub callback_reference: String,
    /// When it ends. The service sets it where it is missing or too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub expiry_deadline: Option<TimeStamp>,
    /// Which bearers.
    pub filter_criteria_qci: FilterCriteriaQci,
}

/// Which bearers a subscription is about.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FilterCriteriaQci {
    /// The application instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub app_instance_id: Option<String>,
    /// Cells. Left out or empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ecgi: Vec<Ecgi>,
    /// Number of the bearer; in `RabRelSubscription`. Left out: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub erab_id: Option<u8>,
    /// QoS class identifier.
    pub qci: u8,
}

/// A subscription to changes of cells.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CellChangeSubscription {
    /// The subscription's own address; the service sets it.
    #[serde(rename = "_links", default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub links: Option<Links>,
    /// Where notifications are sent.
    #[schema(format = "uri", max_length = 1000, pattern = "^https?://")]
    pub callback_reference: String,
    /// When it ends. The service sets it where it is missing or too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub expiry_deadline: Option<TimeStamp>,
    /// Which changes.
    pub filter_criteria_assoc_ho: FilterCriteriaAssocHo,
}

/// Which changes of cells a subscription is about.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FilterCriteriaAssocHo {
    /// The application instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub app_instance_id: Option<String>,
    /// UEs. Left out or empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 1000)]
    pub associate_id: Vec<AssociateId>,
    /// Cells, of which the UE leaves or enters one. Left out or empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ecgi: Vec<Ecgi>,
    /// States of the handover: only 3 (COMPLETED) is served. Left out: 3.
    #[serde(default = "completed")]
    #[schema(min_items = 1, max_items = 1)]
    pub ho_status: Vec<u8>,
}

fn completed() -> Vec<u8> {
    vec![COMPLETED]
}

/// A subscription to reports of the radio (the extension).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RanReportSubscription {
    /// The subscription's own address; the service sets it.
    #[serde(rename = "_links", default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub links: Option<Links>,
    /// Where notifications are sent.
    #[schema(format = "uri", max_length = 1000, pattern = "^https?://")]
    pub callback_reference: String,
    /// When it ends. The service sets it where it is missing or too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub expiry_deadline: Option<TimeStamp>,
    /// Which UEs, and how often.
    pub filter_criteria_ran_report: FilterCriteriaRanReport,
}

/// Which UEs a subscription to reports is about, and how often it is notified.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FilterCriteriaRanReport {
    /// The application instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub app_instance_id: Option<String>,
    /// UEs. Left out or empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 1000)]
    pub associate_id: Vec<AssociateId>,
    /// Least time between two notifications, in ms. Each has all reports since the last.
    #[serde(default = "ten")]
    #[schema(minimum = 1, maximum = 10_000)]
    pub period_ms: u32,
}

const fn ten() -> u32 {
    10
}

/// A bearer was established (section 6.4.3).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RabEstNotification {
    /// `RabEstNotification`.
    pub notification_type: String,
    /// When.
    pub time_stamp: TimeStamp,
    /// Of which UE.
    pub associate_id: Vec<AssociateId>,
    /// In which cell.
    pub ecgi: Ecgi,
    /// Its number.
    pub erab_id: u8,
    /// Its quality of service.
    pub erab_qos_parameters: ErabQosParameters,
}

/// A bearer was released (section 6.4.5).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RabRelNotification {
    /// `RabRelNotification`.
    pub notification_type: String,
    /// When.
    pub time_stamp: TimeStamp,
    /// Of which UE.
    pub associate_id: Vec<AssociateId>,
    /// In which cell.
    pub ecgi: Ecgi,
    /// Which bearer.
    pub erab_release_info: ErabReleaseInfo,
}

/// Which bearer was released.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErabReleaseInfo {
    /// Its number.
    pub erab_id: u8,
}

/// A UE changed its cell (section 6.4.2).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CellChangeNotification {
    /// `CellChangeNotification`.
    pub notification_type: String,
    /// When the service learnt it.
    pub time_stamp: TimeStamp,
    /// Which UE.
    pub associate_id: Vec<AssociateId>,
    /// The cell that it left.
    pub src_ecgi: Ecgi,
    /// Its new cell.
    #[schema(min_items = 1, max_items = 1)]
    pub trg_ecgi: Vec<Ecgi>,
    /// State of the handover: 3 (COMPLETED).
    pub ho_status: u8,
    /// The new cell's name in reports (extension).
    #[serde(rename = "cell_id")]
    #[schema(min_length = 1, max_length = 64)]
    pub cell: String,
}

/// Reports of the radio (the extension).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RanReportNotification {
    /// `JustfullRanReportNotification`.
    pub notification_type: String,
    /// When they were sent.
    pub time_stamp: TimeStamp,
    /// The reports, oldest first.
    pub reports: Vec<WrittenReport>,
}

/// The last report of each UE (the extension).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RanReports {
    /// When this was so.
    pub time_stamp: TimeStamp,
    /// One for each UE, in the order of their first addresses.
    pub reports: Vec<WrittenReport>,
}

/// A subscription is about to end (section 6.4.9).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpiryNotification {
    /// When it was sent.
    pub time_stamp: TimeStamp,
    /// The subscription.
    #[serde(rename = "_links")]
    pub links: ExpiryLinks,
    /// When it ends.
    pub expiry_deadline: TimeStamp,
}

/// The link of a subscription that ends.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct ExpiryLinks {
    /// Its address.
    #[serde(rename = "self")]
    pub own: String,
}

/// The mistake of a request (RFC 7807; section 6.2 of GS MEC 009).
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct ProblemDetails {
    /// Short.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// This time.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_standard() {
        let text = r#"{"subscriptionType":"RabRelSubscription",
            "callbackReference":"http://127.0.0.1/x",
            "expiryDeadline":{"seconds":1977836800,"nanoSeconds":0},
            "filterCriteriaQci":{"erabId":5,"qci":9,
                "ecgi":[{"cellId":"0000001","plmn":{"mcc":"001","mnc":"01"}}]}}"#;
        let read: WrittenSubscription = serde_json::from_str(text).expect("a subscription");
        let WrittenSubscription::RabRelSubscription(rab) = &read else { panic!("{read:?}") };
        assert_eq!(rab.filter_criteria_qci.erab_id, Some(5));
        let again: serde_json::Value = serde_json::to_value(&read).expect("it is written");
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
    }
}
