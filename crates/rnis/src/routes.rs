//! The paths that are served.

use crate::document::document;
use crate::listen::{Listening, Tls, listen};
use crate::query::{self, Asked, Parameter, Problem, written};
use crate::service::{Owned, Service};
use crate::share::Open;
use crate::token::{Share, Tokens, User};
use crate::types::{
    DOCUMENT, LinkType, REPORTS, ROOT, SubscriptionLink, SubscriptionLinkList, SubscriptionLinks,
    WrittenSubscription,
};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use justfull_net::Prefix;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Connections at a time.
const CONNECTIONS: usize = 256;
/// Longest time to look up the name of a receiver.
const NAMES: Duration = Duration::from_secs(1);
/// Longest body of a request.
const LONGEST_BODY: usize = 256 * 1024;

#[derive(Clone)]
struct App {
    service: Arc<Service>,
    tokens: Arc<Tokens>,
    scheme: &'static str,
}

type Pairs = Query<Vec<(String, String)>>;
type Answered = Result<Response, Problem>;

/// Serves `service` at `address` until the result is dropped.
///
/// # Errors
/// The address cannot be bound, or the thread cannot be started.
pub fn serve(
    address: SocketAddr,
    tls: Option<Tls>,
    tokens: Tokens,
    service: Arc<Service>,
) -> io::Result<Listening> {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let app = App { service, tokens: Arc::new(tokens), scheme };
    let queries = [
        ("rab_info", get(rab_info)),
        ("plmn_info", get(plmn_info)),
        ("s1_bearer_info", get(s1_bearer_info)),
        ("layer2_meas", get(layer2_meas)),
    ];
    let mut router = Router::new().route(DOCUMENT, get(describe)).route(REPORTS, get(ran_reports));
    for (name, handler) in queries {
        router = router.route(&format!("{ROOT}/queries/{name}"), handler);
    }
    let router = router
        .route(&format!("{ROOT}/subscriptions"), get(list).post(subscribe))
        .route(
            &format!("{ROOT}/subscriptions/{{subscriptionId}}"),
            get(subscription).put(resubscribe).delete(unsubscribe),
        )
        .fallback(async || Problem::new(404, "there is nothing at this path"))
        .method_not_allowed_fallback(async || Problem::new(405, "not with this method"))
        .layer(from_fn_with_state(app.clone(), admit))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .with_state(app);
    listen(address, tls, router, CONNECTIONS)
}

/// Admits users with the right to a request.
async fn admit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if request.uri().path() == DOCUMENT {
        return next.run(request).await;
    }
    let writes = !matches!(*request.method(), Method::GET | Method::HEAD);
    match app.tokens.user(request.headers(), writes) {
        Ok(user) => {
            let client = request.extensions().get::<Open>().map(Open::client);
            let client = client.unwrap_or(Prefix::of(Ipv4Addr::UNSPECIFIED.into(), 32));
            let share = app.tokens.share(user, client);
            request.extensions_mut().insert(user);
            request.extensions_mut().insert(share);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

async fn describe() -> Response {
    // Every user may read it, so it is made once.
    static TEXT: LazyLock<String> = LazyLock::new(document);
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
}

/// The selection of a query whose parameters are `known`.
fn asked<E>(known: &[Parameter], pairs: Result<Pairs, E>) -> Result<Asked, Problem> {
    let Ok(Query(pairs)) = pairs else {
        return Err(Problem::new(400, "the query is not written as a form's (RFC 1866)"));
    };
    Asked::parse(known, &pairs)
}

type Given = Result<Pairs, axum::extract::rejection::QueryRejection>;

async fn rab_info(State(app): State<App>, given: Given) -> Answered {
    let asked = asked(query::RAB_INFO, given)?;
    Ok(written(StatusCode::OK, &app.service.rab_info(&asked)))
}

async fn plmn_info(State(app): State<App>, given: Given) -> Answered {
    let asked = asked(query::PLMN_INFO, given)?;
    Ok(written(StatusCode::OK, &app.service.plmn_info(&asked)))
}

async fn s1_bearer_info(State(app): State<App>, given: Given) -> Answered {
    let asked = asked(query::S1_BEARER_INFO, given)?;
    Ok(written(StatusCode::OK, &app.service.s1_bearer_info(&asked)))
}

async fn layer2_meas(State(app): State<App>, given: Given) -> Answered {
    let asked = asked(query::LAYER2_MEAS, given)?;
    Ok(written(StatusCode::OK, &app.service.layer2_meas(&asked)))
}

async fn ran_reports(State(app): State<App>, given: Given) -> Answered {
    let asked = asked(query::RAN_REPORTS, given)?;
    Ok(written(StatusCode::OK, &app.service.ran_reports(&asked)))
}

/// The address of the list of subscriptions, in the client's own terms.
fn root(app: &App, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("{}://{host}{ROOT}/subscriptions", app.scheme)
}

async fn list(
    State(app): State<App>,
    Extension(user): Extension<User>,
    headers: HeaderMap,
    given: Given,
) -> Answered {
    let asked = asked(query::SUBSCRIPTIONS, given)?;
    let all = app.service.subscriptions(user).into_iter();
    let subscription = all
        .filter(|(_, name)| asked.admits("subscription_type", WrittenSubscription::short(name)))
        .map(|(href, name)| SubscriptionLink { href, subscription_type: name.into() })
        .collect();
    let own = LinkType { href: root(&app, &headers) };
    let list = SubscriptionLinkList { links: SubscriptionLinks { own, subscription } };
    Ok(written(StatusCode::OK, &list))
}

/// Reads the body of a request.
fn posted(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<WrittenSubscription, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(Problem::new(415, "allowed is application/json"));
    }
    let body = body.map_err(|e| Problem::new(e.status().as_u16(), e.body_text()))?;
    WrittenSubscription::parse(&body)
}

/// Refuses a receiver that may get no notifications.
async fn reachable(app: &App, subscription: &WrittenSubscription) -> Result<(), Problem> {
    let (callbacks, callback) =
        (app.service.callbacks().clone(), subscription.callback().to_owned());
    let look = tokio::task::spawn_blocking(move || callbacks.refusal(&callback));
    match tokio::time::timeout(NAMES, look).await {
        Ok(Ok(Some(why))) => Err(Problem::new(422, why)),
        // The sender checks the address again.
        _ => Ok(()),
    }
}

async fn subscribe(
    State(app): State<App>,
    Extension(user): Extension<User>,
    Extension(share): Extension<Share>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Answered {
    let subscription = posted(&headers, body)?;
    reachable(&app, &subscription).await?;
    let root = root(&app, &headers);
    let (href, made) = app.service.subscribe(user, share, subscription, &root)?;
    let mut answer = written(StatusCode::CREATED, &made);
    if let Ok(href) = HeaderValue::from_str(&href) {
        answer.headers_mut().insert(header::LOCATION, href);
    }
    Ok(answer)
}

async fn subscription(
    State(app): State<App>,
    Extension(user): Extension<User>,
    Path(id): Path<String>,
) -> Answered {
    Ok(written(StatusCode::OK, &app.service.subscription(Owned { user, id: &id })?))
}

async fn resubscribe(
    State(app): State<App>,
    Extension(user): Extension<User>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Answered {
    // A request for another user's subscription ends here: its answer has no more.
    app.service.subscription(Owned { user, id: &id })?;
    let subscription = posted(&headers, body)?;
    reachable(&app, &subscription).await?;
    Ok(written(StatusCode::OK, &app.service.resubscribe(Owned { user, id: &id }, subscription)?))
}

async fn unsubscribe(
    State(app): State<App>,
    Extension(user): Extension<User>,
    Path(id): Path<String>,
) -> Answered {
    app.service.unsubscribe(Owned { user, id: &id })?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
