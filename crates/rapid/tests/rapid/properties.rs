//! Properties of every control, for any order of events with any content.

use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_rapid::{
    CellId, Config, Control, ControlConfig, EqualShareConfig, FlowId, NoneConfig, Opening, Room,
    Sample, UeId,
};
use proptest::prelude::*;

const MSS: u64 = 1000;

#[derive(Clone, Debug)]
enum Event {
    AddUe,
    RemoveUe(usize),
    MoveUe(usize),
    MergeUes(usize),
    LimitUe(usize, f64),
    Open(usize, Opening),
    Close(usize),
    Sample(usize, Sample),
    Report(usize, Box<RanReport>),
    Timer,
}

fn configs() -> Vec<ControlConfig> {
    let presets = Config::PRESETS.map(|name| Config::preset(name).expect("listed"));
    let mut all = vec![
        ControlConfig::None(NoneConfig {}),
        ControlConfig::EqualShare(EqualShareConfig::default()),
    ];
    all.extend(presets.map(ControlConfig::Rapid));
    all
}

/// Round trips of any length, most of them likely ones.
fn rtt() -> impl Strategy<Value = Option<Duration>> {
    prop_oneof![
        Just(None),
        any::<u64>().prop_map(|ns| Some(Duration::from_nanos(ns))),
        (0_u64..50_000).prop_map(|us| Some(Duration::from_micros(us))),
    ]
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0_u64..1_000_000]
}

fn kind() -> impl Strategy<Value = CellKind> {
    prop_oneof![
        any::<(u8, u8)>().prop_map(|(mcs_table, layers)| CellKind::Lte { mcs_table, layers }),
        any::<(u8, u8, u8, u8)>().prop_map(|(mcs_table, layers, symbols, dmrs_res)| CellKind::Nr {
            mcs_table,
            layers,
            symbols,
            dmrs_res,
        }),
        Just(CellKind::Lte { mcs_table: 1, layers: 1 }),
        Just(CellKind::Nr { mcs_table: 2, layers: 2, symbols: 13, dmrs_res: 12 }),
        Just(CellKind::Bytes),
    ]
}

/// Reports with fields of any value, and sane ones, which may contradict each other.
fn report() -> impl Strategy<Value = Box<RanReport>> {
    let times = (any::<u32>(), any::<u32>(), any::<u32>());
    let blocks = (amount(), amount(), amount(), amount());
    let any_report = (kind(), times, blocks, any::<Option<u8>>());
    let any_report = any_report.prop_map(|(kind, (at, slot, slots), blocks, mcs)| RanReport {
        at: Instant::from_nanos(at.into()),
        kind,
        slot: Duration::from_nanos(slot.into()),
        slots,
        offered: blocks.0,
        used: blocks.1,
        active_ues: slots,
        blocks: blocks.2,
        repeats: blocks.3,
        bytes: blocks.1,
        mcs,
        backlog: blocks.0,
    });
    let sane = (kind(), 1_u32..20, 0_u64..101, 0_u64..101, 0_u64..101, 0_u8..32, any::<u32>());
    let sane = sane.prop_map(|(kind, slots, offered, used, blocks, mcs, at)| {
        let offered = offered * u64::from(slots);
        let used = offered * used / 100;
        RanReport {
            at: Instant::from_nanos(at.into()),
            kind,
            slot: Duration::from_micros(500),
            slots,
            offered,
            used,
            active_ues: slots % 4,
            blocks: used * blocks / 100,
            repeats: used * blocks / 1000,
            bytes: 100 * used,
            mcs: Some(mcs),
            backlog: 100 * (offered - used),
        }
    });
    prop_oneof![1 => any_report, 4 => sane].prop_map(Box::new)
}

fn event() -> impl Strategy<Value = Event> {
    let index = 0_usize..64;
    let opening = (rtt(), rtt()).prop_map(|(wired_rtt, radio_rtt)| Opening {
        mss: MSS as u32,
        wired_rtt,
        radio_rtt,
    });
    let sample = (amount(), amount(), rtt(), rtt(), any::<bool>(), amount());
    let sample = sample.prop_map(|(arrived, delivered, wired_rtt, radio_rtt, held, waiting)| {
        let radio_smoothed = wired_rtt;
        Sample { arrived, delivered, wired_rtt, radio_rtt, radio_smoothed, held, waiting }
    });
    prop_oneof![
        1 => Just(Event::AddUe),
        1 => index.clone().prop_map(Event::RemoveUe),
        2 => index.clone().prop_map(Event::MoveUe),
        1 => index.clone().prop_map(Event::MergeUes),
        1 => (index.clone(), prop_oneof![any::<f64>(), 1e3..1e8])
            .prop_map(|(i, most)| Event::LimitUe(i, most)),
        4 => (index.clone(), opening).prop_map(|(i, o)| Event::Open(i, o)),
        2 => index.clone().prop_map(Event::Close),
        20 => (index.clone(), sample).prop_map(|(i, s)| Event::Sample(i, s)),
        8 => (index, report()).prop_map(|(i, r)| Event::Report(i, r)),
        4 => Just(Event::Timer),
    ]
}

/// Handles of things that are there and of things that are gone.
struct Run {
    control: Control,
    cells: [CellId; 2],
    ues: Vec<UeId>,
    flows: Vec<FlowId>,
}

impl Run {
    fn new(config: &ControlConfig) -> Self {
        let mut control = Control::new(config).expect("valid");
        let cells = [control.add_cell(), control.add_cell()];
        let ues = cells.iter().flat_map(|&cell| [cell; 2]);
        let ues = ues.map(|cell| control.add_ue(Instant::ZERO, cell).expect("known")).collect();
        Self { control, cells, ues, flows: Vec::new() }
    }

    fn handle(&mut self, now: Instant, event: &Event) {
        let (control, ues, flows) = (&mut self.control, &mut self.ues, &mut self.flows);
        match event {
            Event::AddUe => {
                let cell = self.cells[ues.len() % 2];
                ues.push(control.add_ue(now, cell).expect("known"));
            }
            Event::RemoveUe(i) => {
                let _ = control.remove_ue(now, ues[i % ues.len()]);
            }
            Event::MoveUe(i) => {
                let _ = control.move_ue(now, ues[i % ues.len()], self.cells[i / 8 % 2]);
            }
            Event::MergeUes(i) => {
                let _ = control.merge_ues(now, ues[i % ues.len()], ues[i / 8 % ues.len()]);
            }
            Event::LimitUe(i, most) => {
                let _ = control.limit_ue(now, ues[i % ues.len()], Some(*most));
            }
            Event::Open(i, opening) => {
                flows.extend(control.open(now, ues[i % ues.len()], opening));
            }
            Event::Timer => control.on_timer(now),
            Event::Report(i, report) => {
                let _ = control.on_report(now, ues[i % ues.len()], report);
            }
            _ if flows.is_empty() => {}
            Event::Close(i) => {
                let _ = control.close(now, flows[i % flows.len()]);
            }
            Event::Sample(i, sample) => {
                let _ = control.on_sample(now, flows[i % flows.len()], sample);
            }
        }
    }
}

fn check(run: &Run, config: &ControlConfig) {
    let floor = match config {
        ControlConfig::Rapid(rapid) => rapid.floor.0.max(u64::from(rapid.floor_segments) * MSS),
        _ => 2 * MSS,
    };
    let sound = match config {
        ControlConfig::Rapid(config) => [Config::default(), Config::open_loop()].contains(config),
        ControlConfig::EqualShare(_) => true,
        ControlConfig::None(_) => false,
    };
    for &cell in &run.cells {
        let load = run.control.load(cell);
        assert!(!load.rates.is_nan() && !load.floors.is_nan());
        assert!(!sound || load.rates <= (1.0 + load.floors) * (1.0 + 1e-9), "{load:?}");
    }
    for &flow in &run.flows {
        let Some(view) = run.control.view(flow) else { continue };
        assert!(view.windows.server >= floor && view.windows.radio >= floor, "{view:?}");
        let of_ue = |other: &FlowId| run.control.ue(*other) == run.control.ue(flow);
        let reads = |other: &FlowId| run.control.view(*other).is_some_and(|v| v.windows.reading);
        assert!(run.flows.iter().any(|other| of_ue(other) && reads(other)), "nobody reads");
        assert!(view.demand.is_none_or(|d| d.is_finite() && d >= 0.0), "{view:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_order_of_events_keeps_the_promises(
        events in prop::collection::vec((0_u64..30_000, any::<bool>(), event()), 1..150),
        which in 0_usize..7,
    ) {
        let config = &configs()[which];
        let mut run = Run::new(config);
        let mut twin = Run::new(config);
        // Memory that is there before changes nothing.
        twin.control.set_room(Room { ues: 200, flows: 200, flows_of_ue: 200 });
        let mut now = Instant::ZERO;
        for (step, back, event) in &events {
            let step = Duration::from_micros(*step);
            now = if *back
                && step > Duration::from_micros(29_000) { now - step } else { now + step };
            run.handle(now, event);
            check(&run, config);
            twin.handle(now, event);
            // The control and its twin return each change once, in the same order, and a view shows
            // the same windows.
            while let Some((flow, windows)) = run.control.poll_change() {
                prop_assert_eq!(twin.control.poll_change(), Some((flow, windows)));
                prop_assert_eq!(run.control.view(flow).map(|v| v.windows), Some(windows));
            }
            prop_assert_eq!(twin.control.poll_change(), None);
            prop_assert_eq!(run.control.next_timer(), twin.control.next_timer());
        }
    }
}
