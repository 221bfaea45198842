//! Counts of lines, and comments at random for a reader who did not write them.

use std::fmt;

use super::rust_code::start_of_tests;
use super::tree::{File, Tree};

/// Lines of Rust files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// Before the tests of a file, with comments and blank lines.
    source: usize,
    /// In files of tests, and from the tests of a file on.
    tests: usize,
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lines of source, {} of tests", self.source, self.tests)
    }
}

pub(super) fn lines(tree: &Tree) -> Lines {
    let mut all = Lines::default();
    for file in rust(tree) {
        let text = file.text().unwrap_or_default();
        let lines = text.lines().count();
        let source = if is_test(&file.path) { 0 } else { start_of_tests(text).min(lines) };
        all.source += source;
        all.tests += lines - source;
    }
    all
}

/// `count` comments, each with its place. The same seed gives the same ones.
pub(super) fn sample(tree: &Tree, count: usize, seed: u64) -> Vec<String> {
    let mut all: Vec<String> = rust(tree).flat_map(comments).collect();
    let mut state = seed;
    let mut drawn = Vec::new();
    while drawn.len() < count && !all.is_empty() {
        let at = (next(&mut state) % all.len() as u64) as usize;
        drawn.push(all.swap_remove(at));
    }
    drawn
}

/// SplitMix64 (Steele, Lea and Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn rust(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.extension() == "rs")
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The comments of `file`: adjacent lines are one.
fn comments(file: &File) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for (index, line) in file.text().unwrap_or_default().lines().enumerate() {
        let line = line.trim_start();
        let is_comment = line.starts_with("//");
        match (found.last_mut(), is_comment) {
            (Some(last), true) if open => {
                last.push('\n');
                last.push_str(line);
            }
            (_, true) => found.push(format!("{}:{}\n{line}", file.path, index + 1)),
            _ => {}
        }
        open = is_comment;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree_of;
    use super::*;

    #[test]
    fn lines_from_the_tests_of_a_file_on_count_as_tests() {
        let text = "fn f() {}\n\n#[cfg(test)]\nmod tests {\n}\n";
        let tree = tree_of(&[("a.rs", text), ("tests/b.rs", "fn g() {}\n"), ("c.md", "x\n")]);
        assert_eq!(lines(&tree), Lines { source: 2, tests: 4 });
    }

    #[test]
    fn a_sample_has_each_comment_once_and_the_same_ones_for_a_seed() {
        let tree = tree_of(&[("a.rs", "//! A\n//! b.\n\n/// C.\nfn f() {} // not\n// D.\n")]);
        let mut all = sample(&tree, 9, 1);
        assert_eq!(all, sample(&tree, 9, 1));
        all.sort();
        assert_eq!(all, ["a.rs:1\n//! A\n//! b.", "a.rs:4\n/// C.", "a.rs:6\n// D."]);
        assert_eq!(sample(&tree, 2, 7).len(), 2);
    }
}
