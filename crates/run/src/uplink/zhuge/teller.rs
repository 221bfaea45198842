//! The Fortune Teller: predicts the wait of a packet that arrives for a UE.

use super::{ZhugeConfig, ZhugePreset};
use justfull_base::{Duration, Instant};
use std::collections::VecDeque;

/// The time in which departures are counted together.
const TICK: Duration = Duration::from_millis(1);

/// A prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// The delay of the packet.
    pub(super) total: Duration,
    /// Bytes that wait before it.
    pub(super) bytes: u64,
}

/// The departures of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    /// This many bytes departed.
    Sent(u64),
    /// Packets waited at its end, and none departed.
    Busy,
    /// No packet waited at its end.
    Idle,
}

/// Departures of the last ticks.
#[derive(Clone, Debug)]
struct Meter {
    /// Number of ticks in the window.
    window: usize,
    ticks: VecDeque<Tick>,
    /// Begin of the tick that is counted now, and bytes that have departed in it.
    since: Instant,
    sent: u64,
    /// Of the ticks in the window: bytes that departed, ticks with a departure, idle ticks, and the
    /// most bytes of one tick.
    bytes: u64,
    sending: u64,
    idle: u64,
    burst: u64,
    /// Mean rate in bit/s, and mean time from one tick with a departure to the next.
    rate: f64,
    gap: Duration,
}

impl Meter {
    fn new(window: Duration) -> Self {
        let window = (window.as_nanos() / TICK.as_nanos()).max(1) as usize;
        Self {
            window,
            ticks: VecDeque::with_capacity(window),
            since: Instant::ZERO,
            sent: 0,
            bytes: 0,
            sending: 0,
            idle: 0,
            burst: 0,
            rate: 0.0,
            gap: Duration::ZERO,
        }
    }

    /// Ends the ticks up to `now`, in which `waiting` bytes have waited since the last event.
    fn pass(&mut self, now: Instant, waiting: u64, released: bool) {
        let over = now.since(self.since).as_nanos() / TICK.as_nanos();
        // Equal ticks beyond the window change nothing.
        let counted = over.min(self.window as u64 + 1);
        for _ in 0..counted {
            let tick = match std::mem::take(&mut self.sent) {
                0 if waiting > 0 => Tick::Busy,
                0 => Tick::Idle,
                bytes => Tick::Sent(bytes),
            };
            self.push(tick);
            self.settle(released);
        }
        self.since += TICK.times(over);
    }

    fn push(&mut self, tick: Tick) {
        if self.ticks.len() == self.window {
            match self.ticks.pop_front() {
                Some(Tick::Sent(bytes)) => {
                    (self.bytes, self.sending) = (self.bytes - bytes, self.sending - 1);
                    if bytes == self.burst {
                        self.burst = self.ticks.iter().map(|tick| tick.sent()).max().unwrap_or(0);
                    }
                }
                Some(Tick::Idle) => self.idle -= 1,
                Some(Tick::Busy) | None => {}
            }
        }
        match tick {
            Tick::Sent(bytes) => {
                (self.bytes, self.sending) = (self.bytes + bytes, self.sending + 1);
                self.burst = self.burst.max(bytes);
            }
            Tick::Idle => self.idle += 1,
            Tick::Busy => {}
        }
        self.ticks.push_back(tick);
    }

    /// Updates rate and gap after a tick. In a window of idle ticks both keep their values.
    fn settle(&mut self, released: bool) {
        let active = self.ticks.len() as u64 - self.idle;
        if active == 0 {
            return;
        }
        self.rate = if released {
            // The program divides whole numbers, and by a full window also at the start.
            ((self.bytes * 8) / (self.window as u64 - self.idle) * 1000) as f64
        } else {
            (self.bytes * 8) as f64 / (active as f64 * TICK.as_secs_f64())
        };
        self.gap = match self.sending {
            0 => TICK.times(self.window as u64),
            sending if released => Duration::from_micros(1000 * active / sending),
            sending => Duration::from_nanos(TICK.as_nanos() * active / sending),
        };
    }
}

impl Tick {
    const fn sent(self) -> u64 {
        if let Self::Sent(bytes) = self { bytes } else { 0 }
    }
}

/// Predicts for the packets of one UE.
#[derive(Clone, Debug)]
pub(super) struct Teller {
    preset: ZhugePreset,
    least_rate: f64,
    meter: Meter,
    /// Bytes that wait in SDAP and RLC.
    waiting: u64,
    /// Since when the first packet is the first.
    first_since: Instant,
}

impl Teller {
    pub(super) fn new(config: &ZhugeConfig) -> Self {
        Self {
            preset: config.preset,
            least_rate: config.least_rate.0 as f64,
            meter: Meter::new(config.window),
            waiting: 0,
            first_since: Instant::ZERO,
        }
    }

    fn pass(&mut self, now: Instant) {
        self.meter.pass(now, self.waiting, self.preset == ZhugePreset::AsReleased);
    }

    /// A packet of `size` bytes enters the queue at `now`.
    pub(super) fn entered(&mut self, now: Instant, size: u32) {
        self.pass(now);
        if self.waiting == 0 {
            self.first_since = now;
        }
        self.waiting += u64::from(size);
    }

    /// A packet of `size` bytes leaves the queue for the UE at `now`.
    pub(super) fn departed(&mut self, now: Instant, size: u32) {
        self.dropped(now, size);
        self.meter.sent += u64::from(size);
        self.first_since = now;
    }

    /// A packet of `size` bytes is taken out of the queue at `now`.
    pub(super) fn dropped(&mut self, now: Instant, size: u32) {
        self.pass(now);
        self.waiting = self.waiting.saturating_sub(u64::from(size));
    }

    /// Predicts the delay of a packet that arrives at `now` and is not in the queue yet.
    pub(super) fn tell(&mut self, now: Instant) -> Told {
        self.pass(now);
        let (bytes, rate) = (self.waiting, self.meter.rate.max(self.least_rate));
        let total = match self.preset {
            ZhugePreset::AsPublished => {
                let long = bytes.saturating_sub(self.meter.burst);
                let short = if bytes > 0 { now.since(self.first_since) } else { Duration::ZERO };
                Duration::from_secs_f64((long * 8) as f64 / rate) + short + self.meter.gap
            }
            ZhugePreset::AsReleased => {
                let long = (1000.0 * ((bytes * 8) as f64 / rate)) as u64;
                Duration::from_millis(long + self.meter.gap.as_nanos() / 1_000_000)
            }
        };
        Told { total, bytes }
    }
}
