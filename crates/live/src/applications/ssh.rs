//! A download over SSH: the UE's `ssh` runs a command at an `sshd` on the server's side (OpenSSH),
//! over the connection of the scenario's flow. OpenSSH does the handshake, the encryption and the
//! windows.
//!
//! This module opens the sockets, with the flow's ports, congestion control and DSCP, and passes
//! them as standard input and output: `sshd -i` serves one connection, and `ProxyCommand=-` makes
//! `ssh` use the given one. The bytes arrive through the command's standard error, since standard
//! output is the socket. Keys and settings belong to the run; no service of the machine is used or
//! started.

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;

use justfull_net::{Network, SystemError};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{User, geteuid};

use super::{CHUNK, Flow, LOOK, ended_by_peer, window};

/// Name of the server in the list of known hosts.
const HOST: &str = "justfull";

/// The server has its own `/run`, since `sshd` needs a folder there. The files are copied from the
/// run's folder, which may be below the machine's `/run`.
const SERVE: &str = "mount -t tmpfs -o mode=755 tmpfs /run && mkdir -m 755 /run/sshd \
                     && cp host user.pub sshd_config /run && exec \"$0\" -i -e -f /run/sshd_config";

/// Settings of the server. Without `IPQoS none` it would set its own DSCP; in the user's home the
/// shell would first run `.bashrc`.
const SERVER: &str = "HostKey /run/host
AuthorizedKeysFile /run/user.pub
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
PidFile none
IPQoS none
SetEnv HOME=/run
";

/// Keys and settings of the sessions of a run.
#[derive(Debug)]
pub(super) struct Ssh {
    folder: PathBuf,
    sshd: PathBuf,
    user: String,
}

impl Ssh {
    /// Checks that the needed programs are there.
    pub(super) fn check() -> io::Result<()> {
        for program in ["ssh", "ssh-keygen", "unshare"] {
            find(program)?;
        }
        find("sshd").map(drop)
    }

    /// Makes keys and settings in the folder of the run.
    pub(super) fn prepare(network: &Network) -> Result<Self, SystemError> {
        let settings = network.file("sshd_config", SERVER)?;
        let failed = |error| SystemError::new("prepare a session over SSH", error);
        let folder = settings.parent().unwrap_or(Path::new("/")).to_path_buf();
        Self::with_keys(folder).map_err(failed)
    }

    fn with_keys(folder: PathBuf) -> io::Result<Self> {
        for name in ["host", "user"] {
            let mut keygen = Command::new(find("ssh-keygen")?);
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", name]);
            let made = keygen.current_dir(&folder).stdin(Stdio::null()).output()?;
            if !made.status.success() {
                let said = String::from_utf8_lossy(&made.stderr);
                return Err(io::Error::other(format!("ssh-keygen: {}", said.trim())));
            }
        }
        let key = fs::read_to_string(folder.join("host.pub"))?;
        fs::write(folder.join("known_hosts"), format!("{HOST} {key}"))?;
        let nobody = || io::Error::other("the user of this process has no name");
        let user = User::from_uid(geteuid())?.ok_or_else(nobody)?.name;
        Ok(Self { folder, sshd: find("sshd")?, user })
    }

    /// Makes an `sshd` serve `stream` until it ends.
    pub(super) fn serve(&self, flow: &Flow, stream: TcpStream) -> io::Result<()> {
        flow.senders.watch(&stream)?;
        let log = File::create(self.folder.join("sshd.log"))?;
        let mut sshd = Command::new(find("unshare")?);
        sshd.args(["--mount", "sh", "-c", SERVE]).arg(&self.sshd).current_dir(&self.folder);
        let mut sshd = start(sshd.stderr(log), &stream)?;
        while sshd.try_wait()?.is_none() {
            if flow.ended() {
                return end(sshd);
            }
            thread::sleep(LOOK);
        }
        // The sampler has a copy of the socket, so dropping it would not close it.
        stream.shutdown(Shutdown::Write).or_else(unconnected).or_else(ended_by_peer)
    }

    /// Makes an `ssh` fetch the flow's bytes over `stream`, and counts them.
    pub(super) fn fetch(
        &self,
        flow: &Flow,
        stream: TcpStream,
        window: Option<u32>,
    ) -> io::Result<()> {
        let mut ssh = Command::new(find("ssh")?);
        ssh.args(["-F", "/dev/null", "-n", "-T", "-E", "ssh.log", "-i", "user"]);
        for option in [
            "ProxyCommand=-",
            "BatchMode=yes",
            "IdentitiesOnly=yes",
            "StrictHostKeyChecking=yes",
            "UserKnownHostsFile=known_hosts",
            "GlobalKnownHostsFile=/dev/null",
            "IPQoS=none",
        ] {
            ssh.args(["-o", option]);
        }
        let bytes = match flow.size {
            Some(size) => format!("exec head -c {size} /dev/zero >&2"),
            None => "exec cat /dev/zero >&2".into(),
        };
        ssh.arg(format!("{}@{HOST}", self.user)).arg(bytes).current_dir(&self.folder);
        let mut ssh = start(ssh.stderr(Stdio::piped()), &stream)?;
        let Some(mut come) = ssh.stderr.take() else { return end(ssh) };
        let mut buffer = vec![0; CHUNK];
        loop {
            window.map_or(Ok(()), |window| window::clamp(&stream, window))?;
            if flow.ended() {
                return end(ssh);
            }
            let mut ready = [PollFd::new(come.as_fd(), PollFlags::POLLIN)];
            if poll(&mut ready, LOOK.as_millis() as u16)? == 0 {
                continue;
            }
            let bytes = come.read(&mut buffer)?;
            if bytes == 0 {
                break;
            }
            // Received bytes were sent; more may be on the way.
            flow.sent.fetch_add(bytes as u64, Ordering::Relaxed);
            flow.took(bytes as u64);
        }
        drop(stream);
        let status = ssh.wait()?;
        if status.success() || flow.ended() {
            return Ok(());
        }
        Err(io::Error::other(format!("ssh: {status}; {}", self.said())))
    }

    /// The last lines that both ends have logged.
    fn said(&self) -> String {
        let last = |name: &str| {
            let log = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
            format!("{name}: {}", log.lines().last().unwrap_or("nothing").trim())
        };
        [last("ssh.log"), last("sshd.log")].join("; ")
    }
}

/// Starts `command` with `stream` as standard input and output. It ends with the thread.
fn start(command: &mut Command, stream: &TcpStream) -> io::Result<Child> {
    let end = || Ok::<OwnedFd, io::Error>(stream.try_clone()?.into());
    command.stdin(end()?).stdout(end()?);
    // SAFETY: between `fork` and `exec` it makes one system call and allocates nothing.
    unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
    command.spawn()
}

/// Ends a program whose run is over.
fn end(mut child: Child) -> io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}

/// The path of an installed program; `sshd` is not in the `PATH` of every user.
fn find(program: &str) -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let missing = || {
        let why =
            format!("no program `{program}`: a session over SSH needs OpenSSH's ssh and sshd");
        io::Error::new(io::ErrorKind::NotFound, why)
    };
    folders.map(|folder| folder.join(program)).find(|file| file.is_file()).ok_or_else(missing)
}

/// No error if the other end has closed the socket completely.
fn unconnected(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotConnected { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications::samples::Senders;
    use justfull_net::clock::now;
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::sync::{Arc, OnceLock};

    fn flow(size: Option<u64>) -> Flow {
        Flow {
            name: "session".into(),
            begin: now(),
            start: now(),
            end: None,
            stop: Arc::<AtomicBool>::default(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            failed: OnceLock::new(),
            size,
            whole: OnceLock::new(),
            senders: Senders::default(),
        }
    }

    /// False without OpenSSH or the right to mount; under `CI` this is a failure.
    fn can_serve() -> bool {
        let lacking = if geteuid().is_root() { Ssh::check().err() } else { None };
        let can = geteuid().is_root() && lacking.is_none();
        assert!(can || std::env::var_os("CI").is_none(), "sessions over SSH: {lacking:?}");
        if !can {
            println!("skipped: {lacking:?}, root: {}", geteuid().is_root());
        }
        can
    }

    /// Fetches the bytes of `flow`; `ends` may end the server's part early.
    fn session(flow: &Flow, keys: (&Ssh, &Ssh), ends: impl FnOnce() + Send) -> io::Result<()> {
        let door = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at_ue = TcpStream::connect(door.local_addr().expect("it has one")).expect("it opens");
        let (at_server, _) = door.accept().expect("its other end");
        thread::scope(|scope| {
            let serving = scope.spawn(|| keys.0.serve(flow, at_server));
            scope.spawn(ends);
            let fetched = keys.1.fetch(flow, at_ue, Some(100_000));
            serving.join().expect("no panic").and(fetched)
        })
    }

    #[test]
    fn a_session_brings_its_bytes_whole_and_ends() {
        if !can_serve() {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("sshd_config"), SERVER).expect("written");
        let ssh = Ssh::with_keys(folder.path().into()).expect("keys");
        let whole = flow(Some(500_000));
        session(&whole, (&ssh, &ssh), || ()).expect("it ends by itself");
        assert_eq!(whole.received.load(Ordering::Relaxed), 500_000);
        assert!(whole.whole.get().is_some());

        let endless = flow(None);
        let stop = Arc::clone(&endless.stop);
        let has_some = || endless.received.load(Ordering::Relaxed) > 0;
        session(&endless, (&ssh, &ssh), || {
            while !has_some() {
                thread::sleep(LOOK);
            }
            stop.store(true, Ordering::Relaxed);
        })
        .expect("it is ended");
    }

    #[test]
    fn a_server_with_another_key_is_refused_and_the_error_has_both_logs() {
        if !can_serve() {
            return;
        }
        let [server, ue] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
        fs::write(server.path().join("sshd_config"), SERVER).expect("written");
        let [serves, fetches] =
            [&server, &ue].map(|folder| Ssh::with_keys(folder.path().into()).expect("keys"));
        let flow = flow(Some(1_000));
        let error = session(&flow, (&serves, &fetches), || ()).expect_err("not the known one");
        let said = error.to_string();
        assert!(said.starts_with("ssh: exit status: 255; ssh.log: "), "{said}");
        assert!(said.contains("erification failed"), "{said}");
        assert_eq!(flow.received.load(Ordering::Relaxed), 0);
    }
}
