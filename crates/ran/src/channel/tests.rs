//! Tests that concern several kinds of channel.

use super::*;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use justfull_base::{Bytes, Rng};
use justfull_phy::CqiToMcs;

const TICK: Duration = Duration::from_millis(10);
const SUBFRAME: Duration = Duration::from_millis(1);

fn context(unit: CapacityUnit, slot: Duration) -> ChannelContext {
    ChannelContext { key: 1, slot, unit, bandwidth: None }
}

fn build(unit: CapacityUnit, config: &ChannelConfig, slot: Duration) -> Channel {
    Channel::new(config, &context(unit, slot)).expect("a valid channel")
}

/// A channel with amounts in packets.
fn in_packets(config: ChannelConfig, slot: Duration) -> Channel {
    build(CapacityUnit::Packets, &config, slot)
}

/// A channel with amounts in bytes.
fn in_bytes(config: ChannelConfig, slot: Duration) -> Channel {
    build(CapacityUnit::Bytes, &config, slot)
}

/// The first `n` capacities, pulled on time.
fn run(channel: &mut Channel, slot: Duration, n: u64) -> Vec<u64> {
    (0..n).map(|k| channel.capacity(k, Instant::ZERO + slot.times(k))).collect()
}

fn cqi_rows(cqi: Vec<u8>) -> CqiRowsConfig {
    CqiRowsConfig { cqi, row: RowLength::Slots(1), ..CqiRowsConfig::default() }
}

fn all_kinds() -> Vec<(CapacityUnit, ChannelConfig)> {
    vec![
        (CapacityUnit::Packets, ChannelConfig::Constant(ConstantConfig::default())),
        (CapacityUnit::Bytes, ChannelConfig::Pattern(PatternConfig::default())),
        (
            CapacityUnit::Packets,
            ChannelConfig::Rows(RowsConfig { amounts: vec![6, 4, 0, 15], ..RowsConfig::default() }),
        ),
        (
            CapacityUnit::Bytes,
            ChannelConfig::CqiRows(CqiRowsConfig {
                cqi: vec![9, 15, 0, 3],
                row: RowLength::Time(Duration::from_millis(30)),
                ..CqiRowsConfig::default()
            }),
        ),
        (
            CapacityUnit::Packets,
            ChannelConfig::Markov(MarkovConfig { step: TICK, ..MarkovConfig::default() }),
        ),
        (
            CapacityUnit::Bytes,
            ChannelConfig::Markov(MarkovConfig {
                fit: Fit::TrainLike,
                step: TICK,
                map: CqiToMcs::NrTable2,
                n_prb: 51,
                numerology: 1,
                layers: 2,
                ..MarkovConfig::default()
            }),
        ),
    ]
}

#[test]
fn each_cqi_carries_as_many_packets_as_in_the_program_of_t20() {
    let mut channel = in_packets(ChannelConfig::CqiRows(cqi_rows((0..=15).collect())), TICK);
    let want = [0, 1, 1, 1, 2, 2, 3, 3, 4, 6, 6, 7, 9, 10, 12, 15];
    assert_eq!(run(&mut channel, TICK, 16), want);
}

#[test]
fn a_block_of_25_prbs_at_mcs_28_carries_2292_bytes_per_subframe() {
    let config = cqi_rows(vec![15]);
    assert_eq!(
        run(&mut in_bytes(ChannelConfig::CqiRows(config.clone()), SUBFRAME), SUBFRAME, 2),
        [2292, 2292]
    );
    assert_eq!(run(&mut in_bytes(ChannelConfig::CqiRows(config), TICK), TICK, 1), [22_920]);
}

#[test]
fn an_nr_block_comes_once_per_slot_of_its_numerology() {
    let half = Duration::from_micros(500);
    let at = |numerology, slot| {
        let config = CqiRowsConfig {
            map: CqiToMcs::NrTable2,
            n_prb: 273,
            numerology,
            layers: 4,
            ..cqi_rows(vec![15])
        };
        run(&mut in_bytes(ChannelConfig::CqiRows(config), slot), slot, 1)[0]
    };
    // 144 elements x 273 blocks x 8 bits x 4 layers x 948/1024 = 1 164 618 bits before rounding to
    // a block.
    let block = at(1, half);
    assert!((block as f64 * 8.0 / 1_164_618.0 - 1.0).abs() < 1.0 / 32.0, "{block} B");
    assert_eq!(at(1, SUBFRAME), 2 * block);
    assert_eq!(at(0, SUBFRAME), block);
}

#[test]
fn out_of_range_carries_nothing_even_where_a_map_answers_it() {
    let config = CqiRowsConfig { map: CqiToMcs::Oai, ..cqi_rows(vec![0, 1]) };
    assert_eq!(run(&mut in_packets(ChannelConfig::CqiRows(config), TICK), TICK, 2), [0, 1]);
}

#[test]
fn the_default_pattern_is_the_cell_of_a21() {
    let mut channel = in_bytes(ChannelConfig::Pattern(PatternConfig::default()), SUBFRAME);
    let frames = run(&mut channel, SUBFRAME, 100);
    assert_eq!(frames.iter().sum::<u64>() * 8 * 10, 17_184_000, "bit/s");
    assert_eq!(frames.iter().filter(|&&bytes| bytes == 1572).count(), 20);
    let sizes = [justfull_phy::lte::tbs_bits(26, 25), justfull_phy::lte::tbs_bits(26, 17)];
    assert_eq!(sizes, [Some(2292 * 8), Some(1572 * 8)]);
}

#[test]
fn a_trace_keeps_its_rate_whatever_the_length_of_a_slot() {
    let amounts = vec![6, 4, 1, 15, 9, 0, 3];
    let want = amounts.iter().sum::<u64>() * 100;
    for (slot_us, unit, worth) in [
        (10_000, CapacityUnit::Packets, 1),
        (1_000, CapacityUnit::Packets, 1),
        (125, CapacityUnit::Packets, 1),
        (1_000, CapacityUnit::Bytes, 1460),
        (500, CapacityUnit::Bytes, 1460),
    ] {
        let slot = Duration::from_micros(slot_us);
        let config = RowsConfig { amounts: amounts.clone(), ..RowsConfig::default() };
        let slots = 7_000_000 / slot_us;
        let sum: u64 =
            run(&mut build(unit, &ChannelConfig::Rows(config), slot), slot, slots).iter().sum();
        assert_eq!(sum, want * worth, "{slot_us} us, {unit:?}");
    }
}

#[test]
fn a_row_of_100_ticks_is_in_force_for_100_ticks_that_come_late() {
    let config = RowsConfig {
        amounts: vec![6, 4],
        row: RowLength::Slots(100),
        at_end: AtEnd::Stop,
        ..RowsConfig::default()
    };
    let late = Duration::from_micros(10_110);
    let got = run(&mut in_packets(ChannelConfig::Rows(config), TICK), late, 201);
    assert!(
        got[..100].iter().all(|&n| n == 6)
            && got[100..200].iter().all(|&n| n == 4)
            && got[200] == 0
    );
}

#[test]
fn the_channel_equals_its_forecast() {
    for (unit, config) in all_kinds() {
        for slot in [SUBFRAME, TICK] {
            let mut channel = build(unit, &config, slot);
            let mut rng = Rng::stream(7, "lateness");
            let mut pulls = Vec::new();
            let mut at = Instant::ZERO;
            for _ in 0..500 {
                pulls.push(at);
                at += slot.scaled(0.8 + 0.4 * rng.unit());
            }
            for (k, window) in (0..).zip(pulls.windows(40)) {
                let foretold = channel.peek(k + 39, window[39]);
                channel.capacity(k, window[0]);
                let mut later = channel.clone();
                assert_eq!(later.capacity(k + 39, window[39]), foretold, "{config:?} slot {k}");
            }
        }
    }
}

#[test]
fn a_clone_goes_on_as_its_original() {
    for (unit, config) in all_kinds() {
        let mut original = build(unit, &config, TICK);
        run(&mut original, TICK, 50);
        let mut copy = original.clone();
        for k in 50..300 {
            let now = Instant::ZERO + TICK.times(k);
            assert_eq!(original.capacity(k, now), copy.capacity(k, now));
        }
    }
}

/// Mean, standard deviation and lag-1 autocorrelation.
fn statistics(series: &[u64]) -> (f64, f64, f64) {
    let n = series.len() as f64;
    let mean = series.iter().map(|&x| x as f64).sum::<f64>() / n;
    let centred: Vec<f64> = series.iter().map(|&x| x as f64 - mean).collect();
    let variance = centred.iter().map(|x| x * x).sum::<f64>() / n;
    let lagged = centred.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / n;
    (mean, libm::sqrt(variance), lagged / variance)
}

#[test]
fn shipped_chains_have_the_stated_statistics_of_the_traces() {
    // (fit, as stated in the header of markov.rs, of the first 200 rows of the trace)
    for (fit, stated, trace) in [
        (Fit::PedestrianLike, (4.002, 1.565, 0.670), (4.010, 1.568, 0.667)),
        (Fit::TrainLike, (4.662, 2.607, 0.763), (4.650, 2.603, 0.764)),
    ] {
        let config = MarkovConfig { fit, step: TICK, ..MarkovConfig::default() };
        let mut channel = in_packets(ChannelConfig::Markov(config), TICK);
        let got = statistics(&run(&mut channel, TICK, 400_000));
        for (got, stated, trace) in
            [(got.0, stated.0, trace.0), (got.1, stated.1, trace.1), (got.2, stated.2, trace.2)]
        {
            assert!((got / stated - 1.0).abs() < 0.01, "{fit:?}: {got} for {stated}");
            assert!((stated / trace - 1.0_f64).abs() < 0.01, "{fit:?}: {stated} for {trace}");
        }
    }
}

#[test]
fn a_chain_is_the_same_for_every_method_whenever_it_is_asked() {
    let config = ChannelConfig::Markov(MarkovConfig::default());
    let second = Duration::from_secs(1);
    let mut seldom =
        Channel::new(&config, &ChannelContext { key: 42, ..context(CapacityUnit::Packets, TICK) })
            .expect("valid");
    let mut often = seldom.clone();
    let every_tick = run(&mut often, TICK, 20_000);
    let every_second: Vec<u64> =
        (0..200).map(|s| seldom.capacity(s * 100, Instant::ZERO + second.times(s))).collect();
    assert!(
        every_second
            .iter()
            .zip(every_tick.chunks(100))
            .all(|(one, all)| all.iter().all(|a| a == one))
    );
    let mut other =
        Channel::new(&config, &ChannelContext { key: 43, ..context(CapacityUnit::Packets, TICK) })
            .expect("valid");
    assert_ne!(run(&mut other, TICK, 20_000), every_tick);
}

#[test]
fn first_states_of_many_keys_are_drawn_from_the_stationary_distribution() {
    let config =
        ChannelConfig::Markov(MarkovConfig { fit: Fit::TrainLike, ..MarkovConfig::default() });
    let first = |key| {
        Channel::new(&config, &ChannelContext { key, ..context(CapacityUnit::Packets, TICK) })
            .map_or(0, |c| c.peek(0, Instant::ZERO))
    };
    let sum: u64 = (0..20_000).map(first).sum();
    let mean = sum as f64 / 20_000.0;
    assert!((mean - 4.662).abs() < 0.08, "{mean}");
}

#[test]
fn the_cqi_behind_a_slot_is_told_where_there_is_one() {
    let second = |s| Instant::ZERO + Duration::from_secs(s);
    let mut trace = cqi_rows(vec![9, 4]);
    (trace.at_end, trace.row) = (AtEnd::Stop, RowLength::Slots(100));
    let trace = in_packets(ChannelConfig::CqiRows(trace), TICK);
    assert_eq!([0, 1, 2].map(|s| trace.cqi(s * 100, second(s))), [Some(9), Some(4), None]);
    let chain = in_packets(ChannelConfig::Markov(MarkovConfig::default()), TICK);
    let mut levels = cqi_rows((1..=15).collect());
    levels.row = RowLength::Slots(1);
    let levels = in_packets(ChannelConfig::CqiRows(levels), TICK);
    for s in 0..200 {
        let cqi = chain.cqi(s * 100, second(s)).expect("a chain is always in a state");
        assert_eq!(chain.peek(s * 100, second(s)), levels.peek(u64::from(cqi) - 1, Instant::ZERO));
    }
    assert_eq!(in_packets(ChannelConfig::default(), TICK).cqi(0, Instant::ZERO), None);
}

#[test]
fn a_custom_chain_steps_only_where_its_weights_allow() {
    // CQI q goes to q + 1, and 15 to 1.
    let matrix = (0..15).map(|i| (0..15).map(|j| u32::from(j == (i + 1) % 15)).collect()).collect();
    let config = MarkovConfig { fit: Fit::Custom, matrix, step: TICK, ..MarkovConfig::default() };
    let got = run(&mut in_packets(ChannelConfig::Markov(config), TICK), TICK, 45);
    assert_eq!(got[..15], got[15..30]);
    let mut sorted = got[..15].to_vec();
    sorted.sort_unstable();
    assert_eq!(sorted, [1, 1, 1, 2, 2, 3, 3, 4, 6, 6, 7, 9, 10, 12, 15]);
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let rows = |change: fn(&mut RowsConfig)| {
        let mut config = RowsConfig { amounts: vec![1], ..RowsConfig::default() };
        change(&mut config);
        ChannelConfig::Rows(config)
    };
    let cqi = |change: fn(&mut CqiRowsConfig)| {
        let mut config = cqi_rows(vec![9]);
        change(&mut config);
        ChannelConfig::CqiRows(config)
    };
    let markov = |change: fn(&mut MarkovConfig)| {
        let mut config = MarkovConfig::default();
        change(&mut config);
        ChannelConfig::Markov(config)
    };
    let constant = ConstantConfig { per_slot: 0 };
    for (config, field) in [
        (ChannelConfig::Constant(constant), "per_slot"),
        (ChannelConfig::Pattern(PatternConfig { bytes: vec![] }), "bytes"),
        (ChannelConfig::Pattern(PatternConfig { bytes: vec![0, 0] }), "bytes"),
        (ChannelConfig::Pattern(PatternConfig { bytes: vec![1 << 32] }), "bytes"),
        (rows(|c| c.amounts.clear()), "amounts"),
        (rows(|c| c.row = RowLength::Slots(0)), "row"),
        (rows(|c| c.row = RowLength::Time(Duration::ZERO)), "row"),
        (rows(|c| c.interval = Duration::ZERO), "interval"),
        (rows(|c| c.interval = Duration::from_secs(3601)), "interval"),
        (rows(|c| c.packet_bytes = Bytes(0)), "packet_bytes"),
        (rows(|c| c.packet_bytes = Bytes(65_536)), "packet_bytes"),
        (cqi(|c| c.cqi.clear()), "cqi"),
        (cqi(|c| c.cqi = vec![0]), "cqi"),
        (cqi(|c| c.cqi = vec![16]), "cqi"),
        (cqi(|c| c.n_prb = 0), "n_prb"),
        (cqi(|c| c.n_prb = 111), "n_prb"),
        (cqi(|c| (c.n_prb, c.layers) = (56, 2)), "n_prb"),
        (cqi(|c| (c.n_prb, c.map) = (276, CqiToMcs::NrTable1)), "n_prb"),
        (cqi(|c| c.layers = 3), "layers"),
        (cqi(|c| (c.layers, c.map) = (5, CqiToMcs::NrTable1)), "layers"),
        (cqi(|c| c.numerology = 1), "numerology"),
        (cqi(|c| (c.numerology, c.map) = (4, CqiToMcs::NrTable1)), "numerology"),
        (cqi(|c| c.min_packets = 16), "min_packets"),
        (cqi(|c| (c.min_packets, c.max_packets) = (0, 0)), "max_packets"),
        (markov(|c| c.step = Duration::ZERO), "step"),
        (markov(|c| c.step = Duration::from_millis(9)), "step"),
        (markov(|c| c.matrix = vec![vec![1; 15]; 15]), "matrix"),
        (markov(|c| c.fit = Fit::Custom), "matrix"),
        (markov(|c| (c.fit, c.matrix) = (Fit::Custom, vec![vec![1; 14]; 15])), "matrix[0]"),
        (markov(|c| (c.fit, c.matrix) = (Fit::Custom, vec![vec![0; 15]; 15])), "matrix[0]"),
        (markov(|c| (c.fit, c.matrix) = (Fit::Custom, vec![vec![1_000_001; 15]; 15])), "matrix[0]"),
    ] {
        let refused = Channel::new(&config, &context(CapacityUnit::Bytes, TICK))
            .map(|_| ())
            .map_err(|e| e.field);
        assert_eq!(refused, Err(String::from(field)), "{config:?}");
    }
}

#[test]
fn a_slot_of_no_length_or_above_a_second_is_refused() {
    for slot in [Duration::ZERO, Duration::from_nanos(1_000_000_001)] {
        let refused =
            Channel::new(&ChannelConfig::default(), &context(CapacityUnit::Packets, slot))
                .map(|_| ())
                .map_err(|e| e.field);
        assert_eq!(refused, Err(String::from("slot")));
    }
}

#[test]
#[should_panic(expected = "the MAC pulled at")]
#[cfg(debug_assertions)]
fn time_that_runs_backwards_is_a_programmer_error() {
    let mut channel = in_packets(ChannelConfig::default(), TICK);
    channel.capacity(0, Instant::from_nanos(5));
    channel.capacity(1, Instant::from_nanos(4));
}

#[cfg(feature = "serde")]
mod as_text {
    use super::*;
    #[test]
    fn a_kind_is_read_back_as_it_was_written() {
        for (_, config) in all_kinds() {
            let text = serde_json::to_string(&config).expect("written");
            assert_eq!(
                serde_json::from_str::<ChannelConfig>(&text).expect("read"),
                config,
                "{text}"
            );
        }
    }

    #[test]
    fn a_row_is_a_time_with_a_unit_or_a_number_of_slots() {
        let row = |text: &str| {
            let text = alloc::format!(r#"{{"kind": "rows", "amounts": [4], "row": {text}}}"#);
            match serde_json::from_str(&text) {
                Ok(ChannelConfig::Rows(config)) => Some(config.row),
                _ => None,
            }
        };
        assert_eq!(row(r#""2s""#), Some(RowLength::Time(Duration::from_secs(2))));
        assert_eq!(row("100"), Some(RowLength::Slots(100)));
        for bad in [r#""2""#, "-1", "1.5", "4294967296", "null"] {
            assert_eq!(row(bad), None, "{bad}");
        }
    }

    #[test]
    fn unknown_settings_and_bare_numbers_are_refused() {
        for bad in [
            r#"{"kind": "constant", "rate": 3}"#,
            r#"{"kind": "markov", "step": 1}"#,
            r#"{"kind": "markov", "fit": "bus-like"}"#,
            r#"{"kind": "fading"}"#,
            r#"{"per_slot": 3}"#,
        ] {
            assert!(serde_json::from_str::<ChannelConfig>(bad).is_err(), "{bad}");
        }
    }
}
