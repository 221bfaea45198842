//! What the AQMs of a stack's queues need of the stack.

use super::StackConfig;
use super::queues::Owner;
use justfull_base::{ConfigError, Layer};
use justfull_queue::QueueConfig;

impl StackConfig {
    /// The settings of all kinds of queues, and where they stand.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (Owner, &QueueConfig)> {
        let of_layers = [
            (Layer::Upf, &self.upf.queue),
            (Layer::Sdap, &self.sdap.queue),
            (Layer::Rlc, &self.rlc.queue),
        ];
        let of_layers = of_layers.into_iter().map(|(layer, q)| (Owner::of(layer), q));
        let own = self.ues.iter().enumerate().flat_map(|(ue, config)| {
            config.qos_flows.iter().enumerate().filter_map(move |(i, flow)| {
                let owner = Owner::of_flow(ue, i);
                Some((owner, flow.queue.as_deref()?))
            })
        });
        of_layers.chain(own)
    }

    /// Checks that every AQM has what it needs ([`Owner::check`]).
    pub(super) fn validate_aqms(&self) -> Result<(), ConfigError> {
        self.queues().try_for_each(|(owner, queue)| owner.check(queue, self.mtu))
    }
}
