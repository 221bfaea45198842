//! The status of a call, and its text.

use std::ffi::{CStr, c_char};

/// The status of a call. Negative: an error; the call has changed nothing unless it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[must_use]
pub enum jf_status {
    /// Done.
    JF_OK = 0,
    /// Done: the packet was dropped.
    JF_DROPPED = 1,
    /// Done: there is nothing to return.
    JF_EMPTY = 2,
    /// A pointer is NULL that must not be.
    JF_ERROR_NULL = -1,
    /// The handle is no object of this kind, or the object is destroyed.
    JF_ERROR_HANDLE = -2,
    /// The object is in a call already: a callback has called it.
    JF_ERROR_BUSY = -3,
    /// The time is before the time of an earlier call, or above JF_TIME_MAX.
    JF_ERROR_TIME = -4,
    /// A packet's size is not 1 B to the MTU.
    JF_ERROR_SIZE = -5,
    /// There is no such flow.
    JF_ERROR_FLOW = -6,
    /// There is no such bearer.
    JF_ERROR_BEARER = -7,
    /// A value is out of its bounds, such as an amount above JF_AMOUNT_MAX.
    JF_ERROR_RANGE = -8,
    /// The memory is too small, or does not begin at a multiple of JF_ALIGN; or there is none.
    JF_ERROR_MEMORY = -9,
    /// The settings are wrong: the message says which field.
    JF_ERROR_SETTINGS = -10,
    /// The call does not fit the calls before it.
    JF_ERROR_ORDER = -11,
    /// The object has found a fault in itself, now or before. Destroy it, and report the fault.
    JF_ERROR_BROKEN = -12,
    /// There is no such cell.
    JF_ERROR_CELL = -13,
    /// There is no such UE, or it was removed.
    JF_ERROR_UE = -14,
    /// There are as many UEs or flows as the settings allow.
    JF_ERROR_FULL = -15,
}

use jf_status::*;

/// The result of most calls: the status of success, or of the error.
pub(crate) type Answer = Result<jf_status, jf_status>;

/// Each status with its text.
const TEXTS: [(jf_status, &CStr); 18] = [
    (JF_OK, c"done"),
    (JF_DROPPED, c"the packet was dropped"),
    (JF_EMPTY, c"there is nothing to return"),
    (JF_ERROR_NULL, c"a pointer is NULL that must not be"),
    (JF_ERROR_HANDLE, c"the handle is no object of this kind, or one that is destroyed"),
    (JF_ERROR_BUSY, c"the object is in a call already: a callback has called it"),
    (JF_ERROR_TIME, c"the time is before that of an earlier call, or above JF_TIME_MAX"),
    (JF_ERROR_SIZE, c"the packet's size is not 1 B to the MTU"),
    (JF_ERROR_FLOW, c"there is no such flow"),
    (JF_ERROR_BEARER, c"there is no such bearer"),
    (JF_ERROR_RANGE, c"a value is out of its bounds"),
    (JF_ERROR_MEMORY, c"the memory is too small, or not aligned to JF_ALIGN"),
    (JF_ERROR_SETTINGS, c"the settings are wrong"),
    (JF_ERROR_ORDER, c"the call does not fit the calls before it"),
    (JF_ERROR_BROKEN, c"the object has found a fault in itself: destroy it and report the fault"),
    (JF_ERROR_CELL, c"there is no such cell"),
    (JF_ERROR_UE, c"there is no such UE, or it was removed"),
    (JF_ERROR_FULL, c"there are as many UEs or flows as the settings allow"),
];

/// The text of `status`, for people; never NULL. It is valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn jf_error_text(status: i32) -> *const c_char {
    let known = TEXTS.iter().find(|(known, _)| *known as i32 == status);
    known.map_or(c"no status of this library", |(_, text)| text).as_ptr()
}

/// The version of the library, such as "0.1.0". It is valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn jf_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}
