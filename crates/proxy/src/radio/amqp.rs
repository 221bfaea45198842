//! R22's radio information over AMQP 0.9.1 (section 5.1): messages of text. The routing key names
//! the UE.
//!
//! This client has only the methods that a reader needs. It reads a message at once, and drops it
//! if the loop is late: no broker can fill the memory, and a report has the time of its arrival.

mod wire;

use super::config::{AmqpConfig, host_port};
use super::{Sink, State, connect, stream};
use justfull_net::clock::{Clock, SlotClock, now};
use justfull_rnis::{Report, UeTable, flexran, tls_client};
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_rustls::rustls::ClientConfig;
use wire::{Arguments, BODY, Fields, HEADER, Id, LONGEST_FRAME, Wire};

/// Time limit for a connection and all steps before the first message.
const PATIENCE: Duration = Duration::from_millis(900);
/// Seconds between two heartbeats of the broker, and time between two of the proxy.
const HEARTBEAT: u16 = 5;
const SIGN: Duration = Duration::from_secs(2);
/// Silence after which the connection is closed.
const GONE: Duration = Duration::from_secs(2 * HEARTBEAT as u64);
/// Longest read before the connection's timers are checked.
const LOOK: Duration = Duration::from_millis(250);
/// Longest message that is read.
const LONGEST: u64 = 1_024;
/// The one channel.
const CHANNEL: u16 = 1;

const START: Id = [10, 10];
const START_OK: Id = [10, 11];
const TUNE: Id = [10, 30];
const TUNE_OK: Id = [10, 31];
const OPEN: Id = [10, 40];
const OPEN_OK: Id = [10, 41];
const CLOSE: Id = [10, 50];
const CHANNEL_OPEN: Id = [20, 10];
const CHANNEL_OPEN_OK: Id = [20, 11];
const CHANNEL_CLOSE: Id = [20, 40];
const DECLARE: Id = [50, 10];
const DECLARE_OK: Id = [50, 11];
const BIND: Id = [50, 20];
const BIND_OK: Id = [50, 21];
const CONSUME: Id = [60, 20];
const CONSUME_OK: Id = [60, 21];
const CANCEL: Id = [60, 30];
const DELIVER: Id = [60, 60];

pub(super) fn start(config: AmqpConfig, sink: Sink) -> io::Result<()> {
    let mut table = UeTable::read(config.ues.as_ref())?;
    let clock = SlotClock::start().map_err(io::Error::other)?;
    let trust = config.access.trust(Some(&config.ca_file));
    let tls = config.tls.then(|| tls_client(&trust)).transpose()?;
    connect(sink, move |sink| {
        let mut session = match open(&config, tls.as_ref()) {
            Ok(session) => session,
            Err(why) => return Some(why),
        };
        session.follow(sink, clock, &mut table)
    })
}

/// A connection.
struct Session {
    wire: Wire,
    /// Deadline of the first message.
    until: Instant,
    /// Queues without a confirmation yet that they are read.
    waits: usize,
}

/// A message on its way: its routing key, its text unless it is too long, and the bytes still
/// missing.
enum Coming {
    Nothing,
    Header(String),
    Body(String, Option<Vec<u8>>, u64),
}

/// Connects, and requests the messages.
fn open(config: &AmqpConfig, tls: Option<&Arc<ClientConfig>>) -> Result<Session, String> {
    let (host, port) = host_port(&config.address).ok_or("the address has no port")?;
    // A broker with OAuth 2.0 accepts the token in place of the password.
    let password = match config.password_file.as_str() {
        "" => config.access.token()?.unwrap_or_else(|| "guest".to_owned()),
        file => {
            let read = read_text(file.as_ref(), SETTINGS_LIMIT);
            let read = read.map_err(|e| format!("{file}: {e}"))?;
            read.trim_end_matches(['\r', '\n']).to_owned()
        }
    };
    let until = now() + PATIENCE;
    let (tcp, stream) = stream::open(host, port, tls)?;
    tcp.set_read_timeout(Some(LOOK)).map_err(|e| e.to_string())?;
    let mut session = Session { wire: Wire::new(stream), until, waits: 0 };
    session.wire.greet()?;
    session.expect(START, |_| Some(()))?;
    session.wire.call(0, &start_ok(&config.user, &password))?;
    // 0 means no bound.
    let least = |offered: u32, own: u32| if offered == 0 { own } else { own.min(offered) };
    let [frame, heartbeat] = session.expect(TUNE, |fields| {
        fields.skip(2)?;
        Some([fields.u32()?, fields.u16()?.into()])
    })?;
    let heartbeat = least(heartbeat, HEARTBEAT.into()) as u16;
    let tune_ok = Arguments::of(TUNE_OK).u16(CHANNEL).u32(least(frame, LONGEST_FRAME));
    session.wire.call(0, &tune_ok.u16(heartbeat))?;
    session.wire.call(0, &Arguments::of(OPEN).short(&config.virtual_host).short("").u8(0))?;
    session.expect(OPEN_OK, |_| Some(()))?;
    session.wire.call(CHANNEL, &Arguments::of(CHANNEL_OPEN).short(""))?;
    session.expect(CHANNEL_OPEN_OK, |_| Some(()))?;
    let mut queues = config.queues.clone();
    if !config.exchange.is_empty() {
        queues = vec![session.own_queue(&config.exchange, &config.queues)?];
    }
    for queue in &queues {
        // Without acknowledgements: only the newest message matters.
        let consume = Arguments::of(CONSUME).u16(0).short(queue).short("").u8(NO_ACK).u32(0);
        session.wire.call(CHANNEL, &consume)?;
    }
    session.waits = queues.len();
    Ok(session)
}

/// Bits of `CONSUME` and `DECLARE`.
const NO_ACK: u8 = 2;
const EXCLUSIVE: u8 = 4;
const AUTO_DELETE: u8 = 8;

/// Name and password of the user. The client properties request a report if the broker refuses
/// them.
fn start_ok(user: &str, password: &str) -> Arguments {
    let flag = |name: &str| [&[name.len() as u8], name.as_bytes(), b"t\x01"].concat();
    let inner = flag("authentication_failure_close");
    let mut properties =
        [&[12], &b"capabilitiesF"[..], &(inner.len() as u32).to_be_bytes()].concat();
    properties.extend_from_slice(&inner);
    let secret = format!("\0{user}\0{password}");
    let who = Arguments::of(START_OK).long(&properties).short("PLAIN");
    who.long(secret.as_bytes()).short("en_US")
}

/// Why the other end closed.
fn reason(mut fields: Fields<'_>) -> String {
    let code = fields.u16().unwrap_or(0);
    let text = fields.short().unwrap_or("no reason given");
    let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    format!("the broker says {code}, {text}")
}

impl Session {
    /// Waits for the method `id`; `read` extracts the needed arguments.
    fn expect<T>(
        &mut self,
        id: Id,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Result<T, String> {
        while now() < self.until {
            let Some(frame) = self.wire.next()? else { continue };
            match frame.method() {
                Some((found, mut fields)) if found == id => {
                    return read(&mut fields).ok_or_else(|| "a frame without its fields".into());
                }
                Some((CLOSE | CHANNEL_CLOSE, fields)) => return Err(reason(fields)),
                // Heartbeats.
                _ => {}
            }
        }
        Err("no answer in time".into())
    }

    /// Declares a queue, and binds it to `exchange` by `keys`. Returns its name.
    fn own_queue(&mut self, exchange: &str, keys: &[String]) -> Result<String, String> {
        let declare = Arguments::of(DECLARE).u16(0).short("").u8(EXCLUSIVE | AUTO_DELETE).u32(0);
        self.wire.call(CHANNEL, &declare)?;
        let own = self.expect(DECLARE_OK, |fields| fields.short().map(str::to_owned))?;
        for key in keys {
            let bind = Arguments::of(BIND).u16(0).short(&own).short(exchange).short(key);
            self.wire.call(CHANNEL, &bind.u8(0).u32(0))?;
            self.expect(BIND_OK, |_| Some(()))?;
        }
        Ok(own)
    }

    /// Reads until the connection ends, and returns why; none if no receiver is left.
    fn follow(&mut self, sink: &Sink, mut clock: SlotClock, table: &mut UeTable) -> Option<String> {
        let (mut heard, mut signed, mut refreshed) = (now(), now(), now());
        let mut coming = Coming::Nothing;
        loop {
            let frame = match self.wire.next() {
                Ok(frame) => frame,
                Err(why) => return Some(why),
            };
            let came = frame.is_some();
            match frame {
                None => {}
                Some(frame) if frame.kind == HEADER => coming = coming.begin(frame.payload),
                Some(frame) if frame.kind == BODY => coming = coming.with(frame.payload),
                Some(frame) => match frame.method() {
                    Some((DELIVER, mut fields)) => coming = Coming::of(&mut fields),
                    Some((CONSUME_OK, _)) => {
                        self.waits = self.waits.saturating_sub(1);
                        if self.waits == 0 {
                            sink.state(State::Connected);
                        }
                    }
                    Some((CLOSE | CHANNEL_CLOSE, fields)) => return Some(reason(fields)),
                    Some((CANCEL, _)) => return Some("the broker has removed the queue".into()),
                    _ => {}
                },
            }
            if let Coming::Body(key, text, 0) = &coming {
                if !deliver(sink, key, text.as_deref(), &mut clock, table) {
                    return None;
                }
                coming = Coming::Nothing;
            }
            if self.wire.has_frame() {
                continue;
            }
            // No message is left, so there is time for other work.
            sink.wake();
            let at = now();
            heard = if came { at } else { heard };
            if at.duration_since(heard) >= GONE {
                return Some("the broker is silent".into());
            }
            if self.waits > 0 && at >= self.until {
                return Some("no answer in time".into());
            }
            if at.duration_since(refreshed) >= LOOK {
                refreshed = at;
                // After an error the old table stays; the one who writes a wrong file gets the
                // error there.
                let _kept = table.refresh();
            }
            if at.duration_since(signed) >= SIGN {
                signed = at;
                if let Err(why) = self.wire.heartbeat() {
                    return Some(why);
                }
            }
        }
    }
}

/// Passes a message on; false if no receiver is left.
fn deliver(
    sink: &Sink,
    key: &str,
    text: Option<&[u8]>,
    clock: &mut SlotClock,
    table: &mut UeTable,
) -> bool {
    if table.named(key).is_none() {
        // The UE may be new in the file.
        let _kept = table.refresh();
    }
    let Some(ue) = table.named(key) else {
        sink.unknown(1);
        return true;
    };
    let of_cell = |report| Report { cell: ue.cell.clone(), pool: ue.pool.clone(), ..report };
    match text {
        Some(text) => sink.take(flexran(text, &ue.addresses, clock.now()).map(of_cell)),
        None => sink.take(Err("it is too long".into())),
    }
}

impl Coming {
    /// The message that `DELIVER` announces.
    fn of(fields: &mut Fields<'_>) -> Self {
        let mut key = || {
            fields.short()?;
            fields.skip(9)?;
            fields.short()?;
            fields.short().map(str::to_owned)
        };
        // An unreadable key names no UE.
        Self::Header(key().unwrap_or_default())
    }

    /// Adds the length from its header.
    fn begin(self, payload: &[u8]) -> Self {
        let Self::Header(key) = self else { return Self::Nothing };
        let mut fields = Fields(payload);
        let left = fields.skip(4).and_then(|()| fields.u64()).unwrap_or(0);
        Self::Body(key, (left <= LONGEST).then(Vec::new), left)
    }

    /// Adds a part of its text.
    fn with(self, payload: &[u8]) -> Self {
        let Self::Body(key, mut text, left) = self else { return Self::Nothing };
        let taken = left.min(payload.len() as u64);
        if let Some(text) = &mut text {
            text.extend_from_slice(&payload[..taken as usize]);
        }
        Self::Body(key, text, left - taken)
    }
}
