//! `live` and `parity`.

use crate::Failure;
use crate::args::{LiveArgs, PaceArgs, ParityArgs, ScenarioArgs, command};
use crate::compare::{self, load};
use crate::results;
use crate::terminal::{print, print_exact, say};
use justfull_base::{Duration, Instant};
use justfull_lab::model::{Comparison, Group};
use justfull_lab::parity::{self, Parity};
use justfull_live::driver::LiveOptions;
use justfull_live::lateness::Limit;
use justfull_live::report::{Account, LiveReport};
use justfull_live::reports::ReportStream;
use justfull_live::session::{Command, Outcome, Session, Taps};
use justfull_net::clock::Priority;
use justfull_net::{Capability, Privilege, Running, Side, Stop, capabilities, privilege};
use justfull_report::export::{ResultsFolder, RunFacts};
use justfull_report::table;
use justfull_scenario::{Job, Scenario, Setting, Value};
use justfull_sim::results::RunResult;
use justfull_sim::{Progress, World, WorldConfig};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

mod board;
mod capture;
mod last;
mod metrics;
mod reports;

use board::Terminal;
use last::Last;

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
    if let Some(control) = &config.proxy.control {
        return Err(Failure::Usage(format!(
            "{}: field `proxy.control` (method {}): found {}, allowed is nothing live: the proxy is \
             simulated only, and `live --proxy` is not there yet",
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
    let chosen = choose(file, (&args.scenario, &args.pace), args.method.as_ref())?;
    let folder = results::open_live(&args.output, &chosen.scenario.name)?;
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
    if args.report_period.is_zero() {
        return Err(Failure::Usage("--report-period: found 0s, allowed is more".into()));
    }
    let reports = args.reports.clone().map(|path| (path, args.report_period));
    let beside = Beside { pcapng: args.pcapng.clone(), reports, last, _metrics: metrics };
    let options = LiveOptions { read: args.pace.read, ..LiveOptions::default() };
    let (outcome, files) = run(&session, &chosen, (&options, args.output.quiet), &beside)?;
    let comparison = comparison(&chosen, &outcome, args.allow_late)?;
    // Before the table: who reads it may be slow.
    let written = folder.map_or(Ok(()), |mut folder| {
        write_report(&mut folder, &outcome.report, args.allow_late)?;
        results::finish(folder, &comparison, args.output.png)
    });
    compare::show(&comparison, args.output.wide)?;
    // After all else: a pipe may take no more. A disk that fills ends the capture and not the run.
    written.and(files.finish(true))?;
    compare::unbroken(&comparison)?;
    // Without anything to wait for, a signal is the end that was meant.
    if outcome.interrupted && (session.command.is_some() || session.own_flows) {
        return Err(Failure::Failed("interrupted; the results are those up to then".into()));
    }
    verdict(&outcome, args.allow_late)
}

/// Who else is told of a run.
#[derive(Default)]
struct Beside {
    /// File of a capture.
    pcapng: Option<PathBuf>,
    /// File of the cell's reports, and their period.
    reports: Option<(PathBuf, Duration)>,
    /// What is shown of the run while it goes on.
    last: Last,
    /// Serves metrics until the results are written.
    _metrics: Option<metrics::Server>,
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
    beside: &Beside,
) -> Result<(Outcome, Files), Failure> {
    let capture = beside.pcapng.as_deref().map(|path| {
        let toml = chosen.scenario.job_toml(&chosen.job).map_err(|e| Failure::usage(&e))?;
        capture::Writer::start(path, &RunFacts::new(&chosen.config, toml, String::new()).provenance)
    });
    let (recorder, capture) = capture.transpose()?.unzip();
    let (mut taps, mut files) =
        (Taps { recorder, reports: None }, Files { capture, reports: None });
    if let Some((path, period)) = &beside.reports {
        let mut stream = ReportStream::new(*period);
        files.reports = Some(reports::Writer::start(path, stream.listen())?);
        taps.reports = Some(stream);
    }
    let shown = !quiet && std::io::stderr().is_terminal();
    let terminal = shown.then(|| Terminal::start(beside.last.clone())).flatten();
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
    let group = Group { label: title.clone(), x: None, runs: vec![outcome.result.clone()] };
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
        match (report.late(), allow_late) {
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
        let why = "the run is late: its delays are this machine's, not the scenario's alone; \
                   --allow-late takes it";
        return Err(Failure::Failed(why.into()));
    }
    Ok(())
}

pub(crate) fn parity(args: &ParityArgs) -> Result<(), Failure> {
    let methods: Vec<Option<&String>> =
        if args.method.is_empty() { vec![None] } else { args.method.iter().map(Some).collect() };
    privilege().map_err(|e| Failure::usage(&e))?;
    // Over all runs and what lies between them: what listened to a signal once is not ended by it
    // afterwards.
    let stop = Stop::listen().map_err(|e| Failure::usage(&e))?;
    let (mut missed, mut rows, mut too_short) = (0, 0, 0);
    let mut failed = None;
    for method in methods {
        let chosen = choose(&args.file, (&args.scenario, &args.pace), method)?;
        let (parity, outcome) = compared(&chosen, args, &stop)?;
        if args.json {
            print_exact(&json_line(&chosen, &parity, (&outcome, args.allow_late))?)?;
        } else {
            print(&page(&chosen, &parity, (&outcome, args.allow_late)))?;
        }
        match judged(&outcome, args.allow_late) {
            Ok(()) => {
                missed += parity.missed();
                rows += parity.rows.len();
                too_short += parity.too_short();
            }
            // Such a run is not judged: what it misses is not the method's.
            Err(why) => failed = failed.or(Some(why)),
        }
    }
    if missed > 0 {
        return Err(Failure::Failed(format!(
            "{missed} of {rows} comparisons are outside their bands"
        )));
    }
    if rows > 0 && too_short == rows {
        failed =
            failed.or_else(|| Some(Failure::Failed("too short: nothing could be compared".into())));
    }
    failed.map_or(Ok(()), Err)
}

/// Whether the live run may be compared.
fn judged(outcome: &Outcome, allow_late: bool) -> Result<(), Failure> {
    if is_judged(outcome, allow_late) {
        return verdict(outcome, allow_late);
    }
    let Limit { missed, p99 } = Limit::COMPARABLE;
    Err(Failure::Failed(format!(
        "not judged: {} % of the live run's slots were late, or 1 % of its wake-ups by {p99} of \
         their period, so that its delays are this machine's too; --allow-late judges it",
        100.0 * missed
    )))
}

fn is_judged(outcome: &Outcome, allow_late: bool) -> bool {
    comparable(outcome) || allow_late
}

fn comparable(outcome: &Outcome) -> bool {
    !outcome.report.given_up && outcome.report.lateness.is_within(Limit::COMPARABLE)
}

/// Before a live run is repeated: a machine that was late is so for a while.
const PAUSE: Duration = Duration::from_secs(5);

/// Waits for [`PAUSE`], or for `stop`.
fn pause(stop: &Stop) {
    let step = Duration::from_millis(20);
    for _ in 0..PAUSE.as_nanos() / step.as_nanos() {
        if stop.requested() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_nanos(step.as_nanos()));
    }
}

/// A simulated run goes on until it is asked to end.
struct Until<'a>(&'a Stop);

impl Progress for Until<'_> {
    fn advanced(&mut self, _now: Instant) -> bool {
        !self.0.requested()
    }
}

/// Both runs of one method; the live one is repeated while it cannot be compared. But for the last,
/// a run is given up once that is settled: all together take no longer than as many whole ones as
/// there may be tries.
fn compared(chosen: &Chosen, args: &ParityArgs, stop: &Stop) -> Result<(Parity, Outcome), Failure> {
    let ended = || Failure::Failed("ended by a signal".into());
    let world = World::new(&chosen.config).map_err(|e| Failure::usage(&e))?;
    let simulated = world.run(&mut Until(stop)).ok_or_else(ended)?;
    let session = Session { own_flows: true, ..Session::default() };
    let whole = chosen.config.duration;
    let mut left = whole.times(u64::from(args.tries));
    let outcome = loop {
        let more = !args.allow_late && left >= whole.times(2);
        let options = LiveOptions {
            read: args.pace.read,
            give_up: more.then_some(Limit::COMPARABLE),
            ..LiveOptions::default()
        };
        let (outcome, _) = run(&session, chosen, (&options, args.quiet), &Beside::default())?;
        if !more || comparable(&outcome) || outcome.interrupted || outcome.report.fault.is_some() {
            break outcome;
        }
        let took = chosen.config.stack.mac.slot.period.times(outcome.report.lateness.slots);
        left = left.saturating_sub(took + PAUSE);
        say(&format!("{}: late after {took}; once more in {PAUSE}", chosen.job.method));
        pause(stop);
        if stop.requested() {
            return Err(ended());
        }
    };
    if outcome.interrupted {
        return Err(ended());
    }
    for (which, run) in [("the simulated run", &simulated), ("the live run", &outcome.result)] {
        if let Some(invariant) = &run.broken {
            return Err(Failure::Failed(format!("{}, {which}: {invariant}", chosen.job.method)));
        }
    }
    let window =
        Duration::from_nanos(chosen.config.duration.as_nanos() - chosen.config.warmup.as_nanos());
    let mut parity = Parity::of(&simulated, &outcome.result, window);
    if let Some(time) = args.explain {
        parity.explain((&simulated, &outcome.result), time);
    }
    Ok((parity, outcome))
}

fn page(chosen: &Chosen, parity: &Parity, (outcome, allow_late): (&Outcome, bool)) -> String {
    let mut text = String::new();
    for note in notes(&outcome.report, allow_late) {
        text.push_str(&format!("note: {note}\n"));
    }
    let (grid, style) = (table::parity(parity), table::Style::detect());
    let (duration, warmup) = (chosen.config.duration, chosen.config.warmup);
    if warmup > Duration::ZERO {
        text.push_str(&format!(
            "note: of {duration} the first {warmup} are warm-up and not compared\n"
        ));
    }
    if parity.too_short() > 0 {
        let (time, packets) = (parity::LEAST_TIME, parity::LEAST_PACKETS);
        text.push_str(&format!(
            "note: too short to compare all: that takes {time} after the warm-up and {packets} \
             delays of a flow (--time)\n"
        ));
    }
    let judged = if is_judged(outcome, allow_late) { "" } else { ", not judged" };
    let (drawn, notes) = (table::terminal(&grid, style), table::notes([&grid], style));
    text.push_str(&format!(
        "\n{}: simulated and live{judged}\n{drawn}\n{notes}",
        chosen.job.method
    ));
    text
}

fn json_line(
    chosen: &Chosen,
    parity: &Parity,
    (outcome, allow_late): (&Outcome, bool),
) -> Result<String, Failure> {
    let line = serde_json::json!({
        "scenario": chosen.scenario.name,
        "method": chosen.job.method,
        "rows": parity.rows,
        "missed": parity.missed(),
        "too_short": parity.too_short(),
        "late": outcome.report.late(),
        "judged": is_judged(outcome, allow_late),
        "allow_late": allow_late,
        "live": outcome.report,
    });
    let text = serde_json::to_string(&line).map_err(|e| Failure::Failed(e.to_string()))?;
    Ok(format!("{text}\n"))
}
