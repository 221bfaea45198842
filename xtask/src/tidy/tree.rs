//! The files of the checkout: tracked files, and new ones that git does not ignore.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Failure, Outcome, process};

/// A file with its contents.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Relative to the top of the checkout, with `/`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    /// The contents, unless they are not UTF-8.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// The part after the last dot of the file name, or the whole name without a dot: `rs`,
    /// `Makefile`.
    pub(crate) fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.rsplit('.').next().unwrap_or(name)
    }
}

/// Every file of the checkout, sorted by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the files that `git ls-files` names. `safe.directory` permits a checkout of another
    /// user, as in containers.
    pub(crate) fn read(root: &Path) -> Outcome<Self> {
        let mut git = Command::new("git");
        git.current_dir(root).args(["-c", "safe.directory=*", "ls-files", "-z"]);
        git.args(["--cached", "--others", "--exclude-standard"]);
        let mut paths: Vec<String> = process::stdout_of(&mut git)?
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect();
        paths.sort();
        paths.dedup();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let place = root.join(&path);
            // Deleted without a commit yet, or a link to a folder.
            if !place.is_file() {
                continue;
            }
            let bytes = fs::read(&place)
                .map_err(|error| Failure::Environment(format!("{path}: {error}")))?;
            files.push(File { path, bytes });
        }
        Ok(Self { files })
    }

    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether `path` is a file of the tree, or a folder with one in it.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let below = |file: &str| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        path.is_empty() || self.files.iter().any(|file| file.path == path || below(&file.path))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A tree of (path, text).
    pub(crate) fn tree_of(files: &[(&str, &str)]) -> Tree {
        let files =
            files.iter().map(|(path, text)| File { path: (*path).into(), bytes: (*text).into() });
        Tree { files: files.collect() }
    }

    #[test]
    fn a_tree_contains_its_files_and_their_folders_only() {
        let tree = tree_of(&[("docs/guide/start.md", "")]);
        assert!(tree.contains("docs/guide/start.md"));
        assert!(tree.contains("docs/guide/") && tree.contains("docs"));
        assert!(!tree.contains("docs/gui"));
        assert!(!tree.contains("start.md"));
    }

    #[test]
    fn a_file_without_a_dot_has_its_name_as_extension() {
        let tree = tree_of(&[("a/Makefile", ""), ("a.b/run", ""), ("x.tar.gz", "")]);
        let extensions: Vec<&str> = tree.files.iter().map(File::extension).collect();
        assert_eq!(extensions, ["Makefile", "run", "gz"]);
    }
}
