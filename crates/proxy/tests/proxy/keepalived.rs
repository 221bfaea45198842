//! Two hosts with keepalived, which moves their addresses by VRRP (RFC 5798), with the file that an
//! operator gets.

use super::faults::installed;
use super::standby::{Both, Pair, connected, ip, listening};
use super::*;

const CONFIGURATION: &str = include_str!("../../operation/keepalived.conf");
/// The check of the file, and the environment variable with the socket of the check of a test.
const CHECK: &str = "/usr/local/bin/justfull proxy status";
const SOCKET: &str = "JUSTFULL_TEST_STATUS";

/// Not a test: the check of a host, when keepalived starts this program.
#[test]
fn as_status() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    ask(&PathBuf::from(socket), "status").expect("an answer");
}

/// keepalived on a host. It leaves its addresses at its end.
struct Keepalived(Child);

impl Keepalived {
    fn start(world: &World) -> Self {
        let own = std::env::current_exe().expect("a program");
        let socket = world.path("socket");
        let check = format!(
            "/usr/bin/env {SOCKET}={} {} keepalived::as_status --exact",
            socket.display(),
            own.display()
        );
        assert!(CONFIGURATION.contains(CHECK));
        let file = world.path("keepalived.conf");
        fs::write(&file, CONFIGURATION.replace(CHECK, &check)).expect("a file");
        let log = fs::File::create(world.path("keepalived.log")).expect("a file");
        let child = world.chain.inside(Place::Middle, || {
            Command::new("keepalived")
                .args(["--dont-fork", "--log-console", "--vrrp", "--use-file"])
                .arg(&file)
                .arg("--pid")
                .arg(world.path("keepalived.pid"))
                .arg("--vrrp_pid")
                .arg(world.path("vrrp.pid"))
                .stdout(log.try_clone()?)
                .stderr(log)
                .spawn()
        });
        Self(child.expect("it starts"))
    }

    fn ends(mut self) {
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM).expect("it lives");
        assert!(self.0.wait().expect("a child").success());
    }
}

impl Drop for Keepalived {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM);
        let _status = self.0.wait();
    }
}

/// True if a host has both addresses of both sides.
fn has_addresses(world: &World) -> bool {
    let listed = world
        .chain
        .inside(Place::Middle, || Command::new("ip").args(["-brief", "address", "show"]).output());
    let listed = String::from_utf8(listed.expect("it starts").stdout).expect("text");
    let addresses = ["10.47.0.254", "fd47::254", "10.48.0.254", "fd48::254"];
    addresses.iter().all(|address| listed.contains(address))
}

fn log(world: &World) -> String {
    fs::read_to_string(world.path("keepalived.log")).unwrap_or_default()
}

/// Both hosts with keepalived; the first one started has the addresses.
fn kept() -> (Pair, [Keepalived; 2]) {
    let pair = Pair::without_addresses();
    for (side, net) in [("ran", 47), ("core", 48)] {
        ip(&pair.standby.chain, Place::Middle, &format!("addr add 10.{net}.0.8/32 dev {side}"));
    }
    let active = Keepalived::start(&pair.active);
    until("the first host takes the addresses", || has_addresses(&pair.active));
    let standby = Keepalived::start(&pair.standby);
    until("the second host stands by", || log(&pair.standby).contains("BACKUP STATE"));
    assert!(!has_addresses(&pair.standby), "{}", log(&pair.standby));
    (pair, [active, standby])
}

/// When the connections of a host that failed end.
enum End {
    /// The kernel of the host resets them.
    AtOnce,
    /// The second host resets them when an end sends.
    AtNextSegment,
}

/// After `failure` of the first host the second has the addresses, connections of the first end at
/// both ends, and new ones are split.
fn assert_fails_over(failure: impl FnOnce(&mut Pair) -> End) {
    if !can_build() || !installed("keepalived") {
        return;
    }
    let (mut pair, [active, standby]) = kept();
    let servers = [0, 1].map(|family| listening(&pair, family));
    let open = |pair: &Pair, number| {
        servers.iter().map(|(at, accepted)| connected(pair, number, *at, accepted)).collect()
    };
    let lost: Vec<Both> = open(&pair, 1);
    assert_eq!(pair.active.status()["accepted"], 2);
    let end = failure(&mut pair);
    until("the second host takes the addresses", || has_addresses(&pair.standby));
    until("the first host gives them up", || !has_addresses(&pair.active));
    for Both { client, server } in &lost {
        if matches!(end, End::AtNextSegment) {
            standby::speak(client);
        }
        assert!(Both::is_reset(client) && Both::is_reset(server), "{}", log(&pair.standby));
    }
    let _new: Vec<Both> = open(&pair, 2);
    assert_eq!(pair.standby.status()["accepted"], 2, "new ones are split");
    // Nothing of keepalived is left.
    [active, standby].into_iter().for_each(Keepalived::ends);
    assert!(![&pair.active, &pair.standby].into_iter().any(has_addresses));
}

#[test]
fn keepalived_moves_the_addresses_when_the_links_of_a_host_fail() {
    assert_fails_over(|pair| {
        ip(&pair.active.chain, Place::Middle, "link set ran down\nlink set core down");
        End::AtNextSegment
    });
}

#[test]
fn keepalived_moves_the_addresses_when_the_proxy_of_a_host_is_killed() {
    assert_fails_over(|pair| {
        pair.active.signal(Signal::SIGKILL);
        pair.active.proxy.wait().expect("a child");
        End::AtOnce
    });
}
