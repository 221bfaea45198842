//! Marks that the CU or the UPF sets for the queue of the RLC.
//!
//! The AQM of the RLC decides on each departing packet, as it does where it marks itself. A report
//! has the share of L4S packets that it would have marked since the report before, in hundredths of
//! a percent (TS 38.415, UL PDU SESSION INFORMATION). From a report's arrival on the node marks
//! this share of the packets with ECT(1), as regularly as can be.
//!
//! The RAN makes a report at each multiple of the period; it has the state after the last slot
//! before.

use super::*;
use crate::bearer::Bearer;
use crate::config::{MarkingConfig, MarkingPlace};
use alloc::collections::VecDeque;
use justfull_base::Ecn;
use justfull_queue::Withheld;

/// A share of one, in hundredths of a percent.
const WHOLE: u32 = 10_000;

/// The reports on one bearer, and the marks by them.
#[derive(Default)]
struct Reported {
    /// The counts of the last report that has arrived.
    known: Withheld,
    /// Reports on the way, each with its arrival and its counts.
    coming: VecDeque<(Instant, Withheld)>,
    /// The share of packets to be marked, and the sum of shares since the last mark.
    share: u32,
    sum: u32,
}

impl Reported {
    /// A report that arrives at `at` has the counts `now`.
    fn report(&mut self, at: Instant, now: Withheld) {
        match self.coming.back_mut().filter(|(last, _)| *last == at) {
            Some(last) => last.1 = now,
            None => self.coming.push_back((at, now)),
        }
    }

    /// Takes the reports that have arrived by `now`.
    fn settle(&mut self, now: Instant) {
        while let Some(&(at, counts)) = self.coming.front()
            && at <= now
        {
            self.coming.pop_front();
            let before = core::mem::replace(&mut self.known, counts);
            let (left, marked) = (counts.l4s - before.l4s, counts.marked - before.marked);
            self.share = (u64::from(WHOLE) * marked).checked_div(left).unwrap_or(0) as u32;
        }
    }

    /// True if the next packet is marked.
    fn marks(&mut self) -> bool {
        self.sum += self.share;
        let over = self.sum >= WHOLE;
        if over {
            self.sum -= WHOLE;
        }
        over
    }
}

/// The marks of a cell whose RLC does not set them.
pub(super) struct Marking {
    /// The layer that packets leave when they are marked.
    layer: Layer,
    period: u64,
    delay: Duration,
    /// By a UE's place, its bearers; none of a UE that is away.
    ues: Vec<Vec<Reported>>,
}

impl Marking {
    /// The marks of `config` for `places` UEs, if the RLC does not set them.
    pub(super) fn of(config: &MarkingConfig, places: usize) -> Option<Box<Self>> {
        let layer = match config.place {
            MarkingPlace::Du => return None,
            MarkingPlace::Cu => Layer::Sdap,
            MarkingPlace::Upf => Layer::Upf,
        };
        let (period, delay) = (config.report_period.as_nanos(), config.report_delay);
        Some(Box::new(Self { layer, period, delay, ues: Vec::with_capacity(places) }))
    }

    /// The UE in place `ue` has `bearers` from now on.
    pub(super) fn watch(&mut self, ue: u32, bearers: &mut [Bearer]) {
        let index = ue as usize;
        self.ues.resize_with(self.ues.len().max(index + 1), Vec::new);
        self.ues[index].clear();
        for bearer in bearers {
            bearer.queue_mut().withhold_marks();
            let known = bearer.queue().withheld();
            self.ues[index].push(Reported { known, ..Reported::default() });
        }
    }

    /// The UE in place `ue` has left.
    pub(super) fn forget(&mut self, ue: u32) {
        self.ues[ue as usize].clear();
    }

    /// A slot at `now` has ended.
    #[cold]
    pub(super) fn after_slot(&mut self, now: Instant, radios: &[UeRadio]) {
        let made = Instant::from_nanos(now.as_nanos().next_multiple_of(self.period));
        let at = made + self.delay;
        for (bearers, radio) in self.ues.iter_mut().zip(radios) {
            for (reported, bearer) in bearers.iter_mut().zip(radio.bearers.iter()) {
                reported.report(at, bearer.queue().withheld());
                reported.settle(now);
            }
        }
    }

    /// `packet` leaves `layer` for bearer `id` at `now`, and may be marked.
    #[cold]
    pub(super) fn mark<P: Probe>(
        &mut self,
        now: Instant,
        layer: Layer,
        id: BearerId,
        packet: &mut Packet,
        probe: &mut P,
    ) {
        if self.layer != layer || packet.ecn != Ecn::Ect1 {
            return;
        }
        let bearers = self.ues.get_mut(id.ue as usize);
        let Some(reported) = bearers.and_then(|all| all.get_mut(usize::from(id.drb))) else {
            return;
        };
        reported.settle(now);
        if reported.marks() {
            packet.ecn = Ecn::Ce;
            probe.on_event(now, &Event::Marked { layer, packet: *packet });
        }
    }
}

impl Stack {
    /// `packet` of QoS flow `qos` of the UE in place `ue` leaves the UPF.
    #[cold]
    #[inline(never)]
    pub(super) fn mark_at_upf<P: Probe>(
        &mut self,
        now: Instant,
        ue: u32,
        qos: usize,
        packet: &mut Packet,
        probe: &mut P,
    ) {
        let Some(queue) = self.cell.gates[ue as usize].sdap.queues.get(qos) else { return };
        let id = BearerId { ue, drb: queue.drb };
        if let Some(marking) = &mut self.marking {
            marking.mark(now, Layer::Upf, id, packet, probe);
        }
    }
}
