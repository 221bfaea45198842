//! The allowed values of a parameter: the vocabulary of [`params!`](crate::params).

use crate::doc::ParamDoc;
use crate::error::ConfigError;
use crate::param::{Form, Param, written_table};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Most characters of a value that an error repeats: lists can be long.
const LONGEST_FOUND: usize = 80;

/// One end of a range.
#[derive(Clone, Copy, Debug)]
struct Edge<T> {
    at: T,
    included: bool,
}

/// A rule in words, and the check for it.
type Rule<C> = (&'static str, fn(&C) -> bool);

/// The allowed values of a parameter of type `T` in a configuration `C`: a range, a rule, or both.
#[derive(Clone, Debug)]
pub struct Bounds<C, T> {
    low: Option<Edge<T>>,
    high: Option<Edge<T>>,
    compare: fn(&T, &T) -> Option<Ordering>,
    rule: Option<Rule<C>>,
}

/// The required key `name` of a table that a type parses itself.
#[must_use]
pub fn key<T: Param>(name: &'static str, text: &'static str) -> ParamDoc {
    free::<(), T>().describe(name, None, None, text)
}

/// No bounds beyond the type's.
#[must_use]
pub fn free<C, T>() -> Bounds<C, T> {
    Bounds { low: None, high: None, compare: |_, _| None, rule: None }
}

/// `default` as documentation shows it; a table with its own defaults is `{}`.
fn written_default<T: Param>(default: &T) -> String {
    let text = default.written();
    let Form::Table(params) = T::form() else { return text };
    let own: Vec<_> = params.iter().map(|param| (param.name, param.default.clone())).collect();
    if text == written_table(&own) { "{}".into() } else { text }
}

/// The rule stated by `text` and checked by `holds`.
#[must_use]
pub fn rule<C, T>(text: &'static str, holds: fn(&C) -> bool) -> Bounds<C, T> {
    free().and(text, holds)
}

/// The rule stated by `text`. It needs more than the configuration and is checked elsewhere.
#[must_use]
pub fn stated<C, T>(text: &'static str) -> Bounds<C, T> {
    rule(text, |_| true)
}

/// `least` or more.
#[must_use]
pub fn at_least<C, T: PartialOrd>(least: T) -> Bounds<C, T> {
    Bounds { low: Some(Edge { at: least, included: true }), compare: T::partial_cmp, ..free() }
}

/// More than `low`.
#[must_use]
pub fn above<C, T: PartialOrd>(low: T) -> Bounds<C, T> {
    Bounds { low: Some(Edge { at: low, included: false }), compare: T::partial_cmp, ..free() }
}

/// `most` or less.
#[must_use]
pub fn at_most<C, T: PartialOrd>(most: T) -> Bounds<C, T> {
    Bounds { compare: T::partial_cmp, ..free() }.to(most)
}

/// From `least` to `most`, both included.
#[must_use]
pub fn within<C, T: PartialOrd>(least: T, most: T) -> Bounds<C, T> {
    at_least(least).to(most)
}

impl<C, T> Bounds<C, T> {
    /// These bounds, and `most` or less.
    #[must_use]
    pub fn to(self, most: T) -> Self {
        Self { high: Some(Edge { at: most, included: true }), ..self }
    }

    /// These bounds, and less than `high`.
    #[must_use]
    pub fn below(self, high: T) -> Self {
        Self { high: Some(Edge { at: high, included: false }), ..self }
    }

    /// These bounds, and the rule stated by `text` and checked by `holds`.
    #[must_use]
    pub fn and(self, text: &'static str, holds: fn(&C) -> bool) -> Self {
        Self { rule: Some((text, holds)), ..self }
    }
}

impl<C, T: Param> Bounds<C, T> {
    /// The allowed values, in words.
    #[must_use]
    pub fn text(&self) -> String {
        let edge = |edge: &Option<Edge<T>>| edge.as_ref().map(|e| (e.at.written(), e.included));
        let range = match (edge(&self.low), edge(&self.high)) {
            (None, None) => None,
            (Some((low, true)), None) => Some(format!("at least {low}")),
            (Some((low, false)), None) => Some(format!("above {low}")),
            (None, Some((high, true))) => Some(format!("at most {high}")),
            (None, Some((high, false))) => Some(format!("below {high}")),
            (Some((low, true)), Some((high, true))) => Some(format!("{low} to {high}")),
            (Some((low, true)), Some((high, false))) => Some(format!("{low} to below {high}")),
            (Some((low, false)), Some((high, true))) => {
                Some(format!("above {low}, at most {high}"))
            }
            (Some((low, false)), Some((high, false))) => Some(format!("above {low}, below {high}")),
        };
        match (range, self.rule) {
            (None, None) => T::allowed(),
            (Some(range), None) => range,
            (None, Some((rule, _))) => rule.into(),
            (Some(range), Some((rule, _))) => format!("{range}, {rule}"),
        }
    }

    /// Checks `value`, the field `name` of `config`; `source` is the origin of the bounds.
    ///
    /// # Errors
    /// The value is outside these bounds or the bounds of its type.
    pub fn check(
        &self,
        config: &C,
        name: &str,
        value: &T,
        source: &'static str,
    ) -> Result<(), ConfigError> {
        let from = |edge: &Edge<T>, side| match (self.compare)(value, &edge.at) {
            Some(Ordering::Equal) => edge.included,
            other => other == Some(side),
        };
        let ok = self.low.as_ref().is_none_or(|edge| from(edge, Ordering::Greater))
            && self.high.as_ref().is_none_or(|edge| from(edge, Ordering::Less))
            && self.rule.is_none_or(|(_, holds)| holds(config));
        if !ok {
            let mut found = value.written();
            if found.is_empty() {
                found.push_str("\"\"");
            }
            if let Some((most, _)) = found.char_indices().nth(LONGEST_FOUND) {
                found.replace_range(most.., "...");
            }
            return Err(ConfigError::new(name, &found, &self.text(), source));
        }
        value.check().map_err(|e| e.within(name))
    }

    /// Describes the parameter `name` with these bounds. Without a default it is required.
    #[must_use]
    pub fn describe(
        &self,
        name: &'static str,
        unit: Option<&'static str>,
        default: Option<T>,
        text: &'static str,
    ) -> ParamDoc {
        let edge = |edge: &Option<Edge<T>>| {
            edge.as_ref().and_then(|e| e.at.number().map(|at| (at, e.included)))
        };
        ParamDoc {
            name,
            unit: unit.unwrap_or(T::UNIT),
            bounds: self.text(),
            default: default.as_ref().map_or_else(|| "required".into(), written_default),
            required: default.is_none(),
            text: text.trim_ascii_start(),
            form: T::form(),
            low: edge(&self.low),
            high: edge(&self.high),
        }
    }
}
