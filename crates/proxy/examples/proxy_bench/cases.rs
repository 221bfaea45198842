//! The measured cases; each returns its figures as one object of JSON.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use justfull_net::chain::{Chain, Mtus, Place};
use justfull_net::clock::now;
use serde_json::{Value, json};

use super::load::{self, Service};
use super::rivals::{Kind, Proxy, pin};

/// UEs that a load uses in turn, except where one UE has all connections.
const UES: u8 = 10;
/// The number of UEs.
const MOST_UES: u8 = 200;
/// Blocks of a byte in a report of 10 ms, at 1 Tbit/s. All UEs divide one cell, and no window stops
/// a server.
const PLENTY: u64 = 1_250_000_000;
/// Payload of a flow that is active beside idle ones, and the time between two payloads: 1 Mbit/s.
const ACTIVE: (usize, Duration) = (12_500, Duration::from_millis(100));

/// The amount of each measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Time before the measurement, and its length.
    pub(crate) times: [Duration; 2],
    /// Round trips.
    pub(crate) pings: usize,
    /// Connections that are idle.
    pub(crate) idle: usize,
}

/// Runs `case` through a proxy of `kind`. With the arguments `own` this program is our proxy.
pub(crate) fn run(case: &str, kind: Kind, size: Size, own: &[&str]) -> io::Result<Value> {
    let folder = tempfile::tempdir()?;
    let chain = Chain::build(MOST_UES, Mtus::ETHERNET).map_err(io::Error::other)?;
    let reports = folder.path().join("reports");
    File::create(&reports)?;
    // Clients, servers and the proxy share two cores, so a sender's rate does not show its demand.
    // If all send as much as they can, no flow may be slow.
    let control = if case.starts_with("bulk") { "equal_share" } else { "rapid" };
    let settings = format!(
        "[control]\nkind = \"{control}\"\n[radio]\nkind = \"json_lines\"\npath = {reports:?}\n\
         [limits]\nflows = 9000\n"
    );
    let proxy = Proxy::start(kind, &chain, folder.path(), &settings, own)?;
    let bench = Bench { chain: &chain, proxy: &proxy, reports: &reports, size };
    match case {
        "bulk1" => bench.bulk(1),
        "bulk100" => bench.bulk(100),
        "connections" => bench.connections(),
        "ping" => bench.ping(),
        "idle" => bench.idle(),
        "reports_1ms" => bench.reports(Duration::from_millis(1)),
        "reports_1s" => bench.reports(Duration::from_secs(1)),
        _ => Err(io::Error::other(format!("there is no case {case}"))),
    }
}

struct Bench<'a> {
    chain: &'a Chain,
    proxy: &'a Proxy,
    reports: &'a Path,
    size: Size,
}

impl Bench<'_> {
    /// Serves while `client` runs on the UE's host, and writes reports about `ues` UEs each
    /// `period`.
    fn with<T: Send>(
        &self,
        service: Service,
        ues: u8,
        period: Duration,
        client: impl FnOnce(SocketAddr) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        self.proxy.pin()?;
        let stop = AtomicBool::new(false);
        let to = SocketAddr::from((Chain::server()[0], 80));
        let listener = self.chain.inside(Place::Server, || load::listen(to))?;
        thread::scope(|scope| {
            let ended = scope.spawn(|| {
                pin(0, 0)?;
                load::serve(&listener, service, &stop)
            });
            let told = scope.spawn(|| {
                pin(0, 0)?;
                report(self.reports, ues, period, &stop)
            });
            let found = self.chain.inside(Place::Ue, || {
                pin(0, 0)?;
                client(to)
            });
            stop.store(true, Ordering::Relaxed);
            let joined = |thread: thread::ScopedJoinHandle<'_, io::Result<()>>| {
                thread.join().map_err(|_| io::Error::other("a thread has panicked"))?
            };
            joined(ended)?;
            joined(told)?;
            found
        })
    }

    /// Bytes for each second of CPU time of the proxy, downwards.
    fn bulk(&self, count: usize) -> io::Result<Value> {
        let mut marks = Vec::new();
        let ues = UES.min(count as u8);
        let bytes = self.with(Service::Zeros, ues, Duration::from_millis(10), |to| {
            let sockets = load::open(count, ues, to, false)?;
            load::drain(&sockets, self.size.times, || marks.push((now(), self.proxy.cpu())))
        })?;
        let (seconds, cpu) = between(&marks);
        Ok(json!({ "gbit_per_s": bytes as f64 * 8e-9 / seconds,
            "gbit_per_cpu_s": bytes as f64 * 8e-9 / cpu }))
    }

    fn connections(&self) -> io::Result<Value> {
        let mut marks = Vec::new();
        let done = self.with(Service::Answer, UES, Duration::from_millis(10), |to| {
            let mark = || marks.push((now(), self.proxy.cpu()));
            load::connections(64, to, self.size.times, mark)
        })?;
        let (seconds, cpu) = between(&marks);
        Ok(json!({ "per_s": done as f64 / seconds, "per_cpu_s": done as f64 / cpu }))
    }

    fn ping(&self) -> io::Result<Value> {
        let count = self.size.pings;
        let times = self.with(Service::Echo, 1, Duration::from_millis(10), |to| {
            load::ping(to, count, Duration::from_millis(1))
        })?;
        let at = |part: usize| times[(count * part / 100).min(count - 1)].as_secs_f64() * 1e6;
        Ok(json!({ "p50_us": at(50), "p99_us": at(99) }))
    }

    /// Memory of the proxy for each open and silent connection.
    fn idle(&self) -> io::Result<Value> {
        let count = self.size.idle;
        let before = self.proxy.memory();
        let after = self.with(Service::Echo, 1, Duration::from_millis(100), |to| {
            let _sockets = load::open(count, UES, to, true)?;
            // By then the buffers of the last byte are free.
            thread::sleep(Duration::from_millis(200));
            Ok(self.proxy.memory())
        })?;
        let bytes = after.0.saturating_sub(before.0) as f64 / count as f64;
        Ok(json!({ "bytes_per_flow": bytes, "pipes": after.1, "flows": count }))
    }

    /// Share of a core that the proxy takes while all connections are open, a few of them get data,
    /// and reports about the one UE arrive each `period`.
    fn reports(&self, period: Duration) -> io::Result<Value> {
        let active = (self.size.idle / 80).max(1);
        let mut marks = Vec::new();
        self.with(Service::Paced(ACTIVE.0, ACTIVE.1), 1, period, |to| {
            // These UEs send nothing, so the servers send nothing to them.
            let other = |index: usize| (index % usize::from(MOST_UES - 1)) as u8 + 2;
            let idle = (active..self.size.idle).map(|index| load::connect(other(index), to));
            let _idle = idle.collect::<io::Result<Vec<_>>>()?;
            let sockets = load::open(active, 1, to, false)?;
            load::drain(&sockets, self.size.times, || marks.push((now(), self.proxy.cpu())))
        })?;
        let (seconds, cpu) = between(&marks);
        Ok(json!({ "core_percent": 100.0 * cpu / seconds, "flows": self.size.idle }))
    }
}

fn between(marks: &[(std::time::Instant, Duration)]) -> (f64, f64) {
    let [(from, before), (to, after)] = marks else { return (f64::NAN, f64::NAN) };
    (to.duration_since(*from).as_secs_f64(), (*after - *before).as_secs_f64().max(1e-9))
}

/// Writes reports each `period` about UEs 1 to `ues`; their capacity always changes a little.
fn report(path: &Path, ues: u8, period: Duration, stop: &AtomicBool) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    let (begin, mut number) = (now(), 0_u32);
    let slots = (period.as_millis() as u64).max(1);
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let offered = (PLENTY * slots / 10) * (90 + u64::from(number * 7 % 20)) / 100;
        let at_us = period.as_micros() as u64 * u64::from(number);
        let mut text = String::new();
        for ue in 1..=ues {
            text += &format!(
                "{{\"ue\":\"10.45.0.{ue}\",\"at_us\":{at_us},\"cell\":\"bytes\",\"slot_us\":1000,\
                 \"slots\":{slots},\"offered\":{offered},\"used\":0}}\n"
            );
        }
        file.write_all(text.as_bytes())?;
        let due = begin + period * number;
        while now() < due && !stop.load(Ordering::Relaxed) {
            thread::sleep(due.saturating_duration_since(now()).min(Duration::from_millis(20)));
        }
    }
    Ok(())
}
