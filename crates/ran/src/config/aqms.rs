//! What the AQMs of a stack's queues need of the stack.

use super::{QosFlowConfig, SdapConfig, StackConfig};
use alloc::format;
use alloc::string::String;
use justfull_base::error::ensure;
use justfull_base::{Bytes, ConfigError, Layer};
use justfull_queue::{Limit, QueueConfig};

/// Where a queue's settings stand: its layer, and the UE and QoS flow that have their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    layer: Layer,
    flow: Option<(usize, usize)>,
}

impl Owner {
    fn name(self) -> String {
        match self.flow {
            Some((ue, flow)) => format!("ue[{ue}].qos_flow[{flow}].queue"),
            None => format!("{}.queue", self.layer.name()),
        }
    }

    /// See [`StackConfig::validate_aqms`]; packets have up to `mtu` bytes.
    fn check(self, queue: &QueueConfig, mtu: u32) -> Result<(), ConfigError> {
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

impl StackConfig {
    /// The settings of all kinds of queues, and where they stand.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (Owner, &QueueConfig)> {
        let of_layers = [
            (Layer::Upf, &self.upf.queue),
            (Layer::Sdap, &self.sdap.queue),
            (Layer::Rlc, &self.rlc.queue),
        ];
        let of_layers = of_layers.into_iter().map(|(layer, q)| (Owner { layer, flow: None }, q));
        let own = self.ues.iter().enumerate().flat_map(|(ue, config)| {
            config.qos_flows.iter().enumerate().filter_map(move |(i, flow)| {
                let owner = Owner { layer: Layer::Sdap, flow: Some((ue, i)) };
                Some((owner, flow.queue.as_deref()?))
            })
        });
        of_layers.chain(own)
    }

    /// Checks that every AQM has what it needs: a limit that admits a packet, and a layer below
    /// that tells its rate.
    pub(super) fn validate_aqms(&self) -> Result<(), ConfigError> {
        self.queues().try_for_each(|(owner, queue)| owner.check(queue, self.mtu))
    }
}
