//! The MCS tables of TS 38.214 section 5.1.3.1.

use crate::modulation::{CodeRate, Modulation, efficiency};

/// An NR MCS table of the downlink shared channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum McsTable {
    /// `qam64`: TS 38.214 Table 5.1.3.1-1, MCS 0 to 28.
    #[default]
    Table1,
    /// `qam256`: TS 38.214 Table 5.1.3.1-2, MCS 0 to 27.
    Table2,
    /// `qam64LowSE`: TS 38.214 Table 5.1.3.1-3, MCS 0 to 28.
    Table3,
}

/// One row of an MCS table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mcs {
    /// Modulation.
    pub modulation: Modulation,
    /// Target code rate.
    pub code_rate: CodeRate,
}

impl Mcs {
    /// Information bits per resource element and layer.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        efficiency(self.modulation, self.code_rate)
    }
}

/// A table: the first MCS of 16QAM, 64QAM and 256QAM, and the code rates times 2048.
struct Rows {
    first: [u8; 3],
    rates: &'static [u16],
}

const TABLE_1: Rows = Rows {
    first: [10, 17, u8::MAX],
    rates: &[
        240, 314, 386, 502, 616, 758, 898, 1052, 1204, 1358, 680, 756, 868, 980, 1106, 1232, 1316,
        876, 932, 1034, 1134, 1232, 1332, 1438, 1544, 1644, 1746, 1820, 1896,
    ],
};

const TABLE_2: Rows = Rows {
    first: [5, 11, 20],
    rates: &[
        240, 386, 616, 898, 1204, 756, 868, 980, 1106, 1232, 1316, 932, 1034, 1134, 1232, 1332,
        1438, 1544, 1644, 1746, 1365, 1422, 1508, 1594, 1682, 1770, 1833, 1896,
    ],
};

const TABLE_3: Rows = Rows {
    first: [15, 21, u8::MAX],
    rates: &[
        60, 80, 100, 128, 156, 198, 240, 314, 386, 502, 616, 758, 898, 1052, 1204, 680, 756, 868,
        980, 1106, 1232, 876, 932, 1034, 1134, 1232, 1332, 1438, 1544,
    ],
};

/// The row of MCS index `i_mcs`; none for the reserved indices (used by retransmissions) and above.
#[must_use]
pub const fn mcs(table: McsTable, i_mcs: u8) -> Option<Mcs> {
    let rows = match table {
        McsTable::Table1 => &TABLE_1,
        McsTable::Table2 => &TABLE_2,
        McsTable::Table3 => &TABLE_3,
    };
    if i_mcs as usize >= rows.rates.len() {
        return None;
    }
    let [first_16, first_64, first_256] = rows.first;
    let modulation = if i_mcs >= first_256 {
        Modulation::Qam256
    } else if i_mcs >= first_64 {
        Modulation::Qam64
    } else if i_mcs >= first_16 {
        Modulation::Qam16
    } else {
        Modulation::Qpsk
    };
    Some(Mcs { modulation, code_rate: CodeRate::of_table(rows.rates[i_mcs as usize]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The efficiency columns as TS 38.214 prints them, times 10 000.
    const PRINTED: [(McsTable, &[u32]); 3] = [
        (
            McsTable::Table1,
            &[
                2344, 3066, 3770, 4902, 6016, 7402, 8770, 10273, 11758, 13262, 13281, 14766, 16953,
                19141, 21602, 24062, 25703, 25664, 27305, 30293, 33223, 36094, 39023, 42129, 45234,
                48164, 51152, 53320, 55547,
            ],
        ),
        (
            McsTable::Table2,
            &[
                2344, 3770, 6016, 8770, 11758, 14766, 16953, 19141, 21602, 24062, 25703, 27305,
                30293, 33223, 36094, 39023, 42129, 45234, 48164, 51152, 53320, 55547, 58906, 62266,
                65703, 69141, 71602, 74062,
            ],
        ),
        (
            McsTable::Table3,
            &[
                586, 781, 977, 1250, 1523, 1934, 2344, 3066, 3770, 4902, 6016, 7402, 8770, 10273,
                11758, 13281, 14766, 16953, 19141, 21602, 24062, 25664, 27305, 30293, 33223, 36094,
                39023, 42129, 45234,
            ],
        ),
    ];

    #[test]
    fn every_efficiency_is_the_printed_one() {
        for (table, printed) in PRINTED {
            for (i, &want) in (0..).zip(printed) {
                let got = mcs(table, i).unwrap().efficiency() * 10_000.0;
                assert!(
                    (got - f64::from(want)).abs() <= 0.501,
                    "{table:?} MCS {i}: {got} for {want}"
                );
            }
        }
    }

    #[test]
    fn reserved_indices_have_no_row() {
        assert!(mcs(McsTable::Table1, 29).is_none());
        assert!(mcs(McsTable::Table2, 28).is_none());
        assert!(mcs(McsTable::Table3, 29).is_none());
    }

    #[test]
    fn half_steps_of_the_code_rate_are_kept() {
        let rate = mcs(McsTable::Table2, 20).unwrap().code_rate;
        assert_eq!((rate.in_2048ths(), rate.times_1024().to_bits()), (1365, 682.5f64.to_bits()));
    }
}
