//! `justfull explain` for names other than methods and algorithms: keys of scenarios, columns of
//! results, formats of traces.

use super::{COLUMN_FILES, ColumnText};
use crate::export::COLUMNS;
use crate::read;
use justfull_base::doc::ParamDoc;
use justfull_scenario::keys::{self, Key};
use justfull_trace::FileFormat;
use std::fmt::Write;

/// The meaning of the key at the path `name`, one text for each kind with its own meaning; none if
/// there is no such key.
pub(super) fn key(name: &str) -> Option<String> {
    let found = keys::keys(name);
    let texts: Vec<String> = found.iter().map(|key| key_text(name, key)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn key_text(name: &str, Key { kinds, param }: &Key) -> String {
    let mut out = match &kinds[..] {
        [] => format!("{name} (key of a scenario): {}\n", param.text),
        kinds => format!("{name} (key of {}): {}\n", kinds.join(", "), param.text),
    };
    let _ = writeln!(out, "\n{}", bounds(param));
    let (params, of_kind) = keys::below(&param.form);
    if !params.is_empty() {
        out.push_str("\nKeys:\n");
    }
    for below in &params {
        let _ = writeln!(out, "  {}\n      {}", head(below), below.text);
    }
    if !of_kind.is_empty() {
        out.push_str("\nKinds (see `justfull explain KIND`):\n");
    }
    for doc in of_kind {
        let _ = writeln!(out, "  {:<24} {}", doc.name, doc.title);
    }
    out
}

/// Name, unit, default and bounds.
fn head(param: &ParamDoc) -> String {
    format!("{} {}", param.name, bounds(param))
}

fn bounds(param: &ParamDoc) -> String {
    let default =
        if param.required { "required".into() } else { format!("default {}", param.default) };
    format!("[{}] {default}; allowed: {}", param.unit, param.bounds)
}

/// The column `name` in each file of results that has it, once if several files describe it alike.
/// `name` may be the short name.
pub(super) fn columns(name: &str) -> Vec<(&'static str, ColumnText)> {
    let long = read::column(name).map_or(name, |column| column.name);
    let mut found: Vec<(&'static str, ColumnText)> = Vec::new();
    for (file, columns) in COLUMN_FILES {
        for text in columns().into_iter().filter(|text| text.0 == long) {
            if !found.iter().any(|(_, description)| *description == text) {
                found.push((file, text));
            }
        }
    }
    found
}

/// The meaning of the column `name` in each file of results that has it; `name` may be the short
/// name.
pub(super) fn column(name: &str) -> Option<String> {
    let mut out = String::new();
    for (file, (long, unit, meaning)) in columns(name) {
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "{long} (column of {file}) [{unit}]: {meaning}");
    }
    if let Some(column) = read::column(name) {
        let alias = read::alias(column);
        if alias != column.name {
            let _ = writeln!(out, "\nIts short name, for `plot` and `compare`: {alias}");
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The meaning of the trace format `name`.
pub(super) fn format(name: &str) -> Option<String> {
    let format: FileFormat = name.parse().ok()?;
    let written = FileFormat::WRITTEN.contains(&format);
    let mut out = format!("{name} (format of traces): {}\n", format.text());
    if format.packet_bytes() > 1 {
        let _ = writeln!(out, "\nA packet of it has {} B.", format.packet_bytes());
    }
    let way = if written { "reads and writes it" } else { "reads it" };
    if matches!(format, FileFormat::Rates | FileFormat::Amounts) {
        let value = name.trim_end_matches('s');
        let unit = if format == FileFormat::Rates { "Mbit/s" } else { "B" };
        let _ = writeln!(
            out,
            "\n`justfull trace convert FILE --{value}-column NAME --unit {unit} --time-column NAME \
             --to csv -o OUT` reads it. In a scenario: channel = {{ kind = \"trace\", file = \
             \"FILE\", {value}_column = \"NAME\", rate_unit = \"{unit}\", time_column = \"NAME\" }}; \
             see `justfull explain trace`."
        );
        return Some(out);
    }
    let (kind, format) = match format {
        FileFormat::Cqi => ("cqi_trace", String::new()),
        FileFormat::T20 => ("trace", ", format = \"packets\"".into()),
        _ => ("trace", format!(", format = \"{name}\"")),
    };
    let _ = writeln!(
        out,
        "\n`justfull trace convert` {way}. In a scenario: channel = {{ kind = \"{kind}\", file = \
         \"FILE\"{format} }}; see `justfull explain {kind}`."
    );
    Some(out)
}

/// All names of this module: paths of keys, columns by both names, formats.
pub(super) fn names() -> Vec<String> {
    let mut names = keys::paths();
    for (_, columns) in COLUMN_FILES {
        names.extend(columns().into_iter().map(|(name, ..)| name.to_string()));
    }
    names.extend(COLUMNS.iter().map(read::alias));
    names.extend(FileFormat::ALL.map(|format| format.name().to_string()));
    names
}

#[cfg(test)]
mod tests {
    use super::super::explain;
    use super::*;

    #[test]
    fn every_key_column_short_name_and_format_is_explained() {
        for name in names() {
            let text = explain(&name).unwrap_or_else(|| panic!("{name}"));
            assert!(text.len() > 20, "{name}: {text}");
        }
    }

    #[test]
    fn a_key_says_its_unit_default_and_bounds_and_what_is_below_it() {
        let of = |name: &str| explain(name).unwrap_or_default();
        let limit = of("rlc.queue.limit");
        assert!(limit.contains("(key of a scenario)") && limit.contains("default "), "{limit}");
        assert!(of("rlc").contains("Keys:\n") && of("rlc").contains("limiter ["), "{}", of("rlc"));
        let limiter = of("rlc.limiter");
        assert!(limiter.contains("Kinds (") && limiter.contains("drql"), "{limiter}");
        let interval = of("rlc.queue.aqm.interval");
        assert!(interval.contains("(key of codel)") && interval.contains("[time]"), "{interval}");
        assert_eq!(of("flow.bulk.tcp.size").replace("bulk.", ""), of("flow.tcp.size"));
    }

    #[test]
    fn a_column_says_its_unit_its_files_and_its_short_name() {
        let text = explain("delay.p99").unwrap_or_default();
        assert_eq!(Some(&text), explain("delay_ms_p99").as_ref());
        assert!(text.starts_with("delay_ms_p99 (column of runs.csv") && text.contains("[ms]"));
        assert!(text.ends_with("delay.p99\n"), "{text}");
        let format = explain("mahimahi").unwrap_or_default();
        assert!(format.contains("1500 B") && format.contains("reads and writes"), "{format}");
        assert!(explain("t20").is_some_and(|text| text.contains("format = \"packets\"")));
        assert!(explain("ucc").is_some_and(|text| text.contains("convert` reads it")));
    }
}
