//! `live` and `parity`.

use crate::args::LiveArgs;
use crate::failure::Failure;
use crate::period::check_period;
use crate::plugins::Plugins;
use crate::results;
use crate::runs::{announce, show, unbroken};
use crate::service::checked;
use crate::terminal::{print_exact, say};
use justfull_base::Duration;
use justfull_lab::model::Comparison;
use justfull_live::driver::LiveOptions;
use justfull_live::middle::Middle;
use justfull_live::reports::{PERIOD, ReportStream};
use justfull_live::session::{Command, Outcome, Session, Taps};
use justfull_net::{Capability, Privilege, Side, Stop, capabilities, privilege};
use justfull_report::export::RunFacts;
use justfull_report::export::answer::answer;
use justfull_run::reported::{cell_names, secondaries};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

mod board;
mod capture;
mod change;
mod dials;
mod last;
mod metrics;
mod parity;
mod plan;
#[cfg(feature = "proxy")]
mod proxy;
mod reports;
pub(crate) mod reproduce;
#[cfg(feature = "proxy")]
mod rnis;
mod runs;
#[cfg(not(feature = "proxy"))]
mod without_proxy;
mod words;

pub(crate) use parity::parity;

use board::Terminal;
use last::Last;
use plan::{Chosen, Plan};
#[cfg(feature = "proxy")]
use proxy::Proxy;
#[cfg(feature = "proxy")]
use rnis::Rnis;
use runs::Runs;
#[cfg(not(feature = "proxy"))]
use without_proxy::{Proxy, Rnis};

/// Prints the abilities of this machine.
pub(crate) fn check(json: bool) -> Result<(), Failure> {
    // First of all, as in a run: the following checks use the right that is found here.
    let right = match privilege() {
        Ok(Privilege::Own) => Ok("CAP_SYS_ADMIN and CAP_NET_ADMIN".to_owned()),
        Ok(Privilege::UserNamespace) => Ok("in a user namespace of its own".to_owned()),
        Err(why) => Err(why.reason),
    };
    let right = Capability { name: "right to make them", required: true, found: right };
    let tried: Vec<Capability> = std::iter::once(right).chain(capabilities()).collect();
    checked("justfull live", &tried, json)
}

pub(crate) fn live(args: &LiveArgs) -> Result<(), Failure> {
    let Some(file) = args.file.as_deref().filter(|_| !args.check) else { return check(args.json) };
    let (scenario, grid) = (&args.scenario, &args.grid);
    let plugins = Plugins::load(&args.plugins)?;
    let plan = Plan::of(file, scenario, grid, &args.methods, args.runs, &plugins)?;
    plan.check(args.proxy.is_some())?;
    let folder = results::open_live(&args.output, &plan.scenario.name)?;
    let alone = args.rnis.is_some() || args.proxy.is_some();
    let reports = args.reports.is_some() || alone;
    for chosen in plan.firsts() {
        let chosen = chosen?;
        if reports {
            plan.check_reported(&chosen, alone)?;
            check_period(args.report_period, chosen.config.duration)?;
        }
        proxy_of(args, &chosen)?;
    }
    let session = session(args)?;
    if plan.is_of_several() {
        one_file_for_each(args)?;
    }
    // A process with several threads can no longer enter a user namespace.
    privilege().map_err(|e| Failure::usage(&e))?;
    // Until the results are written: a process that has listened to a signal once is not ended by
    // it afterwards.
    let stop = Stop::listen().map_err(|e| Failure::usage(&e))?;
    let last = Last::default();
    let metrics = args
        .metrics
        .as_deref()
        .map(|address| metrics::Server::start(address, last.clone()))
        .transpose()?;
    if let Some(server) = &metrics {
        let at = server.address();
        let page = format!("; justfull ui --watch {at}");
        let page = if cfg!(feature = "ui") { page.as_str() } else { "" };
        say(&format!("metrics at http://{at}/metrics{page}"));
    }
    let rnis = args.rnis.as_deref().map(|at| Rnis::start(at, &args.allow_callbacks)).transpose()?;
    if let Some(rnis) = &rnis {
        say(&format!("radio information at http://{}/rni/v2", rnis.address()));
    }
    let mut beside = Beside {
        report_period: args.report_period,
        rnis,
        tui: args.tui,
        last,
        _metrics: metrics,
        ..Beside::alone()
    };
    let mut runs = Runs::default();
    runs.make(&plan, args, &session, &mut beside, &stop)?;
    let comparison = runs.comparison(&plan, args.allow_late)?;
    // An interruption before the end of the first of several runs leaves no results.
    let folder = folder.filter(|_| !runs.done.is_empty());
    let place = folder.as_ref().map(|folder| folder.path().to_path_buf());
    // Before the table, whose reader may be slow.
    let written = folder.map_or(Ok(()), |mut folder| {
        runs.write(&mut folder, args.allow_late)?;
        results::finish(folder, &comparison, &args.output)
    });
    plugins.tell_odd();
    tell(args, &comparison, place.as_deref())?;
    // Last: a pipe may be full. A full disk ends the capture, not the run.
    let files = runs.files.drain(..).map(|files| files.finish(true)).fold(Ok(()), Result::and);
    written.and(files)?;
    unbroken(&comparison.broken)?;
    // If there is nothing to wait for, a signal is the intended end.
    let awaited = session.command.is_some() || session.own_flows;
    runs.verdict(&comparison.missing, awaited, args.allow_late)
}

/// Prints the results.
fn tell(args: &LiveArgs, comparison: &Comparison, place: Option<&Path>) -> Result<(), Failure> {
    if args.json {
        return print_exact(&answer(comparison, place));
    }
    announce(&comparison.notes)?;
    show(comparison, args.output.wide)
}

/// The session beside the stack, new in each run.
fn session(args: &LiveArgs) -> Result<Session, Failure> {
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
    Ok(Session {
        serve: args.serve.clone(),
        own_flows: args.flows || own,
        command,
        congestion_control: args.congestion_control.clone(),
        attach,
        receive_buffer: None,
        single: args.single,
        acknowledge_each: false,
    })
}

/// The proxy of a run of `chosen`, if there is one.
fn proxy_of(args: &LiveArgs, chosen: &Chosen<'_>) -> Result<Option<Proxy>, Failure> {
    let control = chosen.config.proxy.control.as_ref();
    args.proxy.as_deref().map(|file| Proxy::of(file, control)).transpose()
}

/// The proxy of the control that the method of `chosen` names; none if it names no control.
fn proxy_of_method(chosen: &Chosen<'_>) -> Result<Option<Proxy>, String> {
    let control = chosen.config.proxy.control.as_ref();
    control.map(|control| Proxy::of_text(String::new(), Some(control))).transpose()
}

/// Several runs have one file each, with the run's name in it; a pipe has only one reader.
fn one_file_for_each(args: &LiveArgs) -> Result<(), Failure> {
    for (option, path) in [("--pcapng", &args.pcapng), ("--reports", &args.reports)] {
        let Some(path) = path else { continue };
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Failure::Usage(format!(
                "{option} {}: found what is no file; allowed with several runs is a file: each \
                 run's name is put into its name",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Observers of a run and programs beside it.
struct Beside {
    /// File of a capture.
    pcapng: Option<PathBuf>,
    /// File of the cells' reports.
    reports: Option<PathBuf>,
    /// The service for the reports.
    rnis: Option<Rnis>,
    /// Period of the reports.
    report_period: Duration,
    /// The proxy between the servers and the stack.
    proxy: Option<Proxy>,
    /// The run is painted on a terminal.
    tui: bool,
    /// The latest view of the run.
    last: Last,
    /// Serves metrics until the results are written.
    _metrics: Option<metrics::Server>,
}

impl Beside {
    /// A run without any of them.
    fn alone() -> Self {
        Self {
            pcapng: None,
            reports: None,
            rnis: None,
            report_period: PERIOD,
            proxy: None,
            tui: false,
            last: Last::default(),
            _metrics: None,
        }
    }
}

/// Files whose last part may still be unwritten.
#[derive(Default)]
struct Files {
    capture: Option<capture::Writer>,
    reports: Option<reports::Writer>,
}

impl Files {
    /// Writes the rest, or discards the files unless `wanted`.
    fn finish(self, wanted: bool) -> Result<(), Failure> {
        let reported = self.reports.map_or(Ok(()), reports::Writer::finish);
        self.capture.map_or(Ok(()), |capture| capture.finish(wanted)).and(reported)
    }
}

/// The outcome of the run, and the files written beside it.
fn run(
    session: &Session,
    chosen: &Chosen<'_>,
    options: &LiveOptions,
    quiet: bool,
    beside: &mut Beside,
) -> Result<(Outcome, Files), Failure> {
    let capture = beside.pcapng.as_deref().map(|path| {
        let toml = chosen.scenario.job_toml(&chosen.job).map_err(|e| Failure::usage(&e))?;
        capture::Writer::start(path, &RunFacts::new(&chosen.config, toml, String::new()).provenance)
    });
    let (recorder, capture) = capture.transpose()?.unzip();
    let mut files = Files { capture, reports: None };
    // A run with reports has checked the names; a run without reports needs none.
    let names = cell_names(&chosen.config).unwrap_or_default();
    let mut stream =
        ReportStream::new(beside.report_period).of_cells(names, secondaries(&chosen.config));
    let wants_reports = beside.proxy.as_ref().is_some_and(Proxy::wants_reports);
    let streams = beside.reports.is_some() || beside.rnis.is_some() || wants_reports;
    if let Some(path) = &beside.reports {
        files.reports = Some(reports::Writer::start(path, stream.listen())?);
    }
    if let Some(rnis) = &beside.rnis {
        rnis.take_reports(stream.listen())?;
    }
    if let Some(proxy) = beside.proxy.as_mut().filter(|_| wants_reports) {
        proxy.take_reports(stream.listen());
    }
    let shown = beside.tui || !quiet && std::io::stderr().is_terminal();
    let terminal = shown.then(|| Terminal::start(beside.last.clone(), beside.tui)).flatten();
    let middle = beside.proxy.as_mut().map(|proxy| proxy as &mut dyn Middle);
    let taps = Taps { recorder, reports: streams.then_some(stream), middle };
    let outcome = session.run_tapped(&chosen.config, options, &mut beside.last.clone(), taps);
    drop(terminal);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            // The files belong to no run, so errors of the disk do not matter.
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
        // The failures of the flows and of the command follow from this one.
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
