//! Fixed limit of a queue (tail drop).
//!
//! Source: RFC 7567 section 2 ("tail drop"); T20 section 5 and E19 section IV use fixed limits as
//! their baselines.
//!
//! Controls the amount that a queue may hold. A packet is admitted while backlog + packet <= limit;
//! the backlog counts waiting and reserved packets. If the queue is full, the discipline names the
//! victim.
//!
//! Default: 1024 packets, the RLC buffer that T20 states. Known weakness: any fixed limit is too
//! long at a low rate and too short at a high one; the delay it allows is limit / rate.
//!
//! Deviations: none. T20's released program drops a packet that finds more than 30 in the queue:
//! `31 packets` here.

use alloc::string::{String, ToString};
use alloc::vec;
use core::fmt;
use core::str::FromStr;
use justfull_base::Bytes;
use justfull_base::bounds::free;
use justfull_base::doc::MethodDoc;
use justfull_base::error::{ConfigError, ensure};
use justfull_base::param::{Form, Param, TextForm};
use justfull_base::units::UnitError;

/// The amount that a queue may hold, including the arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of packets, at least 1.
    Packets(u32),
    /// A number of bytes, at least 1.
    Bytes(u64),
    /// No limit except memory.
    Unlimited,
}

/// The limits listed by `justfull explain`.
pub const DOCS: &[&MethodDoc] = &[&TAIL_DROP];

/// Describes the fixed limit.
pub const TAIL_DROP: MethodDoc = MethodDoc {
    name: "tail_drop",
    kind: "limit",
    title: "Fixed limit of a queue in packets or in bytes",
    text: "A packet is admitted while the backlog and the packet together stay within the limit. \
           Where they do not, the discipline names the victim: the arriving packet (fifo), or the \
           last packet of the longest lane (sfq). The backlog counts waiting and reserved \
           packets. A limit in packets lets the delay grow with the size of packets; a limit in \
           bytes does not.",
    sources: "RFC 7567 section 2; T20 section 5; E19 section IV",
    deviations: "none",
    params: || {
        let text = "Most that the queue holds, the arriving packet included.";
        vec![free::<Limit, _>().describe("limit", None, Some(Limit::default()), text)]
    },
};

const ALLOWED: &str = "a limit such as \"1024 packets\", \"10MB\" or \"unlimited\"";

impl Default for Limit {
    fn default() -> Self {
        Self::Packets(1024)
    }
}

impl Limit {
    /// True if a packet of `size` bytes may join a backlog of `packets` and `bytes`.
    #[inline]
    #[must_use]
    pub fn admits(self, packets: u32, bytes: u64, size: u32) -> bool {
        match self {
            Self::Packets(most) => packets < most,
            Self::Bytes(most) => bytes.saturating_add(u64::from(size)) <= most,
            Self::Unlimited => true,
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// A limit of zero, which admits nothing.
    pub fn validate(self) -> Result<(), ConfigError> {
        self.check().map_err(|e| e.within("limit"))
    }
}

impl Param for Limit {
    const UNIT: &'static str = "packets or size";

    fn form() -> Form {
        Form::Text(TextForm::of::<Self>(
            r"^\s*([0-9]+\s*packets?|[0-9]+(\.[0-9]+)?\s*([kMG]|[KMG]i)?B|unlimited)\s*$",
            ALLOWED,
        ))
    }

    fn allowed() -> String {
        "at least 1 packet or 1B, or \"unlimited\"".into()
    }

    fn written(&self) -> String {
        self.to_string()
    }

    fn check(&self) -> Result<(), ConfigError> {
        let some = !matches!(self, Self::Packets(0) | Self::Bytes(0));
        let why = "a queue that admits nothing stops its flow";
        ensure(some, "", self, &Self::allowed(), why)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(1) => f.write_str("1 packet"),
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Bytes(n) => write!(f, "{}", Bytes(*n)),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl FromStr for Limit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { found: text.into(), allowed: ALLOWED };
        let trimmed = text.trim();
        if trimmed == "unlimited" {
            return Ok(Self::Unlimited);
        }
        if let Some(number) =
            trimmed.strip_suffix("packets").or_else(|| trimmed.strip_suffix("packet"))
        {
            return number.trim_end().parse().map(Self::Packets).map_err(|_| error());
        }
        trimmed.parse::<Bytes>().map(|b| Self::Bytes(b.0)).map_err(|_| error())
    }
}

#[cfg(feature = "serde")]
mod serde_impls {
    use super::{ALLOWED, Limit};
    use core::fmt;
    use serde::de::{Error, Unexpected, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    struct Text;

    impl Visitor<'_> for Text {
        type Value = Limit;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(ALLOWED)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Limit, E> {
            text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }

    impl<'de> Deserialize<'de> for Limit {
        fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            d.deserialize_str(Text)
        }
    }

    impl Serialize for Limit {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            s.collect_str(self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_limit_reads_back_what_it_writes() {
        for limit in
            [Limit::Packets(1), Limit::Packets(31), Limit::Bytes(10_000_000), Limit::Unlimited]
        {
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
        assert_eq!("10MB".parse(), Ok(Limit::Bytes(10_000_000)));
        assert_eq!("1024packets".parse(), Ok(Limit::Packets(1024)));
    }

    #[test]
    fn a_bare_number_and_a_negative_or_fractional_count_are_refused() {
        for bad in
            ["1024", "", "-1 packets", "1.5 packets", "packets", "unlimited packets", "10 boxes"]
        {
            assert!(bad.parse::<Limit>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_limit_of_thirty_one_packets_refuses_a_packet_that_finds_more_than_thirty() {
        assert!(Limit::Packets(31).admits(30, 0, 1500));
        assert!(!Limit::Packets(31).admits(31, 0, 1500));
    }

    #[test]
    fn a_limit_in_bytes_counts_the_packet_that_arrives() {
        assert!(Limit::Bytes(3000).admits(1, 1500, 1500));
        assert!(!Limit::Bytes(3000).admits(1, 1501, 1500));
    }

    #[test]
    fn a_limit_of_zero_is_refused() {
        assert_eq!(Limit::Bytes(0).validate().map_err(|e| e.field), Err("limit".into()));
        assert!(Limit::Packets(0).validate().is_err());
        assert!(Limit::default().validate().is_ok());
    }

    #[test]
    fn the_default_is_as_documented() {
        assert_eq!(Limit::default().to_string(), TAIL_DROP.params()[0].default);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_scenario_file_writes_a_limit_as_text() {
        let read = |text| serde_json::from_str::<Limit>(text).ok();
        assert_eq!(read("\"31 packets\""), Some(Limit::Packets(31)));
        assert_eq!(read("31"), None);
        assert_eq!(serde_json::to_string(&Limit::Unlimited).ok().as_deref(), Some("\"unlimited\""));
    }
}
