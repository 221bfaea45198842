//! The box in service: one thread that reads copies of the downlink and the detour of the uplink.

use crate::ask::{Ask, Asker, What, ask};
use crate::config::F1uConfig;
use crate::machine::Machine;
use crate::status::{self, Seen, Totals};
use justfull_base::Instant;
use justfull_net::clock::{Clock, SlotClock};
use justfull_net::questions::Servers;
use justfull_net::{Copies, Detour, DetourConfig, Port, Stop, SystemError, router};
use justfull_nru::gtpu;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

/// Copies that are read before the uplink is looked at again.
const COPIES: usize = 8_192;
/// Datagrams of the uplink that pass before copies are read again.
const DATAGRAMS: usize = 64;
/// The longest datagram.
const LONGEST: usize = 65_535;
/// Turns before requests and signals are looked at again.
const TURNS: usize = 64;
/// How often the loop looks at requests and signals when no packet comes.
const LOOK_MS: u16 = 50;

/// How often, and in which steps, a box waits for another that leaves.
const TRIES: u32 = 400;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

struct Service {
    machine: Machine,
    totals: Totals,
    clock: SlotClock,
    detour: Detour,
    /// None if both directions arrive at one interface: then both take the detour.
    copies: Option<Copies>,
    asks: Receiver<Ask>,
    left: bool,
    buffer: Vec<u8>,
}

/// The detour of a configuration.
pub(crate) fn detour(config: &F1uConfig) -> DetourConfig {
    let place = &config.place;
    DetourConfig {
        device: "jff1u".into(),
        incoming: place.du.clone(),
        port: gtpu::PORT,
        table: place.table,
        priority: place.priority,
        prefixed: false,
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
    // Before anything is taken from another box, it must be there; otherwise it must not.
    let other = ask(socket, "status");
    if takeover {
        other?;
    } else if other.is_ok() {
        let doing = format!("listen at {}", socket.display());
        return Err(SystemError::new(doing, "another box serves it; --takeover takes its place"));
    }
    let machine = Machine::new(config).map_err(|e| SystemError::new("start the limiter", e))?;
    let PlaceOf { copies, detour } = place(config, takeover)?;
    let mut service = Service {
        machine,
        totals: Totals::default(),
        clock: SlotClock::start()?,
        detour,
        copies,
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
    copies: Option<Copies>,
    detour: Detour,
}

fn place(config: &F1uConfig, takeover: bool) -> Result<PlaceOf, SystemError> {
    let place = &config.place;
    let one = place.cu_up == place.du;
    let copies = (!one).then(|| Copies::open(&place.cu_up, gtpu::PORT)).transpose()?;
    router::can_detour(&place.du)?;
    Ok(PlaceOf { copies, detour: Detour::install(&detour(config), takeover)? })
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

    /// Waits for packets.
    fn wait(&self) -> io::Result<()> {
        let Some(detour) = self.detour.descriptor() else { return Ok(()) };
        let copies = self.copies.as_ref().map_or(detour, AsFd::as_fd);
        let mut fds = [detour, copies].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let count = 1 + usize::from(self.copies.is_some());
        match poll(&mut fds[..count], PollTimeout::from(LOOK_MS)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads some waiting packets; true if the detour may have more. The packets that a status
    /// reports have passed the downlink before the status, so copies come first.
    fn turn(&mut self) -> io::Result<bool> {
        self.copies()?;
        let now = self.clock.now();
        for _ in 0..DATAGRAMS {
            let Some(length) = self.detour.receive(&mut self.buffer)? else { return Ok(false) };
            let packet = &mut self.buffer[..length];
            self.machine.on_datagram(now, packet);
            self.totals.passed += 1;
            self.totals.refused += u64::from(!self.detour.send(packet).unwrap_or(false));
        }
        Ok(true)
    }

    fn copies(&mut self) -> io::Result<()> {
        let Some(copies) = &mut self.copies else { return Ok(()) };
        let now = self.clock.now();
        for _ in 0..COPIES {
            let Some(length) = copies.receive(&mut self.buffer)? else { break };
            self.machine.on_datagram(now, &mut self.buffer[..length]);
        }
        Ok(())
    }

    fn answer(&mut self) {
        while let Ok(Ask { what, reply }) = self.asks.try_recv() {
            self.totals.copies_lost += self.copies.as_ref().map_or(0, Copies::lost);
            let text = match what {
                What::Status => status::status(&self.seen()),
                What::Bearers => status::bearers(&self.machine),
                What::Metrics => status::metrics(&self.seen()),
                What::Leave => {
                    self.detour.leave();
                    self.left = true;
                    "left\n".into()
                }
            };
            // A client that has gone needs no answer.
            let _gone = reply.send(text);
        }
    }

    /// Lets what waits in the device pass.
    fn end(&mut self) {
        self.detour.close();
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
