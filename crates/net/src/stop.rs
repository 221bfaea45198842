//! Requests to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! The first requests an orderly end. The third ends the process at once: an orderly end may never
//! come, for example with a capture into a pipe without a reader. SIGHUP stays ignored in a process
//! started that way, for example by `nohup`.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::libc;
use signal_hook::low_level::{emulate_default_handler, register};

use crate::SystemError;

/// This many signals end the process at once.
const ENOUGH: usize = 3;

/// Number of listeners.
static LISTENERS: AtomicUsize = AtomicUsize::new(0);
/// Signals since the first listener.
static HEARD: AtomicUsize = AtomicUsize::new(0);

/// While one exists, a request to end is only noted, so that a program that checks it can end in
/// order. All values that exist at the same time see the same signals.
#[derive(Debug)]
pub struct Stop(());

impl Stop {
    /// Begins to listen.
    ///
    /// # Errors
    /// The kernel refuses a handler.
    pub fn listen() -> Result<Self, SystemError> {
        static REGISTERED: OnceLock<Result<(), String>> = OnceLock::new();
        REGISTERED
            .get_or_init(handle_signals)
            .clone()
            .map_err(|reason| SystemError::new("listen for signals", reason))?;
        if LISTENERS.fetch_add(1, Ordering::SeqCst) == 0 {
            HEARD.store(0, Ordering::SeqCst);
        }
        Ok(Self(()))
    }

    /// True once one of the signals has arrived.
    #[must_use]
    pub fn requested(&self) -> bool {
        HEARD.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(1, Ordering::SeqCst);
    }
}

fn handle_signals() -> Result<(), String> {
    let ignored = ignored_signals();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        if signal == libc::SIGHUP && ignored & 1 << (signal - 1) != 0 {
            continue;
        }
        let act = move || {
            let before = HEARD.fetch_add(1, Ordering::SeqCst);
            if LISTENERS.load(Ordering::SeqCst) == 0 || before + 1 >= ENOUGH {
                // It does not fail for these signals.
                let _ended = emulate_default_handler(signal);
            }
        };
        // SAFETY: the action touches two atomic numbers and calls only functions that are safe in a
        // signal handler.
        let registered = unsafe { register(signal, act) };
        registered.map_err(|error| format!("signal {signal}: {error}"))?;
    }
    Ok(())
}

/// The signals that this process ignores, one bit each from signal 1 on (proc(5), `SigIgn`); none
/// when unknown.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}
