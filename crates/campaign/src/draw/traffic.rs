//! The traffic of a drawn case.

use super::log_uniform;
use justfull_base::rng::Rng;
use std::fmt::Write as _;

/// The flows of each phone.
pub(super) struct Mix {
    pub(super) name: String,
    /// Rate of the low-latency flows of a phone, in Mbit/s.
    pub(super) demand_mbit_s: f64,
    /// Tables of flows without `qfi`, whether each is of low latency.
    flows: Vec<Flow>,
    /// Of each phone's uplink, if it is limited.
    uplink_mbit_s: Option<f64>,
    /// All flows of a phone are in one tunnel, if they share a QoS flow.
    tunnel: bool,
}

struct Flow {
    name: &'static str,
    toml: String,
    low_latency: bool,
}

/// Rate of a call on the IP layer: 200 B each 20 ms.
const CALL_MBIT_S: f64 = 0.08;

impl Mix {
    /// The flows of each of `phones` phones in a cell of about `cell_mbit_s`.
    pub(super) fn drawn(rng: &mut Rng, phones: u32, cell_mbit_s: f64) -> Self {
        let fair = cell_mbit_s / f64::from(phones);
        let mut mix = Self {
            name: String::new(),
            demand_mbit_s: 0.0,
            flows: Vec::new(),
            uplink_mbit_s: None,
            tunnel: false,
        };
        mix.low_latency(rng, fair);
        let bulk = rng.unit();
        if bulk < 0.85 {
            mix.downloads(rng, phones);
        }
        if bulk >= 0.7 || rng.chance(0.5) {
            let objects = 1 + rng.below(30);
            mix.add(
                "pages",
                false,
                &format!(
                    "start = \"2s\"\npage = {{ main = \"18kB\", embedded = \"37kB\", objects = \
                 {objects}, reading = {{ exponential = \"5s\" }} }}\n"
                ),
            );
        }
        if rng.chance(0.15) {
            let rate = log_uniform(rng, 0.3, 8.0).min(0.5 * fair);
            mix.add(
                "stream",
                false,
                &format!(
                    "start = \"1500ms\"\ntcp = {{ rate = \"{}kbit/s\" }}\n",
                    (rate * 1e3).round()
                ),
            );
        }
        if rng.chance(0.15) {
            mix.uplink_mbit_s = Some(log_uniform(rng, 5.0, 100.0));
            mix.add("upload", false, "start = \"4s\"\ntcp = { direction = \"up\" }\n");
        }
        mix.tunnel = rng.chance(0.3);
        mix
    }

    fn add(&mut self, name: &'static str, low_latency: bool, rest: &str) {
        let toml = format!("[[flow]]\nname = \"{name}\"\n{rest}");
        self.flows.push(Flow { name, toml, low_latency });
        self.name += if self.name.is_empty() { "" } else { "-" };
        self.name += name;
    }

    /// A call, a video call or a game. One of ten takes more than half of the fair rate.
    fn low_latency(&mut self, rng: &mut Rng, fair: f64) {
        let most = if rng.chance(0.1) { 2.0 * fair } else { 0.4 * fair };
        let kind = rng.unit();
        if kind > 0.75 && most >= 20.0 {
            self.demand_mbit_s = 21.0;
            self.add("game", true, "start = \"3s\"\nvideo = { fps = 60, rate = \"20Mbit/s\" }\n");
            return;
        }
        if kind > 0.4 && most >= 0.5 {
            let rate = log_uniform(rng, 0.5, 4.0_f64.min(most));
            self.demand_mbit_s = 1.05 * rate;
            self.add("video-call", true, &format!(
                "start = \"3s\"\nvideo = {{ fps = 30, rate = \"{}kbit/s\", payload = \"1200B\", \
                 budget = \"100ms\" }}\n",
                (rate * 1e3).round()
            ));
            return;
        }
        self.demand_mbit_s = CALL_MBIT_S;
        self.add(
            "call",
            true,
            "start = \"3s\"\nudp = { payload = \"172B\", interval = \"20ms\" }\n",
        );
    }

    /// 1 to 64 connections in the cell, of one congestion control or two; one of five has a second
    /// group that is further away.
    fn downloads(&mut self, rng: &mut Rng, phones: u32) {
        let most = (64 / phones).max(1);
        let count =
            if rng.chance(0.5) { 1 } else { log_uniform(rng, 1.0, f64::from(most)).round() as u32 };
        let tcp = |rng: &mut Rng| {
            let cc = match rng.unit() {
                x if x < 0.55 => "cubic",
                x if x < 0.8 => "bbr",
                x if x < 0.9 => "new_reno",
                _ => "prague",
            };
            let protocol = if rng.chance(0.2) { "protocol = \"udp\", " } else { "" };
            format!(
                "tcp = {{ {protocol}sender = {{ cc = {{ kind = \"{cc}\" }} }}, receiver = {{ \
                 window = {{ fixed = \"64MB\" }} }} }}\n"
            )
        };
        let first = tcp(rng);
        self.add("download", false, &format!("count = {count}\nstart = \"1s\"\n{first}"));
        if rng.chance(0.2) {
            let second = tcp(rng);
            let extra = 5 + rng.below(70);
            self.add(
                "far",
                false,
                &format!("start = \"1200ms\"\nextra_delay = \"{extra}ms\"\n{second}"),
            );
        }
    }

    /// Names of the flows that are not of low latency.
    pub(super) fn elastic(&self) -> impl Iterator<Item = &'static str> {
        self.flows.iter().filter(|flow| !flow.low_latency).map(|flow| flow.name)
    }

    /// A phone has an upload.
    pub(super) const fn uploads(&self) -> bool {
        self.uplink_mbit_s.is_some()
    }

    /// All flows of a phone are in one tunnel.
    pub(super) const fn is_in_tunnel(&self, one_qfi: bool) -> bool {
        self.tunnel && one_qfi
    }

    /// The rest of the table `uplink` without a stack.
    pub(super) fn uplink(&self) -> String {
        self.uplink_mbit_s
            .map_or_else(String::new, |rate| format!(", rate = \"{}kbit/s\"", (rate * 1e3).round()))
    }

    /// The tables of flows; low-latency ones take QFI 1 unless all flows share one.
    pub(super) fn toml(&self, one_qfi: bool, phones: u32) -> String {
        let mut toml = String::new();
        for flow in &self.flows {
            let qfi = if flow.low_latency && !one_qfi { 1 } else { 9 };
            let low = flow.low_latency;
            let tunnel = if self.is_in_tunnel(one_qfi) { "tunnel = true\n" } else { "" };
            // Text takes everything.
            let _ = write!(
                toml,
                "{}ue = 0\nues = {phones}\nqfi = {qfi}\nlow_latency = {low}\n{tunnel}",
                flow.toml
            );
        }
        toml
    }
}
