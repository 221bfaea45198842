//! Macros that let a list of kinds be written once.

/// The kinds of an interface, one per line: name in scenario files, variant, and the module with
/// the algorithm and its configuration.
///
/// Makes the configuration (an enum that serde reads by the key `kind`), the algorithm (an enum for
/// static dispatch, with a variant for user-defined ones where a type follows `or`), `DOCS`, and a
/// macro that calls the same method on any variant of the algorithm or, after `config`, of the
/// configuration (the expression after `or` stands for a user's own). The module has `DOC` and
/// `ALGORITHM::new(&CONFIG, ARGUMENT)`. Add `in Box` to an algorithm that is much larger than the
/// others. [`forwarded!`](crate::forwarded) makes the algorithm's trait.
#[macro_export]
macro_rules! kinds {
    (
        $dollar:tt $each:ident;
        $(#[$($of_config:tt)*])*
        pub enum $Config:ident = $Default:ident;
        $(#[$($of_any:tt)*])*
        pub enum $Any:ident($argument:ident: $Argument:ty) $(or $Own:ty)?;
        $($name:literal $Variant:ident =
            $module:ident::{$Kind:ident $(in $Box:ident)?, $Settings:ident};)+
    ) => {
        $(pub use $module::{$Kind, $Settings};)+

        /// The description of every kind.
        pub const DOCS: &[&$crate::doc::MethodDoc] = &[$(&$module::DOC),+];

        $crate::kinds_config! {
            $(#[$($of_config)*])*
            pub enum $Config(DOCS) = $Default
                $(or dyn Fn($Argument) -> Result<$Own, $crate::ConfigError> + Send + Sync)?;
            $($name $Variant = $Settings;)+
        }

        $(#[$($of_any)*])*
        #[non_exhaustive]
        pub enum $Any {
            $(
                #[doc = concat!("See [`", stringify!($Kind), "`].")]
                $Variant($crate::held_in!($Kind $(, $Box)?)),
            )+
            $(
                /// A user's own.
                Custom($Own),
            )?
        }

        impl $Any {
            /// The kind that `config` selects.
            ///
            /// # Errors
            /// The field of `config` that is out of bounds.
            pub fn new(
                config: &$Config,
                $argument: $Argument,
            ) -> Result<Self, $crate::ConfigError> {
                Ok(match config {
                    $($Config::$Variant(config) =>
                        Self::$Variant($Kind::new(config, $argument)?.into()),)+
                    $($Config::Custom(make) =>
                        Self::Custom($crate::beside!($Own, (make.0)($argument))?),)?
                })
            }
        }

        /// Calls the same method on any variant, through `&mut` for a boxed one.
        macro_rules! $each {
            (config $dollar config:expr, $dollar kind:ident => $dollar call:expr
                $dollar(, or $dollar own:expr)?) => {
                match $dollar config {
                    $($Config::$Variant($dollar kind) => $dollar call,)+
                    $dollar($Config::Custom(_) => $dollar own,)?
                }
            };
            ($dollar any:expr, &mut $dollar kind:ident => $dollar call:expr) => {
                match $dollar any {
                    $($Any::$Variant(kind) => {
                        let $dollar kind = $crate::held!(kind $(, $Box)?);
                        $dollar call
                    })+
                    $($Any::Custom(kind) => {
                        let $dollar kind = &mut **kind;
                        $crate::beside!($Own, $dollar call)
                    })?
                }
            };
            ($dollar any:expr, $dollar kind:ident => $dollar call:expr) => {
                match $dollar any {
                    $($Any::$Variant($dollar kind) => $dollar call,)+
                    $($Any::Custom($dollar kind) => $crate::beside!($Own, $dollar call),)?
                }
            };
        }
    };
}

/// The configuration of [`kinds!`](crate::kinds) alone, with the list of descriptions in brackets.
///
/// In a crate that always has serde, begin with `serde;`. Without a default kind it has neither
/// `Default` nor `all`.
#[macro_export]
macro_rules! kinds_config {
    (
        $(#[$($attribute:tt)*])*
        pub enum $Config:ident($docs:expr) = $Default:ident $(or $Make:ty)?;
        $($name:literal $Variant:ident = $Settings:ty;)+
    ) => {
        $(#[$($attribute)*])*
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(tag = "kind"))]
        pub enum $Config {
            $(
                #[doc = concat!("See [`", stringify!($Settings), "`].")]
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $Variant($Settings),
            )+
            $(
                /// A user's own, by the function that makes it; set by programs, not by files.
                #[cfg_attr(feature = "serde", serde(skip))]
                Custom($crate::make::Make<$Make>),
            )?
        }

        impl Default for $Config {
            fn default() -> Self {
                Self::$Default(Default::default())
            }
        }

        impl $Config {
            /// Every kind with its default settings.
            #[must_use]
            pub fn all() -> $crate::alloc::vec::Vec<Self> {
                $crate::alloc::vec![$(Self::$Variant(<$Settings>::default())),+]
            }

            /// The kind of this name with its default settings.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                Self::all().into_iter().find(|config| config.name() == name)
            }
        }

        $crate::kinds_config! {
            impl $Config($docs) $(or $Make)? { $($name $Variant;)+ }
        }
    };
    (
        serde;
        $(#[$($attribute:tt)*])*
        pub enum $Config:ident($docs:expr);
        $($name:literal $Variant:ident = $Settings:ty;)+
    ) => {
        $(#[$($attribute)*])*
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(tag = "kind")]
        pub enum $Config {
            $(
                #[doc = concat!("See [`", stringify!($Settings), "`].")]
                #[serde(rename = $name)]
                $Variant($Settings),
            )+
        }

        $crate::kinds_config! { impl $Config($docs) { $($name $Variant;)+ } }
    };
    (impl $Config:ident($docs:expr) $(or $Make:ty)? { $($name:literal $Variant:ident;)+ }) => {
        impl $Config {
            /// Its name in scenario files; `custom` for a user's own.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$Variant(_) => $name,)+
                    $(Self::Custom(_) => $crate::beside!($Make, "custom"),)?
                }
            }

            /// Checks the bounds of all parameters.
            ///
            /// # Errors
            /// The first parameter out of its bounds.
            pub fn validate(&self) -> Result<(), $crate::ConfigError> {
                match self {
                    $(Self::$Variant(config) => config.validate(),)+
                    $(Self::Custom(_) => $crate::beside!($Make, Ok(())),)?
                }
            }
        }

        impl $crate::param::Param for $Config {
            const UNIT: &'static str = "kind";

            fn form() -> $crate::param::Form {
                $crate::param::Form::Kinds($docs.to_vec())
            }

            fn written(&self) -> $crate::alloc::string::String {
                self.name().into()
            }

            fn check(&self) -> Result<(), $crate::ConfigError> {
                self.validate()
            }
        }
    };
}
