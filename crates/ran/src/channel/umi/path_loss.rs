//! Path loss, penetration loss and noise, in dB. Formulas and numbers of TR 38.901 section 7.4;
//! distances in m, frequencies in GHz.

use super::OutdoorToIndoor;

/// Speed of light in m/s, as the table's note gives it.
const LIGHT: f64 = 3.0e8;
/// Height of the effective environment in m (Table 7.4.1-1, note 1).
pub(super) const ENVIRONMENT: f64 = 1.0;
/// Least distance on the ground for which the formulas hold.
pub(super) const LEAST_DISTANCE: f64 = 10.0;
/// Density of thermal noise at 290 K in dBm/Hz.
const THERMAL_NOISE: f64 = -174.0;

/// A path between the antennas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heights {
    /// Height of the gNB's antenna.
    pub(super) gnb: f64,
    /// Height of the UE's antenna.
    pub(super) ue: f64,
}

impl Heights {
    /// The distance between antennas that are `ground` apart on the ground.
    pub(super) fn direct(self, ground: f64) -> f64 {
        libm::sqrt(ground * ground + (self.gnb - self.ue) * (self.gnb - self.ue))
    }
}

/// UMi street canyon in sight (Table 7.4.1-1): `PL1` up to the breakpoint, `PL2` beyond it.
pub(super) fn in_sight(ground: f64, heights: Heights, ghz: f64) -> f64 {
    let ground = ground.max(LEAST_DISTANCE);
    let direct = heights.direct(ground);
    let Heights { gnb, ue } = heights;
    let breakpoint = 4.0 * (gnb - ENVIRONMENT) * (ue - ENVIRONMENT) * ghz * 1.0e9 / LIGHT;
    if ground <= breakpoint {
        32.4 + 21.0 * libm::log10(direct) + 20.0 * libm::log10(ghz)
    } else {
        32.4 + 40.0 * libm::log10(direct) + 20.0 * libm::log10(ghz)
            - 9.5 * libm::log10(breakpoint * breakpoint + (gnb - ue) * (gnb - ue))
    }
}

/// UMi street canyon out of sight (Table 7.4.1-1): never less than in sight.
pub(super) fn out_of_sight(ground: f64, heights: Heights, ghz: f64) -> f64 {
    let direct = heights.direct(ground.max(LEAST_DISTANCE));
    let loss =
        35.3 * libm::log10(direct) + 22.4 + 21.3 * libm::log10(ghz) - 0.3 * (heights.ue - 1.5);
    loss.max(in_sight(ground, heights, ghz))
}

/// Loss of an outer wall, and its standard deviation over buildings (Tables 7.4.3-1 and 7.4.3-2).
pub(super) fn wall(model: OutdoorToIndoor, ghz: f64) -> (f64, f64) {
    let glass = 2.0 + 0.2 * ghz;
    let coated_glass = 23.0 + 0.3 * ghz;
    let concrete = 5.0 + 4.0 * ghz;
    let (share, window, deviation) = match model {
        OutdoorToIndoor::Low => (0.3, glass, 4.4),
        OutdoorToIndoor::High => (0.7, coated_glass, 6.5),
    };
    let passed = share * power(-window) + (1.0 - share) * power(-concrete);
    (5.0 - 10.0 * libm::log10(passed), deviation)
}

/// Loss within a building (section 7.4.3.1): 0.5 dB for each m behind the wall, the smaller of two
/// draws from 0 to 25 m.
pub(super) fn within(draws: [f64; 2]) -> f64 {
    0.5 * 25.0 * draws[0].min(draws[1])
}

/// The mean of [`within`].
pub(super) const MEAN_WITHIN: f64 = 0.5 * 25.0 / 3.0;

/// Thermal noise over `hertz`, in dBm.
pub(super) fn noise(hertz: f64) -> f64 {
    THERMAL_NOISE + 10.0 * libm::log10(hertz)
}

/// The ratio of `db`.
pub(super) fn power(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREET: Heights = Heights { gnb: 10.0, ue: 1.5 };

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 0.005, "{got} for {want}");
    }

    #[test]
    fn in_sight_is_the_formula_on_both_sides_of_the_breakpoint() {
        // d3D = sqrt(100^2 + 8.5^2) = 100.3606: 32.4 + 21 x 2.001563 + 20 x 1.447158.
        near(in_sight(100.0, STREET, 28.0), 103.376);
        // d'BP = 4 x 9 x 0.5 x 28e9 / 3e8 = 1680 m. At 2000 m, d3D = 2000.0181:
        // 32.4 + 40 x 3.301034 + 28.943161 - 9.5 x log10(1680^2 + 8.5^2) = 9.5 x 6.450630.
        near(in_sight(2000.0, STREET, 28.0), 132.103);
        // At 2 GHz d'BP = 120 m; 200 m: d3D = 200.18055, 32.4 + 40 x 2.301422 + 6.0206 - 9.5 x
        // log10(120^2 + 8.5^2) = 9.5 x 4.160536.
        near(in_sight(200.0, STREET, 2.0), 90.952);
        // Both formulas meet there.
        near(in_sight(1680.0 - 1e-6, STREET, 28.0), in_sight(1680.0 + 1e-6, STREET, 28.0));
    }

    #[test]
    fn out_of_sight_is_the_formula_and_never_less_than_in_sight() {
        // 35.3 x 2.001563 + 22.4 + 21.3 x 1.447158 - 0.
        near(out_of_sight(100.0, STREET, 28.0), 123.880);
        // 3 m higher: 35.3 x log10(sqrt(100^2 + 5.5^2)) = 35.3 x 2.000656, less 0.9.
        near(out_of_sight(100.0, Heights { ue: 4.5, ..STREET }, 28.0), 122.948);
        for step in 0..500 {
            let ground = f64::from(step) * 10.0;
            assert!(out_of_sight(ground, STREET, 28.0) >= in_sight(ground, STREET, 28.0));
        }
    }

    #[test]
    fn nearer_than_10_m_the_loss_equals_the_loss_at_10_m() {
        near(in_sight(0.0, STREET, 28.0), in_sight(10.0, STREET, 28.0));
        near(out_of_sight(3.0, STREET, 28.0), out_of_sight(10.0, STREET, 28.0));
    }

    #[test]
    fn walls_equal_table_7_4_3_2() {
        // 28 GHz: glass 7.6 dB, concrete 117 dB, IRR glass 31.4 dB.
        // 5 - 10 log10(0.3 x 10^-0.76) = 5 + 7.6 + 5.2288; 5 + 31.4 + 1.5490.
        near(wall(OutdoorToIndoor::Low, 28.0).0, 17.829);
        near(wall(OutdoorToIndoor::High, 28.0).0, 37.949);
        // 0.5 GHz, where concrete counts: 2.1 and 7 dB; 0.3 x 0.616595 + 0.7 x 0.199526 = 0.324647.
        near(wall(OutdoorToIndoor::Low, 0.5).0, 9.886);
        near(within([0.88, 0.9]), 11.0);
    }

    #[test]
    fn noise_over_190_mhz_is_minus_91_dbm() {
        near(noise(132.0 * 12.0 * 120_000.0), -91.210);
    }
}
