//! Splits a stream into lines within one buffer: no allocation and no copy per line.

use super::MAX_LINE;
use super::unpack::{MAX_LINES, beyond};
use std::io::{self, ErrorKind, Read};

/// Size of the buffer; many lines, and more than the longest one.
const BUFFER: usize = 64 * 1024;
const _: () = assert!(BUFFER > MAX_LINE + 2);

/// The byte order mark that some programs put before UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The next item of a stream.
#[derive(Debug)]
pub(super) enum Next<'a> {
    /// A line, without its end (LF or CRLF).
    Line(&'a [u8]),
    /// A line longer than [`MAX_LINE`].
    TooLong,
    /// Nothing more.
    End,
}

/// A stream split into lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    buffer: Box<[u8]>,
    /// Start of the unread part of the buffer.
    start: usize,
    end: usize,
    exhausted: bool,
    /// True before the first line.
    first: bool,
    /// Lines that may still be returned.
    left: u64,
    most: u64,
    /// The bytes at the ends of lines and before the first.
    marks: Marks,
}

/// Skipped signs of another system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// A byte order mark before the first line.
    pub(super) bom: bool,
    /// A line that ends in CRLF.
    pub(super) crlf: bool,
}

impl<R: Read> Lines<R> {
    /// The lines of `reader`, at most [`MAX_LINES`].
    pub(super) fn new(reader: R) -> Self {
        Self::limited(reader, MAX_LINES)
    }

    /// The lines of `reader`, at most `most`.
    pub(super) fn limited(reader: R, most: u64) -> Self {
        Self {
            reader,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            exhausted: false,
            first: true,
            left: most,
            most,
            marks: Marks::default(),
        }
    }

    /// The lines skipped so far.
    pub(super) const fn marks(&self) -> Marks {
        self.marks
    }

    /// The next line.
    ///
    /// # Errors
    /// The stream's error, such as a damaged archive, and more lines than allowed.
    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        let mut searched = 0;
        let (from, mut to) = loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(length) = unread[searched..].iter().position(|&byte| byte == b'\n') {
                let from = self.start;
                self.start += searched + length + 1;
                break (from, self.start - 1);
            }
            searched = unread.len();
            if self.exhausted || searched > MAX_LINE + 1 {
                let from = self.start;
                self.start = self.end;
                break (from, self.end);
            }
            self.fill()?;
        };
        if from == to && self.start == from {
            return Ok(Next::End);
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| beyond(self.most, "lines"))?;
        let first = std::mem::replace(&mut self.first, false);
        if to > from && self.buffer[to - 1] == b'\r' {
            to -= 1;
            self.marks.crlf = true;
        }
        let line = &self.buffer[from..to];
        if line.len() > MAX_LINE {
            return Ok(Next::TooLong);
        }
        match line.strip_prefix(BOM) {
            Some(rest) if first => {
                self.marks.bom = true;
                Ok(Next::Line(rest))
            }
            _ => Ok(Next::Line(line)),
        }
    }

    /// Moves the unread part to the front and reads more after it.
    #[cold]
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    self.exhausted = read == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
