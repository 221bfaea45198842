//! The rows of the result files, from a comparison.

use super::{
    AroundRow, CarrierRow, CdfPoint, CellRow, DrxRow, EntityRow, FlowPoint, FlowRow, HandoverRow,
    LegRow, SeriesPoint,
};
use justfull_lab::model::{Comparison, Group};
use justfull_run::handovers::CellsResult;
use justfull_run::results::{Distribution, RunResult};

fn all_runs(comparison: &Comparison) -> impl Iterator<Item = (&Group, &RunResult)> {
    comparison.groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)))
}

/// One row for each run and flow, of [`COLUMNS`](super::COLUMNS).
pub fn flows(comparison: &Comparison) -> impl Iterator<Item = FlowRow<'_>> {
    all_runs(comparison)
        .flat_map(|(group, run)| run.flows.iter().map(move |flow| FlowRow { group, run, flow }))
}

/// One row for each run and bin of time, of [`SERIES_COLUMNS`](super::SERIES_COLUMNS).
pub fn series(comparison: &Comparison) -> impl Iterator<Item = SeriesPoint<'_>> {
    all_runs(comparison).flat_map(|(group, run)| {
        (0..run.series.rlc_packets.len()).map(move |bin| SeriesPoint { group, run, bin })
    })
}

/// One row for each run, flow name and bin of time, of
/// [`FLOW_SERIES_COLUMNS`](super::FLOW_SERIES_COLUMNS).
pub fn flow_series(comparison: &Comparison) -> impl Iterator<Item = FlowPoint<'_>> {
    all_runs(comparison).flat_map(|(group, run)| {
        run.series.flows.iter().flat_map(move |flow| {
            (0..flow.delay_ms.len()).map(move |bin| FlowPoint { group, run, flow, bin })
        })
    })
}

/// One row for each run, distribution and point, of [`CDF_COLUMNS`](super::CDF_COLUMNS).
pub fn cdf(comparison: &Comparison) -> impl Iterator<Item = CdfPoint<'_>> {
    all_runs(comparison).flat_map(|(group, run)| {
        distributions(run).into_iter().flat_map(move |(quantity, of, distribution)| {
            let points = distribution.cdf.iter();
            points.map(move |&(time_ms, share)| CdfPoint {
                group,
                run,
                quantity,
                of,
                time_ms,
                share,
            })
        })
    })
}

/// One row for each run and queue, of [`ENTITY_COLUMNS`](super::ENTITY_COLUMNS).
pub fn entities(comparison: &Comparison) -> impl Iterator<Item = EntityRow<'_>> {
    all_runs(comparison).flat_map(|(group, run)| {
        run.entities.iter().map(move |entity| EntityRow { group, run, entity })
    })
}

/// The runs of worlds with several cells.
fn of_cells(comparison: &Comparison) -> impl Iterator<Item = (&Group, &RunResult, &CellsResult)> {
    all_runs(comparison).filter_map(|(group, run)| Some((group, run, run.cells.as_deref()?)))
}

/// One row for each run and cell, of [`CELL_COLUMNS`](super::CELL_COLUMNS).
pub fn cells(comparison: &Comparison) -> impl Iterator<Item = CellRow<'_>> {
    of_cells(comparison).flat_map(|(group, run, result)| {
        result.cells.iter().map(move |cell| CellRow { group, run, cell })
    })
}

/// One row for each run and handover, of [`HANDOVER_COLUMNS`](super::HANDOVER_COLUMNS).
pub fn handovers(comparison: &Comparison) -> impl Iterator<Item = HandoverRow<'_>> {
    of_cells(comparison).flat_map(|(group, run, result)| {
        result.handovers.iter().map(move |handover| HandoverRow { group, run, handover })
    })
}

/// One row for each run and interval around handovers, of
/// [`AROUND_COLUMNS`](super::AROUND_COLUMNS).
pub fn around(comparison: &Comparison) -> impl Iterator<Item = AroundRow<'_>> {
    of_cells(comparison).flat_map(|(group, run, result)| {
        result.around.iter().map(move |point| AroundRow { group, run, point })
    })
}

/// One row for each run and carrier, of [`CARRIER_COLUMNS`](super::CARRIER_COLUMNS).
pub fn carriers(comparison: &Comparison) -> impl Iterator<Item = CarrierRow<'_>> {
    all_runs(comparison).flat_map(|(group, run)| {
        run.carriers.iter().map(move |carrier| CarrierRow { group, run, carrier })
    })
}

/// One row for each run and leg of split bearers, of [`LEG_COLUMNS`](super::LEG_COLUMNS).
pub fn legs(comparison: &Comparison) -> impl Iterator<Item = LegRow<'_>> {
    of_cells(comparison).flat_map(|(group, run, result)| {
        result.legs.iter().map(move |leg| LegRow { group, run, leg })
    })
}

/// One row for each run and UE with DRX, of [`DRX_COLUMNS`](super::DRX_COLUMNS).
pub fn drx(comparison: &Comparison) -> impl Iterator<Item = DrxRow<'_>> {
    all_runs(comparison)
        .flat_map(|(group, run)| run.drx.iter().map(move |ue| DrxRow { group, run, ue }))
}

/// Every distribution of a run: its quantity, its flow or layer, and its numbers.
fn distributions(run: &RunResult) -> Vec<(&'static str, &str, &Distribution)> {
    let flows = run.flows.iter().flat_map(|f| {
        let of_all = [("delay", Some(&f.delay)), ("bound", Some(&f.bound)), ("rtt", Some(&f.rtt))];
        let of_some = [
            ("one_way", f.voip.as_ref().map(|v| &v.one_way)),
            ("frame", f.frames.as_ref().map(|v| &v.completion)),
            ("input_to_frame", f.frames.as_ref().map(|v| &v.reaction).filter(|d| d.count > 0)),
            ("dash_startup", f.dash.as_ref().map(|d| &d.startup)),
            ("dash_fetch", f.dash.as_ref().map(|d| &d.fetch)),
            ("page", f.pages.as_ref().map(|p| &p.load)),
            ("object", f.pages.as_ref().map(|p| &p.object)),
            ("end_to_end", f.pages.as_ref().map(|p| &p.end_to_end)),
            ("proxy_residence", f.proxy.as_ref().map(|p| &p.residence)),
            ("server_rtt", f.proxy.as_ref().map(|p| &p.server_rtt)),
            ("radio_rtt", f.proxy.as_ref().map(|p| &p.radio_rtt)),
            ("server_to_ue", f.proxy.as_ref().map(|p| &p.server_to_ue)),
        ];
        of_all.into_iter().chain(of_some).filter_map(|(what, d)| Some((what, f.name.as_str(), d?)))
    });
    let layers = run.layers.iter().flat_map(|l| {
        let parts =
            [("low_latency_sojourn", &l.low_latency_sojourn), ("other_sojourn", &l.other_sojourn)];
        parts.map(|(what, d)| (what, l.layer.as_str(), d))
    });
    flows.chain(layers).collect()
}
