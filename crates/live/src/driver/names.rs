//! Counts of flows by their names in the results, for observers.

use super::sojourn::Sojourns;
use crate::recorder::LiveRecorder;
use justfull_base::{Duration, Packet};
use std::sync::Arc;

/// Most separate names; later ones count under [`OTHERS`], so that a view stays small however many
/// flows there are.
const NAMES: usize = 64;
/// The common name of all others.
const OTHERS: &str = "other flows";

/// The flows of one name since the start of the run, warm-up included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFlows {
    /// The name; `other flows` for those beyond the first 64.
    pub name: Arc<str>,
    /// The UE and QFI of the first flow of this name; none for the other flows.
    pub place: Option<(u32, u8)>,
    /// The scenario measures their delay.
    pub low_latency: bool,
    /// Packets that left the stack.
    pub packets: u64,
    /// Their bytes, with IP headers.
    pub bytes: u64,
    /// Packets dropped in the stack.
    pub dropped: u64,
    /// Times from UPF to the end of the RLC.
    pub delay: Sojourns,
}

/// The flows of all names that have had a packet.
#[derive(Default)]
pub(super) struct ByName(Vec<Option<NamedFlows>>);

impl ByName {
    /// The counts that `flow` belongs to.
    #[inline]
    fn of(&mut self, flow: u32, record: &LiveRecorder) -> &mut NamedFlows {
        let name = record.name_of(flow);
        let at = (name as usize).min(NAMES);
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at].get_or_insert_with(|| new(name, record))
    }

    /// `packet` left the stack after `delay`.
    #[inline]
    pub(super) fn left(&mut self, packet: &Packet, delay: Duration, record: &LiveRecorder) {
        let flows = self.of(packet.flow, record);
        flows.packets += 1;
        flows.bytes += u64::from(packet.size);
        flows.delay.record(delay);
    }

    pub(super) fn dropped(&mut self, flow: u32, record: &LiveRecorder) {
        self.of(flow, record).dropped += 1;
    }

    /// The names that have had a packet.
    pub(super) fn view(&self) -> Vec<NamedFlows> {
        self.0.iter().flatten().cloned().collect()
    }
}

#[cold]
fn new(name: u32, record: &LiveRecorder) -> NamedFlows {
    let own = Some(record.named(name)).filter(|_| (name as usize) < NAMES);
    NamedFlows {
        name: own.map_or(OTHERS, |own| &own.name).into(),
        place: own.map(|own| (own.ue, own.qfi)),
        low_latency: own.is_some_and(|own| own.low_latency),
        packets: 0,
        bytes: 0,
        dropped: 0,
        delay: Sojourns::default(),
    }
}
