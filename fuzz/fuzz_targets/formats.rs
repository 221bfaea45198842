//! No bytes make a reader of trace files panic, in any text format, named or detected, with any
//! repairs; and a trace that is read can be written, read back and fitted. The first byte chooses
//! the options, the rest is the file.

#![no_main]

use justfull_trace::{
    Column, Duration, FileFormat, Gaps, Idle, Output, ReadOptions, Repairs, Repeated, TimeUnit,
    load_from,
};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

const NAMED: [Option<FileFormat>; 12] = [
    None,
    Some(FileFormat::Mahimahi),
    Some(FileFormat::Cellreplay),
    Some(FileFormat::CellreplayTrain),
    Some(FileFormat::Ucc),
    Some(FileFormat::T20),
    Some(FileFormat::Cqi),
    Some(FileFormat::Bytes),
    Some(FileFormat::Csv),
    Some(FileFormat::NrScope),
    Some(FileFormat::Rates),
    Some(FileFormat::Amounts),
];

/// The options that `format` reads, out of a choice by `at`.
fn options(format: Option<FileFormat>, at: usize) -> ReadOptions {
    let row = Some(Duration::from_millis(10));
    let mut options = ReadOptions { format, max_intervals: 20_000, ..ReadOptions::default() };
    let repeated = Some(
        [Repeated::Last, Repeated::First, Repeated::Mean, Repeated::Sum, Repeated::Error][at % 5],
    );
    let gaps = Some([Gaps::Hold, Gaps::Zero, Gaps::Skip, Gaps::Error][at / 4 % 4]);
    match format {
        Some(FileFormat::Ucc) => {
            options.repairs =
                Repairs { repeated, gaps, idle: Some([Idle::Cut, Idle::Keep][at / 16 % 2]) };
            options.column = Some([Column::DlBitrate, Column::UlBitrate, Column::Cqi][at / 32 % 3]);
        }
        Some(FileFormat::Cqi) => {
            options.repairs.gaps = gaps;
            options.interval = row.filter(|_| at & 64 == 0);
            if at & 128 != 0 {
                options.time_column = Some("1".into());
                options.time_unit = [None, Some(TimeUnit::Ms)][at / 8 % 2];
                options.repairs.repeated = repeated;
            }
        }
        Some(FileFormat::Bytes | FileFormat::NrScope) => options.interval = row,
        Some(FileFormat::Rates | FileFormat::Amounts) => {
            let value = Some(["2", "rate", "bytes"][at / 64 % 3].to_string());
            if format == Some(FileFormat::Rates) {
                options.rate_column = value;
            } else {
                options.amount_column = value;
            }
            let unit = if format == Some(FileFormat::Rates) { "Mbit/s" } else { "B" };
            options.unit = unit.parse().ok();
            options.repairs.gaps = gaps.filter(|_| at % 3 > 0);
            if at % 2 == 0 {
                options.time_column = Some("1".into());
                options.time_unit = [None, Some(TimeUnit::Ms)][at / 8 % 2];
                options.repairs.repeated = repeated;
            } else {
                options.interval = row;
            }
        }
        _ => {}
    }
    options
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, file)) = bytes.split_first() else { return };
    let at = usize::from(choice);
    for format in NAMED {
        let options = options(format, at);
        let Ok(loaded) = load_from(file, Path::new("f"), &options) else { continue };
        let total = loaded.timeline.total();
        for to in [FileFormat::Csv, FileFormat::Bytes] {
            let mut text = Vec::new();
            Output::new(&loaded.timeline, to, None)
                .expect("any timeline can be written as bytes")
                .write(&mut text)
                .expect("memory takes it");
            let bytes = to == FileFormat::Bytes;
            let interval = Some(loaded.timeline.interval()).filter(|_| bytes);
            let options = ReadOptions { interval, ..ReadOptions::default() };
            let again = load_from(text.as_slice(), Path::new("f"), &options)
                .expect("what was written is read");
            assert_eq!(again.timeline.total(), total);
        }
    }
});
