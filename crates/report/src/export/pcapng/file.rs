//! The blocks of a pcapng file: a section with its interfaces, packets with a comment each, and
//! statistics at the end.

use crate::export::facts::Provenance;
use crate::export::sink::{ExportError, Sink};
use justfull_base::Instant;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;

/// Raw IP.
const LINKTYPE_RAW: u16 = 101;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;

/// Longest value of an option, below the limit of its 16-bit length.
const LONGEST_OPTION: usize = 60_000;

/// A block under construction.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
}

impl Block {
    fn begin(&mut self, kind: u32) {
        self.bytes.clear();
        self.u32(kind);
        self.u32(0);
    }

    fn u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// `bytes`, padded with zeros to a multiple of four.
    fn padded(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }

    /// A time in ns as the two words of a timestamp, the upper one first.
    fn timestamp(&mut self, at: Instant) {
        self.u32((at.as_nanos() >> 32) as u32);
        self.u32(at.as_nanos() as u32);
    }

    /// Ends the options and the block, and fills in both of its length fields.
    fn end(&mut self, options: bool) -> &[u8] {
        if options {
            self.u32(0);
        }
        let length = self.bytes.len() as u32 + 4;
        self.u32(length);
        self.bytes[4..8].copy_from_slice(&length.to_le_bytes());
        &self.bytes
    }
}

/// The captured part of a packet, with its full length.
#[derive(Clone, Copy)]
pub struct Kept<'a> {
    /// Its first bytes, up to the file's snapshot length.
    pub bytes: &'a [u8],
    /// Full length.
    pub original: u32,
}

/// Upper bound, in bytes, of the data that a [`Sink`] may hold before they reach the disk; larger
/// than its buffer.
const AHEAD: u64 = 1 << 18;

/// A capture of raw IP packets (LINKTYPE_RAW) being written.
pub struct PacketFile {
    sink: Sink,
    block: Block,
    /// Ends of the latest blocks, in bytes from the start of the file.
    ends: VecDeque<u64>,
    /// Packets written and packets dropped, by interface.
    counts: Vec<(u64, u64)>,
}

impl PacketFile {
    /// Opens `path` for the data described by `provenance`. Each of `interfaces` has a name and a
    /// description; packets are cut at `snaplen`.
    ///
    /// # Errors
    /// Names the file when it cannot be written.
    pub fn create(
        path: &Path,
        provenance: &Provenance,
        interfaces: &[(&str, &str)],
        snaplen: u32,
    ) -> Result<Self, ExportError> {
        let counts = vec![(0, 0); interfaces.len()];
        let mut file = Self {
            sink: Sink::create(path)?,
            block: Block::default(),
            ends: VecDeque::from([0]),
            counts,
        };
        match file.header(provenance, interfaces, snaplen) {
            Ok(()) => Ok(file),
            Err(what) => Err(file.failed(what)),
        }
    }

    fn header(
        &mut self,
        provenance: &Provenance,
        interfaces: &[(&str, &str)],
        snaplen: u32,
    ) -> io::Result<()> {
        let block = &mut self.block;
        block.begin(SECTION_HEADER);
        block.u32(BYTE_ORDER_MAGIC);
        block.u16(1);
        block.u16(0);
        // The length of the section is unknown.
        block.u32(u32::MAX);
        block.u32(u32::MAX);
        for (key, value) in provenance.pairs() {
            let text = format!("{key} = {value}");
            for part in text.as_bytes().chunks(LONGEST_OPTION) {
                block.option(OPT_COMMENT, part);
            }
        }
        block.option(SHB_USERAPPL, format!("justfull {}", provenance.version).as_bytes());
        self.write()?;
        for (name, description) in interfaces {
            let block = &mut self.block;
            block.begin(INTERFACE_DESCRIPTION);
            block.u16(LINKTYPE_RAW);
            block.u16(0);
            block.u32(snaplen);
            block.option(IF_NAME, name.as_bytes());
            block.option(IF_DESCRIPTION, description.as_bytes());
            // Nanoseconds: 10 to the power of -9.
            block.option(IF_TSRESOL, &[9]);
            self.write()?;
        }
        Ok(())
    }

    /// Writes a packet seen at `interface` at `at`.
    ///
    /// # Errors
    /// The error of the disk.
    ///
    /// # Panics
    /// If there is no such interface.
    pub fn put(
        &mut self,
        interface: usize,
        at: Instant,
        packet: Kept<'_>,
        comment: &str,
    ) -> io::Result<()> {
        let block = &mut self.block;
        block.begin(ENHANCED_PACKET);
        block.u32(interface as u32);
        block.timestamp(at);
        block.u32(packet.bytes.len() as u32);
        block.u32(packet.original);
        block.padded(packet.bytes);
        block.option(OPT_COMMENT, comment.as_bytes());
        self.counts[interface].0 += 1;
        self.write()
    }

    /// Writes the block under construction.
    fn write(&mut self) -> io::Result<()> {
        let bytes = self.block.end(true);
        let end = self.ends.back().map_or(0, |end| end + bytes.len() as u64);
        self.ends.push_back(end);
        while self.ends.get(1).is_some_and(|second| second + AHEAD < end) {
            self.ends.pop_front();
        }
        self.sink.write_all(bytes)
    }

    /// Counts `packets` dropped at `interface`.
    ///
    /// # Panics
    /// If there is no such interface.
    pub fn dropped(&mut self, interface: usize, packets: u64) {
        self.counts[interface].1 += packets;
    }

    /// The file's error for the disk error `what`.
    #[must_use]
    pub fn failed(&self, what: io::Error) -> ExportError {
        self.sink.error(what)
    }

    /// Writes the counts of each interface at `end`, and moves the file into place.
    ///
    /// # Errors
    /// Names the file if it cannot be written; no file is left then.
    pub fn commit(mut self, end: Instant) -> Result<(), ExportError> {
        match self.statistics(end) {
            Ok(()) => self.sink.commit(),
            Err(what) => Err(self.failed(what)),
        }
    }

    /// Like [`PacketFile::commit`], for data that cannot be captured again: if writing fails, the
    /// complete blocks on the disk stay.
    ///
    /// # Errors
    /// Names the file if it cannot be written, and says whether a part stays.
    pub fn commit_or_keep(mut self, end: Instant) -> Result<(), ExportError> {
        match self.statistics(end).and_then(|()| self.sink.flush()) {
            Ok(()) => self.sink.commit(),
            Err(what) => Err(self.keep(what)),
        }
    }

    /// Ends the file after the last complete block on the disk, after the disk error `what`.
    /// Returns `what` as the file's error.
    #[must_use]
    pub fn keep(self, what: io::Error) -> ExportError {
        let Self { sink, ends, .. } = self;
        let mut error = sink.error(what);
        let whole = |length| ends.iter().rev().copied().find(|end| *end <= length).unwrap_or(0);
        if sink.keep(whole).is_ok() {
            let kept = format!("{}; what was captured before that is kept", error.what);
            error.what = io::Error::new(error.what.kind(), kept);
        }
        error
    }

    fn statistics(&mut self, end: Instant) -> io::Result<()> {
        for (i, (written, dropped)) in self.counts.clone().into_iter().enumerate() {
            let block = &mut self.block;
            block.begin(INTERFACE_STATISTICS);
            block.u32(i as u32);
            block.timestamp(end);
            block.option(ISB_IFRECV, &written.to_le_bytes());
            block.option(ISB_IFDROP, &dropped.to_le_bytes());
            self.write()?;
        }
        Ok(())
    }
}
