//! A cgroup v2 around a run's commands (cgroups(7)): everything that a command starts is in it,
//! whatever its name, session, environment or namespace. Only a process with the right to move
//! others between groups can leave it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;

/// Number of attempts to remove a group when its run ends, and the wait between two.
const LAST_TRIES: u32 = 50;
const LAST_WAIT: Duration = Duration::from_millis(10);

/// A group without limits. Dropping this value removes it if it is empty.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    procs: File,
}

/// The path for the group of `run`, below the group of this process.
pub(super) fn place(run: &str) -> Result<PathBuf, String> {
    let (parent, prefix) = places()?;
    Ok(parent.join(prefix + run))
}

/// The group of this process, which is the parent of its runs' groups, and the prefix of their
/// names.
fn places() -> Result<(PathBuf, String), String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let groups = read("/proc/self/cgroup")?;
    let own =
        groups.lines().find_map(|line| line.strip_prefix("0::")).ok_or("no cgroup of version 2")?;
    let mounts = read("/proc/self/mountinfo")?;
    let (root, mount) =
        mounts.lines().find_map(mounted).ok_or("cgroup version 2 is not mounted")?;
    let below = if root == "/" { Some(own) } else { own.strip_prefix(root) };
    let below = below
        .filter(|below| !below.contains(".."))
        .ok_or("the own cgroup is not beneath the mounted one")?;
    // Every process namespace of the machine has the same numbers, and all may share the groups.
    let namespace = fs::metadata("/proc/self/ns/pid").map_err(|error| error.to_string())?.ino();
    Ok((Path::new(mount).join(below.trim_start_matches('/')), format!("justfull-{namespace}-")))
}

/// Removes the empty groups of runs for which `is_dead` is true, and returns their number. The
/// notes of such runs are gone, as with the `/run` of a container that shared the groups of the
/// machine.
pub(super) fn reclaim(is_dead: impl Fn(&str) -> bool) -> usize {
    places().map_or(0, |(parent, prefix)| reclaim_in(&parent, &prefix, is_dead))
}

fn reclaim_in(parent: &Path, prefix: &str, is_dead: impl Fn(&str) -> bool) -> usize {
    let is_left = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.strip_prefix(prefix)).is_some_and(&is_dead)
    };
    beneath(parent).iter().filter(|path| is_left(path)).filter(|path| remove(path)).count()
}

/// Root and mount point of a cgroup2 file system, from its line of mountinfo (proc(5)).
fn mounted(line: &str) -> Option<(&str, &str)> {
    let (mount, system) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let found = (fields.next()?, fields.next()?);
    (system.split(' ').next() == Some("cgroup2")).then_some(found)
}

impl Cgroup {
    /// Creates the group at `path`.
    pub(super) fn create(path: PathBuf) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        fs::create_dir(&path).map_err(failed)?;
        let procs = OpenOptions::new().write(true).open(path.join("cgroup.procs"));
        let usable =
            procs.and_then(|procs| fs::metadata(path.join("cgroup.kill")).map(|_there| procs));
        match usable {
            Ok(procs) => Ok(Self { path, procs }),
            Err(error) => {
                let why = failed(error);
                remove(&path);
                Err(why)
            }
        }
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The descriptor that a child passes to [`enter`] between `fork` and `exec`.
    pub(super) fn raw(&self) -> i32 {
        self.procs.as_raw_fd()
    }
}

impl Drop for Cgroup {
    /// A killed process holds its group for another moment.
    fn drop(&mut self) {
        for _ in 0..LAST_TRIES {
            if remove(&self.path) || !self.path.exists() {
                return;
            }
            thread::sleep(LAST_WAIT);
        }
    }
}

/// Moves the calling process into the group of this descriptor. Makes one system call and allocates
/// nothing.
pub(super) fn enter(procs: i32) -> nix::Result<()> {
    // SAFETY: the kernel reads the one byte of a constant.
    let written = unsafe { libc::write(procs, c"0".as_ptr().cast(), 1) };
    Errno::result(written).map(drop)
}

/// The processes in the group at `path` and in groups beneath it; empty if there is no such group.
pub(super) fn processes(path: &Path) -> Vec<u32> {
    let listed = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    // A process of another process namespace appears as 0.
    let mut found: Vec<u32> =
        listed.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid != 0).collect();
    found.extend(beneath(path).iter().flat_map(|group| processes(group)));
    found
}

/// Kills all processes in the group at `path` and below it at once, so that none can fork away
/// meanwhile.
pub(super) fn kill(path: &Path) {
    // A group that has gone holds no processes.
    let _gone = OpenOptions::new()
        .write(true)
        .open(path.join("cgroup.kill"))
        .and_then(|mut kill| kill.write_all(b"1"));
}

/// Removes the group at `path` with the groups that commands made below it; a group with processes
/// stays. True if the group is gone.
pub(super) fn remove(path: &Path) -> bool {
    for group in beneath(path) {
        remove(&group);
    }
    fs::remove_dir(path).is_ok()
}

fn beneath(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let folders =
        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

/// Tries to put a command into a group for `run`. Returns the group, or the reason of a failure.
pub(super) fn attempt(run: &str) -> Result<String, String> {
    let group = Cgroup::create(place(run)?)?;
    let procs = group.raw();
    let mut command = Command::new("true");
    command.stdin(Stdio::null());
    // SAFETY: `enter` makes one system call, on a descriptor that `group` holds open.
    unsafe {
        command.pre_exec(move || Ok(enter(procs)?));
    }
    let status =
        command.status().map_err(|error| format!("{}: {error}", group.path().display()))?;
    if status.success() {
        Ok(format!("beneath {}", group.path().parent().unwrap_or(group.path()).display()))
    } else {
        Err(format!("`true` ended with {status}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_groups_of_dead_runs_are_removed_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a folder can be made");
        // A folder with a folder in it stands for a group with processes below a group without.
        let groups = ["ours-dead-1", "ours-dead-2/beneath", "ours-alive", "other-dead", "dead"];
        for group in groups {
            fs::create_dir_all(parent.path().join(group)).expect("a folder can be made");
        }
        fs::create_dir(parent.path().join("ours-dead-busy")).expect("a folder can be made");
        fs::write(parent.path().join("ours-dead-busy/process"), "").expect("a file");
        fs::write(parent.path().join("ours-dead-file"), "").expect("a file");
        let is_dead = |run: &str| run.starts_with("dead");
        assert_eq!(reclaim_in(parent.path(), "ours-", is_dead), 2);
        let entries = fs::read_dir(parent.path()).expect("it is read");
        let mut left: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["dead", "other-dead", "ours-alive", "ours-dead-busy", "ours-dead-file"]);
        assert_eq!(reclaim_in(&parent.path().join("none"), "ours-", is_dead), 0);
    }
}
