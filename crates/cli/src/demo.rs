//! `demo`.

use crate::args::{JobsArgs, OutputArgs};
use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::runs::RunRequest;
use crate::scenarios::{data_dir, load};
use clap::Args;
use justfull_lab::claims;
use justfull_scenario::{Overrides, Scenario, Setting, Table, Value};
use std::path::Path;

/// Show in seconds what a download does to a call, and what five methods do about it
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull demo\n  justfull demo --all\n\n\
     The first is the shipped scenario demo (`justfull show demo`)."
))]
pub(crate) struct DemoArgs {
    /// T20's main comparison on two synthetic channels and, if JUSTFULL_DATA has them, the paper's
    /// channels: 85 MB of results
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON instead of tables: notes, the folder, missing runs, the rows of runs.jsonl
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Notes for a reader of the whole demonstration.
const DEMO_NOTES: [&str; 2] = [
    "The channels named walk and train ride are synthetic and ship with the program: they have \
     the statistics of the paper's traces but are not those traces.",
    "RLC of 31 packets and late ticks, as T20's program ran (variant as-released); with its \
     text's 1024 packets Vanilla waits for seconds: justfull run t20-individual.",
];

/// The note about the paper's traces.
const DEMO_NO_TRACES: &str =
    "The paper's traces were not run: JUSTFULL_DATA names no folder that has them.";

/// The scenario of the demonstration.
const DEMO: &str = "demo";

pub(crate) fn demo(args: &DemoArgs) -> Result<(), Failure> {
    if args.all {
        return demo_all(args);
    }
    let scenario = load(Path::new(DEMO), Overrides::default())?;
    request(args, "demo", &[scenario], Vec::new()).run()
}

fn request<'a>(
    args: &'a DemoArgs,
    name: &'a str,
    scenarios: &'a [Scenario],
    notes: Vec<String>,
) -> RunRequest<'a> {
    RunRequest {
        kind: "demo",
        name,
        scenarios,
        notes,
        outputs: &[],
        jobs: &args.jobs,
        output: &args.output,
        json: args.json,
    }
}

/// T20's main comparison on synthetic channels, and on the paper's if they exist.
fn demo_all(args: &DemoArgs) -> Result<(), Failure> {
    let markov = |fit: &str| Value::Table(toml_table(&[("kind", "markov"), ("fit", fit)]));
    let mut channels = vec![
        ("walk".to_string(), markov("pedestrian-like")),
        ("train ride".into(), markov("train-like")),
    ];
    let mut notes = DEMO_NOTES.map(str::to_string).to_vec();
    for (name, channel) in claims::load("T20").map_err(|e| Failure::usage(&e))?.traces {
        let file = channel.get("file").and_then(Value::as_str).unwrap_or_default();
        if data_dir().is_some_and(|dir| dir.join(file).is_file()) {
            channels.push((format!("the paper's {name} trace"), channel));
        }
    }
    if channels.len() == 2 {
        notes.push(DEMO_NO_TRACES.into());
    }
    let mut scenarios = Vec::new();
    for (name, title) in [
        ("t20-individual", "T20 scenario 1, own SDAP queues"),
        ("t20-shared", "T20 scenario 2, shared SDAP queue"),
    ] {
        for (label, channel) in &channels {
            scenarios.push(demo_scenario(name, &format!("{title}: {label}"), channel)?);
        }
    }
    request(args, "demo-all", &scenarios, notes).run()
}

/// A shipped scenario on another channel, short enough for a demonstration.
fn demo_scenario(name: &str, title: &str, channel: &Value) -> Result<Scenario, Failure> {
    let set = |path: &str, value: Value| Setting::new(path, value).map_err(Failure::Usage);
    let overrides = Overrides {
        base: vec![set("channel", channel.clone())?, set("title", Value::String(title.into()))?],
        variant: Some("as-released".into()),
        runs: Some(3),
        sweep_values: Some(vec![Value::String("20ms".into()), Value::String("70ms".into())]),
        ..Overrides::default()
    };
    load(Path::new(name), overrides)
}

fn toml_table(entries: &[(&str, &str)]) -> Table {
    entries
        .iter()
        .map(|(key, value)| ((*key).to_string(), Value::String((*value).into())))
        .collect()
}
