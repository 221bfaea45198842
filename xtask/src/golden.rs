//! `cargo xtask golden`: the golden tests of `justfull-lab` and the golden vectors of `justfull-c`,
//! checked or accepted.

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
    let test = |package, name| {
        let mut command = process::cargo(root);
        command.args(["test", "-p", package, "--test", name]).env_remove(BLESS);
        command
    };
    if mode == Mode::Bless {
        process::must_succeed(test("justfull-lab", "golden").env(BLESS, "1"))?;
        // The vectors are written before a program in C reads them.
        let mut vectors = test("justfull-c", "vectors");
        process::must_succeed(vectors.arg("the_vectors").env(BLESS, "1"))?;
    } else {
        process::must_succeed(&mut test("justfull-lab", "golden"))?;
    }
    process::must_succeed(&mut test("justfull-c", "vectors"))?;
    if mode == Mode::Bless {
        println!("Accepted. Say in the commit why each value moved: `git diff` shows them.");
    }
    Ok(())
}
