//! The versions of the site. The checkout is at its top; each other tag `vN.N.N` has a folder of
//! that name. `versions.js` at the top lists all with their pages, for the menu on each page.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::{Outcome, process};

/// The list's name at the top of the site.
pub(super) const LIST: &str = "versions.js";
const MENU: &str = include_str!("versions-menu.js");
/// The name of a checkout between tags.
const BETWEEN: &str = "latest";

/// The documentation of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// Its tag; `latest` for a checkout between tags.
    pub(super) name: String,
    /// Its folder in the site, empty or with a slash at its end.
    pub(super) folder: String,
    /// Its pages, relative to `folder`.
    pub(super) pages: Vec<String>,
}

impl Version {
    /// A version whose sources are the `files`.
    pub(super) fn new<'a>(
        name: &str,
        folder: String,
        files: impl Iterator<Item = &'a String>,
    ) -> Self {
        let pages = files.filter_map(|path| path.strip_suffix(".md"));
        let pages = pages.filter(|page| *page != "SUMMARY").map(|page| format!("{page}.html"));
        Self { name: name.to_owned(), folder, pages: pages.collect() }
    }

    /// The script that adds the menu to a page of this version.
    pub(super) fn menu(name: &str, folder: &str) -> String {
        let up = if folder.is_empty() { "" } else { "../" };
        MENU.replace("{{here}}", name).replace("{{up}}", up)
    }
}

/// The list of `versions` as a script.
pub(super) fn list(versions: &[Version]) -> String {
    let list = versions.iter().map(
        |Version { name, folder, pages }| json!({ "name": name, "folder": folder, "pages": pages }),
    );
    format!("var justfullVersions = {};\n", json!(list.collect::<Vec<_>>()))
}

/// The name of the checkout, and the other tags, newest first.
pub(super) fn names(root: &Path) -> Outcome<(String, Vec<String>)> {
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(root).args(["-c", "safe.directory=*"]).args(words);
        process::stdout_of(&mut git)
    };
    let all = git(&["tag", "--list", "v[0-9]*", "--sort=-version:refname"])?;
    let here = git(&["tag", "--list", "v[0-9]*", "--points-at", "HEAD"])?;
    let here = here.lines().next_back().unwrap_or(BETWEEN).to_owned();
    let others = all.lines().filter(|tag| *tag != here && plain(tag));
    Ok((here.clone(), others.map(str::to_owned).collect()))
}

/// True if `tag` is safe as a folder and in a script.
fn plain(tag: &str) -> bool {
    tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+_".contains(&byte))
}

/// The tree of `tag`, as a clone in `folder`.
pub(super) fn checked_out(root: &Path, tag: &str, folder: &Path) -> Outcome<PathBuf> {
    let tree = folder.join("tree");
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "-c", "advice.detachedHead=false", "clone", "--quiet"]);
    git.args(["--shared", "--branch", tag]).arg(root).arg(&tree);
    process::must_succeed(&mut git)?;
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_list_has_each_version_with_its_folder_and_pages() {
        let files = ["SUMMARY.md", "docs/a.svg", "docs/g.md", "index.md"].map(str::to_owned);
        let versions = [
            Version::new("latest", String::new(), files.iter()),
            Version::new("v0.1.0", "v0.1.0/".to_owned(), files[3..].iter()),
        ];
        let list = list(&versions);
        let json = list.strip_prefix("var justfullVersions = ").unwrap().trim_end_matches(";\n");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(json).unwrap(),
            json!([
                { "name": "latest", "folder": "", "pages": ["docs/g.html", "index.html"] },
                { "name": "v0.1.0", "folder": "v0.1.0/", "pages": ["index.html"] },
            ])
        );
    }

    #[test]
    fn the_menu_of_a_folder_reads_the_list_above_it() {
        let menu = Version::menu("v0.1.0", "v0.1.0/");
        assert!(menu.contains("const here = \"v0.1.0\"") && menu.contains("URL(\"../\""), "{menu}");
        let menu = Version::menu("latest", "");
        assert!(menu.contains("URL(\"\" ||") && !menu.contains("{{"), "{menu}");
    }

    #[test]
    fn tags_are_versions_newest_first_and_that_of_the_checkout_stands_alone() {
        let folder = std::env::temp_dir().join(format!("justfull-tags-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(&folder).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
            assert!(git.args(words).status().unwrap().success(), "{words:?}");
        };
        let commit = |name: &str| {
            fs::write(folder.join("name"), name).unwrap();
            git(&["add", "name"]);
            git(&["commit", "--quiet", "--message", name]);
        };
        git(&["init", "--quiet"]);
        commit("one");
        ["v0.9.0", "vain", "other"].iter().for_each(|tag| git(&["tag", tag]));
        commit("two");
        git(&["tag", "v0.10.0"]);
        let all = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&folder).unwrap(), ("v0.10.0".to_owned(), all(&["v0.9.0"])));
        commit("three");
        let found = names(&folder).unwrap();
        assert_eq!(found, ("latest".to_owned(), all(&["v0.10.0", "v0.9.0"])));
        let tree = checked_out(&folder, "v0.9.0", &folder.join("old")).unwrap();
        assert_eq!(fs::read_to_string(tree.join("name")).unwrap(), "one");
        fs::remove_dir_all(&folder).unwrap();
    }
}
