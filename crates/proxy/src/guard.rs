//! Decides whether new connections are diverted. Connections that the proxy cannot serve pass
//! unsplit, and `status` shows why: the proxy refuses no connection that would work without it.

use crate::config::UesConfig;
use crate::pools::{ClientHost, UeAddress};
use crate::table::Diversion;
use justfull_base::{Duration, Instant};
use justfull_net::Prefix;
use std::collections::BTreeMap;

/// If a first segment leads to no accepted connection for this long, this is no coincidence: a live
/// client has answered or repeated it by then.
const UNACCEPTED_FOR: Duration = Duration::from_secs(2);
/// If no connection had an answer, this many without one are no coincidence.
pub(crate) const UNANSWERED: u64 = 3;
/// Time during which new connections pass before the next trial; it doubles after each failed
/// trial.
const PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(320);
/// After a place became free or scarce, time until the next change.
const REST: Duration = Duration::from_secs(1);
/// A UE may have at most this many places for each free one.
const PLACES_FOR_ONE_FREE: usize = 4;
/// Connections from a client's port pass for this time after another socket of this host had the
/// port. The next connection then finds out whether the port is free.
const PORT_PASSES_FOR: Duration = Duration::from_secs(300);
/// Most UEs and clients' ports whose connections pass: each needs a rule.
const MOST_PASSING: usize = 64;

/// Places for connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// Open connections.
    pub(crate) open: usize,
    /// Most connections.
    pub(crate) flows: usize,
}

/// A trial and its pauses.
#[derive(Clone, Copy, Debug)]
struct Pause {
    until: Option<Instant>,
    next: Duration,
}

impl Pause {
    const NONE: Self = Self { until: None, next: PAUSE };

    fn begin(&mut self, now: Instant) {
        self.until = Some(now + self.next);
        self.next = Duration::from_nanos(self.next.as_nanos() * 2).min(LONGEST_PAUSE);
    }

    fn is_on(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}

/// First segments of a family, compared with accepted connections.
#[derive(Clone, Copy, Debug)]
struct Entry {
    accepted: u64,
    /// Diverted first segments when the last connection was accepted.
    base: Option<u64>,
    /// When the first one after that was diverted.
    since: Option<Instant>,
    pause: Pause,
}

impl Entry {
    const NEW: Self = Self { accepted: 0, base: None, since: None, pause: Pause::NONE };

    /// True if no connection arrives and the pause begins.
    fn look(&mut self, now: Instant, diverted: u64, accepted: u64) -> bool {
        let base = *self.base.get_or_insert(diverted);
        if std::mem::replace(&mut self.accepted, accepted) != accepted {
            *self = Self { accepted, base: Some(diverted), ..Self::NEW };
            return false;
        }
        if diverted <= base || self.pause.is_on(now) {
            return false;
        }
        let since = *self.since.get_or_insert(now);
        let blocked = now.since(since) >= UNACCEPTED_FOR;
        if blocked {
            (self.base, self.since) = (Some(diverted), None);
            self.pause.begin(now);
        }
        blocked
    }
}

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Guard {
    bits: UesConfig,
    entries: [Entry; 2],
    /// Connections without an answer since the last answer.
    unanswered: u64,
    no_answers: Pause,
    /// When there is room again; none while there is room.
    full: Option<Instant>,
    descriptors: Pause,
    /// Why packets are not delivered here; none if they are.
    pub(crate) routes: Option<String>,
    /// True if the host tracks connections.
    pub(crate) tracked: bool,
    pub(crate) draining: bool,
    /// Workers relay the connections, and none runs.
    pub(crate) no_worker: bool,
    /// Open connections of each UE.
    ues: BTreeMap<UeAddress, usize>,
    pass: Vec<UeAddress>,
    /// Clients' ports that other sockets use, and the time until which their connections pass.
    pass_ports: BTreeMap<u16, Instant>,
    /// Diverted first segments of each family.
    pub(crate) diverted: [u64; 2],
}

impl Guard {
    pub(crate) const fn new(bits: UesConfig) -> Self {
        Self {
            bits,
            entries: [Entry::NEW; 2],
            unanswered: 0,
            no_answers: Pause::NONE,
            full: None,
            descriptors: Pause::NONE,
            routes: None,
            tracked: false,
            draining: false,
            no_worker: false,
            ues: BTreeMap::new(),
            pass: Vec::new(),
            pass_ports: BTreeMap::new(),
            diverted: [0; 2],
        }
    }

    fn ue(&self, client: ClientHost) -> UeAddress {
        let ClientHost { pool, ip } = client;
        let bits = if ip.is_ipv4() { self.bits.ipv4_bits } else { self.bits.ipv6_bits };
        UeAddress { pool, prefix: Prefix::of(ip, bits) }
    }

    /// A connection opens. True if the rules must change at once.
    pub(crate) fn opened(&mut self, client: ClientHost, places: Places) -> bool {
        let Places { open, flows } = places;
        let ue = self.ue(client);
        let own = self.ues.entry(ue).or_insert(0);
        *own += 1;
        let own = *own;
        let free = flows.saturating_sub(open);
        let greedy = own > PLACES_FOR_ONE_FREE * free
            && self.pass.len() < MOST_PASSING
            && !self.pass.contains(&ue);
        if greedy {
            self.pass.push(ue);
        }
        let filled = free == 0 && self.full.is_none();
        if filled {
            self.full = Some(Instant::NEVER);
        }
        greedy || filled
    }

    /// A connection has ended.
    pub(crate) fn closed(&mut self, client: ClientHost) {
        let ue = self.ue(client);
        if let Some(own) = self.ues.get_mut(&ue) {
            *own -= 1;
            if *own == 0 {
                self.ues.remove(&ue);
            }
        }
    }

    /// No descriptor is left.
    pub(crate) fn exhausted(&mut self, now: Instant) {
        if !self.descriptors.is_on(now) {
            self.descriptors.begin(now);
        }
    }

    /// A server has answered.
    pub(crate) const fn answered(&mut self) {
        (self.unanswered, self.no_answers) = (0, Pause::NONE);
    }

    /// A server has not answered.
    pub(crate) fn not_answered(&mut self, now: Instant) {
        // The connection began before the pause.
        if self.no_answers.is_on(now) {
            return;
        }
        self.unanswered += 1;
        if self.unanswered >= UNANSWERED {
            self.no_answers.begin(now);
            // The next connection alone is a trial.
            self.unanswered = UNANSWERED - 1;
        }
    }

    /// Another socket of this host has this client's port. True if this is new.
    pub(crate) fn port_in_use(&mut self, now: Instant, port: u16) -> bool {
        let new = self.pass_ports.len() < MOST_PASSING && !self.pass_ports.contains_key(&port);
        if new {
            self.pass_ports.insert(port, now + PORT_PASSES_FOR);
        }
        new
    }

    /// Compares the counts of first segments of each family and of accepted connections. Returns
    /// the messages for the log.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        diverted: [u64; 2],
        accepted: [u64; 2],
        Places { open, flows }: Places,
    ) -> Vec<String> {
        // A segment may be kept after this process has read the rules' counters. Then the
        // difference falls.
        let diverted = [0, 1].map(|family| diverted[family].max(self.diverted[family]));
        self.diverted = diverted;
        let mut told = Vec::new();
        for (number, entry) in self.entries.iter_mut().enumerate() {
            if entry.look(now, diverted[number], accepted[number]) {
                told.push(unaccepted(number));
            }
        }
        if open < flows - flows / 10 && self.full == Some(Instant::NEVER) {
            self.full = Some(now + REST);
        }
        self.full = self.full.filter(|until| now < *until);
        let half = PLACES_FOR_ONE_FREE / 2 * flows.saturating_sub(open);
        let ues = &self.ues;
        self.pass.retain(|ue| ues.get(ue).is_some_and(|own| *own > half));
        self.pass_ports.retain(|_, until| now < *until);
        told
    }

    /// The connections to divert now.
    pub(crate) fn diversion(&self, now: Instant) -> Diversion {
        let open = !self.draining
            && !self.no_worker
            && self.full.is_none()
            && self.routes.is_none()
            && !self.descriptors.is_on(now)
            && !self.no_answers.is_on(now);
        Diversion {
            families: self.entries.map(|entry| open && !entry.pause.is_on(now)),
            pass: self.pass.clone(),
            pass_ports: self.pass_ports.keys().copied().collect(),
            tracked: self.tracked,
            logged: [None; 2],
        }
    }

    /// Why new connections pass, in words; empty while they are diverted.
    pub(crate) fn why(&self, now: Instant) -> Vec<String> {
        let mut why = Vec::new();
        if self.draining {
            why.push("draining".into());
        }
        if self.no_worker {
            why.push("no worker runs".into());
        }
        if self.full.is_some() {
            why.push("no place is left for a connection: `limits.flows`".into());
        }
        if self.descriptors.is_on(now) {
            why.push("no descriptor is left: LimitNOFILE (ulimit -n)".into());
        }
        if let Some(routes) = &self.routes {
            why.push(format!("diverted packets are not delivered here: {routes}"));
        }
        if self.no_answers.is_on(now) {
            why.push("no server has answered: do answers come back through this host?".into());
        }
        let blocked = self.entries.iter().enumerate().filter(|(_, entry)| entry.pause.is_on(now));
        why.extend(blocked.map(|(number, _)| unaccepted(number)));
        why
    }

    /// Number of UEs that exceed their share, so that their new connections pass.
    pub(crate) const fn greedy(&self) -> usize {
        self.pass.len()
    }
}

fn unaccepted(family: usize) -> String {
    let family = ["IPv4", "IPv6"][family];
    format!(
        "first segments of {family} are diverted and never accepted: a rule of this host stops \
         them, `justfull proxy check` says which"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pools::PoolId;
    use std::net::IpAddr;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    const FLOWS: usize = 100;

    const fn places(open: usize) -> Places {
        Places { open, flows: FLOWS }
    }

    fn guard() -> Guard {
        Guard::new(UesConfig::default())
    }

    #[test]
    fn segments_without_an_accepted_connection_pass_and_trials_come_ever_later() {
        let mut guard = guard();
        // Earlier counts are no change.
        assert!(guard.look(at(0), [50, 9], [0; 2], places(0)).is_empty());
        assert!(guard.look(at(250), [51, 9], [0; 2], places(0)).is_empty());
        assert!(guard.look(at(1_250), [52, 9], [0; 2], places(0)).is_empty());
        let told = guard.look(at(2_250), [52, 9], [0; 2], places(0));
        assert!(told.len() == 1 && told[0].contains("IPv4"), "{told:?}");
        assert_eq!(guard.diversion(at(2_250)).families, [false, true]);
        assert_eq!(guard.why(at(2_250)), told);
        assert_eq!(guard.diversion(at(12_250)).families, [true, true]);
        guard.look(at(13_000), [54, 9], [0; 2], places(0));
        assert_eq!(guard.look(at(15_000), [54, 9], [0; 2], places(0)).len(), 1);
        assert_eq!(guard.diversion(at(34_000)).families, [false, true]);
        assert!(guard.look(at(35_000), [55, 9], [1, 0], places(0)).is_empty());
        assert_eq!(guard.diversion(at(35_000)).families, [true, true]);
    }

    #[test]
    fn the_count_of_first_segments_never_falls() {
        let mut guard = guard();
        guard.look(at(0), [9, 4], [0; 2], places(0));
        guard.look(at(250), [8, 5], [0; 2], places(0));
        assert_eq!(guard.diverted, [9, 5]);
    }

    #[test]
    fn segments_without_connections_beside_others_with_them_are_no_reason() {
        let mut guard = guard();
        guard.look(at(0), [0, 0], [0; 2], places(0));
        for step in 1..100 {
            let told = guard.look(at(250 * step), [0, 10 * step], [0, step / 7], places(0));
            assert!(told.is_empty(), "{step}: {told:?}");
        }
    }

    #[test]
    fn one_ue_leaves_a_fifth_of_the_places_to_others_and_comes_back_below_its_share() {
        let mut guard = guard();
        let of = |pool, last| {
            let ip = [10, 45, 0, last].into();
            ClientHost { pool: PoolId::of_number(pool), ip }
        };
        // The other has the same address in another pool.
        let (greedy, other) = (of(1, 2), of(2, 2));
        let full = (1..=FLOWS).find(|open| guard.opened(greedy, places(*open)));
        assert_eq!(full, Some(81));
        assert!(!guard.opened(other, places(82)));
        assert_eq!(guard.diversion(at(0)).pass, [guard.ue(greedy)]);
        assert_eq!(guard.ue(greedy).pool, greedy.pool);
        (0..30).for_each(|_| guard.closed(greedy));
        guard.look(at(1), [0; 2], [0; 2], places(52));
        assert!(guard.diversion(at(1)).pass.is_empty());
    }

    #[test]
    fn without_a_place_all_pass_until_a_tenth_is_free() {
        let mut guard = guard();
        for number in 1..=FLOWS {
            let ue = IpAddr::from([10, 45, 1, number as u8]).into();
            assert_eq!(guard.opened(ue, places(number)), number == FLOWS);
        }
        guard.look(at(0), [0; 2], [0; 2], places(95));
        assert_eq!(guard.diversion(at(0)).families, [false; 2]);
        assert!(guard.why(at(0))[0].contains("limits.flows"));
        guard.look(at(250), [0; 2], [0; 2], places(89));
        guard.look(at(2_000), [0; 2], [0; 2], places(89));
        assert_eq!(guard.diversion(at(2_000)).families, [true; 2]);
    }

    #[test]
    fn a_port_that_another_socket_has_passes_for_five_minutes_and_is_then_tried_again() {
        let mut guard = guard();
        assert!(guard.port_in_use(at(0), 5_000));
        assert!(guard.port_in_use(at(60_000), 6_000));
        assert!(!guard.port_in_use(at(60_000), 5_000), "it passes already");
        let mut passing = |millis| {
            guard.look(at(millis), [0; 2], [0; 2], places(0));
            guard.diversion(at(millis)).pass_ports
        };
        assert_eq!(passing(299_999), [5_000, 6_000]);
        assert_eq!(passing(300_000), [6_000]);
        assert_eq!(passing(360_000), [0; 0]);
        assert!(guard.port_in_use(at(360_000), 5_000), "in use again: it passes again");
    }

    #[test]
    fn servers_that_never_answer_are_tried_again_and_an_answer_ends_it() {
        let mut guard = guard();
        (0..UNANSWERED).for_each(|_| guard.not_answered(at(0)));
        assert!(guard.diversion(at(0)).families == [false; 2]);
        assert_eq!(guard.diversion(at(10_000)).families, [true; 2]);
        guard.not_answered(at(11_000));
        assert_eq!(guard.diversion(at(30_000)).families, [false; 2]);
        guard.answered();
        assert_eq!(guard.diversion(at(30_000)).families, [true; 2]);
    }
}
