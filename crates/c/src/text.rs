//! Text that comes from C, and messages to it.

use crate::status::jf_status::{self, *};
use justfull_base::ConfigError;
use serde::de::DeserializeOwned;
use std::ffi::c_char;
use std::fmt;
use std::panic::catch_unwind;
use std::ptr::NonNull;

/// Bytes of a message, the zero at its end included.
pub const JF_MESSAGE_BYTES: usize = 512;

/// Largest text of settings in bytes.
pub const JF_SETTINGS_BYTES: usize = 1_048_576;

/// The reason of a refusal in words: the field, its value and the allowed values. Always ends with
/// a zero; empty where the status alone is the reason.
#[repr(C)]
pub struct jf_message {
    /// UTF-8.
    pub text: [c_char; JF_MESSAGE_BYTES],
}

/// A message to be written, if the caller has a place for one.
pub(crate) struct Note<'a>(Option<&'a mut jf_message>);

impl<'a> Note<'a> {
    /// Empties the message.
    pub(crate) fn new(mut message: Option<&'a mut jf_message>) -> Self {
        if let Some(message) = &mut message {
            message.text = [0; JF_MESSAGE_BYTES];
        }
        Self(message)
    }

    /// As much of `words` as there is room for, cut between characters.
    pub(crate) fn write(&mut self, words: fmt::Arguments<'_>) {
        let Some(message) = &mut self.0 else { return };
        let words = words.to_string();
        let fits = |end: &usize| words.is_char_boundary(*end);
        let most = (0..JF_MESSAGE_BYTES.min(words.len() + 1)).rev().find(fits).unwrap_or(0);
        for (place, byte) in message.text.iter_mut().zip(words.as_bytes()[..most].iter()) {
            *place = byte.cast_signed() as c_char;
        }
    }

    pub(crate) fn settings(&mut self, error: &ConfigError) -> jf_status {
        self.write(format_args!("{error}"));
        JF_ERROR_SETTINGS
    }
}

/// The settings in the `length` bytes of TOML at `text`. The reason of a refusal goes to `note`.
pub(crate) fn parsed<T: DeserializeOwned>(
    text: *const c_char,
    length: usize,
    note: &mut Note<'_>,
) -> Result<T, jf_status> {
    let text = settings(text, length).map_err(|(status, why)| {
        note.write(format_args!("{why}"));
        status
    })?;
    let parsed = catch_unwind(|| toml::from_str(text)).map_err(|_| JF_ERROR_BROKEN)?;
    parsed.map_err(|error: toml::de::Error| {
        note.write(format_args!("settings: {error}"));
        JF_ERROR_SETTINGS
    })
}

/// The `length` bytes of settings at `text`, from an `unsafe` caller: they are there.
fn settings<'a>(text: *const c_char, length: usize) -> Result<&'a str, (jf_status, &'static str)> {
    if text.is_null() {
        return Err((JF_ERROR_NULL, ""));
    }
    if length > JF_SETTINGS_BYTES {
        return Err((JF_ERROR_SETTINGS, "settings: found more than JF_SETTINGS_BYTES"));
    }
    // SAFETY: the contract of every call: `length` bytes are at a pointer that is not NULL, and
    // stay there during the call.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    std::str::from_utf8(bytes).map_err(|_| (JF_ERROR_SETTINGS, "settings: no UTF-8"))
}

/// The `length` items at `items`; none if `length` is 0.
pub(crate) fn items<'a, T>(items: Option<NonNull<T>>, length: usize) -> Result<&'a [T], jf_status> {
    if length == 0 {
        return Ok(&[]);
    }
    let items = items.ok_or(JF_ERROR_NULL)?;
    if length > isize::MAX as usize / size_of::<T>().max(1) || !items.is_aligned() {
        return Err(JF_ERROR_RANGE);
    }
    // SAFETY: the contract of every call: as many items as it says are at a pointer that is not
    // NULL, and stay there unchanged during the call.
    Ok(unsafe { std::slice::from_raw_parts(items.as_ptr(), length) })
}

/// Writes each of `items` to the place after the one before, from `places` on.
pub(crate) fn write_all<T>(places: Option<NonNull<T>>, items: impl Iterator<Item = T>) {
    let Some(places) = places else { return };
    for (i, item) in items.enumerate() {
        // SAFETY: the contract of every call: as many places as items are there.
        unsafe { places.as_ptr().add(i).write(item) };
    }
}
