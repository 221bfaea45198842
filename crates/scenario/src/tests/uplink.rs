//! A scenario's uplink as a stack: where its settings come from, and the errors.

use super::*;
use justfull_ran::MacConfig;
use justfull_run::UplinkStack;

const CELL: &str = r#"
title = "cell"
duration = "1s"
methods = ["Vanilla", "FQ-CoDel"]
channel = { kind = "mcs", mcs = [10] }
[uplink]
kind = "stack"
[mac]
kind = "rb"
slot = { period = "500us" }
carrier = { kind = "nr", n_prb = 51, tdd = "DDDSU" }
[[ue]]
qos_flow = [{ qfi = 1 }, { qfi = 9 }]
[[flow]]
name = "bulk"
qfi = 9
tcp = { direction = "up" }
[switches.at_the_ue]
"uplink.method_at" = "ue"
"#;

fn stack(settings: &[&str], method: &str) -> UplinkStack {
    let scenario = parse(CELL, set(settings)).expect("a sound scenario");
    let job = Job { method: method.into(), point: 0, seed: 1 };
    let world = scenario.world(&job).expect("a sound scenario");
    *world.uplink.stack.expect("a stack")
}

#[test]
fn the_uplink_has_the_cells_carrier_unless_it_names_its_own() {
    let MacConfig::Uplink(mac) = stack(&[], "Vanilla").chain.mac else { panic!("an uplink") };
    assert_eq!((mac.carrier.n_prb, &*mac.carrier.tdd), (51, "DDDSU"));
    assert_eq!(mac.slot.period, justfull_base::Duration::from_micros(500));
    let own = ["uplink.stack.mac.carrier.n_prb=24", "uplink.stack.mac.carrier.kind=nr"];
    let MacConfig::Uplink(mac) = stack(&own, "Vanilla").chain.mac else { panic!("an uplink") };
    assert_eq!((mac.carrier.n_prb, &*mac.carrier.tdd), (24, ""));
}

#[test]
fn a_method_acts_in_the_cell_in_the_ue_or_in_both() {
    let kinds = |scenario: &Scenario| {
        let job = Job { method: "FQ-CoDel".into(), point: 0, seed: 1 };
        let world = scenario.world(&job).expect("a sound scenario");
        let ue = world.uplink.stack.as_ref().expect("a stack").chain.rlc.queue.discipline.name();
        (world.stack.rlc.queue.discipline.name(), ue)
    };
    let found = ["cell", "ue", "both"].map(|place| {
        let setting = format!("uplink.method_at={place}");
        kinds(&parse(CELL, set(&[&setting])).expect("a sound scenario"))
    });
    let (lanes, fifo) = ("fq_codel", "fifo");
    assert_eq!(found, [(lanes, fifo), (fifo, lanes), (lanes, lanes)]);
    let switched = Overrides { switches: vec!["at_the_ue".into()], ..Overrides::default() };
    assert_eq!(kinds(&parse(CELL, switched).expect("a sound scenario")), (fifo, lanes));
}

#[test]
fn bad_settings_of_a_stack_are_one_error_that_names_the_field() {
    let error = |settings: &[&str]| {
        parse(CELL, set(settings)).err().map(|e| e.to_string()).unwrap_or_default()
    };
    for (settings, field, allowed) in [
        (
            &["ue.0.drbs=2", "ue.0.qos_flow.1.drb=1"][..],
            "uplink.stack.mac.logical_channel",
            "2 tables with a priority, one for each bearer of a UE",
        ),
        (
            &["uplink.stack.mac.logical_channel=[{ group = 1 }]"],
            "uplink.stack.mac.logical_channel",
            "priority",
        ),
        (
            &["uplink.stack.mac.logical_channel=[{ priority = 17 }]"],
            "uplink.stack.mac.logical_channel[0].priority",
            "1 to 16",
        ),
        (&["uplink.rate=1Mbit/s"], "uplink.kind", "queue with a rate or grants"),
        (&["uplink.stack.mac.k2=33"], "uplink.stack.mac.k2", "0 to 32"),
        (&["uplink.stack.mac.sr.period=0s"], "uplink.stack.mac.sr.period", "125us to 10s"),
        (
            &["uplink.stack.mac.bsr.retransmission=1ms"],
            "uplink.stack.mac.bsr.retransmission",
            "10ms to",
        ),
        (
            &[
                "uplink.stack.rlc.mode=am",
                "uplink.stack.rlc.hold=acknowledged",
                "uplink.stack.ack_filter=true",
            ],
            "uplink.stack.ack_filter",
            "false with rlc.hold acknowledged",
        ),
        (&["mac.carrier.tdd=DDD"], "uplink.stack.mac.carrier.tdd", "a pattern with a U"),
        (&["uplink.kind=queue", "uplink.method_at=ue"], "uplink.method_at", "uplink.kind stack"),
        (&["uplink.cell_aqm.target=0s"], "uplink.cell_aqm.target", "above 0s"),
        (&["uplink.cell_aqm.spacing=1001"], "uplink.cell_aqm.spacing", "0 to 1000"),
        (&["uplink.cell_aqm.report_delay=2s"], "uplink.cell_aqm.report_delay", "at most 1s"),
        (&["uplink.cell_aqm.reports=2s"], "uplink.cell_aqm.reports", "one that is there"),
        (&["uplink.zhuge.window=0s"], "uplink.zhuge.window", "1ms to 10s"),
        (&["uplink.zhuge.history=11s"], "uplink.zhuge.history", "1ms to 10s"),
        (&["uplink.zhuge.least_rate=0bit/s"], "uplink.zhuge.least_rate", "1kbit/s to 1Gbit/s"),
        (&["uplink.zhuge.preset=mine"], "uplink.zhuge.preset", "as-published"),
    ] {
        let error = error(settings);
        assert!(error.contains(field) && error.contains(allowed), "{settings:?}: {error}");
    }
    let down = CELL.replace("kind = \"rb\"", "kind = \"uplink\"");
    let error = parse(&down, Overrides::default()).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("mac.kind") && error.contains("packets, bytes, rb"), "{error}");
}

#[test]
fn settings_of_the_other_kind_of_uplink_have_no_effect_and_are_told() {
    let error = |settings: &[&str]| {
        parse(CELL, set(settings)).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(error(&["uplink.limit=1MB"]).contains("uplink.stack.sdap.queue"));
    let queue = error(&["uplink.kind=queue", "uplink.stack.ack_filter=true"]);
    assert!(queue.contains("only with uplink.kind stack"), "{queue}");
}
