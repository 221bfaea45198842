//! Merged UEs, sessions of the directory, and UEs of the previous process.

use super::identity::Identity;
use super::{Cells, Steering};
use crate::directory::{Change, Session};
use crate::pools::{PoolId, UeAddress};
use justfull_base::Instant;
use justfull_net::Prefix;

impl Steering {
    /// A report names `addresses` as all addresses of the UE at `place`. The UE gets each new
    /// address. An address of another UE:
    ///
    /// - stays there if reports of that UE name it too (disputed);
    /// - moves if that UE's reports no longer name it: the network has reassigned it;
    /// - makes both one UE if the other has no reports of its own.
    pub(super) fn identify(
        &mut self,
        now: Instant,
        place: usize,
        pool: PoolId,
        addresses: &[Prefix],
    ) {
        let told = |ue: &super::Ue| {
            ue.told.len() == addresses.len()
                && ue.told.iter().zip(addresses).all(|(old, new)| *old == self.ues.cut(pool, new))
        };
        let same = self.ues.at(place).is_some_and(told);
        for address in addresses {
            let address = self.ues.cut(pool, address);
            match self.ues.find(address) {
                Some(owner) if owner == place => {}
                None => self.ues.give(address, place),
                Some(owner) => self.resolve(now, address, owner, place),
            }
        }
        if !same {
            let names = addresses.iter().map(|name| self.ues.cut(pool, name)).collect();
            if let Some(ue) = self.ues.at_mut(place) {
                ue.told = names;
            }
        }
    }

    fn resolve(&mut self, now: Instant, address: UeAddress, owner: usize, place: usize) {
        let Some(other) = self.ues.at(owner) else { return };
        if other.claims(now, address) {
            self.counts.disputed += 1;
            self.notices.disputed(now, address.prefix);
        } else if other.has_reports(now) {
            // Open flows keep their UE.
            self.ues.give(address, place);
        } else {
            self.merge(now, owner, place);
        }
    }

    /// Merges the UE at `from` into the UE at `into`.
    fn merge(&mut self, now: Instant, from: usize, into: usize) {
        let Some(into_id) = self.ues.at(into).map(|ue| ue.id) else { return };
        let Some(gone) = self.ues.merge(from, into) else { return };
        self.cells.left(gone.cell);
        // Both are known.
        let _merged = self.control.merge_ues(now, gone.id, into_id);
        if gone.in_session
            && let Some(ue) = self.ues.at_mut(into)
        {
            (ue.in_session, ue.most) = (true, ue.most.or(gone.most));
            let _limited = self.control.control.limit_ue(now, into_id, ue.most);
        }
        self.counts.merges += 1;
    }

    /// The directory has changed.
    pub(crate) fn directory(&mut self, now: Instant, change: &Change) {
        match change {
            Change::Put { old, new } => {
                self.session(now, new);
                let kept = self.addresses(new);
                let dropped = old.iter().flat_map(|old| self.addresses(old));
                let dropped: Vec<UeAddress> =
                    dropped.filter(|address| !kept.contains(address)).collect();
                dropped.into_iter().for_each(|address| self.ues.release(address));
            }
            Change::Ended(session) => self.end_session(now, session),
        }
    }

    /// The addresses of a session. The directory has checked that one pool has them.
    fn addresses(&self, session: &Session) -> Vec<UeAddress> {
        let pool = self.pools.find(session.pool.as_deref(), &session.ue).unwrap_or_default();
        session.ue.iter().map(|name| self.ues.cut(pool, name)).collect()
    }

    /// The directory has a session. All its addresses belong to one UE, which gets the session's
    /// limit and, if the session names one, its cell.
    fn session(&mut self, now: Instant, session: &Session) {
        let names = self.addresses(session);
        let known = names.iter().find_map(|name| self.ues.find(*name));
        let Some(place) = known.or_else(|| self.ue(now, names[0])) else { return };
        for name in names {
            match self.ues.find(name) {
                Some(owner) if owner == place => {}
                None => self.ues.give(name, place),
                Some(owner) => self.merge(now, owner, place),
            }
        }
        let most = session.ambr.map(|bits| bits as f64 / 8.0);
        let Some(ue) = self.ues.at_mut(place) else { return };
        (ue.in_session, ue.most, ue.used) = (true, most, now);
        let (id, own) = (ue.id, ue.cell);
        // The directory has checked that the limit is above 0.
        let _limited = self.control.control.limit_ue(now, id, most);
        let Some(name) = &session.cell_id else { return };
        match self.cells.find(&mut self.control.control, Some(name)) {
            Some(cell) if cell != own => self.move_to(now, place, cell),
            Some(_) => {}
            None => {
                self.counts.unknown_cell += 1;
                self.notices.session(now, session.ue[0], "`cells` does not allow its cell");
            }
        }
    }

    /// The directory no longer has a session with these addresses. They belong to no UE from now
    /// on; the UE is removed after its last flow.
    fn end_session(&mut self, now: Instant, session: &Session) {
        let names = self.addresses(session);
        let Some(place) = names.iter().find_map(|name| self.ues.find(*name)) else { return };
        let Some(ue) = self.ues.at_mut(place) else { return };
        (ue.in_session, ue.most) = (false, None);
        let id = ue.id;
        let _limited = self.control.control.limit_ue(now, id, None);
        if self.ues.at(place).is_some_and(|ue| ue.flows == 0) {
            return self.remove(now, place);
        }
        names.into_iter().for_each(|address| self.ues.release(address));
    }

    /// The UEs, for the next process.
    pub(crate) fn identities(&self) -> Vec<Identity> {
        let identity = |ue: &super::Ue| Identity {
            addresses: ue.addresses.iter().map(|address| address.prefix).collect(),
            pool: ue.name.pool,
            cell: (ue.cell != Cells::UNNAMED).then(|| self.cells.name(ue.cell).to_owned()),
        };
        self.ues.iter().map(identity).collect()
    }

    /// A UE of the previous process.
    pub(crate) fn adopt(&mut self, now: Instant, identity: &Identity) {
        let Some(&first) = identity.addresses.first() else { return };
        let pool = identity.pool;
        let first = self.ues.cut(pool, &first);
        let Some(place) = self.ue(now, first) else { return };
        for name in &identity.addresses {
            let name = self.ues.cut(pool, name);
            if self.ues.find(name).is_none() {
                self.ues.give(name, place);
            }
        }
        let name = identity.cell.as_deref().map(Into::into);
        if let Some(name) = name
            && let Some(cell) = self.cells.find(&mut self.control.control, Some(&name))
        {
            self.move_to(now, place, cell);
        }
    }
}
