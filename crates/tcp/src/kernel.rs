//! Which Linux a sender follows where its versions differ, in one table.

use alloc::vec::Vec;
use justfull_base::choice;
use justfull_base::doc::MethodDoc;

choice! {
    /// The Linux that a sender follows where its versions differ.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Kernel {
        /// None: bursts of a millisecond's worth, and nothing that drafts and RFCs do not have.
        Rfc = "rfc",
        /// Linux 4.15.
        Linux4_15 = "4.15",
        /// Linux 5.18.
        Linux5_18 = "5.18",
        /// Linux 6.18.
        #[default]
        Linux6_18 = "6.18",
    }
}

/// What differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// A paced burst is one buffer of whole segments, rounded down, and ends where the window cuts
    /// it (`tcp_tso_autosize`, `tcp_write_xmit`).
    pub(crate) one_buffer: bool,
    /// Its size has a term that grows as the least RTT shrinks (`tcp_tso_rtt_log`, since 5.18).
    pub(crate) rtt_bursts: bool,
    /// BBR judges what will be in flight when the next burst leaves (`bbr_packets_in_net_at_edt`,
    /// since 4.20).
    pub(crate) at_departure: bool,
    /// BBR makes room for aggregated acknowledgements, if its own setting allows it (since 5.1).
    pub(crate) aggregation: bool,
}

impl Kernel {
    /// What this version has.
    pub(crate) const fn features(self) -> Features {
        let (linux, recent) = match self {
            Self::Rfc => (false, false),
            Self::Linux4_15 => (true, false),
            Self::Linux5_18 | Self::Linux6_18 => (true, true),
        };
        Features {
            one_buffer: linux,
            rtt_bursts: recent,
            at_departure: recent,
            aggregation: recent || !linux,
        }
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "kernel",
    kind: "transport",
    title: "What differs between the versions of Linux that a TCP sender may follow",
    text: "The sender's setting `kernel` selects the rows of one column; 6.18 is the default.\n\n\
           | what | rfc | 4.15 | 5.18 | 6.18 |\n\
           |---|---|---|---|---|\n\
           | a paced burst is whole segments and ends with the window | - | yes | yes | yes |\n\
           | the burst grows as the least RTT shrinks | - | - | yes | yes |\n\
           | BBR judges the data in flight at the next departure | - | - | yes | yes |\n\
           | BBR's `ack_aggregation` may be on | yes | - | yes | yes |",
    sources: "Linux: tcp_tso_autosize (tcp_tso_rtt_log since 5.18), tcp_write_xmit, \
              bbr_packets_in_net_at_edt (since 4.20), bbr_update_ack_aggregation (since 5.1)",
    deviations: "Only what is listed differs. CUBIC grows in whole segments only where it is told \
                 `by_count`. The receiver acknowledges each second segment and nothing defers a \
                 short burst, in all versions; the credit of late bursts, which 4.15 leaves to \
                 fq, is in all too.",
    params: Vec::new,
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn the_table_that_is_shown_is_the_one_that_is_followed() {
        let columns: [fn(Features) -> bool; 4] =
            [|f| f.one_buffer, |f| f.rtt_bursts, |f| f.at_departure, |f| f.aggregation];
        let rows: Vec<&str> = DOC.text.lines().skip(4).collect();
        assert_eq!(rows.len(), columns.len());
        for (row, has) in rows.iter().zip(columns) {
            let cells =
                Kernel::ALL.map(|k| if has(k.features()) { " yes |" } else { " - |" }).concat();
            assert!(row.ends_with(&format!("|{cells}")), "{row}: {cells}");
        }
        let head = format!("| what | {} |", Kernel::ALL.map(Kernel::name).join(" | "));
        assert_eq!(DOC.text.lines().nth(2), Some(head.as_str()));
    }
}
