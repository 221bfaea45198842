//! A congestion control in Python.

use super::{Object, Trouble, amount, nonsense};
use justfull_base::{BitRate, Duration, Instant};
use justfull_tcp::cc::{CongestionController, CustomControl};
use justfull_tcp::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, RecoveryState, Sent,
};
use pyo3::prelude::*;
use std::fmt;

/// The report of one acknowledgement. Times are in ns, amounts in bytes.
#[pyclass(frozen, get_all, module = "justfull")]
pub(crate) struct Ack {
    /// Now.
    now: u64,
    /// Newly delivered.
    acked: u64,
    /// A round trip, if there is a sample.
    rtt: Option<u64>,
    /// Smoothed RTT; 0 before the first sample.
    srtt: u64,
    /// Smallest RTT of the connection, if there was one.
    min_rtt: Option<u64>,
    /// Delivered since the start.
    delivered: u64,
    /// Delivery rate in bit/s, if there is a sample.
    delivery_rate: Option<f64>,
    /// In flight now.
    in_flight: u64,
    /// Newly marked lost.
    lost: u64,
    /// Payload newly reported with congestion experienced, if the sender has `accecn`.
    ce_bytes: u64,
    /// The sampled segment left while the application limited the rate.
    app_limited: bool,
    /// A round trip has ended.
    round_start: bool,
    /// The window limited the sender in this round or the last.
    window_limited: bool,
    /// The sender repairs losses or reduces its window.
    in_recovery: bool,
}

/// The last values of Python's object, which the sender obeys.
#[derive(Clone, Copy)]
struct Said {
    cwnd: u64,
    ssthresh: u64,
    pacing_rate: Option<BitRate>,
}

pub(super) struct Control {
    object: Py<PyAny>,
    trouble: Trouble,
    mss: u64,
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    on_sent: Option<Py<PyAny>>,
    on_idle: Option<Py<PyAny>>,
    on_recovery_exit: Option<Py<PyAny>>,
    said: Said,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("cwnd", &self.said.cwnd).finish_non_exhaustive()
    }
}

impl Control {
    /// Wraps the object that `make` returns for a sender.
    pub(super) fn made(
        make: &Py<PyAny>,
        birth: &Birth,
        trouble: &Trouble,
    ) -> PyResult<Box<dyn CustomControl>> {
        Python::attach(|py| {
            let object = make.call1(py, (birth.mss, birth.initial_window))?;
            let control = Self::of(py, object, trouble, u64::from(birth.mss))?;
            Ok(Box::new(control) as Box<dyn CustomControl>)
        })
    }

    fn of(py: Python<'_>, object: Py<PyAny>, trouble: &Trouble, mss: u64) -> PyResult<Self> {
        let of = Object { object, trouble: trouble.clone() };
        let base = "CongestionControl";
        let said = said(of.object.bind(py), mss)?;
        Ok(Self {
            on_ack: of.object.getattr(py, "on_ack")?,
            on_congestion: of.object.getattr(py, "on_congestion")?,
            on_sent: of.method(py, base, "on_sent")?,
            on_idle: of.method(py, base, "on_idle")?,
            on_recovery_exit: of.method(py, base, "on_recovery_exit")?,
            object: of.object,
            trouble: of.trouble,
            mss,
            said,
        })
    }

    /// Makes `call` on the object and then reads its values.
    fn hear(&mut self, call: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>) {
        let said = self.trouble.ask(|py| {
            call(py)?;
            said(self.object.bind(py), self.mss)
        });
        self.said = said.unwrap_or(self.said);
    }
}

/// Window, threshold and rate of `object`.
fn said(object: &Bound<'_, PyAny>, mss: u64) -> PyResult<Said> {
    let py = object.py();
    let whole = |name: &str| amount(name, &object.getattr(name)?);
    let threshold = object.getattr(pyo3::intern!(py, "ssthresh"))?;
    let rate = object.getattr(pyo3::intern!(py, "pacing_rate"))?;
    let pacing_rate = if rate.is_none() {
        None
    } else {
        let bits: f64 =
            rate.extract().map_err(|_| nonsense("pacing_rate", &rate, "bit/s above 0, or None"))?;
        if !(1.0..=1e15).contains(&bits) {
            return Err(nonsense("pacing_rate", &rate, "1 to 1e15 bit/s, or None"));
        }
        Some(BitRate(bits as u64))
    };
    Ok(Said {
        // The engine never sends less than a segment.
        cwnd: whole("cwnd")?.max(mss),
        ssthresh: if threshold.is_none() { u64::MAX } else { amount("ssthresh", &threshold)? },
        pacing_rate,
    })
}

impl CongestionController for Control {
    fn on_sent(&mut self, sent: &Sent) {
        if let Some(call) = &self.on_sent {
            let about = (sent.now.as_nanos(), sent.bytes, sent.in_flight);
            let call = Python::attach(|py| call.clone_ref(py));
            self.hear(|py| call.call1(py, about));
        }
    }

    fn on_ack(&mut self, sample: &AckSample) {
        let bytes = sample.delivered.saturating_sub(sample.prior_delivered) as f64;
        let ack = Ack {
            now: sample.now.as_nanos(),
            acked: sample.acked,
            rtt: sample.rtt.map(Duration::as_nanos),
            srtt: sample.srtt.as_nanos(),
            min_rtt: (sample.min_rtt != Duration::MAX).then(|| sample.min_rtt.as_nanos()),
            delivered: sample.delivered,
            delivery_rate: sample
                .interval
                .filter(|interval| !interval.is_zero())
                .map(|interval| bytes * 8.0 / interval.as_secs_f64()),
            in_flight: sample.in_flight,
            lost: sample.lost,
            ce_bytes: sample.ce_bytes,
            app_limited: sample.app_limited,
            round_start: sample.round_start,
            window_limited: sample.window_limited,
            in_recovery: sample.recovery != RecoveryState::Open,
        };
        let call = Python::attach(|py| self.on_ack.clone_ref(py));
        self.hear(|py| call.call1(py, (ack,)));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let cause = match event.cause {
            CongestionCause::Loss => "loss",
            CongestionCause::Ecn => "ecn",
            CongestionCause::Timeout { .. } => "timeout",
        };
        let about = (event.now.as_nanos(), cause, event.in_flight);
        let call = Python::attach(|py| self.on_congestion.clone_ref(py));
        self.hear(|py| call.call1(py, about));
    }

    fn on_spurious(&mut self, _now: Instant) {}

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        if let Some(call) = &self.on_idle {
            let about = (restart.now.as_nanos(), restart.idle.as_nanos());
            let call = Python::attach(|py| call.clone_ref(py));
            self.hear(|py| call.call1(py, about));
        }
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        if let Some(call) = &self.on_recovery_exit {
            let call = Python::attach(|py| call.clone_ref(py));
            self.hear(|py| call.call1(py, (now.as_nanos(),)));
        }
    }

    fn cwnd(&self) -> u64 {
        self.said.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.said.ssthresh
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.said.pacing_rate
    }
}

impl Clone for Control {
    fn clone(&self) -> Self {
        let copied = self.trouble.ask(|py| {
            let copy = py.import("copy")?.getattr("deepcopy")?;
            Self::of(py, copy.call1((&self.object,))?.unbind(), &self.trouble, self.mss)
        });
        copied.unwrap_or_else(|| {
            Python::attach(|py| Self {
                object: self.object.clone_ref(py),
                trouble: self.trouble.clone(),
                mss: self.mss,
                on_ack: self.on_ack.clone_ref(py),
                on_congestion: self.on_congestion.clone_ref(py),
                on_sent: None,
                on_idle: None,
                on_recovery_exit: None,
                said: self.said,
            })
        })
    }
}
