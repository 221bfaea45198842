//! Delay of packets before, during and after handovers.

use super::Figure;
use super::curves::{Chart, Curve, Range, Side, Span, Stroke, curves};
use super::palette::Palette;
use justfull_lab::model::Group;
use justfull_lab::model::summary::method_names;
use justfull_run::handovers::AroundPoint;

/// The mean delay of the packets that reach UEs in each interval around handovers, over all runs of
/// each method; none without a handover.
pub(super) fn delay_around(group: &Group, number: usize, palette: &Palette) -> Option<Figure> {
    let line = |method: &String| {
        let runs = group.runs.iter().filter(|run| run.method == *method);
        let all: Vec<&[AroundPoint]> =
            runs.filter_map(|run| run.cells.as_deref()).map(|cells| &*cells.around).collect();
        let intervals = all.first().map_or(0, |first| first.len());
        let points = (0..intervals).filter_map(|i| {
            let of_runs = || all.iter().filter_map(move |points| points.get(i));
            let packets: u64 = of_runs().map(|point| point.packets).sum();
            let sum: f64 = of_runs().map(|point| point.mean_ms * point.packets as f64).sum();
            let from = of_runs().next()?.from_ms;
            let both = [from, sum / packets as f64].map(Span::exact);
            (packets > 0).then_some(both)
        });
        Curve { name: method.clone(), method: method.clone(), points: points.collect() }
    };
    let lines: Vec<Curve> = method_names(&group.runs).iter().map(line).collect();
    if lines.iter().all(|curve| curve.points.is_empty()) {
        return None;
    }
    let chart = Chart {
        title: format!("Delay around handovers: {}", group.label),
        caption: "mean delay from the UPF to the UE of the packets that reach a UE in each \
                  interval of 20 ms, over all handovers; 0 is the UE's departure from the source",
        x: Side { label: "time after the departure, ms", range: Range::Around },
        y: Side { label: "delay, ms", range: Range::Amounts },
        stroke: Stroke::Lines,
        palette,
    };
    let figure = curves(chart, &lines);
    Some(Figure { id: format!("handover-delay-{number}"), ..figure })
}
