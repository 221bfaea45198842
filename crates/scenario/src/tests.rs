//! Tests of scenario files: the precedence of settings, omitted settings, and the origin of
//! mistakes.

use super::*;

mod drive;
mod proxy;
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
fn settings_apply_in_the_order_file_variant_method_its_variant_sweep_switches_user() {
    let no_sweep = LAYERS.replace("sweep = {", "#");
    let no_own_variant = no_sweep.replace("[method.variants.v]\nmtu = 1003\n", "");
    let no_method = no_own_variant.replace("set = { mtu = 1002 }", "");
    let user: Vec<Setting> =
        ["mtu=1007", "mtu=1008"].iter().map(|s| s.parse().expect("a setting")).collect();
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
    assert_eq!(
        mtu(&no_method, Overrides { base, variant: variant("v"), ..Overrides::default() }),
        1003
    );
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
    assert_eq!((error.field.as_str(), error.set_by.as_str()), ("rlc.limiter.floor", "--set"));
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
        Setting::new("?a.b", Value::Integer(1))
            .is_ok_and(|s| s.if_present && s.path.to_string() == "a.b")
    );
}

#[test]
fn a_number_is_the_text_as_it_is_written_where_a_setting_takes_only_text() {
    let value = |text: &str| text.parse::<Setting>().map(|s| s.value);
    for path in ["flow.bulk.tcp.sender.kernel", "?flow[0].tcp.receiver.kernel", "title"] {
        assert_eq!(value(&format!("{path} = 4.10 ")), Ok(Value::String("4.10".into())), "{path}");
    }
    assert_eq!(value("title=2024-01-02"), Ok(Value::String("2024-01-02".into())));
    assert_eq!(value("title=\"5\""), Ok(Value::String("5".into())));
    // A setting that also takes numbers, and a setting that needs a unit.
    assert_eq!(value("mtu=1500"), Ok(Value::Integer(1500)));
    assert_eq!(value("duration=5"), Ok(Value::Integer(5)));

    let kernel = |value: &str| {
        let set = vec![format!("flow.bulk.tcp.sender.kernel={value}").parse().expect("a setting")];
        let scenario = parse(LAYERS, Overrides { set, ..Overrides::default() })?;
        scenario.resolved_toml(None)
    };
    let text = kernel("4.15").expect("it is a kernel");
    assert!(text.contains("kernel = \"4.15\""), "{text}");
    for wrong in ["4.16", "4", "true", "nan"] {
        let error = kernel(wrong).expect_err("no such kernel");
        assert_eq!(error.set_by, "--set");
        assert_eq!(error.found, format!("`{wrong}`"));
        assert!(
            error.allowed.starts_with("one of `rfc`, `4.15`, `5.3`, `5.18`, `6.18`"),
            "{error}"
        );
    }
}

#[test]
fn what_no_method_has_is_refused_unless_they_are_only_some_of_those_compared() {
    let with = |some_methods| {
        let set = vec!["rlc.limiter.max=2".parse().expect("a setting")];
        let methods = Some(vec!["Vanilla".to_string()]);
        parse(LAYERS, Overrides { set, methods, some_methods, ..Overrides::default() })
    };
    let error = with(false).map(drop).expect_err("no limiter has it");
    assert_eq!(error.found, "no such setting");
    let notes = with(true).expect("another may have it").warnings().expect("no trace");
    assert!(notes[0].contains("rlc.limiter.max does not apply to Vanilla"), "{notes:?}");
    let wrong = Overrides {
        set: vec!["mtu=many".parse().expect("a setting")],
        some_methods: true,
        ..Overrides::default()
    };
    assert!(parse(LAYERS, wrong).is_err(), "what is there is checked");
}

#[test]
fn a_number_in_a_file_where_a_name_is_expected_is_told_with_the_names() {
    let told = |value: &str| {
        let sender = format!("[[flow]]\nname = \"f\"\ntcp.sender.kernel = {value}\n");
        let error = parse(&format!("{LAYERS}\n{sender}"), Overrides::default()).map(drop);
        let error = error.expect_err("no name");
        assert!(error.field.ends_with("tcp.sender.kernel"), "{error}");
        assert_eq!(error.allowed, "text in quotes: one of `rfc`, `4.15`, `5.3`, `5.18`, `6.18`");
        error.found
    };
    assert_eq!(told("4.15"), "floating point `4.15`");
    assert_eq!(told("5"), "integer `5`");
    assert_eq!(told("true"), "boolean `true`");
    assert_eq!(told("[1]"), "a list");
    assert_eq!(told("{}"), "a table");
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
    let exact =
        [number("100kB", "limit_MB"), number("70ms", "wait_s"), number("64kbit/s", "r_kbit")];
    assert_eq!(exact.map(f64::to_bits), [0.1_f64, 0.07, 64.0].map(f64::to_bits));
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
fn the_first_of_two_equal_mistakes_is_named() {
    let twice = LAYERS.replace("name = \"bulk\"", "name = \"bulk\"\nstart = 5\nstop = 5");
    let error = parse(&twice, Overrides::default()).expect_err("bare numbers");
    assert_eq!((error.field.as_str(), error.at), ("flow[0].start", Some((10, 1))));
}

#[test]
fn a_scenario_that_lacks_only_its_data_says_so() {
    let traced = LAYERS.replace(
        "{ kind = \"constant\", per_slot = 4 }",
        "{ kind = \"trace\", file = \"absent.csv\" }",
    );
    let error = parse(&traced, Overrides::default()).expect_err("no such trace");
    assert!(error.needs_data && error.field == "channel.file" && error.at.is_some(), "{error}");
    let elsewhere = Scenario::parse(
        &traced,
        FilePath::new("test.toml"),
        Some("/nowhere".into()),
        Overrides::default(),
    );
    assert!(elsewhere.is_err_and(|e| !e.needs_data));
}

/// Every path from `leaves` can be read, set, and removed, and nothing else changes.
#[test]
fn every_leaf_of_a_tree_can_be_got_set_and_removed() {
    for (name, text) in library::SCENARIOS {
        let original: Table = text.parse().expect("a shipped scenario is TOML");
        let before = leaves(&original);
        assert!(before.len() > 20, "{name}");
        for keys in &before {
            let mut changed = original.clone();
            let value = tree::get(&original, keys).expect("a leaf is there").clone();
            assert_eq!(&tree::indexed(&original, keys), keys);
            let plain = keys.iter().all(|k| !k.contains('.'));
            if plain {
                let path: Path = keys.join(".").parse().expect("a path");
                assert_eq!(path.keys(), keys, "{name}: {path}");
                let set = |value: Value| Setting { path: path.clone(), if_present: true, value };
                set(Value::Boolean(true)).apply(&mut changed).expect("the leaf is there");
                assert_eq!(
                    tree::get(&changed, keys),
                    Some(&Value::Boolean(true)),
                    "{name}: {path}"
                );
                set(value).apply(&mut changed).expect("the leaf is there");
                assert_eq!(changed, original, "{name}: {path}");
            }
            assert!(tree::remove(&mut changed, keys), "{name}: {keys:?}");
            assert_eq!(
                leaves(&changed).iter().filter(|k| before.contains(k)).count(),
                before.len() - 1
            );
            // The element after a removed element takes its index.
            let element = keys.last().is_some_and(|key| key.parse::<usize>().is_ok());
            assert!(element || !tree::remove(&mut changed, keys), "{name}: {keys:?} twice");
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
    for (right, wrong, told) in [
        ("[variants.v]\nmtu", "[variants.v]\nmtx", "mtx"),
        ("[switches.t]\nmtu", "[switches.t]\nmtx", "mtx"),
        ("mtu = 1006", "mtu = 60", "MTU"),
    ] {
        let error = check(&alone.replace(right, wrong)).expect_err("wrong")[0].to_string();
        assert!(error.contains(told), "{error}");
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
fn a_rule_asks_for_codepoint_and_prefixes_and_flows_carry_a_codepoint() {
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
fn a_setting_of_the_user_beats_the_method_and_applies_where_it_has_a_place() {
    let scenario = parse(&two(), set(&["rlc.limiter.keep=1"])).expect("DRQL has it");
    assert!(limiter(&scenario, "DRQL").contains("keep: 1"), "{}", limiter(&scenario, "DRQL"));
    assert!(limiter(&scenario, "Limit10").contains("10"), "{}", limiter(&scenario, "Limit10"));
    let notes = scenario.warnings().expect("no trace");
    assert_eq!(
        notes,
        ["--set rlc.limiter.keep does not apply to Vanilla, Limit10: no such setting there"],
        "and it is said where not"
    );
    let twenty = parse(&two(), set(&["rlc.limiter.limit=20 packets"])).expect("Limit10 has it");
    let shipped =
        parse(&two(), Overrides { methods: Some(vec!["Limit20".into()]), ..Overrides::default() });
    assert_eq!(limiter(&twenty, "Limit10"), limiter(&shipped.expect("sound"), "Limit20"));
    let kind =
        parse(&two(), set(&["rlc.limiter=drql", "rlc.limiter.keep=2"])).expect("all have it then");
    assert!(limiter(&kind, "Limit10").contains("keep: 2") && kind.warnings() == Ok(Vec::new()));
}

#[test]
fn a_setting_that_has_a_place_under_no_method_is_refused_with_what_is_there() {
    let error = parse(&two(), set(&["rlc.limiter.floor=1"]))
        .map(|_| ())
        .expect_err("no 5G-BDP")
        .to_string();
    for part in [
        "field `rlc.limiter.floor` (set by --set): found no such setting",
        "`rlc.limiter` is unlimited with nothing to set under Vanilla",
        "is drql with",
        "under Limit10",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let wrong =
        parse(&two(), set(&["rlc.limiter.keep=-1"])).map(|_| ()).expect_err("a bound").to_string();
    assert!(wrong.contains("rlc.limiter.keep") && wrong.contains("-1"), "{wrong}");
}

/// The setting belongs to the default kind.
#[test]
fn a_setting_within_a_default_kind_applies() {
    let scenario = parse(&two(), set(&["flow.bulk.tcp.sender.cc.beta=0.6"])).expect("CUBIC has it");
    assert!(scenario.resolved_toml(None).is_ok_and(|text| text.contains("beta = 0.6")));
}

#[test]
fn a_sweep_that_changes_no_world_is_refused_and_a_present_value_is_not() {
    let swept = |path: &str, values: &str| {
        let sweep = format!("sweep = {{ path = \"{path}\", values = {values}, label = \"x\" }}\n");
        parse(&format!("{sweep}{}", two()), Overrides::default())
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    for (path, values) in [
        ("seed", "[1, 2]"),
        ("runs", "[1, 2]"),
        ("title", "[\"a\", \"b\"]"),
        ("description", "[\"a\"]"),
        ("methods", "[[\"Vanilla\"], [\"DRQL\"]]"),
        ("sweep.label", "[\"a\", \"b\"]"),
        ("variant", "[\"sound\"]"),
        ("variants.x", "[{}, {}]"),
        ("uplink.grants.sr_periodd", "[\"1ms\"]"),
    ] {
        let error = swept(path, values).expect_err(path);
        assert!(error.contains("sweep") && error.contains(path), "{path}: {error}");
    }
    // Known to the file but read by no world: found by comparing worlds, not by its name.
    let unread = swept("flow.bulk.qfi", "[9, 9]");
    assert!(unread.is_ok(), "equal values: {unread:?}");
    let same = swept("mtu", "[1500, \"1500\"]");
    assert!(same.is_err(), "not a number");
    for (path, values) in
        [("mtu", "[1500]"), ("mtu", "[1400, 1500]"), ("duration", "[\"2s\", \"3s\"]")]
    {
        assert_eq!(swept(path, values), Ok(()), "{path}");
    }
    let no_effect = swept("?rlc.limiter.floor", "[1, 2]").expect_err("no method has it");
    assert!(no_effect.contains("changes no method's world"), "{no_effect}");
}

#[test]
fn one_value_of_a_sweep_sets_several_paths() {
    let swept = |path: &str, values: &str| {
        let sweep = format!("sweep = {{ path = {path}, values = {values}, label = \"rtt_ms\" }}\n");
        parse(&format!("{sweep}{}", two()), Overrides::default())
    };
    let halves = "{ \"core.delay\" = 0.5, \"uplink.delay\" = 0.5 }";
    let scenario = swept(halves, "[\"1ms\", \"4ms\"]").expect("a sound sweep");
    assert_eq!(scenario.x(1), Some(("rtt_ms".into(), 4.0)), "the whole value is shown");
    let job = Job { method: "Vanilla".into(), point: 1, seed: 1 };
    let world = scenario.world(&job).expect("sound");
    let two_ms = justfull_base::Duration::from_millis(2);
    assert_eq!((world.core_delay, world.uplink.delay), (two_ms, two_ms));
    for (path, values, field) in [
        (halves, "[\"fast\"]", "sweep.values"),
        ("{ \"core.delay\" = 0 }", "[\"1ms\"]", "sweep.path"),
        ("{ \"core.delay\" = 0.5, \"core.dealy\" = 0.5 }", "[\"1ms\"]", "core.dealy"),
        ("{ \"core.delay\" = 0.5, runs = 1 }", "[\"1ms\"]", "runs"),
    ] {
        let error = swept(path, values).map(|_| ()).expect_err(path);
        let (text, at) = (error.to_string(), error.field.as_str());
        assert!(at == field || text.contains(field), "{at}: {text}");
    }
}

#[test]
fn a_method_cannot_change_what_makes_runs_comparable() {
    for key in [
        "duration = \"1s\"",
        "warmup = \"1s\"",
        "seed = 2",
        "runs = 3",
        "title = \"t\"",
        "variants.x.mtu = 1",
    ] {
        let text = format!("{}[[method]]\nname = \"Own\"\n[method.set]\n{key}\n", two())
            .replace("\"Vanilla\", ", "\"Own\", ");
        let error = parse(&text, Overrides::default()).map(|_| ()).expect_err(key).to_string();
        assert!(
            error.contains("set by method Own") && error.contains("test.toml:"),
            "{key}: {error}"
        );
    }
}

#[test]
fn a_sweep_that_the_user_overrides_is_said() {
    let swept =
        format!("sweep = {{ path = \"mtu\", values = [1400, 1500], label = \"mtu\" }}\n{}", two());
    let scenario = parse(&swept, set(&["mtu=1450"])).expect("sound");
    let notes = scenario.warnings().expect("no trace");
    assert_eq!(notes, ["--set sets mtu, so that all points of the sweep are the same"]);
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
fn all_mistakes_of_a_file_are_told_at_once_each_once() {
    let text = two()
        .replace("title = \"two\"", "titel = \"two\"")
        .replace("\"2s\"", "2")
        .replace("per_slot = 4", "per_slot = 0")
        .replace("\"DRQL\"", "\"DRQLL\"")
        .replace("[flow.tcp]", "bogus = 1\n[flow.tcp]\nsize = 5\n")
        + "[[flow]]\nname = \"game\"\nudp = { payload = \"2000B\", interval = \"20ms\" }\n\
           [variants.v]\nmtx = 1\n\"rlc..x\" = 2\n[switches.a]\nmty = 1\n[switches.b]\n\"rlc.queue.limit\" = \"0 packets\"\n\
           [[method]]\nname = \"Own\"\nsett = 1\n";
    let errors = examine(&text, Overrides::default()).map(|_| ()).expect_err("many mistakes");
    let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
    for field in [
        "field `titel`",
        "field `title`",
        "field `duration`",
        "field `channel.per_slot`",
        "found DRQLL",
        "field `flow[0].bogus`",
        "field `flow[0].tcp.size`",
        "field `flow[1].udp.payload`",
        "field `mtx` (set by variant v)",
        "found `rlc..x`",
        "field `mty` (set by switch a)",
        "field `rlc.queue.limit` (set by switch b)",
        "field `method[0].sett`",
    ] {
        assert_eq!(
            all.iter().filter(|e| e.contains(field)).count(),
            1,
            "{field}: {}",
            all.join("\n")
        );
    }
    assert_eq!(all.len(), 13, "{}", all.join("\n"));
}

#[test]
fn a_transfers_rate_is_refused_where_it_stands_and_its_switches_are_settings() {
    let refused = |line: &str| {
        let text = two().replace("[flow.tcp]", &format!("[flow.tcp]\n{line}\n"));
        let errors = examine(&text, Overrides::default()).map(|_| ()).expect_err("a bad value");
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for (line, expected) in [
        ("rate = \"0bit/s\"", "field `flow[0].tcp.rate`: found 0bit/s, allowed is 1bit/s to a"),
        ("rate = \"12Gbit/s\"", "segment per 1us, 4Gbit/s (finer would not end)"),
        (
            "protocol = \"quic\"",
            "`flow[0].tcp.protocol`: found `quic`, allowed is one of `tcp`, `udp`, `ssh`",
        ),
    ] {
        let message = refused(line);
        assert!(message.contains(expected), "{message}");
    }
    let text = format!(
        "{}[switches]\nall = {{ \"flow.bulk.tcp.sender.cc\" = {{ kind = \"cubic\", hystart = \"off\", \
         beta = 0.8 }}, \"flow.bulk.tcp.sender.mss\" = 1400, \"flow.bulk.tcp.receiver.window\" = \
         {{ fixed = \"10MiB\" }}, \"flow.bulk.tcp.rate\" = \"16Mbit/s\" }}\n",
        two()
    );
    let found = examine(&text, Overrides::default()).map(|_| ());
    assert!(found.is_ok(), "{found:?}");
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

/// Each case with a large wrong list takes seconds of work, which may be spent once only. The test
/// counts values of the trees, not time.
#[test]
fn a_large_list_that_is_wrong_in_many_cases_is_not_searched_in_all_of_them() {
    let wrong = "{ name = \"x\", tcp = { a = 1 } }, ".repeat(3000);
    let methods = two().replace(
        "methods = [",
        "methods = [\"CoDel\", \"BBR\", \"DynRLC\", \"5G-BDP\", \"Limit30\", ",
    );
    let alternatives = |table: &str| -> String {
        (0..3).map(|i| format!("[{table}.x{i}]\nflow = [{wrong}]\n")).collect()
    };
    for table in ["switches", "variants"] {
        let text = format!("colour = 3\n{methods}{}", alternatives(table));
        let mut found = Findings::new(100);
        let file = FilePath::new("test.toml");
        Scenario::found_in_all(&text, file, None, Overrides::default(), &mut found)
            .expect("read without its mistakes");
        assert!(found.errors.iter().any(|e| e.field == "colour"), "{:?}", found.errors);
        let of_list = found.errors.iter().filter(|e| e.field.ends_with(".tcp.a"));
        assert!(of_list.count() > 1, "{:?}", found.errors);
        assert!(found.read < 750_000, "{} values for {table}", found.read);
    }
}

#[test]
fn a_bare_name_stands_for_a_table_of_that_kind() {
    let bare = two()
        .replace("[sdap.poll]", "[rlc]\nlimiter = \"drql\"\n\
             queue = { aqm = \"codel\", discipline = \"sfq\" }\n[sdap]\nscheduler = \"strict_priority\"\n[sdap.poll]")
        .replace("mss = 500", "mss = 500, cc = \"bbr\"");
    let full = two()
        .replace(
            "[sdap.poll]",
            "[rlc]\nlimiter = { kind = \"drql\" }\n\
             queue = { aqm = { kind = \"codel\" }, discipline = { kind = \"sfq\" } }\n\
             [sdap]\nscheduler = { kind = \"strict_priority\" }\n[sdap.poll]",
        )
        .replace("mss = 500", "mss = 500, cc = { kind = \"bbr\" }");
    let world = |text: &str, overrides| {
        let scenario = parse(text, overrides).unwrap_or_else(|e| panic!("{e}"));
        scenario.world(&scenario.jobs()[0]).expect("sound")
    };
    assert_eq!(world(&bare, Overrides::default()), world(&full, Overrides::default()));
    let by_user = set(&[
        "rlc.limiter=drql",
        "rlc.queue={ aqm = \"codel\", discipline = \"sfq\" }",
        "sdap.scheduler=strict_priority",
        "flow.bulk.tcp.sender.cc=bbr",
    ]);
    assert_eq!(world(&two(), by_user), world(&full, Overrides::default()));
    let own = "[[method]]\nname = \"Own\"\nset = { \"rlc.limiter\" = \"drql\" }\n";
    let own =
        parse(&format!("{}{own}", two().replace("\"Vanilla\"", "\"Own\"")), Overrides::default());
    assert!(limiter(&own.expect("sound"), "Own").contains("Drql"));
    let unknown = parse(&bare.replace("\"drql\"", "\"drqll\""), Overrides::default()).map(|_| ());
    let unknown = unknown.expect_err("no such kind").to_string();
    assert!(
        unknown.contains("rlc.limiter.kind") && unknown.contains("; did you mean `drql`"),
        "{unknown}"
    );
}

/// Paths of all leaves of `tree`, including arrays of plain values and empty tables; elements of
/// arrays of tables by index.
fn leaves(tree: &Table) -> Vec<Vec<String>> {
    fn walk(value: &Value, way: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
        match value {
            Value::Table(table) if !table.is_empty() => {
                for (key, inner) in table {
                    way.push(key.clone());
                    walk(inner, way, found);
                    way.pop();
                }
            }
            Value::Array(array) if array.iter().any(Value::is_table) => {
                for (i, inner) in array.iter().enumerate() {
                    way.push(i.to_string());
                    walk(inner, way, found);
                    way.pop();
                }
            }
            _ => found.push(way.clone()),
        }
    }
    let mut found = Vec::new();
    for (key, value) in tree {
        walk(value, &mut vec![key.clone()], &mut found);
    }
    found
}

/// Every kind of algorithm that a scenario names by `kind` may be a bare name.
#[test]
fn each_key_whose_table_has_a_kind_is_known() {
    for (_, text) in library::SCENARIOS {
        let tree: Table = text.parse().expect("a shipped scenario is TOML");
        for keys in leaves(&tree).iter().filter(|keys| keys.last().is_some_and(|k| k == "kind")) {
            // The path of a setting is one key.
            let holder = keys[keys.len() - 2].rsplit('.').next().unwrap_or_default();
            assert!(kinds::holds(holder), "{keys:?}");
        }
    }
}

#[test]
fn a_value_in_the_place_of_a_table_shows_what_the_table_holds() {
    let error = parse(&format!("rlc = \"x\"\n{}", two()), Overrides::default()).map(|_| ());
    let error = error.expect_err("no table").to_string();
    assert!(error.contains("allowed is a table of") && error.contains("`limiter`"), "{error}");
}

#[test]
fn paths_and_levels_have_at_most_64_parts() {
    let long = vec!["a"; 65].join(".");
    let error = format!("{long}=1").parse::<Setting>().map(|_| ()).expect_err("too long");
    assert_eq!(error, "found 65 parts, allowed is a dotted path of at most 64 parts");
    for text in [
        format!("{}[switches.x]\n\"{long}\" = 1\n", two()),
        format!("{}[[method]]\nname = \"Own\"\nset = {{ \"{long}\" = 1 }}\n", two())
            .replace("\"Vanilla\"", "\"Own\""),
        format!("sweep = {{ path = \"{long}\", values = [1], label = \"x\" }}\n{}", two()),
        format!("{}[variants.v]\n{long} = 1\n", two()),
        format!("{} = 1\n{}", vec!["a"; 20_000].join("."), two()),
        format!("a = {}1{}\n{}", "[".repeat(70), "]".repeat(70), two()),
    ] {
        let errors = examine(&text, Overrides::default()).map(|_| ()).expect_err("too deep");
        let error = errors[0].to_string();
        assert!(
            error.len() < 600
                && (error.contains("64") || error.contains("80") || error.contains("recurs")),
            "{error}"
        );
    }
}

#[test]
fn files_and_lists_have_stated_limits() {
    let list = |n: usize| {
        two().replace(
            "{ kind = \"constant\", per_slot = 4 }",
            &format!("{{ kind = \"rows\", amounts = [{}] }}", "1,".repeat(n)),
        )
    };
    let told = |text: &str| {
        parse(text, Overrides::default()).map(|_| ()).expect_err("too long").to_string()
    };
    let error = told(&list(100_001));
    assert!(
        error.contains("`channel.amounts`: found a list of 100001, allowed is at most 100000"),
        "{error}"
    );
    let error = told(&list(500_001));
    assert!(error.contains("found more than 500000 lines and commas"), "{error}");
    let error = told(&format!("# {}\n", "x".repeat(16_000_000)));
    assert!(error.contains("found more than 16MB, allowed is at most 16MB"), "{error}");
    let flows: String = (0..1001)
        .map(|i| {
            format!(
                "[[flow]]\nname = \"f{i}\"\nudp = {{ payload = \"100B\", interval = \"1s\" }}\n"
            )
        })
        .collect();
    let error = told(&format!("{}{flows}", two()));
    assert!(error.contains("at most 1000"), "{error}");
}

#[test]
fn a_setting_is_one_setting() {
    let error = "mtu=1500\ntitle=\"x\"".parse::<Setting>().map(|_| ()).expect_err("two");
    assert_eq!(error, "found further settings after `mtu`, allowed is path=value");
    assert!("a=[\n1,\n2]".parse::<Setting>().is_ok(), "one value may take several lines");
}

#[test]
fn a_method_is_compared_once() {
    let twice = parse(&two().replace("\"DRQL\"", "\"vanilla\""), Overrides::default()).map(|_| ());
    assert!(twice.expect_err("twice").to_string().contains("found vanilla twice"));
    let methods = Some(vec!["DRQL".to_string(), "DRQL".into()]);
    let twice = parse(&two(), Overrides { methods, ..Overrides::default() }).map(|_| ());
    assert_eq!(twice.expect_err("twice").field, "--method");
}

#[test]
fn names_that_come_near_are_suggested() {
    let told = |text: &str| {
        parse(text, Overrides::default()).map(|_| ()).expect_err("unknown").to_string()
    };
    for (from, to, meant) in [
        ("duration", "durration", "did you mean `duration`?"),
        ("per_slot", "perslot", "did you mean `per_slot`?"),
        ("\"DRQL\"", "\"DRQLL\"", "did you mean DRQL"),
        ("kind = \"constant\"", "kind = \"konstant\"", "did you mean `constant`"),
        ("name = \"bulk\"", "nam = \"bulk\"", "did you mean `name`"),
    ] {
        let error = told(&two().replacen(from, to, 1));
        assert!(error.contains(meant) && error.len() < 400, "{error}");
    }
    let error = parse(&two(), set(&["flow.bulkk.qfi=1"]))
        .map(|_| ())
        .expect_err("no such flow")
        .to_string();
    assert!(error.contains("allowed is one of bulk; did you mean bulk?"), "{error}");
}

#[test]
fn settings_of_another_mac_are_refused_and_those_of_pdcp_are_said() {
    let swept = format!(
        "sweep = {{ path = \"mac.cqi_delay\", values = [1, 2], label = \"x\" }}\n{}",
        two()
    );
    for (text, overrides, by) in
        [(swept, Overrides::default(), "sweep"), (two(), set(&["mac.cqi_delay=3"]), "--set")]
    {
        let error = parse(&text, overrides).map(|_| ()).expect_err("no blocks").to_string();
        assert!(error.contains(&format!("`mac.cqi_delay` (set by {by})")), "{error}");
    }
    let written = parse(&format!("pdcp = {{ sn_bits = 18 }}\n{}", two()), Overrides::default())
        .expect("sound");
    assert_eq!(
        written.warnings().expect("no trace"),
        ["pdcp has no effect: only a MAC of kind rb, dch or hsdpa has it"]
    );
}

/// What is said of Prague over this RLC queue.
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
fn shipped_scenarios_have_no_setting_without_effect() {
    for (name, text) in library::SCENARIOS {
        let scenario = parse(text, Overrides::default()).expect("a shipped scenario is sound");
        // Only a live run makes its session over SSH.
        if *name == "r22-live-short-flow" {
            let [note] = &scenario.notes[..] else { panic!("{:?}", scenario.notes) };
            assert!(note.contains("`ssh` in live runs only"), "{note}");
        } else if *name == "l4s-cell" {
            // Four of its methods show a sender of L4S without an AQM for it.
            let said = scenario.notes.iter().filter(|note| note.contains("prague sends ECT(1)"));
            assert_eq!((scenario.notes.len(), said.count()), (3, 3), "{:?}", scenario.notes);
        } else {
            assert_eq!(scenario.notes, [""; 0], "{name}");
        }
    }
}
