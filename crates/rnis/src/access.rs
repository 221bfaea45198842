//! OAuth 2.0 tokens for client credentials (RFC 6749 section 4.4; GS MEC 009 section 6.16).

use crate::client::bounded;
use crate::token::is_token;
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::PathBuf;
use ureq::Agent;

/// A client of an OAuth 2.0 server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The token endpoint.
    pub token_url: String,
    /// The client's name.
    pub client_id: String,
    /// File with its secret, read again for each token.
    pub secret_file: PathBuf,
    /// Scopes, between blanks; empty: the server's default.
    pub scope: String,
}

/// The used fields of an answer (RFC 6749 section 5.1) and of an error (section 5.2).
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    access_token: String,
    #[serde(default)]
    token_type: String,
    #[serde(default)]
    error: String,
}

impl Credentials {
    /// Requests a new token.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn token(&self, agent: &Agent) -> Result<String, String> {
        let file = self.secret_file.display();
        let secret = read_text(&self.secret_file, SETTINGS_LIMIT);
        let secret = secret.map_err(|e| format!("{file}: {e}"))?;
        let pair = format!("{}:{}", form(&self.client_id), form(secret.trim()));
        let mut body = "grant_type=client_credentials".to_owned();
        if !self.scope.is_empty() {
            body.push_str("&scope=");
            body.push_str(&form(&self.scope));
        }
        let request = agent
            .post(&self.token_url)
            .header("Authorization", format!("Basic {}", base64(pair.as_bytes())))
            .content_type("application/x-www-form-urlencoded");
        let answered = bounded(request.send(body));
        let (status, body) = answered.map_err(|why| format!("the token endpoint: {why}"))?;
        let answer: Option<Answer> = serde_json::from_slice(&body).ok();
        match answer {
            Some(answer)
                if status == 200
                    && answer.token_type.eq_ignore_ascii_case("bearer")
                    && is_token(&answer.access_token) =>
            {
                Ok(answer.access_token)
            }
            other => {
                let error = other.map_or(String::new(), |answer| answer.error);
                let error: String = error.chars().filter(|c| !c.is_control()).take(100).collect();
                Err(format!("the token endpoint: HTTP {status}, no bearer token, {error}"))
            }
        }
    }
}

/// `application/x-www-form-urlencoded`.
fn form(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b if b.is_ascii_alphanumeric() || b"*-._".contains(&b) => out.push(char::from(b)),
            // Writing to a string does not fail.
            b => _ = write!(out, "%{b:02X}"),
        }
    }
    out
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > three.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648 section 10.
    #[test]
    fn base64_is_the_standards() {
        for (text, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }

    /// RFC 6749 appendix B.
    #[test]
    fn a_form_is_the_standards() {
        assert_eq!(form(" %&+\u{a3}\u{20ac}"), "+%25%26%2B%C2%A3%E2%82%AC");
    }
}
