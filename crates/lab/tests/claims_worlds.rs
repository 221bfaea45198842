//! Worlds, switches and undecided verdicts, on made-up values of shipped scenarios.

use justfull_lab::claims::{ClaimsError, ClaimsFile, Means, Options, Reproduced, load, reproduce};
use justfull_lab::model::{ClaimRow, SwitchRow, Verdict};
use justfull_lab::runner::Watch;
use justfull_run::results::{CellResult, RunResult};
use justfull_scenario::{Job, Scenario};

const HEAD: &str = r#"
paper = "Made"
variant = "sound"
seeds = 3
seeds_short = 3
"#;

/// A claim that the utilisation of `method` in p06-file is in the upper half.
fn claim(id: &str, method: &str, rest: &str) -> String {
    format!(
        "[[claim]]\nid = \"{id}\"\nfigure = \"Fig. 1\"\nscenario = \"p06-file\"\n\
         trace = \"scenario\"\nkind = \"range\"\nmetric = \"utilisation\"\nmethod = \"{method}\"\n\
         band = [0.5, 1]\nintervals = [\"64kbit/s\"]\n{rest}\n"
    )
}

const OF_PAPER: &str = "basis = \"paper\"\nswitches = [\"delayed_ack\"]";

fn file(head: &str, claims: &[String]) -> ClaimsFile {
    let text = format!("{HEAD}{head}\n[traces]\n{}", claims.concat());
    toml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The switches that are on in `scenario`.
fn switches_on(scenario: &Scenario) -> Vec<&'static str> {
    let text = scenario.resolved_toml(None).expect("it is sound");
    let marks = [
        ("delayed_ack", "delayed_ack = true"),
        ("prompt_status", "timer_poll_prohibit = \"10ms\""),
        ("missing_pdu", "missing_pdu_indicator = true"),
        ("four_ues", "count = 4"),
    ];
    marks.into_iter().filter(|(_, mark)| text.contains(mark)).map(|(name, _)| name).collect()
}

/// Reproduces `file` with runs whose utilisation is `value` of the switches that are on, the method
/// and the seed.
fn reproduced(
    file: &ClaimsFile,
    options: &Options,
    value: impl Fn(&[&str], &str, u64) -> f64 + Sync,
) -> Reproduced {
    let one = |scenario: &Scenario, job: &Job| -> Result<Option<RunResult>, ClaimsError> {
        let utilisation = value(&switches_on(scenario), &job.method, job.seed);
        let cell = CellResult { offered: 1, utilisation, ..CellResult::default() };
        let (method, seed) = (job.method.clone(), job.seed);
        Ok(Some(RunResult { method, seed, cell, ..RunResult::default() }))
    };
    let watch = Watch::default();
    reproduce(file, options, Means { watch: &watch, one: &one }, &mut |_, _| {}).expect("it runs")
}

fn counting() -> Options {
    Options { switches: true, threads: 1, ..Options::default() }
}

fn plain() -> Options {
    Options { threads: 1, ..Options::default() }
}

fn row<'a>(found: &'a Reproduced, id: &str) -> &'a ClaimRow {
    found.table.rows.iter().find(|row| row.id == id).expect("it is judged")
}

fn switch<'a>(found: &'a Reproduced, name: &str) -> &'a SwitchRow {
    found.table.switches.iter().find(|row| row.name == name).expect("a claim names it")
}

/// `delayed_ack` mends the first of three methods and breaks the others.
fn mends_one_breaks_two(on: &[&str], method: &str, _: u64) -> f64 {
    if (method == "Vanilla") == on.contains(&"delayed_ack") { 0.9 } else { 0.1 }
}

fn three() -> Vec<String> {
    ["Vanilla", "RED", "ARED"].map(|method| claim(method, method, OF_PAPER)).into()
}

#[test]
fn a_switch_that_breaks_more_than_it_mends_explains_nothing() {
    let found = reproduced(&file("", &three()), &counting(), mends_one_breaks_two);
    assert_eq!(switch(&found, "delayed_ack").counted(), Some([1, 2]));
    assert_eq!(switch(&found, "delayed_ack").breaks, Some(vec!["RED".into(), "ARED".into()]));
    let vanilla = row(&found, "Vanilla");
    assert_eq!(vanilla.verdict, Verdict::Missed);
    assert!(vanilla.switches[0].meets && !vanilla.switches[0].explains);
    assert_eq!(found.worse, ["Vanilla"]);
}

#[test]
fn a_switch_that_mends_more_than_it_breaks_explains_what_it_mends() {
    let found = reproduced(&file("", &three()[..1]), &counting(), mends_one_breaks_two);
    assert_eq!(switch(&found, "delayed_ack").counted(), Some([1, 0]));
    assert_eq!(row(&found, "Vanilla").verdict, Verdict::Explained);
}

#[test]
fn a_switch_that_the_paper_cannot_mean_explains_nothing() {
    let head = "[switch.delayed_ack]\nmends = 1\nbreaks = 0\nexplains = false\nwhy = \"no\"";
    for options in [plain(), counting()] {
        let found = reproduced(&file(head, &three()[..1]), &options, mends_one_breaks_two);
        assert_eq!(row(&found, "Vanilla").verdict, Verdict::Missed);
    }
}

#[test]
fn recorded_counts_decide_where_none_are_made_and_counts_that_differ_are_told() {
    let head = "[switch.delayed_ack]\nmends = 3\nbreaks = 2";
    let file = file(head, &three());
    let found = reproduced(&file, &plain(), mends_one_breaks_two);
    assert_eq!(row(&found, "Vanilla").verdict, Verdict::Explained);
    assert!(!found.table.notes.iter().any(|note| note.contains("recorded is")));
    let found = reproduced(&file, &counting(), mends_one_breaks_two);
    assert_eq!(row(&found, "Vanilla").verdict, Verdict::Missed);
    let told = "switch delayed_ack: recorded is +3 / -2, found +1 / -2";
    assert!(found.table.notes.contains(&told.to_owned()), "{:?}", found.table.notes);
}

#[test]
fn a_switch_without_a_record_explains_nothing_until_it_is_counted() {
    let found = reproduced(&file("", &three()[..1]), &plain(), mends_one_breaks_two);
    assert_eq!(row(&found, "Vanilla").verdict, Verdict::Missed);
    assert!(found.table.notes.iter().any(|note| note.contains("nothing is recorded")));
}

#[test]
fn switches_joined_by_a_plus_are_on_together() {
    let rest = "basis = \"paper\"\nswitches = [\"delayed_ack\", \"delayed_ack+prompt_status\"]";
    let claims = [claim("a", "Vanilla", rest)];
    let both = |on: &[&str], _: &str, _: u64| if on.len() == 2 { 0.9 } else { 0.1 };
    let found = reproduced(&file("", &claims), &counting(), both);
    assert_eq!(switch(&found, "delayed_ack").counted(), Some([0, 0]));
    assert_eq!(switch(&found, "delayed_ack+prompt_status").counted(), Some([1, 0]));
    assert_eq!(row(&found, "a").verdict, Verdict::Explained);
}

#[test]
fn a_claim_under_a_switch_that_sets_a_list_is_judged_with_it() {
    let rest = "basis = \"paper\"\nunder = \"four_ues\"\nswitches = []";
    let claim = claim("a", "Vanilla", rest)
        .replace("p06-file", "download-pages-call")
        .replace("intervals = [\"64kbit/s\"]\n", "");
    let four = |on: &[&str], _: &str, _: u64| if on.contains(&"four_ues") { 0.9 } else { 0.1 };
    let found = reproduced(&file("", &[claim]), &plain(), four);
    assert_eq!(row(&found, "a").verdict, Verdict::Met);
}

#[test]
fn the_paper_is_judged_under_the_tcp_of_its_time_and_an_anchor_under_todays() {
    let head = "[period]\nname = \"old\"\nswitches = [\"prompt_status\"]\n\
                [[world]]\nname = \"both\"\nswitches = [\"prompt_status\", \"delayed_ack\"]\n\
                why = \"found by search\"";
    let of_anchor = "basis = \"anchor\"\nanchor = [0.9]\nswitches = []";
    let claims = [claim("paper", "Vanilla", OF_PAPER), claim("anchor", "RED", of_anchor)];
    let file = file(head, &claims);
    let old = |on: &[&str], _: &str, _: u64| if on.contains(&"prompt_status") { 0.9 } else { 0.1 };
    let found = reproduced(&file, &plain(), old);
    assert_eq!(row(&found, "paper").verdict, Verdict::Met);
    assert_eq!(row(&found, "anchor").verdict, Verdict::Missed);
    for id in ["paper", "anchor"] {
        let verdicts: Vec<Verdict> = row(&found, id).worlds.iter().map(|w| w.verdict).collect();
        assert_eq!(verdicts, [Verdict::Missed, Verdict::Met, Verdict::Met], "{id}");
    }
    let counts: Vec<_> = found.table.worlds.iter().map(|w| (w.met, w.missed)).collect();
    assert_eq!(counts, [(0, 2), (2, 0), (2, 0)]);
    let short = reproduced(&file, &Options { short: true, ..plain() }, old);
    let verdicts: Vec<Verdict> = row(&short, "paper").worlds.iter().map(|w| w.verdict).collect();
    assert_eq!(verdicts, [Verdict::NotRun, Verdict::Met], "a short run judges, and no more");
}

/// The switch is `delayed_ack`, on top of the period's `prompt_status`.
#[test]
fn a_switch_is_counted_on_top_of_the_world_in_which_a_claim_is_judged() {
    let head = "[period]\nname = \"old\"\nswitches = [\"prompt_status\"]";
    let both = |on: &[&str], _: &str, _: u64| if on.len() == 2 { 0.9 } else { 0.1 };
    let found = reproduced(&file(head, &three()), &counting(), both);
    assert_eq!(switch(&found, "delayed_ack").counted(), Some([3, 0]));
}

#[test]
fn an_interval_that_crosses_an_edge_leaves_the_verdict_undecided() {
    // Student's t for three values is 4.3: +-0.1 around the mean are +-0.25.
    let spread =
        |mean: f64| move |_: &[&str], _: &str, seed: u64| mean + 0.1 * (seed % 3) as f64 - 0.1;
    let judged = |mean| {
        let found = reproduced(&file("", &three()[..1]), &plain(), spread(mean));
        let row = row(&found, "Vanilla");
        (row.verdict, row.undecided)
    };
    assert_eq!(judged(0.55), (Verdict::Met, true));
    assert_eq!(judged(0.45), (Verdict::Missed, true));
    assert_eq!(judged(0.2), (Verdict::Missed, false));
    // Utilisation has an upper bound of 1: no value crosses this edge.
    assert_eq!(judged(0.9), (Verdict::Met, false));
}

#[test]
fn a_sign_is_undecided_unless_it_is_met_or_the_contrary_is() {
    let order = "[[claim]]\nid = \"a\"\nfigure = \"Fig. 1\"\nscenario = \"p06-file\"\n\
                 trace = \"scenario\"\nkind = \"order\"\nmetric = \"utilisation\"\n\
                 order = [\"Vanilla\", \"RED\"]\nintervals = [\"64kbit/s\"]\nbasis = \"paper\"\n\
                 switches = []\n";
    let judged = |difference: f64| {
        let value = move |_: &[&str], method: &str, seed: u64| match method {
            "RED" => 0.5 - difference + 0.1 * (seed % 3) as f64 - 0.1,
            _ => 0.5,
        };
        let found = reproduced(&file("", &[order.into()]), &plain(), value);
        (row(&found, "a").verdict, row(&found, "a").undecided)
    };
    assert_eq!(judged(-0.4), (Verdict::Met, false));
    assert_eq!(judged(-0.1), (Verdict::Missed, true));
    assert_eq!(judged(0.1), (Verdict::Missed, true));
    assert_eq!(judged(0.4), (Verdict::Missed, false));
}

#[test]
fn a_worse_verdict_fails_unless_it_is_undecided_and_the_file_says_so() {
    let spread = |_: &[&str], _: &str, seed: u64| 0.45 + 0.1 * (seed % 3) as f64 - 0.1;
    let of = |rest: &str, value: &(dyn Fn(&[&str], &str, u64) -> f64 + Sync)| {
        let claims = [claim("a", "Vanilla", &format!("{rest}\nbasis = \"paper\"\nswitches = []"))];
        reproduced(&file("", &claims), &plain(), value)
    };
    assert_eq!(of("", &spread).worse, ["a"]);
    let excused = of("undecided = true", &spread);
    assert!(excused.worse.is_empty() && excused.table.notes.iter().any(|n| n.ends_with(": a")));
    assert_eq!(of("undecided = true", &|_, _, _| 0.1).worse, ["a"], "it is decided");
    assert!(of("status = \"missed\"", &spread).worse.is_empty());
}

/// The files' records of their switches are consistent.
#[test]
fn every_recorded_switch_is_named_by_a_claim_and_has_a_reason() {
    for paper in ["T20", "E19", "A21", "R22", "P06"] {
        let file = load(paper).expect("it ships");
        let named: Vec<&String> = file.claim.iter().flat_map(|claim| &claim.switches).collect();
        for (name, record) in &file.switch {
            assert!(named.contains(&name), "{paper}: no claim names {name}");
            assert!(record.explains || !record.why.is_empty(), "{paper}: {name}: no reason");
        }
    }
}
