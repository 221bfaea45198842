//! srsRAN Project's (OCUDU's) JSON metrics of its scheduler, as its remote control sends them over
//! WebSocket: `cells`, each with a `ue_list` of `rnti`, `dl_ri`, `dl_mcs`, `dl_brate` in bit/s,
//! `dl_nof_ok`, `dl_nof_nok` and `dl_bs` in bytes.
//!
//! They do not contain the number of blocks of a UE. It follows from the bits that arrived and the
//! transport block of the UE's scheme (TS 38.214 section 5.1.3.2). The share of blocks for
//! retransmissions is the share of failures.

use crate::malformed::Malformed;
use crate::report::{Report, cell_name};
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_net::Prefix;
use justfull_phy::nr;
use serde::Deserialize;
use std::sync::Arc;

/// Most UEs that are read from one message.
const MOST_UES: usize = 4_096;
/// Highest credible rate, in bit/s.
const MOST_BITS: f64 = 1e12;

/// Facts about the cell that the metrics omit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SrsranCell {
    /// Resource blocks of the carrier.
    pub prbs: u16,
    /// Mean time between two downlink slots.
    pub slot: Duration,
    /// Time that a message covers: `du_report_period`.
    pub period: Duration,
    /// Table of modulation and coding schemes, 1 to 3.
    pub mcs_table: u8,
    /// Symbols of a slot with data.
    pub symbols: u8,
    /// Resource elements of a block that reference signals take.
    pub dmrs_res: u8,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    cells: Vec<Cell>,
}

/// Each UE is read separately, so that a malformed one spoils no other.
#[derive(Deserialize)]
struct Cell {
    #[serde(default)]
    ue_list: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Ue {
    /// The cell's physical identity.
    #[serde(default)]
    pci: Option<u16>,
    rnti: u32,
    #[serde(default)]
    dl_ri: Option<f64>,
    dl_mcs: u8,
    dl_brate: f64,
    dl_nof_ok: u64,
    dl_nof_nok: u64,
    #[serde(default)]
    dl_bs: u64,
}

/// The content of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SrsranMessage {
    /// Reports of the UEs whose addresses are known.
    pub reports: Vec<Report>,
    /// UEs without an address.
    pub unknown: u64,
    /// UEs that do not have srsRAN's form.
    pub garbled: u64,
}

/// A UE as its base station identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrsranUe<'a> {
    /// The base station.
    pub station: &'a str,
    /// The cell's physical identity.
    pub pci: Option<u16>,
    /// The UE's temporary identity in that cell.
    pub rnti: u32,
}

/// Reads a message of the base station `station` that arrived at `at`; `known` returns a UE's
/// addresses and pool. A report's cell is `STATION/PCI`. A message of another kind has no reports.
///
/// # Errors
/// It is no JSON object, or its cells do not have srsRAN's form.
pub fn srsran(
    text: &[u8],
    station: &str,
    cell: &SrsranCell,
    at: Instant,
    mut known: impl FnMut(SrsranUe<'_>) -> (Vec<Prefix>, Option<Arc<str>>),
) -> Result<SrsranMessage, Malformed> {
    let message: Message = serde_json::from_slice(text)?;
    let mut read = SrsranMessage::default();
    // Reports of one cell share its name.
    let mut names: Vec<Arc<str>> = Vec::new();
    for of in message.cells {
        if of.ue_list.len() > MOST_UES {
            return Err(
                format!("`ue_list` has {} UEs, at most {MOST_UES}", of.ue_list.len()).into()
            );
        }
        let slots = (cell.period.as_nanos() / cell.slot.as_nanos().max(1)).max(1) as u32;
        let offered = u64::from(cell.prbs) * u64::from(slots);
        let in_list = of.ue_list.len();
        let ues: Vec<Ue> =
            of.ue_list.into_iter().filter_map(|ue| serde_json::from_value(ue).ok()).collect();
        read.garbled += (in_list - ues.len()) as u64;
        let period = Period { at, slots, offered };
        let all: Vec<RanReport> = ues.iter().map(|ue| measured(ue, cell, period)).collect();
        let sum: u64 = all.iter().map(|ran| ran.blocks).sum();
        let active_ues = all.iter().filter(|ran| ran.blocks > 0).count() as u32;
        for (ue, mut ran) in ues.iter().zip(all) {
            if sum > offered {
                // Rounding or a wrong period may give more blocks than the cell has, so this bounds
                // them.
                let part = |blocks: u64| {
                    (u128::from(blocks) * u128::from(offered) / u128::from(sum)) as u64
                };
                (ran.blocks, ran.repeats) = (part(ran.blocks), part(ran.repeats));
            }
            (ran.used, ran.active_ues) = (sum.min(offered), active_ues);
            let (addresses, pool) = known(SrsranUe { station, pci: ue.pci, rnti: ue.rnti });
            if addresses.is_empty() {
                read.unknown += 1;
                continue;
            }
            let pci = ue.pci.map_or_else(String::new, |pci| format!("/{pci}"));
            let name = cell_name(&format!("{station}{pci}"))?;
            let name = names.iter().find(|old| **old == name).cloned().unwrap_or_else(|| {
                names.push(Arc::clone(&name));
                name
            });
            read.reports.push(Report { ue: addresses, pool, cell: Some(name), ran });
        }
    }
    Ok(read)
}

/// The period of a report.
#[derive(Clone, Copy)]
struct Period {
    /// Its end.
    at: Instant,
    slots: u32,
    /// Blocks of all slots.
    offered: u64,
}

/// The report about one UE, as if it were alone.
fn measured(ue: &Ue, cell: &SrsranCell, period: Period) -> RanReport {
    let Period { at, slots, offered } = period;
    let layers = ue.dl_ri.unwrap_or(1.0).round().clamp(1.0, 4.0) as u8;
    // A UE without transmissions has no scheme; srsRAN writes 0 then.
    let sent = ue.dl_nof_ok > 0 || ue.dl_nof_nok > 0;
    let mcs = sent.then_some(ue.dl_mcs);
    let bits = ue.dl_brate.clamp(0.0, MOST_BITS) * cell.period.as_secs_f64();
    let per_block = mcs.and_then(|mcs| block_bits(cell, mcs, layers));
    let first = per_block.map_or(0.0, |block| bits / block);
    let again = first * ue.dl_nof_nok as f64 / ue.dl_nof_ok.max(1) as f64;
    let most = offered as f64;
    let (blocks, repeats) = ((first + again).min(most), again.min(most));
    RanReport {
        at,
        kind: CellKind::Nr {
            mcs_table: cell.mcs_table,
            layers,
            symbols: cell.symbols,
            dmrs_res: cell.dmrs_res,
        },
        slot: cell.slot,
        slots,
        offered,
        used: 0,
        active_ues: 0,
        blocks: blocks.ceil() as u64,
        repeats: repeats.floor() as u64,
        bytes: (bits / 8.0) as u64,
        mcs: mcs.filter(|_| per_block.is_some()),
        backlog: ue.dl_bs,
    }
}

/// Bits of a block, in a transport block as wide as the carrier.
fn block_bits(cell: &SrsranCell, mcs: u8, layers: u8) -> Option<f64> {
    let table = match cell.mcs_table {
        1 => nr::McsTable::Table1,
        2 => nr::McsTable::Table2,
        _ => nr::McsTable::Table3,
    };
    let row = nr::mcs(table, mcs)?;
    let bits = nr::tbs_bits(&nr::NrTbsInput {
        n_prb: cell.prbs,
        symbols: cell.symbols,
        dmrs_res: cell.dmrs_res,
        overhead_res: 0,
        modulation: row.modulation,
        code_rate: row.code_rate,
        layers,
    })?;
    Some(f64::from(bits) / f64::from(cell.prbs))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: SrsranCell = SrsranCell {
        prbs: 106,
        slot: Duration::from_micros(1_000),
        period: Duration::from_millis(1_000),
        mcs_table: 2,
        symbols: 13,
        dmrs_res: 12,
    };
    const AT: Instant = Instant::ZERO;

    /// A message of srsRAN 25.10, with fields that are not read.
    const MESSAGE: &str = r#"{"timestamp": "2026-01-01T00:00:00.000", "cells": [{"cell_metrics":
        {"error_indication_count": 0, "average_latency": 8, "max_latency": 30,
         "nof_failed_pdcch_allocs": 0, "nof_failed_uci_allocs": 0, "latency_histogram": [1, 0]},
        "ue_list": [{"pci": 1, "rnti": 17921, "cqi": 15, "dl_ri": 1.0, "ul_ri": 1.0, "dl_mcs": 20,
         "dl_brate": 20000000.0, "dl_nof_ok": 800, "dl_nof_nok": 80, "dl_bs": 12345, "ta_ns": null,
         "pusch_snr_db": 25.1, "ul_mcs": 26, "ul_brate": 1000.0, "ul_nof_ok": 5, "ul_nof_nok": 0,
         "last_phr": 30, "bsr": 0}]}]}"#;

    fn read(text: &str) -> Result<SrsranMessage, Malformed> {
        let table = |ue: SrsranUe<'_>| match ue.rnti {
            17_921 => (vec!["10.45.0.1".parse().expect("an address")], Some("blue".into())),
            _ => (Vec::new(), None),
        };
        srsran(text.as_bytes(), "gnb:8001", &CELL, AT, table)
    }

    #[test]
    fn blocks_follow_from_bits_and_scheme() {
        let SrsranMessage { reports, unknown, garbled } = read(MESSAGE).expect("a message");
        assert_eq!((reports.len(), unknown, garbled), (1, 0, 0));
        assert_eq!(reports[0].cell.as_deref(), Some("gnb:8001/1"));
        assert_eq!(reports[0].pool.as_deref(), Some("blue"));
        let ran = reports[0].ran;
        assert_eq!(
            (ran.offered, ran.slots, ran.mcs, ran.backlog),
            (106_000, 1_000, Some(20), 12_345)
        );
        assert_eq!(ran.bytes, 2_500_000);
        let block = block_bits(&CELL, 20, 1).expect("the scheme");
        let first = 20e6 / block;
        assert!((ran.blocks as f64 - 1.1 * first).abs() < 2.0, "{ran:?}, {first}");
        assert!((ran.repeats as f64 - 0.1 * first).abs() < 2.0, "{ran:?}");
        assert_eq!((ran.used, ran.active_ues), (ran.blocks, 1));
    }

    #[test]
    fn a_cell_never_gives_more_than_it_has_and_an_idle_ue_has_no_scheme() {
        let reports = |text: &str| read(text).expect("a message").reports;
        let most_bits = reports(&MESSAGE.replace("20000000.0", "9e99"));
        assert_eq!((most_bits[0].ran.used, most_bits[0].ran.blocks), (106_000, 106_000));
        let most = u64::MAX.to_string();
        let absurd = MESSAGE
            .replace("800", &most)
            .replace("\"dl_nof_nok\": 80", &format!("\"dl_nof_nok\": {most}"));
        assert!(reports(&absurd)[0].ran.used <= 106_000);
        let idle = MESSAGE.replace("800", "0").replace("\"dl_nof_nok\": 80", "\"dl_nof_nok\": 0");
        let idle = reports(&idle);
        assert_eq!((idle[0].ran.mcs, idle[0].ran.blocks), (None, 0));
    }

    #[test]
    fn other_messages_and_other_ues_are_no_reports() {
        let nothing = SrsranMessage::default;
        assert_eq!(read(r#"{"cmd": "metrics_subscribe"}"#), Ok(nothing()));
        assert_eq!(read(r#"{"timestamp": "x", "du": {"cells": 1}}"#), Ok(nothing()));
        let unknown = SrsranMessage { unknown: 1, ..nothing() };
        assert_eq!(read(&MESSAGE.replace("17921", "17922")), Ok(unknown));
        assert!(read("metrics").is_err());
        assert!(read(r#"{"cells": 7}"#).is_err());
    }

    #[test]
    fn a_wrong_ue_of_a_message_costs_only_itself() {
        for (from, to) in
            [("17921", "-1"), ("\"dl_mcs\": 20,", ""), ("\"dl_bs\": 12345", "\"dl_bs\": {}")]
        {
            let wrong = MESSAGE.replace(from, to);
            assert_eq!(read(&wrong), Ok(SrsranMessage { garbled: 1, ..SrsranMessage::default() }));
        }
        let two = MESSAGE.replace("[{\"pci\"", "[7, {\"rnti\": 17921}, {\"pci\"");
        let read = read(&two).expect("a message");
        assert_eq!((read.reports.len(), read.unknown, read.garbled), (1, 0, 2));
    }
}
