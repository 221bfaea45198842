//! The scenario's own flows as applications over the kernel's sockets. The kernel's TCP takes the
//! place of the simulated one.
//!
//! Every flow has the same ports as in the simulator, so that the same packet detection rules find
//! its QFI. Downloads and uploads are TCP connections that the UE opens, with the congestion
//! control of the scenario; a session over SSH has an `ssh` and an `sshd`. Datagrams leave the
//! server at the simulator's times, drawn by the same law from the same seed, and are counted at
//! the UE; the kernel on the UE's side answers echo requests, and the answers are counted. Each end
//! of a flow has a thread, so a scenario of hundreds of flows is refused. Threads that send
//! datagrams have real-time priority, below the stack's, if the kernel allows it: a late datagram
//! would add the machine's jitter to the scenario's traffic.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use justfull_base::Dscp;
use justfull_run::{Departures, FlowConfig, Traffic, Transport};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};

use echo::Echo;
use flow::Flow;
use justfull_net::SystemError;
use justfull_net::{Network, Side};
use refused::simulated_only;
pub use report::ApplicationReport;
pub use samples::RttSample;
use samples::Senders;
use ssh::Ssh;

mod echo;
mod flow;
#[cfg(feature = "quic")]
mod quic;
mod refused;
mod report;
mod samples;
mod ssh;
mod window;

/// Most flows of a scenario: two threads each.
pub const MOST_FLOWS: usize = 256;
/// Time between two checks of a waiting thread whether it should end.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes that are written or read at once.
const CHUNK: usize = 64 * 1024;
/// Real-time priority of a thread that sends datagrams.
const SENDER_PRIORITY: i32 = 5;
/// Longest time to open a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A TCP connection that a server waits for.
#[derive(Clone, Debug)]
struct Expected {
    flow: Arc<Flow>,
    /// The side that the server is on.
    side: Side,
    control: &'static str,
    upload: bool,
    size: Option<u64>,
    dscp: Dscp,
    /// Bytes of the receive window; none if the kernel decides.
    window: Option<u32>,
    /// Keys and settings of a download over SSH.
    ssh: Option<Arc<Ssh>>,
}

impl Expected {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        set_dscp(SockRef::from(&stream), self.dscp)?;
        if self.upload {
            return self.flow.sink(stream, self.window);
        }
        self.window.map_or(Ok(()), |window| window::make_room(&stream, window))?;
        setsockopt(&stream, sockopt::TcpCongestion, &self.control.into())?;
        match &self.ssh {
            Some(ssh) => ssh.serve(&self.flow, stream),
            None => self.flow.pour(stream, self.size),
        }
    }

    fn open(&self, socket: Socket, server: SocketAddr) -> io::Result<()> {
        if !self.flow.wait_until(self.flow.start) {
            return Ok(());
        }
        if self.upload {
            self.window.map_or(Ok(()), |window| window::make_room(&socket, window))?;
            setsockopt(&socket, sockopt::TcpCongestion, &self.control.into())?;
        }
        if !self.flow.connect(&socket, server)? {
            return Ok(());
        }
        match &self.ssh {
            Some(ssh) => ssh.fetch(&self.flow, socket.into(), self.window),
            None if self.upload => self.flow.pour(socket.into(), self.size),
            None => self.flow.sink(socket.into(), self.window),
        }
    }
}

/// A flow of the scenario, its number there, and the state of its threads.
#[derive(Clone, Copy)]
struct Own<'a> {
    config: &'a FlowConfig,
    shared: &'a Arc<Flow>,
    number: u32,
}

/// The running applications of a scenario. Dropping this value ends them.
#[derive(Debug)]
pub struct Applications {
    flows: Vec<Arc<Flow>>,
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Applications {
    /// Refuses flows that cannot be sent live.
    ///
    /// # Errors
    /// The first flow of a kind that only the simulator has, or too many flows.
    pub fn check(flows: &[FlowConfig]) -> Result<(), SystemError> {
        if flows.len() > MOST_FLOWS {
            let found = format!("{} flows; at most {MOST_FLOWS} are allowed live", flows.len());
            return Err(SystemError::new("start the scenario's flows", found));
        }
        let simulated = |flow: &FlowConfig| {
            let found = simulated_only(&flow.traffic)?;
            Some(SystemError::new(format!("start flow {:?}", flow.name), found.to_owned()))
        };
        flows.iter().find_map(simulated).map_or(Ok(()), Err)?;
        let ssh = flows.iter().find(|flow| is_ssh(&flow.traffic));
        ssh.map_or(Ok(()), |flow| Ssh::check().map_err(|error| failed(&flow.name, error)))
    }

    /// Starts all flows. `begin` is second 0 of the scenario, and `seed` the seed of its chance.
    /// The stack must run already, or no connection opens.
    ///
    /// # Errors
    /// A flow that cannot be sent live, a socket that cannot be made.
    pub fn start(
        network: &Network,
        flows: &[FlowConfig],
        seed: u64,
        begin: Instant,
    ) -> Result<Self, SystemError> {
        Self::check(flows)?;
        let mut all = Self { flows: Vec::new(), threads: Vec::new(), stop: Arc::default() };
        let mut doors: BTreeMap<SocketAddr, BTreeMap<SocketAddr, Expected>> = BTreeMap::new();
        let ssh = flows.iter().any(|flow| is_ssh(&flow.traffic));
        let ssh = ssh.then(|| Ssh::prepare(network).map(Arc::new)).transpose()?;
        for (number, flow) in (0u32..).zip(flows) {
            let shared = all.admit(flow, begin);
            let own = Own { config: flow, shared: &shared, number };
            match &*flow.traffic {
                #[cfg(feature = "quic")]
                Traffic::Tcp { sender, transport: Transport::Udp, .. } => {
                    all.start_quic(network, own, sender.cc.name())?;
                }
                Traffic::Tcp { sender, receiver, size, .. }
                | Traffic::Upload { sender, receiver, size, .. } => {
                    let expected = Expected {
                        flow: shared,
                        side: Side::Ue(flow.ue as usize),
                        control: kernel_name(sender.cc.name()),
                        upload: matches!(*flow.traffic, Traffic::Upload { .. }),
                        size: size.map(|bytes| bytes.0),
                        dscp: flow.dscp,
                        window: window::fixed(&receiver.window),
                        ssh: ssh.clone().filter(|_| is_ssh(&flow.traffic)),
                    };
                    let (server, ue) = flow_ends(flow);
                    doors.entry(server).or_default().insert(ue, expected);
                }
                _ => all.start_datagrams(network, own, seed)?,
            }
        }
        for (server, expected) in doors {
            all.start_connections(network, server, expected)?;
        }
        all.start_sampler()?;
        Ok(all)
    }

    /// Ends all flows and returns their reports.
    #[must_use]
    pub fn finish(mut self) -> Vec<ApplicationReport> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic was printed on standard error; the flow's counters are valid.
            let _panicked = thread.join();
        }
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let report = |flow: &Arc<Flow>| ApplicationReport {
            flow: flow.name.clone(),
            sent_bytes: flow.sent.load(Ordering::Relaxed),
            received_bytes: flow.received.load(Ordering::Relaxed),
            failed: flow.failed.get().cloned(),
            start_ns: ns(flow.start.saturating_duration_since(flow.begin)),
            sized: flow.size.is_some(),
            whole_ns: flow.whole.get().copied().map(ns),
            rtts: flow.senders.take(),
            progress: flow.senders.take_progress(),
        };
        self.flows.iter().map(report).collect()
    }

    /// Samples the round-trip times of all flows' senders.
    fn start_sampler(&mut self) -> Result<(), SystemError> {
        let (flows, stop) = (self.flows.clone(), Arc::clone(&self.stop));
        let work = move || {
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(samples::PERIOD);
                flows.iter().for_each(|flow| {
                    flow.senders.sample(flow.begin, flow.received.load(Ordering::Relaxed));
                });
            }
        };
        let thread = thread::Builder::new().name("round trips".into()).spawn(work);
        self.threads.push(thread.map_err(|e| SystemError::new("start the scenario's flows", e))?);
        Ok(())
    }

    fn admit(&mut self, flow: &FlowConfig, begin: Instant) -> Arc<Flow> {
        let after = |time: justfull_base::Duration| begin + Duration::from_nanos(time.as_nanos());
        let size = match &*flow.traffic {
            Traffic::Tcp { size, .. } | Traffic::Upload { size, .. } => size.map(|bytes| bytes.0),
            _ => None,
        };
        let shared = Arc::new(Flow {
            name: flow.name.to_string(),
            begin,
            size,
            whole: OnceLock::new(),
            senders: Senders::default(),
            start: after(flow.start),
            end: flow.stop.map(after),
            stop: Arc::clone(&self.stop),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            failed: OnceLock::new(),
        });
        self.flows.push(Arc::clone(&shared));
        shared
    }

    fn spawn(
        &mut self,
        flow: &Arc<Flow>,
        work: impl FnOnce(&Flow) -> io::Result<()> + Send + 'static,
    ) -> Result<(), SystemError> {
        let own = Arc::clone(flow);
        let thread =
            thread::Builder::new().name("application".into()).spawn(move || own.note(work(&own)));
        self.threads.push(thread.map_err(|error| failed(&flow.name, error))?);
        Ok(())
    }

    /// Datagrams from the server to the UE.
    fn start_datagrams(
        &mut self,
        network: &Network,
        own: Own<'_>,
        seed: u64,
    ) -> Result<(), SystemError> {
        let Own { config: flow, shared, number } = own;
        let Some(departures) = Departures::new(flow, number, seed) else { return Ok(()) };
        if matches!(*flow.traffic, Traffic::Ping(_)) {
            return self.start_echo(network, own, departures);
        }
        let (server, ue) = flow_ends(flow);
        let udp = |side, own| bound(network, side, Type::DGRAM, Protocol::UDP, own);
        let (from, to) = (udp(Side::Server, server)?, udp(Side::Ue(flow.ue as usize), ue)?);
        let link = || {
            set_dscp(SockRef::from(&from), flow.dscp)?;
            from.connect(&SockAddr::from(ue))?;
            to.connect(&SockAddr::from(server))?;
            to.set_read_timeout(Some(LOOK))
        };
        link().map_err(|error| failed(&flow.name, error))?;
        let (from, to): (UdpSocket, UdpSocket) = (from.into(), to.into());
        self.spawn(shared, move |flow| flow.count(&to))?;
        self.spawn(shared, move |flow| flow.tick(departures, |payload| from.send(payload)))
    }

    /// Sends echo requests from the server to the UE, which answers.
    fn start_echo(
        &mut self,
        network: &Network,
        own: Own<'_>,
        departures: Departures,
    ) -> Result<(), SystemError> {
        let Own { config, shared, .. } = own;
        let (server, ue) = flow_ends(config);
        let from = SocketAddr::new(server.ip(), 0);
        let socket = bound(network, Side::Server, Type::RAW, Protocol::ICMPV4, from)?;
        let link = || {
            set_dscp(SockRef::from(&socket), config.dscp)?;
            socket.connect(&SockAddr::from(SocketAddr::new(ue.ip(), 0)))?;
            socket.set_read_timeout(Some(LOOK))?;
            socket.try_clone()
        };
        let answers = link().map_err(|error| failed(&shared.name, error))?;
        let mut echo = Echo::new(ue.port());
        self.spawn(shared, move |flow| flow.count_answers(&answers, echo))?;
        self.spawn(shared, move |flow| flow.tick(departures, |payload| echo.send(&socket, payload)))
    }

    /// The connections of one port of the server, each opened by its UE.
    fn start_connections(
        &mut self,
        network: &Network,
        server: SocketAddr,
        expected: BTreeMap<SocketAddr, Expected>,
    ) -> Result<(), SystemError> {
        let Some((first, dscp)) =
            expected.values().next().map(|first| (Arc::clone(&first.flow), first.dscp))
        else {
            return Ok(());
        };
        let door = bound(network, Side::Server, Type::STREAM, Protocol::TCP, server)?;
        let open = || {
            // The answer to a SYN has the codepoint of the listener, and each connection has its
            // own.
            set_dscp(SockRef::from(&door), dscp)?;
            door.listen(i32::try_from(MOST_FLOWS).unwrap_or(i32::MAX))?;
            door.set_nonblocking(true)
        };
        open().map_err(|error| failed(&first.name, error))?;
        let door: TcpListener = door.into();
        for (ue, one) in &expected {
            let socket = bound(network, one.side, Type::STREAM, Protocol::TCP, *ue)?;
            let one = one.clone();
            self.spawn(&Arc::clone(&one.flow), move |_| one.open(socket, server))?;
        }
        self.spawn(&first, move |flow| {
            let mut served = Vec::new();
            while !flow.stop.load(Ordering::Relaxed) {
                match door.accept() {
                    Ok((stream, peer)) => {
                        stream.set_nonblocking(false)?;
                        let Some(one) = expected.get(&peer).cloned() else { continue };
                        served.push(thread::spawn(move || one.flow.note(one.serve(stream))));
                    }
                    Err(error) if waits(&error) => thread::sleep(Duration::from_millis(2)),
                    Err(error) => return Err(error),
                }
            }
            served.into_iter().try_for_each(|thread| {
                thread.join().map_err(|_| io::Error::other("the thread of a connection panicked"))
            })
        })
    }
}

impl Drop for Applications {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn is_ssh(traffic: &Traffic) -> bool {
    matches!(traffic, Traffic::Tcp { transport: Transport::Ssh, .. })
}

/// The IPv4 addresses and ports of a flow: the server's, the UE's.
pub(crate) fn flow_ends(flow: &FlowConfig) -> (SocketAddr, SocketAddr) {
    let v4 = |side: Side| {
        side.addresses().into_iter().find(IpAddr::is_ipv4).unwrap_or(Ipv4Addr::LOCALHOST.into())
    };
    let server = SocketAddr::new(v4(Side::Server), flow.tuple.source_port);
    (server, SocketAddr::new(v4(Side::Ue(flow.ue as usize)), flow.tuple.destination_port))
}

/// A socket bound to `own` on `side`. Several sockets for datagrams may share a server port, each
/// with its own peer.
fn bound(
    network: &Network,
    side: Side,
    kind: Type,
    protocol: Protocol,
    own: SocketAddr,
) -> Result<Socket, SystemError> {
    network.inside(side, || {
        let socket = Socket::new(Domain::IPV4, kind, Some(protocol))?;
        socket.set_reuse_address(true)?;
        if kind == Type::DGRAM {
            socket.set_reuse_port(true)?;
        }
        socket.bind(&SockAddr::from(own))?;
        Ok(socket)
    })
}

/// Gives `dscp` to the datagrams that leave `socket`.
fn set_dscp(socket: SockRef<'_>, dscp: Dscp) -> io::Result<()> {
    socket.set_tos_v4(u32::from(dscp.get()) << 2)
}

fn failed(flow: &str, error: io::Error) -> SystemError {
    SystemError::new(format!("start flow {flow:?}"), error)
}

/// Linux's name of a congestion control.
#[must_use]
pub fn kernel_name(control: &'static str) -> &'static str {
    if control == "new_reno" { "reno" } else { control }
}

/// At the end of a run the other end may close first, with data on the way; this is no error.
fn ended_by_peer(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    }
}

/// True if the error belongs to an earlier datagram, whose receiver was not there yet.
fn refused_before(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

fn waits(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::{BitRate, Bytes, Duration};
    use justfull_run::{Interval, PingConfig, TurnConfig};

    #[test]
    fn pages_paced_transfers_and_transfers_over_udp_are_refused_by_name() {
        let transfer = |rate, transport| {
            let (sender, receiver) = Default::default();
            Traffic::Tcp { sender, receiver, size: None, rate, transport }
        };
        let upload = |transport| {
            let (sender, receiver) = Default::default();
            Traffic::Upload { sender, receiver, size: None, rate: None, transport }
        };
        let from_ue = || {
            let interval = Interval::Constant(Duration::from_millis(20));
            let from_ue = Some(TurnConfig::default());
            Traffic::Ping(PingConfig { payload: Bytes(172), interval, from_ue })
        };
        assert_eq!(simulated_only(&transfer(None, Transport::Tcp)), None);
        assert_eq!(simulated_only(&transfer(None, Transport::Ssh)), None);
        let over_quic = simulated_only(&transfer(None, Transport::Udp));
        assert_eq!(over_quic.is_none(), cfg!(feature = "quic"));
        for (traffic, name) in [
            (transfer(Some(BitRate(1_000_000)), Transport::Tcp), "`tcp.rate`"),
            (upload(Transport::Udp), "`tcp.protocol = \"udp\"`"),
            (upload(Transport::Ssh), "`tcp.protocol = \"ssh\"`"),
            (Traffic::Page(Box::default()), "`page`"),
            (Traffic::VideoCall(Box::default()), "`video_call`"),
            (Traffic::Dash(Box::default()), "`dash`"),
            (from_ue(), "`ping.from_ue`"),
        ] {
            let found = simulated_only(&traffic).expect("no application for it");
            assert!(found.starts_with(name) && found.contains("simulated only"), "{found}");
        }
    }
}
