//! Decides when a sender of UMTS requests a status report (TS 25.322 clause 9.7.1).

use crate::rlc::mode::AmConfig;
use justfull_base::{Duration, Instant};

/// The properties of an outgoing PDU for the polling function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    /// Number of PDUs from VT(A) to this one, if it is sent for the first time; else 0.
    pub(super) window: u32,
    /// Number of SDUs whose end it holds, if it is sent for the first time.
    pub(super) sdus: u32,
    /// The last new PDU that can be sent now, or the last that waits for retransmission.
    pub(super) is_last: bool,
    /// VT(S) after it.
    pub(super) next: u32,
}

/// The polling function. In counts 0 stands for "never".
#[derive(Clone, Debug)]
pub(super) struct Polling {
    poll_pdu: u32,
    poll_sdu: u32,
    /// Number of PDUs in the window from which on each new one polls.
    poll_window: u32,
    last: bool,
    last_retx: bool,
    timer_poll: Duration,
    timer_prohibit: Duration,
    /// VT(PDU) and VT(SDU).
    pdus: u32,
    sdus: u32,
    /// The function was triggered and no PDU has carried the poll bit since.
    pub(super) is_wanted: bool,
    prohibited_until: Instant,
    /// Expiry of Timer_Poll.
    timer: Instant,
    /// VT(S) after the last poll.
    polled_to: u32,
    /// The time at which a poll without a PDU to carry it looks for one again.
    alone_at: Instant,
}

impl Polling {
    pub(super) fn new(config: &AmConfig) -> Self {
        Self {
            poll_pdu: config.poll_pdu,
            poll_sdu: config.poll_sdu,
            poll_window: (u32::from(config.poll_window) * config.window).div_ceil(100),
            last: config.poll_last,
            last_retx: config.poll_last_retx,
            timer_poll: config.timer_poll,
            timer_prohibit: config.timer_poll_prohibit,
            pdus: 0,
            sdus: 0,
            is_wanted: false,
            prohibited_until: Instant::ZERO,
            timer: Instant::NEVER,
            polled_to: 0,
            alone_at: Instant::NEVER,
        }
    }

    /// True if the PDU has the poll bit. TS 25.322 clauses 9.5 a) and b), 9.6 b) to d), 9.7.1.
    #[inline]
    pub(super) fn goes(&mut self, now: Instant, pdu: Outgoing) -> bool {
        let is_new = pdu.window > 0;
        if self.poll_pdu > 0 {
            self.pdus += 1;
            if self.pdus >= self.poll_pdu {
                self.pdus = 0;
                self.is_wanted = true;
            }
        }
        if self.poll_sdu > 0 && pdu.sdus > 0 {
            self.sdus += pdu.sdus;
            if self.sdus >= self.poll_sdu {
                self.sdus = 0;
                self.is_wanted = true;
            }
        }
        let by_window = self.poll_window > 0 && pdu.window >= self.poll_window;
        let asks_last = if is_new { self.last } else { self.last_retx };
        self.is_wanted |= by_window || (pdu.is_last && asks_last);
        if !self.is_wanted {
            return false;
        }
        if now < self.prohibited_until {
            self.alone_at = self.prohibited_until;
            return false;
        }
        self.is_wanted = false;
        self.alone_at = Instant::NEVER;
        self.prohibited_until = now + self.timer_prohibit;
        self.timer = now + self.timer_poll;
        self.polled_to = pdu.next;
        true
    }

    /// VT(S) after the last poll, while Timer_Poll runs.
    pub(super) fn waits_for(&self) -> Option<u32> {
        (self.timer != Instant::NEVER).then_some(self.polled_to)
    }

    /// The requested report has arrived. TS 25.322 clause 9.5 a).
    pub(super) fn answered(&mut self) {
        self.timer = Instant::NEVER;
    }

    /// No data is left that needs a poll.
    pub(super) fn forget(&mut self) {
        self.is_wanted = false;
        self.alone_at = Instant::NEVER;
    }

    /// The PDU that should carry the poll is not sent.
    pub(super) fn look_again(&mut self, now: Instant) {
        self.alone_at = now.max(self.prohibited_until);
    }

    /// True if a poll is due and needs a PDU of its own. `has_carrier`: some PDU will be sent. TS
    /// 25.322 clauses 9.5 a) and 9.7.1.
    pub(super) fn on_timeout(&mut self, now: Instant, has_carrier: bool) -> bool {
        if now >= self.timer {
            self.timer = Instant::NEVER;
            self.is_wanted = true;
        }
        if !self.is_wanted {
            return false;
        }
        if now < self.prohibited_until {
            self.alone_at = self.prohibited_until;
            return false;
        }
        // The carrier may be dropped before it is pulled.
        self.alone_at = now + self.timer_poll;
        !has_carrier
    }

    /// The next expiry. `has_carrier`: a PDU waits that will carry the poll.
    pub(super) fn next_timeout(&self, has_carrier: bool) -> Instant {
        if self.is_wanted && !has_carrier { self.timer.min(self.alone_at) } else { self.timer }
    }
}
