//! Checks the links of a site of files: each must lead to a file of it, and to a place in that
//! file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::cannot;
use crate::{Failure, Outcome};

/// The counts of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checked {
    pub(super) pages: usize,
    pub(super) links: usize,
}

/// Checks all pages in and under `folder`; the failure names every broken link.
pub(super) fn check(folder: &Path) -> Outcome<Checked> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    let mut pages = BTreeMap::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "html")) {
        let text = fs::read_to_string(path).map_err(|error| cannot(path, &error))?;
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
        pages.insert(name, text);
    }
    let names = files.iter().map(|path| path.strip_prefix(folder).unwrap_or(path));
    let names: BTreeSet<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let (links, broken) = judge(&pages, &names);
    if broken.is_empty() {
        return Ok(Checked { pages: pages.len(), links });
    }
    Err(Failure::Check(format!("{} links lead nowhere:\n{}", broken.len(), broken.join("\n"))))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Outcome {
    for entry in fs::read_dir(folder).map_err(|error| cannot(folder, &error))? {
        let path = entry.map_err(|error| cannot(folder, &error))?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The number of links within the site, and the broken ones.
fn judge(pages: &BTreeMap<String, String>, files: &BTreeSet<String>) -> (usize, Vec<String>) {
    let places: BTreeMap<&str, BTreeSet<&str>> = pages
        .iter()
        .map(|(name, text)| {
            let ids = tags(text).flat_map(|tag| attributes(tag, &["id", "name"]));
            (name.as_str(), ids.collect())
        })
        .collect();
    let mut count = 0;
    let mut broken = Vec::new();
    for (name, text) in pages {
        for target in tags(text).flat_map(|tag| attributes(tag, &["href", "src"])) {
            if ["://", "mailto:", "data:", "javascript:"].iter().any(|other| target.contains(other))
            {
                continue;
            }
            count += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if path.is_empty() {
                Some(name.clone())
            } else {
                crate::tidy::links::resolve(name, path)
            };
            let Some(to) = to.filter(|to| files.contains(to)) else {
                broken.push(format!("{name}: {target}"));
                continue;
            };
            let known = places.get(to.as_str()).is_none_or(|ids| ids.contains(anchor));
            if !anchor.is_empty() && !known {
                broken.push(format!("{name}: {target}: no such place in {to}"));
            }
        }
    }
    (count, broken)
}

/// The insides of the tags of a page, without comments, scripts and styles.
fn tags(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find('<')? + 1..];
            if let Some(comment) = rest.strip_prefix("!--") {
                rest = &comment[comment.find("-->")?..];
                continue;
            }
            let end = end_of_tag(rest)?;
            let tag = &rest[..end];
            rest = &rest[end..];
            for raw in ["script", "style"] {
                if tag.split_whitespace().next() == Some(raw) {
                    rest = &rest[rest.find(&format!("</{raw}")).unwrap_or(rest.len())..];
                }
            }
            return Some(tag);
        }
    })
}

/// The position of the `>` that ends a tag, outside quotes.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.find(|c| {
        quoted ^= c == '"';
        c == '>' && !quoted
    })
}

/// Values of a tag's attributes with these `names`.
fn attributes<'a>(tag: &'a str, names: &[&str]) -> Vec<&'a str> {
    let parts: Vec<&str> = tag.split('"').collect();
    let pairs = parts.chunks_exact(2);
    let named = |before: &str| {
        let name = before.trim_end_matches('=').rsplit(char::is_whitespace).next();
        before.ends_with('=') && name.is_some_and(|name| names.contains(&name))
    };
    pairs.filter(|pair| named(pair[0])).map(|pair| pair[1]).collect()
}

/// Links in the results of the search on `page`.
pub(super) fn search_results(page: &str) -> Vec<&str> {
    let list = page.split_once("id=\"mdbook-searchresults\"").map_or("", |(_, rest)| rest);
    let list = list.split_once("</ul>").map_or("", |(list, _)| list);
    tags(list).flat_map(|tag| attributes(tag, &["href"])).collect()
}

/// Links in the menu of versions on `page`.
pub(super) fn menu(page: &str) -> Vec<&str> {
    let menu = page.split_once("<select id=\"versions\"").map_or("", |(_, rest)| rest);
    let menu = menu.split_once("</select>").map_or("", |(menu, _)| menu);
    tags(menu).flat_map(|tag| attributes(tag, &["value"])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(pages: &[(&str, &str)]) -> (usize, Vec<String>) {
        let pages: BTreeMap<String, String> =
            pages.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
        let mut files: BTreeSet<String> = pages.keys().cloned().collect();
        files.insert("a.svg".into());
        judge(&pages, &files)
    }

    #[test]
    fn links_that_lead_somewhere_are_counted() {
        let (count, broken) = judged(&[
            ("index.html", "<a href=\"docs/g.html#end\" title=\"a > b\">g</a><img src=\"a.svg\">"),
            (
                "docs/g.html",
                "<h2 class=\"x\" id=\"end\">E</h2><a href=\"../index.html\"> <a href=\"#end\">",
            ),
        ]);
        assert_eq!((count, broken), (4, vec![]));
    }

    #[test]
    fn links_to_nothing_are_named_with_their_page() {
        let (_, broken) = judged(&[
            ("index.html", "<a href=\"gone.html\"><a href=\"g.html#no\"><a href=\"../up.html\">"),
            ("g.html", "<script src=\"none.js\"></script>"),
        ]);
        assert_eq!(
            broken,
            [
                "g.html: none.js",
                "index.html: gone.html",
                "index.html: g.html#no: no such place in g.html",
                "index.html: ../up.html",
            ]
        );
    }

    #[test]
    fn text_comments_and_scripts_hold_no_links() {
        let page = "<p>&lt;a href=\"x\"></p><!-- <a href=\"x\"> --><script>'<a href=\"x\">'</script>\
                    <a href=\"https://example.org/x\"><b data-href=\"x\">";
        assert_eq!(judged(&[("index.html", page)]), (0, vec![]));
    }

    #[test]
    fn results_of_a_search_are_the_links_in_its_list() {
        let page = "<a href=\"a\"><ul id=\"mdbook-searchresults\"><li><a href=\"b?x#c\">B</a></li></ul><a href=\"d\">";
        assert_eq!(search_results(page), ["b?x#c"]);
        assert!(search_results("<a href=\"a\">").is_empty());
    }

    #[test]
    fn links_of_the_menu_are_the_values_of_its_options() {
        let page = "<option value=\"x\"><select id=\"versions\" aria-label=\"V\"><option \
                    value=\"file:///a\" selected=\"\">A</option></select><option value=\"y\">";
        assert_eq!(menu(page), ["file:///a"]);
        assert!(menu("<select id=\"other\"><option value=\"x\"></select>").is_empty());
    }
}
