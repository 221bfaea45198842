//! The place of a command's results.

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::name::{VERSION, command_line};
use crate::terminal::say;
use justfull_lab::model::Comparison;
use justfull_report::export::ResultsFolder;
use justfull_report::export::folder::{Origin, Subject};
use justfull_report::figure::Figures;
use justfull_report::{self as report, export};
use std::path::{Path, PathBuf};

/// Parent of the default folders of results.
const RESULTS: &str = "results";

/// The folder of the results, `results/NAME` by default; none if no files are wanted.
pub(crate) fn place(output: &OutputArgs, name: &str) -> Option<PathBuf> {
    (!output.no_files).then(|| output.out.clone().unwrap_or_else(|| Path::new(RESULTS).join(name)))
}

/// Claims the folder of the results before the first run; none if no files are wanted.
pub(crate) fn open(
    output: &OutputArgs,
    name: &str,
    subject: &Subject,
) -> Result<Option<ResultsFolder>, Failure> {
    if output.png && cfg!(not(feature = "png")) {
        return Err(Failure::lacks("PNG", "png"));
    }
    if !output.parquet.is_empty() && cfg!(not(feature = "parquet")) {
        return Err(Failure::lacks("Parquet", "parquet"));
    }
    let Some(path) = place(output, name) else { return Ok(None) };
    let mut waits = || say(&format!("waits for another run, which writes {}", path.display()));
    let (folder, said) = ResultsFolder::open(&path, subject.clone(), output.force, &mut waits)
        .map_err(|e| Failure::Usage(format!("--out: {e}")))?;
    said.iter().for_each(|line| say(line));
    Ok(Some(folder))
}

/// Claims a new folder for a live run of `scenario`, whose results cannot be repeated; none if no
/// files are wanted.
#[cfg(feature = "live")]
pub(crate) fn open_live(
    output: &OutputArgs,
    scenario: &str,
) -> Result<Option<ResultsFolder>, Failure> {
    const KIND: &str = "live";
    let subject = Subject { kind: KIND.into(), scenario: scenario.into() };
    if output.no_files || output.out.is_some() {
        return open(output, KIND, &subject);
    }
    let above = Path::new(RESULTS).join(KIND);
    let prefix = format!("{scenario}-");
    let name = format!("{prefix}{}", chrono::Utc::now().format("%Y%m%dT%H%M%SZ"));
    let (folder, said) = ResultsFolder::create_new(&above, &prefix, &name, &subject)
        .map_err(|e| Failure::Usage(format!("--out: {e}")))?;
    said.iter().for_each(|line| say(line));
    Ok(Some(folder))
}

/// Writes the report and the tables, and moves the folder into place.
pub(crate) fn finish(
    mut folder: ResultsFolder,
    comparison: &Comparison,
    output: &OutputArgs,
) -> Result<(), Failure> {
    let shown = folder.path().join("report.html");
    let figures = Figures::of(comparison);
    #[cfg(feature = "parquet")]
    let parquet = parquet_tables(output);
    let mut write = || {
        let tables = export::write_all(&mut folder, comparison)?;
        #[cfg(feature = "parquet")]
        export::write_parquet(&mut folder, comparison, &parquet)?;
        export::write_figures(&mut folder, figures.iter(), output.png)?;
        let html = report::html(comparison, &figures);
        folder.write("report.html", |out| out.write_all(html.as_bytes()))?;
        Ok(tables)
    };
    let tables = write().map_err(|e: export::ExportError| Failure::usage(&e))?;
    publish(folder, Origin::of(comparison))?;
    say(&format!(
        "report: {}; {tables} tables and {} figures beside it",
        shown.display(),
        figures.iter().count()
    ));
    Ok(())
}

/// The tables to write as Parquet, each once.
#[cfg(feature = "parquet")]
fn parquet_tables(output: &OutputArgs) -> Vec<export::LongTable> {
    let mut tables: Vec<export::LongTable> = Vec::new();
    for table in output.parquet.iter().map(export::LongTable::from) {
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    tables
}

/// Moves `folder`, whose pages have no comparison, into place.
pub(crate) fn finish_pages(folder: ResultsFolder) -> Result<(), Failure> {
    publish(
        folder,
        Origin { command: command_line(), version: VERSION.into(), ..Origin::default() },
    )
}

fn publish(folder: ResultsFolder, origin: Origin) -> Result<(), Failure> {
    let said = folder.publish(origin).map_err(|e| Failure::usage(&e))?;
    said.iter().for_each(|line| say(line));
    Ok(())
}

/// `path` without links and `..`, as far as it exists.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let mut rest = Vec::new();
    let mut above = absolute.as_path();
    // The last name is not followed: a link there is replaced.
    while let (Some(name), Some(next)) = (above.file_name(), above.parent()) {
        rest.push(name);
        above = next;
        if let Ok(found) = above.canonicalize() {
            return rest.iter().rev().fold(found, |path, name| path.join(name));
        }
    }
    absolute
}
