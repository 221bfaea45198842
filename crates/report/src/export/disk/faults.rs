//! Failing steps for tests: the k-th step of a thread alone, or all steps from the k-th on.

use std::cell::RefCell;
use std::io;

/// A step that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    MakeDir,
    Create,
    Write,
    Sync,
    SetMode,
    Exchange,
    Rename,
    Remove,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Only this step fails.
    Once(usize),
    /// This step and all later steps fail, as if the process had been killed.
    From(usize),
}

/// The faults of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// The fault.
    pub(crate) fault: Option<Fault>,
    /// Most bytes accepted by one write.
    pub(crate) short: Option<usize>,
    /// Names cannot be exchanged, as on file systems without this operation.
    pub(crate) no_exchange: bool,
}

#[derive(Default)]
struct State {
    plan: Plan,
    steps: Vec<Step>,
    failed: bool,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Runs `work` under `plan`. Returns its result, the steps taken, and whether one failed.
pub(crate) fn under<R>(plan: Plan, work: impl FnOnce() -> R) -> (R, Vec<Step>, bool) {
    STATE.set(State { plan, ..State::default() });
    let result = work();
    let state = STATE.take();
    (result, state.steps, state.failed)
}

/// Counts a step, and fails if the plan requires it.
pub(crate) fn before(step: Step) -> io::Result<()> {
    STATE.with_borrow_mut(|state| {
        let k = state.steps.len();
        state.steps.push(step);
        let fails = match state.plan.fault {
            Some(Fault::Once(at)) => k == at,
            Some(Fault::From(at)) => k >= at,
            None => false,
        };
        if fails {
            state.failed = true;
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        if step == Step::Exchange && state.plan.no_exchange {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(())
    })
}

/// The part of `bytes` that a write accepts.
pub(crate) fn room(bytes: &[u8]) -> io::Result<&[u8]> {
    before(Step::Write)?;
    let most = STATE.with_borrow(|state| state.plan.short).unwrap_or(usize::MAX);
    Ok(&bytes[..bytes.len().min(most)])
}
