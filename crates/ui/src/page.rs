//! The page: one document, with its script, its style and the chart library in it.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use justfull_report::figure::{Palette, dash_patterns};
use justfull_report::{CHART_STYLE, CHARTS};
use justfull_scenario::MethodLibrary;
use serde_json::{Map, Value, json};

const PAGE: &str = include_str!("../web/page.html");
const STYLE: &str = include_str!("../web/style.css");
const SCRIPTS: [&str; 6] = [
    include_str!("../web/state.js"),
    include_str!("../web/chart.js"),
    include_str!("../web/scene.js"),
    include_str!("../web/results.js"),
    include_str!("../web/live.js"),
    include_str!("../web/app.js"),
];

const LESSONS: &str = include_str!("../web/lessons.json");

/// The page of the program of `version`.
///
/// Only its own script and style may run, which the nonce names; it may send requests to its own
/// server and to no other.
pub(crate) fn page(version: &str, nonce: &str) -> Response {
    let script = SCRIPTS.join("\n");
    let html = PAGE
        .replace("{{version}}", version)
        .replace("{{nonce}}", nonce)
        .replace("{{style}}", &[CHART_STYLE, STYLE].join("\n"))
        .replace("{{charts}}", CHARTS)
        .replace("{{looks}}", &looks())
        .replace("{{dashes}}", &json!(dash_patterns().collect::<Vec<_>>()).to_string())
        .replace("{{lessons}}", LESSONS)
        .replace("{{script}}", &script);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src \
         'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static(""));
    let fields: [(HeaderName, HeaderValue); 2] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (fields, html).into_response()
}

/// Colour and dash pattern of each shipped method in figures for papers, as JSON.
fn looks() -> String {
    let names: Vec<String> = MethodLibrary::shipped().names().into_iter().map(Into::into).collect();
    let looks = Palette::of_methods(names.iter().cloned()).on_paper(&names);
    let look = looks.iter().map(|look| json!([look.colour, look.dash]));
    Value::Object(names.into_iter().zip(look).collect::<Map<_, _>>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lessons in the guide.
    const GUIDE: &str = include_str!("../../../docs/guide/lessons.md");

    /// The colours of figures on a dark screen.
    const DARK: &str = include_str!("../../report/src/figure/dark.css");

    #[test]
    fn charts_have_the_colours_of_the_reports_figures_by_day_and_by_night() {
        let list = |name: &str| -> Vec<&str> {
            let rest = SCRIPTS[0].split(&format!("const {name} = [")).nth(1).expect("a list");
            let list = rest.split(']').next().expect("its end");
            list.split('"').filter(|part| part.starts_with('#')).collect()
        };
        let (day, night) = (list("COLOURS"), list("NIGHT"));
        assert_eq!((day.len(), night.len()), (8, 8));
        for (day, night) in day.iter().zip(night) {
            let rule = format!("[fill='{}'] {{ fill: {night}; }}", day.to_uppercase());
            assert!(DARK.contains(&rule), "{rule}");
        }
    }

    #[test]
    fn the_guide_has_all_lessons_with_their_texts_questions_and_answers() {
        let lessons: Value = serde_json::from_str(LESSONS).expect("JSON");
        let lessons = lessons.as_array().expect("a list");
        assert_eq!(lessons.len(), 6);
        for lesson in lessons {
            let title = lesson["title"].as_str().expect("a title");
            assert!(GUIDE.contains(&format!("## {title}\n")), "{title}");
            let questions = lesson["questions"].as_array().expect("questions");
            assert_eq!(questions.len(), 2, "{title}");
            let texts = lesson["text"].as_array().into_iter().flatten();
            for text in questions.iter().flat_map(|one| one.as_array().expect("two")).chain(texts) {
                let text = text.as_str().expect("a text");
                for sentence in text.split_inclusive(". ") {
                    assert!(GUIDE.contains(sentence.trim()), "{title}: {sentence}");
                }
            }
        }
    }
}
