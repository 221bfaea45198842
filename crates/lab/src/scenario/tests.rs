//! Tests of scenario files.

use super::*;

const TEXT: &str = r#"
title = "t"
duration = "1s"
methods = ["A"]
[sweep]
path = "rlc.queue.limit"
values = ["4 packets"]
label = "limit_packets"
[channel]
kind = "constant"
[rlc]
queue = { limit = "1 packet" }
[[flow]]
name = "bulk"
tcp = {}
[[method]]
name = "A"
set = { "rlc.queue.limit" = "3 packets", "?sdap.queue.limit" = "9 packets" }
[method.variants.v]
"upf.queue.limit" = "6 packets"
[variants.v]
"rlc.queue.limit" = "2 packets"
"upf.queue.limit" = "5 packets"
[switches.s]
"rlc.queue.limit" = "7 packets"
"#;

fn limits(overrides: Overrides, method: Option<&str>, point: Option<Value>) -> [String; 3] {
    let overrides = Overrides { variant: Some("v".into()), ..overrides };
    let scenario =
        Scenario::parse(TEXT, FilePath::new("t.toml"), None, overrides).expect("the text is sound");
    let file = scenario.resolve(method, point).expect("the settings are sound");
    [file.rlc.queue.limit, file.upf.queue.limit, file.sdap.queue.limit].map(|l| l.to_string())
}

#[test]
fn settings_are_applied_from_the_variant_to_the_user() {
    let none = Overrides::default;
    assert_eq!(limits(none(), None, None)[..2], ["2 packets", "5 packets"]);
    assert_eq!(limits(none(), Some("a"), None)[..2], ["3 packets", "6 packets"]);
    let point = Some(Value::String("4 packets".into()));
    assert_eq!(limits(none(), Some("A"), point.clone())[0], "4 packets");
    let switched = Overrides { switches: vec!["s".into()], ..none() };
    assert_eq!(limits(switched.clone(), Some("A"), point.clone())[0], "7 packets");
    let set = vec!["rlc.queue.limit=8 packets".parse().expect("a setting")];
    assert_eq!(limits(Overrides { set, ..switched }, Some("A"), point)[0], "8 packets");
}

#[test]
fn a_setting_with_a_question_mark_needs_a_value_to_replace() {
    assert_eq!(limits(Overrides::default(), Some("A"), None)[2], "1024 packets");
}

#[test]
fn a_swept_value_is_a_number_in_the_unit_of_its_label() {
    let text = |t: &str| Value::String(t.into());
    assert!((sweep_number(&text("20ms"), "interval_ms") - 20.0).abs() < 1e-9);
    assert!((sweep_number(&text("20ms"), "interval_us") - 20_000.0).abs() < 1e-9);
    assert!((sweep_number(&text("10MB"), "limit_B") - 1e7).abs() < 1e-9);
    assert!((sweep_number(&text("31 packets"), "limit_packets") - 31.0).abs() < 1e-9);
    assert!((sweep_number(&Value::Integer(4), "flows") - 4.0).abs() < 1e-9);
}

#[test]
fn a_path_reads_what_an_error_writes() {
    let path: Path = "ue[0].qos_flow[1].qfi".parse().expect("a path");
    assert_eq!(path.keys(), ["ue", "0", "qos_flow", "1", "qfi"]);
    assert!("a..b".parse::<Path>().is_err());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(cut in 0..TEXT.len(), junk in "\\PC{0,12}") {
        let at = (0..=cut).rev().find(|i| TEXT.is_char_boundary(*i)).unwrap_or(0);
        let text = format!("{}{junk}{}", &TEXT[..at], &TEXT[at..]);
        let _ = Scenario::parse(&text, FilePath::new("t.toml"), None, Overrides::default());
    }
}
