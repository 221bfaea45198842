//! Indications of E2SM-KPM, from a pipe and over HTTP.

use super::*;
use std::io::Write;

/// Bytes of a line that is too long.
const LONG: usize = (4 << 20) + 2;

/// An indication: 40 of 100 blocks carry 1 000 000 bytes to `ue` in 100 ms. UE 9 has no
/// measurements.
fn indication(ue: &str) -> String {
    format!(
        "{{\"e2_agent_id\": \"gnb-1\", \"ueMeasData\": {{\"{ue}\": {{\"granulPeriod\": 100, \
         \"measData\": {{\"DRB.RlcSduTransmittedVolumeDL\": [8000], \"RRU.PrbUsedDl\": [40]}}}}, \
         \"9\": {{\"measData\": {{}}}}}}}}\n"
    )
}

/// Starts a source with the settings `rest` and a file of UEs with a line for `gnb-1/7`.
fn source(rest: &str) -> (tempfile::TempDir, Receiver<Report>, Arc<Account>) {
    let folder = tempfile::tempdir().expect("a folder");
    let ues = folder.path().join("ues");
    std::fs::write(&ues, "gnb-1/7 10.45.0.1 fd45::/64\n").expect("a file");
    let text = format!("kind = \"kpm\"\nprbs = 100\nues = {ues:?}\n{rest}");
    let (reports, account) = started(&text);
    (folder, reports, account)
}

fn counts(account: &Account) -> [u64; 3] {
    [account.garbled(), account.unknown(), account.lacking()]
}

#[test]
fn indications_come_through_a_pipe_and_bad_lines_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("kpm");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it starts");
    assert!(made.success());
    let (_folder, reports, account) = source(&format!("path = {pipe:?}\n"));
    let mut xapp = std::fs::File::options().write(true).open(&pipe).expect("it opens");
    let lines =
        ["none\n".to_owned(), indication("7"), "x".repeat(LONG), "\n".into(), indication("8")];
    lines.iter().for_each(|line| xapp.write_all(line.as_bytes()).expect("it is written"));
    let report = reports.recv_timeout(SOON).expect("a report");
    assert_eq!((report.cell.as_deref(), report.ue.len()), (Some("gnb-1"), 2));
    assert_eq!((report.ran.offered, report.ran.blocks), (2_500_000, 1_000_000));
    until("all lines are read", || counts(&account) == [2, 1, 2]);
    assert!(reports.try_recv().is_err());
}

#[test]
fn an_xapp_posts_lines_with_a_token_and_others_are_refused() {
    let address = closed();
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = folder.path().join("tokens");
    std::fs::write(&tokens, "secret\nreader read\n").expect("a file");
    let rest = format!("listen = \"{address}\"\ntoken_file = {tokens:?}\n");
    let (_folder, reports, account) = source(&rest);
    assert_eq!(account.state(), State::Connected);
    let agent = justfull_rnis::agent(&justfull_rnis::Trust::default(), SOON).expect("a client");
    let post = |token: &str, body: &str| {
        let request = agent
            .post(format!("http://{address}/indications"))
            .header("Authorization", format!("Bearer {token}"));
        justfull_rnis::bounded(request.send(body)).expect("an answer").0
    };
    assert_eq!(post("wrong", &indication("7")), 401);
    assert_eq!(post("reader", &indication("7")), 403);
    assert!(reports.try_recv().is_err());
    assert_eq!(post("secret", &format!("{}\n\nnone\n", indication("7"))), 204);
    assert_eq!(reports.recv_timeout(SOON).expect("a report").ran.offered, 2_500_000);
    assert_eq!(counts(&account), [1, 0, 1]);
    assert_eq!(post("secret", &"x".repeat(LONG)), 413);
}

#[test]
fn the_error_of_a_wrong_setting_has_the_setting_and_the_allowed_values() {
    for (text, field, part) in [
        ("", "path", "or else `listen`"),
        ("path = \"a\"\nlisten = \"127.0.0.1:1\"", "path", "or else `listen`"),
        ("listen = \"0.0.0.0:9105\"", "listen", "an address of this host"),
        ("listen = \"here\"", "listen", "an address with a port"),
        ("path = \"a\"\nprbs = 276", "prbs", "1 to 275"),
        ("path = \"a\"\ndelay_unit = \"1s\"", "delay_unit", "1us to 1ms"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let ues = folder.path().join("ues");
        std::fs::write(&ues, "").expect("a file");
        let whole = format!("kind = \"kpm\"\nues = {ues:?}\n{text}");
        let config: RadioConfig = toml::from_str(&whole).expect("a source");
        let error = config.validate().expect_err(text).to_string();
        assert!(error.contains(field) && error.contains(part), "{text}: {error}");
    }
    let unit = toml::from_str::<RadioConfig>("kind = \"kpm\"\nprb_total = \"prbs\"");
    assert!(unit.is_err_and(|e| e.to_string().contains("percent")));
}

#[test]
fn an_attempt_fails_for_a_source_that_cannot_start() {
    let tried = |text: &str| {
        let config: RadioConfig = toml::from_str(text).expect("a source");
        attempt(&config).map_err(|e| e.to_string())
    };
    for (text, good) in [
        ("kind = \"kpm\"\npath = \"/dev/null\"", Err("a file or a named pipe")),
        ("kind = \"kpm\"\npath = \"/none\"", Err("read reports from /none")),
        ("kind = \"json_lines\"\npath = \"/none\"", Err("read reports from /none")),
        ("kind = \"kpm\"\nlisten = \"192.0.2.1:9105\"", Err("receive reports at 192.0.2.1:9105")),
        ("kind = \"kpm\"\nlisten = \"127.0.0.1:0\"", Ok("kpm at 127.0.0.1:0")),
        (
            "kind = \"rnis\"\nurl = \"http://a\"\ncallback = \"127.0.0.1:0\"",
            Ok("rnis at 127.0.0.1:0"),
        ),
        ("kind = \"rnis\"\nurl = \"http://a\"", Ok("rnis of http://a")),
        ("kind = \"amqp\"\naddress = \"a:1\"", Ok("amqp of a:1")),
        ("kind = \"none\"", Ok("none: capacity follows from delivery")),
    ] {
        match (tried(text), good) {
            (Ok(found), Ok(good)) => assert_eq!(found, good, "{text}"),
            (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = taken.local_addr().expect("its address");
    assert!(tried(&format!("kind = \"kpm\"\nlisten = \"{at}\"")).is_ok(), "a proxy may run");
}
