//! Scenarios that are drawn from a seed: paths, radios, phones and traffic that nobody chose.
//!
//! Case `n` of a draw depends on the text of the seed and on `n` alone, so a longer draw begins
//! with the cases of a shorter one.

mod channel;
mod traffic;
pub mod variant;

use channel::Radio;
use justfull_base::rng::{Rng, stream_key};
use serde::Deserialize;
use std::fmt::Write as _;
use traffic::Mix;
use variant::Variant;

/// Base round trips of the cases in turn, in ms.
pub const ROUND_TRIPS_MS: [u32; 5] = [10, 20, 40, 80, 160];

/// The method that carries the low-latency flows alone on their phones.
pub const ALONE: &str = "alone";

/// Most cases of a draw.
pub(crate) const MOST: u32 = 100_000;

/// A campaign's `[draw]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draw {
    /// Number of cases, 1 to [`MOST`].
    pub(crate) cases: u32,
    /// Any text: a number, or the hash of a commit.
    pub(crate) seed: String,
    /// Whether a quarter of the radios replay measured traces, which are read from the folder for
    /// data.
    #[serde(default)]
    pub(crate) measured: bool,
    /// Further methods of each case.
    #[serde(default)]
    pub(crate) variant: Vec<Variant>,
}

/// One drawn case.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Name of the scenario: number, base round trip, radio, phones, bearers and traffic.
    pub name: String,
    /// The scenario, in TOML.
    pub toml: String,
    /// Base round trip of the flows that have no further way, in ms.
    pub round_trip_ms: u32,
    /// Number of phones.
    pub phones: u32,
    /// CU and DU are apart: the RLC's backlog is known late, and its order is fixed.
    pub apart: bool,
    /// Rate of the low-latency flows of a phone, in Mbit/s.
    pub demand_mbit_s: f64,
}

impl Draw {
    /// Case `number`, counted from 0.
    pub(crate) fn case(&self, number: u32) -> Drawn {
        let key = stream_key(stream_key(0, &self.seed), "paths");
        let mut rng = Rng::stream(key, &format!("case {number}"));
        let round_trip_ms = ROUND_TRIPS_MS[number as usize % ROUND_TRIPS_MS.len()];
        let phones = phones(&mut rng);
        let radio = Radio::drawn(&mut rng, phones, self.measured);
        let mix = Mix::drawn(&mut rng, phones, radio.mean_mbit_s());
        let apart = rng.chance(1.0 / 6.0);
        let report = [2, 5, 10, 20][rng.below(4) as usize];
        let bearers = Bearers::ALL[rng.below(3) as usize];
        let one_qfi = bearers == Bearers::Shared;
        let form = match (apart, mix.is_in_tunnel(one_qfi)) {
            (true, _) => "apart",
            (false, true) => "tunnel",
            (false, false) => bearers.name(),
        };
        let at = ["cell", "both"][rng.below(2) as usize];
        let drbs = if bearers == Bearers::ApartDrbs { 2 } else { 1 };
        let stack = radio.uplink(drbs, at).filter(|_| mix.uploads() && !apart);
        let name = format!(
            "{number:05}-rtt{round_trip_ms}-{}-{phones}ue-{form}-{}",
            radio.name(),
            mix.name
        );
        let mut toml = format!(
            "title = \"{name}\"\nduration = \"30s\"\nwarmup = \"6s\"\nmethods = [\"Vanilla\"]\nfloor = true\n\
             core = {{ rate = \"10Gbit/s\", delay = \"{}us\" }}\n\
             uplink = {{ delay = \"{}us\"{} }}\n\
             upf = {{ poll = {{ period = \"200us\" }} }}\n",
            round_trip_ms * 500,
            round_trip_ms * 500,
            stack.unwrap_or_else(|| mix.uplink())
        );
        // Text takes everything.
        let _ = write!(toml, "{}", radio.toml());
        let report = if apart { format!("report_delay = \"{report}ms\"\n") } else { String::new() };
        let _ = write!(
            toml,
            "[sdap]\npoll = {{ period = \"200us\" }}\nqueue = {{ limit = \"20MB\" }}\n\
             scheduler = {{ kind = \"strict_priority\" }}\n\
             [rlc]\nqueue = {{ limit = \"20MB\" }}\n{}{report}\
             [[ue]]\ncount = {phones}\n{}{}",
            radio.rlc(),
            bearers.toml(),
            mix.toml(one_qfi, phones)
        );
        toml += &alone(&mix, phones);
        toml.extend(self.variant.iter().map(Variant::toml));
        let demand_mbit_s = mix.demand_mbit_s;
        Drawn { name, toml, round_trip_ms, phones, apart, demand_mbit_s }
    }
}

/// The method [`ALONE`]: other phones, one fewer, carry the other flows. A phone's low-latency
/// flows share the cell with these phones and have queues of their own.
fn alone(mix: &Mix, phones: u32) -> String {
    let others = phones - 1;
    let mut toml = format!(
        "[[method]]\nname = \"{ALONE}\"\ntitle = \"low-latency flows alone on their phones\"\n\
         [method.set]\n\"ue.0.count\" = {}\n",
        phones + others
    );
    for name in mix.elastic() {
        // Text takes everything.
        let _ = if others == 0 {
            writeln!(toml, "\"flow.{name}.start\" = \"1h\"")
        } else {
            write!(toml, "\"flow.{name}.ue\" = {phones}\n\"flow.{name}.ues\" = {others}\n")
        };
    }
    toml
}

/// Half of the cells have one phone, a third 2 to 8, the others up to 64.
fn phones(rng: &mut Rng) -> u32 {
    let at_most = match rng.unit() {
        x if x < 0.5 => return 1,
        x if x < 0.83 => 8.0,
        _ => 64.0,
    };
    log_uniform(rng, 2.0, at_most).round() as u32
}

/// A number from `least` to `most` whose logarithm is uniform.
fn log_uniform(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least * (most / least).powf(rng.unit())
}

/// How QoS flows and bearers carry a phone's flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bearers {
    Shared,
    OneDrb,
    ApartDrbs,
}

impl Bearers {
    const ALL: [Self; 3] = [Self::Shared, Self::OneDrb, Self::ApartDrbs];

    const fn name(self) -> &'static str {
        match self {
            Self::Shared => "1qfi",
            Self::OneDrb => "2qfis",
            Self::ApartDrbs => "2drbs",
        }
    }

    const fn toml(self) -> &'static str {
        match self {
            Self::Shared | Self::OneDrb => {
                "qos_flow = [{ qfi = 1, priority = 1 }, { qfi = 9, priority = 2 }]\n"
            }
            Self::ApartDrbs => {
                "drbs = 2\n\
                 qos_flow = [{ qfi = 1, priority = 1 }, { qfi = 9, drb = 1, priority = 2 }]\n"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_scenario::{Overrides, Scenario};
    use std::path::Path;

    fn draw(cases: u32, seed: &str) -> Draw {
        Draw { cases, seed: seed.into(), measured: false, variant: Vec::new() }
    }

    #[test]
    fn each_drawn_case_is_a_sound_scenario_and_is_drawn_alike_again() {
        let draw = draw(60, "of a test");
        for number in 0..60 {
            let case = draw.case(number);
            assert_eq!(case, draw.case(number));
            let place = Path::new(&case.name).with_extension("toml");
            let scenario = Scenario::parse(&case.toml, &place, None, Overrides::default())
                .unwrap_or_else(|e| panic!("{}: {e}\n{}", case.name, case.toml));
            let world = scenario.world(&scenario.jobs()[0]);
            let world = world.unwrap_or_else(|e| panic!("{}: {e}\n{}", case.name, case.toml));
            let built = scenario.built(&scenario.jobs()[0]).map(drop);
            built.unwrap_or_else(|e| panic!("{}: {e}\n{}", case.name, case.toml));
            assert!(world.flows.iter().any(|flow| flow.low_latency), "{}", case.toml);
        }
    }

    #[test]
    fn a_study_has_each_variant_in_both_forms_and_all_are_sound() {
        for of_parts in [true, false] {
            let text = format!("cases = 2\nseed = \"a\"\n{}", variant::tables(of_parts));
            let draw: Draw =
                toml::from_str(&text.replace("[[draw.variant]]", "[[variant]]")).expect("sound");
            let case = draw.case(1);
            let place = Path::new("x.toml");
            for name in variant::names(of_parts) {
                let methods =
                    Overrides { methods: Some(vec![name.clone()]), ..Overrides::default() };
                let scenario = Scenario::parse(&case.toml, place, None, methods)
                    .unwrap_or_else(|e| panic!("{name}: {e}"));
                let built = scenario.built(&scenario.jobs()[0]).map(drop);
                built.unwrap_or_else(|e| panic!("{name}: {e}"));
            }
        }
    }

    #[test]
    fn another_seed_draws_other_cases_and_each_round_trip_has_its_fifth() {
        let (a, b) = (draw(500, "1000"), draw(500, "1001"));
        assert!((0..20).all(|n| a.case(n).toml != b.case(n).toml));
        for rtt in ROUND_TRIPS_MS {
            let cases = (0..500).filter(|n| a.case(*n).round_trip_ms == rtt).count();
            assert_eq!(cases, 100);
        }
        for part in ["tunnel = true", "\"prague\"", "kind = \"stack\""] {
            let cases = (0..500).filter(|n| a.case(*n).toml.contains(part)).count();
            assert!(cases > 3, "{part}: {cases}");
        }
        let apart = (0..500).filter(|n| a.case(*n).apart).count();
        assert!((60..110).contains(&apart), "{apart}");
        let phones: Vec<u32> = (0..500).map(|n| a.case(n).phones).collect();
        assert!(phones.iter().any(|n| *n > 32) && phones.iter().all(|n| (1..=64).contains(n)));
    }
}
