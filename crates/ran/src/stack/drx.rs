//! UEs with discontinuous reception: the cell serves them while they listen.

use super::*;
use crate::mac::{UplinkAccess, Wake};

impl Stack {
    /// Before the slot at `now`, lets UEs fall asleep and wake up.
    #[inline(never)]
    pub(super) fn follow_sleep(&mut self, now: Instant) {
        let Some(mut sleep) = self.cell.sleep.take() else { return };
        let Self { cell, service, .. } = self;
        let has_data = |ue: u32| cell.ues[ue as usize].wants_to_send();
        while let Some((ue, falls_asleep)) = sleep.next_rest(now, has_data) {
            if falls_asleep {
                service.suspend(ue);
            }
        }
        while let Some(wake) = sleep.next_wake(now) {
            self.rouse(wake);
        }
        while let Some(ue) = sleep.next_fallen() {
            self.serve_from(ue, Instant::NEVER);
        }
        self.cell.sleep = Some(sleep);
    }

    /// The bearers of a UE that has woken have turns again.
    fn rouse(&mut self, wake: Wake) {
        let Wake { ue, counts_from } = wake;
        if let Some(from) = counts_from {
            self.serve_from(ue, from);
        }
        let Self { cell, service, .. } = self;
        for drb in 0..cell.ues[ue as usize].bearers.len() as u8 {
            let id = BearerId { ue, drb };
            if cell.bearer(id).wants_to_send() {
                service.join(id);
            }
        }
    }

    /// The AQMs of `ue` count the waits of its packets from `from` at the earliest.
    fn serve_from(&mut self, ue: u32, from: Instant) {
        let Self { cell, core, .. } = self;
        for bearer in cell.ues[ue as usize].bearers.iter_mut() {
            bearer.queue_mut().serve_from(from);
        }
        for queue in &mut *cell.gates[ue as usize].sdap.queues {
            queue.queue.serve_from(from);
        }
        if let Some(upf) = core.upfs.get_mut(ue as usize) {
            upf.queues.iter_mut().for_each(|queue| queue.queue.serve_from(from));
        }
    }

    /// A UE has sent a scheduling request, or has been granted the uplink.
    pub fn note_access(&mut self, access: UplinkAccess) {
        let UplinkAccess { at, ue, granted } = access;
        // A UE on its way to the cell has no place yet.
        let Some(ue) = self.cell.find(ue) else { return };
        let Some(sleep) = &mut self.cell.sleep else { return };
        if granted {
            return sleep.grant_uplink(ue, at);
        }
        if let Some(wake) = sleep.request(ue, at) {
            self.rouse(wake);
        }
    }

    /// Takes the requests and grants of an uplink since the last call; none unless UEs have DRX.
    pub fn take_accesses(&mut self) -> impl Iterator<Item = UplinkAccess> + '_ {
        self.service.accesses().into_iter().flat_map(|accesses| accesses.drain(..))
    }

    /// Counts the time that UEs are awake from `from` on.
    pub fn count_awake_from(&mut self, from: Instant) {
        if let Some(sleep) = &mut self.cell.sleep {
            sleep.count_from(from);
        }
    }

    /// Time that each UE with DRX was awake in this cell up to `now`.
    pub fn awake(&self, now: Instant) -> impl Iterator<Item = (u32, Duration)> + '_ {
        let number = |place| self.cell.number(place);
        self.cell.sleep.iter().flat_map(move |sleep| sleep.active(now, number))
    }
}
