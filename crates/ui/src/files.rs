//! The folders of results that may be looked at.

use std::path::{Component, Path, PathBuf};

/// The folder of results `name` in `folder`; none for another name or a link.
pub(crate) fn results(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut parts = Path::new(name).components();
    let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    let path = folder.join(name);
    let own = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let document = path.join("result.json");
    let whole = document.symlink_metadata().is_ok_and(|found| found.is_file());
    (plain && own && whole).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_results_is_found_by_its_name_and_nothing_elsewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("a/b")).expect("folders");
        for place in ["result.json", "a/result.json", "a/b/result.json"] {
            std::fs::write(at(place), "{}").expect("a file");
        }
        std::os::unix::fs::symlink(at("a"), at("link")).expect("a link");
        std::fs::create_dir(at("c")).expect("a folder");
        std::os::unix::fs::symlink("/etc/passwd", at("c/result.json")).expect("a link");
        assert_eq!(results(folder.path(), "a"), Some(at("a")));
        for name in ["", ".", "..", "a/b", "a/../a", "/etc", "link", "c", "missing"] {
            assert_eq!(results(folder.path(), name), None, "{name}");
        }
    }
}
