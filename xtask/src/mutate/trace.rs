//! Traces that are nearly right: one of each format, changed line by line, byte by byte, and as
//! archives.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::program::FILE;
use super::random::Random;
use super::scenario::spoil;
use super::{Case, cannot};
use crate::{Outcome, process};

/// Formats that the program writes, from a trace that it makes.
const WRITTEN: [&str; 6] = ["mahimahi", "cellreplay", "t20", "cqi", "bytes", "csv"];
/// Formats by which a file may be read.
#[rustfmt::skip]
const READ: [&str; 11] = [
    "mahimahi", "cellreplay", "cellreplay-train", "ucc", "t20", "cqi", "bytes", "csv", "nr-scope",
    "rates", "amounts",
];

/// Fields in place of others.
#[rustfmt::skip]
const FIELDS: [&str; 24] = [
    "0", "1", "-1", "15", "16", "31", "65535", "4294967295", "4294967296", "39999999", "40000000",
    "40000001", "18446744073709551615", "18446744073709551616", "1.5", "1e9", "nan", "", "-", "x",
    "\"5\"", "0x10", "\u{664}", "2019.12.16_13.40.04",
];

/// Options of reading, of which some are named.
const OPTIONS: [&[&str]; 22] = [
    &["--packet", "1B"],
    &["--packet", "65535B"],
    &["--row", "1ms"],
    &["--row", "1h"],
    &["--row", "1ns"],
    &["--column", "ul_bitrate"],
    &["--column", "cqi"],
    &["--repeated", "mean"],
    &["--gaps", "zero"],
    &["--gaps", "skip"],
    &["--idle", "keep"],
    &["--map", "nr_t3"],
    &["--prbs", "1"],
    &["--layers", "4"],
    &["--rate-column", "2", "--unit", "kbit/s", "--row", "1s"],
    &["--rate-column", "2", "--unit", "Mbit/s", "--time-column", "1"],
    &["--amount-column", "2", "--unit", "B", "--time-column", "1", "--gaps", "zero"],
    &["--time-unit", "ms"],
    &["--separator", "blank"],
    &["--decimal", "comma"],
    &["--rnti", "17921"],
    &["--link", "ul"],
];

/// The further commands that use a trace.
const CHANGES: [&[&str]; 8] = [
    &["--scale", "0.000001"],
    &["--scale", "1000000"],
    &["--loop", "1000"],
    &["--duration", "1h"],
    &["--interval", "1ms"],
    &["--interval", "1h"],
    &["--from-time", "1ms"],
    &["--packet-bytes", "1B"],
];

/// A trace of each format with its name.
pub(super) struct Seeds {
    files: Vec<(String, Vec<u8>)>,
}

/// Lets the program write one trace in every format that it writes; the others are seeds of the
/// fuzz targets.
pub(super) fn seeds(root: &Path, justfull: &Path, folder: &Path) -> Outcome<Seeds> {
    let mut files = Vec::new();
    for format in WRITTEN {
        let file = folder.join(format!("seed.{format}"));
        let mut make = Command::new(justfull);
        make.args(["trace", "synth", "pedestrian-like", "--duration", "20s", "--to", format, "-o"])
            .arg(&file);
        process::stdout_of(make.stderr(std::process::Stdio::null()))?;
        files.push((format.to_owned(), fs::read(&file).map_err(|error| cannot(&file, &error))?));
    }
    for kind in ["formats", "trace"] {
        let seeds = root.join("fuzz").join("seeds").join(kind);
        for entry in fs::read_dir(&seeds).map_err(|error| cannot(&seeds, &error))? {
            let path = entry.map_err(|error| cannot(&seeds, &error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut bytes = fs::read(&path).map_err(|error| cannot(&path, &error))?;
            if kind == "formats" {
                // The first byte chooses the target's options.
                bytes.remove(0);
            }
            files.push((name, bytes));
        }
    }
    files.sort();
    Ok(Seeds { files })
}

impl Seeds {
    /// A trace that is changed up to four times, perhaps as an archive.
    pub(super) fn case(&self, random: &mut Random) -> Case {
        let (name, seed) = &self.files[random.below(self.files.len())];
        let mut bytes = seed.clone();
        // One change more often than four, and a format that is not the file's seldom, or hardly a
        // case would be sound enough to convert.
        let bound = 1 + random.below(4);
        for _ in 0..random.below(bound + 1) {
            change(&mut bytes, random);
        }
        if random.once_in(4) {
            bytes = archive(&bytes, random);
        }
        let mut info = vec!["trace".to_owned(), "info".to_owned(), FILE.to_owned()];
        let mut convert = vec!["trace".to_owned(), "convert".to_owned(), FILE.to_owned()];
        let add = |to: &mut Vec<String>, words: &[&str]| {
            to.extend(words.iter().map(|&word| word.to_owned()))
        };
        if random.once_in(6) {
            let format = random.of_all(&READ);
            add(&mut info, &["--from", format]);
            add(&mut convert, &["--from", format]);
        }
        while random.once_in(3) {
            let option = random.of_all(&OPTIONS);
            if !info.iter().any(|word| word == option[0]) {
                add(&mut info, option);
                add(&mut convert, option);
            }
        }
        if random.once_in(4) {
            add(&mut info, &["--bin", ["1ms", "1ns", "1h"][random.below(3)]]);
        }
        add(&mut convert, &["--to", random.of_all(&WRITTEN), "-o", "/dev/null"]);
        if random.once_in(3) {
            add(&mut convert, random.of_all(&CHANGES));
        }
        Case { name: name.replace('.', "-") + ".trace", bytes, commands: vec![info, convert] }
    }
}

/// One change of a line, or of bytes where there are none.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let Some(mut lines) = std::str::from_utf8(bytes)
        .ok()
        .map(|text| text.split('\n').map(str::to_owned).collect::<Vec<_>>())
    else {
        return spoil_anywhere(bytes, random);
    };
    let at = random.below(lines.len());
    match random.below(14) {
        0..=3 => lines[at] = field(&lines[at], random),
        4 => drop(lines.remove(at)),
        5 => lines.insert(at, lines[at].clone()),
        6 => lines.insert(at, String::new()),
        7 => lines.insert(at, "# \u{1b}[2J".to_owned()),
        8 => {
            let to = random.below(lines.len());
            lines.swap(at, to);
        }
        9 => lines[0] = field(&lines[0], random),
        10 => {
            // Many rows: of the same kind, empty, or comments.
            let row = [lines[at].as_str(), "", "#", "1"][random.below(4)].to_owned();
            let count = [1000, 100_000, 1_000_000][random.below(3)];
            lines.splice(at..at, std::iter::repeat_n(row, count));
        }
        11 => lines[at] = "7".repeat([30, 4096, 4097, 100_000][random.below(4)]),
        12 => lines = lines.iter().map(|line| format!("{line}\r")).collect(),
        _ => return spoil_anywhere(bytes, random),
    }
    *bytes = lines.join("\n").into_bytes();
}

/// The line with one field replaced by another.
fn field(line: &str, random: &mut Random) -> String {
    let separator = if line.contains(',') { ',' } else { ' ' };
    let mut fields: Vec<&str> = line.split(separator).collect();
    let at = random.below(fields.len());
    match random.below(6) {
        0 => drop(fields.remove(at)),
        1 => fields.insert(at, fields[at]),
        _ => fields[at] = random.of_all(&FIELDS),
    }
    fields.join(&separator.to_string())
}

/// Spoils a byte; in binary files rather one near the end, where Parquet says what is where.
fn spoil_anywhere(bytes: &mut Vec<u8>, random: &mut Random) {
    if random.once_in(2) || bytes.len() < 300 {
        return spoil(bytes, random);
    }
    let mut end = bytes.split_off(bytes.len() - 300);
    spoil(&mut end, random);
    bytes.append(&mut end);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Memory takes all of it.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// The bytes as an archive: sound, of many members, within another, damaged, or with much that is
/// nothing.
fn archive(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut archive = gzip(bytes);
    match random.below(8) {
        0 => archive.extend(gzip(b"")),
        1 => archive.extend(gzip(b"").repeat(200_000)),
        2 => archive = [gzip(&vec![b'\n'; 16 << 20]), archive].concat(),
        3 => archive.extend(gzip(&b"#\n".repeat(2 << 20))),
        4 => archive = gzip(&archive),
        5 => archive.extend(b"trailing"),
        6 => spoil(&mut archive, random),
        _ => {}
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_text_and_of_bytes_are_changed_in_many_ways() {
        let files = vec![
            ("m".into(), b"1\n2\n3\n".to_vec()),
            ("p".into(), [b"PAR1\xff".to_vec(), vec![7; 400]].concat()),
        ];
        let seeds = Seeds { files };
        let cases: Vec<Case> = (0..60).map(|k| seeds.case(&mut Random::of(4, k))).collect();
        let mut all: Vec<&[u8]> = cases.iter().map(|case| case.bytes.as_slice()).collect();
        all.sort();
        all.dedup();
        assert!(all.len() > 40, "{} cases differ", all.len());
        assert!(cases.iter().any(|case| case.bytes.starts_with(&[0x1f, 0x8b])));
        let commands: Vec<String> =
            cases.iter().flat_map(|case| &case.commands).map(|words| words.join(" ")).collect();
        for part in ["trace info FILE --from", "--to csv -o /dev/null", "--bin 1h", "--gaps"] {
            assert!(commands.iter().any(|command| command.contains(part)), "no command has {part}");
        }
    }
}
