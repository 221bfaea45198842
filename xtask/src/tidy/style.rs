//! Lengths and leftovers that rustfmt and clippy do not check.

use super::Finding;
use super::rust_code;
use super::tree::{File, Tree};

/// Lines of code of a source file before its tests, without comments, blank lines and the insides
/// of strings.
const MAX_LINES: usize = 400;
/// Files with one table; its entries determine their length.
const TABLES: [&str; 1] = ["crates/report/src/export/columns/runs.rs"];
/// Characters in a line of code or of a comment.
const MAX_COLUMNS: usize = 100;
/// Characters in a line that has a text in quotes; a break would make a compared text unreadable.
const MAX_COLUMNS_QUOTED: usize = 140;

/// Words of unfinished work, written so that this file does not contain them.
const LEFTOVERS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
/// Macros of unfinished work.
const MACROS: [&str; 3] = ["dbg!", "todo!", "unimplemented!"];

/// Files with code; the last three are whole file names.
const CODE: [&str; 11] =
    ["rs", "toml", "py", "pyi", "sh", "yml", "yaml", "ipynb", "Makefile", "run", "setup"];
/// Other texts; only trailing white space matters in them.
const TEXT: [&str; 4] = ["md", "csv", "txt", "svg"];
/// Inputs of the fuzz targets: any bytes.
const SEEDS: &str = "fuzz/seeds/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter(|file| !file.path.starts_with(SEEDS)).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let code = CODE.contains(&file.extension());
    let Some(text) = file.text().filter(|_| code || TEXT.contains(&file.extension())) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let rust = file.extension() == "rs";
    let stripped = if rust { rust_code::without_comments(text) } else { String::new() };
    let mut stripped_lines = stripped.lines();
    for (index, line) in text.lines().enumerate() {
        let code_of_line = stripped_lines.next().unwrap_or("");
        let messages = trailing_space(line)
            .into_iter()
            .chain(code.then(|| too_long(line)).flatten())
            .chain(code.then(|| leftover_word(line)).flatten())
            .chain(rust.then(|| tab(line)).flatten())
            .chain(leftover_macro(code_of_line));
        findings.extend(messages.map(|message| Finding::new(&file.path, index + 1, message)));
    }
    findings.extend(rust.then(|| too_many_lines(&file.path, text, &stripped)).flatten());
    findings
}

fn trailing_space(line: &str) -> Option<String> {
    (line.trim_end() != line).then(|| "trailing white space".to_owned())
}

fn too_long(line: &str) -> Option<String> {
    let columns = line.chars().count();
    let most = if line.contains('"') { MAX_COLUMNS_QUOTED } else { MAX_COLUMNS };
    (columns > most).then(|| format!("{columns} columns, at most {most}"))
}

fn tab(line: &str) -> Option<String> {
    line.contains('\t').then(|| "a tab; indent with spaces".to_owned())
}

fn leftover_word(line: &str) -> Option<String> {
    let word = LEFTOVERS.into_iter().find(|word| has_word(line, word))?;
    Some(format!("`{word}`: finish it, or write an issue"))
}

fn leftover_macro(code: &str) -> Option<String> {
    let name = MACROS.into_iter().find(|name| has_word(code, name))?;
    Some(format!("`{name}` is for work in progress"))
}

/// True if `word` is in `line` without a character of an identifier on either side.
fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        !line[..at].ends_with(part_of_word)
            && (word.ends_with('!') || !after.starts_with(part_of_word))
    })
}

/// Files in a `tests` folder and `tests.rs` are tests and may be longer. `stripped` is `text`
/// without comments and literals.
fn too_many_lines(path: &str, text: &str, stripped: &str) -> Option<Finding> {
    let test = path.split('/').any(|part| part == "tests" || part == "tests.rs");
    if test || TABLES.contains(&path) {
        return None;
    }
    let before_tests = stripped.lines().take(rust_code::start_of_tests(text)).enumerate();
    let mut code = before_tests.filter(|(_, line)| !line.trim().is_empty()).map(|(index, _)| index);
    let first_beyond = code.nth(MAX_LINES)?;
    let lines = MAX_LINES + 1 + code.count();
    let message =
        format!("{lines} lines of code before the tests, at most {MAX_LINES}: split off a module");
    Some(Finding::new(path, first_beyond + 1, message))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree_of;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&tree_of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn clean_code_has_no_finding() {
        assert_eq!(findings("a.rs", "//! Fine.\n\nfn main() {}\n"), [""; 0]);
    }

    #[test]
    fn each_leftover_is_found_once_with_its_line() {
        for word in LEFTOVERS {
            assert_eq!(
                findings("a.rs", &format!("\n// {word}: later\n")),
                [format!("a.rs:2: `{word}`: finish it, or write an issue")]
            );
            assert_eq!(findings("Makefile", &format!("# {word}\n")).len(), 1);
            assert_eq!(findings("a.md", &format!("{word}\n")), [""; 0], "prose may speak of it");
            assert_eq!(
                findings("a.rs", &format!("// a{word}b {word}S\n")),
                [""; 0],
                "only as a word"
            );
        }
    }

    #[test]
    fn macros_count_in_code_and_not_in_comments_or_strings() {
        for name in MACROS {
            assert_eq!(findings("a.rs", &format!("fn f() {{ {name}(); }}\n")).len(), 1, "{name}");
            assert_eq!(
                findings("a.rs", &format!("// no {name}() here\nlet s = \"{name}\";\n")),
                [""; 0]
            );
        }
        assert_eq!(findings("a.rs", "my_dbg!(1);\n"), [""; 0]);
    }

    #[test]
    fn white_space_is_checked_in_prose_and_tabs_in_rust() {
        assert_eq!(findings("a.md", "word \n"), ["a.md:1: trailing white space"]);
        assert_eq!(findings("a.rs", "\tlet x;\n"), ["a.rs:1: a tab; indent with spaces"]);
        assert_eq!(findings("Makefile", "all:\n\techo\n"), [""; 0]);
        assert_eq!(findings("fuzz/seeds/trace/a.csv", "1 \n"), [""; 0], "seeds may be anything");
    }

    #[test]
    fn long_lines_are_counted_in_characters() {
        assert_eq!(findings("a.rs", &format!("// {}\n", "é".repeat(97))), [""; 0]);
        assert_eq!(
            findings("a.rs", &format!("// {}\n", "é".repeat(98))),
            ["a.rs:1: 101 columns, at most 100"]
        );
        assert_eq!(findings("a.rs", &format!("// \"{}\"\n", "é".repeat(135))), [""; 0]);
        assert_eq!(findings("a.md", &"x".repeat(500)), [""; 0]);
    }

    #[test]
    fn comments_and_the_tests_of_a_file_do_not_count_for_its_length() {
        let code = "x\n".repeat(MAX_LINES);
        let comments = "// x\n\n".repeat(MAX_LINES);
        assert_eq!(
            findings("a.rs", &format!("{comments}{code}#[cfg(test)]\nmod tests {{\n{code}")),
            [""; 0]
        );
        assert_eq!(
            findings("a.rs", &format!("{code}\nx\nx\n")),
            ["a.rs:402: 402 lines of code before the tests, at most 400: split off a module"]
        );
        assert_eq!(findings("crates/a/tests/b.rs", &format!("{code}x\n")), [""; 0]);
    }
}
