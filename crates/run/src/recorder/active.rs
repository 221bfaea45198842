//! Active times of flows, and their results in these times: goodputs, and the fairness among them.

use super::Recorder;
use crate::results::FlowResult;
use justfull_base::Instant;

/// A flow, as the recorder counts it.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// Number of its class.
    pub class: u32,
    /// Start of the flow.
    pub start: Instant,
    /// Time after which it sends no new data; never if there is none.
    pub stop: Instant,
}

/// The time of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    start: Instant,
    stop: Instant,
    /// Arrival of the last new byte of a flow that stops, or of a complete transfer.
    last: Instant,
    /// Bytes of a transfer that the receiver of a flow that stops still lacks.
    left: u64,
    whole: bool,
}

impl Active {
    pub(super) const fn new(opening: &Opening) -> Self {
        let Opening { start, stop, .. } = *opening;
        Self { start, stop, last: start, left: u64::MAX, whole: false }
    }

    /// True if it stops, so that its last byte matters: each byte is noted, which other flows do
    /// not need.
    pub(super) fn stops(&self) -> bool {
        self.stop < Instant::NEVER
    }

    /// The part of the time from `from` to `to` in which the flow is active, if any. It is active
    /// from its start until its transfer is complete; with a time to stop, until that time or until
    /// its last new byte arrives, whichever is later.
    fn within(&self, from: Instant, to: Instant) -> Option<[Instant; 2]> {
        let end = match (self.whole, self.stops()) {
            (true, _) => self.last,
            (false, true) => self.stop.max(self.last),
            (false, false) => Instant::NEVER,
        };
        let (from, to) = (from.max(self.start), to.min(end));
        (from < to).then_some([from, to])
    }
}

/// The shares of flows: the number of active flows, their first start and last end, the sum of
/// their goodputs in bytes per second, and the sum of the squares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    flows: u32,
    span: Option<[Instant; 2]>,
    sum: f64,
    squares: f64,
}

impl Shares {
    /// Adds a flow that is `active` in the considered time and receives `bytes` in it.
    fn add(&mut self, active: Option<[Instant; 2]>, bytes: u64) {
        let Some([from, to]) = active else { return };
        let goodput = bytes as f64 / to.since(from).as_secs_f64();
        self.flows += 1;
        self.span = Some(self.span.map_or([from, to], |[a, b]| [a.min(from), b.max(to)]));
        self.sum += goodput;
        self.squares += goodput * goodput;
    }

    /// The time from the first flow's start to the last flow's end, at most until `end`.
    fn span(&self, end: Instant) -> Option<[Instant; 2]> {
        self.span.map(|[from, to]| [from, to.min(end)]).filter(|[from, to]| from < to)
    }

    /// Writes into `result` the goodput of `bytes`, up to `end`, and the fairness.
    pub(super) fn finish(&self, bytes: u64, end: Instant, result: &mut FlowResult) {
        let active = self.span(end).map(|at| at.map(Instant::as_secs_f64));
        result.set_goodput(bytes as f64, active);
        // Computed without the rounding of both instants.
        result.goodput_mbit_s = self.goodput(bytes, end);
        result.jain_index = self.jain();
    }

    /// The flows' goodput in Mbit/s for `bytes` until `until`.
    pub(super) fn goodput(&self, bytes: u64, until: Instant) -> f64 {
        let goodput = |[from, to]: [Instant; 2]| bytes as f64 * 8e-6 / to.since(from).as_secs_f64();
        self.span(until).map_or(0.0, goodput)
    }

    /// Jain's index (Jain, Chiu, Hawe 1984) over the flows' goodputs; none for a single flow or
    /// without any goodput.
    pub(super) fn jain(&self) -> Option<f64> {
        (self.flows > 1 && self.squares > 0.0)
            .then(|| self.sum * self.sum / (f64::from(self.flows) * self.squares))
    }
}

impl Recorder {
    /// `bytes` of new payload of `flow` arrive, which may be the last of a transfer, or which
    /// belong to a flow that stops.
    #[cold]
    #[inline(never)]
    pub(super) fn note_last(&mut self, now: Instant, flow: u32, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let (single, active) = (&mut self.singles[flow as usize], &mut self.active[flow as usize]);
        let left = if active.stops() { &mut active.left } else { &mut single.left };
        *left = left.saturating_sub(bytes);
        let whole = *left == 0;
        active.last = now;
        if whole {
            *left = u64::MAX;
            active.whole = true;
            self.transfer_whole(now, flow);
        }
    }

    /// The transfer of `flow` has `size` bytes.
    pub(super) fn expect(&mut self, flow: u32, size: u64) {
        let (single, active) = (&mut self.singles[flow as usize], &mut self.active[flow as usize]);
        *if active.stops() { &mut active.left } else { &mut single.left } = size;
    }

    /// Flow `flow` has ended: adds its share to its class.
    pub(super) fn close(&mut self, flow: u32) {
        let (active, single) = (self.active[flow as usize], self.singles[flow as usize]);
        let active = active.within(self.warmup, self.end);
        self.classes[single.class as usize].closed.add(active, single.goodput_bytes);
    }

    /// The shares of the flows of each class in the measured window.
    pub(super) fn shares(&self) -> Vec<Shares> {
        let mut shares: Vec<Shares> = self.classes.iter().map(|class| class.closed).collect();
        for (single, active) in self.singles.iter().zip(&self.active) {
            let active = active.within(self.warmup, self.end);
            shares[single.class as usize].add(active, single.goodput_bytes);
        }
        shares
    }

    /// The shares of the flows that are `counted` from the start of the window until `until`;
    /// `bytes` returns the bytes of each flow.
    pub(super) fn shares_until(
        &self,
        until: Instant,
        counted: impl Fn(usize) -> bool,
        bytes: impl Fn(usize) -> u64,
    ) -> Shares {
        let mut shares = Shares::default();
        for (i, active) in self.active.iter().enumerate().filter(|(i, _)| counted(*i)) {
            shares.add(active.within(self.warmup, until), bytes(i));
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_nanos(s * 1_000_000_000)
    }

    fn active(start: u64, stop: Option<u64>) -> Active {
        let stop = stop.map_or(Instant::NEVER, at);
        Active::new(&Opening { class: 0, start: at(start), stop })
    }

    #[test]
    fn a_flow_is_active_from_its_start_to_its_end_within_the_window() {
        let within = |active: Active| active.within(at(5), at(30));
        assert_eq!(within(active(0, None)), Some([at(5), at(30)]));
        assert_eq!(within(active(20, None)), Some([at(20), at(30)]));
        assert_eq!(within(active(0, Some(10))), Some([at(5), at(10)]));
        assert_eq!(within(active(10, Some(40))), Some([at(10), at(30)]));
        assert_eq!(within(active(0, Some(5))), None, "it stops as the window begins");
        assert_eq!(within(active(30, None)), None, "it begins as the window ends");
        let late = Active { last: at(12), ..active(0, Some(10)) };
        assert_eq!(within(late), Some([at(5), at(12)]), "its last byte comes later");
        let whole = Active { last: at(8), whole: true, ..active(6, Some(10)) };
        assert_eq!(within(whole), Some([at(6), at(8)]), "it is whole before it stops");
    }

    #[test]
    fn shares_are_of_each_flows_own_time_and_flows_that_are_never_active_have_none() {
        let mut shares = Shares::default();
        shares.add(Some([at(5), at(30)]), 25_000);
        shares.add(Some([at(20), at(30)]), 10_000);
        shares.add(None, 0);
        assert_eq!((shares.jain(), shares.span(at(30))), (Some(1.0), Some([at(5), at(30)])));
        assert_eq!(shares.span(at(25)), Some([at(5), at(25)]));
        assert_eq!((shares.span(at(5)), Shares::default().jain()), (None, None));
    }
}
