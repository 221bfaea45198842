//! Columns and settings in words, for the axes of figures in papers: the unit stands in
//! parentheses.

use crate::export::{Column, Runs};
use crate::read::{alias, short};
use justfull_lab::model::{of_value, setting_and_unit};

/// Words that a part of a name stands for.
const WORDS: [(&str, &str); 18] = [
    ("aqm", "AQM"),
    ("harq", "HARQ"),
    ("ipdv", "delay difference"),
    ("jain", "Jain's"),
    ("mac", "MAC"),
    ("mos", "MOS"),
    ("pdv", "delay variation"),
    ("qfi", "QFI"),
    ("r", "R"),
    ("rbs", "resource blocks"),
    ("rlc", "RLC"),
    ("rtt", "round-trip time"),
    ("sdap", "SDAP"),
    ("tcp", "TCP"),
    ("ue", "UE"),
    ("ues", "UEs"),
    ("upf", "UPF"),
    ("voip", "voice"),
];

/// Statistics at the end of a name, and the words before the quantity.
const STATISTICS: [(&str, &str); 11] = [
    ("mean", "mean"),
    ("sd", "standard deviation of"),
    ("min", "least"),
    ("p25", "25th percentile of"),
    ("p50", "median"),
    ("p75", "75th percentile of"),
    ("p90", "90th percentile of"),
    ("p95", "95th percentile of"),
    ("p99", "99th percentile of"),
    ("p999", "99.9th percentile of"),
    ("max", "greatest"),
];

/// `99th percentile of delay (ms)` for `delay_ms_p99`.
#[must_use]
pub fn of_column(column: &Column<Runs>) -> String {
    of_quantity(column.name, column.unit)
}

/// `delay p99` above `ms` for `delay_ms_p99`: the heading of a table.
#[must_use]
pub(crate) fn heading(column: &Column<Runs>) -> String {
    format!("{}\n{}", spelt(&alias(column)), column.unit)
}

/// Like [`of_column`], from the column's name and unit.
pub(crate) fn of_quantity(column: &str, unit: &str) -> String {
    let name = short(column);
    let (stem, before) = name
        .rsplit_once(['.', '_'])
        .and_then(|(stem, last)| {
            let found = STATISTICS.iter().find(|(name, _)| *name == last)?;
            Some((stem, found.1))
        })
        .unwrap_or((&name, ""));
    // `dropped_packets` has its unit in its name.
    let (stem, in_name) = match stem.strip_suffix(unit).and_then(|rest| rest.strip_suffix('_')) {
        Some(rest) if !before.is_empty() => (rest, false),
        Some(_) => (stem, true),
        None => (stem, false),
    };
    let is_unit = !in_name
        && !["ratio", "number", "text", "values", "true or false"].contains(&unit)
        && !unit.starts_with("of ");
    named(&format!("{before} {}", spelt(stem)), is_unit.then_some(unit))
}

/// `RLC queue limit (kB)` for the swept setting `rlc.queue.limit_kB`.
#[must_use]
pub fn of_setting(name: &str) -> String {
    let (stem, unit) = parts(name);
    named(&spelt(stem), unit)
}

/// `RLC queue limit 100 kB` for the point `rlc.queue.limit_kB = 100` of a sweep; settings of a grid
/// are joined by commas.
#[must_use]
pub fn of_point(point: &str) -> String {
    let setting = |part: &str| match part.split_once('=') {
        Some((name, value)) => {
            let (stem, unit) = parts(name.trim());
            let unit = unit.map_or_else(String::new, |unit| format!(" {unit}"));
            format!("{} {}{unit}", spelt(stem), value.trim())
        }
        None => part.to_owned(),
    };
    point.split("; ").map(setting).collect::<Vec<_>>().join(", ")
}

/// The name of a swept setting without its unit, and the unit.
fn parts(name: &str) -> (&str, Option<&str>) {
    name.rsplit_once(", ").map_or_else(|| setting_and_unit(name), |(stem, unit)| (stem, Some(unit)))
}

/// `rlc.queue.limit 100 kB` for the point `rlc.queue.limit_kB = 100` of a sweep, as `--set` names
/// the setting; settings of a grid are joined by commas.
#[must_use]
pub fn of_path(point: &str) -> String {
    let setting = |part: &str| match part.split_once('=') {
        Some((name, value)) => of_value(name.trim(), value.trim()),
        None => part.to_owned(),
    };
    point.split("; ").map(setting).collect::<Vec<_>>().join(", ")
}

/// `Delay (ms)` for the quantity `delay` of a distribution.
#[must_use]
pub fn of_time(quantity: &str) -> String {
    named(&spelt(quantity), Some("ms"))
}

/// The parts of a name as words.
fn spelt(name: &str) -> String {
    let word = |part: &str| -> String {
        let found = WORDS.iter().find(|(name, _)| *name == part);
        found.map_or(part, |(_, words)| words).to_owned()
    };
    name.split(['.', '_', ' ']).map(word).collect::<Vec<_>>().join(" ")
}

/// `words` with a capital, and the unit.
fn named(words: &str, unit: Option<&str>) -> String {
    let mut letters = words.trim().chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let unit = unit.map_or_else(String::new, |unit| format!(" ({unit})"));
    format!("{first}{}{unit}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::COLUMNS;
    use crate::read::column;

    #[test]
    fn columns_read_as_words_with_their_unit_in_parentheses() {
        for (name, words) in [
            ("delay.p99", "99th percentile of delay (ms)"),
            ("rtt.p50", "Median round-trip time (ms)"),
            ("goodput", "Goodput (Mbit/s)"),
            ("delay.p999", "99.9th percentile of delay (ms)"),
            ("utilisation", "Utilisation"),
            ("dropped_packets", "Dropped packets"),
            ("rlc_backlog_packets_mean", "Mean RLC backlog (packets)"),
            ("late", "Late (%)"),
        ] {
            let column = column(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(of_column(column), words);
        }
        let headings = ["delay.p99", "rtt.p50"].map(|name| column(name).map(heading));
        assert_eq!(
            headings.map(Option::unwrap_or_default),
            ["delay p99\nms", "round-trip time p50\nms"]
        );
        for column in COLUMNS {
            let words = of_column(column);
            let words = words.split(" (").next().unwrap_or_default().replace("99.9th", "");
            assert!(!words.contains(['_', '.']), "{words}");
        }
    }

    #[test]
    fn settings_read_as_words_with_their_unit_in_parentheses() {
        for (name, words) in [
            ("rlc.queue.limit_kB", "RLC queue limit (kB)"),
            ("interval_ms", "Interval (ms)"),
            ("limit, kB", "Limit (kB)"),
            ("mac.ues", "MAC UEs"),
            ("channel.rate_Mbit/s", "Channel rate (Mbit/s)"),
            ("rlc.queue.target_delay", "RLC queue target delay"),
        ] {
            assert_eq!(of_setting(name), words);
        }
        assert_eq!(of_time("delay"), "Delay (ms)");
        assert_eq!(of_point("interval_ms = 10"), "interval 10 ms");
        let grid = "rlc.queue.limit_kB=100; mac.ues=4";
        assert_eq!(of_point(grid), "RLC queue limit 100 kB, MAC UEs 4");
        assert_eq!(of_path(grid), "rlc.queue.limit 100 kB, mac.ues 4");
        assert_eq!(of_path("channel.n_prb = 25"), "channel.n_prb 25");
    }
}
