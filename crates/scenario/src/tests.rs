//! Tests of scenario files: the precedence of settings, omitted settings, and the origin of
//! mistakes.

use super::*;

mod drive;
mod mistakes;
mod proxy;
mod settings;
mod sweeps;
mod uplink;

/// A scenario in which every kind of setting changes `mtu`.
const LAYERS: &str = r#"
title = "layers"
duration = "1s"
mtu = 1000
methods = ["m"]
channel = { kind = "constant", per_slot = 4 }
sweep = { path = "mtu", values = [1004, 1014], label = "mtu" }
[[flow]]
name = "bulk"
tcp = { sender = { mss = 500 } }
[variants.v]
mtu = 1001
[[method]]
name = "m"
set = { mtu = 1002 }
[method.variants.v]
mtu = 1003
[switches.s]
mtu = 1005
[switches.t]
mtu = 1006
"#;

fn parse(text: &str, overrides: Overrides) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, FilePath::new("test.toml"), None, overrides)
}

fn examine(text: &str, overrides: Overrides) -> Result<Scenario, Vec<ScenarioError>> {
    Scenario::examine(text, FilePath::new("test.toml"), None, overrides)
}

fn set(settings: &[&str]) -> Overrides {
    let set = settings.iter().map(|text| text.parse().expect("a setting")).collect();
    Overrides { set, ..Overrides::default() }
}

fn variant(name: &str) -> Option<String> {
    Some(name.into())
}

/// The MTU of the first run.
fn mtu(text: &str, overrides: Overrides) -> u32 {
    let scenario = parse(text, overrides).expect("a sound scenario");
    scenario.world(&scenario.jobs()[0]).expect("a sound scenario").stack.mtu
}

#[test]
fn a_resolved_scenario_reads_back_to_the_same_world() {
    for (name, text) in library::SCENARIOS {
        let scenario = parse(text, Overrides::default()).expect("a shipped scenario is sound");
        for method in scenario.methods() {
            let resolved = scenario.resolved_toml(Some(method)).expect("it can be written");
            // The text already contains the method's settings; under Vanilla there are no others.
            let text =
                resolved.replace(&format!("methods = [\"{method}\"]"), "methods = [\"Vanilla\"]");
            let again = parse(&text, Overrides::default())
                .unwrap_or_else(|e| panic!("{name}, {method}: {e}\n{text}"));
            let job = |method: &str| Job { method: method.into(), point: 0, seed: 1 };
            let (mut a, b) = (
                scenario.world(&job(method)).expect("sound"),
                again.world(&job("Vanilla")).expect("sound"),
            );
            (a.scenario, a.method) = (b.scenario.clone(), b.method.clone());
            assert_eq!(a, b, "{name}, {method}");
        }
    }
}

#[test]
fn two_methods_of_a_file_cannot_share_a_name_but_one_may_replace_a_shipped_one() {
    let twice = format!("{LAYERS}[[method]]\nname = \"M\"\n");
    let error = parse(&twice, Overrides::default()).expect_err("two methods called m");
    assert_eq!((error.field.as_str(), error.found.as_str()), ("method[1].name", "M"));
    let own = LAYERS.replace("\"m\"", "\"drql\"");
    let scenario = parse(&own, Overrides::default()).expect("a sound scenario");
    let limiter = scenario.world(&scenario.jobs()[0]).expect("sound").stack.rlc.limiter;
    assert_eq!(
        limiter,
        justfull_ran::RlcConfig::default().limiter,
        "the file's own method, not the shipped one"
    );
}

#[test]
fn no_two_flows_of_a_ue_share_a_port_however_many_an_entry_has() {
    let flows = |counts: &[u32]| {
        let entries = counts.iter().enumerate().map(|(i, count)| {
            format!("[[flow]]\nname = \"f{i}\"\ncount = {count}\nudp = {{ payload = \"100B\", interval = \"1s\" }}\n")
        });
        let head = "title = \"ports\"\nduration = \"1s\"\nmethods = [\"Vanilla\"]\n";
        let text = format!(
            "{head}channel = {{ kind = \"constant\", per_slot = 4 }}\n{}",
            entries.collect::<String>()
        );
        parse(&text, Overrides::default())
    };
    let ports = |counts: &[u32]| -> Vec<u16> {
        let scenario = flows(counts).expect("a sound scenario");
        let world = scenario.world(&scenario.jobs()[0]).expect("a sound scenario");
        world.flows.iter().map(|flow| flow.tuple.destination_port).collect()
    };
    assert_eq!(ports(&[1, 2, 1]), [10_000, 10_997, 10_998, 11_994], "entries stand apart");
    for counts in [&[998, 1, 1][..], &[2000, 3, 1], &[1; 80]] {
        let mut found = ports(counts);
        found.sort_unstable();
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
    }
    let error = flows(&[65_000, 600]).map(|_| ()).expect_err("ports are used up").to_string();
    assert!(
        error.contains("found 65600 with the other flows, allowed is at most 65536"),
        "{error}"
    );
}

#[test]
fn variants_and_switches_are_checked_before_they_are_used() {
    let alone = LAYERS.replace("sweep = {", "#");
    let check = |text: &str| examine(text, Overrides::default()).map(|_| ());
    assert!(check(&alone).is_ok());
    for (right, wrong, message) in [
        ("[variants.v]\nmtu", "[variants.v]\nmtx", "mtx"),
        ("[switches.t]\nmtu", "[switches.t]\nmtx", "mtx"),
        ("mtu = 1006", "mtu = 60", "MTU"),
    ] {
        let error = check(&alone.replace(right, wrong)).expect_err("wrong")[0].to_string();
        assert!(error.contains(message), "{error}");
    }
    let of_one_variant =
        alone.replace("[variants.v]\n", "[variants.v]\n\"rlc.limiter\" = { kind = \"drql\" }\n");
    assert!(
        check(&of_one_variant.replace("mtu = 1005", "\"rlc.limiter.kind\" = \"drql\"")).is_ok()
    );
}

#[test]
fn shipped_scenarios_that_read_no_trace_are_sound_under_their_variants_and_switches() {
    for name in [
        "cloud-gaming",
        "e19-one-qfi",
        "e19-two-qfis",
        "page-loads",
        "rrul-like",
        "several-ues",
        "voip-g711",
    ] {
        let found = examine(library::scenario(name).expect("it ships"), Overrides::default());
        assert!(found.is_ok(), "{name}: {}", found.expect_err("it is not sound")[0]);
    }
}

#[test]
fn a_rule_matches_codepoint_and_prefixes_and_flows_carry_a_codepoint() {
    let rules = r#"
ue = [{ qos_flow = [{ qfi = 1 }, { qfi = 9 }], rule = [
  { qfi = 1, dscp = 46, source = "192.0.2.0/24", destination = "10.0.0.0/8" },
] }]
[[flow]]"#;
    let marked =
        LAYERS.replace("[[flow]]", rules).replace("name = \"bulk\"", "name = \"bulk\"\ndscp = 46");
    let world = |text: &str| {
        let scenario = parse(text, Overrides::default())?;
        scenario.world(&scenario.jobs()[0])
    };
    let config = world(&marked).expect("a sound scenario");
    let flow = &config.flows[0];
    let detected = |tuple| justfull_ran::upf::detect(&config.stack.ues[0].rules, tuple, flow.dscp);
    assert_eq!(detected(&flow.tuple).map(justfull_base::Qfi::get), Some(1));
    let elsewhere = justfull_ran::FiveTuple { source: [0; 16], ..flow.tuple };
    assert_eq!(detected(&elsewhere).map(justfull_base::Qfi::get), Some(9));
    for (from, to, words) in [
        ("dscp = 46, source", "dscp = 64, source", "from 0 to 63"),
        ("192.0.2.0/24", "192.0.2.1/24", "bits after the prefix are set"),
        ("192.0.2.0/24", "servers", "2001:db8::/32"),
    ] {
        let error = world(&marked.replace(from, to)).expect_err("it is refused").to_string();
        assert!(error.contains("test.toml:") && error.contains(words), "{error}");
    }
}

/// A scenario under two methods, one of which has a limiter with settings.
const TWO: &str = r#"
title = "two"
duration = "2s"
methods = ["Vanilla", "DRQL", "Limit10"]
channel = "constant"
[sdap.poll]
period = "1ms"
[[flow]]
name = "bulk"
[flow.tcp]
sender = { mss = 500 }
"#;

fn two() -> String {
    TWO.replace("\"constant\"", "{ kind = \"constant\", per_slot = 4 }")
}

fn limiter(scenario: &Scenario, method: &str) -> String {
    let job = Job { method: method.into(), point: 0, seed: 1 };
    format!("{:?}", scenario.world(&job).expect("a sound scenario").stack.rlc.limiter)
}

#[test]
fn a_file_of_an_earlier_format_is_read_with_a_note() {
    let rest = "[core]\ndelay = \"10ms\"\n[uplink]\ndelay = \"10ms\"\n[[ue]]\n[[flow]]\nname = \"a\"\ntcp = {}";
    let channel = "[channel]\nkind = \"constant\"\nper_slot = 1250";
    let head = "title = \"t\"\nduration = \"1s\"\nmethods = [\"Vanilla\"]";
    let former = format!("{head}\n{channel}\nunit = \"bytes\"\n{rest}");
    let today = format!("{head}\n[mac]\nkind = \"bytes\"\n{channel}\n{rest}");
    let former = parse(&former, Overrides::default()).expect("read");
    let today = parse(&today, Overrides::default()).expect("read");
    let note = "channel.unit of an earlier format is read as mac.kind = \"bytes\"";
    assert_eq!(former.warnings().expect("no trace"), [note]);
    assert_eq!(former.resolved_toml(None), today.resolved_toml(None));
}

#[test]
fn examining_takes_settings_methods_and_a_variant() {
    let text = format!(
        "{}[variants.v]\n\"rlc.queue.limit\" = \"0 packets\"\n[variants.w]\nmtu = 1400\n",
        two()
    );
    let with = |overrides| examine(&text, overrides).map(|_| ()).map_err(|errors| errors.len());
    assert_eq!(with(Overrides::default()), Err(1));
    assert_eq!(with(Overrides { variant: variant("w"), ..Overrides::default() }), Ok(()));
    assert_eq!(with(Overrides { variant: variant("w"), ..set(&["mtu=70", "mtuu=1"]) }), Err(2));
    let methods = Some(vec!["Vanilla".to_string(), "nobody".into()]);
    assert_eq!(with(Overrides { variant: variant("w"), methods, ..Overrides::default() }), Err(1));
}

/// If the tree for a switch contained all others, 2000 switches would take quadratic time. The test
/// counts bytes of the tree, not time.
#[test]
fn the_tree_that_is_read_for_a_switch_has_no_other_switches() {
    let switches: String =
        (0..200).map(|i| format!("[switches.s{i}]\nmtu = {}\n", 1000 + i)).collect();
    let scenario = examine(&format!("{}{switches}", two()), Overrides::default()).expect("sound");
    assert_eq!(scenario.switches.len(), 200);
    assert!(!scenario.tree.contains_key("switches") && scenario.base.switches.is_empty());
    let error = parse(
        &format!("{}{switches}", two()),
        Overrides { switches: vec!["s1999".into()], ..Overrides::default() },
    );
    let error = error.map(|_| ()).expect_err("no such switch").to_string();
    assert!(error.contains("; did you mean s199") && error.matches("s1").count() <= 5, "{error}");
}

#[test]
fn a_method_is_compared_once() {
    let twice = parse(&two().replace("\"DRQL\"", "\"vanilla\""), Overrides::default()).map(|_| ());
    assert!(twice.expect_err("twice").to_string().contains("found vanilla twice"));
    let methods = Some(vec!["DRQL".to_string(), "DRQL".into()]);
    let twice = parse(&two(), Overrides { methods, ..Overrides::default() }).map(|_| ());
    assert_eq!(twice.expect_err("twice").field, "--method");
}

/// The notes on Prague over this RLC queue.
fn notes_on_prague(queue: &str) -> Vec<String> {
    let text = format!(
        "title = \"t\"\nduration = \"1s\"\nmethods = [\"Vanilla\"]\n[channel]\n\
         kind = \"constant\"\nper_slot = 1\n[rlc]\nqueue = {{ {queue} }}\n[[flow]]\nname = \"p\"\n\
         tcp = {{ sender = {{ cc = {{ kind = \"prague\" }} }} }}\n"
    );
    let scenario = parse(&text, Overrides::default()).expect("it is sound");
    scenario.warnings().expect("no trace")
}

#[test]
fn a_sender_of_ect1_without_an_l4s_aqm_is_warned_of_before_the_run() {
    let fate = |queue: &str| {
        let notes = notes_on_prague(queue);
        let [note] = &notes[..] else { panic!("{notes:?}") };
        assert!(note.starts_with("flow.p sends ECT(1), but no queue has an L4S AQM"), "{note}");
        note.rsplit_once(": ").map(|(_, fate)| fate.to_owned()).unwrap_or_default()
    };
    assert!(fate("").starts_with("it fills the queue"));
    assert!(fate("aqm = { kind = \"codel\" }").starts_with("the AQM drops its packets"));
    let classic = fate("aqm = { kind = \"codel\" }, ect1 = \"classic\"");
    assert!(classic.contains("it starves classic flows"), "{classic}");
    for l4s in [
        "aqm = { kind = \"dualpi2\" }",
        "aqm = { kind = \"codel\", l4s_threshold = \"5ms\" }",
        "discipline = { kind = \"fq_codel\", l4s_threshold = \"5ms\" }",
    ] {
        assert_eq!(notes_on_prague(l4s), [""; 0], "{l4s}");
    }
}

#[test]
fn abc_at_one_end_alone_is_warned_of_before_the_run() {
    let notes = |aqm: &str, cc: &str| {
        let text = format!(
            "title = \"t\"\nduration = \"1s\"\nmethods = [\"Vanilla\"]\n[channel]\n\
             kind = \"constant\"\nper_slot = 1\n[rlc]\nqueue = {{ aqm = {{ kind = \"{aqm}\" }} }}\n\
             [[flow]]\nname = \"p\"\ntcp = {{ sender = {{ cc = {{ kind = \"{cc}\" }} }} }}\n"
        );
        let scenario = parse(&text, Overrides::default()).expect("it is sound");
        scenario.warnings().expect("no trace")
    };
    let [router] = &notes("abc", "cubic")[..] else { panic!("one note") };
    assert!(router.starts_with("flow.p is not under the control abc"), "{router}");
    let [sender] = &notes("none", "abc")[..] else { panic!("one note") };
    assert!(sender.ends_with("each packet accelerates until packets are lost"), "{sender}");
    assert_eq!([notes("abc", "abc"), notes("none", "cubic")], [[""; 0]; 2]);
}

/// Transport blocks of 25 LTE resource blocks at MCS 0 have 85 B (TS 36.213 Table 7.1.7.2.1-1: 680
/// bits), of which the headers of MAC and PDCP leave 80 B.
#[test]
fn transparent_mode_over_blocks_below_a_packet_is_warned_of_before_the_run() {
    let notes = |mode: &str, mcs: &str, flow: &str| {
        let text = format!(
            "title = \"t\"\nduration = \"1s\"\nmethods = [\"Vanilla\"]\n[mac]\nkind = \"rb\"\n\
             [rlc]\nmode = {{ kind = \"{mode}\" }}\n[channel]\nkind = \"mcs\"\nmcs = [{mcs}]\n\
             [[flow]]\nname = \"f\"\n{flow}\n"
        );
        let scenario = parse(&text, Overrides::default()).expect("it is sound");
        (scenario.warnings().expect("no trace"), scenario)
    };
    let datagram =
        |payload: u32| format!("udp = {{ payload = \"{payload}B\", interval = \"10ms\" }}");
    let (found, _) = notes("tm", "0, 0", "tcp = {}");
    let [note] = &found[..] else { panic!("{found:?}") };
    for part in ["rlc.mode is `tm`", "holds one of 80 B", "flow.f, ", "up to 1500 B", "`um`"] {
        assert!(note.contains(part), "{part}: {note}");
    }
    let small = datagram(52);
    for (mode, mcs, flow) in
        [("um", "0", "tcp = {}"), ("tm", "0, 28", "tcp = {}"), ("tm", "0", &small)]
    {
        assert_eq!(notes(mode, mcs, flow).0, [""; 0], "{mode} {mcs} {flow}");
    }
    // The note is right: a byte more, and nothing arrives.
    for (payload, arrives) in [(52, true), (53, false)] {
        let (found, scenario) = notes("tm", "0", &datagram(payload));
        let job = &scenario.jobs()[0];
        let run = scenario.simulated(job, None, 1, &mut ()).expect("it is sound");
        let run = run.expect("it ends");
        assert_eq!((run.flows[0].delivered_packets > 0, found.is_empty()), (arrives, arrives));
    }
}

/// Scenarios that compare methods on a flow of L4S, the flow, and the number of their notes.
const L4S: [(&str, &str, usize); 3] =
    [("l4s-cell", "prague", 3), ("l4span-cell", "prague", 1), ("video-calls", "scream", 2)];

#[test]
fn a_call_under_scream_is_warned_of_as_well_unless_it_has_no_l4s() {
    let notes = |control: &str, queue: &str| {
        let text = format!(
            "title = \"t\"\nduration = \"1s\"\nmethods = [\"Vanilla\"]\n[channel]\n\
             kind = \"constant\"\nper_slot = 1\n[rlc]\nqueue = {{ {queue} }}\n[[flow]]\n\
             name = \"c\"\nvideo_call = {{ control = {{ {control} }} }}\n"
        );
        let scenario = parse(&text, Overrides::default()).expect("it is sound");
        scenario.warnings().expect("no trace")
    };
    let scream = "kind = \"scream\"";
    let [note] = &notes(scream, "")[..] else { panic!("one note") };
    assert!(note.ends_with("its own delay target alone limits the queue"), "{note}");
    for (control, queue) in [
        ("kind = \"gcc\"", ""),
        ("kind = \"scream\", ecn = \"off\"", ""),
        (scream, "aqm = { kind = \"dualpi2\" }"),
    ] {
        assert_eq!(notes(control, queue), [""; 0], "{control} {queue}");
    }
}

#[test]
fn shipped_scenarios_have_no_setting_without_effect() {
    for (name, text) in library::SCENARIOS {
        let scenario = parse(text, Overrides::default()).expect("a shipped scenario is sound");
        // Only a live run makes its session over SSH.
        if *name == "r22-live-short-flow" {
            let [note] = &scenario.notes[..] else { panic!("{:?}", scenario.notes) };
            assert!(note.contains("`ssh` in live runs only"), "{note}");
        } else if let Some((_, sender, notes)) = L4S.iter().find(|(l4s, ..)| l4s == name) {
            // Four of their methods show a sender of L4S without an AQM for it.
            let said = format!("{sender} sends ECT(1)");
            let said = scenario.notes.iter().filter(|note| note.contains(&said)).count();
            assert_eq!((scenario.notes.len(), said), (*notes, *notes), "{:?}", scenario.notes);
        } else {
            assert_eq!(scenario.notes, [""; 0], "{name}");
        }
    }
}
