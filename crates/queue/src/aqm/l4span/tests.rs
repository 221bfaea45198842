use super::*;
use crate::counters::Count;

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn built(config: &L4SpanConfig) -> L4Span {
    L4Span::new(config, AqmContext::new(1, 7)).expect("within bounds")
}

fn preset(preset: Preset) -> L4Span {
    built(&L4SpanConfig { preset, ..L4SpanConfig::default() })
}

/// `packets` of 1000 B have left by the report at `us`, and `standing` bytes wait.
fn report(aqm: &mut L4Span, us: u64, packets: u64, standing: u64) {
    let left = Count { packets, bytes: 1000 * packets };
    aqm.on_report(at(us), &DeliveryReport { left, standing });
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-9, "{found}, wanted {wanted}");
}

/// Two rates of 10 packets each, of 4 and 8 B/us: mean 6, deviation 2. `standing` bytes wait.
fn two_rates(mut aqm: L4Span, standing: u64) -> f64 {
    report(&mut aqm, 0, 1, 0);
    report(&mut aqm, 2_500, 10, 0);
    report(&mut aqm, 3_750, 10, standing);
    aqm.l4s_probability()
}

#[test]
fn an_l4s_packet_is_marked_by_the_place_of_the_required_rate_in_the_spread_of_rates() {
    let p = |standing| two_rates(preset(Preset::AsPublished), standing);
    // 10 ms at 4, 5, 6, 7 and 8 B/us.
    for (standing, wanted) in [(0, 0.0), (40_000, 0.0), (50_000, 0.25), (60_000, 0.5)] {
        near(p(standing), wanted);
    }
    near(p(70_000), 0.75);
    near(p(80_000), 1.0);
    near(p(1_000_000), 1.0);
}

#[test]
fn the_release_casts_the_ramp_to_a_stair_of_whole_bytes_a_microsecond() {
    // floor(floor(x) / 2) / 2 for x of 1.9, 2, 3.9 and 4 B/us; the first report counts one rate
    // less than it has packets, of 0, so it has one packet here.
    let p = |standing| two_rates(preset(Preset::AsReleased), standing);
    for (standing, wanted) in [(59_000, 0.0), (60_000, 0.5), (79_000, 0.5), (80_000, 1.0)] {
        near(p(standing), wanted);
    }
    near(p(80_001), 1.0);
}

#[test]
fn rates_that_are_all_alike_make_a_step() {
    let p = |standing| {
        let mut aqm = preset(Preset::AsPublished);
        report(&mut aqm, 0, 1, 0);
        report(&mut aqm, 2_000, 10, standing);
        aqm.l4s_probability()
    };
    // 5 B/us for 10 ms.
    near(p(50_000), 0.0);
    near(p(50_001), 1.0);
}

#[test]
fn the_rates_of_the_last_packets_count_and_short_times_keep_the_rate() {
    let config = L4SpanConfig { window: 15, ..L4SpanConfig::default() };
    let mut aqm = built(&config);
    report(&mut aqm, 0, 7, 0);
    assert_eq!(aqm.rates.mean_and_deviation(), None, "the first report has no rate");
    report(&mut aqm, 2_500, 10, 0);
    report(&mut aqm, 3_750, 10, 0);
    // 5 packets of 4 B/us and 10 of 8.
    let [mean, deviation] = aqm.rates.mean_and_deviation().expect("two rates");
    near(mean, 20.0 / 3.0);
    near(deviation, (32.0_f64 / 9.0).sqrt());
    // 100 B/us in 100 us are not believed.
    report(&mut aqm, 3_850, 10, 0);
    let [mean, _] = aqm.rates.mean_and_deviation().expect("two rates");
    near(mean, 8.0);
    // A report without departures changes nothing.
    report(&mut aqm, 9_000, 0, 1_000_000);
    near(aqm.classic_probability(), 0.0);
    near(aqm.l4s_probability(), 0.0);
}

#[test]
fn the_release_counts_the_packets_of_the_first_report_but_one_with_the_rate_0() {
    let mut aqm = preset(Preset::AsReleased);
    report(&mut aqm, 0, 5, 0);
    assert_eq!(aqm.rates.mean_and_deviation(), Some([0.0, 0.0]));
    report(&mut aqm, 1_000, 4, 0);
    let [mean, deviation] = aqm.rates.mean_and_deviation().expect("8 packets");
    near(mean, 2.0);
    near(deviation, 2.0);
}

#[test]
fn classic_packets_are_signalled_above_the_threshold_by_the_window_that_fills_the_queue() {
    let p = |of, standing| {
        let mut aqm = preset(of);
        report(&mut aqm, 0, 2, 0);
        report(&mut aqm, 1_000, 1, standing);
        aqm.classic_probability()
    };
    near(p(Preset::AsPublished, 225_000), 0.0);
    // 0.875 x 1460 B of 255.5 kB are 1 / 200; in bits 1 / 25.
    near(p(Preset::AsPublished, 255_500), 1.0 / 40_000.0);
    near(p(Preset::AsReleased, 255_500), 1.0 / 625.0);
}

#[test]
fn a_signal_marks_what_is_capable_once_and_drops_the_rest_but_in_the_release() {
    for (of, not_ect) in [(Preset::AsPublished, Verdict::Drop), (Preset::AsReleased, Verdict::Pass)]
    {
        let mut aqm = preset(of);
        aqm.p = [1.0, 1.0];
        let mut verdict = |ecn| {
            let packet = Packet { size: 1500, ecn, ..Packet::default() };
            aqm.on_enqueue(at(0), &QueueView::default(), 0, &packet).0
        };
        let found = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(&mut verdict);
        assert_eq!(found, [not_ect, Verdict::Mark, Verdict::Mark, Verdict::Pass]);
    }
}
