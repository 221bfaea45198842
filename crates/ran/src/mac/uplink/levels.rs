//! The buffer size levels of buffer status reports (TS 38.321 clause 6.1.3.1).

/// Upper ends in bytes of the levels of a Buffer Size field of 5 bits (TS 38.321 Table 6.1.3.1-1).
/// The last level has no upper end and is left out.
const SHORT: [u32; 31] = [
    0, 10, 14, 20, 28, 38, 53, 74, 102, 142, 198, 276, 384, 535, 745, 1038, 1446, 2014, 2806, 3909,
    5446, 7587, 10_570, 14_726, 20_516, 28_581, 39_818, 55_474, 77_284, 107_669, 150_000,
];

/// The same for 8 bits (TS 38.321 Table 6.1.3.1-2); level 255 is reserved.
#[rustfmt::skip]
const LONG: [u32; 254] = [
    0, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 25, 26, 28, 30, 32, 34, 36, 38, 40, 43,
    46, 49, 52, 55, 59, 62, 66, 71, 75, 80, 85, 91, 97, 103, 110, 117, 124, 132, 141, 150, 160,
    170, 181, 193, 205, 218, 233, 248, 264, 281, 299, 318, 339, 361, 384, 409, 436, 464, 494, 526,
    560, 597, 635, 677, 720, 767, 817, 870, 926, 987, 1051, 1119, 1191, 1269, 1351, 1439, 1532,
    1631, 1737, 1850, 1970, 2098, 2234, 2379, 2533, 2698, 2873, 3059, 3258, 3469, 3694, 3934,
    4189, 4461, 4751, 5059, 5387, 5737, 6109, 6506, 6928, 7378, 7857, 8367, 8910, 9488, 10_104,
    10_760, 11_458, 12_202, 12_994, 13_838, 14_736, 15_692, 16_711, 17_795, 18_951, 20_181,
    21_491, 22_885, 24_371, 25_953, 27_638, 29_431, 31_342, 33_376, 35_543, 37_850, 40_307,
    42_923, 45_709, 48_676, 51_836, 55_200, 58_784, 62_599, 66_663, 70_990, 75_598, 80_505,
    85_730, 91_295, 97_221, 103_532, 110_252, 117_409, 125_030, 133_146, 141_789, 150_992,
    160_793, 171_231, 182_345, 194_182, 206_786, 220_209, 234_503, 249_725, 265_935, 283_197,
    301_579, 321_155, 342_002, 364_202, 387_842, 413_018, 439_827, 468_377, 498_780, 531_156,
    565_634, 602_350, 641_449, 683_087, 727_427, 774_645, 824_928, 878_475, 935_498, 996_222,
    1_060_888, 1_129_752, 1_203_085, 1_281_179, 1_364_342, 1_452_903, 1_547_213, 1_647_644,
    1_754_595, 1_868_488, 1_989_774, 2_118_933, 2_256_475, 2_402_946, 2_558_924, 2_725_027,
    2_901_912, 3_090_279, 3_290_873, 3_504_487, 3_731_968, 3_974_215, 4_232_186, 4_506_902,
    4_799_451, 5_110_989, 5_442_750, 5_796_046, 6_172_275, 6_572_925, 6_999_582, 7_453_933,
    7_937_777, 8_453_028, 9_001_725, 9_586_039, 10_208_280, 10_870_913, 11_576_557, 12_328_006,
    13_128_233, 13_980_403, 14_887_889, 15_854_280, 16_883_401, 17_979_324, 19_146_385,
    20_389_201, 21_712_690, 23_122_088, 24_622_972, 26_221_280, 27_923_336, 29_735_875,
    31_666_069, 33_721_553, 35_910_462, 38_241_455, 40_723_756, 43_367_187, 46_182_206,
    49_179_951, 52_372_284, 55_771_835, 59_392_055, 63_247_269, 67_352_729, 71_724_679,
    76_380_419, 81_338_368,
];

/// The content of a UE's buffer status report, as a base station counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Bytes: the upper end of the level, of all logical channel groups together.
    pub bytes: u64,
    /// A level was the last one, which has no upper end: there may be more.
    pub more: bool,
    /// Number of the UE's report, counted from 1; 0 before the first report.
    pub number: u32,
}

impl Reported {
    /// The short report after this one, of a UE with `bytes` in one logical channel group.
    #[must_use]
    pub fn next_short(&self, bytes: u64) -> Self {
        let level = Field::Short.level(bytes);
        let (bytes, more) = (Field::Short.bytes(level), Field::Short.is_last(level));
        self.next(bytes, more)
    }

    /// The report after this one.
    pub(super) const fn next(&self, bytes: u64, more: bool) -> Self {
        Self { bytes, more, number: self.number.wrapping_add(1) }
    }
}

/// The length of a Buffer Size field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// 5 bits: short formats.
    Short,
    /// 8 bits: long formats.
    Long,
}

impl Field {
    const fn ends(self) -> &'static [u32] {
        match self {
            Self::Short => &SHORT,
            Self::Long => &LONG,
        }
    }

    /// The level of a buffer with `bytes`.
    pub(super) fn level(self, bytes: u64) -> u8 {
        // At most 254 levels end below.
        self.ends().partition_point(|&end| u64::from(end) < bytes) as u8
    }

    /// The bytes that a base station assumes for `level`: its upper end. The last level has no
    /// upper end, so the upper end of the level before counts; the UE reports again.
    pub(super) fn bytes(self, level: u8) -> u64 {
        let ends = self.ends();
        ends[usize::from(level).min(ends.len() - 1)].into()
    }

    /// True if `level` has no upper end.
    pub(super) const fn is_last(self, level: u8) -> bool {
        level as usize >= self.ends().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_the_ends_of_the_two_tables() {
        // Rows of TS 38.321 Tables 6.1.3.1-1 and 6.1.3.1-2.
        for (bytes, level) in [
            (0, 0),
            (1, 1),
            (10, 1),
            (11, 2),
            (1_038, 15),
            (1_039, 16),
            (1_446, 16),
            (149_999, 30),
            (150_000, 30),
            (150_001, 31),
            (u64::MAX, 31),
        ] {
            assert_eq!(Field::Short.level(bytes), level, "{bytes} B");
        }
        for (bytes, level) in [
            (0, 0),
            (10, 1),
            (11, 2),
            (20, 11),
            (21, 12),
            (22, 12),
            (23, 13),
            (81_338_368, 253),
            (81_338_369, 254),
        ] {
            assert_eq!(Field::Long.level(bytes), level, "{bytes} B");
        }
    }

    /// Each end is 1.393 times the end before in the table of 5 bits, and 1.065 times in the table
    /// of 8 bits. A mistyped digit is further off.
    #[test]
    fn the_ends_follow_the_growth_of_the_tables() {
        let tables = [(&SHORT[..], 100, 1.3928, 0.0017), (&LONG[..], 1_000, 1.0649, 0.0007)];
        for (ends, from, factor, slack) in tables {
            assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
            for pair in ends.windows(2).filter(|pair| pair[0] >= from) {
                let ratio = f64::from(pair[1]) / f64::from(pair[0]);
                assert!((ratio - factor).abs() < slack, "{pair:?}: {ratio}");
            }
        }
    }

    #[test]
    fn a_report_never_tells_less_than_the_buffer_up_to_the_last_level() {
        for field in [Field::Short, Field::Long] {
            let most = u64::from(field.ends()[field.ends().len() - 1]);
            let mut bytes = 1;
            while bytes <= most {
                let reported = field.bytes(field.level(bytes));
                assert!(reported >= bytes, "{bytes} B are told as {reported} B");
                let below = field.level(bytes) - 1;
                assert!(field.bytes(below) < bytes, "{bytes} B fit the level below");
                bytes += 1 + bytes / 97;
            }
        }
    }
}
