//! The rights of this process, and the rights that a live run needs.

use std::fs;
use std::io;
use std::thread;

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use crate::SystemError;
use crate::cgroup;
use crate::namespace::Namespace;
use crate::netlink::LinkName;
use crate::state;
use crate::tun::{self, Tun};

/// Bits of `CapEff` (capabilities(7)).
const CAP_NET_ADMIN: u64 = 1 << 12;
const CAP_SYS_ADMIN: u64 = 1 << 21;

/// The privilege with which the network is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// The process has `CAP_NET_ADMIN` and `CAP_SYS_ADMIN`.
    Own,
    /// It has them only inside a user namespace, which has no real-time priority.
    UserNamespace,
}

/// Finds the privilege to build a network: the process's own, or the one of a new user namespace,
/// which it enters. Call it while the process has one thread: the kernel lets no other enter a user
/// namespace.
///
/// # Errors
/// Neither is available; the error names the missing capabilities and the obstacle to a user
/// namespace.
pub fn privilege() -> Result<Privilege, SystemError> {
    let needed = CAP_NET_ADMIN | CAP_SYS_ADMIN;
    if effective()? & needed == needed {
        return Ok(Privilege::Own);
    }
    let (user, group) = (geteuid(), getegid());
    let entered = unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| match error {
        Errno::EINVAL => io::Error::other("this process has more than one thread by now"),
        other => other.into(),
    });
    let entered = entered.and_then(|()| {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("0 {group} 1"))
    });
    match entered {
        Ok(()) => Ok(Privilege::UserNamespace),
        Err(error) => Err(SystemError::new(
            "build network namespaces",
            format!(
                "CAP_SYS_ADMIN and CAP_NET_ADMIN are needed (run as root), or a user namespace, \
                 which the kernel refuses: {error}; see user.max_user_namespaces, \
                 kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns"
            ),
        )),
    }
}

fn effective() -> Result<u64, SystemError> {
    let refuse = |reason: String| SystemError::new("read CapEff of /proc/self/status", reason);
    let status =
        fs::read_to_string("/proc/self/status").map_err(|error| refuse(error.to_string()))?;
    let bits = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .ok_or_else(|| refuse("not there".into()))?;
    u64::from_str_radix(bits.trim(), 16).map_err(|error| refuse(error.to_string()))
}

/// A resource or right that a live run needs or can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// Its name: "real-time priority".
    pub name: &'static str,
    /// True when a run cannot do without it.
    pub required: bool,
    /// The available form, or why there is none and how to get it.
    pub found: Result<String, String>,
}

/// Tries all that a run needs, in a temporary namespace.
#[must_use]
pub fn capabilities() -> Vec<Capability> {
    let namespace = Namespace::create();
    let entered = match &namespace {
        Ok(namespace) => {
            namespace.enter(|| Ok(())).map_err(|error| with_capability(&error, "CAP_SYS_ADMIN"))
        }
        Err(error) => Err(with_capability(error, "CAP_SYS_ADMIN")),
    };
    let opened = match &namespace {
        Ok(namespace) => namespace.enter(|| {
            let link = LinkName::new("jfcheck").map_err(io::Error::other)?;
            Tun::joining(link, true).map(|tun| tun.cuts())
        }),
        Err(_) => Err(io::Error::other("there is no namespace to make it in")),
    };
    let single = "the kernel has no such offload; packets are exchanged one by one";
    let cuts = opened.as_ref().ok().copied().flatten().ok_or(single);
    let named = |name, required, found| Capability { name, required, found };
    vec![
        named("network namespaces", true, entered.map(|()| "can be made and entered".into())),
        named(
            "TUN devices",
            true,
            opened
                .map(|_cuts| format!("{} opens", tun::DEVICE))
                .map_err(|error| with_capability(&error, "CAP_NET_ADMIN")),
        ),
        named("many segments at once", false, cuts.map(str::to_owned).map_err(str::to_owned)),
        named("real-time priority", false, real_time()),
        named(
            "cgroup for commands",
            false,
            contained().map_err(|why| {
                format!(
                    "{why}; a command that empties its environment and makes its own namespace \
                     outlives the run"
                )
            }),
        ),
        named("congestion controls", false, {
            let known = congestion_controls();
            if known.is_empty() {
                Err("the kernel does not say which it has".into())
            } else {
                Ok(known.join(", "))
            }
        }),
    ]
}

/// The place to contain a command, or why there is none.
fn contained() -> Result<String, String> {
    let run = state::new_name().map_err(|error| error.to_string())?;
    cgroup::attempt(&run)
}

/// Tries SCHED_FIFO on a thread that ends with the attempt.
fn real_time() -> Result<String, String> {
    let attempt = || {
        let parameters = libc::sched_param { sched_priority: 1 };
        // SAFETY: the call reads one `sched_param`, which lives until it returns; 0 means the
        // calling thread.
        Errno::result(unsafe {
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters)
        })
    };
    let answer = thread::scope(|scope| scope.spawn(attempt).join())
        .map_err(|_panic| "the attempt panicked".to_owned())?;
    match answer {
        Ok(_) => Ok("SCHED_FIFO".into()),
        Err(error) => Err(format!(
            "{error}; needs CAP_SYS_NICE or RLIMIT_RTPRIO; without it slots are late under load"
        )),
    }
}

/// The congestion controls that the kernel has loaded; empty when unknown.
pub(super) fn congestion_controls() -> Vec<String> {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default();
    list.split_ascii_whitespace().map(str::to_owned).collect()
}

/// `error`; if it is a refusal, with the missing capability.
pub(super) fn with_capability(error: &io::Error, capability: &str) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM) => format!("{error}; needs {capability}, or a user namespace"),
        Some(Errno::EACCES) => {
            format!("{error}; this user may not open it: its mode should be 666, as udev sets it")
        }
        Some(Errno::ENOENT | Errno::ENODEV | Errno::ENXIO) => {
            format!("{error}; this kernel has no such device")
        }
        _ => error.to_string(),
    }
}
