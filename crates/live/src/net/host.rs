//! Commands where this process is, for a stack between interfaces that were there before.

use std::ffi::OsString;

use super::command::{self, Running};
use super::state::RunFolder;
use crate::LiveError;

/// Starts commands and ends them, with what they started, as a [`Network`](super::Network) does.
/// Where they have no control group, they are known by their environment alone: one that empties it
/// and leaves its parent is not found.
#[derive(Debug)]
pub struct Host {
    folder: RunFolder,
}

impl Host {
    /// A place for commands.
    ///
    /// # Errors
    /// The note of the run cannot be made.
    pub fn create() -> Result<Self, LiveError> {
        Ok(Self { folder: RunFolder::create()? })
    }

    /// Starts a command.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(&self, argv: &[OsString]) -> Result<Running, LiveError> {
        command::start(None, "host", &self.folder, None, argv, &[])
    }

    /// As [`Network::end_commands`](super::Network::end_commands).
    ///
    /// # Errors
    /// Processes that do not end within some seconds.
    pub fn end_commands(&self) -> Result<usize, LiveError> {
        self.folder.end_processes(&[])
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // What SIGKILL does not end waits for a device; the next sweep tries again.
        let _ended = self.end_commands();
    }
}
