//! The allowed requests: with the token, under the name of the loopback address, of no other
//! origin. A page of another site has no token and another origin; a name that an attacker points
//! at this host (DNS rebinding) is in the `Host` field.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::fs::File;
use std::io::{self, Read};

/// Bytes of the token.
const BYTES: usize = 24;
/// The header field with the token, which no form of another site can send.
const FIELD: &str = "x-justfull-token";
/// Names of this host in a `Host` field, without the port.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The token of one page.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    token: String,
}

impl Guard {
    /// A guard with a fresh token.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self { token: bytes.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Answers `request` by `next`, or refuses it; adds the fields that keep the page to itself.
    pub(crate) async fn pass(self, request: Request, next: Next) -> Response {
        let mut response = match self.refusal(&request) {
            Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
            None => next.run(request).await,
        };
        let headers = response.headers_mut();
        for (name, value) in [
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_FRAME_OPTIONS, "DENY"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
        headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
        response
    }

    /// Why `request` is refused, if it is.
    fn refusal(&self, request: &Request) -> Option<&'static str> {
        let headers = request.headers();
        let host = text(headers, header::HOST.as_str());
        if !host.is_some_and(is_own_host) {
            return Some("this page is served on the loopback address only\n");
        }
        let own = format!("http://{}", host.unwrap_or_default());
        if headers.contains_key(header::ORIGIN) && text(headers, "origin") != Some(&own) {
            return Some("pages of other origins get nothing\n");
        }
        let site = text(headers, "sec-fetch-site").unwrap_or("none");
        if !["none", "same-origin"].contains(&site) {
            return Some("pages of other sites get nothing\n");
        }
        let given = match request.uri().path() {
            "/" => request
                .uri()
                .query()
                .and_then(|query| query.split('&').find_map(|part| part.strip_prefix("token="))),
            _ => text(headers, FIELD),
        };
        (!given.is_some_and(|given| same(given, &self.token)))
            .then_some("the address that `justfull ui` printed has a token; this one is not it\n")
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    // Two fields of one name are no request of a browser.
    all.next().filter(|_| all.next().is_none())?.to_str().ok()
}

/// True of a `Host` field that names the loopback address, with any port.
fn is_own_host(host: &str) -> bool {
    HOSTS.iter().any(|own| {
        host.strip_prefix(own).is_some_and(|rest| {
            rest.is_empty()
                || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
        })
    })
}

/// Compares in a time that does not depend on where the texts differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn refused(path: &str, fields: &[(&str, &str)]) -> bool {
        let guard = Guard { token: "t0".into() };
        let mut request = Request::builder().uri(path);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        guard.refusal(&request.body(Body::empty()).expect("a sound request")).is_some()
    }

    #[test]
    fn a_request_needs_the_token_the_loopbacks_name_and_its_own_origin() {
        let host = ("host", "127.0.0.1:8080");
        let token = (FIELD, "t0");
        assert!(!refused("/?token=t0", &[host]));
        assert!(!refused("/api/run", &[host, token]));
        assert!(!refused("/api/run", &[host, token, ("origin", "http://127.0.0.1:8080")]));
        assert!(!refused("/api/run", &[("host", "localhost:1"), token]));
        for (path, fields) in [
            ("/", vec![host]),
            ("/?token=", vec![host]),
            ("/?token=t1", vec![host]),
            ("/?token=t00", vec![host]),
            ("/?token=t0", vec![]),
            ("/?token=t0", vec![("host", "attacker.example:8080")]),
            ("/?token=t0", vec![("host", "127.0.0.1.attacker.example")]),
            ("/?token=t0", vec![host, host]),
            ("/api/run?token=t0", vec![host]),
            ("/api/run", vec![host, token, ("origin", "http://attacker.example")]),
            ("/api/run", vec![host, token, ("origin", "null")]),
            ("/api/run", vec![host, token, ("origin", "http://127.0.0.1:8081")]),
            ("/?token=t0", vec![host, ("sec-fetch-site", "cross-site")]),
            ("/?token=t0", vec![host, ("sec-fetch-site", "same-site")]),
        ] {
            assert!(refused(path, &fields), "{path} {fields:?}");
        }
    }

    #[test]
    fn tokens_differ_and_have_no_letters_that_an_address_must_escape() {
        let [a, b] = [(); 2].map(|()| Guard::new().expect("random numbers").token);
        assert_ne!(a, b);
        assert!(a.len() == 2 * BYTES && a.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
