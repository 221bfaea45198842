//! First segments that wait until their server has answered: the client gets its server's answer.

use super::faults::command;
use super::*;

/// A UE's connection that has begun.
fn begin(world: &World, number: u8, to: SocketAddr) -> Socket {
    let own = Chain::ue(number)[usize::from(to.is_ipv6())];
    let begun = world.chain.inside(Place::Ue, || {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((own, 0)).into())?;
        socket.set_nonblocking(true)?;
        let _begins = socket.connect(&to.into());
        Ok(socket)
    });
    begun.expect("it begins")
}

fn is_answered(client: &Socket) -> bool {
    client.peer_addr().is_ok()
}

/// Makes the server's host drop all first segments, or lets them pass again.
fn silence(world: &World, silent: bool) {
    let words: &[&str] = match silent {
        true => &["add table inet quiet; add chain inet quiet in { type filter hook input \
                   priority 0; }; add rule inet quiet in tcp flags syn / syn,ack drop"],
        false => &["delete table inet quiet"],
    };
    command(world, Place::Server, &[&["nft"], words].concat());
}

fn accepted(world: &World) -> u64 {
    world.status()["accepted"].as_u64().expect("a number")
}

#[test]
fn a_client_is_answered_when_its_server_has_answered_and_not_before() {
    if !can_build() {
        return;
    }
    for (settings, families) in [
        ("", [false, true]),
        ("wait_for_server = \"all\"\n[limits]\nworkers = 2\n", [true, true]),
        ("wait_for_server = \"none\"\n", [false, false]),
    ] {
        let world = World::new(settings);
        assert_eq!(world.status()["wait_refused"], Value::Null, "{}", world.status());
        for (family, waits) in families.into_iter().enumerate() {
            let server = world.serve(family, sender);
            silence(&world, true);
            let before = accepted(&world);
            let client = begin(&world, 1, server);
            if waits {
                until("it waits", || world.status()["waiting_for_servers"] == 1);
                assert!(!is_answered(&client) && accepted(&world) == before, "{settings}");
                silence(&world, false);
                until("it is answered", || is_answered(&client));
            } else {
                until("it is answered", || is_answered(&client));
                silence(&world, false);
            }
            drop(client);
            // The leg that waited is the connection's own: the server sees one connection.
            let before = accepted(&world);
            assert!(download(&world, server, 8, 300_000), "{settings}");
            assert_eq!(accepted(&world), before + 1, "{settings}");
            until("no leg is left", || world.status()["waiting_for_servers"] == 0);
        }
    }
}

#[test]
fn a_client_that_waits_gets_its_servers_refusal_silence_or_an_error_of_the_way_to_it() {
    if !can_build() {
        return;
    }
    let mut world = World::new("wait_for_server = \"all\"\n");
    for (family, at) in Chain::server().into_iter().enumerate() {
        let refused = world.connect(1, (at, CLOSED).into(), 0).map_err(|e| e.kind());
        assert_eq!(refused.err(), Some(io::ErrorKind::ConnectionRefused));
        until("it is counted", || world.outcomes("refused") == family as u64 + 1);
        // No route: the host's error reaches the client.
        let net = ["10.46.7.0/24", "fd46:7::/64"][family];
        let there: IpAddr = ["10.46.7.1", "fd46:7::1"][family].parse().expect("an address");
        command(&world, Place::Middle, &["ip", "route", "add", "unreachable", net]);
        let failed = world.connect(1, (there, 80).into(), 0).map_err(|e| e.kind());
        let unreachable = [io::ErrorKind::HostUnreachable, io::ErrorKind::NetworkUnreachable];
        assert!(failed.as_ref().err().is_some_and(|e| unreachable.contains(e)), "{failed:?}");
    }
    assert_eq!(accepted(&world), 0);
    // A server that is silent: the next first segment passes, and the server answers it itself.
    let server = world.serve(1, sender);
    silence(&world, true);
    let client = begin(&world, 1, server);
    until("it is given up", || world.outcomes("no_answer") == 1);
    silence(&world, false);
    until("it is answered", || is_answered(&client));
    assert_eq!((accepted(&world), &world.status()["flows"]), (0, &0.into()));
    let log = fs::read_to_string(world.path("log")).expect("a log");
    assert!(log.contains("\"outcome\":\"no_answer\""), "{log}");
    let before = world.status()["first_segments"].clone();
    world.take_over();
    assert_eq!(world.status()["first_segments"], before, "the next process continues the count");
}

#[test]
fn many_connections_whose_first_segments_wait_arrive_whole() {
    if !can_build() {
        return;
    }
    let world = World::new("wait_for_server = \"all\"\n[limits]\nworkers = 2\n");
    transfers(&world, 40, 20_000, 200_000);
    assert_eq!(world.status()["waiting_for_servers"], 0);
}

#[test]
fn a_wait_that_a_takeover_cuts_begins_anew() {
    if !can_build() {
        return;
    }
    let mut world = World::new("");
    let server = world.serve(1, sender);
    silence(&world, true);
    let client = begin(&world, 1, server);
    until("it waits", || world.status()["waiting_for_servers"] == 1);
    world.take_over();
    silence(&world, false);
    until("it is answered", || is_answered(&client));
    assert!(download(&world, server, 8, 300_000), "new connections are served");
}

#[test]
fn check_has_the_families_and_the_number_of_clients_that_wait_for_servers() {
    if !can_build() {
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    for (wait, part) in [
        ("none", "answers clients at once"),
        ("ipv6", "over IPv6 are answered after their servers, up to "),
        ("all", "over IPv4 and IPv6 are answered after their servers, up to "),
    ] {
        let text = format!("[select]\ninterfaces = [\"ran\"]\nwait_for_server = \"{wait}\"\n");
        let config = ProxyConfig::parse(&text).expect("valid");
        let found = chain.inside(Place::Middle, || Ok(check(&config))).expect("it is tried");
        let line = found.iter().find(|one| one.name == "servers' own answers").expect("a line");
        assert!(line.found.as_ref().is_ok_and(|what| what.contains(part)), "{wait}: {line:?}");
    }
}
