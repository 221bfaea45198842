//! Calls of an AQM at the instants that it requests.

use super::{Account, ManagedQueue, drop_one, mark_one};
use crate::aqm::{Aqm, Fate, Scan, Verdict};
use crate::discipline::{AnyDiscipline, Discipline};
use crate::lane::{Lane, Tag};
use justfull_base::{DropReason, Instant, Packet, Probe};

impl ManagedQueue {
    /// The next time for a call of [`Self::on_timeout`]; none for never. Calls may be early or
    /// late.
    #[inline]
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.aqm.next_timeout()
    }

    /// Returns the next timeout only if it is earlier than the one already armed, for a driver that
    /// keeps a list of timeouts. Call it after each arrival and each timeout.
    #[must_use]
    pub fn arm_timeout(&mut self) -> Option<Instant> {
        let memory = self.account.memory.as_deref_mut()?;
        let next = self.aqm.next_timeout().filter(|next| *next < memory.armed)?;
        memory.armed = next;
        Some(next)
    }

    /// Takes the timeout `at` that [`Self::arm_timeout`] returned; false if an earlier one has
    /// replaced it.
    #[must_use]
    pub fn take_timeout(&mut self, at: Instant) -> bool {
        let Some(memory) = self.account.memory.as_deref_mut() else { return false };
        let is_last = memory.armed == at;
        if is_last {
            memory.armed = Instant::NEVER;
        }
        is_last
    }

    /// Runs the AQM's timeout over the waiting packets. It does not see reserved ones.
    pub fn on_timeout<P: Probe>(&mut self, now: Instant, probe: &mut P) {
        let Self { discipline, aqm, account } = self;
        let view = account.view(None);
        let before = account.waiting_packets;
        let mut scan = Scanner { now, marks: aqm.marks(), discipline, account, probe };
        aqm.on_timeout(now, &view, &mut scan);
        if self.account.waiting_packets < before {
            self.forget_empty_lanes(now);
        }
        self.check();
    }
}

/// The walk for an AQM's timeout: borrows all of the queue except the AQM.
struct Scanner<'a, P> {
    now: Instant,
    marks: bool,
    discipline: &'a mut AnyDiscipline,
    account: &'a mut Account,
    probe: &'a mut P,
}

impl<P: Probe> Scan for Scanner<'_, P> {
    fn each(&mut self, decide: &mut dyn FnMut(Lane, &Packet, Tag) -> Verdict) {
        let Self { now, marks, discipline, account, probe } = self;
        let layer = account.layer;
        discipline.retain(&mut |lane, queued| {
            let tag = queued.tag().unwrap_or_default();
            let packet = &mut queued.packet;
            let verdict = decide(lane, packet, tag);
            match verdict.fate(*marks, account.ect1, packet) {
                Fate::Pass => return true,
                Fate::Mark => {
                    mark_one(layer, &mut account.counters, *now, packet, *probe);
                    return true;
                }
                Fate::Drop => {}
            }
            account.forget_waiting(packet);
            account.forget(packet);
            drop_one(layer, &mut account.counters, *now, packet, DropReason::AqmTimeout, *probe);
            false
        });
    }
}
