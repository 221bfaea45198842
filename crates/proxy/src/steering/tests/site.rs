//! Cells, moves, and identities of UEs.

use super::*;
use crate::directory::{Change, Session};
use justfull_rnis::CellChange;

fn of_cell(cell: &str, ue: &[&str], at: Instant) -> Report {
    Report { cell: Some(cell.into()), ..report(ue, at) }
}

fn session(id: &str, ue: &[&str]) -> Session {
    let ue = ue.iter().map(|ue| ue.parse().expect("a prefix")).collect();
    Session { id: id.into(), ue, pool: None, cell_id: None, ambr: None }
}

fn put(steering: &mut Steering, now: Instant, new: Session) {
    steering.directory(now, &Change::Put { old: None, new });
}

fn cell_of(steering: &Steering, ue: &str, now: Instant) -> String {
    let ues = steering.status(now);
    let address = |one: &&UeStatus| one.addresses.iter().any(|own| own.starts_with(ue));
    ues.iter().find(address).expect("it is known").cell.clone()
}

#[test]
fn two_ues_in_two_cells_each_have_all_of_their_own() {
    let windows_of = |cells: [&str; 2]| {
        let mut steering = steering();
        for round in 1..100 {
            for (ue, cell) in ["10.45.0.1", "10.45.0.2"].into_iter().zip(cells) {
                steering.report(ms(round), &of_cell(cell, &[ue], ms(round)));
            }
            if round == 2 {
                open(&mut steering, "10.45.0.1", 1);
                open(&mut steering, "10.45.0.2", 2);
            }
        }
        for cell in steering.cell_status(ms(100)) {
            assert!(cell.windows <= (1.0 + cell.floors) * (1.0 + 1e-9), "{cell:?}");
            assert!(cell.held <= 1.0, "{cell:?}");
        }
        windows(&mut steering)
    };
    // 25 000 bytes in 10 ms are 16 packets of 1500 bytes.
    let apart = windows_of(["east", "west"]);
    assert!(apart.values().all(|w| w.server == 16 * 1_448), "{apart:?}");
    let together = windows_of(["east", "east"]);
    assert!(together.values().all(|w| w.server == 8 * 1_448), "{together:?}");
}

#[test]
fn a_report_of_another_cell_moves_its_ue_whatever_that_cells_clock() {
    let mut steering = steering();
    steering.report(ms(1_000), &of_cell("east", &["10.45.0.1"], ms(1_000)));
    open(&mut steering, "10.45.0.1", 1);
    assert_eq!(windows(&mut steering)[&1].server, 16 * 1_448);
    let mut west = of_cell("west", &["10.45.0.1"], ms(3));
    west.ran.offered = 5_000;
    steering.report(ms(1_050), &west);
    assert_eq!(cell_of(&steering, "10.45.0.1", ms(1_050)), "west");
    assert_eq!(windows(&mut steering)[&1].server, 33 * 1_448, "all of the new cell at once");
    assert_eq!((steering.counts.moves, steering.counts.late), (1, 0));
    let cells = steering.cell_status(ms(1_050));
    let ues = |name: &str| cells.iter().find(|c| c.cell == name).expect("it is shown").ues;
    assert_eq!((ues("east"), ues("west")), (0, 1));
}

#[test]
fn a_ue_in_two_cells_stays_in_the_last_until_that_is_silent() {
    let mut steering = steering();
    let both = |steering: &mut Steering, at: u64| {
        steering.report(ms(at), &of_cell("east", &["10.45.0.1"], ms(at)));
        steering.report(ms(at), &of_cell("west", &["10.45.0.1"], ms(at)));
    };
    for at in (10..1_000).step_by(10) {
        both(&mut steering, at);
    }
    let counts = steering.counts;
    assert_eq!((counts.moves, counts.two_cells), (1, 98), "of east, after the first");
    let ues = steering.status(ms(1_000));
    assert!(ues[0].two_cells && ues[0].cell == "west", "{ues:?}");
    let notices = steering.notices.take();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].what.contains("stays in west, east has to wait"), "{notices:?}");
    // West falls silent.
    for at in (1_000..1_300).step_by(10) {
        steering.report(ms(at), &of_cell("east", &["10.45.0.1"], ms(at)));
    }
    assert_eq!(cell_of(&steering, "10.45.0.1", ms(1_300)), "east");
    assert_eq!(steering.counts.moves, 2);
}

fn change(cell: &str, ue: &str) -> CellChange {
    CellChange { ue: vec![ue.parse().expect("a prefix")], cell: cell.into() }
}

#[test]
fn a_notified_change_moves_its_ue_at_once_also_back_and_late_reports_do_not_undo_it() {
    let mut steering = steering();
    let mut at = 0;
    let mut told = |steering: &mut Steering, cell: &str| {
        at += 10;
        steering.report(ms(at), &of_cell(cell, &["10.45.0.1", "fd45::/64"], ms(at)));
        at
    };
    let now = told(&mut steering, "east");
    open(&mut steering, "10.45.0.1", 1);
    for (cell, old) in [("west", "east"), ("east", "west"), ("west", "east")] {
        // By any of its addresses.
        steering.moved(ms(now), &change(cell, "fd45::1"));
        assert_eq!(cell_of(&steering, "10.45.0.1", ms(now)), cell);
        told(&mut steering, old);
        assert_eq!(cell_of(&steering, "10.45.0.1", ms(now)), cell, "a late report of {old}");
        let last = told(&mut steering, cell);
        steering.moved(ms(last), &change(cell, "10.45.0.1"));
    }
    let counts = steering.counts;
    assert_eq!((counts.moves, counts.two_cells, counts.taken), (3, 3, 4));
    let cells = steering.cell_status(ms(100));
    let ues = |name: &str| cells.iter().find(|c| c.cell == name).expect("it is shown").ues;
    assert_eq!((ues("east"), ues("west")), (0, 1));
}

#[test]
fn a_notified_change_of_no_known_ue_or_cell_is_counted_and_changes_nothing() {
    let mut steering = of_cells(&CellsConfig { names: vec!["east".into()], most: 256 });
    steering.moved(ms(1), &change("east", "10.45.0.1"));
    assert_eq!(steering.counts.without_flows, 1);
    assert!(steering.status(ms(1)).is_empty(), "it adds no UE");
    steering.report(ms(1), &of_cell("east", &["10.45.0.1"], ms(1)));
    steering.moved(ms(2), &change("west", "10.45.0.1"));
    assert_eq!((steering.counts.unknown_cell, steering.counts.moves), (1, 0));
    assert_eq!(cell_of(&steering, "10.45.0.1", ms(2)), "east");
}

#[test]
fn reports_of_unknown_cells_are_counted_told_and_do_nothing() {
    let names = CellsConfig { names: vec!["east".into()], most: 256 };
    let mut steering = of_cells(&names);
    steering.report(ms(1), &of_cell("west", &["10.45.0.1"], ms(1)));
    steering.report(ms(1), &report(&["10.45.0.1"], ms(1)));
    assert_eq!((steering.counts.unknown_cell, steering.counts.taken), (2, 0));
    assert!(steering.status(ms(1)).is_empty());
    assert!(steering.notices.take()[0].what.contains("the cell west, which `cells`"));
    steering.report(ms(1), &of_cell("east", &["10.45.0.1"], ms(1)));
    assert_eq!(steering.counts.taken, 1);
    let mut few = of_cells(&CellsConfig { names: Vec::new(), most: 2 });
    for cell in ["a", "b", "c", "a"] {
        few.report(ms(1), &of_cell(cell, &["10.45.0.1"], ms(1)));
    }
    assert_eq!(few.counts.unknown_cell, 1);
}

#[test]
fn a_move_to_a_cell_without_reports_keeps_the_last_report_by_its_age() {
    let mut steering = steering();
    steering.report(ms(1), &of_cell("east", &["10.45.0.1"], ms(1)));
    open(&mut steering, "10.45.0.1", 1);
    let moved = Session { cell_id: Some("dark".into()), ..session("s", &["10.45.0.1"]) };
    put(&mut steering, ms(2), moved);
    assert_eq!(cell_of(&steering, "10.45.0.1", ms(2)), "dark");
    assert_eq!(windows(&mut steering)[&1].server, 16 * 1_448, "the last report counts");
    while let Some(due) = steering.next_timer().filter(|due| *due <= ms(1_500)) {
        steering.on_timer(due);
    }
    let ues = steering.status(ms(1_500));
    assert!(ues[0].report_age_s.is_none() && ues[0].radio == "stopped", "{ues:?}");
}

#[test]
fn flows_of_both_families_that_open_before_any_report_become_one_ue() {
    let mut steering = steering();
    open(&mut steering, "10.45.0.1", 1);
    open(&mut steering, "fd45::1", 2);
    assert_eq!(steering.status(ms(2)).len(), 2);
    steering.report(ms(3), &of_cell("east", &["10.45.0.1", "fd45::/64"], ms(3)));
    let ues = steering.status(ms(3));
    assert_eq!((ues.len(), ues[0].flows, steering.counts.merges), (1, 2, 1));
    let windows = windows(&mut steering);
    assert!(windows.values().all(|w| w.server == 8 * 1_448), "half of it each: {windows:?}");
    assert_eq!(steering.ues.silent, 0);
}

#[test]
fn an_address_that_two_ues_report_stays_with_the_first_and_one_given_away_moves() {
    let mut steering = steering();
    steering.report(ms(1), &report(&["10.45.0.1"], ms(1)));
    steering.report(ms(1), &report(&["fd45::/64"], ms(1)));
    steering.report(ms(2), &report(&["fd45::/64", "10.45.0.1"], ms(2)));
    assert_eq!((steering.counts.disputed, steering.status(ms(2)).len()), (1, 2));
    assert_eq!(steering.notices.take().len(), 1);
    // The first UE's reports name another address only: the disputed address was reassigned.
    steering.report(ms(3), &report(&["10.45.0.1", "10.45.0.7"], ms(3)));
    steering.report(ms(4), &report(&["10.45.0.7"], ms(4)));
    steering.report(ms(5), &report(&["fd45::/64", "10.45.0.1"], ms(5)));
    let ues = steering.status(ms(5));
    assert_eq!(ues.len(), 2);
    let v6 = ues.iter().find(|ue| ue.ue.starts_with("fd45")).expect("it is known");
    assert_eq!(v6.addresses, ["fd45::/64", "10.45.0.1/32"]);
    // Its reports stop: then both are one.
    steering.report(ms(1_500), &report(&["fd45::/64", "10.45.0.7"], ms(1_500)));
    assert_eq!((steering.status(ms(1_500)).len(), steering.counts.merges), (1, 1));
}

#[test]
fn sessions_merge_limit_and_end() {
    let mut steering = steering();
    open(&mut steering, "10.45.0.1", 1);
    open(&mut steering, "fd45::1", 2);
    let mut mine = session("s", &["10.45.0.1", "fd45::/64"]);
    mine.ambr = Some(10_000_000);
    put(&mut steering, ms(3), mine.clone());
    steering.report(ms(4), &of_cell("east", &["10.45.0.1"], ms(4)));
    let ues = steering.status(ms(4));
    assert_eq!((ues.len(), ues[0].flows), (1, 2));
    assert_eq!(ues[0].capacity_bytes_per_s, Some(1_250_000.0), "of 2 500 000");
    // Without its second address, which belongs to another UE from now on.
    let fewer = session("s", &["10.45.0.1"]);
    let change = Change::Put { old: Some(mine), new: fewer.clone() };
    steering.directory(ms(5), &change);
    assert_eq!(steering.status(ms(5))[0].capacity_bytes_per_s, Some(2_500_000.0));
    put(&mut steering, ms(6), session("t", &["fd45::/64"]));
    assert_eq!(steering.status(ms(6)).len(), 2);
    steering.forget(ms(200_000));
    assert_eq!(steering.status(ms(200_000)).len(), 2, "sessions are not forgotten");
    steering.directory(ms(200_001), &Change::Ended(session("t", &["fd45::/64"])));
    steering.directory(ms(200_001), &Change::Ended(fewer));
    let ues = steering.status(ms(200_001));
    assert_eq!((ues.len(), ues[0].flows), (1, 2), "the open connections stay");
    assert!(ues[0].addresses.is_empty());
}

#[test]
fn the_next_process_knows_the_ues_of_the_one_before() {
    let mut steering = steering();
    steering.report(ms(1), &of_cell("east", &["10.45.0.1", "fd45::/64"], ms(1)));
    steering.report(ms(1), &of_cell("west", &["10.45.0.2"], ms(1)));
    let mut next = self::steering();
    for ue in steering.identities() {
        next.adopt(ms(2), &ue);
    }
    assert_eq!(next.identities(), steering.identities());
    open(&mut next, "10.45.0.1", 1);
    open(&mut next, "fd45::2", 2);
    let ues = next.status(ms(2));
    assert_eq!((ues.len(), ues[0].flows, ues[0].cell.as_str()), (2, 2, "east"));
    assert_eq!(next.counts.moves, 0);
}
