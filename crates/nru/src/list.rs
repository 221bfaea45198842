//! Lists inside frames: read from their bytes, or given as values to write.

use crate::Malformed;
use crate::cursor::{Reader, Writer, u24};
use core::fmt;

/// Consecutive sequence numbers, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnRange {
    /// The first, 0 to 2^24 - 1.
    pub start: u32,
    /// The last, 0 to 2^24 - 1.
    pub end: u32,
}

/// Consecutive PDCP sequence numbers that the DU may discard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscardBlock {
    /// The first, 0 to 2^24 - 1.
    pub start: u32,
    /// Their number.
    pub size: u8,
}

macro_rules! lists {
    ($(
        $(#[$doc:meta])*
        $Name:ident of $Item:ident, $bytes:literal bytes, at most $most:literal, $field:literal:
            $get:expr, $put:expr;
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $Name<'a>(Inner<'a, $Item>);

        impl<'a> $Name<'a> {
            /// The most that a frame holds.
            pub const MOST: u8 = $most;

            /// A list to write.
            #[must_use]
            pub const fn new(items: &'a [$Item]) -> Self {
                Self(Inner::Values(items))
            }

            /// Number of values.
            #[must_use]
            pub const fn len(&self) -> usize {
                match self.0 {
                    Inner::Values(items) => items.len(),
                    Inner::Bytes(bytes) => bytes.len() / $bytes,
                }
            }

            /// True when there is none.
            #[must_use]
            pub const fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The value at `index`; none beyond the end.
            #[must_use]
            pub fn get(&self, index: usize) -> Option<$Item> {
                match self.0 {
                    Inner::Values(items) => items.get(index).copied(),
                    Inner::Bytes(bytes) => {
                        let (chunks, _) = bytes.as_chunks::<$bytes>();
                        chunks.get(index).map($get)
                    }
                }
            }

            /// All in order.
            pub fn iter(&self) -> impl Iterator<Item = $Item> + use<'a> {
                let list = *self;
                (0..list.len()).filter_map(move |index| list.get(index))
            }

            pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
                let count = reader.u8(concat!("number of ", $field))?;
                Self::check(usize::from(count))?;
                let bytes = reader.take(usize::from(count) * $bytes, $field)?;
                Ok(Self(Inner::Bytes(bytes)))
            }

            pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), Malformed> {
                let count = Self::check(self.len())?;
                writer.u8(count, concat!("number of ", $field))?;
                self.iter().try_for_each(|item| $put(writer, item))
            }

            fn check(count: usize) -> Result<u8, Malformed> {
                let found = u32::try_from(count).unwrap_or(u32::MAX);
                let excess = Malformed::Value {
                    field: concat!("number of ", $field),
                    found,
                    most: $most,
                };
                u8::try_from(count).ok().filter(|count| *count <= $most).ok_or(excess)
            }
        }

        impl Default for $Name<'_> {
            fn default() -> Self {
                Self::new(&[])
            }
        }

        impl PartialEq for $Name<'_> {
            fn eq(&self, other: &Self) -> bool {
                self.iter().eq(other.iter())
            }
        }

        impl Eq for $Name<'_> {}

        impl fmt::Debug for $Name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }
    )*};
}

#[derive(Clone, Copy)]
enum Inner<'a, T> {
    Bytes(&'a [u8]),
    Values(&'a [T]),
}

lists! {
    /// Ranges of lost NR-U sequence numbers (TS 38.425 section 5.5.3.9), 0 to 161.
    SnRanges of SnRange, 6 bytes, at most 161, "lost ranges":
        |bytes: &[u8; 6]| {
            let [a, b, c, d, e, f] = *bytes;
            SnRange { start: u24([a, b, c]), end: u24([d, e, f]) }
        },
        |writer: &mut Writer<'_>, range: SnRange| {
            writer.u24(range.start, "start of a lost range")?;
            writer.u24(range.end, "end of a lost range")
        };

    /// Blocks of PDCP sequence numbers to discard (TS 38.425 section 5.5.3.18), 0 to 244.
    DiscardBlocks of DiscardBlock, 4 bytes, at most 244, "discard blocks":
        |bytes: &[u8; 4]| {
            let [a, b, c, size] = *bytes;
            DiscardBlock { start: u24([a, b, c]), size }
        },
        |writer: &mut Writer<'_>, block: DiscardBlock| {
            writer.u24(block.start, "start of a discard block")?;
            writer.u8(block.size, "size of a discard block")
        };
}
