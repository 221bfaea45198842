//! Channel quality indicators: the promise of each value, and the MCS that a base station picks for
//! it.
//!
//! The promise is standardised (TS 36.213 section 7.2.3, TS 38.214 section 5.2.2.1). The MCS is
//! each vendor's choice, and published results depend on it.

use crate::modulation::{CodeRate, Modulation, efficiency};
use justfull_base::choice;

/// Highest CQI; 0 means out of range (nothing can be received).
pub const MAX_CQI: u8 = 15;

/// A CQI table. LTE and NR share the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CqiTable {
    /// Up to 64QAM: TS 36.213 Table 7.2.3-1 and TS 38.214 Table 5.2.2.1-2.
    Table1,
    /// Up to 256QAM: TS 36.213 Table 7.2.3-2 and TS 38.214 Table 5.2.2.1-3.
    Table2,
    /// 64QAM with low spectral efficiency: TS 38.214 Table 5.2.2.1-4.
    Table3,
}

/// The promise of one CQI: a transport block of this modulation and rate arrives with an error rate
/// of at most 0.1 (tables 1 and 2) or 0.00001 (table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality {
    /// Modulation.
    pub modulation: Modulation,
    /// Target code rate.
    pub code_rate: CodeRate,
}

impl Quality {
    /// Information bits per resource element and layer.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        efficiency(self.modulation, self.code_rate)
    }
}

type Row = (u8, u16);

/// (Q_m, R x 2048) of CQI 1 to 15.
const TABLE_1: [Row; 15] = [
    (2, 156),
    (2, 240),
    (2, 386),
    (2, 616),
    (2, 898),
    (2, 1204),
    (4, 756),
    (4, 980),
    (4, 1232),
    (6, 932),
    (6, 1134),
    (6, 1332),
    (6, 1544),
    (6, 1746),
    (6, 1896),
];

const TABLE_2: [Row; 15] = [
    (2, 156),
    (2, 386),
    (2, 898),
    (4, 756),
    (4, 980),
    (4, 1232),
    (6, 932),
    (6, 1134),
    (6, 1332),
    (6, 1544),
    (6, 1746),
    (8, 1422),
    (8, 1594),
    (8, 1770),
    (8, 1896),
];

const TABLE_3: [Row; 15] = [
    (2, 60),
    (2, 100),
    (2, 156),
    (2, 240),
    (2, 386),
    (2, 616),
    (2, 898),
    (2, 1204),
    (4, 756),
    (4, 980),
    (4, 1232),
    (6, 932),
    (6, 1134),
    (6, 1332),
    (6, 1544),
];

/// The promise of `cqi` in `table`; none for 0 (out of range) and above 15.
#[must_use]
pub const fn quality(table: CqiTable, cqi: u8) -> Option<Quality> {
    if cqi == 0 || cqi > MAX_CQI {
        return None;
    }
    let rows = match table {
        CqiTable::Table1 => &TABLE_1,
        CqiTable::Table2 => &TABLE_2,
        CqiTable::Table3 => &TABLE_3,
    };
    let (order, rate) = rows[cqi as usize - 1];
    Some(Quality { modulation: Modulation::of_order(order), code_rate: CodeRate::of_table(rate) })
}

choice! {
    /// Which MCS a base station picks for a CQI.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum CqiToMcs {
        /// The list of the program behind T20's capacity traces (LTE, MCS table 1).
        #[default]
        Tmc = "tmc",
        /// OpenAirInterface's eNB since 2014 (LTE, MCS table 1). It maps CQI 0 to MCS 0.
        Oai = "oai",
        /// OpenAirInterface's eNB from 2013-09 to 2014-08 (LTE, MCS table 1). It maps CQI 0 to
        /// MCS 0.
        Oai2013 = "oai_2013",
        /// The highest MCS whose efficiency does not exceed the CQI's, as in ns-3's LTE model (MCS
        /// table 1).
        Ns3LteAmc = "ns3_lteamc",
        /// srsRAN's gNB for CQI table 1 and NR MCS table 1 (64QAM).
        NrTable1 = "nr_t1",
        /// srsRAN's gNB for CQI table 2 and NR MCS table 2 (256QAM).
        NrTable2 = "nr_t2",
        /// srsRAN's gNB for CQI table 3 and NR MCS table 3 (64QAM, low spectral efficiency).
        NrTable3 = "nr_t3",
    }
}

/// The MCS tables that a map's MCSs index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McsTable {
    /// An LTE table.
    Lte(crate::lte::McsTable),
    /// An NR table.
    Nr(crate::nr::McsTable),
}

impl CqiToMcs {
    /// The MCS table that this map's indices refer to.
    #[must_use]
    pub const fn mcs_table(self) -> McsTable {
        match self {
            Self::Tmc | Self::Oai | Self::Oai2013 | Self::Ns3LteAmc => {
                McsTable::Lte(crate::lte::McsTable::Qam64)
            }
            Self::NrTable1 => McsTable::Nr(crate::nr::McsTable::Table1),
            Self::NrTable2 => McsTable::Nr(crate::nr::McsTable::Table2),
            Self::NrTable3 => McsTable::Nr(crate::nr::McsTable::Table3),
        }
    }

    const fn answers(self) -> &'static [u8; 15] {
        match self {
            Self::Tmc => &[0, 2, 4, 6, 8, 9, 10, 13, 16, 17, 19, 21, 23, 25, 28],
            Self::Oai => &[0, 1, 2, 4, 6, 8, 11, 13, 16, 18, 20, 23, 25, 27, 28],
            Self::Oai2013 => &[0, 1, 3, 5, 7, 9, 13, 15, 16, 20, 23, 25, 27, 27, 27],
            Self::Ns3LteAmc | Self::NrTable3 => {
                &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28]
            }
            Self::NrTable1 => &[0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28],
            Self::NrTable2 => &[0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27],
        }
    }
}

/// The MCS that `map` picks for `cqi`; none above 15, and for CQI 0 if the map does not define it.
#[must_use]
pub const fn to_mcs(map: CqiToMcs, cqi: u8) -> Option<u8> {
    match cqi {
        0 if matches!(map, CqiToMcs::Oai | CqiToMcs::Oai2013) => Some(0),
        1..=MAX_CQI => Some(map.answers()[cqi as usize - 1]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The efficiency columns as the standards print them, times 10 000.
    const PRINTED: [(CqiTable, [u32; 15]); 3] = [
        (
            CqiTable::Table1,
            [
                1523, 2344, 3770, 6016, 8770, 11758, 14766, 19141, 24062, 27305, 33223, 39023,
                45234, 51152, 55547,
            ],
        ),
        (
            CqiTable::Table2,
            [
                1523, 3770, 8770, 14766, 19141, 24062, 27305, 33223, 39023, 45234, 51152, 55547,
                62266, 69141, 74062,
            ],
        ),
        (
            CqiTable::Table3,
            [
                586, 977, 1523, 2344, 3770, 6016, 8770, 11758, 14766, 19141, 24062, 27305, 33223,
                39023, 45234,
            ],
        ),
    ];

    #[test]
    fn every_efficiency_is_the_printed_one() {
        for (table, printed) in PRINTED {
            for (cqi, &want) in (1..).zip(&printed) {
                let got = quality(table, cqi).unwrap().efficiency() * 10_000.0;
                assert!(
                    (got - f64::from(want)).abs() <= 0.501,
                    "{table:?} CQI {cqi}: {got} for {want}"
                );
            }
        }
    }

    #[test]
    fn cqi_0_and_cqi_16_promise_nothing() {
        for (table, _) in PRINTED {
            assert_eq!((quality(table, 0), quality(table, 16)), (None, None));
        }
    }

    #[test]
    fn maps_answer_as_their_programs_do() {
        assert_eq!(to_mcs(CqiToMcs::Tmc, 9), Some(16));
        assert_eq!(to_mcs(CqiToMcs::Tmc, 7), Some(10));
        assert_eq!(to_mcs(CqiToMcs::Oai, 7), Some(11));
        assert_eq!(to_mcs(CqiToMcs::Oai2013, 15), Some(27));
        assert_eq!(to_mcs(CqiToMcs::NrTable1, 2), Some(0));
        assert_eq!(to_mcs(CqiToMcs::Tmc, 0), None);
        assert_eq!(to_mcs(CqiToMcs::Oai, 0), Some(0));
    }

    #[test]
    fn every_map_rises_with_cqi_and_stays_within_its_mcs_table() {
        for map in CqiToMcs::ALL {
            for cqi in 1..=MAX_CQI {
                let mcs = to_mcs(map, cqi).unwrap();
                assert!(cqi == 1 || to_mcs(map, cqi - 1) <= Some(mcs), "{map:?}");
                let known = match map.mcs_table() {
                    McsTable::Lte(table) => crate::lte::mcs(table, mcs).is_some(),
                    McsTable::Nr(table) => crate::nr::mcs(table, mcs).is_some(),
                };
                assert!(known, "{map:?} CQI {cqi}");
            }
            assert_eq!(to_mcs(map, 16), None);
        }
    }
}
