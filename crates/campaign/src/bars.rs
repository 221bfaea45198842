//! Judges methods over drawn cases: what a user of a phone may expect on a path that nobody chose.
//!
//! The references of a case are its low-latency flows alone on their phones, Vanilla's goodput, and
//! the shortest page loads of all methods. [`floors`] has the bounds on every method.

pub mod floors;
mod yardstick;

use crate::draw::variant::SPLIT;
use crate::draw::{ALONE, Drawn, ROUND_TRIPS_MS};
use floors::{Floors, OfFloor};
use justfull_base::stats::quantile;
use justfull_report::read::Folder;
use justfull_run::results::FloorResult;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use yardstick::Yardstick;

/// Columns of `runs.csv` that the bars need.
pub const COLUMNS: [&str; 17] = [
    "low_latency",
    "entered_packets",
    "dropped_packets",
    "goodput_mbit_s",
    "delay_ms_p99",
    "rtt_ms_min",
    "rtt_ms_p95",
    "page_ms_mean",
    "frames_sent",
    "frames_completed",
    "jain_index",
    "floor_delay_ms_p99",
    "schedule_delay_ms_p99",
    "floor_goodput_mbit_s",
    "schedule_goodput_mbit_s",
    "floor_rtt_ms",
    "schedule_rtt_ms_p95",
];

/// The method whose goodput is the measure.
const REFERENCE: &str = "Vanilla";

/// A figure that a method lacks: it misses every bar.
const LACKING: f64 = f64::INFINITY;

/// The longest slot, in ms.
const SLOT_MS: f64 = 1.0;

/// One flow's figures of a run.
#[derive(Clone, Debug, Default, PartialEq)]
struct Flow {
    name: String,
    low_latency: bool,
    entered: f64,
    dropped: f64,
    goodput_mbit_s: f64,
    delay_ms_p99: Option<f64>,
    rtt_ms_min: Option<f64>,
    rtt_ms_p95: Option<f64>,
    page_ms: Option<f64>,
    frames_sent: f64,
    frames_completed: f64,
    jain: Option<f64>,
    floor: FloorResult,
}

/// A method's figures of a case; none if the case has no such flow.
///
/// Infinite if the method lacks a figure that another method has, because no packet or
/// page of a flow arrived. In JSON it is `"lacking"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// 99th percentile of the low-latency packets' delay, less a slot, as a ratio to the method
    /// `alone`.
    #[serde(serialize_with = "or_lacking")]
    pub delay: Option<f64>,
    /// Dropped low-latency packets, in percent; none if the method `alone` drops some.
    #[serde(serialize_with = "or_lacking")]
    pub loss_percent: Option<f64>,
    /// Goodput of all elastic flows to the phones over Vanilla's.
    #[serde(serialize_with = "or_lacking")]
    pub goodput: Option<f64>,
    /// The floor's goodput over Vanilla's: no method that sends as many low-latency packets has
    /// more.
    pub goodput_bound: Option<f64>,
    /// 95th percentile of the downloads' round trips less the shortest, in ms; of several groups
    /// the longest.
    #[serde(serialize_with = "or_lacking")]
    pub round_trip_ms: Option<f64>,
    /// Mean page load over the least of all methods.
    #[serde(serialize_with = "or_lacking")]
    pub page: Option<f64>,
    /// Share of frames with all datagrams received, as a ratio to the method `alone`.
    #[serde(serialize_with = "or_lacking")]
    pub frames: Option<f64>,
    /// Jain's index over the downloads of equal phones.
    #[serde(serialize_with = "or_lacking")]
    pub jain: Option<f64>,
    /// Comparison with the floor.
    pub of_floor: OfFloor,
}

/// A bar: a figure, and what a case must reach.
struct Bar {
    name: &'static str,
    of: fn(&Figures) -> Option<f64>,
    /// Most, or least where `least` is set.
    bound: f64,
    least: bool,
}

/// Least goodput over Vanilla's in a case.
const GOODPUT: f64 = 0.92;

/// Of each case. Medians and tails have bars of their own in [`Judged`].
const BARS: [Bar; 7] = [
    Bar { name: "delay over that alone", of: |f| f.delay, bound: 1.5, least: false },
    Bar { name: "losses in percent", of: |f| f.loss_percent, bound: 0.2, least: false },
    Bar { name: "goodput over Vanilla's", of: |f| f.goodput, bound: GOODPUT, least: true },
    Bar {
        name: "growth of the round trip in ms",
        of: |f| f.round_trip_ms,
        bound: 150.0,
        least: false,
    },
    Bar { name: "page load over the best", of: |f| f.page, bound: 1.2, least: false },
    Bar { name: "frames whole", of: |f| f.frames, bound: 0.99, least: true },
    Bar { name: "Jain's index", of: |f| f.jain, bound: 0.95, least: true },
];

impl Figures {
    /// The figures that miss their bar, with the bar's name.
    #[must_use]
    pub fn missed(&self) -> Vec<(&'static str, f64)> {
        let missed = |bar: &Bar| {
            let value = (bar.of)(self)?;
            let holds = if bar.least { value >= bar.bound } else { value <= bar.bound };
            (!holds).then_some((bar.name, value))
        };
        BARS.iter().filter_map(missed).collect()
    }

    /// The bound on the goodput, if it is below its bar.
    #[must_use]
    pub fn goodput_out_of_reach(&self) -> Option<f64> {
        self.goodput_bound.filter(|most| *most < GOODPUT)
    }

    /// True if every bar of a case holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.missed().is_empty()
    }
}

/// A method over the cases of one base round trip, or over all.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Name of the method.
    pub method: String,
    /// Base round trip of the cases in ms; none for all of them.
    pub round_trip_ms: Option<u32>,
    /// Number of cases.
    pub cases: usize,
    /// Cases in which every bar of a case holds.
    pub held: usize,
    /// Delay: median, and the value that 95 % of the cases do not exceed.
    #[serde(serialize_with = "all_or_lacking")]
    pub delay: [Option<f64>; 2],
    /// Cases that lose more than 0.2 % of the low-latency packets.
    pub lossy: usize,
    /// Cases whose bound on the goodput is below its bar.
    pub out_of_reach: usize,
    /// Goodput: median, the value that 95 % of the cases reach, the least.
    pub goodput: [Option<f64>; 3],
    /// Growth of the round trips, median, in ms.
    #[serde(serialize_with = "or_lacking")]
    pub round_trip_growth_ms: Option<f64>,
    /// Page loads: median and 95 %.
    #[serde(serialize_with = "all_or_lacking")]
    pub page: [Option<f64>; 2],
    /// Frames: the value that 95 % of the cases reach.
    pub frames: Option<f64>,
    /// Jain's index: the value that 95 % of the cases reach.
    pub jain: Option<f64>,
    /// Medians of the comparisons with the floor.
    pub of_floor: OfFloor,
}

/// A figure, or `"lacking"` for an infinite one.
fn or_lacking<S: Serializer>(figure: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    Found(*figure).serialize(to)
}

/// Figures, or `"lacking"` for infinite ones.
fn all_or_lacking<S: Serializer>(figures: &[Option<f64>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(figures.iter().map(|figure| Found(*figure)))
}

/// A figure in JSON.
struct Found(Option<f64>);

impl Serialize for Found {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(f64::INFINITY) => to.serialize_str("lacking"),
            figure => figure.serialize(to),
        }
    }
}

/// All verdicts, and the figures behind them.
#[derive(Clone, Debug, Serialize)]
pub struct Verdicts {
    /// Of each method, over all cases and for each base round trip.
    pub judged: Vec<Judged>,
    /// Cases whose low-latency demand exceeds half of a phone's fair rate; they are in no verdict.
    pub apart: Vec<String>,
    /// Figures by case and method.
    pub cases: BTreeMap<String, BTreeMap<String, Figures>>,
    /// The floor of each case, with the best method's values.
    pub floors: BTreeMap<String, Floors>,
}

/// Judges the methods of `folder` over the `drawn` cases that have a run of Vanilla.
#[must_use]
pub fn judge(drawn: &[Drawn], folder: &Folder) -> Verdicts {
    let mut runs: BTreeMap<&str, BTreeMap<&str, Vec<Flow>>> = BTreeMap::new();
    for row in folder.rows() {
        let number = |name: &str| row.values.get(name).and_then(serde_json::Value::as_f64);
        let is_true = |name: &str| {
            row.values.get(name).is_some_and(|v| v.as_bool() == Some(true) || v == "true")
        };
        runs.entry(row.scenario).or_default().entry(row.method).or_default().push(Flow {
            name: row.flow.to_owned(),
            low_latency: is_true("low_latency"),
            entered: number("entered_packets").unwrap_or(0.0),
            dropped: number("dropped_packets").unwrap_or(0.0),
            goodput_mbit_s: number("goodput_mbit_s").unwrap_or(0.0),
            delay_ms_p99: number("delay_ms_p99"),
            rtt_ms_min: number("rtt_ms_min"),
            rtt_ms_p95: number("rtt_ms_p95"),
            page_ms: number("page_ms_mean"),
            frames_sent: number("frames_sent").unwrap_or(0.0),
            frames_completed: number("frames_completed").unwrap_or(0.0),
            jain: number("jain_index"),
            floor: FloorResult {
                delay_ms_p99: number("floor_delay_ms_p99"),
                schedule_delay_ms_p99: number("schedule_delay_ms_p99"),
                goodput_mbit_s: number("floor_goodput_mbit_s"),
                schedule_goodput_mbit_s: number("schedule_goodput_mbit_s"),
                rtt_ms: number("floor_rtt_ms"),
                schedule_rtt_ms_p95: number("schedule_rtt_ms_p95"),
            },
        });
    }
    // With CU and DU apart, a method's form for that takes its place.
    let methods: Vec<String> =
        folder.methods().into_iter().filter(|m| !m.ends_with(SPLIT) && m != ALONE).collect();
    let (mut cases, mut apart, mut floors) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
    for case in drawn {
        let Some(runs) = runs.get(case.name.as_str()) else { continue };
        let of = |method: &str| {
            let split = runs.get(format!("{method}{SPLIT}").as_str()).filter(|_| case.apart);
            split.or_else(|| runs.get(method))
        };
        let (Some(reference), Some(alone)) = (of(REFERENCE), of(ALONE)) else { continue };
        let all: f64 = reference.iter().map(|flow| flow.goodput_mbit_s).sum();
        if case.demand_mbit_s > 0.5 * all / f64::from(case.phones) {
            apart.push(case.name.clone());
            continue;
        }
        let found: Vec<(&String, &Vec<Flow>)> =
            methods.iter().filter_map(|method| Some((method, of(method)?))).collect();
        floors.insert(case.name.clone(), Floors::of(&found));
        let yardstick = Yardstick::of(reference, alone, found.iter().map(|(_, flows)| *flows));
        let figures =
            found.into_iter().map(|(method, flows)| (method.clone(), yardstick.hold(flows)));
        cases.insert(case.name.clone(), figures.collect::<BTreeMap<_, _>>());
    }
    let mut judged = Vec::new();
    for method in &methods {
        for rtt in std::iter::once(None).chain(ROUND_TRIPS_MS.map(Some)) {
            let of_rtt = drawn.iter().filter(|case| rtt.is_none_or(|ms| ms == case.round_trip_ms));
            let figures: Vec<Figures> =
                of_rtt.filter_map(|case| cases.get(&case.name)?.get(method).copied()).collect();
            judged.push(Judged::of(method, rtt, &figures));
        }
    }
    Verdicts { judged, apart, cases, floors }
}

/// Goodput of the elastic flows to the phones, in Mbit/s.
fn elastic(flows: &[Flow]) -> f64 {
    let is_elastic = |flow: &&Flow| !flow.low_latency && flow.name != "upload";
    flows.iter().filter(is_elastic).map(|flow| flow.goodput_mbit_s).sum()
}

impl Judged {
    fn of(method: &str, round_trip_ms: Option<u32>, figures: &[Figures]) -> Self {
        let at = |of: fn(&Figures) -> Option<f64>, p: f64| {
            let mut values: Vec<f64> = figures.iter().filter_map(of).collect();
            values.sort_by(f64::total_cmp);
            // No interpolation with an infinite value.
            let found = quantile(&values, p)?;
            let below = (p * (values.len() - 1) as f64) as usize;
            Some(if found.is_nan() { values[below] } else { found })
        };
        Self {
            method: method.to_owned(),
            round_trip_ms,
            cases: figures.len(),
            held: figures.iter().filter(|figures| figures.holds()).count(),
            delay: [0.5, 0.95].map(|p| at(|f| f.delay, p)),
            lossy: figures.iter().filter(|f| f.loss_percent.is_some_and(|l| l > 0.2)).count(),
            out_of_reach: figures.iter().filter(|f| f.goodput_out_of_reach().is_some()).count(),
            goodput: [0.5, 0.05, 0.0].map(|p| at(|f| f.goodput, p)),
            round_trip_growth_ms: at(|f| f.round_trip_ms, 0.5),
            page: [0.5, 0.95].map(|p| at(|f| f.page, p)),
            frames: at(|f| f.frames, 0.05),
            jain: at(|f| f.jain, 0.05),
            of_floor: OfFloor {
                delay: at(|f| f.of_floor.delay, 0.5),
                goodput: at(|f| f.of_floor.goodput, 0.5),
                round_trip_ms: at(|f| f.of_floor.round_trip_ms, 0.5),
            },
        }
    }

    /// The bars over many cases that do not hold, in words.
    #[must_use]
    pub fn missed(&self) -> Vec<&'static str> {
        let most = |value: Option<f64>, bound: f64| value.is_none_or(|value| value <= bound);
        let least = |value: Option<f64>, bound: f64| value.is_none_or(|value| value >= bound);
        [
            ("delay, median above 1.10", most(self.delay[0], 1.1)),
            ("delay, 95 % above 1.5", most(self.delay[1], 1.5)),
            ("losses above 0.2 %", self.lossy == 0),
            ("goodput, median below 0.97", least(self.goodput[0], 0.97)),
            ("goodput, 95 % below 0.92", least(self.goodput[1], 0.92)),
            ("goodput, least below 0.85", least(self.goodput[2], 0.85)),
            ("round trips, median above 150 ms", most(self.round_trip_growth_ms, 150.0)),
            ("page loads, median above 1.2", most(self.page[0], 1.2)),
            ("frames, 95 % below 0.99", least(self.frames, 0.99)),
            ("Jain's index, 95 % below 0.95", least(self.jain, 0.95)),
        ]
        .into_iter()
        .filter(|(_, holds)| !holds)
        .map(|(words, _)| words)
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn drawn(name: &str, round_trip_ms: u32, demand_mbit_s: f64) -> Drawn {
        let (name, toml) = (name.to_owned(), String::new());
        Drawn { name, toml, round_trip_ms, phones: 2, apart: false, demand_mbit_s }
    }

    fn row(folder: &mut Folder, scenario: &str, method: &str, flow: serde_json::Value) {
        let mut row = json!({ "scenario": scenario, "method": method, "seed": 1 });
        let map = row.as_object_mut().expect("an object");
        map.extend(flow.as_object().expect("an object").clone());
        folder.add(map.clone());
    }

    /// Two cases: the second one's call takes more than half of a phone's fair rate.
    fn folder() -> Folder {
        let mut folder = Folder::empty(Path::new("x"), "", "");
        for (method, goodput, delay, page, dropped) in
            [("Vanilla", 20.0, 401.0, 900.0, 0.0), ("Other", 19.0, 12.0, 300.0, 3.0)]
        {
            row(
                &mut folder,
                "a",
                method,
                json!({
                "flow": "call", "low_latency": true, "entered_packets": 1000,
                "dropped_packets": dropped, "goodput_mbit_s": 0.1, "delay_ms_p99": delay
                }),
            );
            row(
                &mut folder,
                "a",
                method,
                json!({
                    "flow": "download", "low_latency": false, "goodput_mbit_s": goodput,
                    "rtt_ms_min": 20.0, "rtt_ms_p95": 20.0 + delay, "jain_index": 0.99
                }),
            );
            row(&mut folder, "a", method, json!({ "flow": "pages", "page_ms_mean": page }));
            row(&mut folder, "b", method, json!({ "flow": "call", "goodput_mbit_s": 4.0 }));
        }
        for case in ["a", "b"] {
            row(
                &mut folder,
                case,
                ALONE,
                json!({
                    "flow": "call", "low_latency": true, "entered_packets": 1000, "delay_ms_p99": 10.0
                }),
            );
        }
        folder
    }

    #[test]
    fn figures_equal_the_ones_worked_by_hand_and_a_demanding_case_is_apart() {
        let verdicts = judge(&[drawn("a", 20, 0.08), drawn("b", 40, 1.5)], &folder());
        assert_eq!(verdicts.apart, ["b"]);
        let figures = verdicts.cases["a"]["Other"];
        assert_eq!(figures.delay, Some(1.1));
        assert_eq!((figures.loss_percent, figures.goodput), (Some(0.3), Some(0.95)));
        assert_eq!((figures.round_trip_ms, figures.page), (Some(12.0), Some(1.0)));
        assert_eq!(verdicts.cases["a"]["Vanilla"].page, Some(3.0));
    }

    #[test]
    fn goodput_is_out_of_reach_where_the_floor_of_the_run_is_below_the_bar_of_vanillas() {
        let mut folder = folder();
        for (method, most) in [("Serves", 18.0), ("Starves", 19.0)] {
            let download =
                json!({ "flow": "download", "goodput_mbit_s": 17.0, "floor_goodput_mbit_s": most });
            row(&mut folder, "a", method, download);
        }
        let verdicts = judge(&[drawn("a", 20, 0.08)], &folder);
        let figures = |method: &str| verdicts.cases["a"][method];
        assert_eq!(figures("Serves").goodput_out_of_reach(), Some(0.9));
        assert_eq!(figures("Starves").goodput_bound, Some(0.95));
        assert_eq!(figures("Other").goodput_bound, None);
        let out_of_reach = |method: &str| {
            verdicts.judged.iter().find(|of| of.method == method).map(|of| of.out_of_reach)
        };
        assert_eq!([out_of_reach("Serves"), out_of_reach("Starves")], [Some(1), Some(0)]);
    }

    #[test]
    fn with_cu_and_du_apart_the_split_form_takes_the_methods_place() {
        let mut folder = folder();
        row(&mut folder, "a", "Other-split", json!({ "flow": "download", "goodput_mbit_s": 10.0 }));
        let goodput = |apart| {
            let case = Drawn { apart, ..drawn("a", 20, 0.08) };
            let verdicts = judge(&[case], &folder);
            assert!(!verdicts.cases["a"].contains_key("Other-split"));
            verdicts.cases["a"]["Other"].goodput
        };
        assert_eq!([goodput(false), goodput(true)], [Some(0.95), Some(0.5)]);
    }

    #[test]
    fn a_figure_that_a_method_alone_lacks_misses_its_bar_and_counts_in_medians() {
        let mut folder = folder();
        let call = json!({ "flow": "call", "low_latency": true, "entered_packets": 1000 });
        row(&mut folder, "a", "Starves", call);
        let download = json!({ "flow": "download", "goodput_mbit_s": 20.0 });
        row(&mut folder, "a", "Starves", download);
        let verdicts = judge(&[drawn("a", 20, 0.08)], &folder);
        let missed = verdicts.cases["a"]["Starves"].missed();
        let names: Vec<&str> = missed.iter().map(|(name, _)| *name).collect();
        let all = ["delay over that alone", "growth of the round trip in ms"];
        assert_eq!(names, [&all[..], &["page load over the best", "Jain's index"]].concat());
        let judged = verdicts.judged.iter().find(|judged| judged.method == "Starves");
        let judged = judged.expect("a verdict");
        assert_eq!(judged.delay, [Some(LACKING); 2]);
        let json = serde_json::to_value(judged).expect("JSON");
        assert_eq!(json["page"], json!(["lacking", "lacking"]));
    }

    #[test]
    fn a_bar_that_is_missed_is_named_and_rows_are_by_round_trip() {
        let verdicts = judge(&[drawn("a", 20, 0.08)], &folder());
        let of = |method: &str, rtt| {
            let found =
                verdicts.judged.iter().find(|j| j.method == method && j.round_trip_ms == rtt);
            found.expect("a verdict").clone()
        };
        assert_eq!([of("Other", None).cases, of("Other", Some(40)).cases], [1, 0]);
        assert_eq!(
            of("Other", None).missed(),
            ["losses above 0.2 %", "goodput, median below 0.97"]
        );
        assert_eq!([of("Other", None).held, of("Vanilla", None).held], [0, 0]);
        assert!(of("Vanilla", None).missed().contains(&"delay, median above 1.10"));
    }
}
