//! A limiter in Python.

use super::{Object, Trouble, amount};
use justfull_base::{Duration, Instant};
use justfull_ran::limiter::{self, CapacityUnit, GrantContext, RlcView};
use pyo3::prelude::*;

/// The MAC's report to a limiter after each slot; amounts are in the unit of grants.
#[pyclass(frozen, get_all, module = "justfull")]
pub(crate) struct SlotReport {
    /// When the MAC pulled, in ns.
    pulled_at: u64,
    /// Nominal length of a slot in ns.
    slot: u64,
    /// The amount that the slot offered this bearer.
    granted: u64,
    /// The amount that it sent.
    used: u64,
    /// The amount still in its RLC queue.
    remaining: u64,
    /// The most that a slot carries at the current MCS.
    capacity: u64,
    /// True when the bearer could have sent more than it had.
    starved: bool,
}

pub(super) struct Limiter {
    of: Object,
    unit: CapacityUnit,
    overdraws: bool,
    paces: bool,
    room: Py<PyAny>,
    on_admitted: Option<Py<PyAny>>,
    on_departed: Option<Py<PyAny>>,
    on_slot: Option<Py<PyAny>>,
}

impl Limiter {
    /// Wraps the object that `make` returns for the bearer of `context`.
    pub(super) fn made(
        make: &Py<PyAny>,
        context: &GrantContext,
        trouble: &Trouble,
    ) -> PyResult<Box<dyn limiter::Limiter + Send>> {
        Python::attach(|py| {
            let unit = match context.unit {
                CapacityUnit::Packets => "packets",
                CapacityUnit::Bytes => "bytes",
            };
            let about = (unit, context.slot.as_nanos(), context.mtu);
            let object = make.call1(py, about)?;
            let of = Object { object, trouble: trouble.clone() };
            let limiter = Self {
                unit: context.unit,
                overdraws: of.object.getattr(py, "overdraws")?.extract(py)?,
                paces: of.object.getattr(py, "paces")?.extract(py)?,
                room: of.object.getattr(py, "room")?,
                on_admitted: of.method(py, "Limiter", "on_admitted")?,
                on_departed: of.method(py, "Limiter", "on_departed")?,
                on_slot: of.method(py, "Limiter", "on_slot")?,
                of,
            };
            Ok(Box::new(limiter) as Box<dyn limiter::Limiter + Send>)
        })
    }
}

impl limiter::Limiter for Limiter {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }

    fn room(&mut self, now: Instant, queue: &RlcView) -> u64 {
        let asked = self.of.trouble.ask(|py| {
            let answer = self.room.bind(py).call1((now.as_nanos(), queue.backlog(self.unit)))?;
            if answer.is_none() { Ok(u64::MAX) } else { amount("Limiter.room", &answer) }
        });
        asked.unwrap_or(u64::MAX)
    }

    fn overdraws(&self) -> bool {
        self.overdraws
    }

    fn on_admitted(&mut self, now: Instant, amount: u64, queue: &RlcView) {
        if let Some(call) = &self.on_admitted {
            let about = (now.as_nanos(), amount, queue.backlog(self.unit));
            self.of.trouble.ask(|py| call.call1(py, about));
        }
    }

    fn on_departed(&mut self, now: Instant, sojourn: Duration) {
        if let Some(call) = &self.on_departed {
            self.of.trouble.ask(|py| call.call1(py, (now.as_nanos(), sojourn.as_nanos())));
        }
    }

    fn on_slot(&mut self, report: &justfull_base::SlotReport) {
        if let Some(call) = &self.on_slot {
            let report = SlotReport {
                pulled_at: report.pulled_at.as_nanos(),
                slot: report.slot.as_nanos(),
                granted: report.granted,
                used: report.used,
                remaining: report.remaining,
                capacity: report.capacity,
                starved: report.starved,
            };
            self.of.trouble.ask(|py| call.call1(py, (report,)));
        }
    }

    fn wants_reports(&self) -> bool {
        self.on_slot.is_some()
    }

    fn paces(&self) -> bool {
        self.paces
    }
}
