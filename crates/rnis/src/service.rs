//! The state of the UEs, and the subscriptions.

use crate::callback::Callbacks;
use crate::client::notifier;
use crate::notify::{self, Item, Mailbox};
use crate::query::{Asked, Problem};
use crate::report::Report;
use crate::token::{Share, User};
use crate::types::{
    AssociateId, CellInfo, CellUeInfo, CellUserInfo, Ecgi, ErabInfo, ErabQosParameters,
    ErabReleaseInfo, FilterCriteriaQci, L2Meas, Plmn, PlmnInfo, RabEstNotification, RabInfo,
    RabRelNotification, RanReports, S1BearerInfo, S1BearerInfoDetailed, S1UeInfo, TimeStamp,
    UeInfo, WrittenSubscription,
};
use justfull_base::ConfigError;
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

/// The cell of the reports, and its bearers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellIdentity {
    /// Mobile country code, three digits.
    pub mcc: String,
    /// Mobile network code, two or three digits.
    pub mnc: String,
    /// The cell's identity in the network: seven hexadecimal digits of 28 bits.
    pub cell_id: String,
    /// QoS class of its bearers.
    pub qci: u8,
}

impl Default for CellIdentity {
    /// The network for tests, its first cell, and the default class.
    fn default() -> Self {
        Self { mcc: "001".into(), mnc: "01".into(), cell_id: "0000001".into(), qci: 9 }
    }
}

impl CellIdentity {
    /// Checks it.
    ///
    /// # Errors
    /// The field that does not have the standards' form.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let hex = self.cell_id.bytes().all(|b| b.is_ascii_hexdigit());
        let refused = |field, found: &str, allowed: &str| {
            Err(ConfigError::new(field, &found, allowed, "TS 23.003 section 2.2"))
        };
        if self.mcc.len() != 3 || !digits(&self.mcc) {
            refused("mcc", &self.mcc, "three digits")
        } else if !(2..=3).contains(&self.mnc.len()) || !digits(&self.mnc) {
            refused("mnc", &self.mnc, "two or three digits")
        } else if self.cell_id.len() != 7 || !hex {
            refused("cell_id", &self.cell_id, "seven hexadecimal digits")
        } else {
            Ok(())
        }
    }

    fn ecgi(&self) -> Ecgi {
        Ecgi { cell_id: self.cell_id.clone(), plmn: self.plmn() }
    }

    fn plmn(&self) -> Plmn {
        Plmn { mcc: self.mcc.clone(), mnc: self.mnc.clone() }
    }
}

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
    seen: Instant,
}

/// A subscription.
#[derive(Debug)]
struct Entry {
    user: User,
    /// The owner, whose share it counts in.
    of: Share,
    written: WrittenSubscription,
    /// UEs whose reports are sent; empty: all.
    ues: Vec<Prefix>,
    mailbox: Arc<Mailbox>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By first address.
    ues: BTreeMap<Prefix, Known>,
    subscriptions: BTreeMap<u64, Entry>,
    next: u64,
    looked: Option<Instant>,
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

    /// Takes a report of a cell. False if there are too many UEs and this one is left out.
    pub fn report(&self, report: &Report) -> bool {
        let Some(&name) = report.ue.first() else { return false };
        let now = clock::now();
        let mut inner = self.lock();
        let inner = &mut *inner;
        if let Some(known) = inner.ues.get_mut(&name) {
            (known.report, known.seen) = (report.clone(), now);
        } else if inner.ues.len() < MOST_UES {
            inner.ues.insert(name, Known { report: report.clone(), seen: now });
            self.bearers(&inner.subscriptions, report, true);
        } else {
            return false;
        }
        for entry in inner.subscriptions.values() {
            if matches!(entry.written, WrittenSubscription::JustfullRanReportSubscription(_))
                && (entry.ues.is_empty() || entry.ues.iter().any(|of| among(of, &report.ue)))
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
                self.bearers(subscriptions, &known.report, false);
            }
            stays
        });
        let time = TimeStamp::now();
        // Their threads end by themselves, after the warning to their owners.
        subscriptions.retain(|_, entry| entry.written.deadline() > time);
    }

    /// Notifies the subscribers that a UE's bearer was established or released.
    fn bearers(&self, subscriptions: &BTreeMap<u64, Entry>, report: &Report, came: bool) {
        let associate_id: Vec<AssociateId> = report.ue.iter().map(AssociateId::of).collect();
        let (time_stamp, ecgi) = (TimeStamp::now(), self.cell.ecgi());
        for entry in subscriptions.values() {
            let (filter, wants_came) = match &entry.written {
                WrittenSubscription::RabEstSubscription(rab) => (&rab.filter_criteria_qci, true),
                WrittenSubscription::RabRelSubscription(rab) => (&rab.filter_criteria_qci, false),
                WrittenSubscription::JustfullRanReportSubscription(_) => continue,
            };
            if wants_came != came || !self.wanted(filter) {
                continue;
            }
            let (associate_id, ecgi) = (associate_id.clone(), ecgi.clone());
            let text = if came {
                serde_json::to_string(&RabEstNotification {
                    notification_type: "RabEstNotification".into(),
                    time_stamp,
                    associate_id,
                    ecgi,
                    erab_id: ERAB,
                    erab_qos_parameters: ErabQosParameters { qci: self.cell.qci },
                })
            } else {
                serde_json::to_string(&RabRelNotification {
                    notification_type: "RabRelNotification".into(),
                    time_stamp,
                    associate_id,
                    ecgi,
                    erab_release_info: ErabReleaseInfo { erab_id: ERAB },
                })
            };
            entry.mailbox.put(Item::Text(text.unwrap_or_default()));
        }
    }

    fn wanted(&self, filter: &FilterCriteriaQci) -> bool {
        filter.qci == self.cell.qci
            && filter.erab_id.is_none_or(|erab| erab == ERAB)
            && (filter.ecgi.is_empty() || filter.ecgi.contains(&self.cell.ecgi()))
    }

    /// The UEs that a request selects, in the form that `make` gives.
    fn select<T>(&self, asked: &Asked, make: impl Fn(&Report) -> T) -> Vec<T> {
        let mut inner = self.lock();
        self.look(&mut inner, clock::now());
        let ues = inner.ues.values().map(|known| &known.report);
        ues.filter(|report| asked.admits_ue(&report.ue)).map(make).collect()
    }

    pub(crate) fn rab_info(&self, asked: &Asked) -> RabInfo {
        let rates = ["erab_mbr_dl", "erab_mbr_ul", "erab_gbr_dl", "erab_gbr_ul"];
        let some = self.in_cell(asked)
            && asked.admits("erab_id", ERAB)
            && asked.admits("qci", self.cell.qci)
            && !rates.iter().any(|rate| asked.has(rate));
        let erab = ErabInfo {
            erab_id: ERAB,
            erab_qos_parameters: ErabQosParameters { qci: self.cell.qci },
        };
        let ue_info = self.select(asked, |report| UeInfo {
            associate_id: report.ue.iter().map(AssociateId::of).collect(),
            erab_info: vec![erab.clone()],
        });
        let cell = CellUserInfo { ecgi: self.cell.ecgi(), ue_info };
        let cells = Some(cell).filter(|cell| some && !cell.ue_info.is_empty());
        RabInfo {
            time_stamp: TimeStamp::now(),
            app_instance_id: asked.values("app_ins_id").next().unwrap_or_default().into(),
            request_id: self.requests.fetch_add(1, Ordering::Relaxed).to_string(),
            cell_user_info: cells.into_iter().collect(),
        }
    }

    pub(crate) fn s1_bearer_info(&self, asked: &Asked) -> S1BearerInfo {
        let some = self.in_cell(asked) && asked.admits("erab_id", ERAB);
        let ues = self.select(asked, |report| S1UeInfo {
            associate_id: report.ue.iter().map(AssociateId::of).collect(),
            ecgi: vec![self.cell.ecgi()],
            s1_bearer_info_detailed: vec![S1BearerInfoDetailed { erab_id: ERAB }],
        });
        S1BearerInfo {
            time_stamp: TimeStamp::now(),
            s1_ue_info: if some { ues } else { Vec::new() },
        }
    }

    fn in_cell(&self, asked: &Asked) -> bool {
        asked.admits("cell_id", &self.cell.cell_id)
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
        let ecgi = self.cell.ecgi();
        let (mut cell_info, mut cell_ue_info) = (Vec::new(), Vec::new());
        if self.in_cell(asked) {
            let newest = self.select(&Asked::default(), |report| report.ran);
            if let Some(ran) = newest.iter().max_by_key(|ran| ran.at) {
                let share = 100_u128 * u128::from(ran.used.min(ran.offered));
                let usage = share.checked_div(u128::from(ran.offered)).unwrap_or(0) as u8;
                cell_info.push(CellInfo {
                    dl_nongbr_prb_usage_cell: usage,
                    dl_total_prb_usage_cell: usage,
                    ecgi: ecgi.clone(),
                    number_of_active_ue_dl_nongbr_cell: ran.active_ues,
                });
            }
            cell_ue_info = self.select(asked, |report| {
                let ran = &report.ran;
                let bits = u128::from(ran.bytes) * 8;
                let period = u128::from(ran.slot.as_nanos()) * u128::from(ran.slots);
                // kbit/s are bits in a microsecond, times 1000.
                let rate = (bits * 1_000_000).checked_div(period).unwrap_or(0);
                CellUeInfo {
                    associate_id: AssociateId::of(&report.ue[0]),
                    dl_nongbr_data_volume_ue: (bits / 1_000) as u64,
                    dl_nongbr_throughput_ue: rate.min(u128::from(u64::MAX)) as u64,
                    ecgi: ecgi.clone(),
                }
            });
        }
        L2Meas { time_stamp: TimeStamp::now(), cell_info, cell_ue_info }
    }

    pub(crate) fn ran_reports(&self, asked: &Asked) -> RanReports {
        RanReports { time_stamp: TimeStamp::now(), reports: self.select(asked, Report::written) }
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
