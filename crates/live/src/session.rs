//! A live run, from building the network to removing it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use justfull_run::WorldConfig;
use justfull_run::reported::cell_names;
use justfull_run::results::RunResult;

use crate::applications::{ApplicationReport, Applications, RttSample, flow_ends, kernel_name};
use crate::capture::Recorder;
use crate::driver::{Ends, Live, LiveOptions, UePort, Watch};
use crate::middle::{self, LegSample, Middle};
use crate::report::LiveReport;
use crate::reports::ReportStream;
use justfull_net::clock::{PRIORITY, SlotClock, raise_priority};
use justfull_net::{
    Attachment, Host, Network, NetworkConfig, Running, Side, Stop, Tun, UeNetwork, attach,
    privilege, sweep, tcp_is_short,
};
use justfull_net::{Port, SystemError};

/// Time between two checks of the command.
const LOOK: Duration = Duration::from_millis(20);
/// The kernel's memory of TCP is checked once in so many of these.
const LOOKS_AT_MEMORY: u32 = 8;

/// Programs and flows beside the stack.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Commands for a shell on the servers' side, started first.
    pub serve: Vec<OsString>,
    /// The command to run, and where. The run ends with it.
    pub command: Option<(Side, Command)>,
    /// True to send the scenario's own flows too.
    pub own_flows: bool,
    /// Congestion control of the kernel's TCP senders on the servers' side and on the UEs'. None:
    /// the control of the UE's first flow in the scenario, if it has one.
    pub congestion_control: Option<String>,
    /// Two existing Ethernet interfaces of this namespace, the servers' and the UEs', instead of a
    /// network of its own; a command then runs in this namespace too. With several UEs each has the
    /// addresses of [`Side::addresses`]; the first gets the packets to all other addresses, so a
    /// sole UE gets all.
    pub attach: Option<[String; 2]>,
    /// Most bytes to which a receive buffer of the kernel's TCP grows by itself; None: the kernel's
    /// default.
    pub receive_buffer: Option<u32>,
    /// The kernel exchanges single datagrams with this process, never packets of many segments.
    pub single: bool,
    /// The kernel's receivers acknowledge each segment behind a hole at once, as simulated ones do.
    pub acknowledge_each: bool,
}

/// Additional observers of a run.
#[derive(Default)]
pub struct Taps<'a> {
    /// Records every packet.
    pub recorder: Option<Recorder>,
    /// Distributes the cell's reports about its UEs.
    pub reports: Option<ReportStream>,
    /// A program between the servers and the stack, with the core's delay on the servers' side.
    /// Only in a network of its own.
    pub middle: Option<&'a mut (dyn Middle + 'a)>,
}

/// Connects `recorder` and `reports` to `live`.
fn tapped<P: Port>(
    mut live: Live<P>,
    recorder: Option<Recorder>,
    reports: Option<ReportStream>,
) -> Live<P> {
    if let Some(recorder) = recorder {
        live = live.recorded(recorder);
    }
    match reports {
        Some(reports) => live.reporting(reports),
        None => live,
    }
}

/// A command inside a namespace.
#[derive(Clone, Debug)]
pub enum Command {
    /// A program and its arguments.
    Program(Vec<OsString>),
    /// An interactive shell.
    Shell,
}

/// The outcome of a session.
#[derive(Debug)]
pub struct Outcome {
    /// The same as for a simulated run.
    pub result: RunResult,
    /// Timing and accounts.
    pub report: LiveReport,
    /// Exit status of the command; none without one, or if the run ended first.
    pub status: Option<ExitStatus>,
    /// True if a signal ended the run.
    pub interrupted: bool,
    /// The reports of the scenario's own flows.
    pub applications: Vec<ApplicationReport>,
    /// Runs of killed processes that were removed first.
    pub swept: usize,
}

impl Session {
    /// Runs `config` live until its command has ended, its time is over or a signal arrives.
    /// Everything created is removed.
    ///
    /// # Errors
    /// A missing part of this machine, a command that cannot be started, a scenario whose flows
    /// cannot be sent.
    ///
    /// # Panics
    /// If packets are not accounted for.
    pub fn run<W: Watch + Send>(
        &self,
        config: &WorldConfig,
        options: &LiveOptions,
        watch: &mut W,
    ) -> Result<Outcome, SystemError> {
        self.run_tapped(config, options, watch, Taps::default())
    }

    /// Like [`Session::run`], with `taps` on it.
    ///
    /// # Errors
    /// As for [`Session::run`].
    ///
    /// # Panics
    /// If packets are not accounted for.
    pub fn run_tapped<W: Watch + Send>(
        &self,
        config: &WorldConfig,
        options: &LiveOptions,
        watch: &mut W,
        taps: Taps<'_>,
    ) -> Result<Outcome, SystemError> {
        if taps.reports.is_some() || taps.middle.is_some() {
            cell_names(config).map_err(|e| SystemError::new("start a live run", e.to_string()))?;
        }
        if let Some(links) = &self.attach {
            return self.attached(links, config, options, watch, taps);
        }
        if self.own_flows {
            Applications::check(&config.flows)?;
        }
        // With one thread, as a user namespace requires.
        privilege()?;
        let swept = sweep()?.runs;
        let stop = Stop::listen()?;
        let networks = self.networks(config);
        let congestion_control = congestion_controls(&networks);
        let Taps { recorder, reports, mut middle } = taps;
        let (mtu, proxy) = (config.stack.mtu, middle.is_some());
        let settings = NetworkConfig {
            ues: networks,
            mtu,
            proxy,
            joined: !self.single,
            receive_buffer: self.receive_buffer,
            acknowledge_each: self.acknowledge_each,
            ..NetworkConfig::new(0)
        };
        let mut network = Network::build(&settings)?;
        // Owned here and lent to the driver: the programs beside it must end before its interface
        // goes.
        let mut devices = devices(&mut network)?;
        let mut proxy = network.take_proxy_tuns();
        if let Some(middle) = &mut middle {
            middle.start(&network)?;
        }
        let live = match &mut proxy {
            None => Live::new(config, options, ends(&mut devices))?,
            Some([core, ran]) => {
                let (servers, ues) = devices.split_at_mut(1);
                let live = Live::new(config, options, Ends { ues: ue_ports(ues), server: ran })?;
                live.behind_proxy(config, &mut servers[0], core)?
            }
        };
        let live = tapped(live, recorder, reports);
        let ((mut result, mut report), beside) = drive(live, watch, |begin, course| {
            self.beside(config, &network, middle.as_deref_mut(), begin, &stop, course)
        })?;
        let Beside { status, applications, ended_servers, failed } = beside;
        (report.congestion_control, report.ended_servers) = (congestion_control, ended_servers);
        report.fault = report.fault.or(failed);
        let legs = middle.map_or_else(Vec::new, |middle| named(middle.legs(), config));
        middle::fill(&mut result, &applications, &legs);
        Ok(Outcome { result, report, status, interrupted: stop.requested(), applications, swept })
    }

    /// A run between two existing interfaces.
    fn attached<W: Watch + Send>(
        &self,
        links: &[String; 2],
        config: &WorldConfig,
        options: &LiveOptions,
        watch: &mut W,
        taps: Taps<'_>,
    ) -> Result<Outcome, SystemError> {
        let [servers, ues] = links;
        let refuse =
            |what: &str| Err(SystemError::new(format!("attach to {servers} and {ues}"), what));
        let own = self.own_flows || !self.serve.is_empty() || self.congestion_control.is_some();
        if own || taps.middle.is_some() {
            return refuse("flows, servers, routes and a proxy are for a network of its own");
        }
        let argv = match &self.command {
            None => None,
            Some((_, Command::Program(argv))) => Some(argv),
            Some((_, Command::Shell)) => return refuse("there is no side to open a shell on"),
        };
        let swept = sweep()?.runs;
        let stop = Stop::listen()?;
        let (server, ue_side) = attach(servers, ues)?;
        let count = config.stack.ues.len();
        let port = |(ue, port)| UePort {
            port,
            // The first of several has no addresses: it gets the rest.
            addresses: if ue == 0 { Vec::new() } else { Side::Ue(ue).addresses().to_vec() },
        };
        let ues = Attachment::share(ue_side, count).into_iter().enumerate().map(port).collect();
        let ends = Ends { ues, server: Attachment::Whole(Box::new(server)) };
        let live = Live::new(config, options, ends)?.behind_one();
        let live = tapped(live, taps.recorder, taps.reports);
        let host = Host::create()?;
        let ((result, report), status) = drive(live, watch, |_begin, course| {
            let mut command = argv.map(|argv| host.run(argv)).transpose()?;
            let status = wait(command.as_mut(), &stop, course, || {})?;
            host.end_commands()?;
            Ok(status)
        })?;
        let interrupted = stop.requested();
        Ok(Outcome { result, report, status, interrupted, applications: Vec::new(), swept })
    }

    /// The congestion controls of each UE's routes.
    fn networks(&self, config: &WorldConfig) -> Vec<UeNetwork> {
        let of = |ue: usize| {
            let named = self.congestion_control.clone();
            let own = || {
                let mut senders = config
                    .flows
                    .iter()
                    .filter(|flow| flow.ue as usize == ue)
                    .filter_map(|flow| flow.traffic.sender());
                senders.next().map(|sender| kernel_name(sender.cc.name()).to_owned())
            };
            let control = named.or_else(own);
            UeNetwork { down: control.clone(), up: control }
        };
        (0..config.stack.ues.len()).map(of).collect()
    }

    /// Starts the programs and flows beside the stack, waits until the run is over, and ends those
    /// that still run.
    fn beside(
        &self,
        config: &WorldConfig,
        network: &Network,
        mut middle: Option<&mut (dyn Middle + '_)>,
        begin: Instant,
        stop: &Stop,
        course: &Course,
    ) -> Result<Beside, SystemError> {
        let mut servers = Vec::new();
        for line in &self.serve {
            let argv = ["sh".into(), "-c".into(), line.clone()];
            servers.push((line, network.run(Side::Server, &argv, &[])?));
        }
        let flows = if self.own_flows { config.flows.as_slice() } else { &[] };
        let applications = Applications::start(network, flows, config.stack.seed, begin)?;
        let mut command = match &self.command {
            None => None,
            Some((side, Command::Shell)) => Some(network.shell(*side)?),
            Some((side, Command::Program(argv))) => Some(network.run(*side, argv, &[])?),
        };
        let mut failed = None;
        let status = wait(command.as_mut(), stop, course, || {
            let at = justfull_net::clock::now().saturating_duration_since(begin).as_nanos();
            let at = justfull_base::Duration::from_nanos(u64::try_from(at).unwrap_or(u64::MAX));
            if let Some(Err(error)) = middle.as_mut().map(|middle| middle.look(at)) {
                failed = Some(error.to_string());
                course.over.store(true, Ordering::Relaxed);
            }
        })?;
        if let Some(Err(error)) = middle.filter(|_| failed.is_none()).map(Middle::finish) {
            failed = Some(error.to_string());
        }
        let ended_servers = ended(&mut servers)?;
        let applications = applications.finish();
        // By SIGTERM first: a drop would kill them before they could print their results.
        network.end_commands()?;
        Ok(Beside { status, applications, ended_servers, failed })
    }
}

/// The outcome of everything that ran beside the stack.
struct Beside {
    status: Option<ExitStatus>,
    applications: Vec<ApplicationReport>,
    ended_servers: Vec<(String, u8)>,
    /// How the program in the middle failed.
    failed: Option<String>,
}

/// The servers that have ended, with their statuses.
fn ended(servers: &mut [(&OsString, Running)]) -> Result<Vec<(String, u8)>, SystemError> {
    let mut found = Vec::new();
    for (line, server) in servers {
        let status = server.try_wait()?;
        found.extend(
            status.map(|status| (line.to_string_lossy().into_owned(), Running::exit_code(status))),
        );
    }
    Ok(found)
}

/// State that a run and the programs beside it share.
#[derive(Default)]
struct Course {
    /// The run is over, or should end.
    over: AtomicBool,
    /// The kernel's TCP was short of memory.
    tcp_was_short: AtomicBool,
}

/// Runs `live` on a separate thread and `beside` on this one. `beside` gets second 0, and decides
/// when the run should end.
fn drive<P: Port + Send, W: Watch + Send, T>(
    live: Live<P>,
    watch: &mut W,
    beside: impl FnOnce(Instant, &Course) -> Result<T, SystemError>,
) -> Result<((RunResult, LiveReport), T), SystemError> {
    let course = Course::default();
    thread::scope(|scope| {
        let over = &course.over;
        let clock = SlotClock::start();
        let begin = justfull_net::clock::now();
        let driver = scope.spawn(move || {
            let priority = raise_priority(PRIORITY);
            let run = clock.map(|mut clock| live.run(&mut clock, priority, over, watch));
            over.store(true, Ordering::Relaxed);
            run
        });
        let beside = beside(begin, &course);
        // After its own error it has not ended the driver yet.
        course.over.store(true, Ordering::Relaxed);
        let driven = driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (result, mut report) = driven?;
        report.tcp_was_short = course.tcp_was_short.load(Ordering::Relaxed);
        Ok(((result, report), beside?))
    })
}

/// Waits for the end of the command, a signal, or the end of the run, and ends the run; calls
/// `look` in between. Returns the command's status if it has one.
fn wait(
    mut command: Option<&mut Running>,
    stop: &Stop,
    course: &Course,
    mut look: impl FnMut(),
) -> Result<Option<ExitStatus>, SystemError> {
    let over = &course.over;
    let (mut status, mut looks) = (None, 0_u32);
    while status.is_none() && !stop.requested() && !over.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
        look();
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(LOOKS_AT_MEMORY) && tcp_is_short() {
            course.tcp_was_short.store(true, Ordering::Relaxed);
        }
        status = command.as_mut().map(|command| command.try_wait()).transpose()?.flatten();
    }
    over.store(true, Ordering::Relaxed);
    Ok(status)
}

/// Congestion control by side, for the report.
fn congestion_controls(ues: &[UeNetwork]) -> Vec<(String, String)> {
    let default = || "the kernel's default".to_owned();
    let of = |ue: usize, network: &UeNetwork| {
        let side = Side::Ue(ue);
        [
            (format!("server to {side}"), network.down.clone().unwrap_or_else(default)),
            (format!("{side} to server"), network.up.clone().unwrap_or_else(default)),
        ]
    };
    ues.iter().enumerate().flat_map(|(ue, network)| of(ue, network)).collect()
}

/// The TUN devices, the servers' side first.
fn devices(network: &mut Network) -> Result<Vec<Tun>, SystemError> {
    let sides = std::iter::once(Side::Server).chain((0..network.ues()).map(Side::Ue));
    let take = |side: Side| {
        let missing = || SystemError::new(format!("take the TUN device of {side}"), "it is gone");
        network.take_tun(side).ok_or_else(missing)
    };
    sides.map(take).collect()
}

/// The TUN devices in the form that the driver takes.
fn ends(devices: &mut [Tun]) -> Ends<&mut Tun> {
    let [server, ues @ ..] = devices else { unreachable!("a network has a server's side") };
    Ends { ues: ue_ports(ues), server }
}

/// The UEs' TUN devices with their addresses.
fn ue_ports(ues: &mut [Tun]) -> Vec<UePort<&mut Tun>> {
    let end = |(ue, port)| UePort { port, addresses: Side::Ue(ue).addresses().to_vec() };
    ues.iter_mut().enumerate().map(end).collect()
}

/// Samples of connections of the scenario's own flows, with the flows' names.
fn named(legs: &[LegSample], config: &WorldConfig) -> Vec<(String, RttSample)> {
    let names: BTreeMap<_, _> =
        config.flows.iter().map(|flow| (flow_ends(flow), flow.name.to_string())).collect();
    let name = |leg: &LegSample| Some((names.get(&(leg.server, leg.client))?.clone(), leg.radio));
    legs.iter().filter_map(name).collect()
}
