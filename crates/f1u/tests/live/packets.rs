//! User data in other packets than one datagram each.

use super::*;

/// A box in the middle bounds the bearer from its begin, and no user data is lost.
fn is_bounded(mtus: Mtus, segments: bool) {
    if !can_run() {
        println!("skipped: no right to make namespaces");
        return;
    }
    let chain = Chain::build(1, mtus).expect("three hosts");
    let folder = tempfile::tempdir().expect("a folder");
    let file = configuration(folder.path(), "");
    let mut ends = Ends { segments, ..Ends::new(&chain, Above::HoldsBack) };
    let _running = Running::start(&chain, Place::Middle, &file, false);
    until_ready(&mut ends, folder.path(), None);
    for _ in 0..100 {
        ends.run(Duration::from_millis(50));
        if !unbounded(&ends) && ends.du.queued < 100_000 {
            break;
        }
    }
    let found = status(folder.path()).expect("it answers");
    assert!(!unbounded(&ends) && ends.du.queued < 100_000, "{found}, RLC {} B", ends.du.queued);
    let (before, seen) = (ends.received, &found["frames"]["user_data"]);
    assert!(seen.as_u64().is_some_and(|seen| seen > before / 2), "{found}, {before} received");
    assert_eq!((&found["frames"]["malformed"], ends.missing(), ends.du.dropped), (&0.into(), 0, 0));
}

#[test]
fn user_data_in_fragments_of_ip_are_bounded() {
    is_bounded(Mtus { core: 1_280, ..Mtus::ETHERNET }, false);
}

#[test]
fn user_data_of_many_datagrams_in_one_packet_are_bounded() {
    is_bounded(Mtus::ETHERNET, true);
}
