//! `justfull explain --json`: the answer of [`super::explain`] for programs.

use super::{COLUMN_FILES, description, explained, redefined};
use crate::read;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_scenario::keys::{self, Key};
use justfull_scenario::library;
use justfull_scenario::{Method, MethodLibrary};
use justfull_trace::FileFormat;
use serde::Serialize;

/// Something with a name, by its kind.
#[derive(Serialize)]
#[serde(tag = "what", rename_all = "lowercase")]
enum Part {
    Method {
        name: String,
        title: String,
        settings: Vec<Set>,
        /// Scenarios that have their own method of that name.
        instead: Vec<Instead>,
    },
    Algorithm {
        name: &'static str,
        kind: &'static str,
        title: &'static str,
        text: &'static str,
        parameters: Vec<Parameter>,
        sources: &'static str,
        deviations: &'static str,
    },
    Key {
        path: String,
        /// Kinds that have it; none if all have it.
        of: Vec<&'static str>,
        #[serde(flatten)]
        parameter: Parameter,
        keys: Vec<Parameter>,
        kinds: Vec<Kind>,
    },
    Column {
        name: &'static str,
        short_name: Option<String>,
        file: &'static str,
        unit: &'static str,
        text: &'static str,
    },
    Format {
        name: &'static str,
        text: &'static str,
        packet_bytes: Option<u64>,
        writes: bool,
    },
}

/// A setting of a method, for one variant or for all.
#[derive(Serialize)]
struct Set {
    variant: Option<String>,
    path: String,
    value: String,
}

#[derive(Serialize)]
struct Instead {
    scenarios: Vec<&'static str>,
    title: String,
    settings: Vec<Set>,
}

#[derive(Serialize)]
struct Kind {
    name: &'static str,
    title: &'static str,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    unit: &'static str,
    required: bool,
    /// None if it is required.
    default: Option<String>,
    allowed: String,
    text: &'static str,
}

impl From<&ParamDoc> for Parameter {
    fn from(doc: &ParamDoc) -> Self {
        Self {
            name: doc.name,
            unit: doc.unit,
            required: doc.required,
            default: (!doc.required).then(|| doc.default.clone()),
            allowed: doc.bounds.clone(),
            text: doc.text,
        }
    }
}

/// The answer of [`super::explain`] for `name`, as one line of JSON with a line feed. The answer is
/// a list, since a method, an algorithm, a key, a column and a format may have the same name. None
/// if nothing has this name.
///
/// # Panics
/// Never: every field can be written as JSON.
#[must_use]
pub fn explain_json(name: &str) -> Option<String> {
    let method = MethodLibrary::shipped().find(name).map(method);
    let docs = library::algorithms().into_iter().filter(|d| d.name.eq_ignore_ascii_case(name));
    let mut parts: Vec<Part> = method.into_iter().chain(docs.map(algorithm)).collect();
    parts.extend(keys::keys(name).iter().map(|found| key(name, found)));
    parts.extend(columns(name));
    parts.extend(name.parse().ok().map(format));
    (!parts.is_empty())
        .then(|| serde_json::to_string(&parts).expect("texts can be written as JSON") + "\n")
}

fn method(method: &Method) -> Part {
    let instead = |(scenarios, own): (Vec<&'static str>, Method)| Instead {
        scenarios,
        title: description(&own).into(),
        settings: settings(&own),
    };
    Part::Method {
        name: method.name.clone(),
        title: description(method).into(),
        settings: settings(method),
        instead: redefined(method).into_iter().map(instead).collect(),
    }
}

fn settings(method: &Method) -> Vec<Set> {
    let variants = method.variants.iter().map(|(variant, own)| (Some(variant), own));
    let all = std::iter::once((None, &method.set)).chain(variants);
    all.flat_map(|(variant, own)| {
        own.iter().map(move |(path, value)| Set {
            variant: variant.cloned(),
            path: path.to_string(),
            value: value.to_string(),
        })
    })
    .collect()
}

fn algorithm(doc: &MethodDoc) -> Part {
    Part::Algorithm {
        name: doc.name,
        kind: doc.kind,
        title: doc.title,
        text: doc.text,
        parameters: doc.params().iter().map(Parameter::from).collect(),
        sources: doc.sources,
        deviations: doc.deviations,
    }
}

fn key(path: &str, Key { kinds, param }: &Key) -> Part {
    let (below, of_kind) = keys::below(&param.form);
    Part::Key {
        path: path.into(),
        of: kinds.clone(),
        parameter: param.into(),
        keys: below.iter().map(Parameter::from).collect(),
        kinds: of_kind.iter().map(|doc| Kind { name: doc.name, title: doc.title }).collect(),
    }
}

fn columns(name: &str) -> Vec<Part> {
    let found = read::column(name);
    let short = found.map(read::alias).filter(|short| found.is_some_and(|c| c.name != short));
    let description = explained::columns(name).into_iter();
    description
        .map(|(file, (name, unit, text))| Part::Column {
            name,
            short_name: short.clone().filter(|_| file == COLUMN_FILES[0].0),
            file,
            unit,
            text,
        })
        .collect()
}

fn format(format: FileFormat) -> Part {
    Part::Format {
        name: format.name(),
        text: format.text(),
        packet_bytes: Some(format.packet_bytes()).filter(|bytes| *bytes > 1),
        writes: FileFormat::WRITTEN.contains(&format),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{explain, explained};
    use super::explain_json;
    use serde_json::Value;

    #[test]
    fn everything_that_is_explained_is_explained_as_json_and_says_the_same() {
        for name in explained() {
            let plain = explain(&name).expect("it is explained");
            let json = explain_json(&name).unwrap_or_else(|| panic!("{name}"));
            let parts: Value = serde_json::from_str(&json).expect("one document");
            let parts = parts.as_array().expect("a list");
            for part in parts {
                for field in ["title", "text", "sources", "deviations", "unit", "allowed"] {
                    let Some(description) = part[field].as_str() else { continue };
                    assert!(plain.contains(description), "{name}: {field}: {description}\n{plain}");
                }
                for list in ["parameters", "keys"] {
                    for below in part[list].as_array().into_iter().flatten() {
                        let line = format!(
                            "  {} [{}] {}; allowed: {}",
                            below["name"].as_str().expect("text"),
                            below["unit"].as_str().expect("text"),
                            match &below["default"] {
                                Value::String(default) => format!("default {default}"),
                                _ => String::new(),
                            },
                            below["allowed"].as_str().expect("text"),
                        );
                        let required = below["required"] == true;
                        assert!(required || plain.contains(&line), "{name}: {line}\n{plain}");
                    }
                }
                for set in part["settings"].as_array().into_iter().flatten() {
                    let path = set["path"].as_str().expect("text");
                    let line = format!("{path} = {}", set["value"].as_str().expect("text"));
                    assert!(plain.contains(&line), "{name}: {line}\n{plain}");
                }
            }
        }
        assert!(explain_json("no-such-thing").is_none());
    }
}
