//! `campaign`.

mod judge;

use crate::args::{AddArgs, CampaignArgs, CampaignCommand, JobsArgs, MakeArgs, TableArgs};
use crate::failure::Failure;
use crate::plugins;
use crate::progress::Display;
use crate::runs::threads;
use crate::scenarios::data_dir;
use crate::terminal::{print, print_exact, say};
use justfull_campaign::dataset::campaign_of;
use justfull_campaign::{Addition, Campaign, Dataset, Tally, report, run};
use justfull_plugin::Plugin;
use justfull_report::export::{Column, Runs, Sink};
use justfull_report::read::Folder;
use justfull_report::table::{self, Style};
use justfull_report::{earlier, means};
use justfull_scenario::Scenario;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

pub(crate) fn campaign(command: &CampaignCommand) -> Result<(), Failure> {
    match command {
        CampaignCommand::Run(args) => {
            let (file, folder) = named(&args.campaign)?;
            let mut campaign = load(&file)?;
            if let Some(name) = campaign.python.keys().next() {
                let (file, words) =
                    (file.display(), "a method in Python, allowed is a shipped one");
                let other = "a program in Python makes such a campaign: `justfull.campaign(FILE)`";
                return Err(Failure::usage(&format!(
                    "{file}: python.{name}: found {words}; {other}"
                )));
            }
            make(args, &mut campaign, folder)
        }
        CampaignCommand::Add(args) => add(args),
        CampaignCommand::Status(args) => {
            let (file, folder) = named(args)?;
            let campaign = load(&file)?;
            let dataset = Dataset::look(&place(folder, &campaign), &campaign);
            let dataset = dataset.map_err(|e| Failure::usage(&e))?;
            dataset.mended.iter().for_each(|line| say(line));
            show(&dataset.tally(&campaign), args.json)
        }
        CampaignCommand::Table(args) => table(args),
        CampaignCommand::Report(args) => page(args),
        CampaignCommand::List(args) => list(&load(&named(args)?.0)?, args.json),
        CampaignCommand::Judge(args) => judge::judge(args),
    }
}

/// The campaign's file, and the folder of its dataset if it was named.
fn named(args: &CampaignArgs) -> Result<(PathBuf, Option<PathBuf>), Failure> {
    if !args.file.is_dir() {
        return Ok((args.file.clone(), args.out.clone()));
    }
    let Some(file) = campaign_of(&args.file) else {
        let folder = args.file.display();
        let allowed = "a campaign's file, or the folder of its dataset";
        return Err(Failure::usage(&format!(
            "{folder}: found another folder, allowed is {allowed}"
        )));
    };
    Ok((file, Some(args.out.clone().unwrap_or_else(|| args.file.clone()))))
}

fn load(file: &Path) -> Result<Campaign, Failure> {
    Campaign::load(file, data_dir()).map_err(|e| Failure::usage(&e))
}

/// The folder of the dataset.
fn place(folder: Option<PathBuf>, campaign: &Campaign) -> PathBuf {
    folder.unwrap_or_else(|| Path::new("results/campaign").join(&campaign.name))
}

fn add(args: &AddArgs) -> Result<(), Failure> {
    let (file, folder) = named(&args.run.campaign)?;
    let addition = Addition {
        seeds: args.seeds,
        most: args.most,
        methods: args.method.clone(),
        grid: args.grid.clone(),
    };
    let text = Scenario::text_of(&file).map_err(|e| Failure::usage(&e))?;
    let more = addition.to(&text, &file).map_err(|e| Failure::usage(&e))?;
    // The file changes only if the campaign stays valid.
    let mut campaign = Campaign::parse(&more, &file, data_dir()).map_err(|e| Failure::usage(&e))?;
    if more != text {
        let written = Sink::create(&file).and_then(|mut sink| {
            sink.write_all(more.as_bytes()).map_err(|what| sink.error(what))?;
            sink.commit()
        });
        written.map_err(|e| Failure::usage(&e))?;
    }
    if campaign.python.is_empty() {
        return make(&args.run, &mut campaign, folder);
    }
    let dataset = Dataset::look(&place(folder, &campaign), &campaign);
    show(&dataset.map_err(|e| Failure::usage(&e))?.tally(&campaign), args.run.campaign.json)?;
    say("it has methods in Python: `justfull.campaign(FILE)` in Python makes what is open");
    Ok(())
}

/// Loads the plugins of `campaign`, if the user allows it.
fn loaded(args: &MakeArgs, campaign: &mut Campaign) -> Result<Vec<Plugin>, Failure> {
    if let (false, Some((name, method))) = (args.plugins, campaign.plugins.iter().next()) {
        let (campaign, file) = (campaign.file.display(), method.file.display());
        return Err(Failure::Usage(format!(
            "{campaign}: plugin.{name}: found {file}, allowed with --plugins: its code runs with \
             your rights"
        )));
    }
    campaign.load_plugins().map_err(|e| Failure::usage(&e))
}

fn make(args: &MakeArgs, campaign: &mut Campaign, folder: Option<PathBuf>) -> Result<(), Failure> {
    let plugins = loaded(args, campaign)?;
    let done = make_all(args, campaign, folder);
    plugins::tell_odd(&plugins);
    done
}

fn make_all(args: &MakeArgs, campaign: &Campaign, folder: Option<PathBuf>) -> Result<(), Failure> {
    let path = place(folder, campaign);
    let mut dataset = opened(&path, campaign, args.quiet)?;
    if args.retry {
        dataset.retry();
    }
    let is_interrupted = made_of(campaign, &mut dataset, &args.jobs, args.quiet)?;
    let tally = dataset.tally(campaign);
    show(&tally, args.campaign.json)?;
    if !args.quiet {
        say(&format!("dataset: {}", path.display()));
    }
    if is_interrupted && tally.open() > 0 {
        return Err(interrupted(&tally));
    }
    if tally.failed.is_empty() {
        return Ok(());
    }
    let failed = tally.failed.len();
    let words = "the dataset has the others; --retry makes them once more";
    Err(Failure::Failed(format!("{failed} jobs have failed; {words}")))
}

fn interrupted(tally: &Tally) -> Failure {
    Failure::Failed(format!("interrupted, {} jobs are open; run it again", tally.open()))
}

/// The dataset in `path`; prints its repairs.
fn opened(path: &Path, campaign: &Campaign, quiet: bool) -> Result<Dataset, Failure> {
    let dataset = Dataset::open(path, campaign).map_err(|e| Failure::usage(&e))?;
    if !quiet {
        dataset.mended.iter().for_each(|line| say(line));
    }
    Ok(dataset)
}

/// Makes the missing jobs; true if it was interrupted.
fn made_of(
    campaign: &Campaign,
    dataset: &mut Dataset,
    jobs: &JobsArgs,
    quiet: bool,
) -> Result<bool, Failure> {
    let display = Display::new(quiet, jobs.progress);
    let (_, open_s) = dataset.open_work(campaign);
    display.announce((open_s * 1e3) as u64);
    let made = run::run(campaign, dataset, threads(&jobs.threads), &display.watch);
    let interrupted = display.watch.cancel.load(Ordering::Relaxed);
    drop(display);
    made.map_err(|e| Failure::usage(&e))?;
    Ok(interrupted)
}

fn show(tally: &Tally, json: bool) -> Result<(), Failure> {
    let Tally { cases, jobs, done, failed, parts, bytes, cpu_s } = tally;
    if json {
        let whole = serde_json::json!({
            "cases": cases, "jobs": jobs, "done": done, "open": tally.open(), "failed": failed,
            "parts": parts, "bytes": bytes, "cpu_s": cpu_s,
        });
        return print_exact(&format!("{whole}\n"));
    }
    let mut text = format!(
        "{done} of {jobs} jobs made, {} open, {} failed; {cases} cases\n{parts} parts, {:.1} MB; \
         {cpu_s:.1} s of CPU\n",
        tally.open(),
        failed.len(),
        *bytes as f64 / 1e6
    );
    for line in failed {
        text += &format!("failed: {line}\n");
    }
    print(&text)
}

/// A campaign with the rows of its dataset.
struct Made {
    campaign: Campaign,
    dataset: Dataset,
    folder: Folder,
    columns: Vec<&'static Column<Runs>>,
}

fn made(args: &TableArgs) -> Result<Made, Failure> {
    let (file, folder) = named(&args.campaign)?;
    let campaign = load(&file)?;
    let columns = report::columns(&campaign, &args.columns)
        .map_err(|why| Failure::Usage(format!("--column: {why}")))?;
    let look = Dataset::look(&place(folder, &campaign), &campaign);
    let dataset = look.map_err(|e| Failure::usage(&e))?;
    let folder = rows(&dataset, &campaign, &columns)?;
    Ok(Made { campaign, dataset, folder, columns })
}

fn rows(
    dataset: &Dataset,
    campaign: &Campaign,
    columns: &[&'static Column<Runs>],
) -> Result<Folder, Failure> {
    let mut names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    // The report's answer needs these too.
    for name in earlier::COLUMNS {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    dataset.rows(campaign, &names).map_err(|e| Failure::usage(&e))
}

/// The rows of the dataset in the folder `path`; none if it is no dataset.
pub(crate) fn folder(
    path: &Path,
    columns: &[&'static Column<Runs>],
) -> Result<Option<Folder>, Failure> {
    let Some(file) = campaign_of(path) else { return Ok(None) };
    let campaign = load(&file)?;
    let dataset = Dataset::look(path, &campaign).map_err(|e| Failure::usage(&e))?;
    rows(&dataset, &campaign, columns).map(Some)
}

fn table(args: &TableArgs) -> Result<(), Failure> {
    let Made { mut folder, columns, .. } = made(args)?;
    let against = args.against.as_deref();
    let mut methods = args.methods.clone();
    if !methods.is_empty() {
        methods.extend(args.against.clone());
    }
    folder.keep(&methods, &args.flows).map_err(|e| Failure::usage(&e))?;
    let against_of = |why| Failure::Usage(format!("--against: {why}"));
    let found = means::means(&folder, &columns, against).map_err(against_of)?;
    if args.campaign.json {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let page = serde_json::json!({ "columns": names, "against": against, "rows": found });
        return print_exact(&format!("{page:#}\n"));
    }
    let grid = means::table(&found, &columns, against);
    let style = Style::detect();
    print(&format!("{}\n", table::terminal(&grid, style)))?;
    print(&table::notes([&grid], style))
}

fn page(args: &TableArgs) -> Result<(), Failure> {
    let Made { campaign, dataset, mut folder, columns } = made(args)?;
    folder.keep(&args.methods, &args.flows).map_err(|e| Failure::usage(&e))?;
    let file = report::write(&dataset, &campaign, &folder, &columns, args.against.as_deref())
        .map_err(|e| Failure::usage(&e))?;
    if args.campaign.json {
        return print_exact(&format!("{}\n", serde_json::json!({ "report": file })));
    }
    print(&format!("report: {}\n", file.display()))
}

/// Jobs in one block of output.
const BLOCK: usize = 10_000;

fn list(campaign: &Campaign, json: bool) -> Result<(), Failure> {
    let mut text = String::new();
    for (index, (case, seed, job)) in campaign.jobs().enumerate() {
        let scenario = &campaign.scenarios[case.scenario];
        let (name, point, method) = (&scenario.name, scenario.point(case.point), &case.method);
        // A string takes all text.
        let _ = if json {
            let line = serde_json::json!({
                "job": job.to_string(), "scenario": name, "point": point, "method": method,
                "seed": seed,
            });
            writeln!(text, "{line}")
        } else {
            writeln!(text, "{job}  {name}  {method}  {seed}  {point}")
        };
        if index % BLOCK == BLOCK - 1 {
            print_exact(&std::mem::take(&mut text))?;
        }
    }
    print_exact(&text)
}
