//! The control as a connection sees it: in this process, or in the process that has the windows of
//! all workers.

use crate::pools::ClientHost;
use crate::steering::Steering;
use justfull_base::Instant;
use justfull_rapid::{FlowId, Opening, Sample};

/// A connection that takes part in the control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// Its name in changes of windows.
    pub(crate) key: u64,
    /// Its flow; none if the control is in another process.
    pub(crate) id: Option<FlowId>,
}

/// A control that gives windows to connections.
pub(crate) trait Allocator {
    /// A connection of `client` begins to take part.
    fn open(
        &mut self,
        now: Instant,
        client: ClientHost,
        key: u64,
        opening: &Opening,
    ) -> Option<Member>;

    /// False while there is no room for another sample.
    fn takes_samples(&self) -> bool;

    /// A sample of a connection, in payload.
    fn sample(&mut self, now: Instant, of: Member, sample: &Sample);

    /// Data of a connection begins to wait in the proxy.
    fn hold(&mut self, of: Member);

    /// A connection has ended.
    fn close(&mut self, now: Instant, of: Member);
}

impl Allocator for Steering {
    fn open(
        &mut self,
        now: Instant,
        client: ClientHost,
        key: u64,
        opening: &Opening,
    ) -> Option<Member> {
        let id = self.open(now, client, key, opening)?;
        Some(Member { key, id: Some(id) })
    }

    fn takes_samples(&self) -> bool {
        true
    }

    fn sample(&mut self, now: Instant, of: Member, sample: &Sample) {
        of.id.into_iter().for_each(|id| self.sample(now, id, sample));
    }

    fn hold(&mut self, of: Member) {
        of.id.into_iter().for_each(|id| self.hold(id));
    }

    fn close(&mut self, now: Instant, of: Member) {
        of.id.into_iter().for_each(|id| self.close(now, id));
    }
}
