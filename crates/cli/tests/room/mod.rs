//! A room for a test of live runs: this program again as process 1 of its own process, mount and
//! network namespaces, with an empty `/run`. The remains of a test stay in its room and end with
//! it; tests in other rooms do not see them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Set inside of a room.
const INSIDE: &str = "JUSTFULL_TEST_ROOM";
/// Longest life of a room.
const LIFE: Duration = Duration::from_secs(240);
/// The message of a late run: lateness is a property of this machine, which these tests do not
/// judge.
const LATE: &str = "justfull: the run is late";
/// Longest time that a run may take to end.
pub(crate) const END: Duration = Duration::from_secs(30);

static ROOM: Mutex<()> = Mutex::new(());

/// Runs the test of this name in a room; asserts that it ran there and that nothing is left. Only
/// root can; other users get a note, and `CI` fails.
pub(crate) fn room(test: &str, body: impl FnOnce(&Path)) {
    if std::env::var_os(INSIDE).is_some() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let before = left();
        body(folder.path());
        nothing_is_left_but(&before);
        return;
    }
    if fs::metadata("/proc/self").expect("/proc is there").uid() != 0 {
        println!("skipped: only root can make the room for {test}");
        assert!(std::env::var_os("CI").is_none(), "tests of live runs must not be skipped in CI");
        return;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    // `mount` keeps notes in /run/mount.
    let set_up = "mount -t tmpfs -o mode=755 room /run && mkdir -p /run/mount && ip link set lo \
                  up && exec \"$@\"";
    // A shell that runs the tests in the background makes them ignore SIGINT; a run to be
    // interrupted must not inherit that.
    unshare
        .args(["env", "--default-signal", "sh", "-c", set_up, "room"])
        .arg(std::env::current_exe().expect("this program"));
    unshare.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(INSIDE, "1");
    let said = tempfile::NamedTempFile::new().expect("a file can be made");
    let both = said.reopen().expect("a file can be opened");
    unshare.stdout(both.try_clone().expect("a descriptor can be copied")).stderr(both);
    // One after the other, so that they do not make each other late.
    let _alone = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
    let status = within(LIFE, &mut unshare.spawn().expect("`unshare` of util-linux is there"));
    let said = fs::read_to_string(said.path()).unwrap_or_default();
    let ran = said.contains("test result: ok. 1 passed");
    assert!(status.success() && ran, "{test} in its room: {status}\n{said}");
}

/// Waits for a process; kills it after `limit`.
pub(crate) fn within(limit: Duration, child: &mut Child) -> ExitStatus {
    let begin = now();
    loop {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            return status;
        }
        if begin.elapsed() > limit {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
            panic!("process {} did not end within {limit:?}", child.id());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[expect(clippy::disallowed_methods, reason = "real processes are waited for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits until `is_so`.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = now();
    while !is_so() {
        assert!(begin.elapsed() < END, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A run of `justfull` whose output goes to files, so that a surviving process with open files
/// blocks nobody.
pub(crate) struct Run {
    child: Child,
    folder: PathBuf,
}

/// The outcome of a run.
pub(crate) struct Ended {
    /// Exit status, or 128 + the signal that ended it; 0 for a run whose only fault is lateness.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    /// Standard error without the messages about lateness.
    pub(crate) stderr: String,
}

impl Ended {
    /// Reads the status and the output.
    pub(crate) fn of(status: ExitStatus, stdout: String, mut stderr: String) -> Self {
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).expect("it ended");
        let late = stderr.find(LATE);
        late.inspect(|at| stderr.truncate(*at));
        Self { code: if late.is_some() && code == 1 { 0 } else { code }, stdout, stderr }
    }

    /// The line of the error; panics unless there is exactly one.
    pub(crate) fn error(&self) -> &str {
        let lines: Vec<&str> =
            self.stderr.lines().filter(|line| line.starts_with("justfull: ")).collect();
        assert_eq!(lines.len(), 1, "one error: {}", self.stderr);
        lines[0]
    }
}

impl Run {
    /// Starts `program` with `arguments` in `folder`.
    pub(crate) fn of(program: &str, folder: &Path, arguments: &[&str]) -> Self {
        let file = |name: &str| File::create(folder.join(name)).expect("a file can be made");
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(folder)
            .env_remove("JUSTFULL_DATA")
            .stdin(Stdio::null());
        command.stdout(file("stdout")).stderr(file("stderr"));
        Self { child: command.spawn().expect("it starts"), folder: folder.into() }
    }

    /// Starts `justfull live live-lte` with `arguments` in `folder`.
    pub(crate) fn live(folder: &Path, arguments: &[&str]) -> Self {
        let mut all = vec!["live", "live-lte", "--set", "warmup=0s", "-q"];
        all.extend(arguments);
        Self::of(env!("CARGO_BIN_EXE_justfull"), folder, &all)
    }

    pub(crate) fn signal(&self, signal: &str) {
        assert!(self.try_signal(signal), "it ended before {signal}");
    }

    /// Sends a signal; false if it has ended before.
    pub(crate) fn try_signal(&self, signal: &str) -> bool {
        let sent = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        sent.expect("`kill` is there").success()
    }

    /// Waits for its end, at most [`END`].
    pub(crate) fn end(mut self) -> Ended {
        let status = within(END, &mut self.child);
        let text = |name: &str| fs::read_to_string(self.folder.join(name)).expect("its output");
        Ended::of(status, text("stdout"), text("stderr"))
    }
}

/// Runs `line` in a shell; panics if it fails.
pub(crate) fn sh(line: &str) -> String {
    let done = Command::new("sh").args(["-c", line]).output().expect("`sh` is there");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{line}: {text}{}", String::from_utf8_lossy(&done.stderr));
    text
}

/// The contents of the room beside this process, in words: other processes with their network
/// namespaces, interfaces, files in `/run`, mounted namespaces.
pub(crate) fn left() -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Ended orphans stay in the table: process 1 is this program, which reaps only its own
        // children.
        let ended = stat
            .rsplit_once(')')
            .is_none_or(|(_, rest)| rest.starts_with(" Z") || rest.starts_with(" X"));
        if pid != std::process::id() && !ended {
            let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let namespace = fs::read_link(format!("/proc/{pid}/ns/net")).unwrap_or_default();
            found.push(format!(
                "process {:?} in {}",
                command.replace('\0', " "),
                namespace.display()
            ));
        }
    }
    let devices = fs::read_to_string("/proc/net/dev").expect("interfaces");
    found.extend(
        devices
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, _)| format!("interface {}", name.trim())),
    );
    found
        .extend(groups(&fs::metadata("/proc/self/ns/pid").expect("a namespace").ino().to_string()));
    found.extend(files(Path::new("/run")).iter().map(|path| format!("file {}", path.display())));
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    found.extend(mounts.lines().filter(|line| line.contains("nsfs")).map(str::to_owned));
    found.sort();
    found
}

/// Control groups made by runs in the process namespace of this number.
fn groups(namespace: &str) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let Some(mount) = line.and_then(|line| line.split(' ').nth(4)) else { return Vec::new() };
    let ours = format!("justfull-{namespace}-");
    let listed =
        Command::new("find").args([mount, "-type", "d", "-name", &format!("{ours}*")]).output();
    let listed = listed.expect("`find` is there");
    String::from_utf8_lossy(&listed.stdout).lines().map(|line| format!("cgroup {line}")).collect()
}

/// All files and folders in a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found
}

/// The entries of `after` that `before` lacks. Disappeared entries do not count: another program's
/// namespace, inherited as a mount in this room, ends with its owner.
pub(crate) fn new_in<'a>(after: &'a [String], before: &[String]) -> Vec<&'a String> {
    let mut known = before.to_vec();
    let is_new = |one: &&String| match known.iter().position(|other| other == *one) {
        Some(at) => {
            known.swap_remove(at);
            false
        }
        None => true,
    };
    after.iter().filter(is_new).collect()
}

/// A killed process takes a moment to end.
pub(crate) fn nothing_is_left_but(before: &[String]) {
    let begin = now();
    loop {
        let after = left();
        let new = new_in(&after, before);
        if new.is_empty() {
            return;
        }
        assert!(begin.elapsed() < END, "left: {new:#?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A JSON file of the results.
pub(crate) fn json(path: impl AsRef<OsStr>) -> serde_json::Value {
    let path = Path::new(path.as_ref());
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).expect("it is sound")
}
