//! No bytes whatever make the reader of Parquet traces panic, take memory without bound, or accept
//! rows that are no timeline.

#![no_main]

use justfull_trace::{FileFormat, ReadOptions, load_from};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions {
        format: Some(FileFormat::Parquet),
        max_intervals: 20_000,
        ..ReadOptions::default()
    };
    if let Ok(loaded) = load_from(bytes, Path::new("f"), &options) {
        assert!(loaded.timeline.bytes().len() <= 20_000);
    }
});
