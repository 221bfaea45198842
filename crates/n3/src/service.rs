//! The stage in service: one thread between the detours of both directions and the devices of the
//! routing domain.

use crate::ask::{Ask, Asker, What};
use crate::config::N3Config;
use crate::machine::{Direction, HEADROOM, Machine};
use crate::segments::{Join, Pack};
use crate::status::{self, Seen, Totals};
use justfull_base::Instant;
use justfull_net::clock::{Clock, SlotClock};
use justfull_net::questions::Servers;
use justfull_net::segments::{Cut, LONGEST};
use justfull_net::{
    Copies, Detour, DetourConfig, Domain, OFFLOAD_PREFIX, Port, Stop, SystemError, router,
};
use justfull_nru::gtpu;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, channel};

/// Packets read from one device before the next device.
const PACKETS: usize = 64;
/// Offset of an inner packet that gets headers and a prefix.
const AT: usize = OFFLOAD_PREFIX + HEADROOM;
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
    /// A buffer for one packet with its headers, and one for a packet of the domain, which may hold
    /// many segments.
    buffer: Vec<u8>,
    joined: Vec<u8>,
    join: Join,
    pack: Pack,
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
        buffer: vec![0; AT + LONGEST],
        pack: Pack::new(),
        joined: vec![0; OFFLOAD_PREFIX + LONGEST],
        join: Join::new(),
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
            self.wait()?;
            for _ in 0..TURNS {
                if !self.turn()? {
                    break;
                }
            }
            self.look_at_esp()?;
            let now = self.clock.now();
            self.machine.sweep(now);
            self.warn();
            self.answer();
        }
        Ok(())
    }

    /// Waits for packets.
    fn wait(&mut self) -> io::Result<()> {
        let [ue, net] = self.domain.devices();
        let [uplink, downlink] = &self.detours;
        let detours = [uplink.descriptor(), downlink.descriptor()].into_iter().flatten();
        let devices = [ue.as_fd(), net.as_fd()];
        let esp = self.esp.each_ref().map(AsFd::as_fd);
        let all = detours.chain(devices).chain(esp);
        let mut fds: [Option<PollFd<'_>>; 6] = [const { None }; 6];
        all.zip(&mut fds).for_each(|pair: (BorrowedFd<'_>, _)| {
            *pair.1 = Some(PollFd::new(pair.0, PollFlags::POLLIN));
        });
        let mut fds =
            fds.map(|fd| fd.unwrap_or(PollFd::new(self.esp[0].as_fd(), PollFlags::empty())));
        match poll(&mut fds, PollTimeout::from(LOOK_MS)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads some waiting packets; true if more may wait.
    fn turn(&mut self) -> io::Result<bool> {
        let mut more = false;
        for direction in DIRECTIONS {
            more |= self.outer(direction)?;
        }
        for direction in DIRECTIONS {
            more |= self.inner(direction)?;
        }
        Ok(more)
    }

    /// Packets of the tunnels.
    fn outer(&mut self, direction: Direction) -> io::Result<bool> {
        let now = self.clock.now();
        let [ue, net] = self.domain.devices();
        let device = if direction == Direction::Uplink { ue } else { net };
        let detour = &mut self.detours[direction as usize];
        let (join, refused) = (&mut self.join, &mut self.totals.refused);
        let mut count = |sent: io::Result<bool>| *refused += u64::from(!sent.unwrap_or(false));
        let mut more = true;
        for _ in 0..PACKETS {
            let Some(length) = detour.receive(&mut self.buffer)? else {
                more = false;
                break;
            };
            let whole = &mut self.buffer[..length];
            let Some((prefix, packet)) = whole.split_at_mut_checked(OFFLOAD_PREFIX) else {
                continue;
            };
            let Some(inner) = self.machine.on_outer(now, direction, packet) else {
                self.totals.passed[direction as usize] += 1;
                prefix.fill(0);
                count(detour.send(whole));
                continue;
            };
            if join.add(&packet[inner.clone()]) {
                continue;
            }
            join.take().into_iter().for_each(|joined| count(device.send(joined)));
            if !join.begin(&packet[inner.clone()]) {
                // The headers of the tunnel are longer than the prefix.
                let begin = inner.start - OFFLOAD_PREFIX;
                packet[begin..inner.start].fill(0);
                count(device.send(&packet[begin..inner.end]));
            }
        }
        join.take().into_iter().for_each(|joined| count(device.send(joined)));
        Ok(more)
    }

    /// Packets of the domain. Packets towards the servers are uplink.
    fn inner(&mut self, direction: Direction) -> io::Result<bool> {
        let now = self.clock.now();
        let [ue, net] = self.domain.devices();
        let device = if direction == Direction::Uplink { net } else { ue };
        let detour = &mut self.detours[direction as usize];
        for _ in 0..PACKETS {
            let Some(length) = device.receive(&mut self.joined)? else { return Ok(false) };
            let whole = &self.joined[..length];
            let Some(mut cut) = Cut::new(whole) else { continue };
            let whole = &whole[OFFLOAD_PREFIX..];
            let Some(route) = self.machine.route(now, direction, whole) else { continue };
            let refused = &mut self.totals.refused;
            let mut count = |sent: io::Result<bool>| *refused += u64::from(!sent.unwrap_or(false));
            let (pack, joins) = (&mut self.pack, detour.takes_joined() && cut.is_many());
            while let Some(length) = cut.next(whole, &mut self.buffer[AT..]) {
                let packet = &mut self.buffer[..AT + length];
                let Some(begin) = self.machine.wrap(&route, packet, AT, !joins) else {
                    count(Ok(false));
                    continue;
                };
                if !joins {
                    let begin = begin - OFFLOAD_PREFIX;
                    packet[begin..begin + OFFLOAD_PREFIX].fill(0);
                    count(detour.send(&packet[begin..]));
                } else if !pack.add(&packet[begin..]) {
                    pack.take().into_iter().for_each(|packed| count(detour.send(packed)));
                    pack.begin(&packet[begin..]);
                }
            }
            pack.take().into_iter().for_each(|packed| count(detour.send(packed)));
        }
        Ok(true)
    }

    fn look_at_esp(&mut self) -> io::Result<()> {
        for copies in &mut self.esp {
            for _ in 0..COPIES {
                if copies.receive(&mut self.buffer)?.is_none() {
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
