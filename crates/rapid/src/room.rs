//! A bound of what a control holds, for a driver that may not allocate.

use crate::control::Control;
use crate::payload::PayloadControl;
use crate::ue::Ue;

/// The most that a control holds at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// UEs in all cells.
    pub ues: u32,
    /// Flows of all UEs.
    pub flows: u32,
    /// Flows of one UE.
    pub flows_of_ue: u32,
}

impl Room {
    pub(crate) const UNBOUNDED: Self =
        Self { ues: u32::MAX, flows: u32::MAX, flows_of_ue: u32::MAX };
}

impl Control {
    /// Allocates memory for `room`. From now on only [`Control::add_cell`] allocates, and a UE or a
    /// flow beyond it is refused ([`Refused::Full`](crate::Refused::Full)).
    pub fn set_room(&mut self, room: Room) {
        self.room = room;
        let (ues, flows) = (room.ues as usize, room.flows as usize);
        self.ues.reserve(ues);
        self.ues.fill(room.ues, || Ue::new(0));
        for ue in 0..self.ues.places() {
            self.ues[ue].flows.reserve(room.flows_of_ue as usize);
        }
        self.flows.reserve(flows);
        self.timers.reserve(ues);
        self.changes.reserve(flows);
    }
}

impl<K: Copy> PayloadControl<K> {
    /// See [`Control::set_room`].
    pub fn set_room(&mut self, room: Room) {
        self.control.set_room(room);
        self.reserve(room);
    }
}
