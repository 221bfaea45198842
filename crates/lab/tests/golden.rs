//! Small tables in integer units that may change only in a commit that gives the reason. `cargo
//! xtask golden --bless` rewrites them.

use justfull_lab::runner::{Outcome, Watch, run_all};
use justfull_scenario::library;
use justfull_scenario::{Job, Overrides, Scenario, Setting};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The comparison of `name` under `variant`, 20 s of one seed at `point` of its sweep, on `threads`
/// threads.
fn table(name: &str, point: usize, variant: &str, threads: usize) -> String {
    let text = library::scenario(name).expect("the scenario ships");
    let set =
        |path: &str, value: &str| Setting::new(path, value.into()).expect("the path is sound");
    let overrides = Overrides {
        base: vec![set("duration", "20s"), set("warmup", "5s")],
        variant: Some(variant.into()),
        runs: Some(1),
        ..Overrides::default()
    };
    let file = PathBuf::from(format!("{name}.toml"));
    let scenario = Scenario::parse(text, &file, None, overrides).expect("the scenario is sound");
    let jobs: Vec<Job> = scenario.jobs().into_iter().filter(|job| job.point == point).collect();
    let runs: Vec<(&Scenario, &Job)> = jobs.iter().map(|job| (&scenario, job)).collect();
    let results = run_all(&runs, threads, &Watch::default()).expect("the scenario runs");
    let mut out = String::from(
        "method flow entered delivered dropped delay_us_mean delay_us_p99 goodput_kbit_s used \
         offered\n",
    );
    for run in results.into_iter().filter_map(Outcome::done) {
        for flow in &run.flows {
            let (mean, p99) = ((flow.delay.mean_ms * 1e3) as u64, (flow.delay.p99_ms * 1e3) as u64);
            let goodput = (flow.goodput_mbit_s * 1e3) as u64;
            let (entered, delivered, dropped) =
                (flow.entered_packets, flow.delivered_packets, flow.dropped_packets);
            let (used, offered) = (run.cell.used, run.cell.offered);
            let _ = writeln!(
                out,
                "{} {} {entered} {delivered} {dropped} {mean} {p99} {goodput} {used} {offered}",
                run.method, flow.name
            );
        }
    }
    out
}

fn golden(name: &str, variant: &str) {
    golden_at(name, 0, variant);
}

/// At a point of the sweep other than the first; the file's name then has the point.
fn golden_at(name: &str, point: usize, variant: &str) {
    let found = table(name, point, variant, 1);
    assert_eq!(found, table(name, point, variant, 2), "the number of threads changes nothing");
    let at = if point == 0 { String::new() } else { format!(".{point}") };
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/golden/{name}.{variant}{at}.txt"));
    if std::env::var_os("JUSTFULL_BLESS").is_some() {
        std::fs::write(&path, found).expect("the golden file can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found,
        kept,
        "{} differs: `cargo xtask golden --bless` if the change is meant",
        path.display()
    );
}

#[test]
fn t20_individual_gives_what_it_gave() {
    golden("t20-individual", "as-published");
    golden("t20-individual", "as-released");
}

#[test]
fn t20_shared_gives_what_it_gave() {
    golden("t20-shared", "as-published");
    golden("t20-shared", "as-released");
}

#[test]
fn slots_in_bytes_and_several_ues_give_what_they_gave() {
    golden("voip-over-lte", "sound");
    golden("several-ues", "sound");
}

/// Dedicated channels with losses of 384 kbit/s, and HSDPA of 3.6 Mbit/s.
#[test]
fn pdus_of_one_size_give_what_they_gave() {
    golden_at("p06-web", 1, "sound");
    golden_at("p06-file", 3, "sound");
}
