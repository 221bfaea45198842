//! Commands in this process's own namespace, for a stack between existing interfaces.

use std::ffi::OsString;

use crate::SystemError;
use crate::command::{self, Running};
use crate::state::RunFolder;

/// Starts and ends commands, with all their descendants, like a [`Network`](crate::Network).
/// Without a control group only their environment identifies them: a process that clears it and
/// leaves its parent is not found.
#[derive(Debug)]
pub struct Host {
    folder: RunFolder,
}

impl Host {
    /// A place for commands.
    ///
    /// # Errors
    /// The note of the run cannot be made.
    pub fn create() -> Result<Self, SystemError> {
        Ok(Self { folder: RunFolder::create()? })
    }

    /// Starts a command.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(&self, argv: &[OsString]) -> Result<Running, SystemError> {
        command::start(None, "host", &self.folder, None, argv, &[])
    }

    /// See [`Network::end_commands`](crate::Network::end_commands).
    ///
    /// # Errors
    /// Processes that do not end within some seconds.
    pub fn end_commands(&self) -> Result<usize, SystemError> {
        self.folder.end_processes(&[])
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A process that survives SIGKILL waits for a device; the next sweep tries again.
        let _ended = self.end_commands();
    }
}
