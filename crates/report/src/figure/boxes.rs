//! Box plots of the delay, one for each method (T20, Fig. 9).

use super::Figure;
use super::axis::Axis;
use super::palette::{Look, Palette, Shape};
use super::panel::{BOUND, Panel, WIDTH, count, picture, text_width};
use crate::table::BOUND as BOUND_NAME;
use justfull_lab::model::Group;
use justfull_lab::model::summary::{Subject, bound_method, method_names};
use justfull_lab::stats::mean;
use justfull_run::results::Distribution;

/// Quartiles, whiskers and mean of a distribution, in ms.
struct Summary5 {
    name: String,
    min: f64,
    p25: f64,
    p50: f64,
    p75: f64,
    p99: f64,
    mean: f64,
}

/// The mean over `parts` of each number.
fn box_of(name: &str, parts: &[&Distribution]) -> Option<Summary5> {
    let parts: Vec<_> = parts.iter().filter(|d| d.count > 0).collect();
    let over =
        |value: fn(&Distribution) -> f64| mean(&parts.iter().map(|d| value(d)).collect::<Vec<_>>());
    Some(Summary5 {
        name: name.into(),
        min: over(|d| d.min_ms)?,
        p25: over(|d| d.p25_ms)?,
        p50: over(|d| d.p50_ms)?,
        p75: over(|d| d.p75_ms)?,
        p99: over(|d| d.p99_ms)?,
        mean: over(|d| d.mean_ms)?,
    })
}

fn boxes(group: &Group) -> Vec<Summary5> {
    let names = method_names(&group.runs);
    let subject = Subject::of(&group.runs);
    let of = |name: &str, pick: fn(&justfull_run::results::FlowResult) -> &Distribution| {
        let own = group.runs.iter().filter(|run| run.method == *name);
        own.flat_map(|run| subject.flows(run)).map(pick).collect::<Vec<_>>()
    };
    let mut all: Vec<Summary5> =
        names.iter().filter_map(|name| box_of(name, &of(name, |f| &f.delay))).collect();
    all.extend(
        bound_method(&group.runs).and_then(|name| box_of(BOUND_NAME, &of(&name, |f| &f.bound))),
    );
    all
}

/// One box for each method, and one for the bound.
pub(super) fn delay_boxes(group: &Group, number: usize, palette: &Palette) -> Option<Figure> {
    const ROW: i32 = 62;
    /// Space that a panel leaves for the labels of its vertical axis; this panel has none.
    const AXIS: i32 = 112;
    let boxes = boxes(group);
    if boxes.is_empty() {
        return None;
    }
    let low_latency = Subject::of(&group.runs).is_low_latency();
    let label = if low_latency { "low-latency delay, ms" } else { "delay, ms" };
    let span: Vec<f64> = boxes.iter().flat_map(|b| [b.p25, b.p99]).collect();
    let least = boxes.iter().map(|b| b.min).fold(f64::INFINITY, f64::min);
    let spread = Axis::around(label, span.iter().copied());
    let axis = if spread.is_logarithmic() {
        let most = span.iter().copied().fold(0.0, f64::max);
        Axis::logarithmic(label, least.max(0.1).min(most / 10.0) / 1.1, most * 1.1)
    } else {
        Axis::from_zero(label, span.iter().copied())
    };
    let logarithmic = axis.is_logarithmic();
    let rows = count(boxes.len());
    let names =
        boxes.iter().map(|b| text_width(&b.name)).max().unwrap_or(0).clamp(AXIS, WIDTH / 2) + 20;
    let height = rows * ROW + 110;
    let picture = picture(height, |sheet| {
        let y = Axis::linear("", 0.0, f64::from(rows)).with_ticks_to(f64::NEG_INFINITY);
        let corner = (names - AXIS, 0);
        let panel = Panel::new(sheet, corner, (WIDTH - corner.0, height), "", axis, y);
        if let Some(bound) = boxes.iter().find(|b| b.name == BOUND_NAME) {
            panel.upright(bound.mean);
        }
        for (i, b) in boxes.iter().enumerate() {
            let y = f64::from(rows) - i as f64 - 0.5;
            let is_bound = b.name == BOUND_NAME;
            let look =
                if is_bound { Look::new(BOUND, Shape::Circle) } else { palette.look(&b.name) };
            panel.boxed(b.min, [b.p25, b.p50, b.p75], b.p99, y, look.colour);
            panel.mark(b.mean, y, look, 9);
            sheet.text_to((names - 12, panel.at(0.0, y).1), &b.name);
        }
    });
    let mut caption = String::from(
        "Boxes span the quartiles with the median as a thick line, whiskers reach from the least \
         delay to the 99th percentile, the mark is the mean; each is the mean over flows and \
         seeds. The dashed line is the mean of the bound.",
    );
    if logarithmic {
        caption.push_str(" The axis is logarithmic.");
    }
    let title = format!("Spread of the delay: {}", group.heading());
    Some(Figure::new(format!("boxes-{number}"), title, caption, &picture))
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::example;

    #[test]
    fn each_method_and_the_bound_have_a_box_of_rising_numbers() {
        let comparison = example::comparison(2);
        let boxes = boxes(&comparison.groups[0]);
        assert_eq!(boxes.len(), 9);
        assert_eq!(boxes.last().map(|b| b.name.as_str()), Some("bound"));
        for b in &boxes {
            assert!(
                b.min <= b.p25 && b.p25 <= b.p50 && b.p50 <= b.p75 && b.p75 <= b.p99,
                "{}",
                b.name
            );
        }
    }

    #[test]
    fn the_caption_says_what_the_whiskers_are() {
        let comparison = example::comparison(1);
        let figure =
            delay_boxes(&comparison.groups[0], 1, &Palette::of(&comparison)).expect("flows");
        assert!(figure.caption.contains("99th percentile"));
        assert!(figure.svg.contains("bound"));
    }
}
