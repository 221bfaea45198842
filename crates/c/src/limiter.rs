//! A limiter alone, and the facts about grants that limiters and pacers need.

use crate::object::{self, Body};
use crate::packet::*;
use crate::status::jf_status::{self, *};
use crate::text::{self, Note, jf_message};
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration};
use justfull_ran::channel::MAX_SLOT;
use justfull_ran::limiter::{AnyLimiter, CapacityUnit, GrantContext, Limiter, LimiterConfig};
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

/// `unit`: amounts are packets.
pub const JF_PACKETS: u8 = 0;
/// `unit`: amounts are bytes.
pub const JF_BYTES: u8 = 1;

/// The grants below a limiter or a pacer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_grants {
    /// Length of a slot in ns, 1 to 10^9.
    pub slot: u64,
    /// Largest packet in bytes, 68 to 65535.
    pub mtu: u32,
    /// JF_PACKETS or JF_BYTES.
    pub unit: u8,
    /// 0.
    pub reserved: [u8; 3],
}

impl jf_grants {
    pub(crate) fn get(self) -> Result<GrantContext, ConfigError> {
        let (slot, mtu) = (Duration::from_nanos(self.slot), self.mtu);
        let in_bounds = !slot.is_zero() && slot <= MAX_SLOT;
        ensure(in_bounds, "slot", &slot, "above 0s, at most 1s", "a slot has a length")?;
        ensure((68..=65_535).contains(&mtu), "mtu", &mtu, "68 to 65535", "RFC 791 section 3.2")?;
        ensure(
            self.unit <= JF_BYTES,
            "unit",
            &self.unit,
            "JF_PACKETS or JF_BYTES",
            "amounts have a unit",
        )?;
        let unit =
            if self.unit == JF_PACKETS { CapacityUnit::Packets } else { CapacityUnit::Bytes };
        Ok(GrantContext { unit, slot, mtu })
    }
}

/// The limiter of one bearer: how much more may enter its RLC.
pub struct jf_limiter {
    _opaque: [u8; 0],
}

struct Limited {
    limiter: AnyLimiter,
    pulled: u64,
}

impl Body for Limited {
    type Handle = jf_limiter;
    const MARK: u64 = u64::from_be_bytes(*b"jf limit");
}

fn make(config: &LimiterConfig, grants: jf_grants) -> Result<Limited, ConfigError> {
    ensure(
        !config.foresees(),
        "kind",
        &config.name(),
        "a limiter that uses reports of slots",
        "this library has no coming grants",
    )?;
    Ok(Limited { limiter: AnyLimiter::new(config, &grants.get()?)?, pulled: 0 })
}

fn read(
    text: *const c_char,
    length: usize,
    message: Option<&mut jf_message>,
) -> Result<LimiterConfig, jf_status> {
    text::parsed(text, length, &mut Note::new(message))
}

/// Writes to `size` how many bytes a limiter with these settings needs.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_limiter_size(
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

/// Makes a limiter in the caller's memory, as jf_gate_init does.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_limiter_init(
    memory: Option<NonNull<c_void>>,
    memory_size: usize,
    settings: *const c_char,
    settings_length: usize,
    grants: Option<&jf_grants>,
    limiter: Option<&mut Option<NonNull<jf_limiter>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    let Some(&grants) = grants else { return JF_ERROR_NULL };
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(config) => {
            object::init(memory.map(NonNull::cast), memory_size, limiter, message, || {
                make(&config, grants)
            })
        }
        Err(error) => error,
    }
}

/// Makes a limiter in memory from the heap, in one block.
///
/// # Safety
/// As for jf_limiter_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_limiter_create(
    settings: *const c_char,
    settings_length: usize,
    grants: Option<&jf_grants>,
    limiter: Option<&mut Option<NonNull<jf_limiter>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    let Some(&grants) = grants else { return JF_ERROR_NULL };
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(config) => object::create(limiter, message, || make(&config, grants)),
        Err(error) => error,
    }
}

/// Ends `limiter`; NULL is allowed.
///
/// # Safety
/// `limiter` is NULL or a handle of this library whose memory is still there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_limiter_destroy(limiter: Option<NonNull<jf_limiter>>) -> jf_status {
    object::destroy::<Limited>(limiter)
}

/// Writes to `room` how much more may enter at `now` (ns) an RLC that holds `view`; UINT64_MAX
/// without a limit.
///
/// # Safety
/// As for jf_limiter_destroy; the other pointers are NULL or point to values of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_limiter_room(
    limiter: Option<NonNull<jf_limiter>>,
    now: u64,
    view: Option<&jf_view>,
    room: Option<&mut u64>,
) -> jf_status {
    object::call_at::<Limited>(limiter, now, |body, now| {
        let view = view.ok_or(JF_ERROR_NULL)?.get()?;
        *room.ok_or(JF_ERROR_NULL)? = body.limiter.room(now, &view);
        Ok(JF_OK)
    })
}

/// Writes to `overdraws` 1 if an SDU larger than the room may enter as long as there is any room,
/// else 0.
///
/// # Safety
/// As for jf_limiter_destroy; `overdraws` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_limiter_overdraws(
    limiter: Option<NonNull<jf_limiter>>,
    overdraws: Option<&mut u8>,
) -> jf_status {
    object::call::<Limited>(limiter, |body| {
        *overdraws.ok_or(JF_ERROR_NULL)? = u8::from(body.limiter.overdraws());
        Ok(JF_OK)
    })
}

/// An SDU of `used` (1 in packets, its bytes in bytes) entered the RLC, which holds `view` with it.
///
/// # Safety
/// As for jf_limiter_destroy; `view` is NULL or points at a view.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_limiter_on_admitted(
    limiter: Option<NonNull<jf_limiter>>,
    now: u64,
    used: u64,
    view: Option<&jf_view>,
) -> jf_status {
    object::call_at::<Limited>(limiter, now, |body, now| {
        let view = view.ok_or(JF_ERROR_NULL)?.get()?;
        body.limiter.on_admitted(now, amount(used)?, &view);
        Ok(JF_OK)
    })
}

/// The last byte of an SDU left for the radio at `now`, `sojourn` ns after it had entered the RLC.
///
/// # Safety
/// As for jf_limiter_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_limiter_on_departed(
    limiter: Option<NonNull<jf_limiter>>,
    now: u64,
    sojourn: u64,
) -> jf_status {
    object::call_at::<Limited>(limiter, now, |body, now| {
        body.limiter.on_departed(now, duration(sojourn)?);
        Ok(JF_OK)
    })
}

/// A slot that served the bearer has ended.
///
/// # Safety
/// As for jf_limiter_destroy; `slot` is NULL or points at a report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_limiter_on_slot(
    limiter: Option<NonNull<jf_limiter>>,
    slot: Option<&jf_slot>,
) -> jf_status {
    object::call::<Limited>(limiter, |body| {
        let report = slot.ok_or(JF_ERROR_NULL)?.get(&mut body.pulled)?;
        body.limiter.on_slot(&report);
        Ok(JF_OK)
    })
}
