//! `live` and `parity`.

use crate::Failure;
use crate::args::{LiveArgs, PaceArgs, ScenarioArgs, command};
use crate::compare::{self, load};
use crate::results;
use crate::terminal::{print, say};
use justfull_base::Duration;
use justfull_lab::model::{Comparison, Group};
use justfull_live::driver::LiveOptions;
use justfull_live::middle::Middle;
use justfull_live::report::{Account, LiveReport};
use justfull_live::reports::{PERIOD, ReportStream};
use justfull_live::session::{Command, Outcome, Session, Taps};
use justfull_net::clock::Priority;
use justfull_net::{Capability, Privilege, Running, Side, Stop, capabilities, privilege};
use justfull_report::export::{ResultsFolder, RunFacts};
use justfull_scenario::{Job, Scenario, Setting, Value};
use justfull_sim::WorldConfig;
use justfull_sim::results::RunResult;
use serde::Serialize;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

mod board;
mod capture;
mod last;
mod metrics;
mod parity;
#[cfg(feature = "proxy")]
mod proxy;
mod reports;
pub(crate) mod reproduce;
#[cfg(feature = "proxy")]
mod rnis;
#[cfg(not(feature = "proxy"))]
mod without_proxy;

pub(crate) use parity::parity;

use board::Terminal;
use last::Last;
#[cfg(feature = "proxy")]
use proxy::Proxy;
#[cfg(feature = "proxy")]
use rnis::Rnis;
#[cfg(not(feature = "proxy"))]
use without_proxy::{Proxy, Rnis};

/// A scenario under one method, ready to be run.
struct Chosen {
    scenario: Scenario,
    job: Job,
    config: WorldConfig,
}

/// The first method that is asked for, at the first point of a sweep, with the first seed.
fn choose(
    file: &Path,
    (args, pace): (&ScenarioArgs, &PaceArgs),
    method: Option<&String>,
    proxied: bool,
) -> Result<Chosen, Failure> {
    let mut overrides = compare::overrides(args)?;
    if let Some(time) = &pace.time {
        let time = Setting::new("duration", Value::String(time.clone()));
        overrides.set.push(time.map_err(Failure::Usage)?);
    }
    overrides.methods = method.map(|method| vec![method.clone()]);
    overrides.runs = Some(1);
    let scenario = load(file, overrides)?;
    let job = scenario.jobs().into_iter().next();
    let job = job.ok_or_else(|| Failure::Usage(format!("{}: no method", file.display())))?;
    let config = scenario.world(&job).map_err(|e| Failure::usage(&e))?;
    if let Some(control) = config.proxy.control.as_ref().filter(|_| !proxied) {
        return Err(Failure::Usage(format!(
            "{}: field `proxy.control` (method {}): found {}, allowed is nothing without a proxy, \
             which `justfull live --proxy FILE` puts between the servers and the stack",
            file.display(),
            job.method,
            control.name()
        )));
    }
    Ok(Chosen { scenario, job, config })
}

/// Says what this machine can do.
pub(crate) fn check() -> Result<(), Failure> {
    let mut text = String::new();
    let mut lacking = Vec::new();
    // First of all, as a run does: what follows is tried with the right that it finds.
    let right = match privilege() {
        Ok(Privilege::Own) => Ok("CAP_SYS_ADMIN and CAP_NET_ADMIN".to_owned()),
        Ok(Privilege::UserNamespace) => Ok("in a user namespace of its own".to_owned()),
        Err(why) => Err(why.reason),
    };
    let right = Capability { name: "right to make them", required: true, found: right };
    for capability in std::iter::once(right).chain(capabilities()) {
        let (word, what) = match &capability.found {
            Ok(found) => ("yes", found),
            Err(why) => ("no", why),
        };
        text.push_str(&format!("{:22} {word:3}  {what}\n", capability.name));
        if capability.required && capability.found.is_err() {
            lacking.push(capability.name);
        }
    }
    print(&text)?;
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!("a live run needs {}", lacking.join(", "))))
}

pub(crate) fn live(args: &LiveArgs) -> Result<(), Failure> {
    let Some(file) = args.file.as_deref().filter(|_| !args.check) else { return check() };
    let chosen =
        choose(file, (&args.scenario, &args.pace), args.method.as_ref(), args.proxy.is_some())?;
    let folder = results::open_live(&args.output, &chosen.scenario.name)?;
    let control = chosen.config.proxy.control.as_ref();
    let proxy = args.proxy.as_deref().map(|file| Proxy::of(file, control)).transpose()?;
    let side: Side = args.on.parse().map_err(|e| Failure::Usage(format!("--on: {e}")))?;
    let shell = args.shell.as_ref().map(|side| side.parse::<Side>()).transpose();
    let command = match shell.map_err(|e| Failure::Usage(format!("--shell: {e}")))? {
        Some(side) => Some((side, Command::Shell)),
        None if args.command.is_empty() => None,
        None => Some((side, Command::Program(args.command.clone()))),
    };
    let attach =
        args.attach.as_deref().and_then(|names| <[String; 2]>::try_from(names.to_vec()).ok());
    let own = command.is_none() && args.serve.is_empty() && attach.is_none();
    let session = Session {
        serve: args.serve.clone(),
        own_flows: args.flows || own,
        command,
        congestion_control: args.congestion_control.clone(),
        attach,
        receive_buffer: None,
    };
    // A process with several threads may not enter a user namespace any more.
    privilege().map_err(|e| Failure::usage(&e))?;
    // Until the results are written: what listened to a signal once is not ended in order by it
    // afterwards.
    let _stop = Stop::listen().map_err(|e| Failure::usage(&e))?;
    let last = Last::default();
    let metrics = args
        .metrics
        .as_deref()
        .map(|address| metrics::Server::start(address, last.clone()))
        .transpose()?;
    if let Some(server) = &metrics {
        say(&format!("metrics at http://{}/metrics", server.address()));
    }
    let rnis = args.rnis.as_deref().map(Rnis::start).transpose()?;
    if let Some(rnis) = &rnis {
        say(&format!("radio information at http://{}/rni/v2", rnis.address()));
    }
    if args.report_period.is_zero() {
        return Err(Failure::Usage("--report-period: found 0s, allowed is more".into()));
    }
    let mut beside = Beside {
        pcapng: args.pcapng.clone(),
        reports: args.reports.clone(),
        report_period: args.report_period,
        rnis,
        proxy,
        last,
        _metrics: metrics,
    };
    let options = LiveOptions { read: args.pace.read, ..LiveOptions::default() };
    let (outcome, files) = run(&session, &chosen, (&options, args.output.quiet), &mut beside)?;
    let mut comparison = comparison(&chosen, &outcome, args.allow_late)?;
    comparison.notes.extend(beside.proxy.as_ref().map(Proxy::note));
    // Before the table: who reads it may be slow.
    let written = folder.map_or(Ok(()), |mut folder| {
        write_report(&mut folder, &outcome.report, args.allow_late)?;
        beside.proxy.as_ref().map_or(Ok(()), |proxy| proxy.write(&mut folder))?;
        results::finish(folder, &comparison, args.output.png)
    });
    compare::show(&comparison, args.output.wide)?;
    // After all else: a pipe may take no more. A disk that fills ends the capture and not the run.
    written.and(files.finish(true))?;
    compare::unbroken(&comparison.broken)?;
    // Without anything to wait for, a signal is the end that was meant.
    if outcome.interrupted && (session.command.is_some() || session.own_flows) {
        return Err(Failure::Failed("interrupted; the results are those up to then".into()));
    }
    verdict(&outcome, args.allow_late)
}

/// Who else is told of a run.
struct Beside {
    /// File of a capture.
    pcapng: Option<PathBuf>,
    /// File of the cell's reports.
    reports: Option<PathBuf>,
    /// Serves them.
    rnis: Option<Rnis>,
    /// Their period.
    report_period: Duration,
    /// Stands between the servers and the stack.
    proxy: Option<Proxy>,
    /// What is shown of the run while it goes on.
    last: Last,
    /// Serves metrics until the results are written.
    _metrics: Option<metrics::Server>,
}

impl Beside {
    /// Nobody.
    fn alone() -> Self {
        Self {
            pcapng: None,
            reports: None,
            rnis: None,
            report_period: PERIOD,
            proxy: None,
            last: Last::default(),
            _metrics: None,
        }
    }
}

/// Files of which a part may still have to be written.
#[derive(Default)]
struct Files {
    capture: Option<capture::Writer>,
    reports: Option<reports::Writer>,
}

impl Files {
    /// Writes the rest, or lets go of what is not `wanted`.
    fn finish(self, wanted: bool) -> Result<(), Failure> {
        let reported = self.reports.map_or(Ok(()), reports::Writer::finish);
        self.capture.map_or(Ok(()), |capture| capture.finish(wanted)).and(reported)
    }
}

/// What came of the run, and the files that are written beside it.
fn run(
    session: &Session,
    chosen: &Chosen,
    (options, quiet): (&LiveOptions, bool),
    beside: &mut Beside,
) -> Result<(Outcome, Files), Failure> {
    let capture = beside.pcapng.as_deref().map(|path| {
        let toml = chosen.scenario.job_toml(&chosen.job).map_err(|e| Failure::usage(&e))?;
        capture::Writer::start(path, &RunFacts::new(&chosen.config, toml, String::new()).provenance)
    });
    let (recorder, capture) = capture.transpose()?.unzip();
    let mut files = Files { capture, reports: None };
    let mut stream = ReportStream::new(beside.report_period);
    let wants_reports = beside.proxy.as_ref().is_some_and(Proxy::wants_reports);
    let heard = beside.reports.is_some() || beside.rnis.is_some() || wants_reports;
    if let Some(path) = &beside.reports {
        files.reports = Some(reports::Writer::start(path, stream.listen())?);
    }
    if let Some(rnis) = &beside.rnis {
        rnis.hear(stream.listen())?;
    }
    if let Some(proxy) = beside.proxy.as_mut().filter(|_| wants_reports) {
        proxy.hear(stream.listen());
    }
    let shown = !quiet && std::io::stderr().is_terminal();
    let terminal = shown.then(|| Terminal::start(beside.last.clone())).flatten();
    let middle = beside.proxy.as_mut().map(|proxy| proxy as &mut dyn Middle);
    let taps = Taps { recorder, reports: heard.then_some(stream), middle };
    let outcome = session.run_tapped(&chosen.config, options, &mut beside.last.clone(), taps);
    drop(terminal);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            // What it has is of no run, whatever the disk says to it.
            let _unwanted = files.finish(false);
            return Err(Failure::usage(&error));
        }
    };
    match outcome.swept {
        0 => {}
        1 => say("removed what a killed run had left"),
        runs => say(&format!("removed what {runs} killed runs had left")),
    }
    let early = outcome.interrupted || outcome.report.fault.is_some();
    if early {
        // What the flows and the command met then follows from it.
        return Ok((outcome, files));
    }
    for flow in outcome.applications.iter().filter(|flow| flow.failed.is_some()) {
        say(&format!("flow {}: {}", flow.flow, flow.failed.as_deref().unwrap_or_default()));
    }
    if session.command.is_some() && outcome.status.is_none() {
        say("the run's time was over before the command ended: the command was ended");
    }
    Ok((outcome, files))
}

/// The result as the simulator's are shown, with what only a live run has as notes.
fn comparison(chosen: &Chosen, outcome: &Outcome, allow_late: bool) -> Result<Comparison, Failure> {
    let title = format!("{}: live", chosen.scenario.base.title);
    let group =
        Group { label: title.clone(), runs: vec![outcome.result.clone()], ..Group::default() };
    Ok(Comparison {
        title,
        notes: warm_up(&outcome.result)
            .into_iter()
            .chain(notes(&outcome.report, allow_late))
            .collect(),
        groups: vec![group],
        scenario_toml: chosen.scenario.job_toml(&chosen.job).map_err(|e| Failure::usage(&e))?,
        version: crate::VERSION.into(),
        command: command(),
        broken: outcome
            .result
            .broken
            .iter()
            .map(|invariant| format!("the live run: {invariant}"))
            .collect(),
        ..Comparison::default()
    })
}

/// What the tables leave out of the run's beginning.
fn warm_up(result: &RunResult) -> Option<String> {
    let (warmup, duration) = (result.warmup_s, result.duration_s);
    let change = "`--set warmup=0s`, or another time, changes that";
    match warmup {
        0.0 => None,
        _ if duration <= warmup + 1e-6 => Some(format!(
            "the run ended within its warm-up of {warmup} s, so that the tables are empty: \
             {change}"
        )),
        _ => Some(format!(
            "the first {warmup} s of {duration:.1} are warm-up, which the tables leave out: \
             {change}"
        )),
    }
}

/// Why a run that was on time says nothing.
const SHORT_OF_MEMORY: &str = "the kernel's TCP was short of memory (net.ipv4.tcp_mem), so that \
                               every receiver of this machine offered four segments at most";

/// Timing, accounts and congestion control in words.
fn notes(report: &LiveReport, allow_late: bool) -> Vec<String> {
    let late = &report.lateness;
    let mut notes = vec![format!(
        "woken every {} for slots, late by {:.0} us (p50), {:.0} us (p99), {:.0} us (p99.9), at \
         most {:.0} us; {} of {} slots ({:.2} %) handled after the next wake-up was due: {}",
        late.period,
        late.p50_us,
        late.p99_us,
        late.p999_us,
        late.max_us,
        late.missed,
        late.slots,
        100.0 * late.missed_share(),
        match (late.late, allow_late) {
            (false, _) => "on time",
            (true, false) => "LATE",
            (true, true) => "LATE, which --allow-late takes",
        }
    )];
    if let Priority::Normal(why) = &report.priority {
        notes.push(format!(
            "without real-time priority, so that any other load delays wake-ups, by milliseconds: \
             {why}"
        ));
    }
    if report.tcp_was_short {
        notes.push(SHORT_OF_MEMORY.into());
    }
    if report.outages.count > 0 {
        let (count, time) = (report.outages.count, report.outages.time);
        notes.push(format!(
            "an attached interface was down {count} times, for {time} in all, and waited for"
        ));
    }
    for (line, status) in &report.ended_servers {
        notes.push(format!("the server `{line}` ended before the run, with status {status}"));
    }
    if report.stops > 0 {
        notes.push(format!(
            "held up {} times for {} in all, taken out of the run",
            report.stops, report.stopped
        ));
    }
    notes.push(format!("down: {}; up: {}", in_words(&report.down), in_words(&report.up)));
    let (used, buffers) = (report.buffers_used, report.buffers);
    notes.push(format!("{}; {used} of {buffers} packet buffers used", flows_in_words(report)));
    let controls: Vec<String> = report
        .congestion_control
        .iter()
        .take(4)
        .map(|(side, name)| format!("{side} {name}"))
        .collect();
    if !controls.is_empty() {
        notes.push(format!("congestion control of the kernel by route: {}", controls.join(", ")));
    }
    if let Some(capture) = report.capture.filter(|capture| capture.lost > 0) {
        let (frames, lost) = (capture.frames, capture.lost);
        notes.push(format!("the capture has {frames} frames; {lost} more found its buffer full"));
    }
    if let Some(fault) = &report.fault {
        notes.push(format!("ended before its time: {fault}"));
    }
    notes
}

/// The flows that appeared, and what became of them in the table of flows.
fn flows_in_words(report: &LiveReport) -> String {
    let mut flows = format!("{} flows", report.flows);
    if report.aged_flows > 0 {
        flows += &format!(
            ", of which {} were aged out of the full table of flows: a flow that came again after \
             that is counted twice",
            report.aged_flows
        );
    }
    if report.shared_packets > 0 {
        flows += &format!(", and {} packets had to share a flow", report.shared_packets);
    }
    flows
}

/// The account of one way.
fn in_words(account: &Account) -> String {
    let lost = [
        (account.malformed_total(), "malformed"),
        (account.no_ue, "for no UE"),
        (account.no_buffer, "without a buffer"),
        (account.dropped, "dropped"),
        (account.refused, "refused by the interface"),
        (account.queued, "queued at the end"),
    ];
    let lost: String =
        lost.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}")).collect();
    format!("{} packets came, {} delivered{lost}", account.received, account.delivered)
}

/// Writes `live.json`: what [`notes`] says, for programs.
fn write_report(
    folder: &mut ResultsFolder,
    report: &LiveReport,
    allow_late: bool,
) -> Result<(), Failure> {
    /// The report, and whether its lateness was to matter.
    #[derive(Serialize)]
    struct Told<'a> {
        allow_late: bool,
        #[serde(flatten)]
        report: &'a LiveReport,
    }
    let told = Told { allow_late, report };
    let write = folder.write("live.json", |out| Ok(serde_json::to_writer_pretty(out, &told)?));
    write.map_err(|e| Failure::usage(&e))
}

/// What the run's end means for the exit status.
fn verdict(outcome: &Outcome, allow_late: bool) -> Result<(), Failure> {
    if let Some(fault) = &outcome.report.fault {
        return Err(Failure::Failed(fault.clone()));
    }
    if let Some(status) = outcome.status.filter(|status| !status.success()) {
        return Err(Failure::Failed(format!(
            "the command ended with status {}",
            Running::exit_code(status)
        )));
    }
    if outcome.report.late() && !allow_late {
        let what = if outcome.report.tcp_was_short { SHORT_OF_MEMORY } else { "the run is late" };
        return Err(Failure::Failed(format!(
            "{what}: its delays are this machine's, not the scenario's alone; --allow-late takes it"
        )));
    }
    Ok(())
}
