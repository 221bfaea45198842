//! Differences between versions of Linux, in one table.

use alloc::vec::Vec;
use justfull_base::choice;
use justfull_base::doc::MethodDoc;

choice! {
    /// The version of Linux that a sender follows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Kernel {
        /// No version: bursts of a millisecond's worth, and only the rules of drafts and RFCs.
        Rfc = "rfc",
        /// Linux 4.15.
        Linux4_15 = "4.15",
        /// Linux 5.3.
        Linux5_3 = "5.3",
        /// Linux 5.18.
        Linux5_18 = "5.18",
        /// Linux 6.18.
        #[default]
        Linux6_18 = "6.18",
    }
}

/// When the rest of a window, smaller than a whole burst, waits for more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Deferral {
    /// Never.
    #[default]
    Never,
    /// While the oldest data in flight left half an RTT ago or earlier.
    HalfRtt,
    /// While its acknowledgement is expected within a millisecond, or half an RTT if that is less.
    Expected,
}

/// The features that differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// A paced burst is one buffer of whole segments, rounded down; it ends early if the window
    /// does (`tcp_tso_autosize`, `tcp_write_xmit`).
    pub(crate) one_buffer: bool,
    /// Its size has a term that grows as the least RTT shrinks (`tcp_tso_rtt_log`, since 5.18:
    /// commit 65466904b015, March 2022).
    pub(crate) rtt_bursts: bool,
    /// BBR compares the bytes in flight at the departure of the next burst
    /// (`bbr_packets_in_net_at_edt`, since 4.20: "tcp_bbr: adjust TCP BBR for departure time
    /// pacing", October 2018).
    pub(crate) at_departure: bool,
    /// BBR makes room for aggregated acknowledgements, if its own setting allows it (since 5.1:
    /// commit 78dc70ebaa38, January 2019).
    pub(crate) aggregation: bool,
    /// CUBIC grows and shrinks in whole segments (`bictcp_update`, `tcp_cong_avoid_ai`).
    pub(crate) whole_segments: bool,
    /// The rest of a window waits for more (`tcp_tso_should_defer`; by the expected acknowledgement
    /// since 6.18: commit 295ce1eb36ae, October 2025).
    pub(crate) deferral: Deferral,
    /// The last segment of a burst of several has PSH (`__tcp_transmit_skb`, since 5.5: commit
    /// 051ba67447de, which was under review when 5.3 came out in September 2019).
    pub(crate) push_of_burst: bool,
    /// The retransmission timer restarts at a SACK of data that left before the last retransmission
    /// of the oldest segment (`tcp_clean_rtx_queue`).
    pub(crate) sack_restarts: bool,
    /// A receiver acknowledges by the state of its window (`__tcp_ack_snd_check`).
    pub(crate) by_window: bool,
    /// A full segment with PSH is acknowledged when the application reads it
    /// (`tcp_measure_rcv_mss`, since 6.7: commit 4720852ed9af, October 2023).
    pub(crate) push_of_full: bool,
}

impl Kernel {
    /// True for `version` and every later version.
    const fn has_since(self, version: Self) -> bool {
        self as u8 >= version as u8
    }

    /// The features of this version.
    pub(crate) const fn features(self) -> Features {
        let is_linux = self.has_since(Self::Linux4_15);
        Features {
            one_buffer: is_linux,
            rtt_bursts: self.has_since(Self::Linux5_18),
            at_departure: self.has_since(Self::Linux5_3),
            aggregation: self.has_since(Self::Linux5_3) || !is_linux,
            whole_segments: is_linux,
            deferral: match (is_linux, self) {
                (false, _) => Deferral::Never,
                (_, Self::Linux6_18) => Deferral::Expected,
                _ => Deferral::HalfRtt,
            },
            push_of_burst: self.has_since(Self::Linux5_18),
            sack_restarts: is_linux,
            by_window: is_linux,
            push_of_full: self.has_since(Self::Linux6_18),
        }
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "kernel",
    kind: "transport",
    title: "Differences between the versions of Linux that TCP may follow",
    text: "The setting `kernel` of a sender, and of a receiver, selects the rows of one column; 6.18 \
           is the default.\n\n\
           | feature | rfc | 4.15 | 5.3 | 5.18 | 6.18 |\n\
           |---|---|---|---|---|---|\n\
           | a paced burst is whole segments, under BBR one below 1.2 Mbit/s, and ends with the \
           window | - | yes | yes | yes | yes |\n\
           | the burst grows as the least RTT shrinks | - | - | - | yes | yes |\n\
           | BBR judges the data in flight at the next departure | - | - | yes | yes | yes |\n\
           | BBR's `ack_aggregation` may be on | yes | - | yes | yes | yes |\n\
           | CUBIC grows and shrinks in whole segments | - | yes | yes | yes | yes |\n\
           | the rest of a window waits while the oldest data left half an RTT ago \
           | - | yes | yes | yes | - |\n\
           | it waits while an acknowledgement is expected within 1 ms | - | - | - | - | yes |\n\
           | a burst of several segments ends with PSH | - | - | - | yes | yes |\n\
           | a SACK of data older than the oldest segment's last copy restarts the timer \
           | - | yes | yes | yes | yes |\n\
           | receiver: the second segment is acknowledged by the state of the window \
           | - | yes | yes | yes | yes |\n\
           | receiver: the read acknowledges a full segment with PSH | - | - | - | - | yes |",
    sources: "Linux: tcp_tso_autosize (tcp_tso_rtt_log since 5.18, commit 65466904b015), \
              tcp_write_xmit, tcp_tso_should_defer (since 6.18 commit 295ce1eb36ae), \
              bbr_packets_in_net_at_edt (since 4.20), bbr_update_ack_aggregation (since 5.1, \
              commit 78dc70ebaa38), bictcp_update, tcp_cong_avoid_ai, __tcp_transmit_skb (since \
              5.5 commit 051ba67447de), tcp_clean_rtx_queue, __tcp_ack_snd_check, \
              __tcp_cleanup_rbuf, tcp_measure_rcv_mss (since 6.7 commit 4720852ed9af)",
    deviations: "All else is equal. The rest of a window waits only within 1 ms of the last write, \
                 also in 4.15 (whose clock has 4 ms); all versions credit late bursts, though 4.15 \
                 leaves this to fq. The columns show releases that papers ran or that the model \
                 was measured against; a feature begins in the first of these that has it.",
    params: Vec::new,
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn the_shown_table_is_the_table_in_use() {
        let columns: [fn(Features) -> bool; 11] = [
            |f| f.one_buffer,
            |f| f.rtt_bursts,
            |f| f.at_departure,
            |f| f.aggregation,
            |f| f.whole_segments,
            |f| f.deferral == Deferral::HalfRtt,
            |f| f.deferral == Deferral::Expected,
            |f| f.push_of_burst,
            |f| f.sack_restarts,
            |f| f.by_window,
            |f| f.push_of_full,
        ];
        let rows: Vec<&str> = DOC.text.lines().skip(4).collect();
        assert_eq!(rows.len(), columns.len());
        for (row, has) in rows.iter().zip(columns) {
            let cells =
                Kernel::ALL.map(|k| if has(k.features()) { " yes |" } else { " - |" }).concat();
            assert!(row.ends_with(&format!("|{cells}")), "{row}: {cells}");
        }
        let head = format!("| feature | {} |", Kernel::ALL.map(Kernel::name).join(" | "));
        assert_eq!(DOC.text.lines().nth(2), Some(head.as_str()));
    }
}
