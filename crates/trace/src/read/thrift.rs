//! Thrift's compact protocol, as far as the headers of Parquet need it.
//!
//! The library takes a known field for what its number says, whatever type the file gives it, and
//! the last of several with one number. What is read here must be what the library reads: a known
//! field of another type, or one that is there twice, is damage.

/// Types of fields. A boolean has its value in the type, which is 1 or 2.
pub(super) const BOOL: u8 = 1;
pub(super) const BYTE: u8 = 3;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// Maximum nesting of structures in unknown fields; parquet-format needs three.
const DEEPEST: u32 = 8;

/// A known field: its number, its type and, of a structure, what is in it.
pub(super) struct Field(pub(super) u64, pub(super) u8, pub(super) Shape);

/// The known fields of a structure.
pub(super) type Shape = &'static [Field];

/// What is left to read.
pub(super) struct Compact<'a> {
    pub(super) rest: &'a [u8],
}

impl Compact<'_> {
    /// Reads a structure. `each` gets every known number of 32 bits as it is written (zigzag),
    /// after the number of the structure's own field, here `within`, and its number there.
    pub(super) fn structure(
        &mut self,
        shape: Shape,
        within: u64,
        each: &mut dyn FnMut(u64, u64, u64),
    ) -> Option<()> {
        let (mut field, mut seen) = (0, 0_u64);
        while let Some((id, kind)) = self.field(field)? {
            field = id;
            let Some(Field(_, known, inner)) = shape.iter().find(|field| field.0 == id) else {
                self.skip(kind, 0)?;
                continue;
            };
            let before = seen;
            seen |= 1 << id;
            if before == seen || kind != *known && !(*known == BOOL && kind == 2) {
                return None;
            }
            match kind {
                STRUCT => self.structure(inner, id, each)?,
                I32 => each(within, id, self.number()?),
                _ => self.skip(kind, 0)?,
            }
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// A varint of at most 64 bits, seven per byte.
    pub(super) fn number(&mut self) -> Option<u64> {
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

    /// Number and type of the next field of a structure after the field `before`; inner none at its
    /// end.
    pub(super) fn field(&mut self, before: u64) -> Option<Option<(u64, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        let id = match head >> 4 {
            0 => positive(self.number()?)?,
            delta => before + u64::from(delta),
        };
        (id <= i16::MAX as u64).then_some(Some((id, head & 15)))
    }

    /// The number of elements of a list of structures.
    pub(super) fn structures(&mut self) -> Option<u64> {
        let head = self.byte()?;
        let size = match head >> 4 {
            15 => self.number()?,
            size => size.into(),
        };
        (head & 15 == STRUCT).then_some(size)
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    /// Skips a value of type `kind`.
    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            // Booleans of fields are in their type.
            BOOL | 2 => Some(()),
            BYTE => self.pass(1),
            4..=I64 => self.number().map(|_| ()),
            7 => self.pass(8),
            BINARY => {
                let length = self.number()?;
                self.pass(length)
            }
            STRUCT if depth < DEEPEST => {
                let mut field = 0;
                while let Some((id, kind)) = self.field(field)? {
                    field = id;
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            // What is read here has no other lists, and no sets or maps.
            _ => None,
        }
    }
}

/// A signed number of 32 bits in zigzag form that is not negative.
pub(super) fn positive(zigzag: u64) -> Option<u64> {
    (zigzag.is_multiple_of(2) && zigzag <= u64::from(u32::MAX)).then_some(zigzag / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INNER: Shape = &[Field(1, I32, &[])];
    const OUTER: Shape = &[Field(1, I32, &[]), Field(2, BOOL, &[]), Field(4, STRUCT, INNER)];

    fn numbers(bytes: &[u8]) -> Option<Vec<(u64, u64, u64)>> {
        let mut found = Vec::new();
        let mut rest = Compact { rest: bytes };
        rest.structure(OUTER, 0, &mut |within, id, value| found.push((within, id, value)))?;
        rest.rest.is_empty().then_some(found)
    }

    #[test]
    fn known_numbers_are_told_and_the_rest_is_skipped() {
        let sound =
            [0x15, 6, 0x12, 0x18, 2, b'h', b'i', 0x1c, 0x15, 8, 0, 0x17, 1, 2, 3, 4, 5, 6, 7, 8, 0];
        assert_eq!(numbers(&sound), Some(vec![(0, 1, 6), (4, 1, 8)]));
    }

    #[test]
    fn a_known_field_of_another_type_or_twice_or_with_an_odd_number_is_damage() {
        assert_eq!(numbers(&[0x05, 2, 6, 0]), Some(vec![(0, 1, 6)]), "its number written out");
        for wrong in [
            &[0x11, 0][..],
            &[0x15, 6, 0x05, 2, 6, 0],
            &[0x05, 1, 0],
            &[0x05, 0x80, 0x80, 4, 6, 0],
            &[0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0],
            &[0x15],
            &[],
        ] {
            assert_eq!(numbers(wrong), None, "{wrong:?}");
        }
    }
}
