use super::*;
use crate::export::COLUMNS;
use crate::read::{alias, column, testing};
use crate::table::{Style, terminal};
use std::path::Path;

/// Writes a folder of results in which a call has these delays.
fn write(path: &Path, toml: &str, rows: &[(&str, u64, f64)]) -> Folder {
    let row = |(method, seed, delay): &(&str, u64, f64)| {
        format!(
            "{{\"scenario\":\"s\",\"group\":\"g\",\"x_name\":null,\"x_value\":null,\
             \"method\":\"{method}\",\"seed\":{seed},\"flow\":\"call\",\
             \"delay_ms_p99\":{delay},\"goodput_mbit_s\":null}}"
        )
    };
    testing::folder(path, toml, &rows.iter().map(row).collect::<Vec<String>>(), None)
}

fn p99() -> [&'static Column<Runs>; 1] {
    [column("delay.p99").expect("an alias")]
}

#[test]
fn a_column_is_found_by_its_name_and_by_its_alias_and_no_alias_is_of_two() {
    assert_eq!(column("delay.p99").map(|c| c.name), Some("delay_ms_p99"));
    assert_eq!(column("goodput").map(|c| c.name), Some("goodput_mbit_s"));
    assert_eq!(column("late").map(|c| c.name), Some("late_percent"));
    let mut aliases: Vec<String> = COLUMNS.iter().map(alias).collect();
    let count = aliases.len();
    aliases.sort();
    aliases.dedup();
    assert_eq!(aliases.len(), count);
}

#[test]
fn equal_seeds_are_compared_in_pairs_and_others_by_their_means() {
    let room = tempfile::tempdir().expect("a folder");
    let of = |name: &str| room.path().join(name);
    // Seeds differ widely, and each seed changes by 1 ms.
    let before = [("DRQL", 1, 10.0), ("DRQL", 2, 50.0), ("DRQL", 3, 90.0)];
    let after = [("DRQL", 1, 11.0), ("DRQL", 2, 51.0), ("DRQL", 3, 91.0), ("CoDel", 1, 5.0)];
    let apart = [("DRQL", 7, 11.0), ("DRQL", 8, 51.0), ("DRQL", 9, 91.0)];
    let folders = [
        write(&of("a"), "runs = 1\n[rlc]\nkeep = 2", &before),
        write(&of("b"), "runs = 1\n[rlc]\nkeep = 3", &after),
        write(&of("c"), "runs = 1\n[rlc]\nkeep = 2\nmore = [1]", &apart),
    ];
    let found = differences(&folders, &p99()).expect("they have DRQL in common");
    let [only] = found.as_slice() else { panic!("{found:#?}") };
    let [Some(paired), Some(other)] = only.others.as_slice() else { panic!("{only:#?}") };
    assert_eq!((paired.change.mean, paired.change.ci95), (1.0, Some(0.0)));
    assert!(paired.paired && !other.paired);
    assert!((other.change.mean - 1.0).abs() < 1e-12);
    assert!(other.change.ci95.expect("three values") > 80.0, "{other:#?}");
    assert_eq!(paired.percent, Some(2.0));

    let names: Vec<String> = folders.iter().map(|folder| folder.name.clone()).collect();
    let holds = |text: &str| {
        let condition = Condition::parse(text).expect("a condition");
        condition.broken_by(&found, &names).len()
    };
    assert_eq!([holds("delay.p99 > 1%"), holds("delay.p99 > 3%")], [1, 0], "c is not sure");
    assert_eq!([holds("delay.p99>0.5"), holds("delay.p99 < -0.5")], [1, 0]);

    let texts: Vec<&str> = folders.iter().map(|folder| &*folder.scenario_toml).collect();
    let changes = settings(&texts).expect("each is one scenario");
    let paths: Vec<&str> = changes.iter().map(|change| &*change.path).collect();
    assert_eq!(paths, ["rlc.keep", "rlc.more"]);
    assert_eq!(changes[1].values, [None, None, Some("[1]".into())]);
    assert_eq!(settings(&["a = 1\n", "a = 1\na = 2\n"]), None, "two scenarios");

    let grid = table(&found, &names);
    assert!(grid.header.len() == 10 && grid.rows.iter().all(|row| row.cells.len() == 10));
    let page: serde_json::Value =
        serde_json::from_str(&json(&names, Some(&changes), &found, &[])).expect("JSON");
    assert_eq!(page["differences"][0]["others"][0]["paired"], true);
}

#[test]
fn the_methods_of_one_folder_are_compared_with_one_of_them_seed_by_seed() {
    let room = tempfile::tempdir().expect("a folder");
    // Seeds differ widely, and each seed changes by 1 ms.
    let rows = [
        ("CoDel", 1, 10.0),
        ("CoDel", 2, 50.0),
        ("CoDel", 3, 90.0),
        ("DRQL", 1, 11.0),
        ("DRQL", 2, 51.0),
        ("DRQL", 3, 91.0),
        ("EQP", 1, 4.0),
    ];
    let folder = write(&room.path().join("a"), "runs = 1", &rows);
    let found = differences_of_methods(&folder, "CoDel", &p99()).expect("there is CoDel");
    let methods: Vec<&str> = found.iter().map(|found| &*found.method).collect();
    assert_eq!(methods, ["DRQL", "EQP"]);
    let [Some(drql)] = found[0].others.as_slice() else { panic!("{found:#?}") };
    assert_eq!((drql.change.mean, drql.change.ci95, drql.paired), (1.0, Some(0.0), true));
    let [Some(eqp)] = found[1].others.as_slice() else { panic!("{found:#?}") };
    assert_eq!((eqp.change.mean, eqp.change.ci95), (-6.0, None), "one seed in common");
    let grid = table(&found, &["CoDel".into(), "own".into()]);
    assert_eq!(grid.header, ["method", "flow", "column", "CoDel", "own", "change", "%"]);

    let refused = |against: &str| {
        differences_of_methods(&folder, against, &p99()).expect_err(against).to_string()
    };
    assert!(refused("codel").contains("no method `codel`; there is CoDel, DRQL, EQP"));
    let alone = write(&room.path().join("b"), "", &rows[..3]);
    let said = differences_of_methods(&alone, "CoDel", &p99()).expect_err("alone").to_string();
    assert!(said.contains("nothing to compare with method `CoDel`"), "{said}");
}

#[test]
fn a_terminal_of_80_columns_keeps_the_changes_and_loses_what_they_give_first() {
    let room = tempfile::tempdir().expect("a folder");
    let rows = |by: f64| {
        [("FQ-CoDel-RFC8290", 1), ("FQ-CoDel-RFC8290", 2), ("FQ-CoDel-RFC8290", 3)]
            .map(|(method, seed)| (method, seed, 100.0 + by * f64::from(seed as u32)))
    };
    let folders = ["before", "after", "with-a-long-name"]
        .into_iter()
        .zip([1.0, 2.0, 4.0])
        .map(|(name, by)| write(&room.path().join(name), "", &rows(by)))
        .collect::<Vec<_>>();
    let shown = |count: usize, width: u16| {
        let found = differences(&folders[..count], &p99()).expect("one flow");
        let names = ["before", "after", "with-a-long-name"].map(String::from);
        let names = &names[..count];
        let style = Style { colour: false, width: Some(width) };
        let text = terminal(&table(&found, names), style);
        assert!(text.lines().all(|line| line.chars().count() <= width.into()), "{text}");
        let (shown, left_out) = text.split_once("Too narrow for:").unwrap_or((&text, ""));
        (shown.to_owned(), left_out.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (kept, lost) = shown(2, 80);
    assert!(kept.contains("change") && kept.contains("2.0 ± "), "{kept}");
    assert_eq!(lost, "after");
    assert_eq!(shown(2, 200).1, "");
    let (kept, lost) = shown(3, 80);
    assert!(kept.contains("after:") && kept.contains("with-a-long-name:"), "{kept}");
    assert!(!lost.contains("change") && lost.starts_with("before after"), "{lost}");
}

#[test]
fn incomparable_results_are_named_with_the_comparable_ones() {
    let room = tempfile::tempdir().expect("a folder");
    let of = |name: &str| room.path().join(name);
    let mut a = write(&of("a"), "", &[("DRQL", 1, 10.0)]);
    let said = a.keep(&["CoDel".into()], &[]).expect_err("there is none").to_string();
    assert!(said.contains("no method `CoDel`; there is DRQL"), "{said}");
    let b = write(&of("b"), "", &[("CoDel", 1, 10.0)]);
    let said = differences(&[a, b], &p99()).expect_err("nothing in common").to_string();
    assert!(said.contains("under DRQL") && said.contains("under CoDel"), "{said}");
    let said = Folder::read(&of("none"), &[]).expect_err("none").to_string();
    assert!(said.contains("none: no folder of results is there"), "{said}");
    std::fs::write(of("a").join("runs.jsonl"), "{").expect("it is written");
    let said = Folder::read(&of("a"), &[]).expect_err("changed").to_string();
    assert!(said.contains("not as the run wrote them: runs.jsonl"), "{said}");
    for (text, why) in [
        ("delay.p99", "neither > nor <"),
        ("delay.p98 > 1", "no column `delay.p98`; did you mean delay.p9"),
        ("delay.p99 > x%", "`x` is no number"),
        ("delay.p99 > inf", "`inf` is no number"),
    ] {
        let said = Condition::parse(text).expect_err("wrong").to_string();
        assert!(said.contains(why) && said.contains("`delay.p99 > 5%`"), "{said}");
    }
}
