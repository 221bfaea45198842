//! Wrong input: exit status 2 and one message that names file, line, field, the value found and the
//! values allowed; nothing is written.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

#[path = "bad_input/arguments.rs"]
mod arguments;
#[path = "bad_input/files.rs"]
mod files;
#[path = "bad_input/worlds.rs"]
mod worlds;

/// A valid scenario; every wrong scenario differs from it in one place.
const SOUND: &str = r#"title = "A download and a game"
duration = "1s"
methods = ["Vanilla"]

[channel]
kind = "constant"
per_slot = 4

[rlc]
queue = { limit = "100 packets" }

[[ue]]
[[ue.qos_flow]]
qfi = 3
priority = 1
[[ue.qos_flow]]
qfi = 9
priority = 2

[[flow]]
name = "bulk"
qfi = 9
[flow.tcp]

[[flow]]
name = "game"
qfi = 3
udp = { payload = "200B", interval = "20ms" }
"#;

/// `SOUND` on a trace.
fn on_trace() -> String {
    SOUND.replace("kind = \"constant\"\nper_slot = 4", "kind = \"trace\"\nfile = \"t.csv\"")
}

struct Trial {
    folder: TempDir,
    text: Vec<u8>,
    args: Vec<String>,
    data: Option<String>,
}

impl Trial {
    fn new(text: impl Into<Vec<u8>>) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        Self { folder, text: text.into(), args: Vec::new(), data: None }
    }

    /// `SOUND` with the one `from` replaced.
    fn change(from: &str, to: &str) -> Self {
        assert_eq!(SOUND.matches(from).count(), 1, "{from}");
        Self::new(SOUND.replace(from, to))
    }

    /// `SOUND` with further lines at its end.
    fn more(lines: &str) -> Self {
        Self::new(format!("{SOUND}\n{lines}"))
    }

    /// `SOUND` on the trace `bytes`.
    fn trace(bytes: &[u8]) -> Self {
        let trial = Self::new(on_trace());
        std::fs::write(trial.folder.path().join("t.csv"), bytes)
            .expect("the folder can be written");
        trial
    }

    fn with(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(ToString::to_string));
        self
    }

    fn run(&self) -> Output {
        std::fs::write(self.folder.path().join("my.toml"), &self.text)
            .expect("the folder can be written");
        self.run_file("my.toml", "out")
    }

    fn run_file(&self, file: &str, out: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
        command.args(["run", file, "--out", out, "-q", "-j", "1"]).args(&self.args);
        command
            .current_dir(&self.folder)
            .env_remove("JUSTFULL_DATA")
            .envs(self.data.iter().map(|d| ("JUSTFULL_DATA", d)));
        command.output().expect("the program starts")
    }

    /// Asserts that the run is refused with `message`; `*` matches any text.
    fn refused(&self, message: &str) {
        refused(&self.run(), message);
        let out = self.folder.path().join("out");
        assert!(!out.exists(), "something was written to {}", out.display());
    }

    fn accepted(&self) {
        let done = self.run();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(self.folder.path().join("out/runs.csv").is_file());
    }
}

/// Asserts that `done` was refused with this one message.
fn refused(done: &Output, message: &str) {
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "one message: {stderr}");
    assert!(done.stdout.is_empty(), "no table");
    assert!(
        fits(stderr.trim_end(), &format!("justfull: {message}")),
        "found    {stderr}expected justfull: {message}"
    );
}

/// True if `text` matches `pattern`, whose `*` match any text.
fn fits(text: &str, pattern: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let (middle, last) = rest.rsplit_once('*').map_or(("", rest), |(middle, last)| (middle, last));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        let Some((_, after)) = text.split_once(part) else { return false };
        text = after;
    }
    text.ends_with(last)
}

const TIME: &str = "allowed is a time with its unit, such as \"5ms\" (ns, us, ms, s, min, h)";

#[test]
fn the_scenario_that_the_wrong_ones_differ_from_is_sound() {
    Trial::new(SOUND).accepted();
}

#[test]
fn an_aqm_of_p06_is_refused_by_file_field_value_and_bound() {
    let on_rlc = |queue: &str| {
        Trial::change("queue = { limit = \"100 packets\" }", &format!("queue = {{ {queue} }}"))
    };
    for (aqm, message) in [
        ("kind = \"red\", min = \"30kB\"", "min`: found 30kB, allowed is below max, in its unit *"),
        ("kind = \"red\", max_p = 1.5", "max_p`: found 1.5, allowed is 0 to 1 *"),
        ("kind = \"pdpc\", n = 0", "n`: found 0, allowed is at least 1 *"),
        (
            "kind = \"ttlred1\", low = \"750ms\"",
            "low`: found 750ms, allowed is below half of high *",
        ),
        (
            "kind = \"ttlred2\", period = \"0s\"",
            "period`: found 0s, allowed is above 0s, at most 60s *",
        ),
    ] {
        on_rlc(&format!("aqm = {{ {aqm} }}"))
            .refused(&format!("my.toml:10:*: field `rlc.queue.aqm.{message}"));
    }
    on_rlc("limit = \"1499B\", aqm = { kind = \"pie\" }").refused(
        "my.toml:10:*: field `rlc.queue.limit`: found 1499B, allowed is at least the MTU, 1500B, *",
    );
    Trial::more("[sdap]\nqueue = { aqm = { kind = \"ared\" } }").refused(
        "my.toml:*: field `sdap.queue.aqm.kind`: found ared, allowed is an AQM that needs no rate*",
    );
    on_rlc("aqm = { kind = \"ared\" }").accepted();
}

#[test]
fn unknown_keys_are_named_with_their_neighbours_wherever_they_stand() {
    Trial::change("duration", "bogus = 1\nduration").refused(
        "my.toml:2:1: field `bogus`: found an unknown field, allowed is one of `title`, \
         *`switches`",
    );
    Trial::change("queue = {", "limiter = { kind = \"bdp_5g\", floorr = 1 }\nqueue = {").refused(
        "my.toml:10:30: field `rlc.limiter.floorr`: found an unknown field, allowed is one of \
         *`floor`*",
    );
    Trial::change("name = \"game\"", "name = \"game\"\nbogus = 1").refused(
        "my.toml:27:1: field `flow[1].bogus`: found an unknown field, allowed is one of `name`, *",
    );
    Trial::change("interval = \"20ms\"", "interval = { mean = \"20ms\", sdd = \"5ms\" }").refused(
        "my.toml:28:55: field `flow[1].udp.interval.sdd`: found an unknown field, allowed is \
         one of `mean`, `sd`, `exponential`; did you mean `sd`?",
    );
    Trial::more("[[method]]\nname = \"Own\"\nsett = 1").refused(
        "my.toml:32:1: field `method[0].sett`: found an unknown field, allowed is one of `name`, *",
    );
}

#[test]
fn an_error_names_the_method_that_set_a_value() {
    let own = |set: &str| {
        Trial::more(&format!("[[method]]\nname = \"Own\"\n[method.set]\n{set}"))
            .with(&["--method", "Own"])
    };
    own("\"rlc.bogus\" = 1").refused(
        "my.toml:33:1: field `rlc.bogus` (set by method Own): found an unknown field, allowed is \
         one of `queue`, `limiter`, `report_delay`, `f1`, `marking`, `mode`, `hold`",
    );
    own("\"rlc.limiter\" = { kind = \"bdp_5g\", foo = 1 }").refused(
        "my.toml:33:1: field `rlc.limiter.foo` (set by method Own): found an unknown field, \
         allowed is one of *",
    );
    own("\"mtu.x\" = 1")
        .refused("my.toml:33:1: field `mtu` (set by method Own): found a table, allowed is *");
    own("duration = \"2s\"").refused(
        "my.toml:33:1: field `duration` (set by method Own): found a setting that all methods \
         share, allowed is *",
    );
    own("\"rlc.queue.limit\" = \"0 packets\"").refused(
        "my.toml:33:1: field `rlc.queue.limit` (set by method Own): found 0 packets, allowed is \
         at least 1 packet *",
    );
    own("\"rlc..limit\" = 1")
        .refused("my.toml:33:1 (set by method Own): found `rlc..limit`, allowed is a dotted path");
}

#[test]
fn an_error_names_the_variant_sweep_or_switch_that_set_a_value() {
    Trial::more("[variants.odd]\n\"rlc.queue.limit\" = \"0 packets\"")
        .with(&["--variant", "odd"])
        .refused(
            "my.toml:31:1: field `rlc.queue.limit` (set by variant odd): found 0 packets, allowed \
             is *",
        );
    Trial::more("[switches.odd]\n\"rlc.queue.limit\" = 5").with(&["--switch", "odd"]).refused(
        "my.toml:31:1: field `rlc.queue.limit` (set by switch odd): found integer `5`, allowed is \
         *",
    );
    let sweep = |path: &str| {
        format!("[sweep]\npath = \"{path}\"\nlabel = \"i_ms\"\nvalues = [\"10ms\", \"x\"]")
    };
    Trial::more(&sweep("flow.game.udp.interval")).refused(
        "my.toml:33:1: field `flow[1].udp.interval` (set by sweep): found string \"x\", allowed \
         is a time *",
    );
    Trial::more(&sweep("flow.nobody.udp.interval")).refused(
        "my.toml:33:1: field `flow.nobody.udp.interval` (set by sweep): found no element that is \
         called `nobody` *",
    );
    Trial::more("[sweep]\npath = \"mtu\"\nlabel = \"mtu\"\nvalues = []")
        .refused("my.toml:33:1: field `sweep.values`: found none, allowed is at least one value");
}

#[test]
fn wrong_units_bare_numbers_and_negative_times_are_refused() {
    let duration = |value: &str| Trial::change("\"1s\"", value);
    duration("\"2 parsec\"")
        .refused(&format!("my.toml:2:1: field `duration`: found string \"2 parsec\", {TIME}"));
    duration("2").refused(&format!("my.toml:2:1: field `duration`: found integer `2`, {TIME}"));
    duration("-5").refused(&format!("my.toml:2:1: field `duration`: found integer `-5`, {TIME}"));
    duration("\"-5ms\"")
        .refused(&format!("my.toml:2:1: field `duration`: found string \"-5ms\", {TIME}"));
    duration("[]").refused(&format!("my.toml:2:1: field `duration`: found a list, {TIME}"));
    duration("\"0s\"").refused("my.toml:2:1: field `duration`: found 0s, allowed is above 0s, *");
    Trial::change("name = \"game\"", "name = \"game\"\nstart = \"-5ms\"")
        .refused(&format!("my.toml:27:1: field `flow[1].start`: found string \"-5ms\", {TIME}"));
    Trial::change("\"100 packets\"", "100").refused(
        "my.toml:10:11: field `rlc.queue.limit`: found integer `100`, allowed is a limit such as *",
    );
    let interval = |value: &str| Trial::change("\"20ms\"", value);
    interval("20").refused(
        "my.toml:28:27: field `flow[1].udp.interval`: found integer `20`, allowed is a time with \
         its unit such as \"20ms\", { mean = \"20ms\", sd = \"5ms\" } or \
         { exponential = \"20ms\" }",
    );
    interval("{ exponential = \"-2ms\" }").refused(&format!(
        "my.toml:28:40: field `flow[1].udp.interval.exponential`: found string \"-2ms\", {TIME}"
    ));
    interval("{ exponential = \"0.5us\" }").refused(
        "my.toml:28:27: field `flow[1].udp.interval`: found 500ns, allowed is at least 1us *",
    );
    interval("{ exponential = \"2ms\", sd = \"5ms\" }").refused(
        "my.toml:28:40: field `flow[1].udp.interval.exponential`: found two laws, normal and \
         exponential, allowed is a time with its unit such as \"20ms\", { mean = *",
    );
    interval("{ mean = \"-20ms\", sd = \"5ms\" }").refused(&format!(
        "my.toml:28:40: field `flow[1].udp.interval.mean`: found string \"-20ms\", {TIME}"
    ));
    interval("\"0ms\"").refused(
        "my.toml:28:27: field `flow[1].udp.interval`: found 0s, allowed is at least 1us *",
    );
    Trial::change("duration = \"1s\"", "duration = \"1s\"\nruns = -1").refused(
        "my.toml:3:1: field `runs`: found integer `-1`, allowed is a whole number from 0 to \
         4294967295",
    );
}

#[test]
fn values_out_of_bounds_are_refused_before_the_first_run() {
    let bulk = "name = \"bulk\"\nqfi = 9";
    Trial::change("qfi = 9\npriority", "qfi = 64\npriority").refused(
        "my.toml:17:1: field `ue[0].qos_flow[1].qfi`: found integer `64`, allowed is a QFI from 0 \
         to 63 (TS 23.501)",
    );
    Trial::change(bulk, "name = \"bulk\"\nqfi = 64").refused(
        "my.toml:22:1: field `flow[0].qfi`: found integer `64`, allowed is a QFI from 0 to 63 (TS \
         23.501)",
    );
    Trial::change(bulk, "name = \"bulk\"\nqfi = 8").refused(
        "my.toml:22:1: field `flow[0].qfi`: found 8, allowed is the QFI of one of the UE's QoS \
         flows *",
    );
    Trial::change("qfi = 3\npriority", "qfi = 9\npriority").refused(
        "my.toml:17:1: field `ue[0].qos_flow[1].qfi`: found 9, allowed is a QFI that no other *",
    );
    Trial::change("\"100 packets\"", "\"0 packets\"").refused(
        "my.toml:10:11: field `rlc.queue.limit`: found 0 packets, allowed is at least 1 packet or \
         1B, or \"unlimited\" *",
    );
    Trial::change("name = \"game\"", "name = \"game\"\nue = 7")
        .refused("my.toml:27:1: field `flow[1].ue`: found UE 7, allowed is 0: there is one UE");
    Trial::change("duration = \"1s\"", "duration = \"1s\"\nwarmup = \"1s\"")
        .refused("my.toml:3:1: field `warmup`: found 1s, allowed is below duration *");
    Trial::change("duration = \"1s\"", "duration = \"1s\"\nruns = 0")
        .refused("my.toml:3:1: field `runs`: found 0, allowed is 1 to 100000");
    Trial::change("\"200B\"", "\"2000B\"").refused(
        "my.toml:28:9: field `flow[1].udp.payload`: found *, allowed is 1B to the MTU less 28B of \
         headers *",
    );
    let no_ue = SOUND.replace(
        "[[ue]]\n[[ue.qos_flow]]\nqfi = 3\npriority = 1\n[[ue.qos_flow]]\nqfi = 9\npriority = 2\n",
        "",
    );
    Trial::new(format!("ue = []\n{no_ue}"))
        .refused("my.toml:1:1: field `ue`: found an empty list, allowed is at least one UE");
}

#[test]
fn fields_of_several_ues_and_flows_are_named_as_the_file_has_them() {
    let many = SOUND
        .replace("[[ue]]", "[[ue]]\ncount = 3\nqos_flow = [{ qfi = 9 }]\n[[ue]]\ncount = 2")
        .replace("qfi = 9\n[flow.tcp]", "qfi = 9\nues = 0\ncount = 2\n[flow.tcp]");
    let to_the_fourth = many.replace("qfi = 3\nudp", "qfi = 3\nue = 3\nudp");
    Trial::new(to_the_fourth.replace("qfi = 3\npriority", "qfi = 9\npriority")).refused(
        "my.toml:21:1: field `ue[1].qos_flow[1].qfi`: found 9, allowed is a QFI that no other *",
    );
    Trial::new(to_the_fourth.replace("\"20ms\"", "\"0ms\""))
        .refused("my.toml:35:27: field `flow[1].udp.interval`: found 0s, *");
    Trial::new(many).refused(
        "my.toml:33:1: field `flow[1].qfi`: found 3, allowed is the QFI of one of the UE's QoS \
         flows *",
    );
}

#[test]
fn missing_fields_are_named_with_the_table_that_should_have_them() {
    Trial::change("payload = \"200B\", ", "").refused(
        "my.toml:28:1: field `flow[1].udp.payload`: found nothing, allowed is a size with its \
         unit, *",
    );
    Trial::change("duration = \"1s\"\n", "")
        .refused(&format!("my.toml: field `duration`: found nothing, {TIME}"));
    Trial::change("title = \"A download and a game\"\n", "").refused(
        "my.toml: field `title`: found nothing, allowed is a value: the field is required",
    );
    Trial::change("name = \"bulk\"\n", "").refused(
        "my.toml:20:1: field `flow[0].name`: found nothing, allowed is a value: the field is \
         required",
    );
    Trial::change("queue = {", "limiter = { floor = 1 }\nqueue = {").refused(
        "my.toml:10:1: field `rlc.limiter.kind`: found nothing, allowed is one of `unlimited`, \
         `fixed`, *",
    );
    Trial::change("\"20ms\"", "{ mean = \"20ms\" }")
        .refused(&format!("my.toml:28:27: field `flow[1].udp.interval.sd`: found nothing, {TIME}"));
    Trial::change("\"20ms\"", "{ sd = \"2ms\" }").refused(&format!(
        "my.toml:28:27: field `flow[1].udp.interval.mean`: found nothing, {TIME}"
    ));
    Trial::change("udp = { payload = \"200B\", interval = \"20ms\" }\n", "").refused(
        "my.toml:26:1: field `flow[1].name`: found game, allowed is a flow with one table of \
         `tcp`, `udp`, *",
    );
    Trial::change("methods = [\"Vanilla\"]", "methods = []")
        .refused("my.toml:3:1: field `methods`: found none, allowed is at least one method");
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    Trial::change("\"Vanilla\"", "\"Vanila\"").refused(
        "my.toml:3:1: field `methods`: found Vanila, allowed is a method of *; did you mean \
         Vanilla?",
    );
    Trial::new(SOUND).with(&["--method", "Vanila"]).refused(
        "my.toml: field `--method`: found Vanila, allowed is a method of *; did you mean Vanilla?",
    );
    Trial::new(SOUND)
        .with(&["--variant", "odd"])
        .refused("my.toml: field `--variant`: found odd, allowed is one of sound");
    Trial::new(SOUND).with(&["--switch", "odd"]).refused(
        "my.toml: field `--switch`: found odd, allowed is none: the scenario has no switches",
    );
    Trial::change("queue = {", "limiter = { kind = \"bdp_6g\" }\nqueue = {").refused(
        "my.toml:10:13: field `rlc.limiter.kind`: found `bdp_6g`, allowed is one of `unlimited`, \
         `fixed`, *",
    );
    Trial::change("\"constant\"", "\"konstant\"").refused(
        "my.toml:6:1: field `channel.kind`: found `konstant`, allowed is one of `constant`, *",
    );
    Trial::new(SOUND)
        .with(&["--runs", "0"])
        .refused("my.toml: field `--runs`: found 0, allowed is 1 to 100000");
    Trial::new(SOUND)
        .with(&["--seed", "18446744073709551615"])
        .refused("my.toml: field `--seed`: found 18446744073709551615, *");
}

#[test]
fn settings_of_the_user_that_make_no_sense_are_refused() {
    let set = |text: &str| Trial::new(SOUND).with(&["--set", text]);
    set("foo").refused("--set: found `foo`, allowed is path=value");
    set("=1").refused("--set: found ``, allowed is a dotted path");
    set("foo=1").refused(
        "my.toml: field `foo` (set by --set): found an unknown field, allowed is one of *",
    );
    set("duratoin=1s")
        .refused("my.toml: field `duratoin` (set by --set): *; did you mean `duration`*?");
    set("flow.nobody.qfi=1").refused(
        "my.toml: field `flow.nobody.qfi` (set by --set): found no element that is called \
         `nobody` or has that index, *",
    );
    set("title.foo=1").refused(
        "my.toml: field `title.foo` (set by --set): found a value that is no table above `foo`, *",
    );
    set("rlc.limiter.floor=1").refused(
        "my.toml: field `rlc.limiter.floor` (set by --set): found no such setting, allowed is one \
         that is there: `rlc.limiter` is unlimited with nothing to set under Vanilla",
    );
    set("mtu=1500\ntitle=\"x\"")
        .refused("--set: found further settings after `mtu`, allowed is path=value");
    set(&format!("{}=1", vec!["a"; 20_000].join(".")))
        .refused("--set: found 20000 parts, allowed is a dotted path of at most 64 parts");
    set("duration=5")
        .refused(&format!("my.toml: field `duration` (set by --set): found integer `5`, {TIME}"));
    set("flow.game.udp.interval=5")
        .refused("my.toml: field `flow[1].udp.interval` (set by --set): found integer `5`, *");
}

/// The two settings that users most often try first.
#[test]
fn a_parameter_of_a_method_can_be_set() {
    let rows = |args: &[&str]| {
        let trial = Trial::new(SOUND).with(args);
        let done = trial.run();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let text =
            std::fs::read_to_string(trial.folder.path().join("out/runs.csv")).expect("it is there");
        text.replace("Limit10", "Limit20")
    };
    let set = rows(&["--method", "Limit10", "--set", "rlc.limiter.limit=20 packets"]);
    assert_eq!(set, rows(&["--method", "Limit20"]));
    assert_ne!(set, rows(&["--method", "Limit10"]));
    let poll = "sdap.poll={ period = \"1ms\" }";
    assert_ne!(
        rows(&[
            "--method",
            "DRQL",
            "--set",
            poll,
            "--set",
            "rlc.limiter.max=1",
            "--set",
            "rlc.limiter.start=1"
        ]),
        rows(&["--method", "DRQL", "--set", poll])
    );
}

#[test]
fn a_setting_that_takes_text_takes_what_looks_like_a_number() {
    let set = |value: &str| {
        let path = format!("flow[0].tcp.sender.kernel={value}");
        Trial::new(SOUND).with(&["--set", &path])
    };
    set("4.15").accepted();
    set("\"4.15\"").accepted();
    for wrong in ["4.150", "4", "1e3"] {
        set(wrong).refused(&format!(
            "my.toml: field `flow[0].tcp.sender.kernel` (set by --set): found `{wrong}`, allowed \
             is one of `rfc`, `4.15`, `5.3`, `5.18`, `6.18`*"
        ));
    }
    let grid = |list: &str| {
        let path = format!("flow[0].tcp.sender.kernel={list}");
        Trial::new(SOUND).with(&["--grid", &path])
    };
    grid("[4.15, 6.18]").accepted();
    grid("[4.15, 6.19]").refused(
        "my.toml: field `flow[0].tcp.sender.kernel` (set by sweep): found `6.19`, allowed is one \
         of `rfc`, `4.15`, `5.3`, `5.18`, `6.18`*",
    );
}
