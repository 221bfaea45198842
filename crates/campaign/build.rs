//! Hashes the source of everything that decides a run's result, so that a dataset knows what made
//! it: the same source has the same hash on every machine, whether it comes from git or not.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

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
        assert!(files.len() > before, "no source in {path}: a dataset would not know its maker");
    }
    // Versions of dependencies.
    let lock = crates.join("../Cargo.lock");
    println!("cargo:rerun-if-changed={}", lock.display());
    files.extend(lock.exists().then_some(lock));
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(&crates).unwrap_or(file);
        hash.update(name.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update(fs::read(file).expect("a source can be read"));
        hash.update([0]);
    }
    let hex: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=JUSTFULL_SOURCE={hex}");
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
