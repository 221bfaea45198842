//! A Radio Network Information Service (ETSI GS MEC 012) with the extension of `justfull rnis`:
//! subscribes to its reports and to changes of cells, renews the subscriptions before they end, and
//! polls for reports while no notification of them arrives.

use super::config::RnisConfig;
use super::{Sink, State, connect};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use justfull_base::Instant;
use justfull_net::{Prefix, clock};
use justfull_rnis::types::{
    CELL_CHANGE_SUBSCRIPTION, COMPLETED, RAN_REPORT_SUBSCRIPTION, REPORTS, ROOT, TimeStamp,
};
use justfull_rnis::{
    Listening, Notification, Report, agent, bounded, listen, listen_after, notification,
    read_token, reports,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant as Moment};
use ureq::Agent;

/// Time limit for an answer of the service.
const PATIENCE: Duration = Duration::from_millis(800);
/// Silence after which notifications count as missing, if it is longer than three periods.
const MISSED: Duration = Duration::from_secs(1);
/// Shortest time between two polls, and between two checks of timers.
const LEAST: Duration = Duration::from_millis(10);
const LOOK: Duration = Duration::from_millis(100);
/// Time between a refused subscription and the next request for one.
const REFUSED: Duration = Duration::from_secs(5);
/// Connections of a service that sends notifications.
const CONNECTIONS: usize = 16;
/// UEs whose last report is remembered.
const MOST_UES: usize = 65_536;

/// State that the receiver of notifications and the poller share.
#[derive(Debug)]
struct Seen {
    sink: Sink,
    /// The newest report of each UE.
    newest: Mutex<BTreeMap<Prefix, Newest>>,
    /// When the last notification came.
    notified: Mutex<Option<Moment>>,
    /// The service has announced the end of a subscription.
    ends: AtomicBool,
}

/// The newest report about a UE: its time by the cell's clock, and its time of arrival.
#[derive(Debug)]
struct Newest {
    cell: Option<Arc<str>>,
    at: Instant,
    came: Moment,
}

impl Newest {
    /// True if the service repeats a known report. Cells have different clocks, and a restarted
    /// cell begins with an earlier time.
    fn has(&self, report: &Report, now: Moment) -> bool {
        let earlier = report.ran.at < self.at;
        self.cell == report.cell
            && report.ran.at <= self.at
            && !(earlier && now.duration_since(self.came) >= MISSED)
    }
}

impl Seen {
    /// Passes on the reports that are newer than the last one of their UE; false if no receiver is
    /// left.
    fn take(&self, reports: Vec<Report>) -> bool {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let came = clock::now();
        let goes_on = reports.into_iter().all(|report| {
            let name = report.ue[0];
            if newest.get(&name).is_some_and(|known| known.has(&report, came)) {
                return true;
            }
            if newest.len() >= MOST_UES {
                newest.clear();
            }
            let (cell, at) = (report.cell.clone(), report.ran.at);
            newest.insert(name, Newest { cell, at, came });
            self.sink.take(Ok(report))
        });
        self.sink.wake();
        goes_on
    }

    fn notification(&self, body: &[u8]) -> StatusCode {
        match notification(body) {
            Ok(Notification::Reports(reports, garbled)) => {
                *self.notified.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock::now());
                self.sink.garbled(garbled);
                self.take(reports);
                StatusCode::NO_CONTENT
            }
            Ok(Notification::CellChange(change)) => {
                self.sink.moved(change);
                self.sink.wake();
                StatusCode::NO_CONTENT
            }
            Ok(Notification::Expiry) => {
                self.ends.store(true, Ordering::Relaxed);
                StatusCode::NO_CONTENT
            }
            Err(_) => {
                self.sink.garbled(1);
                self.sink.wake();
                StatusCode::BAD_REQUEST
            }
        }
    }

    fn silent_for(&self, limit: Duration) -> bool {
        let notified = *self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        notified.is_none_or(|at| clock::now().duration_since(at) > limit)
    }
}

/// Reads the services of `config`, each on its own thread, and receives their notifications at one
/// address.
///
/// # Errors
/// A file cannot be read, the address cannot be bound, or a thread cannot be started.
pub(super) fn start(config: &RnisConfig, sink: &Sink, successor: bool) -> io::Result<()> {
    let urls: Vec<&String> = std::iter::once(&config.url).chain(&config.urls).collect();
    let seen = |url: &&String| {
        Arc::new(Seen {
            sink: sink.of(url),
            newest: Mutex::default(),
            notified: Mutex::default(),
            ends: AtomicBool::new(false),
        })
    };
    let all: Vec<Arc<Seen>> = urls.iter().map(seen).collect();
    let receiver = receiver(config, &all, successor)?.map(Arc::new);
    for (number, url) in urls.into_iter().enumerate() {
        let config = RnisConfig { url: url.clone(), ..config.clone() };
        follow(config, Arc::clone(&all[number]), receiver.clone(), number)?;
    }
    Ok(())
}

/// Reads the service of `config`, whose notifications arrive at path `number` of the receiver.
fn follow(
    config: RnisConfig,
    seen: Arc<Seen>,
    receiver: Option<Arc<Receiver>>,
    number: usize,
) -> io::Result<()> {
    let ca = config.url.starts_with("https").then_some(config.ca_file.as_str());
    let agent = agent(&config.access.trust(ca), PATIENCE)?;
    // Subscriptions outlive a connection.
    let mut subscribed = [None, None];
    let sink = seen.sink.clone();
    connect(sink, move |_sink| {
        let token = match config.token_file.as_str() {
            // The service refuses an expired token; the next connection gets a new token.
            "" => match config.access.token() {
                Ok(token) => token.map(|token| format!("Bearer {token}")),
                Err(why) => return Some(why),
            },
            file => match read_token(file.as_ref()) {
                Ok(token) => Some(format!("Bearer {token}")),
                Err(e) => return Some(format!("{file}: {e}")),
            },
        };
        let client = Client { config: &config, agent: &agent, token, seen: &seen };
        let callback = receiver.as_ref().map(|receiver| receiver.callbacks[number].as_str());
        client.session(callback, &mut subscribed)
    })
}

/// A receiver of notifications, and the address for each service.
struct Receiver {
    _server: Listening,
    callbacks: Vec<String>,
}

/// Listens for notifications at a secret path for each service; none if notifications are not
/// configured.
fn receiver(
    config: &RnisConfig,
    all: &[Arc<Seen>],
    successor: bool,
) -> io::Result<Option<Receiver>> {
    if config.callback.is_empty() {
        return Ok(None);
    }
    let address = config.callback.parse().map_err(io::Error::other)?;
    let mut random = std::fs::File::open("/dev/urandom")?;
    let (mut router, mut paths) = (Router::new(), Vec::new());
    for seen in all {
        let mut secret = [0; 16];
        random.read_exact(&mut secret)?;
        let path = format!("/notifications/{:032x}", u128::from_ne_bytes(secret));
        let seen = Arc::clone(seen);
        let take = post(move |body: Bytes| async move { seen.notification(&body) });
        router = router.route(&path, take);
        paths.push(path);
    }
    let listen = if successor { listen_after } else { listen };
    let server = listen(address, None, router, CONNECTIONS)?;
    let root = match config.callback_url.trim_end_matches('/') {
        "" => format!("http://{}", server.address()),
        root => root.to_owned(),
    };
    let callbacks = paths.into_iter().map(|path| format!("{root}{path}")).collect();
    Ok(Some(Receiver { _server: server, callbacks }))
}

struct Client<'a> {
    config: &'a RnisConfig,
    agent: &'a Agent,
    token: Option<String>,
    seen: &'a Seen,
}

/// What a subscription is about.
#[derive(Clone, Copy)]
enum Topic {
    Reports,
    Moves,
}

const TOPICS: [Topic; 2] = [Topic::Reports, Topic::Moves];

impl Topic {
    /// The subscription's type, its filter's name, and the filter.
    fn filter(self, config: &RnisConfig) -> (&'static str, &'static str, Value) {
        let period = (config.period.as_nanos() / 1_000_000).max(1);
        match self {
            Self::Reports => {
                (RAN_REPORT_SUBSCRIPTION, "filterCriteriaRanReport", json!({"periodMs": period}))
            }
            Self::Moves => {
                let filter = json!({"hoStatus": [COMPLETED]});
                (CELL_CHANGE_SUBSCRIPTION, "filterCriteriaAssocHo", filter)
            }
        }
    }
}

/// A subscription, and the time to renew it.
struct Subscribed {
    href: String,
    renew_at: Moment,
}

/// The subscriptions to each topic.
type All = [Option<Subscribed>; TOPICS.len()];

impl Client<'_> {
    /// Gets reports until an error, and returns it.
    fn session(&self, callback: Option<&str>, subscribed: &mut All) -> Option<String> {
        // A poll shows whether the service is there and may be used, before a subscription.
        let mut connected = false;
        let mut subscribe_at = [clock::now(); TOPICS.len()];
        let period = Duration::from_nanos(self.config.period.as_nanos()).max(LEAST);
        let missed = MISSED.max(3 * period);
        let mut ask_at = clock::now();
        loop {
            if self.seen.sink.ends() {
                self.unsubscribe(subscribed);
                return None;
            }
            let now = clock::now();
            if now >= ask_at && (!connected || self.seen.silent_for(missed)) {
                match self.ask() {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(why) => return Some(why),
                }
                ask_at = now + period;
                if !connected {
                    connected = true;
                    self.seen.sink.state(State::Connected);
                }
            }
            if self.seen.ends.swap(false, Ordering::Relaxed) {
                subscribed.iter_mut().flatten().for_each(|old| old.renew_at = now);
            }
            if let Some(callback) = callback
                && let Some(why) = self.renew(callback, subscribed, &mut subscribe_at)
            {
                return Some(why);
            }
            let next = if self.seen.silent_for(missed) { ask_at } else { now + LOOK };
            thread::sleep(next.saturating_duration_since(clock::now()).clamp(LEAST / 10, LOOK));
        }
    }

    /// Makes and renews the subscriptions that are due. Returns why the connection must end, if it
    /// must.
    fn renew(&self, callback: &str, subscribed: &mut All, at: &mut [Moment]) -> Option<String> {
        let now = clock::now();
        for (topic, at) in TOPICS.into_iter().zip(at) {
            let own = &mut subscribed[topic as usize];
            if *at > now || own.as_ref().is_some_and(|own| own.renew_at > now) {
                continue;
            }
            match (self.subscribe(callback, topic, own.as_ref()), topic) {
                (Ok(new), _) => {
                    *own = Some(new);
                    self.seen.sink.holds(true);
                    if let Topic::Reports = topic {
                        self.seen.sink.state(State::Connected);
                    }
                }
                // The token may have changed, and a new connection reads it again.
                (Err(Refused { status: Some(401), why }), _) => return Some(why),
                // Without the right to subscribe, the proxy continues to poll.
                (Err(Refused { why, .. }), Topic::Reports) => {
                    *at = now + REFUSED;
                    self.seen.sink.state(State::Asking(why));
                }
                // The reports name their cells.
                (Err(_), Topic::Moves) => *at = now + REFUSED,
            }
        }
        None
    }

    /// Polls for the last report of each UE; false if no receiver is left.
    fn ask(&self) -> Result<bool, String> {
        let mut request = self.agent.get(self.at(REPORTS));
        if let Some(token) = &self.token {
            request = request.header("Authorization", token);
        }
        let body = good(bounded(request.call()), "its reports (the extension of justfull rnis)")
            .map_err(|refused| refused.why)?;
        match reports(&body) {
            Ok((reports, garbled)) => {
                self.seen.sink.garbled(garbled);
                Ok(self.seen.take(reports))
            }
            Err(why) => {
                self.seen.sink.garbled(1);
                Err(format!("its reports: {why}"))
            }
        }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.config.url.trim_end_matches('/'))
    }

    /// Deletes the subscriptions.
    fn unsubscribe(&self, all: &mut All) {
        for old in all.iter_mut().filter_map(Option::take) {
            let mut request = self.agent.delete(&old.href);
            if let Some(token) = &self.token {
                request = request.header("Authorization", token);
            }
            // If there is no answer, the subscription expires by itself.
            let _answer = bounded(request.call());
        }
        self.seen.sink.holds(false);
    }

    /// Subscribes to `topic`, or renews `old`.
    fn subscribe(
        &self,
        callback: &str,
        topic: Topic,
        old: Option<&Subscribed>,
    ) -> Result<Subscribed, Refused> {
        let expiry = Duration::from_nanos(self.config.expiry.as_nanos());
        let now = TimeStamp::now();
        let seconds = u64::from(now.seconds).saturating_add(expiry.as_secs());
        let (kind, filter_name, filter) = topic.filter(self.config);
        let mut body = json!({
            "subscriptionType": kind,
            "callbackReference": callback,
            "expiryDeadline": {"seconds": seconds, "nanoSeconds": now.nano_seconds},
            filter_name: filter,
        });
        let request = match old {
            Some(old) => {
                body["_links"] = json!({"self": {"href": old.href}});
                self.agent.put(&old.href)
            }
            None => self.agent.post(self.at(&format!("{ROOT}/subscriptions"))),
        };
        let mut request = request.content_type("application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", token);
        }
        let answer = bounded(request.send(body.to_string()));
        if let (Some(_), Ok((404, _))) = (old, &answer) {
            // The service has forgotten the subscription, so this makes a new one.
            return self.subscribe(callback, topic, None);
        }
        let body = good(answer, "a subscription")?;
        let wrong = |why: String| Refused { status: None, why };
        let made: Value =
            serde_json::from_slice(&body).map_err(|e| wrong(format!("the subscription: {e}")))?;
        let href = made["_links"]["self"]["href"].as_str();
        let path = href.and_then(|href| href.find(ROOT).map(|at| &href[at..]));
        let path = path.ok_or_else(|| wrong("the subscription has no address".into()))?;
        // The service may have granted a shorter time.
        let deadline = made["expiryDeadline"]["seconds"].as_u64().unwrap_or(seconds);
        let granted = Duration::from_secs(deadline.saturating_sub(now.seconds.into()));
        let renew_at = clock::now() + (granted.min(expiry) / 2).max(MISSED);
        // The service's own name for its address may belong to another network of it, so only the
        // path counts.
        Ok(Subscribed { href: self.at(path), renew_at })
    }
}

/// Why a request failed, and its status.
struct Refused {
    status: Option<u16>,
    why: String,
}

/// The body of a good answer; `what` names the request in errors.
fn good(answer: Result<(u16, Vec<u8>), String>, what: &str) -> Result<Vec<u8>, Refused> {
    let (status, body) = answer.map_err(|why| Refused { status: None, why })?;
    if (200..300).contains(&status) {
        return Ok(body);
    }
    let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
    let detail = problem["detail"].as_str().unwrap_or("no reason given");
    let detail: String = detail.chars().filter(|c| !c.is_control()).take(200).collect();
    Err(Refused { status: Some(status), why: format!("{what}: HTTP {status}, {detail}") })
}
