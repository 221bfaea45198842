//! The settings of a site: its cells, and the directory of its UEs.

use justfull_base::{ConfigError, table};
use justfull_rnis::{Tls, Tokens};
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

table! {
    /// The cells of the site. The windows of each cell are computed separately.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct CellsConfig with Default {
        /// Names of the cells whose reports count. Left out: all.
        names: Vec<String> = Vec::new(),
            rule("names of 1 to 64 visible ASCII characters without quotes and backslashes",
                |c| c.names.iter().all(|name| justfull_rnis::cell_name(name).is_ok())),
            "the names in reports";
        /// Most cells; reports of others do not count.
        most: u32 = 256, within(1, 4_096);
    }
}

table! {
    /// The directory: addresses, cell and limit of each UE, from outside.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct DirectoryConfig with Default {
        /// File of sessions, read again when it changes. Left out: none.
        file: String = String::new(),
            rule("a file that can be read",
                |c| c.file.is_empty() || read_text(c.file.as_ref(), SETTINGS_LIMIT).is_ok()),
            "a session on each line";
        /// Address at which sessions can be put and deleted over HTTP, such as 127.0.0.1:9104. Left
        /// out: none.
        listen: String = String::new(),
            rule("an address with a port, such as 127.0.0.1:9104",
                |c| c.listen.is_empty() || c.listen.parse::<SocketAddr>().is_ok()),
            "it listens there";
        /// File of the tokens that give access, one on each line. Left out: only programs of this
        /// host have access, and `listen` is an address of this host.
        token_file: String = String::new(),
            rule("a file of tokens",
                |c| c.token_file.is_empty() || Tokens::read(c.token_file.as_ref()).is_ok()),
            "RFC 6750";
        /// PEM file of the server's certificates. Left out: plain HTTP.
        cert_file: String = String::new();
        /// PEM file with the key of the first certificate.
        key_file: String = String::new();
        /// Most sessions.
        most: u32 = 65_536, within(1, 1_000_000);
    }
    check |c| {
        let outside = c.listen.parse::<SocketAddr>().is_ok_and(|at| !at.ip().is_loopback());
        if outside && c.token_file.is_empty() {
            let allowed = "an address of this host such as 127.0.0.1:9104, or `token_file`";
            let why = "a client of the directory decides which addresses are one UE";
            return Err(ConfigError::new("listen", &c.listen, allowed, why));
        }
        if c.cert_file.is_empty() && c.key_file.is_empty() {
            return Ok(());
        }
        match Tls::read(c.cert_file.as_ref(), c.key_file.as_ref()) {
            Ok(_) => Ok(()),
            Err(error) => {
                let allowed = "PEM of a certificate and its key in `key_file`";
                let found = format!("{}: {error}", c.cert_file);
                Err(ConfigError::new("cert_file", &found, allowed, "RFC 8446"))
            }
        }
    };
}
