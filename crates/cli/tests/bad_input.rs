//! Wrong input: exit status 2 and one message that names file, line, field, the value found and the
//! values allowed; nothing is written.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

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
fn what_a_method_sets_is_said_to_be_the_methods() {
    let own = |set: &str| {
        Trial::more(&format!("[[method]]\nname = \"Own\"\n[method.set]\n{set}"))
            .with(&["--method", "Own"])
    };
    own("\"rlc.bogus\" = 1").refused(
        "my.toml:33:1: field `rlc.bogus` (set by method Own): found an unknown field, allowed is \
         one of `queue`, `limiter`, `report_delay`, `mode`, `hold`",
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
fn what_a_variant_a_sweep_or_a_switch_sets_is_said_to_be_theirs() {
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
    Trial::new(in_two_cells(["west", "west"], "cell = \"west\""))
        .refused("my.toml:15:*: field `cell[1].name`: found west, allowed is each name once*");
    Trial::change(
        "[[ue]]\n[[ue.qos_flow]]\nqfi = 3",
        "[[ue]]\ncell = \"a\"\n[[ue.qos_flow]]\nqfi = 3",
    )
    .refused("my.toml:13:*: field `ue[0].cell`: found a, allowed is none: there is no *");
}

#[test]
fn the_uplink_of_ues_that_move_has_the_rlc_of_nr() {
    let text = include_str!("../../../scenarios/upload-and-call.toml");
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

#[test]
fn traces_that_are_absent_or_wrong_are_refused_with_file_and_line() {
    let field = "my.toml:7:1: field `channel.file`:";
    Trial::new(on_trace())
        .refused(&format!("{field} t.csv: not found * JUSTFULL_DATA is not set; allowed is *"));
    let elsewhere = Trial { data: Some("/nowhere".into()), ..Trial::new(on_trace()) };
    elsewhere.refused(&format!("{field} t.csv: not found; looked for * and /nowhere/t.csv"));
    Trial::trace(b"").refused(&format!("{field} t.csv: found no header line, allowed is *"));
    Trial::trace(b"packets_per_10ms\n")
        .refused(&format!("{field} t.csv: found no rows, allowed is at least one row *"));
    Trial::trace(b"bytes\n5\n").refused(&format!(
        "{field} t.csv:1: column `packets_per_10ms`: found `bytes`, allowed is *"
    ));
    Trial::trace(b"packets_per_10ms\n5\nfoo\n").refused(&format!(
        "{field} t.csv:3: column `packets_per_10ms`: found `foo`, allowed is a whole number *"
    ));
    let gzip = gzip(b"packets_per_10ms\n5\n7\n");
    Trial::trace(&gzip[..gzip.len() - 12])
        .refused(&format!("{field} t.csv: found a read error *, allowed is *gzip*"));
    let folder = Trial::new(on_trace());
    std::fs::create_dir(folder.folder.path().join("t.csv")).expect("the folder can be written");
    folder.refused(&format!("{field} t.csv: found a directory, allowed is a regular file"));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

#[test]
fn traces_and_scenarios_of_other_systems_are_accepted() {
    Trial::trace(b"packets_per_10ms\r\n5\r\n7\r\n").accepted();
    Trial::trace(b"\xef\xbb\xbfpackets_per_10ms\n5\n7\n").accepted();
    Trial::trace(&gzip(b"packets_per_10ms\n5\n7\n")).accepted();
    Trial::new(format!("\u{feff}{}", SOUND.replace('\n', "\r\n"))).accepted();
}

#[test]
fn a_byte_order_mark_does_not_move_lines_and_columns() {
    let text = format!("\u{feff}{}", SOUND.replace("\"1s\"", "2").replace('\n', "\r\n"));
    Trial::new(text).refused(&format!("my.toml:2:1: field `duration`: found integer `2`, {TIME}"));
}

#[test]
fn scenario_files_that_cannot_be_read_are_refused() {
    Trial::new(b"\xff\xfe".to_vec())
        .refused("my.toml: found not UTF-8 text, allowed is a readable scenario file");
    Trial::change("\"A download and a game\"", "\"A download")
        .refused("my.toml:1:20: found invalid basic string, allowed is TOML, *");
    Trial::change("duration", "title = \"again\"\nduration")
        .refused("my.toml:2:1: found duplicate key, allowed is TOML");
    Trial::new("").refused("my.toml: field `title`: found nothing, *");
    let trial = Trial::new(SOUND);
    refused(
        &trial.run_file("absent.toml", "out"),
        "absent.toml: found No such file *, or the name of a shipped one (`justfull list`)",
    );
    refused(
        &trial.run_file("cloud-gamin", "out"),
        "cloud-gamin: found No such file *, or the name of a shipped one (`justfull list`); did \
         you mean cloud-gaming?",
    );
    refused(&trial.run_file(".", "out"), ".: found a directory, allowed is a regular file");
    assert!(!trial.folder.path().join("out").exists());
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_first_run() {
    let trial = Trial::new(SOUND);
    std::fs::write(trial.folder.path().join("my.toml"), SOUND).expect("the folder can be written");
    std::fs::write(trial.folder.path().join("file"), "mine").expect("the folder can be written");
    for out in ["file", "file/below"] {
        let allowed = "allowed is a folder that can be written";
        refused(&trial.run_file("my.toml", out), &format!("--out: found {out}: *, {allowed}"));
    }
    let kept = std::fs::read(trial.folder.path().join("file")).expect("it is there");
    assert_eq!(kept, b"mine");
}

#[test]
fn one_wrong_scenario_of_several_stops_all() {
    let trial = Trial::change("\"1s\"", "1").with(&["t20-individual"]);
    trial.refused(&format!("my.toml:2:1: field `duration`: found integer `1`, {TIME}"));
    assert!(!Path::new("results").exists());
}

/// Faults that a proxy refuses, by label.
#[test]
fn what_a_proxy_refuses_is_one_message_each() {
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
        ("an upload", tcp("direction = \"up\""), proxied("23:1: field `flow[0]")),
        ("QUIC", tcp("protocol = \"udp\""), proxied("23:1: field `flow[0]")),
    ] {
        println!("{label}");
        trial.refused(&message);
    }
}

/// Faults that the channel `umi` refuses, by label.
#[test]
fn what_a_street_refuses_is_one_message_each() {
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
fn a_live_run_refuses_a_scenario_and_a_method_with_a_proxy() {
    let of = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
        let folder = tempfile::tempdir().expect("a folder can be made");
        let text = format!("{SOUND}\n[proxy]\ncontrol = \"equal_share\"");
        std::fs::write(folder.path().join("my.toml"), text).expect("the folder can be written");
        let done = command.arg("live").args(args).current_dir(&folder).output();
        let written = std::fs::read_dir(&folder).expect("it is there").count();
        assert_eq!(written, 1, "nothing but the scenario");
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
}

#[test]
fn an_unknown_control_is_refused_with_the_known_ones_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    let done = command.args(["validate", "tahoe", "--out", "out"]).current_dir(&folder).output();
    let message = "control: found tahoe, allowed is one of new_reno, cubic, bbr, bbr3, vegas, \
                   westwood, yeah, fixed, prague, dctcp, by-hand, all";
    refused(&done.expect("the program starts"), message);
    assert!(!folder.path().join("out").exists());
}

/// Reading a pipe or a device might never end.
#[test]
#[cfg(unix)]
fn a_scenario_that_is_no_regular_file_is_refused() {
    let trial = Trial::new(SOUND);
    let pipe = trial.folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    refused(&trial.run_file("pipe", "out"), "pipe: found a pipe, allowed is a regular file");
    refused(
        &trial.run_file("/dev/zero", "out"),
        "/dev/zero: found a device, allowed is a regular file",
    );
}

/// Text of a file or an argument must not control the terminal.
#[test]
fn messages_hold_no_control_characters() {
    let clear = "\u{1b}[2J\u{7}\u{9b}2J";
    let toml =
        clear.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007").replace('\u{9b}', "\\u009b");
    for trial in [
        Trial::change("\"Vanilla\"", &format!("\"{toml}\"")),
        Trial::change("duration", &format!("\"{toml}\" = 1\nduration")),
        Trial::new(SOUND).with(&["--method", clear]),
        Trial::new(SOUND).with(&["--set", &format!("{clear}=1")]),
        Trial::new(SOUND).with(&[&format!("--{clear}")]),
        Trial::new(SOUND).with(&["--runs", clear]),
    ] {
        let done = trial.run();
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("\\u{1b}") || stderr.contains("\\u{9b}"), "it is told: {stderr}");
        assert!(!stderr.chars().any(|c| c.is_control() && c != '\n'), "{stderr:?}");
    }
}

/// Tables, notes and figures show text of files without control characters too.
#[test]
fn tables_and_reports_hold_no_control_characters() {
    let toml = "\\u001b[2J\\u0007\\u009b2J";
    let trial = Trial::new(
        SOUND
            .replace("title = \"", &format!("title = \"{toml}"))
            .replace("name = \"", &format!("name = \"{toml}")),
    );
    let done = trial.run();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert_eq!(done.status.code(), Some(0), "{stderr}");
    let clean = |what: &str, text: &str| {
        assert!(
            !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')),
            "{what}: {text:?}"
        );
    };
    clean("standard output", &stdout);
    let out = trial.folder.path().join("out");
    let figures = std::fs::read_dir(out.join("figures")).expect("there are figures");
    let figures = figures.map(|entry| entry.expect("an entry").path());
    for path in figures.chain([out.join("report.html")]) {
        clean(&path.display().to_string(), &std::fs::read_to_string(&path).expect("text"));
    }
}

/// `check` prints a line for each mistake and accepts the arguments of `run`.
#[test]
fn check_tells_every_mistake_of_every_file() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let wrong = SOUND
        .replace("duration = \"1s\"", "duration = 1\nbogus = 1")
        .replace("\"200B\"", "\"2000B\"");
    std::fs::write(folder.path().join("a.toml"), wrong).expect("the folder can be written");
    let wrong =
        format!("{SOUND}\n[switches.odd]\nmtx = 1\n[variants.odd]\n\"rlc.queue.limit\" = 5\n");
    std::fs::write(folder.path().join("b.toml"), wrong).expect("the folder can be written");
    std::fs::write(folder.path().join("c.toml"), SOUND).expect("the folder can be written");
    let check = |args: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_justfull"))
            .arg("check")
            .args(args)
            .current_dir(&folder)
            .output();
        let done = done.expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let (code, stdout, stderr) = check(&["a.toml", "b.toml", "c.toml"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stdout.starts_with("c.toml: sound; 1 runs (1 methods, 1 points)\n"), "{stdout}");
    let told = [
        "a.toml:2:1: field `duration`",
        "a.toml:3:1: field `bogus`",
        "a.toml:29:9: field `flow[1].udp.payload`",
        "b.toml:31:1: field `mtx` (set by switch odd)",
        "b.toml:33:1: field `rlc.queue.limit` (set by variant odd)",
    ];
    assert_eq!(stderr.lines().count(), told.len(), "{stderr}");
    for message in told {
        assert!(
            stderr.lines().any(|line| line.starts_with(&format!("justfull: {message}"))),
            "{message}: {stderr}"
        );
    }
    let (code, _, stderr) = check(&["c.toml", "--set", "mtuu=1"]);
    assert!(code == Some(2) && stderr.contains("did you mean `mtu`?"), "{stderr}");
    let (code, stdout, stderr) = check(&[
        "c.toml",
        "--method",
        "Limit10",
        "--method",
        "Vanilla",
        "--set",
        "rlc.limiter.limit=20 packets",
    ]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.starts_with("c.toml: sound; 2 runs (2 methods, 1 points)\n"), "{stdout}");
    assert!(stderr.contains("--set rlc.limiter.limit does not apply to Vanilla"), "{stderr}");
    let many: String = (0..30).map(|i| format!("[switches.s{i}]\nmtx{i} = 1\n")).collect();
    std::fs::write(folder.path().join("many.toml"), format!("{SOUND}\n{many}"))
        .expect("it can be written");
    let (_, _, stderr) = check(&["many.toml"]);
    assert_eq!(stderr.lines().count(), 21, "{stderr}");
    assert!(stderr.contains("many.toml: 30 mistakes, the first 20 are shown"), "{stderr}");
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
