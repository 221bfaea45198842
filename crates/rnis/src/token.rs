//! Bearer tokens (GS MEC 009 section 6.16: OAuth 2.0; RFC 6750).

use crate::query::Problem;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::response::{IntoResponse, Response};
use justfull_net::Prefix;
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use std::io;
use std::path::Path;

/// Tokens in a file, and the longest of them in bytes.
const MOST_TOKENS: usize = 1_000;
const LONGEST: usize = 4_096;

/// The users of the service.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// The tokens, and whether each may subscribe; none: every user may do everything.
    known: Option<Vec<(String, bool)>>,
}

/// The user of a request; without tokens all are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User(pub(crate) usize);

/// The owner of a share of bounded resources: a user, or an address if users are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    User(usize),
    Address(Prefix),
}

impl Tokens {
    /// The share of `user` at `address`.
    pub(crate) const fn share(&self, user: User, address: Prefix) -> Share {
        match self.known {
            Some(_) => Share::User(user.0),
            None => Share::Address(address),
        }
    }

    /// Reads a file with a token on each line; after a blank, `read` lets it only query. Lines
    /// that begin with `#` are left out.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is no token.
    pub fn read(file: &Path) -> io::Result<Self> {
        let text = read_text(file, SETTINGS_LIMIT)?;
        let mut known = Vec::new();
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (token, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let right = match rest.trim() {
                "" => Some(true),
                "read" => Some(false),
                _ => None,
            };
            let Some(subscribes) = right.filter(|_| is_token(token)) else {
                return Err(invalid(format!(
                    "line {number}: allowed is a token of letters, digits and -._~+/=, then \
                     nothing or `read`"
                )));
            };
            known.push((token.to_owned(), subscribes));
        }
        match known.len() {
            1..=MOST_TOKENS => Ok(Self { known: Some(known) }),
            found => Err(invalid(format!("found {found} tokens, allowed is 1 to {MOST_TOKENS}"))),
        }
    }

    /// The answer to a request without a valid token; none if the request is allowed. `writes` is
    /// true for a request that changes something.
    #[must_use]
    pub fn refusal(&self, headers: &HeaderMap, writes: bool) -> Option<Response> {
        self.user(headers, writes).err().map(IntoResponse::into_response)
    }

    /// The user of a request; `writes` is true if it changes something.
    pub(crate) fn user(&self, headers: &HeaderMap, writes: bool) -> Result<User, Problem> {
        let Some(known) = &self.known else { return Ok(User(0)) };
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.split_once(' '));
        let Some((_, token)) = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        else {
            return Err(Problem::new(401, "a bearer token is needed"));
        };
        let token = token.trim();
        let found = known.iter().position(|(known, _)| same(known, token));
        match found.map(|number| (User(number), known[number].1)) {
            None => Err(Problem::new(401, "this token is not valid here")),
            Some((_, false)) if writes => Err(Problem::new(403, "this token may only query")),
            Some((user, _)) => Ok(user),
        }
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// RFC 6750 section 2.1: `b64token`.
pub(crate) fn is_token(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b))
}

/// Compares in a time that does not reveal where two texts of one length differ.
fn same(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && differ == 0
}

/// Reads the token of a client, from a file that contains nothing else.
///
/// # Errors
/// The file cannot be read or has no token.
pub fn read_token(file: &Path) -> io::Result<String> {
    let text = read_text(file, SETTINGS_LIMIT)?;
    let token = text.trim();
    if is_token(token) {
        return Ok(token.to_owned());
    }
    Err(invalid("allowed is one token of letters, digits and -._~+/=".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn asks(tokens: &Tokens, value: &str, writes: bool) -> Result<usize, u16> {
        let mut headers = HeaderMap::new();
        if !value.is_empty() {
            headers.insert(AUTHORIZATION, value.parse().expect("a value"));
        }
        tokens.user(&headers, writes).map(|user| user.0).map_err(|problem| problem.status())
    }

    #[test]
    fn a_token_opens_what_its_line_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tokens");
        fs::write(&file, "# of the edge\nabc.DEF==\n\nxyz read\n").expect("a file");
        let tokens = Tokens::read(&file).expect("tokens");
        assert_eq!(asks(&tokens, "", false), Err(401));
        assert_eq!(asks(&tokens, "Basic abc.DEF==", false), Err(401));
        assert_eq!(asks(&tokens, "Bearer abc.DEF", false), Err(401));
        assert_eq!(asks(&tokens, "bearer abc.DEF==", true), Ok(0));
        assert_eq!(asks(&tokens, "Bearer xyz", false), Ok(1));
        assert_eq!(asks(&tokens, "Bearer xyz", true), Err(403));
        assert_eq!(asks(&Tokens::default(), "", true), Ok(0));
        for text in ["", "# none\n", "a b c\n", "t\u{f6}ken\n", "xyz write\n"] {
            fs::write(&file, text).expect("a file");
            assert!(Tokens::read(&file).is_err(), "{text:?}");
        }
        fs::write(&file, " abc\n").expect("a file");
        assert_eq!(read_token(&file).expect("a token"), "abc");
        fs::write(&file, "two tokens\n").expect("a file");
        assert!(read_token(&file).is_err());
    }

    #[test]
    fn a_bad_file_of_tokens_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it starts");
        assert!(made.success());
        let long = folder.path().join("long");
        fs::write(&long, vec![b'a'; 5 << 20]).expect("a file");
        for (file, part) in [
            (pipe.as_path(), "found a pipe, allowed is a regular file"),
            (Path::new("/dev/zero"), "found a device, allowed is a regular file"),
            (long.as_path(), "found more than 4MB"),
        ] {
            for error in [Tokens::read(file).map(drop), read_token(file).map(drop)] {
                let error = error.expect_err(part).to_string();
                assert!(error.contains(part), "{error}");
            }
            let trust = crate::Trust { ca: Some(file), ..crate::Trust::default() };
            let ca = crate::tls_client(&trust).map(drop).expect_err(part).to_string();
            assert!(ca.contains(part), "{ca}");
            let ues = crate::UeTable::read(file).map(drop).expect_err(part).to_string();
            assert!(ues.contains(part), "{ues}");
        }
    }
}
