//! The page of a dataset, and its content.

use crate::dataset::{Dataset, Tally};
use crate::failure::Failure;
use crate::plan::Campaign;
use crate::{SOURCE, VERSION};
use justfull_report::difference::USUAL;
use justfull_report::export::{Column, Runs, Sink};
use justfull_report::read::{self, Folder};
use justfull_report::{ReportError, Study};
use justfull_scenario::Scenario;
use std::io::Write as _;
use std::path::PathBuf;

/// The columns in `names`; if that is empty, the target's, if there is one, and the usual ones.
///
/// # Errors
/// There is no such column; the error suggests similar ones.
pub fn columns(
    campaign: &Campaign,
    names: &[String],
) -> Result<Vec<&'static Column<Runs>>, ReportError> {
    let target = campaign.target.iter().map(|target| &*target.metric);
    let names: Vec<&str> = match names {
        [] => target.chain(USUAL).collect(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut columns: Vec<&'static Column<Runs>> = Vec::new();
    for name in names {
        let column = read::column_of(name)?;
        if !columns.iter().any(|known| known.name == column.name) {
            columns.push(column);
        }
    }
    Ok(columns)
}

/// Writes `report.html` into the folder of `dataset`: tables and figures of `columns` from
/// `folder`, its rows. Returns the file.
///
/// # Errors
/// The folder is no dataset, there is no method `against`, or the disk fails.
pub fn write(
    dataset: &Dataset,
    campaign: &Campaign,
    folder: &Folder,
    columns: &[&'static Column<Runs>],
    against: Option<&str>,
) -> Result<PathBuf, Failure> {
    if !dataset.is_begun() {
        let allowed = "the folder of a campaign that was run";
        return Err(Failure::wrong(dataset.path(), "", "no dataset", allowed));
    }
    let tally = dataset.tally(campaign);
    let Tally { cases, jobs, done, cpu_s, .. } = &tally;
    let facts = [
        ("Campaign", campaign.file.display().to_string()),
        ("Version", format!("{VERSION}, source {SOURCE}")),
        ("Jobs", format!("{done} of {jobs} made, {cases} cases")),
        ("CPU", format!("{cpu_s:.1} s")),
    ];
    let study = Study {
        title: if campaign.title.is_empty() { &campaign.name } else { &campaign.title },
        facts: &facts,
        failed: &tally.failed,
        text: &Scenario::text_of(&campaign.file)?,
        columns,
        against,
    };
    let page = study.html(folder).map_err(|why| {
        Failure::wrong(&campaign.file, "against", against.unwrap_or_default(), &why.to_string())
    })?;
    let file = dataset.path().join("report.html");
    let mut sink = Sink::create(&file)?;
    sink.write_all(page.as_bytes()).map_err(|what| sink.error(what))?;
    sink.commit()?;
    Ok(file)
}
