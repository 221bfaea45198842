//! `cargo xtask golden`: the golden tests of `justfull-lab`, checked or accepted.

use std::path::Path;

use crate::{Outcome, process};

/// The tests accept their present output as the golden one if this variable is set.
const BLESS: &str = "JUSTFULL_BLESS";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Check,
    Bless,
}

pub(crate) fn run(root: &Path, mode: Mode) -> Outcome {
    let mut command = process::cargo(root);
    command.args(["test", "-p", "justfull-lab", "--test", "golden"]);
    match mode {
        Mode::Check => command.env_remove(BLESS),
        Mode::Bless => command.env(BLESS, "1"),
    };
    process::must_succeed(&mut command)?;
    if mode == Mode::Bless {
        println!("Accepted. Say in the commit why each value moved: `git diff` shows them.");
    }
    Ok(())
}
