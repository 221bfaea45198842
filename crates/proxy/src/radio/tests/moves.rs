//! Changes of cells, by notification.

use super::*;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use justfull_rnis::CellChange;
use serde_json::{Value, json};
use std::sync::mpsc::Sender;

fn of_cell(cell: &str, at_us: u64) -> Report {
    Report { cell: Some(cell.into()), ..report("10.45.0.1", at_us) }
}

fn change(cell: &str) -> CellChange {
    CellChange { ue: vec![report_ue("10.45.0.1")], cell: cell.into() }
}

#[test]
fn a_ue_that_moves_at_the_service_is_told_once_by_the_name_of_its_new_cell() {
    let (service, server) = served(Tokens::default());
    let (_reports, account) = started(&format!(
        "kind = \"rnis\"\nurl = \"http://{}\"\ncallback = \"127.0.0.1:0\"\n",
        server.address()
    ));
    until("it has subscribed", || subscriptions(server.address()) == 2);
    for (at, cell) in ["west", "west", "east", "west"].into_iter().enumerate() {
        service.report(&of_cell(cell, at as u64));
    }
    let mut moves = Vec::new();
    until("both moves are told", || {
        moves.extend(account.moves());
        moves.len() >= 2
    });
    assert_eq!(moves, [change("east"), change("west")]);
    assert_eq!(account.garbled(), 0);
}

/// A service without UEs that passes on the bodies of requests for subscriptions, and answers those
/// for changes of cells with `status`.
fn stand_in(status: StatusCode) -> (Receiver<Value>, Listening) {
    let (to, asked): (Sender<Value>, _) = std::sync::mpsc::channel();
    let subscribe = move |body: Bytes| {
        let mut body: Value = serde_json::from_slice(&body).expect("JSON");
        let _gone = to.send(body.clone());
        let moves = body["subscriptionType"] == "CellChangeSubscription";
        body["_links"] = json!({"self": {"href": "/rni/v2/subscriptions/1"}});
        async move { (if moves { status } else { StatusCode::CREATED }, Json(body)) }
    };
    let router = Router::new()
        .route("/justfull/v1/ran_reports", get(async || Json(json!({"reports": []}))))
        .route("/rni/v2/subscriptions", post(subscribe));
    let at = SocketAddr::from(([127, 0, 0, 1], 0));
    (asked, justfull_rnis::listen(at, None, router, 8).expect("it listens"))
}

/// The callbacks of the subscriptions to reports and to changes.
fn callbacks(asked: &Receiver<Value>) -> [String; 2] {
    ["JustfullRanReportSubscription", "CellChangeSubscription"].map(|kind| {
        let body = asked.recv_timeout(SOON).expect("a request");
        assert_eq!(body["subscriptionType"], kind);
        body["callbackReference"].as_str().expect("an address").to_owned()
    })
}

#[test]
fn changes_that_are_wrong_or_cut_are_refused_and_counted() {
    let (asked, server) = stand_in(StatusCode::CREATED);
    let (_reports, account) = started(&format!(
        "kind = \"rnis\"\nurl = \"http://{}\"\ncallback = \"127.0.0.1:0\"\n",
        server.address()
    ));
    let [_, callback] = callbacks(&asked);
    let client = justfull_rnis::agent(&justfull_rnis::Trust::default(), SOON).expect("a client");
    let send = |body: &str| {
        let sent = client.post(&callback).content_type("application/json").send(body);
        justfull_rnis::bounded(sent).expect("an answer").0
    };
    let good = json!({
        "notificationType": "CellChangeNotification",
        "associateId": [{"type": 1, "value": "10.45.0.1"}],
        "srcEcgi": {"cellId": "0000001", "plmn": {"mcc": "001", "mnc": "01"}},
        "trgEcgi": [{"cellId": "0000002", "plmn": {"mcc": "001", "mnc": "01"}}],
        "hoStatus": 3,
    });
    assert_eq!(send(&good.to_string()), 204);
    assert_eq!(account.moves(), [change("0000002")], "without a name: the identity");
    let with = |key: &str, value: Value| {
        let mut body = good.clone();
        body[key] = value;
        body.to_string()
    };
    let text = good.to_string();
    let wrong = [
        with("hoStatus", json!(5)),
        with("trgEcgi", json!([])),
        with("associateId", json!([])),
        with("associateId", json!([{"type": 1, "value": "fd45::1"}])),
        with("cell_id", json!("\u{1b}[2J")),
        with("notificationType", json!("RabEstNotification")),
        text[..text.len() - 1].into(),
        text[..text.len() / 2].into(),
        "[".repeat(100_000),
    ];
    for body in &wrong {
        assert_eq!(send(body), 400, "{body:.200}");
    }
    assert_eq!((account.garbled(), account.moves()), (wrong.len() as u64, Vec::new()));
    for _ in 0..=WAITING {
        account.moves.lock().expect("no panic").push(change("east"));
    }
    assert_eq!((send(&text), account.dropped()), (204, 1), "beyond the bound");
}

#[test]
fn a_service_without_changes_of_cells_is_connected_as_before() {
    let (asked, server) = stand_in(StatusCode::UNPROCESSABLE_ENTITY);
    let (_reports, account) = started(&format!(
        "kind = \"rnis\"\nurl = \"http://{}\"\ncallback = \"127.0.0.1:0\"\n",
        server.address()
    ));
    let [reports, moves] = callbacks(&asked);
    assert_eq!(reports, moves);
    until("it has subscribed to reports", || account.services()[0].holds);
    thread::sleep(Duration::from_millis(50));
    assert_eq!((account.state(), account.connections()), (State::Connected, 1));
}
