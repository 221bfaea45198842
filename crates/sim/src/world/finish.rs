//! The end of a run: its result, and the check of its invariants.

use super::World;
use crate::cell::Cell;
use crate::cells::Cells;
use crate::hosts::End;
use crate::monitor::Sent;
use crate::receivers::TcpReceiver;
use crate::senders::TcpSender;
use justfull_base::Instant;
use justfull_run::gather::{Chain, Ended};
use justfull_run::invariants::{Carried, Evidence, TcpBytes};
use justfull_run::results::RunResult;
use justfull_run::tap::Listener;

impl<T: Listener> World<T> {
    pub(super) fn finish(mut self) -> RunResult {
        let end = Instant::ZERO + self.plan.duration;
        let recorder = &mut self.links.monitor.recorder;
        self.hosts.applications.finish(end, recorder);
        for flow in self.hosts.senders.all() {
            recorder.tcp_totals(flow.route.flow, &flow.sender);
            recorder.tcp_completed(flow.route.flow, flow.completed);
        }
        for server in self.proxy.iter().flat_map(|proxy| proxy.servers()) {
            recorder.tcp_totals(server.route.flow, &server.sender);
        }
        let evidence = self.evidence();
        let (chain, cells, backlogs) = match &mut self.cells {
            Cells::One(Cell { stack, watch, .. }) => {
                let backlogs = watch.as_mut().and_then(|watch| watch.backlogs.as_mut());
                (Chain::of(stack, end), None, backlogs)
            }
            Cells::Several(several) => {
                let region = &mut several.region;
                let (chain, cells) = (region.chain(end), Box::new(region.finish()));
                (chain, Some(cells), region.backlogs())
            }
        };
        self.plan.gather(Ended {
            end,
            recorder: &self.links.monitor.recorder,
            chain,
            cells,
            backlogs,
            uplink: self.links.uplink.finish(),
            reports: self.proxy.as_ref().map(|proxy| proxy.reports()).unwrap_or_default(),
            calls: self.links.monitor.calls,
            evidence,
        })
    }

    /// Evidence for the invariants besides the result.
    fn evidence(&self) -> Evidence {
        let recorder = &self.links.monitor.recorder;
        let to_ue = |(flow, end): (usize, &End)| (!matches!(end, End::Upload(_))).then_some(flow);
        let downlink = self.hosts.ends.iter().enumerate().filter_map(to_ue);
        let of_radio = match &self.cells {
            Cells::One(cell) => Evidence::of(&cell.stack, recorder, self.plan.mtu, downlink),
            Cells::Several(several) => {
                let stacks = several.region.stacks();
                Evidence::of_cells(stacks, recorder, self.plan.mtu, downlink)
            }
        };
        let proxy = self.proxy.as_ref().and_then(|proxy| proxy.broken(&self.hosts));
        let uplink = self.links.uplink.broken_conservation();
        Evidence { uplinks: self.uploaded(), uplink, tcp: self.tcp_bytes(), proxy, ..of_radio }
    }

    /// Goodput of each UE's uploads; empty if the uplink has no rate.
    fn uploaded(&self) -> Vec<Carried> {
        let Some(most) = self.uplink_most else { return Vec::new() };
        let recorder = &self.links.monitor.recorder;
        let mut goodput = vec![0; self.ues];
        for flow in self.hosts.senders.all().iter().filter(|flow| flow.route.up()) {
            goodput[flow.route.ue as usize] += recorder.goodput_bytes(flow.route.flow as usize);
        }
        goodput.into_iter().map(|goodput| Carried { goodput, most }).collect()
    }

    /// The fate of the bytes that each TCP sender gave to the network.
    fn tcp_bytes(&self) -> Vec<TcpBytes> {
        let monitor = &self.links.monitor;
        let mut under_way = vec![0; self.hosts.ends.len()];
        for Sent { segment, flow } in monitor.segments.live() {
            under_way[*flow as usize] += u64::from(segment.len);
        }
        let fate = |(flow, end): (&TcpSender, &TcpReceiver)| {
            let number = flow.route.flow as usize;
            TcpBytes {
                name: monitor.recorder.name_of(number).into(),
                sent: flow.sender.stats().bytes_sent,
                received: end.receiver.stats().bytes,
                dropped: monitor.lost[number],
                under_way: under_way[number],
            }
        };
        let of_servers = self.proxy.iter().flat_map(|proxy| {
            proxy.tcp_bytes(|flow| monitor.recorder.name_of(flow as usize).into())
        });
        let ends = self.hosts.senders.all().iter().zip(self.hosts.receivers.all());
        ends.map(fate).chain(of_servers).collect()
    }
}
