//! Checks the sizes that the pages of a Parquet column announce, before anything is unpacked.
//!
//! The library allocates what a page header announces, up to 2 GiB for a page of a few bytes. So
//! headers are read here first: `PageHeader` of parquet-format in Thrift's compact protocol. Only
//! the fields 2 (`uncompressed_page_size`) and 3 (`compressed_page_size`) matter; all others are
//! skipped.

/// Largest page when unpacked; writers aim at 1 MB.
const MOST_PAGE: u64 = 64 << 20;
/// Snappy's best ratio is 64 bytes for a tag of three (its format description, section 2.2.2);
/// shorter pages have a few more bytes of overhead.
const MOST_GROWTH: u64 = 22;
const SOME_MORE: u64 = 64;
/// Maximum nesting of structures in a header; parquet-format needs three.
const DEEPEST: u32 = 8;

/// What is wrong with the pages of a column that fill `chunk`, if anything.
pub(super) fn check(chunk: &[u8]) -> Result<(), String> {
    let mut rest = chunk;
    while !rest.is_empty() {
        let mut header = Compact { rest };
        let (unpacked, packed) = header.page().ok_or("a page without a whole header")?;
        if unpacked > MOST_PAGE || unpacked > packed.saturating_mul(MOST_GROWTH) + SOME_MORE {
            return Err(format!("a page of {packed} bytes that claims {unpacked} when unpacked"));
        }
        let packed = usize::try_from(packed).unwrap_or(usize::MAX);
        rest = header.rest.get(packed..).ok_or("a page that its column does not hold")?;
    }
    Ok(())
}

/// Thrift's compact protocol, as far as skipping needs it.
struct Compact<'a> {
    rest: &'a [u8],
}

impl Compact<'_> {
    /// The sizes of a page, unpacked and packed; none when they are absent or negative.
    fn page(&mut self) -> Option<(u64, u64)> {
        let (mut unpacked, mut packed) = (None, None);
        let mut field = 0;
        while let Some((id, kind)) = self.field(field)? {
            field = id;
            match (id, kind) {
                (2, 5) => unpacked = Some(self.size()?),
                (3, 5) => packed = Some(self.size()?),
                _ => self.skip(kind, 0)?,
            }
        }
        Some((unpacked?, packed?))
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// A varint of at most 64 bits, seven per byte.
    fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A signed (zigzag) number of 32 bits that is not negative.
    fn size(&mut self) -> Option<u64> {
        let zigzag = self.number()?;
        (zigzag % 2 == 0 && zigzag <= u64::from(u32::MAX)).then_some(zigzag / 2)
    }

    /// Number and type of the next field of a structure after the field `before`; inner none at its
    /// end.
    fn field(&mut self, before: u64) -> Option<Option<(u64, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        let id = match head >> 4 {
            0 => self.number()? / 2,
            delta => before + u64::from(delta),
        };
        Some(Some((id, head & 15)))
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    /// Skips a value of type `kind`.
    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            // Booleans of fields are in their type.
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.number().map(|_| ()),
            7 => self.pass(8),
            8 => {
                let length = self.number()?;
                self.pass(length)
            }
            12 if depth < DEEPEST => {
                let mut field = 0;
                while let Some((id, kind)) = self.field(field)? {
                    field = id;
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            // A header has no lists, sets or maps.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page: type 0, sizes, a structure with a boolean and a text, then `packed` bytes.
    fn page(unpacked: u32, packed: u32) -> Vec<u8> {
        let number = |out: &mut Vec<u8>, value: u32| {
            let mut zigzag = u64::from(value) * 2;
            while zigzag >= 0x80 {
                out.push(zigzag as u8 | 0x80);
                zigzag >>= 7;
            }
            out.push(zigzag as u8);
        };
        let mut out = vec![0x15, 0];
        for size in [unpacked, packed] {
            out.push(0x15);
            number(&mut out, size);
        }
        out.extend([0x2c, 0x11, 0x18, 2, b'h', b'i', 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.resize(out.len() + packed as usize, 7);
        out
    }

    #[test]
    fn f6_a_page_that_claims_more_than_snappy_can_hold_is_refused_before_it_is_unpacked() {
        let sound = [page(100, 10), page(2200, 100)].concat();
        assert_eq!(check(&sound), Ok(()));
        assert_eq!(check(&[]), Ok(()));
        let bomb = [page(100, 10), page(u32::MAX / 2, 20)].concat();
        assert_eq!(
            check(&bomb),
            Err("a page of 20 bytes that claims 2147483647 when unpacked".into())
        );
        let large = page(MOST_PAGE as u32 + 1, 4 << 20);
        assert!(check(&large).is_err());
    }

    #[test]
    fn headers_that_are_cut_negative_or_of_unknown_shape_are_damage() {
        let whole = page(100, 10);
        let header = whole.len() - 10;
        for end in 1..header {
            assert_eq!(check(&whole[..end]), Err("a page without a whole header".into()), "{end}");
        }
        assert_eq!(check(&whole[..header + 9]), Err("a page that its column does not hold".into()));
        for wrong in
            [&[0x15, 0, 0x15, 1, 0x15, 2, 0][..], &[0x15, 0, 0x1b, 1, 0], &[0; 3], &[0x5c; 40]]
        {
            assert_eq!(check(wrong), Err("a page without a whole header".into()), "{wrong:?}");
        }
    }
}
