//! On-off sources: datagrams at a constant rate while on, nothing while off.
//!
//! On and off times are constant or exponential (a Markov-modulated source, the usual model of talk
//! spurts). A source starts in its stationary state, so that several sources of one scenario are
//! not in step.

use crate::traffic::{Interval, check_payload};
use justfull_base::bounds::key;
use justfull_base::error::ensure;
use justfull_base::param::{Form, Param, written_table};
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant, Rng, table};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A length of time, constant or random.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", untagged)]
pub enum Span {
    /// Constant.
    Constant(Duration),
    /// Exponential.
    Exponential {
        /// Its mean.
        exponential: Duration,
    },
}

impl Span {
    /// Mean length.
    #[must_use]
    pub const fn mean(&self) -> Duration {
        match *self {
            Self::Constant(mean) | Self::Exponential { exponential: mean } => mean,
        }
    }

    /// Draws a span.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        match *self {
            Self::Constant(length) => length,
            Self::Exponential { exponential } => exponential.scaled(rng.exponential()),
        }
    }
}

impl Param for Span {
    const UNIT: &'static str = "time, or { exponential = mean }";

    fn form() -> Form {
        let exponential = key::<Duration>("exponential", "Mean of an exponential law.");
        Form::OneOf(vec![Duration::form(), Form::Table(vec![exponential])])
    }

    fn allowed() -> String {
        "a mean of at least 1us".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Constant(length) => length.written(),
            Self::Exponential { exponential } => {
                written_table(&[("exponential", exponential.written())])
            }
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let mean = self.mean();
        ensure(mean >= Duration::from_micros(1), "", &mean, "at least 1us", "finer would not end")
    }
}

/// Reads a time, or a table with `exponential`.
struct SpanVisitor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExponentialLaw {
    exponential: Duration,
}

impl<'de> Visitor<'de> for SpanVisitor {
    type Value = Span;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time with its unit such as \"1s\", or { exponential = \"1s\" }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
        text.parse().map(Span::Constant).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Span, A::Error> {
        let law = ExponentialLaw::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(Span::Exponential { exponential: law.exponential })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(SpanVisitor)
    }
}

table! {
    /// Settings of datagrams at a constant rate.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct CbrConfig: "nothing would be sent" {
        /// Rate on the IP layer: 28 B of headers count.
        rate: BitRate where (above(BitRate(0)).and("a datagram per us at most", |_| true));
        /// Payload of each datagram.
        #[serde(default = "full_payload")]
        payload: Bytes = full_payload(), stated("1B to the MTU less 28B of headers");
    }
}

impl CbrConfig {
    /// Time between datagrams.
    #[must_use]
    pub fn interval(&self) -> Interval {
        Interval::Constant(
            self.rate.time_for_ceil(self.payload.0 + u64::from(super::UDP_HEADER_BYTES)),
        )
    }

    /// Checks every bound in a cell with this largest packet.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn fits(&self, mtu: u32) -> Result<(), ConfigError> {
        check_payload(self.payload, mtu)?;
        self.validate()?;
        let gap = self.interval().mean();
        ensure(
            gap >= Duration::from_micros(1),
            "rate",
            &self.rate,
            "a datagram per us at most",
            "finer would not end",
        )
    }
}

fn full_payload() -> Bytes {
    Bytes(1400)
}

table! {
    /// Settings of an on-off source.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct OnOffConfig {
        /// Rate while on, on the IP layer.
        rate: BitRate where (above(BitRate(0)).and("a datagram per us at most", |_| true));
        /// Payload of each datagram.
        #[serde(default = "full_payload")]
        payload: Bytes = full_payload(), stated("1B to the MTU less 28B of headers");
        /// Time on.
        on: Span;
        /// Time off.
        off: Span;
    }
}

impl OnOffConfig {
    /// The source while it is on.
    #[must_use]
    pub const fn cbr(&self) -> CbrConfig {
        CbrConfig { rate: self.rate, payload: self.payload }
    }

    /// Checks every bound in a cell with this largest packet.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn fits(&self, mtu: u32) -> Result<(), ConfigError> {
        self.cbr().fits(mtu)?;
        self.validate()
    }
}

/// Switches a source on and off.
#[derive(Clone, Debug)]
pub struct Gate {
    on: Span,
    off: Span,
    closes: Instant,
}

impl Gate {
    /// A gate in its stationary state at `start`, and the instant at which it is first open.
    pub fn new(on: Span, off: Span, start: Instant, rng: &mut Rng) -> (Self, Instant) {
        let cycle = on.mean() + off.mean();
        let at = cycle.scaled(rng.unit());
        // The rest of a constant time depends on its start; an exponential time has no memory.
        let left = |span: Span, passed: Duration, rng: &mut Rng| match span {
            Span::Constant(length) => length - passed,
            Span::Exponential { .. } => span.draw(rng),
        };
        let (opens, closes) = if at < on.mean() {
            (start, start + left(on, at, rng))
        } else {
            let opens = start + left(off, at - on.mean(), rng);
            (opens, opens + on.draw(rng))
        };
        (Self { on, off, closes }, opens)
    }

    /// The time at which a datagram due at `at` may be sent: at once while open, else when the gate
    /// opens again.
    pub fn pass(&mut self, mut at: Instant, rng: &mut Rng) -> Instant {
        while at >= self.closes {
            let opens = self.closes + self.off.draw(rng).max(Duration::from_nanos(1));
            at = at.max(opens);
            self.closes = opens + self.on.draw(rng);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_sent(on: Span, off: Span) -> f64 {
        let mut rng = Rng::stream(3, "gate");
        let (mut gate, mut at) = Gate::new(on, off, Instant::ZERO, &mut rng);
        let (gap, end) = (Duration::from_millis(1), Instant::ZERO + Duration::from_secs(2_000));
        let mut n = 0;
        while at < end {
            n += 1;
            at = gate.pass(at + gap, &mut rng);
        }
        f64::from(n) / 2e6
    }

    #[test]
    fn a_source_is_on_for_its_share_of_the_time() {
        let (two, three) = (Duration::from_millis(200), Duration::from_millis(300));
        let constant = share_sent(Span::Constant(two), Span::Constant(three));
        assert!((constant - 0.4).abs() < 0.005, "{constant}");
        let exponential = |mean| Span::Exponential { exponential: mean };
        let random = share_sent(exponential(two), exponential(three));
        assert!((random - 0.4).abs() < 0.015, "{random}");
    }

    #[test]
    fn a_constant_rate_counts_the_headers() {
        let cbr = CbrConfig { rate: BitRate(1_000_000), payload: Bytes(1222) };
        assert_eq!(cbr.interval(), Interval::Constant(Duration::from_millis(10)));
    }
}
