//! Configurations that a stack refuses.

use super::*;
use crate::channel::{Building, UmiConfig};
use crate::{CarrierConfig, CarrierKind};
use alloc::boxed::Box;

fn assert_refused(cases: &[(&str, Change<'_>)]) {
    for (field, change) in cases {
        let mut config = packets(4, vec![ue(&[0, 1]), ue(&[0])]);
        assert!(Stack::new(&config).is_ok());
        change(&mut config);
        let refused = Stack::new(&config).map(|_| ()).map_err(|e| e.field);
        assert_eq!(refused, Err(String::from(*field)));
    }
}

#[test]
fn settings_that_cannot_work_are_refused_by_the_name_of_the_field() {
    let polled = || poll(1_000, 0);
    assert_refused(&[
        ("ue", &|c| c.ues.clear()),
        ("mtu", &|c| c.mtu = 67),
        ("upf.batch", &|c| c.upf.batch = 0),
        ("sdap.batch", &|c| c.sdap.batch = 0),
        ("mac.slot.period", &|c| c.mac.slot_mut().period = Duration::ZERO),
        ("mac.slot.period", &|c| c.mac.slot_mut().period = Duration::from_nanos(1_000_000_001)),
        ("mac.slot.phase", &|c| c.mac.slot_mut().phase = Phase::Fixed(Duration::from_secs(1))),
        ("upf.poll.period", &|c| c.upf.poll.period = Duration::from_nanos(999)),
        ("sdap.poll.skew", &|c| c.sdap.poll = PollConfig { skew: Skew::Ppm(1001.0), ..polled() }),
        ("sdap.poll.lateness.probability", &|c| {
            c.sdap.poll =
                PollConfig { lateness: Lateness::Missed { probability: Ratio(1.0) }, ..polled() };
        }),
        ("channel.per_slot", &|c| c.channel = constant(0)),
        ("ue[1].drbs", &|c| c.ue_mut(1).drbs = 33),
        ("ue[1].drbs", &|c| c.ue_mut(1).drbs = 0),
        ("ue[0].qos_flow", &|c| c.ue_mut(0).qos_flows.clear()),
        ("ue[0].qos_flow[1].qfi", &|c| c.ue_mut(0).qos_flows[1].qfi = qfi(0)),
        ("ue[0].qos_flow[1].drb", &|c| c.ue_mut(0).qos_flows[1].drb = 2),
        ("ue[0].qos_flow[0].weight", &|c| c.ue_mut(0).qos_flows[0].weight = 0),
        ("ue[0].qos_flow[1].queue.limit", &|c| {
            c.ue_mut(0).qos_flows[1].queue =
                Some(Box::new(QueueConfig::tail_drop(Limit::Packets(0))));
        }),
        ("ue[0].qos_flow[1].queue.aqm", &|c| {
            let discipline = DisciplineConfig::FqCoDel(Default::default());
            let aqm = AqmConfig::CoDel(Default::default());
            c.ue_mut(0).qos_flows[1].queue =
                Some(Box::new(QueueConfig { discipline, aqm, ..QueueConfig::default() }));
        }),
        ("ue[0].qos_flow[1].queue.limit", &|c| {
            let aqm = AqmConfig::by_name("red").expect("it is on the list");
            c.ue_mut(0).qos_flows[1].queue =
                Some(Box::new(QueueConfig { aqm, ..QueueConfig::tail_drop(Limit::Bytes(1499)) }));
        }),
        ("rlc.report_delay", &|c| c.rlc.report_delay = Duration::from_nanos(1_000_000_001)),
        ("rlc.queue.discipline", &|c| {
            c.rlc.report_delay = Duration::from_millis(5);
            c.rlc.queue.discipline = DisciplineConfig::FqCoDel(Default::default());
        }),
        ("rlc.limiter", &|c| {
            c.rlc.report_delay = Duration::from_millis(5);
            c.rlc.limiter = LimiterConfig::by_name("dyn_rlc").expect("it is on the list");
        }),
        ("rlc.queue.limit", &|c| {
            c.rlc.queue.limit = Limit::Bytes(1499);
            c.rlc.queue.aqm = AqmConfig::by_name("pie").expect("it is on the list");
        }),
        ("ue[0].qos_flow[0].queue.aqm.kind", &|c| {
            let aqm = AqmConfig::by_name("ared").expect("it is on the list");
            c.ue_mut(0).qos_flows[0].queue =
                Some(Box::new(QueueConfig { aqm, ..QueueConfig::default() }));
        }),
        ("sdap.queue.aqm.kind", &|c| {
            c.sdap.queue.aqm = AqmConfig::by_name("pdpc").expect("it is on the list");
        }),
        ("upf.queue.aqm.kind", &|c| {
            c.upf.queue.aqm = AqmConfig::by_name("ared").expect("it is on the list");
        }),
        ("ue[0].rule[1].qfi", &|c| c.ue_mut(0).rules[1].qfi = qfi(63)),
        ("ue[1].channel.kind", &|c| {
            c.ue_mut(1).channel = Some(ChannelConfig::Pattern(PatternConfig::default()))
        }),
        ("ue[1].channel.per_slot", &|c| c.ue_mut(1).channel = Some(constant(0))),
    ]);
}

#[test]
fn settings_of_f1_that_cannot_work_are_refused_by_the_name_of_the_field() {
    assert_refused(&[
        ("rlc.f1.delay", &|c| c.rlc.f1.delay = Duration::from_nanos(1_000_000_001)),
        ("rlc.report_delay", &|c| {
            c.rlc.f1.delay = Duration::from_millis(5);
            c.rlc.report_delay = Duration::from_millis(5);
        }),
        ("rlc.queue.discipline", &|c| {
            c.rlc.f1.delay = Duration::from_millis(5);
            c.rlc.queue.discipline = DisciplineConfig::FqCoDel(Default::default());
        }),
        ("rlc.limiter", &|c| {
            c.rlc.f1.report_period = Duration::from_millis(5);
            c.rlc.limiter = LimiterConfig::by_name("dyn_rlc").expect("it is on the list");
        }),
    ]);
}

#[test]
fn layers_that_cannot_work_together_are_refused_by_the_name_of_the_field() {
    let usp = || PacerConfig::Usp(UspConfig::default());
    let clairvoyant = || LimiterConfig::Clairvoyant(ClairvoyantConfig {});
    let polled = || poll(1_000, 0);
    assert_refused(&[
        ("upf.queue.limit", &|c| {
            c.upf.poll = polled();
            c.upf.queue.limit = Limit::Packets(0);
        }),
        ("sdap.queue.limit", &|c| c.sdap.queue.limit = Limit::Bytes(0)),
        ("sdap.scheduler.quantum", &|c| {
            c.sdap.scheduler = SdapSchedulerConfig::Drr(DrrConfig { quantum: Bytes(63) });
        }),
        ("sdap.pacer.max", &|c| {
            c.upf.poll = polled();
            c.sdap.pacer = PacerConfig::Usp(UspConfig { min: 3, max: 2, ..UspConfig::default() });
        }),
        ("rlc.queue.limit", &|c| c.rlc.queue.limit = Limit::Packets(0)),
        ("rlc.limiter.min", &|c| {
            c.rlc.limiter = LimiterConfig::Drql(DrqlConfig { min: 0, ..Default::default() })
        }),
        ("rlc.limiter", &|c| (c.rlc.limiter, c.sdap.poll) = (clairvoyant(), polled())),
        ("sdap.poll.period", &|c| c.rlc.limiter = LimiterConfig::Bdp5g(Bdp5gConfig::default())),
        ("sdap.poll.period", &|c| {
            c.ues = vec![ue(&[0]).into()];
            c.rlc.limiter = clairvoyant();
        }),
        ("sdap.poll.period", &|c| {
            c.ues = vec![ue(&[0]).into()];
            c.upf.poll = polled();
            c.sdap.pacer = PacerConfig::Clairvoyant(ClairvoyantPacerConfig {});
        }),
        ("upf.poll.period", &|c| (c.sdap.pacer, c.sdap.poll) = (usp(), polled())),
    ]);
}

#[test]
fn a_street_without_a_carrier_and_with_errors_by_a_setting_is_refused() {
    let umi = || ChannelConfig::Umi(UmiConfig::default());
    let carried = |c: &mut StackConfig| {
        let carrier = CarrierConfig { kind: CarrierKind::Nr, ..CarrierConfig::default() };
        c.mac = MacConfig::Rb(RbConfig { slot: poll(125, 0), carrier, ..RbConfig::default() });
        c.channel = umi();
    };
    assert_refused(&[
        ("channel.kind", &|c| c.channel = umi()),
        ("ue[1].channel.kind", &|c| c.ue_mut(1).channel = Some(umi())),
        ("mac.harq.bler", &|c| {
            carried(c);
            rb(c).harq.bler = Ratio(0.1);
        }),
        ("channel", &|c| {
            carried(c);
            rb(c).carrier.mcs_table = 2;
        }),
        ("ue[1].channel.buildings[0].x", &|c| {
            carried(c);
            let flat = Building { x: [5.0, 5.0], y: [0.0, 1.0], height: 9.0 };
            let street = UmiConfig { buildings: vec![flat], ..UmiConfig::default() };
            c.ue_mut(1).channel = Some(ChannelConfig::Umi(street));
        }),
    ]);
    let mut config = packets(4, vec![ue(&[0])]);
    carried(&mut config);
    assert!(Stack::new(&config).is_ok());
}

#[test]
fn umts_is_refused_with_a_carrier() {
    use crate::rlc::mode::{AmConfig, Generation};
    let mut config = packets(4, vec![ue(&[0])]);
    config.mac = MacConfig::Rb(RbConfig { slot: poll(1_000, 0), ..RbConfig::default() });
    let am = AmConfig { generation: Generation::Umts, ..AmConfig::default() };
    config.rlc.mode = crate::RlcModeConfig::Am(am);
    let error = config.validate().expect_err("refused");
    assert_eq!(error.field, "rlc.mode.generation");
    assert!(alloc::format!("{error}").contains("found umts"), "{error}");
}
