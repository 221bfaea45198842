//! No bytes make the reader of requests panic or read more than it may. A head that it accepts is a
//! head, and more bytes behind a head change nothing.

#![no_main]

use justfull_net::http::{HEAD_BYTES, Head, Method, head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let found = head(bytes);
    assert!(
        found != Head::Part || bytes.len() < HEAD_BYTES,
        "it waits for more than a head may take"
    );
    if let Head::Whole(request) = found {
        assert!(!request.path.contains(['?', '#', ' ', '\r', '\n']));
        let text = String::from_utf8_lossy(bytes);
        let begin = text.trim_start_matches(['\r', '\n']);
        assert_eq!(begin.starts_with("GET "), request.method == Method::Get);
        assert_eq!(begin.starts_with("HEAD "), request.method == Method::Head);
    }
    if found != Head::Part {
        // A client's bytes arrive in pieces: the first complete head decides, and the rest does not
        // matter.
        let enough =
            (0..=bytes.len()).find(|end| head(&bytes[..*end]) != Head::Part).unwrap_or(bytes.len());
        if found != Head::TooLong {
            assert_eq!(head(&bytes[..enough]), found);
        }
        let more = [bytes, b"GET / HTTP/1.1\r\n\r\n"].concat();
        if found != Head::TooLong {
            assert_eq!(head(&more), found);
        }
    }
});
