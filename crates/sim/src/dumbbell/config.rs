//! What a user sets of a dumbbell.

use super::Loss;
use justfull_base::error::ensure;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant};
use justfull_queue::Limit;
use justfull_tcp::{ReceiverConfig, SenderConfig};

/// One TCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct DumbbellFlow {
    /// Its sender.
    pub sender: SenderConfig,
    /// Its receiver.
    pub receiver: ReceiverConfig,
    /// Propagation there and back; above 0.
    pub rtt: Duration,
    /// When it starts.
    pub start: Duration,
    /// Payload bytes that it sends; none: without end.
    pub size: Option<Bytes>,
    /// Rate of its server's link; 0 for no serialisation.
    pub access_rate: BitRate,
}

/// Settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct DumbbellConfig {
    /// The flows; at least one.
    pub flows: Vec<DumbbellFlow>,
    /// Rate of the bottleneck; above 0.
    pub rate: BitRate,
    /// What the queue before the bottleneck holds, the packet that is being sent not counted.
    pub limit: Limit,
    /// Which packets are lost behind the bottleneck; each flow is counted by itself.
    pub loss: Loss,
    /// Simulated time; above 0, at most a day. A run ends earlier when all flows have a size and
    /// are complete.
    pub duration: Duration,
    /// Time between samples, the first after one of it; 0 for none.
    pub sample_every: Duration,
    /// Seed of random losses and of controls that draw.
    pub seed: u64,
}

impl DumbbellFlow {
    /// A flow without end that starts at 0, with `rtt` and defaults for all else.
    #[must_use]
    pub fn greedy(sender: SenderConfig, receiver: ReceiverConfig, rtt: Duration) -> Self {
        Self { sender, receiver, rtt, start: Duration::ZERO, size: None, access_rate: BitRate(0) }
    }
}

impl DumbbellConfig {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first field outside its bound.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let day = Duration::from_secs(86_400);
        let ok = !self.duration.is_zero() && self.duration <= day;
        ensure(ok, "duration", &self.duration, "above 0s, at most 24h", "a run ends")?;
        ensure(self.rate.0 > 0, "rate", &self.rate, "above 0bit/s", "the bottleneck serialises")?;
        ensure(!self.flows.is_empty(), "flow", &0, "at least one flow", "nothing would happen")?;
        self.limit.validate()?;
        self.loss.validate()?;
        for (i, flow) in self.flows.iter().enumerate() {
            let at = format!("flow[{i}]");
            let some = !flow.rtt.is_zero();
            ensure(
                some,
                &format!("{at}.rtt"),
                &flow.rtt,
                "above 0s",
                "a loop without delay never ends",
            )?;
            let sent = flow.size != Some(Bytes(0));
            ensure(
                sent,
                &format!("{at}.size"),
                &Bytes(0),
                "at least 1B",
                "an empty flow is never complete",
            )?;
            flow.sender.validate().map_err(|e| e.within(&format!("{at}.sender")))?;
            flow.receiver.validate().map_err(|e| e.within(&format!("{at}.receiver")))?;
        }
        Ok(())
    }

    /// When the first sample is taken; never without samples.
    pub(super) fn first_sample(&self) -> Instant {
        if self.sample_every.is_zero() { Instant::NEVER } else { Instant::ZERO + self.sample_every }
    }
}
