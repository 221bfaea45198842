//! The Feedback Updater: the hold of each packet of one connection.

use super::teller::Told;
use super::{ZhugeConfig, ZhugePreset};
use justfull_base::{Duration, Instant, Rng};
use std::collections::VecDeque;

/// Longest change and longest hold of the release.
const MOST: Duration = Duration::from_millis(10);

/// Most changes of one kind that are kept; the oldest goes first.
const MOST_KEPT: usize = 1 << 16;

/// Changes of the last time, in order.
#[derive(Clone, Debug, Default)]
struct History {
    changes: VecDeque<(Instant, Duration)>,
}

impl History {
    fn push(&mut self, at: Instant, change: Duration) {
        if self.changes.len() == MOST_KEPT {
            self.changes.pop_front();
        }
        self.changes.push_back((at, change));
    }

    /// Takes the first change, if it is older than `age` at `now`.
    fn aged(&mut self, now: Instant, age: Duration) -> Option<(Instant, Duration)> {
        let (at, _) = self.changes.front()?;
        if now.since(*at) > age { self.changes.pop_front() } else { None }
    }

    fn len(&self) -> usize {
        self.changes.len()
    }

    /// One of the changes at random; none if there is none.
    fn draw(&self, rng: &mut Rng) -> Option<Duration> {
        let n = self.len() as u64;
        if n == 0 {
            return None;
        }
        self.changes.get(rng.below(n) as usize).map(|(_, change)| *change)
    }
}

/// Changes, and when the last packet left.
#[derive(Clone, Debug)]
pub(super) struct Updater {
    history: Duration,
    increases: History,
    tokens: History,
    last: Option<Told>,
    /// When the last held packet came, and when it left or leaves; none before the first.
    arrived: Option<Instant>,
    left: Instant,
    /// State of the program alone.
    released: Option<Released>,
}

/// Changes that no longer count in the program.
#[derive(Clone, Debug, Default)]
struct Released {
    /// Tokens that holds have used up.
    used: History,
    /// Changes of the window before.
    before: History,
}

impl Updater {
    pub(super) fn new(config: &ZhugeConfig) -> Self {
        let is_released = config.preset == ZhugePreset::AsReleased;
        Self {
            history: config.history,
            increases: History::default(),
            tokens: History::default(),
            last: None,
            arrived: None,
            left: Instant::ZERO,
            released: is_released.then(Released::default),
        }
    }

    /// Forgets what is too old at `now`.
    fn forget(&mut self, now: Instant) {
        let Self { history, increases, tokens, released, .. } = self;
        let Some(Released { used, before }) = released else {
            while increases.aged(now, *history).is_some() {}
            while tokens.aged(now, *history).is_some() {}
            return;
        };
        for changes in [increases, tokens, used] {
            while let Some((at, change)) = changes.aged(now, *history) {
                before.push(at, change);
            }
        }
        while before.aged(now, history.times(2)).is_some() {}
    }

    /// A packet of the connection arrives at `now` with this prediction (algorithm 1).
    pub(super) fn told(&mut self, now: Instant, told: &Told) {
        self.forget(now);
        let last = self.last.replace(*told);
        let (last, most) = match (last, &self.released) {
            (Some(last), None) => (last, None),
            (None, None) => return,
            (last, Some(_)) => (last.unwrap_or_default(), Some(MOST)),
        };
        if most.is_some() && told.bytes == 0 && last.bytes == 0 {
            return;
        }
        let at_most = |change: Duration| most.map_or(change, |most| change.min(most));
        if told.total >= last.total {
            self.increases.push(now, at_most(told.total.saturating_sub(last.total)));
        } else {
            self.tokens.push(now, at_most(last.total.saturating_sub(told.total)));
        }
    }

    /// When a packet that is received at `now` leaves (algorithm 2): not before `now`, nor before
    /// the packet before it.
    pub(super) fn release(&mut self, now: Instant, rng: &mut Rng) -> Instant {
        self.forget(now);
        self.left = match self.released {
            None => self.published(now, rng),
            Some(_) => self.as_released(now, rng),
        };
        self.arrived = Some(now);
        self.left
    }

    fn published(&mut self, now: Instant, rng: &mut Rng) -> Instant {
        let least = self.left.since(now);
        let mut hold = least + self.increases.draw(rng).unwrap_or_default();
        while let Some((_, token)) = self.tokens.changes.front_mut() {
            if *token > hold {
                *token = token.saturating_sub(hold);
                hold = Duration::ZERO;
                break;
            }
            hold = hold.saturating_sub(*token);
            self.tokens.changes.pop_front();
        }
        now + hold.max(least)
    }

    fn as_released(&mut self, now: Instant, rng: &mut Rng) -> Instant {
        let Some(arrived) = self.arrived else { return now };
        let left = if now > self.left {
            now + self.sample(rng).unwrap_or_default()
        } else {
            // Without a change the packet leaves together with the one before.
            let before = self.left.since(arrived);
            self.sample(rng).map_or(self.left, |hold| now + before + hold)
        };
        left.min(now + MOST)
    }

    /// A hold of the program; none without an increase.
    fn sample(&mut self, rng: &mut Rng) -> Option<Duration> {
        let mut hold = self.increases.draw(rng)?;
        let Some(Released { used, before }) = &mut self.released else { return Some(hold) };
        while let Some((at, token)) = self.tokens.changes.front_mut() {
            if *token < hold {
                hold = hold.saturating_sub(*token);
                used.push(*at, *token);
                self.tokens.changes.pop_front();
            } else {
                *token = token.saturating_sub(hold);
                hold = Duration::ZERO;
                break;
            }
        }
        let kept = used.len() + self.tokens.len() + self.increases.len();
        if before.len() > kept {
            hold = hold.scaled(kept as f64 / before.len() as f64);
        }
        Some(hold)
    }
}
