//! The building blocks of the world: nodes, and the links between them.
//!
//! A node ([`Senders`](crate::senders::Senders),
//! [`Applications`](crate::applications::Applications), [`Receivers`](crate::receivers::Receivers),
//! and the [`Cell`](crate::cell::Cell), which may run alone for a while) reports when it acts next.
//! Its output goes to a link ([`Wires`](justfull_run::wire::Wires),
//! [`Uplink`](justfull_run::uplink::Uplink)), which keeps it in order until it reaches the next
//! node. A node has references to the links that take its output, and to no other node. To insert a
//! new node between two nodes, wire it in [`world`](crate::world): it takes the output of the link
//! to the second node, and has its own link to that node.

use justfull_base::Instant;

/// A node whose output goes to `Links`.
pub(crate) trait Node<Links> {
    /// Acts at `now`, the node's own next instant.
    fn act(&mut self, now: Instant, links: &mut Links);
}
