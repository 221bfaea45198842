//! IPv4, TCP, UDP and ICMP headers of packets whose payload is zeros: RFC 791, 9293, 7323, 2018,
//! 3168, 9768, 768, 792; checksums by RFC 1071.

use justfull_base::{Dscp, Ecn, Instant, Packet};
use justfull_ran::FiveTuple;
use justfull_tcp::accecn::Flags;
use justfull_tcp::{Ack, Mark, Segment};

/// Captured bytes of a packet: all headers with three SACK blocks, and a little of the payload.
pub const SNAPLEN: u32 = 96;

/// The content of a packet from the server.
#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    Tcp(&'a Segment),
    Udp,
    /// An echo request with this sequence number.
    Echo(u16),
    /// An echo reply with this sequence number.
    Reply(u16),
}

const IPV4_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const ICMP_BYTES: usize = 8;
/// TCP header with the timestamps option and two bytes of padding.
const TCP_BYTES: usize = 32;
const MOST: usize = SNAPLEN as usize;

const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;

const FLAG_SYN: u16 = 0x02;
const FLAG_ACK: u16 = 0x10;

const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;

/// Sequence number of a stream's first byte, as after a SYN with number 0.
const FIRST: u64 = 1;
/// The server's receive window; the UE sends no data in it.
const SERVER_WINDOW: u16 = u16::MAX;
/// Shift of the window of acknowledgements (RFC 7323 section 2). The file has no handshake, so a
/// reader shows the window in units of 128 bytes.
const WINDOW_SHIFT: u32 = 7;

/// The captured part of a packet, and its full length.
pub(super) struct Built {
    bytes: [u8; MOST],
    kept: usize,
    pub(super) original: u32,
}

impl Built {
    pub(super) fn kept(&self) -> &[u8] {
        &self.bytes[..self.kept]
    }

    /// `headers` and zeros up to `original` bytes, or as many as are captured.
    fn new(headers: &[u8], original: u32) -> Self {
        let mut bytes = [0; MOST];
        let known = headers.len().min(MOST);
        bytes[..known].copy_from_slice(&headers[..known]);
        Self { bytes, kept: (original as usize).min(MOST), original }
    }
}

/// Addresses of a flow, towards the UE.
pub(super) struct Addressed {
    server: [u8; 4],
    ue: [u8; 4],
    server_port: u16,
    ue_port: u16,
    dscp: Dscp,
}

impl Addressed {
    pub(super) fn new(tuple: &FiveTuple, dscp: Dscp) -> Self {
        let v4 = |a: &[u8; 16]| [a[12], a[13], a[14], a[15]];
        Self {
            server: v4(&tuple.source),
            ue: v4(&tuple.destination),
            server_port: tuple.source_port,
            ue_port: tuple.destination_port,
            dscp,
        }
    }

    /// A packet from the server to the UE.
    pub(super) fn downlink(&self, packet: &Packet, content: Content<'_>) -> Built {
        let mut headers = [0; IPV4_BYTES + TCP_BYTES];
        let (ip, rest) = headers.split_at_mut(IPV4_BYTES);
        let length = (packet.size as usize).saturating_sub(IPV4_BYTES);
        let (protocol, used) = match content {
            Content::Tcp(segment) => {
                let syn = segment.mark == Mark::Syn;
                let (kind, ack) = if syn { (FLAG_SYN, 0) } else { (FLAG_ACK, FIRST) };
                let flags = kind | ecn_flags(segment.flags);
                let ports = [self.server_port, self.ue_port];
                // A SYN has the number before its first byte.
                let seq = FIRST + segment.seq - u64::from(syn);
                tcp_header(rest, ports, seq, ack, flags, SERVER_WINDOW, TCP_BYTES);
                timestamps(&mut rest[20..], segment.sent_at, Instant::ZERO);
                seal(rest, 16, length, self.server, self.ue, PROTOCOL_TCP);
                (PROTOCOL_TCP, TCP_BYTES)
            }
            Content::Echo(number) => {
                echo(rest, ECHO_REQUEST, self.ue_port, number);
                (PROTOCOL_ICMP, ICMP_BYTES)
            }
            Content::Reply(number) => {
                echo(rest, ECHO_REPLY, self.ue_port, number);
                (PROTOCOL_ICMP, ICMP_BYTES)
            }
            Content::Udp => {
                put16(rest, 0, self.server_port);
                put16(rest, 2, self.ue_port);
                put16(rest, 4, length as u16);
                seal(&mut rest[..UDP_BYTES], 6, length, self.server, self.ue, PROTOCOL_UDP);
                (PROTOCOL_UDP, UDP_BYTES)
            }
        };
        ipv4_header(ip, packet.size, packet.id as u16, packet.ecn, protocol, self.server, self.ue);
        // RFC 2474 section 3: the six bits before the ECN bits.
        ip[1] |= self.dscp.get() << 2;
        seal_ipv4(ip);
        Built::new(&headers[..IPV4_BYTES + used], packet.size)
    }

    /// The UE's reply to echo request `number`, `size` bytes long, with `id` in its IP header.
    pub(super) fn reply(&self, number: u16, size: u32, id: u16) -> Built {
        self.echo_up(ECHO_REPLY, number, size, id)
    }

    /// The UE's echo request `number`, `size` bytes long, with `id` in its IP header.
    pub(super) fn request(&self, number: u16, size: u32, id: u16) -> Built {
        self.echo_up(ECHO_REQUEST, number, size, id)
    }

    fn echo_up(&self, kind: u8, number: u16, size: u32, id: u16) -> Built {
        let mut headers = [0; IPV4_BYTES + ICMP_BYTES];
        let (ip, rest) = headers.split_at_mut(IPV4_BYTES);
        echo(rest, kind, self.ue_port, number);
        ipv4_header(ip, size, id, Ecn::NotEct, PROTOCOL_ICMP, self.ue, self.server);
        Built::new(&headers, size)
    }

    /// An acknowledgement from the UE to the server, with `id` in its IP header.
    pub(super) fn acknowledgement(&self, now: Instant, ack: &Ack, id: u16) -> Built {
        let blocks = ack.sack_blocks();
        let sack = if blocks.is_empty() { 0 } else { 4 + 8 * blocks.len() };
        let used = TCP_BYTES + ack.option.len().next_multiple_of(4) + sack;
        let mut headers = [0; MOST];
        let (ip, rest) = headers.split_at_mut(IPV4_BYTES);
        let tcp = &mut rest[..used];
        let syn = if ack.syn { FLAG_SYN } else { 0 };
        let flags = FLAG_ACK | syn | ecn_flags(ack.flags);
        let window = (ack.window >> WINDOW_SHIFT).min(u64::from(u16::MAX)) as u16;
        let ports = [self.ue_port, self.server_port];
        let seq = FIRST - u64::from(ack.syn);
        tcp_header(tcp, ports, seq, FIRST + ack.cumulative, flags, window, used);
        timestamps(&mut tcp[20..], now, ack.ts_echo);
        let (counters, sacks) = tcp[TCP_BYTES..].split_at_mut(used - TCP_BYTES - sack);
        counters.fill(OPTION_NOP);
        let option = ack.option.len();
        let begin = counters.len() - option;
        counters[begin..].copy_from_slice(&ack.option.bytes()[..option]);
        if sack > 0 {
            let length = 2 + 8 * blocks.len() as u8;
            sacks[..4].copy_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_SACK, length]);
            for (i, block) in blocks.iter().enumerate() {
                put32(sacks, 4 + 8 * i, (FIRST + block.start) as u32);
                put32(sacks, 8 + 8 * i, (FIRST + block.end) as u32);
            }
        }
        seal(tcp, 16, used, self.ue, self.server, PROTOCOL_TCP);
        let size = (IPV4_BYTES + used) as u32;
        ipv4_header(ip, size, id, ack.ecn, PROTOCOL_TCP, self.ue, self.server);
        Built::new(&headers[..size as usize], size)
    }
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

fn ipv4_header(
    ip: &mut [u8],
    size: u32,
    id: u16,
    ecn: Ecn,
    protocol: u8,
    from: [u8; 4],
    to: [u8; 4],
) {
    ip[0] = 0x45;
    // RFC 3168 section 5: the codepoints by their bits.
    ip[1] = match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    put16(ip, 2, size as u16);
    put16(ip, 4, id);
    // Do not fragment.
    put16(ip, 6, 0x4000);
    ip[8] = 64;
    ip[9] = protocol;
    ip[12..16].copy_from_slice(&from);
    ip[16..20].copy_from_slice(&to);
    seal_ipv4(ip);
}

/// Fills in the checksum of an IPv4 header.
fn seal_ipv4(ip: &mut [u8]) {
    put16(ip, 10, 0);
    let sum = checksum(words(ip));
    put16(ip, 10, sum);
}

/// The header of an echo message; its checksum has no pseudo-header.
fn echo(icmp: &mut [u8], kind: u8, identifier: u16, number: u16) {
    icmp[0] = kind;
    put16(icmp, 4, identifier);
    put16(icmp, 6, number);
    let sum = checksum(words(&icmp[..ICMP_BYTES]));
    put16(icmp, 2, sum);
}

/// AE, CWR and ECE in the place of the flags (RFC 9768 figure 3).
const fn ecn_flags(flags: Flags) -> u16 {
    (flags as u16) << 6
}

/// All of a TCP header except options and checksum; numbers are taken modulo 2^32.
fn tcp_header(
    tcp: &mut [u8],
    ports: [u16; 2],
    seq: u64,
    ack: u64,
    flags: u16,
    window: u16,
    length: usize,
) {
    put16(tcp, 0, ports[0]);
    put16(tcp, 2, ports[1]);
    put32(tcp, 4, seq as u32);
    put32(tcp, 8, ack as u32);
    put16(tcp, 12, (length as u16 / 4) << 12 | flags);
    put16(tcp, 14, window);
}

/// The timestamps option in microseconds, padded to twelve bytes (RFC 7323 appendix A).
fn timestamps(options: &mut [u8], value: Instant, echo: Instant) {
    let us = |at: Instant| (at.as_nanos() / 1_000) as u32;
    options[..4].copy_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_TIMESTAMPS, 10]);
    put32(options, 4, us(value));
    put32(options, 8, us(echo));
}

/// Fills in at `at` the checksum over pseudo-header, `header` and a payload of zeros, which adds
/// nothing.
fn seal(header: &mut [u8], at: usize, length: usize, from: [u8; 4], to: [u8; 4], protocol: u8) {
    let pseudo = words(&from) + words(&to) + u32::from(protocol) + length as u32;
    let sum = checksum(pseudo + words(header));
    // RFC 768: a sum of zero is sent as all ones, because zero means no checksum.
    let sum = if protocol == PROTOCOL_UDP && sum == 0 { u16::MAX } else { sum };
    put16(header, at, sum);
}

fn words(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    bytes.chunks(2).map(word).sum()
}

/// One's complement of the one's complement sum.
fn checksum(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
