//! The capacity of a whole cell for one UE: from modulation and coding scheme to transport block
//! size to rate (R22 section 3.3, equation 3).
//!
//! Deviation: the expected blocks are taken as a share of the carrier, and the capacity is that
//! share of the whole carrier's transport block. The tables round the size of a part differently,
//! by some per cent for a handful of blocks. But a scheduler may give a UE all blocks of some slots
//! or some blocks of all slots, and shares that add up to 1 keep their sum.

use justfull_base::feedback::{CellKind, RanReport};
use justfull_phy::{lte, nr};

/// More bytes or blocks than a cell has in one slot.
const MOST_PER_SLOT: u64 = 1 << 40;
/// Longest slot and longest period in nanoseconds: 1 s and 1 h.
const LONGEST_SLOT: u64 = 1_000_000_000;
const LONGEST_PERIOD: u64 = 3_600_000_000_000;

/// The name of a field of `report` that is outside its bounds or contradicts another.
pub(crate) fn absurd(report: &RanReport) -> Option<&'static str> {
    let slot = report.slot.as_nanos();
    let slots = u64::from(report.slots);
    let most_blocks = match report.kind {
        CellKind::Lte { .. } => u64::from(lte::MAX_PRBS),
        CellKind::Nr { .. } => u64::from(nr::MAX_PRBS),
        CellKind::Bytes => MOST_PER_SLOT,
    };
    let kind_ok = match report.kind {
        CellKind::Lte { mcs_table, layers } => {
            (1..=2).contains(&mcs_table) && (1..=4).contains(&layers)
        }
        CellKind::Nr { mcs_table, layers, symbols, dmrs_res } => {
            (1..=3).contains(&mcs_table)
                && (1..=4).contains(&layers)
                && (1..=14).contains(&symbols)
                && u32::from(dmrs_res) < 12 * u32::from(symbols)
        }
        CellKind::Bytes => true,
    };
    [
        (kind_ok, "kind"),
        ((1..=LONGEST_SLOT).contains(&slot), "slot"),
        (slots > 0 && slots.saturating_mul(slot) <= LONGEST_PERIOD, "slots"),
        (report.offered <= most_blocks.saturating_mul(slots), "offered"),
        (report.used <= report.offered, "used"),
        (report.blocks <= report.used, "blocks"),
        (report.repeats <= report.blocks, "repeats"),
    ]
    .into_iter()
    .find_map(|(ok, field)| (!ok).then_some(field))
}

/// Bytes per second that the whole cell of a valid `report` carries to its UE at `mcs`; none for a
/// scheme that the table does not have, such as the reserved ones of retransmissions.
pub(crate) fn whole_cell(report: &RanReport, mcs: Option<u8>) -> Option<f64> {
    let per_slot = report.offered as f64 / f64::from(report.slots);
    let blocks = report.offered.div_ceil(u64::from(report.slots)) as u16;
    let bytes = match report.kind {
        CellKind::Bytes => per_slot,
        _ if blocks == 0 => 0.0,
        CellKind::Lte { mcs_table, layers } => {
            let table = if mcs_table == 1 { lte::McsTable::Qam64 } else { lte::McsTable::Qam256 };
            let row = lte::mcs(table, mcs?)?;
            let bits = lte::tbs_bits(row.i_tbs, blocks)? * u32::from(layers);
            f64::from(bits) / 8.0 * (per_slot / f64::from(blocks))
        }
        CellKind::Nr { mcs_table, layers, symbols, dmrs_res } => {
            let table = match mcs_table {
                1 => nr::McsTable::Table1,
                2 => nr::McsTable::Table2,
                _ => nr::McsTable::Table3,
            };
            let row = nr::mcs(table, mcs?)?;
            let bits = nr::tbs_bits(&nr::NrTbsInput {
                n_prb: blocks,
                symbols,
                dmrs_res,
                overhead_res: 0,
                modulation: row.modulation,
                code_rate: row.code_rate,
                layers,
            })?;
            f64::from(bits) / 8.0 * (per_slot / f64::from(blocks))
        }
    };
    Some(bytes / report.slot.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::{Duration, Instant};

    fn report(kind: CellKind, slot_us: u64, slots: u32, blocks_per_slot: u64) -> RanReport {
        RanReport {
            at: Instant::ZERO,
            kind,
            slot: Duration::from_micros(slot_us),
            slots,
            offered: blocks_per_slot * u64::from(slots),
            used: 0,
            active_ues: 0,
            blocks: 0,
            repeats: 0,
            bytes: 0,
            mcs: None,
            backlog: 0,
        }
    }

    fn mbit(report: &RanReport, mcs: Option<u8>) -> Option<f64> {
        whole_cell(report, mcs).map(|bytes| bytes * 8.0 / 1e6)
    }

    #[test]
    fn an_lte_carrier_of_25_blocks_carries_what_the_table_says() {
        let cell = report(CellKind::Lte { mcs_table: 1, layers: 1 }, 1000, 10, 25);
        assert_eq!(mbit(&cell, Some(28)), Some(18.336));
        assert_eq!(mbit(&cell, Some(29)), None, "reserved");
        assert_eq!(mbit(&cell, None), None);
    }

    #[test]
    fn the_papers_carrier_of_132_blocks_carries_about_850_mbit() {
        let kind = CellKind::Nr { mcs_table: 1, layers: 1, symbols: 13, dmrs_res: 12 };
        let rate = mbit(&report(kind, 125, 8, 132), Some(28)).expect("the scheme exists");
        assert!((830.0..870.0).contains(&rate), "{rate}");
    }

    #[test]
    fn slots_that_offer_less_lower_the_mean() {
        let mut cell = report(CellKind::Lte { mcs_table: 1, layers: 1 }, 1000, 10, 25);
        cell.offered -= 16;
        let rate = mbit(&cell, Some(28)).expect("the scheme exists");
        assert!((rate / 18.336 - 23.4 / 25.0).abs() < 0.05, "{rate}");
        cell.offered = 0;
        assert_eq!(mbit(&cell, Some(28)), Some(0.0));
    }

    #[test]
    fn a_cell_without_blocks_counts_bytes() {
        assert_eq!(mbit(&report(CellKind::Bytes, 1000, 4, 2500), None), Some(20.0));
    }

    #[test]
    fn each_absurd_field_is_named() {
        let sane = report(CellKind::Lte { mcs_table: 1, layers: 1 }, 1000, 10, 25);
        assert_eq!(absurd(&sane), None);
        for (field, bad) in [
            ("kind", RanReport { kind: CellKind::Lte { mcs_table: 3, layers: 1 }, ..sane }),
            ("kind", RanReport { kind: CellKind::Lte { mcs_table: 1, layers: 0 }, ..sane }),
            ("slot", RanReport { slot: Duration::ZERO, ..sane }),
            ("slot", RanReport { slot: Duration::MAX, ..sane }),
            ("slots", RanReport { slots: 0, ..sane }),
            ("slots", RanReport { slots: u32::MAX, ..sane }),
            ("offered", RanReport { offered: 1101, ..sane }),
            ("used", RanReport { used: 251, ..sane }),
            ("blocks", RanReport { blocks: 1, ..sane }),
            ("repeats", RanReport { repeats: 1, ..sane }),
        ] {
            assert_eq!(absurd(&bad), Some(field));
        }
        let nr = |symbols, dmrs_res| CellKind::Nr { mcs_table: 1, layers: 1, symbols, dmrs_res };
        assert_eq!(absurd(&RanReport { kind: nr(13, 156), ..sane }), Some("kind"));
        assert_eq!(absurd(&RanReport { kind: nr(15, 12), ..sane }), Some("kind"));
    }
}
