//! A queue's backlog, its counts, and the check that no packet is lost or duplicated.

use super::ManagedQueue;
use crate::aqm::{AnyAqm, Aqm, DeliveryReport, Needs};
use crate::counters::{Count, Counters};
use crate::discipline::Discipline;
use crate::limit::Limit;
use alloc::format;
use alloc::string::String;
use justfull_base::{BitRate, DropReason, Instant, Layer};

impl ManagedQueue {
    /// Packets in the queue: waiting and reserved.
    #[inline]
    #[must_use]
    pub const fn backlog_packets(&self) -> u32 {
        self.account.backlog_packets()
    }

    /// Bytes in the queue: waiting and reserved.
    #[inline]
    #[must_use]
    pub const fn backlog_bytes(&self) -> u64 {
        self.account.backlog_bytes()
    }

    /// Packets that wait in a lane.
    #[inline]
    #[must_use]
    pub const fn waiting_packets(&self) -> u32 {
        self.account.waiting_packets
    }

    /// Bytes that wait in a lane.
    #[inline]
    #[must_use]
    pub const fn waiting_bytes(&self) -> u64 {
        self.account.waiting_bytes
    }

    /// Packets that the layer below holds.
    #[inline]
    #[must_use]
    pub const fn reserved_packets(&self) -> u32 {
        self.account.reserved_packets
    }

    /// Bytes that the layer below holds.
    #[inline]
    #[must_use]
    pub const fn reserved_bytes(&self) -> u64 {
        self.account.reserved_bytes
    }

    /// True if no packet waits and none is reserved.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.backlog_packets() == 0
    }

    /// The greatest amount that the queue may hold.
    #[must_use]
    pub const fn limit(&self) -> Limit {
        self.account.limit
    }

    /// The layer that the queue belongs to.
    #[must_use]
    pub const fn layer(&self) -> Layer {
        self.account.layer
    }

    /// The fate of its packets.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.account.counters
    }

    /// Packets that the AQM has dropped or marked so far; none for a queue without AQM.
    #[must_use]
    pub fn aqm_signals(&self) -> Option<u64> {
        let counters = &self.account.counters;
        let drops = [DropReason::AqmEnqueue, DropReason::AqmDequeue, DropReason::AqmTimeout];
        let dropped: u64 = drops.map(|reason| counters.dropped(reason).packets).iter().sum();
        (!self.aqm.is_none()).then(|| counters.marked().packets + dropped)
    }

    /// The AQM, for its statistics.
    #[must_use]
    pub const fn aqm(&self) -> &AnyAqm {
        &self.aqm
    }

    /// The needs of its AQM.
    #[must_use]
    pub fn needs(&self) -> Needs {
        self.aqm.needs()
    }

    /// Sets the rate at which the layer below serves this queue, for its AQM from now on; none if
    /// unknown.
    #[inline]
    pub fn set_service_rate(&mut self, rate: Option<BitRate>) {
        self.account.kept().service_rate = rate;
    }

    /// The layer below reports at `at` that `left` has left it, and that it has `below` bytes.
    pub fn report_delivery(&mut self, at: Instant, left: Count, below: u64) {
        let standing = below + self.account.backlog_bytes();
        self.aqm.on_report(at, &DeliveryReport { left, standing });
    }

    /// The rate at which the layer below serves this queue; none if it has not reported one.
    #[must_use]
    pub fn service_rate(&self) -> Option<BitRate> {
        self.account.memory.as_ref()?.service_rate
    }

    /// True if arrived + held = departed + dropped + waiting + reserved, in packets and in bytes,
    /// and the lanes hold as many packets as are counted as waiting.
    #[must_use]
    pub fn is_conserved(&self) -> bool {
        let account = &self.account;
        let mut sum =
            Count { packets: u64::from(account.backlog_packets()), bytes: account.backlog_bytes() };
        sum += account.counters.departed;
        sum += account.counters.dropped_total();
        let mut arrived = account.counters.arrived;
        arrived += account.held();
        sum == arrived && self.discipline.len() == account.waiting_packets as usize
    }

    /// The queue's counts in words if [`Self::is_conserved`] is false; for the end of a run.
    #[must_use]
    pub fn broken_conservation(&self) -> Option<String> {
        let (account, places) = (&self.account, self.discipline.len());
        let name = account.layer.name();
        (!self.is_conserved())
            .then(|| format!("{name} queue: waiting packets in {places} places, {account:?}"))
    }

    /// Fails the run unless [`Self::is_conserved`].
    ///
    /// # Panics
    /// If a packet was lost or duplicated.
    pub fn assert_conserved(&self) {
        let broken = self.broken_conservation();
        assert!(broken.is_none(), "{}", broken.unwrap_or_default());
    }
}
