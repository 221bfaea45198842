//! The box on the host of the DU, of the CU-UP, or of both.

use super::*;

/// Moves the kernel's rule for local addresses behind the box's.
const MOVE: &str = "ip rule add priority 32765 table local && ip rule delete priority 0";
const AT_DU: Interfaces = Interfaces { cu_up: RAN, du: "lo" };
const AT_CU_UP: Interfaces = Interfaces { cu_up: "lo", du: CORE };
const STRICT: &str = "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter";

/// The box at `place` bounds statuses in each way of its life, and no user data is lost: a kill
/// loses only user data that take the detour, since both ends are at one interface.
fn lives(chain: &Chain, ends: &mut Ends, place: Place, interfaces: Interfaces) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = configuration_at(folder, interfaces, "");
    let lacking = lacking(chain, place, &file);
    assert!(lacking.is_empty(), "{lacking:?}");
    let first = Running::start(chain, place, &file, false);
    let device = until_ready(ends, folder, None);
    until_bounded(ends);
    let found = status(folder).expect("it answers");
    assert_eq!((&found["bearers"], &found["bounded_bearers"]), (&1.into(), &1.into()), "{found}");
    assert_eq!((&found["detour"]["refused"], &found["copies_lost"]), (&0.into(), &0.into()));

    let second = Running::start(chain, place, &file, true);
    let (sent, heard) = (ends.statuses, ends.cu_up.statuses);
    until_ready(ends, folder, Some(&device));
    until_bounded(ends);
    let (sent, heard) = (ends.statuses - sent, ends.cu_up.statuses - heard);
    assert!(sent.abs_diff(heard) <= 2, "no status is lost: {sent} {heard}");

    assert_eq!((ends.missing(), ends.du.dropped), (0, 0), "a takeover loses no user data");

    second.signal(Signal::SIGKILL);
    ends.run(Duration::from_millis(200));
    let after = ends.run(Duration::from_millis(200));
    assert!(unbounded(ends) && after.frames > 50, "traffic goes on: {} frames", after.frames);
    assert_eq!(rules(chain, place), 1, "a rule without effect stays after a kill");
    let lost = ends.missing();
    assert!(lost == 0 || interfaces.cu_up == interfaces.du && lost < 1_000, "{lost}");

    let third = Running::start(chain, place, &file, false);
    until_ready(ends, folder, None);
    third.signal(Signal::SIGTERM);
    ends.run(Duration::from_millis(200));
    assert!(unbounded(ends) && status(folder).is_none(), "it has gone");
    assert_eq!(rules(chain, place), 0);
    assert_eq!((ends.missing(), ends.du.dropped), (lost, 0), "an end loses no user data");
    drop((first, third));
}

fn until_bounded(ends: &mut Ends) {
    for _ in 0..100 {
        ends.run(Duration::from_millis(50));
        if !unbounded(ends) && ends.du.queued < 100_000 {
            return;
        }
    }
    panic!("no status is bounded, RLC {} B", ends.du.queued);
}

/// The names and reasons of the conditions that a host does not meet.
fn lacking(chain: &Chain, place: Place, file: &Path) -> Vec<String> {
    let config = F1uConfig::read(file).expect("valid");
    let check = || Ok(justfull_f1u::check(&config));
    let found = chain.inside(place, check).expect("it checks");
    let reason = |one: &justfull_net::Capability| one.found.clone().err();
    found.iter().filter_map(|one| Some(format!("{}: {}", one.name, reason(one)?))).collect()
}

/// The error of a box that must not start.
fn refused(chain: &Chain, place: Place, file: &Path) -> String {
    let config = F1uConfig::read(file).expect("valid");
    let run = || Ok(justfull_f1u::run(&config, false, || unreachable!("it may not run")));
    chain.inside(place, run).expect("it ends").expect_err("it may not run").to_string()
}

#[test]
fn on_the_dus_host_a_box_bounds_statuses_and_needs_no_forwarding() {
    if !can_run() {
        println!("skipped: no right to make namespaces");
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    let mut ends = Ends::new(&chain, Above::HoldsBack);
    assert_eq!(at(&chain, Place::Ue, "cat /proc/sys/net/ipv4/ip_forward"), "0\n");
    let folder = tempfile::tempdir().expect("a folder");
    let interfaces = AT_DU;
    let file = configuration_at(folder.path(), interfaces, "");
    at(&chain, Place::Ue, STRICT);
    let [reason] = &lacking(&chain, Place::Ue, &file)[..] else { panic!("one obstacle") };
    assert!(reason.starts_with("reverse path filter: strict: net.ipv4.conf.all"), "{reason}");
    assert!(refused(&chain, Place::Ue, &file).contains("strict"));
    assert_eq!(rules(&chain, Place::Ue), 0);

    at(&chain, Place::Ue, LOOSE);
    lives(&chain, &mut ends, Place::Ue, interfaces);
    assert_eq!(at(&chain, Place::Ue, "cat /proc/sys/net/ipv4/ip_forward"), "0\n");
}

#[test]
fn on_the_cu_ups_host_a_box_bounds_statuses_before_they_are_delivered() {
    if !can_run() {
        println!("skipped: no right to make namespaces");
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    let mut ends = Ends::new(&chain, Above::HoldsBack);
    let folder = tempfile::tempdir().expect("a folder");
    let interfaces = AT_CU_UP;
    let file = configuration_at(folder.path(), interfaces, "");
    let [forwarding, local] = &lacking(&chain, Place::Server, &file)[..] else {
        panic!("two obstacles")
    };
    assert!(forwarding.contains("net.ipv4.conf.core.forwarding must be 1"), "{forwarding}");
    assert!(local.starts_with("local addresses: rule 0 ") && local.ends_with(MOVE), "{local}");
    assert!(refused(&chain, Place::Server, &file).contains("forwarding"));

    at(&chain, Place::Server, "echo 1 > /proc/sys/net/ipv4/conf/core/forwarding");
    assert!(refused(&chain, Place::Server, &file).contains(MOVE));
    at(&chain, Place::Server, MOVE);
    lives(&chain, &mut ends, Place::Server, interfaces);
}

#[test]
fn with_both_ends_on_its_host_a_box_bounds_statuses() {
    if !can_run() {
        println!("skipped: no right to make namespaces");
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    at(&chain, Place::Ue, &format!("ip address add {CU_UP} dev lo; {MOVE}"));
    let mut ends = Ends::at(&chain, Place::Ue, Place::Ue, Above::HoldsBack);
    lives(&chain, &mut ends, Place::Ue, Interfaces { cu_up: "lo", du: "lo" });
}

/// Either place is a host that user data leaves, or where it arrives.
#[test]
fn user_data_of_and_to_its_host_may_wait_in_a_box() {
    if !can_run() {
        println!("skipped: no right to make namespaces");
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    for (place, interfaces) in [(Place::Server, AT_CU_UP), (Place::Ue, AT_DU)] {
        at(&chain, place, &format!("echo 1 > /proc/sys/net/ipv4/ip_forward; {MOVE}"));
        let mut ends = Ends::new(&chain, Above::Drops);
        let folder = tempfile::tempdir().expect("a folder");
        let file = configuration_at(folder.path(), interfaces, "[hold]\ntime = \"20ms\"\n");
        let lacking = lacking(&chain, place, &file);
        assert!(lacking.is_empty(), "{lacking:?}");
        let running = Running::start(&chain, place, &file, false);
        until_ready(&mut ends, folder.path(), None);
        until_holding(&mut ends, folder.path());
        running.signal(Signal::SIGTERM);
        ends.run(Duration::from_millis(300));
        assert!(unbounded(&ends), "it has gone");
        assert_eq!((ends.missing(), ends.du.dropped), (0, 0), "no user data was lost");
    }
}

/// A socket without an address of its own gets the same source with the box and without.
#[test]
fn the_source_and_the_content_of_a_datagram_are_the_same_through_the_box() {
    if !can_run() {
        println!("skipped: no right to make namespaces");
        return;
    }
    let chain = Chain::build(2, Mtus::SMALL_RAN).expect("three hosts");
    // The kernel's choice for a way without a source.
    at(&chain, Place::Ue, "ip address add 192.0.2.1 dev lo");
    let at_cu_up = socket(&chain, Place::Server, CU_UP);
    at_cu_up.set_nonblocking(false).expect("it blocks");
    at_cu_up.set_read_timeout(Some(std::time::Duration::from_secs(10))).expect("a limit");
    let at_du = socket(&chain, Place::Ue, std::net::Ipv4Addr::UNSPECIFIED);
    let mut arrived = |length: usize| {
        let sent: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let count = at_du.send_to(&sent, (CU_UP, gtpu::PORT)).expect("it sends");
        let mut room = [0; 4_096];
        let (read, from) = at_cu_up.recv_from(&mut room).expect("it arrives");
        assert_eq!((count, &room[..read]), (length, &sent[..]));
        from
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = configuration_at(folder.path(), AT_DU, "");
    // The last one is longer than the link's MTU.
    let lengths = [12, 1_372, 3_000];
    let without = lengths.map(&mut arrived);
    let _running = Running::start(&chain, Place::Ue, &file, false);
    let passed =
        |folder: &Path| status(folder).and_then(|found| found["detour"]["passed"].as_u64());
    for _ in 0..500 {
        if passed(folder.path()).is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let before = passed(folder.path()).expect("it answers");
    assert_eq!(lengths.map(&mut arrived), without);
    let through = passed(folder.path()).expect("it answers") - before;
    // Three fragments are the longest one.
    assert_eq!(through, 5);
}
