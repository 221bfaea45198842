//! Delay and goodput of each flow over time.

use super::Figure;
use super::axis::Axis;
use super::palette::{Palette, PaperLook};
use super::panel::{Glyph, LINE, Panel, WIDTH, count, legend_height, picture};
use justfull_lab::model::Group;
use justfull_lab::model::summary::method_names;
use justfull_run::results::{FlowSeries, RunResult, Series};
use serde_json::{Value, json};

const HEIGHT: i32 = 400;
/// Maximum number of flow names with a panel: names with `low_latency` first, then in the
/// scenario's order.
const MOST_PANELS: usize = 4;
/// Smaller delays are drawn as this one.
const LEAST_MS: f64 = 0.1;

/// A stretch of neighbouring bins that have a value: the middle of each, its value and its band.
type Stretch = Vec<(f64, f64, [f64; 2])>;

/// The first run of each method.
fn firsts(group: &Group) -> Vec<&RunResult> {
    let first = |name: &String| group.runs.iter().find(|run| run.method == *name);
    method_names(&group.runs).iter().filter_map(first).collect()
}

/// Names of the flows that have a panel, in order.
fn shown<'a>(runs: &[&'a RunResult]) -> Vec<&'a str> {
    let mut names: Vec<(bool, &str)> = Vec::new();
    for run in runs {
        for flow in &run.series.flows {
            let is_low = run.flows.iter().any(|f| f.name == flow.name && f.low_latency);
            if flow.delay_ms.iter().any(Option::is_some)
                && !names.iter().any(|(_, name)| *name == flow.name)
            {
                names.push((!is_low, &flow.name));
            }
        }
    }
    names.sort_by_key(|(others, _)| *others);
    names.into_iter().map(|(_, name)| name).take(MOST_PANELS).collect()
}

/// The bins of `series`, cut at bins without a value.
fn stretches(
    series: &Series,
    values: impl Iterator<Item = Option<(f64, [f64; 2])>>,
) -> Vec<Stretch> {
    let mut out = vec![Stretch::new()];
    for (bin, value) in values.enumerate() {
        match (value, out.last_mut()) {
            (Some((mid, band)), Some(last)) => {
                last.push(((bin as f64 + 0.5) * series.flow_bin_s, mid, band));
            }
            _ => out.push(Stretch::new()),
        }
    }
    out.retain(|stretch| !stretch.is_empty());
    out
}

fn delays(series: &Series, flow: &FlowSeries) -> Vec<Stretch> {
    let of_bin =
        |[low, mid, high]: [f64; 3]| (mid.max(LEAST_MS), [low.max(LEAST_MS), high.max(LEAST_MS)]);
    stretches(series, flow.delay_ms.iter().map(|delay| delay.map(of_bin)))
}

fn goodputs(series: &Series, flow: &FlowSeries) -> Vec<Stretch> {
    stretches(series, flow.goodput_mbit_s.iter().map(|v| Some((*v, [*v; 2]))))
}

/// Identifiers of the figures, without their numbers.
const DELAY: &str = "delay-time";
const GOODPUT: &str = "goodput-time";

/// The quantity of a figure.
struct Quantity {
    id: &'static str,
    title: &'static str,
    label: &'static str,
    caption: &'static str,
    of: fn(&Series, &FlowSeries) -> Vec<Stretch>,
    axis: fn(&str, Vec<f64>) -> Axis,
}

/// Median of the delays of each bin of time, with a band from the 10th to the 90th percentile.
pub(super) fn delay_over_time(group: &Group, number: usize, palette: &Palette) -> Option<Figure> {
    let quantity = Quantity {
        id: DELAY,
        title: "Delay over time",
        label: "delay, ms",
        caption: "line: median of the delays of the packets delivered in each bin; band: 10th to \
                  90th percentile",
        of: delays,
        axis: |label, values| Axis::around_from(label, LEAST_MS, &values),
    };
    over_time(group, number, palette, &quantity)
}

/// Goodput of each bin of time.
pub(super) fn goodput_over_time(group: &Group, number: usize, palette: &Palette) -> Option<Figure> {
    let quantity = Quantity {
        id: GOODPUT,
        title: "Goodput over time",
        label: "goodput, Mbit/s",
        caption: "new payload that came in each bin",
        of: goodputs,
        axis: |label, values| Axis::from_zero(label, values),
    };
    over_time(group, number, palette, &quantity)
}

/// Most values in one chart.
const MOST_NUMBERS: usize = 40_000;

/// The data of the figures over time, for interactive charts. A figure with more than
/// [`MOST_NUMBERS`] values has no chart.
pub(crate) fn charts(group: &Group, number: usize, palette: &Palette) -> Vec<Value> {
    let chart = |is_delay| chart(group, number, palette, is_delay);
    [true, false].into_iter().filter_map(chart).collect()
}

/// The chart of delay or of goodput.
fn chart(group: &Group, number: usize, palette: &Palette, is_delay: bool) -> Option<Value> {
    let runs = firsts(group);
    let bins = |run: &&RunResult| -> usize {
        run.series.flows.iter().map(|flow| flow.goodput_mbit_s.len()).sum()
    };
    if 3 * runs.iter().map(bins).sum::<usize>() > MOST_NUMBERS {
        return None;
    }
    let names: Vec<String> = runs.iter().map(|run| run.method.clone()).collect();
    let looks = palette.on_paper(&names);
    let panel = |name: &str| {
        let lines = runs.iter().zip(&looks);
        let lines = lines.filter_map(|(run, look)| line(run, look, name, is_delay));
        let step = runs.first().map(|run| run.series.flow_bin_s);
        json!({ "name": printable(name), "step": step, "methods": lines.collect::<Vec<_>>() })
    };
    let panels: Vec<Value> = shown(&runs).into_iter().map(panel).collect();
    let (id, unit) = if is_delay { (DELAY, "ms") } else { (GOODPUT, "Mbit/s") };
    (!panels.is_empty()).then(|| {
        json!({ "id": format!("{id}-{number}"), "log": is_delay, "unit": unit, "panels": panels })
    })
}

/// The line of a method in the panel of the flow `name`; a line of delays has a band.
fn line(run: &RunResult, look: &PaperLook, name: &str, is_delay: bool) -> Option<Value> {
    let flow = run.series.flows.iter().find(|flow| flow.name == name)?;
    let mut line =
        json!({ "name": printable(&run.method), "colour": look.colour, "dashes": look.dashes });
    if is_delay {
        for (i, key) in ["low", "mid", "high"].into_iter().enumerate() {
            let at = |bin: &Option<[f64; 3]>| bin.map(|bin| rounded(bin[i].max(LEAST_MS)));
            line[key] = flow.delay_ms.iter().map(at).collect();
        }
    } else {
        line["mid"] = flow.goodput_mbit_s.iter().map(|value| rounded(*value)).collect();
    }
    Some(line)
}

/// `name` without control characters.
fn printable(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}

/// A value rounded to three decimals.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// A panel for each flow with a line for each method.
fn over_time(group: &Group, number: usize, palette: &Palette, what: &Quantity) -> Option<Figure> {
    let runs = firsts(group);
    let flows = shown(&runs);
    let first = runs.first().filter(|_| !flows.is_empty())?;
    let entries: Vec<(String, Glyph)> = runs
        .iter()
        .map(|run| (run.method.clone(), Glyph::Line(palette.look(&run.method).colour)))
        .collect();
    let head = legend_height(&entries) + LINE / 2;
    let end = runs.iter().map(|run| run.duration_s).fold(0.0, f64::max);
    let picture = picture(head + count(flows.len()) * HEIGHT, |sheet| {
        sheet.legend(6, &entries);
        for (i, name) in flows.iter().enumerate() {
            let lines: Vec<(&str, Vec<Stretch>)> = runs
                .iter()
                .filter_map(|run| {
                    let flow = run.series.flows.iter().find(|flow| flow.name == *name)?;
                    Some((run.method.as_str(), (what.of)(&run.series, flow)))
                })
                .collect();
            let points = lines.iter().flat_map(|(_, stretches)| stretches.iter().flatten());
            let ends: Vec<f64> = points.flat_map(|(_, mid, [a, b])| [*mid, *a, *b]).collect();
            let x = Axis::linear("time, s", 0.0, end);
            let x = if i + 1 == flows.len() { x } else { x.unlabelled() };
            let y = (what.axis)(what.label, ends);
            let corner = (0, head + count(i) * HEIGHT);
            let panel = Panel::new(sheet, corner, (WIDTH, HEIGHT), name, x, y);
            for (method, stretches) in &lines {
                let colour = palette.look(method).colour;
                for stretch in stretches {
                    let band: Vec<_> = stretch.iter().map(|(t, _, ends)| (*t, *ends)).collect();
                    if band.iter().any(|(_, [low, high])| low < high) {
                        panel.band(&band, colour);
                    }
                }
            }
            for (method, stretches) in &lines {
                let colour = palette.look(method).colour;
                for stretch in stretches {
                    let mids: Vec<_> = stretch.iter().map(|(t, mid, _)| (*t, *mid)).collect();
                    panel.line(&mids, colour, 3);
                }
            }
        }
    });
    let caption = format!(
        "Seed {}, bins of {} s; {}. The first {} s are warm-up and not in the tables.",
        first.seed, first.series.flow_bin_s, what.caption, first.warmup_s
    );
    let title = format!("{}: {}", what.title, group.heading());
    Some(Figure::new(format!("{}-{number}", what.id), title, caption, &picture))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> Group {
        justfull_lab::model::example::comparison(1).groups.remove(0)
    }

    #[test]
    fn a_bin_without_packets_cuts_the_line() {
        let series = Series { flow_bin_s: 2.0, ..Series::default() };
        let value = |v: f64| Some((v, [v, v]));
        let cut = stretches(&series, [value(1.0), None, None, value(2.0), value(3.0)].into_iter());
        let times = |stretch: &Stretch| stretch.iter().map(|p| p.0).collect::<Vec<f64>>();
        assert_eq!(cut.iter().map(times).collect::<Vec<_>>(), [vec![1.0], vec![7.0, 9.0]]);
    }

    #[test]
    fn flows_with_low_latency_come_first_and_each_has_a_panel() {
        let mut group = group();
        for run in &mut group.runs {
            run.series.flows.reverse();
        }
        let runs = firsts(&group);
        assert_eq!(shown(&runs), ["voice", "bulk"]);
        let figure = delay_over_time(&group, 3, &Palette::default()).expect("series");
        assert_eq!(figure.id, "delay-time-3");
        assert!(figure.svg.contains("voice") && figure.svg.contains("bulk"));
        assert!(figure.caption.contains("bins of 1 s"), "{}", figure.caption);
    }

    #[test]
    fn a_delay_of_zero_has_a_place_on_a_logarithmic_axis() {
        let series = Series { flow_bin_s: 1.0, ..Series::default() };
        let flow = FlowSeries { delay_ms: vec![Some([0.0, 0.0, 5.0])], ..FlowSeries::default() };
        assert_eq!(delays(&series, &flow), [vec![(0.5, LEAST_MS, [LEAST_MS, 5.0])]]);
    }

    #[test]
    fn no_series_no_figure() {
        let mut group = group();
        group.runs.iter_mut().for_each(|run| run.series.flows.clear());
        assert!(delay_over_time(&group, 1, &Palette::default()).is_none());
        assert!(goodput_over_time(&group, 1, &Palette::default()).is_none());
    }
}
