//! Tests of the writers, each with its reader.

use super::*;
use crate::{ReadOptions, load_from};
use proptest::prelude::*;
use std::path::Path;

fn timeline(ms: u64, bytes: &[u32]) -> Timeline {
    Timeline::new(Duration::from_millis(ms), bytes.to_vec(), None).expect("a timeline")
}

fn written(timeline: &Timeline, format: FileFormat) -> (Vec<u8>, Vec<String>) {
    let output = Output::new(timeline, format, None).expect("it fits");
    let mut file = Vec::new();
    output.write(&mut file).expect("memory takes it");
    (file, output.notes)
}

fn text(timeline: &Timeline, format: FileFormat) -> String {
    String::from_utf8(written(timeline, format).0).expect("text")
}

fn read(file: &[u8], format: FileFormat, interval: Duration) -> Timeline {
    let interval = Some(interval).filter(|_| format == FileFormat::Bytes);
    let options = ReadOptions { format: Some(format), interval, ..ReadOptions::default() };
    load_from(file, Path::new("t"), &options).expect("a trace").timeline
}

#[test]
fn an_opportunity_comes_when_its_packet_is_complete_and_the_rest_is_told() {
    let link = timeline(1, &[1000, 1000, 4000, 0, 100]);
    let (file, notes) = written(&link, FileFormat::Mahimahi);
    assert_eq!(file, b"2\n3\n3\n3\n");
    assert_eq!(
        notes,
        [
            "100 B at the end are less than 1500 B and left out",
            "2 ms of silence at the end are lost: mahimahi begins again after its last opportunity",
        ]
    );
    assert_eq!(text(&timeline(4, &[6000]), FileFormat::Mahimahi), "1\n2\n3\n4\n");
    assert_eq!(text(&timeline(4, &[5600]), FileFormat::Cellreplay), "1\n2\n3\n4\n");
}

#[test]
fn another_step_is_a_note_with_the_loss_and_the_same_step_is_none() {
    let notes = |ns: u64, bytes: &[u32], format| {
        let link = Timeline::new(Duration::from_nanos(ns), bytes.to_vec(), None);
        written(&link.expect("a timeline"), format).1
    };
    let (mahimahi, t20) = (FileFormat::Mahimahi, FileFormat::T20);
    for (ns, format, note) in [
        (1_000_000_000, mahimahi, "steps of 1s became steps of 1ms: nothing is lost"),
        (
            2_500_000,
            mahimahi,
            "steps of 2.5ms became steps of 1ms: no byte is lost, changes of the rate move to the \
             new steps",
        ),
        (
            250_000_000,
            t20,
            "steps of 250ms became steps of 1s: no byte is lost, changes of the rate within a new \
             step are",
        ),
    ] {
        assert_eq!(notes(ns, &[146_000; 4], format)[0], note);
    }
    for (ns, format) in [
        (1_000_000, mahimahi),
        (1_000_000_000, t20),
        (1_234_567, FileFormat::Csv),
        (1_234_567, FileFormat::Bytes),
    ] {
        assert_eq!(notes(ns, &[1_460_000; 3], format), Vec::<String>::new(), "{format}");
    }
}

#[test]
fn own_text_uses_the_coarsest_unit_that_is_whole() {
    assert_eq!(
        text(&timeline(2000, &[5, 6]), FileFormat::Csv),
        "start_s,end_s,bytes\n0,2,5\n2,4,6\n"
    );
    let fine =
        Timeline::new(Duration::from_micros(125), vec![5], Some(vec![9])).expect("a timeline");
    assert_eq!(text(&fine, FileFormat::Csv), "start_us,end_us,bytes,cqi\n0,125,5,9\n");
    assert_eq!(text(&fine, FileFormat::Cqi), "# a row per 125us\ncqi\n9\n");
    assert_eq!(text(&timeline(10, &[7]), FileFormat::Bytes), "# bytes per 10ms\nbytes\n7\n");
    let t20 = text(&timeline(500, &[146_000, 145_999, 1]), FileFormat::T20);
    assert_eq!(t20, "# packets of 1460 B per 10 ms, a row per second\npackets_per_10ms\n1\n1\n");
}

#[test]
fn more_lines_than_can_be_read_are_not_written() {
    // 4 GB in each of a hundred milliseconds.
    let link = timeline(1, &[u32::MAX; 100]);
    let packets = u64::from(u32::MAX) * 100 / 1500;
    assert!(packets > MAX_LINES);
    let refused = Output::new(&link, FileFormat::Mahimahi, None).expect_err("too long").to_string();
    assert!(refused.contains(&format!("{packets} packets")), "{refused}");
    assert!(Output::new(&link, FileFormat::Mahimahi, Some(Bytes(65_535))).is_ok());
    assert!(Output::new(&link, FileFormat::Csv, None).is_ok());
}

#[test]
fn data_that_a_format_cannot_hold_is_refused_or_named() {
    let refused =
        |link: &Timeline, format| Output::new(link, format, None).map(|_| ()).expect_err("refused");
    let link = timeline(1, &[1499]);
    for (format, bound) in [
        (FileFormat::Mahimahi, "a format whose smallest amount the trace carries at least once"),
        (FileFormat::T20, "a format whose smallest amount the trace carries at least once"),
        (FileFormat::Cqi, "a format that needs no CQI: the trace has none"),
        (FileFormat::Ucc, "one of mahimahi, cellreplay, t20, cqi, bytes, csv"),
    ] {
        let error = refused(&link, format);
        assert_eq!((error.field.as_str(), error.bound.as_str()), ("to", bound));
    }
    let packet =
        Output::new(&link, FileFormat::Mahimahi, Some(Bytes(0))).map(|_| ()).expect_err("no size");
    assert_eq!(packet.field, "packet-bytes");
    let graded =
        Timeline::new(Duration::from_millis(1), vec![3000], Some(vec![9])).expect("a timeline");
    assert_eq!(written(&graded, FileFormat::Mahimahi).1, ["mahimahi holds no CQI"]);
}

/// Formats that hold amounts, with the bytes that they may leave out at the end.
const AMOUNTS: &[(FileFormat, u64)] = &[
    (FileFormat::Mahimahi, 1500),
    (FileFormat::Cellreplay, 1400),
    (FileFormat::T20, 146_000),
    (FileFormat::Bytes, 1),
    (FileFormat::Csv, 1),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn from_any_format_to_any_other_no_byte_is_lost_untold(
        ms in 1u64..1500,
        bytes in proptest::collection::vec(0u32..=3_000_000, 1..40),
    ) {
        let link = timeline(ms, &bytes);
        prop_assume!(link.total() >= 1_000_000);
        for &(from, from_unit) in AMOUNTS {
            let first = read(&written(&link, from).0, from, link.interval());
            prop_assert_eq!(first.total(), link.total() / from_unit * from_unit, "{}", from);
            for &(to, unit) in AMOUNTS {
                let (file, notes) = written(&first, to);
                let second = read(&file, to, first.interval());
                let rest = first.total() - second.total();
                prop_assert_eq!(rest, first.total() % unit, "{} to {}", from, to);
                let told = format!("{rest} B at the end");
                prop_assert_eq!(rest > 0, notes.iter().any(|note| note.starts_with(&told)), "{:?}",
                    notes);
            }
        }
    }

    #[test]
    fn a_list_of_opportunities_reads_back_as_it_was_written(
        steps in proptest::collection::vec((1u64..50, 1usize..5), 1..60),
    ) {
        let mut time = 0;
        let list: String = steps.iter().map(|&(step, times)| {
            time += step;
            format!("{time}\n").repeat(times)
        }).collect();
        let read = read(list.as_bytes(), FileFormat::Mahimahi, Duration::from_millis(1));
        prop_assert_eq!(text(&read, FileFormat::Mahimahi), list);
    }

    #[test]
    fn own_text_keeps_intervals_the_last_one_and_cqis(
        ns in 1u64..4_000_000_000,
        last in 0.0f64..1.0,
        rows in proptest::collection::vec((1u32..=u32::MAX, 0u8..=15), 2..100),
    ) {
        let (bytes, cqi): (Vec<u32>, Vec<u8>) = rows.into_iter().unzip();
        let link = Timeline::new(Duration::from_nanos(ns), bytes, Some(cqi)).expect("a timeline");
        let last = Duration::from_nanos(((ns as f64 * last) as u64).max(1));
        let link = link.ending(last).expect("a timeline");
        let again = read(&written(&link, FileFormat::Csv).0, FileFormat::Csv, link.interval());
        prop_assert_eq!(again, link);
    }
}
