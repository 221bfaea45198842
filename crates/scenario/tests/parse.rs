//! No text makes the scenario reader panic: the fuzz target's hours of tries, for seconds in every
//! test run.

use justfull_scenario::library;
use justfull_scenario::{Overrides, Scenario, Setting};
use proptest::prelude::*;
use std::path::Path;

/// Values that a person or a broken tool may write in place of others.
const ODD: [&str; 24] = [
    "0",
    "-1",
    "64",
    "5",
    "1e308",
    "nan",
    "inf",
    "-0.0",
    "9223372036854775807",
    "true",
    "\"\"",
    "\"0s\"",
    "\"-5ms\"",
    "\"5ms\"",
    "\"0 packets\"",
    "\"9999999h\"",
    "\"unlimited\"",
    "\"0bit/s\"",
    "[]",
    "[[]]",
    "{}",
    "[{}]",
    "{ kind = \"drql\" }",
    "1979-05-27T07:32:00Z",
];

/// A change to the lines of a file.
#[derive(Clone, Debug)]
enum Change {
    Drop(usize),
    Double(usize),
    Swap(usize, usize),
    Value(usize, usize),
    Byte(usize, char),
    Cut(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let place = || 0usize..10_000;
    prop_oneof![
        place().prop_map(Change::Drop),
        place().prop_map(Change::Double),
        (place(), place()).prop_map(|(a, b)| Change::Swap(a, b)),
        (place(), 0..ODD.len()).prop_map(|(at, odd)| Change::Value(at, odd)),
        (place(), any::<char>()).prop_map(|(at, c)| Change::Byte(at, c)),
        place().prop_map(Change::Cut),
    ]
}

fn apply(text: &str, change: &Change) -> String {
    let mut lines: Vec<String> =
        text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_string).collect();
    let count = lines.len().max(1);
    if lines.is_empty() {
        return String::new();
    }
    match *change {
        Change::Drop(at) => drop(lines.remove(at % count)),
        Change::Double(at) => lines.insert(at % count, lines[at % count].clone()),
        Change::Swap(a, b) => lines.swap(a % count, b % count),
        Change::Value(at, odd) => {
            let line = &mut lines[at % count];
            if let Some((key, _)) = line.rsplit_once(" = ") {
                // The value of a key deep in an inline table includes the closing braces of that
                // table.
                let open = key.matches('{').count()
                    - key.matches('}').count().min(key.matches('{').count());
                *line = format!("{key} = {}{}", ODD[odd], " }".repeat(open));
            }
        }
        Change::Byte(at, c) => {
            let mut text: Vec<char> = lines.join("\n").chars().collect();
            let at = at % text.len();
            text[at] = c;
            return text.into_iter().collect();
        }
        Change::Cut(at) => {
            let text = lines.join("\n");
            return text.chars().take(at % (text.len() + 1)).collect();
        }
    }
    lines.join("\n")
}

/// Reads `text`; an error must name its file and a found value.
fn read(text: &str, overrides: Overrides) -> Result<(), TestCaseError> {
    if let Err(error) = Scenario::parse(text, Path::new("odd.toml"), None, overrides) {
        let words = error.to_string();
        prop_assert!(words.starts_with("odd.toml") && !error.found.is_empty(), "{}", words);
        prop_assert!(!words.contains('\n'), "one line: {}", words);
        if let Some((line, column)) = error.at {
            let within = line <= text.lines().count().max(1) + 1 && column >= 1;
            prop_assert!(within, "{}", words);
        }
    }
    Ok(())
}

fn shipped() -> impl Strategy<Value = &'static str> {
    (0..library::SCENARIOS.len()).prop_map(|i| library::SCENARIOS[i].1)
}

/// A possible line of a scenario: a table, an array of tables, or a key with a value.
const SCENARIO_LINE: &str = concat!(
    r"(\[\[?(flow|ue|rlc|channel|sweep|method)\]?\]",
    r"|(title|duration|kind|path|values|name|tcp|udp|qfi|set)",
    r#" = ("[a-z0-9 ]{0,6}"|-?[0-9]{1,3}|\[\]|\{\}))"#
);

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_scenario_is_read_or_refused(text in shipped(),
        changes in prop::collection::vec(change(), 1..4)) {
        let changed = changes.iter().fold(text.to_string(), |text, change| apply(&text, change));
        read(&changed, Overrides::default())?;
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        read(&text, Overrides::default())?;
    }

    #[test]
    fn text_like_a_scenario_is_read_or_refused(
        lines in prop::collection::vec(SCENARIO_LINE, 0..12),
    ) {
        read(&lines.join("\n"), Overrides::default())?;
    }

    #[test]
    fn any_setting_is_taken_or_refused(path in "[a-z.\\[\\]0-9?]{0,24}", odd in 0..ODD.len()) {
        if let Ok(setting) = format!("{path}={}", ODD[odd]).parse::<Setting>() {
            let text = library::scenario("voip-over-lte").expect("it ships");
            read(text, Overrides { set: vec![setting], ..Overrides::default() })?;
        }
    }

    #[test]
    fn any_value_of_a_known_field_is_taken_or_refused(at in 0usize..10_000, odd in 0..ODD.len()) {
        const FIELDS: [&str; 22] = [
            "duration", "warmup", "seed", "runs", "methods", "mtu", "series_bins", "sweep",
                "channel", "channel.kind",
            "rlc.limiter", "rlc.queue", "rlc.queue.limit", "sdap.poll.period", "mac.slot",
                "mac.slot.period", "ue", "ue.0.qos_flow",
            "flow.voip.udp.interval", "flow.voip.udp.payload", "flow.bulk.tcp.sender", "variants",
        ];
        let setting = Setting::new(FIELDS[at % FIELDS.len()],
            format!("v = {}", ODD[odd]).parse::<justfull_scenario::Table>()
            .expect("an odd value is TOML")["v"].clone());
        let text = library::scenario("voip-over-lte").expect("it ships");
        read(text,
            Overrides { set: vec![setting.expect("a known path")], ..Overrides::default() })?;
    }
}

#[test]
fn every_odd_value_is_toml_so_that_the_reader_sees_it() {
    for odd in ODD {
        assert!(format!("v = {odd}").parse::<justfull_scenario::Table>().is_ok(), "{odd}");
    }
}
