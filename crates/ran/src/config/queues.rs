//! Requirements of a queue's settings on the surrounding layers.

use super::{QosFlowConfig, SdapConfig};
use alloc::format;
use alloc::string::String;
use justfull_base::error::ensure;
use justfull_base::{Bytes, ConfigError, Layer};
use justfull_queue::{Limit, QueueConfig};

/// The place of a queue's settings: its layer, and the UE and QoS flow with their own settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    layer: Layer,
    flow: Option<(usize, usize)>,
}

impl Owner {
    /// The queues of `layer`.
    pub(crate) const fn of(layer: Layer) -> Self {
        Self { layer, flow: None }
    }

    /// SDAP's queue of QoS flow `flow` of UE `ue`, which has its own settings.
    pub(crate) const fn of_flow(ue: usize, flow: usize) -> Self {
        Self { layer: Layer::Sdap, flow: Some((ue, flow)) }
    }

    fn name(self) -> String {
        match self.flow {
            Some((ue, flow)) => format!("ue[{ue}].qos_flow[{flow}].queue"),
            None => format!("{}.queue", self.layer.name()),
        }
    }

    /// Checks that the AQM of `queue` has its requirements: a limit that admits a packet of up to
    /// `mtu` bytes, and a layer below that reports its rate.
    pub(crate) fn check(self, queue: &QueueConfig, mtu: u32) -> Result<(), ConfigError> {
        let aqm = queue.aqm.name();
        if queue.aqm.needs_room()
            && let Limit::Bytes(most) = queue.limit
        {
            ensure(
                most >= u64::from(mtu),
                &(self.name() + ".limit"),
                &queue.limit,
                &format!("at least the MTU, {}, with aqm {aqm}", Bytes(mtu.into())),
                "an AQM that judges arrivals by what is queued needs room for a packet",
            )?;
        }
        ensure(
            self.layer == Layer::Rlc || !queue.aqm.needs_rate(),
            &(self.name() + ".aqm.kind"),
            &aqm,
            "an AQM that needs no rate; ared and pdpc in rlc.queue only",
            "P06 section III-B: only the MAC has the rate at which it serves a queue",
        )
    }
}

/// Checks the requirements of the AQMs of SDAP's queues.
pub(crate) fn check_sdap(
    sdap: &SdapConfig,
    flows: &[QosFlowConfig],
    mtu: u32,
) -> Result<(), ConfigError> {
    Owner::of(Layer::Sdap).check(&sdap.queue, mtu)?;
    let own = |(i, flow): (usize, &QosFlowConfig)| {
        let queue = flow.queue.as_deref();
        queue.map_or(Ok(()), |queue| Owner::of_flow(0, i).check(queue, mtu))
    };
    flows.iter().enumerate().try_for_each(own)
}
