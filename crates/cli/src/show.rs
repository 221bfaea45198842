//! `show`.

use crate::failure::Failure;
use crate::terminal::print_exact;
use crate::{complete, unknown};
use clap::Args;
use justfull_scenario::library;

/// Print a shipped scenario
#[derive(Args)]
pub(crate) struct ShowArgs {
    /// Name of a shipped scenario
    #[arg(add = complete::scenarios())]
    name: String,
    /// Print JSON: the name and the text
    #[arg(long)]
    json: bool,
}

pub(crate) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let names: Vec<&str> = library::SCENARIOS.iter().map(|(n, _)| *n).collect();
    let text = library::scenario(&args.name)
        .ok_or_else(|| unknown::name(&args.name, &names, "a scenario of `justfull list`"))?;
    if args.json {
        let named = serde_json::json!({ "name": args.name, "toml": text });
        return print_exact(&format!("{named}\n"));
    }
    print_exact(text)
}
