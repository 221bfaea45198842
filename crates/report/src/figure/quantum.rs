//! Box plots of the amounts that slices had lent each other, by slot (A21, Fig. 21).

use super::Figure;
use super::axis::Axis;
use super::palette::Palette;
use super::panel::{Panel, WIDTH, count, picture, text_width};
use justfull_lab::model::summary::method_names;
use justfull_lab::model::{Family, Group};
use justfull_lab::stats::mean;
use justfull_run::results::SliceResult;

/// One row: a slice under one method at one point of the sweep.
struct Row {
    name: String,
    slice: usize,
    /// Minimum, quartiles, maximum: the mean of each over runs.
    five: [f64; 5],
}

fn five(parts: &[&SliceResult]) -> Option<[f64; 5]> {
    let over =
        |value: fn(&SliceResult) -> f64| mean(&parts.iter().map(|s| value(s)).collect::<Vec<_>>());
    Some([
        over(|s| s.quantum_min)?,
        over(|s| s.quantum_p25)?,
        over(|s| s.quantum_p50)?,
        over(|s| s.quantum_p75)?,
        over(|s| s.quantum_max)?,
    ])
}

/// The rows of one point, by slice and then by method.
fn rows_of(group: &Group, rows: &mut Vec<Row>) {
    let methods = method_names(&group.runs);
    let lenders: Vec<&String> = methods
        .iter()
        .filter(|name| group.runs.iter().any(|run| run.method == **name && !run.slices.is_empty()))
        .collect();
    let slices = group.runs.iter().map(|run| run.slices.len()).max().unwrap_or(0);
    for slice in 0..slices {
        for method in &lenders {
            let own = group.runs.iter().filter(|run| run.method == **method);
            let parts: Vec<&SliceResult> = own.filter_map(|run| run.slices.get(slice)).collect();
            let (Some(first), Some(five)) = (parts.first(), five(&parts)) else { continue };
            let mut name = format!("slice {slice} ({:.0} %)", 100.0 * first.share);
            let point = if group.x.is_some() { group.x_text() } else { String::new() };
            let whose = if lenders.len() > 1 { method.as_str() } else { "" };
            for part in [point.as_str(), whose].into_iter().filter(|part| !part.is_empty()) {
                name = format!("{part}, {name}");
            }
            rows.push(Row { name, slice, five });
        }
    }
}

/// One box for each slice at each point of the sweep; none if slices do not lend.
pub(super) fn quantum_boxes(family: &Family<'_>, number: usize) -> Option<Figure> {
    const ROW: i32 = 62;
    /// Space that a panel leaves for the labels of its vertical axis; this panel has none.
    const AXIS: i32 = 112;
    let mut rows = Vec::new();
    family.groups.iter().for_each(|(_, group)| rows_of(group, &mut rows));
    if rows.is_empty() {
        return None;
    }
    let slices = rows.iter().map(|row| row.slice).max().unwrap_or(0) + 1;
    let palette = Palette::of_names((0..slices).map(|slice| slice.to_string()).collect());
    let furthest = rows.iter().flat_map(|row| row.five).map(f64::abs).fold(1.0, f64::max) * 1.06;
    let names =
        rows.iter().map(|row| text_width(&row.name)).max().unwrap_or(0).clamp(AXIS, WIDTH / 2) + 20;
    let all = count(rows.len());
    let height = all * ROW + 110;
    let picture = picture(height, |sheet| {
        let x = Axis::linear("resource blocks lent; below 0, borrowed", -furthest, furthest);
        let y = Axis::linear("", 0.0, f64::from(all)).with_ticks_to(f64::NEG_INFINITY);
        let corner = (names - AXIS, 0);
        let panel = Panel::new(sheet, corner, (WIDTH - corner.0, height), "", x, y);
        panel.upright(0.0);
        for (i, row) in rows.iter().enumerate() {
            let y = f64::from(all) - i as f64 - 0.5;
            let [least, p25, p50, p75, most] = row.five;
            let colour = palette.look(&row.slice.to_string()).colour;
            panel.boxed(least, [p25, p50, p75], most, y, colour);
            sheet.text_to((names - 12, panel.at(0.0, y).1), &row.name);
        }
    });
    let caption = "After each slot, the resource blocks that a slice has lent the others (its \
                   quantum); below 0 it has borrowed. Boxes span the quartiles with the median as \
                   a thick line, whiskers reach from the least to the greatest value; each is the \
                   mean over runs. The dashed line is the balance.";
    let title = format!("What slices lend each other: {}", family.label);
    Some(Figure::new(format!("quantum-{number}"), title, caption.into(), &picture))
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::{Comparison, example};

    fn lending() -> Comparison {
        let mut comparison = example::comparison(2);
        for run in
            comparison.groups.iter_mut().flat_map(|g| &mut g.runs).filter(|r| r.method == "CoDel")
        {
            let slice = |slice: u32, sign: f64| SliceResult {
                slice,
                share: if slice == 0 { 0.25 } else { 0.75 },
                slots: 1000,
                quantum_min: -20.0 + 5.0 * sign,
                quantum_p25: -4.0,
                quantum_p50: 2.0 * sign,
                quantum_p75: 6.0,
                quantum_max: 30.0,
                ..SliceResult::default()
            };
            run.slices = vec![slice(0, -1.0), slice(1, 1.0)];
        }
        comparison
    }

    #[test]
    fn every_slice_has_a_box_at_every_point_and_methods_that_lend_nothing_have_none() {
        let comparison = lending();
        let families = comparison.families();
        let family = &families[0];
        let figure = quantum_boxes(family, 1).expect("slices lend");
        for (_, group) in &family.groups {
            for share in ["slice 0 (25 %)", "slice 1 (75 %)"] {
                let name = format!("{}, {share}", group.x_text());
                assert!(figure.svg.contains(&name), "{name}");
            }
        }
        assert!(!figure.svg.contains("Vanilla") && !figure.svg.contains("NaN"));
    }

    #[test]
    fn the_numbers_of_a_row_are_means_over_runs() {
        let mut comparison = lending();
        let group = &mut comparison.groups[0];
        group.runs.retain(|run| run.method == "CoDel");
        group.runs[0].slices[1].quantum_p50 = 8.0;
        let mut rows = Vec::new();
        rows_of(group, &mut rows);
        assert_eq!(rows[1].five.map(|rbs| rbs as i64), [-15, -4, 5, 6, 30]);
    }

    #[test]
    fn a_comparison_in_which_nothing_is_lent_has_no_such_figure() {
        let comparison = example::comparison(1);
        assert!(comparison.families().iter().all(|family| quantum_boxes(family, 1).is_none()));
    }
}
