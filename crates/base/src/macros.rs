//! Macros that let a parameter or a choice be written once.

/// The text of a doc comment, from its attributes.
#[doc(hidden)]
#[macro_export]
macro_rules! doc_text {
    ($([$($attribute:tt)*])*) => { concat!($($crate::doc_line!($($attribute)*)),*) };
}

/// The text of one attribute: a line of a doc comment, or nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! doc_line {
    (doc = $line:literal) => {
        $line
    };
    ($($other:tt)*) => {
        ""
    };
}

/// Expands to its first argument.
#[doc(hidden)]
#[macro_export]
macro_rules! first_of {
    ($first:expr $(, $other:expr)*) => {
        $first
    };
}

/// A reference to the value, whether or not it is boxed.
#[doc(hidden)]
#[macro_export]
macro_rules! held {
    ($kind:ident) => {
        $kind
    };
    ($kind:ident, $Box:ident) => {
        &mut **$kind
    };
}

/// Expands to the expression. The type binds it to a repetition, which may be empty.
#[doc(hidden)]
#[macro_export]
macro_rules! beside {
    ($given:ty, $call:expr) => {
        $call
    };
}

/// A type, or a box of it.
#[doc(hidden)]
#[macro_export]
macro_rules! held_in {
    ($type:ty) => { $type };
    ($type:ty, $Box:ident) => { $Box<$type> };
}

/// A configuration whose parameters are written once.
///
/// Makes the struct with public fields, `Default`, serde (with the crate's feature `serde`; unknown
/// keys are refused), `validate`, `params` for documentation and schema, and
/// [`Param`](crate::param::Param), so that it can be a parameter itself.
///
/// A parameter is a doc comment, which is also its sentence for users; name and type; a unit where
/// the type's own does not say enough; the default; [`bounds`](crate::bounds) where the type allows
/// too much; and where the bounds come from, if not from the source after the struct's name. A
/// check that fits no single parameter is a function from `&Self`, named after the struct.
///
/// ```
/// use justfull_base::{Duration, Ratio};
///
/// justfull_base::params! {
///     /// Settings of an example.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct ExampleConfig: "RFC 0000 section 1" {
///         /// Time between adjustments.
///         interval: Duration = Duration::from_millis(100), above(Duration::ZERO);
///         /// Least limit.
///         min: u32 as "packets" = 2, at_least(1), "a limit of 0 forwards nothing";
///         /// Greatest limit.
///         max: u32 as "packets" = 20, rule("at least min", |c| c.max >= c.min);
///         /// Share of the distance to the bound that one step covers.
///         alpha: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0));
///         /// Enforce max.
///         clamp: bool = true;
///     }
/// }
///
/// assert_eq!(ExampleConfig::default().validate(), Ok(()));
/// let wrong = ExampleConfig { max: 1, ..ExampleConfig::default() };
/// let error = wrong.validate().expect_err("max is below min");
/// assert_eq!(
///     error.to_string(),
///     "field `max`: found 1, allowed is at least min (RFC 0000 section 1)"
/// );
/// let max = &ExampleConfig::params()[2];
/// assert_eq!((max.name, max.unit, max.default.as_str()), ("max", "packets", "20"));
/// assert_eq!((max.bounds.as_str(), max.text), ("at least min", "Greatest limit."));
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$($attribute:tt)*])*
        $vis:vis struct $Config:ident $(: $source:literal)? { $($params:tt)* }
        $($check:tt)*
    ) => {
        $crate::table! {
            $(#[$($attribute)*])*
            #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
            #[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
            $vis struct $Config $(: $source)? with Default { $($params)* }
            $($check)*
        }
    };
}

/// [`params!`](crate::params) for a configuration that states its serde attributes itself.
///
/// A parameter without a default is required; its bounds go in `where (...)`. One with a default
/// also needs serde's attribute for it, unless the struct is `with Default`.
#[macro_export]
macro_rules! table {
    (
        $(#[$($attribute:tt)*])*
        $vis:vis struct $Config:ident $(: $source:literal)? with Default {
            $(
                $(#[$($doc:tt)*])*
                $name:ident: $type:ty $(as $unit:literal)? = $default:expr
                    $(, $bounds:expr $(, $why:expr)?)?;
            )*
        }
        $($check:tt)*
    ) => {
        $crate::table! {
            $(#[$($attribute)*])*
            $vis struct $Config $(: $source)? {
                $(
                    $(#[$($doc)*])*
                    $name: $type $(as $unit)? = $default $(, $bounds $(, $why)?)?;
                )*
            }
            $($check)*
        }

        #[allow(clippy::derivable_impls)]
        impl Default for $Config {
            fn default() -> Self {
                Self { $($name: $default),* }
            }
        }
    };
    (
        $(#[$($attribute:tt)*])*
        $vis:vis struct $Config:ident $(: $source:literal)? {
            $(
                $(#[$($doc:tt)*])*
                $name:ident: $type:ty $(as $unit:literal)? $(where ($must:expr))? $(= $default:expr
                    $(, $bounds:expr $(, $why:expr)?)?)?;
            )*
        }
        $(check $check:expr;)?
    ) => {
        $(#[$($attribute)*])*
        $vis struct $Config {
            $(
                $(#[$($doc)*])*
                $(
                    #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")]
                    $(#[doc = concat!("Allowed: `", stringify!($bounds), "`.")])?
                )?
                $(#[doc = concat!("\n\nAllowed: `", stringify!($must), "`.")])?
                pub $name: $type,
            )*
        }

        impl $Config {
            /// The parameters in order, for documentation and the schema.
            #[must_use]
            #[allow(unused_imports)]
            $vis fn params() -> $crate::alloc::vec::Vec<$crate::doc::ParamDoc> {
                use $crate::bounds::*;
                $crate::alloc::vec![$({
                    let bounds: Bounds<Self, $type> =
                        $crate::first_of!($($($bounds,)?)? $($must,)? free());
                    let default: Option<$type> = $crate::first_of!($(Some($default),)? None);
                    let unit = $crate::first_of!($(Some($unit),)? None);
                    let text = $crate::doc_text!($([$($doc)*])*);
                    bounds.describe(stringify!($name), unit, default, text)
                }),*]
            }

            /// Checks the bounds of all parameters.
            ///
            /// # Errors
            /// The first parameter out of its bounds.
            #[allow(unused_imports, unused_variables)]
            $vis fn validate(&self) -> Result<(), $crate::ConfigError> {
                use $crate::bounds::*;
                let source = $crate::first_of!($($source,)? "");
                $({
                    let bounds: Bounds<Self, $type> =
                        $crate::first_of!($($($bounds,)?)? $($must,)? free());
                    let source = $crate::first_of!($($($($why,)?)?)? source);
                    bounds.check(self, stringify!($name), &self.$name, source)?;
                })*
                $(
                    let check: fn(&Self) -> Result<(), $crate::ConfigError> = $check;
                    check(self)?;
                )?
                Ok(())
            }
        }

        impl $crate::param::Param for $Config {
            const UNIT: &'static str = "table";

            fn form() -> $crate::param::Form {
                $crate::param::Form::Table(Self::params())
            }

            fn written(&self) -> $crate::alloc::string::String {
                let pairs: &[(&str, $crate::alloc::string::String)] =
                    &[$((stringify!($name), $crate::param::Param::written(&self.$name))),*];
                $crate::param::written_table(pairs)
            }

            fn check(&self) -> Result<(), $crate::ConfigError> {
                self.validate()
            }
        }
    };
}

/// A parameter with a fixed set of names, each written once.
///
/// Makes the enum, serde (with the crate's feature `serde`), `ALL`, `name` and
/// [`Param`](crate::param::Param). In a crate that always has serde, begin with `serde;`.
#[macro_export]
macro_rules! choice {
    (
        serde;
        $(#[$($attribute:tt)*])*
        $vis:vis enum $Choice:ident {
            $($(#[$($doc:tt)*])* $Variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$($attribute)*])*
        #[derive(serde::Serialize, serde::Deserialize)]
        $vis enum $Choice {
            $($(#[$($doc)*])* #[serde(rename = $name)] $Variant,)+
        }

        $crate::choice! { impl $vis $Choice { $($Variant = $name,)+ } }
    };
    (
        $(#[$($attribute:tt)*])*
        $vis:vis enum $Choice:ident {
            $($(#[$($doc:tt)*])* $Variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$($attribute)*])*
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        $vis enum $Choice {
            $(
                $(#[$($doc)*])*
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $Variant,
            )+
        }

        $crate::choice! { impl $vis $Choice { $($Variant = $name,)+ } }
    };
    (impl $vis:vis $Choice:ident { $($Variant:ident = $name:literal,)+ }) => {
        impl $Choice {
            /// All of them, in order.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            /// Name in scenario files.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }
        }

        impl $crate::param::Param for $Choice {
            const UNIT: &'static str = "choice";

            fn form() -> $crate::param::Form {
                $crate::param::Form::Choice($crate::alloc::vec![$($name),+])
            }

            fn written(&self) -> $crate::alloc::string::String {
                self.name().into()
            }
        }
    };
}
