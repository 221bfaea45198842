//! `--metrics`: the live view for Prometheus, in its text format 0.0.4, at `/metrics`.
//!
//! The driver stores its view for a thread ten times a second, and skips it while that thread
//! reads: it never waits. Counters count from the start of the run, including the warm-up.

use super::last::{About, Last, Seen};
use crate::failure::Failure;
use justfull_base::{DropReason, Instant};
use justfull_live::driver::{NamedFlows, View};
use justfull_live::packet::Malformed;
use justfull_live::report::Account;
use justfull_net::http;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};

/// The content type that Prometheus expects (exposition formats, "Text-based format").
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const LAYERS: [&str; 3] = ["upf", "sdap", "rlc"];

/// A server that runs until it is dropped.
pub(super) struct Server(http::Server);

impl Server {
    /// Serves `last` at `address`: a port of 127.0.0.1, or an address with a port.
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

    /// The listening address.
    pub(super) fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// The last view as text; empty before the first.
fn current(last: &Last) -> String {
    last.get().map(|seen| Page::of(&seen)).unwrap_or_default()
}

/// Upper bounds of the buckets of delays, in us: two for each octave from a quarter of a
/// millisecond to 17 s. Each is the start of a cell of
/// [`Sojourns`](justfull_live::driver::Sojourns).
fn bucket_ends() -> impl Iterator<Item = u64> {
    (8..=24).flat_map(|octave| [1 << octave, 3 << (octave - 1)])
}

/// `value` escaped for use between quotation marks (exposition formats, "Comments, help text, and
/// type information").
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The text for Prometheus. Every sample has the label `method`, since a command may run several
/// methods.
struct Page {
    text: String,
    method: String,
}

/// Name, kind and help text of metrics.
type Head<'a> = (&'a str, &'a str, &'a str);

impl Page {
    /// The text for one view.
    fn of(seen: &Seen) -> String {
        let Seen { about, now, view } = seen;
        let mut page = Self { text: String::new(), method: escaped(&about.method) };
        page.run(about, *now);
        page.layers(view);
        page.sojourn(view);
        page.flows(&view.names);
        page.datagrams(view);
        page.table(view);
        page.lateness(view);
        page.text
    }

    fn head(&mut self, head: Head<'_>) {
        let (name, kind, help) = head;
        // Writing to a string does not fail.
        let _ok = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A sample with `labels`, which are empty or end in a comma.
    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let _ok = writeln!(self.text, "{name}{{{labels}method=\"{}\"}} {value}", self.method);
    }

    /// Metrics of one name, after their help text.
    fn family(&mut self, head: Head<'_>, samples: impl IntoIterator<Item = (String, f64)>) {
        self.head(head);
        for (labels, value) in samples {
            self.sample(head.0, &labels, value);
        }
    }

    /// One metric without labels of its own.
    fn single(&mut self, head: Head<'_>, value: f64) {
        self.family(head, [(String::new(), value)]);
    }

    fn run(&mut self, about: &About, now: Instant) {
        let head = ("justfull_run_info", "gauge", "1; the labels say which run this is.");
        let mut labels =
            format!("scenario=\"{}\",seed=\"{}\",", escaped(&about.scenario), about.seed);
        if let Some(point) = about.point.strip_prefix(", ") {
            labels.push_str(&format!("point=\"{}\",", escaped(point)));
        }
        self.family(head, [(labels, 1.0)]);
        let head = ("justfull_run_seconds", "gauge", "Time since the start of the run.");
        self.single(head, now.as_nanos() as f64 * 1e-9);
        let help = "When it ends at the latest, from its start.";
        self.single(("justfull_run_end_seconds", "gauge", help), about.duration.as_secs_f64());
    }

    fn layers(&mut self, view: &View) {
        let counts = &view.counts;
        let head = ("justfull_backlog_packets", "gauge", "Packets that wait in a layer.");
        self.family(head, by_layer(view.backlog_packets.map(|packets| packets as f64)));
        let help = "Bytes that waited in the RLC before the last slot.";
        self.single(("justfull_rlc_backlog_bytes", "gauge", help), counts.rlc_bytes as f64);
        let head = ("justfull_slots_total", "counter", "Slots of the MAC.");
        self.single(head, counts.slots as f64);
        let unit = || format!("unit=\"{}\",", view.unit);
        let help = "What slots could have carried, in the unit of the MAC.";
        let head = ("justfull_capacity_offered_total", "counter", help);
        self.family(head, [(unit(), counts.offered as f64)]);
        let help = "What slots carried, in the unit of the MAC.";
        let head = ("justfull_capacity_used_total", "counter", help);
        self.family(head, [(unit(), counts.used as f64)]);
        let drops = LAYERS.into_iter().zip(&counts.drops).flat_map(|(layer, of)| {
            let reasons = DropReason::ALL.into_iter().zip(of);
            reasons.map(move |(reason, n)| {
                (format!("layer=\"{layer}\",reason=\"{}\",", reason.name()), *n as f64)
            })
        });
        let head = ("justfull_dropped_packets_total", "counter", "Packets that a layer dropped.");
        self.family(head, drops);
        let help = "Packets that a layer marked congestion experienced.";
        let head = ("justfull_marked_packets_total", "counter", help);
        self.family(head, by_layer(counts.marks.map(|n| n as f64)));
    }

    /// Sojourn times of packets in each layer.
    fn sojourn(&mut self, view: &View) {
        const NAME: &str = "justfull_sojourn_seconds";
        let help = "Time of packets in a layer; quantiles since the start of the run, to an \
                    eighth.";
        self.head((NAME, "summary", help));
        for (layer, times) in LAYERS.into_iter().zip(&view.counts.sojourn) {
            let label = format!("layer=\"{layer}\",");
            for (p, name) in [(0.5, "0.5"), (0.95, "0.95"), (0.99, "0.99")] {
                let time = times.percentile(p).map_or(f64::NAN, |time| time.as_secs_f64());
                self.sample(NAME, &format!("{label}quantile=\"{name}\","), time);
            }
            self.sample(&format!("{NAME}_sum"), &label, times.sum_ns as f64 * 1e-9);
            self.sample(&format!("{NAME}_count"), &label, times.count as f64);
        }
    }

    /// Results of the flows of each name. The driver bounds the number of names.
    fn flows(&mut self, names: &[NamedFlows]) {
        let label = |of: &NamedFlows| {
            let (ue, qfi) = of.place.map(|(ue, qfi)| (ue.to_string(), qfi.to_string())).unzip();
            let (ue, qfi) = (ue.unwrap_or_default(), qfi.unwrap_or_default());
            format!("flow=\"{}\",ue=\"{ue}\",qfi=\"{qfi}\",", escaped(&of.name))
        };
        let all = |of: fn(&NamedFlows) -> u64| {
            names.iter().map(move |flows| (label(flows), of(flows) as f64))
        };
        let help = "Packets of the flows of a name that left the stack.";
        self.family(("justfull_flow_packets_total", "counter", help), all(|of| of.packets));
        let help = "Their bytes, with IP headers.";
        self.family(("justfull_flow_bytes_total", "counter", help), all(|of| of.bytes));
        let help = "Packets of the flows of a name that the stack dropped.";
        let head = ("justfull_flow_dropped_packets_total", "counter", help);
        self.family(head, all(|of| of.dropped));
        const NAME: &str = "justfull_flow_delay_seconds";
        let help = "Time of packets in the stack, from the UPF to the end of the RLC.";
        self.head((NAME, "histogram", help));
        for flows in names {
            let (label, bucket) = (label(flows), format!("{NAME}_bucket"));
            for end in bucket_ends() {
                let labels = format!("{label}le=\"{}\",", end as f64 * 1e-6);
                self.sample(&bucket, &labels, flows.delay.shorter_than(end) as f64);
            }
            let count = flows.delay.count as f64;
            self.sample(&bucket, &format!("{label}le=\"+Inf\","), count);
            self.sample(&format!("{NAME}_sum"), &label, flows.delay.sum_ns as f64 * 1e-9);
            self.sample(&format!("{NAME}_count"), &label, count);
        }
    }

    /// Outcomes of datagrams, by direction.
    fn datagrams(&mut self, view: &View) {
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
            ways.map(|(way, account)| (format!("way=\"{way}\","), account.received as f64));
        let help = "Datagrams that were read from an interface.";
        self.family(("justfull_received_datagrams_total", "counter", help), received);
        let samples = ways.into_iter().flat_map(|(way, account)| {
            let label = move |outcome: &str| format!("way=\"{way}\",outcome=\"{outcome}\",");
            let malformed = Malformed::ALL.into_iter().zip(account.malformed);
            let malformed = malformed
                .map(move |(of, n)| (label(&format!("malformed_{}", of.name())), n as f64));
            malformed.chain(outcomes(account).map(move |(outcome, n)| (label(outcome), n as f64)))
        });
        let help =
            "Datagrams that left the chain, or never entered it; drops in it are counted by layer.";
        self.family(("justfull_datagrams_total", "counter", help), samples);
        let bytes =
            ways.map(|(way, account)| (format!("way=\"{way}\","), account.delivered_bytes as f64));
        let help = "Bytes written to an interface, with IP headers.";
        self.family(("justfull_delivered_bytes_total", "counter", help), bytes);
    }

    /// The table of flows.
    fn table(&mut self, view: &View) {
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
            self.single((name, "counter", help), value as f64);
        }
    }

    /// Lateness of the loop.
    fn lateness(&mut self, view: &View) {
        let late = &view.lateness;
        let shares = [
            ("50", late.p50_us),
            ("99", late.p99_us),
            ("99.9", late.p999_us),
            ("100", late.max_us),
        ];
        let samples = shares.map(|(share, us)| (format!("percentile=\"{share}\","), us * 1e-6));
        let help = "How late wake-ups for slots have been so far.";
        self.family(("justfull_lateness_seconds", "gauge", help), samples);
        let help = "Slots that were handled after the next wake-up was due.";
        self.single(("justfull_late_slots_total", "counter", help), late.missed as f64);
        let help = "1 when the run is late by its rule.";
        self.single(("justfull_late", "gauge", help), f64::from(u8::from(late.late)));
    }
}

fn by_layer(values: [f64; 3]) -> impl Iterator<Item = (String, f64)> {
    LAYERS.into_iter().zip(values).map(|(layer, value)| (format!("layer=\"{layer}\","), value))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use justfull_live::driver::{Counts, Sojourns, Watch};
    use std::io::{Read, Write};
    use std::net::TcpStream;

    pub(in crate::live) fn view() -> View {
        let mut counts = Counts { slots: 7, ..Counts::default() };
        counts.drops[2][0] = 3;
        counts.sojourn[1].record(justfull_base::Duration::from_millis(1));
        counts.sojourn[1].record(justfull_base::Duration::from_millis(2));
        let mut delay = Sojourns::default();
        delay.record(justfull_base::Duration::from_millis(1));
        delay.record(justfull_base::Duration::from_millis(2));
        let call = NamedFlows {
            name: "call".into(),
            place: Some((0, 1)),
            low_latency: true,
            packets: 2,
            bytes: 400,
            dropped: 0,
            delay,
        };
        let others = NamedFlows {
            name: "other flows".into(),
            place: None,
            low_latency: false,
            ..call.clone()
        };
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
            names: vec![call, others],
            unit: "bytes",
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
        let about = About { scenario: "a".into(), method: "5G-\"BDP".into(), ..About::default() };
        let now = Instant::from_nanos(2_000_000_000);
        let text = Page::of(&Seen { about: about.into(), now, view: view() });
        for line in [
            "justfull_run_info{scenario=\"a\",seed=\"0\",M} 1",
            "justfull_run_seconds{M} 2",
            "justfull_run_end_seconds{M} 0",
            "justfull_backlog_packets{layer=\"sdap\",M} 2",
            "justfull_slots_total{M} 7",
            "justfull_capacity_offered_total{unit=\"bytes\",M} 0",
            "justfull_dropped_packets_total{layer=\"rlc\",reason=\"overflow\",M} 3",
            "justfull_sojourn_seconds_sum{layer=\"sdap\",M} 0.003",
            "justfull_sojourn_seconds_count{layer=\"sdap\",M} 2",
            "justfull_flow_bytes_total{flow=\"call\",ue=\"0\",qfi=\"1\",M} 400",
            "justfull_flow_packets_total{flow=\"other flows\",ue=\"\",qfi=\"\",M} 2",
            "justfull_flow_delay_seconds_bucket{flow=\"call\",ue=\"0\",qfi=\"1\",le=\"0.000768\",M} 0",
            "justfull_flow_delay_seconds_bucket{flow=\"call\",ue=\"0\",qfi=\"1\",le=\"0.001024\",M} 1",
            "justfull_flow_delay_seconds_bucket{flow=\"call\",ue=\"0\",qfi=\"1\",le=\"+Inf\",M} 2",
            "justfull_flow_delay_seconds_count{flow=\"call\",ue=\"0\",qfi=\"1\",M} 2",
            "justfull_datagrams_total{way=\"down\",outcome=\"delivered\",M} 4",
            "justfull_delivered_bytes_total{way=\"down\",M} 6000",
            "justfull_flows_total{M} 9",
            "justfull_aged_flows_total{M} 2",
            "justfull_late{M} 0",
        ] {
            let line = line.replace('M', "method=\"5G-\\\"BDP\"");
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
            answer.contains(CONTENT_TYPE) && answer.contains("justfull_slots_total{method=\"\"} 7"),
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
