//! A host that stands by for another host. After it has got the addresses of the other host,
//! connections that the other host split are reset at both ends, and new connections are split.

use super::faults::first_segment;
use super::*;
use std::net::Ipv4Addr;
use std::sync::mpsc::Sender;

/// The addresses that move between the hosts, on each side: the next hops of UEs and of servers.
const VIRTUAL: [[&str; 2]; 2] = [["10.47.0.254", "fd47::254"], ["10.48.0.254", "fd48::254"]];
const SIDES: [(Place, &str, &str); 2] = [(Place::Ue, "ran", "45"), (Place::Server, "core", "46")];
const SETTINGS: &str = "unknown = \"reset\"\nports = [\"1024-65535\"]\n";

/// Runs each line as the arguments of an `ip` command on a host.
pub(crate) fn ip(chain: &Chain, place: Place, lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let run = || Command::new("ip").args(line.split_whitespace()).output();
        let output = chain.inside(place, run).expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {line}: {said}");
    }
}

/// Starts a process on a host. Its identifier names the network namespace of the host.
fn anchor(chain: &Chain, place: Place) -> Child {
    let start = || Command::new("sleep").arg("600").spawn();
    chain.inside(place, start).expect("it starts")
}

/// Two hosts between the UEs and the server of the first chain.
pub(crate) struct Pair {
    pub(crate) active: World,
    pub(crate) standby: World,
}

impl Pair {
    /// Builds both hosts; the active host has the addresses.
    fn new() -> Self {
        let pair = Self::without_addresses();
        pair.move_to(&pair.active);
        pair
    }

    /// Builds both hosts; no host has the addresses.
    pub(crate) fn without_addresses() -> Self {
        let [active, standby] = [0; 2].map(|_| World::new(SETTINGS));
        let pair = Self { active, standby };
        for (side, (place, link, net)) in SIDES.into_iter().enumerate() {
            let mut host = anchor(&pair.active.chain, place);
            let process = host.id();
            let chain = &pair.active.chain;
            let [v4, v6] = VIRTUAL[side];
            ip(
                &pair.standby.chain,
                Place::Middle,
                &format!(
                    "link del {link}
                     link add {link} type veth peer name second netns {process}
                     link set {link} up
                     addr add fe80::8/64 dev {link} nodad
                     route replace 10.{net}.0.0/16 dev {link}
                     -6 route replace fd{net}::/16 dev {link}"
                ),
            );
            host.kill().expect("it lives");
            host.wait().expect("a child");
            // Both links of the end are ports of one bridge, which has the addresses of the end.
            let own = if place == Place::Ue { 1..=8 } else { 1..=1 };
            let addresses: String = own
                .map(|n| {
                    format!(
                        "addr add 10.{net}.0.{n}/32 dev lan
                         addr add fd{net}::{n}/128 dev lan nodad\n"
                    )
                })
                .collect();
            ip(
                chain,
                place,
                &format!(
                    "link add lan type bridge
                     link set lan up
                     addr flush dev {link}
                     link set {link} master lan
                     link set second master lan
                     link set second up
                     {addresses}
                     addr add fe80::9/64 dev lan nodad
                     route replace default via {v4} dev lan onlink src 10.{net}.0.1
                     -6 route replace default via {v6} dev lan onlink src fd{net}::1"
                ),
            );
        }
        pair
    }

    fn move_to(&self, to: &World) {
        for (side, (place, link, _)) in SIDES.into_iter().enumerate() {
            let [v4, v6] = VIRTUAL[side];
            ip(
                &to.chain,
                Place::Middle,
                &format!("addr add {v4}/32 dev {link}\naddr add {v6}/128 dev {link} nodad"),
            );
            // The effect of a gratuitous ARP and an unsolicited neighbour advertisement.
            ip(&self.active.chain, place, "neigh flush dev lan\n-6 neigh flush dev lan");
        }
    }

    /// Disconnects the active host and moves the addresses to the standby.
    fn fail_over(&self) {
        ip(&self.active.chain, Place::Middle, "link set ran down\nlink set core down");
        self.move_to(&self.standby);
    }
}

/// Both ends of a connection that has carried data in both directions.
pub(crate) struct Both {
    pub(crate) client: TcpStream,
    pub(crate) server: TcpStream,
}

pub(crate) fn connected(
    pair: &Pair,
    number: u8,
    at: SocketAddr,
    accepted: &Receiver<TcpStream>,
) -> Both {
    let client = pair.active.connect(number, at, 0).expect("it connects");
    let both = Both { client, server: accepted.recv_timeout(LIMIT).expect("it is accepted") };
    both.passes();
    both
}

impl Both {
    fn passes(&self) {
        for (mut from, mut to) in [(&self.client, &self.server), (&self.server, &self.client)] {
            from.write_all(b"data").expect("it is sent");
            let mut got = [0; 4];
            to.read_exact(&mut got).expect("it arrives");
            assert_eq!(&got, b"data");
        }
    }

    pub(crate) fn is_reset(mut end: &TcpStream) -> bool {
        let ended = end.read(&mut [0; 16]).map_err(|e| e.kind());
        ended == Err(io::ErrorKind::ConnectionReset)
    }
}

pub(crate) fn speak(mut end: &TcpStream) {
    end.write_all(b"more").expect("it is sent");
}

pub(crate) fn listening(pair: &Pair, family: usize) -> (SocketAddr, Receiver<TcpStream>) {
    let (give, accepted): (Sender<TcpStream>, _) = channel();
    let at = pair.active.serve(family, move |stream| {
        // The send fails if the test has ended.
        let _ended = give.send(stream);
    });
    (at, accepted)
}

#[test]
fn after_the_address_has_moved_split_connections_end_at_both_ends_and_new_ones_are_served() {
    if !can_build() {
        return;
    }
    let pair = Pair::new();
    let servers = [0, 1].map(|family| listening(&pair, family));
    let open = |number| {
        let of = |(at, accepted): &(SocketAddr, Receiver<TcpStream>)| {
            connected(&pair, number, *at, accepted)
        };
        servers.iter().map(of).collect::<Vec<Both>>()
    };
    let (ues_speak, servers_speak) = (open(1), open(2));
    assert_eq!(pair.active.status()["flows"], 4);
    assert_eq!(pair.standby.status()["unknown_reset"], 0);
    pair.fail_over();
    for Both { client, server } in &ues_speak {
        speak(client);
        assert!(Both::is_reset(client) && Both::is_reset(server), "the UE's segment ends both");
    }
    for Both { client, server } in &servers_speak {
        speak(server);
        assert!(Both::is_reset(server) && Both::is_reset(client), "the server's segment ends both");
    }
    open(3);
    let status = pair.standby.status();
    assert_eq!(status["accepted"], 2, "new ones are split: {status}");
    until("the resets are counted", || {
        pair.standby.status()["unknown_reset"].as_u64().is_some_and(|count| count >= 4)
    });
}

#[test]
fn connections_that_pass_unsplit_on_a_host_that_stands_by_go_on() {
    if !can_build() {
        return;
    }
    let pair = Pair::new();
    pair.fail_over();
    let (at, accepted) = listening(&pair, 0);
    let listener = pair.active.chain.inside(Place::Ue, || TcpListener::bind(("10.45.0.5", 0)));
    let listener = listener.expect("it listens");
    let to = listener.local_addr().expect("an address");
    // A connection from the network to a UE is not split.
    let begun = pair.active.chain.inside(Place::Server, || TcpStream::connect(to));
    let server = limited(begun.expect("it connects"));
    let client = limited(listener.accept().expect("it arrives").0);
    let back = Both { client, server };
    back.passes();
    let split = connected(&pair, 1, at, &accepted);
    split.passes();
    back.passes();
    let status = pair.standby.status();
    assert_eq!((&status["accepted"], &status["unknown_reset"]), (&1.into(), &0.into()));
}

#[test]
fn a_connection_without_room_to_be_remembered_is_not_reset() {
    if !can_build() {
        return;
    }
    let pair = Pair::new();
    let (at, accepted) = listening(&pair, 0);
    let lost = connected(&pair, 1, at, &accepted);
    pair.fail_over();
    // First segments from the network to closed ports of UEs: more connections than have room.
    let IpAddr::V4(from) = Chain::server()[0] else { panic!("the first is of IPv4") };
    let fill = || {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(socket2::Protocol::from(255)))?;
        for number in 0..100_000_u32 {
            let ue = Ipv4Addr::new(10, 45, 0, 2 + (number / 50_000) as u8);
            let packet = first_segment(from, (number % 50_000) as u16 + 1_024, ue);
            // A full queue may drop the segment; the test passes if two thirds arrive.
            let _lost = socket.send_to(&packet, &SocketAddr::from((ue, 0)).into());
        }
        Ok(())
    };
    pair.active.chain.inside(Place::Server, fill).expect("it is sent");
    let listener = pair.active.chain.inside(Place::Ue, || TcpListener::bind(("10.45.0.5", 0)));
    let listener = listener.expect("it listens");
    let to = listener.local_addr().expect("an address");
    let begun = pair.active.chain.inside(Place::Server, || TcpStream::connect(to));
    let server = limited(begun.expect("it connects"));
    let back = Both { client: limited(listener.accept().expect("it arrives").0), server };
    back.passes();
    // Segments of the lost connection also pass.
    speak(&lost.client);
    back.passes();
    assert_eq!(pair.standby.status()["unknown_reset"], 0);
}
