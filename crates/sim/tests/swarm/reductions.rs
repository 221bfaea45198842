//! Parts that can be removed from a failing cell, to see whether it still fails. Each function
//! returns false if there is nothing to remove.

use justfull_base::Lateness;
use justfull_queue::{AqmConfig, DisciplineConfig, QueueConfig};
use justfull_ran::config::Hold;
use justfull_ran::rlc::RlcModeConfig;
use justfull_ran::{
    BytesConfig, HarqConfig, MacConfig, PollConfig, RbConfig, StackConfig, TieOrder,
};
use std::sync::Arc;

/// Sets `field` to `plain`; true if that changes it.
pub(crate) fn set<T: PartialEq>(field: &mut T, plain: T) -> bool {
    let changes = *field != plain;
    *field = plain;
    changes
}

pub(crate) fn pacer(cell: &mut StackConfig) -> bool {
    set(&mut cell.sdap.pacer, Default::default())
}

pub(crate) fn limiter(cell: &mut StackConfig) -> bool {
    set(&mut cell.rlc.report_delay, Default::default())
        || set(&mut cell.rlc.limiter, Default::default())
}

/// Simplifies the AQM, then the discipline, then the limit.
fn plain_queue(queue: &mut QueueConfig) -> bool {
    set(&mut queue.aqm, AqmConfig::default())
        || set(&mut queue.discipline, DisciplineConfig::default())
        || set(&mut queue.limit, QueueConfig::default().limit)
}

pub(crate) fn upf_queue(cell: &mut StackConfig) -> bool {
    plain_queue(&mut cell.upf.queue)
}

pub(crate) fn sdap_queue(cell: &mut StackConfig) -> bool {
    plain_queue(&mut cell.sdap.queue)
}

pub(crate) fn rlc_queue(cell: &mut StackConfig) -> bool {
    plain_queue(&mut cell.rlc.queue)
}

pub(crate) fn own_queues(cell: &mut StackConfig) -> bool {
    let flows = cell.ues.iter_mut().flat_map(|ue| &mut Arc::make_mut(ue).qos_flows);
    flows.fold(false, |any, flow| flow.queue.take().is_some() | any)
}

/// No UE sleeps.
pub(crate) fn drx(cell: &mut StackConfig) -> bool {
    let sleeps = cell.ues.iter().any(|ue| ue.drx.is_some());
    (0..cell.ues.len()).for_each(|ue| cell.ue_mut(ue).drx = None);
    sleeps
}

pub(crate) fn own_channels(cell: &mut StackConfig) -> bool {
    cell.ues.iter_mut().fold(false, |any, ue| Arc::make_mut(ue).channel.take().is_some() | any)
}

pub(crate) fn slices(cell: &mut StackConfig) -> bool {
    let sliced = !cell.slices.is_empty();
    cell.slices.clear();
    cell.ues.iter_mut().for_each(|ue| Arc::make_mut(ue).slice = 0);
    sliced
}

fn blocks(cell: &mut StackConfig) -> Option<&mut RbConfig> {
    if let MacConfig::Rb(rb) = &mut cell.mac { Some(rb) } else { None }
}

pub(crate) fn harq(cell: &mut StackConfig) -> bool {
    blocks(cell).is_some_and(|rb| set(&mut rb.harq, HarqConfig::default()))
}

pub(crate) fn rb_scheduler(cell: &mut StackConfig) -> bool {
    blocks(cell).is_some_and(|rb| set(&mut rb.scheduler, Default::default()))
}

pub(crate) fn rlc_mode(cell: &mut StackConfig) -> bool {
    let fixed = cell.mac.status_way().is_some();
    if fixed {
        cell.mac =
            MacConfig::Bytes(BytesConfig { slot: *cell.mac.slot(), ..BytesConfig::default() });
    }
    fixed | hold(cell) | set(&mut cell.rlc.mode, RlcModeConfig::default())
}

pub(crate) fn hold(cell: &mut StackConfig) -> bool {
    set(&mut cell.rlc.hold, Hold::Sent)
}

pub(crate) fn pdcp(cell: &mut StackConfig) -> bool {
    set(&mut cell.pdcp, Default::default())
}

/// Removes the delays of the base station's knowledge.
pub(crate) fn delays(cell: &mut StackConfig) -> bool {
    match &mut cell.mac {
        MacConfig::Rb(rb) => {
            set(&mut rb.cqi_delay, 0) | set(&mut rb.status_delay, Default::default())
        }
        MacConfig::Dch(dch) => set(&mut dch.status_delay, Default::default()),
        MacConfig::Hsdpa(hsdpa) => set(&mut hsdpa.status_delay, Default::default()),
        _ => false,
    }
}

/// Leaves the PCell alone.
pub(crate) fn scells(cell: &mut StackConfig) -> bool {
    set(&mut cell.scells, Vec::new())
}

/// Makes all slots of a carrier alike.
pub(crate) fn pattern(cell: &mut StackConfig) -> bool {
    let Some(RbConfig { carrier, .. }) = blocks(cell) else { return false };
    set(&mut carrier.offered, Vec::new()) | set(&mut carrier.tdd, String::new())
}

pub(crate) fn lateness(cell: &mut StackConfig) -> bool {
    let plain = |poll: &mut PollConfig| set(&mut poll.lateness, Lateness::Exact);
    plain(&mut cell.upf.poll) | plain(&mut cell.sdap.poll) | plain(cell.mac.slot_mut())
}

pub(crate) fn sdap_scheduler(cell: &mut StackConfig) -> bool {
    set(&mut cell.sdap.scheduler, Default::default())
}

pub(crate) fn batches(cell: &mut StackConfig) -> bool {
    set(&mut cell.upf.batch, u32::MAX) | set(&mut cell.sdap.batch, u32::MAX)
}

pub(crate) fn tie_order(cell: &mut StackConfig) -> bool {
    set(&mut cell.tie_order, TieOrder::TopDown)
}

/// Removes the last UE, if no flow goes to it.
pub(crate) fn last_ue(cell: &mut StackConfig) -> bool {
    cell.ues.len() > 1 && cell.ues.pop().is_some()
}
