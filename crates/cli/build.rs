//! Gives the program the commit of its source: `0.1.0 (3f9c2d1a7b42)`, with `-dirty` if a source
//! differs from that commit. A build outside its own git checkout has only the version.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of the program, in the workspace and in each of its crates. Cargo runs this script
/// again if one of them, or the commit, changes, and then builds the program again.
const SOURCES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "scenarios", "claims"];
const SOURCES_OF_CRATE: [&str; 3] = ["Cargo.toml", "build.rs", "src"];

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap_or(root);
    println!("cargo:rerun-if-changed=build.rs");
    let named = match commit(&root) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo:rustc-env=JUSTFULL_VERSION={named}");
}

/// The commit; none if `root` is not a checkout of its own.
fn commit(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root {
        return None;
    }
    let sources = sources(root)?;
    // The log of HEAD grows with every commit; HEAD itself changes only with the branch.
    let logs = ["HEAD", "logs/HEAD"]
        .iter()
        .filter_map(|name| git(root, &["rev-parse", "--git-path", name]));
    let watched =
        logs.map(|path| root.join(path)).chain(sources.iter().map(|source| root.join(source)));
    for path in watched.filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let mut status = vec!["--no-optional-locks", "status", "--porcelain", "--"];
    status.extend(sources.iter().filter_map(|source| source.to_str()));
    let dirty = if git(root, &status)?.is_empty() { "" } else { "-dirty" };
    Some(format!("{commit}{dirty}"))
}

/// Paths of the sources, relative to `root`.
fn sources(root: &Path) -> Option<Vec<PathBuf>> {
    let mut sources: Vec<PathBuf> = SOURCES.iter().map(PathBuf::from).collect();
    for entry in std::fs::read_dir(root.join("crates")).ok()? {
        let folder = Path::new("crates").join(entry.ok()?.file_name());
        sources.extend(SOURCES_OF_CRATE.iter().map(|source| folder.join(source)));
    }
    sources.sort_unstable();
    Some(sources)
}

/// The output of git; none if it fails or is absent.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}
