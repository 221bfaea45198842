//! A bound on the memory of a control, for a driver that may not allocate.

/// The most that a control holds at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// UEs in all cells.
    pub ues: u32,
    /// Flows of all UEs.
    pub flows: u32,
    /// Flows of one UE.
    pub flows_of_ue: u32,
}

impl Room {
    pub(crate) const UNBOUNDED: Self =
        Self { ues: u32::MAX, flows: u32::MAX, flows_of_ue: u32::MAX };
}
