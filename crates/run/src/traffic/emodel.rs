//! The E-model: the quality of a call for a listener, by ITU-T G.107 (06/2015).
//!
//! R = Ro - Is - Id - Ie,eff + A (equation 1), with every parameter except delay and loss at its
//! default of table 2: wideband is not modelled, the advantage factor A is 0, and losses are random
//! (BurstR = 1). Id is the sum of talker echo (TELR 65 dB), listener echo (WEPL 110 dB) and pure
//! delay. Ie,eff follows from loss by equation 29 with a codec's Ie and Bpl of G.113 appendix I.
//! Annex B converts R to a mean opinion score.

/// Send loudness rating, dB.
const SLR: f64 = 8.0;
/// Receive loudness rating, dB.
const RLR: f64 = 2.0;
/// Overall loudness rating, dB.
const OLR: f64 = SLR + RLR;
/// Sidetone masking rating, dB.
const STMR: f64 = 15.0;
/// D-value of the telephone, both sides.
const D: f64 = 3.0;
/// Talker echo loudness rating, dB.
const TELR: f64 = 65.0;
/// Weighted echo path loss, dB.
const WEPL: f64 = 110.0;
/// Circuit noise referred to the 0 dBr point, dBm0p.
const NC: f64 = -70.0;
/// Noise floor at the receive side, dBmp.
const NFOR: f64 = -64.0;
/// Room noise, both sides, dB(A).
const P: f64 = 35.0;
/// Quantisation distortion units.
const QDU: f64 = 1.0;

/// A codec, with the parameters of G.113 appendix I.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Codec {
    /// Equipment impairment without loss.
    pub(crate) ie: f64,
    /// Robustness against loss.
    pub(crate) bpl: f64,
}

/// The transmission rating of a call with mouth-to-ear delay `delay_ms` and a share `loss` (0 to 1)
/// of lost or late packets: 0 to 100, the range of R (clause 7.1 with annex B, whose score is
/// defined up to both ends).
pub(crate) fn rating(delay_ms: f64, loss: f64, codec: Codec) -> f64 {
    let no = noise();
    let ro = 15.0 - 1.5 * (SLR + no);
    let r =
        ro - simultaneous(ro, no, delay_ms) - delayed(ro, no, delay_ms) - equipment(loss, codec);
    r.clamp(0.0, 100.0)
}

/// The mean opinion score of rating `r`: annex B, equation B-4.
pub(crate) fn opinion(r: f64) -> f64 {
    if r <= 0.0 {
        1.0
    } else if r >= 100.0 {
        4.5
    } else {
        (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
    }
}

/// Sum of levels in dB.
fn power_sum(levels: &[f64]) -> f64 {
    10.0 * libm::log10(levels.iter().map(|l| libm::pow(10.0, l / 10.0)).sum())
}

/// The n-th root of 1 + x^n.
fn rounded(x: f64, n: f64) -> f64 {
    libm::pow(1.0 + libm::pow(x, n), 1.0 / n)
}

/// All noise, dBm0p: equations 3 to 7.
fn noise() -> f64 {
    let nos = P - SLR - D - 100.0 + 0.004 * (P - OLR - D - 14.0) * (P - OLR - D - 14.0);
    let pre = P + 10.0 * libm::log10(1.0 + libm::pow(10.0, (10.0 - (STMR + D)) / 10.0));
    let nor = RLR - 121.0 + pre + 0.008 * (pre - 35.0) * (pre - 35.0);
    power_sum(&[NC, nos, nor, NFOR + RLR])
}

/// Is, impairments that accompany the voice: equations 8 to 16.
fn simultaneous(ro: f64, no: f64, t: f64) -> f64 {
    let x = OLR + 0.2 * (64.0 + no - RLR);
    let loud = 20.0 * (rounded(x / 8.0, 8.0) - x / 8.0);
    let stmr = -power_sum(&[-STMR, -TELR - 10.0 * (t / 4.0) * std::f64::consts::LOG10_E]);
    let sidetone = 12.0 * rounded((stmr - 13.0) / 6.0, 8.0)
        - 28.0 * rounded((stmr + 1.0) / 19.4, 35.0)
        - 13.0 * rounded((stmr - 3.0) / 33.0, 13.0)
        + 29.0;
    let q = 37.0 - 15.0 * libm::log10(QDU);
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let y = (ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
    let z = 46.0 / 30.0 - g / 40.0;
    let quantisation = 15.0 * libm::log10(1.0 + libm::pow(10.0, y) + libm::pow(10.0, z));
    loud + sidetone + quantisation
}

/// Id, impairments by delay: equations 17 to 28, with the one-way delay `t` on all paths.
fn delayed(ro: f64, no: f64, t: f64) -> f64 {
    let terv = TELR - 40.0 * libm::log10((1.0 + t / 10.0) / (1.0 + t / 150.0))
        + 6.0 * libm::exp(-0.3 * t * t);
    let (roe, re) = (-1.5 * (no - RLR), 80.0 + 2.5 * (terv - 14.0));
    let half = (roe - re) / 2.0;
    let talker = (half + libm::sqrt(half * half + 100.0) - 1.0) * (1.0 - libm::exp(-t));
    let rle = 10.5 * (WEPL + 7.0) * libm::pow(2.0 * t + 1.0, -0.25);
    let half = (ro - rle) / 2.0;
    let listener = half + libm::sqrt(half * half + 169.0);
    talker + listener + pure_delay(t)
}

/// Idd: equations 27 and 28, for the default sensitivity to delay.
fn pure_delay(t: f64) -> f64 {
    if t <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(t / 100.0);
    25.0 * (rounded(x, 6.0) - 3.0 * rounded(x / 3.0, 6.0) + 2.0)
}

/// Ie,eff: equation 29 with random losses.
fn equipment(loss: f64, codec: Codec) -> f64 {
    let percent = 100.0 * loss;
    codec.ie + (95.0 - codec.ie) * percent / (percent + codec.bpl)
}

#[cfg(test)]
mod tests {
    use super::*;

    const G711: Codec = Codec { ie: 0.0, bpl: 4.3 };

    fn close(found: f64, wanted: f64, by: f64, what: &str) {
        assert!((found - wanted).abs() <= by, "{what}: {found}, the recommendation says {wanted}");
    }

    #[test]
    fn the_defaults_give_a_rating_of_93_2_and_a_score_of_4_41() {
        let r = rating(0.0, 0.0, G711);
        close(r, 93.2, 0.05, "clause 7.7");
        close(opinion(93.2), 4.41, 0.005, "annex B");
        close(opinion(r), 4.41, 0.005, "annex B");
    }

    #[test]
    fn scores_of_the_ratings_in_table_b_1() {
        for (r, score) in [(90.0, 4.34), (80.0, 4.02), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            close(opinion(r), score, 0.005, "table B.1");
        }
        for (r, score) in [(-5.0, 1.0), (0.0, 1.0), (100.0, 4.5), (120.0, 4.5)] {
            close(opinion(r), score, 1e-9, "annex B");
        }
    }

    #[test]
    fn pure_delay_costs_nothing_up_to_100_ms_and_follows_the_equation_beyond() {
        close(pure_delay(100.0), 0.0, 1e-9, "equation 27");
        // X = 1 at 200 ms and 2 at 400 ms.
        let at = |x: f64| {
            25.0 * ((1.0 + x.powi(6)).powf(1.0 / 6.0)
                - 3.0 * (1.0 + (x / 3.0).powi(6)).powf(1.0 / 6.0)
                + 2.0)
        };
        close(pure_delay(200.0), at(1.0), 1e-9, "equation 27");
        close(pure_delay(400.0), at(2.0), 1e-9, "equation 27");
        close(pure_delay(200.0), 3.04, 0.02, "equation 27");
    }

    #[test]
    fn loss_costs_what_the_codec_s_robustness_says() {
        close(equipment(0.05, G711), 95.0 * 5.0 / 9.3, 1e-9, "5 % without concealment");
        let concealed = Codec { ie: 0.0, bpl: 25.1 };
        close(equipment(0.05, concealed), 95.0 * 5.0 / 30.1, 1e-9, "5 % with concealment");
        close(
            opinion(rating(0.0, 0.05, concealed)),
            opinion(93.2 - 95.0 * 5.0 / 30.1),
            0.005,
            "a score of 3.9",
        );
        close(equipment(0.0, concealed), 0.0, 1e-9, "no loss");
    }

    #[test]
    fn a_rating_is_never_below_0_or_above_100() {
        for loss in [0.0, 0.5, 1.0] {
            for delay_ms in [0.0, 1e2, 1e3, 1e4, 1e6] {
                let r = rating(delay_ms, loss, G711);
                assert!((0.0..=100.0).contains(&r), "{r} at {delay_ms} ms and loss {loss}");
            }
        }
        close(rating(1e4, 1.0, G711), 0.0, 1e-9, "nothing arrives in time");
    }

    #[test]
    fn a_rating_falls_with_delay() {
        let ratings: Vec<f64> = (0..60).map(|i| rating(f64::from(i) * 10.0, 0.0, G711)).collect();
        assert!(ratings.windows(2).all(|w| w[1] <= w[0] + 1e-9), "{ratings:?}");
        // Figure 1 of G.114: about 90 at 100 ms, about 80 at 250 ms, about 60 at 450 ms.
        close(rating(100.0, 0.0, G711), 90.0, 1.5, "100 ms");
        close(rating(250.0, 0.0, G711), 80.0, 2.0, "250 ms");
    }
}
