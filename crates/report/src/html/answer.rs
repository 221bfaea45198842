//! The answer of a comparison in one or two sentences, from its numbers.

use crate::figure::escape;
use justfull_lab::model::summary::{is_clairvoyant, method_names};
use justfull_lab::model::{Comparison, Group};
use justfull_lab::stats::Summary;
use justfull_run::results::RunResult;

/// The figures of a method over its seeds.
pub(super) struct Of<'a> {
    pub(super) method: &'a str,
    /// 99th percentile of the judged flow's delay, in ms.
    pub(super) p99_ms: Summary,
    /// Goodput of the judged flow, and of the other flows, in Mbit/s.
    pub(super) own: f64,
    pub(super) others: f64,
}

/// The best method of the answer has at least this share of the best goodput.
const KEPT: f64 = 0.95;

/// The answer for the first point with two methods or more, and the delays at the last point of
/// its sweep, in HTML; empty without such a point.
pub(super) fn answer(comparison: &Comparison) -> String {
    let groups = &comparison.groups;
    let first = groups.iter().find_map(|group| Some((group, of_group(group, sentence)?)));
    let Some((group, text)) = first else { return String::new() };
    let last = groups.iter().rfind(|other| other.label == group.label && other.x != group.x);
    paragraph(text, last.and_then(|last| of_group(last, at_end)))
}

/// The sentences about the first point and the last one.
pub(super) fn paragraph(first: String, last: Option<String>) -> String {
    format!("<p class=\"answer\">{first}{}</p>", last.unwrap_or_default())
}

/// Sentences about the packets of a flow under the methods at a point.
type Sentence = fn(&str, &str, &[Of<'_>]) -> Option<String>;

fn of_group(group: &Group, sentence: Sentence) -> Option<String> {
    let flows = || group.runs.iter().flat_map(|run| &run.flows).filter(|f| f.delay.count > 0);
    let flow = flows().find(|flow| flow.low_latency).or_else(|| flows().next())?;
    let names = method_names(&group.runs);
    let methods = names.iter().filter(|name| !is_clairvoyant(name));
    let all: Vec<Of<'_>> =
        methods.filter_map(|method| of_method(group, method, &flow.name)).collect();
    let at = if group.x.is_some() { group.x_text() } else { String::new() };
    sentence(&at, &flow.name, &all)
}

/// The sentences about the packets of `flow` under `all` methods at the point `at`, in HTML; none
/// where one method is both the slowest and the best.
pub(super) fn sentence(at: &str, flow: &str, all: &[Of<'_>]) -> Option<String> {
    let (own, others) = most(all);
    let (worst, best) = ends(all)?;
    let name = escape(flow);
    let at = match at {
        "" => "Under ".into(),
        at => format!("At {}: under ", escape(at)),
    };
    let mut text = format!(
        "{at}<b>{}</b> one in a hundred packets of {name} waits longer than <b>{}</b>; under \
         <b>{}</b> than <b>{}</b>",
        escape(worst.method),
        time(&worst.p99_ms),
        escape(best.method),
        time(&best.p99_ms)
    );
    let (who, share) = match others > 0.0 {
        true => ("the other flows keep", best.others / others),
        false => ("it keeps", best.own / own),
    };
    if share.is_finite() {
        text += &format!(", and {who} <b>{:.0} %</b> of the best goodput", 100.0 * share);
    }
    text += ".";
    match (worst.p99_ms.ci95, best.p99_ms.ci95) {
        (Some(a), Some(b)) if worst.p99_ms.mean - a <= best.p99_ms.mean + b => {
            text +=
                " The 95&nbsp;% intervals over the seeds overlap: more seeds may turn the order.";
        }
        (Some(_), Some(_)) => text += " The 95&nbsp;% intervals over the seeds are apart.",
        _ => text += " Three seeds or more give intervals.",
    }
    Some(text)
}

/// The greatest goodput of the judged flow, and of the other flows, in Mbit/s.
fn most(all: &[Of<'_>]) -> (f64, f64) {
    let most = |of: fn(&Of<'_>) -> f64| all.iter().map(of).fold(0.0, f64::max);
    (most(|one| one.own), most(|one| one.others))
}

/// The slowest method, and the fastest of those that keep the goodput; none where they are one.
fn ends<'a>(all: &'a [Of<'a>]) -> Option<(&'a Of<'a>, &'a Of<'a>)> {
    let by_delay = |a: &&Of<'_>, b: &&Of<'_>| a.p99_ms.mean.total_cmp(&b.p99_ms.mean);
    let (own, others) = most(all);
    let keeps = |one: &&Of<'_>| one.own >= KEPT * own && one.others >= KEPT * others;
    let worst = all.iter().max_by(by_delay)?;
    let best = all.iter().filter(keeps).min_by(by_delay)?;
    (best.method != worst.method).then_some((worst, best))
}

/// The same delays at the point `at`, the last one of a sweep.
pub(super) fn at_end(at: &str, _: &str, all: &[Of<'_>]) -> Option<String> {
    let (worst, best) = ends(all)?;
    Some(format!(
        " At {}: <b>{}</b> under <b>{}</b>, <b>{}</b> under <b>{}</b>.",
        escape(at),
        time(&worst.p99_ms),
        escape(worst.method),
        time(&best.p99_ms),
        escape(best.method)
    ))
}

fn of_method<'a>(group: &Group, method: &'a str, flow: &str) -> Option<Of<'a>> {
    let runs: Vec<&RunResult> = group.runs.iter().filter(|run| run.method == method).collect();
    let own = |run: &&RunResult| {
        run.flows.iter().find(|f| f.name == flow && f.delay.count > 0).map(|f| f.delay.p99_ms)
    };
    let delays: Vec<f64> = runs.iter().filter_map(own).collect();
    let goodput = |is_own: bool| {
        let flows = runs.iter().flat_map(|run| &run.flows).filter(|f| (f.name == flow) == is_own);
        flows.map(|f| f.goodput_mbit_s).sum::<f64>() / runs.len() as f64
    };
    let (own, others) = (goodput(true), goodput(false));
    Some(Of { method, p99_ms: Summary::of(&delays)?, own, others })
}

/// A mean with its interval.
fn time(found: &Summary) -> String {
    let digits = match found.mean {
        mean if mean >= 100.0 => 0,
        mean if mean >= 10.0 => 1,
        _ => 2,
    };
    match found.ci95 {
        Some(half) => format!("{:.digits$} ± {half:.digits$} ms", found.mean),
        None => format!("{:.digits$} ms", found.mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::example;

    /// The text of the answer for these delays of the call, by method and seed, in ms.
    fn text(delays: [(&str, &[f64]); 2]) -> String {
        answer(&comparison(delays))
    }

    fn comparison(delays: [(&str, &[f64]); 2]) -> Comparison {
        let mut comparison = example::comparison(1);
        comparison.groups.truncate(1);
        let group = &mut comparison.groups[0];
        group.x = None;
        let mut run = group.runs[0].clone();
        let mut other = run.flows[0].clone();
        run.flows.truncate(1);
        (run.flows[0].name, run.flows[0].low_latency) = ("call".into(), true);
        (other.name, other.low_latency, other.goodput_mbit_s) = ("bulk".into(), false, 8.0);
        run.flows.push(other);
        group.runs.clear();
        for (method, delays) in delays {
            for delay in delays {
                run.method = method.into();
                run.flows[0].delay.p99_ms = *delay;
                run.flows[0].delay.count = 1;
                group.runs.push(run.clone());
            }
        }
        comparison
    }

    #[test]
    fn a_method_that_drops_the_judged_flow_is_not_the_best() {
        let mut comparison = comparison([("Vanilla", &[100.0]), ("Discard", &[1.0])]);
        let runs = &mut comparison.groups[0].runs;
        (runs[0].flows[0].goodput_mbit_s, runs[1].flows[0].goodput_mbit_s) = (10.0, 5.0);
        assert_eq!(answer(&comparison), "", "Vanilla alone keeps the call's goodput");
        let runs = &mut comparison.groups[0].runs;
        runs[1].flows[0].goodput_mbit_s = 9.6;
        runs.iter_mut().for_each(|run| run.flows.truncate(1));
        let alone = answer(&comparison);
        assert!(alone.contains("and it keeps <b>96 %</b> of the best goodput"), "{alone}");
    }

    #[test]
    fn a_sweep_has_the_delays_at_its_first_point_and_at_its_last() {
        let mut swept = comparison([("Vanilla", &[100.0]), ("Justfull", &[2.0])]);
        let mut group = swept.groups[0].clone();
        swept.groups[0].x = Some(("rlc.queue.limit_kB".into(), 100.0));
        for (kb, ms) in [(300.0, 200.0), (1000.0, 600.0)] {
            group.x = Some(("rlc.queue.limit_kB".into(), kb));
            group.runs[0].flows[0].delay.p99_ms = ms;
            swept.groups.push(group.clone());
        }
        let text = answer(&swept);
        assert!(text.contains("At rlc.queue.limit 100 kB: under <b>Vanilla</b>"), "{text}");
        let end = " At rlc.queue.limit 1000 kB: <b>600 ms</b> under <b>Vanilla</b>, <b>2.00 ms</b> \
                   under <b>Justfull</b>.</p>";
        assert!(text.ends_with(end) && !text.contains("300"), "{text}");
    }

    #[test]
    fn the_answer_names_slowest_and_best_method_and_compares_their_intervals() {
        let apart = text([("Vanilla", &[100.0, 102.0, 104.0]), ("<b>", &[2.0, 2.1, 2.2])]);
        // Student's t of two degrees of freedom, 4.303, times 2 and 0.1, over the root of three.
        assert!(apart.contains("Under <b>Vanilla</b> one in a hundred packets of call"), "{apart}");
        assert!(
            apart.contains("<b>102 ± 5 ms</b>; under <b>&lt;b&gt;</b> than <b>2.10 ± 0.25 ms</b>")
        );
        assert!(
            apart.contains("keep <b>100 %</b>") && apart.ends_with("are apart.</p>"),
            "{apart}"
        );
        let close = text([("A", &[9.0, 30.0, 10.0]), ("B", &[8.0, 7.0, 9.0])]);
        assert!(close.contains("overlap"), "{close}");
        let few = text([("A", &[9.0]), ("B", &[8.0])]);
        assert!(few.ends_with("Three seeds or more give intervals.</p>"), "{few}");
        assert_eq!(text([("A", &[9.0]), ("A", &[8.0])]), "", "one method");
    }
}
