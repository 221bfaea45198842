//! For any losses on the air, each SDU is delivered unchanged and at most once; in acknowledged
//! mode, all SDUs are delivered.
//!
//! The headers of every block are encoded and decoded. A witness tracks the arrived bytes of each
//! SDU, so it detects an SDU delivered early or twice, for any state of the entities.

use super::*;
use crate::pdcp::{PdcpConfig, PdcpRx};
use crate::pdu::SO_END;
use alloc::collections::BTreeMap;
use justfull_base::{Bytes, Rng};
use proptest::prelude::*;

/// The losses, delays and duplicates of the air, in parts of 256.
#[derive(Clone, Copy, Debug)]
struct Air {
    lost: u8,
    doubled: u8,
    /// Blocks that arrive up to five steps later.
    late: u8,
}

/// The arrived bytes of each SDU.
#[derive(Default)]
struct Witness {
    sizes: BTreeMap<u64, u32>,
    arrived: BTreeMap<u64, Vec<bool>>,
    delivered: Vec<u64>,
}

impl Witness {
    fn arrives(&mut self, content: &TbContent) {
        for part in &content.parts {
            let size = self.sizes[&part.sdu.0];
            assert_eq!(part.last, part.offset + part.len == size);
            let bytes =
                self.arrived.entry(part.sdu.0).or_insert_with(|| vec![false; size as usize]);
            bytes[part.offset as usize..(part.offset + part.len) as usize].fill(true);
        }
    }

    fn delivers(&mut self, sdu: SduHandle, may_repeat: bool) {
        assert!(self.arrived[&sdu.0].iter().all(|&came| came), "{sdu:?} is not whole");
        assert!(may_repeat || !self.delivered.contains(&sdu.0), "{sdu:?} comes twice");
        self.delivered.push(sdu.0);
    }
}

/// A bearer, its queue, the air in both directions and a clock of 1 ms steps.
struct World {
    format: Format,
    tx: RlcTx,
    rx: RlcRx,
    queue: Queue,
    air: Air,
    rng: Rng,
    now: Instant,
    down: Vec<(Instant, TbContent)>,
    up: Vec<(Instant, StatusPdu)>,
    witness: Witness,
    acked: Vec<u64>,
    abandoned: Vec<u64>,
}

impl World {
    fn new(mode: &RlcModeConfig, sizes: &[u32], air: Air, seed: u64) -> Self {
        let mut witness = Witness::default();
        witness.sizes.extend(sizes.iter().enumerate().map(|(i, &size)| (i as u64, size)));
        Self {
            format: mode.format(),
            tx: RlcTx::new(mode).expect("valid"),
            rx: RlcRx::new(mode).expect("valid"),
            queue: Queue::of(sizes),
            air,
            rng: Rng::stream(seed, "rlc"),
            now: Instant::ZERO,
            down: Vec::new(),
            up: Vec::new(),
            witness,
            acked: Vec::new(),
            abandoned: Vec::new(),
        }
    }

    fn chance(&mut self, of_256: u8) -> bool {
        self.rng.below(256) < u64::from(of_256)
    }

    /// Arrival times of data sent now, one instant per copy.
    fn flights(&mut self) -> Vec<Instant> {
        let mut times = Vec::new();
        for is_copy in [false, true] {
            let air = self.air;
            let flies = if is_copy { self.chance(air.doubled) } else { !self.chance(air.lost) };
            let later = if self.chance(air.late) { self.rng.below(5) } else { 0 };
            if flies {
                times.push(self.now + Duration::from_millis(later));
            }
        }
        times
    }

    fn step(&mut self, grant: u32) {
        self.time_out();
        let expected = self.tx.pending();
        let content = pull(&mut self.tx, self.now, grant, &mut self.queue);
        if grant == u32::MAX {
            let inside = u64::from(expected.total());
            assert!(content.bytes() >= inside, "the bytes reported as waiting leave: {expected:?}");
        }
        if !content.is_empty() {
            let content = through_bytes(self.format, &content);
            for at in self.flights() {
                self.down.push((at, content.clone()));
            }
        }
        self.receive();
        self.report();
        self.now += Duration::from_millis(1);
    }

    fn time_out(&mut self) {
        if self.rx.next_timeout().is_some_and(|at| at <= self.now) {
            let (witness, abandoned) = (&mut self.witness, &mut self.abandoned);
            self.rx.on_timeout(
                self.now,
                |sdu| witness.delivers(sdu, false),
                |sdu| abandoned.push(sdu.0),
            );
        }
        if self.tx.next_timeout().is_some_and(|at| at <= self.now) {
            let more = self.queue.head().is_some();
            self.tx.on_timeout(self.now, more);
            self.tx.assert_sound();
        }
    }

    fn receive(&mut self) {
        let may_repeat =
            matches!(self.format, Format::Tm | Format::NrUm { .. }) && self.air.doubled > 0;
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) = self.down.drain(..).partition(|(at, _)| *at <= now);
        self.down = later;
        for (_, content) in due {
            self.witness.arrives(&content);
            let (witness, abandoned) = (&mut self.witness, &mut self.abandoned);
            self.rx.receive(
                now,
                &content,
                |sdu| witness.delivers(sdu, may_repeat),
                |sdu| abandoned.push(sdu.0),
            );
        }
    }

    fn report(&mut self) {
        let grant = 1 + self.rng.below(40) as u32;
        if let Some(status) = self.rx.status(self.now, grant).cloned() {
            let mut content = TbContent::default();
            content.push_status(codec::status_bytes(self.format, &status)).copy_from(&status);
            let status = through_bytes(self.format, &content).statuses()[0].clone();
            for at in self.flights() {
                self.up.push((at, status.clone()));
            }
        }
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) = self.up.drain(..).partition(|(at, _)| *at <= now);
        self.up = later;
        for (_, status) in due {
            self.tx.on_status(now, &status, |sdu| self.acked.push(sdu.0));
            self.tx.assert_sound();
        }
    }
}

fn sizes() -> impl Strategy<Value = Vec<u32>> {
    let size =
        prop_oneof![4 => 1..=1u32, 8 => 2..200u32, 4 => 200..3000u32, 1 => 65_500..=65_540u32];
    prop::collection::vec(size, 1..60)
}

fn grants() -> impl Strategy<Value = Vec<u32>> {
    let grant = prop_oneof![1 => 0..=6u32, 6 => 7..120u32, 3 => 120..6000u32];
    prop::collection::vec(grant, 1..20)
}

fn air() -> impl Strategy<Value = Air> {
    (0..110u8, 0..40u8, 0..60u8).prop_map(|(lost, doubled, late)| Air { lost, doubled, late })
}

fn um_modes() -> impl Strategy<Value = RlcModeConfig> {
    prop_oneof![
        prop_oneof![Just(6), Just(12)].prop_map(|bits| um(Generation::Nr, bits)),
        prop_oneof![Just(5), Just(10)].prop_map(|bits| um(Generation::Lte, bits)),
    ]
}

fn am_modes() -> impl Strategy<Value = RlcModeConfig> {
    let kind = prop_oneof![
        prop_oneof![Just(12), Just(18)].prop_map(|sn_bits| AmConfig { sn_bits, ..nr_am() }),
        prop_oneof![Just(11), Just(15)].prop_map(|li_bits| AmConfig { li_bits, ..lte_am() }),
    ];
    (kind, 0..40u64, 0..30u64, 0..20u32, 0..5000u64).prop_map(
        |(kind, reassembly, prohibit, pdu, byte)| {
            RlcModeConfig::Am(AmConfig {
                t_reassembly: Duration::from_millis(reassembly),
                t_status_prohibit: Duration::from_millis(prohibit),
                poll_pdu: pdu,
                poll_byte: Bytes(byte),
                ..kind
            })
        },
    )
}

/// More steps than any case needs.
const PATIENCE: usize = 400_000;

/// Asserts that everything sent arrives, is delivered once (in order in LTE, and above PDCP) and
/// acknowledged once, and that no state remains.
fn survives(mode: &RlcModeConfig, sizes: &[u32], grants: &[u32], air: Air, seed: u64) {
    let mut world = World::new(mode, sizes, air, seed);
    let all: Vec<u64> = (0..sizes.len() as u64).collect();
    for k in 0.. {
        assert!(k < PATIENCE, "{} of {} acknowledged", world.acked.len(), all.len());
        // The last grants are large, so that SDUs beyond the reach of SO pass.
        let grant = if k > 2000 { 70_000 } else { grants[k % grants.len()] };
        world.step(grant);
        if world.acked.len() == all.len() {
            break;
        }
    }
    assert_eq!(world.abandoned, NONE);
    assert_eq!(
        in_pdcp_order(&world.witness.delivered, Duration::from_secs(3)),
        all,
        "PDCP restores the order"
    );
    let is_lte = matches!(world.format, Format::LteAm { .. });
    for mut handles in [world.witness.delivered, world.acked] {
        if !is_lte {
            handles.sort_unstable();
        }
        assert_eq!(handles, all);
    }
    assert_eq!(world.tx.pending(), Pending::default());
}

proptest! {
    #[test]
    fn am_survives_loss_copies_and_delay(
        mode in am_modes(), sizes in sizes(), grants in grants(), air in air(),
            seed in any::<u64>(),
    ) {
        survives(&mode, &sizes, &grants, air, seed);
    }

    #[test]
    fn um_delivers_whole_sdus_at_most_once(
        mode in um_modes(), sizes in sizes(), grants in grants(), air in air(),
            seed in any::<u64>(),
    ) {
        let mut world = World::new(&mode, &sizes, air, seed);
        for k in 0..3000 {
            let grant = if k > 2000 { 70_000 } else { grants[k % grants.len()] };
            world.step(grant);
        }
        prop_assert!(world.queue.head().is_none());
        prop_assert_eq!(world.rx.next_timeout(), None, "nothing waits for ever");
        for given_up in &world.abandoned {
            prop_assert!(!world.witness.delivered.contains(given_up),
                "given up after it was delivered");
        }
        let above = in_pdcp_order(&world.witness.delivered, Duration::from_millis(3));
        prop_assert!(above.windows(2).all(|pair| pair[0] < pair[1]),
            "PDCP delivers in order, once");
        let once: BTreeMap<u64, ()> = world.abandoned.iter().map(|&sdu| (sdu, ())).collect();
        prop_assert_eq!(once.len(), world.abandoned.len(), "an SDU is given up once");
    }

    #[test]
    fn without_loss_everything_arrives_in_order(
        mode in prop_oneof![um_modes(), am_modes()],
        sizes in sizes(), grants in grants(), seed in any::<u64>(),
    ) {
        let mut world = World::new(&mode, &sizes, Air { lost: 0, doubled: 0, late: 0 }, seed);
        for k in 0..3000 {
            let grant = if k > 2000 { 70_000 } else { grants[k % grants.len()] };
            world.step(grant);
        }
        let all: Vec<u64> = (0..sizes.len() as u64).collect();
        prop_assert_eq!(&world.witness.delivered, &all);
        prop_assert_eq!((world.rx.discarded(), world.abandoned.len()), (0, 0));
    }

    /// An arbitrary report leaves the entity valid, and never acknowledges unsent data.
    #[test]
    fn any_report_leaves_the_sender_sound(
        mode in am_modes(),
        grants in grants(),
        reports in prop::collection::vec(
            (0..600u32, prop::collection::vec((0..600u32, 0..5u8, 0..300u16, 0..300u16,
                any::<bool>()), 0..5)),
            1..40,
        ),
    ) {
        let mut queue = Queue::of(&[120; 400]);
        let mut tx = RlcTx::new(&mode).expect("valid");
        let mut acked = Vec::new();
        for (k, (ack_sn, nacks)) in reports.into_iter().enumerate() {
            pull(&mut tx, ms(k as u64), grants[k % grants.len()], &mut queue);
            let mut nacks: Vec<_> = nacks
                .into_iter()
                .map(|(sn, range, so_start, so_end, to_end)| Nack {
                    sn: sn % ack_sn.max(1),
                    range,
                    so_start,
                    so_end: if to_end { SO_END } else { so_end },
                })
                .collect();
            nacks.sort_by_key(|nack| (nack.sn, nack.so_start));
            tx.on_status(ms(k as u64), &StatusPdu { ack_sn: ack_sn % 40, nacks },
                |sdu| acked.push(sdu.0));
            tx.assert_sound();
            tx.on_timeout(ms(k as u64), queue.head().is_some());
            tx.assert_sound();
        }
        let left = queue.0.front().map_or(400, |head| head.handle.0);
        prop_assert!(acked.iter().all(|&sdu| sdu < left));
        acked.sort_unstable();
        prop_assert!(acked.windows(2).all(|pair| pair[0] < pair[1]), "acknowledged once");
    }
}

/// The order in which PDCP delivers the SDUs that RLC delivered, each numbered by its place in the
/// queue.
fn in_pdcp_order(delivered: &[u64], t_reordering: Duration) -> Vec<u64> {
    let config = PdcpConfig { t_reordering, ..PdcpConfig::default() };
    let mut rx = PdcpRx::new(&config).expect("valid");
    let mut above = Vec::new();
    for (k, &sdu) in delivered.iter().enumerate() {
        let now = ms(k as u64);
        rx.on_timeout(now, |sdu| above.push(sdu.0));
        rx.receive(now, sdu as u32 % 4096, SduHandle(sdu), |sdu| above.push(sdu.0));
    }
    rx.on_timeout(ms(1 << 30), |sdu| above.push(sdu.0));
    above
}

/// Wraps the smallest SN field ten times, with losses.
#[test]
fn sns_go_round_many_times() {
    let air = Air { lost: 20, doubled: 10, late: 20 };
    for config in [nr_am(), lte_am()] {
        let mode = RlcModeConfig::Am(AmConfig { t_reassembly: Duration::from_millis(6), ..config });
        survives(&mode, &vec![5; 10_240], &[400], air, 1);
    }
    for mode in [um(Generation::Nr, 6), um(Generation::Lte, 5)] {
        let mut world = World::new(&mode, &vec![9; 2000], Air { lost: 20, doubled: 0, late: 0 }, 2);
        (0..6000).for_each(|_| world.step(7));
        assert!(world.witness.delivered.len() > 1200, "{}", world.witness.delivered.len());
        assert!(world.witness.delivered.is_sorted());
    }
}
