//! The identity of a row of results.

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt::{self, Formatter};

/// A flow under a method at a point of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) scenario: String,
    pub(crate) point: String,
    /// The group of a paper's claims, which run a scenario under several settings; else empty.
    pub(super) group: String,
    pub(crate) method: String,
    pub(crate) flow: String,
}

/// Reads a row and keeps only these columns.
pub(super) struct Wanted<'a>(pub(super) &'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a row, an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut row = Map::new();
        while let Some(name) = fields.next_key::<Cow<'de, str>>()? {
            if self.0.contains(&&*name) {
                row.insert(name.into_owned(), fields.next_value()?);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(row)
    }
}

/// The identity of a row: its columns other than seed and values.
#[derive(Deserialize)]
pub(super) struct Whose {
    scenario: String,
    group: String,
    x_name: String,
    x_value: String,
    /// Only in a grid.
    #[serde(default)]
    grid: String,
    method: String,
    #[serde(rename = "of", alias = "flow", default)]
    flow: String,
}

impl Key {
    /// The same key under another method.
    pub(crate) fn under(&self, method: &str) -> Self {
        Self { method: method.into(), ..self.clone() }
    }

    /// The same key for the packets in a layer.
    pub(crate) fn in_layer(&self, layer: &str) -> Self {
        Self { flow: layer.into(), ..self.clone() }
    }

    pub(super) fn of(row: &Map<String, Value>, claims: bool) -> Self {
        let text = |name: &str| match row.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let whose = Whose {
            scenario: text("scenario"),
            group: text("group"),
            x_name: text("x_name"),
            x_value: text("x_value"),
            grid: text("grid"),
            method: text("method"),
            flow: text("flow"),
        };
        Self::new(whose, claims)
    }

    pub(super) fn new(whose: Whose, claims: bool) -> Self {
        let Whose { scenario, group, x_name, x_value, grid, method, flow } = whose;
        // Only one of the two files writes whole numbers with a fraction.
        let at = x_value.strip_suffix(".0").unwrap_or(&x_value);
        let point = match (grid.is_empty(), x_name.is_empty()) {
            (false, _) => grid,
            (true, false) => format!("{x_name} = {at}"),
            (true, true) => String::new(),
        };
        Self { scenario, point, group: if claims { group } else { String::new() }, method, flow }
    }
}
