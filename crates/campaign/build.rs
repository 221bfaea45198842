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
        add(&source, &mut files);
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(&crates).unwrap_or(file);
        hash.update(name.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update(fs::read(file).unwrap_or_default());
        hash.update([0]);
    }
    let hex: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=JUSTFULL_SOURCE={hex}");
}

/// Adds the files below `folder`.
fn add(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { add(&path, files) } else { files.push(path) }
    }
}
