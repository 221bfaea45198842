//! The service manager's notify protocol (sd_notify(3)): lines of `NAME=VALUE` in a datagram to the
//! socket that `NOTIFY_SOCKET` names.

use nix::time::{ClockId, clock_gettime};
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// A service manager, or none.
#[derive(Debug, Default)]
pub(crate) struct Manager {
    to: Option<(UnixDatagram, SocketAddr)>,
}

impl Manager {
    /// The manager that started this process.
    pub(crate) fn of_environment() -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET");
        // Without the socket there is no manager.
        Self { to: socket.and_then(|name| at(&name).ok()) }
    }

    /// The socket does not block, so a manager that does not read costs nothing.
    fn tell(&self, words: &str) {
        if let Some((socket, to)) = &self.to {
            let _nobody = socket.send_to_addr(words.as_bytes(), to);
        }
    }

    /// The service has started, or its reload is over.
    pub(crate) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nMAINPID={}\nSTATUS={status}", std::process::id()));
    }

    /// A reload, or a takeover, begins. [`Manager::ready`] ends it.
    pub(crate) fn reloading(&self) {
        if self.to.is_some() {
            let now = clock_gettime(ClockId::CLOCK_MONOTONIC);
            let micros = now.map_or(0, |now| now.tv_sec() * 1_000_000 + now.tv_nsec() / 1_000);
            self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
        }
    }

    /// Another process is the service from now on.
    pub(crate) fn succeeded_by(&self, process: i32) {
        self.tell(&format!("MAINPID={process}"));
    }

    /// The service ends.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=draining");
    }
}

fn at(name: &OsStr) -> io::Result<(UnixDatagram, SocketAddr)> {
    let to = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(Path::new(name))?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok((socket, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_at_a_path_and_at_an_abstract_name_and_nobody_is_no_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let name = format!("justfull-{}", path.display());
        let abstract_name = SocketAddr::from_abstract_name(&name).expect("a name");
        for (listener, socket) in [
            (UnixDatagram::bind(&path), path.display().to_string()),
            (UnixDatagram::bind_addr(&abstract_name), format!("@{name}")),
        ] {
            let listener = listener.expect("it listens");
            let manager = Manager { to: at(OsStr::new(&socket)).ok() };
            manager.reloading();
            manager.succeeded_by(7);
            manager.ready("running");
            let next = || {
                let mut buffer = [0; 256];
                let length = listener.recv(&mut buffer).expect("a datagram");
                String::from_utf8_lossy(&buffer[..length]).into_owned()
            };
            let first = next();
            let micros = first.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect("in this form");
            assert!(micros.parse::<u64>().is_ok_and(|micros| micros > 0), "{first}");
            assert_eq!(next(), "MAINPID=7");
            let own = std::process::id();
            assert_eq!(next(), format!("READY=1\nMAINPID={own}\nSTATUS=running"));
            drop(listener);
            manager.stopping();
        }
        Manager::default().ready("running");
    }
}
