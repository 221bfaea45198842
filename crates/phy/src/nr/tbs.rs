//! The transport block size of TS 38.214 section 5.1.3.2, in integer arithmetic throughout.
//!
//! The standard rounds a real number N_info at powers of two. In floating point, a product exactly
//! on such a boundary could fall on either side. Here N_info is a fraction with denominator 2048,
//! so every comparison is exact. The scaling factor S is 1: 0.5 and 0.25 are for paging and random
//! access, which carry no user data.

use crate::modulation::{CodeRate, Modulation};

/// Resource blocks of the widest NR bandwidth part (TS 38.211 section 4.4.2).
pub const MAX_PRBS: u16 = 275;

/// The most resource elements per block that count for the size (all may be used for transmission).
const MAX_RES_PER_PRB: u32 = 156;
/// Largest N_info sized by the table; above it the formula applies.
const TABLE_LIMIT: u64 = 3824;
/// Denominator of N_info.
const DENOMINATOR: u64 = 2048;
/// Bits of the checksum of a transport block, and of a code block.
const CRC: u64 = 24;

/// TS 38.214 Table 5.1.3.2-1.
#[rustfmt::skip]
const SMALL: [u16; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184,
        192, 208,
    224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576,
        608, 640,
    672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288,
        1320, 1352,
    1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472,
        2536,
    2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496, 3624, 3752, 3824,
];

/// The inputs of a transport block's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrTbsInput {
    /// Resource blocks, 1 to 275.
    pub n_prb: u16,
    /// Scheduled symbols of the slot, 1 to 14.
    pub symbols: u8,
    /// Resource elements per block taken by demodulation reference signals over all symbols,
    /// including CDM groups without data.
    pub dmrs_res: u8,
    /// Configured overhead per block (`xOverhead`): 0, 6, 12 or 18 resource elements.
    pub overhead_res: u8,
    /// Modulation.
    pub modulation: Modulation,
    /// Target code rate.
    pub code_rate: CodeRate,
    /// Layers of this codeword, 1 to 4.
    pub layers: u8,
}

/// Bits of the transport block for `input`.
///
/// None when a field is outside its stated bounds, or reference signals and overhead leave no
/// resource element.
#[must_use]
pub fn tbs_bits(input: &NrTbsInput) -> Option<u32> {
    let in_bounds = (1..=MAX_PRBS).contains(&input.n_prb)
        && (1..=14).contains(&input.symbols)
        && (1..=4).contains(&input.layers)
        && matches!(input.overhead_res, 0 | 6 | 12 | 18);
    if !in_bounds {
        return None;
    }
    let used = u32::from(input.dmrs_res) + u32::from(input.overhead_res);
    let res_per_prb = (12 * u32::from(input.symbols)).checked_sub(used).filter(|&n| n > 0)?;
    let res = u64::from(res_per_prb.min(MAX_RES_PER_PRB)) * u64::from(input.n_prb);
    // N_info in 2048ths: at most 156 x 275 x 2047 x 8 x 4, far below 2^64.
    let n_info = res
        * u64::from(input.code_rate.in_2048ths())
        * u64::from(input.modulation.bits())
        * u64::from(input.layers);
    let bits = if n_info <= TABLE_LIMIT * DENOMINATOR {
        small(n_info)
    } else {
        large(n_info, input.code_rate)
    };
    u32::try_from(bits).ok()
}

/// N_info up to 3824: rounded down to a multiple of the step, then up to the next table entry.
fn small(n_info: u64) -> u64 {
    let whole = n_info / DENOMINATOR;
    let n = floor_log2(whole).saturating_sub(6).max(3);
    let quantised = (whole >> n << n).max(24);
    let index = SMALL.partition_point(|&size| u64::from(size) < quantised);
    u64::from(SMALL[index])
}

/// N_info above 3824: rounded to the nearest of 32 to 63 steps, then up until it divides into equal
/// code blocks of whole bytes.
fn large(n_info: u64, code_rate: CodeRate) -> u64 {
    let without_crc = n_info - CRC * DENOMINATOR;
    let n = floor_log2(without_crc / DENOMINATOR) - 5;
    let step = DENOMINATOR << n;
    // "Ties go upwards", section 5.1.3.2 step 3.
    let quantised = (((without_crc + step / 2) / step) << n).max(3840);
    // The largest LDPC segments are 3840 and 8448 bits, each with its checksum (TS 38.212 section
    // 5.2.2).
    let blocks = if code_rate.in_2048ths() <= 512 {
        (quantised + CRC).div_ceil(3840 - CRC)
    } else if quantised > 8448 - CRC {
        (quantised + CRC).div_ceil(8448 - CRC)
    } else {
        1
    };
    8 * blocks * (quantised + CRC).div_ceil(8 * blocks) - CRC
}

/// The exponent of the highest power of two not above `n`; 0 for 0.
const fn floor_log2(n: u64) -> u32 {
    match n.checked_ilog2() {
        Some(log) => log,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nr::{McsTable, mcs};

    fn input(
        n_prb: u16,
        symbols: u8,
        dmrs: u8,
        oh: u8,
        q_m: u8,
        rate: u16,
        layers: u8,
    ) -> NrTbsInput {
        NrTbsInput {
            n_prb,
            symbols,
            dmrs_res: dmrs,
            overhead_res: oh,
            modulation: Modulation::of_order(q_m),
            code_rate: CodeRate::of_table(rate),
            layers,
        }
    }

    #[test]
    fn sizes_equal_four_independent_implementations() {
        for (case, want) in [
            (input(1, 2, 6, 0, 2, 60, 1), 24),
            (input(4, 14, 12, 0, 2, 240, 1), 144),
            (input(25, 12, 12, 0, 2, 898, 1), 2976),
            (input(5, 14, 12, 0, 4, 980, 1), 1544),
            (input(6, 13, 24, 6, 8, 1365, 2), 8064),
            (input(66, 14, 12, 0, 2, 156, 1), 1608),
            (input(106, 14, 18, 0, 2, 386, 2), 12_040),
            (input(24, 14, 12, 0, 6, 932, 1), 10_248),
            (input(51, 14, 12, 0, 6, 1544, 1), 35_856),
            (input(106, 13, 18, 0, 6, 1896, 2), 163_976),
            (input(66, 14, 12, 6, 8, 1594, 4), 245_976),
            (input(273, 14, 12, 0, 8, 1896, 4), 1_277_992),
        ] {
            assert_eq!(tbs_bits(&case), Some(want), "{case:?}");
        }
    }

    #[test]
    fn fields_outside_their_bounds_have_no_size() {
        let good = input(1, 2, 6, 0, 2, 60, 1);
        for bad in [
            NrTbsInput { n_prb: 0, ..good },
            NrTbsInput { n_prb: 276, ..good },
            NrTbsInput { symbols: 0, ..good },
            NrTbsInput { symbols: 15, ..good },
            NrTbsInput { dmrs_res: 24, ..good },
            NrTbsInput { overhead_res: 18, ..good },
            NrTbsInput { overhead_res: 5, ..good },
            NrTbsInput { layers: 0, ..good },
            NrTbsInput { layers: 5, ..good },
        ] {
            assert_eq!(tbs_bits(&bad), None, "{bad:?}");
        }
    }

    #[test]
    fn every_size_is_whole_bytes_and_grows_with_the_carrier() {
        for table in [McsTable::Table1, McsTable::Table2, McsTable::Table3] {
            for row in (0..29).filter_map(|i| mcs(table, i)) {
                for layers in 1..=4 {
                    let mut before = 0;
                    for n_prb in 1..=MAX_PRBS {
                        let bits = tbs_bits(&NrTbsInput {
                            n_prb,
                            symbols: 13,
                            dmrs_res: 12,
                            overhead_res: 0,
                            modulation: row.modulation,
                            code_rate: row.code_rate,
                            layers,
                        })
                        .unwrap();
                        assert_eq!(bits % 8, 0);
                        assert!(bits >= before, "{row:?} {n_prb} PRBs: {bits} after {before}");
                        before = bits;
                    }
                }
            }
        }
    }

    #[test]
    fn sizing_stays_within_the_quantiser_of_the_information_bits() {
        // Whatever the rounding, a large block is within 1/16 of R x Q_m x layers x resource
        // elements.
        let case = input(106, 14, 12, 0, 6, 1544, 2);
        let ideal = 156.0 * 106.0 * 6.0 * 2.0 * 772.0 / 1024.0;
        let bits = f64::from(tbs_bits(&case).unwrap());
        assert!((bits / ideal - 1.0).abs() < 1.0 / 16.0, "{bits} for {ideal}");
    }
}
