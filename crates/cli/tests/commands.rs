//! The small commands: `list`, `explain`, `show`, `check`, `completions`, `man`.

use std::path::Path;
use std::process::{Command, Output};

fn justfull(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.args(args).env_remove("JUSTFULL_DATA").output().expect("the program starts")
}

/// Standard output of a command that succeeds with an empty standard error.
fn text(args: &[&str]) -> String {
    let done = justfull(args);
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && stderr.is_empty(), "{args:?}: {stderr}");
    String::from_utf8(done.stdout).expect("text")
}

/// Names under the headings of `list` that contain `heading`.
fn listed(list: &str, heading: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in list.lines() {
        if let Some(entry) = line.strip_prefix("  ") {
            names.extend(entry.split_whitespace().next().filter(|_| inside).map(str::to_string));
        } else if !line.is_empty() {
            inside = line.contains(heading);
        }
    }
    names
}

#[test]
fn every_name_of_the_list_can_be_explained_shown_or_reproduced() {
    let list = text(&["list"]);
    let (scenarios, papers) =
        (listed(&list, "justfull show NAME"), listed(&list, "justfull reproduce NAME"));
    let all = listed(&list, "");
    assert!(
        all.len() > 40 && scenarios.len() >= 6 && papers.contains(&"T20".to_string()),
        "{list}"
    );
    for name in all.iter().filter(|name| !scenarios.contains(name) && !papers.contains(name)) {
        let explained = text(&["explain", name]);
        assert!(
            explained.to_lowercase().contains(&name.to_lowercase())
                && explained.lines().count() >= 3,
            "{name}"
        );
    }
    for name in &scenarios {
        assert!(text(&["show", name]).contains("[[flow]]"), "{name}");
    }
}

#[test]
fn every_shipped_scenario_is_sound_by_name_and_as_a_file() {
    let list = text(&["list"]);
    for name in listed(&list, "justfull show NAME") {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../scenarios")
            .join(format!("{name}.toml"));
        let file = file.to_str().expect("a path in text");
        for place in [name.as_str(), file] {
            let done = justfull(&["check", place]);
            let stderr = String::from_utf8_lossy(&done.stderr);
            // Only a live run makes its session over SSH; methods without L4S are compared on L4S.
            let note = match name.as_str() {
                "r22-live-short-flow" => stderr.contains("`ssh` in live runs only"),
                "l4s-cell" | "l4span-cell" | "video-calls" => {
                    stderr.lines().all(|line| line.contains("sends ECT(1), but no queue"))
                }
                _ => false,
            };
            assert!(done.status.success() && (note || stderr.is_empty()), "{place}: {stderr}");
            let found = String::from_utf8(done.stdout).expect("text");
            assert!(found.contains(": sound; ") && found.contains(" run"), "{found}");
            for part in ["\n  servers  ", "\n  MAC      slots of ", "\n  base RTT ", "as drawn"] {
                assert!(found.contains(part), "{name}: {part}: {found}");
            }
        }
        assert_eq!(
            text(&["show", &name]),
            std::fs::read_to_string(file).expect("the file is there")
        );
    }
}

#[test]
fn a_shown_scenario_is_a_scenario_file_to_start_from() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, text(&["show", "voip-over-lte"])).expect("the folder can be written");
    assert!(text(&["check", file.to_str().expect("a path in text")]).contains("sound"));
}

/// Standard error of a command that must be refused.
fn refused(args: &[&str]) -> String {
    let done = justfull(args);
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(stderr.contains("found ") && stderr.lines().count() == 1, "{stderr}");
    stderr
}

/// An error lists similar names, not all 75.
#[test]
fn names_that_nobody_knows_are_refused_with_at_most_three_that_come_near() {
    for (args, meant) in [
        (&["explain", "codell"][..], "did you mean CoDel, codel or "),
        (&["explain", "5gbdp"], "5G-BDP"),
        (&["explain", "mcs-trace"], "did you mean mcs_trace"),
        (&["explain", "rlc.queue.limits"], "did you mean rlc.queue.limit"),
        (&["explain", "delay.p98"], "delay.p9"),
        (&["show", "t20-indvidual"], "did you mean t20-individual"),
        (&["check", "cloudgaming"], "did you mean cloud-gaming"),
        (&["reproduce", "T21"], "did you mean T20"),
        (
            &["reproduce", "no-such"],
            "one of E19, T20, A21, R22, P06, L4S, Handover, Dual, Split, DRX, Uplink, LastPoll, Justfull",
        ),
        (&["reproduce", "T20", "--figure", "99", "--no-files"], "Fig. 7"),
    ] {
        let stderr = refused(args);
        assert!(stderr.contains(meant) && stderr.len() < 400, "{stderr}");
    }
    for args in [["explain", "no-such-thing"], ["show", "no-such-thing"]] {
        let stderr = refused(&args);
        assert!(stderr.contains("`justfull list`") && !stderr.contains("did you mean"), "{stderr}");
    }
}

#[test]
fn a_figure_that_a_paper_does_not_have_is_refused_before_a_folder_is_made() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().join("out");
    let stderr = refused(&[
        "reproduce",
        "E19",
        "--figure",
        "9",
        "--out",
        out.to_str().expect("a path in text"),
    ]);
    assert!(
        stderr.contains("--figure: found 9, allowed is one of Fig. ")
            && stderr.contains("Section V"),
        "{stderr}"
    );
    assert!(!out.exists());
}

/// Without its trace no claim is simulated, so the test is short.
#[test]
fn claims_that_are_not_run_are_said_and_fail_under_strict_alone() {
    let run = |more: &[&str]| {
        let args = ["reproduce", "T20", "--figure", "8", "--short", "--no-files", "-q"];
        let done = justfull(&[&args, more].concat());
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (code, stderr) = run(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("claims were not run for want of their traces")
            && stderr.contains("--strict"),
        "{stderr}"
    );
    let (code, stderr) = run(&["--strict"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("claims were not run\n"), "{stderr}");
}

#[test]
fn exit_statuses_are_in_the_help_of_every_command_that_has_more_than_one() {
    for command in ["run", "demo", "reproduce", "live", "parity", "validate", "check"] {
        let help = text(&[command, "--help"]);
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            help.contains("Exit status: 0 done; 1 a claim came out worse than recorded"),
            "{command}: {help}"
        );
    }
    assert!(text(&["--help"]).contains("Exit status: 0 done"));
    let help = text(&["reproduce", "--help"]);
    for paper in ["T20", "E19", "A21", "LastPoll"] {
        assert!(help.contains(paper), "{paper}: {help}");
    }
}

#[test]
fn options_of_run_stand_under_their_own_headings() {
    let help = text(&["run", "--help"]);
    let (general, files) = help.split_once("Files of single runs:").expect("the heading");
    for option in
        ["--jobs", "--out", "--no-files", "--png", "--wide", "--quiet", "--seed", "--runs"]
    {
        assert!(general.contains(option), "{option}");
    }
    for option in ["--packets", "--slots", "--format", "--pcapng", "--flent", "--irtt"] {
        assert!(
            files.contains(option) && !general.contains(&format!("      {option} ")),
            "{option}"
        );
    }
}

#[test]
fn a_plot_has_the_form_that_its_name_ends_in() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let plot = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
        command.args(["trace", "plot", "x.csv", "-o", name]).current_dir(&folder);
        command.output().expect("the program starts")
    };
    std::fs::write(folder.path().join("x.csv"), "packets_per_10ms\n5\n7\n")
        .expect("the folder can be written");
    let forms = [("p.png", &b"\x89PNG"[..]), ("p.SVG", b"<svg "), ("p", b"<svg ")];
    for (name, start) in [&forms[..], &[("p.pdf", b"%PDF-")]].concat() {
        let done = plot(name);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(
            std::fs::read(folder.path().join(name)).expect("it is there").starts_with(start),
            "{name}"
        );
    }
    let done = plot("p.eps");
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2));
    assert!(stderr.contains("allowed is a name that ends in .svg, .png or .pdf, or -"), "{stderr}");
    assert!(!folder.path().join("p.eps").exists());
}

#[test]
fn every_shell_has_a_script_that_asks_the_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&["completions", shell]);
        assert!(script.contains("JUSTFULL_COMPLETE"), "{shell}: {script}");
    }
}

/// Bash's candidates after `words`, the last of which is incomplete. Bash divides its words before
/// `@` and around `=`.
#[cfg(unix)]
fn offered(words: &[&str]) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_justfull"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::write(folder.path().join("mine.toml"), "").expect("it can be written");
    let script = "\
        set -e; source <(justfull completions bash); words=(\"$@\")
        COMP_WORDS=(justfull \"${words[@]}\"); COMP_CWORD=${#words[@]}; COMP_TYPE=9
        last=${words[-1]}; [[ $last != = ]] || last=
        complete -p justfull | grep -q -- '-F _justfull justfull'
        _justfull justfull \"$last\" \"\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let above = program.parent().expect("a folder").to_path_buf();
    let old = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(above).chain(std::env::split_paths(&old)));
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash"]).args(words).current_dir(folder.path());
    let done = bash.env("PATH", path.expect("sound names")).output().expect("bash is there");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
#[cfg(unix)]
fn bash_completes_commands_scenarios_methods_settings_and_papers() {
    assert_eq!(offered(&["rep"]), ["reproduce"]);
    assert_eq!(offered(&["run", "live-lt"]), ["live-lte"]);
    assert_eq!(offered(&["check", "mi"]), ["mine.toml"]);
    assert_eq!(offered(&["run", "demo", "--method", "DRQ"]), ["DRQL"]);
    assert_eq!(offered(&["run", "demo", "--method", "FQ-CoDel", "@D"]), ["@DQL"]);
    assert!(offered(&["run", "demo", "--method", "FQ-CoDel", "@"]).contains(&"@5G-BDP".into()));
    assert_eq!(offered(&["run", "demo", "--method", "=", "DRQ"]), ["DRQL"]);
    assert_eq!(offered(&["run", "demo", "--set", "rlc.limiter", "=", "drq"]), ["drql"]);
    let settings = offered(&["run", "demo", "--set", "rlc.queue.li"]);
    assert!(settings.contains(&"rlc.queue.limit=".into()), "{settings:?}");
    assert!(settings.iter().all(|path| path.starts_with("rlc.queue.li")), "{settings:?}");
    assert!(offered(&["explain", "code"]).contains(&"codel".into()));
    assert_eq!(offered(&["reproduce", "T2"]), ["T20"]);
    assert!(offered(&["show", ""]).contains(&"nr-100mhz".into()));
    assert_eq!(offered(&["run", "demo", "--parquet", "ent"]), ["entities"]);
}

#[test]
fn man_pages_cover_every_command() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().join("man");
    // A page is moved into place as a whole: a link there is replaced, not followed.
    let victim = folder.path().join("victim");
    std::fs::create_dir(&out).expect("a folder can be made");
    std::fs::write(&victim, "precious").expect("it can be written");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&victim, out.join("justfull.1")).expect("a link can be made");
    text(&["man", "--out", out.to_str().expect("a path in text")]);
    for page in [
        "justfull.1",
        "justfull-run.1",
        "justfull-reproduce.1",
        "justfull-explain.1",
        "justfull-check.1",
    ] {
        let roff = std::fs::read_to_string(out.join(page)).unwrap_or_default();
        assert!(roff.contains(".SH NAME"), "{page}");
    }
    assert_eq!(std::fs::read_to_string(&victim).expect("it is there"), "precious");
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_error() {
    for command in ["list", "completions bash", "run voip-over-lte --set duration=11s --no-files"] {
        let program = env!("CARGO_BIN_EXE_justfull");
        let script = format!("'{program}' {command} 2>&1 | :; echo ${{PIPESTATUS[0]}}");
        let done = Command::new("bash").args(["-c", &script]).output().expect("bash is there");
        let codes = String::from_utf8_lossy(&done.stdout);
        assert!(["0", "141"].contains(&codes.trim()), "{command}: {codes}");
    }
}

#[test]
fn folders_are_compared_seed_by_seed_and_an_unwanted_change_is_exit_1() {
    let room = tempfile::tempdir().expect("a folder");
    let at = |name: &str| room.path().join(name).to_str().expect("a path in text").to_owned();
    let run = |name: &str, keep: &str| {
        let keep = format!("rlc.limiter.keep={keep}");
        let words = ["run", "voip-over-lte", "--method", "DRQL", "--runs", "3", "-q", "--set"];
        let rest = [&keep, "--set", "duration=12s", "--out", &at(name)];
        assert!(justfull(&[&words[..], &rest[..]].concat()).status.success());
    };
    run("few", "1");
    run("many", "40");
    let (few, many) = (at("few"), at("many"));
    let same = text(&["compare", &few, &few, "--fail-if", "delay.p99 > 0", "--flow", "voip"]);
    assert!(same.contains("0.0000 ± 0.0000") && !same.contains("that differ"), "{same}");
    let shown = text(&["compare", &few, &many]);
    assert!(shown.contains("limiter.keep=40") && shown.contains("seed by seed"), "{shown}");
    let done = justfull(&["compare", &few, &many, "--json", "--fail-if", "goodput > 1%"]);
    assert_eq!(done.status.code(), Some(1));
    let page: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let broken = page["broken"].as_array().expect("a list");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(!broken.is_empty() && said.contains(broken[0].as_str().expect("text")), "{said}");
    let refused = justfull(&["compare", &few, &at("none")]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("no folder of results is there"));
}

#[test]
fn the_methods_of_a_folder_are_compared_with_one_of_them() {
    let room = tempfile::tempdir().expect("a folder");
    let results = room.path().join("r").to_str().expect("a path in text").to_owned();
    let words = ["run", "voip-over-lte", "--method", "CoDel", "--method", "Vanilla", "--runs", "3"];
    let rest = ["--duration", "12s", "-q", "--out", &results];
    assert!(justfull(&[&words[..], &rest].concat()).status.success());
    let shown = text(&["compare", &results, "--against", "CoDel", "--flow", "voip"]);
    assert!(shown.contains("CoDel") && shown.contains("seed by seed"), "{shown}");
    let rows = shown.lines().filter(|line| line.contains("delay_ms_mean")).count();
    assert_eq!(rows, 1, "Vanilla alone is compared: {shown}");
    let worse = ["--against", "CoDel", "--fail-if", "delay.mean > 10%", "--method", "Vanilla"];
    let done = justfull(&[&["compare", &results], &worse[..]].concat());
    assert_eq!(done.status.code(), Some(1));
    for (rest, why) in [
        (&["--against", "DRQL"][..], "no method `DRQL`; there is"),
        (&[][..], "found one folder, allowed is two or more, or --against METHOD"),
        (&[&results, "--against", "CoDel"], "--against: found several folders, allowed is one"),
    ] {
        let done = justfull(&[&["compare", &results], rest].concat());
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(why), "{said}");
    }
}

#[test]
fn earlier_runs_are_listed_with_their_settings_and_figures() {
    let room = tempfile::tempdir().expect("a folder");
    let at = |name: &str| room.path().join(name).to_str().expect("a path in text").to_owned();
    let set = ["--set", "rlc.queue.limit=200kB", "--duration", "12s", "-q", "--out"];
    let words = ["run", "voip-over-lte", "--method", "Vanilla", "--method", "DRQL", "--runs", "2"];
    assert!(justfull(&[&words[..], &set, &[&at("deep/er")]].concat()).status.success());
    let (place, missing) = (at(""), at("none"));
    let json: serde_json::Value =
        serde_json::from_str(&text(&["runs", &place, "--json"])).expect("a list");
    let [run] = json.as_array().expect("a list").as_slice() else { panic!("{json}") };
    assert_eq!(run["scenario"], "voip-over-lte");
    assert_eq!(run["methods"], serde_json::json!(["Vanilla", "DRQL"]));
    assert_eq!(run["seeds"], serde_json::json!([1, 2]));
    assert_eq!(run["settings"], serde_json::json!(["rlc.queue.limit=200kB"]));
    assert_eq!((run["duration_s"].as_f64(), &run["flow"]), (Some(12.0), &"voip".into()));
    let delay = |at: usize| run["figures"][at]["delay_ms_p99"].as_f64().expect("a delay");
    assert!(delay(0) > delay(1), "{run}");
    let shown = |columns: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
        let done = command.args(["runs", "deep"]).current_dir(&room).env("COLUMNS", columns);
        String::from_utf8(done.output().expect("it starts").stdout).expect("text")
    };
    let wide = shown("160");
    for part in ["deep/er", "voip-over-lte", "Vanilla, DRQL", "   rlc.queue.limit=200kB"] {
        assert!(wide.contains(part), "{part}: {wide}");
    }
    let narrow = shown("80");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("Too narrow for:") && narrow.contains("deep/er"), "{narrow}");
    assert!(refused(&["runs", &missing]).contains("allowed is a folder of results"));
}

#[test]
#[cfg(feature = "campaign")]
fn a_campaign_is_listed_with_its_swept_values_and_figures_even_without_its_file() {
    let room = tempfile::tempdir().expect("a folder");
    let at = |name: &str| room.path().join(name).to_str().expect("a path in text").to_owned();
    let file = "scenarios = [\"voip-over-lte\"]\nmethods = [\"Vanilla\", \"DRQL\"]\nseeds = 2\n\
                [set]\nduration = \"12s\"\n[grid]\n\"rlc.queue.limit\" = [\"50kB\", \"200kB\"]\n";
    std::fs::write(at("depth.toml"), file).expect("a file");
    let made = ["campaign", "run", &at("depth.toml"), "-q", "--out", &at("r/depth")];
    assert!(justfull(&made).status.success());
    std::fs::remove_file(at("depth.toml")).expect("it is there");
    let listed = || -> serde_json::Value {
        serde_json::from_str(&text(&["runs", &at("r"), "--json"])).expect("a list")
    };
    let [run] = listed().as_array().expect("a list").clone().try_into().expect("one");
    assert_eq!((&run["kind"], &run["problem"]), (&"campaign".into(), &serde_json::Value::Null));
    assert_eq!(run["scenario"], "voip-over-lte");
    assert_eq!(run["settings"], serde_json::json!(["rlc.queue.limit_kB=[50, 200]"]));
    assert_eq!(run["methods"], serde_json::json!(["DRQL", "Vanilla"]));
    assert_eq!((&run["seeds"], &run["flow"]), (&serde_json::json!([1, 2]), &"voip".into()));
    let delay = |at: usize| run["figures"][at]["delay_ms_p99"].as_f64().expect("a delay");
    assert!(delay(0) < delay(1), "{run}");
    std::fs::write(at("r/depth/ledger.jsonl"), "damaged\n").expect("it is written");
    let run = &listed()[0];
    assert!(run["problem"].is_string() && run["figures"] == serde_json::json!([]), "{run}");
}

#[test]
fn a_validation_and_a_scenario_are_printed_as_json() {
    let found: serde_json::Value =
        serde_json::from_str(&text(&["validate", "fixed", "--no-files", "--json"])).expect("JSON");
    let [control] = found.as_array().expect("a list").as_slice() else { panic!("{found}") };
    assert_eq!((&control["control"], &control["as_recorded"]), (&"fixed".into(), &true.into()));
    let cases = control["cases"].as_array().expect("cases");
    assert!(!cases.is_empty());
    for case in cases {
        let band = [&case["band"][0], &case["band"][1]].map(|edge| edge.as_f64());
        let mean = case["ours"]["mean"].as_f64();
        assert!(band[0] <= mean && mean <= band[1] || case["verdict"] != "met", "{case}");
    }
    let shown: serde_json::Value =
        serde_json::from_str(&text(&["show", "demo", "--json"])).expect("JSON");
    assert_eq!(
        (&shown["name"], shown["toml"].as_str()),
        (&"demo".into(), Some(&*text(&["show", "demo"])))
    );
}

#[test]
fn a_folder_of_results_that_is_called_as_a_shipped_scenario_does_not_hide_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::create_dir(folder.path().join("demo")).expect("a folder can be made");
    let done = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args(["run", "demo", "--method", "CoDel", "--duration", "11s", "--runs", "1", "-q"])
        .arg("--no-files")
        .current_dir(folder.path())
        .output()
        .expect("the program starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_figure_is_drawn_from_results_and_missing_parts_are_named() {
    let room = tempfile::tempdir().expect("a folder");
    let at = |name: &str| room.path().join(name).to_str().expect("a path in text").to_owned();
    let (results, out) = (at("r"), at("f.pdf"));
    let words = ["run", "e19-one-qfi", "--method", "DRQL", "--set", "duration=12s", "-q"];
    assert!(justfull(&[&words[..], &["--out", &results]].concat()).status.success());
    let y = ["plot", &results, "--y", "delay.p99"];
    for rest in
        [&["--flow", "ping"][..], &["--x", "interval_ms"], &["--kind", "points", "--x", "goodput"]]
    {
        text(&[&y[..], rest, &["-o", &out]].concat());
        assert!(std::fs::read(&out).expect("it is there").starts_with(b"%PDF-"), "{rest:?}");
    }
    for kind in ["cdf", "ccdf"] {
        let svg = text(&["plot", &results, "--kind", kind, "--y", "delay", "--flow", "ping"]);
        assert!(svg.starts_with("<svg ") && svg.contains("DRQL"));
    }
    for (y, label) in [("delay", "Median delay (ms)"), ("goodput", "Goodput (Mbit/s)")] {
        let svg = text(&["plot", &results, "--kind", "series", "--y", y, "--flow", "ping"]);
        assert!(svg.contains(label) && svg.contains("DRQL") && svg.contains("Time (s)"), "{y}");
    }
    let series = ["plot", &results, "--kind", "series", "--y", "rlc_packets", "--style", "ieee"];
    let svg = text(&series);
    assert!(svg.contains(" width=\"3.5in\"") && svg.contains("Time (s)"), "{svg}");
    for (rest, why) in [
        (&["--y", "dellay.p99"][..], "--y: no column `dellay.p99`; did you mean delay.p99"),
        (&["--y", "delay.p99", "--flow", "x"], "no flow `x`; there is"),
        (&["--y", "delay.p99", "--x", "rate"], "sweeps interval, not rate"),
        (&["--y", "delay.p99", "--kind", "points"], "needs --x COLUMN"),
        (&["--y", "dlay", "--kind", "cdf"], "no `dlay`; there is"),
        (
            &["--y", "dely", "--kind", "series"],
            "--y: no quantity `dely` over time; did you mean de",
        ),
        (&["--y", "delay", "--kind", "series", "--seed", "7"], "no seed 7; there is 1"),
        (&["--y", "delay", "--kind", "series", "--x", "rate"], "--x: the axis of a series is the"),
        (&["--y", "delay", "--kind", "cdf", "--seed", "1"], "--seed: allowed for --kind series"),
        (
            &["--y", "rlc_packets", "--kind", "series", "--flow", "ping"],
            "--flow: rlc_packets has all flows together",
        ),
    ] {
        let done = justfull(&[&["plot", &results], rest].concat());
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(why), "{rest:?}: {said}");
    }
}

#[test]
fn a_figure_for_a_paper_has_the_size_and_labels_that_were_asked_for_and_a_bad_value_writes_nothing()
{
    let room = tempfile::tempdir().expect("a folder");
    let at = |name: &str| room.path().join(name).to_str().expect("a path in text").to_owned();
    let (results, out) = (at("r"), at("f.pdf"));
    let words = ["run", "voip-over-lte", "--method", "CoDel", "--method", "DRQL", "-q"];
    let more = ["--set", "duration=12s", "--runs", "3", "--out", &results];
    assert!(justfull(&[&words[..], &more].concat()).status.success());
    for kind in [&["--kind", "cdf", "--y", "delay"][..], &["--kind", "bars", "--y", "delay.p99"]] {
        let plot = [&["plot", &results, "--style", "ieee", "--flow", "voip"], kind].concat();
        let svg = text(&[&plot[..], &["--xlabel", "Own (ms)", "--title", "T"]].concat());
        assert!(svg.contains(" width=\"3.5in\"") && svg.contains(">Own (ms)\n"), "{kind:?}");
        text(&[&plot[..], &["--width", "88mm", "-o", &out]].concat());
        let pdf = std::fs::read(&out).expect("it is there");
        assert!(String::from_utf8_lossy(&pdf).contains("/MediaBox [0 0 249.44"), "{kind:?}");
    }
    let layers = ["plot", &results, "--kind", "layers", "--y", "low_latency_sojourn"];
    assert!(text(&layers).contains(" width=\"8in\""), "bars have a plain page of their own");
    std::fs::remove_file(&out).expect("it was there");
    for (rest, why) in [
        (&["--width", "3.5"][..], "--width: found 3.5, allowed is a length of 2in to 20in"),
        (&["--width", "-88mm"], "--width: found -88mm, allowed is a length of"),
        (&["--height", "1km"], "--height: found 1km, allowed is a length of 1.5in to 20in"),
        (&["--font", "5pt"], "--font: found 5pt, allowed is a size of 7pt to 24pt"),
        (&["--font", "No Such Font"], "--font: found No Such Font, allowed in PNG and PDF is"),
        (&["--title", "a\u{1b}b"], "--title: found \"a\\u{1b}b\", allowed is text without"),
        (&["--style", "nature"], "[possible values: plain, ieee, acm]"),
        (&["--kind", "bars", "--x", "goodput"], "--x: bars have their own axis"),
        (&["--kind", "layers", "--flow", "call"], "--flow: layers have all flows together"),
    ] {
        let kind = if rest[0] == "--kind" { &[][..] } else { &["--kind", "bars"] };
        let plot = ["plot", &results, "--y", "delay.p99", "-o", &out];
        let done = justfull(&[&plot[..], kind, rest].concat());
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(why), "{rest:?}: {said}");
        assert!(!Path::new(&out).exists(), "{rest:?}");
    }
}

#[test]
fn a_new_scenario_is_sound_runs_and_replaces_nothing_unasked() {
    let room = tempfile::tempdir().expect("a folder");
    let at = |name: &str| room.path().join(name).to_str().expect("a path in text").to_owned();
    std::fs::write(at("walk.csv"), "packets_per_10ms\n20\n30\n").expect("it can be written");
    for (name, rest) in [
        ("nr", &["--nr", "--ues", "4", "--traffic", "download,call,pages"][..]),
        ("lte.toml", &["--lte", "--traffic", "download,upload,game,ping"]),
        ("umts", &["--umts", "--ues", "2"]),
        ("trace.v1", &["--trace", &at("walk.csv"), "--method", "DRQL", "--runs", "2"]),
    ] {
        let done = justfull(&[&["new", &at(name)], rest].concat());
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.contains(".toml is written"), "{name}: {said}");
        let file = at(&format!("{}.toml", name.trim_end_matches(".toml")));
        text(&["check", &file]);
        let short = ["--set", "duration=6s", "--runs", "1", "--no-files", "-q", "--method"];
        let method = if name == "umts" { "ARED" } else { "DRQL" };
        let run = justfull(&[&["run", &file], &short[..], &[method]].concat());
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let table = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(table.contains("download") && table.contains(method), "{name}: {table}");
    }
    let whole = std::fs::read_to_string(at("nr.toml")).expect("it is there");
    let again = justfull(&["new", &at("nr"), "--lte"]);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.code() == Some(2) && said.contains("--force replaces it"), "{said}");
    assert_eq!(std::fs::read_to_string(at("nr.toml")).expect("it is there"), whole);
    assert!(justfull(&["new", &at("nr"), "--lte", "--force"]).status.success());
    assert!(std::fs::read_to_string(at("nr.toml")).expect("it is there").contains("LTE"));
    assert!(text(&["new", "-"]).starts_with("# Check it with"));

    for (rest, why) in [
        (&["--method", "DRQLL"][..], "--method: found DRQLL, allowed is a method of `justfull"),
        (&["--traffic", "downlaod"], "'download'"),
        (&["--nr", "--lte"], "cannot be used with"),
        (&["--ues", "0"], "1..=1000"),
        (&["--trace", "none.csv"], "none.csv"),
    ] {
        let done = justfull(&[&["new", &at("x")], rest].concat());
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(why), "{rest:?}: {said}");
        assert!(!room.path().join("x.toml").exists());
    }
}

#[test]
fn a_grid_runs_all_combinations_and_any_of_its_settings_can_be_plotted() {
    let room = tempfile::tempdir().expect("a folder");
    let at = |name: &str| room.path().join(name).to_str().expect("a path in text").to_owned();
    let results = at("r");
    let short = ["run", "demo", "--method", "Vanilla", "--runs", "1", "-q"];
    let set = ["--set", "duration=12s", "--out", &results];
    let (limit, delay) = ("rlc.queue.limit=[100kB, 1MB]", "core.delay=[5ms, 10ms, 20ms]");
    let grid = ["--grid", limit, "--grid", delay];
    let done = justfull(&[&short[..], &set, &grid].concat());
    let table = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(table.contains("core.delay 20ms: rlc.queue.limit 1000 kB"), "{table}");
    let rows = std::fs::read_to_string(room.path().join("r/runs.csv")).expect("it is there");
    let points: std::collections::BTreeSet<&str> =
        rows.split(',').filter(|cell| cell.starts_with("rlc.queue.limit_kB=")).collect();
    assert_eq!(points.len(), 6, "{points:?}");
    for (x, beside) in [
        (&[][..], "core.delay_ms 20"),
        (&["--x", "rlc.queue.limit"], "core.delay_ms 20"),
        (&["--x", "core.delay"], "rlc.queue.limit_kB 1000"),
    ] {
        let svg = text(&[&["plot", &results, "--y", "delay.p99", "--flow", "call"], x].concat());
        assert!(svg.contains(&format!("Vanilla, {beside}")), "{x:?}: {svg}");
    }
    assert!(text(&["check", "demo", "--grid", limit, "--grid", delay]).contains("6 points"));
    for (grid, why) in [
        ("core.delay=[]", "--grid: found no values for `core.delay`, allowed is at least one"),
        ("core.delay=5ms", "--grid: found `core.delay=5ms`, allowed is path=[value, value]"),
        ("core.dellay=[5ms, 6ms]", "dellay"),
    ] {
        let done = justfull(&["run", "demo", "--no-files", "--grid", grid]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(why), "{grid}: {said}");
    }
    let done = justfull(&["run", "demo", "--runs", "100000", "--grid", delay]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(2) && said.contains("at most a million runs"), "{said}");
    let done = justfull(&["plot", &results, "--y", "delay.p99", "--x", "rate"]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("sweeps rlc.queue.limit and core.delay, not rate"), "{said}");
}

#[test]
fn a_scenario_is_read_from_standard_input() {
    let room = tempfile::tempdir().expect("a folder");
    let piped = |args: &[&str], input: &[u8]| {
        std::fs::write(room.path().join("in"), input).expect("it can be written");
        let input = std::fs::File::open(room.path().join("in")).expect("it is there");
        let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
        let done = command.args(args).stdin(input).output().expect("the program starts");
        let (out, said) =
            (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        (done.status.code(), out.into_owned(), said.into_owned())
    };
    let demo = text(&["show", "demo"]);
    let (code, out, said) = piped(&["check", "-"], demo.as_bytes());
    assert!(code == Some(0) && out.starts_with("-: sound; 15 runs"), "{out}{said}");
    let run = ["run", "-", "--no-files", "--method", "Vanilla", "--set", "duration=11s"];
    let (code, out, said) = piped(&run, demo.as_bytes());
    assert!(code == Some(0) && out.contains("Vanilla"), "{out}{said}");
    let (code, _, said) = piped(&run, b"title = 1");
    assert!(code == Some(2) && said.contains("stdin.toml") && said.contains("title"), "{said}");
    assert_eq!(piped(&run, b"\xff\xfe").0, Some(2));
    assert_eq!(piped(&run, &vec![b'#'; (16 << 20) + 1]).0, Some(2));
}

#[test]
fn claims_are_judged_in_one_document() {
    let words = ["reproduce", "E19", "--figure", "5", "--short", "--no-files", "--json"];
    let done = justfull(&words);
    let stderr = String::from_utf8_lossy(&done.stderr);
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(text.lines().count(), 1, "{text}, {stderr}");
    let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(found["claims"].is_object() && found["folder"].is_null(), "{found}");
    assert!(found["rows"].is_array(), "{found}");
}
