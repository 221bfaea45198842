//! The base station of `examples/gnb-cpp` and the same cell in `justfull run` make the same
//! decisions, packet by packet: the instants and marks of packets that enter the RLC, and the
//! instants and reasons of drops.
//!
//! A run of the cell is recorded: the arrivals at SDAP, the capacity of each slot, and the
//! decisions. The program gets arrivals and slots as files, and its decisions must be the same
//! text.

mod built;

use built::{SANITIZED, compiled, crate_root, output};
use justfull_base::rng::stream_key;
use justfull_base::{DropReason, Duration, Event, Instant, Layer, Packet};
use justfull_ran::StackConfig;
use justfull_ran::channel::{CapacityUnit, Channel, ChannelContext};
use justfull_run::{Tap, WorldConfig};
use justfull_scenario::{Overrides, Scenario};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the example.
fn example() -> PathBuf {
    crate_root().join("../../examples/gnb-cpp")
}

/// The packets that came to SDAP, and their fates, as the program reads and writes them.
struct Recorded<'a> {
    stack: &'a StackConfig,
    arrivals: String,
    decisions: String,
    arrived: u64,
    dropped: u64,
}

impl Recorded<'_> {
    fn arrives(&mut self, now: Instant, packet: &Packet) {
        self.arrived += 1;
        let flows = &self.stack.ues[0].qos_flows;
        let flow = flows.iter().position(|flow| flow.qfi == packet.qfi).expect("a QoS flow");
        let Packet { id, size, ecn, protocol, flow_hash, .. } = *packet;
        let (at, ecn, protocol) = (now.as_nanos(), ecn as u8, protocol as u8);
        let line = writeln!(self.arrivals, "{at} {flow} {id} {size} {ecn} {protocol} {flow_hash}");
        line.expect("a string takes everything");
    }

    fn decided(&mut self, now: Instant, what: &str, packet: &Packet, how: u8) {
        let line = writeln!(self.decisions, "{} {what} {} {how}", now.as_nanos(), packet.id);
        line.expect("a string takes everything");
    }
}

/// `reason` as the library numbers it.
fn number(reason: DropReason) -> u8 {
    let known = [
        DropReason::Overflow,
        DropReason::OverflowVictim,
        DropReason::AqmEnqueue,
        DropReason::AqmDequeue,
        DropReason::AqmTimeout,
    ];
    known.iter().position(|known| *known == reason).expect("a reason of a queue") as u8
}

impl Tap for Recorded<'_> {
    fn on_event(&mut self, now: Instant, event: &Event, _: Option<&justfull_tcp::Segment>) {
        match event {
            Event::Enqueued { layer: Layer::Sdap, packet, .. } => self.arrives(now, packet),
            Event::Enqueued { layer: Layer::Rlc, packet, .. } => {
                self.decided(now, "enters", packet, packet.ecn as u8);
            }
            Event::Dropped { layer: Layer::Sdap, packet, reason } => {
                if reason.arriving() {
                    self.arrives(now, packet);
                }
                self.dropped += 1;
                self.decided(now, "dropped", packet, number(*reason));
            }
            _ => {}
        }
    }
}

/// The cell `name` for as long as `duration` says.
fn cell(name: &str, duration: Option<Duration>) -> WorldConfig {
    let path = example().join("cells").join(name).with_extension("toml");
    let text = fs::read_to_string(&path).expect("a scenario");
    let scenario = Scenario::parse(&text, &path, None, Overrides::default()).expect("a scenario");
    let mut world = scenario.world(&scenario.jobs()[0]).expect("a world");
    world.duration = duration.unwrap_or(world.duration);
    world
}

/// The capacity of each slot of `world`, as the program reads it.
fn slots(world: &WorldConfig) -> String {
    let stack = &world.stack;
    let slot = stack.mac.slot().period;
    let (key, bandwidth) = (stream_key(stack.seed, "channel"), stack.mac.bandwidth());
    let context = ChannelContext { key, slot, unit: stack.mac.unit(), bandwidth };
    let mut channel = Channel::new(&stack.channel, &context).expect("a channel");
    let mut text = String::new();
    for k in 0.. {
        let now = Instant::ZERO + slot.times(k);
        if now > Instant::ZERO + world.duration {
            break;
        }
        let line = writeln!(text, "{} {}", now.as_nanos(), channel.capacity(k, now));
        line.expect("a string takes everything");
    }
    text
}

/// Runs the cell in the simulator and in C++. Returns how many packets came and how many were
/// dropped, after it has found that all decisions are the same.
fn compare(program: &Path, name: &str, duration: Option<Duration>) -> (u64, u64) {
    let world = cell(name, duration);
    let (arrivals, decisions) = (String::new(), String::new());
    let mut recorded =
        Recorded { stack: &world.stack, arrivals, decisions, arrived: 0, dropped: 0 };
    let run = justfull_sim::World::tapped(&world, &mut recorded).expect("a world").run(&mut ());
    assert_eq!(run.expect("it ends").broken, None);

    let out = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = out.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let settings = example().join("cells").join(format!("{name}.gate.toml"));
    let period = world.stack.sdap.poll.period.as_nanos().to_string();
    let unit = if world.stack.mac.unit() == CapacityUnit::Packets { "packets" } else { "bytes" };
    let mut command = Command::new(program);
    command.arg(settings).arg(file("slots", &slots(&world))).args([&period, unit]);
    let made = output(command.arg(file("arrivals", &recorded.arrivals)));
    same(name, &recorded.decisions, &made, world.duration);
    (recorded.arrived, recorded.dropped)
}

/// Fails at the first decision that differs. The program goes on until its last slot, the simulator
/// until its end.
fn same(name: &str, simulated: &str, made: &str, duration: Duration) {
    let end = (Instant::ZERO + duration).as_nanos();
    let before_end = |line: &&str| {
        line.split(' ').next().and_then(|at| at.parse::<u64>().ok()).expect("a time") < end
    };
    let simulated: Vec<&str> = simulated.lines().filter(before_end).collect();
    let made: Vec<&str> = made.lines().filter(before_end).collect();
    let differs = simulated.iter().zip(&made).position(|(one, other)| one != other);
    assert_eq!(
        differs.map(|at| (at, simulated[at], made[at])),
        None,
        "{name}: the first decision that differs: its number, simulated, in C++"
    );
    assert_eq!(simulated.len(), made.len(), "{name}: decisions");
}

#[test]
fn soak_the_gnb_in_cpp_decides_packet_by_packet_as_the_same_cell_does_in_the_simulator() {
    let out = tempfile::tempdir().expect("a folder");
    let long = std::env::var_os("JUSTFULL_SOAK").is_some();
    let flags: &[&str] = if long { &["-O2"] } else { &SANITIZED };
    let program = compiled(&example().join("gnb.cpp"), flags, out.path());
    for (name, seconds) in [("packets", 2600), ("bytes", 650), ("trace", 1400)] {
        let duration = long.then(|| Duration::from_secs(seconds));
        let (arrived, dropped) = compare(&program, name, duration);
        println!("{name}: {arrived} packets, {dropped} dropped");
        let least = if long { 1_000_000 } else { 8_000 };
        assert!(arrived > least && dropped > 50, "{name}: {arrived} packets, {dropped} dropped");
    }
}

#[test]
fn the_gnb_in_cpp_names_each_wrong_word_and_line() {
    let out = tempfile::tempdir().expect("a folder");
    let program = compiled(&example().join("gnb.cpp"), &[], out.path());
    let settings = example().join("cells/bytes.gate.toml");
    let run = |slots: &str, period: &str, unit: &str, arrivals: &str| {
        let file = |name: &str, text: &str| {
            fs::write(out.path().join(name), text).expect("a file");
            out.path().join(name)
        };
        let mut command = Command::new(&program);
        command.arg(&settings).arg(file("slots", slots)).args([period, unit]);
        command.arg(file("arrivals", arrivals)).output().expect("it starts")
    };
    let good = run("0 1500\n1000000 1500\n", "250000", "bytes", "5 0 1 100 0 1 7\n");
    assert!(good.status.success() && !good.stdout.is_empty(), "{good:?}");
    for (slots, period, unit, arrivals, part) in [
        ("0 1500\n", "0", "bytes", "", "POLL_NS: found 0, allowed is 1 to 1000000000"),
        ("0 1500\n", "1x", "bytes", "", "POLL_NS: found 1x"),
        ("0 1500\n", "1000", "byte", "", "UNIT: found byte, allowed are packets, bytes"),
        ("0 1500\n1\n", "1000", "bytes", "", "slots, line 2: found \"1\", allowed is TIME AMOUNT"),
        ("0 1500 x\n", "1000", "bytes", "", "slots, line 1"),
        ("0 1500\n", "1000", "bytes", "5 0 1 100 0 1 x\n", "arrivals, line 1"),
        ("0 1500\n", "1000", "bytes", "5 0 1 100 256 1 7\n", "arrivals, line 1"),
    ] {
        let found = run(slots, period, unit, arrivals);
        let said = String::from_utf8_lossy(&found.stderr);
        assert!(found.status.code() == Some(2) && said.contains(part), "{part}: {found:?}");
    }
}
