//! The measured proxies, each in the middle of a row of hosts.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use justfull_net::chain::{Chain, Place, RAN};
use justfull_net::clock::now;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use socket2::{Domain, Socket, Type};

/// The port of a rival proxy.
const PORT: u16 = 9_999;
/// The limit of descriptors of a proxy.
const DESCRIPTORS: u64 = 20_000;
/// A proxy starts within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// The argument with which this program is the proxy.
pub(crate) const ROLE: &str = "--as-proxy";

/// A measured proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Our proxy, with the control `rapid`.
    Justfull,
    /// TCP mode, one thread, transparent, splicing.
    Haproxy,
    /// `stream`, one process, transparent.
    Nginx,
    /// No proxy: the hosts are connected directly.
    Nothing,
}

impl Kind {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "justfull" => Self::Justfull,
            "haproxy" => Self::Haproxy,
            "nginx" => Self::Nginx,
            "nothing" => Self::Nothing,
            _ => return None,
        })
    }
}

/// A running proxy; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Proxy {
    child: Option<Child>,
}

impl Proxy {
    /// Starts one in the middle of `chain`; its files are in `folder`. `settings` are additional
    /// lines of our own configuration.
    pub(crate) fn start(
        kind: Kind,
        chain: &Chain,
        folder: &Path,
        settings: &str,
        own: &[&str],
    ) -> io::Result<Self> {
        match kind {
            Kind::Justfull => justfull(chain, folder, settings, own),
            Kind::Haproxy => rival(chain, folder, haproxy),
            Kind::Nginx => rival(chain, folder, nginx),
            Kind::Nothing => Ok(Self { child: None }),
        }
    }

    /// Its process, and the processes that it started.
    fn ids(&self) -> Vec<i32> {
        let Some(child) = &self.child else { return Vec::new() };
        let id = child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        let children = children.split_whitespace().filter_map(|id| id.parse().ok());
        std::iter::once(id.cast_signed()).chain(children).collect()
    }

    /// The identifier of its process; 0 without a process.
    pub(crate) fn id(&self) -> i32 {
        self.child.as_ref().map_or(0, |child| child.id().cast_signed())
    }

    /// CPU time of its threads.
    pub(crate) fn cpu(&self) -> Duration {
        self.ids().into_iter().map(|id| cpu_of(id, |_| true)).sum()
    }

    /// Bytes of its own memory, and the number of its pipes.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let (mut bytes, mut pipes) = (0, 0);
        for id in self.ids() {
            let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
            let own = text.lines().find_map(|line| line.strip_prefix("Anonymous:"));
            let kib = own.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok());
            bytes += kib.unwrap_or(0) << 10;
            let open = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
            let links = open.filter_map(|entry| fs::read_link(entry.path()).ok());
            let ends = links.filter(|to| to.to_string_lossy().starts_with("pipe:")).count();
            pipes += ends as u64 / 2;
        }
        (bytes, pipes)
    }

    /// Keeps it on the last core; the load is on the first.
    pub(crate) fn pin(&self) -> io::Result<()> {
        self.ids().into_iter().try_for_each(|id| pin(id, last_core()))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let ids = self.ids();
        if let Some(child) = &mut self.child {
            // They may have ended.
            for id in ids.into_iter().map(Pid::from_raw) {
                let _ended = kill(id, Signal::SIGKILL);
            }
            let _status = child.wait();
        }
    }
}

/// CPU time of the threads of a process with names for which `counts` is true.
pub(crate) fn cpu_of(id: i32, counts: impl Fn(&str) -> bool) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let nanos = tasks.filter_map(|task| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok().filter(|_| counts(name.trim_end()))
    });
    Duration::from_nanos(nanos.sum())
}

fn last_core() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) - 1
}

/// Keeps a process, or with 0 this thread and its future children, on one core.
pub(crate) fn pin(id: i32, core: usize) -> io::Result<()> {
    let mut set = nix::sched::CpuSet::new();
    set.set(core)?;
    Ok(nix::sched::sched_setaffinity(Pid::from_raw(id), &set)?)
}

fn until(what: &str, mut holds: impl FnMut() -> bool) -> io::Result<()> {
    let end = now() + PATIENCE;
    while !holds() {
        if now() > end {
            return Err(io::Error::other(format!("waited too long: {what}")));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Starts a command in the middle, with the limit of descriptors.
fn start(chain: &Chain, command: &mut Command) -> io::Result<Child> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    chain.inside(Place::Middle, || {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, DESCRIPTORS.min(hard), hard)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
        child
    })
}

fn justfull(chain: &Chain, folder: &Path, settings: &str, own: &[&str]) -> io::Result<Proxy> {
    let file = folder.join("rapid.toml");
    let socket = folder.join("socket");
    let text = format!(
        "[select]\ninterfaces = [\"{RAN}\"]\n{settings}\n[operation]\nsocket = {socket:?}\n"
    );
    fs::write(&file, text)?;
    let mut command = Command::new(std::env::current_exe()?);
    let proxy = Proxy { child: Some(start(chain, command.args(own).env(ROLE, &file))?) };
    until("the proxy is ready", || file.with_extension("ready").exists())?;
    Ok(proxy)
}

/// The configuration, if this program was started as the proxy.
pub(crate) fn role() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}

/// Runs as the proxy.
pub(crate) fn play(file: &Path) -> io::Result<()> {
    let config = justfull_proxy::ProxyConfig::read(file).map_err(io::Error::other)?;
    let ready = || {
        // A failure shows at the reader, which waits for the file.
        let _written = fs::write(file.with_extension("ready"), "");
    };
    justfull_proxy::run(config, file, ready).map_err(io::Error::other)
}

/// Diverts connections to [`PORT`] and starts a rival there.
fn rival(
    chain: &Chain,
    folder: &Path,
    command: impl FnOnce(&Path) -> io::Result<(Command, Option<OwnedFd>)> + Send,
) -> io::Result<Proxy> {
    let rules = format!(
        "table inet rival {{\nchain pre {{\ntype filter hook prerouting priority mangle\n\
         meta l4proto tcp socket transparent 1 meta mark set 1 accept\n\
         iifname \"{RAN}\" meta l4proto tcp tproxy ip to :{PORT} meta mark set 1 accept\n}}\n}}\n"
    );
    fs::write(folder.join("rules.nft"), rules)?;
    let steps: [&[&str]; 3] = [
        &["nft", "-f", "rules.nft"],
        &["ip", "rule", "add", "fwmark", "1", "lookup", "100"],
        &["ip", "route", "add", "local", "default", "dev", "lo", "table", "100"],
    ];
    let (mut command, listener) = chain.inside(Place::Middle, || {
        for step in steps {
            let done = Command::new(step[0]).args(&step[1..]).current_dir(folder).status()?;
            if !done.success() {
                return Err(io::Error::other(format!("{} failed: {done}", step.join(" "))));
            }
        }
        command(folder)
    })?;
    let child = start(chain, &mut command)?;
    let listens = format!(":{PORT:04X}");
    // A rival that takes over a socket listens before it runs.
    let alone = listener.is_none();
    let proxy = Proxy { child: Some(child) };
    until("the rival listens", || {
        let id = proxy.ids()[0];
        let own = fs::read_to_string(format!("/proc/{id}/net/tcp")).unwrap_or_default();
        own.lines().any(|line| line.contains(&listens) && line.contains(" 0A "))
            && (alone || proxy.ids().len() > 1)
    })?;
    Ok(proxy)
}

fn haproxy(folder: &Path) -> io::Result<(Command, Option<OwnedFd>)> {
    let file = folder.join("haproxy.cfg");
    let text = format!(
        "global\n nbthread 1\n maxconn 4000\ndefaults\n mode tcp\n option splice-auto\n \
         timeout connect 10s\n timeout client 1h\n timeout server 1h\n\
         listen all\n bind 0.0.0.0:{PORT} transparent\n source 0.0.0.0 usesrc client\n \
         server origin 0.0.0.0\n"
    );
    fs::write(&file, text)?;
    let mut command = Command::new("haproxy");
    command.args(["-db", "-q", "-f"]).arg(file);
    Ok((command, None))
}

/// nginx cannot listen transparently, so it takes over a socket, as in its own upgrades.
fn nginx(folder: &Path) -> io::Result<(Command, Option<OwnedFd>)> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_ip_transparent_v4(true)?;
    socket.bind(&std::net::SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into())?;
    socket.listen(4_096)?;
    let socket = OwnedFd::from(socket);
    fcntl(&socket, FcntlArg::F_SETFD(FdFlag::empty()))?;
    let (file, at) = (folder.join("nginx.conf"), folder.display());
    let text = format!(
        "load_module /usr/lib/nginx/modules/ngx_stream_module.so;\nuser root;\ndaemon off;\n\
         worker_processes 1;\npid {at}/nginx.pid;\nerror_log {at}/nginx.log;\n\
         events {{ worker_connections 20000; }}\nstream {{ server {{ listen {PORT} backlog=4096;\n\
         proxy_bind $remote_addr:$remote_port transparent;\nproxy_timeout 1h;\n\
         proxy_pass $server_addr:$server_port; }} }}\n"
    );
    fs::write(&file, text)?;
    let mut command = Command::new("nginx");
    command.arg("-c").arg(file).env("NGINX", format!("{};", socket.as_raw_fd()));
    // nginx prints that it takes over a socket.
    command.stderr(Stdio::null());

    Ok((command, Some(socket)))
}
