//! No bytes whatever make a reader of trace files panic, in any text format, told or named, however
//! repairs are chosen; and what is read can be written, read back and fitted. The first byte
//! chooses the options, the rest is the file.

#![no_main]

use justfull_trace::{
    Column, Duration, FileFormat, Gaps, Idle, Output, ReadOptions, Repairs, Repeated, load_from,
};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

const NAMED: [Option<FileFormat>; 9] = [
    None,
    Some(FileFormat::Mahimahi),
    Some(FileFormat::Cellreplay),
    Some(FileFormat::CellreplayTrain),
    Some(FileFormat::Ucc),
    Some(FileFormat::T20),
    Some(FileFormat::Cqi),
    Some(FileFormat::Bytes),
    Some(FileFormat::Csv),
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, file)) = bytes.split_first() else { return };
    let at = usize::from(choice);
    let repairs = Repairs {
        repeated: [Repeated::Last, Repeated::First, Repeated::Mean, Repeated::Error][at % 4],
        gaps: [Gaps::Hold, Gaps::Zero, Gaps::Skip, Gaps::Error][at / 4 % 4],
        idle: [Idle::Cut, Idle::Keep][at / 16 % 2],
    };
    let column = [Column::DlBitrate, Column::UlBitrate, Column::Cqi][at / 32 % 3];
    for format in NAMED {
        let interval = Some(Duration::from_millis(10));
        let options = ReadOptions {
            format,
            interval,
            column,
            repairs,
            max_intervals: 20_000,
            ..ReadOptions::default()
        };
        let Ok(loaded) = load_from(file, Path::new("f"), &options) else { continue };
        let total = loaded.timeline.total();
        for to in [FileFormat::Csv, FileFormat::Bytes] {
            let mut text = Vec::new();
            Output::new(&loaded.timeline, to, None)
                .expect("any timeline can be written as bytes")
                .write(&mut text)
                .expect("memory takes it");
            let options = ReadOptions {
                interval: Some(loaded.timeline.interval()),
                ..ReadOptions::default()
            };
            let again = load_from(text.as_slice(), Path::new("f"), &options)
                .expect("what was written is read");
            assert_eq!(again.timeline.total(), total);
        }
    }
});
