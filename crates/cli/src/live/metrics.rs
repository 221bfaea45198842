//! `--metrics`: the live view for Prometheus, in its text format 0.0.4, at `/metrics`.
//!
//! The driver leaves its view where a thread finds it, ten times a second, unless that thread is
//! just looking: it never waits. Counters count from the start of the run, the warm-up included.

use super::last::Last;
use crate::Failure;
use justfull_base::{DropReason, Instant};
use justfull_live::driver::View;
use justfull_live::packet::Malformed;
use justfull_live::report::Account;
use justfull_net::http;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};

/// What Prometheus asks for (exposition formats, "Text-based format").
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const LAYERS: [&str; 3] = ["upf", "sdap", "rlc"];

/// A server that runs until it is dropped.
pub(super) struct Server(http::Server);

impl Server {
    /// Shows `last` at `address`: a port of 127.0.0.1, or an address with a port.
    pub(super) fn start(address: &str, last: Last) -> Result<Self, Failure> {
        let usage = |why: &dyn std::fmt::Display| {
            let allowed = "a port of 127.0.0.1, or an address with a port such as [::1]:9090";
            Failure::Usage(format!("--metrics {address}: {why}; allowed is {allowed}"))
        };
        let parsed = match address.parse::<u16>() {
            Ok(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            Err(_) => address.parse().map_err(|e| usage(&e))?,
        };
        let page = move |path: &str| (path == "/metrics").then(|| (CONTENT_TYPE, current(&last)));
        http::Server::start(parsed, page).map(Self).map_err(|e| usage(&e))
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// The last view in words; empty before the first.
fn current(last: &Last) -> String {
    last.get().map(|(now, view)| text(now, &view)).unwrap_or_default()
}

/// Metrics of one name, with what is said of them first.
fn family(
    out: &mut String,
    (name, kind, help): (&str, &str, &str),
    samples: impl IntoIterator<Item = (String, f64)>,
) {
    // Writing to a string does not fail.
    let _ok = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in samples {
        let _ok = writeln!(out, "{name}{labels} {value}");
    }
}

/// One metric without labels.
fn single(out: &mut String, head: (&str, &str, &str), value: f64) {
    family(out, head, [(String::new(), value)]);
}

fn by_layer(values: [f64; 3]) -> impl Iterator<Item = (String, f64)> {
    LAYERS.into_iter().zip(values).map(|(layer, value)| (format!("{{layer=\"{layer}\"}}"), value))
}

/// The view as Prometheus reads it.
fn text(now: Instant, view: &View) -> String {
    let mut text = String::new();
    let out = &mut text;
    let counts = &view.counts;
    single(
        out,
        ("justfull_run_seconds", "gauge", "Time since the start of the run."),
        now.as_nanos() as f64 * 1e-9,
    );
    let backlog = view.backlog_packets.map(|packets| packets as f64);
    family(
        out,
        ("justfull_backlog_packets", "gauge", "Packets that wait in a layer."),
        by_layer(backlog),
    );
    let rlc = "Bytes that waited in the RLC before the last slot.";
    single(out, ("justfull_rlc_backlog_bytes", "gauge", rlc), counts.rlc_bytes as f64);
    single(out, ("justfull_slots_total", "counter", "Slots of the MAC."), counts.slots as f64);
    let offered = "What slots could have carried, in the unit of the MAC.";
    single(out, ("justfull_capacity_offered_total", "counter", offered), counts.offered as f64);
    let used = "What slots carried, in the unit of the MAC.";
    single(out, ("justfull_capacity_used_total", "counter", used), counts.used as f64);
    let drops = LAYERS.into_iter().zip(&counts.drops).flat_map(|(layer, of)| {
        let reasons = DropReason::ALL.into_iter().zip(of);
        let sample = move |(reason, n): (DropReason, &u64)| {
            (format!("{{layer=\"{layer}\",reason=\"{}\"}}", reason.name()), *n as f64)
        };
        reasons.map(sample)
    });
    family(
        out,
        ("justfull_dropped_packets_total", "counter", "Packets that a layer dropped."),
        drops,
    );
    let marks = counts.marks.map(|n| n as f64);
    let help = "Packets that a layer marked congestion experienced.";
    family(out, ("justfull_marked_packets_total", "counter", help), by_layer(marks));
    sojourn(out, view);
    datagrams(out, view);
    for (name, help, value) in [
        ("justfull_flows_total", "Flows that have appeared.", view.flows),
        (
            "justfull_aged_flows_total",
            "Flows that made way in a full table of flows.",
            view.aged_flows,
        ),
        (
            "justfull_shared_packets_total",
            "Packets of flows that found no place in it.",
            view.shared_packets,
        ),
    ] {
        single(out, (name, "counter", help), value as f64);
    }
    lateness(out, view);
    text
}

/// How long packets were in each layer.
fn sojourn(out: &mut String, view: &View) {
    let head = (
        "justfull_sojourn_seconds",
        "summary",
        "Time of packets in a layer; quantiles since the start of the run, to an eighth.",
    );
    family(out, head, []);
    for (layer, times) in LAYERS.into_iter().zip(&view.counts.sojourn) {
        for (p, name) in [(0.5, "0.5"), (0.95, "0.95"), (0.99, "0.99")] {
            let time = times.percentile(p).map_or(f64::NAN, |time| time.as_secs_f64());
            let _ok = writeln!(
                out,
                "justfull_sojourn_seconds{{layer=\"{layer}\",quantile=\"{name}\"}} {time}"
            );
        }
        let (packets, ns) = (times.count, times.sum_ns);
        let label = format!("{{layer=\"{layer}\"}}");
        let _ok = writeln!(out, "justfull_sojourn_seconds_sum{label} {}", ns as f64 * 1e-9);
        let _ok = writeln!(out, "justfull_sojourn_seconds_count{label} {packets}");
    }
}

/// What became of datagrams, by direction.
fn datagrams(out: &mut String, view: &View) {
    let ways = [("down", &view.down), ("up", &view.up)];
    let outcomes = |account: &Account| {
        [
            ("no_ue", account.no_ue),
            ("no_buffer", account.no_buffer),
            ("delivered", account.delivered),
            ("refused", account.refused),
        ]
    };
    let received =
        ways.map(|(way, account)| (format!("{{way=\"{way}\"}}"), account.received as f64));
    let help = "Datagrams that were read from an interface.";
    family(out, ("justfull_received_datagrams_total", "counter", help), received);
    let samples = ways.into_iter().flat_map(|(way, account)| {
        let label = move |outcome: &str| format!("{{way=\"{way}\",outcome=\"{outcome}\"}}");
        let malformed = Malformed::ALL.into_iter().zip(account.malformed);
        let malformed =
            malformed.map(move |(of, n)| (label(&format!("malformed_{}", of.name())), n as f64));
        malformed.chain(outcomes(account).map(move |(outcome, n)| (label(outcome), n as f64)))
    });
    let help =
        "Datagrams that left the chain, or never entered it; drops in it are counted by layer.";
    family(out, ("justfull_datagrams_total", "counter", help), samples);
    let bytes =
        ways.map(|(way, account)| (format!("{{way=\"{way}\"}}"), account.delivered_bytes as f64));
    let help = "Bytes written to an interface, with IP headers.";
    family(out, ("justfull_delivered_bytes_total", "counter", help), bytes);
}

/// How late the loop is.
fn lateness(out: &mut String, view: &View) {
    let late = &view.lateness;
    let shares =
        [("50", late.p50_us), ("99", late.p99_us), ("99.9", late.p999_us), ("100", late.max_us)];
    let samples = shares.map(|(share, us)| (format!("{{percentile=\"{share}\"}}"), us * 1e-6));
    let help = "How late wake-ups for slots have been so far.";
    family(out, ("justfull_lateness_seconds", "gauge", help), samples);
    let help = "Slots that were handled after the next wake-up was due.";
    single(out, ("justfull_late_slots_total", "counter", help), late.missed as f64);
    let help = "1 when the run is late by its rule.";
    single(out, ("justfull_late", "gauge", help), f64::from(u8::from(late.late)));
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use justfull_live::driver::{Counts, Watch};
    use std::io::{Read, Write};
    use std::net::TcpStream;

    pub(in crate::live) fn view() -> View {
        let mut counts = Counts { slots: 7, ..Counts::default() };
        counts.drops[2][0] = 3;
        counts.sojourn[1].record(justfull_base::Duration::from_millis(1));
        counts.sojourn[1].record(justfull_base::Duration::from_millis(2));
        let down =
            Account { received: 5, delivered: 4, delivered_bytes: 6_000, ..Account::default() };
        View {
            backlog_packets: [1, 2, 3],
            counts,
            down,
            up: Account::default(),
            flows: 9,
            aged_flows: 2,
            shared_packets: 1,
            lateness: justfull_live::lateness::LatenessReport {
                p99_us: 20.0,
                ..Default::default()
            },
        }
    }

    fn get(server: &Server, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).expect("it listens");
        stream
            .write_all(format!("{request}\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
            .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    #[test]
    fn every_sample_follows_its_type_and_is_named_once_with_its_labels() {
        let text = text(Instant::from_nanos(2_000_000_000), &view());
        for line in [
            "justfull_run_seconds 2",
            "justfull_backlog_packets{layer=\"sdap\"} 2",
            "justfull_slots_total 7",
            "justfull_dropped_packets_total{layer=\"rlc\",reason=\"overflow\"} 3",
            "justfull_sojourn_seconds_sum{layer=\"sdap\"} 0.003",
            "justfull_sojourn_seconds_count{layer=\"sdap\"} 2",
            "justfull_datagrams_total{way=\"down\",outcome=\"delivered\"} 4",
            "justfull_delivered_bytes_total{way=\"down\"} 6000",
            "justfull_flows_total 9",
            "justfull_aged_flows_total 2",
            "justfull_late 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        let mut family = "";
        let mut seen = std::collections::BTreeSet::new();
        for line in text.lines() {
            if let Some(head) = line.strip_prefix("# TYPE ") {
                family = head.split(' ').next().expect("a name");
                continue;
            }
            if !line.starts_with('#') {
                let (name, value) = line.rsplit_once(' ').expect("a value");
                assert!(name.starts_with(family) && value.parse::<f64>().is_ok(), "{line}");
                assert!(seen.insert(name), "{name} stands twice");
            }
        }
    }

    #[test]
    fn the_server_answers_for_metrics_and_nothing_else() {
        let mut last = Last::default();
        let server = Server::start("0", last.clone()).expect("a free port");
        assert!(server.address().ip().is_loopback());
        assert!(
            get(&server, "GET /metrics HTTP/1.1").starts_with("HTTP/1.1 200"),
            "before the first view"
        );
        last.saw(Instant::from_nanos(1), &view());
        let answer = get(&server, "GET /metrics HTTP/1.1");
        assert!(
            answer.contains(CONTENT_TYPE) && answer.contains("justfull_slots_total 7"),
            "{answer}"
        );
        assert!(get(&server, "GET / HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(get(&server, "POST /metrics HTTP/1.1").starts_with("HTTP/1.1 405"));
    }

    #[test]
    fn an_address_that_is_none_or_taken_is_a_usage_error() {
        let server = Server::start("0", Last::default()).expect("a free port");
        for address in ["localhost", "1.2.3", "70000", &server.address().to_string()] {
            let Err(Failure::Usage(error)) = Server::start(address, Last::default()) else {
                panic!("{address}")
            };
            assert!(error.contains(address) && error.contains("allowed is"), "{error}");
        }
    }
}
