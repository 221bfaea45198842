//! UEs with the same address in two pools.

use super::*;
use crate::config::PoolConfig;
use crate::directory::{Change, Session};

fn of_pools(ues: [&str; 2]) -> Steering {
    let pool = |name: &str, ues: &str| PoolConfig {
        name: name.into(),
        ues: ues.split_whitespace().map(|of| of.parse().expect("a prefix")).collect(),
        ..PoolConfig::default()
    };
    let pools = Pools::named(vec![pool("blue", ues[0]), pool("red", ues[1])]);
    let (control, cells) = (ControlConfig::default(), CellsConfig::default());
    Steering::new(&control, UesConfig::default(), &cells, pools).expect("the defaults")
}

fn open_in(steering: &mut Steering, pool: usize, ue: &str, key: u64) {
    let [wired_rtt, radio_rtt] = [10, 20].map(|ms| Some(Duration::from_millis(ms)));
    let opening = Opening { mss: MSS, wired_rtt, radio_rtt };
    let client = ClientHost { pool: PoolId::at(pool), ip: ue.parse().expect("an address") };
    steering.open(ms(2), client, key, &opening).expect("it opens");
}

fn of(pool: Option<&str>, cell: &str, ue: &[&str], at: Instant) -> Report {
    let pool = pool.map(Into::into);
    Report { pool, cell: Some(cell.into()), ..report(ue, at) }
}

#[test]
fn a_report_changes_the_windows_of_its_own_pools_ue_alone() {
    for (ue, names) in [
        ("10.0.0.5", ["blue/10.0.0.5/32", "red/10.0.0.5/32"]),
        ("fd00::5", ["blue/fd00::/64", "red/fd00::/64"]),
    ] {
        let mut steering = of_pools(["", ""]);
        steering.report(ms(1), &of(Some("blue"), "b", &[ue], ms(1)));
        steering.report(ms(1), &of(Some("red"), "r", &[ue], ms(1)));
        open_in(&mut steering, 0, ue, 1);
        open_in(&mut steering, 1, ue, 2);
        let before = windows(&mut steering);
        assert_eq!(before[&1], before[&2], "{ue}");
        let mut half = of(Some("red"), "r", &[ue], ms(11));
        half.ran.offered /= 2;
        steering.report(ms(11), &half);
        let after = windows(&mut steering);
        assert_eq!(after.keys().collect::<Vec<_>>(), [&2], "{ue}");
        assert!(after[&2].server < before[&2].server, "{ue}");
        let ues = steering.status(ms(11));
        let shown: Vec<&str> = ues.iter().map(|ue| ue.ue.as_str()).collect();
        assert_eq!(shown, names);
        assert_eq!(ues[1].pool.as_deref(), Some("red"));
        assert_eq!(steering.pool_sums(PoolId::at(0)).1, 1);
    }
}

#[test]
fn a_report_that_two_pools_may_mean_changes_nothing_and_is_counted_and_told() {
    let mut steering = of_pools(["10.0.0.0/24 fd01::/16", "10.0.0.0/24 fd02::/16"]);
    open_in(&mut steering, 0, "10.0.0.5", 1);
    steering.report(ms(1), &of(None, "b", &["10.0.0.5"], ms(1)));
    steering.report(ms(1), &of(Some("green"), "b", &["10.0.0.5"], ms(1)));
    steering.report(ms(1), &of(None, "b", &["10.9.0.5"], ms(1)));
    assert_eq!((steering.counts.unknown_pool, steering.counts.taken), (3, 0));
    let notices = steering.notices.take();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].what.contains("allowed is one of blue, red"), "{notices:?}");
    // The second address is in one pool alone.
    steering.report(ms(2), &of(None, "r", &["10.0.0.5", "fd02:0:0:5::/64"], ms(2)));
    assert_eq!(steering.counts.taken, 1);
    assert_eq!(steering.status(ms(2)).len(), 2);
    assert_eq!(steering.pool_sums(PoolId::at(1)).0, 1);
}

#[test]
fn sessions_and_the_next_process_keep_ues_of_two_pools_apart() {
    let mut steering = of_pools(["", ""]);
    for (id, pool, mbits) in [("a", "blue", 1), ("b", "red", 2)] {
        let ue = vec!["10.0.0.5".parse().expect("a prefix"), "fd00::/64".parse().expect("one")];
        let (pool, ambr) = (Some(pool.into()), Some(mbits * 1_000_000));
        let new = Session { id: id.into(), ue, pool, cell_id: Some(id.into()), ambr };
        steering.directory(ms(1), &Change::Put { old: None, new });
    }
    let shown = |steering: &Steering| -> Vec<String> {
        steering
            .status(ms(1))
            .into_iter()
            .map(|ue| format!("{} {} {:?}", ue.ue, ue.cell, ue.addresses.len()))
            .collect()
    };
    let own = shown(&steering);
    assert_eq!(own, ["blue/10.0.0.5/32 a 2", "red/10.0.0.5/32 b 2"]);
    let mut next = of_pools(["", ""]);
    steering.identities().iter().for_each(|ue| next.adopt(ms(1), ue));
    assert_eq!(shown(&next), own);
    let gone = Session {
        id: "a".into(),
        ue: vec!["10.0.0.5".parse().expect("a prefix")],
        pool: Some("blue".into()),
        cell_id: None,
        ambr: None,
    };
    steering.directory(ms(2), &Change::Ended(gone));
    assert_eq!(shown(&steering), own[1..]);
}
