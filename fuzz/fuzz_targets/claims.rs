//! A claims file is refused with an error or read: no text whatever may panic.

#![no_main]

use justfull_lab::claims::ClaimsFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(file) = toml::from_str::<ClaimsFile>(text) {
        // As `reproduce` prints them.
        let _ = format!("{file:?}");
    }
});
