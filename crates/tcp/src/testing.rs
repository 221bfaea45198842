//! What the tests of this crate share.

use crate::cc::{AckSample, Birth, Congestion, CongestionCause};
use crate::sender::RecoveryState;
use justfull_base::{Duration, Instant};

/// Payload of a full segment.
pub(crate) const MSS: u64 = 1448;

pub(crate) fn birth() -> Birth {
    Birth { mss: 1448, initial_window: 10 * MSS }
}

/// An acknowledgement of `acked` bytes on a path in full use.
pub(crate) fn sample(acked: u64) -> AckSample {
    AckSample {
        now: Instant::from_nanos(1),
        acked,
        rtt: Some(Duration::from_millis(50)),
        srtt: Duration::from_millis(50),
        min_rtt: Duration::from_millis(50),
        delivered: acked,
        prior_delivered: 0,
        interval: Some(Duration::from_millis(50)),
        prior_in_flight: 10 * MSS,
        in_flight: 10 * MSS,
        lost: 0,
        lost_total: 0,
        ce_count: 0,
        ce_bytes: 0,
        app_limited: false,
        round_start: false,
        retransmitted_sample: false,
        maybe_delayed: false,
        window_limited: true,
        max_in_flight: u64::MAX / 4,
        sequence_round_start: false,
        recovery: RecoveryState::Open,
    }
}

fn congestion(cause: CongestionCause, flight_size: u64) -> Congestion {
    Congestion {
        now: Instant::from_nanos(1),
        cause,
        flight_size,
        in_flight: 0,
        delivered: flight_size,
        lost_total: 0,
    }
}

pub(crate) fn loss(flight_size: u64) -> Congestion {
    congestion(CongestionCause::Loss, flight_size)
}

pub(crate) fn echo(flight_size: u64) -> Congestion {
    congestion(CongestionCause::Ecn, flight_size)
}

pub(crate) fn timeout(flight_size: u64, repeated: bool) -> Congestion {
    congestion(CongestionCause::Timeout { repeated }, flight_size)
}

/// Fails unless the page names exactly the keys of the configuration, in order, with the defaults they have.
#[cfg(feature = "serde")]
pub(crate) fn check_doc<C: serde::Serialize>(doc: &justfull_base::doc::MethodDoc, defaults: &C) {
    use std::string::{String, ToString};
    use std::vec::Vec;
    let text = serde_json::to_string(defaults).expect("a configuration is plain data");
    let value: serde_json::Value = serde_json::from_str(&text).expect("what was written can be read");
    let map = value.as_object().expect("a configuration is a map");
    // A map of `Value`s is sorted, so the order is read from the text.
    let mut keys: Vec<(usize, &String)> =
        map.keys().map(|k| (text.find(&std::format!("\"{k}\":")).expect("the key is there"), k)).collect();
    keys.sort();
    let keys: Vec<&str> = keys.iter().map(|k| k.1.as_str()).collect();
    let documented: Vec<&str> = doc.params.iter().map(|p| p.name).collect();
    assert_eq!(documented, keys, "{}", doc.name);
    for param in doc.params {
        let default = match &map[param.name] {
            serde_json::Value::String(s) => s.clone(),
            serde_json::Value::Object(o) if o.contains_key("kind") => {
                o["kind"].as_str().expect("a kind is a name").to_string()
            }
            serde_json::Value::Object(o) => {
                let inner: Vec<String> = o.iter().map(|(k, v)| std::format!("{k} = {v}")).collect();
                std::format!("{{ {} }}", inner.join(", "))
            }
            other => other.to_string(),
        };
        assert_eq!(param.default, default, "{}.{}", doc.name, param.name);
    }
}
