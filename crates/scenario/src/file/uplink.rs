//! The uplink of a scenario file.

use super::{ChannelFile, is_default};
use crate::method::MethodPlace;
use justfull_base::{BitRate, Bytes, Duration, table};
use justfull_ran::{PdcpConfig, RlcConfig, SdapConfig, UplinkMacConfig};
use justfull_run::{CellAqmConfig, GrantConfig, UplinkConfig, UplinkKind, ZhugeConfig};
use serde::{Deserialize, Serialize};

table! {
    /// The uplink.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct UplinkFile with Default {
        /// One queue for each UE, or a stack.
        #[serde(skip_serializing_if = "is_default")]
        kind: UplinkKind = UplinkKind::Queue;
        /// Rate of each UE; "0bit/s" for infinitely fast.
        rate: BitRate = BitRate(0), stated("any; 0bit/s with grants");
        /// One-way delay from UE to server.
        delay: Duration = Duration::from_millis(10);
        /// Most bytes in a UE's queue.
        limit: Bytes = UplinkConfig::LIMIT, stated("at least the MTU");
        /// A UE sends what it is granted.
        #[serde(skip_serializing_if = "Option::is_none")]
        grants: Option<GrantConfig> = None;
        /// The base station's AQM for the UEs' queues. Left out: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        cell_aqm: Option<CellAqmConfig> = None,
            stated("a table; without effect if the uplink is no bottleneck");
        /// Zhuge at the base station, which holds acknowledgements and builds the reports of calls.
        /// Left out: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        zhuge: Option<ZhugeConfig> = None, stated("a table; one cell, no proxy, simulated only");
        /// Where a method's settings of SDAP and RLC go: into the cell, the UEs' stack, or both.
        #[serde(skip_serializing_if = "is_default")]
        method_at: MethodPlace = MethodPlace::Cell, stated("cell; ue and both with kind stack");
        /// The stack, with kind stack.
        #[serde(skip_serializing_if = "Option::is_none")]
        stack: Option<UplinkStackFile> = None;
    }
}

table! {
    /// The uplink as a stack: the UEs' queues, and the MAC of the cell's uplink.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct UplinkStackFile with Default {
        /// The channel of the uplink. Left out: the cell's, and the UEs' own channels.
        #[serde(skip_serializing_if = "Option::is_none")]
        channel: Option<ChannelFile> = None;
        /// The UE's queue of each QFI.
        sdap: SdapConfig = SdapConfig::default();
        /// The UE's queue of each bearer.
        rlc: RlcConfig = RlcConfig::default();
        /// Packet data convergence.
        pdcp: PdcpConfig = PdcpConfig::default();
        /// The MAC. A carrier or slots at their defaults are the cell's, with mac.kind rb.
        mac: UplinkMacConfig = UplinkMacConfig::default();
        /// A new acknowledgement replaces the acknowledgement of its flow that waits in the UE and
        /// has the same ECN flags.
        ack_filter: bool = false;
    }
}
