//! A claims file is refused with an error or read: no text may cause a panic.

#![no_main]

use justfull_lab::claims::ClaimsFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(file) = toml::from_str::<ClaimsFile>(text) {
        // In the form that `reproduce` prints.
        let _ = format!("{file:?}");
    }
});
