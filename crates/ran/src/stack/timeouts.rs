//! Timeouts of AQMs: at one instant they come before all polls and slots, UPF first, then SDAP and
//! RLC, in the order of UEs and their queues.

use super::*;
use justfull_queue::ManagedQueue;

/// The queue of bearer `id` of the UE `radio` has a new packet.
#[cold]
pub(super) fn arm_bearer(id: BearerId, radio: &mut UeRadio, clocks: &mut Clocks) {
    let BearerId { ue, drb } = id;
    if let Some(at) = radio.bearers.at(drb.into()).queue_mut().arm_timeout() {
        clocks.arm_timeout(at, QueueId::Rlc { ue, drb });
    }
}

impl Stack {
    /// Runs the timeouts that are due; data that is due arrives at the DU.
    pub(super) fn timeout_tick<D: Probe + Egress>(&mut self, driver: &mut D) {
        let now = self.clocks.next_wake();
        while let Some((at, id)) = self.clocks.take_timeout(now) {
            let Some(id) = id else {
                self.arrive_at_du(now, driver);
                continue;
            };
            // A UE that has left has no queue here.
            if self.is_here(id) && self.queue_mut(id).take_timeout(at) {
                self.run_timeout(now, id, driver);
                self.arm_timeout(id);
            }
        }
    }

    fn run_timeout<D: Probe + Egress>(&mut self, now: Instant, id: QueueId, driver: &mut D) {
        let QueueId::Rlc { ue, drb } = id else {
            return self.queue_mut(id).on_timeout(now, driver);
        };
        let Self { cell, service, .. } = self;
        let id = BearerId { ue, drb };
        let bearer = cell.bearer(id);
        let before = bearer.view();
        bearer.queue_mut().on_timeout(now, driver);
        let after = bearer.view();
        cell.backlog.change(&before, &after);
        if before.packets > 0 && after.packets == 0 {
            service.leave(id, cell);
        }
    }

    /// The queue `id` has a new packet or has had its timeout.
    #[cold]
    pub(super) fn arm_timeout(&mut self, id: QueueId) {
        if let Some(at) = self.queue_mut(id).arm_timeout() {
            self.clocks.arm_timeout(at, id);
        }
    }

    fn is_here(&self, id: QueueId) -> bool {
        match id {
            QueueId::Upf { .. } => true,
            QueueId::Sdap { ue, .. } | QueueId::Rlc { ue, .. } => !self.core.ues[ue as usize].away,
        }
    }

    pub(super) fn queue_mut(&mut self, id: QueueId) -> &mut ManagedQueue {
        match id {
            QueueId::Upf { ue, qos } => &mut self.core.upfs[ue as usize].queues[qos as usize].queue,
            QueueId::Sdap { ue, qos } => {
                &mut self.cell.gates[ue as usize].sdap.queues.at(qos as usize).queue
            }
            QueueId::Rlc { ue, drb } => self.cell.bearer(BearerId { ue, drb }).queue_mut(),
        }
    }
}
