//! A base station in one file: two UEs, each with a queue under CoDel, a limiter and an RLC queue
//! below it, and a MAC that gives the resource blocks of every slot in turn. `cargo run --release
//! -p justfull-ran --example gnb` prints what a packet waits in each of the two queues, without a
//! limiter and with two that hold packets back.

use justfull_base::{ConfigError, Duration, Instant, Layer, Packet, Silent, SlotReport};
use justfull_phy::lte;
use justfull_queue::{AqmConfig, Limit, ManagedQueue, QueueConfig};
use justfull_ran::channel::CapacityUnit;
use justfull_ran::limiter::{AnyLimiter, Limiter, LimiterConfig, LimiterContext, RlcView};

const SLOT: Duration = Duration::from_millis(1);
const BLOCKS: u16 = 25;

struct Ue {
    sdap: ManagedQueue,
    limiter: AnyLimiter,
    rlc: ManagedQueue,
    /// Bytes of the head of the RLC queue that are already sent.
    sent: u64,
    i_tbs: u8,
}

impl Ue {
    fn new(limiter: &LimiterConfig, i_tbs: u8) -> Result<Self, ConfigError> {
        let deep = QueueConfig::tail_drop(Limit::Packets(1024));
        let codel = QueueConfig { aqm: AqmConfig::CoDel(Default::default()), ..deep.clone() };
        let context = LimiterContext { unit: CapacityUnit::Bytes, slot: SLOT, mtu: 1500 };
        Ok(Self {
            sdap: ManagedQueue::new(Layer::Sdap, &codel, 1)?,
            limiter: AnyLimiter::new(limiter, &context)?,
            rlc: ManagedQueue::new(Layer::Rlc, &deep, 2)?,
            sent: 0,
            i_tbs,
        })
    }

    fn view(&self) -> RlcView {
        let bytes = self.rlc.backlog_bytes() - self.sent;
        RlcView { packets: self.rlc.backlog_packets().into(), bytes }
    }

    /// SDAP's poll: what the limiter admits goes down.
    fn poll(&mut self, now: Instant) -> Duration {
        let mut waited = Duration::ZERO;
        loop {
            let view = self.view();
            let Some(sdu) = self.sdap.peek().copied() else { break };
            if !self.limiter.admits(now, &sdu, &view) {
                break;
            }
            let Some(sdu) = self.sdap.dequeue(now, &mut Silent) else { break };
            waited += now.since(sdu.enqueued);
            self.rlc.enqueue(now, sdu, &mut Silent);
            self.limiter.on_admitted(now, self.limiter.amount(&sdu), &self.view());
        }
        waited
    }

    /// The MAC's pull: a transport block of `n_prb` resource blocks, filled across the borders of
    /// packets.
    fn pull(&mut self, now: Instant, n_prb: u16) -> Duration {
        let capacity = u64::from(lte::tbs_bits(self.i_tbs, n_prb).unwrap_or(0)) / 8;
        let (mut left, mut waited) = (capacity, Duration::ZERO);
        while left > 0
            && let Some(size) = self.rlc.peek().map(|sdu| u64::from(sdu.size))
        {
            let bytes = left.min(size - self.sent);
            (left, self.sent) = (left - bytes, self.sent + bytes);
            if self.sent == size
                && let Some(sdu) = self.rlc.dequeue(now, &mut Silent)
            {
                self.sent = 0;
                waited += now.since(sdu.enqueued);
                self.limiter.on_departed(now, now.since(sdu.enqueued));
            }
        }
        let (used, remaining) = (capacity - left, self.view().bytes);
        let report = SlotReport {
            pulled_at: now,
            slot: SLOT,
            granted: capacity,
            used,
            remaining,
            capacity,
            starved: left > 0,
        };
        self.limiter.on_slot(&report);
        waited
    }
}

fn main() -> Result<(), ConfigError> {
    println!("{:<12} {:>9} {:>12} {:>11}", "limiter", "delivered", "in SDAP, ms", "in RLC, ms");
    for (name, limiter) in [
        ("none", LimiterConfig::Unlimited(Default::default())),
        ("DRQL", LimiterConfig::Drql(Default::default())),
        ("5G-BDP", LimiterConfig::Bdp5g(Default::default())),
    ] {
        let mut ues = [Ue::new(&limiter, 26)?, Ue::new(&limiter, 10)?];
        let (mut in_sdap, mut in_rlc) = (Duration::ZERO, Duration::ZERO);
        for slot in 0..10_000 {
            let now = Instant::ZERO + SLOT.times(slot);
            for ue in &mut ues {
                ue.sdap.enqueue(
                    now,
                    Packet { id: slot, size: 1400, ..Packet::default() },
                    &mut Silent,
                );
                in_sdap += ue.poll(now);
            }
            // One UE gets the larger half in this slot, the other in the next.
            let turn = usize::from(slot % 2 == 1);
            in_rlc += ues[turn].pull(now + SLOT, BLOCKS.div_ceil(2));
            in_rlc += ues[1 - turn].pull(now + SLOT, BLOCKS / 2);
        }
        let packets = |queue: fn(&Ue) -> &ManagedQueue| {
            ues.iter().map(|ue| queue(ue).counters().departed.packets).sum::<u64>()
        };
        let mean = |waited: Duration, packets: u64| waited.as_millis_f64() / packets as f64;
        let (down, delivered) = (packets(|ue| &ue.sdap), packets(|ue| &ue.rlc));
        let (sdap, rlc) = (mean(in_sdap, down), mean(in_rlc, delivered));
        println!("{name:<12} {delivered:>9} {sdap:>12.2} {rlc:>11.2}");
    }
    Ok(())
}
