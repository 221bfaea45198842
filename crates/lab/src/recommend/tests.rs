use super::*;

fn choice(method: &str, delay: f64, rtt: f64, goodput: f64) -> Choice {
    Choice {
        method: method.into(),
        delay_ms_p99: Summary::of(&[delay]),
        delay_ms_mean: None,
        loss_percent: None,
        goodput_mbit_s: Summary::of(&[goodput]),
        rtt_ms_p95: Summary::of(&[rtt]),
        page_load_s_mean: None,
        dash_stalled_percent: None,
        dash_qoe_mean: None,
        loses_too_much: false,
        too_late: false,
        sluggish: false,
        dominated_by: None,
        yardstick: false,
        as_good: false,
        recommended: false,
    }
}

fn lossy(method: &str, loss: f64, delay: f64, goodput: f64) -> Choice {
    Choice { loss_percent: Summary::of(&[loss]), ..choice(method, delay, 50.0, goodput) }
}

/// The name of the recommended method of `choices`.
fn taken(choices: &[Choice]) -> Option<String> {
    let mut choices = choices.to_vec();
    judge(&mut choices, true);
    let mut found = choices.into_iter().filter(|c| c.recommended).map(|c| c.method);
    let first = found.next();
    assert_eq!(found.next(), None, "one at most");
    first
}

#[test]
fn a_method_better_in_one_number_and_worse_in_none_dominates_another() {
    let a = choice("a", 5.0, 50.0, 10.0);
    assert!(!a.dominates(&a), "an equal");
    assert!(a.dominates(&choice("b", 5.0, 50.0, 9.9)));
    assert!(!a.dominates(&choice("b", 4.9, 90.0, 9.0)));
    assert!(!a.dominates(&choice("b", 9.0, 49.0, 9.0)));
    assert!(!a.dominates(&choice("b", 9.0, 90.0, 10.1)));
    let (a, b) = (lossy("a", 0.2, 5.0, 10.0), lossy("b", 0.1, 9.0, 9.0));
    assert!(!a.dominates(&b) && !b.dominates(&a), "it loses less");
    assert!(a.dominates(&lossy("b", 0.3, 5.0, 10.0)));
}

#[test]
fn neither_delay_nor_goodput_is_bought_with_more_than_one_per_cent_of_losses() {
    let call = [
        lossy("sound", 0.5, 40.0, 8.0),
        lossy("deadline", 1.51, 4.0, 10.0),
        lossy("none left", 50.0, 2.0, 12.0),
    ];
    assert_eq!(taken(&call).as_deref(), Some("sound"));
    let mut judged = call.clone();
    judge(&mut judged, true);
    assert_eq!(judged.map(|c| c.loses_too_much), [false, true, true]);
    let within = [call[0].clone(), lossy("deadline", 1.5, 4.0, 10.0)];
    assert_eq!(taken(&within).as_deref(), Some("deadline"), "one per cent is allowed");
    assert_eq!(taken(&call[1..]).as_deref(), Some("deadline"), "the least is beside it");
}

#[test]
fn a_delay_above_400_ms_serves_no_call_if_another_method_is_in_time() {
    let full = choice("full", 16_000.0, 20_000.0, 10.0);
    let slow = choice("slow", 400.0, 20_000.0, 6.0);
    assert_eq!(taken(&[full.clone(), slow.clone()]).as_deref(), Some("slow"));
    let lossy = Choice { loss_percent: Summary::of(&[2.0]), ..slow.clone() };
    assert_eq!(taken(&[full.clone(), lossy]).as_deref(), Some("full"));
    let outage = choice("outage", 450.0, 30.0, 9.9);
    assert_eq!(taken(&[full.clone(), outage]).as_deref(), Some("outage"));
    let most = choice("most", 5.0, 30.0, 9.6);
    let fastest = choice("fastest", 1.0, 30.0, 9.4);
    let both = [full.clone(), most, fastest];
    assert_eq!(taken(&both).as_deref(), Some("most"), "94 % of the first");
    let mut downloads = [full, slow];
    judge(&mut downloads, false);
    assert_eq!(downloads.map(|c| c.too_late), [false, false], "of downloads");
}

#[test]
fn a_method_under_which_no_packet_of_a_call_arrives_is_too_late_if_another_is_in_time() {
    let none = |of: Choice| Choice { delay_ms_p99: None, ..of };
    let starved = none(choice("starved", 0.0, 20.0, 10.0));
    let served = choice("served", 15.0, 60.0, 8.0);
    let mut both = [starved.clone(), served.clone()];
    judge(&mut both, true);
    assert_eq!(both.each_ref().map(|c| c.too_late), [true, false]);
    assert!(both[1].recommended && both[1].dominated_by.is_none());
    let late = choice("late", 9000.0, 60.0, 8.0);
    assert_eq!(taken(&[starved.clone(), late]).as_deref(), Some("starved"), "no call is in time");
    let all = over_all(&[vec![starved, served.clone()], both.to_vec()], true);
    assert_eq!(recommended(&all).map(|c| c.method.as_str()), Some("served"));
    let open = Choice { rtt_ms_p95: None, ..choice("open", 4.0, 0.0, 10.0) };
    assert_eq!(taken(&[open, served]).as_deref(), Some("served"), "its round trips never end");
}

#[test]
fn where_nothing_arrives_under_any_method_none_is_recommended() {
    let idle =
        |method| Choice { delay_ms_p99: None, rtt_ms_p95: None, ..choice(method, 0.0, 0.0, 0.0) };
    assert_eq!(taken(&[idle("a"), idle("b")]), None);
    let download = Choice { goodput_mbit_s: Summary::of(&[1.0]), ..idle("b") };
    assert_eq!(taken(&[idle("a"), download]).as_deref(), Some("b"));
}

#[test]
fn a_flow_whose_packets_wait_to_the_end_of_one_run_has_no_delay() {
    let run = |seed, delivered_packets, dropped_packets| {
        let mut run = crate::model::example::comparison(1).groups.remove(0).runs.remove(0);
        run.seed = seed;
        for flow in run.flows.iter_mut().filter(|flow| flow.low_latency) {
            (flow.entered_packets, flow.delivered_packets) = (200, delivered_packets);
            flow.dropped_packets = dropped_packets;
        }
        run
    };
    let delay = |runs: &[RunResult]| choices(runs)[0].delay_ms_p99.is_some();
    assert!(delay(&[run(1, 190, 0), run(2, 1, 0)]), "some packet arrives");
    assert!(!delay(&[run(1, 190, 0), run(2, 0, 50)]));
    assert!(delay(&[run(1, 190, 0), run(2, 0, 200)]), "losses are another matter");
}

#[test]
fn the_clairvoyant_policy_sets_no_bar_for_losses() {
    let yardstick = Choice { yardstick: true, ..lossy("clairvoyant", 0.0, 1.0, 12.0) };
    let choices = [yardstick, lossy("a", 3.0, 5.0, 10.0), lossy("b", 3.5, 2.0, 10.0)];
    assert_eq!(taken(&choices).as_deref(), Some("b"));
}

#[test]
fn losses_are_of_the_worst_low_latency_flow_without_tcp_meaned_over_the_runs() {
    let flow = |name: &str, protocol: &str, low_latency, dropped_packets| FlowResult {
        name: name.into(),
        protocol: protocol.into(),
        low_latency,
        entered_packets: 200,
        // Packets neither delivered nor dropped are still queued, and not lost.
        delivered_packets: 10,
        dropped_packets,
        ..FlowResult::default()
    };
    let run = |dropped| RunResult {
        method: "a".into(),
        flows: vec![
            flow("call", "udp", true, dropped),
            flow("game", "udp", true, 1),
            flow("video", "tcp", true, 100),
            flow("download", "tcp", false, 150),
        ],
        ..RunResult::default()
    };
    let mut runs = vec![run(2), run(6)];
    let loss = |runs: &[RunResult]| choices(runs)[0].loss_percent.map(|s| s.mean);
    assert_eq!(loss(&runs), Some(2.0), "of 1 % and 3 %");
    runs.iter_mut().for_each(|run| run.flows.drain(..2).for_each(drop));
    assert_eq!(loss(&runs), None, "TCP alone");
    runs.iter_mut().for_each(|run| run.flows.drain(..1).for_each(drop));
    assert_eq!(loss(&runs), None, "no low-latency flow");
}

#[test]
fn goodput_within_a_twentieth_comes_first_then_delay_then_round_trips() {
    let rivals = [
        choice("slow", 1.0, 20.0, 9.49),
        choice("late", 9.0, 30.0, 10.0),
        choice("long", 2.0, 900.0, 9.9),
        choice("right", 2.9, 60.0, 9.6),
    ];
    assert_eq!(taken(&rivals).as_deref(), Some("right"), "0.9 ms more is as good");
    assert_eq!(taken(&rivals[..3]).as_deref(), Some("long"));
    assert_eq!(taken(&[]), None);
}

#[test]
fn the_clairvoyant_policy_is_never_recommended_and_dominates_nobody() {
    let runs = crate::model::example::comparison(3).groups.remove(0).runs;
    let found = choices(&runs);
    let yardsticks: Vec<&Choice> = found.iter().filter(|c| c.yardstick).collect();
    assert!(yardsticks.len() == 1 && !yardsticks[0].recommended);
    assert_eq!(found.iter().filter(|c| c.recommended).count(), 1);
    let by = |c: &Choice| c.dominated_by.as_deref().is_some_and(is_clairvoyant);
    assert!(!found.iter().any(by));
    assert!(found.iter().all(|c| !c.recommended || c.dominated_by.is_none()));
}

fn with_pages(page_s: Option<f64>, of: Choice) -> Choice {
    Choice { page_load_s_mean: page_s.and_then(|s| Summary::of(&[s])), ..of }
}

#[test]
fn pages_of_five_times_the_best_and_round_trips_of_ten_times_above_a_second_are_sluggish() {
    let fast = with_pages(Some(1.0), choice("fast", 40.0, 90.0, 9.0));
    let pages = with_pages(Some(5.1), choice("pages", 4.0, 90.0, 10.0));
    let none = with_pages(None, choice("none loads", 4.0, 90.0, 10.0));
    let long = with_pages(Some(1.0), choice("long", 4.0, 1001.0, 10.0));
    for other in [&pages, &none, &long] {
        let mut both = [fast.clone(), other.clone()];
        judge(&mut both, true);
        assert_eq!(both.each_ref().map(|c| c.sluggish), [false, true], "{}", other.method);
        assert!(both[0].recommended, "its goodput does not count");
    }
    let enough = with_pages(Some(5.0), choice("enough", 4.0, 90.0, 10.0));
    let second = with_pages(Some(1.0), choice("a second", 4.0, 1000.0, 10.0));
    let near = with_pages(Some(1.0), choice("near", 4.0, 1001.0, 10.0));
    for (other, rtt) in [(enough, 90.0), (second, 90.0), (near, 101.0)] {
        let mut both = [with_pages(Some(1.0), choice("fast", 40.0, rtt, 9.0)), other];
        judge(&mut both, true);
        assert_eq!(both.map(|c| c.sluggish), [false, false]);
    }
}

#[test]
fn video_that_stalls_over_one_per_cent_more_of_the_time_or_never_begins_is_sluggish() {
    let with = |percent: Option<f64>, of: Choice| Choice {
        dash_stalled_percent: percent.and_then(|percent| Summary::of(&[percent])),
        ..of
    };
    let smooth = with(Some(0.5), choice("smooth", 40.0, 90.0, 9.0));
    for (percent, sluggish) in [(Some(1.5), false), (Some(1.6), true), (None, true)] {
        let other = with(percent, choice("other", 4.0, 90.0, 10.0));
        let mut both = [smooth.clone(), other];
        judge(&mut both, true);
        assert_eq!(both.each_ref().map(|c| c.sluggish), [false, sluggish], "{percent:?}");
        assert_eq!(both[0].recommended, sluggish);
    }
}

#[test]
fn of_methods_that_are_all_sluggish_one_is_recommended() {
    let pages = with_pages(Some(9.0), choice("pages", 4.0, 90.0, 10.0));
    let long = with_pages(Some(1.0), choice("long", 5.0, 5000.0, 10.0));
    let mut both = [pages, long];
    judge(&mut both, true);
    assert_eq!(both.each_ref().map(|c| c.sluggish), [true, true]);
    assert!(both[0].recommended);
}

#[test]
fn over_all_round_trips_a_method_has_the_mean_of_its_numbers_or_is_out_without_a_run() {
    let near = vec![choice("a", 2.0, 30.0, 10.0), choice("b", 5.0, 30.0, 10.0)];
    let far = vec![
        choice("a", 4.0, 90.0, 1.0),
        choice("b", 6.0, 90.0, 9.0),
        choice("here alone", 1.0, 80.0, 10.0),
    ];
    assert_eq!(taken(&near).as_deref(), Some("a"));
    let all = over_all(&[near, far], true);
    let names: Vec<&str> = all.iter().map(|c| c.method.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let of = |choice: &Choice| {
        [choice.delay_ms_p99, choice.goodput_mbit_s].map(|s| s.expect("a number").mean)
    };
    assert_eq!([of(&all[0]), of(&all[1])], [[3.0, 5.5], [5.5, 9.5]]);
    assert_eq!(recommended(&all).map(|c| c.method.as_str()), Some("b"), "it holds at both");
}

#[test]
fn agreement_counts_the_fresh_seeds_that_recommend_each_method() {
    let runs = crate::model::example::comparison(3).groups.remove(0).runs;
    let alone = |seed| {
        let of_seed: Vec<RunResult> = runs.iter().filter(|r| r.seed == seed).cloned().collect();
        choices(&of_seed)
    };
    let taken = |seed| recommended(&alone(seed)).expect("one").method.clone();
    let found = agreement(&[&runs], &[1, 2, 3], &taken(1));
    assert_eq!((&found.seeds[..], found.method == taken(1)), (&[1, 2, 3][..], true));
    assert_eq!(found.recommended.values().sum::<u32>(), 3);
    let same = (1..=3).filter(|seed| taken(*seed) == taken(1)).count();
    assert_eq!(found.recommended[&taken(1)] as usize, same);
    let good = |seed: &u64| alone(*seed).iter().any(|c| c.as_good && c.method == taken(1));
    assert_eq!(found.as_good as usize, (1..=3).filter(good).count());
    assert!(agreement(&[&runs], &[], "a").recommended.is_empty());
}
