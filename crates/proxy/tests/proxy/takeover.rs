//! New proxies that are killed while they take over from another.

use super::*;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A new proxy that stops at its log, a named pipe, until a program reads that.
struct Halted {
    proxy: Child,
    folder: tempfile::TempDir,
}

impl Halted {
    fn start(world: &World) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        nix::unistd::mkfifo(&log, Mode::S_IRWXU).expect("a named pipe");
        let text = fs::read_to_string(world.path("rapid.toml")).expect("the configuration");
        let own = format!("{:?}", world.path("log"));
        assert!(text.contains(&own), "{text}");
        let text = text.replace(&own, &format!("{log:?}"));
        fs::write(folder.path().join("rapid.toml"), text).expect("a file");
        Self { proxy: launch(&world.chain, &folder, true, &[]), folder }
    }

    /// Waits until it opens its log; then it has received everything.
    fn until_it_has_everything(&mut self) {
        until("it stands at its log", || {
            assert!(self.proxy.try_wait().expect("a child").is_none(), "the new proxy ended");
            threads(self.proxy.id()).any(|thread| {
                let waits_in = fs::read_to_string(thread.join("wchan"));
                waits_in.is_ok_and(|place| place == "wait_for_partner")
            })
        });
    }

    /// Reads its log, so that it continues.
    fn release(&self) -> fs::File {
        let mut how = fs::OpenOptions::new();
        how.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
        how.open(self.folder.path().join("log")).expect("a named pipe")
    }

    fn kill(mut self) {
        self.proxy.kill().expect("it lives");
        self.proxy.wait().expect("a child");
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        // It may have ended; or the test has failed, and it would block for ever.
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

/// The kernel's folder of each thread of a process.
fn threads(id: u32) -> impl Iterator<Item = PathBuf> {
    let folder = fs::read_dir(format!("/proc/{id}/task")).expect("it lives");
    folder.flatten().map(|entry| entry.path())
}

/// The kernel's state of a thread.
fn state(thread: &Path) -> Option<char> {
    let stat = fs::read_to_string(thread.join("stat")).ok()?;
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// Stops a process. The signal stops its threads one after the other, and some run meanwhile.
fn stop(id: u32) {
    kill(Pid::from_raw(id.cast_signed()), Signal::SIGSTOP).expect("it lives");
    until("it has stopped", || threads(id).all(|thread| state(&thread) == Some('T')));
}

/// Open files of a process beside its standard streams, by the kernel's names.
fn open_files(id: u32) -> BTreeSet<String> {
    let folder = fs::read_dir(format!("/proc/{id}/fd")).expect("it lives");
    let others = folder.flatten().filter(|entry| {
        let number: Option<u32> = entry.file_name().to_str().and_then(|name| name.parse().ok());
        number > Some(2)
    });
    others
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// True if a byte waits to be read at a connection of the socket for requests.
fn a_word_waits(world: &World) -> bool {
    let run = || Command::new("ss").args(["-xnH"]).output();
    let output = world.chain.inside(Place::Middle, run).expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let socket = world.path("socket");
    let socket = socket.to_str().expect("a name");
    text.lines().filter(|line| line.contains(socket)).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[1..3] == ["ESTAB", "1"]
    })
}

/// How often the old proxy has logged that it continues.
fn failures(world: &World) -> usize {
    fs::read_to_string(world.path("log")).expect("a log").matches("takeover failed").count()
}

#[test]
fn a_new_proxy_that_is_killed_leaves_the_old_one_with_every_connection() {
    if !can_build() {
        return;
    }
    let mut world = World::new("");
    let old = world.proxy.id();
    let [v4, v6] = [world.serve(0, sender), world.serve(1, sender)];
    let mut client = world.connect(1, v4, 0).expect("it connects");
    client.write_all(&request(11, 60_000_000)).expect("it is sent");
    let mut silent = world.connect(2, v6, 0).expect("it connects");
    let mut got = Vec::new();
    let mut goes_on = |world: &World| {
        until("the old proxy goes on", || world.status()["process"] == old);
        until("both connections are there", || world.status()["flows"] == 2);
        let mut part = vec![0; 10_000_000];
        client.read_exact(&mut part).expect("more of it");
        got.extend_from_slice(&part);
        assert!(download(world, v6, 8, 300_000), "new connections are served");
        // The client stops reading, so there is data in the proxy.
        until("a pipe holds data", || world.status()["pipes"] == 1);
    };
    goes_on(&world);
    // One has sent its request and received nothing: the old one is stopped.
    stop(world.proxy.id());
    let mut halted = Halted::start(&world);
    until("it asks", || {
        assert!(halted.proxy.try_wait().expect("a child").is_none(), "the new proxy ended");
        open_files(halted.proxy.id()).iter().any(|name| name.starts_with("socket:"))
    });
    halted.kill();
    world.signal(Signal::SIGCONT);
    goes_on(&world);
    // One has received everything, and is not ready.
    let before = failures(&world);
    let mut halted = Halted::start(&world);
    halted.until_it_has_everything();
    halted.kill();
    goes_on(&world);
    until("it is told", || failures(&world) == before + 1);
    // One has sent READY, and the old one has not received it.
    let mut halted = Halted::start(&world);
    halted.until_it_has_everything();
    stop(world.proxy.id());
    let _log = halted.release();
    until("it is ready", || a_word_waits(&world));
    halted.kill();
    world.signal(Signal::SIGCONT);
    goes_on(&world);
    until("it is told", || failures(&world) == before + 2);
    // One that survives takes over everything.
    world.take_over();
    client.shutdown(Shutdown::Write).expect("it is open");
    client.read_to_end(&mut got).expect("all of it");
    assert_eq!(got.len(), 60_000_000);
    assert_eq!(Sha256::digest(&got), Sha256::digest(data(11, 60_000_000)));
    silent.write_all(&request(12, 100_000)).expect("it is sent");
    silent.shutdown(Shutdown::Write).expect("it is open");
    let mut last = Vec::new();
    silent.read_to_end(&mut last).expect("all of it");
    assert_eq!(last, data(12, 100_000));
}

/// If a process is stopped and continues, a wait with a time limit ends early (signal(7)). This is
/// no answer of the old proxy.
#[test]
fn a_new_proxy_that_is_stopped_before_the_word_comes_takes_it_all_the_same() {
    if !can_build() {
        return;
    }
    let mut world = World::new("");
    let server = world.serve(0, sender);
    let mut client = world.connect(1, server, 0).expect("it connects");
    client.write_all(&request(13, 20_000_000)).expect("it is sent");
    let mut got = vec![0; 1_000_000];
    client.read_exact(&mut got).expect("a part of it");
    until("a pipe holds data", || world.status()["pipes"] == 1);
    let mut next = Halted::start(&world);
    next.until_it_has_everything();
    stop(world.proxy.id());
    let _log = next.release();
    until("it is ready", || a_word_waits(&world));
    let new = next.proxy.id();
    stop(new);
    kill(Pid::from_raw(new.cast_signed()), Signal::SIGCONT).expect("it lives");
    until("it waits again", || threads(new).all(|thread| state(&thread) == Some('S')));
    world.signal(Signal::SIGCONT);
    until("the old proxy ends", || world.proxy.try_wait().expect("a child").is_some());
    until_ready(&mut next.proxy, &next.folder);
    std::mem::swap(&mut world.proxy, &mut next.proxy);
    client.shutdown(Shutdown::Write).expect("it is open");
    client.read_to_end(&mut got).expect("all of it");
    assert_eq!(Sha256::digest(&got), Sha256::digest(data(13, 20_000_000)));
}
