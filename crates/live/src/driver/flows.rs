//! The flows of a live run: opened on the stack as their first packets appear.

use justfull_base::{Dscp, Duration};
use justfull_ran::{FiveTuple, Stack};
use justfull_sim::record::Record;
use std::collections::BTreeMap;

/// What the packets of a flow have in common.
pub(super) type Key = (FiveTuple, Dscp);

/// What a flow's packets need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Number on the stack.
    pub(super) number: u32,
    /// Number of its link between server and UPF.
    pub(super) pipe: u32,
    /// The scenario asks for its delay.
    pub(super) tracked: bool,
}

/// Flows by 5-tuple and codepoint, up to a number; later ones share a flow for each UE and QFI, so that memory is bounded.
pub(super) struct FlowTable {
    known: BTreeMap<Key, Flow>,
    shared: BTreeMap<(u32, Option<u8>), Flow>,
    most: usize,
    /// Packets of flows that found the table full.
    pub(super) shared_packets: u64,
    /// The flow of the last packet: the next is often of the same.
    last: Option<(Key, Flow)>,
}

impl FlowTable {
    /// At most `most` flows of their own.
    pub(super) fn new(most: u32) -> Self {
        Self {
            known: BTreeMap::new(),
            shared: BTreeMap::new(),
            most: most as usize,
            shared_packets: 0,
            last: None,
        }
    }

    /// Flows that have been opened.
    pub(super) fn opened(&self) -> usize {
        self.known.len() + self.shared.len()
    }

    /// The link of the flow to which a packet of `tuple`, on its way up, belongs; the first where there is none.
    pub(super) fn pipe_up(&self, tuple: &FiveTuple) -> u32 {
        let down = FiveTuple {
            source: tuple.destination,
            destination: tuple.source,
            source_port: tuple.destination_port,
            destination_port: tuple.source_port,
            protocol: tuple.protocol,
        };
        let first = self.known.range((down, Dscp::default())..).next();
        first.filter(|((tuple, _), _)| *tuple == down).map_or(0, |(_, flow)| flow.pipe)
    }

    /// The flow of `key` to `ue`, opened if need be. `delays` are those of the links.
    #[inline]
    pub(super) fn find(
        &mut self,
        (ue, key): (u32, &Key),
        delays: &[Duration],
        (stack, record): (&mut Stack, &mut Record),
    ) -> Flow {
        if let Some((last, flow)) = &self.last
            && last == key
        {
            return *flow;
        }
        let flow = match self.known.get(key) {
            Some(flow) => *flow,
            None => self.open((ue, key), delays, (stack, record)),
        };
        if self.known.len() < self.most {
            self.last = Some((*key, flow));
        }
        flow
    }

    #[cold]
    fn open(
        &mut self,
        (ue, key): (u32, &Key),
        delays: &[Duration],
        (stack, record): (&mut Stack, &mut Record),
    ) -> Flow {
        let full = self.known.len() >= self.most;
        let (tuple, dscp) = key;
        let alike = (ue, record.qfi(ue, tuple, *dscp));
        if full {
            self.shared_packets += 1;
            if let Some(flow) = self.shared.get(&alike) {
                return *flow;
            }
        }
        let number = stack.open_flow(ue, tuple, *dscp);
        let opened = record.open(ue, tuple, *dscp);
        let pipe = delays.iter().position(|d| *d == opened.extra_delay).unwrap_or(0) as u32;
        let flow = Flow { number, pipe, tracked: opened.low_latency };
        if full {
            self.shared.insert(alike, flow);
        } else {
            self.known.insert(*key, flow);
        }
        flow
    }
}
