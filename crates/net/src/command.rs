//! A command inside a namespace.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, IsTerminal};
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use nix::errno::Errno;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::unistd::{Pid, getpgrp, getpid, getppid, tcsetpgrp};

use crate::SystemError;
use crate::cgroup::{self, Cgroup};
use crate::namespace::Namespace;
use crate::proc::RUN_VARIABLE;
use crate::state::RunFolder;

/// The file that resolves the names `server` and `ue0`.
pub(super) const HOSTS: &str = "/etc/hosts";

/// A command started inside a namespace. It must stay with the thread that started it, because it
/// is killed when that thread ends (`PR_SET_PDEATHSIG`); dropping the value also kills it.
///
/// It is in the process group of this process, so that a terminal's Ctrl-C reaches both and a shell
/// gets the terminal.
#[derive(Debug)]
pub struct Running {
    child: Child,
    what: String,
    _on_this_thread: PhantomData<*const ()>,
}

impl Running {
    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its exit status, once it has ended; does not wait.
    ///
    /// # Errors
    /// The kernel does not return it.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, SystemError> {
        self.child
            .try_wait()
            .map_err(|error| SystemError::new(format!("wait for {}", self.what), error))
    }

    /// Waits until it ends.
    ///
    /// # Errors
    /// The kernel does not return its status.
    pub fn wait(&mut self) -> Result<ExitStatus, SystemError> {
        self.child
            .wait()
            .map_err(|error| SystemError::new(format!("wait for {}", self.what), error))
    }

    /// A status as a shell reports it: the code, or 128 + the number of the signal that ended the
    /// command.
    #[must_use]
    pub fn exit_code(status: ExitStatus) -> u8 {
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already, and then there is nothing to kill.
        let _ended = self.child.kill();
        let _status = self.child.wait();
        take_terminal_back();
    }
}

/// Starts `argv` in `namespace` (or, without one, in the namespace of this process) and in the
/// control group of `run`. Its children carry the run's name in their environment. In a namespace
/// `hosts` replaces `/etc/hosts`.
pub(super) fn start(
    namespace: Option<&Namespace>,
    side: &str,
    run: &RunFolder,
    hosts: Option<&Path>,
    argv: &[OsString],
    environment: &[(OsString, OsString)],
) -> Result<Running, SystemError> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| SystemError::new("run a command", "there is none"))?;
    let what = format!("`{}` on {side}", program.display());
    let failed = |error: io::Error| SystemError::new(format!("run {what}"), error);

    let mut command = Command::new(program);
    command.args(arguments).env(RUN_VARIABLE, run.name()).env("JUSTFULL_SIDE", side);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let namespace = namespace.map(Namespace::raw);
    let hosts = hosts.map(|path| c_string(path.as_os_str())).transpose().map_err(failed)?;
    let target = c_string(OsStr::new(HOSTS)).map_err(failed)?;
    let group = run.cgroup().map(Cgroup::raw);
    let parent = getpid();
    // SAFETY: between `fork` and `exec` of a process with threads only async-signal-safe calls are
    // allowed: `stay_with` and the two `enter` make system calls and allocate nothing; the caller
    // holds the owners of the descriptors, so they are open.
    unsafe {
        command.pre_exec(move || {
            stay_with(parent)?;
            // If it has no right to move itself there, its environment and its namespace identify
            // it.
            let _contained = group.map(cgroup::enter);
            if let Some(namespace) = namespace {
                enter(BorrowedFd::borrow_raw(namespace), hosts.as_deref(), &target)?;
            }
            Ok(())
        });
    }
    let child = command.spawn().map_err(failed)?;
    Ok(Running { child, what, _on_this_thread: PhantomData })
}

/// Makes the process end with its parent, and sets the normal priority.
fn stay_with(parent: Pid) -> nix::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() != parent {
        // The parent died between `fork` and here, so no process waits for the command.
        return Err(Errno::ESRCH);
    }
    normal_priority()
}

fn enter(
    namespace: BorrowedFd<'_>,
    hosts: Option<&std::ffi::CStr>,
    target: &std::ffi::CStr,
) -> nix::Result<()> {
    setns(namespace, CloneFlags::CLONE_NEWNET)?;
    if let Some(hosts) = hosts {
        unshare(CloneFlags::CLONE_NEWNS)?;
        let nothing = None::<&std::ffi::CStr>;
        mount(nothing, c"/", nothing, MsFlags::MS_REC | MsFlags::MS_SLAVE, nothing)?;
        mount(Some(hosts), target, nothing, MsFlags::MS_BIND, nothing)?;
    }
    Ok(())
}

/// The slot loop may have real-time priority; the programs it measures must not.
fn normal_priority() -> nix::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads one `sched_param`, which lives until it returns; 0 means the calling
    // process.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) })
        .map(drop)
}

/// A shell that was killed leaves the terminal to its own process group, which no longer exists.
/// This takes the terminal back.
fn take_terminal_back() {
    let terminal = io::stdin();
    if !terminal.is_terminal() {
        return;
    }
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    let mut before = SigSet::empty();
    if pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&blocked), Some(&mut before)).is_ok() {
        // Fails if it is not our controlling terminal; then there is nothing to take back.
        let _not_ours = tcsetpgrp(&terminal, getpgrp());
        let _same = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::other)
}
