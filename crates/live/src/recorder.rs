//! The recorder, for drivers whose flows are not known before they appear: what they record comes
//! out as the same [`RunResult`].
//!
//! A flow is the scenario's own when UE, protocol and both ports are those of a flow of the
//! scenario, and is counted under its name. Any other is counted under its protocol and the
//! application's port (`tcp 5201`), which of its two ports is the lower: ports for the time of a
//! connection are taken from above (RFC 6335 section 6). Where a cell has several UEs the name
//! begins with the UE (`ue1 tcp 5201`). It is *treated* as the scenario's first flow of its UE and
//! QFI: core delay, and whether it is low-latency.

use justfull_base::packet::Protocol;
use justfull_base::{ConfigError, Dscp, Duration, Event, Instant, Packet, Probe};
use justfull_ran::upf::detect;
use justfull_ran::{FiveTuple, PacketDetectionRule, Stack};
use justfull_run::AppStats;
use justfull_run::backlog::Backlogs;
use justfull_run::config::{MOST_NAMES, WorldConfig, classes, protocol_name, validate};
use justfull_run::gather::{Chain, Ended, Plan};
use justfull_run::handovers::CellsResult;
use justfull_run::invariants::Evidence;
use justfull_run::recorder::{ClassInfo, Opening, Recorder, Window};
use justfull_run::region::Region;
use justfull_run::results::{FlowResult, ReportsResult, RunResult};
use justfull_run::uplink::Uplink;

/// A flow of the scenario, as a real one is compared with it.
struct Stand {
    ue: u32,
    protocol: Protocol,
    /// The server's and the UE's.
    ports: [u16; 2],
    qfi: u8,
    opening: Opening,
    low_latency: bool,
    extra_delay: Duration,
}

/// Names of flows that are not the scenario's, for each UE; what comes later is counted under its
/// protocol alone, and where the cell has [`MOST_NAMES`] of them, under `others`. Each takes as
/// much memory as a flow's name of the scenario.
const FOREIGN_NAMES: usize = 16;

/// The names under which foreign flows of one UE are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    protocol: Protocol,
    /// 0 where there are no ports, and for what finds no more names.
    port: u16,
    /// None where no packet detection rule matches.
    qfi: Option<u8>,
}

impl Kind {
    /// The flow's, towards the UE.
    fn of(tuple: &FiveTuple, qfi: Option<u8>) -> Self {
        let [a, b] = [tuple.source_port, tuple.destination_port];
        Self { protocol: tuple.protocol, port: a.min(b), qfi }
    }
}

/// The class `name` of flows that are not the scenario's, the first of which is of that UE and QFI.
fn unnamed(
    name: String,
    protocol: &'static str,
    ue: u32,
    qfi: Option<u8>,
    low_latency: bool,
) -> ClassInfo {
    let (app, control, qfi) = (AppStats::PLAIN, String::new(), qfi.unwrap_or_default());
    ClassInfo {
        name,
        protocol,
        app,
        control,
        ue,
        qfi,
        low_latency,
        up: false,
        delay_budget: None,
        flows: 0,
    }
}

/// The treatment of a new flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// A low-latency flow: its packets are tracked.
    pub low_latency: bool,
    /// One-way delay between server and UPF on top of the core's.
    pub extra_delay: Duration,
}

/// Records a run.
pub struct LiveRecorder {
    plan: Plan,
    recorder: Recorder,
    backlogs: Option<Box<Backlogs>>,
    rules: Vec<Vec<PacketDetectionRule>>,
    stands: Vec<Stand>,
    /// Foreign flows by UE, each with its class.
    foreign: Vec<Vec<(Kind, u32)>>,
    /// How many those are.
    foreign_names: usize,
    /// The class of what finds no more names.
    others: Option<u32>,
    calls: u64,
}

impl LiveRecorder {
    /// A record of a run of `config`, in which no flow has been opened.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn new(config: &WorldConfig) -> Result<Self, ConfigError> {
        validate(config)?;
        let (mut infos, openings) = classes(config)?;
        for info in &mut infos {
            info.app = AppStats::PLAIN;
            info.control.clear();
            info.flows = 0;
        }
        let mut first = 0;
        let stands = config.flows.iter().map(|flow| {
            let opening = openings[first];
            first += flow.traffic.connections() as usize;
            let rules = &config.stack.ues[flow.ue as usize].rules;
            Stand {
                ue: flow.ue,
                protocol: flow.traffic.protocol(),
                ports: [flow.tuple.source_port, flow.tuple.destination_port],
                qfi: detect(rules, &flow.tuple, flow.dscp).map_or(0, justfull_base::Qfi::get),
                opening,
                low_latency: flow.low_latency,
                extra_delay: flow.extra_delay,
            }
        });
        let stands = stands.collect();
        let warmup = Instant::ZERO + config.warmup;
        let window = Window { start: warmup, end: Instant::ZERO + config.duration };
        let bins = config.series_bins as usize;
        let ues = &config.stack.ues;
        Ok(Self {
            plan: Plan::of(config),
            recorder: Recorder::new(window, bins, config.air_delay, infos, &[]),
            backlogs: config.entity_backlog.then(|| Box::new(Backlogs::new(ues, warmup))),
            rules: ues.iter().map(|ue| ue.rules.clone()).collect(),
            stands,
            foreign: vec![Vec::new(); ues.len()],
            foreign_names: 0,
            others: None,
            calls: 0,
        })
    }

    /// The QFI that the rules of `ue` give to packets of `tuple` with `dscp`.
    ///
    /// # Panics
    /// When `ue` is not a UE of the cell.
    #[must_use]
    pub fn qfi(&self, ue: u32, tuple: &FiveTuple, dscp: Dscp) -> Option<u8> {
        detect(&self.rules[ue as usize], tuple, dscp).map(justfull_base::Qfi::get)
    }

    /// The next flow of [`Stack::open_flow`], to `ue`, whose first packet comes at `now`.
    ///
    /// # Panics
    /// When `ue` is not a UE of the cell.
    pub fn open(&mut self, now: Instant, ue: u32, tuple: &FiveTuple, dscp: Dscp) -> Opened {
        let (opening, opened) = self.classify(now, ue, tuple, dscp);
        self.recorder.open(&opening);
        opened
    }

    /// As [`LiveRecorder::open`], under the number of a flow that is over and none of whose packets
    /// is in the stack: what it did stays counted under its own name. A flow that comes again
    /// counts as another.
    ///
    /// # Panics
    /// When `ue` is not a UE of the cell, or `flow` was not opened.
    pub fn reopen(
        &mut self,
        now: Instant,
        flow: u32,
        ue: u32,
        tuple: &FiveTuple,
        dscp: Dscp,
    ) -> Opened {
        let (opening, opened) = self.classify(now, ue, tuple, dscp);
        self.recorder.reopen(flow, &opening);
        opened
    }

    /// The delay that the scenario adds to the core's for the flow of `tuple` towards `ue`: that of
    /// its own flow with these ports, else that of the UE's first flow.
    #[must_use]
    pub fn extra_delay(&self, ue: u32, tuple: &FiveTuple) -> Duration {
        let ports = [tuple.source_port, tuple.destination_port];
        let mut here = self.stands.iter().filter(|s| s.ue == ue);
        let own = here.clone().find(|s| s.protocol == tuple.protocol && s.ports == ports);
        own.or_else(|| here.next()).map_or(Duration::ZERO, |stand| stand.extra_delay)
    }

    /// The scenario's own flows are active when it says, others from their first packet, at `now`,
    /// until their last payload.
    fn classify(
        &mut self,
        now: Instant,
        ue: u32,
        tuple: &FiveTuple,
        dscp: Dscp,
    ) -> (Opening, Opened) {
        let qfi = self.qfi(ue, tuple, dscp);
        let ports = [tuple.source_port, tuple.destination_port];
        let mut here = self.stands.iter().filter(|s| s.ue == ue);
        let own = here.clone().find(|s| s.protocol == tuple.protocol && s.ports == ports);
        let like = own.or_else(|| here.find(|s| Some(s.qfi) == qfi));
        let opened = Opened {
            low_latency: like.is_some_and(|s| s.low_latency),
            extra_delay: like.map_or(Duration::ZERO, |s| s.extra_delay),
        };
        let opening = match own {
            Some(own) => own.opening,
            None => {
                let class = self.foreign(ue, Kind::of(tuple, qfi), opened.low_latency);
                Opening { class, start: now, stop: now }
            }
        };
        (opening, opened)
    }

    /// The class of flows of `kind` to `ue`, which are not the scenario's.
    fn foreign(&mut self, ue: u32, mut kind: Kind, low_latency: bool) -> u32 {
        let known = &self.foreign[ue as usize];
        let class_of = |kind| known.iter().find(|(of, _)| *of == kind).map(|(_, class)| *class);
        if let Some(class) = class_of(kind) {
            return class;
        }
        if known.len() >= FOREIGN_NAMES {
            kind.port = 0;
            if let Some(class) = class_of(kind) {
                return class;
            }
        }
        if self.foreign_names >= MOST_NAMES {
            let (name, protocol) = (String::from("others"), protocol_name(Protocol::Other));
            let add =
                || self.recorder.add_class(unnamed(name, protocol, ue, kind.qfi, low_latency));
            return *self.others.get_or_insert_with(add);
        }
        let (name, protocol) = (self.foreign_name(ue, kind), protocol_name(kind.protocol));
        let class = self.recorder.add_class(unnamed(name, protocol, ue, kind.qfi, low_latency));
        self.foreign[ue as usize].push((kind, class));
        self.foreign_names += 1;
        class
    }

    /// Protocol and port, and the UE if there are several.
    fn foreign_name(&self, ue: u32, kind: Kind) -> String {
        let mut name = if self.foreign.len() > 1 { format!("ue{ue} ") } else { String::new() };
        name += protocol_name(kind.protocol);
        if kind.port != 0 {
            name += &format!(" {}", kind.port);
        }
        let mut alike = self.foreign[ue as usize].iter().map(|(known, _)| known);
        match kind.qfi {
            None => name += " no_rule",
            Some(qfi) if alike.any(|k| (k.protocol, k.port) == (kind.protocol, kind.port)) => {
                name += &format!(" qfi{qfi}");
            }
            Some(_) => {}
        }
        name
    }

    /// A packet of `flow` is about to enter the UPF.
    #[inline]
    pub fn entered(&mut self, now: Instant, flow: u32) {
        self.calls += 1;
        self.recorder.entered(now, flow);
    }

    /// A packet left the stack whole.
    #[inline]
    pub fn delivered(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.calls += 1;
        self.recorder.delivered(now, packet, bound);
    }

    /// The UE has a packet that left the RLC whole at `left`:
    /// [`Egress::deliver_from_air`](justfull_ran::Egress::deliver_from_air).
    pub fn delivered_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        self.calls += 1;
        self.recorder.delivered_from_air(now, left, packet, bound);
    }

    /// `bytes` of payload of `flow` reached its UE. Those of an upload are no goodput.
    #[inline]
    pub fn goodput(&mut self, now: Instant, flow: u32, bytes: u64) {
        if !self.recorder.is_upload(flow) {
            self.recorder.goodput(now, flow, bytes);
        }
    }

    /// `bytes` of payload of `flow`, an upload, reached its server.
    pub fn upload_reached(&mut self, now: Instant, flow: u32, bytes: u64) {
        self.recorder.goodput(now, flow, bytes);
    }

    /// The data of `flow` goes from its UE to a server.
    ///
    /// # Panics
    /// When `flow` was not opened.
    #[must_use]
    pub fn is_upload(&self, flow: u32) -> bool {
        self.recorder.is_upload(flow)
    }

    /// Data of `flow`, an upload, is about to enter the queue of its UE.
    pub fn upload_entered(&mut self, now: Instant, flow: u32) {
        self.calls += 1;
        self.recorder.upload_entered(now, flow);
    }

    /// Data of `flow`, an upload, that `entered` that queue then is dropped.
    pub fn upload_dropped(&mut self, entered: Instant, flow: u32) {
        self.recorder.upload_dropped(entered, flow);
    }

    /// Data of `flow`, an upload, that `entered` that queue then has been sent whole.
    pub fn upload_left(&mut self, now: Instant, flow: u32, entered: Instant) {
        self.calls += 1;
        self.recorder.upload_left(now, flow, entered);
    }

    /// The number of the name that `flow` is counted under, from 0 in the order in which names
    /// appear.
    ///
    /// # Panics
    /// When `flow` was not opened.
    #[inline]
    #[must_use]
    pub fn name_of(&self, flow: u32) -> u32 {
        self.recorder.class_number(flow)
    }

    /// That name, with UE, QFI and class; the counts are not up to date.
    ///
    /// # Panics
    /// When there is no such name.
    #[must_use]
    pub fn named(&self, name: u32) -> &FlowResult {
        self.recorder.class_result(name)
    }

    /// The result of a run that ended at `end`, at the latest when the scenario says. It says which
    /// invariant it breaks, if any ([`RunResult::broken`]).
    #[must_use]
    pub fn finish<T: Copy>(mut self, end: Instant, stack: &Stack, uplink: &Uplink<T>) -> RunResult {
        let end = self.recorder.end_at(end);
        let stacks = std::iter::once(stack);
        self.gather(end, stacks, Chain::of(stack, end), None, uplink)
    }

    /// Like [`LiveRecorder::finish`], for a run with several cells.
    #[must_use]
    pub fn finish_cells<T: Copy>(
        mut self,
        end: Instant,
        region: &Region,
        uplink: &Uplink<T>,
    ) -> RunResult {
        let end = self.recorder.end_at(end);
        let cells = Box::new(region.finish());
        self.gather(end, region.stacks(), region.chain(end), Some(cells), uplink)
    }

    /// The result of a run whose downlink in `stacks` ended as `chain` and, if there are several,
    /// `cells`.
    fn gather<'a, T: Copy>(
        mut self,
        end: Instant,
        stacks: impl Iterator<Item = &'a Stack> + Clone,
        chain: Chain,
        cells: Option<Box<CellsResult>>,
        uplink: &Uplink<T>,
    ) -> RunResult {
        let down = self.recorder.flow_numbers().filter(|flow| !self.is_upload(*flow as u32));
        let of_radio = Evidence::of_cells(stacks, &self.recorder, self.plan.mtu, down);
        let evidence = Evidence { uplink: uplink.broken_conservation(), ..of_radio };
        self.plan.gather(Ended {
            end,
            recorder: &self.recorder,
            chain,
            cells,
            backlogs: self.backlogs.as_deref_mut(),
            uplink: uplink.finish(),
            reports: ReportsResult::default(),
            calls: self.calls,
            evidence,
        })
    }
}

impl Probe for LiveRecorder {
    #[inline]
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.recorder.on_event(now, event);
        if let Some(backlogs) = &mut self.backlogs {
            backlogs.on_event(now, event);
        }
    }
}
