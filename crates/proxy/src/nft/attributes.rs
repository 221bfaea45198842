//! Attributes of netlink, written and read: length, kind, value, and padding to four bytes.

use nix::libc;

/// Attributes of netlink: length, type, value, padding to four bytes.
#[derive(Default)]
pub(crate) struct Attributes(pub(super) Vec<u8>);

impl Attributes {
    pub(super) fn raw(&mut self, kind: u16, value: &[u8]) {
        let length = (4 + value.len()) as u16;
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    pub(crate) fn text(&mut self, kind: u16, text: &str) {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.raw(kind, &bytes);
    }

    pub(crate) fn number(&mut self, kind: u16, number: u32) {
        self.raw(kind, &number.to_be_bytes());
    }

    pub(super) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.raw(kind | libc::NLA_F_NESTED as u16, &inner.0);
    }

    /// `NFTA_DATA_VALUE` under `kind`.
    pub(super) fn value(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |a| a.raw(1, value));
    }
}

/// The attributes in `bytes`: kind and value.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let head = rest.get(..4)?;
        let size = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]) & 0x3fff;
        let value = rest.get(4..size)?;
        rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The value of an attribute; empty if it is not there.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> &[u8] {
    attributes(bytes).find_map(|(found, value)| (found == kind).then_some(value)).unwrap_or(&[])
}

/// A number of an attribute, of four or eight bytes.
pub(crate) fn number(bytes: &[u8], kind: u16) -> Option<u64> {
    let value = attribute(bytes, kind);
    matches!(value.len(), 4 | 8).then(|| value.iter().fold(0, |sum, b| sum << 8 | u64::from(*b)))
}

/// A text of an attribute.
pub(crate) fn text(bytes: &[u8], kind: u16) -> String {
    let value = attribute(bytes, kind);
    String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned()
}
