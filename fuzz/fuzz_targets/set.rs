//! `--set PATH=VALUE` is refused with an error or changes a shipped scenario into a checked one: no
//! text may cause a panic. The first byte chooses the scenario, each line is a setting.

#![no_main]

use std::path::Path;

use justfull_scenario::library;
use justfull_scenario::{Overrides, Scenario, Setting};
use libfuzzer_sys::fuzz_target;

/// Most settings of a case: each makes the scenario be read once more, which is slow.
const MOST: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let (name, scenario) = library::SCENARIOS[usize::from(choice) % library::SCENARIOS.len()];
    let set: Vec<Setting> = text.lines().take(MOST).filter_map(|line| line.parse().ok()).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    if let Ok(scenario) = Scenario::parse(scenario, Path::new(name), None, overrides) {
        assert!(!scenario.methods().is_empty(), "a scenario without a method");
    }
});
