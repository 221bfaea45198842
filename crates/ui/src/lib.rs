//! `justfull ui`: a page on loopback for cells, queues and methods.
//!
//! The program serves one page and a small interface of JSON. The page holds its script and its
//! style, so the browser loads nothing else. Every request needs the token of the page's address;
//! requests of other origins and under other names of the host are refused. Simulations run on
//! threads of their own, bounded in number, time, memory and size.
#![forbid(unsafe_code)]

mod answer;
mod api;
mod files;
mod guard;
mod jobs;
mod memory;
mod page;
mod saved;
mod watch;

pub use crate::watch::Watched;

use crate::api::State;
use crate::guard::Guard;
use justfull_rnis::{Listening, listen};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Connections at a time; one client may have half of them.
const CONNECTIONS: usize = 32;

/// The settings of the page's server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Port on the loopback address; 0 for any that is free.
    pub port: u16,
    /// The folder with earlier results, and the only one from which scenarios read traces.
    pub folder: PathBuf,
    /// The folder of traces that are not part of the project.
    pub data: Option<PathBuf>,
    /// Live runs and proxies that the page shows while they run.
    pub watched: Vec<Watched>,
    /// Threads of one simulation; at least 1.
    pub threads: usize,
    /// Version of the program, for the page.
    pub version: String,
}

/// A page that is served until this is dropped.
#[derive(Debug)]
pub struct Ui {
    listening: Listening,
    token: String,
}

impl Ui {
    /// Serves the page of `options`.
    ///
    /// # Errors
    /// The port is in use, or there is no source of random numbers.
    pub fn start(options: Options) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let guard = Guard::new()?;
        let token = guard.token().to_owned();
        let router = api::router(State::new(options), guard);
        Ok(Self { listening: listen(address, None, router, CONNECTIONS)?, token })
    }

    /// The address of the page, with its token.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.listening.address(), self.token)
    }
}
