//! Which files a scenario may read, and which results may be looked at: those below the folder that
//! was named, and below the folder of data.

use std::path::{Component, Path, PathBuf};
use toml::Value;

/// Why the file `name` is refused, if it is. `folders` are where it may stand.
fn refused(name: &str, folders: &[&Path]) -> Option<String> {
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let inside = |folder: &&Path| {
        let (Ok(folder), Ok(file)) = (folder.canonicalize(), folder.join(path).canonicalize())
        else {
            // A file that is not there is the scenario's own error.
            return true;
        };
        file.starts_with(folder)
    };
    if plain && folders.iter().all(inside) {
        return None;
    }
    Some(format!("found {name}, allowed are files below the folder of this page"))
}

/// The first file that `table` names outside of `folders`, with its path and why it is refused.
pub(crate) fn outside(table: &Value, folders: &[&Path]) -> Option<String> {
    match table {
        Value::Table(entries) => entries.iter().find_map(|(key, value)| match value {
            Value::String(name) if is_file_key(key) => {
                refused(name, folders).map(|why| format!("field {key}: {why}"))
            }
            _ => outside(value, folders),
        }),
        Value::Array(items) => items.iter().find_map(|item| outside(item, folders)),
        _ => None,
    }
}

/// True of keys whose text names a file.
fn is_file_key(key: &str) -> bool {
    key == "file" || key.ends_with("_file") || key.ends_with(".file")
}

/// The folder of results `name` below `folder`.
pub(crate) fn results(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    let inside = refused(name, &[folder]).is_none() && !name.is_empty();
    (inside && path.join("result.json").is_file()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, folder: &Path) -> Option<String> {
        outside(&Value::Table(toml::from_str(text).expect("sound TOML")), &[folder])
    }

    #[test]
    fn files_outside_the_folder_are_refused_wherever_the_scenario_names_them() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("in.csv"), "1").expect("a file");
        assert_eq!(found("[channel]\nfile = \"in.csv\"\n", folder.path()), None);
        assert_eq!(found("[channel]\nfile = \"missing.csv\"\n", folder.path()), None);
        for text in [
            "[channel]\nfile = \"/etc/passwd\"\n",
            "[channel]\nfile = \"../in.csv\"\n",
            "[channel]\nfile = \"a/../../in.csv\"\n",
            "[[ue]]\nchannel = { kind = \"trace\", file = \"/etc/passwd\" }\n",
            "[switches.a]\n\"channel.file\" = \"/etc/passwd\"\n",
        ] {
            assert!(found(text, folder.path()).is_some(), "{text}");
        }
    }

    #[test]
    fn a_link_out_of_the_folder_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).expect("a link");
        assert!(found("file = \"link\"", folder.path()).is_some());
        std::os::unix::fs::symlink("/etc", folder.path().join("etc")).expect("a link");
        assert!(results(folder.path(), "etc").is_none());
    }
}
