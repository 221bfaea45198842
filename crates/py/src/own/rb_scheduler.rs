//! A resource-block scheduler in Python.

use super::{Object, Trouble, nonsense};
use justfull_base::Ratio;
use justfull_ran::rb_demand::{RbAllocation, RbDemand, UeServed};
use justfull_ran::rb_scheduler;
use pyo3::prelude::*;

/// A UE with something to send in a slot.
#[pyclass(frozen, get_all, module = "justfull")]
pub(crate) struct UeDemand {
    /// Its number in the cell.
    ue: u32,
    /// Its slice.
    slice: u16,
    /// Bytes on the air of all waiting data.
    backlog: u64,
    /// Waiting time of the first of its packets, in ns.
    head_of_line: u64,
    /// Bytes that n resource blocks carry, for n from 0 to all of the slot.
    tbs: Vec<u32>,
}

/// The UEs and the free blocks of a slot.
#[pyclass(frozen, get_all, module = "justfull")]
pub(crate) struct Demand {
    /// Number of the slot.
    slot: u64,
    /// When it is scheduled, in ns.
    now: u64,
    /// Units that are free: resource block groups, or single blocks.
    units: u16,
    /// Blocks of a full unit; the last may be shorter.
    unit_size: u16,
    /// Resource blocks of all units.
    rbs: u16,
    /// The UEs, in ascending order of their numbers.
    ues: Vec<Py<UeDemand>>,
}

pub(super) struct RbScheduler {
    trouble: Trouble,
    schedule: Py<PyAny>,
    on_served: Option<Py<PyAny>>,
}

impl RbScheduler {
    /// Wraps the object that `make` returns for slices with these shares.
    pub(super) fn made(
        make: &Py<PyAny>,
        shares: &[Ratio],
        trouble: &Trouble,
    ) -> PyResult<Box<dyn rb_scheduler::RbScheduler + Send>> {
        Python::attach(|py| {
            let shares: Vec<f64> = shares.iter().map(|share| share.0).collect();
            let of = Object { object: make.call1(py, (shares,))?, trouble: trouble.clone() };
            let made = Self {
                schedule: of.object.getattr(py, "schedule")?,
                on_served: of.method(py, "RbScheduler", "on_served")?,
                trouble: of.trouble,
            };
            Ok(Box::new(made) as Box<dyn rb_scheduler::RbScheduler + Send>)
        })
    }
}

/// The demand as an object for Python.
fn shown(py: Python<'_>, demand: &RbDemand<'_>) -> PyResult<Demand> {
    let ue = |(index, ue): (usize, &justfull_ran::rb_demand::UeDemand<'_>)| {
        let drbs = demand.drbs_of(index);
        let shown = UeDemand {
            ue: ue.ue,
            slice: ue.slice,
            backlog: drbs.iter().fold(0, |sum: u64, drb| sum.saturating_add(drb.backlog)),
            head_of_line: drbs.iter().map(|drb| drb.head_of_line.as_nanos()).max().unwrap_or(0),
            tbs: ue.tbs.to_vec(),
        };
        Py::new(py, shown)
    };
    Ok(Demand {
        slot: demand.slot,
        now: demand.now.as_nanos(),
        units: demand.units.count(),
        unit_size: demand.units.size(),
        rbs: demand.units.rbs(),
        ues: demand.ues.iter().enumerate().map(ue).collect::<PyResult<_>>()?,
    })
}

impl rb_scheduler::RbScheduler for RbScheduler {
    fn schedule(&mut self, demand: &RbDemand<'_>, out: &mut RbAllocation) {
        out.clear(demand);
        let asked = self.trouble.ask(|py| {
            let answer = self.schedule.bind(py).call1((shown(py, demand)?,))?;
            let (ues, units) = (demand.ues.len(), demand.units.count());
            let allowed = format!("{ues} whole numbers that add up to at most {units} units");
            let wrong = || nonsense("RbScheduler.schedule", &answer, &allowed);
            let given: Vec<u16> = answer.extract().map_err(|_| wrong())?;
            let sum: u64 = given.iter().map(|units| u64::from(*units)).sum();
            if given.len() == ues && sum <= u64::from(units) { Ok(given) } else { Err(wrong()) }
        });
        let mut units = demand.units;
        for (index, count) in asked.unwrap_or_default().into_iter().enumerate() {
            for _ in 0..count {
                out.give(index, units.take());
            }
            out.split_in_turn(demand, index);
        }
    }

    fn wants_sdus(&self) -> bool {
        false
    }

    fn on_served(&mut self, now: justfull_base::Instant, served: &[UeServed]) {
        if let Some(call) = &self.on_served {
            let served: Vec<(u32, u16, u32)> =
                served.iter().map(|s| (s.ue, s.rbs, s.bytes)).collect();
            self.trouble.ask(|py| call.call1(py, (now.as_nanos(), served)));
        }
    }
}
