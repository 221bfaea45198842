//! The sessions, their owners, and their changes.

use super::session::Session;
use crate::pools::{NoPool, PoolId, Pools};
use justfull_net::Prefix;
use nix::sys::eventfd::EventFd;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A change for the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A session is new, or replaces the old one of its name.
    Put { old: Option<Session>, new: Session },
    /// A session has ended.
    Ended(Session),
}

/// Why a session is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is of no pool.
    NoPool(NoPool),
    /// The session of this name already has the address.
    Taken(Prefix, String),
    /// The file has a session of this name.
    OfFile,
    /// The directory is full.
    Full(usize),
}

/// Counts of the directory.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Account {
    pub(crate) sessions: usize,
    pub(crate) put: u64,
    pub(crate) deleted: u64,
    /// Malformed sessions and lines, and contradictory ones.
    pub(crate) refused: u64,
    /// Requests without a valid token.
    pub(crate) unauthorized: u64,
    /// The reason of the last refusal of a session or line.
    pub(crate) last_refused: Option<String>,
}

#[derive(Debug)]
struct Known {
    session: Session,
    pool: PoolId,
    of_file: bool,
}

#[derive(Debug, Default)]
struct Inner {
    sessions: BTreeMap<String, Known>,
    owners: BTreeMap<(PoolId, Prefix), String>,
    last_refused: Option<String>,
}

/// See the module's page.
#[derive(Debug)]
pub(super) struct Store {
    most: usize,
    pools: Pools,
    inner: Mutex<Inner>,
    to: Sender<Change>,
    wake: Arc<EventFd>,
    put: AtomicU64,
    deleted: AtomicU64,
    refused: AtomicU64,
    unauthorized: AtomicU64,
}

impl Store {
    pub(super) fn new(most: usize, pools: Pools, to: Sender<Change>, wake: Arc<EventFd>) -> Self {
        let zero = AtomicU64::default;
        let [put, deleted, refused, unauthorized] = [zero(), zero(), zero(), zero()];
        let inner = Mutex::default();
        Self { most, pools, inner, to, wake, put, deleted, refused, unauthorized }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If the loop has ended, nobody needs the change.
    fn tell(&self, change: Change) {
        let _ended = self.to.send(change);
        // If the counter is full, the loop is awake already.
        let _awake = self.wake.write(1);
    }

    /// Adds or replaces a session that came over HTTP; true if it is new.
    pub(super) fn put(&self, session: Session) -> Result<bool, Refused> {
        self.insert(session, false)
    }

    fn insert(&self, session: Session, of_file: bool) -> Result<bool, Refused> {
        let pool =
            self.pools.find(session.pool.as_deref(), &session.ue).map_err(Refused::NoPool)?;
        let mut inner = self.lock();
        let of_other = session.ue.iter().find_map(|address| {
            let owner = inner.owners.get(&(pool, *address)).filter(|owner| **owner != session.id);
            owner.map(|owner| Refused::Taken(*address, owner.clone()))
        });
        if let Some(taken) = of_other {
            return Err(taken);
        }
        if !of_file && inner.sessions.get(&session.id).is_some_and(|known| known.of_file) {
            return Err(Refused::OfFile);
        }
        let old = inner.sessions.get(&session.id);
        let old = old.map(|known| (known.session.clone(), known.pool));
        if old.is_none() && inner.sessions.len() >= self.most {
            return Err(Refused::Full(self.most));
        }
        if old.as_ref().is_some_and(|(old, _)| *old == session) {
            return Ok(false);
        }
        if let Some((old, pool)) = &old {
            old.ue.iter().for_each(|address| _ = inner.owners.remove(&(*pool, *address)));
        }
        for &address in &session.ue {
            inner.owners.insert((pool, address), session.id.clone());
        }
        let known = Known { session: session.clone(), pool, of_file };
        inner.sessions.insert(session.id.clone(), known);
        self.put.fetch_add(1, Ordering::Relaxed);
        let (new, old) = (old.is_none(), old.map(|(old, _)| old));
        // Sent under the lock, so that the loop gets changes in order.
        self.tell(Change::Put { old, new: session });
        Ok(new)
    }

    /// Ends a session; false if there is no session of that name. A request over HTTP cannot end a
    /// session of the file.
    pub(super) fn delete(&self, id: &str, of_file: bool) -> Result<bool, Refused> {
        let mut inner = self.lock();
        if !of_file && inner.sessions.get(id).is_some_and(|known| known.of_file) {
            return Err(Refused::OfFile);
        }
        let Some(known) = inner.sessions.remove(id) else { return Ok(false) };
        for address in &known.session.ue {
            inner.owners.remove(&(known.pool, *address));
        }
        self.deleted.fetch_add(1, Ordering::Relaxed);
        self.tell(Change::Ended(known.session));
        Ok(true)
    }

    /// Replaces the sessions of the file.
    pub(super) fn set_file(&self, sessions: Vec<Session>) {
        let gone: Vec<String> = {
            let inner = self.lock();
            let stay: BTreeSet<&str> = sessions.iter().map(|new| new.id.as_str()).collect();
            let of_file = inner.sessions.iter().filter(|(_, known)| known.of_file);
            of_file.map(|(id, _)| id).filter(|id| !stay.contains(id.as_str())).cloned().collect()
        };
        gone.iter().for_each(|id| _ = self.delete(id, true));
        for session in sessions {
            let id = session.id.clone();
            if let Err(why) = self.insert(session, true) {
                self.refuse(&format!("the file's session {id}: {why}"));
            }
        }
    }

    /// Counts a refusal.
    pub(super) fn refuse(&self, why: &str) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.lock().last_refused = Some(why.to_owned());
    }

    /// Counts a request without a valid token.
    pub(super) fn unauthorized(&self) {
        self.unauthorized.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self, id: &str) -> Option<Session> {
        self.lock().sessions.get(id).map(|known| known.session.clone())
    }

    pub(super) fn all(&self) -> Vec<Session> {
        self.lock().sessions.values().map(|known| known.session.clone()).collect()
    }

    pub(super) fn of_http(&self) -> Vec<Session> {
        let inner = self.lock();
        let known = inner.sessions.values().filter(|known| !known.of_file);
        known.map(|known| known.session.clone()).collect()
    }

    pub(super) fn account(&self) -> Account {
        let inner = self.lock();
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        Account {
            sessions: inner.sessions.len(),
            put: count(&self.put),
            deleted: count(&self.deleted),
            refused: count(&self.refused),
            unauthorized: count(&self.unauthorized),
            last_refused: inner.last_refused.clone(),
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoPool(why) => why.fmt(f),
            Self::Taken(address, owner) => write!(
                f,
                "the session {owner} has the address {address}: an address belongs to one UE of \
                 its pool (`pools`)"
            ),
            Self::OfFile => f.write_str("the directory's file has the session of this name"),
            Self::Full(most) => write!(f, "there are {most} sessions, and no more may be"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PoolConfig;
    use std::sync::mpsc::{Receiver, channel};

    fn session(line: &str) -> Session {
        Session::line(line).expect("a session")
    }

    fn store(most: usize) -> (Store, Receiver<Change>) {
        let (to, changes) = channel();
        (
            Store::new(most, Pools::default(), to, Arc::new(EventFd::new().expect("an event"))),
            changes,
        )
    }

    #[test]
    fn each_change_is_told_once_and_in_order_and_a_repetition_is_none() {
        let (store, changes) = store(10);
        let [a, moved] = ["a 10.0.0.1 10.0.0.2", "a 10.0.0.1 cell=east"].map(session);
        assert_eq!(store.put(a.clone()), Ok(true));
        assert_eq!(store.put(a.clone()), Ok(false));
        assert_eq!(store.put(moved.clone()), Ok(false));
        // The address that the session gave up is free.
        assert_eq!(store.put(session("b 10.0.0.2")), Ok(true));
        assert_eq!(store.delete("a", false), Ok(true));
        assert_eq!(store.delete("a", false), Ok(false));
        let told: Vec<Change> = changes.try_iter().collect();
        let put = |old: Option<&Session>, new: &Session| Change::Put {
            old: old.cloned(),
            new: new.clone(),
        };
        let b = session("b 10.0.0.2");
        assert_eq!(
            told,
            [put(None, &a), put(Some(&a), &moved), put(None, &b), Change::Ended(moved)]
        );
    }

    #[test]
    fn an_address_in_two_pools_has_two_sessions_and_without_the_pools_name_none() {
        let named = |name: &str| PoolConfig { name: name.into(), ..PoolConfig::default() };
        let pools = Pools::named(vec![named("blue"), named("red")]);
        let (to, changes) = channel();
        let store = Store::new(9, pools, to, Arc::new(EventFd::new().expect("an event")));
        for (id, pool) in [("a", "blue"), ("b", "red")] {
            assert_eq!(store.put(session(&format!("{id} 10.0.0.5 pool={pool}"))), Ok(true));
        }
        let taken = store.put(session("c 10.0.0.5 pool=red"));
        assert!(matches!(taken, Err(Refused::Taken(_, owner)) if owner == "b"));
        let why = store.put(session("c 10.0.0.6")).expect_err("of no pool").to_string();
        assert!(why.contains("`pool` is missing") && why.contains("blue, red"), "{why}");
        let why = store.put(session("c 10.0.0.6 pool=green")).expect_err("of no pool").to_string();
        assert!(why.contains("`pool` is `green`, allowed is one of blue, red"), "{why}");
        // A session moves to the other pool when its address there is free.
        assert_eq!(store.delete("b", false), Ok(true));
        assert_eq!(store.put(session("a 10.0.0.5 pool=red")), Ok(false));
        assert_eq!(store.put(session("d 10.0.0.5 pool=blue")), Ok(true));
        assert_eq!(changes.try_iter().count(), 5);
    }

    #[test]
    fn neither_the_bound_nor_an_address_of_another_nor_the_files_sessions_can_be_taken() {
        let (store, changes) = store(2);
        store.set_file(vec![session("f 10.0.0.1"), session("g 10.0.0.1")]);
        let account = store.account();
        assert_eq!((account.sessions, account.refused), (1, 1));
        assert!(account.last_refused.is_some_and(|why| why.contains("session f has the address")));
        assert_eq!(store.put(session("f 10.0.0.9")), Err(Refused::OfFile));
        assert_eq!(store.delete("f", false), Err(Refused::OfFile));
        let taken = store.put(session("h 10.0.0.2 10.0.0.1"));
        assert!(matches!(taken, Err(Refused::Taken(_, owner)) if owner == "f"));
        assert_eq!(store.put(session("h 10.0.0.2")), Ok(true));
        assert_eq!(store.put(session("i 10.0.0.3")), Err(Refused::Full(2)));
        assert_eq!((store.of_http().len(), changes.try_iter().count()), (1, 2));
        // The file has other sessions now; sessions over HTTP stay.
        store.set_file(vec![session("j 10.0.0.1")]);
        let ids: Vec<String> = store.all().into_iter().map(|one| one.id).collect();
        assert_eq!(ids, ["h", "j"]);
    }
}
