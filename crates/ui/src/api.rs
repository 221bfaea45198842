//! The interface between the page and the program.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `GET /?token=T` | | the page |
//! | `GET /api/about` | | version, scenarios, methods with their sentences |
//! | `GET /api/scenario/NAME` | | the text of a shipped scenario |
//! | `GET /api/schema` | | the JSON Schema of scenarios |
//! | `GET /api/explain/NAME` | | the description of a method or an algorithm |
//! | `POST /api/check` | [`Order`] | the resolved scenario, or its first mistake |
//! | `POST /api/run` | [`Order`] | the results, or the number of the simulation |
//! | `GET /api/run/N` | | the results, or how far the simulation is |
//! | `DELETE /api/run/N` | | |
//! | `POST /api/trace/NAME` | a trace in any format | what it holds; a scenario may name it |
//! | `GET /api/results` | | earlier runs and campaigns below the page's folder |
//! | `GET /api/saved?folder=NAME` | | the runs of one, in the form of the results of a simulation |
//! | `GET /api/watch/N?from=M` | | what runs at watched place N: its points from number M on |
//!
//! A mistake is answered with 400 and a sentence.

use crate::Options;
use crate::answer;
use crate::files;
use crate::guard::Guard;
use crate::jobs::{Jobs, Progress};
use crate::page;
use crate::saved::saved;
use crate::watch::Watch;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Json, Path as UrlPath, Query, State as Shared};
use axum::http::StatusCode;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use justfull_campaign::earlier;
use justfull_lab::stats::{ci95_half_width, sd};
use justfull_report::earlier::{Earlier, folders};
use justfull_run::WorldConfig;
use justfull_scenario::{MethodLibrary, Most, Overrides, Scenario, Setting, library, schema};
use justfull_trace::info::{Info, default_bin};
use justfull_trace::{ReadOption, ReadOptions, TraceError, Words, load_from};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The largest order, in bytes.
const ORDER_LIMIT: usize = 1 << 20;
/// The largest trace, in bytes.
const TRACE_LIMIT: usize = 64 << 20;
/// Bounds of an order: simulated time of all runs, runs, UEs and flows.
const MOST_SIMULATED: f64 = 24.0 * 3600.0;
const MOST_RUNS: usize = 1_000;
const MOST_UES: usize = 1_000;
const MOST_FLOWS: usize = 10_000;
/// Most datagrams of all flows of a world in a second: a run that is ended goes on for a second.
const MOST_DATAGRAMS: f64 = 2e6;
/// Most lanes of all queues of a world: 400 MB.
const MOST_LANES: u64 = 4_000_000;
/// Most values in the results of all runs, of about 40 B each in an answer.
const MOST_VALUES: f64 = 10e6;
/// Values of a flow name in a run's results: figures and two distributions.
const VALUES_OF_FLOW: f64 = 1_000.0;
/// Flow names that have series, in a run.
const NAMES_WITH_SERIES: usize = 16;
const BEYOND: &str = "`justfull run` has no such bound";
/// Most seeds of which the page makes an interval.
const MOST_SEEDS: usize = 100;
/// Most earlier runs that the page lists: the latest.
const MOST_EARLIER: usize = 1_000;
/// How long an answer waits for results: a slider's simulation takes less.
const SHORT: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(1);

/// The state that all requests share.
#[derive(Clone)]
pub(crate) struct State {
    options: Arc<Options>,
    jobs: Jobs,
    watch: Watch,
}

impl State {
    pub(crate) fn new(options: Options) -> Self {
        let watch = Watch::start(&options.watched);
        Self { options: Arc::new(options), jobs: Jobs::new(), watch }
    }
}

/// The simulation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// A shipped scenario, unless `toml` has a text.
    #[serde(default)]
    scenario: String,
    /// The text of a scenario.
    #[serde(default)]
    toml: Option<String>,
    /// Methods instead of the scenario's.
    #[serde(default)]
    methods: Option<Vec<String>>,
    /// `path=value`, as on the command line.
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    seed: Option<u64>,
    #[serde(default)]
    runs: Option<u32>,
    /// The simulation that this one replaces.
    #[serde(default)]
    replaces: Option<u64>,
}

/// A mistake of the request, as a sentence.
struct Wrong(StatusCode, String);

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

fn wrong(why: impl ToString) -> Wrong {
    Wrong(StatusCode::BAD_REQUEST, why.to_string())
}

fn missing(what: &str) -> Wrong {
    Wrong(StatusCode::NOT_FOUND, format!("there is no {what}"))
}

pub(crate) fn router(state: State, guard: Guard) -> Router {
    let traces = Router::new()
        .route("/api/trace/{name}", post(trace))
        .layer(DefaultBodyLimit::max(TRACE_LIMIT));
    Router::new()
        .route("/", get(root))
        .route("/api/about", get(about))
        .route("/api/scenario/{name}", get(scenario))
        .route("/api/schema", get(|| async { Json(schema::schema()) }))
        .route("/api/explain/{name}", get(explain))
        .route("/api/check", post(check))
        .route("/api/run", post(run))
        .route("/api/run/{id}", get(ask).delete(cancel))
        .route("/api/results", get(all_results))
        .route("/api/saved", get(results))
        .route("/api/watch/{place}", get(watch))
        .layer(DefaultBodyLimit::max(ORDER_LIMIT))
        .merge(traces)
        .with_state(state)
        .layer(from_fn(move |request, next| guard.clone().pass(request, next)))
}

async fn root(Shared(state): Shared<State>) -> Result<Response, Wrong> {
    // A nonce is a token that is used once.
    let nonce = Guard::new()
        .map_err(|error| Wrong(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(page::page(&state.options.version, nonce.token()))
}

async fn about(Shared(state): Shared<State>) -> Json<Value> {
    let library = MethodLibrary::shipped();
    let methods = library
        .methods()
        .iter()
        .map(|method| json!({ "name": method.name, "about": method.title }));
    let scenarios = library::SCENARIOS.iter().map(|(name, text)| {
        let title = text.lines().find_map(|line| line.strip_prefix("title = "));
        json!({ "name": name, "title": title.unwrap_or_default().trim_matches('"') })
    });
    Json(json!({
        "version": state.options.version,
        "folder": state.options.folder.display().to_string(),
        "scenarios": scenarios.collect::<Vec<_>>(),
        "methods": methods.collect::<Vec<_>>(),
        "watched": state.watch.names(),
        "student_t": (0..=MOST_SEEDS).map(student_t).collect::<Vec<_>>(),
    }))
}

/// Half of the 95 % interval of a mean over `n` values, for values whose standard deviation divided
/// by the root of `n` is 1; none for fewer than three.
fn student_t(n: usize) -> Option<f64> {
    let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
    Some(ci95_half_width(&values)? * (n as f64).sqrt() / sd(&values)?)
}

async fn scenario(UrlPath(name): UrlPath<String>) -> Result<Response, Wrong> {
    let text = library::scenario(&name).ok_or_else(|| missing(&format!("scenario {name}")))?;
    Ok(text.into_response())
}

async fn explain(UrlPath(name): UrlPath<String>) -> Result<Json<Value>, Wrong> {
    let of_method = MethodLibrary::shipped()
        .find(&name)
        .map(|method| json!({ "name": method.name, "text": method.title }));
    let of_algorithm = || {
        let doc = library::algorithms().into_iter().find(|doc| doc.name == name)?;
        Some(
            json!({ "name": doc.name, "title": doc.title, "text": doc.text, "sources": doc.sources }),
        )
    };
    of_method.or_else(of_algorithm).map(Json).ok_or_else(|| missing(&format!("page on {name}")))
}

/// The scenario of `order`, within the bounds of the page.
fn ordered(order: &Order, options: &Options) -> Result<Ordered, Wrong> {
    let text = match &order.toml {
        Some(text) => text.as_str(),
        None => library::scenario(&order.scenario)
            .ok_or_else(|| missing(&format!("scenario {}", order.scenario)))?,
    };
    let set = order.set.iter().map(|text| text.parse::<Setting>());
    let set: Vec<Setting> = set.collect::<Result<_, _>>().map_err(wrong)?;
    let overrides = Overrides {
        methods: order.methods.clone().filter(|methods| !methods.is_empty()),
        set,
        seed: order.seed,
        runs: order.runs,
        confined: true,
        most: Most {
            runs: MOST_RUNS,
            ues: MOST_UES,
            flows: MOST_FLOWS,
            lanes: MOST_LANES,
            beyond: BEYOND,
        },
        ..Overrides::default()
    };
    let name = if order.toml.is_some() { "page" } else { order.scenario.as_str() };
    let file = options.folder.join(format!("{name}.toml"));
    let scenario = Scenario::parse(text, &file, options.data.clone(), overrides).map_err(wrong)?;
    let simulated = bounded(&scenario)?;
    Ok(Ordered { scenario, simulated })
}

/// A scenario within the bounds of the page.
struct Ordered {
    scenario: Scenario,
    /// Simulated time of all its runs, in s.
    simulated: f64,
}

/// The simulated time of all runs of `scenario` in s, if it is within the bounds of the page: a
/// sweep or a method may change the time.
fn bounded(scenario: &Scenario) -> Result<f64, Wrong> {
    let jobs = scenario.jobs();
    let seeds = scenario.seeds().len();
    let (mut simulated, mut values) = (0.0, 0.0);
    let in_time = |simulated: f64| match simulated > MOST_SIMULATED {
        true => Err(wrong(format!(
            "found {} runs of {simulated:.0} s in all, allowed here are 24 h in all: {BEYOND}",
            jobs.len()
        ))),
        false => Ok(()),
    };
    in_time(scenario.base.duration.as_secs_f64() * jobs.len() as f64)?;
    // The runs of one world differ in their seeds alone, and follow each other.
    for job in jobs.iter().step_by(seeds.max(1)) {
        let world = scenario.world(job).map_err(wrong)?;
        simulated += world.duration.as_secs_f64() * seeds as f64;
        in_time(simulated)?;
        values += seeds as f64 * values_of(&world);
        if values > MOST_VALUES {
            return Err(wrong(format!(
                "found {values:.0} values in the results of {} runs, allowed here are \
                 {MOST_VALUES:.0}, by fewer runs or `series_bins`: {BEYOND}",
                jobs.len()
            )));
        }
        let intervals = world.flows.iter().filter_map(|flow| flow.traffic.datagrams());
        let rate: f64 = intervals.map(|(_, mean)| 1.0 / mean.as_secs_f64()).sum();
        if rate > MOST_DATAGRAMS {
            return Err(wrong(format!(
                "found flows with {rate:.0} datagrams per second in all, allowed here are \
                 {MOST_DATAGRAMS:.0}: {BEYOND}"
            )));
        }
    }
    Ok(simulated)
}

/// Values in the results of a run of `world`, at most.
fn values_of(world: &WorldConfig) -> f64 {
    let names: BTreeSet<&str> = world.flows.iter().map(|flow| &*flow.name).collect();
    let series = 5 + 3 * names.len().min(NAMES_WITH_SERIES);
    f64::from(world.series_bins) * series as f64 + VALUES_OF_FLOW * names.len() as f64
}

/// [`ordered`] on a thread on which it may take its time.
async fn read(state: &State, order: Order) -> Result<Ordered, Wrong> {
    let options = Arc::clone(&state.options);
    let read = tokio::task::spawn_blocking(move || ordered(&order, &options));
    let internal =
        |_| Wrong(StatusCode::INTERNAL_SERVER_ERROR, "the scenario was not read".to_owned());
    read.await.map_err(internal)?
}

async fn check(
    Shared(state): Shared<State>,
    Json(order): Json<Order>,
) -> Result<Json<Value>, Wrong> {
    let Ordered { scenario, .. } = read(&state, order).await?;
    let toml = scenario.resolved_toml(scenario.methods().first().map(String::as_str));
    Ok(Json(json!({
        "toml": toml.map_err(wrong)?,
        "methods": scenario.methods(),
        "warnings": scenario.warnings().map_err(wrong)?,
    })))
}

async fn run(Shared(state): Shared<State>, Json(order): Json<Order>) -> Result<Json<Value>, Wrong> {
    if let Some(id) = order.replaces {
        state.jobs.cancel(id);
    }
    let ordered = read(&state, order).await?;
    let threads = state.options.threads.max(1);
    let id = state.jobs.start(ordered.scenario, ordered.simulated, threads).ok_or_else(|| {
        let why = "other simulations of this page still run; cancel one".to_owned();
        Wrong(StatusCode::TOO_MANY_REQUESTS, why)
    })?;
    wait(state, id, SHORT).await
}

async fn ask(
    Shared(state): Shared<State>,
    UrlPath(id): UrlPath<u64>,
) -> Result<Json<Value>, Wrong> {
    wait(state, id, LONG).await
}

/// Answers with the results of job `id`, or after `patience` with its progress.
async fn wait(state: State, id: u64, patience: Duration) -> Result<Json<Value>, Wrong> {
    let waited = tokio::task::spawn_blocking(move || {
        state.jobs.wait(id, patience).map(|progress| match progress {
            Progress::Running(share) => Ok(answer::running(id, share)),
            Progress::Done(outcome) => match &*outcome {
                Ok(Some(finished)) => {
                    Ok(json!({ "done": true, "result": answer::answer(finished) }))
                }
                Ok(None) => Err(wrong("the simulation was ended")),
                Err(why) => Err(wrong(why)),
            },
        })
    });
    let internal = |_| Wrong(StatusCode::INTERNAL_SERVER_ERROR, "the simulation broke".to_owned());
    waited.await.map_err(internal)?.ok_or_else(|| missing("such simulation"))?.map(Json)
}

async fn cancel(Shared(state): Shared<State>, UrlPath(id): UrlPath<u64>) -> StatusCode {
    state.jobs.cancel(id);
    StatusCode::NO_CONTENT
}

async fn trace(
    Shared(state): Shared<State>,
    UrlPath(name): UrlPath<String>,
    Query(keys): Query<BTreeMap<String, String>>,
    body: Bytes,
) -> Result<Response, Wrong> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) || name.len() > 100 {
        return Err(wrong(format!(
            "found the name {name:?}, allowed are up to 100 letters, digits, `.`, `_` and `-`"
        )));
    }
    let options = read_options(&keys)?;
    let read = move || match load_from(&body[..], Path::new(&name), &options) {
        Ok(loaded) => {
            let info = Info::of(&name, &loaded, Some(default_bin(&loaded.timeline)));
            let info: Value =
                serde_json::from_str(&info.map_err(wrong)?.json()).unwrap_or_default();
            let file = keep(&state.options.folder, &name, &body)?;
            Ok(Json(json!({ "file": file, "info": info })).into_response())
        }
        Err(error) => Ok((StatusCode::BAD_REQUEST, Json(unread(&error))).into_response()),
    };
    let internal =
        |_| Wrong(StatusCode::INTERNAL_SERVER_ERROR, "the trace was not read".to_owned());
    tokio::task::spawn_blocking(read).await.map_err(internal)?
}

/// How a trace is read, by keys of a channel `trace`.
fn read_options(keys: &BTreeMap<String, String>) -> Result<ReadOptions, Wrong> {
    let mut options = ReadOptions { words: Words::Trace, ..ReadOptions::default() };
    for (key, text) in keys {
        let unknown = || wrong(format!("{key}: found no such key, allowed are those of a trace"));
        let option = options.words.option(key).ok_or_else(unknown)?;
        options.set(option, text).map_err(|why| wrong(format!("{key}: {why}")))?;
    }
    Ok(options)
}

/// Why a trace was not read; of a table whose columns no key names also the columns, and the keys
/// that would read it.
fn unread(error: &TraceError) -> Value {
    let (columns, guess): (&[String], &[_]) = match error {
        TraceError::Unnamed { columns, guess, .. } => (columns, guess),
        _ => (&[], &[]),
    };
    let key = |option: &ReadOption| Words::Trace.bare(*option).unwrap_or_default();
    let keys: BTreeMap<String, &str> =
        guess.iter().map(|(option, value)| (key(option), value.as_str())).collect();
    json!({ "error": error.to_string(), "columns": columns, "keys": keys })
}

/// Keeps the trace `bytes` below `folder`, and returns its place. An earlier file of that name
/// stays.
fn keep(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, Wrong> {
    let place = Path::new("traces").join(name);
    let path = folder.join(&place);
    let parent = path.parent().unwrap_or(folder);
    let cannot = |error: std::io::Error| {
        Wrong(StatusCode::INTERNAL_SERVER_ERROR, format!("{}: {error}", path.display()))
    };
    std::fs::create_dir_all(parent).map_err(cannot)?;
    let fresh = parent.join(format!(".{name}.new"));
    std::fs::write(&fresh, bytes).map_err(cannot)?;
    // A hard link fails where the name is taken.
    let linked = std::fs::hard_link(&fresh, &path);
    let same = linked.is_err() && std::fs::read(&path).is_ok_and(|old| old == bytes);
    let _ = std::fs::remove_file(&fresh);
    match linked {
        Err(error) if !same && error.kind() == ErrorKind::AlreadyExists => Err(wrong(format!(
            "{}: found another trace of that name, allowed is a name of its own",
            place.display()
        ))),
        Err(error) if !same => Err(cannot(error)),
        _ => Ok(place),
    }
}

async fn all_results(Shared(state): Shared<State>) -> Result<Json<Value>, Wrong> {
    let listed = tokio::task::spawn_blocking(move || {
        let folder = &state.options.folder;
        // A folder that is not there yet has no runs.
        let found = folders(std::slice::from_ref(folder)).unwrap_or_default();
        let read = |path: &PathBuf| {
            let mut run = earlier::read(path);
            run.folder = match path.strip_prefix(folder) {
                Ok(own) if own.as_os_str().is_empty() => ".".into(),
                own => own.unwrap_or(path).into(),
            };
            run
        };
        let runs: Vec<Earlier> = found.iter().take(MOST_EARLIER).map(read).collect();
        json!({ "folder": folder.display().to_string(), "runs": runs, "all": found.len() })
    });
    let internal =
        |_| Wrong(StatusCode::INTERNAL_SERVER_ERROR, "the folder was not read".to_owned());
    listed.await.map_err(internal).map(Json)
}

/// The first point that is wanted.
#[derive(Deserialize)]
struct From {
    #[serde(default)]
    from: u64,
}

async fn watch(
    Shared(state): Shared<State>,
    UrlPath(place): UrlPath<usize>,
    Query(From { from }): Query<From>,
) -> Result<Json<Value>, Wrong> {
    state.watch.answer(place, from).map(Json).ok_or_else(|| missing("such place"))
}

/// An earlier run.
#[derive(Deserialize)]
struct Run {
    folder: String,
}

async fn results(
    Shared(state): Shared<State>,
    Query(Run { folder: name }): Query<Run>,
) -> Result<Json<Value>, Wrong> {
    let absent = || missing(&format!("folder of results {name}"));
    let folder = files::results(&state.options.folder, &name).ok_or_else(absent)?;
    let internal =
        |_| Wrong(StatusCode::INTERNAL_SERVER_ERROR, "the folder was not read".to_owned());
    let read = tokio::task::spawn_blocking(move || saved(&folder)).await.map_err(internal)?;
    read.map(Json).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_for_each_world_of_a_sweep() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options {
            port: 0,
            folder: folder.path().into(),
            data: None,
            watched: Vec::new(),
            threads: 1,
            version: String::new(),
        };
        let demo = library::scenario("demo").expect("it is shipped");
        let swept = |path: &str, values: &str| {
            let sweep = format!("[sweep]\npath = \"{path}\"\nvalues = {values}\nlabel = \"x_s\"\n");
            let order = Order { toml: Some(format!("{demo}\n{sweep}")), ..Order::default() };
            let order = Order { methods: Some(vec!["Vanilla".into()]), runs: Some(2), ..order };
            ordered(&order, &options).map(|ordered| ordered.simulated).map_err(|Wrong(_, why)| why)
        };
        let few = swept("ue.0.count", "[1, 1000]").expect("within the bounds");
        let twice = swept("duration", "[\"41s\", \"39s\"]").expect("80 s, twice");
        assert!((few - twice).abs() < 1e-9, "{few} s, {twice} s");
        let many = format!("{:?}", (1..=1001).collect::<Vec<u32>>());
        for (path, values, found) in [
            ("ue.0.count", "[1, 1001]", "found 1001, allowed is 1 to 1000 UEs"),
            ("flow.0.count", "[1, 10001]", "found 10001, allowed is 1 to 10000 flows"),
            ("ue.0.count", &many, "field `--runs`: found 1001 points of 1 methods with 2 runs"),
            ("duration", "[\"41s\", \"24h\"]", "found 4 runs of 172882 s"),
        ] {
            let why = swept(path, values).expect_err(path);
            assert!(why.contains(found) && why.contains(BEYOND), "{path}: {why}");
        }
        let lanes = "rlc.queue.discipline={ kind = \"fq_codel\", lanes = 65535 }";
        for (set, found) in [
            (["flow.0.count=3", "flow.0.udp.interval=1us"], "flows with 3000000 datagrams per"),
            (["runs=40", "series_bins=100000"], " values in the results of 200 runs"),
            (["ue.0.count=500", lanes], "found 32767500 lanes of queues, allowed is at most 4"),
        ] {
            let set = set.map(str::to_owned).to_vec();
            let flood = Order { scenario: "demo".into(), set, ..Order::default() };
            let Err(Wrong(_, why)) = ordered(&flood, &options) else { panic!("{found}") };
            assert!(why.contains(found) && why.contains(BEYOND), "{why}");
        }
    }

    #[test]
    fn factors_of_students_t_equal_the_tables() {
        let found = [3, 11, 100].map(|n| student_t(n).expect("three values are enough"));
        for (found, table) in found.into_iter().zip([4.303, 2.228, 1.984]) {
            assert!((found - table).abs() < 5e-4, "{found}, {table}");
        }
        assert_eq!([0, 1, 2].map(student_t), [None; 3]);
    }
}
