//! Settings of a dumbbell.

use super::Loss;
use justfull_base::error::ensure;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant};
use justfull_queue::Limit;
use justfull_tcp::{ReceiverConfig, SenderConfig};

/// Settings of one TCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct DumbbellFlow {
    /// Its sender.
    pub sender: SenderConfig,
    /// Its receiver.
    pub receiver: ReceiverConfig,
    /// Propagation delay there and back; above 0.
    pub rtt: Duration,
    /// Start of the flow.
    pub start: Duration,
    /// Payload bytes to send; none for an endless flow.
    pub size: Option<Bytes>,
    /// Rate of its server's link; 0 for no transmission time.
    pub access_rate: BitRate,
}

/// Settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct DumbbellConfig {
    /// The flows; at least one.
    pub flows: Vec<DumbbellFlow>,
    /// Rate of the bottleneck; above 0.
    pub rate: BitRate,
    /// The limit of the queue before the bottleneck, not counting the packet in transmission.
    pub limit: Limit,
    /// Packets lost behind the bottleneck, counted per flow.
    pub loss: Loss,
    /// ECN-capable packets marked behind the bottleneck, by the same rules.
    pub marks: Loss,
    /// Simulated time; above 0, at most a day. A run ends earlier if all flows have a size and are
    /// complete.
    pub duration: Duration,
    /// Time between samples, the first after one interval; 0 for none.
    pub sample_every: Duration,
    /// Seed for random losses, and for controls that use random numbers.
    pub seed: u64,
}

impl DumbbellFlow {
    /// An endless flow that starts at 0, with `rtt` and defaults for the other settings.
    #[must_use]
    pub fn greedy(sender: SenderConfig, receiver: ReceiverConfig, rtt: Duration) -> Self {
        Self { sender, receiver, rtt, start: Duration::ZERO, size: None, access_rate: BitRate(0) }
    }
}

impl DumbbellConfig {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let day = Duration::from_secs(86_400);
        let ok = !self.duration.is_zero() && self.duration <= day;
        ensure(ok, "duration", &self.duration, "above 0s, at most 24h", "a run ends")?;
        ensure(self.rate.0 > 0, "rate", &self.rate, "above 0bit/s", "the bottleneck serialises")?;
        ensure(!self.flows.is_empty(), "flow", &0, "at least one flow", "nothing would happen")?;
        self.limit.validate()?;
        self.loss.validate()?;
        self.marks.validate().map_err(|e| e.within("marks"))?;
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

    /// Time of the first sample; never without samples.
    pub(super) fn first_sample(&self) -> Instant {
        if self.sample_every.is_zero() { Instant::NEVER } else { Instant::ZERO + self.sample_every }
    }
}
