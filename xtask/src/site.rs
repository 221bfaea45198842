//! `cargo xtask site`: the tree's own pages as a site, made by mdBook. The pages stay in their
//! places: they are copied to `target/site` in the order of `docs/SUMMARY.md`, and links to other
//! files of the tree lead to the repository. Notebooks are executed and shown with their output. In
//! the finished site every internal link must have a target, and the search must find a page.

mod html;
mod notebooks;
mod pages;
mod versions;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use versions::Version;

use crate::tidy::tree::Tree;
use crate::{Failure, Outcome, process};

/// Settings for mdBook.
const SETTINGS: [(&str, &str); 2] =
    [("book.toml", include_str!("site/book.toml")), ("site.css", include_str!("site/site.css"))];
/// The query of the check, and a page that it must find.
const ASKED: (&str, &str) = ("FQ-CoDel", "reference/algorithms.html");
/// A page that every version has.
const EVERYWHERE: &str = "index.html";

pub(crate) fn run(root: &Path) -> Outcome {
    let metadata = process::metadata(&root.join("Cargo.toml"))?;
    let folder = metadata.target_directory.into_std_path_buf().join("site");
    if !process::exists("mdbook") {
        let message = "mdbook is not here: `make site` installs it, or `.ci/setup --site`";
        return Err(Failure::Environment(message.to_owned()));
    }
    let tree = Tree::read(root)?;
    let executed = notebooks::executed(root, &tree, &folder.join("notebooks"))?;
    let html = folder.join("html");
    let (here, tags) = versions::names(root)?;
    // mdBook empties the folder that it writes to: the folder of all comes first.
    let mut built = vec![build(&tree, &executed, &here, "", &folder)?];
    fresh(&folder.join("tags"))?;
    for tag in &tags {
        let place = folder.join("tags").join(tag);
        let tree = Tree::read(&versions::checked_out(root, tag, &place)?)?;
        if !tree.contains(pages::CONTENTS) {
            println!("site: {tag} has no {}", pages::CONTENTS);
            continue;
        }
        let version = build(&tree, &BTreeMap::new(), tag, &format!("{tag}/"), &folder);
        built.push(version.map_err(|failure| Failure::Check(format!("{tag}: {failure}")))?);
    }
    write(&html.join(versions::LIST), versions::list(&built).as_bytes())?;
    let checked = html::check(&html)?;
    println!("site: {} pages, {} links within it, none broken", checked.pages, checked.links);
    search(&html, &folder)?;
    menus(&html, &folder, &built)?;
    println!("{}", html.join("index.html").display());
    Ok(())
}

/// Builds the site of `tree` as the version `name`, in `within` of the site in `folder`. Notebooks
/// that are not `executed` show the output that they have in the tree.
fn build(
    tree: &Tree,
    executed: &BTreeMap<String, String>,
    name: &str,
    within: &str,
    folder: &Path,
) -> Outcome<Version> {
    let pages = pages::assemble(tree, executed).map_err(Failure::Check)?;
    let book = if within.is_empty() { folder.to_owned() } else { folder.join("tags").join(name) };
    fresh(&book.join("src"))?;
    for (name, text) in SETTINGS {
        write(&book.join(name), text.as_bytes())?;
    }
    write(&book.join("versions-menu.js"), Version::menu(name, within).as_bytes())?;
    for (path, bytes) in &pages {
        write(&book.join("src").join(path), bytes)?;
    }
    let html = folder.join("html").join(within);
    let mut mdbook = Command::new("mdbook");
    process::must_succeed(mdbook.arg("build").arg(&book).arg("--dest-dir").arg(&html))?;
    Ok(Version::new(name, within.to_owned(), pages.keys()))
}

/// Each version's first page must have a menu of all versions, whose links lead to pages.
fn menus(html: &Path, folder: &Path, versions: &[Version]) -> Outcome {
    if versions.len() < 2 {
        println!("site: one version");
        return Ok(());
    }
    if !process::exists("chromium") {
        return process::skipped("skipped: the menu of versions, since there is no chromium");
    }
    for version in versions {
        let page = shown(html, &format!("{}{EVERYWHERE}", version.folder), folder)?;
        let links = html::menu(&page);
        let there = links.iter().filter(|link| {
            link.strip_prefix("file://").is_some_and(|path| Path::new(path).is_file())
        });
        if there.count() != versions.len() {
            let message = format!("{}: the menu of versions leads to {links:?}", version.name);
            return Err(Failure::Check(message));
        }
    }
    println!("site: {} versions, each with a menu of all", versions.len());
    Ok(())
}

/// The document of `page` once its scripts have run, opened in Chromium as a file.
fn shown(html: &Path, page: &str, folder: &Path) -> Outcome<String> {
    let mut browser = Command::new("chromium");
    browser
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", html.join(page).display()));
    // Its messages about missing buses and drivers do not concern the page.
    let page = browser.output().map_err(|error| cannot(Path::new("chromium"), &error))?;
    Ok(String::from_utf8_lossy(&page.stdout).into_owned())
}

/// Opens the site in Chromium as a file, and searches.
fn search(html: &Path, folder: &Path) -> Outcome {
    if !process::exists("chromium") {
        return process::skipped("skipped: the site's search, since there is no chromium");
    }
    let (asked, expected) = ASKED;
    let page = shown(html, &format!("index.html?search={asked}"), folder)?;
    let found = html::search_results(&page);
    if !found.iter().any(|link| link.contains(expected)) {
        let message = format!("the site's search for {asked} finds {found:?} and no {expected}");
        return Err(Failure::Check(message));
    }
    println!("site: the search for {asked} finds {} places", found.len());
    Ok(())
}

/// Makes `folder` a new, empty one.
fn fresh(folder: &Path) -> Outcome {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    }
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))
}

fn write(path: &Path, bytes: &[u8]) -> Outcome {
    let above = path.parent().unwrap_or(path);
    fs::create_dir_all(above).map_err(|error| cannot(above, &error))?;
    fs::write(path, bytes).map_err(|error| cannot(path, &error))
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("{}: {error}", path.display()))
}
