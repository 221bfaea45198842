//! `proxy top`: UEs and connections of a running proxy, repainted periodically, or as plain lines
//! without a terminal.

use super::answer_of;
use crate::args::ProxyTopArgs;
use crate::failure::Failure;
use crate::screen::{Keys, Screen, To};
use crate::service::{plain, table};
use crate::terminal::{print, print_exact};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Keys that end it: `q`, Escape, Ctrl-C, Ctrl-D.
const END: [u8; 4] = [b'q', 27, 3, 4];
/// Bytes per second in one Mbit/s.
const BYTES_OF_MBIT: f64 = 125_000.0;

/// The answer of a proxy at one moment.
struct Picture {
    status: Value,
    flows: Vec<Value>,
}

/// The client of a connection, after the name of its pool if there is one.
pub(super) fn client_of(flow: &Value) -> String {
    let client = plain(&flow["client"]);
    flow["pool"].as_str().map_or(client.clone(), |pool| format!("{pool}/{client}"))
}

/// Bytes per second to the client and to the server, since the previous picture.
type Rates = Option<[f64; 2]>;

impl Picture {
    fn take(args: &ProxyTopArgs) -> Result<Self, Failure> {
        let ask = |what| answer_of(&args.ask.socket, what);
        let (status, flows) = (ask("status")?, ask("flows")?);
        Ok(Self { status, flows: flows.as_array().cloned().unwrap_or_default() })
    }

    /// The rates of each connection, in the order of the proxy; none for a connection that `before`
    /// lacks.
    fn rates(&self, before: Option<&Self>) -> Vec<Rates> {
        let key = |flow: &Value| (client_of(flow), plain(&flow["server"]));
        let bytes = |flow: &Value| {
            ["bytes_down", "bytes_up"].map(|way| flow[way].as_f64().unwrap_or_default())
        };
        let age = |flow: &Value| flow["seconds"].as_f64().unwrap_or_default();
        let known: BTreeMap<_, _> =
            before.iter().flat_map(|before| &before.flows).map(|flow| (key(flow), flow)).collect();
        let rate = |flow: &Value| {
            let old = known.get(&key(flow))?;
            let passed = age(flow) - age(old);
            let (new, old) = (bytes(flow), bytes(old));
            // A younger connection may have the ports of an ended one.
            (passed > 0.0).then(|| [0, 1].map(|way| (new[way] - old[way]) / passed))
        };
        self.flows.iter().map(rate).collect()
    }

    /// The picture for programs, one line.
    fn json(&self, rates: &[Rates]) -> String {
        let rate = |rate: &Rates| {
            json!({
                "down_bytes_per_s": rate.map(|[down, _]| down),
                "up_bytes_per_s": rate.map(|[_, up]| up),
            })
        };
        let rates: Vec<Value> = rates.iter().map(rate).collect();
        format!("{}\n", json!({ "status": self.status, "flows": self.flows, "rates": rates }))
    }

    /// The picture for people.
    fn lines(&self, rates: &[Rates]) -> Vec<String> {
        let mut lines = self.head(rates);
        lines.push(String::new());
        lines.extend(table(&self.ues(rates)));
        lines.push(String::new());
        lines.extend(table(&self.connections(rates)));
        lines
    }

    fn head(&self, rates: &[Rates]) -> Vec<String> {
        let (s, radio) = (&self.status, &self.status["radio"]);
        let all = |way: usize| {
            let known: Vec<f64> = rates.iter().flatten().map(|rate| rate[way]).collect();
            if known.is_empty() { "-".into() } else { mbit(Some(known.iter().sum())) }
        };
        let counts = ["taken", "late", "absurd", "garbled", "dropped"]
            .map(|what| format!("{} {what}", plain(&radio[what])))
            .join(", ");
        vec![
            format!(
                "justfull proxy: {}, {:.0} s; control {}, radio leg by {}",
                plain(&s["state"]),
                s["seconds"].as_f64().unwrap_or_default(),
                plain(&s["control"]),
                plain(&s["radio_leg"])
            ),
            format!(
                "{} of {} connections, {} of {} pipes; {} Mbit/s down, {} up",
                plain(&s["flows"]),
                plain(&s["flows_limit"]),
                plain(&s["pipes"]),
                plain(&s["pipes_limit"]),
                all(0),
                all(1)
            ),
            format!("reports: {}, {}; {counts}", plain(&radio["source"]), plain(&radio["state"])),
        ]
    }

    fn ues(&self, rates: &[Rates]) -> Vec<Vec<String>> {
        let titles =
            ["UE", "connections", "down Mbit/s", "capacity Mbit/s", "reports", "last report s"];
        let mut rows = vec![titles.map(str::to_owned).to_vec()];
        for ue in self.status["ues"].as_array().into_iter().flatten() {
            let own = self.flows.iter().zip(rates).filter(|(flow, _)| flow["ue"] == ue["ue"]);
            let down: Vec<f64> = own.filter_map(|(_, rate)| Some((*rate)?[0])).collect();
            let down = (!down.is_empty()).then(|| down.iter().sum());
            rows.push(vec![
                plain(&ue["ue"]),
                plain(&ue["flows"]),
                mbit(down),
                mbit(ue["capacity_bytes_per_s"].as_f64()),
                plain(&ue["radio"]),
                plain(&ue["report_age_s"]),
            ]);
        }
        rows
    }

    /// The connections, the busiest first.
    fn connections(&self, rates: &[Rates]) -> Vec<Vec<String>> {
        let titles = [
            "client",
            "server",
            "kind",
            "down Mbit/s",
            "demand Mbit/s",
            "server window",
            "radio window",
            "cwnd",
            "in flight",
            "wired ms",
            "radio ms",
        ];
        let ms = |value: &Value| value.as_f64().map_or("-".into(), |s| format!("{:.1}", s * 1e3));
        let mut order: Vec<usize> = (0..self.flows.len()).collect();
        let down = |at: usize| rates[at].map_or(-1.0, |rate| rate[0]);
        order.sort_by(|a, b| down(*b).total_cmp(&down(*a)));
        let row = |at: usize| {
            let flow = &self.flows[at];
            vec![
                client_of(flow),
                plain(&flow["server"]),
                plain(&flow["category"]),
                mbit(rates[at].map(|rate| rate[0])),
                mbit(flow["demand_bytes_per_s"].as_f64()),
                plain(&flow["server_window"]),
                plain(&flow["radio_window"]),
                plain(&flow["cwnd"]),
                plain(&flow["in_flight"]),
                ms(&flow["wired_rtt_s"]),
                ms(&flow["radio_rtt_s"]),
            ]
        };
        let titles = titles.map(str::to_owned).to_vec();
        std::iter::once(titles).chain(order.into_iter().map(row)).collect()
    }
}

fn mbit(bytes_per_s: Option<f64>) -> String {
    bytes_per_s.map_or("-".into(), |rate| format!("{:.2}", rate / BYTES_OF_MBIT))
}

/// Paints until a key or signal ends it, or prints the requested number of times.
pub(crate) fn run(args: &ProxyTopArgs) -> Result<(), Failure> {
    let every = Duration::from_nanos(args.every.as_nanos());
    if args.ask.json || !To::Stdout.can_be_painted_on() || !io::stdin().is_terminal() {
        return lines(args, every);
    }
    let (key, keys) = channel();
    let ended = key.clone();
    // No other running command sets a handler.
    let _set = ctrlc::set_handler(move || _ = ended.send(3));
    let screen = Screen::open(To::Stdout, Keys::Ours)
        .map_err(|e| Failure::Failed(format!("the terminal: {e}")))?;
    std::thread::spawn(move || {
        // The thread ends with the process.
        let mut byte = [0];
        while io::stdin().read(&mut byte).is_ok_and(|length| length == 1) {
            if key.send(byte[0]).is_err() {
                return;
            }
        }
    });
    let shown = paint(args, every, &screen, &keys);
    drop(screen);
    shown
}

fn paint(
    args: &ProxyTopArgs,
    every: Duration,
    screen: &Screen,
    keys: &Receiver<u8>,
) -> Result<(), Failure> {
    let mut before = None;
    for number in 1_u64.. {
        let picture = Picture::take(args);
        // The first answer is required; later the proxy may be restarting.
        let lines = match &picture {
            Ok(picture) => picture.lines(&picture.rates(before.as_ref())),
            Err(_) if number == 1 => return picture.map(drop),
            Err(error) => vec![error.to_string()],
        };
        screen.show(&lines).map_err(|e| Failure::Failed(format!("the terminal: {e}")))?;
        before = picture.ok();
        if args.count == Some(number) {
            break;
        }
        match keys.recv_timeout(every) {
            Ok(key) if END.contains(&key) => break,
            Err(RecvTimeoutError::Disconnected) => break,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Ok(())
}

/// Prints one page, or the requested number, each after the period; with rates.
fn lines(args: &ProxyTopArgs, every: Duration) -> Result<(), Failure> {
    let mut before = Picture::take(args)?;
    for number in 0..args.count.unwrap_or(1) {
        std::thread::sleep(every);
        let picture = Picture::take(args)?;
        let rates = picture.rates(Some(&before));
        if args.ask.json {
            print_exact(&picture.json(&rates))?;
        } else {
            let gap = if number > 0 { "\n" } else { "" };
            print(&format!("{gap}{}\n", picture.lines(&rates).join("\n")))?;
        }
        before = picture;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(bytes: [u64; 2], seconds: f64) -> Picture {
        let flow = |port: u16, bytes: u64, ue: &str| {
            json!({
                "client": format!("10.45.0.1:{port}"), "server": "10.46.0.1:443", "ue": ue,
                "seconds": seconds, "bytes_down": bytes, "bytes_up": 0, "category": "slow",
                "demand_bytes_per_s": 125_000.0, "server_window": 14_480, "radio_window": null,
                "cwnd": 10, "in_flight": 0, "wired_rtt_s": 0.0105, "radio_rtt_s": 0.02,
            })
        };
        let ue = json!({
            "ue": "10.45.0.1", "flows": 2, "radio": "coming", "report_age_s": 0.004,
            "capacity_bytes_per_s": 2_000_000.0,
        });
        Picture {
            status: json!({ "state": "running", "seconds": seconds, "ues": [ue] }),
            flows: vec![flow(1, bytes[0], "10.45.0.1"), flow(2, bytes[1], "10.45.0.1")],
        }
    }

    #[test]
    fn rates_are_of_the_time_between_two_pictures_and_the_busiest_comes_first() {
        let (old, new) = (picture([0, 0], 1.0), picture([125_000, 1_250_000], 3.0));
        let rates = new.rates(Some(&old));
        assert_eq!(rates, [Some([62_500.0, 0.0]), Some([625_000.0, 0.0])]);
        let text = new.lines(&rates).join("\n");
        let (one, two) = (text.find("10.45.0.1:1").unwrap(), text.find("10.45.0.1:2").unwrap());
        assert!(two < one, "{text}");
        for part in ["5.50 Mbit/s down, 0.00 up", "16.00", "coming", "0.004", "10.5", "slow"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // An older connection had the same ports; the first picture has no predecessor.
        assert_eq!(old.rates(Some(&new)), [None, None]);
        assert!(new.lines(&new.rates(None)).join("\n").contains("- Mbit/s down, - up"));
        assert!(new.json(&rates).contains("\"down_bytes_per_s\":62500.0"));
    }
}
