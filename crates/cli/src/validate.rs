//! `validate`.

use crate::args::{OutputArgs, ThreadsArgs};
use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::results;
use crate::runs::threads;
use crate::terminal::{print, print_exact, say};
use clap::Args;
use justfull_lab::validation::{self, CONTROLS, Validation};
use justfull_report::export::ResultsFolder;
use justfull_report::export::folder::Subject;
use justfull_report::figure::plot;
use justfull_report::{export, table, validation as page};

/// Compare TCP and rate controls with published figures, and figures with values by hand
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull validate cubic --no-files\n  \
     justfull validate by-hand --no-files\n  \
     justfull validate all --out results/tcp\n\n\
     Writes CONTROL.md and figures/*.svg. A case outside its band, other than recorded, is \
     exit 1."
))]
pub(crate) struct ValidateArgs {
    /// Control: new_reno, cubic, bbr, bbr3, vegas, westwood, yeah, fixed, prague, dctcp, ledbatpp,
    /// abc, scream, gcc; by-hand for figures worked out by hand; or all
    #[arg(default_value = "all")]
    pub(crate) control: String,
    /// Print JSON instead of tables: a list of controls, each with its cases
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) jobs: ThreadsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Every control, and the figures worked out by hand.
const ALL: &str = "all";

pub(crate) fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    let controls: Vec<&str> =
        CONTROLS.into_iter().filter(|c| args.control == ALL || *c == args.control).collect();
    if controls.is_empty() {
        let (found, known) = (&args.control, CONTROLS.join(", "));
        return Err(Failure::Usage(format!(
            "control: found {found}, allowed is one of {known}, {ALL}"
        )));
    }
    if !args.output.parquet.is_empty() {
        return Err(Failure::Usage("--parquet: a validation has no such tables".into()));
    }
    let name = if args.control == ALL {
        "validation".into()
    } else {
        format!("validation-{}", args.control)
    };
    let subject = Subject { kind: "validate".into(), scenario: args.control.clone() };
    let mut out = results::open(&args.output, &name, &subject)?;
    let (mut as_recorded, mut found) = (true, Vec::new());
    for control in controls {
        let Some(validation) = validation::validate(control, threads(&args.jobs)) else { continue };
        if args.json {
            found.push(page::json(&validation));
        } else {
            let grid = table::terminal(&page::table(&validation), table::Style::detect());
            print(&format!("{grid}\n{}\n\n", validation.tally()))?;
        }
        as_recorded &= validation.as_recorded();
        if let Some(folder) = &mut out {
            write(folder, &validation)?;
        }
    }
    if let Some(folder) = out {
        let shown = folder.path().display().to_string();
        results::finish_pages(folder)?;
        if !args.output.quiet {
            say(&format!("pages: {shown}"));
        }
    }
    if args.json {
        print_exact(&format!("{:#}\n", serde_json::Value::Array(found)))?;
    }
    if as_recorded {
        Ok(())
    } else {
        Err(Failure::Failed("a case came out worse than its file records".into()))
    }
}

/// Writes the page and its figures.
fn write(folder: &mut ResultsFolder, validation: &Validation) -> Result<(), Failure> {
    let text = page::markdown(validation, "figures");
    let page = format!("{}.md", validation.file.control);
    folder.write(&page, |out| out.write_all(text.as_bytes())).map_err(|e| Failure::usage(&e))?;
    let figures: Vec<_> = validation.plots.iter().map(plot::figure).collect();
    export::write_figures(folder, &figures, false).map_err(|e| Failure::usage(&e))
}
