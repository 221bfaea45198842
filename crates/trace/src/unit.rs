//! Units of rates and amounts, by their usual spellings and in names of columns.
//!
//! `bit`, `bits` and a small `b` are bits; `byte`, `bytes` and a capital `B` are bytes. `k` and `K`
//! are 1000, `M` and `m` are 10^6, `Ki`, `Mi`, `Gi` powers of 1024. In words of capitals alone
//! (`MBPS`, `KB/S`) bits and bytes look the same: these are refused.

use std::fmt;

/// Names of units, with the bits of one; a rate has `/s` behind.
const NAMES: [(&str, u64); 16] = [
    ("bit", 1),
    ("kbit", 1_000),
    ("Mbit", 1_000_000),
    ("Gbit", 1_000_000_000),
    ("Tbit", 1_000_000_000_000),
    ("B", 8),
    ("kB", 8_000),
    ("MB", 8_000_000),
    ("GB", 8_000_000_000),
    ("TB", 8_000_000_000_000),
    ("Kibit", 1 << 10),
    ("Mibit", 1 << 20),
    ("Gibit", 1 << 30),
    ("KiB", 8 << 10),
    ("MiB", 8 << 20),
    ("GiB", 8 << 30),
];

/// A unit of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Bits of one.
    pub(crate) bits: u64,
    /// True for a rate.
    pub(crate) per_second: bool,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, bits)| *bits == self.bits).map_or("?", |(name, _)| name);
        write!(f, "{name}{}", if self.per_second { "/s" } else { "" })
    }
}

impl std::str::FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match spelled(text) {
            Some(Spelled::Unit(unit)) => Ok(unit),
            Some(Spelled::Capitals) => Err(capitals(text)),
            None => Err(format!(
                "found `{text}`, allowed is a rate such as bit/s, kbit/s, Mbit/s, Gbit/s, B/s, \
                 kB/s, MB/s, or an amount such as bit, kbit, B, kB, MB"
            )),
        }
    }
}

/// The meaning of a spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelled {
    Unit(Unit),
    /// Capitals alone: bits or bytes.
    Capitals,
}

/// The refusal of a unit in capitals.
pub(crate) fn capitals(text: &str) -> String {
    format!(
        "found `{text}`, whose capitals say neither bits nor bytes, allowed is a unit such as \
         Mbit/s or MB/s"
    )
}

/// The unit that `text` spells.
pub(crate) fn spelled(text: &str) -> Option<Spelled> {
    let text = text.trim();
    let (core, per_second) = without_second(text);
    let core: String = core.chars().filter(|c| !matches!(c, ' ' | '_' | '-' | '.')).collect();
    let lower = core.to_ascii_lowercase();
    let base = [("bits", 1), ("bit", 1), ("bytes", 8), ("byte", 8)];
    let word = base.into_iter().find(|(word, _)| lower.ends_with(word));
    let (prefix, bits) = match (word, core.as_bytes().last()) {
        (Some((word, bits)), _) => (&core[..core.len() - word.len()], bits),
        (None, Some(b'b')) => (&core[..core.len() - 1], 1),
        (None, Some(b'B')) => (&core[..core.len() - 1], 8),
        _ => return None,
    };
    let factor: u64 = match prefix {
        "" => 1,
        "k" | "K" | "kilo" | "Kilo" => 1_000,
        "m" | "M" | "mega" | "Mega" => 1_000_000,
        "g" | "G" | "giga" | "Giga" => 1_000_000_000,
        "t" | "T" | "tera" | "Tera" => 1_000_000_000_000,
        "ki" | "Ki" => 1 << 10,
        "mi" | "Mi" => 1 << 20,
        "gi" | "Gi" => 1 << 30,
        _ => return None,
    };
    if word.is_none() && per_second && !text.bytes().any(|b| b.is_ascii_lowercase()) {
        return Some(Spelled::Capitals);
    }
    Some(Spelled::Unit(Unit { bits: factor * bits, per_second }))
}

/// `text` without what says `per second`, and whether it said so.
fn without_second(text: &str) -> (&str, bool) {
    let lower = text.to_ascii_lowercase();
    const ENDS: [&str; 14] = [
        "/second",
        "/sec.",
        "/sec",
        "/s",
        "_per_second",
        " per second",
        "_per_sec",
        " per sec",
        "_per_s",
        " per s",
        "persecond",
        "_s",
        " s",
        "ps",
    ];
    match ENDS.iter().find(|end| lower.ends_with(*end)) {
        Some(end) => (&text[..text.len() - end.len()], true),
        None => (text, false),
    }
}

/// The unit, of rates or of amounts, that the name of a column states.
pub(crate) fn in_name(name: &str, per_second: bool) -> Option<Spelled> {
    let right = |found: &Spelled| match found {
        Spelled::Unit(unit) => unit.per_second == per_second,
        Spelled::Capitals => per_second,
    };
    if let Some(inner) = in_brackets(name) {
        return spelled(inner).filter(right);
    }
    let starts = words(name);
    let ends = starts.iter().skip(1).copied().chain([name.len()]);
    let single = starts.iter().zip(ends.clone()).map(|(&from, to)| &name[from..to]);
    let tails = starts.iter().map(|&from| &name[from..]);
    let trim = |word: &str| spelled(word.trim_matches(|c: char| !c.is_ascii_alphanumeric()));
    let mut found = tails.chain(single).filter(|word| word.len() > 1).filter_map(trim);
    found.find(right)
}

/// The text in the last brackets of a name.
pub(crate) fn in_brackets(name: &str) -> Option<&str> {
    let end = name.trim_end().strip_suffix([')', ']'])?;
    let start = end.rfind(['(', '['])?;
    Some(end[start + 1..].trim())
}

/// Where words begin: after anything that is neither letter nor digit, at a capital after a small
/// letter, and at the last capital of several before a small letter.
pub(crate) fn words(name: &str) -> Vec<usize> {
    let bytes = name.as_bytes();
    let is = |at: usize, what: fn(&u8) -> bool| bytes.get(at).is_some_and(what);
    let begins = |&at: &usize| {
        if !name.is_char_boundary(at) || !is(at, u8::is_ascii_alphanumeric) {
            return false;
        }
        at == 0
            || !is(at - 1, u8::is_ascii_alphanumeric)
            || is(at, u8::is_ascii_uppercase)
                && (is(at - 1, u8::is_ascii_lowercase)
                    || is(at - 1, u8::is_ascii_uppercase) && is(at + 1, u8::is_ascii_lowercase))
    };
    (0..bytes.len()).filter(begins).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_spellings_are_understood() {
        for (names, want) in [
            ("bit/s bps bits/s b/s bits/sec bit_s bits_per_second bit/second", "bit/s"),
            ("kbit/s kbps Kbps kb/s Kb/s kbits/s Kbit/s kbit_s kbit_per_s kilobits/s", "kbit/s"),
            ("Mbit/s Mbps mbps Mb/s mb/s Mbits/sec MBit/s MBIT/S mbit_s megabit/s", "Mbit/s"),
            ("Gbit/s Gbps gbps Gb/s GBit/s", "Gbit/s"),
            ("B/s Bps bytes/s byte/s BYTES/S bytes_per_s", "B/s"),
            ("kB/s KB/s kBps KBps kbytes/s kilobytes/s", "kB/s"),
            ("MB/s MBps mB/s Mbytes/s", "MB/s"),
            ("bit bits b", "bit"),
            ("B bytes byte Bytes", "B"),
            ("kB KB kbytes", "kB"),
            ("KiB/s", "KiB/s"),
            ("MiB", "MiB"),
        ] {
            for name in names.split(' ') {
                assert_eq!(name.parse::<Unit>().map(|u| u.to_string()), Ok(want.into()), "{name}");
            }
        }
        assert_eq!("Mbit per s".parse::<Unit>().map(|u| u.to_string()), Ok("Mbit/s".into()));
        for name in ["MBPS", "KBPS", "BPS", "GBPS", "MB/S"] {
            assert!(name.parse::<Unit>().expect_err(name).contains("neither bits nor bytes"));
        }
        for name in ["", "s", "/s", "pkts/s", "packets", "min", "km/h", "xbit/s", "Mbit/min"] {
            assert!(name.parse::<Unit>().is_err(), "{name}");
        }
    }

    #[test]
    fn names_of_columns_state_units_or_none() {
        for (name, want) in [
            ("DL Throughput (kbps)", "kbit/s"),
            ("throughput [Mbit/s]", "Mbit/s"),
            ("dl_rate_kbit_s", "kbit/s"),
            ("rate_mbps", "Mbit/s"),
            ("rateMbps", "Mbit/s"),
            ("DLMbps", "Mbit/s"),
            ("mbps_down", "Mbit/s"),
            ("rate MB/s", "MB/s"),
            ("bits_per_second", "bit/s"),
        ] {
            let found = in_name(name, true);
            assert!(matches!(found, Some(Spelled::Unit(u)) if u.to_string() == want), "{name}");
        }
        for (name, want) in [("rx_bytes", "B"), ("tbs (bits)", "bit"), ("size_kB", "kB")] {
            let found = in_name(name, false);
            assert!(matches!(found, Some(Spelled::Unit(u)) if u.to_string() == want), "{name}");
        }
        for name in ["rate", "DL_bitrate", "speed_kmh", "b", "throughput", "Rate (pkts/s)", "é"] {
            assert_eq!(in_name(name, true), None, "{name}");
        }
        assert_eq!(in_name("DL (MBPS)", true), Some(Spelled::Capitals));
    }
}
