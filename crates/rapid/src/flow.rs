//! One flow: its samples, its category and demand (equations 5 to 10), its two windows.

use crate::config::{ActiveFlows, AllocateIn, Config, Periods, RadioRtt, RadioWindow, WindowRtt};
use crate::sample::{Category, FlowView, Opening, Sample, Windows};
use crate::slack::Greedy;
use justfull_base::{Duration, Instant};

/// Longest round trip accepted, in seconds.
const LONGEST_RTT: f64 = 10.0;
/// Largest window of TCP (RFC 7323 section 2.3).
const LARGEST_WINDOW: f64 = (1 << 30) as f64;

/// Weight of the newest round trip in the present one.
const PRESENT: f64 = 0.25;

/// Largest segment that TCP can agree on (RFC 9293 section 3.7.1).
const LARGEST_MSS: u32 = 65_535;

/// The change of windows that a sample requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Nothing,
    /// New windows for this flow.
    Resize,
    /// A new allocation for its UE.
    Allocate,
}

/// Round trips are in seconds, 0 while unknown; amounts in bytes per second or bytes of window
/// ([`AllocateIn`]).
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) ue: u32,
    /// Index in its UE's list.
    pub(crate) position: u32,
    mss: u32,
    pub(crate) category: Category,
    /// The windows last returned; if they differ from `windows`, the flow has a change to return.
    pub(crate) told: Option<Windows>,
    pub(crate) windows: Windows,
    /// The server's window before rounding, and the rest that rounding has left over.
    exact: f64,
    carry: f64,
    /// Allocation; none while unknown.
    amount: Option<f64>,
    /// Seconds that the loops over the radio's reports add to the radio leg's round trip.
    pub(crate) added: f64,
    /// The amount that a slow flow keeps.
    pub(crate) want: f64,
    /// Released capacity by equation 11 as printed.
    pub(crate) released: f64,
    demand: Option<f64>,
    /// Smallest server window since the last sample, and between the two before it.
    low: [u64; 2],
    /// [`Sample::held`] since the last sample, and between the two before it.
    held: [bool; 2],
    /// A whole window of the radio leg waited in the last sample.
    window_waited: bool,
    arrived: u64,
    sampled_at: Instant,
    /// End of the time whose allocation has been counted.
    due_at: Instant,
    /// Last data from the server, and last data on either leg.
    arrived_at: Instant,
    active_at: Instant,
    /// Round trips of this period so far, and its length.
    rtts: u32,
    period: u32,
    period_at: Instant,
    period_window: u64,
    wired: f64,
    wired_least: f64,
    radio_least: f64,
    /// Averages of the least of each period, and of each sample.
    radio_smoothed: f64,
    radio_present: f64,
    /// Smallest of this period.
    radio_period: f64,
    /// The UE has changed its cell: the next round trip of the radio leg replaces all before.
    other_radio: bool,
}

impl Flow {
    pub(crate) fn new(
        now: Instant,
        ue: u32,
        position: u32,
        opening: &Opening,
        rules: &Config,
    ) -> Self {
        let mut flow = Self {
            ue,
            position,
            mss: opening.mss.clamp(1, LARGEST_MSS),
            category: Category::New,
            told: None,
            windows: Windows { server: 0, radio: 0, reading: true },
            exact: 0.0,
            carry: 0.0,
            amount: None,
            added: 0.0,
            want: 0.0,
            released: 0.0,
            demand: None,
            low: [u64::MAX; 2],
            held: [false; 2],
            window_waited: false,
            arrived: 0,
            sampled_at: now,
            due_at: now,
            arrived_at: now,
            active_at: now,
            rtts: 0,
            period: 1,
            period_at: now,
            period_window: 0,
            wired: 0.0,
            wired_least: 0.0,
            radio_least: 0.0,
            radio_smoothed: 0.0,
            radio_present: 0.0,
            radio_period: 0.0,
            other_radio: false,
        };
        flow.measure(opening.wired_rtt, opening.radio_rtt);
        flow.resize(now, rules);
        flow
    }

    pub(crate) const fn view(&self) -> FlowView {
        FlowView { category: self.category, demand: self.demand, windows: self.windows }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.category != Category::Idle
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.category == Category::Slow
    }

    pub(crate) fn is_fast(&self) -> bool {
        self.category == Category::Fast
    }

    /// Takes round trips; true when something changed that the windows depend on.
    pub(crate) fn measure(&mut self, wired: Option<Duration>, radio: Option<Duration>) -> bool {
        let seconds = |rtt: Option<Duration>| {
            rtt.map(|d| d.as_secs_f64().min(LONGEST_RTT)).filter(|&s| s > 0.0)
        };
        let least = |old: f64, new: f64| if old > 0.0 { old.min(new) } else { new };
        let before = (self.wired_least, self.radio_least);
        if let Some(rtt) = seconds(wired) {
            self.wired = rtt;
            self.wired_least = least(self.wired_least, rtt);
        }
        if let Some(rtt) = seconds(radio) {
            if core::mem::take(&mut self.other_radio) {
                (self.radio_least, self.radio_period) = (0.0, 0.0);
                (self.radio_smoothed, self.radio_present) = (0.0, 0.0);
            }
            self.radio_least = least(self.radio_least, rtt);
            self.radio_period = least(self.radio_period, rtt);
            if self.radio_smoothed <= 0.0 {
                self.radio_smoothed = rtt;
            }
        }
        let bits = |(wired, radio): (f64, f64)| (wired.to_bits(), radio.to_bits());
        bits(before) != bits((self.wired_least, self.radio_least))
    }

    /// The UE changes its cell.
    pub(crate) const fn change_radio(&mut self) {
        self.other_radio = true;
    }

    /// Takes a sample's round trip and time for the loops. Returns the values that the loops need;
    /// none for a slow flow.
    pub(crate) fn greedy(&mut self, now: Instant, sample: &Sample) -> Option<Greedy> {
        let passed = now.since(core::mem::replace(&mut self.due_at, now)).as_secs_f64();
        if let Some(rtt) = sample.radio_smoothed.or(sample.radio_rtt) {
            let rtt = rtt.as_secs_f64().min(LONGEST_RTT);
            let old = if self.radio_present > 0.0 { self.radio_present } else { rtt };
            self.radio_present = old + PRESENT * (rtt - old);
        }
        (!self.is_slow()).then(|| Greedy {
            waits: sample.waiting > 0,
            wired: self.wired_least,
            least: self.radio_least,
            present: self.radio_present,
            passed,
            delivered: sample.delivered as f64,
            allocated: self.amount.unwrap_or(0.0) * passed,
        })
    }

    /// Takes a sample whose round trips are already measured.
    pub(crate) fn sample(&mut self, now: Instant, sample: &Sample, rules: &Config) -> Outcome {
        self.arrived = self.arrived.saturating_add(sample.arrived);
        let waiting = if rules.closes_loop() { sample.waiting } else { 0 };
        let window_waits = waiting >= self.windows.radio;
        let still_waits = core::mem::replace(&mut self.window_waited, window_waits) && window_waits;
        self.held[0] |= sample.held || waiting > 0;
        if sample.arrived > 0 {
            self.arrived_at = now;
        }
        if sample.arrived > 0 || sample.delivered > 0 {
            self.active_at = now;
            if self.category == Category::Idle {
                self.category = Category::New;
                self.demand = None;
                self.resume(now, rules);
                return Outcome::Allocate;
            }
        }
        if self.is_slow() && still_waits {
            // The server sends more than the window of the radio leg lets through, so the flow is
            // not slow.
            (self.category, self.want, self.released) = (Category::Fast, 0.0, 0.0);
            self.resume(now, rules);
            return Outcome::Allocate;
        }
        let interval = now.since(self.sampled_at).as_secs_f64();
        let early = self.wired <= 0.0 || interval <= 0.0 || interval < self.wired / 2.0;
        if early || self.category == Category::Idle {
            return Outcome::Nothing;
        }
        let rate = self.arrived as f64 / interval;
        let held = self.is_held();
        let low = self.start_sample(now);
        let nothing = if self.carry_over(rules) { Outcome::Resize } else { Outcome::Nothing };
        if held {
            self.arrived_at = now;
            return nothing;
        }
        if !self.windows.reading {
            return nothing;
        }
        self.average(rate, rules);
        self.rtts += 1;
        if self.rtts < self.period {
            return nothing;
        }
        self.categorise(now, rate, low, rules)
    }

    /// Equation 9.
    fn average(&mut self, rate: f64, rules: &Config) {
        let old = rules.old_weight;
        self.demand = Some(self.demand.map_or(rate, |demand| old * demand + (1.0 - old) * rate));
    }

    /// Begins a sample. Returns the smallest server window in force when the data that arrived by
    /// now was sent.
    fn start_sample(&mut self, now: Instant) -> u64 {
        let low = self.low[0].min(self.low[1]);
        self.low = [self.windows.server, self.low[0]];
        self.held = [false, self.held[0]];
        self.arrived = 0;
        self.sampled_at = now;
        low
    }

    /// From now on the server may send less than the window.
    pub(crate) const fn hold(&mut self) {
        self.held[0] = true;
    }

    /// True when data that arrives now may have been sent while the proxy had no room for more.
    fn is_held(&self) -> bool {
        self.held[0] || self.held[1]
    }

    /// Keeps the rest that rounding left over in the last round trip; true if there is any.
    fn carry_over(&mut self, rules: &Config) -> bool {
        if rules.unit.0 > 0 {
            return false;
        }
        let left = self.exact + self.carry - self.windows.server as f64;
        self.carry = left.clamp(0.0, self.mss.into());
        left > 0.0
    }

    /// Ends a period in which the flow last arrived at `rate` under a window of `low`.
    fn categorise(&mut self, now: Instant, rate: f64, low: u64, rules: &Config) -> Outcome {
        let before = (self.category, self.want.to_bits());
        let threshold = if self.is_slow() { rules.fast_threshold } else { rules.slow_threshold };
        // Equation 8 on the right.
        if rate < threshold * (low as f64 / self.wired) {
            // Equation 10: the ratio to the expected rate times the window, which is rate x RTT.
            let window = rules.slow_growth * self.demand.unwrap_or(0.0) * self.wired;
            let new = match rules.allocate_in {
                AllocateIn::Rate => window / self.window_rtt(rules),
                AllocateIn::Window => window,
            };
            self.category = Category::Slow;
            self.want = new;
            self.released = libm::fabs(self.amount.unwrap_or(new) - new);
        } else {
            self.category = Category::Fast;
            (self.want, self.released) = (0.0, 0.0);
        }
        if rules.reset_demand {
            self.demand = None;
        }
        if self.radio_period > 0.0 {
            let old = rules.radio_rtt_old_weight;
            self.radio_smoothed = old * self.radio_smoothed + (1.0 - old) * self.radio_period;
            self.radio_period = 0.0;
        }
        self.begin_period(now, rules);
        let as_before = (self.category, self.want.to_bits()) == before;
        let still_greedy = before.0 == Category::New && self.category == Category::Fast;
        if as_before || still_greedy { Outcome::Resize } else { Outcome::Allocate }
    }

    fn begin_period(&mut self, now: Instant, rules: &Config) {
        self.rtts = 0;
        self.period_at = now;
        self.period_window = self.windows.server;
        let segments = self.windows.server.div_ceil(u64::from(self.mss)).max(1);
        self.period = match rules.periods {
            Periods::Ceil => segments.next_power_of_two().ilog2() + 1,
            Periods::Linux => {
                let whole = (self.windows.server / u64::from(self.mss)).max(1).ilog2();
                whole + if self.category == Category::New { 2 } else { 1 }
            }
        };
    }

    /// Restarts samples and periods after a silence that does not show the flow's own rate.
    pub(crate) fn resume(&mut self, now: Instant, rules: &Config) {
        self.start_sample(now);
        (self.arrived_at, self.active_at) = (now, now);
        self.begin_period(now, rules);
    }

    /// When a flow that could have sent, and sent nothing, becomes slow.
    pub(crate) fn stall_at(&self, rules: &Config) -> Instant {
        let greedy = matches!(self.category, Category::New | Category::Fast);
        let free = self.windows.reading && !self.is_held();
        if !(rules.stall && greedy && free && self.wired > 0.0) {
            return Instant::NEVER;
        }
        let patience = (f64::from(self.period) + 0.5) * self.wired;
        self.arrived_at.max(self.period_at) + Duration::from_secs_f64(patience)
    }

    /// When the flow becomes idle if nothing happens to it.
    pub(crate) fn idle_at(&self, rules: &Config) -> Instant {
        let counts =
            rules.active == ActiveFlows::NotIdle && self.windows.reading && self.is_active();
        if counts { self.active_at + rules.idle } else { Instant::NEVER }
    }

    /// When the flow changes if nothing happens to it.
    pub(crate) fn deadline(&self, rules: &Config) -> Instant {
        self.stall_at(rules).min(self.idle_at(rules))
    }

    /// A sample without data, at the end of the period.
    pub(crate) fn stall(&mut self, now: Instant, rules: &Config) {
        self.average(0.0, rules);
        let low = self.start_sample(now);
        self.categorise(now, 0.0, low, rules);
    }

    /// The round trip of equation 4; 0 while unknown.
    pub(crate) fn window_rtt(&self, rules: &Config) -> f64 {
        match rules.window_rtt {
            WindowRtt::Wired => self.wired_least,
            WindowRtt::WiredAndRadio if self.wired_least > 0.0 => {
                self.wired_least + self.radio_least
            }
            WindowRtt::WiredAndRadio => 0.0,
        }
    }

    pub(crate) const fn wired_least(&self) -> f64 {
        self.wired_least
    }

    /// Minimum window in bytes.
    fn floor(&self, rules: &Config) -> f64 {
        (f64::from(rules.floor_segments) * f64::from(self.mss)).max(rules.floor.0 as f64)
    }

    /// The rate of the minimum window; 0 while the round trip is unknown.
    pub(crate) fn floor_rate(&self, rules: &Config) -> f64 {
        let rtt = self.window_rtt(rules);
        if rtt > 0.0 { self.floor(rules) / rtt } else { 0.0 }
    }

    /// The allocation that corresponds to a rate; none if it depends on an unknown round trip.
    pub(crate) fn amount_of(&self, rate: f64, rules: &Config) -> Option<f64> {
        match rules.allocate_in {
            AllocateIn::Rate => Some(rate),
            AllocateIn::Window => Some(rate * self.window_rtt(rules)).filter(|&w| w > 0.0),
        }
    }

    /// The rate in bytes per second that the server's window allows; none while unknown.
    pub(crate) fn rate(&self, rules: &Config) -> Option<f64> {
        let rtt = self.window_rtt(rules);
        (rtt > 0.0).then(|| self.windows.server as f64 / rtt)
    }

    /// A new allocation; true when the flow may read again.
    pub(crate) fn grant(
        &mut self,
        now: Instant,
        amount: Option<f64>,
        added: f64,
        reading: bool,
        rules: &Config,
    ) -> bool {
        (self.amount, self.added) = (amount, added);
        let resumes = reading && !self.windows.reading;
        self.windows.reading = reading;
        self.resize(now, rules);
        if resumes {
            self.resume(now, rules);
        }
        resumes
    }

    /// New windows from the allocation and the round trips.
    pub(crate) fn resize(&mut self, now: Instant, rules: &Config) {
        let mss = f64::from(self.mss);
        let (initial, floor) = (f64::from(rules.initial_window) * mss, self.floor(rules));
        let rtt = self.window_rtt(rules);
        let room = if self.is_slow() { f64::from(rules.room_segments) * mss } else { 0.0 };
        let (window, room) = match self.amount {
            _ if self.category == Category::Idle => (floor, 0.0),
            Some(amount) if rtt > 0.0 => match rules.allocate_in {
                AllocateIn::Rate => (amount * rtt, room),
                AllocateIn::Window => (amount, room),
            },
            _ => (initial.max(floor), 0.0),
        };
        self.exact = (window + room).clamp(floor, LARGEST_WINDOW);
        let server = self.rounded(rules);
        let radio_rtt = match rules.radio_rtt {
            RadioRtt::Smoothed => self.radio_smoothed.min(rules.radio_rtt_max * self.radio_least),
            RadioRtt::LeastEver => self.radio_least,
        };
        let slack = rules.radio_slack.as_secs_f64() + self.added;
        let ratio = match rules.radio_window {
            _ if rtt <= 0.0 || radio_rtt <= 0.0 => None,
            RadioWindow::RadioRtt => Some((radio_rtt + slack) / rtt),
            RadioWindow::RttRatio => Some((self.radio_least + slack) / self.wired_least),
            RadioWindow::ServerWindow => None,
        };
        let radio_floor = (f64::from(rules.radio_floor_segments) * mss).max(floor);
        let radio = match ratio {
            _ if rules.radio_window == RadioWindow::ServerWindow => server,
            Some(ratio) if rules.unit.0 == 0 => {
                // Both fit 32 bits, and a division of 32 bits is faster.
                let segments =
                    ((window * ratio + room).min(LARGEST_WINDOW) as u32).div_ceil(self.mss);
                u64::from(segments) * u64::from(self.mss)
            }
            Some(ratio) => (self.exact * ratio) as u64,
            None => self.exact.max(initial) as u64,
        };
        let radio = radio.clamp(radio_floor as u64, LARGEST_WINDOW as u64);
        (self.windows.server, self.windows.radio) = (server, radio);
        self.low[0] = self.low[0].min(server);
        // The window has more than doubled, and it takes more round trips to fill it.
        if server / 2 > self.period_window {
            self.begin_period(now, rules);
        }
    }

    /// The server's window in whole units, not below the floor.
    fn rounded(&self, rules: &Config) -> u64 {
        let floor = self.floor(rules) as u64;
        let units = |window: f64, unit: u64| (window as u64) / unit * unit;
        let window = match rules.unit.0 {
            // Both fit 32 bits, and a division of 32 bits is faster.
            0 => {
                let bytes = (self.exact + self.carry).min(LARGEST_WINDOW);
                u64::from(bytes as u32 / self.mss * self.mss)
            }
            unit if rules.round_up => {
                let most = units(LARGEST_WINDOW, unit);
                ((libm::ceil(self.exact) as u64).div_ceil(unit) * unit).min(most)
            }
            unit => units(self.exact, unit),
        };
        window.max(floor)
    }
}
