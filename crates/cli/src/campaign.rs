//! `campaign`.

use crate::Failure;
use crate::args::{CampaignArgs, CampaignCommand};
use crate::compare::{data_dir, threads};
use crate::progress::Display;
use crate::terminal::{print, print_exact, say};
use justfull_campaign::{Campaign, Dataset, Tally, run};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

pub(crate) fn campaign(command: &CampaignCommand) -> Result<(), Failure> {
    match command {
        CampaignCommand::Run(args) => make(args),
        CampaignCommand::Status(args) => {
            let campaign = load(args)?;
            let dataset = Dataset::look(&place(args, &campaign)).map_err(|e| Failure::usage(&e))?;
            tell(&dataset.tally(&campaign), args.json)
        }
        CampaignCommand::List(args) => list(&load(args)?, args.json),
    }
}

fn load(args: &CampaignArgs) -> Result<Campaign, Failure> {
    Campaign::load(&args.file, data_dir()).map_err(|e| Failure::usage(&e))
}

/// The folder of the dataset.
fn place(args: &CampaignArgs, campaign: &Campaign) -> PathBuf {
    args.out.clone().unwrap_or_else(|| Path::new("results/campaign").join(&campaign.name))
}

fn make(args: &CampaignArgs) -> Result<(), Failure> {
    let campaign = load(args)?;
    let path = place(args, &campaign);
    let mut dataset = Dataset::open(&path).map_err(|e| Failure::usage(&e))?;
    if !args.quiet {
        dataset.mended.iter().for_each(|line| say(line));
    }
    let display = Display::new(args.quiet, args.jobs.progress);
    let open: f64 = campaign
        .cases
        .iter()
        .map(|case| {
            let open = dataset.open_jobs(&campaign, case) as f64;
            open * campaign.scenarios[case.scenario].base.duration.as_secs_f64()
        })
        .sum();
    display.announce((open * 1e3) as u64);
    let made = run::run(&campaign, &mut dataset, threads(&args.jobs.threads), &display.watch);
    let interrupted = display.watch.cancel.load(Ordering::Relaxed);
    drop(display);
    let tally = made.map_err(|e| Failure::usage(&e))?;
    tell(&tally, args.json)?;
    if !args.quiet {
        say(&format!("dataset: {}", path.display()));
    }
    if interrupted && tally.open() > 0 {
        let open = tally.open();
        return Err(Failure::Failed(format!("interrupted, {open} jobs are open; run it again")));
    }
    if tally.failed.is_empty() {
        return Ok(());
    }
    let failed = tally.failed.len();
    Err(Failure::Failed(format!("{failed} jobs have failed; the dataset has the others")))
}

fn tell(tally: &Tally, json: bool) -> Result<(), Failure> {
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

/// Jobs in a block of output.
const BLOCK: usize = 10_000;

fn list(campaign: &Campaign, json: bool) -> Result<(), Failure> {
    let mut text = String::new();
    for (index, (case, seed, job)) in campaign.jobs().enumerate() {
        let scenario = &campaign.scenarios[case.scenario];
        let (name, point, method) = (&scenario.name, scenario.point(case.point), &case.method);
        // Text takes everything.
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
