//! The service over HTTP: queries, subscriptions and notifications.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use justfull_rnis::types::{REPORTS, TimeStamp};
use justfull_rnis::{
    Callbacks, CellIdentity, Listening, Report, Service, Tokens, Trust, agent, bounded, listen,
    serve,
};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(10);

fn report(ue: &str, at_us: u64) -> Report {
    let line = format!(
        r#"{{"ue": {ue}, "at_us": {at_us}, "cell": "lte", "slot_us": 1000, "slots": 10,
            "offered": 250, "used": 100, "blocks": 60, "bytes": 5000, "mcs": 20, "active_ues": 2}}"#
    );
    Report::parse(line.as_bytes()).expect("a report")
}

struct Served {
    service: Arc<Service>,
    at: String,
    _server: Listening,
}

fn served(tokens: Tokens) -> Served {
    served_by(tokens, "127.0.0.0/8")
}

fn served_by(tokens: Tokens, allowed: &str) -> Served {
    let callbacks = Callbacks::allowing(vec![allowed.parse().expect("a prefix")]);
    let service = Service::new(CellIdentity::default(), None, callbacks).expect("a service");
    let address = "127.0.0.1:0".parse().expect("an address");
    let server = serve(address, None, tokens, Arc::clone(&service)).expect("it listens");
    Served { service, at: format!("http://{}", server.address()), _server: server }
}

impl Served {
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let agent = agent(&Trust::default(), SOON).expect("a client");
        let uri = format!("{}{path}", self.at);
        let answer = match (method, body) {
            ("GET", _) => agent.get(&uri).call(),
            ("DELETE", _) => agent.delete(&uri).call(),
            (method, Some(body)) => {
                let request = if method == "PUT" { agent.put(&uri) } else { agent.post(&uri) };
                request.content_type("application/json").send(body.to_string())
            }
            _ => panic!("a body is needed"),
        };
        let (status, text) = bounded(answer).expect("an answer");
        (status, serde_json::from_slice(&text).unwrap_or_default())
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, None)
    }
}

/// A receiver, its address, and the messages that it gets.
fn receiver() -> (Receiver<Value>, String, Listening) {
    async fn take(State(to): State<Sender<Value>>, body: Bytes) -> &'static str {
        let _gone = to.send(serde_json::from_slice(&body).unwrap_or_default());
        ""
    }
    let (to, got) = channel();
    let router = Router::new().route("/here", post(take)).with_state(to);
    let server = listen("127.0.0.1:0".parse().expect("an address"), None, router, 8);
    let server = server.expect("it listens");
    (got, format!("http://{}/here", server.address()), server)
}

#[test]
fn queries_return_the_reports_of_the_selected_ues() {
    let served = served(Tokens::default());
    assert!(served.service.report(&report(r#"["10.45.0.1", "fd45::/64"]"#, 1)));
    assert!(served.service.report(&report("\"10.45.0.2\"", 1)));
    assert!(served.service.report(&report("\"10.45.0.2\"", 2)));
    let (status, all) = served.get("/rni/v2/queries/rab_info");
    assert_eq!(status, 200, "{all}");
    let cell = &all["cellUserInfo"][0];
    assert_eq!(cell["ecgi"], json!({"cellId": "0000001", "plmn": {"mcc": "001", "mnc": "01"}}));
    assert_eq!(cell["ueInfo"].as_array().map(Vec::len), Some(2));
    assert_eq!(cell["ueInfo"][0]["associateId"][1], json!({"type": 2, "value": "fd45::/64"}));
    assert_eq!(cell["ueInfo"][0]["erabInfo"][0]["erabQosParameters"]["qci"], 9);
    let (_, one) = served.get("/rni/v2/queries/rab_info?ue_ipv6_address=fd45::7");
    assert_eq!(one["cellUserInfo"][0]["ueInfo"].as_array().map(Vec::len), Some(1));
    let (_, none) = served.get("/rni/v2/queries/rab_info?qci=1&app_ins_id=me");
    assert_eq!((&none["cellUserInfo"], &none["appInstanceId"]), (&json!([]), &json!("me")));
    let (status, bearers) = served.get("/rni/v2/queries/s1_bearer_info?ue_ipv4_address=10.45.0.1");
    let expected = json!([{
        "associateId": [{"type": 1, "value": "10.45.0.1"}, {"type": 2, "value": "fd45::/64"}],
        "ecgi": [{"cellId": "0000001", "plmn": {"mcc": "001", "mnc": "01"}}],
        "s1BearerInfoDetailed": [{"erabId": 5}],
    }]);
    assert_eq!((status, &bearers["s1UeInfo"]), (200, &expected));
    for none in ["erab_id=6,7", "cell_id=0000002", "gtp_teid=1", "temp_ue_id=1"] {
        let (_, bearers) = served.get(&format!("/rni/v2/queries/s1_bearer_info?{none}"));
        assert_eq!(bearers["s1UeInfo"], json!([]), "{none}");
    }
    let (_, networks) = served.get("/rni/v2/queries/plmn_info?app_ins_id=a,b");
    assert_eq!(networks[1]["appInstanceId"], "b");
    let (_, layer2) = served.get("/rni/v2/queries/layer2_meas?ue_ipv4_address=10.45.0.2");
    assert_eq!(layer2["cellInfo"][0]["dl_total_prb_usage_cell"], 40);
    // 5000 bytes in 10 ms.
    assert_eq!(layer2["cellUEInfo"][0]["dl_nongbr_throughput_ue"], 4_000);
    assert_eq!(layer2["cellUEInfo"].as_array().map(Vec::len), Some(1));
    let (_, reports) = served.get(&format!("{REPORTS}?ue_ipv4_address=10.45.0.2"));
    let again = Report::parse(reports["reports"][0].to_string().as_bytes());
    assert_eq!(again, Ok(report("\"10.45.0.2\"", 2)), "the last one, whole");
    for (path, status) in [
        ("/rni/v2/queries/s1_bearer_info?erab_id=five", 400),
        ("/rni/v2/queries/rab_info?qci=nine", 400),
        ("/rni/v2/queries/plmn_info", 400),
        ("/rni/v2/queries", 404),
        ("/rni/v2/subscriptions/1", 404),
    ] {
        let (found, problem) = served.get(path);
        assert_eq!((found, &problem["status"]), (status, &json!(status)), "{path}");
    }
    assert_eq!(served.ask("DELETE", "/rni/v2/queries/rab_info", None).0, 405);
    assert_eq!(served.get("/openapi.json").1["info"]["title"], "justfull rnis");
}

/// A report of a cell.
fn of_cell(cell: &str, ue: &str, at_us: u64, used: u64) -> Report {
    let mut report = report(ue, at_us);
    report.cell = Some(cell.into());
    report.ran.used = used;
    report
}

#[test]
fn each_cell_has_an_identity_its_ues_and_its_use_and_a_ue_moves_with_its_reports() {
    let served = served(Tokens::default());
    served.service.name_cells(&["west".into(), "east".into()]);
    // The order of reports does not matter.
    for report in [
        of_cell("east", "\"10.45.0.2\"", 1, 200),
        of_cell("west", "\"10.45.0.1\"", 2, 100),
        of_cell("west", "\"10.45.0.3\"", 3, 125),
    ] {
        assert!(served.service.report(&report));
    }
    let cells = |path: &str| {
        let (status, answer) = served.get(&format!("/rni/v2/queries/rab_info{path}"));
        assert_eq!(status, 200, "{answer}");
        let cells = answer["cellUserInfo"].as_array().expect("cells").clone();
        let ues = |cell: &Value| {
            let ues = cell["ueInfo"].as_array().expect("UEs").iter();
            ues.map(|ue| ue["associateId"][0]["value"].as_str().expect("one").to_owned()).collect()
        };
        let cell = |cell: &Value| {
            (cell["ecgi"]["cellId"].as_str().expect("an identity").to_owned(), ues(cell))
        };
        cells.iter().map(cell).collect::<Vec<(String, Vec<String>)>>()
    };
    let of = |id: &str, ues: &[&str]| {
        (id.to_owned(), ues.iter().map(|ue| (*ue).to_owned()).collect::<Vec<_>>())
    };
    let both = [of("0000001", &["10.45.0.1", "10.45.0.3"]), of("0000002", &["10.45.0.2"])];
    assert_eq!(cells(""), both);
    assert_eq!(cells("?cell_id=0000002"), both[1..]);
    assert_eq!(cells("?cell_id=0000003"), []);
    let usage = |path: &str| {
        let (_, layer2) = served.get(&format!("/rni/v2/queries/layer2_meas{path}"));
        let cells = layer2["cellInfo"].as_array().expect("cells").iter();
        let ues = layer2["cellUEInfo"].as_array().expect("UEs").len();
        (cells.map(|cell| cell["dl_total_prb_usage_cell"].clone()).collect::<Vec<_>>(), ues)
    };
    // Of 250 blocks; the newest report of each cell counts.
    assert_eq!(usage(""), (vec![json!(50), json!(80)], 3));
    assert_eq!(usage("?cell_id=0000002"), (vec![json!(80)], 1));

    assert!(served.service.report(&of_cell("east", "\"10.45.0.3\"", 4, 150)));
    let moved = [of("0000001", &["10.45.0.1"]), of("0000002", &["10.45.0.2", "10.45.0.3"])];
    assert_eq!(cells(""), moved);
    // A report without a cell leaves its UE there.
    assert!(served.service.report(&report("\"10.45.0.3\"", 5)));
    assert_eq!(cells(""), moved);
    assert_eq!(usage(""), (vec![json!(40), json!(40)], 3));
    let (_, bearers) = served.get("/rni/v2/queries/s1_bearer_info?ue_ipv4_address=10.45.0.3");
    assert_eq!(bearers["s1UeInfo"][0]["ecgi"][0]["cellId"], "0000002");
    let (_, reports) = served.get(&format!("{REPORTS}?ue_ipv4_address=10.45.0.2"));
    assert_eq!(reports["reports"][0]["cell_id"], "east");
}

#[test]
fn reports_of_more_than_4096_cells_are_left_out_and_reports_of_known_cells_are_not() {
    let served = served(Tokens::default());
    let names: Vec<Arc<str>> = (0..4_096).map(|n| format!("cell-{n}").into()).collect();
    served.service.name_cells(&names);
    assert!(!served.service.report(&of_cell("another", "\"10.45.0.1\"", 1, 100)));
    assert!(served.service.report(&of_cell("cell-4095", "\"10.45.0.1\"", 2, 100)));
    assert!(!served.service.report(&of_cell("another", "\"10.45.0.1\"", 3, 100)));
    let (_, reports) = served.get(REPORTS);
    assert_eq!(reports["reports"][0]["cell_id"], "cell-4095");
    let (_, rab) = served.get("/rni/v2/queries/rab_info");
    assert_eq!(rab["cellUserInfo"][0]["ecgi"]["cellId"], "0001000");
}

#[test]
fn subscribers_get_all_reports_bearer_events_and_a_warning_of_the_end() {
    let served = served(Tokens::default());
    let (got, callback, _receiver) = receiver();
    let now = TimeStamp::now().seconds;
    let reports = json!({
        "subscriptionType": "JustfullRanReportSubscription",
        "callbackReference": callback,
        "filterCriteriaRanReport": {"periodMs": 1, "associateId": [{"type": 1, "value": "10.45.0.1"}]},
    });
    let (status, made) = served.ask("POST", "/rni/v2/subscriptions", Some(&reports));
    assert_eq!(status, 201, "{made}");
    let href = made["_links"]["self"]["href"].as_str().expect("a link").to_owned();
    let bearers = json!({
        "subscriptionType": "RabEstSubscription",
        "callbackReference": callback,
        "filterCriteriaQci": {"qci": 9},
    });
    assert_eq!(served.ask("POST", "/rni/v2/subscriptions", Some(&bearers)).0, 201);
    let short = json!({
        "subscriptionType": "RabRelSubscription",
        "callbackReference": callback,
        "expiryDeadline": {"seconds": now + 3, "nanoSeconds": 0},
        "filterCriteriaQci": {"qci": 9},
    });
    let (status, short) = served.ask("POST", "/rni/v2/subscriptions", Some(&short));
    assert_eq!(status, 201, "{short}");
    let (_, list) = served.get("/rni/v2/subscriptions?subscription_type=justfull_ran_report");
    assert_eq!(list["_links"]["subscription"][0]["href"], json!(href));
    assert_eq!(list["_links"]["subscription"].as_array().map(Vec::len), Some(1));
    for at in 1..=1_000 {
        served.service.report(&report("\"10.45.0.1\"", at));
        served.service.report(&report("\"10.45.0.2\"", at));
    }
    let (mut times, mut established, mut ended) = (Vec::new(), Vec::new(), 0);
    while times.len() < 1_000 || established.len() < 2 || ended == 0 {
        let note = got.recv_timeout(SOON).expect("a notification");
        match note["notificationType"].as_str() {
            Some("JustfullRanReportNotification") => {
                let reports = note["reports"].as_array().expect("reports");
                times.extend(reports.iter().map(|report| report["at_us"].as_u64()));
            }
            Some("RabEstNotification") => established.push(note["associateId"][0]["value"].clone()),
            _ => {
                assert_eq!(note["_links"]["self"], short["_links"]["self"]["href"], "{note}");
                ended += 1;
            }
        }
    }
    assert!(times.into_iter().eq((1..=1_000).map(Some)), "each once, in order, of one UE");
    assert_eq!(established, ["10.45.0.1", "10.45.0.2"]);
    let path = href.strip_prefix(&served.at).expect("its own address");
    let (status, later) = served.ask("PUT", path, Some(&bearers));
    assert_eq!(status, 422, "{later}");
    let mut longer = reports;
    longer["expiryDeadline"] = json!({"seconds": now + 1_000_000_000, "nanoSeconds": 0});
    let (status, later) = served.ask("PUT", path, Some(&longer));
    assert_eq!(status, 200, "{later}");
    let until = later["expiryDeadline"]["seconds"].as_u64().expect("a time");
    assert!(until <= u64::from(now) + 24 * 3_600 + 60, "not for ever");
    assert_eq!(served.ask("DELETE", path, None).0, 204);
    assert_eq!(served.ask("DELETE", path, None).0, 404);
    served.service.report(&report("\"10.45.0.1\"", 2_000));
    assert!(got.recv_timeout(Duration::from_millis(200)).is_err(), "no subscription is left");
}

#[test]
fn subscribers_learn_each_move_of_their_ues_between_their_cells() {
    let served = served(Tokens::default());
    let names = ["west", "east", "north"];
    served.service.name_cells(&names.map(Arc::from));
    let subscribe = |filter: Value| {
        let (got, callback, receiver) = receiver();
        let body = json!({
            "subscriptionType": "CellChangeSubscription",
            "callbackReference": callback,
            "filterCriteriaAssocHo": filter,
        });
        let (status, made) = served.ask("POST", "/rni/v2/subscriptions", Some(&body));
        assert_eq!(status, 201, "{made}");
        assert_eq!(made["filterCriteriaAssocHo"]["hoStatus"], json!([3]), "the default is told");
        (got, receiver)
    };
    let ecgi = |id: &str| json!({"cellId": id, "plmn": {"mcc": "001", "mnc": "01"}});
    let (all, _all) = subscribe(json!({}));
    let (one, _one) = subscribe(json!({"associateId": [{"type": 1, "value": "10.45.0.2"}]}));
    let (north, _north) = subscribe(json!({"ecgi": [ecgi("0000003")], "hoStatus": [3]}));
    let (_, list) = served.get("/rni/v2/subscriptions?subscription_type=cell_change");
    assert_eq!(list["_links"]["subscription"].as_array().map(Vec::len), Some(3));
    // The first report of a UE, one of the same cell and one without a cell are no moves.
    for (ue, cells) in [("1", "wween"), ("2", "nnwwn")] {
        for (at, cell) in cells.chars().enumerate() {
            let cell = names.iter().find(|name| name.starts_with(cell)).expect("a cell");
            let ue = format!("\"10.45.0.{ue}\"");
            served.service.report(&of_cell(cell, &ue, at as u64, 0));
            served.service.report(&report(&ue, at as u64));
        }
    }
    let moves = |got: &Receiver<Value>, count: usize| -> Vec<String> {
        let read = |_| {
            let note = got.recv_timeout(SOON).expect("a notification");
            assert_eq!(note["notificationType"], "CellChangeNotification", "{note}");
            let trg = note["trgEcgi"].as_array().expect("cells");
            assert_eq!((trg.len(), &note["hoStatus"]), (1, &json!(3)), "{note}");
            let id = |ecgi: &Value| ecgi["cellId"].as_str().expect("an identity")[6..].to_owned();
            let ue = note["associateId"][0]["value"].as_str().expect("an address");
            let name = note["cell_id"].as_str().expect("a name");
            format!("{ue}: {} {} {name}", id(&note["srcEcgi"]), id(&trg[0]))
        };
        let read = (0..count).map(read).collect();
        assert!(got.recv_timeout(Duration::from_millis(50)).is_err(), "no further one");
        read
    };
    let first = ["10.45.0.1: 1 2 east", "10.45.0.1: 2 3 north"];
    let second = ["10.45.0.2: 3 1 west", "10.45.0.2: 1 3 north"];
    assert_eq!(moves(&all, 4), [first, second].concat());
    assert_eq!(moves(&one, 2), second);
    assert_eq!(moves(&north, 3), [first[1], second[0], second[1]]);
}

#[test]
fn impossible_requests_are_refused_with_their_reason() {
    let served = served(Tokens::default());
    let good = json!({
        "subscriptionType": "JustfullRanReportSubscription",
        "callbackReference": "http://127.0.0.1:1/",
        "filterCriteriaRanReport": {},
    });
    let with = |key: &str, value: Value| {
        let mut other = good.clone();
        other[key] = value;
        other
    };
    let change = |filter: Value| {
        json!({
            "subscriptionType": "CellChangeSubscription",
            "callbackReference": "http://127.0.0.1:1/",
            "filterCriteriaAssocHo": filter,
        })
    };
    for (body, status, part) in [
        (with("subscriptionType", json!("MeasRepUeSubscription")), 422, "served are"),
        (with("subscriptionType", json!("Other")), 400, "Other"),
        (with("subscriptionType", json!(1)), 400, "subscriptionType"),
        (with("callbackReference", json!("ftp://127.0.0.1/")), 422, "callbackReference"),
        (with("callbackReference", json!("/here")), 422, "callbackReference"),
        (with("expiryDeadline", json!({"seconds": 1, "nanoSeconds": 0})), 422, "past"),
        (with("filterCriteriaRanReport", json!({"periodMs": 0})), 422, "periodMs"),
        (
            with("filterCriteriaRanReport", json!({"associateId": [{"type": 4, "value": "1"}]})),
            422,
            "associateId",
        ),
        (change(json!({"hoStatus": [1]})), 422, "hoStatus"),
        (change(json!({"hoStatus": []})), 422, "hoStatus"),
        (change(json!({"hoStatus": [3, 300]})), 400, "300"),
        (change(json!({"associateId": [{"type": 3, "value": "10.0.0.1"}]})), 422, "associateId"),
        (change(json!({"ecgi": ["0000001"]})), 400, "0000001"),
        (with("subscriptionType", json!("CellChangeSubscription")), 400, "filterCriteriaAssocHo"),
        (json!([]), 400, "subscriptionType"),
    ] {
        let (found, problem) = served.ask("POST", "/rni/v2/subscriptions", Some(&body));
        assert_eq!(found, status, "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|text| text.contains(part)), "{problem}");
    }
    let mut most = 0;
    while served.ask("POST", "/rni/v2/subscriptions", Some(&good)).0 == 201 {
        most += 1;
    }
    assert_eq!(most, 16, "those of one address are bounded");
}

#[test]
fn each_user_has_a_share_of_the_subscriptions() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens");
    let names: Vec<String> = (0..6).map(|n| format!("user{n}")).collect();
    std::fs::write(&file, names.join("\n")).expect("a file");
    let served = served(Tokens::read(&file).expect("tokens"));
    let agent = agent(&Trust::default(), SOON).expect("a client");
    let subscribe = |token: &str| {
        let body = json!({
            "subscriptionType": "RabEstSubscription",
            "callbackReference": "http://127.0.0.1:1/",
            "filterCriteriaQci": {"qci": 9},
        });
        let uri = format!("{}/rni/v2/subscriptions", served.at);
        let request = agent.post(uri).header("Authorization", format!("Bearer {token}"));
        let answer = request.content_type("application/json").send(body.to_string());
        bounded(answer).expect("an answer").0
    };
    let taken = names.iter().map(|name| (0..20).filter(|_| subscribe(name) == 201).count());
    assert_eq!(taken.collect::<Vec<_>>(), [16, 16, 16, 16, 0, 0], "64 in all");
    assert_eq!(subscribe("user0"), 429);
}

#[test]
fn notifications_go_to_no_closed_address_whatever_its_name() {
    let served = served_by(Tokens::default(), "127.0.0.7/32");
    let with = |callback: &str| {
        let body = json!({
            "subscriptionType": "RabEstSubscription",
            "callbackReference": callback,
            "filterCriteriaQci": {"qci": 9},
        });
        served.ask("POST", "/rni/v2/subscriptions", Some(&body))
    };
    for host in ["127.0.0.1", "localhost", "2130706433", "0177.1", "169.254.169.254", "[::1]"] {
        let (status, problem) = with(&format!("http://{host}:9103/here"));
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(status == 422 && detail.contains("callbackReference"), "{host}: {problem}");
        assert!(detail.contains("allowed is another host"), "{problem}");
    }
    let (status, made) = with("http://127.0.0.7:9103/here");
    assert_eq!(status, 201, "{made}");
    let href = made["_links"]["self"]["href"].as_str().expect("a link");
    let path = href.strip_prefix(&served.at).expect("its own address");
    let mut other = made.clone();
    other["callbackReference"] = json!("http://localhost:9103/");
    assert_eq!(served.ask("PUT", path, Some(&other)).0, 422, "nor by a change");
}

#[test]
fn a_redirect_is_not_followed() {
    let served = served(Tokens::default());
    let (got, secret, _receiver) = receiver();
    let (to, asked) = channel();
    let redirect = post(move || {
        let _gone = to.send(());
        let there = [("location", secret.clone())];
        async move { (axum::http::StatusCode::TEMPORARY_REDIRECT, there) }
    });
    let router = Router::new().route("/", redirect);
    let server = listen("127.0.0.1:0".parse().expect("an address"), None, router, 8);
    let server = server.expect("it listens");
    let body = json!({
        "subscriptionType": "RabEstSubscription",
        "callbackReference": format!("http://{}/", server.address()),
        "filterCriteriaQci": {"qci": 9},
    });
    assert_eq!(served.ask("POST", "/rni/v2/subscriptions", Some(&body)).0, 201);
    served.service.report(&report("\"10.45.0.1\"", 1));
    asked.recv_timeout(SOON).expect("it is notified");
    assert!(got.recv_timeout(Duration::from_millis(300)).is_err(), "nobody else is");
}

/// A client at the address `from` that reads nothing.
fn deaf(served: &Served, from: &str, path: &str, requests: usize) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(2_048).expect("a size");
    let from: SocketAddr = format!("{from}:0").parse().expect("an address");
    socket.bind(&from.into()).expect("it is bound");
    let at: SocketAddr = served.at["http://".len()..].parse().expect("an address");
    socket.connect(&at.into()).expect("it connects");
    let stream = TcpStream::from(socket);
    stream.set_write_timeout(Some(Duration::from_millis(100))).expect("a time");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    let _full = (&stream).write_all(request.repeat(requests).as_bytes());
    stream
}

#[test]
fn clients_that_do_not_read_delay_no_other_and_are_disconnected() {
    let served = served(Tokens::default());
    let mut first = deaf(&served, "127.0.0.1", "/openapi.json", 400);
    let all: Vec<TcpStream> =
        (0..300).map(|_| deaf(&served, "127.0.0.1", "/openapi.json", 100)).collect();
    // While its 300 connections are open, the service answers the same client and others.
    assert_eq!(served.get("/rni/v2/queries/rab_info").0, 200);
    let request = b"GET /rni/v2/queries/rab_info HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let other = deaf(&served, "127.0.0.2", "/openapi.json", 0);
    (&other).write_all(request).expect("it is sent");
    let mut answer = String::new();
    (&other).read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    drop(all);
    // The first was disconnected, since it read nothing: it gets the bytes that were on their way,
    // and the end.
    first.set_read_timeout(Some(SOON)).expect("a time");
    let mut got = Vec::new();
    let _reset = first.read_to_end(&mut got);
    let answers = String::from_utf8_lossy(&got).matches("HTTP/1.1 200 OK").count();
    assert!(answers < 400, "it was let go: {answers}");
}

#[test]
fn a_client_that_reads_too_slowly_is_disconnected() {
    let served = served(Tokens::default());
    let mut slow = deaf(&served, "127.0.0.1", "/openapi.json", 400);
    slow.set_read_timeout(Some(SOON)).expect("a time");
    // 10 kB a second: less than the required rate.
    let mut bytes = vec![0; 1_000];
    for _ in 0..600 {
        match slow.read(&mut bytes) {
            Ok(0) => return,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return,
            Ok(_) => std::thread::sleep(Duration::from_millis(100)),
            Err(error) => panic!("it is served or let go: {error}"),
        }
    }
    panic!("it reads for ever");
}

#[test]
fn answers_of_all_ues_are_read_and_longer_ones_are_refused() {
    let served = served(Tokens::default());
    for ue in 0..65_536_u32 {
        let [_, _, high, low] = ue.to_be_bytes();
        let both = format!("[\"10.45.{high}.{low}\", \"fd45:0:0:{ue:x}::/64\"]");
        assert!(served.service.report(&report(&both, 1)), "{ue}");
    }
    // An answer of 16 MB takes long beside other work.
    let agent = agent(&Trust::default(), SOON * 12).expect("a client");
    let ask = || bounded(agent.get(format!("{}{REPORTS}", served.at)).call()).expect("an answer");
    let (status, body) = ask();
    assert_eq!(status, 200);
    assert!(body.len() > 16 << 20, "{}", body.len());
    let told: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(told["reports"].as_array().map(Vec::len), Some(65_536));
    for ue in 0..65_536_u32 {
        let [_, _, high, low] = ue.to_be_bytes();
        let more: Vec<String> =
            (0..15).map(|n| format!("\"fd45:{n:x}:ffff:{ue:x}:ffff:ffff:ffff:ffff\"")).collect();
        let all = format!("[\"10.45.{high}.{low}\", {}]", more.join(", "));
        served.service.report(&report(&all, 2));
    }
    let (status, body) = ask();
    let body = String::from_utf8_lossy(&body).into_owned();
    assert!(status == 400 && body.contains("more than 32 MiB: ask for fewer UEs"), "{body}");
}

#[test]
fn tokens_keep_users_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens");
    std::fs::write(&file, "one\ntwo\nlooks read\n").expect("a file");
    let served = served(Tokens::read(&file).expect("tokens"));
    let agent = agent(&Trust::default(), SOON).expect("a client");
    let root = format!("{}/rni/v2/subscriptions", served.at);
    let subscribe = |token: &str| {
        let body = json!({
            "subscriptionType": "RabEstSubscription",
            "callbackReference": "http://127.0.0.1:1/",
            "filterCriteriaQci": {"qci": 9},
        });
        let request = agent.post(&root).header("Authorization", format!("Bearer {token}"));
        let answer = request.content_type("application/json").send(body.to_string());
        bounded(answer).expect("an answer").0
    };
    assert_eq!([subscribe("one"), subscribe("looks"), subscribe("three")], [201, 403, 401]);
    let asks = |token: &str, path: &str| {
        let request = agent.get(format!("{root}{path}"));
        let answer = request.header("Authorization", format!("Bearer {token}")).call();
        bounded(answer).expect("an answer")
    };
    assert_eq!([asks("one", "/1").0, asks("two", "/1").0, asks("looks", "").0], [200, 404, 200]);
    let list: Value = serde_json::from_slice(&asks("two", "").1).expect("JSON");
    assert_eq!(list["_links"]["subscription"], json!([]));
    assert_eq!(served.get("/rni/v2/subscriptions").0, 401);
    assert_eq!(served.get("/openapi.json").0, 200, "the description is for all");
}

#[test]
fn the_description_in_the_tree_matches_the_code() {
    assert_eq!(
        justfull_rnis::document(),
        include_str!("../../../docs/reference/rnis.json"),
        "justfull rnis --openapi > docs/reference/rnis.json"
    );
}
