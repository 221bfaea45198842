//! The gate of one UE.

use crate::hooks::{Below, Drops, jf_rlc};
use crate::object::{self, Body};
use crate::packet::*;
use crate::settings::{GateSettings, Places};
use crate::status::jf_status::{self, *};
use crate::text::{self, Note, jf_message};
use justfull_base::{ConfigError, Instant};
use justfull_ran::config::MAX_DRBS;
use justfull_ran::gate::{Gate, GateError};
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

/// The queues of one UE above its RLC: a queue for each QoS flow, the scheduler among them, a
/// limiter for each bearer and a pacer for each queue.
pub struct jf_gate {
    _opaque: [u8; 0],
}

/// The result of a poll.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_polled {
    /// Packets that left for the RLC.
    pub moved: u32,
    /// Queues whose first packet a limiter held back.
    pub held: u32,
}

struct Gated {
    gate: Gate,
    below: Below,
    drops: Drops,
    places: Places,
    /// Time of the last report of each bearer.
    pulled: [u64; MAX_DRBS as usize],
}

impl Body for Gated {
    type Handle = jf_gate;
    const MARK: u64 = u64::from_be_bytes(*b"jf gate1");
}

impl From<GateError> for jf_status {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Flow { .. } => JF_ERROR_FLOW,
            GateError::Bearer { .. } => JF_ERROR_BEARER,
            GateError::Size { .. } => JF_ERROR_SIZE,
        }
    }
}

fn make(settings: &GateSettings, below: Below, drops: Drops) -> Result<Gated, ConfigError> {
    let (gate, places) = settings.build()?;
    Ok(Gated { gate, below, drops, places, pulled: [0; MAX_DRBS as usize] })
}

/// The settings, or why there are none.
fn read(
    text: *const c_char,
    length: usize,
    message: Option<&mut jf_message>,
) -> Result<GateSettings, jf_status> {
    text::parsed(text, length, &mut Note::new(message))
}

/// Writes to `size` how many bytes a gate with these settings needs (`settings_length` bytes of
/// TOML at `settings`). An error goes to `message`, which may be NULL.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_size(
    settings: *const c_char,
    settings_length: usize,
    size: Option<&mut usize>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => {
            let drops = Drops::new(std::ptr::null_mut(), None);
            object::size(size, message, || make(&settings, Below::NONE, drops))
        }
        Err(error) => error,
    }
}

/// Makes a gate in the `memory_size` bytes at `memory`, a multiple of JF_ALIGN, and writes its
/// handle to `gate`. The memory stays the caller's; jf_gate_destroy ends its use.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type. The functions of `rlc` may be called with
/// its context until the gate is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_init(
    memory: Option<NonNull<c_void>>,
    memory_size: usize,
    settings: *const c_char,
    settings_length: usize,
    rlc: Option<&jf_rlc>,
    gate: Option<&mut Option<NonNull<jf_gate>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    let Some((below, drops)) = rlc.and_then(functions) else { return JF_ERROR_NULL };
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => object::init(memory.map(NonNull::cast), memory_size, gate, message, || {
            make(&settings, below, drops)
        }),
        Err(error) => error,
    }
}

/// Makes a gate in memory from the heap, in one block, and writes its handle to `gate`.
///
/// # Safety
/// As for jf_gate_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_create(
    settings: *const c_char,
    settings_length: usize,
    rlc: Option<&jf_rlc>,
    gate: Option<&mut Option<NonNull<jf_gate>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    let Some((below, drops)) = rlc.and_then(functions) else { return JF_ERROR_NULL };
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => object::create(gate, message, || make(&settings, below, drops)),
        Err(error) => error,
    }
}

fn functions(rlc: &jf_rlc) -> Option<(Below, Drops)> {
    Some((Below::of(rlc)?, Drops::new(rlc.context, rlc.dropped)))
}

/// Ends `gate`; NULL is allowed. Waiting packets are lost: drain it before.
///
/// # Safety
/// `gate` is NULL or a handle of this library whose memory is still there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_destroy(gate: Option<NonNull<jf_gate>>) -> jf_status {
    object::destroy::<Gated>(gate)
}

/// A packet of QoS flow `flow`, counted from 0 in the order of the settings, arrives at `now` (ns)
/// and waits for jf_gate_poll. JF_DROPPED if its queue or AQM dropped it; `dropped` is called too.
/// Other waiting packets may be dropped in its place.
///
/// # Safety
/// As for jf_gate_destroy; `packet` is NULL or points at a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_offer(
    gate: Option<NonNull<jf_gate>>,
    now: u64,
    flow: u32,
    packet: Option<&jf_packet>,
) -> jf_status {
    object::call_at::<Gated>(gate, now, |body, now| {
        let mut packet = packet.ok_or(JF_ERROR_NULL)?.get()?;
        packet.entered = now;
        let Gated { gate, drops, places, .. } = body;
        if places.may_lack(flow) {
            let queue = gate.queue(flow as usize).ok_or(JF_ERROR_FLOW)?;
            if places.are_taken(flow, queue) {
                return Ok(full(drops, now, &packet));
            }
        }
        let taken = gate.offer(now, flow as usize, packet, drops)?;
        Ok(if taken { JF_OK } else { JF_DROPPED })
    })
}

/// There is no place for `packet`.
#[cold]
fn full(drops: &mut Drops, now: Instant, packet: &justfull_base::Packet) -> jf_status {
    drops.tell(now, packet, JF_DROP_CAPACITY);
    JF_DROPPED
}

/// Lets packets that wait enter the RLC at `now`, up to the batch of a poll. `polled` may be NULL.
///
/// # Safety
/// As for jf_gate_destroy; `polled` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_poll(
    gate: Option<NonNull<jf_gate>>,
    now: u64,
    polled: Option<&mut jf_polled>,
) -> jf_status {
    object::call_at::<Gated>(gate, now, |body, now| {
        let Gated { gate, below, drops, .. } = body;
        let done = gate.poll(now, below, drops);
        if let Some(polled) = polled {
            *polled = jf_polled { moved: done.moved, held: done.held };
        }
        Ok(JF_OK)
    })
}

/// `sdu` enters the RLC of bearer `drb` at `now` past queues, scheduler, AQM and limiter: for SDUs
/// that PDCP sends again. The limiter counts it. JF_DROPPED if the RLC has not taken it.
///
/// # Safety
/// As for jf_gate_destroy; `sdu` is NULL or points at a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_bypass(
    gate: Option<NonNull<jf_gate>>,
    now: u64,
    drb: u8,
    sdu: Option<&jf_packet>,
) -> jf_status {
    object::call_at::<Gated>(gate, now, |body, now| {
        let sdu = sdu.ok_or(JF_ERROR_NULL)?.get()?;
        let Gated { gate, below, drops, .. } = body;
        let taken = gate.bypass(now, drb, &sdu, below, drops)?;
        Ok(if taken { JF_OK } else { JF_DROPPED })
    })
}

/// A slot that served bearer `drb` has ended. Limiters need a report of each slot in which the
/// bearer had something to send, and of the last slot before a poll.
///
/// # Safety
/// As for jf_gate_destroy; `slot` is NULL or points at a report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_on_slot(
    gate: Option<NonNull<jf_gate>>,
    drb: u8,
    slot: Option<&jf_slot>,
) -> jf_status {
    object::call::<Gated>(gate, |body| {
        let Gated { gate, pulled, .. } = body;
        let last = pulled.get_mut(usize::from(drb)).ok_or(JF_ERROR_BEARER)?;
        let report = slot.ok_or(JF_ERROR_NULL)?.get(last)?;
        gate.on_slot(drb, &report)?;
        Ok(JF_OK)
    })
}

/// The last byte of an SDU of bearer `drb` left for the radio at `now`, `sojourn` ns after it had
/// entered the RLC.
///
/// # Safety
/// As for jf_gate_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_on_departed(
    gate: Option<NonNull<jf_gate>>,
    now: u64,
    drb: u8,
    sojourn: u64,
) -> jf_status {
    object::call_at::<Gated>(gate, now, |body, now| {
        body.gate.on_departed(now, drb, duration(sojourn)?)?;
        Ok(JF_OK)
    })
}

/// Writes to `room` how much more the queue of `flow` should take from above at `now`, in the unit
/// of the settings; UINT64_MAX without a pacer. More is taken all the same.
///
/// # Safety
/// As for jf_gate_destroy; `room` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_room(
    gate: Option<NonNull<jf_gate>>,
    now: u64,
    flow: u32,
    room: Option<&mut u64>,
) -> jf_status {
    object::call_at::<Gated>(gate, now, |body, now| {
        let room = room.ok_or(JF_ERROR_NULL)?;
        let free = body.gate.room(now, flow as usize)?;
        *room = if free > JF_AMOUNT_MAX { u64::MAX } else { free };
        Ok(JF_OK)
    })
}

/// Writes to `at` the time at which jf_gate_on_timeout must be called, in ns; UINT64_MAX for never.
///
/// # Safety
/// As for jf_gate_destroy; `at` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_next_timeout(
    gate: Option<NonNull<jf_gate>>,
    at: Option<&mut u64>,
) -> jf_status {
    object::call::<Gated>(gate, |body| {
        *at.ok_or(JF_ERROR_NULL)? = body.gate.next_timeout().as_nanos();
        Ok(JF_OK)
    })
}

/// Runs the timeouts of AQMs that are due at `now`.
///
/// # Safety
/// As for jf_gate_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_on_timeout(gate: Option<NonNull<jf_gate>>, now: u64) -> jf_status {
    object::call_at::<Gated>(gate, now, |body, now| {
        body.gate.on_timeout(now, &mut body.drops);
        Ok(JF_OK)
    })
}

/// Writes to `paces` 1 if a limiter opens with time alone: then poll several times a slot, though
/// nothing has happened. Else 0.
///
/// # Safety
/// As for jf_gate_destroy; `paces` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_paces(
    gate: Option<NonNull<jf_gate>>,
    paces: Option<&mut u8>,
) -> jf_status {
    object::call::<Gated>(gate, |body| {
        *paces.ok_or(JF_ERROR_NULL)? = u8::from(body.gate.paces());
        Ok(JF_OK)
    })
}

/// Writes the fates of the packets of `flow` to `counts`.
///
/// # Safety
/// As for jf_gate_destroy; `counts` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_counts(
    gate: Option<NonNull<jf_gate>>,
    flow: u32,
    counts: Option<&mut jf_counts>,
) -> jf_status {
    object::call::<Gated>(gate, |body| {
        let counts = counts.ok_or(JF_ERROR_NULL)?;
        *counts = jf_counts::of(body.gate.queue(flow as usize).ok_or(JF_ERROR_FLOW)?);
        Ok(JF_OK)
    })
}

/// Gives all packets that wait back to `dropped`, with JF_DROP_DRAINED: the UE leaves.
///
/// # Safety
/// As for jf_gate_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_gate_drain(gate: Option<NonNull<jf_gate>>, now: u64) -> jf_status {
    object::call_at::<Gated>(gate, now, |body, now| {
        let Gated { gate, drops, .. } = body;
        gate.drain(now, drops, |drops, packet| drops.tell(now, packet, JF_DROP_DRAINED));
        Ok(JF_OK)
    })
}
