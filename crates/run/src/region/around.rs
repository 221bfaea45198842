//! The driver around several cells.

use justfull_base::{Instant, Probe};
use justfull_ran::Egress;

/// The hosts and links around the cells. As [`Probe`] and [`Egress`] it gets the events and the
/// deliveries of every cell.
pub trait Around: Probe + Egress {
    /// `ue` leaves its cell at `now`: from then on nothing leaves it.
    fn leave(&mut self, now: Instant, ue: u32);

    /// `ue` is in `cell` from `now` on.
    fn join(&mut self, now: Instant, ue: u32, cell: u32);

    /// A packet of `flow` reaches the UPF. For cells that run ahead only: other drivers know it.
    fn entered(&mut self, now: Instant, flow: u32);

    /// A cell acts, or takes a packet.
    fn count_call(&mut self);
}
