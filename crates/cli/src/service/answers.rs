//! Answers of a running service.

use crate::failure::Failure;
use crate::terminal::{print, print_exact};
use justfull_net::SystemError;
use serde_json::Value;

/// Prints the answer `text` of `who`: unchanged if `as_json`, else in the words of `show`.
pub(crate) fn answer(
    who: &str,
    text: Result<String, SystemError>,
    as_json: bool,
    show: fn(&Value) -> String,
) -> Result<(), Failure> {
    let text = text.map_err(|e| Failure::usage(&e))?;
    if as_json { print_exact(&text) } else { print(&show(&parsed(who, &text)?)) }
}

/// The answer `text` of `who`.
pub(crate) fn parsed(who: &str, text: &str) -> Result<Value, Failure> {
    let wrong = |e| Failure::Failed(format!("the answer of {who}: {e}"));
    serde_json::from_str(text).map_err(wrong)
}

/// A value without JSON's quotes and without characters that control a terminal.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text
            .chars()
            .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
            .collect(),
        Value::Null => "-".into(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.3}", number.as_f64().unwrap_or_default())
        }
        other => other.to_string(),
    }
}

/// Lines of a name and a value.
#[derive(Default)]
pub(crate) struct Lines(Vec<(String, String)>);

impl Lines {
    pub(crate) fn add(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    /// A line for each entry of the object `counts`, called `group` and its key.
    pub(crate) fn add_group(&mut self, group: &str, counts: &Value) {
        for (name, count) in counts.as_object().into_iter().flatten() {
            self.add(&format!("{group} {name}"), plain(count));
        }
    }

    /// The lines with their values in one column.
    pub(crate) fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        self.0.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
    }
}

/// Rows with columns as wide as their widest cell; numbers are aligned to the right.
pub(crate) fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let width =
        |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or_default();
    let number = |cell: &str| cell == "-" || cell.parse::<f64>().is_ok();
    let right = |at: usize| rows.len() > 1 && rows[1..].iter().all(|row| number(&row[at]));
    let shape: Vec<(usize, bool)> = (0..columns).map(|at| (width(at), right(at))).collect();
    let cell = |(cell, (width, right)): (&String, &(usize, bool))| {
        if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    };
    rows.iter()
        .map(|row| row.iter().zip(&shape).map(cell).collect::<Vec<_>>().join("  "))
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// A table with a row for each entry of the list `all`, and a column for each title and key.
pub(crate) fn listed(columns: &[(&str, &str)], all: &Value) -> String {
    let titles = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    let row = |one: &Value| columns.iter().map(|(_, key)| plain(&one[*key])).collect();
    let entries = all.as_array().into_iter().flatten();
    let rows: Vec<Vec<String>> = std::iter::once(titles).chain(entries.map(row)).collect();
    table(&rows).join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_stand_to_the_right_and_words_to_the_left() {
        let rows = [["name", "count"], ["a", "1"], ["bcdef", "200"]];
        let rows: Vec<Vec<String>> = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        assert_eq!(table(&rows), ["name   count", "a          1", "bcdef    200"]);
    }

    #[test]
    fn values_stand_in_one_column_and_control_no_terminal() {
        let mut lines = Lines::default();
        lines.add("a", plain(&json!("x\u{1b}[2J")));
        lines.add_group("of", &json!({ "b": 1.5, "cc": null }));
        assert_eq!(lines.text(), "a      x\u{fffd}[2J\nof b   1.500\nof cc  -\n");
    }

    #[test]
    fn a_list_has_a_row_for_each_entry() {
        let text = listed(&[("size", "s"), ("name", "n")], &json!([{ "s": 7, "n": "x" }]));
        assert_eq!(text, "size  name\n   7  x\n");
    }
}
