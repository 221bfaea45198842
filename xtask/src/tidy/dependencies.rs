//! Every declared registry crate has a line in ARCHITECTURE.md with its purpose.

use std::collections::BTreeSet;

use super::Finding;
use super::crates::Crate;
use super::tree::Tree;

const PAGE: &str = "ARCHITECTURE.md";

pub(super) fn check(crates: &[Crate], tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.get(PAGE).and_then(|file| file.text()) else {
        return vec![Finding::new(PAGE, 1, "there is no such page")];
    };
    let Some((line, section)) = section(text, "dependencies") else {
        return vec![Finding::new(
            PAGE,
            1,
            "there is no section whose title says \"Dependencies\"",
        )];
    };
    let mut named = BTreeSet::new();
    for line in &section {
        named.extend(line.split('`').skip(1).step_by(2));
    }
    let declared = crates
        .iter()
        .flat_map(|member| &member.dependencies)
        .filter(|dependency| dependency.external);
    let missing: BTreeSet<&str> = declared
        .map(|dependency| dependency.name.as_str())
        .filter(|name| !named.contains(name))
        .collect();
    let message = |name| format!("no line for the dependency `{name}`: state its purpose");
    missing.into_iter().map(|name| Finding::new(PAGE, line, message(name))).collect()
}

/// The first heading with `word` in its title: its line number, from 1, and the lines up to the
/// next heading of its level or above.
fn section<'a>(text: &'a str, word: &str) -> Option<(usize, Vec<&'a str>)> {
    let level = |line: &str| line.len() - line.trim_start_matches('#').len();
    let is_title = |line: &str| level(line) > 0 && line.to_lowercase().contains(word);
    let at = text.lines().position(is_title)?;
    let mut lines = text.lines().skip(at);
    let own_level = level(lines.next()?);
    let body = lines.take_while(|line| level(line) == 0 || level(line) > own_level).collect();
    Some((at + 1, body))
}

#[cfg(test)]
mod tests {
    use super::super::crates::tests::crate_of;
    use super::super::tree::tests::tree_of;
    use super::*;

    fn findings(page: &str) -> Vec<String> {
        let crates =
            [crate_of("base", "libm serde? dev:proptest!"), crate_of("ran", "justfull-base libm")];
        check(&crates, &tree_of(&[(PAGE, page)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_line_for_each_dependency_is_enough() {
        let page = "# Map\n## Dependencies\n- `libm`: roots\n### For tests\n| `proptest` | \
                    `serde` |\n## End\n";
        assert_eq!(findings(page), [""; 0]);
    }

    #[test]
    fn a_dependency_named_elsewhere_does_not_count() {
        let page = "`serde`\n## Dependencies\n- `libm` and `proptest`\n## End\n`serde`\n";
        assert_eq!(
            findings(page),
            ["ARCHITECTURE.md:2: no line for the dependency `serde`: state its purpose"]
        );
    }

    #[test]
    fn the_page_and_its_section_must_be_there() {
        assert_eq!(findings("# Map\n").len(), 1);
        assert_eq!(check(&[], &tree_of(&[])).len(), 1);
    }
}
