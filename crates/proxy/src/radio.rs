//! Radio information: sources of reports, each on a thread of its own, so that its input never
//! delays a connection.
//!
//! A source gives parsed reports and its state to its [`Sink`]; the queue behind that is bounded.

mod access;
mod amqp;
mod config;
mod json_lines;
mod kpm;
mod rnis;
mod stream;
mod websocket;

pub use access::AccessConfig;
pub use config::{
    AmqpConfig, JsonLinesConfig, KpmConfig, NoRadioConfig, RadioConfig, RnisConfig, WebsocketConfig,
};

use justfull_net::SystemError;
use justfull_net::clock::now;
use justfull_rnis::{CellChange, Malformed, Report, open_lines};
use nix::sys::eventfd::EventFd;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Most reports, and most changes of cells, that wait for the loop; further ones are dropped.
pub(crate) const WAITING: usize = 16_384;

/// The state of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// There is no source.
    #[default]
    None,
    /// No data yet.
    Connecting,
    /// It can be read.
    Connected,
    /// It can be read by requests; the better way is refused, for this reason.
    Asking(String),
    /// It cannot be read, for this reason.
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

/// Counts and state of a source.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Messages that were no reports.
    garbled: AtomicU64,
    /// Reports and changes of cells that came faster than the loop could read them.
    dropped: AtomicU64,
    /// Reports about UEs without known addresses.
    unknown: AtomicU64,
    /// UEs without a needed measurement in an indication.
    lacking: AtomicU64,
    /// Connections that were made.
    connections: AtomicU64,
    /// UEs that changed their cell since the loop last looked; the oldest first.
    moves: Mutex<Vec<CellChange>>,
    /// The services that it reads.
    services: Mutex<Vec<Service>>,
    /// The proxy ends, so the source must give back the resources of others.
    ends: AtomicBool,
}

/// A service that a source reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) state: State,
    /// It has resources that the proxy must release.
    holds: bool,
}

/// At the end, longest wait for a source with resources of others.
const END: Duration = Duration::from_secs(1);
/// Time between two checks of that.
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

    pub(crate) fn lacking(&self) -> u64 {
        self.lacking.load(Ordering::Relaxed)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Takes the changes of cells since the last call, the oldest first.
    pub(crate) fn moves(&self) -> Vec<CellChange> {
        std::mem::take(&mut *self.moves.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the source give back resources of others, and waits a moment for it.
    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        let began = now();
        let holds = || self.services().iter().any(|service| service.holds);
        while holds() && now().duration_since(began) < END {
            thread::sleep(LOOK);
        }
    }

    /// The services, and the state of each.
    pub(crate) fn services(&self) -> Vec<Service> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The worst state of a service, with the service's name if there are several.
    pub(crate) fn state(&self) -> State {
        let services = self.services();
        let rank = |state: &State| match state {
            State::Refused(_) => 0,
            State::Connecting => 1,
            State::Asking(_) => 2,
            State::Connected => 3,
            State::None => 4,
        };
        let several = services.len() > 1;
        let worst = services.into_iter().min_by_key(|service| rank(&service.state));
        let Some(Service { name, state, .. }) = worst else { return State::None };
        match state {
            State::Refused(why) if several => State::Refused(format!("{name}: {why}")),
            State::Asking(why) if several => State::Asking(format!("{name}: {why}")),
            state => state,
        }
    }
}

/// The receiver of a source's reports.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    to: SyncSender<Report>,
    account: Arc<Account>,
    wake: Arc<EventFd>,
    /// The place of its service in the account.
    service: usize,
}

impl Sink {
    /// A sink for a further service.
    fn of(&self, name: &str) -> Self {
        let mut services = self.account.services.lock().unwrap_or_else(PoisonError::into_inner);
        services.push(Service { name: name.to_owned(), ..Service::default() });
        Self { service: services.len() - 1, ..self.clone() }
    }

    /// Changes the entry of its service.
    fn change(&self, change: impl FnOnce(&mut Service)) {
        let mut services = self.account.services.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = services.get_mut(self.service) {
            change(service);
        }
    }

    /// Passes a report on, or counts an error; false if no receiver is left. [`Sink::wake`] must
    /// follow.
    fn take(&self, report: Result<Report, Malformed>) -> bool {
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

    /// Passes on a change of a UE's cell. [`Sink::wake`] must follow.
    fn moved(&self, change: CellChange) {
        let mut moves = self.account.moves.lock().unwrap_or_else(PoisonError::into_inner);
        if moves.len() < WAITING {
            moves.push(change);
        } else {
            self.account.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts messages that were no reports.
    fn garbled(&self, count: u64) {
        self.account.garbled.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts reports about UEs without known addresses.
    fn unknown(&self, count: u64) {
        self.account.unknown.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts UEs without a needed measurement in an indication.
    fn lacking(&self, count: u64) {
        self.account.lacking.fetch_add(count, Ordering::Relaxed);
    }

    /// Wakes the loop.
    fn wake(&self) {
        // If the counter is full, the loop is awake already.
        let _awake = self.wake.write(1);
    }

    fn state(&self, state: State) {
        self.change(|service| {
            let was = matches!(service.state, State::Connected | State::Asking(_));
            if state == State::Connected && !was {
                self.account.connections.fetch_add(1, Ordering::Relaxed);
            }
            service.state = state;
        });
    }

    /// True when the proxy ends.
    fn ends(&self) -> bool {
        self.account.ends.load(Ordering::Relaxed)
    }

    /// Notes whether the source has resources of others, which it gives back at the end.
    fn holds(&self, holds: bool) {
        self.change(|service| service.holds = holds);
    }
}

/// First and longest time between two attempts to connect.
const AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// After a connection that lasted this long, the next attempt follows soon.
const LASTED: Duration = Duration::from_secs(1);

/// Connects again and again, on a thread that ends with the process. `session` runs for one
/// connection and returns why it ended, or none if no receiver is left.
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

/// Tries to open the file or the address of the source of `config`. Returns a description of the
/// source.
///
/// # Errors
/// The file cannot be opened, or the address cannot be bound; the proxy would not start.
pub(crate) fn attempt(config: &RadioConfig) -> Result<String, SystemError> {
    let file = |path: &str| {
        let opened = open_lines(path.as_ref()).map(|_| format!("{} from {path}", config.name()));
        opened.map_err(|e| SystemError::new(format!("read reports from {path}"), e))
    };
    let listens = |at: &str| match TcpListener::bind(at) {
        // A running proxy holds the address until its successor takes it over.
        Err(e) if e.kind() != io::ErrorKind::AddrInUse => {
            Err(SystemError::new(format!("receive reports at {at}"), e))
        }
        _ => Ok(format!("{} at {at}", config.name())),
    };
    match config {
        RadioConfig::None(_) => Ok("none: capacity follows from delivery".into()),
        RadioConfig::JsonLines(source) => file(&source.path),
        RadioConfig::Kpm(source) if source.listen.is_empty() => file(&source.path),
        RadioConfig::Kpm(source) => listens(&source.listen),
        RadioConfig::Rnis(source) if !source.callback.is_empty() => listens(&source.callback),
        RadioConfig::Rnis(RnisConfig { url, .. })
        | RadioConfig::Websocket(WebsocketConfig { url, .. }) => {
            Ok(format!("{} of {url}", config.name()))
        }
        RadioConfig::Amqp(source) => Ok(format!("{} of {}", config.name(), source.address)),
    }
}

/// Starts the source of `config`, which writes to `wake` when reports have arrived. A `successor`
/// waits for the address of a receiver while the previous process holds it.
///
/// # Errors
/// The source cannot be opened, or its thread cannot be started.
pub(crate) fn start(
    config: &RadioConfig,
    wake: Arc<EventFd>,
    successor: bool,
) -> Result<(Receiver<Report>, Arc<Account>), SystemError> {
    let (to, reports) = sync_channel(WAITING);
    let account = Arc::<Account>::default();
    // Each source makes a sink for each of its services from it.
    let sink = Sink { to, account: Arc::clone(&account), wake, service: usize::MAX };
    let failed = |e: io::Error| SystemError::new(format!("start the source {}", config.name()), e);
    match config {
        RadioConfig::None(_) => {}
        RadioConfig::Rnis(source) => rnis::start(source, &sink, successor).map_err(failed)?,
        RadioConfig::Amqp(source) => {
            amqp::start(source.clone(), sink.of(&source.address)).map_err(failed)?
        }
        RadioConfig::Websocket(source) => websocket::start(source, &sink).map_err(failed)?,
        RadioConfig::Kpm(source) => kpm::start(source, &sink, successor).map_err(failed)?,
        RadioConfig::JsonLines(source) => {
            json_lines::start(source.path.as_ref(), sink.of(&source.path))
                .map_err(|e| SystemError::new(format!("read reports from {}", source.path), e))?
        }
    }
    Ok((reports, account))
}

#[cfg(test)]
mod tests;
