//! The load of `cargo xtask bench c` by the gate's own functions: `gate_bench --json KIND PACKETS`.
//! Kind `load` is an RLC alone, `fixed` offers and polls above it under a fixed limit, `drql` also
//! reports departures and slots. `crates/c/examples/gate_bench.c` does the same through the C
//! library.

use justfull_base::{Duration, Instant, Packet, Probe, Qfi, Silent, SlotReport};
use justfull_queue::{AqmConfig, Limit, QueueConfig};
use justfull_ran::gate::{Gate, GateConfig, Rlc};
use justfull_ran::limiter::{CapacityUnit, GrantContext, LimiterConfig, RlcView};
use justfull_ran::{QosFlowConfig, SdapConfig};

const PLACES: usize = 64;
const PER_SLOT: u64 = 3;

/// A ring of SDUs.
struct Ring {
    sdus: [(u64, u32, Instant); PLACES],
    first: usize,
    count: usize,
    bytes: u64,
}

impl Rlc for Ring {
    fn view(&self, _: u8) -> RlcView {
        RlcView { packets: self.count as u64, bytes: self.bytes }
    }

    fn enqueue<P: Probe>(&mut self, now: Instant, _: u8, sdu: &Packet, _: &mut P) -> bool {
        if self.count == PLACES {
            return false;
        }
        self.sdus[(self.first + self.count) % PLACES] = (sdu.id, sdu.size, now);
        self.count += 1;
        self.bytes += u64::from(sdu.size);
        true
    }
}

impl Ring {
    fn pop(&mut self) -> Option<(u64, Instant)> {
        if self.count == 0 {
            return None;
        }
        let (id, size, entered) = self.sdus[self.first];
        self.first = (self.first + 1) % PLACES;
        self.count -= 1;
        self.bytes -= u64::from(size);
        Some((id, entered))
    }
}

fn gate(kind: &str) -> Gate {
    let aqm = AqmConfig::by_name("codel").expect("a kind of AQM");
    let queue = QueueConfig { aqm, ..QueueConfig::tail_drop(Limit::Packets(200)) };
    let sdap = &SdapConfig { queue, ..SdapConfig::default() };
    let limiter = &LimiterConfig::by_name(kind).expect("a kind of limiter");
    let qfi = Qfi::new(9).expect("below 64");
    let qos_flows = &[QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None }];
    let (slot, unit) = (Duration::from_millis(1), CapacityUnit::Packets);
    let config = GateConfig { sdap, limiter, report_delay: Duration::ZERO, qos_flows, drbs: 1 };
    let mut gate = Gate::new(&config, &GrantContext { unit, slot, mtu: 1500 }, 1).expect("sound");
    gate.make_places(200);
    gate
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [_, kind, packets] = &words[..] else { panic!("gate_bench --json KIND PACKETS") };
    let packets: u64 = packets.parse().expect("a number");
    let (loads, reports) = (kind == "load", kind == "drql");
    let mut gate = gate(if loads { "fixed" } else { kind });
    let mut rlc = Ring { sdus: [(0, 0, Instant::ZERO); PLACES], first: 0, count: 0, bytes: 0 };
    let (mut digest, mut id, mut now) = (0_u64, 0, Instant::ZERO);
    let slot = Duration::from_millis(1);
    while id < packets {
        now += slot;
        for _ in 0..PER_SLOT {
            id += 1;
            let packet = Packet { id, size: 1400, entered: now, ..Packet::default() };
            if loads {
                rlc.enqueue(now, 0, &packet, &mut Silent);
            } else {
                gate.offer(now, 0, packet, &mut Silent).expect("a flow and a size");
            }
        }
        if !loads {
            gate.poll(now, &mut rlc, &mut Silent);
        }
        let mut used = 0;
        while used < PER_SLOT
            && let Some((id, entered)) = rlc.pop()
        {
            used += 1;
            digest = digest.wrapping_mul(31).wrapping_add(id);
            if reports {
                gate.on_departed(now, 0, now.since(entered)).expect("a bearer");
            }
        }
        if reports {
            let (remaining, starved) = (rlc.count as u64, used < PER_SLOT);
            let (granted, capacity) = (PER_SLOT, PER_SLOT);
            let report =
                SlotReport { pulled_at: now, slot, granted, used, remaining, capacity, starved };
            gate.on_slot(0, &report).expect("a bearer");
        }
    }
    println!("{digest}");
}
