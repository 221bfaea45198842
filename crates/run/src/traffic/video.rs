//! Frames of a rendered video, as in cloud gaming: a burst of datagrams for each frame.
//!
//! TR 38.838 section 5.1 (single eye buffer, cloud gaming): frames at a fixed rate. Sizes are
//! truncated Gaussian, with a standard deviation of 10.5 % of the mean and within 50 % and 150 % of
//! it; arrivals have a truncated Gaussian jitter of 2 ms, within 4 ms. Its baseline is 30 Mbit/s
//! and 60 frames a second, its delay budget 15 ms. A frame is cut into full datagrams and is
//! complete when the last of them has reached the UE.

use crate::results::FrameResult;
use crate::times::Times;
use crate::traffic::{UDP_HEADER_BYTES, check_payload};
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant, Ratio, Rng, table};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

table! {
    /// Settings of a video.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct VideoConfig with Default {
        /// Frames per second.
        fps: u32 as "frames per second" = 60, within(1, 1000), "frames a second";
        /// Mean rate of the frames' contents, headers of datagrams not counted.
        rate: BitRate = BitRate(30_000_000),
            rule("2 B to 100 MB for each frame", |c| (2.0..=1e8).contains(&c.frame_bytes())),
            "a frame is sent";
        /// Standard deviation of a frame's size over its mean.
        size_sd: Ratio = Ratio(0.105),
            within(Ratio(0.0), Ratio(0.25)), "sizes are cut at half and at one and a half";
        /// Standard deviation of the time at which a frame is sent; twice that is the most.
        jitter_sd: Duration = Duration::from_millis(2),
            rule("at most a quarter of a frame", |c| {
                c.jitter_sd.as_nanos() <= c.period().as_nanos() / 4
            }),
            "frames keep their order";
        /// Payload of a full datagram.
        payload: Bytes = Bytes(1400), stated("1B to the MTU less 28B of headers");
        /// Time in which a frame should be complete.
        budget: Duration = Duration::from_millis(15);
    }
}

impl VideoConfig {
    /// Time between frames.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_nanos(1_000_000_000 / u64::from(self.fps.max(1)))
    }

    /// Mean size of a frame in bytes.
    fn frame_bytes(&self) -> f64 {
        self.rate.0 as f64 / 8.0 / f64::from(self.fps)
    }

    /// Checks every bound in a cell with this largest packet.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn fits(&self, mtu: u32) -> Result<(), ConfigError> {
        self.validate()?;
        check_payload(self.payload, mtu)
    }
}

/// A frame in transit.
#[derive(Clone, Copy, Debug)]
struct Frame {
    sent: Instant,
    /// Bytes that have not arrived.
    missing: u64,
}

/// The frames of one source.
#[derive(Clone, Debug)]
pub struct Video {
    config: VideoConfig,
    /// Time of sending of the current frame without jitter.
    nominal: Instant,
    /// Number of the first frame in `flight`.
    first: u64,
    flight: VecDeque<Frame>,
}

/// The effect of a datagram on its frame.
pub enum Progress {
    /// Datagrams are missing.
    Incomplete,
    /// The frame, sent at this instant, is complete.
    Complete(Instant),
}

impl Video {
    /// A video whose first frame is sent at `start`.
    #[must_use]
    pub fn new(config: &VideoConfig, start: Instant) -> Self {
        Self { config: config.clone(), nominal: start, first: 0, flight: VecDeque::new() }
    }

    /// The time of sending of the frame after the current one, at the configured rate and jitter.
    pub fn next(&mut self, now: Instant, skew: f64, rng: &mut Rng) -> Instant {
        self.nominal += self.config.period().scaled(skew);
        let jitter = rng.normal().clamp(-2.0, 2.0) + 2.0;
        (self.nominal + self.config.jitter_sd.scaled(jitter)).max(now + Duration::from_nanos(1))
    }

    /// Sends a frame: calls `push` with each datagram's size on the IP layer and the number of the
    /// frame.
    pub fn send(&mut self, now: Instant, rng: &mut Rng, mut push: impl FnMut(u32, u64)) {
        let (number, mut left) = self.frame(now, self.config.frame_bytes(), rng);
        while left > 0 {
            let piece = left.min(self.config.payload.0);
            push(piece as u32 + UDP_HEADER_BYTES, number);
            left -= piece;
        }
    }

    /// Makes a frame at `now` of the law with this `mean` in bytes: its number and its size.
    pub(crate) fn frame(&mut self, now: Instant, mean: f64, rng: &mut Rng) -> (u64, u64) {
        let share = (1.0 + self.config.size_sd.0 * rng.normal()).clamp(0.5, 1.5);
        let bytes = ((mean * share + 0.5) as u64).max(1);
        let number = self.first + self.flight.len() as u64;
        self.flight.push_back(Frame { sent: now, missing: bytes });
        (number, bytes)
    }

    /// `payload` bytes of frame `number` have arrived. The path keeps a flow's order, so earlier
    /// incomplete frames will never be complete: `broken` gets the time of sending of each. If PDCP
    /// delivers out of order, a frame overtaken by a later one also counts as broken, and its later
    /// datagrams are ignored.
    pub fn arrived(
        &mut self,
        number: u64,
        payload: u64,
        mut broken: impl FnMut(Instant),
    ) -> Progress {
        while self.first < number {
            if let Some(frame) = self.flight.pop_front() {
                broken(frame.sent);
            }
            self.first += 1;
        }
        let frame = self.flight.front_mut().filter(|_| number == self.first);
        let Some(frame) = frame else { return Progress::Incomplete };
        frame.missing -= payload;
        if frame.missing > 0 {
            return Progress::Incomplete;
        }
        let sent = frame.sent;
        self.flight.pop_front();
        self.first += 1;
        Progress::Complete(sent)
    }
}

/// Counts for the videos of one name, over frames sent in the measured window.
pub(crate) struct FrameCount {
    budget: Duration,
    pub(crate) sent: u64,
    pub(crate) late: u64,
    pub(crate) broken: u64,
    pub(crate) completion: Times,
}

impl FrameCount {
    pub(crate) fn new(config: &VideoConfig) -> Self {
        Self { budget: config.budget, sent: 0, late: 0, broken: 0, completion: Times::new() }
    }

    pub(crate) fn complete(&mut self, after: Duration) {
        self.completion.record(after);
        self.late += u64::from(after > self.budget);
    }

    pub(crate) fn finish(&self) -> FrameResult {
        let completion = self.completion.finish();
        FrameResult {
            sent: self.sent,
            completed: completion.count,
            broken: self.broken,
            late: self.late,
            completion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_a_later_one_overtook_is_broken_once_and_its_rest_counts_for_nothing() {
        let config = VideoConfig { size_sd: Ratio(0.0), ..VideoConfig::default() };
        let mut video = Video::new(&config, Instant::ZERO);
        let mut rng = Rng::stream(1, "video");
        let mut sent = Vec::new();
        for ms in [0, 16] {
            let now = Instant::ZERO + Duration::from_millis(ms);
            video.send(now, &mut rng, |size, number| {
                sent.push((number, u64::from(size - UDP_HEADER_BYTES)))
            });
        }
        let mut broken = Vec::new();
        let mut complete = 0;
        // All of frame 0 except its last datagram, the first of frame 1, the last of frame 0, the
        // rest of frame 1.
        let last = sent.iter().position(|datagram| datagram.0 == 1).expect("two frames") - 1;
        let late = sent.remove(last);
        sent.insert(last + 1, late);
        for (number, payload) in sent {
            let progress = video.arrived(number, payload, |at| broken.push(at));
            complete += u32::from(matches!(progress, Progress::Complete(_)));
        }
        assert_eq!((broken, complete), (vec![Instant::ZERO], 1));
    }
}
