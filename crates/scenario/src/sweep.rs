//! A setting, or several at once, with consecutive values.

use super::method::Settings;
use crate::near;
use justfull_base::bounds::key;
use justfull_base::doc::ParamDoc;
use justfull_base::param::{Form, Param};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use toml::Value;

/// A setting with consecutive values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepFile {
    /// The settings that take the values.
    pub path: SweepPath,
    /// Its values.
    pub values: Vec<Value>,
    /// Name for axes and columns; ends in the unit, e.g. `interval_ms`.
    pub label: String,
}

/// The settings that take the values of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SweepPath {
    /// The dotted path of one setting, which takes the values unchanged.
    One(String),
    /// Several paths, each with its share of the value: half of a round trip of `"4ms"` for each
    /// direction.
    Parts(BTreeMap<String, f64>),
    /// The settings for each value, by its text: for example a bearer's rate and all related
    /// settings.
    Points(BTreeMap<String, Settings>),
}

/// The allowed paths, in words.
const ALLOWED: &str = "a dotted path, a table of dotted paths and the part of the value, above 0, that each gets, or \
     a table of the values and what each sets";

/// The values allowed if several paths take shares.
const ALLOWED_PARTS: &str =
    "a number or a quantity such as \"4ms\", of which each path gets a part";

impl<'de> Deserialize<'de> for SweepPath {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let wrong = |found: &dyn fmt::Display| {
            serde::de::Error::custom(format!("invalid value: {found}, expected {ALLOWED}"))
        };
        // A list or a table may be long.
        let shown = |found: &Value| match found {
            Value::Array(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
            plain => plain.to_string(),
        };
        let table = match Value::deserialize(d)? {
            Value::String(path) => return Ok(Self::One(path)),
            Value::Table(table) if !table.is_empty() => table,
            other => return Err(wrong(&shown(&other))),
        };
        if table.values().all(Value::is_table) {
            let points =
                Value::Table(table).try_into().map_err(|e: toml::de::Error| wrong(&e.message()))?;
            return Ok(Self::Points(points));
        }
        let part = |(path, part): (String, Value)| {
            let number = part.as_float().or_else(|| part.as_integer().map(|n| n as f64));
            let number = number.filter(|n| n.is_finite() && *n > 0.0);
            number.map(|n| (path, n)).ok_or_else(|| wrong(&shown(&part)))
        };
        table.into_iter().map(part).collect::<Result<_, _>>().map(Self::Parts)
    }
}

impl fmt::Display for SweepPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.paths().join(", "))
    }
}

impl SweepPath {
    /// The paths, each once.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Self::One(path) => vec![path],
            Self::Parts(parts) => parts.keys().map(String::as_str).collect(),
            Self::Points(points) => {
                let mut paths: Vec<&str> =
                    points.values().flat_map(Settings::iter).map(|(path, _)| path).collect();
                paths.sort_unstable();
                paths.dedup();
                paths
            }
        }
    }

    /// The settings for the value `value` of the sweep.
    ///
    /// # Errors
    /// The value, which has no shares or no settings, and the values allowed.
    pub(super) fn settings(&self, value: &Value) -> Result<Settings, (String, String)> {
        match self {
            Self::One(path) => Ok(Settings::one(path, value.clone())),
            Self::Parts(parts) => {
                let all =
                    parts.iter().map(|(path, share)| Ok((path.clone(), part(value, *share)?)));
                all.collect::<Result<BTreeMap<_, _>, String>>()
                    .map(Settings::from)
                    .map_err(|found| (found, ALLOWED_PARTS.into()))
            }
            Self::Points(points) => {
                let name = value.as_str().map_or_else(|| value.to_string(), String::from);
                points.get(&name).cloned().ok_or_else(|| {
                    let known: Vec<&str> = points.keys().map(String::as_str).collect();
                    let allowed = near::allowed(&name, &known, "a value that sweep.path has");
                    (value.to_string(), allowed)
                })
            }
        }
    }
}

/// `share` of `value`, a number or a text that begins with one, e.g. `4ms`.
fn part(value: &Value, share: f64) -> Result<Value, String> {
    let whole = |x: f64| x.fract() == 0.0 && x.abs() < 9e15;
    match value {
        Value::Integer(n) if whole(*n as f64 * share) => {
            Ok(Value::Integer((*n as f64 * share) as i64))
        }
        Value::Integer(n) => Ok(Value::Float(*n as f64 * share)),
        Value::Float(x) => Ok(Value::Float(x * share)),
        Value::String(text) => {
            let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
            let (number, unit) = text.split_at(end);
            let number: f64 = number.parse().map_err(|_| value.to_string())?;
            // Rounding in the last digits is below the resolution of every unit.
            let share = (number * share * 1e9).round() * 1e-9;
            Ok(Value::String(format!("{}{unit}", (share * 1e9).round() / 1e9)))
        }
        other => Err(other.to_string()),
    }
}

impl Param for SweepFile {
    const UNIT: &'static str = "table";

    fn form() -> Form {
        let path = key::<String>(
            "path",
            "Dotted path of the setting, or a table of paths and the part of the value that each \
             gets, or a table of the values and the settings of each.",
        );
        let parts = Form::Map(Box::new(Form::Number));
        let points = Form::Map(Box::new(Form::Map(Box::new(Form::Any))));
        let values = key::<Vec<String>>("values", "Its values.");
        Form::Table(vec![
            ParamDoc { form: Form::OneOf(vec![path.form.clone(), parts, points]), ..path },
            ParamDoc { form: Form::List(Box::new(Form::Any), None), ..values },
            key::<String>(
                "label",
                "Name for axes and columns; ends in the unit, e.g. interval_ms.",
            ),
        ])
    }

    fn written(&self) -> String {
        self.path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, value: Value) -> Result<String, String> {
        let text = format!("path = {path}\nvalues = []\nlabel = \"x\"\n");
        let sweep: SweepFile = toml::from_str(&text).map_err(|e| e.message().to_string())?;
        let settings = sweep.path.settings(&value).map_err(|(found, _)| found)?;
        Ok(settings.iter().map(|(path, value)| format!("{path}={value} ")).collect())
    }

    #[test]
    fn each_path_gets_its_part_of_the_value() {
        let halves = "{ \"core.delay\" = 0.5, \"uplink.delay\" = 0.25 }";
        let text = |t: &str| Value::String(t.into());
        for (value, wanted) in [
            (text("1ms"), "core.delay=\"0.5ms\" uplink.delay=\"0.25ms\" "),
            (text("0.3 ms"), "core.delay=\"0.15 ms\" uplink.delay=\"0.075 ms\" "),
            (Value::Integer(8), "core.delay=4 uplink.delay=2 "),
            (Value::Integer(2), "core.delay=1 uplink.delay=0.5 "),
            (Value::Float(0.5), "core.delay=0.25 uplink.delay=0.125 "),
        ] {
            assert_eq!(of(halves, value).as_deref(), Ok(wanted));
        }
        assert_eq!(of("{ a = 3 }", text("0.1ms")).as_deref(), Ok("a=\"0.3ms\" "));
        assert_eq!(of("\"a.b\"", Value::Boolean(true)).as_deref(), Ok("a.b=true "));
    }

    #[test]
    fn a_value_may_stand_for_settings_of_its_own() {
        let points = "{ slow = { a = 1, \"b.c\" = \"x\" }, 8 = { a = 2 } }";
        let text = Value::String("slow".into());
        assert_eq!(of(points, text).as_deref(), Ok("a=1 b.c=\"x\" "));
        assert_eq!(of(points, Value::Integer(8)).as_deref(), Ok("a=2 "));
        assert_eq!(of(points, Value::Integer(9)), Err("9".into()), "nothing is set there");
        let text = format!("path = {points}\nvalues = []\nlabel = \"x\"\n");
        let sweep: SweepFile = toml::from_str(&text).expect("it is sound");
        assert_eq!(sweep.path.paths(), ["a", "b.c"]);
    }

    #[test]
    fn a_value_without_parts_is_one_error() {
        for (path, value) in [
            ("{ a = 0.5 }", Value::Boolean(true)),
            ("{ a = 0.5 }", Value::String("fast".into())),
            ("{ a = 0 }", Value::Integer(1)),
            ("{ a = \"half\" }", Value::Integer(1)),
            ("{ a = inf }", Value::Integer(1)),
            ("{}", Value::Integer(1)),
            ("{ a = 0.5, b = { c = 1 } }", Value::Integer(1)),
            ("7", Value::Integer(1)),
        ] {
            assert!(of(path, value.clone()).is_err(), "{path}, {value}");
        }
        let list = of("[{ a = 1 }, 2]", Value::Integer(1)).expect_err("a list");
        assert!(list.starts_with("invalid value: a list, expected a dotted path"), "{list}");
    }
}
