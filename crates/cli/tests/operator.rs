//! The operator's guide: runs its commands unchanged on a host between UEs and a server. The host
//! shares this machine's files; its changes go to an overlay. `make soak` also runs it on a
//! separate Debian with only essential packages.

#![cfg(all(feature = "f1u", feature = "live", feature = "proxy", target_os = "linux"))]

#[expect(dead_code, reason = "the tests of live runs use the rest")]
mod room;
#[path = "../../proxy/tests/n3/tunnels.rs"]
#[expect(dead_code, reason = "the tests of the proxy use the rest")]
mod tunnels;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use justfull_net::Side;
use justfull_net::chain::{Chain, Mtus, Place, RAN};
use justfull_net::clock::now;
use justfull_nru::{DeliveryStatus, Frame, Message, UserData, gtpu};
use serde_json::Value;
use tunnels::Tunnels;

/// Longest wait of the test for anything.
const LIMIT: Duration = Duration::from_secs(60);
/// A host with the files of the folder `LOWER`, whose changes are in memory; its shell begins in a
/// folder with the program and the configuration.
const HOST: &str = r#"
set -e
mount -t tmpfs changes "$WORK"
mkdir "$WORK/upper" "$WORK/work" "$WORK/root"
mount -t overlay host -o "lowerdir=$LOWER,upperdir=$WORK/upper,workdir=$WORK/work" "$WORK/root"
for place in proc sys dev; do mount --rbind "/$place" "$WORK/root/$place"; done
mount -t tmpfs run "$WORK/root/run"
mkdir "$WORK/root/operator"
touch "$WORK/root/operator/justfull"
mount --bind "$PROGRAM" "$WORK/root/operator/justfull"
printf %s "$SETTINGS" > "$WORK/root/operator/$FILE"
exec chroot "$WORK/root" /bin/sh -c 'cd /operator; exec /bin/sh'
"#;

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended already.
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

/// A configuration in the host's folder.
struct Settings<'a> {
    file: &'a str,
    text: &'a str,
}

/// A shell of the host.
struct Shell {
    _process: Ended,
    commands: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Shell {
    fn start(chain: &Chain, lower: &Path, work: &Path, settings: &Settings<'_>) -> Self {
        let spawn = || {
            Command::new("timeout")
                .args([&LIMIT.as_secs().to_string(), "unshare", "--mount", "sh", "-c", HOST])
                .env("LOWER", lower)
                .env("WORK", work)
                .env("PROGRAM", env!("CARGO_BIN_EXE_justfull"))
                .env("FILE", settings.file)
                .env("SETTINGS", settings.text)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
        };
        let mut process = chain.inside(Place::Middle, spawn).expect("it starts");
        let commands = process.stdin.take().expect("a pipe");
        let said = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut shell = Self { _process: Ended(process), commands, said };
        shell.run(&["exec 2>&1".into(), "set -e".into(), "trap 'echo :ended:' EXIT".into()]);
        shell
    }

    /// Runs commands, all of which must succeed, and returns their output and the output of
    /// background programs.
    fn run(&mut self, lines: &[String]) -> String {
        writeln!(self.commands, "{}\necho :done:", lines.join("\n")).expect("it reads");
        let mut said = String::new();
        loop {
            let begin = said.len();
            let read = self.said.read_line(&mut said).expect("text");
            match said[begin..].trim_end() {
                ":done:" => return said[..begin].to_owned(),
                ":ended:" => panic!("{lines:?} failed:\n{said}"),
                _ => assert_ne!(read, 0, "{lines:?}: the host has ended:\n{said}"),
            }
        }
    }

    /// Fails unless nothing is left that is newer than the configuration.
    fn nothing_is_left(&mut self, file: &str) {
        let places = "/etc /run /usr /var/log";
        let left = format!("find {places} -iname '*justfull*' -newer /operator/{file}");
        assert_eq!(self.run(&[left]), "", "what the guide leaves");
    }

    /// The answer of the proxy to `proxy WHAT --json`.
    fn ask(&mut self, what: &str) -> Value {
        answer(&self.run(&[format!("justfull proxy {what} --json")]))
    }

    fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        let end = now() + LIMIT / 2;
        while !holds(self) {
            assert!(now() < end, "waited too long: {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The JSON part of the output, from its first bracket on.
fn answer(said: &str) -> Value {
    let begin = said.find(['[', '{']).unwrap_or_else(|| panic!("no JSON: {said}"));
    serde_json::from_str(&said[begin..]).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The guides.
const RAPID: &str = include_str!("../../../docs/guide/rapid-in-service.md");
const F1U: &str = include_str!("../../../docs/guide/f1u.md");
const N3: &str = include_str!("../../../docs/guide/rapid-at-n3.md");

/// The blocks of a guide in `language`.
fn blocks(page: &str, language: &str) -> Vec<Vec<String>> {
    let mark = format!("```{language}\n");
    let parts = page.split(&mark).skip(1);
    let lines =
        |part: &str| part.lines().take_while(|line| *line != "```").map(String::from).collect();
    parts.map(lines).collect()
}

/// A program of this machine at one end of the chain.
fn at(chain: &Chain, place: Place, folder: &Path, command: &str) -> Ended {
    let spawn = || {
        let mut shell = Command::new("sh");
        let quiet = || Stdio::null();
        let shell = shell.args(["-c", &format!("exec {command}")]).current_dir(folder);
        shell.stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn()
    };
    Ended(chain.inside(place, spawn).expect("it starts"))
}

/// Follows the guide on a host with the files of `lower`.
fn follow(folder: &Path, lower: &Path) {
    let chain = Chain::build(1, Mtus::SMALL_RAN).expect("three hosts");
    let [install, run, watch, exchange, remove] = &blocks(RAPID, "sh")[..] else {
        panic!("the guide's blocks of commands are others: {:?}", blocks(RAPID, "sh"));
    };
    let settings = blocks(RAPID, "toml")[0].join("\n");
    assert!(settings.contains("\"eth1\""), "the guide's interface");
    let settings = settings.replace("eth1", RAN);
    let work = folder.join("host");
    std::fs::create_dir(&work).expect("a folder");
    let settings = Settings { file: "rapid.toml", text: &settings };
    let mut host = Shell::start(&chain, lower, &work, &settings);

    host.run(install);
    host.run(run);
    let file = std::fs::File::create(folder.join("large")).expect("a file");
    file.set_len(1 << 30).expect("there is room for no data");
    let server = Chain::server()[0];
    let _server = at(&chain, Place::Server, folder, "python3 -m http.server 80");
    let url = format!("http://{server}/large");
    let client = format!(
        "curl --retry 50 --retry-all-errors --retry-delay 1 --limit-rate 4M -o /dev/null {url}"
    );
    let client = at(&chain, Place::Ue, folder, &client);
    host.until("a download passes", |host| {
        let flows = host.ask("flows");
        flows[0]["bytes_down"].as_u64().is_some_and(|bytes| bytes > 100_000)
    });

    let said = host.run(watch);
    let ue = Chain::ue(1)[0].to_string();
    assert_eq!(said.matches(&format!("{ue}:")).count(), 2, "in flows and in top: {said}");
    let first = host.ask("status")["process"].as_u64().expect("a number");
    host.run(exchange);
    host.until("another process has it", |host| {
        // For a moment neither instance answers.
        let said = host.run(&["justfull proxy status --json || true".into()]);
        said.contains('{') && answer(&said)["process"].as_u64().is_some_and(|now| now != first)
    });
    let flows = host.ask("flows");
    let bytes =
        |flows: &Value| flows[0]["bytes_down"].as_u64().expect("the download is still there");
    let before = bytes(&flows);
    host.until("the download goes on", |host| bytes(&host.ask("flows")) > before);
    drop(client);

    host.run(remove);
    host.nothing_is_left("rapid.toml");
}

#[test]
fn every_command_of_the_operators_guide_works_as_written() {
    room::room("every_command_of_the_operators_guide_works_as_written", |folder| {
        follow(folder, Path::new("/"));
    });
}

/// A DU and a CU-UP with one bearer, until it is dropped: ten packets and a delivery status each
/// 5 ms.
struct Bearer {
    ended: Arc<AtomicBool>,
    /// Desired buffer sizes that reached the CU-UP.
    work: Option<JoinHandle<Vec<u32>>>,
}

const DESIRED: u32 = 6_000_000;

impl Bearer {
    fn start(chain: &Chain) -> Self {
        let bound = |place, at: &str| {
            let bind = || {
                let socket = UdpSocket::bind((at, gtpu::PORT))?;
                socket.set_nonblocking(true).map(|()| socket)
            };
            chain.inside(place, bind).expect("it binds")
        };
        let (cu_up, du) = (bound(Place::Server, "10.46.0.1"), bound(Place::Ue, "10.45.0.1"));
        let ended = Arc::<AtomicBool>::default();
        let end = Arc::clone(&ended);
        let work = std::thread::spawn(move || {
            let (mut sequence, mut sizes) = (0_u32, Vec::new());
            while !end.load(Ordering::Relaxed) {
                for _ in 0..10 {
                    let frame = UserData { sequence, user_data: true, ..UserData::default() };
                    let [_, high, middle, low] = sequence.to_be_bytes();
                    let pdu = [&[0x80 | high, middle, low][..], &[0; 1_000]].concat();
                    send(&cu_up, "10.45.0.1", &Frame::UserData(frame), &pdu);
                    sequence += 1;
                }
                std::thread::sleep(Duration::from_millis(5));
                let status = DeliveryStatus {
                    desired_buffer_size: DESIRED,
                    highest_transmitted: sequence.checked_sub(4),
                    ..DeliveryStatus::default()
                };
                send(&du, "10.46.0.1", &Frame::Status(status), &[]);
                let mut room = [0; 2_048];
                while let Ok(length) = cu_up.recv(&mut room) {
                    let message = Message::read(&room[..length]).expect("a message");
                    let Ok(Some(Frame::Status(status))) = message.frame() else { continue };
                    sizes.push(status.desired_buffer_size);
                }
                while du.recv(&mut room).is_ok() {}
            }
            sizes
        });
        Self { ended, work: Some(work) }
    }

    fn end(&mut self) -> Vec<u32> {
        self.ended.store(true, Ordering::Relaxed);
        self.work.take().map(|work| work.join().expect("it ends")).unwrap_or_default()
    }
}

impl Drop for Bearer {
    fn drop(&mut self) {
        self.end();
    }
}

fn send(socket: &UdpSocket, to: &str, frame: &Frame<'_>, payload: &[u8]) {
    let mut room = [0; 2_048];
    let mut builder = gtpu::Builder::new(&mut room, gtpu::G_PDU, 7).expect("room");
    builder.extension(gtpu::NR_RAN_CONTAINER, |room| frame.write(room)).expect("room");
    builder.payload(payload).expect("room");
    let length = builder.finish().expect("short enough");
    socket.send_to(&room[..length], (to, gtpu::PORT)).expect("it sends");
}

#[test]
fn every_command_of_the_guide_to_f1_u_works_as_written() {
    room::room("every_command_of_the_guide_to_f1_u_works_as_written", |folder| {
        let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
        let [install, end, run, watch, exchange, remove] = &blocks(F1U, "sh")[..] else {
            panic!("the guide's blocks of commands are others: {:?}", blocks(F1U, "sh"));
        };
        let text = blocks(F1U, "toml")[0].join("\n");
        let work = folder.join("host");
        std::fs::create_dir(&work).expect("a folder");
        let settings = Settings { file: "f1u.toml", text: &text };
        let mut host = Shell::start(&chain, Path::new("/"), &work, &settings);
        assert!(host.run(install).ends_with("the box can run\n"));
        // The settings for the host of an end are also right for a router.
        host.run(end);
        let check = "justfull f1u check --config here.toml";
        let here = format!("sed 's/\"core\"/\"lo\"/' f1u.toml > here.toml; {check}");
        assert!(host.run(&[here]).ends_with("the box can run\n"));
        host.run(run);
        let mut bearer = Bearer::start(&chain);
        let json = "justfull f1u status --json";
        let status = |host: &mut Shell| answer(&host.run(&[json.into()]));
        host.until("a bearer is bounded", |host| status(host)["bounded_bearers"] == 1);
        let said = host.run(watch);
        assert!(said.contains("1, 1 bounded") && said.contains("10.46.0.1"), "{said}");
        let metrics = host.run(&["curl -sf http://127.0.0.1:9103/metrics".into()]);
        assert!(metrics.contains("\njustfull_f1u_bounded_bearers 1\n"), "{metrics}");
        assert!(metrics.contains("\n# TYPE justfull_f1u_rewritten_total counter\n"), "{metrics}");
        let first = status(&mut host)["device"].clone();
        host.run(exchange);
        host.until("another process has it", |host| {
            let said = host.run(&[format!("{json} || true")]);
            said.contains('{') && answer(&said)["device"] != first
        });
        host.until("it bounds as well", |host| status(host)["bounded_bearers"] == 1);
        host.run(remove);
        let sizes = bearer.end();
        let bounded = sizes.iter().filter(|size| **size < 100_000).count();
        assert!(bounded > 10 && sizes.first() == Some(&DESIRED), "{bounded} of {}", sizes.len());
        host.nothing_is_left("f1u.toml");
        assert_eq!(host.run(&["ip rule | grep 27239 || true".into()]), "", "the rule has gone");
    });
}

#[test]
fn every_command_of_the_guide_to_n3_works_as_written() {
    room::room("every_command_of_the_guide_to_n3_works_as_written", |folder| {
        let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
        let tunnels = Tunnels::build(&chain, 0, false);
        let [install, run, watch, remove] = &blocks(N3, "sh")[..] else {
            panic!("the guide's blocks of commands are others: {:?}", blocks(N3, "sh"));
        };
        let [stage, proxy] = &blocks(N3, "toml")[..] else { panic!("the guide's files") };
        let work = folder.join("host");
        std::fs::create_dir(&work).expect("a folder");
        let settings = Settings { file: "n3.toml", text: &stage.join("\n") };
        let mut host = Shell::start(&chain, Path::new("/"), &work, &settings);
        host.run(&[format!("cat > rapid.toml <<'END'\n{}\nEND", proxy.join("\n"))]);
        assert!(host.run(install).ends_with("the stage can run\n"));
        assert!(host.run(run).contains("the proxy can run\n"));
        let bytes = through_tunnels(&tunnels);
        assert_eq!(bytes, [10, 1_000_000]);
        let said = host.run(watch);
        assert!(said.contains("0x100") && said.contains("10.46.0.1"), "{said}");
        assert_eq!(host.ask("status")["accepted"], 1, "{said}");
        let metrics = host.run(&["curl -sf http://127.0.0.1:9104/metrics".into()]);
        assert!(metrics.contains("\njustfull_n3_early_total 1\n"), "{metrics}");
        let metrics = host.run(&["curl -sf http://127.0.0.1:9102/metrics".into()]);
        assert!(metrics.contains("\njustfull_proxy_flows"), "{metrics}");
        host.run(remove);
        host.nothing_is_left("n3.toml");
        assert_eq!(host.run(&["ip rule | grep 2724 || true".into()]), "", "the rules have gone");
    });
}

/// Downloads of a UE, one after the other: the first passes unsplit, since the UE's downlink tunnel
/// is not known; the bytes of each.
fn through_tunnels(tunnels: &Tunnels) -> [usize; 2] {
    let to = SocketAddr::from((Side::Server.addresses()[0], 0));
    let listener = tunnels.network.inside(Side::Server, || TcpListener::bind(to));
    let listener = listener.expect("it listens");
    let to = listener.local_addr().expect("an address");
    let sizes = [10, 1_000_000];
    let serves = std::thread::spawn(move || {
        for size in sizes {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.write_all(&vec![7; size]).expect("it is sent");
        }
    });
    let got = sizes.map(|_| {
        let stream = tunnels.network.inside(Side::Ue(0), || TcpStream::connect(to));
        let mut stream = stream.expect("it connects");
        stream.set_read_timeout(Some(LIMIT)).expect("it is open");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("all of it");
        bytes.len()
    });
    serves.join().expect("it ends");
    got
}

#[test]
fn soak_the_operators_guide_works_on_a_clean_debian() {
    if std::env::var_os("JUSTFULL_SOAK").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debian");
    // Downloaded outside the room, which has no network, and kept for the next time.
    if !root.exists() {
        let part = root.with_extension("part");
        let made = Command::new("mmdebstrap")
            .args(["--quiet", "--variant=essential", "bookworm"])
            .arg(&part)
            .status()
            .expect("`.ci/setup --tests` installs mmdebstrap");
        assert!(made.success(), "no Debian could be fetched");
        std::fs::rename(part, &root).expect("they are in one folder");
    }
    room::room("soak_the_operators_guide_works_on_a_clean_debian", |folder| {
        follow(folder, &root);
    });
}
