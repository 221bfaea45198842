//! `validate`.

use crate::Failure;
use crate::args::ValidateArgs;
use crate::compare::{folder, print, say, threads};
use justfull_lab::validation::{self, CONTROLS, Validation};
use justfull_lab::{export, table};
use std::path::Path;

/// Every control.
const ALL: &str = "all";

pub(crate) fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    let controls: Vec<&str> =
        CONTROLS.into_iter().filter(|c| args.control == ALL || *c == args.control).collect();
    if controls.is_empty() {
        let (found, known) = (&args.control, CONTROLS.join(", "));
        return Err(Failure::Usage(format!("control: found {found}, allowed is one of {known}, {ALL}")));
    }
    let out = folder(&args.output, "validation")?;
    let mut as_recorded = true;
    for control in controls {
        let Some(validation) = validation::validate(control, threads(&args.jobs)) else { continue };
        let grid = validation::table(&validation);
        print(&format!("{}\n{}\n\n", table::terminal(&grid, table::Style::detect()), validation.tally()))?;
        as_recorded &= validation.as_recorded();
        if let Some(folder) = &out {
            write(folder, &validation)?;
        }
    }
    if let Some(folder) = out.filter(|_| !args.output.quiet) {
        say(&format!("pages: {}", folder.display()));
    }
    if as_recorded {
        Ok(())
    } else {
        Err(Failure::Failed("a case came out worse than its file records".into()))
    }
}

/// The page and its figures.
fn write(folder: &Path, validation: &Validation) -> Result<(), Failure> {
    let page = folder.join(format!("{}.md", validation.file.control));
    let text = validation::markdown(validation, "figures");
    export::write_whole(&page, |out| out.write_all(text.as_bytes())).map_err(|e| Failure::usage(&e))?;
    export::write_figures(&folder.join("figures"), &validation.figures, false)
        .map_err(|e| Failure::usage(&e))?;
    Ok(())
}
