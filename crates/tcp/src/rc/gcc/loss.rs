//! The loss part, and the target: the lower of its rate and the delay part's. Times are in seconds,
//! rates in bit/s.

use alloc::collections::VecDeque;

/// Time between looks at the losses, and least packets of a look.
const LOOK: f64 = 1.0;
const LEAST_PACKETS: u64 = 20;
/// Time at the start in which the delay part alone counts, without losses.
const START: f64 = 2.0;
/// The growth begins at the least rate of this time.
const HISTORY: f64 = 1.0;
/// Factor of the growth, and its addition.
const GROWTH: f64 = 1.08;
const GROWTH_MORE: f64 = 1_000.0;
/// Time between reductions, without an RTT.
const REDUCTION: f64 = 0.3;
/// Time after which a look is too old.
const OLD: f64 = 6.0;
/// Losses are counted in parts of 256.
const PARTS: u64 = 256;

/// A rate and its time.
#[derive(Clone, Copy, Debug)]
struct Past {
    at: f64,
    rate: f64,
}

/// State.
#[derive(Clone, Debug)]
pub(super) struct LossPart {
    low: f64,
    high: f64,
    least: f64,
    most: f64,
    rate: f64,
    /// Packets since the last look, and lost ones among them.
    packets: u64,
    lost: u64,
    next_look: f64,
    looked_at: Option<f64>,
    /// Loss of the last look, in parts of 256.
    loss: u64,
    reduced: bool,
    reduced_at: f64,
    first: Option<f64>,
    /// Rates of the last second, ascending.
    history: VecDeque<Past>,
    rtt: f64,
}

impl LossPart {
    /// A part with thresholds low and high, and rates least, at the start and most.
    pub(super) const fn new(thresholds: [f64; 2], rates: [f64; 3]) -> Self {
        let [low, high] = thresholds;
        let [least, start, most] = rates;
        Self {
            low,
            high,
            least,
            most,
            rate: start,
            packets: 0,
            lost: 0,
            next_look: 0.0,
            looked_at: None,
            loss: 0,
            reduced: false,
            reduced_at: f64::NEG_INFINITY,
            first: None,
            history: VecDeque::new(),
            rtt: 0.0,
        }
    }

    pub(super) const fn target(&self) -> f64 {
        self.rate
    }

    pub(super) const fn set_rtt(&mut self, rtt: f64) {
        self.rtt = rtt;
    }

    /// A packet is reported, as lost or not.
    pub(super) fn count(&mut self, lost: bool) {
        self.packets += 1;
        self.lost += u64::from(lost);
    }

    /// A report ends; `delay_part` is the delay part's rate.
    pub(super) fn update(&mut self, now: f64, delay_part: f64) {
        let first = *self.first.get_or_insert(now);
        if now >= self.next_look {
            self.next_look = now + LOOK;
            if self.packets >= LEAST_PACKETS {
                self.loss = (self.lost * PARTS / self.packets).min(PARTS - 1);
                (self.packets, self.lost, self.reduced) = (0, 0, false);
                self.looked_at = Some(now);
            }
        }
        if self.loss == 0 && now - first < START && delay_part > self.rate {
            self.history.clear();
            self.history.push_back(Past { at: now, rate: self.rate });
            return self.set(delay_part, delay_part);
        }
        self.remember(now);
        let rate = if self.looked_at.is_some_and(|at| now - at < OLD) {
            self.by_losses(now)
        } else {
            self.rate
        };
        self.set(rate, delay_part);
    }

    fn set(&mut self, rate: f64, delay_part: f64) {
        self.rate = rate.min(delay_part).clamp(self.least, self.most);
    }

    /// Keeps the least rates of the last second, ascending.
    fn remember(&mut self, now: f64) {
        while self.history.front().is_some_and(|past| now - past.at >= HISTORY) {
            self.history.pop_front();
        }
        while self.history.back().is_some_and(|past| self.rate <= past.rate) {
            self.history.pop_back();
        }
        self.history.push_back(Past { at: now, rate: self.rate });
    }

    fn by_losses(&mut self, now: f64) -> f64 {
        let loss = self.loss as f64 / PARTS as f64;
        if loss <= self.low {
            let least = self.history.front().map_or(self.rate, |past| past.rate);
            return GROWTH * least + GROWTH_MORE;
        }
        let waited = now - self.reduced_at >= REDUCTION + self.rtt;
        if loss > self.high && !self.reduced && waited {
            (self.reduced, self.reduced_at) = (true, now);
            return self.rate * (1.0 - loss / 2.0);
        }
        self.rate
    }
}
