//! The content of a scenario file about several cells.

use super::ChannelFile;
use justfull_base::{Duration, table};
use justfull_ran::MacConfig;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

table! {
    /// A cell. With two or more, each UE names its cell. A cell has the scenario's value of each
    /// setting that it leaves out.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct CellFile {
        /// Its name, which no other cell has.
        name: String;
        /// Its channel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<ChannelFile> = None;
        /// Its medium access control, with carrier and slots: the whole table.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mac: Option<MacConfig> = None;
        /// Position of its antenna, x, y and height above ground, for UEs with a channel of kind
        /// `umi`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gnb: Option<[f64; 3]> as "m, m, m" = None, stated("as channel.gnb of umi");
    }
}

table! {
    /// A change of cell at a given time.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MoveFile {
        /// When the source decides; not before the move above.
        at: Duration;
        /// Name of the target: another cell than before.
        cell: String;
    }
}

table! {
    /// Changes of cell at regular times. Of several UEs of an entry each begins `every` divided by
    /// their number after the UE before.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct TourFile {
        /// Names of the targets, one after the other, then from the first again.
        cells: Vec<String>;
        /// When the first UE's first handover is decided.
        first: Duration;
        /// Time from one handover to the next.
        every: Duration where (above(Duration::ZERO));
    }
}

table! {
    /// Changes of cell from the log of a phone, such as G-NetTrack's, that names the serving cell.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct DriveFile {
        /// Name of the log, plain or gzip; looked up beside the scenario, then in the folder that
        /// `JUSTFULL_DATA` names.
        file: String;
        /// The cell of the scenario for each id in the log. Several ids may be one cell.
        cells: BTreeMap<String, String>;
        /// Column of the ids; CellID, Cell_ID, CI or PCI when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cell_column: Option<String> = None, stated("a name, or a number from 1");
        /// Column of the times; Timestamp or t_s when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_column: Option<String> = None, stated("a name, or a number from 1");
        /// The part of the log that is left out at its begin.
        #[serde(default)]
        start: Duration = Duration::ZERO, stated("below the length of the log");
    }
}
