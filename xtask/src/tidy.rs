//! `cargo xtask tidy`: the project's rules that no compiler checks, each in its own file.
//!
//! A rule takes plain data (crates, files) and returns [`Finding`]s, so that a few lines of text
//! can test it. Every finding names a file and a line, the mistake, and the allowed form.

pub(crate) mod arrows;
mod attributes;
mod census;
mod circles;
mod crates;
mod data;
mod dependencies;
pub(crate) mod links;
mod rust_code;
mod shape;
mod siblings;
mod style;
pub(crate) mod tree;

use std::fmt;
use std::path::Path;

use crate::{Failure, Outcome, process};
use crates::Crate;
use tree::Tree;

/// One violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Relative to the top of the checkout.
    path: String,
    /// From 1.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Prints the number of source lines, and of test lines.
pub(crate) fn count(root: &Path) -> Outcome {
    println!("{}", census::lines(&Tree::read(root)?));
    Ok(())
}

/// Prints `count` comments, drawn with `seed`.
pub(crate) fn sample(root: &Path, count: usize, seed: u64) -> Outcome {
    for comment in census::sample(&Tree::read(root)?, count, seed) {
        println!("{comment}\n");
    }
    Ok(())
}

/// Applies every rule to the tree at `root`.
pub(crate) fn run(root: &Path) -> Outcome {
    let tree = Tree::read(root)?;
    let mut crates = crates::from_metadata(&process::metadata(&root.join("Cargo.toml"))?, root);
    let mut findings = arrows::check(&crates, &tree);
    findings.extend(attributes::check(&crates, &tree));
    findings.extend(siblings::check(&tree));
    findings.extend(circles::check(&tree));
    findings.extend(style::check(&tree));
    findings.extend(shape::check(&tree));
    findings.extend(data::check(&tree));
    findings.extend(links::check(&tree));
    crates.extend(fuzz_crates(root)?);
    findings.extend(dependencies::check(&crates, &tree));
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files, {} crates, nothing to say", tree.files.len(), crates.len());
            Ok(())
        }
        count => Err(Failure::Check(format!(
            "tidy: {count} finding{}",
            if count == 1 { "" } else { "s" }
        ))),
    }
}

/// The fuzz targets are a workspace of their own, with the same list of dependencies.
fn fuzz_crates(root: &Path) -> Outcome<Vec<Crate>> {
    let manifest = root.join("fuzz").join("Cargo.toml");
    if !manifest.exists() {
        return Ok(Vec::new());
    }
    Ok(crates::from_metadata(&process::metadata(&manifest)?, root))
}
