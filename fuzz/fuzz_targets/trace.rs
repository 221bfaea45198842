//! A trace file is refused with an error or becomes a channel, in every format: no bytes may cause
//! a panic.

#![no_main]

use justfull_trace::{Format, MissingCqi, parse_bytes};
use libfuzzer_sys::fuzz_target;

const FORMATS: [Format; 5] = [
    Format::Packets,
    Format::Cqi { missing: MissingCqi::Error },
    Format::Cqi { missing: MissingCqi::Hold },
    Format::Cqi { missing: MissingCqi::Skip },
    Format::Bytes,
];

fuzz_target!(|bytes: &[u8]| {
    for format in FORMATS {
        let _ = parse_bytes(bytes, format);
    }
});
