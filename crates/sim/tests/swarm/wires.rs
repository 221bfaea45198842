//! TCP's ends over hostile wires: segments are lost, duplicated, reordered, damaged (a checksum
//! makes that a loss) or stalled, in both directions, and still every byte must arrive once.

use crate::draws::{kind, micros, pick};
use crate::harness::{Reduction, World};
use crate::link::{self, Path};
use crate::reductions::set;
use justfull_base::{BitRate, Bytes, Duration, Ratio, Rng};
use justfull_tcp::accecn::{ControlEcn, Feedback};
use justfull_tcp::cc::{
    abc, bbr, bbr3, cubic, dctcp, fixed, ledbatpp, new_reno, prague, vegas, westwood, yeah,
};
use justfull_tcp::{
    AutoWindow, CcConfig, HyStart, Kernel, Pacing, Preset, Prr, ReceiverConfig, Recovery, Rto,
    Sender, SenderConfig, SpuriousDetection, Window,
};

/// A congestion control with any of its settings.
fn control(rng: &mut Rng) -> CcConfig {
    let hystart = pick(rng, &[HyStart::Linux, HyStart::PlusPlus, HyStart::Off]);
    let abe = rng.chance(0.3);
    match kind(rng, CcConfig::all(), |_| true) {
        CcConfig::NewReno(_) => {
            let abc_limit = 1 + rng.below(3) as u32;
            CcConfig::NewReno(new_reno::NewRenoConfig { abc_limit, hystart, abe })
        }
        CcConfig::Cubic(_) => {
            let fast_convergence = rng.chance(0.7);
            CcConfig::Cubic(cubic::CubicConfig {
                fast_convergence,
                hystart,
                abe,
                steps: pick(rng, &cubic::Steps::ALL),
                ..cubic::CubicConfig::default()
            })
        }
        CcConfig::Bbr(_) => CcConfig::Bbr(bbr::BbrConfig {
            ack_aggregation: rng.chance(0.5),
            policer_detection: rng.chance(0.5),
            min_rtt_window: Duration::from_secs(1 + rng.below(10)),
        }),
        CcConfig::Bbr3(_) => {
            CcConfig::Bbr3(bbr3::Bbr3Config { variant: pick(rng, &bbr3::Variant::ALL) })
        }
        own @ CcConfig::Custom(_) => own,
        CcConfig::Fixed(_) => {
            let segments = 1 + rng.below(300) as u32;
            CcConfig::Fixed(fixed::FixedConfig { segments, ..fixed::FixedConfig::default() })
        }
        CcConfig::Vegas(_) => {
            let alpha = 1 + rng.below(4) as u32;
            let (beta, gamma) = (alpha + rng.below(4) as u32, 1 + rng.below(3) as u32);
            CcConfig::Vegas(vegas::VegasConfig { alpha, beta, gamma })
        }
        CcConfig::Westwood(_) => {
            let interval = micros(rng, 1_000, 200_000);
            CcConfig::Westwood(westwood::WestwoodConfig { interval })
        }
        CcConfig::Yeah(_) => CcConfig::Yeah(yeah::YeahConfig {
            queue_limit: 1 + rng.below(100) as u32,
            phi: 1 + rng.below(16) as u32,
            slow_rounds: 1 + rng.below(30) as u32,
            fast_rounds: 1 + rng.below(60) as u32,
        }),
        CcConfig::Prague(_) => CcConfig::Prague(prague::PragueConfig {
            preset: pick(rng, &prague::Preset::ALL),
            virtual_rtt: micros(rng, 1_000, 100_000),
            transition: rng.below(10) as u32,
        }),
        CcConfig::Dctcp(_) => {
            let (gain, alpha) = (Ratio(0.01 + 0.9 * rng.unit()), Ratio(rng.unit()));
            CcConfig::Dctcp(dctcp::DctcpConfig { gain, alpha })
        }
        CcConfig::Ledbatpp(_) => CcConfig::Ledbatpp(ledbatpp::LedbatppConfig {
            target: micros(rng, 1_000, 200_000),
            slowdowns: rng.chance(0.7),
        }),
        CcConfig::Abc(_) => CcConfig::Abc(abc::AbcConfig { least: 1 + rng.below(20) as u32 }),
    }
}

/// A sender with any settings.
pub(crate) fn sender(rng: &mut Rng) -> SenderConfig {
    let min_rto = micros(rng, 1_000, 1_000_000);
    let timestamps = rng.chance(0.7);
    let recovery = pick(rng, &[Recovery::Rack, Recovery::Dupack, Recovery::NewReno]);
    let judges = [SpuriousDetection::Eifel, SpuriousDetection::FRto, SpuriousDetection::Off];
    let spurious_detection = match (recovery, pick(rng, &judges)) {
        (Recovery::NewReno, _) => SpuriousDetection::Off,
        (_, SpuriousDetection::Eifel) if !timestamps => SpuriousDetection::Off,
        (_, kept) => kept,
    };
    SenderConfig {
        preset: Preset::Linux,
        header: pick(rng, &[52, 52, 60, 40]),
        handshake: rng.chance(0.3),
        timestamps,
        rto: pick(rng, &[Rto::Linux, Rto::Rfc6298]),
        initial_rto: pick(rng, &[Duration::from_secs(1), Duration::from_secs(6)]),
        rto_tick: pick(rng, &[Duration::ZERO, Duration::from_millis(10)]),
        limited_transmit: rng.chance(0.7),
        impatient: rng.chance(0.5),
        mss: pick(rng, &[1440, 1440, 536, 100]),
        initial_window: pick(rng, &[10, 10, 1, 3]),
        cc: control(rng),
        ecn: rng.chance(0.4),
        accecn: rng.chance(0.4),
        min_rto,
        max_rto: min_rto.max(pick(rng, &[Duration::from_secs(120), Duration::from_secs(2)])),
        pacing: pick(rng, &[Pacing::Auto, Pacing::Always]),
        recovery,
        tail_loss_probe: rng.chance(0.7),
        spurious_detection,
        prr: pick(rng, &[Prr::SafeAck, Prr::Ssrb, Prr::Crb, Prr::Off]),
        nagle: rng.chance(0.3),
        restart_after_idle: rng.chance(0.7),
        max_reordering: pick(rng, &[3, 300]),
        kernel: pick(rng, &Kernel::ALL),
        ack: pick(rng, &[0, 0, 40]),
        control_ecn: rng.chance(0.3),
    }
}

/// A receiver with any settings whose window never closes for ever.
pub(crate) fn receiver(rng: &mut Rng) -> ReceiverConfig {
    let auto = AutoWindow { initial: Bytes(2_000 + rng.below(64_000)), max: Bytes(6 << 20) };
    let windows = [
        Window::Fixed(Bytes(64 << 20)),
        Window::Fixed(Bytes(5_000 + rng.below(100_000))),
        Window::Auto(auto),
    ];
    ReceiverConfig {
        kernel: pick(rng, &Kernel::ALL),
        window: pick(rng, &windows),
        window_scale: rng.below(15) as u8,
        delayed_ack: rng.chance(0.7),
        delayed_ack_timeout: micros(rng, 1_000, 200_000),
        quick_acks: pick(rng, &[0, 16]),
        ecn: pick(rng, &[Feedback::Accurate, Feedback::Accurate, Feedback::Classic, Feedback::Off]),
        ce_acks: 1 + rng.below(7) as u32,
        accecn_option: rng.chance(0.7),
        control_ecn: pick(rng, &ControlEcn::ALL),
    }
}

/// Sets the default settings under the same control; false if it had them.
pub(crate) fn plain_sender(sender: &mut SenderConfig) -> bool {
    let cc = sender.cc.clone();
    set(sender, SenderConfig { cc, ..SenderConfig::default() })
}

/// A transfer over a path.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    sender: SenderConfig,
    receiver: ReceiverConfig,
    path: Path,
    /// Writes, one after the other with a pause in between.
    writes: Vec<u64>,
    pause: Duration,
    /// The path stalls this long after each write.
    stall: Duration,
}

/// A probability of at most `most`, and often 0.
fn chance(rng: &mut Rng, most: f64) -> f64 {
    if rng.chance(0.4) { 0.0 } else { rng.unit() * most }
}

impl World for Wire {
    const KIND: &'static str = "wires";

    const REDUCTIONS: &'static [Reduction<Self>] = &[
        ("last-write", |w| w.writes.len() > 1 && w.writes.pop().is_some()),
        ("half-write", |w| w.writes.iter_mut().fold(false, |any, n| set(n, (*n / 2).max(1)) | any)),
        ("stall", |w| set(&mut w.stall, Duration::ZERO)),
        ("loss", |w| set(&mut w.path.loss, 0.0)),
        ("ack-loss", |w| set(&mut w.path.ack_loss, 0.0)),
        ("detour", |w| set(&mut w.path.detour, 0.0)),
        ("ack-detour", |w| set(&mut w.path.ack_detour, 0.0)),
        ("copies", |w| set(&mut w.path.twice, 0.0)),
        ("ack-copies", |w| set(&mut w.path.ack_twice, 0.0)),
        ("marks", |w| set(&mut w.path.mark_above, u64::MAX)),
        ("receiver", |w| set(&mut w.receiver, ReceiverConfig::default())),
        ("sender", |w| plain_sender(&mut w.sender)),
        ("buffer", |w| set(&mut w.path.buffer, Path::default().buffer)),
        ("rate", |w| set(&mut w.path.rate, Path::default().rate)),
        ("delay", |w| set(&mut w.path.one_way, Path::default().one_way)),
    ];

    fn draw(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "wires");
        let buffer = 3_000 + rng.below(300_000);
        let most = pick(&mut rng, &[2_000_000, 100_000_000]);
        let path = Path {
            rate: BitRate(100_000 + rng.below(most)),
            one_way: micros(&mut rng, 10, 300_000),
            buffer,
            loss: chance(&mut rng, 0.25),
            ack_loss: chance(&mut rng, 0.4),
            detour: chance(&mut rng, 0.6),
            ack_detour: chance(&mut rng, 0.6),
            twice: chance(&mut rng, 0.3),
            ack_twice: chance(&mut rng, 0.3),
            mark_above: pick(&mut rng, &[0, buffer / 4, u64::MAX]),
            seed,
        };
        let most = pick(&mut rng, &[2_000, 100_000, 400_000]);
        let writes = (0..1 + rng.below(4)).map(|_| 1 + rng.below(most)).collect();
        let stall =
            if rng.chance(0.5) { Duration::ZERO } else { micros(&mut rng, 1_000, 5_000_000) };
        let pause = micros(&mut rng, 0, 3_000_000);
        Self { sender: sender(&mut rng), receiver: receiver(&mut rng), path, writes, pause, stall }
    }

    fn accepted(&self) -> Result<(), String> {
        Sender::new(&self.sender).map(drop).map_err(|e| e.to_string())
    }

    fn check(&self) -> u64 {
        let run = || {
            let sender = Sender::new(&self.sender).expect("settings that were accepted");
            let mut world = link::World::new(sender, &self.receiver, &self.path);
            for bytes in &self.writes[1..] {
                world.sender.write(*bytes);
                world.run_for(self.pause);
                world.stall(self.stall);
            }
            world.transfer(self.writes[0], Duration::from_secs(24 * 3_600));
            let all: u64 = self.writes.iter().sum();
            assert_eq!(world.receiver.delivered_bytes(), all, "each byte once");
            let stats = world.sender.stats();
            assert_eq!(stats.bytes_sent, all + stats.bytes_retransmitted);
            (world.digest, stats.segments_sent)
        };
        let (digest, segments) = run();
        assert_eq!((digest, segments), run(), "the same transfer again");
        segments
    }
}
