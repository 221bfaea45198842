//! A base station with its own RLC that binds [`Gate`]. `cargo run --release -p justfull-ran
//! --example gnb` prints the wait of a packet above the gate, under CoDel, and below it, without a
//! limiter and with two limiters that hold packets back.

use justfull_base::{Duration, Instant, Packet, Probe, Qfi, Silent, SlotReport};
use justfull_queue::{AqmConfig, Limit, QueueConfig};
use justfull_ran::channel::CapacityUnit;
use justfull_ran::gate::{Gate, GateConfig, Rlc};
use justfull_ran::limiter::{GrantContext, LimiterConfig, RlcView};
use justfull_ran::{QosFlowConfig, SdapConfig};
use std::collections::VecDeque;

/// One bearer: whole SDUs, and the sum of their waits above.
#[derive(Default)]
struct OwnRlc(VecDeque<Packet>, Duration);

impl Rlc for OwnRlc {
    fn view(&self, _drb: u8) -> RlcView {
        let bytes = self.0.iter().map(|sdu| u64::from(sdu.size)).sum();
        RlcView { packets: self.0.len() as u64, bytes }
    }

    fn enqueue<P: Probe>(&mut self, now: Instant, _drb: u8, sdu: &Packet, _: &mut P) -> bool {
        self.1 += now.since(sdu.enqueued);
        self.0.push_back(Packet { enqueued: now, ..*sdu });
        true
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:<8} {:>9} {:>14} {:>14}", "limiter", "delivered", "above, ms", "below, ms");
    let aqm = AqmConfig::CoDel(Default::default());
    let queue = QueueConfig { aqm, ..QueueConfig::tail_drop(Limit::Packets(1024)) };
    let sdap = &SdapConfig { queue, ..SdapConfig::default() };
    let qfi = Qfi::new(9).expect("below 64");
    let qos_flows = &[QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None }];
    let (slot, report_delay) = (Duration::from_millis(1), Duration::ZERO);
    let context = GrantContext { unit: CapacityUnit::Packets, slot, mtu: 1500 };
    for kind in ["unlimited", "drql", "bdp_5g"] {
        let limiter = &LimiterConfig::by_name(kind).expect("a kind of limiter");
        let config = GateConfig { sdap, limiter, report_delay, qos_flows, drbs: 1 };
        let (mut gate, mut rlc) = (Gate::new(&config, &context, 1)?, OwnRlc::default());
        let (mut delivered, mut below) = (0, Duration::ZERO);
        for k in 0..10_000 {
            // Three packets arrive and enter the RLC in four polls; the slot takes two.
            let now = Instant::ZERO + slot.times(k);
            for id in 3 * k..3 * k + 3 {
                gate.offer(now, 0, Packet { id, size: 1400, ..Packet::default() }, &mut Silent)?;
            }
            for quarter in 0..4 {
                let at = now + Duration::from_micros(250).times(quarter);
                gate.poll(at, &mut rlc, &mut Silent);
            }
            let pulled_at = now + slot;
            let mut used = 0;
            while used < 2
                && let Some(sdu) = rlc.0.pop_front()
            {
                used += 1;
                below += pulled_at.since(sdu.enqueued);
                gate.on_departed(pulled_at, 0, pulled_at.since(sdu.enqueued))?;
            }
            delivered += used;
            let (remaining, starved) = (rlc.view(0).packets, used < 2);
            let (granted, capacity) = (2, 2);
            gate.on_slot(
                0,
                &SlotReport { pulled_at, slot, granted, used, remaining, capacity, starved },
            )?;
        }
        let mean = |waited: Duration| waited.as_millis_f64() / delivered as f64;
        println!("{kind:<9} {delivered:>8} {:>14.2} {:>14.2}", mean(rlc.1), mean(below));
    }
    Ok(())
}
