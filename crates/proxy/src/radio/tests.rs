//! Sources against services of this process.

use super::*;
use justfull_rnis::{CellIdentity, Listening, Service, Tokens, serve};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

const SOON: Duration = Duration::from_secs(10);

fn started(toml: &str) -> (Receiver<Report>, Arc<Account>) {
    let config: RadioConfig = toml::from_str(toml).expect("a source");
    assert_eq!(config.validate(), Ok(()), "{toml}");
    start(&config, Arc::new(EventFd::new().expect("an event"))).expect("it starts")
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
    let service = Service::new(CellIdentity::default(), None).expect("a service");
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = serve(address, None, tokens, Arc::clone(&service)).expect("it listens");
    (service, server)
}

/// Address of a port where nothing listens any more.
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
    // The subscription is there before the first report that counts.
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
    // Questions come every 10 s here: what comes in time came by itself.
    let began = now();
    let mut last = 0;
    for at in 1..=10_u64 {
        thread::sleep(Duration::from_millis(500));
        service.report(&report("10.45.0.1", at));
        last += notified.try_iter().count();
    }
    assert!(now().duration_since(began) > Duration::from_secs(4), "longer than it lasts");
    let client = justfull_rnis::agent(None, SOON).expect("a client");
    let list = client.get(format!("http://{}/rni/v2/subscriptions", server.address())).call();
    let (status, list) = justfull_rnis::bounded(list).expect("an answer");
    let list = String::from_utf8_lossy(&list).into_owned();
    assert_eq!((status, list.matches("JustfullRanReportSubscription").count()), (200, 1), "{list}");
    assert!(last <= 2, "one in 10 s: {last}");
    assert_eq!(account.connections(), 1);
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
    )
    .expect("it listens");
    let url = format!("http://{}", garbage.address());
    let (reports, account) = started(&format!("kind = \"rnis\"\nurl = \"{url}\""));
    until("garbage is counted", || account.garbled() > 2);
    assert_eq!((account.state(), reports.try_iter().count()), (State::Connected, 0));
    let empty = axum::Router::new().fallback(async || axum::http::StatusCode::NOT_FOUND);
    let server = justfull_rnis::listen(SocketAddr::from(([127, 0, 0, 1], 0)), None, empty);
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

#[test]
fn metrics_of_srsran_come_over_websocket_and_the_connection_is_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "17921 10.45.0.1\n").expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let message = |rnti: u32| {
        format!(
            r#"{{"cells": [{{"ue_list": [{{"rnti": {rnti}, "dl_mcs": 20, "dl_brate": 1000000.0,
                "dl_nof_ok": 100, "dl_nof_nok": 0, "dl_bs": 5}}]}}]}}"#
        )
    };
    let server = thread::spawn(move || {
        for _ in 0..2 {
            let (stream, _) = listener.accept().expect("a connection");
            let mut socket = tungstenite::accept(stream).expect("a handshake");
            let asked = socket.read().expect("a command").into_text().expect("text");
            assert!(asked.contains("metrics_subscribe"), "{asked}");
            for text in [asked.to_string(), "garbage".into(), message(1), message(17_921)] {
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
