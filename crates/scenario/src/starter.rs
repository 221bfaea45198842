//! A new scenario for `justfull new`. Its text is commented, passes every check, and uses the words
//! of the shipped scenarios.

use std::fmt::Write;

/// The cell of a new scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// NR, 100 MHz in band n78 (TS 38.101-1).
    Nr,
    /// LTE, 10 MHz (TS 36.101).
    Lte,
    /// UMTS, dedicated channels of 384 kbit/s (TS 25.301).
    Umts,
}

/// A kind of traffic that each UE has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// A TCP transfer to the UE that never ends.
    Download,
    /// A TCP transfer from the UE that never ends.
    Upload,
    /// A G.711 call.
    Call,
    /// Frames of a rendered game.
    Game,
    /// Pages that the UE loads.
    Pages,
    /// Adaptive video over HTTP.
    Video,
    /// Echo requests.
    Ping,
}

/// The content of a new scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// Cell.
    pub cell: Cell,
    /// Number of UEs, all alike.
    pub ues: u32,
    /// Traffic of each UE, each kind once.
    pub traffic: Vec<Traffic>,
    /// Methods to compare; the cell's usual ones if empty.
    pub methods: Vec<String>,
    /// Number of seeds.
    pub runs: u32,
    /// File of a trace of the cell's capacity, in place of resource blocks.
    pub trace: Option<String>,
    /// Keys of the channel, each with its value as text, by which the trace is read.
    pub columns: Vec<(&'static str, String)>,
}

/// Ends a part of a file of fragments.
const END: &str = "#--\n";
/// The fragments for [`Traffic`], in its order.
const TRAFFIC: &str = include_str!("starter/traffic.toml");

impl Cell {
    /// The name in titles.
    fn name(self) -> &'static str {
        match self {
            Self::Nr => "NR, 100 MHz",
            Self::Lte => "LTE, 10 MHz",
            Self::Umts => "UMTS, 384 kbit/s",
        }
    }

    /// Methods worth comparing in this cell: with UMTS, packets wait in only one layer.
    #[must_use]
    pub fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Nr | Self::Lte => &["Vanilla", "CoDel", "FQ-CoDel", "DRQL", "5G-BDP"],
            Self::Umts => &["Vanilla", "CoDel", "FQ-CoDel", "ARED"],
        }
    }

    /// Fragments of its links; its channel and MAC; its layers; the mode of its RLC.
    fn fragments(self) -> impl Iterator<Item = &'static str> {
        let all = match self {
            Self::Nr => include_str!("starter/nr.toml"),
            Self::Lte => include_str!("starter/lte.toml"),
            Self::Umts => include_str!("starter/umts.toml"),
        };
        all.split(END)
    }

    /// Rate of a rendered game in this cell.
    fn game(self) -> &'static str {
        match self {
            Self::Nr => "15Mbit/s",
            Self::Lte => "5Mbit/s",
            Self::Umts => "150kbit/s",
        }
    }
}

impl Traffic {
    fn fragment(self) -> &'static str {
        TRAFFIC.split(END).nth(self as usize).unwrap_or_default()
    }

    /// The value at `key` in its table.
    fn value(self, key: &str) -> Option<&'static str> {
        let mut lines = self.fragment().lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
    }

    /// Name of its flow.
    fn flow(self) -> &'static str {
        self.value("name").unwrap_or_default().trim_matches('"')
    }

    /// QFI and 5QI of low-latency traffic: conversational voice, real-time gaming (TS 23.501 Table
    /// 5.7.4-1).
    fn five_qi(self) -> Option<u8> {
        self.value("five_qi")?.parse().ok()
    }
}

impl Starter {
    /// The text of the scenario in the file called `file`.
    #[must_use]
    pub fn text(&self, file: &str) -> String {
        let mut out = self.heading(file);
        let separate = self.cell != Cell::Umts;
        for (i, fragment) in self.cell.fragments().enumerate() {
            let fragment = match (&self.trace, i) {
                (Some(trace), 1) => self.replayed(trace),
                (Some(_), 3) => continue,
                _ => fragment.into(),
            };
            let _ = write!(out, "{}{fragment}", if i < 3 { "\n" } else { "" });
        }
        self.ues(separate, &mut out);
        for (i, traffic) in self.traffic.iter().enumerate() {
            let first = if i == 0 && self.ues > 1 { " # every UE has it" } else { "" };
            self.flow(*traffic, separate, first, &mut out);
        }
        out
    }

    fn heading(&self, file: &str) -> String {
        let names: Vec<&str> = self.traffic.iter().map(|kind| kind.flow()).collect();
        let ues = if self.ues == 1 { "1 UE".into() } else { format!("{} UEs", self.ues) };
        let cell = if self.trace.is_some() { "a trace" } else { self.cell.name() };
        let own: Vec<&str> = self.methods.iter().map(String::as_str).collect();
        let methods = if own.is_empty() { self.cell.methods() } else { &own };
        format!(
            "# Check it with `justfull check {file}`, run it with `justfull run {file}`. `justfull \
             list` names
# methods, algorithms and kinds of traffic, `justfull explain NAME` their settings.

title = \"{cell}, {ues}: {}\"
# Simulated time, and the part of it that is not measured.
duration = \"30s\"
warmup = \"5s\"
# Seeds: three or more give 95 % intervals.
runs = {}
methods = {methods:?}

# Without the number signs: the same at each of these limits, for `justfull plot`.
# [sweep]
# path = \"rlc.queue.limit\"
# values = [\"100kB\", \"1MB\", \"10MB\"]
# label = \"limit_MB\"
",
            names.join(", "),
            self.runs,
        )
    }

    /// Channel and MAC of a `trace`.
    fn replayed(&self, trace: &str) -> String {
        let period = if self.cell == Cell::Nr { "500us" } else { "1ms" };
        let written = |text: &str| toml::Value::String(text.into()).to_string();
        let columns: String = self
            .columns
            .iter()
            .map(|(key, value)| format!("{key} = {}\n", written(value)))
            .collect();
        include_str!("starter/trace.toml")
            .replace("PERIOD", period)
            .replace("COLUMNS\n", &columns)
            .replace("FILE", &written(trace))
    }

    fn ues(&self, separate: bool, out: &mut String) {
        out.push_str("\n# UEs, all alike.");
        if separate {
            out.push_str(" A QoS flow of less priority number goes first.");
        }
        let _ = write!(out, "\n[[ue]]\ncount = {}\n", self.ues);
        if separate {
            let mut own: Vec<u8> = self.traffic.iter().filter_map(|kind| kind.five_qi()).collect();
            own.sort_unstable();
            own.push(9);
            let flow = |(i, qfi): (usize, &u8)| format!("{{ qfi = {qfi}, priority = {} }}", i + 1);
            let flows: Vec<String> = own.iter().enumerate().map(flow).collect();
            let _ = writeln!(out, "qos_flow = [{}]", flows.join(", "));
        }
    }

    /// Writes the table of `kind`, with `first` after the number of its UEs.
    fn flow(&self, kind: Traffic, separate: bool, first: &str, out: &mut String) {
        let (head, settings) = kind.fragment().split_at(name_end(kind.fragment()));
        let _ = write!(out, "\n{head}");
        if self.ues > 1 {
            let _ = writeln!(out, "ues = 0{first}");
        }
        if separate {
            let _ = writeln!(out, "qfi = {}", kind.five_qi().unwrap_or(9));
        }
        out.push_str(&settings.replace("RATE", self.cell.game()));
    }
}

/// End of the line with the name in the `fragment` of a flow.
fn name_end(fragment: &str) -> usize {
    let name = fragment.find("name = ").unwrap_or_default();
    fragment[name..].find('\n').map_or(fragment.len(), |end| name + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Scenario};
    use std::path::Path;

    const ALL: [Traffic; 7] = [
        Traffic::Download,
        Traffic::Upload,
        Traffic::Call,
        Traffic::Game,
        Traffic::Pages,
        Traffic::Video,
        Traffic::Ping,
    ];

    fn starter(cell: Cell, ues: u32, traffic: &[Traffic]) -> Starter {
        Starter {
            cell,
            ues,
            traffic: traffic.to_vec(),
            methods: vec![],
            runs: 3,
            trace: None,
            columns: vec![],
        }
    }

    fn examine(text: &str, folder: &Path) -> Scenario {
        Scenario::examine(text, &folder.join("my.toml"), None, Overrides::default())
            .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
    }

    #[test]
    fn every_cell_with_any_traffic_is_a_sound_scenario_without_a_warning() {
        let none = Path::new("");
        for cell in [Cell::Nr, Cell::Lte, Cell::Umts] {
            for ues in [1, 4] {
                for kinds in [&ALL[..], &ALL[..1], &ALL[2..3], &ALL[4..]] {
                    let text = starter(cell, ues, kinds).text("my.toml");
                    let scenario = examine(&text, none);
                    let said = scenario.warnings().expect("no trace is read");
                    assert!(said.is_empty(), "{cell:?}: {said:?}");
                    assert_eq!(scenario.jobs().len(), 3 * cell.methods().len());
                    let world = scenario.world(&scenario.jobs()[0]).expect("it is sound");
                    assert_eq!(world.stack.ues.len(), ues as usize);
                    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
                }
            }
        }
    }

    #[test]
    fn the_sweep_that_is_commented_out_is_sound_too() {
        for cell in [Cell::Nr, Cell::Lte, Cell::Umts] {
            let text = starter(cell, 2, &ALL).text("my.toml");
            let (before, sweep) = text.split_once("# [sweep]").expect("it is there");
            let (sweep, after) = sweep.split_once("\n\n").expect("it ends");
            let text = format!("{before}[sweep]{}\n\n{after}", sweep.replace("\n# ", "\n"));
            assert_eq!(examine(&text, Path::new("")).points().len(), 3);
        }
    }

    #[test]
    fn a_trace_and_methods_are_taken_as_they_are_named() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        std::fs::write(folder.path().join("a \"b\".csv"), "packets_per_10ms\n5\n7\n")
            .expect("it can be written");
        let named = Starter {
            methods: vec!["DRQL".into(), "PIE".into()],
            trace: Some("a \"b\".csv".into()),
            ..starter(Cell::Lte, 2, &ALL)
        };
        let scenario = examine(&named.text("my.toml"), folder.path());
        assert_eq!(scenario.methods(), ["DRQL", "PIE"]);
        scenario.world(&scenario.jobs()[0]).expect("the trace is read");
    }
}
