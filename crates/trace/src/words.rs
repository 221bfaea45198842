//! The names that messages give to the options of reading: the command line, scenarios and Python
//! each have their own.

/// Declares options with their names on the command line, in a channel `trace` and in a channel
/// `cqi_trace`; empty where there is no such option.
macro_rules! read_options {
    ($($(#[$text:meta])* $Option:ident = $dashed:literal, $key:literal, $of_cqis:literal;)+) => {
        /// An option of reading.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ReadOption {
            $($(#[$text])* $Option,)+
        }

        impl ReadOption {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$Option),+];
            /// Those that say how a CQI becomes a capacity.
            pub const QUALITY: [Self; 3] = [Self::Map, Self::Prbs, Self::Layers];

            const fn names(self) -> [&'static str; 3] {
                match self {
                    $(Self::$Option => [$dashed, $key, $of_cqis],)+
                }
            }
        }
    };
}

read_options! {
    /// The format of the file.
    Format = "from", "format", "";
    /// Size of the packets that the file counts.
    Packet = "packet", "packet_bytes", "";
    /// Length of a row.
    Row = "row", "interval", "";
    /// Column of rates.
    RateColumn = "rate-column", "rate_column", "";
    /// Column of amounts.
    AmountColumn = "amount-column", "amount_column", "";
    /// Column of times.
    TimeColumn = "time-column", "time_column", "time_column";
    /// Unit of rates or amounts.
    Unit = "unit", "rate_unit", "";
    /// Unit of times.
    TimeUnit = "time-unit", "time_unit", "time_unit";
    /// The separator of fields.
    Separator = "separator", "separator", "";
    /// The sign before a fraction.
    Decimal = "decimal", "decimal", "";
    /// Terminal of a log of grants.
    Rnti = "rnti", "rnti", "";
    /// Direction of a log of grants.
    Link = "link", "link", "";
    /// Column of a phone log.
    Column = "column", "column", "";
    /// Rows of one time.
    Repeated = "repeated", "repeated", "";
    /// Times without a row, and rows without a value.
    Gaps = "gaps", "gaps", "missing";
    /// Idle rows of a phone log.
    Idle = "idle", "idle", "";
    /// Map from CQI to MCS.
    Map = "map", "", "quality.map";
    /// Resource blocks for the capacity of a CQI.
    Prbs = "prbs", "", "quality.n_prb";
    /// Spatial layers for the capacity of a CQI.
    Layers = "layers", "", "quality.layers";
}

/// Whose words a message uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    /// The command line: the command that takes the file, such as `justfull trace info`.
    Command(String),
    /// A channel `trace` of a scenario.
    Trace,
    /// A channel `cqi_trace`.
    CqiTrace,
    /// Arguments of Python's `read`.
    Python,
}

impl Default for Words {
    fn default() -> Self {
        Self::Command("justfull trace info".into())
    }
}

impl Words {
    /// The bare name of `option`: without dashes, or a key, or an argument; none if it is no option
    /// here.
    #[must_use]
    pub fn bare(&self, option: ReadOption) -> Option<String> {
        let [dashed, key, of_cqis] = option.names();
        let name = match self {
            Self::Command(_) => dashed.into(),
            Self::Trace => key.into(),
            Self::CqiTrace => of_cqis.into(),
            Self::Python if option == ReadOption::Format => key.into(),
            Self::Python => dashed.replace('-', "_"),
        };
        Some(name).filter(|name| !name.is_empty())
    }

    /// The option called `name`.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<ReadOption> {
        let all = ReadOption::ALL.iter().copied();
        all.into_iter().find(|option| self.bare(*option).is_some_and(|own| own == name))
    }

    /// The name of `option`, as it is typed; empty if there is none here.
    pub(super) fn name(&self, option: ReadOption) -> String {
        let bare = self.bare(option).unwrap_or_default();
        if let Self::Command(_) = self { format!("--{bare}") } else { bare }
    }

    /// ` (--row)`, or what `about` puts around the name; empty if there is no such option here.
    pub(super) fn aside(&self, option: ReadOption, about: &str) -> String {
        match self.bare(option) {
            Some(_) => format!(" ({}{about})", self.name(option)),
            None => String::new(),
        }
    }

    /// `--gaps hold, zero or skip`, as it is typed.
    pub(super) fn choice(&self, option: ReadOption, values: &[&str]) -> String {
        let quoted = |value: &&str| match self {
            Self::Command(_) => (*value).to_string(),
            _ => format!("\"{value}\""),
        };
        let all: Vec<String> = values.iter().map(quoted).collect();
        let listed = match all.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => all.concat(),
        };
        format!("{}{}{listed}", self.name(option), self.between())
    }

    /// These options with their values, as they are typed.
    pub(super) fn given(&self, options: &[Given<'_>]) -> String {
        let one = |given: &Given<'_>| {
            let (name, value) = (self.name(given.option), given.value);
            match self {
                // A value with a leading dash looks like an option, unless it is part of its own.
                Self::Command(_) if value.starts_with('-') => format!("{name}={}", shell(value)),
                Self::Command(_) => format!("{name} {}", shell(value)),
                _ => format!("{name}{}{}", self.between(), text(value)),
            }
        };
        let between = if let Self::Command(_) = self { " " } else { ", " };
        options.iter().map(one).collect::<Vec<_>>().join(between)
    }

    /// What reads the file called `path` with these options.
    pub(super) fn call(&self, path: &str, options: &[Given<'_>]) -> String {
        let given = self.given(options);
        match self {
            Self::Command(command) => format!("{command} {} {given}", shell(path)),
            Self::Python => format!("read({}, {given})", text(path)),
            Self::Trace | Self::CqiTrace => given,
        }
    }

    const fn between(&self) -> &'static str {
        match self {
            Self::Command(_) => " ",
            Self::Python => "=",
            Self::Trace | Self::CqiTrace => " = ",
        }
    }
}

/// An option with its value.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) option: ReadOption,
    pub(super) value: &'a str,
}

/// `value` as a text of TOML and of Python.
fn text(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t"))
}

/// `text` as one word of a shell.
pub(super) fn shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
