//! Address prefixes of packet filters (TS 23.501 section 5.7.6.2: "Source/destination IP address or
//! IPv6 prefix").
//!
//! IPv4 prefixes are stored as IPv4-mapped IPv6 prefixes (RFC 4291 section 2.5.5.2), 96 bits
//! longer, like the addresses of a 5-tuple. An IPv6 prefix of that range therefore matches IPv4
//! addresses too, and `::/0` matches all.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use justfull_base::param::{Form, Param, TextForm};

/// Bits before the IPv4 address in an IPv4-mapped one.
const MAPPED_BITS: u8 = 96;

/// The first bits of an address, which a matching address shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: u128,
    /// 0 to 128.
    length: u8,
}

impl Prefix {
    /// True when the address begins with the prefix.
    #[must_use]
    pub fn contains(&self, address: &[u8; 16]) -> bool {
        let differing = self.address ^ u128::from_be_bytes(*address);
        u32::from(self.length) <= differing.leading_zeros()
    }
}

const ALLOWED: &str = "an IPv4 or IPv6 address or prefix such as 192.0.2.0/24 or 2001:db8::/32";

impl Param for Prefix {
    const UNIT: &'static str = "address or prefix";

    fn form() -> Form {
        Form::Text(TextForm::of::<Self>("^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$", ALLOWED))
    }

    fn written(&self) -> String {
        self.to_string()
    }
}

/// An address with the length of the prefix after a slash; without it only the address itself
/// matches.
impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| alloc::format!("{text:?} is not {ALLOWED}: {why}");
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong("there is no address"))?;
        let before = if address.is_ipv4() { MAPPED_BITS } else { 0 };
        let most = 128 - before;
        let length = match length {
            None => most,
            Some(digits) => digits
                .parse::<u8>()
                .ok()
                .filter(|length| *length <= most && digits.bytes().all(|b| b.is_ascii_digit()))
                .ok_or_else(|| wrong(&alloc::format!("the length is not 0 to {most}")))?,
        };
        let bytes = match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        let prefix = Self { address: u128::from_be_bytes(bytes), length: before + length };
        let host_bits = prefix.address.checked_shl(u32::from(prefix.length)).unwrap_or(0);
        if host_bits != 0 {
            return Err(wrong("bits after the prefix are set"));
        }
        Ok(prefix)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v6 = core::net::Ipv6Addr::from_bits(self.address);
        match v6.to_ipv4_mapped() {
            Some(v4) if self.length >= MAPPED_BITS => {
                write!(f, "{v4}/{}", self.length - MAPPED_BITS)
            }
            _ => write!(f, "{v6}/{}", self.length),
        }
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Prefix {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Prefix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn contains(prefix: &str, address: &str) -> bool {
        let address = match address.parse().expect("an address") {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        prefix.parse::<Prefix>().expect("a prefix").contains(&address)
    }

    #[test]
    fn a_prefix_matches_the_addresses_that_begin_with_it() {
        assert!(contains("192.0.2.0/24", "192.0.2.255") && !contains("192.0.2.0/24", "192.0.3.0"));
        assert!(contains("192.0.2.1", "192.0.2.1") && !contains("192.0.2.1", "192.0.2.2"));
        assert!(
            contains("2001:db8::/33", "2001:db8:7fff::1")
                && !contains("2001:db8::/33", "2001:db8:8000::1")
        );
        assert!(contains("0.0.0.0/0", "203.0.113.9") && !contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("::/0", "203.0.113.9") && contains("::/0", "2001:db8::1"));
    }

    #[test]
    fn a_bad_prefix_is_refused_by_reason() {
        for (text, word) in [
            ("192.0.2.0/33", "0 to 32"),
            ("::/129", "0 to 128"),
            ("192.0.2.0/+8", "0 to 32"),
            ("192.0.2.0/", "0 to 32"),
            ("192.0.2.1/24", "bits after"),
            ("::1/0", "bits after"),
            ("server", "no address"),
        ] {
            let error = text.parse::<Prefix>().expect_err(text);
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_prefix_is_written_as_it_is_read() {
        for text in ["192.0.2.0/24", "0.0.0.0/0", "2001:db8::/32", "::/0", "::fffe:0:0/95"] {
            assert_eq!(text.parse::<Prefix>().expect("a prefix").to_string(), text);
        }
    }
}
