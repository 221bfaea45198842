//! The small part of Rust's grammar that the rules need: code without comments and literals, and
//! the paths in it.

use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

/// Replaces comments, strings and character literals by spaces; lines stay where they are.
pub(super) fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    for token in tokenize(text, FrontmatterAllowed::No) {
        let (part, after) = rest.split_at(token.len as usize);
        rest = after;
        let blank = match token.kind {
            TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => true,
            TokenKind::Literal { kind, .. } => {
                !matches!(kind, LiteralKind::Int { .. } | LiteralKind::Float { .. })
            }
            _ => false,
        };
        if blank {
            out.extend(part.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            out += part;
        }
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Index of the first line, from 0, that opens the tests of a file (`#[cfg(test)]` at the margin,
/// before a module), or the number of lines.
pub(super) fn start_of_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let opens = |at: &usize| {
        let item = lines[at + 1..].iter().find(|line| !line.starts_with("#["));
        lines[*at] == "#[cfg(test)]"
            && item.is_some_and(|item| item.contains("mod ") && item.ends_with('{'))
    };
    (0..lines.len()).find(opens).unwrap_or(lines.len())
}

/// A path of code, from the root of its crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CodePath {
    /// Without `crate`.
    pub(super) segments: Vec<String>,
    /// Its name after an import: its last segment, or the name after `as`.
    pub(super) name: String,
    /// From 1.
    pub(super) line: usize,
}

/// The module of the file at `path`, from the root of its crate: `src/aqm/codel.rs` is `[aqm,
/// codel]`.
pub(super) fn module_of(path_in_src: &str) -> Vec<String> {
    let stem = path_in_src.strip_suffix(".rs").unwrap_or(path_in_src);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    match stem {
        "lib" | "main" => Vec::new(),
        stem => stem.split('/').map(str::to_owned).collect(),
    }
}

/// Every path in `text` that is imported or that starts with `crate`, `self` or `super`. An import
/// from another crate looks like one from a module that does not exist.
pub(super) fn paths(text: &str, module: &[String]) -> Vec<CodePath> {
    let code = without_comments(text);
    let tokens = tokens(&code);
    let mut reader = Reader { tokens: &tokens, found: Vec::new() };
    // One entry for each open brace: true if it opened a `mod`, whose name is then the last of
    // `here`.
    let mut braces: Vec<bool> = Vec::new();
    let mut here = module.to_vec();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].text {
            "{" => {
                let opens_module = at >= 2 && tokens[at - 2].text == "mod";
                if opens_module {
                    here.push(tokens[at - 1].text.to_owned());
                }
                braces.push(opens_module);
            }
            "}" if braces.pop() == Some(true) => {
                here.pop();
            }
            "crate" | "self" | "super" if reader.is(at + 1, "::") => {
                at = reader.read(at, here.clone());
                continue;
            }
            // Relative to this module, or in another crate.
            "use" => {
                at = reader.read(at + 1, here.clone());
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    reader.found
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// Identifiers, `::` and single other characters.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            tokens.push(Token { text: &rest[..length], line: index + 1 });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    found: Vec<CodePath>,
}

impl Reader<'_> {
    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.text == text)
    }

    /// Reads one path or tree of paths that starts at `at` below `prefix`; returns the index after
    /// it.
    fn read(&mut self, mut at: usize, mut prefix: Vec<String>) -> usize {
        let line = self.tokens[at].line;
        loop {
            match self.tokens.get(at).map(|token| token.text) {
                Some("crate") => prefix.clear(),
                Some("super") => drop(prefix.pop()),
                Some("self") => {}
                Some("{") => return self.read_group(at + 1, &prefix),
                Some(name) if name.starts_with(is_word) => prefix.push(name.to_owned()),
                // A glob, or the `<` of type arguments: the path ends here.
                _ => break,
            }
            at += 1;
            if !self.is(at, "::") {
                break;
            }
            at += 1;
        }
        let name =
            if self.is(at, "as") { self.tokens.get(at + 1).map(|token| token.text) } else { None };
        let name = name.or(prefix.last().map(String::as_str)).unwrap_or_default().to_owned();
        self.found.push(CodePath { segments: prefix, name, line });
        at
    }

    /// Reads `a, b::{c, d}, e as f}` from after its opening brace.
    fn read_group(&mut self, mut at: usize, prefix: &[String]) -> usize {
        while at < self.tokens.len() && !self.is(at, "}") {
            at = self.read(at, prefix.to_vec());
            while at < self.tokens.len() && !self.is(at, ",") && !self.is(at, "}") {
                at += 1;
            }
            if self.is(at, ",") {
                at += 1;
            }
        }
        at + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let module = ["aqm".to_owned(), "codel".to_owned()];
        let paths = paths(text, &module);
        paths.iter().map(|path| format!("{}:{}", path.line, path.segments.join("::"))).collect()
    }

    #[test]
    fn comments_and_literals_become_spaces_and_lines_stay() {
        let code = without_comments("a /* x /* y */ z */ b // c\nlet s = \"q\\\"u\"; d");
        assert_eq!(
            code,
            format!("a {} b {}\nlet s = {}; d", " ".repeat(17), " ".repeat(4), " ".repeat(6))
        );
    }

    #[test]
    fn raw_strings_and_characters_are_blanked_and_lifetimes_are_not() {
        assert_eq!(without_comments(r##"r#"a"b"# + '"' + '\'' + x"##), "         +     +      + x");
        assert_eq!(without_comments("fn f<'a>(x: &'a str)"), "fn f<'a>(x: &'a str)");
        assert_eq!(
            without_comments("var\"x\""),
            "var   ",
            "an identifier that ends in r opens no raw string"
        );
    }

    #[test]
    fn an_unfinished_literal_or_comment_ends_with_the_text() {
        for text in ["\"abc", "/* abc", "r#\"abc", "'\\", "'"] {
            assert_eq!(without_comments(text).len(), text.len(), "{text}");
        }
    }

    #[test]
    fn a_use_tree_is_spread_into_its_paths() {
        assert_eq!(
            found("use super::{red::{A, B as C}, Aqm};\nuse crate::view::*;"),
            ["1:aqm::red::A", "1:aqm::red::B", "1:aqm::Aqm", "2:view"]
        );
    }

    #[test]
    fn a_path_in_an_expression_is_found() {
        assert_eq!(found("fn f() { super::red::mark::<u8>(1) }"), ["1:aqm::red::mark"]);
    }

    #[test]
    fn super_in_an_inner_module_is_the_file_itself() {
        assert_eq!(
            found("mod tests {\n use super::State;\n}\nuse super::Aqm;"),
            ["2:aqm::codel::State", "4:aqm::Aqm"]
        );
    }

    #[test]
    fn paths_in_comments_strings_and_visibilities_are_none() {
        assert_eq!(
            found("// crate::aqm::red\npub(super) const X: &str = \"super::red\";"),
            [""; 0]
        );
    }

    #[test]
    fn files_are_modules() {
        assert_eq!(module_of("lib.rs"), [""; 0]);
        assert_eq!(module_of("aqm/codel.rs"), ["aqm", "codel"]);
        assert_eq!(module_of("cc/bbr/mod.rs"), ["cc", "bbr"]);
    }
}
