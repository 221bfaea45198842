//! Ports in memory: the driver without the kernel.

use super::{SIZE, config, line, period};
use justfull_base::{BitRate, Bytes, Duration, Instant};
use justfull_live::lateness::{Lateness, bare_loop};
use justfull_live::{Ends, Live, LiveOptions, UePort};
use justfull_net::clock::{Clock, PRIORITY, Priority, SlotClock, raise_priority};
use justfull_net::{Port, SystemError};
use justfull_run::{Interval, Traffic, WorldConfig};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

/// The flow that names the datagrams.
fn flow() -> Traffic {
    Traffic::Udp { payload: Bytes(1_472), interval: Interval::Constant(Duration::from_millis(1)) }
}

/// A port with `left` copies of a datagram, which accepts any datagram.
struct Memory {
    datagram: Vec<u8>,
    left: Rc<Cell<u32>>,
    taken: Rc<Cell<u64>>,
}

impl Port for Memory {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(left) = self.left.get().checked_sub(1) else { return Ok(None) };
        self.left.set(left);
        buffer[..self.datagram.len()].copy_from_slice(&self.datagram);
        Ok(Some(self.datagram.len()))
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        self.taken.set(self.taken.get() + packet.len() as u64);
        Ok(true)
    }
}

/// An IPv4 and UDP header around zeros, with the header checksum.
fn datagram() -> Vec<u8> {
    let mut bytes = vec![0; SIZE];
    let header = [
        0x45,
        0,
        (SIZE >> 8) as u8,
        SIZE as u8,
        0,
        0,
        0,
        0,
        64,
        17,
        0,
        0,
        10,
        0,
        0,
        1,
        10,
        0,
        1,
        1,
    ];
    bytes[..20].copy_from_slice(&header);
    let words = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum::<u32>();
    let checksum = !((words & 0xffff) + (words >> 16)) as u16;
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    let length = (SIZE - 20) as u16;
    bytes[20..24].copy_from_slice(&[0x08, 0x40, 0x17, 0x70]);
    bytes[24..26].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// A run between ports in memory, with handles to them: the datagrams that wait at the server's
/// side, and those that reached the UE.
fn live(config: &WorldConfig) -> (Live<Memory>, Rc<Cell<u32>>, Rc<Cell<u64>>) {
    let port = || Memory { datagram: datagram(), left: Rc::default(), taken: Rc::default() };
    let (server, ue) = (port(), port());
    let (waiting, taken) = (server.left.clone(), ue.taken.clone());
    let ends = Ends { ues: vec![UePort { port: ue, addresses: Vec::new() }], server };
    (Live::new(config, &LiveOptions::default(), ends).expect("sound settings"), waiting, taken)
}

/// Time of the run without a clock: `batch` datagrams at each slot of 1 ms.
fn throughput(clock: &mut SlotClock, batch: u32, slots: u64) {
    let ms = Duration::from_millis(1);
    let config = config(ms, BitRate(100_000_000_000), ms.times(slots), flow());
    let (mut live, waiting, taken) = live(&config);
    let mut now = Instant::ZERO;
    let start = clock.now();
    for _ in 0..slots {
        now += ms;
        waiting.set(batch);
        live.turn(now).expect("memory does not fail");
    }
    let s = clock.now().since(start).as_secs_f64();
    let packets = taken.get() / SIZE as u64;
    let (result, report) = live.finish(Priority::RealTime, &Lateness::new(ms));
    assert_eq!(result.conservation.delivered, packets);
    println!(
        "{{\"bench\":\"throughput\",\"batch\":{batch},\"packets\":{packets},\"packets_per_s\":{:.\
         0},\"gbit_per_s\":{:.2},\"ns_per_packet\":{:.1},\"buffer_bytes\":{}}}",
        packets as f64 / s,
        taken.get() as f64 * 8e-9 / s,
        s * 1e9 / packets as f64,
        report.buffer_bytes,
    );
}

/// The slot loop against the bare one, in turns: 100 Mbit/s arrive.
fn lateness(clock: &mut SlotClock, slot: Duration, seconds: u64, priority: &Priority) {
    let stop = AtomicBool::new(false);
    let length = Duration::from_secs(seconds);
    let bare = bare_loop(clock, period(slot), length, &stop);
    line("bare_loop", slot, priority, &bare);
    let (live, waiting, _) = live(&config(slot, BitRate(200_000_000), length, flow()));
    let mut feeding = Feeding { clock: *clock, waiting, fed: Instant::ZERO };
    feeding.fed = feeding.clock.now();
    let (_, report) = live.run(&mut feeding, priority.clone(), &stop, &mut ());
    line("slot_loop", slot, priority, &report.lateness);
    println!(
        "{{\"bench\":\"lateness_ratio\",\"slot\":\"{slot}\",\"p50\":{:.2},\"p99\":{:.2}}}",
        report.lateness.p50_us / bare.p50_us,
        report.lateness.p99_us / bare.p99_us,
    );
}

/// A clock; at each wake-up the datagrams of 100 Mbit/s wait at the server's side.
struct Feeding {
    clock: SlotClock,
    waiting: Rc<Cell<u32>>,
    fed: Instant,
}

impl Clock for Feeding {
    fn now(&mut self) -> Instant {
        self.clock.now()
    }

    fn sleep_until(&mut self, due: Instant) -> Instant {
        let woke = self.clock.sleep_until(due);
        let each = BitRate(100_000_000).time_for_ceil(SIZE as u64);
        let count = woke.since(self.fed).as_nanos() / each.as_nanos();
        self.fed += each.times(count);
        self.waiting.set(self.waiting.get() + count as u32);
        woke
    }
}

/// All measurements; each measurement of lateness takes `seconds`.
pub(super) fn run(seconds: u64) -> Result<(), SystemError> {
    let mut clock = SlotClock::start()?;
    for batch in [10, 100, 1_000] {
        throughput(&mut clock, batch, 2_000_000 / u64::from(batch) / 10);
    }
    let priority = raise_priority(PRIORITY);
    for slot in [1_000, 500, 125].map(Duration::from_micros) {
        lateness(&mut clock, slot, seconds, &priority);
    }
    Ok(())
}
