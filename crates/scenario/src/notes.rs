//! Notes on a scenario before a run: valid settings without effect.

use super::file::{FlowFile, ScenarioFile, TcpFile};
use super::locator::Locator;
use super::resolve::Resolved;
use super::unread::{self, Unread};
use super::{Scenario, ScenarioError};
use justfull_queue::{AqmConfig, Ect1, Limit, QueueConfig};
use justfull_ran::limiter::{FixedConfig, LimiterConfig};
use justfull_ran::pacer::PacerConfig;
use justfull_run::Transport;
use justfull_run::traffic::VideoCallConfig;
use justfull_tcp::rc::RcConfig;
use justfull_tcp::rc::scream::ScreamEcn;
use justfull_tcp::{CcConfig, SenderConfig};
use std::collections::BTreeMap;
use toml::Table;

/// Facts about the methods at all points, from the search for mistakes.
#[derive(Default)]
pub(super) struct Seen<'a> {
    /// By the index of a user's setting: the methods that lack it, each with the reason.
    pub homeless: BTreeMap<usize, Vec<(&'a str, ScenarioError)>>,
    /// The tree of each method at the first point, and its unread settings.
    pub unread: Vec<(Table, Vec<Unread>)>,
    /// The origin of a later setting that hides the sweep.
    hidden_by: Option<String>,
    /// Settings without effect, each with the methods under which it has none.
    without_effect: Vec<(String, Vec<&'a str>)>,
}

impl<'a> Seen<'a> {
    /// Records the notes for `method` at the point with index `at`.
    pub(super) fn case(
        &mut self,
        method: &'a str,
        at: usize,
        resolved: Resolved,
        hidden_by: impl Fn(&Locator) -> Option<String>,
    ) {
        for note in resolved.file.iter().flat_map(without_effect) {
            self.note(method, note);
        }
        if at > 0 {
            return;
        }
        if self.hidden_by.is_none() {
            self.hidden_by = hidden_by(&resolved.locator);
        }
        for (i, error) in resolved.homeless {
            self.homeless.entry(i).or_default().push((method, error));
        }
        let unread = unread::in_tree(&resolved.tree);
        self.unread.push((resolved.tree, unread));
    }

    /// Records `note` for `method`.
    pub(super) fn note(&mut self, method: &'a str, note: String) {
        match self.without_effect.iter_mut().find(|(known, _)| *known == note) {
            Some((_, under)) if under.last() != Some(&method) => under.push(method),
            Some(_) => {}
            None => self.without_effect.push((note, vec![method])),
        }
    }
}

impl Scenario {
    /// Notes on the settings for the user: a setting that does not apply, hides the sweep, is not
    /// read or has no effect.
    pub(super) fn notes_on(&self, seen: Seen<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        for (i, under) in seen.homeless {
            let methods: Vec<&str> = under.into_iter().map(|(method, _)| method).collect();
            let (path, methods) = (&self.overrides.set[i].path, methods.join(", "));
            notes.push(format!("--set {path} does not apply to {methods}: no such setting there"));
        }
        if let (Some(by), Some(sweep)) = (seen.hidden_by, &self.base.sweep) {
            let path = &sweep.path;
            notes.push(format!("{by} sets {path}, so that all points of the sweep are the same"));
        }
        notes.extend(unread::notes(seen.unread.into_iter().map(|(_, unread)| unread)));
        notes.extend(seen.without_effect.into_iter().map(|(note, under)| {
            let all = under.len() == self.methods().len();
            if all { note } else { format!("{}: {note}", under.join(", ")) }
        }));
        notes
    }
}

/// The settings of `file` that have no effect or another than they seem to, each with the reason.
fn without_effect(file: &ScenarioFile) -> Vec<String> {
    let notes = [limiter(file), upf_aqm(file), sdap_aqm(file), ssh(file), l4s(file), abc(file)];
    notes.into_iter().flatten().collect()
}

/// A fixed limit that the RLC queue's own limit keeps out of reach.
fn limiter(file: &ScenarioFile) -> Option<String> {
    let LimiterConfig::Fixed(FixedConfig { limit, overdraw }) = &file.rlc.limiter else {
        return None;
    };
    let mtu = u64::from(file.mtu);
    let queue = file.rlc.queue.limit;
    // The greatest content of the queue, in the limiter's unit; unknown if packets of any size fill
    // a limit in bytes.
    let most = match (limit, queue) {
        (Limit::Packets(_), Limit::Packets(n)) => u64::from(n),
        (Limit::Bytes(_), Limit::Packets(n)) => u64::from(n) * mtu,
        (Limit::Bytes(_), Limit::Bytes(n)) => n,
        _ => return None,
    };
    let least = match limit {
        Limit::Packets(n) => u64::from(*n),
        // Without overdraw the limiter refuses a packet that would exceed the limit.
        Limit::Bytes(n) if *overdraw => *n,
        Limit::Bytes(n) => n.saturating_sub(mtu),
        Limit::Unlimited => return None,
    };
    (least > most).then(|| {
        format!(
            "rlc.limiter.limit = \"{limit}\" holds nothing back: rlc.queue.limit is {queue}, so \
             that the RLC queue is full before and drops"
        )
    })
}

/// A UPF that is neither polled nor paced is transparent.
fn upf_aqm(file: &ScenarioFile) -> Option<String> {
    let passed =
        file.upf.poll.period.is_zero() && matches!(file.sdap.pacer, PacerConfig::Unpaced(_));
    (passed && file.upf.queue.has_aqm()).then(|| {
        "the AQM of upf.queue has no effect: without upf.poll.period and sdap.pacer packets pass \
         through the UPF at once"
            .into()
    })
}

/// The simulator has no SSH.
fn ssh(file: &ScenarioFile) -> Option<String> {
    let is_ssh = |tcp: &TcpFile| tcp.protocol == Transport::Ssh;
    let flow = file.flow.iter().find(|flow| flow.tcp.as_ref().is_some_and(is_ssh))?;
    Some(format!(
        "flow.{}.tcp.protocol is `ssh` in live runs only: the simulator sends the bytes alone, \
         without SSH's handshake",
        flow.name
    ))
}

/// An SDAP that is not polled, above a bearer that takes every packet, holds nothing.
fn sdap_aqm(file: &ScenarioFile) -> Option<String> {
    let passed =
        file.sdap.poll.period.is_zero() && matches!(file.rlc.limiter, LimiterConfig::Unlimited(_));
    let acts = |queue: &QueueConfig| queue.has_aqm() && !queue.aqm.needs_reports();
    (passed && acts(&file.sdap.queue)).then(|| {
        "the AQM of sdap.queue has no effect: without sdap.poll.period and rlc.limiter packets \
         pass through SDAP at once"
            .into()
    })
}

/// A sender under ABC where no queue has ABC's AQM, or the AQM with another sender.
fn abc(file: &ScenarioFile) -> Option<String> {
    let is_router = matches!(file.rlc.queue.aqm, AqmConfig::Abc(_));
    let is_abc = |sender: &SenderConfig| matches!(sender.cc, CcConfig::Abc(_));
    let differs = |flow: &&FlowFile| {
        let tcp = flow.tcp.iter().map(|tcp| &tcp.sender);
        let page = flow.page.iter().map(|page| &page.sender);
        let mut senders = tcp.chain(page).chain(flow.dash.iter().map(|dash| &dash.sender));
        senders.any(|sender| is_abc(sender) != is_router)
    };
    let name = &file.flow.iter().find(differs)?.name;
    Some(if is_router {
        format!(
            "flow.{name} is not under the control abc, but rlc.queue has the aqm abc: without ECN \
             it is never held, with ECN it takes each brake for congestion"
        )
    } else {
        format!(
            "flow.{name} is under the control abc, but rlc.queue has no aqm abc: each packet \
             accelerates until packets are lost"
        )
    })
}

/// A flow that sends ECT(1) where no queue marks L4S.
fn l4s(file: &ScenarioFile) -> Option<String> {
    let own = file.ue.iter().flat_map(|ue| &ue.qos_flow).filter_map(|flow| flow.queue.as_deref());
    let of_layers = [&file.upf.queue, &file.sdap.queue, &file.rlc.queue];
    let queues: Vec<&QueueConfig> = of_layers.into_iter().chain(own).collect();
    if queues.iter().any(|queue| queue.marks_l4s()) {
        return None;
    }
    let is_l4s = |sender: &SenderConfig| matches!(sender.cc, CcConfig::Prague(_));
    let is_scream = |call: &VideoCallConfig| match &call.control {
        RcConfig::Scream(scream) => scream.ecn == ScreamEcn::L4s,
        RcConfig::Gcc(_) => false,
    };
    let flow = file.flow.iter().find(|flow| {
        let tcp = flow.tcp.as_ref().is_some_and(|tcp| is_l4s(&tcp.sender));
        let page = flow.page.as_ref().is_some_and(|page| is_l4s(&page.sender));
        let call = flow.video_call.as_ref().is_some_and(is_scream);
        tcp || page || call || flow.dash.as_ref().is_some_and(|dash| is_l4s(&dash.sender))
    })?;
    let classic = queues.iter().any(|queue| queue.has_aqm() && queue.ect1 == Ect1::Classic);
    let comes = if classic {
        "its packets are marked as those with ECT(0), so that it starves classic flows of the same \
         queue"
    } else if queues.iter().any(|queue| queue.has_aqm()) {
        "the AQM drops its packets, and it reduces as after any loss"
    } else if flow.video_call.is_some() {
        "its own delay target alone limits the queue"
    } else {
        "it fills the queue until packets are lost"
    };
    Some(format!(
        "flow.{} sends ECT(1), but no queue has an L4S AQM (aqm dualpi2 or l4span, or l4s_threshold \
         of codel or fq_codel): {comes}",
        flow.name
    ))
}
