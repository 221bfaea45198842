//! Sweeps: their values, paths, and points.

use super::*;

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
