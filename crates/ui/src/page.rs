//! The page: one document, with its script, its style and the chart library in it.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

const PAGE: &str = include_str!("../web/page.html");
const STYLE: &str = include_str!("../web/style.css");
const CHART_STYLE: &str = include_str!("../web/vendor/uPlot.min.css");
const CHARTS: &str = include_str!("../web/vendor/uPlot.min.js");
const SCRIPTS: [&str; 5] = [
    include_str!("../web/state.js"),
    include_str!("../web/chart.js"),
    include_str!("../web/scene.js"),
    include_str!("../web/lessons.js"),
    include_str!("../web/app.js"),
];

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
