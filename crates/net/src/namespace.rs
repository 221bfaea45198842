//! A network namespace held by a descriptor, without a name.
//!
//! It has no entry in the file system, so it ends with the last process and the last descriptor in
//! it. A process killed by SIGKILL leaves a namespace only if a command that it started lives on;
//! [`sweep`](crate::sweep) finds such commands.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Identity of a network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamespaceId {
    /// Inode of `/proc/PID/ns/net`. The kernel reuses it when the namespace has ended.
    pub(super) inode: u64,
    /// `SO_NETNS_COOKIE`: never reused.
    pub(super) cookie: u64,
}

/// A network namespace that lives at least as long as this value.
#[derive(Debug)]
pub(super) struct Namespace {
    file: File,
    id: NamespaceId,
}

impl Namespace {
    /// Creates a namespace with a loopback interface that is down.
    pub(super) fn create() -> io::Result<Self> {
        in_thread(Self::enter_new)
    }

    /// Creates a namespace as [`Namespace::create`] does, and moves the calling thread into it.
    pub(super) fn enter_new() -> io::Result<Self> {
        unshare(CloneFlags::CLONE_NEWNET)?;
        Self::of_this_thread(File::open("/proc/thread-self/ns/net")?)
    }

    /// Opens the namespace behind a path of `/proc`, and reads its cookie inside.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        in_thread(|| {
            setns(&file, CloneFlags::CLONE_NEWNET)?;
            Self::of_this_thread(file)
        })
    }

    fn of_this_thread(file: File) -> io::Result<Self> {
        let probe = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        let id = NamespaceId { inode: file.metadata()?.ino(), cookie: cookie(&probe)? };
        Ok(Self { file, id })
    }

    /// Its identity.
    pub(super) const fn id(&self) -> NamespaceId {
        self.id
    }

    /// Runs `work` inside, on a separate thread: the calling thread never leaves its namespace.
    pub(super) fn enter<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        in_thread(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }

    /// The descriptor's number, for a child between `fork` and `exec`.
    pub(super) fn raw(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

/// The number of a socket's network namespace (`SO_NETNS_COOKIE`, Linux 5.14).
fn cookie(socket: &OwnedFd) -> io::Result<u64> {
    let mut cookie = 0_u64;
    let mut length = libc::socklen_t::try_from(size_of::<u64>()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes to the u64, which is its size, and then
    // writes the number of bytes to `length`.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast::<libc::c_void>(),
            &raw mut length,
        )
    };
    Errno::result(answer)?;
    Ok(cookie)
}

fn in_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work)?;
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
