//! Information about processes from `/proc` (proc(5)).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cgroup;
use crate::namespace::{Namespace, NamespaceId};

/// How often to check whether a signalled process has gone.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How often SIGKILL is repeated: a process may have forked between being found and being killed.
const KILL_ROUNDS: u32 = 300;
/// The variable that identifies a command's descendants, whatever namespace they went to.
pub(super) const RUN_VARIABLE: &str = "JUSTFULL_RUN";

/// When a process was started, in clock ticks since boot; together with its number this is never
/// reused. None when there is no such process, or only its status is left.
pub(super) fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in brackets, which may itself contain blanks and brackets.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?.parse().ok()?;
    (state != "Z" && state != "X").then_some(start)
}

/// How to identify the processes of a run.
#[derive(Debug)]
pub(super) struct Mark<'a> {
    /// The run's name, in [`RUN_VARIABLE`] of every command that it started and of their
    /// descendants.
    pub(super) run: &'a str,
    /// The run's namespaces.
    pub(super) namespaces: &'a [NamespaceId],
    /// The control group of its commands, if there is one.
    pub(super) cgroup: Option<&'a Path>,
    /// The run no longer holds its namespaces, and their inodes may have been reused: compare
    /// cookies as well.
    pub(super) stale: bool,
}

impl Mark<'_> {
    fn is_on(&self, pid: u32) -> bool {
        self.is_in_environment(pid) || self.is_in_namespace(pid)
    }

    fn is_in_environment(&self, pid: u32) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
        environment.split(|byte| *byte == 0).any(|entry| {
            let value = entry
                .strip_prefix(RUN_VARIABLE.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="));
            value == Some(self.run.as_bytes())
        })
    }

    fn is_in_namespace(&self, pid: u32) -> bool {
        let path = PathBuf::from(format!("/proc/{pid}/ns/net"));
        let Ok(metadata) = fs::metadata(&path) else { return false };
        let Some(known) = self.namespaces.iter().find(|id| id.inode == metadata.ino()) else {
            return false;
        };
        !self.stale || Namespace::open(&path).is_ok_and(|namespace| namespace.id() == *known)
    }
}

/// The processes that carry the mark, except this one, in no order.
pub(super) fn marked(mark: &Mark<'_>) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let contained = mark.cgroup.map(cgroup::processes).unwrap_or_default();
    pids.filter(|pid| *pid != std::process::id() && (contained.contains(pid) || mark.is_on(*pid)))
        .collect()
}

/// Ends all processes that carry the mark: SIGTERM; SIGHUP to those left after half of `grace`;
/// SIGKILL after all of it. Returns their number, and those still alive after three seconds (a
/// process in uninterruptible sleep).
pub(super) fn end_marked(mark: &Mark<'_>, grace: Duration) -> (usize, Vec<u32>) {
    let mut left = marked(mark);
    let found = left.len();
    if !grace.is_zero() {
        signal_all(&left, Signal::SIGTERM);
        // A stopped process handles no signal until it continues.
        signal_all(&left, Signal::SIGCONT);
        let rounds = grace.as_millis() / LOOK_EVERY.as_millis();
        for round in 0..rounds {
            if left.is_empty() {
                break;
            }
            if round == rounds / 2 {
                // A shell with a terminal ignores SIGTERM but not SIGHUP. SIGHUP waits, since most
                // programs that handle SIGTERM do not handle it.
                signal_all(&left, Signal::SIGHUP);
            }
            thread::sleep(LOOK_EVERY);
            left = marked(mark);
        }
    }
    for _ in 0..KILL_ROUNDS {
        if left.is_empty() {
            break;
        }
        mark.cgroup.map(cgroup::kill);
        signal_all(&left, Signal::SIGKILL);
        thread::sleep(LOOK_EVERY);
        left = marked(mark);
    }
    (found, left)
}

fn signal_all(pids: &[u32], signal: Signal) {
    for pid in pids {
        // It may have ended by itself.
        let _gone = kill(Pid::from_raw(pid.cast_signed()), signal);
    }
}
