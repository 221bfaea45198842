//! The connections of a whole site: 64 cells, 2 000 UEs, reports about each UE, and data on every
//! connection. Three workers relay them. Clients and servers are separate processes, since one
//! process has too few descriptors for all ends.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use justfull_net::chain::{Chain, Mtus, Place, RAN};
use justfull_net::clock::now;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use super::load::{self, Service};
use super::rivals::{Kind, Proxy, cpu_of};

/// The environment variable with the role, the number and the connections of a load process.
const LOAD: &str = "JUSTFULL_BENCH_LOAD";
const CELLS: usize = 64;
const UES: usize = 2_000;
const WORKERS: usize = 3;
/// Number of client processes, and of server processes.
const LOADS: usize = 2;
/// Bytes of a payload of each connection, and the time between two payloads.
const PAYLOAD: (usize, Duration) = (1_448, Duration::from_millis(500));
/// Time between two reports about a UE, and the bytes that its cell can send in this time.
const PERIOD: Duration = Duration::from_millis(10);
const OFFERED: usize = 125_000;
/// Longest wait.
const PATIENCE: Duration = Duration::from_secs(120);

fn address(ue: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 45, (ue / 250) as u8 + 1, (ue % 250) as u8 + 1)
}

fn port(number: usize) -> u16 {
    8_000 + number as u16
}

/// Runs the part of the load that [`LOAD`] names; none if it is not set.
pub(crate) fn play() -> Option<io::Result<()>> {
    let role = std::env::var(LOAD).ok()?;
    let words: Vec<&str> = role.split(' ').collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
    Some(match words.first() {
        Some(&"servers") => servers(number(1)),
        _ => clients(number(1), number(2)),
    })
}

/// Raises the limit of descriptors to the hard limit: each connection needs a descriptor.
fn raise_the_limit() -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?)
}

fn servers(number: usize) -> io::Result<()> {
    raise_the_limit()?;
    let listener = load::listen((Chain::server()[0], port(number)).into())?;
    println!("open");
    load::serve(&listener, Service::Paced(PAYLOAD.0, PAYLOAD.1), &AtomicBool::new(false))
}

/// Opens `count` connections of the UEs in turn, and reads their data.
fn clients(number: usize, count: usize) -> io::Result<()> {
    raise_the_limit()?;
    let to = SocketAddr::from((Chain::server()[0], port(number)));
    let one = |index: usize| {
        let mut socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((address(index % UES), 0)).into())?;
        socket.connect_timeout(&to.into(), PATIENCE)?;
        socket.write_all(&[1])?;
        Ok(socket)
    };
    let sockets = (0..count).map(one).collect::<io::Result<Vec<_>>>()?;
    println!("open");
    load::drain(&sockets, [Duration::ZERO, PATIENCE], || {}).map(drop)
}

/// A process of the load; a drop ends the process.
struct Part(Child);

impl Part {
    fn start(chain: &Chain, place: Place, role: &str, own: &[&str]) -> io::Result<Self> {
        let start = || {
            Command::new(std::env::current_exe()?)
                .args(own)
                .env(LOAD, role)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
        };
        Ok(Self(chain.inside(place, start)?))
    }

    fn until_open(&mut self) -> io::Result<()> {
        let said = self.0.stdout.take().map(BufReader::new);
        let open = said.is_some_and(|said| {
            said.lines().any(|line| line.is_ok_and(|line| line.ends_with("open")))
        });
        if open { Ok(()) } else { Err(io::Error::other("a part of the load has ended")) }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // The process may have ended before.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

fn ip(chain: &Chain, place: Place, words: &str) -> io::Result<()> {
    let run = || Command::new("ip").args(words.split(' ')).status();
    let status = chain.inside(place, run)?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("ip {words}: {status}"))) }
}

/// CPU time in percent of a core while `flows` connections get data for `seconds`: of the proxy's
/// process, of this process without the thread that reads reports, and of the workers. This program
/// starts itself with the arguments `own` as the proxy and as the parts of the load.
pub(crate) fn run(flows: usize, seconds: Duration, own: &[&str]) -> io::Result<Value> {
    let folder = tempfile::tempdir()?;
    let chain = Chain::build(1, Mtus::ETHERNET).map_err(io::Error::other)?;
    // One host has the addresses of all UEs, so the middle host needs one neighbour.
    ip(&chain, Place::Ue, "route add local 10.45.0.0/16 dev lo")?;
    let way = format!("route replace 10.45.0.0/16 via 10.45.0.1 dev {RAN} onlink");
    ip(&chain, Place::Middle, &way)?;
    let reports = folder.path().join("reports");
    mkfifo(&reports, Mode::S_IRWXU)?;
    let settings = format!(
        "wait_for_server = \"none\"\n[radio]\nkind = \"json_lines\"\npath = {reports:?}\n\
         [limits]\nworkers = {WORKERS}\nflows = {}\n",
        flows + flows / 4 + 100
    );
    let proxy = Proxy::start(Kind::Justfull, &chain, folder.path(), &settings, own)?;
    let parts = |place: Place, role: &dyn Fn(usize) -> String| -> io::Result<Vec<Part>> {
        let one = |number| Part::start(&chain, place, &role(number), own);
        let mut all = (0..LOADS).map(one).collect::<io::Result<Vec<Part>>>()?;
        all.iter_mut().try_for_each(Part::until_open)?;
        Ok(all)
    };
    // The clients end before the servers.
    let _servers = parts(Place::Server, &|number| format!("servers {number}"))?;
    let _clients = parts(Place::Ue, &|number| format!("clients {number} {}", flows / LOADS))?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let told = scope.spawn(|| report(&reports, &stop));
        let found = measure(folder.path(), &proxy, seconds);
        stop.store(true, Ordering::Relaxed);
        told.join().map_err(|_| io::Error::other("a thread has panicked"))??;
        found
    })
}

fn measure(folder: &Path, proxy: &Proxy, seconds: Duration) -> io::Result<Value> {
    let status = || -> io::Result<Value> {
        let text = justfull_proxy::ask(&folder.join("socket"), "status");
        Ok(serde_json::from_str(&text.map_err(io::Error::other)?)?)
    };
    // After six payloads each connection takes part in the control.
    thread::sleep(PAYLOAD.1 * 6);
    let ids = |status: &Value| -> Vec<i32> {
        let list = status["workers"].as_array().cloned().unwrap_or_default();
        list.iter().filter_map(|worker| worker["process"].as_i64()).map(|id| id as i32).collect()
    };
    let first = status()?;
    let workers = ids(&first);
    let main = proxy.id();
    let cpu = || {
        let relay: Duration = workers.iter().map(|id| cpu_of(*id, |_| true)).sum();
        // The thread that reads and parses the lines of reports has this name.
        [cpu_of(main, |_| true), cpu_of(main, |thread| thread != "reports"), relay]
    };
    let (began, before) = (now(), cpu());
    thread::sleep(seconds);
    let (passed, after) = (now().duration_since(began).as_secs_f64(), cpu());
    let percent = |at: usize| 100.0 * (after[at] - before[at]).as_secs_f64() / passed;
    let status = status()?;
    let reports = |status: &Value| {
        let of = |what: &str| status["radio"][what].as_f64().unwrap_or(f64::NAN);
        of("taken") + of("dropped")
    };
    let cells = status["cells"].as_array().cloned().unwrap_or_default();
    let over = |cell: &&Value| {
        let of = |what: &str| cell[what].as_f64().unwrap_or(f64::INFINITY);
        of("windows") > 1.0 + of("floors") + 1e-6
    };
    Ok(json!({
        "flows": status["flows"], "cells": cells.len(), "ues": status["ues_known"],
        "cells_over": cells.iter().filter(over).count(),
        "reports_per_s": (reports(&status) - reports(&first)) / passed,
        "control_percent": percent(0), "loop_percent": percent(1), "relay_percent": percent(2),
    }))
}

/// Writes a report about each UE every [`PERIOD`], or later while the pipe is full.
fn report(path: &Path, stop: &AtomicBool) -> io::Result<()> {
    let mut pipe = OpenOptions::new().read(true).write(true).open(path)?;
    let (begin, mut number) = (now(), 0_u32);
    let slots = PERIOD.as_millis();
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let at_us = PERIOD.as_micros() * u128::from(number);
        let offered = OFFERED * (90 + number as usize * 7 % 20) / 100;
        let mut text = String::new();
        for ue in 0..UES {
            let (address, cell) = (address(ue), ue % CELLS);
            text += &format!(
                "{{\"ue\":\"{address}\",\"at_us\":{at_us},\"cell_id\":\"{cell}\",\"cell\":\"bytes\",\
                 \"slot_us\":1000,\"slots\":{slots},\"offered\":{offered},\"used\":0}}\n"
            );
        }
        pipe.write_all(text.as_bytes())?;
        thread::sleep((begin + PERIOD * number).saturating_duration_since(now()));
    }
    // The proxy keeps the pipe open. Reports that it has not read are lost.
    fs::remove_file(path)
}
