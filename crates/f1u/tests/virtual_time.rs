//! The box in a cell in virtual time: real frames between models of a CU-UP and of a DU, a CUBIC
//! download and a call. The bars are those of the box's purpose; `docs/guide/f1u.md` has the values.

#[expect(dead_code, reason = "each test program uses a part")]
mod cell;

use cell::cu_up::Above;
use cell::{Cell, Faults, Found, Gnb, run};
use justfull_base::Duration;
use justfull_f1u::F1uConfig;
use justfull_ran::limiter::{Bdp5gConfig, LimiterConfig};

/// Most of the call's 99th percentile, beside a gNB with 5G-BDP inside.
const DELAY: f64 = 1.2;
/// Least of the download's goodput, beside the same gNB without the box.
const GOODPUT: f64 = 0.97;

fn cell(gnb: Gnb, period_ms: u64) -> Cell {
    Cell {
        gnb,
        rate: 30e6,
        period: Duration::from_millis(period_ms),
        f1: Duration::from_micros(250),
        time: Duration::from_secs(24),
        faults: Faults::default(),
    }
}

fn split(above: Above, middle: Option<F1uConfig>) -> Gnb {
    Gnb::Split { above, middle }
}

fn said(name: &str, found: &Found) {
    println!(
        "{name}: p50 {} p99 {} ms, lost {}, goodput {:.2} Mbit/s, RLC p50 {} p99 {} B, dropped \
         {:?} {}, {:?}",
        found.delay(0.5).as_millis_f64(),
        found.delay(0.99).as_millis_f64(),
        found.call_lost,
        found.goodput / 1e6,
        found.rlc(0.5),
        found.rlc(0.99),
        found.dropped_above,
        found.dropped_rlc,
        found.counts,
    );
}

/// The gNB with 5G-BDP inside, without the box, and with it.
fn three(period_ms: u64, faults: Faults) -> [Found; 3] {
    let inside = run(&cell(Gnb::Inside(LimiterConfig::Bdp5g(Bdp5gConfig::default())), period_ms));
    let plain = run(&cell(split(Above::HoldsBack, None), period_ms));
    let middle = split(Above::HoldsBack, Some(F1uConfig::default()));
    let with = run(&Cell { faults, ..cell(middle, period_ms) });
    said("inside", &inside);
    said("plain", &plain);
    said("box", &with);
    [inside, plain, with]
}

fn ratio(of: &Found, to: &Found) -> f64 {
    of.delay(0.99).as_secs_f64() / to.delay(0.99).as_secs_f64()
}

#[test]
fn a_call_waits_no_longer_than_with_5g_bdp_inside_and_the_download_loses_nothing() {
    for period_ms in [1, 2, 5] {
        println!("a status each {period_ms} ms");
        let [inside, plain, with] = three(period_ms, Faults::default());
        assert!(plain.delay(0.99) >= Duration::from_secs(1), "six megabytes of RLC");
        assert!(ratio(&with, &inside) <= DELAY, "{}", ratio(&with, &inside));
        assert!(with.goodput >= GOODPUT * plain.goodput, "{} {}", with.goodput, plain.goodput);
        assert_eq!((with.call_lost, with.dropped_rlc), (0, 0));
        assert_eq!(with.passed[0], with.passed[1]);
    }
}

#[test]
fn lost_repeated_and_overtaken_statuses_change_nothing() {
    let faults = Faults { loss: 0.01, twice: 0.01, overtaken: 0.01, ..Faults::default() };
    let [inside, plain, with] = three(2, faults);
    assert!(ratio(&with, &inside) <= DELAY, "{}", ratio(&with, &inside));
    assert!(with.goodput >= GOODPUT * plain.goodput, "{} {}", with.goodput, plain.goodput);
    assert_eq!((with.call_lost, with.dropped_rlc), (0, 0));
}
