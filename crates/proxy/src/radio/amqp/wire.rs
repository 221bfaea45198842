//! Frames and fields of AMQP 0.9.1 (its specification, section 4.2), as far as a reader of queues
//! needs them.

use crate::radio::stream::Stream;
use std::io;

/// First bytes of a client (section 4.2.2).
pub(super) const GREETING: &[u8] = b"AMQP\0\0\x09\x01";
/// Longest frame: the least that every broker allows.
pub(super) const LONGEST_FRAME: u32 = 8_192;
/// Bytes of a frame before its payload and after it.
const HEAD: usize = 7;
const END: u8 = 0xce;
/// Bytes that are read at once.
const READ: usize = 64 << 10;

/// Kinds of frames.
pub(super) const METHOD: u8 = 1;
pub(super) const HEADER: u8 = 2;
pub(super) const BODY: u8 = 3;
const HEARTBEAT: u8 = 8;

/// A method: the numbers of its class and its own.
pub(super) type Id = [u16; 2];

/// Arguments of a method, for writing.
pub(super) struct Arguments(Vec<u8>);

impl Arguments {
    pub(super) fn of(id: Id) -> Self {
        let [class, method] = id;
        Self(Vec::new()).u16(class).u16(method)
    }

    pub(super) fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// A text of at most 255 bytes. A longer text is cut, and no broker knows it.
    pub(super) fn short(mut self, text: &str) -> Self {
        let bytes = &text.as_bytes()[..text.len().min(255)];
        self.0.push(bytes.len() as u8);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn long(self, bytes: &[u8]) -> Self {
        let mut whole = self.u32(bytes.len() as u32);
        whole.0.extend_from_slice(bytes);
        whole
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Arguments of a method, for reading.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_be_bytes)
    }

    pub(super) fn skip(&mut self, length: usize) -> Option<()> {
        self.take(length).map(drop)
    }

    pub(super) fn short(&mut self) -> Option<&'a str> {
        let length = self.take(1)?[0];
        std::str::from_utf8(self.take(length.into())?).ok()
    }
}

/// A received frame.
pub(super) struct Frame<'a> {
    pub(super) kind: u8,
    pub(super) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The method and its arguments, if it is one.
    pub(super) fn method(&self) -> Option<(Id, Fields<'a>)> {
        let mut fields = Fields(self.payload);
        let id = [fields.u16()?, fields.u16()?];
        (self.kind == METHOD).then_some((id, fields))
    }
}

/// Both directions of a connection. At most [`READ`] received bytes are unread.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
}

impl Wire {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, buffer: vec![0; READ], from: 0, to: 0 }
    }

    pub(super) fn greet(&mut self) -> Result<(), String> {
        self.stream.write_all(GREETING).map_err(|e| e.to_string())
    }

    pub(super) fn call(&mut self, channel: u16, method: &Arguments) -> Result<(), String> {
        self.send(METHOD, channel, method.bytes())
    }

    pub(super) fn heartbeat(&mut self) -> Result<(), String> {
        self.send(HEARTBEAT, 0, &[])
    }

    fn send(&mut self, kind: u8, channel: u16, payload: &[u8]) -> Result<(), String> {
        let mut frame = vec![kind];
        frame.extend_from_slice(&channel.to_be_bytes());
        frame.extend_from_slice(&(payload.len() as u32).to_be_bytes());
        frame.extend_from_slice(payload);
        frame.push(END);
        let sent = self.stream.write_all(&frame).and_then(|()| self.stream.flush());
        sent.map_err(|e| e.to_string())
    }

    /// True if a complete frame is there.
    pub(super) fn has_frame(&self) -> bool {
        matches!(self.whole(), Ok(Some(_)))
    }

    /// The next frame; none if nothing arrived in time.
    pub(super) fn next(&mut self) -> Result<Option<Frame<'_>>, String> {
        loop {
            if let Some(length) = self.whole()? {
                let start = self.from;
                self.from += length;
                let kind = self.buffer[start];
                let payload = &self.buffer[start + HEAD..start + length - 1];
                return Ok(Some(Frame { kind, payload }));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Length of the next frame, if it is complete.
    fn whole(&self) -> Result<Option<usize>, String> {
        let there = &self.buffer[self.from..self.to];
        let Some(head) = there.get(..HEAD) else { return Ok(None) };
        let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
        if head[0] == b'A' {
            return Err("the broker speaks another version of AMQP".into());
        }
        if size > LONGEST_FRAME {
            return Err(format!("a frame of {size} bytes, allowed are {LONGEST_FRAME}"));
        }
        let length = HEAD + size as usize + 1;
        match there.get(length - 1) {
            None => Ok(None),
            Some(&END) => Ok(Some(length)),
            Some(_) => Err("a frame without an end".into()),
        }
    }

    /// Reads available bytes; false if nothing arrived in time.
    fn fill(&mut self) -> Result<bool, String> {
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        loop {
            match self.stream.read(&mut self.buffer[self.to..]) {
                Ok(0) => return Err("the broker closed the connection".into()),
                Ok(length) => {
                    self.to += length;
                    return Ok(true);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e)
                    if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
                {
                    return Ok(false);
                }
                Err(e) => return Err(e.to_string()),
            }
        }
    }
}
