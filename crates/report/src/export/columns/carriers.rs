//! Columns of the file about the carriers of a cell.

use super::table::{Column, Table};
use justfull_lab::model::Group;
use justfull_run::results::{CarrierResult, RunResult};

/// `carriers.csv`.
pub enum Carriers {}

impl Table for Carriers {
    type Row<'a> = CarrierRow<'a>;
}

/// A row of `carriers.csv`: one carrier of one run.
#[derive(Clone, Copy, Debug)]
pub struct CarrierRow<'a> {
    /// The group of the run.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// The carrier.
    pub carrier: &'a CarrierResult,
}

in_runs! {
    /// Columns of `carriers.csv`.
    pub static CARRIER_COLUMNS: Carriers;

    "carrier" "text" "Name of the carrier; pcell for the one of mac.carrier." |r| &r.carrier.name;
    "slots" "slots" "Its slots that could carry data, in the whole run." |r| r.carrier.slots;
    "offered" "resource blocks" "Resource blocks of these slots." |r| r.carrier.offered;
    "used" "resource blocks" "Resource blocks that were used, also by retransmissions."
        |r| r.carrier.used;
    "sent_bytes" "bytes" "Bytes in the first transmissions of its transport blocks, with headers."
        |r| r.carrier.bytes;
}
