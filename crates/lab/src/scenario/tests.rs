//! Tests of scenario files: which setting wins, which is left out, and whose a mistake is.

use super::*;

/// Every kind of setting has a say about `mtu`.
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

fn variant(name: &str) -> Option<String> {
    Some(name.into())
}

/// The MTU of the first run.
fn mtu(text: &str, overrides: Overrides) -> u32 {
    let scenario = parse(text, overrides).expect("a sound scenario");
    scenario.world(&scenario.jobs()[0]).expect("a sound scenario").stack.mtu
}

#[test]
fn settings_apply_in_the_order_file_variant_method_its_variant_sweep_switches_user() {
    let no_sweep = LAYERS.replace("sweep = {", "#");
    let no_own_variant = no_sweep.replace("[method.variants.v]\nmtu = 1003\n", "");
    let no_method = no_own_variant.replace("set = { mtu = 1002 }", "");
    let user: Vec<Setting> = ["mtu=1007", "mtu=1008"].iter().map(|s| s.parse().expect("a setting")).collect();
    let with = |switches: &[&str], set: &[Setting]| Overrides {
        variant: variant("v"),
        switches: switches.iter().map(ToString::to_string).collect(),
        set: set.to_vec(),
        ..Overrides::default()
    };
    assert_eq!(mtu(&no_method, Overrides::default()), 1000);
    assert_eq!(mtu(&no_method, with(&[], &[])), 1001);
    assert_eq!(mtu(&no_own_variant, with(&[], &[])), 1002);
    assert_eq!(mtu(&no_sweep, with(&[], &[])), 1003);
    assert_eq!(mtu(LAYERS, with(&[], &[])), 1004);
    assert_eq!(mtu(LAYERS, with(&["t", "s"], &[])), 1005, "the last switch wins");
    assert_eq!(mtu(LAYERS, with(&["t", "s"], &user)), 1008, "the user's last setting wins");
}

#[test]
fn settings_of_the_base_come_before_all_others_as_if_the_file_said_so() {
    let base = vec![Setting::new("mtu", Value::Integer(900)).expect("a setting")];
    let no_method = LAYERS.replace("sweep = {", "#").replace("set = { mtu = 1002 }", "");
    assert_eq!(mtu(&no_method, Overrides { base: base.clone(), ..Overrides::default() }), 900);
    assert_eq!(mtu(&no_method, Overrides { base, variant: variant("v"), ..Overrides::default() }), 1003);
}

#[test]
fn a_setting_with_a_question_mark_applies_only_where_a_value_stands() {
    let limiter = |text: &str, path: &str| {
        let set = vec![format!("{path}=7").parse().expect("a setting")];
        let scenario = parse(text, Overrides { set, ..Overrides::default() });
        scenario.map(|s| s.resolved_toml(Some("m")).expect("a sound scenario"))
    };
    let limited = format!(
        "{}\n[rlc]\nlimiter = {{ kind = \"bdp_5g\", floor = 1 }}\n[sdap.poll]\nperiod = \"1ms\"",
        LAYERS
    );
    let with = limiter(&limited, "?rlc.limiter.floor").expect("the floor is there");
    assert!(with.contains("floor = 7"), "{with}");
    let without = limiter(LAYERS, "?rlc.limiter.floor").expect("nothing is set");
    assert!(!without.contains("floor"), "{without}");
    let error = limiter(LAYERS, "rlc.limiter.floor").expect_err("a limiter without a kind");
    assert_eq!((error.field.as_str(), error.set_by.as_str()), ("rlc.limiter.kind", "--set"));
}

#[test]
fn a_setting_reads_toml_values_and_takes_everything_else_as_text() {
    let value = |text: &str| text.parse::<Setting>().map(|s| s.value);
    assert_eq!(value("a.b = 5"), Ok(Value::Integer(5)));
    assert_eq!(value("a=true"), Ok(Value::Boolean(true)));
    assert_eq!(value("a=31 packets"), Ok(Value::String("31 packets".into())));
    assert_eq!(value("a=\"x=y\""), Ok(Value::String("x=y".into())));
    assert!(matches!(value("a={ kind = \"sfq\" }"), Ok(Value::Table(t)) if t.contains_key("kind")));
    assert_eq!(value("a"), Err("found `a`, allowed is path=value".into()));
    assert_eq!(value("a..b=1"), Err("found `a..b`, allowed is a dotted path".into()));
    assert_eq!("?a.b".parse::<Path>().map(|p| p.keys().len()), Ok(2));
    assert!(
        Setting::new("?a.b", Value::Integer(1)).is_ok_and(|s| s.if_present && s.path.to_string() == "a.b")
    );
}

#[test]
fn elements_of_arrays_are_found_by_name_and_by_index() {
    let by = |path: &str| {
        let set = vec![format!("{path}.low_latency=true").parse().expect("a setting")];
        let scenario = parse(LAYERS, Overrides { set, ..Overrides::default() })?;
        Ok::<bool, ScenarioError>(scenario.base.flow[0].low_latency)
    };
    assert_eq!(by("flow.bulk"), Ok(true));
    assert_eq!(by("flow.0"), Ok(true));
    assert_eq!(by("flow[0]"), Ok(true));
    assert_eq!(by("flow.1").map_err(|e| e.field), Err("flow[1].low_latency".into()));
}

#[test]
fn a_swept_value_is_a_number_in_the_unit_of_its_label() {
    let number = |text: &str, label: &str| sweep_number(&Value::String(text.into()), label);
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(close(number("70ms", "interval_ms"), 70.0));
    assert!(close(number("70ms", "interval_us"), 70_000.0));
    assert!(close(number("70ms", "interval_s"), 0.07));
    assert!(close(number("20kB", "limit_kB"), 20.0));
    assert!(close(number("20kB", "limit_B"), 20_000.0));
    assert!(close(number("20MB", "limit_MB"), 20.0));
    assert!(close(number("2Mbit/s", "rate_mbit_s"), 2.0));
    assert!(close(number("31 packets", "limit"), 31.0));
    assert!(close(sweep_number(&Value::Integer(4), "n"), 4.0));
    assert!(close(sweep_number(&Value::Float(0.5), "share"), 0.5));
    assert!(number("cubic", "cc").is_nan() && sweep_number(&Value::Boolean(true), "on").is_nan());
}

#[test]
fn jobs_stand_in_the_order_of_points_methods_and_seeds() {
    let overrides = Overrides {
        methods: Some(vec!["m".into(), "Vanilla".into()]),
        seed: Some(7),
        runs: Some(2),
        ..Overrides::default()
    };
    let scenario = parse(LAYERS, overrides).expect("a sound scenario");
    let jobs: Vec<_> = scenario.jobs().into_iter().map(|j| (j.point, j.method, j.seed)).collect();
    let (m, vanilla) = ("m".to_string(), "Vanilla".to_string());
    assert_eq!(jobs.len(), 8);
    assert_eq!(
        jobs[..5],
        [(0, m.clone(), 7), (0, m.clone(), 8), (0, vanilla.clone(), 7), (0, vanilla, 8), (1, m, 7),]
    );
    assert_eq!(scenario.x(1), Some(("mtu".into(), 1014.0)));
}

#[test]
fn a_resolved_scenario_reads_back_to_the_same_world() {
    for (name, text) in crate::library::SCENARIOS {
        let scenario = parse(text, Overrides::default()).expect("a shipped scenario is sound");
        for method in scenario.methods() {
            let resolved = scenario.resolved_toml(Some(method)).expect("it can be written");
            // What the method set is in the text already; under Vanilla nothing more is.
            let text = resolved.replace(&format!("methods = [\"{method}\"]"), "methods = [\"Vanilla\"]");
            let again = parse(&text, Overrides::default())
                .unwrap_or_else(|e| panic!("{name}, {method}: {e}\n{text}"));
            let job = |method: &str| Job { method: method.into(), point: 0, seed: 1 };
            let (mut a, b) =
                (scenario.world(&job(method)).expect("sound"), again.world(&job("Vanilla")).expect("sound"));
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
fn the_first_of_two_equal_mistakes_is_named() {
    let twice = LAYERS.replace("name = \"bulk\"", "name = \"bulk\"\nstart = 5\nstop = 5");
    let error = parse(&twice, Overrides::default()).expect_err("bare numbers");
    assert_eq!((error.field.as_str(), error.at), ("flow[0].start", Some((10, 1))));
}

#[test]
fn a_scenario_that_lacks_only_its_data_says_so() {
    let traced = LAYERS
        .replace("{ kind = \"constant\", per_slot = 4 }", "{ kind = \"trace\", file = \"absent.csv\" }");
    let error = parse(&traced, Overrides::default()).expect_err("no such trace");
    assert!(error.needs_data && error.field == "channel.file" && error.at.is_some(), "{error}");
    let elsewhere =
        Scenario::parse(&traced, FilePath::new("test.toml"), Some("/nowhere".into()), Overrides::default());
    assert!(elsewhere.is_err_and(|e| !e.needs_data));
}

/// Every path that `leaves` names can be read, set, and taken out, and nothing else changes.
#[test]
fn every_leaf_of_a_tree_can_be_got_set_and_removed() {
    for (name, text) in crate::library::SCENARIOS {
        let original: Table = text.parse().expect("a shipped scenario is TOML");
        let leaves = tree::leaves(&original);
        assert!(leaves.len() > 20, "{name}");
        for keys in &leaves {
            let mut changed = original.clone();
            let value = tree::get(&original, keys).expect("a leaf is there").clone();
            assert_eq!(&tree::indexed(&original, keys), keys);
            let plain = keys.iter().all(|k| !k.contains('.'));
            if plain {
                let path: Path = keys.join(".").parse().expect("a path");
                assert_eq!(path.keys(), keys, "{name}: {path}");
                let set = |value: Value| Setting { path: path.clone(), if_present: true, value };
                set(Value::Boolean(true)).apply(&mut changed).expect("the leaf is there");
                assert_eq!(tree::get(&changed, keys), Some(&Value::Boolean(true)), "{name}: {path}");
                set(value).apply(&mut changed).expect("the leaf is there");
                assert_eq!(changed, original, "{name}: {path}");
            }
            assert!(tree::remove(&mut changed, keys), "{name}: {keys:?}");
            assert_eq!(
                tree::leaves(&changed).iter().filter(|k| leaves.contains(k)).count(),
                leaves.len() - 1
            );
            assert!(!tree::remove(&mut changed, keys), "{name}: {keys:?} twice");
        }
    }
}

#[test]
fn a_path_reads_what_an_error_writes() {
    let path: Path = "ue[0].qos_flow[1].qfi".parse().expect("a path");
    assert_eq!(path.keys(), ["ue", "0", "qos_flow", "1", "qfi"]);
    assert!("a..b".parse::<Path>().is_err());
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
    assert!(error.contains("found 65600 with the other flows, allowed is at most 65536"), "{error}");
}

#[test]
fn variants_and_switches_are_checked_before_they_are_used() {
    let alone = LAYERS.replace("sweep = {", "#");
    let check =
        |text: &str| parse(text, Overrides::default()).expect("sound as it stands").check_alternatives();
    assert!(check(&alone).is_ok());
    for (right, wrong, told) in [
        ("[variants.v]\nmtu", "[variants.v]\nmtx", "mtx"),
        ("[switches.t]\nmtu", "[switches.t]\nmtx", "mtx"),
        ("mtu = 1006", "mtu = 60", "MTU"),
    ] {
        let error = check(&alone.replace(right, wrong)).expect_err("wrong").to_string();
        assert!(error.contains(told), "{error}");
    }
    let of_one_variant =
        alone.replace("[variants.v]\n", "[variants.v]\n\"rlc.limiter\" = { kind = \"drql\" }\n");
    assert!(check(&of_one_variant.replace("mtu = 1005", "\"rlc.limiter.kind\" = \"drql\"")).is_ok());
}

#[test]
fn shipped_scenarios_that_read_no_trace_are_sound_under_their_variants_and_switches() {
    for name in
        ["cloud-gaming", "e19-one-qfi", "e19-two-qfis", "page-loads", "rrul-like", "several-ues", "voip-g711"]
    {
        let scenario = parse(crate::library::scenario(name).expect("it ships"), Overrides::default());
        let sound = scenario.and_then(|scenario| scenario.check_alternatives());
        assert!(sound.is_ok(), "{name}: {}", sound.expect_err("it is not sound"));
    }
}

/// Pages of things that have no kind of their own in a scenario: their settings are its keys.
#[test]
fn the_pages_of_traffic_and_uplink_name_the_keys_of_a_scenario() {
    use super::file::{Direction, TcpFile, UdpFile, UplinkFile};
    use justfull_base::{BitRate, Bytes, Duration};
    use justfull_sim::traffic::{self, CbrConfig, OnOffConfig, Span, VideoConfig, VoipConfig};
    use justfull_sim::{GrantConfig, Interval, PingConfig, uplink};

    fn keys<C: serde::Serialize>(config: &C) -> Vec<String> {
        let table = Table::try_from(config).expect("a configuration is a table");
        let mut keys: Vec<String> = table.keys().cloned().collect();
        keys.sort_unstable();
        keys
    }
    let ms = Duration::from_millis(20);
    let (rate, payload, interval, span) =
        (BitRate(1_000_000), Bytes(100), Interval::Constant(ms), Span::Constant(ms));
    let tcp = TcpFile { direction: Direction::Up, size: Some(payload), ..TcpFile::default() };
    let voip = VoipConfig { talk: Some(span), silence: Some(span), ..VoipConfig::default() };
    let grants = GrantConfig { sr_offset: Some(ms), ..GrantConfig::default() };
    let all = [
        ("tcp", keys(&tcp)),
        ("udp", keys(&UdpFile { payload, interval })),
        ("ping", keys(&PingConfig { payload, interval })),
        ("cbr", keys(&CbrConfig { rate, payload })),
        ("on_off", keys(&OnOffConfig { rate, payload, on: span, off: span })),
        ("voip", keys(&voip)),
        ("video", keys(&VideoConfig::default())),
        ("page", keys(&traffic::PageConfig::default())),
        ("uplink", keys(&UplinkFile { grants: Some(grants.clone()), ..UplinkFile::default() })),
        ("grants", keys(&grants)),
    ];
    let docs: Vec<_> = traffic::DOCS.iter().chain(uplink::DOCS).collect();
    assert_eq!(docs.len(), all.len(), "a page for each");
    for (name, keys) in all {
        let doc = docs.iter().find(|doc| doc.name == name).unwrap_or_else(|| panic!("{name}"));
        let mut documented: Vec<&str> = doc.params.iter().map(|p| p.name).collect();
        documented.sort_unstable();
        assert_eq!(documented, keys, "{name}");
    }
}

#[test]
fn the_pages_of_traffic_and_uplink_state_the_defaults() {
    use super::file::UplinkFile;
    use justfull_sim::GrantConfig;
    use justfull_sim::traffic::{self, VideoConfig, VoipConfig};

    let table = |config: Result<Table, _>| config.expect("a configuration is a table");
    let all = [
        ("voip", table(Table::try_from(VoipConfig::default()))),
        ("video", table(Table::try_from(VideoConfig::default()))),
        ("uplink", table(Table::try_from(UplinkFile::default()))),
        ("grants", table(Table::try_from(GrantConfig::default()))),
    ];
    for (name, defaults) in all {
        let docs = traffic::DOCS.iter().chain(justfull_sim::uplink::DOCS);
        let doc = docs.into_iter().find(|doc| doc.name == name).unwrap_or_else(|| panic!("{name}"));
        for param in doc.params {
            let default = defaults
                .get(param.name)
                .map_or_else(|| "none".into(), |v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
            assert_eq!(param.default, default, "{name}.{}", param.name);
        }
    }
}

#[test]
fn a_rule_asks_for_codepoint_and_prefixes_and_flows_carry_a_codepoint() {
    let rules = r#"
ue = [{ qos_flow = [{ qfi = 1 }, { qfi = 9 }], rule = [
  { qfi = 1, dscp = 46, source = "192.0.2.0/24", destination = "10.0.0.0/8" },
] }]
[[flow]]"#;
    let marked = LAYERS.replace("[[flow]]", rules).replace("name = \"bulk\"", "name = \"bulk\"\ndscp = 46");
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
