//! User plane function: packet detection rules (TS 23.501 section 5.8.2, TS 29.244 section 5.2)
//! give each flow its QFI, and flow queues hold packets that may not move down yet.
//!
//! The flows of one QFI share a queue, whose discipline may be stochastic fair queueing over the
//! 5-tuple hash. The QFIs of a UE take turns, one packet each. T20's program puts all UDP in one
//! queue and all TCP in another; here flows are hashed.

use crate::few::collect_exactly;
use crate::prefix::Prefix;
use alloc::boxed::Box;
use justfull_base::packet::Protocol;
use justfull_base::rng::mix;
use justfull_base::{ConfigError, Dscp, Qfi, table};
use justfull_queue::{ManagedQueue, QueueConfig};

/// The identity of a flow of packets. IPv4 addresses are stored as IPv4-mapped IPv6 addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple {
    /// Source address.
    pub source: [u8; 16],
    /// Destination address.
    pub destination: [u8; 16],
    /// Source port; for an ICMP echo reply its identifier; 0 if there are no ports (other
    /// protocols, fragments whose first was not seen).
    pub source_port: u16,
    /// Destination port; for an ICMP echo request its identifier; 0 if there are no ports.
    pub destination_port: u16,
    /// Transport protocol.
    pub protocol: Protocol,
}

impl FiveTuple {
    /// Hash under the run's key. Equal tuples under equal keys have equal hashes; nothing else can
    /// be inferred from it.
    #[must_use]
    pub fn hash(&self, key: u64) -> u32 {
        let word = |bytes: &[u8]| bytes.iter().fold(0u64, |w, b| w << 8 | u64::from(*b));
        let ports = u64::from(self.source_port) << 32
            | u64::from(self.destination_port) << 8
            | self.protocol as u64;
        let (s, d) = (&self.source, &self.destination);
        let hash = [word(&s[..8]), word(&s[8..]), word(&d[..8]), word(&d[8..]), ports];
        (hash.iter().fold(key, |h, w| mix(h ^ w)) >> 32) as u32
    }
}

table! {
    /// A packet detection rule: every field that is set must match; the first rule that matches
    /// names the QFI. It has the fields of a packet filter set (TS 23.501 section 5.7.6.2) without
    /// security parameter index and flow label.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    #[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
    pub struct PacketDetectionRule {
        /// QoS flow of the packets that match.
        qfi: Qfi;
        /// Transport protocol (`tcp`, `udp`, `icmp`, `other`).
        #[cfg_attr(
            feature = "serde",
            serde(default, with = "protocol_name", skip_serializing_if = "Option::is_none")
        )]
        protocol: Option<Protocol> = None;
        /// Server's port.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        source_port: Option<u16> = None;
        /// UE's port.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        destination_port: Option<u16> = None;
        /// Server's address or prefix, as `"192.0.2.0/24"` or `"2001:db8::/32"`.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        source: Option<Prefix> = None;
        /// UE's address or prefix.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        destination: Option<Prefix> = None;
        /// Differentiated services codepoint (the type of service or traffic class without its ECN
        /// bits).
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        dscp: Option<Dscp> = None;
    }
}

impl PacketDetectionRule {
    /// A rule that every packet matches.
    #[must_use]
    pub const fn any(qfi: Qfi) -> Self {
        Self {
            qfi,
            protocol: None,
            source_port: None,
            destination_port: None,
            source: None,
            destination: None,
            dscp: None,
        }
    }

    /// True if the rule matches packets of `tuple` with `dscp`.
    #[must_use]
    pub fn matches(&self, tuple: &FiveTuple, dscp: Dscp) -> bool {
        self.protocol.is_none_or(|p| p == tuple.protocol)
            && self.source_port.is_none_or(|p| p == tuple.source_port)
            && self.destination_port.is_none_or(|p| p == tuple.destination_port)
            && self.source.is_none_or(|p| p.contains(&tuple.source))
            && self.destination.is_none_or(|p| p.contains(&tuple.destination))
            && self.dscp.is_none_or(|d| d == dscp)
    }
}

/// The QFI that `rules` assign to packets of `tuple` with `dscp`; none if no rule matches.
#[must_use]
pub fn detect(rules: &[PacketDetectionRule], tuple: &FiveTuple, dscp: Dscp) -> Option<Qfi> {
    rules.iter().find(|rule| rule.matches(tuple, dscp)).map(|rule| rule.qfi)
}

/// The flow queues of one QFI of one UE.
pub(crate) struct UpfQueue {
    pub(crate) queue: ManagedQueue,
    /// The amount that SDAP still takes at this opportunity, in the pacer's unit.
    pub(crate) allowance: u64,
}

/// The UPF's queues for one UE. The index of a queue is the index of the QoS flow in the UE's
/// configuration.
pub(crate) struct UeUpf {
    pub(crate) queues: Box<[UpfQueue]>,
    turn: u32,
    /// True if the UE is in the list of UEs with packets in the UPF.
    pub(crate) listed: bool,
}

impl UeUpf {
    pub(crate) fn new(
        config: &QueueConfig,
        qos_flows: usize,
        key: u64,
    ) -> Result<Self, ConfigError> {
        let queues = (0..qos_flows).map(|i| {
            let queue = ManagedQueue::new(justfull_base::Layer::Upf, config, mix(key ^ i as u64))?;
            Ok(UpfQueue { queue, allowance: 0 })
        });
        Ok(Self { queues: collect_exactly(queues)?.into(), turn: 0, listed: false })
    }

    /// True if any queue holds a packet.
    pub(crate) fn is_busy(&self) -> bool {
        self.queues.iter().any(|q| q.queue.backlog_packets() > 0)
    }

    /// The queue that holds packets, if there is only one.
    #[inline(always)]
    pub(crate) fn sole(&self) -> Option<usize> {
        let mut busy = (0..).zip(&self.queues).filter(|(_, q)| q.queue.backlog_packets() > 0);
        let (only, _) = busy.next()?;
        busy.next().is_none().then_some(only)
    }

    /// Queue `i` has had its turns.
    #[inline(always)]
    pub(crate) fn pass_turn(&mut self, i: usize) {
        self.turn = ((i + 1) % self.queues.len()) as u32;
    }

    /// The next queue in turn with a packet and an allowance.
    pub(crate) fn next_in_turn(&mut self) -> Option<usize> {
        let n = self.queues.len();
        let found = (0..n).map(|i| (self.turn as usize + i) % n).find(|&i| {
            let q = &self.queues[i];
            q.allowance > 0 && q.queue.backlog_packets() > 0
        })?;
        self.pass_turn(found);
        Some(found)
    }
}

#[cfg(feature = "serde")]
mod protocol_name {
    use justfull_base::packet::Protocol;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Name {
        Tcp,
        Udp,
        Icmp,
        Other,
    }

    pub(super) fn serialize<S: Serializer>(
        protocol: &Option<Protocol>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        let name = protocol.map(|p| match p {
            Protocol::Tcp => Name::Tcp,
            Protocol::Udp => Name::Udp,
            Protocol::Icmp => Name::Icmp,
            Protocol::Other => Name::Other,
        });
        name.serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Option<Protocol>, D::Error> {
        Ok(Some(match Name::deserialize(d)? {
            Name::Tcp => Protocol::Tcp,
            Name::Udp => Protocol::Udp,
            Name::Icmp => Protocol::Icmp,
            Name::Other => Protocol::Other,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(port: u16) -> FiveTuple {
        FiveTuple { destination_port: port, protocol: Protocol::Udp, ..FiveTuple::default() }
    }

    #[test]
    fn the_first_rule_that_matches_names_the_qfi() {
        let qfi = |n| Qfi::new(n).expect("below 64");
        let rules = [
            PacketDetectionRule {
                destination_port: Some(5004),
                ..PacketDetectionRule::any(qfi(1))
            },
            PacketDetectionRule {
                protocol: Some(Protocol::Tcp),
                ..PacketDetectionRule::any(qfi(9))
            },
        ];
        let detect = |tuple| detect(&rules, &tuple, Dscp::default());
        assert_eq!(detect(tuple(5004)), Some(qfi(1)));
        assert_eq!(detect(tuple(80)), None);
        assert_eq!(detect(FiveTuple { protocol: Protocol::Tcp, ..tuple(80) }), Some(qfi(9)));
    }

    #[test]
    fn a_rule_asks_for_codepoint_and_prefixes() {
        let qfi = |n| Qfi::new(n).expect("below 64");
        let prefix = |text: &str| text.parse::<Prefix>().ok();
        let ef = Dscp::new(46).expect("below 64");
        let rules = [
            PacketDetectionRule { dscp: Some(ef), ..PacketDetectionRule::any(qfi(1)) },
            PacketDetectionRule {
                source: prefix("2001:db8::/32"),
                ..PacketDetectionRule::any(qfi(2))
            },
            PacketDetectionRule {
                destination: prefix("2001:db8::/32"),
                ..PacketDetectionRule::any(qfi(3))
            },
        ];
        let documented = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        let from = FiveTuple { source: documented, ..tuple(1) };
        let to = FiveTuple { destination: documented, ..tuple(1) };
        assert_eq!(detect(&rules, &from, ef), Some(qfi(1)));
        assert_eq!(detect(&rules, &from, Dscp::default()), Some(qfi(2)));
        assert_eq!(detect(&rules, &to, Dscp::default()), Some(qfi(3)));
        assert_eq!(detect(&rules, &tuple(1), Dscp::default()), None);
    }

    #[test]
    fn the_hash_depends_on_the_key_and_on_every_field() {
        let t = tuple(1);
        assert_eq!(t.hash(7), t.hash(7));
        assert_ne!(t.hash(7), t.hash(8));
        assert_ne!(t.hash(7), tuple(2).hash(7));
        assert_ne!(t.hash(7), FiveTuple { source_port: 1, ..t }.hash(7));
        assert_ne!(t.hash(7), FiveTuple { protocol: Protocol::Tcp, ..t }.hash(7));
    }
}
