//! `cargo xtask deny`: licences, sources and versions of all dependencies, by cargo-deny and
//! `deny.toml`; and known vulnerabilities, if a database of them is there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, process};

/// The workspaces of the tree.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

pub(crate) fn run(root: &Path) -> Outcome {
    // cargo-deny is compiled here: tests can run meanwhile, for a minute and a half.
    if let Err(failure) = process::must_succeed(Command::new(root.join(".ci/setup")).arg("--deny"))
    {
        return process::skipped(&format!("deny: SKIPPED: no cargo-deny: {failure}"));
    }
    for manifest in MANIFESTS {
        process::must_succeed(deny(root, manifest, &[]).args(["licenses", "bans", "sources"]))?;
    }
    if !advisories().is_some_and(|folder| folder.is_dir()) {
        println!(
            "deny: NOT CHECKED: known holes, since no database of them is here (`cargo deny fetch \
             db` brings it)"
        );
        return Ok(());
    }
    MANIFESTS.iter().try_for_each(|manifest| {
        process::must_succeed(deny(root, manifest, &["--offline"]).arg("advisories"))
    })
}

fn deny(root: &Path, manifest: &str, options: &[&str]) -> Command {
    let mut command = process::cargo(root);
    command.args([
        "deny",
        "--log-level",
        "warn",
        "--config",
        "deny.toml",
        "--manifest-path",
        manifest,
    ]);
    // One list of licences serves both workspaces.
    command.args(options).args([
        "check",
        "--hide-inclusion-graph",
        "-A",
        "license-not-encountered",
    ]);
    command
}

/// Where cargo-deny keeps its databases of advisories.
fn advisories() -> Option<PathBuf> {
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cargo = home("CARGO_HOME").or_else(|| Some(home("HOME")?.join(".cargo")))?;
    Some(cargo.join("advisory-dbs"))
}
