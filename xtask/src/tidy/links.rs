//! Links between pages, and paths in back quotes, lead to files that exist.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Finding;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    // First components of paths: `crates/x` in back quotes is a path, `and/or` is not.
    let folders: BTreeSet<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.path.split_once('/'))
        .map(|(first, _)| first)
        .collect();
    let pages = tree.files.iter().filter(|file| file.extension() == "md");
    pages.flat_map(|page| check_page(page, tree, &folders)).collect()
}

fn check_page(page: &File, tree: &Tree, folders: &BTreeSet<&str>) -> Vec<Finding> {
    let Some(text) = page.text() else { return Vec::new() };
    let mut findings = Vec::new();
    for (line, prose) in prose_lines(text) {
        let (plain, quoted) = split_code_spans(prose);
        let links = link_targets(&plain)
            .into_iter()
            .filter_map(|target| broken_link(page, &plain[target], tree));
        findings.extend(links.map(|message| Finding::new(&page.path, line, message)));
        for path in quoted.into_iter().filter(|word| is_path(word, folders)) {
            if !tree.contains(path) {
                findings.push(Finding::new(&page.path, line, format!("`{path}` does not exist")));
            }
        }
    }
    findings
}

/// Lines outside fenced code blocks, with their numbers from 1.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = ["```", "~~~"].iter().any(|mark| line.trim_start().starts_with(mark));
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// A line with blanks in place of its code spans, and the code spans.
fn split_code_spans(line: &str) -> (String, Vec<&str>) {
    let mut plain = String::new();
    let mut spans = Vec::new();
    for (index, part) in line.split('`').enumerate() {
        if index > 0 {
            plain.push('`');
        }
        if index % 2 == 0 {
            plain.push_str(part);
        } else {
            plain.extend(std::iter::repeat_n(' ', part.len()));
            spans.push(part);
        }
    }
    (plain, spans)
}

/// The places in `line` of the targets of `[text](target)`, `[name]: target`, `src="target"` and
/// `href="target"`.
fn link_targets(line: &str) -> Vec<Range<usize>> {
    let until = |begin: usize, end: &[char]| {
        let rest = &line[begin..];
        let target = &rest[..rest.find(end).unwrap_or(rest.len())];
        let bracket = usize::from(target.starts_with('<'));
        begin + bracket..begin + target.trim_end_matches('>').len()
    };
    let mut targets = Vec::new();
    for (open, close) in [("](", &[')', ' '][..]), ("src=\"", &['"']), ("href=\"", &['"'])] {
        targets.extend(line.match_indices(open).map(|(at, _)| until(at + open.len(), close)));
    }
    let definition = line.find("]: ").filter(|_| line.starts_with('['));
    targets.extend(definition.map(|at| until(at + 3, &[' '])));
    targets
}

/// `text` with each link's target replaced by the result of `other`.
pub(crate) fn with_targets(
    text: &str,
    mut other: impl FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut made = text.to_owned();
    let begin = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
    let mut found: Vec<Range<usize>> = prose_lines(text)
        .flat_map(|(_, line)| {
            let targets = link_targets(&split_code_spans(line).0).into_iter();
            targets.map(move |at| begin(line) + at.start..begin(line) + at.end)
        })
        .collect();
    found.sort_by_key(|at| at.start);
    for at in found.into_iter().rev() {
        made.replace_range(at.clone(), &other(&text[at])?);
    }
    Ok(made)
}

/// Why `target` on `page` is broken, or `None`. Addresses of other sites are not followed.
fn broken_link(page: &File, target: &str, tree: &Tree) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let resolved = if path.is_empty() { page.path.clone() } else { resolve(&page.path, path)? };
    if !tree.contains(&resolved) {
        return Some(format!("link to `{target}`: there is no `{resolved}`"));
    }
    let text = tree.get(&resolved).filter(|file| file.extension() == "md").and_then(File::text)?;
    let missing = !anchor.is_empty() && !anchors(text).contains(anchor);
    missing.then(|| format!("link to `{target}`: `{resolved}` has no heading `#{anchor}`"))
}

/// `link` on the page at `from`, relative to the top; none above the top, outside the tree.
pub(crate) fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a page's headings: lower case, without punctuation, hyphens for spaces, and a
/// number behind repeated ones.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, line) in prose_lines(text) {
        let title = line.trim_start_matches('#');
        if title.len() < line.len() && title.starts_with(' ') {
            let slug = slug(title.trim());
            let free = (0..).map(|n| if n == 0 { slug.clone() } else { format!("{slug}-{n}") });
            names.extend(free.into_iter().find(|name| !names.contains(name)));
        }
        names.extend(line.match_indices(" id=\"").filter_map(|(at, open)| {
            line[at + open.len()..].split_once('"').map(|(name, _)| name.to_owned())
        }));
    }
    names
}

fn slug(title: &str) -> String {
    title
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
        .flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// True if a code span is a path of this tree: `crates/ran/src/stack.rs`, but not `aqm/*.rs`.
fn is_path(word: &str, folders: &BTreeSet<&str>) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.', '/'].contains(&c);
    word.split_once('/').is_some_and(|(first, _)| folders.contains(first))
        && word.chars().all(plain)
        && !word.contains("...")
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree_of;
    use super::*;

    fn findings(page: &str) -> Vec<String> {
        let tree = tree_of(&[
            ("README.md", page),
            ("docs/guide.md", "# Start here: now\n## Twice\n## Twice\n"),
            ("crates/ran/src/stack.rs", ""),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_to_files_folders_and_headings_that_exist_are_fine() {
        let page = "# Top\n[a](docs/guide.md) [b](docs/guide.md#start-here-now \"title\") [c](#top) [d](crates/ran/)\n\
                    [e](docs/guide.md#twice-1) [f](https://example.org/x) [g]: docs/guide.md\n";
        assert_eq!(findings(page), [""; 0]);
    }

    #[test]
    fn a_link_to_nothing_is_found_with_its_line() {
        assert_eq!(
            findings("\n[a](docs/gone.md)"),
            ["README.md:2: link to `docs/gone.md`: there is no `docs/gone.md`"]
        );
        assert_eq!(findings("<img src=\"docs/a.svg\">").len(), 1);
        assert_eq!(findings("[g]: docs/gone.md\n").len(), 1);
        assert_eq!(
            findings("[a](docs/guide.md#end)"),
            ["README.md:1: link to `docs/guide.md#end`: `docs/guide.md` has no heading `#end`"]
        );
    }

    #[test]
    fn targets_are_replaced_outside_of_code() {
        let page = "[a](x.md#b \"t\") `[c](x.md)` ü ![d](x.md)\n```\n[e](x.md)\n```\n[f]: <x.md>\n";
        let made = with_targets(page, |target| Ok(target.replace("x.md", "other.md"))).unwrap();
        assert_eq!(
            made,
            "[a](other.md#b \"t\") `[c](x.md)` ü ![d](other.md)\n```\n[e](x.md)\n```\n[f]: <other.md>\n"
        );
        assert_eq!(with_targets(page, |target| Err(target.to_owned())), Err("x.md".into()));
    }

    #[test]
    fn links_are_relative_to_their_page() {
        assert_eq!(resolve("docs/guide/a.md", "../b.md").as_deref(), Some("docs/b.md"));
        assert_eq!(resolve("README.md", "../shared"), None);
    }

    #[test]
    fn a_path_in_back_quotes_must_exist() {
        assert_eq!(
            findings(
                "`crates/ran/src/stack.rs`, `crates/ran/`, `aqm/*.rs`, `and/or`, `crates/<name>`"
            ),
            [""; 0]
        );
        assert_eq!(
            findings("see `crates/ran/src/stak.rs`"),
            ["README.md:1: `crates/ran/src/stak.rs` does not exist"]
        );
    }

    #[test]
    fn code_blocks_and_code_spans_hold_no_links() {
        assert_eq!(findings("```\n[a](gone.md)\n```\n`[a](gone.md)`\n"), [""; 0]);
    }
}
