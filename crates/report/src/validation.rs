//! The outcome of a validation as a table and as a page.

use crate::table::{self, Grid, RowKind};
use justfull_lab::model::Verdict;
use justfull_lab::stats::Summary;
use justfull_lab::validation::{Row, SCENARIOS, Validation};
use justfull_scenario::library;
use serde_json::{Value, json};
use std::fmt::Write;

/// `value` with the case's digits, without a sign before zero.
fn number(value: f64, digits: usize) -> String {
    // Adding 0 turns a negative zero into 0.
    format!("{:.digits$}", value + 0.0)
}

/// A band with one digit more than the values, so that no edge rounds onto a value beyond it.
fn band(row: &Row) -> String {
    let digits = if row.case.digits == 0 && row.band.iter().all(|b| b.fract() == 0.0) {
        0
    } else {
        row.case.digits.max(1)
    };
    let [lo, hi] = row.band;
    if lo.total_cmp(&hi).is_eq() {
        number(lo, digits)
    } else {
        format!("{} to {}", number(lo, digits), number(hi, digits))
    }
}

/// A value with its 95 % interval over runs, if it has one.
fn spread(summary: &Summary, digits: usize) -> String {
    let mean = number(summary.mean, digits);
    match *summary {
        Summary { ci95: Some(half), n, .. } => {
            format!("{mean} ± {} (n = {n})", number(half, digits))
        }
        Summary { n: 2, min, max, .. } => {
            format!("{}, {}", number(min, digits), number(max, digits))
        }
        _ => mean,
    }
}

/// The values of all runs: one number if they are equal after rounding.
fn range(summary: &Summary, digits: usize) -> String {
    let (min, max) = (number(summary.min, digits), number(summary.max, digits));
    if min == max { max } else { format!("{min} to {max} (n = {})", summary.n) }
}

/// The cells of `row`, with the kernel's values if `live`.
fn cells(row: &Row, live: bool) -> Vec<String> {
    let digits = row.case.digits;
    let published = row.case.published_text.clone().unwrap_or_else(|| {
        // A published constant keeps all its digits.
        if row.case.published.is_some() {
            row.published.to_string()
        } else {
            number(row.published, digits)
        }
    });
    let case = &row.case;
    let mut cells = vec![
        case.what.clone(),
        case.source.clone(),
        case.unit.clone(),
        published,
        if case.scenario.is_some() { range } else { spread }(&row.ours, digits),
    ];
    if live {
        cells.push(row.live.as_ref().map(|live| spread(live, digits)).unwrap_or_default());
    }
    cells.extend([band(row), row.verdict.word().to_owned()]);
    cells
}

/// The cases as a table.
#[must_use]
pub fn table(validation: &Validation) -> Grid {
    let kernel = validation.file.kernel.as_ref().map(|kernel| format!("{kernel}, live"));
    let live = kernel.is_some();
    let names = if validation.file.title.is_some() {
        ["case", "formula, source", "unit", "by hand", "measured"]
    } else {
        ["case", "source", "unit", "published", "ours (± 95 %)"]
    };
    let names = names.map(str::to_owned);
    let judged = ["band", "verdict"].map(str::to_owned);
    let header: Vec<String> = names.into_iter().chain(kernel).chain(judged).collect();
    let row = |row: &Row| table::Row::new(cells(row, live), RowKind::Claim(row.verdict));
    let rows = validation.rows.iter().map(row).collect();
    Grid { dropped_first: Vec::new(), numbers_from: header.len(), header, rows, notes: Vec::new() }
}

/// The cases as JSON, for programs.
#[must_use]
pub fn json(validation: &Validation) -> Value {
    let case = |row: &Row| {
        json!({
            "id": row.case.id, "case": row.case.what, "source": row.case.source,
            "unit": row.case.unit, "published": row.published, "band": row.band, "ours": row.ours,
            "live": row.live, "verdict": row.verdict,
        })
    };
    json!({
        "control": validation.file.control, "as_recorded": validation.as_recorded(),
        "cases": validation.rows.iter().map(case).collect::<Vec<_>>(),
    })
}

/// The page of a control, which shows its figures from the folder `figures`, or the page of the
/// figures worked out by hand.
///
/// # Panics
/// Never: every control has a description, and writing into a string does not fail.
#[must_use]
pub fn markdown(validation: &Validation, figures: &str) -> String {
    let file = &validation.file;
    let mut page = String::new();
    let mut line =
        |text: &str| writeln!(page, "{text}\n").expect("writing into a string does not fail");
    let made = format!("Made by `justfull validate {}`; do not edit.", file.control);
    if let Some(title) = &file.title {
        line(&format!("# {title}"));
        line(&made);
        line(&format!("**What is run.** {}", file.models));
        line(&format!("**Known limits.** {}", file.limits));
        line(
            "**How to read the table.** Values and bands were written down before the first run \
             of a case and are not moved after it. Every run must lie in the band. A miss stays in \
             the table.",
        );
        outcome(validation, &mut line);
        scenarios(validation, &mut line);
    } else {
        introduce(validation, &made, &mut line);
        outcome(validation, &mut line);
        if !validation.plots.is_empty() {
            line("## Figures");
        }
        for figure in &validation.plots {
            line(&format!("### {}", figure.title));
            line(&format!("![{}]({figures}/{}.svg)", figure.title, figure.id));
            line(&figure.caption);
        }
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Describes a control and how to read its table.
fn introduce(validation: &Validation, made: &str, line: &mut dyn FnMut(&str)) {
    let file = &validation.file;
    // ABC's router has the name of its sender.
    let mut docs = library::algorithms().into_iter();
    let doc = docs.find(|doc| doc.name == file.control && doc.kind != "aqm");
    let doc = doc.expect("every control describes itself");
    line(&format!("# Validation of `{}`", file.control));
    line(&format!("{}. {made}", doc.title));
    line(&format!("**What is modelled.** {}", file.models));
    line(&format!("**Sources.** {}.", doc.sources.trim_end_matches('.')));
    line(&format!("**What differs.** {}", sentence(doc.deviations)));
    line(&format!("**Known limits.** {}", file.limits));
    line(
        "**How to read the table.** Bands were written down before the first run of a case and \
         are not moved after it. Where chance plays a part, the whole 95 % interval over the \
         seeds must lie in the band. A miss stays in the table.",
    );
    if let Some(kernel) = &file.kernel {
        line(&format!(
            "**What {kernel} itself does** was measured with `justfull live` over the same path, \
             once, and is recorded beside ours. A case outside its band is explained when all \
             runs of the kernel are outside too, on the same side, or ours is among them."
        ));
    }
}

/// The table, the tally and the reasons of unmet cases.
fn outcome(validation: &Validation, line: &mut dyn FnMut(&str)) {
    line("## Cases");
    line(table::markdown(&table(validation)).trim_end());
    line(&format!("{}.", validation.tally()));
    for (verdict, title) in [(Verdict::Explained, "## Explained"), (Verdict::Missed, "## Misses")] {
        let mut rows = validation.rows.iter().filter(|row| row.verdict == verdict).peekable();
        if rows.peek().is_some() {
            line(title);
        }
        for row in rows {
            let why = row.case.why.as_deref().unwrap_or("not explained yet");
            let live = row.case.live.as_ref();
            let again = live.map(|live| format!(" Live: `{}`.", live.command));
            line(&format!("- **{}**: {why}{}", row.case.what, again.unwrap_or_default()));
        }
    }
}

/// The scenarios, each with the cases that use its results and the reasons of their bands.
fn scenarios(validation: &Validation, line: &mut dyn FnMut(&str)) {
    line("## Scenarios and bands");
    line("Each runs with `justfull run FILE`; `claims/validation/by-hand` has the files.");
    for (name, text) in SCENARIOS {
        let of_it = |row: &&Row| row.case.scenario.as_deref() == Some(*name);
        let mut own = validation.rows.iter().filter(of_it).peekable();
        if own.peek().is_none() {
            continue;
        }
        line(&format!("### {name}"));
        for row in own {
            let place = row.case.measure.as_deref().unwrap_or_default();
            let why = row.case.tolerance.as_deref().unwrap_or_default();
            line(&format!("- **{}** (`{place}`). The band: {why}.", row.case.what));
        }
        line(&format!("```toml\n{}\n```", text.trim_end()));
    }
}

/// `text` with a capital first and a full stop last.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::plot::Plot;
    use justfull_lab::validation::{CaseFile, Live};

    #[test]
    fn the_page_of_figures_by_hand_shows_formulas_scenarios_and_reasons_of_bands() {
        let mut file = CaseFile::load("by-hand").expect("it ships");
        file.cases.retain(|case| case.id == "below-delay");
        let row = Row {
            case: file.cases[0].clone(),
            published: 1.5,
            band: [1.495, 1.505],
            ours: Summary::of(&[1.4991, 1.5, 1.5012]).expect("values"),
            live: None,
            verdict: Verdict::Met,
        };
        let page = markdown(&Validation { file, rows: vec![row], plots: Vec::new() }, "figures");
        for text in [
            "# Every figure by hand\n",
            "| by hand | measured |",
            "half a slot until the first",
            "1.499 to 1.501 (n = 3)",
            "| 1.495 to 1.505 | met |",
            "(`flows.cbr.delay.mean_ms`). The band: the interval of 2.2848 ms",
            "cbr = { rate = \"5Mbit/s\" }",
        ] {
            assert!(page.contains(text), "{text} is missing in\n{page}");
        }
        assert!(!page.contains("### above"), "{page}");
    }

    #[test]
    fn a_page_shows_every_case_every_figure_and_the_reason_of_a_miss() {
        let mut file = CaseFile::load("new_reno").expect("it ships");
        file.cases.retain(|case| case.id == "jain");
        let row = |ours: f64, verdict| Row {
            case: file.cases[0].clone(),
            published: 1.0,
            band: [0.95, 1.0],
            ours: Summary::of(&[ours]).expect("a value"),
            live: None,
            verdict,
        };
        let mut missed = row(0.5, Verdict::Missed);
        missed.case.why = Some("because of a reason".into());
        let rows = vec![row(0.99, Verdict::Met), missed];
        let plot = Plot::new("an-id", "A title", "A caption", &[]);
        let mut validation = Validation { file, rows, plots: vec![plot] };
        assert!(!validation.as_recorded());
        let page = markdown(&validation, "figures");
        for text in [
            "because of a reason",
            "figures/an-id.svg",
            "A caption",
            "2 cases, 1 met, 1 missed",
            "0.950 to 1.000",
        ] {
            assert!(page.contains(text), "{text} is missing in\n{page}");
        }
        assert_eq!(table(&validation).rows[1].kind, RowKind::Claim(Verdict::Missed));
        assert!(!page.contains("live"), "{page}");

        let runs = vec![0.4, 0.6];
        let missed = &mut validation.rows[1];
        (missed.live, missed.verdict) = (Summary::of(&runs), Verdict::Explained);
        missed.case.live = Some(Live { runs, command: "justfull live it".into() });
        validation.file.kernel = Some("Linux 6.18".into());
        let page = markdown(&validation, "figures");
        for text in [
            "| Linux 6.18, live |",
            "| 0.400, 0.600 |",
            "## Explained",
            "because of a reason Live: `justfull live it`.",
            "2 cases, 1 met, 1 explained, 0 missed",
        ] {
            assert!(page.contains(text), "{text} is missing in\n{page}");
        }
        assert!(!page.contains("## Misses"), "{page}");
    }
}
