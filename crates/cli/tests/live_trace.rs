//! A trace in Mahimahi's format, replayed to real packets.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the tests of lifecycles use the rest")]
mod room;

use room::{Run, json, room};
use std::fmt::Write;
use std::fs;

/// Without headers on the radio and with more traffic than the radio carries, each line of the
/// trace passes one packet of 1500 B.
const SCENARIO: &str = r#"
title = "More than the trace carries"
duration = "5s"
warmup = "0s"
methods = ["Vanilla"]

[channel]
kind = "trace"
file = "link.trace"
format = "mahimahi"

[mac]
kind = "bytes"

[rlc]
queue = { limit = "2MB" }

[[flow]]
name = "flood"
udp = { payload = "1472B", interval = "300us" }
"#;

#[test]
fn packet_delivery_opportunities_are_replayed_within_a_thousandth() {
    room("packet_delivery_opportunities_are_replayed_within_a_thousandth", |folder| {
        // From the 100th ms on, so that packets wait at its start; 0 to 4 opportunities in a ms, in
        // no order.
        let mut trace = String::new();
        let mut opportunities = 0_u64;
        for ms in 100..4_900_u64 {
            let here = ms * 7_919 % 23 % 5;
            opportunities += here;
            (0..here).for_each(|_| writeln!(trace, "{ms}").expect("a string takes it"));
        }
        // Mahimahi restarts after the last line.
        trace.push_str("5000\n");
        fs::write(folder.join("link.trace"), trace).expect("a file can be written");
        fs::write(folder.join("flood.toml"), SCENARIO).expect("a file can be written");

        // A stalled machine starves the traffic too: such a run is repeated, since it says nothing
        // about the replay.
        for _ in 0..4 {
            let words = ["live", "flood.toml", "-q", "--force", "--out", "out"];
            let done = Run::of(env!("CARGO_BIN_EXE_justfull"), folder, &words).end();
            assert_eq!(done.code, 0, "{}", done.stderr);
            let live = &json(folder.join("out/live.json"))["runs"][0];
            let delivered = live["down"]["delivered"].as_u64().expect("a number");
            if delivered.abs_diff(opportunities) * 1_000 <= opportunities {
                return;
            }
            println!("{delivered} packets, {opportunities} opportunities");
            assert_eq!(live["lateness"]["late"], true, "a run in time replays within a thousandth");
        }
        println!("NOT JUDGED: this machine was late four times");
    });
}
