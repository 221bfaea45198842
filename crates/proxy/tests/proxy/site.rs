//! The host and the network around a proxy: all that works without the proxy works with it, and the
//! host's prohibitions stay in force.

use super::faults::{assert_serves, command, first_segment, installed};
use super::*;
use nix::sched::{CloneFlags, setns};
use std::net::Ipv4Addr;

/// A host beyond the UE or the server; packets reach it through them, over a link with a small MTU.
pub(crate) struct Far(pub(crate) Child);

impl Far {
    const MTU: &str = "1300";

    fn build(world: &World, at: Place) -> Self {
        let net = if at == Place::Ue { 45 } else { 46 };
        let (link, router, middle) = if at == Place::Ue {
            ("ran", "10.45.0.1", "fd45::1")
        } else {
            ("core", "10.46.0.1", "fd46::1")
        };
        let words = ["-n", "sleep", "600"];
        let child = world.chain.inside(at, || Command::new("unshare").args(words).spawn());
        let far = Self(child.expect("it starts"));
        let id = far.0.id().to_string();
        let own = format!("/proc/{id}/ns/net");
        until("it has a namespace", || {
            fs::read_link(&own).ok() != fs::read_link("/proc/self/ns/net").ok()
                && fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe.ends_with("sleep"))
        });
        let run = |place, text: &str| {
            command(world, place, &text.split_whitespace().collect::<Vec<_>>());
        };
        run(at, &format!("ip link add far mtu {} type veth peer name near netns {id}", Self::MTU));
        run(at, &format!("ip addr add 10.{net}.9.2/24 dev far"));
        run(at, &format!("ip addr add fd{net}:9::2/64 dev far nodad"));
        run(at, "ip link set far up");
        run(at, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
        run(Place::Middle, &format!("ip route add 10.{net}.9.0/24 via {router} dev {link} onlink"));
        run(Place::Middle, &format!("ip route add fd{net}:9::/64 via {middle} dev {link} onlink"));
        for words in [
            "ip link set lo up".to_owned(),
            format!("ip addr add 10.{net}.9.1/24 dev near"),
            format!("ip addr add fd{net}:9::1/64 dev near nodad"),
            "ip link set near up".to_owned(),
            // Its own packets fit the link, but its MSS option is for an MTU of 1500 bytes.
            format!("ip route add default via 10.{net}.9.2 mtu {} advmss 1460", Self::MTU),
            format!("ip -6 route add default via fd{net}:9::2 mtu {} advmss 1440", Self::MTU),
        ] {
            run(at, &format!("nsenter -t {id} -n {words}"));
        }
        far
    }

    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let file = fs::File::open(format!("/proc/{}/ns/net", self.0.id())).expect("it lives");
        thread::scope(|scope| {
            let entered = scope.spawn(|| {
                setns(file, CloneFlags::CLONE_NEWNET).expect("it may");
                work()
            });
            entered.join().expect("it ends")
        })
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Sends data from one end to the other and back; all of it must arrive.
fn both_ways(mut one: TcpStream, mut other: TcpStream) {
    thread::scope(|scope| {
        let send = |mut to: TcpStream, seed| {
            to.write_all(&data(seed, 2_000_000)).expect("it is sent");
            to.shutdown(Shutdown::Write).expect("it is open");
        };
        let (to_other, to_one) = (one.try_clone(), other.try_clone());
        scope.spawn(move || send(to_other.expect("a descriptor"), 1));
        scope.spawn(move || send(to_one.expect("a descriptor"), 2));
        let mut got = Vec::new();
        other.read_to_end(&mut got).expect("all of it");
        assert!(got == data(1, 2_000_000));
        got.clear();
        one.read_to_end(&mut got).expect("all of it");
        assert!(got == data(2, 2_000_000));
    });
}

#[test]
fn a_smaller_mtu_beyond_either_leg_is_found_in_both_families() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let beyond = [Far::build(&world, Place::Ue), Far::build(&world, Place::Server)];
    for family in 0..2 {
        // From beyond the UE to the server; and from a UE to beyond the server.
        let listener =
            world.chain.inside(Place::Server, || TcpListener::bind((Chain::server()[family], 0)));
        let listener = listener.expect("it listens");
        let to = listener.local_addr().expect("an address");
        let client = beyond[0].inside(|| TcpStream::connect(to)).expect("it connects");
        both_ways(limited(client), limited(listener.accept().expect("it comes").0));
        let far: IpAddr = ["10.46.9.1", "fd46:9::1"][family].parse().expect("an address");
        let listener = beyond[1].inside(|| TcpListener::bind((far, 0))).expect("it listens");
        let to = listener.local_addr().expect("an address");
        let client = world.connect(1, to, 0).expect("it connects");
        both_ways(client, limited(listener.accept().expect("it comes").0));
    }
    assert_eq!(world.status()["accepted"], 4);
}

#[test]
fn a_destination_that_cannot_be_reached_ends_a_connect_at_once() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    // The server's host sends this error; the proxy cannot know it otherwise.
    command(
        &world,
        Place::Middle,
        &["ip", "route", "add", "10.46.7.0/24", "via", "10.46.0.1", "dev", "core", "onlink"],
    );
    command(
        &world,
        Place::Middle,
        &["ip", "route", "add", "fd46:7::/64", "via", "fd46::1", "dev", "core", "onlink"],
    );
    command(
        &world,
        Place::Server,
        &["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"],
    );
    command(&world, Place::Server, &["ip", "route", "add", "unreachable", "10.46.7.0/24"]);
    command(&world, Place::Server, &["ip", "-6", "route", "add", "unreachable", "fd46:7::/64"]);
    for (number, at) in (1..).zip(["10.46.7.1", "fd46:7::1"]) {
        let began = now();
        let to = SocketAddr::new(at.parse().expect("an address"), 80);
        if let Ok(mut client) = world.connect(1, to, 0) {
            let end = client.read(&mut [0]).map_err(|e| e.kind());
            assert_eq!(end, Err(io::ErrorKind::ConnectionReset));
        }
        // The proxy's own time limit is 10 s.
        assert!(now().duration_since(began) < Duration::from_secs(5), "{at}");
        until("it is counted", || world.outcomes("refused") == number);
    }
}

/// Settings of the host that may block packets to the proxy.
#[test]
fn settings_that_look_at_marks_or_ways_back_stop_nothing() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let servers = [world.serve(0, sender), world.serve(1, sender)];
    for setting in [
        "net.ipv4.conf.all.src_valid_mark=1",
        "net.ipv4.conf.all.rp_filter=1",
        "net.ipv4.tcp_fwmark_accept=1",
        "net.ipv4.fwmark_reflect=1",
        "net.ipv6.fwmark_reflect=1",
    ] {
        command(&world, Place::Middle, &["sysctl", "-qw", setting]);
        let before = world.status()["accepted"].as_u64().expect("a number");
        servers.iter().for_each(|server| assert_serves(&world, *server, 1));
        assert_eq!(world.status()["accepted"], before + 2, "{setting}");
    }
}

pub(crate) fn nft(world: &World, text: &str) {
    let file = world.path("rules.nft");
    fs::write(&file, text).expect("a file");
    command(world, Place::Middle, &["nft", "-f", file.to_str().expect("a name")]);
}

pub(crate) fn checked(world: &World) -> Vec<justfull_net::Capability> {
    let config = ProxyConfig::read(&world.path("rapid.toml")).expect("a configuration");
    world.chain.inside(Place::Middle, || Ok(check(&config))).expect("it is tried")
}

pub(crate) fn refusals(world: &World) -> String {
    let refused = checked(world).into_iter().filter(|c| c.required);
    refused.filter_map(|c| c.found.err()).collect::<Vec<_>>().join("; ")
}

const INPUT_DROP: &str = "table inet host { chain input {
    type filter hook input priority 0; policy drop;
    iif lo accept
    ct state established,related accept
    icmp type echo-request accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert } accept
}
}";

#[test]
fn a_firewall_of_the_host_is_named_with_what_mends_it_and_new_connections_pass() {
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    assert_eq!(refusals(&world), "", "{:?}", checked(&world));
    nft(&world, INPUT_DROP);
    let told = refusals(&world);
    let command_of = "nft insert rule inet host input meta mark 27238 accept";
    assert!(told.contains("the policy of chain input in table inet host"), "{told}");
    assert!(told.matches(command_of).count() == 2, "both families: {told}");
    let servers = [world.serve(0, sender), world.serve(1, sender)];
    // The first connection of each family is lost: its client has had an answer.
    let lost = servers.map(|server| world.connect(1, server, 0).expect("it connects"));
    until("it is told", || world.status()["unsplit"].as_array().is_some_and(|why| why.len() == 2));
    assert_eq!(metrics(&world)["justfull_proxy_unsplit"] as u64, 1);
    let log = fs::read_to_string(world.path("log")).expect("a log");
    assert_eq!(log.matches("never accepted").count(), 2, "{log}");
    servers.iter().for_each(|server| assert_serves(&world, *server, 1));
    drop(lost);
    let words: Vec<&str> = command_of.split(' ').collect();
    command(&world, Place::Middle, &words);
    assert_eq!(refusals(&world), "");
    let before = world.status()["accepted"].as_u64().expect("a number");
    until("they are split again", || {
        servers.iter().for_each(|server| assert_serves(&world, *server, 1));
        thread::sleep(Duration::from_millis(100));
        world.status()["unsplit"] == Value::Array(vec![])
            && world.status()["accepted"].as_u64() >= Some(before + 2)
    });
}

#[test]
fn a_trial_waits_until_the_table_of_an_earlier_one_is_gone() {
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    let owner = world.chain.inside(Place::Middle, || {
        Command::new("nft").arg("-i").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
    });
    let mut owner = owner.expect("nft starts");
    let mut input = owner.stdin.take().expect("it is piped");
    // The trials of connections, and the trial of all expressions with a mark of its own.
    let names = ["justfull-check", "justfull-1785099378"];
    for (family, name) in ["ip", "ip6"].into_iter().flat_map(|one| names.map(|name| (one, name))) {
        let table = format!("{family} {name}");
        let lines = format!("add table {table} {{ flags owner; }}\nadd chain {table} taken\n");
        input.write_all(lines.as_bytes()).expect("nft reads");
    }
    until("all tables are there", || {
        let chains = command(&world, Place::Middle, &["nft", "list", "chains"]);
        chains.matches("chain taken").count() == 4
    });
    let shown = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            drop(input);
        });
        checked(&world)
    });
    owner.wait().expect("it ends with its input");
    let refused = shown.iter().filter(|one| one.required && one.found.is_err());
    assert_eq!(refused.count(), 0, "{shown:?}");
    for family in ["IPv4 connection", "IPv6 connection"] {
        let made = shown.iter().find(|one| one.name == family);
        assert!(made.is_some_and(|one| one.required && one.found.is_ok()), "{family}: {made:?}");
    }
}

#[test]
fn packets_that_forward_rules_deny_stay_denied_and_translations_hold() {
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    let denied = [world.serve(0, sender), world.serve(1, sender)];
    nft(
        &world,
        &format!(
            "table inet fw {{ chain f {{ type filter hook forward priority 0; policy accept;
             iifname \"ran\" tcp dport {{ {}, {} }} reject with tcp reset
             ct state invalid drop\n}}\n}}",
            denied[0].port(),
            denied[1].port()
        ),
    );
    for server in denied {
        let refused = world.connect(1, server, 0).map_err(|e| e.kind());
        assert_eq!(refused.err(), Some(io::ErrorKind::ConnectionRefused));
    }
    assert_eq!(world.status()["accepted"], 0);
    // Beyond this host, the UEs' addresses are unknown.
    nft(
        &world,
        "table inet tr { chain p { type nat hook postrouting priority srcnat;
         oifname \"core\" masquerade\n}\n}",
    );
    command(&world, Place::Server, &["ip", "route", "add", "blackhole", "10.45.0.0/16"]);
    command(&world, Place::Server, &["ip", "-6", "route", "add", "blackhole", "fd45::/16"]);
    assert_eq!(refusals(&world), "");
    until("it is seen that connections are tracked", || {
        let servers = [world.serve(0, sender), world.serve(1, sender)];
        let before = world.status()["ended"]["completed"].as_u64().expect("a number");
        servers.iter().for_each(|server| assert_serves(&world, *server, 1));
        world.status()["ended"]["completed"].as_u64() == Some(before + 2)
    });
    // The server at the other address serves itself.
    let server = world.serve(0, sender);
    nft(
        &world,
        &format!(
            "table ip dn {{ chain p {{ type nat hook prerouting priority dstnat;
             iifname \"ran\" tcp dport 7777 dnat to {server}\n}}\n}}"
        ),
    );
    assert_serves(&world, SocketAddr::new(Chain::server()[0], 7_777), 1);
}

#[test]
fn rules_that_only_first_segments_meet_are_named() {
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    for (rule, told) in [
        ("forward iifname \"ran\" counter", "counts packets"),
        ("forward ip saddr 10.45.0.0/16 meta mark set 7", "sets a mark"),
        ("prerouting iifname \"ran\" ip dscp set cs1", "rewrites headers"),
        ("forward tcp dport 80 limit rate 10/second accept", "limits packets"),
        ("postrouting iifname \"ran\" oifname \"core\" masquerade", "by the interface"),
        ("forward iifname \"eth9\" counter", ""),
        ("forward tcp dport 81 counter reject", ""),
        ("forward limit rate 1/second counter log", ""),
        ("forward ct state new limit rate 10/second accept", ""),
        ("forward meta l4proto udp meta mark set 7", ""),
        ("forward tcp flags syn tcp option maxseg size set rt mtu", ""),
        ("forward ct state established,related accept", ""),
        ("postrouting oifname \"core\" masquerade", ""),
    ] {
        let (hook, rule) = rule.split_once(' ').expect("a hook");
        let kind = if rule.contains("masquerade") { "nat" } else { "filter" };
        nft(
            &world,
            &format!(
                "table inet other {{ chain own {{ {rule}\n}}\n
                 chain c {{ type {kind} hook {hook} priority 0; jump own\n}}\n}}"
            ),
        );
        let found = refusals(&world);
        assert!(found.contains(told) && found.is_empty() == told.is_empty(), "{rule}: {found}");
        assert!(told.is_empty() || found.contains("chain own in table inet other"), "{found}");
        nft(&world, "delete table inet other");
    }
}

#[test]
fn policy_routes_and_tables_that_others_remove_come_back_and_are_reported() {
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    let servers = [world.serve(0, sender), world.serve(1, sender)];
    for (number, text) in (1..).zip([
        "ip rule del fwmark 27238 table 27238",
        "ip rule del fwmark 27238",
        "ip rule del priority 101",
        "ip -6 rule del fwmark 27238 table 27238",
        "ip route flush table 27238",
        "ip -6 route flush table 27238",
    ]) {
        command(&world, Place::Middle, &text.split(' ').collect::<Vec<_>>());
        let began = now();
        until("it is back", || world.status()["routes_restored"] == number);
        assert!(now().duration_since(began) < Duration::from_secs(5), "{text}");
        let before = world.status()["accepted"].as_u64().expect("a number");
        servers.iter().for_each(|server| assert_serves(&world, *server, 1));
        assert_eq!(world.status()["accepted"], before + 2, "{text}");
    }
    let log = fs::read_to_string(world.path("log")).expect("a log");
    assert_eq!(log.matches("another program removed some").count(), 6, "{log}");
    // No other program can remove the tables.
    command(&world, Place::Middle, &["nft", "flush", "ruleset"]);
    let before = world.status()["accepted"].as_u64().expect("a number");
    servers.iter().for_each(|server| assert_serves(&world, *server, 1));
    assert_eq!(world.status()["accepted"], before + 2);
}

#[test]
fn beyond_the_limit_connections_pass_and_none_is_reset() {
    if !can_build() {
        return;
    }
    let world = World::new("[limits]\nflows = 20\n");
    let server = world.serve(0, sender);
    let connect = |n: u8| world.connect(n % 8 + 1, server, 0).expect("it connects");
    let mut held: Vec<_> = (0..30).map(connect).collect();
    until("it is told", || {
        world.status()["unsplit"][0].as_str().is_some_and(|why| why.contains("limits.flows"))
    });
    held.extend((30..100).map(connect));
    assert!(world.status()["accepted"].as_u64() < Some(100), "{}", world.status());
    for (seed, mut client) in (0..).zip(held) {
        client.write_all(&request(seed, 10_000)).expect("it is sent");
        client.shutdown(Shutdown::Write).expect("it is open");
        let mut got = Vec::new();
        client.read_to_end(&mut got).expect("all of it");
        assert_eq!(got, data(seed, 10_000));
    }
    assert_eq!(world.status()["over_limit"], 0);
    until("new ones are split again", || {
        assert_serves(&world, server, 1);
        world.status()["unsplit"] == Value::Array(vec![])
    });
}

#[test]
fn one_ue_takes_no_more_than_its_share() {
    if !can_build() {
        return;
    }
    let world = World::new("[limits]\nflows = 50\n");
    let server = world.serve(0, sender);
    let hog: Vec<_> = (1..=45)
        .map(|number| {
            let client = world.connect(2, server, 0).expect("it connects");
            // A connection is split before the next begins, or it has passed.
            until("it is seen", || {
                world.status()["flows"] == number || world.status()["greedy_ues"] == 1
            });
            client
        })
        .collect();
    assert_eq!((&world.status()["greedy_ues"], &world.status()["flows"]), (&1.into(), &41.into()));
    let before = world.status()["accepted"].as_u64().expect("a number");
    let mut other = world.connect(3, server, 0).expect("it connects");
    other.write_all(&request(1, 10)).expect("it is sent");
    other.read_exact(&mut [0; 10]).expect("it is served");
    assert_eq!(world.status()["accepted"], before + 1, "it is split: {}", world.status());
    drop(hog);
    until("it has places again", || world.status()["greedy_ues"] == 0);
}

#[test]
fn a_port_that_a_service_of_this_host_has_is_left_alone() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let server = world.serve(0, sender);
    let service = world.chain.inside(Place::Middle, || TcpListener::bind("0.0.0.0:0"));
    let service = service.expect("it listens");
    let port = service.local_addr().expect("an address").port();
    // The first connection shows the problem.
    let _first = world.connect(1, server, port).map(|mut client| client.read(&mut [0]));
    until("it is counted", || world.outcomes("address_in_use") == 1);
    let mut client = world.connect(2, server, port).expect("it connects");
    client.write_all(&request(1, 1_000)).expect("it is sent");
    client.read_exact(&mut [0; 1_000]).expect("it passes");
}

#[test]
fn a_flood_resets_no_connection_that_began_before_the_proxy_or_beside_it() {
    if !can_build() {
        return;
    }
    let mut world = World::new("");
    let server = world.serve(0, sender);
    world.signal(Signal::SIGTERM);
    assert_eq!(world.ended(), Some(0));
    let mut older = world.connect(1, server, 0).expect("it connects");
    world.proxy = spawn(&world.chain, &world.folder);
    let IpAddr::V4(target) = Chain::server()[0] else { panic!("the first is of IPv4") };
    let flood = || {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(socket2::Protocol::from(255)))?;
        for number in 0..20_000_u32 {
            let from = Ipv4Addr::new(10, 45, 100, (number % 251) as u8);
            let packet = first_segment(from, (number / 251) as u16 + 1_024, target);
            // A full queue loses it, as intended.
            let _lost = socket.send_to(&packet, &SocketAddr::from((target, 0)).into());
        }
        Ok(())
    };
    thread::scope(|scope| {
        let flooding = scope.spawn(|| world.chain.inside(Place::Ue, flood));
        // From the first moment on.
        (0..20).for_each(|seed| assert_serves(&world, server, seed));
        flooding.join().expect("it ends").expect("it is sent");
    });
    until("it is told", || world.status()["flood"] == true);
    older.write_all(&request(9, 100_000)).expect("it is sent");
    older.shutdown(Shutdown::Write).expect("it is open");
    let mut got = Vec::new();
    older.read_to_end(&mut got).expect("it lives");
    assert_eq!(got, data(9, 100_000));
}

#[test]
fn a_port_that_is_used_again_after_the_server_closed_first_works() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    for family in 0..2 {
        let server = world.serve(family, |mut stream| {
            stream.write_all(b"x").expect("it is sent");
        });
        for round in 1..=3 {
            let mut client = world.connect(1, server, 40_002).expect("it connects");
            let mut text = Vec::new();
            client.read_to_end(&mut text).expect("all of it");
            assert_eq!(text, b"x");
            drop(client);
            let all = 3 * family as u64 + round;
            until("it is completed", || world.outcomes("completed") == all);
            // The client's own TIME_WAIT would make its kernel wait.
            let own = SocketAddr::from((Chain::ue(1)[family], 40_002));
            world.chain.inside(Place::Ue, || destroy(own, server)).expect("it goes");
        }
    }
}
