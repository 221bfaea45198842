//! Reports of the radio, and a service that distributes them: ETSI's Radio Network Information
//! Service (GS MEC 012 V2.1.1) with an extension for RAPID (R22 section 3.1): blocks, modulation
//! and coding scheme, transport blocks and backlog of each UE.
//!
//! A feed gives its [`Report`]s to a [`Service`]; [`serve`] answers queries about them and sends
//! them to subscribers. UEs are identified by their addresses.

#![forbid(unsafe_code)]

mod access;
mod associate;
mod callback;
mod client;
mod document;
mod formats;
mod identity;
mod lines;
mod listen;
mod malformed;
mod notify;
mod query;
mod report;
mod routes;
mod service;
mod share;
mod subscription;
mod token;
pub mod types;

pub use access::Credentials;
pub use callback::Callbacks;
pub use client::{Trust, agent, bounded, tls_client, up_to};
pub use document::document;
pub use formats::{
    CellChange, KpmAvailable, KpmCell, KpmMessage, KpmReader, KpmTotal, KpmUe, NamedUe,
    Notification, SrsranCell, SrsranMessage, SrsranUe, UeTable, flexran, notification, reports,
    srsran,
};
pub use identity::CellIdentity;
pub use lines::{Line, each_line, open_lines, read_lines};
pub use listen::{Listening, Tls, TlsError, listen, listen_after};
pub use malformed::Malformed;
pub use report::{CellName, MOST_ADDRESSES, Report, WrittenReport, cell_name, pool_name};
pub use routes::serve;
pub use service::Service;
pub use token::{Tokens, read_token};
