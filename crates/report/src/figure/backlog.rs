//! RLC backlog over time beside the capacity that serves it (T20, Fig. 6).

use super::Figure;
use super::axis::Axis;
use super::palette::Palette;
use super::panel::{CAPACITY, Glyph, LINE, Panel, WIDTH, cell, count, legend_height, picture};
use justfull_lab::model::Group;
use justfull_lab::model::summary::method_names;
use justfull_run::results::RunResult;
use plotters::style::RGBColor;

/// Most points of one line.
const MOST_POINTS: usize = 180;

/// Backlog and capacity of one run in one unit.
struct Track {
    method: String,
    /// Length in seconds.
    end: f64,
    backlog: Vec<(f64, f64)>,
    capacity: Vec<(f64, f64)>,
}

fn track(run: &RunResult) -> Option<Track> {
    let series = &run.series;
    let bytes = run.cell.unit == "bytes";
    let (backlog, scale) =
        if bytes { (&series.rlc_bytes, 1e-3) } else { (&series.rlc_packets, 1.0) };
    let timed = |values: &[f64], at: f64| -> Vec<(f64, f64)> {
        let points =
            values.iter().enumerate().map(|(i, v)| ((i as f64 + at) * series.bin_s, v * scale));
        points.filter(|(t, v)| *t <= run.duration_s && v.is_finite()).collect()
    };
    // A run that ended early has bins without data.
    let end = (backlog.len() as f64 * series.bin_s).min(run.duration_s);
    let backlog = thin(&timed(backlog, 0.5), MOST_POINTS);
    // Resource blocks do not fit an axis of packets.
    let blocks = run.cell.unit == "resource_blocks";
    let capacity = if blocks { Vec::new() } else { timed(&series.capacity_per_slot, 0.0) };
    let capacity = thin(&steps(&capacity, series.bin_s), MOST_POINTS);
    (backlog.len() > 1).then(|| Track { method: run.method.clone(), end, backlog, capacity })
}

/// `values`, each held for `width`, as the corners of a step line.
fn steps(values: &[(f64, f64)], width: f64) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for &(t, v) in values {
        match corners.last_mut() {
            Some(last) if last.1.total_cmp(&v).is_eq() => last.0 = t + width,
            _ => corners.extend([(t, v), (t + width, v)]),
        }
    }
    corners
}

/// At most `most` of `points`: the lowest and highest of each stretch, so that no peak is lost.
fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(most / 2);
    let mut out = Vec::with_capacity(most);
    for part in points.chunks(stretch) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = (part.iter().min_by(by_value), part.iter().max_by(by_value));
        if let (Some(&low), Some(&high)) = ends {
            let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
            out.push(first);
            if second.0 > first.0 {
                out.push(second);
            }
        }
    }
    out
}

/// One panel for each method: the RLC backlog of its first run and the capacity of a slot, in the
/// MAC's unit.
pub(super) fn backlog_over_time(group: &Group, number: usize, palette: &Palette) -> Option<Figure> {
    const HEIGHT: i32 = 330;
    let firsts: Vec<&RunResult> = method_names(&group.runs)
        .iter()
        .filter_map(|name| group.runs.iter().find(|run| run.method == *name))
        .collect();
    let tracks: Vec<Track> = firsts.iter().filter_map(|run| track(run)).collect();
    let first = firsts.first().filter(|_| !tracks.is_empty())?;
    let unit = if first.cell.unit == "bytes" { "kB" } else { "packets" };
    let capacity = tracks.iter().any(|track| !track.capacity.is_empty());
    let mut entries =
        vec![(format!("RLC backlog, {unit}"), Glyph::Area(RGBColor(0x80, 0x80, 0x80)))];
    entries
        .extend(capacity.then(|| (format!("capacity of a slot, {unit}"), Glyph::Line(CAPACITY))));
    let label = if capacity { unit.to_owned() } else { format!("RLC backlog, {unit}") };
    let head = legend_height(&entries) + LINE / 2;
    let rows = count(tracks.len().div_ceil(2));
    let end = tracks.iter().map(|t| t.end).fold(0.0, f64::max);
    let picture = picture(head + rows * HEIGHT, |sheet| {
        sheet.legend(6, &entries);
        for (i, track) in tracks.iter().enumerate() {
            let (column, row) = cell(i);
            let x = Axis::linear("time, s", 0.0, end);
            let values = track.backlog.iter().chain(&track.capacity).map(|p| p.1);
            let y = Axis::from_zero(&label, values);
            let last_in_column = i + 2 >= tracks.len();
            let x = if last_in_column { x } else { x.unlabelled() };
            let y = if column == 0 { y } else { y.unlabelled() };
            let corner = (column * WIDTH / 2, head + row * HEIGHT);
            let panel = Panel::new(sheet, corner, (WIDTH / 2, HEIGHT), &track.method, x, y);
            panel.area(&track.backlog, palette.look(&track.method).colour);
            panel.line(&track.capacity, CAPACITY, 2);
        }
    });
    let shown = match (capacity, first.cell.unit.as_str()) {
        (true, _) => "(area) and what a slot could have carried (red line)",
        (false, "resource_blocks") => {
            "(area); what slots could have carried is in resource blocks and has no place on this \
             axis"
        }
        (false, _) => "(area)",
    };
    let caption = format!(
        "Seed {}: what waits in the RLC alone before a pull {shown}. What waits above it, in SDAP \
         and the UPF, is not in this figure: a method that holds packets back keeps them there. \
         Mean over bins of {} s; of longer runs each stretch shows its lowest and highest bin. \
         Each panel has its own scale.",
        first.seed, first.series.bin_s
    );
    let title = format!("Backlog of the RLC alone over time: {}", group.heading());
    Some(Figure::new(format!("backlog-{number}"), title, caption, &picture))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_every_stretch_s_extremes_in_order_of_time() {
        let mut points: Vec<(f64, f64)> =
            (0..10_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
        points[4321].1 = 99.0;
        points[4322].1 = -99.0;
        let thinned = thin(&points, 1000);
        assert!(thinned.len() <= 1000);
        assert!(thinned.contains(&(4321.0, 99.0)) && thinned.contains(&(4322.0, -99.0)));
        assert!(thinned.windows(2).all(|w| w[0].0 < w[1].0));
        assert_eq!(thin(&points[..10], 1000), points[..10]);
    }

    #[test]
    fn a_step_line_has_corners_only_where_the_value_changes() {
        let values = [(0.0, 5.0), (1.0, 5.0), (2.0, 3.0)];
        assert_eq!(steps(&values, 1.0), [(0.0, 5.0), (2.0, 5.0), (2.0, 3.0), (3.0, 3.0)]);
    }

    #[test]
    fn a_mac_that_counts_bytes_shows_kilobytes() {
        let mut comparison = justfull_lab::model::example::comparison(1);
        comparison.groups[0].runs.iter_mut().for_each(|run| run.cell.unit = "bytes".into());
        let figure =
            backlog_over_time(&comparison.groups[0], 1, &Palette::of(&comparison)).expect("series");
        assert!(figure.svg.contains("RLC backlog, kB") && figure.title.contains("RLC alone"));
    }

    /// With a carrier, the capacity is in resource blocks.
    #[test]
    fn an_axis_of_packets_shows_no_resource_blocks() {
        let mut comparison = justfull_lab::model::example::comparison(1);
        let group = &mut comparison.groups[0];
        group.runs.iter_mut().for_each(|run| run.cell.unit = "resource_blocks".into());
        let red = format!("#{:02X}{:02X}{:02X}", CAPACITY.0, CAPACITY.1, CAPACITY.2);
        assert!(track(&group.runs[0]).expect("a series").capacity.is_empty());
        let figure = backlog_over_time(group, 1, &Palette::default()).expect("series");
        assert!(
            !figure.svg.contains("capacity") && !figure.svg.contains(&red),
            "no line of capacity"
        );
        assert!(figure.caption.contains("in resource blocks"), "{}", figure.caption);
    }

    /// The live run ends after 5.5 s of the scenario's 30 s.
    #[test]
    fn the_time_axis_ends_with_the_run() {
        let mut run = justfull_lab::model::example::comparison(1).groups.remove(0).runs.remove(0);
        run.duration_s = 5.5;
        let track = track(&run).expect("a series");
        assert!((track.end - 5.5).abs() < 1e-9);
        assert!(track.backlog.iter().chain(&track.capacity).all(|point| point.0 <= 5.6));
    }
}
