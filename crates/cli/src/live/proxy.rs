//! `--proxy`: this program's own `proxy run` between the servers and the stack.

use crate::failure::Failure;
use justfull_base::Duration;
use justfull_live::applications::RttSample;
use justfull_live::middle::{LegSample, Middle};
use justfull_live::reports::{Reports, open};
use justfull_net::chain::RAN;
use justfull_net::{Network, Running, Side, SystemError};
use justfull_proxy::{ControlConfig, Place, ProxyConfig, RadioConfig, ask};
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time;

/// Longest time until the proxy accepts connections.
const PATIENCE: time::Duration = time::Duration::from_secs(10);
/// Rounding error allowed in a sum of shares.
const ROUNDING: f64 = 1e-9;
/// Time between two checks for this.
const LOOK: time::Duration = time::Duration::from_millis(10);

/// The proxy of a run.
pub(super) struct Proxy {
    /// The configuration file; it leaves out settings that the run determines.
    text: String,
    control: Option<ControlConfig>,
    config: ProxyConfig,
    /// The radio reports for it, before it runs.
    reports: Option<Reports>,
    /// Writes reports to its pipe.
    writer: Option<JoinHandle<std::io::Result<u64>>>,
    running: Option<Running>,
    /// File of its standard error.
    said: PathBuf,
    legs: Vec<LegSample>,
    /// Acknowledged bytes from the UE on each connection, by the connection's ends.
    counted: BTreeMap<[SocketAddr; 2], u32>,
    /// The greatest share of each cell in its windows beyond their floors, as its status shows it.
    shares: BTreeMap<String, f64>,
    /// Its last status.
    status: Value,
}

impl Proxy {
    /// The proxy of `file`, with `control` if the file names none.
    pub(super) fn of(file: &Path, control: Option<&ControlConfig>) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::Usage(format!("{}: {what}", file.display()));
        let text = read_text(file, SETTINGS_LIMIT).map_err(|e| wrong(e.to_string()))?;
        Self::of_text(text, control).map_err(wrong)
    }

    /// The proxy of a file's `text`. The text is checked before anything is built, so its pipe and
    /// its socket do not exist yet.
    pub(super) fn of_text(text: String, control: Option<&ControlConfig>) -> Result<Self, String> {
        let place = Place { interface: RAN, reports: "/", socket: "/", control };
        let config = ProxyConfig::parse(&ProxyConfig::complete(&text, &place)?)?;
        Ok(Self {
            text,
            control: control.cloned(),
            config,
            reports: None,
            writer: None,
            running: None,
            said: PathBuf::new(),
            legs: Vec::new(),
            counted: BTreeMap::new(),
            shares: BTreeMap::new(),
            status: Value::Null,
        })
    }

    /// True if the proxy takes radio reports from this run: the file names no other source.
    pub(super) fn wants_reports(&self) -> bool {
        matches!(&self.config.radio, RadioConfig::JsonLines(source) if source.path == "/")
    }

    /// Sets the source of its radio reports.
    pub(super) fn take_reports(&mut self, reports: Reports) {
        self.reports = Some(reports);
    }

    /// A line about the run's proxy.
    pub(super) fn note(&self) -> String {
        let status = &self.status;
        let ended = status["ended"].as_object().into_iter().flatten();
        let ended: String = ended
            .filter(|(_, count)| **count != 0)
            .map(|(how, count)| format!(", {count} ended as {how}"))
            .collect();
        let radio = &status["radio"];
        let counts = [
            ("moves", "moves of UEs"),
            ("two_cells", "reports of a cell that their UE had left"),
            ("unknown_cell", "reports of unknown cells"),
        ];
        let counts: String = counts
            .iter()
            .filter_map(|(key, what)| Some((radio[key].as_u64().filter(|n| *n > 0)?, what)))
            .map(|(count, what)| format!(", {count} {what}"))
            .collect();
        format!(
            "proxy: {} by {}, {} connections{ended}; {} reports taken of source {}{counts}",
            status["control"].as_str().unwrap_or_default(),
            status["radio_leg"].as_str().unwrap_or_default(),
            status["accepted"],
            radio["taken"],
            radio["source"].as_str().unwrap_or_default(),
        )
    }

    /// Its configuration, its last status, and the greatest share of each cell in its windows
    /// beyond their floors.
    pub(super) fn facts(&self) -> Value {
        json!({ "config": self.config, "status": self.status, "greatest_shares": self.shares })
    }

    /// Takes the windows of each cell from `status`.
    fn note_shares(&mut self, status: &Value) {
        for cell in status["cells"].as_array().into_iter().flatten() {
            let share = |key: &str| cell[key].as_f64();
            if let (Some(name), Some(windows), Some(floors)) =
                (cell["cell"].as_str(), share("windows"), share("floors"))
            {
                let greatest = self.shares.entry(name.to_owned()).or_insert(0.0);
                *greatest = greatest.max(windows - floors);
            }
        }
    }

    /// The cell whose windows exceeded it, in words.
    fn exceeded(&self) -> Option<String> {
        let bounded = self.config.control.keeps_to_cells();
        let (cell, share) =
            self.shares.iter().find(|(_, share)| bounded && **share > 1.0 + ROUNDING)?;
        Some(format!("its windows beyond their floors had {share} of cell {cell}, allowed is 1"))
    }

    /// The error for its failure, with its last output.
    fn failed(&self, how: &str) -> SystemError {
        let said = fs::read_to_string(&self.said).unwrap_or_default();
        let last = said.lines().last().unwrap_or("it said nothing");
        SystemError::new("run the proxy", format!("{how}: {last}"))
    }

    /// Returns an error if it has ended.
    fn lives(&mut self) -> Result<(), SystemError> {
        let ended = self.running.as_mut().map(Running::try_wait).transpose()?.flatten();
        let Some(status) = ended else { return Ok(()) };
        let code = Running::exit_code(status);
        Err(self.failed(&format!("it ended with status {code}")))
    }

    /// The answer to `question`; none without an answer.
    fn ask(&self, question: &str) -> Option<Value> {
        let text = ask(Path::new(&self.config.operation.socket), question).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes its radio reports to `pipe` until the end of the run.
    fn write_reports(&mut self, pipe: &Path) -> Result<(), SystemError> {
        let Some(reports) = self.reports.take() else { return Ok(()) };
        let failed = |e| SystemError::new(format!("write reports to {}", pipe.display()), e);
        let to = open(pipe).map_err(failed)?;
        let addresses = |ue| Side::Ue(ue as usize).addresses().to_vec();
        let work = move || reports.write_lines(to, addresses);
        let thread = thread::Builder::new().name("proxy's reports".into()).spawn(work);
        self.writer = Some(thread.map_err(failed)?);
        Ok(())
    }
}

/// A sample of the connection `flow` at the time `at`; none without new acknowledgements since the
/// previous call, whose count is in `counted` by the connection's ends.
fn leg_sample(
    flow: &Value,
    at: Duration,
    counted: &mut BTreeMap<[SocketAddr; 2], u32>,
) -> Option<LegSample> {
    let end = |name: &str| flow[name].as_str()?.parse().ok();
    let [client, server] = [end("client")?, end("server")?];
    let rtt_us = (flow["radio_rtt_s"].as_f64()? * 1e6) as u32;
    let acks = u32::try_from(flow["radio_acks"].as_u64()?).ok()?;
    let before = counted.insert([client, server], acks)?;
    let radio = RttSample { at_ns: at.as_nanos(), rtt_us, acks: acks.wrapping_sub(before) };
    (rtt_us > 0 && radio.acks > 0).then_some(LegSample { client, server, radio })
}

impl Middle for Proxy {
    fn start(&mut self, network: &Network) -> Result<(), SystemError> {
        let refuse = |what: String| SystemError::new("configure the proxy", what);
        let pipe = network.pipe("reports")?;
        self.said = network.file("proxy.log", "")?;
        let socket = pipe.with_file_name("proxy");
        let [reports, socket] = [&pipe, &socket].map(|path| path.display().to_string());
        let control = self.control.as_ref();
        let place = Place { interface: RAN, reports: &reports, socket: &socket, control };
        let text = ProxyConfig::complete(&self.text, &place).map_err(refuse)?;
        self.config = ProxyConfig::parse(&text).map_err(refuse)?;
        let file = network.file("rapid.toml", &text)?;
        self.write_reports(&pipe)?;
        let program = std::env::current_exe().map_err(|e| refuse(e.to_string()))?;
        let line = "exec \"$0\" proxy run --config \"$1\" 2> \"$2\"";
        let argv: [OsString; 6] = [
            "sh".into(),
            "-c".into(),
            line.into(),
            program.into(),
            file.into(),
            self.said.clone().into(),
        ];
        self.running = Some(network.run(Side::Proxy, &argv, &[])?);
        let mut waited = time::Duration::ZERO;
        while self.ask("status").is_none() {
            self.lives()?;
            if waited >= PATIENCE {
                return Err(self.failed(&format!("it does not stand after {PATIENCE:?}")));
            }
            thread::sleep(LOOK);
            waited += LOOK;
        }
        Ok(())
    }

    fn look(&mut self, at: Duration) -> Result<(), SystemError> {
        self.lives()?;
        let Some(Value::Array(flows)) = self.ask("flows") else { return Ok(()) };
        let Self { legs, counted, .. } = self;
        legs.extend(flows.iter().filter_map(|flow| leg_sample(flow, at, counted)));
        if let Some(status) = self.ask("status") {
            self.note_shares(&status);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SystemError> {
        self.lives()?;
        match self.ask("status") {
            Some(status) => {
                self.note_shares(&status);
                self.status = status;
            }
            None => return Err(self.failed("it does not answer")),
        }
        let exceeded = self.exceeded();
        exceeded.map_or(Ok(()), |what| Err(SystemError::new("share out the cells", what)))
    }

    fn legs(&self) -> &[LegSample] {
        &self.legs
    }
}
