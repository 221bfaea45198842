//! Numerology (TS 38.211 section 4), carrier widths (TS 38.101-1 and -2) and group sizes (TS 38.214
//! section 5.1.2.2).

use crate::rbg::RbgLayout;
use justfull_base::Duration;

/// The numerology mu of TS 38.211 Table 4.2-1: subcarriers are 15 x 2^mu kHz apart and a slot lasts
/// 1 ms / 2^mu.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Numerology(u8);

impl Numerology {
    /// Numerology `mu`, or none above 4. 4 (240 kHz) carries synchronisation signals only, no data.
    #[must_use]
    pub const fn new(mu: u8) -> Option<Self> {
        if mu <= 4 { Some(Self(mu)) } else { None }
    }

    /// mu.
    #[must_use]
    pub const fn mu(self) -> u8 {
        self.0
    }

    /// Distance between subcarriers in kHz.
    #[must_use]
    pub const fn subcarrier_khz(self) -> u16 {
        15 << self.0
    }

    /// Slots in a subframe of 1 ms.
    #[must_use]
    pub const fn slots_per_subframe(self) -> u16 {
        1 << self.0
    }

    /// Length of a slot of 14 symbols; exact, since 1 ms / 16 is a whole number of nanoseconds.
    #[must_use]
    pub const fn slot(self) -> Duration {
        Duration::from_nanos(1_000_000 >> self.0)
    }
}

/// Frequency range of a carrier (TS 38.101-1 section 5.1, TS 38.101-2 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrequencyRange {
    /// 410 to 7125 MHz.
    Fr1,
    /// 24.25 to 52.6 GHz (FR2-1).
    Fr2,
}

/// Width in MHz, then N_RB at three subcarrier spacings; 0 for undefined pairs.
type Widths = [(u16, [u16; 3])];

/// TS 38.101-1 Table 5.3.2-1 at 15, 30 and 60 kHz.
const FR1: &Widths = &[
    (5, [25, 11, 0]),
    (10, [52, 24, 11]),
    (15, [79, 38, 18]),
    (20, [106, 51, 24]),
    (25, [133, 65, 31]),
    (30, [160, 78, 38]),
    (35, [188, 92, 44]),
    (40, [216, 106, 51]),
    (45, [242, 119, 58]),
    (50, [270, 133, 65]),
    (60, [0, 162, 79]),
    (70, [0, 189, 93]),
    (80, [0, 217, 107]),
    (90, [0, 245, 121]),
    (100, [0, 273, 135]),
];

/// TS 38.101-2 Table 5.3.2-1 at 60 and 120 kHz (the first column is not defined).
const FR2: &Widths =
    &[(50, [0, 66, 32]), (100, [0, 132, 66]), (200, [0, 264, 132]), (400, [0, 0, 264])];

/// Maximum resource blocks of a carrier of `width_mhz`: TS 38.101-1 and 38.101-2, Table 5.3.2-1.
///
/// None if the standard defines no such carrier. FR2-2 and the 3 MHz carrier of later releases are
/// not included.
#[must_use]
pub fn max_n_rb(range: FrequencyRange, width_mhz: u16, numerology: Numerology) -> Option<u16> {
    let (table, first_mu) = match range {
        FrequencyRange::Fr1 => (FR1, 0),
        FrequencyRange::Fr2 => (FR2, 1),
    };
    let column = usize::from(numerology.mu().checked_sub(first_mu)?);
    let (_, row) = table.iter().find(|(width, _)| *width == width_mhz)?;
    row.get(column).copied().filter(|&n| n > 0)
}

/// The configured column of nominal group sizes (`rbg-Size` of TS 38.331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RbgConfig {
    /// Configuration 1: smaller groups.
    #[default]
    One,
    /// Configuration 2.
    Two,
}

/// Nominal resource blocks per group in a bandwidth part of `n_rb` blocks: TS 38.214 Table
/// 5.1.2.2.1-1.
///
/// None unless `n_rb` lies between 1 and 275.
#[must_use]
pub const fn rbg_size(n_rb: u16, config: RbgConfig) -> Option<u16> {
    let (one, two) = match n_rb {
        1..=36 => (2, 4),
        37..=72 => (4, 8),
        73..=144 => (8, 16),
        145..=275 => (16, 16),
        _ => return None,
    };
    Some(match config {
        RbgConfig::One => one,
        RbgConfig::Two => two,
    })
}

/// The groups of a bandwidth part of `n_rb` blocks that begins at block `start` of the carrier;
/// none unless `n_rb` lies between 1 and 275.
#[must_use]
pub fn rbg_layout(start: u16, n_rb: u16, config: RbgConfig) -> Option<RbgLayout> {
    RbgLayout::new(start, n_rb, rbg_size(n_rb, config)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mu(mu: u8) -> Numerology {
        Numerology::new(mu).unwrap()
    }

    #[test]
    fn slots_halve_with_each_numerology() {
        assert_eq!(mu(0).slot(), Duration::from_millis(1));
        assert_eq!(mu(3).slot(), Duration::from_micros(125));
        for m in 0..=4 {
            assert_eq!(
                mu(m).slot().times(u64::from(mu(m).slots_per_subframe())),
                Duration::from_millis(1)
            );
        }
        assert_eq!(mu(3).subcarrier_khz(), 120);
        assert_eq!(Numerology::new(5), None);
    }

    #[test]
    fn carriers_have_the_standard_widths() {
        use FrequencyRange::{Fr1, Fr2};
        for (range, width, m, want) in [
            (Fr1, 5, 0, Some(25)),
            (Fr1, 20, 0, Some(106)),
            (Fr1, 100, 1, Some(273)),
            (Fr1, 100, 2, Some(135)),
            (Fr1, 100, 0, None),
            (Fr1, 5, 2, None),
            (Fr1, 20, 3, None),
            (Fr2, 100, 3, Some(66)),
            (Fr2, 400, 3, Some(264)),
            (Fr2, 400, 2, None),
            (Fr2, 100, 0, None),
            (Fr1, 21, 0, None),
        ] {
            assert_eq!(max_n_rb(range, width, mu(m)), want, "{range:?} {width} MHz mu {m}");
        }
    }

    #[test]
    fn no_carrier_is_wider_than_its_blocks_allow() {
        for (range, table) in [(FrequencyRange::Fr1, FR1), (FrequencyRange::Fr2, FR2)] {
            for &(width, _) in table {
                for m in 0..=3 {
                    let Some(n_rb) = max_n_rb(range, width, mu(m)) else { continue };
                    let khz = u32::from(n_rb) * 12 * u32::from(mu(m).subcarrier_khz());
                    let share = f64::from(khz) / (f64::from(width) * 1000.0);
                    assert!((0.79..0.99).contains(&share), "{width} MHz mu {m}: {share}");
                }
            }
        }
    }

    #[test]
    fn group_sizes_change_at_the_bounds_of_the_table() {
        let sizes =
            |config| [1, 36, 37, 72, 73, 144, 145, 275].map(|n| rbg_size(n, config).unwrap_or(0));
        assert_eq!(sizes(RbgConfig::One), [2, 2, 4, 4, 8, 8, 16, 16]);
        assert_eq!(sizes(RbgConfig::Two), [4, 4, 8, 8, 16, 16, 16, 16]);
        assert_eq!((rbg_size(0, RbgConfig::One), rbg_size(276, RbgConfig::Two)), (None, None));
    }
}
