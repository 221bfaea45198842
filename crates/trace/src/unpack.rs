//! The bytes of a file without its gzip, up to a stated limit.
//!
//! A gzip archive can unpack to a thousand times its own size, and may consist of empty members: 3
//! MB of those would keep a reader busy for a minute. The limits bound time and memory; beyond one,
//! reading ends with an error that names it.

use super::TraceError;
use flate2::bufread::GzDecoder;
use std::fmt;
use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read};
use std::path::Path;

/// Maximum bytes of a trace file, both as stored and unpacked: the longest timeline fits in every
/// text format with one line per interval.
pub const MAX_BYTES: u64 = 1 << 31;
/// Maximum lines of a trace file, comments and empty ones included: 20 minutes of 1 Gbit/s as a
/// Mahimahi trace.
pub const MAX_LINES: u64 = 100_000_000;
/// Maximum members of a gzip archive; BGZF, which has the most, needs 33 000 for [`MAX_BYTES`].
pub const MAX_MEMBERS: u32 = 100_000;

/// Limits for one file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes, as stored and unpacked.
    pub(super) bytes: u64,
    /// Members of a gzip archive.
    pub(super) members: u32,
}

impl Limits {
    pub(super) const ALL: Self = Self { bytes: MAX_BYTES, members: MAX_MEMBERS };
}

/// The error of a reader beyond its limit.
#[derive(Debug)]
struct BeyondLimit {
    most: u64,
    what: &'static str,
}

impl fmt::Display for BeyondLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} {}", self.most, self.what)
    }
}

impl std::error::Error for BeyondLimit {}

/// The error of a reader that found more than `most` of `what`.
#[cold]
pub(super) fn beyond(most: u64, what: &'static str) -> io::Error {
    io::Error::other(BeyondLimit { most, what })
}

/// The meaning of `error` for the file at `path`: an exceeded limit, or that reading failed after
/// `line` lines.
pub(super) fn read_error(path: &Path, line: Option<u64>, error: &io::Error) -> TraceError {
    let limit = error.get_ref().and_then(|inner| inner.downcast_ref::<BeyondLimit>());
    if let Some(limit) = limit {
        return TraceError::unusable(
            path,
            limit.to_string(),
            format!("at most {} {}", limit.most, limit.what),
        );
    }
    let place = line.map(|line| format!(" after line {line}")).unwrap_or_default();
    let allowed = "a readable file, or a complete gzip archive of one";
    TraceError::unusable(path, format!("a read error{place}: {error}"), allowed)
}

/// Passes on at most `left` bytes of `reader`, then the error of the limit.
#[derive(Debug)]
pub(super) struct Capped<R> {
    reader: R,
    left: u64,
    most: u64,
    what: &'static str,
}

impl<R: Read> Capped<R> {
    const fn new(reader: R, most: u64, what: &'static str) -> Self {
        Self { reader, left: most, most, what }
    }
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.reader.read(buffer) {
                // A decoder would take an interrupted call for a damaged archive.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.left = self
                        .left
                        .checked_sub(read as u64)
                        .ok_or_else(|| beyond(self.most, self.what))?;
                    return Ok(read);
                }
            }
        }
    }
}

/// A file as stored, after a look at its first bytes.
type Stored<R> = Chain<Cursor<Vec<u8>>, Capped<R>>;

/// A file without its gzip, if it had one.
pub(super) enum Unpacked<R: Read> {
    Plain(Stored<R>),
    Gzip(Box<Capped<Members<Stored<R>>>>),
}

impl<R: Read> Unpacked<R> {
    /// Unpacks gzip if the first two bytes announce it (RFC 1952 section 2.3.1).
    ///
    /// # Errors
    /// When those bytes cannot be read.
    pub(super) fn new(reader: R, path: &Path, limits: Limits) -> Result<Self, TraceError> {
        let mut reader = Capped::new(reader, limits.bytes, "bytes");
        let mut magic = Vec::with_capacity(2);
        let peeked = reader.by_ref().take(2).read_to_end(&mut magic);
        peeked.map_err(|error| read_error(path, None, &error))?;
        let gzip = magic == [0x1f, 0x8b];
        let whole = Cursor::new(magic).chain(reader);
        if !gzip {
            return Ok(Self::Plain(whole));
        }
        let members = Members::new(whole, limits.members);
        Ok(Self::Gzip(Box::new(Capped::new(members, limits.bytes, "bytes without gzip"))))
    }

    /// Whether the file is an archive.
    pub(super) const fn is_gzip(&self) -> bool {
        matches!(self, Self::Gzip(_))
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(buffer),
            Self::Gzip(reader) => reader.read(buffer),
        }
    }
}

/// The members of a gzip archive, one after another, and counted.
pub(super) struct Members<R: Read> {
    /// None after the last member, and after an error between members.
    decoder: Option<GzDecoder<BufReader<R>>>,
    begun: u32,
    most: u32,
}

impl<R: Read> Members<R> {
    fn new(reader: R, most: u32) -> Self {
        Self { decoder: Some(GzDecoder::new(BufReader::new(reader))), begun: 1, most }
    }

    /// Begins the next member; at the end of the archive there is none.
    fn advance(&mut self) -> io::Result<()> {
        let Some(mut decoder) = self.decoder.take() else { return Ok(()) };
        if decoder.get_mut().fill_buf()?.is_empty() {
            return Ok(());
        }
        if self.begun == self.most {
            return Err(beyond(self.most.into(), "gzip members"));
        }
        self.begun += 1;
        self.decoder = Some(GzDecoder::new(decoder.into_inner()));
        Ok(())
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(decoder) = &mut self.decoder {
            let read = decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            self.advance()?;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::gzip;
    use super::*;

    /// Counts the bytes that are taken from it.
    struct Counted<'a> {
        bytes: &'a [u8],
        taken: &'a mut usize,
    }

    impl Read for Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.bytes.read(buffer)?;
            *self.taken += read;
            Ok(read)
        }
    }

    /// The output of a reader of `bytes`, the bytes it consumed, and its error.
    fn unpacked(bytes: &[u8], limits: Limits) -> (usize, usize, Option<String>) {
        let mut taken = 0;
        let path = Path::new("x.gz");
        let mut reader = Unpacked::new(Counted { bytes, taken: &mut taken }, path, limits)
            .expect("it is readable");
        let mut handed_out = 0;
        let mut buffer = [0; 4096];
        let error = loop {
            match reader.read(&mut buffer) {
                Ok(0) => break None,
                Ok(read) => handed_out += read,
                Err(error) => break Some(read_error(path, None, &error).to_string()),
            }
        };
        drop(reader);
        (handed_out, taken, error)
    }

    #[test]
    fn an_archive_is_unpacked_up_to_its_limit_and_no_further() {
        let limits = Limits { bytes: 1 << 20, members: 10 };
        let fits = gzip(&vec![b'\n'; 1 << 20]);
        assert_eq!(unpacked(&fits, limits), (1 << 20, fits.len(), None));
        let large = gzip(&vec![b'\n'; 1 << 24]);
        let (handed_out, taken, error) = unpacked(&large, limits);
        assert!(handed_out <= 1 << 20 && taken < large.len() / 2, "{handed_out} of {taken} B");
        let said = "x.gz: found more than 1048576 bytes without gzip, allowed is at most 1048576 \
                    bytes without gzip";
        assert_eq!(error.as_deref(), Some(said));
        let plain = vec![b'#'; (1 << 20) + 1];
        let said = "x.gz: found more than 1048576 bytes, allowed is at most 1048576 bytes";
        assert_eq!(unpacked(&plain, limits).2.as_deref(), Some(said));
        assert_eq!(unpacked(&plain[1..], limits), (1 << 20, 1 << 20, None));
    }

    #[test]
    fn members_that_hold_nothing_are_counted_and_end_at_their_limit() {
        let limits = Limits { bytes: 1 << 20, members: 10 };
        let nothing = gzip(b"");
        let ten = [nothing.repeat(9), gzip(b"7\n")].concat();
        assert_eq!(unpacked(&ten, limits), (2, ten.len(), None));
        let flood = nothing.repeat(100_000);
        let (handed_out, taken, error) = unpacked(&flood, limits);
        assert!(handed_out == 0 && taken < flood.len() / 10, "{taken} B");
        let said = "x.gz: found more than 10 gzip members, allowed is at most 10 gzip members";
        assert_eq!(error.as_deref(), Some(said));
    }

    #[test]
    fn blocks_that_hold_nothing_count_as_bytes_of_the_archive() {
        // Stored blocks of no bytes (RFC 1951 section 3.2.4), none of which is the last.
        let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        let flood = [header.to_vec(), [0, 0, 0, 0xff, 0xff].repeat(300_000)].concat();
        let (handed_out, taken, error) = unpacked(&flood, Limits { bytes: 1 << 20, members: 10 });
        assert!(handed_out == 0 && taken < flood.len(), "{taken} B");
        assert_eq!(
            error.as_deref(),
            Some("x.gz: found more than 1048576 bytes, allowed is at most 1048576 bytes")
        );
    }

    #[test]
    fn bytes_behind_an_archive_are_damage() {
        let trailing = [gzip(b"7\n"), b"more".to_vec()].concat();
        let (handed_out, _, error) = unpacked(&trailing, Limits::ALL);
        assert_eq!(handed_out, 2);
        assert!(error.is_some_and(|error| error.starts_with("x.gz: found a read error: ")));
    }
}
