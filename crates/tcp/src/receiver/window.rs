//! The setting for the window that a receiver advertises.

use alloc::string::String;
use alloc::{format, vec};
use justfull_base::bounds::key;
use justfull_base::error::ensure;
use justfull_base::param::{Form, Param, written_table};
use justfull_base::{Bytes, ConfigError, params};

/// The window that a receiver advertises.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
pub enum Window {
    /// Always this many bytes beyond the in-order point.
    Fixed(Bytes),
    /// Grows with the bytes that arrive in a round trip.
    Auto(AutoWindow),
}

params! {
    /// A window that grows (dynamic right-sizing, as Linux's `tcp_rmem`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AutoWindow {
        /// Bytes offered at the start.
        initial: Bytes = Bytes(64 << 10),
            rule("1B to max", |c| (1..=c.max.0).contains(&c.initial.0)),
            "a closed window measures nothing, and so would never grow";
        /// It never grows beyond this.
        max: Bytes = Bytes(6 << 20), at_most(MAX_WINDOW), SCALED;
    }
}

impl Param for Window {
    const UNIT: &'static str = "{ fixed = size } or { auto = { initial, max } }";

    fn form() -> Form {
        let fixed = key::<Bytes>("fixed", "Always this many bytes.");
        let auto = key::<AutoWindow>("auto", "Grows with the bytes that arrive in a round trip.");
        Form::OneOf(vec![Form::Table(vec![fixed]), Form::Table(vec![auto])])
    }

    fn allowed() -> String {
        format!("at most {MAX_WINDOW}")
    }

    fn written(&self) -> String {
        match self {
            Self::Fixed(window) => written_table(&[("fixed", window.written())]),
            Self::Auto(auto) => written_table(&[("auto", auto.written())]),
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Fixed(window) => {
                ensure(*window <= MAX_WINDOW, "fixed", window, &Self::allowed(), SCALED)
            }
            Self::Auto(auto) => auto.validate().map_err(|e| e.within("auto")),
        }
    }
}

/// Largest window that a segment can state.
const MAX_WINDOW: Bytes = Bytes(1 << 30);
const SCALED: &str = "RFC 7323 section 2.3: 65535 scaled by 2^14";

impl Window {
    /// The initial window.
    #[must_use]
    pub const fn initial(&self) -> Bytes {
        match self {
            Self::Fixed(window) => *window,
            Self::Auto(auto) => auto.initial,
        }
    }

    /// The largest window ever advertised.
    #[must_use]
    pub const fn max(&self) -> Bytes {
        match self {
            Self::Fixed(window) => *window,
            Self::Auto(auto) => auto.max,
        }
    }
}
