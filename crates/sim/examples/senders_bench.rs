//! Measures the cost of a congestion control per acknowledgement: `cargo run --release -p
//! justfull-sim --example senders_bench -- [--json] [CONTROL_SECONDS]`, such as `prague_12`.
//!
//! A download over 100 Mbit/s and 20 ms fills a queue of 300 kB that drops at its end. Each packet
//! is acknowledged. The same program does the same work, so that instructions can be compared;
//! `cargo xtask bench senders` runs it.

use justfull_base::{Bytes, Duration};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_run::{Traffic, Transport, WorldConfig};
use justfull_tcp::{CcConfig, ReceiverConfig, SenderConfig, Window};
use justfull_testkit as testkit;

#[path = "support/mod.rs"]
mod support;
#[path = "support/worlds.rs"]
mod worlds;
use worlds::{Arguments, Ran};

const CONTROLS: [&str; 3] = ["cubic", "prague", "bbr3"];
const SECONDS: [u64; 2] = [6, 12];
/// Bytes of a slot of 1 ms at 100 Mbit/s.
const SLOT: u64 = 12_500;
/// Bytes of the queue.
const QUEUE: u64 = 300_000;

fn download(cc: CcConfig, duration: Duration) -> WorldConfig {
    let receiver = ReceiverConfig {
        window: Window::Fixed(Bytes(64 << 20)),
        delayed_ack: false,
        ..ReceiverConfig::default()
    };
    let sender = SenderConfig { cc, ..SenderConfig::default() };
    let (sender, receiver) = (Box::new(sender), Box::new(receiver));
    let (size, rate, transport) = (None, None, Transport::Tcp);
    let flow = testkit::app(Traffic::Tcp { sender, receiver, size, rate, transport });
    let cell = testkit::cell(SLOT, CapacityUnit::Bytes, Limit::Bytes(QUEUE));
    testkit::world(cell, vec![flow], duration)
}

fn main() {
    let arguments = Arguments::read();
    for control in CONTROLS {
        let cc = CcConfig::by_name(control).expect("it is on the list");
        for seconds in SECONDS {
            let name = format!("{control}_{seconds}");
            if arguments.select(&name) {
                let duration = Duration::from_secs(seconds);
                let ran = Ran::of(1, || download(cc.clone(), duration), duration);
                let goodput = ran.result.flows[0].goodput_mbit_s;
                ran.print(&name, &arguments, &format!("{goodput:.2} Mbit/s"));
            }
        }
    }
}
