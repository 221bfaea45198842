//! LTE downlink: MCS, transport block sizes and resource block groups of TS 36.213 section 7.1.

mod tbs_table;

use crate::modulation::Modulation;
use crate::rbg::RbgLayout;

/// Resource blocks of the widest LTE carrier in the tables of TS 36.213.
pub const MAX_PRBS: u16 = 110;
/// Highest transport block size index (256QAM).
pub const MAX_I_TBS: u8 = 33;

/// An LTE MCS table of the downlink shared channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum McsTable {
    /// Up to 64QAM: TS 36.213 Table 7.1.7.1-1, MCS 0 to 28.
    #[default]
    Qam64,
    /// Up to 256QAM: TS 36.213 Table 7.1.7.1-1A, MCS 0 to 27.
    Qam256,
}

/// One row of an MCS table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mcs {
    /// Modulation.
    pub modulation: Modulation,
    /// Row of the transport block size table.
    pub i_tbs: u8,
}

/// I_TBS of MCS 0 to 28; two MCS share one where the modulation changes.
const I_TBS_QAM64: [u8; 29] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 15, 16, 17, 18, 19, 20, 21, 22, 23,
    24, 25, 26,
];

/// I_TBS of MCS 0 to 27.
const I_TBS_QAM256: [u8; 28] = [
    0, 2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 28, 29, 30,
    31, 32, 33,
];

/// The row of MCS index `i_mcs`; none for the reserved indices (used by retransmissions) and above.
#[must_use]
pub const fn mcs(table: McsTable, i_mcs: u8) -> Option<Mcs> {
    let (rows, first_16, first_64, first_256): (&[u8], u8, u8, u8) = match table {
        McsTable::Qam64 => (&I_TBS_QAM64, 10, 17, u8::MAX),
        McsTable::Qam256 => (&I_TBS_QAM256, 5, 11, 20),
    };
    if i_mcs as usize >= rows.len() {
        return None;
    }
    let modulation = if i_mcs >= first_256 {
        Modulation::Qam256
    } else if i_mcs >= first_64 {
        Modulation::Qam64
    } else if i_mcs >= first_16 {
        Modulation::Qam16
    } else {
        Modulation::Qpsk
    };
    Some(Mcs { modulation, i_tbs: rows[i_mcs as usize] })
}

/// Bits of the transport block that `n_prb` resource blocks of one layer carry in one subframe (1
/// ms): TS 36.213 Table 7.1.7.2.1-1.
///
/// None unless `i_tbs` is at most 33 and `n_prb` lies between 1 and 110.
#[must_use]
pub fn tbs_bits(i_tbs: u8, n_prb: u16) -> Option<u32> {
    let row = tbs_table::TBS_BYTES.get(usize::from(i_tbs))?;
    let bytes = row.get(usize::from(n_prb).checked_sub(1)?)?;
    Some(u32::from(*bytes) * 8)
}

/// Bits of a transport block on two layers: the one-layer size for twice the resource blocks (TS
/// 36.213 section 7.1.7.2.2).
///
/// None above 55 resource blocks, where the standard has a separate table that this crate does not
/// carry.
#[must_use]
pub fn tbs_bits_two_layers(i_tbs: u8, n_prb: u16) -> Option<u32> {
    tbs_bits(i_tbs, n_prb.checked_mul(2)?)
}

/// Resource blocks per group for resource allocation type 0 on a carrier of `n_rb` blocks: TS
/// 36.213 Table 7.1.6.1-1.
///
/// None unless `n_rb` lies between 1 and 110.
#[must_use]
pub const fn rbg_size(n_rb: u16) -> Option<u16> {
    match n_rb {
        1..=10 => Some(1),
        11..=26 => Some(2),
        27..=63 => Some(3),
        64..=110 => Some(4),
        _ => None,
    }
}

/// The resource block groups of a carrier of `n_rb` blocks; none unless `n_rb` lies between 1 and
/// 110.
#[must_use]
pub fn rbg_layout(n_rb: u16) -> Option<RbgLayout> {
    RbgLayout::new(0, n_rb, rbg_size(n_rb)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_the_25_prb_column_are_the_published_ones() {
        const PUBLISHED: [u32; 27] = [
            680, 904, 1096, 1416, 1800, 2216, 2600, 3112, 3496, 4008, 4392, 4968, 5736, 6456, 7224,
            7736, 7992, 9144, 9912, 10680, 11448, 12576, 13536, 14112, 15264, 15840, 18336,
        ];
        for (i_tbs, &want) in (0..).zip(&PUBLISHED) {
            assert_eq!(tbs_bits(i_tbs, 25), Some(want), "I_TBS {i_tbs}");
        }
    }

    #[test]
    fn corners_of_the_size_table_are_right() {
        assert_eq!(tbs_bits(0, 1), Some(16));
        assert_eq!(tbs_bits(26, 100), Some(75_376));
        assert_eq!(tbs_bits(33, 100), Some(97_896));
        assert_eq!(tbs_bits(6, 1), Some(328));
        assert_eq!(tbs_bits(26, 17), Some(1572 * 8));
    }

    #[test]
    fn sizes_outside_the_table_do_not_exist() {
        for (i_tbs, n_prb) in [(34, 1), (0, 0), (0, 111), (255, u16::MAX)] {
            assert_eq!(tbs_bits(i_tbs, n_prb), None);
        }
        assert_eq!(tbs_bits_two_layers(26, 56), None);
        assert_eq!(tbs_bits_two_layers(26, 50), Some(75_376));
        assert_eq!(tbs_bits_two_layers(0, 0), None);
    }

    #[test]
    fn sizes_rise_with_either_index_but_for_the_odd_cell_and_the_step_back_to_256qam() {
        // The table itself breaks the pattern twice: (6, 1) is too large, and I_TBS 26 was enlarged
        // over 27 so that MCS 28 of 64QAM reaches the peak rate.
        for i_tbs in 0..=MAX_I_TBS {
            for n_prb in 1..=MAX_PRBS {
                let here = tbs_bits(i_tbs, n_prb);
                let narrower = tbs_bits(i_tbs, n_prb.saturating_sub(1));
                assert!((i_tbs, n_prb) == (6, 2) || narrower <= here, "{i_tbs} {n_prb}");
                let lower = i_tbs.checked_sub(1).and_then(|row| tbs_bits(row, n_prb));
                assert!(
                    (i_tbs, n_prb) == (7, 1) || i_tbs == 27 || lower <= here,
                    "{i_tbs} {n_prb}"
                );
            }
        }
    }

    #[test]
    fn mcs_rows_change_modulation_where_the_standard_does() {
        let row = |table, i| mcs(table, i).map(|m| (m.modulation, m.i_tbs));
        assert_eq!(row(McsTable::Qam64, 9), Some((Modulation::Qpsk, 9)));
        assert_eq!(row(McsTable::Qam64, 10), Some((Modulation::Qam16, 9)));
        assert_eq!(row(McsTable::Qam64, 16), Some((Modulation::Qam16, 15)));
        assert_eq!(row(McsTable::Qam64, 17), Some((Modulation::Qam64, 15)));
        assert_eq!(row(McsTable::Qam64, 28), Some((Modulation::Qam64, 26)));
        assert_eq!(row(McsTable::Qam64, 29), None);
        assert_eq!(row(McsTable::Qam256, 4), Some((Modulation::Qpsk, 8)));
        assert_eq!(row(McsTable::Qam256, 5), Some((Modulation::Qam16, 10)));
        assert_eq!(row(McsTable::Qam256, 11), Some((Modulation::Qam64, 16)));
        assert_eq!(row(McsTable::Qam256, 20), Some((Modulation::Qam256, 25)));
        assert_eq!(row(McsTable::Qam256, 27), Some((Modulation::Qam256, 33)));
        assert_eq!(row(McsTable::Qam256, 28), None);
    }

    #[test]
    fn common_bandwidths_have_the_known_group_sizes() {
        let want = [(6, 1), (15, 2), (25, 2), (50, 3), (75, 4), (100, 4)];
        for (n_rb, size) in want {
            assert_eq!(rbg_size(n_rb), Some(size));
        }
        assert_eq!([10, 11, 26, 27, 63, 64].map(rbg_size), [1, 2, 2, 3, 3, 4].map(Some));
        assert_eq!((rbg_size(0), rbg_size(111)), (None, None));
        let layout = rbg_layout(25).unwrap();
        assert_eq!((layout.count(), layout.prbs(0), layout.prbs(12)), (13, 2, 1));
    }
}
