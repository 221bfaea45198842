//! The nftables table that diverts connections (nf_tables over netlink; tproxy.rst of the kernel).
//!
//! The table belongs to the socket that made it (`NFT_TABLE_F_OWNER`, Linux 5.12): nobody else can
//! change or flush it, and it goes with the process, whatever ends it. Each change is one batch:
//! all of it holds, or nothing.
//!
//! The first packet of a connection is offered to `tproxy` before anything else, so that a
//! client may use a port again whose last connection is still in TIME_WAIT. Everything that
//! belongs to a transparent socket of this host is delivered. A connection that began before the
//! proxy did is neither: it passes, but during a flood (see [`crate::flood`]).

use crate::config::SelectConfig;
use justfull_net::Prefix;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// An answer, and what the kernel repeats of the request.
const ANSWER_BYTES: usize = 64 * 1024;
/// Room for the answers to a whole batch.
const RECEIVE_BYTES: usize = 4 << 20;
/// Where the proxy listens, for each family.
const LOOPBACK: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

// linux/netfilter/nf_tables.h and nfnetlink.h.
const SUBSYSTEM: u16 = 10;
const NEW_TABLE: u16 = 0;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
const DEL_RULE: u16 = 8;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
const OWNER: u32 = 2;
const FAMILY_INET: u8 = 1;
const FAMILY_IPV4: u32 = 2;
const FAMILY_IPV6: u32 = 10;
const PREROUTING: u32 = 0;
/// `mangle`.
const PRIORITY: i32 = -150;
const VERDICT: u32 = 0;
const REG_1: u32 = 1;
const REG_2: u32 = 2;
const ACCEPT: i32 = 1;
const JUMP: i32 = -3;
const GOTO: i32 = -4;
const RETURN: i32 = -5;
const META_IIFNAME: u32 = 6;
const META_MARK: u32 = 3;
const META_NFPROTO: u32 = 15;
const META_L4PROTO: u32 = 16;
const NETWORK: u32 = 1;
const TRANSPORT: u32 = 2;
const EQUAL: u32 = 0;
const UNEQUAL: u32 = 1;
/// `RTN_LOCAL`.
const LOCAL: u32 = 2;
/// FIN, SYN, RST and ACK of a TCP header's flags; those of a first segment, and of a third.
const FLAGS: u8 = 0x17;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// The chains: `pre` has the hook, the others are called by it.
const CHAINS: [&str; 4] = ["divert", "ports", "select", "pre"];

/// What of a table is not in its socket.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TableState {
    sequence: u32,
    port: u16,
    mark: u32,
}

/// A table of this process, in the namespace of the thread that made it.
#[derive(Debug)]
pub(crate) struct Table {
    socket: OwnedFd,
    sequence: u32,
    name: String,
    port: u16,
    mark: u32,
    /// Third segments are diverted too.
    cookies: bool,
}

impl AsFd for Table {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn name(mark: u32) -> String {
    format!("justfull-{mark}")
}

impl Table {
    /// Makes the table `justfull-MARK` and diverts what `select` says to the listeners at `port`.
    ///
    /// # Errors
    /// What the kernel refuses; nothing is then installed.
    pub(crate) fn install(select: &SelectConfig, port: u16, mark: u32) -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkNetFilter,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(5))?;
        // Best effort: the usual size does for some hundred rules.
        let _smaller = setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BYTES);
        let mut table = Self { socket, sequence: 0, name: name(mark), port, mark, cookies: false };
        let mut batch = Batch::new(&table.name);
        batch.table();
        CHAINS.iter().for_each(|chain| batch.chain(chain, *chain == "pre"));
        table.rules(&mut batch, Some(select));
        table.send(batch)?;
        Ok(table)
    }

    /// Replaces what is selected, at one instant. None: no new connection is diverted, and those
    /// that are go on.
    ///
    /// # Errors
    /// What the kernel refuses; all is then as before.
    pub(crate) fn select(&mut self, select: Option<&SelectConfig>) -> io::Result<()> {
        let mut batch = Batch::new(&self.name);
        CHAINS.iter().for_each(|chain| batch.flush(chain));
        self.rules(&mut batch, select);
        self.send(batch)
    }

    /// The same, and says whether third segments are diverted that no socket has.
    ///
    /// # Errors
    /// What the kernel refuses; all is then as before.
    pub(crate) fn set_cookies(&mut self, cookies: bool, select: &SelectConfig) -> io::Result<()> {
        self.cookies = cookies;
        self.select(Some(select))
    }

    /// What another process needs beside the socket.
    pub(crate) const fn state(&self) -> TableState {
        TableState { sequence: self.sequence, port: self.port, mark: self.mark }
    }

    /// The table of another process, which goes with the last that has its socket.
    pub(crate) fn adopt(socket: OwnedFd, state: &TableState) -> Self {
        let &TableState { sequence, port, mark } = state;
        Self { socket, sequence, name: name(mark), port, mark, cookies: false }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn rules(&self, batch: &mut Batch, select: Option<&SelectConfig>) {
        batch.rule("pre", |r| r.meta(META_L4PROTO).compare(UNEQUAL, &[6]).verdict(RETURN, ""));
        if let Some(select) = select {
            offer(batch, select, SYN);
            self.selection(batch, select);
        }
        let mark = self.mark.to_ne_bytes();
        batch.rule("pre", |r| {
            r.transparent_socket().compare(EQUAL, &[1]).mark(&mark).verdict(ACCEPT, "")
        });
        if let Some(select) = select.filter(|_| self.cookies) {
            offer(batch, select, ACK);
        }
    }

    fn selection(&self, batch: &mut Batch, select: &SelectConfig) {
        // What is meant for this host is not on its way through it.
        batch.rule("select", |r| {
            r.address_type().compare(EQUAL, &LOCAL.to_ne_bytes()).verdict(RETURN, "")
        });
        for prefix in &select.except {
            for source in [true, false] {
                batch.rule("select", |r| r.prefix(source, prefix).verdict(RETURN, ""));
            }
        }
        for prefix in &select.ues {
            batch.rule("select", |r| r.prefix(true, prefix).verdict(GOTO, "ports"));
        }
        if select.ues.is_empty() {
            batch.rule("select", |r| r.verdict(GOTO, "ports"));
        }
        for ports in &select.ports {
            batch.rule("ports", |r| r.ports(ports.first, ports.last).verdict(GOTO, "divert"));
        }
        if select.ports.is_empty() {
            batch.rule("ports", |r| r.verdict(GOTO, "divert"));
        }
        let mark = self.mark.to_ne_bytes();
        for (family, address) in [(FAMILY_IPV4, &[127, 0, 0, 1][..]), (FAMILY_IPV6, &LOOPBACK[..])]
        {
            batch.rule("divert", |r| {
                let r = r.meta(META_NFPROTO).compare(EQUAL, &[family as u8]);
                r.tproxy(family, address, self.port).mark(&mark).verdict(ACCEPT, "")
            });
        }
    }

    /// Sends a batch and hears of each of its messages.
    fn send(&mut self, batch: Batch) -> io::Result<()> {
        let (bytes, messages) = batch.finish(self.sequence);
        self.sequence += messages + 2;
        let mut answer = vec![0; ANSWER_BYTES];
        // What else the kernel said to a batch that it refused.
        while recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT).is_ok() {}
        sendto(self.socket.as_raw_fd(), &bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        let mut heard = 0;
        while heard < messages {
            let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            let mut rest = &answer[..length];
            while rest.len() >= 20 {
                let size = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
                let code = i32::from_ne_bytes([rest[16], rest[17], rest[18], rest[19]]);
                if code != 0 {
                    return Err(io::Error::from_raw_os_error(-code));
                }
                heard += 1;
                rest = rest.get(size.next_multiple_of(4).max(20)..).unwrap_or_default();
            }
        }
        Ok(())
    }
}

/// Offers segments that have `flags` and come in where `select` says to its choice.
fn offer(batch: &mut Batch, select: &SelectConfig, flags: u8) {
    for interface in &select.interfaces {
        let mut name = [0; libc::IFNAMSIZ];
        name[..interface.len()].copy_from_slice(interface.as_bytes());
        batch.rule("pre", |r| {
            r.meta(META_IIFNAME).compare(EQUAL, &name).flags(flags).verdict(JUMP, "select")
        });
    }
}

/// Why a table could not be made, in words.
pub(crate) fn explain(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => format!("{error}; needs CAP_NET_ADMIN"),
        Some(Errno::EPROTONOSUPPORT) => format!("{error}; this kernel has no nf_tables"),
        Some(Errno::ENOENT) => {
            format!("{error}; this kernel lacks nft_tproxy, nft_socket or nft_fib_inet")
        }
        Some(Errno::EEXIST | Errno::EBUSY) => {
            format!("{error}; another program has a table of this name: is it another proxy?")
        }
        _ => error.to_string(),
    }
}

/// Messages that take effect together.
struct Batch {
    bytes: Vec<u8>,
    table: String,
    messages: u32,
}

impl Batch {
    fn new(table: &str) -> Self {
        let mut batch = Self { bytes: Vec::new(), table: table.into(), messages: 0 };
        batch.message(BATCH_BEGIN, libc::NLM_F_REQUEST, |_| {});
        batch
    }

    /// One message with the attributes that `fill` writes.
    fn message(&mut self, kind: u16, flags: i32, fill: impl FnOnce(&mut Attributes)) {
        let outer = kind == BATCH_BEGIN || kind == BATCH_END;
        let start = self.bytes.len();
        let code = if outer { kind } else { SUBSYSTEM << 8 | kind };
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&code.to_ne_bytes());
        self.bytes.extend_from_slice(&(flags as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 8]);
        let (family, resource) = if outer { (0, SUBSYSTEM) } else { (FAMILY_INET, 0) };
        self.bytes.extend_from_slice(&[family, 0]);
        self.bytes.extend_from_slice(&resource.to_be_bytes());
        let mut attributes = Attributes(std::mem::take(&mut self.bytes));
        fill(&mut attributes);
        self.bytes = attributes.0;
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
        self.messages += u32::from(!outer);
    }

    fn acknowledged(&mut self, kind: u16, flags: i32, fill: impl FnOnce(&mut Attributes)) {
        self.message(kind, libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags, fill);
    }

    fn table(&mut self) {
        let name = self.table.clone();
        self.acknowledged(NEW_TABLE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, |a| {
            a.text(1, &name);
            a.number(2, OWNER);
        });
    }

    fn chain(&mut self, chain: &str, hooked: bool) {
        let table = self.table.clone();
        self.acknowledged(NEW_CHAIN, libc::NLM_F_CREATE | libc::NLM_F_EXCL, |a| {
            a.text(1, &table);
            a.text(3, chain);
            if hooked {
                a.nest(4, |a| {
                    a.number(1, PREROUTING);
                    a.number(2, PRIORITY.cast_unsigned());
                });
                a.text(7, "filter");
            }
        });
    }

    fn flush(&mut self, chain: &str) {
        let table = self.table.clone();
        self.acknowledged(DEL_RULE, 0, |a| {
            a.text(1, &table);
            a.text(2, chain);
        });
    }

    fn rule(&mut self, chain: &str, build: impl FnOnce(Expressions) -> Expressions) {
        let table = self.table.clone();
        let expressions = build(Expressions(Attributes(Vec::new())));
        self.acknowledged(NEW_RULE, libc::NLM_F_CREATE | libc::NLM_F_APPEND, |a| {
            a.text(1, &table);
            a.text(2, chain);
            a.nest(4, |a| a.0.extend_from_slice(&expressions.0.0));
        });
    }

    /// The bytes, numbered from after `sequence`, and how many messages are acknowledged.
    fn finish(mut self, sequence: u32) -> (Vec<u8>, u32) {
        self.message(BATCH_END, libc::NLM_F_REQUEST, |_| {});
        let (mut at, mut number) = (0, sequence);
        while at < self.bytes.len() {
            number += 1;
            self.bytes[at + 8..at + 12].copy_from_slice(&number.to_ne_bytes());
            let size: [u8; 4] = self.bytes[at..at + 4].try_into().expect("a header");
            at += (u32::from_ne_bytes(size) as usize).next_multiple_of(4);
        }
        (self.bytes, self.messages)
    }
}

/// Attributes of netlink: length, type, value, padding to four bytes.
struct Attributes(Vec<u8>);

impl Attributes {
    fn raw(&mut self, kind: u16, value: &[u8]) {
        let length = (4 + value.len()) as u16;
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn text(&mut self, kind: u16, text: &str) {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.raw(kind, &bytes);
    }

    fn number(&mut self, kind: u16, number: u32) {
        self.raw(kind, &number.to_be_bytes());
    }

    fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self(Vec::new());
        fill(&mut inner);
        self.raw(kind | libc::NLA_F_NESTED as u16, &inner.0);
    }

    /// `NFTA_DATA_VALUE` under `kind`.
    fn value(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |a| a.raw(1, value));
    }
}

/// The expressions of a rule, in order.
struct Expressions(Attributes);

impl Expressions {
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

    fn payload(self, base: u32, offset: u32, length: u32) -> Self {
        self.expression("payload", |a| {
            a.number(1, REG_1);
            a.number(2, base);
            a.number(3, offset);
            a.number(4, length);
        })
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

    /// Of [`FLAGS`] these and no others.
    fn flags(self, flags: u8) -> Self {
        self.payload(TRANSPORT, 13, 1).masked(&[FLAGS]).compare(EQUAL, &[flags])
    }

    fn ports(self, first: u16, last: u16) -> Self {
        self.payload(TRANSPORT, 2, 2).expression("range", |a| {
            a.number(1, REG_1);
            a.number(2, EQUAL);
            a.value(3, &first.to_be_bytes());
            a.value(4, &last.to_be_bytes());
        })
    }

    /// Source or destination is in `prefix`.
    fn prefix(self, source: bool, prefix: &Prefix) -> Self {
        let (family, offsets, address) = match prefix.address() {
            IpAddr::V4(v4) => (FAMILY_IPV4, [12, 16], v4.octets().to_vec()),
            IpAddr::V6(v6) => (FAMILY_IPV6, [8, 24], v6.octets().to_vec()),
        };
        let mask: Vec<u8> = (0..address.len())
            .map(|byte| {
                let bits = usize::from(prefix.bits()).saturating_sub(8 * byte).min(8);
                !(0xff_u8.checked_shr(bits as u32).unwrap_or(0))
            })
            .collect();
        let offset = offsets[usize::from(!source)];
        self.meta(META_NFPROTO)
            .compare(EQUAL, &[family as u8])
            .payload(NETWORK, offset, address.len() as u32)
            .masked(&mask)
            .compare(EQUAL, &address)
    }

    /// What the destination is to this host.
    fn address_type(self) -> Self {
        self.expression("fib", |a| {
            a.number(1, REG_1);
            a.number(2, 3);
            a.number(3, 2);
        })
    }

    fn transparent_socket(self) -> Self {
        self.expression("socket", |a| {
            a.number(1, 0);
            a.number(2, REG_1);
        })
    }

    fn immediate(self, register: u32, value: &[u8]) -> Self {
        self.expression("immediate", |a| {
            a.number(1, register);
            a.value(2, value);
        })
    }

    fn mark(self, mark: &[u8]) -> Self {
        self.immediate(REG_1, mark).expression("meta", |a| {
            a.number(2, META_MARK);
            a.number(3, REG_1);
        })
    }

    fn tproxy(self, family: u32, address: &[u8], port: u16) -> Self {
        let set = self.immediate(REG_1, address).immediate(REG_2, &port.to_be_bytes());
        set.expression("tproxy", |a| {
            a.number(1, family);
            a.number(2, REG_1);
            a.number(3, REG_2);
        })
    }

    fn verdict(self, code: i32, chain: &str) -> Self {
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
