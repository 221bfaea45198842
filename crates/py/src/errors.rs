//! The exceptions of `justfull.errors`, raised from Rust.

use justfull_campaign::Failure;
use justfull_scenario::ScenarioError;
use justfull_trace::TraceError;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;

/// The exception called `class` of `justfull.errors`, with `text` and these attributes.
fn raised(py: Python<'_>, class: &str, text: &str, attributes: &Bound<'_, PyDict>) -> PyErr {
    let made = py
        .import("justfull.errors")
        .and_then(|errors| errors.getattr(class))
        .and_then(|class| class.call((text,), Some(attributes)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// A mistake in a scenario, with file, line, field, found value and allowed values.
pub(crate) fn scenario(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let error = &in_words_of_python(error);
    let attributes = PyDict::new(py);
    let fill = || -> PyResult<()> {
        attributes.set_item("file", error.file.display().to_string())?;
        attributes.set_item("line", error.at.map(|(line, _)| line))?;
        attributes.set_item("field", &error.field)?;
        attributes.set_item("found", &error.found)?;
        attributes.set_item("allowed", &error.allowed)?;
        attributes.set_item("method", &error.method)?;
        attributes.set_item("needs_data", error.needs_data)
    };
    match fill() {
        Ok(()) => raised(py, "ScenarioError", &error.to_string(), &attributes),
        Err(error) => error,
    }
}

/// The same mistake, whose arguments have the names that they have in Python.
fn in_words_of_python(error: &ScenarioError) -> ScenarioError {
    let mut error = error.clone();
    let argument = match error.field.as_str() {
        "--method" => Some("methods"),
        "--runs" | "--seed" => Some("seeds"),
        "--variant" => Some("variant"),
        "--switch" => Some("switches"),
        "--grid" => Some("grid()"),
        _ => None,
    };
    if let Some(argument) = argument {
        error.field = argument.into();
    }
    if error.field.starts_with("plugin.") && error.allowed.contains("--plugin") {
        error.allowed = "`settings` of a Method with that plugin".into();
    }
    if error.set_by == "--set" {
        error.set_by = "set()".into();
    }
    error
}

/// The text of an exception, after the file and line that raised it.
pub(crate) fn with_line(py: Python<'_>, error: &PyErr) -> String {
    let line = || -> PyResult<String> {
        let traceback = error.traceback(py);
        let frames = py.import("traceback")?.call_method1("extract_tb", (traceback,))?;
        let last = frames.get_item(-1)?;
        let (file, line) = (last.getattr("filename")?, last.getattr("lineno")?);
        Ok(format!("{file}, line {line}: {error}"))
    };
    line().unwrap_or_else(|_| error.to_string())
}

/// An argument that is not one of the allowed values.
pub(crate) fn argument(py: Python<'_>, field: &str, found: &str, allowed: &str) -> PyErr {
    let attributes = PyDict::new(py);
    let fill = || -> PyResult<()> {
        attributes.set_item("field", field)?;
        attributes.set_item("found", found)?;
        attributes.set_item("allowed", allowed)
    };
    let text = format!("{field}: found {found}, allowed is {allowed}");
    match fill() {
        Ok(()) => raised(py, "ArgumentError", &text, &attributes),
        Err(error) => error,
    }
}

/// An argument that is refused; `why` is the sentence.
pub(crate) fn sentence(py: Python<'_>, field: &str, found: &str, why: &str) -> PyErr {
    let attributes = PyDict::new(py);
    let allowed = why.split_once("allowed is ").map_or("", |(_, allowed)| allowed);
    let fill = || -> PyResult<()> {
        attributes.set_item("field", field)?;
        attributes.set_item("found", found)?;
        attributes.set_item("allowed", allowed)
    };
    match fill() {
        Ok(()) => raised(py, "ArgumentError", &format!("{field}: {why}"), &attributes),
        Err(error) => error,
    }
}

/// A file that is no trace.
pub(crate) fn trace(py: Python<'_>, file: &Path, error: &TraceError) -> PyErr {
    let attributes = PyDict::new(py);
    let (line, column, found, allowed) = match error {
        TraceError::Malformed { line, column, found, allowed, .. } => {
            (Some(*line), column.clone(), found.as_str(), allowed.as_str())
        }
        TraceError::Useless { option, words, .. } => {
            let option = words.bare(*option).unwrap_or_default();
            (None, option, "an option without effect", "an option of the format")
        }
        TraceError::Unusable { found, allowed, .. }
        | TraceError::Unnamed { found, allowed, .. } => {
            (None, "file".into(), found.as_str(), allowed.as_str())
        }
        _ => (None, "file".to_string(), "no file", "a file that is there"),
    };
    let fill = || -> PyResult<()> {
        attributes.set_item("file", file.display().to_string())?;
        attributes.set_item("line", line)?;
        attributes.set_item("field", column)?;
        attributes.set_item("found", found)?;
        attributes.set_item("allowed", allowed)
    };
    match fill() {
        Ok(()) => raised(py, "TraceError", &error.to_string(), &attributes),
        Err(error) => error,
    }
}

/// Why a campaign cannot continue.
pub(crate) fn campaign(py: Python<'_>, failure: &Failure) -> PyErr {
    match failure {
        Failure::Scenario(error) => scenario(py, error),
        Failure::Wrong { field, found, allowed, .. } => {
            let attributes = PyDict::new(py);
            let fill = || -> PyResult<()> {
                attributes.set_item("field", field)?;
                attributes.set_item("found", found)?;
                attributes.set_item("allowed", allowed)
            };
            match fill() {
                Ok(()) => raised(py, "ArgumentError", &failure.to_string(), &attributes),
                Err(error) => error,
            }
        }
        Failure::Disk(error) => PyOSError::new_err(error.to_string()),
    }
}
