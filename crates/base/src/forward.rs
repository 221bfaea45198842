//! A macro that implements a trait for the enum of [`kinds!`](crate::kinds).

/// A trait, and its implementation for an enum: each method calls the same method of the variant,
/// through `each`, the macro that [`kinds!`](crate::kinds) makes. Both have one source: a missing
/// method does not compile, and no default runs in place of a variant's own method.
///
/// ```
/// enum Any {
///     Twice(Twice),
///     Least(Least),
/// }
///
/// macro_rules! each {
///     ($any:expr, $law:ident => $call:expr) => {
///         match $any {
///             Any::Twice($law) => $call,
///             Any::Least($law) => $call,
///         }
///     };
/// }
///
/// justfull_base::forwarded! {
///     by each for Any;
///
///     /// A law.
///     pub trait Law {
///         /// What it makes of `x`.
///         fn of(&self, x: u32) -> u32;
///
///         /// Its name.
///         fn name(&self) -> &'static str {
///             "a law"
///         }
///     }
/// }
///
/// struct Least;
///
/// impl Law for Least {
///     fn of(&self, _: u32) -> u32 {
///         0
///     }
/// }
///
/// struct Twice;
///
/// impl Law for Twice {
///     fn of(&self, x: u32) -> u32 {
///         2 * x
///     }
///
///     fn name(&self) -> &'static str {
///         "twice"
///     }
/// }
///
/// let [twice, least] = [Any::Twice(Twice), Any::Least(Least)];
/// assert_eq!([twice.of(21), least.of(21)], [42, 0]);
/// assert_eq!([twice.name(), least.name()], ["twice", "a law"]);
/// ```
#[macro_export]
macro_rules! forwarded {
    (
        by $each:ident for $Any:ty;
        $(#[$attribute:meta])*
        $vis:vis trait $Trait:ident $(: $Super:path)? { $($methods:tt)* }
    ) => {
        $(#[$attribute])*
        $vis trait $Trait $(: $Super)? { $($methods)* }

        impl $Trait for $Any {
            $crate::forwarded! { @methods $each $($methods)* }
        }
    };
    (@methods $each:ident) => {};
    // A default body is left out.
    (
        @methods $each:ident
        $(#[$attribute:meta])*
        fn $name:ident $(<$G:ident: $Bound:ident $(+ $Other:ident)*>)? ($($params:tt)*)
            $(-> $Output:ty)? { $($body:tt)* }
        $($rest:tt)*
    ) => {
        $crate::forwarded! {
            @methods $each
            fn $name $(<$G: $Bound $(+ $Other)*>)? ($($params)*) $(-> $Output)?;
            $($rest)*
        }
    };
    (
        @methods $each:ident
        $(#[$attribute:meta])*
        fn $name:ident $(<$G:ident: $Bound:ident $(+ $Other:ident)*>)? ($($params:tt)*)
            $(-> $Output:ty)?;
        $($rest:tt)*
    ) => {
        #[inline]
        fn $name $(<$G: $Bound $(+ $Other)*>)? ($($params)*) $(-> $Output)? {
            $crate::forwarded!(@call $each $name ($($params)*))
        }

        $crate::forwarded! { @methods $each $($rest)* }
    };
    (@call $each:ident $name:ident (&mut $this:ident $(, $arg:ident: $Arg:ty)* $(,)?)) => {
        $each!($this, kind => kind.$name($($arg),*))
    };
    (@call $each:ident $name:ident (&$this:ident $(, $arg:ident: $Arg:ty)* $(,)?)) => {
        $each!($this, kind => kind.$name($($arg),*))
    };
}
