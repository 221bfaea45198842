//! The recorder, for drivers whose flows are not known before they appear: what they record comes out as the same
//! [`RunResult`].
//!
//! A flow is counted under the scenario's flow that it stands for: of those of its UE and protocol the first with both its
//! ports, else with the UE's port, else with the server's port, else with its QFI; else under a name made of its UE and QFI
//! (`ue0.qfi9`), or `ue0.no_rule` where no packet detection rule matches.

use crate::app::App;
use crate::backlog::Backlogs;
use crate::recorder::{ClassInfo, Recorder, conservation};
use crate::results::{RunResult, UplinkResult};
use crate::world::{WorldConfig, classes, protocol_name, validate};
use justfull_base::packet::Protocol;
use justfull_base::{ConfigError, Dscp, Duration, Event, Instant, Packet, Probe};
use justfull_ran::upf::detect;
use justfull_ran::{FiveTuple, PacketDetectionRule, Stack};

/// A flow of the scenario, as a real one is compared with it.
struct Stand {
    ue: u32,
    protocol: Protocol,
    /// The server's and the UE's; 0 for none.
    ports: [u16; 2],
    qfi: u8,
    class: u32,
    low_latency: bool,
    extra_delay: Duration,
}

/// Classes that the scenario does not name, of one UE: by QFI, and one for what no rule matches.
struct Others {
    by_qfi: Vec<(Option<u8>, u32)>,
}

/// What a new flow is to be treated as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The scenario asks for its delay: its packets are tracked.
    pub low_latency: bool,
    /// One-way delay between server and UPF on top of the core's.
    pub extra_delay: Duration,
}

/// Records a run.
pub struct Record {
    scenario: String,
    method: String,
    seed: u64,
    warmup: Instant,
    recorder: Recorder,
    backlogs: Option<Box<Backlogs>>,
    rules: Vec<Vec<PacketDetectionRule>>,
    stands: Vec<Stand>,
    others: Vec<Others>,
    /// Share of each slice.
    shares: Vec<f64>,
    calls: u64,
}

impl Record {
    /// A record of a run of `config`, in which no flow has been opened.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn new(config: &WorldConfig) -> Result<Self, ConfigError> {
        validate(config)?;
        let (mut infos, class_of_flow) = classes(config);
        for info in &mut infos {
            info.app = App::Plain;
            info.control.clear();
            info.flows = 0;
        }
        let mut first = 0;
        let stands = config.flows.iter().map(|flow| {
            let class = class_of_flow[first];
            first += flow.traffic.connections() as usize;
            let rules = &config.stack.ues[flow.ue as usize].rules;
            Stand {
                ue: flow.ue,
                protocol: flow.traffic.protocol(),
                ports: [flow.tuple.source_port, flow.tuple.destination_port],
                qfi: detect(rules, &flow.tuple, flow.dscp).map_or(0, justfull_base::Qfi::get),
                class,
                low_latency: flow.low_latency,
                extra_delay: flow.extra_delay,
            }
        });
        let stands = stands.collect();
        let (warmup, end) = (Instant::ZERO + config.warmup, Instant::ZERO + config.duration);
        let bins = config.series_bins as usize;
        let ues = &config.stack.ues;
        Ok(Self {
            scenario: config.scenario.clone(),
            method: config.method.clone(),
            seed: config.stack.seed,
            warmup,
            recorder: Recorder::new([warmup, end], bins, config.air_delay, infos, Vec::new()),
            backlogs: config.entity_backlog.then(|| Box::new(Backlogs::new(ues, warmup))),
            rules: ues.iter().map(|ue| ue.rules.clone()).collect(),
            stands,
            others: ues.iter().map(|_| Others { by_qfi: Vec::new() }).collect(),
            shares: config.stack.slices.iter().map(|share| share.0).collect(),
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

    /// The next flow of [`Stack::open_flow`], to `ue`.
    ///
    /// # Panics
    /// When `ue` is not a UE of the cell.
    pub fn open(&mut self, ue: u32, tuple: &FiveTuple, dscp: Dscp) -> Opened {
        let qfi = self.qfi(ue, tuple, dscp);
        let own = || self.stands.iter().filter(|s| s.ue == ue && s.protocol == tuple.protocol);
        let [server, at_ue] = [tuple.source_port, tuple.destination_port];
        let found = own()
            .find(|s| s.ports == [server, at_ue])
            .or_else(|| own().find(|s| at_ue != 0 && s.ports[1] == at_ue))
            .or_else(|| own().find(|s| server != 0 && s.ports[0] == server))
            .or_else(|| own().find(|s| Some(s.qfi) == qfi));
        let (class, opened) = match found {
            Some(s) => (s.class, Opened { low_latency: s.low_latency, extra_delay: s.extra_delay }),
            None => {
                let opened = Opened { low_latency: false, extra_delay: Duration::ZERO };
                (self.other(ue, qfi, tuple.protocol), opened)
            }
        };
        self.recorder.open(class);
        opened
    }

    /// The class of what the scenario does not name.
    fn other(&mut self, ue: u32, qfi: Option<u8>, protocol: Protocol) -> u32 {
        let known = &mut self.others[ue as usize].by_qfi;
        if let Some((_, class)) = known.iter().find(|(of, _)| *of == qfi) {
            return *class;
        }
        let class = self.recorder.add_class(ClassInfo {
            name: qfi.map_or_else(|| format!("ue{ue}.no_rule"), |qfi| format!("ue{ue}.qfi{qfi}")),
            protocol: protocol_name(protocol),
            app: App::Plain,
            control: String::new(),
            ue,
            qfi: qfi.unwrap_or_default(),
            low_latency: false,
            delay_budget: None,
            flows: 0,
        });
        known.push((qfi, class));
        class
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

    /// The UE has a packet that left the RLC whole at `left`: [`Egress::deliver_from_air`](justfull_ran::Egress::deliver_from_air).
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

    /// `bytes` of payload of `flow` reached its UE.
    #[inline]
    pub fn goodput(&mut self, now: Instant, flow: u32, bytes: u64) {
        self.recorder.goodput(now, flow, bytes);
    }

    /// The result of a run that ended at `end`, at the latest when the scenario says.
    ///
    /// # Panics
    /// When packets are not conserved: a bug.
    #[must_use]
    pub fn finish(mut self, end: Instant, stack: &Stack, uplink: UplinkResult) -> RunResult {
        stack.assert_conserved();
        let end = self.recorder.end_at(end);
        let entities = self.backlogs.as_mut().map(|b| b.finish(end)).unwrap_or_default();
        RunResult {
            scenario: self.scenario,
            method: self.method,
            seed: self.seed,
            duration_s: end.as_secs_f64(),
            warmup_s: self.warmup.as_secs_f64(),
            flows: self.recorder.flows(),
            layers: self.recorder.layers(),
            entities,
            uplink,
            cell: self.recorder.cell(stack.slot_unit()),
            slices: self.recorder.slices(&self.shares),
            series: self.recorder.series(),
            conservation: conservation(&stack.conserved()),
            component_calls: self.calls,
        }
    }
}

impl Probe for Record {
    #[inline]
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.recorder.on_event(now, event);
        if let Some(backlogs) = &mut self.backlogs {
            backlogs.on_event(now, event);
        }
    }
}
