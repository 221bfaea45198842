//! The proxy inside tunnels: it runs in the routing domain of a stage at N3 or S1-U (`justfull
//! n3`). Reports, status and metrics stay in the namespace in which it was started.

use justfull_base::table;
use justfull_net::{Home, SystemError, domain};
use nix::net::if_::if_nametoindex;
use nix::sys::signal::{Signal, kill};
use nix::unistd::getpid;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// Time between two checks of the domain's devices.
const LOOK: Duration = Duration::from_millis(250);

table! {
    /// The stage that takes connections out of GTP-U, at N3 or S1-U.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct N3StageConfig with Default {
        /// Socket of a running `justfull n3`, its `operation.socket`; `select.interfaces` is then
        /// `ue`. Left out: connections arrive as plain IP.
        socket: String = String::new(),
            rule("an absolute path of at most 100 bytes",
                |c| c.socket.is_empty() || c.socket.starts_with('/') && c.socket.len() <= 100),
            "unix(7)";
    }
}

/// The former namespace of this process, if it has joined a domain.
static HOME: OnceLock<Home> = OnceLock::new();

/// Moves the calling thread into the domain of the stage that `config` names, if it names one.
///
/// # Errors
/// No stage serves the socket, or a missing capability.
pub(crate) fn join(config: &N3StageConfig) -> Result<(), SystemError> {
    let socket = &config.socket;
    if socket.is_empty() || HOME.get().is_some() {
        return Ok(());
    }
    let path = justfull_n3::ask(Path::new(socket), "domain")?;
    let home = Home::leave(Path::new(path.trim()))?;
    // Only this thread joins, once.
    let _first = HOME.set(home);
    Ok(())
}

/// Ends this process when its domain has lost its devices, as after the end of the stage: no
/// connection can continue, and a new process joins the next stage. Call it inside the domain with
/// SIGTERM blocked.
///
/// # Errors
/// No thread can be started.
pub(crate) fn watch() -> Result<(), SystemError> {
    if HOME.get().is_none() {
        return Ok(());
    }
    let work = || {
        while if_nametoindex(domain::UE).is_ok() {
            thread::sleep(LOOK);
        }
        // A closed standard error is no reason to stay.
        let _closed = writeln!(io::stderr(), "proxy: the stage at N3 has ended, and so does this");
        // The second signal ends the drain.
        for _ in 0..2 {
            let _gone = kill(getpid(), Signal::SIGTERM);
        }
    };
    let started = thread::Builder::new().name("domain".into()).spawn(work);
    started.map(drop).map_err(|e| SystemError::new("watch the routing domain", e))
}

/// Runs `work` in the former namespace of the process: sockets that it opens and threads that it
/// starts stay there.
pub(crate) fn at_home<T>(work: impl FnOnce() -> Result<T, SystemError>) -> Result<T, SystemError> {
    match HOME.get() {
        Some(home) => home.inside(work)?,
        None => work(),
    }
}
