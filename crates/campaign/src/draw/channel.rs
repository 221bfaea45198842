//! The radio of a drawn case.

use super::log_uniform;
use justfull_base::rng::Rng;
use std::fmt::Write as _;

/// A measured trace of the folder for data, and its keys.
struct Measured {
    name: &'static str,
    keys: &'static str,
    /// Roughly, in Mbit/s; the traffic is drawn for it.
    mean_mbit_s: f64,
}

const MEASURED: [Measured; 9] = [
    Measured {
        name: "ucc5g-driving",
        keys: "format = \"auto\", file = \"trace_ucc5g_driving_a.csv\"",
        mean_mbit_s: 60.0,
    },
    Measured {
        name: "ucc5g-static",
        keys: "format = \"auto\", file = \"trace_ucc5g_static_a.csv\"",
        mean_mbit_s: 70.0,
    },
    Measured {
        name: "ucc4g-a",
        keys: "format = \"auto\", file = \"trace_ucc4g_static_a.csv\"",
        mean_mbit_s: 60.0,
    },
    Measured {
        name: "ucc4g-b",
        keys: "format = \"auto\", file = \"trace_ucc4g_static_b.csv\"",
        mean_mbit_s: 30.0,
    },
    Measured {
        name: "ucc4g-c",
        keys: "format = \"auto\", file = \"trace_ucc4g_static_c.csv\"",
        mean_mbit_s: 40.0,
    },
    Measured {
        name: "mmwave-bounced",
        keys: "time_column = \"t_s\", rate_column = \"dl_mbps\", file = \"trace_mmwave_nlos_multipath.csv\"",
        mean_mbit_s: 300.0,
    },
    Measured {
        name: "mmwave-blocked",
        keys: "time_column = \"t_s\", rate_column = \"dl_mbps\", file = \"trace_mmwave_nlos_nomultipath.csv\"",
        mean_mbit_s: 300.0,
    },
    Measured {
        name: "pedestrian",
        keys: "file = \"packets_pedestrian.csv\", row = \"1s\", interval = \"10ms\"",
        mean_mbit_s: 10.0,
    },
    Measured {
        name: "train",
        keys: "file = \"packets_train.csv\", row = \"1s\", interval = \"10ms\"",
        mean_mbit_s: 10.0,
    },
];

/// A radio: its channel, its MAC and the RLC's mode.
pub(super) enum Radio {
    /// Slots of 1 ms in bytes.
    Bytes { name: String, channel: String, mean_mbit_s: f64 },
    /// Resource blocks with HARQ.
    Blocks { name: String, toml: String, rlc: &'static str, mean_mbit_s: f64 },
}

impl Radio {
    /// `phones` phones get at least 1 Mbit/s each in the mean, but on measured traces.
    pub(super) fn drawn(rng: &mut Rng, phones: u32, measured: bool) -> Self {
        let replays = measured && phones <= 8;
        match rng.unit() {
            x if x < 0.25 && replays => of_trace(rng),
            x if x < 0.4 => constant(rng, phones),
            x if x < 0.6 => markov(rng, phones),
            x if x < 0.8 => steps(rng, phones),
            _ => blocks(rng, phones),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Bytes { name, .. } | Self::Blocks { name, .. } => name,
        }
    }

    pub(super) const fn mean_mbit_s(&self) -> f64 {
        match self {
            Self::Bytes { mean_mbit_s, .. } | Self::Blocks { mean_mbit_s, .. } => *mean_mbit_s,
        }
    }

    pub(super) fn toml(&self) -> String {
        match self {
            Self::Bytes { channel, .. } => {
                format!("channel = {{ {channel} }}\nmac = {{ kind = \"bytes\" }}\n")
            }
            Self::Blocks { toml, .. } => toml.clone(),
        }
    }

    /// The rest of the table `uplink` with a stack: NR's uplink slots, and the method in the cell
    /// only or at both ends; none over other radios.
    pub(super) fn uplink(&self, bearers: u8, at: &str) -> Option<String> {
        let Self::Blocks { rlc, name, .. } = self else { return None };
        if !name.starts_with("nr") {
            return None;
        }
        let channels = match bearers {
            1 => "{ priority = 4 }",
            _ => "{ priority = 1, group = 0 }, { priority = 4, group = 1 }",
        };
        let rlc = rlc.trim_end();
        Some(format!(
            ", kind = \"stack\", method_at = \"{at}\", stack = {{ sdap = {{ poll = {{ period = \
             \"200us\" }}, queue = {{ limit = \"4MB\" }}, scheduler = {{ kind = \
             \"strict_priority\" }} }}, rlc = {{ queue = {{ limit = \"4MB\" }}, {rlc} }}, mac = {{ \
             harq = {{ bler = 0.1, round_trip = 8 }}, logical_channel = [{channels}] }} }}"
        ))
    }

    pub(super) const fn rlc(&self) -> &'static str {
        match self {
            Self::Bytes { .. } => "",
            Self::Blocks { rlc, .. } => rlc,
        }
    }
}

fn of_trace(rng: &mut Rng) -> Radio {
    let Measured { name, keys, mean_mbit_s } = &MEASURED[rng.below(MEASURED.len() as u64) as usize];
    let channel = format!("kind = \"trace\", {keys}, at_end = \"loop\", start = \"spread\"");
    Radio::Bytes { name: (*name).into(), channel, mean_mbit_s: *mean_mbit_s }
}

/// Mean rate of a synthetic radio.
fn rate_mbit_s(rng: &mut Rng, phones: u32) -> f64 {
    let phones = f64::from(phones);
    log_uniform(rng, 1.5 * phones.max(1.5), 300.0_f64.max(6.0 * phones))
}

fn constant(rng: &mut Rng, phones: u32) -> Radio {
    let rate = rate_mbit_s(rng, phones);
    let name = format!("constant-{}", rate.round());
    let channel = format!("kind = \"constant\", per_slot = {}", (rate * 125.0).round());
    Radio::Bytes { name, channel, mean_mbit_s: rate }
}

/// CQIs of a walk or a train, with 6 to 273 resource blocks.
fn markov(rng: &mut Rng, phones: u32) -> Radio {
    let fit = ["pedestrian-like", "train-like"][rng.below(2) as usize];
    let (map, most) =
        [("ns3_lteamc", 100.0), ("oai", 100.0), ("nr_t2", 273.0)][rng.below(3) as usize];
    let least = f64::from(6 + 3 * phones);
    let n_prb = log_uniform(rng, least.min(most), most).round();
    let step = ["100ms", "200ms", "1s"][rng.below(3) as usize];
    let name = format!("{}-{n_prb}", fit.split('-').next().unwrap_or(fit));
    let channel = format!(
        "kind = \"markov\", fit = \"{fit}\", map = \"{map}\", n_prb = {n_prb}, step = \"{step}\""
    );
    // A resource block carries about 0.25 Mbit/s at the mean CQI.
    Radio::Bytes { name, channel, mean_mbit_s: 0.25 * n_prb }
}

/// Levels that last 0.2 to 5 s each: a walk in steps of up to a factor of eight, with outages of
/// 50 ms to 1 s in a third of the cells.
fn steps(rng: &mut Rng, phones: u32) -> Radio {
    let mean = rate_mbit_s(rng, phones);
    let spread = log_uniform(rng, 1.2, 8.0);
    let outages = if rng.chance(1.0 / 3.0) { 0.2 } else { 0.0 };
    let mut amounts: Vec<u64> = Vec::new();
    while amounts.len() < 400 {
        let rows = log_uniform(rng, 4.0, 100.0).round() as usize;
        let rate = mean * log_uniform(rng, 1.0 / spread, spread);
        // A row of 50 ms carries its amount in each millisecond.
        amounts.extend(std::iter::repeat_n((rate * 125.0).round() as u64, rows));
        if rng.chance(outages) {
            let rows = log_uniform(rng, 1.0, 20.0).round() as usize;
            amounts.extend(std::iter::repeat_n(0, rows));
        }
    }
    let mut channel =
        "kind = \"rows\", row = \"50ms\", interval = \"1ms\", packet_bytes = \"1B\", \
                       at_end = \"loop\", amounts = ["
            .to_owned();
    for amount in &amounts {
        // Text takes everything.
        let _ = write!(channel, "{amount},");
    }
    channel.push(']');
    let name = format!("steps-{}", mean.round());
    Radio::Bytes { name, channel, mean_mbit_s: mean }
}

/// NR of 20 or 100 MHz, or LTE of 5 to 20 MHz, with block errors of 1 to 20 %, in AM or UM.
fn blocks(rng: &mut Rng, phones: u32) -> Radio {
    let bler = log_uniform(rng, 0.01, 0.2);
    let am = rng.chance(0.6);
    let fit = ["pedestrian-like", "train-like"][rng.below(2) as usize];
    if phones > 8 || rng.chance(0.6) {
        let wide = phones > 8 || rng.chance(0.5);
        let n_prb = if wide { 273 } else { 51 };
        let toml = format!(
            "channel = {{ kind = \"markov\", fit = \"{fit}\", map = \"nr_t2\", n_prb = {n_prb}, \
             numerology = 1, layers = 2 }}\n\
             [mac]\nkind = \"rb\"\nslot = {{ period = \"500us\" }}\n\
             scheduler = {{ kind = \"round_robin\" }}\n\
             harq = {{ bler = {bler:.4}, round_trip = 8 }}\ncqi_delay = 8\n\
             [mac.carrier]\nkind = \"nr\"\nn_prb = {n_prb}\nmcs_table = 2\nlayers = 2\n\
             tdd = \"DDDDDDDSUU\"\nspecial_symbols = 6\n"
        );
        let rlc = if am {
            "mode = { kind = \"am\", sn_bits = 18, poll_pdu = 128, t_status_prohibit = \"10ms\" }\n"
        } else {
            "mode = { kind = \"um\", sn_bits = 12 }\n"
        };
        let mean_mbit_s = f64::from(n_prb) * 1.5;
        return Radio::Blocks { name: format!("nr-{n_prb}"), toml, rlc, mean_mbit_s };
    }
    let n_prb = [25, 50, 100][rng.below(3) as usize];
    let toml = format!(
        "channel = {{ kind = \"markov\", fit = \"{fit}\", map = \"ns3_lteamc\", n_prb = {n_prb} }}\n\
         [mac]\nkind = \"rb\"\nslot = {{ period = \"1ms\" }}\n\
         scheduler = {{ kind = \"round_robin\" }}\n\
         harq = {{ bler = {bler:.4}, round_trip = 8 }}\n\
         [mac.carrier]\nkind = \"lte\"\nn_prb = {n_prb}\n"
    );
    let rlc = if am {
        "mode = { kind = \"am\", sn_bits = 12 }\n"
    } else {
        "mode = { kind = \"um\", generation = \"lte\", sn_bits = 10 }\n"
    };
    Radio::Blocks { name: format!("lte-{n_prb}"), toml, rlc, mean_mbit_s: f64::from(n_prb) * 0.4 }
}
