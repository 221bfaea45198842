//! Cells, uplinks, proxies, streets and live runs that a scenario describes wrongly.

use super::*;

/// `SOUND` in two cells, whose UE has `place` as its place.
fn in_two_cells(cells: [&str; 2], place: &str) -> String {
    let [a, b] = cells.map(|name| format!("[[cell]]\nname = \"{name}\"\n"));
    SOUND.replace("[[ue]]\n[[ue.qos", &format!("{a}{b}[[ue]]\n{place}\n[[ue.qos"))
}

#[test]
fn cells_and_moves_that_make_no_sense_are_refused() {
    let wrong = |place: &str, message: &str| {
        Trial::new(in_two_cells(["west", "east"], place)).refused(message);
    };
    let moves = |to: &str, at: &str| {
        format!("cell = \"west\"\nmoves = [{{ at = \"{at}\", cell = \"{to}\" }}]")
    };
    Trial::new(in_two_cells(["west", "east"], &moves("east", "1s"))).accepted();
    wrong("", "my.toml:16:*: field `ue[0].cell`: found none, allowed is west, east*");
    wrong(
        "cell = \"north\"",
        "my.toml:17:*: field `ue[0].cell`: found north, allowed is west, east*",
    );
    wrong(
        &moves("west", "1s"),
        "my.toml:18:*: field `ue[0].moves[0].cell`: found west, where the UE already is, allowed \
         is east*",
    );
    let tour = |cells: &str, every: &str| {
        format!(
            "cell = \"west\"\ntour = {{ cells = {cells}, first = \"1s\", every = \"{every}\" }}"
        )
    };
    wrong(
        &tour("[\"east\", \"west\"]", "0s"),
        "my.toml:18:*: field `ue[0].tour.every`: found 0s, allowed is above 0s*",
    );
    wrong(
        &tour("[]", "1s"),
        "my.toml:18:*: field `ue[0].tour.cells`: found none, allowed is at least one cell*",
    );
    wrong(
        "cell = \"west\"\na3 = { time_to_trigger = \"0s\" }",
        "my.toml:18:*: field `ue[0].a3`: found set, allowed is with a channel of kind umi *",
    );
    let handover = "[handover]\nrlf = true\n[[cell]]";
    Trial::new(in_two_cells(["west", "east"], "cell = \"west\"").replacen("[[cell]]", handover, 1))
        .refused("my.toml:13:*: field `handover.rlf`: found true, allowed is false without a UE *");
    Trial::new(in_two_cells(["west", "west"], "cell = \"west\""))
        .refused("my.toml:15:*: field `cell[1].name`: found west, allowed is each name once*");
    Trial::change(
        "[[ue]]\n[[ue.qos_flow]]\nqfi = 3",
        "[[ue]]\ncell = \"a\"\n[[ue.qos_flow]]\nqfi = 3",
    )
    .refused("my.toml:13:*: field `ue[0].cell`: found a, allowed is none: there is no *");
}

#[test]
fn a_floor_of_several_cells_and_a_tunnel_of_two_qos_flows_are_refused() {
    let two = in_two_cells(["west", "east"], "cell = \"west\"");
    let moved = two
        .replace("cell = \"west\"", "cell = \"west\"\nmoves = [{ at = \"1s\", cell = \"east\" }]");
    Trial::new(format!("floor = true\n{moved}"))
        .refused("my.toml:1:*: field `floor`: found true, allowed is false with several cells*");
    let text = include_str!("../../../../scenarios/nr-100mhz.toml");
    let one = text.replace("low_latency = ", "tunnel = true\nlow_latency = ");
    Trial::new(one.clone()).accepted();
    Trial::new(one.replace("qfi = 9\n[flow", "qfi = 9\ntunnel = true\n[flow")).refused(
        "my.toml:*: field `flow[1].qfi`: found 1, allowed is 9, as the first flow in a tunnel*",
    );
}

#[test]
fn a_video_call_that_makes_no_sense_is_refused() {
    let text = include_str!("../../../../scenarios/video-calls.toml");
    let wrong = |settings: &str, message: &str| {
        let own = format!("{{ kind = \"gcc\" }}, {settings}");
        Trial::new(text.replace("{ kind = \"gcc\" }, max_rate = \"10Mbit/s\"", &own))
            .refused(&format!("my.toml:*: field `flow[1].video_call.{message}*"));
    };
    wrong(
        "max_rate = \"200kbit/s\"",
        "start_rate`: found 300kbit/s, allowed is min_rate to max_rate",
    );
    wrong("payload = \"1500B\"", "payload`: found 1500B, allowed is 1B to the MTU less 40B");
    wrong("fps = 0", "fps`: found 0, allowed is 1 to 1000");
    wrong("skip = \"0s\"", "skip`: found 0s, allowed is above 0s");
}

#[test]
fn the_uplink_of_ues_that_move_has_the_rlc_of_nr() {
    let text = include_str!("../../../../scenarios/upload-and-call.toml");
    let cells = "[[cell]]\nname = \"west\"\n[[cell]]\nname = \"east\"\n";
    let moves = "cell = \"west\"\nmoves = [{ at = \"1s\", cell = \"east\" }]\n";
    let text = text.replacen("[[ue]]\n", &format!("{cells}[[ue]]\n{moves}"), 1);
    Trial::new(text.clone()).accepted();
    let lte = "mode = { kind = \"am\", generation = \"lte\", sn_bits = 10";
    Trial::new(text.replacen("mode = { kind = \"am\", sn_bits = 18", lte, 1)).refused(
        "my.toml:*: field `uplink.stack.rlc.mode.generation`: found lte, allowed is nr with UEs \
         that move *",
    );
}

#[test]
fn a_channel_that_never_carries_anything_is_refused() {
    let constant = "kind = \"constant\"\nper_slot = 4";
    Trial::change("per_slot = 4", "per_slot = 0")
        .refused("my.toml:7:1: field `channel.per_slot`: found 0, allowed is 1 to 4294967295 *");
    Trial::change(constant, "kind = \"rows\"\namounts = [0, 0]").refused(
        "my.toml:7:1: field `channel.amounts`: found [0, 0], allowed is at least one entry, one \
         above 0, *",
    );
    Trial::trace(b"packets_per_10ms\n0\n0\n").refused(
        "my.toml:7:1: field `channel.file`: t.csv: found a channel that never carries anything, \
         allowed is some row *",
    );
}

#[test]
fn adaptive_video_has_a_ladder_that_ascends_and_a_buffer_that_fits() {
    let flow = |dash: &str| {
        Trial::change(
            "udp = { payload = \"200B\", interval = \"20ms\" }",
            &format!("dash = {dash}"),
        )
    };
    flow("{}").accepted();
    for (dash, message) in [
        (
            "{ ladder = [\"750kbit/s\", \"300kbit/s\"] }",
            "ladder`: found [*], allowed is 2 to 16 rates of at least 1kbit/s, each above the one \
             before *",
        ),
        ("{ buffer = \"7s\" }", "buffer`: found 7s, allowed is 2 chunks to 1h *"),
        ("{ startup = \"57s\" }", "startup`: found 57s, allowed is at most buffer less a chunk *"),
        (
            "{ buffer = \"14s\" }",
            "abr.low`: found 10s, allowed is above 0s, below the buffer less a chunk, 10s *",
        ),
        ("{ abr = { kind = \"robust\" } }", "abr.kind`: found `robust`, allowed is *mpc*"),
        ("{ abr = { kind = \"mpc\", horizon = 7 } }", "abr.horizon`: found 7, allowed is 1 to 6 *"),
        (
            "{ abr = { kind = \"mpc\", horizon = 6 }, ladder = [\"1kbit/s\", \"2kbit/s\", \
             \"3kbit/s\", \"4kbit/s\", \"5kbit/s\", \"6kbit/s\", \"7kbit/s\"] }",
            "abr.horizon`: found 6, allowed is 1 to 5 with 7 bitrates *",
        ),
    ] {
        flow(dash).refused(&format!("my.toml:28:*: field `flow[1].dash.{message}"));
    }
}

#[test]
fn l4span_works_by_delivery_reports_in_sdap_alone() {
    let sdap =
        |more: &str| Trial::more(&format!("[sdap.queue]\naqm = {{ kind = \"l4span\"{more} }}"));
    let limit = "queue = { limit = \"100 packets\"";
    let rlc = Trial::change(limit, &format!("{limit}, aqm = {{ kind = \"l4span\" }}"));
    let upf = Trial::more("[upf.queue]\naqm = { kind = \"l4span\" }");
    sdap("").accepted();
    sdap(", preset = \"as-released\"").accepted();
    let place = "found l4span, allowed is l4span in sdap.queue only *";
    for (trial, message) in [
        (rlc, format!("rlc.queue.aqm.kind`: {place}")),
        (upf, format!("upf.queue.aqm.kind`: {place}")),
        (
            sdap(", target = \"0s\""),
            "sdap.queue.aqm.target`: found 0s, allowed is 100us to 10s*".into(),
        ),
        (sdap(", window = 0"), "sdap.queue.aqm.window`: found 0, allowed is 1 to 10000*".into()),
        (
            sdap(", threshold = \"0B\""),
            "sdap.queue.aqm.threshold`: found 0B, allowed is at least 1B*".into(),
        ),
        (
            sdap(", preset = \"linux\""),
            "sdap.queue.aqm.preset`: found `linux`, allowed is *as-released*".into(),
        ),
    ] {
        trial.refused(&format!("my.toml:*: field `{message}"));
    }
}

/// Faults that a proxy refuses, by label.
#[test]
fn each_refusal_of_a_proxy_is_one_message() {
    let more = |lines: &str| Trial::more(lines).with(&["--method", "RAPID"]);
    let flow = |from: &str, to: &str| Trial::change(from, to).with(&["--method", "RAPID"]);
    let proxied = |place: &str| {
        format!(
            "my.toml:{place}.proxied`: found true, allowed is false, or left out, but for a TCP \
             transfer to the UE (a proxy splits these alone); method RAPID"
        )
    };
    let report = |message: &str| format!("my.toml:31:1: field `proxy.{message} *");
    let udp = "udp = { payload = \"200B\", interval = \"20ms\" }";
    let tcp = |key: &str| flow("[flow.tcp]", &format!("proxied = true\n[flow.tcp]\n{key}"));
    for (label, trial, message) in [
        (
            "a period of 0",
            more("[proxy.report]\nperiod = \"0s\""),
            report("report.period`: found 0s, allowed is 10us to 60s"),
        ),
        (
            "a loss above 1",
            more("[proxy.report]\nloss = 1.5"),
            report("report.loss`: found 1.5, allowed is 0 to 1"),
        ),
        (
            "a buffer below one MSS",
            more("[proxy]\nbuffer = \"1447B\""),
            report("buffer`: found 1447B, allowed is at least one MSS, 1448B"),
        ),
        (
            "datagrams",
            flow(udp, &format!("proxied = true\n{udp}")),
            proxied("28:1: field `flow[1]"),
        ),
        ("pages", flow(udp, "proxied = true\npage = {}"), proxied("28:1: field `flow[1]")),
        ("adaptive video", flow(udp, "proxied = true\ndash = {}"), proxied("28:1: field `flow[1]")),
        ("an upload", tcp("direction = \"up\""), proxied("23:1: field `flow[0]")),
        ("QUIC", tcp("protocol = \"udp\""), proxied("23:1: field `flow[0]")),
    ] {
        println!("{label}");
        trial.refused(&message);
    }
}

/// Faults that the channel `umi` refuses, by label.
#[test]
fn each_refusal_of_a_street_is_one_message() {
    const NR: &str = "[mac]\nkind = \"rb\"\ncarrier = { kind = \"nr\", n_prb = 132 }";
    let street = |lines: &str, carrier: &str| {
        let channel = format!("kind = \"umi\"\n{lines}");
        let text = SOUND.replace("kind = \"constant\"\nper_slot = 4", &channel);
        Trial::new(format!("{text}\n{carrier}"))
    };
    for (label, trial, message) in [
        (
            "a building with no extent",
            street("buildings = [{ x = [20, 20], y = [3, 58], height = 28 }]", NR),
            "my.toml:7:16: field `channel.buildings[0].x`: found [20, 20], allowed is two \
             positions, the second greater *",
        ),
        (
            "a UE under ground",
            street("ue = [10, 0, -1.5]", NR),
            "my.toml:7:1: field `channel.ue`: found [10, 0, -1.5], allowed is a height of 1.5 to \
             22.5 *",
        ),
        (
            "no carrier",
            street("", ""),
            "my.toml:6:1: field `channel.kind`: found umi, allowed is another kind, or with \
             mac.kind rb *",
        ),
    ] {
        println!("{label}");
        trial.refused(message);
    }
}

/// Refused before any change to this machine.
#[test]
fn a_live_run_refuses_cells_without_reports_and_a_scenario_and_a_method_with_a_proxy() {
    let of = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
        let folder = tempfile::tempdir().expect("a folder can be made");
        let text = format!("{SOUND}\n[proxy]\ncontrol = \"equal_share\"");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("my.toml", &text).expect("the folder can be written");
        let cells = justfull_scenario::library::scenario("two-cells-live").expect("it is shipped");
        let cells = cells.replace("\"west\"", "\"far west\"");
        write("cells.toml", &cells).expect("the folder can be written");
        let done = command.arg("live").args(args).current_dir(&folder).output();
        let written = std::fs::read_dir(&folder).expect("it is there").count();
        assert_eq!(written, 2, "nothing but the scenarios");
        done.expect("the program starts")
    };
    refused(
        &of(&["my.toml"]),
        "my.toml: field `proxy.control` (method Vanilla): found equal_share, which needs a \
         proxy; allowed is a method without one, or `--proxy FILE`, *",
    );
    refused(
        &of(&["live-lte", "--method", "RAPID"]),
        "live-lte: field `proxy.control` (method RAPID): found rapid, which needs a proxy; \
         allowed is a method without one, *",
    );
    for option in ["--reports", "--rnis", "--proxy"] {
        // The cells are checked before the proxy's configuration is read.
        let value = if option == "--proxy" { "my.toml" } else { "8080" };
        if option != "--reports" {
            refused(
                &of(&["dual-connectivity", option, value]),
                "dual-connectivity: field `ue[0].secondary`: found set, allowed is none with a \
                 radio network information service or a proxy (they know a UE in one cell)",
            );
        }
        refused(
            &of(&["cells.toml", option, value]),
            "cells.toml: field `cell[0].name`: found far west, allowed is 1 to 64 visible ASCII \
             characters without quotes and backslashes (reports of the radio name their cell)",
        );
    }
}

#[test]
fn an_unknown_control_is_refused_with_the_known_ones_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    let done = command.args(["validate", "tahoe", "--out", "out"]).current_dir(&folder).output();
    let message = "control: found tahoe, allowed is one of new_reno, cubic, bbr, bbr3, vegas, \
                   westwood, yeah, fixed, prague, dctcp, ledbatpp, abc, scream, gcc, by-hand, all";
    refused(&done.expect("the program starts"), message);
    assert!(!folder.path().join("out").exists());
}

#[test]
fn an_unknown_kernel_is_refused_with_the_known_ones() {
    let sender = |kernel| {
        Trial::change("[flow.tcp]", &format!("[flow.tcp]\nsender = {{ kernel = {kernel} }}"))
    };
    sender("\"5.4\"").refused(
        "my.toml:24:12: field `flow[0].tcp.sender.kernel`: found `5.4`, allowed is one of `rfc`, \
         `4.15`, `5.3`, `5.18`, `6.18`; did you mean `5.3`?",
    );
    sender("\"4.15\"").accepted();
    sender("4.15").refused(
        "my.toml:24:12: field `flow[0].tcp.sender.kernel`: found floating point `4.15`, allowed is \
         text in quotes: one of `rfc`, `4.15`, `5.3`, `5.18`, `6.18`",
    );
}

#[test]
fn another_node_marks_only_by_reports_of_an_aqm_that_marks_l4s() {
    let limit = "queue = { limit = \"100 packets\"";
    let marked = |aqm: &str, marking: &str| {
        let (aqm, marking) =
            (format!("aqm = {{ kind = \"{aqm}\" }}"), format!("marking = {{ {marking} }}"));
        Trial::change(limit, &format!("{marking}\n{limit}, {aqm}"))
    };
    let reports = "place = \"upf\", report_period = \"10ms\", report_delay = \"5ms\"";
    marked("dualpi2", reports).accepted();
    marked("dualpi2", &reports.replace("upf", "cu")).accepted();
    let period = "rlc.marking.report_period`: found";
    for (trial, message) in [
        (
            marked("dualpi2", "place = \"upf\""),
            format!("{period} 0s, allowed is above 0s, at most 1s, with rlc.marking.place upf *"),
        ),
        (
            marked("dualpi2", "report_period = \"10ms\""),
            format!("{period} 10ms, allowed is 0s with rlc.marking.place du *"),
        ),
        (
            marked("dualpi2", &reports.replace("5ms", "2s")),
            "rlc.marking.report_delay`: found 2s, allowed is 0s to 1s with rlc.marking.place upf *"
                .into(),
        ),
        (
            marked("pie", reports),
            "rlc.queue.aqm.kind`: found pie, allowed is an AQM that marks L4S *".into(),
        ),
        (
            marked("dualpi2", "place = \"ran\""),
            "rlc.marking.place`: found `ran`, allowed is *upf*".into(),
        ),
    ] {
        trial.refused(&format!("my.toml:*: field `{message}"));
    }
}
