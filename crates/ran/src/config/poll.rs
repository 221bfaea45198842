//! Polls: their period, phase, skew and lateness.

use alloc::string::{String, ToString};
use alloc::vec;
use core::fmt;
use core::str::FromStr;
use justfull_base::param::{Form, Param};
use justfull_base::{ConfigError, Duration, Lateness, Rng, Ticker, TickerConfig, params};

/// Maximum skew drawn for a poll with random skew, in parts per million.
const RANDOM_SKEW_PPM: f64 = 50.0;

/// Time of the first poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Uniform over one period, from the run's seed.
    #[default]
    Random,
    /// At this time; below one period.
    Fixed(Duration),
}

/// Skew of the poll's clock relative to the run's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Skew {
    /// Uniform over -50 to 50 ppm, from the run's seed.
    #[default]
    Random,
    /// This many parts per million.
    Ppm(f64),
}

params! {
    /// A periodic poll.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PollConfig {
        /// Time between polls; "0s" for none: the layer acts at once on every arrival and every
        /// slot.
        period: Duration = Duration::ZERO;
        /// Time of the first poll.
        phase: Phase = Default::default();
        /// Clock skew.
        skew: Skew = Default::default();
        /// How late polls are.
        lateness: Lateness = Default::default();
    }
}

impl PollConfig {
    /// A poll every `period`, with random phase and skew, on time.
    #[must_use]
    pub const fn every(period: Duration) -> Self {
        Self { period, phase: Phase::Random, skew: Skew::Random, lateness: Lateness::Exact }
    }

    /// The ticker of the poll called `name` in the run with `seed`; none for a period of 0.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub fn ticker(&self, seed: u64, name: &str) -> Result<Option<Ticker>, ConfigError> {
        if self.period.is_zero() {
            return Ok(None);
        }
        let mut rng = Rng::stream(seed, name);
        let (phase, skew) = (rng.unit(), rng.unit() * 2.0 - 1.0);
        let phase = match self.phase {
            Phase::Random => Duration::from_nanos((phase * self.period.as_nanos() as f64) as u64),
            Phase::Fixed(at) => at,
        };
        let skew_ppm = match self.skew {
            Skew::Random => skew * RANDOM_SKEW_PPM,
            Skew::Ppm(ppm) => ppm,
        };
        let key = rng.next_u64();
        // A poll has no field with the ticker's name for the skew.
        let named = |e: ConfigError| {
            if e.field == "skew_ppm" { ConfigError { field: "skew".into(), ..e } } else { e }
        };
        Ticker::new(&TickerConfig {
            period: self.period,
            phase,
            skew_ppm,
            lateness: self.lateness,
            key,
        })
        .map(Some)
        .map_err(named)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::Fixed(at) => at.fmt(f),
        }
    }
}

impl Param for Phase {
    const UNIT: &'static str = "time or \"random\"";

    fn form() -> Form {
        Form::OneOf(vec![Form::Choice(vec!["random"]), Duration::form()])
    }

    fn allowed() -> String {
        "random, or below one period".into()
    }

    fn written(&self) -> String {
        self.to_string()
    }
}

impl Param for Skew {
    const UNIT: &'static str = "parts per million or \"random\"";

    fn form() -> Form {
        Form::OneOf(vec![Form::Choice(vec!["random"]), Form::Number])
    }

    fn allowed() -> String {
        "random, or -1000 to 1000".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Random => "random".into(),
            Self::Ppm(ppm) => ppm.to_string(),
        }
    }
}

impl FromStr for Phase {
    type Err = justfull_base::units::UnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "random" { Ok(Self::Random) } else { text.parse().map(Self::Fixed) }
    }
}

#[cfg(feature = "serde")]
mod serde_impls {
    use super::{Phase, Skew};
    use core::fmt;
    use serde::de::{Error, Unexpected, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    struct PhaseText;

    impl Visitor<'_> for PhaseText {
        type Value = Phase;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("\"random\" or a time such as \"3ms\"")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Phase, E> {
            text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }

    impl<'de> Deserialize<'de> for Phase {
        fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            d.deserialize_str(PhaseText)
        }
    }

    impl Serialize for Phase {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            s.collect_str(self)
        }
    }

    struct SkewValue;

    impl Visitor<'_> for SkewValue {
        type Value = Skew;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("\"random\" or parts per million from -1000 to 1000")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Skew, E> {
            if text == "random" {
                Ok(Skew::Random)
            } else {
                Err(E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        fn visit_f64<E: Error>(self, ppm: f64) -> Result<Skew, E> {
            Ok(Skew::Ppm(ppm))
        }
        fn visit_i64<E: Error>(self, ppm: i64) -> Result<Skew, E> {
            Ok(Skew::Ppm(ppm as f64))
        }
        fn visit_u64<E: Error>(self, ppm: u64) -> Result<Skew, E> {
            Ok(Skew::Ppm(ppm as f64))
        }
    }

    impl<'de> Deserialize<'de> for Skew {
        fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            d.deserialize_any(SkewValue)
        }
    }

    impl Serialize for Skew {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Random => s.serialize_str("random"),
                Self::Ppm(ppm) => s.serialize_f64(*ppm),
            }
        }
    }
}
