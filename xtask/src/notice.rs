//! `cargo xtask notice`: the file `NOTICE`, which accompanies every binary: the parts of it that
//! are not ours, and their licences. It is made from the packages as cargo has unpacked them, so it
//! is as complete as they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use crate::{Failure, Outcome};

/// The distributed program, and its target system: other systems have other dependencies.
const BINARY: &str = "justfull";
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
const FILE: &str = "NOTICE";
/// Libraries of others in the tree that the binary holds: name, licence and its text.
const VENDORED: [(&str, &str, &str); 1] =
    [("uPlot 1.6.32", "MIT", "crates/report/web/vendor/uPlot.LICENSE")];

/// Prefixes of file names that hold a licence or must accompany one.
const LICENCES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
/// If a package offers several licences, the preferred ones, best first; their texts are named
/// after them.
const CHOICES: [&str; 2] = ["MIT", "APACHE"];

const HEAD: &str = "\
justfull is licensed under MIT or Apache-2.0 (LICENSE-MIT, LICENSE-APACHE). Its \
                    binaries also hold the packages below, in whole or in
part, under the licences that \
                    follow. Where a package offers several licences one is chosen: MIT where it is \
                    offered.
They hold parts of the Rust standard library too, which is licensed under \
                    MIT or Apache-2.0 (https://www.rust-lang.org/policies/licenses).

Made by `cargo xtask notice`.
";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

/// A third-party part of the binary.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The licence in the metadata of its package.
    pub(crate) licence: String,
    /// The type of its registry in a package URL, such as `cargo`.
    pub(crate) registry: &'static str,
}

/// The third-party parts of the binary.
pub(crate) fn parts(root: &Path) -> Outcome<Vec<Part>> {
    let metadata = metadata(root)?;
    let crates = linked(&metadata)?.into_iter().map(|package| Part {
        name: package.name.to_string(),
        version: package.version.to_string(),
        licence: package.license.clone().unwrap_or_default(),
        registry: "cargo",
    });
    let vendored = VENDORED.into_iter().filter_map(|(name, licence, _)| {
        let (name, version) = name.split_once(' ')?;
        let (name, version) = (name.to_lowercase(), version.to_owned());
        Some(Part { name, version, licence: licence.to_owned(), registry: "npm" })
    });
    Ok(crates.chain(vendored).collect())
}

fn metadata(root: &Path) -> Outcome<Metadata> {
    MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .other_options(["--locked", "--filter-platform", PLATFORM].map(str::to_owned))
        .exec()
        .map_err(|error| Failure::Environment(format!("cargo metadata: {error}")))
}

pub(crate) fn run(root: &Path, mode: Mode) -> Outcome {
    let metadata = metadata(root)?;
    let packages = linked(&metadata)?;
    let text = notice(root, &packages)?;
    let path = root.join(FILE);
    if mode == Mode::Write {
        fs::write(&path, &text).map_err(|error| cannot(&path, &error))?;
    } else if fs::read_to_string(&path).unwrap_or_default() != text {
        let message = format!(
            "{FILE} does not match the dependencies; run `cargo xtask notice` and commit it"
        );
        return Err(Failure::Check(message));
    }
    println!("{FILE}: {} packages", packages.len());
    Ok(())
}

/// The packages of others in the linked binary, by name, without those that only help to build it,
/// such as macros.
fn linked(metadata: &Metadata) -> Outcome<Vec<&Package>> {
    let nothing =
        |what: &str| Failure::Environment(format!("cargo metadata has nothing about {what}"));
    let nodes = &metadata.resolve.as_ref().ok_or_else(|| nothing("dependencies"))?.nodes;
    let binary = metadata.packages.iter().find(|package| package.name.as_str() == BINARY);
    let mut open: Vec<&PackageId> = vec![&binary.ok_or_else(|| nothing(BINARY))?.id];
    let mut found = BTreeMap::new();
    while let Some(id) = open.pop() {
        let Some(package) = metadata.packages.iter().find(|package| package.id == *id) else {
            continue;
        };
        let a_macro = package.targets.iter().any(|target| target.is_proc_macro());
        if a_macro || found.insert((package.name.as_str(), &package.version), package).is_some() {
            continue;
        }
        let Some(node) = nodes.iter().find(|node| node.id == *id) else { continue };
        let normal = node.deps.iter().filter(|dependency| {
            dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
        });
        open.extend(normal.map(|dependency| &dependency.pkg));
    }
    Ok(found.into_values().filter(|package| package.source.is_some()).collect())
}

/// The whole file: a line for each package, then each text once with the packages that it belongs
/// to.
fn notice(root: &Path, packages: &[&Package]) -> Outcome<String> {
    let mut list = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for package in packages {
        let licence = package.license.as_deref().unwrap_or("see its text");
        let name = format!("{} {}", package.name, package.version);
        list += &format!("  {name}: {licence}\n");
        let of_package = texts_of(package, licence)?;
        if of_package.is_empty() {
            without.push(format!("  {name}: {licence}; {}\n", package.authors.join(", ")));
        }
        for text in of_package {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    for (name, licence, file) in VENDORED {
        list += &format!("  {name}: {licence}\n");
        let path = root.join(file);
        let text = fs::read_to_string(&path).map_err(|error| cannot(&path, &error))?;
        texts.entry(tidied(&text)).or_default().push(name.to_owned());
    }
    let mut out = format!("{HEAD}\n{list}");
    if !without.is_empty() {
        out += "\nThese packages hold no text of their licence; it is that of the same name \
                below, with their authors:\n";
        out.extend(without);
    }
    let mut by_package: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, names)| (names, text)).collect();
    by_package.sort();
    for (names, text) in by_package {
        out += &format!("\n{}\n{}\n\n{text}", "-".repeat(80), names.join(", "));
    }
    Ok(out)
}

/// The texts that must accompany `package`: its own, and those of things in its `assets`, such as
/// fonts.
fn texts_of(package: &Package, licence: &str) -> Outcome<Vec<String>> {
    let folder = package.manifest_path.parent().unwrap_or(&package.manifest_path).as_std_path();
    let own = licence_files(folder)?;
    let mut files: Vec<PathBuf> =
        chosen(own, licence).iter().map(|name| folder.join(name)).collect();
    let assets = folder.join("assets");
    if assets.is_dir() {
        for part in entries(&assets)?.into_iter().filter(|path| path.is_dir()) {
            files.extend(licence_files(&part)?.iter().map(|name| part.join(name)));
        }
    }
    let text = |path: &PathBuf| {
        let bytes = fs::read(path).map_err(|error| cannot(path, &error))?;
        Ok(tidied(&String::from_utf8_lossy(&bytes)))
    };
    files.iter().map(text).collect()
}

/// Names of the files in `folder` that hold a licence, sorted.
fn licence_files(folder: &Path) -> Outcome<Vec<String>> {
    let name = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let upper = name.to_ascii_uppercase();
        (path.is_file() && LICENCES.iter().any(|start| upper.starts_with(start))).then_some(name)
    };
    let mut names: Vec<String> = entries(folder)?.into_iter().filter_map(name).collect();
    names.sort();
    Ok(names)
}

fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let paths: Result<Vec<PathBuf>, std::io::Error> =
        fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    paths.map_err(|error| cannot(folder, &error))
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("{}: {error}", path.display()))
}

/// The relevant licence files: the text of the chosen licence, and files that are no alternative to
/// it.
fn chosen(mut names: Vec<String>, licence: &str) -> Vec<String> {
    let is = |name: &str, choice: &str| name.to_ascii_uppercase().contains(choice);
    let choice = CHOICES.iter().find(|choice| names.iter().any(|name| is(name, choice)));
    let (Some(choice), false) = (choice, licence.contains(" AND ")) else { return names };
    let also = |name: &str| ["NOTICE", "COPYRIGHT"].iter().any(|also| is(name, also));
    names.retain(|name| is(name, choice) || also(name));
    names
}

/// The text without white space at the ends of lines and of the whole.
fn tidied(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn one_of_several_licences_is_chosen_and_nothing_else_left_out() {
        let both = names(&["COPYRIGHT", "LICENSE-APACHE", "LICENSE-MIT"]);
        assert_eq!(chosen(both, "MIT OR Apache-2.0"), ["COPYRIGHT", "LICENSE-MIT"]);
        let all = names(&["LICENSE-APACHE", "LICENSE-MIT", "LICENSE-UNICODE"]);
        assert_eq!(chosen(all.clone(), "(MIT OR Apache-2.0) AND Unicode-3.0"), all);
        assert_eq!(
            chosen(names(&["LICENSE.txt", "NOTICE.txt"]), "Apache-2.0"),
            ["LICENSE.txt", "NOTICE.txt"]
        );
        assert_eq!(
            chosen(names(&["LICENSE-BOOST", "LICENSE-APACHE"]), "Apache-2.0 OR BSL-1.0"),
            ["LICENSE-APACHE"]
        );
        assert_eq!(chosen(names(&["COPYING"]), "BSD-3-Clause"), ["COPYING"]);
    }

    #[test]
    fn texts_that_differ_in_white_space_only_are_one() {
        assert_eq!(tidied("\r\nA  \r\n\r\nB\n\n"), "A\n\nB\n");
    }
}
