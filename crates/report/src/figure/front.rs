//! The Pareto front of a recommendation: goodput of the other flows against the 99th percentile of
//! the low-latency flows' delay, a mark for each method.

use super::Figure;
use super::axis::Axis;
use super::palette::Palette;
use super::panel::{BOUND, Glyph, LINE, Panel, WIDTH, legend_height, picture};
use justfull_lab::recommend::{Choice, recommended};

/// A method with both numbers.
struct Point<'a> {
    choice: &'a Choice,
    goodput: f64,
    delay: f64,
}

impl<'a> Point<'a> {
    fn of(choice: &'a Choice) -> Option<Self> {
        let goodput = choice.goodput_mbit_s?.mean;
        Some(Self { choice, goodput, delay: choice.delay_ms_p99?.mean })
    }
}

/// The figure of `choices`; none if no method has both numbers.
#[must_use]
pub fn front(choices: &[Choice]) -> Option<Figure> {
    const HEIGHT: i32 = 700;
    let points: Vec<Point<'_>> = choices.iter().filter_map(Point::of).collect();
    if points.is_empty() {
        return None;
    }
    let palette = Palette::of_methods(points.iter().map(|p| p.choice.method.clone()));
    let look = |p: &Point<'_>| palette.look(&p.choice.method);
    let mut entries: Vec<(String, Glyph)> =
        points.iter().map(|p| (p.choice.method.clone(), Glyph::Mark(look(p)))).collect();
    entries.push(("Pareto front".into(), Glyph::Dashes(BOUND)));
    let head = legend_height(&entries) + LINE / 2;
    let x = Axis::around("goodput of the other flows, Mbit/s", points.iter().map(|p| p.goodput));
    let y = Axis::around("low-latency delay, p99, ms", points.iter().map(|p| p.delay));
    let best = best(&points);
    let picture = picture(head + HEIGHT, |sheet| {
        sheet.legend(6, &entries);
        let panel = Panel::new(sheet, (0, head), (WIDTH, HEIGHT), "", x, y);
        for two in best.windows(2) {
            let [from, to] = [&two[0], &two[1]].map(|p| panel.at(p.goodput, p.delay));
            sheet.dashes(from, to, BOUND);
        }
        for p in &points {
            let radius = if p.choice.recommended { 20 } else { 12 };
            panel.mark(p.goodput, p.delay, look(p), radius);
        }
    });
    let taken = recommended(choices).map_or_else(String::new, |choice| {
        format!(" The largest mark is the recommended method, {}.", choice.method)
    });
    let caption = format!(
        "Lower is faster, further right carries more. No method is below and right of the dashed \
         line.{taken} Losses, round trips and page loads, which also decide, are in the table."
    );
    Some(Figure::new("front".into(), "Delay against goodput".into(), caption, &picture))
}

/// The methods on the front, by goodput: no other method has more goodput at no more delay.
/// Yardsticks and methods that lose too much are left out.
fn best<'a, 'b>(points: &'b [Point<'a>]) -> Vec<&'b Point<'a>> {
    let counts = |p: &&Point<'_>| !p.choice.yardstick && !p.choice.loses_too_much;
    let mut sorted: Vec<&Point<'_>> = points.iter().filter(counts).collect();
    sorted.sort_by(|a, b| b.goodput.total_cmp(&a.goodput).then(a.delay.total_cmp(&b.delay)));
    let mut least = f64::INFINITY;
    sorted.retain(|p| {
        let is_less = p.delay < least;
        least = least.min(p.delay);
        is_less
    });
    sorted.reverse();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::example;
    use justfull_lab::recommend;

    #[test]
    fn the_front_leaves_out_methods_with_less_goodput_and_no_less_delay() {
        let runs = example::comparison(3).groups.remove(0).runs;
        let mut some = recommend::choices(&runs)[0].clone();
        (some.yardstick, some.loses_too_much) = (false, false);
        let numbers = [(10.0, 100.0), (9.0, 20.0), (8.0, 30.0), (7.0, 5.0), (9.0, 21.0)];
        let point = |(goodput, delay)| Point { choice: &some, goodput, delay };
        let points = numbers.map(point);
        let found: Vec<(f64, f64)> = best(&points).iter().map(|p| (p.goodput, p.delay)).collect();
        assert_eq!(found, [(7.0, 5.0), (9.0, 20.0), (10.0, 100.0)]);
    }

    #[test]
    fn the_caption_names_the_recommended_method_and_every_method_has_a_mark() {
        let runs = example::comparison(3).groups.remove(0).runs;
        let choices = recommend::choices(&runs);
        let figure = front(&choices).expect("a figure");
        let taken = recommended(&choices).expect("one");
        assert!(figure.caption.contains(&taken.method), "{}", figure.caption);
        assert!(choices.iter().all(|choice| figure.svg.contains(&choice.method)));
        assert!(front(&[]).is_none());
    }
}
