//! The cost of the proxy at N3 beside its cost at SGi, for `cargo xtask bench n3`: `n3_bench FORM
//! [SECONDS]` prints the bytes of a download for each second of CPU time of the middle's processes
//! as a line of JSON.
//!
//! | form | ends | middle |
//! |---|---|---|
//! | `n3` | a base station and a UPF in user space, G-PDUs with 1 400 bytes | stage and proxy |
//! | `n3_offloads` | the same, several datagrams in one packet of 64 kB | stage and proxy |
//! | `sgi` | the kernel's TCP over veth, packets of 1 400 bytes | proxy |
//! | `sgi_offloads` | the same in segments of 64 kB | proxy |
//!
//! `n3_bench check` says what is missing.

#[path = "../proxy_bench/load.rs"]
#[expect(dead_code, reason = "the other bench uses the rest")]
mod load;
#[path = "../../tests/n3/tunnels.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod tunnels;

use justfull_net::Side;
use justfull_net::chain::{CORE, Chain, Mtus, Place, RAN};
use justfull_net::clock::now;
use load::Service;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tunnels::{INNER_MTU, Tunnels};

/// Set in the process that is the stage or the proxy: its configuration.
const STAGE: &str = "JUSTFULL_N3_BENCH_STAGE";
const PROXY: &str = "JUSTFULL_N3_BENCH_PROXY";
const FORMS: [&str; 4] = ["n3", "n3_offloads", "sgi", "sgi_offloads"];
/// The proxy's socket.
const SOCKET: &str = "socket";
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections of the download.
const CONNECTIONS: usize = 4;

/// A process in the middle, on the last core. Dropping it kills it.
struct Part(Child);

impl Part {
    fn start(chain: &Chain, role: &str, file: &Path) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(role, file).stdin(Stdio::null()).stdout(Stdio::null());
        let part = Self(chain.inside(Place::Middle, || command.spawn())?);
        let end = now() + PATIENCE;
        while !file.with_extension("ready").exists() {
            if now() > end {
                return Err(io::Error::other(format!("{} is not ready", file.display())));
            }
            thread::sleep(Duration::from_millis(5));
        }
        let tasks = fs::read_dir(format!("/proc/{}/task", part.0.id()))?;
        for task in tasks.flatten() {
            let id = task.file_name().to_string_lossy().parse().unwrap_or(0);
            pin(id, thread::available_parallelism().map_or(1, usize::from) - 1)?;
        }
        Ok(part)
    }

    /// CPU time of its threads.
    fn cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0.id()));
        let nanos = tasks.into_iter().flatten().flatten().filter_map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanos.sum())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

fn pin(id: i32, core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(id), &set)?)
}

/// Packets of one MTU on every link, as on a wire.
fn without_offloads(chain: &Chain) -> io::Result<()> {
    let ends =
        [(Place::Ue, RAN), (Place::Middle, RAN), (Place::Middle, CORE), (Place::Server, CORE)];
    for (place, link) in ends {
        let words = ["link", "set", link, "gso_max_segs", "1"];
        let done = chain.inside(place, || Command::new("ip").args(words).output())?;
        if !done.status.success() {
            return Err(io::Error::other("ip link set gso_max_segs failed"));
        }
    }
    Ok(())
}

/// Starts the proxy, and the stage before it if TCP is inside tunnels.
fn middle(chain: &Chain, folder: &Path, inside: bool) -> io::Result<Vec<Part>> {
    let path = |name: &str| folder.join(name);
    let (n3, socket) = (path("n3.socket"), path(SOCKET));
    let mut parts = Vec::new();
    let (interface, stage) = if inside {
        let text = format!(
            "[place]\nran = {RAN:?}\ncore = {CORE:?}\n[tunnels]\nues = [\"10.45.0.0/16\"]\n\
             [operation]\nsocket = {n3:?}\n"
        );
        fs::write(path("n3.toml"), text)?;
        parts.push(Part::start(chain, STAGE, &path("n3.toml"))?);
        ("ue", format!("[n3]\nsocket = {n3:?}\n"))
    } else {
        (RAN, String::new())
    };
    let text = format!(
        "[select]\ninterfaces = [{interface:?}]\n[control]\nkind = \"none\"\n{stage}\
         [operation]\nsocket = {socket:?}\n"
    );
    fs::write(path("rapid.toml"), text)?;
    parts.push(Part::start(chain, PROXY, &path("rapid.toml"))?);
    Ok(parts)
}

/// Downloads for some seconds; bytes, and the time and the parts' CPU times before and after.
fn download(
    chain: &Chain,
    tunnels: Option<&Tunnels>,
    parts: &[Part],
    seconds: f64,
) -> io::Result<Measured> {
    let to = SocketAddr::from((Chain::server()[0], 80));
    let stop = AtomicBool::new(false);
    let at_server = || load::listen(to);
    let listener = match tunnels {
        Some(tunnels) => {
            tunnels.network.inside(Side::Server, at_server).map_err(io::Error::other)?
        }
        None => chain.inside(Place::Server, at_server)?,
    };
    let mut marks = Vec::new();
    let bytes = thread::scope(|scope| {
        let serves = scope.spawn(|| {
            pin(0, 0)?;
            load::serve(&listener, Service::Zeros, &stop)
        });
        let times = [Duration::from_millis(500), Duration::from_secs_f64(seconds)];
        let mut client = || -> io::Result<u64> {
            pin(0, 0)?;
            // The first one passes unsplit at N3, and its answer tells the downlink tunnel.
            drop(load::open(1, 1, to, false)?);
            let sockets = load::open(CONNECTIONS, 1, to, false)?;
            let cpu = || parts.iter().map(Part::cpu).collect::<Vec<_>>();
            load::drain(&sockets, times, || marks.push((now(), cpu())))
        };
        let bytes = match tunnels {
            Some(tunnels) => {
                let client = || Ok(client());
                tunnels.network.inside(Side::Ue(0), client).map_err(io::Error::other)?
            }
            None => chain.inside(Place::Ue, client),
        };
        stop.store(true, Ordering::Relaxed);
        serves.join().map_err(|_| io::Error::other("a thread has panicked"))??;
        bytes
    })?;
    let [(from, before), (until, after)] = &marks[..] else {
        return Err(io::Error::other("the transfer had no begin or no end"));
    };
    let cpu = after.iter().zip(before).map(|(after, before)| (*after - *before).as_secs_f64());
    Ok(Measured {
        gbit: bytes as f64 * 8e-9,
        seconds: until.duration_since(*from).as_secs_f64(),
        cpu: cpu.collect(),
    })
}

struct Measured {
    gbit: f64,
    seconds: f64,
    /// CPU time of each part, in seconds.
    cpu: Vec<f64>,
}

fn run(form: &str, seconds: f64) -> io::Result<()> {
    let (inside, joined) = (form.starts_with("n3"), form.ends_with("offloads"));
    let folder = tempfile::tempdir()?;
    let mtus = Mtus { ran: INNER_MTU, core: INNER_MTU };
    let mtus = if inside { Mtus::ETHERNET } else { mtus };
    let chain = Chain::build(1, mtus).map_err(io::Error::other)?;
    if !joined {
        without_offloads(&chain)?;
    }
    let tunnels = inside.then(|| Tunnels::build(&chain, 0, joined));
    let parts = middle(&chain, folder.path(), inside)?;
    let Measured { gbit, seconds, cpu } = download(&chain, tunnels.as_ref(), &parts, seconds)?;
    let status = justfull_proxy::ask(&folder.path().join(SOCKET), "status");
    let status: serde_json::Value = serde_json::from_str(&status.map_err(io::Error::other)?)?;
    let line = serde_json::json!({
        "gbit_per_s": gbit / seconds,
        "gbit_per_cpu_s": gbit / cpu.iter().sum::<f64>(),
        "cpu_s": cpu,
        "split": status["accepted"],
    });
    println!("{line}");
    Ok(())
}

/// What is missing on this machine.
fn missing() -> Vec<String> {
    let capabilities = justfull_net::capabilities().into_iter();
    let lacking = capabilities.filter(|one| one.required && one.found.is_err());
    lacking.map(|one| one.name.to_owned()).collect()
}

fn play() -> io::Result<bool> {
    let ready = |file: &Path| {
        // A failure shows at the reader, which waits for the file.
        let _written = fs::write(file.with_extension("ready"), "");
    };
    if let Some(file) = std::env::var_os(STAGE) {
        let file = Path::new(&file);
        let config = justfull_n3::N3Config::read(file).map_err(io::Error::other)?;
        justfull_n3::run(&config, || ready(file)).map_err(io::Error::other)?;
        return Ok(true);
    }
    if let Some(file) = std::env::var_os(PROXY) {
        let file = Path::new(&file);
        let config = justfull_proxy::ProxyConfig::read(file).map_err(io::Error::other)?;
        justfull_proxy::run(config, file, || ready(file)).map_err(io::Error::other)?;
        return Ok(true);
    }
    Ok(false)
}

fn work() -> io::Result<()> {
    if play()? {
        return Ok(());
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let usage =
        || io::Error::other(format!("usage: n3_bench {} [SECONDS], or check", FORMS.join("|")));
    match words[..] {
        ["check"] => {
            println!("{}", missing().join("; "));
            Ok(())
        }
        [form] if FORMS.contains(&form) => run(form, 2.0),
        [form, seconds] if FORMS.contains(&form) => {
            run(form, seconds.parse().map_err(|_| usage())?)
        }
        _ => Err(usage()),
    }
}

fn main() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("n3_bench: {error}");
            ExitCode::FAILURE
        }
    }
}
