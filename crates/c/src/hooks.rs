//! The caller's functions.

use crate::packet::{jf_packet, jf_view, reason};
use justfull_base::{Event, Instant, Packet, Probe};
use justfull_ran::gate::Rlc;
use justfull_ran::limiter::RlcView;
use std::ffi::c_void;

/// Called for each packet that an object drops or, drained, gives back: the caller frees its
/// content. `reason` is one of JF_DROP_...
pub type jf_dropped = Option<
    unsafe extern "C" fn(context: *mut c_void, now: u64, packet: *const jf_packet, reason: u8),
>;

/// The caller's RLC. Its functions must return: no exception and no longjmp. A call of the same
/// object from within them is refused with JF_ERROR_BUSY.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct jf_rlc {
    /// Passed to each function, unread.
    pub context: *mut c_void,
    /// Writes the data that bearer `drb` has not sent yet. Must not be NULL.
    pub view: Option<unsafe extern "C" fn(context: *mut c_void, drb: u8, view: *mut jf_view)>,
    /// Bearer `drb` takes `sdu`, whose `ecn` is JF_CE where it was marked. False if there is no
    /// room: the caller has dropped it. Must not be NULL.
    pub enqueue: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            now: u64,
            drb: u8,
            sdu: *const jf_packet,
        ) -> bool,
    >,
    /// See jf_dropped. May be NULL.
    pub dropped: jf_dropped,
}

/// The functions of a gate, none of them missing.
#[derive(Clone, Copy)]
pub(crate) struct Below {
    context: *mut c_void,
    view: unsafe extern "C" fn(*mut c_void, u8, *mut jf_view),
    enqueue: unsafe extern "C" fn(*mut c_void, u64, u8, *const jf_packet) -> bool,
}

impl Below {
    /// An RLC that holds nothing and takes nothing, for a gate that is only measured.
    pub(crate) const NONE: Self =
        Self { context: std::ptr::null_mut(), view: no_view, enqueue: no_room };

    pub(crate) fn of(rlc: &jf_rlc) -> Option<Self> {
        Some(Self { context: rlc.context, view: rlc.view?, enqueue: rlc.enqueue? })
    }
}

unsafe extern "C" fn no_view(_: *mut c_void, _: u8, _: *mut jf_view) {}

unsafe extern "C" fn no_room(_: *mut c_void, _: u64, _: u8, _: *const jf_packet) -> bool {
    false
}

impl Rlc for Below {
    #[inline]
    fn view(&self, drb: u8) -> RlcView {
        let mut view = jf_view::default();
        // SAFETY: the contract of `jf_rlc`: the function may be called with its context and a
        // place for a view.
        unsafe { (self.view)(self.context, drb, &raw mut view) };
        view.clamped()
    }

    #[inline]
    fn enqueue<P: Probe>(&mut self, now: Instant, drb: u8, sdu: &Packet, _: &mut P) -> bool {
        let sdu = jf_packet::of(sdu);
        // SAFETY: the contract of `jf_rlc`: the function may be called with its context and a
        // packet that is there during the call.
        unsafe { (self.enqueue)(self.context, now.as_nanos(), drb, &raw const sdu) }
    }
}

/// The caller's function for dropped packets.
#[derive(Clone, Copy)]
pub(crate) struct Drops {
    context: *mut c_void,
    dropped: jf_dropped,
}

impl Drops {
    pub(crate) const fn new(context: *mut c_void, dropped: jf_dropped) -> Self {
        Self { context, dropped }
    }

    #[cold]
    pub(crate) fn tell(&mut self, now: Instant, packet: &Packet, reason: u8) {
        let Some(dropped) = self.dropped else { return };
        let packet = jf_packet::of(packet);
        // SAFETY: the contract of `jf_dropped`: the function may be called with its context and a
        // packet that is there during the call.
        unsafe { dropped(self.context, now.as_nanos(), &raw const packet, reason) };
    }
}

impl Probe for Drops {
    #[inline(always)]
    fn on_event(&mut self, now: Instant, event: &Event) {
        if let Event::Dropped { packet, reason: why, .. } = event {
            self.tell(now, packet, reason(*why));
        }
    }
}
