//! Tests of the readers. All rows here are made up.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::{self, Write};

const HOLD: Format = Format::Cqi { missing: MissingCqi::Hold };
const SKIP: Format = Format::Cqi { missing: MissingCqi::Skip };
const STRICT: Format = Format::Cqi { missing: MissingCqi::Error };

fn amounts(text: &str) -> Vec<u64> {
    match parse_bytes(text.as_bytes(), Format::Packets).map(|trace| trace.values) {
        Ok(Values::Amounts(values)) => values,
        other => panic!("{other:?}"),
    }
}

fn cqi(text: &str, format: Format) -> (Vec<u8>, Option<Repair>) {
    match parse_bytes(text.as_bytes(), format) {
        Ok(Trace { values: Values::Cqi(values), repair }) => (values, repair),
        other => panic!("{other:?}"),
    }
}

fn message(bytes: &[u8], format: Format) -> String {
    parse_bytes(bytes, format)
        .map_or_else(|error| error.to_string(), |trace| format!("read: {trace:?}"))
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes it")
}

#[test]
fn packets_are_read_under_comments_with_any_line_end_a_byte_order_mark_and_gzip() {
    let plain = "# source\n# unit\npackets_per_10ms\n6\n4\n0\n";
    let want = vec![6, 4, 0];
    assert_eq!(amounts(plain), want);
    assert_eq!(amounts(&plain.replace('\n', "\r\n")), want);
    assert_eq!(amounts(&format!("\u{feff}{plain}")), want);
    assert_eq!(amounts(plain.trim_end()), want);
    assert_eq!(amounts(&format!("{plain}\n\r\n")), want);
    assert_eq!(amounts("packets_per_10ms\n 6 \n4\t\n# a remark\n0"), want);
    for archive in
        [gzip(plain.as_bytes()), [gzip(b"packets_per_10ms\n6\n"), gzip(b"4\n0\n")].concat()]
    {
        let read = parse_bytes(&archive, Format::Packets).expect("an archive");
        assert_eq!(read, Trace { values: Values::Amounts(want.clone()), repair: None });
    }
}

#[test]
fn bytes_are_read_from_their_column_among_others() {
    let trace =
        parse_bytes(b"t_ms,bytes,remark\n0,1500,a\n10,0,\n20,4294967295,b\n", Format::Bytes);
    let values = trace.expect("a trace").values;
    assert_eq!(values, Values::Amounts(vec![1500, 0, 4_294_967_295]));
}

#[test]
fn rows_without_cqi_are_held_skipped_or_refused_as_stated_and_counted() {
    let log = "t_s,CQI,rat\n0,,3G\n1,-,LTE\n2,12,LTE\n3,,3G\n4,9,LTE\n";
    let repair = |how| Repair { path: "<memory>".into(), rows: 3, of: 5, first_line: 2, how };
    assert_eq!(cqi(log, HOLD), (vec![12, 12, 12, 12, 9], Some(repair(MissingCqi::Hold))));
    assert_eq!(cqi(log, SKIP), (vec![12, 9], Some(repair(MissingCqi::Skip))));
    assert_eq!(
        message(log.as_bytes(), STRICT),
        "<memory>:2: column `cqi`: found no CQI, allowed is a whole number from 0 to 15; \
         missing = \"hold\", \"zero\" or \"skip\" reads rows without one"
    );
    assert_eq!(
        cqi(log, HOLD).1.map(|repair| repair.to_string()).as_deref(),
        Some("<memory>:2: 3 of 5 rows have no CQI; each holds the CQI before it")
    );
    assert_eq!(cqi("cqi\n15\n0\n", STRICT), (vec![15, 0], None));
}

#[test]
fn a_wrong_value_is_named_with_its_line_and_column() {
    let number = "allowed is a whole number from 0 to 4294967295";
    for (row, found) in [
        ("abc", "`abc`"),
        ("-3", "`-3`"),
        ("+3", "`+3`"),
        ("4.5", "`4.5`"),
        ("4 5", "`4 5`"),
        ("1e400", "`1e400`"),
        ("nan", "`nan`"),
        ("4294967296", "`4294967296`"),
        ("99999999999999999999999", "`99999999999999999999999`"),
        ("\u{664}", "`\u{664}`"),
    ] {
        let text = format!("# x\npackets_per_10ms\n1\n{row}\n");
        let want = format!("<memory>:4: column `packets_per_10ms`: found {found}, {number}");
        assert_eq!(message(text.as_bytes(), Format::Packets), want);
    }
    let high = message(b"cqi\n16\n", STRICT);
    assert_eq!(
        high,
        "<memory>:2: column `cqi`: found `16`, allowed is a whole number from 0 to 15"
    );
    let empty = message(b"t,bytes\n1,\n", Format::Bytes);
    assert_eq!(empty, format!("<memory>:2: column `bytes`: found an empty field, {number}"));
}

#[test]
fn a_file_of_the_wrong_shape_is_refused_in_words() {
    for (text, format, part) in [
        ("", Format::Packets, "<memory>: found no header line"),
        ("\n\n# only\n", Format::Packets, "<memory>: found no header line"),
        ("packets_per_10ms\n", Format::Packets, "<memory>: found no rows"),
        (
            "6\n4\n",
            Format::Packets,
            "<memory>:1: column `packets_per_10ms`: found `6`, allowed is a header line",
        ),
        ("t_s,rsrp\n1,2\n", STRICT, "<memory>:1: column `cqi`: found `t_s,rsrp`"),
        ("cqi,CQI\n1,2\n", STRICT, "<memory>:1: column `cqi`: found the column twice"),
        (
            "t_s,cqi\n1,2\n3\n",
            STRICT,
            "<memory>:3: column `cqi`: found 1 fields, allowed is 2 fields",
        ),
        ("t_s,cqi\n1,2,3\n", STRICT, "<memory>:2: column `cqi`: found 3 fields"),
        ("cqi\n1,2\n", STRICT, "<memory>:2: column `cqi`: found 2 fields, allowed is 1 fields"),
        (
            "cqi\n1\n\n2\n",
            STRICT,
            "<memory>:3: column `cqi`: found an empty line before further rows",
        ),
        ("cqi\n0\n0\n", STRICT, "<memory>: found a channel that never carries anything"),
        ("t,cqi\n1,\n2,-\n", HOLD, "<memory>: found a channel that never carries anything"),
        ("t,cqi\n1,\n2,-\n", SKIP, "<memory>: found a channel that never carries anything"),
    ] {
        let got = message(text.as_bytes(), format);
        assert!(got.starts_with(part), "{text:?}: {got}");
    }
}

#[test]
fn long_lines_wrong_encodings_and_damaged_archives_are_refused() {
    let long =
        [b"packets_per_10ms\n6\n".to_vec(), vec![b'7'; MAX_LINE + 1], b"\n".to_vec()].concat();
    let endless = [b"packets_per_10ms\n6\n".to_vec(), vec![b'7'; 1 << 20]].concat();
    let want = "<memory>:3: column `packets_per_10ms`: found a line of more than 4096 bytes, \
                allowed is shorter lines";
    assert_eq!(message(&long, Format::Packets), want);
    assert_eq!(message(&endless, Format::Packets), want);
    let latin1 = message(b"packets_per_10ms\n6\n\xe94\n", Format::Packets);
    assert!(
        latin1.starts_with("<memory>:3: ") && latin1.contains("allowed is text in UTF-8, as from"),
        "{latin1}"
    );
    let utf16 = message(b"\xff\xfep\0a\0", Format::Packets);
    assert!(utf16.contains("allowed is text in UTF-8, as from"), "{utf16}");

    let archive = gzip(b"packets_per_10ms\n6\n4\n");
    for damaged in
        [&archive[..archive.len() - 5], &archive[..12], &[0x1f, 0x8b], b"\x1f\x8bgarbage"]
    {
        let got = message(damaged, Format::Packets);
        assert!(
            got.contains("a read error after line") && got.ends_with("gzip archive of one"),
            "{got}"
        );
    }
    let mut flipped = archive.clone();
    *flipped.last_mut().expect("a trailer") ^= 1;
    assert!(message(&flipped, Format::Packets).contains("a read error"));
}

#[test]
fn the_longest_line_is_still_read() {
    let text = format!("bytes,remark\n7,{}\r\n8,x\n", "y".repeat(MAX_LINE - 2));
    let trace = parse_bytes(text.as_bytes(), Format::Bytes).expect("a trace");
    assert_eq!(trace.values, Values::Amounts(vec![7, 8]));
}

#[test]
fn more_rows_than_allowed_are_refused_without_reading_on() {
    let text = "bytes\n1\n2\n3\n";
    let limited = |rows| read_from(text.as_bytes(), Path::new("x.csv"), Format::Bytes, rows);
    assert_eq!(limited(3).expect("three rows").values.len(), 3);
    let refused = limited(2).map_err(|error| error.to_string());
    assert_eq!(
        refused,
        Err("x.csv:4: column `bytes`: found one row more, allowed is at most 2 rows".into())
    );
}

#[test]
fn lines_of_all_kinds_count_and_end_at_their_limit() {
    let lines = |text: &str| {
        let mut lines = lines::Lines::limited(text.as_bytes(), 3);
        let mut seen = 0;
        loop {
            match lines.next() {
                Ok(lines::Next::Line(_)) => seen += 1,
                Ok(_) => return (seen, None),
                Err(error) => {
                    let error = read_error(Path::new("x"), Some(seen), &error);
                    return (seen, Some(error.to_string()));
                }
            }
        }
    };
    assert_eq!(lines("1\n#\n\n"), (3, None));
    let said = "x: found more than 3 lines, allowed is at most 3 lines";
    assert_eq!(lines("\n\n\n\n"), (3, Some(said.into())));
    assert_eq!(lines("#\n#\n#\n#"), (3, Some(said.into())));
}

/// Returns a byte or two at a time, with interrupts in between.
struct Trickle<'a> {
    bytes: &'a [u8],
    calls: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = buffer.len().min(1 + self.calls % 2).min(self.bytes.len());
        buffer[..n].copy_from_slice(&self.bytes[..n]);
        self.bytes = &self.bytes[n..];
        Ok(n)
    }
}

#[test]
fn a_stream_that_comes_in_drops_reads_the_same() {
    let text = format!("t,bytes\r\n{}", "1,23\r\n2,456\r\n".repeat(20_000));
    let whole = parse_bytes(text.as_bytes(), Format::Bytes);
    let drops = Trickle { bytes: text.as_bytes(), calls: 0 };
    assert_eq!(read_from(drops, Path::new("<memory>"), Format::Bytes, MAX_ROWS), whole);
    assert_eq!(whole.expect("a trace").values.len(), 40_000);
}

#[test]
fn names_resolve_beside_the_scenario_first_then_in_the_data_folder() {
    let root = std::env::temp_dir().join(format!("justfull-trace-{}", std::process::id()));
    let (here, data) = (root.join("scenarios"), root.join("data"));
    std::fs::create_dir_all(here.join("folder")).expect("a folder");
    std::fs::create_dir_all(&data).expect("a folder");
    std::fs::write(here.join("both.csv"), "bytes\n1\n").expect("a file");
    std::fs::write(data.join("both.csv"), "bytes\n2\n").expect("a file");
    std::fs::write(data.join("data.csv"), "bytes\n3\n").expect("a file");
    let with =
        TracePaths { scenario_dir: here.clone(), data_dir: Some(data.clone()), confined: false };
    let without = TracePaths { scenario_dir: here.clone(), data_dir: None, confined: false };
    let get = |paths: &TracePaths, name: &Path| {
        read(name, paths, Format::Bytes).map(|trace| trace.values)
    };
    let value = |n| Ok(Values::Amounts(vec![n]));

    assert_eq!(get(&with, Path::new("both.csv")), value(1));
    assert_eq!(get(&with, Path::new("data.csv")), value(3));
    assert_eq!(get(&without, &data.join("data.csv")), value(3));
    let unset = get(&without, Path::new("data.csv")).expect_err("nowhere to look");
    assert!(matches!(unset, TraceError::NoDataDir { .. }) && unset.is_absent(), "{unset}");
    assert!(unset.to_string().contains("JUSTFULL_DATA is not set"), "{unset}");
    let absent = get(&with, Path::new("none.csv")).expect_err("no such file");
    assert!(matches!(&absent, TraceError::NotFound { tried, .. } if tried.len() == 2), "{absent}");
    let absolute = get(&without, &data.join("none.csv")).expect_err("no such file");
    assert!(matches!(absolute, TraceError::NotFound { .. }), "{absolute}");
    let folder = get(&with, Path::new("folder")).expect_err("a folder is no file");
    assert!(
        folder.to_string().ends_with("folder: found a directory, allowed is a regular file"),
        "{folder}"
    );
    assert!(!folder.is_absent());
    std::fs::remove_dir_all(root).expect("cleaned up");
}

#[test]
fn a_trace_can_be_cut_to_its_first_rows() {
    let mut values = parse_bytes(b"bytes\n1\n2\n3\n", Format::Bytes).expect("a trace").values;
    values.truncate(2);
    assert_eq!((values.len(), values.is_empty()), (2, false));
}

fn any_format() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::Packets), Just(Format::Bytes), Just(HOLD), Just(SKIP), Just(STRICT)]
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        zipped in any::<bool>(),
        format in any_format(),
    ) {
        let input = if zipped { gzip(&bytes) } else { bytes };
        if let Ok(trace) = parse_bytes(&input, format) {
            prop_assert!(!trace.values.is_empty());
        }
    }

    #[test]
    fn text_that_is_nearly_a_trace_does_not_panic_and_messages_name_a_line_that_exists(
        rows in proptest::collection::vec("[0-9,\\-# .a\u{e9}\r]{0,6}", 0..40),
        format in any_format(),
    ) {
        let text = format!("t,{}\n{}", format.column(), rows.join("\n"));
        match parse_bytes(text.as_bytes(), format) {
            Ok(trace) => prop_assert!((1..=rows.len()).contains(&trace.values.len())),
            Err(TraceError::Malformed { line, .. }) =>
                prop_assert!(line as usize <= rows.len() + 1),
            Err(error) => prop_assert!(!error.is_absent()),
        }
    }

    #[test]
    fn written_traces_are_read_back(
        values in proptest::collection::vec(0u64..=u64::from(u32::MAX), 1..300),
        zipped in any::<bool>(),
    ) {
        prop_assume!(values.iter().any(|&value| value > 0));
        let text: String = values.iter().map(|value| format!("{value}\n")).collect();
        let text = format!("bytes\n{text}").into_bytes();
        let read = parse_bytes(&if zipped { gzip(&text) } else { text }, Format::Bytes);
        prop_assert_eq!(read.map(|trace| trace.values), Ok(Values::Amounts(values)));
    }
}
