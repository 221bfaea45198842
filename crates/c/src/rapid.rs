//! RAPID's control of a proxy that splits TCP: from reports of the radio and samples of flows to
//! the windows of both legs.

mod records;

pub use records::*;

use crate::object::{self, Body};
use crate::packet::or_never;
use crate::settings::RapidSettings;
use crate::status::Answer;
use crate::status::jf_status::{self, *};
use crate::text::{self, Note, jf_message};
use justfull_base::ConfigError;
use justfull_rapid::{CellId, FlowId, PayloadControl, Refused, UeId};
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

/// The control of one proxy.
pub struct jf_rapid {
    _opaque: [u8; 0],
}

struct Rapid {
    control: PayloadControl<u64>,
    cells: Vec<CellId>,
}

impl Body for Rapid {
    type Handle = jf_rapid;
    const MARK: u64 = u64::from_be_bytes(*b"jf rapid");
}

fn refused(refused: Refused) -> jf_status {
    match refused {
        Refused::UnknownCell => JF_ERROR_CELL,
        Refused::UnknownUe => JF_ERROR_UE,
        Refused::UnknownFlow => JF_ERROR_FLOW,
        Refused::Full => JF_ERROR_FULL,
        Refused::Late => JF_ERROR_ORDER,
        Refused::Absurd(_) => JF_ERROR_RANGE,
    }
}

fn answer(done: Result<(), Refused>) -> Answer {
    done.map(|()| JF_OK).map_err(refused)
}

impl Rapid {
    fn cell(&self, number: u32) -> Result<CellId, jf_status> {
        self.cells.get(number as usize).copied().ok_or(JF_ERROR_CELL)
    }
}

fn make(settings: &RapidSettings) -> Result<Rapid, ConfigError> {
    let (control, cells) = settings.build()?;
    Ok(Rapid { control, cells })
}

fn read(
    text: *const c_char,
    length: usize,
    message: Option<&mut jf_message>,
) -> Result<RapidSettings, jf_status> {
    text::parsed(text, length, &mut Note::new(message))
}

/// Writes to `size` how many bytes a control with these settings needs.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_size(
    settings: *const c_char,
    settings_length: usize,
    size: Option<&mut usize>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => object::size(size, message, || make(&settings)),
        Err(error) => error,
    }
}

/// Makes a control in the caller's memory, as jf_gate_init does.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_init(
    memory: Option<NonNull<c_void>>,
    memory_size: usize,
    settings: *const c_char,
    settings_length: usize,
    rapid: Option<&mut Option<NonNull<jf_rapid>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => {
            object::init(memory.map(NonNull::cast), memory_size, rapid, message, || make(&settings))
        }
        Err(error) => error,
    }
}

/// Makes a control in memory from the heap, in one block.
///
/// # Safety
/// As for jf_rapid_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_create(
    settings: *const c_char,
    settings_length: usize,
    rapid: Option<&mut Option<NonNull<jf_rapid>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => object::create(rapid, message, || make(&settings)),
        Err(error) => error,
    }
}

/// Ends `rapid`; NULL is allowed.
///
/// # Safety
/// `rapid` is NULL or a handle of this library whose memory is still there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_destroy(rapid: Option<NonNull<jf_rapid>>) -> jf_status {
    object::destroy::<Rapid>(rapid)
}

/// A UE appears in the cell with number `cell`, from 0 on. Writes its handle, which is never 0, to
/// `ue`. JF_ERROR_FULL with as many UEs as the settings allow.
///
/// # Safety
/// As for jf_rapid_destroy; `ue` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_add_ue(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    cell: u32,
    ue: Option<&mut u64>,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        let (ue, cell) = (ue.ok_or(JF_ERROR_NULL)?, body.cell(cell)?);
        *ue = body.control.control.add_ue(now, cell).map_err(refused)?.to_u64();
        Ok(JF_OK)
    })
}

/// Closes the flows of `ue` and forgets it; its share of the cell becomes free.
///
/// # Safety
/// As for jf_rapid_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_remove_ue(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    ue: u64,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        answer(body.control.remove_ue(now, UeId::from_u64(ue)))
    })
}

/// `ue` moves with its flows to the cell with number `cell`: from now on its reports come from this
/// cell.
///
/// # Safety
/// As for jf_rapid_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_move_ue(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    ue: u64,
    cell: u32,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        let cell = body.cell(cell)?;
        answer(body.control.control.move_ue(now, UeId::from_u64(ue), cell))
    })
}

/// `from` and `into` turn out to be one UE: its flows belong to `into` from now on, and the handle
/// `from` ends. Reports, cell and limit of `into` stay. JF_ERROR_FULL with more flows together than
/// a UE may have. A UE merged with itself changes nothing.
///
/// # Safety
/// As for jf_rapid_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_merge_ues(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    from: u64,
    into: u64,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        answer(body.control.merge_ues(now, UeId::from_u64(from), UeId::from_u64(into)))
    })
}

/// All flows of `ue` together get at most `most` bytes a second from now on, headers included: the
/// limit of its subscription. UINT64_MAX: no limit. JF_ERROR_RANGE for 0.
///
/// # Safety
/// As for jf_rapid_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_limit_ue(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    ue: u64,
    most: u64,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        let most = (most != u64::MAX).then_some(most as f64);
        answer(body.control.control.limit_ue(now, UeId::from_u64(ue), most))
    })
}

/// A flow of `ue` opens. Writes its handle, which is never 0, to `flow`. JF_ERROR_FULL with as many
/// flows as the settings allow.
///
/// # Safety
/// As for jf_rapid_destroy; `opening` and `flow` are NULL or point to values of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_open(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    ue: u64,
    opening: Option<&jf_rapid_opening>,
    flow: Option<&mut u64>,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        let (given, flow) = (opening.ok_or(JF_ERROR_NULL)?, flow.ok_or(JF_ERROR_NULL)?);
        let (ue, opening) = (UeId::from_u64(ue), given.get()?);
        let opened = body.control.open(now, ue, given.tag, given.headers, &opening);
        *flow = opened.map_err(refused)?.to_u64();
        Ok(JF_OK)
    })
}

/// `flow` closes; the others of its UE share its capacity.
///
/// # Safety
/// As for jf_rapid_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_close(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    flow: u64,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        answer(body.control.control.close(now, FlowId::from_u64(flow)))
    })
}

/// From now on the proxy has no room and offers the server of `flow` less than its window. This
/// ends with a sample whose `held` is 0.
///
/// # Safety
/// As for jf_rapid_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_hold(rapid: Option<NonNull<jf_rapid>>, flow: u64) -> jf_status {
    object::call::<Rapid>(rapid, |body| answer(body.control.control.hold(FlowId::from_u64(flow))))
}

/// A sample of `flow`, due once per round trip of the leg to its server.
///
/// # Safety
/// As for jf_rapid_destroy; `sample` is NULL or points at a sample.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_on_sample(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    flow: u64,
    sample: Option<&jf_rapid_sample>,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        let sample = sample.ok_or(JF_ERROR_NULL)?.get()?;
        answer(body.control.on_sample(now, FlowId::from_u64(flow), &sample))
    })
}

/// A report of the radio about `ue` arrives. JF_ERROR_ORDER if it is not newer than the last one;
/// JF_ERROR_RANGE if a field is out of its bounds or contradicts another.
///
/// # Safety
/// As for jf_rapid_destroy; `cell` and `own` are NULL or point to values of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_on_report(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    ue: u64,
    cell: Option<&jf_cell_report>,
    own: Option<&jf_ue_report>,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        let report = cell.ok_or(JF_ERROR_NULL)?.of(own.ok_or(JF_ERROR_NULL)?)?;
        answer(body.control.on_report(now, UeId::from_u64(ue), &report))
    })
}

/// Writes to `at` the time at which jf_rapid_on_timer is due, in ns; UINT64_MAX for never.
///
/// # Safety
/// As for jf_rapid_destroy; `at` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_next_timer(
    rapid: Option<NonNull<jf_rapid>>,
    at: Option<&mut u64>,
) -> jf_status {
    object::call::<Rapid>(rapid, |body| {
        *at.ok_or(JF_ERROR_NULL)? = or_never(body.control.control.next_timer());
        Ok(JF_OK)
    })
}

/// Does the work that is due by `now`: reports grow old, flows fall silent.
///
/// # Safety
/// As for jf_rapid_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_on_timer(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
) -> jf_status {
    object::call_at::<Rapid>(rapid, now, |body, now| {
        body.control.control.on_timer(now);
        Ok(JF_OK)
    })
}

/// Writes a flow whose windows have changed, and its windows, to `change`. JF_EMPTY without one;
/// `change` is then not written. Call it until then after every other call.
///
/// # Safety
/// As for jf_rapid_destroy; `change` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_next_change(
    rapid: Option<NonNull<jf_rapid>>,
    change: Option<&mut jf_rapid_change>,
) -> jf_status {
    object::call::<Rapid>(rapid, |body| {
        let change = change.ok_or(JF_ERROR_NULL)?;
        let Some((tag, windows)) = body.control.poll_change() else { return Ok(JF_EMPTY) };
        *change = jf_rapid_change::of(tag, windows);
        Ok(JF_OK)
    })
}

/// Writes to `rate` the capacity of `ue` in bytes a second, headers included, that was last divided
/// among its flows. JF_EMPTY while it is unknown; `rate` is then not written.
///
/// # Safety
/// As for jf_rapid_destroy; `rate` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_rapid_capacity(
    rapid: Option<NonNull<jf_rapid>>,
    ue: u64,
    rate: Option<&mut f64>,
) -> jf_status {
    object::call::<Rapid>(rapid, |body| {
        let (rate, ue, control) =
            (rate.ok_or(JF_ERROR_NULL)?, UeId::from_u64(ue), &body.control.control);
        control.cell(ue).ok_or(JF_ERROR_UE)?;
        let Some(capacity) = control.capacity(ue) else { return Ok(JF_EMPTY) };
        *rate = capacity;
        Ok(JF_OK)
    })
}
