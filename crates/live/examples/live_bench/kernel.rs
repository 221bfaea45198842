//! Through the kernel: two namespaces with a TUN device each, TCP between them, and a program that
//! carries its datagrams.

use super::{SIZE, config, line};
use justfull_base::{BitRate, Duration};
use justfull_live::applications::Applications;
use justfull_live::{Ends, Live, LiveOptions, LiveReport, UePort};
use justfull_net::clock::{PRIORITY, Priority, SlotClock, raise_priority};
use justfull_net::{Network, NetworkConfig, Side, Tun, UeNetwork, privilege};
use justfull_net::{Port, SystemError};
use justfull_ran::channel::{ChannelConfig, McsConfig};
use justfull_ran::{CarrierConfig, CarrierKind, MacConfig, PollConfig, UplinkMacConfig};
use justfull_run::{Traffic, Transport, UplinkStack, WorldConfig};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Most datagrams that the forwarder reads from one side before it turns to the other.
const TURN: usize = 256;

/// Figures of the program that carried the datagrams.
struct Carried {
    /// In both directions.
    packets: u64,
    /// CPU time of its thread, with the kernel's work for it.
    cpu: Duration,
    priority: Priority,
}

/// A greedy download with CUBIC.
fn download() -> Traffic {
    let (sender, receiver) = (Box::default(), Box::default());
    Traffic::Tcp { sender, receiver, size: None, rate: None, transport: Transport::Tcp }
}

/// A greedy upload with CUBIC.
fn upload() -> Traffic {
    let (sender, receiver) = (Box::default(), Box::default());
    Traffic::Upload { sender, receiver, size: None, rate: None, transport: Transport::Tcp }
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let now =
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has one for each thread");
    Duration::from_nanos((now.tv_sec() * 1_000_000_000 + now.tv_nsec()).cast_unsigned())
}

/// Runs the flows of `config` for its duration while `carry` connects the sides. If `joined`, the
/// kernel exchanges many segments as one packet. Returns the result of `carry`, and the payload
/// that arrived at the UE in Gbit/s.
fn connected<T: Send>(
    config: &WorldConfig,
    joined: bool,
    carry: impl FnOnce(Tun, Tun, &AtomicBool) -> Result<T, SystemError> + Send,
) -> Result<(T, f64), SystemError> {
    privilege()?;
    let control = Some("cubic".to_owned());
    let ues = vec![UeNetwork { down: control.clone(), up: control }];
    let mut network = Network::build(&NetworkConfig { ues, joined, ..NetworkConfig::new(1) })?;
    let mut take = |side| network.take_tun(side).expect("each is taken once");
    let (server, ue) = (take(Side::Server), take(Side::Ue(0)));
    let stop = AtomicBool::new(false);
    let (carried, received) = thread::scope(|scope| {
        let carrier = scope.spawn(|| carry(server, ue, &stop));
        let received = send(&network, config);
        stop.store(true, Ordering::Relaxed);
        (carrier.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), received)
    });
    Ok((carried?, received? as f64 * 8e-9 / config.duration.as_secs_f64()))
}

/// The payload bytes that arrive in the duration of `config`.
#[expect(clippy::disallowed_methods, reason = "the kernel's TCP lives on the machine's clock")]
fn send(network: &Network, config: &WorldConfig) -> Result<u64, SystemError> {
    let flows =
        Applications::start(network, &config.flows, config.stack.seed, std::time::Instant::now())?;
    thread::sleep(std::time::Duration::from_nanos(config.duration.as_nanos()));
    Ok(flows.finish().iter().map(|flow| flow.received_bytes).sum())
}

/// Copies the datagrams that wait at `from`, up to [`TURN`]; returns their number.
fn copy(from: &mut Tun, to: &mut Tun, buffer: &mut [u8]) -> io::Result<u64> {
    for copied in 0..TURN as u64 {
        let Some(length) = from.receive(buffer)? else { return Ok(copied) };
        to.send(&buffer[..length])?;
    }
    Ok(TURN as u64)
}

fn forward_until(stop: &AtomicBool, mut server: Tun, mut ue: Tun) -> io::Result<u64> {
    let mut buffer = vec![0; 2 * SIZE];
    let mut packets = 0;
    while !stop.load(Ordering::Relaxed) {
        let copied =
            copy(&mut server, &mut ue, &mut buffer)? + copy(&mut ue, &mut server, &mut buffer)?;
        packets += copied;
        if copied == 0 {
            let waiting = |tun| PollFd::new(tun, PollFlags::POLLIN);
            poll(&mut [waiting(server.as_fd()), waiting(ue.as_fd())], PollTimeout::from(10_u8))?;
        }
    }
    Ok(packets)
}

fn throughput_line(name: &str, gbit_per_s: f64, carried: &Carried) {
    println!(
        "{{\"bench\":\"{name}\",\"real_time\":{},\"gbit_per_s\":{gbit_per_s:.3},\"packets\":{},\"\
         cpu_us_per_packet\":{:.3}}}",
        carried.priority == Priority::RealTime,
        carried.packets,
        carried.cpu.as_nanos() as f64 * 1e-3 / carried.packets.max(1) as f64
    );
}

/// A cell of 10 Gbit/s, more than the rest can do.
fn wide(seconds: u64) -> WorldConfig {
    config(
        Duration::from_millis(1),
        BitRate(10_000_000_000),
        Duration::from_secs(seconds),
        download(),
    )
}

/// Throughput of a forwarder that only reads and writes single datagrams.
pub(super) fn forward(seconds: u64) -> Result<(), SystemError> {
    let (carried, rate) = connected(&wide(seconds), false, |server, ue, stop| {
        let (priority, before) = (raise_priority(PRIORITY), cpu_time());
        let packets =
            forward_until(stop, server, ue).map_err(|e| SystemError::new("forward", e))?;
        Ok(Carried { packets, cpu: cpu_time() - before, priority })
    })?;
    throughput_line("forward", rate, &carried);
    Ok(())
}

/// A live run of `config`, until its end or `stop`.
fn run(
    config: &WorldConfig,
    server: Tun,
    ue: Tun,
    stop: &AtomicBool,
) -> Result<(LiveReport, Duration), SystemError> {
    let (priority, before) = (raise_priority(PRIORITY), cpu_time());
    let ends = Ends { ues: vec![UePort { port: ue, addresses: Vec::new() }], server };
    let live = Live::new(config, &LiveOptions::default(), ends)?;
    let (result, report) = live.run(&mut SlotClock::start()?, priority, stop, &mut ());
    // The counts of an upload are for packets from the UE.
    if config.flows.iter().all(|flow| !flow.is_upload()) {
        let delivered = result.flows.iter().map(|flow| flow.delivered_packets).sum::<u64>();
        assert_eq!(result.conservation.delivered, delivered);
    }
    Ok((report, cpu_time() - before))
}

/// Throughput of the whole stack, with many segments in one packet if `joined`.
pub(super) fn stack(joined: bool, seconds: u64) -> Result<(), SystemError> {
    let config = wide(seconds);
    let longer = WorldConfig { duration: config.duration.times(2), ..config.clone() };
    let ((report, cpu), rate) =
        connected(&config, joined, |server, ue, stop| run(&longer, server, ue, stop))?;
    let packets = report.down.received + report.up.received;
    let name = if joined { "stack" } else { "single" };
    throughput_line(name, rate, &Carried { packets, cpu, priority: report.priority });
    Ok(())
}

/// Lateness of the loop with slots of `slot` and a full cell of 100 Mbit/s.
pub(super) fn slots(slot: Duration, seconds: u64) -> Result<(), SystemError> {
    let mut config = config(slot, BitRate(100_000_000), Duration::from_secs(seconds), download());
    config.stack.rlc.queue.limit = justfull_queue::Limit::Bytes(500_000);
    lateness("slots", slot, &config)
}

/// Lateness of the loop with slots of `slot` and an upload of 100 Mbit/s over the uplink's stack:
/// NR in TDD, with scheduling requests, buffer status reports and grants.
pub(super) fn uploads(slot: Duration, seconds: u64) -> Result<(), SystemError> {
    let mut config = config(slot, BitRate(100_000_000), Duration::from_secs(seconds), upload());
    let (kind, tdd) = (CarrierKind::Nr, "DDDUU".into());
    let mac = UplinkMacConfig {
        slot: PollConfig::every(slot),
        carrier: CarrierConfig { kind, n_prb: 245, tdd, ..CarrierConfig::default() },
        ..UplinkMacConfig::default()
    };
    let mut chain = config.stack.clone();
    chain.mac = MacConfig::Uplink(mac);
    chain.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![27], ..McsConfig::default() });
    chain.rlc.queue.limit = justfull_queue::Limit::Bytes(500_000);
    config.uplink.stack = Some(Box::new(UplinkStack { chain, ack_filter: false }));
    lateness("uploads", slot, &config)
}

/// Lateness of the loop in a run of `config`, with 100 Mbit/s.
fn lateness(name: &str, slot: Duration, config: &WorldConfig) -> Result<(), SystemError> {
    let ((report, _), rate) =
        connected(config, true, |server, ue, stop| run(config, server, ue, stop))?;
    if rate < 0.05 {
        return Err(SystemError::new(
            "measure lateness",
            format!("only {rate:.3} Gbit/s were carried"),
        ));
    }
    line(name, slot, &report.priority, &report.lateness);
    Ok(())
}
