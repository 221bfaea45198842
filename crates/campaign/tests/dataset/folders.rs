//! Folders that are no dataset, foreign files in a dataset, and damaged files.

use super::{Place, TEXT, made, parts, summed};
use justfull_campaign::Dataset;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// All entries below `path` without following links, each with content, target or kind.
fn tree(path: &Path) -> BTreeSet<(PathBuf, Vec<u8>)> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![path.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let kind = fs::symlink_metadata(&path).expect("it is there").file_type();
            let what = if kind.is_file() {
                fs::read(&path).expect("it reads")
            } else if kind.is_symlink() {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else {
                format!("{kind:?}").into_bytes()
            };
            folders.extend(kind.is_dir().then(|| path.clone()));
            found.insert((path, what));
        }
    }
    found
}

fn pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo starts");
    assert!(made.success());
}

#[test]
fn a_folder_that_is_no_dataset_is_refused_and_stays_as_it_is() {
    let place = Place::new();
    let campaign = place.campaign(TEXT).expect("it is sound");
    type Fill = fn(&Path);
    let foreign: [(&str, Fill); 12] = [
        ("hidden", |f| fs::write(f.join(".env"), "a").expect("written")),
        ("parts with hidden files", |f| {
            fs::create_dir_all(f.join("parts/sub")).expect("a folder");
            fs::write(f.join("parts/.env"), "a").expect("written");
            fs::write(f.join("parts/sub/.gitkeep"), "").expect("written");
            fs::write(f.join("parts/mine.parquet"), "PAR1").expect("written");
        }),
        ("folders named as those of parts", |f| {
            let deep = f.join("parts/scenario=a/method=b");
            fs::create_dir_all(&deep).expect("a folder");
            fs::write(deep.join("0123456789abcdef0123456789abcdef.parquet"), "").expect("written");
            let left = ".0123456789abcdef0123456789abcdef.parquet.0123456789abcdef";
            fs::write(deep.join(left), "a").expect("written");
        }),
        ("an empty folder of another name", |f| fs::create_dir(f.join("x")).expect("a folder")),
        ("parts that is a link", |f| {
            std::os::unix::fs::symlink(f.parent().expect("above"), f.join("parts"))
                .expect("a link");
        }),
        ("parts that is a file", |f| fs::write(f.join("parts"), "a").expect("written")),
        ("a link", |f| {
            std::os::unix::fs::symlink("nowhere", f.join(".link")).expect("a link");
        }),
        ("another ledger", |f| {
            fs::write(f.join("ledger.jsonl"), "{\"paid\":1}\n").expect("written");
        }),
        ("another ledger without an end", |f| {
            fs::write(f.join("ledger.jsonl"), "{\"paid\":1}").expect("written");
        }),
        ("a ledger that is a pipe", |f| pipe(&f.join("ledger.jsonl"))),
        ("another campaign.json", |f| {
            fs::write(f.join("campaign.json"), "{\"file\":1}").expect("written");
        }),
        ("a campaign.json that is a pipe", |f| pipe(&f.join("campaign.json"))),
    ];
    for (index, (what, fill)) in foreign.into_iter().enumerate() {
        let out = place.out(&format!("foreign{index}"));
        fs::create_dir(&out).expect("a folder");
        fill(&out);
        let before = tree(&out);
        let error = Dataset::open(&out, &campaign).map(drop).expect_err(what).to_string();
        let named = error.contains(&out.display().to_string()) && error.contains("allowed is");
        assert!(named, "{what}: {error}");
        assert_eq!(tree(&out), before, "{what}");
    }
}

#[test]
fn a_start_that_was_killed_at_once_is_no_obstacle() {
    let place = Place::new();
    let campaign = place.campaign(TEXT).expect("it is sound");
    let out = place.out("out");
    drop(Dataset::open(&out, &campaign).expect("it opens"));
    let begin = fs::read(out.join("ledger.jsonl")).expect("a ledger");
    fs::remove_file(out.join("campaign.json")).expect("removed");
    for length in [0, 1, begin.len() - 1, begin.len()] {
        fs::write(out.join("ledger.jsonl"), &begin[..length]).expect("written");
        drop(Dataset::open(&out, &campaign).expect("it opens"));
        assert_eq!(fs::read(out.join("ledger.jsonl")).expect("a ledger"), begin, "{length}");
        fs::remove_file(out.join("campaign.json")).expect("removed");
    }
}

#[test]
fn files_of_others_in_a_dataset_stay_as_they_are() {
    let place = Place::new();
    let campaign = place.campaign(TEXT).expect("it is sound");
    let out = place.out("out");
    let tally = made(&campaign, &out, 2);
    let own = tree(&out);
    let deep = parts(&out)[0].parent().expect("a folder").to_path_buf();
    let id = "0123456789abcdef0123456789abcdef";
    fs::write(out.join(".env"), "a").expect("written");
    fs::write(out.join("parts/.env"), "a").expect("written");
    fs::write(out.join("parts/mine.parquet"), "PAR1").expect("written");
    fs::write(deep.join(".gitkeep"), "").expect("written");
    fs::write(deep.join(format!(".{id}.parquet")), "a").expect("written");
    fs::write(deep.join(format!("{id}.parquet")), "no part").expect("written");
    fs::write(deep.join("mine.parquet"), "PAR1").expect("written");
    pipe(&deep.join("fedcba9876543210fedcba9876543210.parquet"));
    std::os::unix::fs::symlink(&deep, out.join("parts/scenario=x")).expect("a link");
    let before = tree(&out);
    let dataset = Dataset::open(&out, &campaign).expect("it opens");
    let told = format!("{id}.parquet is no part of this dataset: left as it is");
    assert!(matches!(&*dataset.mended, [line] if line.ends_with(&told)), "{:?}", dataset.mended);
    drop(dataset);
    assert_eq!(made(&campaign, &out, 2), tally);
    assert_eq!(tree(&out), before);
    assert!(before.is_superset(&own));
}

#[test]
fn files_put_aside_are_not_overwritten() {
    let place = Place::new();
    let text = TEXT.replace("seeds = 4", "seeds = 1").replace("\"Vanilla\", ", "");
    let campaign = place.campaign(&text.replace("\"100kB\", ", "")).expect("it is sound");
    let out = place.out("out");
    made(&campaign, &out, 1);
    let part = &parts(&out)[0];
    for content in ["first", "second"] {
        fs::write(part, content).expect("written");
        made(&campaign, &out, 1);
    }
    for (ending, content) in [("damaged", "first"), ("damaged2", "second")] {
        let aside = part.with_extension(format!("parquet.{ending}"));
        assert_eq!(fs::read_to_string(aside).expect("it is there"), content);
    }
}

#[test]
fn no_number_of_a_damaged_part_or_of_a_damaged_ledger_is_shown() {
    let place = Place::new();
    let text = TEXT.replace("seeds = 4", "seeds = 2");
    let campaign = place.campaign(&text).expect("it is sound");
    let out = place.out("out");
    made(&campaign, &out, 2);
    let rows = || Dataset::look(&out, &campaign).and_then(|it| it.rows(&campaign, &["goodput"]));
    let files = || Dataset::look(&out, &campaign).and_then(|it| it.files());
    assert!(rows().is_ok());
    assert_eq!(files().expect("they are whole"), parts(&out));
    let part = &parts(&out)[0];
    let whole = fs::read(part).expect("a part");
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        fs::write(part, flipped).expect("written");
        for error in [rows().map(drop), files().map(drop)] {
            let error = error.expect_err("a bit differs").to_string();
            assert!(error.contains("found other content than was written"), "{error}");
        }
    }
    // A longer file, another kind of file, and no file.
    fs::write(part, [&whole[..], b"x"].concat()).expect("written");
    assert!(rows().is_err());
    fs::remove_file(part).expect("removed");
    assert!(rows().is_err());
    pipe(part);
    assert!(rows().is_err() && files().is_err());
    fs::remove_file(part).expect("removed");
    fs::write(part, &whole).expect("written");
    assert!(rows().is_ok());
    let ledger = out.join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).expect("a ledger");
    fs::write(&ledger, text.replacen("\"to\":", "\"to\":1", 1)).expect("written");
    for error in [rows().map(drop), files().map(drop)] {
        let error = error.expect_err("a line is damaged").to_string();
        assert!(error.contains("ledger.jsonl: found a line that is damaged"), "{error}");
    }
}

#[test]
fn a_line_that_no_process_writes_is_a_damaged_one() {
    let place = Place::new();
    let campaign = place.campaign(TEXT).expect("it is sound");
    let out = place.out("out");
    let tally = made(&campaign, &out, 2);
    let secret = place.out("secret");
    fs::write(&secret, "mine").expect("written");
    let ledger = out.join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).expect("a ledger");
    let line = text.lines().nth(1).expect("a part").to_owned();
    let case = campaign.cases[0].id;
    let of = |to: &str| {
        let jobs = line.find("\"jobs\":[").expect("jobs") + 7;
        let end = jobs + line[jobs..].find(']').expect("an end") + 1;
        let one = format!("[{{\"case\":\"{case}\",\"from\":1,\"to\":{to}}}]");
        summed(&format!("{}{one}{}", &line[..jobs], &line[end..]))
    };
    let at = |file: &str| {
        let from = line.find("\"file\":\"").expect("a file") + 8;
        let end = from + line[from..].find('"').expect("an end");
        summed(&format!("{}{file}{}", &line[..from], &line[end..]))
    };
    for wrong in [
        of("4611686018427387904"),
        of("18446744073709551615"),
        of("1002"),
        of("0"),
        at("../secret"),
        at("parts/scenario=a/method=b/../../../../secret"),
        at("parts/mine.parquet"),
    ] {
        fs::write(&ledger, format!("{text}{wrong}")).expect("written");
        let looked = Dataset::look(&out, &campaign).expect("it reads");
        assert_eq!(looked.tally(&campaign), tally, "{wrong}");
        assert!(looked.rows(&campaign, &[]).is_err(), "{wrong}");
        assert_eq!(made(&campaign, &out, 2), tally, "{wrong}");
    }
    assert_eq!(fs::read_to_string(&secret).expect("it is there"), "mine");
}
