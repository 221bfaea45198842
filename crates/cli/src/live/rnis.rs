//! `--rnis`: the cells' reports about their UEs, as a radio network information service.

use crate::failure::Failure;
use crate::rnis::{callbacks, epoch, listen, reported};
use justfull_live::reports::{Reports, UeReport};
use justfull_rnis::{CellIdentity, Listening, Service, Tokens};
use justfull_run::proxy::At;
use std::net::SocketAddr;
use std::sync::Arc;

/// A service that runs until it is dropped.
pub(super) struct Rnis {
    service: Arc<Service>,
    server: Listening,
}

impl Rnis {
    /// Listens at `address`: a port of 127.0.0.1, or an address with a port. Sends notifications to
    /// other hosts and to the networks that are `allowed`.
    pub(super) fn start(address: &str, allowed: &[String]) -> Result<Self, Failure> {
        let callbacks = callbacks(allowed)?;
        let service = Service::new(CellIdentity::default(), None, callbacks);
        let service = service.map_err(|e| Failure::Usage(format!("--rnis {address}: {e}")))?;
        let server = listen("--rnis", address, None, Tokens::default(), &service)?;
        Ok(Self { service, server })
    }

    /// The listening address.
    pub(super) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Serves `reports` on a thread that ends with the run.
    pub(super) fn take_reports(&self, reports: Reports) -> Result<(), Failure> {
        let (service, start) = (Arc::clone(&self.service), epoch());
        service.name_cells(reports.cells());
        let work = move || {
            // Any timeout would do: only the end matters.
            while let Ok(report) = reports.next(std::time::Duration::from_secs(1)) {
                if let Some(UeReport { ue, cell, ran, .. }) = report {
                    service.report(&reported(At { ue, cell }, reports.cells(), &ran, start));
                }
            }
        };
        let thread = std::thread::Builder::new().name("rnis".into()).spawn(work);
        thread.map(drop).map_err(|e| Failure::Failed(format!("start the thread of --rnis: {e}")))
    }
}
