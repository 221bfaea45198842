//! Algorithms that users write in Python, in the places of shipped ones.
//!
//! They run in Python's own thread, so that an exception and Ctrl-C arrive there. After the first
//! failure Python is not called again, and the run ends.

pub(crate) mod aqm;
pub(crate) mod control;
pub(crate) mod limiter;
pub(crate) mod rb_scheduler;

use justfull_base::ConfigError;
use justfull_base::make::Make;
use justfull_queue::AqmConfig;
use justfull_ran::MacConfig;
use justfull_ran::limiter::{LimiterConfig, conformance};
use justfull_ran::rb_scheduler::RbSchedulerConfig;
use justfull_run::WorldConfig;
use justfull_tcp::CcConfig;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The first exception of a user's algorithm.
#[derive(Clone, Default)]
pub(crate) struct Trouble {
    told: Arc<AtomicBool>,
    first: Arc<Mutex<Option<PyErr>>>,
}

impl Trouble {
    /// Keeps `error` if it is the first.
    pub(crate) fn tell(&self, error: PyErr) {
        let mut first = self.first.lock().unwrap_or_else(|e| e.into_inner());
        if !self.told.swap(true, Ordering::Relaxed) {
            *first = Some(error);
        }
    }

    /// True if there was one.
    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// The first.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    /// Calls `ask`; none after a failure, without a call.
    fn ask<T>(&self, ask: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.is_told() {
            return None;
        }
        match Python::attach(ask) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.tell(error);
                None
            }
        }
    }
}

/// The algorithms of a method that replace shipped ones: functions that make one for each place.
#[derive(FromPyObject)]
pub(crate) struct Own {
    limiter: Option<Py<PyAny>>,
    aqm: Option<Py<PyAny>>,
    aqm_in: String,
    rb_scheduler: Option<Py<PyAny>>,
    congestion_control: Option<Py<PyAny>>,
}

/// A user's algorithm: the object, and the optional methods that its class has.
struct Object {
    object: Py<PyAny>,
    trouble: Trouble,
}

impl Object {
    /// The bound method `name`, if the class of the object overrides the base's.
    fn method(&self, py: Python<'_>, base: &str, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let object = self.object.bind(py);
        let base = py.import("justfull.own")?.getattr(base)?.getattr(name)?;
        let own = object.get_type().getattr(name)?;
        Ok(if own.is(&base) { None } else { Some(object.getattr(name)?.unbind()) })
    }
}

/// The result `found` of `method` is not an allowed one.
fn nonsense(method: &str, found: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    let found = found.repr().map_or_else(|_| "?".into(), |text| text.to_string());
    PyTypeError::new_err(format!("{method}: returned {found}, allowed is {allowed}"))
}

/// A whole number that is not negative.
fn amount(method: &str, found: &Bound<'_, PyAny>) -> PyResult<u64> {
    found.extract().map_err(|_| nonsense(method, found, "a whole number, at least 0"))
}

/// Turns a Python failure into the error of a build; the exception itself is kept.
fn failed(trouble: &Trouble, field: &str, error: PyErr) -> ConfigError {
    let allowed = "an algorithm that can be made";
    let config = ConfigError::new(field, &error, allowed, "the method's own Python");
    trouble.tell(error);
    config
}

/// The limiters that `make` makes.
fn limiters(make: Py<PyAny>, trouble: Trouble) -> LimiterConfig {
    LimiterConfig::Custom(Make(Arc::new(move |context| {
        limiter::Limiter::made(&make, context, &trouble)
            .map_err(|error| failed(&trouble, "rlc.limiter", error))
    })))
}

/// Checks the limiters that `make` makes against the rules of limiters. Returns the rules, and the
/// violation in words.
#[pyfunction]
pub(crate) fn check_limiter(make: Py<PyAny>) -> PyResult<(Vec<&'static str>, Option<String>)> {
    let trouble = Trouble::default();
    let found = conformance::check(&limiters(make, trouble.clone()));
    match (trouble.take(), found) {
        (Some(error), _) => Err(error),
        (None, Ok(rules)) => Ok((rules, None)),
        (None, Err(broken)) => Ok((Vec::new(), Some(broken.to_string()))),
    }
}

impl Own {
    /// Puts the algorithms into `world`.
    pub(crate) fn put_into(&self, world: &mut WorldConfig, trouble: &Trouble) {
        let of = |make: &Option<Py<PyAny>>| {
            let make = make.as_ref()?;
            Some((Python::attach(|py| make.clone_ref(py)), trouble.clone()))
        };
        if let Some((make, trouble)) = of(&self.limiter) {
            world.stack.rlc.limiter = limiters(make, trouble);
        }
        if let Some((make, trouble)) = of(&self.aqm) {
            let aqm = AqmConfig::Custom(Make(Arc::new(move |context| {
                aqm::Aqm::made(&make, context, &trouble)
                    .map_err(|error| failed(&trouble, "aqm", error))
            })));
            let stack = &mut world.stack;
            match self.aqm_in.as_str() {
                "upf" => stack.upf.queue.aqm = aqm,
                "sdap" => stack.sdap.queue.aqm = aqm,
                _ => stack.rlc.queue.aqm = aqm,
            }
        }
        if let Some((make, trouble)) = of(&self.rb_scheduler) {
            let scheduler = RbSchedulerConfig::Custom(Make(Arc::new(move |shares| {
                rb_scheduler::RbScheduler::made(&make, shares, &trouble)
                    .map_err(|error| failed(&trouble, "mac.scheduler", error))
            })));
            if let MacConfig::Rb(rb) = &mut world.stack.mac {
                rb.scheduler = scheduler;
            }
        }
        if let Some((make, trouble)) = of(&self.congestion_control) {
            let cc = CcConfig::Custom(Make(Arc::new(move |birth| {
                control::Control::made(&make, birth, &trouble)
                    .map_err(|error| failed(&trouble, "cc", error))
            })));
            for flow in &mut world.flows {
                if flow.traffic.sender().is_some()
                    && let Some(sender) = Arc::make_mut(&mut flow.traffic).sender_mut()
                {
                    sender.cc = cc.clone();
                }
            }
        }
    }
}
