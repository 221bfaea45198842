//! A pacer alone: how much the queue above the RLC should hold.

use crate::limiter::jf_grants;
use crate::object::{self, Body};
use crate::packet::*;
use crate::status::jf_status::{self, *};
use crate::text::{self, Note, jf_message};
use justfull_base::ConfigError;
use justfull_base::error::ensure;
use justfull_ran::pacer::{AnyPacer, Pacer, PacerConfig, SdapPoll};
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

/// The pacer of one queue.
pub struct jf_pacer {
    _opaque: [u8; 0],
}

/// The effect of a poll on the queue. Amounts are in the unit of the grants.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_poll {
    /// Moved to the RLC by this poll.
    pub moved: u64,
    /// Left in the queue.
    pub backlog: u64,
    /// The room of the RLC after it; UINT64_MAX without a limit.
    pub room: u64,
}

struct Paced {
    pacer: AnyPacer,
}

impl Body for Paced {
    type Handle = jf_pacer;
    const MARK: u64 = u64::from_be_bytes(*b"jf pacer");
}

fn make(config: &PacerConfig, grants: jf_grants) -> Result<Paced, ConfigError> {
    ensure(
        !config.foresees(),
        "kind",
        &config.name(),
        "a pacer that uses polls",
        "this library has no coming grants",
    )?;
    Ok(Paced { pacer: AnyPacer::new(config, &grants.get()?)? })
}

fn read(
    text: *const c_char,
    length: usize,
    message: Option<&mut jf_message>,
) -> Result<PacerConfig, jf_status> {
    text::parsed(text, length, &mut Note::new(message))
}

/// Writes to `size` how many bytes a pacer with these settings needs.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_pacer_size(
    settings: *const c_char,
    settings_length: usize,
    grants: Option<&jf_grants>,
    size: Option<&mut usize>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    let Some(&grants) = grants else { return JF_ERROR_NULL };
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(config) => object::size(size, message, || make(&config, grants)),
        Err(error) => error,
    }
}

/// Makes a pacer in the caller's memory, as jf_gate_init does.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_pacer_init(
    memory: Option<NonNull<c_void>>,
    memory_size: usize,
    settings: *const c_char,
    settings_length: usize,
    grants: Option<&jf_grants>,
    pacer: Option<&mut Option<NonNull<jf_pacer>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    let Some(&grants) = grants else { return JF_ERROR_NULL };
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(config) => object::init(memory.map(NonNull::cast), memory_size, pacer, message, || {
            make(&config, grants)
        }),
        Err(error) => error,
    }
}

/// Makes a pacer in memory from the heap, in one block.
///
/// # Safety
/// As for jf_pacer_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_pacer_create(
    settings: *const c_char,
    settings_length: usize,
    grants: Option<&jf_grants>,
    pacer: Option<&mut Option<NonNull<jf_pacer>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    let Some(&grants) = grants else { return JF_ERROR_NULL };
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(config) => object::create(pacer, message, || make(&config, grants)),
        Err(error) => error,
    }
}

/// Ends `pacer`; NULL is allowed.
///
/// # Safety
/// `pacer` is NULL or a handle of this library whose memory is still there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_pacer_destroy(pacer: Option<NonNull<jf_pacer>>) -> jf_status {
    object::destroy::<Paced>(pacer)
}

/// Writes to `occupancy` the backlog that the queue should have at `now` (ns); UINT64_MAX without a
/// limit. Call it once before the packets of an instant.
///
/// # Safety
/// As for jf_pacer_destroy; `occupancy` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_pacer_occupancy(
    pacer: Option<NonNull<jf_pacer>>,
    now: u64,
    occupancy: Option<&mut u64>,
) -> jf_status {
    object::call_at::<Paced>(pacer, now, |body, now| {
        *occupancy.ok_or(JF_ERROR_NULL)? = body.pacer.occupancy(now);
        Ok(JF_OK)
    })
}

/// Packets of `entered` in all entered the queue.
///
/// # Safety
/// As for jf_pacer_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_pacer_on_enqueued(
    pacer: Option<NonNull<jf_pacer>>,
    entered: u64,
) -> jf_status {
    object::call::<Paced>(pacer, |body| {
        body.pacer.on_enqueued(amount(entered)?);
        Ok(JF_OK)
    })
}

/// A poll of the queue that holds or held something has ended.
///
/// # Safety
/// As for jf_pacer_destroy; `poll` is NULL or points at a report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_pacer_on_poll(
    pacer: Option<NonNull<jf_pacer>>,
    now: u64,
    poll: Option<&jf_poll>,
) -> jf_status {
    object::call_at::<Paced>(pacer, now, |body, now| {
        let poll = poll.ok_or(JF_ERROR_NULL)?;
        let room = if poll.room == u64::MAX { u64::MAX } else { amount(poll.room)? };
        let (moved, backlog) = (amount(poll.moved)?, amount(poll.backlog)?);
        body.pacer.on_poll(now, &SdapPoll { moved, backlog, room });
        Ok(JF_OK)
    })
}
