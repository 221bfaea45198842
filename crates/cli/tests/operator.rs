//! The operator's guide: runs its commands unchanged on a host between UEs and a server. The host
//! shares this machine's files; its changes go to an overlay. `make soak` also runs it on a
//! separate Debian with only essential packages.

#![cfg(all(feature = "live", feature = "proxy", target_os = "linux"))]

#[expect(dead_code, reason = "the tests of live runs use the rest")]
mod room;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use justfull_net::chain::{Chain, Mtus, Place, RAN};
use justfull_net::clock::now;
use serde_json::Value;

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
printf %s "$SETTINGS" > "$WORK/root/operator/rapid.toml"
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

/// A shell of the host.
struct Shell {
    _process: Ended,
    commands: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Shell {
    fn start(chain: &Chain, lower: &Path, work: &Path, settings: &str) -> Self {
        let spawn = || {
            Command::new("timeout")
                .args([&LIMIT.as_secs().to_string(), "unshare", "--mount", "sh", "-c", HOST])
                .env("LOWER", lower)
                .env("WORK", work)
                .env("PROGRAM", env!("CARGO_BIN_EXE_justfull"))
                .env("SETTINGS", settings)
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

/// The blocks of the guide in `language`.
fn blocks(language: &str) -> Vec<Vec<String>> {
    let page = include_str!("../../../docs/guide/rapid-in-service.md");
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
    let [install, run, watch, exchange, remove] = &blocks("sh")[..] else {
        panic!("the guide's blocks of commands are others: {:?}", blocks("sh"));
    };
    let settings = blocks("toml")[0].join("\n");
    assert!(settings.contains("\"eth1\""), "the guide's interface");
    let settings = settings.replace("eth1", RAN);
    let work = folder.join("host");
    std::fs::create_dir(&work).expect("a folder");
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
    let left = "find /etc /run /usr /var/log -iname '*justfull*' -newer /operator/rapid.toml";
    let left = host.run(&[left.into()]);
    assert_eq!(left, "", "what the guide leaves");
}

#[test]
fn every_command_of_the_operators_guide_works_as_written() {
    room::room("every_command_of_the_operators_guide_works_as_written", |folder| {
        follow(folder, Path::new("/"));
    });
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
