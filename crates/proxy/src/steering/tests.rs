//! Reports, flows and UEs in any order.

mod pools;
mod site;

use super::state::UeStatus;
use super::*;
use justfull_base::feedback::{CellKind, RanReport};
use std::collections::BTreeMap;
use std::net::IpAddr;

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
    let ue = ue.iter().map(|ue| ue.parse().expect("a prefix")).collect();
    Report { ue, pool: None, cell: None, ran }
}

fn of_cells(cells: &CellsConfig) -> Steering {
    let control = ControlConfig::default();
    let pools = Pools::default();
    Steering::new(&control, UesConfig::default(), cells, pools).expect("the defaults")
}

fn steering() -> Steering {
    of_cells(&CellsConfig::default())
}

fn open(steering: &mut Steering, ue: &str, key: u64) -> FlowId {
    let [wired_rtt, radio_rtt] = [10, 20].map(|ms| Some(Duration::from_millis(ms)));
    let address: IpAddr = ue.parse().expect("an address");
    let opening = Opening { mss: MSS, wired_rtt, radio_rtt };
    steering.open(ms(2), address.into(), key, &opening).expect("it opens")
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
fn reports_are_counted_by_effect_and_empty_ues_are_forgotten() {
    let mut steering = steering();
    steering.report(ms(5), &report(&["10.45.0.1"], ms(5)));
    steering.report(ms(6), &report(&["10.45.0.1"], ms(4)));
    let mut absurd = report(&["10.45.0.1"], ms(7));
    absurd.ran.used = 1 << 50;
    steering.report(ms(7), &absurd);
    let ReportCounts { taken, late, absurd, without_flows, .. } = steering.counts;
    assert_eq!((taken, late, absurd, without_flows), (1, 1, 1, 3));
    let id = open(&mut steering, "10.45.0.2", 2);
    steering.forget(ms(100_000));
    assert_eq!(steering.status(ms(100_000)).len(), 1, "the one with a flow");
    steering.close(ms(100_001), id);
    steering.close(ms(100_001), id);
    steering.forget(ms(200_000));
    assert!(steering.status(ms(200_000)).is_empty() && steering.ues.sizes()[1] == 0);
    assert_eq!(steering.ues.silent, 0);
    open(&mut steering, "10.45.0.3", 3);
    assert_eq!(steering.ues.sizes()[0], 2, "places are used again");
}

/// A generator of numbers below `most` (Marsaglia 2003, xorshift).
fn random(state: &mut u64, most: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 16) % most
}

/// Flows open, close and send data, and reports arrive, in any order. Each change belongs to an
/// open flow, has its key, and equals the control's view of it.
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
                let address: IpAddr = ue.parse().expect("an address");
                let id = steering.open(ms(at), address.into(), key, &opening);
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
