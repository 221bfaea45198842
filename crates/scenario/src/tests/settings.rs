//! Settings: their order, values, paths, and places.

use super::*;

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
fn settings_of_no_method_are_refused_unless_only_some_methods_are_compared() {
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

/// Every path from `leaves` can be read, set, and removed, and nothing else changes.
#[test]
fn every_leaf_of_a_tree_can_be_got_set_and_removed() {
    for (name, text) in library::SCENARIOS {
        let original: Table = text.parse().expect("a shipped scenario is TOML");
        let before = leaves(&original);
        assert!(before.len() > 10, "{name}");
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
fn a_setting_is_one_setting() {
    let error = "mtu=1500\ntitle=\"x\"".parse::<Setting>().map(|_| ()).expect_err("two");
    assert_eq!(error, "found further settings after `mtu`, allowed is path=value");
    assert!("a=[\n1,\n2]".parse::<Setting>().is_ok(), "one value may take several lines");
}
