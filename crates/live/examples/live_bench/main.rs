//! The cost of the live driver. Each call makes one measurement, so that others can run in between:
//!
//! ```text
//! live_bench check                what this machine lacks for the others, if anything
//! live_bench memory [SECONDS]     throughput and lateness between two ports in memory
//! live_bench forward [SECONDS]    TCP through two namespaces and a forwarder that copies datagrams
//! live_bench stack [SECONDS]      the same through the whole stack
//! live_bench single [SECONDS]     the same without offloads
//! live_bench bare SLOT_US [SECONDS]  how late a loop is that does nothing but wake
//! live_bench slots SLOT_US [SECONDS] how late the loop of a live run is that carries 100 Mbit/s
//! live_bench uploads SLOT_US [SECONDS]  the same with an upload through the uplink's stack
//! ```
//! Each prints lines of JSON. Meaningful timings need the right to `SCHED_FIFO`; each line says
//! whether the program had it. `cargo xtask bench live` runs all but the second.

mod kernel;
mod memory;

use justfull_base::{BitRate, Duration};
use justfull_live::LiveOptions;
use justfull_live::lateness::{LatenessReport, bare_loop};
use justfull_net::SystemError;
use justfull_net::capabilities;
use justfull_net::clock::{PRIORITY, Priority, SlotClock, raise_priority, wake_period};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_ran::{BytesConfig, FiveTuple, MacConfig, PollConfig, StackConfig, UeConfig};
use justfull_run::{FlowConfig, Traffic, UplinkConfig, WorldConfig};
use justfull_testkit as testkit;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bytes of a datagram.
const SIZE: usize = 1_500;

/// Limit of the RLC queue.
const RLC_BYTES: u64 = 20_000_000;

/// A cell of one UE with slots of `slot` that carry `rate`, and one flow.
fn config(slot: Duration, rate: BitRate, duration: Duration, traffic: Traffic) -> WorldConfig {
    let flow = testkit::app(traffic);
    let tuple = FiveTuple { source_port: 5_201, destination_port: 40_000, ..flow.tuple };
    let flow = FlowConfig { name: "flow".into(), tuple, low_latency: false, ..flow };
    let per_slot = rate.bytes_in_floor(slot);
    let stack = StackConfig {
        mac: MacConfig::Bytes(BytesConfig {
            slot: PollConfig::every(slot),
            ..BytesConfig::default()
        }),
        ues: vec![Arc::new(UeConfig::plain(testkit::qfi(9)))],
        mtu: SIZE as u32,
        assert_bound: false,
        ..testkit::cell(per_slot, CapacityUnit::Bytes, Limit::Bytes(RLC_BYTES))
    };
    let world = testkit::world(stack, vec![flow], duration);
    WorldConfig {
        scenario: "live_bench".into(),
        method: "Vanilla".into(),
        core_rate: BitRate(0),
        core_delay: Duration::ZERO,
        uplink: UplinkConfig { delay: Duration::ZERO, ..world.uplink },
        warmup: Duration::ZERO,
        ..world
    }
}

/// The period of wake-ups for slots of `slot`.
fn period(slot: Duration) -> Duration {
    wake_period(slot, LiveOptions::default().wake)
}

/// Prints the lateness of a loop.
fn line(name: &str, slot: Duration, priority: &Priority, found: &LatenessReport) {
    let real_time = *priority == Priority::RealTime;
    println!(
        "{{\"bench\":\"{name}\",\"slot\":\"{slot}\",\"period\":\"{}\",\"real_time\":{real_time},\"\
         wakes\":{},\"p50_us\":{:.1},\"p99_us\":{:.1},\"p999_us\":{:.1},\"max_us\":{:.1},\"slots\"\
         :{},\"missed\":{},\"late\":{}}}",
        found.period,
        found.wakes,
        found.p50_us,
        found.p99_us,
        found.p999_us,
        found.max_us,
        found.slots,
        found.missed,
        found.late,
    );
}

/// A loop that only wakes, as often as a run with slots of `slot`.
fn bare(slot: Duration, seconds: u64) -> Result<(), SystemError> {
    let priority = raise_priority(PRIORITY);
    let mut clock = SlotClock::start()?;
    let length = Duration::from_secs(seconds);
    let found = bare_loop(&mut clock, period(slot), length, &AtomicBool::new(false));
    line("bare", slot, &priority, &found);
    Ok(())
}

/// Prints missing rights and programs.
fn check() -> Result<(), SystemError> {
    for capability in capabilities().into_iter().filter(|capability| capability.required) {
        if let Err(reason) = capability.found {
            println!("{}: {reason}", capability.name);
        }
    }
    Ok(())
}

const USAGE: &str = "live_bench check, memory|forward|stack|single [SECONDS] or \
                     bare|slots|uploads SLOT_US [SECONDS]; numbers above 0";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default| match words.get(i).map(|word| word.parse::<u64>()) {
        None => default,
        Some(Ok(n)) if n > 0 => Some(n),
        Some(_) => None,
    };
    let slot = || number(1, None).map(Duration::from_micros);
    let done =
        match (words.first().map(String::as_str), number(1, Some(3)), number(2, Some(3)), slot()) {
            (Some("check"), ..) => check(),
            (Some("memory"), Some(seconds), ..) => memory::run(seconds),
            (Some("forward"), Some(seconds), ..) => kernel::forward(seconds),
            (Some("stack"), Some(seconds), ..) => kernel::stack(true, seconds),
            (Some("single"), Some(seconds), ..) => kernel::stack(false, seconds),
            (Some("bare"), _, Some(seconds), Some(slot)) => bare(slot, seconds),
            (Some("slots"), _, Some(seconds), Some(slot)) => kernel::slots(slot, seconds),
            (Some("uploads"), _, Some(seconds), Some(slot)) => kernel::uploads(slot, seconds),
            _ => {
                eprintln!("usage: {USAGE}");
                std::process::exit(2);
            }
        };
    if let Err(error) = done {
        eprintln!("live_bench: {error}");
        std::process::exit(1);
    }
}
