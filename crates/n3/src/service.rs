//! The stage in service: one thread between the detours of both directions and the devices of the
//! routing domain.

use crate::ask::{Ask, Asker, What};
use crate::batch::{Buffers, Way};
use crate::config::N3Config;
use crate::machine::{Direction, Machine};
use crate::status::{self, Seen, Totals};
use justfull_base::Instant;
use justfull_net::clock::{Clock, SlotClock};
use justfull_net::questions::Servers;
use justfull_net::{Copies, Detour, DetourConfig, Domain, Port, Stop, SystemError, router};
use justfull_nru::gtpu;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, channel};

/// Turns between two checks for requests and signals.
const TURNS: usize = 64;
/// Time between two checks for requests and signals while no packet comes, in ms.
const LOOK_MS: u16 = 50;
/// IPsec packets counted in a turn.
const COPIES: usize = 256;
/// Octets around an inner packet: IPv6, UDP, GTP-U with a PDU session container of 8 octets.
const AROUND: u32 = 40 + 8 + 12 + 8;
/// The MTU of an interface whose MTU cannot be read.
const ETHERNET: u32 = 1_500;

const DIRECTIONS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];

struct Service {
    machine: Machine,
    totals: Totals,
    clock: SlotClock,
    /// The detours of the uplink and of the downlink.
    detours: [Detour; 2],
    domain: Domain,
    /// Copies of IPsec packets at both interfaces.
    esp: [Copies; 2],
    asks: Receiver<Ask>,
    buffers: Buffers,
    /// Number of unopened tunnels when the log last named one.
    named: u64,
    esp_named: bool,
}

/// The detours of the uplink and of the downlink.
pub(crate) fn detours(config: &N3Config) -> [DetourConfig; 2] {
    let place = &config.place;
    let detour = |device: &str, incoming: &str, table| DetourConfig {
        device: device.into(),
        incoming: incoming.into(),
        port: gtpu::PORT,
        table,
        priority: place.priority,
        prefixed: true,
        end: None,
    };
    [detour("jfn3u", &place.ran, place.table), detour("jfn3d", &place.core, place.table + 1)]
}

/// The largest inner packet that fits the tunnels.
pub(crate) fn mtu(config: &N3Config) -> u32 {
    if config.tunnels.mtu > 0 {
        return config.tunnels.mtu;
    }
    let of = |name: &str| {
        let text = fs::read_to_string(format!("/sys/class/net/{name}/mtu")).unwrap_or_default();
        text.trim().parse().unwrap_or(ETHERNET)
    };
    let least = of(&config.place.ran).min(of(&config.place.core));
    least.saturating_sub(AROUND).clamp(1_280, 65_535)
}

/// Runs the stage of `config` in the network namespace of the calling thread, until SIGTERM or
/// SIGINT; calls `ready` once it gets packets.
///
/// # Errors
/// A part that it cannot install or listen to, with the missing right. Nothing is then left
/// installed.
pub fn run(config: &N3Config, ready: impl FnOnce()) -> Result<(), SystemError> {
    let stop = Stop::listen()?;
    let (to, asks) = channel();
    let asker = Asker { to };
    for name in [&config.place.ran, &config.place.core] {
        router::can_detour(name)?;
    }
    let [ran, core] = [&config.place.ran, &config.place.core];
    let esp = [Copies::open_esp(ran)?, Copies::open_esp(core)?];
    let domain = Domain::build(&config.tunnels.ues)?;
    let operation = &config.operation;
    let servers = Servers::start(&operation.socket, &operation.metrics, &asker)?;
    let [uplink, downlink] = detours(config);
    let mut service = Service {
        machine: Machine::new(&config.tunnels, u16::try_from(mtu(config)).unwrap_or(u16::MAX)),
        totals: Totals::default(),
        clock: SlotClock::start()?,
        detours: [Detour::install(&uplink, false)?, Detour::install(&downlink, false)?],
        domain,
        esp,
        asks,
        buffers: Buffers::new(),
        named: 0,
        esp_named: false,
    };
    ready();
    let ended = service.serve(&stop);
    service.end();
    drop(servers);
    ended.map_err(|e| SystemError::new("forward GTP-U", e))
}

impl Service {
    fn serve(&mut self, stop: &Stop) -> io::Result<()> {
        while !stop.requested() {
            let copies = self.wait()?;
            for _ in 0..TURNS {
                if !self.turn()? {
                    break;
                }
            }
            if copies {
                self.look_at_esp()?;
            }
            let now = self.clock.now();
            self.machine.sweep(now);
            self.warn();
            self.answer();
        }
        Ok(())
    }

    /// Waits for packets; true if copies of IPsec packets are among them.
    fn wait(&mut self) -> io::Result<bool> {
        let [ue, net] = self.domain.devices();
        let [uplink, downlink] = &self.detours;
        let detours = [uplink.descriptor(), downlink.descriptor()].into_iter().flatten();
        let devices = [ue.as_fd(), net.as_fd()];
        let esp = self.esp.each_ref().map(AsFd::as_fd);
        let all = esp.into_iter().chain(devices).chain(detours);
        let mut fds: [Option<PollFd<'_>>; 6] = [const { None }; 6];
        all.zip(&mut fds).for_each(|pair: (BorrowedFd<'_>, _)| {
            *pair.1 = Some(PollFd::new(pair.0, PollFlags::POLLIN));
        });
        let mut fds =
            fds.map(|fd| fd.unwrap_or(PollFd::new(self.esp[0].as_fd(), PollFlags::empty())));
        match poll(&mut fds, PollTimeout::from(LOOK_MS)) {
            Ok(_) | Err(Errno::EINTR) => {
                Ok(fds[..self.esp.len()].iter().any(|fd| fd.any().unwrap_or(true)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads some waiting packets; true if more may wait.
    fn turn(&mut self) -> io::Result<bool> {
        let mut more = false;
        for direction in DIRECTIONS {
            let (mut way, buffers) = self.way(direction, direction);
            more |= way.outer(buffers)?;
        }
        for direction in DIRECTIONS {
            let (mut way, buffers) = self.way(direction, direction.other());
            more |= way.inner(buffers)?;
        }
        Ok(more)
    }

    /// A direction with the detour of its tunnels, and the device of the domain at which packets of
    /// the direction `at` arrive.
    fn way(&mut self, direction: Direction, at: Direction) -> (Way<'_>, &mut Buffers) {
        let [ue, net] = self.domain.devices();
        let way = Way {
            now: self.clock.now(),
            direction,
            machine: &mut self.machine,
            totals: &mut self.totals,
            device: if at == Direction::Uplink { ue } else { net },
            detour: &mut self.detours[direction as usize],
        };
        (way, &mut self.buffers)
    }

    fn look_at_esp(&mut self) -> io::Result<()> {
        // The kernel copies so many bytes of each.
        let mut begin = [0; 64];
        for copies in &mut self.esp {
            for _ in 0..COPIES {
                if copies.receive(&mut begin)?.is_none() {
                    break;
                }
                self.totals.esp += 1;
            }
        }
        Ok(())
    }

    /// Writes warnings for the operator to standard error, each once.
    fn warn(&mut self) {
        let count = self.machine.counts().unopened;
        if let Some((to, teid)) = self.machine.unopened()
            && count != self.named
        {
            self.named = count;
            say(&format!("unopened: TEID {teid:#x} at {to}, {count} so far"));
        }
        if self.totals.esp > 0 && !self.esp_named {
            self.esp_named = true;
            say("encrypted: IPsec passes this host; its tunnels cannot be read");
        }
    }

    fn answer(&mut self) {
        while let Ok(Ask { what, reply }) = self.asks.try_recv() {
            let text = match what {
                What::Status => status::status(&self.seen()),
                What::Tunnels => status::tunnels(&self.machine),
                What::Metrics => status::metrics(&self.seen()),
                What::Domain => format!("{}\n", self.domain.path()),
            };
            // A client that has gone needs no answer.
            let _gone = reply.send(text);
        }
    }

    /// Forwards the packets that wait in the devices.
    fn end(&mut self) {
        self.detours.iter_mut().for_each(Detour::close);
        while self.turn().unwrap_or(false) {}
    }

    fn seen(&self) -> Seen<'_> {
        let mut clock = self.clock;
        Seen {
            machine: &self.machine,
            totals: self.totals,
            seconds: clock.now().since(Instant::ZERO).as_secs_f64(),
        }
    }
}

fn say(line: &str) {
    // A closed standard error is no reason to stop.
    let _closed = writeln!(io::stderr(), "n3: {line}");
}
