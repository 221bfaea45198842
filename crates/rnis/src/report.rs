//! A report about one UE, and its form in JSON.

use crate::associate::AssociateId;
use crate::malformed::Malformed;
use justfull_base::feedback::{CELL_NAME, CellKind, RanReport, is_cell_name};
use justfull_base::{Duration, Instant};
use justfull_net::Prefix;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Addresses of one UE in a report.
pub const MOST_ADDRESSES: usize = 16;
/// Characters of a wrong name that an error shows.
const SHOWN: usize = 64;
/// Longest name of a pool, in bytes.
const LONGEST_POOL: usize = 32;

/// A cell's name in a report; see [`CELL_NAME`].
///
/// # Errors
/// The text is no such name.
pub fn cell_name(text: &str) -> Result<Arc<str>, Malformed> {
    if is_cell_name(text) {
        return Ok(text.into());
    }
    let shown: String = text.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    Err(format!("the cell's name is `{shown}`, allowed is {CELL_NAME}").into())
}

/// The name of a pool of UEs' addresses: 1 to 32 letters, digits, `-`, `_` and `.`.
///
/// # Errors
/// The text is no such name.
pub fn pool_name(text: &str) -> Result<Arc<str>, Malformed> {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=LONGEST_POOL).contains(&text.len()) && text.bytes().all(sound) {
        return Ok(text.into());
    }
    let shown: String = text.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    Err(format!(
        "the pool's name is `{shown}`, allowed is 1 to {LONGEST_POOL} letters, digits, `-`, `_` \
         and `.`"
    )
    .into())
}

/// One report about one UE.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its addresses or prefixes, 1 to [`MOST_ADDRESSES`]; the first identifies it.
    pub ue: Vec<Prefix>,
    /// The name of the pool that its addresses belong to; none if one pool alone has them.
    pub pool: Option<Arc<str>>,
    /// The name of its cell; none from a source with one cell.
    pub cell: Option<Arc<str>>,
    /// The cell's report about it.
    pub ran: RanReport,
}

/// A UE in a line of JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Named {
    One(Prefix),
    Several(Vec<Prefix>),
}

/// The rules that convert blocks to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellName {
    /// LTE: blocks are resource blocks (TS 36.213 section 7.1.7).
    Lte,
    /// NR: blocks are resource blocks (TS 38.214 section 5.1.3).
    Nr,
    /// One block is one byte that the UE could receive.
    Bytes,
}

/// A report as JSON: a line of a file or pipe, where `ue` names the UE, or a part of an answer or
/// notification of the service, where `associateId` does.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[schema(as = JustfullRanReport)]
#[serde(deny_unknown_fields)]
pub struct WrittenReport {
    #[serde(default, skip_serializing)]
    #[schema(ignore)]
    ue: Option<Named>,
    /// The UE's addresses: type 1 an IPv4 address, type 2 an IPv6 address or prefix.
    #[serde(default, rename = "associateId", skip_serializing_if = "Vec::is_empty")]
    #[schema(min_items = 1, max_items = 16)]
    associate_id: Vec<AssociateId>,
    #[serde(default, skip_serializing)]
    #[schema(ignore)]
    pool: Option<String>,
    /// End of the period by the cell's clock, in microseconds; each report of a UE is newer than
    /// the last.
    at_us: u64,
    /// The cell of the UE, 1 to 64 visible ASCII characters; a source with one cell leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = String, min_length = 1, max_length = 64)]
    cell_id: Option<String>,
    /// It is about the secondary leg of split bearers.
    #[serde(default, skip_serializing)]
    #[schema(ignore)]
    secondary: bool,
    cell: CellName,
    /// LTE 1 or 2, NR 1 to 3.
    #[serde(default = "one")]
    mcs_table: u8,
    /// Spatial layers, 1 to 4.
    #[serde(default = "one")]
    layers: u8,
    /// NR: symbols of a slot with data.
    #[serde(default = "symbols")]
    symbols: u8,
    /// NR: resource elements of a block that reference signals take.
    #[serde(default = "dmrs")]
    dmrs_res: u8,
    /// Mean time between two downlink slots, in microseconds.
    slot_us: u64,
    /// Downlink slots in the period.
    slots: u32,
    /// Blocks of the cell in the period.
    offered: u64,
    /// Blocks given to all UEs.
    used: u64,
    /// UEs that were given blocks.
    #[serde(default)]
    active_ues: u32,
    /// Blocks given to this UE.
    #[serde(default)]
    blocks: u64,
    /// Blocks among these with HARQ retransmissions.
    #[serde(default)]
    repeats: u64,
    /// Bytes sent to the UE in transport blocks, without retransmissions.
    #[serde(default)]
    bytes: u64,
    /// Last modulation and coding scheme; left out when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    mcs: Option<u8>,
    /// Bytes in the UE's RLC queues at the end of the period.
    #[serde(default)]
    backlog: u64,
}

const fn one() -> u8 {
    1
}

/// A slot less one symbol of control.
const fn symbols() -> u8 {
    13
}

/// One symbol of reference signals.
const fn dmrs() -> u8 {
    12
}

impl Report {
    /// Reads one report from JSON.
    ///
    /// # Errors
    /// The wrong part of the text.
    pub fn parse(text: &[u8]) -> Result<Self, Malformed> {
        let written: WrittenReport = serde_json::from_slice(text)?;
        written.try_into()
    }

    /// The report as the service writes it.
    #[must_use]
    pub fn written(&self) -> WrittenReport {
        let RanReport { at, kind, slot, slots, offered, used, .. } = self.ran;
        let (cell, mcs_table, layers, symbols, dmrs_res) = match kind {
            CellKind::Lte { mcs_table, layers } => {
                (CellName::Lte, mcs_table, layers, symbols(), dmrs())
            }
            CellKind::Nr { mcs_table, layers, symbols, dmrs_res } => {
                (CellName::Nr, mcs_table, layers, symbols, dmrs_res)
            }
            CellKind::Bytes => (CellName::Bytes, one(), one(), symbols(), dmrs()),
        };
        WrittenReport {
            ue: None,
            pool: None,
            associate_id: self.ue.iter().map(AssociateId::of).collect(),
            at_us: at.as_nanos() / 1_000,
            cell_id: self.cell.as_deref().map(str::to_owned),
            secondary: false,
            cell,
            mcs_table,
            layers,
            symbols,
            dmrs_res,
            slot_us: slot.as_nanos().saturating_add(500) / 1_000,
            slots,
            offered,
            used,
            active_ues: self.ran.active_ues,
            blocks: self.ran.blocks,
            repeats: self.ran.repeats,
            bytes: self.ran.bytes,
            mcs: self.ran.mcs,
            backlog: self.ran.backlog,
        }
    }
}

impl TryFrom<WrittenReport> for Report {
    type Error = Malformed;

    fn try_from(written: WrittenReport) -> Result<Self, Malformed> {
        let ue = match (written.ue, written.associate_id) {
            (Some(Named::One(prefix)), ids) if ids.is_empty() => vec![prefix],
            (Some(Named::Several(prefixes)), ids) if ids.is_empty() => prefixes,
            (None, ids) => ids.iter().map(AssociateId::prefix).collect::<Result<_, _>>()?,
            _ => return Err("both `ue` and `associateId` name a UE, allowed is one".into()),
        };
        if ue.is_empty() || ue.len() > MOST_ADDRESSES {
            return Err(format!(
                "the UE has {} addresses, allowed is 1 to {MOST_ADDRESSES}",
                ue.len()
            )
            .into());
        }
        if written.secondary {
            return Err(
                "it is about the secondary leg of split bearers; allowed are reports of a \
                        UE's one cell, or of its master cell"
                    .into(),
            );
        }
        let cell = written.cell_id.as_deref().map(cell_name).transpose()?;
        let pool = written.pool.as_deref().map(pool_name).transpose()?;
        let (mcs_table, layers) = (written.mcs_table, written.layers);
        let kind = match written.cell {
            CellName::Lte => CellKind::Lte { mcs_table, layers },
            CellName::Nr => CellKind::Nr {
                mcs_table,
                layers,
                symbols: written.symbols,
                dmrs_res: written.dmrs_res,
            },
            CellName::Bytes => CellKind::Bytes,
        };
        let ran = RanReport {
            at: Instant::from_nanos(written.at_us.saturating_mul(1_000)),
            kind,
            slot: Duration::from_nanos(written.slot_us.saturating_mul(1_000)),
            slots: written.slots,
            offered: written.offered,
            used: written.used,
            active_ues: written.active_ues,
            blocks: written.blocks,
            repeats: written.repeats,
            bytes: written.bytes,
            mcs: written.mcs,
            backlog: written.backlog,
        };
        Ok(Self { ue, pool, cell, ran })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"ue": "10.45.0.1", "at_us": 5000, "cell": "lte", "slot_us": 1000,
        "slots": 10, "offered": 250, "used": 100, "blocks": 60, "mcs": 20, "active_ues": 2}"#;

    fn parse(text: &str) -> Result<Report, Malformed> {
        Report::parse(text.as_bytes())
    }

    #[test]
    fn a_line_is_a_report() {
        let report = parse(LINE).expect("a report");
        assert_eq!(report.ue, ["10.45.0.1/32".parse().expect("a prefix")]);
        assert_eq!(report.ran.kind, CellKind::Lte { mcs_table: 1, layers: 1 });
        assert_eq!((report.ran.offered, report.ran.mcs), (250, Some(20)));
        assert_eq!(report.ran.at, Instant::ZERO + Duration::from_millis(5));
        let both = LINE.replace("\"10.45.0.1\"", r#"["10.45.0.1", "fd45::/64"]"#);
        assert_eq!(parse(&both).map(|report| report.ue.len()), Ok(2));
        let pool = LINE.replace("\"at_us\"", r#""pool": "blue", "at_us""#);
        assert_eq!(parse(&pool).map(|report| report.pool), Ok(Some("blue".into())));
        assert_eq!(report.pool, None);
        let master = LINE.replace("\"at_us\"", r#""secondary": false, "at_us""#);
        assert_eq!(parse(&master), Ok(report));
    }

    #[test]
    fn a_bad_report_is_refused() {
        for (from, to) in [
            ("10.45.0.1", "ten"),
            ("\"10.45.0.1\"", "[]"),
            ("lte", "wimax"),
            ("5000", "-1"),
            ("\"mcs\"", "\"mcss\""),
            ("\"used\": 100,", ""),
            ("{", "["),
            ("\"at_us\"", r#""associateId": [{"type": 1, "value": "10.45.0.1"}], "at_us""#),
            (r#""ue": "10.45.0.1","#, r#""associateId": [{"type": 1, "value": "fd45::1"}],"#),
            (r#""ue": "10.45.0.1","#, r#""associateId": [{"type": 4, "value": "10.45.0.1"}],"#),
            (r#""ue": "10.45.0.1","#, ""),
            ("\"at_us\"", r#""cell_id": "", "at_us""#),
            ("\"at_us\"", r#""cell_id": "a b", "at_us""#),
            ("\"at_us\"", r#""cell_id": 7, "at_us""#),
            ("\"at_us\"", r#""secondary": true, "at_us""#),
            ("\"at_us\"", r#""secondary": 1, "at_us""#),
            ("\"at_us\"", r#""pool": "", "at_us""#),
            ("\"at_us\"", r#""pool": "a/b", "at_us""#),
            ("\"at_us\"", r#""pool": 7, "at_us""#),
        ] {
            let text = LINE.replacen(from, to, 1);
            assert_ne!(text, LINE);
            assert!(parse(&text).is_err(), "{to}");
        }
    }

    #[test]
    fn a_report_is_read_as_the_service_wrote_it() {
        for kind in [
            CellKind::Bytes,
            CellKind::Lte { mcs_table: 2, layers: 2 },
            CellKind::Nr { mcs_table: 3, layers: 4, symbols: 12, dmrs_res: 18 },
        ] {
            let mut report = parse(&LINE.replace("\"10.45.0.1\"", r#"["10.45.0.1", "fd45::/64"]"#))
                .expect("one");
            report.ran.kind = kind;
            report.cell = (kind != CellKind::Bytes).then(|| "east/1".into());
            let json = serde_json::to_string(&report.written()).expect("it is written");
            assert!(json.contains(r#"{"type":2,"value":"fd45::/64"}"#), "{json}");
            assert_eq!(parse(&json), Ok(report));
        }
    }
}
