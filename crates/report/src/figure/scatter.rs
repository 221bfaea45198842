//! Mean delay against utilisation, and against the queue that packets found on arrival: one point
//! for each method and point of the sweep (T20, Figs. 5, 7, 8, 10, 11).

use super::axis::Axis;
use super::palette::Palette;
use super::panel::{BOUND, Glyph, LINE, Panel, WIDTH, count, legend_height, picture};
use super::{Figure, counted};
use justfull_lab::model::summary::{GroupSummary, Metric, Subject};
use justfull_lab::model::{Family, Group};
use justfull_lab::stats::{LEAST_FOR_INTERVAL, Summary};

/// One method at one point of the sweep.
struct Point {
    method: String,
    /// Index of the point of the sweep.
    step: usize,
    x: Summary,
    y: Summary,
}

fn points(groups: &[GroupSummary], x: Metric) -> Vec<Point> {
    let of_group = |(step, group): (usize, &GroupSummary)| -> Vec<Point> {
        let point = |m: &justfull_lab::model::summary::MethodSummary| {
            Some(Point {
                method: m.method.clone(),
                step,
                x: m.get(x)?,
                y: m.get(Metric::DelayMean)?,
            })
        };
        group.methods.iter().filter_map(point).collect()
    };
    groups.iter().enumerate().flat_map(of_group).collect()
}

/// Radius of a mark; it grows along the sweep.
fn radius(step: usize, steps: usize) -> i32 {
    if steps < 2 { 13 } else { 9 + count(8 * step / (steps - 1)) }
}

/// Start of a logarithmic axis of packets; shorter queues are drawn there.
const FLOOR_PACKETS: f64 = 0.1;

/// Maximum possible value of `metric`; intervals are not drawn beyond it.
fn most(metric: Metric) -> f64 {
    if metric == Metric::Utilisation { 1.0 } else { f64::INFINITY }
}

/// The numbers that an axis must contain for `values`: the means, the upper ends of their intervals
/// up to `most`, and the lower ends down to half the mean, so that one wide interval does not
/// squeeze the rest.
fn ends(values: impl Iterator<Item = Summary>, most: f64) -> Vec<f64> {
    values.flat_map(|s| [s.mean, s.low().max(s.mean * 0.5), s.high().min(most)]).collect()
}

struct Kind<'a> {
    id: String,
    title: String,
    x: Metric,
    x_label: &'a str,
    says: &'a str,
}

fn scatter(family: &Family<'_>, palette: &Palette, kind: Kind<'_>) -> Option<Figure> {
    let groups: Vec<GroupSummary> =
        family.groups.iter().map(|(_, g)| GroupSummary::of(&g.runs)).collect();
    let points = points(&groups, kind.x);
    if points.is_empty() {
        return None;
    }
    let bounds: Vec<f64> = groups.iter().filter_map(|g| g.bound.map(|b| b.mean)).collect();
    let mut entries: Vec<(String, Glyph)> = Vec::new();
    for point in &points {
        if !entries.iter().any(|(name, _)| *name == point.method) {
            entries.push((point.method.clone(), Glyph::Mark(palette.look(&point.method))));
        }
    }
    let bound = justfull_lab::stats::mean(&bounds);
    entries.extend(bound.map(|b| (format!("bound, {b:.1} ms"), Glyph::Dashes(BOUND))));
    let x_values = ends(points.iter().map(|p| p.x), most(kind.x));
    let x = match kind.x {
        Metric::Utilisation => Axis::around(kind.x_label, x_values).with_ticks_to(1.0),
        _ => Axis::around_from(kind.x_label, FLOOR_PACKETS, &x_values),
    };
    let delays =
        ends(points.iter().map(|p| p.y), f64::INFINITY).into_iter().chain(bounds.iter().copied());
    let y = Axis::around(delay_label(&groups), delays);
    let logarithmic = y.is_logarithmic();
    let head = legend_height(&entries) + LINE / 2;
    const HEIGHT: i32 = 700;
    let floor = if x.is_logarithmic() { FLOOR_PACKETS } else { f64::NEG_INFINITY };
    let shown = |value: f64| value.clamp(floor, most(kind.x));
    let picture = picture(head + HEIGHT, |sheet| {
        sheet.legend(6, &entries);
        let panel = Panel::new(sheet, (0, head), (WIDTH, HEIGHT), "", x, y);
        if let Some(bound) = bound {
            panel.level(bound);
        }
        for p in &points {
            let colour = palette.look(&p.method).colour;
            panel.line(&[(shown(p.x.low()), p.y.mean), (shown(p.x.high()), p.y.mean)], colour, 3);
            panel.line(&[(shown(p.x.mean), p.y.low()), (shown(p.x.mean), p.y.high())], colour, 3);
        }
        // Larger marks first, so that they do not hide the smaller ones.
        for p in points.iter().rev() {
            panel.mark(
                shown(p.x.mean),
                p.y.mean,
                palette.look(&p.method),
                radius(p.step, groups.len()),
            );
        }
    });
    let caption =
        format!("{} {}", kind.says, reading(family, &points, bound.is_some(), logarithmic));
    Some(Figure::new(kind.id, kind.title, caption, &picture))
}

fn delay_label(groups: &[GroupSummary]) -> &'static str {
    if groups.iter().any(|g| g.subject.is_low_latency()) {
        "mean low-latency delay, ms"
    } else {
        "mean delay, ms"
    }
}

/// How to read the points, for the caption.
fn reading(family: &Family<'_>, points: &[Point], bound: bool, logarithmic: bool) -> String {
    let mut text = seeds_behind(points);
    if family.groups.len() > 1 {
        let steps: Vec<String> = family.groups.iter().map(|(_, g)| g.x_text()).collect();
        text.push_str(&format!(" From the smallest to the largest mark: {}.", steps.join(", ")));
    }
    let pooled = |(_, group): &&(usize, &Group)| {
        let subject = Subject::of(&group.runs);
        group.runs.iter().any(|run| subject.flows(run).count() > 1)
    };
    if let Some((_, group)) = family.groups.iter().find(pooled) {
        let which = if Subject::of(&group.runs).is_low_latency() {
            "all low-latency flows"
        } else {
            "all flows"
        };
        text.push_str(&format!(" The delay is the mean over the packets of {which}."));
    }
    if bound {
        text.push_str(" No policy can go below the dashed bound.");
    }
    if logarithmic {
        text.push_str(" The delay axis is logarithmic.");
    }
    text
}

/// The runs behind a point, and the meaning of its bars.
fn seeds_behind(points: &[Point]) -> String {
    let counts = || points.iter().flat_map(|p| [p.x.n, p.y.n]);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let seeds =
        if least == most { counted(most, "seed") } else { format!("{least} to {most} seeds") };
    let bars = match (least < LEAST_FOR_INTERVAL, most < LEAST_FOR_INTERVAL) {
        (_, true) => "; fewer than three have no interval.",
        (true, false) => {
            ", with its 95 % confidence intervals (Student's t); of fewer than three there are \
             none."
        }
        (false, false) => ", with its 95 % confidence intervals (Student's t).",
    };
    format!("Each point is the mean over n = {seeds}{bars}")
}

/// Mean delay against utilisation, the two goals of a trade-off.
pub(super) fn delay_against_utilisation(
    family: &Family<'_>,
    number: usize,
    palette: &Palette,
) -> Option<Figure> {
    let kind = Kind {
        id: format!("delay-utilisation-{number}"),
        title: format!("Delay against utilisation: {}", family.label),
        x: Metric::Utilisation,
        x_label: "utilisation",
        says: "Lower is faster, further right wastes less of the radio.",
    };
    scatter(family, palette, kind)
}

/// Mean delay against the mean RLC queue that the packets found.
pub(super) fn delay_against_backlog(
    family: &Family<'_>,
    number: usize,
    palette: &Palette,
) -> Option<Figure> {
    let kind = Kind {
        id: format!("delay-backlog-{number}"),
        title: format!("Delay against the RLC queue: {}", family.label),
        x: Metric::RlcAtEntry,
        x_label: "mean RLC queue at entry, packets",
        says: "How much a packet finds in the RLC. A packet waits for all of it where packets leave \
               in the order in which they came, and for less where flows have lanes of their own. \
               Where the axis is logarithmic, queues below 0.1 packets are drawn at 0.1.",
    };
    scatter(family, palette, kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::example;

    #[test]
    fn marks_grow_along_the_sweep_and_the_caption_says_so() {
        assert!(radius(0, 4) < radius(1, 4) && radius(2, 4) < radius(3, 4));
        let comparison = example::comparison(3);
        let families = comparison.families();
        let figure =
            delay_against_utilisation(&families[0], 1, &Palette::of(&comparison)).expect("points");
        assert!(figure.caption.contains("interval 20 ms, interval 40 ms"), "{}", figure.caption);
        assert!(
            figure.caption.contains("mean over n = 3 seeds, with its 95 % confidence"),
            "{}",
            figure.caption
        );
        assert!(figure.svg.contains("bound, 6."));
    }

    /// With two seeds, Student's interval is twelve standard errors wide.
    #[test]
    fn fewer_than_three_seeds_are_drawn_without_bars_and_said_to_have_none() {
        for (seeds, words) in [(1, "n = 1 seed; fewer"), (2, "n = 2 seeds; fewer")] {
            let comparison = example::comparison(seeds);
            let families = comparison.families();
            let figure =
                delay_against_backlog(&families[0], 1, &Palette::of(&comparison)).expect("points");
            assert!(figure.caption.contains(words), "{}", figure.caption);
        }
    }

    #[test]
    fn points_with_unequal_numbers_of_seeds_say_so() {
        let mut comparison = example::comparison(4);
        for flow in &mut comparison.groups[0].runs[0].flows {
            flow.delay.count = 0;
        }
        let families = comparison.families();
        let figure =
            delay_against_backlog(&families[0], 1, &Palette::of(&comparison)).expect("points");
        assert!(figure.caption.contains("n = 3 to 4 seeds, with"), "{}", figure.caption);
    }
}
