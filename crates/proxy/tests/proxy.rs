//! The proxy between a UE and a server: real namespaces, the kernel's own TCP.
//!
//! Each test builds its own row of hosts and starts its own proxy, and ends this process by its
//! number. Without the right to build one a test prints that it was skipped; under `CI` that is a
//! failure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use justfull_net::chain::{Chain, Mtus, Place, can_build};
use justfull_net::clock::now;
use justfull_proxy::{ProxyConfig, ask, check, run, take_over};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sha2::{Digest, Sha256};
use socket2::{Domain, Socket, Type};

#[path = "proxy/crowd.rs"]
mod crowd;
#[path = "proxy/ecn.rs"]
mod ecn;
#[path = "proxy/faults.rs"]
mod faults;
#[path = "proxy/hosts.rs"]
mod hosts;
#[path = "proxy/keepalived.rs"]
mod keepalived;
#[path = "proxy/loops.rs"]
mod loops;
#[path = "proxy/pools.rs"]
mod pools;
#[path = "proxy/random.rs"]
mod random;
#[path = "proxy/service.rs"]
mod service;
#[path = "proxy/shared.rs"]
mod shared;
#[path = "proxy/site.rs"]
mod site;
#[path = "proxy/standby.rs"]
mod standby;
#[path = "proxy/takeover.rs"]
mod takeover;
#[path = "proxy/waits.rs"]
mod waits;
#[path = "proxy/workers.rs"]
mod workers;

/// Name of the variable with the proxy's configuration, when a test starts this program as the
/// proxy.
const ROLE: &str = "JUSTFULL_TEST_PROXY";
/// Set if it takes over from another proxy.
const TAKEOVER: &str = "JUSTFULL_TEST_TAKEOVER";
/// Time limit of every wait in these tests.
const LIMIT: Duration = Duration::from_secs(30);
/// Address of the proxy's metrics; each test has its own host.
const METRICS: &str = "127.0.0.1:9102";
/// A closed port of the server.
const CLOSED: u16 = 9;

/// Not a test: the proxy, when this program starts itself.
#[test]
fn as_proxy() {
    let Ok(file) = std::env::var(ROLE) else { return };
    let file = PathBuf::from(file);
    let config = ProxyConfig::read(&file).expect("a configuration");
    let ready = || fs::write(file.with_extension("ready"), "").expect("a file");
    let ended = match std::env::var_os(TAKEOVER) {
        Some(_) => take_over(config, &file, ready),
        None => run(config, &file, ready),
    };
    ended.expect("it runs");
}

/// A row of hosts with a proxy in the middle.
struct World {
    proxy: Child,
    folder: tempfile::TempDir,
    chain: Chain,
}

impl World {
    fn new(settings: &str) -> Self {
        let chain = Chain::build(8, Mtus::SMALL_RAN).expect("three hosts");
        let folder = tempfile::tempdir().expect("a folder");
        let proxy = start(&chain, &folder, settings);
        Self { proxy, folder, chain }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.proxy.id().cast_signed()), signal).expect("it lives");
    }

    /// The exit code of the proxy after a request to end.
    fn ended(&mut self) -> Option<i32> {
        let mut code = None;
        until("the proxy ends", || {
            code = self.proxy.try_wait().expect("a child");
            code.is_some()
        });
        code.and_then(|code| code.code())
    }

    /// Another proxy takes the place of this one, and this one ends.
    fn take_over(&mut self) {
        let next = launch(&self.chain, &self.folder, true, &[]);
        let mut old = std::mem::replace(&mut self.proxy, next);
        until("the old proxy ends", || old.try_wait().expect("a child").is_some());
        assert_eq!(old.wait().expect("a child").code(), Some(0));
        until_ready(&mut self.proxy, &self.folder);
        assert_eq!(self.status()["process"], self.proxy.id());
    }

    fn ask(&self, what: &str) -> Value {
        let text = ask(&self.path("socket"), what).expect("an answer");
        serde_json::from_str(&text).expect("JSON")
    }

    fn status(&self) -> Value {
        self.ask("status")
    }

    /// Number of connections that ended in this way.
    fn outcomes(&self, outcome: &str) -> u64 {
        self.status()["ended"][outcome].as_u64().expect("a number")
    }

    /// A server at its own address of a family; it runs `work` for each connection.
    fn serve(
        &self,
        family: usize,
        work: impl Fn(TcpStream) + Clone + Send + 'static,
    ) -> SocketAddr {
        let at = Chain::server()[family];
        let listener = self.chain.inside(Place::Server, || {
            let socket = Socket::new(Domain::for_address((at, 0).into()), Type::STREAM, None)?;
            socket.bind(&SocketAddr::from((at, 0)).into())?;
            socket.listen(512)?;
            Ok(TcpListener::from(socket))
        });
        let listener = listener.expect("it listens");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let work = work.clone();
                thread::spawn(move || work(limited(stream)));
            }
        });
        address
    }

    /// A connection of UE `number`, from `port` if it is not 0.
    fn connect(&self, number: u8, to: SocketAddr, port: u16) -> io::Result<TcpStream> {
        let own = Chain::ue(number)[usize::from(to.is_ipv6())];
        self.chain.inside(Place::Ue, || {
            let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
            socket.set_reuse_address(true)?;
            socket.bind(&SocketAddr::from((own, port)).into())?;
            socket.connect_timeout(&to.into(), LIMIT)?;
            Ok(limited(socket.into()))
        })
    }

    /// True if the proxy accepts before the server answers: it accepts a connection that the server
    /// refuses, and then resets it.
    fn is_in_the_way(&self) -> bool {
        let [v4, _] = Chain::server();
        match self.connect(1, (v4, CLOSED).into(), 0).map_err(|e| e.kind()) {
            Ok(_) | Err(io::ErrorKind::ConnectionReset) => true,
            Err(io::ErrorKind::ConnectionRefused) => false,
            Err(other) => panic!("{other}"),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = self.proxy.kill();
        let _status = self.proxy.wait();
    }
}

fn limited(stream: TcpStream) -> TcpStream {
    // At full size 400 threads make and hash data beside the proxy, and each waits for its turn.
    let soak = std::env::var_os("JUSTFULL_SOAK").is_some();
    let limit = if soak { 10 * LIMIT } else { LIMIT };
    stream.set_read_timeout(Some(limit)).expect("it is open");
    stream.set_write_timeout(Some(limit)).expect("it is open");
    stream
}

/// Starts a proxy.
fn start(chain: &Chain, folder: &tempfile::TempDir, settings: &str) -> Child {
    let path = |name: &str| folder.path().join(name);
    let text = format!(
        "[select]\ninterfaces = [\"ran\"]\n{settings}\n[operation]\nsocket = {:?}\nlog = {:?}\n\
         metrics = \"{METRICS}\"\n",
        path("socket"),
        path("log")
    );
    fs::write(path("rapid.toml"), text).expect("a file");
    spawn(chain, folder)
}

/// Starts a proxy with the configuration in `folder`, and waits until it accepts connections.
fn spawn(chain: &Chain, folder: &tempfile::TempDir) -> Child {
    let mut child = launch(chain, folder, false, &[]);
    until_ready(&mut child, folder);
    child
}

fn until_ready(child: &mut Child, folder: &tempfile::TempDir) {
    until("the proxy is ready", || {
        assert!(child.try_wait().expect("a child").is_none(), "the proxy ended");
        folder.path().join("rapid.ready").exists()
    });
}

/// Starts a proxy, through another program if `by` names one.
fn launch(chain: &Chain, folder: &tempfile::TempDir, takeover: bool, by: &[String]) -> Child {
    let file = folder.path().join("rapid.toml");
    // The file may not exist yet.
    let _none = fs::remove_file(file.with_extension("ready"));
    let child = chain.inside(Place::Middle, || {
        // The proxy handles these signals, so its other threads must block them; they inherit this.
        let mut set = SigSet::empty();
        [Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| set.add(signal));
        set.thread_block()?;
        let own = std::env::current_exe()?;
        let mut command = match by {
            [] => Command::new(own),
            [program, words @ ..] => {
                let mut command = Command::new(program);
                command.args(words).arg(own);
                command
            }
        };
        if takeover {
            command.env(TAKEOVER, "1");
        }
        command
            .args(["as_proxy", "--exact", "--nocapture"])
            .env(ROLE, file)
            .stdout(Stdio::null())
            .spawn()
    });
    child.expect("it starts")
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = now() + LIMIT;
    while !holds() {
        assert!(now() < end, "waited too long: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Bytes that differ from one transfer to another.
fn data(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// Sends as much as a client requests: 8 bytes of seed, 8 of length; then reads to the end.
fn sender(mut stream: TcpStream) {
    let mut head = [0; 16];
    if stream.read_exact(&mut head).is_err() {
        return;
    }
    let number = |at: usize| u64::from_be_bytes(head[at..at + 8].try_into().expect("8 bytes"));
    // In some tests the client leaves early.
    if stream.write_all(&data(number(0), number(8) as usize)).is_err() {
        // A truncated transfer must not end like a complete one.
        return reset(stream);
    }
    let _left = stream.shutdown(Shutdown::Write);
    let _rest = io::copy(&mut stream, &mut io::sink());
}

fn request(seed: u64, length: usize) -> [u8; 16] {
    let mut head = [0; 16];
    head[..8].copy_from_slice(&seed.to_be_bytes());
    head[8..].copy_from_slice(&(length as u64).to_be_bytes());
    head
}

fn reset(stream: TcpStream) {
    let linger = Socket::from(stream).set_linger(Some(Duration::ZERO));
    linger.expect("it is open");
}

/// One download, in one of four ways; true if it is complete and correct.
fn download(world: &World, to: SocketAddr, seed: u64, length: usize) -> bool {
    let mut stream = world.connect((seed % 8) as u8 + 1, to, 0).expect("it connects");
    stream.write_all(&request(seed, length)).expect("it is sent");
    match seed % 4 {
        0 => stream.shutdown(Shutdown::Write).expect("it is open"),
        1 => {
            let mut half = vec![0; length / 2];
            stream.read_exact(&mut half).expect("half of it");
            reset(stream);
            return false;
        }
        _ => {}
    }
    let mut got = Vec::new();
    stream.read_to_end(&mut got).expect("all of it");
    assert_eq!(got.len(), length, "{seed}");
    assert_eq!(Sha256::digest(&got), Sha256::digest(data(seed, length)), "{seed}");
    true
}

/// `count` downloads at once; a quarter of them half-close early, and a quarter reset midway.
fn transfers(world: &World, count: u64, least: usize, most: usize) {
    let servers = [world.serve(0, sender), world.serve(1, sender)];
    let complete: u64 = thread::scope(|scope| {
        let one = |seed: u64| {
            let length = least + usize::from(data(seed, 2)[0]) * (most - least) / 255;
            scope.spawn(move || download(world, servers[(seed / 4 % 2) as usize], seed, length))
        };
        let all: Vec<_> = (0..count).map(one).collect();
        all.into_iter().map(|one| u64::from(one.join().expect("it ends"))).sum()
    });
    assert_eq!(complete, count - count / 4);
    until("all have ended", || world.status()["flows"] == 0);
    let status = world.status();
    assert_eq!(status["ended"]["completed"], complete, "{status}");
    assert_eq!(status["ended"]["client_reset"], count / 4, "{status}");
    assert_eq!(status["pipes"], 0, "{status}");
    let whole = |name: &str| metrics(world)[name] as u64;
    assert_eq!(whole("justfull_proxy_flows"), 0);
    assert_eq!(whole("justfull_proxy_ended_total{outcome=\"completed\"}"), complete);
    // Workers send their sums once a tick.
    until("all bytes are counted", || {
        whole("justfull_proxy_bytes_total{way=\"down\"}") > complete * least as u64
    });
}

/// Each sample of the metrics: name with labels, and value.
fn metrics(world: &World) -> BTreeMap<String, f64> {
    let text = world.chain.inside(Place::Middle, || {
        let mut stream = limited(TcpStream::connect(METRICS)?);
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    });
    let text = text.expect("it is served");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    samples(body)
}

/// The samples of a page in Prometheus's text format 0.0.4; checks each line.
fn samples(body: &str) -> BTreeMap<String, f64> {
    let word = |text: &str| {
        text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let (mut family, mut found) = (String::new(), BTreeMap::new());
    let mut kind = "";
    assert!(body.ends_with('\n'), "{body}");
    for line in body.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').expect("a name and a sentence");
            assert!(word(name) && text.ends_with('.') && !text.contains('\\'), "{line}");
            assert!(name.starts_with("justfull_proxy_") && name != family, "{line}");
            (family, kind) = (name.to_owned(), "");
        } else if let Some(text) = line.strip_prefix("# TYPE ") {
            kind = text.strip_prefix(&format!("{family} ")).expect("of the family");
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", family.ends_with("_total"), "{line}");
        } else {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            let labels = name.strip_prefix(family.as_str()).expect("of the family");
            let inside = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            let pair = inside.map(|pair| pair.split_once("=\"").expect("a label"));
            let shown = |text: &str| {
                let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\');
                !text.is_empty() && text.bytes().all(plain)
            };
            let sound = |(key, value): (&str, &str)| {
                word(key) && value.strip_suffix('"').is_some_and(shown)
            };
            assert!(labels.is_empty() || pair.is_some_and(sound), "{line}");
            assert!(!kind.is_empty(), "its type comes first: {line}");
            let value: f64 = value.parse().expect("a number");
            assert!(kind == "gauge" || value >= 0.0, "{line}");
            assert!(found.insert(name.to_owned(), value).is_none(), "twice: {line}");
        }
    }
    found
}

#[test]
fn urgent_data_stay_among_the_others_and_the_dscp_goes_along() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    // The server's socket copies the codepoint of the client's first packet.
    let reflect = || fs::write("/proc/sys/net/ipv4/tcp_reflect_tos", "1");
    world.chain.inside(Place::Server, reflect).expect("it is set");
    for family in [0, 1] {
        let (tell, told) = channel();
        let server = world.serve(family, move |stream| {
            let mut socket = Socket::from(stream);
            let dscp = if family == 0 { socket.tos_v4() } else { socket.tclass_v6() };
            socket.set_out_of_band_inline(true).expect("it is open");
            let mut text = Vec::new();
            socket.read_to_end(&mut text).expect("all of it");
            tell.send((dscp.expect("a codepoint"), text)).expect("the test waits");
        });
        let own = Chain::ue(2)[family];
        let client = world.chain.inside(Place::Ue, || {
            let socket = Socket::new(Domain::for_address(server), Type::STREAM, None)?;
            if family == 0 {
                socket.set_tos_v4(0xb8)?
            } else {
                socket.set_tclass_v6(0xb8)?
            }
            socket.bind(&SocketAddr::from((own, 0)).into())?;
            socket.connect_timeout(&server.into(), LIMIT)?;
            Ok(socket)
        });
        let client = client.expect("it connects");
        let all = data(9, 100_000);
        for (part, urgent) in all.chunks(20_000).zip([false, true, false, true, false]) {
            let (last, first) = part.split_last().expect("not empty");
            limited(client.try_clone().expect("it is open").into())
                .write_all(first)
                .expect("it is sent");
            let sent =
                if urgent { client.send_out_of_band(&[*last]) } else { client.send(&[*last]) };
            assert_eq!(sent.expect("it is sent"), 1);
            // The next urgent byte replaces the mark of the last, so they need a pause.
            thread::sleep(Duration::from_millis(20));
        }
        client.shutdown(Shutdown::Write).expect("it is open");
        let (dscp, text) = told.recv_timeout(LIMIT).expect("the server tells");
        assert_eq!((dscp, text.len()), (0xb8, all.len()));
        assert!(text == all);
    }
}

#[test]
fn connections_that_fall_silent_are_reset() {
    if !can_build() {
        return;
    }
    let world = World::new("[timeouts]\nhalf_closed = \"1s\"\nidle = \"2s\"\n");
    let server = world.serve(0, |stream| {
        // Stays open and sends nothing.
        thread::sleep(LIMIT);
        drop(stream);
    });
    let mut half = world.connect(1, server, 0).expect("it connects");
    half.shutdown(Shutdown::Write).expect("it is open");
    let mut idle = world.connect(2, server, 0).expect("it connects");
    for client in [&mut half, &mut idle] {
        let error = client.read(&mut [0]).map_err(|e| e.kind());
        assert_eq!(error, Err(io::ErrorKind::ConnectionReset));
    }
    until("it is counted", || world.outcomes("half_closed") + world.outcomes("idle") == 2);
    assert_eq!(world.outcomes("half_closed"), 1);
}

#[test]
fn soak_transfers_at_once_arrive_whole_and_leave_nothing_behind() {
    if can_build() {
        let soak = std::env::var_os("JUSTFULL_SOAK").is_some();
        let (count, most) = if soak { (200, 60_000_000) } else { (20, 5_000_000) };
        transfers(&World::new(""), count, 1_000_000, most);
    }
}

#[test]
fn without_pipes_data_is_copied() {
    if can_build() {
        transfers(&World::new("[limits]\npipes = 0\n"), 8, 300_000, 1_500_000);
    }
}

#[test]
fn both_ends_see_each_other_and_each_leg_has_its_own_mss() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    for family in [0, 1] {
        let (told, peers) = channel();
        let server = world.serve(family, move |mut stream| {
            told.send(stream.peer_addr().expect("a peer")).expect("the test waits");
            stream.write_all(b"x").expect("it is sent");
            let _end = stream.read(&mut [0]);
        });
        let mut client = world.connect(3, server, 40_003).expect("it connects");
        client.read_exact(&mut [0]).expect("a byte");
        let own: IpAddr = Chain::ue(3)[family];
        assert_eq!(peers.recv_timeout(LIMIT), Ok(SocketAddr::from((own, 40_003))));
        assert_eq!(client.peer_addr().ok(), Some(server));
        let flows = world.ask("flows");
        let mss = |leg: usize| flows[0]["mss"][leg].as_u64().expect("a number");
        assert_eq!(mss(1) - mss(0), 100, "{flows}");
        assert_eq!(flows[0]["client"], format!("{}", SocketAddr::from((own, 40_003))));
        drop(client);
        until("it has ended", || world.status()["flows"] == 0);
    }
}

/// Connects from one port again and again. The client closes first, so the proxy's leg to the
/// server is in TIME_WAIT each time.
fn same_port(world: &World, rounds: u64) {
    let server = world.serve(0, |mut stream| {
        let _all = io::copy(&mut stream.try_clone().expect("it is open"), &mut stream);
    });
    for round in 0..rounds {
        let mut client = world.connect(1, server, 40_001).expect("it connects");
        client.write_all(b"hello").expect("it is sent");
        client.shutdown(Shutdown::Write).expect("it is open");
        let mut text = String::new();
        client.read_to_string(&mut text).expect("it is read");
        assert_eq!(text, "hello");
        until("it is completed", || world.outcomes("completed") == round + 1);
        // The client's own TIME_WAIT would make its kernel wait.
        let own = SocketAddr::from((Chain::ue(1)[0], 40_001));
        world.chain.inside(Place::Ue, || destroy(own, server)).expect("it goes");
    }
}

#[test]
fn a_port_that_is_used_again_at_once_works_with_timestamps_and_without() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    same_port(&world, 2);
    assert_eq!(world.status()["time_waits_ended"], 0, "timestamps tell the connections apart");
    let world = World::new("");
    let off = || fs::write("/proc/sys/net/ipv4/tcp_timestamps", "0");
    world.chain.inside(Place::Server, off).expect("it is set");
    same_port(&world, 3);
    assert_eq!(world.status()["time_waits_ended"], 2, "all but the first");
}

/// Ends a TIME_WAIT as `ss -K` does.
fn destroy(own: SocketAddr, peer: SocketAddr) -> io::Result<()> {
    let output = Command::new("ss")
        .args(["-K", "-t", "-a", "src", &own.to_string(), "dst", &peer.to_string()])
        .output()?;
    if output.status.success() { Ok(()) } else { Err(io::Error::other("ss -K failed")) }
}

/// The proxy accepts a connection, and resets it before or after the client has looked.
fn assert_reset(world: &World, to: SocketAddr) {
    let error = world.connect(1, to, 0).and_then(|mut client| client.read(&mut [0]));
    assert_eq!(error.map_err(|e| e.kind()), Err(io::ErrorKind::ConnectionReset));
}

#[test]
fn a_refused_a_silent_and_a_reset_server_reset_the_client() {
    if !can_build() {
        return;
    }
    let world = World::new("wait_for_server = \"none\"\n[timeouts]\nconnect = \"1s\"\n");
    let [v4, v6] = Chain::server();
    for (number, at) in (1..).zip([v4, v6]) {
        assert_reset(&world, (at, CLOSED).into());
        until("it is counted", || world.outcomes("refused") == number);
    }
    // No host answers at this address of the server's side.
    assert_reset(&world, "10.46.0.77:80".parse().expect("an address"));
    let silent = world.outcomes("no_answer") + world.outcomes("refused");
    assert_eq!(silent, 3, "by the limit of time, or by the neighbour that is not there");
    let server = world.serve(0, |mut stream| {
        let _byte = stream.read(&mut [0]);
        reset(stream);
    });
    let mut client = world.connect(1, server, 0).expect("it connects");
    client.write_all(b"x").expect("it is sent");
    assert_eq!(client.read(&mut [0]).map_err(|e| e.kind()), Err(io::ErrorKind::ConnectionReset));
    until("it is counted", || world.outcomes("server_reset") == 1);
}

#[test]
fn a_proxy_that_is_killed_resets_its_clients_and_lets_new_ones_pass() {
    if !can_build() {
        return;
    }
    let mut world = World::new("");
    let server = world.serve(0, sender);
    let mut client = world.connect(1, server, 0).expect("it connects");
    client.write_all(&request(1, 60_000_000)).expect("it is sent");
    client.read_exact(&mut vec![0; 1_000_000]).expect("a part of it");
    assert!(world.is_in_the_way());
    let name = format!("rapid_{}", world.proxy.id());
    assert!(congestion_controls().contains(&name), "{}", world.status());
    assert_eq!(policy_routes(&world), [6, 2]);
    world.signal(Signal::SIGKILL);
    world.proxy.wait().expect("a child");
    until("its policy routes go", || policy_routes(&world) == [0, 0]);
    until("its congestion control goes", || !congestion_controls().contains(&name));
    let error = io::copy(&mut client, &mut io::sink()).expect_err("not whole");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    until("new connections pass", || !world.is_in_the_way());
    let mut direct = world.connect(1, server, 0).expect("it connects");
    direct.write_all(&request(2, 100_000)).expect("it is sent");
    direct.shutdown(Shutdown::Write).expect("it is open");
    let mut got = Vec::new();
    direct.read_to_end(&mut got).expect("all of it");
    assert_eq!(got, data(2, 100_000));
    world.proxy = start(&world.chain, &world.folder, "");
    assert!(world.is_in_the_way());
    // If the child that removes the routes is killed first, they stay for the next proxy.
    let tasks = fs::read_dir(format!("/proc/{}/task", world.proxy.id())).expect("it lives");
    let children = tasks.flatten().map(|task| fs::read_to_string(task.path().join("children")));
    let children: String = children.map(|text| text.expect("it lives")).collect();
    let child: i32 = children.trim().parse().expect("one child");
    kill(Pid::from_raw(child), Signal::SIGKILL).expect("it lives");
    world.signal(Signal::SIGKILL);
    world.proxy.wait().expect("a child");
    until("new connections pass", || !world.is_in_the_way());
    world.proxy = start(&world.chain, &world.folder, "");
    assert!(world.is_in_the_way());
    assert_eq!(world.status()["reclaimed"], 8, "{}", world.status());
}

/// Number of rules and routes that lead diverted packets to the proxy.
fn policy_routes(world: &World) -> [usize; 2] {
    let count = |what: &str, of: &str| {
        let both = ["-4", "-6"].map(|family| {
            let words = [&[family][..], &what.split(' ').collect::<Vec<_>>()].concat();
            let run = || Command::new("ip").args(&words).output();
            let output = world.chain.inside(Place::Middle, run).expect("it starts");
            String::from_utf8_lossy(&output.stdout).lines().filter(|l| l.contains(of)).count()
        });
        both[0] + both[1]
    };
    let nop = count("rule show priority 101", "101:");
    [count("rule show", "0x6a66") + nop, count("route show table 27238", "local")]
}

/// The congestion controls of the kernel, in all namespaces.
fn congestion_controls() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("a list")
}

#[test]
fn unselected_packets_pass_and_a_reload_selects_without_a_lost_connection() {
    if !can_build() {
        return;
    }
    let mut world = World::new("except = [\"10.45.0.1/32\"]\n");
    assert!(!world.is_in_the_way(), "UE 1 is an exception");
    let server = world.serve(0, sender);
    let mut client = world.connect(2, server, 0).expect("it connects");
    until("it is taken", || world.status()["flows"] == 1);
    let file = world.path("rapid.toml");
    let text = fs::read_to_string(&file).expect("the configuration");
    fs::write(&file, text.replace("interfaces", "interfacs")).expect("a file");
    world.signal(Signal::SIGHUP);
    until("it is refused", || {
        world.status()["last_reload"].as_str().is_some_and(|what| what.contains("interfacs"))
    });
    fs::write(&file, text.replace("10.45.0.1/32", "10.45.0.2/32")).expect("a file");
    world.signal(Signal::SIGHUP);
    until("it is done", || world.status()["last_reload"] == "done");
    assert!(world.is_in_the_way(), "UE 1 is one no more");
    client.write_all(&request(3, 500_000)).expect("it is sent");
    client.shutdown(Shutdown::Write).expect("it is open");
    let mut got = Vec::new();
    client.read_to_end(&mut got).expect("all of it");
    assert_eq!(got, data(3, 500_000));
    // An orderly end: open connections end first.
    let last = world.connect(3, server, 0).expect("it connects");
    until("it is taken", || world.status()["flows"] == 1);
    world.signal(Signal::SIGTERM);
    until("it drains", || world.status()["state"] == "draining");
    assert!(!world.is_in_the_way());
    drop(last);
    assert_eq!(world.ended(), Some(0));
    let log = fs::read_to_string(world.path("log")).expect("a log");
    let lines: Vec<Value> = log.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let of = |outcome: &str| lines.iter().filter(|line| line["outcome"] == outcome).count();
    assert!(of("completed") >= 1 && of("refused") >= 1, "{log}");
    assert!(!world.path("socket").exists());
}

#[test]
fn the_servers_window_falls_and_rises_with_the_reports_of_its_ue() {
    if !can_build() {
        return;
    }
    for way in ["auto", "cwnd_clamp", "pacing"] {
        windows_follow_reports(way);
    }
}

fn windows_follow_reports(way: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let reports = folder.path().join("reports");
    fs::write(&reports, "").expect("a file");
    // Without delay, a server cannot fill its window for lack of CPU time, so no flow may be slow.
    let settings = format!(
        "[control]\nkind = \"equal_share\"\nradio_leg = \"{way}\"\n[radio]\nkind = \"json_lines\"\npath = {reports:?}\n"
    );
    let world = World::new(&settings);
    // Sends until the client leaves.
    let server = world.serve(0, |mut stream| while stream.write_all(&[7; 65_536]).is_ok() {});
    let mut client = world.connect(5, server, 0).expect("it connects");
    let (stop, stopped) = channel::<()>();
    let reader = thread::spawn(move || read_until(&mut client, &stopped));
    let mut file = fs::OpenOptions::new().append(true).open(&reports).expect("a file");
    let mut at_us = 0;
    let mut report = |bytes: u64| {
        at_us += 1_000;
        let line = format!(
            "{{\"ue\": \"10.45.0.5\", \"at_us\": {at_us}, \"cell\": \"bytes\", \"slot_us\": 1000, \
             \"slots\": 1, \"offered\": {bytes}, \"used\": 0}}\n"
        );
        file.write_all(line.as_bytes()).expect("it is written");
    };
    let flow = |key: &str| {
        let flows = world.ask("flows");
        // Printed if the test fails.
        println!("{flows}");
        flows[0][key].as_u64()
    };
    // 80 kbit/s is less than the floor of two segments, at any round trip.
    until("it is connected", || world.ask("flows")[0]["connected"] == true);
    let mss = world.ask("flows")[0]["mss"][0].as_u64().expect("a number");
    let floor = 2 * mss;
    until("the window falls to the floor", || {
        report(10);
        flow("server_window") == Some(floor)
            && flow("advertised").is_some_and(|window| window <= floor + 1_024)
    });
    let leg = world.status()["radio_leg"].clone();
    assert_eq!(leg, if way == "auto" { "struct_ops" } else { way }, "{}", world.status());
    if way != "pacing" {
        until("the congestion window is the radio's", || {
            report(10);
            let window = flow("radio_window").map(|bytes| bytes / mss);
            window.is_some_and(|segments| segments <= 10) && flow("cwnd") == window
        });
    }
    // 8 Tbit/s exceeds every window.
    until("the window rises", || {
        report(1_000_000_000);
        flow("server_window").is_some_and(|window| window > 100 * floor)
            && flow("advertised").is_some_and(|window| window > 10 * floor)
            && flow("cwnd").is_some_and(|segments| segments > 10)
    });
    if leg == "struct_ops" {
        until("the congestion window is the radio's, however large", || {
            report(1_000_000_000);
            let window = flow("radio_window").map(|bytes| bytes / mss);
            // The program in the kernel takes at most 131 072 segments.
            window.is_some_and(|segments| segments > 1_000)
                && flow("cwnd") == window.map(|segments| segments.min(131_072))
        });
    }
    let status = world.status();
    assert_eq!(status["ues"][0]["radio"], "coming", "{status}");
    assert!(status["ues"][0]["capacity_bytes_per_s"].as_f64() > Some(1e11), "{status}");
    assert_eq!(world.ask("flows")[0]["ue"], "10.45.0.5/32");
    until("status says that they have stopped", || world.status()["ues"][0]["radio"] == "stopped");
    let mut garbage = fs::OpenOptions::new().append(true).open(&reports).expect("a file");
    garbage.write_all(b"{}\nnonsense\n").expect("it is written");
    until("garbage is counted", || world.status()["radio"]["garbled"] == 2);
    drop(stop);
    assert!(reader.join().expect("it ends") > 0);
}

/// Reads until `stopped`; returns the number of bytes.
fn read_until(stream: &mut TcpStream, stopped: &Receiver<()>) -> u64 {
    let (mut buffer, mut total) = (vec![0; 1 << 20], 0);
    let end: Instant = now() + 3 * LIMIT;
    while now() < end && stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => total += length as u64,
        }
    }
    total
}

#[test]
fn the_check_finds_what_a_proxy_needs_and_leaves_nothing() {
    if !can_build() {
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    let text = "[select]\ninterfaces = [\"ran\"]\n";
    let config = ProxyConfig::parse(text).expect("valid");
    let wrong = ProxyConfig::parse(&text.replace("ran", "rann")).expect("valid");
    for _ in 0..2 {
        let found = chain.inside(Place::Middle, || Ok(check(&config))).expect("it is tried");
        let missing: Vec<_> = found.iter().filter(|c| c.required && c.found.is_err()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
    let found = chain.inside(Place::Middle, || Ok(check(&wrong))).expect("it is tried");
    let missing = found.iter().filter(|c| c.required && c.found.is_err()).map(|c| c.name);
    assert_eq!(missing.collect::<Vec<_>>(), ["interfaces"]);
    let radio = found.iter().find(|c| c.name == "radio leg").expect("it is tried");
    assert!(radio.found.as_ref().is_ok_and(|what| what.starts_with("struct_ops")), "{radio:?}");
}

#[test]
fn a_second_proxy_of_the_same_mark_and_others_at_its_socket_are_refused() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let mode = fs::metadata(world.path("socket")).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let other = tempfile::tempdir().expect("a folder");
    let text = format!(
        "[select]\ninterfaces = [\"ran\"]\n[operation]\nsocket = {:?}\n",
        other.path().join("socket")
    );
    let config = ProxyConfig::parse(&text).expect("valid");
    let error = world.chain.inside(Place::Middle, || {
        Ok(run(config, &other.path().join("rapid.toml"), || ()).expect_err("refused").to_string())
    });
    assert!(error.expect("it is tried").contains("another proxy on this host uses mark 27238"));
    assert!(world.is_in_the_way(), "the first goes on");
}

#[test]
fn a_transfer_survives_two_takeovers_and_the_last_proxy_cleans_up() {
    if !can_build() {
        return;
    }
    let mut world = World::new("");
    let first = world.proxy.id();
    let [v4, v6] = [world.serve(0, sender), world.serve(1, sender)];
    let mut client = world.connect(1, v4, 0).expect("it connects");
    client.write_all(&request(5, 60_000_000)).expect("it is sent");
    // One connection is silent throughout, and one begins in between.
    let mut silent = world.connect(2, v6, 0).expect("it connects");
    let mut got = vec![0; 1_000_000];
    client.read_exact(&mut got).expect("a part of it");
    // The client stops reading, so there is data in the old proxy's pipe.
    until("a pipe holds data", || world.status()["pipes"] == 1);
    world.take_over();
    assert_eq!(world.status()["flows"], 2, "{}", world.status());
    let mut part = vec![0; 20_000_000];
    client.read_exact(&mut part).expect("more of it");
    got.extend_from_slice(&part);
    assert!(world.is_in_the_way(), "it takes new connections");
    assert!(download(&world, v6, 8, 300_000));
    world.take_over();
    client.read_to_end(&mut got).expect("all of it");
    assert_eq!(got.len(), 60_000_000);
    assert_eq!(Sha256::digest(&got), Sha256::digest(data(5, 60_000_000)));
    client.shutdown(Shutdown::Write).expect("it is open");
    silent.write_all(&request(6, 100_000)).expect("it is sent");
    silent.shutdown(Shutdown::Write).expect("it is open");
    let mut last = Vec::new();
    silent.read_to_end(&mut last).expect("all of it");
    assert_eq!(last, data(6, 100_000));
    until("all have ended", || world.status()["flows"] == 0);
    // Counts continue, and metrics have the same address.
    assert_eq!(world.outcomes("completed"), 3, "{}", world.status());
    assert_eq!(metrics(&world)["justfull_proxy_ended_total{outcome=\"completed\"}"] as u64, 3);
    // The last proxy owns the control that the first made, and removes it at its end.
    let control = format!("rapid_{first}");
    assert!(congestion_controls().contains(&control));
    world.signal(Signal::SIGTERM);
    assert_eq!(world.ended(), Some(0));
    assert!(!world.is_in_the_way() && !world.path("socket").exists());
    until("its congestion control goes", || !congestion_controls().contains(&control));
    let rules = world.chain.inside(Place::Middle, || Command::new("ip").arg("rule").output());
    let rules = String::from_utf8_lossy(&rules.expect("it runs").stdout).into_owned();
    assert!(rules.contains("main") && !rules.contains("27238"), "{rules}");
}

#[test]
fn a_takeover_that_fails_leaves_the_old_proxy_running() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let server = world.serve(0, sender);
    let mut client = world.connect(1, server, 0).expect("it connects");
    client.write_all(&request(7, 5_000_000)).expect("it is sent");
    let mut got = vec![0; 100_000];
    client.read_exact(&mut got).expect("a part of it");
    // New proxies that die: at once, within the first message, or before they are ready.
    for length in [0, 10, 100_000] {
        let mut other = UnixStream::connect(world.path("socket")).expect("it answers");
        other.set_read_timeout(Some(Duration::from_millis(500))).expect("it is open");
        other.write_all(b"takeover\n").expect("it is sent");
        let _part = other.read_exact(&mut vec![0; length]);
        drop(other);
        assert_eq!(world.status()["process"], world.proxy.id());
    }
    // A new proxy with another setting.
    let text = fs::read_to_string(world.path("rapid.toml")).expect("the configuration");
    let other = ProxyConfig::parse(&format!("{text}\n[route]\nmark = 5\n")).expect("valid");
    let file = world.path("other.toml");
    let refused = world.chain.inside(Place::Middle, || {
        Ok(take_over(other, &file, || ()).expect_err("refused").to_string())
    });
    let refused = refused.expect("it is tried");
    assert!(refused.contains("its route.mark is 27238"), "{refused}");
    let status = world.status();
    assert_eq!((&status["state"], &status["flows"]), (&"running".into(), &1.into()), "{status}");
    assert!(world.is_in_the_way());
    client.read_to_end(&mut got).expect("all of it");
    assert_eq!(Sha256::digest(&got), Sha256::digest(data(7, 5_000_000)));
    let log = fs::read_to_string(world.path("log")).expect("a log");
    assert_eq!(log.matches("takeover failed").count(), 4, "{log}");
}

/// The files that an operator installs.
const UNIT: &str = include_str!("../operation/justfull-proxy.service");
const DASHBOARD: &str = include_str!("../operation/grafana.json");

#[test]
fn the_units_capabilities_are_enough_and_systemd_takes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let unit = folder.path().join("justfull-proxy.service");
    // The unit must name an existing program.
    fs::write(&unit, UNIT.replace("/usr/local/bin/justfull", "/bin/true")).expect("a file");
    match Command::new("systemd-analyze").arg("verify").arg(&unit).output() {
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success() && !said.contains("justfull"), "{said}");
        }
        Err(error) => println!("skipped: systemd-analyze: {error}"),
    }
    if !can_build() {
        return;
    }
    let line = UNIT.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let kept: Vec<String> = line
        .expect("its capabilities")
        .split(' ')
        .map(|name| name.replace("CAP_", "+").to_lowercase())
        .collect();
    let mut world = World::new("");
    world.signal(Signal::SIGTERM);
    assert_eq!(world.ended(), Some(0));
    let by = [
        "setpriv".to_owned(),
        "--no-new-privs".to_owned(),
        format!("--bounding-set=-all,{}", kept.join(",")),
    ];
    world.proxy = launch(&world.chain, &world.folder, false, &by);
    until_ready(&mut world.proxy, &world.folder);
    let status = world.status();
    assert_eq!(status["radio_leg"], "struct_ops", "{status}");
    let servers = [world.serve(0, sender), world.serve(1, sender)];
    assert!(servers.into_iter().all(|server| download(&world, server, 8, 200_000)));
    // A client's port below 1024.
    let mut low = world.connect(1, servers[0], 700).expect("it connects");
    low.write_all(&request(3, 1_000)).expect("it is sent");
    low.read_exact(&mut [0; 1_000]).expect("it comes");
}

#[test]
fn the_dashboard_shows_only_metrics_that_exist() {
    if !can_build() {
        return;
    }
    let pools = pools::Pools::new("[limits]\nworkers = 2\n");
    let known = metrics(&pools.world);
    let names: BTreeSet<&str> =
        known.keys().filter_map(|series| series.split('{').next()).collect();
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let mut shown = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let expr = target["expr"].as_str().expect("a query");
            let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            let asked: Vec<&str> =
                expr.split(word).filter(|word| word.starts_with("justfull_")).collect();
            assert!(!asked.is_empty() && asked.iter().all(|name| names.contains(name)), "{expr}");
            for label in ["outcome", "way", "what", "family", "cell", "leg", "worker", "pool"] {
                let by = expr.contains(&format!("instance, {label})"));
                let with = |series: &String| {
                    series.starts_with(asked[0]) && series.contains(&format!("{{{label}="))
                };
                assert_eq!(by, known.keys().any(with), "{expr}");
            }
            shown.extend(asked);
        }
    }
    assert_eq!(shown, names, "every metric is shown");
}
