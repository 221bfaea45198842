//! Settings of the controls, their bounds and presets.

use justfull_base::{Bytes, Duration, choice, params};

params! {
    /// No control has no settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NoneConfig {}
}

params! {
    /// Settings of `equal_share`. The other rules are the defaults of `rapid`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct EqualShareConfig: "no time and longer than a run have no meaning" {
        /// A flow without data for longer has no share.
        idle: Duration = Duration::from_secs(1), within(Duration::from_millis(10), HOUR);
    }
}

impl EqualShareConfig {
    /// The same control as settings of RAPID: no flow is ever slow.
    pub(crate) fn rules(&self) -> Config {
        Config {
            slow_threshold: 0.0,
            fast_threshold: 0.0,
            stall: false,
            idle: self.idle,
            ..Config::default()
        }
    }
}

choice! {
    /// Which blocks a UE may expect (equations 1 and 2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Blocks {
        /// Its own and its part of the free ones, which are divided among the UEs with traffic.
        /// All UEs of a cell together never get more than the cell.
        Divided = "divided",
        /// Its own and all free ones, as the paper prints it: several UEs exceed the cell.
        AllFree = "all_free",
        /// The whole carrier.
        Carrier = "carrier",
    }
}

choice! {
    /// The unit in which released capacity is added up (equations 10 to 13).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AllocateIn {
        /// Bytes per second; each flow's own round trip makes a window of them.
        Rate = "rate",
        /// Bytes of window, as printed, independent of the flows' round trips.
        Window = "window",
    }
}

choice! {
    /// The capacity that a slow flow releases (equation 11).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Released {
        /// Its equal share less its new allocation, at least 0.
        ShareLessNew = "share_less_new",
        /// Its equal share less its new allocation, which may be negative (the authors' simulator).
        ShareMinusNew = "share_minus_new",
        /// The distance between its previous and its new allocation, as printed.
        PreviousToNew = "previous_to_new",
    }
}

choice! {
    /// The upper bound of an allocation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Cap {
        /// Of a slow flow, the equal share.
        Share = "share",
        /// The UE's whole capacity (the kernel module).
        Whole = "whole",
        /// Nothing, as printed.
        None = "none",
    }
}

choice! {
    /// The round trip that turns a rate into the server's window (equation 4).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WindowRtt {
        /// The least of the wired leg.
        Wired = "wired",
        /// The least of the wired and the least of the radio leg, together.
        WiredAndRadio = "wired_and_radio",
    }
}

choice! {
    /// The congestion window of the radio leg.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RadioWindow {
        /// Rate times this leg's round trip.
        RadioRtt = "radio_rtt",
        /// The server's window.
        ServerWindow = "server_window",
        /// The server's window in the ratio of the legs' round trips.
        RttRatio = "rtt_ratio",
    }
}

choice! {
    /// The radio leg's round trip (section 5.3).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RadioRtt {
        /// Smoothed over the least of each categorisation period.
        Smoothed = "smoothed",
        /// The least ever.
        LeastEver = "least_ever",
    }
}

choice! {
    /// Round trips in a categorisation period, K of equation 6.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Periods {
        /// log2(window / MSS) + 1, rounded up.
        Ceil = "ceil",
        /// Whole part of the logarithm, + 2 in a flow's first period, then + 1.
        Linux = "linux",
    }
}

choice! {
    /// The N of equation 4.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ActiveFlows {
        /// Flows that are open and not idle.
        NotIdle = "not_idle",
        /// Open flows.
        Open = "open",
        /// Open flows, rounded up to a power of two.
        PowerOfTwo = "power_of_two",
    }
}

choice! {
    /// How the radio leg takes a loss.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Loss {
        /// Half of the bytes in flight, then back to the window (RFC 5681 equation 4).
        Halve = "halve",
        /// The window stays (section 3.5).
        Ignore = "ignore",
    }
}

params! {
    /// Settings of RAPID.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config: "R22 sections 3.3 to 3.5 and 5.3" {
        /// A flow is slow below this share of the arrival rate that its window allows (simulator
        /// 0.85, kernel module 0.75).
        slow_threshold: f64 as "ratio" = 0.8, within(0.0, 1.0);
        /// A slow flow stays slow below this share; equal to slow_threshold as printed.
        fast_threshold: f64 as "ratio" = 0.9,
            at_most(1.0).and("at least slow_threshold", |c| c.fast_threshold >= c.slow_threshold),
            "a flow is not slow and fast at once";
        /// Weight of the old value in the average of arrival rates, equation 9 (0.4, 13/32).
        old_weight: f64 as "ratio" = 0.125, within(0.0, 0.99);
        /// Start that average anew in each period (both programs).
        reset_demand: bool = false;
        /// A slow flow is given this multiple of its demand; 1 as printed. Above 1 / fast_threshold
        /// it stays slow while it needs no more.
        slow_growth: f64 as "factor" = 1.2, within(1.0, 4.0);
        /// Its window is this much larger still, so that a flow of few segments can show that it
        /// needs more; none as printed.
        room_segments: u32 as "segments" = 1,
            rule("below floor_segments", |c| c.room_segments < c.floor_segments),
            "with the rest of rounding, flows exceed the capacity by their floors at most";
        /// The unit in which released capacity is added up, equations 10 to 13; `window` as
        /// printed.
        allocate_in: AllocateIn = AllocateIn::Rate;
        /// The capacity that a slow flow releases, equation 11: equal share less new allocation, at
        /// least 0; the same but possibly negative (simulator); distance between previous and new
        /// (as printed).
        released: Released = Released::ShareLessNew;
        /// The upper bound of an allocation: for a slow flow the equal share; the UE's whole
        /// capacity (kernel module); none (as printed).
        cap: Cap = Cap::Share;
        /// Least round trip that turns a rate into the server's window, equation 4; the sum of both
        /// legs in the simulator.
        window_rtt: WindowRtt = WindowRtt::Wired;
        /// Congestion window of the radio leg: rate times its own round trip; the server's window
        /// (simulator); the server's window in the ratio of the least round trips (kernel module).
        radio_window: RadioWindow = RadioWindow::RadioRtt;
        /// The radio leg's round trip: smoothed over the least of each period (section 5.3), or the
        /// least ever (simulator).
        radio_rtt: RadioRtt = RadioRtt::Smoothed;
        /// Weight of the old value in this smoothed round trip.
        radio_rtt_old_weight: f64 as "ratio" = 0.75, within(0.0, 0.99);
        /// The smoothed round trip is at most this multiple of the least ever. A window that leaves
        /// a queue makes the least of each period larger, which makes the window larger, up to this
        /// bound. Above 1, a block that HARQ repeats does not empty the window.
        radio_rtt_max: f64 as "factor" = 1.25, within(1.0, 1000.0);
        /// Added to the radio leg's round trip (kernel module 16 ms, for the scheduling request).
        radio_slack: Duration = Duration::ZERO, at_most(Duration::from_secs(1));
        /// Most time that the loop adds to the radio leg's round trip. The loop adds while the
        /// radio has free blocks and data waits in the proxy, and subtracts while a backlog stands.
        /// 0s: no loop.
        radio_slack_max: Duration = Duration::from_millis(200), at_most(Duration::from_secs(1));
        /// Share s of the UE's radio that one flow should keep beside traffic that bypasses the
        /// proxy; n flows keep n s / (n s + 1 - s), at most 0.9.
        bypass_share: f64 as "ratio" = 0.8, within(0.0, 0.9);
        /// Most time that trials of a larger window add to the radio leg's round trip for this
        /// share. 0s: no trials.
        bypass_max: Duration = Duration::from_secs(1), at_most(Duration::from_secs(10));
        /// A loss on the radio leg halves the bytes that may be in flight there, for some round
        /// trips, or changes nothing. In service under radio_leg struct_ops alone.
        loss: Loss = Loss::Ignore;
        /// Least congestion window of the radio leg (kernel module 10).
        radio_floor_segments: u32 as "segments" = 2, within(1, 1000);
        /// Least window of either leg.
        floor_segments: u32 as "segments" = 2, within(1, 1000);
        /// Least window of either leg (simulator 16 KiB, kernel module 2000 B); the greater of the
        /// two holds.
        floor: Bytes = Bytes(0), at_most(Bytes(1 << 20));
        /// Server windows are multiples of this (16 KiB; 128 B, a window scale of 7). 0B stands for
        /// whole segments, as a sender sends them; the rest of one round trip counts in the next.
        unit: Bytes = Bytes(0), at_most(Bytes(1 << 16));
        /// Round up to the unit, not down (simulator); no effect with whole segments.
        round_up: bool = false;
        /// Windows while the round trip or the capacity is unknown.
        initial_window: u32 as "segments" = 10, within(1, 1000);
        /// Round trips in a period, equation 6: log2(window / MSS) + 1, rounded up; or its whole
        /// part, with + 2 in the first period (kernel module).
        periods: Periods = Periods::Ceil;
        /// The flows that share the capacity: open and not idle; open (paper, simulator); open,
        /// rounded up to a power of two (kernel module).
        active: ActiveFlows = ActiveFlows::NotIdle;
        /// A flow without data for this time is idle: it keeps the floor and has no share.
        idle: Duration = Duration::from_secs(1), within(Duration::from_millis(10), HOUR);
        /// A flow without data for a period and half a round trip is slow (kernel module).
        stall: bool = true;
        /// If the floors of a UE's flows exceed its reported capacity, stop reading in turn; a turn
        /// lasts the longest round trip, at least 10 ms.
        turns: bool = true;
        /// Which blocks a UE may expect: its own and its part of the free ones; its own and all
        /// free ones (as printed, kernel module); all (simulator).
        blocks: Blocks = Blocks::Divided;
        /// Take any UE's report for all UEs of its cell (both programs).
        one_for_all: bool = false;
        /// Time constant of the averages of blocks; MCS counts at once.
        smoothing: Duration = Duration::from_millis(20), at_most(Duration::from_secs(10));
        /// Take off the share of blocks that HARQ retransmissions used.
        deduct_repeats: bool = true;
        /// Without a new report a capacity holds for at least this time.
        hold: Duration = Duration::from_millis(50), within(MILLISECOND, HOUR);
        /// It also holds for at least this many mean intervals between reports.
        hold_reports: u32 as "reports" = 4, within(1, 1000);
        /// After that it decays towards the measured delivery, with this time constant.
        decay: Duration = Duration::from_millis(100), within(MILLISECOND, HOUR);
        /// A report older than this is forgotten: the capacity is estimated from delivery alone.
        forget: Duration = Duration::from_secs(1),
            at_most(HOUR).and("at least hold", |c| c.forget >= c.hold);
        /// Without reports, the capacity is this multiple of the measured delivery.
        probe: f64 as "factor" = 1.25, within(1.0, 4.0);
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

impl Config {
    /// The presets by name: the default, the default without its loops, the paper's text, and the
    /// authors' two programs.
    pub const PRESETS: [&str; 5] =
        ["sound", "open-loop", "as-published", "as-released", "as-released-linux"];

    /// The preset named `name`.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "sound" => Some(Self::default()),
            "open-loop" => Some(Self::open_loop()),
            "as-published" => Some(Self::as_published()),
            "as-released" => Some(Self::as_released()),
            "as-released-linux" => Some(Self::as_released_linux()),
            _ => None,
        }
    }

    /// The default with a fixed slack: without the loop over the radio's reports and without a part
    /// beside other traffic.
    #[must_use]
    pub fn open_loop() -> Self {
        Self { radio_slack_max: Duration::ZERO, bypass_max: Duration::ZERO, ..Self::default() }
    }

    /// True if a loop over the radio's reports sets windows of radio legs.
    pub(crate) fn closes_loop(&self) -> bool {
        self.radio_slack_max > Duration::ZERO || self.bypass_max > Duration::ZERO
    }

    /// The equations as R22 prints them, with defaults for the rules that the paper leaves open.
    #[must_use]
    pub fn as_published() -> Self {
        Self {
            fast_threshold: 0.8,
            slow_growth: 1.0,
            room_segments: 0,
            allocate_in: AllocateIn::Window,
            released: Released::PreviousToNew,
            cap: Cap::None,
            radio_rtt_max: 1000.0,
            active: ActiveFlows::Open,
            stall: false,
            turns: false,
            unit: Bytes(1),
            blocks: Blocks::AllFree,
            smoothing: Duration::ZERO,
            deduct_repeats: false,
            ..Self::open_loop()
        }
    }

    /// The authors' simulator.
    #[must_use]
    pub fn as_released() -> Self {
        Self {
            slow_threshold: 0.85,
            fast_threshold: 0.85,
            old_weight: 0.4,
            reset_demand: true,
            released: Released::ShareMinusNew,
            window_rtt: WindowRtt::WiredAndRadio,
            radio_window: RadioWindow::ServerWindow,
            radio_rtt: RadioRtt::LeastEver,
            floor: Bytes(16 << 10),
            floor_segments: 1,
            radio_floor_segments: 1,
            unit: Bytes(16 << 10),
            round_up: true,
            blocks: Blocks::Carrier,
            one_for_all: true,
            ..Self::as_published()
        }
    }

    /// The authors' kernel module.
    #[must_use]
    pub fn as_released_linux() -> Self {
        Self {
            slow_threshold: 0.75,
            fast_threshold: 0.75,
            old_weight: 13.0 / 32.0,
            reset_demand: true,
            released: Released::ShareLessNew,
            cap: Cap::Whole,
            radio_window: RadioWindow::RttRatio,
            radio_slack: Duration::from_millis(16),
            radio_floor_segments: 10,
            floor_segments: 1,
            floor: Bytes(2000),
            unit: Bytes(128),
            periods: Periods::Linux,
            active: ActiveFlows::PowerOfTwo,
            stall: true,
            one_for_all: true,
            ..Self::as_published()
        }
    }
}
