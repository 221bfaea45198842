//! A report as a line of JSON.

use super::Report;
use crate::prefix::Prefix;
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use serde::Deserialize;

/// Addresses of one UE in a report.
const MOST_ADDRESSES: usize = 16;

#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    One(Prefix),
    Several(Vec<Prefix>),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Lte,
    Nr,
    Bytes,
}

/// A line; docs/guide/rapid-in-service.md says what its keys mean.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    ue: Named,
    at_us: u64,
    cell: Kind,
    #[serde(default = "one")]
    mcs_table: u8,
    #[serde(default = "one")]
    layers: u8,
    #[serde(default = "symbols")]
    symbols: u8,
    #[serde(default = "dmrs")]
    dmrs_res: u8,
    slot_us: u64,
    slots: u32,
    offered: u64,
    used: u64,
    #[serde(default)]
    active_ues: u32,
    #[serde(default)]
    blocks: u64,
    #[serde(default)]
    repeats: u64,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    mcs: Option<u8>,
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

/// Reads one line.
pub(crate) fn parse(line: &[u8]) -> Result<Report, String> {
    let line: Line = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let ue = match line.ue {
        Named::One(prefix) => vec![prefix],
        Named::Several(prefixes) => prefixes,
    };
    if ue.is_empty() || ue.len() > MOST_ADDRESSES {
        return Err(format!("`ue` has {} addresses, allowed is 1 to {MOST_ADDRESSES}", ue.len()));
    }
    let (mcs_table, layers) = (line.mcs_table, line.layers);
    let kind = match line.cell {
        Kind::Lte => CellKind::Lte { mcs_table, layers },
        Kind::Nr => {
            CellKind::Nr { mcs_table, layers, symbols: line.symbols, dmrs_res: line.dmrs_res }
        }
        Kind::Bytes => CellKind::Bytes,
    };
    let ran = RanReport {
        at: Instant::from_nanos(line.at_us.saturating_mul(1_000)),
        kind,
        slot: Duration::from_micros(line.slot_us),
        slots: line.slots,
        offered: line.offered,
        used: line.used,
        active_ues: line.active_ues,
        blocks: line.blocks,
        repeats: line.repeats,
        bytes: line.bytes,
        mcs: line.mcs,
        backlog: line.backlog,
    };
    Ok(Report { ue, ran })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"ue": "10.45.0.1", "at_us": 5000, "cell": "lte", "slot_us": 1000,
        "slots": 10, "offered": 250, "used": 100, "blocks": 60, "mcs": 20, "active_ues": 2}"#;

    #[test]
    fn a_line_is_a_report() {
        let report = parse(LINE.as_bytes()).expect("a report");
        assert_eq!(report.ue, ["10.45.0.1/32".parse().expect("a prefix")]);
        assert_eq!(report.ran.kind, CellKind::Lte { mcs_table: 1, layers: 1 });
        assert_eq!((report.ran.offered, report.ran.mcs), (250, Some(20)));
        assert_eq!(report.ran.at, Instant::ZERO + Duration::from_millis(5));
        let both = LINE.replace("\"10.45.0.1\"", r#"["10.45.0.1", "fd45::/64"]"#);
        assert_eq!(parse(both.as_bytes()).map(|report| report.ue.len()), Ok(2));
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for (from, to) in [
            ("10.45.0.1", "ten"),
            ("\"10.45.0.1\"", "[]"),
            ("lte", "wimax"),
            ("5000", "-1"),
            ("\"mcs\"", "\"mcss\""),
            ("\"used\": 100,", ""),
            ("{", "["),
        ] {
            assert!(parse(LINE.replace(from, to).as_bytes()).is_err(), "{to}");
        }
    }
}
