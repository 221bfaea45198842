//! Transmitting side of an RLC entity: segments or concatenates SDUs to fit the grants of the MAC,
//! and retransmits lost data in acknowledged mode.
//!
//! TS 38.322 sections 5.2.1.1, 5.2.2.1, 5.2.3.1, 5.3; TS 36.322 sections 5.1.1.1, 5.1.2.1, 5.1.3.1,
//! 5.2; TS 25.322 clauses 9 and 11. The entity has no queue of its own: it pulls from an
//! [`SduSource`] at the moment of the grant. So the standards' transmission buffer is the source.
//! The entity keeps only the partly sent SDU and, in acknowledged mode, unacknowledged data.
//!
//! Memory: up to 64 B for TM and UM. AM: 24 B for each unacknowledged SDU (NR), or 20 B for each
//! unacknowledged PDU and 24 B for each piece of an SDU in it (LTE), up to the window (2048 or
//! 131 072 SDUs; 512 PDUs), and 12 B for each piece that waits for retransmission. UMTS: 8 B for
//! each unacknowledged PDU and 24 B for each piece in it, up to the window (4095 PDUs).

mod am_lte;
mod am_nr;
mod arq;
mod concatenate;
mod segment;
mod stalls;
mod umts;
mod umts_poll;
mod umts_window;

use super::mode::{Generation, RlcModeConfig};
use crate::pdu::{PduHeader, SduHandle, SduSource, StatusPdu, TbContent};
use alloc::boxed::Box;
use alloc::vec::Vec;
use am_lte::LteAm;
use am_nr::NrAm;
use concatenate::LteUm;
use justfull_base::{ConfigError, Instant};
use segment::NrUm;
pub use stalls::Stalls;
use stalls::Stopwatch;
use umts::UmtsAm;

/// Pending data inside an entity, without its source, in bytes with headers, as in separate PDUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// STATUS PDUs.
    pub control: u32,
    /// Retransmissions.
    pub retransmission: u32,
    /// The rest of a partly sent SDU at the head of the queue; 0 if there is none.
    pub rest_of_head: u32,
}

impl Pending {
    /// Sum of the three amounts.
    #[must_use]
    pub const fn total(&self) -> u32 {
        self.control.saturating_add(self.retransmission).saturating_add(self.rest_of_head)
    }
}

/// Header bytes of an entity's PDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderBytes {
    /// Header bytes of a PDU with a whole SDU.
    pub whole: u32,
    /// Header bytes of a PDU with the first segment of an SDU.
    pub first: u32,
    /// Header bytes of a PDU with another segment.
    pub later: u32,
    /// Bits that each further SDU adds if SDUs are concatenated in one PDU (LTE); none if each SDU
    /// has its own PDU.
    pub further_bits: Option<u32>,
}

impl HeaderBytes {
    /// Header bytes of `count` whole SDUs in one block.
    #[must_use]
    pub const fn of_whole(&self, count: u32) -> u32 {
        match (count, self.further_bits) {
            (0, _) => 0,
            (_, Some(bits)) => self.whole + ((count - 1) * bits).div_ceil(8),
            (_, None) => self.whole * count,
        }
    }
}

/// Transmitting side of an RLC entity of any mode.
#[derive(Clone, Debug)]
pub struct RlcTx {
    kind: Kind,
}

// A tag of two bytes, so that the compiler marks a bearer without RLC here, beside the data that
// every packet reads.
#[derive(Clone, Debug)]
#[repr(u16)]
enum Kind {
    Tm { below: u8 },
    NrUm(NrUm),
    LteUm(LteUm),
    NrAm(Box<NrAm>),
    LteAm(Box<LteAm>),
    UmtsAm(Box<UmtsAm>),
}

impl RlcTx {
    /// An entity that has sent no PDU.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &RlcModeConfig) -> Result<Self, ConfigError> {
        Self::above(0, config)
    }

    /// An entity above a layer that puts `below` bytes before each PDU (at most 8; MAC's
    /// subheader). These count as header bytes and against the grant.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn above(below: u8, config: &RlcModeConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let kind = match config {
            RlcModeConfig::Tm(_) => Kind::Tm { below },
            RlcModeConfig::Um(um) => match um.generation {
                Generation::Nr => Kind::NrUm(NrUm::new(um.sn_bits, below)),
                Generation::Lte | Generation::Umts => Kind::LteUm(LteUm::new(um.sn_bits, below)),
            },
            RlcModeConfig::Am(am) => match am.generation {
                Generation::Nr => Kind::NrAm(Box::new(NrAm::new(am, below))),
                Generation::Lte => Kind::LteAm(Box::new(LteAm::new(am, below))),
                Generation::Umts => Kind::UmtsAm(Box::new(UmtsAm::new(am, below))),
            },
        };
        Ok(Self { kind })
    }

    /// Appends PDUs of at most `grant` bytes to `out`: status reports first, then retransmissions,
    /// then SDUs of `source` (TS 38.322 section 5.2.3.1.1). In UMTS every PDU takes the configured
    /// size, including padding. Returns their bytes with headers; 0 if a header and a byte do not
    /// fit, if there is no data, or if the window of acknowledged mode is full.
    #[inline]
    pub fn pull(
        &mut self,
        now: Instant,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        match &mut self.kind {
            Kind::Tm { below } => pull_transparent(u32::from(*below), grant, source, out),
            Kind::NrUm(um) => um.pull(grant, source, out),
            Kind::LteUm(um) => um.pull(grant, source, out),
            Kind::NrAm(am) => am.pull(now, grant, source, out),
            Kind::LteAm(am) => am.pull(now, grant, source, out),
            Kind::UmtsAm(am) => am.pull(now, grant, source, out),
        }
    }

    /// True in acknowledged mode, which retransmits data lost on the air.
    #[must_use]
    #[inline]
    pub const fn is_acknowledged(&self) -> bool {
        matches!(self.kind, Kind::NrAm(_) | Kind::LteAm(_) | Kind::UmtsAm(_))
    }

    /// Header bytes of its PDUs.
    #[inline(always)]
    #[must_use]
    pub fn headers(&self) -> HeaderBytes {
        match &self.kind {
            Kind::Tm { below } => {
                let below = u32::from(*below);
                HeaderBytes { whole: below, first: below, later: below, further_bits: None }
            }
            Kind::NrUm(um) => um.headers(),
            Kind::LteUm(um) => um.headers(),
            Kind::NrAm(am) => am.headers(),
            Kind::LteAm(am) => am.headers(),
            Kind::UmtsAm(am) => am.headers(),
        }
    }

    /// True if a whole SDU leaves no state here or at the receiver: its PDU has no SN (TM, and UM
    /// of NR: TS 38.322 section 6.2.2.3) and no SDU is partly sent.
    #[must_use]
    #[inline]
    pub const fn forgets_whole(&self) -> bool {
        match &self.kind {
            Kind::Tm { .. } => true,
            Kind::NrUm(um) => um.left == 0,
            _ => false,
        }
    }

    /// The pending data inside the entity.
    #[must_use]
    pub fn pending(&self) -> Pending {
        match &self.kind {
            Kind::Tm { .. } => Pending::default(),
            Kind::NrUm(um) => Pending { rest_of_head: um.rest_of_head(), ..Pending::default() },
            Kind::LteUm(um) => Pending { rest_of_head: um.rest_of_head(), ..Pending::default() },
            Kind::NrAm(am) => am.pending(),
            Kind::LteAm(am) => am.pending(),
            Kind::UmtsAm(am) => am.pending(),
        }
    }

    /// Appends the sizes of the first `most` pending PDUs, with headers, in the order in which
    /// [`Self::pull`] sends them; the rest of the SDU at the head comes last.
    pub fn next_sizes(&self, most: usize, sizes: &mut Vec<u32>) {
        let end = sizes.len().saturating_add(most);
        match &self.kind {
            Kind::Tm { .. } => {}
            Kind::NrUm(um) => sizes.extend(Some(um.rest_of_head()).filter(|&rest| rest > 0)),
            Kind::LteUm(um) => sizes.extend(Some(um.rest_of_head()).filter(|&rest| rest > 0)),
            Kind::NrAm(am) => am.next_sizes(most, sizes),
            Kind::LteAm(am) => am.next_sizes(most, sizes),
            Kind::UmtsAm(am) => am.next_sizes(most, sizes),
        }
        sizes.truncate(end);
    }

    /// Unsent bytes of the source's head; none if it has not been started.
    #[must_use]
    pub fn head_left(&self) -> Option<u32> {
        let left = match &self.kind {
            Kind::Tm { .. } => 0,
            Kind::NrUm(um) => um.left,
            Kind::LteUm(um) => um.left,
            Kind::NrAm(am) => am.head_left(),
            Kind::LteAm(am) => am.head_left(),
            Kind::UmtsAm(am) => am.head_left(),
        };
        Some(left).filter(|&left| left > 0)
    }

    /// In acknowledged mode of NR, calls `each` with every SDU whose delivery is not confirmed and
    /// its size, oldest first. Other modes have none.
    pub(crate) fn unacknowledged(&self, mut each: impl FnMut(SduHandle, u32)) {
        if let Kind::NrAm(am) = &self.kind {
            am.unacknowledged().for_each(|unit| each(unit.what, unit.size));
        }
    }

    /// Bytes of each PDU in UMTS; none in other systems.
    #[must_use]
    pub fn pdu(&self) -> Option<u32> {
        match &self.kind {
            Kind::UmtsAm(am) => Some(am.pdu()),
            _ => None,
        }
    }

    /// True if the window of acknowledged mode allows no new SDU (TS 38.322 section 5.2.3.1.1).
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        match &self.kind {
            Kind::NrAm(am) => am.is_stalled(),
            Kind::LteAm(am) => am.is_stalled(),
            Kind::UmtsAm(am) => am.is_stalled(),
            _ => false,
        }
    }

    /// Called after a pull; `waits` if it left SDUs or a part of one. A stall begins if the window
    /// is the cause.
    #[inline]
    pub(crate) fn pulled(&mut self, now: Instant, waits: bool) {
        if waits
            && self.is_stalled()
            && let Some(stopwatch) = self.stopwatch_mut()
        {
            stopwatch.closed(now);
        }
    }

    fn stopwatch_mut(&mut self) -> Option<&mut Stopwatch> {
        match &mut self.kind {
            Kind::NrAm(am) => Some(&mut am.stalls),
            Kind::LteAm(am) => Some(&mut am.stalls),
            Kind::UmtsAm(am) => Some(&mut am.stalls),
            _ => None,
        }
    }

    /// The stalls up to `now`; none outside acknowledged mode.
    #[must_use]
    pub fn stalls(&self, now: Instant) -> Stalls {
        match &self.kind {
            Kind::NrAm(am) => am.stalls.until(now),
            Kind::LteAm(am) => am.stalls.until(now),
            Kind::UmtsAm(am) => am.stalls.until(now),
            _ => Stalls::default(),
        }
    }

    /// A status report of the peer arrived. `acked` gets each SDU that arrived: in NR when it is
    /// acknowledged, in LTE in order, when all PDUs up to its last are. [`Self::given_up`] lists
    /// the SDUs that the entity gives up on this report; the entity continues. A report that
    /// acknowledges unsent data, or whose SNs do not ascend, is discarded (TS 38.322 section
    /// 5.6.1), and so is a report older than the window. In other modes this has no effect.
    pub fn on_status(&mut self, now: Instant, status: &StatusPdu, acked: impl FnMut(SduHandle)) {
        match &mut self.kind {
            Kind::NrAm(am) => am.on_status(status, acked),
            Kind::LteAm(am) => am.on_status(status, acked),
            Kind::UmtsAm(am) => am.on_status(now, status, acked),
            _ => return,
        }
        if !self.is_stalled()
            && let Some(stopwatch) = self.stopwatch_mut()
        {
            stopwatch.opened(now);
        }
    }

    /// Calls `each` with the SDUs that the entity gave up on the last report or timeout. In UMTS
    /// they are discarded (TS 25.322 clause 9.7.3.3). In NR and LTE their maxRetxThreshold-th
    /// retransmission became due; in LTE, the retransmission of a PDU with a byte of them (TS
    /// 38.322 section 5.3.2, TS 36.322 section 5.2.1). LTE may name an SDU more than once, for
    /// several PDUs.
    pub fn given_up(&self, each: impl FnMut(SduHandle)) {
        match &self.kind {
            Kind::NrAm(am) => am.given_up(each),
            Kind::LteAm(am) => am.given_up(each),
            Kind::UmtsAm(am) => am.given_up(each),
            _ => {}
        }
    }

    /// Queues a status report of this entity's own receiving side, replacing a waiting one.
    /// Acknowledged mode only; in other modes this has no effect.
    pub fn queue_status(&mut self, status: &StatusPdu) {
        match &mut self.kind {
            Kind::NrAm(am) => am.queue_status(status),
            Kind::LteAm(am) => am.queue_status(status),
            Kind::UmtsAm(am) => am.queue_status(status),
            _ => {}
        }
    }

    /// The time at which [`Self::on_timeout`] has work: the expiry of t-PollRetransmit; in UMTS of
    /// Timer_Poll, of Timer_MRW, or of Timer_Poll_Prohibit if a poll waits for it.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let at = match &self.kind {
            Kind::NrAm(am) => am.poll_timeout(),
            Kind::LteAm(am) => am.poll_timeout(),
            Kind::UmtsAm(am) => am.next_timeout(),
            _ => Instant::NEVER,
        };
        Some(at).filter(|&at| at != Instant::NEVER)
    }

    /// Handles an expiry of t-PollRetransmit (TS 38.322 section 5.3.3.4). `more_waits`: the source
    /// has an SDU. If not, or if the window is full, the last unacknowledged SDU or PDU is sent
    /// again to carry the poll bit. [`Self::given_up`] lists the SDUs given up because of this.
    /// UMTS: TS 25.322 clauses 9.5 and 9.7.1.
    pub fn on_timeout(&mut self, now: Instant, more_waits: bool) {
        match &mut self.kind {
            Kind::NrAm(am) => am.on_timeout(now, more_waits),
            Kind::LteAm(am) => am.on_timeout(now, more_waits),
            Kind::UmtsAm(am) => am.on_timeout(now, more_waits),
            _ => {}
        }
    }

    /// Asserts that its state is consistent.
    #[cfg(test)]
    pub(super) fn assert_sound(&self) {
        match &self.kind {
            Kind::NrAm(am) => am.assert_sound(),
            Kind::LteAm(am) => am.assert_sound(),
            Kind::UmtsAm(am) => am.assert_sound(),
            _ => {}
        }
    }
}

/// Whole SDUs, each a PDU without header.
fn pull_transparent(
    below: u32,
    grant: u32,
    source: &mut impl SduSource,
    out: &mut TbContent,
) -> u32 {
    let mut used = 0;
    while let Some(head) = source.head().filter(|head| head.size + below <= grant - used) {
        out.push_single(PduHeader::Tm, below, segment::part(head.handle, head.size, 0, head.size));
        source.take();
        used += head.size + below;
    }
    used
}
