//! GTP-U messages (TS 29.281 section 5).

use crate::cursor::{Reader, Writer, flag, has};
use crate::{Frame, Malformed, Session};

/// The UDP port of GTP-U (section 4.4.2).
pub const PORT: u16 = 2152;
/// The message that carries user data, a T-PDU (section 6.1).
pub const G_PDU: u8 = 255;
/// The last message of a tunnel after a handover.
pub const END_MARKER: u8 = 254;
/// Type of the extension header with a frame of NR-U (section 5.2.2.5).
pub const NR_RAN_CONTAINER: u8 = 0x84;
/// Type of the extension header with a PDU session container (section 5.2.2.7).
pub const PDU_SESSION_CONTAINER: u8 = 0x85;

/// Octets of the mandatory header; the stated length counts from its end.
const FIXED: usize = 8;
/// Octets of sequence number, N-PDU number and next type: a header has all three or none.
const OPTIONAL: usize = 4;
/// Version 1 and protocol type GTP.
const VERSION_1: u8 = 0b0011_0000;
/// No more extension headers.
const NONE: u8 = 0;

/// An extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Its type.
    pub kind: u8,
    /// Its content with padding: 4n - 2 bytes, n 1 to 255.
    pub content: &'a [u8],
    /// Offset of the content from the begin of the message, in bytes.
    pub at: usize,
}

/// A message, borrowed from its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The message type.
    pub kind: u8,
    /// Tunnel endpoint identifier, which the receiver has assigned.
    pub teid: u32,
    /// The sequence number, if its flag is set.
    pub sequence: Option<u16>,
    /// The N-PDU number, if its flag is set.
    pub n_pdu: Option<u8>,
    /// The type of the first extension header; 0 without one.
    first: u8,
    /// All extension headers, checked.
    extensions: &'a [u8],
    /// Their offset.
    at: usize,
    /// The bytes after the headers: in a G-PDU the T-PDU.
    pub payload: &'a [u8],
}

/// A message at the begin of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin<'a> {
    /// The message. Its payload ends where the bytes end.
    pub message: Message<'a>,
    /// Bytes of the whole message with its headers, as its header states.
    pub length: usize,
    /// Bytes of its payload that are missing.
    pub missing: usize,
}

/// The mandatory header.
struct Head {
    flags: u8,
    kind: u8,
    /// Bytes after it.
    stated: usize,
    teid: u32,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let flags = reader.u8("version")?;
        if flags >> 5 != 1 {
            return Err(Malformed::Version(flags >> 5));
        }
        if !has(flags, 4) {
            return Err(Malformed::Prime);
        }
        let kind = reader.u8("message type")?;
        let stated = usize::from(reader.u16("length")?);
        Ok(Self { flags, kind, stated, teid: reader.u32("TEID")? })
    }

    /// The message, whose optional octets and extension headers are in `rest`, the bytes after this
    /// header.
    fn message<'a>(&self, rest: &'a [u8]) -> Result<Message<'a>, Malformed> {
        let &Self { flags, kind, teid, .. } = self;
        let mut message = Message {
            kind,
            teid,
            sequence: None,
            n_pdu: None,
            first: NONE,
            extensions: &[],
            at: FIXED,
            payload: rest,
        };
        if flags & 0b111 == 0 {
            return Ok(message);
        }
        let mut reader = Reader::new(rest);
        let sequence = reader.u16("sequence number")?;
        let n_pdu = reader.u8("N-PDU number")?;
        let next = reader.u8("next extension header type")?;
        message.sequence = has(flags, 1).then_some(sequence);
        message.n_pdu = has(flags, 0).then_some(n_pdu);
        message.first = if has(flags, 2) { next } else { NONE };
        message.at = FIXED + OPTIONAL;
        let begin = reader.rest();
        let mut next = message.first;
        while next != NONE {
            next = one(&mut reader)?.1;
        }
        message.payload = reader.rest();
        message.extensions = &begin[..begin.len() - message.payload.len()];
        Ok(message)
    }
}

impl<'a> Message<'a> {
    /// Reads a datagram's payload, which holds one message. Ignores the spare bit.
    ///
    /// # Errors
    /// Another version, a length that differs from the datagram's, or a header that ends too early.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (head, rest) = (Head::read(bytes)?, &bytes[FIXED..]);
        if head.stated != rest.len() {
            return Err(Malformed::Length { stated: head.stated, found: rest.len() });
        }
        head.message(rest)
    }

    /// Reads the message at the begin of `bytes`. The bytes may end inside its payload, as in the
    /// first fragment of an IP packet, and may go on after it, as in a packet of several datagrams.
    ///
    /// # Errors
    /// Another version, or headers that the bytes or the stated length do not hold.
    pub fn begin(bytes: &'a [u8]) -> Result<Begin<'a>, Malformed> {
        let (head, rest) = (Head::read(bytes)?, &bytes[FIXED..]);
        let part = &rest[..head.stated.min(rest.len())];
        let message = head.message(part)?;
        let missing = head.stated - part.len();
        Ok(Begin { message, length: FIXED + head.stated, missing })
    }

    /// The extension headers in order.
    pub fn extensions(&self) -> impl Iterator<Item = Extension<'a>> + use<'a> {
        let (mut kind, mut at) = (self.first, self.at);
        let mut reader = Reader::new(self.extensions);
        core::iter::from_fn(move || {
            // They were checked when the message was read.
            let (content, next) = (kind != NONE).then(|| one(&mut reader).ok())??;
            let extension = Extension { kind, content, at: at + 1 };
            at += content.len() + 2;
            kind = next;
            Some(extension)
        })
    }

    /// The first extension header of type `kind`.
    #[must_use]
    pub fn extension(&self, kind: u8) -> Option<Extension<'a>> {
        self.extensions().find(|extension| extension.kind == kind)
    }

    /// The frame of NR-U in the message, if there is one.
    ///
    /// # Errors
    /// As for [`Frame::read`].
    pub fn frame(&self) -> Result<Option<Frame<'a>>, Malformed> {
        let container = self.extension(NR_RAN_CONTAINER);
        container.map(|container| Frame::read(container.content)).transpose()
    }

    /// The PDU session container in the message, if there is one.
    ///
    /// # Errors
    /// As for [`Session::read`].
    pub fn session(&self) -> Result<Option<Session<'a>>, Malformed> {
        let container = self.extension(PDU_SESSION_CONTAINER);
        container.map(|container| Session::read(container.content)).transpose()
    }
}

/// Reads one extension header: its content, and the type of the next.
fn one<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], u8), Malformed> {
    let units = reader.u8("extension header length")?;
    if units == 0 {
        return Err(Malformed::EmptyExtension);
    }
    let content = reader.take(usize::from(units) * 4 - 2, "extension header")?;
    Ok((content, reader.u8("next extension header type")?))
}

/// Writes a message into a buffer: the parts in the order of the calls.
#[derive(Debug)]
pub struct Builder<'a> {
    bytes: &'a mut [u8],
    length: usize,
    /// Where the type of the next extension header belongs.
    next_at: usize,
}

impl<'a> Builder<'a> {
    /// Begins a message of type `kind` for `teid`.
    ///
    /// # Errors
    /// `bytes` is too small.
    pub fn new(bytes: &'a mut [u8], kind: u8, teid: u32) -> Result<Self, Malformed> {
        let mut writer = Writer::new(bytes);
        writer.put(&[VERSION_1, kind, 0, 0], "length")?;
        writer.u32(teid, "TEID")?;
        Ok(Self { bytes, length: FIXED, next_at: 0 })
    }

    /// Makes place for the optional octets. They come before extension headers and payload.
    fn optional(&mut self) -> Result<(), Malformed> {
        if self.next_at == 0 {
            self.append(&[0; OPTIONAL], "next extension header type")?;
            self.next_at = self.length - 1;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8], field: &'static str) -> Result<(), Malformed> {
        let room = self.bytes.get_mut(self.length..).ok_or(Malformed::Short(field))?;
        Writer::new(room).put(bytes, field)?;
        self.length += bytes.len();
        Ok(())
    }

    /// Adds a sequence number. It comes before the payload.
    ///
    /// # Errors
    /// The buffer is too small.
    pub fn sequence(&mut self, sequence: u16) -> Result<(), Malformed> {
        self.optional()?;
        self.bytes[0] |= flag(true, 1);
        self.bytes[FIXED..FIXED + 2].copy_from_slice(&sequence.to_be_bytes());
        Ok(())
    }

    /// Adds an N-PDU number. It comes before the payload.
    ///
    /// # Errors
    /// The buffer is too small.
    pub fn n_pdu(&mut self, number: u8) -> Result<(), Malformed> {
        self.optional()?;
        self.bytes[0] |= flag(true, 0);
        self.bytes[FIXED + 2] = number;
        Ok(())
    }

    /// Adds an extension header of type `kind`. `write` writes its content and returns the number
    /// of bytes without padding, 0 to 1018. Extension headers come before the payload.
    ///
    /// # Errors
    /// The buffer is too small, `kind` is 0, the content too long, or an error of `write`.
    pub fn extension(
        &mut self,
        kind: u8,
        write: impl FnOnce(&mut [u8]) -> Result<usize, Malformed>,
    ) -> Result<(), Malformed> {
        const MOST: usize = 4 * 255 - 2;
        if kind == NONE {
            return Err(Malformed::Short("next extension header type"));
        }
        self.optional()?;
        self.append(&[0], "extension header length")?;
        let begin = self.length;
        let end = self.bytes.len().min(begin + MOST);
        let written = write(&mut self.bytes[begin..end])?;
        let units = (written + 2).div_ceil(4);
        let end = begin + units * 4 - 2;
        let padding = self.bytes.get_mut(begin + written..=end);
        padding.ok_or(Malformed::Short("next extension header type"))?.fill(0);
        self.bytes[begin - 1] = u8::try_from(units).map_err(|_| Malformed::EmptyExtension)?;
        self.bytes[self.next_at] = kind;
        self.bytes[0] |= flag(true, 2);
        self.next_at = end;
        self.length = end + 1;
        Ok(())
    }

    /// Adds the payload.
    ///
    /// # Errors
    /// The buffer is too small.
    pub fn payload(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        self.append(payload, "payload")
    }

    /// Completes the message, and returns its length in bytes.
    ///
    /// # Errors
    /// It has more than 65 535 bytes after the first eight.
    pub fn finish(self) -> Result<usize, Malformed> {
        let stated = self.length - FIXED;
        let field =
            u16::try_from(stated).map_err(|_| Malformed::Length { stated, found: stated })?;
        self.bytes[2..4].copy_from_slice(&field.to_be_bytes());
        Ok(self.length)
    }
}
