//! The files of a release other than packages: an archive of the source tree, a Homebrew formula
//! that builds it, a bill of materials (CycloneDX), and the checksums of all files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::notice::{self, Part};
use crate::{Outcome, dist, process};

const FORMULA: &str = include_str!("justfull.rb");

/// Writes these files into `out`, the folder with the packages of `version`.
pub(super) fn make(root: &Path, version: &str, out: &Path) -> Outcome {
    let archive = out.join(format!("justfull-{version}.tar.gz"));
    let mut git = Command::new("git");
    git.args(["archive", "--format=tar.gz", &format!("--prefix=justfull-{version}/"), "--output"]);
    process::must_succeed(git.arg(&archive).arg("HEAD").current_dir(root))?;
    let sum = checksums(out, std::slice::from_ref(&archive))?;
    let sum = sum.split(' ').next().unwrap_or_default();
    let file = out.join("justfull.rb");
    super::write(&file, &formula(version, sum))?;
    if process::exists("ruby") {
        process::stdout_of(Command::new("ruby").arg("-c").arg(&file))?;
    } else {
        process::skipped("skipped: the formula's syntax, which needs ruby")?;
    }
    let bill = format!("{:#}\n", bill(version, &notice::parts(root)?));
    super::write(&out.join("justfull.cdx.json"), &bill)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(out).map_err(|error| dist::cannot(out, &error))? {
        let path = entry.map_err(|error| dist::cannot(out, &error))?.path();
        files.extend(path.is_file().then_some(path));
    }
    files.sort();
    super::write(&out.join("SHA256SUMS"), &checksums(out, &files)?)?;
    println!("{}: {} files", out.join("SHA256SUMS").display(), files.len());
    Ok(())
}

/// A line with the SHA-256 checksum of each of `files`, by its name in `out`.
fn checksums(out: &Path, files: &[PathBuf]) -> Outcome<String> {
    let names = files.iter().filter_map(|file| file.file_name());
    process::stdout_of(Command::new("sha256sum").args(names).current_dir(out))
}

fn formula(version: &str, sum: &str) -> String {
    FORMULA.replace("{{version}}", version).replace("{{sha256}}", sum)
}

/// The bill of materials of the program.
fn bill(version: &str, parts: &[Part]) -> Value {
    let component = |part: &Part| {
        let Part { name, version, licence, registry } = part;
        // Some packages separate licences by a slash.
        let licence = licence.replace('/', " OR ").replace("  ", " ");
        let mut one = json!({
            "type": "library", "name": name, "version": version,
            "purl": format!("pkg:{registry}/{name}@{version}"),
        });
        if !licence.is_empty() {
            one["licenses"] = json!([{ "expression": licence }]);
        }
        one
    };
    json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": {
            "type": "application", "name": "justfull", "version": version,
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        } },
        "components": parts.iter().map(component).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_names_each_part_of_the_program_with_its_registry_and_licence() {
        let parts = notice::parts(&crate::root()).unwrap();
        let bill = bill("1.2.3", &parts);
        let components = bill["components"].as_array().unwrap();
        assert!(components.len() > 100, "{}", components.len());
        let of = |name: &str| components.iter().find(|one| one["name"] == name).unwrap().clone();
        let chart = of("uplot");
        assert_eq!(chart["purl"], "pkg:npm/uplot@1.6.32");
        assert!(of("axum")["purl"].as_str().unwrap().starts_with("pkg:cargo/axum@0."));
        for one in components {
            let licence = one["licenses"][0]["expression"].as_str().unwrap_or_default();
            assert!(!licence.is_empty() && !licence.contains('/'), "{one}");
        }
    }

    #[test]
    fn the_formula_has_the_version_and_the_checksum_of_the_archive() {
        let text = formula("1.2.3", "abc");
        assert!(text.contains("/v1.2.3/justfull-1.2.3.tar.gz\"\n  sha256 \"abc\""), "{text}");
        assert!(!text.contains("{{"), "{text}");
    }
}
