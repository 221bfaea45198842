//! Sessions over HTTP: `PUT`, `GET` and `DELETE` of `/sessions/NAME`, `GET` of `/sessions`.

use super::session::Session;
use super::store::{Refused, Store};
use crate::config::DirectoryConfig;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use justfull_rnis::{Listening, Tls, Tokens, listen, listen_after};
use serde::Serialize;
use serde_json::json;
use std::io;
use std::sync::Arc;

/// Connections at a time, half of them for one client.
const CONNECTIONS: usize = 32;
/// Longest body of a request.
const LONGEST_BODY: usize = 8 * 1024;

#[derive(Clone)]
struct App {
    store: Arc<Store>,
    tokens: Arc<Tokens>,
}

/// Serves the sessions at the address of `config` until the result is dropped. A `successor` waits
/// for the address while the previous process holds it.
///
/// # Errors
/// A file cannot be read, the address cannot be bound, or the thread cannot be started.
pub(super) fn serve(
    config: &DirectoryConfig,
    store: Arc<Store>,
    successor: bool,
) -> io::Result<Listening> {
    let tokens = match config.token_file.as_str() {
        "" => Tokens::default(),
        file => Tokens::read(file.as_ref())?,
    };
    let tls = match config.cert_file.as_str() {
        "" => None,
        file => {
            let read = Tls::read(file.as_ref(), config.key_file.as_ref());
            Some(read.map_err(|why| io::Error::other(why.to_string()))?)
        }
    };
    let app = App { store, tokens: Arc::new(tokens) };
    let router = Router::new()
        .route("/sessions", get(list))
        .route("/sessions/{id}", get(one).put(put).delete(delete))
        .fallback(async || problem(StatusCode::NOT_FOUND, "there is nothing at this path"))
        .layer(from_fn_with_state(app.clone(), admit))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .with_state(app);
    let address = config.listen.parse().map_err(io::Error::other)?;
    let listen = if successor { listen_after } else { listen };
    listen(address, tls, router, CONNECTIONS)
}

/// Problem details (RFC 9457).
fn problem(status: StatusCode, detail: &str) -> Response {
    let body = json!({ "status": status.as_u16(), "detail": detail }).to_string();
    (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response()
}

fn written(status: StatusCode, what: &impl Serialize) -> Response {
    match serde_json::to_string(what) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let writes = !matches!(*request.method(), Method::GET | Method::HEAD);
    match app.tokens.refusal(request.headers(), writes) {
        Some(refusal) => {
            app.store.unauthorized();
            refusal
        }
        None => next.run(request).await,
    }
}

async fn list(State(app): State<App>) -> Response {
    written(StatusCode::OK, &app.store.all())
}

async fn one(State(app): State<App>, Path(id): Path<String>) -> Response {
    match app.store.get(&id) {
        Some(session) => written(StatusCode::OK, &session),
        None => problem(StatusCode::NOT_FOUND, "there is no session of this name"),
    }
}

async fn put(State(app): State<App>, Path(id): Path<String>, body: Bytes) -> Response {
    let refuse = |status, why: String| {
        app.store.refuse(&why);
        problem(status, &why)
    };
    let session = match Session::parse(&id, &body) {
        Ok(session) => session,
        Err(why) => return refuse(StatusCode::BAD_REQUEST, why.to_string()),
    };
    match app.store.put(session.clone()) {
        Ok(new) => written(if new { StatusCode::CREATED } else { StatusCode::OK }, &session),
        Err(why @ Refused::NoPool(_)) => refuse(StatusCode::BAD_REQUEST, why.to_string()),
        Err(why @ Refused::Full(_)) => refuse(StatusCode::INSUFFICIENT_STORAGE, why.to_string()),
        Err(why) => refuse(StatusCode::CONFLICT, why.to_string()),
    }
}

async fn delete(State(app): State<App>, Path(id): Path<String>) -> Response {
    match app.store.delete(&id, false) {
        Ok(true) => StatusCode::NO_CONTENT.into_response(),
        Ok(false) => problem(StatusCode::NOT_FOUND, "there is no session of this name"),
        Err(why) => problem(StatusCode::CONFLICT, &why.to_string()),
    }
}
