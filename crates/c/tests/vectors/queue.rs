//! Queues: each AQM in a queue of one lane, and each discipline. More comes than leaves, in bursts,
//! from eight flows.

use super::Vector;
use justfull_base::packet::Protocol;
use justfull_base::rng::stream_key;
use justfull_base::{
    BitRate, DropReason, Duration, Ecn, Event, Instant, Layer, Packet, Probe, Rng,
};
use justfull_queue::{AqmConfig, DisciplineConfig, Limit, ManagedQueue, QueueConfig};

const STEPS: u64 = 250;
const STEP: Duration = Duration::from_millis(20);
const RATE: u64 = 384_000;

pub(super) fn all() -> Vec<Vector> {
    // A queue of its own gets no delivery reports.
    let aqms = AqmConfig::all().into_iter().filter(|aqm| !aqm.needs_reports()).map(|aqm| {
        let line = format!("queue.aqm.kind = \"{}\"", aqm.name());
        // Without an AQM that drops the limit decides.
        let (name, packets) = match aqm.name() {
            "none" => ("fifo", 20),
            "abc" => ("abc", 20),
            name => (name, 150),
        };
        vector(name, &line, packets, &QueueConfig { aqm, ..QueueConfig::default() })
    });
    let lanes = DisciplineConfig::all().into_iter().filter(|lanes| lanes.name() != "fifo");
    let disciplines = lanes.map(|discipline| {
        let (name, own) = (discipline.name(), QueueConfig::default());
        let line = format!("queue.discipline.kind = \"{name}\"");
        vector(name, &line, 20, &QueueConfig { discipline, ..own })
    });
    aqms.chain(disciplines).collect()
}

/// The dropped packets, in lines.
#[derive(Default)]
struct Drops(Vec<String>);

impl Probe for Drops {
    fn on_event(&mut self, now: Instant, event: &Event) {
        if let Event::Dropped { packet, reason, .. } = event {
            let known = [
                DropReason::Overflow,
                DropReason::OverflowVictim,
                DropReason::AqmEnqueue,
                DropReason::AqmDequeue,
                DropReason::AqmTimeout,
            ];
            let number = known.iter().position(|known| known == reason).expect("of a queue");
            self.0.push(format!("dropped {} {} {number}", now.as_nanos(), packet.id));
        }
    }
}

fn any(id: u64, rng: &mut Rng) -> Packet {
    let ecn = [Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][rng.below(4) as usize];
    let protocol = if rng.chance(0.3) { Protocol::Udp } else { Protocol::Tcp };
    let size = if rng.chance(0.3) { 100 } else { 1400 };
    // Flow 1 sends half of all.
    let flow = if rng.chance(0.5) { 1 } else { 1 + rng.below(8) as u32 };
    Packet {
        id,
        size,
        ecn,
        protocol,
        flow_hash: flow.wrapping_mul(0x9e37_79b9),
        ..Packet::default()
    }
}

fn vector(name: &str, line: &str, packets: u32, config: &QueueConfig) -> Vector {
    let config = QueueConfig { limit: Limit::Packets(packets), ..config.clone() };
    let key = stream_key(1, "queue");
    let mut queue = ManagedQueue::new(Layer::Rlc, &config, key).expect("in bounds");
    let limit = format!("queue.limit = \"{packets} packets\"");
    let mut vector = Vector::new("queue", name, &[&limit, line]);
    let (mut rng, mut drops) = (Rng::stream(3, "vectors"), Drops::default());
    if queue.needs().service_rate {
        queue.set_service_rate(Some(BitRate(RATE)));
        vector.say(format!("rate {RATE}"));
    }
    let mut id = 0;
    for k in 0..STEPS {
        let now = Instant::ZERO + STEP.times(k);
        let ns = now.as_nanos();
        if queue.next_timeout().is_some_and(|due| due <= now) {
            queue.on_timeout(now, &mut drops);
            vector.say(format!("timeout {ns}"));
            vector.lines.append(&mut drops.0);
        }
        let burst = if k % 100 == 50 { 20 } else { rng.below(3) };
        for _ in 0..burst {
            id += 1;
            let mut packet = any(id, &mut rng);
            let Packet { size, ecn, protocol, flow_hash, .. } = packet;
            let taken = queue.enqueue_from(now, &mut packet, &mut drops);
            let (ecn, protocol, status) = (ecn as u8, protocol as u8, u8::from(!taken));
            vector.say(format!("enqueue {ns} {id} {size} {ecn} {protocol} {flow_hash} {status}"));
            vector.lines.append(&mut drops.0);
        }
        if k % 5 != 0 {
            let said = match queue.dequeue(now, &mut drops) {
                Some(packet) => format!("dequeue {ns} {} {}", packet.id, packet.ecn as u8),
                None => format!("empty {ns}"),
            };
            vector.say(said);
            vector.lines.append(&mut drops.0);
        }
    }
    queue.assert_conserved();
    assert!(vector.lines.iter().any(|line| line.starts_with("dropped")), "{name} drops nothing");
    vector
}
