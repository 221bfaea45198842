use super::*;
use justfull_base::Ratio;
use std::sync::{Arc, Mutex};
use std::vec::Vec;

const VIEW: QueueView = QueueView {
    backlog_packets: 1,
    backlog_bytes: 2,
    lane: LaneView { bytes: 2, head: None, spared: false },
    other: None,
    limit: Limit::Unlimited,
    oldest: None,
    service_rate: None,
    new_flow: false,
    ect1: Ect1::L4s,
};

/// An AQM with only the default methods.
#[derive(Debug)]
struct Least;

impl Aqm for Least {}

/// A queue without waiting packets.
struct Nobody;

impl Scan for Nobody {
    fn each(&mut self, _: &mut dyn FnMut(Lane, &Packet, Tag) -> Verdict) {}
}

/// Records its calls, and returns values that no other AQM returns.
#[derive(Debug)]
struct Recorder(Arc<Mutex<Vec<&'static str>>>);

impl Recorder {
    fn note(&self, what: &'static str) {
        self.0.lock().expect("one thread").push(what);
    }
}

impl Aqm for Recorder {
    fn needs(&self) -> Needs {
        Needs { oldest: true, ..Needs::default() }
    }
    fn marks(&self) -> bool {
        true
    }
    fn on_enqueue(&mut self, _: Instant, _: &QueueView, lane: Lane, _: &Packet) -> (Verdict, Tag) {
        self.note("on_enqueue");
        (Verdict::Signal, u64::from(lane) + 40)
    }
    fn on_dequeue(
        &mut self,
        _: Instant,
        _: &QueueView,
        _: Lane,
        _: &Packet,
        tag: Tag,
        _: Duration,
    ) -> Verdict {
        self.note("on_dequeue");
        if tag == 42 { Verdict::Signal } else { Verdict::Pass }
    }
    fn on_empty(&mut self, _: Instant, _: Lane) {
        self.note("on_empty");
    }
    fn on_overflow(&mut self, _: Instant, _: &QueueView, _: Lane) {
        self.note("on_overflow");
    }
    fn next_timeout(&self) -> Option<Instant> {
        Some(Instant::from_nanos(7))
    }
    fn on_timeout(&mut self, _: Instant, _: &QueueView, _: &mut dyn Scan) {
        self.note("on_timeout");
    }
}

#[test]
fn an_aqm_that_says_nothing_more_drops_at_the_head_and_wants_no_timeout() {
    let (mut aqm, now, packet) = (Least, Instant::ZERO, Packet::default());
    assert_eq!((aqm.marks(), aqm.next_timeout()), (false, None));
    assert_eq!(aqm.needs(), Needs::default());
    assert_eq!(aqm.on_enqueue(now, &VIEW, 0, &packet), (Verdict::Pass, 0));
    let verdict = aqm.on_dequeue(now, &VIEW, 0, &packet, 0, Duration::from_millis(1));
    assert_eq!(verdict, Verdict::Pass);
}

#[test]
fn a_users_own_aqm_hears_everything_and_is_taken_at_its_word() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let mut aqm = AnyAqm::Custom(Box::new(Recorder(calls.clone())));
    let (now, packet) = (Instant::ZERO, Packet::default());
    assert!(aqm.marks() && !aqm.is_none() && aqm.needs().oldest);
    assert_eq!(aqm.next_timeout(), Some(Instant::from_nanos(7)));
    assert_eq!(aqm.on_enqueue(now, &VIEW, 2, &packet), (Verdict::Signal, 42));
    assert_eq!(aqm.on_dequeue(now, &VIEW, 2, &packet, 42, Duration::ZERO), Verdict::Signal);
    aqm.on_empty(now, 2);
    aqm.on_overflow(now, &VIEW, 2);
    aqm.on_timeout(now, &VIEW, &mut Nobody);
    let calls = calls.lock().expect("one thread").clone();
    assert_eq!(calls, ["on_enqueue", "on_dequeue", "on_empty", "on_overflow", "on_timeout"]);
}

#[test]
fn each_kind_has_its_name_and_only_the_absent_one_need_not_be_asked() {
    let codel = AqmConfig::CoDel(CoDelConfig::default());
    assert_eq!([AqmConfig::default().name(), codel.name()], ["none", "codel"]);
    let is_none =
        |config| AnyAqm::new(config, AqmContext::new(1, 0)).expect("within bounds").is_none();
    assert_eq!([is_none(&AqmConfig::default()), is_none(&codel)], [true, false]);
    let never = CoDelConfig { target: Duration::ZERO, ..CoDelConfig::default() };
    assert!(AqmConfig::CoDel(never).validate().is_err() && codel.validate().is_ok());
    let marks = |config| AnyAqm::new(config, AqmContext::new(1, 0)).expect("within bounds").marks();
    assert_eq!([marks(&AqmConfig::default()), marks(&codel)], [false, true]);
}

/// One AQM of each kind, which marks if `ecn`.
fn each(ecn: bool) -> Vec<AqmConfig> {
    Vec::from([
        AqmConfig::default(),
        AqmConfig::CoDel(CoDelConfig { ecn, ..CoDelConfig::default() }),
        AqmConfig::Red(RedConfig { ecn, ..RedConfig::default() }),
        AqmConfig::AdaptiveRed(AdaptiveRedConfig { ecn, ..AdaptiveRedConfig::default() }),
        AqmConfig::ARed(ARedConfig { ecn, ..ARedConfig::default() }),
        AqmConfig::Pdpc(PdpcConfig { ecn, ..PdpcConfig::default() }),
        AqmConfig::TtlRed1(TtlRed1Config { ecn, ..TtlRed1Config::default() }),
        AqmConfig::TtlRed2(TtlRed2Config { ecn, ..TtlRed2Config::default() }),
        AqmConfig::Pie(PieConfig { ecn, ..PieConfig::default() }),
        AqmConfig::DualPi2(DualPi2Config::default()),
        AqmConfig::L4Span(L4SpanConfig::default()),
        AqmConfig::PduSet(PduSetConfig::default()),
        AqmConfig::Abc(AbcConfig::default()),
    ])
}

fn built(config: &AqmConfig) -> AnyAqm {
    AnyAqm::new(config, AqmContext::new(1, 0)).expect("within bounds")
}

#[test]
fn each_kind_says_what_it_needs_and_of_which_layers() {
    let needs = |config: &AqmConfig| {
        let Needs { oldest, new_flows, service_rate, offers, timeouts, heads, reports } =
            built(config).needs();
        assert_eq!(heads, config.name() == "dualpi2", "{config:?}");
        assert_eq!(offers, config.name() == "abc", "{config:?}");
        assert_eq!([reports, config.needs_reports()], [config.name() == "l4span"; 2]);
        (config.name(), [oldest, new_flows, service_rate, timeouts])
    };
    let found: Vec<_> = each(true).iter().map(needs).collect();
    let rate = [false, false, true, false];
    let expected = [
        ("none", [false; 4]),
        ("codel", [false; 4]),
        ("red", [false; 4]),
        ("adaptive_red", rate),
        ("ared", rate),
        ("pdpc", rate),
        ("ttlred1", [true, false, false, false]),
        ("ttlred2", [false, true, false, true]),
        ("pie", [false; 4]),
        ("dualpi2", [false; 4]),
        ("l4span", [false; 4]),
        ("pdu_set", [false, false, false, true]),
        ("abc", [false, false, true, false]),
    ];
    assert_eq!(found, expected);
    // An average equal to the current length does not fall while the queue is empty.
    let slow = RedConfig { weight: Ratio(0.5), ..RedConfig::default() };
    assert!(built(&AqmConfig::Red(slow)).needs().service_rate);
    let names = |of: fn(&AqmConfig) -> bool| -> Vec<_> {
        each(true).iter().filter(|config| of(config)).map(AqmConfig::name).collect()
    };
    assert_eq!(names(AqmConfig::needs_rate), ["ared", "pdpc", "abc"]);
    assert_eq!(
        names(|config| !config.needs_room()),
        ["none", "codel", "dualpi2", "l4span", "pdu_set", "abc"]
    );
}

#[test]
fn each_kind_marks_only_by_its_setting_and_l4s_kinds_always() {
    let marks = |ecn| each(ecn).iter().map(|config| built(config).marks()).collect::<Vec<_>>();
    let expected = |expected| [&[false][..], &[expected; 8], &[true; 2], &[false, true]].concat();
    assert_eq!((marks(true), marks(false)), (expected(true), expected(false)));
}

#[test]
fn a_classic_signal_becomes_a_mark_where_the_aqm_marks_and_the_packet_can_carry_one() {
    use justfull_base::Ecn::{Ce, Ect0, Ect1 as One, NotEct};
    let mark = |marks, ect1, ecn| becomes_mark(marks, ect1, &Packet { ecn, ..Packet::default() });
    let of = |marks, ect1| [NotEct, Ect0, One, Ce].map(|ecn| mark(marks, ect1, ecn));
    assert_eq!(of(true, Ect1::L4s), [false, true, false, true], "ECT(1) is L4S");
    assert_eq!(of(true, Ect1::Classic), [false, true, true, true]);
    assert_eq!([Ect1::L4s, Ect1::Classic].map(|ect1| of(false, ect1)), [[false; 4]; 2]);
}

#[test]
fn a_mark_marks_whatever_is_capable_and_passes_the_rest() {
    use justfull_base::Ecn::{Ce, Ect0, Ect1 as One, NotEct};
    let fate =
        |verdict: Verdict, ecn| verdict.fate(true, Ect1::L4s, &Packet { ecn, ..Packet::default() });
    let of = |verdict| [NotEct, Ect0, One, Ce].map(|ecn| fate(verdict, ecn));
    assert_eq!(of(Verdict::Mark), [Fate::Pass, Fate::Mark, Fate::Mark, Fate::Mark]);
    assert_eq!(of(Verdict::Signal), [Fate::Drop, Fate::Mark, Fate::Drop, Fate::Mark]);
    assert_eq!((of(Verdict::Pass), of(Verdict::Drop)), ([Fate::Pass; 4], [Fate::Drop; 4]));
}
