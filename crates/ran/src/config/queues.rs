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

    /// Refuses an AQM of `queue` that needs delivery reports.
    pub(crate) fn refuse_reports(
        self,
        queue: &QueueConfig,
        allowed: &str,
        why: &'static str,
    ) -> Result<(), ConfigError> {
        let (field, found) = (self.name() + ".aqm.kind", queue.aqm.name());
        ensure(!queue.aqm.needs_reports(), &field, &found, allowed, why)
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
        if self.layer != Layer::Sdap {
            let why = "TS 38.425 section 5.4.2: the DU reports to the CU";
            self.refuse_reports(queue, "l4span in sdap.queue only", why)?;
        }
        ensure(
            self.layer == Layer::Rlc || !queue.aqm.needs_rate(),
            &(self.name() + ".aqm.kind"),
            &aqm,
            "an AQM that needs no rate; abc, ared and pdpc in rlc.queue only",
            "P06 section III-B: only the MAC has the rate at which it serves a queue",
        )
    }
}

/// Checks the requirements of the AQMs of SDAP's queues in a gate, which gets no delivery reports.
pub(crate) fn check_sdap(
    sdap: &SdapConfig,
    flows: &[QosFlowConfig],
    mtu: u32,
) -> Result<(), ConfigError> {
    let check = |owner: Owner, queue: &QueueConfig| {
        owner.check(queue, mtu)?;
        owner.refuse_reports(queue, "an AQM that needs no delivery reports", "a gate gets none")
    };
    check(Owner::of(Layer::Sdap), &sdap.queue)?;
    let own = |(i, flow): (usize, &QosFlowConfig)| {
        let queue = flow.queue.as_deref();
        queue.map_or(Ok(()), |queue| check(Owner::of_flow(0, i), queue))
    };
    flows.iter().enumerate().try_for_each(own)
}
