//! Adaptive video over HTTP (DASH, HLS): a player that requests one chunk after another and selects
//! the bitrate of each.
//!
//! Each chunk holds the same time of video in one of the bitrates of the ladder. The player
//! requests a chunk over a persistent TCP connection; a request is one packet on the uplink. The
//! player keeps one request under way while the buffer has room for a further chunk, and waits
//! otherwise. Playback begins once the buffer holds `startup`; if the buffer runs empty, playback
//! stalls until the buffer holds `startup` again. The defaults are Pensieve's: six bitrates of 300
//! to 4300 kbit/s, chunks of 4 s, a buffer of 60 s (Mao et al., SIGCOMM 2017, section 5.1).
//!
//! The quality of experience is QoE_lin of the same paper and of Yin et al. 2015: the sum over
//! chunks of the bitrate in Mbit/s, less 4.3 for each second of stall, less the changes of the
//! bitrate from chunk to chunk. The wait before the first picture is not a stall; it is counted
//! alone.
//!
//! The flow's `stop` is the user's departure: neither stalls nor chunks count after it.

pub(crate) mod abr;

pub use abr::{AbrConfig, BbaConfig, BolaConfig, DOCS as ABR_DOCS, MpcConfig, ThroughputConfig};

use self::abr::{History, View};
use super::{Request, RequestSize};
use crate::results::DashResult;
use crate::times::Times;
use crate::traffic::page::RETRY;
use justfull_base::error::ensure;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant, Ratio, Rng, table};
use justfull_tcp::{ReceiverConfig, SenderConfig};
use serde::{Deserialize, Serialize};

/// Most bitrates of a ladder.
const MOST_RUNGS: usize = 16;

/// Greatest number of plans that MPC compares for a chunk.
const MOST_PLANS: u64 = 100_000;

/// Pensieve's ladder.
fn pensieve() -> Vec<BitRate> {
    [300, 750, 1200, 1850, 2850, 4300].map(|kbit_s| BitRate(kbit_s * 1000)).into()
}

table! {
    /// Settings of adaptive video.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct DashConfig: "Mao et al. 2017 section 5.1" with Default {
        /// Bitrates of the video.
        ladder: Vec<BitRate> = pensieve(),
            rule("2 to 16 rates of at least 1kbit/s, each above the one before", is_ladder);
        /// Time of video in a chunk.
        chunk: Duration = Duration::from_secs(4),
            within(Duration::from_millis(100), Duration::from_secs(60));
        /// Standard deviation of a chunk's size over its mean; sizes are cut at half and at one and
        /// a half of it.
        size_sd: Ratio = Ratio(0.0), within(Ratio(0.0), Ratio(0.25)), "as for frames of a video";
        /// Most video in the player's buffer.
        buffer: Duration = Duration::from_secs(60), rule("2 chunks to 1h", |c| {
            c.chunk.times(2) <= c.buffer && c.buffer <= Duration::from_secs(3600)
        });
        /// Video in the buffer at which playback begins, and goes on after a stall; 0 for one
        /// chunk.
        startup: Duration = Duration::ZERO,
            rule("at most buffer less a chunk", |c| c.startup + c.chunk <= c.buffer);
        /// Selects the bitrate of each chunk.
        abr: AbrConfig = AbrConfig::default();
        /// Size of a request on the IP layer, or the law of its payload.
        request: RequestSize = RequestSize::Constant(Bytes(350));
        /// A second of stall in the quality of experience, in Mbit/s.
        stall_penalty: f64 = 4.3, within(0.0, 1000.0);
        /// A change of the bitrate by 1 Mbit/s in the quality of experience, in Mbit/s.
        change_penalty: f64 = 1.0, within(0.0, 1000.0);
        /// The server's end of the connection.
        sender: SenderConfig = SenderConfig::default();
        /// The UE's end of the connection.
        receiver: ReceiverConfig = ReceiverConfig::default();
    }
}

fn is_ladder(config: &DashConfig) -> bool {
    let ladder = &config.ladder;
    (2..=MOST_RUNGS).contains(&ladder.len())
        && ladder[0].0 >= 1000
        && ladder.windows(2).all(|pair| pair[0] < pair[1])
}

impl DashConfig {
    /// Most video in the buffer when a chunk is requested.
    fn most_before(&self) -> Duration {
        self.buffer - self.chunk
    }

    /// Checks every bound; `mtu` is the cell's.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn fits(&self, mtu: u32) -> Result<(), ConfigError> {
        self.request.validate(mtu)?;
        super::check_mss(&self.sender, mtu)?;
        self.validate()?;
        match &self.abr {
            AbrConfig::Bola(BolaConfig { low }) => {
                let most = self.most_before();
                let bound = format!("above 0s, below the buffer less a chunk, {most}");
                let why = "the bitrate grows between the two";
                ensure(!low.is_zero() && *low < most, "abr.low", low, &bound, why)
            }
            AbrConfig::Mpc(MpcConfig { horizon, .. }) => {
                let rungs = self.ladder.len() as u64;
                let most = MOST_PLANS.ilog(rungs);
                let bound = format!("1 to {most} with {rungs} bitrates");
                let why = "bitrates to the power of horizon, at most 100000, are the plans of a \
                           chunk";
                ensure(*horizon <= most, "abr.horizon", horizon, &bound, why)
            }
            AbrConfig::Bba(_) | AbrConfig::Throughput(_) => Ok(()),
        }
    }
}

/// The state of playback.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Playback {
    /// Nothing yet.
    Waiting,
    /// The video, since the start of the playback at this instant.
    Playing,
    /// A picture that stands still since this instant.
    Stalled(Instant),
}

/// A chunk that is requested.
#[derive(Clone, Copy, Debug)]
struct Pending {
    asked: Instant,
    rung: usize,
    bytes: u64,
}

/// A chunk that has arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chunk {
    /// Instant of its request.
    pub asked: Instant,
    /// Its bitrate.
    pub rate: BitRate,
    /// The bitrate of the chunk before; none for the first.
    pub before: Option<BitRate>,
}

/// The effects of an arrival on a player.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown {
    /// The chunk that is complete.
    pub chunk: Option<Chunk>,
    /// Playback begins, this long after the first request.
    pub started: Option<Duration>,
    /// Playback goes on after a stall since this instant.
    pub stalled: Option<Instant>,
    /// Call the player at this instant.
    pub wake: Option<Instant>,
}

/// A player.
#[derive(Clone, Debug)]
pub struct Player {
    config: DashConfig,
    /// Bitrates in Mbit/s.
    ladder: Vec<f64>,
    rng: Rng,
    stop: Instant,
    mtu: u32,
    playback: Playback,
    /// Instant of the first request; none before it.
    first: Option<Instant>,
    /// Start of the playback; none before it.
    started: Option<Instant>,
    /// Video in the buffer at `at`.
    buffer: Duration,
    at: Instant,
    pending: Option<Pending>,
    /// Bytes requested since the start.
    requested: u64,
    last: Option<usize>,
    history: History,
    refused: Option<Request>,
}

impl Player {
    /// A player that requests its first chunk when it is called for the first time.
    #[must_use]
    pub fn new(config: &DashConfig, mtu: u32, stop: Instant, rng: Rng) -> Self {
        Self {
            config: config.clone(),
            ladder: config.ladder.iter().map(|rate| rate.as_mbit_s()).collect(),
            rng,
            stop,
            mtu,
            playback: Playback::Waiting,
            first: None,
            started: None,
            buffer: Duration::ZERO,
            at: Instant::ZERO,
            pending: None,
            requested: 0,
            last: None,
            history: History::new(),
            refused: None,
        }
    }

    /// The player's timer has fired; appends a request to `out`.
    pub fn wake(&mut self, now: Instant, out: &mut Vec<Request>) {
        out.extend(self.refused.take());
        if self.pending.is_none() && now < self.stop {
            self.play_until(now);
            self.request(now, out);
        }
    }

    /// `request` found no room; returns the instant for another try.
    pub fn refused(&mut self, now: Instant, request: Request) -> Instant {
        self.refused = Some(request);
        now + RETRY
    }

    /// Shows the video up to `now`.
    fn play_until(&mut self, now: Instant) {
        if self.playback == Playback::Playing {
            let empty = self.at + self.buffer;
            if empty < now {
                self.playback = Playback::Stalled(empty);
            }
            self.buffer = self.buffer.saturating_sub(now.since(self.at));
        }
        self.at = now;
    }

    /// Requests a chunk. The caller has updated the buffer's level to `now`.
    fn request(&mut self, now: Instant, out: &mut Vec<Request>) {
        let config = &self.config;
        let rung = config.abr.choose(&View {
            ladder: &self.ladder,
            chunk_s: config.chunk.as_secs_f64(),
            most_s: config.most_before().as_secs_f64(),
            buffer_s: self.buffer.as_secs_f64(),
            last: self.last,
            history: &self.history,
            penalties: [config.stall_penalty, config.change_penalty],
        });
        let share = match config.size_sd.0 {
            0.0 => 1.0,
            sd => (1.0 + sd * self.rng.normal()).clamp(0.5, 1.5),
        };
        let mean = self.ladder[rung] * 1e6 / 8.0 * config.chunk.as_secs_f64();
        let bytes = ((mean * share + 0.5) as u64).max(1);
        let size = config.request.draw(&mut self.rng, config.sender.header, self.mtu);
        self.requested += bytes;
        self.first.get_or_insert(now);
        self.pending = Some(Pending { asked: now, rung, bytes });
        out.push(Request { connection: 0, bytes, size });
    }

    /// `delivered` bytes have arrived in order since the start; appends the next request to `out`
    /// if the buffer has room.
    pub fn arrived(&mut self, now: Instant, delivered: u64, out: &mut Vec<Request>) -> Shown {
        let mut shown = Shown::default();
        if delivered < self.requested || now > self.stop {
            return shown;
        }
        let Some(Pending { asked, rung, bytes }) = self.pending.take() else { return shown };
        self.play_until(now);
        self.buffer += self.config.chunk;
        let took = now.since(asked).as_secs_f64();
        self.history.push(bytes as f64 * 8e-6 / took);
        let rate = |rung: usize| self.config.ladder[rung];
        let before = self.last.replace(rung).map(rate);
        shown.chunk = Some(Chunk { asked, rate: rate(rung), before });
        if self.playback != Playback::Playing && self.buffer >= self.config.startup {
            match self.playback {
                Playback::Stalled(since) => shown.stalled = Some(since),
                _ => {
                    self.started = Some(now);
                    shown.started = self.first.map(|first| now.since(first));
                }
            }
            self.playback = Playback::Playing;
        }
        let full = self.buffer.saturating_sub(self.config.most_before());
        if now + full >= self.stop {
            return shown;
        }
        if full.is_zero() {
            self.request(now, out);
        } else {
            shown.wake = Some(now + full);
        }
        shown
    }

    /// The instants between which the user watches in a run that ends at `end`, and the begin of a
    /// stall that lasts; none if playback never began.
    #[must_use]
    pub fn watched(&mut self, end: Instant) -> Option<Watched> {
        let to = end.min(self.stop);
        self.play_until(to);
        let stalled = match self.playback {
            Playback::Stalled(since) => Some(since),
            _ => None,
        };
        self.started.map(|from| Watched { from, to, stalled })
    }
}

/// The time in which a user watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Start of the playback.
    pub from: Instant,
    /// The end of the run, or the user's departure.
    pub to: Instant,
    /// The begin of a stall that lasts until then.
    pub stalled: Option<Instant>,
}

/// Counts for the players of one name, over chunks requested in the measured window.
pub(crate) struct DashCount {
    penalties: [f64; 2],
    chunks: u64,
    /// Sum of the bitrates, in bit/s.
    rates: u64,
    switches: u64,
    /// Sum of the changes of the bitrate, in bit/s.
    changes: u64,
    stalls: u64,
    stalled: Duration,
    watched: Duration,
    startup: Times,
    fetch: Times,
}

impl DashCount {
    pub(crate) fn new(config: &DashConfig) -> Self {
        Self {
            penalties: [config.stall_penalty, config.change_penalty],
            chunks: 0,
            rates: 0,
            switches: 0,
            changes: 0,
            stalls: 0,
            stalled: Duration::ZERO,
            watched: Duration::ZERO,
            startup: Times::new(),
            fetch: Times::new(),
        }
    }

    /// A chunk arrived `took` after its request.
    pub(crate) fn chunk(&mut self, chunk: &Chunk, took: Duration) {
        self.fetch.record(took);
        self.chunks += 1;
        self.rates += chunk.rate.0;
        let before = chunk.before.unwrap_or(chunk.rate);
        self.switches += u64::from(before != chunk.rate);
        self.changes += chunk.rate.0.abs_diff(before.0);
    }

    pub(crate) fn started(&mut self, after: Duration) {
        self.startup.record(after);
    }

    pub(crate) fn stalled(&mut self, time: Duration) {
        self.stalls += 1;
        self.stalled += time;
    }

    pub(crate) fn watched(&mut self, time: Duration) {
        self.watched += time;
    }

    pub(crate) fn finish(&self) -> DashResult {
        let [stall, change] = self.penalties;
        let (stalled_s, watched_s) = (self.stalled.as_secs_f64(), self.watched.as_secs_f64());
        let [rates, changes] = [self.rates, self.changes].map(|sum| BitRate(sum).as_mbit_s());
        let qoe_sum = rates - stall * stalled_s - change * changes;
        let of_chunks = |sum: f64| (self.chunks > 0).then(|| sum / self.chunks as f64);
        DashResult {
            chunks: self.chunks,
            bitrate_mean_mbit_s: of_chunks(self.rates as f64).map(|rate| rate / 1e6),
            switches: self.switches,
            stalls: self.stalls,
            stalled_s,
            watched_s,
            startup: self.startup.finish(),
            fetch: self.fetch.finish(),
            qoe_sum,
            qoe_mean: of_chunks(qoe_sum).or((self.stalls > 0).then_some(qoe_sum)),
        }
    }
}

#[cfg(test)]
mod tests;
