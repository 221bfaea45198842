//! ECN on the two legs: each is agreed on by its own ends, and a mark stays on its leg.

use super::faults::{command, installed};
use super::*;
use justfull_net::chain::{CORE, RAN};

/// Sets `net.ipv4.tcp_ecn` of a host: 0 refuses ECN, 1 asks for it, 2 agrees when asked.
fn set_ecn(world: &World, place: Place, value: u8) {
    command(world, place, &["sysctl", "-qw", &format!("net.ipv4.tcp_ecn={value}")]);
}

/// Marks the ECN-capable packets that arrive at a host by `device`.
fn mark(world: &World, place: Place, device: &str) {
    let rules = format!(
        "add table inet marks; add chain inet marks arriving {{ type filter hook prerouting priority \
         -300; }}; add rule inet marks arriving iifname {device} ip ecn 1-2 ip ecn set ce"
    );
    command(world, place, &["nft", &rules]);
}

/// A download of 3 MB, of which the client has read 2 MB: the connection as the proxy shows it.
fn halfway(world: &World, server: SocketAddr) -> Value {
    let mut client = world.connect(1, server, 0).expect("it connects");
    client.write_all(&request(5, 3_000_000)).expect("it is sent");
    let mut got = vec![0; 2_000_000];
    client.read_exact(&mut got).expect("a part");
    let flow = world.ask("flows")[0].clone();
    client.shutdown(Shutdown::Write).expect("it is open");
    client.read_to_end(&mut got).expect("all of it");
    assert_eq!(Sha256::digest(&got), Sha256::digest(data(5, 3_000_000)));
    until("it has ended", || world.status()["flows"] == 0);
    flow
}

#[test]
fn flows_tell_the_ecn_that_the_ends_of_each_leg_agreed_on() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let server = world.serve(0, sender);
    for (ue, proxy, agreed) in
        [(2, 2, [false, false]), (1, 2, [true, false]), (1, 1, [true, true]), (1, 0, [false; 2])]
    {
        set_ecn(&world, Place::Ue, ue);
        set_ecn(&world, Place::Middle, proxy);
        let flow = halfway(&world, server);
        assert_eq!(flow["ecn"], serde_json::json!(agreed), "UE {ue}, proxy {proxy}");
        assert_eq!(flow["marked"], serde_json::json!([0, 0]));
    }
}

#[test]
fn a_mark_on_a_leg_is_reported_to_its_sender_and_does_not_pass_to_the_other_leg() {
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    let server = world.serve(0, sender);
    set_ecn(&world, Place::Ue, 1);
    set_ecn(&world, Place::Middle, 1);
    mark(&world, Place::Middle, CORE);
    let flow = halfway(&world, server);
    assert_eq!(flow["ecn_seen"][1], true, "{flow}");
    assert_eq!(flow["marked"], serde_json::json!([0, 0]), "the UE gets no mark: {flow}");
    mark(&world, Place::Ue, RAN);
    let flow = halfway(&world, server);
    assert!(flow["marked"][0].as_u64().is_some_and(|marked| marked > 100), "{flow}");
    assert_eq!(flow["marked"][1], 0);
}
