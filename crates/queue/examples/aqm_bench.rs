//! Measures the cost of an AQM per packet: `cargo run --release -p justfull-queue --example
//! aqm_bench -- [--json] KIND PACKETS`. KIND is `load` for the load alone, the name of an AQM,
//! `fq_codel`, `justfull` for FQ-CoDel with the settings of the method Justfull, or `lanes` for the
//! lanes of Justfull-2, where one of the five flows is urgent.
//!
//! A queue of 100 kB, first in, first out, is offered 13 packets in each of 50 slots of 10 ms, then
//! 7 in each of 50, and is served 10 in each. Half of the packets can carry marks; they are of five
//! flows. The AQM gets the rate in each slot, and is called at the instants that it requests.
//! Delays meant for slow bearers are reduced to a tenth or less, so that every AQM acts. The
//! program prints the fate of the packets: the same program does the same work, so that
//! instructions can be compared.

use justfull_base::{
    BitRate, Bytes, DropReason, Duration, Ecn, Instant, Layer, Packet, Qfi, Silent,
};
use justfull_queue::aqm::dualpi2::{DualPi2Config, Preset};
use justfull_queue::aqm::{ARedConfig, PdpcConfig, TtlRed1Config, TtlRed2Config};
use justfull_queue::discipline::dual_queue::DualQueueConfig;
use justfull_queue::discipline::fq_codel::{FqCoDelConfig, Turns};
use justfull_queue::discipline::lanes::LanesConfig;
use justfull_queue::{AqmConfig, DisciplineConfig, Limit, ManagedQueue, QueueConfig};

const SLOT: Duration = Duration::from_millis(10);
/// QFI of the urgent flow.
const URGENT: u8 = 1;

/// Packet `id` of the load.
fn packet(id: u64) -> Packet {
    let mixed = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let size = if mixed.is_multiple_of(5) { 100 } else { 1500 };
    let ecn = if mixed & 8 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
    let flow = (mixed % 5) as u32;
    let qfi = Qfi::new(if flow == 0 { URGENT } else { 9 }).expect("below 64");
    Packet { id, size, ecn, qfi, flow_hash: flow * 7919, ..Packet::default() }
}

/// Calls `arrive` with each of `packets`, and `serve` after each slot.
fn run<Q>(
    packets: u64,
    queue: &mut Q,
    arrive: fn(&mut Q, Instant, Packet),
    serve: fn(&mut Q, Instant),
) {
    let (mut now, mut id, mut slot) = (Instant::ZERO, 0, 0u64);
    while id < packets {
        let arrivals = if slot % 100 < 50 { 13 } else { 7 };
        for _ in 0..arrivals {
            now += Duration::from_nanos(SLOT.as_nanos() / 16);
            arrive(queue, now, packet(id));
            id += 1;
        }
        slot += 1;
        now = Instant::ZERO + SLOT.times(slot);
        serve(queue, now);
    }
}

/// The AQM of this name, with delays short enough for the load.
fn aqm(kind: &str) -> AqmConfig {
    let ms = Duration::from_millis;
    let (low, high) = (ms(10), ms(100));
    match AqmConfig::by_name(kind).unwrap_or_else(|| panic!("there is no AQM {kind}")) {
        AqmConfig::ARed(c) => AqmConfig::ARed(ARedConfig { delay: ms(20), ..c }),
        AqmConfig::Pdpc(c) => AqmConfig::Pdpc(PdpcConfig { delay: ms(20), ..c }),
        AqmConfig::TtlRed1(c) => AqmConfig::TtlRed1(TtlRed1Config { low, high, ..c }),
        AqmConfig::TtlRed2(c) => AqmConfig::TtlRed2(TtlRed2Config { low, high, ..c }),
        other => other,
    }
}

/// The queue of this name.
fn queue(kind: &str) -> QueueConfig {
    let ms = Duration::from_millis;
    let lanes = match kind {
        "fq_codel" => FqCoDelConfig { target: ms(15), interval: ms(100), ..Default::default() },
        "justfull" => FqCoDelConfig {
            quantum: Bytes(300),
            turns: Turns::ByShare,
            ways: 8,
            target: ms(15),
            interval: ms(100),
            reserve: ms(20),
            ceiling: ms(45),
            deadline: ms(90),
            dip: ms(2000),
            spacing: 8,
            ..Default::default()
        },
        "lanes" => {
            let lanes = LanesConfig { urgent: 1 << URGENT, ..LanesConfig::default() };
            let discipline = DisciplineConfig::Lanes(lanes);
            return QueueConfig { discipline, ..QueueConfig::default() };
        }
        "dualpi2" => return dual_queue(Preset::Rfc9332),
        "dualpi2_linux" => return dual_queue(Preset::Linux),
        _ => return QueueConfig { aqm: aqm(kind), ..QueueConfig::default() },
    };
    QueueConfig { discipline: DisciplineConfig::FqCoDel(lanes), ..QueueConfig::default() }
}

/// `DualPI2` over its two lanes.
fn dual_queue(preset: Preset) -> QueueConfig {
    let aqm = AqmConfig::DualPi2(DualPi2Config { preset, ..DualPi2Config::default() });
    let discipline = DisciplineConfig::DualQueue(DualQueueConfig::default());
    QueueConfig { aqm, discipline, ..QueueConfig::default() }
}

fn call(queue: &mut ManagedQueue, now: Instant) {
    while let Some(due) = queue.next_timeout().filter(|due| *due <= now) {
        queue.on_timeout(due, &mut Silent);
    }
}

/// One line of JSON.
fn line(kind: &str, counts: [u64; 5], digest: &str) {
    let [arrived, departed, dropped, marked, signals] = counts;
    println!(
        "{{\"kind\":\"{kind}\",\"arrived\":{arrived},\"departed\":{departed},\
         \"dropped\":{dropped},\"marked\":{marked},\"signals\":{signals},\"digest\":\"{digest}\"}}"
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--json").collect();
    let [kind, packets] = words.as_slice() else {
        panic!("usage: aqm_bench [--json] KIND PACKETS")
    };
    let packets: u64 = packets.parse().expect("a number of packets");
    if kind == "load" {
        let mut sum = 0u64;
        let arrive = |sum: &mut u64, now: Instant, packet: Packet| {
            *sum = sum.wrapping_add(u64::from(packet.size) ^ now.as_nanos());
        };
        run(packets, &mut sum, arrive, |_, _| {});
        line(kind, [packets, 0, 0, 0, 0], &format!("{sum:x}"));
        return;
    }
    let config = QueueConfig { limit: Limit::Bytes(100_000), ..queue(kind) };
    let mut queue = ManagedQueue::new(Layer::Rlc, &config, 1).expect("the defaults are sound");
    let classic = |queue: &mut ManagedQueue, now: Instant, packet: Packet| {
        call(queue, now);
        queue.enqueue(now, packet, &mut Silent);
    };
    let l4s = |queue: &mut ManagedQueue, now: Instant, packet: Packet| {
        let ecn = if packet.ecn == Ecn::Ect0 { Ecn::Ect1 } else { packet.ecn };
        queue.enqueue(now, Packet { ecn, ..packet }, &mut Silent);
    };
    let arrive = if kind.starts_with("dualpi2") { l4s } else { classic };
    let serve = |queue: &mut ManagedQueue, now: Instant| {
        call(queue, now);
        queue.set_service_rate(Some(BitRate(10_000_000)));
        for _ in 0..10 {
            queue.dequeue(now, &mut Silent);
        }
    };
    run(packets, &mut queue, arrive, serve);
    queue.assert_conserved();
    let counters = queue.counters();
    let dropped: Vec<u64> =
        DropReason::ALL.iter().map(|reason| counters.dropped(*reason).packets).collect();
    let counts = [
        counters.arrived.packets,
        counters.departed.packets,
        counters.dropped_total().packets,
        counters.marked().packets,
        queue.aqm_signals().unwrap_or(0),
    ];
    line(kind, counts, &format!("{dropped:?} {}", counters.departed.bytes));
}
