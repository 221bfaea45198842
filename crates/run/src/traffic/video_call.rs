//! A video call to a UE: an encoder that follows the rate of a rate control.
//!
//! The encoder makes a frame of the target rate once a period, with sizes of a Gaussian law as
//! [`Video`]'s. The sender cuts it into RTP packets, and paces them; the UE reports over the uplink
//! ([`justfull_tcp::media`]). A frame is complete when its last packet has reached the UE. While
//! the oldest packet at the sender has waited for `skip`, the encoder skips frames; a skipped frame
//! counts as sent and broken.

use crate::traffic::video::is_one;
use crate::traffic::{Fate, FrameProgress, UDP_HEADER_BYTES, Video, VideoConfig};
use justfull_base::error::ensure;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant, Packet, Ratio, Rng, table};
use justfull_tcp::RcConfig;
use justfull_tcp::media::{MediaPacket, MediaReceiver, MediaReport, MediaSender, RTP_HEADER_BYTES};
use justfull_tcp::rc::MediaBirth;
use serde::{Deserialize, Serialize};

table! {
    /// Settings of a video call.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct VideoCallConfig with Default {
        /// The rate control and its settings.
        control: RcConfig as "rate control" = RcConfig::default();
        /// Frames per second.
        fps: u32 as "frames per second" = 30, within(1, 1000), "frames a second";
        /// Least rate of the encoder, headers not counted.
        min_rate: BitRate = BitRate(150_000),
            within(BitRate(1_000), BitRate(1_000_000_000)), "RFC 8867 has 150 kbit/s";
        /// Its rate before the first report.
        start_rate: BitRate = BitRate(300_000),
            rule("min_rate to max_rate", |c| (c.min_rate..=c.max_rate).contains(&c.start_rate)),
            "libwebrtc has 300 kbit/s";
        /// Greatest rate of the encoder.
        max_rate: BitRate = BitRate(2_500_000),
            rule("min_rate to 10Gbit/s", |c| {
                (c.min_rate..=BitRate(10_000_000_000)).contains(&c.max_rate)
            }),
            "libwebrtc has 2.5 Mbit/s for 720p";
        /// Standard deviation of a frame's size over its mean.
        size_sd: Ratio = Ratio(0.105),
            within(Ratio(0.0), Ratio(0.25)), "TR 38.838 section 5.1; cut at half and one and a half";
        /// Payload of a full packet; the headers of RTP, UDP and IP come on top.
        payload: Bytes = Bytes(1200), stated("1B to the MTU less 40B of headers");
        /// Time in which a frame should be complete.
        budget: Duration = Duration::from_millis(150);
        /// Temporal layers of the frames, as in `video`.
        #[serde(skip_serializing_if = "is_one")]
        layers: u8 as "layers" = 1, within(1, 3), "L1T1 to L1T3 of W3C's webrtc-svc";
        /// Frames are skipped while the oldest packet at the sender has waited for this time.
        skip: Duration = Duration::from_millis(500), above(Duration::ZERO);
    }
}

impl VideoCallConfig {
    /// The frames at the greatest rate.
    #[must_use]
    pub fn video(&self) -> VideoConfig {
        VideoConfig {
            fps: self.fps,
            rate: self.max_rate,
            size_sd: self.size_sd,
            jitter_sd: Duration::ZERO,
            payload: self.payload,
            budget: self.budget,
            layers: self.layers,
            inputs: None,
        }
    }

    /// Checks every bound in a cell with this largest packet.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn fits(&self, mtu: u32) -> Result<(), ConfigError> {
        self.validate()?;
        let most = u64::from(mtu.saturating_sub(UDP_HEADER_BYTES + RTP_HEADER_BYTES));
        ensure(
            (1..=most).contains(&self.payload.0),
            "payload",
            &self.payload,
            "1B to the MTU less 40B of headers",
            "no IP fragmentation is modelled",
        )
    }
}

/// Effects of [`VideoCall::wake`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// A frame was due.
    pub frame: bool,
    /// It was skipped.
    pub skipped: bool,
}

/// Both ends of a call.
#[derive(Clone, Debug)]
pub struct VideoCall {
    video: Video,
    sender: MediaSender,
    receiver: MediaReceiver,
    /// The base station reports the arrivals that it predicts.
    is_foretold: bool,
    fps: f64,
    skip: Duration,
    /// When the next frame is due; never after the end.
    frame_at: Instant,
    stop: Instant,
    skew: f64,
    rng: Rng,
}

/// Flag in a payload handle: the packet is the last of its frame.
const LAST: u64 = 1 << 31;

impl VideoCall {
    /// A call of flow `flow` from `start` to `stop`, and the instant of its first frame: a random
    /// time within a period after `start`.
    ///
    /// # Errors
    /// The setting of the rate control outside its bounds.
    pub fn new(
        config: &VideoCallConfig,
        flow: u32,
        start: Instant,
        stop: Instant,
        seed: u64,
    ) -> Result<(Self, Instant), ConfigError> {
        let mut rng = Rng::stream(seed, &format!("video_call.{flow}"));
        let frames = config.video();
        let period = frames.period();
        let first = start + period.scaled(rng.unit());
        let skew = 1.0 + (rng.unit() * 2.0 - 1.0) * 50e-6;
        let birth = MediaBirth {
            least: config.min_rate,
            start: config.start_rate,
            most: config.max_rate,
            packet: config.payload.0 as u32 + RTP_HEADER_BYTES,
            frame_period: period,
        };
        let sender = MediaSender::new(&config.control, &birth).map_err(|e| e.within("control"))?;
        let call = Self {
            video: Video::new(&frames, first),
            receiver: MediaReceiver::new(sender.reporting()),
            is_foretold: false,
            sender,
            fps: f64::from(config.fps),
            skip: config.skip,
            frame_at: if first < stop { first } else { Instant::NEVER },
            stop,
            skew,
            rng,
        };
        let at = call.frame_at;
        Ok((call, at))
    }

    /// When the sender acts next.
    #[must_use]
    pub fn next(&self) -> Instant {
        self.frame_at.min(self.sender.next())
    }

    /// The sender acts: calls `push` with each packet. The packet has its size in bytes on the IP
    /// layer, its payload handle, its codepoint and its PDU set.
    pub fn wake(&mut self, now: Instant, mut push: impl FnMut(Packet)) -> Woken {
        let mut woken = Woken::default();
        if now >= self.frame_at {
            woken.frame = true;
            woken.skipped = self.sender.waited(now) >= self.skip;
            if !woken.skipped {
                let mean = self.sender.target().0 as f64 / 8.0 / self.fps;
                let (number, bytes) = self.video.frame(now, mean, &mut self.rng);
                self.sender.write(now, number, bytes);
            }
            let next = self.video.next(now, self.skew, &mut self.rng);
            self.frame_at = if next < self.stop { next } else { Instant::NEVER };
        }
        while let Some(packet) = self.sender.poll_transmit(now) {
            push(Packet {
                size: packet.payload + RTP_HEADER_BYTES + UDP_HEADER_BYTES,
                payload: handle(&packet),
                ecn: packet.ecn,
                set: self.video.set_of(packet.frame),
                ..Packet::default()
            });
        }
        woken
    }

    /// A packet of `size` bytes on the IP layer reaches the UE. Returns its payload and the effect
    /// on its frame; `fate` gets the time of sending of each earlier frame that is incomplete.
    pub fn arrived(
        &mut self,
        now: Instant,
        handle: u64,
        size: u32,
        ce: bool,
        fate: impl FnMut(Instant, Fate),
    ) -> (u64, FrameProgress) {
        let payload = u64::from(size - RTP_HEADER_BYTES - UDP_HEADER_BYTES);
        if !self.is_foretold {
            self.receiver.on_packet(now, handle & (LAST - 1), ce, handle & LAST != 0);
        }
        (payload, self.video.arrived(now, handle >> 32, payload, fate))
    }

    /// The base station predicts at `now` that the packet of `handle` arrives at `at`. From now on
    /// reports are about predictions.
    pub fn foretold(&mut self, now: Instant, handle: u64, ce: bool, at: Instant) {
        self.is_foretold = true;
        self.receiver.on_prediction(now, at, handle & (LAST - 1), ce, handle & LAST != 0);
    }

    /// The instant of the first frame, and the begin of a freeze that lasts until `end`.
    #[must_use]
    pub fn watched(&self, end: Instant) -> (Instant, Option<Instant>) {
        self.video.watched(end)
    }

    /// Calls `each` with the sending time of each frame that is in transit at `end` and within its
    /// budget.
    pub fn open(&self, end: Instant, each: impl FnMut(Instant)) {
        self.video.open(end, each);
    }

    /// When the UE's next report is due.
    #[must_use]
    pub const fn report_due(&self) -> Instant {
        self.receiver.due()
    }

    /// The UE's report that is due, if one is.
    pub fn report(&mut self, now: Instant) -> Option<MediaReport> {
        self.receiver.report(now)
    }

    /// `report` reaches the server.
    pub fn reported(&mut self, now: Instant, report: MediaReport) {
        self.sender.on_report(now, report, self.receiver.content(report));
    }
}

/// The frame's number in the high half, the packet's below.
fn handle(packet: &MediaPacket) -> u64 {
    let last = if packet.last { LAST } else { 0 };
    packet.frame << 32 | last | packet.seq & (LAST - 1)
}

#[cfg(test)]
mod tests;
