//! The quality of a link by its SINR: the CQI that a UE reports, and the share of transport blocks
//! that are not decoded.
//!
//! An efficiency `e`, in information bits per resource element and layer, needs the SINR
//! `2^(e/alpha) - 1`. This is the inverse of the attenuated Shannon bound of TR 36.942 Annex A.1,
//! which TR 38.803 section 5.2.7 adopts for NR up to 86 GHz. In both `alpha` is 0.6 for the
//! downlink; it stands for the losses by fading, channel estimation and a code of finite length. At
//! this SINR one block in ten is not decoded (TS 38.214 section 5.2.2.1). Around it the share of
//! these blocks follows a logistic curve in dB, which falls from 90 % to 10 % within `width`.
//!
//! Known weaknesses: the bound does not saturate with the modulation, so it favours code rates near
//! 1; width and attenuation are the same for all MCSs and all sizes of blocks.

use crate::cqi::{CqiTable, CqiToMcs, MAX_CQI, McsTable, quality};
use crate::nr;

/// Indices of an MCS table.
const MCS_ROWS: usize = 29;
/// Share of blocks that are not decoded at the SINR that an efficiency needs.
const TARGET: f64 = 0.1;
/// The same for CQIs of table 3 (TS 38.214 section 5.2.2.1).
const LOW_TARGET: f64 = 0.00001;

/// The SINR in dB at which one block in ten of `efficiency` information bits per resource element
/// is not decoded; `attenuation` is alpha, above 0.
#[must_use]
pub fn needed_sinr_db(efficiency: f64, attenuation: f64) -> f64 {
    10.0 * libm::log10(libm::exp2(efficiency / attenuation) - 1.0)
}

/// The curves of an NR link: the SINR that each CQI and each MCS needs.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkCurves {
    /// By MCS, the SINR in dB at which half of the blocks are decoded; infinite where the table
    /// defines none.
    half: [f64; MCS_ROWS],
    /// The least SINR in dB of CQI 1 to 15.
    least: [f64; MAX_CQI as usize],
    /// dB over which the odds change by the factor e.
    scale: f64,
}

impl LinkCurves {
    /// The curves of the MCS table that `map` selects, and of its CQI table. `attenuation` is
    /// alpha, above 0; `width_db` is the distance from 90 % to 10 % of errors, above 0. None if
    /// `map` selects an LTE table, whose MCSs have no code rate of their own.
    #[must_use]
    pub fn new(map: CqiToMcs, attenuation: f64, width_db: f64) -> Option<Self> {
        let McsTable::Nr(table) = map.mcs_table() else { return None };
        let scale = width_db / (2.0 * odds(TARGET));
        let half = |efficiency| needed_sinr_db(efficiency, attenuation) - scale * odds(TARGET);
        let (cqis, target) = match table {
            nr::McsTable::Table1 => (CqiTable::Table1, TARGET),
            nr::McsTable::Table2 => (CqiTable::Table2, TARGET),
            nr::McsTable::Table3 => (CqiTable::Table3, LOW_TARGET),
        };
        Some(Self {
            half: core::array::from_fn(|mcs| {
                nr::mcs(table, mcs as u8).map_or(f64::INFINITY, |mcs| half(mcs.efficiency()))
            }),
            least: core::array::from_fn(|i| {
                let efficiency = quality(cqis, i as u8 + 1).map(|q| q.efficiency());
                efficiency.map_or(f64::INFINITY, half) + scale * odds(target)
            }),
            scale,
        })
    }

    /// The CQI that a UE with `sinr_db` reports: the highest whose blocks fail no more often than
    /// the table promises; 0, out of range, if there is none.
    #[must_use]
    pub fn cqi(&self, sinr_db: f64) -> u8 {
        self.least.partition_point(|&least| least <= sinr_db) as u8
    }

    /// The share of blocks at `mcs` that are not decoded at `sinr_db`; 1 if the table does not
    /// define this MCS.
    #[must_use]
    pub fn bler(&self, mcs: u8, sinr_db: f64) -> f64 {
        let half = self.half.get(usize::from(mcs)).copied().unwrap_or(f64::INFINITY);
        1.0 / (1.0 + libm::exp((sinr_db - half) / self.scale))
    }
}

/// The logarithm of the odds against `share`.
fn odds(share: f64) -> f64 {
    libm::log((1.0 - share) / share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cqi::to_mcs;

    fn curves(map: CqiToMcs) -> LinkCurves {
        LinkCurves::new(map, 0.6, 1.0).expect("an NR map")
    }

    #[test]
    fn the_needed_sinr_is_the_bound_of_tr_36942_turned_round() {
        // 0.6 log2(1 + SINR): 10 dB carry 0.6 x 3.4594 = 2.0757 bit/s/Hz, 0 dB carry 0.6, -10 dB
        // carry 0.6 x 0.13750 = 0.0825.
        for (efficiency, db) in [(2.075_659, 10.0), (0.6, 0.0), (0.082_502, -10.0)] {
            let got = needed_sinr_db(efficiency, 0.6);
            assert!((got - db).abs() < 1e-3, "{efficiency}: {got}");
        }
        // Without attenuation it is Shannon's: 1 bit/s/Hz at 0 dB.
        assert!(needed_sinr_db(1.0, 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_block_fails_once_in_ten_where_its_mcs_is_needed_and_half_a_width_below_it_in_two() {
        let curves = curves(CqiToMcs::NrTable1);
        for mcs in 0..29 {
            let efficiency = nr::mcs(nr::McsTable::Table1, mcs).unwrap().efficiency();
            let needed = needed_sinr_db(efficiency, 0.6);
            for (db, share) in [(0.0, 0.1), (-0.5, 0.5), (-1.0, 0.9)] {
                let got = curves.bler(mcs, needed + db);
                assert!((got - share).abs() < 1e-9, "MCS {mcs} {db} dB: {got}");
            }
        }
        assert!(curves.bler(29, 60.0) >= 1.0, "no such MCS");
    }

    #[test]
    fn errors_fall_with_the_sinr_and_rise_with_the_mcs() {
        let curves = curves(CqiToMcs::NrTable2);
        for mcs in 0..28 {
            let at = |db: i32| curves.bler(mcs, f64::from(db) * 0.25);
            assert!((-80..160).all(|db| at(db + 1) <= at(db) && (0.0..=1.0).contains(&at(db))));
            assert!(at(-80) > 0.99 && at(240) < 0.01, "MCS {mcs}");
        }
        // TS 38.214 Table 5.1.3.1-2: efficiencies rise from MCS to MCS, but for 19 to 20, where the
        // modulation changes.
        for mcs in (0..27).filter(|mcs| *mcs != 19) {
            assert!(curves.bler(mcs + 1, 8.0) >= curves.bler(mcs, 8.0), "MCS {mcs}");
        }
    }

    #[test]
    fn a_cqi_promises_its_share_of_errors_and_rises_with_the_sinr() {
        for (map, table, target) in [
            (CqiToMcs::NrTable1, CqiTable::Table1, 0.1),
            (CqiToMcs::NrTable2, CqiTable::Table2, 0.1),
            (CqiToMcs::NrTable3, CqiTable::Table3, 0.00001),
        ] {
            let curves = curves(map);
            let mut before = 0;
            for tenth in -300..500 {
                let db = f64::from(tenth) / 10.0;
                let cqi = curves.cqi(db);
                assert!(cqi >= before, "{map:?} {db} dB");
                before = cqi;
                let Some(promised) = quality(table, cqi) else { continue };
                let half = needed_sinr_db(promised.efficiency(), 0.6) - 0.5;
                let share = 1.0 / (1.0 + libm::exp((db - half) / curves.scale));
                assert!(share <= target * 1.000_001, "{map:?} {db} dB: {share}");
                // If the map's MCS has at most the CQI's efficiency, it keeps the promise.
                let mcs = to_mcs(map, cqi).unwrap();
                if map == CqiToMcs::NrTable1 && cqi > 1 {
                    assert!(curves.bler(mcs, db) <= 0.11, "CQI {cqi} MCS {mcs} {db} dB");
                }
            }
            assert_eq!((curves.cqi(-30.0), curves.cqi(50.0)), (0, 15), "{map:?}");
        }
    }

    #[test]
    fn lte_has_no_curves() {
        assert_eq!(LinkCurves::new(CqiToMcs::Tmc, 0.6, 1.0), None);
    }
}
