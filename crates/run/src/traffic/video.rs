//! Frames of a rendered video, as in cloud gaming: a burst of datagrams for each frame.
//!
//! TR 38.838 section 5.1 (single eye buffer, cloud gaming): frames at a fixed rate. Sizes are
//! truncated Gaussian, with a standard deviation of 10.5 % of the mean and within 50 % and 150 % of
//! it; arrivals have a truncated Gaussian jitter of 2 ms, within 4 ms. Its baseline is 30 Mbit/s
//! and 60 frames a second, its delay budget 15 ms. A frame is cut into full datagrams and is
//! complete when the last of them has reached the UE.
//!
//! A frame is shown when it is complete. By W3C's webrtc-stats (`freezeCount`) an interval between
//! two shown frames is a freeze if it is at least three times the mean of the last 30 intervals,
//! and at least 150 ms longer than it. The first frame's interval begins with the source; before
//! there is a mean, the time between frames takes its place.
//!
//! With `inputs` the player's UE sends a datagram at each interval (TR 38.838 section 5.1.2: pose
//! and control, 100 B every 4 ms). An input shows in the first complete frame that the server sends
//! after the arrival of the input.

use crate::results::FrameResult;
use crate::times::Times;
use crate::traffic::{UDP_HEADER_BYTES, check_payload};
use justfull_base::error::ensure;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant, PduSet, Ratio, Rng, table};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

table! {
    /// Inputs of the user of a rendered video.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct InputConfig: "TR 38.838 section 5.1.2" with Default {
        /// Time between inputs.
        interval: Duration = Duration::from_millis(4), at_least(Duration::from_micros(1));
        /// Size of an input on the IP layer.
        size: Bytes = Bytes(100), rule("29B to the MTU", |c| c.size.0 > 28);
    }
}

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
        /// Temporal layers: frames of a higher layer are less important. Of two layers the higher
        /// one has every second frame; of three the second has every fourth, the third a half.
        #[serde(skip_serializing_if = "is_one")]
        layers: u8 as "layers" = 1, within(1, 3), "L1T1 to L1T3 of W3C's webrtc-svc";
        /// Inputs of the user, which go up; none without.
        #[serde(skip_serializing_if = "Option::is_none")]
        inputs: Option<InputConfig> = None;
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) const fn is_one(layers: &u8) -> bool {
    *layers == 1
}

/// The PDU set of frame `number` of a video with `layers` temporal layers. Its importance is the
/// number of its layer, from 1 on.
#[must_use]
pub(super) const fn pdu_set(layers: u8, number: u64) -> PduSet {
    let importance = match (layers, number % 4) {
        (1, _) | (_, 0) | (2, 2) => 1,
        (_, 2) => 2,
        _ => layers,
    };
    PduSet { number: number as u16, importance }
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
        if let Some(InputConfig { size, .. }) = &self.inputs {
            let fits = size.0 <= u64::from(mtu);
            ensure(fits, "inputs.size", size, "29B to the MTU", "one packet")?;
        }
        check_payload(self.payload, mtu)
    }
}

/// A frame in transit.
#[derive(Clone, Copy, Debug)]
struct Frame {
    sent: Instant,
    /// Bytes that have not arrived.
    missing: u64,
    /// Inputs that had reached the server when it was sent.
    inputs: u64,
}

/// Number of intervals between shown frames whose mean counts.
const INTERVALS: usize = 30;

/// The intervals between shown frames.
#[derive(Clone, Debug)]
struct Screen {
    /// The last shown frame; the start before the first.
    last: Instant,
    frames: u64,
    /// The last intervals between frames, and their sum.
    intervals: VecDeque<Duration>,
    sum: Duration,
}

impl Screen {
    fn new(start: Instant) -> Self {
        let intervals = VecDeque::with_capacity(INTERVALS);
        Self { last: start, frames: 0, intervals, sum: Duration::ZERO }
    }

    /// The begin of the interval that ends at `now` if it is a freeze; `period` stands for the mean
    /// before there is one.
    fn frozen(&self, now: Instant, period: Duration) -> Option<Instant> {
        let mean = match self.intervals.len() as u64 {
            0 => period,
            n => Duration::from_nanos(self.sum.as_nanos() / n),
        };
        let least = mean.times(3).max(mean + Duration::from_millis(150));
        (now.since(self.last) >= least).then_some(self.last)
    }

    /// A frame is shown at `now`.
    fn show(&mut self, now: Instant) {
        if self.frames > 0 {
            if self.intervals.len() == INTERVALS
                && let Some(oldest) = self.intervals.pop_front()
            {
                self.sum -= oldest;
            }
            let interval = now.since(self.last);
            self.intervals.push_back(interval);
            self.sum += interval;
        }
        self.frames += 1;
        self.last = now;
    }
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
    start: Instant,
    screen: Screen,
    /// Instants at which the UE sent the inputs that have reached the server and are not shown.
    inputs: VecDeque<Instant>,
    /// Number of inputs that are shown.
    reacted: u64,
}

/// The effect of a datagram on its frame.
pub enum Progress {
    /// Datagrams are missing.
    Incomplete,
    /// The frame is complete and shown.
    Complete(Complete),
}

/// The fate of a frame or of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The frame will never be complete.
    Broken,
    /// The input is shown.
    Shown,
}

/// A complete frame.
#[derive(Clone, Copy, Debug)]
pub struct Complete {
    /// Instant at which it was sent.
    pub sent: Instant,
    /// The begin of the freeze that it ends; none without a freeze.
    pub frozen: Option<Instant>,
}

impl Video {
    /// A video whose first frame is sent at `start`.
    #[must_use]
    pub fn new(config: &VideoConfig, start: Instant) -> Self {
        Self {
            config: config.clone(),
            nominal: start,
            first: 0,
            flight: VecDeque::new(),
            start,
            screen: Screen::new(start),
            inputs: VecDeque::new(),
            reacted: 0,
        }
    }

    /// An input that the UE sent at `sent` reaches the server.
    pub fn input(&mut self, sent: Instant) {
        self.inputs.push_back(sent);
    }

    /// The instant of the first frame, and the begin of a freeze that lasts until `end`.
    #[must_use]
    pub fn watched(&self, end: Instant) -> (Instant, Option<Instant>) {
        (self.start, self.screen.frozen(end, self.config.period()))
    }

    /// The PDU set of frame `number`.
    #[must_use]
    pub const fn set_of(&self, number: u64) -> PduSet {
        pdu_set(self.config.layers, number)
    }

    /// Calls `each` with the sending time of each frame that is in transit at `end` and within its
    /// budget.
    pub fn open(&self, end: Instant, mut each: impl FnMut(Instant)) {
        let young = |frame: &&Frame| end.since(frame.sent) <= self.config.budget;
        self.flight.iter().filter(young).for_each(|frame| each(frame.sent));
    }

    /// The time of sending of the frame after the current one, at the configured rate and jitter.
    pub fn next(&mut self, now: Instant, skew: f64, rng: &mut Rng) -> Instant {
        self.nominal += self.config.period().scaled(skew);
        let jitter = rng.normal().clamp(-2.0, 2.0) + 2.0;
        (self.nominal + self.config.jitter_sd.scaled(jitter)).max(now + Duration::from_nanos(1))
    }

    /// Sends a frame: calls `push` with each datagram's size in bytes on the IP layer, and with the
    /// number and the PDU set of the frame.
    pub fn send(&mut self, now: Instant, rng: &mut Rng, mut push: impl FnMut(u32, u64, PduSet)) {
        let (number, mut left) = self.frame(now, self.config.frame_bytes(), rng);
        let set = self.set_of(number);
        while left > 0 {
            let piece = left.min(self.config.payload.0);
            push(piece as u32 + UDP_HEADER_BYTES, number, set);
            left -= piece;
        }
    }

    /// Makes a frame at `now` of the law with this `mean` in bytes: its number and its size.
    pub(crate) fn frame(&mut self, now: Instant, mean: f64, rng: &mut Rng) -> (u64, u64) {
        let share = (1.0 + self.config.size_sd.0 * rng.normal()).clamp(0.5, 1.5);
        let bytes = ((mean * share + 0.5) as u64).max(1);
        let number = self.first + self.flight.len() as u64;
        let inputs = self.reacted + self.inputs.len() as u64;
        self.flight.push_back(Frame { sent: now, missing: bytes, inputs });
        (number, bytes)
    }

    /// `payload` bytes of frame `number` have arrived at `now`. The path keeps a flow's order, so
    /// earlier incomplete frames will never be complete: `fate` gets the time of sending of each.
    /// If PDCP delivers out of order, a frame overtaken by a later one also counts as broken, and
    /// its later datagrams are ignored. `fate` also gets the time of sending of each input that the
    /// frame shows.
    pub fn arrived(
        &mut self,
        now: Instant,
        number: u64,
        payload: u64,
        mut fate: impl FnMut(Instant, Fate),
    ) -> Progress {
        while self.first < number {
            if let Some(frame) = self.flight.pop_front() {
                fate(frame.sent, Fate::Broken);
            }
            self.first += 1;
        }
        let frame = self.flight.front_mut().filter(|_| number == self.first);
        let Some(frame) = frame else { return Progress::Incomplete };
        frame.missing -= payload;
        if frame.missing > 0 {
            return Progress::Incomplete;
        }
        let Frame { sent, inputs, .. } = *frame;
        self.flight.pop_front();
        self.first += 1;
        while self.reacted < inputs {
            if let Some(input) = self.inputs.pop_front() {
                fate(input, Fate::Shown);
            }
            self.reacted += 1;
        }
        let frozen = self.screen.frozen(now, self.config.period());
        self.screen.show(now);
        Progress::Complete(Complete { sent, frozen })
    }
}

/// Counts for the videos of one name, over frames sent in the measured window.
pub(crate) struct FrameCount {
    budget: Duration,
    pub(crate) sent: u64,
    pub(crate) late: u64,
    pub(crate) broken: u64,
    pub(crate) completion: Times,
    freezes: u64,
    frozen: Duration,
    shown: Duration,
    pub(crate) inputs: u64,
    reaction: Times,
}

impl FrameCount {
    pub(crate) fn new(config: &VideoConfig) -> Self {
        let [completion, reaction] = [(); 2].map(|()| Times::new());
        let [frozen, shown] = [Duration::ZERO; 2];
        let [sent, late, broken, freezes, inputs] = [0; 5];
        let budget = config.budget;
        Self { budget, sent, late, broken, completion, freezes, frozen, shown, inputs, reaction }
    }

    pub(crate) fn complete(&mut self, after: Duration) {
        self.completion.record(after);
        self.late += u64::from(after > self.budget);
    }

    pub(crate) fn frozen(&mut self, time: Duration) {
        self.freezes += 1;
        self.frozen += time;
    }

    pub(crate) fn watched(&mut self, time: Duration) {
        self.shown += time;
    }

    /// An input was shown `after` it had been sent.
    pub(crate) fn reacted(&mut self, after: Duration) {
        self.reaction.record(after);
    }

    pub(crate) fn finish(&self) -> FrameResult {
        let completion = self.completion.finish();
        FrameResult {
            sent: self.sent,
            completed: completion.count,
            broken: self.broken,
            late: self.late,
            completion,
            freezes: self.freezes,
            frozen_s: self.frozen.as_secs_f64(),
            watched_s: self.shown.as_secs_f64(),
            inputs: self.inputs,
            reaction: self.reaction.finish(),
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
            video.send(now, &mut rng, |size, number, _| {
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
            let progress = video.arrived(Instant::ZERO, number, payload, |at, _| broken.push(at));
            complete += u32::from(matches!(progress, Progress::Complete(_)));
        }
        assert_eq!((broken, complete), (vec![Instant::ZERO], 1));
    }

    #[test]
    fn the_importance_of_a_frame_is_its_temporal_layer() {
        let of = |layers| [4, 5, 6, 7].map(|number| pdu_set(layers, number).importance);
        assert_eq!([of(1), of(2), of(3)], [[1; 4], [1, 2, 1, 2], [1, 3, 2, 3]]);
        assert_eq!(pdu_set(1, 65_536 + 7), PduSet { number: 7, importance: 1 });
    }

    #[test]
    fn a_frame_in_transit_counts_as_open_until_its_budget_ends() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let config = VideoConfig { size_sd: Ratio(0.0), ..VideoConfig::default() };
        let (mut video, mut rng) = (Video::new(&config, at(0)), Rng::stream(1, "video"));
        for ms in [0, 16, 32] {
            video.send(at(ms), &mut rng, |_, _, _| ());
        }
        let open = |end| {
            let mut open = Vec::new();
            video.open(at(end), |sent| open.push(sent));
            open
        };
        assert_eq!(open(32), [at(32)], "the others are older than 15 ms");
        assert_eq!((open(47), open(48)), (vec![at(32)], vec![]));
    }

    #[test]
    fn a_freeze_is_three_mean_intervals_and_150_ms_more_than_the_mean() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let period = Duration::from_millis(20);
        let mut screen = Screen::new(at(0));
        // Before there is an interval, the time between frames is the mean.
        assert_eq!(
            (screen.frozen(at(169), period), screen.frozen(at(170), period)),
            (None, Some(at(0)))
        );
        // The interval of the first frame does not count for the mean.
        screen.show(at(400));
        (1..=40).for_each(|frame| screen.show(at(400 + 20 * frame)));
        let last = at(1_200);
        assert_eq!(screen.frozen(at(1_369), period), None);
        assert_eq!(screen.frozen(at(1_370), period), Some(last));
        // With a mean of 100 ms three intervals are more than 150 ms on top.
        (1..=30).for_each(|frame| screen.show(at(1_200 + 100 * frame)));
        assert_eq!(screen.frozen(at(4_499), period), None);
        assert_eq!(screen.frozen(at(4_500), period), Some(at(4_200)));
    }

    #[test]
    fn an_input_is_shown_by_the_first_complete_frame_that_was_sent_after_its_arrival() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let config =
            VideoConfig { size_sd: Ratio(0.0), rate: BitRate(480_000), ..VideoConfig::default() };
        let (mut video, mut rng) = (Video::new(&config, at(0)), Rng::stream(1, "video"));
        let mut fates = Vec::new();
        video.send(at(0), &mut rng, |_, _, _| ());
        video.input(at(1));
        video.arrived(at(2), 0, 1_000, |sent, fate| fates.push((sent, fate)));
        assert_eq!(fates, [], "it came after the frame was sent");
        video.send(at(3), &mut rng, |_, _, _| ());
        video.input(at(4));
        video.send(at(5), &mut rng, |_, _, _| ());
        // Frame 1 breaks, frame 2 shows both inputs.
        video.arrived(at(6), 2, 1_000, |sent, fate| fates.push((sent, fate)));
        assert_eq!(fates, [(at(3), Fate::Broken), (at(1), Fate::Shown), (at(4), Fate::Shown)]);
    }
}
