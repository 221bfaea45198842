//! Zhuge written down plainly: the paper's algorithms 1 and 2 and figure 6, and the program's
//! `network-queue-zhuge.cc` and `delta-delay.cc`. Slow: each step goes over all that is kept. Times
//! are in us where a clock is read and in ns where they are results.

use super::super::{ZhugeConfig, ZhugePreset};
use justfull_base::{Duration, Rng};

/// The queue of a UE, and all its departures.
pub(super) struct Queue {
    preset: ZhugePreset,
    window: usize,
    least: f64,
    waiting: u64,
    front_since: u64,
    /// Bytes that departed in each millisecond, and those that waited at its end.
    ticks: Vec<(u64, u64)>,
    sent: u64,
    /// The last rate and gap of a window that was not idle.
    kept: (f64, f64),
}

impl Queue {
    pub(super) fn new(config: &ZhugeConfig) -> Self {
        Self {
            preset: config.preset,
            window: (config.window.as_nanos() / 1_000_000) as usize,
            least: config.least_rate.0 as f64,
            waiting: 0,
            front_since: 0,
            ticks: Vec::new(),
            sent: 0,
            kept: (0.0, 0.0),
        }
    }

    fn last_ticks(&self) -> &[(u64, u64)] {
        &self.ticks[self.ticks.len().saturating_sub(self.window)..]
    }

    fn pass(&mut self, now: u64) {
        while self.ticks.len() as u64 * 1_000 + 1_000 <= now {
            self.ticks.push((self.sent, self.waiting));
            self.sent = 0;
            let last = self.last_ticks();
            let bits: u64 = last.iter().map(|(sent, _)| sent * 8).sum();
            let sending = last.iter().filter(|(sent, _)| *sent > 0).count() as u64;
            let idle = last.iter().filter(|(sent, left)| *sent == 0 && *left == 0).count() as u64;
            let active = last.len() as u64 - idle;
            if active == 0 {
                continue;
            }
            self.kept = match self.preset {
                ZhugePreset::AsPublished => (
                    bits as f64 / (active as f64 * 1e-3),
                    (active * 1_000_000)
                        .checked_div(sending)
                        .unwrap_or(self.window as u64 * 1_000_000) as f64,
                ),
                ZhugePreset::AsReleased => (
                    (1000 * (bits / (self.window as u64 - idle))) as f64,
                    (1000 * active).checked_div(sending).unwrap_or(self.window as u64 * 1000)
                        as f64
                        * 1e3,
                ),
            };
        }
    }

    pub(super) fn entered(&mut self, now: u64, size: u32) {
        self.pass(now);
        if self.waiting == 0 {
            self.front_since = now;
        }
        self.waiting += u64::from(size);
    }

    pub(super) fn departed(&mut self, now: u64, size: u32) {
        self.dropped(now, size);
        self.sent += u64::from(size);
        self.front_since = now;
    }

    pub(super) fn dropped(&mut self, now: u64, size: u32) {
        self.pass(now);
        self.waiting -= u64::from(size);
    }

    pub(super) fn tell(&mut self, now: u64) -> Duration {
        self.pass(now);
        let (rate, gap) = (self.kept.0.max(self.least), self.kept.1);
        match self.preset {
            ZhugePreset::AsPublished => {
                let burst = self.last_ticks().iter().map(|(sent, _)| *sent).max().unwrap_or(0);
                let long = self.waiting.saturating_sub(burst) as f64 * 8.0 / rate;
                let short = if self.waiting > 0 { now - self.front_since } else { 0 };
                Duration::from_secs_f64(long)
                    + Duration::from_micros(short)
                    + Duration::from_nanos(gap as u64)
            }
            ZhugePreset::AsReleased => {
                let long = (1000.0 * ((self.waiting * 8) as f64 / rate)) as u64;
                Duration::from_millis(long + gap as u64 / 1_000_000)
            }
        }
    }
}

/// The feedback of one connection.
pub(super) struct Feedback {
    preset: ZhugePreset,
    /// Whole lists, each entry with its instant in us and its length in ns.
    deltas: Vec<(u64, i64)>,
    tokens: Vec<(u64, i64)>,
    pop_tokens: Vec<(u64, i64)>,
    last_window: Vec<(u64, i64)>,
    last: Option<(i64, u64)>,
    last_arrival: Option<u64>,
    /// In ns.
    last_sent: i64,
}

const TEN_MS: i64 = 10_000_000;

impl Feedback {
    pub(super) fn new(preset: ZhugePreset) -> Self {
        let [deltas, tokens, pop_tokens, last_window] = [(); 4].map(|()| Vec::new());
        let (last, last_arrival, last_sent) = (None, None, 0);
        Self { preset, deltas, tokens, pop_tokens, last_window, last, last_arrival, last_sent }
    }

    fn clear_aged(&mut self, now: u64) {
        for list in [&mut self.deltas, &mut self.tokens, &mut self.pop_tokens] {
            while list.first().is_some_and(|(at, _)| now - at > 40_000) {
                let aged = list.remove(0);
                self.last_window.push(aged);
            }
        }
        while self.last_window.first().is_some_and(|(at, _)| now - at > 80_000) {
            self.last_window.remove(0);
        }
    }

    pub(super) fn told(&mut self, now: u64, total: u64, bytes: u64) {
        self.clear_aged(now);
        let total = total.cast_signed();
        let before = self.last.replace((total, bytes));
        let most = if self.preset == ZhugePreset::AsReleased { TEN_MS } else { i64::MAX };
        let delta = match before {
            None if self.preset == ZhugePreset::AsPublished => return,
            None if bytes == 0 => return,
            None => total,
            Some((_, 0)) if self.preset == ZhugePreset::AsReleased && bytes == 0 => return,
            Some((before, _)) => total - before,
        };
        if delta >= 0 {
            self.deltas.push((now, delta.min(most)));
        } else {
            self.tokens.push((now, (-delta).min(most)));
        }
    }

    pub(super) fn release(&mut self, now: u64, rng: &mut Rng) -> u64 {
        self.clear_aged(now);
        let at = now.cast_signed() * 1_000;
        let sent = match self.preset {
            ZhugePreset::AsPublished => self.algorithm_2(at, rng),
            ZhugePreset::AsReleased => self.on_recv_snddev(at, rng),
        };
        (self.last_arrival, self.last_sent) = (Some(now), sent);
        sent as u64
    }

    fn algorithm_2(&mut self, at: i64, rng: &mut Rng) -> i64 {
        let least = (self.last_sent - at).max(0);
        let mut actual = least;
        if !self.deltas.is_empty() {
            actual += self.deltas[rng.below(self.deltas.len() as u64) as usize].1;
        }
        while !self.tokens.is_empty() {
            if self.tokens[0].1 > actual {
                self.tokens[0].1 -= actual;
                actual = 0;
                break;
            }
            actual -= self.tokens.remove(0).1;
        }
        at + actual.max(least)
    }

    fn on_recv_snddev(&mut self, at: i64, rng: &mut Rng) -> i64 {
        let Some(last_arrival) = self.last_arrival else { return at };
        let sent = if at > self.last_sent {
            at + self.sample_delta_delay(0, rng)
        } else {
            let sent = at + self.last_sent - last_arrival.cast_signed() * 1_000;
            sent + self.sample_delta_delay(self.last_sent - sent, rng)
        };
        sent.min(at + TEN_MS)
    }

    fn sample_delta_delay(&mut self, least: i64, rng: &mut Rng) -> i64 {
        if self.deltas.is_empty() {
            return least;
        }
        let sampled = self.deltas[rng.below(self.deltas.len() as u64) as usize].1;
        let mut res = sampled.max(least);
        while !self.tokens.is_empty() {
            let (_, token) = self.tokens[0];
            if token < res {
                res -= token;
                let used = self.tokens.remove(0);
                self.pop_tokens.push(used);
            } else {
                self.tokens[0].1 = token - res;
                res = 0;
                break;
            }
        }
        let kept = self.pop_tokens.len() + self.tokens.len() + self.deltas.len();
        if self.last_window.len() > kept {
            res = (kept as f64 / self.last_window.len() as f64 * res as f64).round() as i64;
        }
        assert!(res <= TEN_MS);
        res
    }
}
