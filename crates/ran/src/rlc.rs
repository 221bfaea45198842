//! Radio link control: the protocol of TS 38.322 (NR) and TS 36.322 (LTE), at the sender and at the
//! UE.
//!
//! The sender numbers SDUs and segments or concatenates them to the grants of the MAC ([`RlcTx`]);
//! the UE reassembles them ([`RlcRx`]). An entity has no queue: it pulls SDUs from a [`SduSource`].
//! [`codec`] converts headers to bytes and back.
//!
//! ```
//! use justfull_base::{Duration, Instant};
//! use justfull_ran::rlc::mode::AmConfig;
//! use justfull_ran::rlc::{RlcModeConfig, RlcRx, RlcTx, SduHandle, SduRef, SduSource, TbContent};
//!
//! /// Ten SDUs of 1000 bytes; how many of them have been taken.
//! struct Ten(u64);
//!
//! impl SduSource for Ten {
//!     fn head(&mut self) -> Option<SduRef> {
//!         (self.0 < 10).then_some(SduRef { handle: SduHandle(self.0), size: 1000 })
//!     }
//!     fn take(&mut self) {
//!         self.0 += 1;
//!     }
//! }
//!
//! // Acknowledged mode over a radio that takes 700 bytes in a slot and loses every third
//! // transport block.
//! let mode = RlcModeConfig::Am(AmConfig::default());
//! let (mut tx, mut rx, mut source) = (RlcTx::new(&mode)?, RlcRx::new(&mode)?, Ten(0));
//! let (mut block, mut delivered, mut acknowledged) = (TbContent::default(), Vec::new(), 0);
//! for slot in 1..300 {
//!     let now = Instant::ZERO + Duration::from_millis(slot);
//!     let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
//!     if due(tx.next_timeout()) {
//!         tx.on_timeout(now, source.head().is_some());
//!     }
//!     block.clear();
//!     tx.pull(now, 700, &mut source, &mut block);
//!     if slot % 3 != 0 {
//!         rx.receive(now, &block, |sdu| delivered.push(sdu.0), |_| {});
//!     }
//!     if due(rx.next_timeout()) {
//!         rx.on_timeout(now, |sdu| delivered.push(sdu.0), |_| {});
//!     }
//!     if due(rx.status_due()) && let Some(status) = rx.status(now, u32::MAX) {
//!         tx.on_status(now, status, |_| acknowledged += 1);
//!     }
//! }
//! delivered.sort_unstable();
//! assert_eq!(delivered, Vec::from_iter(0..10));
//! assert_eq!(acknowledged, 10);
//! # Ok::<(), justfull_base::ConfigError>(())
//! ```

pub mod codec;
pub mod mode;
mod rx;
mod sn;
#[cfg(test)]
mod tests;
mod tx;

pub use crate::pdu::{Part, Pdu, PduHeader, SduHandle, SduRef, SduSource, StatusPdu, TbContent};
pub(crate) use codec::umts::HEADER as UMTS_HEADER;
pub use mode::RlcModeConfig;
pub use rx::{RlcRx, SduSink};
pub use tx::{HeaderBytes, Pending, RlcTx, Stalls};
