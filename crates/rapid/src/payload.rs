//! A [`Control`] for a driver whose windows and samples count payload.
//!
//! The radio carries IP packets, but TCP's windows count payload. So this wrapper gives the control
//! segments with their headers, and converts its windows to as many segments without headers.
//!
//! A segment waits for a slot, up to a whole one. The least round trip of the radio leg does not
//! show that wait, so the wrapper adds a slot to it. Without that, a radio leg that is no longer
//! than a slot would send two segments in each.

use crate::control::Control;
use crate::kinds::ControlConfig;
use crate::refused::Refused;
use crate::room::Room;
use crate::sample::{Opening, Sample, Windows};
use crate::slab::{FlowId, UeId};
use alloc::vec::Vec;
use justfull_base::feedback::RanReport;
use justfull_base::{ConfigError, Duration, Instant};

/// The size of a flow's full segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segments {
    /// Bytes of payload; 0 counts as 1.
    mss: u32,
    /// Bytes of IP and TCP headers.
    headers: u32,
}

impl Segments {
    /// Bytes of a full segment on the IP layer.
    const fn packet(self) -> u32 {
        self.payload_of_one().saturating_add(self.headers)
    }

    /// Bytes on the IP layer of `payload` bytes in full segments; at most `u64::MAX`.
    fn with_headers(self, payload: u64) -> u64 {
        scaled(payload, self.packet(), self.payload_of_one())
    }

    /// Payload bytes in `bytes` of full segments on the IP layer.
    fn payload(self, bytes: u64) -> u64 {
        scaled(bytes, self.payload_of_one(), self.packet())
    }

    const fn payload_of_one(self) -> u32 {
        if self.mss == 0 { 1 } else { self.mss }
    }
}

/// `amount * times / by`, rounded down. The product may exceed 64 bits: windows without a limit are
/// `u64::MAX`.
fn scaled(amount: u64, times: u32, by: u32) -> u64 {
    let exact = u128::from(amount) * u128::from(times) / u128::from(by);
    u64::try_from(exact).unwrap_or(u64::MAX)
}

/// A control whose flows have a key `K` of the driver. Open flows, report, sample and drain changes
/// by the methods of this type; use [`PayloadControl::control`] for the rest.
#[derive(Clone, Debug)]
pub struct PayloadControl<K> {
    /// The control, which counts headers.
    pub control: Control,
    /// Key and segments of each flow, by [`FlowId::index`].
    flows: Vec<(K, Segments)>,
    /// Slot of the last report taken about each UE, by [`UeId::index`].
    slots: Vec<Duration>,
}

impl<K: Copy> PayloadControl<K> {
    /// See [`Control::new`].
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &ControlConfig) -> Result<Self, ConfigError> {
        Ok(Self { control: Control::new(config)?, flows: Vec::new(), slots: Vec::new() })
    }

    /// Memory for `room`.
    pub(crate) fn reserve(&mut self, room: Room) {
        self.flows.reserve_exact((room.flows as usize).saturating_sub(self.flows.len()));
        self.slots.reserve_exact((room.ues as usize).saturating_sub(self.slots.len()));
    }

    /// See [`Control::open`]. Here `opening` has the payload of a full segment, and `headers` are
    /// the bytes of its IP and TCP headers.
    ///
    /// # Errors
    /// [`Refused::UnknownUe`] or [`Refused::Full`].
    pub fn open(
        &mut self,
        now: Instant,
        ue: UeId,
        key: K,
        headers: u32,
        opening: &Opening,
    ) -> Result<FlowId, Refused> {
        let segments = Segments { mss: opening.mss, headers };
        let radio_rtt = with_slot(opening.radio_rtt, self.slot(ue));
        let opening = Opening { mss: segments.packet(), radio_rtt, ..*opening };
        let id = self.control.open(now, ue, &opening)?;
        if id.index() >= self.flows.len() {
            self.flows.resize(id.index() + 1, (key, segments));
        }
        self.flows[id.index()] = (key, segments);
        Ok(id)
    }

    /// See [`Control::on_sample`]; the amounts in `sample` are payload.
    ///
    /// # Errors
    /// [`Refused::UnknownFlow`].
    pub fn on_sample(&mut self, now: Instant, id: FlowId, sample: &Sample) -> Result<(), Refused> {
        let ue = self.control.ue(id).ok_or(Refused::UnknownFlow)?;
        let ((_, segments), slot) = (self.flows[id.index()], self.slot(ue));
        let sample = Sample {
            arrived: segments.with_headers(sample.arrived),
            delivered: segments.with_headers(sample.delivered),
            waiting: segments.with_headers(sample.waiting),
            radio_rtt: with_slot(sample.radio_rtt, slot),
            radio_smoothed: with_slot(sample.radio_smoothed, slot),
            ..*sample
        };
        self.control.on_sample(now, id, &sample)
    }

    /// See [`Control::on_report`].
    ///
    /// # Errors
    /// [`Refused::UnknownUe`], [`Refused::Late`] or [`Refused::Absurd`].
    pub fn on_report(&mut self, now: Instant, ue: UeId, report: &RanReport) -> Result<(), Refused> {
        self.control.on_report(now, ue, report)?;
        if ue.index() >= self.slots.len() {
            self.slots.resize(ue.index() + 1, Duration::ZERO);
        }
        self.slots[ue.index()] = report.slot;
        Ok(())
    }

    /// See [`Control::merge_ues`].
    ///
    /// # Errors
    /// [`Refused::UnknownUe`] or [`Refused::Full`].
    pub fn merge_ues(&mut self, now: Instant, from: UeId, into: UeId) -> Result<(), Refused> {
        self.control.merge_ues(now, from, into)?;
        if from != into
            && let Some(slot) = self.slots.get_mut(from.index())
        {
            *slot = Duration::ZERO;
        }
        Ok(())
    }

    /// See [`Control::remove_ue`].
    ///
    /// # Errors
    /// [`Refused::UnknownUe`].
    pub fn remove_ue(&mut self, now: Instant, ue: UeId) -> Result<(), Refused> {
        self.control.remove_ue(now, ue)?;
        if let Some(slot) = self.slots.get_mut(ue.index()) {
            *slot = Duration::ZERO;
        }
        Ok(())
    }

    /// The key of a flow whose windows changed, and its windows in payload; none when there are no
    /// more. Drain it after every event.
    pub fn poll_change(&mut self) -> Option<(K, Windows)> {
        let (id, windows) = self.control.poll_change()?;
        let (key, segments) = self.flows[id.index()];
        let (server, radio) = (segments.payload(windows.server), segments.payload(windows.radio));
        Some((key, Windows { server, radio, ..windows }))
    }

    fn slot(&self, ue: UeId) -> Duration {
        self.slots.get(ue.index()).copied().unwrap_or(Duration::ZERO)
    }
}

/// A measured round trip plus the wait for a slot; none if it is unknown.
fn with_slot(rtt: Option<Duration>, slot: Duration) -> Option<Duration> {
    rtt.filter(|rtt| !rtt.is_zero()).map(|rtt| rtt + slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::feedback::CellKind;
    use proptest::prelude::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    fn report(made: u64, slot: Duration) -> RanReport {
        RanReport {
            at: ms(made),
            kind: CellKind::Bytes,
            slot,
            slots: 1,
            offered: 3_000,
            used: 0,
            active_ues: 0,
            blocks: 0,
            repeats: 0,
            bytes: 0,
            mcs: None,
            backlog: 0,
        }
    }

    proptest! {
        #[test]
        fn sizes_convert_exactly_where_64_bits_hold_and_never_wrap(
            amount in any::<u64>(),
            small in 0_u64..1 << 40,
            mss in 1_u32..65_536,
            headers in 0_u32..81,
        ) {
            let of = Segments { mss, headers };
            let (packet, mss) = (u64::from(mss + headers), u64::from(mss));
            prop_assert_eq!(of.with_headers(small), small * packet / mss);
            prop_assert_eq!(of.payload(small), small * mss / packet);
            prop_assert!(of.payload(amount) <= amount && of.with_headers(amount) >= amount);
            prop_assert_eq!(of.payload(packet * (small >> 20)), mss * (small >> 20));
        }
    }

    #[test]
    fn windows_count_payload_and_a_slot_joins_the_radio_legs_round_trip() {
        let mut control = PayloadControl::new(&ControlConfig::default()).expect("the defaults");
        let cell = control.control.add_cell();
        let ue = control.control.add_ue(ms(0), cell).expect("the cell exists");
        let slot = Duration::from_millis(2);
        control.on_report(ms(1), ue, &report(1, slot)).expect("sane");
        let opening = Opening {
            mss: 1_448,
            wired_rtt: Some(Duration::from_millis(10)),
            radio_rtt: Some(Duration::from_millis(18)),
        };
        control.open(ms(2), ue, 'a', 52, &opening).expect("the UE exists");
        let (key, windows) = control.poll_change().expect("a new flow has windows");
        // 1500 bytes in each ms: 10 packets in 10 ms, and 20 in 18 ms and a slot.
        assert_eq!((key, windows.server, windows.radio), ('a', 10 * 1_448, 20 * 1_448));
    }

    #[test]
    fn a_ue_in_the_place_of_another_does_not_inherit_its_slot() {
        let mut control = PayloadControl::<()>::new(&ControlConfig::default()).expect("defaults");
        let cell = control.control.add_cell();
        let ue = control.control.add_ue(ms(0), cell).expect("the cell exists");
        control.on_report(ms(1), ue, &report(1, Duration::from_millis(2))).expect("sane");
        control.remove_ue(ms(2), ue).expect("it is there");
        let next = control.control.add_ue(ms(3), cell).expect("the cell exists");
        assert_eq!((next.index(), control.slot(next)), (ue.index(), Duration::ZERO));
    }
}
