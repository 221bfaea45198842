//! The folders of results that the page may read.

use justfull_report::earlier::is_folder;
use std::path::{Component, Path, PathBuf};

/// The folder of results or the dataset `name`, relative to `folder`; `.` is `folder`. None for any
/// other name or a link.
pub(crate) fn results(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut path = folder.to_path_buf();
    if name.is_empty() {
        return None;
    }
    for part in Path::new(name).components().filter(|_| name != ".") {
        let Component::Normal(part) = part else { return None };
        path.push(part);
        path.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(())?;
    }
    is_folder(&path).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_results_is_found_by_its_name_and_nothing_elsewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("a/b")).expect("folders");
        for place in ["manifest.json", "a/manifest.json", "a/b/campaign.json"] {
            std::fs::write(at(place), "{}").expect("a file");
        }
        std::os::unix::fs::symlink(at("a"), at("link")).expect("a link");
        std::fs::create_dir(at("c")).expect("a folder");
        std::os::unix::fs::symlink("/etc/passwd", at("c/manifest.json")).expect("a link");
        for name in ["a", "a/b"] {
            assert_eq!(results(folder.path(), name), Some(at(name)));
        }
        assert_eq!(results(folder.path(), "."), Some(folder.path().into()), "the folder itself");
        for name in ["", "./a", "..", "a/../a", "/etc", "link", "link/b", "c", "missing", "a/c"] {
            assert_eq!(results(folder.path(), name), None, "{name}");
        }
    }
}
