//! A run's files, and the cleanup after a killed run.
//!
//! A run has one folder `PID-START-N`: number and start time of its process, so that a process with
//! a reused number is not taken for the owner; N distinguishes runs of one process. It holds the
//! inodes and cookies of the run's namespaces and the files that its commands see. Namespaces and
//! TUN devices have no name and need no cleanup.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::unistd::geteuid;

use crate::SystemError;
use crate::cgroup::{self, Cgroup};
use crate::namespace::NamespaceId;
use crate::proc::{Mark, end_marked, start_time};

const NAMESPACES: &str = "namespaces";
const CGROUP: &str = "cgroup";

/// Time for a command to end by itself.
const GRACE: Duration = Duration::from_millis(300);

/// Counts of removed things, by [`sweep`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Runs whose process had ended.
    pub runs: usize,
    /// Processes that these runs left.
    pub processes: usize,
    /// Empty control groups without any other trace of their run.
    pub groups: usize,
}

/// The folder of one run, and the control group of its commands if possible; removed when this
/// value is dropped.
#[derive(Debug)]
pub(super) struct RunFolder {
    path: PathBuf,
    name: String,
    cgroup: Option<Cgroup>,
}

/// A name that no other run has or had: see the module's page.
pub(super) fn new_name() -> Result<String, SystemError> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let pid = std::process::id();
    let start = start_time(pid).ok_or_else(|| {
        SystemError::new("read /proc/self/stat", "no start time; is /proc mounted?")
    })?;
    Ok(format!("{pid}-{start}-{}", RUNS.fetch_add(1, Ordering::Relaxed)))
}

impl RunFolder {
    pub(super) fn create() -> Result<Self, SystemError> {
        let name = new_name()?;
        let path = in_home(&home()?, |home| {
            let path = home.join(&name);
            fs::create_dir(&path).map(|()| path)
        });
        let path = path
            .map_err(|error| SystemError::new(format!("make the folder of run {name}"), error))?;
        let mut folder = Self { path, name, cgroup: None };
        if let Ok(place) = cgroup::place(&folder.name) {
            // The note comes before the group, so that a kill in between leaves nothing unknown.
            folder.write(CGROUP, &place.to_string_lossy())?;
            folder.cgroup = Cgroup::create(place).ok();
        }
        Ok(folder)
    }

    /// The group that holds the run's commands.
    pub(super) fn cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref()
    }

    /// Ends all processes of the run, which holds `namespaces`: first by SIGTERM, then by SIGKILL.
    /// Returns their number.
    pub(super) fn end_processes(&self, namespaces: &[NamespaceId]) -> Result<usize, SystemError> {
        let cgroup = self.cgroup.as_ref().map(Cgroup::path);
        let (found, left) =
            end_marked(&Mark { run: &self.name, namespaces, cgroup, stale: false }, GRACE);
        if left.is_empty() {
            Ok(found)
        } else {
            Err(SystemError::new("end the commands", format!("processes {left:?} stay")))
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The run's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Notes the identities of the run's namespaces, for cleanup.
    pub(super) fn note(&self, namespaces: &[NamespaceId]) -> Result<(), SystemError> {
        let lines: String =
            namespaces.iter().map(|id| format!("{} {}\n", id.inode, id.cookie)).collect();
        self.write(NAMESPACES, &lines).map(drop)
    }

    /// Writes a world-readable file, and returns its path.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, SystemError> {
        let path = self.path.join(name);
        let written = fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o644)));
        written.map_err(|error| SystemError::new(format!("write {}", path.display()), error))?;
        Ok(path)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // The group goes before the note about it.
        self.cgroup = None;
        // The next sweep finds the rest.
        let _left = fs::remove_dir_all(&self.path);
        if let Some(home) = self.path.parent() {
            remove_if_empty(home);
        }
    }
}

/// Removes the leftovers of this user's killed runs: processes in their namespaces, control groups
/// and files. It does not touch runs with a living process, or anything without our mark.
///
/// # Errors
/// The folder of runs cannot be created or read, or a process cannot be ended.
pub fn sweep() -> Result<Swept, SystemError> {
    let home = home()?;
    let swept = sweep_home(&home);
    remove_if_empty(&home);
    let groups = cgroup::reclaim(|run| owner_is_dead(run) == Some(true));
    swept.map(|swept| Swept { groups, ..swept })
}

fn sweep_home(home: &Path) -> Result<Swept, SystemError> {
    let entries = in_home(home, |home| fs::read_dir(home));
    let entries =
        entries.map_err(|error| SystemError::new(format!("read {}", home.display()), error))?;
    let mut swept = Swept::default();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if owner_is_dead(name) == Some(true) {
            let (processes, was_there) = remove(&entry.path(), name)?;
            swept.processes += processes;
            swept.runs += usize::from(was_there);
        }
    }
    Ok(swept)
}

/// Most attempts to recreate the folder of runs after another run, ending meanwhile, has removed
/// it.
const ROUNDS: u32 = 100;

/// Runs `work` in the folder of runs, which exists when `work` begins. Each run that ends removes
/// the folder if it is empty; then this function recreates it and repeats `work`.
fn in_home<T>(home: &Path, work: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let gone = |done: &io::Result<T>| {
        matches!(done,
        Err(error) if error.kind() == io::ErrorKind::NotFound)
    };
    let mut done = own(home).and_then(|()| work(home));
    for _ in 0..ROUNDS {
        if !gone(&done) {
            break;
        }
        done = own(home).and_then(|()| work(home));
    }
    done
}

fn remove_if_empty(home: &Path) {
    // Other runs may still use it.
    let _used = fs::remove_dir(home);
}

/// True if the process of run `name` has ended; none if this is not the name of a run.
fn owner_is_dead(name: &str) -> Option<bool> {
    let mut parts = name.split('-').map(str::parse::<u64>);
    let (Some(Ok(pid)), Some(Ok(start)), Some(Ok(_)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    Some(start_time(u32::try_from(pid).ok()?) != Some(start))
}

/// Ends the processes of run `name` and removes its folder. Returns the number of processes, and
/// whether the folder was still there: a run that ended by itself after the listing has removed it.
fn remove(path: &Path, name: &str) -> Result<(usize, bool), SystemError> {
    let noted = fs::read_to_string(path.join(NAMESPACES)).unwrap_or_default();
    let namespaces: Vec<NamespaceId> = noted.lines().filter_map(parse).collect();
    let noted = fs::read_to_string(path.join(CGROUP)).unwrap_or_default();
    let group = Path::new(&noted);
    let ours =
        group.file_name().and_then(|last| last.to_str()).is_some_and(|last| last.ends_with(name));
    let cgroup = Some(group).filter(|_| ours);
    let mark = Mark { run: name, namespaces: &namespaces, cgroup, stale: true };
    let (found, left) = end_marked(&mark, Duration::ZERO);
    if !left.is_empty() {
        return Err(SystemError::new(
            format!("end the processes of run {name}"),
            format!("processes {left:?} do not end"),
        ));
    }
    // A group that is not empty yet is reclaimed later.
    let _removed = cgroup.map(cgroup::remove);
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((found, false)),
        Err(error) => Err(SystemError::new(format!("remove {}", path.display()), error)),
        Ok(()) => Ok((found, true)),
    }
}

fn parse(line: &str) -> Option<NamespaceId> {
    let (inode, cookie) = line.split_once(' ')?;
    Some(NamespaceId { inode: inode.parse().ok()?, cookie: cookie.parse().ok()? })
}

/// The folder of runs: the first of the usual places that can belong to us alone. A boot empties
/// the first two.
fn home() -> Result<PathBuf, SystemError> {
    let session =
        std::env::var_os("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("justfull"));
    let fallback = std::env::temp_dir().join(format!("justfull-{}", user_outside()));
    let mut refused = Vec::new();
    for folder in
        [Some(PathBuf::from("/run/justfull")), session, Some(fallback)].into_iter().flatten()
    {
        match in_home(&folder, |_home| Ok(())) {
            Ok(()) => return Ok(folder),
            Err(error) => refused.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(SystemError::new("make a folder for the notes of runs", refused.join("; ")))
}

/// The number of this user outside our own user namespace; inside, every user is 0.
fn user_outside() -> u32 {
    let user = geteuid().as_raw();
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    // Each line: first number inside, first number outside, count.
    let outside = map.lines().find_map(|line| {
        let mut numbers = line.split_ascii_whitespace().map(|number| number.parse::<u32>().ok());
        let (inside, outside, count) = (numbers.next()??, numbers.next()??, numbers.next()??);
        user.checked_sub(inside).filter(|offset| *offset < count).map(|offset| outside + offset)
    });
    outside.unwrap_or(user)
}

/// Creates a folder that only we can write to, or checks that it is one.
fn own(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let metadata = fs::symlink_metadata(folder)?;
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may write to it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_run_that_took_its_own_folder_along_left_nothing() {
        let home = tempfile::tempdir().expect("a folder can be made");
        // No process has this number and this start time.
        let name = format!("{}-0-0", std::process::id());
        let path = home.path().join(&name);
        assert_eq!(remove(&path, &name).expect("there is nothing to remove"), (0, false));
        fs::create_dir(&path).expect("a folder can be made");
        assert_eq!(
            sweep_home(home.path()).expect("it is read"),
            Swept { runs: 1, ..Swept::default() }
        );
        assert!(!path.exists());
    }

    #[test]
    fn runs_that_start_while_others_end_find_their_folder_or_make_it() {
        let outside = tempfile::tempdir().expect("a folder can be made");
        let home = outside.path().join("justfull");
        thread::scope(|scope| {
            for thread in 0..8 {
                let home = &home;
                scope.spawn(move || {
                    for round in 0..400 {
                        sweep_home(home).expect("it is read");
                        let made = in_home(home, |home| {
                            let path = home.join(format!("mine-{thread}-{round}"));
                            fs::create_dir(&path).map(|()| path)
                        });
                        fs::remove_dir(made.expect("it is made")).expect("it is empty");
                        remove_if_empty(home);
                    }
                });
            }
        });
        assert!(!home.exists(), "the last took it along");
    }
}
