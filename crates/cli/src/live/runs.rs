//! The runs of a `live` command, one after the other, and their combined results.

use super::last::About;
use super::words::{brief, notes, notes_of_several, verdict, warm_up};
use super::{Beside, Files, Plan, Proxy, proxy_of, run};
use crate::args::LiveArgs;
use crate::failure::Failure;
use crate::name::{VERSION, command_line};
use crate::runs::missing as missing_runs;
use crate::terminal::say;
use justfull_lab::model::{Comparison, Group};
use justfull_lab::runner::describe;
use justfull_live::driver::LiveOptions;
use justfull_live::report::LiveReport;
use justfull_live::session::{Outcome, Session};
use justfull_net::Stop;
use justfull_report::export::ResultsFolder;
use justfull_report::export::outputs::insert;
use justfull_report::export::run::run_name;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A finished run.
pub(super) struct Done {
    /// Its index in the plan.
    at: usize,
    /// The point of the sweep for people, after a comma; empty without a sweep.
    point: String,
    outcome: Outcome,
    /// The texts of its proxy: a note, its configuration and its status.
    proxy: Option<(String, Value)>,
}

/// The outcome of all runs.
#[derive(Default)]
pub(super) struct Runs {
    /// The finished runs in the order of the plan.
    pub(super) done: Vec<Done>,
    /// Their files, whose last part may still be unwritten.
    pub(super) files: Vec<Files>,
    /// The reason why other runs are missing, if it is more than a signal.
    ended: Option<String>,
}

/// One run among the others, for programs.
#[derive(Serialize)]
struct Named<'a, T> {
    method: &'a str,
    /// Only for a sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    point: Option<&'a str>,
    seed: u64,
    #[serde(flatten)]
    value: &'a T,
}

impl Runs {
    /// Makes the runs of `plan` until a signal comes or one of several aborts. The aborted run is
    /// left out.
    ///
    /// # Errors
    /// The error of the first run.
    pub(super) fn make(
        &mut self,
        plan: &Plan,
        args: &LiveArgs,
        session: &Session,
        beside: &mut Beside,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let options = LiveOptions { read: args.pace.read, ..LiveOptions::default() };
        for (at, place) in plan.order() {
            // A single run has results even if the signal comes early: it ends as soon as it
            // begins.
            if plan.is_of_several() && stop.requested() {
                break;
            }
            let job = &plan.jobs[at];
            let chosen = plan.chosen(job)?;
            let own = |path: &PathBuf| match plan.is_of_several() {
                true => insert(path, &run_name(&plan.scenario, job)),
                false => path.clone(),
            };
            beside.pcapng = args.pcapng.as_ref().map(own);
            beside.reports = args.reports.as_ref().map(own);
            beside.proxy = proxy_of(args, &chosen)?;
            beside.last.begin(About {
                scenario: plan.scenario.name.clone(),
                method: job.method.clone(),
                point: plan.point_in_words(job),
                seed: job.seed,
                duration: chosen.config.duration,
            });
            if plan.is_of_several() && !args.output.quiet {
                let point = plan.point_in_words(job);
                say(&format!("{}{point}: {}", job.method, place.in_words()));
            }
            match run(session, &chosen, &options, args.output.quiet, beside) {
                Err(error) if self.done.is_empty() => return Err(error),
                Err(error) => self.ended = Some(error.to_string()),
                Ok((outcome, files)) => {
                    let fault = outcome.report.fault.clone();
                    if !plan.is_of_several() || !outcome.interrupted && fault.is_none() {
                        let facts = |proxy: Proxy| (proxy.note(), proxy.facts());
                        let proxy = beside.proxy.take().map(facts);
                        let point = plan.point_in_words(job);
                        self.done.push(Done { at, point, outcome, proxy });
                        self.files.push(files);
                        continue;
                    }
                    self.ended = fault;
                    // The files of a dropped run; an error of the disk does not matter.
                    let _unwanted = files.finish(false);
                }
            }
            break;
        }
        self.done.sort_by_key(|done| done.at);
        Ok(())
    }

    /// The results in the form of the simulator's, with notes for the facts of live runs.
    pub(super) fn comparison(&self, plan: &Plan, allow_late: bool) -> Result<Comparison, Failure> {
        let scenario = &plan.scenario;
        let mut whole = Comparison {
            title: format!("{}: live", scenario.base.title),
            notes: self.notes(plan, allow_late),
            scenario_toml: scenario.resolved_toml(None).map_err(|e| Failure::usage(&e))?,
            version: VERSION.into(),
            command: command_line(),
            live: true,
            ..Comparison::default()
        };
        let settings = scenario.method_settings().map_err(|e| Failure::usage(&e))?;
        let parts = scenario.parts().map_err(|e| Failure::usage(&e))?;
        whole.groups = (0..=plan.jobs.last().map_or(0, |job| job.point))
            .map(|point| Group {
                label: format!("{}: live", scenario.label(point)),
                x: scenario.x(point),
                grid: scenario.grid(point),
                runs: Vec::new(),
                settings: settings.clone(),
                parts: parts.clone(),
            })
            .collect();
        for done in &self.done {
            let result = &done.outcome.result;
            match &result.broken {
                None => whole.groups[plan.jobs[done.at].point].runs.push(result.clone()),
                Some(invariant) => {
                    let run = describe(scenario, &plan.jobs[done.at]);
                    whole.broken.push(format!("{run}, live: {invariant}"));
                }
            }
        }
        let left_out = |at: &usize| !self.done.iter().any(|done| done.at == *at);
        let missing = (0..plan.jobs.len()).filter(left_out);
        whole.missing = missing.map(|at| describe(scenario, &plan.jobs[at])).collect();
        Ok(whole)
    }

    fn notes(&self, plan: &Plan, allow_late: bool) -> Vec<String> {
        let proxied = |done: &Done| done.proxy.as_ref().map(|(note, _)| note.clone());
        let of = |done: &Done| {
            let report = &done.outcome.report;
            let mut said: Vec<String> = warm_up(&done.outcome.result).into_iter().collect();
            let all = if plan.is_of_several() { brief } else { notes };
            said.extend(all(report, allow_late));
            said.extend(proxied(done));
            said
        };
        if !plan.is_of_several() {
            return self.done.iter().flat_map(of).collect();
        }
        let all: Vec<_> = self.done.iter().map(|done| (done.in_words(), of(done))).collect();
        notes_of_several(&all)
    }

    /// Writes `live.json` for programs, which has the notes and more, and `proxy.json` if there was
    /// a proxy.
    pub(super) fn write(
        &self,
        folder: &mut ResultsFolder,
        allow_late: bool,
    ) -> Result<(), Failure> {
        /// Whether lateness is judged, and each run.
        #[derive(Serialize)]
        struct Reports<'a> {
            allow_late: bool,
            runs: Vec<Named<'a, LiveReport>>,
        }
        /// The proxy of each run.
        #[derive(Serialize)]
        struct Proxies<'a> {
            runs: Vec<Named<'a, Value>>,
        }
        let runs = self.done.iter().map(|done| named(done, &done.outcome.report)).collect();
        put(folder, "live.json", &Reports { allow_late, runs })?;
        let proxy = |done| -> Option<_> { Some(named(done, &done.proxy.as_ref()?.1)) };
        let runs: Vec<_> = self.done.iter().filter_map(proxy).collect();
        if runs.is_empty() { Ok(()) } else { put(folder, "proxy.json", &Proxies { runs }) }
    }

    /// The exit status for the ends of the runs. `awaited`: there was something to wait for, so a
    /// signal is not the intended end.
    pub(super) fn verdict(
        &self,
        missing: &[String],
        awaited: bool,
        allow_late: bool,
    ) -> Result<(), Failure> {
        if !missing.is_empty() {
            let ended = self.ended.as_deref().unwrap_or("interrupted");
            return Err(Failure::Failed(missing_runs(ended, missing)));
        }
        if let [Done { outcome, .. }] = &*self.done {
            if outcome.interrupted && awaited {
                return Err(Failure::Failed(
                    "interrupted; the results are those up to then".into(),
                ));
            }
            return verdict(outcome, allow_late);
        }
        let mut failed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for done in &self.done {
            if let Err(why) = verdict(&done.outcome, allow_late) {
                failed.entry(why.to_string()).or_default().push(done.in_words());
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        let lines = failed.iter().map(|(why, runs)| format!("{why}: {}", runs.join("; ")));
        Err(Failure::Failed(lines.collect::<Vec<_>>().join("\n  ")))
    }
}

impl Done {
    /// The run's name for people.
    fn in_words(&self) -> String {
        let result = &self.outcome.result;
        format!("{}{}, seed {}", result.method, self.point, result.seed)
    }
}

/// `value` with the name of the run `done`.
fn named<'a, T>(done: &'a Done, value: &'a T) -> Named<'a, T> {
    let result = &done.outcome.result;
    let point = done.point.strip_prefix(", ");
    Named { method: &result.method, point, seed: result.seed, value }
}

fn put(folder: &mut ResultsFolder, name: &str, what: &impl Serialize) -> Result<(), Failure> {
    let write = folder.write(name, |out| Ok(serde_json::to_writer_pretty(out, what)?));
    write.map_err(|e| Failure::usage(&e))
}
