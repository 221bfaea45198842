//! Pages generated from the code's own descriptions: `justfull list`, `justfull explain`, and the
//! reference documentation.

use crate::export::records::{PACKET_COLUMNS, SLOT_COLUMNS};
use crate::export::{
    AROUND_COLUMNS, CARRIER_COLUMNS, CDF_COLUMNS, CELL_COLUMNS, COLUMNS, Column, DRX_COLUMNS,
    ENTITY_COLUMNS, FLOW_SERIES_COLUMNS, HANDOVER_COLUMNS, LEG_COLUMNS, SERIES_COLUMNS, Table,
};
use crate::read;
use justfull_base::doc::MethodDoc;
use justfull_lab::claims::CLAIMS;
use justfull_scenario::library;
use justfull_scenario::{Method, MethodLibrary};
use justfull_trace::FileFormat;
use serde::Serialize;
use std::fmt::Write;

mod answer;
mod explained;

pub use answer::explain_json;

/// Name, unit and meaning of a column.
type ColumnText = (&'static str, &'static str, &'static str);

/// A file of results and its columns.
type ColumnFile = (&'static str, fn() -> Vec<ColumnText>);

/// Files of results, and the columns of each.
const COLUMN_FILES: [ColumnFile; 13] = [
    ("runs.csv, runs.jsonl, runs.parquet", || column_texts(COLUMNS)),
    ("series.csv", || column_texts(SERIES_COLUMNS)),
    ("flow_series.csv", || column_texts(FLOW_SERIES_COLUMNS)),
    ("cdf.csv", || column_texts(CDF_COLUMNS)),
    ("entities.csv", || column_texts(ENTITY_COLUMNS)),
    ("cells.csv", || column_texts(CELL_COLUMNS)),
    ("handovers.csv", || column_texts(HANDOVER_COLUMNS)),
    ("handover_delay.csv", || column_texts(AROUND_COLUMNS)),
    ("legs.csv", || column_texts(LEG_COLUMNS)),
    ("carriers.csv", || column_texts(CARRIER_COLUMNS)),
    ("drx.csv", || column_texts(DRX_COLUMNS)),
    ("--packets FILE", || PACKET_COLUMNS.iter().map(|c| (c.name, c.unit, c.meaning)).collect()),
    ("--slots FILE", || SLOT_COLUMNS.iter().map(|c| (c.name, c.unit, c.meaning)).collect()),
];

fn column_texts<T: Table>(columns: &[Column<T>]) -> Vec<ColumnText> {
    columns.iter().map(|c| (c.name, c.unit, c.meaning)).collect()
}

/// Kinds of algorithms in the order in which a packet meets them.
const KINDS: [(&str, &str); 21] = [
    ("traffic", "Kinds of traffic: `flow.NAME.tcp`, `flow.NAME.voip`, and so on"),
    ("bitrate adaptation", "Bitrate adaptations of video over HTTP: `flow.NAME.dash.abr`"),
    ("transport", "Transport endpoints: `flow.NAME.tcp.sender`, `flow.NAME.tcp.receiver`"),
    ("congestion control", "Congestion controls: `flow.NAME.tcp.sender.cc`"),
    ("rate control", "Rate controls of calls: `flow.NAME.video_call.control`"),
    (
        "discipline",
        "Queue disciplines: `upf.queue.discipline`, `sdap.queue.discipline`, \
         `rlc.queue.discipline`",
    ),
    ("aqm", "Active queue management: `upf.queue.aqm`, `sdap.queue.aqm`, `rlc.queue.aqm`"),
    ("limit", "Fixed limits of queues: `upf.queue.limit`, `sdap.queue.limit`, `rlc.queue.limit`"),
    ("pacer", "Pacers from UPF to SDAP: `sdap.pacer`"),
    ("scheduler", "SDAP schedulers: `sdap.scheduler`"),
    ("limiter", "Limiters of the RLC queue: `rlc.limiter`"),
    ("resource block scheduler", "Schedulers of resource blocks: `mac.scheduler`"),
    ("MAC", "The MAC: `mac`, and of resource blocks `mac.carrier`, `mac.harq`"),
    ("RLC mode", "RLC modes: `rlc.mode`"),
    ("PDCP", "PDCP: `pdcp`"),
    ("channel", "Channels: `channel`, `ue.channel`"),
    ("uplink", "The uplink: `uplink`, `uplink.grants`"),
    ("mobility", "Changes of cell: `handover`, `ue.a3`"),
    ("proxy", "A proxy that splits TCP connections: `proxy`"),
    ("proxy control", "Controls of the proxy: `proxy.control`"),
    ("channel trace", "Channels from files: `channel`, `ue.channel`"),
];

/// The name of each kind of [`KINDS`] in `justfull list`, in their order.
const KIND_NAMES: [&str; KINDS.len()] = [
    "traffic",
    "abrs",
    "transports",
    "congestion-controls",
    "rate-controls",
    "disciplines",
    "aqms",
    "limits",
    "pacers",
    "schedulers",
    "limiters",
    "rb-schedulers",
    "macs",
    "rlc-modes",
    "pdcp",
    "channels",
    "uplinks",
    "mobility",
    "proxies",
    "proxy-controls",
    "channel-traces",
];

/// All names of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The name of the kind in `justfull list`, e.g. `aqms`.
    pub kind: &'static str,
    /// A heading: their meaning and their place in a scenario.
    pub heading: String,
    /// The names, each with a line of description.
    pub names: Vec<Named>,
}

/// A name with a line of description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The description.
    pub title: String,
}

impl Named {
    fn new(name: &str, title: &str) -> Self {
        Self { name: name.into(), title: title.into() }
    }
}

/// The kinds of `justfull list`.
#[must_use]
pub fn kinds() -> Vec<&'static str> {
    let mut kinds = vec!["methods"];
    kinds.extend(KIND_NAMES);
    kinds.extend(["traces", "scenarios", "claims"]);
    kinds
}

/// All names, by kind in the order of [`kinds`].
#[must_use]
pub fn listed() -> Vec<Listed> {
    let listed = |kind, heading: &str, names: Vec<Named>| Listed {
        kind,
        heading: heading.replace('`', ""),
        names,
    };
    let methods = MethodLibrary::shipped();
    let methods =
        methods.methods().iter().map(|method| Named::new(&method.name, description(method)));
    let mut all =
        vec![listed("methods", "Methods (justfull run --method NAME)", methods.collect())];
    let algorithms = library::algorithms();
    for ((kind, heading), name) in KINDS.into_iter().zip(KIND_NAMES) {
        let of_kind = algorithms.iter().filter(|doc| doc.kind == kind);
        let names = of_kind.map(|doc| Named::new(doc.name, doc.title)).collect();
        all.push(listed(name, heading, names));
    }
    let formats = FileFormat::ALL.map(|format| Named::new(format.name(), format.text()));
    all.push(listed("traces", "Formats of traces (justfull trace info FILE)", formats.into()));
    let scenarios = library::SCENARIOS.iter().map(|(name, text)| {
        let title = text.lines().find_map(|l| l.strip_prefix("title = ")).unwrap_or_default();
        Named::new(name, title.trim_matches('"'))
    });
    let heading = "Scenarios (justfull run NAME, justfull show NAME)";
    all.push(listed("scenarios", heading, scenarios.collect()));
    let papers = CLAIMS.iter().map(|(name, _)| Named::new(name, "its claims, run and judged"));
    all.push(listed("claims", "Papers (justfull reproduce NAME)", papers.collect()));
    all
}

/// `all` as text, each kind under its heading.
#[must_use]
pub fn list(all: &[Listed]) -> String {
    let part = |listed: &Listed| {
        let mut out = format!("{}:\n", listed.heading);
        for Named { name, title } in &listed.names {
            let _ = writeln!(out, "  {name:<24} {title}");
        }
        out
    };
    let parts = all.iter().filter(|listed| !listed.names.is_empty()).map(part);
    parts.collect::<Vec<_>>().join("\n")
}

/// `all` as one line of JSON with a line feed.
///
/// # Panics
/// Never: every field can be written as JSON.
#[must_use]
pub fn list_json(all: &[Listed]) -> String {
    serde_json::to_string(all).expect("names can be written as JSON") + "\n"
}

/// The title of a method without the name at its start.
fn description(method: &Method) -> &str {
    let rest = method.title.strip_prefix(&method.name).and_then(|rest| rest.strip_prefix(": "));
    rest.unwrap_or(&method.title)
}

/// The settings of the method `name`, and the descriptions of algorithms, scenario keys (by path),
/// result columns and trace formats of this name; none if nothing has this name.
#[must_use]
pub fn explain(name: &str) -> Option<String> {
    let method = MethodLibrary::shipped().find(name).map(explain_method);
    let docs = library::algorithms().into_iter().filter(|d| d.name.eq_ignore_ascii_case(name));
    let others = [explained::key(name), explained::column(name), explained::format(name)];
    let parts = method.into_iter().chain(docs.map(explain_algorithm));
    let parts: Vec<String> = parts.chain(others.into_iter().flatten()).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// All names for [`explain`].
#[must_use]
pub fn explained() -> Vec<String> {
    let methods = MethodLibrary::shipped();
    let names = library::algorithms().into_iter().map(|doc| doc.name).chain(methods.names());
    let mut names: Vec<String> = names.map(str::to_string).chain(explained::names()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn explain_algorithm(doc: &MethodDoc) -> String {
    let mut out = format!("{} ({}): {}\n\n{}\n", doc.name, doc.kind, doc.title, doc.text);
    if !doc.params().is_empty() {
        out.push_str("\nParameters:\n");
        for p in doc.params() {
            let _ = writeln!(
                out,
                "  {} [{}] default {}; allowed: {}\n      {}",
                p.name, p.unit, p.default, p.bounds, p.text
            );
        }
    }
    let _ = write!(out, "\nSources: {}\nDeviations: {}\n", doc.sources, doc.deviations);
    out
}

fn explain_method(method: &Method) -> String {
    let mut out =
        format!("{}: {}\n\nSettings on top of the scenario:\n", method.name, description(method));
    out.push_str(&settings_of(method));
    for (scenarios, own) in redefined(method) {
        let (scenarios, title) = (scenarios.join(", "), description(&own));
        let _ = write!(out, "\nIn {scenarios} instead: {title}\n{}", settings_of(&own));
    }
    out.push_str("\nSee `justfull explain` with the kinds named above for their parameters.\n");
    out
}

/// The shipped scenarios that redefine `method`, with their definitions.
fn redefined(method: &Method) -> Vec<(Vec<&'static str>, Method)> {
    let mut redefined: Vec<(Vec<&'static str>, Method)> = Vec::new();
    for (scenario, methods) in library::methods_of_scenarios() {
        let Some(own) = methods.iter().find(|own| own.name.eq_ignore_ascii_case(&method.name))
        else {
            continue;
        };
        match redefined.iter_mut().find(|(_, other)| other == own) {
            Some((scenarios, _)) => scenarios.push(scenario),
            None => redefined.push((vec![scenario], own.clone())),
        }
    }
    redefined
}

/// One line for each setting of `method`; settings of a variant are prefixed with its name.
fn settings_of(method: &Method) -> String {
    let mut out = String::new();
    let mut settings = |heading: &str, settings: &justfull_scenario::Settings| {
        for (path, value) in settings.iter() {
            let _ = writeln!(out, "  {heading}{path} = {value}");
        }
    };
    settings("", &method.set);
    for (variant, own) in &method.variants {
        settings(&format!("[{variant}] "), own);
    }
    if out.is_empty() {
        out.push_str("  none\n");
    }
    out
}

/// File names and texts of the reference pages.
#[must_use]
pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("algorithms.md", algorithms_page()),
        ("methods.md", methods_page()),
        ("columns.md", columns_page()),
    ]
}

const GENERATED: &str = "<!-- Made by `cargo xtask docs` from the source; change it there. -->\n\n";

fn algorithms_page() -> String {
    let mut out = format!(
        "{GENERATED}# Algorithms\n\nEvery algorithm, the place in a scenario file where it goes, \
         and its parameters.\n"
    );
    for (kind, heading) in KINDS {
        let of_kind: Vec<_> =
            library::algorithms().into_iter().filter(|d| d.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let _ = write!(out, "\n## {heading}\n");
        for doc in of_kind {
            let _ = write!(out, "\n### `{}`\n\n{}. {}\n", doc.name, doc.title, doc.text);
            if !doc.params().is_empty() {
                out.push_str(
                    "\n| parameter | unit | default | allowed | meaning |\n|---|---|---|---|---|\n",
                );
                for p in doc.params() {
                    let _ = writeln!(
                        out,
                        "| `{}` | {} | `{}` | {} | {} |",
                        p.name,
                        cell(p.unit),
                        cell(&p.default),
                        cell(&p.bounds),
                        cell(p.text)
                    );
                }
            }
            let _ = write!(
                out,
                "\nSources: {}. Deviations: {}.\n",
                doc.sources.trim_end_matches('.'),
                doc.deviations.trim_end_matches('.')
            );
        }
    }
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn methods_page() -> String {
    let mut out = format!(
        "{GENERATED}# Methods\n\nA method is a list of settings on a scenario; `[variant]` \
         settings are added under that variant.\n\n"
    );
    out.push_str("| method | what it is | settings |\n|---|---|---|\n");
    for method in MethodLibrary::shipped().methods() {
        let mut settings: Vec<String> =
            method.set.iter().map(|(p, v)| format!("`{p} = {v}`")).collect();
        for (variant, own) in &method.variants {
            settings.extend(own.iter().map(|(p, v)| format!("[{variant}] `{p} = {v}`")));
        }
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            method.name,
            cell(description(method)),
            cell(&settings.join("<br>"))
        );
    }
    out
}

fn columns_page() -> String {
    let mut out = format!(
        "{GENERATED}# Columns of the result files\n\n`plot`, `compare` and `explain` take columns \
         of `runs.csv` by their short names too.\n"
    );
    for (file, columns) in COLUMN_FILES {
        let runs = file.starts_with("runs.");
        let (short, line) = if runs { (" short name |", "---|") } else { ("", "") };
        let _ = write!(
            out,
            "\n## `{file}`\n\n| column |{short} unit | meaning |\n|---|{line}---|---|\n"
        );
        for (name, unit, meaning) in columns() {
            let short = read::column(name).filter(|_| runs).map(read::alias);
            let short = match short {
                Some(short) if short != name => format!(" `{short}` |"),
                Some(_) => " |".into(),
                None => String::new(),
            };
            let _ = writeln!(out, "| `{name}` |{short} {unit} | {} |", cell(meaning));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_explained_listed_and_of_a_known_kind() {
        let list = list(&listed());
        for doc in library::algorithms() {
            assert!(KINDS.iter().any(|(kind, _)| *kind == doc.kind), "kind {}", doc.kind);
            let text = explain(doc.name).unwrap_or_default();
            assert!(text.contains(doc.title) && list.contains(doc.title), "{}", doc.name);
            for p in doc.params() {
                assert!(
                    text.contains(p.name) && text.contains(&p.bounds),
                    "{}.{}",
                    doc.name,
                    p.name
                );
            }
        }
    }

    #[test]
    fn every_method_is_explained_whatever_its_case_and_others_are_not() {
        assert!(explain("usp@5g-bdp").is_some_and(|t| t.contains("sdap.pacer")));
        assert!(explain("no-such-thing").is_none());
    }

    #[test]
    fn a_method_is_explained_by_its_settings_and_where_a_scenario_has_others() {
        let codel = explain("CoDel").expect("it is there");
        assert!(codel.starts_with("CoDel: CoDel on the RLC queue with T20's 15 ms"), "{codel}");
        assert!(
            codel.contains("  rlc.queue.aqm = { kind = \"codel\", target = \"15ms\""),
            "{codel}"
        );
        let elsewhere = "\nIn voip-over-lte, rrul-like, page-loads, cloud-gaming, voip-g711 \
                         instead: CoDel on the RLC queue (5 ms, 100 ms)\n";
        assert!(codel.contains(elsewhere), "{codel}");
        assert!(codel.contains("codel (aqm): "), "the algorithm too: {codel}");
        for method in MethodLibrary::shipped().methods() {
            let text = explain(&method.name).expect("it is there");
            assert!(
                method.set.iter().all(|(path, value)| text.contains(&format!("{path} = {value}"))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_title_is_printed_once() {
        let text = explain("5G-BDP").expect("it is there");
        assert_eq!(
            text.lines().next(),
            Some("5G-BDP: one slot's worth in the RLC, paced over the slot")
        );
        let list = list(&listed());
        let line = list.lines().find(|line| line.starts_with("  5G-BDP ")).expect("it is listed");
        assert!(line.ends_with("   one slot's worth in the RLC, paced over the slot"), "{line}");
    }

    #[test]
    fn every_kind_of_channel_is_explained_with_all_of_its_keys() {
        use justfull_scenario::ChannelFile;
        let unknown =
            toml::from_str::<ChannelFile>("kind = \"?\"").expect_err("no such kind").to_string();
        let kinds: Vec<&str> = unknown.split('`').skip(3).step_by(2).collect();
        assert!(kinds.len() >= 9 && kinds.contains(&"mcs_trace"), "{unknown}");
        for kind in kinds {
            let text = explain(kind).unwrap_or_else(|| panic!("{kind}"));
            let wrong = format!("kind = \"{kind}\"\nfile = \"x\"\nno_such_key = 1");
            let keys = toml::from_str::<ChannelFile>(&wrong).expect_err("no such key").to_string();
            let keys = keys.split("expected").nth(1).unwrap_or_default();
            for key in keys.split('`').skip(1).step_by(2) {
                assert!(text.contains(&format!("\n  {key} [")), "{kind}.{key}: {text}");
            }
        }
    }
}
