//! Growth in whole segments by a count, as in Linux (`bictcp_update`, `tcp_cong_avoid_ai`): one
//! segment for each `per_segment` acknowledged. This number follows from the curve, and is computed
//! anew when the window has changed or a 32nd of a second has passed. Times are ticks of a clock of
//! 250 Hz, the value of distributions; the cubic's time runs in 1024ths of a second.

use justfull_base::{Duration, Instant};

/// Ticks of the kernel's clock in a second (`HZ`).
const HZ: u64 = 250;
const TICK_NS: u64 = 1_000_000_000 / HZ;
/// Ticks for which the number stays valid while the window does not change (`HZ / 32`).
const KEPT: u64 = HZ / 32;
/// Before the first loss, most acknowledged segments for one segment of growth.
const FIRST_SEARCH: u64 = 20;

/// State.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    /// `beta` and `c` in 1024ths.
    beta: u64,
    c: u64,
    /// Acknowledged segments for one segment of growth.
    per_segment: u64,
    /// Acknowledged segments not yet used for growth.
    credit: u64,
    /// The window and the tick of the last update.
    last: Option<(u64, u64)>,
    /// The epoch: its first tick, the time of its plateau in 1024ths of a second, and the window
    /// there; none if it starts at the next acknowledgement.
    epoch: Option<(u64, u64, u64)>,
    /// Reno's window in this epoch, and acknowledged segments not yet used for it.
    reno: u64,
    reno_credit: u64,
}

fn tick(now: Instant) -> u64 {
    now.as_nanos() / TICK_NS
}

impl Count {
    pub(super) fn new(c: f64, beta: f64) -> Self {
        let in_1024ths = |x: f64| libm::round(x * 1024.0) as u64;
        Self {
            beta: in_1024ths(beta),
            c: in_1024ths(c).max(1),
            per_segment: 2,
            credit: 0,
            last: None,
            epoch: None,
            reno: 0,
            reno_credit: 0,
        }
    }

    /// A reduction: the next acknowledgement starts an epoch.
    pub(super) fn end_epoch(&mut self) {
        self.epoch = None;
        self.credit = 0;
    }

    /// Excludes a silence of `idle` until `now` from the growth.
    pub(super) fn shift(&mut self, now: Instant, idle: Duration) {
        if let Some((start, ..)) = &mut self.epoch {
            *start = (*start + idle.as_nanos() / TICK_NS).min(tick(now));
        }
    }

    /// `window` times beta, at least two segments.
    pub(super) fn threshold(&self, window: u64) -> u64 {
        (window * self.beta / 1024).max(2)
    }

    /// The maximum to remember for a flow that did not regain its last one.
    pub(super) fn given_up(&self, window: u64) -> u64 {
        window * (1024 + self.beta) / 2048
    }

    /// The window after `acked` segments. `w_max` is the window of the last reduction, 0 before the
    /// first.
    pub(super) fn grow(
        &mut self,
        now: Instant,
        min_rtt: Duration,
        window: u64,
        w_max: u64,
        acked: u64,
    ) -> u64 {
        self.update(tick(now), min_rtt, window, w_max, acked);
        let mut window = window;
        if self.credit >= self.per_segment {
            self.credit = 0;
            window += 1;
        }
        self.credit += acked;
        window += self.credit / self.per_segment;
        self.credit %= self.per_segment;
        window
    }

    fn update(&mut self, now: u64, min_rtt: Duration, window: u64, w_max: u64, acked: u64) {
        self.reno_credit += acked;
        let unchanged = |(last, at)| last == window && now - at <= KEPT;
        if self.epoch.is_some() && self.last.is_some_and(unchanged) {
            return;
        }
        let same_tick = self.epoch.is_some() && self.last.is_some_and(|(_, at)| at == now);
        if !same_tick {
            self.last = Some((window, now));
            self.follow_curve(now, min_rtt, window, w_max, acked);
        }
        // The growth of a Reno flow with an equal share.
        let share = 8 * (1024 + self.beta) / 3 / (1024 - self.beta);
        let step = (window * share / 8).max(1);
        while self.reno_credit > step {
            self.reno_credit -= step;
            self.reno += 1;
        }
        if self.reno > window {
            self.per_segment = self.per_segment.min(window / (self.reno - window));
        }
        self.per_segment = self.per_segment.max(2);
    }

    fn follow_curve(&mut self, now: u64, min_rtt: Duration, window: u64, w_max: u64, acked: u64) {
        let (start, k, plateau) = *self.epoch.get_or_insert_with(|| {
            (self.reno, self.reno_credit) = (window, acked);
            let below = w_max.saturating_sub(window);
            let k = libm::cbrt(((1u64 << 40) / self.c * below) as f64) as u64;
            (now, k, w_max.max(window))
        });
        // Linux adds nothing while it has no sample: all segments so far were sent again (Karn).
        let rtt = if min_rtt == Duration::MAX { 0 } else { min_rtt.as_nanos().div_ceil(TICK_NS) };
        let t = ((now - start).saturating_add(rtt) << 10) / HZ;
        let away = t.abs_diff(k);
        let delta = ((u128::from(self.c) * u128::from(away).pow(3)) >> 40) as u64;
        let target =
            if t < k { plateau.saturating_sub(delta) } else { plateau.saturating_add(delta) };
        self.per_segment = if target > window { window / (target - window) } else { 100 * window };
        if w_max == 0 {
            self.per_segment = self.per_segment.min(FIRST_SEARCH);
        }
    }
}
