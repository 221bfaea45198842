//! Wireshark's dissector decodes every written frame, with the same value in each field.

mod random;

use justfull_nru::{Assistance, DeliveryStatus, Frame, Message, SessionKind, UserData};
use random::Random;
use std::collections::BTreeMap;
use std::process::Command;

/// Messages.
const MANY: u64 = 2_000;

/// Fields of tshark by their names, of one message; values of a list are in order.
type Fields = BTreeMap<&'static str, Vec<String>>;

const FIELDS: [&str; 45] = [
    "gtp.message",
    "gtp.teid",
    "gtp.length",
    "gtp.seq_number",
    "gtp.npdu_number",
    "gtp.ext_hdr.pdu_ses_con.pdu_type",
    "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
    "gtp.ext_hdr.pdu_ses_cont.rqi",
    "nrup.pdu_type",
    "nrup.dl_disc_blks",
    "nrup.dl_flush",
    "nrup.report_polling",
    "nrup.request_out_of_seq_report",
    "nrup.report_delivered",
    "nrup.user_data_existence_flag",
    "nrup.ass_inf_rep_poll_flag",
    "nrup.retransmission_flag",
    "nrup.seq_num",
    "nrup.dl_disc_nr_pdcp_pdu_sn",
    "nrup.dl_disc_num_blks",
    "nrup.dl_disc_nr_pdcp_pdu_sn_start",
    "nrup.disc_blk_sz",
    "nrup.dl_report_nr_pdcp_pdu_sn",
    "nrup.final_frame_ind",
    "nrup.lost_pkt_rpt",
    "nrup.desrd_buff_sz_data_radio_bearer",
    "nrup.desrd_data_rate",
    "nrup.num_lost_nru_seq_num",
    "nrup.start_num_lost_nru_seq_num",
    "nrup.end_num_lost_nru_seq_num",
    "nrup.high_success_delivered_nr_pdcp_sn",
    "nrup.high_tx_nr_pdcp_sn",
    "nrup.cause_val",
    "nrup.high_success_delivered_retx_nr_pdcp_sn",
    "nrup.high_retx_nr_pdcp_sn",
    "nrup.pdcp_duplication_ind",
    "nrup.pdcp_duplication_activation_suggestion",
    "nrup.num_assistance_info_fields",
    "nrup.assistance_info_type",
    "nrup.num_octets_radio_qa_info",
    "nrup.radio_qa_info",
    "nrup.ul_delay_du_result",
    "nrup.dl_delay_du_result",
    "_ws.malformed",
    "_ws.expert.message",
];

/// A capture (libpcap's format) of IPv4 packets on port 2152.
fn capture(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101] {
        bytes.extend(word.to_le_bytes());
    }
    for message in messages {
        let length = |more: usize| u16::try_from(message.len() + more).expect("short");
        let mut packet = vec![0x45, 0];
        packet.extend(length(28).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 8, 104, 8, 104]);
        packet.extend(length(8).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(message);
        let length = u32::try_from(packet.len()).expect("short");
        [0, 0, length, length].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(packet);
    }
    bytes
}

fn put(fields: &mut Fields, name: &'static str, value: impl ToString) {
    assert!(FIELDS.contains(&name), "{name}");
    fields.entry(name).or_default().push(value.to_string());
}

fn put_some<T: ToString>(fields: &mut Fields, name: &'static str, value: Option<T>) {
    value.into_iter().for_each(|value| put(fields, name, value));
}

/// The fields that tshark should find.
fn expected(bytes: &[u8]) -> Fields {
    let message = Message::read(bytes).expect("a message");
    let mut all = Fields::new();
    let f = &mut all;
    put(f, "gtp.message", format!("{:#04x}", message.kind));
    put(f, "gtp.teid", format!("{:#010x}", message.teid));
    put(f, "gtp.length", bytes.len() - 8);
    put_some(f, "gtp.seq_number", message.sequence.map(|n| format!("{n:#06x}")));
    put_some(f, "gtp.npdu_number", message.n_pdu.map(|n| format!("{n:#04x}")));
    if let Some(session) = message.session().expect("sound") {
        let downlink = match session.kind {
            SessionKind::Downlink { reflective, .. } => Some(u8::from(reflective)),
            _ => None,
        };
        put(f, "gtp.ext_hdr.pdu_ses_con.pdu_type", u8::from(downlink.is_none()));
        put(f, "gtp.ext_hdr.pdu_ses_con.qos_flow_id", session.qfi);
        put_some(f, "gtp.ext_hdr.pdu_ses_cont.rqi", downlink);
    }
    match message.frame().expect("sound").expect("there") {
        Frame::UserData(data) => user_data(f, &data),
        Frame::Status(status) => delivery_status(f, &status),
        Frame::Assistance(advice) => assistance(f, &advice),
        Frame::Other(_) => panic!("only known types are written"),
    }
    all
}

fn user_data(f: &mut Fields, data: &UserData<'_>) {
    put(f, "nrup.pdu_type", 0);
    let (flush, blocks) = (data.discard.flush, data.discard.blocks);
    put(f, "nrup.dl_disc_blks", u8::from(blocks.is_some()));
    put(f, "nrup.dl_flush", u8::from(flush.is_some()));
    put(f, "nrup.report_polling", u8::from(data.report_polling));
    put(f, "nrup.request_out_of_seq_report", u8::from(data.report_out_of_sequence));
    put(f, "nrup.report_delivered", u8::from(data.report_delivered.is_some()));
    put(f, "nrup.user_data_existence_flag", u8::from(data.user_data));
    put(f, "nrup.ass_inf_rep_poll_flag", u8::from(data.assistance_polling));
    put(f, "nrup.retransmission_flag", u8::from(data.retransmission));
    put(f, "nrup.seq_num", data.sequence);
    put_some(f, "nrup.dl_disc_nr_pdcp_pdu_sn", flush);
    put_some(f, "nrup.dl_disc_num_blks", blocks.map(|list| list.len()));
    for block in blocks.iter().flat_map(|list| list.iter()) {
        put(f, "nrup.dl_disc_nr_pdcp_pdu_sn_start", block.start);
        put(f, "nrup.disc_blk_sz", block.size);
    }
    put_some(f, "nrup.dl_report_nr_pdcp_pdu_sn", data.report_delivered);
}

fn delivery_status(f: &mut Fields, status: &DeliveryStatus<'_>) {
    put(f, "nrup.pdu_type", 1);
    put(f, "nrup.final_frame_ind", u8::from(status.final_frame));
    put(f, "nrup.lost_pkt_rpt", u8::from(status.lost.is_some()));
    put(f, "nrup.desrd_buff_sz_data_radio_bearer", status.desired_buffer_size);
    put_some(f, "nrup.desrd_data_rate", status.desired_data_rate);
    put_some(f, "nrup.num_lost_nru_seq_num", status.lost.map(|list| list.len()));
    for range in status.lost.iter().flat_map(|list| list.iter()) {
        put(f, "nrup.start_num_lost_nru_seq_num", range.start);
        put(f, "nrup.end_num_lost_nru_seq_num", range.end);
    }
    put_some(f, "nrup.high_success_delivered_nr_pdcp_sn", status.highest_delivered);
    put_some(f, "nrup.high_tx_nr_pdcp_sn", status.highest_transmitted);
    put_some(f, "nrup.cause_val", status.cause);
    let again = status.highest_delivered_retransmitted;
    put_some(f, "nrup.high_success_delivered_retx_nr_pdcp_sn", again);
    put_some(f, "nrup.high_retx_nr_pdcp_sn", status.highest_retransmitted);
}

fn assistance(f: &mut Fields, advice: &Assistance<'_>) {
    put(f, "nrup.pdu_type", 2);
    put(f, "nrup.pdcp_duplication_ind", u8::from(advice.duplicate.is_some()));
    let active = advice.duplicate == Some(true);
    put(f, "nrup.pdcp_duplication_activation_suggestion", u8::from(active));
    let count = advice.quality.map(|list| list.iter().count());
    put_some(f, "nrup.num_assistance_info_fields", count);
    for field in advice.quality.iter().flat_map(|list| list.iter()) {
        put(f, "nrup.assistance_info_type", field.kind);
        put(f, "nrup.num_octets_radio_qa_info", field.value.len());
        let hex: String = field.value.iter().map(|byte| format!("{byte:02x}")).collect();
        put(f, "nrup.radio_qa_info", hex);
    }
    put_some(f, "nrup.ul_delay_du_result", advice.uplink_delay);
    put_some(f, "nrup.dl_delay_du_result", advice.downlink_delay);
}

/// The fields that tshark found, from a line of its output.
fn found(line: &str) -> Fields {
    let values = line.split('\t').map(|values| values.trim_end_matches('\r'));
    let of = |values: &str| -> Vec<String> {
        // Later versions write truth values as words.
        let one = |value: &str| match value {
            "True" => "1".to_owned(),
            "False" => "0".to_owned(),
            other => other.to_owned(),
        };
        values.split('|').map(one).collect()
    };
    let named = FIELDS.into_iter().zip(values).filter(|(_, values)| !values.is_empty());
    named.map(|(name, values)| (name, of(values))).collect()
}

#[test]
fn tshark_agrees_with_every_field_that_is_written() {
    if Command::new("tshark").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "tshark is missing: apt-get install tshark");
        println!("skipped: tshark is missing");
        return;
    }
    let messages: Vec<Vec<u8>> = (0..MANY)
        .map(|seed| {
            let mut room = vec![0; 4096];
            let length = Random::new(seed).message(&mut room, |_| ());
            room.truncate(length);
            room
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("f1u.pcap");
    std::fs::write(&file, capture(&messages)).expect("it writes");
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&file).args(["-n", "-d", "udp.port==2152,gtp", "-T", "fields"]);
    // A T-PDU of F1-U is a PDCP PDU, for which there is no dissector.
    tshark.args(["-o", "gtp.dissect_tpdu_as:None", "-E", "separator=/t", "-E", "aggregator=|"]);
    FIELDS.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let output = tshark.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), messages.len());
    let mut kinds = [0; 3];
    for (number, (line, message)) in text.lines().zip(&messages).enumerate() {
        let (found, expected) = (found(line), expected(message));
        assert_eq!(found, expected, "message {number}: {message:02x?}");
        kinds[expected["nrup.pdu_type"][0].parse::<usize>().expect("a number")] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 500), "{kinds:?}");
}
