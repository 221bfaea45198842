//! `--proxy` and `--rnis` in a build without the proxy: both are refused, so no function here is
//! ever called.

use crate::failure::Failure;
use justfull_base::Duration;
use justfull_live::middle::{LegSample, Middle};
use justfull_live::reports::Reports;
use justfull_net::{Network, SystemError};
use std::net::SocketAddr;
use std::path::Path;

/// The absent proxy.
pub(super) enum Proxy {}

impl Proxy {
    pub(super) fn of<T>(_file: &Path, _control: Option<&T>) -> Result<Self, Failure> {
        Err(Failure::lacks("proxy", "proxy"))
    }

    pub(super) fn of_text<T>(_text: String, _control: Option<&T>) -> Result<Self, String> {
        Err(Failure::lacks("proxy", "proxy").to_string())
    }

    pub(super) fn wants_reports(&self) -> bool {
        match *self {}
    }

    pub(super) fn take_reports(&mut self, _reports: Reports) {
        match *self {}
    }

    pub(super) fn note(&self) -> String {
        match *self {}
    }

    pub(super) fn facts(&self) -> serde_json::Value {
        match *self {}
    }
}

impl Middle for Proxy {
    fn start(&mut self, _network: &Network) -> Result<(), SystemError> {
        match *self {}
    }

    fn look(&mut self, _at: Duration) -> Result<(), SystemError> {
        match *self {}
    }

    fn finish(&mut self) -> Result<(), SystemError> {
        match *self {}
    }

    fn legs(&self) -> &[LegSample] {
        match *self {}
    }
}

/// The absent service.
pub(super) enum Rnis {}

impl Rnis {
    pub(super) fn start(_address: &str, _allowed: &[String]) -> Result<Self, Failure> {
        Err(Failure::lacks("rnis", "proxy"))
    }

    pub(super) fn address(&self) -> SocketAddr {
        match *self {}
    }

    pub(super) fn take_reports(&self, _reports: Reports) -> Result<(), Failure> {
        match *self {}
    }
}
