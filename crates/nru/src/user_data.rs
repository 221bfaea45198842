//! DL USER DATA, PDU type 0 (TS 38.425 section 5.5.2.1).

use crate::cursor::{Reader, Writer, flag, has};
use crate::{DiscardBlocks, Malformed};

/// PDCP PDUs that the DU need not send any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discard<'a> {
    /// All up to this PDCP sequence number (DL flush).
    pub flush: Option<u32>,
    /// These blocks.
    pub blocks: Option<DiscardBlocks<'a>>,
}

/// A frame before user data, from the CU-UP to the DU. The PDCP PDU is the payload of the GTP-U
/// message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserData<'a> {
    /// NR-U sequence number, 0 to 2^24 - 1.
    pub sequence: u32,
    /// The packets that the DU may discard.
    pub discard: Discard<'a>,
    /// The DU must answer with a delivery status.
    pub report_polling: bool,
    /// The DU must report the PDUs that it delivered out of sequence.
    pub report_out_of_sequence: bool,
    /// The DU must report when this PDCP sequence number, and all before it, are delivered.
    pub report_delivered: Option<u32>,
    /// A PDCP PDU follows. In a frame that only discards it is false.
    pub user_data: bool,
    /// The DU must answer with assistance information.
    pub assistance_polling: bool,
    /// The PDCP PDU is a retransmission.
    pub retransmission: bool,
}

impl<'a> UserData<'a> {
    pub(crate) fn read(container: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(container);
        let first = reader.u8("PDU type")?;
        let second = reader.u8("flags of user data")?;
        let sequence = reader.u24("NR-U sequence number")?;
        let flush = reader.optional(has(first, 1), |r| r.u24("flush SN"))?;
        let blocks = reader.optional(has(first, 2), DiscardBlocks::read)?;
        let report_delivered = reader.optional(has(second, 3), |r| r.u24("report SN"))?;
        Ok(Self {
            sequence,
            discard: Discard { flush, blocks },
            report_polling: has(first, 0),
            report_out_of_sequence: has(second, 4),
            report_delivered,
            user_data: has(second, 2),
            assistance_polling: has(second, 1),
            retransmission: has(second, 0),
        })
    }

    pub(crate) fn write(&self, room: &mut [u8]) -> Result<usize, Malformed> {
        let mut writer = Writer::new(room);
        let discard = &self.discard;
        let first = flag(discard.blocks.is_some(), 2)
            | flag(discard.flush.is_some(), 1)
            | flag(self.report_polling, 0);
        let second = flag(self.report_out_of_sequence, 4)
            | flag(self.report_delivered.is_some(), 3)
            | flag(self.user_data, 2)
            | flag(self.assistance_polling, 1)
            | flag(self.retransmission, 0);
        writer.put(&[first, second], "flags of user data")?;
        writer.u24(self.sequence, "NR-U sequence number")?;
        discard.flush.map_or(Ok(()), |sn| writer.u24(sn, "flush SN"))?;
        discard.blocks.map_or(Ok(()), |blocks| blocks.write(&mut writer))?;
        self.report_delivered.map_or(Ok(()), |sn| writer.u24(sn, "report SN"))?;
        Ok(writer.written())
    }
}
