//! A queue with its AQM and its lanes.

use crate::hooks::{Drops, jf_dropped};
use crate::object::{self, Body};
use crate::packet::*;
use crate::settings::{Places, QueueSettings};
use crate::status::jf_status::{self, *};
use crate::text::{self, Note, jf_message};
use justfull_base::{BitRate, ConfigError};
use justfull_queue::ManagedQueue;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// A queue: a limit, an AQM and a discipline (`fifo`, or lanes).
pub struct jf_queue {
    _opaque: [u8; 0],
}

struct Queue {
    queue: ManagedQueue,
    drops: Drops,
    places: Places,
}

impl Body for Queue {
    type Handle = jf_queue;
    const MARK: u64 = u64::from_be_bytes(*b"jf queue");
}

fn make(settings: &QueueSettings, drops: Drops) -> Result<Queue, ConfigError> {
    let (queue, places) = settings.build()?;
    Ok(Queue { queue, drops, places })
}

fn read(
    text: *const c_char,
    length: usize,
    message: Option<&mut jf_message>,
) -> Result<QueueSettings, jf_status> {
    text::parsed(text, length, &mut Note::new(message))
}

/// Writes to `size` how many bytes a queue with these settings needs.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_size(
    settings: *const c_char,
    settings_length: usize,
    size: Option<&mut usize>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => {
            let drops = Drops::new(std::ptr::null_mut(), None);
            object::size(size, message, || make(&settings, drops))
        }
        Err(error) => error,
    }
}

/// Makes a queue in the caller's memory, as jf_gate_init does. `dropped` may be NULL.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type. `dropped` may be called with `context`
/// until the queue is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_init(
    memory: Option<NonNull<c_void>>,
    memory_size: usize,
    settings: *const c_char,
    settings_length: usize,
    context: *mut c_void,
    dropped: jf_dropped,
    queue: Option<&mut Option<NonNull<jf_queue>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    let drops = Drops::new(context, dropped);
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => {
            object::init(memory.map(NonNull::cast), memory_size, queue, message, || {
                make(&settings, drops)
            })
        }
        Err(error) => error,
    }
}

/// Makes a queue in memory from the heap, in one block.
///
/// # Safety
/// As for jf_queue_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_create(
    settings: *const c_char,
    settings_length: usize,
    context: *mut c_void,
    dropped: jf_dropped,
    queue: Option<&mut Option<NonNull<jf_queue>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    let drops = Drops::new(context, dropped);
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => object::create(queue, message, || make(&settings, drops)),
        Err(error) => error,
    }
}

/// Ends `queue`; NULL is allowed. Waiting packets are lost.
///
/// # Safety
/// `queue` is NULL or a handle of this library whose memory is still there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_destroy(queue: Option<NonNull<jf_queue>>) -> jf_status {
    object::destroy::<Queue>(queue)
}

/// Offers `packet`, of 1 to JF_PACKET_MAX bytes, at `now` (ns). JF_DROPPED if it is dropped.
///
/// # Safety
/// As for jf_queue_destroy; `packet` is NULL or points at a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_enqueue(
    queue: Option<NonNull<jf_queue>>,
    now: u64,
    packet: Option<&jf_packet>,
) -> jf_status {
    object::call_at::<Queue>(queue, now, |body, now| {
        let mut packet = packet.ok_or(JF_ERROR_NULL)?.get()?;
        if !(1..=JF_PACKET_MAX).contains(&packet.size) {
            return Err(JF_ERROR_SIZE);
        }
        let Queue { queue, drops, places } = body;
        if places.are_taken(0, queue) {
            drops.tell(now, &packet, JF_DROP_CAPACITY);
            return Ok(JF_DROPPED);
        }
        let taken = queue.enqueue_from(now, &mut packet, drops);
        Ok(if taken { JF_OK } else { JF_DROPPED })
    })
}

/// Takes the next packet that the AQM passes. JF_EMPTY without one; `packet` is then not written.
///
/// # Safety
/// As for jf_queue_destroy; `packet` is NULL or points at a place for a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_dequeue(
    queue: Option<NonNull<jf_queue>>,
    now: u64,
    packet: Option<&mut MaybeUninit<jf_packet>>,
) -> jf_status {
    object::call_at::<Queue>(queue, now, |body, now| {
        let place = packet.ok_or(JF_ERROR_NULL)?;
        let Some(packet) = body.queue.dequeue(now, &mut body.drops) else { return Ok(JF_EMPTY) };
        place.write(jf_packet::of(&packet));
        Ok(JF_OK)
    })
}

/// Writes to `packet` the packet that would be served next, which the AQM may still drop. JF_EMPTY
/// without one.
///
/// # Safety
/// As for jf_queue_destroy; `packet` is NULL or points at a place for a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_peek(
    queue: Option<NonNull<jf_queue>>,
    packet: Option<&mut MaybeUninit<jf_packet>>,
) -> jf_status {
    object::call::<Queue>(queue, |body| {
        let place = packet.ok_or(JF_ERROR_NULL)?;
        let Some(packet) = body.queue.peek() else { return Ok(JF_EMPTY) };
        place.write(jf_packet::of(packet));
        Ok(JF_OK)
    })
}

/// JF_OK if a waiting packet should leave before the rest of `begun`, a packet of this queue that
/// is partly sent; JF_EMPTY without one. Steady lanes of the discipline `lanes` interrupt others.
///
/// # Safety
/// As for jf_queue_destroy; `begun` is NULL or points at a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_goes_before(
    queue: Option<NonNull<jf_queue>>,
    begun: Option<&jf_packet>,
) -> jf_status {
    object::call::<Queue>(queue, |body| {
        let begun = begun.ok_or(JF_ERROR_NULL)?.get()?;
        Ok(if body.queue.goes_before(&begun) { JF_OK } else { JF_EMPTY })
    })
}

/// The layer below serves the queue at `bits_per_second`: for AQMs that need it (`ared`, `pdpc`).
/// UINT64_MAX for unknown.
///
/// # Safety
/// As for jf_queue_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_set_rate(
    queue: Option<NonNull<jf_queue>>,
    bits_per_second: u64,
) -> jf_status {
    object::call::<Queue>(queue, |body| {
        let rate = match bits_per_second {
            u64::MAX => None,
            known => Some(BitRate(amount(known)?)),
        };
        if body.queue.needs().service_rate {
            body.queue.set_service_rate(rate);
        }
        Ok(JF_OK)
    })
}

/// Writes to `at` the time at which jf_queue_on_timeout must be called, in ns; UINT64_MAX for
/// never.
///
/// # Safety
/// As for jf_queue_destroy; `at` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_next_timeout(
    queue: Option<NonNull<jf_queue>>,
    at: Option<&mut u64>,
) -> jf_status {
    object::call::<Queue>(queue, |body| {
        *at.ok_or(JF_ERROR_NULL)? = or_never(body.queue.next_timeout());
        Ok(JF_OK)
    })
}

/// Runs the AQM's timeout if it is due at `now`.
///
/// # Safety
/// As for jf_queue_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_on_timeout(
    queue: Option<NonNull<jf_queue>>,
    now: u64,
) -> jf_status {
    object::call_at::<Queue>(queue, now, |body, now| {
        if body.queue.next_timeout().is_some_and(|due| due <= now) {
            body.queue.on_timeout(now, &mut body.drops);
        }
        Ok(JF_OK)
    })
}

/// Writes the fates of its packets to `counts`.
///
/// # Safety
/// As for jf_queue_destroy; `counts` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_queue_counts(
    queue: Option<NonNull<jf_queue>>,
    counts: Option<&mut jf_counts>,
) -> jf_status {
    object::call::<Queue>(queue, |body| {
        *counts.ok_or(JF_ERROR_NULL)? = jf_counts::of(&body.queue);
        Ok(JF_OK)
    })
}
