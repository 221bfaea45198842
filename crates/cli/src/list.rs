//! `list`.

use crate::failure::Failure;
use crate::terminal::{print, print_exact};
use clap::Args;
use clap::builder::PossibleValuesParser;
use justfull_report::reference;

/// List methods, algorithms, formats of traces, scenarios and papers
#[derive(Args)]
#[command(after_help = "Examples:\n  justfull list methods\n  \
    justfull list aqms limiters --json")]
pub(crate) struct ListArgs {
    /// Kind of names; several may be given [default: all]
    #[arg(value_name = "KIND", value_parser = PossibleValuesParser::new(reference::kinds()))]
    pub(crate) kinds: Vec<String>,
    /// Print JSON: a list of kinds, each with its heading and names
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn list(args: &ListArgs) -> Result<(), Failure> {
    let mut all = reference::listed();
    if !args.kinds.is_empty() {
        all.retain(|listed| args.kinds.iter().any(|kind| kind == listed.kind));
    }
    if args.json { print_exact(&reference::list_json(&all)) } else { print(&reference::list(&all)) }
}
