//! The proxy at N3: the stage and the proxy between a base station and a UPF that speak GTP-U, in
//! namespaces, with the kernel's own TCP at both ends.
//!
//! Without the right to build one a test prints that it was skipped; under `CI` that is a failure.

#[path = "n3/tunnels.rs"]
mod tunnels;

use justfull_n3::N3Config;
use justfull_net::Side;
use justfull_net::chain::{CORE, Chain, Mtus, Place, RAN, can_build};
use justfull_net::clock::now;
use justfull_nru::gtpu;
use justfull_proxy::ProxyConfig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sha2::{Digest, Sha256};
use socket2::{Domain, Socket, Type};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use tunnels::{QFI_OTHER, QFI_TCP, Tunnels};

/// The configuration of a process that is the stage or the proxy.
const STAGE: &str = "JUSTFULL_N3_TEST_STAGE";
const PROXY: &str = "JUSTFULL_N3_TEST_PROXY";
const LIMIT: Duration = Duration::from_secs(30);

/// Not a test: the stage or the proxy, when this program starts itself.
#[test]
fn as_part() {
    if let Ok(file) = std::env::var(STAGE) {
        let config = N3Config::read(Path::new(&file)).expect("a configuration");
        let ready = || fs::write(Path::new(&file).with_extension("ready"), "").expect("a file");
        justfull_n3::run(&config, ready).expect("it runs");
    }
    if let Ok(file) = std::env::var(PROXY) {
        let file = PathBuf::from(file);
        let config = ProxyConfig::read(&file).expect("a configuration");
        let ready = || fs::write(file.with_extension("ready"), "").expect("a file");
        justfull_proxy::run(config, &file, ready).expect("it runs");
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = now() + LIMIT;
    while !holds() {
        assert!(now() < end, "waited too long: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A process. Dropping it kills it.
struct Part(Child);

impl Part {
    /// Starts a part with the file `name` in `folder`, and waits until it is ready.
    fn start(chain: &Chain, folder: &Path, role: &str, name: &str) -> Self {
        Self::start_by(&[], chain, folder, role, name)
    }

    /// As above, started by the program `by` with its arguments.
    fn start_by(by: &[String], chain: &Chain, folder: &Path, role: &str, name: &str) -> Self {
        let file = folder.join(name);
        // The file may not exist yet.
        let _none = fs::remove_file(file.with_extension("ready"));
        let spawn = || {
            let own = std::env::current_exe()?;
            let mut command = match by {
                [] => Command::new(own),
                [program, words @ ..] => {
                    let mut command = Command::new(program);
                    command.args(words).arg(own);
                    command
                }
            };
            command.args(["as_part", "--exact", "--nocapture"]).env(role, &file);
            command.stdout(Stdio::null()).spawn()
        };
        let mut part = Self(chain.inside(Place::Middle, spawn).expect("it starts"));
        until("it is ready", || {
            assert!(part.0.try_wait().expect("a child").is_none(), "{name} ended");
            file.with_extension("ready").exists()
        });
        part
    }

    fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.0.id().cast_signed()), signal).expect("it lives");
        self.0.wait().expect("a child");
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Tunnels with the stage and the proxy between their ends.
struct World {
    proxy: Part,
    stage: Part,
    tunnels: Tunnels,
    folder: tempfile::TempDir,
    chain: Chain,
}

impl World {
    fn new(family: usize) -> Self {
        Self::with(family, false)
    }

    /// With `joined`, the interfaces carry several datagrams in one packet.
    fn with(family: usize, joined: bool) -> Self {
        let chain = Chain::build(2, Mtus::ETHERNET).expect("three hosts");
        let tunnels = Tunnels::build(&chain, family, joined);
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let stage = format!(
            "[place]\nran = {RAN:?}\ncore = {CORE:?}\n[tunnels]\n\
             ues = [\"10.45.0.0/16\", \"fd45::/64\"]\n[operation]\nsocket = {:?}\n",
            path("n3.socket")
        );
        fs::write(path("n3.toml"), stage).expect("a file");
        let proxy = format!(
            "[select]\ninterfaces = [\"ue\"]\n[n3]\nsocket = {:?}\n[operation]\nsocket = {:?}\n\
             metrics = \"127.0.0.1:9102\"\n",
            path("n3.socket"),
            path("socket")
        );
        fs::write(path("rapid.toml"), proxy).expect("a file");
        let stage = Part::start(&chain, folder.path(), STAGE, "n3.toml");
        let proxy = Part::start(&chain, folder.path(), PROXY, "rapid.toml");
        Self { proxy, stage, tunnels, folder, chain }
    }

    fn start_stage(&self) -> Part {
        Part::start(&self.chain, self.folder.path(), STAGE, "n3.toml")
    }

    fn start_proxy(&self) -> Part {
        Part::start(&self.chain, self.folder.path(), PROXY, "rapid.toml")
    }

    fn stage(&self, question: &str) -> Value {
        let text = justfull_n3::ask(&self.folder.path().join("n3.socket"), question);
        serde_json::from_str(&text.expect("an answer")).expect("JSON")
    }

    fn proxy(&self) -> Value {
        let text = justfull_proxy::ask(&self.folder.path().join("socket"), "status");
        serde_json::from_str(&text.expect("an answer")).expect("JSON")
    }

    /// Sends a datagram there and back, from which the stage learns the UE's downlink tunnel.
    fn learn(&self, ue: usize, family: usize) {
        let server = Side::Server.addresses()[family];
        let at = SocketAddr::from((server, 7));
        let echo = self.tunnels.network.inside(Side::Server, || UdpSocket::bind(at));
        let own = SocketAddr::from((Side::Ue(ue).addresses()[family], 0));
        let socket = self.tunnels.network.inside(Side::Ue(ue), || UdpSocket::bind(own));
        let (echo, socket) = (echo.expect("it binds"), socket.expect("it binds"));
        let mut room = [0; 64];
        for side in [&echo, &socket] {
            side.set_read_timeout(Some(LIMIT)).expect("it is open");
        }
        socket.send_to(b"hello", at).expect("it is sent");
        let (length, from) = echo.recv_from(&mut room).expect("it arrives");
        echo.send_to(&room[..length], from).expect("it is sent");
        assert_eq!(socket.recv(&mut room).expect("an answer"), 5);
        assert_eq!(&room[..5], b"hello");
    }

    /// A server of a family; it runs `work` for each connection.
    fn serve(
        &self,
        family: usize,
        work: impl Fn(TcpStream) + Clone + Send + 'static,
    ) -> SocketAddr {
        let at = SocketAddr::from((Side::Server.addresses()[family], 0));
        let listener = self.tunnels.network.inside(Side::Server, || TcpListener::bind(at));
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

    fn connect(&self, ue: usize, to: SocketAddr) -> io::Result<TcpStream> {
        let own: IpAddr = Side::Ue(ue).addresses()[usize::from(to.is_ipv6())];
        let connects = || {
            let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
            socket.bind(&SocketAddr::from((own, 0)).into())?;
            socket.connect_timeout(&to.into(), LIMIT)?;
            Ok(limited(socket.into()))
        };
        let connected = self.tunnels.network.inside(Side::Ue(ue), || Ok(connects()));
        connected.expect("its host is there")
    }

    /// True if the proxy accepts before the server answers: it accepts a connection that the
    /// server refuses, and then resets it.
    fn splits(&self, ue: usize) -> bool {
        let closed = SocketAddr::from((Side::Server.addresses()[0], 9));
        match self.connect(ue, closed).map_err(|e| e.kind()) {
            Ok(_) | Err(io::ErrorKind::ConnectionReset) => true,
            Err(io::ErrorKind::ConnectionRefused) => false,
            Err(other) => panic!("{other}"),
        }
    }
}

fn limited(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(LIMIT)).expect("it is open");
    stream.set_write_timeout(Some(LIMIT)).expect("it is open");
    stream
}

/// Bytes that differ from one transfer to another.
fn data(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Sends and receives `length` bytes at once; returns the hashes of both.
fn both_ways(stream: TcpStream, seed: u64, length: usize) -> [Vec<u8>; 2] {
    let sent = data(seed, length);
    let hash = Sha256::digest(&sent).to_vec();
    let mut own = stream.try_clone().expect("it is open");
    let sends = thread::spawn(move || {
        own.write_all(&sent).expect("it is sent");
        own.shutdown(Shutdown::Write).expect("it is open");
    });
    let mut got = Vec::new();
    (&stream).read_to_end(&mut got).expect("all of it");
    sends.join().expect("it ends");
    [hash, Sha256::digest(&got).to_vec()]
}

/// Datagrams as long as the longest segments, from the server to a UE: they arrive whole and in
/// order.
fn datagrams(world: &World, ue: usize, family: usize) {
    let bound = |side: Side| {
        let at = SocketAddr::from((side.addresses()[family], 0));
        let socket = world.tunnels.network.inside(side, || UdpSocket::bind(at));
        let socket = socket.expect("it binds");
        socket.set_read_timeout(Some(LIMIT)).expect("it is open");
        socket
    };
    let [server, client] = [bound(Side::Server), bound(Side::Ue(ue))];
    let to = client.local_addr().expect("an address");
    let length = [1_372, 1_352][family];
    let mut room = vec![0; 2_048];
    for round in 0..20_u8 {
        let sent: Vec<Vec<u8>> =
            (0..10).map(|n| data(u64::from(round) * 10 + n + 7, length)).collect();
        for one in &sent {
            server.send_to(one, to).expect("it is sent");
        }
        for one in &sent {
            let length = client.recv(&mut room).expect("it arrives");
            assert!(room[..length] == one[..], "datagrams of round {round}");
        }
    }
}

const SIZE: usize = 2_000_000;

/// A transfer in both directions at once, whole and in order.
fn transfer(world: &World, ue: usize, family: usize) {
    let server = world.serve(family, |stream| drop(both_ways(stream, 2, SIZE)));
    let client = world.connect(ue, server).expect("it connects");
    let [sent, got] = both_ways(client, 1, SIZE);
    assert_eq!(sent, Sha256::digest(data(1, SIZE)).to_vec());
    assert!(got == Sha256::digest(data(2, SIZE)).to_vec(), "family {family}");
}

#[test]
fn transfers_pass_whole_in_both_families_over_both_kinds_of_tunnels_and_keep_their_qfi() {
    if !can_build() {
        return;
    }
    for outer in [0, 1] {
        let world = World::new(outer);
        for family in [0, 1] {
            world.learn(0, family);
            transfer(&world, 0, family);
        }
        until("both have ended", || world.proxy()["flows"] == 0);
        let status = world.proxy();
        assert_eq!(status["ended"]["completed"], 2, "{status}");
        let stage = world.stage("status");
        assert_eq!((&stage["ues"], &stage["flows"]), (&2.into(), &2.into()), "{stage}");
        assert_eq!(stage["packets"]["homeless"], 0, "{stage}");
        assert_eq!(world.tunnels.shared.strange.load(Ordering::Relaxed), 0, "{stage}");
        let [tcp, udp] = [6, 17];
        let expected = [false, true].map(|up| [(up, tcp, QFI_TCP), (up, udp, QFI_OTHER)]);
        assert_eq!(world.tunnels.shared.seen(), expected.concat());
    }
}

#[test]
fn transfers_pass_whole_where_the_interfaces_carry_several_datagrams_in_one_packet() {
    if !can_build() {
        return;
    }
    for outer in [0, 1] {
        let world = &World::with(outer, true);
        for family in [0, 1] {
            // Several connections at a time, beside datagrams of the same length. In IPv6 the UEs
            // share a network.
            let ues = [[0, 1, 0], [0; 3]][family];
            ues.into_iter().for_each(|ue| world.learn(ue, family));
            thread::scope(|scope| {
                for ue in ues {
                    scope.spawn(move || transfer(world, ue, family));
                    scope.spawn(move || datagrams(world, ue, family));
                }
            });
        }
        until("all have ended", || world.proxy()["flows"] == 0);
        let status = world.proxy();
        assert_eq!(status["ended"]["completed"], 6, "{status}");
        let stage = world.stage("status");
        assert!(stage["joined"].as_u64() > Some(20), "{stage}");
        assert_eq!(stage["packets"]["homeless"], 0, "{stage}");
        assert_eq!(stage["packets"]["malformed"], 0, "{stage}");
        assert_eq!(world.tunnels.shared.strange.load(Ordering::Relaxed), 0, "{stage}");
        let [tcp, udp] = [6, 17];
        let expected = [false, true].map(|up| [(up, tcp, QFI_TCP), (up, udp, QFI_OTHER)]);
        assert_eq!(world.tunnels.shared.seen(), expected.concat());
    }
}

#[test]
fn a_ue_whose_downlink_is_not_known_passes_unsplit_until_it_is() {
    if !can_build() {
        return;
    }
    let world = World::new(0);
    assert!(!world.splits(1), "no downlink packet yet");
    assert!(world.splits(1), "the answer was one");
    let stage = world.stage("status");
    assert_eq!(stage["packets"]["early"], 1, "{stage}");
}

#[test]
fn resets_pass_from_either_end() {
    if !can_build() {
        return;
    }
    let world = World::new(0);
    for family in [0, 1] {
        world.learn(0, family);
        let server = world.serve(family, |mut stream| {
            let _byte = stream.read(&mut [0]);
            reset(stream);
        });
        let mut client = world.connect(0, server).expect("it connects");
        client.write_all(b"x").expect("it is sent");
        let error = client.read(&mut [0]).map_err(|e| e.kind());
        assert_eq!(error, Err(io::ErrorKind::ConnectionReset));
        let (tell, told) = std::sync::mpsc::channel();
        let server = world.serve(family, move |mut stream| {
            stream.write_all(b"x").expect("it is sent");
            tell.send(stream.read(&mut [0]).map_err(|e| e.kind())).expect("the test waits");
        });
        let mut client = world.connect(0, server).expect("it connects");
        client.read_exact(&mut [0]).expect("the server is there");
        reset(client);
        let error = told.recv_timeout(LIMIT).expect("it is told");
        assert_eq!(error, Err(io::ErrorKind::ConnectionReset));
    }
    assert_eq!(world.tunnels.shared.strange.load(Ordering::Relaxed), 0);
}

fn reset(stream: TcpStream) {
    Socket::from(stream).set_linger(Some(Duration::ZERO)).expect("it is open");
}

#[test]
fn a_smaller_mtu_beyond_either_end_of_the_tunnels_is_found_in_both_families() {
    if !can_build() {
        return;
    }
    let world = World::new(0);
    world.tunnels.shared.path_mtu.store(1_300, Ordering::Relaxed);
    for family in [0, 1] {
        world.learn(0, family);
        transfer(&world, 0, family);
    }
    assert_eq!(world.proxy()["ended"]["completed"], 2);
}

#[test]
fn after_the_proxy_is_killed_its_clients_are_reset_and_new_connections_pass() {
    if !can_build() {
        return;
    }
    let mut world = World::new(0);
    world.learn(0, 0);
    let endless = world.serve(0, |mut stream| while stream.write_all(&[7; 65_536]).is_ok() {});
    let mut client = world.connect(0, endless).expect("it connects");
    client.read_exact(&mut vec![0; 500_000]).expect("a part of it");
    assert!(world.splits(0));
    world.proxy.signal(Signal::SIGKILL);
    let error = io::copy(&mut client, &mut io::sink()).expect_err("not whole");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    until("new connections pass", || !world.splits(0));
    transfer(&world, 0, 0);
    world.proxy = world.start_proxy();
    assert!(world.splits(0));
    transfer(&world, 0, 0);
}

#[test]
fn after_the_stage_is_killed_the_tunnels_pass_and_a_new_one_works_with_a_new_proxy() {
    if !can_build() {
        return;
    }
    let mut world = World::new(0);
    world.learn(0, 0);
    assert!(world.splits(0));
    world.stage.signal(Signal::SIGKILL);
    for family in [0, 1] {
        world.learn(0, family);
        transfer(&world, 0, family);
    }
    assert!(!world.splits(0));
    until("the proxy ends by itself", || world.proxy.0.try_wait().expect("a child").is_some());
    world.stage = world.start_stage();
    world.proxy = world.start_proxy();
    world.learn(0, 0);
    assert!(world.splits(0));
    transfer(&world, 0, 0);
    // An orderly end.
    world.stage.signal(Signal::SIGTERM);
    transfer(&world, 0, 1);
    let rules = || Command::new("ip").args(["rule", "show"]).output();
    let rules = world.chain.inside(Place::Middle, rules).expect("it starts");
    let rules = String::from_utf8_lossy(&rules.stdout).into_owned();
    assert!(!rules.contains("2152"), "{rules}");
}

#[test]
fn other_packets_than_tcp_are_equal_byte_for_byte_and_an_unopened_teid_is_named() {
    if !can_build() {
        return;
    }
    let world = World::new(0);
    world.learn(0, 0);
    // Two more ends beside the real ones.
    let at = |place, address: IpAddr| {
        let bound = world.chain.inside(place, || UdpSocket::bind((address, gtpu::PORT)));
        let socket = bound.expect("it binds");
        socket.set_read_timeout(Some(LIMIT)).expect("it is open");
        socket
    };
    let [gnb, upf] = [at(Place::Ue, Chain::ue(2)[0]), at(Place::Server, Chain::server()[1])];
    drop(upf);
    let peers = [world
        .chain
        .inside(Place::Server, || {
            let socket = UdpSocket::bind((Chain::server()[0], 0))?;
            socket.set_read_timeout(Some(LIMIT))?;
            Ok(socket)
        })
        .expect("it binds")];
    let other = SocketAddr::from((Chain::ue(2)[0], gtpu::PORT));
    let ipv4 = |protocol: u8, payload: &[u8]| {
        let mut packet =
            vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 46, 0, 1, 10, 45, 0, 1];
        packet.extend_from_slice(payload);
        let length = u16::try_from(packet.len()).expect("short");
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet
    };
    let mut all: Vec<Vec<u8>> = vec![
        tunnels::g_pdu(false, 0x201, &ipv4(17, &[1; 999])),
        tunnels::g_pdu(false, 0x201, &ipv4(1, &[0; 64])),
        tunnels::g_pdu(false, 0x201, &ipv4(50, &[9; 77])),
        tunnels::g_pdu(false, 0x201, &ipv4(132, &[9; 77])),
        // A segment of an unknown connection.
        tunnels::g_pdu(false, 0x201, &ipv4(6, &[0x10; 40])),
        tunnels::g_pdu(false, 0xdead_beef, &[0xff; 30]),
        // Echo request, End Marker, and a packet that is not GTP-U.
        vec![0x32, 1, 0, 4, 0, 0, 0, 0, 0, 7, 0, 0],
        vec![0x30, 254, 0, 0, 0, 0, 2, 1],
        vec![0x30, 255, 0, 9, 0, 0, 2, 1],
        vec![0],
    ];
    let mut error =
        vec![0x32, 26, 0, 16, 0, 0, 0, 0, 0, 1, 0, 0, 16, 0xde, 0xad, 0xbe, 0xef, 133, 0, 4];
    error.extend_from_slice(&[10, 46, 0, 1]);
    all.push(error);
    for sent in &all {
        peers[0].send_to(sent, other).expect("it is sent");
        let mut room = vec![0; 2_048];
        let length = gnb.recv(&mut room).expect("it arrives");
        assert_eq!(&room[..length], &sent[..]);
    }
    let stage = world.stage("status");
    assert_eq!(stage["last_unopened"], "TEID 0xdeadbeef at 10.46.0.1", "{stage}");
    assert_eq!(stage["packets"]["unopened"], 1, "{stage}");
    assert_eq!(stage["packets"]["taken"], 0, "{stage}");
    assert!(stage["packets"]["malformed"].as_u64() >= Some(2), "{stage}");
}

#[test]
fn a_handover_to_other_tunnels_interrupts_no_connection() {
    if !can_build() {
        return;
    }
    let world = World::new(0);
    world.learn(0, 0);
    let server = world.serve(0, |stream| drop(both_ways(stream, 2, 6 * SIZE)));
    let client = world.connect(0, server).expect("it connects");
    let shared = std::sync::Arc::clone(&world.tunnels.shared);
    let moves = thread::spawn(move || {
        for round in 1..5 {
            thread::sleep(Duration::from_millis(40));
            shared.downlink.store(0x200 + round * 0x100, Ordering::Relaxed);
        }
    });
    let [_, got] = both_ways(client, 1, 6 * SIZE);
    moves.join().expect("it ends");
    assert!(got == Sha256::digest(data(2, 6 * SIZE)).to_vec());
    let tunnels = world.stage("tunnels");
    assert_eq!(tunnels[0]["downlink"]["teid"], 0x600, "{tunnels}");
}

/// IPsec in every form, both families: ESP alone, and inside UDP.
fn send_esp(chain: &Chain) {
    let esp = [0, 0, 0x10, 0x01, 0, 0, 0, 7, 0x5a, 0xc3, 0x99, 0x11, 0x20, 0x47, 0x6e, 0x02];
    for family in [0, 1] {
        let (own, to) = (Chain::ue(1)[family], Chain::server()[family]);
        let sent = chain.inside(Place::Ue, || {
            let domain = Domain::for_address((to, 0).into());
            let raw = Socket::new(domain, Type::RAW, Some(50.into()))?;
            raw.bind(&SocketAddr::from((own, 0)).into())?;
            raw.send_to(&esp, &SocketAddr::from((to, 0)).into())?;
            UdpSocket::bind((own, 0))?.send_to(&esp, (to, 4_500))
        });
        assert_eq!(sent.expect("it is sent"), esp.len());
    }
}

#[test]
fn ipsec_is_recognised_and_told_by_the_check_and_the_status_and_other_packets_are_not() {
    if !can_build() {
        return;
    }
    let world = World::new(0);
    let config = N3Config::read(&world.folder.path().join("n3.toml")).expect("a configuration");
    let clear = || {
        let checked = world.chain.inside(Place::Middle, || Ok(justfull_n3::check(&config)));
        let checked = checked.expect("it runs");
        let lacking: Vec<_> = checked.iter().filter(|c| c.required && c.found.is_err()).collect();
        assert!(lacking.is_empty(), "{lacking:?}");
        let clear = checked.into_iter().find(|one| one.name == "tunnels in the clear");
        clear.expect("it is checked").found
    };
    world.learn(0, 0);
    transfer(&world, 0, 1);
    assert_eq!(clear(), Ok("no IPsec in a second".into()));
    assert_eq!(world.stage("status")["encrypted"], 0);
    send_esp(&world.chain);
    until("all four are counted", || world.stage("status")["encrypted"] == 4);
    let told = thread::scope(|scope| {
        let checks = scope.spawn(clear);
        while !checks.is_finished() {
            send_esp(&world.chain);
            thread::sleep(Duration::from_millis(20));
        }
        checks.join().expect("it ends")
    });
    assert!(told.expect_err("IPsec passes").starts_with("encrypted: IPsec (ESP)"));
}

/// The files that an operator installs.
const UNIT: &str = include_str!("../../n3/operation/justfull-n3.service");
const DROP_IN: &str = include_str!("../../n3/operation/proxy-at-n3.conf");
const PROXY_UNIT: &str = include_str!("../operation/justfull-proxy.service");

/// The program that starts another with the capabilities of units.
fn with_capabilities(units: &[&str]) -> Vec<String> {
    let lines = units.iter().flat_map(|unit| unit.lines());
    let named = lines.filter_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let all: Vec<String> = named
        .flat_map(|line| line.split(' '))
        .map(|name| name.replace("CAP_", "+").to_lowercase())
        .collect();
    assert!(!all.is_empty());
    let kept = format!("--bounding-set=-all,{}", all.join(","));
    vec!["setpriv".into(), "--no-new-privs".into(), kept]
}

#[test]
fn the_units_capabilities_are_enough_and_systemd_takes_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        // A unit must name an existing program.
        fs::write(&file, text.replace("/usr/local/bin/justfull", "/bin/true")).expect("a file");
        file
    };
    let units = [
        write("justfull-n3.service", UNIT),
        write("justfull-proxy.service", PROXY_UNIT),
        write("justfull-proxy.service.d/proxy-at-n3.conf", DROP_IN),
    ];
    match Command::new("systemd-analyze").arg("verify").args(&units[..2]).output() {
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success() && !said.contains("justfull"), "{said}");
        }
        Err(error) => println!("skipped: systemd-analyze: {error}"),
    }
    if !can_build() {
        return;
    }
    let mut world = World::new(0);
    world.proxy.signal(Signal::SIGTERM);
    world.stage.signal(Signal::SIGTERM);
    let (chain, at) = (&world.chain, world.folder.path());
    let stage = Part::start_by(&with_capabilities(&[UNIT]), chain, at, STAGE, "n3.toml");
    let both = with_capabilities(&[PROXY_UNIT, DROP_IN]);
    let proxy = Part::start_by(&both, chain, at, PROXY, "rapid.toml");
    (world.stage, world.proxy) = (stage, proxy);
    world.learn(0, 0);
    assert!(world.splits(0));
    transfer(&world, 0, 0);
}

#[test]
fn a_wrong_socket_of_the_stage_is_named_and_a_missing_stage_refused() {
    let text = |socket: &str| format!("[select]\ninterfaces = [\"ue\"]\n[n3]\n{socket}\n");
    for (wrong, parts) in [
        ("socket = \"x\"", ["n3.socket", "absolute path"]),
        ("socket = 7", ["n3.socket", "7"]),
        ("sockt = \"/x\"", ["n3.sockt", "socket"]),
    ] {
        let error = ProxyConfig::parse(&text(wrong)).expect_err(wrong);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let none = folder.path().join("none").display().to_string();
    let config = ProxyConfig::parse(&text(&format!("socket = {none:?}"))).expect("valid");
    let checked = justfull_proxy::check(&config);
    assert_eq!((checked.len(), checked[0].name), (1, "n3 stage"));
    assert!(checked[0].found.as_ref().is_err_and(|why| why.contains(&none)), "{checked:?}");
}
