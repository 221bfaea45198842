//! The box with real packets: a CU-UP and a DU in namespaces, and a host that routes between them.
//! The box is on this host, or on the host of an end.

#[path = "live/at_an_end.rs"]
mod at_an_end;
#[expect(dead_code, reason = "the tests in virtual time use the rest")]
mod cell;
#[path = "live/packets.rs"]
mod packets;

use cell::cu_up::{Above, CuUp, Qfi, Sdu};
use cell::du::{DESIRED, Du};
use cell::frames::{CU_UP, DU};
use justfull_base::{Duration, Instant};
use justfull_f1u::F1uConfig;
use justfull_net::chain::{CORE, Chain, Mtus, Place, RAN};
use justfull_net::clock::{Clock, SlotClock};
use justfull_nru::{Frame, Message, gtpu};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;
use serde_json::Value;
use std::io;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Set in the process that is the box: its configuration.
const ROLE: &str = "JUSTFULL_F1U_TEST";
const TAKEOVER: &str = "JUSTFULL_F1U_TAKEOVER";
/// 32 Mbit/s in slots of a millisecond.
const CAPACITY: u64 = 4_000;
const SLOT: Duration = Duration::from_millis(1);
const PERIOD: Duration = Duration::from_millis(5);
const CALL: Duration = Duration::from_millis(20);
/// Most messages in one call (`UDP_SEGMENT`).
const SEGMENTS: usize = 40;
/// Octets of a packet of the download.
const BULK: usize = 1_300;

/// Not a test: the box, when this program starts itself.
#[test]
fn as_box() {
    let Ok(file) = std::env::var(ROLE) else { return };
    let config = F1uConfig::read(Path::new(&file)).expect("valid");
    let takeover = std::env::var_os(TAKEOVER).is_some();
    justfull_f1u::run(&config, takeover, || println!("ready")).expect("it runs");
}

/// A running box. Dropping it kills it.
struct Running(Child);

impl Running {
    fn start(chain: &Chain, place: Place, file: &Path, takeover: bool) -> Self {
        let spawn = || {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["as_box", "--exact", "--nocapture"]).env(ROLE, file);
            if takeover {
                command.env(TAKEOVER, "1");
            }
            command.stdout(Stdio::null()).spawn()
        };
        Self(chain.inside(place, spawn).expect("it starts"))
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).expect("a number"));
        kill(pid, signal).expect("it is there");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

fn socket(chain: &Chain, place: Place, address: std::net::Ipv4Addr) -> UdpSocket {
    let bound = chain.inside(place, || {
        let socket = UdpSocket::bind((address, gtpu::PORT))?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::RcvBufForce, &(64 << 20))?;
        Ok(socket)
    });
    bound.expect("it binds")
}

/// Both ends of F1-U, in real time on one thread.
struct Ends {
    sockets: [UdpSocket; 2],
    cu_up: CuUp,
    du: Du,
    /// The CU-UP gives its kernel several messages in one call.
    segments: bool,
    /// Messages that the CU-UP sends at the end of a turn.
    leaving: Vec<Vec<u8>>,
    clock: SlotClock,
    /// The next slot, status and packet of the call.
    due: [Instant; 3],
    numbers: u64,
    /// When each packet of the call arrived at the CU-UP, by its number.
    calls: Vec<(u64, Instant)>,
    measured: Measured,
    /// Frames that the DU should have by the highest NR-U sequence number, and frames that it has.
    expected: u64,
    received: u64,
    statuses: u64,
}

#[derive(Debug, Default)]
struct Measured {
    delays: Vec<Duration>,
    frames: u64,
    slots: u64,
    /// Slots that the radio could not fill.
    idle: u64,
}

impl Ends {
    fn new(chain: &Chain, above: Above) -> Self {
        Self::at(chain, Place::Server, Place::Ue, above)
    }

    /// With the CU-UP and the DU at these places.
    fn at(chain: &Chain, cu_up: Place, du: Place, above: Above) -> Self {
        let sockets = [socket(chain, cu_up, CU_UP), socket(chain, du, DU)];
        let clock = SlotClock::start().expect("a clock");
        Self {
            sockets,
            cu_up: CuUp::new(above, 0x11),
            du: Du::new(0x22),
            segments: false,
            leaving: Vec::new(),
            clock,
            due: [Instant::ZERO; 3],
            numbers: 0,
            calls: Vec::new(),
            measured: Measured::default(),
            expected: 0,
            received: 0,
            statuses: 0,
        }
    }

    /// Frames with user data that did not come.
    fn missing(&self) -> u64 {
        self.expected - self.received
    }

    fn run(&mut self, time: Duration) -> Measured {
        self.measured = Measured::default();
        let end = self.clock.now() + time;
        while self.clock.now() < end {
            self.turn();
            std::thread::sleep(std::time::Duration::from_micros(250));
        }
        self.measured.delays.sort_unstable();
        std::mem::take(&mut self.measured)
    }

    fn sdu(&mut self, qfi: Qfi, bytes: usize) -> bool {
        self.numbers += 1;
        let dropped = self.cu_up.dropped[qfi as usize];
        let messages = self.cu_up.on_sdu(qfi, Sdu { number: self.numbers, bytes });
        self.leaving.extend(messages);
        self.cu_up.dropped[qfi as usize] == dropped
    }

    /// Sends what leaves, messages of one length in one call if the kernel cuts them.
    fn down(&mut self) {
        let socket = &self.sockets[0];
        let alike = |one: &Vec<u8>, next: &Vec<u8>| self.segments && one.len() == next.len();
        for burst in self.leaving.chunk_by(alike).flat_map(|alike| alike.chunks(SEGMENTS)) {
            let length = i32::try_from(burst[0].len()).expect("short");
            let each = if burst.len() > 1 { length } else { 0 };
            setsockopt(socket, sockopt::UdpGsoSegment, &each).expect("the kernel cuts");
            let sent = socket.send_to(&burst.concat(), (DU, gtpu::PORT));
            assert_eq!(sent.expect("it sends"), burst.concat().len());
        }
        self.leaving.clear();
    }

    fn turn(&mut self) {
        let mut room = [0; 2_048];
        while let Some(length) = received(&self.sockets[0], &mut room) {
            let message = Message::read(&room[..length]).expect("a message");
            let Ok(Some(Frame::Status(status))) = message.frame() else { panic!("no status") };
            let messages = self.cu_up.on_status(&status);
            self.leaving.extend(messages);
        }
        while let Some(length) = received(&self.sockets[1], &mut room) {
            let message = Message::read(&room[..length]).expect("a message");
            let Ok(Some(Frame::UserData(frame))) = message.frame() else { panic!("no user data") };
            self.expected = self.expected.max(u64::from(frame.sequence) + 1);
            self.received += 1;
            self.measured.frames += 1;
            self.du.on_message(&message);
        }
        let now = self.clock.now();
        while self.due[0] <= now {
            let at = self.due[0];
            self.due[0] = at + SLOT;
            self.slot(now);
        }
        if self.due[1] <= now {
            self.due[1] = now + PERIOD;
            self.statuses += 1;
            let sent = self.sockets[1].send_to(&self.du.status(), (CU_UP, gtpu::PORT));
            sent.expect("it sends");
        }
        if self.due[2] <= now {
            self.due[2] = now + CALL;
            self.sdu(Qfi::Call, 200);
            self.calls.push((self.numbers, now));
        }
        // The download always has something to send, 100 packets at a time.
        for _ in 0..100 {
            if !self.sdu(Qfi::Bulk, BULK) {
                break;
            }
        }
        self.down();
    }

    fn slot(&mut self, now: Instant) {
        self.measured.slots += 1;
        self.measured.idle += u64::from(self.du.queued < CAPACITY);
        for sdu in self.du.slot(now, CAPACITY) {
            if let Ok(index) = self.calls.binary_search_by_key(&sdu.number, |(number, _)| *number) {
                self.measured.delays.push(now.since(self.calls[index].1));
            }
        }
    }
}

fn received(socket: &UdpSocket, room: &mut [u8]) -> Option<usize> {
    match socket.recv(room) {
        Ok(length) => Some(length),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(error) => panic!("{error}"),
    }
}

fn median(measured: &Measured) -> Duration {
    measured.delays[measured.delays.len() / 2]
}

fn configuration(folder: &Path, more: &str) -> PathBuf {
    configuration_at(folder, Interfaces { cu_up: CORE, du: RAN }, more)
}

/// `place.cu_up` and `place.du` of a configuration.
#[derive(Clone, Copy)]
struct Interfaces {
    cu_up: &'static str,
    du: &'static str,
}

fn configuration_at(folder: &Path, interfaces: Interfaces, more: &str) -> PathBuf {
    let Interfaces { cu_up, du } = interfaces;
    let file = folder.join("f1u.toml");
    let socket = folder.join("socket");
    let text = format!(
        "[place]\ncu_up = {cu_up:?}\ndu = {du:?}\n[operation]\nsocket = {:?}\n{more}",
        socket.display().to_string()
    );
    std::fs::write(&file, text).expect("it writes");
    file
}

fn status(folder: &Path) -> Option<Value> {
    let text = justfull_f1u::ask(&folder.join("socket"), "status").ok()?;
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// Runs until the box of `device`, or any, answers.
fn until_ready(ends: &mut Ends, folder: &Path, not: Option<&str>) -> String {
    for _ in 0..500 {
        ends.run(Duration::from_millis(20));
        let device =
            status(folder).map(|status| status["device"].as_str().unwrap_or("").to_owned());
        if let Some(device) = device.filter(|device| Some(device.as_str()) != not) {
            return device;
        }
    }
    panic!("no box answers");
}

/// True if the DU's own size reaches the CU-UP now.
fn unbounded(ends: &Ends) -> bool {
    ends.cu_up.sizes.last() == Some(&DESIRED)
}

fn can_run() -> bool {
    let capabilities = justfull_net::capabilities();
    let lacking = capabilities.iter().find(|one| one.required && one.found.is_err());
    assert!(lacking.is_none() || std::env::var_os("CI").is_none(), "{lacking:?}");
    lacking.is_none()
}

#[test]
fn a_box_empties_the_rlc_and_its_death_and_takeover_lose_no_user_data() {
    if !can_run() {
        println!("skipped: no right to make namespaces");
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    let folder = tempfile::tempdir().expect("a folder");
    let file = configuration(folder.path(), "");
    let mut ends = Ends::new(&chain, Above::HoldsBack);

    let plain = ends.run(Duration::from_millis(2_500));
    println!("without: RLC {} B, call {}", ends.du.queued, median(&plain));
    assert!(ends.du.queued > 5_000_000, "{}", ends.du.queued);

    let first = Running::start(&chain, Place::Middle, &file, false);
    let device = until_ready(&mut ends, folder.path(), None);
    // The packets queued before leave first.
    ends.run(Duration::from_millis(3_200));
    let bounded = ends.run(Duration::from_secs(2));
    println!("with: RLC {} B, call {}", ends.du.queued, median(&bounded));
    assert!(!unbounded(&ends) && ends.du.queued < 100_000, "{}", ends.du.queued);
    assert!(median(&bounded) < Duration::from_millis(50), "{}", median(&bounded));
    let used = 1.0 - bounded.idle as f64 / bounded.slots as f64;
    println!("share of slots with enough to send: {used:.3}");
    // Statuses come late on a busy machine.
    assert!(used > 0.8, "{used}");

    first.signal(Signal::SIGKILL);
    ends.run(Duration::from_millis(200));
    let after = ends.run(Duration::from_millis(500));
    println!("killed: {} frames, RLC {} B", after.frames, ends.du.queued);
    assert!(unbounded(&ends), "the DU's size reaches the CU-UP again");
    assert!(after.frames > 200, "traffic goes on: {} frames", after.frames);

    let second = Running::start(&chain, Place::Middle, &file, false);
    let device = until_ready(&mut ends, folder.path(), Some(&device));
    // The box has a bearer's numbers once the DU transmits packets that passed the box: the queue
    // must empty twice.
    ends.run(Duration::from_millis(3_400));
    assert!(!unbounded(&ends) && ends.du.queued < 100_000, "{}", ends.du.queued);
    let third = Running::start(&chain, Place::Middle, &file, true);
    let (sent, heard) = (ends.statuses, ends.cu_up.statuses);
    let last = until_ready(&mut ends, folder.path(), Some(&device));
    ends.run(Duration::from_millis(300));
    let (sent, heard) = (ends.statuses - sent, ends.cu_up.statuses - heard);
    println!("takeover from {device} to {last}: {sent} statuses sent, {heard} heard");
    assert!(sent.abs_diff(heard) <= 2, "no status is lost: {sent} {heard}");
    let found = status(folder.path()).expect("it answers");
    assert_eq!(found["bounded_bearers"], 1, "{found}");
    assert!(!unbounded(&ends));

    third.signal(Signal::SIGTERM);
    ends.run(Duration::from_millis(300));
    assert!(unbounded(&ends) && status(folder.path()).is_none(), "it has gone");
    assert_eq!((ends.missing(), ends.du.dropped), (0, 0), "no user data was lost");
    drop((second, third));
}

/// Runs until the RLC is short and user data waits in the box.
fn until_holding(ends: &mut Ends, folder: &Path) -> Value {
    for _ in 0..100 {
        ends.run(Duration::from_millis(100));
        let found = status(folder).expect("it answers");
        let holds = found["held_bytes"].as_u64().is_some_and(|held| held > 10_000);
        if holds && !unbounded(ends) && ends.du.queued < 100_000 {
            return found;
        }
    }
    panic!("nothing waits in the box: {:?}, RLC {} B", status(folder), ends.du.queued);
}

#[test]
fn user_data_in_the_box_leaves_at_a_takeover_and_at_its_end_and_a_kill_loses_no_other() {
    if !can_run() {
        println!("skipped: no right to make namespaces");
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    let folder = tempfile::tempdir().expect("a folder");
    let more = "[hold]\ntime = \"20ms\"\nbearer = \"200kB\"\n[pacer]\ninterval = \"1ms\"\n";
    let file = configuration(folder.path(), more);
    let mut ends = Ends::new(&chain, Above::Drops);
    let first = Running::start(&chain, Place::Middle, &file, false);
    let device = until_ready(&mut ends, folder.path(), None);
    let found = until_holding(&mut ends, folder.path());
    println!("holding: {found}");
    let (through, user_data) = (&found["detour"]["passed_down"], &found["frames"]["user_data"]);
    assert!(through.as_u64() >= user_data.as_u64(), "user data takes the detour: {found}");

    let second = Running::start(&chain, Place::Middle, &file, true);
    let device = until_ready(&mut ends, folder.path(), Some(&device));
    until_holding(&mut ends, folder.path());
    assert_eq!((ends.missing(), ends.du.dropped), (0, 0), "a takeover loses nothing");

    second.signal(Signal::SIGKILL);
    ends.run(Duration::from_millis(200));
    let after = ends.run(Duration::from_millis(300));
    let lost = ends.missing();
    println!("killed: {lost} packets lost, {} frames", after.frames);
    // Packets in the box, and packets on their way through its devices.
    assert!(lost > 0 && lost < 2 * 200_000 / BULK as u64, "{lost}");
    assert!(unbounded(&ends) && after.frames > 100, "traffic goes on: {} frames", after.frames);

    let third = Running::start(&chain, Place::Middle, &file, false);
    until_ready(&mut ends, folder.path(), Some(&device));
    until_holding(&mut ends, folder.path());
    third.signal(Signal::SIGTERM);
    ends.run(Duration::from_millis(300));
    assert!(unbounded(&ends) && status(folder.path()).is_none(), "it has gone");
    assert_eq!((ends.missing(), ends.du.dropped), (lost, 0), "an end loses nothing");
    drop((first, third));
}

/// Runs a command on a host of the chain, and returns its output.
fn at(chain: &Chain, place: Place, command: &str) -> String {
    let shell = || Command::new("sh").args(["-ec", command]).output();
    let output = chain.inside(place, shell).expect("it starts");
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The rules of a box.
fn rules(chain: &Chain, place: Place) -> usize {
    at(chain, place, "ip rule show").lines().filter(|rule| rule.contains("dport")).count()
}

const LOOSE: &str = "echo 2 > /proc/sys/net/ipv4/conf/all/rp_filter";

#[test]
fn a_takeover_by_a_box_without_user_data_of_its_own_loses_none_and_leaves_no_rule() {
    if !can_run() {
        println!("skipped: no right to make namespaces");
        return;
    }
    let chain = Chain::build(1, Mtus::ETHERNET).expect("three hosts");
    // A filter that is loose for all devices lets the detours back.
    at(&chain, Place::Middle, LOOSE);
    let folder = tempfile::tempdir().expect("a folder");
    let file = configuration(folder.path(), "[hold]\ntime = \"20ms\"\n");
    let mut ends = Ends::new(&chain, Above::Drops);
    let first = Running::start(&chain, Place::Middle, &file, false);
    let device = until_ready(&mut ends, folder.path(), None);
    until_holding(&mut ends, folder.path());
    assert_eq!(rules(&chain, Place::Middle), 2);
    let second = Running::start(&chain, Place::Middle, &configuration(folder.path(), ""), true);
    until_ready(&mut ends, folder.path(), Some(&device));
    ends.run(Duration::from_millis(300));
    assert_eq!((ends.missing(), ends.du.dropped), (0, 0), "no user data was lost");
    assert_eq!(rules(&chain, Place::Middle), 1, "the uplink's alone");
    drop((first, second));
}
