//! `recommend`.

mod answer;

use crate::args::{ColumnsArgs, JobsArgs, ScenarioArgs};
use crate::complete;
use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::picture::Form;
use crate::progress::Display;
use crate::runs::{threads, unbroken};
use crate::scenarios::{data_dir, overrides, shipped, source};
use crate::terminal::say;
use answer::{Answered, Seeds};
use clap::Args;
use justfull_base::Duration;
use justfull_lab::model::Group;
use justfull_lab::runner;
use justfull_report::figure::front;
use justfull_scenario::input::open_regular;
use justfull_scenario::{ChannelFile, Overrides, Scenario, ScenarioError, Setting, Value};
use std::path::{Path, PathBuf};

/// Say which method to take: run several on your channel and traffic and compare what each
/// costs
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull recommend nr-100mhz\n  justfull recommend walk.trace --runs 5\n  \
     justfull recommend drive.csv --time-column time --rate-column 'DL (kbps)'\n  \
     justfull recommend my.toml --split 5ms --json\n  \
     justfull recommend my.toml --rtt 10ms,40ms,160ms --plot front.svg\n\n\
     A trace gets the traffic of the shipped scenario download-pages-call. \
     With --split what the RLC holds is known so much later, as where CU and DU are apart.\n\n\
     Three kinds of methods are out: those that lose over one per cent of a low-latency \
     flow's packets more than the method that loses least; those with a p99 of these flows' \
     delay above 400 ms, or of which no packet arrives, if another has less; and sluggish ones, \
     whose pages load 5 times as long \
     as another's, whose adaptive video stalls for over one per cent more of the time, or whose \
     round trips exceed a second and 10 times another's. Of the rest, \
     those with 95 % of the greatest goodput of the other flows stay; of these those within 10 % \
     or 1 ms of the least p99; and of these the one with the least round trip is recommended. A \
     packet is lost if it was dropped on its way to the UE, not if it was still queued at the \
     end; the p99 is that of packets that arrive."
))]
pub(crate) struct RecommendArgs {
    /// A scenario file, the name of a shipped one, or a trace of any format that `justfull trace`
    /// reads.
    ///
    /// With a trace each seed plays 60 s from another place of the trace; `--set duration=180s`
    /// makes it longer. A scenario has its own duration.
    #[arg(value_name = "SCENARIO|TRACE", add = complete::scenarios_and_files())]
    pub(crate) input: PathBuf,
    /// Method to compare instead of the usual ones; may be given several times
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    #[command(flatten)]
    pub(crate) columns: ColumnsArgs,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// CU and DU are apart: the CU gets the RLC's backlog this much later, and the RLC's order is
    /// fixed [default: CU and DU are one]
    #[arg(long, value_name = "DELAY")]
    pub(crate) split: Option<Duration>,
    /// Base round trip, half in the core and half on the uplink; several, separated by commas, are
    /// compared one by one and by their mean [default: the scenario's; 20ms,80ms for a trace]
    #[arg(long, value_name = "TIME", value_delimiter = ',')]
    pub(crate) rtt: Vec<Duration>,
    /// Number of further seeds, each judged alone, that measure how certain the answer is [default:
    /// as many as --runs]
    #[arg(long, value_name = "N")]
    pub(crate) fresh: Option<u32>,
    /// Draw goodput against delay with the Pareto front: a file that ends in .svg, .png or .pdf, or
    /// - for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) plot: Option<PathBuf>,
    /// Number of runs, each with the next seed; three or more give 95 % confidence intervals
    /// [default: the scenario's; 3 for a trace]
    #[arg(long)]
    pub(crate) runs: Option<u32>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// Print JSON: a line for each point of the sweep and each base round trip; with several round
    /// trips first a line with their means
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no progress
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}

/// The traffic for a trace.
const TRAFFIC: &str = "download-pages-call";
/// The traffic in words, for the heading.
const TRAFFIC_IN_WORDS: &str = "a download, pages and a call (download-pages-call)";
/// Methods compared in a gNB without a split.
const WHOLE: [&str; 13] = [
    "Vanilla",
    "CoDel",
    "CoDel-RFC8289",
    "FQ-CoDel",
    "FQ-CoDel-RFC8290",
    "DRQL",
    "5G-BDP",
    "e5G-BDP",
    "LastPoll",
    "FQ-CoDel@5G-BDP",
    "Justfull",
    "Justfull-split",
    "Justfull-2",
];
/// Methods compared with CU and DU apart: they keep the order of the RLC.
const SPLIT: [&str; 11] = [
    "Vanilla",
    "CoDel",
    "CoDel-RFC8289",
    "DRQL",
    "5G-BDP",
    "e5G-BDP",
    "LastPoll",
    "FQ-CoDel@5G-BDP",
    "L4Span",
    "Justfull-split",
    "Justfull-2-split",
];
/// Base round trips for a trace, which has no round trip, in ms.
const TRACE_RTTS: [u64; 2] = [20, 80];

/// Runs methods on the user's channel and traffic and prints a recommendation.
pub(crate) fn recommend(args: &RecommendArgs) -> Result<(), Failure> {
    let form = args.plot.as_deref().map(Form::of).transpose()?;
    let round_trips = round_trips(args)?;
    let questions =
        round_trips.iter().map(|rtt| question(args, *rtt)).collect::<Result<Vec<_>, _>>()?;
    let display = Display::new(args.quiet, args.jobs.progress);
    let seconds =
        |scenario: &Scenario| scenario.base.duration.as_secs_f64() * scenario.jobs().len() as f64;
    display.announce(
        (questions.iter().map(|question| seconds(&question.scenario)).sum::<f64>() * 1e3) as u64,
    );
    let mut found = Vec::new();
    for Question { scenario, .. } in &questions {
        let made = runner::compare(scenario, threads(&args.jobs.threads), &display.watch, &());
        found.push(made.map_err(|e| Failure::usage(&e))?);
    }
    let speed = display.speed();
    drop(display);
    for comparison in &mut found {
        unbroken(&comparison.broken)?;
        if !comparison.missing.is_empty() {
            return Err(Failure::Failed(format!(
                "interrupted, {} of the runs are missing: nothing is recommended",
                comparison.missing.len()
            )));
        }
        if !is_scenario(&args.input) {
            // The heading names the part.
            comparison.groups.iter_mut().for_each(|group| group.parts = None);
        }
    }
    let Some(Question { not_run, seeds, .. }) = questions.first() else { return Ok(()) };
    for point in 0..found[0].groups.len() {
        let groups: Vec<&Group> =
            found.iter().map(|comparison| &comparison.groups[point]).collect();
        let answer = Answered { round_trips: &round_trips, groups, not_run, seeds: *seeds };
        let choices = answer.show(&found[0].notes, args.json)?;
        if let (Some(form), Some(out)) = (form, &args.plot) {
            let none = || Failure::Usage("--plot: allowed with low-latency and other flows".into());
            form.write(front(&choices).ok_or_else(none)?, out)?;
        }
    }
    if args.json {
        found[0].notes.iter().for_each(|note| say(&format!("note: {note}")));
    } else {
        for (method, why) in not_run {
            say(&format!("note: {method} was not run: {why}"));
        }
        say(&speed);
    }
    Ok(())
}

/// The base round trips in order; a single none keeps the scenario's.
fn round_trips(args: &RecommendArgs) -> Result<Vec<Option<Duration>>, Failure> {
    if args.rtt.is_empty() {
        let of_trace = || TRACE_RTTS.map(|ms| Some(Duration::from_millis(ms))).to_vec();
        return Ok(if is_scenario(&args.input) { vec![None] } else { of_trace() });
    }
    let mut sorted = args.rtt.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let most = Duration::from_secs(10);
    match sorted.iter().find(|rtt| **rtt == Duration::ZERO || **rtt > most) {
        Some(wrong) => Err(Failure::Usage(format!(
            "--rtt: found {wrong}, allowed is above 0 s, at most {most}"
        ))),
        None => Ok(sorted.into_iter().map(Some).collect()),
    }
}

/// The question at one base round trip.
struct Question {
    scenario: Scenario,
    /// Methods that cannot run, each with the reason.
    not_run: Vec<(String, String)>,
    seeds: Seeds,
}

/// The scenario at base round trip `rtt` with the methods that can run on it.
fn question(args: &RecommendArgs, rtt: Option<Duration>) -> Result<Question, Failure> {
    let usual: &[&str] = if args.split.is_some() { &SPLIT } else { &WHOLE };
    let names: Vec<String> = match args.methods.as_slice() {
        [] => usual.iter().map(ToString::to_string).collect(),
        named => named.to_vec(),
    };
    let mut base = overrides(&args.scenario)?;
    base.runs = args.runs;
    let set = |path: &str, value: Value| Setting::new(path, value).map_err(Failure::Usage);
    if let Some(delay) = args.split {
        base.base.push(set("rlc.report_delay", Value::String(delay.to_string()))?);
    }
    if let Some(rtt) = rtt {
        let half = Duration::from_nanos(rtt.as_nanos() / 2);
        for path in ["core.delay", "uplink.delay"] {
            base.base.push(set(path, Value::String(half.to_string()))?);
        }
    }
    let name = if is_scenario(&args.input) {
        if let Some(option) = args.columns.first() {
            return Err(Failure::Usage(format!("{option}: allowed with a trace that is a table")));
        }
        args.input.as_path()
    } else {
        base.base.push(set("channel", trace(&args.input, args.columns.keys())?)?);
        base.base.push(set("title", Value::String(args.input.display().to_string()))?);
        Path::new(TRAFFIC)
    };
    let (text, file) = source(name)?;
    let with = |methods: &[String], some_methods| {
        let methods = Some(methods.to_vec());
        let overrides = Overrides { methods, some_methods, ..base.clone() };
        Scenario::parse(&text, &file, data_dir(), overrides)
    };
    let with_runs = |methods: &[String], runs: usize| {
        let (methods, runs) =
            (Some(methods.to_vec()), Some(u32::try_from(runs).unwrap_or(u32::MAX)));
        let overrides = Overrides { methods, runs, ..base.clone() };
        Scenario::parse(&text, &file, data_dir(), overrides).map_err(|e| Failure::usage(&e))
    };
    // A method alone may lack a setting that another has.
    let alone = |method: String| with(&[method], true).and_then(|s| buildable(&s));
    // Vanilla has no requirements: its error is an error of the scenario.
    with(&["Vanilla".to_string()], true).map_err(|e| unread(args, Failure::usage(&e)))?;
    let (mut sound, mut not_run) = (Vec::new(), Vec::new());
    for method in names {
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
    let choosing = scenario.seeds().len();
    let fresh = args.fresh.map_or(choosing, |n| n as usize);
    let title = match is_scenario(&args.input) {
        true => scenario.base.title.clone(),
        false => heading(&scenario, &args.input)?,
    };
    if fresh > 0 {
        scenario = with_runs(&sound, choosing + fresh)?;
    }
    scenario.base.title = title;
    let not_run = not_run.into_iter().map(|(method, error)| (method, error.to_string())).collect();
    Ok(Question { scenario, not_run, seeds: Seeds { choosing, fresh } })
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
    shipped(input).is_some() || input.extension().is_some_and(|ending| ending == "toml")
}

/// The error of a trace that cannot be read, in words of its file; `failure` if there is none.
fn unread(args: &RecommendArgs, failure: Failure) -> Failure {
    if is_scenario(&args.input) || !args.input.exists() {
        return failure;
    }
    args.columns.unread(&args.input, "justfull recommend", failure)
}

/// The channel of a trace, with the `columns` of a table.
fn trace(file: &Path, columns: Vec<(&str, String)>) -> Result<Value, Failure> {
    // Scenarios look for traces beside themselves or in the data folder; this path is relative to
    // the working folder.
    let of_data = data_dir().is_some_and(|dir| dir.join(file).is_file());
    if let (false, Err(error)) = (of_data, open_regular(file)) {
        return Err(Failure::Usage(format!(
            "{}: found {}, allowed is a scenario file, the name of a shipped scenario (`justfull \
             list`), or a trace",
            file.display(),
            error.found
        )));
    }
    let file = if of_data && !file.exists() {
        file.to_path_buf()
    } else {
        std::path::absolute(file).map_err(|e| Failure::Usage(format!("{}: {e}", file.display())))?
    };
    let name = file
        .to_str()
        .ok_or_else(|| Failure::Usage(format!("{}: allowed is a name in UTF-8", file.display())))?;
    let settings = [("kind", "trace"), ("format", "auto"), ("file", name), ("start", "spread")];
    let settings = settings.map(|(key, value)| (key, value.to_owned())).into_iter().chain(columns);
    let entries = settings.map(|(key, value)| (key.to_owned(), Value::String(value)));
    Ok(Value::Table(entries.collect()))
}
