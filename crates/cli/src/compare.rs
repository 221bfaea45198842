//! `run` and `demo`.

use crate::args::{
    DemoArgs, GridArgs, JobsArgs, OutputArgs, RunArgs, ScenarioArgs, ThreadsArgs, command,
};
use crate::progress::Display;
use crate::terminal::{print, print_exact, say};
use crate::{Failure, VERSION, results, run_files};
use justfull_lab::claims;
use justfull_lab::model::Comparison;
use justfull_lab::runner;
use justfull_report::export::answer::answer;
use justfull_report::export::outputs::Outputs;
use justfull_report::export::run::RunFiles;
use justfull_report::table;
use justfull_scenario::{Axis, Overrides, Scenario, Setting, Table, Value};
use justfull_scenario::{library, near};
use std::path::{Path, PathBuf};

/// The folder of traces that are not part of the project.
pub(crate) fn data_dir() -> Option<PathBuf> {
    std::env::var_os("JUSTFULL_DATA").filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// The scenario in the file `name`, on standard input for `-`, or the shipped one of that name when
/// there is no such file.
pub(crate) fn load(name: &Path, overrides: Overrides) -> Result<Scenario, Failure> {
    let (text, file) = source(name)?;
    Scenario::parse(&text, &file, data_dir(), overrides).map_err(|e| Failure::usage(&e))
}

/// Text of the scenario `name`, and the file that messages name.
pub(crate) fn source(name: &Path) -> Result<(String, PathBuf), Failure> {
    if name == Path::new("-") {
        let file = PathBuf::from("stdin.toml");
        let text = Scenario::text_from(std::io::stdin().lock(), &file);
        return text.map(|text| (text, file)).map_err(|e| Failure::usage(&e));
    }
    match name.to_str().and_then(library::scenario).filter(|_| !name.exists()) {
        Some(text) => Ok((text.into(), name.with_extension("toml"))),
        None => Scenario::text_of(name).map(|text| (text, name.into())).map_err(|e| {
            let known: Vec<&str> = library::SCENARIOS.iter().map(|(name, _)| *name).collect();
            let near = near::did_you_mean(&near::near(&name.to_string_lossy(), &known));
            let shipped = format!(", or the name of a shipped one (`justfull list`){near}");
            Failure::Usage(format!("{e}{}", if name.exists() { "" } else { &shipped }))
        }),
    }
}

/// What the arguments change in a scenario.
pub(crate) fn overrides(args: &ScenarioArgs) -> Result<Overrides, Failure> {
    let set: Result<Vec<Setting>, String> = args.set.iter().map(|text| text.parse()).collect();
    Ok(Overrides {
        variant: args.variant.clone(),
        switches: args.switches.clone(),
        set: set.map_err(|e| Failure::Usage(format!("--set: {e}")))?,
        seed: args.seed,
        ..Overrides::default()
    })
}

/// The axes of a grid.
pub(crate) fn axes(args: &GridArgs) -> Result<Vec<Axis>, Failure> {
    let axes: Result<Vec<Axis>, String> = args.axes.iter().map(|text| text.parse()).collect();
    axes.map_err(|e| Failure::Usage(format!("--grid: {e}")))
}

/// The methods that were asked for; none for the file's.
pub(crate) fn chosen(methods: &[String]) -> Option<Vec<String>> {
    (!methods.is_empty()).then(|| methods.to_vec())
}

pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let overrides = Overrides {
        methods: chosen(&args.methods),
        runs: args.runs,
        grid: axes(&args.grid)?,
        ..overrides(&args.scenario)?
    };
    let scenarios: Result<Vec<Scenario>, Failure> =
        args.files.iter().map(|f| load(f, overrides.clone())).collect();
    let scenarios = scenarios?;
    let name = if scenarios.len() == 1 { scenarios[0].name.clone() } else { "comparison".into() };
    let place = results::place(&args.output, &name);
    let outputs = run_files::outputs(&args.files_of_runs, &scenarios, place.as_deref())?;
    let given = (&args.output, &args.jobs, args.json);
    run_all(&scenarios, ("run", &name), given, Vec::new(), &outputs)
}

/// What a reader of the whole demonstration must know.
const DEMO_NOTES: [&str; 2] = [
    "The channels named walk and train ride are synthetic and ship with the program: they have \
     the statistics of the paper's traces but are not those traces.",
    "RLC of 31 packets and late ticks, as T20's program ran (variant as-released); with its \
     text's 1024 packets Vanilla waits for seconds: justfull run t20-individual.",
];

/// How to see the paper's traces too.
const DEMO_NO_TRACES: &str =
    "The paper's traces were not run: JUSTFULL_DATA names no folder that has them.";

/// The scenario of the demonstration.
const DEMO: &str = "demo";

pub(crate) fn demo(args: &DemoArgs) -> Result<(), Failure> {
    if args.all {
        return demo_all(args);
    }
    let scenario = load(Path::new(DEMO), Overrides::default())?;
    run_all(&[scenario], ("demo", "demo"), (&args.output, &args.jobs, false), Vec::new(), &[])
}

/// T20's main comparison on synthetic channels, and on the paper's where they are.
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
    run_all(&scenarios, ("demo", "demo-all"), (&args.output, &args.jobs, false), notes, &[])
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

fn run_all(
    scenarios: &[Scenario],
    (kind, name): (&str, &str),
    (output, jobs, json): (&OutputArgs, &JobsArgs, bool),
    notes: Vec<String>,
    outputs: &[Vec<Outputs>],
) -> Result<(), Failure> {
    let names: Vec<&str> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    let out = results::open(output, name, (kind, &names.join(", ")))?;
    let display = Display::new(output.quiet, jobs.progress);
    for scenario in scenarios {
        let seconds = scenario.base.duration.as_secs_f64() * scenario.jobs().len() as f64;
        display.announce((seconds * 1e3) as u64);
    }
    let mut whole =
        Comparison { notes, command: command(), version: VERSION.into(), ..Comparison::default() };
    for (i, scenario) in scenarios.iter().enumerate() {
        let files = outputs.get(i).map_or(&[][..], Vec::as_slice);
        let part =
            runner::compare(scenario, threads(&jobs.threads), &display.watch, &RunFiles(files))
                .map_err(|e| Failure::usage(&e))?;
        whole.title =
            if whole.title.is_empty() { part.title } else { "Comparison of scenarios".into() };
        whole.notes.extend(part.notes);
        whole.live |= part.live;
        whole.groups.extend(part.groups);
        whole.scenario_toml.push_str(&part.scenario_toml);
        whole.missing.extend(part.missing);
        whole.broken.extend(part.broken);
    }
    let speed = display.speed();
    drop(display);
    if !json {
        show(&whole, output.wide)?;
    }
    say(&in_words(speed));
    // An interruption before the first run was done leaves no results, and the earlier ones where
    // they are.
    let none = !whole.missing.is_empty() && whole.groups.iter().all(|group| group.runs.is_empty());
    let out = out.filter(|_| !none);
    let place = out.as_ref().map(|folder| folder.path().to_path_buf());
    if let Some(folder) = out {
        results::finish(folder, &whole, output)?;
    }
    if json {
        print_exact(&answer(&whole, place.as_deref()))?;
    }
    unbroken(&whole.broken)?;
    if whole.missing.is_empty() {
        Ok(())
    } else {
        Err(Failure::Failed(missing("interrupted", &whole.missing)))
    }
}

/// Fails by name where runs have broken an invariant.
pub(crate) fn unbroken(runs: &[String]) -> Result<(), Failure> {
    if runs.is_empty() {
        return Ok(());
    }
    let text = format!(
        "a bug of the program; {} of the runs contradict themselves:\n  {}",
        runs.len(),
        runs.join("\n  ")
    );
    Err(Failure::Failed(text))
}

/// Runs that a message names.
const NAMED: usize = 10;

/// What is missing because of what ended the runs, in words.
pub(crate) fn missing(ended: &str, runs: &[String]) -> String {
    let (named, others) = runs.split_at(runs.len().min(NAMED));
    let count = runs.len();
    let mut text = format!("{ended}, {count} of the runs are missing:\n  {}", named.join("\n  "));
    if !others.is_empty() {
        text.push_str(&format!("\n  and {} others; result.json names all", others.len()));
    }
    text
}

pub(crate) fn in_words((simulated, wall): (f64, f64)) -> String {
    format!(
        "{simulated:.0} s simulated in {wall:.2} s: {:.0} times real time",
        simulated / wall.max(1e-3)
    )
}

/// Most threads; more would only wait for each other.
const MOST_THREADS: usize = 1024;

pub(crate) fn threads(args: &ThreadsArgs) -> usize {
    args.jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        .clamp(1, MOST_THREADS)
}

/// Prints the tables.
pub(crate) fn show(comparison: &Comparison, wide: bool) -> Result<(), Failure> {
    let mut text = String::new();
    let style = table::Style::detect();
    for note in &comparison.notes {
        text.push_str(&format!("{}\n", table::line(&format!("note: {note}"), style)));
    }
    let mut grids = Vec::new();
    for group in comparison.groups.iter().filter(|g| !g.runs.is_empty()) {
        let mut grid = if wide { table::wide(&group.runs) } else { table::methods(&group.runs) };
        grid.notes.extend(table::settings(group));
        text.push_str(&format!(
            "\n{}\n{}\n",
            table::line(&group.heading(), style),
            table::terminal(&grid, style)
        ));
        grids.push(grid);
    }
    text.push_str(&table::notes(&grids, style));
    print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_run_fails_by_name() {
        assert!(unbroken(&[]).is_ok());
        let broken = vec!["s: Vanilla, seed 1: used <= offered: 2, 1".to_string()];
        let Err(Failure::Failed(text)) = unbroken(&broken) else {
            panic!("it fails with status 1")
        };
        assert!(
            text.contains("1 of the runs")
                && text.ends_with("s: Vanilla, seed 1: used <= offered: 2, 1"),
            "{text}"
        );
    }
}
