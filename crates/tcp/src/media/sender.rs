//! The sender: a queue of frames, the release of packets, and the packets in flight.

use super::{MediaArrival, MediaReport, RTP_HEADER_BYTES};
use crate::rc::{
    AnyRateControl, Departure, Encoded, Fate, Feedback, MediaBirth, RateController, RcConfig,
    Reporting,
};
use alloc::collections::VecDeque;
use justfull_base::{BitRate, ConfigError, Duration, Ecn, Instant};

/// After this time without a departure the sender forgets the packets in flight, since a lost
/// report would stop it otherwise (SCReAM's code). The control gets no loss.
const DEADLOCK: Duration = Duration::from_millis(500);

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaPacket {
    /// Its number.
    pub seq: u64,
    /// The number of its frame.
    pub frame: u64,
    /// Bytes of the frame in it.
    pub payload: u32,
    /// The last of its frame.
    pub last: bool,
    /// Its codepoint.
    pub ecn: Ecn,
}

/// The part of a frame that has not left.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    frame: u64,
    left: u64,
    since: Instant,
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct Flown {
    sent: Instant,
    bytes: u32,
    /// Bytes sent up to its end.
    through: u64,
    /// Its fate is known.
    known: bool,
}

/// State.
#[derive(Clone, Debug)]
pub struct MediaSender {
    control: AnyRateControl,
    reporting: Reporting,
    /// Payload of a full packet.
    payload: u64,
    queue: VecDeque<Waiting>,
    /// Packets from number `first` on.
    flight: VecDeque<Flown>,
    first: u64,
    sent_bytes: u64,
    /// The number after the highest reported one, when that packet left, and the bytes up to its
    /// end.
    acked: u64,
    acked_sent: Instant,
    acked_bytes: u64,
    release: Instant,
    last_sent: Instant,
}

impl MediaSender {
    /// A sender of a new call.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &RcConfig, birth: &MediaBirth) -> Result<Self, ConfigError> {
        let control = AnyRateControl::new(config, birth)?;
        Ok(Self {
            reporting: control.reporting(),
            control,
            payload: u64::from(birth.packet - RTP_HEADER_BYTES),
            queue: VecDeque::new(),
            flight: VecDeque::new(),
            first: 0,
            sent_bytes: 0,
            acked: 0,
            acked_sent: Instant::ZERO,
            acked_bytes: 0,
            release: Instant::ZERO,
            last_sent: Instant::ZERO,
        })
    }

    /// How its receiver reports.
    #[must_use]
    pub const fn reporting(&self) -> Reporting {
        self.reporting
    }

    /// Rate for the encoder.
    #[must_use]
    pub fn target(&self) -> BitRate {
        self.control.target()
    }

    /// Bytes sent beyond the highest reported packet.
    #[must_use]
    pub const fn in_flight(&self) -> u64 {
        self.sent_bytes - self.acked_bytes
    }

    /// Time for which the oldest packet in the queue has waited.
    #[must_use]
    pub fn waited(&self, now: Instant) -> Duration {
        self.queue.front().map_or(Duration::ZERO, |oldest| now.since(oldest.since))
    }

    /// Takes `frame` of `bytes`, at least one, from the encoder.
    pub fn write(&mut self, now: Instant, frame: u64, bytes: u64) {
        self.control.on_frame(&Encoded { bytes, waited: self.waited(now) });
        self.queue.push_back(Waiting { frame, left: bytes, since: now });
    }

    /// When it may send next; never with an empty queue.
    #[must_use]
    pub fn next(&self) -> Instant {
        match self.queue.front() {
            None => Instant::NEVER,
            Some(oldest) if self.has_room(oldest) => self.release,
            Some(_) => self.release.max(self.last_sent + DEADLOCK),
        }
    }

    fn has_room(&self, oldest: &Waiting) -> bool {
        let bytes = oldest.left.min(self.payload) + u64::from(RTP_HEADER_BYTES);
        let in_flight = self.in_flight();
        self.control.window().is_none_or(|window| in_flight == 0 || in_flight + bytes <= window)
    }

    /// The packet that may leave at `now`, if one may.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<MediaPacket> {
        if now < self.next() {
            return None;
        }
        let has_room = self.queue.front().is_some_and(|oldest| self.has_room(oldest));
        if !has_room {
            self.give_up_flight();
        }
        let oldest = self.queue.front_mut()?;
        let payload = oldest.left.min(self.payload);
        oldest.left -= payload;
        let (frame, last) = (oldest.frame, oldest.left == 0);
        if last {
            self.queue.pop_front();
        }
        let bytes = payload as u32 + RTP_HEADER_BYTES;
        let seq = self.first + self.flight.len() as u64;
        self.sent_bytes += u64::from(bytes);
        let through = self.sent_bytes;
        self.flight.push_back(Flown { sent: now, bytes, through, known: false });
        self.last_sent = now;
        self.release = now + self.control.pacing_rate().time_for_ceil(u64::from(bytes));
        self.control.on_sent(&Departure { now, bytes, in_flight: self.in_flight() });
        let ecn = self.control.codepoint();
        Some(MediaPacket { seq, frame, payload: payload as u32, last, ecn })
    }

    fn give_up_flight(&mut self) {
        self.first += self.flight.len() as u64;
        self.flight.clear();
        (self.acked, self.acked_bytes) = (self.first, self.sent_bytes);
    }

    /// `report` arrives with `arrivals`.
    pub fn on_report(
        &mut self,
        now: Instant,
        report: MediaReport,
        arrivals: impl Iterator<Item = MediaArrival>,
    ) {
        let (acked, acked_bytes) = (self.acked, self.acked_bytes);
        for arrival in arrivals {
            self.take(&arrival);
        }
        self.find_losses(report.first);
        let feedback = Feedback {
            now,
            rtt: (self.acked > acked).then(|| now.since(self.acked_sent)),
            newly_acked: self.acked_bytes - acked_bytes,
            in_flight: self.in_flight(),
        };
        self.control.on_feedback(&feedback);
    }

    fn take(&mut self, arrival: &MediaArrival) {
        let Some(index) = arrival.seq.checked_sub(self.first) else { return };
        let Some(flown) = self.flight.get_mut(index as usize).filter(|flown| !flown.known) else {
            return;
        };
        flown.known = true;
        let Flown { sent, bytes, through, .. } = *flown;
        if arrival.seq >= self.acked {
            (self.acked, self.acked_sent) = (arrival.seq + 1, sent);
            self.acked_bytes = through;
        }
        self.control.on_fate(&Fate { sent, bytes, arrival: Some(arrival.at), ce: arrival.ce });
    }

    /// Packets from number `covered` on that are older than the highest reported one are lost; the
    /// fate of earlier ones stays unknown.
    fn find_losses(&mut self, covered: u64) {
        let reordering = self.reporting.reordering();
        let reported = self.acked.saturating_sub(self.first) as usize;
        let first = self.first;
        for (seq, flown) in (first..).zip(self.flight.iter_mut().take(reported)) {
            if !flown.known && flown.sent + reordering <= self.acked_sent {
                flown.known = true;
                if seq >= covered {
                    let Flown { sent, bytes, .. } = *flown;
                    self.control.on_fate(&Fate { sent, bytes, arrival: None, ce: false });
                }
            }
        }
        while self.flight.front().is_some_and(|flown| flown.known) {
            self.flight.pop_front();
            self.first += 1;
        }
    }
}
