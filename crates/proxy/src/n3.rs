//! The proxy inside tunnels: it works in the routing domain of a stage at N3 or S1-U
//! (`justfull n3`), and its reports, status and metrics stay in the namespace that it came from.

use crate::config::ProxyConfig;
use justfull_base::table;
use justfull_net::{Home, SystemError};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::OnceLock;

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

/// Where this process came from, if it joined a domain.
static HOME: OnceLock<Home> = OnceLock::new();

/// Moves the calling thread into the domain of the stage that `config` names, if it names one.
///
/// # Errors
/// No stage serves the socket, or a missing capability.
pub(crate) fn join(config: &ProxyConfig) -> Result<(), SystemError> {
    let socket = &config.n3.socket;
    if socket.is_empty() || HOME.get().is_some() {
        return Ok(());
    }
    let path = justfull_n3::ask(Path::new(socket), "domain")?;
    let home = Home::leave(Path::new(path.trim()))?;
    // Only this thread joins, once.
    let _first = HOME.set(home);
    Ok(())
}

/// Runs `work` where the process came from: sockets that it opens and threads that it starts stay
/// there.
pub(crate) fn at_home<T>(work: impl FnOnce() -> Result<T, SystemError>) -> Result<T, SystemError> {
    match HOME.get() {
        Some(home) => home.inside(work)?,
        None => work(),
    }
}
