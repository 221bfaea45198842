//! Packets that wait in each layer over time, stacked.

use super::Figure;
use super::axis::Axis;
use super::palette::Palette;
use super::panel::{Glyph, LINE, Panel, WIDTH, cell, count, legend_height, picture};
use justfull_lab::model::Group;
use justfull_lab::model::summary::method_names;
use justfull_run::results::RunResult;
use plotters::style::RGBColor;

/// Most points of one line.
const MOST_POINTS: usize = 60;

/// Names of the layers from the top of the stack, each with its share of a method's colour.
const LAYERS: [(&str, f64); 3] = [("UPF", 0.2), ("SDAP", 0.5), ("RLC", 1.0)];

/// The backlog of one run: the upper edge of the area of each of [`LAYERS`], which is the sum of
/// this layer and those below it.
struct Stack {
    method: String,
    /// Length in seconds.
    end: f64,
    edges: [Vec<(f64, f64)>; 3],
}

fn stack(run: &RunResult) -> Option<Stack> {
    let series = &run.series;
    let layers = [&series.upf_packets, &series.sdap_packets, &series.rlc_packets];
    let bins = layers.iter().map(|values| values.len()).min().unwrap_or(0);
    // A run that ended early has bins without data.
    let end = (bins as f64 * series.bin_s).min(run.duration_s);
    let known: Vec<usize> =
        (0..bins).filter(|&i| layers.iter().all(|values| values[i].is_finite())).collect();
    let stretch = known.len().div_ceil(MOST_POINTS).max(1);
    let mut edges: [Vec<(f64, f64)>; 3] = Default::default();
    for part in known.chunks(stretch) {
        let mean = |of: &dyn Fn(usize) -> f64| {
            part.iter().map(|&i| of(i)).sum::<f64>() / part.len() as f64
        };
        let at = mean(&|i| (i as f64 + 0.5) * series.bin_s);
        if at > end {
            break;
        }
        let mut below = 0.0;
        for (values, edge) in layers.iter().zip(&mut edges).rev() {
            below += mean(&|i| values[i]);
            edge.push((at, below));
        }
    }
    (edges[0].len() > 1).then(|| Stack { method: run.method.clone(), end, edges })
}

/// `colour` mixed with white, so that areas hide what is below them.
fn shade(colour: RGBColor, share: f64) -> RGBColor {
    let mix = |part: u8| (f64::from(part) * share + 255.0 * (1.0 - share)).round() as u8;
    RGBColor(mix(colour.0), mix(colour.1), mix(colour.2))
}

/// One panel for each method: the backlog of the first run's UPF, SDAP and RLC.
pub(super) fn backlog_by_layer(group: &Group, number: usize, palette: &Palette) -> Option<Figure> {
    const HEIGHT: i32 = 330;
    let first_of = |name: &String| group.runs.iter().find(|run| run.method == *name);
    let firsts: Vec<&RunResult> = method_names(&group.runs).iter().filter_map(first_of).collect();
    let stacks: Vec<Stack> = firsts.iter().filter_map(|run| stack(run)).collect();
    let first = firsts.first().filter(|_| !stacks.is_empty())?;
    let grey = RGBColor(0x60, 0x60, 0x60);
    let entries: Vec<(String, Glyph)> = LAYERS
        .iter()
        .map(|(name, share)| ((*name).to_owned(), Glyph::Block(shade(grey, *share))))
        .collect();
    let head = legend_height(&entries) + LINE / 2;
    let rows = count(stacks.len().div_ceil(2));
    let end = stacks.iter().map(|stack| stack.end).fold(0.0, f64::max);
    let picture = picture(head + rows * HEIGHT, |sheet| {
        sheet.legend(6, &entries);
        for (i, stack) in stacks.iter().enumerate() {
            let (column, row) = cell(i);
            let x = Axis::linear("time, s", 0.0, end);
            let y = Axis::from_zero("packets", stack.edges[0].iter().map(|point| point.1));
            let x = if i + 2 >= stacks.len() { x } else { x.unlabelled() };
            let y = if column == 0 { y } else { y.unlabelled() };
            let corner = (column * WIDTH / 2, head + row * HEIGHT);
            let panel = Panel::new(sheet, corner, (WIDTH / 2, HEIGHT), &stack.method, x, y);
            let colour = palette.look(&stack.method).colour;
            for ((_, share), edge) in LAYERS.iter().zip(&stack.edges) {
                panel.block(edge, shade(colour, *share));
            }
        }
    });
    let caption = format!(
        "Seed {}: packets that wait in each layer before a pull, one upon the other, so that the \
         upper edge is all that waits. Means over bins of {} s; of longer runs each stretch shows \
         the mean of its bins. Each panel has its own scale.",
        first.seed, first.series.bin_s
    );
    let title = format!("Backlog by layer over time: {}", group.heading());
    Some(Figure::new(format!("layers-{number}"), title, caption, &picture))
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::example;

    #[test]
    fn layers_stand_upon_each_other_and_their_upper_edge_is_all_that_waits() {
        let comparison = example::comparison(1);
        let run = &comparison.groups[0].runs[0];
        let stack = stack(run).expect("a series");
        let [all, lower, rlc] = &stack.edges;
        assert!(all.len() <= MOST_POINTS && all.len() == rlc.len());
        assert!(all.iter().zip(lower).zip(rlc).all(|((a, b), c)| a.1 >= b.1 && b.1 >= c.1));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let series = &run.series;
        let parts = [&series.upf_packets, &series.sdap_packets, &series.rlc_packets];
        let expected: f64 = parts.into_iter().map(|values| mean(values)).sum();
        let drawn = mean(&all.iter().map(|point| point.1).collect::<Vec<f64>>());
        assert!((drawn - expected).abs() < 0.05 * expected, "{drawn} {expected}");
        let figure =
            backlog_by_layer(&comparison.groups[0], 1, &Palette::default()).expect("a series");
        for name in ["UPF", "SDAP", "RLC"] {
            assert!(figure.svg.contains(name), "{name}");
        }
    }

    #[test]
    fn bins_about_which_nothing_is_known_are_left_out() {
        let mut run = example::comparison(1).groups.remove(0).runs.remove(0);
        run.series.sdap_packets[0] = f64::NAN;
        let stack = stack(&run).expect("the others");
        assert!(stack.edges[0].iter().all(|point| point.1.is_finite()));
        run.series.sdap_packets.clear();
        assert!(super::stack(&run).is_none());
    }
}
