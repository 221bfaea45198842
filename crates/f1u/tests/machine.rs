//! The box's decisions, packet by packet: bearers found, statuses changed, and frames left alone.

#[expect(dead_code, reason = "the tests in virtual time use the rest")]
mod cell;
#[path = "machine/copies.rs"]
mod copies;
#[path = "machine/holding.rs"]
mod holding;

use cell::frames::{CU_UP, DU, HEADERS, message, opened, packet};
use justfull_base::{Duration, Instant};
use justfull_f1u::{BearersConfig, F1uConfig, Machine, Verdict};
use justfull_nru::{DeliveryStatus, Frame, UserData, gtpu};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const WANTED: u32 = 6_000_000;

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// A PDU of `bytes` with a number of 12 or 18 bits.
fn pdu(bits: u8, sn: u32, bytes: usize) -> Vec<u8> {
    let [_, high, middle, low] = (sn & ((1 << bits) - 1)).to_be_bytes();
    let mut pdu = match bits {
        12 => vec![0x80 | middle, low, sn as u8 ^ 0x5a],
        _ => vec![0x80 | high, middle, low],
    };
    pdu.resize(bytes, 0x55);
    pdu
}

/// A bearer as its DU and its CU-UP see it.
#[derive(Clone, Copy)]
struct Pair {
    teids: [u32; 2],
    bits: u8,
    du: Ipv4Addr,
}

impl Pair {
    fn down(&self, sequence: u32, bytes: usize) -> Vec<u8> {
        let sequence = sequence % (1 << 24);
        let frame = Frame::UserData(UserData { sequence, user_data: true, ..UserData::default() });
        let pdu = pdu(self.bits, sequence, bytes);
        packet(CU_UP, self.du, &message(self.teids[0], &frame, &pdu))
    }

    fn up(&self, status: &DeliveryStatus<'_>) -> Vec<u8> {
        packet(self.du, CU_UP, &message(self.teids[1], &Frame::Status(*status), &[]))
    }

    /// A status about `sn` in unacknowledged mode.
    fn told(&self, sn: u32) -> Vec<u8> {
        let highest_transmitted = Some(sn & ((1 << self.bits) - 1));
        let desired_buffer_size = WANTED;
        self.up(&DeliveryStatus { desired_buffer_size, highest_transmitted, ..Default::default() })
    }
}

const ONE: Pair = Pair { teids: [0x11, 0x22], bits: 18, du: DU };

/// The desired size in a packet.
fn size(packet: &[u8]) -> u32 {
    match opened(packet).frame() {
        Ok(Some(Frame::Status(status))) => status.desired_buffer_size,
        other => panic!("{other:?}"),
    }
}

/// Lets a bearer send 10 packets of 1000 bytes each 5 ms, of which the DU transmits all but three,
/// for some periods from packet `first` on; returns the sizes that reached the CU-UP.
fn flow(machine: &mut Machine, pair: Pair, first: u32, periods: u32) -> Vec<u32> {
    let mut sizes = Vec::new();
    for period in 0..periods {
        let begin = at(u64::from(first + period * 10) * 500);
        for n in 0..10 {
            let mut packet = pair.down(first + period * 10 + n, 1_000);
            assert_eq!(machine.on_datagram(begin, &mut packet), Verdict::UserData);
        }
        let mut packet = pair.told(first + period * 10 + 6);
        machine.on_datagram(begin + Duration::from_micros(4_900), &mut packet);
        sizes.push(size(&packet));
    }
    sizes
}

#[test]
fn a_bearer_is_paired_by_its_third_status_and_bounded_from_the_next_but_one() {
    for bits in [12, 18] {
        let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
        let sizes = flow(&mut machine, Pair { bits, ..ONE }, 4_090, 12);
        assert_eq!(sizes[..4], [WANTED; 4], "{bits}: {sizes:?}");
        // 10 000 bytes in 5 ms are 2 MB/s: 2000 for the loop and 750 for half a packet are apart
        // from 3000 in the queue; 1.33 x (10 000 - 250) may come.
        assert_eq!(sizes[11], 250 + 12_967 + 2_750, "{bits}: {sizes:?}");
        let view = machine.views().next().expect("a bearer");
        assert_eq!((view.downlink_teid, view.uplink_teid), (0x11, Some(0x22)));
        assert_eq!((view.in_flight, view.limit), (3_000, Some(15_967)));
        assert_eq!((view.packets, view.bytes), (120, 120_000));
        assert_eq!(machine.counts().unpaired, 3);
    }
}

#[test]
fn bearers_that_run_side_by_side_are_told_apart() {
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    let pairs: Vec<Pair> =
        (0..40).map(|n| Pair { teids: [100 + n, 900 - n], bits: 18, du: DU }).collect();
    // Their numbers overlap all the time.
    let mut sent: Vec<u32> = (0..40).map(|n| n * 13).collect();
    for period in 0..400_u32 {
        let now = at(u64::from(period) * 5_000);
        for (n, pair) in pairs.iter().enumerate() {
            for _ in 0..2 + n % 7 {
                machine.on_datagram(now, &mut pair.down(sent[n], 500));
                sent[n] += 1;
            }
        }
        for (n, pair) in pairs.iter().enumerate() {
            // Every other bearer is empty now and then, the rest never.
            let left = if n % 2 == 0 && period as usize % 5 == n % 5 { 1 } else { 2 };
            machine.on_datagram(now + Duration::from_millis(4), &mut pair.told(sent[n] - left));
        }
    }
    let mut paired = [0; 2];
    for view in machine.views() {
        let Some(uplink) = view.uplink_teid else { continue };
        assert_eq!(uplink, 1_000 - view.downlink_teid, "{view:?}");
        paired[view.downlink_teid as usize % 2] += 1;
    }
    println!("paired: {paired:?}");
    assert_eq!(paired[0], 20, "whose queue runs empty is known: {paired:?}");
}

#[test]
fn equal_teids_at_two_dus_are_two_bearers_with_limits_of_their_own() {
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    let other = Pair { du: Ipv4Addr::new(10, 45, 0, 2), ..ONE };
    let mut sizes = [0; 2];
    for period in 0..12 {
        let begin = at(u64::from(period) * 5_000);
        for (index, (pair, packets)) in [(ONE, 10), (other, 4)].into_iter().enumerate() {
            for n in 0..packets {
                machine.on_datagram(begin, &mut pair.down(period * packets + n, 1_000));
            }
            let mut status = pair.told(period * packets + packets - 2);
            machine.on_datagram(begin + Duration::from_micros(4_900), &mut status);
            sizes[index] = size(&status);
        }
    }
    assert_eq!(machine.bearers(), (2, 2));
    let dus: Vec<(std::net::IpAddr, Option<u32>)> =
        machine.views().map(|view| (view.du, view.uplink_teid)).collect();
    assert_eq!(dus, [(ONE.du.into(), Some(0x22)), (other.du.into(), Some(0x22))]);
    assert!(sizes[0] < WANTED && sizes[1] < sizes[0], "{sizes:?}");
}

#[test]
fn a_bound_is_never_raised_and_a_stop_stays_a_stop() {
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    flow(&mut machine, ONE, 0, 10);
    for wanted in [0, 1, 5_000] {
        let status = DeliveryStatus {
            desired_buffer_size: wanted,
            highest_transmitted: Some(96),
            ..Default::default()
        };
        let mut packet = ONE.up(&status);
        let before = packet.clone();
        assert_eq!(machine.on_datagram(at(55_000), &mut packet), Verdict::Status);
        assert_eq!(packet, before);
    }
}

#[test]
fn a_rate_is_bounded_too_and_no_other_byte_changes() {
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    flow(&mut machine, ONE, 0, 10);
    let lost = [justfull_nru::SnRange { start: 1, end: 2 }];
    let status = DeliveryStatus {
        final_frame: true,
        desired_buffer_size: WANTED,
        desired_data_rate: Some(u32::MAX),
        lost: Some(justfull_nru::SnRanges::new(&lost)),
        highest_delivered: Some(90),
        highest_transmitted: Some(96),
        cause: Some(1),
        ..Default::default()
    };
    let mut packet = ONE.up(&status);
    let before = packet.clone();
    assert_eq!(machine.on_datagram(at(55_000), &mut packet), Verdict::Rewritten);
    let Ok(Some(Frame::Status(after))) = opened(&packet).frame() else { panic!("a status") };
    assert!(after.desired_buffer_size < 40_000, "{after:?}");
    assert!(after.desired_data_rate.is_some_and(|rate| rate < 10_000_000), "{after:?}");
    let same =
        DeliveryStatus { desired_buffer_size: WANTED, desired_data_rate: Some(u32::MAX), ..after };
    assert_eq!(same, status);
    let changed: Vec<usize> = (0..packet.len()).filter(|n| packet[*n] != before[*n]).collect();
    let size = HEADERS + 15;
    assert!(
        changed.iter().all(|n| [26, 27].contains(n) || (size..size + 8).contains(n)),
        "{changed:?}"
    );
}

#[test]
fn in_acknowledged_mode_transmitted_and_undelivered_bytes_come_on_top() {
    let told = |delivered: Option<u32>| {
        let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
        flow(&mut machine, ONE, 0, 10);
        let mut packet = ONE.up(&DeliveryStatus {
            desired_buffer_size: WANTED,
            highest_delivered: delivered,
            highest_transmitted: Some(96),
            ..Default::default()
        });
        machine.on_datagram(at(55_000), &mut packet);
        size(&packet)
    };
    assert_eq!(told(Some(86)), told(None) + 10_000);
}

#[test]
fn repeated_and_overtaken_statuses_let_a_cu_up_that_knows_a_newer_number_send_no_more() {
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    let sizes = flow(&mut machine, ONE, 0, 10);
    let last = sizes[9];
    let mut again = ONE.told(96);
    machine.on_datagram(at(50_100), &mut again);
    assert_eq!(size(&again), last, "it came twice");
    let mut old = ONE.told(86);
    machine.on_datagram(at(50_200), &mut old);
    assert_eq!(size(&old), last, "counted from the newest number");
}

#[test]
fn a_delivered_number_beyond_the_transmitted_one_does_not_lift_the_bound() {
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    flow(&mut machine, ONE, 0, 10);
    for (now, transmitted) in [(55_000, Some(60)), (60_000, None)] {
        let mut packet = ONE.up(&DeliveryStatus {
            desired_buffer_size: WANTED,
            highest_delivered: Some(99),
            highest_transmitted: transmitted,
            ..Default::default()
        });
        assert_eq!(machine.on_datagram(at(now), &mut packet), Verdict::Rewritten);
        assert!((6_000..20_000).contains(&size(&packet)), "{}", size(&packet));
    }
}

#[test]
fn a_limit_of_gigabytes_bounds_nothing() {
    let limit = justfull_queue::Limit::Bytes(2_500_000_000);
    let fixed = justfull_ran::limiter::FixedConfig { limit, overdraw: true };
    let limiter = justfull_ran::limiter::LimiterConfig::Fixed(fixed);
    let mut machine = Machine::new(&F1uConfig { limiter, ..F1uConfig::default() }).expect("valid");
    assert_eq!(flow(&mut machine, ONE, 0, 12), [WANTED; 12]);
}

#[test]
fn a_new_uplink_tunnel_of_a_bearer_takes_the_place_of_a_silent_one() {
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    flow(&mut machine, ONE, 0, 10);
    let renewed = Pair { teids: [ONE.teids[0], 0x33], ..ONE };
    let sizes = flow(&mut machine, renewed, 100, 60);
    let unbounded = sizes.iter().filter(|size| **size == WANTED).count();
    assert!(unbounded <= 45, "the old tunnel is silent after 200 ms: {unbounded} of 60");
    assert!(sizes[50..].iter().all(|size| *size < 20_000), "{sizes:?}");
    let view = machine.views().next().expect("a bearer");
    assert_eq!((machine.bearers(), view.uplink_teid), ((1, 1), Some(0x33)));
}

#[test]
fn unknown_packets_pass_the_box_unchanged_and_are_counted() {
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    flow(&mut machine, ONE, 0, 10);
    let unchanged = |machine: &mut Machine, bytes: &[u8], verdict| {
        let mut packet = bytes.to_vec();
        assert_eq!(machine.on_datagram(at(60_000), &mut packet), verdict, "{bytes:02x?}");
        assert_eq!(packet, bytes);
    };
    let good = ONE.told(96);
    let mut end_marker = good.clone();
    end_marker[HEADERS + 1] = gtpu::END_MARKER;
    unchanged(&mut machine, &end_marker, Verdict::Other);
    let mut fragment = good.clone();
    fragment[6] = 0x20;
    unchanged(&mut machine, &fragment, Verdict::Other);
    let mut other_port = good.clone();
    other_port[23] ^= 1;
    unchanged(&mut machine, &other_port, Verdict::Other);
    let unknown = packet(DU, CU_UP, &message(0x22, &Frame::Other(&[0x50; 6]), &[]));
    unchanged(&mut machine, &unknown, Verdict::Other);
    let stranger = Pair { teids: [0, 0], ..ONE }.told(5);
    unchanged(&mut machine, &stranger, Verdict::Status);
    for cut in 0..good.len() {
        let mut short = good[..cut].to_vec();
        machine.on_datagram(at(60_000), &mut short);
        assert_eq!(short, good[..cut]);
    }
    let mut lengths = good.clone();
    lengths[HEADERS + 3] ^= 4;
    unchanged(&mut machine, &lengths, Verdict::Malformed);
    assert_eq!(machine.counts().malformed, 1);
    assert!(machine.counts().other >= 4);
}

#[test]
fn four_thousand_bearers_have_a_bounded_memory_and_more_pass() {
    let bearers = BearersConfig { most: 4_000, pdcp_sn_bits: 18, ..BearersConfig::default() };
    let config = F1uConfig { bearers, ..F1uConfig::default() };
    let mut machine = Machine::new(&config).expect("valid");
    let pair = |n: u32| Pair { teids: [n, n], bits: 18, du: DU };
    for sn in 0..200 {
        for n in 0..4_000 {
            machine.on_datagram(at(u64::from(sn)), &mut pair(n).down(sn, 40));
        }
    }
    assert_eq!(machine.bearers(), (4_000, 0));
    let usual = machine.memory();
    assert_eq!(machine.on_datagram(at(1), &mut pair(4_001).down(0, 40)), Verdict::UserData);
    assert_eq!((machine.counts().over_limit, machine.bearers().0), (1, 4_000));
    // One bearer without reports fills its ring, and no more.
    for sn in 200..30_000 {
        machine.on_datagram(at(2_000), &mut pair(7).down(sn, 40));
    }
    let ring = 8_192 * 4;
    assert!(machine.memory() <= usual + ring, "{} {usual}", machine.memory());
    println!(
        "{} bytes for each bearer, at most {} with a full ring",
        usual / 4_000,
        usual / 4_000 + ring
    );
    assert!(usual / 4_000 < 2_500, "{usual}");
    machine.on_datagram(at(120_000_000), &mut pair(1).down(0, 40));
    assert_eq!(machine.bearers().0, 1, "silent tunnels are removed");
}

proptest! {
    #[test]
    fn whatever_a_du_reports_its_size_is_not_raised_and_falls_no_lower_than_the_least(
        short: bool,
        steps in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>(), 0..4_u8), 1..200),
        interval in prop_oneof![Just(0), Just(1)],
    ) {
        let mut config = F1uConfig::default();
        config.pacer.interval = Duration::from_millis(interval);
        let mut machine = Machine::new(&config).expect("valid");
        let pair = Pair { bits: if short { 12 } else { 18 }, ..ONE };
        flow(&mut machine, pair, 0, 8);
        let (mut now, mut sn) = (at(40_000), 80);
        for (one, other, size_of, kind) in steps {
            now += Duration::from_micros(u64::from(one % 9_000));
            // Near the newest number, or anywhere.
            let near = |word: u32| word & 1 == 0;
            let number = |word| (if near(word) { sn - word % 32 } else { word }) & 0xff_ffff;
            let status = DeliveryStatus {
                desired_buffer_size: size_of,
                highest_transmitted: (kind & 1 == 0).then(|| number(one)),
                highest_delivered: (kind & 2 == 0).then(|| number(other)),
                ..Default::default()
            };
            let mut packet = pair.up(&status);
            machine.on_datagram(now, &mut packet);
            let least = size_of.min(6_000);
            prop_assert!((least..=size_of).contains(&size(&packet)), "{status:?}");
            machine.poll(now, |own| assert!(size(own) >= 6_000 || size(own) == size_of));
            for _ in 0..other % 12 {
                machine.on_datagram(now, &mut pair.down(sn, 60 + (one % 1_400) as usize));
                sn += 1;
            }
        }
    }

    #[test]
    fn any_change_of_bytes_passes_with_at_most_the_bounds_and_the_checksum_changed(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
        flow(&mut machine, ONE, 0, 8);
        for good in [ONE.told(76), ONE.down(80, 100)] {
            let mut packet = good;
            for (index, value) in &changes {
                let index = index.index(packet.len());
                packet[index] = *value;
            }
            let before = packet.clone();
            let verdict = machine.on_datagram(at(45_000), &mut packet);
            prop_assert_eq!(packet.len(), before.len());
            if verdict == Verdict::Rewritten {
                let same = |n: &usize| packet[*n] == before[*n];
                let changed = (0..packet.len()).filter(|n| !same(n)).count();
                prop_assert!(changed <= 10);
            } else {
                prop_assert_eq!(packet, before);
            }
        }
    }
}
