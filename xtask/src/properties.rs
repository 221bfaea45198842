//! `cargo xtask properties`: the property tests of the workspace with fresh cases, for a given
//! time.
//!
//! `cargo test` draws the same cases in each run, since `.cargo/config.toml` sets [`SEED`]: a
//! change does not fail by chance. Here each round has a seed of its own, which is printed.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::time::Duration;

use cargo_metadata::Metadata;
use proc_macro2::TokenTree;
use syn::visit::Visit;

use crate::swarm::seconds;
use crate::tidy::tree::Tree;
use crate::{Failure, Outcome, process};

/// The environment variable from which proptest reads its seed, a whole number.
const SEED: &str = "PROPTEST_RNG_SEED";

const USAGE: &str = "usage: cargo xtask properties [--for TIME | --seed N]
  TIME  such as 90s, 30m or 1h; 10m by default
  N     the seed of one round";

/// The length of a run.
#[derive(Debug, PartialEq, Eq)]
enum Rounds {
    /// Rounds with fresh seeds until this time is over; at least one.
    For(Duration),
    /// One round with this seed.
    Seed(u64),
}

/// The property tests of the workspace.
#[derive(Debug, Default, PartialEq, Eq)]
struct Properties {
    packages: BTreeSet<String>,
    /// Names without their modules.
    tests: BTreeSet<String>,
}

impl Properties {
    /// Those in the files of `tree` that belong to a package of `metadata`.
    fn of(tree: &Tree, metadata: &Metadata) -> Self {
        let mut found = Self::default();
        for package in metadata.workspace_packages() {
            let folder = package.manifest_path.parent().unwrap_or(&package.manifest_path);
            let folder = folder.strip_prefix(&metadata.workspace_root).unwrap_or(folder);
            let inside = |path: &str| Path::new(path).starts_with(folder);
            for file in tree.files.iter().filter(|f| f.extension() == "rs" && inside(&f.path)) {
                let tests = file.text().map(tests_in).unwrap_or_default();
                if !tests.is_empty() {
                    found.packages.insert(package.name.to_string());
                    found.tests.extend(tests);
                }
            }
        }
        found
    }
}

/// The names of the functions directly in the `proptest!` blocks of a file.
fn tests_in(text: &str) -> Vec<String> {
    struct Blocks(Vec<String>);
    impl Visit<'_> for Blocks {
        fn visit_macro(&mut self, block: &syn::Macro) {
            if !block.path.is_ident("proptest") {
                return;
            }
            let tokens: Vec<TokenTree> = block.tokens.clone().into_iter().collect();
            self.0.extend(tokens.windows(2).filter_map(|pair| match pair {
                [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "fn" => {
                    Some(name.to_string())
                }
                _ => None,
            }));
        }
    }
    let mut blocks = Blocks(Vec::new());
    // Parsing takes its time, and few files have such a block.
    let file = text.contains("proptest!").then(|| syn::parse_file(text));
    if let Some(Ok(file)) = file {
        blocks.visit_file(&file);
    }
    blocks.0
}

/// Runs the command. The first round in which a test fails is the last one.
pub(crate) fn run(root: &Path, args: &[&str]) -> Outcome {
    let rounds = parse(args)?;
    let metadata = process::metadata(&root.join("Cargo.toml"))?;
    let properties = Properties::of(&Tree::read(root)?, &metadata);
    match rounds {
        Rounds::Seed(seed) => round(root, &properties, seed),
        Rounds::For(time) => {
            let begun = process::clock();
            let mut done = 0;
            while done == 0 || begun.elapsed() < time {
                round(root, &properties, RandomState::new().build_hasher().finish())?;
                done += 1;
            }
            println!("properties: {done} rounds of {} tests", properties.tests.len());
            Ok(())
        }
    }
}

/// Runs each test once, with the cases of `seed`.
fn round(root: &Path, properties: &Properties, seed: u64) -> Outcome {
    let mut command = process::cargo(root);
    command.args(["test", "--quiet", "--no-fail-fast", "--tests"]);
    for package in &properties.packages {
        command.args(["--package", package]);
    }
    command.arg("--").args(&properties.tests).env(SEED, seed.to_string());
    println!("properties: {SEED}={seed}");
    process::must_succeed(&mut command).map_err(|failure| match failure {
        Failure::Check(_) => Failure::Check(format!(
            "a property test failed; again: cargo xtask properties --seed {seed}"
        )),
        other @ Failure::Environment(_) => other,
    })
}

fn parse(args: &[&str]) -> Outcome<Rounds> {
    let wrong = |word: &str, what| Failure::Environment(format!("`{word}` is no {what}\n{USAGE}"));
    match args {
        [] => Ok(Rounds::For(Duration::from_secs(600))),
        ["--for", time] => seconds(time).map(Rounds::For).ok_or_else(|| wrong(time, "time")),
        ["--seed", seed] => seed.parse().map(Rounds::Seed).map_err(|_| wrong(seed, "seed")),
        _ => Err(Failure::Environment(USAGE.into())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::{Config, RngSeed};

    use super::*;

    #[test]
    fn cargo_gives_property_tests_a_fixed_seed() {
        assert!(matches!(Config::default().rng_seed, RngSeed::Fixed(_)));
    }

    #[test]
    fn tests_are_the_functions_of_proptest_blocks() {
        let text = "
            fn strategy() {}
            proptest! {
                #![proptest_config(Config::default())]
                #[test]
                fn one(x in 0..1) { fn inner() {} }
                #[test]
                fn two(x in 0..1) {}
            }
            mod tests {
                proptest! { #[test] fn three(x in 0..1) {} }
                other! { fn four() {} }
            }";
        assert_eq!(tests_in(text), ["one", "two", "three"]);
    }

    #[test]
    fn every_package_that_uses_proptest_for_its_tests_is_run() {
        let root = crate::root();
        let metadata = process::metadata(&root.join("Cargo.toml")).expect("a workspace");
        let found = Properties::of(&Tree::read(&root).expect("a checkout"), &metadata);
        let uses = |package: &&cargo_metadata::Package| {
            package.name != "xtask" && package.dependencies.iter().any(|d| d.name == "proptest")
        };
        let using: BTreeSet<String> = metadata
            .workspace_packages()
            .into_iter()
            .filter(uses)
            .map(|p| p.name.to_string())
            .collect();
        assert_eq!(found.packages, using);
        assert!(found.tests.contains("any_order_of_events_keeps_the_promises"));
    }

    #[test]
    fn a_run_has_a_time_or_a_seed() {
        assert_eq!(parse(&[]).unwrap(), Rounds::For(Duration::from_secs(600)));
        assert_eq!(parse(&["--for", "1m"]).unwrap(), Rounds::For(Duration::from_secs(60)));
        assert_eq!(parse(&["--seed", "7"]).unwrap(), Rounds::Seed(7));
        for args in [&["--for"][..], &["--for", "soon"], &["--seed", "x"], &["7"]] {
            assert!(matches!(parse(args), Err(Failure::Environment(_))), "{args:?}");
        }
    }
}
