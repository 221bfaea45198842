//! The state of the UEs, and the subscriptions.

mod events;

use crate::callback::Callbacks;
use crate::client::notifier;
use crate::identity::CellIdentity;
use crate::notify::{self, Item, Mailbox};
use crate::query::{Asked, Problem};
use crate::report::Report;
use crate::token::{Share, User};
use crate::types::{
    AssociateId, CellInfo, CellUeInfo, CellUserInfo, ErabInfo, ErabQosParameters, L2Meas, PlmnInfo,
    RabInfo, RanReports, S1BearerInfo, S1BearerInfoDetailed, S1UeInfo, TimeStamp, UeInfo,
    WrittenSubscription,
};
use justfull_base::feedback::RanReport;
use justfull_net::{Prefix, clock};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use ureq::Agent;

/// Most UEs at a time; reports of further ones are dropped.
const MOST_UES: usize = 65_536;
/// Most cells; reports of further ones are dropped.
const MOST_CELLS: usize = 4_096;
/// Most subscriptions at a time, and most of one user. Each has a thread.
const MOST_SUBSCRIPTIONS: usize = 64;
const SHARE: usize = 16;
/// After this time without a report a UE is gone, and its bearer with it.
const GONE: Duration = Duration::from_secs(10);
/// Time between two searches for such UEs.
const LOOK: Duration = Duration::from_secs(1);
/// Time limit for a receiver of notifications.
const PATIENCE: Duration = Duration::from_secs(2);
/// Number of the one bearer that each UE has: the first that TS 24.007 section 11.2.3.1.5 allows.
const ERAB: u8 = 5;

/// A subscription by its number in a path, and the user of the request.
#[derive(Clone, Copy)]
pub(crate) struct Owned<'a> {
    pub(crate) user: User,
    pub(crate) id: &'a str,
}

/// A UE.
#[derive(Debug)]
struct Known {
    report: Report,
    /// Number of its cell.
    cell: usize,
    seen: Instant,
}

/// A subscription.
#[derive(Debug)]
struct Entry {
    user: User,
    /// The owner, whose share it counts in.
    of: Share,
    written: WrittenSubscription,
    /// The UEs that it is about; empty: all.
    ues: Vec<Prefix>,
    mailbox: Arc<Mailbox>,
}

impl Entry {
    fn is_about(&self, ue: &[Prefix]) -> bool {
        self.ues.is_empty() || self.ues.iter().any(|of| among(of, ue))
    }
}

#[derive(Debug, Default)]
struct Inner {
    /// By first address.
    ues: BTreeMap<Prefix, Known>,
    /// The numbers of cells by their names.
    cells: BTreeMap<Arc<str>, usize>,
    subscriptions: BTreeMap<u64, Entry>,
    next: u64,
    looked: Option<Instant>,
}

impl Inner {
    /// The number of the cell `name`, which is added if it is new; none if there are too many. A
    /// source that names no cells has one, the first.
    fn cell(&mut self, name: Option<&Arc<str>>) -> Option<usize> {
        let Some(name) = name else { return Some(0) };
        if let Some(&number) = self.cells.get(name) {
            return Some(number);
        }
        let number = self.cells.len();
        (number < MOST_CELLS).then(|| {
            self.cells.insert(Arc::clone(name), number);
            number
        })
    }
}

/// The service.
#[derive(Debug)]
pub struct Service {
    own: Weak<Self>,
    cell: CellIdentity,
    agent: Agent,
    callbacks: Callbacks,
    inner: Mutex<Inner>,
    requests: AtomicU64,
}

impl Service {
    /// A service without UEs. Notifications go to the addresses that `callbacks` allows. Over HTTPS
    /// the receiver's certificate must be signed by one of `ca`, a file of PEM.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn new(
        cell: CellIdentity,
        ca: Option<&Path>,
        callbacks: Callbacks,
    ) -> io::Result<Arc<Self>> {
        let agent = notifier(ca, PATIENCE, callbacks.clone())?;
        Ok(Arc::new_cyclic(|own| Self {
            own: own.clone(),
            cell,
            agent,
            callbacks,
            inner: Mutex::default(),
            requests: AtomicU64::new(0),
        }))
    }

    /// The allowed addresses of notifications.
    pub(crate) const fn callbacks(&self) -> &Callbacks {
        &self.callbacks
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers the cells `names` in this order. Other cells get numbers in the order of their first
    /// reports.
    pub fn name_cells(&self, names: &[Arc<str>]) {
        let mut inner = self.lock();
        for name in names {
            let _too_many = inner.cell(Some(name));
        }
    }

    /// Takes a report of a cell, in which its UE then is. A report without a cell is of the UE's
    /// last cell. False if there are too many UEs or cells and this one is left out, or if the
    /// report names a pool: an `associateId` has no pool.
    pub fn report(&self, report: &Report) -> bool {
        let Some(&name) = report.ue.first().filter(|_| report.pool.is_none()) else { return false };
        let now = clock::now();
        let mut inner = self.lock();
        let inner = &mut *inner;
        let Some(cell) = inner.cell(report.cell.as_ref()) else { return false };
        if let Some(known) = inner.ues.get_mut(&name) {
            if report.cell.is_some() && known.cell != cell {
                self.moved(&inner.subscriptions, report, [known.cell, cell]);
            }
            (known.report, known.seen) = (report.clone(), now);
            known.cell = if report.cell.is_some() { cell } else { known.cell };
        } else if inner.ues.len() < MOST_UES {
            inner.ues.insert(name, Known { report: report.clone(), cell, seen: now });
            self.bearers(&inner.subscriptions, report, cell, true);
        } else {
            return false;
        }
        for entry in inner.subscriptions.values() {
            if matches!(entry.written, WrittenSubscription::JustfullRanReportSubscription(_))
                && entry.is_about(&report.ue)
            {
                entry.mailbox.put(Item::Report(report.clone()));
            }
        }
        if inner.looked.is_none_or(|at| now.duration_since(at) >= LOOK) {
            inner.looked = Some(now);
            self.look(inner, now);
        }
        true
    }

    /// Removes UEs that have gone and subscriptions that have ended.
    fn look(&self, inner: &mut Inner, now: Instant) {
        let subscriptions = &mut inner.subscriptions;
        inner.ues.retain(|_, known| {
            let stays = now.duration_since(known.seen) < GONE;
            if !stays {
                self.bearers(subscriptions, &known.report, known.cell, false);
            }
            stays
        });
        let time = TimeStamp::now();
        // Their threads end by themselves, after the warning to their owners.
        subscriptions.retain(|_, entry| entry.written.deadline() > time);
    }

    /// The UEs that a request selects, in the form that `make` gives from the report and the
    /// number of the cell.
    fn select<T>(&self, asked: &Asked, make: impl Fn(&Report, usize) -> T) -> Vec<T> {
        let mut inner = self.lock();
        self.look(&mut inner, clock::now());
        let selected =
            |known: &&Known| asked.admits_ue(&known.report.ue) && self.in_cell(asked, known.cell);
        let ues = inner.ues.values().filter(selected);
        ues.map(|known| make(&known.report, known.cell)).collect()
    }

    pub(crate) fn rab_info(&self, asked: &Asked) -> RabInfo {
        let rates = ["erab_mbr_dl", "erab_mbr_ul", "erab_gbr_dl", "erab_gbr_ul"];
        let some = asked.admits("erab_id", ERAB)
            && asked.admits("qci", self.cell.qci)
            && !rates.iter().any(|rate| asked.has(rate));
        let erab = ErabInfo {
            erab_id: ERAB,
            erab_qos_parameters: ErabQosParameters { qci: self.cell.qci },
        };
        let mut cells: BTreeMap<usize, Vec<UeInfo>> = BTreeMap::new();
        let ue_info = self.select(asked, |report, cell| {
            let associate_id = report.ue.iter().map(AssociateId::of).collect();
            (cell, UeInfo { associate_id, erab_info: vec![erab.clone()] })
        });
        for (cell, ue) in ue_info.into_iter().filter(|_| some) {
            cells.entry(cell).or_default().push(ue);
        }
        let user_info = |(cell, ue_info)| CellUserInfo { ecgi: self.cell.ecgi(cell), ue_info };
        RabInfo {
            time_stamp: TimeStamp::now(),
            app_instance_id: asked.values("app_ins_id").next().unwrap_or_default().into(),
            request_id: self.requests.fetch_add(1, Ordering::Relaxed).to_string(),
            cell_user_info: cells.into_iter().map(user_info).collect(),
        }
    }

    pub(crate) fn s1_bearer_info(&self, asked: &Asked) -> S1BearerInfo {
        let some = asked.admits("erab_id", ERAB);
        let ues = self.select(asked, |report, cell| S1UeInfo {
            associate_id: report.ue.iter().map(AssociateId::of).collect(),
            ecgi: vec![self.cell.ecgi(cell)],
            s1_bearer_info_detailed: vec![S1BearerInfoDetailed { erab_id: ERAB }],
        });
        S1BearerInfo {
            time_stamp: TimeStamp::now(),
            s1_ue_info: if some { ues } else { Vec::new() },
        }
    }

    /// True if the request selects the cell `number`.
    fn in_cell(&self, asked: &Asked, number: usize) -> bool {
        asked.admits("cell_id", self.cell.of(number))
    }

    pub(crate) fn plmn_info(&self, asked: &Asked) -> Vec<PlmnInfo> {
        let info = |application: &str| PlmnInfo {
            time_stamp: TimeStamp::now(),
            app_instance_id: application.into(),
            plmn: vec![self.cell.plmn()],
        };
        asked.values("app_ins_id").map(info).collect()
    }

    pub(crate) fn layer2_meas(&self, asked: &Asked) -> L2Meas {
        // The newest report of each cell.
        let mut newest: BTreeMap<usize, RanReport> = BTreeMap::new();
        for (cell, ran) in self.select(&Asked::default(), |report, cell| (cell, report.ran)) {
            let last = newest.entry(cell).or_insert(ran);
            if last.at <= ran.at {
                *last = ran;
            }
        }
        let cells = newest.into_iter().filter(|(cell, _)| self.in_cell(asked, *cell));
        let cell_info = cells.map(|(cell, ran)| {
            let share = 100_u128 * u128::from(ran.used.min(ran.offered));
            let usage = share.checked_div(u128::from(ran.offered)).unwrap_or(0) as u8;
            CellInfo {
                dl_nongbr_prb_usage_cell: usage,
                dl_total_prb_usage_cell: usage,
                ecgi: self.cell.ecgi(cell),
                number_of_active_ue_dl_nongbr_cell: ran.active_ues,
            }
        });
        let cell_info = cell_info.collect();
        let cell_ue_info = self.select(asked, |report, cell| {
            let ran = &report.ran;
            let bits = u128::from(ran.bytes) * 8;
            let period = u128::from(ran.slot.as_nanos()) * u128::from(ran.slots);
            // kbit/s are bits in a microsecond, times 1000.
            let rate = (bits * 1_000_000).checked_div(period).unwrap_or(0);
            CellUeInfo {
                associate_id: AssociateId::of(&report.ue[0]),
                dl_nongbr_data_volume_ue: (bits / 1_000) as u64,
                dl_nongbr_throughput_ue: rate.min(u128::from(u64::MAX)) as u64,
                ecgi: self.cell.ecgi(cell),
            }
        });
        L2Meas { time_stamp: TimeStamp::now(), cell_info, cell_ue_info }
    }

    pub(crate) fn ran_reports(&self, asked: &Asked) -> RanReports {
        RanReports {
            time_stamp: TimeStamp::now(),
            reports: self.select(asked, |report, _| report.written()),
        }
    }

    /// Adds a subscription of `user`; `root` is the address of the list of subscriptions.
    pub(crate) fn subscribe(
        &self,
        user: User,
        of: Share,
        mut written: WrittenSubscription,
        root: &str,
    ) -> Result<(String, WrittenSubscription), Problem> {
        let ues = written.check()?;
        let mut inner = self.lock();
        self.look(&mut inner, clock::now());
        if inner.subscriptions.len() >= MOST_SUBSCRIPTIONS {
            return Err(Problem::new(
                429,
                format!("there are {MOST_SUBSCRIPTIONS} subscriptions already"),
            ));
        }
        if inner.subscriptions.values().filter(|entry| entry.of == of).count() >= SHARE {
            let detail = format!("you have {SHARE} subscriptions already, allowed are no more");
            return Err(Problem::new(429, detail));
        }
        inner.next += 1;
        let number = inner.next;
        let href = format!("{root}/{number}");
        written.set_link(&href);
        let mailbox = Mailbox::new(&written);
        let own = self.own.clone();
        let ended = move || {
            if let Some(service) = own.upgrade() {
                service.expired(number);
            }
        };
        if let Err(error) = notify::start(Arc::clone(&mailbox), self.agent.clone(), ended) {
            return Err(Problem::new(429, format!("no thread for it: {error}")));
        }
        let entry = Entry { user, of, written: written.clone(), ues, mailbox };
        inner.subscriptions.insert(number, entry);
        Ok((href, written))
    }

    /// Calls `then` for the subscription `id` of `user`.
    fn own<T>(
        &self,
        of: Owned<'_>,
        then: impl FnOnce(&mut Inner, u64) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let mut inner = self.lock();
        self.look(&mut inner, clock::now());
        let number = of.id.parse().ok().filter(|number| {
            inner.subscriptions.get(number).is_some_and(|entry| entry.user == of.user)
        });
        let number = number.ok_or_else(|| Problem::new(404, "there is no such subscription"))?;
        then(&mut inner, number)
    }

    pub(crate) fn subscription(&self, of: Owned<'_>) -> Result<WrittenSubscription, Problem> {
        self.own(of, |inner, number| Ok(inner.subscriptions[&number].written.clone()))
    }

    /// Replaces a subscription by one of the same type.
    pub(crate) fn resubscribe(
        &self,
        of: Owned<'_>,
        mut written: WrittenSubscription,
    ) -> Result<WrittenSubscription, Problem> {
        self.own(of, |inner, number| {
            let Some(entry) = inner.subscriptions.get_mut(&number) else {
                return Err(Problem::new(404, "there is no such subscription"));
            };
            if written.name() != entry.written.name() {
                let name = entry.written.name();
                return Err(Problem::new(422, format!("`subscriptionType` is and stays {name}")));
            }
            entry.ues = written.check()?;
            written.set_link(entry.written.link());
            entry.mailbox.change(&written);
            entry.written = written.clone();
            Ok(written)
        })
    }

    pub(crate) fn unsubscribe(&self, of: Owned<'_>) -> Result<(), Problem> {
        self.own(of, |inner, number| {
            if let Some(entry) = inner.subscriptions.remove(&number) {
                entry.mailbox.end();
            }
            Ok(())
        })
    }

    /// Address and type of each subscription of `user`.
    pub(crate) fn subscriptions(&self, user: User) -> Vec<(String, &'static str)> {
        let mut inner = self.lock();
        self.look(&mut inner, clock::now());
        let own = inner.subscriptions.values().filter(|entry| entry.user == user);
        own.map(|entry| (entry.written.link().to_owned(), entry.written.name())).collect()
    }

    /// Ends a subscription whose time is over.
    pub(crate) fn expired(&self, number: u64) {
        self.lock().subscriptions.remove(&number);
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        for entry in self.lock().subscriptions.values() {
            entry.mailbox.end();
        }
    }
}

/// True if one of `ue`'s addresses is in `of`, or contains it.
fn among(of: &Prefix, ue: &[Prefix]) -> bool {
    ue.iter().any(|prefix| {
        let bits = of.bits().min(prefix.bits());
        Prefix::of(of.address(), bits) == Prefix::of(prefix.address(), bits)
    })
}
