//! Memory of EQP that is allocated before the first slot.

use super::Eqp;
use crate::rb_demand::RbAllocation;

/// The most that a slot lists, for [`Eqp::reserve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EqpRoom {
    /// UEs with something to send.
    pub ues: usize,
    /// Bearers of all these UEs.
    pub drbs: usize,
    /// Bearers of one UE.
    pub drbs_of_ue: usize,
    /// Listed SDUs of all these bearers.
    pub sdus: usize,
    /// Resource blocks.
    pub rbs: u16,
}

impl Eqp {
    /// Allocates now all that slots up to `room` need, and `out` for their allocations: such slots
    /// allocate nothing later.
    pub fn reserve(&mut self, room: &EqpRoom, out: &mut RbAllocation) {
        out.reserve(room.ues, room.drbs);
        self.members.reserve(room.ues);
        self.chains.reserve(room);
        self.knapsack.reserve(room, self.turns.len());
    }
}
