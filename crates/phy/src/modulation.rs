//! Modulation and code rate, the columns of CQI and MCS tables.

/// How many bits one resource element of one layer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modulation {
    /// 2 bits.
    Qpsk,
    /// 4 bits.
    Qam16,
    /// 6 bits.
    Qam64,
    /// 8 bits.
    Qam256,
}

impl Modulation {
    /// The modulation order Q_m: coded bits per resource element and layer.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
            Self::Qam256 => 8,
        }
    }

    /// The modulation of order `q_m` (2, 4, 6 or 8).
    pub(crate) const fn of_order(q_m: u8) -> Self {
        match q_m {
            2 => Self::Qpsk,
            4 => Self::Qam16,
            6 => Self::Qam64,
            8 => Self::Qam256,
            _ => panic!("a modulation order is 2, 4, 6 or 8"),
        }
    }
}

/// A target code rate R: information bits per coded bit, between 0 and 1, in steps of 1/2048.
///
/// The tables print R x 1024 and use halves (682.5), hence the finer step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeRate(u16);

impl CodeRate {
    /// The rate `n` / 2048, or none unless 0 < `n` < 2048.
    #[must_use]
    pub const fn from_2048ths(n: u16) -> Option<Self> {
        if n > 0 && n < 2048 { Some(Self(n)) } else { None }
    }

    /// Like `from_2048ths`, for this crate's tables, where all rates are in range.
    pub(crate) const fn of_table(n: u16) -> Self {
        assert!(n > 0 && n < 2048, "a code rate lies between 0 and 1");
        Self(n)
    }

    /// The rate times 2048, exact.
    #[must_use]
    pub const fn in_2048ths(self) -> u16 {
        self.0
    }

    /// The rate times 1024 as the tables print it.
    #[must_use]
    pub fn times_1024(self) -> f64 {
        f64::from(self.0) / 2.0
    }
}

/// Information bits per resource element and layer: Q_m R, the "spectral efficiency" column of the
/// tables.
pub(crate) fn efficiency(modulation: Modulation, rate: CodeRate) -> f64 {
    f64::from(modulation.bits() * u32::from(rate.0)) / 2048.0
}
