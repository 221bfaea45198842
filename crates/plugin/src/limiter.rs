//! A limiter whose functions are a plugin's.

use crate::abi::{
    JF_PLUGIN_BYTES, JF_PLUGIN_MOST, JF_PLUGIN_NO_LIMIT, JF_PLUGIN_PACKETS, jf_plugin_grants,
    jf_plugin_queue, jf_plugin_slot,
};
use crate::library::Table;
use justfull_base::{Duration, Instant, SlotReport};
use justfull_ran::limiter::{CapacityUnit, GrantContext, Limiter, RlcView};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An object of a plugin, for one bearer.
pub(crate) struct Called {
    table: Table,
    own: NonNull<c_void>,
    unit: CapacityUnit,
    odd: Arc<AtomicU64>,
}

// SAFETY: the header's contract: an object may be used by any thread, by one at a time.
unsafe impl Send for Called {}

impl Called {
    /// A limiter by `table` for a bearer, with `values` for the settings; none if the plugin
    /// refuses. Rooms that are too large are counted in `odd`.
    pub(crate) fn new(
        table: Table,
        context: &GrantContext,
        values: &[f64],
        odd: Arc<AtomicU64>,
    ) -> Option<Self> {
        let unit = match context.unit {
            CapacityUnit::Packets => JF_PLUGIN_PACKETS,
            CapacityUnit::Bytes => JF_PLUGIN_BYTES,
        };
        let grants = jf_plugin_grants { slot: context.slot.as_nanos(), mtu: context.mtu, unit };
        // SAFETY: a function of a loaded library with valid arguments: a value for each setting.
        let own = NonNull::new(unsafe { (table.create)(&raw const grants, values.as_ptr()) })?;
        Some(Self { table, own, unit: context.unit, odd })
    }

    fn queue(&self, view: &RlcView) -> jf_plugin_queue {
        let &RlcView { packets, bytes } = view;
        jf_plugin_queue { packets, bytes, backlog: view.backlog(self.unit) }
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        // SAFETY: the object is the plugin's and ends once.
        unsafe { (self.table.destroy)(self.own.as_ptr()) }
    }
}

impl Limiter for Called {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }

    fn room(&mut self, now: Instant, queue: &RlcView) -> u64 {
        let queue = self.queue(queue);
        // SAFETY: a function of a loaded library with its object and a valid argument.
        let room =
            unsafe { (self.table.room)(self.own.as_ptr(), now.as_nanos(), &raw const queue) };
        if room > JF_PLUGIN_MOST && room != JF_PLUGIN_NO_LIMIT {
            self.odd.fetch_add(1, Ordering::Relaxed);
            return JF_PLUGIN_NO_LIMIT;
        }
        room
    }

    fn overdraws(&self) -> bool {
        self.table.overdraws
    }

    fn on_admitted(&mut self, now: Instant, amount: u64, queue: &RlcView) {
        let Some(call) = self.table.optional.on_admitted else { return };
        let queue = self.queue(queue);
        // SAFETY: as in `room`.
        unsafe { call(self.own.as_ptr(), now.as_nanos(), amount, &raw const queue) }
    }

    fn on_departed(&mut self, now: Instant, sojourn: Duration) {
        let Some(call) = self.table.optional.on_departed else { return };
        // SAFETY: as in `room`.
        unsafe { call(self.own.as_ptr(), now.as_nanos(), sojourn.as_nanos()) }
    }

    fn on_slot(&mut self, report: &SlotReport) {
        let Some(call) = self.table.optional.on_slot else { return };
        let slot = jf_plugin_slot {
            pulled_at: report.pulled_at.as_nanos(),
            slot: report.slot.as_nanos(),
            granted: report.granted,
            used: report.used,
            remaining: report.remaining,
            capacity: report.capacity,
            starved: report.starved.into(),
        };
        // SAFETY: as in `room`.
        unsafe { call(self.own.as_ptr(), &raw const slot) }
    }

    fn wants_reports(&self) -> bool {
        self.table.optional.on_slot.is_some()
    }

    fn paces(&self) -> bool {
        self.table.paces
    }
}
