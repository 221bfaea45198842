//! What the AQMs of a stack's queues need of the stack.

use super::{QosFlowConfig, SdapConfig};
use alloc::format;
use alloc::string::String;
use justfull_base::error::ensure;
use justfull_base::{Bytes, ConfigError, Layer};
use justfull_queue::{Limit, QueueConfig};

/// Where a queue's settings stand: its layer, and the UE and QoS flow that have their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub(crate) layer: Layer,
    pub(crate) flow: Option<(usize, usize)>,
}

impl Owner {
    fn name(self) -> String {
        match self.flow {
            Some((ue, flow)) => format!("ue[{ue}].qos_flow[{flow}].queue"),
            None => format!("{}.queue", self.layer.name()),
        }
    }

    /// Checks that the AQM of `queue` has what it needs; packets have up to `mtu` bytes.
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
            "P06 section III-B: only the MAC tells the rate at which it serves a queue",
        )
    }
}

/// Checks that the AQMs of SDAP's queues have what they need.
pub(crate) fn check_sdap(
    sdap: &SdapConfig,
    flows: &[QosFlowConfig],
    mtu: u32,
) -> Result<(), ConfigError> {
    let owner = |flow| Owner { layer: Layer::Sdap, flow };
    owner(None).check(&sdap.queue, mtu)?;
    let own = |(i, flow): (usize, &QosFlowConfig)| {
        let queue = flow.queue.as_deref();
        queue.map_or(Ok(()), |queue| owner(Some((0, i))).check(queue, mtu))
    };
    flows.iter().enumerate().try_for_each(own)
}
