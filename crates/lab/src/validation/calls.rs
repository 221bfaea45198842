//! How the cases of the rate controls of calls are measured: calls over a link of one rate, in
//! whole scenarios.

use super::by_hand::{place, results_of};
use super::{Evidence, Experiment};
use toml::Value;

pub(super) const SCREAM: &[Experiment] =
    &[dualpi2, dualpi2_without_l4s, scream_alone, scream_halved, scream_two];

pub(super) const GCC: &[Experiment] =
    &[gcc_alone, gcc_start, gcc_losses, gcc_many_losses, gcc_halved, gcc_two];

/// A link, and the run over it.
struct Link {
    mbit_s: f64,
    /// Length of its slots, in which it sends whole bytes.
    slot_us: f64,
    /// Round trip without queues.
    rtt_ms: f64,
    /// The queue before the link.
    queue: &'static str,
    /// Share of packets that is lost at random.
    loss: f64,
    /// Seconds from which on, and up to which, is measured.
    from: u32,
    to: u32,
}

/// A deep queue that drops at its end.
const FIFO: &str = "{ limit = \"4MB\" }";
/// The dual queue, with the RFC's ramp for wires.
const DUAL: &str = "{ limit = \"4MB\", discipline = { kind = \"dual_queue\" }, \
                    aqm = { kind = \"dualpi2\", ramp = [\"800us\", \"1200us\"] } }";

/// Share of a full packet that is media: 1200 of 1240 B.
const MEDIA: f64 = 1200.0 / 1240.0;

/// A deep queue, a round trip of 50 ms, no losses; seconds 20 to 60 count.
const DEEP: Link =
    Link { mbit_s: 10.0, slot_us: 1000.0, rtt_ms: 50.0, queue: FIFO, loss: 0.0, from: 20, to: 60 };

/// A link faster than any call, in short slots.
const FAST: Link = Link { mbit_s: 50.0, slot_us: 200.0, ..DEEP };

/// A link with a whole number of bytes in each slot.
const SLOW: Link = Link { mbit_s: 2.0, slot_us: 800.0, from: 60, to: 120, ..DEEP };

/// Three runs of `flows` over `link`.
fn runs(link: &Link, flows: &str) -> Vec<Value> {
    let Link { mbit_s, slot_us, rtt_ms, queue, loss, from, to } = link;
    let per_slot = mbit_s * slot_us / 8.0;
    let way_us = rtt_ms * 500.0;
    let text = format!(
        "title = \"Calls over a link\"\nduration = \"{to}s\"\nwarmup = \"{from}s\"\nruns = 3\n\
         methods = [\"Vanilla\"]\n\
         core = {{ rate = \"0bit/s\", delay = \"{way_us}us\", loss = {loss:?} }}\n\
         uplink = {{ delay = \"{way_us}us\" }}\n\
         channel = {{ kind = \"constant\", per_slot = {per_slot} }}\n\
         mac = {{ kind = \"bytes\", slot = {{ period = \"{slot_us}us\" }} }}\n\
         rlc = {{ queue = {queue} }}\n[[ue]]\n{flows}"
    );
    results_of("calls", &text)
}

/// A call under `control` with rates up to `most`.
fn call(control: &str, most: &str) -> String {
    format!(
        "[[flow]]\nname = \"call\"\nvideo_call = {{ control = {control}, max_rate = \"{most}\" }}\n"
    )
}

/// Datagrams of `rate` from `start` s on.
fn datagrams(rate: &str, start: u32) -> String {
    format!("[[flow]]\nname = \"cbr\"\nstart = \"{start}s\"\ncbr = {{ rate = \"{rate}\" }}\n")
}

/// The values at `measure` in all runs, over `scale`.
fn each(runs: &[Value], measure: &str, scale: f64) -> Vec<f64> {
    runs.iter().map(|run| place::value(run, measure) / scale).collect()
}

const RATE: &str = "flows.call.goodput_mbit_s";
const MEDIAN: &str = "flows.call.delay.p50_ms";
const P95: &str = "flows.call.delay.p95_ms";

const SCREAM_L4S: &str = "{ kind = \"scream\" }";
const SCREAM_OFF: &str = "{ kind = \"scream\", ecn = \"off\" }";
const GCC_KIND: &str = "{ kind = \"gcc\" }";

fn published(prefix: &str, control: &str) -> Evidence {
    let link = Link { rtt_ms: 25.0, queue: DUAL, from: 5, to: 20, ..FAST };
    let flow = call(control, "200Mbit/s").replace("video_call = {", "video_call = { fps = 50,");
    let runs = runs(&link, &flow);
    let mut evidence = Evidence::default();
    for (what, measure) in [("rate", RATE), ("median", MEDIAN), ("p95", P95)] {
        evidence.random(&format!("{prefix}-{what}"), each(&runs, measure, 1.0));
    }
    evidence
}

fn dualpi2() -> Evidence {
    published("l4s", SCREAM_L4S)
}

fn dualpi2_without_l4s() -> Evidence {
    published("no-l4s", SCREAM_OFF)
}

/// The share of `link` that the media of a call has, and the 95th percentile of its wait.
fn shares(evidence: &mut Evidence, name: &str, link: &Link, flows: &str, mbit_s: f64) {
    let runs = runs(link, flows);
    evidence.random(&format!("{name}-share"), each(&runs, RATE, mbit_s * MEDIA));
    evidence.random(&format!("{name}-delay"), each(&runs, P95, 1.0));
}

fn scream_alone() -> Evidence {
    let mut evidence = Evidence::default();
    let link = Link { mbit_s: 5.0, ..DEEP };
    shares(&mut evidence, "alone", &link, &call(SCREAM_OFF, "20Mbit/s"), 5.0);
    evidence
}

fn scream_halved() -> Evidence {
    let mut evidence = Evidence::default();
    let link = Link { from: 33, ..DEEP };
    let flows = call(SCREAM_OFF, "20Mbit/s") + &datagrams("5Mbit/s", 30);
    shares(&mut evidence, "halved", &link, &flows, 5.0);
    evidence
}

/// Jain's index of two calls under one control.
fn two(control: &str, link: &Link) -> Evidence {
    let flows = call(control, "20Mbit/s").replace("[[flow]]", "[[flow]]\ncount = 2");
    let mut evidence = Evidence::default();
    evidence.random("two", each(&runs(link, &flows), "flows.call.jain_index", 1.0));
    evidence
}

fn scream_two() -> Evidence {
    let link = Link { rtt_ms: 25.0, queue: DUAL, to: 80, ..DEEP };
    two(SCREAM_L4S, &link)
}

fn gcc_alone() -> Evidence {
    let mut evidence = Evidence::default();
    for mbit_s in [1.0, 2.5] {
        let link = Link { mbit_s, ..SLOW };
        let name = format!("alone-{mbit_s}");
        shares(&mut evidence, &name, &link, &call(GCC_KIND, "5Mbit/s"), mbit_s);
    }
    evidence
}

/// The rate in the second from `from` s on, of a call that began at 300 kbit/s.
fn gcc_start() -> Evidence {
    let link = Link { from: 10, to: 11, ..FAST };
    let runs = runs(&link, &call(GCC_KIND, "5Mbit/s"));
    let mut evidence = Evidence::default();
    // 8 % a second over the 10.5 s to the middle of the window.
    let grown = (0..10).fold(1.08_f64.sqrt(), |grown, _| grown * 1.08);
    evidence.formula("start", 300.0 * grown, each(&runs, RATE, 1e-3));
    evidence
}

/// The rate at the end of a call of which a share of `loss` is lost, in kbit/s of what arrives.
fn with_losses(id: &str, loss: f64, published: f64) -> Evidence {
    let link = Link { loss, from: 60, to: 120, ..FAST };
    let runs = runs(&link, &call(GCC_KIND, "2.5Mbit/s"));
    let mut evidence = Evidence::default();
    evidence.formula(id, published * (1.0 - loss), each(&runs, RATE, 1e-3));
    evidence
}

fn gcc_losses() -> Evidence {
    with_losses("losses-1", 0.01, 2500.0)
}

fn gcc_many_losses() -> Evidence {
    with_losses("losses-15", 0.15, 150.0)
}

fn gcc_halved() -> Evidence {
    let mut evidence = Evidence::default();
    let link = Link { from: 70, ..SLOW };
    let flows = call(GCC_KIND, "5Mbit/s") + &datagrams("1Mbit/s", 60);
    shares(&mut evidence, "halved", &link, &flows, 1.0);
    evidence
}

fn gcc_two() -> Evidence {
    let link = Link { to: 180, ..SLOW };
    two(GCC_KIND, &link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mean;

    #[test]
    fn a_link_has_its_rate_and_its_round_trip() {
        let link = Link { mbit_s: 4.0, rtt_ms: 30.0, from: 1, to: 6, ..DEEP };
        let runs = runs(&link, &(datagrams("8Mbit/s", 0) + &call(GCC_KIND, "1Mbit/s")));
        let rate = mean(&each(&runs, "flows.cbr.goodput_mbit_s", 1.0)).expect("three runs");
        assert!((3.0..4.0).contains(&rate), "{rate} Mbit/s of 4 beside a call");
        assert_eq!(runs.len(), 3);
        let alone = super::runs(
            &link,
            "[[flow]]\nname = \"ping\"\nping = { payload = \"172B\", interval = \"20ms\" }\n",
        );
        for rtt in each(&alone, "flows.ping.rtt.p50_ms", 1.0) {
            assert!((30.0..32.0).contains(&rtt), "{rtt} ms, and up to a slot each way");
        }
    }
}
