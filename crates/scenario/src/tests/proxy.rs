//! A scenario's proxy: the methods that have one, and the errors.

use super::*;
use justfull_base::Duration;
use justfull_rapid::{Config, ControlConfig};

const CELL: &str = r#"
title = "cell"
duration = "1s"
methods = ["Vanilla", "Split", "EqualShare", "RAPID"]
channel = { kind = "constant", per_slot = 2000 }
mac = "bytes"
[[flow]]
name = "bulk"
tcp = {}
[[flow]]
name = "voice"
udp = { payload = "172B", interval = "20ms" }
[variants.open-loop]
[variants.as-published]
[variants.as-released]
[variants.as-released-linux]
"#;

/// The control of `method` in `scenario`.
fn control(scenario: &Scenario, method: &str) -> Option<ControlConfig> {
    let job = Job { method: method.into(), point: 0, seed: 1 };
    scenario.world(&job).expect("a sound scenario").proxy.control
}

#[test]
fn three_methods_bring_a_proxy_and_the_scenario_its_other_settings() {
    let proxy = r#"
[proxy]
wan_delay = "1ms"
buffer = "1MB"
[proxy.report]
period = "5ms"
stops = [{ from = "1s", for = "2s" }]
[[flow]]
name = "bulk""#;
    let text = CELL.replace("[[flow]]\nname = \"bulk\"", proxy);
    for text in [CELL, &*text] {
        let scenario = parse(text, Overrides::default()).expect("a sound scenario");
        let controls = ["Vanilla", "Split", "EqualShare", "RAPID"]
            .map(|method| control(&scenario, method).map(|control| control.name()));
        assert_eq!(controls, [None, Some("none"), Some("equal_share"), Some("rapid")]);
        assert_eq!(scenario.warnings().expect("no trace"), Vec::<String>::new());
    }
    let scenario = parse(&text, Overrides::default()).expect("a sound scenario");
    let world = scenario.world(&scenario.jobs()[3]).expect("a sound scenario");
    assert_eq!(world.proxy.buffer.0, 1_000_000);
    assert_eq!(world.proxy.report.period, Duration::from_millis(5));
    assert_eq!(world.proxy.report.stops[0].lasts, Duration::from_secs(2));
    let read = scenario.resolved_toml(Some("RAPID")).expect("written");
    let again = parse(&read, Overrides::default()).expect("it reads back");
    assert_eq!(again.world(&again.jobs()[0]).expect("sound").proxy, world.proxy);
}

#[test]
fn the_variants_of_rapid_are_the_presets_of_its_crate() {
    for name in Config::PRESETS {
        let overrides = Overrides { variant: variant(name), ..Overrides::default() };
        let scenario = parse(CELL, overrides).expect("a sound scenario");
        let preset = Config::preset(name).map(ControlConfig::Rapid);
        assert_eq!(control(&scenario, "RAPID"), preset, "{name}");
    }
}

#[test]
fn a_control_may_be_set_by_name_and_by_its_settings() {
    let overrides = set(&["proxy.control=rapid", "proxy.control.slow_growth=1.5"]);
    let scenario = parse(CELL, overrides).expect("a sound scenario");
    let Some(ControlConfig::Rapid(config)) = control(&scenario, "Vanilla") else {
        panic!("the user named one")
    };
    assert_eq!(config, Config { slow_growth: 1.5, ..Config::default() });
}

#[test]
fn bad_settings_of_a_proxy_are_one_error_that_names_the_field() {
    let error = |settings: &[&str]| {
        let all = Overrides { methods: Some(vec!["RAPID".into()]), ..set(settings) };
        parse(CELL, all).err().map(|e| e.to_string()).unwrap_or_default()
    };
    for (setting, field, allowed) in [
        ("proxy.report.period=0s", "proxy.report.period", "10us to 60s"),
        ("proxy.report.loss=1.5", "proxy.report.loss", "0 to 1"),
        ("proxy.buffer=1447B", "proxy.buffer", "at least one MSS, 1448B"),
        ("proxy.wan_delay=11ms", "proxy.wan_delay", "at most uplink.delay, 10ms"),
        ("core.delay=11ms", "proxy.wan_delay", "at most uplink.delay, 10ms"),
        ("core.loss=0.1", "core.loss", "0 with a proxy"),
        ("flow.voice.proxied=true", "flow[1].proxied", "false, or left out"),
        ("proxy.control.slow_threshold=2", "proxy.control.slow_threshold", "0 to 1"),
        ("proxy.radio.mss=1449", "proxy.radio.mss", "1 to the MTU less 52B"),
        ("proxy.size=1", "proxy.size", ""),
    ] {
        let error = error(&[setting]);
        assert!(error.contains(field) && error.contains(allowed), "{setting}: {error}");
    }
    assert_eq!(error(&["flow.bulk.proxied=true"]), "");
    assert_eq!(error(&["flow.voice.proxied=false"]), "");
}

#[test]
fn settings_without_effect_are_told() {
    let with = |method: &str, setting: &str| {
        let all = Overrides { methods: Some(vec![method.into()]), ..set(&[setting]) };
        parse(CELL, all).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(with("Vanilla", "proxy.buffer=1MB").contains("Split, EqualShare and RAPID name one"));
    assert!(with("Split", "proxy.report.loss=0.5").contains("no part uses reports"));
    assert!(with("RAPID", "proxy.radio.cc=bbr").contains("sets the window"));
    assert_eq!(with("RAPID", "proxy.report.loss=0.5"), "");
    assert_eq!(with("Split", "proxy.radio.cc=bbr"), "");
}
