//! Building a stack from its settings.

use super::*;
use crate::UeConfig;
use crate::limiter::LimiterConfig;
use crate::pacer::PacerConfig;

/// Bytes of the MAC subheader of an RLC PDU: R, F, LCID and a length of 16 bits (TS 38.321 section 6.1.2; TS 36.321 section 6.1.2). A21's
/// transport blocks of 1572 and 2292 B leave 1569 and 2289 B.
const MAC_HEADER: u8 = 3;

/// What was built, in a vector of its exact length: collecting results leaves room for four of them.
pub(crate) fn collect_exactly<T>(
    items: impl ExactSizeIterator<Item = Result<T, ConfigError>>,
) -> Result<Vec<T>, ConfigError> {
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        all.push(item?);
    }
    Ok(all)
}

/// Key of the streams of chance of UE `index`.
fn ue_key(config: &StackConfig, index: usize) -> u64 {
    mix(stream_key(config.seed, "ue") ^ index as u64)
}

impl Stack {
    /// A cell by `config`.
    ///
    /// # Errors
    /// The first field that is out of bounds, or a combination that cannot work.
    pub fn new(config: &StackConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let seed = config.seed;
        let upf_poll = config.upf.poll.ticker(seed, "upf.poll").map_err(|e| e.within("upf.poll"))?;
        let sdap_poll = config.sdap.poll.ticker(seed, "sdap.poll").map_err(|e| e.within("sdap.poll"))?;
        let mac_ticker = config.mac.slot.ticker(seed, "mac.slot").map_err(|e| e.within("mac.slot"))?;
        let slot = mac_ticker.map_or(config.mac.slot.period, |t| t.period());
        let channel = Channel::new(&config.channel, stream_key(seed, "channel"), config.mac.slot.period)
            .map_err(|e| e.within("channel"))?;
        let unit = config.unit();
        let upf_event_driven = upf_poll.is_none();
        let unpaced = matches!(config.sdap.pacer, PacerConfig::Unpaced(_));
        let context = LimiterContext { unit, slot, mtu: config.mtu };
        let clairvoyant = matches!(config.rlc.limiter, LimiterConfig::Clairvoyant(_))
            || matches!(config.sdap.pacer, PacerConfig::Clairvoyant(_));
        let mut mac_poll = Poll::new(mac_ticker);
        mac_poll.arm(Instant::ZERO, false);
        let blocks = Blocks::new(config)?;
        let reported = (config.mac.cqi_delay > 0 && blocks.is_some()).then(|| channel.clone());
        let mut stack = Self {
            ues: Vec::with_capacity(config.ues.len()),
            upfs: Vec::new(),
            flows: Vec::new(),
            upf_poll: Poll::new(upf_poll),
            sdap_poll: Poll::new(sdap_poll),
            mac_poll,
            upf_batch: config.upf.batch,
            sdap_batch: config.sdap.batch,
            upf_busy: Vec::new(),
            sdap_busy: Vec::new(),
            turns: Turns::default(),
            channel,
            reported,
            blocks,
            per_ue_channels: config.ues.iter().any(|ue| ue.channel.is_some()),
            unit,
            slot,
            overhead: config.mac.overhead.0,
            mtu: config.mtu,
            last_slot: LastSlot::default(),
            backlog: RlcView::default(),
            top_down: config.tie_order == TieOrder::TopDown,
            unpaced,
            hash_key: stream_key(seed, "upf.hash"),
            assert_bound: config.assert_bound,
            limiters_listen: !matches!(
                config.rlc.limiter,
                LimiterConfig::Unlimited(_) | LimiterConfig::Fixed(_)
            ),
            clairvoyant: clairvoyant.then_some(context),
            upf_aqm_idles: upf_event_driven && unpaced && config.upf.queue.has_aqm(),
            held: 0,
            paced: 0,
            next_id: 0,
            delivered: 0,
            unmatched: 0,
        };
        if !(upf_event_driven && unpaced) {
            let upf = |(index, ue): (usize, &Arc<UeConfig>)| {
                let key = mix(ue_key(config, index) ^ 1);
                UeUpf::new(&config.upf.queue, ue.qos_flows.len(), key).map_err(|e| e.within("upf.queue"))
            };
            stack.upfs = collect_exactly(config.ues.iter().enumerate().map(upf))?;
        }
        for index in 0..config.ues.len() {
            let ue = stack.build_ue(config, index, &context)?;
            stack.ues.push(ue);
        }
        stack.check_polls(config)?;
        Ok(stack)
    }

    fn build_ue(
        &self,
        config: &StackConfig,
        index: usize,
        context: &LimiterContext,
    ) -> Result<Ue, ConfigError> {
        let ue = &config.ues[index];
        let within_ue = |e: ConfigError| e.within(&alloc::format!("ue[{index}]"));
        let key = ue_key(config, index);
        let pacer_context = PacerContext { unit: context.unit, slot: context.slot, mtu: context.mtu };
        let rlc = (0..ue.drbs).map(|drb| {
            let mut rlc = RlcEntity::new(&config.rlc, context, mix(key ^ 3) ^ u64::from(drb))?;
            if config.mac.carrier.is_some() {
                rlc.link = Some(Link::new(&config.rlc.mode, &config.pdcp, MAC_HEADER)?);
            }
            Ok(rlc)
        });
        let channel =
            ue.channel.as_ref().map(|c| Channel::new(c, mix(key ^ 4), config.mac.slot.period)).transpose();
        let channel = channel.map_err(|e| within_ue(e.within("channel")))?;
        if config.mac.carrier.is_none()
            && let Some(channel) = &channel
            && channel.unit() != context.unit
        {
            let unit = alloc::format!("{:?}", channel.unit());
            return Err(within_ue(ConfigError::new(
                "channel.unit",
                &unit,
                "the unit of the cell's channel",
                "one MAC, one unit",
            )));
        }
        Ok(Ue {
            sdap: UeSdap::new(&config.sdap, &ue.qos_flows, &pacer_context, mix(key ^ 2))
                .map_err(|e| e.within("sdap"))?,
            rlc: collect_exactly(rlc).map_err(|e| e.within("rlc"))?.into(),
            qfis: self.shared(|ue| &ue.qfis, ue.qos_flows.iter().map(|flow| flow.qfi)),
            rules: self.shared(|ue| &ue.rules, ue.rules.iter().cloned()),
            reported: channel.as_ref().filter(|_| self.reported.is_some()).cloned().map(Box::new),
            channel: channel.map(Box::new),
            slice: ue.slice,
            block_listed: false,
            sdap_listed: false,
        })
    }

    /// What `items` are, shared with the UE before where that one has the same.
    fn shared<T: PartialEq>(
        &self,
        of: impl Fn(&Ue) -> &Arc<[T]>,
        items: impl ExactSizeIterator<Item = T> + Clone,
    ) -> Arc<[T]> {
        match self.ues.last().map(of) {
            Some(before) if before.iter().eq(items.clone().collect::<Vec<_>>().iter()) => Arc::clone(before),
            _ => items.collect(),
        }
    }

    /// A limiter whose answer changes with time alone, and a pacer, need a poll that asks them again.
    fn check_polls(&self, config: &StackConfig) -> Result<(), ConfigError> {
        let paces = self.ues.iter().flat_map(|ue| &*ue.rlc).any(|rlc| rlc.limiter.paces());
        // The clairvoyant pacer counts the polls of SDAP before the UPF's next opportunity.
        let foresees = matches!(config.sdap.pacer, PacerConfig::Clairvoyant(_));
        let why = "the method opens with time and must be asked several times a slot";
        justfull_base::error::ensure(
            !((paces || foresees) && self.sdap_poll.is_event_driven()),
            "sdap.poll.period",
            &config.sdap.poll.period,
            "above 0s with this rlc.limiter or sdap.pacer",
            why,
        )?;
        let paced = !matches!(config.sdap.pacer, PacerConfig::Unpaced(_));
        justfull_base::error::ensure(
            !(paced && self.upf_poll.is_event_driven()),
            "upf.poll.period",
            &config.upf.poll.period,
            "above 0s with this sdap.pacer",
            why,
        )
    }
}
