//! Scenarios that are nearly right: the shipped ones, changed line by line and byte by byte.

use std::fs;
use std::path::Path;

use super::program::FILE;
use super::random::Random;
use super::{Case, cannot};
use crate::Outcome;

/// Values in place of others: extremes of every type, units that are none, and values of another
/// type.
#[rustfmt::skip]
const VALUES: [&str; 64] = [
    "0", "1", "2", "-1", "255", "65536", "2147483648", "4294967295", "4294967296",
    "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
    "0.0", "-0.0", "0.5", "1e-300", "1e308", "1e400", "nan", "inf", "-inf", "0x7fffffffffffffff",
    "0b1", "true", "false", "\"\"", "\"x\"", "\"0\"", "\"-1ms\"", "\"0s\"", "\"0ms\"", "\"1ns\"",
    "\"0.5ns\"", "\"1us\"", "\"1ms\"", "\"10ms\"", "\"1s\"", "\"1h\"", "\"1000000h\"",
    "\"9223372036854775807ns\"", "\"18446744073709551615ns\"", "\"1e9s\"", "\"5 parsec\"",
    "\"ms\"", "\"1 ms\"", "\"1kbit/s\"", "\"1Tbit/s\"", "\"0bit/s\"", "\"-5Mbit/s\"",
    "\"18446744073709551615bit/s\"", "\"1B\"", "\"0B\"", "\"20 packets\"", "\"1 packets\"",
    "\"18446744073709551615B\"", "\"\\u0000\"", "\"\\u001b[31m\"", "[]", "[[]]", "{}",
    "{ kind = \"none\" }", "{ kind = 3 }", "1979-05-27T07:32:00Z",
];

/// Pieces of text that are not text of a scenario.
const ODD: [&[u8]; 14] = [
    b"\0",
    b"\x1b[2J",
    b"\xff\xfe",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    "\u{feff}".as_bytes(),
    "\u{202e}".as_bytes(),
    b"\r",
    b"\"",
    b"'''",
    b"[",
    b"[[x]]",
    b"=",
    b"\\",
];

/// The shipped scenarios.
pub(super) struct Seeds {
    texts: Vec<(String, String)>,
}

pub(super) fn seeds(root: &Path) -> Outcome<Seeds> {
    let folder = root.join("scenarios");
    let mut texts = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|error| cannot(&folder, &error))? {
        let path = entry.map_err(|error| cannot(&folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = fs::read_to_string(&path).map_err(|error| cannot(&path, &error))?;
            texts.push((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text));
        }
    }
    texts.sort();
    Ok(Seeds { texts })
}

impl Seeds {
    /// A scenario that is changed one to four times.
    pub(super) fn case(&self, random: &mut Random) -> Case {
        let (name, text) = &self.texts[random.below(self.texts.len())];
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        // One change more often than four, or hardly a case would be sound enough to run.
        let bound = 1 + random.below(4);
        for _ in 0..=random.below(bound) {
            self.change(&mut lines, random);
        }
        let mut bytes = lines.join("\n").into_bytes();
        bytes.push(b'\n');
        if random.once_in(8) {
            spoil(&mut bytes, random);
        }
        let word = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let commands = vec![
            word(&["check", FILE]),
            word(&[
                "run",
                FILE,
                "--set",
                "duration=2s",
                "--set",
                "warmup=1s",
                "--no-files",
                "--quiet",
            ]),
        ];
        Case { name: format!("{name}.toml"), bytes, commands }
    }

    /// One change of whole lines.
    fn change(&self, lines: &mut Vec<String>, random: &mut Random) {
        if lines.is_empty() {
            lines.push(String::new());
        }
        let at = random.below(lines.len());
        match random.below(20) {
            16.. => with_value(lines, random, nearby),
            0..=4 => with_value(lines, random, |random, _| random.of_all(&VALUES).to_owned()),
            5 | 6 => with_value(lines, random, scaled),
            7 => with_value(lines, random, |random, _| self.other_value(random)),
            8 => with_value(lines, random, huge),
            9 => rename(lines, random, self),
            10 => drop(lines.remove(at)),
            11 => lines.insert(random.below(lines.len()), lines[at].clone()),
            12 => twice(lines, random),
            13 => lines.insert(at, deep(random)),
            14 => {
                let to = random.below(lines.len());
                lines.swap(at, to);
            }
            _ => self.graft(lines, random),
        }
    }

    /// A line of any scenario that gives a key a value.
    fn any_pair(&self, random: &mut Random) -> (String, String) {
        for _ in 0..100 {
            let (_, text) = &self.texts[random.below(self.texts.len())];
            let lines: Vec<&str> = text.lines().collect();
            if let Some((key, value)) = pair(lines[random.below(lines.len())]) {
                return (key.to_owned(), value.to_owned());
            }
        }
        ("title".into(), "\"x\"".into())
    }

    fn other_value(&self, random: &mut Random) -> String {
        self.any_pair(random).1
    }

    /// Puts a table of another scenario in.
    fn graft(&self, lines: &mut Vec<String>, random: &mut Random) {
        let (_, text) = &self.texts[random.below(self.texts.len())];
        let other: Vec<String> = text.lines().map(str::to_owned).collect();
        let (from, to) = table(&other, random);
        let at = random.below(lines.len() + 1);
        lines.splice(at..at, other[from..to].iter().cloned());
    }
}

/// Key and value of a line, where it has both on it.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    (!key.trim_start().starts_with('#')).then(|| (key.trim(), value.trim()))
}

/// Gives the key of some line another value, made from its own.
fn with_value(
    lines: &mut [String],
    random: &mut Random,
    make: impl FnOnce(&mut Random, &str) -> String,
) {
    let places: Vec<usize> = (0..lines.len()).filter(|&at| pair(&lines[at]).is_some()).collect();
    if places.is_empty() {
        return;
    }
    let line = &mut lines[places[random.below(places.len())]];
    if let Some((key, value)) = pair(line) {
        *line = format!("{key} = {}", make(random, value));
    }
}

/// The value with a number in it replaced or multiplied; a unit stays where it is.
fn scaled(random: &mut Random, value: &str) -> String {
    let digits = |c: char| c.is_ascii_digit();
    let starts: Vec<usize> = value
        .char_indices()
        .filter(|&(at, c)| digits(c) && !value[..at].ends_with(digits))
        .map(|(at, _)| at)
        .collect();
    if starts.is_empty() {
        return value.to_owned();
    }
    let from = starts[random.below(starts.len())];
    let to = from + value[from..].find(|c| !digits(c)).unwrap_or(value.len() - from);
    let number: u128 = value[from..to].parse().unwrap_or(1);
    let other = match random.below(10) {
        0 => "0".to_owned(),
        1 => (number / 2).to_string(),
        2 => (number + 1).to_string(),
        3 => (number * 2).to_string(),
        4 => (number * 10).to_string(),
        5 => (number * 1000).to_string(),
        6 => (number * 1_000_000_000).to_string(),
        7 => format!("-{number}"),
        8 => format!("{number}.000000001"),
        _ => "99999999999999999999999999".to_owned(),
    };
    format!("{}{other}{}", &value[..from], &value[to..])
}

/// The value with a number in it doubled, halved or one more: most of these are allowed.
fn nearby(random: &mut Random, value: &str) -> String {
    let Some(from) = value.find(|c: char| ('1'..='9').contains(&c)) else {
        return value.to_owned();
    };
    let length = value[from..].find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len() - from);
    let number: u64 = value[from..from + length].parse().unwrap_or(1);
    // The largest number is in reach of changes to a change.
    let more = [number.saturating_add(1), number.saturating_mul(2)];
    let other = [number / 2, more[0], more[1]][random.below(3)];
    format!("{}{other}{}", &value[..from], &value[from + length..])
}

/// A value that is large in itself: long arrays, deep nesting, long text.
fn huge(random: &mut Random, value: &str) -> String {
    let count = [100, 10_000, 200_000][random.below(3)];
    match random.below(5) {
        0 => {
            format!("[{}]", format!("{value}, ").repeat(count.min(2_000_000 / value.len().max(1))))
        }
        1 => format!("[{}]", "4294967295,".repeat(count)),
        2 => format!("{}{}", "[".repeat(count), "]".repeat(count)),
        3 => format!("\"{}\"", "x".repeat(count)),
        _ => format!("{}1{}", "{a=".repeat(count), "}".repeat(count)),
    }
}

/// A key or a table whose path is deep.
fn deep(random: &mut Random) -> String {
    let depth = [3, 60, 70, 1000, 20_000][random.below(5)];
    let path = format!("{}b", "a.".repeat(depth));
    match random.below(4) {
        0 => format!("[{path}]"),
        1 => format!("[[{path}]]"),
        2 => format!("[switches.x]\n{path} = 1"),
        _ => format!("{path} = 1"),
    }
}

/// Another key in the place of one: with a letter too many or too few, or one of another table.
fn rename(lines: &mut [String], random: &mut Random, seeds: &Seeds) {
    let places: Vec<usize> = (0..lines.len()).filter(|&at| pair(&lines[at]).is_some()).collect();
    if places.is_empty() {
        return;
    }
    let line = &mut lines[places[random.below(places.len())]];
    let Some((key, value)) = pair(line) else { return };
    let shorter: String = key.chars().skip(1).collect();
    let key = match random.below(5) {
        0 => shorter,
        1 => format!("{key}s"),
        2 => format!("{key}.x"),
        3 => format!("\"{key}\\n\""),
        _ => seeds.any_pair(random).0,
    };
    *line = format!("{key} = {value}");
}

/// Where a table begins and ends; the whole text where there is none.
fn table(lines: &[String], random: &mut Random) -> (usize, usize) {
    let heads: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with('[')).collect();
    if heads.is_empty() {
        return (0, lines.len());
    }
    let which = random.below(heads.len());
    (heads[which], heads.get(which + 1).copied().unwrap_or(lines.len()))
}

/// A table that is there twice, or some hundred times.
fn twice(lines: &mut Vec<String>, random: &mut Random) {
    let (from, to) = table(lines, random);
    let copy: Vec<String> = lines[from..to].to_vec();
    let times = if random.once_in(10) { 100 } else { 1 };
    for _ in 0..times {
        lines.extend(copy.iter().cloned());
    }
}

/// Bytes that are cut off, changed or put in.
pub(super) fn spoil(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes.truncate(at),
        1 => bytes[at] = random.next() as u8,
        2 => drop(bytes.remove(at)),
        _ => {
            let odd = random.of_all(&ODD).to_vec();
            bytes.splice(at..at, odd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_happens_and_leaves_most_of_the_file_alone() {
        let seeds =
            Seeds { texts: vec![("s".into(), "a = 1\n[t]\nb = \"5ms\"\n# c = 2\n".into())] };
        let mut texts: Vec<Vec<u8>> =
            (0..300).map(|k| seeds.case(&mut Random::of(1, k)).bytes).collect();
        texts.retain(|text| text.len() < 5_000);
        texts.sort();
        texts.dedup();
        assert!(texts.len() > 150, "{} cases differ", texts.len());
        for part in
            ["a = 1\n", "b = \"5ms\"", "a.a.a.", "[t]\nb = \"5ms\"\n# c = 2\n[t]", "[4294967295,"]
        {
            let hits = texts
                .iter()
                .filter(|text| text.windows(part.len()).any(|w| w == part.as_bytes()))
                .count();
            assert!(hits > 0, "no case has {part:?}");
        }
    }

    #[test]
    fn a_number_is_scaled_in_its_place() {
        let seen: Vec<String> =
            (0..60).map(|k| scaled(&mut Random::of(2, k), "\"15ms\"")).collect();
        assert!(
            seen.contains(&"\"15000ms\"".to_owned()) && seen.contains(&"\"-15ms\"".to_owned()),
            "{seen:?}"
        );
        assert_eq!(scaled(&mut Random::of(2, 0), "true"), "true");
    }

    #[test]
    fn spoilt_bytes_may_be_none() {
        for k in 0..50 {
            spoil(&mut Vec::new(), &mut Random::of(3, k));
            spoil(&mut vec![1], &mut Random::of(3, k));
        }
    }
}
