//! RAPID's control in service: which addresses belong to which UE, reports and samples in, windows
//! out.

use crate::config::UesConfig;
use justfull_base::{ConfigError, Duration, Instant};
use justfull_net::Prefix;
use justfull_rapid::{
    CellId, ControlConfig, FlowId, FlowView, Opening, PayloadControl, Refused, Sample, UeId,
    Windows,
};
use justfull_rnis::Report;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Bytes of TCP's header with timestamps (RFC 7323).
const TCP_HEADER: u32 = 32;
const IPV4_HEADER: u32 = 20;
const IPV6_HEADER: u32 = 40;
/// Most UEs that are known only by a report and have no flow.
const MOST_SILENT: usize = 65_536;
/// A UE without flows and reports is forgotten after this time.
const FORGET: Duration = Duration::from_secs(60);
/// If the last report about a UE is younger than this, its reports are `coming`.
pub(crate) const STALE: Duration = Duration::from_millis(750);

/// Bytes of the headers of a connection with timestamps.
pub(crate) const fn headers(v6: bool) -> u32 {
    TCP_HEADER + if v6 { IPV6_HEADER } else { IPV4_HEADER }
}

/// A UE.
#[derive(Debug)]
struct Ue {
    id: UeId,
    name: Prefix,
    flows: u32,
    reported: Option<Instant>,
    used: Instant,
    reports: u64,
}

/// Counts of reports by their result.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct ReportCounts {
    /// Taken.
    pub(crate) taken: u64,
    /// Not newer than the last one.
    pub(crate) late: u64,
    /// With a field out of its bounds.
    pub(crate) absurd: u64,
    /// About UEs without flows.
    pub(crate) without_flows: u64,
}

/// A UE as `status` shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UeStatus {
    /// The address or prefix of the UE.
    pub(crate) ue: String,
    pub(crate) flows: u32,
    pub(crate) reports: u64,
    /// Time since the last accepted report; none if it no longer counts.
    pub(crate) report_age_s: Option<f64>,
    /// `none`, `coming` or `stopped`.
    pub(crate) radio: &'static str,
    /// The capacity that its flows share, with headers; none while unknown.
    pub(crate) capacity_bytes_per_s: Option<f64>,
}

/// See the module's page.
pub(crate) struct Steering {
    control: PayloadControl<u64>,
    cell: CellId,
    bits: UesConfig,
    /// By [`UeId::index`]; none for a place without a UE.
    ues: Vec<Option<Ue>>,
    /// Places of UEs by their addresses, cut to the bits that tell UEs apart.
    by_address: BTreeMap<Prefix, usize>,
    /// UEs without flows.
    silent: usize,
    pub(crate) counts: ReportCounts,
    now: Instant,
}

impl Steering {
    pub(crate) fn new(config: &ControlConfig, bits: UesConfig) -> Result<Self, ConfigError> {
        let mut control = PayloadControl::new(config).map_err(|e| e.within("control"))?;
        let cell = control.control.add_cell();
        Ok(Self {
            control,
            cell,
            bits,
            ues: Vec::new(),
            by_address: BTreeMap::new(),
            silent: 0,
            counts: ReportCounts::default(),
            now: Instant::ZERO,
        })
    }

    fn key(&self, address: IpAddr) -> Prefix {
        let bits = self.bits;
        let length = if Prefix::of(address, 128).address().is_ipv4() {
            bits.ipv4_bits
        } else {
            bits.ipv6_bits
        };
        Prefix::of(address, length)
    }

    /// The place of the UE named `name`, which is added if it is unknown.
    fn ue(&mut self, now: Instant, name: Prefix) -> Option<usize> {
        if let Some(&place) = self.by_address.get(&name) {
            return Some(place);
        }
        let id = self.control.control.add_ue(now, self.cell).ok()?;
        let place = id.index();
        if place >= self.ues.len() {
            self.ues.resize_with(place + 1, || None);
        }
        self.ues[place] = Some(Ue { id, name, flows: 0, reported: None, used: now, reports: 0 });
        self.by_address.insert(name, place);
        self.silent += 1;
        Some(place)
    }

    /// A flow of the UE at `address` opens. `key` names it in changes. See
    /// [`PayloadControl::open`].
    pub(crate) fn open(
        &mut self,
        now: Instant,
        address: IpAddr,
        key: u64,
        opening: &Opening,
    ) -> Option<FlowId> {
        let name = self.key(address);
        let place = self.ue(now, name)?;
        let ue = self.ues[place].as_mut()?;
        let headers = headers(address.is_ipv6());
        let id = self.control.open(now, ue.id, key, headers, opening).ok()?;
        self.silent -= usize::from(ue.flows == 0);
        ue.flows += 1;
        Some(id)
    }

    /// A sample of a flow, in payload.
    pub(crate) fn sample(&mut self, now: Instant, id: FlowId, sample: &Sample) {
        // The control refuses only a flow that is closed.
        let _closed = self.control.on_sample(now, id, sample);
    }

    /// Data of a flow begins to wait in the proxy.
    pub(crate) fn hold(&mut self, id: FlowId) {
        // The control refuses only a flow that is closed.
        let _closed = self.control.control.hold(id);
    }

    /// A flow closes.
    pub(crate) fn close(&mut self, now: Instant, id: FlowId) {
        let ue = self.control.control.ue(id);
        if self.control.control.close(now, id).is_ok()
            && let Some(ue) = ue.and_then(|ue| self.ues[ue.index()].as_mut())
        {
            ue.flows -= 1;
            ue.used = now;
            self.silent += usize::from(ue.flows == 0);
        }
    }

    /// A report arrives.
    pub(crate) fn report(&mut self, now: Instant, report: &Report) {
        let names: Vec<Prefix> = report.ue.iter().map(|name| self.key(name.address())).collect();
        let known = names.iter().find_map(|name| self.by_address.get(name).copied());
        if known.is_none() && self.silent >= MOST_SILENT {
            self.counts.without_flows += 1;
            return;
        }
        let Some(place) = known.or_else(|| self.ue(now, names[0])) else { return };
        // A new address belongs to the UE from now on; an open flow keeps its UE.
        for name in names {
            self.by_address.entry(name).or_insert(place);
        }
        let Some(ue) = self.ues[place].as_mut() else { return };
        self.counts.without_flows += u64::from(ue.flows == 0);
        ue.used = now;
        match self.control.on_report(now, ue.id, &report.ran) {
            Ok(()) => {
                ue.reported = Some(now);
                ue.reports += 1;
                self.counts.taken += 1;
            }
            Err(Refused::Late) => self.counts.late += 1,
            Err(_) => self.counts.absurd += 1,
        }
    }

    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.control.control.next_timer()
    }

    /// Does the work that is due.
    pub(crate) fn on_timer(&mut self, now: Instant) {
        self.now = now;
        self.control.control.on_timer(now);
    }

    /// Forgets UEs without flows and recent reports.
    pub(crate) fn forget(&mut self, now: Instant) {
        let mut gone = Vec::new();
        for (place, entry) in self.ues.iter_mut().enumerate() {
            if let Some(ue) = entry.take_if(|ue| ue.flows == 0 && now.since(ue.used) > FORGET) {
                // No other code removes UEs.
                let _removed = self.control.remove_ue(now, ue.id);
                gone.push(place);
            }
        }
        if !gone.is_empty() {
            self.silent -= gone.len();
            self.by_address.retain(|_, place| !gone.contains(place));
        }
    }

    /// The key of a flow whose windows changed, and its windows in payload.
    pub(crate) fn change(&mut self) -> Option<(u64, Windows)> {
        self.control.poll_change()
    }

    pub(crate) fn view(&self, id: FlowId) -> Option<FlowView> {
        self.control.control.view(id)
    }

    /// The name of a flow's UE.
    pub(crate) fn ue_of(&self, id: FlowId) -> Option<String> {
        let ue = self.control.control.ue(id)?;
        self.ues[ue.index()].as_ref().map(|ue| ue.name.to_string())
    }

    /// All UEs, in the order of their names.
    pub(crate) fn status(&self, now: Instant) -> Vec<UeStatus> {
        let status = |ue: &Ue| {
            let age = self.control.control.report_age(now, ue.id);
            UeStatus {
                ue: ue.name.to_string(),
                flows: ue.flows,
                reports: ue.reports,
                report_age_s: age.map(Duration::as_secs_f64),
                radio: match ue.reported {
                    None => "none",
                    Some(at) if now.since(at) < STALE => "coming",
                    Some(_) => "stopped",
                },
                capacity_bytes_per_s: self.control.control.capacity(ue.id),
            }
        };
        let mut ues: Vec<&Ue> = self.ues.iter().flatten().collect();
        ues.sort_by_key(|ue| ue.name);
        ues.into_iter().map(status).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::feedback::{CellKind, RanReport};

    const MSS: u32 = 1_448;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    /// A cell that could send 20 Mbit/s to the UEs.
    fn report(ue: &[&str], at: Instant) -> Report {
        let ran = RanReport {
            at,
            kind: CellKind::Bytes,
            slot: Duration::from_millis(1),
            slots: 1,
            offered: 2_500,
            used: 0,
            active_ues: 0,
            blocks: 0,
            repeats: 0,
            bytes: 0,
            mcs: None,
            backlog: 0,
        };
        Report { ue: ue.iter().map(|ue| ue.parse().expect("a prefix")).collect(), ran }
    }

    fn steering() -> Steering {
        Steering::new(&ControlConfig::default(), UesConfig::default()).expect("the defaults")
    }

    fn open(steering: &mut Steering, ue: &str, key: u64) -> FlowId {
        let [wired_rtt, radio_rtt] = [10, 20].map(|ms| Some(Duration::from_millis(ms)));
        let address = ue.parse().expect("an address");
        let opening = Opening { mss: MSS, wired_rtt, radio_rtt };
        steering.open(ms(2), address, key, &opening).expect("it opens")
    }

    /// The last windows of each flow.
    fn windows(steering: &mut Steering) -> BTreeMap<u64, Windows> {
        std::iter::from_fn(|| steering.change()).collect()
    }

    #[test]
    fn windows_are_of_payload_and_follow_the_report_about_the_flows_ue_alone() {
        let mut steering = steering();
        steering.report(ms(1), &report(&["10.45.0.1"], ms(1)));
        open(&mut steering, "10.45.0.1", 1);
        open(&mut steering, "10.45.0.2", 2);
        let windows = windows(&mut steering);
        // 25 000 bytes in 10 ms are 16 packets of 1500 bytes.
        assert_eq!(windows[&1].server, 16 * 1_448);
        assert_eq!(windows[&2].server, 10 * 1_448, "of this one nothing is known");
    }

    #[test]
    fn both_families_of_a_ue_share_and_a_new_address_joins() {
        let mut steering = steering();
        steering.report(ms(1), &report(&["10.45.0.1", "fd45::/64"], ms(1)));
        open(&mut steering, "10.45.0.1", 1);
        open(&mut steering, "fd45::99", 2);
        let changed = windows(&mut steering);
        assert!(changed.values().all(|w| w.server == 8 * 1_448), "half of it each: {changed:?}");
        steering.report(ms(3), &report(&["10.45.0.1", "10.45.0.9"], ms(3)));
        open(&mut steering, "10.45.0.9", 3);
        assert!(windows(&mut steering)[&3].server < 8 * 1_448, "a third");
        let ues = steering.status(ms(4));
        assert_eq!((ues.len(), ues[0].flows, ues[0].radio), (1, 3, "coming"));
        assert_eq!(steering.status(ms(2_000))[0].radio, "stopped");
    }

    #[test]
    fn what_reports_do_is_counted_and_ues_without_anything_are_forgotten() {
        let mut steering = steering();
        steering.report(ms(5), &report(&["10.45.0.1"], ms(5)));
        steering.report(ms(6), &report(&["10.45.0.1"], ms(4)));
        let mut absurd = report(&["10.45.0.1"], ms(7));
        absurd.ran.used = 1 << 50;
        steering.report(ms(7), &absurd);
        let ReportCounts { taken, late, absurd, without_flows } = steering.counts;
        assert_eq!((taken, late, absurd, without_flows), (1, 1, 1, 3));
        let id = open(&mut steering, "10.45.0.2", 2);
        steering.forget(ms(100_000));
        assert_eq!(steering.status(ms(100_000)).len(), 1, "the one with a flow");
        steering.close(ms(100_001), id);
        steering.close(ms(100_001), id);
        steering.forget(ms(200_000));
        assert!(steering.status(ms(200_000)).is_empty() && steering.by_address.is_empty());
        assert_eq!(steering.silent, 0);
        open(&mut steering, "10.45.0.3", 3);
        assert_eq!(steering.ues.len(), 2, "places are used again");
    }

    /// A generator of numbers below `most` (Marsaglia 2003, xorshift).
    fn random(state: &mut u64, most: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 16) % most
    }

    /// Flows open, close, send data and have reports in any order. Each change belongs to an open
    /// flow, has its key, and equals the control's view of it.
    #[test]
    fn no_flow_steers_anothers_window() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        let mut steering = steering();
        let mut open: BTreeMap<u64, FlowId> = BTreeMap::new();
        let (mut changes, mut at) = (0, 3);
        for key in 0..20_000 {
            at += random(&mut state, 20);
            let ue = format!("10.45.0.{}", random(&mut state, 6) + 1);
            let nth = random(&mut state, open.len().max(1) as u64) as usize;
            let some = open.iter().nth(nth).map(|(&key, &id)| (key, id));
            match (random(&mut state, 8), some) {
                (0 | 1, _) => {
                    let mut rtt = || Some(Duration::from_millis(1 + random(&mut state, 50)));
                    let opening = Opening { mss: MSS, wired_rtt: rtt(), radio_rtt: rtt() };
                    let address = ue.parse().expect("an address");
                    let id = steering.open(ms(at), address, key, &opening);
                    assert_eq!(open.insert(key, id.expect("it opens")), None);
                }
                (2, Some((key, id))) => {
                    steering.close(ms(at), id);
                    open.remove(&key);
                }
                (3 | 4, Some((_, id))) => {
                    let bytes = random(&mut state, 1 << 17);
                    let rtts = [Duration::from_millis(5); 2];
                    let [wired_rtt, radio_rtt] = rtts.map(Some);
                    let held = key % 5 == 0;
                    let sample = Sample {
                        arrived: bytes,
                        delivered: bytes,
                        wired_rtt,
                        radio_rtt,
                        radio_smoothed: radio_rtt,
                        held,
                        waiting: if held { bytes } else { 0 },
                    };
                    steering.sample(ms(at), id, &sample);
                }
                (5, _) => steering.on_timer(ms(at)),
                (6, _) => steering.forget(ms(at)),
                _ => {
                    let mut told = report(&[&ue], ms(at));
                    told.ran.offered = 100 + random(&mut state, 100_000);
                    steering.report(ms(at), &told);
                }
            }
            while let Some((key, windows)) = steering.change() {
                let id = open.get(&key).unwrap_or_else(|| panic!("{key} is not open"));
                let of = steering.view(*id).expect("it is open").windows;
                let payload = |bytes: u64| bytes * 1_448 / 1_500;
                let own = (payload(of.server), payload(of.radio), of.reading);
                assert_eq!((windows.server, windows.radio, windows.reading), own, "{key}");
                changes += 1;
            }
        }
        assert!(changes > 10_000, "{changes}");
    }
}
