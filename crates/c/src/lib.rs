//! The C library of justfull, with which a base station puts a queue, a limiter or a pacer above
//! its RLC. `include/justfull.h` is made from these functions.
//!
//! Each object is a block of the caller's memory or of the heap, behind a handle. Making an object
//! reads its settings and allocates; afterwards no call allocates, locks, makes a system call or
//! unwinds. Every call is total: a wrong argument, a wrong order or a call from within a callback
//! is answered with a [`jf_status`], and changes nothing. Objects have no clock and no thread: an
//! object is used by one thread at a time, different objects by any threads at once.
//!
//! # Safety
//! As in any C interface: a pointer is NULL or points to a value of its type, a handle comes from
//! the library and its memory is still there, and the caller's functions return. All `unsafe` code
//! is in [`memory`], [`object`], [`text`] and [`hooks`]; the other modules are unsafe only to call.
#![deny(unsafe_code)]
#![allow(non_camel_case_types, reason = "names of C")]

#[allow(unsafe_code, reason = "functions of C")]
pub mod eqp;
#[allow(unsafe_code, reason = "functions of C")]
pub mod gate;
#[allow(unsafe_code, reason = "functions that the caller gives")]
pub mod hooks;
#[allow(unsafe_code, reason = "functions of C")]
pub mod limiter;
#[allow(unsafe_code, reason = "an allocator")]
mod memory;
#[allow(unsafe_code, reason = "objects behind pointers")]
pub mod object;
#[allow(unsafe_code, reason = "functions of C")]
pub mod pacer;
pub mod packet;
#[allow(unsafe_code, reason = "functions of C")]
pub mod queue;
#[allow(unsafe_code, reason = "functions of C")]
pub mod rapid;
mod settings;
#[allow(unsafe_code, reason = "functions of C")]
pub mod status;
#[allow(unsafe_code, reason = "text behind pointers")]
pub mod text;

pub use status::jf_status;
