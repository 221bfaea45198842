//! A session: one UE.

use justfull_net::Prefix;
use justfull_rnis::{MOST_ADDRESSES, Malformed, cell_name, pool_name};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// Longest name of a session.
const LONGEST_ID: usize = 64;
/// Rates that a subscription may have, in bit/s.
const RATES: [u64; 2] = [1_000, 1_000_000_000_000];
const RATE: &str = "1 Kbps to 1 Tbps, such as \"50 Mbps\" (TS 29.571 table 5.5.2-1, BitRate)";

/// A session, as in a request and in the directory's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Session {
    /// Its name: 1 to 64 visible ASCII characters without `/`. In a request the name is in the
    /// path.
    #[serde(default)]
    pub(crate) id: String,
    /// Addresses or prefixes of the UE.
    pub(crate) ue: Vec<Prefix>,
    /// The pool of the addresses; left out if one pool alone has them.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "pool")]
    pub(crate) pool: Option<Arc<str>>,
    /// The cell of the UE; left out if reports name it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "name")]
    pub(crate) cell_id: Option<Arc<str>>,
    /// Most bit/s downlink (Session-AMBR, TS 23.501 section 5.7.1.8).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "rate")]
    pub(crate) ambr: Option<u64>,
}

mod name {
    use super::{Arc, Deserialize, Deserializer, Serialize, Serializer, cell_name};

    pub(super) fn serialize<S: Serializer>(
        cell: &Option<Arc<str>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        cell.as_deref().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Arc<str>>, D::Error> {
        let text = String::deserialize(from)?;
        cell_name(&text).map(Some).map_err(serde::de::Error::custom)
    }
}

mod pool {
    use super::{Arc, Deserialize, Deserializer, Serialize, Serializer, pool_name};

    pub(super) fn serialize<S: Serializer>(
        pool: &Option<Arc<str>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        pool.as_deref().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Arc<str>>, D::Error> {
        let text = String::deserialize(from)?;
        pool_name(&text).map(Some).map_err(serde::de::Error::custom)
    }
}

mod rate {
    use super::{Deserialize, Deserializer, Serializer, rate};

    pub(super) fn serialize<S: Serializer>(bits: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{} bps", bits.unwrap_or(0)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let text = String::deserialize(from)?;
        rate(&text).map(Some).map_err(serde::de::Error::custom)
    }
}

/// The bit/s of a text such as `50 Mbps`.
fn rate(text: &str) -> Result<u64, Malformed> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let times = match unit.trim() {
        "bps" => Some(1.0),
        "Kbps" => Some(1e3),
        "Mbps" => Some(1e6),
        "Gbps" => Some(1e9),
        "Tbps" => Some(1e12),
        _ => None,
    };
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite());
    let bits = times.zip(number).map(|(times, number)| (times * number).round() as u64);
    bits.filter(|bits| (RATES[0]..=RATES[1]).contains(bits)).ok_or_else(|| {
        let shown: String = text.chars().filter(|c| !c.is_control()).take(32).collect();
        format!("`ambr` is `{shown}`, allowed is {RATE}").into()
    })
}

impl Session {
    /// Reads the body of a request for the session `id`.
    ///
    /// # Errors
    /// The wrong field and what is allowed.
    pub(super) fn parse(id: &str, body: &[u8]) -> Result<Self, Malformed> {
        let session: Self = serde_json::from_slice(body)?;
        if !session.id.is_empty() && session.id != id {
            return Err("`id` is not the name in the path".into());
        }
        Self { id: id.to_owned(), ..session }.sound()
    }

    /// Reads a line of a file: a name, addresses or prefixes, optionally `pool=NAME`,
    /// `cell=NAME` and `ambr=50Mbps`, separated by blanks.
    ///
    /// # Errors
    /// The wrong part and what is allowed.
    pub(super) fn line(text: &str) -> Result<Self, Malformed> {
        let mut words = text.split_whitespace();
        let id = words.next().unwrap_or_default().to_owned();
        let mut session = Self { id, ue: Vec::new(), pool: None, cell_id: None, ambr: None };
        for word in words {
            if let Some(pool) = word.strip_prefix("pool=") {
                session.pool = Some(pool_name(pool)?);
            } else if let Some(cell) = word.strip_prefix("cell=") {
                session.cell_id = Some(cell_name(cell)?);
            } else if let Some(text) = word.strip_prefix("ambr=") {
                session.ambr = Some(rate(text)?);
            } else {
                let shown: String = word.chars().filter(|c| !c.is_control()).take(64).collect();
                let wrong = || {
                    format!("`{shown}` is no address, prefix, pool=NAME, cell=NAME or ambr=RATE")
                };
                session.ue.push(word.parse().map_err(|_| Malformed::from(wrong()))?);
            }
        }
        session.sound()
    }

    fn sound(self) -> Result<Self, Malformed> {
        let visible = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
        if !(1..=LONGEST_ID).contains(&self.id.len()) || !self.id.bytes().all(visible) {
            return Err(format!(
                "the session's name is not 1 to {LONGEST_ID} visible ASCII characters without `/`"
            )
            .into());
        }
        if !(1..=MOST_ADDRESSES).contains(&self.ue.len()) {
            let found = self.ue.len();
            return Err(
                format!("`ue` has {found} entries, allowed is 1 to {MOST_ADDRESSES}").into()
            );
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_from_a_body_and_from_a_line_and_written_as_it_is_read() {
        let body = br#"{"ue": ["10.45.0.1", "fd45::/64"], "cell_id": "east", "ambr": "50 Mbps"}"#;
        let session = Session::parse("imsi-1", body).expect("a session");
        assert_eq!((session.ue.len(), session.ambr), (2, Some(50_000_000)));
        let line = "imsi-1 10.45.0.1 fd45::/64 cell=east ambr=0.05Gbps";
        assert_eq!(Session::line(line), Ok(session.clone()));
        let body = br#"{"ue": ["10.45.0.1"], "pool": "blue"}"#;
        let pooled = Session::parse("imsi-2", body).expect("a session");
        assert_eq!(pooled.pool.as_deref(), Some("blue"));
        assert_eq!(Session::line("imsi-2 10.45.0.1 pool=blue"), Ok(pooled));
        let text = serde_json::to_string(&session).expect("it is written");
        assert_eq!(Session::parse("imsi-1", text.as_bytes()), Ok(session));
    }

    #[test]
    fn hostile_sessions_are_refused_with_the_field_and_what_is_allowed() {
        for (body, part) in [
            ("", "EOF"),
            ("[]", "invalid"),
            (r#"{"ue": []}"#, "0 entries, allowed is 1 to 16"),
            (r#"{"ue": ["10.0.0.300"]}"#, "10.0.0.300"),
            (r#"{"ue": ["10.0.0.1"], "ambr": "0 bps"}"#, "`0 bps`, allowed is 1 Kbps"),
            (r#"{"ue": ["10.0.0.1"], "ambr": "-1 Mbps"}"#, "allowed is 1 Kbps"),
            (r#"{"ue": ["10.0.0.1"], "ambr": "NaN Mbps"}"#, "allowed is 1 Kbps"),
            (r#"{"ue": ["10.0.0.1"], "ambr": 5}"#, "string"),
            (r#"{"ue": ["10.0.0.1"], "cell_id": "a\u0007"}"#, "visible ASCII"),
            (r#"{"ue": ["10.0.0.1"], "interface": "eth1"}"#, "interface"),
            (r#"{"id": "other", "ue": ["10.0.0.1"]}"#, "`id`"),
        ] {
            let why = Session::parse("x", body.as_bytes()).expect_err(body).to_string();
            assert!(why.contains(part), "{body}: {why}");
        }
        assert!(Session::parse("", br#"{"ue": ["10.0.0.1"]}"#).is_err());
        assert!(Session::parse(&"x".repeat(65), br#"{"ue": ["10.0.0.1"]}"#).is_err());
        for line in ["x", "x ten", "x 10.0.0.1 ambr=0bps", "x 10.0.0.1 cell=", "x 10.0.0.1 pool="] {
            assert!(Session::line(line).is_err(), "{line}");
        }
    }
}
