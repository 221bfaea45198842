//! The directory of UEs: sessions from a file or an SMF. Each has a UE's addresses and may have its
//! cell and its limit. Sessions come from outside and are not trusted.
//!
//! A change goes to the loop as a [`Change`]; the loop never waits for the directory.

mod file;
mod http;
mod session;
mod store;

pub(crate) use session::Session;
pub(crate) use store::{Account, Change};

use crate::config::DirectoryConfig;
use crate::pools::Pools;
use justfull_net::SystemError;
use justfull_rnis::Listening;
use nix::sys::eventfd::EventFd;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use store::Store;

/// A directory. It ends when this value is dropped.
pub(crate) struct Directory {
    store: Arc<Store>,
    changes: Receiver<Change>,
    _server: Option<Listening>,
}

impl Directory {
    /// Starts the directory of `config` with the HTTP sessions of the previous process, which may
    /// still hold the address. Changes wake the loop through `wake`.
    ///
    /// # Errors
    /// The address cannot be bound, or a thread cannot be started.
    pub(crate) fn start(
        config: &DirectoryConfig,
        pools: Pools,
        wake: Arc<EventFd>,
        before: Option<Vec<Session>>,
    ) -> Result<Self, SystemError> {
        let (to, changes) = channel();
        let store = Arc::new(Store::new(config.most as usize, pools, to, wake));
        let successor = before.is_some();
        for session in before.into_iter().flatten() {
            // The limit may be lower now: sessions above it are left out.
            let _left_out = store.put(session);
        }
        if !config.file.is_empty() {
            let failed = |e: io::Error| SystemError::new(format!("read {}", config.file), e);
            file::follow(PathBuf::from(&config.file), Arc::clone(&store)).map_err(failed)?;
        }
        let server = match config.listen.as_str() {
            "" => None,
            address => {
                let failed =
                    |e: io::Error| SystemError::new(format!("listen for sessions at {address}"), e);
                Some(http::serve(config, Arc::clone(&store), successor).map_err(failed)?)
            }
        };
        Ok(Self { store, changes, _server: server })
    }

    /// The next change for the loop; none if there is none.
    pub(crate) fn change(&self) -> Option<Change> {
        self.changes.try_recv().ok()
    }

    /// Its counts.
    pub(crate) fn account(&self) -> Account {
        self.store.account()
    }

    /// The sessions that came over HTTP, for the next process.
    pub(crate) fn sessions(&self) -> Vec<Session> {
        self.store.of_http()
    }
}
