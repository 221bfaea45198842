//! The formats of trace files, and how to detect them from content.

use super::table::{Dialect, Splitter};
use std::fmt;
use std::str::FromStr;

/// A format of trace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileFormat {
    /// Mahimahi (Netravali et al. 2015): one line per opportunity to send a packet, its time in
    /// whole ms.
    Mahimahi,
    /// CellReplay (Sentosa et al. 2025), heavy delivery opportunities: like Mahimahi, for packets
    /// of 1400 B.
    Cellreplay,
    /// CellReplay, packet trains: a line for each train with its time, base delay and the arrivals
    /// of its packets, in ms.
    CellreplayTrain,
    /// Phone logs of University College Cork, 4G (Raca et al. 2018) and 5G (Raca et al. 2020): a
    /// row per second.
    Ucc,
    /// T20: column `packets_per_10ms`, packets of 1460 B per 10 ms, a row per second.
    T20,
    /// A column `cqi`, each from its row's time to the next, or a row per interval.
    Cqi,
    /// A column `bytes`, a row per interval; the interval is stated elsewhere.
    Bytes,
    /// justfull's own text: columns `start_UNIT`, `end_UNIT`, `bytes`, and `cqi` if known.
    Csv,
    /// NR-Scope's log of grants (Wan et al. 2024): a row per DCI with the bits of its transport
    /// block.
    NrScope,
    /// Any table of rates, whose columns the caller names.
    Rates,
    /// Any table of amounts at instants, whose columns the caller names.
    Amounts,
}

impl FileFormat {
    /// All formats.
    pub const ALL: [Self; 11] = [
        Self::Mahimahi,
        Self::Cellreplay,
        Self::CellreplayTrain,
        Self::Ucc,
        Self::T20,
        Self::Cqi,
        Self::Bytes,
        Self::Csv,
        Self::NrScope,
        Self::Rates,
        Self::Amounts,
    ];

    /// Formats that can be written. Phone logs and packet trains are measurements; a capacity
    /// cannot be converted back to them.
    pub const WRITTEN: [Self; 6] =
        [Self::Mahimahi, Self::Cellreplay, Self::T20, Self::Cqi, Self::Bytes, Self::Csv];

    /// Name on the command line and in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mahimahi => "mahimahi",
            Self::Cellreplay => "cellreplay",
            Self::CellreplayTrain => "cellreplay-train",
            Self::Ucc => "ucc",
            Self::T20 => "t20",
            Self::Cqi => "cqi",
            Self::Bytes => "bytes",
            Self::Csv => "csv",
            Self::NrScope => "nr-scope",
            Self::Rates => "rates",
            Self::Amounts => "amounts",
        }
    }

    /// The content of its files.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Mahimahi => {
                "Mahimahi (Netravali et al. 2015): a line for each opportunity to send a packet, \
                 its time in whole ms; begins again after the last"
            }
            Self::Cellreplay => {
                "CellReplay (Sentosa et al. 2025), heavy delivery opportunities: as Mahimahi's"
            }
            Self::CellreplayTrain => {
                "CellReplay, packet trains: a line for each train with its time, base delay and \
                 the arrivals of its packets, in ms"
            }
            Self::Ucc => {
                "phone logs of University College Cork, 4G (Raca et al. 2018) and 5G (Raca et al. \
                 2020): a row per second, rates in kbit/s"
            }
            Self::T20 => "T20: column packets_per_10ms, a row per second",
            Self::Cqi => {
                "column cqi, 0 to 15, from a row's time to the next, or a row per --row without times"
            }
            Self::Bytes => "column bytes, a row per --row",
            Self::Csv => {
                "justfull's own text: columns start_UNIT, end_UNIT, bytes, and cqi if known"
            }
            Self::NrScope => {
                "NR-Scope (Wan et al. 2024): its log of grants, a row per DCI with timestamp, rnti, \
                 dci_format and the bits of the transport block; --rnti takes one terminal, --link \
                 the direction"
            }
            Self::Rates => {
                "any table of rates: --rate-column and --time-column by name or number, units in \
                 their names or by --unit and --time-unit"
            }
            Self::Amounts => {
                "any table of amounts at instants: --amount-column and --time-column likewise; \
                 amounts of one instant are added"
            }
        }
    }

    /// Default size of the packets that the format counts, in bytes; 1 if it counts bytes.
    ///
    /// Mahimahi's own constant is 1504 B, of which four are the header of the TUN device: a full IP
    /// packet.
    #[must_use]
    pub const fn packet_bytes(self) -> u64 {
        match self {
            Self::Mahimahi => 1500,
            Self::Cellreplay | Self::CellreplayTrain => 1400,
            Self::T20 => 1460,
            Self::Ucc
            | Self::Cqi
            | Self::Bytes
            | Self::Csv
            | Self::NrScope
            | Self::Rates
            | Self::Amounts => 1,
        }
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FileFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("found `{text}`, allowed is one of {names}")
        })
    }
}

/// Names of the times of a phone log, its own first, in lower case.
pub(super) const LOG_TIMES: [&str; 2] = ["timestamp", "t_s"];

/// The format according to the first bytes of a file, without gzip; none if they do not show it.
///
/// A list of numbers is taken for Mahimahi's: CellReplay's heavy opportunities look the same and
/// must be named.
#[must_use]
pub fn guess(head: &[u8]) -> Option<FileFormat> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = |line| std::str::from_utf8(line).ok().map(str::trim_ascii);
    let mut lines = head.split(|&byte| byte == b'\n').filter_map(text);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let numbers = first.split(' ').filter(|word| !word.is_empty()).map(|word| {
        let digits = word.bytes().all(|b| b.is_ascii_digit());
        digits.then_some(())
    });
    if let Some(numbers) = numbers.collect::<Option<Vec<()>>>() {
        match numbers.len() {
            1 => return Some(FileFormat::Mahimahi),
            2 => {}
            _ => return Some(FileFormat::CellreplayTrain),
        }
    }
    let mut splitter = Splitter::new(Dialect::find(head, None, None).separator);
    let columns: Vec<String> = splitter.split(first)?.iter().map(str::to_ascii_lowercase).collect();
    let has = |name: &str| columns.iter().any(|column| column == name);
    let begins = |start: &str| columns.iter().any(|column| column.starts_with(start));
    match () {
        () if has("packets_per_10ms") => Some(FileFormat::T20),
        () if begins("start_") && begins("end_") && has("bytes") => Some(FileFormat::Csv),
        () if has("rnti") && has("transport_block_size") => Some(FileFormat::NrScope),
        // Rates under other times are those of some table, which no format describes.
        () if has("dl_bitrate") || has("dl_kbps") => {
            LOG_TIMES.iter().any(|name| has(name)).then_some(FileFormat::Ucc)
        }
        () if has("cqi") => Some(FileFormat::Cqi),
        () if has("bytes") => Some(FileFormat::Bytes),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_are_refused_with_the_list() {
        for format in FileFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            assert_eq!(serde_json::to_value(format).expect("text"), format.name());
        }
        let refused = "pcap".parse::<FileFormat>().expect_err("no trace");
        assert!(refused.ends_with(
            "allowed is one of mahimahi, cellreplay, cellreplay-train, ucc, t20, cqi, bytes, csv, \
             nr-scope, rates, amounts"
        ));
    }

    #[test]
    fn a_format_is_found_from_the_content_of_the_file() {
        for (head, format) in [
            ("1\n2\n", Some(FileFormat::Mahimahi)),
            ("\u{feff}# a remark\r\n\r\n17\r\n", Some(FileFormat::Mahimahi)),
            ("0 23 0 0 1 4\n", Some(FileFormat::CellreplayTrain)),
            ("Timestamp,CQI,DL_bitrate,State\n", Some(FileFormat::Ucc)),
            ("t_s,cqi,dl_kbps\n", Some(FileFormat::Ucc)),
            ("packets_per_10ms\n", Some(FileFormat::T20)),
            ("t_s,CQI\n", Some(FileFormat::Cqi)),
            ("bytes\n5\n", Some(FileFormat::Bytes)),
            ("start_ms,end_ms,bytes\n", Some(FileFormat::Csv)),
            ("start_ms;end_ms;bytes\n0;1;2\n", Some(FileFormat::Csv)),
            ("\"Timestamp\",\"DL_bitrate\"\n", Some(FileFormat::Ucc)),
            ("time,dl_kbps\n0,5\n", None),
            ("\u{feff}Zeit;DL_bitrate;CQI\r\n0,5;12,5;7\r\n", None),
            ("dl_kbps\n5\n", None),
            ("timestamp,rnti,dci_format,transport_block_size\n", Some(FileFormat::NrScope)),
            ("0,5\n1,6\n", None),
            ("0 5\n1 6\n", None),
            ("", None),
            ("# only\n", None),
            ("hello world\n", None),
            ("-5\n", None),
        ] {
            assert_eq!(guess(head.as_bytes()), format, "{head:?}");
        }
        assert_eq!(guess(&[0xff, 0xfe, 0x31, 0]), None);
    }
}
