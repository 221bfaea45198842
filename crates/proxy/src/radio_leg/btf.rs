//! Structures of the running kernel, from its type information (BTF; Documentation/bpf/btf.rst).

use std::io;

/// Kinds of types, and the bytes that follow each.
const INT: u32 = 1;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const ENUM64: u32 = 19;
/// `btf_header.magic`.
const MAGIC: u16 = 0xeb9f;

/// A structure.
#[derive(Clone, Debug)]
pub(super) struct Structure {
    /// Number of its type.
    pub(super) id: u32,
    /// Bytes.
    pub(super) size: usize,
    /// Name and offset in bytes of each field.
    fields: Vec<(String, usize)>,
}

impl Structure {
    /// Number and offset in bytes of the field `name`.
    pub(super) fn field(&self, name: &str) -> Option<(u32, usize)> {
        let number = self.fields.iter().position(|(field, _)| field == name)?;
        Some((u32::try_from(number).ok()?, self.fields[number].1))
    }
}

/// Our own type information: a word of 32 bits, and an array of `count` words; and the numbers of
/// both types.
pub(super) fn words(count: u32) -> (Vec<u8>, [u32; 2]) {
    let strings = b"\0u32\0";
    let (word, array) = (1, 2);
    // Name, kind, size and bits; no name, kind, and type, index and count.
    let types = [1, INT << 24, 4, 32, 0, ARRAY << 24, 0, word, word, count];
    let header = [
        u32::from_ne_bytes([MAGIC.to_ne_bytes()[0], MAGIC.to_ne_bytes()[1], 1, 0]),
        24,
        0,
        size_of_val(&types) as u32,
        size_of_val(&types) as u32,
        strings.len() as u32,
    ];
    let mut bytes: Vec<u8> = header.iter().chain(&types).flat_map(|w| w.to_ne_bytes()).collect();
    bytes.extend_from_slice(strings);
    (bytes, [word, array])
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn word(&mut self) -> Option<u32> {
        let bytes = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// The structures `names` of the type information `bytes`, in this order.
///
/// # Errors
/// The bytes are no type information, or have no such structure.
pub(super) fn structures<const N: usize>(
    bytes: &[u8],
    names: [&str; N],
) -> io::Result<[Structure; N]> {
    let mut found = names.map(|_| None);
    walk(bytes, |structure, name, strings| {
        if let Some(at) = names.iter().position(|wanted| *wanted == name)
            && found[at].is_none()
        {
            found[at] = structure.read(strings);
        }
    })
    .ok_or_else(|| io::Error::other("the kernel's type information cannot be read"))?;
    let missing = |name| io::Error::other(format!("the kernel's type information has no {name}"));
    let mut names = names.into_iter();
    let mut result = Vec::with_capacity(N);
    for structure in found {
        let name = names.next().unwrap_or_default();
        result.push(structure.ok_or_else(|| missing(name))?);
    }
    result.try_into().map_err(|_| io::Error::other("as many as names"))
}

/// A structure before its fields are read.
struct Found<'a> {
    id: u32,
    size: u32,
    /// True if an offset has the size of a bit field in its upper byte; otherwise offsets count
    /// bits.
    bit_fields: bool,
    count: usize,
    fields: &'a [u8],
}

impl Found<'_> {
    fn read(&self, strings: &[u8]) -> Option<Structure> {
        let mut reader = Reader { bytes: self.fields, at: 0 };
        let mut fields = Vec::with_capacity(self.count);
        for _ in 0..self.count {
            let (name, _type, offset) = (reader.word()?, reader.word()?, reader.word()?);
            let bits = if self.bit_fields { offset & 0xff_ffff } else { offset };
            fields.push((text(strings, name)?.to_owned(), bits as usize / 8));
        }
        Some(Structure { id: self.id, size: self.size as usize, fields })
    }
}

/// Calls `show` for every structure, with its name and all names. None if the bytes are no BTF.
fn walk(bytes: &[u8], mut show: impl FnMut(&Found<'_>, &str, &[u8])) -> Option<()> {
    let mut head = Reader { bytes, at: 0 };
    let (first, length) = (head.word()?, head.word()? as usize);
    if first.to_ne_bytes()[..2] != MAGIC.to_ne_bytes() {
        return None;
    }
    let mut part = || {
        let (at, size) = (head.word()? as usize, head.word()? as usize);
        bytes.get(length.checked_add(at)?..length.checked_add(at)?.checked_add(size)?)
    };
    let (types, strings) = (part()?, part()?);
    let mut reader = Reader { bytes: types, at: 0 };
    let mut id = 0;
    while reader.at < types.len() {
        id += 1;
        let (name, info, size) = (reader.word()?, reader.word()?, reader.word()?);
        let (kind, count) = (info >> 24 & 0x1f, info as usize & 0xffff);
        let length = match kind {
            INT | VAR | DECL_TAG => 4,
            ARRAY => 12,
            STRUCT | UNION | DATASEC | ENUM64 => 12 * count,
            ENUM | FUNC_PROTO => 8 * count,
            _ => 0,
        };
        let fields = types.get(reader.at..reader.at + length)?;
        reader.at += length;
        if kind == STRUCT {
            let found = Found { id, size, bit_fields: info >> 31 == 1, count, fields };
            show(&found, text(strings, name)?, strings);
        }
    }
    Some(())
}

fn text(strings: &[u8], at: u32) -> Option<&str> {
    let rest = strings.get(at as usize..)?;
    std::str::from_utf8(&rest[..rest.iter().position(|b| *b == 0)?]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_type_information_are_refused() {
        let real = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
        for bytes in [&[][..], &[0; 24], &real[..real.len().min(1 << 20)]] {
            let error = structures(bytes, ["sock"]).expect_err("none").to_string();
            assert!(error.contains("cannot be read"), "{error}");
        }
    }
}
