//! Workers: several processes relay the connections of one proxy, whose control alone has all
//! windows.

use super::service::line_of;
use super::*;

const WORKERS: u64 = 3;

/// A proxy with workers and two full cells: reports name UEs 1 to 4 in `east`, 5 to 8 in `west`.
struct Site {
    world: World,
    reports: fs::File,
    at_us: u64,
    _folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let reports = folder.path().join("reports");
        fs::write(&reports, "").expect("a file");
        let world = World::new(&format!(
            "[limits]\nworkers = {WORKERS}\n[radio]\nkind = \"json_lines\"\npath = {reports:?}\n"
        ));
        let reports = fs::OpenOptions::new().append(true).open(&reports).expect("a file");
        Self { world, reports, at_us: 0, _folder: folder }
    }

    fn report(&mut self) {
        self.at_us += 1_000;
        for ue in 1..=8 {
            let cell = if ue <= 4 { "east" } else { "west" };
            let line = line_of(cell, &format!("10.45.0.{ue}"), self.at_us, 2_500);
            self.reports.write_all(line.as_bytes()).expect("it is written");
        }
    }
}

/// A server that sends without end.
fn endless(mut stream: TcpStream) {
    while stream.write_all(&[7; 65_536]).is_ok() {}
}

fn workers(world: &World) -> Vec<Value> {
    world.status()["workers"].as_array().expect("a list").clone()
}

/// The processes of the workers. `status` has each soon after its start.
fn processes(world: &World) -> Vec<u64> {
    let mut found = Vec::new();
    until("each process is known", || {
        let of = |worker: &Value| worker["process"].as_u64().filter(|process| *process > 0);
        found = workers(world).iter().filter_map(of).collect();
        found.len() as u64 == WORKERS
    });
    found
}

fn exists(process: u64) -> bool {
    // A zombie has no memory map.
    fs::read_to_string(format!("/proc/{process}/maps")).is_ok_and(|maps| !maps.is_empty())
}

/// The children of a process, and theirs.
fn family(process: u64) -> Vec<u64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let texts = threads.filter_map(|one| fs::read_to_string(one.path().join("children")).ok());
    let ids = |text: String| -> Vec<u64> {
        text.split_whitespace().map(|id| id.parse().expect("a number")).collect()
    };
    let own: Vec<u64> = texts.flat_map(ids).collect();
    own.iter().flat_map(|id| family(*id)).chain(own.iter().copied()).collect()
}

/// One endless download of each UE, read by threads of their own until the channel closes.
struct Readers {
    stops: Vec<std::sync::mpsc::Sender<()>>,
    threads: Vec<thread::JoinHandle<u64>>,
}

impl Readers {
    fn start(world: &World, each: u8) -> Self {
        let server = world.serve(0, endless);
        let (mut stops, mut threads) = (Vec::new(), Vec::new());
        for number in 0..8 * each {
            let mut client = world.connect(number % 8 + 1, server, 0).expect("it connects");
            let (stop, stopped) = channel::<()>();
            stops.push(stop);
            threads.push(thread::spawn(move || read_until(&mut client, &stopped)));
        }
        Self { stops, threads }
    }

    fn end(self) {
        drop(self.stops);
        for thread in self.threads {
            assert!(thread.join().expect("it ends") > 0, "it received data");
        }
    }
}

/// Each cell's windows add up to at most the cell and their floors, though they are of connections
/// in all workers; and each worker has applied the windows that the control has given.
#[test]
fn the_windows_of_a_cell_stay_within_it_across_workers() {
    if !can_build() {
        return;
    }
    let mut site = Site::new();
    let readers = Readers::start(&site.world, 3);
    until("all take part in the control", || {
        site.report();
        let flows = site.world.ask("flows");
        let flows = flows.as_array().expect("a list");
        flows.len() == 24 && flows.iter().all(|flow| flow["radio_window"].is_u64())
    });
    let spread = workers(&site.world);
    assert_eq!(spread.len() as u64, WORKERS);
    assert!(spread.iter().all(|worker| worker["flows"] == 8), "{spread:?}");
    for _ in 0..50 {
        site.report();
        let status = site.world.status();
        let cells = status["cells"].as_array().expect("a list");
        let of = |cell: &Value, key: &str| cell[key].as_f64().expect("a number");
        for cell in cells.iter().filter(|cell| cell["cell"] != "-") {
            assert_eq!((&cell["ues"], &cell["flows"]), (&4.into(), &12.into()), "{cell}");
            let most = (1.0 + of(cell, "floors")) * (1.0 + 1e-9);
            assert!(of(cell, "windows") <= most && of(cell, "held") <= 1.0, "{cell}");
            // 2.5 MB/s in four parts.
            assert!(of(cell, "capacity_bytes_per_s") <= 2.5e6 * (1.0 + 1e-6), "{cell}");
        }
    }
    let flows = site.world.ask("flows");
    let of_ues = flows.as_array().expect("a list").iter().filter(|flow| flow["ue"].is_string());
    assert_eq!(of_ues.count(), 24, "the control knows the UE of each: {flows}");
    let known = metrics(&site.world);
    for worker in 0..WORKERS {
        let of =
            |what: &str| known[&format!("justfull_proxy_worker_{what}{{worker=\"{worker}\"}}")];
        assert_eq!((of("up"), of("flows"), of("restarts_total")), (1.0, 8.0, 0.0));
        assert!(of("descriptors") < 100.0 && of("memory_bytes") > 0.0);
    }
    readers.end();
    until("all have ended", || site.world.status()["flows"] == 0);
}

/// A worker that is killed: its connections are reset, all others go on, and it is back.
#[test]
fn a_killed_worker_resets_its_own_connections_alone_and_is_back() {
    if !can_build() {
        return;
    }
    let world = World::new(&format!("[limits]\nworkers = {WORKERS}\n"));
    let server = world.serve(0, sender);
    let mut clients: Vec<TcpStream> = (0..9)
        .map(|number| world.connect(number % 8 + 1, server, 0).expect("it connects"))
        .collect();
    until("all have a worker", || workers(&world).iter().all(|worker| worker["flows"] == 3));
    let before = processes(&world);
    let victim = i32::try_from(before[1]).expect("a process");
    kill(Pid::from_raw(victim), Signal::SIGKILL).expect("it lives");
    let began = now();
    until("it is back", || {
        let now = workers(&world);
        now[1]["restarts"] == 1 && now[1]["runs"] == true && now[1]["process"] != before[1]
    });
    let took = now().duration_since(began);
    println!("back after {took:?}");
    let (mut reset, mut whole) = (0, 0);
    for (seed, client) in (0..).zip(&mut clients) {
        let mut got = Vec::new();
        let answered = client
            .write_all(&request(seed, 50_000))
            .and_then(|()| client.shutdown(Shutdown::Write))
            .and_then(|()| client.read_to_end(&mut got));
        match answered {
            Ok(_) => {
                assert_eq!(got, data(seed, 50_000));
                whole += 1;
            }
            Err(_) => reset += 1,
        }
    }
    assert_eq!((reset, whole), (3, 6));
    until("the old ones have ended", || workers(&world).iter().all(|worker| worker["flows"] == 0));
    // New connections have all workers again.
    let again: Vec<TcpStream> = (0..9)
        .map(|number| world.connect(number % 8 + 1, server, 0).expect("it connects"))
        .collect();
    until("all have a worker", || workers(&world).iter().all(|worker| worker["flows"] == 3));
    drop((clients, again));
    until("all have ended", || world.status()["flows"] == 0);
    let ended = world.status()["ended"].clone();
    assert_eq!((&ended["ended"], &ended["completed"]), (&3.into(), &15.into()), "{ended}");
    let log = fs::read_to_string(world.path("log")).expect("a log");
    assert!(log.contains("1 has ended, and 3 connections with it"), "{log}");
}

/// New processes take the place of the proxy and of its workers while data passes.
#[test]
fn takeovers_with_workers_lose_no_byte_and_end_each_old_process() {
    if !can_build() {
        return;
    }
    let mut world = World::new(&format!("[limits]\nworkers = {WORKERS}\n"));
    let servers = [world.serve(0, sender), world.serve(1, sender)];
    let mut clients: Vec<TcpStream> = (0..6)
        .map(|seed| {
            let server = servers[usize::from(seed % 2 == 1)];
            let mut client = world.connect(seed + 1, server, 0).expect("it connects");
            client.write_all(&request(u64::from(seed), 8_000_000)).expect("it is sent");
            client
        })
        .collect();
    let mut got: Vec<Vec<u8>> = vec![Vec::new(); clients.len()];
    for _ in 0..3 {
        for (client, got) in clients.iter_mut().zip(&mut got) {
            let mut part = vec![0; 1_500_000];
            client.read_exact(&mut part).expect("more of it");
            got.extend_from_slice(&part);
        }
        let old = processes(&world);
        world.take_over();
        until("the old workers end", || old.iter().all(|process| !exists(*process)));
        assert_eq!(world.status()["flows"], clients.len());
        assert!(processes(&world).iter().all(|process| !old.contains(process)));
        assert!(download(&world, servers[0], 8, 100_000), "new connections are served");
    }
    for (seed, (mut client, mut got)) in (0..).zip(clients.into_iter().zip(got)) {
        client.shutdown(Shutdown::Write).expect("it is open");
        client.read_to_end(&mut got).expect("all of it");
        assert_eq!(Sha256::digest(&got), Sha256::digest(data(seed, 8_000_000)), "{seed}");
    }
    until("all have ended", || world.status()["flows"] == 0);
    let status = world.status();
    assert_eq!(status["ended"]["completed"], 9, "{status}");
    let bytes = || metrics(&world)["justfull_proxy_bytes_total{way=\"down\"}"] as u64;
    // Workers send their sums once a tick.
    until("all bytes are counted", || bytes() >= 48_300_000);
    assert_eq!(bytes(), 48_300_000, "each byte is counted once across processes");
}

/// A new proxy that cannot take over leaves the old one and its workers with every connection.
#[test]
fn a_takeover_that_fails_leaves_the_workers_with_every_connection() {
    if !can_build() {
        return;
    }
    let world = World::new(&format!("[limits]\nworkers = {WORKERS}\n"));
    let server = world.serve(0, sender);
    let mut client = world.connect(1, server, 0).expect("it connects");
    client.write_all(&request(5, 4_000_000)).expect("it is sent");
    let mut got = vec![0; 1_000_000];
    client.read_exact(&mut got).expect("a part of it");
    let file = world.path("rapid.toml");
    let sound = fs::read_to_string(&file).expect("the configuration");
    for (from, to) in [
        ("workers = 3", "workers = 2"),
        ("workers = 3", "workers = 1"),
        // It fails when it has everything but its log.
        ("log = \"", "log = \"/none"),
    ] {
        let wrong = sound.replace(from, to);
        assert_ne!(wrong, sound);
        fs::write(&file, wrong).expect("a file");
        let mut new = launch(&world.chain, &world.folder, true, &[]);
        assert_ne!(new.wait().expect("a child").code(), Some(0), "{to}");
    }
    fs::write(&file, &sound).expect("a file");
    client.shutdown(Shutdown::Write).expect("it is open");
    client.read_to_end(&mut got).expect("all of it");
    assert_eq!(Sha256::digest(&got), Sha256::digest(data(5, 4_000_000)));
    let log = fs::read_to_string(world.path("log")).expect("a log");
    assert!(log.contains("takeover failed"), "{log}");
    assert!(download(&world, server, 8, 100_000), "new connections are served");
}

/// The end of the proxy is the end of its workers, whether it is killed or drains.
#[test]
fn workers_end_with_their_proxy_and_reset_what_is_open() {
    if !can_build() {
        return;
    }
    let mut world =
        World::new(&format!("[limits]\nworkers = {WORKERS}\n[timeouts]\ndrain = \"1s\"\n"));
    let server = world.serve(0, sender);
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let mut all = Vec::new();
        until("all workers run", || {
            all = family(u64::from(world.proxy.id()));
            all.len() as u64 > WORKERS
        });
        let mut open: Vec<TcpStream> =
            (1..7).map(|ue| world.connect(ue, server, 0).expect("it connects")).collect();
        until("all have a worker", || world.status()["flows"] == 6);
        world.signal(signal);
        let code = world.ended();
        assert_eq!(code, (signal == Signal::SIGTERM).then_some(0));
        until("all its processes end", || all.iter().all(|process| !exists(*process)));
        for client in &mut open {
            let end = client.read(&mut [0]).map_err(|e| e.kind());
            assert_eq!(end, Err(io::ErrorKind::ConnectionReset));
        }
        until("the tables are gone", || !world.is_in_the_way());
        world.proxy = spawn(&world.chain, &world.folder);
        assert!(download(&world, server, 8, 100_000), "the next proxy serves");
    }
    let log = fs::read_to_string(world.path("log")).expect("a log");
    assert_eq!(log.matches("\"outcome\":\"ended\"").count(), 6, "the drain: {log}");
}

/// Deadlines of the configuration hold in workers, and a reload changes them.
#[test]
fn a_reload_changes_the_deadlines_of_workers() {
    if !can_build() {
        return;
    }
    let world = World::new(&format!("[limits]\nworkers = {WORKERS}\n"));
    let server = world.serve(0, sender);
    let mut client = world.connect(1, server, 0).expect("it connects");
    until("it is open", || world.status()["flows"] == 1);
    let file = world.path("rapid.toml");
    let text = fs::read_to_string(&file).expect("the configuration");
    fs::write(&file, format!("{text}[timeouts]\nidle = \"1s\"\n")).expect("a file");
    world.signal(Signal::SIGHUP);
    let end = client.read(&mut [0]).map_err(|e| e.kind());
    assert_eq!(end, Err(io::ErrorKind::ConnectionReset));
    until("it is counted", || world.outcomes("idle") == 1);
    assert_eq!(world.status()["last_reload"], "done");
}
