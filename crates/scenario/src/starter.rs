//! A scenario to start from: `justfull new`. Its text is commented, passes every check, and uses
//! the words of the shipped scenarios.

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
    /// Echo requests.
    Ping,
}

/// What a new scenario has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// Cell.
    pub cell: Cell,
    /// Number of UEs, all alike.
    pub ues: u32,
    /// What each UE sends and receives, each kind once.
    pub traffic: Vec<Traffic>,
    /// Methods to compare; of none the cell's usual ones.
    pub methods: Vec<String>,
    /// Number of seeds.
    pub runs: u32,
    /// File of a trace that says what the cell can carry, instead of resource blocks.
    pub trace: Option<String>,
}

impl Cell {
    /// In titles.
    fn name(self) -> &'static str {
        match self {
            Self::Nr => "NR, 100 MHz",
            Self::Lte => "LTE, 10 MHz",
            Self::Umts => "UMTS, 384 kbit/s",
        }
    }

    /// Methods that are worth a comparison in it: with UMTS, packets wait in one layer alone.
    #[must_use]
    pub fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Nr | Self::Lte => &["Vanilla", "CoDel", "FQ-CoDel", "DRQL", "5G-BDP"],
            Self::Umts => &["Vanilla", "CoDel", "FQ-CoDel", "ARED"],
        }
    }

    /// Limit of the queues.
    fn limit(self) -> &'static str {
        match self {
            Self::Nr => "20MB",
            Self::Lte => "2MB",
            Self::Umts => "100kB",
        }
    }

    /// The server's link, and the UE's way back.
    fn paths(self) -> &'static str {
        match self {
            Self::Nr => {
                "# Each server's link to the UPF.
[core]
rate = \"10Gbit/s\"
delay = \"5ms\"

# Each UE's way back: a scheduling request, and grants of 50 Mbit/s at most.
[uplink]
delay = \"5ms\"
limit = \"1MB\"
grants = { sr_period = \"5ms\", grant_delay = \"3ms\", grant = \"6250B\", period = \"1ms\" }
"
            }
            Self::Lte => {
                "# Each server's link to the UPF.
[core]
rate = \"1Gbit/s\"
delay = \"10ms\"

# Each UE's way back: a scheduling request, and grants of 10 Mbit/s at most.
[uplink]
delay = \"10ms\"
limit = \"1MB\"
grants = { sr_period = \"10ms\", grant_delay = \"8ms\", grant = \"1250B\", period = \"1ms\" }
"
            }
            Self::Umts => {
                "# Each server's link to the RNC.
[core]
delay = \"20ms\"

# Each UE's way back: a dedicated channel of 64 kbit/s, 160 B in each TTI of 20 ms.
[uplink]
delay = \"50ms\"
grants = { configured = true, period = \"20ms\", grant = \"160B\" }
"
            }
        }
    }

    /// Channel and MAC where the cell has resource blocks or PDUs.
    fn radio(self) -> &'static str {
        match self {
            Self::Nr => {
                "# A walk, by the statistics of measured channel qualities (CQI table 2: 256QAM).
[channel]
kind = \"markov\"
fit = \"pedestrian-like\"
map = \"nr_t2\"
n_prb = 273
numerology = 1
layers = 2

# Slots of 500 us, seven of ten downlink; block errors of 10 % at the first transmission.
[mac]
kind = \"rb\"
slot = { period = \"500us\" }
scheduler = { kind = \"round_robin\" }
harq = { bler = 0.1, round_trip = 8 }
cqi_delay = 8

[mac.carrier]
kind = \"nr\"
n_prb = 273
mcs_table = 2
layers = 2
tdd = \"DDDDDDDSUU\"
special_symbols = 6
"
            }
            Self::Lte => {
                "# A walk, by the statistics of measured channel qualities.
[channel]
kind = \"markov\"
fit = \"pedestrian-like\"
map = \"ns3_lteamc\"
n_prb = 50

# Slots of 1 ms; block errors of 10 % at the first transmission.
[mac]
kind = \"rb\"
slot = { period = \"1ms\" }
scheduler = { kind = \"round_robin\" }
harq = { bler = 0.1 }

[mac.carrier]
kind = \"lte\"
n_prb = 50
"
            }
            Self::Umts => {
                "# Each bearer has 12 PDUs of 42 B in a TTI of 10 ms: 384 kbit/s of payload.
[channel]
kind = \"constant\"
per_slot = 4500

[mac]
kind = \"dch\"
slot = { period = \"10ms\" }
pdus = 12
loss = 0.015
burst = 2.0
status_delay = \"90ms\"

[air]
delay = \"40ms\"

[pdcp]
umts_header = \"1B\"
"
            }
        }
    }

    /// RLC.
    fn rlc(self, resource_blocks: bool) -> String {
        let limit = self.limit();
        let mode = match self {
            Self::Umts => {
                return format!(
                    "# Acknowledged mode of TS 25.322; the buffer keeps a packet until all of it is
# acknowledged.
[rlc]
hold = \"acknowledged\"
queue = {{ limit = \"{limit}\" }}
mode = {{ kind = \"am\", generation = \"umts\", pdu = \"42B\", window = 768 }}
"
                );
            }
            Self::Nr => {
                "mode = { kind = \"am\", sn_bits = 18, poll_pdu = 128, t_status_prohibit = \"10ms\" }\n"
            }
            Self::Lte => "mode = { kind = \"am\", generation = \"lte\", sn_bits = 10 }\n",
        };
        format!(
            "# The queue of each bearer; methods bound what is in it.\n[rlc]\nqueue = {{ limit = \
             \"{limit}\" }}\n{}",
            if resource_blocks { mode } else { "" }
        )
    }
}

impl Traffic {
    /// Name of its flow.
    fn flow(self) -> &'static str {
        match self {
            Self::Download => "bulk",
            Self::Upload => "upload",
            Self::Call => "call",
            Self::Game => "game",
            Self::Pages => "pages",
            Self::Ping => "ping",
        }
    }

    /// QFI and 5QI of what needs low delay: conversational voice, real-time gaming (TS 23.501
    /// Table 5.7.4-1).
    fn five_qi(self) -> Option<u8> {
        match self {
            Self::Call => Some(1),
            Self::Game => Some(3),
            Self::Download | Self::Upload | Self::Pages | Self::Ping => None,
        }
    }

    /// What it is, and its table.
    fn table(self, cell: Cell) -> String {
        match self {
            Self::Download => "# A TCP transfer that never ends.|start = \"1s\"\ntcp = {}",
            Self::Upload => {
                "# A TCP transfer from the UE that never ends.|start = \"1s\"\n\
                 tcp = { direction = \"up\" }"
            }
            Self::Call => "# A G.711 call, judged by the E-model.|low_latency = true\nvoip = {}",
            Self::Game => {
                let rate = match cell {
                    Cell::Nr => "15Mbit/s",
                    Cell::Lte => "5Mbit/s",
                    Cell::Umts => "150kbit/s",
                };
                return format!(
                    "# Frames of a rendered game.|low_latency = true\nvideo = {{ fps = 60, rate = \
                     \"{rate}\" }}"
                );
            }
            Self::Pages => {
                "# Pages that a user loads and reads.|page = { main = \"18kB\", embedded = \
                 \"37kB\", objects = 70, reading = { exponential = \"5s\" } }"
            }
            Self::Ping => {
                "# Echo requests, which the UE answers.|low_latency = true\n\
                 ping = { payload = \"56B\", interval = \"200ms\" }"
            }
        }
        .into()
    }
}

impl Starter {
    /// The text of the scenario, which its `file` is told to run.
    #[must_use]
    pub fn text(&self, file: &str) -> String {
        let mut out = self.heading(file);
        let separate = self.cell != Cell::Umts;
        let _ = write!(out, "\n{}\n{}", self.cell.paths(), self.radio());
        if separate {
            let _ = write!(
                out,
                "
# Opportunities of the UPF and of SDAP; the queue of each QoS flow; who goes first.
[upf]
poll = {{ period = \"100us\" }}

[sdap]
poll = {{ period = \"100us\" }}
queue = {{ limit = \"{}\" }}
scheduler = {{ kind = \"strict_priority\" }}
",
                self.cell.limit()
            );
        }
        let _ = write!(out, "\n{}", self.cell.rlc(self.trace.is_none()));
        self.ues(separate, &mut out);
        for (i, traffic) in self.traffic.iter().enumerate() {
            self.flow(*traffic, (i == 0, separate), &mut out);
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

    /// Channel and MAC.
    fn radio(&self) -> String {
        let Some(trace) = &self.trace else { return self.cell.radio().into() };
        let period = if self.cell == Cell::Nr { "500us" } else { "1ms" };
        format!(
            "# What the cell can carry, from a file (`justfull trace info FILE`); UEs share its \
             slots by time.
# Each seed plays another part of it: `spread` lets them begin at places that are spread over the
# whole trace, which begins again at its end. `start = \"0s\"` plays its head under every seed.
[channel]
kind = \"trace\"
file = {}
format = \"auto\"
at_end = \"loop\"
start = \"spread\"

[mac]
kind = \"bytes\"
slot = {{ period = \"{period}\" }}
",
            toml::Value::String(trace.clone()),
        )
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

    fn flow(&self, kind: Traffic, (first, separate): (bool, bool), out: &mut String) {
        let table = kind.table(self.cell);
        let (what, settings) = table.split_once('|').unwrap_or(("", &table));
        let _ = write!(out, "\n{what}\n[[flow]]\nname = \"{}\"\n", kind.flow());
        if self.ues > 1 {
            let told = if first { " # every UE has it" } else { "" };
            let _ = writeln!(out, "ues = 0{told}");
        }
        if separate {
            let _ = writeln!(out, "qfi = {}", kind.five_qi().unwrap_or(9));
        }
        if let Some(five_qi) = kind.five_qi() {
            let _ = writeln!(out, "five_qi = {five_qi}");
        }
        let _ = writeln!(out, "{settings}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Scenario};
    use std::path::Path;

    const ALL: [Traffic; 6] = [
        Traffic::Download,
        Traffic::Upload,
        Traffic::Call,
        Traffic::Game,
        Traffic::Pages,
        Traffic::Ping,
    ];

    fn starter(cell: Cell, ues: u32, traffic: &[Traffic]) -> Starter {
        Starter { cell, ues, traffic: traffic.to_vec(), methods: vec![], runs: 3, trace: None }
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
