//! An AQM in Python.

use super::{Object, Trouble, nonsense};
use justfull_base::packet::Protocol;
use justfull_base::{Duration, Ecn, Instant};
use justfull_queue::aqm::{self, AqmContext, Lane, QueueView, Tag, Verdict};
use pyo3::prelude::*;
use std::fmt;

/// The fields of a packet for an AQM.
#[pyclass(frozen, get_all, module = "justfull")]
pub(crate) struct Packet {
    /// Number in order of entry into the stack.
    id: u64,
    /// Bytes on the IP layer.
    size: u32,
    /// Number of the flow.
    flow: u32,
    /// User equipment.
    ue: u32,
    /// QoS flow identifier.
    qfi: u8,
    /// It can carry a congestion mark.
    ecn_capable: bool,
    /// `tcp`, `udp`, `icmp` or `other`.
    protocol: &'static str,
    /// When it entered the UPF, in ns.
    entered: u64,
}

impl From<&justfull_base::Packet> for Packet {
    fn from(packet: &justfull_base::Packet) -> Self {
        Self {
            id: packet.id,
            size: packet.size,
            flow: packet.flow,
            ue: packet.ue,
            qfi: packet.qfi.get(),
            ecn_capable: packet.ecn != Ecn::NotEct,
            protocol: match packet.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
                Protocol::Icmp => "icmp",
                Protocol::Other => "other",
            },
            entered: packet.entered.as_nanos(),
        }
    }
}

/// The queue for an AQM, without the packet of the decision.
#[pyclass(frozen, get_all, module = "justfull")]
pub(crate) struct Queue {
    /// Packets in it.
    packets: u32,
    /// Bytes in it.
    bytes: u64,
    /// Bytes in the packet's lane.
    lane_bytes: u64,
    /// Number of the packet's lane.
    lane: u32,
}

pub(super) struct Aqm {
    trouble: Trouble,
    marks: bool,
    on_enqueue: Option<Py<PyAny>>,
    on_dequeue: Option<Py<PyAny>>,
    on_empty: Option<Py<PyAny>>,
}

impl fmt::Debug for Aqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AQM in Python")
    }
}

fn verdict(method: &str, found: &Bound<'_, PyAny>) -> PyResult<Verdict> {
    if found.is_none() {
        return Ok(Verdict::Pass);
    }
    match found.extract::<String>().as_deref() {
        Ok("pass") => Ok(Verdict::Pass),
        Ok("signal") => Ok(Verdict::Signal),
        Ok("drop") => Ok(Verdict::Drop),
        _ => Err(nonsense(method, found, "None, 'pass', 'signal' or 'drop'")),
    }
}

impl Aqm {
    /// Wraps the object that `make` returns for the queue of `context`.
    pub(super) fn made(
        make: &Py<PyAny>,
        context: AqmContext,
        trouble: &Trouble,
    ) -> PyResult<Box<dyn aqm::Aqm + Send>> {
        Python::attach(|py| {
            let object = make.call1(py, (context.lanes, context.key))?;
            let of = Object { object, trouble: trouble.clone() };
            let made = Self {
                marks: of.object.getattr(py, "marks")?.extract(py)?,
                on_enqueue: of.method(py, "Aqm", "on_enqueue")?,
                on_dequeue: of.method(py, "Aqm", "on_dequeue")?,
                on_empty: of.method(py, "Aqm", "on_empty")?,
                trouble: of.trouble,
            };
            Ok(Box::new(made) as Box<dyn aqm::Aqm + Send>)
        })
    }
}

fn seen(view: &QueueView, lane: Lane) -> Queue {
    Queue {
        packets: view.backlog_packets,
        bytes: view.backlog_bytes,
        lane_bytes: view.lane.bytes,
        lane: lane.into(),
    }
}

impl aqm::Aqm for Aqm {
    fn marks(&self) -> bool {
        self.marks
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        packet: &justfull_base::Packet,
    ) -> (Verdict, Tag) {
        let asked = self.on_enqueue.as_ref().and_then(|call| {
            self.trouble.ask(|py| {
                let about = (now.as_nanos(), seen(view, lane), Packet::from(packet));
                verdict("Aqm.on_enqueue", &call.bind(py).call1(about)?)
            })
        });
        (asked.unwrap_or(Verdict::Pass), 0)
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        packet: &justfull_base::Packet,
        _tag: Tag,
        sojourn: Duration,
    ) -> Verdict {
        let asked = self.on_dequeue.as_ref().and_then(|call| {
            self.trouble.ask(|py| {
                let packet = Packet::from(packet);
                let about = (now.as_nanos(), seen(view, lane), packet, sojourn.as_nanos());
                verdict("Aqm.on_dequeue", &call.bind(py).call1(about)?)
            })
        });
        asked.unwrap_or(Verdict::Pass)
    }

    fn on_empty(&mut self, now: Instant, lane: Lane) {
        if let Some(call) = &self.on_empty {
            self.trouble.ask(|py| call.call1(py, (now.as_nanos(), lane)));
        }
    }
}
