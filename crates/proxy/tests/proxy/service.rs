//! The proxy as a site's service: its manager, upgrades, its log, cells, and the directory of UEs.

use super::*;
use std::os::unix::net::UnixDatagram;

/// Systemd's side of the notify protocol (sd_notify(3)): it tracks the main process and its state.
struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
    main: u32,
    states: Vec<String>,
}

impl Manager {
    fn new(folder: &tempfile::TempDir) -> Self {
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("it listens");
        socket.set_read_timeout(Some(LIMIT)).expect("it is open");
        Self { socket, path, main: 0, states: Vec::new() }
    }

    /// The command prefix that starts a process under this manager.
    fn by(&self) -> [String; 2] {
        ["env".into(), format!("NOTIFY_SOCKET={}", self.path.display())]
    }

    /// Reads one datagram.
    fn next(&mut self) {
        let mut buffer = [0; 4_096];
        let length = self.socket.recv(&mut buffer).expect("a datagram");
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        for line in text.lines() {
            match line.split_once('=').expect("a name and a value") {
                ("MAINPID", id) => self.main = id.parse().expect("a number"),
                ("MONOTONIC_USEC", time) => assert!(time.parse::<u64>().is_ok(), "{text}"),
                ("STATUS", _) => {}
                (state, "1") => self.states.push(state.to_owned()),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Reads until `process` is the main one and ready.
    fn until_ready(&mut self, process: u32) {
        while self.main != process || self.states.last().is_none_or(|last| last != "READY") {
            self.next();
        }
    }
}

/// 60 MB pass while ten processes replace each other. The manager sees each step that systemd waits
/// for in a reload, and a main process at every moment.
#[test]
fn ten_upgrades_in_a_transfer_lose_no_byte_and_the_manager_knows_each_process() {
    if !can_build() {
        return;
    }
    let mut world = World::new("");
    world.signal(Signal::SIGTERM);
    assert_eq!(world.ended(), Some(0));
    let mut manager = Manager::new(&world.folder);
    world.proxy = launch(&world.chain, &world.folder, false, &manager.by());
    until_ready(&mut world.proxy, &world.folder);
    manager.until_ready(world.proxy.id());
    let server = world.serve(0, sender);
    let mut client = world.connect(1, server, 0).expect("it connects");
    client.write_all(&request(21, 60_000_000)).expect("it is sent");
    let mut got = Vec::new();
    let mut part = vec![0; 5_000_000];
    for upgrade in 1..=10 {
        client.read_exact(&mut part).expect("more of it");
        got.extend_from_slice(&part);
        manager.states.clear();
        let next = launch(&world.chain, &world.folder, true, &manager.by());
        let mut old = std::mem::replace(&mut world.proxy, next);
        manager.until_ready(world.proxy.id());
        assert_eq!(manager.states, ["RELOADING", "READY"], "upgrade {upgrade}");
        until("the old proxy ends", || old.try_wait().expect("a child").is_some());
        assert_eq!(old.wait().expect("a child").code(), Some(0));
        assert!(download(&world, server, 8, 100_000), "new connections are served");
        assert_eq!(world.status()["process"], world.proxy.id());
    }
    client.shutdown(Shutdown::Write).expect("it is open");
    client.read_to_end(&mut got).expect("all of it");
    assert_eq!(Sha256::digest(&got), Sha256::digest(data(21, 60_000_000)));
    let ended = world.status()["ended"].clone();
    for outcome in ended.as_object().expect("an object").keys() {
        assert!(outcome == "completed" || ended[outcome] == 0, "{ended}");
    }
    // A refused reload: the process continues, and the manager gets the reason.
    fs::write(world.path("rapid.toml"), "[route]\nmark = 7\n[select]\ninterfaces = [\"ran\"]\n")
        .expect("a file");
    manager.states.clear();
    world.signal(Signal::SIGHUP);
    manager.until_ready(world.proxy.id());
    assert_eq!(manager.states, ["RELOADING", "READY"]);
    world.signal(Signal::SIGTERM);
    manager.next();
    assert_eq!(manager.states.last().map(String::as_str), Some("STOPPING"));
}

#[test]
fn a_log_that_was_moved_away_is_opened_again_on_sighup() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let server = world.serve(0, sender);
    let lines = |name: &str| {
        let text = fs::read_to_string(world.path(name)).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"connection\"")).count()
    };
    assert!(download(&world, server, 8, 10_000));
    until("its line is written", || lines("log") == 1);
    fs::rename(world.path("log"), world.path("log.1")).expect("it moves");
    world.signal(Signal::SIGHUP);
    until("it has reloaded", || world.status()["reloads"] == 1);
    assert!(download(&world, server, 7, 10_000));
    until("its line is in the new file", || lines("log") == 1);
    assert_eq!(lines("log.1"), 1);
}

/// The status and body of a request to the directory; 0 and the error if it is not served, as for
/// a moment while a new process takes over.
fn request_directory(world: &World, head: &str, token: &str, body: &str) -> (u16, String) {
    let text = world.chain.inside(Place::Middle, || {
        let mut stream = limited(TcpStream::connect("127.0.0.1:9104")?);
        let length = body.len();
        let text = format!(
            "{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    });
    let text = match text {
        Ok(text) => text,
        Err(error) => return (0, error.to_string()),
    };
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, body.to_owned())
}

/// A report of a cell that could carry `bytes` in a slot of 1 ms.
pub(super) fn line_of(cell: &str, ue: &str, at_us: u64, bytes: u64) -> String {
    format!(
        "{{\"ue\": \"{ue}\", \"cell_id\": \"{cell}\", \"at_us\": {at_us}, \"cell\": \"bytes\", \
         \"slot_us\": 1000, \"slots\": 1, \"offered\": {bytes}, \"used\": 0}}\n"
    )
}

/// A site of two cells with a directory, and reports about UEs 5 and 6.
struct Site {
    world: World,
    reports: fs::File,
    sessions: PathBuf,
    at_us: u64,
    _folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [reports, tokens, sessions] =
            ["reports", "tokens", "ues"].map(|name| folder.path().join(name));
        fs::write(&reports, "").expect("a file");
        fs::write(&tokens, "smf\nviewer read\n").expect("a file");
        fs::write(&sessions, "# by hand\nfixed 10.45.0.7\n").expect("a file");
        let world = World::new(&format!(
            "[control]\nkind = \"equal_share\"\n[radio]\nkind = \"json_lines\"\npath = \
             {reports:?}\n[cells]\nnames = [\"east\", \"west\"]\n[directory]\n\
             listen = \"127.0.0.1:9104\"\ntoken_file = {tokens:?}\nfile = {sessions:?}\n"
        ));
        let reports = fs::OpenOptions::new().append(true).open(&reports).expect("a file");
        Self { world, reports, sessions, at_us: 0, _folder: folder }
    }

    fn put(&self, id: &str, token: &str, body: &str) -> (u16, String) {
        request_directory(&self.world, &format!("PUT /sessions/{id}"), token, body)
    }

    fn directory(&self) -> Value {
        self.world.status()["directory"].clone()
    }

    /// Reports name the cells of the two UEs, and a cell that is not configured.
    fn tell(&mut self, cells: [&str; 2]) {
        self.at_us += 1_000;
        let [first, second] = cells;
        let lines = line_of(first, "10.45.0.5", self.at_us, 2_500)
            + &line_of(second, "10.45.0.6", self.at_us, 2_500)
            + &line_of("north", "10.45.0.6", self.at_us, 2_500);
        self.reports.write_all(lines.as_bytes()).expect("it is written");
    }

    fn ue(&self, name: &str) -> Option<Value> {
        let ues = self.world.status()["ues"].as_array().expect("a list").clone();
        ues.into_iter().find(|ue| ue["ue"] == name)
    }

    /// Capacities of the two UEs. A share of a cell is a whole number of parts of 2^32.
    fn capacities(&self) -> [Option<f64>; 2] {
        ["10.45.0.5/32", "10.45.0.6/32"]
            .map(|name| self.ue(name)?["capacity_bytes_per_s"].as_f64().map(f64::round))
    }

    fn each_cell_stays_within_itself(&self) {
        let known = metrics(&self.world);
        for cell in ["east", "west"] {
            let of = |what: &str| known[&format!("justfull_proxy_cell_{what}{{cell=\"{cell}\"}}")];
            assert_eq!((of("ues"), of("flows")), (1.0, 1.0));
            assert!(of("windows") <= (1.0 + of("floors")) * (1.0 + 1e-9) && of("held") <= 1.0);
            assert!(of("report_age_seconds") < 60.0);
        }
    }

    /// The directory refuses wrong requests and states the reason.
    fn hostile_sessions(&self, body: &str) {
        assert_eq!(self.put("b", "viewer", body).0, 403);
        assert_eq!(self.put("b", "nobody", body).0, 401);
        let (status, why) = self.put("b", "smf", body);
        assert!(status == 409 && why.contains("the session a has the address 10.45.0.5"), "{why}");
        assert_eq!(self.put("fixed", "smf", r#"{"ue": ["10.45.0.8"]}"#).0, 409);
        let (status, why) = self.put("b", "smf", r#"{"ue": ["10.45.0.9"], "ambr": "0 bps"}"#);
        assert!(status == 400 && why.contains("`0 bps`, allowed is 1 Kbps to 1 Tbps"), "{why}");
        let long = format!(r#"{{"ue": ["{}"]}}"#, "1".repeat(10_000));
        assert_eq!(self.put("b", "smf", &long).0, 413);
        assert_eq!(request_directory(&self.world, "DELETE /sessions/none", "smf", "").0, 404);
        let found = self.directory();
        let counts = [&found["sessions"], &found["refused"], &found["unauthorized"]];
        assert_eq!(counts, [2, 3, 2], "{found}");
    }

    /// A file that changes, and a wrong file.
    fn changes_of_the_file(&self) {
        let more = "fixed 10.45.0.7\nmore 10.45.0.8 cell=west ambr=5Mbps\n";
        fs::write(&self.sessions, more).expect("a file");
        until("the file is read again", || self.directory()["sessions"] == 2);
        fs::write(&self.sessions, "fixed ten\n").expect("a file");
        until("a wrong file changes nothing and is told", || {
            let found = self.directory();
            let told = found["last_refused"].as_str().is_some_and(|why| why.contains("line 1"));
            told && found["sessions"] == 2
        });
    }
}

#[test]
fn a_site_has_its_cells_its_ues_and_a_directory_across_a_takeover() {
    if !can_build() {
        return;
    }
    let mut site = Site::new();
    let both = r#"{"ue": ["10.45.0.5", "fd45:0:0:5::/64"], "ambr": "8 Mbps"}"#;
    assert_eq!(site.put("a", "smf", both).0, 201);
    assert_eq!(site.put("a", "smf", both).0, 200);
    site.hostile_sessions(both);
    let server = site.world.serve(0, |mut stream| while stream.write_all(&[7; 65_536]).is_ok() {});
    let readers = [5, 6].map(|ue| {
        let mut client = site.world.connect(ue, server, 0).expect("it connects");
        let (stop, stopped) = channel::<()>();
        (stop, thread::spawn(move || read_until(&mut client, &stopped)))
    });
    // Each has all of its own cell, and an AMBR holds.
    until("each has its own cell", || {
        site.tell(["east", "west"]);
        site.capacities() == [Some(1e6), Some(2.5e6)]
    });
    assert!(site.world.status()["radio"]["unknown_cell"].as_u64() > Some(0));
    site.each_cell_stays_within_itself();
    // The next process has the sessions, the UEs, and their cells.
    site.world.take_over();
    let known = site.ue("10.45.0.5/32").expect("it is known");
    assert_eq!(known["addresses"].as_array().map(Vec::len), Some(2), "{known}");
    assert_eq!(known["cell"], "east");
    until("the directory is served again", || {
        site.directory()["sessions"] == 2
            && request_directory(&site.world, "GET /sessions/a", "viewer", "").0 == 200
    });
    until("the other UE moves to the cell of the first, which has its limit", || {
        site.tell(["east", "east"]);
        let [first, second] = site.capacities();
        first == Some(1e6) && second.is_some_and(|rate| rate <= 1.5e6 && rate > 1e6)
    });
    assert_eq!(request_directory(&site.world, "DELETE /sessions/a", "smf", "").0, 204);
    site.changes_of_the_file();
    for (stop, reader) in readers {
        drop(stop);
        assert!(reader.join().expect("it ends") > 0);
    }
}

const ALERTS: &str = include_str!("../../operation/alerts.yml");

#[test]
fn the_alert_rules_ask_for_metrics_that_exist_and_promtool_finds_each_fault_and_no_other() {
    let operation = concat!(env!("CARGO_MANIFEST_DIR"), "/operation");
    for words in [&["check", "rules", "alerts.yml"][..], &["test", "rules", "alerts-test.yml"]] {
        match Command::new("promtool").args(words).current_dir(operation).output() {
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stderr);
                assert!(done.status.success(), "{words:?}: {said}");
            }
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "promtool is missing: {error}");
            }
        }
    }
    if !can_build() {
        return;
    }
    let known = metrics(&World::new("[limits]\nworkers = 2\n"));
    let names: BTreeSet<&str> =
        known.keys().filter_map(|series| series.split('{').next()).collect();
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let rules = ALERTS.lines().filter(|line| !line.trim_start().starts_with('#'));
    let asked: Vec<&str> = rules
        .flat_map(|line| line.split(word))
        .filter(|word| word.starts_with("justfull_"))
        .collect();
    assert!(asked.len() > 10 && asked.iter().all(|name| names.contains(name)), "{asked:?}");
}

#[test]
fn a_connection_has_no_windows_until_its_server_has_sent_more_than_four_segments() {
    if !can_build() {
        return;
    }
    let world = World::new("");
    let server = world.serve(0, |mut stream| {
        let mut count = [0];
        while stream.read_exact(&mut count).is_ok() {
            stream.write_all(&vec![7; 1_000 * usize::from(count[0])]).expect("it is sent");
        }
    });
    let mut client = world.connect(5, server, 0).expect("it connects");
    let mut ask = |thousands: u8| {
        client.write_all(&[thousands]).expect("it is sent");
        client.read_exact(&mut vec![0; 1_000 * usize::from(thousands)]).expect("an answer");
        world.ask("flows")[0].clone()
    };
    let little = ask(5);
    assert_eq!([&little["category"], &little["server_window"]], [&Value::Null; 2], "{little}");
    assert!(little["mss"][0].as_u64() > Some(1_000) && world.status()["ues_known"] == 0);
    let more = ask(1);
    assert_eq!(more["ue"], "10.45.0.5/32", "{more}");
    assert!(more["server_window"].as_u64() > Some(0), "{more}");
}
