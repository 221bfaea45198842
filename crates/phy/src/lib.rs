//! The rules that convert channel quality to bytes: CQI, MCS, transport block sizes, resource block
//! groups and numerology of LTE (TS 36.213) and NR (TS 38.211, 38.214, 38.101), the SINR that they
//! need (TR 36.942), and the standardised 5QIs (TS 23.501).
//!
//! Tables and arithmetic only: no state and no time. A value that a table does not define (a
//! reserved MCS, CQI 0, too many resource blocks) is `None`, never a neighbour's.
//!
//! ```
//! use justfull_phy::{CqiToMcs, cqi, lte};
//!
//! // A UE reports CQI 11 on a 5 MHz carrier of LTE: 25 resource blocks carry 9144 bits in 1 ms.
//! let i_mcs = cqi::to_mcs(CqiToMcs::Tmc, 11).unwrap();
//! let mcs = lte::mcs(lte::McsTable::Qam64, i_mcs).unwrap();
//! assert_eq!((i_mcs, mcs.i_tbs), (19, 17));
//! assert_eq!(lte::tbs_bits(mcs.i_tbs, 25), Some(9144));
//! assert_eq!(lte::mcs(lte::McsTable::Qam64, 29), None, "reserved for retransmissions");
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod cqi;
pub mod five_qi;
pub mod link;
pub mod lte;
mod modulation;
pub mod nr;
pub mod rbg;

pub use cqi::CqiToMcs;
pub use modulation::{CodeRate, Modulation};
