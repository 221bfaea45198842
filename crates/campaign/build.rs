//! Hashes the source of everything that determines a run's result, so that a dataset records its
//! origin. The same source has the same hash on every machine, from git or not.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The crates between a scenario and the rows of its runs.
const CRATES: [&str; 11] =
    ["base", "phy", "queue", "ran", "tcp", "rapid", "sim", "trace", "scenario", "lab", "report"];

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in CRATES {
        let source = crates.join(name).join("src");
        println!("cargo:rerun-if-changed={}", source.display());
        let before = files.len();
        add(&source, &mut files);
        let path = source.display();
        assert!(files.len() > before, "no source in {path}: a dataset would not name its maker");
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(&crates).unwrap_or(file);
        hash.update(name.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update(fs::read(file).expect("a source can be read"));
        hash.update([0]);
    }
    for (name, version) in dependencies(&crates) {
        hash.update(format!("{name} {version}\n"));
    }
    let hex: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=JUSTFULL_SOURCE={hex}");
}

/// Names and versions of the crates' dependencies. Other parts of the lock file differ between the
/// repository and a source distribution, which has fewer crates.
fn dependencies(crates: &Path) -> BTreeSet<(String, String)> {
    let table = |path: PathBuf| {
        println!("cargo:rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).expect("a file of Cargo can be read");
        text.parse::<Table>().expect("a file of Cargo is TOML")
    };
    let lock = table(crates.join("../Cargo.lock"));
    let packages = || lock["package"].as_array().into_iter().flatten();
    let mut found = BTreeSet::new();
    for name in CRATES {
        let manifest = table(crates.join(name).join("Cargo.toml"));
        let wanted = |name: &str| manifest["dependencies"].get(name).is_some();
        let member = format!("justfull-{name}");
        let own = packages().find(|package| package["name"].as_str() == Some(&member));
        let own = own.and_then(|package| package.get("dependencies")?.as_array());
        for one in own.into_iter().flatten().filter_map(Value::as_str) {
            // `name`, or `name version` if the lock file has several versions.
            let (name, version) = one.split_once(' ').unwrap_or((one, ""));
            if !wanted(name) || name.starts_with("justfull-") {
                continue;
            }
            let of = packages().find(|package| {
                package["name"].as_str() == Some(name)
                    && package["version"]
                        .as_str()
                        .is_some_and(|v| version.is_empty() || v == version)
            });
            let version = of.and_then(|package| package["version"].as_str());
            found.insert((name.into(), version.expect("a locked version").into()));
        }
    }
    found
}

/// Adds the sources below `folder`.
fn add(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_source = path.extension().is_some_and(|ending| ending == "rs" || ending == "toml");
        if path.is_dir() {
            add(&path, files);
        } else if is_source {
            files.push(path);
        }
    }
}
