//! The control on real sockets. Without the right to load it a test prints that it was skipped;
//! under `CI` that is a failure.

use super::*;
use crate::system::{self, tcp_info};
use justfull_net::chain::{Chain, Mtus, Place, RAN};
use justfull_net::clock::now;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Time limit of every wait in these tests.
const LIMIT: Duration = Duration::from_secs(30);
/// The clang that made the object in the tree (Debian 12's), and its flags.
const CLANG: &str = "Debian clang version 14.0.6";
const FLAGS: [&str; 8] =
    ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", "-fdebug-compilation-dir=."];

fn registered(slots: u32) -> Option<Control> {
    registered_with(slots, Loss::Halve)
}

fn registered_with(slots: u32, loss: Loss) -> Option<Control> {
    match Control::register(slots, loss) {
        Ok(control) => Some(control),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "it must not be skipped in CI: {error}");
            println!("skipped: {error}");
            None
        }
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = now() + LIMIT;
    while !holds() {
        assert!(now() < end, "waited too long: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A connection of this host to itself.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("it listens");
    let near = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    near.set_nodelay(true).expect("it is open");
    (near, listener.accept().expect("a connection").0)
}

/// Sends a byte and waits until it is acknowledged: one round trip. Returns the window after that.
fn window_after_a_round_trip(near: &mut TcpStream, far: &mut TcpStream) -> u32 {
    let before = tcp_info(&*near).expect("it is open").acknowledged;
    near.write_all(b"x").expect("there is room");
    far.read_exact(&mut [0]).expect("it comes");
    until("it is acknowledged", || tcp_info(&*near).expect("open").acknowledged > before);
    tcp_info(&*near).expect("it is open").cwnd
}

/// The pace that TCP_INFO shows, bytes per second.
fn pace(socket: &TcpStream) -> u64 {
    let (bytes, _) = system::get::<112>(socket, libc::IPPROTO_TCP, libc::TCP_INFO).expect("open");
    u64::from_ne_bytes(bytes[104..].try_into().expect("8 bytes"))
}

#[test]
fn a_window_is_exact_one_round_trip_after_it_changes_up_and_down() {
    let Some(control) = registered(3) else { return };
    let ((mut near, mut far), (mut other, mut other_far)) = (pair(), pair());
    control.set(1, 20);
    control.set(2, 33);
    control.join(&near, 1).expect("it has it");
    control.join(&other, 2).expect("it has it");
    assert_eq!(tcp_info(&near).expect("it is open").cwnd, 20, "from the first moment");
    for window in [400, 7, 5_000, 1, 80] {
        control.set(1, window);
        assert_eq!(window_after_a_round_trip(&mut near, &mut far), window);
        assert_eq!(window_after_a_round_trip(&mut other, &mut other_far), 33, "another's");
    }
    // This slot is out of bounds and belongs to no socket.
    control.set(3, 9);
    control.set(u32::MAX, 9);
    assert_eq!(window_after_a_round_trip(&mut near, &mut far), 80);
    control.set(1, 0);
    assert_eq!(window_after_a_round_trip(&mut near, &mut far), 10, "none is known");
    // The kernel reads a window as a signed number.
    control.set(1, u32::MAX);
    assert_eq!(window_after_a_round_trip(&mut near, &mut far), 1 << 17, "the most");
}

#[test]
fn the_rate_of_the_last_congestion_control_does_not_slow_a_leg_down() {
    let Some(control) = registered(1) else { return };
    let (mut near, mut far) = pair();
    let rate = 1 << 20;
    system::set(&near, libc::IPPROTO_TCP, libc::TCP_CONGESTION, b"bbr\0").expect("bbr is there");
    until("bbr paces", || {
        window_after_a_round_trip(&mut near, &mut far);
        pace(&near) > rate && pace(&near) < u64::MAX
    });
    control.set(0, 50);
    control.join(&near, 0).expect("it has it");
    assert_eq!(pace(&near), u64::MAX);
    assert_eq!(window_after_a_round_trip(&mut near, &mut far), 50);
}

#[test]
fn two_controls_have_names_of_their_own_which_go_with_them() {
    let Some(first) = registered(1) else { return };
    let second = Control::register(1, Loss::Halve).expect("there is another name");
    assert_ne!(first.name(), second.name());
    let known = |name: &str| {
        let all = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        all.expect("a list").split_whitespace().any(|known| known == name)
    };
    let names = [first.name().to_owned(), second.name().to_owned()];
    assert!(names.iter().all(|name| known(name) && name.len() <= LONGEST_NAME));
    let (mut near, mut far) = pair();
    first.set(0, 30);
    first.join(&near, 0).expect("it has it");
    drop((first, second));
    until("they are unknown", || !names.iter().any(|name| known(name)));
    assert_eq!(window_after_a_round_trip(&mut near, &mut far), 30, "a socket keeps its own");
    assert_eq!(name(4_194_304, 15).len(), 14);
}

/// Bytes that a server with a fixed window sends to a UE over 50 Mbit/s with a queue of 60 kB, and
/// the bytes that it sends again.
fn over_a_bottleneck(control: &Control, window: u32) -> [u64; 2] {
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    let shape = chain.inside(Place::Middle, || {
        let text = format!("qdisc add dev {RAN} root tbf rate 50mbit burst 16kb limit 60kb");
        Command::new("tc").args(text.split(' ')).status()
    });
    assert!(shape.expect("tc runs").success());
    let listener = chain.inside(Place::Server, || TcpListener::bind((Chain::server()[0], 0)));
    let listener = listener.expect("it listens");
    let to = listener.local_addr().expect("an address");
    let mut client = chain.inside(Place::Ue, || TcpStream::connect(to)).expect("it connects");
    let (mut server, _) = listener.accept().expect("a connection");
    let reader = thread::spawn(move || io::copy(&mut client, &mut io::sink()));
    control.set(0, window);
    control.join(&server, 0).expect("it has it");
    let (bytes, end) = (vec![7; 64 << 10], now() + Duration::from_secs(2));
    while now() < end {
        server.write_all(&bytes).expect("it is open");
    }
    let (info, _) = system::get::<216>(&server, libc::IPPROTO_TCP, libc::TCP_INFO).expect("open");
    let long = |at: usize| u64::from_ne_bytes(info[at..at + 8].try_into().expect("8 bytes"));
    let sent = [long(200), long(208)];
    server.shutdown(Shutdown::Both).expect("it is open");
    reader.join().expect("it ends").expect("all of it");
    sent
}

#[test]
fn a_window_far_above_what_the_path_holds_is_no_flood() {
    let Some(control) = registered(1) else { return };
    // The path holds about 60 segments: the queue, and almost none in the delay.
    let [sent, again] = over_a_bottleneck(&control, 800);
    println!("sent {sent}, of these again {again}");
    assert!(again > 0, "there was loss");
    assert!(again * 10 < sent, "{again} of {sent} bytes were sent again");
    // A quarter of the rate, for a machine with other work.
    assert!(sent - again > 3_000_000, "{sent}");
}

#[test]
fn a_leg_that_ignores_losses_keeps_its_window_where_another_halves_it() {
    let mut again = Vec::new();
    for loss in [Loss::Halve, Loss::Ignore] {
        let Some(control) = registered_with(1, loss) else { return };
        // Three times as many segments as the path holds.
        let [sent, twice] = over_a_bottleneck(&control, 200);
        println!("{loss:?}: sent {sent}, of these again {twice}");
        assert!(sent - twice > 3_000_000, "{sent}");
        again.push(twice);
    }
    assert!(again[1] > 2 * again[0], "{again:?}");
}

#[test]
fn the_object_is_what_clang_makes_of_the_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/radio_leg.bpf.c");
    std::fs::copy(source, folder.path().join("radio_leg.bpf.c")).expect("a copy");
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).current_dir(folder.path()).output()
    };
    let Ok(version) = run("clang", &["--version"]) else {
        assert!(std::env::var_os("CI").is_none(), "clang must be there in CI");
        return println!("skipped: there is no clang");
    };
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let files = ["-c", "radio_leg.bpf.c", "-o", "radio_leg.bpf.o"];
    let compiled = run("clang", &[&FLAGS[..], &files[..]].concat()).expect("it runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    if version.contains(CLANG) {
        let made = std::fs::read(folder.path().join("radio_leg.bpf.o")).expect("an object");
        assert!(made == OBJECT, "bpf/radio_leg.bpf.o is not what clang makes of its source");
    }
    // The kernel takes it, whatever its version.
    if registered(1).is_some() {
        let made = std::fs::read(folder.path().join("radio_leg.bpf.o")).expect("an object");
        let control = Control::register_object(&made, 1, Loss::Halve).expect("the kernel takes it");
        let (mut near, mut far) = pair();
        control.set(0, 25);
        control.join(&near, 0).expect("it has it");
        assert_eq!(window_after_a_round_trip(&mut near, &mut far), 25);
    }
}
