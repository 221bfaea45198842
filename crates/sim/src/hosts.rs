//! Servers and UEs: deliver packets that leave a link to their end.

use crate::applications::{Applications, Received};
use crate::links::{Arrival, Links};
use crate::monitor::Sent;
use crate::receivers::Receivers;
use crate::senders::{Senders, TcpSender};
use justfull_base::rng::stream_key;
use justfull_base::{ConfigError, Ecn, Instant};
use justfull_run::ledger::Ledger;
use justfull_run::route::Route;
use justfull_run::tap::Listener;
use justfull_run::uplink::Up;
use justfull_tcp::{Ack, Receiver, ReceiverConfig, Sender, SenderConfig};

/// The end to which a flow's packets go.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// Number of the TCP flow to a UE.
    Download(u32),
    /// Number of the TCP flow from the proxy to a UE, number of the flow at the proxy.
    Proxied(u32, u32),
    /// Number of the TCP flow from a UE.
    Upload(u32),
    /// Number of the TCP flow, number of the browser or player.
    Client(u32, u32),
    /// Number of the source of datagrams.
    Source(u32),
    /// Number of the video call.
    Call(u32),
}

/// The nodes at both ends of the network.
pub(crate) struct Hosts {
    /// Ends by flow.
    pub(crate) ends: Vec<End>,
    pub(crate) senders: Senders,
    pub(crate) receivers: Receivers,
    pub(crate) applications: Applications,
    /// Ledgers by the number of the flow at the proxy.
    pub(crate) ledgers: Vec<Ledger>,
}

impl Hosts {
    /// `item` of a UE reaches its server.
    #[inline(always)]
    pub(crate) fn reach_server<T: Listener>(
        &mut self,
        now: Instant,
        item: &Up,
        links: &mut Links<T>,
    ) {
        match *item {
            Up::Ack(i, ref ack) => self.acknowledge(now, i, ack, links),
            Up::Reply(i, sent) => links.monitor.replied(now, self.applications.flow_of(i), sent),
            Up::Segment(i, payload) => {
                links.monitor.calls += 1;
                let ce = links.monitor.segments.peek(payload).segment.ecn == Ecn::Ce;
                self.take_segment(now, i, payload, ce, links);
            }
            Up::Request(i, bytes) => {
                let TcpSender { route, sender, .. } = &self.senders.all()[i as usize];
                if let End::Client(_, client) = self.ends[route.flow as usize] {
                    self.applications.reached_server(client, i, bytes, sender.unsent_bytes());
                }
                self.senders.write(now, i, bytes, links);
            }
            Up::Report(i, report) => self.applications.reported(now, i, report),
            Up::Input(i, sent) => self.applications.take_input(i, sent),
            // These go to the cell, in step with it (`World::reach_servers`).
            Up::Status(_) | Up::Asked(..) => {}
        }
    }

    /// A packet reaches its UE.
    pub(crate) fn reach_ue<T: Listener>(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        links: &mut Links<T>,
    ) {
        links.monitor.calls += 1;
        match self.ends[arrival.flow as usize] {
            End::Source(i) => self.applications.receive(now, i, arrival, links),
            End::Download(i) => {
                self.take_segment(now, i, arrival.payload, arrival.ce, links);
            }
            end => self.reach_other(now, end, arrival, links),
        }
    }

    /// A packet for `end`, which is neither a source nor a download, reaches its UE.
    #[inline(never)]
    fn reach_other<T: Listener>(
        &mut self,
        now: Instant,
        end: End,
        arrival: &Arrival,
        links: &mut Links<T>,
    ) {
        match end {
            End::Source(_) | End::Download(_) => {}
            End::Call(i) => self.applications.take_media(now, i, arrival, links),
            End::Proxied(i, proxied) => self.take_proxied(now, i, proxied, arrival, links),
            End::Upload(i) => {
                let mut ack = links.monitor.take_ack(arrival.payload);
                if arrival.ce {
                    ack.ecn = Ecn::Ce;
                }
                self.acknowledge(now, i, &ack, links);
            }
            End::Client(i, client) => {
                let segment = links.monitor.segments.peek(arrival.payload).segment;
                let new = self.take_segment(now, i, arrival.payload, arrival.ce, links);
                let delivered = self.receivers.delivered_bytes(i);
                let received = Received { segment, new, delivered };
                self.applications.client_received(now, client, i, &received, links);
            }
        }
    }

    /// `ack` reaches sender `i`.
    #[inline(always)]
    fn acknowledge<T: Listener>(&mut self, now: Instant, i: u32, ack: &Ack, links: &mut Links<T>) {
        let sample = self.senders.acknowledge(now, i, ack);
        links.monitor.acknowledged(now, self.senders.all()[i as usize].route.flow, ack, sample);
        self.senders.transmit(now, i, links);
    }

    /// A segment of the radio leg of a proxied flow reaches its UE.
    fn take_proxied<T: Listener>(
        &mut self,
        now: Instant,
        i: u32,
        proxied: u32,
        arrival: &Arrival,
        links: &mut Links<T>,
    ) {
        let segment = links.monitor.segments.peek(arrival.payload).segment;
        let new = self.take_segment(now, i, arrival.payload, arrival.ce, links);
        let ledger = &mut self.ledgers[proxied as usize];
        if new > 0
            && let Some(trip) = ledger.trip(now, &segment)
        {
            links.monitor.recorder.proxied(now, arrival.flow, &trip);
        }
        ledger.forget(self.receivers.delivered_bytes(i));
    }

    /// The segment of `handle` reaches receiver `i`. Returns the number of new bytes.
    #[inline(always)]
    fn take_segment<T: Listener>(
        &mut self,
        now: Instant,
        i: u32,
        handle: u64,
        ce: bool,
        links: &mut Links<T>,
    ) -> u64 {
        let Sent { segment, flow } = links.monitor.segments.take(handle);
        let new = self.receivers.receive(now, i, &segment, ce, links);
        links.monitor.received(now, flow, new);
        new
    }
}

/// The two ends of a TCP connection.
pub(crate) fn tcp(
    route: Route,
    sender: &SenderConfig,
    receiver: &ReceiverConfig,
    seed: u64,
) -> Result<(Sender, Receiver), ConfigError> {
    let mut sender = Sender::with_key(sender, key(route, seed))?;
    let mut receiver = Receiver::new(receiver)?;
    sender.settle(&mut receiver);
    Ok((sender, receiver))
}

/// The sender's key for the flow of `route` in the run with `seed`.
pub(crate) fn key(route: Route, seed: u64) -> u64 {
    stream_key(seed, &format!("tcp.{}", route.flow))
}
