//! The protocol between a proxy and its successor: messages with descriptors over a local stream
//! (unix(7), `SCM_RIGHTS`).
//!
//! The old proxy sends everything and keeps its copies. The new proxy sends READY. The old proxy
//! answers and ends; the new proxy begins after this answer. A failure before the answer leaves the
//! old proxy unchanged: both hold every descriptor, and neither has read or sent data. If the old
//! proxy dies after READY without an answer, the new proxy begins too: a refusal would be an
//! answer.

use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Version of this protocol, and the versions of old proxies that a new one understands.
pub(crate) const VERSION: u32 = 5;
pub(crate) const VERSIONS: RangeInclusive<u32> = 3..=VERSION;
/// Longest wait of either side at each step.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Descriptors of one message, fewer than the kernel's `SCM_MAX_FD`.
const MOST_FDS: usize = 32;
/// Bytes of one message.
const LONGEST: usize = 1 << 20;
/// Messages of one byte.
const READY: u8 = b'r';
const YOURS: u8 = b'y';
const REFUSED: u8 = b'n';

/// One side of the stream.
#[derive(Debug)]
pub(crate) struct Line {
    stream: UnixStream,
}

impl Line {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream })
    }

    /// Sends a message and copies of descriptors.
    pub(crate) fn send<T: Serialize>(
        &mut self,
        what: &T,
        fds: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let text = serde_json::to_vec(what)?;
        let length = u32::try_from(text.len()).map_err(io::Error::other)?.to_be_bytes();
        let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&raw)];
        let rights = if raw.is_empty() { &rights[..0] } else { &rights[..] };
        let none = MsgFlags::MSG_NOSIGNAL;
        let part = [IoSlice::new(&length)];
        let sent = sendmsg::<UnixAddr>(self.stream.as_raw_fd(), &part, rights, none, None)?;
        if sent != length.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.stream.write_all(&text)
    }

    /// Receives a message and its descriptors.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<(T, Vec<OwnedFd>)> {
        let mut length = [0; 4];
        let (got, fds) = {
            let mut space = cmsg_space!([RawFd; MOST_FDS]);
            let mut part = [IoSliceMut::new(&mut length)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            let message =
                recvmsg::<UnixAddr>(self.stream.as_raw_fd(), &mut part, Some(&mut space), flags)?;
            let mut fds = Vec::new();
            for control in message.cmsgs()? {
                if let ControlMessageOwned::ScmRights(raw) = control {
                    // SAFETY: the kernel has just made these descriptors for this process.
                    fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
                }
            }
            (message.bytes, fds)
        };
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.stream.read_exact(&mut length[got..])?;
        let length = u32::from_be_bytes(length) as usize;
        if length > LONGEST {
            return Err(io::Error::other("a message that is too long"));
        }
        let mut text = vec![0; length];
        self.stream.read_exact(&mut text)?;
        Ok((serde_json::from_slice(&text)?, fds))
    }

    /// Old proxy: waits until the new one is ready, and gives up everything. True if the new one
    /// owns it from now on.
    pub(crate) fn give(&mut self) -> bool {
        let mut word = [0];
        let ready = self.stream.read_exact(&mut word).is_ok() && word[0] == READY;
        ready && self.stream.write_all(&[YOURS]).is_ok()
    }

    /// Old proxy: keeps everything.
    pub(crate) fn refuse(&mut self) {
        // If this fails, the new one has gone.
        let _gone = self.stream.write_all(&[REFUSED]);
    }

    /// New proxy: sends READY, and waits for the old one's answer.
    ///
    /// # Errors
    /// The old proxy keeps everything.
    pub(crate) fn take(&mut self) -> io::Result<()> {
        let mut word = [0];
        self.stream.write_all(&[READY])?;
        loop {
            // The old proxy answers at once. If it hangs, it still owns everything.
            return match self.stream.read(&mut word) {
                Ok(1) if word[0] == YOURS => Ok(()),
                // It has died, and this process has its descriptors.
                Ok(0) => Ok(()),
                Ok(_) => Err(io::Error::other("the old proxy goes on")),
                // This process was stopped and continued (signal(7)): the answer may still come.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => Err(e),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn a_message_brings_its_own_descriptors_and_words_decide() {
        let (old, new) = UnixStream::pair().expect("a pair");
        let (mut old, mut new) = (Line::new(old).expect("set"), Line::new(new).expect("set"));
        let file = File::open("/dev/null").expect("it is there");
        for count in [0, 1, MOST_FDS, 3] {
            old.send(&format!("with {count}"), &vec![file.as_fd(); count]).expect("sent");
        }
        for count in [0, 1, MOST_FDS, 3] {
            let (text, fds): (String, _) = new.receive().expect("it comes");
            assert_eq!((text, fds.len()), (format!("with {count}"), count));
        }
        let taker = std::thread::spawn(move || new.take().map(|()| new));
        assert!(old.give());
        let mut new = taker.join().expect("it ends").expect("taken");
        old.refuse();
        assert!(new.take().is_err());
        drop(new);
        assert!(!old.give(), "nobody is there");
    }

    #[test]
    fn nonsense_is_an_error() {
        for bytes in [&b"\0\0\0\x04nope"[..], &[255; 8], b"\0\0", b""] {
            let (mut old, new) = UnixStream::pair().expect("a pair");
            let mut new = Line::new(new).expect("set");
            old.write_all(bytes).expect("sent");
            drop(old);
            assert!(new.receive::<String>().is_err(), "{bytes:?}");
        }
    }
}
