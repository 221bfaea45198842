use super::*;
use crate::testing::{self, MSS};

fn built(preset: Preset) -> Prague {
    let config = PragueConfig { preset, ..PragueConfig::default() };
    Prague::new(&config, &testing::birth()).expect("within bounds")
}

/// A path without chance: the sender's packets are acknowledged one by one, and each has left an
/// RTT before.
struct Path {
    control: Prague,
    now: Instant,
    rtt: Duration,
    delivered: u64,
}

impl Path {
    fn new(control: Prague, rtt_us: u64) -> Self {
        let now = Instant::ZERO + Duration::from_secs(1);
        Self { control, now, rtt: Duration::from_micros(rtt_us), delivered: 0 }
    }

    /// A packet is acknowledged; as many are in flight as the window holds.
    fn ack(&mut self, marked: bool) {
        self.delivered += MSS;
        let window = self.control.cwnd();
        self.control.on_ack(&AckSample {
            now: self.now,
            rtt: Some(self.rtt),
            srtt: self.rtt,
            min_rtt: self.rtt,
            delivered: self.delivered,
            in_flight: window,
            max_in_flight: window,
            ce_count: u64::from(marked),
            ce_bytes: if marked { MSS } else { 0 },
            ..testing::sample(MSS)
        });
    }

    /// One RTT of acknowledgements at the rate of the control, every `n`-th marked; 0 for none.
    fn round(&mut self, n: u64) {
        let packets = (self.control.rate * seconds(self.rtt) / MSS as f64).round().max(1.0) as u64;
        let gap = Duration::from_nanos(self.rtt.as_nanos() / packets);
        for _ in 0..packets {
            self.now += gap;
            let number = self.delivered / MSS;
            self.ack(n > 0 && number.is_multiple_of(n));
        }
    }

    fn rounds(&mut self, rounds: u32, n: u64) {
        (0..rounds).for_each(|_| self.round(n));
    }

    /// In congestion avoidance with `window` packets and `alpha`, long after slow start.
    fn steady(preset: Preset, rtt_us: u64, window: f64, alpha: f64) -> Self {
        let mut path = Self::new(built(preset), rtt_us);
        let rtt = seconds(path.rtt);
        let control = &mut path.control;
        (control.window, control.whole) = (window, window.ceil());
        control.rate = window * MSS as f64 / rtt;
        (control.ssthresh, control.rounds) = (window.ceil(), 100);
        (control.alpha, control.saw_mark) = (alpha, true);
        control.alpha_at = path.now;
        if control.udp {
            // The first packet is acknowledged.
            (control.packets, control.delivered) = (1, 1);
        }
        control.publish_window();
        path
    }
}

#[test]
fn growth_is_a_packet_per_rtt_above_25_ms_and_the_square_of_the_rtt_below() {
    for preset in Preset::ALL {
        for (rtt_us, expected) in [(50_000, 1.0), (25_000, 1.0), (12_500, 0.25), (5_000, 0.04)] {
            let mut path = Path::steady(preset, rtt_us, 40.0, 0.1);
            path.control.patience = 1e9;
            let before = path.control.window;
            path.rounds(5, 0);
            let grown = (path.control.window - before) / 5.0;
            assert!((grown - expected).abs() < 0.06 * expected, "{preset:?} {rtt_us} {grown}");
        }
    }
}

#[test]
fn a_mark_takes_off_half_of_alpha_once_in_a_virtual_rtt_and_growth_goes_on() {
    for preset in Preset::ALL {
        let mut path = Path::steady(preset, 25_000, 100.0, 0.2);
        path.now += Duration::from_millis(100);
        path.ack(true);
        let cut = path.control.window;
        // Linux reduces before it updates alpha, udp_prague after.
        let alpha = if preset == Preset::Linux { 0.2 } else { path.control.alpha };
        assert!((cut - 100.0 * (1.0 - alpha / 2.0)).abs() < 1e-6, "{preset:?} {cut}");
        path.ack(true);
        path.ack(true);
        assert!((path.control.window - cut).abs() < 1e-6, "once: {}", path.control.window);
        path.ack(false);
        assert!(path.control.window > cut, "an unmarked packet adds to the window after a mark");
    }
}

#[test]
fn alpha_moves_by_a_sixteenth_of_the_distance_to_the_share_of_marks() {
    for preset in Preset::ALL {
        let mut path = Path::steady(preset, 25_000, 64.0, 0.0);
        path.control.losing = Some(path.now + Duration::from_secs(100));
        path.rounds(3, 4);
        // Each of the three rounds ends with the data that left at its begin.
        let step = 0.25 * (1.0 - (1.0 - GAIN).powf(3.0));
        let alpha = path.control.alpha;
        assert!((alpha - step).abs() < 1e-3, "{preset:?} {alpha} {step}");
        path.rounds(200, 4);
        assert!((path.control.alpha - 0.25).abs() < 0.02, "{preset:?} {}", path.control.alpha);
    }
}

#[test]
fn linuxs_slow_start_doubles_and_the_first_mark_halves_the_window() {
    let mut path = Path::new(built(Preset::Linux), 50_000);
    (0..10).for_each(|_| path.ack(false));
    assert_eq!(path.control.cwnd(), 20 * MSS);
    assert!(path.control.in_slow_start() && path.control.alpha == 0.0);
    path.now += path.rtt + path.rtt;
    path.ack(true);
    assert!((path.control.window - 10.0).abs() < 1e-9, "{}", path.control.window);
    assert_eq!(path.control.cwnd(), 19 * MSS, "the window follows by one packet at a time");
    (0..20).for_each(|_| path.ack(true));
    assert!(!path.control.in_slow_start());
    assert_eq!(path.control.cwnd(), 10 * MSS);
}

#[test]
fn udp_prague_starts_at_100_kbit_s_and_grows_faster_after_seven_virtual_rtts() {
    let mut path = Path::new(built(Preset::UdpPrague), 25_000);
    assert_eq!(path.control.pacing_rate(), Some(BitRate(100_000)));
    path.ack(false);
    path.control.rate = 10e6;
    path.control.window = 10e6 * 0.025 / MSS as f64;
    path.control.by_rate = false;
    let before = path.control.window;
    path.round(0);
    assert!((path.control.window - before - 1.0).abs() < 0.05, "{}", path.control.window - before);
    path.rounds(7, 0);
    let (rate, window) = (path.control.rate, path.control.window);
    path.round(0);
    let step = rate * 0.001 / MSS as f64;
    let grown = path.control.window - window;
    assert!((grown - step).abs() < 0.05 * step, "{grown} {step}");
}

#[test]
fn below_the_least_window_the_rate_is_controlled_and_two_packets_stay_allowed() {
    for preset in Preset::ALL {
        let mut path = Path::steady(preset, 1_000, 2.0, 0.5);
        path.rounds(2, 0);
        assert!(path.control.by_rate, "{preset:?}");
        let before = path.control.rate;
        // A virtual RTT without marks adds a packet per virtual RTT to the rate.
        path.rounds(25, 0);
        let added = (path.control.rate - before) * 0.025 / MSS as f64;
        assert!((added - 1.0).abs() < 0.1, "{preset:?} {added}");
        path.rounds(4000, 1);
        assert!(path.control.rate < 2.0 * LEAST_RATE, "{preset:?} {}", path.control.rate);
        // `udp-prague` has two packets in 25 ms, which are shorter then.
        let size = path.control.segment().unwrap_or(MSS);
        assert_eq!(size < MSS, preset == Preset::UdpPrague, "{size}");
        assert!(path.control.cwnd() >= 2 * size, "{preset:?}");
        let pace = path.control.pacing_rate().map(|rate| rate.0);
        assert!(pace.is_some_and(|pace| (100_000..210_000).contains(&pace)), "{pace:?}");
    }
}

#[test]
fn pacing_is_three_percent_above_in_the_first_half_of_a_virtual_rtt_and_below_in_the_second() {
    let mut path = Path::steady(Preset::UdpPrague, 25_000, 100.0, 0.1);
    let ratio = |path: &Path| {
        path.control.pacing_rate().map_or(0.0, |pace| pace.0 as f64 / 8.0 / path.control.rate)
    };
    path.now += Duration::from_millis(2);
    path.ack(false);
    assert!((ratio(&path) - 1.03).abs() < 1e-6, "{}", ratio(&path));
    path.now += Duration::from_millis(12);
    path.ack(false);
    assert!((ratio(&path) - 1.0 / 1.03).abs() < 1e-6, "{}", ratio(&path));
}

#[test]
fn a_loss_halves_once_and_is_taken_back_when_it_was_spurious() {
    for preset in Preset::ALL {
        let mut path = Path::steady(preset, 50_000, 80.0, 0.1);
        let event = Congestion { now: path.now, ..testing::loss(80 * MSS) };
        path.control.on_congestion(&event);
        assert!((path.control.window - 40.0).abs() < 1e-9, "{preset:?}");
        path.ack(false);
        assert!(path.control.window <= 40.01, "no growth in recovery: {}", path.control.window);
        path.control.on_spurious(path.now);
        assert!((path.control.window - 80.0).abs() < 0.1, "{preset:?}");
    }
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let wrong = PragueConfig { virtual_rtt: Duration::from_secs(1), ..PragueConfig::default() };
    let refused = Prague::new(&wrong, &testing::birth()).expect_err("it is out of bounds");
    assert_eq!(refused.field, "virtual_rtt");
}

/// A line of `examples/udp-prague/ideal.cpp`: an acknowledgement, and the state of the source's
/// control after it. Times are in microseconds since the start.
struct Traced {
    at: u64,
    left: u64,
    marked: bool,
    srtt: u64,
    rate: f64,
    window: f64,
    size: f64,
}

impl Traced {
    fn read(line: &str) -> Self {
        let mut numbers = line.split(' ').map(|word| word.parse::<u64>().expect("a number"));
        let mut next = || numbers.next().expect("seven numbers");
        let (at, left, marked, srtt) = (next(), next(), next() == 1, next());
        let (rate, window, size) = (next() as f64, next() as f64, next() as f64);
        Self { at, left, marked, srtt, rate, window, size }
    }
}

/// Gives the control the acknowledgements of `trace`. Returns the largest difference of the rate,
/// relative, and of the window, in packets.
fn differences(trace: &str) -> (f64, f64) {
    let birth = Birth { mss: 1400, ..testing::birth() };
    let config = PragueConfig { preset: Preset::UdpPrague, ..PragueConfig::default() };
    let mut control = Prague::new(&config, &birth).expect("within bounds");
    let (mut off, mut size) = ((0.0f64, 0.0f64), 156);
    let start = Duration::from_secs(1);
    for traced in trace.lines().map(Traced::read) {
        let at = |us| Instant::ZERO + start + Duration::from_micros(us);
        control.on_ack(&AckSample {
            now: at(traced.at),
            rtt: Some(Duration::from_micros(traced.at - traced.left)),
            srtt: Duration::from_micros(traced.srtt),
            segments: 1,
            ce_count: u64::from(traced.marked),
            ce_bytes: if traced.marked { size } else { 0 },
            ..testing::sample(size)
        });
        size = traced.size as u64;
        off.0 = off.0.max((control.rate / traced.rate - 1.0).abs());
        // The engine's window has room for a full packet at least.
        let window = control.cwnd() as f64 - (traced.window * traced.size).max(1400.0);
        off.1 = off.1.max(window.abs() / traced.size);
    }
    off
}

#[test]
fn after_each_acknowledgement_the_rate_is_that_of_udp_pragues_own_control() {
    for trace in [
        include_str!("traces/p0.5-25ms.txt"),
        include_str!("traces/p0.2-10ms.txt"),
        include_str!("traces/p0.05-50ms.txt"),
    ] {
        let (rate, window) = differences(trace);
        assert!(rate < 0.002 && window <= 1.01, "{rate} {window}");
    }
}
