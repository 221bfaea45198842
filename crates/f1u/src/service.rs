//! The box in service: one thread that reads copies of the downlink and the detour of the uplink.

use crate::ask::{Ask, Asker, What, ask};
use crate::config::F1uConfig;
use crate::machine::{Machine, Verdict};
use crate::place;
use crate::status::{self, Seen, Totals};
use justfull_base::{Duration, Instant};
use justfull_net::clock::{Clock, SlotClock};
use justfull_net::questions::Servers;
use justfull_net::{Copies, Detour, Port, Stop, SystemError};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

/// Copies that are read before the uplink is looked at again.
const COPIES: usize = 8_192;
/// Datagrams of one direction that pass before the other is read again.
const DATAGRAMS: usize = 64;
/// The longest datagram.
const LONGEST: usize = 65_535;
/// Turns before requests and signals are looked at again.
const TURNS: usize = 64;
/// How often the loop looks at requests and signals when no packet comes.
const LOOK: Duration = Duration::from_millis(50);

/// How often, and in which steps, a box waits for another that leaves.
const TRIES: u32 = 400;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

struct Service {
    machine: Machine,
    totals: Totals,
    clock: SlotClock,
    /// The uplink's, and the way out of all packets.
    detour: Detour,
    downlink: Downlink,
    asks: Receiver<Ask>,
    left: bool,
    buffer: Vec<u8>,
}

/// How user data of the downlink reach the box.
enum Downlink {
    /// The kernel forwards them; the box reads copies.
    Copies(Copies),
    /// They may wait in the box.
    Detour(Detour),
    /// Both directions arrive at one interface, whose detour they take.
    Uplinks,
}

impl Downlink {
    fn detour(&mut self) -> Option<&mut Detour> {
        match self {
            Self::Detour(detour) => Some(detour),
            Self::Copies(_) | Self::Uplinks => None,
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Copies(copies) => Some(copies.as_fd()),
            Self::Detour(detour) => detour.descriptor(),
            Self::Uplinks => None,
        }
    }
}

/// Runs the box of `config` in the network namespace of the calling thread, until SIGTERM or
/// SIGINT; calls `ready` once it gets packets. With `takeover` it takes the place of the box at
/// `operation.socket`, which then ends: no packet is lost, and bearers are found anew.
///
/// # Errors
/// A part that it cannot install or listen to, with the missing right. Nothing is then left
/// installed.
pub fn run(config: &F1uConfig, takeover: bool, ready: impl FnOnce()) -> Result<(), SystemError> {
    let stop = Stop::listen()?;
    let (to, asks) = channel();
    let asker = Asker { to };
    let socket = Path::new(&config.operation.socket);
    // A takeover needs another box, which is checked before anything is taken from it; without a
    // takeover no other box may run.
    let other = ask(socket, "status");
    if takeover {
        other?;
    } else if other.is_ok() {
        let doing = format!("listen at {}", socket.display());
        return Err(SystemError::new(doing, "another box serves it; --takeover takes its place"));
    }
    let machine = Machine::new(config).map_err(|e| SystemError::new("start the box", e))?;
    let PlaceOf { downlink, detour } = install(config, takeover)?;
    let mut service = Service {
        machine,
        totals: Totals::default(),
        clock: SlotClock::start()?,
        detour,
        downlink,
        asks,
        left: false,
        buffer: vec![0; LONGEST],
    };
    if takeover {
        ask(socket, "leave")?;
    }
    let servers = servers(config, &asker, takeover)?;
    ready();
    let ended = service.serve(&stop);
    service.end();
    drop(servers);
    ended.map_err(|e| SystemError::new("forward F1-U", e))
}

/// Starts the servers; with `takeover` it waits a moment until the box that leaves has closed its
/// own. Packets wait in the device's queue.
fn servers(config: &F1uConfig, asker: &Asker, takeover: bool) -> Result<Servers, SystemError> {
    let operation = &config.operation;
    let mut tries = if takeover { TRIES } else { 1 };
    loop {
        tries -= 1;
        match Servers::start(&operation.socket, &operation.metrics, asker) {
            Err(_) if tries > 0 => std::thread::sleep(PAUSE),
            started => return started,
        }
    }
}

struct PlaceOf {
    downlink: Downlink,
    detour: Detour,
}

fn install(config: &F1uConfig, takeover: bool) -> Result<PlaceOf, SystemError> {
    let (place, detours) = (&config.place, place::detours(config));
    place::is_ready(config)?;
    // The kernel closes the files of a killed process in reverse order: no status may pass
    // unbounded while user data still goes to a device without a reader.
    let detour = Detour::install(&detours[0], takeover)?;
    let downlink = match detours.get(1) {
        Some(detour) => Downlink::Detour(Detour::install(detour, takeover)?),
        None if place.cu_up == place.du => Downlink::Uplinks,
        None => {
            let copies = place::copies(place)?;
            // An earlier box may have routed user data to its device, which ends with that box.
            Detour::remove(&place::both(place)[1])?;
            Downlink::Copies(copies)
        }
    };
    Ok(PlaceOf { downlink, detour })
}

impl Service {
    fn serve(&mut self, stop: &Stop) -> io::Result<()> {
        while !stop.requested() && !self.left {
            self.wait()?;
            for _ in 0..TURNS {
                if !self.turn()? {
                    break;
                }
            }
            self.answer();
        }
        Ok(())
    }

    /// Waits for packets, and for the machine's next step.
    fn wait(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let step = self.machine.next().map_or(LOOK, |at| at.since(now).min(LOOK));
        let Some(detour) = self.detour.descriptor() else { return Ok(()) };
        let downlink = self.downlink.descriptor();
        let mut fds =
            [detour, downlink.unwrap_or(detour)].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let count = 1 + usize::from(downlink.is_some());
        let longest = TimeSpec::from_duration(std::time::Duration::from_nanos(step.as_nanos()));
        match ppoll(&mut fds[..count], Some(longest), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads some waiting packets; true if there may be more. The packets that a status reports
    /// have passed the downlink before the status, so the downlink comes first.
    fn turn(&mut self) -> io::Result<bool> {
        let more = self.downlink()?;
        let now = self.clock.now();
        self.step(now);
        for _ in 0..DATAGRAMS {
            let Some(length) = self.detour.receive(&mut self.buffer)? else { return Ok(more) };
            self.totals.passed += 1;
            self.pass(now, length);
        }
        Ok(true)
    }

    /// Reads the downlink; true if it may have more that must be forwarded.
    fn downlink(&mut self) -> io::Result<bool> {
        let now = self.clock.now();
        if let Downlink::Copies(copies) = &mut self.downlink {
            for _ in 0..COPIES {
                let Some(length) = copies.receive(&mut self.buffer)? else { break };
                self.machine.on_copy(now, &self.buffer[..length]);
            }
            return Ok(false);
        }
        for _ in 0..DATAGRAMS {
            let Some(detour) = self.downlink.detour() else { return Ok(false) };
            let Some(length) = detour.receive(&mut self.buffer)? else { return Ok(false) };
            self.totals.passed_down += 1;
            self.pass(now, length);
        }
        Ok(true)
    }

    /// Treats the packet in the buffer, and lets it pass if it need not wait.
    fn pass(&mut self, now: Instant, length: usize) {
        let packet = &mut self.buffer[..length];
        if self.machine.on_datagram(now, packet) != Verdict::Held {
            self.totals.refused += u64::from(!self.detour.send(packet).unwrap_or(false));
        }
        self.step(now);
    }

    /// Sends the packets that are due.
    fn step(&mut self, now: Instant) {
        let Self { machine, detour, totals, .. } = self;
        machine.poll(now, |packet| {
            totals.refused += u64::from(!detour.send(packet).unwrap_or(false));
        });
    }

    fn answer(&mut self) {
        while let Ok(Ask { what, reply }) = self.asks.try_recv() {
            if let Downlink::Copies(copies) = &self.downlink {
                self.totals.copies_lost += copies.lost();
            }
            let text = match what {
                What::Status => status::status(&self.seen()),
                What::Bearers => status::bearers(&self.machine),
                What::Metrics => status::metrics(&self.seen()),
                What::Leave => {
                    self.detour.leave();
                    self.downlink.detour().into_iter().for_each(Detour::leave);
                    self.left = true;
                    "left\n".into()
                }
            };
            // A client that has gone needs no answer.
            let _gone = reply.send(text);
        }
    }

    /// Lets waiting data pass: first from the box, then from the devices.
    fn end(&mut self) {
        let Self { machine, detour, totals, .. } = self;
        machine.release(|packet| {
            totals.refused += u64::from(!detour.send(packet).unwrap_or(false));
        });
        self.detour.close();
        self.downlink.detour().into_iter().for_each(Detour::close);
        while self.turn().unwrap_or(false) {}
    }

    fn seen(&self) -> Seen<'_> {
        let mut clock = self.clock;
        Seen {
            machine: &self.machine,
            totals: self.totals,
            seconds: clock.now().since(Instant::ZERO).as_secs_f64(),
            device: self.detour.name(),
        }
    }
}
