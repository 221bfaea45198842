//! The mutants of an area, as cargo-mutants lists them.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use super::areas::{Area, RULES};
use crate::{Failure, Outcome, process};

/// A change of one place.
#[derive(Debug, Deserialize)]
pub(super) struct Mutant {
    /// `path:line:column: what`.
    pub(super) name: String,
    /// From the top of the tree.
    pub(super) file: String,
    pub(super) span: Span,
    replacement: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Span {
    start: Place,
    end: Place,
}

/// Both from 1 on; a column is a character.
#[derive(Debug, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

impl Place {
    fn byte(&self, text: &str) -> usize {
        let line = text.split_inclusive('\n').nth(self.line - 1).unwrap_or_default();
        let before: usize = text.split_inclusive('\n').take(self.line - 1).map(str::len).sum();
        before + line.chars().take(self.column - 1).map(char::len_utf8).sum::<usize>()
    }
}

impl Span {
    pub(super) fn bytes(&self, text: &str) -> Range<usize> {
        self.start.byte(text)..self.end.byte(text)
    }
}

impl Mutant {
    /// The part `within` of `text`, changed.
    pub(super) fn applied(&self, text: &str, within: &Range<usize>) -> String {
        let place = self.span.bytes(text);
        // The space keeps what was two words from becoming one, as when `!` is deleted.
        let parts = [
            &text[within.start..place.start],
            " ",
            &self.replacement,
            " ",
            &text[place.end..within.end],
        ];
        parts.concat()
    }

    /// The name without line and column, which move with every edit.
    pub(super) fn key(&self) -> String {
        let what = self.name.splitn(4, ':').nth(3).unwrap_or_default();
        format!("{}:{what}", self.file)
    }

    #[cfg(test)]
    pub(super) fn at(
        what: &str,
        start: (usize, usize),
        end: (usize, usize),
        replacement: &str,
    ) -> Self {
        let place = |(line, column)| Place { line, column };
        Self {
            name: format!("src/x.rs:{}:{}: {what}", start.0, start.1),
            file: "src/x.rs".to_owned(),
            span: Span { start: place(start), end: place(end) },
            replacement: replacement.to_owned(),
        }
    }
}

/// Lists the mutants of `area` in the tree at `root`.
pub(super) fn list(root: &Path, area: &Area) -> Outcome<Vec<Mutant>> {
    let mut command = process::cargo(root);
    command.args(["mutants", "--list", "--json", "--package", area.package]);
    command.args(area.files.iter().flat_map(|file| ["--file", file]));
    command.args(RULES.iter().flat_map(|file| ["--exclude", file]));
    serde_json::from_str(&process::stdout_of(&mut command)?)
        .map_err(|error| Failure::Environment(format!("the list of cargo-mutants: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_at_its_line_and_column_counted_in_characters() {
        let text = "fn f() {\n    \"µ\" == x\n}\n";
        let mutant = Mutant::at("replace == with != in f", (2, 9), (2, 11), "!=");
        assert_eq!(mutant.applied(text, &(0..text.len())), "fn f() {\n    \"µ\"  !=  x\n}\n");
        assert_eq!(mutant.key(), "src/x.rs: replace == with != in f");
    }
}
