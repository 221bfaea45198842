//! Expressions of rules.

use super::attributes::Attributes;
use justfull_net::router::has_ipv6;
use nix::libc;
use std::net::{IpAddr, SocketAddr};

/// `NFT_OBJECT_COUNTER`.
pub(super) const COUNTER: u32 = 1;
const VERDICT: u32 = 0;
const REG_1: u32 = 1;
const REG_2: u32 = 2;
/// The first of the four-byte registers; sixteen bytes of them are one of the large registers.
const REG32: u32 = 8;
pub(crate) const DROP: i32 = 0;
pub(crate) const ACCEPT: i32 = 1;
pub(crate) const JUMP: i32 = -3;
pub(crate) const GOTO: i32 = -4;
pub(crate) const RETURN: i32 = -5;
pub(crate) const META_MARK: u32 = 3;
pub(crate) const META_IIF: u32 = 4;
pub(crate) const META_OIF: u32 = 5;
pub(crate) const META_IIFNAME: u32 = 6;
pub(crate) const META_OIFNAME: u32 = 7;
pub(crate) const META_L4PROTO: u32 = 16;
const META_NFTRACE: u32 = 12;
const CT_STATUS: u32 = 2;
pub(crate) const TCP: u8 = 6;
const NETWORK: u32 = 1;
const TRANSPORT: u32 = 2;
const EQUAL: u32 = 0;
const UNEQUAL: u32 = 1;
/// FIN, SYN, RST and ACK of a TCP header's flags.
const FLAGS: u8 = 0x17;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
/// `NFT_REJECT_TCP_RST`.
const REJECT_BY_RESET: u32 = 1;

/// The differences between the families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// `NFPROTO_IPV4` or `NFPROTO_IPV6`.
    pub(crate) number: u8,
    /// Places of the addresses in the header, and their length.
    pub(crate) addresses: [u32; 2],
    pub(crate) address_bytes: u32,
    /// ICMP or ICMPv6.
    pub(crate) icmp: u8,
    pub(crate) loopback: &'static [u8],
    /// The number that `nft` uses for the type of a set of addresses and ports.
    pub(super) address_type: u32,
}

const IPV4: Family = Family {
    number: 2,
    addresses: [12, 16],
    address_bytes: 4,
    icmp: 1,
    loopback: &[127, 0, 0, 1],
    address_type: 7,
};
const IPV6: Family = Family {
    number: 10,
    addresses: [8, 24],
    address_bytes: 16,
    icmp: 58,
    loopback: &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    address_type: 8,
};

/// Network devices, which have packets of both families.
pub(crate) const NETDEV: Family = Family { number: 5, ..IPV4 };

/// The bytes of an address.
pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

/// The families that this host has.
pub(crate) fn families() -> Vec<Family> {
    let mut found = vec![IPV4];
    if has_ipv6() {
        found.push(IPV6);
    }
    found
}

/// The action of a rule on a connection in a set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SetAction {
    Add = 0,
    /// Adds an element, or restarts the timeout of an element.
    Update = 1,
    Remove = 2,
}

/// The expressions of a rule, in order.
#[derive(Default)]
pub(crate) struct Expressions(Attributes);

impl Expressions {
    /// The bytes of the expressions for a rule.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0.0
    }

    fn expression(mut self, name: &str, fill: impl FnOnce(&mut Attributes)) -> Self {
        self.0.nest(1, |a| {
            a.text(1, name);
            a.nest(2, fill);
        });
        self
    }

    fn meta(self, key: u32) -> Self {
        self.expression("meta", |a| {
            a.number(1, REG_1);
            a.number(2, key);
        })
    }

    fn compare(self, how: u32, with: &[u8]) -> Self {
        self.expression("cmp", |a| {
            a.number(1, REG_1);
            a.number(2, how);
            a.value(3, with);
        })
    }

    fn load(self, register: u32, base: u32, offset: u32, length: u32) -> Self {
        self.expression("payload", |a| {
            a.number(1, register);
            a.number(2, base);
            a.number(3, offset);
            a.number(4, length);
        })
    }

    fn payload(self, base: u32, offset: u32, length: u32) -> Self {
        self.load(REG_1, base, offset, length)
    }

    fn masked(self, mask: &[u8]) -> Self {
        self.expression("bitwise", |a| {
            a.number(1, REG_1);
            a.number(2, REG_1);
            a.number(3, mask.len() as u32);
            a.value(4, mask);
            a.value(5, &vec![0; mask.len()]);
        })
    }

    /// Matches this protocol above IP.
    pub(crate) fn protocol(self, protocol: u8) -> Self {
        self.meta(META_L4PROTO).compare(EQUAL, &[protocol])
    }

    /// Matches the interface of arrival or departure, as `key` says.
    pub(crate) fn interface(self, key: u32, interface: &str) -> Self {
        let mut name = [0; libc::IFNAMSIZ];
        name[..interface.len()].copy_from_slice(interface.as_bytes());
        self.meta(key).compare(EQUAL, &name)
    }

    pub(crate) fn marked(self, mark: u32) -> Self {
        self.meta(META_MARK).compare(EQUAL, &mark.to_ne_bytes())
    }

    fn flags(self, of: u8, how: u32, flags: u8) -> Self {
        self.protocol(TCP).payload(TRANSPORT, 13, 1).masked(&[of]).compare(how, &[flags])
    }

    /// Matches a first segment of TCP.
    pub(crate) fn first(self) -> Self {
        self.flags(FLAGS, EQUAL, SYN)
    }

    /// Matches any other segment of TCP.
    pub(crate) fn not_first(self) -> Self {
        self.flags(FLAGS, UNEQUAL, SYN)
    }

    /// Matches a segment with RST.
    pub(crate) fn reset(self) -> Self {
        self.flags(RST, EQUAL, RST)
    }

    /// Matches a possible third segment of a connection; it may carry FIN.
    pub(crate) fn third(self) -> Self {
        self.flags(FLAGS & !FIN, EQUAL, ACK)
    }

    pub(crate) fn source_port(self, port: u16) -> Self {
        self.payload(TRANSPORT, 0, 2).compare(EQUAL, &port.to_be_bytes())
    }

    /// Matches an end of a connection: source or destination.
    pub(crate) fn end(self, family: &Family, source: bool, end: SocketAddr) -> Self {
        let octets = octets(end.ip());
        let (at, port) = (family.addresses[usize::from(!source)], if source { 0 } else { 2 });
        self.protocol(TCP)
            .payload(NETWORK, at, octets.len() as u32)
            .compare(EQUAL, &octets)
            .payload(TRANSPORT, port, 2)
            .compare(EQUAL, &end.port().to_be_bytes())
    }

    /// Matches if the port is from `first` to `last`: the source port if `source`, else the
    /// destination port.
    pub(crate) fn ports(self, source: bool, first: u16, last: u16) -> Self {
        self.payload(TRANSPORT, if source { 0 } else { 2 }, 2).expression("range", |a| {
            a.number(1, REG_1);
            a.number(2, EQUAL);
            a.value(3, &first.to_be_bytes());
            a.value(4, &last.to_be_bytes());
        })
    }

    /// Matches if source or destination has the first `bits` of `address`, which is of `family`.
    pub(crate) fn prefix(self, family: &Family, source: bool, address: &[u8], bits: u8) -> Self {
        let mask: Vec<u8> = (0..address.len())
            .map(|byte| {
                let bits = usize::from(bits).saturating_sub(8 * byte).min(8);
                !(0xff_u8.checked_shr(bits as u32).unwrap_or(0))
            })
            .collect();
        let offset = family.addresses[usize::from(!source)];
        self.payload(NETWORK, offset, address.len() as u32).masked(&mask).compare(EQUAL, address)
    }

    /// Loads the key of a set: the address and port of the UE, then of the server.
    fn connection(self, family: &Family, from_ue: bool) -> Self {
        let words = family.address_bytes / 4;
        let [source, destination] = family.addresses;
        let ends = [(source, 0), (destination, 2)];
        let [ue, server] = if from_ue { ends } else { [ends[1], ends[0]] };
        self.load(REG32, NETWORK, ue.0, family.address_bytes)
            .load(REG32 + words, TRANSPORT, ue.1, 2)
            .load(REG32 + words + 1, NETWORK, server.0, family.address_bytes)
            .load(REG32 + 2 * words + 1, TRANSPORT, server.1, 2)
    }

    /// Adds the connection of a segment from a UE to a set, or removes it. If the set is full, the
    /// rest of the rule does not apply.
    pub(crate) fn change_set(self, family: &Family, set: &str, action: SetAction) -> Self {
        self.change_set_by(family, set, action, true)
    }

    /// As [`Self::change_set`], for a segment from a UE (`from_ue`) or to a UE.
    pub(crate) fn change_set_by(
        self,
        family: &Family,
        set: &str,
        action: SetAction,
        from_ue: bool,
    ) -> Self {
        self.connection(family, from_ue).change(set, action)
    }

    fn change(self, set: &str, action: SetAction) -> Self {
        self.expression("dynset", |a| {
            a.text(1, set);
            a.number(3, action as u32);
            a.number(4, REG32);
        })
    }

    pub(crate) fn in_set(self, family: &Family, set: &str) -> Self {
        self.in_set_by(family, set, true)
    }

    /// As [`Self::in_set`], for a segment from a UE (`from_ue`) or to a UE.
    pub(crate) fn in_set_by(self, family: &Family, set: &str, from_ue: bool) -> Self {
        self.connection(family, from_ue).find(set)
    }

    fn find(self, set: &str) -> Self {
        self.expression("lookup", |a| {
            a.text(1, set);
            a.number(2, REG32);
        })
    }

    /// Loads a key of zeros, which no connection has.
    fn no_connection(self, family: &Family) -> Self {
        let bytes = 2 * (family.address_bytes + 4);
        (0..bytes).step_by(16).fold(self, |r, at| {
            r.immediate(REG32 + at / 4, &vec![0; (bytes - at).min(16) as usize])
        })
    }

    /// Puts a key of zeros into a set as a flag, or restarts the timeout of the flag.
    pub(crate) fn raise(self, family: &Family, set: &str) -> Self {
        self.no_connection(family).change(set, SetAction::Update)
    }

    /// Matches while a set has the flag of [`Self::raise`].
    pub(crate) fn raised(self, family: &Family, set: &str) -> Self {
        self.no_connection(family).find(set)
    }

    /// Matches if connection tracking has changed the destination.
    pub(crate) fn destination_translated(self) -> Self {
        const IPS_DST_NAT: u32 = 1 << 5;
        self.expression("ct", |a| {
            a.number(1, REG_1);
            a.number(2, CT_STATUS);
        })
        .masked(&IPS_DST_NAT.to_ne_bytes())
        .compare(UNEQUAL, &[0; 4])
    }

    /// Matches packets of a transparent socket of this host, and ICMP errors about such packets.
    pub(crate) fn of_transparent_socket(self) -> Self {
        self.expression("socket", |a| {
            a.number(1, 0);
            a.number(2, REG_1);
        })
        .compare(EQUAL, &[1])
    }

    pub(crate) fn untracked(self) -> Self {
        self.expression("notrack", |_| {})
    }

    pub(crate) fn traced(self) -> Self {
        self.immediate(REG_1, &[1]).expression("meta", |a| {
            a.number(2, META_NFTRACE);
            a.number(3, REG_1);
        })
    }

    pub(crate) fn counted(self, counter: &str) -> Self {
        self.expression("objref", |a| {
            a.number(1, COUNTER);
            a.text(2, counter);
        })
    }

    fn immediate(self, register: u32, value: &[u8]) -> Self {
        self.expression("immediate", |a| {
            a.number(1, register);
            a.value(2, value);
        })
    }

    pub(crate) fn mark(self, mark: u32) -> Self {
        self.immediate(REG_1, &mark.to_ne_bytes()).expression("meta", |a| {
            a.number(2, META_MARK);
            a.number(3, REG_1);
        })
    }

    /// Delivers to the listener at `port` of this host's loopback address.
    pub(crate) fn tproxy(self, family: &Family, port: u16) -> Self {
        let set = self.immediate(REG_1, family.loopback).immediate(REG_2, &port.to_be_bytes());
        set.expression("tproxy", |a| {
            a.number(1, family.number.into());
            a.number(2, REG_1);
            a.number(3, REG_2);
        })
    }

    /// Sends a copy to the program that listens to `group` (nfnetlink_log).
    pub(crate) fn logged(self, group: u16) -> Self {
        self.expression("log", |a| {
            a.raw(1, &group.to_be_bytes());
            // A copy does not wait for others.
            a.raw(4, &1_u16.to_be_bytes());
        })
    }

    /// Sends a copy over the loopback interface `index`.
    pub(crate) fn copy_to_loopback(self, family: &Family, index: u32) -> Self {
        let set = self.immediate(REG_1, family.loopback).immediate(REG_2, &index.to_ne_bytes());
        set.expression("dup", |a| {
            a.number(1, REG_1);
            a.number(2, REG_2);
        })
    }

    /// Sends a copy of the packet to its destination.
    pub(crate) fn copy_on(self, family: &Family) -> Self {
        let [_, destination] = family.addresses;
        self.payload(NETWORK, destination, family.address_bytes)
            .expression("dup", |a| a.number(1, REG_1))
    }

    /// Answers a TCP segment with a reset, and drops the segment.
    pub(crate) fn answer_with_reset(self) -> Self {
        self.expression("reject", |a| a.number(1, REJECT_BY_RESET))
    }

    pub(crate) fn verdict(self, code: i32, chain: &str) -> Self {
        self.expression("immediate", |a| {
            a.number(1, VERDICT);
            a.nest(2, |a| {
                a.nest(2, |a| {
                    a.number(1, code.cast_unsigned());
                    if !chain.is_empty() {
                        a.text(2, chain);
                    }
                });
            });
        })
    }
}
