//! Each part with numbers worked out by hand.

use super::aimd::Aimd;
use super::groups::{Change, Groups};
use super::loss::LossPart;
use super::throughput::Throughput;
use super::trendline::{Trendline, Usage};

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{found}, wanted {wanted}");
}

#[test]
fn packets_within_5_ms_or_a_burst_are_a_group_and_a_new_group_gives_the_change_before_it() {
    let mut groups = Groups::default();
    for (sent, arrival) in [(0.0, 10.0), (2.0, 12.0), (5.0, 14.0), (20.0, 31.0)] {
        assert_eq!(groups.take(sent, arrival), None);
    }
    // Sent 10 ms later, it arrives 2 ms later: it waited behind the group.
    assert_eq!(groups.take(30.0, 33.0), None);
    // Older than the group: ignored.
    assert_eq!(groups.take(19.0, 34.0), None);
    let change = groups.take(40.0, 52.0).expect("the second group is complete");
    assert_eq!(change, Change { sent: 25.0, arrived: 19.0 });
}

/// A ramp: groups each 10 ms, each 1 ms later than the one before.
fn ramp(groups: u32) -> Trendline {
    let mut line = Trendline::new();
    for n in 0..groups {
        line.take(&Change { sent: 10.0, arrived: 11.0 }, 100.0 + 11.0 * f64::from(n));
    }
    line
}

#[test]
fn the_slope_of_a_ramp_is_the_slope_of_the_smoothed_delay() {
    near(ramp(19).slope(), 0.0);
    // The smoothed delay is n - 9 (1 - 0.9^n); its line over n = 1 to 20 by another program.
    near(ramp(20).slope(), 0.05912094);
    // In the end 1 ms in 11 ms.
    near(ramp(200).slope(), 1.0 / 11.0);
}

#[test]
fn a_ramp_is_overuse_and_a_fall_underuse() {
    let mut line = ramp(60);
    assert_eq!(line.usage(), Usage::Over);
    for n in 0..60 {
        line.take(&Change { sent: 10.0, arrived: 9.0 }, 760.0 + 9.0 * f64::from(n));
    }
    assert_eq!(line.usage(), Usage::Under);
    for n in 0..60 {
        line.take(&Change { sent: 10.0, arrived: 10.0 }, 1300.0 + 10.0 * f64::from(n));
    }
    assert_eq!(line.usage(), Usage::Normal);
}

#[test]
fn overuse_takes_two_groups_10_ms_and_a_slope_that_does_not_fall() {
    let over = |slopes: &[f64], passed: f64| {
        let mut line = ramp(2);
        let states = slopes.iter().map(|slope| {
            line.detect(*slope, passed, 111.0);
            line.usage() == Usage::Over
        });
        states.collect::<alloc::vec::Vec<_>>()
    };
    // 2 groups: m = 8 slope; 12.5 needs a slope of 1.5625. The first group counts half its time.
    assert_eq!(over(&[1.6, 1.6], 10.0), [false, true]);
    assert_eq!(over(&[1.5, 1.5], 10.0), [false, false]);
    assert_eq!(over(&[1.6, 1.6, 1.6], 6.0), [false, false, true]);
    assert_eq!(over(&[1.7, 1.6, 1.6], 10.0), [false, false, true]);
}

#[test]
fn the_threshold_rises_slowly_falls_fast_and_ignores_spikes() {
    let adapted = |size: f64, after: f64| {
        let mut line = Trendline::new();
        line.adapt(size, 0.0);
        line.adapt(size, after);
        line.threshold()
    };
    near(adapted(20.0, 10.0), 12.5 + 0.0087 * 7.5 * 10.0);
    near(adapted(2.5, 10.0), 12.5 - 0.039 * 10.0 * 10.0);
    near(adapted(27.6, 10.0), 12.5);
    // At most 100 ms count, and the least threshold is 6.
    near(adapted(20.0, 5000.0), 12.5 + 0.0087 * 7.5 * 100.0);
    near(adapted(2.5, 100.0), 6.0);
}

#[test]
fn the_arriving_rate_is_measured_over_half_a_second_and_then_follows() {
    let mut throughput = Throughput::default();
    let mut at = 0.0;
    while at < 500.0 {
        assert_eq!(throughput.bits_per_second(), None);
        throughput.take(at, 1000);
        at += 10.0;
    }
    throughput.take(500.0, 1000);
    near(throughput.bits_per_second().expect("after 500 ms"), 800_000.0);
    // Half of the rate for 150 ms: uncertainty 10 x 400/800 = 5, variances 25 and 55.
    for packet in 1..=15 {
        throughput.take(500.0 + 10.0 * f64::from(packet), 500);
    }
    // The window has the packet at 500 ms and 14 of 500 B: 8000 B, 426.67 kbit/s.
    let sample = 8.0 * 8000.0 / 150.0;
    let apart = 10.0 * (800.0 - sample) / 800.0;
    let wanted = (apart * apart * 800.0 + 55.0 * sample) / (apart * apart + 55.0);
    near(throughput.bits_per_second().expect("it stays"), wanted * 1e3);
}

#[test]
fn overuse_leaves_85_percent_of_what_arrives_less_5_kbit_s_and_not_again_at_once() {
    let mut aimd = Aimd::new(0.85, 100_000.0, 1_000_000.0);
    aimd.set_rtt(0.1);
    aimd.update(1.0, Usage::Over, Some(800_000.0));
    near(aimd.rate(), 675_000.0);
    aimd.update(1.05, Usage::Over, Some(700_000.0));
    near(aimd.rate(), 675_000.0);
    // Less than half of the rate arrives: at once.
    aimd.update(1.06, Usage::Over, Some(300_000.0));
    near(aimd.rate(), 250_000.0);
    let mut early = Aimd::new(0.85, 100_000.0, 300_000.0);
    early.update(0.1, Usage::Over, None);
    near(early.rate(), 150_000.0);
}

#[test]
fn far_from_the_capacity_the_rate_grows_by_8_percent_a_second_and_up_to_what_arrives() {
    let mut aimd = Aimd::new(0.85, 100_000.0, 1_000_000.0);
    aimd.update(1.0, Usage::Normal, Some(1_000_000.0));
    near(aimd.rate(), 1_001_000.0);
    aimd.update(1.5, Usage::Normal, Some(1_000_000.0));
    near(aimd.rate(), 1_001_000.0 * libm::pow(1.08, 0.5));
    aimd.update(5.0, Usage::Normal, Some(500_000.0));
    near(aimd.rate(), 1_001_000.0 * libm::pow(1.08, 0.5));
    let mut limited = Aimd::new(0.85, 100_000.0, 755_000.0);
    limited.update(1.0, Usage::Normal, Some(500_000.0));
    limited.update(2.0, Usage::Normal, Some(500_000.0));
    near(limited.rate(), 760_000.0);
}

#[test]
fn near_the_capacity_the_rate_grows_by_half_a_packet_in_rtt_and_100_ms() {
    let mut aimd = Aimd::new(0.85, 100_000.0, 1_000_000.0);
    aimd.set_rtt(0.2);
    // A frame of 33 333 bits is 4 packets of 8333; half of one in 300 ms.
    near(aimd.near_growth(), 25_000.0 / 3.0 / 0.6);
    aimd.update(1.0, Usage::Over, Some(1_000_000.0));
    near(aimd.rate(), 845_000.0);
    aimd.update(2.0, Usage::Normal, Some(1_000_000.0));
    let growth = aimd.near_growth();
    aimd.update(3.0, Usage::Normal, Some(1_000_000.0));
    near(aimd.rate(), 845_000.0 + growth);
    // 1000 kbit/s and three deviations of sqrt(0.4 x 1000) = 20: beyond 1060 it is forgotten.
    aimd.update(3.5, Usage::Normal, Some(1_061_000.0));
    near(aimd.rate(), (845_000.0 + growth) * libm::pow(1.08, 0.5));
}

/// The rate after a look at `lost` of 250 packets, from 1 Mbit/s, 5 s after the start.
fn after(lost: u64) -> f64 {
    let mut part = LossPart::new([0.02, 0.1], [100_000.0, 1_000_000.0, 9e6]);
    part.update(0.0, 1_000_000.0);
    for packet in 0..250 {
        part.count(packet < lost);
    }
    part.update(5.0, 5_000_000.0);
    part.target()
}

#[test]
fn losses_up_to_2_percent_let_it_grow_and_beyond_10_percent_take_off_half_of_them() {
    near(after(0), 1_081_000.0);
    near(after(5), 1_081_000.0);
    near(after(6), 1_000_000.0);
    near(after(25), 1_000_000.0);
    // 26 of 250 are 26 parts of 256.
    near(after(26), 1_000_000.0 * (1.0 - 26.0 / 512.0));
}

#[test]
fn the_delay_part_caps_the_rate_and_leads_it_for_two_seconds() {
    let mut part = LossPart::new([0.02, 0.1], [100_000.0, 300_000.0, 9e6]);
    part.update(0.0, 320_000.0);
    near(part.target(), 320_000.0);
    part.update(1.9, 500_000.0);
    near(part.target(), 500_000.0);
    part.update(2.1, 400_000.0);
    near(part.target(), 400_000.0);
}

#[test]
fn growth_begins_at_the_least_rate_of_the_last_second() {
    let mut part = LossPart::new([0.02, 0.1], [100_000.0, 1_000_000.0, 9e6]);
    (0..20).for_each(|_| part.count(false));
    part.update(0.0, 1_000_000.0);
    let mut now = 2.0;
    for _ in 0..10 {
        part.update(now, 9e6);
        now += 0.05;
    }
    // Half a second after the first step of 8 % and 1 kbit/s the rate has not grown further.
    near(part.target(), 1_081_000.0);
    part.update(3.05, 9e6);
    near(part.target(), 1_081_000.0 * 1.08 + 1000.0);
}
