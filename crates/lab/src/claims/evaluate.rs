//! From runs to verdicts.

use super::decided::{is_open, is_open_sign};
use super::switched::Effects;
use super::{Basis, Claim, ClaimsFile, Kind, Options, Rule, Runs, Status, TODAY, Under};
use crate::model::summary::Metric;
use crate::model::{ClaimRow, Expected, SwitchValue, Verdict, WorldRow, WorldValue};
use crate::stats::{Summary, mean, paired_difference};
use justfull_run::results::RunResult;

/// A verdict compared with the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// No worse.
    AsRecorded,
    /// Worse.
    Worse,
    /// Worse, but the seeds leave it open, and the file permits this.
    Undecided,
}

/// Compares `row` with the record of `claim` in the file. A claim that was not run has no verdict.
pub(super) fn against_record(claim: &Claim, row: &ClaimRow) -> Against {
    let as_recorded = match row.verdict {
        Verdict::Met | Verdict::NotRun => true,
        Verdict::Explained => claim.status >= Status::Explained,
        Verdict::Missed => claim.status >= Status::Missed,
    };
    match as_recorded {
        true => Against::AsRecorded,
        false if claim.undecided && row.undecided => Against::Undecided,
        false => Against::Worse,
    }
}

/// The result of a run: its point of the sweep, its seed, and the value.
type Value = (usize, u64, f64);

/// The result of a claim with one switch or none.
pub(super) struct Finding {
    pub(super) ours: Vec<Summary>,
    /// Within the band.
    pub(super) meets: bool,
    /// The intervals leave the other verdict possible.
    open: bool,
}

impl Finding {
    fn of_band(claim: &Claim, ours: Vec<Summary>, meets: bool) -> Self {
        Self { open: is_open(claim, &ours), ours, meets }
    }

    /// A finding on differences that must all be below 0.
    fn of_sign(ours: Vec<Summary>) -> Self {
        Self { meets: ours.iter().all(|s| s.is_below(0.0)), open: is_open_sign(&ours), ours }
    }
}

impl Runs {
    /// True if the claim was run and is outside its band.
    pub(super) fn needs_switches(
        &self,
        file: &ClaimsFile,
        claim: &Claim,
        options: &Options,
    ) -> bool {
        let under = Under { world: file.world_of(claim), switch: "" };
        self.find(file, claim, under, options).is_some_and(|found| !found.meets)
    }

    /// True if the claim meets its band or its anchor under one of the switches that may explain
    /// it.
    pub(super) fn is_explained(
        &self,
        file: &ClaimsFile,
        claim: &Claim,
        effects: &Effects,
        options: &Options,
    ) -> bool {
        let values = self.with_switches(file, claim, effects, options);
        values.iter().any(|value| value.meets && value.explains)
    }

    /// The result of the claim with each of its switches that was run.
    fn with_switches(
        &self,
        file: &ClaimsFile,
        claim: &Claim,
        effects: &Effects,
        options: &Options,
    ) -> Vec<SwitchValue> {
        let with = |name: &String| {
            let under = Under { world: file.world_of(claim), switch: name };
            let Finding { ours, meets, open } = self.find(file, claim, under, options)?;
            // A short run omits some switches.
            (!ours.is_empty()).then(|| SwitchValue {
                name: name.clone(),
                meets: meets || claim.at_anchor(&ours),
                undecided: open,
                explains: effects.explains(name),
                ours,
            })
        };
        claim.switches.iter().filter_map(with).collect()
    }

    pub(super) fn judge(
        &self,
        file: &ClaimsFile,
        claim: &Claim,
        effects: &Effects,
        options: &Options,
    ) -> ClaimRow {
        let world = file.world_of(claim);
        let in_world = |world| self.find(file, claim, Under { world, switch: "" }, options);
        let found = in_world(world);
        let switches = self.with_switches(file, claim, effects, options);
        let (verdict, undecided) = verdict(found.as_ref(), &switches);
        let worlds = file.worlds_for(claim, options);
        let value = |index| {
            let found = Some(index).filter(|index| worlds.contains(index)).and_then(in_world);
            WorldValue::of(found.map(|f| (f.ours, f.meets, f.open)))
        };
        let own = claim.under.as_deref().unwrap_or_default();
        let under = Under { world, switch: "" };
        let case = file.case(&claim.scenario, &claim.trace, own, under);
        let reason =
            self.not_run.get(&case).cloned().or_else(|| claim.changed.clone()).unwrap_or_default();
        ClaimRow {
            id: claim.id.clone(),
            place: claim.figure.clone(),
            what: claim.words(),
            unit: if matches!(claim.kind, Kind::Ratio | Kind::Dominates) {
                ""
            } else {
                claim.metric.unit()
            }
            .into(),
            paper: expected(&claim.paper, claim),
            anchor: expected(&claim.anchor, claim),
            ours: found.map(|f| f.ours).unwrap_or_default(),
            band: claim.band.map_or(Expected::Words("sign, 95 %".into()), |[low, high]| {
                Expected::Range(low, high)
            }),
            changed: claim.changed.is_some(),
            of_anchor: claim.basis == Basis::Anchor,
            verdict,
            undecided,
            worlds: (0..file.worlds_shown(options)).map(value).collect(),
            reason,
            switches: if verdict == Verdict::Met { Vec::new() } else { switches },
        }
    }

    /// The result of the claim; none if its runs are absent.
    pub(super) fn find(
        &self,
        file: &ClaimsFile,
        claim: &Claim,
        under: Under<'_>,
        options: &Options,
    ) -> Option<Finding> {
        let points = claim.points(file, options);
        let own_under = claim.under.as_deref().unwrap_or_default();
        let values_under = |own: &str, metric: Metric, scenario: &str, method: &str, flow| {
            let runs = self.by_case.get(&file.case(scenario, &claim.trace, own, under))?;
            let own =
                runs.iter().filter(|(job, _)| job.method == method && points.contains(&job.point));
            own.map(|(job, run)| Some((job.point, job.seed, claim.value(metric, run, flow)?)))
                .collect::<Option<Vec<Value>>>()
        };
        let values_of = |metric: Metric, scenario: &str, method: &str, flow| {
            values_under(own_under, metric, scenario, method, flow)
        };
        let (own, of_base) = (claim.flow.as_deref(), claim.base_flow.as_deref());
        let values = |scenario: &str, method: &str| values_of(claim.metric, scenario, method, own);
        let in_band = |ours: &[Summary]| is_in_band(claim, ours);
        let judged = |(ours, meets)| Finding::of_band(claim, ours, meets);
        match claim.kind {
            Kind::Range => {
                let ours = values(&claim.scenario, &claim.method)?;
                Some(judged(range(file.live, &ours, &points, &in_band)))
            }
            Kind::Ratio => {
                let over = values(&claim.scenario, &claim.method)?;
                let scenario = claim.base_scenario.as_deref().unwrap_or(&claim.scenario);
                let base_under = claim.base_under.as_deref().unwrap_or(own_under);
                let flow = of_base.or(own);
                let base = values_under(base_under, claim.metric, scenario, &claim.base, flow)?;
                let ratios = ratios(&over, &base, claim.rule.unwrap_or(Rule::MeanMean));
                ratio(file.live, &ratios, &in_band).map(judged)
            }
            Kind::Order => {
                let lists: Option<Vec<_>> =
                    claim.order.iter().map(|m| values(&claim.scenario, m)).collect();
                let lists: Vec<Vec<(u64, f64)>> = lists?.iter().map(|l| keyed(l)).collect();
                let ours: Option<Vec<Summary>> =
                    lists.windows(2).map(|pair| paired_difference(&pair[0], &pair[1])).collect();
                Some(Finding::of_sign(ours?))
            }
            Kind::Dominates => {
                let [ours, rival] = claim.order.as_slice() else { return None };
                let of = |metric, method: &String| values_of(metric, &claim.scenario, method, own);
                contest(|metric| Some((of(metric, ours)?, of(metric, rival)?)))
            }
            Kind::Trend => {
                let base = match claim.base.as_str() {
                    "" => None,
                    base => Some(values(&claim.scenario, base)?),
                };
                let rise = |method: &String| {
                    let own = values(&claim.scenario, method)?;
                    let over = base.as_ref().map(|base| over_base(&own, base));
                    falls_by(&over.unwrap_or(own), &points)
                };
                let ours = claim.order.iter().map(rise).collect::<Option<Vec<Summary>>>()?;
                Some(Finding::of_sign(ours))
            }
            Kind::Change => {
                let backwards: Vec<usize> = points.iter().rev().copied().collect();
                let ours = vec![falls_by(&values(&claim.scenario, &claim.method)?, &backwards)?];
                Some(judged((ours.clone(), in_band(&ours))))
            }
        }
    }
}

impl Claim {
    /// Indices of the claim's points of the sweep.
    fn points(&self, file: &ClaimsFile, options: &Options) -> Vec<usize> {
        let all = file.points(&self.scenario, options.short);
        let wanted = self.intervals.as_deref().unwrap_or(&all);
        (0..all.len()).filter(|i| wanted.contains(&all[*i])).collect()
    }
}

/// The verdict on `found`, given the results with switches, and whether the seeds leave it
/// undecided.
fn verdict(found: Option<&Finding>, switches: &[SwitchValue]) -> (Verdict, bool) {
    let Some(found) = found else { return (Verdict::NotRun, false) };
    if found.meets {
        return (Verdict::Met, found.open);
    }
    let explaining = || switches.iter().filter(|value| value.explains);
    if explaining().any(|value| value.meets) {
        let sure = explaining().any(|value| value.meets && !value.undecided);
        return (Verdict::Explained, found.open || !sure);
    }
    (Verdict::Missed, found.open || explaining().any(|value| value.undecided))
}

/// True if `ours` are in the band of `claim`.
fn is_in_band(claim: &Claim, ours: &[Summary]) -> bool {
    claim.band.is_some_and(|[low, high]| {
        // A sign needs an interval, which takes three values. A ratio of exactly 1 has no sign
        // either.
        let half = |s: &Summary| if claim.strictly { s.ci95 } else { Some(0.0) };
        let equal = |s: &Summary, half: f64| {
            let one = 1.0 <= s.mean - half && s.mean + half <= 1.0;
            claim.strictly && claim.kind == Kind::Ratio && one
        };
        let within = |s: &Summary| {
            half(s).is_some_and(|h| low <= s.mean - h && s.mean + h <= high && !equal(s, h))
        };
        ours.iter().all(within)
    })
}

/// The values of a range: their means at each of `points`, and whether they are in the band. Live,
/// two seeds of three must be in the band.
fn range(
    live: bool,
    values: &[Value],
    points: &[usize],
    in_band: &dyn Fn(&[Summary]) -> bool,
) -> (Vec<Summary>, bool) {
    let ours = by_point(values, points);
    let meets = if live {
        most_seeds(values, |of| in_band(&by_point(of, points)))
    } else {
        !ours.is_empty() && in_band(&ours)
    };
    (ours, meets)
}

/// The ratios, one for each seed, and whether they are in the band; live, two of three must be.
fn ratio(
    live: bool,
    ratios: &[f64],
    in_band: &dyn Fn(&[Summary]) -> bool,
) -> Option<(Vec<Summary>, bool)> {
    let ours = vec![Summary::of(ratios)?];
    let one = |ratio: &&f64| Summary::of(&[**ratio]).is_some_and(|of| in_band(&[of]));
    let meets = if live {
        is_most(ratios.iter().filter(one).count(), ratios.len())
    } else {
        in_band(&ours)
    };
    Some((ours, meets))
}

/// True if `of` is at least two thirds of `all`.
const fn is_most(of: usize, all: usize) -> bool {
    all > 0 && 3 * of >= 2 * all
}

/// True if `meets` holds for two seeds of three.
fn most_seeds(values: &[Value], meets: impl Fn(&[Value]) -> bool) -> bool {
    let mut seeds: Vec<u64> = values.iter().map(|v| v.1).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let of = |seed: u64| values.iter().filter(|v| v.1 == seed).copied().collect::<Vec<_>>();
    is_most(seeds.iter().filter(|seed| meets(&of(**seed))).count(), seeds.len())
}

/// The mean of `values` at each of `points` that has values.
fn by_point(values: &[Value], points: &[usize]) -> Vec<Summary> {
    let at = |point: &usize| {
        let here: Vec<f64> = values.iter().filter(|v| v.0 == *point).map(|v| v.2).collect();
        Summary::of(&here)
    };
    points.iter().filter_map(at).collect()
}

/// The fall of `values` from the first of `points` to the last, seed by seed.
fn falls_by(values: &[Value], points: &[usize]) -> Option<Summary> {
    let at = |point: usize| -> Vec<(u64, f64)> {
        values.iter().filter(|v| v.0 == point).map(|v| (v.1, v.2)).collect()
    };
    paired_difference(&at(*points.first()?), &at(*points.last()?))
}

/// `values` divided by the values of `base` at the same point with the same seed.
fn over_base(values: &[Value], base: &[Value]) -> Vec<Value> {
    let of = |v: &Value| base.iter().find(|b| (b.0, b.1) == (v.0, v.1)).map(|b| v.2 / b.2);
    values.iter().filter_map(|v| Some((v.0, v.1, of(v)?))).collect()
}

/// The finding on whether the first of two methods dominates; `values` returns the values of both
/// in a metric.
fn contest(values: impl Fn(Metric) -> Option<(Vec<Value>, Vec<Value>)>) -> Option<Finding> {
    let difference = |metric: Metric| {
        let (ours, rival) = values(metric)?;
        let (ours, rival) = (keyed(&ours), keyed(&rival));
        let difference = paired_difference(&ours, &rival)?;
        let gain =
            if metric.grows_better() { difference } else { paired_difference(&rival, &ours)? };
        Some((difference, gain))
    };
    let found: Vec<_> = Metric::CONTENDED.into_iter().map(difference).collect::<Option<_>>()?;
    let better = found.iter().filter(|(_, gain)| gain.is_above(0.0)).count();
    let worse = found.iter().any(|(_, gain)| gain.is_below(0.0));
    let unsure = found.iter().filter(|(_, gain)| !gain.is_above(0.0) && gain.high() > 0.0).count();
    let meets = better >= 2 && !worse;
    let open = !meets && !worse && better + unsure >= 2;
    let ours = found.into_iter().map(|(difference, _)| difference).collect();
    Some(Finding { ours, meets, open })
}

/// Values of one seed at one point, which form pairs, keyed by both as one number.
fn keyed(list: &[Value]) -> Vec<(u64, f64)> {
    list.iter().map(|(point, seed, value)| (*point as u64 * 1_000_003 + seed, *value)).collect()
}

/// One ratio for each seed.
fn ratios(over: &[Value], base: &[Value], rule: Rule) -> Vec<f64> {
    let mut seeds: Vec<u64> = over.iter().map(|v| v.1).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let of_seed = |list: &[Value], seed: u64| -> Vec<f64> {
        list.iter().filter(|v| v.1 == seed).map(|v| v.2).collect()
    };
    let ratio = |seed: u64| {
        let (a, b) = (of_seed(over, seed), of_seed(base, seed));
        match rule {
            Rule::MinMax => {
                let least = a.iter().copied().fold(f64::INFINITY, f64::min);
                let greatest = b.iter().copied().fold(0.0, f64::max);
                Some(least / greatest)
            }
            Rule::MeanMean => Some(mean(&a)? / mean(&b)?),
        }
    };
    seeds.into_iter().filter_map(ratio).collect()
}

impl ClaimsFile {
    /// The result of `rows` in the world of this index.
    pub(super) fn world_row(&self, index: usize, rows: &[ClaimRow]) -> WorldRow {
        let (name, switches) = self.worlds()[index];
        let count = |verdict: Verdict| {
            rows.iter().filter(|row| row.worlds[index].verdict == verdict).count()
        };
        let period = usize::from(self.period.is_some());
        let why = match index.checked_sub(1 + period) {
            Some(other) => self.world[other].why.clone(),
            None if index == TODAY => "the scenarios' own settings".into(),
            None => "the TCP of the paper's time".into(),
        };
        WorldRow {
            name: name.into(),
            switches: switches.to_vec(),
            met: count(Verdict::Met),
            missed: count(Verdict::Missed),
            undecided: rows.iter().filter(|row| row.worlds[index].undecided).count(),
            why,
        }
    }
}

impl Claim {
    /// The value of `metric` in `run` for the claim.
    fn value(&self, metric: Metric, run: &RunResult, flow: Option<&str>) -> Option<f64> {
        if let Some(index) = self.slice {
            let slices = run.slices.iter().filter(|slice| slice.slice == index).cloned().collect();
            return metric.of(&RunResult { slices, ..RunResult::default() });
        }
        let Some(name) = flow else { return metric.of(run) };
        let flows = run.flows.iter().filter(|flow| flow.name == name).cloned().collect();
        metric.of(&RunResult { flows, cell: run.cell.clone(), ..RunResult::default() })
    }

    /// True if `ours` are within the anchor's own band: 10 % of a delay or ratio, 0.003 of
    /// utilisation, one point of a share.
    fn at_anchor(&self, ours: &[Summary]) -> bool {
        let (Some(low), Some(high)) = (
            self.anchor.iter().copied().reduce(f64::min),
            self.anchor.iter().copied().reduce(f64::max),
        ) else {
            return false;
        };
        let (low, high) = match (self.kind, self.metric) {
            (Kind::Ratio, _) => (low * 0.8, high * 1.2),
            (_, Metric::Utilisation) => (low - 0.003, high + 0.003),
            (_, Metric::Drops | Metric::DropsOfAll) => (low - 1.0, high + 1.0),
            _ => (low * 0.9, high * 1.1),
        };
        self.basis == Basis::Paper && ours.iter().all(|s| (low..=high).contains(&s.mean))
    }
}

fn expected(values: &[f64], claim: &Claim) -> Expected {
    let low = values.iter().copied().reduce(f64::min);
    let high = values.iter().copied().reduce(f64::max);
    match (claim.kind, low, high) {
        (Kind::Order | Kind::Trend | Kind::Dominates, _, _) => Expected::Absent,
        (_, Some(low), Some(high)) => Expected::Range(low, high),
        _ => Expected::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_seeds_of_three_decide_live() {
        let values = [(0, 1, 5.0), (0, 2, 50.0), (0, 3, 6.0)];
        let below = |limit: f64| move |of: &[Value]| of.iter().all(|v| v.2 < limit);
        assert!(most_seeds(&values, below(10.0)), "one of three may miss");
        assert!(!most_seeds(&values, below(5.5)), "two may not");
        assert!(!most_seeds(&[], below(10.0)), "nothing is not met");
        assert!(is_most(7, 10) && !is_most(6, 10));
    }
}
