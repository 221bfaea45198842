//! A setting in the form of the command line.

use crate::keys;
use crate::tree::Setting;
use std::str::FromStr;
use toml::Value;

impl FromStr for Setting {
    type Err = String;

    /// Parses `path=value`. A value that is not TOML is a string, so `rlc.queue.limit=31 packets`
    /// needs no quotes. A number for a setting that takes only text needs none either: it is the
    /// text as written, so `kernel=4.15` is `kernel="4.15"`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (path, value) =
            text.split_once('=').ok_or_else(|| format!("found `{text}`, allowed is path=value"))?;
        let value = value.trim();
        let parsed = match format!("v = {value}").parse::<toml::Table>() {
            Ok(table) if table.len() > 1 => {
                return Err(format!(
                    "found further settings after `{}`, allowed is path=value",
                    path.trim()
                ));
            }
            Ok(mut table) => table.remove("v"),
            Err(_) => None,
        };
        let mut setting = Self::new(path.trim(), parsed.unwrap_or_else(|| value.into()))?;
        if is_bare(&setting.value) && keys::is_text(&setting.path.to_string()) {
            setting.value = value.into();
        }
        Ok(setting)
    }
}

/// True for a number, a boolean and a date.
fn is_bare(value: &Value) -> bool {
    use Value::{Boolean, Datetime, Float, Integer};
    matches!(value, Integer(_) | Float(_) | Boolean(_) | Datetime(_))
}
