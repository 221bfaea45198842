//! `--plugin` of `run`, `check` and `live`, and campaigns with plugins: the example in C beside the
//! built-in limiter.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the tree").into()
}

/// A folder with `drql.so`, the example in C.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-O2", "-shared", "-fPIC", "-o"]).arg(folder.path().join("drql.so"));
    command.arg("-I").arg(tree().join("crates/plugin/include"));
    command.arg(tree().join("examples/plugin-c/drql.c")).arg("-lm");
    assert!(command.status().expect("a compiler for C").success(), "{command:?}");
    folder
}

fn justfull(folder: &TempDir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.args(args).current_dir(folder.path()).env_remove("JUSTFULL_DATA");
    command.output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn made(folder: &TempDir, args: &[&str]) -> String {
    let done = justfull(folder, args);
    assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
    text(&done.stdout)
}

fn refused(folder: &TempDir, args: &[&str]) -> String {
    let done = justfull(folder, args);
    let said = text(&done.stderr);
    assert_eq!((done.status.code(), said.matches("justfull: ").count()), (Some(2), 1), "{said}");
    said
}

/// The records of packets in `file`, without the name of the method.
fn packets(folder: &TempDir, file: &str, method: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.path().join(file)).expect("it is written");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.replace(&format!(",{method},"), ",M,")).collect()
}

#[test]
fn the_example_in_c_decides_as_the_built_in_limiter_packet_by_packet() {
    let folder = folder();
    for scenario in ["voip-over-lte", "nr-100mhz", "t20-shared", "upload-and-call"] {
        let all = ["--runs", "1", "--no-files", "-q", "--packets", "p.csv"];
        let grid: &[&str] = match scenario {
            "t20-shared" => &["--grid", "core.delay=[10ms]"],
            // The same settings under both names.
            "nr-100mhz" => &[
                "--set=rlc.limiter.growth=1.5",
                "--set=rlc.limiter.max=64",
                "--set=rlc.limiter.start=64",
                "--set=plugin.DRQL in C.growth=1.5",
                "--set=plugin.DRQL in C.max=64",
            ],
            _ => &[],
        };
        let plugin = ["run", scenario, "--method", "DRQL", "--plugin", "drql.so"];
        made(&folder, &[&plugin[..], &all, grid].concat());
        let names = fs::read_dir(folder.path()).expect("a folder").filter_map(|entry| {
            entry.expect("an entry").file_name().into_string().ok().filter(|n| n.ends_with(".csv"))
        });
        let (own, known): (Vec<String>, Vec<String>) = names.partition(|n| n.contains("DRQL_in_C"));
        assert_eq!((own.len(), known.len()), (1, 1), "{own:?} {known:?}");
        let (own, known) =
            (packets(&folder, &own[0], "DRQL in C"), packets(&folder, &known[0], "DRQL"));
        assert!(known.len() > 1000, "{scenario}: {} packets", known.len());
        assert!(own == known, "{scenario}: the packets differ");
        for name in fs::read_dir(folder.path()).expect("a folder") {
            let path = name.expect("an entry").path();
            if path.extension().is_some_and(|ending| ending == "csv") {
                fs::remove_file(path).expect("it is there");
            }
        }
    }
}

#[test]
fn the_results_name_the_library_and_its_hash_and_show_as_any_method() {
    let folder = folder();
    let short = ["--duration", "12s", "--runs", "1", "-q", "--out", "out"];
    let growth = ["--set", "plugin.DRQL in C.growth=1.5"];
    let short = [&short[..], &growth].concat();
    let run = ["run", "voip-over-lte", "--method", "Vanilla", "--plugin", "./drql.so"];
    let args = [&run[..], &short].concat();
    let said = made(&folder, &args);
    let hash = Command::new("sha256sum").arg(folder.path().join("drql.so")).output();
    let hash = text(&hash.expect("it runs").stdout)[..64].to_string();
    let source = format!("./drql.so, SHA-256 {hash}");
    assert!(said.contains(&format!("DRQL in C is Vanilla with the limiter of {source}")), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let settings = format!("rlc.limiter = {source} (growth 1.5, max 1024)");
    assert!(words.contains(&settings), "{said}");
    for file in ["out/result.json", "out/manifest.json", "out/report.html"] {
        let text = fs::read_to_string(folder.path().join(file)).expect("it is written");
        assert!(text.contains(&hash) && text.contains("DRQL in C"), "{file}");
    }
    let result = fs::read_to_string(folder.path().join("out/result.json")).expect("it is written");
    let resolved = "[plugin.\\\"DRQL in C\\\"]\\ngrowth = 1.5\\nmax = 1024.0\\n";
    assert!(result.contains(resolved), "{result}");
    made(&folder, &["plot", "out", "--kind", "bars", "--y", "delay.p99", "-o", "bars.svg"]);
    let bars = fs::read_to_string(folder.path().join("bars.svg")).expect("it is written");
    assert!(bars.contains("DRQL in C"));
    made(&folder, &["check", "out"]);
}

#[test]
fn check_lists_a_plugin_as_the_last_method_and_finds_the_mistakes_of_its_scenario() {
    let folder = folder();
    let said = made(&folder, &["check", "voip-over-lte", "--plugin", "drql.so", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let methods = found[0]["methods"].as_array().expect("a list");
    assert_eq!(methods.last().and_then(|name| name.as_str()), Some("DRQL in C"), "{found}");
    let known: serde_json::Value =
        serde_json::from_str(&made(&folder, &["check", "voip-over-lte", "--json"])).expect("JSON");
    assert_eq!(methods.len(), known[0]["methods"].as_array().expect("a list").len() + 1);

    let settings = &found[0]["plugins"][0]["settings"];
    assert_eq!((&settings[0]["name"], &settings[0]["default"]), (&"growth".into(), &1.2.into()));
    let said = made(&folder, &["check", "voip-over-lte", "--plugin", "drql.so"]);
    let told = "  plugin.DRQL in C.max = 1024 (1 to 1048576 packets): Greatest limit";
    assert!(said.contains(told), "{said}");

    let wrong = ["check", "voip-over-lte", "--plugin", "drql.so", "--set", "core.delay=-1s"];
    let told = refused(&folder, &wrong);
    assert!(told.contains("core.delay"), "{told}");
}

#[test]
fn a_wrong_setting_of_a_plugin_is_one_error_with_its_bounds() {
    let folder = folder();
    let scenario =
        fs::read_to_string(tree().join("scenarios/voip-over-lte.toml")).expect("it ships");
    let text = scenario + "\n[plugin.\"DRQL in C\"]\ngrowth = 40\n";
    let line = text.lines().count();
    fs::write(folder.path().join("own.toml"), text).expect("it is written");
    let plugin = ["check", "own.toml", "--plugin", "drql.so"];
    let told = refused(&folder, &plugin);
    let place = format!("own.toml:{line}:1: field `plugin.DRQL in C.growth`");
    assert!(told.contains(&format!("{place}: found 40, allowed is 1.01 to 16 times")), "{told}");
    let told = refused(&folder, &["run", "own.toml"]);
    let allowed = "allowed is those of a loaded plugin (`--plugin FILE`)";
    assert!(told.contains("field `plugin.DRQL in C`: found") && told.contains(allowed), "{told}");
    let ship = ["run", "voip-over-lte", "--plugin", "drql.so"];
    for (set, wrong) in [
        ("growth=nan", "growth` (set by --set): found NaN, allowed is 1.01 to 16 times"),
        ("growth=1.0", "growth` (set by --set): found 1, allowed is 1.01 to 16 times"),
        ("growth=fast", "growth` (set by --set): found string \"fast\", allowed is a number"),
        ("grow=2", "grow` (set by --set): found no such setting, allowed is one of growth, max"),
    ] {
        let set = format!("--set=plugin.DRQL in C.{set}");
        let told = refused(&folder, &[&ship[..], &[&set]].concat());
        assert!(told.contains(&format!("field `plugin.DRQL in C.{wrong}")), "{told}");
    }
    let told =
        refused(&folder, &[&ship[..], &["--grid", "plugin.Mine.growth=[1.2, 1.5]"]].concat());
    assert!(told.contains("allowed is one of DRQL in C"), "{told}");
    assert!(!folder.path().join("results").exists(), "nothing is written");
}

#[cfg(all(feature = "live", target_os = "linux"))]
#[test]
fn a_plugin_decides_over_real_packets_after_the_files_first_method() {
    if !justfull_net::chain::can_build() {
        return;
    }
    let folder = folder();
    let live = ["live", "live-lte", "--plugin", "./drql.so", "--flows", "--allow-late"];
    let short = ["--duration", "1500ms", "--set", "warmup=500ms", "--out", "out"];
    let command = ["--", "sleep", "100"];
    made(&folder, &[&live[..], &short, &command].concat());
    let text = fs::read_to_string(folder.path().join("out/result.json")).expect("it is written");
    let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let runs = result["groups"][0]["runs"].as_array().expect("a list");
    let methods: Vec<&str> = runs.iter().filter_map(|run| run["method"].as_str()).collect();
    assert_eq!((methods.len(), methods.last()), (2, Some(&"DRQL in C")), "{methods:?}");
    assert!(text.contains("./drql.so, SHA-256 "), "the library is named");
}

#[test]
fn a_plugin_that_cannot_run_is_refused_with_one_error() {
    let folder = folder();
    let run = |more: &[&str]| refused(&folder, &[&["run", "voip-over-lte"], more].concat());
    let told = run(&["--plugin", "none.so"]);
    assert!(told.contains("--plugin: none.so: found No such file"), "{told}");
    let told = run(&["--plugin", "drql.so", "--plugin", "drql.so"]);
    let name = "found the name `DRQL in C`, allowed is one that no other method has";
    assert!(told.contains(name), "{told}");
    let told = run(&["--plugin", "drql.so", "--plugin-base", "Nothing"]);
    assert!(told.contains("field `base`: found Nothing"), "{told}");
    let alone = justfull(&folder, &["run", "voip-over-lte", "--plugin-base", "DRQL"]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(text(&alone.stderr).contains("--plugin <FILE>"), "{}", text(&alone.stderr));
    // A file names no library: neither a scenario nor a setting.
    let told = run(&["--set", "rlc.limiter={kind=\"plugin\", file=\"drql.so\"}"]);
    assert!(told.contains("found `plugin`, allowed is one of"), "{told}");
    assert!(!folder.path().join("results").exists(), "nothing is written");
}

const CAMPAIGN: &str = "scenarios = [\"voip-over-lte\"]\nmethods = [\"DRQL\", \"Mine\"]\n\
                        seeds = 2\n[set]\nduration = \"11s\"\n[plugin.Mine]\nfile = \"drql.so\"\n";

#[test]
fn a_campaign_runs_its_plugins_only_where_the_command_allows_it() {
    let folder = folder();
    fs::write(folder.path().join("c.toml"), CAMPAIGN).expect("it is written");
    let told = refused(&folder, &["campaign", "run", "c.toml", "-q"]);
    assert!(told.contains("c.toml: plugin.Mine: found drql.so, allowed with --plugins"), "{told}");
    made(&folder, &["campaign", "run", "c.toml", "-q", "--plugins"]);
    let table = ["campaign", "table", "c.toml", "--against", "DRQL", "--json"];
    let table: serde_json::Value = serde_json::from_str(&made(&folder, &table)).expect("JSON");
    let rows = table["rows"].as_array().expect("rows");
    let mine: Vec<_> = rows.iter().filter(|row| row["method"] == "Mine").collect();
    assert!(!mine.is_empty(), "{table}");
    let told = made(&folder, &["campaign", "status", "c.toml", "--json"]);
    assert!(told.contains("\"done\":4"), "{told}");
    // A setting of the plugin concerns only its own jobs; a wrong one is refused before any.
    let with = |value: &str| {
        let set = format!("[set]\n\"plugin.Mine.growth\" = {value}\n");
        let text = CAMPAIGN.replace("[set]\n", &set);
        fs::write(folder.path().join("c.toml"), text).expect("it is written");
    };
    with("1.5");
    let told = made(&folder, &["campaign", "status", "c.toml", "--json"]);
    assert!(told.contains("\"done\":2"), "{told}");
    with("40");
    let told = refused(&folder, &["campaign", "run", "c.toml", "-q", "--plugins"]);
    let wrong = "`plugin.Mine.growth` (set by [set] of c.toml): found 40, allowed is 1.01 to 16";
    assert!(told.contains(wrong), "{told}");
    fs::write(folder.path().join("c.toml"), CAMPAIGN).expect("it is written");
    // Another library, other jobs.
    let library = folder.path().join("drql.so");
    let mut bytes = fs::read(&library).expect("it is there");
    bytes.extend(b"\n");
    fs::write(&library, bytes).expect("it is written");
    let told = made(&folder, &["campaign", "status", "c.toml", "--json"]);
    assert!(told.contains("\"done\":2"), "{told}");
    fs::remove_file(&library).expect("it is there");
    let told = refused(&folder, &["campaign", "status", "c.toml"]);
    assert!(told.contains("c.toml: plugin.Mine.file: found drql.so: No such file"), "{told}");
}
