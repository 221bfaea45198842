//! Mistakes in files: each named once, with the allowed values.

use super::*;

#[test]
fn a_number_in_a_file_where_a_name_is_expected_is_refused_with_the_names() {
    let message = |value: &str| {
        let sender = format!("[[flow]]\nname = \"f\"\ntcp.sender.kernel = {value}\n");
        let error = parse(&format!("{LAYERS}\n{sender}"), Overrides::default()).map(drop);
        let error = error.expect_err("no name");
        assert!(error.field.ends_with("tcp.sender.kernel"), "{error}");
        assert_eq!(error.allowed, "text in quotes: one of `rfc`, `4.15`, `5.3`, `5.18`, `6.18`");
        error.found
    };
    assert_eq!(message("4.15"), "floating point `4.15`");
    assert_eq!(message("5"), "integer `5`");
    assert_eq!(message("true"), "boolean `true`");
    assert_eq!(message("[1]"), "a list");
    assert_eq!(message("{}"), "a table");
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

#[test]
fn all_mistakes_of_a_file_are_listed_at_once_each_once() {
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
fn files_and_lists_have_stated_limits() {
    let list = |n: usize| {
        two().replace(
            "{ kind = \"constant\", per_slot = 4 }",
            &format!("{{ kind = \"rows\", amounts = [{}] }}", "1,".repeat(n)),
        )
    };
    let message = |text: &str| {
        parse(text, Overrides::default()).map(|_| ()).expect_err("too long").to_string()
    };
    let error = message(&list(100_001));
    assert!(
        error.contains("`channel.amounts`: found a list of 100001, allowed is at most 100000"),
        "{error}"
    );
    let error = message(&list(500_001));
    assert!(error.contains("found more than 500000 lines and commas"), "{error}");
    let error = message(&format!("# {}\n", "x".repeat(16_000_000)));
    assert!(error.contains("found more than 16MB, allowed is at most 16MB"), "{error}");
    let flows: String = (0..1001)
        .map(|i| {
            format!(
                "[[flow]]\nname = \"f{i}\"\nudp = {{ payload = \"100B\", interval = \"1s\" }}\n"
            )
        })
        .collect();
    let error = message(&format!("{}{flows}", two()));
    assert!(error.contains("at most 1000"), "{error}");
}

#[test]
fn names_that_come_near_are_suggested() {
    let message = |text: &str| {
        parse(text, Overrides::default()).map(|_| ()).expect_err("unknown").to_string()
    };
    for (from, to, meant) in [
        ("duration", "durration", "did you mean `duration`?"),
        ("per_slot", "perslot", "did you mean `per_slot`?"),
        ("\"DRQL\"", "\"DRQLL\"", "did you mean DRQL"),
        ("kind = \"constant\"", "kind = \"konstant\"", "did you mean `constant`"),
        ("name = \"bulk\"", "nam = \"bulk\"", "did you mean `name`"),
    ] {
        let error = message(&two().replacen(from, to, 1));
        assert!(error.contains(meant) && error.len() < 400, "{error}");
    }
    let error = parse(&two(), set(&["flow.bulkk.qfi=1"]))
        .map(|_| ())
        .expect_err("no such flow")
        .to_string();
    assert!(error.contains("allowed is one of bulk; did you mean bulk?"), "{error}");
}

#[test]
fn settings_of_another_mac_are_refused_and_settings_of_pdcp_are_named() {
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
