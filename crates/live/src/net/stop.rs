//! Being asked to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use signal_hook::SigId;
use signal_hook::low_level::unregister;

use crate::LiveError;

/// While it lives, a request to end sets a flag and does nothing else, so that whoever looks at it can end in order.
#[derive(Debug)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Stop {
    /// Begins to listen.
    ///
    /// # Errors
    /// The kernel refuses a handler.
    pub fn listen() -> Result<Self, LiveError> {
        let mut stop = Self { flag: Arc::new(AtomicBool::new(false)), registered: Vec::new() };
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            let id = signal_hook::flag::register(signal, Arc::clone(&stop.flag))
                .map_err(|error| LiveError::new(format!("listen for signal {signal}"), error))?;
            stop.registered.push(id);
        }
        Ok(stop)
    }

    /// True once one of the signals has come.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// The flag itself, for a loop on another thread.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}
