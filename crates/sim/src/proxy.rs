//! A proxy in front of the UPF that splits TCP connections (R22 section 3).
//!
//! ```text
//! server's sender -> wires -> receiver | buffer | sender -> UPF ... UE's receiver
//!        ^                       |                  ^               |
//!        +-------- wires --------+                  +--- uplink ----+
//! ```
//! The server leg is a TCP connection between the server and the proxy, over its own wires without
//! loss. The radio leg is a TCP connection between the proxy and the UE; in the rest of the world
//! it is the flow itself. Data that is in order on the server leg is written to the radio leg at
//! once, and leaves the buffer when the UE acknowledges it. Under a control a flow fills at most
//! twice its two windows of the buffer: data that arrives faster than the radio takes it would
//! otherwise stay here. [`wan`] keeps the window offered to the server; [`steering`] gets this
//! window and the window of the radio leg from the control.

mod steering;
mod wan;

use crate::cells::Cells;
use crate::hosts::{End, Hosts, tcp};
use crate::links::Links;
use crate::monitor::Monitor;
use crate::receivers::Receivers;
use crate::senders::{Senders, TcpSender};
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant};
use justfull_rapid::{ControlConfig, Loss};
use justfull_run::ProxyConfig;
use justfull_run::invariants::TcpBytes;
use justfull_run::ledger::Ledger;
use justfull_run::results::ReportsResult;
use justfull_run::route::Route;
use justfull_run::tap::Listener;
use justfull_run::traffic::{FlowConfig, Traffic};
use justfull_tcp::cc::fixed::{self, FixedConfig};
use justfull_tcp::{Ack, CcConfig, ReceiverConfig, Sender, SenderConfig, Window};
use steering::Steering;
use wan::{Down, Wan};

/// A flow that goes through the proxy.
struct Flow {
    /// Number of the flow of packets.
    flow: u32,
    /// Number of the sender of its radio leg.
    radio: u32,
    mss: u32,
    /// Total bytes of the server; none for an endless flow.
    size: Option<u64>,
}

/// The proxy; the module's page describes it.
pub(crate) struct Proxy {
    /// The senders of the server legs, at the servers; `receivers` are their ends at the proxy.
    /// Both are numbered like `flows`.
    servers: Senders,
    receivers: Receivers,
    wan: Wan,
    flows: Vec<Flow>,
    /// Number of the flow at the proxy, by the number of its radio leg's sender.
    by_radio: Vec<Option<u32>>,
    /// None without a control.
    steering: Option<Steering>,
    radio: SenderConfig,
    /// Number of the wire from the proxy to the UPF, and of the wire from UEs to the proxy.
    wire: u32,
    core_delay: Duration,
    wan_delay: Duration,
}

/// The place of a proxy in the network.
pub(crate) struct Place<'a> {
    /// Rate of the servers' links.
    pub(crate) rate: BitRate,
    pub(crate) core_delay: Duration,
    /// Extra delays of servers beyond the proxy.
    pub(crate) delays: &'a [Duration],
    /// The cell of each UE at the start.
    pub(crate) homes: Vec<u32>,
    /// Number of cells.
    pub(crate) cells: usize,
    pub(crate) seed: u64,
}

impl Proxy {
    /// The proxy of `config` at `place`, for the `flows` that it splits; none if there are none, or
    /// without a control.
    ///
    /// # Errors
    /// A setting of the control outside its bounds.
    pub(crate) fn new(
        config: &ProxyConfig,
        place: Place<'_>,
        flows: usize,
    ) -> Result<Option<Box<Self>>, ConfigError> {
        let Some(control) = config.control.as_ref().filter(|_| flows > 0) else { return Ok(None) };
        let Place { rate, core_delay, delays, homes, cells, seed } = place;
        let wan_delay = config.wan_delay.unwrap_or(core_delay);
        let mut radio = config.radio.clone();
        let steering = match control {
            ControlConfig::None(_) => None,
            ControlConfig::EqualShare(_) | ControlConfig::Rapid(_) => {
                let loss = match control.loss() {
                    Loss::Halve => fixed::Loss::Halve,
                    Loss::Ignore => fixed::Loss::Ignore,
                };
                radio.cc = CcConfig::Fixed(FixedConfig { loss, ..FixedConfig::default() });
                Some(Steering::new(control, &config.report, homes, cells, seed)?)
            }
        };
        Ok(Some(Box::new(Self {
            servers: Senders::new(flows),
            receivers: Receivers::new(flows),
            wan: Wan::new(rate, core_delay, wan_delay, delays, config.buffer.0),
            flows: Vec::with_capacity(flows),
            by_radio: Vec::new(),
            steering,
            radio,
            wire: delays.len() as u32,
            core_delay,
            wan_delay,
        })))
    }

    /// Delay from the proxy to a server without extra delay.
    pub(crate) const fn wan_delay(&self) -> Duration {
        self.wan_delay
    }

    /// True if it steers windows and so needs the cell's reports.
    pub(crate) fn wants_reports(&self) -> bool {
        self.steering.is_some()
    }

    /// Adds `flow`, whose packets would take `route` without the proxy, with its radio leg and its
    /// UE in `hosts`. Returns its round trip through an empty wired network.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub(crate) fn add(
        &mut self,
        hosts: &mut Hosts,
        route: Route,
        flow: &FlowConfig,
        seed: u64,
    ) -> Result<Duration, ConfigError> {
        let Traffic::Tcp { sender, receiver, size, rate, .. } = &*flow.traffic else {
            unreachable!("`goes_by_proxy` says which flows are TCP transfers to UEs")
        };
        let (number, start) = (self.flows.len() as u32, Instant::ZERO + flow.start);
        let radio = hosts.receivers.all().len() as u32;
        let mss = sender.mss.min(self.radio.mss);
        let leg = SenderConfig { mss, ..self.radio.clone() };
        let window = match &mut self.steering {
            None => u64::MAX,
            Some(steering) => {
                steering.add(route.ue, mss, leg.header, start);
                u64::from(leg.initial_window) * u64::from(mss)
            }
        };
        // The wires carry the offered window to the server. A delayed acknowledgement holds back a
        // part of the window, so a control that counts in segments has every segment acknowledged.
        let own = ReceiverConfig {
            window: Window::Fixed(Bytes(1 << 30)),
            delayed_ack: receiver.delayed_ack && self.steering.is_none(),
            ..(**receiver).clone()
        };
        let wired = Route { marks: route.marks.tracked(false), ..route };
        let (mut at_server, at_proxy) = tcp(wired, sender, &own, seed)?;
        at_server.on_ack(Instant::ZERO, &self.wan.open(window));
        self.servers.add(wired, at_server, size.map(|size| size.0), *rate, start);
        self.receivers.add(wired, at_proxy);
        let (wire, header, ack) = (self.wire, leg.header as u8, leg.ack_size() as u8);
        let by_radio = Route { wire, header, ack, stop: Instant::NEVER, ..route };
        let (relay, at_ue) =
            tcp(by_radio, &leg, receiver, seed).map_err(|e| e.within("proxy.radio"))?;
        hosts.ends.push(End::Proxied(radio, number));
        hosts.senders.add_relay(by_radio, relay, size.map(|size| size.0));
        hosts.receivers.add(by_radio, at_ue);
        hosts.ledgers.push(Ledger::default());
        self.by_radio.resize(radio as usize + 1, None);
        self.by_radio[radio as usize] = Some(number);
        self.flows.push(Flow { flow: route.flow, radio, mss, size: size.map(|size| size.0) });
        let extra = flow.extra_delay;
        Ok(self.core_delay + extra + self.wan_delay + extra)
    }

    /// The next instant at which it acts.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        let steering = self.steering.as_ref().map_or(Instant::NEVER, Steering::next);
        self.wan.next().min(self.servers.next()).min(self.receivers.next()).min(steering)
    }

    /// Acts at `now`, its own next instant.
    pub(crate) fn act<T: Listener>(
        &mut self,
        now: Instant,
        cells: &mut Cells,
        hosts: &mut Hosts,
        links: &mut Links<T>,
    ) {
        if let Some(steering) = &mut self.steering {
            steering.act(now, cells);
            self.follow(now, hosts, links);
        }
        while let Some(up) = self.wan.at_server(now) {
            links.monitor.calls += 1;
            self.reach_server(now, up.i, &up.ack, &mut links.monitor);
        }
        while self.servers.next() <= now {
            self.servers.act(now, &mut self.wan);
        }
        while let Some(down) = self.wan.down.pop(now) {
            links.monitor.calls += 1;
            self.arrive(now, &down, hosts, links);
        }
        while self.receivers.next() <= now {
            self.receivers.act(now, &mut self.wan);
        }
    }

    /// `ack` reaches the server of flow `i`.
    fn reach_server<T: Listener>(&mut self, now: Instant, i: u32, ack: &Ack, to: &mut Monitor<T>) {
        if let Some(rtt) = self.servers.acknowledge(now, i, ack) {
            to.recorder.wired_rtt(now, self.flows[i as usize].flow, rtt);
        }
        self.servers.transmit(now, i, &mut self.wan);
    }

    /// A segment arrives from its server.
    fn arrive<T: Listener>(
        &mut self,
        now: Instant,
        down: &Down,
        hosts: &mut Hosts,
        links: &mut Links<T>,
    ) {
        let Down { i, segment, echo } = down;
        let before = self.receivers.delivered_bytes(*i);
        self.receivers.receive(now, *i, segment, false, &mut self.wan);
        let arrived = self.receivers.delivered_bytes(*i);
        if arrived > before {
            hosts.ledgers[*i as usize].enter(now, arrived, segment.sent_at);
            hosts.senders.write(now, self.flows[*i as usize].radio, arrived - before, links);
        }
        if let Some(steering) = &mut self.steering {
            if self.wan.is_held(*i, arrived) {
                steering.hold(*i);
            }
            let radio = self.flows[*i as usize].radio;
            steering.wait(*i, waiting(&hosts.senders.all()[radio as usize].sender));
            steering.arrived(now, *i, arrived - before, echo.map(|at| now.since(at)));
            self.follow(now, hosts, links);
        }
    }

    /// `ack` has reached the sender of the radio leg with this number.
    pub(crate) fn acknowledged<T: Listener>(
        &mut self,
        now: Instant,
        radio: u32,
        ack: &Ack,
        hosts: &mut Hosts,
        links: &mut Links<T>,
    ) {
        let Some(i) = self.by_radio.get(radio as usize).copied().flatten() else { return };
        // Before the acknowledgement frees room.
        let held = self.wan.is_held(i, self.receivers.delivered_bytes(i));
        let (flow, offer) = (&self.flows[i as usize], &mut self.wan.offers[i as usize]);
        let acked = hosts.senders.all()[radio as usize].sender.acked_bytes();
        let new = acked - offer.freed;
        if new == 0 {
            return;
        }
        offer.freed = acked;
        if let Some(steering) = &mut self.steering {
            let server = &self.servers.all()[i as usize].sender;
            let stopped = server.is_closed() && server.all_acked() && server.acked_bytes() == acked;
            let over = flow.size == Some(acked) || stopped;
            if held {
                steering.hold(i);
            }
            steering.wait(i, waiting(&hosts.senders.all()[radio as usize].sender));
            steering.delivered(now, i, new, now.since(ack.ts_echo), over);
            self.follow(now, hosts, links);
        }
        self.update_server(now, i);
    }

    /// Applies new windows from the control.
    fn follow<T: Listener>(&mut self, now: Instant, hosts: &mut Hosts, links: &mut Links<T>) {
        let Some(steering) = &mut self.steering else { return };
        let mut changed = false;
        while let Some((i, windows)) = steering.change() {
            changed = true;
            let offer = &mut self.wan.offers[i as usize];
            offer.window = if windows.reading { windows.server } else { 0 };
            offer.room = 2 * windows.server.saturating_add(windows.radio);
            let radio = self.flows[i as usize].radio;
            hosts.senders.set_window(now, radio, windows.radio, links);
            send_window(now, i, self.flows[i as usize].mss, &mut self.receivers, &mut self.wan);
        }
        if changed {
            steering.assert_load(now);
        }
    }

    /// Sends the server of flow `i` its window, if it has changed.
    fn update_server(&mut self, now: Instant, i: u32) {
        send_window(now, i, self.flows[i as usize].mss, &mut self.receivers, &mut self.wan);
    }

    /// The statistics of the cell's reports; empty without a control that requests them.
    pub(crate) fn reports(&self) -> ReportsResult {
        self.steering.as_ref().map(Steering::reports).unwrap_or_default()
    }

    /// The senders of the server legs.
    pub(crate) fn servers(&self) -> &[TcpSender] {
        self.servers.all()
    }

    /// The fate of the bytes that servers gave to the network.
    pub(crate) fn tcp_bytes(&self, name: impl Fn(u32) -> String) -> Vec<TcpBytes> {
        let mut under_way = vec![0; self.flows.len()];
        for down in self.wan.down.items() {
            under_way[down.i as usize] += u64::from(down.segment.len);
        }
        let ends = self.servers.all().iter().zip(self.receivers.all()).zip(under_way);
        let fate = |((server, end), under_way): ((&_, &_), _)| {
            let (server, end): (&TcpSender, &crate::receivers::TcpReceiver) = (server, end);
            TcpBytes {
                name: format!("{}, from its server to the proxy", name(server.route.flow)),
                sent: server.sender.stats().bytes_sent,
                received: end.receiver.stats().bytes,
                dropped: 0,
                under_way,
            }
        };
        ends.map(fate).collect()
    }

    /// A contradiction in the proxy, in words. Each byte must be on the server leg, here, on the
    /// radio leg or at the UE, in this order; the buffer must not exceed its size; and the
    /// control's allocation must not exceed the cell.
    pub(crate) fn broken(&self, hosts: &Hosts) -> Option<String> {
        let broken = |(i, flow): (usize, &Flow)| {
            let first = |stats: &justfull_tcp::sender::SenderStats| {
                stats.bytes_sent - stats.bytes_retransmitted
            };
            let sent = first(self.servers.all()[i].sender.stats());
            let arrived = self.receivers.all()[i].receiver.delivered_bytes();
            let relay = &hosts.senders.all()[flow.radio as usize].sender;
            let (left, acked) = (first(relay.stats()), relay.acked_bytes());
            let at_ue = hosts.receivers.all()[flow.radio as usize].receiver.received_bytes();
            let written = left + relay.unsent_bytes();
            let in_order = sent >= arrived && arrived >= left && left >= at_ue && at_ue >= acked;
            let kept = arrived - acked <= self.wan.buffer();
            (!(in_order && written == arrived && kept)).then(|| {
                format!(
                    "bytes sent >= at the proxy >= sent on >= at the UE >= acknowledged, and no \
                     more in the proxy than its buffer, flow {}: {sent}, {arrived}, {left}, \
                     {at_ue}, {acked}, written {written}",
                    flow.flow
                )
            })
        };
        let bytes = self.flows.iter().enumerate().find_map(broken);
        bytes.or_else(|| self.steering.as_ref().and_then(Steering::broken))
    }
}

fn send_window(now: Instant, i: u32, mss: u32, receivers: &mut Receivers, wan: &mut Wan) {
    if wan.has_news(i, receivers.delivered_bytes(i), mss.into()) {
        receivers.update_window(now, i, wan);
    }
}

/// Bytes that wait for the window of a radio leg, not for room at the UE.
fn waiting(radio: &Sender) -> u64 {
    let full = radio.in_flight() + u64::from(radio.mss()) > radio.cwnd();
    if full { radio.unsent_bytes() } else { 0 }
}
