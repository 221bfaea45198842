//! `recommend`.

use crate::args::{JobsArgs, ScenarioArgs};
use crate::complete;
use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::name::VERSION;
use crate::progress::Display;
use crate::runs::{threads, unbroken};
use crate::scenarios::{data_dir, overrides, source};
use crate::terminal::{print, print_exact, say};
use clap::Args;
use justfull_base::Duration;
use justfull_lab::model::Group;
use justfull_lab::recommend::choices;
use justfull_lab::runner;
use justfull_report::export::choices::Answer;
use justfull_report::table;
use justfull_scenario::{
    ChannelFile, Overrides, Scenario, ScenarioError, Setting, Table, Value, library,
};
use std::path::{Path, PathBuf};

/// Say which method to take: run several on your channel and traffic and compare what each
/// costs
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull recommend nr-100mhz\n  justfull recommend walk.trace --runs 5\n  \
     justfull recommend my.toml --split 5ms --json\n\n\
     A trace gets the traffic of the shipped scenario download-pages-call. \
     With --split what the RLC holds is known so much later, as where CU and DU are apart.\n\n\
     Recommended is, of the methods that lose at most one per cent of a low-latency flow's \
     packets more than the method that loses least and have a p99 of these flows' delay of at \
     most 400 ms, if any has, and of these that have 95 % of the greatest goodput of the other \
     flows, one with the least p99; within 10 % or 1 ms of it, the one with the least round \
     trip. A packet is lost if it was dropped on its way to the UE, not if it was still queued \
     at the end; the p99 is that of packets that arrive."
))]
pub(crate) struct RecommendArgs {
    /// A scenario file, the name of a shipped one, or a trace of any format that `justfull trace`
    /// reads.
    ///
    /// Of a trace each seed plays 60 s from another place, spread over the whole trace; `--set
    /// duration=180s` makes it more. A scenario has its own duration.
    #[arg(value_name = "SCENARIO|TRACE", add = complete::scenarios_and_files())]
    pub(crate) input: PathBuf,
    /// Method to compare instead of the usual ones; may be given several times
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// CU and DU are apart: what the RLC holds is known so much later, and its order cannot be
    /// changed
    #[arg(long, value_name = "DELAY")]
    pub(crate) split: Option<Duration>,
    /// Number of runs, each with the next seed; three or more give 95 % confidence intervals
    /// [default: the scenario's; 3 for a trace]
    #[arg(long)]
    pub(crate) runs: Option<u32>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// Print JSON, a line for each point of the sweep
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}

/// The traffic for a trace.
const TRAFFIC: &str = "download-pages-call";
/// The traffic in words, for the heading.
const TRAFFIC_IN_WORDS: &str = "a download, pages and a call (download-pages-call)";
/// Methods compared in a gNB without a split.
const WHOLE: [&str; 8] =
    ["Vanilla", "CoDel", "FQ-CoDel", "DRQL", "5G-BDP", "e5G-BDP", "LastPoll", "Justfull"];
/// Methods compared with CU and DU apart: they keep the order of the RLC.
const SPLIT: [&str; 7] =
    ["Vanilla", "CoDel", "DRQL", "5G-BDP", "e5G-BDP", "LastPoll", "Justfull-split"];

/// Runs methods on the user's channel and traffic and prints a recommendation.
pub(crate) fn recommend(args: &RecommendArgs) -> Result<(), Failure> {
    let (scenario, not_run) = scenario(args)?;
    let display = Display::new(args.quiet, args.jobs.progress);
    let seconds = scenario.base.duration.as_secs_f64() * scenario.jobs().len() as f64;
    display.announce((seconds * 1e3) as u64);
    let mut found = runner::compare(&scenario, threads(&args.jobs.threads), &display.watch, &())
        .map_err(|e| Failure::usage(&e))?;
    let speed = display.speed();
    drop(display);
    unbroken(&found.broken)?;
    if !found.missing.is_empty() {
        return Err(Failure::Failed(format!(
            "interrupted, {} of the runs are missing: nothing is recommended",
            found.missing.len()
        )));
    }
    if !is_scenario(&args.input) {
        // The heading names the part.
        found.groups.iter_mut().for_each(|group| group.parts = None);
    }
    for group in &found.groups {
        tell(group, &not_run, &found.notes, args.json)?;
    }
    if args.json {
        found.notes.iter().for_each(|note| say(&format!("note: {note}")));
    } else {
        for (method, why) in &not_run {
            say(&format!("note: {method} was not run: {why}"));
        }
        say(&speed);
    }
    Ok(())
}

/// Prints the answer for `group`.
fn tell(
    group: &Group,
    not_run: &[(String, String)],
    notes: &[String],
    json: bool,
) -> Result<(), Failure> {
    let choices = choices(&group.runs);
    if json {
        let mut seeds: Vec<u64> = group.runs.iter().map(|run| run.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let scenario = group.heading();
        let settings = &group.settings;
        let answer = Answer { scenario, choices, not_run, seeds, settings, version: VERSION };
        return print_exact(&answer.json());
    }
    let style = table::Style::detect();
    let mut grid = table::choices(&choices);
    grid.notes.extend(table::settings(group));
    let notes: String = notes.iter().map(|n| format!("note: {}\n", table::printable(n))).collect();
    print(&format!(
        "{notes}\n{}\n{}\n{}",
        table::line(&group.heading(), style),
        table::terminal(&grid, style),
        table::notes([&grid], style)
    ))
}

/// The scenario with the methods that can run on it, and the other methods with the reason.
fn scenario(args: &RecommendArgs) -> Result<(Scenario, Vec<(String, String)>), Failure> {
    let usual: &[&str] = if args.split.is_some() { &SPLIT } else { &WHOLE };
    let asked: Vec<String> = match args.methods.as_slice() {
        [] => usual.iter().map(ToString::to_string).collect(),
        named => named.to_vec(),
    };
    let mut base = overrides(&args.scenario)?;
    base.runs = args.runs;
    let set = |path: &str, value: Value| Setting::new(path, value).map_err(Failure::Usage);
    if let Some(delay) = args.split {
        base.base.push(set("rlc.report_delay", Value::String(delay.to_string()))?);
    }
    let name = if is_scenario(&args.input) {
        args.input.as_path()
    } else {
        base.base.push(set("channel", trace(&args.input)?)?);
        base.base.push(set("title", Value::String(args.input.display().to_string()))?);
        Path::new(TRAFFIC)
    };
    let (text, file) = source(name)?;
    let with = |methods: &[String], some_methods| {
        let methods = Some(methods.to_vec());
        let overrides = Overrides { methods, some_methods, ..base.clone() };
        Scenario::parse(&text, &file, data_dir(), overrides)
    };
    // A method alone may lack a setting that another has.
    let alone = |method: String| with(&[method], true).and_then(|s| buildable(&s));
    // Vanilla has no requirements: its error is an error of the scenario.
    with(&["Vanilla".to_string()], true).map_err(|e| Failure::usage(&e))?;
    let (mut sound, mut not_run) = (Vec::new(), Vec::new());
    for method in asked {
        match alone(method.clone()) {
            Ok(()) => sound.push(method),
            Err(error) if args.methods.is_empty() => not_run.push((method, error)),
            Err(error) => return Err(Failure::usage(&error)),
        }
    }
    let mut scenario = with(&sound, false).map_err(|error| {
        // A setting that the others lack may be wrong in the method that has it.
        let of_user = not_run.iter().map(|(_, error)| error).find(|e| e.set_by == "--set");
        Failure::usage(of_user.unwrap_or(&error))
    })?;
    if !is_scenario(&args.input) {
        scenario.base.title = heading(&scenario, &args.input)?;
    }
    Ok((scenario, not_run.into_iter().map(|(method, error)| (method, error.to_string())).collect()))
}

/// The heading: the traffic and the part of the trace `input`.
fn heading(scenario: &Scenario, input: &Path) -> Result<String, Failure> {
    let input = input.display();
    let parts = scenario.parts().map_err(|e| Failure::usage(&e))?;
    let parts = parts.unwrap_or_else(|| format!("{} of {input}", scenario.base.duration));
    // The trace appears under the user's name for it.
    let named = match &scenario.base.channel {
        ChannelFile::Trace(trace) => parts.replace(&trace.file, &input.to_string()),
        _ => parts,
    };
    Ok(format!("{TRAFFIC_IN_WORDS}; {named}"))
}

/// Builds the first run, so that a method's requirements are checked before all runs.
fn buildable(scenario: &Scenario) -> Result<(), ScenarioError> {
    scenario.jobs().first().map_or(Ok(()), |job| scenario.built(job).map(drop))
}

/// True for a scenario's extension, or the name of a shipped scenario; anything else is a trace.
fn is_scenario(input: &Path) -> bool {
    let shipped = input.to_str().and_then(library::scenario).is_some() && !input.exists();
    shipped || input.extension().is_some_and(|ending| ending == "toml")
}

/// The channel of a trace.
fn trace(file: &Path) -> Result<Value, Failure> {
    // Scenarios look for traces beside themselves or in the data folder; this path is relative to
    // the working folder.
    let of_data = data_dir().is_some_and(|dir| dir.join(file).is_file());
    let file = if of_data && !file.exists() {
        file.to_path_buf()
    } else {
        std::path::absolute(file).map_err(|e| Failure::Usage(format!("{}: {e}", file.display())))?
    };
    let name = file
        .to_str()
        .ok_or_else(|| Failure::Usage(format!("{}: allowed is a name in UTF-8", file.display())))?;
    let settings = [("kind", "trace"), ("format", "auto"), ("file", name), ("start", "spread")];
    let entry = |(key, value): (&str, &str)| (key.to_string(), Value::String(value.into()));
    Ok(Value::Table(Table::from_iter(settings.map(entry))))
}
