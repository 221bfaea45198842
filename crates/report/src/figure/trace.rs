//! The rate of traces over time, and its distribution.

use super::Figure;
use super::axis::Axis;
use super::palette::Palette;
use super::panel::{Glyph, LINE, Panel, WIDTH, legend_height, picture};
use justfull_base::{ConfigError, Duration};
use justfull_trace::Timeline;

/// Most points of a line: more than the columns of the page.
const MOST_POINTS: u64 = 1000;
/// Most traces of a figure, each with a colour of its own.
const MOST_TRACES: usize = 8;

/// Rate over time and its cumulative distribution, one line for each of `traces`, in bins of `bin`,
/// or longer ones if a line would have more than a thousand points.
///
/// # Errors
/// If there is no trace, there are more than eight, or `bin` is zero or above 1 h.
pub fn rates(traces: &[(String, Timeline)], bin: Duration) -> Result<Figure, ConfigError> {
    const HEIGHTS: (i32, i32) = (460, 440);
    let source = "each line has its own colour";
    let count = traces.len();
    justfull_base::error::ensure(
        (1..=MOST_TRACES).contains(&count),
        "number of traces",
        &count,
        "1 to 8",
        source,
    )?;
    let longest = traces.iter().map(|(_, trace)| trace.duration().as_nanos()).max().unwrap_or(1);
    let coarse = Duration::from_nanos(bin.as_nanos().max(longest.div_ceil(MOST_POINTS)));
    let names: Vec<String> = traces.iter().map(|(name, _)| name.clone()).collect();
    let palette = Palette::of_names(names.clone());
    let over_time: Result<Vec<_>, _> =
        traces.iter().map(|(_, trace)| trace.rates_mbit_s(coarse)).collect();
    let fine: Result<Vec<_>, _> = traces.iter().map(|(_, trace)| trace.rates_mbit_s(bin)).collect();
    let (over_time, fine) = (over_time?, fine?);
    let entries: Vec<(String, Glyph)> =
        names.iter().map(|name| (name.clone(), Glyph::Line(palette.look(name).colour))).collect();
    let head = legend_height(&entries) + LINE / 2;
    let axis = || Axis::from_zero("rate, Mbit/s", fine.iter().chain(&over_time).flatten().copied());
    let picture = picture(head + HEIGHTS.0 + HEIGHTS.1, |sheet| {
        sheet.legend(6, &entries);
        let end = longest as f64 / 1e9;
        let time = Axis::linear("time, s", 0.0, end);
        let title = format!("rate over time, in bins of {} ms", coarse.as_millis_f64());
        let panel = Panel::new(sheet, (0, head), (WIDTH, HEIGHTS.0), &title, time, axis());
        for (name, rates) in names.iter().zip(&over_time) {
            panel.line(&stairs(rates, coarse), palette.look(name).colour, 3);
        }
        let share = Axis::linear("share of bins", 0.0, 1.0);
        let title = format!("distribution, in bins of {} ms", bin.as_millis_f64());
        let panel =
            Panel::new(sheet, (0, head + HEIGHTS.0), (WIDTH, HEIGHTS.1), &title, axis(), share);
        for (name, rates) in names.iter().zip(&fine) {
            panel.line(&distribution(rates), palette.look(name).colour, 4);
        }
    });
    let title = format!("Capacity of {}", names.join(", "));
    let caption = "What the link could carry over time, and the share of bins in which it was at \
                   most so much.";
    Ok(Figure::new("trace".into(), title, caption.into(), &picture))
}

/// A horizontal step for each bin.
fn stairs(rates: &[f64], bin: Duration) -> Vec<(f64, f64)> {
    let width = bin.as_secs_f64();
    rates
        .iter()
        .enumerate()
        .flat_map(|(i, &r)| [(i as f64 * width, r), ((i + 1) as f64 * width, r)])
        .collect()
}

/// Value and share of bins at or below it, at a bounded number of ranks.
fn distribution(rates: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let step = n.div_ceil(MOST_POINTS as usize).max(1);
    let mut points = vec![(sorted.first().copied().unwrap_or(0.0), 0.0)];
    points.extend(
        (0..n)
            .filter(|i| (i + 1) % step == 0 || i + 1 == n)
            .map(|i| (sorted[i], (i + 1) as f64 / n as f64)),
    );
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(bytes: Vec<u32>) -> Timeline {
        Timeline::new(Duration::from_millis(1), bytes, None).expect("a timeline")
    }

    #[test]
    fn a_figure_names_every_trace_and_stays_small() {
        let long = timeline((0..100_000).map(|k| k % 3000).collect());
        let traces = [("walk <1>".to_string(), long), ("ride".into(), timeline(vec![1500; 50]))];
        let figure = rates(&traces, Duration::from_millis(10)).expect("drawn");
        assert!(figure.svg.starts_with("<svg ") && figure.svg.trim_end().ends_with("</svg>"));
        assert!(figure.svg.contains("walk &lt;1&gt;") && figure.svg.contains("ride"));
        assert!(
            !figure.svg.contains("NaN") && figure.svg.len() < 100_000,
            "{} bytes",
            figure.svg.len()
        );
        assert_eq!(rates(&traces, Duration::from_millis(10)).expect("drawn"), figure);
    }

    #[test]
    fn a_distribution_rises_from_no_bin_to_all() {
        let points = distribution(&[3.0, 1.0, 2.0, 2.0]);
        assert_eq!(points, [(1.0, 0.0), (1.0, 0.25), (2.0, 0.5), (2.0, 0.75), (3.0, 1.0)]);
        let many: Vec<f64> = (0..12_345).map(f64::from).collect();
        let thinned = distribution(&many);
        assert!(thinned.len() <= 1002 && thinned.last() == Some(&(12_344.0, 1.0)));
    }

    #[test]
    fn no_trace_too_many_and_no_bin_are_refused() {
        let bin = Duration::from_millis(10);
        let field = |traces: &[(String, Timeline)], bin| {
            rates(traces, bin).map_err(|e| e.field).expect_err("refused")
        };
        assert_eq!(field(&[], bin), "number of traces");
        let one = ("x".to_string(), timeline(vec![1]));
        assert_eq!(field(&vec![one.clone(); 9], bin), "number of traces");
        assert_eq!(field(&[one], Duration::from_secs(3601)), "bin");
    }
}
