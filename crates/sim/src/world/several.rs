//! The event loop of a world with several cells. The order at one instant is that of one cell;
//! [`Region::act`] has the order among the cells.

use super::World;
use crate::radio::Radio;
use justfull_base::{Duration, Instant, Packet};
use justfull_run::CoreLoss;
use justfull_run::region::Region;
use justfull_run::tap::Listener;

/// Several cells, and the way to them.
pub(super) struct Several {
    pub(super) region: Region,
    /// Random loss on the way to the UPF, if the scenario has any.
    pub(super) loss: Option<Box<CoreLoss>>,
}

impl<T: Listener> World<T> {
    /// [`World::step`] for several cells.
    #[inline(never)]
    pub(super) fn step_several(&mut self, end: Instant) -> Instant {
        let Self { several, hosts, links, proxy, .. } = self;
        let Some(Several { region, .. }) = several.as_deref_mut() else { return Instant::NEVER };
        let proxied = proxy.as_ref().map_or(Instant::NEVER, |proxy| proxy.next());
        let hosted = links.uplink.next().min(hosts.senders.next()).min(hosts.applications.next());
        let before = hosted.min(proxied);
        let after = links.air.next().min(hosts.receivers.next());
        let (arrival, acts) = (links.core.next(), region.next());
        let now = before.min(arrival).min(acts).min(after);
        if now > end {
            return now;
        }
        if acts == now && before > now && arrival > now {
            if let Some(accesses) = links.uplink.take_accesses() {
                accesses.for_each(|access| region.note_access(access));
            }
            let beyond = end + Duration::from_nanos(1);
            let until = before.min(arrival).min(after).min(beyond);
            return region.act(now, until, &mut Radio { hosts, links, delivered: false });
        }
        // Cells count their own calls, since the number of steps depends on the other components.
        links.monitor.calls += 1;
        if before == now {
            self.act_before_cell(now);
        } else if arrival == now {
            self.reach_upf(now);
        } else {
            self.act_after_cell(now);
        }
        now
    }

    /// Packets reach the UPF.
    fn reach_upf(&mut self, now: Instant) {
        let Self { several, hosts, links, .. } = self;
        let Some(Several { region, loss }) = several.as_deref_mut() else { return };
        let mut packet = Packet::default();
        while links.core.pop_into(now, &mut packet) {
            links.monitor.calls += 1;
            links.monitor.recorder.entered(now, packet.flow);
            let ue = region.ue_of(packet.flow);
            let around = &mut Radio { hosts, links, delivered: false };
            if loss.as_mut().is_some_and(|loss| loss.takes_next()) {
                region.lose(now, packet, ue, around);
            } else {
                region.input(now, &mut packet, ue, around);
            }
        }
    }
}
