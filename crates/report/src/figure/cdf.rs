//! Sojourn times of packets in each layer and in total, as cumulative distributions (A21, Figs. 7
//! to 10).

use super::Figure;
use super::axis::Axis;
use super::curves::{Chart, Curve, LEAST_SHARE, Range, Side, Span, Stroke, curves};
use super::palette::Palette;
use super::panel::{Glyph, LINE, Panel, WIDTH, cell, count, legend_height, picture};
use justfull_lab::model::Group;
use justfull_lab::model::summary::{Subject, method_names};
use justfull_lab::stats::{Pool, cdf_quantile};
use justfull_run::results::{Distribution, RunResult};

/// Most points of one line.
const MOST_POINTS: usize = 110;
/// Greatest start of a logarithmic axis, in ms; shorter times are drawn there.
const FLOOR_MS: f64 = 0.1;

/// A panel: its name and one distribution for each method.
struct Place {
    name: &'static str,
    lines: Vec<(String, Vec<(f64, f64)>)>,
}

fn pooled<'a>(parts: impl Iterator<Item = &'a Distribution>, most: usize) -> Vec<(f64, f64)> {
    let mut pool = Pool::default();
    parts.for_each(|part| pool.add(part.count, &part.cdf));
    pool.cdf(most)
}

fn places(runs: &[RunResult], subject: Subject) -> Vec<Place> {
    let methods = method_names(runs);
    let of = |name: &str| runs.iter().filter(move |run| run.method == *name).collect::<Vec<_>>();
    let in_layer = |method: &str, key: &str| {
        let layers = of(method).into_iter().flat_map(|run| &run.layers).filter(|l| l.layer == key);
        let sojourns = layers.map(|layer| match subject.is_low_latency() {
            true => &layer.low_latency_sojourn,
            false => &layer.other_sojourn,
        });
        pooled(sojourns, MOST_POINTS)
    };
    let whole = |method: &str| {
        let flows = of(method).into_iter().flat_map(|run| subject.flows(run));
        pooled(flows.map(|flow| &flow.delay), MOST_POINTS)
    };
    let panels: [(&str, Option<&str>); 4] =
        [("UPF", Some("upf")), ("SDAP", Some("sdap")), ("RLC", Some("rlc")), ("whole delay", None)];
    panels
        .into_iter()
        .map(|(name, layer)| Place {
            name,
            lines: methods
                .iter()
                .map(|m| (m.clone(), layer.map_or_else(|| whole(m), |key| in_layer(m, key))))
                .filter(|(_, cdf)| cdf.len() > 1)
                .collect(),
        })
        .filter(|place| !place.lines.is_empty())
        .collect()
}

/// Logarithmic when the methods' medians and tails are far apart; reaches down to [`FLOOR_MS`] at
/// least.
fn time_axis(place: &Place) -> Axis {
    let at = |p: f64| place.lines.iter().filter_map(move |(_, cdf)| cdf_quantile(cdf, p));
    let tail = at(0.999).fold(0.0, f64::max);
    let median = at(0.5).fold(f64::INFINITY, f64::min);
    if tail > FLOOR_MS && tail > 10.0 * median {
        let low = at(0.01).fold(f64::INFINITY, f64::min).max(FLOOR_MS).min(tail / 2.0);
        Axis::logarithmic("time, ms", low, tail * 1.1)
    } else {
        Axis::from_zero("time, ms", [tail])
    }
}

/// The share above each time of `cdf`, down to [`LEAST_SHARE`], at points that are evenly spaced on
/// a logarithmic axis.
pub(crate) fn tail(cdf: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const STEP: f64 = 0.12;
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (x, share) in cdf.iter().map(|&(x, share)| (x, 1.0 - share)) {
        let is_apart = |last: &(f64, f64)| last.1.ln() - share.ln() >= STEP;
        if share >= LEAST_SHARE && kept.last().is_none_or(is_apart) {
            kept.push((x, share));
        }
    }
    kept
}

/// The share of packets above each delay, one line for each method, on logarithmic axes.
pub(super) fn delay_tails(group: &Group, number: usize, palette: &Palette) -> Option<Figure> {
    let subject = Subject::of(&group.runs);
    let tail_of = |method: &String| {
        let runs = group.runs.iter().filter(|run| run.method == *method);
        let flows = runs.flat_map(|run| subject.flows(run)).map(|flow| &flow.delay);
        tail(&pooled(flows, usize::MAX))
    };
    let curve = |method: String| {
        let points = tail_of(&method).into_iter().map(|(x, y)| [Span::exact(x), Span::exact(y)]);
        Curve { points: points.collect(), name: method.clone(), method }
    };
    let mut lines: Vec<Curve> = method_names(&group.runs).into_iter().map(curve).collect();
    lines.retain(|line| line.points.len() > 1);
    if lines.is_empty() {
        return None;
    }
    let whose = if subject.is_low_latency() { "low-latency packets" } else { "packets" };
    let caption = format!(
        "Share of {whose} that took longer than the time over the whole chain, all flows and seeds \
         pooled by packets. Times below {FLOOR_MS} ms are drawn there."
    );
    let chart = Chart {
        title: format!("Tail of the delay: {}", group.heading()),
        caption: &caption,
        x: Side { label: "delay, ms", range: Range::Times },
        y: Side { label: "share above", range: Range::Tail },
        stroke: Stroke::Lines,
        palette,
    };
    let figure = curves(chart, &lines);
    Some(Figure { id: format!("tail-{number}"), ..figure })
}

/// One panel for each layer and one for the whole delay, one line for each method.
pub(super) fn sojourn_cdfs(group: &Group, number: usize, palette: &Palette) -> Option<Figure> {
    const HEIGHT: i32 = 440;
    let subject = Subject::of(&group.runs);
    let places = places(&group.runs, subject);
    if places.is_empty() {
        return None;
    }
    let entries: Vec<(String, Glyph)> = method_names(&group.runs)
        .into_iter()
        .map(|m| {
            let look = palette.look(&m);
            (m, Glyph::LineMark(look))
        })
        .collect();
    let head = legend_height(&entries) + LINE / 2;
    let rows = count(places.len().div_ceil(2));
    let mut logarithmic = false;
    let picture = picture(head + rows * HEIGHT, |sheet| {
        sheet.legend(6, &entries);
        for (i, place) in places.iter().enumerate() {
            let (column, row) = cell(i);
            let x = time_axis(place);
            logarithmic |= x.is_logarithmic();
            let y = Axis::linear("share of packets", 0.0, 1.0);
            let y = if column == 0 { y } else { y.unlabelled() };
            let corner = (column * WIDTH / 2, head + row * HEIGHT);
            let panel = Panel::new(sheet, corner, (WIDTH / 2, HEIGHT), place.name, x, y);
            for (method, cdf) in &place.lines {
                panel.line(cdf, palette.look(method).colour, 4);
            }
            for (method, cdf) in &place.lines {
                for share in [0.25, 0.5, 0.75, 0.95] {
                    if let Some(time) = cdf_quantile(cdf, share) {
                        panel.mark(time, share, palette.look(method), 9);
                    }
                }
            }
        }
    });
    let whose = if subject.is_low_latency() { "low-latency packets" } else { "packets" };
    let mut caption = format!(
        "Share of {whose} that left within the time, by layer and over the whole chain, all flows \
         and seeds pooled by packets. Marks stand at 25, 50, 75 and 95 %."
    );
    if logarithmic {
        caption.push_str(&format!(
            " Where the time axis is logarithmic, shorter times than its start ({FLOOR_MS} ms or \
             more) are drawn there."
        ));
    }
    let title = format!("Sojourn time by layer: {}", group.heading());
    Some(Figure::new(format!("sojourn-{number}"), title, caption, &picture))
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::example;

    #[test]
    fn there_is_a_panel_for_each_layer_and_one_for_the_whole_chain() {
        let comparison = example::comparison(2);
        let figure =
            sojourn_cdfs(&comparison.groups[0], 3, &Palette::of(&comparison)).expect("layers");
        for name in ["UPF", "SDAP", "RLC", "whole delay"] {
            assert!(figure.svg.contains(name), "{name}");
        }
        assert!(figure.caption.starts_with("Share of low-latency packets"));
    }

    #[test]
    fn a_tail_falls_to_a_share_of_one_in_ten_thousand() {
        let cdf: Vec<(f64, f64)> =
            (0..100_000).map(|i| (f64::from(i), f64::from(i) / 1e5)).collect();
        let tail = tail(&cdf);
        assert!((60..100).contains(&tail.len()), "{}", tail.len());
        assert!(tail.windows(2).all(|pair| pair[0].1 > pair[1].1));
        let (x, least) = tail[tail.len() - 1];
        assert!((LEAST_SHARE..1.2 * LEAST_SHARE).contains(&least), "{least}");
        assert!((x / 1e5 - (1.0 - least)).abs() < 1e-9);
        let comparison = example::comparison(2);
        let figure =
            delay_tails(&comparison.groups[0], 3, &Palette::of(&comparison)).expect("flows");
        assert!(figure.id == "tail-3" && figure.svg.contains("share above"));
        assert!(!figure.svg.contains("NaN"));
    }

    #[test]
    fn without_low_latency_flows_the_panels_show_all_packets() {
        let mut comparison = example::comparison(1);
        comparison.groups[0].runs.iter_mut().for_each(|run| run.flows.retain(|f| !f.low_latency));
        let all = places(&comparison.groups[0].runs, Subject::All);
        let rlc = all.iter().find(|p| p.name == "RLC").expect("layer");
        let other = &comparison.groups[0].runs[0].layers[2].other_sojourn;
        assert_eq!(rlc.lines[0].1.last().map(|p| p.0), Some(other.max_ms));
    }
}
