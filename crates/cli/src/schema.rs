//! `schema`.

use crate::failure::Failure;
use crate::terminal::print_exact;
use clap::Args;
use justfull_scenario::schema;

/// Print the JSON Schema of scenario files, for editors
#[derive(Args)]
#[command(after_help = "Example: justfull schema > scenario.schema.json\n\
    Then begin a scenario with: #:schema ./scenario.schema.json")]
pub(crate) struct SchemaArgs {}

pub(crate) fn schema(_: &SchemaArgs) -> Result<(), Failure> {
    print_exact(&format!("{:#}\n", schema::schema()))
}
