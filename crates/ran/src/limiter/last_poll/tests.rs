use super::*;
use alloc::vec;
use alloc::vec::Vec;
use justfull_base::Rng;

const SLOT: Duration = Duration::from_millis(1);
const BULK: u64 = 1500;

fn limiter() -> LastPoll {
    with(&LastPollConfig::default())
}

fn with(config: &LastPollConfig) -> LastPoll {
    let context = GrantContext { unit: CapacityUnit::Bytes, slot: SLOT, mtu: 1500 };
    LastPoll::new(config, &context).expect("in bounds")
}

fn after_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn holding(bytes: u64) -> RlcView {
    RlcView { packets: 1, bytes }
}

/// Runs slots of `capacity(k)` bytes from `slots.start` to `slots.end`, with polls at
/// `polls(k)` us after each pull and endless bulk. Returns the bytes of the last slot's polls
/// and the unused capacity of all slots.
fn run(
    l: &mut LastPoll,
    slots: core::ops::Range<u64>,
    capacity: impl Fn(u64) -> u64,
    polls: impl Fn(u64) -> Vec<u64>,
) -> (Vec<u64>, u64) {
    let (mut view, mut unused, mut entered) = (RlcView::default(), 0, Vec::new());
    for k in slots {
        let pulled_at = Instant::ZERO + SLOT.times(k);
        entered.clear();
        for us in polls(k) {
            let now = pulled_at + Duration::from_micros(us);
            let before = view.bytes;
            while l.room(now, &view) >= BULK {
                view.bytes += BULK;
                l.on_admitted(now, BULK, &view);
            }
            entered.push(view.bytes - before);
        }
        let offered = capacity(k);
        let used = view.bytes.min(offered);
        view.bytes -= used;
        unused += offered - used;
        let (pulled_at, remaining) = (pulled_at + SLOT, view.bytes);
        l.on_slot(&SlotReport {
            pulled_at,
            granted: offered,
            used,
            remaining,
            capacity: offered,
            ..SlotReport::default()
        });
    }
    (entered, unused)
}

fn every_200_us(_: u64) -> Vec<u64> {
    vec![50, 250, 450, 650, 850]
}

#[test]
fn slots_that_were_not_told_of_keep_their_places_in_the_pattern() {
    let pattern = |k: u64| if k.is_multiple_of(5) { 1572 } else { 2292 };
    let mut reported = Foreteller::new();
    let mut k = 0;
    for passed in [1; 300].into_iter().chain((0..300).map(|n| 1 + n % 97)) {
        k += passed;
        reported.add(passed, pattern(k));
        if (250..300).contains(&k) {
            assert_eq!(reported.foretold, pattern(k + 1) as u32, "slot {k}");
        }
        assert_eq!(reported.ago(1), pattern(k) as u32);
        assert_eq!(reported.offered[((k - 1) % MEMORY as u64) as usize], pattern(k) as u32);
    }
}

#[test]
fn the_room_is_what_the_pull_takes_less_the_reserve_and_all_that_is_due_at_the_last_poll() {
    // Without gaps, the gap is half a slot; a pull takes an SDU, and a quarter is reserved.
    let mut l = limiter();
    assert_eq!(l.room(after_us(1), &RlcView::default()), 1_125);
    assert_eq!(l.room(after_us(1), &holding(1_000)), 375, "a small one may use the reserve");
    assert_eq!(
        [1_874, 1_875].map(|bytes| l.room(after_us(1), &holding(bytes))),
        [375, 0],
        "until that is full too"
    );
    assert_eq!(l.room(after_us(600), &holding(500)), 1_000 + 1_499, "an SDU that will be cut");
}

#[test]
fn the_mean_unused_capacity_must_exceed_the_risk() {
    // One gap of 16 is longer than the rest of the slot.
    for (risk, due) in [(0.031_25, 0), (0.031, 1_500)] {
        let mut l = with(&LastPollConfig { risk: Ratio(risk), ..LastPollConfig::default() });
        (0..15).for_each(|_| l.gaps.count(100_000));
        l.gaps.count(900_000);
        // Half of the pull is short: a 32nd on average.
        assert_eq!(l.due(after_us(500), 750), due, "{risk}");
    }
}

#[test]
fn without_patience_a_queue_that_holds_a_pull_gets_the_next_pulls_too() {
    let mut l = with(&LastPollConfig { patience: Ratio(0.0), ..LastPollConfig::default() });
    (0..16).for_each(|_| l.gaps.count(2_500_000));
    // The gaps reach the second pull but not the third.
    assert_eq!(l.due(after_us(0), 1_500), 3_000);
}

#[test]
fn patience_counts_unused_capacity_and_the_present_lack() {
    let mut l = limiter();
    l.takes = 500;
    // 0.03 x 3 x 1.5 = 0.135 slots apart; a fifth of the pull is short.
    (l.idle, l.patience) = (0.1, 0.03);
    assert_eq!(l.due(after_us(900), 400), 500);
    assert_eq!(l.due(after_us(900), 490), 0, "0.12 are not enough");
}

/// UMTS's retransmissions may take whole slots while SDUs wait, and these slots grant nothing.
#[test]
fn after_slots_that_granted_nothing_an_idle_cell_takes_bulk_again() {
    let mut l = limiter();
    let reported = |l: &mut LastPoll, granted, used, remaining| {
        let pulled_at = l.pulled_at + SLOT;
        l.on_slot(&SlotReport { pulled_at, granted, used, remaining, ..SlotReport::default() });
    };
    (0..50).for_each(|_| reported(&mut l, 500, 500, 20));
    (0..100).for_each(|_| reported(&mut l, 0, 0, 20));
    assert_eq!(l.takes, 1, "what the last slots granted");
    reported(&mut l, 500, 0, 0);
    assert_eq!(l.takes, 500);
    // 0.03 x 3 x 1.5 slots apart.
    assert_eq!(l.due(l.pulled_at + Duration::from_micros(600), 0), 500);
}

/// Polls at each quarter of the slot, the last at the instant of the pull but after it: an SDU
/// larger than a pull must enter at the poll before.
#[test]
fn a_poll_that_comes_after_the_pull_of_its_instant_is_none_before_it() {
    let mut l = limiter();
    let (_, unused) = run(&mut l, 0..400, |_| 1_000, |_| vec![0, 250, 500, 750]);
    assert!(unused < 400 * 1_000 / 10, "{unused}");
}

#[test]
fn unused_parts_of_pulls_add_up_until_a_large_sdu_enters() {
    let mut l = limiter();
    let reported = |l: &mut LastPoll, slots: u64, granted, used, remaining| {
        let pulled_at = l.pulled_at + SLOT.times(slots);
        l.on_slot(&SlotReport { pulled_at, granted, used, remaining, ..SlotReport::default() });
        (l.idle * 100.0 + 0.5) as u32
    };
    assert_eq!(reported(&mut l, 1, 1_000, 600, 0), 40);
    assert_eq!(reported(&mut l, 1, 1_000, 750, 0), 65);
    assert_eq!(reported(&mut l, 1, 1_000, 1_000, 20), 65);
    assert_eq!(reported(&mut l, 1, 0, 0, 20), 65, "nothing was offered");
    assert_eq!(reported(&mut l, 3, 1_000, 0, 0), 365, "three idle slots");
    let pulled_at = l.pulled_at + Duration::from_micros(1_600);
    let mut late = l.clone();
    late.on_slot(&SlotReport { pulled_at, granted: 1_000, ..SlotReport::default() });
    assert_eq!(late.idle.to_bits(), 5.65f32.to_bits(), "and the nearest number of slots");
    l.on_admitted(l.pulled_at, 375, &RlcView::default());
    assert_eq!(l.idle.to_bits(), 3.65f32.to_bits());
    l.on_admitted(l.pulled_at, 376, &RlcView::default());
    assert_eq!(l.idle.to_bits(), 0);
}

#[test]
fn the_reserve_is_the_most_small_sdus_of_a_slot_and_fades() {
    let mut l = limiter();
    let mut reported = |small: &[u64]| {
        small.iter().for_each(|n| l.on_admitted(l.pulled_at, *n, &RlcView::default()));
        let pulled_at = l.pulled_at + SLOT;
        let (granted, used) = (1_500, 1_500);
        l.on_slot(&SlotReport { pulled_at, granted, used, ..SlotReport::default() });
        l.reserve
    };
    assert_eq!(reported(&[]), 373, "by a 256th, rounded up");
    assert_eq!(reported(&[200, 300, 1_500]), 500);
    assert_eq!(reported(&[40]), 498);
}

fn gaps() -> Gaps {
    Gaps { longer: [0; GAP_STEPS], counted: 0, step_ns: 1_000 }
}

#[test]
fn until_sixteen_gaps_are_counted_half_a_slot_stands_for_the_gap() {
    let mut gaps = gaps();
    for counted in 0..16 {
        let shares = [0, 31_999, 32_000, 40_000].map(|ns| gaps.share_longer(ns) > 0.99);
        assert_eq!(shares, [true, true, false, false], "{counted} counted");
        gaps.count(36_000);
    }
    let shares = [0, 35_999, 36_000, 40_000].map(|ns| gaps.share_longer(ns) > 0.01);
    assert_eq!(shares, [true, true, false, false], "longer than all shorter times");
}

#[test]
fn half_of_the_gaps_are_forgotten_when_there_are_enough() {
    let mut gaps = gaps();
    (0..2048).for_each(|_| gaps.count(50_000));
    (0..1024).for_each(|_| gaps.count(10_000));
    assert_eq!((gaps.counted, gaps.share_longer(20_000)), (2048, 0.5));
    gaps.count(10_000);
    assert_eq!((gaps.counted, gaps.share_longer(20_000)), (1025, 512.0 / 1025.0));
}

#[test]
fn bulk_that_leaves_no_room_for_urgent_packets_enters_at_the_last_poll() {
    let mut l = limiter();
    run(&mut l, 0..100, |_| 1500, every_200_us);
    let (entered, unused) = run(&mut l, 100..200, |_| 1500, every_200_us);
    assert_eq!((entered, unused), (vec![0, 0, 0, 0, 1500], 0));
    let now = Instant::ZERO + SLOT.times(200) + Duration::from_micros(50);
    let room = l.room(now, &RlcView::default());
    assert!((200..BULK).contains(&room), "an urgent packet may enter at any poll: {room}");
}

#[test]
fn where_a_fifth_of_the_polls_is_missed_bulk_enters_earlier_and_little_is_left_unused() {
    let polls = |k: u64| {
        let mut rng = Rng::stream(k, "missed polls");
        every_200_us(k).into_iter().filter(|_| !rng.chance(0.2)).collect::<Vec<_>>()
    };
    let mut l = limiter();
    run(&mut l, 0..300, |_| 1500, polls);
    let (_, unused) = run(&mut l, 300..1300, |_| 1500, polls);
    assert!(unused < 1000 * 1500 / 50, "{unused}");
}

#[test]
fn a_pattern_of_ten_slots_is_foretold() {
    let pattern = |k: u64| if k.is_multiple_of(5) { 1572 } else { 2292 };
    let mut l = limiter();
    run(&mut l, 0..200, pattern, every_200_us);
    for k in 200..220 {
        assert_eq!(l.takes, pattern(k), "slot {k}");
        run(&mut l, k..k + 1, pattern, every_200_us);
    }
}

#[test]
fn polls_rarer_than_pulls_fill_for_all_pulls_to_come() {
    let mut l = limiter();
    let seldom = |k: u64| if k.is_multiple_of(3) { vec![500] } else { Vec::new() };
    run(&mut l, 0..300, |_| 3000, seldom);
    let (_, unused) = run(&mut l, 300..600, |_| 3000, seldom);
    assert!(unused <= 3000, "{unused}");
}

#[test]
fn on_a_slow_channel_bulk_keeps_a_distance_and_on_a_swift_one_none() {
    let mut l = limiter();
    let (_, unused) = run(&mut l, 0..3000, |_| 85, every_200_us);
    // 0.03 x 17.6 x 16.1 = 8.5 slots in 26.2.
    assert!((20..40).contains(&(unused * 100 / (3000 * 85))), "{unused}");
    let mut l = limiter();
    run(&mut l, 0..100, |_| 1143, every_200_us);
    let (_, unused) = run(&mut l, 100..3000, |_| 1143, every_200_us);
    assert!(unused < 2900 * 1143 / 1000, "{unused}: pulls short by less than the risk");
}

#[test]
fn settings_out_of_bounds_are_refused_by_name() {
    let refused = |config: LastPollConfig| {
        let context = GrantContext { unit: CapacityUnit::Bytes, slot: SLOT, mtu: 1500 };
        LastPoll::new(&config, &context).map(|_| ()).map_err(|e| e.field)
    };
    let config = LastPollConfig::default;
    assert_eq!(refused(LastPollConfig { risk: Ratio(f64::NAN), ..config() }), Err("risk".into()));
    assert_eq!(refused(LastPollConfig { small: Ratio(-0.1), ..config() }), Err("small".into()));
    assert_eq!(
        refused(LastPollConfig { patience: Ratio(1.1), ..config() }),
        Err("patience".into())
    );
}
