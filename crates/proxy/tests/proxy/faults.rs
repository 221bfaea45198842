//! Faults, attacks and bad luck: whatever happens to one connection, the others continue, and
//! `status` shows the reason.

use super::*;
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Runs a command on a host and returns its output.
pub(crate) fn command(world: &World, place: Place, words: &[&str]) -> String {
    let run = || Command::new(words[0]).args(&words[1..]).output();
    let output = world.chain.inside(place, run).expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", words.join(" "));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// True if `program` is installed. Only `.ci/setup --tests` installs it; without it a test prints
/// that it was skipped, which is a failure under `CI`.
pub(crate) fn installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "{program} is missing");
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

/// A complete download through the proxy.
pub(crate) fn assert_serves(world: &World, server: SocketAddr, seed: u64) {
    // This seed gives neither of the two ways that end early.
    assert!(download(world, server, 4 * seed + 2, 200_000));
}

fn once(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
}

/// The Internet checksum (RFC 1071).
fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let word = |bytes: &[u8]| u32::from(bytes[0]) << 8 | bytes.get(1).map_or(0, |&b| b.into());
    (!(once(once(words.map(word).sum())) as u16)).to_be_bytes()
}

/// An IPv4 packet with the first segment of a connection.
pub(crate) fn first_segment(from: Ipv4Addr, port: u16, to: Ipv4Addr) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
    ip.extend_from_slice(&from.octets());
    ip.extend_from_slice(&to.octets());
    let sum = checksum(&[&ip]);
    ip[10..12].copy_from_slice(&sum);
    let mut tcp = port.to_be_bytes().to_vec();
    tcp.extend_from_slice(&[0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x02, 0x20, 0, 0, 0, 0, 0]);
    let sum = checksum(&[&from.octets(), &to.octets(), &[0, 6, 0, 20], &tcp]);
    tcp[16..18].copy_from_slice(&sum);
    [ip, tcp].concat()
}

#[test]
fn soak_a_flood_of_first_segments_takes_nothing_and_others_are_served() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let server = world.serve(0, sender);
    let count = if soak() { 200_000 } else { 20_000 };
    let IpAddr::V4(target) = Chain::server()[0] else { panic!("the first is of IPv4") };
    let flood = || {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(socket2::Protocol::from(255)))?;
        let at = SocketAddr::from((target, 0)).into();
        for number in 0..count {
            // No host has these addresses, so no host resets the answers.
            let from = Ipv4Addr::new(10, 45, 100, (number % 251) as u8);
            let packet = first_segment(from, (number / 251) as u16 + 1_024, target);
            // A full queue loses it, as intended.
            let _lost = socket.send_to(&packet, &at);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let flooding = scope.spawn(|| world.chain.inside(Place::Ue, flood));
        until("it is told", || world.status()["flood"] == true);
        (0..3).for_each(|seed| assert_serves(&world, server, seed));
        flooding.join().expect("it ends").expect("it is sent");
    });
    assert_serves(&world, server, 3);
    let status = world.status();
    assert_eq!(status["accepted"], 4, "none of the flood is a connection: {status}");
}

fn soak() -> bool {
    std::env::var_os("JUSTFULL_SOAK").is_some()
}

#[test]
fn readers_that_stop_hold_at_most_a_pipe_each_and_delay_no_other() {
    if !can_build() {
        return;
    }
    let world = World::new("[limits]\npipes = 4\npipe = \"64KiB\"\n");
    let endless = world.serve(0, |mut stream| while stream.write_all(&[7; 65_536]).is_ok() {});
    let silent: Vec<_> =
        (0..12).map(|n| world.connect(n % 8 + 1, endless, 0).expect("it connects")).collect();
    let stuck = |flow: &Value| flow["silent_s"].as_f64() > Some(0.2);
    until("all are full", || {
        let flows = world.ask("flows");
        let flows = flows.as_array().expect("a list");
        flows.len() == silent.len() && flows.iter().all(stuck)
    });
    assert!(world.status()["pipes"].as_u64() <= Some(4));
    let server = world.serve(0, sender);
    assert_serves(&world, server, 1);
    drop(silent);
    until("they have ended", || world.status()["flows"] == 0);
    assert_eq!(world.status()["pipes"], 0);
}

/// The kernel gives up data for a vanished client after `tcp_retries2`, as any TCP does.
/// TCP_USER_TIMEOUT would also end a client that only pauses.
#[test]
fn a_client_that_vanishes_is_given_up_and_its_server_reset() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    command(&world, Place::Middle, &["sysctl", "-qw", "net.ipv4.tcp_retries2=2"]);
    let (told, ends) = channel();
    let server = world.serve(0, move |mut stream| {
        while stream.write_all(&[7; 65_536]).is_ok() {}
        told.send(()).expect("the test waits");
    });
    let mut client = world.connect(1, server, 0).expect("it connects");
    client.read_exact(&mut [0; 65_536]).expect("it has begun");
    command(&world, Place::Ue, &["ip", "link", "set", "ran", "down"]);
    assert_eq!(ends.recv_timeout(LIMIT), Ok(()), "the server learns of it");
    until("it is counted", || world.outcomes("client_reset") == 1);
}

#[test]
fn without_a_descriptor_new_connections_pass_and_later_ones_are_split() {
    if !can_build() || !installed("prlimit") {
        return;
    }
    let world = World::new("");
    let server = world.serve(0, sender);
    let id = world.proxy.id().to_string();
    let limit = |descriptors: usize| {
        let limit = format!("--nofile={descriptors}:20000");
        command(&world, Place::Middle, &["prlimit", "--pid", &id, &limit]);
    };
    let open = fs::read_dir(format!("/proc/{id}/fd")).expect("it lives").count();
    limit(open + 8);
    let held: Vec<_> = (0..20).filter_map(|_| world.connect(1, server, 0).ok()).collect();
    until("it is told", || {
        world.status()["unsplit"][0].as_str().is_some_and(|why| why.contains("no descriptor"))
    });
    let accepted = || world.status()["accepted"].clone();
    // Some of the held ones may still be on their way.
    until("new ones pass", || {
        let before = accepted();
        assert_serves(&world, server, 2);
        accepted() == before
    });
    let before = accepted();
    limit(20_000);
    until("they are split again", || {
        assert_serves(&world, server, 1);
        accepted() != before
    });
    drop(held);
    until("all have ended", || world.status()["flows"] == 0);
    let left = fs::read_dir(format!("/proc/{id}/fd")).expect("it lives").count();
    // A pipe stays in the pool.
    assert!(left <= open + 4, "{left} descriptors, {open} before");
}

#[test]
fn a_full_disk_loses_lines_of_the_log_and_nothing_else() {
    if !can_build() {
        return;
    }
    let chain = Chain::build(8, Mtus::SMALL_RAN).expect("three hosts");
    let folder = tempfile::tempdir().expect("a folder");
    symlink("/dev/full", folder.path().join("log")).expect("a link");
    let proxy = start(&chain, &folder, "");
    let world = World { proxy, folder, chain };
    let server = world.serve(0, sender);
    assert_serves(&world, server, 1);
    until("it is told", || world.status()["log_lines_lost"].as_u64() > Some(0));
    assert_serves(&world, server, 2);
}

#[test]
fn an_interface_that_goes_down_and_comes_back_loses_no_connection() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let server = world.serve(0, sender);
    let mut client = world.connect(1, server, 0).expect("it connects");
    client.write_all(&request(9, 20_000_000)).expect("it is sent");
    client.read_exact(&mut [0; 1_000]).expect("it has begun");
    let routes = command(&world, Place::Middle, &["ip", "-4", "route", "show", "dev", "ran"]);
    command(&world, Place::Middle, &["ip", "link", "set", "ran", "down"]);
    thread::sleep(Duration::from_millis(300));
    command(&world, Place::Middle, &["ip", "link", "set", "ran", "up"]);
    for route in routes.lines().filter(|line| !line.contains("proto kernel")) {
        let words: Vec<&str> =
            route.split_whitespace().filter(|word| *word != "linkdown").collect();
        let all = [&["ip", "route", "replace"], &words[..], &["dev", "ran"]].concat();
        command(&world, Place::Middle, &all);
    }
    client.shutdown(Shutdown::Write).expect("it is open");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("all of it");
    assert!(rest == data(9, 20_000_000)[1_000..], "{} bytes", rest.len());
    assert_serves(&world, server, 1);
}

#[test]
fn a_way_back_that_misses_the_proxy_is_reported() {
    if !can_build() {
        return;
    }
    let world = World::new("[timeouts]\nconnect = \"1s\"\n");
    assert_eq!(world.status()["return_path"], "no connection yet");
    let way = ["10.45.0.0/16"];
    command(&world, Place::Server, &[&["ip", "route", "add", "blackhole"], &way[..]].concat());
    let server = world.serve(0, sender);
    for number in 1..=3 {
        assert_reset(&world, server);
        until("it is counted", || world.outcomes("no_answer") == number);
    }
    let told = world.status()["return_path"].clone();
    assert!(told.as_str().is_some_and(|text| text.starts_with("no server has answered")), "{told}");
    command(&world, Place::Server, &[&["ip", "route", "del", "blackhole"], &way[..]].concat());
    // New connections pass meanwhile; then one is a trial.
    until("it is tried again", || {
        assert_serves(&world, server, 1);
        thread::sleep(Duration::from_millis(100));
        world.status()["return_path"] == "works"
    });
}

#[test]
fn two_proxies_on_one_host_each_take_their_own() {
    if !can_build() {
        return;
    }
    let world = World::new("ports = [\"1-9999\"]\n");
    let other = tempfile::tempdir().expect("a folder");
    let text = format!(
        "[select]\ninterfaces = [\"ran\"]\nports = [\"10000-65535\"]\n[route]\nmark = 5\n\
         table = 500\n[operation]\nsocket = {:?}\n",
        other.path().join("socket")
    );
    fs::write(other.path().join("rapid.toml"), text).expect("a file");
    let mut second = spawn(&world.chain, &other);
    assert!(world.is_in_the_way(), "port {CLOSED} is the first one's");
    let server = world.serve(0, sender);
    assert!(server.port() > 9_999, "the kernel's own choice");
    assert_serves(&world, server, 1);
    let status = ask(&other.path().join("socket"), "status").expect("an answer");
    let status: Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!((&status["accepted"], &status["table"]), (&1.into(), &"justfull-5".into()));
    assert_eq!(world.status()["accepted"], 1, "the closed port");
    second.kill().expect("it lives");
    second.wait().expect("a child");
    assert_serves(&world, server, 2);
    assert!(world.is_in_the_way(), "the first goes on");
}

#[test]
fn a_proxy_that_is_killed_in_a_transfer_leaves_no_table_a_second_later_and_no_clean_end() {
    if !can_build() || !installed("nft") {
        return;
    }
    let mut world = World::new("");
    let tables = |world: &World| command(world, Place::Middle, &["nft", "list", "tables"]);
    assert!(tables(&world).contains("justfull-27238"), "{}", tables(&world));
    let servers = [world.serve(0, sender), world.serve(1, sender)];
    let clients: Vec<_> = (0..2_u8)
        .map(|number| {
            let mut client =
                world.connect(number + 1, servers[usize::from(number)], 0).expect("it connects");
            client.write_all(&request(number.into(), 60_000_000)).expect("it is sent");
            // One end has sent everything, the other may send more.
            if number == 0 {
                client.shutdown(Shutdown::Write).expect("it is open");
            }
            let mut got = vec![0; 1_000_000];
            client.read_exact(&mut got).expect("a part of it");
            (number, client, got)
        })
        .collect();
    world.signal(Signal::SIGKILL);
    let killed = now();
    until("the table has gone", || tables(&world).is_empty());
    let took = now().duration_since(killed);
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(!world.is_in_the_way(), "the next connection passes");
    world.proxy.wait().expect("a child");
    // They stop reading meanwhile, so that neither has all data.
    for (number, mut client, mut got) in clients {
        let end = client.read_to_end(&mut got).map_err(|e| e.kind());
        assert_eq!(end, Err(io::ErrorKind::ConnectionReset), "{} bytes", got.len());
        assert!(got.len() < 60_000_000 && data(number.into(), 60_000_000).starts_with(&got));
    }
    for server in servers {
        assert_serves(&world, server, 1);
    }
}

/// Anonymous memory of the proxy in KiB.
fn memory(world: &World) -> u64 {
    let file = format!("/proc/{}/smaps_rollup", world.proxy.id());
    let text = fs::read_to_string(file).expect("it lives");
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:")).expect("a line");
    line.trim().split(' ').next().and_then(|kib| kib.parse().ok()).expect("a number")
}

#[test]
fn memory_does_not_grow_with_connections_that_have_ended() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let servers = [world.serve(0, sender), world.serve(1, sender)];
    let wave = |first: u64| {
        thread::scope(|scope| {
            let (world, servers) = (&world, &servers);
            for seed in first..first + 16 {
                scope.spawn(move || {
                    download(world, servers[(seed / 4 % 2) as usize], seed, 400_000)
                });
            }
        });
        until("all have ended", || world.status()["flows"] == 0);
        memory(&world)
    };
    let before = wave(0);
    let after = (1..4).map(|number| wave(100 * number)).max().expect("three waves");
    assert!(after <= before + 1_024, "{after} KiB after, {before} KiB before");
}

/// Starts a server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

fn serving(world: &World, words: &[&str], folder: &Path) -> Server {
    let run = || {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(folder).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    Server(world.chain.inside(Place::Server, run).expect("it starts"))
}

/// nginx and Python's http.server with curl and wget, and iperf3, over both families.
#[test]
fn real_servers_and_clients_work_through_it() {
    let programs = ["nginx", "python3", "curl", "wget", "iperf3"];
    if !can_build() || !programs.iter().all(|program| installed(program)) {
        return;
    }
    let world = World::new("");
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display();
    let body = data(5, 3_000_000);
    fs::write(folder.path().join("file"), &body).expect("a file");
    let text = format!(
        "pid {at}/pid;\nerror_log {at}/error;\ndaemon off;\nmaster_process off;\nuser root;\n\
         events {{}}\nhttp {{\naccess_log off;\nclient_body_temp_path {at}/a;\n\
         server {{ listen 80; listen [::]:80; root {at}; }}\n}}\n"
    );
    let config = folder.path().join("nginx.conf");
    fs::write(&config, text).expect("a file");
    let config = config.to_str().expect("a name");
    let _nginx = serving(&world, &["nginx", "-e", "error", "-c", config], folder.path());
    let python = ["python3", "-m", "http.server", "--bind", "::", "8080"];
    let _python = serving(&world, &python, folder.path());
    let _iperf3 = serving(&world, &["iperf3", "-s"], folder.path());
    let [v4, v6] = Chain::server().map(|at| SocketAddr::from((at, 0)));
    let got = folder.path().join("got");
    let to = got.to_str().expect("a name");
    let mut expected = 0;
    for host in [v4.ip().to_string(), format!("[{}]", v6.ip())] {
        for port in [80, 8080] {
            let url = format!("http://{host}:{port}/file");
            let retry = ["--retry", "40", "--retry-all-errors", "--retry-delay", "1"];
            let curl = [&["curl", "-sSf", "-o", to], &retry[..], &[&url]].concat();
            let wget = ["wget", "-q", "--no-proxy", "-O", to, &url];
            for words in [&curl[..], &wget[..]] {
                command(&world, Place::Ue, words);
                assert!(fs::read(&got).expect("a file") == body, "{}", words.join(" "));
                expected += 1;
            }
        }
        let host = host.trim_matches(['[', ']']);
        let iperf3 = ["iperf3", "-c", host, "-n", "5M", "-R", "--connect-timeout", "5000"];
        command(&world, Place::Ue, &iperf3);
        expected += 2;
    }
    until("all are counted", || world.outcomes("completed") >= expected);
}
