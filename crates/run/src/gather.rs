//! The end of a run: its result, gathered from its parts.

use crate::backlog::Backlogs;
use crate::config::WorldConfig;
use crate::handovers::CellsResult;
use crate::invariants::Evidence;
use crate::recorder::Recorder;
use crate::results::{
    CarrierResult, Conservation, DrxResult, ReportsResult, RunResult, UplinkResult,
};
use justfull_base::{Duration, Instant};
use justfull_ran::rlc::Stalls;
use justfull_ran::stack::Conserved;
use justfull_ran::{CarrierUse, Stack};
use std::collections::BTreeMap;

/// The settings of a run that its result repeats, without the settings of single UEs and flows.
pub struct Plan {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the method.
    pub method: String,
    /// Seed.
    pub seed: u64,
    /// Length of the run.
    pub duration: Duration,
    /// Start of the measured window.
    pub warmup: Duration,
    /// Share of each slice.
    pub shares: Vec<f64>,
    /// Largest packet, in bytes.
    pub mtu: u32,
}

/// The facts about the downlink chain of a cell, or of several together.
#[derive(Default)]
pub struct Chain {
    /// Unit of slots.
    pub unit: &'static str,
    /// Waits for the windows of the RLC.
    pub stalls: Stalls,
    /// Fate of every packet.
    pub conservation: Conservation,
    /// Configured mechanisms without effect.
    pub never_acted: Vec<&'static str>,
    /// The use of each carrier, cell after cell; empty without carrier aggregation.
    pub carriers: Vec<CarrierUse>,
    /// Time in the measured window for which each UE with DRX was awake.
    pub awake: BTreeMap<u32, Duration>,
}

impl Chain {
    /// The chain of `stack` at the end of a run, `end`.
    #[must_use]
    pub fn of(stack: &Stack, end: Instant) -> Self {
        Self {
            unit: stack.slot_unit(),
            stalls: stack.rlc_stalls(end),
            conservation: conservation(&stack.conserved()),
            never_acted: stack.never_acted(),
            carriers: stack.carriers(),
            awake: stack.awake(end).collect(),
        }
    }

    /// This chain with the name of `cell` added to its carriers.
    #[must_use]
    pub fn in_cell(mut self, cell: &str) -> Self {
        for carrier in &mut self.carriers {
            carrier.name = format!("{cell} {}", carrier.name);
        }
        self
    }

    /// The sum of this chain and `other`, the chain of another cell. A mechanism has an effect if
    /// it has one in either chain.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.stalls = self.stalls + other.stalls;
        self.never_acted.retain(|name| other.never_acted.contains(name));
        self.carriers.extend(other.carriers);
        for (ue, time) in other.awake {
            *self.awake.entry(ue).or_default() += time;
        }
        self.and(&other.conservation)
    }

    /// This chain, of whose delivered packets `held` wait in PDCP of UEs, and which has discarded
    /// `discarded`.
    #[must_use]
    pub fn not_delivered(mut self, held: u64, discarded: u64) -> Self {
        let own = &mut self.conservation;
        own.delivered -= held + discarded;
        own.queued += held;
        own.dropped += discarded;
        self
    }

    /// This chain with the packets of `other` too.
    #[must_use]
    pub fn and(mut self, other: &Conservation) -> Self {
        let own = &mut self.conservation;
        own.entered += other.entered;
        own.delivered += other.delivered;
        own.dropped += other.dropped;
        own.queued += other.queued;
        self
    }
}

/// The stack's counts of the fate of its packets, as results.
pub fn conservation(counts: &Conserved) -> Conservation {
    let &Conserved { entered, delivered, dropped, queued, .. } = counts;
    Conservation { entered, delivered, dropped, queued }
}

/// The parts of a run at its end.
pub struct Ended<'a> {
    /// The end of the run.
    pub end: Instant,
    /// The statistics of flows, layers and slots.
    pub recorder: &'a Recorder,
    /// The facts about the downlink chain.
    pub chain: Chain,
    /// The cells and handovers of a world with several.
    pub cells: Option<Box<CellsResult>>,
    /// The backlog of each queue; none unless the scenario requests it.
    pub backlogs: Option<&'a mut Backlogs>,
    /// The statistics of the uplink.
    pub uplink: UplinkResult,
    /// The reports of the radio to a proxy.
    pub reports: ReportsResult,
    /// Number of calls of nodes and links.
    pub calls: u64,
    /// Evidence for the invariants.
    pub evidence: Evidence,
}

impl Plan {
    /// The plan of `config`.
    #[must_use]
    pub fn of(config: &WorldConfig) -> Self {
        Self {
            scenario: config.scenario.clone(),
            method: config.method.clone(),
            seed: config.stack.seed,
            duration: config.duration,
            warmup: config.warmup,
            shares: config.stack.slices.iter().map(|share| share.0).collect(),
            mtu: config.stack.mtu,
        }
    }

    /// Share of the measured window up to `end` for which UEs with DRX were awake.
    fn drx(&self, awake: &BTreeMap<u32, Duration>, end: Instant) -> Vec<DrxResult> {
        let window = end.since(Instant::ZERO + self.warmup).as_secs_f64();
        let share = |time: &Duration| if window > 0.0 { time.as_secs_f64() / window } else { 0.0 };
        let of_ue = |(&ue, time)| DrxResult { ue, awake_percent: 100.0 * share(time) };
        awake.iter().map(of_ue).collect()
    }

    /// The result of the run. It names the first invariant that the run breaks
    /// ([`RunResult::broken`]).
    #[must_use]
    pub fn gather(self, ended: Ended<'_>) -> RunResult {
        let Ended { end, recorder, chain, cells, backlogs, uplink, reports, calls, evidence } =
            ended;
        let drx = self.drx(&chain.awake, end);
        let mut result = RunResult {
            scenario: self.scenario,
            method: self.method,
            seed: self.seed,
            duration_s: end.as_secs_f64(),
            warmup_s: self.warmup.as_secs_f64(),
            flows: recorder.flows(),
            layers: recorder.layers(),
            entities: backlogs.map(|backlogs| backlogs.finish(end)).unwrap_or_default(),
            uplink,
            rlc: chain.stalls.into(),
            cell: recorder.cell(chain.unit),
            together: recorder.together(),
            reports,
            slices: recorder.slices(&self.shares),
            drx,
            series: recorder.series(),
            conservation: chain.conservation,
            cells,
            carriers: chain.carriers.into_iter().map(CarrierResult::from).collect(),
            component_calls: calls,
            never_acted: chain.never_acted.into_iter().map(String::from).collect(),
            broken: None,
        };
        result.broken = evidence.broken(&result);
        result
    }
}
