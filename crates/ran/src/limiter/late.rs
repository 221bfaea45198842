//! Limiters whose RLC is behind a wire.
//!
//! Source: TS 38.401 section 6.1 (CU and DU), TS 38.425 section 5.4.2 (downlink data delivery
//! status): the DU reports the departed data to the CU, and the CU itself counts the data that it
//! sent. So the CU's RLC backlog is all data that entered minus the data that had left by the last
//! report. The limiter is in the CU ([`Late`]), or in the DU ([`Remote`]), whose reports then carry
//! its room as the desired buffer size.

use super::{AnyLimiter, CapacityUnit, Limiter, RlcView};
use crate::desired::{DesiredBufferSize, ReportTimes};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use justfull_base::rng::{mix, stream_key};
use justfull_base::{Duration, Instant, Ratio, Rng, SlotReport, choice, params};

choice! {
    /// The node that has the limiters.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum LimiterNode {
        /// The CU: a limiter gets what slots left behind with the reports of the DU.
        #[default]
        Cu = "cu",
        /// The DU: a limiter gets each slot at once, and reports carry its room as the desired
        /// buffer size.
        Du = "du",
    }
}

params! {
    /// F1-U between a CU with SDAP and PDCP and a DU with RLC and MAC.
    #[derive(Clone, Debug, PartialEq)]
    pub struct F1Config {
        /// One-way delay of user data in both directions, and of reports.
        delay: Duration = Duration::ZERO, within(Duration::ZERO, Duration::from_secs(1));
        /// Time between delivery status reports; "0s" for one of each slot.
        report_period: Duration = Duration::ZERO,
            within(Duration::ZERO, Duration::from_secs(1)), "TS 38.425 section 5.4.2";
        /// Share of the reports that are lost. The next report has the data that left until then,
        /// but not the slots of the lost one.
        report_loss: Ratio = Ratio(0.0), within(Ratio(0.0), Ratio(0.9));
        /// The node that has the limiter.
        limiter_at: LimiterNode = LimiterNode::Cu;
    }
}

impl F1Config {
    /// True if something is late or lost between CU and DU.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        !(self.delay.is_zero() && self.report_period.is_zero()) || self.report_loss.0 > 0.0
    }
}

/// The way between a limiter and the RLC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apart {
    /// Delay of data to the RLC.
    data: Duration,
    /// Delay of reports.
    reports: Duration,
    /// Time between reports; zero for one of each slot.
    period: Duration,
    node: LimiterNode,
    /// Share of the reports that are lost, and the key of the chance.
    loss: Ratio,
    key: u64,
}

impl Apart {
    /// The way over `f1`, or a way on which each slot's report is `report_delay` late; none if the
    /// limiter is beside the RLC. `key` names a UE's random streams.
    pub(crate) fn of(report_delay: Duration, f1: &F1Config, key: u64) -> Option<Self> {
        let &F1Config { delay, report_period: period, report_loss: loss, limiter_at: node } = f1;
        let key = stream_key(key, "f1.reports");
        if f1.is_apart() {
            return Some(Self { data: delay, reports: delay, period, node, loss, key });
        }
        (!report_delay.is_zero()).then_some(Self {
            data: Duration::ZERO,
            reports: report_delay,
            period: Duration::ZERO,
            node: LimiterNode::Cu,
            loss: Ratio(0.0),
            key,
        })
    }

    /// The way of bearer `drb`, with a chance of its own.
    pub(crate) fn of_bearer(self, drb: u8) -> Self {
        Self { key: mix(self.key ^ u64::from(drb)), ..self }
    }

    /// The `limiter` of bearer `drb` at this way from its RLC.
    pub(crate) fn wrap(self, limiter: AnyLimiter, drb: u8) -> AnyLimiter {
        let apart = self.of_bearer(drb);
        AnyLimiter::Custom(match self.node {
            LimiterNode::Cu => Box::new(Late::new(limiter, apart)),
            LimiterNode::Du => Box::new(Remote::new(limiter, apart)),
        })
    }

    /// The first instant of a report at or after `at`.
    pub(crate) fn report_from(&self, at: Instant) -> Instant {
        match self.period.as_nanos() {
            0 => at,
            period => Instant::from_nanos(at.as_nanos().next_multiple_of(period)),
        }
    }

    /// True if the report that the DU makes at `at` is lost.
    pub(crate) fn loses(&self, at: Instant) -> bool {
        self.loss.0 > 0.0 && Rng::from_key(self.key ^ at.as_nanos()).chance(self.loss.0)
    }

    /// The arrival of the report that the DU makes at `made`.
    pub(crate) fn arrival(&self, made: Instant) -> Instant {
        made + self.reports
    }
}

/// Data that a limiter has admitted, in its unit.
#[derive(Default)]
struct Sent {
    /// Total amounts that have left for the RLC, have reached it, and have left it.
    entered: u64,
    arrived: u64,
    left: u64,
    /// On the way, each with its arrival.
    under_way: VecDeque<(Instant, u64)>,
}

impl Sent {
    /// Data that is due by `at` arrives; arrived data beyond `remaining` has left.
    fn settle(&mut self, at: Instant, remaining: u64, mut arrive: impl FnMut(Instant, u64, u64)) {
        while let Some(&(due, amount)) = self.under_way.front()
            && due <= at
        {
            self.under_way.pop_front();
            self.arrived += amount;
            arrive(due, amount, self.arrived - self.left);
        }
        // A late report may count data that arrived after its slot.
        self.left = self.left.max(self.arrived.saturating_sub(remaining));
    }

    /// `amount` leaves for the RLC and reaches it at `at`.
    fn send(&mut self, at: Instant, amount: u64) {
        self.entered += amount;
        self.under_way.push_back((at, amount));
    }
}

/// The view of an RLC that holds `backlog` in `unit`.
fn view(unit: CapacityUnit, backlog: u64, queue: &RlcView) -> RlcView {
    match unit {
        CapacityUnit::Packets => RlcView { packets: backlog, ..*queue },
        CapacityUnit::Bytes => RlcView { bytes: backlog, ..*queue },
    }
}

/// A limiter in the CU, for which an SDU enters the RLC when it reaches the DU. It keeps a report
/// for each slot of the delay and the period.
struct Late {
    limiter: AnyLimiter,
    apart: Apart,
    sent: Sent,
    /// Amount that had left the RLC by the last arrived report.
    left: u64,
    /// Slots in reports on the way, each with the report's arrival and the amount that had left by
    /// then.
    coming: VecDeque<(Instant, u64, SlotReport)>,
    /// Arrival of the last report, and the number of its slots so far.
    last: (Instant, u32),
}

impl Late {
    fn new(limiter: AnyLimiter, apart: Apart) -> Self {
        let (coming, last) = (VecDeque::new(), (Instant::NEVER, 0));
        Self { limiter, apart, sent: Sent::default(), left: 0, coming, last }
    }

    /// Gives the limiter the reports that have arrived, and returns its view of `queue`.
    fn known(&mut self, now: Instant, queue: &RlcView) -> RlcView {
        let unit = self.limiter.unit();
        while let Some(&(due, left, report)) = self.coming.front()
            && due <= now
        {
            self.coming.pop_front();
            self.last = (due, if due == self.last.0 { self.last.1 + 1 } else { 1 });
            if self.last.1 == 2 {
                // Limiters measure the age of reports by the first slot of each.
                let known = view(unit, self.sent.entered - self.left, queue);
                self.limiter.room(due + self.apart.data, &known);
            }
            self.left = left;
            self.limiter.on_slot(&report);
        }
        view(unit, self.sent.entered - self.left, queue)
    }
}

impl Limiter for Late {
    fn unit(&self) -> CapacityUnit {
        self.limiter.unit()
    }

    fn room(&mut self, now: Instant, queue: &RlcView) -> u64 {
        let known = self.known(now, queue);
        self.limiter.room(now + self.apart.data, &known)
    }

    fn overdraws(&self) -> bool {
        self.limiter.overdraws()
    }

    fn on_admitted(&mut self, now: Instant, amount: u64, queue: &RlcView) {
        let arrival = now + self.apart.data;
        self.sent.send(arrival, amount);
        let known = self.known(now, queue);
        self.limiter.on_admitted(arrival, amount, &known);
    }

    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}

    fn on_slot(&mut self, report: &SlotReport) {
        self.sent.settle(report.pulled_at, report.remaining, |_, _, _| {});
        let made = self.apart.report_from(report.pulled_at);
        if !self.apart.loses(made) {
            self.coming.push_back((made + self.apart.reports, self.sent.left, *report));
        }
    }

    /// True because reports arrive with time.
    fn paces(&self) -> bool {
        true
    }
}

/// A limiter in the DU. The CU sends up to the desired buffer size of the last report that it has.
struct Remote {
    limiter: AnyLimiter,
    apart: Apart,
    sent: Sent,
    desired: DesiredBufferSize,
    /// When the DU reported last.
    reported_at: Instant,
    report_at: Instant,
    /// The total that the CU may send.
    most: u64,
    /// The same in reports on the way, each with its arrival.
    coming: VecDeque<(Instant, u64)>,
}

impl Remote {
    fn new(mut limiter: AnyLimiter, apart: Apart) -> Self {
        let most = limiter.room(Instant::ZERO, &RlcView::default());
        Self {
            limiter,
            apart,
            sent: Sent::default(),
            desired: DesiredBufferSize::default(),
            reported_at: Instant::ZERO,
            report_at: Instant::ZERO,
            most,
            coming: VecDeque::new(),
        }
    }

    /// The DU reports after the slot at `now` with this `length`.
    fn report(&mut self, now: Instant, length: Duration) {
        let since = now.since(core::mem::replace(&mut self.reported_at, now));
        // At the end of the slot, a limiter that opens during a slot is open.
        let room = self.limiter.room(now + length, &RlcView::default());
        // With a report of each slot the next one comes after the same time.
        let period = if self.apart.period.is_zero() { since } else { self.apart.period };
        let times = ReportTimes { since, period, delay: self.apart.data };
        let desired = self.desired.report(self.sent.left, room, times);
        if !self.apart.loses(now) {
            let most = self.sent.left.saturating_add(desired);
            self.coming.push_back((now + self.apart.reports, most));
        }
    }
}

impl Limiter for Remote {
    fn unit(&self) -> CapacityUnit {
        self.limiter.unit()
    }

    fn room(&mut self, now: Instant, _queue: &RlcView) -> u64 {
        while let Some(&(due, most)) = self.coming.front()
            && due <= now
        {
            self.most = most;
            self.coming.pop_front();
        }
        self.most.saturating_sub(self.sent.entered)
    }

    /// True because the CU sends while there is any room.
    fn overdraws(&self) -> bool {
        true
    }

    fn on_admitted(&mut self, now: Instant, amount: u64, _queue: &RlcView) {
        self.sent.send(now + self.apart.data, amount);
    }

    fn on_departed(&mut self, now: Instant, sojourn: Duration) {
        self.limiter.on_departed(now, sojourn);
    }

    fn on_slot(&mut self, report: &SlotReport) {
        let Self { limiter, sent, .. } = self;
        let unit = limiter.unit();
        sent.settle(report.pulled_at, report.remaining, |at, amount, backlog| {
            limiter.on_admitted(at, amount, &view(unit, backlog, &RlcView::default()));
        });
        limiter.on_slot(report);
        if report.pulled_at >= self.report_at {
            self.report(report.pulled_at, report.slot);
            self.report_at = self.apart.report_from(report.pulled_at + Duration::from_nanos(1));
        }
    }

    /// True because reports arrive with time.
    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::{FixedConfig, GrantContext, LimiterConfig};
    use alloc::collections::BTreeSet;
    use justfull_queue::Limit;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn queue(packets: u64) -> RlcView {
        RlcView { packets, bytes: packets * 1500 }
    }

    fn slot(ms: u64, remaining: u64) -> SlotReport {
        SlotReport { pulled_at: at(ms), remaining, ..SlotReport::default() }
    }

    /// A limit of ten packets, `apart` from its RLC.
    fn ten(apart: Apart) -> AnyLimiter {
        let context =
            GrantContext { unit: CapacityUnit::Packets, slot: Duration::from_millis(1), mtu: 1500 };
        let ten = FixedConfig { limit: Limit::Packets(10), overdraw: true };
        let fixed = AnyLimiter::new(&LimiterConfig::Fixed(ten), &context).expect("in bounds");
        apart.wrap(fixed, 0)
    }

    fn f1(delay: u64, period: u64, limiter_at: LimiterNode) -> Apart {
        let (delay, report_period) = (Duration::from_millis(delay), Duration::from_millis(period));
        let f1 = F1Config { delay, report_period, limiter_at, ..F1Config::default() };
        Apart::of(Duration::ZERO, &f1, 1).expect("apart")
    }

    /// Ten packets over F1-U that has no delay and loses half of the reports, one each 5 ms; and
    /// the instant in ms of a lost report before a report that arrives.
    fn lossy(limiter_at: LimiterNode) -> (AnyLimiter, u64) {
        let (report_period, report_loss) = (Duration::from_millis(5), Ratio(0.5));
        let f1 = F1Config { delay: Duration::ZERO, report_period, report_loss, limiter_at };
        let apart = Apart::of(Duration::ZERO, &f1, 1).expect("apart");
        let own = apart.of_bearer(0);
        let lost = |ms: &u64| own.loses(at(*ms)) && !own.loses(at(*ms + 5));
        (ten(apart), (5..500).step_by(5).find(lost).expect("half of them are lost"))
    }

    #[test]
    fn departures_are_known_when_their_report_arrives() {
        let reports = Duration::from_millis(5);
        let mut late = ten(Apart::of(reports, &F1Config::default(), 1).expect("apart"));
        for n in 1..=4 {
            late.on_admitted(at(0), 1, &queue(n));
        }
        assert_eq!(late.room(at(0), &queue(4)), 6);
        // Three leave at 1 ms; the limiter gets the report at 6 ms.
        late.on_slot(&slot(1, 1));
        late.on_admitted(at(2), 1, &queue(2));
        assert_eq!([1, 2, 5].map(|ms| late.room(at(ms), &queue(2))), [5, 5, 5]);
        assert_eq!(late.room(at(6), &queue(2)), 8);
    }

    #[test]
    fn departures_in_a_period_are_known_when_the_report_at_its_end_arrives() {
        let mut late = ten(f1(3, 10, LimiterNode::Cu));
        for _ in 0..10 {
            late.on_admitted(at(0), 1, &queue(0));
        }
        assert_eq!(late.room(at(0), &queue(0)), 0);
        // The packets reach the DU at 3 ms; one leaves in each slot from then on.
        for ms in 1..=20 {
            let remaining = if ms < 3 { 0 } else { 12_u64.saturating_sub(ms) };
            late.on_slot(&slot(ms, remaining));
        }
        // The report at 10 ms counts the slots from 3 to 10 ms.
        let rooms = [12, 13, 22, 23].map(|ms| late.room(at(ms), &queue(0)));
        assert_eq!(rooms, [0, 8, 8, 10]);
    }

    #[test]
    fn a_limiter_in_the_du_wants_its_room_and_what_leaves_until_data_arrives() {
        let mut remote = ten(f1(2, 5, LimiterNode::Du));
        assert_eq!(remote.room(at(0), &queue(0)), 10, "an empty queue before the first report");
        for _ in 0..10 {
            remote.on_admitted(at(0), 1, &queue(0));
        }
        assert_eq!(remote.room(at(0), &queue(0)), 0);
        remote.on_slot(&slot(0, 0));
        // Two packets leave in each slot from 2 ms on.
        for ms in 1..=5 {
            remote.on_slot(&slot(ms, if ms < 2 { 0 } else { 12 - 2 * ms }));
        }
        // Eight leave in 5 ms, and the other two before more arrive. So the DU requests a quarter
        // more: ten in 5 ms, 18 in 9 ms.
        let rooms = [1, 2, 6, 7].map(|ms| remote.room(at(ms), &queue(0)));
        assert_eq!(rooms, [0, 0, 0, 8 + 10 + 18 - 10]);
    }

    #[test]
    fn the_report_after_a_lost_one_has_all_that_left() {
        let (mut late, lost) = lossy(LimiterNode::Cu);
        for _ in 0..10 {
            late.on_admitted(at(0), 1, &queue(0));
        }
        late.on_slot(&slot(lost, 6));
        assert_eq!(late.room(at(lost), &queue(0)), 0);
        late.on_slot(&slot(lost + 5, 5));
        assert_eq!(late.room(at(lost + 5), &queue(0)), 5);
    }

    #[test]
    fn without_a_report_the_cu_sends_no_more_than_the_last_one_admits() {
        let (mut remote, lost) = lossy(LimiterNode::Du);
        for _ in 0..10 {
            remote.on_admitted(at(0), 1, &queue(0));
        }
        remote.on_slot(&slot(lost, 6));
        assert_eq!(remote.room(at(lost), &queue(0)), 0);
        remote.on_slot(&slot(lost + 5, 5));
        assert!(remote.room(at(lost + 5), &queue(0)) >= 5);
    }

    #[test]
    fn the_share_of_lost_reports_equals_the_setting_and_bearers_lose_others() {
        let f1 = F1Config { report_loss: Ratio(0.01), ..F1Config::default() };
        let apart = Apart::of(Duration::ZERO, &f1, 1).expect("apart");
        let lost = |drb| {
            let apart = apart.of_bearer(drb);
            (0..100_000).filter(|ms| apart.loses(at(*ms))).collect::<BTreeSet<u64>>()
        };
        let (first, second) = (lost(0), lost(1));
        assert!((900..1_100).contains(&first.len()), "{}", first.len());
        let both = first.intersection(&second).count();
        assert!(both < 40, "{both} of {}", first.len());
    }
}
