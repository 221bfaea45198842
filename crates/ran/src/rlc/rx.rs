//! Receiving side of an RLC entity: reassembles SDUs, and gives up or reports missing data.
//!
//! TS 38.322 sections 5.2.1.2, 5.2.2.2, 5.2.3.2, 5.3.4; TS 36.322 sections 5.1.1.2, 5.1.2.2,
//! 5.1.3.2, 5.2.3; TS 25.322 clauses 9.7.2 and 11.3. NR delivers an SDU as soon as it is complete
//! and leaves the order to PDCP; LTE and UMTS deliver in order.
//!
//! A PDU is discarded if its header contradicts its parts, if it is of another mode, if its SN is
//! too large for its field, if it is outside the window, or if it is a duplicate.
//!
//! Memory: at most 128 B while SDUs arrive in order, 160 B more for UM of LTE, 288 B more for AM.
//! From the first gap on, 4 B for each SN of the window (16 to 131 072). For each SN that is partly
//! received or (LTE) waits for an earlier one, 48 to 72 B, plus 8 B for each run of bytes and (LTE)
//! 32 B for each piece of an SDU. In UMTS 120 B for each waiting SN if at most four SDUs share its
//! PDU, up to the window (4095). Memory that has grown is kept.

mod am;
mod assembly;
mod lte_um;
mod nr_um;
mod ring;
mod umts;

use super::mode::{Generation, RlcModeConfig};
use crate::pdu::{Part, PduHeader, SduHandle, StatusPdu, TbContent};
use alloc::boxed::Box;
use am::{Am, LteHeader, LtePdus, NrSdus};
use justfull_base::{ConfigError, Instant};
use lte_um::LteUm;
use nr_um::{Header, NrUm};
use umts::UmtsAm;

/// Receives the SDUs that a receiving entity reassembles.
pub trait SduSink {
    /// `sdu` is complete.
    fn deliver(&mut self, sdu: SduHandle);

    /// Bytes of `sdu` were held and are given up.
    fn abandon(&mut self, sdu: SduHandle);

    /// A PDU with these parts was discarded: stale, duplicate or invalid. For a sink that needs the
    /// fate of every SDU: in unacknowledged mode a PDU that arrives after the window has moved on
    /// leaves no other trace.
    fn discard(&mut self, _parts: &[Part]) {}
}

/// Two closures: one for complete SDUs, one for abandoned SDUs.
impl<D: FnMut(SduHandle), A: FnMut(SduHandle)> SduSink for (D, A) {
    #[inline]
    fn deliver(&mut self, sdu: SduHandle) {
        self.0(sdu);
    }

    #[inline]
    fn abandon(&mut self, sdu: SduHandle) {
        self.1(sdu);
    }
}

/// Receiving side of an RLC entity of any mode.
#[derive(Clone, Debug)]
pub struct RlcRx {
    kind: Kind,
    /// PDUs discarded.
    discarded: u64,
}

// A tag of one byte, so that a bearer without RLC is marked in the transmitter's tag.
#[derive(Clone, Debug)]
#[repr(u8)]
enum Kind {
    Tm,
    NrUm(NrUm),
    LteUm(Box<LteUm>),
    NrAm(Box<Am<NrSdus>>),
    LteAm(Box<Am<LtePdus>>),
    UmtsAm(Box<UmtsAm>),
}

impl RlcRx {
    /// An entity that has received no PDU.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &RlcModeConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let kind = match config {
            RlcModeConfig::Tm(_) => Kind::Tm,
            RlcModeConfig::Um(um) => match um.generation {
                Generation::Nr => Kind::NrUm(NrUm::new(um)),
                Generation::Lte | Generation::Umts => Kind::LteUm(Box::new(LteUm::new(um))),
            },
            RlcModeConfig::Am(am) => match am.generation {
                Generation::Nr => Kind::NrAm(Box::new(Am::new(am))),
                Generation::Lte => Kind::LteAm(Box::new(Am::new(am))),
                Generation::Umts => Kind::UmtsAm(Box::new(UmtsAm::new(am))),
            },
        };
        Ok(Self { kind, discarded: 0 })
    }

    /// Receives the PDUs of a decoded block. `deliver` gets each complete SDU; `abandoned` gets
    /// each SDU with held bytes that is given up (unacknowledged mode: the window moved on). STATUS
    /// PDUs are left to [`super::RlcTx::on_status`].
    #[inline]
    pub fn receive(
        &mut self,
        now: Instant,
        content: &TbContent,
        deliver: impl FnMut(SduHandle),
        abandoned: impl FnMut(SduHandle),
    ) {
        self.receive_into(now, content, &mut (deliver, abandoned));
    }

    /// Like [`Self::receive`], for a sink that also gets discarded PDUs.
    #[inline]
    pub fn receive_into(&mut self, now: Instant, content: &TbContent, sink: &mut impl SduSink) {
        for pdu in &content.pdus {
            let parts = content.parts_of(pdu);
            let accepted = match (&mut self.kind, &pdu.header) {
                (_, PduHeader::Status(_)) => true,
                (Kind::Tm, PduHeader::Tm) => match parts {
                    [part] if part.offset == 0 && part.last => {
                        sink.deliver(part.sdu);
                        true
                    }
                    _ => false,
                },
                (Kind::NrUm(um), &PduHeader::NrUm { si, sn, so }) => {
                    um.receive(now, Header { si, sn, so }, parts, sink)
                }
                (Kind::LteUm(um), &PduHeader::LteUm { fi, sn }) => {
                    um.receive(now, fi, sn, parts, sink)
                }
                (Kind::NrAm(am), &PduHeader::NrAm { poll, si, sn, so }) => {
                    let header = Header { si, sn, so };
                    am.receive_nr(now, poll, header, parts, &mut |sdu| sink.deliver(sdu))
                }
                (Kind::LteAm(am), &PduHeader::LteAm { poll, fi, sn, segment }) => {
                    let header = LteHeader { fi, sn, segment };
                    am.receive_lte(now, poll, header, parts, &mut |sdu| sink.deliver(sdu))
                }
                (Kind::UmtsAm(am), &PduHeader::UmtsAm { poll, sn, open, .. }) => {
                    am.receive(now, poll, sn, open, parts, sink)
                }
                (Kind::UmtsAm(am), &PduHeader::UmtsMrw { sn, .. }) => am.move_window(now, sn, sink),
                _ => false,
            };
            if !accepted {
                self.discarded += 1;
                sink.discard(parts);
            }
        }
    }

    /// PDUs discarded: stale, duplicate or invalid.
    #[must_use]
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// The time at which [`Self::on_timeout`] has work: the expiry of t-Reassembly (LTE:
    /// t-Reordering; UMTS: Timer_Status_Periodic).
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let at = match &self.kind {
            Kind::Tm => Instant::NEVER,
            Kind::NrUm(um) => um.timer,
            Kind::LteUm(um) => um.timer,
            Kind::NrAm(am) => am.timer,
            Kind::LteAm(am) => am.timer,
            Kind::UmtsAm(am) => am.timer,
        };
        Some(at).filter(|&at| at != Instant::NEVER)
    }

    /// Handles an expiry of t-Reassembly: gives up (UM) or reports (AM) missing data. `deliver`
    /// gets SDUs that can now be delivered, `abandoned` gets each SDU with held bytes that is given
    /// up.
    pub fn on_timeout(
        &mut self,
        now: Instant,
        deliver: impl FnMut(SduHandle),
        abandoned: impl FnMut(SduHandle),
    ) {
        self.on_timeout_into(now, &mut (deliver, abandoned));
    }

    /// Like [`Self::on_timeout`], for a sink.
    pub fn on_timeout_into(&mut self, now: Instant, sink: &mut impl SduSink) {
        match &mut self.kind {
            Kind::Tm => {}
            Kind::NrUm(um) => um.on_timeout(now, sink),
            Kind::LteUm(um) => um.on_timeout(now, sink),
            Kind::NrAm(am) => am.on_timeout(now),
            Kind::LteAm(am) => am.on_timeout(now),
            Kind::UmtsAm(am) => am.on_timeout(now),
        }
    }

    /// The earliest time for a status report; none if none was triggered (TS 38.322 section 5.3.4).
    #[must_use]
    pub fn status_due(&self) -> Option<Instant> {
        match &self.kind {
            Kind::NrAm(am) => am.status_due(),
            Kind::LteAm(am) => am.status_due(),
            Kind::UmtsAm(am) => am.status_due(),
            _ => None,
        }
    }

    /// The status report if one is due, cut to `grant` bytes; starts t-StatusProhibit. None if none
    /// is due or not even a report without NACKs fits. In UMTS, the cut rest is due at once: the
    /// next call returns it (TS 25.322 clause 11.5).
    pub fn status(&mut self, now: Instant, grant: u32) -> Option<&StatusPdu> {
        match &mut self.kind {
            Kind::NrAm(am) => am.status(now, grant),
            Kind::LteAm(am) => am.status(now, grant),
            Kind::UmtsAm(am) => am.status(now, grant),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_as_small_as_the_page_says() {
        let sizes = [
            size_of::<RlcRx>(),
            size_of::<LteUm>(),
            size_of::<Am<NrSdus>>(),
            size_of::<Am<LtePdus>>(),
            size_of::<UmtsAm>(),
        ];
        assert!(sizes[0] <= 128 && sizes[1] <= 160, "{sizes:?}");
        assert!(sizes[2].max(sizes[3]).max(sizes[4]) <= 288, "{sizes:?}");
        assert_eq!((size_of::<umts::Waiting>(), size_of::<Part>()), (24, 24));
        let (sdu, pdu) = (size_of::<nr_um::Sdu>(), size_of::<assembly::LtePdu>());
        assert!(sdu <= 48 && pdu <= 72 && size_of::<assembly::Placed>() <= 32, "{sdu} {pdu}");
    }
}
