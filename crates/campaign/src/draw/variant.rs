//! Variants of the method Justfull-2 in drawn cases: one part off, or one constant changed.

use serde::Deserialize;
use std::fmt::Write as _;

/// How the name of a method's form for CU and DU apart ends.
pub const SPLIT: &str = "-split";

/// Justfull-2 with other settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The name of the variant.
    pub name: String,
    /// The settings of the discipline `lanes`.
    #[serde(default)]
    pub lanes: toml::Table,
    /// The settings of `uplink.cell_aqm`.
    #[serde(default)]
    pub cell_aqm: toml::Table,
    /// Leave `uplink.cell_aqm` out.
    #[serde(default)]
    pub without_cell_aqm: bool,
}

/// Justfull-2 with one of its parts off; `justfull explain lanes` describes the parts.
const WITHOUT: [(&str, &str); 10] = [
    ("without cell_aqm", "without_cell_aqm = true"),
    ("without classes", "lanes = { classes = false }"),
    ("without steady", "lanes = { steady = \"0s\" }"),
    ("without reach", "lanes = { reach = \"0s\" }"),
    ("without reserve", "lanes = { reserve = \"15ms\", ceiling = \"15ms\", reach = \"0s\" }"),
    ("without deadline", "lanes = { deadline = \"0s\" }"),
    ("without dip", "lanes = { dip = \"0s\" }"),
    ("without spare_small", "lanes = { spare_small = false }"),
    ("without interrupt", "lanes = { interrupt = false }"),
    ("without marks", "lanes = { ecn = false }"),
];

/// Justfull-2 with other values of its constants.
const OTHER: [(&str, &str); 21] = [
    ("target 10ms", "lanes = { target = \"10ms\" }"),
    ("target 20ms", "lanes = { target = \"20ms\" }"),
    ("interval 50ms", "lanes = { interval = \"50ms\" }"),
    ("interval 200ms", "lanes = { interval = \"200ms\" }"),
    ("reserve 15ms", "lanes = { reserve = \"15ms\" }"),
    ("reserve 40ms", "lanes = { reserve = \"40ms\" }"),
    ("ceiling 25ms", "lanes = { ceiling = \"25ms\" }"),
    ("ceiling 90ms", "lanes = { ceiling = \"90ms\" }"),
    ("memory 10s", "lanes = { memory = \"10s\" }"),
    ("memory 90s", "lanes = { memory = \"90s\" }"),
    ("deadline 40ms", "lanes = { deadline = \"40ms\" }"),
    ("deadline 90ms", "lanes = { deadline = \"90ms\" }"),
    ("dip 1s", "lanes = { dip = \"1s\" }"),
    ("dip 4s", "lanes = { dip = \"4s\" }"),
    ("spacing 8", "lanes = { spacing = 8 }"),
    ("reach 30ms", "lanes = { reach = \"30ms\" }"),
    ("reach 120ms", "lanes = { reach = \"120ms\" }"),
    ("steady 25ms", "lanes = { steady = \"25ms\" }"),
    ("steady 100ms", "lanes = { steady = \"100ms\" }"),
    ("cell_aqm target 15ms", "cell_aqm = { target = \"15ms\" }"),
    ("cell_aqm target 60ms", "cell_aqm = { target = \"60ms\" }"),
];

/// The variants of a study, as the lines of a campaign's file.
#[must_use]
pub fn tables(of_parts: bool) -> String {
    let variants: &[(&str, &str)] = if of_parts { &WITHOUT } else { &OTHER };
    let table = |(name, settings): &(&str, &str)| {
        format!("[[draw.variant]]\nname = \"{name}\"\n{settings}\n")
    };
    variants.iter().map(table).collect()
}

/// The names of the variants of a study, each with its form for a split CU and DU.
pub fn names(of_parts: bool) -> impl Iterator<Item = String> {
    let variants: &[(&str, &str)] = if of_parts { &WITHOUT } else { &OTHER };
    variants.iter().flat_map(|(name, _)| [(*name).to_owned(), format!("{name}{SPLIT}")])
}

impl Variant {
    /// Its two methods in a scenario: lanes in the RLC, and lanes in SDAP for a split CU and DU.
    pub(super) fn toml(&self) -> String {
        let Self { name, lanes, cell_aqm, without_cell_aqm } = self;
        let mut toml = String::new();
        let settings: String =
            lanes.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
        let lanes = format!("{{ kind = \"lanes\"{settings} }}");
        let aqm = if *without_cell_aqm {
            String::new()
        } else {
            let settings: Vec<_> =
                cell_aqm.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("\"uplink.cell_aqm\" = {{ {} }}\n", settings.join(", "))
        };
        // Writing to a string cannot fail.
        let _ = write!(
            toml,
            "[[method]]\nname = \"{name}\"\ntitle = \"Justfull-2 {name}\"\n[method.set]\n\
             \"rlc.queue.discipline\" = {lanes}\n{aqm}\
             [[method]]\nname = \"{name}{SPLIT}\"\ntitle = \"Justfull-2{SPLIT} {name}\"\n\
             [method.set]\n\"rlc.limiter\" = {{ kind = \"hedge\" }}\n\
             \"sdap.queue.discipline\" = {lanes}\n{aqm}"
        );
        toml
    }
}
