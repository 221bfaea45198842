//! The chain of a scenario as a text picture: layers, polls, limits, rates, and the changes by its
//! methods.

use crate::base_rtt::{self, PAYLOAD};
use crate::file::ScellFile;
use crate::settings::{self, PLAIN};
use crate::{Job, Scenario, ScenarioError, ScenarioFile};
use justfull_base::param::Param;
use justfull_base::rng::stream_key;
use justfull_base::{Duration, Instant};
use justfull_ran::StackConfig;
use justfull_ran::carrier::Carrier;
use justfull_ran::channel::{CapacityUnit, Channel, ChannelContext};
use justfull_ran::config::PollConfig;
use justfull_run::{FlowConfig, UplinkKind, WorldConfig};
use std::fmt::Write;
use toml::{Table, Value};

/// Number of slots for a channel's mean.
const SLOTS: u64 = 20_000;
/// Width of the column of layers.
const WIDTH: usize = 9;
/// Maximum number of a method's settings in a line; `explain` shows all.
const SHOWN: usize = 8;

impl Scenario {
    /// The chain under the first method at the first point, and the changes by the other methods.
    ///
    /// # Errors
    /// The fault of the scenario or of its trace.
    pub fn chain(&self) -> Result<String, ScenarioError> {
        let job =
            |method: &String| Job { method: method.clone(), point: 0, seed: self.first_seed() };
        let Some((first, others)) = self.methods().split_first() else { return Ok(String::new()) };
        let (file, _) = self.of_job(&job(first))?;
        let world = self.world(&job(first))?;
        let tree = tree(&file);
        let mut out = picture(&file, &tree, &world.stack);
        let _ = write!(out, "\n{}", round_trips(&file, &world));
        let _ = writeln!(out, "\n  {first:<24} as drawn");
        for method in others {
            let (other, _) = self.of_job(&job(method))?;
            let mut changed = Vec::new();
            differences(&tree, &self::tree(&other), "", &mut changed);
            if changed.is_empty() {
                changed.push("as drawn".into());
            }
            let more = changed.len().saturating_sub(SHOWN);
            changed.truncate(SHOWN);
            if more > 0 {
                changed.push(format!("and {more} more settings"));
            }
            for (i, text) in changed.iter().enumerate() {
                let _ = writeln!(out, "  {:<24} {text}", if i == 0 { method } else { "" });
            }
        }
        Ok(out)
    }
}

fn tree(file: &ScenarioFile) -> Value {
    let mut file = file.clone();
    if file.uplink.kind == UplinkKind::Stack {
        file.uplink.stack.get_or_insert_default();
    }
    Value::Table(Table::try_from(&file).unwrap_or_default())
}

fn picture(file: &ScenarioFile, tree: &Value, stack: &StackConfig) -> String {
    let mut out = String::new();
    let mut layer = |name: &str, parts: &[String]| {
        let line = format!("  {name:<WIDTH$}{}", parts.join("; "));
        let _ = writeln!(out, "{}", line.trim_end());
    };
    let kind = |path: &str| {
        get(tree, path).map_or_else(|| "none".into(), |v| settings::in_words(path, v, &[]))
    };
    let (core, air, uplink) = (&file.core, &file.air, &file.uplink);
    let flows: Vec<String> = file.flow.iter().map(|flow| flow.name.clone()).collect();
    layer("servers", &[flows.join(", ")]);
    let mut way = vec![format!("core {}, {}", rate(core.rate.0, &core.rate.written()), core.delay)];
    if core.loss.0 > 0.0 {
        way.push(format!("random loss of {} %", 100.0 * core.loss.0));
    }
    if get(tree, "proxy.control").is_some() {
        way.push(format!("proxy {}", kind("proxy.control")));
    }
    layer("  |", &way);
    layer("UPF", &[poll(&file.upf.poll), queue(tree, "upf.queue")]);
    layer("  |", &[]);
    let sdap = [
        poll(&file.sdap.poll),
        format!("a QoS flow: {}", queue(tree, "sdap.queue")),
        format!("scheduler {}", kind("sdap.scheduler")),
        format!("pacer {}", kind("sdap.pacer")),
    ];
    layer("SDAP", &sdap);
    layer("  |", &[]);
    let mut rlc = vec![
        format!("a bearer: {}", queue(tree, "rlc.queue")),
        format!("limiter {}", kind("rlc.limiter")),
    ];
    if file.mac.has_rlc() {
        rlc.push(format!("mode {}", kind("rlc.mode")));
    }
    layer("RLC", &rlc);
    layer("  |", &[]);
    layer("MAC", &mac(file, tree, stack));
    layer("  |", &[format!("air {}", air.delay)]);
    layer("UE", &[ues(file)]);
    let mut back = vec![
        format!("uplink {}, {}", rate(uplink.rate.0, &uplink.rate.written()), uplink.delay),
        format!("queue {}", uplink.limit.written()),
    ];
    if let Some(grants) = &uplink.grants {
        back[0] = format!("uplink {}", uplink.delay);
        back.push(format!("grants {}", grants.written()));
    }
    if uplink.kind == UplinkKind::Stack {
        back = vec![
            format!("uplink {}", uplink.delay),
            format!("a QoS flow: {}", queue(tree, "uplink.stack.sdap.queue")),
            format!("a bearer: {}", queue(tree, "uplink.stack.rlc.queue")),
            format!("limiter {}", kind("uplink.stack.rlc.limiter")),
        ];
    }
    layer("  |", &back);
    layer("servers", &[]);
    out
}

/// The base round trips of the flows ([`base_rtt::BaseRtt`]), one line for all flows with the same
/// value.
fn round_trips(file: &ScenarioFile, world: &WorldConfig) -> String {
    let first = |name: &str| world.flows.iter().find(|flow| &*flow.name == name);
    let flows: Vec<&FlowConfig> = file.flow.iter().filter_map(|flow| first(&flow.name)).collect();
    let mut seen: Vec<(String, Vec<&str>)> = Vec::new();
    for (flow, found) in flows.iter().zip(base_rtt::of_flows(world, &flows)) {
        let text = found.map_or_else(
            || "unknown: no echo comes back alone".into(),
            |of| format!("{:.2} ms, from {:.2} to {:.2}", of.mean_ms, of.min_ms, of.max_ms),
        );
        match seen.iter_mut().find(|(other, _)| *other == text) {
            Some((_, names)) => names.push(&flow.name),
            None => seen.push((text, vec![&flow.name])),
        }
    }
    let lines = seen.into_iter().map(|(text, names)| {
        let names: Vec<&str> = names;
        format!("  base RTT {text} ({})\n", names.join(", "))
    });
    let note = format!(
        "  base RTT: mean, least and greatest round trip of echoes of {PAYLOAD} through empty queues\n"
    );
    lines.chain([note]).collect()
}

fn rate(bits: u64, written: &str) -> String {
    if bits == 0 { "infinitely fast".into() } else { written.into() }
}

fn poll(poll: &PollConfig) -> String {
    if poll.period.is_zero() { "at once".into() } else { format!("polled every {}", poll.period) }
}

/// A queue: its limit, and its AQM and discipline unless they are the defaults.
fn queue(tree: &Value, path: &str) -> String {
    let Some(queue) = get(tree, path) else { return "no queue".into() };
    let mut parts = vec![get(queue, "limit").map_or_else(|| "unlimited".into(), in_words)];
    for key in ["aqm", "discipline"] {
        let found = get(queue, key).filter(|kind| !PLAIN.contains(&&*in_words(kind)));
        parts.extend(found.map(|kind| settings::in_words(&format!("{path}.{key}"), kind, &[])));
    }
    parts.join(", ")
}

fn mac(file: &ScenarioFile, tree: &Value, stack: &StackConfig) -> Vec<String> {
    let mut parts = vec![format!("slots of {}", file.mac.slot().period)];
    let channel = get(tree, "channel").map(in_words).unwrap_or_default();
    let own = file.ue.iter().filter(|ue| ue.channel.is_some()).count();
    parts.push(match file.mac.carrier() {
        Some(carrier) => format!("{}, {} resource blocks", carrier.kind.name(), carrier.n_prb),
        None => file.mac.name().into(),
    });
    let rates = carrier_rates(stack);
    if let Some((peak, _)) = rates {
        parts.push(format!("transport blocks of at most {:.2} Mbit/s", peak * 1e-6));
    }
    let mean = match rates {
        Some((_, mean)) => mean.filter(|_| own < file.ue.len()).map(|mean| {
            format!("all blocks carry {:.2} Mbit/s, the mean of {} s", mean * 1e-6, seconds(stack))
        }),
        None => mean_rate(stack),
    };
    parts.push(match mean {
        Some(mean) => format!("channel {channel}: {mean}"),
        None => format!("channel {channel}"),
    });
    for ScellFile { name, slot, carrier, .. } in &file.scell {
        let slot = slot.unwrap_or(file.mac.slot().period);
        let blocks = carrier.n_prb;
        parts.push(format!("SCell {name}: {blocks} resource blocks in slots of {slot}"));
    }
    if own > 0 {
        parts.push(format!("{own} of {} kinds of UEs have their own", file.ue.len()));
    }
    parts
}

/// The cell's channel, built like the stack's.
fn channel(stack: &StackConfig) -> Option<Channel> {
    let key = stream_key(stack.seed, "channel");
    let (slot, unit) = (stack.mac.slot().period, stack.unit());
    let bandwidth = stack.mac.bandwidth();
    Channel::new(&stack.channel, &ChannelContext { key, slot, unit, bandwidth }).ok()
}

/// Start of slot `index`.
fn start(stack: &StackConfig, index: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(stack.mac.slot().period.as_nanos() * index)
}

/// The averaging time of a mean, in seconds.
fn seconds(stack: &StackConfig) -> f64 {
    stack.mac.slot().period.as_secs_f64() * SLOTS as f64
}

/// Rates of the transport blocks of all resource blocks in bit/s, with repeats and headers
/// included: at the MCS that carries most, and the mean at the MCS of the cell's channel, if it has
/// one.
fn carrier_rates(stack: &StackConfig) -> Option<(f64, Option<f64>)> {
    let slot = stack.mac.slot().period;
    let carrier = Carrier::new(stack.mac.carrier()?, slot).ok()?;
    let bits = |index: u64, mcs: u8| {
        let shape = carrier.shape(index);
        8 * u64::from(carrier.sizes(shape, mcs)[usize::from(shape.n_prb)])
    };
    let most = (0..32).max_by_key(|mcs| carrier.full_slot(*mcs))?;
    let peak: u64 = (0..SLOTS).map(|index| bits(index, most)).sum();
    let mut channel = channel(stack)?;
    let mut at = |index| channel.next_mcs(index, start(stack, index));
    let carried: u64 = (0..SLOTS).filter_map(|index| Some(bits(index, at(index)?))).sum();
    let per_second = |sum: u64| sum as f64 / seconds(stack);
    Some((per_second(peak), (carried > 0).then(|| per_second(carried))))
}

/// The mean capacity of the cell's channel; none with resource blocks.
fn mean_rate(stack: &StackConfig) -> Option<String> {
    if stack.mac.carrier().is_some() || stack.channel.needs_carrier() {
        return None;
    }
    let mut channel = channel(stack)?;
    let mut sum = 0_u64;
    for index in 0..SLOTS {
        sum = sum.saturating_add(channel.capacity(index, start(stack, index)));
    }
    let seconds = seconds(stack);
    let per_second = sum as f64 / seconds;
    Some(match stack.unit() {
        CapacityUnit::Bytes => format!("{:.2} Mbit/s, the mean of {seconds} s", per_second * 8e-6),
        CapacityUnit::Packets => format!("{per_second:.0} packets/s, the mean of {seconds} s"),
    })
}

fn ues(file: &ScenarioFile) -> String {
    let count: u64 = file.ue.iter().map(|ue| u64::from(ue.count)).sum();
    let mut qfis: Vec<u8> =
        file.ue.iter().flat_map(|ue| &ue.qos_flow).map(|flow| flow.qfi.get()).collect();
    qfis.sort_unstable();
    qfis.dedup();
    let qfis: Vec<String> = qfis.iter().map(u8::to_string).collect();
    format!("{count} UE{}, QFI {}", if count == 1 { "" } else { "s" }, qfis.join(", "))
}

/// The name of a kind, or the text of a plain value.
fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Table(table) => table.get("kind").map_or_else(|| value.to_string(), in_words),
        other => other.to_string(),
    }
}

fn get<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// Collects the settings of `other` that differ from `one`; names of methods do not count.
fn differences(one: &Value, other: &Value, path: &str, found: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.into() } else { format!("{path}.{key}") };
    match (one, other) {
        (Value::Table(a), Value::Table(b)) if a.get("kind") == b.get("kind") => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            for key in keys.filter(|key| !path.is_empty() || *key != "methods") {
                let none = Value::String("none".into());
                let (a, b) = (a.get(key).unwrap_or(&none), b.get(key).unwrap_or(&none));
                differences(a, b, &below(key), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                let name = a.get("name").and_then(Value::as_str).filter(|_| path == "flow");
                differences(a, b, &below(name.unwrap_or(&i.to_string())), found);
            }
        }
        (a, b) if a != b => {
            found.push(format!("{path} = {}", settings::in_words(path, b, &[])));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Scenario, library};
    use std::path::Path;

    fn chain(name: &str, methods: &[&str]) -> String {
        let methods = methods.iter().map(ToString::to_string).collect();
        let overrides = Overrides { methods: Some(methods), ..Overrides::default() };
        let text = library::scenario(name).expect("it ships");
        let scenario = Scenario::parse(text, Path::new(name), None, overrides);
        scenario.expect("it is sound").chain().expect("no trace is read")
    }

    #[test]
    fn the_picture_shows_layers_polls_limits_rates_and_the_round_trip() {
        let text = chain("live-lte", &["Vanilla", "CoDel", "DRQL"]);
        for part in [
            "servers  bulk, call\n",
            "core 1Gbit/s, 10ms",
            "UPF      at once",
            "SDAP     polled every 500us; a QoS flow: 1MB; scheduler strict_priority",
            "RLC      a bearer: 500kB; limiter unlimited",
            "MAC      slots of 1ms; bytes; channel constant: 20.00 Mbit/s, the mean of 20 s",
            "UE       1 UE, QFI 1, 9",
            "\n  base RTT 20.7",
            " (bulk, call)\n  base RTT: mean, least and greatest round trip of echoes of 56B through",
            "Vanilla                  as drawn",
            "DRQL                     rlc.limiter = drql",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        let codel = text.lines().find(|line| line.starts_with("  CoDel")).expect("its line");
        assert!(codel.contains("rlc.queue.aqm = codel"), "{codel}");
    }

    /// TS 36.213 Table 7.1.7.2.1-1: at MCS 28 (I_TBS 26), 25 resource blocks carry 18336 bits and
    /// 17 carry 12576; in ten subframes of A21's cell eight have the former and two the latter.
    #[test]
    fn a_carrier_has_its_peak_and_the_mean_of_its_channel() {
        let text = chain("a21-calls", &["Vanilla"]);
        let whole = "transport blocks of at most 17.18 Mbit/s; channel mcs: all blocks carry 17.18 \
                     Mbit/s, the mean of 20 s";
        assert!(text.contains(whole), "{text}");
        let text = chain("nr-100mhz", &["Vanilla"]);
        let rate = |before: &str| {
            let after = text.split(before).nth(1).expect("it is there");
            after.split(' ').next().and_then(|n| n.parse::<f64>().ok()).expect("a number")
        };
        let (peak, mean) = (rate("transport blocks of at most "), rate("all blocks carry "));
        assert!(0.2 * peak < mean && mean < peak, "{text}");
    }

    #[test]
    fn every_shipped_scenario_without_a_trace_has_a_picture() {
        for (name, text) in library::SCENARIOS {
            let read = Scenario::parse(text, Path::new(name), None, Overrides::default());
            let Some(Ok(text)) = read.ok().map(|scenario| scenario.chain()) else { continue };
            assert!(text.contains("  MAC  ") && text.contains("base RTT "), "{name}: {text}");
            assert!(!text.contains("base RTT unknown"), "{name}: {text}");
            assert!(!text.contains("resource blocks; channel mcs: "), "{name}: {text}");
        }
        assert!(chain("nr-100mhz", &["Vanilla"]).contains("nr, 273 resource blocks"));
        assert!(chain("slow-bearer", &["Vanilla"]).contains("mode am"));
    }
}
