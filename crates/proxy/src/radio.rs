//! Radio information: sources of reports, each on a thread of its own, so that what is sent there
//! never delays a connection.
//!
//! A source gives its [`Sink`] what it has parsed and says how it stands; the queue behind it is
//! bounded.

mod amqp;
mod config;
mod json_lines;
mod rnis;
mod stream;
mod websocket;

pub use config::{
    AmqpConfig, JsonLinesConfig, NoRadioConfig, RadioConfig, RnisConfig, WebsocketConfig,
};

use justfull_net::SystemError;
use justfull_net::clock::now;
use justfull_rnis::Report;
use nix::sys::eventfd::EventFd;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Reports that wait for the loop; one that comes when so many wait is dropped.
pub(crate) const WAITING: usize = 16_384;

/// How a source stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    #[default]
    None,
    /// Nothing has come of it yet.
    Connecting,
    /// It can be read.
    Connected,
    /// It can be read, and what is better is refused, and why.
    Asking(String),
    /// It cannot be read, and why.
    Refused(String),
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Connecting => f.write_str("connecting"),
            Self::Connected => f.write_str("connected"),
            Self::Asking(why) => write!(f, "connected, asking: {why}"),
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
    /// Reports about UEs whose addresses the source does not tell.
    unknown: AtomicU64,
    /// Connections that were made.
    connections: AtomicU64,
    state: Mutex<State>,
    /// The proxy ends: what the source has of others is to be given back.
    ends: AtomicBool,
    /// It has something of others.
    holds: AtomicBool,
}

/// How long the end waits for a source that has something of others.
const END: Duration = Duration::from_secs(1);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(5);

impl Account {
    pub(crate) fn garbled(&self) -> u64 {
        self.garbled.load(Ordering::Relaxed)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn unknown(&self) -> u64 {
        self.unknown.load(Ordering::Relaxed)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Lets the source give back what it has of others, and waits a moment for that.
    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        let began = now();
        while self.holds.load(Ordering::Relaxed) && now().duration_since(began) < END {
            thread::sleep(LOOK);
        }
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
            self.garbled(1);
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

    /// So many were no reports.
    fn garbled(&self, count: u64) {
        self.account.garbled.fetch_add(count, Ordering::Relaxed);
    }

    /// So many were about UEs without known addresses.
    fn unknown(&self, count: u64) {
        self.account.unknown.fetch_add(count, Ordering::Relaxed);
    }

    /// Wakes the loop.
    fn wake(&self) {
        // Full is awake as well.
        let _awake = self.wake.write(1);
    }

    fn state(&self, state: State) {
        let mut now = self.account.state.lock().unwrap_or_else(PoisonError::into_inner);
        let was = matches!(*now, State::Connected | State::Asking(_));
        if state == State::Connected && !was {
            self.account.connections.fetch_add(1, Ordering::Relaxed);
        }
        *now = state;
    }

    /// True when the proxy ends.
    fn ends(&self) -> bool {
        self.account.ends.load(Ordering::Relaxed)
    }

    /// The source has something of others that it gives back at the end, or not any more.
    fn holds(&self, holds: bool) {
        self.account.holds.store(holds, Ordering::Relaxed);
    }
}

/// First and longest time between two tries to connect.
const AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// A connection that lasted so long was one: the next try comes soon.
const LASTED: Duration = Duration::from_secs(1);

/// Connects again and again, on a thread that ends with the process. `session` lasts as long as a
/// connection, and returns why it ended, or none when nobody receives reports any more.
fn connect(
    sink: Sink,
    mut session: impl FnMut(&Sink) -> Option<String> + Send + 'static,
) -> io::Result<()> {
    let work = move || {
        let mut wait = AGAIN[0];
        sink.state(State::Connecting);
        loop {
            let began = now();
            let Some(why) = session(&sink) else { return };
            sink.state(State::Refused(why));
            sink.wake();
            wait = if now().duration_since(began) >= LASTED { AGAIN[0] } else { wait };
            thread::sleep(wait);
            wait = (2 * wait).min(AGAIN[1]);
        }
    };
    thread::Builder::new().name("reports".into()).spawn(work).map(drop)
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
    let failed = |e: io::Error| SystemError::new(format!("start the source {}", config.name()), e);
    match config {
        RadioConfig::None(_) => {}
        RadioConfig::Rnis(source) => rnis::start(source.clone(), sink).map_err(failed)?,
        RadioConfig::Amqp(source) => amqp::start(source.clone(), sink).map_err(failed)?,
        RadioConfig::Websocket(source) => websocket::start(source.clone(), sink).map_err(failed)?,
        RadioConfig::JsonLines(source) => json_lines::start(source.path.as_ref(), sink)
            .map_err(|e| SystemError::new(format!("read reports from {}", source.path), e))?,
    }
    Ok((reports, account))
}

#[cfg(test)]
mod tests;
