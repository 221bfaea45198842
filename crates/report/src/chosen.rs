//! A figure that a user chooses from folders of results: a column over the points of a sweep, a
//! column over another column, or a distribution.

use crate::ReportError;
use crate::export::{Column, Runs};
use crate::figure::{self, Chart, Curve, Figure, Palette, Range, Side, Span, Stroke};
use crate::read::{Folder, Key};

/// Most points of a distribution's line.
const MOST_POINTS: usize = 500;

/// The kind of a figure.
#[derive(Clone, Copy)]
pub enum Kind {
    /// The mean of a column, with its interval, over the points of a sweep.
    Line {
        /// The column.
        y: &'static Column<Runs>,
    },
    /// The mean of one column over the mean of another.
    Points {
        /// The column on the horizontal axis.
        x: &'static Column<Runs>,
        /// The column on the vertical axis.
        y: &'static Column<Runs>,
    },
    /// The share of values at or below a time.
    Cdf,
    /// The share of values above a time, on a logarithmic axis.
    Ccdf,
}

/// Draws `kind` from `folders`, each reduced to the methods and flows to show ([`Folder::keep`]).
/// Distributions are of `quantity` in `cdf.csv`, such as `delay`.
///
/// # Errors
/// There is nothing to draw; the text gives the reason and the possible choices.
pub fn chosen(folders: &[Folder], kind: Kind, quantity: &str) -> Result<Figure, ReportError> {
    let curves = match kind {
        Kind::Line { y } => lines(folders, y)?,
        Kind::Points { x, y } => points(folders, x, y),
        Kind::Cdf | Kind::Ccdf => distributions(folders, quantity, matches!(kind, Kind::Ccdf))?,
    };
    if curves.is_empty() {
        let what: Vec<String> = folders.iter().map(Folder::in_words).collect();
        return Err(format!("nothing to draw: no run has such values; {}", what.join("; ")).into());
    }
    let label = |column: &Column<Runs>| format!("{}, {}", crate::read::alias(column), column.unit);
    let (x_label, y_label) = match kind {
        Kind::Line { y } => (folders.iter().find_map(Folder::swept).unwrap_or_default(), label(y)),
        Kind::Points { x, y } => (label(x), label(y)),
        Kind::Cdf => (format!("{quantity}, ms"), "share at or below".into()),
        Kind::Ccdf => (format!("{quantity}, ms"), "share above".into()),
    };
    let (x_range, y_range, stroke) = match kind {
        Kind::Line { .. } => (Range::Around, Range::Amounts, Stroke::Joined),
        Kind::Points { .. } => (Range::Around, Range::Amounts, Stroke::Marks),
        Kind::Cdf => (Range::Times, Range::Shares, Stroke::Lines),
        Kind::Ccdf => (Range::Times, Range::Tail, Stroke::Lines),
    };
    let caption = match kind {
        Kind::Line { .. } | Kind::Points { .. } => {
            "Means over seeds; bars are 95 % confidence intervals by Student's t."
        }
        Kind::Cdf | Kind::Ccdf => "All seeds together, each with the same weight.",
    };
    let chart = Chart {
        title: format!("{y_label} over {x_label}"),
        caption,
        x: Side { label: &x_label, range: x_range },
        y: Side { label: &y_label, range: y_range },
        stroke,
        palette: &Palette::of_methods(folders.iter().flat_map(Folder::all_methods)),
    };
    Ok(figure::curves(chart, &curves))
}

/// Calls `add` for every flow under every method with the name of its curve.
fn collect(
    folders: &[Folder],
    beside: impl Fn(&Folder, &Key) -> String,
    mut points: impl FnMut(&Folder, &Key) -> Vec<[Span; 2]>,
) -> Vec<Curve> {
    let flows: Vec<&str> = folders.iter().flat_map(Folder::keys).map(|key| &*key.flow).collect();
    let several = flows.windows(2).any(|pair| pair[0] != pair[1]);
    let scenarios: Vec<&str> =
        folders.iter().flat_map(Folder::keys).map(|key| &*key.scenario).collect();
    let several_scenarios = scenarios.windows(2).any(|pair| pair[0] != pair[1]);
    let mut curves: Vec<Curve> = Vec::new();
    for folder in folders {
        for key in folder.keys() {
            let found = points(folder, key);
            let mut name = key.method.clone();
            if several {
                name = format!("{name}, {}", key.flow);
            }
            if several_scenarios {
                name = format!("{name}, {}", key.scenario);
            }
            let beside = beside(folder, key);
            if !beside.is_empty() {
                name = format!("{name}, {beside}");
            }
            if folders.len() > 1 {
                name = format!("{name} ({})", folder.name);
            }
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.extend(found),
                None => curves.push(Curve { name, method: key.method.clone(), points: found }),
            }
        }
    }
    curves.retain(|curve| !curve.points.is_empty());
    curves
}

fn lines(folders: &[Folder], y: &Column<Runs>) -> Result<Vec<Curve>, String> {
    if folders.iter().all(|folder| folder.swept().is_none()) {
        return Err("--kind line: nothing is swept in these results; allowed are points, cdf and \
                    ccdf, or results of a scenario with [sweep]"
            .into());
    }
    let mut curves = collect(folders, Folder::beside, |folder, key| {
        let at = folder.x(key).map(|x| x.1);
        at.zip(Span::of(&folder.values(key, y.name)))
            .map(|(x, y)| vec![[Span::exact(x), y]])
            .unwrap_or_default()
    });
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a[0].mid.total_cmp(&b[0].mid));
    }
    Ok(curves)
}

fn points(folders: &[Folder], x: &Column<Runs>, y: &Column<Runs>) -> Vec<Curve> {
    collect(
        folders,
        |_, _| String::new(),
        |folder, key| {
            let of = |column: &Column<Runs>| Span::of(&folder.values(key, column.name));
            of(x).zip(of(y)).map(|(x, y)| vec![[x, y]]).unwrap_or_default()
        },
    )
}

fn distributions(folders: &[Folder], quantity: &str, is_tail: bool) -> Result<Vec<Curve>, String> {
    let mut read = Vec::new();
    for folder in folders {
        read.push(folder.distributions(quantity)?);
    }
    let place = |folder: &Folder| folders.iter().position(|f| std::ptr::eq(f, folder)).unwrap_or(0);
    Ok(collect(
        folders,
        |_, _| String::new(),
        |folder, key| {
            let Some(pool) = read[place(folder)].get(key) else { return Vec::new() };
            let points = match is_tail {
                true => figure::tail(&pool.cdf(usize::MAX)),
                false => pool.cdf(MOST_POINTS),
            };
            points.into_iter().map(|(x, share)| [Span::exact(x), Span::exact(share)]).collect()
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{column, testing};

    fn example() -> (tempfile::TempDir, Folder) {
        let room = tempfile::tempdir().expect("a folder");
        let rows: Vec<String> = [("DRQL", 1.0), ("CoDel", 2.0)]
            .into_iter()
            .flat_map(|(method, by)| {
                [10.0, 20.0, 40.0].into_iter().flat_map(move |x| {
                    (1..=3).map(move |seed| {
                        let delay = by * x + f64::from(seed);
                        format!(
                            "{{\"scenario\":\"s\",\"group\":\"g\",\"x_name\":\"limit, kB\",\
                             \"x_value\":{x},\"method\":\"{method}\",\"seed\":{seed},\
                             \"flow\":\"call\",\"delay_ms_p99\":{delay},\"goodput_mbit_s\":{by}}}"
                        )
                    })
                })
            })
            .collect();
        let cdf = "scenario,group,x_name,x_value,method,seed,quantity,of,time_ms,share\n\
                   s,g,\"limit, kB\",10,DRQL,1,delay,call,1,0.5\n\
                   s,g,\"limit, kB\",10,DRQL,1,delay,call,9,1\n";
        let folder = testing::folder(&room.path().join("r"), "", &rows, Some(cdf));
        (room, folder)
    }

    #[test]
    fn every_kind_is_drawn_with_its_methods_and_axes() {
        let (_room, folder) = example();
        let (y, x) = (column("delay.p99").expect("known"), column("goodput").expect("known"));
        let folders = [folder];
        for kind in [Kind::Line { y }, Kind::Points { x, y }, Kind::Cdf, Kind::Ccdf] {
            let figure = chosen(&folders, kind, "delay").expect("there are values");
            assert!(figure.svg.contains("DRQL") && !figure.svg.contains("NaN"), "{}", figure.title);
            let codel = matches!(kind, Kind::Line { .. } | Kind::Points { .. });
            assert_eq!(figure.svg.contains("CoDel"), codel, "{}", figure.title);
        }
        let line = chosen(&folders, Kind::Line { y }, "delay").expect("a sweep");
        assert_eq!(line.title, "delay.p99, ms over limit, kB");
    }

    #[test]
    fn what_there_is_nothing_of_is_said() {
        let (_room, folder) = example();
        let folders = [folder];
        let y = column("rtt.p99").expect("known");
        let said =
            chosen(&folders, Kind::Line { y }, "delay").expect_err("no such value").to_string();
        assert!(
            said.contains("no run has such values; ") && said.contains("DRQL, CoDel"),
            "{said}"
        );
        let said = chosen(&folders, Kind::Cdf, "dely").expect_err("no such quantity").to_string();
        assert!(said.contains("no `dely`; there is delay"), "{said}");
        let room = tempfile::tempdir().expect("a folder");
        let row = "{\"scenario\":\"s\",\"method\":\"DRQL\",\"seed\":1,\"flow\":\"f\"}".to_owned();
        let plain = testing::folder(&room.path().join("p"), "", &[row], None);
        let said = chosen(&[plain], Kind::Line { y }, "delay").expect_err("no sweep").to_string();
        assert!(said.contains("nothing is swept"), "{said}");
    }
}
