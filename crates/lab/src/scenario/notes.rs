//! What can be said of a scenario before a run: settings that are sound and have no effect.

use super::file::{ChannelFile, ScenarioFile};
use super::{Scenario, ScenarioError};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_ran::limiter::{FixedConfig, LimiterConfig};
use justfull_ran::pacer::PacerConfig;

impl Scenario {
    /// The settings that have no effect, with the methods under which they have none.
    ///
    /// # Errors
    /// What is wrong with the scenario under a method.
    pub(super) fn without_effect(&self) -> Result<Vec<String>, ScenarioError> {
        let mut found: Vec<(String, Vec<&str>)> = Vec::new();
        for method in self.methods() {
            for point in self.points() {
                let (file, _) = self.read(self.case(Some(method), point.as_ref()))?;
                for note in without_effect(&file) {
                    match found.iter_mut().find(|(known, _)| *known == note) {
                        Some((_, under)) if under.last() != Some(&method.as_str()) => under.push(method),
                        Some(_) => {}
                        None => found.push((note, vec![method])),
                    }
                }
            }
        }
        let words = |(note, under): (String, Vec<&str>)| {
            if under.len() == self.methods().len() { note } else { format!("{}: {note}", under.join(", ")) }
        };
        Ok(found.into_iter().map(words).collect())
    }
}

/// The settings of `file` that have no effect, each with the reason.
fn without_effect(file: &ScenarioFile) -> Vec<String> {
    let notes = [channel_unit(file), limiter(file), upf_aqm(file), sdap_aqm(file)];
    notes.into_iter().flatten().collect()
}

/// With a carrier the unit of a channel says nothing, and packets, its default, are not what limiters count.
fn channel_unit(file: &ScenarioFile) -> Option<String> {
    file.mac.carrier.as_ref()?;
    let own = file.ue.iter().enumerate().map(|(i, ue)| (format!("ue[{i}].channel"), ue.channel.as_ref()));
    let mut all = std::iter::once(("channel".to_string(), Some(&file.channel))).chain(own);
    let (field, _) = all.find(|(_, channel)| channel.and_then(unit) == Some(CapacityUnit::Packets))?;
    Some(format!(
        "{field}.unit = \"packets\" has no effect with mac.carrier: the MAC deals in resource blocks, and limiters and \
         pacers count bytes"
    ))
}

/// The unit that `channel` names; none for the kinds that name none.
fn unit(channel: &ChannelFile) -> Option<CapacityUnit> {
    match channel {
        ChannelFile::Constant(c) => Some(c.unit),
        ChannelFile::Rows(c) => Some(c.unit),
        ChannelFile::CqiRows(c) => Some(c.unit),
        ChannelFile::Markov(c) => Some(c.unit),
        ChannelFile::Trace(c) => Some(c.unit),
        ChannelFile::CqiTrace(c) => Some(c.quality.unit),
        ChannelFile::Pattern(_) | ChannelFile::Mcs(_) | ChannelFile::McsTrace(_) => None,
    }
}

/// A fixed limit that the RLC queue's own limit keeps out of reach.
fn limiter(file: &ScenarioFile) -> Option<String> {
    let LimiterConfig::Fixed(FixedConfig { limit, overdraw }) = &file.rlc.limiter else { return None };
    let mtu = u64::from(file.mtu);
    let queue = file.rlc.queue.limit;
    // The most that the queue ever holds, in the limiter's unit; unknown where packets of any size fill bytes.
    let most = match (limit, queue) {
        (Limit::Packets(_), Limit::Packets(n)) => u64::from(n),
        (Limit::Bytes(_), Limit::Packets(n)) => u64::from(n) * mtu,
        (Limit::Bytes(_), Limit::Bytes(n)) => n,
        _ => return None,
    };
    let least = match limit {
        Limit::Packets(n) => u64::from(*n),
        // Without overdraw it refuses what would take the queue beyond the limit.
        Limit::Bytes(n) if *overdraw => *n,
        Limit::Bytes(n) => n.saturating_sub(mtu),
        Limit::Unlimited => return None,
    };
    (least > most).then(|| {
        format!(
            "rlc.limiter.limit = \"{limit}\" holds nothing back: rlc.queue.limit is {queue}, so that the RLC queue is full \
             before and drops"
        )
    })
}

/// A UPF that is neither polled nor paced is passed through.
fn upf_aqm(file: &ScenarioFile) -> Option<String> {
    let passed = file.upf.poll.period.is_zero() && matches!(file.sdap.pacer, PacerConfig::Unpaced(_));
    (passed && file.upf.queue.has_aqm()).then(|| {
        "the AQM of upf.queue has no effect: without upf.poll.period and sdap.pacer packets pass through the UPF at once"
            .into()
    })
}

/// An SDAP that is not polled, above a bearer that takes everything, holds nothing.
fn sdap_aqm(file: &ScenarioFile) -> Option<String> {
    let passed = file.sdap.poll.period.is_zero() && matches!(file.rlc.limiter, LimiterConfig::Unlimited(_));
    (passed && file.sdap.queue.has_aqm()).then(|| {
        "the AQM of sdap.queue has no effect: without sdap.poll.period and rlc.limiter packets pass through SDAP at once"
            .into()
    })
}
