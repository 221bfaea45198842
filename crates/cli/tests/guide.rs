//! Runs the commands of the guide unchanged.

#[cfg(target_os = "linux")]
#[expect(dead_code, reason = "the tests of live runs use the rest")]
mod room;

mod page;

use page::{blocks_in, root, run_all};
use std::path::PathBuf;
use std::process::Command;

#[test]
fn the_command_of_the_own_limiter_page_works_as_written() {
    let folder = run_all("docs/guide/own-limiter.md", 1);
    assert!(folder.path().join("mine/tests/rules.rs").is_file());
}

#[test]
fn every_command_of_the_campaigns_page_works_as_written() {
    let folder = run_all("docs/guide/campaigns.md", 6);
    assert!(folder.path().join("results/campaign/depth/ledger.jsonl").is_file());
    let blocks = blocks_in("docs/guide/campaigns.md", "toml");
    let [whole, target, drawn] = &blocks[..] else { panic!("three are shown: {blocks:?}") };
    let drawn = drawn.join("\n").replace("measured = true", "measured = false");
    let whole = whole.join("\n") + "\n";
    let written = whole.replace("seeds = 20 ", "# ") + &target.join("\n");
    for text in [whole, written, drawn] {
        let file = folder.path().join("shown.toml");
        std::fs::write(&file, &text).expect("it is written");
        let done = Command::new(env!("CARGO_BIN_EXE_justfull"))
            .args(["campaign", "list"])
            .arg(&file)
            .output()
            .expect("the program runs");
        assert!(done.status.success(), "{text}\n{}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn every_command_of_the_study_works_as_written_and_makes_its_figures() {
    let folder = run_all("docs/guide/study.md", 14);
    let study = &blocks_in("docs/guide/study.md", "sh")[1];
    assert_eq!(study.len(), 6, "a study takes six commands: {study:?}");
    for name in ["limit.pdf", "tail.pdf", "trade.pdf"] {
        let figure = std::fs::read(folder.path().join(name)).expect("it is drawn");
        assert!(figure.starts_with(b"%PDF") && figure.len() > 5000, "{name}");
    }
    let rows = std::fs::read_to_string(folder.path().join("r/runs.csv")).expect("it has run");
    // Exact in the unit of the label.
    for limit in [100, 300, 1000] {
        assert!(rows.contains(&format!(",rlc.queue.limit_kB,{limit},")), "{limit} kB");
    }
}

#[test]
fn every_command_of_the_lessons_works_as_written_and_makes_its_figure() {
    let folder = run_all("docs/guide/lessons.md", 12);
    for lesson in 1..=6 {
        let figure = std::fs::read_to_string(folder.path().join(format!("lesson-{lesson}.svg")));
        assert!(figure.expect("it is drawn").contains("Vanilla"), "lesson {lesson}");
    }
}

#[test]
fn every_command_of_the_first_run_works_as_written() {
    let folder = run_all("docs/guide/first-run.md", 8);
    assert!(folder.path().join("results/first/report.html").is_file());
}

#[test]
fn every_command_of_the_scenario_page_works_as_written() {
    run_all("docs/guide/scenario.md", 3);
}

#[test]
fn every_command_of_the_results_works_as_written() {
    let folder = run_all("docs/guide/results.md", 10);
    for name in [
        "call.parquet",
        "slots.csv",
        "call.csv",
        "slots.jsonl",
        "call.flent.gz",
        "call.json",
        "call.pcapng",
    ] {
        let size = std::fs::metadata(folder.path().join(name)).map(|found| found.len());
        assert!(size.is_ok_and(|size| size > 1000), "{name}");
    }
}

#[test]
fn every_command_of_the_radio_works_as_written_and_its_settings_make_a_scenario() {
    let folder = run_all("docs/guide/radio.md", 5);
    let packets =
        std::fs::read_to_string(folder.path().join("radio.csv")).expect("records are written");
    assert!(packets.lines().count() > 1000, "{} lines", packets.lines().count());

    let around = "title = \"the guide's\"\nduration = \"1s\"\nmethods = [\"Vanilla\"]\n";
    let blocks = blocks_in("docs/guide/radio.md", "toml");
    assert_eq!(blocks.len(), 2, "a cell, and a walk through a street");
    for settings in blocks {
        let settings = settings.join("\n");
        let ue = if settings.contains("[[ue]]") { "" } else { "\n[[ue]]" };
        let flow = "\n[[flow]]\nname = \"bulk\"\ntcp = {}\n";
        let text = format!("{around}{settings}{ue}{flow}");
        let scenario = folder.path().join("radio.toml");
        std::fs::write(&scenario, text).expect("a file can be written");
        let program = env!("CARGO_BIN_EXE_justfull");
        let checked = Command::new(program).arg("check").arg(&scenario).output();
        let checked = checked.expect("the program starts");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

#[test]
fn every_command_of_the_proxy_page_works_as_written() {
    run_all("docs/guide/rapid.md", 9);
}

#[cfg(target_os = "linux")]
#[test]
fn every_command_of_the_first_live_run_works_as_written() {
    room::room("every_command_of_the_first_live_run_works_as_written", |_| {
        let folder = run_all("docs/guide/live.md", 6);
        let runs =
            std::fs::read_dir(folder.path().join("results/live")).expect("live runs have results");
        let runs: Vec<PathBuf> = runs.map(|entry| entry.expect("an entry").path()).collect();
        assert!(runs.len() >= 3, "each run has a folder of its own: {runs:?}");
        for name in ["result.json", "live.json", "report.html", "manifest.json"] {
            assert!(runs.iter().all(|run| run.join(name).is_file()), "{name}");
        }
        let cells = runs.iter().find(|run| run.to_string_lossy().contains("two-cells-live-"));
        let cells = cells.expect("a run of several cells");
        for name in ["handovers.csv", "handover_delay.csv", "cells.csv"] {
            assert!(cells.join(name).is_file(), "{name}");
        }
    });
}

#[test]
fn every_scenario_that_the_readme_runs_is_there() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the page is there");
    let shipped: Vec<&str> =
        justfull_scenario::library::SCENARIOS.iter().map(|(name, _)| *name).collect();
    let named = text
        .lines()
        .filter_map(|l| l.strip_prefix("justfull run "))
        .filter_map(|l| l.split(' ').next());
    for name in named.filter(|name| *name != "my.toml") {
        assert!(shipped.contains(&name), "README runs {name}");
    }
}
