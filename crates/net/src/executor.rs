//! A child that acts when this process ends, even by SIGKILL. It removes state that the kernel
//! keeps.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2};

/// The message that arms the child; any other disarms it.
const ARM: u8 = b'a';
const DISARM: u8 = b'd';
/// The only descriptor that the child keeps. With a copy of a socket it would keep a connection
/// open.
const KEPT: i32 = 0;

/// The child. When this is dropped it ends without acting.
#[derive(Debug)]
pub(super) struct Executor {
    line: Option<File>,
    child: Pid,
}

impl Executor {
    /// Starts the child, which does not act before it is armed. `act` runs in it, with no
    /// descriptor of this process, in the namespaces of the calling thread.
    pub(super) fn start(act: impl FnOnce()) -> io::Result<Self> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
        // SAFETY: the child allocates and makes system calls; it locks nothing that another thread
        // could hold, and the C library makes its allocator usable after `fork`.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => {
                // The child closes its own copy of the other end, so that the line can end.
                Ok(Self { line: Some(File::from(write)), child })
            }
            ForkResult::Child => {
                let line = only(read.as_raw_fd());
                if line.is_ok_and(waits) {
                    act();
                }
                // SAFETY: the child must not run the parent's code at its end.
                unsafe { libc::_exit(0) }
            }
        }
    }

    pub(super) fn arm(&mut self) {
        self.say(ARM);
    }

    pub(super) fn disarm(&mut self) {
        self.say(DISARM);
    }

    fn say(&mut self, word: u8) {
        if let Some(line) = &mut self.line {
            // If the child was killed, the next start removes the leftovers.
            let _gone = line.write_all(&[word]);
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.disarm();
        self.line = None;
        let _ended = waitpid(self.child, None);
    }
}

/// Closes all descriptors but one, which becomes [`KEPT`].
fn only(fd: i32) -> io::Result<File> {
    // SAFETY: the child uses no other descriptor, and this one lives in the file that is returned.
    unsafe {
        if libc::dup2(fd, KEPT) < 0 || libc::close_range(KEPT as u32 + 1, u32::MAX, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(File::from_raw_fd(KEPT))
    }
}

/// Waits for the end of the parent. True if the child is still armed then.
fn waits(mut line: File) -> bool {
    let (mut word, mut armed) = ([0], false);
    loop {
        match line.read(&mut word) {
            Ok(0) => return armed,
            Ok(_) => armed = word[0] == ARM,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}
