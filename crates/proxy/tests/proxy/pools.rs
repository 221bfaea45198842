//! Two pools with the same addresses: `blue` at the row of hosts, `red` beside it, with a UE and a
//! server that have the same addresses.
//!
//! ```text
//!   ue 10.45.0.1 ------ ran            core ------ 10.46.0.1 server
//!                            middle
//!   ue 10.45.0.1 ------ red-ran    red-core ------ 10.46.0.1 server
//! ```

use super::faults::command;
use super::service::line_of;
use super::site::{Far, checked, nft, refusals};
use super::*;

const NAMES: [&str; 2] = ["blue", "red"];
/// Port of both UEs: their connections have the same addresses and ports.
const PORT: u16 = 40_000;

const GUIDE: &str = include_str!("../../../../docs/guide/rapid-in-service.md");

/// The guide's commands that give each pool its routes, for the interfaces of the middle.
fn routes() -> Vec<String> {
    let (_, section) = GUIDE.split_once("## Pools that overlap\n").expect("a section");
    let (section, _) = section.split_once("\n## ").expect("another section");
    section.lines().filter(|line| line.starts_with("ip ")).map(here).collect()
}

/// A text of the guide with the names of the middle's interfaces.
fn here(text: &str) -> String {
    let names = [("eth1", "ran"), ("eth2", "core"), ("eth3", "red-ran"), ("eth4", "red-core")];
    names.iter().fold(text.to_owned(), |text, (theirs, own)| text.replace(theirs, own))
}

/// The host with the addresses `own`, behind the middle's interface `name`.
fn beside(chain: &Chain, name: &str, own: [IpAddr; 2], number: u8) -> Far {
    let child = chain
        .inside(Place::Middle, || Command::new("unshare").args(["-n", "sleep", "600"]).spawn());
    let host = Far(child.expect("it starts"));
    let id = host.0.id().to_string();
    until("it has a namespace", || {
        fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe.ends_with("sleep"))
    });
    let [v4, v6] = own;
    let far = format!("nsenter -t {id} -n");
    for words in [
        format!("ip link add {name} type veth peer name far netns {id}"),
        format!("ip addr add 10.47.0.{number}/32 dev {name}"),
        format!("ip addr add fe80::{number}/64 dev {name} nodad"),
        format!("ip link set {name} up"),
        format!("{far} ip link set lo up"),
        format!("{far} ip addr add {v4}/32 dev far"),
        format!("{far} ip addr add {v6}/128 dev far nodad"),
        format!("{far} ip addr add fe80::9/64 dev far nodad"),
        format!("{far} ip link set far up"),
        format!("{far} ip route add default via 10.47.0.{number} dev far onlink src {v4}"),
        format!("{far} ip route add default via fe80::{number} dev far src {v6}"),
    ] {
        run(chain, &words);
    }
    host
}

/// Runs a command in the middle.
fn run(chain: &Chain, text: &str) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let output = chain.inside(Place::Middle, || Command::new(words[0]).args(&words[1..]).output());
    let output = output.expect("it starts");
    assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A proxy with two pools.
pub(super) struct Pools {
    pub(super) world: World,
    /// The UE and the server of `red`.
    red: [Far; 2],
}

impl Pools {
    pub(super) fn new(settings: &str) -> Self {
        let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
        let sides = [("red-ran", Chain::ue(1), 3), ("red-core", Chain::server(), 4)];
        let red = sides.map(|(name, own, number)| beside(&chain, name, own, number));
        assert_eq!(routes().len(), 24);
        routes().iter().for_each(|line| run(&chain, line));
        // The tables of the pools alone lead to them.
        for words in ["10.45.0.0/16", "10.46.0.0/16", "fd45::/16", "fd46::/16"] {
            run(&chain, &format!("ip route del {words}"));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("reports"), "").expect("a file");
        let text = format!(
            "[[pools]]\nname = \"blue\"\ninterface = \"ran\"\nservers = \"core\"\n\
             [[pools]]\nname = \"red\"\ninterface = \"red-ran\"\nservers = \"red-core\"\n\
             [radio]\nkind = \"json_lines\"\npath = {:?}\n{settings}\n[operation]\n\
             socket = {:?}\nlog = {:?}\nmetrics = \"{METRICS}\"\n",
            path("reports"),
            path("socket"),
            path("log")
        );
        fs::write(path("rapid.toml"), text).expect("a file");
        let proxy = spawn(&chain, &folder);
        Self { world: World { proxy, folder, chain }, red }
    }

    /// A server in each pool, at the same address and port.
    fn serve(
        &self,
        family: usize,
        work: impl Fn(TcpStream) + Clone + Send + 'static,
    ) -> SocketAddr {
        let at = self.world.serve(family, work.clone());
        let listener = self.red[1].inside(|| TcpListener::bind(at)).expect("it listens");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let work = work.clone();
                thread::spawn(move || work(limited(stream)));
            }
        });
        at
    }

    /// A connection of the UE of a pool, from `port` if it is not 0.
    fn connect(&self, pool: usize, to: SocketAddr, port: u16) -> io::Result<TcpStream> {
        let own = Chain::ue(1)[usize::from(to.is_ipv6())];
        match pool {
            0 => self.world.connect(1, to, port),
            _ => self.red[0].inside(|| {
                let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
                socket.set_reuse_address(true)?;
                socket.bind(&SocketAddr::from((own, port)).into())?;
                socket.connect_timeout(&to.into(), LIMIT)?;
                Ok(limited(socket.into()))
            }),
        }
    }

    /// The open connection of a pool.
    fn flow(&self, pool: usize) -> Value {
        let flows = self.world.ask("flows");
        let mut all = flows.as_array().expect("a list").iter();
        all.find(|flow| flow["pool"] == NAMES[pool]).cloned().unwrap_or(Value::Null)
    }
}

/// Reads the rest of a download, and checks it.
fn read_whole(mut stream: TcpStream, seed: u64, length: usize) {
    let mut got = Vec::new();
    stream.read_to_end(&mut got).expect("all of it");
    assert_eq!(Sha256::digest(&got), Sha256::digest(data(seed, length)), "{seed}");
}

/// Downloads in both pools at once from the same addresses and ports, in both families. `amid` runs
/// when all have begun.
fn transfers_at_once(pools: &mut Pools, length: usize, amid: impl FnOnce(&mut Pools)) {
    let servers = [0, 1].map(|family| pools.serve(family, sender));
    let begin = |(family, pool): (usize, usize)| {
        let mut client = pools.connect(pool, servers[family], PORT).expect("it connects");
        let seed = (2 * family + pool) as u64;
        client.write_all(&request(seed, length)).expect("it is sent");
        (client, seed)
    };
    let all = [(0, 0), (0, 1), (1, 0), (1, 1)].map(begin);
    until("all four are split", || pools.world.status()["flows"] == 4);
    let flows = pools.world.ask("flows");
    let ends = |flow: &Value| format!("{} {}", flow["client"], flow["server"]);
    let shown: BTreeSet<String> = flows
        .as_array()
        .expect("a list")
        .iter()
        .map(|flow| ends(flow) + &flow["pool"].to_string())
        .collect();
    assert_eq!(shown.len(), 4, "{flows}");
    let ends: BTreeSet<String> = flows.as_array().expect("a list").iter().map(ends).collect();
    assert_eq!(ends.len(), 2, "one of each family in two pools: {flows}");
    amid(pools);
    let readers = all.map(|(client, seed)| thread::spawn(move || read_whole(client, seed, length)));
    readers.into_iter().for_each(|reader| reader.join().expect("it is whole"));
    until("all have ended", || pools.world.status()["flows"] == 0);
    assert_eq!(pools.world.outcomes("completed"), 4, "{}", pools.world.status());
}

#[test]
fn ues_with_one_address_and_port_in_two_pools_transfer_at_once() {
    if !can_build() {
        return;
    }
    for settings in ["", "[select]\nwait_for_server = \"none\"\n[limits]\nworkers = 2\n"] {
        let mut pools = Pools::new(settings);
        assert_eq!(refusals(&pools.world), "", "{settings}");
        let shown = checked(&pools.world);
        for family in ["IPv4 connection", "IPv6 connection"] {
            let made = shown.iter().find(|one| one.name == family).expect("it is tried");
            assert!(made.required && made.found.is_ok(), "{settings}: {:?}", made.found);
        }
        transfers_at_once(&mut pools, 1_000_000, |_| {});
        let status = pools.world.status();
        assert_eq!((&status["accepted"], &status["over_limit"]), (&4.into(), &0.into()));
        assert_eq!(status["accepted_of"], serde_json::json!([2, 2]), "{settings}");
        until("the log has all", || {
            let log = fs::read_to_string(pools.world.path("log")).unwrap_or_default();
            NAMES.iter().all(|name| log.matches(&format!("\"pool\":\"{name}\"")).count() == 2)
        });
    }
}

/// The guide's rules that give each pool a zone of connection tracking.
fn zones() -> String {
    let section = GUIDE.split_once("## Pools that overlap\n").expect("a section").1;
    let (_, rules) = section.split_once("table inet zones {").expect("the rules");
    let (rules, _) = rules.split_once("```").expect("their end");
    here(&format!("table inet zones {{{rules}"))
}

#[test]
fn on_a_host_that_tracks_connections_pools_have_zones_of_their_own() {
    if !can_build() {
        return;
    }
    let mut pools = Pools::new("");
    nft(&pools.world, &zones());
    // A packet of another connection with the same ends is invalid.
    for hook in ["input", "output", "forward"] {
        let rule = "ct state invalid drop";
        let chain = format!("type filter hook {hook} priority 0;\n{rule}\n");
        nft(&pools.world, &format!("table inet host {{ chain {hook} {{\n{chain}}}\n}}\n"));
    }
    transfers_at_once(&mut pools, 1_000_000, |_| {});
    assert_eq!(refusals(&pools.world), "");
}

#[test]
fn a_takeover_keeps_the_connections_of_each_pool() {
    if !can_build() {
        return;
    }
    for settings in ["", "[limits]\nworkers = 2\n"] {
        let mut pools = Pools::new(settings);
        transfers_at_once(&mut pools, 8_000_000, |pools| {
            pools.world.take_over();
            for pool in [0, 1] {
                assert_eq!(pools.flow(pool)["pool"], NAMES[pool], "{settings}");
            }
        });
        // New connections are still split, each in its pool.
        let to = pools.serve(0, sender);
        let clients = [0, 1].map(|pool| pools.connect(pool, to, 0).expect("it connects"));
        for pool in [0, 1] {
            until("it is split", || pools.flow(pool)["connected"] == true);
        }
        drop(clients);
    }
    // Other pools need a restart.
    let mut pools = Pools::new("");
    let file = pools.world.path("rapid.toml");
    let text = fs::read_to_string(&file).expect("the configuration");
    fs::write(&file, text.replace("\"red\"", "\"green\"")).expect("a file");
    let mut next = launch(&pools.world.chain, &pools.world.folder, true, &[]);
    assert!(!next.wait().expect("a child").success());
    assert!(pools.world.proxy.try_wait().expect("a child").is_none(), "the old one goes on");
}

#[test]
fn a_report_of_one_pool_changes_the_windows_of_its_ue_alone() {
    if !can_build() {
        return;
    }
    let pools = Pools::new("[control]\nkind = \"equal_share\"\n");
    let endless = |mut stream: TcpStream| while stream.write_all(&[7; 65_536]).is_ok() {};
    let at = pools.serve(0, endless);
    let clients = [0, 1].map(|pool| pools.connect(pool, at, PORT).expect("it connects"));
    let (stops, readers): (Vec<_>, Vec<_>) = clients
        .into_iter()
        .map(|mut client| {
            let (stop, stopped) = channel::<()>();
            (stop, thread::spawn(move || read_until(&mut client, &stopped)))
        })
        .unzip();
    let path = pools.world.path("reports");
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("a file");
    let mut at_us = 0;
    let mut report = |bytes: [u64; 2]| {
        at_us += 1_000;
        for (pool, bytes) in NAMES.into_iter().zip(bytes) {
            let line = line_of(pool, "10.45.0.1", at_us, bytes);
            let line = line.replacen('{', &format!("{{\"pool\": \"{pool}\", "), 1);
            file.write_all(line.as_bytes()).expect("it is written");
        }
    };
    let window = |pool: usize| pools.flow(pool)["server_window"].as_u64().unwrap_or(0);
    until("both are connected", || [0, 1].iter().all(|p| pools.flow(*p)["connected"] == true));
    let floor = 2 * pools.flow(0)["mss"][0].as_u64().expect("a number");
    until("both windows are large", || {
        report([250_000; 2]);
        [0, 1].iter().all(|pool| window(*pool) > 4 * floor)
    });
    until("the window of red falls to the floor", || {
        report([250_000, 10]);
        window(1) == floor
    });
    assert!(window(0) > 4 * floor, "blue has its own: {}", pools.flow(0));
    until("they change places", || {
        report([10, 250_000]);
        window(0) == floor && window(1) > 4 * floor
    });
    let status = pools.world.status();
    let names: Vec<&Value> =
        status["pools"].as_array().expect("a list").iter().map(|p| &p["pool"]).collect();
    assert_eq!(names, ["blue", "red"]);
    assert_eq!(status["ues"][1]["ue"], "red/10.45.0.1/32", "{status}");
    assert_eq!(pools.flow(1)["ue"], "red/10.45.0.1/32");
    let found = metrics(&pools.world);
    assert_eq!(found["justfull_proxy_pool_flows{pool=\"red\"}"] as u64, 1);
    // Without the pool's name an address of two pools is nobody's.
    file.write_all(line_of("blue", "10.45.0.1", u64::MAX / 2_000, 10).as_bytes()).expect("written");
    until("it is counted", || pools.world.status()["radio"]["unknown_pool"] == 1);
    drop(stops);
    let read: Vec<u64> =
        readers.into_iter().map(|reader| reader.join().expect("it ends")).collect();
    assert!(read.iter().all(|bytes| *bytes > 0), "{read:?}");
}

#[test]
fn a_killed_proxy_of_two_pools_leaves_nothing_and_connections_pass_by_the_operators_routes() {
    if !can_build() {
        return;
    }
    let mut pools = Pools::new("[select]\nwait_for_server = \"all\"\n");
    // A server that refuses: the segment passes unsplit, and its pool's server answers.
    for family in [0, 1] {
        for pool in [0, 1] {
            let closed = (Chain::server()[family], CLOSED).into();
            let refused = pools.connect(pool, closed, 0).map_err(|e| e.kind());
            assert_eq!(refused.err(), Some(io::ErrorKind::ConnectionRefused), "{family} {pool}");
        }
    }
    assert_eq!(pools.world.outcomes("refused"), 4);
    let to = pools.serve(0, sender);
    let clients = [0, 1].map(|pool| pools.connect(pool, to, PORT).expect("it connects"));
    until("both are split", || pools.world.status()["flows"] == 2);
    pools.world.signal(Signal::SIGKILL);
    pools.world.proxy.wait().expect("a child");
    for mut client in clients {
        let end = client.read(&mut [0]).map_err(|e| e.kind());
        assert_eq!(end, Err(io::ErrorKind::ConnectionReset));
    }
    until("nothing is left", || policy_routes(&pools.world) == [0, 0]);
    let tables = command(&pools.world, Place::Middle, &["nft", "list", "tables"]);
    assert!(!tables.contains("justfull"), "{tables}");
    for (pool, seed) in [(0, 1), (1, 2)] {
        let mut client = pools.connect(pool, to, 0).expect("it connects");
        client.write_all(&request(seed, 100_000)).expect("it is sent");
        read_whole(client, seed, 100_000);
    }
}

#[test]
fn an_interface_of_a_pool_that_is_made_again_is_served_within_the_units_rights() {
    if !can_build() || !faults::installed("setpriv") {
        return;
    }
    let mut pools = Pools::new("");
    pools.world.signal(Signal::SIGTERM);
    assert_eq!(pools.world.ended(), Some(0));
    let line = UNIT.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let kept = line.expect("its capabilities").replace("CAP_", "+").replace(' ', ",");
    let by = ["setpriv".into(), format!("--bounding-set=-all,{}", kept.to_lowercase())];
    pools.world.proxy = launch(&pools.world.chain, &pools.world.folder, false, &by);
    until_ready(&mut pools.world.proxy, &pools.world.folder);
    let to = pools.serve(0, sender);
    let whole = |pools: &Pools, pool: usize, seed: u64| {
        let mut client = pools.connect(pool, to, 0).expect("it connects");
        client.write_all(&request(seed, 100_000)).expect("it is sent");
        until("it is split", || pools.flow(pool)["connected"] == true);
        read_whole(client, seed, 100_000);
    };
    whole(&pools, 1, 1);
    let chain = &pools.world.chain;
    run(chain, "ip link del red-ran");
    pools.red[0] = beside(chain, "red-ran", Chain::ue(1), 3);
    let routes = routes();
    let lost = routes.iter().filter(|line| line.contains("route") && line.contains("red-ran"));
    lost.for_each(|line| run(chain, line));
    whole(&pools, 1, 2);
    whole(&pools, 0, 3);
    assert_eq!(pools.world.status()["accepted"], 3);
}
