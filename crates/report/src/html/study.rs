//! The page of a campaign: for each flow a figure, and a table of all cases.

use super::answer::{self, Of};
use super::{STYLE, figure_html, figures_html, fill, folded, grid, list, script, terms, warning};
use crate::ReportError;
use crate::chosen::{Kind, chosen};
use crate::export::{Column, Runs};
use crate::figure::{Figure, escape};
use crate::means::{means, table};
use crate::read::{Folder, Key, alias, short};
use crate::table::Grid;
use crate::words;
use justfull_lab::stats::Summary;

const PAGE: &str = include_str!("study.html");

/// Most lines of a figure, so that they do not hide each other.
const MOST_LINES: usize = 16;

/// The content of a page besides the rows.
pub struct Study<'a> {
    /// Its heading.
    pub title: &'a str,
    /// The facts of the runs, as terms and texts.
    pub facts: &'a [(&'a str, String)],
    /// Jobs without rows, in words.
    pub failed: &'a [String],
    /// The campaign's file.
    pub text: &'a str,
    /// The columns that tables and figures show.
    pub columns: &'a [&'static Column<Runs>],
    /// The method with which others are compared.
    pub against: Option<&'a str>,
}

impl Study<'_> {
    /// The page of the rows in `folder`, one HTML file. All text is escaped.
    ///
    /// # Errors
    /// There is no method [`Study::against`].
    pub fn html(&self, folder: &Folder) -> Result<String, ReportError> {
        let (mut contents, mut results) = (String::new(), String::new());
        let scenarios = folder.scenarios();
        let flows = |scenario: &String| {
            let of_scenario = folder.of_scenario(scenario);
            let (mut flows, judged) = (of_scenario.flows(), of_scenario.judged_flow());
            flows.sort_by_key(|flow| Some(flow) != judged.as_ref());
            flows.into_iter().map(move |flow| (of_scenario.clone(), flow))
        };
        for (i, (mut rows, flow)) in scenarios.iter().flat_map(flows).enumerate() {
            rows.keep(&[], std::slice::from_ref(&flow)).map_err(|e| e.to_string())?;
            let name = match &scenarios[..] {
                [_] => escape(&flow),
                _ => escape(&format!("{}: {flow}", rows.scenarios().join(", "))),
            };
            let id = format!("flow-{}", i + 1);
            contents += &format!("<li><a href=\"#{id}\">{name}</a></li>");
            let section = self.section(&rows, i + 1)?;
            results += &format!("<section id=\"{id}\"><h2>{name}</h2>\n{section}</section>\n");
        }
        contents += "<li><a href=\"#campaign\">Campaign</a></li>";
        let facts = self.facts.iter().map(|(term, text)| (*term, escape(text)));
        Ok(fill(
            PAGE,
            &[
                ("title", &escape(self.title)),
                ("style", STYLE),
                ("failed", &warning("These jobs have failed:", self.failed)),
                ("answer", &answer_of(folder)),
                ("facts", &terms(facts)),
                ("contents", &contents),
                ("results", &results),
                ("text", &escape(self.text)),
                ("script", &script(&[])),
            ],
        ))
    }

    fn section(&self, folder: &Folder, number: usize) -> Result<String, ReportError> {
        let found = means(folder, self.columns, None)?;
        let mut figures = self.figures(folder, number);
        // The answer of the page is about this column.
        figures.sort_by_key(|figure| figure.id != format!("flow-{number}-{}", short(P99)));
        let mut figures = figures.into_iter();
        let lead = figures.next().map_or_else(String::new, |figure| figure_html(&figure, ""));
        let others: Vec<Figure> = figures.collect();
        let mut out = lead + &with_notes(&table(&found, self.columns, None));
        if let Some(method) = self.against {
            let found = means(folder, self.columns, Some(method))?;
            let differences = with_notes(&table(&found, self.columns, self.against));
            out += &folded(&format!("Differences to {method}"), &differences);
        }
        Ok(out + &folded("More figures", &figures_html(&others, "")))
    }

    /// The figures of each column over the swept setting, and of each other column over the last
    /// one.
    fn figures(&self, folder: &Folder, number: usize) -> Vec<Figure> {
        let lines = folder.lines();
        let swept = folder.swept().is_some() && (1..=MOST_LINES).contains(&lines);
        let over = self.columns.iter().filter(|_| swept).map(|&y| Kind::Line { y });
        let across = self
            .columns
            .split_last()
            .into_iter()
            .flat_map(|(&x, others)| others.iter().map(move |&y| Kind::Points { x, y }));
        let folders = std::slice::from_ref(folder);
        over.chain(across)
            .filter_map(|kind| {
                let mut figure = chosen(folders, kind, "", None).ok()?;
                let name = match kind {
                    Kind::Line { y } => alias(y),
                    Kind::Points { x, y } => format!("{}-{}", alias(y), alias(x)),
                    _ => return None,
                };
                figure.id = format!("flow-{number}-{name}");
                Some(figure)
            })
            .collect()
    }
}

const P99: &str = "delay_ms_p99";
const GOODPUT: &str = "goodput_mbit_s";

/// The answer for the first point with two methods or more, and the delays at the last point, from
/// the columns of [`COLUMNS`](crate::earlier::COLUMNS); empty without such a point.
fn answer_of(folder: &Folder) -> String {
    let scenarios = folder.scenarios();
    let text = scenarios.iter().find_map(|scenario| {
        let rows = folder.of_scenario(scenario);
        let flow = rows.judged_flow()?;
        let keys = rows.keys_by_point();
        let judged = keys.iter().filter(|key| key.flow == flow);
        let points: Vec<&str> = judged.map(|key| &*key.point).collect();
        let named = |point: &str| match &scenarios[..] {
            [_] => words::of_point(point),
            _ => format!("{scenario}, {}", words::of_point(point))
                .trim_end_matches([',', ' '])
                .into(),
        };
        let all = |point: &str| of_point(&rows, &keys, point, &flow);
        let first = points
            .iter()
            .find_map(|point| Some((point, answer::sentence(&named(point), &flow, &all(point))?)));
        let (point, text) = first?;
        let last = points.last().filter(|last| *last != point);
        let end = last.and_then(|last| answer::at_end(&named(last), &flow, &all(last)));
        Some(answer::paragraph(text, end))
    });
    text.unwrap_or_default()
}

/// The figures of each method at `point`.
fn of_point<'a>(folder: &Folder, keys: &[&'a Key], point: &str, flow: &str) -> Vec<Of<'a>> {
    let values = |key: &Key, column| -> Vec<f64> {
        folder.values(key, column).into_iter().map(|value| value.1).collect()
    };
    let goodput = |key: &Key| Summary::of(&values(key, GOODPUT)).map_or(0.0, |of| of.mean);
    let here = || keys.iter().filter(|key| key.point == point);
    let own = here().filter(|key| key.flow == flow);
    let method = |key: &&'a Key| {
        let others = here().filter(|other| other.method == key.method && other.flow != flow);
        Some(Of {
            method: &key.method,
            p99_ms: Summary::of(&values(key, P99))?,
            own: goodput(key),
            others: others.map(|other| goodput(other)).sum(),
        })
    };
    own.filter_map(method).collect()
}

fn with_notes(of: &Grid) -> String {
    format!("{}{}", grid(of), list("reading", &of.notes))
}
