//! What a source shows to its service: a certificate of its own, and tokens of OAuth 2.0.

use super::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// A token endpoint: clients with the secret `s3cret` get the tokens of the list, the last one
/// again and again.
fn endpoint(tokens: &'static [&'static str]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        let mut given = 0;
        for mut stream in listener.incoming().flatten() {
            let asked = head_and_body(&mut stream);
            assert!(asked.starts_with("POST /token HTTP/1.1"), "{asked}");
            assert!(asked.ends_with("grant_type=client_credentials&scope=ran+read"), "{asked}");
            // `proxy 1:s3cret`, coded as a form and then in base64.
            let body = if asked.contains("Basic cHJveHkrMTpzM2NyZXQ=") {
                let token = tokens[given.min(tokens.len() - 1)];
                given += 1;
                format!(r#"{{"access_token": "{token}", "token_type": "Bearer", "expires_in": 1}}"#)
            } else {
                r#"{"error": "invalid_client"}"#.to_owned()
            };
            let status = if body.contains("error") { "401 Unauthorized" } else { "200 OK" };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).expect("it reads");
        }
    });
    address
}

/// A request with a body of the length that its head names.
fn head_and_body(stream: &mut impl Read) -> String {
    let (mut text, mut byte) = (String::new(), [0]);
    let complete = |text: &str| {
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
        let lower = head.to_lowercase();
        let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        body.len() >= length.map_or(0, |length| length.parse().expect("a number"))
    };
    while !complete(&text) {
        stream.read_exact(&mut byte).expect("a request");
        text.push(char::from(byte[0]));
    }
    text
}

fn access(folder: &Path, endpoint: SocketAddr, secret: &str) -> String {
    let file = folder.join(format!("secret-{secret}"));
    std::fs::write(&file, format!("{secret}\n")).expect("a file");
    format!(
        "[access]\ntoken_url = \"http://{endpoint}/token\"\nclient_id = \"proxy 1\"\n\
         client_secret_file = {file:?}\nscope = \"ran read\"\n"
    )
}

#[test]
fn a_token_that_has_expired_is_replaced_and_a_wrong_secret_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens");
    std::fs::write(&file, "second\n").expect("a file");
    let (service, server) = served(Tokens::read(&file).expect("tokens"));
    let url = format!("kind = \"rnis\"\nurl = \"http://{}\"\n", server.address());
    // The service takes the first token no longer.
    let expired = endpoint(&["first"]);
    let (_none, account) = started(&(url.clone() + &access(folder.path(), expired, "s3cret")));
    until("it is refused", || refused(&account, "401, this token is not valid here"));
    let renewed = endpoint(&["first", "second"]);
    let (reports, account) = started(&(url.clone() + &access(folder.path(), renewed, "s3cret")));
    until("it has connected", || account.state() == State::Connected);
    service.report(&report("10.45.0.1", 7));
    let told = reports.recv_timeout(SOON).expect("a report");
    assert_eq!(told.ue, [report_ue("10.45.0.1")]);
    let (_none, account) = started(&(url + &access(folder.path(), renewed, "guess")));
    until("its secret is wrong", || {
        refused(&account, "the token endpoint: HTTP 401, no bearer token, invalid_client")
    });
}

#[test]
fn a_service_over_websocket_gets_the_next_token_after_an_expired_one() {
    use tungstenite::handshake::server::{ErrorResponse, Request, Response};
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "17921 10.45.0.1\n").expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let admit = |request: &Request, response: Response| {
                let shown = request.headers().get("authorization");
                if shown.is_some_and(|shown| shown == "Bearer second") {
                    return Ok(response);
                }
                let mut refusal = ErrorResponse::new(None);
                *refusal.status_mut() = tungstenite::http::StatusCode::UNAUTHORIZED;
                Err(refusal)
            };
            // The handshake fails without the second token.
            let Ok(mut socket) = tungstenite::accept_hdr(stream, admit) else { continue };
            assert!(socket.read().is_ok_and(|command| command.is_text()));
            socket.send(tungstenite::Message::text(metrics(17_921))).expect("it is sent");
        }
    });
    let source = |tokens| {
        let access = access(folder.path(), endpoint(tokens), "s3cret");
        started(&format!("kind = \"websocket\"\nurl = \"ws://{at}\"\nues = {ues:?}\n{access}"))
    };
    let (none, account) = source(&["first"]);
    until("it is refused", || refused(&account, "401"));
    assert!(none.try_recv().is_err());
    let (reports, _account) = source(&["first", "second"]);
    assert_eq!(reports.recv_timeout(SOON).expect("a report").ue, [report_ue("10.45.0.1")]);
}

#[test]
fn a_broker_gets_a_new_token_as_the_password_of_each_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "hello 10.45.0.1\n").expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("its address");
    let (give, shown) = sync_channel(8);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.read_exact(&mut [0; 8]).expect("a greeting");
            let start = b"\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\x05PLAIN\0\0\0\x05en_US";
            stream.write_all(&frame(1, 0, start)).expect("it reads");
            let mut head = [0; 7];
            stream.read_exact(&mut head).expect("a frame");
            let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
            let mut answer = vec![0; size as usize];
            stream.read_exact(&mut answer).expect("all of it");
            // The connection ends here, like the connection of a client without rights.
            let _full = give.try_send(String::from_utf8_lossy(&answer).into_owned());
        }
    });
    let access = access(folder.path(), endpoint(&["first", "second"]), "s3cret");
    let (_reports, _account) = started(&format!(
        "kind = \"amqp\"\naddress = \"{at}\"\nuser = \"proxy\"\nqueues = [\"hello\"]\nues = {ues:?}\n\
         {access}"
    ));
    for token in ["first", "second"] {
        let answer = shown.recv_timeout(SOON).expect("it connects");
        assert!(answer.contains(&format!("\0proxy\0{token}\u{5}en_US")), "{answer:?}");
    }
}

/// A server of TLS that asks for certificates that `client` vouches for.
fn asks_for_certificates(server: &[std::path::PathBuf; 2], client: &Path) -> Arc<ServerConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(client).expect("a certificate")).expect("a sound one");
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider));
    let chain = vec![CertificateDer::from_pem_file(&server[0]).expect("a certificate")];
    let secret = PrivateKeyDer::from_pem_file(&server[1]).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("they exist")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(chain, secret);
    Arc::new(config.expect("they belong together"))
}

type Secured = StreamOwned<ServerConnection, TcpStream>;

fn at_each_connection(
    config: Arc<ServerConfig>,
    work: impl Fn(Secured) + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tls = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            work(StreamOwned::new(tls, stream));
        }
    });
    address
}

#[test]
fn a_service_that_asks_for_a_certificate_gets_the_configured_one_over_websocket() {
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "17921 10.45.0.1\n").expect("a file");
    let server = certificate(folder.path(), ["server.pem", "server-key.pem"]);
    let [own, own_key] = certificate(folder.path(), ["own.pem", "own-key.pem"]);
    let [other, other_key] = certificate(folder.path(), ["other.pem", "other-key.pem"]);
    let at = at_each_connection(asks_for_certificates(&server, &own), |stream| {
        // A client without the certificate gets no further.
        let Ok(mut socket) = tungstenite::accept(stream) else { return };
        assert!(socket.read().is_ok_and(|command| command.is_text()));
        socket.send(tungstenite::Message::text(metrics(17_921))).expect("it is sent");
    });
    let source = |access: &str| {
        started(&format!(
            "kind = \"websocket\"\nurl = \"wss://{at}\"\nues = {ues:?}\nca_file = {:?}\n{access}",
            server[0]
        ))
    };
    let shows =
        |cert: &Path, key: &Path| format!("[access]\ncert_file = {cert:?}\nkey_file = {key:?}\n");
    for access in [String::new(), shows(&other, &other_key)] {
        let (_none, account) = source(&access);
        until("it is refused", || refused(&account, "alert"));
    }
    let (reports, _account) = source(&shows(&own, &own_key));
    let report = reports.recv_timeout(SOON).expect("a report");
    assert_eq!(report.cell.as_deref(), Some(at.to_string().as_str()), "the message has no PCI");
    // A key of another certificate, and a certificate without a key, are refused at once.
    for wrong in [shows(&own, &other_key), shows(&own, Path::new(""))] {
        let text = format!("kind = \"websocket\"\nurl = \"wss://{at}\"\nues = {ues:?}\n{wrong}");
        let config: RadioConfig = toml::from_str(&text).expect("a source");
        let error = config.validate().expect_err("it is wrong").to_string();
        assert!(error.contains("cert_file"), "{error}");
    }
}

#[test]
fn a_service_that_asks_for_a_certificate_gets_the_configured_one_over_https() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = certificate(folder.path(), ["server.pem", "server-key.pem"]);
    let [own, own_key] = certificate(folder.path(), ["own.pem", "own-key.pem"]);
    let at = at_each_connection(asks_for_certificates(&server, &own), |mut stream| {
        let mut byte = [0];
        // A client without the certificate gets no further.
        if stream.read_exact(&mut byte).is_ok() {
            let body = r#"{"reports": []}"#;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all((head + body).as_bytes()).expect("it reads");
            // Blocks until the other end closes.
            let _end = io::copy(&mut stream, &mut io::sink());
        }
    });
    let source = |access: &str| {
        let ca = &server[0];
        started(&format!("kind = \"rnis\"\nurl = \"https://{at}\"\nca_file = {ca:?}\n{access}"))
    };
    let (_none, account) = source("");
    until("it is refused", || matches!(account.state(), State::Refused(_)));
    assert_eq!(account.connections(), 0);
    let (_none, account) =
        source(&format!("[access]\ncert_file = {own:?}\nkey_file = {own_key:?}\n"));
    until("it has connected", || account.state() == State::Connected);
}
