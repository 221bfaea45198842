//! Delay and goodput over the swept setting.

use super::Figure;
use super::axis::Axis;
use super::palette::Palette;
use super::panel::{Glyph, LINE, Panel, WIDTH, count, legend_height, picture};
use justfull_lab::model::summary::{GroupSummary, Metric};
use justfull_lab::model::{Family, Group, setting_and_unit};
use justfull_lab::stats::Summary;

const HEIGHT: i32 = 420;
/// Smaller delays are drawn as this one.
const LEAST_MS: f64 = 0.1;
const DELAY: &str = "delay p99, ms";
const GOODPUT: &str = "goodput, Mbit/s";

/// A method and its values over the points of the sweep.
type Line = (String, Vec<(f64, Summary)>);

/// The quantity of a panel.
struct Quantity {
    metric: Metric,
    label: &'static str,
    axis: fn(&str, &[f64]) -> Axis,
}

/// The values of `metric` over the sweep, for each method that has the metric.
fn lines(points: &[(f64, GroupSummary)], metric: Metric) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (x, group) in points {
        for method in &group.methods {
            let Some(value) = method.get(metric) else { continue };
            match lines.iter_mut().find(|(name, _)| *name == method.method) {
                Some((_, values)) => values.push((*x, value)),
                None => lines.push((method.method.clone(), vec![(*x, value)])),
            }
        }
    }
    for (_, values) in &mut lines {
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

/// The upper percentile of the delay and the goodput over the swept setting; none without a sweep
/// of numbers.
pub(super) fn over_sweep(family: &Family<'_>, number: usize, palette: &Palette) -> Option<Figure> {
    let place = |group: &Group| group.x.as_ref().map(|(_, x)| *x).filter(|x| x.is_finite());
    let at: Vec<(f64, GroupSummary)> = family
        .groups
        .iter()
        .filter_map(|(_, group)| Some((place(group)?, GroupSummary::of(&group.runs))))
        .collect();
    if !at.windows(2).any(|pair| pair[0].0.total_cmp(&pair[1].0).is_ne()) {
        return None;
    }
    let (name, _) = family.groups[0].1.x.as_ref()?;
    let (what, unit) = setting_and_unit(name);
    let what = if what.contains('.') { what.into() } else { what.replace('_', " ") };
    let name = unit.map_or_else(|| what.clone(), |unit| format!("{what}, {unit}"));
    let is_low = at.iter().any(|(_, group)| group.subject.is_low_latency());
    let delay: fn(&str, &[f64]) -> Axis =
        |label, values| Axis::around_from(label, LEAST_MS, values);
    let goodput: fn(&str, &[f64]) -> Axis = |label, values| Axis::from_zero(label, values.to_vec());
    let quantities = [
        Quantity { metric: Metric::DelayP99, label: DELAY, axis: delay },
        Quantity { metric: Metric::Goodput, label: GOODPUT, axis: goodput },
    ];
    let panels: Vec<(&Quantity, Vec<Line>)> =
        quantities.iter().map(|of| (of, lines(&at, of.metric))).collect();
    let panels: Vec<_> = panels.into_iter().filter(|(_, lines)| !lines.is_empty()).collect();
    let mut entries: Vec<(String, Glyph)> = Vec::new();
    for (method, _) in panels.iter().flat_map(|(_, lines)| lines) {
        if !entries.iter().any(|(known, _)| known == method) {
            entries.push((method.clone(), Glyph::LineMark(palette.look(method))));
        }
    }
    if panels.is_empty() {
        return None;
    }
    let head = legend_height(&entries) + LINE / 2;
    let picture = picture(head + count(panels.len()) * HEIGHT, |sheet| {
        sheet.legend(6, &entries);
        for (i, (of, lines)) in panels.iter().enumerate() {
            let values: Vec<f64> = lines
                .iter()
                .flat_map(|(_, values)| values.iter().map(|(_, value)| *value))
                .flat_map(|value| [value.mean, value.low().max(value.mean * 0.5), value.high()])
                .collect();
            let x = Axis::around(&name, at.iter().map(|(x, _)| *x));
            let x = if i + 1 == panels.len() { x } else { x.unlabelled() };
            let corner = (0, head + count(i) * HEIGHT);
            let y = (of.axis)(of.label, &values);
            let panel = Panel::new(sheet, corner, (WIDTH, HEIGHT), "", x, y);
            for (method, values) in lines {
                let look = palette.look(method);
                let means: Vec<(f64, f64)> = values.iter().map(|(x, v)| (*x, v.mean)).collect();
                panel.line(&means, look.colour, 4);
                for (x, value) in values {
                    panel.line(&[(*x, value.low()), (*x, value.high())], look.colour, 3);
                    panel.mark(*x, value.mean, look, 11);
                }
            }
        }
    });
    let low = if is_low { "low-latency " } else { "" };
    let caption = format!(
        "Means over the seeds, with 95 % confidence intervals (Student's t) where there are three \
         or more. The delay is that of the {low}flow that waits longest, the goodput that of the \
         flows that need no low delay together."
    );
    let title = format!("Delay and goodput over {what}: {}", family.label);
    Some(Figure::new(format!("sweep-{number}"), title, caption, &picture))
}

#[cfg(test)]
mod tests {
    use super::super::panel::text_width;
    use super::*;
    use justfull_lab::model::example;

    #[test]
    fn the_name_of_an_upright_axis_is_no_longer_than_its_panel() {
        // The panel's head, and what stands below its frame.
        let frame = HEIGHT - 98;
        for label in [&format!("{DELAY} (log)"), GOODPUT] {
            assert!(text_width(label) <= frame, "{label}");
        }
    }

    #[test]
    fn a_sweep_has_a_line_for_each_method_over_its_setting_and_a_point_alone_has_no_figure() {
        let comparison = example::comparison(3);
        let family = &comparison.families()[0];
        let figure = over_sweep(family, 1, &Palette::of(&comparison)).expect("a sweep");
        for text in ["interval, ms", DELAY, GOODPUT, "Vanilla"] {
            assert!(figure.svg.contains(text), "{text}");
        }
        assert!(
            figure.caption.contains("of the low-latency flow that waits"),
            "{}",
            figure.caption
        );
        let summaries: Vec<(f64, GroupSummary)> = family
            .groups
            .iter()
            .map(|(_, group)| (group.x.as_ref().expect("swept").1, GroupSummary::of(&group.runs)))
            .collect();
        let lines = lines(&summaries, Metric::DelayP99);
        assert!(lines.iter().all(|(_, values)| values.len() == 4));
        assert!(lines[0].1.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let alone = Family { label: "a", groups: family.groups[..1].to_vec() };
        assert!(over_sweep(&alone, 1, &Palette::default()).is_none());
    }
}
