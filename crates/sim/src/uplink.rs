//! The way from the UEs back to the servers.

use justfull_base::Instant;
use justfull_tcp::Ack;

/// What a UE sends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Up {
    /// An acknowledgement for the sender of this number.
    Ack(u32, Ack),
    /// The reply to an echo request of the source of this number, which had been sent at that instant.
    Reply(u32, Instant),
}
