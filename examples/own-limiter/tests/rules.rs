//! TwoSlots keeps the rules that every shipped limiter keeps.

use justfull_base::make::Make;
use justfull_ran::limiter::{LimiterConfig, conformance};
use std::sync::Arc;

#[test]
fn it_keeps_the_rules_of_limiters() {
    let make = |context: &_| Ok(Box::new(two_slots::TwoSlots::new(context)) as Box<_>);
    let config = LimiterConfig::Custom(Make(Arc::new(make)));
    if let Err(broken) = conformance::check(&config) {
        panic!("{broken}");
    }
}

#[test]
fn it_is_sound_and_serves_every_flow_in_cells_of_every_kind() {
    if let Err(broken) = two_slots::method().check() {
        panic!("{broken}");
    }
}

#[test]
fn calls_wait_less_than_without_it() {
    let mine = two_slots::method();
    let scenario = mine
        .scenario("voip-over-lte", &["Vanilla"], 1, Vec::new())
        .expect("it ships");
    let found = mine.compare(&scenario, 1).expect("it is sound");
    let delay = |run: usize| {
        let call = found.groups[0].runs[run]
            .flows
            .iter()
            .find(|flow| flow.name == "voip");
        call.expect("a call").delay.mean_ms
    };
    let [without, with] = [0, 1].map(delay);
    assert!(with < without, "{with} ms with it, {without} ms without");
}
