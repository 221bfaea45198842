//! Limiters, pacers, queues and EQP at the C library's boundary: any order of calls with any
//! content. The crate's test of random calls has the same body.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/c/tests/random/objects.rs"]
mod objects;

fuzz_target!(|data: &[u8]| objects::run(data));
