//! Groups of packets, and the change of the one-way delay from one to the next. Times are in ms.

/// Longest time between the departures of a group's first and last packet.
const GROUP: f64 = 5.0;
/// Longest time between arrivals in a burst, and longest burst.
const BURST_GAP: f64 = 5.0;
const BURST: f64 = 100.0;
/// Groups out of order in a row after which all starts anew.
const REORDERED: u32 = 3;

/// From one group to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    /// Time between the departures of their last packets.
    pub(super) sent: f64,
    /// Time between the arrivals of their last packets.
    pub(super) arrived: f64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: f64,
    last_sent: f64,
    first_arrival: f64,
    last_arrival: f64,
}

impl Group {
    const fn of(sent: f64, arrival: f64) -> Self {
        Self { first_sent: sent, last_sent: sent, first_arrival: arrival, last_arrival: arrival }
    }

    /// True for a packet that waited behind the group and arrives with it.
    fn bursts(&self, sent: f64, arrival: f64) -> bool {
        let (later, gap) = (sent - self.last_sent, arrival - self.last_arrival);
        later == 0.0 || gap < later && gap <= BURST_GAP && arrival - self.first_arrival < BURST
    }
}

/// The current group and the last complete one.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    current: Option<Group>,
    last: Option<Group>,
    reordered: u32,
}

impl Groups {
    /// A packet that left at `sent` arrived at `arrival`. A packet that opens a new group gives the
    /// change between the two groups before it.
    pub(super) fn take(&mut self, sent: f64, arrival: f64) -> Option<Change> {
        let Some(current) = &mut self.current else {
            self.current = Some(Group::of(sent, arrival));
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        if current.bursts(sent, arrival) || sent - current.first_sent <= GROUP {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrival = arrival;
            return None;
        }
        let complete = *current;
        let change = self.last.map(|last| Change {
            sent: complete.last_sent - last.last_sent,
            arrived: complete.last_arrival - last.last_arrival,
        });
        if change.is_some_and(|change| change.arrived < 0.0) {
            self.reordered += 1;
            if self.reordered >= REORDERED {
                *self = Self::default();
            }
            return None;
        }
        self.reordered = 0;
        self.last = Some(complete);
        self.current = Some(Group::of(sent, arrival));
        change
    }
}
