//! The metrics of a running proxy, in Prometheus's text format 0.0.4.

use crate::engine::Engine;
use crate::flow::Outcome;
use crate::radio::State;
use crate::steering::CellStatus;
use crate::system::memory;
use crate::workers::Worker;
use justfull_base::Instant;
use std::fmt::Write as _;

/// The page so far.
#[derive(Default)]
struct Page(String);

impl Page {
    /// One metric: its name, kind and description, and its samples by their labels.
    fn family(&mut self, name: &str, kind: &str, help: &str, samples: &[(String, f64)]) {
        // Writing to a string does not fail.
        let _ok = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let _ok = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "gauge", help, &[(String::new(), value)]);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help, &[(String::new(), value as f64)]);
    }
}

/// Samples of one metric, by the values of a label. The values need no escape.
fn by<'a>(label: &str, values: impl IntoIterator<Item = (&'a str, f64)>) -> Vec<(String, f64)> {
    let one = |(value, number)| (format!("{{{label}=\"{value}\"}}"), number);
    values.into_iter().map(one).collect()
}

fn flag(on: bool) -> f64 {
    f64::from(u8::from(on))
}

impl Engine {
    /// The whole page.
    pub(crate) fn metrics(&self, now: Instant) -> String {
        let mut page = Page::default();
        self.diversion_metrics(now, &mut page);
        self.connection_metrics(&mut page);
        self.report_metrics(now, &mut page);
        self.cell_metrics(now, &mut page);
        self.pool_metrics(&mut page);
        self.process_metrics(now, &mut page);
        self.worker_metrics(&mut page);
        page.0
    }

    /// Metrics of diversion and of lost lines of the log.
    fn diversion_metrics(&self, now: Instant, page: &mut Page) {
        let totals = &self.totals;
        let families = |counts: [u64; 2]| {
            by("family", [("ipv4", counts[0] as f64), ("ipv6", counts[1] as f64)])
        };
        let first = families(self.guard.diverted);
        let help = "First segments diverted; those without a connection were never accepted.";
        page.family("justfull_proxy_first_segments_total", "counter", help, &first);
        let help = "Connections taken, by family.";
        page.family("justfull_proxy_taken_total", "counter", help, &families(totals.accepted_of));
        let help = "1 while new connections pass unsplit.";
        page.gauge("justfull_proxy_unsplit", help, flag(!self.guard.why(now).is_empty()));
        let help = "UEs with more than their share, whose new connections pass unsplit.";
        page.gauge("justfull_proxy_greedy_ues", help, self.guard.greedy() as f64);
        let help = "Times that policy routes were made whole again.";
        page.counter("justfull_proxy_routes_restored_total", help, totals.routes_restored);
        page.gauge(
            "justfull_proxy_flood",
            "1 while SYN cookies are out.",
            flag(self.flood.is_on()),
        );
        page.counter(
            "justfull_proxy_log_lines_lost_total",
            "Lines of the log lost.",
            self.log.lost,
        );
    }

    fn connection_metrics(&self, page: &mut Page) {
        let totals = &self.totals;
        page.gauge("justfull_proxy_flows", "Open connections.", self.open() as f64);
        let limit = self.host.limits.flows as f64;
        page.gauge("justfull_proxy_flows_limit", "Connections that there may be.", limit);
        let load = self.load();
        let pipes = f64::from(load.pipes);
        page.gauge("justfull_proxy_pipes", "Pipes that hold data.", pipes);
        page.counter("justfull_proxy_accepted_total", "Connections taken.", totals.accepted);
        let help = "Connections reset because there was no room.";
        page.counter("justfull_proxy_over_limit_total", help, totals.over_limit);
        let ended = Outcome::ALL.into_iter().zip(totals.ended);
        let ended = by("outcome", ended.map(|(outcome, count)| (outcome.name(), count as f64)));
        let help = "Connections that have ended.";
        page.family("justfull_proxy_ended_total", "counter", help, &ended);
        let bytes =
            |way: usize| (totals.bytes[way] + load.open_bytes[way] + load.ended_bytes[way]) as f64;
        let bytes = by("way", [("up", bytes(0)), ("down", bytes(1))]);
        page.family("justfull_proxy_bytes_total", "counter", "Bytes relayed.", &bytes);
        let mean = |leg: usize| load.rtts[leg] / load.with_rtt[leg] as f64;
        let legs = [("wired", mean(0)), ("radio", mean(1))];
        let help = "Mean of the last round trips of open connections; NaN without one.";
        page.family("justfull_proxy_leg_rtt_seconds", "gauge", help, &by("leg", legs));
    }

    fn report_metrics(&self, now: Instant, page: &mut Page) {
        let (of, source) = (self.steering.counts, &self.radio);
        let counts = [
            ("taken", of.taken),
            ("late", of.late),
            ("absurd", of.absurd),
            ("garbled", source.garbled()),
            ("dropped", source.dropped()),
            ("unknown", source.unknown()),
            ("lacking", source.lacking()),
            ("unknown_cell", of.unknown_cell),
            ("unknown_pool", of.unknown_pool),
            ("two_cells", of.two_cells),
            ("disputed", of.disputed),
        ];
        let reports = by("what", counts.map(|(what, count)| (what, count as f64)));
        page.family("justfull_proxy_reports_total", "counter", "Reports of the radio.", &reports);
        let ages = self.steering.status(now);
        let newest = ages.iter().filter_map(|ue| ue.report_age_s).fold(f64::NAN, f64::min);
        let help = "Time since the last report that counts; NaN without one.";
        page.gauge("justfull_proxy_report_age_seconds", help, newest);
        let services = source.services();
        let up = |state: &State| matches!(state, State::Connected | State::Asking(_));
        let all = services.iter().all(|service| up(&service.state));
        let help = "1 while all services of the source of reports are connected, or there is none.";
        page.gauge("justfull_proxy_source_connected", help, flag(all));
        let connected = services.iter().filter(|service| up(&service.state)).count();
        let help = "Services of the source of reports that are connected.";
        page.gauge("justfull_proxy_services_connected", help, connected as f64);
        let help = "Connections made to the source of reports.";
        page.counter("justfull_proxy_source_connections_total", help, source.connections());
        page.gauge("justfull_proxy_ues", "UEs that are known.", ages.len() as f64);
        page.counter("justfull_proxy_ue_moves_total", "UEs that changed their cell.", of.moves);
        let help = "UEs that were found to be another one.";
        page.counter("justfull_proxy_ue_merges_total", help, of.merges);
        let directory = self.directory.account();
        let help = "Sessions of the directory.";
        page.gauge("justfull_proxy_sessions", help, directory.sessions as f64);
        let help = "Changes of the directory, and requests that were refused.";
        let counts = [
            ("put", directory.put),
            ("deleted", directory.deleted),
            ("refused", directory.refused),
            ("unauthorized", directory.unauthorized),
        ];
        let changes = by("what", counts.map(|(what, count)| (what, count as f64)));
        page.family("justfull_proxy_directory_total", "counter", help, &changes);
    }

    fn cell_metrics(&self, now: Instant, page: &mut Page) {
        let cells = self.steering.cell_status(now);
        let of = |value: fn(&CellStatus) -> f64| {
            by("cell", cells.iter().map(|cell| (cell.cell.as_str(), value(cell))))
        };
        let mut gauge = |name, help, value| page.family(name, "gauge", help, &of(value));
        let help = "Time since the cell's last good report; NaN before the first.";
        gauge("justfull_proxy_cell_report_age_seconds", help, |c| {
            c.report_age_s.unwrap_or(f64::NAN)
        });
        gauge("justfull_proxy_cell_ues", "UEs in the cell.", |c| c.ues as f64);
        gauge("justfull_proxy_cell_flows", "Connections of its UEs.", |c| c.flows as f64);
        let help = "Bytes per second that its UEs may use together.";
        gauge("justfull_proxy_cell_capacity_bytes", help, |c| c.capacity_bytes_per_s);
        gauge("justfull_proxy_cell_held", "Share of the cell that its UEs hold.", |c| c.held);
        let help = "Share of the cell in the windows of its connections.";
        gauge("justfull_proxy_cell_windows", help, |c| c.windows);
        let help = "Share of the cell in the smallest windows of its connections.";
        gauge("justfull_proxy_cell_floors", help, |c| c.floors);
        let reports = of(|c| c.reports as f64);
        let help = "Good reports of the cell.";
        page.family("justfull_proxy_cell_reports_total", "counter", help, &reports);
    }

    /// Metrics of each pool; without pools there is no sample.
    fn pool_metrics(&self, page: &mut Page) {
        let pools = self.steering.pools.iter();
        let sums: Vec<(&str, (usize, u64, f64))> =
            pools.map(|(id, pool)| (pool.name.as_str(), self.steering.pool_sums(id))).collect();
        let of = |value: fn(&(usize, u64, f64)) -> f64| {
            by("pool", sums.iter().map(|(name, sums)| (*name, value(sums))))
        };
        let mut gauge = |name, help, value| page.family(name, "gauge", help, &of(value));
        gauge("justfull_proxy_pool_ues", "UEs of the pool.", |sums| sums.0 as f64);
        gauge("justfull_proxy_pool_flows", "Connections of its UEs.", |sums| sums.1 as f64);
        let help = "Bytes per second that its UEs may use together.";
        gauge("justfull_proxy_pool_capacity_bytes", help, |sums| sums.2);
    }

    /// Metrics of each worker; there is no sample if the proxy relays the connections itself.
    fn worker_metrics(&self, page: &mut Page) {
        let all = || self.workers.iter().flat_map(|workers| workers.all.iter().enumerate());
        let of = |value: fn(&Worker) -> f64| -> Vec<(String, f64)> {
            let one = |(number, worker)| (format!("{{worker=\"{number}\"}}"), value(worker));
            all().map(one).collect()
        };
        let mut gauge = |name, help, value| page.family(name, "gauge", help, &of(value));
        let help = "1 while the worker runs.";
        gauge("justfull_proxy_worker_up", help, |worker| flag(worker.line.is_some()));
        let help = "Open connections of the worker.";
        gauge("justfull_proxy_worker_flows", help, |worker| worker.open as f64);
        let help = "Open descriptors of the worker.";
        gauge("justfull_proxy_worker_descriptors", help, |worker| worker.state.descriptors as f64);
        let help = "Longest turn of the worker's loop within the last 10 to 20 seconds.";
        gauge("justfull_proxy_worker_loop_delay_seconds", help, |w| w.state.slowest_turn_s);
        let help = "Memory of the worker that is in use (RSS); NaN if the kernel does not tell.";
        gauge("justfull_proxy_worker_memory_bytes", help, |w| w.state.memory.unwrap_or(f64::NAN));
        let restarts = of(|worker| worker.starts.saturating_sub(1) as f64);
        let help = "Times that the worker ended and another took its place.";
        page.family("justfull_proxy_worker_restarts_total", "counter", help, &restarts);
    }

    fn process_metrics(&self, now: Instant, page: &mut Page) {
        let help = "Longest turn of the loop within the last 10 to 20 seconds.";
        page.gauge(
            "justfull_proxy_loop_delay_seconds",
            help,
            self.turns.longest(now).as_secs_f64(),
        );
        let help = "Memory of the process that is in use (RSS); NaN if the kernel does not tell.";
        page.gauge("justfull_proxy_memory_bytes", help, memory().unwrap_or(f64::NAN));
        let seconds = now.since(Instant::ZERO).as_secs_f64();
        page.gauge("justfull_proxy_seconds", "Time since the start.", seconds);
    }
}
