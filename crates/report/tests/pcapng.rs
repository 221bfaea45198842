//! Captures, read by two independent readers: a parser in Rust, and tshark if it is installed.

use justfull_lab::runner::{self, Watch};
use justfull_report::export::outputs::Outputs;
use justfull_report::export::pcapng::{INTERFACES, SNAPLEN};
use justfull_report::export::records::Format;
use justfull_report::export::run::RunFiles;
use justfull_scenario::{Overrides, Scenario};
use pcap_parser::pcapng::{Block, OptionCode};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{PcapBlockOwned, PcapError, PcapNGReader};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A download that is marked or dropped, a call and a ping.
const SCENARIO: &str = r#"
title = "Captured"
duration = "3s"
methods = ["Vanilla"]
[channel]
kind = "constant"
per_slot = 2500
[mac]
kind = "bytes"
[air]
delay = "2ms"
[sdap]
poll = { period = "200us" }
queue = { limit = "60kB" }
[rlc]
queue = { limit = "20kB", aqm = { kind = "codel" } }
[[flow]]
name = "bulk"
tcp = { }
[[flow]]
name = "call"
udp = { payload = "172B", interval = "20ms" }
[[flow]]
name = "ping"
ping = { payload = "56B", interval = "100ms" }
"#;

struct Capture {
    folder: TempDir,
    rows: usize,
}

impl Capture {
    fn path(&self) -> PathBuf {
        self.folder.path().join("c.pcapng")
    }
}

fn capture() -> Capture {
    capture_of(SCENARIO)
}

fn capture_of(text: &str) -> Capture {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let scenario = Scenario::parse(text, Path::new("captured.toml"), None, Overrides::default());
    let outputs = Outputs {
        pcapng: Some(folder.path().join("c.pcapng")),
        packets: Some((folder.path().join("p.csv"), Format::Csv)),
        ..Outputs::default()
    };
    let scenario = scenario.expect("the scenario is sound");
    let done = runner::compare(&scenario, 1, &Watch::default(), &RunFiles(&[outputs]));
    let delivered = done.expect("it runs").groups[0].runs[0].conservation.delivered;
    Capture { folder, rows: delivered as usize }
}

/// One packet of a capture.
struct Frame {
    interface: u32,
    ns: u64,
    original: u32,
    bytes: Vec<u8>,
    comment: String,
}

/// Comments of the section and the frames.
fn read(path: &Path) -> (Vec<String>, Vec<Frame>) {
    let mut reader =
        PcapNGReader::new(1 << 20, File::open(path).expect("it is there")).expect("it is pcapng");
    let (mut comments, mut frames, mut names, mut counts) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).expect("UTF-8");
    loop {
        match reader.next() {
            Ok((length, PcapBlockOwned::NG(block))) => {
                match block {
                    Block::SectionHeader(header) => {
                        let own = header.options.iter().filter(|o| o.code == OptionCode::Comment);
                        comments.extend(own.map(|o| text(&o.value[..usize::from(o.len)])));
                    }
                    Block::InterfaceDescription(interface) => {
                        assert_eq!((interface.linktype.0, interface.snaplen), (101, SNAPLEN));
                        assert_eq!(interface.if_tsresol, 9);
                        let name = interface.options.iter().find(|o| o.code == OptionCode::IfName);
                        let name = name.expect("a name");
                        names.push(text(&name.value[..usize::from(name.len)]));
                    }
                    Block::EnhancedPacket(packet) => {
                        let own = packet.options.iter().find(|o| o.code == OptionCode::Comment);
                        let own = own.expect("a comment");
                        frames.push(Frame {
                            interface: packet.if_id,
                            ns: u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low),
                            original: packet.origlen,
                            bytes: packet.data[..packet.caplen as usize].to_vec(),
                            comment: text(&own.value[..usize::from(own.len)]),
                        });
                    }
                    Block::InterfaceStatistics(_) => counts += 1,
                    other => panic!("{other:?}"),
                }
                reader.consume(length);
            }
            Ok(_) => panic!("not pcapng"),
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => reader.refill().expect("there is more"),
            Err(e) => panic!("{e:?}"),
        }
    }
    assert!(names.iter().eq(INTERFACES.map(|(name, _)| name).iter()), "{names:?}");
    assert_eq!(counts, INTERFACES.len());
    (comments, frames)
}

/// The one's complement sum of `bytes`; all ones if a checksum in them is right.
fn ones_sum(bytes: &[u8]) -> u16 {
    let mut sum: u32 =
        bytes.chunks(2).map(|p| u32::from(p[0]) << 8 | u32::from(*p.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[test]
fn headers_lengths_and_checksums_belong_to_whole_packets() {
    let made = capture();
    let (_, frames) = read(&made.path());
    assert!(frames.len() > 3 * made.rows);
    for frame in &frames {
        let (ip, rest) = frame.bytes.split_at(20);
        assert_eq!((ip[0], u32::from(ip[2]) << 8 | u32::from(ip[3])), (0x45, frame.original));
        assert_eq!(ones_sum(ip), 0xffff, "IPv4");
        assert_eq!(frame.bytes.len() as u32, frame.original.min(SNAPLEN));
        // The bytes beyond the snapshot are zeros and add nothing to a sum.
        let length = frame.original as usize - 20;
        let mut pseudo = if ip[9] == 1 { Vec::new() } else { ip[12..20].to_vec() };
        if ip[9] != 1 {
            pseudo.extend([0, ip[9], (length >> 8) as u8, length as u8]);
        }
        pseudo.extend_from_slice(rest);
        assert_eq!(ones_sum(&pseudo), 0xffff, "protocol {}", ip[9]);
        if ip[9] == 17 {
            assert_eq!(usize::from(rest[4]) << 8 | usize::from(rest[5]), length);
        }
    }
}

#[test]
fn each_layer_has_each_packet_once_and_time_does_not_go_back() {
    let made = capture();
    let (comments, frames) = read(&made.path());
    assert!(comments.iter().any(|c| c == "justfull.method = Vanilla"), "{comments:?}");
    assert!(
        comments.iter().any(|c| c.starts_with("justfull.scenario_toml = title = \"Captured\""))
    );
    assert!(frames.windows(2).all(|pair| pair[0].ns <= pair[1].ns));
    let on = |i: u32| frames.iter().filter(move |f| f.interface == i);
    let csv = fs::read_to_string(made.folder.path().join("p.csv")).expect("it is there");
    let records = csv.lines().skip(2);
    let dropped = |at: &str| records.clone().filter(|r| r.contains(&format!(",{at},"))).count();
    let marked = |i: u32| on(i).filter(|f| f.comment.contains(" dropped=")).count();
    assert_eq!(
        on(0).filter(|f| !f.comment.contains("dropped")).count(),
        on(0).count(),
        "the UPF lets all pass"
    );
    assert_eq!((marked(1), marked(2)), (dropped("sdap"), dropped("rlc")));
    assert!(marked(1) + marked(2) > 0, "something was dropped");
    assert_eq!(on(2).count() - marked(2), made.rows);
    for i in 0..3 {
        let mut ids: Vec<&str> = on(i).filter_map(|f| f.comment.split(' ').nth(1)).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "interface {i}");
    }
    let late = on(2)
        .filter(|f| !f.comment.contains("dropped") && f.ns + 2_000_000 > 3_000_000_000)
        .count();
    assert_eq!(on(3).count() + late, made.rows, "the last 2 ms are in the air when the run ends");
}

#[test]
fn sequence_numbers_follow_the_stream() {
    let made = capture();
    let (_, frames) = read(&made.path());
    let tcp = |i: u32| frames.iter().filter(move |f| f.interface == i && f.bytes[9] == 6);
    let (mut next, mut again) = (1, 0);
    for frame in tcp(0) {
        let (seq, length) = (word(&frame.bytes, 24), frame.original - 52);
        if seq == next {
            next = next.wrapping_add(length);
        } else {
            assert!(seq < next, "the sender leaves no gap: {seq} {next}");
            again += 1;
        }
    }
    assert!(next > 500_000 && again > 0, "{next} bytes, {again} sent again");
    let acks: Vec<u32> = tcp(4).map(|frame| word(&frame.bytes, 28)).collect();
    assert!(acks.len() > 100 && acks.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(acks.last().is_some_and(|last| *last <= next));
    let pings = |i: u32, kind: u8| {
        frames.iter().filter(|f| f.interface == i && f.bytes[9] == 1 && f.bytes[20] == kind).count()
    };
    assert!(pings(0, 8) >= 28 && pings(4, 0) >= 20, "{} {}", pings(0, 8), pings(4, 0));
}

#[test]
fn requests_of_a_ue_go_up_and_replies_come_down_under_the_same_numbers() {
    let asked = SCENARIO.replace(r#""100ms" }"#, r#""100ms", from_ue = { jitter = "50us" } }"#);
    let (_, frames) = read(&capture_of(&asked).path());
    let numbers = |i: u32, kind: u8| {
        let echoes = frames.iter().filter(move |f| {
            f.interface == i
                && f.bytes[9] == 1
                && f.bytes[20] == kind
                && !f.comment.contains("drop")
        });
        echoes.map(|f| word(&f.bytes, 24) & 0xffff).collect::<Vec<u32>>()
    };
    let (requests, replies) = (numbers(4, 8), numbers(3, 0));
    assert!(requests.len() >= 28 && requests.is_sorted(), "{requests:?}");
    assert!(replies.len() >= 20 && replies.iter().all(|n| requests.contains(n)), "{replies:?}");
    assert!(numbers(0, 8).is_empty() && numbers(4, 0).is_empty());
}

/// Runs a Wireshark tool. Prints a note and returns none if it is not installed; continuous
/// integration counts this as a failure.
fn wireshark(program: &str, arguments: &[&str], path: &Path) -> Option<String> {
    let done = match Command::new(program).args(arguments).arg(path).output() {
        Ok(done) => done,
        Err(e) => {
            assert!(std::env::var_os("CI").is_none(), "{program}: {e}; .ci/setup installs it");
            eprintln!("skipped: {program} is not installed ({e})");
            return None;
        }
    };
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{program}: {told}");
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

#[test]
fn tshark_finds_nothing_wrong_with_a_capture() {
    let made = capture();
    let (_, frames) = read(&made.path());
    let arguments = [
        "-o",
        "ip.check_checksum:TRUE",
        "-T",
        "fields",
        "-e",
        "frame.interface_name",
        "-e",
        "ip.checksum.status",
        "-e",
        "_ws.malformed",
        "-e",
        "frame.comment",
        "-r",
    ];
    let Some(text) = wireshark("tshark", &arguments, &made.path()) else { return };
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), frames.len());
    for (line, frame) in lines.iter().zip(&frames) {
        assert_eq!(line[0], INTERFACES[frame.interface as usize].0);
        assert_eq!((line[1], line[2]), ("1", ""), "the checksum is good and nothing is malformed");
        assert_eq!(line[3], frame.comment);
    }
}

/// Prague and CUBIC with the ECN of RFC 3168, both with a handshake, in a queue that marks them and
/// is never full.
const ECN: &str = r#"
title = "Marked"
duration = "3s"
methods = ["Vanilla"]
[channel]
kind = "constant"
per_slot = 2500
[mac]
kind = "bytes"
[sdap]
poll = { period = "200us" }
[rlc]
queue = { limit = "1MB", aqm = { kind = "codel", l4s_threshold = "1ms" } }
[[flow]]
name = "l4s"
tcp = { sender = { cc = "prague", handshake = true }, receiver = { window = { fixed = "80kB" } } }
[[flow]]
name = "classic"
[flow.tcp]
sender = { cc = "cubic", ecn = true, handshake = true }
receiver = { window = { fixed = "80kB" } }
"#;

/// A TCP packet as tshark reads it.
struct Seen {
    up: bool,
    flow: String,
    /// All twelve flags.
    flags: u64,
    ecn: u64,
    seq: u64,
    ack: u64,
    len: u64,
    options: Vec<u8>,
}

/// The packets of `path` on the interfaces `air` and `uplink`; none without tshark.
fn seen(path: &Path) -> Option<Vec<Seen>> {
    let fields = [
        "frame.interface_name",
        "frame.comment",
        "tcp.flags",
        "ip.dsfield.ecn",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.len",
        "tcp.options",
        "_ws.malformed",
    ];
    let mut arguments = vec!["-T", "fields"];
    fields.iter().for_each(|field| arguments.extend(["-e", field]));
    arguments.push("-r");
    let text = wireshark("tshark", &arguments, path)?;
    let lines = text.lines().map(|line| line.split('\t').collect::<Vec<&str>>());
    let lines = lines.inspect(|f| {
        assert_eq!((f[8], f[1].contains("dropped")), ("", false), "malformed or dropped");
    });
    let packets = lines.filter(|f| ["air", "uplink"].contains(&f[0])).map(|f| {
        let hex = |field: &str| {
            let digits = field.trim_start_matches("0x").replace(':', "");
            let byte = |i: usize| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16);
            (0..digits.len() / 2).map(|i| byte(i).expect("hexadecimal")).collect::<Vec<u8>>()
        };
        let number = |field: &str| field.parse().expect("a number");
        Seen {
            up: f[0] == "uplink",
            flow: f[1].split([' ', '=']).nth(1).expect("the flow's name").to_string(),
            flags: hex(f[2]).iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
            ecn: number(f[3]),
            seq: number(f[4]),
            ack: number(f[5]),
            len: number(f[6]),
            options: hex(f[7]),
        }
    });
    Some(packets.collect())
}

const SYN: u64 = 0x02;
const ECE: u64 = 0x40;
const CWR: u64 = 0x80;
/// AE, CWR and ECE.
const ACE: u64 = 0x1c0;

/// Length and counters of the AccECN option with EE1B first.
fn accecn(options: &[u8]) -> Option<(u8, Vec<u64>)> {
    let mut rest = options;
    while let [kind, more @ ..] = rest {
        let length = if *kind == 1 { 1 } else { usize::from(more[0]) };
        if *kind == 174 {
            let field = |f: &[u8]| f.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            return Some((more[0], rest[2..length].chunks(3).map(field).collect()));
        }
        rest = &rest[length..];
    }
    None
}

#[test]
fn tshark_reads_the_handshake_ace_and_the_option_as_the_captured_marks_demand() {
    let made = capture_of(ECN);
    let Some(packets) = seen(&made.path()) else { return };
    let of = |flow: &'static str, up| packets.iter().filter(move |p| p.up == up && p.flow == flow);
    let (mut data, mut at, mut ce, mut bytes) = (of("l4s", false), 0, 0, [1, 0]);
    let syn = data.next().expect("a SYN");
    assert_eq!((syn.flags, syn.ecn, syn.seq), (ACE | SYN, 0, 0), "AE, CWR and ECE, Not-ECT");
    let mut acks = of("l4s", true);
    let answer = acks.next().expect("a SYN/ACK");
    assert_eq!((answer.flags & (ACE | SYN), answer.ack), (0b010 << 6 | SYN, 1), "Not-ECT came");
    let (mut with_option, mut most) = (0, 0);
    for ack in acks {
        // Nothing is lost, so an acknowledgement reports all data up to its number.
        while at < ack.ack {
            let packet = data.next().expect("data before its acknowledgement");
            assert_eq!((packet.flags & ACE) >> 6, 5, "no acknowledgement was marked");
            let marked = packet.ecn == 3;
            assert!(marked || packet.ecn == 1, "ECT(1) or CE");
            at = packet.seq + packet.len;
            ce += u64::from(marked);
            bytes[usize::from(marked)] += packet.len;
        }
        assert_eq!((ack.flags & ACE) >> 6, (5 + ce) % 8, "ACE after {ce} marks");
        assert!(ack.flags & SYN == 0 && ack.ecn == 0);
        if let Some((length, counters)) = accecn(&ack.options) {
            let fields = if bytes[1] == 0 { 1 } else { 2 };
            assert_eq!((length, counters), (2 + 3 * fields as u8, bytes[..fields].to_vec()));
            with_option += 1;
        }
        most += 1;
    }
    assert!(ce > 20 && with_option > most - 20, "{ce} marks, {with_option} of {most} options");
}

#[test]
fn tshark_reads_ect_of_syn_syn_ack_and_acknowledgements_with_generalized_ecn() {
    let plus = ECN
        .replace(r#"cc = "prague","#, r#"cc = "prague", control_ecn = true,"#)
        .replace(r#"receiver = { window"#, r#"receiver = { control_ecn = "ect1", window"#);
    let made = capture_of(&plus);
    let Some(packets) = seen(&made.path()) else { return };
    let of = |flow: &'static str, up| packets.iter().filter(move |p| p.up == up && p.flow == flow);
    let syn = of("l4s", false).next().expect("a SYN");
    assert_eq!((syn.flags, syn.ecn), (ACE | SYN, 1));
    let answer = of("l4s", true).next().expect("a SYN/ACK");
    assert_eq!(answer.flags & (ACE | SYN), 0b011 << 6 | SYN, "ECT(1) came");
    let others = of("l4s", true).filter(|ack| ack.ecn != 1).count();
    assert!(others == 0 && of("l4s", true).count() > 20, "{others} of {}", of("l4s", true).count());
}

#[test]
fn tshark_reads_the_echo_of_rfc_3168_from_each_mark_to_the_next_cwr() {
    let made = capture_of(ECN);
    let Some(packets) = seen(&made.path()) else { return };
    let of = |up| packets.iter().filter(move |p| p.up == up && p.flow == "classic");
    let (mut data, mut acks, mut at, mut echo) = (of(false), of(true), 0, false);
    assert_eq!(data.next().map(|syn| syn.flags), Some(CWR | ECE | SYN));
    assert_eq!(acks.next().map(|answer| answer.flags & (ACE | SYN)), Some(ECE | SYN));
    let (mut echoes, mut reductions) = (0, 0);
    for ack in acks {
        while at < ack.ack {
            let packet = data.next().expect("data before its acknowledgement");
            assert!(packet.ecn == 2 || packet.ecn == 3, "ECT(0) or CE");
            reductions += u32::from(packet.flags & ACE == CWR);
            echo = packet.ecn == 3 || echo && packet.flags & CWR == 0;
            at = packet.seq + packet.len;
        }
        assert_eq!(ack.flags & ACE, if echo { ECE } else { 0 });
        assert_eq!(accecn(&ack.options), None);
        echoes += u32::from(echo);
    }
    assert!(reductions > 0 && echoes > reductions, "{echoes} echoes, {reductions} reductions");
}

#[test]
fn capinfos_tells_interfaces_and_count() {
    let made = capture();
    let (_, frames) = read(&made.path());
    let Some(text) = wireshark("capinfos", &["-M"], &made.path()) else { return };
    let packets = text.lines().find_map(|l| l.strip_prefix("Number of packets:")).map(str::trim);
    assert_eq!(packets, Some(frames.len().to_string().as_str()), "{text}");
    assert!(text.contains("Number of interfaces in file: 5"), "{text}");
    assert!(text.contains("Encapsulation = Raw IP"), "{text}");
}
