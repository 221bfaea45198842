//! User-defined limiters: a correct one runs beside the shipped methods, an incorrect one is
//! refused.

use super::*;
use justfull_base::{Duration, Instant, SlotReport};
use justfull_ran::limiter::{AnyLimiter, CapacityUnit, Drql, DrqlConfig, RlcView};
use std::sync::atomic::{AtomicU64, Ordering};

/// Room for one packet more whenever `open` returns true.
struct Few<F> {
    unit: CapacityUnit,
    room: u64,
    open: F,
}

impl<F: FnMut() -> bool> Limiter for Few<F> {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }
    fn room(&mut self, _: Instant, _: &RlcView) -> u64 {
        if (self.open)() { self.room } else { 0 }
    }
    fn overdraws(&self) -> bool {
        true
    }
    fn on_admitted(&mut self, _: Instant, _: u64, _: &RlcView) {}
    fn on_departed(&mut self, _: Instant, _: Duration) {}
    fn on_slot(&mut self, _: &SlotReport) {}
}

fn short() -> Vec<Setting> {
    SHORT.iter().map(|text| text.parse().expect("a setting")).collect()
}

#[test]
fn drql_as_ones_own_keeps_the_rules_and_gives_drqls_results() {
    let mine = OwnMethod::limiter("Mine", |context| Drql::new(&DrqlConfig::default(), context));
    let kept = mine.check().expect("it ships");
    assert_eq!(kept.len(), CELLS.len());
    let scenario = mine.scenario("voip-over-lte", &["DRQL"], 2, short()).expect("it ships");
    let found = mine.compare(&scenario, 2).expect("it is sound");
    let of = |method: &str| -> Vec<RunResult> {
        let runs = found.groups[0].runs.iter().filter(|run| run.method == method);
        runs.map(|run| RunResult { method: String::new(), ..run.clone() }).collect()
    };
    assert_eq!(of("Mine").len(), 2);
    assert_eq!(of("Mine"), of("DRQL"));
    let plain = mine.scenario("voip-over-lte", &["Vanilla"], 2, short()).expect("it ships");
    let plain = mine.compare(&plain, 1).expect("it is sound");
    assert_ne!(plain.groups[0].runs[0].flows, found.groups[0].runs[0].flows);
}

#[test]
fn a_limiter_that_starves_or_is_not_deterministic_or_cannot_be_built_is_refused() {
    let closed = OwnMethod::limiter("Closed", |context| {
        Ok(Few { unit: context.unit, room: 1, open: || false })
    });
    let message = closed.check().expect_err("nothing passes");
    assert!(message.starts_with("t20-individual: Closed starves "), "{message}");
    let calls = Arc::new(AtomicU64::new(0));
    let moody = OwnMethod::limiter("Moody", move |context| {
        let calls = Arc::clone(&calls);
        let open = move || calls.fetch_add(1, Ordering::Relaxed) % 1_009 < 900;
        Ok(Few { unit: context.unit, room: 1, open })
    });
    let message = moody.check().expect_err("it keeps a count from run to run");
    assert!(message.contains("Moody is not deterministic"), "{message}");
    let unmade = OwnMethod::limiter("Unmade", |_| -> Result<AnyLimiter, ConfigError> {
        Err(ConfigError::new("growth", &0.5, "above 1", "of this test"))
    });
    let message = unmade.check().expect_err("it cannot be built");
    assert!(message.contains("found 0.5, allowed is above 1"), "{message}");
}

#[test]
fn names_that_are_wrong_are_refused() {
    let of = |name: &str| OwnMethod::limiter(name, |c| Drql::new(&DrqlConfig::default(), c));
    let message = |name: &str, cell: &str, methods: &[&str]| {
        of(name).scenario(cell, methods, 1, Vec::new()).expect_err("wrong").to_string()
    };
    assert!(message("DRQL", "voip-over-lte", &[]).contains("DRQL"));
    assert!(message("Mine", "voip-over-lte", &["DRQLL"]).contains("DRQL"));
    assert!(message("Mine", "voip-over-ltee", &[]).contains("voip-over-ltee"));
}
