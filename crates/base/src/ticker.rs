//! Periodic polls with phase, clock skew and lateness.
//!
//! The upper layers of a RAN run on general-purpose machines with soft real time: a poll may come
//! late or not at all. The lateness of tick k is a hash of (key, k), not the next draw of a
//! sequence. So idle ticks can be skipped without changing later ones, and the time of any future
//! tick is known.

use crate::bounds::{at_least, key};
use crate::doc::ParamDoc;
use crate::error::{ConfigError, ensure};
use crate::param::{Form, Param, written_table};
use crate::rng::mix;
use crate::time::{Duration, Instant};
use crate::units::Ratio;
use alloc::string::String;
use alloc::vec;

/// How late a poll is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "law", rename_all = "snake_case", deny_unknown_fields))]
pub enum Lateness {
    /// Every poll is on time.
    #[default]
    Exact,
    /// Late by a uniform time from 0 to `max`, at most one period.
    Uniform {
        /// The most a poll is late.
        max: Duration,
    },
    /// A poll does not happen at all with probability `probability`, below 1.
    Missed {
        /// Share of polls that do not happen.
        probability: Ratio,
    },
}

impl Param for Lateness {
    const UNIT: &'static str = "table";

    fn form() -> Form {
        let law =
            |name| ParamDoc { form: Form::Choice(vec![name]), ..key::<Ratio>("law", "Which law.") };
        let max = key::<Duration>("max", "The most a poll is late; at most one period.");
        let share = at_least::<(), Ratio>(Ratio(0.0)).below(Ratio(1.0));
        let share = share.describe("probability", None, None, "Share of polls that do not happen.");
        Form::OneOf(vec![
            Form::Table(vec![law("exact")]),
            Form::Table(vec![law("uniform"), max]),
            Form::Table(vec![law("missed"), share]),
        ])
    }

    fn allowed() -> String {
        "exact, uniform with max, missed with probability".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Exact => written_table(&[("law", "exact".into())]),
            Self::Uniform { max } => {
                written_table(&[("law", "uniform".into()), ("max", max.written())])
            }
            Self::Missed { probability } => {
                written_table(&[("law", "missed".into()), ("probability", probability.written())])
            }
        }
    }
}

/// Settings of a [`Ticker`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickerConfig {
    /// Nominal time between polls; at least 1 us.
    pub period: Duration,
    /// Time of the first poll, below one period.
    pub phase: Duration,
    /// Clock skew in parts per million, -1000 to 1000.
    pub skew_ppm: f64,
    /// How late polls are.
    pub lateness: Lateness,
    /// Key of the lateness hash.
    pub key: u64,
}

/// A sequence of polls. Cheap to copy; a copy has the same instants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticker {
    period_ns: f64,
    phase: Duration,
    lateness: Lateness,
    key: u64,
}

impl Ticker {
    /// A ticker with the settings of `config`.
    ///
    /// # Errors
    /// Names the field that is out of its bounds.
    pub fn new(config: &TickerConfig) -> Result<Self, ConfigError> {
        let us = Duration::from_micros(1);
        ensure(
            config.period >= us,
            "period",
            &config.period,
            "at least 1us",
            "finer polls are events, not polls",
        )?;
        ensure(
            config.phase < config.period,
            "phase",
            &config.phase,
            "below one period",
            "a phase is a share of a period",
        )?;
        let skew = config.skew_ppm;
        ensure(
            skew.is_finite() && skew.abs() <= 1000.0,
            "skew_ppm",
            &skew,
            "-1000 to 1000",
            "crystals keep 100 ppm",
        )?;
        match config.lateness {
            Lateness::Exact => {}
            Lateness::Uniform { max } => {
                ensure(
                    max <= config.period,
                    "lateness.max",
                    &max,
                    "at most one period",
                    "polls keep their order",
                )?;
            }
            Lateness::Missed { probability: Ratio(p) } => {
                ensure(
                    (0.0..1.0).contains(&p),
                    "lateness.probability",
                    &p,
                    "0 to below 1",
                    "some polls must happen",
                )?;
            }
        }
        let period_ns = config.period.as_nanos() as f64 * (1.0 + skew * 1e-6);
        Ok(Self { period_ns, phase: config.phase, lateness: config.lateness, key: config.key })
    }

    /// Time between polls with the skew applied.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns as u64)
    }

    /// Nominal time of tick `k`, before lateness.
    #[must_use]
    #[inline]
    pub fn nominal(&self, k: u64) -> Instant {
        Instant::ZERO + self.phase + Duration::from_nanos(whole(fraction(k) * self.period_ns))
    }

    /// When tick `k` happens; none when it is missed.
    #[must_use]
    #[inline(always)]
    pub fn at(&self, k: u64) -> Option<Instant> {
        let nominal = self.nominal(k);
        match self.lateness {
            Lateness::Exact => Some(nominal),
            Lateness::Uniform { max } => {
                Some(nominal + Duration::from_nanos(self.hash_below(k, max.as_nanos())))
            }
            Lateness::Missed { probability } => {
                let draw = (mix(self.key ^ mix(k)) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0);
                (draw >= probability.0).then_some(nominal)
            }
        }
    }

    #[inline(never)]
    fn hash_below(&self, k: u64, n: u64) -> u64 {
        ((u128::from(mix(self.key ^ mix(k))) * u128::from(n)) >> 64) as u64
    }

    /// The first tick with number `from` or later that happens at or after `t` (strictly after `t`
    /// with `strictly`), and its number.
    #[must_use]
    #[inline(always)]
    pub fn first(&self, from: u64, t: Instant, strictly: bool) -> (u64, Instant) {
        // A busy layer calls this for the tick after its last one: no tick was skipped, so no
        // search.
        match self.at(from) {
            Some(at) if at > t || (!strictly && at == t) => (from, at),
            _ if self.lateness == Lateness::Exact => self.search_exact(from, t, strictly),
            _ => self.search(from, t, strictly),
        }
    }

    /// The number of the last tick with a nominal time up to `t`, to within a rounding.
    #[inline(always)]
    fn number_at(&self, t: Instant) -> u64 {
        whole(fraction(t.since(Instant::ZERO + self.phase).as_nanos()) / self.period_ns)
    }

    /// A function of its own: the hashes of the other laws take registers, which a call must save
    /// and restore.
    #[inline(never)]
    fn search_exact(&self, from: u64, t: Instant, strictly: bool) -> (u64, Instant) {
        let k = self.number_at(t).max(from);
        first_from(k, t, strictly, |k| Some(self.nominal(k)))
    }

    #[inline(never)]
    fn search(&self, from: u64, t: Instant, strictly: bool) -> (u64, Instant) {
        // A tick with a nominal time before `t` may still come late: up to one period later, and
        // one more for the skew between the nominal period, which bounds the lateness, and the real
        // one.
        let back = if matches!(self.lateness, Lateness::Uniform { .. }) { 2 } else { 0 };
        let k = self.number_at(t).saturating_sub(back).max(from);
        first_from(k, t, strictly, |k| self.at(k))
    }

    /// Number of ticks that happen in the open interval between `after` and `before`, at most
    /// `most`.
    #[must_use]
    pub fn count_between(&self, after: Instant, before: Instant, most: u32) -> u32 {
        let mut count = 0;
        let mut next = self.first(0, after, true);
        while count < most && next.1 < before {
            count += 1;
            next = self.first(next.0 + 1, after, true);
        }
        count
    }
}

/// The first tick from `k` on that happens, by `at`, at or after `t` (strictly after `t` with
/// `strictly`), and its instant.
#[inline(always)]
fn first_from(
    mut k: u64,
    t: Instant,
    strictly: bool,
    at: impl Fn(u64) -> Option<Instant>,
) -> (u64, Instant) {
    loop {
        if let Some(at) = at(k)
            && (at > t || (!strictly && at == t))
        {
            return (k, at);
        }
        k += 1;
    }
}

/// `n`, below 2^63, as a float: the signed conversion is one instruction, the unsigned one seven.
#[inline]
const fn fraction(n: u64) -> f64 {
    n.cast_signed() as f64
}

/// The whole part of `x`, which is not negative and below 2^63; see [`fraction`].
#[inline]
const fn whole(x: f64) -> u64 {
    (x as i64).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticker(lateness: Lateness) -> Ticker {
        let config = TickerConfig {
            period: Duration::from_millis(1),
            phase: Duration::from_micros(300),
            skew_ppm: 50.0,
            lateness,
            key: 9,
        };
        Ticker::new(&config).expect("bounds are kept")
    }

    #[test]
    fn first_agrees_with_a_walk_over_all_ticks() {
        let laws = [
            Lateness::Exact,
            Lateness::Uniform { max: Duration::from_millis(1) },
            Lateness::Missed { probability: Ratio(0.4) },
        ];
        for law in laws {
            let t = ticker(law);
            for step in 0..400u64 {
                let now = Instant::from_nanos(step * 77_123);
                let found = t.first(0, now, false);
                let walked =
                    (0..1000).filter_map(|k| t.at(k).map(|at| (k, at))).find(|(_, at)| *at >= now);
                assert_eq!(Some(found), walked, "{law:?} at {now:?}");
            }
        }
    }

    #[test]
    fn skew_adds_up() {
        let t = ticker(Lateness::Exact);
        assert_eq!(t.nominal(1_000_000).as_nanos(), 300_000 + 1_000_050_000_000);
    }

    #[test]
    fn missed_polls_are_the_stated_share() {
        let t = ticker(Lateness::Missed { probability: Ratio(0.2) });
        let missed = (0..100_000).filter(|&k| t.at(k).is_none()).count();
        assert!((19_000..21_000).contains(&missed), "{missed}");
    }

    #[test]
    fn a_law_that_would_never_poll_is_refused() {
        let config = TickerConfig {
            period: Duration::from_millis(1),
            phase: Duration::ZERO,
            skew_ppm: 0.0,
            lateness: Lateness::Missed { probability: Ratio(1.0) },
            key: 0,
        };
        assert_eq!(Ticker::new(&config).map_err(|e| e.field), Err("lateness.probability".into()));
    }
}
