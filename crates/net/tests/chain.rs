//! Three hosts in a row, and policy routes on the one in the middle.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use justfull_net::chain::{Chain, Mtus, Place, can_build};
use justfull_net::{LocalDelivery, PolicyRoute};

#[test]
fn the_middle_forwards_between_ues_and_the_server() {
    if !can_build() {
        return;
    }
    let chain = Chain::build(3, Mtus::SMALL_RAN).expect("it is built");
    for (family, at) in Chain::server().into_iter().enumerate() {
        let listener =
            chain.inside(Place::Server, || TcpListener::bind((at, 0))).expect("it listens");
        let to = listener.local_addr().expect("an address");
        // Without a UE the test ends as well.
        let socket = socket2::Socket::from(listener);
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time limit");
        let listener = TcpListener::from(socket);
        let from = Chain::ue(1)[family];
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, peer) = listener.accept().expect("a UE comes");
                assert_eq!(peer.ip(), from);
                stream.write_all(b"hello").expect("it is sent");
            });
            let text = chain.inside(Place::Ue, || {
                let mut text = String::new();
                TcpStream::connect(to)?.read_to_string(&mut text)?;
                Ok(text)
            });
            assert_eq!(text.expect("it is read"), "hello");
        });
    }
}

/// Number of rules and routes with our mark, of both families.
fn ours(table: u32) -> io::Result<usize> {
    let mut lines = 0;
    for family in ["-4", "-6"] {
        for what in [&["rule"][..], &["route", "show", "table", &table.to_string()]] {
            let output = Command::new("ip").arg(family).args(what).output()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            lines += text
                .lines()
                .filter(|line| {
                    let lookup = format!("lookup {table}");
                    let parts = [&lookup, "local default", " goto ", " nop"];
                    parts.iter().any(|part| line.contains(part))
                })
                .count();
        }
    }
    Ok(lines)
}

#[test]
fn policy_routes_are_removed_also_after_a_killed_process() {
    if !can_build() {
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("it is built");
    let policy = PolicyRoute { mark: 0x6a66, table: 27_238, priority: 100 };
    chain
        .inside(Place::Middle, || {
            let v6 = fs::metadata("/proc/sys/net/ipv6").is_ok();
            // A route and three rules of each family.
            let all = if v6 { 8 } else { 4 };
            let first = LocalDelivery::install(policy).map_err(io::Error::other)?;
            assert_eq!((first.reclaimed(), ours(policy.table)?), (0, all));
            // As after SIGKILL.
            std::mem::forget(first);
            let second = LocalDelivery::install(policy).map_err(io::Error::other)?;
            assert_eq!((second.reclaimed(), ours(policy.table)?), (all, all));
            drop(second);
            assert_eq!(ours(policy.table)?, 0);
            Ok(())
        })
        .expect("the middle works");
}
