//! `--tui`: a run as figures and bars, or as one line per second without a terminal.

use super::change::{Before, Change, drops};
use super::last::Seen;
use justfull_base::{DropReason, Duration, Layer};
use justfull_live::driver::Sojourns;
use std::collections::{BTreeMap, VecDeque};

/// Number of values kept: as many as the widest terminal shows.
const KEPT: usize = 240;
/// Columns before the bars of a row, for its name and the present figure.
const NAME: usize = 20;
const FIGURE: usize = 34;
/// Rows of a page without drops and marks.
const ROWS: usize = 8;
/// Most lines of a row's bars.
const MOST_LINES: usize = 4;
/// Bars from the lowest to the highest.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Names of the delays, by the index of [`Change::delays`].
const WHOSE: [&str; 2] = ["low latency", "other"];

/// Values over time, the newest last; none for a period without a measurement.
#[derive(Default)]
struct Series(VecDeque<Option<f64>>);

impl Series {
    fn push(&mut self, value: Option<f64>) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// The newest `width` values as bars of `height` lines, on a scale from 0 to their maximum; the
    /// top line first.
    fn bars(&self, width: usize, height: usize) -> impl Iterator<Item = String> {
        let shown = self.0.iter().skip(self.0.len().saturating_sub(width));
        let most = shown.clone().flatten().copied().fold(0.0, f64::max);
        // Eighths of a line; a measured value has one at least.
        let eighths = move |value: f64| match value / most {
            share if share > 0.0 => ((share * 8.0 * height as f64).ceil() as usize).max(1),
            _ => 1,
        };
        (0..height).rev().map(move |line| {
            let bar = |value: f64| match eighths(value).saturating_sub(8 * line).min(8) {
                0 => ' ',
                filled => LEVELS[filled - 1],
            };
            shown.clone().map(|value| value.map_or(' ', bar)).collect()
        })
    }
}

/// The displayed quantities over time.
#[derive(Default)]
pub(super) struct Dials {
    before: Option<Before>,
    now: Option<(Seen, Change)>,
    rate: Series,
    used: Series,
    missed: Series,
    backlog: [Series; 3],
    delay: [Series; 2],
    /// Drops by layer and reason, from the first such drop on.
    dropped: BTreeMap<(usize, usize), Series>,
    marked: BTreeMap<usize, Series>,
    /// Updates so far; a series that starts later is empty before.
    looks: usize,
}

/// Percentiles in ms.
fn percentiles(times: &Sojourns) -> Option<[f64; 3]> {
    let ms = |p| times.percentile(p).map_or(0.0, Duration::as_millis_f64);
    (times.count > 0).then(|| [0.5, 0.95, 0.99].map(ms))
}

impl Dials {
    /// Adds the news; false if there is none.
    pub(super) fn look(&mut self, seen: Seen) -> bool {
        let before = self.before.get_or_insert_with(Before::new);
        let Some(change) = before.change(&seen) else { return false };
        self.rate.push(Some(change.rate));
        self.used.push(Some(change.used));
        self.missed.push(Some(change.missed as f64));
        for (series, packets) in self.backlog.iter_mut().zip(seen.view.backlog_packets) {
            series.push(Some(packets as f64));
        }
        for (series, times) in self.delay.iter_mut().zip(&change.delays) {
            series.push(percentiles(times).map(|[_, p95, _]| p95));
        }
        let empty = || Series(vec![Some(0.0); self.looks.min(KEPT)].into());
        for layer in 0..Layer::ALL.len() {
            for (reason, &all) in seen.view.counts.drops[layer].iter().enumerate() {
                if all > 0 {
                    let series = self.dropped.entry((layer, reason)).or_insert_with(empty);
                    series.push(Some(change.counts.drops[layer][reason] as f64));
                }
            }
            if seen.view.counts.marks[layer] > 0 {
                let series = self.marked.entry(layer).or_insert_with(empty);
                series.push(Some(change.counts.marks[layer] as f64));
            }
        }
        self.looks += 1;
        self.now = Some((seen, change));
        true
    }

    /// The page for a terminal of `width` columns and `height` lines, whose bars are as high as all
    /// of them fit.
    pub(super) fn page(&self, width: usize, height: usize) -> Vec<String> {
        let Some((Seen { about, now, view }, change)) = &self.now else {
            return vec!["the run begins".into()];
        };
        let late = &view.lateness;
        let mut lines = vec![
            format!(
                "justfull live: {}, {}{}, seed {}; {:.1} of {} s",
                about.scenario,
                about.method,
                about.point,
                about.seed,
                now.as_nanos() as f64 * 1e-9,
                about.duration.as_secs_f64()
            ),
            format!(
                "wake-ups late by {:.0} us (p99), {} of {} slots missed; {} flows; Ctrl-C ends it",
                late.p99_us, late.missed, late.slots, view.flows
            ),
            String::new(),
        ];
        let rows = ROWS + self.dropped.len() + self.marked.len();
        let bars = (height.saturating_sub(lines.len()) / rows).clamp(1, MOST_LINES);
        let mut row = |name: &str, mut figure: String, series: &Series| {
            if figure.len() >= FIGURE {
                figure.push(' ');
            }
            let begin = format!("{name:NAME$}{figure:FIGURE$}");
            let room = width.saturating_sub(begin.len());
            for (line, bars) in series.bars(room, bars).enumerate() {
                let words = if line == 0 { begin.as_str() } else { "" };
                lines.push(format!("{words:0$}{bars}", begin.len()));
            }
        };
        row("rate", format!("{:.2} Mbit/s", change.rate), &self.rate);
        row("used of the cell", format!("{:.1} %", 100.0 * change.used), &self.used);
        for (i, layer) in Layer::ALL.into_iter().enumerate() {
            let packets = format!("{} packets", view.backlog_packets[i]);
            row(&format!("backlog {}", layer.name()), packets, &self.backlog[i]);
        }
        for (i, whose) in WHOSE.into_iter().enumerate() {
            let figure = percentiles(&change.delays[i]).map_or("-".into(), |[p50, p95, p99]| {
                format!("p50 {p50:.1}, p95 {p95:.1}, p99 {p99:.1} ms")
            });
            row(&format!("delay {whose}"), figure, &self.delay[i]);
        }
        for ((layer, reason), series) in &self.dropped {
            let [name, why] = [Layer::ALL[*layer].name(), DropReason::ALL[*reason].name()];
            let all = view.counts.drops[*layer][*reason];
            row(&format!("{name} {why}"), format!("{all} dropped"), series);
        }
        for (layer, series) in &self.marked {
            let name = format!("{} marked", Layer::ALL[*layer].name());
            row(&name, format!("{} packets", view.counts.marks[*layer]), series);
        }
        row("late slots", format!("{} since the start", late.missed), &self.missed);
        lines
    }

    /// The present figures in one line.
    pub(super) fn line(&self) -> Option<String> {
        let (Seen { now, view, .. }, change) = self.now.as_ref()?;
        let backlog = Layer::ALL.into_iter().zip(view.backlog_packets);
        let backlog: Vec<String> =
            backlog.map(|(layer, packets)| format!("{} {packets}", layer.name())).collect();
        let delay = WHOSE.into_iter().zip(&change.delays).map(|(whose, times)| {
            let figures = percentiles(times).map_or("-".into(), |[p50, p95, p99]| {
                format!("{p50:.1} (p50) {p95:.1} (p95) {p99:.1} (p99)")
            });
            format!("{whose} {figures}")
        });
        Some(format!(
            "{:.1} s: {:.2} Mbit/s, {:.1} % of the cell; backlog {}; delay in ms {}; dropped{}; {} \
             of {} slots late",
            now.as_nanos() as f64 * 1e-9,
            change.rate,
            100.0 * change.used,
            backlog.join(", "),
            delay.collect::<Vec<_>>().join(", "),
            drops(&view.counts),
            view.lateness.missed,
            view.lateness.slots
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::last::About;
    use crate::live::metrics::tests::view;
    use justfull_base::Instant;
    use std::sync::Arc;

    fn seen(ms: u64, change: impl FnOnce(&mut justfull_live::driver::View)) -> Seen {
        let mut view = view();
        change(&mut view);
        let about = About { method: "CoDel".into(), ..About::default() };
        Seen { about: Arc::new(about), now: Instant::from_nanos(ms * 1_000_000), view }
    }

    fn bars(series: &Series, width: usize, height: usize) -> Vec<String> {
        series.bars(width, height).collect()
    }

    #[test]
    fn bars_show_the_newest_values_from_zero_to_the_greatest() {
        let mut series = Series::default();
        for value in [Some(1e9), Some(0.0), None, Some(1.0), Some(8.0), Some(4.0)] {
            series.push(value);
        }
        assert_eq!(bars(&series, 5, 1), ["▁ ▁█▄"]);
        assert_eq!(bars(&series, 5, 2), ["   █ ", "▁ ▂██"]);
        assert_eq!(bars(&series, 6, 1)[0].chars().next(), Some('█'));
        assert_eq!(
            (bars(&series, 0, 1), bars(&Series::default(), 9, 1)),
            (vec![String::new()], vec![String::new()])
        );
        (0..2 * KEPT).for_each(|_| series.push(Some(0.0)));
        assert_eq!(bars(&series, 1_000, 1), ["▁".repeat(KEPT)]);
    }

    #[test]
    fn a_page_fits_its_terminal_and_no_figure_touches_its_bars() {
        for (width, height) in [(80, 24), (120, 40), (60, 10), (200, 100)] {
            let mut dials = Dials::default();
            for look in 1..60 {
                dials.look(seen(look * 250, |view| {
                    view.down.delivered_bytes = look * 1_000_000;
                    view.names[0].packets = look;
                    for ms in (0..look).flat_map(|_| [1_200, 3_400, 7_800]) {
                        view.names[0].delay.record(Duration::from_millis(ms));
                    }
                }));
            }
            let page = dials.page(width, height);
            assert!(page.len() <= height.max(13), "{width} x {height}: {page:#?}");
            let columns = |line: &String| line.chars().count();
            assert!(page.iter().skip(3).all(|line| columns(line) <= width), "{page:#?}");
            let delay = page.iter().find(|line| line.starts_with("delay low latency"));
            let (_, bars) = delay.and_then(|line| line.split_once(" ms")).expect("a figure");
            assert!(bars.starts_with(' ') || bars.is_empty(), "{page:#?}");
        }
    }

    #[test]
    fn figures_are_of_the_time_between_two_looks_and_new_rows_begin_empty() {
        let mut dials = Dials::default();
        assert!(dials.line().is_none() && dials.page(80, 24).len() == 1, "nothing is known yet");
        let first = |view: &mut justfull_live::driver::View| {
            view.counts.drops = Default::default();
            view.down.delivered_bytes = 1_250_000;
        };
        assert!(dials.look(seen(500, first)));
        assert!(!dials.look(seen(500, first)), "the same again");
        assert!(!dials.page(80, 24).iter().any(|line| line.contains("dropped")));
        assert!(dials.look(seen(1_000, |view| {
            view.down.delivered_bytes = 1_375_000;
            view.counts.drops[2][DropReason::Overflow as usize] = 12;
            view.names[0].delay.record(Duration::from_millis(64));
            view.names[0].packets += 1;
            view.lateness.missed = 2;
        })));
        let page = dials.page(60, 10);
        let line = |part: &str| {
            let found = page.iter().find(|line| line.starts_with(part));
            found.unwrap_or_else(|| panic!("{part}: {page:#?}")).as_str()
        };
        assert!(line("rate").contains(" 2.00 Mbit/s") && line("rate").ends_with("█▁"), "{page:#?}");
        assert!(line("backlog rlc").contains("3 packets"), "{page:#?}");
        assert!(line("delay low latency").contains("p50 61.4, p95 61.4, p99 61.4 ms"));
        assert!(line("delay other").contains(" - "), "{page:#?}");
        assert!(
            line("rlc overflow").contains("12 dropped") && line("rlc overflow").ends_with("▁█")
        );
        assert!(line("justfull live").contains("CoDel") && line("late slots").ends_with("▁█"));
        let line = dials.line().expect("it is known");
        for part in ["1.0 s: 2.00 Mbit/s", "rlc 3;", "61.4 (p95)", "other -;", "rlc overflow: 12"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}
