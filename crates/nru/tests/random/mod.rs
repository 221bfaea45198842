//! Random messages of F1-U.

use justfull_nru::{
    Assistance, DeliveryStatus, Discard, DiscardBlock, DiscardBlocks, Frame, RadioQualities,
    RadioQuality, Session, SessionKind, SnRange, SnRanges, UserData, gtpu,
};

/// Random numbers (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn yes(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn u32(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }

    fn sn(&mut self) -> u32 {
        self.u32() >> 8
    }

    fn below(&mut self, end: u64) -> usize {
        (self.next() % end) as usize
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.yes().then(|| value(self))
    }

    /// Writes a message with a frame of a known type to `room`, and returns its length.
    pub(crate) fn message(&mut self, room: &mut [u8], seen: impl FnOnce(&Frame<'_>)) -> usize {
        let (teid, kind) = (self.u32(), self.below(3));
        let mut builder = gtpu::Builder::new(room, gtpu::G_PDU, teid).expect("room");
        let (sequence, n_pdu) = (self.maybe(Self::u32), self.maybe(Self::u32));
        sequence.into_iter().for_each(|n| builder.sequence(n as u16).expect("room"));
        n_pdu.into_iter().for_each(|n| builder.n_pdu(n as u8).expect("room"));
        if self.yes() {
            let kind = match self.yes() {
                true => SessionKind::Uplink,
                false => SessionKind::Downlink { paging_policy: false, reflective: self.yes() },
            };
            let session = Session { kind, qfi: self.below(64) as u8, flags: 0, rest: &[] };
            let write = |room: &mut [u8]| session.write(room);
            builder.extension(gtpu::PDU_SESSION_CONTAINER, write).expect("room");
        }
        let add = |frame: Frame<'_>| {
            seen(&frame);
            builder.extension(gtpu::NR_RAN_CONTAINER, |room| frame.write(room)).expect("room");
        };
        match kind {
            0 => {
                let blocks: Vec<DiscardBlock> = (0..self.below(9))
                    .map(|_| DiscardBlock { start: self.sn(), size: self.u32() as u8 })
                    .collect();
                let blocks = self.maybe(|_| DiscardBlocks::new(&blocks));
                add(Frame::UserData(self.user_data(blocks)));
            }
            1 => {
                let lost: Vec<SnRange> = (0..self.below(9))
                    .map(|_| SnRange { start: self.sn(), end: self.sn() })
                    .collect();
                let lost = self.maybe(|_| SnRanges::new(&lost));
                add(Frame::Status(self.status(lost)));
            }
            _ => {
                let bytes: Vec<u8> = (0..8).map(|_| self.u32() as u8).collect();
                // The types that tshark's table names.
                let quality: Vec<RadioQuality<'_>> = (0..self.below(5))
                    .map(|n| RadioQuality { kind: n as u8 + 1, value: &bytes[..self.below(8) + 1] })
                    .collect();
                let assistance = Assistance {
                    duplicate: self.maybe(Self::yes),
                    quality: self.maybe(|_| RadioQualities::new(&quality)),
                    uplink_delay: self.maybe(Self::u32),
                    downlink_delay: self.maybe(Self::u32),
                };
                add(Frame::Assistance(assistance));
            }
        }
        // A PDCP PDU; the first bit keeps it from looking like an IP packet.
        let payload: Vec<u8> = (0..self.below(40)).map(|_| 0x80 | self.u32() as u8).collect();
        builder.payload(&payload).expect("room");
        builder.finish().expect("short enough")
    }

    fn user_data<'a>(&mut self, blocks: Option<DiscardBlocks<'a>>) -> UserData<'a> {
        UserData {
            sequence: self.sn(),
            discard: Discard { flush: self.maybe(Self::sn), blocks },
            report_polling: self.yes(),
            report_out_of_sequence: self.yes(),
            report_delivered: self.maybe(Self::sn),
            user_data: self.yes(),
            assistance_polling: self.yes(),
            retransmission: self.yes(),
        }
    }

    fn status<'a>(&mut self, lost: Option<SnRanges<'a>>) -> DeliveryStatus<'a> {
        DeliveryStatus {
            final_frame: self.yes(),
            desired_buffer_size: self.u32(),
            desired_data_rate: self.maybe(Self::u32),
            lost,
            highest_delivered: self.maybe(Self::sn),
            highest_transmitted: self.maybe(Self::sn),
            cause: self.maybe(|random| random.below(6) as u8),
            highest_delivered_retransmitted: self.maybe(Self::sn),
            highest_retransmitted: self.maybe(Self::sn),
        }
    }
}
