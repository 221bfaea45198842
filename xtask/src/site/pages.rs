//! The pages of the site: each at its place in the tree, with links to other pages, to files beside
//! them in `docs`, or to the repository.

use std::collections::{BTreeMap, BTreeSet};

use super::notebooks;
use crate::tidy::links::{resolve, with_targets};
use crate::tidy::tree::{File, Tree};

/// The order of the pages, with links relative to its place in the tree.
pub(super) const CONTENTS: &str = "docs/SUMMARY.md";
/// mdBook's place for them.
const SUMMARY: &str = "SUMMARY.md";
/// The first page, in the tree and in the site.
const FIRST: (&str, &str) = ("README.md", "index.md");
/// Forms, which are no pages of the site.
const FORMS: &str = ".github/";
/// Files in here are copied if a page shows or links them.
const WITH: &str = "docs/";
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Path in the site's sources, and content, of all files for mdBook, with the `executed` notebooks.
pub(super) fn assemble(
    tree: &Tree,
    executed: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let listed = listed(tree)?;
    let mut made = BTreeMap::new();
    for page in listed.iter().map(String::as_str).chain([CONTENTS]) {
        let text = if page.ends_with(notebooks::ENDING) {
            notebooks::page(tree, page, executed)?
        } else {
            text_of(tree, page)?.to_owned()
        };
        let mut beside = BTreeSet::new();
        let other = |target: &str| leading(tree, &listed, page, target, &mut beside);
        let text = with_targets(&text, other).map_err(|why| format!("{page}: {why}"))?;
        made.insert(place(page), text.into_bytes());
        let files = beside.iter().filter_map(|path: &String| tree.get(path));
        made.extend(files.map(|file| (file.path.clone(), file.bytes.clone())));
    }
    Ok(made)
}

/// The pages of the site; fails unless the contents have each page of the tree once.
fn listed(tree: &Tree) -> Result<BTreeSet<String>, String> {
    let mut listed = BTreeSet::new();
    with_targets(text_of(tree, CONTENTS)?, |target| {
        let path = resolve(CONTENTS, target).unwrap_or_default();
        match tree.get(&path) {
            None => Err(format!("{CONTENTS}: there is no `{target}`")),
            Some(_) if !listed.insert(path) => Err(format!("{CONTENTS}: `{target}` stands twice")),
            Some(_) => Ok(String::new()),
        }
    })?;
    let is_page = |file: &&File| ["md", "ipynb"].contains(&file.extension());
    let pages = tree.files.iter().filter(is_page).filter(|file| file.path != CONTENTS);
    for page in pages.filter(|page| !page.path.starts_with(FORMS)) {
        if !listed.contains(&page.path) {
            return Err(format!("{CONTENTS}: `{}` is missing", page.path));
        }
    }
    Ok(listed)
}

/// The target in the site of `target`, a link of `page`; files that must be copied are added to
/// `beside`.
fn leading(
    tree: &Tree,
    listed: &BTreeSet<String>,
    page: &str,
    target: &str,
    beside: &mut BTreeSet<String>,
) -> Result<String, String> {
    // A link to another site or within the page, or a picture in the page itself.
    let stays = ["mailto:", "#", "data:"].iter().any(|start| target.starts_with(start));
    if target.contains("://") || stays {
        return Ok(target.to_owned());
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let hash = if anchor.is_empty() { "" } else { "#" };
    let to = resolve(page, path).filter(|to| tree.contains(to));
    let to = to.ok_or_else(|| format!("link to `{target}`, which does not exist"))?;
    if !listed.contains(&to) {
        match tree.get(&to) {
            Some(_) if to.starts_with(WITH) && to != CONTENTS => drop(beside.insert(to.clone())),
            Some(_) => return Ok(format!("{REPOSITORY}/blob/HEAD/{to}{hash}{anchor}")),
            None => return Ok(format!("{REPOSITORY}/tree/HEAD/{to}")),
        }
    }
    Ok(format!("{}{hash}{anchor}", relative(&place(page), &place(&to))))
}

/// The path of a file of the tree in the site's sources.
fn place(path: &str) -> String {
    match path {
        CONTENTS => SUMMARY.to_owned(),
        path if path == FIRST.0 => FIRST.1.to_owned(),
        path => match path.strip_suffix(notebooks::ENDING) {
            Some(name) => format!("{name}.md"),
            None => path.to_owned(),
        },
    }
}

/// The link from the file `from` to the file `to`.
fn relative(from: &str, to: &str) -> String {
    let folders = |path: &str| {
        let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        parts.pop();
        parts
    };
    let (here, there) = (folders(from), folders(to));
    let common = here.iter().zip(&there).take_while(|(one, other)| one == other).count();
    let name = to.rsplit('/').next().unwrap_or(to);
    let up = here[common..].iter().map(|_| "..");
    up.chain(there[common..].iter().map(String::as_str)).chain([name]).collect::<Vec<_>>().join("/")
}

fn text_of<'a>(tree: &'a Tree, path: &str) -> Result<&'a str, String> {
    tree.get(path).and_then(File::text).ok_or_else(|| format!("there is no `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::tests::tree_of;

    const PAGES: [(&str, &str); 5] = [
        ("README.md", "![f](docs/a.svg) [g](docs/guide/g.md#end) [c](crates/ran/) [d](Makefile)\n"),
        (
            "docs/guide/g.md",
            "# End\n[top](../../README.md) [here](#end) [x](https://example.org)\n",
        ),
        ("docs/a.svg", "<svg/>"),
        ("crates/ran/Cargo.toml", ""),
        ("Makefile", ""),
    ];

    fn assembled(contents: &str) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let mut files = PAGES.to_vec();
        files.push(("docs/SUMMARY.md", contents));
        assemble(&tree_of(&files), &BTreeMap::new())
    }

    #[test]
    fn pages_keep_their_places_and_their_links_lead_to_where_things_are() {
        let made = assembled("[t](../README.md)\n- [g](guide/g.md)\n").unwrap();
        let text = |path: &str| std::str::from_utf8(&made[path]).unwrap();
        assert_eq!(text("SUMMARY.md"), "[t](index.md)\n- [g](docs/guide/g.md)\n");
        assert_eq!(
            text("index.md"),
            format!(
                "![f](docs/a.svg) [g](docs/guide/g.md#end) [c]({REPOSITORY}/tree/HEAD/crates/ran) \
                 [d]({REPOSITORY}/blob/HEAD/Makefile)\n"
            )
        );
        assert_eq!(
            text("docs/guide/g.md"),
            "# End\n[top](../../index.md) [here](#end) [x](https://example.org)\n"
        );
        assert_eq!(text("docs/a.svg"), "<svg/>");
        assert_eq!(made.len(), 4);
    }

    #[test]
    fn the_contents_name_every_page_once() {
        let why = |contents| assembled(contents).unwrap_err();
        assert_eq!(why("[t](../README.md)\n"), "docs/SUMMARY.md: `docs/guide/g.md` is missing");
        assert_eq!(
            why("[t](../README.md) [u](../README.md)\n"),
            "docs/SUMMARY.md: `../README.md` stands twice"
        );
        assert_eq!(why("[t](gone.md)\n"), "docs/SUMMARY.md: there is no `gone.md`");
    }

    #[test]
    fn the_pages_of_this_tree_make_a_site() {
        let made = assemble(&Tree::read(&crate::root()).unwrap(), &BTreeMap::new()).unwrap();
        assert!(made.contains_key("index.md") && made.contains_key("docs/demo.svg"));
        assert!(made.contains_key("docs/reference/algorithms.md"));
        let notebook = std::str::from_utf8(&made["docs/notebooks/first-study.md"]).unwrap();
        assert!(notebook.starts_with("# First study\n") && notebook.contains("```python\n"));
    }
}
