//! DL DATA DELIVERY STATUS, PDU type 1 (TS 38.425 section 5.5.2.2).

use crate::cursor::{Reader, Writer, flag, has};
use crate::{Malformed, SnRanges};

/// The DU's report about one bearer, which bounds the CU-UP. The fields have the order of the
/// bytes, not of the flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryStatus<'a> {
    /// The last report of this bearer.
    pub final_frame: bool,
    /// Bytes that the CU-UP may send beyond the highest delivered PDCP sequence number in
    /// acknowledged mode, beyond the highest transmitted one in unacknowledged mode; 0 stops it.
    pub desired_buffer_size: u32,
    /// Bytes a second that the CU-UP should send.
    pub desired_data_rate: Option<u32>,
    /// Ranges of NR-U sequence numbers that did not arrive.
    pub lost: Option<SnRanges<'a>>,
    /// Highest PDCP sequence number up to which all are delivered to the UE.
    pub highest_delivered: Option<u32>,
    /// Highest PDCP sequence number that was given to lower layers.
    pub highest_transmitted: Option<u32>,
    /// The cause value (section 5.5.3.23): 0 unknown, 1 radio link outage, 2 radio link resume, and
    /// so on.
    pub cause: Option<u8>,
    /// Highest PDCP sequence number that was retransmitted and is delivered.
    pub highest_delivered_retransmitted: Option<u32>,
    /// Highest retransmitted PDCP sequence number.
    pub highest_retransmitted: Option<u32>,
}

impl<'a> DeliveryStatus<'a> {
    /// Reads a container. Ignores spare bits and all bytes after the last known field, which are
    /// padding or fields of a later release.
    pub(crate) fn read(container: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(container);
        let first = reader.u8("PDU type")?;
        let second = reader.u8("flags of delivery status")?;
        let sn = |reader: &mut Reader<'a>, present, field| {
            reader.optional(present, |reader| reader.u24(field))
        };
        let desired_buffer_size = reader.u32("desired buffer size")?;
        let desired_data_rate =
            reader.optional(has(second, 3), |reader| reader.u32("desired data rate"))?;
        let lost = reader.optional(has(first, 0), SnRanges::read)?;
        let highest_delivered = sn(&mut reader, has(first, 2), "highest delivered SN")?;
        let highest_transmitted = sn(&mut reader, has(first, 3), "highest transmitted SN")?;
        let cause = reader.optional(has(second, 0), |reader| reader.u8("cause"))?;
        let highest_delivered_retransmitted =
            sn(&mut reader, has(second, 1), "highest delivered retransmitted SN")?;
        let highest_retransmitted = sn(&mut reader, has(second, 2), "highest retransmitted SN")?;
        Ok(Self {
            final_frame: has(first, 1),
            desired_buffer_size,
            desired_data_rate,
            lost,
            highest_delivered,
            highest_transmitted,
            cause,
            highest_delivered_retransmitted,
            highest_retransmitted,
        })
    }

    pub(crate) fn write(&self, room: &mut [u8]) -> Result<usize, Malformed> {
        let mut writer = Writer::new(room);
        let first = 1 << 4
            | flag(self.highest_transmitted.is_some(), 3)
            | flag(self.highest_delivered.is_some(), 2)
            | flag(self.final_frame, 1)
            | flag(self.lost.is_some(), 0);
        let second = flag(self.desired_data_rate.is_some(), 3)
            | flag(self.highest_retransmitted.is_some(), 2)
            | flag(self.highest_delivered_retransmitted.is_some(), 1)
            | flag(self.cause.is_some(), 0);
        writer.put(&[first, second], "flags of delivery status")?;
        writer.u32(self.desired_buffer_size, "desired buffer size")?;
        self.desired_data_rate.map_or(Ok(()), |rate| writer.u32(rate, "desired data rate"))?;
        self.lost.map_or(Ok(()), |lost| lost.write(&mut writer))?;
        let highest = [
            (self.highest_delivered, "highest delivered SN"),
            (self.highest_transmitted, "highest transmitted SN"),
        ];
        for (sn, field) in highest {
            sn.map_or(Ok(()), |sn| writer.u24(sn, field))?;
        }
        self.cause.map_or(Ok(()), |cause| writer.u8(cause, "cause"))?;
        let retransmitted = [
            (self.highest_delivered_retransmitted, "highest delivered retransmitted SN"),
            (self.highest_retransmitted, "highest retransmitted SN"),
        ];
        for (sn, field) in retransmitted {
            sn.map_or(Ok(()), |sn| writer.u24(sn, field))?;
        }
        Ok(writer.written())
    }
}
