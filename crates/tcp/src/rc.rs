//! Rate controls of real-time media: from reports on packets to the rate of an encoder.
//!
//! [`MediaSender`](crate::media::MediaSender) is the engine around them. Sizes are bytes of RTP
//! packets, with RTP's header and without the headers of UDP and IP.

pub mod gcc;
pub mod scream;

use alloc::boxed::Box;
use core::fmt;
use justfull_base::{BitRate, Duration, Ecn, Instant, forwarded, kinds};

/// The inputs of every new control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaBirth {
    /// Least rate of the encoder.
    pub least: BitRate,
    /// Its rate at the start.
    pub start: BitRate,
    /// Greatest rate of the encoder.
    pub most: BitRate,
    /// Bytes of a full packet.
    pub packet: u32,
    /// Time between frames.
    pub frame_period: Duration,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Now.
    pub now: Instant,
    /// Its size.
    pub bytes: u32,
    /// Bytes in flight, with it.
    pub in_flight: u64,
}

/// A report's statement on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// When it left.
    pub sent: Instant,
    /// Its size.
    pub bytes: u32,
    /// When it arrived, by the receiver's clock; none if it is lost.
    pub arrival: Option<Instant>,
    /// It arrived with congestion experienced.
    pub ce: bool,
}

/// A report, after the fates of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Now.
    pub now: Instant,
    /// Time since the departure of the packet with the highest number; none if the report has no
    /// new highest number.
    pub rtt: Option<Duration>,
    /// Bytes of the packets up to the highest reported number, lost or not, since the last report.
    pub newly_acked: u64,
    /// Bytes of the packets beyond the highest reported number.
    pub in_flight: u64,
}

/// A frame that the encoder gives to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Its size.
    pub bytes: u64,
    /// Time for which the oldest packet in the sender's queue has waited.
    pub waited: Duration,
}

/// How a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reporting {
    /// RFC 8888, after each frame, after 16 packets, and 40 ms after the last report; each report
    /// has the last 64 packets.
    Rfc8888,
    /// Transport-wide congestion control, once in this time.
    TransportWide(Duration),
}

impl Reporting {
    /// Packets after which a report is due.
    #[must_use]
    pub const fn packets(self) -> u64 {
        match self {
            Self::Rfc8888 => 16,
            Self::TransportWide(_) => u64::MAX,
        }
    }

    /// Longest time between reports while packets arrive.
    #[must_use]
    pub const fn longest(self) -> Duration {
        match self {
            Self::Rfc8888 => Duration::from_millis(40),
            Self::TransportWide(period) => period,
        }
    }

    /// Packets of a report, new and repeated ones; none without repetitions.
    #[must_use]
    pub const fn repeated(self) -> Option<u64> {
        match self {
            Self::Rfc8888 => Some(64),
            Self::TransportWide(_) => None,
        }
    }

    /// Unit of the arrival times: 1/1024 s in RFC 8888, 250 us in transport-wide reports.
    #[must_use]
    pub const fn tick(self) -> u64 {
        match self {
            Self::Rfc8888 => 976_562,
            Self::TransportWide(_) => 250_000,
        }
    }

    /// Time by which a missing packet must be older than the newest reported one to count as lost.
    #[must_use]
    pub const fn reordering(self) -> Duration {
        match self {
            Self::Rfc8888 => Duration::from_millis(30),
            Self::TransportWide(_) => Duration::ZERO,
        }
    }

    /// Bytes of a report on the IP layer: on `packets` numbers in a row, `received` of them
    /// received.
    #[must_use]
    pub const fn bytes(self, packets: u64, received: u64) -> u32 {
        let body = match self {
            // Headers of RTCP, begin and number of the block, timestamp: 8 + 8 + 4.
            Self::Rfc8888 => 20 + (2 * packets).next_multiple_of(4),
            // Headers of RTCP and of the message; two bytes for 14 states, one for each time.
            Self::TransportWide(_) => {
                20 + (2 * packets.div_ceil(14) + received).next_multiple_of(4)
            }
        };
        28 + body as u32
    }
}

kinds! {
    $ each;

    /// The rate control, with its settings.
    #[derive(Clone, Debug, PartialEq)]
    pub enum RcConfig = Gcc;

    /// One of the rate controls. Both are boxed, since the state of each is large.
    #[derive(Clone, Debug)]
    pub enum AnyRateControl(birth: &MediaBirth);

    "gcc" Gcc = gcc::{Gcc in Box, GccConfig};
    "scream" Scream = scream::{Scream in Box, ScreamConfig};
}

forwarded! {
    by each for AnyRateControl;

    /// A rate control.
    pub trait RateController: fmt::Debug {
        /// A packet leaves.
        fn on_sent(&mut self, _departure: &Departure) {}

        /// The fate of a packet: first the arrived packets, in the order of arrival, then the lost
        /// ones.
        fn on_fate(&mut self, fate: &Fate);

        /// A report ends.
        fn on_feedback(&mut self, feedback: &Feedback);

        /// A frame enters the sender's queue.
        fn on_frame(&mut self, _frame: &Encoded) {}

        /// Rate of the encoder.
        fn target(&self) -> BitRate;

        /// Rate at which packets leave.
        fn pacing_rate(&self) -> BitRate;

        /// Bytes that may be in flight; none without a limit.
        fn window(&self) -> Option<u64> {
            None
        }

        /// The codepoint of its packets.
        fn codepoint(&self) -> Ecn {
            Ecn::NotEct
        }

        /// How its receiver reports.
        fn reporting(&self) -> Reporting;
    }
}
