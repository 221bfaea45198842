//! More connections than one process has descriptors for, in the workers of one proxy.

use super::*;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::BufRead;

/// Name of the variable with the number of connections and the servers, when a test starts this
/// program as clients.
const CLIENTS: &str = "JUSTFULL_TEST_CLIENTS";
const WORKERS: u64 = 3;

/// Not a test: clients, when this program starts itself. They hold their connections until their
/// input ends.
#[test]
fn as_clients() {
    let Ok(text) = std::env::var(CLIENTS) else { return };
    raise_the_limit();
    let mut words = text.split(' ');
    let count: usize = words.next().and_then(|n| n.parse().ok()).expect("a number");
    let to: Vec<SocketAddr> = words.map(|at| at.parse().expect("an address")).collect();
    let one = |index: usize| {
        let own = Chain::ue((index % 8) as u8 + 1)[0];
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((own, 0)).into())?;
        socket.connect_timeout(&to[index / 8 % to.len()].into(), LIMIT)?;
        Ok(socket)
    };
    let _open: Vec<Socket> = (0..count).map(one).collect::<io::Result<_>>().expect("they connect");
    println!("open");
    let _end = io::stdin().read(&mut [0]);
}

/// Clients need a descriptor each; a process may always raise its own limit to the hard one.
fn raise_the_limit() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).expect("it may");
}

/// Starts clients and waits until their connections are open.
fn clients(world: &World, count: usize, to: &[SocketAddr]) -> Child {
    let servers: Vec<String> = to.iter().map(ToString::to_string).collect();
    let child = world.chain.inside(Place::Ue, || {
        Command::new(std::env::current_exe()?)
            .args(["crowd::as_clients", "--exact", "--nocapture"])
            .env(CLIENTS, format!("{count} {}", servers.join(" ")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
    });
    let mut child = child.expect("it starts");
    let mut lines = io::BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.ends_with("open"))), "they are open");
    child
}

/// Full size: 20 000 connections. The servers' kernel keeps them without a descriptor, since it has
/// not accepted them.
#[test]
fn soak_workers_hold_more_connections_than_the_descriptors_of_one_allow() {
    if !can_build() || !faults::installed("prlimit") {
        return;
    }
    let soak = std::env::var_os("JUSTFULL_SOAK").is_some();
    let (count, descriptors) = if soak { (20_000, 20_000) } else { (1_200, 1_400) };
    // A UE may have four places for each free one.
    let places = count + count / 2;
    let settings = format!("[limits]\nworkers = {WORKERS}\nflows = {places}\npipes = 90\n");
    let mut world = World::new(&settings);
    world.signal(Signal::SIGTERM);
    assert_eq!(world.ended(), Some(0));
    let limit = ["prlimit".to_owned(), format!("--nofile=1024:{descriptors}")];
    world.proxy = launch(&world.chain, &world.folder, false, &limit);
    until_ready(&mut world.proxy, &world.folder);
    let most = world.status()["flows_limit"].as_u64().expect("a number");
    assert!(most > count as u64 + count as u64 / 4, "together they have enough: {most}");
    let [at, _] = Chain::server();
    let bind = || {
        let one = |_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.bind(&SocketAddr::from((at, 0)).into())?;
            socket.listen(4_096)?;
            Ok(TcpListener::from(socket))
        };
        (0..8).map(one).collect::<io::Result<Vec<_>>>()
    };
    let listeners = world.chain.inside(Place::Server, bind).expect("they listen");
    let to: Vec<SocketAddr> =
        listeners.iter().map(|one| one.local_addr().expect("an address")).collect();
    let mut all: Vec<Child> = (0..2).map(|_| clients(&world, count / 2, &to)).collect();
    until("all are split", || world.status()["flows"] == count);
    let status = world.status();
    for (number, worker) in status["workers"].as_array().expect("a list").iter().enumerate() {
        let part = worker["flows"].as_u64().expect("a number");
        assert!(part.abs_diff(count as u64 / WORKERS) <= 1, "they share alike: {status}");
        let memory = worker["memory_bytes"].as_f64().expect("a number");
        println!("{part} connections in {} MB", memory / 1e6);
        until("its descriptors are known", || {
            let open = world.status()["workers"][number]["descriptors"].as_u64();
            let open = open.expect("a number");
            open >= 2 * part && open < descriptors
        });
    }
    let began = now();
    let next = launch(&world.chain, &world.folder, true, &limit);
    let mut old = std::mem::replace(&mut world.proxy, next);
    until("the old proxy ends", || old.try_wait().expect("a child").is_some());
    until_ready(&mut world.proxy, &world.folder);
    println!("a takeover took {:?}", now().duration_since(began));
    assert_eq!(world.status()["flows"], count, "no connection is lost");
    until("each process is known", || {
        world.status()["workers"][1]["process"].as_i64().is_some_and(|process| process > 0)
    });
    let victim = world.status()["workers"][1].clone();
    let process = victim["process"].as_i64().and_then(|id| i32::try_from(id).ok());
    let began = now();
    kill(Pid::from_raw(process.expect("a process")), Signal::SIGKILL).expect("it lives");
    until("it is back", || {
        let worker = &world.status()["workers"][1];
        worker["restarts"] == 1 && worker["runs"] == true
    });
    println!("back after {:?}", now().duration_since(began));
    let left = count as u64 - victim["flows"].as_u64().expect("a number");
    assert_eq!(world.status()["flows"], left, "the others go on");
    for client in &mut all {
        drop(client.stdin.take());
        let _status = client.wait();
    }
    drop(listeners);
    until("all have ended", || world.status()["flows"] == 0);
}
