//! The claims match the header of their file: no band can be widened unnoticed.

use justfull_lab::claims::{Basis, ClaimsFile, Kind, OWN_CHANNEL, load, load_live};
use justfull_lab::model::summary::Metric;
use justfull_scenario::MethodLibrary;
use justfull_scenario::library;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.006 * b.abs().max(0.01)
}

#[test]
fn every_band_follows_from_what_it_rests_on() {
    for claim in load("T20").expect("the claims ship").claim {
        let Some([low, high]) = claim.band else {
            assert_eq!(claim.kind, Kind::Order, "{}", claim.id);
            continue;
        };
        let basis = if claim.basis == Basis::Paper { &claim.paper } else { &claim.anchor };
        let least = basis.iter().copied().fold(f64::INFINITY, f64::min);
        let most = basis.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (expected_low, expected_high) = match (claim.kind, claim.metric) {
            // "Worse than the previous scenario": a sign.
            (Kind::Ratio, _) if claim.strictly => (1.0, 1e6),
            (Kind::Ratio, _) => (least * 0.8, most * 1.2),
            // The paper gives a range in words for the train's utilisations: [0.97, 1.0].
            (_, Metric::Utilisation) if claim.figure == "Fig. 8" => (0.97, 1.0),
            (_, Metric::Utilisation) => (least - 0.003, (most + 0.003).min(1.0)),
            (_, Metric::Drops) => {
                ((least - 1.0).min(least / 2.0).max(0.0), (most + 1.0).max(most * 2.0))
            }
            // "approximately 11 ms" follows from the paper's ratios; the anchor is quoted as 11.5.
            _ if claim.id == "fig10-usp-5gbdp-delay" => (11.5 * 0.9, 11.5 * 1.1),
            _ => (least * 0.9, most * 1.1),
        };
        assert!(near(low, expected_low) && near(high, expected_high), "{}: {low} {high}", claim.id);
    }
}

/// E19's figures have no numbers in its text: bands are bands of words, except for its three
/// numbers.
#[test]
fn the_bands_of_words_are_the_same_everywhere() {
    for claim in load("E19").expect("the claims ship").claim {
        let expected = match (claim.kind, claim.metric, claim.paper.as_slice()) {
            (Kind::Order | Kind::Trend, _, []) => None,
            (Kind::Ratio, _, [factor]) => Some([factor / 1.2, factor / 0.8]),
            // "Direct consequences for the bandwidth": below the range that counts as equal.
            (Kind::Ratio, Metric::Goodput, []) if claim.strictly => Some([0.0, 0.96]),
            (Kind::Ratio, Metric::Goodput, []) => Some([0.96, 1.04]),
            (Kind::Ratio, Metric::PingRtt | Metric::Backlog, []) => Some([0.9, 1.1]),
            // "All the packets": from half of all packets on.
            (Kind::Range, Metric::DropsOfAll, [100.0]) => Some([50.0, 100.0]),
            (Kind::Range, Metric::Drops | Metric::DropsOfAll, [share]) => Some([0.0, share + 1.0]),
            _ => panic!("{}: no rule for it", claim.id),
        };
        let same = match (claim.band, expected) {
            (Some(a), Some(b)) => near(a[0], b[0]) && near(a[1], b[1]),
            (a, b) => a == b,
        };
        assert!(same, "{}: {:?}, expected {expected:?}", claim.id, claim.band);
        assert!(claim.changed.is_none(), "{}", claim.id);
    }
}

/// A21: points of a CDF +-5 points, unused blocks +-1 point, goodput +-4 %, ratios +20 %; "more
/// than 95 %" is open upwards.
#[test]
fn the_bands_of_a21_follow_from_its_numbers() {
    for claim in load("A21").expect("the claims ship").claim {
        use Metric::{
            DelayP99, Goodput, PingRttLeast, Unused, Within1, Within2, Within3, Within4, Within50,
        };
        use Metric::{QuantumMedian, QuantumMedianDistance, QuantumMost};
        use Metric::{Rlc500, Rlc750, RlcAfterFall, RlcDrains};
        let most = claim.paper.iter().copied().reduce(f64::max);
        let expected = match (claim.kind, claim.metric, most) {
            (Kind::Order | Kind::Trend, _, None) => None,
            (Kind::Range, Within1 | Within2 | Within3, Some(95.0)) => Some([90.0, 100.0]),
            // Not all: below the range that counts as 100 %.
            (Kind::Range, Within1, Some(100.0)) if claim.strictly => Some([0.0, 95.0]),
            (Kind::Range, Within1 | Within2 | Within3 | Within4 | Within50, Some(share)) => {
                Some([share - 5.0, f64::min(share + 5.0, 100.0)])
            }
            (Kind::Range, Unused, Some(share)) => {
                Some([f64::max(claim.paper[0] - 1.0, 0.0), share + 1.0])
            }
            (Kind::Range, Goodput, Some(rate)) => Some([0.96 * rate, 1.04 * rate]),
            (Kind::Range, PingRttLeast, Some(floor)) => Some([0.9 * floor, 1.1 * floor]),
            // "In the order of seconds", and "at least 5 times".
            (Kind::Range, DelayP99, Some(1_000.0)) => Some([1_000.0, 10_000.0]),
            (Kind::Ratio, _, Some(factor)) => Some([0.0, 1.2 * factor]),
            (Kind::Change, Within1, Some(0.0)) => Some([-5.0, 5.0]),
            // A sign, up to the greatest limit; "slightly" is one slot of 25 blocks; no slice
            // passes the limit.
            (Kind::Range, QuantumMedian, None) if claim.slice == Some(0) => Some([-500.0, -0.01]),
            (Kind::Range, QuantumMedian, None) => Some([0.01, 500.0]),
            (Kind::Range, QuantumMedianDistance, Some(0.0)) => Some([0.0, 25.0]),
            (Kind::Range, QuantumMost, Some(limit)) => Some([0.0, limit]),
            // "Most": a sign. "Several times" in 60 s, each 10 s. A fall, and "no specific change".
            (Kind::Range, Rlc750 | Rlc500, None) if claim.strictly => Some([50.0, 100.0]),
            (Kind::Range, RlcDrains, Some(6.0)) => Some([3.0, 7.0]),
            (Kind::Range, RlcAfterFall, None) if claim.strictly => Some([0.0, 1.0]),
            (Kind::Range, RlcAfterFall, Some(1.0)) => Some([0.9, 1.1]),
            _ => panic!("{}: no rule for it", claim.id),
        };
        let same = match (claim.band, expected) {
            (Some(a), Some(b)) => near(a[0], b[0]) && near(a[1], b[1]),
            (a, b) => a == b,
        };
        assert!(same, "{}: {:?}, expected {expected:?}", claim.id, claim.band);
        assert!(claim.changed.is_none(), "{}", claim.id);
    }
}

#[test]
fn every_claim_names_what_there_is() {
    let own = ["justfull", "justfull-fresh", "justfull-held-out", "justfull-unseen"];
    for paper in ["t20", "e19", "a21", "lastpoll", "r22", "p06"].into_iter().chain(own) {
        names_what_there_is(&load(paper).expect("upper and lower case are one"));
    }
    names_what_there_is(&load_live("r22").expect("it ships"));
    assert!(
        load_live("t20").is_err_and(|error| error.to_string().contains("allowed is one of R22"))
    );
}

fn names_what_there_is(file: &ClaimsFile) {
    assert!(
        file.seeds >= 3 && file.seeds_short >= 3,
        "fewer seeds have no interval, and signs need one"
    );
    for short in &file.scenarios_short {
        assert!(file.claim.iter().any(|c| c.scenario == *short), "{short} has no claim");
    }
    let of_worlds = file.world.iter().flat_map(|world| &world.switches);
    for switch in file.period.iter().flat_map(|period| &period.switches).chain(of_worlds) {
        let is_there = file.claim.iter().any(|claim| {
            let text = library::scenario(&claim.scenario).unwrap_or_default();
            text.contains(&format!("[switches.{switch}]"))
        });
        assert!(is_there, "no scenario of a claim has {switch}");
    }
    let methods = MethodLibrary::shipped();
    let mut ids: Vec<&str> = file.claim.iter().map(|c| c.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), file.claim.len(), "each claim has its own key");
    for claim in &file.claim {
        let text =
            library::scenario(&claim.scenario).unwrap_or_else(|| panic!("{}", claim.scenario));
        let known = claim.trace == OWN_CHANNEL || file.traces.contains_key(&claim.trace);
        assert!(known, "{}: {}", claim.id, claim.trace);
        let names = claim.switches.iter().chain(&claim.under).chain(&claim.base_under);
        for switch in names.flat_map(|joined| joined.split('+')).filter(|name| !name.is_empty()) {
            let is_there =
                [']', '.'].iter().any(|end| text.contains(&format!("[switches.{switch}{end}")));
            assert!(is_there, "{}: {switch}", claim.id);
        }
        for method in
            claim.order.iter().chain([&claim.method, &claim.base]).filter(|m| !m.is_empty())
        {
            let own = text.contains(&format!("[[method]]\nname = \"{method}\""));
            assert!(own || methods.find(method).is_some(), "{}: {method}", claim.id);
        }
    }
}

/// R22: words are signs or equality, "over" is open upwards, "less than" downwards.
#[test]
fn the_bands_of_r22_follow_from_its_words_and_numbers() {
    use Metric::{
        Completion, Goodput, InFlight, JainInFlight, JainTogether, ReportRate, ReportShare,
        RlcOverflow, Rtt, RttGrowth, RttP95, Together,
    };
    const OPEN: f64 = 1e6;
    for claim in load("R22").expect("the claims ship").claim {
        let expected = match (claim.kind, claim.metric, claim.paper.as_slice()) {
            (Kind::Order, _, []) => None,
            (Kind::Change, Together, []) if claim.strictly => Some([0.0, OPEN]),
            // Which of two flows is greater: a sign.
            (Kind::Ratio, Together, []) if claim.strictly => {
                let more = claim.band.is_some_and(|[low, _]| low > 0.0);
                Some(if more { [1.0, OPEN] } else { [0.0, 1.0] })
            }
            (Kind::Ratio, Together | Goodput, []) => Some([0.96, 1.04]),
            (Kind::Ratio, Together | Goodput | RttGrowth | Rtt, numbers) => {
                Some([0.8 * numbers[0], 1.2 * numbers[numbers.len() - 1]])
            }
            (Kind::Range, Completion | RttP95, [time]) => Some([0.9 * time, 1.1 * time]),
            // Above the bandwidth-delay product, or twice or five times that.
            (Kind::Range, InFlight, [products]) if claim.strictly => Some([*products, OPEN]),
            (Kind::Range, RlcOverflow, [none]) => Some([*none, *none]),
            (Kind::Range, RlcOverflow, []) => Some([1.0, 10.0 * OPEN]),
            // "Almost negligible": below the least growth that the paper calls significant.
            (Kind::Range, RttGrowth, []) => Some([0.0, 100.0]),
            (Kind::Range, RttGrowth, [least, ..]) => Some([0.9 * least, OPEN]),
            (Kind::Range, Goodput, [below]) if claim.figure == "Fig. 5a" => Some([0.0, *below]),
            (Kind::Range, Goodput, [rate]) => Some([0.96 * rate, 1.04 * rate]),
            (Kind::Range, JainTogether, [one]) => Some([one / (1.0 + 0.04 * 0.04), *one]),
            (Kind::Range, JainInFlight, [one]) => Some([one / (1.0 + 0.2 * 0.2), *one]),
            (Kind::Range, ReportRate, [low, high]) => Some([0.96 * low, 1.04 * high]),
            (Kind::Range, ReportShare, [share]) => Some([0.8 * share, 1.2 * share]),
            _ => panic!("{}: no rule for it", claim.id),
        };
        let same = match (claim.band, expected) {
            (Some(a), Some(b)) => near(a[0], b[0]) && near(a[1], b[1]),
            (a, b) => a == b,
        };
        assert!(same, "{}: {:?}, expected {expected:?}", claim.id, claim.band);
        assert!(claim.changed.is_none(), "{}", claim.id);
    }
}

/// P06: values of Table I +-15 %, goodput +-0.5 kbit/s more; words are signs, "more or less the
/// same" is a ratio of 0.8 to 1.2.
#[test]
fn the_bands_of_p06_follow_from_its_table_and_words() {
    use Metric::{EndToEndP95, TransferGoodput};
    let file = load("P06").expect("the claims ship");
    let mut values = 0;
    let mut signs = 0;
    for claim in &file.claim {
        let expected = match (claim.kind, claim.metric, claim.paper.as_slice()) {
            (Kind::Order | Kind::Trend, _, []) => None,
            (Kind::Range, EndToEndP95, [ms]) => Some([0.85 * ms, 1.15 * ms]),
            (Kind::Range, TransferGoodput, [rate]) => Some([0.85 * rate - 0.5, 1.15 * rate + 0.5]),
            (Kind::Ratio, _, []) if claim.strictly => {
                let more = claim.band.is_some_and(|[low, _]| low > 0.0);
                Some(if more { [1.0, 1e6] } else { [0.0, 1.0] })
            }
            (Kind::Ratio, _, [1.0]) => Some([0.8, 1.2]),
            _ => panic!("{}: no rule for it", claim.id),
        };
        let same = match (claim.band, expected) {
            (Some(a), Some(b)) => near(a[0], b[0]) && near(a[1], b[1]),
            (a, b) => a == b,
        };
        assert!(same, "{}: {:?}, expected {expected:?}", claim.id, claim.band);
        assert!(claim.changed.is_none(), "{}", claim.id);
        let of_table = claim.figure.starts_with("Table I, ");
        values += usize::from(of_table && claim.kind == Kind::Range);
        signs += usize::from(of_table && claim.kind == Kind::Ratio);
    }
    let orders = file.claim.iter().filter(|c| c.kind == Kind::Order && c.figure.contains("Table"));
    assert_eq!((values, signs, orders.count()), (96, 33, 47));
}
