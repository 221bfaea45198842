use super::*;

fn server() -> Server {
    let page = |path: &str| (path == "/page").then(|| ("text/plain", "found\n".to_owned()));
    Server::start(SocketAddr::from(([127, 0, 0, 1], 0)), page).expect("a free port")
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
    stream
}

/// The response up to the server's close.
fn ask(server: &Server, request: &[u8]) -> String {
    let mut stream = connect(server);
    stream.write_all(request).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer and its end");
    answer
}

#[test]
fn a_head_is_read_whole_or_refused() {
    let whole = |method, path| Head::Whole(Request { method, path });
    for (bytes, expected) in [
        (&b""[..], Head::Part),
        (b"GET", Head::Part),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", Head::Part),
        (b"GET / HTTP/1.1\r\n\r\n", whole(Method::Get, "/")),
        (b"\r\n\nGET /a?b=c HTTP/1.0\n\nrest", whole(Method::Get, "/a")),
        (b"HEAD /a#b HTTP/1.1\r\nA: b\r\n\r\n", whole(Method::Head, "/a")),
        (b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nx", whole(Method::Other, "/")),
        (b"GET / HTTP/2.0\r\n\r\n", Head::Malformed),
        (b"GET  / HTTP/1.1\r\n\r\n", Head::Malformed),
        (b"G\xffT / HTTP/1.1\r\n\r\n", Head::Malformed),
        (b"\x16\x03\x01\n\n", Head::Malformed),
    ] {
        assert_eq!(head(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(head(&[b'a'; HEAD_BYTES - 1]), Head::Part);
    assert_eq!(head(&[b'a'; HEAD_BYTES]), Head::TooLong);
}

#[test]
fn pages_are_served_and_all_else_is_refused() {
    let server = server();
    let body = |answer: &str| answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    let found = ask(&server, b"GET /page?a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        found.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n"),
        "{found}"
    );
    assert_eq!(body(&found).as_deref(), Some("found\n"));
    let head = ask(&server, b"HEAD /page HTTP/1.1\r\n\r\n");
    assert!(head.contains("Content-Length: 6\r\n") && body(&head).as_deref() == Some(""), "{head}");
    for (request, status) in [
        ("GET / HTTP/1.1", "404"),
        ("POST /page HTTP/1.1\r\nContent-Length: 1000000", "405"),
        ("nonsense", "400"),
    ] {
        let answer = ask(&server, format!("{request}\r\n\r\n").as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    }
}

#[test]
fn a_silent_client_is_disconnected_and_delays_no_other() {
    let server = server();
    // More than the server holds; it still serves the last.
    let mut idle: Vec<TcpStream> = (0..3 * CONNECTIONS).map(|_| connect(&server)).collect();
    assert!(ask(&server, b"GET /page HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    for stream in &mut idle {
        // Closed, with or without a reset: both count as an end; a timeout does not.
        let read = stream.read(&mut [0; 10]).map_err(|error| error.kind());
        assert!(matches!(read, Ok(0) | Err(io::ErrorKind::ConnectionReset)), "{read:?}");
    }
}

#[test]
fn a_client_that_takes_all_connections_takes_none_of_anothers() {
    let server = server();
    let from = |address: &str| {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let socket = socket.expect("a socket");
        let address: SocketAddr = format!("{address}:0").parse().expect("an address");
        socket.bind(&address.into()).expect("it is bound");
        socket.connect(&server.address().into()).expect("it connects");
        TcpStream::from(socket)
    };
    let mut first = from("127.0.0.2");
    first.write_all(b"GET /page HTTP/1.1\r\n").expect("sent");
    let _many: Vec<TcpStream> = (0..3 * CONNECTIONS).map(|_| from("127.0.0.1")).collect();
    assert!(ask(&server, b"GET /page HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    first.write_all(b"\r\n").expect("it is still open");
    let mut answer = String::new();
    first.read_to_string(&mut answer).expect("an answer and its end");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_head_without_end_is_refused_and_a_client_that_does_not_read_is_disconnected() {
    let server = server();
    let mut endless = connect(&server);
    // The server closes after the response, so sending the rest may fail.
    let line = vec![b'a'; 100 * HEAD_BYTES];
    let _refused = endless.write_all(&line);
    let mut deaf = connect(&server);
    let _refused = deaf.write_all("GET /page HTTP/1.1\r\n\r\n".repeat(100_000).as_bytes());
    assert!(ask(&server, b"GET /page HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    drop(server);
    let mut rest = Vec::new();
    let _reset = deaf.read_to_end(&mut rest);
    assert!(
        String::from_utf8_lossy(&rest).matches("200 OK").count() <= 1,
        "a connection carries one request"
    );
}
