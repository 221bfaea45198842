//! Tests of the readers by format. All rows here are made up.

use super::super::tests::gzip;
use super::*;
use crate::{Bytes, Column, Idle, Repairs, Repeated, TimeUnit};
use proptest::prelude::*;

fn read(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Loaded, String> {
    load_from(text.as_ref(), Path::new("t"), options).map_err(|error| error.to_string())
}

fn read_text(text: impl AsRef<[u8]>) -> Loaded {
    read(text, &ReadOptions::default()).expect("a trace")
}

fn message(text: impl AsRef<[u8]>) -> String {
    read(text, &ReadOptions::default())
        .map_or_else(|error| error, |loaded| format!("read: {loaded:?}"))
}

fn named(format: FileFormat) -> ReadOptions {
    ReadOptions { format: Some(format), ..ReadOptions::default() }
}

#[test]
fn opportunities_of_mahimahi_are_counted_in_the_millisecond_that_ends_with_them() {
    let loaded = read_text("1\n1\n3\n");
    assert_eq!(loaded.format, FileFormat::Mahimahi);
    assert_eq!(loaded.timeline.bytes(), [3000, 0, 1500]);
    assert_eq!((loaded.timeline.interval(), loaded.notes), (Duration::from_millis(1), vec![]));
    let zero = read_text("0\n0\n2\n");
    assert_eq!(zero.timeline.bytes(), [3000, 1500]);
    assert_eq!(zero.notes, ["2 opportunities at time 0 count to the first millisecond"]);
    let heavy = read("2\n", &named(FileFormat::Cellreplay)).expect("a trace");
    assert_eq!(heavy.timeline.bytes(), [0, 1400]);
    let own = ReadOptions { packet: Some(Bytes(1504)), ..ReadOptions::default() };
    assert_eq!(read("1\n", &own).expect("a trace").timeline.bytes(), [1504]);
}

#[test]
fn a_list_that_is_no_mahimahi_trace_is_refused_with_its_line() {
    let allowed = "allowed is a time in whole milliseconds, at most 40000000, alone on its line";
    for (text, error) in [
        (
            "5\n4\n",
            "t:2: column `time_ms`: found 4 after 5, allowed is times that do not \
             fall".to_string()),
        ("1\nx\n", format!("t:2: column `time_ms`: found `x`, {allowed}")),
        ("1\n2.5\n", format!("t:2: column `time_ms`: found `2.5`, {allowed}")),
        ("1\n-2\n", format!("t:2: column `time_ms`: found `-2`, {allowed}")),
        ("1\n2 3\n", format!("t:2: column `time_ms`: found `2 3`, {allowed}")),
        ("1\n99999999999999999999\n",
            format!("t:2: column `time_ms`: found `99999999999999999999`, {allowed}")),
        ("1\n40000001\n", format!("t:2: column `time_ms`: found `40000001`, {allowed}")),
        ("0\n0\n", "t: found a trace of no duration: all times are 0, allowed is a last time above 0".into()),
        ("1\n\n2\n", "t:2: column `time_ms`: found an empty line before further rows, allowed is rows one after another".into()),
    ] {
        assert_eq!(message(text), error, "{text:?}");
    }
    let latin = message(b"1\n2\xe9\n");
    assert!(
        latin.starts_with("t:2: column `time_ms`") && latin.contains("allowed is text in UTF-8, "),
        "{latin}"
    );
    let long = message(format!("1\n{}\n", "7".repeat(5000)));
    assert!(
        long.starts_with("t:2: column `time_ms`: found a line of more than 4096 bytes"),
        "{long}"
    );
    let empty = read("# none\n", &named(FileFormat::Mahimahi)).expect_err("no rows");
    assert!(empty.starts_with("t: found no rows, allowed is a line with a time"), "{empty}");
    let packet = ReadOptions { packet: Some(Bytes(0)), ..ReadOptions::default() };
    assert!(read("1\n", &packet).expect_err("no size").starts_with("t: found a packet size of 0B"));
}

#[test]
fn marks_of_other_systems_are_skipped_and_told() {
    let notes = |bytes: &[u8]| read_text(bytes).notes;
    assert_eq!(notes(b"\xef\xbb\xbf1\n2\n"), ["a byte order mark was skipped"]);
    assert_eq!(notes(b"1\r\n2\r\n"), ["lines end in CRLF"]);
    assert_eq!(notes(&gzip(b"1\n2\n")), ["the file was unpacked from gzip"]);
    assert_eq!(notes(b"# a remark\n\n1\n2\n\n\n"), [""; 0]);
    assert_eq!(notes(b"\xef\xbb\xbfpackets_per_10ms\r\n3\r\n").len(), 2);
}

#[test]
fn a_file_of_no_trace_is_refused_in_words() {
    assert_eq!(message(""), "t: found an empty file, allowed is a trace");
    let parquet = message("PAR1\x15");
    assert!(
        parquet.starts_with("t: found a Parquet file, allowed is a table as text"),
        "{parquet}"
    );
    assert!(message("hello\n").starts_with("t: found no format that is known by its first line"));
    let archive = gzip(b"1\n2\n3\n");
    for damaged in
        [&archive[..archive.len() - 5], &archive[..12], &[0x1f, 0x8b], b"\x1f\x8bgarbage"]
    {
        let got = message(damaged);
        assert!(got.contains("a read error") && got.ends_with("gzip archive of one"), "{got}");
    }
    let silent = message("start_ms,end_ms,bytes\n0,1,0\n");
    assert!(silent.starts_with("t: found a channel that never carries anything"), "{silent}");
    let folder =
        load(&std::env::temp_dir(), &ReadOptions::default()).expect_err("no file").to_string();
    assert!(folder.ends_with("found a directory, allowed is a regular file"), "{folder}");
}

#[test]
fn a_train_is_in_force_until_the_next_at_its_dispersion_rate() {
    let loaded = read_text("100 20 0 1 2\n103 30 0\n104 25 0 0\n");
    assert_eq!(loaded.format, FileFormat::CellreplayTrain);
    assert_eq!(loaded.timeline.bytes(), [1400, 1400, 1400, 1400, 1400]);
    assert_eq!(
        loaded.notes,
        [
            "the capacity is estimated from the dispersion of the trains, each in force until the \
             next",
            "base delays of 20 to 30 ms are no part of a capacity",
            "line 2: 1 trains of one packet hold the rate before them",
            "line 3: 1 trains that arrived at once count as 1 ms",
        ]
    );
    let slow = read_text("0 20 0 3\n3 20 0 7\n").timeline;
    assert_eq!(slow.bytes(), [466, 467, 467, 200, 200, 200]);
    for (text, error) in [
        (
            "5 1 0 1\n5 1 0 1\n",
            "t:2: column `time_ms`: found 5 after 5, allowed is times that rise",
        ),
        (
            "5 1 0 2 1\n6 1\n",
            "t:1: column `arrival_ms`: found 1 after 2, allowed is arrivals that do not fall",
        ),
        (
            "5 1 0 2\n6 x\n",
            "t:2: column `base_delay_ms`: found `x`, allowed is a whole number from 0 to 40000000",
        ),
        (
            "5 1 0 2\n6\n",
            "t:2: column `train`: found a single number, allowed is a time, a base delay and \
             arrivals, in ms",
        ),
        (
            "5 1 0 2\n",
            "t: found a single train, allowed is at least two: a rate lasts until the next train",
        ),
        (
            "5 1 0\n6 1 0\n",
            "t: found no train of two packets, allowed is at least two trains, one of several \
             packets",
        ),
    ] {
        assert_eq!(message(text), error);
    }
}

const LOG: &str = "Timestamp,CQI,DL_bitrate,UL_bitrate,State\n\
    2019.12.31_23.59.58,10,8,1,D\n\
    2019.12.31_23.59.58,11,16,1,D\n\
    2020.01.01_00.00.01,-,-,1,D\n\
    2020.01.01_00.00.02,12,24,2,D\n\
    2020.01.01_00.00.03,9,0,2,I\n\
    2020.01.01_00.00.09,28,32,2,D\n";

fn log(repairs: Repairs) -> Loaded {
    read(LOG, &ReadOptions { repairs, ..ReadOptions::default() }).expect("a log")
}

#[test]
fn a_phone_log_is_repaired_as_stated_and_told() {
    let held = log(Repairs::default());
    assert_eq!(held.timeline.bytes(), [2000, 2000, 2000, 2000, 3000, 4000]);
    assert_eq!(held.timeline.cqi(), Some(&[11, 11, 11, 11, 12, 12][..]));
    assert_eq!(
        held.notes,
        [
            "line 3: 1 of 6 rows share a second with the row before; the last is kept",
            "line 4: 2 seconds are missing in 1 places; each holds the value before it",
            "line 4: 1 of 6 rows have no measured DL_bitrate; each holds the value before it",
            "line 6: 1 of 6 rows are idle (state I); they are left out and time is compressed",
        ]
    );
    let bytes = |repairs| log(repairs).timeline.bytes().to_vec();
    let of = |repeated, gaps, idle| Repairs {
        repeated: Some(repeated),
        gaps: Some(gaps),
        idle: Some(idle),
    };
    assert_eq!(bytes(of(Repeated::First, Gaps::Zero, Idle::Cut)), [1000, 0, 0, 0, 3000, 4000]);
    assert_eq!(bytes(of(Repeated::Mean, Gaps::Skip, Idle::Cut)), [1500, 3000, 4000]);
    let kept = bytes(of(Repeated::Last, Gaps::Hold, Idle::Keep));
    assert_eq!(kept, [2000, 2000, 2000, 2000, 3000, 0, 0, 0, 0, 0, 0, 4000]);
    let uplink = ReadOptions { column: Some(Column::UlBitrate), ..ReadOptions::default() };
    assert_eq!(read(LOG, &uplink).expect("a log").timeline.bytes(), [125, 125, 125, 125, 250, 250]);
}

#[test]
fn a_phone_log_can_be_refused_instead_of_repaired() {
    let refused = |repeated, gaps| {
        let repairs = Repairs { repeated: Some(repeated), gaps: Some(gaps), idle: None };
        read(LOG, &ReadOptions { repairs, ..ReadOptions::default() }).expect_err("refused")
    };
    assert!(
        refused(Repeated::Error, Gaps::Hold)
            .starts_with("t:3: column `Timestamp`: found a second that is already")
    );
    assert!(
        refused(Repeated::Last, Gaps::Error)
            .starts_with("t:4: column `DL_bitrate`: found no DL_bitrate")
    );
}

#[test]
fn the_cqi_of_a_phone_log_becomes_transport_blocks() {
    let options = ReadOptions { column: Some(Column::Cqi), ..ReadOptions::default() };
    let loaded = read(LOG, &options).expect("a log");
    assert_eq!(loaded.timeline.cqi(), Some(&[11, 11, 11, 11, 12, 12][..]));
    // TS 36.213 Table 7.1.7.2.1-1, 25 PRBs: CQI 11 is MCS 19 and I_TBS 17, 9144 bit in a subframe,
    // by T20's map.
    assert_eq!(loaded.timeline.bytes()[0], 1_143_000);
    assert!(loaded.notes.iter().any(|note| note.ends_with("by the map tmc on 25 resource blocks")));
    let column = read_text("place,cqi\nA,11\nB,\n");
    assert_eq!(
        (column.format, column.timeline.bytes()),
        (FileFormat::Cqi, &[1_143_000, 1_143_000][..])
    );
    assert!(column.notes[0].starts_with("line 3: 1 of 2 rows have no CQI"));
    let mut wider = ReadOptions::default();
    wider.set_quality(Some("oai"), Some(50), Some(2)).expect("LTE has them");
    assert!(read("cqi\n11\n", &wider).expect("a trace").timeline.total() > 2 * 1_143_000);
    for (map, prbs, field) in [(Some("none"), None, "map"), (None, Some(111), "n_prb")] {
        assert_eq!(wider.set_quality(map, prbs, None).map_err(|e| e.field), Err(field.into()));
    }
}

#[test]
fn the_cqis_of_a_table_hold_from_their_times_to_the_next() {
    let table = "time,cqi,rsrp\n0,7,-90\n1,8,-90\n1,9,-91\n5,10,-90\n6,,-90\n7,12,-92\n";
    let cqi = |text: &str, options: &ReadOptions| {
        let loaded = read(text, options).expect("a table");
        assert_eq!(loaded.format, FileFormat::Cqi);
        (loaded.timeline.interval(), loaded.timeline.cqi().expect("CQIs").to_vec(), loaded.notes)
    };
    let (interval, values, notes) = cqi(table, &ReadOptions::default());
    assert_eq!((interval, &values[..]), (Duration::from_secs(1), &[7, 9, 9, 9, 9, 10, 10, 12][..]));
    let all = notes.join("\n");
    for said in [
        "CQIs of `cqi`\ntimes of `time` in s",
        "line 5: 1 of 5 rows come after more than twice the usual step of 1s; the value before it \
         holds (--gaps)",
        "line 4: 1 of 6 rows have the time of the row before; the last is kept",
        "line 6: 1 of 6 rows have no value; each holds the value before it",
        "rows of 1s to 4s became intervals of 1s, whose edges keep those of the rows",
    ] {
        assert!(all.contains(said), "{said}\n{all}");
    }
    let with = |gaps, repeated| ReadOptions {
        repairs: Repairs { gaps: Some(gaps), repeated: Some(repeated), idle: None },
        ..ReadOptions::default()
    };
    assert_eq!(cqi(table, &with(Gaps::Zero, Repeated::First)).1, [7, 8, 0, 0, 0, 10, 0, 12]);
    assert_eq!(cqi(table, &with(Gaps::Skip, Repeated::Mean)).1, [7, 8, 10, 12]);
    let refused = |gaps, repeated| read(table, &with(gaps, repeated)).expect_err("refused");
    assert!(refused(Gaps::Error, Repeated::Last).starts_with("t:6: column `cqi`"));
    assert!(refused(Gaps::Hold, Repeated::Error).starts_with("t:4: column `cqi`"));
    assert!(refused(Gaps::Hold, Repeated::Sum).contains("a CQI is no amount"));
    // An interval of a CQI is at most a second: 1.5 s are two.
    let (interval, values, _) = cqi("t;cqi\n0;3\n1,5;5\n3,0;7\n", &ReadOptions::default());
    assert_eq!((interval.as_nanos(), &values[..]), (750_000_000, &[3, 3, 5, 5, 7, 7][..]));
    let named = ReadOptions {
        time_column: Some("2".into()),
        interval: Some(Duration::from_millis(500)),
        ..ReadOptions::default()
    };
    let (interval, values, _) = cqi("cqi,when\n3,0.2\n5,1.2\n", &named);
    assert_eq!((interval.as_nanos(), &values[..]), (500_000_000, &[3, 3, 5, 5][..]));
    // Without a column of times a row lasts for a second.
    assert_eq!(cqi("place,cqi\nA,3\nB,5\n", &ReadOptions::default()).1, [3, 5]);
    let late = ReadOptions { time_unit: Some(TimeUnit::Ms), ..ReadOptions::default() };
    let error = read("place,cqi\nA,3\nB,5\n", &late).expect_err("no times");
    assert!(error.contains("--time-unit: found an option without effect"), "{error}");
}

#[test]
fn a_phone_log_of_the_wrong_shape_is_refused_with_its_line() {
    let header = "Timestamp,DL_bitrate\n";
    let row = |text: &str| message(format!("{header}{text}\n"));
    for bad in ["2019.13.16_13.40.04", "x", "", "2019.12.16_13.40.0\u{e9}"] {
        let got = row(&format!("{bad},1"));
        assert!(
            got.starts_with("t:2: column `Timestamp`: found `")
                && got.ends_with("2019.12.16_13.40.04"),
            "{got}"
        );
    }
    assert_eq!(
        row("2019.12.16_13.40.04,fast"),
        "t:2: column `DL_bitrate`: found `fast`, allowed is a number from 0 to 34359738 kbit/s"
    );
    assert_eq!(
        row("2019.12.16_13.40.04,99999999999"),
        "t:2: column `DL_bitrate`: found `99999999999`, allowed is a number from 0 to 34359738 \
         kbit/s"
    );
    assert!(
        row("2019.12.16_13.40.04,1,2")
            .contains(":2: column `DL_bitrate`: found 3 fields, allowed is 2 fields")
    );
    let back = row("2019.12.16_13.40.04,1\n2019.12.16_13.40.02,1");
    assert_eq!(
        back,
        "t:3: column `Timestamp`: found a time 2 s before that of the row before, allowed is \
         times that do not fall"
    );
    assert!(
        row("2019.12.16_13.40.04,1\n2020.12.16_13.40.02,1").contains("found a gap of 31622398 s")
    );
    assert!(
        message(header)
            .starts_with("t: found no rows, allowed is a header line with columns Timestamp")
    );
    let lost = message("DL_bitrate,State\n1,D\n");
    assert!(lost.starts_with("t: found a table with the columns `DL_bitrate`, `State`"), "{lost}");
    let idle = message("Timestamp,DL_bitrate,State\n2019.12.16_13.40.04,1,I\n");
    assert!(
        idle.contains(
            "found no second with a DL_bitrate, allowed is some second in which the phone was not \
             idle"
        ),
        "{idle}"
    );
}

#[test]
fn rows_of_own_text_follow_each_other_and_keep_their_length() {
    let loaded = read_text("start_us,end_us,bytes,cqi\n500,1000,7,3\n1000,1500,0,0\n");
    assert_eq!((loaded.timeline.bytes(), loaded.timeline.cqi()), (&[7, 0][..], Some(&[3, 0][..])));
    assert_eq!(loaded.timeline.interval(), Duration::from_micros(500));
    let rows = |text: &str| message(format!("start_ms,end_ms,bytes\n{text}\n"));
    for (text, error) in [
        ("0,0,5", "t:2: column `end`: found `0`, allowed is an end after the start, 0"),
        ("0,1,5\n2,3,5", "t:3: column `start`: found `2`, allowed is the end of the row before"),
        ("0,1,5\n1,0,5", "t:3: column `end`: found `0`, allowed is an end after the start, 1"),
        ("0,1,x", "t:2: column `bytes`: found `x`, allowed is a whole number from 0 to 4294967295"),
        (
            "0,1,",
            "t:2: column `bytes`: found an empty field, allowed is a whole number from 0 to \
             4294967295",
        ),
        (
            "0,1,4294967296",
            "t:2: column `bytes`: found `4294967296`, allowed is a whole number from 0 to \
             4294967295",
        ),
        ("0,1", "t:2: column `bytes`: found 2 fields, allowed is 3 fields as in the first line"),
        (
            "0,18446744073709551615,1",
            "t:2: column `end`: found `18446744073709551615`, allowed is a number from 0 on, at \
             most 292 years",
        ),
        ("0,3600001,1", "t: found interval of 3600.001s, allowed is above 0s, at most 1h"),
    ] {
        assert_eq!(rows(text), error, "{text:?}");
    }
    let uneven = read_text("start_s,end_s,bytes\n0,0.1,1000\n0.1,0.25,3000\n0.25,0.35,500\n");
    assert_eq!(uneven.timeline.bytes(), [500, 500, 1000, 1000, 1000, 250, 250]);
    let said = "rows of 100ms to 150ms became intervals of 50ms; every byte is kept";
    assert_eq!(uneven.notes, [said]);
    let shorter = read_text("start_ms;end_ms;bytes\n0.0;100.0;125000.0\n100.0;130.0;5\n").timeline;
    assert_eq!(shorter.bytes(), [125_000, 5]);
    assert_eq!(shorter.duration(), Duration::from_millis(130));
    let header = read("a,b\n1,2\n", &named(FileFormat::Csv)).expect_err("no header");
    assert!(
        header
            .starts_with("t:1: column `bytes`: found `a,b`, allowed is a header line with columns"),
        "{header}"
    );
}

#[test]
fn columns_of_one_number_need_what_they_do_not_say() {
    assert_eq!(read_text("packets_per_10ms\n2\n0\n").timeline.bytes(), [292_000, 0]);
    let bare = message("bytes\n5\n");
    assert!(bare.starts_with("t: found the column `bytes` alone, which has no times, allowed is the length of a row: "), "{bare}");
    let stated =
        ReadOptions { interval: Some(Duration::from_millis(20)), ..ReadOptions::default() };
    assert_eq!(
        read("bytes\n5\n", &stated).expect("a trace").timeline.duration(),
        Duration::from_millis(20)
    );
    let large = message("packets_per_10ms\n29418\n");
    assert_eq!(large, "t: found 29418 in column packets_per_10ms, allowed is at most 29417");
}

#[test]
fn pipes_and_devices_are_refused_by_both_readers_before_they_are_opened() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let pipe = folder.path().join("pipe");
    assert!(
        std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success()
    );
    for (path, what) in [(pipe.as_path(), "a pipe"), (Path::new("/dev/zero"), "a device")] {
        let want = format!("{}: found {what}, allowed is a regular file", path.display());
        let error = load(path, &ReadOptions::default()).expect_err("no file").to_string();
        assert_eq!(error, want);
        let paths = crate::TracePaths {
            scenario_dir: folder.path().into(),
            data_dir: None,
            confined: false,
        };
        assert_eq!(
            crate::read(path, &paths, Format::Bytes).expect_err("no file").to_string(),
            want
        );
    }
}

#[test]
fn rows_with_control_characters_are_refused_and_told_without_them() {
    let csv = "start_ms,end_ms,bytes,note\n0,1,5,\u{1b}[31m\n";
    let log = "t_s,dl_kbps,cell\n0,5,\u{7}\n";
    let allowed = "allowed is text without control characters";
    for (text, want) in [
        ("1\n\u{c}2\n", format!("t:2: column `time_ms`: found `\\u{{c}}2`, {allowed}")),
        ("1\n2\r\r\n", format!("t:2: column `time_ms`: found `2\\r`, {allowed}")),
        (csv, format!("t:2: column `bytes`: found `0,1,5,\\u{{1b}}[31m`, {allowed}")),
        (log, format!("t:2: column `DL_bitrate`: found `0,5,\\u{{7}}`, {allowed}")),
        (
            "packets_per_10ms\n5\u{0}\n",
            format!("t:2: column `packets_per_10ms`: found `5\\0`, {allowed}"),
        ),
    ] {
        assert_eq!(message(text), want, "{text:?}");
    }
    assert_eq!(read_text("# \u{1b} in a remark\n1\t\r\n2\n").timeline.bytes(), [1500, 1500]);
}

#[test]
fn a_phone_log_is_at_most_46_days_long_with_its_gaps() {
    let mut log = "t_s,dl_kbps\n".to_string();
    for k in 0..1200 {
        log.push_str(&format!("{},5\n", k * 3600));
    }
    let got = message(&log);
    assert_eq!(got, "t: found 4003200 seconds, allowed is at most 4000000 seconds");
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        format in proptest::option::of(proptest::sample::select(FileFormat::ALL.to_vec())),
    ) {
        let options = ReadOptions { format, max_intervals: 10_000, ..ReadOptions::default() };
        if let Ok(loaded) = read(&bytes, &options) {
            prop_assert!(loaded.timeline.total() > 0);
        }
    }

    #[test]
    fn lists_of_numbers_are_read_or_refused_by_a_line_that_exists(
        rows in proptest::collection::vec("[0-9 ,.\\-\r#;\"\tae]{0,7}", 0..30),
        format in proptest::sample::select(FileFormat::ALL.to_vec()),
        gaps in proptest::option::of(proptest::sample::select(Gaps::ALL.to_vec())),
    ) {
        let mut options =
            ReadOptions { format: Some(format), max_intervals: 10_000, ..ReadOptions::default() };
        let column = Some("2".to_string());
        match format {
            FileFormat::Rates => options.rate_column = column,
            FileFormat::Amounts => options.amount_column = column,
            _ => {}
        }
        if matches!(format, FileFormat::Rates | FileFormat::Amounts) {
            options.time_column = Some("1".into());
            let unit = if format == FileFormat::Rates { "kbit/s" } else { "B" };
            options.unit = unit.parse().ok();
            options.repairs.gaps = gaps;
        }
        if let Err(TraceError::Malformed { line, .. }) =
            load_from(rows.join("\n").as_bytes(), Path::new("t"), &options)
        {
            prop_assert!((1..=rows.len().max(1) as u64).contains(&line));
        }
    }
}
