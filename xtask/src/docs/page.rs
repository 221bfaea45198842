//! Pages with tables and figures from runs of `justfull`. People write the text of a page; the part
//! between `<!-- made: NAME -->` and `<!-- end -->` is made here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::{Mode, first_difference};
use crate::{Failure, Outcome, process};

/// Seeds of a run, and Student's t for a 95 % interval of as many.
const SEEDS: usize = 3;
const STUDENTS_T: f64 = 4.303;

/// Makes pages with a `justfull`, or compares them.
pub(crate) struct Maker<'a> {
    pub(super) root: &'a Path,
    pub(super) mode: Mode,
    pub(super) justfull: &'a Path,
}

/// A line of runs.jsonl.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Row {
    pub(super) x_value: Option<f64>,
    pub(super) method: String,
    pub(super) seed: u64,
    pub(super) flow: String,
    pub(super) goodput_mbit_s: f64,
    pub(super) utilisation: f64,
    pub(super) delay_ms_mean: f64,
    pub(super) delay_ms_p95: f64,
    pub(super) delay_ms_p99: f64,
    pub(super) to_ue_ms_mean: Option<f64>,
    pub(super) rtt_ms_mean: Option<f64>,
    pub(super) rtt_ms_min: Option<f64>,
    pub(super) server_to_ue_ms_mean: Option<f64>,
    pub(super) entered_packets: u64,
    pub(super) dropped_packets: u64,
}

impl Row {
    /// Per cent of its packets that were dropped.
    pub(super) fn dropped_percent(&self) -> f64 {
        100.0 * self.dropped_packets as f64 / self.entered_packets.max(1) as f64
    }
}

/// The folder of a run's results.
pub(super) struct Results {
    folder: PathBuf,
}

impl Results {
    pub(super) fn file(&self, name: &str) -> Outcome<String> {
        read(&self.folder.join(name))
    }

    pub(super) fn rows(&self) -> Outcome<Vec<Row>> {
        let rows: Result<Vec<Row>, _> =
            self.file("runs.jsonl")?.lines().map(serde_json::from_str).collect();
        rows.map_err(|error| Failure::Check(format!("runs.jsonl: {error}")))
    }
}

impl Maker<'_> {
    /// Runs `justfull` with `arguments`; the results go to `folder` below the target.
    pub(super) fn results(&self, folder: &str, arguments: &[&str]) -> Outcome<Results> {
        let manifest = self.root.join("Cargo.toml");
        let target = process::metadata(&manifest)?.target_directory.into_std_path_buf();
        let folder = target.join("xtask").join(folder);
        let mut run = Command::new(self.justfull);
        run.current_dir(self.root).args(arguments);
        process::stderr_of(run.args(["--quiet", "--force", "--out"]).arg(&folder))?;
        Ok(Results { folder })
    }

    /// The text of the page `file`.
    pub(super) fn page(&self, file: &'static str) -> Outcome<Page> {
        Ok(Page { file, text: read(&self.root.join(file))? })
    }

    /// Makes `file` hold `text`, or says where it does not.
    pub(super) fn settle(&self, file: &str, text: &str) -> Outcome {
        settle(&self.root.join(file), text, self.mode)
    }

    pub(super) fn settle_page(&self, page: &Page) -> Outcome {
        self.settle(page.file, &page.text)
    }
}

/// A page that is being made.
pub(super) struct Page {
    file: &'static str,
    text: String,
}

impl Page {
    /// Puts `table` at the place called `name`.
    pub(super) fn fill(&mut self, name: &str, table: &str) -> Outcome {
        self.text = filled_in(self.file, &self.text, name, table)?;
        Ok(())
    }
}

/// Makes `file` hold `text`, or says where it does not.
pub(super) fn settle(file: &Path, text: &str, mode: Mode) -> Outcome {
    let old = fs::read_to_string(file).unwrap_or_default();
    if old == text {
        println!("{}: as the runs say", file.display());
        return Ok(());
    }
    if mode == Mode::Check {
        let line = first_difference(old.as_bytes(), text.as_bytes());
        return Err(Failure::Check(format!(
            "{}:{line}: not what the runs say; run `cargo xtask docs` for it and commit it",
            file.display()
        )));
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let failure = |error| Failure::Environment(format!("{}: {error}", file.display()));
    fs::create_dir_all(folder).map_err(failure)?;
    println!("wrote {}", file.display());
    fs::write(file, text).map_err(failure)
}

pub(super) fn read(file: &PathBuf) -> Outcome<String> {
    fs::read_to_string(file)
        .map_err(|error| Failure::Environment(format!("{}: {error}", file.display())))
}

/// The text `page` of `file` with `table` at the place called `name`.
pub(super) fn filled_in(file: &str, page: &str, name: &str, table: &str) -> Outcome<String> {
    let begin = format!("<!-- made: {name} -->\n");
    let split = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once("<!-- end -->")?;
        Some((before, after))
    });
    let (before, after) = split.ok_or_else(|| {
        Failure::Check(format!("{file}: no `{}` with `<!-- end -->` after it", begin.trim()))
    })?;
    Ok(format!("{before}{begin}\n{table}\n<!-- end -->{after}"))
}

/// The head of a table with these columns.
pub(super) fn head(columns: &[&str]) -> String {
    format!("{}|{}\n", line(columns), " --- |".repeat(columns.len()))
}

/// A row of a table.
pub(super) fn line<T: AsRef<str>>(cells: &[T]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Different values in order of appearance.
pub(super) fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut found, value| {
        if !found.contains(&value) {
            found.push(value);
        }
        found
    })
}

/// Mean and 95 % interval over the seeds.
pub(super) fn interval(values: &[f64], digits: usize) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() != SEEDS {
        return format!("{mean:.digits$}");
    }
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    format!("{mean:.digits$} ± {:.digits$}", STUDENTS_T * (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_filled_and_a_missing_place_is_named() {
        let page = "a\n<!-- made: x -->\nold\n<!-- end -->\nb\n";
        let new = filled_in("a.md", page, "x", "| t |\n").unwrap();
        assert_eq!(new, "a\n<!-- made: x -->\n\n| t |\n\n<!-- end -->\nb\n");
        assert_eq!(filled_in("a.md", &new, "x", "| t |\n").unwrap(), new, "again");
        assert!(
            matches!(filled_in("a.md", page, "y", ""), Err(Failure::Check(said)) if said.contains("y"))
        );
    }

    #[test]
    fn an_interval_is_students() {
        assert_eq!(interval(&[1.0, 2.0, 3.0], 2), "2.00 ± 2.48");
        assert_eq!(interval(&[1.0, 3.0], 1), "2.0");
    }
}
