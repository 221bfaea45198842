//! Loops: connections to the proxy's own host, and routes that return the proxy's own segments to a
//! server.

use super::faults::{assert_serves, command};
use super::*;

/// The middle's address on the UEs' link.
const GATEWAY: [u8; 4] = [10, 47, 0, 1];

/// The port at which the proxy listens, on the loopback address.
fn port_of_proxy(world: &World) -> u16 {
    let text =
        world.chain.inside(Place::Middle, || fs::read_to_string("/proc/thread-self/net/tcp"));
    let text = text.expect("the kernel tells");
    // Address and port in hexadecimal; 0A listens.
    let of = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let port = words.next()?.strip_prefix("0100007F:")?;
        (words.nth(1)? == "0A").then(|| u16::from_str_radix(port, 16).ok())?
    };
    text.lines().find_map(of).expect("it listens")
}

#[test]
fn a_connection_to_the_proxys_own_host_is_never_split_whatever_its_port() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let own = port_of_proxy(&world);
    let refused = world.connect(1, (IpAddr::from(GATEWAY), own).into(), 0);
    assert_eq!(refused.map_err(|e| e.kind()).err(), Some(io::ErrorKind::ConnectionRefused));
    let service = world.chain.inside(Place::Middle, || TcpListener::bind("0.0.0.0:0"));
    let service = service.expect("it listens");
    let port = service.local_addr().expect("an address").port();
    let mut client = world.connect(1, (IpAddr::from(GATEWAY), port).into(), 0).expect("it opens");
    let (mut other, from) = service.accept().expect("its other end");
    assert_eq!(from.ip(), Chain::ue(1)[0]);
    other.write_all(b"all").expect("it is open");
    client.read_exact(&mut [0; 3]).expect("it comes");
    assert_eq!(world.status()["accepted"], 0, "{}", world.status());
}

/// Packets that the UE's host has forwarded.
fn forwarded(world: &World) -> u64 {
    let text = command(world, Place::Ue, &["cat", "/proc/net/snmp"]);
    let counts = text.lines().filter(|line| line.starts_with("Ip:")).nth(1).expect("counts");
    counts.split_whitespace().nth(6).and_then(|n| n.parse().ok()).expect("ForwDatagrams")
}

#[test]
fn a_loop_of_routes_makes_no_connections_is_reported_and_then_connections_pass() {
    if !can_build() {
        return;
    }
    let world = World::new("[timeouts]\nconnect = \"1s\"\n");
    let server = world.serve(0, sender);
    let to = format!("{}/32", server.ip());
    // The UE's host returns the packets that the proxy sends there, with its own address as the
    // source.
    for setting in [
        "net.ipv4.ip_forward=1",
        "net.ipv4.conf.all.accept_local=1",
        "net.ipv4.conf.all.rp_filter=0",
    ] {
        command(&world, Place::Ue, &["sysctl", "-qw", setting]);
    }
    let way = [&to, "via", "10.45.0.1", "dev", "ran", "onlink"];
    command(&world, Place::Middle, &[&["ip", "route", "add"], &way[..]].concat());
    for number in 1..=3 {
        assert_reset(&world, server);
        until("it is counted", || world.outcomes("no_answer") == number);
    }
    assert!(forwarded(&world) >= 3, "what the proxy sent came back");
    let status = world.status();
    assert_eq!((&status["accepted"], &status["flows"]), (&3.into(), &0.into()), "{status}");
    let told = status["return_path"].as_str().unwrap_or_default();
    assert!(told.starts_with("no server has answered"), "{status}");
    let beside_it = world.serve(1, sender);
    assert_serves(&world, beside_it, 1);
    assert_eq!(world.status()["accepted"], 3, "it passes");
    command(&world, Place::Middle, &["ip", "route", "del", &to]);
    until("it is tried again", || {
        assert_serves(&world, server, 1);
        thread::sleep(Duration::from_millis(100));
        world.status()["return_path"] == "works"
    });
}
