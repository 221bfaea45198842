//! The content of a scenario file about carrier aggregation.

use super::{ChannelFile, is_default};
use justfull_base::{Duration, table};
use justfull_ran::{CarrierConfig, HarqConfig};
use serde::{Deserialize, Serialize};

table! {
    /// An SCell: a further carrier of the cell, which sends the data of the same RLC entities.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ScellFile {
        /// Its name in results, once; `pcell` is the name of the carrier of `mac`.
        name: String;
        /// Length of its slots; as `mac.slot.period` when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<Duration> = None, stated("1ms to 125us");
        /// Its carrier: how many blocks, and what they carry.
        #[serde(default)]
        carrier: CarrierConfig = Default::default();
        /// Its HARQ entity.
        #[serde(default, skip_serializing_if = "is_default")]
        harq: HarqConfig = Default::default();
        /// Slots from a measurement of its channel to the first slot whose MCS follows it, 0 to
        /// 255.
        #[serde(default, skip_serializing_if = "is_default")]
        cqi_delay: u8 = Default::default();
        /// Its channel, the same for all UEs.
        channel: ChannelFile;
    }
}
