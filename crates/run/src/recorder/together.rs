//! Transfers: the time at which each is complete at its receiver, and the goodputs while all of
//! them ran.

use super::Recorder;
use crate::results::{FlowResult, TogetherResult};
use justfull_base::Instant;

/// The end of the time in which all transfers ran.
#[derive(Default)]
pub(super) struct Together {
    /// Completion of the first sized transfer in the measured window; none yet.
    until: Option<Instant>,
    /// Bytes that each flow had received in the window by then.
    bytes: Vec<u64>,
    /// By flow, up to the last transfer: true for a transfer, which shares the capacity.
    transfers: Vec<bool>,
}

impl Together {
    /// Marks flow `flow` as a transfer.
    fn admit(&mut self, flow: u32) {
        let flow = flow as usize;
        self.transfers.resize(self.transfers.len().max(flow + 1), false);
        self.transfers[flow] = true;
    }

    /// Flow `flow` has ended.
    pub(super) fn end(&mut self, flow: u32) {
        if let Some(transfer) = self.transfers.get_mut(flow as usize) {
            *transfer = false;
        }
    }
}

impl Recorder {
    /// Flow `flow` is a transfer of `size` bytes, or endless.
    pub fn transfer(&mut self, flow: u32, size: Option<u64>) {
        self.together.admit(flow);
        if let Some(size) = size.filter(|size| *size > 0) {
            self.expect(flow, size);
            self.class_of(flow).result.sized += 1;
        }
    }

    /// The receiver of `flow` has a complete transfer; called once for each sized transfer.
    pub(super) fn transfer_whole(&mut self, now: Instant, flow: u32) {
        let class = self.class_of(flow);
        class.whole += 1;
        let at = now.as_secs_f64();
        class.result.first_received_s.get_or_insert(at);
        if class.whole == class.result.sized {
            class.result.received_s = Some(at);
        }
        if now > self.warmup && self.together.until.is_none() {
            self.together.until = Some(now);
            self.together.bytes = self.singles.iter().map(|single| single.goodput_bytes).collect();
        }
    }

    /// Writes the goodput of the flows of class `i` while all transfers ran into `result`.
    pub(super) fn finish_transfers(&self, i: usize, result: &mut FlowResult) {
        result.together_mbit_s = match self.together.until {
            None => result.goodput_mbit_s,
            Some(until) => {
                let own = |flow: usize| self.singles[flow].class as usize == i;
                let got = |flow: usize| self.together.bytes.get(flow).copied().unwrap_or_default();
                let shares = self.shares_until(until, own, got);
                let bytes = self.flow_numbers().filter(|flow| own(*flow)).map(got).sum();
                shares.goodput(bytes, until)
            }
        };
    }

    /// The time in which all transfers ran, and the fairness of their shares.
    pub fn together(&self) -> TogetherResult {
        let at_end = |i: usize| self.singles[i].goodput_bytes;
        let then = |i: usize| self.together.bytes.get(i).copied().unwrap_or_else(|| at_end(i));
        let transfer = |i: usize| self.together.transfers.get(i).copied().unwrap_or_default();
        let until = self.together.until.unwrap_or(self.end);
        TogetherResult {
            until_s: until.as_secs_f64(),
            jain_index: self.shares_until(until, transfer, then).jain(),
        }
    }
}
