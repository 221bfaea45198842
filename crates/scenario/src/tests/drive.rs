//! UEs that move as the log of a phone says.

use super::*;
use justfull_base::Duration;
use justfull_run::cells::Move;

const WALK: &str = r#"
title = "walk"
duration = "20s"
methods = ["Vanilla"]
channel = { kind = "constant", per_slot = 2000 }
mac = "bytes"
[[cell]]
name = "west"
[[cell]]
name = "east"
[[ue]]
drive = { file = "walk-gnettrack.txt", cells = { 101 = "west", 202 = "east", 203 = "east" } }
[[flow]]
name = "call"
udp = { payload = "172B", interval = "20ms" }
"#;

/// `text` beside the shipped log.
fn beside(text: &str) -> Result<Scenario, String> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/traces/walk.toml");
    let read = Scenario::parse(text, FilePath::new(file), None, Overrides::default());
    read.map_err(|e| e.to_string())
}

/// The places and moves of the first UE.
fn place(text: &str) -> Result<(u32, Vec<Move>), String> {
    let scenario = beside(text)?;
    let world = scenario.world(&scenario.jobs()[0]).map_err(|e| e.to_string())?;
    let places = world.cells.expect("two cells").places;
    Ok((places[0].cell, places[0].moves.clone()))
}

#[test]
fn a_log_gives_the_first_cell_and_a_move_where_the_cell_changes() {
    // 101 from 0 s on, 202 from 4 s, 203 from 6 s, which is the same cell here, 101 from 9 s.
    let moves = |times: [u64; 2]| {
        let [first, second] = times.map(Duration::from_secs);
        vec![Move { at: first, to: 1 }, Move { at: second, to: 0 }]
    };
    assert_eq!(place(WALK), Ok((0, moves([4, 9]))));
    let later = WALK.replace("cells =", "start = \"3s\", cells =");
    assert_eq!(place(&later), Ok((0, moves([1, 6]))));
    let in_east = WALK.replace("cells =", "start = \"5s\", cells =");
    assert_eq!(place(&in_east), Ok((1, vec![Move { at: Duration::from_secs(4), to: 0 }])));
    let short = WALK.replace("duration = \"20s\"", "duration = \"5s\"");
    assert_eq!(place(&short).map(|(_, moves)| moves.len()), Ok(1));
}

#[test]
fn wrong_logs_and_cells_are_one_error_that_names_field_value_and_what_is_allowed() {
    for (from, to, wanted) in [
        (", 203 = \"east\"", "", &["ue[0].drive.cells", "`203`", "line 9", "west, east"][..]),
        ("203 = \"east\"", "203 = \"north\"", &["ue[0].drive.cells[203]", "north", "west, east"]),
        ("cells =", "cell_column = \"eNB\", cells =", &["eNB", "header line", "walk-gnettrack"]),
        ("cells =", "time_column = \"when\", cells =", &["when", "header line"]),
        ("walk-gnettrack.txt", "walk.txt", &["ue[0].drive.file", "walk.txt"]),
        ("[[ue]]", "[[ue]]\ncell = \"east\"", &["ue[0].cell", "east", "west, the first"]),
        ("[[ue]]", "[[ue]]\nmoves = [{ at = \"1s\", cell = \"east\" }]", &["`drive`", "one of"]),
        ("[[cell]]\nname = \"east\"\n", "", &["ue[0].drive", "two or more [[cell]]"]),
    ] {
        let error = place(&WALK.replace(from, to)).expect_err("wrong");
        assert!(wanted.iter().all(|part| error.contains(part)), "{to}: {error}");
    }
}
