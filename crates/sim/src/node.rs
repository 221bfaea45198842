//! What the world is made of: nodes, and the links between them.
//!
//! A node ([`Senders`](crate::senders::Senders),
//! [`Applications`](crate::applications::Applications), [`Receivers`](crate::receivers::Receivers),
//! and the [`Cell`](crate::cell::Cell), which may go on alone for a while) says when it acts next.
//! What leaves it goes to a link ([`Wires`](crate::wire::Wires),
//! [`Uplink`](crate::uplink::Uplink)), which keeps it in order until it reaches the node behind. A
//! node knows what takes its output and no other node, so a box can be put between two nodes by
//! wiring it in [`world`](crate::world): it takes what a link brings to the node behind, and has a
//! link of its own to that node.

use justfull_base::Instant;

/// A node whose output goes to `Links`.
pub(crate) trait Node<Links> {
    /// Does what is due at `now`, its own next instant.
    fn act(&mut self, now: Instant, links: &mut Links);
}
