//! `new --limiter`: a Rust crate with a user-defined limiter, which builds, tests and runs.

use crate::failure::Failure;
use crate::terminal::say;
use justfull_report::export;
use std::fs;
use std::path::Path;

/// The crate's files, with the names of the example; the manifest has placeholders.
const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("../../template/limiter/Cargo.toml.in")),
    (".gitignore", "/target\n/results\n"),
    ("src/lib.rs", include_str!("../../../../examples/own-limiter/src/lib.rs")),
    ("src/main.rs", include_str!("../../../../examples/own-limiter/src/main.rs")),
    ("tests/rules.rs", include_str!("../../../../examples/own-limiter/tests/rules.rs")),
];
/// The crates of its dependencies, each with the rest of its manifest line after the source.
const CRATES: [(&str, &str); 4] =
    [("base", ""), ("lab", ""), ("ran", ""), ("report", ", default-features = false")];
const ALLOWED: &str = "a folder whose name is of lower-case letters, digits, - and _, begins with \
                       a letter, and is no word of Rust and no shipped method";

pub(super) fn new(folder: &Path, justfull: Option<&Path>) -> Result<(), Failure> {
    let name = folder.file_name().and_then(|name| name.to_str()).filter(|name| is_name(name));
    let Some(name) = name else {
        let found = folder.display();
        return Err(Failure::Usage(format!("--limiter: found {found}, allowed is {ALLOWED}")));
    };
    if folder.symlink_metadata().is_ok() {
        let text = "is there already, allowed is a new folder";
        return Err(Failure::Usage(format!("--limiter: {} {text}", folder.display())));
    }
    let dependencies = dependencies(justfull)?;
    let words = [
        ("two-slots", name),
        ("two_slots", &name.replace('-', "_")),
        ("TwoSlots", &type_name(name)),
        ("{rust}", env!("CARGO_PKG_RUST_VERSION")),
        ("{dependencies}", &dependencies),
    ];
    for (path, text) in FILES {
        let file = folder.join(path);
        let text = words.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to));
        let above = file.parent().unwrap_or(folder);
        fs::create_dir_all(above)
            .map_err(|e| Failure::Usage(format!("{}: {e}", above.display())))?;
        export::write_whole(&file, |out| out.write_all(text.as_bytes()))
            .map_err(|e| Failure::usage(&e))?;
    }
    let folder = folder.display();
    say(&format!(
        "{folder} is written; its limiter is in {folder}/src/lib.rs. In {folder}:\n  \
         cargo test       holds it to the rules of limiters\n  \
         cargo run        runs it beside Vanilla and DRQL"
    ));
    Ok(())
}

/// True for a name that a crate and, capitalised, a type can have.
fn is_name(name: &str) -> bool {
    let written = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
        && name.len() <= 64;
    written && !is_rust(name) && !ships(name)
}

/// True for a Rust keyword or the name of a cargo folder: no crate can have this name.
fn is_rust(name: &str) -> bool {
    "abstract as async await become box break const continue crate do dyn else enum extern false \
     final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
     static struct super trait true try type typeof union unsafe unsized use virtual where while \
     yield alloc build core deps examples incremental proc_macro std test"
        .split_whitespace()
        .any(|word| word == name)
}

/// True if a shipped method has the name of the type.
fn ships(name: &str) -> bool {
    justfull_scenario::MethodLibrary::shipped().find(&type_name(name)).is_some()
}

/// `two-slots` as `TwoSlots`.
fn type_name(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split(['-', '_']).map(capital).collect()
}

/// The dependency lines of the manifest, from the tree `justfull` or from the repository.
fn dependencies(justfull: Option<&Path>) -> Result<String, Failure> {
    let Some(tree) = justfull else {
        let at = env!("CARGO_PKG_REPOSITORY");
        let lines = CRATES.map(|(of, rest)| format!("justfull-{of} = {{ git = \"{at}\"{rest} }}"));
        return Ok(lines.join("\n"));
    };
    let wrong = |why: &str| {
        let allowed = "the folder of justfull's source";
        Failure::Usage(format!("--justfull: found {}{why}, allowed is {allowed}", tree.display()))
    };
    let tree = tree.canonicalize().map_err(|error| wrong(&format!(" ({error})")))?;
    let mut lines = Vec::new();
    for (of, rest) in CRATES {
        let path = tree.join("crates").join(of);
        if !path.join("Cargo.toml").is_file() {
            return Err(wrong(&format!(" (without crates/{of})")));
        }
        let path = path.to_str().ok_or_else(|| wrong(" (a name that is not UTF-8)"))?;
        // Quoted by the rules of TOML.
        let path = toml_text(path);
        lines.push(format!("justfull-{of} = {{ path = {path}{rest} }}"));
    }
    Ok(lines.join("\n"))
}

/// `text` as a TOML string.
fn toml_text(text: &str) -> String {
    justfull_scenario::Value::String(text.into()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_crates_and_types_or_are_refused() {
        assert_eq!(type_name("mine"), "Mine");
        assert_eq!(type_name("two-slots_b2"), "TwoSlotsB2");
        for good in ["mine", "two-slots", "a1", "x_y"] {
            assert!(is_name(good), "{good}");
        }
        let long = "a".repeat(65);
        for bad in ["", "Mine", "1a", "-a", "é", "a.b", "match", "core", "drql", "std", &long] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
