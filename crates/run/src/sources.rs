//! Sources of datagrams: the times of sending, and the handling of a datagram at its UE.

use crate::route::{Marks, Route};
use crate::traffic::{
    FlowConfig, Gate, ICMP_HEADER_BYTES, Interval, PingConfig, Span, Traffic, TurnConfig,
    UDP_HEADER_BYTES, VOIP_PAYLOAD, Video, VideoConfig,
};
use justfull_base::packet::Protocol;
use justfull_base::{Bytes, Duration, Instant, PduSet, Rng};

/// The kind of a source's datagrams.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The UE consumes them.
    Plain,
    /// Echo requests, which the UE sends back.
    Echo,
    /// Echo requests from the UE, which the server sends back.
    Asked(Box<Turn>),
    /// Voice.
    Call,
    /// Parts of frames.
    Frames(Box<Frames>),
}

/// The arrival times of replies to a UE's requests at the cell.
#[derive(Clone, Debug)]
pub struct Turn {
    config: TurnConfig,
    rng: Rng,
}

impl Turn {
    /// The arrival time of a reply at the cell, in the slot that begins at `slot`.
    #[inline]
    pub fn after(&mut self, slot: Instant) -> Instant {
        slot + self.config.phase + self.config.jitter.scaled(self.rng.unit())
    }
}

/// A video with its clock's skew and its random numbers.
#[derive(Clone, Debug)]
pub struct Frames {
    /// The video.
    pub video: Video,
    skew: f64,
    rng: Rng,
    inputs: Option<Inputs>,
}

/// The inputs of a video's user, by the clock of the UE.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    /// Time between them.
    pub interval: Duration,
    /// Size on the IP layer.
    pub size: u32,
}

impl Inputs {
    fn of(config: &VideoConfig, skew: f64) -> Option<Self> {
        let inputs = config.inputs.as_ref()?;
        let interval = inputs.interval.scaled(skew).max(LEAST_GAP);
        Some(Self { interval, size: inputs.size.0 as u32 })
    }
}

/// Time from a datagram to the next.
#[derive(Clone, Debug)]
enum Pace {
    /// Constant, by the source's clock.
    Constant(Duration),
    /// Random, or interrupted by pauses.
    Drawn(Box<Drawn>),
}

#[derive(Clone, Debug)]
struct Drawn {
    interval: Interval,
    gate: Option<Gate>,
    skew: f64,
    rng: Rng,
}

impl Drawn {
    #[inline(never)]
    fn after(&mut self, now: Instant) -> Instant {
        let at = now + self.interval.draw(&mut self.rng).scaled(self.skew).max(LEAST_GAP);
        match &mut self.gate {
            Some(gate) => gate.pass(at, &mut self.rng),
            None => at,
        }
    }
}

/// Minimum time between two datagrams of a source.
const LEAST_GAP: Duration = Duration::from_nanos(1);

/// A source of datagrams at a server. It fits a cache line, since a large cell has one for each UE.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Source {
    /// The path of its packets.
    pub route: Route,
    /// The kind of its datagrams.
    pub kind: Kind,
    pace: Pace,
    payload: u32,
}

/// The differences between the kinds: payload, interval, on and off times.
type Law = (Bytes, Interval, Option<(Span, Span)>);

fn law(traffic: &Traffic) -> Option<Law> {
    Some(match traffic {
        Traffic::Udp { payload, interval } => (*payload, *interval, None),
        Traffic::Ping(ping) => (ping.payload, ping.interval, None),
        Traffic::Cbr(cbr) => (cbr.payload, cbr.interval(), None),
        Traffic::OnOff(c) => (c.payload, c.cbr().interval(), Some((c.on, c.off))),
        Traffic::Voip(voip) => (VOIP_PAYLOAD, voip.interval(), voip.talk.zip(voip.silence)),
        Traffic::Video(video) => (video.payload, Interval::Constant(video.period()), None),
        Traffic::Tcp { .. } | Traffic::Upload { .. } => return None,
        Traffic::VideoCall(_) | Traffic::Page(_) | Traffic::Dash(_) => return None,
    })
}

impl Source {
    /// The source of `traffic` and the instant of its first datagram: a random time within one mean
    /// interval after `start`; for a Poisson process an interval after it; for a source with
    /// pauses, the time at which it is first on. Its clock is skewed by up to 50 ppm, so that no
    /// source locks to a poll. None if `traffic` has no datagrams.
    pub fn new(
        route: Route,
        traffic: &Traffic,
        start: Instant,
        seed: u64,
    ) -> Option<(Self, Instant)> {
        let mut rng = Rng::stream(seed, &format!("{}.{}", traffic.kind(), route.flow));
        let (payload, interval, spans) = law(traffic)?;
        let first = start + interval.first(&mut rng);
        let skew = 1.0 + (rng.unit() * 2.0 - 1.0) * 50e-6;
        let (gate, first) = match spans {
            None => (None, first),
            Some((on, off)) => {
                let (gate, opens) = Gate::new(on, off, first, &mut rng);
                (Some(gate), opens)
            }
        };
        let pace = match interval {
            Interval::Constant(gap) if gate.is_none() => {
                Pace::Constant(gap.scaled(skew).max(LEAST_GAP))
            }
            _ => Pace::Drawn(Box::new(Drawn { interval, gate, skew, rng: rng.clone() })),
        };
        let kind = match traffic {
            Traffic::Ping(PingConfig { from_ue: Some(config), .. }) => {
                let rng = Rng::stream(seed, &format!("turn.{}", route.flow));
                Kind::Asked(Box::new(Turn { config: config.clone(), rng }))
            }
            Traffic::Ping(_) => Kind::Echo,
            Traffic::Voip(_) => Kind::Call,
            Traffic::Video(c) => {
                let (video, inputs) = (Video::new(c, first), Inputs::of(c, 2.0 - skew));
                Kind::Frames(Box::new(Frames { video, skew, rng, inputs }))
            }
            _ => Kind::Plain,
        };
        let payload = payload.0 as u32;
        Some((Self { route, kind, pace, payload }, first))
    }

    /// Bytes of the headers of a datagram.
    fn header(&self) -> u32 {
        if self.route.protocol == Protocol::Icmp { ICMP_HEADER_BYTES } else { UDP_HEADER_BYTES }
    }

    /// Payload of a datagram of `size` bytes on the IP layer.
    #[inline]
    pub fn payload_of(&self, size: u32) -> u64 {
        u64::from(size - self.header())
    }

    /// The datagram that is due, for a source that sends one at a time: its size on the IP layer
    /// and its payload handle, which is the time of sending.
    #[inline]
    pub fn datagram(&self, now: Instant) -> Option<(u32, u64)> {
        let single = !matches!(self.kind, Kind::Frames(_));
        single.then(|| (self.payload + self.header(), now.as_nanos()))
    }

    /// Sends the frame that is due, for a source of frames: calls `push` with each datagram's size
    /// on the IP layer, its payload handle, which is the number of the frame, and its PDU set.
    #[inline(never)]
    pub fn send_frame(&mut self, now: Instant, push: &mut dyn FnMut(u32, u64, PduSet)) {
        if let Kind::Frames(frames) = &mut self.kind {
            frames.video.send(now, &mut frames.rng, push);
        }
    }

    /// The inputs that the source's user sends.
    pub fn inputs(&self) -> Option<Inputs> {
        match &self.kind {
            Kind::Frames(frames) => frames.inputs,
            _ => None,
        }
    }

    /// Sends the datagrams that are due: calls `push` like [`Self::send_frame`].
    fn send(&mut self, now: Instant, mut push: impl FnMut(u32, u64, PduSet)) {
        match self.datagram(now) {
            Some((size, payload)) => push(size, payload, PduSet::default()),
            None => self.send_frame(now, &mut push),
        }
    }

    /// The next time of sending after `now`; none if it has stopped by then.
    #[inline(always)]
    pub fn after(&mut self, now: Instant) -> Option<Instant> {
        let at = match (&mut self.kind, &mut self.pace) {
            (Kind::Frames(frames), _) => frames.video.next(now, frames.skew, &mut frames.rng),
            (_, Pace::Constant(gap)) => now + *gap,
            (_, Pace::Drawn(drawn)) => drawn.after(now),
        };
        Some(at).filter(|at| *at < self.route.stop)
    }
}

/// The departures and payloads of a flow's datagrams in order, for a second driver that sends the
/// same ones.
#[derive(Clone, Debug)]
pub struct Departures {
    source: Source,
    next: Option<Instant>,
}

impl Departures {
    /// The departures of `flow`, number `number` among the packet flows of its world, with the
    /// random numbers that this world draws with `seed`. None for flows without datagrams.
    #[must_use]
    pub fn new(flow: &FlowConfig, number: u32, seed: u64) -> Option<Self> {
        let stop = flow.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop);
        let route = Route {
            flow: number,
            ue: flow.ue,
            wire: 0,
            marks: Marks::NONE.tracked(flow.low_latency),
            protocol: flow.traffic.protocol(),
            header: 0,
            ack: 0,
            stop,
        };
        let (source, first) = Source::new(route, &flow.traffic, Instant::ZERO + flow.start, seed)?;
        Some(Self { source, next: Some(first) })
    }

    /// Time of the next departure; none after the last.
    #[must_use]
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Makes the next departure: calls `push` with the payload bytes of each of its datagrams, and
    /// returns the time.
    pub fn depart(&mut self, mut push: impl FnMut(u32)) -> Option<Instant> {
        let now = self.next?;
        let header = self.source.header();
        self.source.send(now, |size, _, _| push(size - header));
        self.next = self.source.after(now);
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{CbrConfig, OnOffConfig, VideoConfig, VoipConfig};
    use justfull_base::BitRate;
    use justfull_ran::FiveTuple;

    /// Datagrams and bytes on the IP layer that `traffic` sends in 200 s.
    fn sent(traffic: &Traffic) -> (u64, u64) {
        let stop = Instant::ZERO + Duration::from_secs(200);
        let protocol = traffic.protocol();
        let route = Route {
            flow: 0,
            ue: 0,
            wire: 0,
            marks: Marks::NONE,
            protocol,
            header: 0,
            ack: 0,
            stop,
        };
        let (mut source, first) = Source::new(route, traffic, Instant::ZERO, 1).expect("datagrams");
        let (mut datagrams, mut bytes) = (0, 0);
        let mut at = Some(first);
        while let Some(now) = at {
            source.send(now, |size, _, _| {
                datagrams += 1;
                bytes += u64::from(size);
            });
            at = source.after(now);
        }
        (datagrams, bytes)
    }

    fn close(found: u64, wanted: f64, share: f64) {
        assert!(
            (found as f64 / wanted - 1.0).abs() < share,
            "{found}, wanted {wanted} within {share}"
        );
    }

    #[test]
    fn a_source_is_a_line_of_the_cache() {
        assert_eq!(size_of::<Source>(), 64);
    }

    #[test]
    fn a_normal_source_keeps_its_mean_and_stops() {
        let interval =
            Interval::Normal { mean: Duration::from_millis(20), sd: Duration::from_millis(5) };
        close(sent(&Traffic::Udp { payload: Bytes(200), interval }).0, 10_000.0, 0.02);
    }

    /// `n` gaps of a Poisson source of 2 ms, in units of their mean.
    fn poisson_gaps(n: usize, seed: u64) -> Vec<f64> {
        let interval = Interval::Exponential { exponential: Duration::from_millis(2) };
        let traffic = Traffic::Udp { payload: Bytes(200), interval };
        let (protocol, stop) = (traffic.protocol(), Instant::NEVER);
        let route = Route {
            flow: 0,
            ue: 0,
            wire: 0,
            marks: Marks::NONE,
            protocol,
            header: 0,
            ack: 0,
            stop,
        };
        let (mut source, first) = Source::new(route, &traffic, Instant::ZERO, seed).expect("one");
        let mut last = first;
        let mut gap = || {
            let at = source.after(last).expect("it never stops");
            let gap = at.since(last).as_secs_f64() / 2e-3;
            last = at;
            gap
        };
        (0..n).map(|_| gap()).collect()
    }

    /// Asserts that `n` values with this mean and standard deviation have a mean within four
    /// standard errors of it, plus up to 50 ppm of a source's clock.
    fn has_mean(values: impl Iterator<Item = f64>, mean: f64, sd: f64, what: &str) {
        let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
        let most = 4.0 * sd / f64::sqrt(n) + 1e-4 * mean;
        assert!((sum / n - mean).abs() < most, "{what}: {}, wanted {mean} within {most}", sum / n);
    }

    #[test]
    fn gaps_of_a_poisson_source_have_the_mean_and_the_variance_of_their_law_and_no_memory() {
        for seed in [1, 2, 3] {
            let gaps = poisson_gaps(200_000, seed);
            let each = || gaps.iter().copied();
            has_mean(each(), 1.0, 1.0, "mean");
            // The fourth central moment of the distribution is 9.
            has_mean(each().map(|gap| (gap - 1.0).powi(2)), 1.0, f64::sqrt(8.0), "variance");
            // The distribution has no memory: the rest of a wait is distributed like a whole wait.
            for waited in [0.5, 1.0, 2.0, 4.0] {
                let rest = each().filter(|gap| *gap > waited).map(|gap| gap - waited);
                has_mean(rest, 1.0, 1.0, "what is left of a gap");
                let share = f64::exp(-waited);
                let longer = each().map(|gap| f64::from(u8::from(gap > waited)));
                has_mean(longer, share, f64::sqrt(share * (1.0 - share)), "longer gaps");
            }
            // A gap does not depend on the previous one.
            let pairs = gaps.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0));
            has_mean(pairs, 0.0, 1.0, "covariance of neighbours");
        }
    }

    #[test]
    fn a_poisson_source_has_as_many_datagrams_in_a_time_as_the_law_says_with_its_variance() {
        // Datagrams in intervals of 10 ms: mean and variance 5, fourth central moment 5 + 3 x 25.
        let mut counts = vec![0_u32; 40_000];
        let mut at = 0.0;
        for gap in poisson_gaps(210_000, 7) {
            at += gap;
            if let Some(count) = counts.get_mut((at / 5.0) as usize) {
                *count += 1;
            }
        }
        let counts = || counts.iter().copied().map(f64::from);
        has_mean(counts(), 5.0, f64::sqrt(5.0), "datagrams");
        has_mean(counts().map(|n| (n - 5.0).powi(2)), 5.0, f64::sqrt(55.0), "their variance");
    }

    #[test]
    fn the_first_datagram_of_a_poisson_source_comes_after_an_interval_of_its_law() {
        let interval = Interval::Exponential { exponential: Duration::from_millis(2) };
        let firsts = (0..10_000).map(|seed| {
            let mut rng = Rng::stream(seed, "first");
            interval.first(&mut rng).as_secs_f64() / 2e-3
        });
        has_mean(firsts, 1.0, 1.0, "first");
    }

    #[test]
    fn sources_keep_their_rates_on_the_ip_layer() {
        let rate = BitRate(2_000_000);
        close(sent(&Traffic::Cbr(CbrConfig { rate, payload: Bytes(1_000) })).1, 5e7, 1e-3);
        let half = Span::Exponential { exponential: Duration::from_millis(50) };
        let on_off = OnOffConfig { rate, payload: Bytes(1_000), on: half, off: half };
        close(sent(&Traffic::OnOff(on_off)).1, 2.5e7, 0.06);
        let (packets, bytes) = sent(&Traffic::Voip(VoipConfig::default()));
        close(packets, 10_000.0, 1e-3);
        assert_eq!(bytes, 200 * packets, "G.711: 80 kbit/s");
    }

    #[test]
    fn a_talker_pauses() {
        let talk = Some(Span::Exponential { exponential: Duration::from_millis(1_026) });
        let silence = Some(Span::Exponential { exponential: Duration::from_millis(1_171) });
        let (packets, _) =
            sent(&Traffic::Voip(VoipConfig { talk, silence, ..VoipConfig::default() }));
        close(packets, 10_000.0 * 1_026.0 / 2_197.0, 0.2);
    }

    #[test]
    fn departures_equal_the_worlds_and_end_with_the_flow() {
        let (mean, sd) = (Duration::from_millis(20), Duration::from_millis(5));
        let normal = drawn_departures(Interval::Normal { mean, sd });
        assert!(normal > 40 && normal < 60, "{normal}");
        // 50 within four standard deviations.
        let poisson = drawn_departures(Interval::Exponential { exponential: mean });
        assert!(poisson > 21 && poisson < 79, "{poisson}");
    }

    /// Departures within a second of a flow with this interval.
    fn drawn_departures(interval: Interval) -> usize {
        let flow = FlowConfig {
            name: "game".into(),
            ue: 0,
            tuple: FiveTuple::default(),
            traffic: Traffic::Udp { payload: Bytes(200), interval }.into(),
            low_latency: true,
            start: Duration::from_secs(1),
            stop: Some(Duration::from_secs(2)),
            extra_delay: Duration::ZERO,
            proxied: None,
            delay_budget: None,
            dscp: justfull_base::Dscp::default(),
        };
        let mut departures = Departures::new(&flow, 3, 7).expect("datagrams");
        let mut times = Vec::new();
        let mut sizes = Vec::new();
        while let Some(at) = departures.depart(|payload| sizes.push(payload)) {
            times.push(at);
        }
        assert!(times.is_sorted());
        assert!(sizes.iter().all(|size| *size == 200) && sizes.len() == times.len());
        let (first, last) = (times[0], times[times.len() - 1]);
        assert!(
            first >= Instant::ZERO + flow.start && last < Instant::ZERO + Duration::from_secs(2)
        );
        assert!(
            times.windows(2).any(|pair| pair[1].since(pair[0]) != pair[0].since(first)),
            "drawn, not regular"
        );
        times.len()
    }

    #[test]
    fn a_video_keeps_its_frames_and_its_rate() {
        let (datagrams, bytes) = sent(&Traffic::Video(VideoConfig::default()));
        // 62 500 B a frame: 45 datagrams with 28 B of headers each.
        close(datagrams, 12_000.0 * 45.1, 0.01);
        close(bytes - 28 * datagrams, 30e6 / 8.0 * 200.0, 0.01);
    }
}
