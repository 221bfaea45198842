//! Arguments of `list`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use justfull_report::reference;

#[derive(Args)]
pub(crate) struct ListArgs {
    /// Kind of names; several may be given [default: all]
    #[arg(value_name = "KIND", value_parser = PossibleValuesParser::new(reference::kinds()))]
    pub(crate) kinds: Vec<String>,
    /// Print JSON: a list of kinds, each with its heading and names
    #[arg(long)]
    pub(crate) json: bool,
}
