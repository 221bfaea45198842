//! First segments that wait for their servers.

use super::{Engine, FIRST, HELD};
use crate::config::ProxyConfig;
use crate::connections::Ended;
use crate::flow::Outcome;
use crate::held::{Held, Passed};
use crate::pools::Client;
use justfull_base::Instant;
use justfull_net::SystemError;
use nix::sys::epoll::{EpollEvent, EpollFlags};
use socket2::Socket;

impl Engine {
    /// Prepares the wait of clients for their servers. If this host lacks the means, the kernel
    /// answers clients at once, and `status` has the reason.
    ///
    /// # Errors
    /// It lacks the means, and there are pools.
    pub(super) fn prepare_wait(&mut self) -> Result<(), SystemError> {
        let pools = self.connections.shared.pools.clone();
        let (mark, most) = (self.config.route.mark, self.host.limits.waits);
        let made = Held::start(mark, most, pools).and_then(|held| {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, FIRST);
            let watched = self.connections.epoll.add(held.descriptor(), event);
            watched.map_err(|e| SystemError::new("watch first segments", e))?;
            Ok(held)
        });
        match made {
            Ok(held) => self.held = Some(held),
            Err(error) if self.config.pools.is_empty() => {
                self.wait_refused = Some(error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The group to which the rules send first segments that wait, for each family. With pools all
    /// do: they reach the listener of their pool at their own interface, where the proxy puts them.
    pub(super) fn logged(&self, config: &ProxyConfig) -> [Option<u16>; 2] {
        let group = self.held.as_ref().map(Held::group);
        if !config.pools.is_empty() {
            return [group; 2];
        }
        config.select.wait_for_server.families().map(|waits| group.filter(|_| waits))
    }

    /// First segments have come.
    pub(super) fn first_segments_arrived(&mut self, now: Instant) {
        if let Some(held) = &mut self.held {
            let time_waits = &mut self.connections.shared.time_waits;
            held.waits = self.config.select.wait_for_server.families();
            held.arrived(now, &self.connections.epoll, HELD, time_waits);
            if std::mem::take(&mut held.fresh) {
                // The segments are put back when their servers have answered.
                self.look_at_pools();
            }
            self.account_for_waits(now);
        }
    }

    /// A leg to a server has an event.
    pub(super) fn held_event(&mut self, now: Instant, token: u64) {
        if let Some(held) = &mut self.held {
            held.event(token, &self.connections.epoll);
            self.account_for_waits(now);
        }
    }

    /// Gives up legs that have waited too long.
    pub(super) fn look_at_waits(&mut self, now: Instant) {
        if let Some(held) = &mut self.held {
            held.tick(now);
            self.account_for_waits(now);
        }
    }

    /// Takes the leg to the server of an accepted client; none if the client did not wait.
    pub(super) fn waited(&mut self, client: &Socket, from: Client) -> Option<Socket> {
        let server = client.local_addr().ok()?.as_socket()?;
        self.held.as_mut()?.take(from, server)
    }

    fn account_for_waits(&mut self, now: Instant) {
        let Some(held) = &mut self.held else { return };
        for Passed { client, server, outcome } in std::mem::take(&mut held.passed) {
            match outcome {
                Outcome::Refused => self.guard.answered(),
                Outcome::NoAnswer => self.guard.not_answered(now),
                _ => {}
            }
            self.account(now, &Ended { client, server: Some(server), outcome, flow: None });
        }
    }

    /// Diverted first segments of each family that went to the listener.
    pub(super) fn delivered(&mut self, now: Instant) -> std::io::Result<[u64; 2]> {
        let counted = self.host.table.first_segments()?;
        // Copies of most counted segments have arrived; this call reads them.
        self.first_segments_arrived(now);
        let kept = self.kept();
        Ok([0, 1].map(|family| counted[family].saturating_sub(kept[family])))
    }

    /// First segments of each family that the rules counted without a delivery to the listener.
    pub(super) fn kept(&self) -> [u64; 2] {
        let own = self.held.as_ref().map_or([0; 2], |held| held.kept);
        [0, 1].map(|family| self.kept_before[family] + own[family])
    }
}
