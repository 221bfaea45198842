//! Checks the sizes that the headers of a Parquet file announce, before anything is unpacked.
//!
//! The library allocates what a header announces, up to 16 GiB for a page of a few bytes, and calls
//! itself for each level of the schema. So headers are read here first: of the file
//! (`FileMetaData` of parquet-format) its schema, of the pages `PageHeader`.

use super::thrift::{BINARY, BOOL, BYTE, Compact, Field, I32, I64, LIST, STRUCT, Shape, positive};

/// Largest page when unpacked; writers aim at 1 MB.
const MOST_PAGE: u64 = 64 << 20;
/// Snappy's best ratio is 64 bytes for a tag of three (its format description, section 2.2.2);
/// shorter pages have a few more bytes of overhead.
const MOST_GROWTH: u64 = 22;
const SOME_MORE: u64 = 64;
/// Bytes of the shortest value in a dictionary.
const LEAST_VALUE: u64 = 4;
/// Largest footer: its parts take some hundred times their bytes in memory.
const MOST_FOOTER: usize = 4 << 20;
/// Most columns and groups of them in a schema.
const MOST_ELEMENTS: u64 = 1000;

const STATISTICS: Shape = &[
    Field(1, BINARY, &[]),
    Field(2, BINARY, &[]),
    Field(3, I64, &[]),
    Field(4, I64, &[]),
    Field(5, BINARY, &[]),
    Field(6, BINARY, &[]),
    Field(7, BOOL, &[]),
    Field(8, BOOL, &[]),
];
/// `PageHeader`.
const PAGE: Shape = &[
    Field(1, I32, &[]),
    Field(UNPACKED, I32, &[]),
    Field(PACKED, I32, &[]),
    Field(4, I32, &[]),
    // `DataPageHeader`.
    Field(
        5,
        STRUCT,
        &[
            Field(1, I32, &[]),
            Field(2, I32, &[]),
            Field(3, I32, &[]),
            Field(4, I32, &[]),
            Field(5, STRUCT, STATISTICS),
        ],
    ),
    Field(6, STRUCT, &[]),
    Field(DICTIONARY, STRUCT, &[Field(1, I32, &[]), Field(2, I32, &[]), Field(3, BOOL, &[])]),
    // `DataPageHeaderV2`.
    Field(
        8,
        STRUCT,
        &[
            Field(1, I32, &[]),
            Field(2, I32, &[]),
            Field(3, I32, &[]),
            Field(4, I32, &[]),
            Field(5, I32, &[]),
            Field(6, I32, &[]),
            Field(7, BOOL, &[]),
            Field(8, STRUCT, STATISTICS),
        ],
    ),
];
const UNPACKED: u64 = 2;
const PACKED: u64 = 3;
const DICTIONARY: u64 = 7;

/// `TimeType` and `TimestampType`.
const TIME: Shape = &[
    Field(1, BOOL, &[]),
    Field(2, STRUCT, &[Field(1, STRUCT, &[]), Field(2, STRUCT, &[]), Field(3, STRUCT, &[])]),
];
/// `SchemaElement`.
const ELEMENT: Shape = &[
    Field(1, I32, &[]),
    Field(2, I32, &[]),
    Field(3, I32, &[]),
    Field(4, BINARY, &[]),
    Field(CHILDREN, I32, &[]),
    Field(6, I32, &[]),
    Field(7, I32, &[]),
    Field(8, I32, &[]),
    Field(9, I32, &[]),
    // `LogicalType`: those that are not empty.
    Field(
        10,
        STRUCT,
        &[
            Field(5, STRUCT, &[Field(1, I32, &[]), Field(2, I32, &[])]),
            Field(7, STRUCT, TIME),
            Field(8, STRUCT, TIME),
            Field(10, STRUCT, &[Field(1, BYTE, &[]), Field(2, BOOL, &[])]),
            Field(16, STRUCT, &[Field(1, BYTE, &[])]),
            Field(17, STRUCT, &[Field(1, BINARY, &[])]),
            Field(18, STRUCT, &[Field(1, BINARY, &[]), Field(2, I32, &[])]),
        ],
    ),
];
const CHILDREN: u64 = 5;

/// What is wrong with the schema in the footer of `file`, if anything.
pub(super) fn check_schema(file: &[u8]) -> Result<(), String> {
    let Some((rest, b"PAR1")) = file.split_last_chunk() else { return Err("no end".into()) };
    let Some((rest, length)) = rest.split_last_chunk() else { return Err("no end".into()) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > MOST_FOOTER {
        return Err(format!("a footer of {length} bytes"));
    }
    let start = rest.len().checked_sub(length).ok_or("a footer longer than the file")?;
    let mut footer = Compact { rest: &rest[start..] };
    let elements = schema(&mut footer).ok_or("a schema of unknown shape")?;
    if elements > MOST_ELEMENTS {
        return Err(format!("a schema of {elements} columns"));
    }
    let mut most_children = Some(0);
    for _ in 0..elements {
        let mut note = |within, id, value| {
            if (within, id) == (0, CHILDREN) {
                most_children = positive(value).zip(most_children).map(|(a, b)| a.max(b));
            }
        };
        footer.structure(ELEMENT, 0, &mut note).ok_or("a schema of unknown shape")?;
    }
    match most_children {
        Some(most) if most <= elements => Ok(()),
        _ => Err(format!("more columns in a group than the {elements} of the schema")),
    }
}

/// The number of elements of the schema that follows. Writers put it after the version.
fn schema(footer: &mut Compact<'_>) -> Option<u64> {
    let (1, I32) = footer.field(0)?? else { return None };
    footer.number()?;
    let (2, LIST) = footer.field(1)?? else { return None };
    footer.structures()
}

/// What is wrong with the pages of a column that fill `chunk`, if anything.
pub(super) fn check(chunk: &[u8]) -> Result<(), String> {
    let mut rest = chunk;
    while !rest.is_empty() {
        let mut header = Compact { rest };
        let page = Page::read(&mut header).ok_or("a page without a whole header")?;
        let Page { unpacked, packed, values } = page;
        if unpacked > MOST_PAGE || unpacked > packed.saturating_mul(MOST_GROWTH) + SOME_MORE {
            return Err(format!("a page of {packed} bytes that claims {unpacked} when unpacked"));
        }
        if values > unpacked / LEAST_VALUE {
            return Err(format!("a dictionary of {unpacked} bytes that claims {values} values"));
        }
        let packed = usize::try_from(packed).unwrap_or(usize::MAX);
        rest = header.rest.get(packed..).ok_or("a page that its column does not hold")?;
    }
    Ok(())
}

/// Sizes of a page.
#[derive(Default)]
struct Page {
    unpacked: u64,
    packed: u64,
    /// Of a dictionary.
    values: u64,
}

impl Page {
    /// None when a size is absent or negative.
    fn read(header: &mut Compact<'_>) -> Option<Self> {
        let (mut unpacked, mut packed, mut values) = (None, None, Some(0));
        let mut note = |within, id, value| match (within, id) {
            (0, UNPACKED) => unpacked = positive(value),
            (0, PACKED) => packed = positive(value),
            (DICTIONARY, 1) => values = positive(value),
            _ => {}
        };
        header.structure(PAGE, 0, &mut note)?;
        Some(Self { unpacked: unpacked?, packed: packed?, values: values? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page: type 0, sizes, an unknown structure with a boolean and a text, then `packed`
    /// bytes.
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
        out.extend([0x6c, 0x11, 0x18, 2, b'h', b'i', 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
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
