//! The small part of Rust's grammar that the rules need: code without comments and literals, and
//! the paths in it.

/// Replaces comments and the contents of string and character literals by spaces; lines stay where
/// they are.
pub(super) fn without_comments(text: &str) -> String {
    let mut scanner =
        Scanner { rest: text, out: String::with_capacity(text.len()), after_word: false };
    while !scanner.rest.is_empty() {
        scanner.step();
    }
    scanner.out
}

struct Scanner<'a> {
    rest: &'a str,
    out: String,
    /// The last copied character was part of an identifier, so an `r` now does not begin a literal.
    after_word: bool,
}

impl Scanner<'_> {
    fn step(&mut self) {
        let rest = self.rest;
        if rest.starts_with("//") {
            self.blank(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.blank(block_comment(rest));
        } else if let Some(length) = (!self.after_word).then(|| raw_string(rest)).flatten() {
            self.blank(length);
        } else if rest.starts_with('"') {
            self.blank(quoted(rest, '"'));
        } else if let Some(length) = character(rest) {
            self.blank(length);
        } else if let Some(next) = rest.chars().next() {
            self.after_word = is_word(next);
            self.out.push(next);
            self.rest = &rest[next.len_utf8()..];
        }
    }

    fn blank(&mut self, length: usize) {
        let (blanked, rest) = self.rest.split_at(length);
        self.out.extend(blanked.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
        self.after_word = false;
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of the block comment at the start of `text`; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Length of the literal at the start of `text` that opens and closes with `quote` and has `\`
/// escapes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Length of the raw string at the start of `text`, if there is one.
fn raw_string(text: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        text.strip_prefix(prefix).is_some_and(|rest| rest.trim_start_matches('#').starts_with('"'))
    })?;
    let hashes = text[prefix.len()..].chars().take_while(|&c| c == '#').count();
    let open = prefix.len() + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(text[open..].find(&close).map_or(text.len(), |at| open + at + close.len()))
}

/// Length of the character literal at the start of `text`; 0 for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.strip_prefix('\'')?.chars();
    let first = chars.next()?;
    if first == '\\' {
        return Some(quoted(text, '\''));
    }
    (chars.next() == Some('\'')).then(|| 2 + first.len_utf8())
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
