//! Notifications: a queue and a thread for each subscription, so that a slow or dead receiver
//! delays no other receiver and no query.

use crate::report::Report;
use crate::types::{
    ExpiryLinks, ExpiryNotification, RAN_REPORT_NOTIFICATION, RanReportNotification, TimeStamp,
    WrittenSubscription,
};
use justfull_net::clock;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use ureq::Agent;

/// Most items that wait for a receiver; beyond this the oldest is dropped.
const WAITING: usize = 16_384;
/// Reports in one notification.
const REPORTS: usize = 1_000;
/// Time after which an idle thread checks its timers.
const LOOK: Duration = Duration::from_millis(250);
/// Longest time between the warning to a subscription's owner and its end; it is at most half of
/// the subscription's time.
const WARNING: u32 = 30;

/// An item for a receiver.
#[derive(Debug)]
pub(crate) enum Item {
    Report(Report),
    Text(String),
}

#[derive(Debug)]
struct Mail {
    waiting: VecDeque<Item>,
    callback: String,
    link: String,
    period: Duration,
    deadline: TimeStamp,
    /// When to send the warning of its end; none once it is sent.
    warn_at: Option<TimeStamp>,
    over: bool,
}

/// The items that wait for one receiver.
#[derive(Debug)]
pub(crate) struct Mailbox {
    mail: Mutex<Mail>,
    changed: Condvar,
}

impl Mailbox {
    pub(crate) fn new(written: &WrittenSubscription) -> Arc<Self> {
        let mail = Mail {
            waiting: VecDeque::new(),
            callback: String::new(),
            link: String::new(),
            period: Duration::ZERO,
            deadline: TimeStamp::now(),
            warn_at: None,
            over: false,
        };
        let mailbox = Self { mail: Mutex::new(mail), changed: Condvar::new() };
        mailbox.change(written);
        Arc::new(mailbox)
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, item: Item) {
        let mut mail = self.lock();
        if mail.waiting.len() >= WAITING {
            mail.waiting.pop_front();
        }
        mail.waiting.push_back(item);
        self.changed.notify_one();
    }

    /// Replaces the subscription by `written`.
    pub(crate) fn change(&self, written: &WrittenSubscription) {
        let mut mail = self.lock();
        mail.callback = written.callback().to_owned();
        mail.link = written.link().to_owned();
        mail.period = written.period();
        mail.deadline = written.deadline();
        let left = mail.deadline.seconds.saturating_sub(TimeStamp::now().seconds);
        let seconds = mail.deadline.seconds - WARNING.min(left / 2);
        mail.warn_at = Some(TimeStamp { seconds, ..mail.deadline });
        self.changed.notify_one();
    }

    pub(crate) fn end(&self) {
        self.lock().over = true;
        self.changed.notify_one();
    }

    /// Waits for something to send, at least until `not_before`; none at the end.
    fn next(&self, not_before: Instant) -> Option<(String, Vec<String>)> {
        let mut mail = self.lock();
        loop {
            if mail.over {
                return None;
            }
            let time = TimeStamp::now();
            // Sent even if it is late: without it the owner would expect more notifications.
            if let Some(text) = mail.warning(time) {
                return Some((mail.callback.clone(), vec![text]));
            }
            if mail.deadline <= time {
                return None;
            }
            let wait = not_before.saturating_duration_since(clock::now());
            if wait.is_zero() && !mail.waiting.is_empty() {
                return Some((mail.callback.clone(), mail.take(time)));
            }
            let wait = if mail.waiting.is_empty() { LOOK } else { wait.min(LOOK) };
            let waited = self.changed.wait_timeout(mail, wait);
            mail = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Mail {
    fn warning(&mut self, time: TimeStamp) -> Option<String> {
        self.warn_at.take_if(|at| *at <= time)?;
        serde_json::to_string(&ExpiryNotification {
            time_stamp: time,
            links: ExpiryLinks { own: self.link.clone() },
            expiry_deadline: self.deadline,
        })
        .ok()
    }

    /// All waiting items: each text, and the reports in one.
    fn take(&mut self, time_stamp: TimeStamp) -> Vec<String> {
        let (mut texts, mut reports) = (Vec::new(), Vec::new());
        let flush = |reports: &mut Vec<_>, texts: &mut Vec<String>| {
            if !reports.is_empty() {
                let notification = RanReportNotification {
                    notification_type: RAN_REPORT_NOTIFICATION.into(),
                    time_stamp,
                    reports: std::mem::take(reports),
                };
                texts.extend(serde_json::to_string(&notification));
            }
        };
        for item in self.waiting.drain(..) {
            match item {
                Item::Text(text) => texts.push(text),
                Item::Report(report) => reports.push(report.written()),
            }
            if reports.len() >= REPORTS {
                flush(&mut reports, &mut texts);
            }
        }
        flush(&mut reports, &mut texts);
        texts
    }
}

/// Starts the thread of a mailbox. It ends with the subscription, and then calls `ended`.
pub(crate) fn start(
    mailbox: Arc<Mailbox>,
    agent: Agent,
    ended: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let work = move || {
        let mut not_before = clock::now();
        while let Some((callback, texts)) = mailbox.next(not_before) {
            not_before = clock::now() + mailbox.lock().period;
            for text in texts {
                let sent = agent.post(&callback).content_type("application/json").send(text);
                // The answer has no effect; a notification that fails is lost.
                let _answer = crate::bounded(sent);
            }
        }
        ended();
    };
    thread::Builder::new().name("notify".into()).spawn(work).map(drop)
}
