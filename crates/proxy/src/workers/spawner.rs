//! The process that starts workers. It is made while the proxy has one thread, so each worker
//! begins as a copy of a process without locks, sockets and descriptors.
//!
//! It ends with the proxy: its end of the line to the proxy is then at its end.

use crate::line::Line;
use nix::cmsg_space;
use nix::libc;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    recvmsg, sendmsg, socketpair,
};
use nix::unistd::{ForkResult, fork};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The only descriptor that a child keeps beside the standard streams.
const KEPT: RawFd = 3;

/// The proxy's end.
#[derive(Debug)]
pub(crate) struct Spawner {
    socket: OwnedFd,
}

impl Spawner {
    /// Makes the process. `work` is a worker with its end of the line.
    ///
    /// # Errors
    /// The kernel makes no process.
    pub(crate) fn start(work: impl Fn(Line)) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let (own, other) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
        // SAFETY: the caller's process has one thread, or the others hold no lock: the child
        // allocates and makes system calls, and the C library makes its allocator usable.
        match unsafe { fork() }? {
            ForkResult::Parent { .. } => Ok(Self { socket: own }),
            ForkResult::Child => end(|| serve(only(other.as_raw_fd())?, &work)),
        }
    }

    /// A spawner whose process has ended, so that no worker starts.
    #[cfg(test)]
    pub(crate) fn gone() -> Self {
        let flags = SockFlag::SOCK_CLOEXEC;
        let pair = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags);
        Self { socket: pair.expect("a pair").0 }
    }

    /// Starts a worker with its end of the line.
    ///
    /// # Errors
    /// The process that starts workers has gone.
    pub(crate) fn spawn(&self, line: OwnedFd) -> io::Result<()> {
        let raw = [line.as_raw_fd()];
        let rights = [ControlMessage::ScmRights(&raw)];
        let part = [IoSlice::new(b"w")];
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        sendmsg::<UnixAddr>(self.socket.as_raw_fd(), &part, &rights, flags, None)?;
        Ok(())
    }
}

/// Waits for lines, and starts a worker for each.
fn serve(socket: OwnedFd, work: &impl Fn(Line)) -> io::Result<()> {
    // SAFETY: no handler runs. The kernel then removes workers that have ended.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) }?;
    while let Some(line) = receive(&socket)? {
        // SAFETY: this process has one thread. After a failed fork the line closes, and the proxy
        // tries again.
        if let Ok(ForkResult::Child) = unsafe { fork() } {
            end(|| {
                let line = only(line.as_raw_fd())?;
                work(Line::of(line));
                Ok(())
            });
        }
    }
    Ok(())
}

/// The next line; none after the end of the proxy.
fn receive(socket: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut bytes = [0; 1];
    let mut space = cmsg_space!([RawFd; 1]);
    let mut part = [IoSliceMut::new(&mut bytes)];
    let message = recvmsg::<UnixAddr>(
        socket.as_raw_fd(),
        &mut part,
        Some(&mut space),
        MsgFlags::MSG_CMSG_CLOEXEC,
    )?;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = control {
            // SAFETY: the kernel has just made this descriptor for this process.
            let mut fds = raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
            return Ok(fds.next());
        }
    }
    Ok(None)
}

/// Runs a child to its end, without the parent's code after it.
fn end(work: impl FnOnce() -> io::Result<()>) -> ! {
    let ended = catch_unwind(AssertUnwindSafe(work));
    let code = i32::from(!matches!(ended, Ok(Ok(()))));
    // SAFETY: the child must not run the parent's code at its end.
    unsafe { libc::_exit(code) }
}

/// Closes all descriptors but the standard streams and one, which becomes [`KEPT`].
fn only(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the child uses no other descriptor, and this one lives in the value that is returned.
    unsafe {
        if libc::dup3(fd, KEPT, libc::O_CLOEXEC) < 0 && fd != KEPT
            || libc::close_range(KEPT as u32 + 1, u32::MAX, 0) < 0
        {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(KEPT))
    }
}
