//! `cargo xtask docs which-method`: the tables of `docs/method-evidence.md`, from `justfull
//! recommend` on the channels of its claims. The text of the page is written by hand.

use std::process::Command;

use serde::Deserialize;

use super::page::{Maker, line, read};
use crate::{Failure, Outcome, process};

const PAGE: &str = "docs/method-evidence.md";
/// Claims whose channels are shown, and what the places of their tables begin with. The first were
/// seen throughout, the second until `dip`, the third until the radio's clock; the fourth are held
/// out.
const SETS: [(&str, &str); 4] = [
    ("claims/justfull.toml", ""),
    ("claims/justfull-fresh.toml", "fresh-"),
    ("claims/justfull-held-out.toml", "held-out-"),
    ("claims/justfull-unseen.toml", "unseen-"),
];
const TRAFFIC: &str = "download-pages-call";
const OURS: &str = "Justfull";
/// Most that the 95th percentile of the round trips may be: the bar of the claims.
const RTT_MS: f64 = 172.0;
/// The least windows: two segments of CUBIC (RFC 5681 section 3.1: ssthresh is two at least), four
/// of BBR (its draft's BBRMinPipeCwnd).
const CUBIC_LEAST: u32 = 2;
const BBR_LEAST: u32 = 4;
const YARDSTICK: &str = "clairvoyant";
/// The compared methods; the clairvoyant policy is added where it can run.
const WHOLE: [&str; 8] =
    ["Vanilla", "CoDel", "FQ-CoDel", "DRQL", "5G-BDP", "e5G-BDP", "LastPoll", OURS];
/// Whose losses are shown, if one of those after the first loses more of a call than this, in per
/// cent.
const LOSERS: [&str; 4] = ["Vanilla", "FQ-CoDel", "LastPoll", OURS];
const LOSS_PERCENT: f64 = 0.1;
/// The alternatives.
const OTHERS: [&str; 4] = ["CoDel", "FQ-CoDel", "e5G-BDP", "LastPoll"];
const SPLIT: [&str; 6] = ["Vanilla", "DRQL", "5G-BDP", "e5G-BDP", "LastPoll", "Justfull-split"];

/// Traffic, as a place of the page, with the switch of the scenario.
struct Mix {
    place: &'static str,
    switch: Option<&'static str>,
    /// The clairvoyant policy can run: one UE with one bearer, and a QFI for the call.
    yardstick: bool,
    /// The claims have it. Without, only the first set's channels are run with it.
    claimed: bool,
}

const MIXES: [Mix; 6] = [
    Mix { place: "two-qfis", switch: None, yardstick: true, claimed: true },
    Mix { place: "one-qfi", switch: Some("one_qfi"), yardstick: false, claimed: true },
    Mix { place: "two-bearers", switch: Some("two_bearers"), yardstick: false, claimed: false },
    Mix { place: "bbr", switch: Some("bbr"), yardstick: true, claimed: true },
    Mix { place: "four-ues", switch: Some("four_ues"), yardstick: false, claimed: true },
    Mix { place: "eight-ues", switch: Some("eight_ues"), yardstick: false, claimed: false },
];

/// Delays of reports where CU and DU are apart.
const DELAYS: [&str; 3] = ["1ms", "5ms", "10ms"];

/// The output of `recommend --json`.
#[derive(Clone, Debug, Deserialize)]
struct Answer {
    choices: Vec<Choice>,
}

#[derive(Clone, Debug, Deserialize)]
struct Choice {
    method: String,
    delay_ms_p99: Mean,
    delay_ms_mean: Mean,
    loss_percent: Mean,
    goodput_mbit_s: Mean,
    rtt_ms_p95: Mean,
    dominated_by: Option<String>,
    recommended: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Mean {
    mean: f64,
}

impl Answer {
    fn of(&self, method: &str) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.method == method)
    }
}

/// A channel, and what it is in a scenario.
type Channel = (String, String);

pub(super) fn make(maker: &Maker<'_>) -> Outcome {
    let mut page = maker.page(PAGE)?;
    let mut least = LEAST_HEAD.to_owned();
    let mut lost = losses_head();
    let mut sets = Vec::new();
    for (name, prefix) in SETS {
        let of_set = channels(name, &read(&maker.root.join(name))?)?;
        let mut found_in_set = Vec::new();
        for mix in MIXES.iter().filter(|mix| mix.claimed || prefix.is_empty()) {
            let mut methods = WHOLE.to_vec();
            methods.extend(mix.yardstick.then_some(YARDSTICK));
            let found = answers(maker, &of_set, &methods, &mix.options())?;
            let place = format!("{prefix}{}", mix.place);
            page.fill(&place, &table(&of_set, &methods, &found))?;
            lost += &losses(&of_set, mix.place, &found);
            least += &least_round_trips(maker, &of_set, mix, &found)?;
            found_in_set.push((mix, found));
        }
        sets.push(cases(&found_in_set));
        if prefix.is_empty() {
            for delay in DELAYS {
                let answers = answers(maker, &of_set, &SPLIT, &["--split", delay])?;
                let place = format!("split-{delay}");
                page.fill(&place, &table(&of_set, &SPLIT, &answers))?;
            }
        }
    }
    page.fill("least", &least)?;
    page.fill("losses", &lost)?;
    page.fill("bars", &bars(&sets))?;
    maker.settle_page(&page)
}

impl Mix {
    fn options(&self) -> Vec<&'static str> {
        self.switch.iter().flat_map(|name| ["--switch", name]).collect()
    }
}

const LEAST_HEAD: &str = "\
| channel | traffic | round trips of Justfull, 95th percentile, ms | the same with least windows |
|---|---|---|---|
";

/// A row for each case whose round trips miss the bar, beside those of the same case when each
/// connection has the least window that its control ever has: less no order of the lanes can give
/// all of them.
fn least_round_trips(
    maker: &Maker<'_>,
    channels: &[Channel],
    mix: &Mix,
    answers: &[Answer],
) -> Outcome<String> {
    let is_bbr = mix.switch == Some("bbr");
    let fixed = |path: &str, segments: u32| {
        format!("flow.{path}.sender.cc={{ kind = \"fixed\", segments = {segments} }}")
    };
    let download = fixed("download.tcp", if is_bbr { BBR_LEAST } else { CUBIC_LEAST });
    let pages = fixed("pages.page", CUBIC_LEAST);
    let mut options = mix.options();
    options.extend(["--set", download.as_str(), "--set", pages.as_str()]);
    let mut text = String::new();
    for (channel, answer) in channels.iter().zip(answers) {
        let Some(ours) = answer.of(OURS).filter(|ours| ours.rtt_ms_p95.mean > RTT_MS) else {
            continue;
        };
        let one = std::slice::from_ref(channel);
        let least = self::answers(maker, one, &[OURS], &options)?;
        let least = least.first().and_then(|answer| answer.of(OURS));
        let least = least.map_or_else(|| "–".into(), |c| format!("{:.0}", c.rtt_ms_p95.mean));
        let (name, place) = (&channel.0, mix.place);
        text += &format!("| {name} | {place} | {:.0} | {least} |\n", ours.rtt_ms_p95.mean);
    }
    Ok(text)
}

fn losses_head() -> String {
    format!("| channel | traffic | {} |\n|---|---|{}\n", LOSERS.join(" | "), "---|".repeat(4))
}

/// A row for each of `channels` on which one of the methods loses more than `LOSS_PERCENT` of a
/// call that it could have brought: the first method is there for comparison.
fn losses(channels: &[Channel], traffic: &str, answers: &[Answer]) -> String {
    let mut text = String::new();
    for ((channel, _), answer) in channels.iter().zip(answers) {
        let lost = LOSERS.map(|method| answer.of(method).map(|c| c.loss_percent.mean));
        if lost[1..].iter().flatten().any(|percent| *percent > LOSS_PERCENT) {
            let cells = lost.map(|percent| percent.map_or_else(|| "–".into(), per_cent));
            text += &format!("| {channel} | {traffic} | {} |\n", cells.join(" | "));
        }
    }
    text
}

fn per_cent(value: f64) -> String {
    if value == 0.0 { "0".into() } else { three_digits(value) }
}

/// The channels of the claims of `name`, in the order of the file.
fn channels(name: &str, claims: &str) -> Outcome<Vec<Channel>> {
    let wrong = |why: String| Failure::Check(format!("{name}: {why}"));
    let file: toml::Table = claims.parse().map_err(|e: toml::de::Error| wrong(e.to_string()))?;
    let traces = file.get("traces").and_then(toml::Value::as_table);
    let traces = traces.ok_or_else(|| wrong("no [traces]".into()))?;
    Ok(traces.iter().map(|(name, value)| (name.clone(), value.to_string())).collect())
}

/// The answers of `recommend` on each of `channels`.
fn answers(
    maker: &Maker<'_>,
    channels: &[Channel],
    methods: &[&str],
    options: &[&str],
) -> Outcome<Vec<Answer>> {
    let one = |(_, channel): &Channel| {
        let mut run = Command::new(maker.justfull);
        run.current_dir(maker.root).args(["recommend", TRAFFIC, "--json", "--quiet"]).args(options);
        run.arg("--set").arg(format!("channel={channel}"));
        for method in methods {
            run.args(["--method", method]);
        }
        let text = process::stdout_of(&mut run)?;
        serde_json::from_str(&text).map_err(|e| Failure::Check(format!("recommend: {e}: {text}")))
    };
    channels.iter().map(one).collect()
}

/// A row for each channel: p99 of the call, goodput of the others, their round trip.
fn table(channels: &[Channel], methods: &[&str], answers: &[Answer]) -> String {
    let mut text = line(&[&["channel"], methods].concat());
    text += &format!("|---|{}\n", "---|".repeat(methods.len()));
    for ((channel, _), answer) in channels.iter().zip(answers) {
        let cell = |method: &&str| answer.of(method).map_or_else(|| "–".to_owned(), Choice::cell);
        let cells: Vec<String> = methods.iter().map(cell).collect();
        text += &line(&[std::slice::from_ref(channel), &cells].concat());
    }
    text
}

impl Choice {
    fn cell(&self) -> String {
        let [p99, goodput] = [self.delay_ms_p99, self.goodput_mbit_s].map(|m| three_digits(m.mean));
        let text = format!("{p99} / {goodput} / {:.0}", self.rtt_ms_p95.mean);
        if self.recommended { format!("**{text}**") } else { text }
    }
}

/// `value` to three significant digits: a difference in the fourth is none to a user.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

impl Choice {
    /// Better than `other` in delay, goodput and round trips at once, to three digits.
    fn is_better_in_all(&self, other: &Self) -> bool {
        let less = |of: fn(&Self) -> Mean| rounded(of(self).mean) < rounded(of(other).mean);
        let goodput = |choice: &Self| rounded(choice.goodput_mbit_s.mean);
        less(|c| c.delay_ms_p99) && less(|c| c.rtt_ms_p95) && goodput(self) > goodput(other)
    }
}

/// `value` with three significant digits at least.
fn three_digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// The result of one case for the bars.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Relative to the clairvoyant policy, where there is one.
    delay: Option<(f64, f64)>,
    /// Relative to Vanilla.
    goodput: f64,
    rtt_ms: f64,
    recommended: bool,
    dominated: bool,
    /// One of the `OTHERS` is better in all three.
    beaten: bool,
}

/// The bars over all channels and mixes of each of the `SETS`, and of all of them together.
fn bars(sets: &[Vec<Case>]) -> String {
    type Row = (&'static str, fn(&[Case]) -> String);
    const ROWS: [Row; 10] = [
        ("cases", |c| c.len().to_string()),
        ("mean delay of the call over the clairvoyant policy's, median", |c| {
            median(c.iter().filter_map(|c| Some(c.delay?.0)))
        }),
        ("99th percentile of the same, median", |c| {
            median(c.iter().filter_map(|c| Some(c.delay?.1)))
        }),
        ("goodput over Vanilla's, median", |c| median(c.iter().map(|c| c.goodput))),
        ("goodput over Vanilla's, least", |c| {
            format!("{:.3}", c.iter().map(|c| c.goodput).fold(f64::INFINITY, f64::min))
        }),
        ("95th percentile of the round trips, median, ms", |c| median(c.iter().map(|c| c.rtt_ms))),
        ("cases with more than 172 ms there", |c| {
            c.iter().filter(|c| c.rtt_ms > RTT_MS).count().to_string()
        }),
        ("cases in which it is recommended", |c| {
            c.iter().filter(|c| c.recommended).count().to_string()
        }),
        ("cases in which another dominates it", |c| {
            c.iter().filter(|c| c.dominated).count().to_string()
        }),
        ("cases in which CoDel, FQ-CoDel, e5G-BDP or LastPoll is better in all three", |c| {
            c.iter().filter(|c| c.beaten).count().to_string()
        }),
    ];
    let all = sets.concat();
    let mut text = "\
        | Justfull | seen channels | seen until `dip` | seen until the radio's clock | held out \
        | all |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for (name, of) in ROWS {
        let cells = sets.iter().chain([&all]).map(|set| of(set));
        text += &line(&std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>());
    }
    text
}

/// The cases of all channels under all mixes, of which the first is the plain one.
fn cases(all: &[(&Mix, Vec<Answer>)]) -> Vec<Case> {
    let of = |(mix, answers): &(&Mix, Vec<Answer>)| -> Vec<Case> {
        let pairs = answers.iter().zip(&all[0].1);
        pairs.filter_map(|(answer, plain)| case(answer, plain, mix)).collect()
    };
    all.iter().flat_map(of).collect()
}

/// `answer` beside that of the same channel with a QFI for the call, where the clairvoyant policy
/// of a mix with one phone and CUBIC stands.
fn case(answer: &Answer, plain: &Answer, mix: &Mix) -> Option<Case> {
    let (ours, vanilla) = (answer.of(OURS)?, answer.of("Vanilla")?);
    let one_phone = mix.yardstick || mix.switch.is_some_and(|name| name == "one_qfi");
    let yardstick = answer.of(YARDSTICK).or_else(|| plain.of(YARDSTICK)).filter(|_| one_phone);
    let delay = yardstick.map(|y| {
        let ratio = |of: fn(&Choice) -> Mean| of(ours).mean / of(y).mean;
        (ratio(|c| c.delay_ms_mean), ratio(|c| c.delay_ms_p99))
    });
    Some(Case {
        delay,
        goodput: ours.goodput_mbit_s.mean / vanilla.goodput_mbit_s.mean,
        rtt_ms: ours.rtt_ms_p95.mean,
        recommended: ours.recommended,
        dominated: ours.dominated_by.is_some(),
        beaten: OTHERS.iter().filter_map(|n| answer.of(n)).any(|c| c.is_better_in_all(ours)),
    })
}

fn median(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return "–".into() };
    format!("{:.3}", (values[last / 2] + values[last.div_ceil(2)]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(method: &str, p99: f64, goodput: f64, recommended: bool) -> Choice {
        let mean = |mean| Mean { mean };
        Choice {
            method: method.into(),
            delay_ms_p99: mean(p99),
            delay_ms_mean: mean(p99 / 4.0),
            loss_percent: mean(0.0),
            goodput_mbit_s: mean(goodput),
            rtt_ms_p95: mean(123.4),
            dominated_by: None,
            recommended,
        }
    }

    #[test]
    fn channels_keep_the_order_of_the_file() {
        let text = "[traces]\nb = { kind = \"constant\" }\na = { kind = \"constant\" }\n";
        let names: Vec<String> =
            channels("a file", text).expect("two channels").into_iter().map(|c| c.0).collect();
        assert_eq!(names, ["b", "a"]);
        assert!(channels("a file", "x = 1").is_err());
    }

    #[test]
    fn a_cell_has_delay_goodput_and_round_trip_and_the_recommended_one_is_bold() {
        let answer = Answer {
            choices: vec![choice("Vanilla", 1234.5, 12.34, false), choice(OURS, 4.0, 12.0, true)],
        };
        let channels = [("walk".to_owned(), String::new())];
        let text = table(&channels, &["Vanilla", OURS, "DRQL"], &[answer]);
        let last = text.lines().last();
        assert_eq!(last, Some("| walk | 1234 / 12.3 / 123 | **4.00 / 12.0 / 123** | – |"));
    }

    #[test]
    fn bars_are_medians_over_cases_beside_vanilla_and_the_clairvoyant_policy() {
        let answer = |ours: f64| Answer {
            choices: vec![
                choice("Vanilla", 100.0, 10.0, false),
                choice(OURS, 2.0, ours, true),
                choice(YARDSTICK, 1.0, 10.0, false),
            ],
        };
        let goodputs = [9.0, 9.5, 9.6, 9.7, 9.8, 8.0];
        let all: Vec<(&Mix, Vec<Answer>)> =
            MIXES.iter().map(|mix| (mix, goodputs.map(answer).to_vec())).collect();
        let text = bars(&[cases(&all), cases(&all[..1])]);
        assert!(text.contains("| cases | 36 | 6 | 42 |"), "{text}");
        assert!(text.contains("Vanilla's, least | 0.800 | 0.800 | 0.800 |"), "{text}");
        assert!(text.contains("policy's, median | 2.000 | 2.000 | 2.000 |"), "{text}");
    }

    #[test]
    fn all_is_over_the_cases_of_every_set_and_not_over_the_sets() {
        let set = |ours: &[f64]| -> Vec<Case> {
            let answer = |ours: &f64| Answer {
                choices: vec![choice("Vanilla", 9.0, 10.0, false), choice(OURS, 2.0, *ours, true)],
            };
            cases(&[(&MIXES[0], ours.iter().map(answer).collect())])
        };
        let text = bars(&[set(&[5.0]), set(&[6.0]), set(&[8.0]), set(&[9.0, 9.1, 9.2])]);
        let median = "goodput over Vanilla's, median | 0.500 | 0.600 | 0.800 | 0.910 | 0.850 |";
        assert!(text.contains(median), "{text}");
        let columns = |line: &str| line.matches('|').count();
        assert!(text.lines().all(|line| columns(line) == columns(median) + 1), "{text}");
    }

    #[test]
    fn a_method_is_better_in_all_three_only_if_three_digits_show_it() {
        let with = |delay: f64, goodput: f64, rtt: f64| Choice {
            rtt_ms_p95: Mean { mean: rtt },
            ..choice("CoDel", delay, goodput, false)
        };
        let ours = with(4.0, 12.0, 104.0);
        assert!(with(3.99, 12.1, 103.0).is_better_in_all(&ours));
        assert!(!with(3.996, 12.1, 103.0).is_better_in_all(&ours), "delay to three digits");
        assert!(!with(3.99, 12.04, 103.0).is_better_in_all(&ours), "goodput");
        assert!(!with(3.99, 12.1, 103.6).is_better_in_all(&ours), "round trips");
        assert!(!ours.is_better_in_all(&ours));
        let digits = [1234.5, 0.012345, 0.0].map(|value| rounded(value).to_string());
        assert_eq!(digits, ["1230", "0.0123", "0"]);
        let case = |method: &str| {
            let named = |method: &str, c: Choice| Choice { method: method.into(), ..c };
            let choices = vec![
                named("Vanilla", with(9.0, 12.0, 900.0)),
                named(method, with(3.0, 12.2, 90.0)),
                named(OURS, ours.clone()),
            ];
            let answer = Answer { choices };
            cases(&[(&MIXES[0], vec![answer])])[0].beaten
        };
        assert_eq!(["FQ-CoDel", "LastPoll", "DRQL"].map(case), [true, true, false]);
    }

    #[test]
    fn losses_have_a_row_where_a_method_other_than_vanilla_loses_a_thousandth() {
        let answer = |lost: [f64; 4]| {
            let of = |(method, mean): (&str, f64)| Choice {
                loss_percent: Mean { mean },
                ..choice(method, 4.0, 12.0, false)
            };
            Answer { choices: LOSERS.into_iter().zip(lost).map(of).collect() }
        };
        let channels = ["a", "b", "c"].map(|name| (name.to_owned(), String::new()));
        let answers = [
            answer([0.0, 0.0, 0.101, 12.34]),
            answer([50.0, 0.1, 0.0, 0.0]),
            Answer { choices: answer([0.0, 0.2, 0.0, 0.0]).choices[..2].to_vec() },
        ];
        let text = losses_head() + &losses(&channels, "bbr", &answers);
        assert_eq!(
            text,
            "| channel | traffic | Vanilla | FQ-CoDel | LastPoll | Justfull |\n\
             |---|---|---|---|---|---|\n\
             | a | bbr | 0 | 0 | 0.10 | 12.3 |\n\
             | c | bbr | 0 | 0.20 | – | – |\n"
        );
    }

    #[test]
    fn the_median_of_an_even_number_is_between_two() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), "2.000");
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), "2.500");
        assert_eq!(median([].into_iter()), "–");
    }
}
