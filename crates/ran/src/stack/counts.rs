//! Statistics of the stack about a run: the fate of its packets, and the mechanisms that have
//! acted.

use super::*;
use crate::bearer::Bearer;
use crate::rlc::Stalls;
use alloc::string::String;
use justfull_queue::ManagedQueue;

/// Packets of a run so far: `entered + came = delivered + dropped + queued + gone`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conserved {
    /// Packets passed to [`Stack::input`].
    pub entered: u64,
    /// Packets passed to [`Egress::deliver`].
    pub delivered: u64,
    /// Packets dropped in any layer.
    pub dropped: u64,
    /// Packets now in a queue, on the air or between CU and DU.
    pub queued: u64,
    /// Packets that came with UEs that entered the cell ([`Stack::admit`]).
    pub came: u64,
    /// Packets that left with UEs ([`Stack::release`]).
    pub gone: u64,
}

impl Stack {
    /// All queues of UPF, SDAP and RLC.
    pub(super) fn queues(&self) -> impl Iterator<Item = &ManagedQueue> {
        let upf = self.core.upfs.iter().flat_map(|upf| upf.queues.iter().map(|q| &q.queue));
        let sdap = self.cell.gates.iter().flat_map(Gate::queues);
        upf.chain(sdap).chain(self.all_bearers().map(Bearer::queue))
    }

    fn all_bearers(&self) -> impl Iterator<Item = &Bearer> {
        self.cell.ues.iter().flat_map(|ue| ue.bearers.iter())
    }

    /// Counts of the run so far.
    #[must_use]
    pub fn conserved(&self) -> Conserved {
        let mut counts = Conserved {
            entered: self.core.next_id,
            delivered: self.delivered,
            dropped: self.core.refused,
            queued: 0,
            came: self.came,
            gone: self.gone,
        };
        for queue in self.queues() {
            counts.dropped += queue.counters().dropped_total().packets;
            counts.queued += u64::from(queue.backlog_packets()) - queue.held().packets;
        }
        let (flying, lost) = self.service.in_the_air();
        counts.queued += flying + self.on_wire();
        counts.dropped += lost;
        counts
    }

    /// The counts that contradict each other, in words; none if every packet is delivered, dropped
    /// with a reason, or still queued, in each queue and overall. A contradiction is a bug of this
    /// crate.
    #[must_use]
    pub fn broken_conservation(&self) -> Option<String> {
        let c = self.conserved();
        let queue = self.queues().find_map(ManagedQueue::broken_conservation);
        queue.or_else(|| {
            (c.entered + c.came != c.delivered + c.dropped + c.queued + c.gone)
                .then(|| alloc::format!("{c:?}"))
        })
    }

    /// Fails the run if [`Self::broken_conservation`] finds a contradiction.
    ///
    /// # Panics
    /// If a packet is lost or duplicated, which is a bug of this crate.
    pub fn assert_conserved(&self) {
        let broken = self.broken_conservation();
        assert!(broken.is_none(), "packets are conserved: {}", broken.unwrap_or_default());
    }

    /// Configured mechanisms without any effect so far: `limiter` (held no packet back), `pacer`
    /// (left none in the UPF), and `upf.aqm`, `sdap.aqm`, `rlc.aqm` (dropped or marked none). The
    /// run so far equals the run of a cell without them.
    #[must_use]
    pub fn never_acted(&self) -> Vec<&'static str> {
        let limits = self.cell.gates.iter().any(Gate::limits);
        let mut idle = Vec::new();
        idle.extend((limits && self.held == 0).then_some("limiter"));
        idle.extend((!self.unpaced && self.core.paced == 0).then_some("pacer"));
        let aqms = [(Layer::Upf, "upf.aqm"), (Layer::Sdap, "sdap.aqm"), (Layer::Rlc, "rlc.aqm")];
        for (layer, name) in aqms {
            let here = self.queues().filter(|queue| queue.layer() == layer);
            let signals = here.filter_map(ManagedQueue::aqm_signals).reduce(|a, b| a + b);
            let passed = layer == Layer::Upf && self.core.aqm_idles;
            idle.extend((passed || signals == Some(0)).then_some(name));
        }
        idle
    }

    /// Number and total length of the waits of SDUs for the windows of the RLC in acknowledged mode
    /// up to `now`, over all bearers.
    #[must_use]
    pub fn rlc_stalls(&self, now: Instant) -> Stalls {
        let links = self.all_bearers().filter_map(|bearer| bearer.link.as_ref());
        links.fold(Stalls::default(), |sum, link| sum + link.tx.stalls(now))
    }

    /// Counts of UEs and scheduler so far; only an uplink has them.
    #[must_use]
    pub fn access_counts(&self) -> Option<crate::AccessCounts> {
        self.service.access_counts()
    }

    /// The last buffer status report of `ue`; none unless the UE is in this cell, and the cell is
    /// an uplink.
    #[must_use]
    pub fn reported(&self, ue: u32) -> Option<crate::Reported> {
        self.service.reported(self.cell.find(ue)?)
    }

    /// The use of each carrier so far; empty without carrier aggregation.
    #[must_use]
    pub fn carriers(&self) -> Vec<crate::CarrierUse> {
        self.service.carriers()
    }

    /// True if the RLC has sent a part of the packet of `ue` with this `payload`.
    ///
    /// # Panics
    /// If there is no such UE.
    #[must_use]
    pub fn has_begun(&self, ue: u32, payload: u64) -> bool {
        let ue = self.cell.place(ue) as usize;
        self.cell.ues[ue].bearers.iter().any(|bearer| bearer.is_sending(payload))
    }

    /// True if a packet waits or is on the way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.core.busy.is_empty()
            || !self.sdap_busy.is_empty()
            || self.cell.backlog.packets > 0
            || self.service.in_the_air().0 > 0
            || self.on_wire() > 0
    }

    /// Most SDUs of all UEs that can be partly sent at an instant.
    #[must_use]
    pub fn most_begun(&self) -> u64 {
        self.all_bearers().map(Bearer::most_begun).sum()
    }

    /// Maximum number of bytes in one unit of [`Event::Slot`]'s amounts: a packet of the MTU, a
    /// byte, or a resource block's share of the largest transport block.
    #[must_use]
    pub fn most_bytes_per_unit(&self) -> u64 {
        self.service.most_bytes_per_unit()
    }

    /// Packets waiting in UPF, SDAP and RLC, over all UEs.
    #[must_use]
    pub fn backlog_packets(&self) -> [u64; 3] {
        let mut sum = [0, 0, self.cell.backlog.packets];
        for upf in self.core.busy.iter().map(|&i| &self.core.upfs[i as usize]) {
            sum[0] += upf.queues.iter().map(|q| u64::from(q.queue.backlog_packets())).sum::<u64>();
        }
        for gate in self.sdap_busy.iter().map(|&i| &self.cell.gates[i as usize]) {
            sum[1] += gate.queues().map(|queue| u64::from(queue.backlog_packets())).sum::<u64>();
        }
        sum
    }
}
