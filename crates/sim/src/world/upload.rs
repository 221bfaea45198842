//! Uploads: a UE's sender, whose segments go up and whose acknowledgements come down the chain. The
//! marks of `#[cold]` keep the way of a download's acknowledgement, which most worlds take most, in one piece.

use super::{ACK_BYTES, ACK_HANDLE, Arrival, World};
use crate::tap::Listener;
use justfull_base::packet::Protocol;
use justfull_base::{Instant, Packet};
use justfull_tcp::Ack;

impl<T: Listener> World<T> {
    /// The server of upload `i` sends `ack` down the chain.
    #[cold]
    pub(super) fn answer_down(&mut self, now: Instant, i: u32, ack: Ack) {
        let route = self.tcp[i as usize].route;
        let packet = Packet {
            payload: self.driver.acks.put(ack) | ACK_HANDLE,
            flow: route.flow,
            size: ACK_BYTES,
            protocol: Protocol::Tcp,
            tracked: route.tracked,
            ..Packet::default()
        };
        self.core[route.pipe as usize].push(now, ACK_BYTES, packet);
    }

    /// An acknowledgement of upload `i` reaches its UE.
    #[cold]
    pub(super) fn acknowledge_up(&mut self, now: Instant, i: u32, arrival: &Arrival) {
        let ack = self.driver.acks.take(arrival.payload & !ACK_HANDLE);
        self.acknowledge(now, i, &ack);
    }
}
