//! Datasets: their content does not depend on threads, interruptions or faults.

mod folders;

use justfull_campaign::{Addition, Campaign, Dataset, Failure, SOURCE, Stretch, Tally, run};
use justfull_lab::runner::Watch;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const TEXT: &str = r#"
title = "A call beside a download"
scenarios = ["voip-over-lte"]
methods = ["Vanilla", "DRQL"]
seeds = 4
[set]
duration = "8s"
warmup = "2s"
[grid]
"rlc.queue.limit" = ["100kB", "1MB"]
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn campaign(&self, text: &str) -> Result<Campaign, Failure> {
        let file = self.0.path().join("study.toml");
        fs::write(&file, text).expect("it is written");
        Campaign::load(&file, None)
    }

    fn out(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn made(campaign: &Campaign, path: &Path, threads: usize) -> Tally {
    let mut dataset = Dataset::open(path, campaign).expect("it opens");
    run::run(campaign, &mut dataset, threads, &Watch::default()).expect("it is made")
}

fn parts(path: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![path.join("parts")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.retain(|path| path.extension().is_some_and(|ending| ending == "parquet"));
    found.sort();
    found
}

/// `text`, a line of a ledger, with its own checksum.
fn summed(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let (body, _) = text.rsplit_once(",\"sum\"").expect("a checksum");
    let sum: String = Sha256::digest(body)[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{body},\"sum\":\"{sum}\"}}\n")
}

/// All rows as text, each once.
fn rows(path: &Path) -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for part in parts(path) {
        let file = fs::File::open(part).expect("a part");
        let reader = SerializedFileReader::new(file).expect("Parquet");
        for row in reader.get_row_iter(None).expect("rows") {
            assert!(rows.insert(row.expect("a row").to_string()), "no row twice");
        }
    }
    rows
}

#[test]
fn a_dataset_has_each_job_once_whatever_the_threads() {
    let place = Place::new();
    let campaign = place.campaign(TEXT).expect("it is sound");
    assert_eq!((campaign.cases.len(), campaign.jobs().count()), (4, 16));
    let names: BTreeSet<String> = campaign.jobs().map(|(_, _, job)| job.to_string()).collect();
    assert_eq!(names.len(), 16);
    let tally = made(&campaign, &place.out("one"), 1);
    assert_eq!((tally.done, tally.open(), tally.jobs), (16, 0, 16));
    made(&campaign, &place.out("two"), 2);
    let one = rows(&place.out("one"));
    assert_eq!(one, rows(&place.out("two")));
    // Two flows for each job; `job` is the last column.
    assert_eq!(one.len(), 32);
    assert!(names.iter().all(|name| one.iter().filter(|row| row.contains(name)).count() == 2));
    let before = fs::read(place.out("one").join("ledger.jsonl")).expect("a ledger");
    assert_eq!(made(&campaign, &place.out("one"), 2), tally, "nothing is made twice");
    assert_eq!(fs::read(place.out("one").join("ledger.jsonl")).expect("a ledger"), before);
}

#[test]
fn more_seeds_and_settings_reuse_what_is_there() {
    let place = Place::new();
    let small = place.campaign(TEXT).expect("it is sound");
    made(&small, &place.out("out"), 2);
    let there = rows(&place.out("out"));
    let text = TEXT.replace("seeds = 4", "seeds = 6").replace("\"1MB\"]", "\"1MB\", \"2MB\"]");
    let large = place.campaign(&text).expect("it is sound");
    let known = Dataset::look(&place.out("out"), &large).expect("it reads").tally(&large);
    assert_eq!((known.done, known.jobs), (16, 36));
    assert_eq!(made(&large, &place.out("out"), 2).done, 36);
    let all = rows(&place.out("out"));
    assert!(all.is_superset(&there));
    assert_eq!(all.len(), 72);
}

#[test]
fn after_any_fault_the_dataset_equals_an_undisturbed_one() {
    let place = Place::new();
    let campaign = place.campaign(TEXT).expect("it is sound");
    let out = place.out("out");
    made(&campaign, &place.out("undisturbed"), 1);
    let expected = rows(&place.out("undisturbed"));
    let ledger = out.join("ledger.jsonl");

    // A process was killed between a part and its line, and within a line.
    made(&campaign, &out, 2);
    let text = fs::read_to_string(&ledger).expect("a ledger");
    let lines: Vec<&str> = text.lines().collect();
    let (last, before) = lines.split_last().expect("lines");
    fs::write(&ledger, format!("{}\n{}", before.join("\n"), &last[..20])).expect("written");
    let dataset = Dataset::open(&out, &campaign).expect("it opens");
    assert!(dataset.mended.iter().any(|line| line.contains("was not in the ledger: taken")));
    assert_eq!(dataset.tally(&campaign).open(), 0);
    drop(dataset);

    // A damaged part, a missing one, a truncated one, and the rest of a killed writer.
    let all = parts(&out);
    // Of the same size, and with a valid footer.
    let mut bytes = fs::read(&all[0]).expect("a part");
    let middle = bytes.len() / 3;
    bytes[middle] ^= 0xff;
    fs::write(&all[0], bytes).expect("written");
    fs::remove_file(&all[1]).expect("removed");
    let whole = fs::read(&all[2]).expect("a part");
    fs::write(&all[2], &whole[..whole.len() / 2]).expect("written");
    let name = all[2].file_name().and_then(|name| name.to_str()).expect("a name");
    let left = all[2].with_file_name(format!(".{name}.0123456789abcdef"));
    fs::write(&left, "half").expect("written");
    let dataset = Dataset::open(&out, &campaign).expect("it opens");
    assert_eq!(dataset.mended.len(), 3, "{:?}", dataset.mended);
    assert!(dataset.tally(&campaign).open() >= 3);
    assert!(!left.exists());
    drop(dataset);
    // A lost part stays lost until it is made again, also for a later process.
    assert!(Dataset::open(&out, &campaign).expect("it opens").tally(&campaign).open() >= 3);
    made(&campaign, &out, 2);
    assert_eq!(rows(&out), expected);

    // Runs that end early, again and again.
    let out = place.out("ended");
    for _ in 0..3 {
        let watch = Watch::default();
        let mut dataset = Dataset::open(&out, &campaign).expect("it opens");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(60));
                watch.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            run::run(&campaign, &mut dataset, 2, &watch).expect("it is ended, no failure");
        });
    }
    made(&campaign, &out, 1);
    assert_eq!(rows(&out), expected);
}

#[test]
fn another_version_a_newer_ledger_and_a_second_writer_are_refused() {
    let place = Place::new();
    let campaign = place.campaign(TEXT).expect("it is sound");
    let out = place.out("out");
    let first = Dataset::open(&out, &campaign).expect("it opens");
    let refused = |part: &str| {
        let error =
            Dataset::open(&out, &campaign).map(drop).expect_err("it is refused").to_string();
        assert!(error.contains(part), "{error}");
    };
    refused("one at a time");
    drop(first);
    let ledger = out.join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).expect("a ledger");
    let other = text.replace(SOURCE, "0123456789abcdef");
    fs::write(&ledger, summed(&other)).expect("written");
    refused("source 0123456789abcdef");
    assert!(Dataset::look(&out, &campaign).is_err());
    // A ledger of an earlier format, without checksums.
    let begin = "{\"line\":\"begin\",\"ledger\":1,\"version\":\"0\",\"source\":\"0\"}\n";
    fs::write(&ledger, begin).expect("written");
    refused("a ledger of format 1");
    fs::write(&ledger, begin.replace(":1", ":9")).expect("written");
    refused("a ledger of format 9");
    fs::write(&ledger, text.replace("begin", "end")).expect("written");
    refused("line 1: found a damaged line or no ledger");
    fs::write(&ledger, text).expect("written");
    assert_eq!(made(&campaign, &out, 2).open(), 0);
}

#[test]
fn with_a_target_each_case_gets_as_many_seeds_as_it_needs() {
    let place = Place::new();
    let target = "[target]\nmetric = \"delay.p99\"\nflow = \"voip\"\nwithin = \"4%\"\nmost = 40\n";
    let text = TEXT.replace("seeds = 4\n", "").replace("[\"100kB\", \"1MB\"]", "[\"100kB\"]");
    let campaign = place.campaign(&format!("{text}{target}")).expect("it is sound");
    let one = made(&campaign, &place.out("one"), 1);
    assert!(one.jobs > 10 && one.done == one.jobs, "{one:?}");
    assert!(one.jobs < 80, "not every case needs the most: {one:?}");
    let two = made(&campaign, &place.out("two"), 2);
    assert_eq!(two.jobs, one.jobs);
    assert_eq!(rows(&place.out("one")), rows(&place.out("two")));
    assert_eq!(made(&campaign, &place.out("one"), 2), one, "it is sure enough");
}

#[test]
fn a_setting_that_becomes_an_axis_has_other_jobs() {
    let place = Place::new();
    let (set, grid) = TEXT.split_once("[grid]").expect("both are there");
    let fixed = place.campaign(&format!("{set}\"rlc.queue.limit\" = \"1MB\"\n"));
    let fixed: BTreeSet<String> = names(&fixed.expect("it is sound"));
    let varied = names(&place.campaign(&format!("{set}[grid]{grid}")).expect("it is sound"));
    assert_eq!((fixed.len(), varied.len()), (8, 16));
    assert!(fixed.is_disjoint(&varied), "their rows say what is varied");
}

fn names(campaign: &Campaign) -> BTreeSet<String> {
    campaign.jobs().map(|(_, _, job)| job.to_string()).collect()
}

#[test]
fn mistakes_in_the_file_are_named_with_the_allowed_values() {
    let place = Place::new();
    let cases = [
        ("seeds = 4", "seeds = 0", "seeds: found 0, allowed is at least 1"),
        ("seeds = 4", "", "seeds: found nothing, allowed is a number of seeds, or [target]"),
        ("seeds = 4", "seeds = 3000000", "at most 10000000 jobs"),
        ("[\"100kB\", \"1MB\"]", "[]", "grid.rlc.queue.limit: found no values"),
        (
            "[\"100kB\", \"1MB\"]",
            "[\"1MB\", \"1MB\"]",
            "grid.rlc.queue.limit: found \"1MB\" twice for `rlc.queue.limit`, allowed is each once",
        ),
        ("100kB", "100KB", "(set by [grid] of "),
        ("[set]", "[set]\n\"rlc.queue.limit\" = \"1MB\"", "found set and varied"),
        ("\"DRQL\"", "\"DRQX\"", "study.toml: methods: found DRQX, allowed is "),
        ("\"DRQL\"", "\"DRQX\"", "did you mean DRQL"),
        ("seeds = 4", "seeds = 4\nvariant = \"x\"", "study.toml: variant: found x, allowed is "),
        (
            "seeds = 4",
            "seeds = 4\nfirst_seed = -1",
            "study.toml: line 6, first_seed: found integer `-1`, allowed is a whole number of at \
             least 0",
        ),
        (
            "seeds = 4",
            "seeds = 4\njob_limit = 5",
            "line 6, job_limit: found integer `5`, allowed is ",
        ),
        ("[\"voip-over-lte\"]", "[]", "scenarios: found none"),
        ("[\"voip-over-lte\"]", "[\"demo\", \"demo\"]", "demo twice"),
        ("[\"voip-over-lte\"]", "[\"no.toml\"]", "no.toml"),
        ("duration = \"8s\"", "duration = 8", "field `duration` (set by [set] of "),
        ("seeds = 4", "seed = 4", "line 5"),
        (
            "seeds = 4",
            "[target]\nmetric = \"delay.p98\"\nflow = \"voip\"\nwithin = \"4%\"\nmost = 9",
            "target.metric: found delay.p98, allowed is a column of runs.csv: there is no column \
             `delay.p98`; did you mean",
        ),
        (
            "seeds = 4",
            "[target]\nmetric = \"delay.p99\"\nflow = \"voip\"\nwithin = \"4\"\nmost = 9",
            "target.within: found 4, allowed is above 0% to 100%",
        ),
        (
            "seeds = 4",
            "[target]\nmetric = \"delay.p99\"\nflow = \"nobody\"\nwithin = \"4%\"\nmost = 9",
            "target.flow: found nobody, allowed is a flow of voip-over-lte: bulk, voip",
        ),
    ];
    for (from, to, expected) in cases {
        let text = TEXT.replace(from, to);
        let error = place.campaign(&text).map(drop).expect_err(expected).to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_name_that_no_folder_can_have_is_refused_before_the_work() {
    let place = Place::new();
    let method = |name: &str| {
        let scenario =
            justfull_scenario::library::scenario("voip-over-lte").expect("it is shipped");
        let method = format!("\n[[method]]\nname = \"{name}\"\ntitle = \"t\"\n[method.set]\n");
        fs::write(place.out("own.toml"), format!("{scenario}{method}")).expect("written");
        place.campaign(&TEXT.replace("voip-over-lte", "own.toml").replace("DRQL", name))
    };
    assert!(method(&"x".repeat(200)).is_ok());
    let error = method(&"x".repeat(300)).map(drop).expect_err("it is too long").to_string();
    assert!(error.contains("methods: found xxx") && error.contains("allowed is at most 200"));
}

#[test]
fn short_jobs_of_many_cases_share_parts() {
    let place = Place::new();
    let limits: Vec<String> = (1..=60).map(|n| format!("\"{n}0kB\"")).collect();
    let text = TEXT
        .replace("\"8s\"", "\"3s\"")
        .replace("[\"100kB\", \"1MB\"]", &format!("[{}]", limits.join(", ")));
    let campaign = place.campaign(&text).expect("it is sound");
    let tally = made(&campaign, &place.out("one"), 1);
    assert_eq!((tally.cases, tally.done, tally.jobs), (120, 480, 480));
    assert!(tally.parts < 60, "fewer parts than cases: {tally:?}");
    made(&campaign, &place.out("two"), 2);
    assert_eq!(rows(&place.out("one")), rows(&place.out("two")));
}

#[test]
fn a_damaged_line_of_the_ledger_loses_nothing() {
    let place = Place::new();
    let campaign = place.campaign(TEXT).expect("it is sound");
    let out = place.out("out");
    let tally = made(&campaign, &out, 2);
    let expected = rows(&out);
    let ledger = out.join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).expect("a ledger");
    let second = text.find('\n').expect("a line") + 1;
    let mut bytes = text.clone().into_bytes();
    // First bytes that are no text, then a digit that changes the content.
    bytes[second + 20..second + 24].fill(0xff);
    fs::write(&ledger, &bytes).expect("written");
    let dataset = Dataset::open(&out, &campaign).expect("it opens");
    assert!(dataset.mended[0].starts_with("a line of the ledger was damaged"));
    assert!(dataset.mended[1].ends_with("was not in the ledger: taken"));
    assert_eq!(dataset.tally(&campaign).done, tally.done);
    drop(dataset);
    assert!(Dataset::open(&out, &campaign).expect("it opens").mended.is_empty(), "it is mended");
    let wrong = text.replacen("\"to\":", "\"to\":1", 1);
    assert_ne!(wrong, text);
    fs::write(&ledger, wrong).expect("written");
    let after = made(&campaign, &out, 2);
    assert_eq!((after.done, after.open()), (tally.done, 0));
    assert_eq!(rows(&out), expected);
}

#[test]
fn another_target_reads_the_values_of_what_is_there() {
    let place = Place::new();
    let target = |metric: &str, flow: &str| {
        format!("[target]\nmetric = \"{metric}\"\nflow = \"{flow}\"\nwithin = \"4%\"\nmost = 40\n")
    };
    let small = TEXT.replace("[\"100kB\", \"1MB\"]", "[\"100kB\"]");
    let text = small.replace("seeds = 4\n", "");
    // One dataset first has seeds, then one target, then another; at the end it has only the last.
    let seeds = place.campaign(&small).expect("it is sound");
    let out = place.out("changed");
    made(&seeds, &out, 2);
    for (metric, flow) in [("delay.p99", "voip"), ("goodput", "bulk"), ("delay.p50", "voip")] {
        let text = format!("{text}{}", target(metric, flow));
        let campaign = place.campaign(&text).expect("it is sound");
        let alone = made(&campaign, &place.out(&format!("{metric}-{flow}")), 2);
        let changed = made(&campaign, &out, 2);
        assert_eq!((changed.jobs, changed.open()), (alone.jobs, 0), "{metric} {flow}");
        let looked = Dataset::look(&out, &campaign).expect("it reads").tally(&campaign);
        assert_eq!(looked, changed);
    }
}

#[test]
fn a_job_that_takes_too_long_fails_and_can_be_tried_again() {
    let place = Place::new();
    let small = TEXT.replace("[\"100kB\", \"1MB\"]", "[\"100kB\"]").replace("= 4", "= 2");
    let limited = format!("job_limit = \"1us\"\n{small}");
    let campaign = place.campaign(&limited).expect("it is sound");
    let out = place.out("out");
    let tally = made(&campaign, &out, 2);
    assert_eq!((tally.done, tally.failed.len(), tally.open()), (0, 4, 0));
    assert!(tally.failed[0].contains("more than job_limit, 1us of CPU"), "{:?}", tally.failed);
    assert_eq!(made(&campaign, &out, 2), tally, "failed jobs stay failed");
    // With more time, and with `retry`.
    let campaign = place.campaign(&small).expect("it is sound");
    let mut dataset = Dataset::open(&out, &campaign).expect("it opens");
    assert_eq!(dataset.tally(&campaign).open(), 0);
    dataset.retry();
    let tally = run::run(&campaign, &mut dataset, 2, &Watch::default()).expect("it is made");
    assert_eq!((tally.done, tally.failed.len()), (4, 0));
    drop(dataset);
    let looked = Dataset::look(&out, &campaign).expect("it reads").tally(&campaign);
    assert_eq!((looked.done, looked.failed.len()), (4, 0));
    let zero = place.campaign(&limited.replace("1us", "0s")).map(drop).expect_err("refused");
    assert!(zero.to_string().contains("job_limit: found 0s"), "{zero}");
}

#[test]
fn jobs_that_two_workers_made_count_once() {
    let place = Place::new();
    let campaign = place.campaign(TEXT).expect("it is sound");
    let (out, watch) = (place.out("out"), Watch::default());
    let mut dataset = Dataset::open(&out, &campaign).expect("it opens");
    let case = campaign.cases[0].id;
    let part = |from, to| {
        let batch = [Stretch { case, from, to }];
        run::make_part(&campaign, &out, &batch, &watch, None).expect("it is made").0
    };
    let (first, late) = (part(1, 2), part(1, 3));
    dataset.record(&first).expect("it is kept");
    dataset.record(&first).expect("it is there already");
    dataset.record(&late).expect("it is put aside");
    assert_eq!((dataset.tally(&campaign).done, parts(&out).len()), (2, 1));
    drop(dataset);
    // A part that no process waited for, found at the next start.
    part(2, 4);
    let dataset = Dataset::open(&out, &campaign).expect("it opens");
    assert!(dataset.mended[0].ends_with("has jobs of other parts: put aside"));
    drop(dataset);
    made(&campaign, &out, 2);
    assert_eq!(rows(&out).len(), 32);
    let seeds = |from, to| {
        let error = run::make_part(&campaign, &out, &[Stretch { case, from, to }], &watch, None);
        error.map(drop).expect_err("it is refused").to_string()
    };
    assert!(seeds(2, 1).contains("found seeds that end before"), "{}", seeds(2, 1));
    assert!(seeds(0, u64::MAX).contains("allowed is 1 to 1000 jobs"));
}

#[test]
fn additions_to_a_file_leave_its_cases_as_they_are() {
    let place = Place::new();
    let file = place.0.path().join("study.toml");
    let small = place.campaign(TEXT).expect("it is sound");
    let text = format!("# Comments stay.\n{TEXT}");
    let addition = Addition {
        seeds: Some(5),
        most: None,
        methods: vec!["CoDel".into(), "DRQL".into()],
        grid: vec!["rlc.queue.limit=[2MB, 1MB]".parse().expect("an axis")],
    };
    let more = addition.to(&text, &file).expect("it can be added");
    assert!(more.starts_with("# Comments stay.\n"));
    let large = place.campaign(&more).expect("it is sound");
    assert_eq!((large.cases.len(), large.seeds()), (9, 5));
    assert!(small.cases.iter().all(|case| large.index(case.id).is_some()));
    let refused = |addition: Addition, expected: &str| {
        let error = addition.to(TEXT, &file).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    };
    let seeds = |n| Addition { seeds: Some(n), ..Addition::default() };
    refused(seeds(3), "seeds: found 3, allowed is at least 4, the present number");
    let most = Addition { most: Some(9), ..Addition::default() };
    refused(most, "target.most: found no number");
    let grid = vec!["core.delay=[5ms]".parse().expect("an axis")];
    let grid = Addition { grid, ..Addition::default() };
    refused(grid, "grid.core.delay: found no such setting, allowed is a setting of the grid: rlc");
}
