//! The network on this machine: real namespaces, real TUN devices, the kernel's own TCP.
//!
//! Each test makes its own network and removes it. Without the right to do so a test says that it
//! was skipped; under `CI` that is a failure.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use justfull_net::Port;
use justfull_net::chain::can_build;
use justfull_net::{
    Attached, Network, NetworkConfig, Running, Side, Stop, UeNetwork, attach, sweep,
};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::Pid;

/// The part that this test program plays when a test starts it again.
const ROLE: &str = "JUSTFULL_TEST_ROLE";
/// Seconds that the commands of a killed process sleep: an argument that no other process has.
const SECONDS: &str = "JUSTFULL_TEST_SECONDS";
const UE: Side = Side::Ue(0);

fn argv(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn shell_command(network: &Network, side: Side, script: &str) -> Running {
    network.run(side, &argv(&["sh", "-c", script]), &[]).expect("sh starts")
}

/// The text that `script` prints on `side`, and its exit code.
fn output(network: &Network, side: Side, script: &str) -> (String, u8) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let script = format!("exec >{} 2>&1; {script}", file.path().display());
    let status = shell_command(network, side, &script).wait().expect("a status");
    (fs::read_to_string(file.path()).expect("its output"), Running::exit_code(status))
}

/// Copies the datagrams that wait, and returns their number.
fn copy(from: &mut impl Port, to: &mut impl Port, buffer: &mut [u8]) -> io::Result<usize> {
    let mut copied = 0;
    while let Some(length) = from.receive(buffer)? {
        assert!(to.send(&buffer[..length])?, "an idle interface takes what is written to it");
        copied += 1;
    }
    Ok(copied)
}

/// Builds a network with one UE, and does `work` while another thread copies datagrams between its
/// two sides.
fn joined(config: &NetworkConfig, work: impl FnOnce(&Network)) {
    let mut network = Network::build(config).expect("a network");
    let mut server = network.take_tun(Side::Server).expect("the server's device");
    let mut ue = network.take_tun(UE).expect("the UE's device");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = vec![0; 65_536];
            while !stop.load(Ordering::Relaxed) {
                let down =
                    copy(&mut server, &mut ue, &mut buffer).expect("the server's device works");
                let up = copy(&mut ue, &mut server, &mut buffer).expect("the UE's device works");
                if down + up == 0 {
                    thread::sleep(Duration::from_micros(100));
                }
            }
        });
        let _stops = Stops(&stop);
        work(&network);
    });
}

/// Ends the copying on every way out, also after a failed assertion.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn waits<T>(socket: T, set: impl Fn(&T, Option<Duration>) -> io::Result<()>) -> io::Result<T> {
    set(&socket, Some(Duration::from_secs(10)))?;
    Ok(socket)
}

fn echo(network: &Network, family: usize) {
    let (server, ue) = (Side::Server.addresses()[family], UE.addresses()[family]);
    let bind = |side, address: IpAddr| {
        network
            .inside(side, || waits(UdpSocket::bind((address, 0))?, UdpSocket::set_read_timeout))
            .expect("a socket")
    };
    let (at_server, at_ue) = (bind(Side::Server, server), bind(UE, ue));
    let target = at_server.local_addr().expect("its address");
    for length in [1_usize, 500, 1400] {
        let sent = vec![0x5a; length];
        at_ue.send_to(&sent, target).expect("sent");
        let mut buffer = [0; 2000];
        let (received, from) = at_server.recv_from(&mut buffer).expect("it arrives");
        assert_eq!((&buffer[..received], from.ip()), (&sent[..], ue));
        at_server.send_to(&buffer[..received], from).expect("sent back");
        let (received, from) = at_ue.recv_from(&mut buffer).expect("the answer arrives");
        assert_eq!((&buffer[..received], from), (&sent[..], target));
    }
}

#[test]
fn datagrams_of_both_families_go_there_and_back() {
    if !can_build() {
        return;
    }
    joined(&NetworkConfig::new(1), |network| (0..2).for_each(|family| echo(network, family)));
}

#[test]
fn the_route_names_the_congestion_control_of_each_side() {
    const BYTES: usize = 4_000_000;
    if !can_build() {
        return;
    }
    let mut config = NetworkConfig::new(1);
    config.ues[0] = UeNetwork { down: Some("cubic".into()), up: Some("reno".into()) };
    joined(&config, |network| {
        for address in Side::Server.addresses() {
            let listener = network
                .inside(Side::Server, || TcpListener::bind((address, 0)))
                .expect("a listener");
            let target: SocketAddr = listener.local_addr().expect("its address");
            let connect = || TcpStream::connect_timeout(&target, Duration::from_secs(10));
            let mut at_ue = network
                .inside(UE, || waits(connect()?, TcpStream::set_read_timeout))
                .expect("a connection");
            let (mut at_server, _) = listener.accept().expect("its other end");
            assert_eq!(getsockopt(&at_server, sockopt::TcpCongestion).expect("a name"), *"cubic");
            assert_eq!(getsockopt(&at_ue, sockopt::TcpCongestion).expect("a name"), *"reno");

            let sent: Vec<u8> = (0..BYTES).map(|i| (i % 251) as u8).collect();
            let mut received = Vec::new();
            thread::scope(|scope| {
                scope.spawn(|| {
                    at_server.write_all(&sent).expect("sent");
                    at_server.shutdown(std::net::Shutdown::Write).expect("closed");
                });
                at_ue.read_to_end(&mut received).expect("received");
            });
            assert!(
                received == sent,
                "{} bytes of {} arrived, or others",
                received.len(),
                sent.len()
            );
        }
    });
}

#[test]
fn receive_buffers_grow_to_what_the_configuration_says_on_every_host() {
    if !can_build() {
        return;
    }
    let sizes = |receive_buffer| {
        let config = NetworkConfig { proxy: true, receive_buffer, ..NetworkConfig::new(1) };
        let network = Network::build(&config).expect("a network");
        [Side::Server, UE, Side::Proxy].map(|side| {
            let (text, status) = output(&network, side, "cat /proc/sys/net/ipv4/tcp_rmem");
            assert_eq!(status, 0);
            let numbers = text.split_ascii_whitespace().map(|word| word.parse::<u32>());
            numbers.collect::<Result<Vec<_>, _>>().expect("three numbers")
        })
    };
    let [usual, ..] = sizes(None);
    assert_ne!(usual[2], 3_000_000, "as a test must not begin");
    let expected = vec![usual[0], usual[1], 3_000_000];
    assert_eq!(sizes(Some(3_000_000)), [expected.clone(), expected.clone(), expected]);
}

#[test]
fn each_segment_behind_a_hole_is_acknowledged_where_the_configuration_says_so() {
    if !can_build() {
        return;
    }
    let waiting = |acknowledge_each| {
        let config = NetworkConfig { proxy: true, acknowledge_each, ..NetworkConfig::new(1) };
        let network = Network::build(&config).expect("a network");
        [Side::Server, UE, Side::Proxy].map(|side| {
            output(&network, side, "cat /proc/sys/net/ipv4/tcp_comp_sack_nr").0.trim().to_owned()
        })
    };
    assert_eq!(waiting(true), ["0", "0", "0"]);
    assert!(waiting(false).iter().all(|most| most != "0"), "the kernel's default");
}

#[test]
fn a_network_says_nothing_by_itself() {
    if !can_build() {
        return;
    }
    let mut network = Network::build(&NetworkConfig::new(1)).expect("a network");
    // Router solicitations go out after a second, multicast reports within one.
    thread::sleep(Duration::from_millis(2500));
    for side in [Side::Server, UE] {
        let mut tun = network.take_tun(side).expect("its device");
        let mut buffer = [0; 2000];
        let length = tun.receive(&mut buffer).expect("the device works");
        assert_eq!(length.map(|length| buffer[..length].to_vec()), None, "{side}");
    }
}

#[test]
fn many_ues_have_addresses_of_their_own_and_a_way_to_the_server() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(5)).expect("a network");
    for ue in 0..5 {
        let side = Side::Ue(ue);
        let (own, code) = output(
            &network,
            side,
            "ip -o addr show dev jf0; ip route; ip -6 route; ip link show dev jf0",
        );
        assert_eq!(code, 0, "{own}");
        for address in side.addresses() {
            assert!(own.contains(&format!(" {address}/")), "{side} has not {address}: {own}");
        }
        assert!(own.contains("mtu 1500") && own.contains("qlen 5000"), "{own}");
        let (routes, _) = output(&network, Side::Server, "ip route; ip -6 route");
        assert!(
            side.addresses().iter().all(|address| routes.contains(&format!("{address} dev jf0"))),
            "{routes}"
        );
    }
}

#[test]
fn soak_a_thousand_ues_are_built_and_removed_in_seconds() {
    if !can_build() {
        return;
    }
    let soak = std::env::var_os("JUSTFULL_SOAK").is_some();
    let ues = if soak { 1_000 } else { 100 };
    let begin = justfull_net::clock::SlotClock::start().expect("a clock");
    let network = Network::build(&NetworkConfig::new(ues)).expect("a network");
    let last = Side::Ue(ues - 1);
    let (text, code) = output(&network, last, "ip -o addr show dev jf0; getent ahostsv4 ue0");
    assert!(
        code == 0 && last.addresses().iter().all(|a| text.contains(&format!(" {a}/"))),
        "{text}"
    );
    drop(network);
    let took = justfull_net::clock::Clock::now(&mut { begin });
    println!("{ues} UEs: {took:?}");
    // One after the other, the kernel would need a minute.
    assert!(!soak || took.as_secs_f64() < 20.0, "{took:?}");
}

#[test]
fn commands_know_the_sides_by_name() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(2)).expect("a network");
    let (text, code) = output(
        &network,
        Side::Ue(1),
        "getent ahosts server; getent ahostsv4 ue; getent ahostsv4 ue1; echo $JUSTFULL_SIDE",
    );
    assert_eq!(code, 0, "{text}");
    for word in ["10.46.0.1", "fd46::1", "10.45.0.1", "10.45.0.2", "ue1\n"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let host = fs::read_to_string("/etc/hosts").expect("the machine's own names");
    assert!(!host.contains("10.46.0.1"), "the machine's own file is as it was");
}

#[test]
fn a_status_has_the_value_that_a_shell_gives_it() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(1)).expect("a network");
    assert_eq!(output(&network, UE, "exit 7").1, 7);
    assert_eq!(output(&network, UE, "kill -TERM $$").1, 128 + 15);
}

#[test]
fn a_command_that_cannot_be_run_is_one_error() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(1)).expect("a network");
    let error =
        network.run(UE, &argv(&["/no/such/program", "-x"]), &[]).expect_err("there is none");
    assert_eq!(
        error.to_string(),
        "cannot run `/no/such/program` on ue0: No such file or directory (os error 2)"
    );
    let error = network.run(UE, &[], &[]).expect_err("no command");
    assert_eq!(error.to_string(), "cannot run a command: there is none");
    let error = network.run(Side::Ue(3), &argv(&["true"]), &[]).expect_err("no such side");
    assert_eq!(error.to_string(), "cannot find ue3: the sides are `server` and `ue0` to `ue0`");
    assert_eq!(output(&network, UE, "exit 0").1, 0, "the network is still of use");
}

#[test]
fn an_impossible_network_is_one_error_and_leaves_nothing() {
    if !can_build() {
        return;
    }
    let mut config = NetworkConfig::new(2);
    config.ues[1].up = Some("nonesuch".into());
    let error = Network::build(&config).expect_err("no such congestion control").to_string();
    assert!(
        error.starts_with(
            "cannot set up jf0 of ue1: congestion control \"nonesuch\" is not known; this kernel \
             has "
        ),
        "{error}"
    );
    assert!(error.contains("reno"), "{error}");
    config.ues[1].up = Some("cubic; reboot".into());
    let error = Network::build(&config).expect_err("no name").to_string();
    assert!(
        error.starts_with(
            "cannot build the network: congestion control \"cubic; reboot\"; this kernel has "
        ),
        "{error}"
    );
    let error = Network::build(&NetworkConfig { mtu: 500, ..NetworkConfig::new(1) })
        .expect_err("too small");
    assert_eq!(
        error.to_string(),
        "cannot build the network: an MTU of 500 bytes; 1280 to 65535 are allowed"
    );
    let error = Network::build(&NetworkConfig::new(0)).expect_err("no UE");
    assert_eq!(error.to_string(), "cannot build the network: 0 UEs; 1 to 65534 are allowed");
}

#[test]
fn an_interface_that_disappears_is_one_error() {
    if !can_build() {
        return;
    }
    let mut network = Network::build(&NetworkConfig::new(1)).expect("a network");
    let mut tun = network.take_tun(UE).expect("its device");
    assert_eq!(output(&network, UE, "ip link set jf0 down"), (String::new(), 0));
    let error = tun.send(&[0x45; 20]).expect_err("it is down");
    assert_eq!(
        (error.kind(), error.to_string()),
        (io::ErrorKind::NetworkDown, "the interface jf0 is down".into())
    );
    assert_eq!(output(&network, UE, "ip link del jf0"), (String::new(), 0));
    for error in [
        tun.receive(&mut [0; 2000]).expect_err("it has gone"),
        tun.send(&[0x45; 20]).expect_err("it has gone"),
    ] {
        assert_eq!(
            (error.kind(), error.to_string()),
            (io::ErrorKind::NotFound, "the interface jf0 has gone".into())
        );
    }
}

/// True if the process is there and is not a zombie.
fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn a_command_that_forks_and_leaves_is_gone_at_the_end() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(1)).expect("a network");
    // The commands have a session of their own, no environment of ours, another namespace, or
    // ignore signals.
    let script = "setsid sleep 1000 & echo $!
        env -i setsid sleep 1000 & echo $!
        unshare -n setsid sleep 1000 & echo $!
        (trap '' TERM HUP; while :; do sleep 1; done) & echo $!
        sleep 0.3";
    let file = tempfile::NamedTempFile::new().expect("a file");
    let script = format!("exec >{} 2>&1 </dev/null; {script}", file.path().display());
    shell_command(&network, UE, &script).wait().expect("a status");
    let text = fs::read_to_string(file.path()).expect("its output");
    let pids: Vec<i32> = text.lines().map(|line| line.parse().expect("a number")).collect();
    assert!(
        pids.len() == 4 && pids.iter().all(|pid| is_alive(*pid)),
        "they outlive the command: {text}"
    );
    assert!(network.end_commands().expect("they end") >= 4);
    assert!(!pids.iter().any(|pid| is_alive(*pid)), "{pids:?}");
}

#[test]
fn a_command_is_ended_with_the_network() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(1)).expect("a network");
    let mut running = network.run(UE, &argv(&["sleep", "1000"]), &[]).expect("it starts");
    assert_eq!(running.try_wait().expect("a status"), None);
    drop(network);
    assert_eq!(Running::exit_code(running.wait().expect("a status")), 128 + 15);
}

/// The part of this program that a test below starts; without such a test it does nothing.
#[test]
fn the_child_of_another_test() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let network = Network::build(&NetworkConfig::new(2)).expect("a network");
    match role.as_str() {
        "be killed" => {
            let seconds = std::env::var(SECONDS).expect("how long to sleep");
            let script = format!(
                "setsid sleep {seconds} & env -i setsid sleep {seconds} & echo started; sleep \
                 {seconds}"
            );
            let _running = shell_command(&network, UE, &script);
            thread::sleep(Duration::from_secs(1000));
        }
        "be asked to end" => {
            let stop = Stop::listen().expect("it listens");
            let seconds = std::env::var(SECONDS).expect("how long to sleep");
            let _running = shell_command(
                &network,
                UE,
                &format!("echo started; setsid sleep {seconds} & sleep {seconds}"),
            );
            while !stop.requested() {
                thread::sleep(Duration::from_millis(1));
            }
            println!("ended {:?}", network.end_commands());
        }
        "shell" => {
            let status =
                network.shell(Side::Server).and_then(|mut shell| shell.wait()).expect("a status");
            println!("status {}", Running::exit_code(status));
        }
        other => panic!("{other:?} is no role"),
    }
}

fn child(role: &str) -> Command {
    // A test that runs in the background, or under `nohup`, must not pass on ignored signals.
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", "the_child_of_another_test", "--nocapture", "--test-threads=1"])
        .env(ROLE, role);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Processes whose last argument is `argument`, without zombies.
fn with_argument(argument: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("processes");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let has = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())
    };
    pids.filter(has).collect()
}

#[test]
fn a_hundred_starts_and_kills_leave_nothing() {
    if !can_build() {
        return;
    }
    sweep().expect("what earlier tests left");
    let seconds = format!("1000.{}", std::process::id());
    let (mut ran, mut swept) = (0, 0);
    for round in 0..100_u64 {
        let mut child =
            child("be killed").env(SECONDS, &seconds).spawn().expect("this program starts");
        if round % 4 == 0 {
            // The kill comes at any point before the commands run.
            thread::sleep(Duration::from_millis(round / 2));
        } else {
            let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
            assert!(
                lines.map(|line| line.expect("text")).any(|line| line.ends_with("started")),
                "round {round}"
            );
            ran += 1;
        }
        child.kill().expect("killed");
        child.wait().expect("a status");
        swept += sweep().expect("swept").runs;
        assert_eq!(with_argument(&seconds), [0_u32; 0], "round {round}");
    }
    assert!(ran == 75 && swept >= ran, "{swept} runs swept of {ran} whose commands ran");
    assert_eq!(sweep().expect("swept").runs, 0);
}

/// The folder of the run of process `pid`.
fn note(pid: u32) -> Option<PathBuf> {
    let session =
        std::env::var_os("XDG_RUNTIME_DIR").map(|home| PathBuf::from(home).join("justfull"));
    let fallback = std::env::temp_dir().join("justfull-0");
    let homes = [Some("/run/justfull".into()), session, Some(fallback)].into_iter().flatten();
    let mut runs = homes.filter_map(|home| fs::read_dir(home).ok()).flatten().flatten();
    let is_its = |name: &str| name.starts_with(&format!("{pid}-"));
    runs.find(|run| run.file_name().to_str().is_some_and(is_its)).map(|run| run.path())
}

/// The run's note is gone, as when `/run` belonged to a container that has ended.
#[test]
fn the_group_of_a_killed_run_is_reclaimed_once_it_is_empty_though_its_note_is_gone() {
    if !can_build() {
        return;
    }
    let seconds = format!("3000.{}", std::process::id());
    let mut child = child("be killed").env(SECONDS, &seconds).spawn().expect("this program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.any(|line| line.expect("text").ends_with("started")));
    let note = note(child.id()).expect("its folder");
    let Ok(group) = fs::read_to_string(note.join("cgroup")) else {
        println!("skipped: commands are in no cgroup here");
        child.kill().expect("killed");
        child.wait().expect("a status");
        return;
    };
    fs::remove_dir_all(&note).expect("its note goes");
    child.kill().expect("killed");
    child.wait().expect("a status");
    sweep().expect("swept");
    assert!(Path::new(&group).exists(), "{group} holds processes that nothing says are ours");
    let left = with_argument(&seconds);
    assert!(!left.is_empty());
    for pid in left {
        kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).expect("sent");
    }
    for _ in 0..500 {
        sweep().expect("swept");
        if !Path::new(&group).exists() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{group} is still there");
}

#[test]
fn a_request_to_end_ends_in_order() {
    if !can_build() {
        return;
    }
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let seconds = format!("2000.{}", std::process::id());
        let mut child =
            child("be asked to end").env(SECONDS, &seconds).spawn().expect("this program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"))
            .lines()
            .map(|line| line.expect("text"));
        assert!(lines.any(|line| line.ends_with("started")));
        kill(Pid::from_raw(child.id().cast_signed()), signal).expect("sent");
        let ended = lines.find(|line| line.starts_with("ended")).expect("it says so");
        assert!(
            ["ended Ok(1)", "ended Ok(2)", "ended Ok(3)"].contains(&&*ended),
            "the shell and what it had started: {ended}"
        );
        assert!(child.wait().expect("a status").success());
        assert_eq!(with_argument(&seconds), [0_u32; 0], "{signal}");
    }
}

#[test]
fn a_living_run_is_not_swept() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(1)).expect("a network");
    let mut running = network.run(UE, &argv(&["sleep", "1000"]), &[]).expect("it starts");
    sweep().expect("swept");
    assert_eq!(running.try_wait().expect("a status"), None);
    assert_eq!(output(&network, UE, "getent hosts server >/dev/null").1, 0, "its files are there");
}

#[test]
fn a_shell_tells_its_side() {
    if !can_build() {
        return;
    }
    let mut child = child("shell").spawn().expect("this program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"echo \"prompt: $PS1\"; ip -o addr show dev jf0; exit 7\n").expect("typed");
    drop(stdin);
    let output = child.wait_with_output().expect("its output");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("prompt: [justfull server] "), "{text}");
    assert!(text.contains(" 10.46.0.1/32 ") && text.contains("status 7"), "{text}");
}

/// A host on each side of a third namespace, which has `a0` and `b0` as the ends of their cables.
fn cabled(network: &Network) -> [Running; 2] {
    let hosts = [Side::Ue(0), Side::Ue(2)]
        .map(|side| network.run(side, &argv(&["sleep", "1000"]), &[]).expect("it starts"));
    let [a, b] = [hosts[0].pid(), hosts[1].pid()];
    let script = format!(
        "set -e; ip link add a0 type veth peer name a1 netns {a}; ip link add b0 type veth peer \
         name b1 netns {b}
         ip link set a0 up; ip link set b0 up"
    );
    assert_eq!(output(network, Side::Ue(1), &script), (String::new(), 0));
    for (side, link, host) in [(Side::Ue(0), "a1", 1), (Side::Ue(2), "b1", 2)] {
        let script = format!(
            "set -e; ip addr add 10.99.0.{host}/24 dev {link}; ip addr add fd99::{host}/64 dev \
             {link} nodad
             ip link set {link} up"
        );
        assert_eq!(output(network, side, &script), (String::new(), 0));
    }
    hosts
}

/// Copies between two interfaces until `stop`; returns the number of datagrams with unknown
/// addresses.
fn bridge(a: &mut Attached, b: &mut Attached, stop: &AtomicBool) -> io::Result<u64> {
    let mut buffer = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        let moved = copy(a, b, &mut buffer)? + copy(b, a, &mut buffer)?;
        if moved == 0 {
            thread::sleep(Duration::from_micros(100));
        }
    }
    Ok(a.unknown() + b.unknown())
}

#[test]
fn segments_that_the_kernel_joined_cross_two_interfaces_one_by_one() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(3)).expect("a network");
    let _hosts = cabled(&network);
    let attached = network.inside(Side::Ue(1), || attach("a0", "b0").map_err(io::Error::other));
    let (mut a, mut b) = attached.expect("both are there");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let bridge = scope.spawn(|| bridge(&mut a, &mut b, &stop));
        let stops = Stops(&stop);
        for address in ["10.99.0.2:0", "[fd99::2]:0"] {
            let listener =
                network.inside(Side::Ue(2), || TcpListener::bind(address)).expect("a listener");
            let target = listener.local_addr().expect("its address");
            let connect = || TcpStream::connect_timeout(&target, Duration::from_secs(10));
            let mut sender = network.inside(Side::Ue(0), connect).expect("a connection");
            let (receiver, _) = listener.accept().expect("its other end");
            let mut receiver =
                waits(receiver, TcpStream::set_read_timeout).expect("a time of waiting");
            let sent: Vec<u8> = (0..500_000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut received = vec![0; sent.len()];
            thread::scope(|scope| {
                let writer = scope.spawn(|| sender.write_all(&sent));
                receiver.read_exact(&mut received).expect("it arrives");
                writer.join().expect("no panic").expect("sent");
            });
            assert!(received == sent, "the same bytes");
        }
        drop(stops);
        bridge.join().expect("no panic").expect("every frame was cut");
    });
}

#[test]
fn two_interfaces_are_bridged_with_checksums_that_hold() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(3)).expect("a network");
    let _hosts = cabled(&network);
    let attached = network.inside(Side::Ue(1), || attach("a0", "b0").map_err(io::Error::other));
    let (mut a, mut b) = attached.expect("both are there");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let bridge = scope.spawn(|| bridge(&mut a, &mut b, &stop));
        let stops = Stops(&stop);
        for address in ["10.99.0.2", "fd99::2"] {
            let at = |side, address: &str| {
                let address: IpAddr = address.parse().expect("an address");
                network
                    .inside(side, || {
                        waits(UdpSocket::bind((address, 0))?, UdpSocket::set_read_timeout)
                    })
                    .expect("a socket")
            };
            let (from, to) =
                (at(Side::Ue(0), address.replace('2', "1").as_str()), at(Side::Ue(2), address));
            from.send_to(b"over the cable", to.local_addr().expect("its address")).expect("sent");
            let mut buffer = [0; 100];
            let (length, back) =
                to.recv_from(&mut buffer).expect("it arrives, and its checksum is right");
            assert_eq!(
                (&buffer[..length], back),
                (&b"over the cable"[..], from.local_addr().expect("its address"))
            );
        }
        drop(stops);
        assert_eq!(bridge.join().expect("no panic").expect("both interfaces work"), 0);
    });
}

#[test]
fn an_interface_that_cannot_be_attached_is_one_error() {
    if !can_build() {
        return;
    }
    let network = Network::build(&NetworkConfig::new(1)).expect("a network");
    let refusal = |one: &str, two: &str| {
        let error = network
            .inside(UE, || attach(one, two).map(drop).map_err(io::Error::other))
            .expect_err("refused");
        error.reason
    };
    assert_eq!(
        refusal("nonesuch0", "lo"),
        "cannot attach to nonesuch0: there is no such interface"
    );
    assert_eq!(refusal("jf0", "lo"), "cannot attach to jf0: it is no Ethernet interface");
    assert_eq!(refusal("lo", "lo"), "cannot attach to lo: two different interfaces are needed");
    assert!(
        refusal("a name that is too long", "lo")
            .contains("is no name of an interface; 1 to 15 bytes")
    );
}
