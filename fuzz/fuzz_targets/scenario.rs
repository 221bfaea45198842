//! A scenario file is refused with an error or becomes a checked scenario: no text may cause a
//! panic.

#![no_main]

use std::path::Path;

use justfull_scenario::{Overrides, Scenario};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Scenario::parse(text, Path::new("fuzz.toml"), None, Overrides::default());
});
