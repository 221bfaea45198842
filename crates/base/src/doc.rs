//! How an algorithm describes itself: the one source of `justfull explain`, `justfull list` and the reference pages.

/// One setting of an algorithm, as a user writes it in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamDoc {
    /// Key in the scenario file.
    pub name: &'static str,
    /// Unit or type, e.g. `time`, `packets`, `ratio`, `bool`, or the choices.
    pub unit: &'static str,
    /// Allowed values in words.
    pub bounds: &'static str,
    /// Default as it is written in a scenario file.
    pub default: &'static str,
    /// What it does.
    pub text: &'static str,
}

impl ParamDoc {
    /// The setting `name`; the other arguments are the fields in order.
    #[must_use]
    pub const fn new(
        name: &'static str,
        unit: &'static str,
        bounds: &'static str,
        default: &'static str,
        text: &'static str,
    ) -> Self {
        Self { name, unit, bounds, default, text }
    }
}

/// What an algorithm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodDoc {
    /// Name in scenario files, e.g. `codel`.
    pub name: &'static str,
    /// What kind of thing it is: `aqm`, `discipline`, `limiter`, `pacer`, `scheduler`, `resource block scheduler`,
    /// `congestion control`, `channel`.
    pub kind: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it does, a paragraph.
    pub text: &'static str,
    /// Sources with sections.
    pub sources: &'static str,
    /// Where it departs from the source and why, or "none".
    pub deviations: &'static str,
    /// Settings in the order of the configuration.
    pub params: &'static [ParamDoc],
}
