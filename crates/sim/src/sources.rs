//! Sources of datagrams: when each sends, and how much.

use crate::hosts::Route;
use crate::traffic::{ICMP_HEADER_BYTES, Interval, Traffic, UDP_HEADER_BYTES};
use justfull_base::packet::Protocol;
use justfull_base::{Duration, Instant, Rng};

/// What becomes of a datagram that reaches its UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is consumed.
    None,
    /// It is an echo request: the UE sends it back.
    Echo,
}

/// A source of datagrams at a server.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) route: Route,
    pub(crate) protocol: Protocol,
    pub(crate) answer: Answer,
    payload: u32,
    header: u32,
    interval: Interval,
    rng: Rng,
    skew: f64,
}

impl Source {
    /// The source of `traffic` and the instant of its first datagram: a random time within one mean interval after `start`.
    /// Its clock is skewed by up to 50 ppm, so that no source locks to a poll. None when `traffic` is no datagrams.
    pub(crate) fn new(route: Route, traffic: &Traffic, start: Instant, seed: u64) -> Option<(Self, Instant)> {
        let (protocol, answer, header, payload, interval) = match traffic {
            Traffic::Udp { payload, interval } => {
                (Protocol::Udp, Answer::None, UDP_HEADER_BYTES, payload, interval)
            }
            Traffic::Ping(ping) => {
                (Protocol::Icmp, Answer::Echo, ICMP_HEADER_BYTES, &ping.payload, &ping.interval)
            }
            Traffic::Tcp { .. } => return None,
        };
        let mut rng = Rng::stream(seed, &format!("{}.{}", traffic.kind(), route.flow));
        let phase = interval.mean().scaled(rng.unit());
        let skew = 1.0 + (rng.unit() * 2.0 - 1.0) * 50e-6;
        let payload = payload.0 as u32;
        let source = Self { route, protocol, answer, payload, header, interval: *interval, rng, skew };
        Some((source, start + phase))
    }

    /// Size of a datagram on the IP layer.
    pub(crate) fn size(&self) -> u32 {
        self.payload + self.header
    }

    /// What a datagram of `size` bytes on the IP layer carries.
    pub(crate) fn payload_of(&self, size: u32) -> u64 {
        u64::from(size - self.header)
    }

    /// The datagram after the one sent at `now`; none when the source has stopped by then.
    pub(crate) fn after(&mut self, now: Instant) -> Option<Instant> {
        let gap = self.interval.draw(&mut self.rng).scaled(self.skew).max(Duration::from_nanos(1));
        Some(now + gap).filter(|at| *at < self.route.stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Bytes;

    #[test]
    fn a_normal_source_keeps_its_mean_and_stops() {
        let interval = Interval::Normal { mean: Duration::from_millis(20), sd: Duration::from_millis(5) };
        let stop = Instant::ZERO + Duration::from_secs(200);
        let route = Route { flow: 0, pipe: 0, tracked: false, stop };
        let traffic = Traffic::Udp { payload: Bytes(200), interval };
        let (mut source, first) = Source::new(route, &traffic, Instant::ZERO, 1).expect("datagrams");
        let mut n = 0;
        let mut at = Some(first);
        while let Some(now) = at {
            n += 1;
            at = source.after(now);
        }
        assert!((9_800..10_200).contains(&n), "{n}");
    }
}
