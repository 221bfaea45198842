//! How fast traces are read and converted: `cargo run --release -p justfull-trace --example
//! trace_bench`.
//!
//! Two workloads, made here: an hour of a phone log (3600 rows of 26 columns), read; and ten
//! million Mahimahi opportunities, read and written as Mahimahi, which is `trace convert` without
//! the disk. Each is run several times, and the least time counts, since everything else on a
//! shared machine can only add to it. The data read and written is counted: less work done faster
//! is a failure.

use justfull_trace::{FileFormat, Output, ReadOptions, load_from};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 7;
const OPPORTUNITIES: u64 = 10_000_000;

/// An hour of a phone log.
fn log() -> String {
    let mut text = String::from(
        "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,\
         RSSI,DL_bitrate,UL_bitrate,State,PINGAVG,PINGMIN,PINGMAX,PINGSTDEV,PINGLOSS,CELLHEX,\
         NODEHEX,LACHEX,RAWCELLID,NRxRSRP,NRxRSRQ\n",
    );
    for s in 0..3600_u64 {
        let (minute, second, rate) = (s / 60, s % 60, s * 7919 % 90_000);
        let _ = writeln!(
            text,
            "2020.01.16_10.{minute:02}.{second:02},-8.5,51.9,0,A,11,LTE,-85,-9,12.0,{},-70,{rate},\
             300,D,-,-,-,-,-,B,2B,9CC,7,-,-",
            1 + s % 15
        );
    }
    text
}

/// Ten million opportunities in bursts of one to nineteen.
fn list() -> String {
    let mut text = String::new();
    let (mut ms, mut left) = (0_u64, OPPORTUNITIES);
    while left > 0 {
        ms += 1;
        let burst = (1 + ms * 7919 % 19).min(left);
        for _ in 0..burst {
            let _ = writeln!(text, "{ms}");
        }
        left -= burst;
    }
    text
}

/// Least time of `work` in milliseconds, and what it counted, the same each time.
fn least(work: impl Fn() -> u64) -> (f64, u64) {
    let mut best = f64::INFINITY;
    let mut count = None;
    for _ in 0..ROUNDS {
        #[allow(clippy::disallowed_methods, reason = "a bench measures the wall clock")]
        let start = Instant::now();
        let found = work();
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
        assert_eq!(*count.get_or_insert(found), found, "every round does the same work");
    }
    (best, count.unwrap_or(0))
}

fn main() {
    let options = ReadOptions::default();
    let read = |text: &str| {
        load_from(text.as_bytes(), Path::new("bench"), &options).expect("a trace").timeline
    };
    let (log, list) = (log(), list());
    let (ms, seconds) = least(|| read(&log).bytes().len() as u64);
    assert_eq!(seconds, 3600);
    println!("ucc_hour: {ms:.2} ms for {seconds} s");
    let (ms, bytes) = least(|| {
        let timeline = read(&list);
        let mut file = Vec::with_capacity(list.len());
        let output = Output::new(&timeline, FileFormat::Mahimahi, None).expect("it fits");
        output.write(&mut file).expect("memory takes it");
        assert_eq!(timeline.total(), OPPORTUNITIES * 1500);
        file.len() as u64
    });
    assert_eq!(bytes, list.len() as u64);
    println!("mahimahi_10m: {ms:.0} ms for {OPPORTUNITIES} opportunities, {bytes} B");
}
