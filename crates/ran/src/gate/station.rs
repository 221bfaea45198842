//! Calls that only a base station with an RLC of its own makes.

use super::{Gate, GateError, Rlc};
use crate::limiter::Limiter;
use justfull_base::{Instant, Packet, Probe};
use justfull_queue::ManagedQueue;

impl Gate {
    /// Allocates now all that the gate needs while at most `packets` packets wait in each queue:
    /// later calls allocate nothing.
    pub fn make_places(&mut self, packets: u32) {
        self.sdap.queues.iter_mut().for_each(|queue| queue.queue.make_places(packets));
    }

    /// The queue of `flow`: its backlog and counts.
    #[must_use]
    #[inline]
    pub fn queue(&self, flow: usize) -> Option<&ManagedQueue> {
        self.sdap.queues.get(flow).map(|queue| &queue.queue)
    }

    /// An SDU of bearer `drb`, such as one that PDCP sends again, enters `rlc` at `now` past
    /// queues, scheduler, AQM and limiter. The limiter counts it. False if the RLC has dropped it.
    ///
    /// # Errors
    /// There is no such bearer, or the SDU's size is not 1 B to the MTU. Nothing changes.
    pub fn bypass<R: Rlc, P: Probe>(
        &mut self,
        now: Instant,
        drb: u8,
        sdu: &Packet,
        rlc: &mut R,
        probe: &mut P,
    ) -> Result<bool, GateError> {
        let mtu = u32::from(self.mtu);
        let door = self.door(drb)?;
        if !(1..=mtu).contains(&sdu.size) {
            return Err(GateError::Size { size: sdu.size, mtu });
        }
        let taken = rlc.enqueue(now, drb, sdu, probe);
        if taken && !door.unlimited {
            let amount = door.limiter.amount(sdu);
            door.limiter.on_admitted(now, amount, &rlc.view(drb));
        }
        Ok(taken)
    }

    /// Takes all packets that wait, flow by flow, and gives each to `take`: the UE leaves. The AQM
    /// may drop some on the way; `probe` gets them.
    pub fn drain<P: Probe>(
        &mut self,
        now: Instant,
        probe: &mut P,
        mut take: impl FnMut(&mut P, &Packet),
    ) {
        for queue in self.sdap.queues.iter_mut().map(|queue| &mut queue.queue) {
            while let Some(packet) = queue.dequeue(now, probe) {
                take(probe, &packet);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::CapacityUnit;
    use crate::config::{QosFlowConfig, SdapConfig};
    use crate::gate::GateConfig;
    use crate::limiter::{FixedConfig, GrantContext, LimiterConfig, RlcView};
    use alloc::vec::Vec;
    use justfull_base::{Duration, Qfi, Silent};

    #[derive(Default)]
    struct Seen(Vec<u64>);

    impl Rlc for Seen {
        fn view(&self, _: u8) -> RlcView {
            RlcView { packets: self.0.len() as u64, bytes: 100 * self.0.len() as u64 }
        }

        fn enqueue<P: Probe>(&mut self, _: Instant, _: u8, sdu: &Packet, _: &mut P) -> bool {
            self.0.push(sdu.id);
            self.0.len() < 3
        }
    }

    #[test]
    fn a_repeated_sdu_enters_past_the_limiter_and_a_drained_gate_holds_nothing() {
        let sdap = SdapConfig::default();
        let limiter = LimiterConfig::Fixed(FixedConfig::default());
        let qfi = Qfi::new(1).expect("below 64");
        let flow = QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None };
        let config = GateConfig {
            sdap: &sdap,
            limiter: &limiter,
            report_delay: Duration::ZERO,
            qos_flows: &[flow],
            drbs: 1,
        };
        let slot = Duration::from_millis(1);
        let context = GrantContext { unit: CapacityUnit::Packets, slot, mtu: 1500 };
        let mut gate = Gate::new(&config, &context, 1).expect("in bounds");
        gate.make_places(8);
        let (now, mut rlc) = (Instant::ZERO, Seen::default());
        let packet = |id| Packet { id, size: 100, ..Packet::default() };
        for id in 0..3 {
            gate.offer(now, 0, packet(id), &mut Silent).expect("a flow and a size");
        }
        let mut bypass = |drb, sdu| gate.bypass(now, drb, &sdu, &mut rlc, &mut Silent);
        assert_eq!((bypass(0, packet(9)), bypass(0, packet(8))), (Ok(true), Ok(true)));
        assert_eq!(bypass(0, packet(7)), Ok(false), "the RLC is full");
        assert!(bypass(1, packet(9)).is_err() && bypass(0, Packet::default()).is_err());
        assert_eq!(rlc.0, [9, 8, 7]);
        let mut left = Vec::new();
        gate.drain(now, &mut Silent, |_, packet| left.push(packet.id));
        assert_eq!((left, gate.is_busy()), ([0, 1, 2].into(), false));
    }
}
