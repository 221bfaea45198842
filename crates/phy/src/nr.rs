//! NR downlink: numerology, carrier widths, MCS, transport block sizes and resource block groups.

mod carrier;
mod mcs;
mod tbs;

pub use carrier::{FrequencyRange, Numerology, RbgConfig, max_n_rb, rbg_layout, rbg_size};
pub use mcs::{Mcs, McsTable, mcs};
pub use tbs::{MAX_PRBS, NrTbsInput, tbs_bits};
