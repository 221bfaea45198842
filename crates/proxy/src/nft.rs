//! nf_tables over netlink: batches of changes that take effect together or not at all, and lists
//! from the kernel (linux/netfilter/nf_tables.h, nfnetlink.h).

mod attributes;
mod copies;
mod expressions;

pub(crate) use attributes::{Attributes, attribute, attributes, number, text};
pub(crate) use copies::{Copied, Copies};
pub(crate) use expressions::{
    ACCEPT, DROP, Expressions, Family, GOTO, JUMP, META_IIF, META_IIFNAME, META_L4PROTO, META_MARK,
    META_OIF, META_OIFNAME, NETDEV, RETURN, SetAction, TCP, families, octets,
};

use expressions::COUNTER;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Bytes of an answer and of the request that the kernel repeats in it.
const ANSWER_BYTES: usize = 64 * 1024;
/// Room for the answers to a whole batch.
const RECEIVE_BYTES: usize = 4 << 20;

const SUBSYSTEM: u16 = 10;
pub(crate) const NEW_TABLE: u16 = 0;
pub(crate) const NEW_CHAIN: u16 = 3;
pub(crate) const GET_CHAIN: u16 = 4;
pub(crate) const NEW_RULE: u16 = 6;
pub(crate) const GET_RULE: u16 = 7;
pub(crate) const DEL_RULE: u16 = 8;
pub(crate) const NEW_SET: u16 = 9;
pub(crate) const NEW_OBJECT: u16 = 18;
pub(crate) const GET_OBJECT: u16 = 19;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NFT_TABLE_F_OWNER`.
const OWNER: u32 = 2;
/// `NFT_SET_TIMEOUT | NFT_SET_EVAL`: rules add elements, which expire by themselves.
const DYNAMIC_SET: u32 = 0x30;
/// How often a set's old elements are removed, in milliseconds.
const CLEAN_EVERY: u32 = 1_000;

/// A socket for requests. Its tables are removed with it if it is their owner.
#[derive(Debug)]
pub(crate) struct Netfilter {
    socket: OwnedFd,
    sequence: u32,
}

impl AsFd for Netfilter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Netfilter {
    pub(crate) fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkNetFilter,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(5))?;
        // Best effort: the default size is enough for some hundred rules.
        let _smaller = setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BYTES);
        Ok(Self { socket, sequence: 0 })
    }

    /// The socket of another process, and the number of its last request.
    pub(crate) const fn adopt(socket: OwnedFd, sequence: u32) -> Self {
        Self { socket, sequence }
    }

    pub(crate) const fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Also receives the events of a group.
    pub(crate) fn listen(&self, group: i32) -> io::Result<()> {
        // `NETLINK_ADD_MEMBERSHIP`.
        crate::system::set(&self.socket, libc::SOL_NETLINK, 1, &group)
    }

    /// Drops answers to a refused request, or unwanted events.
    fn discard(&self, answer: &mut [u8]) {
        while recv(self.socket.as_raw_fd(), answer, MsgFlags::MSG_DONTWAIT).is_ok() {}
    }

    /// Sends a batch and reads the answer to each of its messages.
    pub(crate) fn send(&mut self, batch: Batch) -> io::Result<()> {
        let (bytes, messages) = batch.finish(self.sequence);
        self.sequence += messages + 2;
        let mut answer = vec![0; ANSWER_BYTES];
        self.discard(&mut answer);
        sendto(self.socket.as_raw_fd(), &bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        let mut heard = 0;
        while heard < messages {
            let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            for (kind, body) in messages_of(&answer[..length]) {
                if kind == ERROR {
                    match code(body) {
                        0 => heard += 1,
                        code => return Err(io::Error::from_raw_os_error(-code)),
                    }
                }
            }
        }
        Ok(())
    }

    /// Lists the objects of `kind`: family and attributes of each.
    pub(crate) fn list(
        &mut self,
        kind: u16,
        family: u8,
        all: bool,
        fill: impl FnOnce(&mut Attributes),
    ) -> io::Result<Vec<(u8, Vec<u8>)>> {
        let mut batch = Batch { bytes: Vec::new(), table: String::new(), family, messages: 0 };
        let flags = libc::NLM_F_REQUEST | if all { libc::NLM_F_DUMP } else { libc::NLM_F_ACK };
        batch.message(kind, flags, fill);
        self.sequence += 1;
        batch.bytes[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        let mut answer = vec![0; ANSWER_BYTES];
        self.discard(&mut answer);
        sendto(self.socket.as_raw_fd(), &batch.bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        let mut found = Vec::new();
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            for (kind, body) in messages_of(&answer[..length]) {
                match kind {
                    DONE => return Ok(found),
                    ERROR if code(body) == 0 => return Ok(found),
                    ERROR => return Err(io::Error::from_raw_os_error(-code(body))),
                    _ if body.len() >= 4 => found.push((body[0], body[4..].to_vec())),
                    _ => {}
                }
            }
        }
    }

    /// Events that have arrived, in the form of [`Netfilter::list`].
    pub(crate) fn events(&self) -> Vec<(u8, Vec<u8>)> {
        let mut answer = vec![0; ANSWER_BYTES];
        let mut found = Vec::new();
        while let Ok(length) = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT) {
            let bodies = messages_of(&answer[..length]).filter(|(_, body)| body.len() >= 4);
            found.extend(bodies.map(|(_, body)| (body[0], body[4..].to_vec())));
        }
        found
    }
}

fn code(body: &[u8]) -> i32 {
    body.get(..4).map_or(-libc::EPROTO, |b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

/// The messages of a datagram: kind, and the bytes after the header.
fn messages_of(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let head = rest.get(..16)?;
        let size = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        let body = rest.get(16..size)?;
        rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// Messages that take effect together.
pub(crate) struct Batch {
    bytes: Vec<u8>,
    table: String,
    family: u8,
    messages: u32,
}

impl Batch {
    pub(crate) fn new(table: &str) -> Self {
        let mut batch = Self { bytes: Vec::new(), table: table.into(), family: 0, messages: 0 };
        batch.message(BATCH_BEGIN, libc::NLM_F_REQUEST, |_| {});
        batch
    }

    /// Selects the family whose table the next messages concern.
    pub(crate) const fn family(&mut self, family: &Family) {
        self.family = family.number;
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
        let (family, resource) = if outer { (0, SUBSYSTEM) } else { (self.family, 0) };
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

    pub(crate) fn table(&mut self) {
        let name = self.table.clone();
        self.acknowledged(NEW_TABLE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, |a| {
            a.text(1, &name);
            a.number(2, OWNER);
        });
    }

    /// A chain, at a hook with a priority, or one that only other chains call.
    pub(crate) fn chain(&mut self, chain: &str, hook: Option<(u32, i32)>) {
        self.chain_at(chain, hook, None);
    }

    /// A chain at a hook of a network device.
    pub(crate) fn device_chain(&mut self, chain: &str, hook: u32, priority: i32, device: &str) {
        self.chain_at(chain, Some((hook, priority)), Some(device));
    }

    fn chain_at(&mut self, chain: &str, hook: Option<(u32, i32)>, device: Option<&str>) {
        let table = self.table.clone();
        self.acknowledged(NEW_CHAIN, libc::NLM_F_CREATE | libc::NLM_F_EXCL, |a| {
            a.text(1, &table);
            a.text(3, chain);
            if let Some((hook, priority)) = hook {
                a.nest(4, |a| {
                    a.number(1, hook);
                    a.number(2, priority.cast_unsigned());
                    device.into_iter().for_each(|device| a.text(3, device));
                });
                a.text(7, "filter");
            }
        });
    }

    /// A set of connections' addresses and ports, with room for so many. Each element expires after
    /// a time in milliseconds.
    pub(crate) fn set(&mut self, set: &str, family: &Family, room: u32, forget: u64) {
        let table = self.table.clone();
        const PORT_TYPE: u32 = 13;
        let types = [family.address_type, PORT_TYPE, family.address_type, PORT_TYPE];
        self.acknowledged(NEW_SET, libc::NLM_F_CREATE | libc::NLM_F_EXCL, |a| {
            a.text(1, &table);
            a.text(2, set);
            a.number(3, DYNAMIC_SET);
            a.number(4, types.iter().fold(0, |all, one| all << 6 | one));
            a.number(5, 2 * (family.address_bytes + 4));
            a.nest(9, |a| a.number(1, room));
            // Its number in this batch; no message uses it.
            a.number(10, 1);
            a.raw(11, &forget.to_be_bytes());
            a.number(12, CLEAN_EVERY);
        });
    }

    pub(crate) fn counter(&mut self, counter: &str) {
        let table = self.table.clone();
        self.acknowledged(NEW_OBJECT, libc::NLM_F_CREATE | libc::NLM_F_EXCL, |a| {
            a.text(1, &table);
            a.text(2, counter);
            a.number(3, COUNTER);
            a.nest(4, |_| {});
        });
    }

    pub(crate) fn flush(&mut self, chain: &str) {
        let table = self.table.clone();
        self.acknowledged(DEL_RULE, 0, |a| {
            a.text(1, &table);
            a.text(2, chain);
        });
    }

    pub(crate) fn rule(&mut self, chain: &str, build: impl FnOnce(Expressions) -> Expressions) {
        let table = self.table.clone();
        let expressions = build(Expressions::default());
        self.acknowledged(NEW_RULE, libc::NLM_F_CREATE | libc::NLM_F_APPEND, |a| {
            a.text(1, &table);
            a.text(2, chain);
            a.nest(4, |a| a.0.extend_from_slice(expressions.bytes()));
        });
    }

    /// The bytes, with numbers after `sequence`, and the number of messages that the kernel
    /// acknowledges.
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

/// Packets of a counter, in a table of this socket's namespace.
pub(crate) fn packets(
    netfilter: &mut Netfilter,
    table: &str,
    family: &Family,
    counter: &str,
) -> io::Result<u64> {
    let found = netfilter.list(GET_OBJECT, family.number, false, |a| {
        a.text(1, table);
        a.text(2, counter);
        a.number(3, COUNTER);
    })?;
    let data = found.first().map(|(_, object)| attribute(object, 4)).unwrap_or_default();
    number(data, 2).ok_or_else(|| io::Error::other("the kernel's answer has no count"))
}
