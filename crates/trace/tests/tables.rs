//! Tables as people have them, through the public interface: read right, or refused with the option
//! that helps. The files are in `tables`.

use justfull_trace::{
    Duration, FileFormat, Loaded, ReadOptions, ServingColumns, TracePaths, load, load_from, serving,
};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables").join(name)
}

/// Options by the names of the command line.
fn options(given: &[(&str, &str)]) -> ReadOptions {
    let mut options = ReadOptions::default();
    for &(name, text) in given {
        let name = match name {
            "time" => "time-column",
            "rate" => "rate-column",
            "amount" => "amount-column",
            other => other,
        };
        let option = options.words.option(name).expect(name);
        options.set(option, text).expect("a value");
    }
    options
}

fn read(name: &str, given: &[(&str, &str)]) -> Result<Loaded, String> {
    load(&file(name), &options(given))
        .map_err(|error| error.to_string().replace(&file("").display().to_string(), ""))
}

fn text(text: &str, given: &[(&str, &str)]) -> Result<Loaded, String> {
    load_from(text.as_bytes(), Path::new("t"), &options(given)).map_err(|error| error.to_string())
}

fn bytes(loaded: Result<Loaded, String>) -> Vec<u32> {
    loaded.expect("it is read").timeline.bytes().to_vec()
}

const RATES: [(&str, &str); 3] = [("time", "time"), ("rate", "rate"), ("unit", "Mbit/s")];

fn rates<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    RATES.iter().chain(more).copied().collect()
}

#[test]
fn a_table_without_header_is_read_by_numbers_of_columns_whatever_separates_them() {
    let by_number = [("time", "1"), ("rate", "2"), ("unit", "Mbit/s")];
    for name in ["abr.txt", "abr-tab.txt"] {
        let loaded = read(name, &by_number).expect("it is read");
        assert_eq!(loaded.timeline.interval(), Duration::from_millis(500));
        // 1.580195 and 3.356530 Mbit/s over half a second.
        assert_eq!(loaded.timeline.bytes()[..2], [98_762, 209_783]);
        assert!(loaded.notes.iter().any(|note| note.contains("times of column 1 in s, since")));
        let refused = read(name, &[]).expect_err("nothing names its columns");
        assert!(refused.contains("columns `1`, `2`") && refused.contains("--time-column 1"));
        let named = read(name, &RATES).expect_err("it has no names");
        assert!(named.contains("a number from 1 to 2: the first line has no names"), "{named}");
    }
}

#[test]
fn a_separator_line_is_not_a_row_and_dates_of_several_countries_are_read() {
    let plain = "time,rate\n2024-05-14 11:59:59,1.5\n2024-05-14 12:00:00,2.5\n";
    let expected = bytes(text(plain, &RATES));
    for table in [
        "sep=;\r\ntime;rate\r\n14.05.2024 11:59:59;1,5\r\n14.05.2024 12:00:00;2,5\r\n",
        "\u{feff}\"SEP=,\"\ntime,rate\n5/14/2024 11:59:59 AM,1.5\n5/14/2024 12:00:00 PM,2.5\n",
        "sep=\t\ntime\trate\n05/06/2024 11:59:59\t1.5\n05/06/2024 12:00:00\t2.5\n",
        "sep=|\ntime|rate\n14-05-2024 11:59:59|1.5\n14-05-2024 12:00:00|2.5\n",
    ] {
        assert_eq!(bytes(text(table, &RATES)), expected, "{table}");
    }
    let refused = text("sep=;\ntime;rate\n1;x\n", &RATES).expect_err("no rate");
    assert!(
        refused.contains("t:3: column `rate`: found `x`"),
        "lines are those of the file: {refused}"
    );
    let suggested = text("sep=;\nwann;kbps\n14.05.2024 09:31:02;7\n", &[]).expect_err("no names");
    assert!(suggested.contains("--time-column wann --rate-column kbps"), "{suggested}");
    let suggested = text("time,rate\n4/5/2024 9:31,7\n5/6/2024 9:31,7\n", &RATES);
    assert!(suggested.expect_err("an open order").contains("2024-05-14 shows both"));
}

#[test]
fn a_log_of_cells_may_state_its_separator_in_its_first_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log.csv");
    std::fs::write(&log, "sep=;\nt_s;CellID\n10;a\n25;b\n").expect("a file");
    let paths = TracePaths { scenario_dir: folder.path().into(), data_dir: None, confined: false };
    let found = serving(Path::new("log.csv"), &paths, ServingColumns::default());
    let found = found.expect("it is read");
    let cells: Vec<_> = found.iter().map(|one| (one.cell.as_str(), one.line)).collect();
    assert_eq!(cells, [("a", 3), ("b", 4)]);
}

#[test]
fn semicolons_decimal_commas_and_trailers_are_found_from_the_file() {
    let german = [("time", "zeit"), ("rate", "rate"), ("unit", "Mbit/s")];
    let loaded = read("de.csv", &german).expect("it is read");
    assert_eq!(loaded.timeline.bytes(), [781_250, 703_125, 562_500]);
    let told = "fields are separated by semicolons and numbers have a decimal comma";
    assert!(loaded.notes.iter().any(|note| note == told), "{:?}", loaded.notes);
    let station = [("time", "time"), ("rate", "dl_brate"), ("unit", "bit/s")];
    assert_eq!(bytes(read("enb.csv", &station)), [1_500_000, 1_543_209, 0, 1_312_500]);
    assert_eq!(bytes(read("qc.csv", &RATES)), [1_562_500, 1_375_000, 1_125_000]);
    let refused = read("de.csv", &[]).expect_err("nothing names its columns");
    assert_eq!(
        refused,
        "de.csv: found a table with the columns `zeit`, `rate`, allowed is the names of two of \
         them: justfull trace info de.csv --time-column zeit --rate-column rate --unit Mbit/s (or \
         the unit that it has)"
    );
}

#[test]
fn a_rate_whose_first_value_is_missing_is_suggested_by_its_name() {
    let refused = text("time,cell,rate_kbps\n0,a,NaN\n1,b,20\n", &[]).expect_err("no names");
    assert!(refused.ends_with("--time-column time --rate-column rate_kbps"), "{refused}");
}

#[test]
fn rows_without_a_value_are_refused_with_the_option_that_reads_them() {
    let refused = read("em.csv", &RATES).expect_err("a field is empty");
    assert_eq!(
        refused,
        "em.csv:3: column `rate`: found an empty field, allowed is a number; --gaps hold, zero or \
         skip reads rows without one"
    );
    for (gaps, want) in [
        ("hold", vec![1_562_500, 1_562_500, 1_625_000, 625_000]),
        ("zero", vec![1_562_500, 0, 1_625_000, 625_000]),
        ("skip", vec![1_562_500, 1_625_000, 625_000]),
    ] {
        let loaded = read("em.csv", &rates(&[("gaps", gaps)])).expect("it is read");
        assert_eq!(loaded.timeline.bytes(), want, "{gaps}");
        let told = "line 3: 1 of 4 rows have no value; ";
        assert!(loaded.notes.iter().any(|note| note.starts_with(told)), "{:?}", loaded.notes);
    }
    for field in ["nan", "NaN", "NA", "-"] {
        let table = format!("time,rate\n0,8\n1,{field}\n2,8\n");
        let refused = text(&table, &RATES).expect_err("a value is missing");
        assert!(refused.starts_with("t:3: column `rate`: found `"), "{refused}");
        assert_eq!(bytes(text(&table, &rates(&[("gaps", "zero")]))), [1_000_000, 0, 1_000_000]);
    }
}

#[test]
fn rows_of_one_time_are_one_row_by_a_rule_that_is_told() {
    for (rule, second) in
        [("mean", 1_500_000), ("sum", 3_000_000), ("last", 1_625_000), ("first", 1_375_000)]
    {
        let loaded = read("dup.csv", &rates(&[("repeated", rule)])).expect("it is read");
        assert_eq!(loaded.timeline.bytes(), [1_562_500, second, 625_000], "{rule}");
    }
    let own = read("dup.csv", &RATES).expect("it is read");
    assert_eq!(own.timeline.bytes()[1], 1_500_000);
    let told = "line 4: 1 of 4 rows have the time of the row before; their mean is taken";
    assert!(own.notes.iter().any(|note| note == told), "{:?}", own.notes);
    let refused = read("dup.csv", &rates(&[("repeated", "error")])).expect_err("refused");
    assert!(refused.starts_with("dup.csv:4: column `rate`: found the time of the row before"));
}

#[test]
fn a_gap_between_rows_is_held_emptied_left_out_or_refused_and_told() {
    for (gaps, seconds, total) in [
        ("hold", 64, 1_562_500 + 1_375_000 + 60 * 1_625_000 + 625_000 + 750_000),
        ("zero", 64, 1_562_500 + 1_375_000 + 1_625_000 + 625_000 + 750_000),
        ("skip", 5, 1_562_500 + 1_375_000 + 1_625_000 + 625_000 + 750_000),
    ] {
        let loaded = read("gap.csv", &rates(&[("gaps", gaps)])).expect("it is read");
        assert_eq!(loaded.timeline.duration(), Duration::from_secs(seconds), "{gaps}");
        assert_eq!(loaded.timeline.total(), total, "{gaps}");
        let told = "line 5: 1 of 5 rows come after more than twice the usual step of 1s";
        assert!(loaded.notes.iter().any(|note| note.starts_with(told)), "{:?}", loaded.notes);
    }
    let refused = read("gap.csv", &rates(&[("gaps", "error")])).expect_err("refused");
    assert!(refused.starts_with("gap.csv:5: column `time`: found a row 60s after"), "{refused}");
}

#[test]
fn an_option_without_effect_is_refused_by_every_format() {
    for option in [
        ("gaps", "error"),
        ("repeated", "error"),
        ("column", "ul_bitrate"),
        ("row", "1s"),
        ("time-unit", "ms"),
        ("unit", "Mbit/s"),
        ("separator", "comma"),
        ("decimal", "point"),
        ("rnti", "5"),
        ("link", "ul"),
    ] {
        let refused = read("m.trace", &[option]).expect_err("no effect");
        let said = format!(
            "m.trace: --{}: found an option without effect on the format mahimahi, allowed is \
             --packet",
            option.0
        );
        assert_eq!(refused, said);
    }
    let mut quality = ReadOptions::default();
    quality.set_quality(Some("oai"), Some(50), None).expect("LTE has them");
    let refused = load(&file("m.trace"), &quality).expect_err("no effect").to_string();
    assert!(refused.contains("--map: found an option without effect"), "{refused}");
    for (table, given, option) in [
        ("time,rate\n0,1\n1,2\n", rates(&[("column", "cqi")]), "--column"),
        ("time,rate\n0,1\n1,2\n", rates(&[("from", "ucc")]), "--from"),
        (
            "rate\n1\n2\n",
            vec![("rate", "rate"), ("unit", "B/s"), ("row", "1s"), ("repeated", "sum")],
            "--repeated",
        ),
        ("start_s,end_s,bytes\n0,1,2\n", vec![("gaps", "zero")], "--gaps"),
        ("Timestamp,DL_bitrate\n2019.12.16_13.40.04,1\n", vec![("row", "1s")], "--row"),
    ] {
        let refused = text(table, &given).expect_err("no effect");
        assert!(refused.starts_with(&format!("t: {option}: found an option without")), "{refused}");
    }
}

#[test]
fn units_stand_in_the_name_of_a_column_or_in_an_option_and_are_told() {
    let named = [("time", "Time(ms)"), ("rate", "DL Throughput (kbps)")];
    let loaded = read("unit-in-header.csv", &named).expect("it is read");
    assert_eq!(loaded.timeline.interval(), Duration::from_millis(100));
    assert_eq!(loaded.timeline.total(), 568_750);
    assert_eq!(
        loaded.notes,
        [
            "rates of `DL Throughput (kbps)` in kbit/s, by its name",
            "times of `Time(ms)` in ms, by its name",
        ]
    );
    for name in ["time [ms]", "ms", "timeMs", "time-ms", "t_msec", "time_ms"] {
        let table = format!("{name},rate\n0,8\n100,16\n");
        let given = [("time", name), ("rate", "rate"), ("unit", "Mbps")];
        assert_eq!(bytes(text(&table, &given)), [100_000, 200_000], "{name}");
    }
    let other = [("time", "Time(ms)"), ("rate", "DL Throughput (kbps)"), ("unit", "Mbit/s")];
    let told = read("unit-in-header.csv", &other).expect("it is read").notes;
    assert!(told[0].ends_with("in Mbit/s, by --unit, though its name says kbit/s"), "{told:?}");
    let table = "time,rate\n0,8\n100,16\n";
    let doubted = text(table, &RATES).expect_err("100 s or 100 ms");
    assert!(doubted.contains("--time-unit ms"), "{doubted}");
    assert_eq!(bytes(text(table, &rates(&[("time-unit", "ms")]))), [100_000, 200_000]);
    for (name, why) in [
        ("rate", "no unit in the name of the column"),
        ("rate (MBPS)", "capitals"),
        ("rate (pkts/s)", "no unit in the name"),
    ] {
        let table = format!("time,{name}\n0,8\n1,16\n");
        let refused = text(&table, &[("time", "time"), ("rate", name)]).expect_err("no unit");
        assert!(refused.contains(why) && refused.contains("--unit"), "{refused}");
    }
    for (name, bytes_of_a_row) in [("Time (min)", 60_000_000), ("time_h", 3_600_000_000_u32)] {
        let table = format!("{name},rate\n0,8\n1,8\n");
        let given = [("time", "1"), ("rate", "2"), ("unit", "Mbit/s")];
        assert_eq!(bytes(text(&table, &given)), [bytes_of_a_row; 2], "{name}");
    }
    let days =
        text("Time (days),rate\n0,8\n1,16\n", &[("time", "1"), ("rate", "2"), ("unit", "bps")]);
    assert!(days.expect_err("days").contains("found times in `days`"));
}

#[test]
fn epochs_and_dates_are_times() {
    for (rows, step) in [
        (["1700000000", "1700000001"], 1000),
        (["1700000000.25", "1700000000.75"], 500),
        (["1.7e9", "1.7000000015e9"], 1500),
        (["1700000000000", "1700000000100"], 100),
        (["1700000000000000", "1700000000020000"], 20),
        (["1700000000000000000", "1700000000005000000"], 5),
        (["2024-05-14T09:31:02.113Z", "2024-05-14T09:31:02.213Z"], 100),
        (["2024-05-14 09:31:02", "2024-05-14 09:31:04"], 2000),
        (["2024-05-14 09:31:02 UTC", "2024-05-14 09:31:03 UTC"], 1000),
        (["2024.05.14_09.31.02", "2024.05.14_09.31.03"], 1000),
        (["2024-02-28T23:59:59+01:00", "2024-02-29T00:00:00+01:00"], 1000),
        (["59:59.0", "1:00:00.5"], 1500),
        (["00:01.0", "00:01.5"], 500),
    ] {
        let table = format!("when,rate\n{},8\n{},8\n", rows[0], rows[1]);
        let given = [("time", "when"), ("rate", "rate"), ("unit", "Mbit/s")];
        let loaded = text(&table, &given).expect("it is read");
        assert_eq!(loaded.timeline.interval(), Duration::from_millis(step), "{rows:?}");
        assert_eq!(loaded.timeline.total(), 2 * step * 1000, "{rows:?}");
    }
}

#[test]
fn a_note_says_how_times_of_two_numbers_are_taken() {
    for (time, words, longest) in [("0:01.5", "minutes and seconds", 4), ("0:03", "hours and", 400)]
    {
        let first = if time.contains('.') { "0:00.0" } else { "0:00" };
        let loaded = text(&format!("time,rate\n{first},8\n{time},8\n"), &RATES).expect("a table");
        assert!(loaded.notes.iter().any(|note| note.contains(words)), "{:?}", loaded.notes);
        assert!(loaded.timeline.duration() < Duration::from_secs(longest), "{time}");
    }
}

#[test]
fn amounts_pass_at_their_times_and_amounts_of_one_time_are_added() {
    let table = "time_ms,tbs\n0,8000\n0,800\n1,80\n7,1600\n";
    let given = [("time", "time_ms"), ("amount", "tbs"), ("unit", "bit")];
    assert_eq!(bytes(text(table, &given)), [1100, 10, 0, 0, 0, 0, 0, 200]);
    let wider = [&given[..], &[("row", "4ms")]].concat();
    assert_eq!(bytes(text(table, &wider)), [1110, 200]);
    let named =
        text("t_s,rx_bytes\n0,125000\n1,250000\n", &[("time", "t_s"), ("amount", "rx_bytes")]);
    let named = named.expect("it is read");
    assert_eq!(named.timeline.bytes(), [125_000, 250_000]);
    assert_eq!(named.timeline.interval(), Duration::from_secs(1));
    assert_eq!(named.notes[0], "amounts of `rx_bytes` in B, by its name");
}

#[test]
fn the_log_of_nr_scope_is_read_by_terminal_and_direction() {
    let all = read("nr-scope.csv", &[]).expect("it is read");
    assert_eq!(all.format, FileFormat::NrScope);
    // 8000 bit, then 16000 and 4000 half a millisecond later, 2000 after 10 ms.
    assert_eq!(all.timeline.bytes(), [3500, 0, 0, 0, 0, 0, 0, 0, 0, 0, 250]);
    let told = "2 terminals are added up, rnti 17921, 17922 (--rnti)";
    assert!(all.notes.iter().any(|note| note == told), "{:?}", all.notes);
    let one = read("nr-scope.csv", &[("rnti", "17922")]).expect("it is read").timeline;
    assert_eq!((one.total(), one.duration()), (500, all.timeline.duration()));
    assert_eq!(bytes(read("nr-scope.csv", &[("rnti", "0x4601"), ("link", "dl")]))[0], 3000);
    assert!(
        read("nr-scope.csv", &[("link", "ul"), ("rnti", "17922")])
            .is_err_and(|e| e.contains("one row alone"))
    );
    let none = read("nr-scope.csv", &[("rnti", "5")]).expect_err("no such terminal");
    assert_eq!(none, "nr-scope.csv: found no rnti 5, allowed is one of 17921, 17922");
}

#[test]
fn a_whole_number_may_be_written_with_a_fraction_of_zeros() {
    assert_eq!(bytes(read("flt.csv", &[])), [125_000, 250_000]);
    assert_eq!(bytes(read("flt2.csv", &[])), [125_000, 250_000]);
    let tenths = read("flt3.csv", &[]).expect("it is read").timeline;
    assert_eq!((tenths.interval(), tenths.total()), (Duration::from_millis(100), 375_000));
    assert_eq!(bytes(read("b.csv", &[("row", "100ms")])), [125_000, 250_000]);
    let cqi = |name, given: &[_]| read(name, given).map(|l| l.timeline.cqi().map(<[u8]>::to_vec));
    assert_eq!(cqi("c.csv", &[]), Ok(Some(vec![7, 12])));
    assert_eq!(cqi("c4.csv", &[]), Ok(Some(vec![7, 7, 12])));
    assert_eq!(cqi("c4.csv", &[("gaps", "zero")]), Ok(Some(vec![7, 0, 12])));
    assert_eq!(cqi("c4.csv", &[("gaps", "skip")]), Ok(Some(vec![7, 12])));
    assert!(cqi("c4.csv", &[("gaps", "error")]).expect_err("refused").contains("c4.csv:3"));
}

#[test]
fn rows_of_a_phone_log_in_which_nothing_was_measured_have_no_rate() {
    let log = "t_s,dl_kbps,state,meas\n0,8,D,1\n1,8,D,0\n2,16,D,1\n";
    assert_eq!(bytes(text(log, &[])), [1000, 1000, 2000]);
    assert_eq!(bytes(text(log, &[("gaps", "zero")])), [1000, 0, 2000]);
    assert_eq!(bytes(text(log, &[("gaps", "skip")])), [1000, 2000]);
    let told = text(log, &[]).expect("it is read").notes;
    assert!(told[0].starts_with("line 3: 1 of 3 rows have no measured DL_bitrate"), "{told:?}");
}

#[test]
fn bad_input_is_one_error_with_line_value_and_what_is_allowed() {
    for (table, start, allowed) in [
        ("time,rate\n0,12.5 Mbps\n1,900 kbps\n", "t:2: column `rate`: found `12.5 Mbps`", "--unit"),
        (
            "time,rate\n0,1\ntime,speed\n1,2\n",
            "t:3: column `rate`: found another header",
            "the header of line 1 again",
        ),
        ("time,rate\n1,1\n0,2\n", "t:3: column `time`: found `0`", "not before"),
        ("time,rate\n0,5\n", "t:2: column `time`: found one row alone", "--row"),
        ("time,rate\n0,inf\n1,2\n", "t:2: column `rate`: found `inf`", "a number from 0 to"),
        ("time,rate\n0,1e400\n1,2\n", "t:2: column `rate`: found `1e400`", "a number from 0 to"),
        ("time,rate\n0,-1\n1,2\n", "t:2: column `rate`: found `-1`", "a number from 0 to"),
        ("time,rate\n1e400,1\n1,2\n", "t:2: column `time`: found `1e400`", "a number of s"),
        ("time,rate\nnan,1\n1,2\n", "t:2: column `time`: found `nan`", "a number"),
        (
            "time,rate\n0,1\n2024-05-14 09:31:02,2\n",
            "t:3: column `time`: found `2024",
            "a number of s",
        ),
        (
            "time,rate\n1700000000,1\n1700000001000,2\n",
            "t:3: column `time`: found `17",
            "an epoch in s",
        ),
        ("time,rate\n0,1\n1\n", "t:3: column `rate`: found 1 field,", "2 fields"),
        ("time,rate\n0,\"1\n1,2\n", "t:2: column `rate`: found `0,", "quotes that end"),
        (
            "time,rate,rate\n0,1,2\n1,2,3\n",
            "t:1: column `rate`: found several columns of this name (--rate-column)",
            "the number of one: 2 or 3",
        ),
        (
            "time,rate\n0,\"1,500\"\n1,\"1,250\"\n",
            "t:2: column `rate`: found `1,500`",
            "a decimal point (--decimal)",
        ),
        ("", "t: found no rows", "rows"),
        ("time,rate\n", "t: found no rows", "rows"),
    ] {
        let error = text(table, &RATES).expect_err(table);
        assert!(error.starts_with(start) && error.contains(allowed), "{table:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for value in ["-1", "1e300", "inf"] {
        let error = text(&format!("time,rate\n0,{value}\n1,2\n"), &RATES).expect_err(value);
        assert!(error.ends_with("allowed is a number from 0 to 1000000000 Mbit/s"), "{error}");
    }
    let table = "time,dl_rate,ul_rate,cell,rsrp\n0,1,2,3,4\n";
    let near = text(table, &[("time", "time"), ("rate", "dlrate"), ("unit", "bit/s")]);
    assert_eq!(
        near.expect_err("no such column"),
        "t:1: column `dlrate`: found no such column (--rate-column), allowed is one of 5 columns, \
         such as `dl_rate`, `ul_rate`, `time`"
    );
    let again = "time,rate\n0,8\ntime,rate\n1,16\n";
    assert_eq!(bytes(text(again, &RATES)), [1_000_000, 2_000_000], "a header that repeats");
}

#[test]
fn a_line_of_units_below_the_names_gives_the_columns_their_units() {
    let named = [("time", "time"), ("rate", "rate")];
    let plain = bytes(text("time_ms,rate_kbps\n0,8\n500,16\n", &[("time", "1"), ("rate", "2")]));
    for table in [
        "time,rate\n[ms],[kbit/s]\n0,8\n500,16\n",
        "time;rate;cell\r\nms;kbps;\r\n0;8;a\r\n500;16;b\r\n",
    ] {
        let loaded = text(table, &named).expect("it is read");
        assert_eq!(loaded.timeline.bytes(), plain, "{table}");
        assert_eq!(loaded.notes[0], "rates of `rate` in kbit/s, by the line of units");
        let refused = text(table, &[]).expect_err("nothing names its columns");
        assert!(refused.ends_with("--time-column time --rate-column rate"), "{refused}");
    }
    let table = "time,rate\n[s],[MBPS]\n0,5\n1,6\n";
    let refused = text(table, &named).expect_err("bits or bytes");
    assert!(refused.starts_with("t:1: column `rate`: found a unit in capitals"), "{refused}");
    let alone = text("time,rate\n[s],[Mbit/s]\n", &named).expect_err("no row");
    assert!(alone.contains("found no rows"), "{alone}");
}

#[test]
fn a_file_that_is_in_no_format_is_refused_with_its_columns_where_it_has_any() {
    for (table, found) in [
        ("time|rate\n0|5\n1|6\n", "a table with the columns `time`, `rate`"),
        ("time,rate\n0 s,5 Mbps\n1 s,6 Mbps\n", "a table with the columns `time`, `rate`"),
        ("time,rate\n", "the columns `time`, `rate` and no row"),
        ("no table\nat all\n", "no format that is known by its first line"),
        ("time,rate\r0,5\r1,6\r", "lines that end in CR alone, allowed is lines that end in LF"),
        ("\"time\n(s)\",rate\n0,5\n", "a quote that does not end on its line"),
        ("time,rate\nfirst,second\n0,5\n", "two lines of names before the numbers"),
        ("time,rate\n[ms],[Mbit/s]\n0,5\n", "a table with the columns `time`, `rate`"),
    ] {
        let refused = text(table, &[]).expect_err("no format");
        assert!(refused.starts_with(&format!("t: found {found}")), "{refused}");
    }
    let wide: Vec<u8> = "time,rate\n0,5\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let named = ReadOptions { rate_column: Some("rate".into()), ..ReadOptions::default() };
    for (wide, from) in [([b"\xff\xfe", &wide[..]].concat(), "UTF-16"), (wide.clone(), "UTF-16LE")]
    {
        for options in [&ReadOptions::default(), &named] {
            let refused = load_from(&wide[..], Path::new("a b.csv"), options);
            let refused = refused.expect_err("no UTF-8").to_string();
            let wanted = format!(
                "a b.csv: found text in UTF-16, allowed is text in UTF-8, as from `iconv -f {from} \
                 -t UTF-8 'a b.csv' > 'a b.utf8.csv'`"
            );
            assert_eq!(refused, wanted);
        }
    }
}

#[test]
fn a_table_in_latin_1_is_refused_with_the_command_that_makes_utf_8() {
    let latin = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
    let refused = |text: &str, options: &ReadOptions| {
        let read = load_from(&latin(text)[..], Path::new("t.csv"), options);
        read.expect_err("no UTF-8").to_string()
    };
    let hint =
        "allowed is text in UTF-8, as from `iconv -f ISO-8859-1 -t UTF-8 t.csv > t.utf8.csv`";
    let table = "# x\nZeit;Rate in Mbit/s für Köln\r\n0;5\r\n1;6\r\n";
    let found = refused(table, &ReadOptions::default());
    assert_eq!(found, format!("t.csv: found no UTF-8 in line 2, {hint}"));
    let picture = load_from(&b"\x89PNG\r\n\x1a\n\0"[..], Path::new("t"), &ReadOptions::default());
    let picture = picture.expect_err("no table").to_string();
    assert!(picture.starts_with("t: found no format"), "{picture}");
    let named = ReadOptions { rate_column: Some("2".into()), ..ReadOptions::default() };
    let found = refused(table, &named);
    assert!(found.starts_with("t.csv:2: ") && found.ends_with(hint), "{found}");
}

#[test]
fn rates_of_a_phone_log_under_other_times_are_a_table_whose_columns_are_named() {
    let wanted = |table: &str, command: &str| {
        let refused = text(table, &[]).expect_err("no format");
        assert!(refused.contains(&format!("justfull trace info t {command}")), "{refused}");
        assert!(!refused.contains("Timestamp"), "{refused}");
    };
    for times in ["time", "Time (s)", "elapsed_s", "Zeit"] {
        let named = if times.contains(' ') { format!("'{times}'") } else { times.into() };
        for [before, end, separator] in
            [["", "\n", ","], ["\u{feff}", "\r\n", ";"], ["# a\n", "\n", "\t"]]
        {
            let table = format!(
                "{before}{times}{separator}dl_kbps{separator}CQI{end}0{separator}5{separator}7{end}\
                 1{separator}6{separator}8{end}"
            );
            wanted(&table, &format!("--time-column {named} --rate-column dl_kbps"));
        }
    }
    wanted("zeit;DL_bitrate\n0,5;5,5\n1,5;6\n", "--time-column zeit --rate-column DL_bitrate");
    let log = ReadOptions { format: Some(FileFormat::Ucc), ..ReadOptions::default() };
    let refused = load_from(&b"time,dl_kbps\n0,5\n"[..], Path::new("t"), &log);
    let refused = refused.expect_err("no times of a log").to_string();
    let found = "t:1: column `Timestamp`: found no such column in `time,dl_kbps`";
    let allowed = "allowed is a header line with columns Timestamp (or t_s) and DL_bitrate";
    assert_eq!(refused, format!("{found}, {allowed}"));
    for (table, hint) in [
        ("Timestamp,DL_bitrate\n17.5,5\n", "--time-column Timestamp --rate-column DL_bitrate"),
        ("t_s;dl_kbps\n0,5;5\n", "--time-column t_s --rate-column dl_kbps"),
    ] {
        let refused = text(table, &[]).expect_err("other times");
        let wanted = format!("; {hint} --unit kbit/s reads other times");
        assert!(refused.ends_with(&wanted), "{refused}");
    }
}

#[test]
fn a_column_of_bytes_without_a_length_of_rows_is_refused_with_the_names_of_its_times() {
    let times = text("t_ms;bytes\n0;5\n10;6\n", &[]).expect_err("no interval");
    let command = "justfull trace info t --time-column t_ms --amount-column bytes";
    assert!(times.contains("(or the length that it has), or the names of two columns"), "{times}");
    assert!(times.contains(command), "{times}");
    assert!(times.contains("found the columns `t_ms`, `bytes` without the length of"), "{times}");
    let alone = text("bytes\n5\n", &[]).expect_err("no interval");
    let command = "justfull trace info t --row 100ms (or the length that it has)";
    assert!(alone.ends_with(command), "{alone}");
}

/// A decimal number of nanoseconds in seconds.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_table_of_any_rows_and_its_parts_have_exact_length_and_bytes(
        rows in proptest::collection::vec((1_000u64..2_000_000_000, 0u64..200_000_000), 2..30),
        row in proptest::option::of(1_000_000u64..2_000_000_000),
        (a, b) in (0.0f64..1.0, 0.0f64..1.0),
        interval in 1_000_000u64..2_000_000_000,
    ) {
        let mut at = 0;
        let mut table = "t_s,rate\n".to_string();
        for (length, rate) in &rows {
            table.push_str(&format!("{},{rate}\n", seconds(at)));
            at += length;
        }
        // The last row is as long as the one before it.
        let mut rows = rows;
        let last = rows.len() - 1;
        at = at - rows[last].0 + rows[last - 1].0;
        rows[last].0 = rows[last - 1].0;
        prop_assume!(rows.iter().any(|row| row.1 > 1000));
        let mut options = options(&[("time", "t_s"), ("rate", "rate"), ("unit", "bit/s")]);
        options.interval = row.map(Duration::from_nanos);
        let Ok(loaded) = load_from(table.as_bytes(), Path::new("t"), &options) else {
            return Err(TestCaseError::reject("it carries no byte"));
        };
        let link = loaded.timeline;
        let until = |ns: u64| {
            let (mut start, mut sum) = (0, 0.0);
            for &(length, rate) in &rows {
                let end = (start + length).min(ns);
                sum += end.saturating_sub(start) as f64 * 1e-9 * rate as f64 / 8.0;
                start += length;
            }
            sum
        };
        prop_assert_eq!(link.duration().as_nanos(), at);
        prop_assert!((link.total() as f64 - until(at)).abs() < 1.0);
        let (from, to) = ((a.min(b) * at as f64) as u64, (a.max(b) * at as f64) as u64);
        prop_assume!(from < to);
        let part = link.slice(Duration::from_nanos(from), Duration::from_nanos(to)).expect("a part");
        let part = part.resample(Duration::from_nanos(interval)).expect("it fits");
        prop_assert_eq!(part.duration().as_nanos(), to - from);
        prop_assert!((part.total() as f64 - (until(to) - until(from))).abs() < 1.0);
    }
}
