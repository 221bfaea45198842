//! `cargo xtask site`: the tree's own pages as a site, made by mdBook. The pages stay in their
//! places: they are copied to `target/site` in the order of `docs/SUMMARY.md`, and links to other
//! files of the tree lead to the repository. Notebooks are executed and shown with their output. In
//! the finished site every internal link must have a target, and the search must find a page.

mod html;
mod notebooks;
mod pages;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::tidy::tree::Tree;
use crate::{Failure, Outcome, process};

/// Settings for mdBook.
const SETTINGS: [(&str, &str); 2] =
    [("book.toml", include_str!("site/book.toml")), ("site.css", include_str!("site/site.css"))];
/// The query of the check, and a page that it must find.
const ASKED: (&str, &str) = ("FQ-CoDel", "reference/algorithms.html");

pub(crate) fn run(root: &Path) -> Outcome {
    let metadata = process::metadata(&root.join("Cargo.toml"))?;
    let folder = metadata.target_directory.into_std_path_buf().join("site");
    if !process::exists("mdbook") {
        let message = "mdbook is not here: `make site` installs it, or `.ci/setup --site`";
        return Err(Failure::Environment(message.to_owned()));
    }
    let tree = Tree::read(root)?;
    let executed = notebooks::executed(root, &tree, &folder.join("notebooks"))?;
    let pages = pages::assemble(&tree, &executed).map_err(Failure::Check)?;
    fresh(&folder.join("src"))?;
    for (name, text) in SETTINGS {
        write(&folder.join(name), text.as_bytes())?;
    }
    for (path, bytes) in &pages {
        write(&folder.join("src").join(path), bytes)?;
    }
    let html = folder.join("html");
    let mut book = Command::new("mdbook");
    process::must_succeed(book.arg("build").arg(&folder).arg("--dest-dir").arg(&html))?;
    let checked = html::check(&html)?;
    println!("site: {} pages, {} links within it, none broken", checked.pages, checked.links);
    search(&html, &folder)?;
    println!("{}", html.join("index.html").display());
    Ok(())
}

/// Opens the site in Chromium as a file, and searches.
fn search(html: &Path, folder: &Path) -> Outcome {
    if !process::exists("chromium") {
        return process::skipped("skipped: the site's search, since there is no chromium");
    }
    let (asked, expected) = ASKED;
    let mut browser = Command::new("chromium");
    browser
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}?search={asked}", html.join("index.html").display()));
    // Its messages about missing buses and drivers do not concern the page.
    let page = browser.output().map_err(|error| cannot(Path::new("chromium"), &error))?;
    let page = String::from_utf8_lossy(&page.stdout);
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
