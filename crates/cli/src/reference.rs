//! `reference`: the reference pages of the documentation.

use crate::failure::Failure;
use clap::Args;
use justfull_report::{export, reference as pages};
use std::path::PathBuf;

/// Write the reference pages of the documentation
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct ReferenceArgs {
    /// Folder
    #[arg(long)]
    out: PathBuf,
}

pub(crate) fn reference(args: &ReferenceArgs) -> Result<(), Failure> {
    let out = &args.out;
    std::fs::create_dir_all(out)
        .map_err(|e| Failure::Usage(format!("--out: {}: {e}", out.display())))?;
    let write = |name: &str, text: &str| {
        export::write_whole(&out.join(name), |file| file.write_all(text.as_bytes()))
            .map_err(|e| Failure::usage(&e))
    };
    for (name, text) in pages::pages() {
        write(name, &text)?;
    }
    #[cfg(feature = "proxy")]
    write("rnis.json", &justfull_rnis::document())?;
    Ok(())
}
