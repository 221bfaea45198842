//! Columns of the files about the carriers of a cell, and the legs of split bearers.

use super::table::{Column, Table};
use justfull_lab::model::Group;
use justfull_run::handovers::LegResult;
use justfull_run::results::{CarrierResult, RunResult};

parts! {
    "carriers.csv" Carriers: "one carrier of one run" CarrierRow {
        /// The carrier.
        carrier: &'a CarrierResult,
    }
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

parts! {
    "legs.csv" Legs: "one leg of the split bearers of a UE in one run" LegRow {
        /// The leg.
        leg: &'a LegResult,
    }
}

in_runs! {
    /// Columns of `legs.csv`.
    pub static LEG_COLUMNS: Legs;

    "ue" "number" "The UE." |r| u64::from(r.leg.ue);
    "leg" "text" "master or secondary." |r| &r.leg.leg;
    "cell" "text" "Name of its cell." |r| &r.leg.cell;
    "routed_packets" "packets"
        "PDCP PDUs sent over it, without those that PDCP sends again after an outage."
        |r| r.leg.routed_packets;
    "routed_bytes" "bytes" "Bytes of their packets." |r| r.leg.routed_bytes;
    "delivered_packets" "packets" "PDCP PDUs that reached the UE over it."
        |r| r.leg.delivered_packets;
    "delivered_bytes" "bytes" "Bytes of their packets." |r| r.leg.delivered_bytes;
    "recovered_packets" "packets"
        "PDCP PDUs of it that PDCP sent again over the other leg after an outage."
        |r| r.leg.recovered_packets;
    "late_packets" "packets" "PDCP PDUs that came after the UE's PDCP had given them up."
        |r| r.leg.late_packets;
    "outages" "number" "Radio link outages." |r| r.leg.outages;
}
