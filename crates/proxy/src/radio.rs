//! Radio information: sources of reports, each on a thread of its own, so that what is sent there
//! never delays a connection.
//!
//! A source gives its [`Sink`] what it has parsed and says how it stands; the queue behind it is
//! bounded.

mod config;
mod json_lines;
pub(crate) mod line;

pub use config::{JsonLinesConfig, NoRadioConfig, RadioConfig};

use crate::prefix::Prefix;
use justfull_base::feedback::RanReport;
use justfull_net::SystemError;
use nix::sys::eventfd::EventFd;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Reports that wait for the loop; one that comes when so many wait is dropped.
pub(crate) const WAITING: usize = 16_384;

/// One report about one UE.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    /// Its addresses or prefixes; the first names it.
    pub(crate) ue: Vec<Prefix>,
    pub(crate) ran: RanReport,
}

/// How a source stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    #[default]
    None,
    /// It can be read.
    Connected,
    /// It cannot be read, and why.
    Refused(String),
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Connected => f.write_str("connected"),
            Self::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

/// What is known of a source.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// What was no report.
    garbled: AtomicU64,
    /// Reports that came faster than they could be taken.
    dropped: AtomicU64,
    state: Mutex<State>,
}

impl Account {
    pub(crate) fn garbled(&self) -> u64 {
        self.garbled.load(Ordering::Relaxed)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where a source puts its reports.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    to: SyncSender<Report>,
    account: Arc<Account>,
    wake: Arc<EventFd>,
}

impl Sink {
    /// Passes a report on, or counts what was none; false when nobody receives reports any more.
    /// [`Sink::wake`] must follow.
    fn take(&self, report: Result<Report, String>) -> bool {
        let Ok(report) = report else {
            self.account.garbled.fetch_add(1, Ordering::Relaxed);
            return true;
        };
        match self.to.try_send(report) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.account.dropped.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }

    /// Wakes the loop.
    fn wake(&self) {
        // Full is awake as well.
        let _awake = self.wake.write(1);
    }

    fn state(&self, state: State) {
        *self.account.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// Starts the source that `config` names; `wake` is written to when reports have come.
///
/// # Errors
/// The source cannot be opened, or its thread cannot be started.
pub(crate) fn start(
    config: &RadioConfig,
    wake: Arc<EventFd>,
) -> Result<(Receiver<Report>, Arc<Account>), SystemError> {
    let (to, reports) = sync_channel(WAITING);
    let account = Arc::<Account>::default();
    let sink = Sink { to, account: Arc::clone(&account), wake };
    match config {
        RadioConfig::None(_) => {}
        RadioConfig::JsonLines(source) => json_lines::start(source.path.as_ref(), sink)
            .map_err(|e| SystemError::new(format!("read reports from {}", source.path), e))?,
    }
    Ok((reports, account))
}
