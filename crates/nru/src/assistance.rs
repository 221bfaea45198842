//! ASSISTANCE INFORMATION DATA, PDU type 2 (TS 38.425 section 5.5.2.3).

use crate::Malformed;
use crate::cursor::{Reader, Writer, flag, has};
use core::fmt;

/// One field of radio quality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioQuality<'a> {
    /// The assistance information type (section 5.5.3.28): 1 average CQI, 2 average HARQ failure,
    /// 3 average HARQ retransmissions, and so on.
    pub kind: u8,
    /// Its value, 0 to 255 bytes.
    pub value: &'a [u8],
}

/// The fields of radio quality of a frame, at most 255.
#[derive(Clone, Copy)]
pub struct RadioQualities<'a>(Inner<'a>);

#[derive(Clone, Copy)]
enum Inner<'a> {
    /// The number of fields, and their bytes, which were checked.
    Bytes(u8, &'a [u8]),
    Values(&'a [RadioQuality<'a>]),
}

impl<'a> RadioQualities<'a> {
    /// Fields to write.
    #[must_use]
    pub const fn new(fields: &'a [RadioQuality<'a>]) -> Self {
        Self(Inner::Values(fields))
    }

    /// All in order.
    pub fn iter(&self) -> impl Iterator<Item = RadioQuality<'a>> + use<'a> {
        let (mut reader, values) = match self.0 {
            Inner::Bytes(_, bytes) => (Reader::new(bytes), &[][..]),
            Inner::Values(values) => (Reader::new(&[]), values),
        };
        let read = core::iter::from_fn(move || quality(&mut reader).ok());
        read.chain(values.iter().copied())
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = reader.u8("number of assistance information fields")?;
        let begin = reader.rest();
        for _ in 0..count {
            quality(reader)?;
        }
        let length = begin.len() - reader.rest().len();
        Ok(Self(Inner::Bytes(count, &begin[..length])))
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Malformed> {
        let found = match self.0 {
            Inner::Bytes(count, _) => usize::from(count),
            Inner::Values(values) => values.len(),
        };
        let field = "number of assistance information fields";
        let excess = |found: usize, field| {
            let found = u32::try_from(found).unwrap_or(u32::MAX);
            Malformed::Value { field, found, most: u32::from(u8::MAX) }
        };
        let count = u8::try_from(found).map_err(|_| excess(found, field))?;
        writer.u8(count, field)?;
        for RadioQuality { kind, value } in self.iter() {
            let field = "octets of radio quality";
            let length = u8::try_from(value.len()).map_err(|_| excess(value.len(), field))?;
            writer.put(&[kind, length], field)?;
            writer.put(value, "radio quality")?;
        }
        Ok(())
    }
}

fn quality<'a>(reader: &mut Reader<'a>) -> Result<RadioQuality<'a>, Malformed> {
    let kind = reader.u8("assistance information type")?;
    let length = reader.u8("octets of radio quality")?;
    Ok(RadioQuality { kind, value: reader.take(usize::from(length), "radio quality")? })
}

impl PartialEq for RadioQualities<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for RadioQualities<'_> {}

impl fmt::Debug for RadioQualities<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The DU's advice to the CU-UP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assistance<'a> {
    /// Whether PDCP duplication should be active; none without advice.
    pub duplicate: Option<bool>,
    /// Fields of radio quality.
    pub quality: Option<RadioQualities<'a>>,
    /// The DU's part of the uplink delay, in ms.
    pub uplink_delay: Option<u32>,
    /// The DU's part of the downlink delay, in ms.
    pub downlink_delay: Option<u32>,
}

impl<'a> Assistance<'a> {
    pub(crate) fn read(container: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(container);
        let first = reader.u8("PDU type")?;
        let second = reader.u8("flags of assistance information")?;
        Ok(Self {
            duplicate: has(first, 3).then_some(has(second, 0)),
            quality: reader.optional(has(first, 2), RadioQualities::read)?,
            uplink_delay: reader.optional(has(first, 1), |r| r.u32("UL delay"))?,
            downlink_delay: reader.optional(has(first, 0), |r| r.u32("DL delay"))?,
        })
    }

    pub(crate) fn write(&self, room: &mut [u8]) -> Result<usize, Malformed> {
        let mut writer = Writer::new(room);
        let first = 2 << 4
            | flag(self.duplicate.is_some(), 3)
            | flag(self.quality.is_some(), 2)
            | flag(self.uplink_delay.is_some(), 1)
            | flag(self.downlink_delay.is_some(), 0);
        let second = flag(self.duplicate == Some(true), 0);
        writer.put(&[first, second], "flags of assistance information")?;
        self.quality.map_or(Ok(()), |quality| quality.write(&mut writer))?;
        self.uplink_delay.map_or(Ok(()), |delay| writer.u32(delay, "UL delay"))?;
        self.downlink_delay.map_or(Ok(()), |delay| writer.u32(delay, "DL delay"))?;
        Ok(writer.written())
    }
}
