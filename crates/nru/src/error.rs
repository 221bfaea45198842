//! The reason why bytes are no frame, or a frame cannot be written.

use core::fmt;

/// Why bytes cannot be read, or a value cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end inside this field, or the buffer to write has no room for it.
    Short(&'static str),
    /// A version of GTP other than 1.
    Version(u8),
    /// GTP' (protocol type 0), the protocol of charging.
    Prime,
    /// The length in the GTP-U header differs from the datagram's; both count the bytes after the
    /// first eight.
    Length {
        /// The length in the header.
        stated: usize,
        /// The length of the datagram.
        found: usize,
    },
    /// An extension header that states a length of 0.
    EmptyExtension,
    /// A field with a value that its specification excludes.
    Value {
        /// Its name.
        field: &'static str,
        /// The value.
        found: u32,
        /// The greatest value allowed.
        most: u32,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(field) => write!(f, "the bytes end in field `{field}`"),
            Self::Version(found) => write!(f, "field `version`: found {found}, allowed is 1"),
            Self::Prime => f.write_str("field `protocol type`: found 0 (GTP'), allowed is 1"),
            Self::Length { stated, found } => {
                write!(f, "field `length`: found {stated}, but {found} bytes follow")
            }
            Self::EmptyExtension => {
                f.write_str("field `extension header length`: found 0, allowed is 1 to 255")
            }
            Self::Value { field, found, most } => {
                write!(f, "field `{field}`: found {found}, allowed is at most {most}")
            }
        }
    }
}

impl core::error::Error for Malformed {}
