//! Variants of the method Justfull-2 in drawn cases: one part off, or one constant changed.

use serde::Deserialize;
use std::fmt::Write as _;

/// Justfull-2 with other settings of its lanes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The name of the variant.
    pub name: String,
    /// The settings of the discipline `lanes`.
    pub lanes: toml::Table,
}

/// Justfull-2 with one of its parts off; `justfull explain lanes` describes the parts.
const WITHOUT: [(&str, &str); 8] = [
    ("without classes", "classes = false"),
    ("without steady", "steady = \"0s\""),
    ("without reach", "reach = \"0s\""),
    ("without reserve", "reserve = \"15ms\", ceiling = \"15ms\", reach = \"0s\""),
    ("without deadline", "deadline = \"0s\""),
    ("without dip", "dip = \"0s\""),
    ("without spacing", "spacing = 0"),
    ("without marks", "ecn = false"),
];

/// Justfull-2 with a lower and a higher value of each of its constants.
const OTHER: [(&str, &str); 20] = [
    ("target 10ms", "target = \"10ms\""),
    ("target 20ms", "target = \"20ms\""),
    ("interval 50ms", "interval = \"50ms\""),
    ("interval 200ms", "interval = \"200ms\""),
    ("reserve 15ms", "reserve = \"15ms\""),
    ("reserve 40ms", "reserve = \"40ms\""),
    ("ceiling 25ms", "ceiling = \"25ms\""),
    ("ceiling 90ms", "ceiling = \"90ms\""),
    ("memory 10s", "memory = \"10s\""),
    ("memory 90s", "memory = \"90s\""),
    ("deadline 60ms", "deadline = \"60ms\""),
    ("deadline 180ms", "deadline = \"180ms\""),
    ("dip 1s", "dip = \"1s\""),
    ("dip 4s", "dip = \"4s\""),
    ("spacing 4", "spacing = 4"),
    ("spacing 16", "spacing = 16"),
    ("reach 30ms", "reach = \"30ms\""),
    ("reach 120ms", "reach = \"120ms\""),
    ("steady 25ms", "steady = \"25ms\""),
    ("steady 100ms", "steady = \"100ms\""),
];

/// The variants of a study, as the lines of a campaign's file.
#[must_use]
pub fn tables(of_parts: bool) -> String {
    let variants: &[(&str, &str)] = if of_parts { &WITHOUT } else { &OTHER };
    let table = |(name, lanes): &(&str, &str)| {
        format!("[[draw.variant]]\nname = \"{name}\"\nlanes = {{ {lanes} }}\n")
    };
    variants.iter().map(table).collect()
}

/// The names of the variants of a study, each with its form for a split CU and DU.
pub fn names(of_parts: bool) -> impl Iterator<Item = String> {
    let variants: &[(&str, &str)] = if of_parts { &WITHOUT } else { &OTHER };
    variants.iter().flat_map(|(name, _)| [(*name).to_owned(), format!("{name}-split")])
}

impl Variant {
    /// Its two methods in a scenario: lanes in the RLC, and lanes in SDAP for a split CU and DU.
    pub(super) fn toml(&self) -> String {
        let Self { name, lanes } = self;
        let mut toml = String::new();
        let settings: String =
            lanes.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
        let lanes = format!("{{ kind = \"lanes\"{settings} }}");
        // Writing to a string cannot fail.
        let _ = write!(
            toml,
            "[[method]]\nname = \"{name}\"\ntitle = \"Justfull-2 {name}\"\n[method.set]\n\
             \"rlc.queue.discipline\" = {lanes}\n\
             [[method]]\nname = \"{name}-split\"\ntitle = \"Justfull-2-split {name}\"\n\
             [method.set]\n\"rlc.limiter\" = {{ kind = \"hedge\" }}\n\
             \"sdap.queue.discipline\" = {lanes}\n"
        );
        toml
    }
}
