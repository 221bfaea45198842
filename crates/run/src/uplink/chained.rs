//! Packets of an uplink that is a stack: into it and out of it.

use super::cell_aqm::{CellAqm, Decision, Received};
use super::chain::{Carried, Chain, Left};
use super::{Fate, Uplink, Way};
use justfull_base::{Ecn, Instant};

impl<T: Copy> Uplink<T> {
    /// A packet enters the stack; false if the stack drops it at once.
    pub(super) fn enter_chain(&mut self, now: Instant, carried: Carried<T>) -> bool {
        let Some(chain) = &mut self.chain else { return false };
        let taken = chain.push(now, carried);
        self.opportunities.arm(0, chain.next().max(now));
        if !taken {
            self.count_drop(carried.size);
        }
        taken
    }

    /// Does the stack's work up to `now` and puts its packets on the wire. `ended` gets the fate of
    /// each packet and returns true for a lost packet that must be sent again.
    pub(super) fn run_chain(
        &mut self,
        now: Instant,
        ended: &mut dyn FnMut(Instant, &mut T, Fate) -> bool,
    ) {
        while self.opportunities.pop(now).is_some() {}
        while let Some(carried) = self.chain.as_mut().and_then(|chain| chain.due_again(now)) {
            self.counts.entered += 1;
            if !self.enter_chain(now, carried)
                && let Some(chain) = &mut self.chain
            {
                chain.send_again(now, carried);
            }
        }
        let Some(chain) = &mut self.chain else { return };
        chain.wake(now);
        if let Some(accesses) = &mut self.accesses {
            accesses.extend(chain.take_accesses());
        }
        while let Some(Left { at, mut carried, fate, .. }) = chain.left() {
            let Carried { entered, size, way, .. } = carried;
            let fate = match &mut self.cell_aqm {
                Some(aqm) => judged(aqm, chain, at, &carried, fate),
                None => fate,
            };
            let again = ended(entered, &mut carried.item, fate);
            if let Fate::Sent { .. } = fate {
                if entered >= self.warmup {
                    self.waits.record(at.since(entered));
                }
                match self.zhuge.as_mut().and_then(|zhuge| zhuge.hold(at, way.flow)) {
                    None => self.wires.push(at, way.wire, size, carried.item),
                    Some(hold) => self.wires.push_held(at + hold, way.wire, size, carried.item),
                }
                continue;
            }
            self.counts.dropped += 1;
            self.counts.dropped_bytes += u64::from(size);
            if again {
                chain.send_again(now, carried);
            }
        }
        self.opportunities.arm(0, chain.next().max(now));
    }
}

/// The fate of `carried`, which has left `chain` at `at` with `fate`, by the base station's AQM.
fn judged<T: Copy>(
    aqm: &mut CellAqm,
    chain: &Chain<T>,
    at: Instant,
    carried: &Carried<T>,
    fate: Fate,
) -> Fate {
    let Way { ue, flow, ecn, .. } = carried.way;
    let Fate::Sent { ce } = fate else { return fate };
    if let Some(reported) = chain.reported(ue) {
        aqm.report(at, ue, reported);
    }
    let ecn = if ce { Ecn::Ce } else { ecn };
    match aqm.received(at, Received { ue, flow, size: carried.size, ecn }) {
        Decision::Pass => fate,
        Decision::Mark => Fate::Sent { ce: true },
        Decision::Drop => Fate::Lost { flow },
    }
}
