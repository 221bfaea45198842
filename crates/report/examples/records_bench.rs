//! Measures the writing of packet records: `cargo run --release -p justfull-report --example
//! records_bench -- [parquet | csv | jsonl]` writes ten million made-up records to the folder for
//! temporary files and prints wall time, size and peak memory.

use justfull_base::packet::Protocol;
use justfull_base::{DropReason, Layer, Rng};
use justfull_report::export::RunFacts;
use justfull_report::export::records::{Format, PACKET_COLUMNS, PacketRecord, RecordFile, Stamp};
use justfull_scenario::library;
use justfull_scenario::{Overrides, Scenario};
use std::path::Path;

const PACKETS: u64 = 10_000_000;

/// Packets of two flows with the delays of a loaded cell; one of a hundred is dropped, one of fifty
/// marked.
fn record(id: u64, rng: &mut Rng) -> PacketRecord {
    let call = id.is_multiple_of(30);
    let entered = id * 600_000 + rng.below(100_000);
    let left_upf = entered + rng.below(200_000);
    let left_sdap = left_upf + rng.below(20_000_000);
    let dropped = id.is_multiple_of(100);
    let left_rlc = left_sdap + rng.below(5_000_000);
    PacketRecord {
        id,
        flow: u32::from(call),
        class: u32::from(call),
        ue: 0,
        qfi: Some(if call { 1 } else { 9 }),
        drb: Some(0),
        size: if call { 200 } else { 1500 },
        protocol: if call { Protocol::Udp } else { Protocol::Tcp },
        entered,
        left_upf: Stamp::at(left_upf),
        left_sdap: if dropped { Stamp::NONE } else { Stamp::at(left_sdap) },
        left_rlc: if dropped { Stamp::NONE } else { Stamp::at(left_rlc) },
        ended: Stamp::at(if dropped { left_sdap } else { left_rlc }),
        dropped: dropped.then_some((Layer::Sdap, DropReason::AqmDequeue)),
        marked_at: id.is_multiple_of(50).then_some(Layer::Rlc),
    }
}

/// Peak resident memory of this process in KiB, from the kernel.
fn rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() {
    let asked = std::env::args().nth(1);
    let text = library::scenario("voip-over-lte").expect("it ships");
    let file = Path::new("voip-over-lte.toml");
    let scenario = Scenario::parse(text, file, None, Overrides::default()).expect("it is sound");
    let job = scenario.jobs().remove(0);
    let toml = scenario.job_toml(&job).expect("it is sound");
    let facts = RunFacts::new(&scenario.world(&job).expect("it is sound"), toml, String::new());
    for &(format, name) in Format::ALL {
        if asked.as_ref().is_some_and(|asked| asked != name) {
            continue;
        }
        let path =
            std::env::temp_dir().join(format!("justfull-records-{}.{name}", std::process::id()));
        let mut rng = Rng::stream(1, "records");
        let start = std::time::Instant::now();
        let mut making = std::time::Duration::ZERO;
        let mut file = RecordFile::create(&path, format, &PACKET_COLUMNS, &facts).expect("a place");
        let mut batch = Vec::new();
        for first in (0..PACKETS).step_by(100_000) {
            let before = std::time::Instant::now();
            batch.extend((first..first + 100_000).map(|id| record(id, &mut rng)));
            making += before.elapsed();
            for record in batch.drain(..) {
                file.push(record).expect("room");
            }
        }
        file.commit(&path).expect("room");
        let wall = (start.elapsed() - making).as_secs_f64();
        let bytes = std::fs::metadata(&path).expect("it is there").len();
        std::fs::remove_file(&path).expect("it is ours");
        let (rss, size) = (rss_kib() as f64 / 1024.0, bytes as f64 / PACKETS as f64);
        println!("{name}: {PACKETS} packets in {wall:.2} s, {size:.1} B each, peak {rss:.0} MiB");
    }
}
