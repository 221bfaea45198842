//! The page of a comparison: one HTML file with its style, pictures and script, without external
//! resources. A script makes its tables sortable and its figures over time interactive. Without
//! scripts the page shows the same tables and pictures.

mod answer;
mod study;

pub use study::Study;

use crate::export::COLUMNS;
use crate::figure::{self, Figure, Figures, Palette, escape};
use crate::table::{self, Grid, RowKind};
use crate::{CHART_STYLE, CHARTS};
use justfull_lab::model::summary::Metric;
use justfull_lab::model::{ClaimTable, Comparison, Family, Group, Verdict};
use serde_json::Value;
use std::fmt::Write;

const SCRIPT: &str = include_str!("html/report.js");
const PAGE: &str = include_str!("page.html");
const STYLE: &str = concat!(include_str!("style.css"), include_str!("figure/dark.css"));

/// The page of `comparison` with its `figures`. All text of the comparison is escaped.
#[must_use]
pub fn html(comparison: &Comparison, figures: &Figures) -> String {
    let families = comparison.families();
    let mut results = String::new();
    let headings = headings(comparison, &families);
    for (i, family) in families.iter().enumerate() {
        results.push_str(&family_section(family, headings[i], i, figures));
    }
    let charts = if results.len() <= MOST_RESULTS { charts(comparison) } else { Vec::new() };
    fill(
        PAGE,
        &[
            ("title", &escape(&comparison.title)),
            ("style", STYLE),
            ("notes", &list("notes", &comparison.notes)),
            (
                "broken",
                &warning("These runs contradict themselves and are left out:", &comparison.broken),
            ),
            ("missing", &warning("These runs are missing:", &comparison.missing)),
            ("answer", &answer::answer(comparison)),
            ("facts", &facts(comparison)),
            ("contents", &contents(comparison, &headings)),
            ("results", &results),
            ("claims", &comparison.claims.as_ref().map_or_else(String::new, claims)),
            ("scenario", &escape(&comparison.scenario_toml)),
            ("metrics", &metrics()),
            ("columns", &columns()),
            ("script", &script(&charts)),
        ],
    )
}

/// Most bytes of tables and pictures in a page with charts; a larger page has no charts.
const MOST_RESULTS: usize = 1_500_000;
/// Most charts of a page.
const MOST_CHARTS: usize = 2;

/// The data of the first charts.
fn charts(comparison: &Comparison) -> Vec<Value> {
    let palette = Palette::of(comparison);
    let groups = comparison.groups.iter().zip(1..);
    let charts = groups.flat_map(|(group, number)| figure::charts(group, number, &palette));
    charts.take(MOST_CHARTS).collect()
}

/// The script of a page, with the data and the library of its `charts`.
fn script(charts: &[Value]) -> String {
    let mut out = String::new();
    if !charts.is_empty() {
        // In a script `<` may begin the end tag.
        let data = Value::from(charts).to_string().replace('<', "\\u003c");
        let _ = write!(
            out,
            "<style>{CHART_STYLE}</style>\n<script type=\"application/json\" \
             id=\"charts\">{data}</script>\n<script>{CHARTS}</script>\n"
        );
    }
    let _ = writeln!(out, "<script>\n{SCRIPT}</script>");
    out
}

/// `template` with each `{{name}}` replaced, in one pass: inserted text is not expanded again.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").expect("the template closes its braces");
        let value = values.iter().find(|(key, _)| *key == name);
        out.push_str(value.unwrap_or_else(|| panic!("the template needs {name}")).1);
        out.push_str(rest);
    }
    out
}

fn list(class: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items.iter().map(|item| format!("<li>{}</li>", escape(item))).collect();
    format!("<ul class=\"{class}\">{items}</ul>")
}

/// A prominent box that lists `runs`.
fn warning(heading: &str, runs: &[String]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    format!("<div class=\"warning\"><strong>{heading}</strong>{}</div>", list("plain", runs))
}

/// The facts of the run, as a list of terms.
fn facts(comparison: &Comparison) -> String {
    let seeds: Vec<String> = comparison.seeds().iter().map(u64::to_string).collect();
    let runs = comparison.groups.iter().map(|g| g.runs.len()).sum::<usize>();
    let first = comparison.groups.iter().flat_map(|g| &g.runs).next();
    let time = first.map(|r| format!("{} s, measured from {} s", r.duration_s, r.warmup_s));
    let facts = [
        ("Command", Some(format!("<code>{}</code>", escape(&comparison.command)))),
        ("Version", Some(escape(&comparison.version))),
        ("Runs", Some(runs.to_string())),
        ("Seeds", Some(seeds.join(", "))),
        (if comparison.live { "Real time" } else { "Simulated time" }, time),
    ];
    terms(facts.into_iter().filter_map(|(term, text)| text.map(|text| (term, text))))
}

/// A list of terms and their texts in HTML.
fn terms<'a>(given: impl Iterator<Item = (&'a str, String)>) -> String {
    given.fold(String::new(), |mut out, (term, text)| {
        let _ = write!(out, "<dt>{term}</dt><dd>{text}</dd>");
        out
    })
}

/// The headings of the sections. A heading equal to the title of the page becomes "Results".
fn headings<'a>(comparison: &Comparison, families: &[Family<'a>]) -> Vec<&'a str> {
    let heading = |family: &Family<'a>| match family.label == comparison.title {
        true => "Results",
        false => family.label,
    };
    families.iter().map(heading).collect()
}

fn contents(comparison: &Comparison, headings: &[&str]) -> String {
    let mut out = String::new();
    let mut entry = |anchor: &str, text: &str| {
        let _ = write!(out, "<li><a href=\"#{anchor}\">{}</a></li>", escape(text));
    };
    for (i, heading) in headings.iter().enumerate() {
        entry(&format!("family-{}", i + 1), heading);
    }
    if comparison.claims.is_some() {
        entry("claims", "Claims");
    }
    entry("scenario", "Scenario");
    entry("glossary", "Glossary");
    out
}

/// The content of the second table of a group.
const MORE: &str = "Shares within TTIs, unused capacity, jitter, late packets, fairness";

/// Tables and figures of one sweep: a figure and a table, then folded parts: the tables of the
/// other points, the figures over the sweep, and each point.
fn family_section(family: &Family<'_>, heading: &str, index: usize, figures: &Figures) -> String {
    let number = index + 1;
    let mut out = format!("<section id=\"family-{number}\"><h2>{}</h2>\n", escape(heading));
    let figures_html = |of: &[&Figure]| figures_html(of.iter().copied(), family.label);
    let mut notes: Vec<String> = Vec::new();
    let mut tables = family.groups.iter().map(|(_, group)| group_tables(group, &mut notes));
    let first = tables.next().unwrap_or_default();
    let others: String = tables.collect();
    let mut seen = std::collections::BTreeSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    let mut spanning: Vec<&Figure> = figures.families[index].iter().collect();
    let mut points: Vec<(String, Vec<&Figure>)> = family
        .groups
        .iter()
        .map(|(index, group)| {
            let name = match group.x {
                Some(_) => format!("Figures: {}", group.x_text()),
                None => "More figures".into(),
            };
            (name, figures.groups[*index].iter().collect())
        })
        .collect();
    // A sweep shows its figures over all points, a single point its figures over time.
    let from = match &mut points[..] {
        [(_, figures)] => {
            figures.append(&mut spanning);
            figures
        }
        _ => &mut spanning,
    };
    let lead: Vec<&Figure> = from.drain(..from.len().min(1)).collect();
    let lead = figures_html(&lead);
    out.extend([lead, first, list("reading", &notes)]);
    out.push_str(&folded("Tables: the other points", &others));
    out.push_str(&folded("Figures: all points", &figures_html(&spanning)));
    for (name, figures) in points {
        out.push_str(&folded(&name, &figures_html(&figures)));
    }
    out.push_str("</section>\n");
    out
}

/// The tables of one point, two so that each fits a screen; their notes go to `notes`.
fn group_tables(group: &Group, notes: &mut Vec<String>) -> String {
    let (first, mut rest) = (table::methods(&group.runs), table::rest(&group.runs));
    rest.rows.iter_mut().for_each(|row| row.note.clear());
    let heading = match group.x {
        Some(_) => format!("<h3>{}</h3>\n", escape(&group.x_text())),
        None => String::new(),
    };
    let (shown, more) = (grid(&first), grid(&rest));
    notes.extend(first.notes.into_iter().chain(rest.notes).chain(table::settings(group)));
    format!("{heading}{shown}<details class=\"more\"><summary>{MORE}</summary>{more}</details>\n")
}

fn figures_html<'a>(figures: impl IntoIterator<Item = &'a Figure>, section: &str) -> String {
    figures.into_iter().map(|figure| figure_html(figure, section)).collect()
}

/// `body` folded under its `summary`; empty if `body` is empty.
fn folded(summary: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    let summary = escape(summary);
    format!("<details class=\"figures\"><summary>{summary}</summary>\n{body}</details>\n")
}

/// The figure under a title that ends before the label of its `section`, which is in a heading.
fn figure_html(figure: &Figure, section: &str) -> String {
    let label = format!(": {section}");
    let end = figure.title.find(&label).filter(|_| !section.is_empty());
    format!(
        "<figure id=\"{}\"><h4>{}</h4><div \
         class=\"plot\">{}</div><figcaption>{}</figcaption></figure>\n",
        escape(&figure.id),
        escape(&figure.title[..end.unwrap_or(figure.title.len())]),
        figure.svg,
        escape(&figure.caption)
    )
}

/// A table in a box that scrolls sideways if necessary, and says so.
fn grid(grid: &Grid) -> String {
    // The name of a row stays visible while the table scrolls; a name in two parts shares one cell.
    let labels = if grid.header.get(1).is_some_and(|name| name == "flow") { 2 } else { 1 };
    let class = |i: usize| if i >= grid.numbers_from { " class=\"n\"" } else { "" };
    let verdict_column = grid.header.iter().position(|name| name == "verdict");
    let mut out = String::from("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
    let _ = write!(out, "<th scope=\"col\">{}</th>", escape(&grid.header[..labels].join(", ")));
    for (i, name) in grid.header.iter().enumerate().skip(labels) {
        let _ = write!(
            out,
            "<th scope=\"col\"{}>{}</th>",
            class(i),
            escape(name).replace('\n', "<br>")
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &grid.rows {
        let kind = match row.kind {
            RowKind::Reference => " class=\"reference\"",
            RowKind::Part => " class=\"part\"",
            RowKind::Method | RowKind::Claim(_) => "",
        };
        let _ = write!(out, "<tr{kind}>{}", row_name(&row.cells[..labels], row.kind));
        for (i, cell) in row.cells.iter().enumerate().skip(labels) {
            let _ = match row.kind {
                RowKind::Claim(verdict) if Some(i) == verdict_column => {
                    write!(
                        out,
                        "<td class=\"verdict {}\">{}</td>",
                        verdict_class(verdict),
                        escape(cell)
                    )
                }
                _ => write!(out, "<td{}>{}</td>", class(i), escape(cell)),
            };
        }
        out.push_str("</tr>\n");
        if !row.note.is_empty() {
            let across = grid.header.len() - labels + 1;
            let note = escape(&row.note);
            let _ = writeln!(
                out,
                "<tr class=\"note\"><td colspan=\"{across}\"><span>{note}</span></td></tr>"
            );
        }
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// The cell that names a row.
fn row_name(cells: &[String], kind: RowKind) -> String {
    let tag = if matches!(kind, RowKind::Claim(_)) { "<td>" } else { "<th scope=\"row\">" };
    let (name, part) =
        (cells.first().map_or("", String::as_str), cells.get(1).map_or("", String::as_str));
    let part = match part {
        "" => String::new(),
        part => format!("<span class=\"flow\">{}</span>", escape(part)),
    };
    format!("{tag}{}{part}</{}>", escape(name), if tag == "<td>" { "td" } else { "th" })
}

fn claims(claims: &ClaimTable) -> String {
    let table = table::claims(claims);
    let parts = [table::worlds(claims), table::switches(claims)];
    let parts: Vec<&Grid> = parts.iter().flatten().collect();
    let reading =
        parts.iter().flat_map(|part| &part.notes).fold(table.notes.clone(), |mut all, note| {
            all.push(note.clone());
            all
        });
    format!(
        "<section id=\"claims\"><h2>Claims of {}</h2><p>{}</p>{}{}{}{}</section>\n",
        escape(&claims.paper),
        escape(&claims.tally()),
        list("notes", &claims.notes),
        grid(&table),
        parts.into_iter().map(grid).collect::<String>(),
        list("reading", &reading)
    )
}

fn metrics() -> String {
    let row = |metric: &Metric| (metric.name(), metric.unit(), metric.meaning());
    definitions(Metric::ALL.iter().map(row))
}

fn columns() -> String {
    definitions(COLUMNS.iter().map(|c| (c.name, c.unit, c.meaning)))
}

fn definitions(rows: impl Iterator<Item = (&'static str, &'static str, &'static str)>) -> String {
    rows.fold(String::new(), |mut out, (name, unit, meaning)| {
        let (unit, meaning) = (escape(unit), escape(meaning));
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><code>{name}</code></th><td>{unit}</td><td>{meaning}</td></tr>"
        );
        out
    })
}

/// Name of the class of `verdict` in the style sheet.
const fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Met => "met",
        Verdict::Explained => "explained",
        Verdict::Missed => "missed",
        Verdict::NotRun => "not-run",
    }
}

#[cfg(test)]
mod tests {
    use super::{html as page_with, *};
    use crate::figure;
    use justfull_lab::model::example;

    fn html(comparison: &Comparison) -> String {
        page_with(comparison, &Figures::of(comparison))
    }

    #[test]
    fn the_page_holds_every_figure_once_and_every_table() {
        let comparison = example::comparison(2);
        let page = html(&comparison);
        for figure in Figures::of(&comparison).iter() {
            assert_eq!(
                page.matches(&format!("<figure id=\"{}\"", figure.id)).count(),
                1,
                "{}",
                figure.id
            );
        }
        assert_eq!(
            page.matches("<th scope=\"col\">method, flow</th>").count(),
            2 * comparison.groups.len()
        );
        for word in [
            "interval 70 ms",
            "met",
            "explained",
            "missed",
            "not run",
            "justfull compare",
            "Glossary",
        ] {
            assert!(page.contains(word), "{word}");
        }
        assert!(!page.contains("{{"), "the template is filled");
    }

    #[test]
    fn the_page_says_what_tells_methods_apart_and_whether_its_time_was_real() {
        let mut comparison = example::comparison(1);
        let page = html(&comparison);
        let settings = "<li>CoDel: rlc.queue.aqm = codel (target 15ms, interval 300ms)</li>";
        assert_eq!(page.matches(settings).count(), 1, "once for all points of a sweep");
        assert!(page.contains("<dt>Simulated time") && !page.contains("<dt>Real time"));
        comparison.live = true;
        let page = html(&comparison);
        assert!(page.contains("<dt>Real time") && !page.contains("<dt>Simulated time"));
    }

    #[test]
    fn a_sweep_begins_with_what_it_asks_and_all_its_figures_have_colours_for_dark_screens() {
        let comparison = example::comparison(1);
        let page = html(&comparison);
        let first = page.split("<figure id=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(first, Some("sweep-1"));
        let figures = Figures::of(&comparison);
        assert_eq!(page.matches(figure::DARK).count(), 1);
        assert_eq!(page.matches("<svg class=\"jf\"").count(), figures.iter().count());
        assert!(figures.iter().all(|figure| figure.standalone().contains(figure::DARK)));
    }

    #[test]
    fn charts_and_pictures_have_the_same_hues_on_a_dark_screen() {
        let list = SCRIPT.split("const HUES = {").nth(1).and_then(|rest| rest.split('}').next());
        let hues: Vec<&str> =
            list.expect("the hues").split('"').filter(|part| part.starts_with('#')).collect();
        assert_eq!(hues.len(), 2 * 9, "eight colours and black");
        for pair in hues.chunks(2).filter(|pair| pair[0] != "#000000") {
            let rule = format!("[stroke='{}'] {{ stroke: {}; }}", pair[0].to_uppercase(), pair[1]);
            assert!(figure::DARK.contains(&rule), "{rule}");
        }
    }

    #[test]
    fn no_heading_repeats_the_title_of_the_page() {
        let mut comparison = example::comparison(1);
        comparison.groups.truncate(1);
        comparison.title.clone_from(&comparison.groups[0].label);
        let page = html(&comparison);
        let title = escape(&comparison.title);
        for tag in ["h2", "h4", "summary"] {
            let mark = format!("<{tag}>");
            let mut texts = page.split(&mark).skip(1).filter_map(|rest| rest.split('<').next());
            assert!(!texts.any(|text| text.contains(&title)), "{tag}");
        }
        assert_eq!(page.matches(&format!(">{title}</h1>")).count(), 1);
        assert!(page.contains("<h2>Results</h2>") && page.contains("#family-1\">Results</a>"));
        let sweep = html(&example::comparison(1));
        let headings = sweep.matches(&format!("<h2>{title}</h2>")).count();
        assert_eq!(headings, 1, "a label of its own stays");
    }

    #[test]
    fn the_page_loads_nothing_and_runs_only_its_own_script() {
        let page = html(&example::comparison(1));
        assert_eq!(page.matches("<script").count(), 3, "data, library, script");
        // The name of SVG's elements is no address that a browser loads.
        let page = page.replace("\"http://www.w3.org/2000/svg\"", "").replace(CHARTS, "");
        for word in ["http:", "https:", "<link", "<img", "@import", "url(", "src=", "fetch("] {
            assert!(!page.contains(word), "{word}");
        }
        let links = page.split("href=\"").skip(1);
        for target in links.filter_map(|rest| rest.split('"').next()) {
            let id = target.strip_prefix('#').expect("links stay on the page");
            assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
        }
    }

    #[test]
    fn a_chart_has_the_bins_of_the_figure_that_it_belongs_to() {
        let comparison = example::comparison(1);
        let page = html(&comparison);
        let found = charts(&comparison);
        assert!(!found.is_empty());
        for chart in &found {
            let id = chart["id"].as_str().expect("an id");
            assert!(page.contains(&format!("<figure id=\"{id}\"")), "{id}");
            let number: usize = id.rsplit('-').next().and_then(|n| n.parse().ok()).expect("one");
            let group = &comparison.groups[number - 1];
            for panel in chart["panels"].as_array().expect("panels") {
                for line in panel["methods"].as_array().expect("methods") {
                    let run = group.runs.iter().find(|run| run.method == line["name"]);
                    let series = &run.expect("its run").series;
                    let flow = series.flows.iter().find(|flow| flow.name == panel["name"]);
                    let flow = flow.expect("its flow");
                    let mid = line["mid"].as_array().expect("bins");
                    assert_eq!(mid.len(), flow.goodput_mbit_s.len(), "{id}");
                    let expected = match chart["log"] == true {
                        true => flow.delay_ms.iter().map(|bin| bin.map(|b| b[1])).collect(),
                        false => flow.goodput_mbit_s.iter().map(|v| Some(*v)).collect::<Vec<_>>(),
                    };
                    for (found, expected) in mid.iter().zip(expected) {
                        let near =
                            |value: f64| (found.as_f64().unwrap_or(-1.0) - value).abs() < 0.1;
                        assert!(expected.map_or(found.is_null(), near), "{id}: {found}");
                    }
                }
            }
        }
    }

    #[test]
    fn broken_runs_stand_above_all_tables_and_idle_mechanisms_beside_their_rows() {
        let mut comparison = example::comparison(2);
        comparison.broken = vec!["t20: DRQL, seed 2: goodput above the capacity".into()];
        for run in comparison.groups[0].runs.iter_mut().filter(|run| run.method == "DRQL") {
            run.never_acted.push("limiter".into());
        }
        let page = html(&comparison);
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(
            at("contradict themselves") < at("<table>")
                && at("DRQL, seed 2: goodput above") < at("<table>")
        );
        assert_eq!(page.matches("DRQL: never acted: limiter<").count(), 1);
        assert!(!html(&example::comparison(1)).contains("contradict themselves"));
    }

    #[test]
    fn text_from_outside_is_escaped_everywhere() {
        let evil = "<script>alert('x')</script>{{title}}";
        let mut comparison = example::comparison(1);
        comparison.groups.truncate(1);
        comparison.title = evil.into();
        comparison.notes = vec![evil.into()];
        comparison.missing = vec![evil.into()];
        comparison.broken = vec![evil.into()];
        comparison.command = evil.into();
        comparison.version = evil.into();
        comparison.scenario_toml = evil.into();
        comparison.groups[0].label = evil.into();
        comparison.groups[0].runs[0].method = evil.into();
        comparison.groups[0].runs[0].never_acted = vec![evil.into()];
        let claims = comparison.claims.as_mut().expect("claims");
        claims.paper = evil.into();
        claims.rows[0].what = evil.into();
        let page = html(&comparison);
        assert_eq!(page.matches("<script").count(), 3, "its own");
        let pages = page.replace("\\u003cscript>alert('x')\\u003c/script>", "");
        assert!(!pages.contains("alert('x')"), "only as text of the charts");
        assert!(page.matches("&lt;script&gt;").count() >= 10);
    }

    #[test]
    fn tags_are_balanced() {
        let page = html(&example::comparison(1));
        for tag in [
            "section", "figure", "table", "tr", "td", "details", "div", "svg", "main", "body",
            "html",
        ] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }

    #[test]
    fn a_large_comparison_stays_below_three_megabytes() {
        let mut comparison = example::comparison(1);
        let groups = comparison.groups.clone();
        for name in ["scenario 1, train-like", "scenario 2, pedestrian-like"] {
            comparison
                .groups
                .extend(groups.iter().cloned().map(|g| Group { label: name.into(), ..g }));
        }
        let size = html(&comparison).len();
        assert!(size < 3_000_000, "{size} bytes");
    }

    #[test]
    fn an_empty_comparison_still_gives_a_page() {
        let page = html(&Comparison { title: "nothing ran".into(), ..Comparison::default() });
        assert!(page.contains("<h1>nothing ran</h1>") && !page.contains("id=\"claims\""));
    }
}
