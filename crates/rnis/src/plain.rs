//! Reports in the usual form of a line, read in one pass.
//!
//! Usual is an object with the keys of a report, each at most once, with whole numbers and strings
//! without escapes. Every other line, and so every error, is left to the general reader; where this
//! reader reads a line, both read the same.

use crate::malformed::Malformed;
use crate::report::{CellName, MOST_ADDRESSES, Report, cell_name, dmrs, one, pool_name, symbols};
use justfull_base::feedback::RanReport;
use justfull_base::{Duration, Instant};
use justfull_net::Prefix;
use std::sync::Arc;

/// Names that are kept; a further one takes the place of another.
const NAMES: usize = 512;
/// Digits of a number that 64 bits hold whatever the digits are.
const DIGITS: usize = 19;

/// Reads lines. Cells' names are allocated once.
#[derive(Debug)]
pub(crate) struct Reader {
    names: Vec<Option<Arc<str>>>,
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self { names: vec![None; NAMES] }
    }

    /// Reads one report.
    ///
    /// # Errors
    /// The wrong part of the line.
    pub(crate) fn read(&mut self, line: &[u8]) -> Result<Report, Malformed> {
        match fields(line) {
            Some(fields) => fields.report(|name| self.name(name)),
            None => Report::parse(line),
        }
    }

    /// The name of a cell.
    fn name(&mut self, text: &str) -> Result<Arc<str>, Malformed> {
        // FNV-1a, whose quality is enough to find a place.
        let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        let place = &mut self.names[text.bytes().fold(0x811c_9dc5, hash) as usize % NAMES];
        match place {
            Some(name) if **name == *text => Ok(Arc::clone(name)),
            _ => Ok(Arc::clone(place.insert(cell_name(text)?))),
        }
    }
}

/// A set of keys, each at most once.
#[derive(Debug, Default)]
struct Keys(u32);

impl Keys {
    /// Adds a key; none if it is there already.
    fn add(&mut self, key: u32) -> Option<()> {
        let had = self.0;
        self.0 |= 1 << key;
        (self.0 != had).then_some(())
    }

    fn has(&self, all: u32) -> bool {
        self.0 & all == all
    }
}

/// The fields of a line.
#[derive(Debug)]
struct Fields<'a> {
    ue: Vec<Prefix>,
    pool: Option<&'a str>,
    cell_id: Option<&'a str>,
    cell: CellName,
    /// Table, layers, symbols, elements of reference signals.
    modulation: [u8; 4],
    at_us: u64,
    slot_us: u64,
    slots: u32,
    offered: u64,
    used: u64,
    active_ues: u32,
    blocks: u64,
    repeats: u64,
    bytes: u64,
    mcs: Option<u8>,
    backlog: u64,
}

/// The keys that a line must have: `ue`, `at_us`, `cell`, `slot_us`, `slots`, `offered`, `used`.
const REQUIRED: u32 = 0b111_1111;

/// The fields of a line; none if it has not the usual form.
fn fields(line: &[u8]) -> Option<Fields<'_>> {
    let mut scan = Scan { rest: line };
    let mut keys = Keys::default();
    let mut of = Fields {
        ue: Vec::new(),
        pool: None,
        cell_id: None,
        cell: CellName::Bytes,
        modulation: [one(), one(), symbols(), dmrs()],
        at_us: 0,
        slot_us: 0,
        slots: 0,
        offered: 0,
        used: 0,
        active_ues: 0,
        blocks: 0,
        repeats: 0,
        bytes: 0,
        mcs: None,
        backlog: 0,
    };
    scan.take(b'{')?;
    loop {
        let key = scan.text()?;
        scan.take(b':')?;
        keys.add(of.field(key, &mut scan)?)?;
        if scan.take(b',').is_none() {
            break;
        }
    }
    scan.take(b'}')?;
    scan.space();
    (scan.rest.is_empty() && keys.has(REQUIRED)).then_some(of)
}

impl<'a> Fields<'a> {
    /// Reads the value of a key. Returns the key's number.
    fn field(&mut self, key: &str, scan: &mut Scan<'a>) -> Option<u32> {
        match key {
            "ue" => {
                scan.addresses(&mut self.ue)?;
                return Some(0);
            }
            "cell" => {
                self.cell = match scan.text()? {
                    "lte" => CellName::Lte,
                    "nr" => CellName::Nr,
                    "bytes" => CellName::Bytes,
                    _ => return None,
                };
                return Some(2);
            }
            "cell_id" => {
                self.cell_id = Some(scan.text()?);
                return Some(7);
            }
            "pool" => {
                self.pool = Some(scan.text()?);
                return Some(8);
            }
            _ => {}
        }
        let number = scan.number()?;
        let small = || u8::try_from(number).ok();
        let medium = || u32::try_from(number).ok();
        Some(match key {
            "at_us" => set(&mut self.at_us, number, 1),
            "slot_us" => set(&mut self.slot_us, number, 3),
            "slots" => set(&mut self.slots, medium()?, 4),
            "offered" => set(&mut self.offered, number, 5),
            "used" => set(&mut self.used, number, 6),
            "mcs_table" => set(&mut self.modulation[0], small()?, 9),
            "layers" => set(&mut self.modulation[1], small()?, 10),
            "symbols" => set(&mut self.modulation[2], small()?, 11),
            "dmrs_res" => set(&mut self.modulation[3], small()?, 12),
            "active_ues" => set(&mut self.active_ues, medium()?, 13),
            "blocks" => set(&mut self.blocks, number, 14),
            "repeats" => set(&mut self.repeats, number, 15),
            "bytes" => set(&mut self.bytes, number, 16),
            "mcs" => set(&mut self.mcs, Some(small()?), 17),
            "backlog" => set(&mut self.backlog, number, 18),
            _ => return None,
        })
    }

    fn report(
        self,
        name: impl FnOnce(&str) -> Result<Arc<str>, Malformed>,
    ) -> Result<Report, Malformed> {
        let ran = RanReport {
            at: Instant::from_nanos(self.at_us.saturating_mul(1_000)),
            kind: self.cell.kind(self.modulation),
            slot: Duration::from_nanos(self.slot_us.saturating_mul(1_000)),
            slots: self.slots,
            offered: self.offered,
            used: self.used,
            active_ues: self.active_ues,
            blocks: self.blocks,
            repeats: self.repeats,
            bytes: self.bytes,
            mcs: self.mcs,
            backlog: self.backlog,
        };
        let cell = self.cell_id.map(name).transpose()?;
        let pool = self.pool.map(pool_name).transpose()?;
        Ok(Report { ue: self.ue, pool, cell, ran })
    }
}

fn set<T>(field: &mut T, value: T, key: u32) -> u32 {
    *field = value;
    key
}

/// The rest of a line.
#[derive(Debug)]
struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    /// Skips JSON's white space.
    fn space(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Skips `byte` and the white space before it; none if something else is there.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.space();
        let (first, rest) = self.rest.split_first()?;
        (*first == byte).then(|| self.rest = rest)
    }

    /// A string of visible ASCII characters and spaces, without escapes.
    fn text(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        let end = self.rest.iter().position(|byte| !plain(*byte))?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix(b"\"")?;
        str::from_utf8(text).ok()
    }

    /// A whole number of at most [`DIGITS`] digits without leading zeros.
    fn number(&mut self) -> Option<u64> {
        self.space();
        let (mut value, mut digits) = (0_u64, 0);
        while let [digit @ b'0'..=b'9', rest @ ..] = self.rest {
            if digits == DIGITS || (digits == 1 && value == 0) {
                return None;
            }
            value = 10 * value + u64::from(digit - b'0');
            digits += 1;
            self.rest = rest;
        }
        (digits > 0).then_some(value)
    }

    /// An address or a list of addresses.
    fn addresses(&mut self, to: &mut Vec<Prefix>) -> Option<()> {
        if self.take(b'[').is_none() {
            to.push(self.text()?.parse().ok()?);
            return Some(());
        }
        loop {
            to.push(self.text()?.parse().ok()?);
            if to.len() > MOST_ADDRESSES {
                return None;
            }
            if self.take(b',').is_none() {
                return self.take(b']');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str = concat!(
        r#"{"ue":"10.45.0.1","at_us":5000,"cell_id":"east/1","cell":"nr","slot_us":500,"#,
        r#""slots":20,"offered":2120,"used":100,"blocks":60,"mcs":20,"active_ues":2}"#,
    );

    fn both(line: &[u8]) -> (Result<Report, Malformed>, Result<Report, Malformed>) {
        (Reader::new().read(line), Report::parse(line))
    }

    #[test]
    fn the_usual_line_needs_no_general_reader_and_cells_of_one_name_share_it() {
        assert!(fields(LINE.as_bytes()).is_some());
        let mut reader = Reader::new();
        let mut cell = |line: &str| reader.read(line.as_bytes()).ok().and_then(|read| read.cell);
        let (first, again) = (cell(LINE), cell(LINE));
        assert!(first.zip(again).is_some_and(|(one, other)| Arc::ptr_eq(&one, &other)));
        let other = cell(&LINE.replace("east/1", "west"));
        assert_eq!(other.as_deref(), Some("west"));
        for name in ["a b", "", &"x".repeat(65)] {
            let line = LINE.replace("east/1", name);
            let (fast, general) = both(line.as_bytes());
            assert!(fast.is_err() && fast == general, "{name}");
        }
    }

    /// A value of any kind, mostly one that a report has.
    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            6 => (0_u64..300).prop_map(|n| n.to_string()),
            2 => any::<u64>().prop_map(|n| n.to_string()),
            1 => any::<i64>().prop_map(|n| n.to_string()),
            1 => prop::sample::select(vec![
                "null", "true", "1.0", "2e3", "00", "-0", "18446744073709551616", "0", "{}", "[]",
                r#""10.45.0.1""#, r#""fd45::/64""#, r#"["10.45.0.1","fd45::1"]"#,
                r#"["10.0.0.1",]"#, r#"["10.45.0.1", 7]"#, r#""lte""#, r#""nr""#, r#""bytes""#,
                r#""wimax""#, r#""a\u0041""#,
                r#""ä""#, r#""""#, "\"a\tb\"", r#""10.45.0.1/16""#, r#""blue""#,
            ]).prop_map(str::to_owned),
        ]
    }

    fn key() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "ue",
            "associateId",
            "pool",
            "at_us",
            "cell_id",
            "cell",
            "mcs_table",
            "layers",
            "symbols",
            "dmrs_res",
            "slot_us",
            "slots",
            "offered",
            "used",
            "active_ues",
            "blocks",
            "repeats",
            "bytes",
            "mcs",
            "backlog",
            "mcss",
            "",
        ])
    }

    fn gap() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["", "", "", "", " ", "\t", "\r", " \n "])
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 2_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn both_readers_read_and_refuse_the_same(
            more in prop::collection::vec((key(), value(), gap()), 0..5),
            left_out in prop::collection::vec(0_usize..11, 0..2),
            cut in prop::option::weighted(0.1, 0_usize..200),
            byte in prop::option::weighted(0.3, (0_usize..200, any::<u8>())),
        ) {
            let inner = &LINE[1..LINE.len() - 1];
            let mut parts: Vec<String> = inner.split(',').map(str::to_owned).collect();
            for place in left_out {
                parts.remove(place.min(parts.len() - 1));
            }
            for (number, (key, value, gap)) in more.into_iter().enumerate() {
                let part = format!("{gap}\"{key}\"{gap}:{gap}{value}{gap}");
                // A key that is there already gets another value, or is there twice.
                let head = format!("\"{key}\":");
                match parts.iter().position(|part| part.starts_with(&head)) {
                    Some(place) if number % 3 > 0 => parts[place] = part,
                    _ => parts.insert(number.min(parts.len()), part),
                }
            }
            let mut line = format!("{{{}}}", parts.join(",")).into_bytes();
            if let Some((place, byte)) = byte && let Some(old) = line.get_mut(place) {
                *old = byte;
            }
            line.truncate(cut.unwrap_or(usize::MAX));
            let (fast, general) = both(&line);
            prop_assert_eq!(fast, general, "{}", String::from_utf8_lossy(&line));
        }
    }
}
