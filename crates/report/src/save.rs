//! The folder of a comparison.

use crate::export::folder::{Origin, Said};
use crate::export::{ExportError, ResultsFolder, write_all, write_figures};
use crate::figure::Figures;
use crate::html::html;
use justfull_lab::model::Comparison;

/// Writes all tables, the figures as SVG and the report of `comparison` into `folder`, and
/// publishes it. Returns messages for the user.
///
/// # Errors
/// Names the first file that could not be written.
pub fn save(mut folder: ResultsFolder, comparison: &Comparison) -> Result<Said, ExportError> {
    write_all(&mut folder, comparison)?;
    let figures = Figures::of(comparison);
    write_figures(&mut folder, figures.iter(), false)?;
    let html = html(comparison, &figures);
    folder.write("report.html", |out| out.write_all(html.as_bytes()))?;
    folder.publish(Origin::of(comparison))
}
