//! Every shipped scenario runs for a moment without contradicting itself; and the texts about a
//! scenario before and after a run.

use justfull_lab::runner::{self, Outcome, Watch, run_all};
use justfull_scenario::library::{SCENARIOS, scenario};
use justfull_scenario::{Job, Overrides, Scenario, ScenarioError, Setting};
use std::path::Path;

fn settings(set: &[&str]) -> Vec<Setting> {
    set.iter().map(|text| text.parse().expect("a setting")).collect()
}

fn load(name: &str, methods: Option<&[&str]>, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let overrides = Overrides {
        set: settings(set),
        methods: methods.map(|names| names.iter().map(ToString::to_string).collect()),
        runs: Some(1),
        ..Overrides::default()
    };
    let text = scenario(name).expect("the scenario ships");
    Scenario::parse(text, Path::new(&format!("{name}.toml")), None, overrides)
}

#[test]
fn soak_no_shipped_scenario_breaks_an_invariant() {
    let long = std::env::var_os("JUSTFULL_SOAK").is_some();
    let set = if long { ["duration=20s", "warmup=8s"] } else { ["duration=2s", "warmup=800ms"] };
    let load = |(name, _): &(&str, &str)| load(name, None, &set).expect("it ships");
    let scenarios: Vec<Scenario> = SCENARIOS.iter().map(load).collect();
    let jobs: Vec<Vec<Job>> = scenarios.iter().map(Scenario::jobs).collect();
    let all = scenarios
        .iter()
        .zip(&jobs)
        .flat_map(|(scenario, jobs)| jobs.iter().map(move |job| (scenario, job)));
    let runs: Vec<(&Scenario, &Job)> = all.filter(|(_, job)| long || job.point == 0).collect();
    let made = run_all(&runs, 2, &Watch::default()).expect("the scenarios run");
    for ((scenario, job), outcome) in runs.iter().zip(made) {
        let run = format!("{}: {}, point {}", scenario.name, job.method, job.point);
        assert!(matches!(outcome, Outcome::Done(_)), "{run}: {outcome:?}");
    }
}

#[test]
fn settings_that_cannot_act_are_named_before_a_run_and_beside_its_result() {
    let of = |set: &[&str]| {
        let moment = ["duration=500ms", "warmup=100ms"];
        let scenario = load("t20-individual", Some(&["Vanilla"]), &[set, &moment].concat())
            .expect("it is sound");
        let job = scenario.jobs().remove(0);
        let made = run_all(&[(&scenario, &job)], 1, &Watch::default()).expect("it runs").remove(0);
        (scenario.warnings().expect("no trace"), made.done().expect("it is sound").never_acted)
    };
    let quiet = of(&["rlc.limiter={ kind = \"fixed\", limit = \"20 packets\" }"]);
    assert_eq!(quiet, (Vec::new(), Vec::new()));
    for (set, word, idle) in [
        (
            "rlc.limiter={ kind = \"fixed\", limit = \"2000 packets\" }",
            "rlc.limiter.limit = \"2000 packets\"",
            "limiter",
        ),
        (
            "rlc.limiter={ kind = \"fixed\", limit = \"9MB\" }",
            "rlc.limiter.limit = \"9MB\"",
            "limiter",
        ),
    ] {
        let (warnings, never_acted) = of(&[set]);
        assert!(warnings.len() == 1 && warnings[0].starts_with(word), "{warnings:?}");
        assert_eq!(never_acted, [idle]);
    }
    let codel = "queue={ aqm = { kind = \"codel\" } }";
    let (warnings, never_acted) = of(&[&format!("upf.{codel}"), "upf.poll.period=0s"]);
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("the AQM of upf.queue has no effect"),
        "{warnings:?}"
    );
    assert_eq!(never_acted, ["upf.aqm"]);
    let (warnings, never_acted) = of(&[&format!("sdap.{codel}"), "sdap.poll.period=0s"]);
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("the AQM of sdap.queue has no effect"),
        "{warnings:?}"
    );
    assert_eq!(never_acted, ["sdap.aqm"]);
}

/// A warning names a method if the setting has an effect only under others.
#[test]
fn a_warning_names_the_methods_that_it_is_about() {
    let set = ["rlc.queue.limit=10 packets"];
    let of =
        |methods: &[&str]| load("t20-individual", Some(methods), &set).and_then(|s| s.warnings());
    let warnings = of(&["Limit20", "Vanilla", "DRQL"]).expect("no trace");
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("Limit20: rlc.limiter.limit"),
        "{warnings:?}"
    );
    let warnings = of(&["Limit20"]).expect("no trace");
    assert!(warnings.len() == 1 && warnings[0].starts_with("rlc.limiter.limit"), "{warnings:?}");
}

/// Errors name the path in the file, not the fields `channel.slot` and `mac.slot.skew_ppm` of the
/// world.
#[test]
fn an_error_of_the_world_names_a_field_that_a_file_can_have() {
    let field = |set: &[&str]| match load("t20-individual", Some(&["Vanilla"]), set) {
        Ok(_) => panic!("{set:?} is refused"),
        Err(error) => error.field,
    };
    assert_eq!(field(&["mac.slot.period=2s"]), "mac.slot.period");
    assert_eq!(field(&["mac.slot.skew=2000.0"]), "mac.slot.skew");
    assert_eq!(field(&["sdap.poll.skew=-2000.0"]), "sdap.poll.skew");

    let mut text = String::from(
        "title = \"names\"\nduration = \"1s\"\nmethods = [\"Vanilla\"]\n[channel]\nkind = \
         \"constant\"\nper_slot = 4\n",
    );
    for name in 0..1_001 {
        text += &format!(
            "[[flow]]\nname = \"n{name}\"\ncount = 2\nudp = {{ payload = \"100B\", interval = \
             \"1s\" }}\n"
        );
    }
    let error = Scenario::parse(&text, Path::new("names.toml"), None, Overrides::default())
        .expect_err("too many");
    assert_eq!(error.field, "flow[1000].name");
    assert!(error.to_string().contains("at most 1000 different names"), "{error}");
}

/// A broken run has no result and is named with its broken invariant; the others stay.
#[test]
fn the_comparison_of_sound_runs_names_no_broken_one() {
    let scenario =
        load("t20-individual", Some(&["Vanilla", "DRQL"]), &["duration=500ms", "warmup=100ms"])
            .expect("sound");
    let watch = Watch::default();
    let found = runner::compare(&scenario, 2, &watch, &()).expect("it runs");
    assert_eq!((found.broken.len(), found.missing.len()), (0, 0));
    let runs: usize = found.groups.iter().map(|group| group.runs.len()).sum();
    assert_eq!(runs, scenario.jobs().len());
}
