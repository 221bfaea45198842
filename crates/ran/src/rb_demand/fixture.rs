//! Demands for tests: owned, and easy to write.

use super::{DrbDemand, RbAllocation, RbDemand, RbUnits, UeDemand};
use alloc::vec;
use alloc::vec::Vec;
use justfull_base::{Duration, Instant};

/// One UE: its slice, the bytes of a block, and the SDUs of each bearer.
#[derive(Clone, Debug)]
pub(crate) struct Ue {
    pub(crate) number: u32,
    pub(crate) slice: u16,
    /// Bytes of 0, 1, 2, ... blocks.
    pub(crate) tbs: Vec<u32>,
    pub(crate) bearers: Vec<Vec<u32>>,
}

impl Ue {
    /// A UE whose blocks carry `per_rb` bytes each.
    pub(crate) fn new(number: u32, slice: u16, per_rb: u32, bearers: Vec<Vec<u32>>) -> Self {
        Self { number, slice, tbs: (0..=275).map(|n| n * per_rb).collect(), bearers }
    }

    fn has_data(&self) -> bool {
        self.bearers.iter().any(|sdus| !sdus.is_empty())
    }
}

/// A cell whose queues empty as blocks are granted.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) slot: u64,
    pub(crate) units: RbUnits,
    pub(crate) ues: Vec<Ue>,
}

/// The outcome of a slot: UE number, bearer, and the bytes and whole SDUs sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) ue: u32,
    pub(crate) bearer: usize,
    pub(crate) bytes: u32,
    pub(crate) whole: usize,
}

impl Cell {
    pub(crate) fn new(rbs: u16, size: u16, ues: Vec<Ue>) -> Self {
        Self { slot: 0, units: RbUnits::new(rbs, size).expect("units have a size"), ues }
    }

    /// Calls `look` with the demand of this slot.
    pub(crate) fn demand<R>(&self, look: impl FnOnce(&RbDemand) -> R) -> R {
        let (mut drbs, mut sdus, mut ues) = (vec![], vec![], vec![]);
        for ue in self.ues.iter().filter(|ue| ue.has_data()) {
            let first = drbs.len() as u32;
            for (drb, own) in ue.bearers.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
                let start = sdus.len() as u32;
                sdus.extend_from_slice(own);
                drbs.push(DrbDemand {
                    drb: drb as u8,
                    sdus: start..sdus.len() as u32,
                    backlog: own.iter().map(|&b| u64::from(b)).sum(),
                    head_of_line: Duration::ZERO,
                });
            }
            let drbs = first..drbs.len() as u32;
            ues.push(UeDemand { ue: ue.number, slice: ue.slice, tbs: &ue.tbs, drbs });
        }
        let now = Instant::from_nanos(self.slot * 1_000_000);
        look(&RbDemand {
            slot: self.slot,
            now,
            units: self.units,
            ues: &ues,
            drbs: &drbs,
            sdus: &sdus,
        })
    }

    /// Sends the granted data and advances to the next slot.
    pub(crate) fn send(&mut self, out: &RbAllocation) -> Vec<Sent> {
        let mut bytes = out.bytes().iter();
        let mut sent = vec![];
        for ue in self.ues.iter_mut().filter(|ue| ue.has_data()) {
            for (bearer, sdus) in
                ue.bearers.iter_mut().enumerate().filter(|(_, own)| !own.is_empty())
            {
                let &granted = bytes.next().expect("every bearer has an answer");
                let (mut left, mut whole) = (granted, 0);
                while let Some(head) = sdus.first_mut().filter(|_| left > 0) {
                    let part = left.min(*head);
                    *head -= part;
                    left -= part;
                    if *head == 0 {
                        sdus.remove(0);
                        whole += 1;
                    }
                }
                assert_eq!(left, 0, "no bearer is granted more than it has");
                sent.push(Sent { ue: ue.number, bearer, bytes: granted, whole });
            }
        }
        self.slot += 1;
        sent
    }
}
