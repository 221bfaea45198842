//! The proxy's control: takes reports and samples, returns windows.

use crate::cells::Cells;
use justfull_base::feedback::RanReport;
use justfull_base::{ConfigError, Duration, Instant};
use justfull_rapid::{
    CellId, ControlConfig, FlowId, Load, Opening, PayloadControl, Sample, UeId, Windows,
};
use justfull_run::ReportConfig;
use justfull_run::proxy::{At, ReportChannel};
use justfull_run::results::ReportsResult;

/// Gain of the smoothed round trip of the server leg, as in RFC 6298 (1 / 8).
const GAIN: u64 = 8;
/// Rounding error allowed in a sum of shares.
const ROUNDING: f64 = 1e-9;

/// The control's state of a flow.
struct Flow {
    ue: u32,
    mss: u32,
    header: u32,
    /// None before its start and after its end.
    id: Option<FlowId>,
    /// Time of the last sample.
    sampled_at: Instant,
    arrived: u64,
    delivered: u64,
    wired_least: Option<Duration>,
    radio_least: Option<Duration>,
    /// Smoothed round trip of the server leg.
    wired: Option<Duration>,
    /// The server was held since the last sample; see [`Sample::held`] and [`Sample::waiting`].
    held: bool,
    waiting: u64,
}

/// A UE with proxied flows.
#[derive(Clone, Copy)]
struct Ue {
    id: UeId,
    /// The cell of its last report.
    cell: u32,
    /// When that report was made.
    at: Instant,
}

/// The proxy's control with its flows.
pub(crate) struct Steering {
    control: PayloadControl<u32>,
    cells: Vec<CellId>,
    /// The cell of each UE at the start.
    homes: Vec<u32>,
    /// UEs by number; none for a UE without proxied flows.
    ues: Vec<Option<Ue>>,
    flows: Vec<Flow>,
    /// Flows that have not started, the next one last.
    starts: Vec<(Instant, u32)>,
    reports: ReportChannel,
    /// True if the cell bounds the sum of allocations.
    bounded: bool,
    broken: Option<String>,
}

impl Steering {
    /// The control of `config` over `cells` cells, with the cell of each UE in `homes`.
    ///
    /// # Errors
    /// A setting of the control outside its bounds.
    pub(crate) fn new(
        config: &ControlConfig,
        reports: &ReportConfig,
        homes: Vec<u32>,
        cells: usize,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let within = |e: ConfigError| e.within("proxy.control");
        let mut control = PayloadControl::new(config).map_err(within)?;
        let cells = (0..cells).map(|_| control.control.add_cell()).collect();
        Ok(Self {
            control,
            cells,
            ues: vec![None; homes.len()],
            homes,
            flows: Vec::new(),
            starts: Vec::new(),
            reports: ReportChannel::new(reports, seed),
            bounded: config.keeps_to_cells(),
            broken: None,
        })
    }

    /// The statistics of the cell's reports.
    pub(crate) fn reports(&self) -> ReportsResult {
        let ues = self.ues.iter().flatten().count() as u32;
        ReportsResult { ues, sent: self.reports.sent() }
    }

    /// Adds the next flow, which starts at `start`.
    pub(crate) fn add(&mut self, ue: u32, mss: u32, header: u32, start: Instant) {
        let number = self.flows.len() as u32;
        let (known, cell) = (&mut self.ues[ue as usize], self.homes[ue as usize]);
        if known.is_none() {
            let id = self.control.control.add_ue(Instant::ZERO, self.cells[cell as usize]).ok();
            *known = id.map(|id| Ue { id, cell, at: Instant::ZERO });
        }
        // The next flow comes last; of flows with one start, the scenario's first comes last.
        let at = self.starts.partition_point(|(other, _)| *other > start);
        self.starts.insert(at, (start, number));
        self.flows.push(Flow {
            ue,
            mss,
            header,
            id: None,
            sampled_at: start,
            arrived: 0,
            delivered: 0,
            wired_least: None,
            radio_least: None,
            wired: None,
            held: false,
            waiting: 0,
        });
    }

    /// The next instant at which it acts.
    pub(crate) fn next(&self) -> Instant {
        let start = self.starts.last().map_or(Instant::NEVER, |(at, _)| *at);
        let timer = self.control.control.next_timer().unwrap_or(Instant::NEVER);
        self.reports.next().min(start).min(timer)
    }

    /// Requests reports from the cells, passes arrived reports to the control, opens flows and
    /// serves the control's timers, as due at `now`.
    pub(crate) fn act(&mut self, now: Instant, cells: &mut Cells) {
        let Self { reports, ues, .. } = self;
        if reports.are_due(now) {
            cells.each_stack(|cell, stack| {
                stack.reports(now, |ue, report| {
                    if ues[ue as usize].is_some() {
                        reports.send(now, At { ue, cell }, report);
                    }
                });
            });
        }
        while let Some((at, report)) = self.reports.receive(now) {
            self.receive(now, at, &report);
        }
        while let Some(&(at, i)) = self.starts.last()
            && at <= now
        {
            self.starts.pop();
            self.open(now, i);
        }
        if self.control.control.next_timer().is_some_and(|at| at <= now) {
            self.control.control.on_timer(now);
        }
    }

    /// A report arrives. A newer one of another cell says that the UE has moved; an older one of
    /// another cell says nothing.
    fn receive(&mut self, now: Instant, At { ue, cell }: At, report: &RanReport) {
        let Some(ue) = &mut self.ues[ue as usize] else { return };
        if cell != ue.cell {
            if report.at <= ue.at {
                return;
            }
            ue.cell = cell;
            // Both are known.
            let _ = self.control.control.move_ue(now, ue.id, self.cells[cell as usize]);
        }
        ue.at = ue.at.max(report.at);
        // The control itself rejects late and invalid reports.
        let _ = self.control.on_report(now, ue.id, report);
    }

    fn open(&mut self, now: Instant, i: u32) {
        let flow = &mut self.flows[i as usize];
        let opening = Opening { mss: flow.mss, wired_rtt: None, radio_rtt: None };
        let Some(ue) = self.ues[flow.ue as usize] else { return };
        flow.id = self.control.open(now, ue.id, i, flow.header, &opening).ok();
    }

    /// The server of flow `i` may send less than its window, for lack of room.
    pub(crate) fn hold(&mut self, i: u32) {
        self.flows[i as usize].held = true;
    }

    /// `bytes` of flow `i` wait for the window of its radio leg.
    pub(crate) fn wait(&mut self, i: u32, bytes: u64) {
        self.flows[i as usize].waiting = bytes;
    }

    /// `bytes` of flow `i` have arrived from its server, with a round trip of the server leg.
    pub(crate) fn arrived(&mut self, now: Instant, i: u32, bytes: u64, rtt: Option<Duration>) {
        let flow = &mut self.flows[i as usize];
        flow.arrived += bytes;
        flow.wired_least = least(flow.wired_least, rtt);
        self.sample(now, i);
    }

    /// The UE has acknowledged `bytes` of flow `i` after `rtt` on the radio leg; `over` if these
    /// are the last.
    pub(crate) fn delivered(
        &mut self,
        now: Instant,
        i: u32,
        bytes: u64,
        rtt: Duration,
        over: bool,
    ) {
        let flow = &mut self.flows[i as usize];
        flow.delivered += bytes;
        flow.radio_least = least(flow.radio_least, Some(rtt));
        self.sample(now, i);
        if over && let Some(id) = self.flows[i as usize].id.take() {
            let _ = self.control.control.close(now, id);
        }
    }

    /// Gives the control a sample of flow `i` if a round trip has passed since the last.
    fn sample(&mut self, now: Instant, i: u32) {
        let flow = &mut self.flows[i as usize];
        let Some(id) = flow.id else { return };
        if flow.wired.is_some_and(|rtt| now.since(flow.sampled_at) < rtt) {
            return;
        }
        if let Some(least) = flow.wired_least.take() {
            let smoothed = |old: Duration| {
                let (old, new) = (old.as_nanos(), least.as_nanos());
                Duration::from_nanos(old - old / GAIN + new / GAIN)
            };
            flow.wired = Some(flow.wired.map_or(least, smoothed));
        }
        let sample = Sample {
            arrived: flow.arrived,
            delivered: flow.delivered,
            wired_rtt: flow.wired,
            radio_rtt: flow.radio_least.take(),
            radio_smoothed: None,
            held: flow.held,
            waiting: flow.waiting,
        };
        (flow.arrived, flow.delivered, flow.sampled_at, flow.held) = (0, 0, now, false);
        let _ = self.control.on_sample(now, id, &sample);
    }

    /// A flow whose windows have changed; none if there are no more.
    #[inline(always)]
    pub(crate) fn change(&mut self) -> Option<(u32, Windows)> {
        self.control.poll_change()
    }

    /// Records an allocation that exceeds a cell by more than its floors.
    pub(crate) fn assert_load(&mut self, now: Instant) {
        if !self.bounded || self.broken.is_some() {
            return;
        }
        for (number, &cell) in self.cells.iter().enumerate() {
            let Load { rates, floors } = self.control.control.load(cell);
            if rates > 1.0 + floors + ROUNDING {
                self.broken = Some(format!(
                    "flows of the proxy may use at most a cell and their floors, cell {number} at \
                     {now:?}: {rates} > 1 + {floors}"
                ));
            }
        }
    }

    /// The first allocation that exceeded the cell, in words.
    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.clone()
    }
}

fn least(old: Option<Duration>, new: Option<Duration>) -> Option<Duration> {
    match (old, new) {
        (Some(old), Some(new)) => Some(old.min(new)),
        (old, new) => old.or(new),
    }
}
