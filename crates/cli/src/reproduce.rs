//! `reproduce`.

use crate::args::{JobsArgs, OutputArgs};
use crate::complete;
use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::name::{VERSION, command_line};
use crate::progress::Display;
use crate::results;
use crate::runs::{threads, unbroken};
use crate::scenarios::data_dir;
use crate::terminal::{print, print_exact, say};
use clap::Args;
use justfull_lab::claims::{self, ClaimsError, Means, Options, Reproduced};
use justfull_lab::model::Verdict;
use justfull_lab::model::claims::ClaimTable;
use justfull_lab::runner::simulated;
use justfull_report::export::answer::answer;
use justfull_report::export::folder::Subject;
use justfull_report::{export, table};
use justfull_scenario::{Job, Scenario};
use std::path::{Path, PathBuf};

/// Run a paper's claims and judge them
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  JUSTFULL_DATA=~/traces justfull reproduce T20\n  \
     justfull reproduce T20 --figure 7 --short\n\n\
     A claim whose trace is not here is not run, which is said; with --strict that is exit 1. \
     A claim that the file of claims records as missed may miss again: exit 1 is for one that \
     came out worse than recorded."
))]
pub(crate) struct ReproduceArgs {
    /// Paper: T20, E19, A21, R22, P06, L4S, Handover, Dual, Split, DRX, Uplink, LastPoll, Justfull,
    /// or Justfull-fresh, -held-out or -unseen
    #[arg(add = complete::papers())]
    pub(crate) paper: String,
    /// Judge the claims that run live, over the kernel's TCP and `justfull proxy`: R22, section 5
    #[arg(long)]
    pub(crate) live: bool,
    /// Only the claims of this figure, e.g. 7, or of another place that the paper's claims name,
    /// e.g. "Table 4"
    #[arg(long, value_name = "N")]
    pub(crate) figure: Option<String>,
    /// Number of seeds, at least 3 for an interval; more seeds give narrower intervals [default:
    /// the scenarios']
    #[arg(long, value_parser = clap::value_parser!(u32).range(3..))]
    pub(crate) runs: Option<u32>,
    /// First seed [default: the scenarios']
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=u64::MAX / 2))]
    pub(crate) seed: Option<u64>,
    /// Judge the claims in this many consecutive groups of seeds, from --seed on, and count the
    /// verdicts; no folder is written, and recorded verdicts are not compared
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000),
          requires = "seed", conflicts_with_all = ["fit", "live"])]
    pub(crate) groups: Option<u32>,
    /// Fewer points of the sweep, same bands
    #[arg(long)]
    pub(crate) short: bool,
    /// Count the effect of each switch of the claims on the whole paper; each switch takes as long
    /// as the paper. Without this option the counts are the recorded ones
    #[arg(long, conflicts_with_all = ["figure", "short", "fit", "groups", "live"])]
    pub(crate) switches: bool,
    /// Fit settings that the paper does not print to some of its values, as the file of claims
    /// says, and print the effect on all values; no claim is judged and no folder is written
    #[arg(long, conflicts_with_all = ["figure", "short", "strict", "seed"])]
    pub(crate) fit: bool,
    /// Exit with 1 if a claim did not run because its trace is missing
    #[arg(long)]
    pub(crate) strict: bool,
    /// Also write the table of claims as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Print JSON instead of tables: the claims, and the rows of runs.jsonl
    #[arg(long, conflicts_with_all = ["fit", "groups"])]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Live runs in parallel: each waits most of its time.
const LIVE_AT_ONCE: usize = 6;

#[cfg(feature = "live")]
use crate::live::reproduce as live;

/// In a build without live runs.
#[cfg(not(feature = "live"))]
mod live {
    use crate::failure::Failure;
    use justfull_lab::claims::ClaimsError;
    use justfull_run::results::RunResult;
    use justfull_scenario::{Job, Scenario};

    pub(super) fn prepare() -> Result<(), Failure> {
        Err(Failure::lacks("live runs", "live"))
    }

    pub(super) fn one(_: &Scenario, _: &Job) -> Result<Option<RunResult>, ClaimsError> {
        Err(ClaimsError::Run(Failure::lacks("live runs", "live").to_string()))
    }
}

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.fit {
        return fit(args);
    }
    if let (Some(first), Some(groups)) = (args.seed, args.groups) {
        return in_groups(args, first, groups);
    }
    let load = if args.live { claims::load_live } else { claims::load };
    let file = load(&args.paper).map_err(|e| Failure::usage(&e))?;
    // Before any folder is created.
    claims::select(&file, args.figure.as_deref()).map_err(|e| Failure::usage(&e))?;
    let name = format!("reproduce-{}{}", args.paper, if args.live { "-live" } else { "" });
    // Before any thread starts.
    if args.live {
        live::prepare()?;
    }
    let subject = Subject { kind: "reproduce".into(), scenario: args.paper.clone() };
    let out = results::open(&args.output, &name, &subject)?;
    not_in_the_folder(args, &name)?;
    let options = options(args);
    let display = Display::new(args.output.quiet, args.jobs.progress);
    let mut announce = |ms, _| display.announce(ms);
    let watch = &*display.watch;
    let one = |scenario: &Scenario, job: &Job| {
        if args.live {
            return live::one(scenario, job);
        }
        Ok(simulated(scenario, job, watch)?)
    };
    let found = claims::reproduce(&file, &options, Means { watch, one: &one }, &mut announce);
    let Reproduced { mut comparison, table: rows, worse } = found.map_err(failure)?;
    let speed = display.speed();
    drop(display);
    summarise(&rows, args)?;
    say(&speed);
    let not_run = rows.count(Verdict::NotRun);
    if not_run > 0 {
        let hint = if args.strict { "" } else { "; --strict makes that exit 1" };
        say(&format!(
            "note: {not_run} claims were not run for want of their traces, which JUSTFULL_DATA \
             names{hint}"
        ));
    }
    comparison.claims = Some(rows);
    comparison.command = command_line();
    comparison.version = VERSION.into();
    let place = out.as_ref().map(|folder| folder.path().to_path_buf());
    if let Some(folder) = out {
        results::finish(folder, &comparison, &args.output)?;
    }
    if args.json {
        print_exact(&answer(&comparison, place.as_deref()))?;
    }
    unbroken(&comparison.broken)?;
    match not_run {
        _ if !worse.is_empty() => Err(Failure::Failed(format!(
            "a claim came out worse than its file records: {}",
            worse.join(", ")
        ))),
        1.. if args.strict => Err(Failure::Failed(format!("{not_run} claims were not run"))),
        _ => Ok(()),
    }
}

/// Prints the table of claims unless JSON was requested, and writes it as Markdown on request.
fn summarise(rows: &ClaimTable, args: &ReproduceArgs) -> Result<(), Failure> {
    let grid = table::claims(rows);
    let below = [table::worlds(rows), table::switches(rows), table::shown(&rows.shown)];
    let below: Vec<&table::Grid> = below.iter().flatten().collect();
    let notes: String =
        rows.notes.iter().map(|n| format!("note: {}\n", table::printable(n))).collect();
    if !args.json {
        let style = table::Style::detect();
        let drawn = table::terminal(&table::narrow(&grid, style), style);
        let reading = table::notes([&grid], style);
        let tally = table::line(&rows.tally(), style);
        print(&format!("{notes}{drawn}\n{reading}{tally}\n"))?;
        for part in &below {
            let reading = table::notes([*part], style);
            print(&format!("\n{}\n{reading}", table::terminal(part, style)))?;
        }
    }
    let Some(file) = &args.markdown else { return Ok(()) };
    let below: String =
        below.into_iter().map(|grid| format!("\n{}", table::markdown(grid))).collect();
    write(file, &format!("{notes}\n{}\n\n{}\n{below}", table::markdown(&grid), rows.tally()))
}

fn options(args: &ReproduceArgs) -> Options {
    Options {
        short: args.short,
        runs: args.runs,
        seed: args.seed,
        figure: args.figure.clone(),
        switches: args.switches,
        judged_alone: false,
        threads: if args.live { LIVE_AT_ONCE } else { threads(&args.jobs.threads) },
        data_dir: data_dir(),
    }
}

fn failure(error: ClaimsError) -> Failure {
    match error {
        ClaimsError::Cancelled | ClaimsError::Run(_) => Failure::Failed(error.to_string()),
        ClaimsError::Unknown(_) | ClaimsError::Scenario(_) => Failure::usage(&error),
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    export::write_whole(file, |out| out.write_all(text.as_bytes())).map_err(|e| Failure::usage(&e))
}

/// `--groups`.
fn in_groups(args: &ReproduceArgs, first: u64, groups: u32) -> Result<(), Failure> {
    let file = claims::load(&args.paper).map_err(|e| Failure::usage(&e))?;
    let display = Display::new(args.output.quiet, args.jobs.progress);
    let mut announce = |ms, _| display.announce(ms);
    let watch = &*display.watch;
    let one = |scenario: &Scenario, job: &Job| Ok(simulated(scenario, job, watch)?);
    let (options, means) = (options(args), Means { watch, one: &one });
    let found = claims::reproduce_groups(&file, &options, first, groups, means, &mut announce);
    let found = found.map_err(failure)?;
    let speed = display.speed();
    drop(display);
    let (style, grid) = (table::Style::detect(), table::grouped(&found));
    let reading = table::notes([&grid], style);
    print(&format!("{}\n{reading}{}\n", table::terminal(&grid, style), found.tally()))?;
    say(&speed);
    if let Some(file) = &args.markdown {
        write(file, &format!("{}\n\n{}\n", table::markdown(&grid), found.tally()))?;
    }
    let not_run = found.rows.iter().filter(|row| row.count(Verdict::NotRun) > 0).count();
    unbroken(&found.broken)?;
    match not_run {
        1.. if args.strict => Err(Failure::Failed(format!("{not_run} claims were not run"))),
        _ => Ok(()),
    }
}

/// `--fit`.
fn fit(args: &ReproduceArgs) -> Result<(), Failure> {
    let display = Display::new(args.output.quiet, args.jobs.progress);
    let mut announce = |ms, _| display.announce(ms);
    let found = claims::fit(&args.paper, &options(args), &display.watch, &mut announce);
    let found = found.map_err(failure)?;
    let speed = display.speed();
    drop(display);
    let style = table::Style::detect();
    let grids = table::fit(&found);
    for grid in &grids {
        print(&format!("{}\n{}\n", table::terminal(grid, style), table::notes([grid], style)))?;
    }
    say(&speed);
    match &args.markdown {
        Some(file) => write(file, &grids.map(|grid| table::markdown(&grid)).join("\n")),
        None => Ok(()),
    }
}

/// Refuses a table of claims inside the folder of the results, which is replaced as a whole.
fn not_in_the_folder(args: &ReproduceArgs, name: &str) -> Result<(), Failure> {
    let (Some(file), Some(folder)) = (&args.markdown, results::place(&args.output, name)) else {
        return Ok(());
    };
    if !results::resolved(file).starts_with(results::resolved(&folder)) {
        return Ok(());
    }
    let (file, folder) = (file.display(), folder.display());
    Err(Failure::Usage(format!(
        "--markdown: found {file}, where the folder of the results {folder} goes, allowed is a \
         place outside of it"
    )))
}
