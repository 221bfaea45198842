//! A figure that a user chooses from folders of results: a column over the points of a sweep, a
//! column over another column, bars, or a distribution.

mod series;

pub use series::over_time_in_words;

use crate::ReportError;
use crate::export::{Column, Runs};
use crate::figure::page::Page;
use crate::figure::{
    self, Bar, Bars, Chart, Curve, Figure, Heat, Palette, Range, Side, Span, Stroke,
};
use crate::read::{Folder, Key, OverTime};
use crate::words;

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
    /// A bar for each method: the mean of a column, with its interval.
    Bars {
        /// The column.
        y: &'static Column<Runs>,
    },
    /// A bar for each method: the mean times of packets in UPF, SDAP and RLC, one after the other.
    Layers,
    /// The mean of a column at each point of a grid of two settings, of one flow under one method.
    Heat {
        /// The column.
        y: &'static Column<Runs>,
    },
    /// A quantity over time: means over the runs of each method, or one run.
    Series {
        /// The quantity.
        y: OverTime,
        /// The seed of the run; none for the means over all runs.
        seed: Option<u64>,
    },
}

/// The layers of a bar of [`Kind::Layers`], in the order in which packets pass them.
const LAYERS: [(&str, &str); 3] = [("upf", "UPF"), ("sdap", "SDAP"), ("rlc", "RLC")];

/// Draws `kind` from `folders`, each reduced to the methods and flows to show ([`Folder::keep`]),
/// for a paper if there is a `page`; bars and heat maps always have one. Distributions and times in
/// layers are of `quantity` in `cdf.csv`, such as `delay`.
///
/// # Errors
/// There is nothing to draw, or it does not fit the page; the text gives the reason and the
/// possible choices.
pub fn chosen(
    folders: &[Folder],
    kind: Kind,
    quantity: &str,
    page: Option<&Page>,
) -> Result<Figure, ReportError> {
    let curves = match kind {
        Kind::Line { y } => lines(folders, y)?,
        Kind::Points { x, y } => points(folders, x, y),
        Kind::Series { y, seed } => series::series(folders, y, seed)?,
        Kind::Cdf | Kind::Ccdf => distributions(folders, quantity, matches!(kind, Kind::Ccdf))?,
        Kind::Bars { .. } | Kind::Layers => {
            let plain = Page::plain();
            return bars(folders, kind, quantity, page.unwrap_or(&plain));
        }
        Kind::Heat { y } => {
            let plain = Page::plain();
            return heat(folders, y, page.unwrap_or(&plain));
        }
    };
    if curves.is_empty() {
        return Err(nothing(folders));
    }
    let (x_label, y_label) = labels(folders, kind, quantity);
    let (x_range, y_range, stroke) = match kind {
        Kind::Line { .. } => (Range::Around, Range::Amounts, Stroke::Joined),
        Kind::Series { y, .. } if y.unit == "ms" => (Range::Amounts, Range::Times, Stroke::Lines),
        Kind::Series { .. } => (Range::Amounts, Range::Amounts, Stroke::Lines),
        Kind::Ccdf => (Range::Times, Range::Tail, Stroke::Lines),
        Kind::Cdf => (Range::Times, Range::Shares, Stroke::Lines),
        _ => (Range::Around, Range::Amounts, Stroke::Marks),
    };
    let caption = match stroke {
        _ if matches!(kind, Kind::Series { .. }) => "One run of each method; warm-up included.",
        Stroke::Lines => "All seeds together, each with the same weight.",
        _ => INTERVALS,
    };
    let chart = Chart {
        title: format!("{y_label} over {x_label}"),
        caption,
        x: Side { label: &x_label, range: x_range },
        y: Side { label: &y_label, range: y_range },
        stroke,
        palette: &palette(folders),
    };
    match page {
        Some(page) => figure::curves_on(page, chart, &curves),
        None => Ok(figure::curves(chart, &curves)),
    }
}

const INTERVALS: &str = "Means over seeds; bars are 95 % confidence intervals by Student's t.";

/// The labels of both axes of a figure of curves, in words.
fn labels(folders: &[Folder], kind: Kind, quantity: &str) -> (String, String) {
    let time = words::of_time(quantity);
    match kind {
        Kind::Line { y } => {
            let swept = folders.iter().find_map(Folder::swept).unwrap_or_default();
            (words::of_setting(&swept), words::of_column(y))
        }
        Kind::Points { x, y } => (words::of_column(x), words::of_column(y)),
        Kind::Series { y, .. } => ("Time (s)".into(), words::of_quantity(y.name, y.unit)),
        Kind::Cdf => (time, "Share at or below".into()),
        _ => (time, "Share above".into()),
    }
}

/// Colours are chosen for all methods of the folders together, as in their reports.
fn palette(folders: &[Folder]) -> Palette {
    Palette::of_methods(folders.iter().flat_map(Folder::all_methods))
}

fn nothing(folders: &[Folder]) -> ReportError {
    let what: Vec<String> = folders.iter().map(Folder::in_words).collect();
    format!("nothing to draw: no run has such values; {}", what.join("; ")).into()
}

fn bars(
    folders: &[Folder],
    kind: Kind,
    quantity: &str,
    page: &Page,
) -> Result<Figure, ReportError> {
    let (bars, label, caption, parts) = match kind {
        Kind::Bars { y } => {
            let label = words::of_column(y);
            (means(folders, y), label, INTERVALS, Vec::new())
        }
        _ => {
            let label = String::from("Mean time in the layer (ms)");
            let caption = "Mean times of packets in each layer; all seeds together, each with the \
                           same weight.";
            let parts: Vec<&str> = LAYERS.iter().map(|(_, name)| *name).collect();
            (layers(folders, quantity)?, label, caption, parts)
        }
    };
    if bars.is_empty() {
        return Err(nothing(folders));
    }
    let texts = Bars {
        title: label.clone(),
        caption,
        label: &label,
        parts: &parts,
        palette: &palette(folders),
    };
    texts.draw(page, &bars)
}

/// A bar for each flow under each method at each point of a sweep.
fn means(folders: &[Folder], y: &Column<Runs>) -> Vec<Bar> {
    let found = collect(
        folders,
        |_, key| words::of_point(&key.point),
        |folder, key| {
            let mean = Span::of(&folder.values(key, y.name));
            mean.map(|mean| vec![[mean, Span::exact(0.0)]]).unwrap_or_default()
        },
    );
    let bar = |curve: Curve| Bar {
        parts: curve.points.iter().map(|point| point[0]).collect(),
        name: curve.name,
        method: curve.method,
    };
    found.into_iter().map(bar).collect()
}

/// A bar for each method at each point of a sweep, with its mean time in each of [`LAYERS`].
fn layers(folders: &[Folder], quantity: &str) -> Result<Vec<Bar>, String> {
    let mut bars: Vec<Bar> = Vec::new();
    for folder in folders {
        let read = folder.distributions(quantity)?;
        let mut done: Vec<Key> = Vec::new();
        for key in folder.keys().map(|key| key.in_layer("")) {
            let mean = |(layer, _): &(&str, &str)| {
                let pool = read.get(&key.in_layer(layer));
                Span::exact(pool.map_or(0.0, |pool| mean_of(&pool.cdf(usize::MAX))))
            };
            let parts: Vec<Span> = LAYERS.iter().map(mean).collect();
            if done.contains(&key) || parts.iter().all(|part| part.mid <= 0.0) {
                continue;
            }
            let of_folder = match folders.len() {
                1 => String::new(),
                _ => format!(" ({})", folder.name),
            };
            let at = if key.point.is_empty() { "" } else { ", " };
            let point = words::of_point(&key.point);
            let name = format!("{}{at}{point}{of_folder}", key.method);
            bars.push(Bar { name, method: key.method.clone(), parts });
            done.push(key);
        }
    }
    Ok(bars)
}

/// A heat map of `y` over the two settings of a grid.
fn heat(folders: &[Folder], y: &Column<Runs>, page: &Page) -> Result<Figure, ReportError> {
    let [folder] = folders else {
        let found = folders.len();
        return Err(format!("--kind heat: found {found} folders, allowed is one").into());
    };
    type Of = fn(&Folder) -> Vec<String>;
    let of: [(&str, Of); 3] =
        [("--method", Folder::methods), ("--flow", Folder::flows), ("scenario", Folder::scenarios)];
    for (what, names) in of.map(|(what, of)| (what, of(folder))) {
        if names.len() > 1 {
            let names = names.join(", ");
            return Err(format!("--kind heat: found {names}, allowed is one {what}").into());
        }
    }
    let points: Vec<([(String, String); 2], f64)> = folder
        .keys()
        .filter_map(|key| Some((folder.pair(key)?, Span::of(&folder.values(key, y.name))?.mid)))
        .collect();
    let Some(([across, up], _)) = points.first() else {
        return Err(
            "--kind heat: allowed are results of a grid of two settings with this column, \
                    such as `run --grid A=[..] --grid B=[..]`"
                .into(),
        );
    };
    let steps = |side: usize| {
        let mut steps: Vec<String> = Vec::new();
        for (pair, _) in &points {
            if !steps.contains(&pair[side].1) {
                steps.push(pair[side].1.clone());
            }
        }
        let value = |text: &String| text.parse::<f64>().unwrap_or(f64::INFINITY);
        steps.sort_by(|a, b| value(a).total_cmp(&value(b)));
        steps
    };
    let (columns, rows) = (steps(0), steps(1));
    let place = |steps: &[String], step: &str| steps.iter().position(|own| own == step);
    let cell = |(pair, value): &([(String, String); 2], f64)| {
        Some((place(&columns, &pair[0].1)?, place(&rows, &pair[1].1)?, *value))
    };
    let map = Heat {
        title: words::of_column(y),
        caption: "Means over seeds.",
        x_label: &words::of_setting(&across.0),
        y_label: &words::of_setting(&up.0),
        cells: points.iter().filter_map(cell).collect(),
        columns: columns.clone(),
        rows: rows.clone(),
    };
    map.draw(page)
}

/// The mean of a distribution: values lie evenly between two points of it.
fn mean_of(cdf: &[(f64, f64)]) -> f64 {
    let first = cdf.first().map_or(0.0, |(time, share)| time * share);
    let between = cdf.windows(2).map(|ends| {
        let [(from, below), (to, share)] = [ends[0], ends[1]];
        (share - below) * (from + to) / 2.0
    });
    first + between.sum::<f64>()
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
        return Err("--kind line: nothing is swept in these results; allowed are points, bars, \
                    series, cdf and ccdf, or results of a scenario with [sweep]"
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
    use crate::figure::page::{Style, Wishes};
    use crate::read::{column, testing};
    use sha2::{Digest, Sha256};

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
        let head = "scenario,group,x_name,x_value,method,seed,quantity,of,time_ms,share\n";
        let points = [
            ("delay,call", [1.0, 9.0]),
            ("other_sojourn,upf", [0.1, 0.3]),
            ("other_sojourn,sdap", [2.0, 4.0]),
            ("other_sojourn,rlc", [10.0, 30.0]),
        ];
        let lines = points.map(|(of, [half, all])| {
            let row = format!("s,g,\"limit, kB\",10,DRQL,1,{of}");
            format!("{row},{half},0.5\n{row},{all},1\n")
        });
        let cdf = format!("{head}{}", lines.concat());
        let folder = testing::folder(&room.path().join("r"), "", &rows, Some(&cdf));
        (room, folder)
    }

    #[test]
    fn every_kind_is_drawn_with_its_methods_and_axes() {
        let (_room, folder) = example();
        let (y, x) = (column("delay.p99").expect("known"), column("goodput").expect("known"));
        let folders = [folder];
        for kind in [Kind::Line { y }, Kind::Points { x, y }, Kind::Cdf, Kind::Ccdf] {
            let figure = chosen(&folders, kind, "delay", None).expect("there are values");
            assert!(figure.svg.contains("DRQL") && !figure.svg.contains("NaN"), "{}", figure.title);
            let codel = matches!(kind, Kind::Line { .. } | Kind::Points { .. });
            assert_eq!(figure.svg.contains("CoDel"), codel, "{}", figure.title);
        }
        let line = chosen(&folders, Kind::Line { y }, "delay", None).expect("a sweep");
        assert_eq!(line.title, "99th percentile of delay (ms) over Limit (kB)");
    }

    #[test]
    fn an_absent_quantity_is_named() {
        let (_room, folder) = example();
        let folders = [folder];
        let y = column("rtt.p99").expect("known");
        let said = chosen(&folders, Kind::Line { y }, "delay", None)
            .expect_err("no such value")
            .to_string();
        assert!(
            said.contains("no run has such values; ") && said.contains("DRQL, CoDel"),
            "{said}"
        );
        let said =
            chosen(&folders, Kind::Cdf, "dely", None).expect_err("no such quantity").to_string();
        assert!(said.contains("no `dely`; there is delay"), "{said}");
        let room = tempfile::tempdir().expect("a folder");
        let row = "{\"scenario\":\"s\",\"method\":\"DRQL\",\"seed\":1,\"flow\":\"f\"}".to_owned();
        let plain = testing::folder(&room.path().join("p"), "", &[row], None);
        let said =
            chosen(&[plain], Kind::Line { y }, "delay", None).expect_err("no sweep").to_string();
        assert!(said.contains("nothing is swept"), "{said}");
    }

    /// Each kind, with its quantity.
    fn kinds() -> [(Kind, &'static str); 6] {
        let (y, x) = (column("delay.p99").expect("known"), column("goodput").expect("known"));
        [
            (Kind::Line { y }, ""),
            (Kind::Points { x, y }, ""),
            (Kind::Cdf, "delay"),
            (Kind::Ccdf, "delay"),
            (Kind::Bars { y }, ""),
            (Kind::Layers, "other_sojourn"),
        ]
    }

    fn page(change: impl Fn(&mut Wishes)) -> Page {
        let mut wishes = Wishes { style: Style::Ieee, ..Wishes::default() };
        change(&mut wishes);
        Page::of(&wishes).expect("sound").expect("a page")
    }

    /// The number at the begin of `text`.
    fn number(text: &str) -> f64 {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        text[..end].parse().unwrap_or_else(|_| panic!("{text}"))
    }

    /// The number after the first `name` in `text`.
    fn after(text: &str, name: &str) -> f64 {
        number(text.split_once(name).unwrap_or_else(|| panic!("{name}")).1)
    }

    #[test]
    fn no_text_of_a_figure_for_a_paper_is_smaller_than_its_type_at_print_size() {
        let (_room, folder) = example();
        let folders = [folder];
        for (style, font) in [(Style::Ieee, "7pt"), (Style::Acm, "8pt"), (Style::Plain, "9pt")] {
            let size = number(font);
            let page = page(|wishes| {
                wishes.style = style;
                wishes.font = Some(font.into());
                wishes.title = Some("Title".into());
            });
            for (kind, quantity) in kinds() {
                let figure = chosen(&folders, kind, quantity, Some(&page)).expect("it is drawn");
                let width = after(&figure.svg, " width=\"") * 72.0;
                let units = after(&figure.svg, "viewBox=\"0 0 ");
                let sizes: Vec<f64> =
                    figure.svg.split("font-size=\"").skip(1).map(number).collect();
                assert!(sizes.len() > 4 && figure.svg.contains("Title"), "{}", figure.title);
                for found in sizes {
                    let points = found * width / units;
                    assert!(points > size - 0.03 && points < size + 0.03, "{size}: {points}");
                }
            }
        }
    }

    #[test]
    fn axes_of_a_paper_have_words_and_units_or_what_their_user_wrote() {
        let (_room, folder) = example();
        let folders = [folder];
        let labels = [
            ["Limit (kB)", "99th percentile of delay (ms)"],
            ["Goodput (Mbit/s)", "99th percentile of delay (ms)"],
            ["Delay (ms)", "Share at or below"],
            ["Delay (ms)", "Share above"],
            ["99th percentile of delay (ms)", "DRQL, limit 10 kB"],
            ["Mean time in the layer (ms)", "DRQL, limit 10 kB"],
        ];
        let own = page(|wishes| {
            wishes.x_label = Some("Own & across".into());
            wishes.y_label = Some("Own <up>".into());
        });
        for ((kind, quantity), labels) in kinds().into_iter().zip(labels) {
            let wide = page(|wishes| wishes.width = Some("7.16in".into()));
            let figure = chosen(&folders, kind, quantity, Some(&wide)).expect("it is drawn");
            for label in labels {
                assert!(figure.svg.contains(&format!(">{label}\n")), "{label}: {}", figure.svg);
            }
            if !matches!(kind, Kind::Bars { .. } | Kind::Layers) {
                let figure = chosen(&folders, kind, quantity, Some(&own)).expect("it is drawn");
                for label in ["Own &amp; across", "Own &lt;up&gt;"] {
                    assert!(figure.svg.contains(label), "{label}");
                }
            }
        }
    }

    #[cfg(feature = "png")]
    #[test]
    fn a_figure_has_the_size_that_its_user_gave_in_every_form() {
        let (_room, folder) = example();
        let folders = [folder];
        for (width, svg, points, pixels, per_metre) in [
            ("3.5in", "3.5in", 252.0, 2100, 23_622_u32),
            ("88mm", "88mm", 249.449, 2079, 23_622),
            ("9cm", "9cm", 255.118, 2126, 23_622),
            ("600px", "600px", 450.0, 600, 3780),
        ] {
            let page = page(|wishes| {
                wishes.width = Some(width.into());
                wishes.height = Some("180pt".into());
            });
            let (kind, quantity) = kinds()[2];
            let figure = chosen(&folders, kind, quantity, Some(&page)).expect("it is drawn");
            assert!(figure.svg.contains(&format!(" width=\"{svg}\" height=\"180pt\"")), "{width}");
            let pdf = figure::pdf_on(&page, &figure.svg).expect("a PDF");
            let text = String::from_utf8_lossy(&pdf);
            let found = after(&text, "/MediaBox [0 0 ");
            assert!((found - points).abs() < 0.01, "{width}: {found}");
            assert!(text.contains("DejaVu"), "the font is embedded");
            let png = figure::png_on(&page, &figure.svg).expect("a PNG");
            let word = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|i| png[at + i]));
            assert_eq!((word(16), &png[37..41]), (pixels, &b"pHYs"[..]), "{width}");
            assert_eq!([word(41), word(45), u32::from(png[49])], [per_metre, per_metre, 1]);
            assert!(resvg::tiny_skia::Pixmap::decode_png(&png).is_ok(), "its checksum is right");
        }
    }

    #[test]
    fn a_figure_that_does_not_fit_says_what_is_allowed() {
        let (_room, folder) = example();
        let folders = [folder];
        let line = kinds()[0].0;
        let said = |kind, page: Page| {
            chosen(&folders, kind, "", Some(&page)).expect_err("too small").to_string()
        };
        let of_height = |height: &str| {
            page(|wishes| {
                wishes.font = Some("12pt".into());
                wishes.height = Some(height.into());
            })
        };
        let low = said(line, of_height("1.5in"));
        let begin = "--height: found 1.50in, allowed is ";
        let least = low.strip_prefix(begin).and_then(|rest| rest.split_once(' '));
        let least = least.unwrap_or_else(|| panic!("{low}")).0.to_owned();
        assert!(chosen(&folders, line, "", Some(&of_height(&least))).is_ok(), "{least}");
        let long = page(|wishes| wishes.title = Some("word ".repeat(40)));
        let long = said(line, long);
        assert!(long.starts_with("--title: found 200 characters, allowed are "), "{long}");
    }

    #[test]
    fn names_of_bars_that_are_wider_than_half_of_a_page_take_several_lines() {
        let (_room, folder) = example();
        let (folders, bars) = ([folder], kinds()[4].0);
        let names = means(&folders, column("delay.p99").expect("known"));
        let whole = |width: &str| {
            let page = page(|wishes| wishes.width = Some(width.into()));
            let figure = chosen(&folders, bars, "", Some(&page)).expect("it is drawn");
            names.iter().filter(|bar| figure.svg.contains(&format!(">{}\n", bar.name))).count()
        };
        assert_eq!([whole("8in"), whole("2.1in")], [6, 0]);
    }

    #[test]
    fn a_bar_is_the_mean_with_its_interval_and_the_means_of_layers_stand_in_a_row() {
        let (_room, folder) = example();
        let folders = [folder];
        let bars = means(&folders, column("delay.p99").expect("known"));
        assert_eq!(bars.len(), 6);
        // Seeds 1 to 3 of DRQL at 10 kB: 11, 12, 13; t(0.975, 2) = 4.3027.
        let first = bars[0].parts[0];
        assert!((first.mid - 12.0).abs() < 1e-9);
        assert!((first.high - 12.0 - 4.3027 / 3_f64.sqrt()).abs() < 1e-3, "{}", first.high);
        let layers = layers(&folders, "other_sojourn").expect("they are there");
        assert_eq!(layers.len(), 1);
        // Half of the values are at the first time, the others between the two.
        for (part, [half, all]) in
            layers[0].parts.iter().zip([[0.1, 0.3], [2.0, 4.0], [10.0, 30.0]])
        {
            let mean = 0.5 * half + 0.5 * f64::midpoint(half, all);
            assert!((part.mid - mean).abs() < 0.01 * mean, "{} for {mean}", part.mid);
        }
    }

    /// What figures looked like before they could have a page.
    #[test]
    fn a_heat_map_has_the_mean_at_each_point_of_a_grid_of_two_settings() {
        let room = tempfile::tempdir().expect("a folder");
        let rows: Vec<String> = [(100, 5, 20.0), (100, 10, 30.0), (20, 5, 4.0), (20, 10, 7.5)]
            .into_iter()
            .flat_map(|(kb, ms, delay)| {
                (1..=3).map(move |seed| {
                    format!(
                        "{{\"scenario\":\"s\",\"group\":\"g\",\"x_name\":\"q.limit_kB\",\
                         \"x_value\":{kb},\"grid\":\"q.limit_kB={kb}; core.delay_ms={ms}\",\
                         \"method\":\"DRQL\",\"seed\":{seed},\"flow\":\"call\",\
                         \"delay_ms_p99\":{}}}",
                        delay + f64::from(seed) - 2.0
                    )
                })
            })
            .collect();
        let mut folder = testing::folder(&room.path().join("r"), "", &rows, None);
        let y = column("delay.p99").expect("known");
        let map = |folder: &Folder| {
            chosen(std::slice::from_ref(folder), Kind::Heat { y }, "", None).expect("a map").svg
        };
        folder.choose("q.limit").expect("it is swept");
        let svg = map(&folder);
        // Texts in the order of cells, then of columns from the left and rows from the bottom.
        let texts: Vec<&str> =
            svg.split("<text").skip(1).filter_map(|t| t.split('>').nth(1)).collect();
        let texts: Vec<&str> = texts.iter().filter_map(|t| t.split('\n').next()).collect();
        assert_eq!(texts[0], "99th percentile of delay (ms)");
        assert!(texts.contains(&"Q limit (kB)") && texts.contains(&"Core delay (ms)"), "{texts:?}");
        let end = &texts[texts.len() - 8..];
        assert_eq!(end, ["20.0", "30.0", "4.00", "7.50", "20", "100", "5", "10"]);
        folder.choose("core.delay").expect("it is swept");
        assert!(map(&folder).contains("Core delay (ms)"));
        let (_room, swept) = example();
        let said = chosen(&[swept], Kind::Heat { y }, "", None).expect_err("two methods");
        assert_eq!(said.to_string(), "--kind heat: found DRQL, CoDel, allowed is one --method");
        let (_room, mut swept) = example();
        swept.keep(&["DRQL".into()], &[]).expect("it is there");
        let said = chosen(&[swept], Kind::Heat { y }, "", None).expect_err("one setting");
        assert!(said.to_string().contains("results of a grid of two settings"), "{said}");
    }

    #[test]
    fn without_options_a_figure_stays_byte_for_byte() {
        let (_room, folder) = example();
        let folders = [folder];
        let hashes = kinds().into_iter().take(4).map(|(kind, quantity)| {
            let svg = chosen(&folders, kind, quantity, None).expect("it is drawn").svg;
            let hash = Sha256::digest(svg.as_bytes());
            hash[..4].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        });
        assert_eq!(hashes.collect::<Vec<_>>(), ["9809cb81", "71eb283e", "614f05c2", "8d61438b"]);
    }
}
