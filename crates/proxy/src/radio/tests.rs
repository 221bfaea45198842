//! Tests sources with services of this process.

mod access;
mod kpm;
mod moves;
mod several;

use super::*;
use justfull_rnis::{Callbacks, CellIdentity, Listening, Service, Tokens, serve};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

const SOON: Duration = Duration::from_secs(10);

fn started(toml: &str) -> (Receiver<Report>, Arc<Account>) {
    let config: RadioConfig = toml::from_str(toml).expect("a source");
    assert_eq!(config.validate(), Ok(()), "{toml}");
    start(&config, Arc::new(EventFd::new().expect("an event")), false).expect("it starts")
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = now();
    while !holds() {
        assert!(now().duration_since(began) < SOON, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn refused(account: &Account, part: &str) -> bool {
    matches!(account.state(), State::Refused(why) if why.contains(part))
}

fn report(ue: &str, at_us: u64) -> Report {
    let line = format!(
        r#"{{"ue": "{ue}", "at_us": {at_us}, "cell": "bytes", "slot_us": 1000, "slots": 1,
            "offered": 2500, "used": 0}}"#
    );
    Report::parse(line.as_bytes()).expect("a report")
}

fn served(tokens: Tokens) -> (Arc<Service>, Listening) {
    let callbacks = Callbacks::allowing(vec![report_ue("127.0.0.0/8")]);
    let service = Service::new(CellIdentity::default(), None, callbacks).expect("a service");
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = serve(address, None, tokens, Arc::clone(&service)).expect("it listens");
    (service, server)
}

/// Address of a port that is closed again.
fn closed() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address")
}

#[test]
fn notifications_bring_every_report_and_questions_the_last_ones() {
    let (service, server) = served(Tokens::default());
    let url = format!("url = \"http://{}\"\nkind = \"rnis\"\nperiod = \"1ms\"\n", server.address());
    let (notified, by_callback) = started(&format!("{url}callback = \"127.0.0.1:0\"\n"));
    let (asked, by_question) = started(&url);
    until("both have connected", || {
        by_callback.state() == State::Connected && by_question.state() == State::Connected
    });
    // The subscription exists before the first report that counts.
    let mut warm = 0;
    until("a notification comes", || {
        warm += 1;
        service.report(&report("10.45.0.9", warm));
        thread::sleep(Duration::from_millis(20));
        notified.try_iter().count() > 0 && warm > 20
    });
    for at in 1..=500 {
        service.report(&report("10.45.0.1", at));
    }
    let mut times = Vec::new();
    while times.len() < 500 {
        let report = notified.recv_timeout(SOON).expect("a report");
        if report.ue == [report_ue("10.45.0.1")] {
            times.push(report.ran.at.as_nanos() / 1_000);
        }
    }
    assert!(times.into_iter().eq(1..=500), "each once, in order");
    until("the last one was asked for", || {
        asked.try_iter().any(|report| report.ran.at.as_nanos() == 500_000)
    });
    thread::sleep(Duration::from_millis(100));
    assert_eq!(asked.try_iter().count(), 0, "nothing twice");
    assert_eq!((by_callback.garbled(), by_question.garbled()), (0, 0));
}

fn report_ue(address: &str) -> justfull_net::Prefix {
    address.parse().expect("an address")
}

#[test]
fn a_subscription_is_renewed_before_it_ends() {
    let (service, server) = served(Tokens::default());
    let (notified, account) = started(&format!(
        "kind = \"rnis\"\nurl = \"http://{}\"\ncallback = \"127.0.0.1:0\"\nexpiry = \"4s\"\n\
         period = \"10s\"\n",
        server.address()
    ));
    until("it has connected", || account.state() == State::Connected);
    // The proxy polls every 10 s here, so a report in time was a notification.
    let began = now();
    let mut last = 0;
    for at in 1..=10_u64 {
        thread::sleep(Duration::from_millis(500));
        service.report(&report("10.45.0.1", at));
        last += notified.try_iter().count();
    }
    assert!(now().duration_since(began) > Duration::from_secs(4), "longer than it lasts");
    let client = justfull_rnis::agent(&justfull_rnis::Trust::default(), SOON).expect("a client");
    let list = client.get(format!("http://{}/rni/v2/subscriptions", server.address())).call();
    let (status, list) = justfull_rnis::bounded(list).expect("an answer");
    let list = String::from_utf8_lossy(&list).into_owned();
    assert_eq!((status, list.matches("JustfullRanReportSubscription").count()), (200, 1), "{list}");
    assert!(last <= 2, "one in 10 s: {last}");
    assert_eq!(account.connections(), 1);
}

/// Subscriptions of this host at the service at `address`.
fn subscriptions(address: SocketAddr) -> usize {
    let client = justfull_rnis::agent(&justfull_rnis::Trust::default(), SOON).expect("a client");
    let list = client.get(format!("http://{address}/rni/v2/subscriptions")).call();
    let (_, list) = justfull_rnis::bounded(list).expect("an answer");
    String::from_utf8_lossy(&list).matches("\"subscriptionType\"").count()
}

#[test]
fn a_proxy_that_may_not_subscribe_goes_on_by_asking() {
    let (service, server) = served(Tokens::default());
    let client = justfull_rnis::agent(&justfull_rnis::Trust::default(), SOON).expect("a client");
    let body = r#"{"subscriptionType": "RabEstSubscription",
        "callbackReference": "http://127.0.0.1:1/", "filterCriteriaQci": {"qci": 9}}"#;
    let subscribe = || {
        let uri = format!("http://{}/rni/v2/subscriptions", server.address());
        let request = client.post(uri).content_type("application/json");
        justfull_rnis::bounded(request.send(body)).expect("an answer").0
    };
    while subscribe() == 201 {}
    let (reports, account) = started(&format!(
        "kind = \"rnis\"\nurl = \"http://{}\"\ncallback = \"127.0.0.1:0\"\n",
        server.address()
    ));
    until(
        "it is told why",
        || matches!(account.state(), State::Asking(why) if why.contains("HTTP 429")),
    );
    // Reports arrive one after the other over one connection.
    for at in 1..=20 {
        service.report(&report("10.45.0.1", at));
        assert_eq!(reports.recv_timeout(SOON), Ok(report("10.45.0.1", at)));
    }
    assert_eq!(account.connections(), 1);
    assert!(account.state().to_string().starts_with("connected, asking: a subscription: HTTP 429"));
}

#[test]
fn a_proxy_that_ends_leaves_no_subscription() {
    let (_service, server) = served(Tokens::default());
    let (_reports, account) = started(&format!(
        "kind = \"rnis\"\nurl = \"http://{}\"\ncallback = \"127.0.0.1:0\"\n",
        server.address()
    ));
    until("it has subscribed", || subscriptions(server.address()) == 2);
    until("it knows", || account.services()[0].holds);
    account.end();
    assert_eq!(subscriptions(server.address()), 0);
    // Without a subscription there is nothing to wait for.
    let began = now();
    account.end();
    assert!(now().duration_since(began) < END);
}

#[test]
fn a_service_that_is_gone_silent_wrong_or_closed_changes_nothing_but_the_state() {
    let (_reports, account) = started(&format!("kind = \"rnis\"\nurl = \"http://{}\"", closed()));
    until("it is refused", || refused(&account, "refused"));
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = silent.local_addr().expect("its address");
    let began = now();
    let (_reports, account) = started(&format!("kind = \"rnis\"\nurl = \"http://{at}\""));
    until("it does not answer", || refused(&account, "timeout"));
    assert!(now().duration_since(began) < Duration::from_secs(2));
    let garbage = justfull_rnis::listen(
        SocketAddr::from(([127, 0, 0, 1], 0)),
        None,
        axum::Router::new().fallback(async || "{\"reports\": [7, {}]}"),
        8,
    )
    .expect("it listens");
    let url = format!("http://{}", garbage.address());
    let (reports, account) = started(&format!("kind = \"rnis\"\nurl = \"{url}\""));
    until("garbage is counted", || account.garbled() > 2);
    assert_eq!((account.state(), reports.try_iter().count()), (State::Connected, 0));
    let empty = axum::Router::new().fallback(async || axum::http::StatusCode::NOT_FOUND);
    let server = justfull_rnis::listen(SocketAddr::from(([127, 0, 0, 1], 0)), None, empty, 8);
    let server = server.expect("it listens");
    let (_reports, account) =
        started(&format!("kind = \"rnis\"\nurl = \"http://{}\"", server.address()));
    until("it has no extension", || refused(&account, "extension") && refused(&account, "404"));
}

#[test]
fn a_service_comes_back_and_a_token_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let (known, own) = (write("tokens", "right\n"), write("token", "wrong\n"));
    let tokens = || Tokens::read(Path::new(&known)).expect("tokens");
    let (service, server) = served(tokens());
    let address = server.address();
    let (reports, account) = started(&format!(
        "kind = \"rnis\"\nurl = \"http://{address}\"\ntoken_file = {own:?}\nperiod = \"10ms\""
    ));
    until("the token is wrong", || refused(&account, "401"));
    write("token", "right\n");
    service.report(&report("10.45.0.1", 1));
    assert_eq!(reports.recv_timeout(SOON), Ok(report("10.45.0.1", 1)));
    drop(server);
    until("it is gone", || matches!(account.state(), State::Refused(_)));
    let again = serve(address, None, tokens(), Arc::clone(&service)).expect("it listens again");
    service.report(&report("10.45.0.1", 2));
    assert_eq!(reports.recv_timeout(SOON), Ok(report("10.45.0.1", 2)));
    drop(again);
}

/// srsRAN's message about a UE.
fn metrics(rnti: u32) -> String {
    format!(
        r#"{{"cells": [{{"ue_list": [{{"rnti": {rnti}, "dl_mcs": 20, "dl_brate": 1000000.0,
            "dl_nof_ok": 100, "dl_nof_nok": 0, "dl_bs": 5}}]}}]}}"#
    )
}

#[test]
fn metrics_of_srsran_come_over_websocket_and_the_connection_is_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "17921 10.45.0.1\n").expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let server = thread::spawn(move || {
        for _ in 0..2 {
            let (stream, _) = listener.accept().expect("a connection");
            let mut socket = tungstenite::accept(stream).expect("a handshake");
            let asked = socket.read().expect("a command").into_text().expect("text");
            assert!(asked.contains("metrics_subscribe"), "{asked}");
            for text in [asked.to_string(), "garbage".into(), metrics(1), metrics(17_921)] {
                socket.send(tungstenite::Message::text(text)).expect("it is sent");
            }
        }
    });
    let (reports, account) =
        started(&format!("kind = \"websocket\"\nurl = \"ws://{address}\"\nues = {ues:?}"));
    for _ in 0..2 {
        let report = reports.recv_timeout(SOON).expect("a report");
        assert_eq!((report.ue, report.ran.backlog), (vec![report_ue("10.45.0.1")], 5));
    }
    assert_eq!((account.garbled(), account.unknown(), account.connections()), (2, 2, 2));
    server.join().expect("it served");
    until("nothing is there any more", || matches!(account.state(), State::Refused(_)));
}

#[test]
fn a_broker_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "hello 10.45.0.1\n").expect("a file");
    let at = closed();
    let (_reports, account) = started(&format!(
        "kind = \"amqp\"\naddress = \"{at}\"\nqueues = [\"hello\"]\nues = {ues:?}"
    ));
    until("it is refused", || refused(&account, "refused"));
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = silent.local_addr().expect("its address");
    let (_reports, account) = started(&format!(
        "kind = \"amqp\"\naddress = \"{at}\"\nqueues = [\"hello\"]\nues = {ues:?}"
    ));
    until("it does not answer", || refused(&account, "no answer"));
}

/// Makes a certificate for this machine and its key, in files of these names.
fn certificate(folder: &Path, names: [&str; 2]) -> [std::path::PathBuf; 2] {
    let [cert, key] = names.map(|name| folder.join(name));
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-out".as_ref(), cert.as_os_str(), "-keyout".as_ref(), key.as_os_str()])
        .output()
        .expect("openssl is there (.ci/setup --tests)");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    [cert, key]
}

#[test]
fn srsrans_metrics_come_over_tls_from_one_whose_certificate_is_known() {
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "17921 10.45.0.1\n").expect("a file");
    let [cert, key] = certificate(folder.path(), ["cert.pem", "key.pem"]);
    let [other, _] = certificate(folder.path(), ["other.pem", "other-key.pem"]);
    let chain = vec![CertificateDer::from_pem_file(&cert).expect("a certificate")];
    let secret = PrivateKeyDer::from_pem_file(&key).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
    let config = Arc::new(config.expect("they belong together"));
    let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tls = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            // A client that does not trust the certificate leaves.
            let Ok(mut socket) = tungstenite::accept(StreamOwned::new(tls, stream)) else {
                continue;
            };
            assert!(socket.read().is_ok_and(|command| command.is_text()));
            socket.send(tungstenite::Message::text(metrics(17_921))).expect("it is sent");
        }
    });
    let source = |host: &str, ca: &Path| {
        started(&format!(
            "kind = \"websocket\"\nurl = \"wss://{host}:{port}\"\nues = {ues:?}\nca_file = {ca:?}"
        ))
    };
    for (host, ca, why) in
        [("127.0.0.1", &other, "BadSignature"), ("127.0.0.2", &cert, "not valid")]
    {
        let (_reports, account) = source(host, ca);
        until("it is not trusted", || refused(&account, "invalid peer certificate"));
        assert!(refused(&account, why), "{}", account.state());
    }
    let (reports, account) = source("127.0.0.1", &cert);
    let report = reports.recv_timeout(SOON).expect("a report");
    assert_eq!((report.ue, report.ran.backlog), (vec![report_ue("10.45.0.1")], 5));
    assert_eq!((account.connections() > 0, account.garbled()), (true, 0));
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = silent.local_addr().expect("its address");
    let (_reports, account) = started(&format!(
        "kind = \"websocket\"\nurl = \"wss://{at}\"\nues = {ues:?}\nca_file = {cert:?}"
    ));
    until("it does not answer", || refused(&account, "no answer to the TLS handshake"));
}

/// Debian's path; the one in `PATH` is for the system's own user.
const RABBITMQ: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// RabbitMQ on loopback; a test ends it by its process number.
struct Broker {
    programs: Vec<std::process::Child>,
    port: u16,
    /// The port for TLS; its certificate is `cert.pem` in the folder.
    tls_port: u16,
    folder: tempfile::TempDir,
}

impl Broker {
    fn start() -> Self {
        use std::os::unix::process::CommandExt;
        use std::process::{Command, Stdio};
        let folder = tempfile::tempdir().expect("a folder");
        let [port, tls_port, mapper, distribution] = [(); 4].map(|()| closed().port());
        let quiet = |program: &str| {
            let mut command = Command::new(program);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.env("ERL_EPMD_PORT", mapper.to_string());
            command.env("ERL_EPMD_ADDRESS", "127.0.0.1");
            // A process group of its own, so that its children end with it.
            command.process_group(0);
            command
        };
        // A mapper that the broker starts would outlive it.
        let mapping = quiet("epmd").spawn().expect("epmd is there (.ci/setup --tests)");
        let config = folder.path().join("rabbitmq.conf");
        let [cert, key] = certificate(folder.path(), ["cert.pem", "key.pem"]);
        let text = format!(
            "loopback_users.guest = true\nlisteners.ssl.default = 127.0.0.1:{tls_port}\n\
             ssl_options.certfile = {}\nssl_options.keyfile = {}\n\
             ssl_options.verify = verify_none\nssl_options.fail_if_no_peer_cert = false\n",
            cert.display(),
            key.display()
        );
        std::fs::write(&config, text).expect("a file");
        let broker = quiet(RABBITMQ)
            .env("HOME", folder.path())
            .env("RABBITMQ_NODENAME", format!("justfull-{port}@localhost"))
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODE_PORT", port.to_string())
            .env("RABBITMQ_DIST_PORT", distribution.to_string())
            .env("RABBITMQ_CONFIG_FILE", &config)
            .env("RABBITMQ_MNESIA_BASE", folder.path().join("data"))
            .env("RABBITMQ_LOG_BASE", folder.path().join("log"))
            .env("RABBITMQ_PID_FILE", folder.path().join("pid"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.path().join("plugins"))
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+S 1:1")
            .spawn()
            .expect("rabbitmq-server is there (.ci/setup --tests)");
        Self { programs: vec![broker, mapping], port, tls_port, folder }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        use nix::sys::signal::{Signal, killpg};
        use nix::unistd::Pid;
        for program in &mut self.programs {
            let group = Pid::from_raw(program.id().cast_signed());
            let _ended = killpg(group, Signal::SIGKILL);
            let _code = program.wait();
        }
    }
}

/// Sends `texts` to `queue` as R22's authors do: by the default exchange, with the queue as key.
async fn publish(port: u16, queue: &str, texts: &[&str]) -> Result<(), amqprs::error::Error> {
    use amqprs::channel::{BasicPublishArguments, QueueDeclareArguments};
    use amqprs::connection::{Connection, OpenConnectionArguments};
    let how = OpenConnectionArguments::new("127.0.0.1", port, "guest", "guest");
    let connection = Connection::open(&how).await?;
    let channel = connection.open_channel(None).await?;
    channel.queue_declare(QueueDeclareArguments::new(queue)).await?;
    for text in texts {
        let args = BasicPublishArguments::new("", queue);
        channel.basic_publish(Default::default(), text.as_bytes().to_vec(), args).await?;
    }
    channel.close().await?;
    connection.close().await
}

#[test]
fn a_real_broker_brings_the_papers_text_and_its_end_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "hello 10.45.0.1 fd45::/64\n").expect("a file");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    if !Path::new(RABBITMQ).is_file() {
        assert!(std::env::var_os("CI").is_none(), "RabbitMQ is missing; .ci/setup installs it");
        return eprintln!("skipped: RabbitMQ is not installed");
    }
    let broker = Broker::start();
    let send = |queue: &str, texts: &[&str]| runtime.block_on(publish(broker.port, queue, texts));
    let began = now();
    // The queue must exist before it is read.
    while send("hello", &[]).is_err() || send("other", &[]).is_err() {
        assert!(now().duration_since(began) < Duration::from_secs(90), "RabbitMQ does not start");
        thread::sleep(Duration::from_millis(200));
    }
    let (reports, account) = started(&format!(
        "kind = \"amqp\"\naddress = \"127.0.0.1:{}\"\nqueues = [\"hello\", \"other\"]\nues = {ues:?}",
        broker.port
    ));
    until("it has connected", || account.state() == State::Connected);
    send("other", &["15,0,1,1"]).expect("it is sent");
    send("hello", &["15,0,2292,25", "garbage", "7,1500,300,4"]).expect("it is sent");
    let got = [(); 2].map(|()| reports.recv_timeout(SOON).expect("a report"));
    assert_eq!(got[0].ue, [report_ue("10.45.0.1"), report_ue("fd45::/64")]);
    assert_eq!([got[0].ran.offered, got[1].ran.offered], [2_292, 300]);
    assert_eq!((got[1].ran.backlog, got[0].ran.at < got[1].ran.at), (1_500, true));
    until("both others are counted", || (account.garbled(), account.unknown()) == (1, 1));
    let [other, _] = certificate(folder.path(), ["other.pem", "other-key.pem"]);
    let secure = |port: u16, ca: &Path| {
        started(&format!(
            "kind = \"amqp\"\naddress = \"127.0.0.1:{port}\"\nqueues = [\"secret\"]\nues = {ues:?}\n\
             tls = true\nca_file = {ca:?}"
        ))
    };
    let cert = broker.folder.path().join("cert.pem");
    std::fs::write(&ues, "hello 10.45.0.1 fd45::/64\nsecret 10.45.0.2\n").expect("a file");
    send("secret", &["15,0,2292,25"]).expect("it is sent");
    let (_none, not_trusted) = secure(broker.tls_port, &other);
    until("it is not trusted", || refused(&not_trusted, "invalid peer certificate"));
    let (_none, plain) = secure(broker.port, &cert);
    until("it speaks no TLS there", || matches!(plain.state(), State::Refused(_)));
    let (by_tls, account_of_tls) = secure(broker.tls_port, &cert);
    let report = by_tls.recv_timeout(SOON).expect("a report");
    assert_eq!((report.ue, report.ran.offered), (vec![report_ue("10.45.0.2")], 2_292));
    assert_eq!(account_of_tls.state(), State::Connected);
    drop(broker);
    until("it is gone", || matches!(account_of_tls.state(), State::Refused(_)));
    until("it is gone", || matches!(account.state(), State::Refused(_)));
}

/// A broker that does the handshake, then sends the bytes that `then` writes. It returns the
/// requests that it got.
fn broker(then: impl FnOnce(&mut std::net::TcpStream) + Send + 'static) -> SocketAddr {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut greeting = [0; 8];
        stream.read_exact(&mut greeting).expect("a greeting");
        assert_eq!(&greeting, b"AMQP\0\0\x09\x01");
        let start = b"\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\x05PLAIN\0\0\0\x05en_US";
        for (channel, method, answers) in [
            (0, &start[..], 1),
            // Frames of any size, and a heartbeat every minute.
            (0, b"\0\x0a\0\x1e\xff\xff\0\x02\0\0\0\x3c", 2),
            (0, b"\0\x0a\0\x29\0", 1),
            (1, b"\0\x14\0\x0b\0\0\0\0", 1),
            (1, b"\0\x3c\0\x15\0", 0),
        ] {
            stream.write_all(&frame(1, channel, method)).expect("it reads");
            for _ in 0..answers {
                let mut head = [0; 7];
                stream.read_exact(&mut head).expect("a frame");
                let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
                let mut rest = vec![0; size as usize + 1];
                stream.read_exact(&mut rest).expect("all of it");
            }
        }
        then(&mut stream);
        // Blocks until the other end closes.
        let _end = io::copy(&mut stream, &mut io::sink());
    });
    address
}

fn frame(kind: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    let size = (payload.len() as u32).to_be_bytes();
    [&[kind], &channel.to_be_bytes()[..], &size, payload, &[0xce]].concat()
}

/// The frames before the text of a message of `length` bytes.
fn head_of(length: u64) -> Vec<u8> {
    let deliver = frame(1, 1, b"\0\x3c\0\x3c\x01t\0\0\0\0\0\0\0\x01\0\0\x05hello");
    let header = [b"\0\x3c\0\0", &length.to_be_bytes()[..], b"\0\0"].concat();
    [deliver, frame(2, 1, &header)].concat()
}

/// Memory of this process in bytes.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number") * 4_096
}

#[test]
fn a_flood_of_messages_and_an_endless_one_take_no_memory() {
    use std::io::Write;
    const FLOOD: u64 = 300_000;
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "hello 10.45.0.1\n").expect("a file");
    let at = broker(|stream| {
        let one = [head_of(10), frame(3, 1, b"15,0,100,1")].concat();
        for _ in 0..FLOOD / 1_000 {
            stream.write_all(&one.repeat(1_000)).expect("it reads");
        }
        stream.write_all(&head_of(400 << 20)).expect("it reads");
        let part = frame(3, 1, &[b'1'; 8_192]);
        for _ in 0..(400 << 20) / 8_192 {
            stream.write_all(&part).expect("it reads");
        }
        stream.write_all(&one).expect("it reads");
    });
    let before = memory();
    let (reports, account) = started(&format!(
        "kind = \"amqp\"\naddress = \"{at}\"\nqueues = [\"hello\"]\nues = {ues:?}"
    ));
    until("it has connected", || account.state() == State::Connected);
    // Meanwhile no receiver takes the reports.
    let mut most = 0;
    let mut taken = 0;
    until("the long one is counted", || {
        most = most.max(memory().saturating_sub(before));
        account.garbled() == 1
    });
    assert!(most < 64 << 20, "{most} bytes");
    until("the last has come", || {
        taken += reports.try_iter().count() as u64;
        taken + account.dropped() == FLOOD + 1
    });
    assert_eq!((account.garbled(), account.connections()), (1, 1));
}

#[test]
fn a_broker_that_sends_too_long_a_frame_or_refuses_is_reported() {
    use std::io::Write;
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "hello 10.45.0.1\n").expect("a file");
    let long = || [&b"\x03\0\x01\x7f\xff\xff\xff"[..], &[0; 100]].concat();
    let close = || frame(1, 1, b"\0\x14\0\x28\x01\x94\x09NOT_FOUND\0\x3c\0\x14");
    type Sent = fn() -> Vec<u8>;
    let ends: [(Sent, &str); 3] = [
        (long, "a frame of 2147483647 bytes, allowed are 8192"),
        (close, "the broker says 404, NOT_FOUND"),
        (|| vec![1, 0, 0, 0, 0, 0, 0, 7], "a frame without an end"),
    ];
    for (bytes, why) in ends {
        let at = broker(move |stream| stream.write_all(&bytes()).expect("it reads"));
        let (_reports, account) = started(&format!(
            "kind = \"amqp\"\naddress = \"{at}\"\nqueues = [\"hello\"]\nues = {ues:?}"
        ));
        until(why, || refused(&account, why));
    }
}
