//! How an algorithm describes itself: the one source of `justfull explain`, `justfull list`, the
//! reference pages and the JSON Schema.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The allowed content of one place in a scenario file.
#[derive(Clone, Debug)]
pub enum Form {
    /// `true` or `false`.
    Bool,
    /// A whole number within these limits.
    Integer(i64, u64),
    /// Any number.
    Number,
    /// Text of a type of its own.
    Text(TextForm),
    /// One of these names.
    Choice(Vec<&'static str>),
    /// Entries of one form: exactly the given number, or any number.
    List(Box<Form>, Option<usize>),
    /// Entries of one form under names chosen by the user.
    Map(Box<Form>),
    /// A table with these keys and no other.
    Table(Vec<ParamDoc>),
    /// A table whose key `kind` names one of these; the other keys are its parameters.
    Kinds(Vec<&'static MethodDoc>),
    /// Any of several forms.
    OneOf(Vec<Form>),
    /// Anything.
    Any,
}

/// Text that a type reads.
#[derive(Clone, Copy, Debug)]
pub struct TextForm {
    /// A regular expression (ECMA 262) that it matches; empty for any text.
    pub pattern: &'static str,
    /// Its kind, for messages.
    pub words: &'static str,
    /// Whether the type reads this text.
    pub reads: fn(&str) -> bool,
}

impl TextForm {
    /// Any text.
    pub const ANY: Self = Self { pattern: "", words: "text in quotes", reads: |_| true };

    /// Text that matches `pattern` and that `T` reads.
    #[must_use]
    pub const fn of<T: core::str::FromStr>(pattern: &'static str, words: &'static str) -> Self {
        Self { pattern, words, reads: |text| text.parse::<T>().is_ok() }
    }
}

impl Form {
    /// The allowed values, in words.
    #[must_use]
    pub fn allowed(&self) -> String {
        match self {
            Self::Bool => "true, false".into(),
            Self::Integer(0, u64::MAX) => "0 or more".into(),
            Self::Integer(least, most) => format!("{least} to {most}"),
            Self::Choice(names) => names.join(", "),
            Self::Kinds(docs) => docs.iter().map(|doc| doc.name).collect::<Vec<_>>().join(", "),
            Self::Table(_) => "a table of its settings".into(),
            _ => "any".into(),
        }
    }
}

/// One setting of an algorithm, as a scenario file writes it.
#[derive(Clone, Debug)]
pub struct ParamDoc {
    /// Key in the scenario file.
    pub name: &'static str,
    /// Unit or type, e.g. `time`, `packets`, `ratio`, `bool`.
    pub unit: &'static str,
    /// Allowed values in words.
    pub bounds: String,
    /// Default as written in a scenario file, without quotes around text.
    pub default: String,
    /// True when it has no default and must be given.
    pub required: bool,
    /// Its effect.
    pub text: &'static str,
    /// The allowed content in a scenario file, apart from the bounds.
    pub form: Form,
    /// Lower bound of a number, and whether the bound itself is allowed.
    pub low: Option<(f64, bool)>,
    /// Upper bound of a number, and whether the bound itself is allowed.
    pub high: Option<(f64, bool)>,
}

/// The description of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct MethodDoc {
    /// Name in scenario files, e.g. `codel`.
    pub name: &'static str,
    /// The interface that it implements: `aqm`, `discipline`, `limiter`, `pacer`, `scheduler`,
    /// `resource block scheduler`, `congestion control`, `channel`.
    pub kind: &'static str,
    /// One line.
    pub title: &'static str,
    /// Its behaviour, a paragraph.
    pub text: &'static str,
    /// Sources with sections.
    pub sources: &'static str,
    /// Deviations from the source and why, or "none".
    pub deviations: &'static str,
    /// Its settings; see [`MethodDoc::params`].
    pub params: fn() -> Vec<ParamDoc>,
}

impl MethodDoc {
    /// Settings in the order of the configuration.
    #[must_use]
    pub fn params(&self) -> Vec<ParamDoc> {
        (self.params)()
    }
}
