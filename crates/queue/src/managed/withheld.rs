//! Marks on L4S packets that another node sets, by the share that this queue's AQM would mark.

use super::known::{Known, MayNeed};
use super::{Account, ManagedQueue};
use crate::aqm::dualpi2::is_l4s;
use crate::aqm::{Aqm, Fate};
use crate::counters::Withheld;
use crate::discipline::Discipline;
use crate::lane::{Lane, Tag};
use justfull_base::{Ecn, Instant, Packet};

impl ManagedQueue {
    /// From now on the AQM's marks on departing L4S packets are counted and not set. The AQM takes
    /// a packet with CE for one with ECT(1), since another node has marked it for this queue. Other
    /// packets are signalled as before.
    pub fn withhold_marks(&mut self) {
        self.account.withholds = true;
        self.account.kept();
    }

    /// The counts since [`Self::withhold_marks`].
    #[must_use]
    pub fn withheld(&self) -> Withheld {
        self.account.memory.as_ref().map_or_else(Withheld::default, |memory| memory.withheld)
    }
}

impl Account {
    /// An L4S packet leaves; the AQM would have marked it if `marked`.
    fn withhold(&mut self, marked: bool) {
        let withheld = &mut self.kept().withheld;
        withheld.l4s += 1;
        withheld.marked += u64::from(marked);
    }
}

impl<D: Discipline + ?Sized, A: Aqm + MayNeed> Known<'_, D, A> {
    /// The fate of `packet`, which leaves the head of `lane`, if marks are set elsewhere.
    #[cold]
    #[inline(never)]
    pub(super) fn fate_withheld(
        &mut self,
        now: Instant,
        lane: Lane,
        packet: &Packet,
        tag: Tag,
    ) -> Fate {
        if !is_l4s(packet.ecn) {
            return self.judge(now, lane, packet, tag);
        }
        let unmarked = Packet { ecn: Ecn::Ect1, ..*packet };
        let fate = self.judge(now, lane, &unmarked, tag);
        if fate == Fate::Drop {
            return fate;
        }
        self.account.withhold(fate == Fate::Mark);
        Fate::Pass
    }
}
