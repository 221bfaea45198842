//! `explain`.

use crate::failure::Failure;
use crate::terminal::{print, print_exact};
use crate::{complete, unknown};
use clap::Args;
use justfull_report::reference;

/// Say what an algorithm, a method, a key of a scenario, a column of results or a format of
/// traces is: parameters, units, bounds, defaults, sources
#[derive(Args)]
#[command(after_help = "Examples:\n  justfull explain codel\n  justfull explain USP@5G-BDP\n  \
    justfull explain rlc.queue.limit\n  justfull explain delay.p99\n  \
    justfull explain mahimahi --json")]
pub(crate) struct ExplainArgs {
    /// Name of an algorithm or a method (see `justfull list`), path of a key, column, format
    #[arg(add = complete::explained())]
    name: String,
    /// Print JSON: a list of everything with this name, each with its kind in `what`
    #[arg(long)]
    json: bool,
}

/// The names for `explain`, in words.
const EXPLAINED: &str = "a method or an algorithm of `justfull list`, the path of a key such as \
                         rlc.queue.limit, a column of results such as delay.p99, or a format of \
                         traces such as mahimahi";

pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let name = args.name.as_str();
    let text = if args.json { reference::explain_json(name) } else { reference::explain(name) };
    let text = text.ok_or_else(|| {
        let known = reference::explained();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        unknown::name(name, &known, EXPLAINED)
    })?;
    if args.json { print_exact(&text) } else { print(&text) }
}
