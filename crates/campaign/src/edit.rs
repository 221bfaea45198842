//! Larger campaigns: a file with more seeds, methods or values of its settings.

use crate::failure::Failure;
use justfull_scenario::Axis;
use std::path::Path;
use toml_edit::{Array, DocumentMut, Item, Value};

/// Additions to a campaign. Its cases do not change, so that their jobs are not made again.
#[derive(Clone, Debug, Default)]
pub struct Addition {
    /// Number of seeds of each case, instead of the present one.
    pub seeds: Option<u64>,
    /// Most seeds of a case with a target, instead of the present number.
    pub most: Option<u64>,
    /// More methods.
    pub methods: Vec<String>,
    /// More values of settings that the grid has.
    pub grid: Vec<Axis>,
}

impl Addition {
    /// `text`, the content of `file`, with the addition; the rest, with its comments, stays.
    ///
    /// # Errors
    /// The part that the campaign lacks for this addition.
    pub fn to(&self, text: &str, file: &Path) -> Result<String, Failure> {
        let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            Failure::wrong(file, "", error.message(), "a campaign in TOML")
        })?;
        let root = document.as_table_mut();
        if let Some(seeds) = self.seeds {
            raise(root.get_mut("seeds"), seeds)
                .map_err(|(found, allowed)| Failure::wrong(file, "seeds", &found, &allowed))?;
        }
        if let Some(most) = self.most {
            let target = root.get_mut("target").and_then(Item::as_table_like_mut);
            raise(target.and_then(|target| target.get_mut("most")), most).map_err(
                |(found, allowed)| Failure::wrong(file, "target.most", &found, &allowed),
            )?;
        }
        if !self.methods.is_empty() {
            let Some(methods) = root.get_mut("methods").and_then(Item::as_array_mut) else {
                let allowed = "a list of methods in the file, to which more can be added";
                return Err(Failure::wrong(file, "methods", "none", allowed));
            };
            add(methods, self.methods.iter().map(Value::from).collect());
        }
        for axis in &self.grid {
            let path = axis.path().to_string();
            let field = format!("grid.{path}");
            let grid = root.get_mut("grid").and_then(Item::as_table_like_mut);
            let known: Vec<String> = grid.as_deref().map_or_else(Vec::new, |grid| {
                grid.iter().map(|(known, _)| known.to_owned()).collect()
            });
            let values = grid.and_then(|grid| grid.get_mut(&path)).and_then(Item::as_array_mut);
            let Some(values) = values else {
                let allowed = match known.is_empty() {
                    true => "a campaign with a grid".into(),
                    false => format!("a setting of the grid: {}", known.join(", ")),
                };
                return Err(Failure::wrong(file, &field, "no such setting", &allowed));
            };
            let more = axis.values().iter().map(|value| value.to_string().parse());
            let more: Result<Vec<Value>, toml_edit::TomlError> = more.collect();
            let more = more
                .map_err(|error| Failure::wrong(file, &field, error.message(), "values in TOML"))?;
            add(values, more);
        }
        Ok(document.to_string())
    }
}

/// Sets `number` to `to`; on failure returns the found value and the allowed ones.
fn raise(number: Option<&mut Item>, to: u64) -> Result<(), (String, String)> {
    let is_there = number.and_then(|item| Some((item.as_integer()?, item)));
    let Some((present, item)) = is_there else {
        return Err(("no number".into(), "a number in the file, which can be raised".into()));
    };
    let raised = i64::try_from(to).ok().filter(|to| *to >= present);
    let Some(raised) = raised else {
        return Err((to.to_string(), format!("at least {present}, the present number")));
    };
    if let Some(value) = item.as_value_mut() {
        let decor = value.decor().clone();
        *value = Value::from(raised);
        *value.decor_mut() = decor;
    }
    Ok(())
}

/// Adds the `values` that `list` does not have.
fn add(list: &mut Array, values: Vec<Value>) {
    let plain = |value: &Value| {
        let mut value = value.clone();
        value.decor_mut().clear();
        value.to_string()
    };
    for value in values {
        if !list.iter().any(|known| plain(known) == plain(&value)) {
            list.push(value);
        }
    }
}
