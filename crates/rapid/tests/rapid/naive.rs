//! The rules without loops, caches, counters and timers: each call computes everything anew.

use justfull_base::feedback::RanReport;
use justfull_base::{Duration, Instant};
use justfull_rapid::{Category, FlowId, Opening, Sample, Windows};

const WHOLE: f64 = 4_294_967_296.0;

#[derive(Clone)]
struct Flow {
    id: FlowId,
    mss: f64,
    category: Category,
    amount: f64,
    want: f64,
    demand: Option<f64>,
    /// Windows since the last sample, and in the two samples before.
    windows_now: Vec<u64>,
    windows_before: Vec<u64>,
    held: bool,
    held_before: bool,
    arrived: u64,
    sampled: Instant,
    last_arrival: Instant,
    last_data: Instant,
    rtts: u32,
    period: u32,
    period_start: Instant,
    period_window: u64,
    wired: Vec<f64>,
    radio: Vec<f64>,
    radio_period: Vec<f64>,
    radio_smoothed: f64,
    exact: f64,
    carry: f64,
    server: u64,
    radio_window: u64,
    reading: bool,
}

#[derive(Clone, Default)]
struct Ue {
    flows: Vec<Flow>,
    /// Own and free shares, useful rate.
    own: f64,
    free: f64,
    waste: f64,
    rate: f64,
    reported: bool,
    share: u64,
    /// The limit of its subscription, and whether the limit is below its part of the cell.
    most: Option<f64>,
    sated: bool,
    turn: usize,
    next_turn: usize,
    turn_end: Option<Instant>,
}

pub(crate) struct Naive {
    ues: Vec<Ue>,
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn seconds(rtt: Option<Duration>) -> Option<f64> {
    rtt.map(Duration::as_secs_f64).filter(|&s| s > 0.0)
}

impl Flow {
    fn active(&self) -> bool {
        self.category != Category::Idle
    }

    fn hungry(&self) -> bool {
        matches!(self.category, Category::New | Category::Fast)
    }

    fn floor(&self) -> f64 {
        2.0 * self.mss
    }

    fn floor_rate(&self) -> f64 {
        if self.wired.is_empty() { 0.0 } else { self.floor() / least(&self.wired) }
    }

    fn measure(&mut self, wired: Option<Duration>, radio: Option<Duration>) {
        self.wired.extend(seconds(wired));
        if let Some(rtt) = seconds(radio) {
            if self.radio.is_empty() {
                self.radio_smoothed = rtt;
            }
            self.radio.push(rtt);
            self.radio_period.push(rtt);
        }
    }

    fn start_sample(&mut self, now: Instant) {
        self.windows_before = std::mem::replace(&mut self.windows_now, vec![self.server]);
        (self.arrived, self.sampled) = (0, now);
        (self.held_before, self.held) = (self.held, false);
    }

    fn start_period(&mut self, now: Instant) {
        let segments = (self.server as f64 / self.mss).max(1.0);
        (self.rtts, self.period_start, self.period_window) = (0, now, self.server);
        self.period = segments.log2().ceil() as u32 + 1;
    }

    fn resume(&mut self, now: Instant) {
        self.start_sample(now);
        (self.last_arrival, self.last_data) = (now, now);
        self.start_period(now);
    }

    fn resize(&mut self, now: Instant) {
        let slow = self.category == Category::Slow;
        let (window, room) = if !self.active() {
            (self.floor(), 0.0)
        } else if self.wired.is_empty() {
            (10.0 * self.mss, 0.0)
        } else {
            (self.amount * least(&self.wired), if slow { self.mss } else { 0.0 })
        };
        self.exact = (window + room).clamp(self.floor(), 1_073_741_824.0);
        let segments = ((self.exact + self.carry) / self.mss).floor();
        self.server = (segments * self.mss).max(self.floor()) as u64;
        let radio = if self.wired.is_empty() || self.radio.is_empty() {
            self.exact.max(10.0 * self.mss)
        } else {
            let rtt = self.radio_smoothed.min(1.25 * least(&self.radio));
            ((window * (rtt / least(&self.wired)) + room).floor() / self.mss).ceil() * self.mss
        };
        self.radio_window = radio.clamp(self.floor(), 1_073_741_824.0) as u64;
        self.windows_now.push(self.server);
        if self.server / 2 > self.period_window {
            self.start_period(now);
        }
    }

    fn stall_at(&self) -> Option<Instant> {
        let free = self.reading && !self.held && !self.held_before;
        let rtt = self.wired.last().filter(|_| self.hungry() && free)?;
        let patience = Duration::from_secs_f64((f64::from(self.period) + 0.5) * rtt);
        Some(self.last_arrival.max(self.period_start) + patience)
    }

    /// The last rate of a period against the least window while its data was sent.
    fn judge(&mut self, now: Instant, rate: f64, low: u64) {
        let rtt = *self.wired.last().expect("a judged flow was measured");
        let threshold = if self.category == Category::Slow { 0.9 } else { 0.8 };
        if rate < threshold * (low as f64 / rtt) {
            self.category = Category::Slow;
            self.want = 1.2 * self.demand.unwrap_or(0.0) * rtt / least(&self.wired);
        } else {
            (self.category, self.want) = (Category::Fast, 0.0);
        }
        if !self.radio_period.is_empty() {
            let new = least(&self.radio_period);
            self.radio_smoothed = 0.75 * self.radio_smoothed + 0.25 * new;
            self.radio_period.clear();
        }
        self.start_period(now);
    }

    /// The inputs of an allocation.
    fn asks(&self) -> (bool, f64) {
        (self.hungry(), self.want)
    }

    fn low(&self) -> u64 {
        *self.windows_now.iter().chain(&self.windows_before).min().expect("a flow has windows")
    }

    fn average(&mut self, rate: f64) {
        self.demand = Some(self.demand.map_or(rate, |old| 0.125 * old + 0.875 * rate));
    }
}

impl Ue {
    fn useful(&self) -> f64 {
        self.rate * (1.0 - self.waste)
    }

    /// The share of the cell that the limit allows.
    fn most_share(&self) -> f64 {
        let most = self.most.unwrap_or(f64::INFINITY);
        if self.useful() > 0.0 { most / self.useful() } else { 1.0 }
    }
}

impl Naive {
    pub(crate) fn new(ues: usize) -> Self {
        Self { ues: vec![Ue::default(); ues] }
    }

    fn find(&mut self, id: FlowId) -> (usize, usize) {
        let find = |ue: &Ue| ue.flows.iter().position(|f| f.id == id);
        let ue = self.ues.iter().position(|ue| find(ue).is_some()).expect("open");
        (ue, find(&self.ues[ue]).expect("just found"))
    }

    pub(crate) fn view(&self, id: FlowId) -> (Category, Windows) {
        let flow = self.ues.iter().flat_map(|ue| &ue.flows).find(|f| f.id == id).expect("open");
        let windows =
            Windows { server: flow.server, radio: flow.radio_window, reading: flow.reading };
        (flow.category, windows)
    }

    pub(crate) fn open(&mut self, now: Instant, ue: usize, id: FlowId, opening: &Opening) {
        let mut flow = Flow {
            id,
            mss: f64::from(opening.mss),
            category: Category::New,
            amount: 0.0,
            want: 0.0,
            demand: None,
            windows_now: Vec::new(),
            windows_before: vec![u64::MAX],
            arrived: 0,
            held: false,
            held_before: false,
            sampled: now,
            last_arrival: now,
            last_data: now,
            rtts: 0,
            period: 1,
            period_start: now,
            period_window: 0,
            wired: Vec::new(),
            radio: Vec::new(),
            radio_period: Vec::new(),
            radio_smoothed: 0.0,
            exact: 0.0,
            carry: 0.0,
            server: 0,
            radio_window: 0,
            reading: true,
        };
        flow.measure(opening.wired_rtt, opening.radio_rtt);
        // Before it has a share, a flow has the initial window.
        let wired = std::mem::take(&mut flow.wired);
        flow.resize(now);
        flow.wired = wired;
        self.ues[ue].flows.push(flow);
        self.allocate(now, ue);
    }

    pub(crate) fn close(&mut self, now: Instant, id: FlowId) {
        let (ue, flow) = self.find(id);
        self.ues[ue].flows.swap_remove(flow);
        self.allocate(now, ue);
    }

    pub(crate) fn limit(&mut self, now: Instant, ue: usize, most: Option<f64>) {
        self.ues[ue].most = most;
        self.allocate(now, ue);
    }

    pub(crate) fn report(&mut self, now: Instant, ue: usize, report: &RanReport) {
        let state = &mut self.ues[ue];
        let new = if state.reported { 0.001 / (0.001 + 0.02) } else { 1.0 };
        let offered = report.offered as f64;
        let average = |old: &mut f64, value: f64| *old += new * (value - *old);
        average(&mut state.own, report.blocks as f64 / offered);
        average(&mut state.free, (report.offered - report.used) as f64 / offered);
        if report.blocks > 0 {
            average(&mut state.waste, report.repeats as f64 / report.blocks as f64);
        }
        (state.rate, state.reported) = (offered / 0.001, true);
        self.allocate(now, ue);
    }

    pub(crate) fn sample(&mut self, now: Instant, id: FlowId, sample: &Sample) {
        let (ue, at) = self.find(id);
        let flow = &mut self.ues[ue].flows[at];
        flow.measure(sample.wired_rtt, sample.radio_rtt);
        flow.arrived += sample.arrived;
        flow.held |= sample.held;
        if sample.arrived > 0 {
            flow.last_arrival = now;
        }
        if sample.arrived > 0 || sample.delivered > 0 {
            flow.last_data = now;
            if !flow.active() {
                (flow.category, flow.demand) = (Category::New, None);
                flow.resume(now);
                return self.allocate(now, ue);
            }
        }
        let interval = now.since(flow.sampled).as_secs_f64();
        let due = flow.wired.last().is_some_and(|rtt| interval > 0.0 && interval >= rtt / 2.0);
        if !due || !flow.active() {
            return flow.resize(now);
        }
        let (rate, low) = (flow.arrived as f64 / interval, flow.low());
        let held = flow.held || flow.held_before;
        flow.start_sample(now);
        flow.carry = (flow.exact + flow.carry - flow.server as f64).clamp(0.0, flow.mss);
        if held {
            flow.last_arrival = now;
        } else if flow.reading {
            flow.average(rate);
            flow.rtts += 1;
            if flow.rtts >= flow.period {
                let before = flow.asks();
                flow.judge(now, rate, low);
                if flow.asks() != before {
                    return self.allocate(now, ue);
                }
            }
        }
        flow.resize(now);
    }

    pub(crate) fn tick(&mut self, now: Instant) {
        for ue in 0..self.ues.len() {
            let state = &mut self.ues[ue];
            let mut changed = false;
            if state.turn_end.is_some_and(|end| now >= end) {
                (state.turn, state.turn_end, changed) = (state.next_turn, None, true);
            }
            for flow in &mut state.flows {
                if flow.stall_at().is_some_and(|at| at <= now) {
                    flow.average(0.0);
                    let low = flow.low();
                    flow.start_sample(now);
                    flow.judge(now, 0.0, low);
                    changed = true;
                }
                let silent = now.since(flow.last_data) >= Duration::from_secs(1);
                if silent && flow.active() && flow.reading {
                    flow.category = Category::Idle;
                    changed = true;
                }
            }
            if changed {
                self.allocate(now, ue);
            }
        }
    }

    /// The share of the cell that `ue` gets, in 2^-32.
    fn share(&self, ue: usize) -> u64 {
        let active = |u: &Ue| u.flows.iter().any(Flow::active);
        let wants = |u: &Ue| u.flows.iter().any(Flow::hungry);
        let hungry = |u: &Ue| wants(u) && !u.sated;
        let state = &self.ues[ue];
        if !active(state) || !state.reported {
            return 0;
        }
        let with_traffic = self.ues.iter().filter(|u| active(u)).count() as u64;
        let part = (1 << 32) / with_traffic;
        let blocks = state.own + state.free / with_traffic as f64;
        let mut share = (blocks * WHOLE) as u64;
        if wants(state) {
            share = share.max(part);
        }
        share = share.min((state.most_share() * WHOLE) as u64);
        let others = || self.ues.iter().enumerate().filter(|&(i, _)| i != ue).map(|(_, u)| u);
        if share > part {
            let reserved = others().map(|u| if hungry(u) { part } else { u.share }).sum::<u64>();
            share = share.min((1_u64 << 32).saturating_sub(reserved)).max(part);
        }
        share.min((1 << 32) - others().map(|u| u.share).sum::<u64>())
    }

    fn allocate(&mut self, now: Instant, index: usize) {
        let active = |u: &&Ue| u.flows.iter().any(Flow::active);
        let with_traffic = self.ues.iter().filter(active).count();
        let state = &self.ues[index];
        self.ues[index].sated =
            active(&state) && state.reported && state.most_share() * (with_traffic as f64) < 1.0;
        self.ues[index].share = self.share(index);
        let ue = &mut self.ues[index];
        if !ue.flows.iter().any(Flow::active) {
            ue.turn_end = None;
        }
        let capacity = ue.share as f64 / WHOLE * ue.useful();
        let capacity = capacity.min(ue.most.unwrap_or(f64::INFINITY));
        let active = ue.flows.iter().filter(|f| f.active()).count();
        let share = capacity / active.max(1) as f64;
        let slow = ue.flows.iter().filter(|f| f.category == Category::Slow);
        let released: f64 = slow.clone().map(|f| (share - f.want.min(share)).max(0.0)).sum();
        let others = active - slow.count();
        let extra = if others > 0 { released / others as f64 } else { 0.0 };
        let floors: f64 = ue.flows.iter().filter(|f| f.active()).map(Flow::floor_rate).sum();
        let in_turn = active > 1 && floors > capacity;
        let readers = readers(ue, capacity, in_turn);
        let longest = ue.flows.iter().filter(|f| f.active() && !f.wired.is_empty());
        let longest = longest.map(|f| least(&f.wired)).fold(0.01, f64::max);
        ue.turn_end = match ue.turn_end {
            _ if !in_turn => None,
            None => Some(now + Duration::from_secs_f64(longest)),
            end => end,
        };
        for (flow, reads) in ue.flows.iter_mut().zip(readers) {
            let slow = flow.category == Category::Slow;
            flow.amount = if slow { flow.want.min(share) } else { share + extra };
            let resumes = reads && !flow.reading;
            flow.reading = reads;
            flow.resize(now);
            if resumes {
                flow.resume(now);
            }
        }
    }
}

/// The flows that may read; notes the first of the next turn.
fn readers(ue: &mut Ue, capacity: f64, in_turn: bool) -> Vec<bool> {
    let count = ue.flows.len();
    let mut reads = vec![true; count];
    let first = if in_turn { ue.turn } else { 0 };
    ue.next_turn = first;
    let (mut used, mut seen, mut stopped) = (0.0, 0, false);
    let order = (first.min(count)..count).chain(0..first.min(count));
    for at in order.filter(|_| in_turn) {
        let flow = &ue.flows[at];
        if flow.active() {
            if !stopped && seen > 0 && flow.floor_rate() > capacity - used {
                (stopped, ue.next_turn) = (true, at);
            }
            used += flow.floor_rate();
            seen += 1;
            reads[at] = !stopped;
        }
    }
    reads
}
