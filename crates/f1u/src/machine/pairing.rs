//! Finds the downlink tunnel that a reporting uplink tunnel belongs to. No field of F1-U names it;
//! the sequence numbers show it.
//!
//! A DU reports only numbers that the CU-UP has sent on the same bearer. Each report excludes the
//! bearers between the same two hosts on which its number was not sent. If several bearers are
//! left, exact reports decide: when its queue runs empty, a bearer's last number is reported
//! exactly.

use super::bearer::Bearer;
use justfull_base::{Duration, Instant};

/// Reports with a new number that a pair needs.
const REPORTS: u8 = 3;
/// Times as many exact reports as the next candidate has.
const CLEAR: u8 = 3;
/// Most candidates; with more, a later search finds fewer.
const CANDIDATES: usize = 64;
/// Time until the next search after a search that found no candidate or too many.
const PAUSE: Duration = Duration::from_millis(20);

/// The search of one uplink tunnel.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    candidates: Vec<Candidate>,
    /// The last number that was reported, and how many new ones since the search began.
    last: Option<u32>,
    reports: u8,
    next: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    bearer: u32,
    /// Reports of exactly its last number.
    exact: u8,
}

impl Search {
    /// The DU reports `sn` at `now`; returns the bearer, once there is no doubt. `among` are the
    /// bearers that want a reporter, between the same hosts, and is called only for a new search.
    pub(super) fn on_report<'a, I: Iterator<Item = (u32, &'a Bearer)>>(
        &mut self,
        now: Instant,
        sn: u32,
        among: impl FnOnce() -> I,
        of: impl Fn(u32) -> Option<&'a Bearer>,
    ) -> Option<u32> {
        if self.last == Some(sn) {
            return None;
        }
        if self.candidates.is_empty() {
            if now < self.next {
                return None;
            }
            self.begin(now, sn, among());
            return None;
        }
        self.last = Some(sn);
        self.reports = self.reports.saturating_add(1);
        self.candidates.retain_mut(|candidate| {
            let fits = of(candidate.bearer).and_then(|bearer| bearer.fits(sn));
            candidate.exact = candidate.exact.saturating_add(u8::from(fits == Some(true)));
            fits.is_some()
        });
        if self.candidates.is_empty() {
            self.next = now + PAUSE;
        }
        self.decided()
    }

    fn begin<'a>(&mut self, now: Instant, sn: u32, among: impl Iterator<Item = (u32, &'a Bearer)>) {
        (self.last, self.reports, self.next) = (Some(sn), 1, now + PAUSE);
        for (bearer, found) in among {
            let Some(exact) = found.fits(sn) else { continue };
            if self.candidates.len() == CANDIDATES {
                self.candidates.clear();
                return;
            }
            self.candidates.push(Candidate { bearer, exact: u8::from(exact) });
        }
    }

    fn decided(&self) -> Option<u32> {
        if self.reports < REPORTS {
            return None;
        }
        if let [only] = self.candidates[..] {
            return Some(only.bearer);
        }
        let best = self.candidates.iter().max_by_key(|candidate| candidate.exact)?;
        let others = self.candidates.iter().filter(|candidate| candidate.bearer != best.bearer);
        let next = others.map(|other| other.exact).max().unwrap_or(0);
        let clear = best.exact >= REPORTS && best.exact > CLEAR.saturating_mul(next);
        clear.then_some(best.bearer)
    }
}
