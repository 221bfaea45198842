//! The JSON Schema (2020-12) of a scenario file, from the parameters' own data: `justfull schema`.

use crate::file::ScenarioFile;
use crate::kinds;
use crate::method::Method;
use justfull_base::bounds::key;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::param::{Form, TextForm};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The schema. Rules between keys, and sizes relative to the MTU, appear only in descriptions;
/// `justfull check` checks them.
#[must_use]
pub fn schema() -> Value {
    let mut root = table(root(), None);
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "justfull scenario".into();
    root
}

/// The keys of a scenario, described once for a process.
pub(crate) fn root() -> &'static [ParamDoc] {
    static ROOT: LazyLock<Vec<ParamDoc>> = LazyLock::new(|| {
        let mut params = ScenarioFile::params();
        params.push(ParamDoc {
            required: false,
            default: "none".into(),
            ..key::<Vec<Method>>("method", "Methods of this scenario's own.")
        });
        params
    });
    &ROOT
}

/// A table with `params` and no other key, and with the kind that `doc` describes, if any.
fn table(params: &[ParamDoc], doc: Option<&MethodDoc>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(doc) = doc {
        properties.insert("kind".into(), json!({ "const": doc.name }));
        required.push("kind");
    }
    for param in params {
        properties.insert(param.name.into(), property(param));
        if param.required {
            required.push(param.name);
        }
    }
    let mut table = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if let Some(doc) = doc {
        table["description"] = doc.title.into();
    }
    table
}

fn property(param: &ParamDoc) -> Value {
    let mut value = form(&param.form);
    let limits =
        [(param.low, "minimum", "exclusiveMinimum"), (param.high, "maximum", "exclusiveMaximum")];
    for (limit, included, excluded) in limits {
        if let Some((at, is_included)) = limit {
            value[if is_included { included } else { excluded }] = number(at);
        }
    }
    if kinds::holds(param.name) {
        value = with_bare_names(value, &param.form);
    }
    let (text, unit, bounds) = (param.text, param.unit, &param.bounds);
    value["description"] = format!("{text} Unit: {unit}. Allowed: {bounds}.").into();
    if !param.required && param.default != "none" && !matches!(param.form, Form::Table(_)) {
        value["default"] = written(&param.default);
    }
    value
}

/// A whole number as an integer of JSON.
fn number(at: f64) -> Value {
    if at.fract() == 0.0 && at.abs() < 9e15 { json!(at as i64) } else { json!(at) }
}

/// A default as data: numbers, lists and booleans as such, any other value as text.
fn written(default: &str) -> Value {
    serde_json::from_str(default).unwrap_or_else(|_| default.into())
}

/// Also allows `name` for `{ kind = "name" }`.
fn with_bare_names(table: Value, form: &Form) -> Value {
    let names = match form {
        Form::Kinds(docs) => docs.iter().map(|doc| doc.name).collect(),
        Form::Table(params) => match params.iter().find(|param| param.name == "kind") {
            Some(ParamDoc { form: Form::Choice(names), .. }) => names.clone(),
            _ => return table,
        },
        _ => return table,
    };
    json!({ "anyOf": [{ "enum": names }, table] })
}

fn form(form: &Form) -> Value {
    let any_of = |forms: Vec<Value>| json!({ "anyOf": forms });
    match form {
        Form::Bool => json!({ "type": "boolean" }),
        Form::Integer(least, most) => {
            let mut integer = json!({ "type": "integer", "minimum": least });
            // TOML's integers are signed and have 64 bits.
            if *most < i64::MAX as u64 {
                integer["maximum"] = json!(most);
            }
            integer
        }
        Form::Number => json!({ "type": "number" }),
        Form::Text(TextForm { pattern: "", .. }) => json!({ "type": "string" }),
        Form::Text(TextForm { pattern, .. }) => json!({ "type": "string", "pattern": pattern }),
        Form::Choice(names) => json!({ "enum": names }),
        Form::List(item, None) => json!({ "type": "array", "items": self::form(item) }),
        Form::List(item, Some(n)) => {
            json!({ "type": "array", "items": self::form(item), "minItems": n, "maxItems": n })
        }
        Form::Map(item) => json!({ "type": "object", "additionalProperties": self::form(item) }),
        Form::Table(params) => table(params, None),
        Form::Kinds(docs) => {
            any_of(docs.iter().map(|doc| table(&doc.params(), Some(doc))).collect())
        }
        Form::OneOf(forms) => any_of(forms.iter().map(self::form).collect()),
        Form::Any => json!({}),
    }
}
