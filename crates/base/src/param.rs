//! Parameters. Each is written once, beside its algorithm: name, type, unit, default, bounds,
//! sentence and reason. From that [`params!`](crate::params) makes the configuration, its checks,
//! and what `justfull explain`, the reference pages and the JSON Schema show.

pub use crate::doc::{Form, TextForm};
use crate::error::ConfigError;
use crate::packet::Protocol;
use crate::time::Duration;
use crate::units::{BitRate, Bytes, Dscp, Qfi, Ratio};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// A type that a parameter can have: its unit, and its form in a scenario file.
pub trait Param {
    /// Unit or type in words, for parameters that name none of their own.
    const UNIT: &'static str;

    /// The allowed content in a scenario file, apart from the bounds.
    fn form() -> Form;

    /// The allowed values, in words, if the parameter has no bounds of its own.
    fn allowed() -> String {
        Self::form().allowed()
    }

    /// The value as a scenario file writes it, without quotes around text.
    fn written(&self) -> String;

    /// The value as a plain number, if it is one, for numeric bounds in the schema.
    fn number(&self) -> Option<f64> {
        None
    }

    /// Checks the bounds of the type itself.
    ///
    /// # Errors
    /// The field out of its bounds; its name is empty when it is the whole value.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

macro_rules! plain {
    ($($type:ty: $unit:literal, $form:expr, $number:expr;)*) => {$(
        impl Param for $type {
            const UNIT: &'static str = $unit;

            fn form() -> Form {
                $form
            }

            fn written(&self) -> String {
                self.to_string()
            }

            fn number(&self) -> Option<f64> {
                let number: fn(&Self) -> Option<f64> = $number;
                number(self)
            }
        }
    )*};
}

plain! {
    bool: "bool", Form::Bool, |_| None;
    u8: "number", Form::Integer(0, u64::from(Self::MAX)), |n| Some(f64::from(*n));
    u16: "number", Form::Integer(0, u64::from(Self::MAX)), |n| Some(f64::from(*n));
    u32: "number", Form::Integer(0, u64::from(Self::MAX)), |n| Some(f64::from(*n));
    u64: "number", Form::Integer(0, Self::MAX), |n| Some(*n as f64);
    usize: "number", Form::Integer(0, u64::MAX), |n| Some(*n as f64);
    i32: "number", Form::Integer(i64::from(Self::MIN), Self::MAX as u64), |n| Some(f64::from(*n));
    f64: "number", Form::Number, |n| Some(*n);
    Ratio: "ratio", Form::Number, |ratio| Some(ratio.0);
    Qfi: "QFI", Form::Integer(0, 63), |qfi| Some(f64::from(qfi.get()));
    Dscp: "DSCP", Form::Integer(0, 63), |dscp| Some(f64::from(dscp.get()));
    Duration: "time", quantity::<Self>(TIME, Self::ALLOWED), |_| None;
    Bytes: "size", quantity::<Self>(SIZE, Self::ALLOWED), |_| None;
    BitRate: "rate", quantity::<Self>(RATE, Self::ALLOWED), |_| None;
    String: "text", Form::Text(TextForm::ANY), |_| None;
}

const TIME: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*(ns|us|ms|s|min|h)\s*$";
const SIZE: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*([kMG]|[KMG]i)?B\s*$";
const RATE: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*(bit|kbit|Mbit|Gbit)/s\s*$";

const fn quantity<T: core::str::FromStr>(pattern: &'static str, words: &'static str) -> Form {
    Form::Text(TextForm::of::<T>(pattern, words))
}

impl Duration {
    /// Allowed text, in words.
    pub(crate) const ALLOWED: &str =
        "a time with its unit, such as \"5ms\" (ns, us, ms, s, min, h)";
}

impl Bytes {
    /// Allowed text, in words.
    pub(crate) const ALLOWED: &str =
        "a size with its unit, such as \"1500B\" (B, kB, MB, GB, KiB, MiB, GiB)";
}

impl BitRate {
    /// Allowed text, in words.
    pub(crate) const ALLOWED: &str =
        "a rate with its unit, such as \"12Mbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s)";
}

/// A table as a scenario file writes it on one line, with quotes around text.
#[must_use]
pub fn written_table(pairs: &[(&str, String)]) -> String {
    let pair = |(key, value): &(&str, String)| format!("{key} = {}", quoted(value));
    let pairs: Vec<String> = pairs.iter().map(pair).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// A value inside a table or a list: text has quotes.
fn quoted(value: &str) -> String {
    let bare = value.starts_with(['[', '{'])
        || value.parse::<f64>().is_ok()
        || value.parse::<bool>().is_ok();
    if bare { value.into() } else { format!("\"{value}\"") }
}

fn listed<'a, T: Param + 'a>(entries: impl Iterator<Item = &'a T>) -> String {
    let entries: Vec<String> = entries.map(|entry| quoted(&entry.written())).collect();
    format!("[{}]", entries.join(", "))
}

impl<T: Param> Param for Vec<T> {
    const UNIT: &'static str = "list";

    fn form() -> Form {
        Form::List(Box::new(T::form()), None)
    }

    fn written(&self) -> String {
        listed(self.iter())
    }
}

impl<T: Param, const N: usize> Param for [T; N] {
    const UNIT: &'static str = "list";

    fn form() -> Form {
        Form::List(Box::new(T::form()), Some(N))
    }

    fn written(&self) -> String {
        listed(self.iter())
    }
}

impl<T: Param> Param for Option<T> {
    const UNIT: &'static str = T::UNIT;

    fn form() -> Form {
        T::form()
    }

    fn written(&self) -> String {
        self.as_ref().map_or_else(|| "none".into(), Param::written)
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.as_ref().map_or(Ok(()), Param::check)
    }
}

impl<T: Param + ?Sized> Param for Box<T> {
    const UNIT: &'static str = T::UNIT;

    fn form() -> Form {
        T::form()
    }

    fn written(&self) -> String {
        (**self).written()
    }

    fn check(&self) -> Result<(), ConfigError> {
        (**self).check()
    }
}

impl Param for Protocol {
    const UNIT: &'static str = "protocol";

    fn form() -> Form {
        Form::Choice(vec!["tcp", "udp", "icmp", "other"])
    }

    fn written(&self) -> String {
        format!("{self:?}").to_ascii_lowercase()
    }
}

impl<T: Param> Param for BTreeMap<String, T> {
    const UNIT: &'static str = "table";

    fn form() -> Form {
        Form::Map(Box::new(T::form()))
    }

    fn written(&self) -> String {
        let pairs: Vec<_> =
            self.iter().map(|(key, value)| (key.as_str(), value.written())).collect();
        written_table(&pairs)
    }
}
