//! Content of a cell in the result files.

use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// `text` as the content of a CSV cell. Spreadsheets evaluate a cell that begins with one of these
/// characters as a formula; an apostrophe in front marks it as text. Numbers are unchanged.
pub(super) fn csv_text(text: &str) -> Cow<'_, str> {
    let is_number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && !is_number() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Content of one cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Missing.
    Absent,
    /// Text.
    Text(String),
    /// A whole number.
    Whole(u64),
    /// A measured number; a number that is not finite is written as missing.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        if text.is_empty() { Self::Absent } else { Self::Text(text.into()) }
    }

    /// The content of a CSV cell.
    pub(crate) fn cell(&self) -> String {
        match self {
            Self::Text(text) => csv_text(text).into_owned(),
            other => other.to_string(),
        }
    }

    /// The value of a CSV cell in a column of `unit`: the inverse of [`Value::cell`], except that a
    /// measured number without a fraction is whole.
    pub(crate) fn read(cell: &str, unit: &str) -> Self {
        match cell {
            "" => Self::Absent,
            text if unit == "text" => {
                let marked = text.strip_prefix('\'').filter(|rest| csv_text(rest) == text);
                Self::Text(marked.unwrap_or(text).into())
            }
            "true" => Self::Flag(true),
            "false" => Self::Flag(false),
            number => match (number.parse(), number.parse()) {
                (Ok(whole), _) => Self::Whole(whole),
                (_, Ok(real)) => Self::Real(real),
                _ => Self::Text(number.into()),
            },
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn words(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The flag, if the value is one.
    #[must_use]
    pub fn flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { Some(*flag) } else { None }
    }

    /// The bits of a whole number as a signed number.
    #[must_use]
    pub fn whole(&self) -> Option<i64> {
        if let Self::Whole(n) = self { Some(n.cast_signed()) } else { None }
    }

    /// A finite number.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Real(x) if x.is_finite() => Some(*x),
            Self::Whole(n) => Some(*n as f64),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::text(&text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

/// The type of the cells of a column, in Parquet and Arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Yes and no.
    Flag,
    /// 64-bit whole numbers.
    Whole,
    /// 64-bit floating point.
    Real,
}

impl Kind {
    /// The type of a column of `unit` with these cells.
    #[must_use]
    pub fn of(unit: &str, cells: &[Value]) -> Self {
        let all = |kind: fn(&Value) -> bool| {
            let mut there = cells.iter().filter(|cell| **cell != Value::Absent).peekable();
            there.peek().is_some() && there.all(kind)
        };
        if unit == "text" || all(|cell| matches!(cell, Value::Text(_))) {
            Self::Text
        } else if all(|cell| matches!(cell, Value::Flag(_))) {
            Self::Flag
        } else if all(|cell| matches!(cell, Value::Whole(_))) {
            Self::Whole
        } else {
            Self::Real
        }
    }
}

impl Kind {
    /// The type of a column of `unit` in files that are read together. The column may be empty in
    /// one of them, so its numbers are floating point in all.
    #[must_use]
    pub fn lasting(unit: &str, cells: &[Value]) -> Self {
        match Self::of(unit, cells) {
            Self::Text => Self::Text,
            _ if unit == "true or false" => Self::Flag,
            _ => Self::Real,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Whole(n) => write!(f, "{n}"),
            Self::Real(x) if x.is_finite() => write!(f, "{x}"),
            Self::Flag(b) => write!(f, "{b}"),
            Self::Absent | Self::Real(_) => Ok(()),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => s.serialize_str(text),
            Self::Whole(n) => s.serialize_u64(*n),
            Self::Real(x) if x.is_finite() => s.serialize_f64(*x),
            Self::Flag(b) => s.serialize_bool(*b),
            Self::Absent | Self::Real(_) => s.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spreadsheet must not evaluate a user's name as a formula.
    #[test]
    fn no_cell_is_a_formula() {
        for name in [
            "=1+1",
            "=HYPERLINK(\"http://x\")",
            "+A1",
            "-A1",
            "-",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "-inf",
            "+nan",
        ] {
            assert_eq!(Value::text(name).cell(), format!("'{name}"));
        }
        for name in ["USP@5G-BDP", "a=1", "-1.5", "+3e4", "'=1", "voip"] {
            assert_eq!(Value::text(name).cell(), name);
        }
        assert_eq!(
            (Value::Real(-1.5).cell(), Value::Absent.cell()),
            ("-1.5".into(), String::new())
        );
        assert_eq!(
            serde_json::to_string(&Value::text("=1")).expect("it is text"),
            "\"=1\"",
            "JSON has no formulas"
        );
    }
}
