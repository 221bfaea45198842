//! The measurements of `cargo xtask bench proxy`, in small: every case runs through every proxy and
//! has its figures. The values count only on a machine without other work.

#[path = "../examples/proxy_bench/cases.rs"]
mod cases;
#[path = "../examples/proxy_bench/crowd.rs"]
mod crowd;
#[path = "../examples/proxy_bench/load.rs"]
mod load;
#[path = "../examples/proxy_bench/rivals.rs"]
mod rivals;

use std::process::Command;
use std::time::Duration;

use rivals::Kind;

/// Arguments with which this program is the proxy.
const OWN: [&str; 3] = ["as_proxy", "--exact", "--nocapture"];
/// Most memory of an idle connection.
const IDLE_BYTES: f64 = 32_768.0;

/// Not a test: runs the proxy or a part of the load if this program has started itself.
#[test]
fn as_proxy() {
    if let Some(ended) = crowd::play() {
        return ended.expect("it runs");
    }
    if let Some(file) = rivals::role() {
        rivals::play(&file).expect("it runs");
    }
}

fn can_run(programs: &[&str]) -> bool {
    let capabilities = justfull_net::capabilities();
    let lacking = capabilities.iter().filter(|one| one.required && one.found.is_err());
    let mut missing: Vec<&str> = lacking.map(|one| one.name).collect();
    let there = |program: &&&str| Command::new(program).arg("-v").output().is_err();
    missing.extend(programs.iter().filter(there));
    assert!(missing.is_empty() || std::env::var_os("CI").is_none(), "missing: {missing:?}");
    if !missing.is_empty() {
        println!("skipped: {missing:?}");
    }
    missing.is_empty()
}

fn figures(kind: Kind, case: &str) -> Vec<(String, f64)> {
    let times = [20, 100].map(Duration::from_millis);
    let size = cases::Size { times, pings: 30, idle: 400 };
    let found =
        cases::run(case, kind, size, &OWN).unwrap_or_else(|e| panic!("{kind:?} {case}: {e}"));
    println!("{kind:?} {case}: {found}");
    let found = found.as_object().expect("an object").clone();
    found.into_iter().map(|(name, value)| (name, value.as_f64().expect("a number"))).collect()
}

#[test]
fn every_case_runs_through_every_proxy() {
    if !can_run(&["haproxy", "nginx", "nft"]) {
        return;
    }
    let kinds = ["justfull", "haproxy", "nginx"].map(|name| Kind::parse(name).expect("a proxy"));
    for kind in kinds {
        for case in ["bulk1", "bulk100", "connections", "ping"] {
            let found = figures(kind, case);
            assert!(found.iter().all(|(_, value)| *value > 0.0), "{kind:?} {case}: {found:?}");
        }
    }
}

#[test]
fn an_idle_connection_takes_little_memory_and_no_pipe() {
    if !can_run(&[]) {
        return;
    }
    let ours = Kind::parse("justfull").expect("a proxy");
    let idle = figures(ours, "idle");
    let of = |name: &str| idle.iter().find(|(key, _)| key == name).expect("a figure").1;
    assert!(of("bytes_per_flow") < IDLE_BYTES && of("pipes") < 16.0, "{idle:?}");
    for case in ["reports_1ms", "reports_1s"] {
        assert!(figures(ours, case).iter().all(|(_, value)| *value > 0.0));
    }
}

#[test]
fn connections_of_a_site_are_shared_among_workers_and_no_cell_is_over_its_bound() {
    if !can_run(&[]) {
        return;
    }
    let found = crowd::run(400, Duration::from_millis(500), &OWN).expect("it runs");
    println!("{found}");
    let of = |name: &str| found[name].as_f64().expect("a number");
    let counts = ["flows", "cells", "cells_over", "ues"].map(|name| found[name].as_u64());
    assert_eq!(counts, [400, 64, 0, 2_000].map(Some));
    assert!(of("reports_per_s") > 0.0);
    let percents = ["control_percent", "loop_percent", "relay_percent"].map(of);
    assert!(percents.iter().all(|percent| *percent > 0.0) && percents[1] < percents[0]);
}
