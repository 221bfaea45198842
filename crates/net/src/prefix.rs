//! Address prefixes and ranges of ports, as a configuration writes them.

use justfull_base::param::{Form, Param, TextForm};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The addresses that share their first `length` bits with `address`, whose other bits are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The notations of an address.
    const ALLOWED: &'static str =
        "an address or a prefix without bits beyond its length, such as 10.45.0.0/16 or fd45::/64";

    /// The prefix of `length` bits that contains `address`; a longer length counts as all bits.
    #[must_use]
    pub fn of(address: IpAddr, length: u8) -> Self {
        let address = plain(address);
        match address {
            IpAddr::V4(v4) => {
                let length = length.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Self { address: IpAddr::V4((u32::from(v4) & mask).into()), length }
            }
            IpAddr::V6(v6) => {
                let length = length.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Self { address: IpAddr::V6((u128::from(v6) & mask).into()), length }
            }
        }
    }

    /// Its first address.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Bits that its addresses share.
    #[must_use]
    pub const fn bits(&self) -> u8 {
        self.length
    }
}

/// An IPv4 address in IPv6 notation (RFC 4291, section 2.5.5.2) becomes IPv4.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u8>().map_err(|_| ())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(most);
        let prefix = Self::of(address, length);
        if length <= most && prefix.address == address { Ok(prefix) } else { Err(()) }
    }
}

/// Ports from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Ports {
    const ALLOWED: &'static str = "a port or a range of ports, 1 to 65535, such as \"443\" or \
                                   \"8000-8100\"";
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

impl FromStr for Ports {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().map_err(|_| ());
        let (first, last) = (port(first)?, port(last)?);
        if 0 < first && first <= last { Ok(Self { first, last }) } else { Err(()) }
    }
}

macro_rules! written {
    ($type:ty, $unit:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                text.parse()
                    .map_err(|()| D::Error::invalid_value(Unexpected::Str(&text), &Self::ALLOWED))
            }
        }

        impl Param for $type {
            const UNIT: &'static str = $unit;

            fn form() -> Form {
                Form::Text(TextForm { words: Self::ALLOWED, ..TextForm::ANY })
            }

            fn allowed() -> String {
                Self::ALLOWED.into()
            }

            fn written(&self) -> String {
                self.to_string()
            }
        }
    };
}

written!(Prefix, "prefix");
written!(Ports, "ports");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_ports_are_read_as_written_and_others_refused() {
        for text in ["10.45.0.0/16", "fd45::/64", "0.0.0.0/0", "::/0", "10.0.0.1/32", "fd45::1/128"]
        {
            let prefix: Prefix = text.parse().expect(text);
            assert_eq!(prefix.to_string(), text);
        }
        assert_eq!("10.0.0.1".parse::<Prefix>().map(|p| p.bits()), Ok(32));
        for text in
            ["10.45.0.1/16", "10.45.0.0/33", "fd45::/129", "", "ten", "1.2.3.4/", "1.2.3.4/x"]
        {
            assert_eq!(text.parse::<Prefix>(), Err(()), "{text}");
        }
        let mapped: IpAddr = "::ffff:10.45.3.4".parse().expect("an address");
        assert_eq!(Prefix::of(mapped, 16).to_string(), "10.45.0.0/16");
        for (text, ports) in
            [("80", (80, 80)), ("8000-8100", (8000, 8100)), ("1-65535", (1, 65535))]
        {
            let Ports { first, last } = text.parse().expect(text);
            assert_eq!((first, last), ports);
        }
        for text in ["0", "65536", "2-1", "http", "-", "1-"] {
            assert!(text.parse::<Ports>().is_err(), "{text}");
        }
    }
}
