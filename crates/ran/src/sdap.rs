//! Service data adaptation: a queue per QFI, mapped to a data radio bearer (TS 37.324 section 5.3).

use crate::config::{QosFlowConfig, SdapConfig, urgent};
use crate::few::{Few, collect_exactly};
use crate::limiter::{CapacityUnit, GrantContext};
use crate::pacer::AnyPacer;
use crate::scheduler::{AnySdapScheduler, Candidate, SdapScheduler};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use justfull_base::rng::mix;
use justfull_base::{ConfigError, Layer};
use justfull_queue::ManagedQueue;

/// The queue of one QFI.
#[repr(C)]
pub(crate) struct SdapQueue {
    pub(crate) queue: ManagedQueue,
    pub(crate) pacer: AnyPacer,
    /// The amount that this poll moved from it, in the pacer's unit.
    pub(crate) moved: u64,
    weight: u32,
    /// Index of the bearer among the UE's bearers.
    pub(crate) drb: u8,
    priority: u8,
    /// True if its bearer admits nothing more in this poll.
    pub(crate) refused: bool,
}

/// SDAP of one UE. The index of a queue is the index of the QoS flow in the UE's configuration.
#[repr(C)]
pub(crate) struct UeSdap {
    pub(crate) queues: Few<SdapQueue>,
    /// None with a single queue, which needs no choice.
    choice: Option<Box<Choice>>,
    pub(crate) unit: CapacityUnit,
}

/// The choice among several queues.
struct Choice {
    scheduler: AnySdapScheduler,
    candidates: Vec<Candidate>,
}

impl UeSdap {
    pub(crate) fn new(
        config: &SdapConfig,
        flows: &[QosFlowConfig],
        context: &GrantContext,
        key: u64,
    ) -> Result<Self, ConfigError> {
        let build = |(i, flow): (usize, &QosFlowConfig)| {
            let mut own = Cow::Borrowed(flow.queue.as_deref().unwrap_or(&config.queue));
            if own.discipline.has_classes() {
                own.to_mut().discipline.serve_first(urgent(flows));
            }
            let queue = ManagedQueue::new(Layer::Sdap, &own, mix(key ^ i as u64))
                .map_err(|e| e.within("queue"))?;
            let pacer = AnyPacer::new(&config.pacer, context).map_err(|e| e.within("pacer"))?;
            let (drb, priority, weight) = (flow.drb, flow.priority, flow.weight);
            Ok(SdapQueue { queue, pacer, drb, priority, weight, moved: 0, refused: false })
        };
        let queues = collect_exactly(flows.iter().enumerate().map(build))?.into();
        let scheduler = AnySdapScheduler::new(&config.scheduler, flows.len())
            .map_err(|e| e.within("scheduler"))?;
        let choice = Choice { scheduler, candidates: Vec::with_capacity(flows.len()) };
        Ok(Self { queues, choice: (flows.len() > 1).then(|| Box::new(choice)), unit: context.unit })
    }

    /// SDAP without queues.
    pub(crate) fn vacant() -> Self {
        Self { queues: Few::Many(Vec::new()), choice: None, unit: CapacityUnit::Packets }
    }

    /// True if any queue holds a packet.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.queues.iter().any(|q| q.queue.backlog_packets() > 0)
    }

    /// Backlog of queue `i` in the pacers' unit.
    #[inline]
    pub(crate) fn backlog(&self, i: usize) -> u64 {
        let queue = &self.queues[i].queue;
        match self.unit {
            CapacityUnit::Packets => u64::from(queue.backlog_packets()),
            CapacityUnit::Bytes => queue.backlog_bytes(),
        }
    }

    /// The queue from which a poll takes all its packets, if this is certain: the only queue, or
    /// the only queue with packets under a scheduler without memory.
    #[inline(always)]
    pub(crate) fn sole(&mut self) -> Option<&mut SdapQueue> {
        match &mut self.queues {
            Few::One(only) => Some(only),
            Few::Many(queues) => {
                if self.choice.as_ref().is_none_or(|choice| choice.scheduler.has_memory()) {
                    return None;
                }
                let mut busy = queues.iter_mut().filter(|q| q.queue.backlog_packets() > 0);
                let only = busy.next()?;
                busy.next().is_none().then_some(only)
            }
        }
    }

    /// Begins a new poll: nothing is moved, no bearer is refused.
    #[inline]
    pub(crate) fn begin_poll(&mut self) {
        for q in &mut *self.queues {
            q.moved = 0;
            q.refused = false;
        }
    }

    /// The queue that sends next.
    #[inline]
    pub(crate) fn pick(&mut self) -> Option<usize> {
        if let Few::One(only) = &self.queues {
            return (only.queue.backlog_packets() > 0 && !only.refused).then_some(0);
        }
        self.pick_by_schedule()
    }

    fn pick_by_schedule(&mut self) -> Option<usize> {
        let Choice { scheduler, candidates } = self.choice.as_deref_mut()?;
        candidates.clear();
        candidates.extend(self.queues.iter().map(|q| {
            let head = q.queue.peek();
            Candidate {
                eligible: head.is_some() && !q.refused,
                head_enqueued: head.map(|p| p.enqueued).unwrap_or_default(),
                head_bytes: head.map_or(0, |p| p.size),
                priority: q.priority,
                weight: q.weight,
            }
        }));
        scheduler.pick(candidates)
    }

    /// Queue `i` has sent a packet of `bytes`.
    #[inline]
    pub(crate) fn on_sent(&mut self, i: usize, bytes: u32) {
        if let Some(choice) = &mut self.choice {
            choice.scheduler.on_sent(i, bytes);
        }
    }
}
