//! `check` on hosts with rules and routes of their own: a client's connection passes, or `check`
//! names the obstacle and a command that removes it.

use super::faults::{assert_serves, command, installed};
use super::site::{nft, refusals};
use super::*;

/// A table `host` with one chain.
fn table(hook: &str, priority: &str, policy: &str, rules: &str) -> String {
    format!(
        "table inet host {{ chain c {{ type filter hook {hook} priority {priority}; policy \
         {policy};\n{rules}\n}}\n}}"
    )
}

/// What every host lets pass.
const USUAL: &str = "iif lo accept\nct state established,related accept\n\
                     meta l4proto { icmp, ipv6-icmp } accept";

/// Connections of both families are split.
fn assert_splits(world: &World, what: &str) {
    let before = world.status()["accepted"].as_u64().expect("a number");
    for family in 0..2 {
        assert_serves(world, world.serve(family, sender), 1);
    }
    assert_eq!(world.status()["accepted"], before + 2, "{what}");
}

/// The commands for `nft` in a text.
fn commands(text: &str) -> Vec<&str> {
    text.split('`').filter(|part| part.starts_with("nft insert rule ")).collect()
}

/// Runs the commands that `check` names, again and again: a host may have several obstacles, and
/// each trial names one of a family. Returns what is left.
fn mended(world: &World, mut said: String) -> String {
    for _ in 0..4 {
        for words in commands(&said).into_iter().collect::<BTreeSet<_>>() {
            command(world, Place::Middle, &words.split(' ').collect::<Vec<_>>());
        }
        said = refusals(world);
        if said.is_empty() {
            break;
        }
    }
    said
}

/// For each host: `check` says `told`, its commands remove the obstacle, and clients pass.
fn assert_mends(hosts: &[(String, &str)]) {
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    for (rules, told) in hosts {
        nft(&world, rules);
        let first = refusals(&world);
        assert!(first.contains(told), "{rules}: {first}");
        assert_eq!(mended(&world, first), "", "{rules}");
        assert_splits(&world, rules);
        nft(&world, "delete table inet host");
    }
}

#[test]
fn rules_for_what_this_host_sends_are_named_with_what_mends_them() {
    assert_mends(&[
        (table("output", "0", "drop", USUAL), "the policy of chain c in table inet host drops it"),
        (table("output", "-400", "accept", "fib saddr type != local drop"), "of chain c"),
        (
            table("output", "0", "accept", "oifname \"core\" fib saddr type != local drop"),
            "no connection to a server comes about: rule 2 of chain c",
        ),
        (
            table("postrouting", "0", "accept", "meta iif 0 oifname \"ran\" meta l4proto tcp drop"),
            "rule 2 of chain c in table inet host drops it",
        ),
    ]);
}

#[test]
fn rules_about_tracking_and_lo_are_named_with_what_mends_them() {
    let foreign = "iif lo ip saddr != 127.0.0.0/8 drop\niif lo ip6 saddr != ::1 drop";
    assert_mends(&[
        (
            table("input", "0", "accept", "meta l4proto tcp ct state untracked drop"),
            "no connection of a UE arrives: rule 2 of chain c",
        ),
        (table("prerouting", "-300", "accept", foreign), "no connection of a UE arrives"),
    ]);
}

#[test]
fn rules_about_marks_are_named_with_what_mends_them() {
    assert_mends(&[(table("input", "0", "accept", "meta mark != 0 drop"), "rule 2 of chain c")]);
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    let sets = "iifname != \"x\" meta l4proto tcp meta mark set 5";
    nft(&world, &table("prerouting", "-10", "accept", sets));
    let told = refusals(&world);
    assert!(told.contains("rule 2 of chain c in table inet host sets mark 0x5 on it"), "{told}");
    for words in commands(&told).into_iter().collect::<BTreeSet<_>>() {
        command(&world, Place::Middle, &words.split(' ').collect::<Vec<_>>());
    }
    assert_splits(&world, "the proxy's mark stays");
}

#[test]
fn rules_that_let_a_part_pass_are_named_and_rules_about_others_are_not() {
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    for (hook, rule, told) in [
        ("input", "meta l4proto tcp limit rate over 900/second burst 900 packets drop", true),
        ("output", "meta l4proto tcp quota over 1000 mbytes drop", true),
        ("input", "iifname \"eth9\" limit rate over 9/second drop", false),
        ("input", "tcp dport 22 ct state new limit rate 10/minute accept", false),
        ("input", "icmp type echo-request limit rate 5/second accept", false),
        ("input", "limit rate 3/minute log prefix \"x\"", false),
        (
            "output",
            "fib saddr type != local accept\nmeta l4proto tcp quota over 1000 mbytes drop",
            false,
        ),
    ] {
        nft(&world, &table(hook, "0", "accept", rule));
        let found = refusals(&world);
        assert_eq!(found.contains("lets a part of the packets pass"), told, "{rule}: {found}");
        assert!(told || found.is_empty(), "{rule}: {found}");
        assert!(!told || mended(&world, found).is_empty(), "{rule}");
        nft(&world, "delete table inet host");
    }
}

#[test]
fn rules_for_clients_and_servers_alone_stop_no_check() {
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    for rules in [
        // Addresses for documentation.
        table(
            "prerouting",
            "-300",
            "accept",
            "ip saddr { 192.0.2.0/24, 198.51.100.0/24 } drop\n\
             ip6 saddr 2001:db8::/32 drop",
        ),
        table("input", "0", "drop", "iif lo accept\niifname { \"ran\", \"core\" } accept"),
        table(
            "input",
            "0",
            "drop",
            "iif lo accept\nip saddr { 10.45.0.0/16, 10.46.0.0/16 } accept\n\
             ip6 saddr { fd45::/16, fd46::/16 } accept\nmeta l4proto ipv6-icmp accept",
        ),
        // Other ports are denied, also without the proxy.
        format!(
            "{}\n{}",
            table(
                "forward",
                "0",
                "drop",
                "iifname \"ran\" tcp dport 443 accept\n\
                 ct state established,related accept"
            ),
            table(
                "output",
                "0",
                "drop",
                "tcp dport 443 accept\nct state established,related,untracked accept\n\
                 meta l4proto { icmp, ipv6-icmp } accept"
            )
            .replace("chain c", "chain o"),
        ),
        table("prerouting", "-300", "accept", "iifname \"ran\" ct zone set 1"),
    ] {
        nft(&world, &rules);
        assert_eq!(refusals(&world), "", "{rules}");
        nft(&world, "delete table inet host");
    }
}

/// A rule of `ip rule` before the proxy's takes its clients' packets.
#[test]
fn a_policy_rule_before_the_proxys_is_named_with_the_priority_that_mends_it() {
    if !can_build() {
        return;
    }
    let mut world = World::new("");
    for text in [
        "ip rule add from 10.45.0.0/16 lookup 100 priority 50",
        "ip route add 10.46.0.0/16 dev core table 100",
        "ip -6 rule add iif ran lookup 100 priority 50",
        "ip -6 route add fd46::/16 dev core table 100",
    ] {
        command(&world, Place::Middle, &text.split(' ').collect::<Vec<_>>());
    }
    let told = refusals(&world);
    assert!(told.contains("the rule 50 of `ip rule` (from 10.45.0.0/16 lookup 100)"), "{told}");
    assert!(told.contains("the rule 50 of `ip rule` (iif ran lookup 100)"), "{told}");
    assert_eq!(told.matches("`route.priority = 48`").count(), 2, "{told}");
    world.signal(Signal::SIGTERM);
    assert_eq!(world.ended(), Some(0));
    let file = world.path("rapid.toml");
    let text = fs::read_to_string(&file).expect("a file");
    fs::write(&file, format!("{text}[route]\npriority = 48\n")).expect("a file");
    assert_eq!(refusals(&world), "");
    world.proxy = spawn(&world.chain, &world.folder);
    assert_splits(&world, "the proxy's rule is first");
}

/// Many servers have no IPv6.
#[test]
fn a_host_without_ipv6_splits_ipv4_and_check_says_so() {
    if !can_build() {
        return;
    }
    let mut world = World::new("");
    world.signal(Signal::SIGTERM);
    assert_eq!(world.ended(), Some(0));
    command(&world, Place::Middle, &["sysctl", "-qw", "net.ipv6.conf.lo.disable_ipv6=1"]);
    assert_eq!(refusals(&world), "");
    world.proxy = spawn(&world.chain, &world.folder);
    assert_serves(&world, world.serve(0, sender), 1);
    assert_serves(&world, world.serve(1, sender), 1);
    assert_eq!(world.status()["accepted"], 1, "IPv6 passes");
}

/// The rows of the guide with a command: the rules that the row is about.
#[test]
fn each_command_of_the_guide_lets_connections_pass() {
    const GUIDE: &str = include_str!("../../../../docs/guide/rapid-in-service.md");
    if !can_build() || !installed("nft") {
        return;
    }
    let world = World::new("");
    let part = GUIDE.split("## The host it stands on").nth(1).expect("a part");
    let all = commands(part.split("\n## ").next().expect("its text"));
    let chains: Vec<&str> = all.iter().filter_map(|words| words.split(' ').nth(5)).collect();
    assert_eq!(chains, ["input", "output", "prerouting"], "each once");
    for (words, chain) in all.into_iter().zip(chains) {
        let rules = match chain {
            "prerouting" => "meta l4proto tcp ct state untracked drop".to_owned(),
            "output" => USUAL.replace("iif", "oif"),
            _ => USUAL.to_owned(),
        };
        let policy = if chain == "prerouting" { "accept" } else { "drop" };
        let text = table(chain, "0", policy, &rules).replace("chain c", &format!("chain {chain}"));
        nft(&world, &text.replace("inet host", "inet filter"));
        assert!(refusals(&world).contains("drops it"), "{chain}");
        command(&world, Place::Middle, &words.split(' ').collect::<Vec<_>>());
        assert_eq!(refusals(&world), "", "{words}");
        assert_splits(&world, words);
        nft(&world, "delete table inet filter");
    }
}
