//! The packets a second that pass the box, beside a plain forwarder: `f1u_bench WAY SECONDS
//! BEARERS` prints a line of JSON. Ways:
//!
//! - `kernel`: the host forwards, without any process.
//! - `plain`: the downlink takes the detour, and a loop writes what it reads.
//! - `box`: the same with the box's decisions for each packet.
//! - `copies`: the box as it serves: the kernel forwards the downlink, the box reads copies.
//!
//! `f1u_bench decisions SECONDS BEARERS` prints the time of the decisions alone for a packet.
//! `f1u_bench check` prints the missing abilities of this host, or nothing. The process in the
//! middle has the last core, the load the first. The bearers take turns with packets of 1 400
//! bytes.

use justfull_base::Instant;
use justfull_f1u::{F1uConfig, Machine, Verdict};
use justfull_net::chain::{CORE, Chain, Mtus, Place, RAN};
use justfull_net::clock::now;
use justfull_net::{Detour, DetourConfig, Port};
use justfull_nru::{Frame, UserData, gtpu};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;
use serde_json::json;
use std::io;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const BYTES: usize = 1_400;
/// Before the count begins.
const WARM: Duration = Duration::from_millis(300);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match &words[..] {
        ["check"] => {
            check();
            Ok(())
        }
        ["middle", "plain"] => plain(),
        ["middle", file] => serve(Path::new(file)),
        ["decisions", seconds, bearers] => decisions(seconds, bearers),
        [way, seconds, bearers] => measure(way, seconds, bearers),
        _ => Err("usage: f1u_bench check | WAY SECONDS BEARERS".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("f1u_bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn check() {
    let capabilities = justfull_net::capabilities();
    let lacking = capabilities.iter().filter(|one| one.required && one.found.is_err());
    for one in lacking {
        println!("{}: {:?}", one.name, one.found);
    }
}

/// Keeps this thread, and the processes that it starts, on one core.
fn pin(last: bool) -> Outcome<()> {
    let cores = std::thread::available_parallelism()?.get();
    let mut set = CpuSet::new();
    set.set(if last { cores - 1 } else { 0 })?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// A forwarder that only reads and writes.
fn plain() -> Outcome<()> {
    pin(true)?;
    let config = DetourConfig {
        device: "jff1u".into(),
        incoming: CORE.into(),
        port: gtpu::PORT,
        table: 27_239,
        priority: 100,
        prefixed: false,
        end: None,
    };
    let mut detour = Detour::install(&config, false)?;
    let mut buffer = vec![0; 65_535];
    loop {
        if let Some(descriptor) = detour.descriptor() {
            poll(&mut [PollFd::new(descriptor, PollFlags::POLLIN)], PollTimeout::from(100_u16))?;
        }
        while let Some(length) = detour.receive(&mut buffer)? {
            detour.send(&buffer[..length])?;
        }
    }
}

fn serve(file: &Path) -> Outcome<()> {
    pin(true)?;
    let config = F1uConfig::read(file)?;
    Ok(justfull_f1u::run(&config, false, || {})?)
}

/// The decisions without any socket.
fn decisions(seconds: &str, bearers: &str) -> Outcome<()> {
    let bearers: u32 = bearers.parse()?;
    pin(true)?;
    let seconds = Duration::from_secs_f64(seconds.parse()?);
    let mut machine = Machine::new(&F1uConfig::default())?;
    let mut packets: Vec<Vec<u8>> = (0..bearers).map(|number| ip(&frame(number))).collect();
    let (begin, mut count) = (now(), 0_u64);
    while now() - begin < seconds {
        for packet in &mut packets {
            let verdict = machine.on_datagram(Instant::ZERO, packet);
            assert_eq!(verdict, Verdict::UserData);
        }
        count += u64::from(bearers);
    }
    let ns = (now() - begin).as_nanos() as f64 / count as f64;
    println!("{}", json!({ "way": "decisions", "ns_per_packet": ns }));
    Ok(())
}

/// An IPv4 packet without checksums around a message.
fn ip(message: &[u8]) -> Vec<u8> {
    let length = |more: usize| ((message.len() + more) as u16).to_be_bytes();
    let mut packet = vec![0x45, 0];
    packet.extend(length(28));
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 46, 0, 1, 10, 45, 0, 1, 8, 104, 8, 104]);
    packet.extend(length(8));
    packet.extend([0, 0]);
    packet.extend(message);
    packet
}

/// A process in the middle. Dropping it kills it.
struct Middle(Child);

impl Drop for Middle {
    fn drop(&mut self) {
        // It ends with this program in any case.
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

fn middle(chain: &Chain, argument: &str) -> Outcome<Middle> {
    let spawn = || {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["middle", argument]).stdout(Stdio::null()).spawn()
    };
    Ok(Middle(chain.inside(Place::Middle, spawn)?))
}

fn measure(way: &str, seconds: &str, bearers: &str) -> Outcome<()> {
    let bearers = bearers.parse()?;
    let seconds = Duration::from_secs_f64(seconds.parse()?);
    pin(false)?;
    let chain = Chain::build(1, Mtus { ran: 1_500, core: 1_500 })?;
    let folder = tempfile::tempdir()?;
    let (file, socket) = (folder.path().join("f1u.toml"), folder.path().join("socket"));
    let config = |du: &str| {
        let socket = socket.display();
        format!("[place]\ncu_up = {CORE:?}\ndu = {du:?}\n[operation]\nsocket = \"{socket}\"\n")
    };
    let argument = file.display().to_string();
    let _middle = match way {
        "kernel" => None,
        "plain" => Some(middle(&chain, "plain")?),
        "box" | "copies" => {
            // With one interface for both directions, both take the detour.
            std::fs::write(&file, config(if way == "box" { CORE } else { RAN }))?;
            Some(middle(&chain, &argument)?)
        }
        other => return Err(format!("no way `{other}`").into()),
    };
    std::thread::sleep(WARM);
    let received = blast(&chain, seconds, bearers)?;
    let lost = justfull_f1u::ask(&socket, "status").ok().map(|text| {
        let status: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        status["copies_lost"].as_u64().unwrap_or(0)
    });
    let per_s = received as f64 / seconds.as_secs_f64();
    println!("{}", json!({ "way": way, "packets_per_s": per_s, "copies_lost": lost }));
    Ok(())
}

/// Sends as fast as it can, and returns the arrivals.
fn blast(chain: &Chain, seconds: Duration, bearers: u32) -> Outcome<u64> {
    let bound = |place, address| {
        chain.inside(place, || {
            let socket = UdpSocket::bind((address, gtpu::PORT))?;
            setsockopt(&socket, sockopt::RcvBufForce, &(8 << 20))?;
            socket.set_read_timeout(Some(Duration::from_millis(50)))?;
            Ok(socket)
        })
    };
    let (to, from) = (bound(Place::Ue, "10.45.0.1")?, bound(Place::Server, "10.46.0.1")?);
    let ended = Arc::<AtomicBool>::default();
    let end = Arc::clone(&ended);
    let sender = std::thread::spawn(move || -> io::Result<()> {
        let frames: Vec<Vec<u8>> = (0..bearers).map(frame).collect();
        from.connect(("10.45.0.1", gtpu::PORT))?;
        while !end.load(Ordering::Relaxed) {
            for frame in &frames {
                // A full queue loses the packet.
                let _lost = from.send(frame);
            }
        }
        Ok(())
    });
    std::thread::sleep(WARM);
    let (mut room, mut received) = ([0; 2_048], 0);
    let begin = now();
    while now() - begin < seconds {
        received += u64::from(to.recv(&mut room).is_ok());
    }
    ended.store(true, Ordering::Relaxed);
    sender.join().map_err(|_| "the sender failed")??;
    Ok(received)
}

fn frame(number: u32) -> Vec<u8> {
    let mut room = vec![0; BYTES + 64];
    let mut builder = gtpu::Builder::new(&mut room, gtpu::G_PDU, number).expect("room");
    let frame = Frame::UserData(UserData { sequence: 1, user_data: true, ..UserData::default() });
    builder.extension(gtpu::NR_RAN_CONTAINER, |room| frame.write(room)).expect("room");
    builder.payload(&[0x80; BYTES]).expect("room");
    let length = builder.finish().expect("short enough");
    room.truncate(length);
    room
}
