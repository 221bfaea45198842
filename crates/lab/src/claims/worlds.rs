//! The worlds in which a paper's claims are judged: today's defaults, the TCP of the paper's time,
//! and further coherent sets of switches.

use super::runs::Case;
use super::{Basis, Claim, ClaimsFile, Options};
use justfull_scenario::library;
use serde::Deserialize;

/// The TCP of the paper's time. Claims on the paper's values are judged with it, claims on an
/// anchor's values with today's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// Heading of its column, e.g. `Linux 4.15`.
    pub name: String,
    /// Switches that are on in each scenario that has them.
    pub switches: Vec<String>,
}

/// A further world in which the whole paper is judged.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// Heading of its column.
    pub name: String,
    /// Switches that are on in each scenario that has them.
    pub switches: Vec<String>,
    /// The reason for this set, in one sentence, and whether a search found it.
    pub why: String,
}

/// The effect of a switch, or of several joined by `+`, on the verdicts of the whole paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchRecord {
    /// Claims that are met with it and missed without it.
    pub mends: usize,
    /// Claims that are missed with it and met without it.
    pub breaks: usize,
    /// False if the paper cannot mean it.
    #[serde(default = "yes")]
    pub explains: bool,
    /// The reason why it explains nothing, or its meaning.
    #[serde(default)]
    pub why: String,
}

const fn yes() -> bool {
    true
}

/// A world by its place in [`ClaimsFile::worlds`].
pub(super) type WorldIndex = usize;

/// Today's defaults of the scenarios.
pub(super) const TODAY: WorldIndex = 0;

/// The conditions under which a claim is evaluated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Under<'a> {
    pub(super) world: WorldIndex,
    /// A switch on top of the world, or several joined by `+`; empty for none.
    pub(super) switch: &'a str,
}

impl ClaimsFile {
    /// Name and switches of each world: today's, the world of the paper's time, and the others.
    pub(super) fn worlds(&self) -> Vec<(&str, &[String])> {
        let period = self.period.iter().map(|p| (p.name.as_str(), p.switches.as_slice()));
        let others = self.world.iter().map(|w| (w.name.as_str(), w.switches.as_slice()));
        std::iter::once(("today", [].as_slice())).chain(period).chain(others).collect()
    }

    /// The world in which `claim` is judged.
    pub(super) fn world_of(&self, claim: &Claim) -> WorldIndex {
        match claim.basis {
            Basis::Paper if self.period.is_some() => 1,
            Basis::Paper | Basis::Anchor => TODAY,
        }
    }

    /// Number of worlds, from today's on, in the table of a reproduction with `options`.
    pub(super) fn worlds_shown(&self, options: &Options) -> usize {
        if options.short || options.judged_alone {
            return 1 + usize::from(self.period.is_some());
        }
        self.worlds().len()
    }

    /// The worlds in which a reproduction with `options` evaluates `claim`.
    pub(super) fn worlds_for(&self, claim: &Claim, options: &Options) -> Vec<WorldIndex> {
        if options.short || options.judged_alone {
            return vec![self.world_of(claim)];
        }
        (0..self.worlds().len()).collect()
    }

    /// The case of `scenario` in a world with `own`, the claim's own switch, and the additional
    /// switch. A switch that the scenario lacks has no effect.
    pub(super) fn case(&self, scenario: &str, trace: &str, own: &str, under: Under<'_>) -> Case {
        let worlds = self.worlds();
        let world = worlds.get(under.world).map_or([].as_slice(), |(_, switches)| switches);
        let all = world.iter().map(String::as_str).chain([own, under.switch]);
        let mut on: Vec<&str> = Vec::new();
        for name in all.flat_map(parts) {
            if has_switch(scenario, name) && !on.contains(&name) {
                on.push(name);
            }
        }
        Case { scenario: scenario.into(), trace: trace.into(), on: on.join("+") }
    }

    /// The switches that claims name, each once, in the order of the file.
    pub(super) fn switches_named(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.claim.iter().flat_map(|claim| &claim.switches) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

/// The switches in `joined`.
pub(super) fn parts(joined: &str) -> impl Iterator<Item = &str> {
    joined.split('+').filter(|name| !name.is_empty())
}

/// True if the shipped `scenario` has the switch `name`: as a table, `[switches.NAME]`, or in
/// tables and lists below it, `[[switches.NAME.ue]]`.
pub(super) fn has_switch(scenario: &str, name: &str) -> bool {
    let text = library::scenario(scenario).unwrap_or_default();
    text.lines().any(|line| {
        let rest = line.trim_start_matches('[').strip_prefix("switches.");
        let found = rest.filter(|_| line.starts_with('[')).and_then(|rest| {
            let (quoted, plain) = (rest.strip_prefix('"'), rest.split(['.', ']']).next());
            quoted.map_or(plain, |quoted| quoted.split('"').next())
        });
        found == Some(name)
    })
}
