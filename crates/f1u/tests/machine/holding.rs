//! User data that waits in the box, and grants in steps.

use super::cell::frames::{CU_UP, DU, HEADERS, message, packet};
use super::{ONE, WANTED, at, flow, pdu, size};
use justfull_base::{Duration, Instant};
use justfull_f1u::{F1uConfig, Machine, Verdict};
use justfull_nru::{DeliveryStatus, Frame, UserData, gtpu};
use proptest::prelude::*;

/// A box in which user data of 20 ms may wait, with a bearer that is bounded: its DU has
/// transmitted packet 96 of 100, at 49 900 us.
fn holding(bearer: u64, total: u64) -> Machine {
    let mut config = F1uConfig::default();
    config.hold.time = Duration::from_millis(20);
    (config.hold.bearer.0, config.hold.total.0) = (bearer, total);
    let mut machine = Machine::new(&config).expect("valid");
    flow(&mut machine, ONE, 0, 10);
    machine
}

fn polled(machine: &mut Machine, now: Instant) -> Vec<Vec<u8>> {
    let mut left = Vec::new();
    machine.poll(now, |packet| left.push(packet.to_vec()));
    left
}

#[test]
fn packets_beyond_the_dus_credit_wait_and_leave_in_order_with_the_next_status() {
    let mut machine = holding(1_000_000, 1_000_000);
    // The DU may have 15 967 bytes beyond packet 96, and has three packets of 1000.
    let verdicts: Vec<Verdict> =
        (100..120).map(|sn| machine.on_datagram(at(50_000), &mut ONE.down(sn, 1_000))).collect();
    assert_eq!(verdicts[..12], [Verdict::UserData; 12]);
    assert_eq!(verdicts[12..], [Verdict::Held; 8]);
    assert!(polled(&mut machine, at(50_000)).is_empty());
    let mut status = ONE.told(104);
    machine.on_datagram(at(54_900), &mut status);
    let left = polled(&mut machine, at(54_900));
    // 8000 bytes in 5 ms: 2350 are apart, 4650 of 7000 count, 1.33 x (8000 - 4650) may come.
    assert_eq!(left, (112..116).map(|sn| ONE.down(sn, 1_000)).collect::<Vec<_>>());
    assert_eq!(machine.views().next().map(|view| view.held), Some(4_000));
    assert!(size(&status) > 11_455 + 30_000, "the CU-UP may fill the box: {}", size(&status));
    let retransmission =
        UserData { sequence: 120, user_data: true, retransmission: true, ..UserData::default() };
    let pdu = pdu(18, 101, 1_000);
    let mut again = packet(CU_UP, DU, &message(0x11, &Frame::UserData(retransmission), &pdu));
    let verdict = machine.on_datagram(at(55_000), &mut again);
    assert_eq!(verdict, Verdict::UserData, "a PDU that left before does not wait");
}

#[test]
fn nothing_waits_for_a_du_that_has_stopped_to_report_and_a_box_that_ends_gives_all_back() {
    let fill = |machine: &mut Machine| {
        for sn in 100..120 {
            machine.on_datagram(at(50_000), &mut ONE.down(sn, 1_000));
        }
    };
    let mut machine = holding(1_000_000, 1_000_000);
    fill(&mut machine);
    assert!(polled(&mut machine, at(249_899)).is_empty());
    assert_eq!(machine.next(), Some(at(249_900)), "200 ms after the last status");
    assert_eq!(polled(&mut machine, at(249_900)).len(), 8);
    assert_eq!((machine.held(), machine.next()), (0, None));
    let mut ending = holding(1_000_000, 1_000_000);
    fill(&mut ending);
    let mut left = Vec::new();
    ending.release(|packet| left.push(packet.to_vec()));
    assert_eq!(left, (112..120).map(|sn| ONE.down(sn, 1_000)).collect::<Vec<_>>());
    assert_eq!(ending.held(), 0);
}

#[test]
fn user_data_waits_for_a_radio_that_is_gone_for_longer_than_a_bearer_may_be_idle() {
    let mut config = F1uConfig::default();
    config.hold.time = Duration::from_millis(20);
    config.bearers.idle = Duration::from_secs(1);
    let mut machine = Machine::new(&config).expect("valid");
    flow(&mut machine, ONE, 0, 10);
    for sn in 100..120 {
        machine.on_datagram(at(50_000), &mut ONE.down(sn, 1_000));
    }
    let full = DeliveryStatus { highest_transmitted: Some(96), ..DeliveryStatus::default() };
    for ms in (100..=3_000).step_by(100) {
        machine.on_datagram(at(ms * 1_000), &mut ONE.up(&full));
        assert!(polled(&mut machine, at(ms * 1_000)).is_empty(), "the DU wants no more");
    }
    let left = polled(&mut machine, at(3_200_000));
    assert_eq!(left, (112..120).map(|sn| ONE.down(sn, 1_000)).collect::<Vec<_>>());
    assert_eq!(machine.held(), 0);
    machine.on_datagram(at(5_000_000), &mut ONE.told(119));
    assert_eq!(machine.bearers(), (0, 0), "nothing waits: it is idle");
}

#[test]
fn an_end_marker_and_a_packet_without_a_frame_stay_behind_the_user_data_of_their_tunnel() {
    let mut machine = holding(1_000_000, 1_000_000);
    let mut marker = ONE.down(120, 4);
    marker[HEADERS + 1] = gtpu::END_MARKER;
    let unknown = packet(CU_UP, DU, &message(0x11, &Frame::Other(&[0x50; 6]), &[1, 2, 3]));
    let stranger = packet(CU_UP, DU, &message(0x12, &Frame::Other(&[0x50; 6]), &[1, 2, 3]));
    let passes = |machine: &mut Machine, packet: &[u8]| {
        machine.on_datagram(at(50_000), &mut packet.to_vec()) == Verdict::Other
    };
    assert!(passes(&mut machine, &marker), "nothing waits");
    for sn in 100..120 {
        machine.on_datagram(at(50_000), &mut ONE.down(sn, 1_000));
    }
    let counts = *machine.counts();
    assert!(!passes(&mut machine, &marker) && !passes(&mut machine, &unknown));
    assert!(passes(&mut machine, &stranger), "another tunnel does not wait");
    let mut left = polled(&mut machine, at(249_900));
    assert_eq!((left.pop(), left.pop(), left.len()), (Some(unknown), Some(marker), 8));
    let after = *machine.counts();
    assert_eq!((after.other, after.held), (counts.other + 3, counts.held + 2));
    assert_eq!((after.user_data, machine.held()), (counts.user_data, 0));
}

#[test]
fn a_du_that_claims_what_waits_in_the_box_has_nothing_in_flight() {
    let mut machine = holding(1_000_000, 1_000_000);
    for sn in 100..120 {
        machine.on_datagram(at(50_000), &mut ONE.down(sn, 1_000));
    }
    machine.on_datagram(at(54_900), &mut ONE.told(119));
    assert_eq!(machine.views().next().map(|view| view.in_flight), Some(0));
}

#[test]
fn a_full_bearer_and_a_full_box_let_the_oldest_packet_go_and_lose_none() {
    // 1048 bytes of a packet with its headers lie in five chunks of 256 bytes.
    for (bearer, total, most) in [(10_000, 1_000_000, 10), (1_000_000, 100_000, 78)] {
        let mut machine = holding(bearer, total);
        let mut left: Vec<Vec<u8>> = Vec::new();
        for sn in 100..300 {
            let mut packet = ONE.down(sn, 1_000);
            if machine.on_datagram(at(50_000), &mut packet) != Verdict::Held {
                left.push(packet);
            }
            left.extend(polled(&mut machine, at(50_000)));
            assert!(machine.held() <= total as usize);
        }
        let waiting = 200 - left.len();
        assert_eq!(waiting, most, "{bearer} {total}");
        assert_eq!(machine.counts().early as usize, 200 - 12 - most);
        assert_eq!(
            left,
            (100..).take(left.len()).map(|sn| ONE.down(sn, 1_000)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_stopped_cu_up_gets_statuses_of_the_boxs_own_until_one_period_after_a_lost_status() {
    let mut config = F1uConfig::default();
    config.pacer.interval = Duration::from_millis(1);
    let mut machine = Machine::new(&config).expect("valid");
    let granted = *flow(&mut machine, ONE, 0, 10).last().expect("a status");
    // Of 15 967 bytes all but the least size of 6000 open in five steps, the first at once.
    assert_eq!(granted, 15_967 - 9_967 * 4 / 5);
    assert!(polled(&mut machine, at(50_900)).is_empty(), "the CU-UP has not sent what it may");
    let mut sn = 100;
    let mut send = |machine: &mut Machine, now: Instant, size: u32| {
        while (sn - 96) * 1_000 <= size {
            machine.on_datagram(now, &mut ONE.down(sn, 1_000));
            sn += 1;
        }
    };
    send(&mut machine, at(51_000), granted);
    let sizes: Vec<u32> = (1..15)
        .filter_map(|step| {
            let now = at(50_900 + step * 1_000);
            let own = polled(&mut machine, now);
            let packet = own.first()?;
            assert_eq!((own.len(), packet.len()), (1, ONE.told(96).len()));
            assert_eq!(packet[..26], ONE.told(96)[..26]);
            send(&mut machine, now, size(packet));
            Some(size(packet))
        })
        .collect();
    let step = |of: u32| 9_967 * of / 5;
    assert_eq!(sizes[..3], [15_967 - step(2), 15_967 - step(1), 15_967]);
    assert_eq!(sizes[3..], [1, 2, 3, 4, 5].map(|late| 15_967 + step(late)));
    assert_eq!(machine.counts().own_statuses, 8);
    let once = DeliveryStatus {
        desired_buffer_size: WANTED,
        highest_transmitted: Some(104),
        cause: Some(1),
        ..DeliveryStatus::default()
    };
    machine.on_datagram(at(65_000), &mut ONE.up(&once));
    send(&mut machine, at(65_000), 100_000);
    assert!(polled(&mut machine, at(69_000)).is_empty(), "a cause is not repeated");
}

proptest! {
    #[test]
    fn held_or_not_each_packet_leaves_once_and_in_order(
        steps in prop::collection::vec((0..4_u32, 4..1_400_usize, 0..6_000_u64), 1..300),
        bearer in 10_000..50_000_u64,
        interval in prop_oneof![Just(0_u64), 500..3_000_u64],
    ) {
        let mut config = F1uConfig::default();
        config.hold.time = Duration::from_millis(20);
        config.hold.bearer.0 = bearer;
        config.hold.total.0 = 100_000;
        config.pacer.interval = Duration::from_micros(interval);
        let mut machine = Machine::new(&config).expect("valid");
        let (mut now, mut sn, mut came, mut left) = (at(0), 0, Vec::new(), Vec::new());
        // A usual begin, in which the bearer is found.
        let usual = (0..110).map(|n| if n % 11 == 10 { (0, 4, 4_900) } else { (1, 1_000, 10) });
        for (kind, bytes, after) in usual.chain(steps) {
            now += Duration::from_micros(after);
            if kind == 0 {
                machine.on_datagram(now, &mut ONE.told(sn - 3 - after as u32 % 7));
            } else {
                let mut packet = ONE.down(sn, bytes);
                sn += 1;
                came.push(packet.clone());
                if machine.on_datagram(now, &mut packet) != Verdict::Held {
                    left.push(packet);
                }
            }
            machine.poll(now, |packet| {
                if packet[16..20] == DU.octets() {
                    left.push(packet.to_vec());
                }
            });
            prop_assert!(machine.held() <= 100_000);
            prop_assert!(machine.next().is_none_or(|next| next > now));
        }
        prop_assert!(machine.views().all(|view| view.limit.is_some()), "the bearer was found");
        machine.release(|packet| left.push(packet.to_vec()));
        prop_assert_eq!(left, came);
        prop_assert_eq!(machine.held(), 0);
    }
}
