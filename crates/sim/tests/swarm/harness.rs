//! The selection of a swarm's worlds, and the treatment of a failing world: it is named by its seed
//! and reduced as far as it still fails.

use std::cell::RefCell;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

/// A world with more processor time than this hangs: the largest takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(120);
/// Number of failures of one kind after which a timed swarm gives up.
const MOST_FAILURES: usize = 10;
/// Maximum number of smaller worlds tried for one failure.
const MOST_TRIES: usize = 400;

/// A name and a change that makes a world smaller; the change returns false if there is nothing to
/// remove.
pub(crate) type Reduction<W> = (&'static str, fn(&mut W) -> bool);

/// A random world of one kind.
pub(crate) trait World: Clone + Debug + 'static {
    /// Name of the kind.
    const KIND: &'static str;

    /// Ways to make it smaller, the largest first.
    const REDUCTIONS: &'static [Reduction<Self>];

    /// The world of `seed`.
    fn draw(seed: u64) -> Self;

    /// Checks that the program accepts the settings: a reduced world may be refused.
    fn accepted(&self) -> Result<(), String>;

    /// Runs the world and asserts its invariants; returns the number of delivered packets or
    /// segments.
    fn check(&self) -> u64;
}

/// The selection of worlds.
struct Plan {
    first: u64,
    worlds: u64,
    /// Run for this time, with any number of worlds.
    time: Option<Duration>,
    /// Names of reductions, applied to each world in order.
    without: Vec<String>,
}

impl Plan {
    /// The plan of the environment: `JUSTFULL_SWARM_SEED` names one world, or the first one if
    /// `JUSTFULL_SWARM_FOR` gives the seconds to run; else the first `JUSTFULL_SWARM_WORLDS`, or
    /// `worlds`.
    fn of_environment(worlds: u64) -> Self {
        let text = |name: &str| std::env::var(name).ok();
        let number =
            |name: &str| text(name).map(|n| n.parse().unwrap_or_else(|_| panic!("{name}={n}")));
        let first = number("JUSTFULL_SWARM_SEED");
        let worlds =
            number("JUSTFULL_SWARM_WORLDS").unwrap_or(if first.is_some() { 1 } else { worlds });
        let without = text("JUSTFULL_SWARM_WITHOUT").unwrap_or_default();
        let without =
            without.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let time = number("JUSTFULL_SWARM_FOR").map(Duration::from_secs);
        Self { first: first.unwrap_or(0), worlds, time, without }
    }
}

/// Place and cause of a world's failure.
#[derive(Clone, Debug)]
struct Failure {
    /// File and line of the panic.
    place: String,
    message: String,
}

impl Failure {
    /// True if both failures have the same cause, ignoring numbers, which differ from world to
    /// world.
    fn same_as(&self, other: &Self) -> bool {
        let words = |failure: &Self| {
            failure.message.split(|c: char| c.is_ascii_digit()).next().map(str::to_owned)
        };
        self.place == other.place && words(self) == words(other)
    }
}

thread_local! {
    /// The last panic of this thread while it tries a world.
    static CAUGHT: RefCell<Option<Failure>> = const { RefCell::new(None) };
    static TRYING: RefCell<bool> = const { RefCell::new(false) };
}

/// Records the place of a panic while a world is tried, and prints all other panics as usual.
fn hear_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !TRYING.with_borrow(|trying| *trying) {
                return before(info);
            }
            let place = info
                .location()
                .map(|at| format!("{}:{}", at.file(), at.line()))
                .unwrap_or_default();
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let message =
                text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
            CAUGHT.set(Some(Failure { place, message }));
        }));
    });
}

/// Runs the checks of `world`; returns the number of deliveries, or the failure.
fn attempt<W: World>(world: &W) -> Result<u64, Failure> {
    hear_panics();
    TRYING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        world.accepted().expect("the swarm draws what the program accepts");
        world.check()
    }));
    TRYING.set(false);
    outcome.map_err(|_| CAUGHT.take().expect("a panic is heard before it is caught"))
}

/// Applies the reduction called `name`.
///
/// # Panics
/// If there is no reduction of this name.
fn reduce<W: World>(world: &mut W, name: &str) -> bool {
    let names = || W::REDUCTIONS.iter().map(|r| r.0).collect::<Vec<_>>().join(", ");
    let found = W::REDUCTIONS.iter().find(|r| r.0 == name);
    found
        .unwrap_or_else(|| panic!("{} has no `{name}` to be without; it has {}", W::KIND, names()))
        .1(world)
}

/// Removes parts of `world` as long as it fails in the same way. Returns the names of the removed
/// parts, and the rest.
fn shrink<W: World>(world: &W, failure: &Failure) -> (Vec<&'static str>, W, Failure) {
    let (mut names, mut least, mut failure) = (Vec::new(), world.clone(), failure.clone());
    let mut tries = 0;
    loop {
        let before = names.len();
        for (name, change) in W::REDUCTIONS {
            // Repeated as long as it helps: each halving makes the next try cheaper.
            loop {
                let mut smaller = least.clone();
                tries += 1;
                if tries > MOST_TRIES || !change(&mut smaller) || smaller.accepted().is_err() {
                    break;
                }
                match attempt(&smaller) {
                    Err(found) if found.same_as(&failure) => {
                        (least, failure) = (smaller, found);
                        names.push(*name);
                    }
                    _ => break,
                }
            }
        }
        if names.len() == before || tries > MOST_TRIES {
            return (names, least, failure);
        }
    }
}

/// A running world.
struct Running {
    kind: &'static str,
    seed: u64,
    /// Path of the kernel's processor time of its thread, and the value at the start.
    times: String,
    before: u64,
}

static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());

fn running() -> std::sync::MutexGuard<'static, Vec<Running>> {
    RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Processor time in ns from Linux's `schedstat`; 0 elsewhere. A busy machine does not affect this
/// clock.
fn processor_time(times: &str) -> u64 {
    let text = std::fs::read_to_string(times).unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

impl Running {
    fn now(kind: &'static str, seed: u64) -> Self {
        let thread = std::fs::read_link("/proc/thread-self").unwrap_or_default();
        let times = format!("/proc/{}/schedstat", thread.display());
        let before = processor_time(&times);
        Self { kind, seed, times, before }
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a swarm runs is about the wall clock")]
fn clock() -> Instant {
    Instant::now()
}

/// Ends the program if a world hangs; its seed would otherwise be unknown.
fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_secs(5));
                let took = |r: &&Running| processor_time(&r.times).saturating_sub(r.before);
                if let Some(r) = running().iter().find(|r| Duration::from_nanos(took(r)) > PATIENCE)
                {
                    let (kind, seed, command) = (r.kind, r.seed, again(r.kind, r.seed, &[]));
                    eprintln!(
                        "swarm: {kind}: world {seed} still runs after {PATIENCE:?}: {command}"
                    );
                    std::process::exit(1);
                }
            }
        });
    });
}

/// The command that runs a world again.
fn again(kind: &str, seed: u64, without: &[&str]) -> String {
    let without = if without.is_empty() {
        String::new()
    } else {
        format!(" --without {}", without.join(","))
    };
    format!("cargo xtask swarm --kind {kind} --seed {seed}{without}")
}

/// Prints a failure, with the smallest world that fails in the same way.
fn tell<W: World>(seed: u64, world: &W, failure: &Failure) {
    eprintln!("swarm: {}: world {seed} failed at {}: {}", W::KIND, failure.place, failure.message);
    let (names, least, failure) = shrink(world, failure);
    eprintln!("swarm: {}: world {seed} is least as {least:?}", W::KIND);
    eprintln!("swarm: {}: which fails with: {}", W::KIND, failure.message);
    eprintln!("swarm: run it again with: {}", again(W::KIND, seed, &names));
}

/// Runs the worlds of a kind, `worlds` of them unless the environment specifies otherwise, and
/// panics if one failed. Returns the total number of deliveries.
pub(crate) fn swarm<W: World>(worlds: u64) -> u64 {
    let plan = Plan::of_environment(worlds);
    let start = clock();
    let (mut delivered, mut ran, mut told) = (0, 0, Duration::ZERO);
    let mut failures: Vec<(u64, Failure)> = Vec::new();
    if plan.time.is_some() {
        watch();
    }
    let more = |ran| plan.time.map_or(ran < plan.worlds, |time| start.elapsed() < time);
    while more(ran) && failures.len() < if plan.time.is_some() { MOST_FAILURES } else { 1 } {
        let seed = plan.first.wrapping_add(ran);
        let mut world = W::draw(seed);
        for name in &plan.without {
            reduce(&mut world, name);
        }
        running().push(Running::now(W::KIND, seed));
        let outcome = attempt(&world);
        running().retain(|r| r.kind != W::KIND);
        match outcome {
            Ok(packets) => delivered += packets,
            Err(failure) => {
                // One world of each kind of failure is enough to mend it.
                if !failures.iter().any(|(_, known)| known.same_as(&failure)) {
                    tell(seed, &world, &failure);
                } else {
                    eprintln!("swarm: {}: world {seed} failed at {} too", W::KIND, failure.place);
                }
                failures.push((seed, failure));
            }
        }
        ran += 1;
        if plan.time.is_some() && start.elapsed() > told + Duration::from_secs(60) {
            told = start.elapsed();
            eprintln!(
                "swarm: {}: {ran} worlds in {} s, {} failed",
                W::KIND,
                told.as_secs(),
                failures.len()
            );
        }
    }
    if plan.time.is_some() {
        let (first, last) = (plan.first, plan.first.wrapping_add(ran.saturating_sub(1)));
        let failed = failures.len();
        eprintln!("swarm: {}: {ran} worlds from {first} to {last}, {failed} failed", W::KIND);
    }
    assert!(
        failures.is_empty(),
        "{} of {ran} worlds of {} failed: {failures:?}",
        failures.len(),
        W::KIND
    );
    delivered
}

/// A world that fails if 10 or more of its numbers are odd.
#[derive(Clone, Debug, PartialEq)]
struct Toy(Vec<u64>);

impl World for Toy {
    const KIND: &'static str = "toy";
    const REDUCTIONS: &'static [Reduction<Self>] = &[
        ("later-half", |toy| {
            let half = toy.0.len() / 2;
            toy.0.truncate(half);
            half > 0
        }),
        ("last", |toy| toy.0.pop().is_some()),
    ];

    fn draw(seed: u64) -> Self {
        Self((0..seed).collect())
    }

    fn accepted(&self) -> Result<(), String> {
        Ok(())
    }

    fn check(&self) -> u64 {
        let odd = self.0.iter().filter(|n| *n % 2 == 1).count();
        assert!(odd < 10, "{odd} are odd");
        self.0.len() as u64
    }
}

#[test]
fn a_world_that_fails_is_shrunk_to_the_least_that_fails_in_the_same_way() {
    let world = Toy::draw(100);
    let failure = attempt(&world).expect_err("50 are odd");
    assert_eq!(failure.message, "50 are odd");
    let (names, least, failure) = shrink(&world, &failure);
    // 100, 50, 25, and then one by one to the tenth odd number.
    assert_eq!(names, [&["later-half"; 2][..], &["last"; 5][..]].concat());
    assert_eq!((least, failure.message.as_str()), (Toy::draw(20), "10 are odd"));
    let mut again = world;
    names.iter().for_each(|name| assert!(reduce(&mut again, name)));
    assert_eq!(again, Toy::draw(20), "the names alone make the same world again");
    assert_eq!(attempt(&Toy::draw(19)).expect("9 are odd"), 19);
}
