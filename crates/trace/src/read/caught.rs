//! Calls a library that may panic on the content of a file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// A panic of this thread will be caught and reported otherwise.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The result of `call`, or none if it panics; prints nothing then. `call` must own everything it
/// changes, so that what a panic leaves half changed is dropped with it.
pub(super) fn quietly<T>(call: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    // The hook belongs to the whole process: panics of other threads and of other code go to the
    // previous hook.
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    QUIET.set(outer);
    outcome.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_none_and_the_next_one_is_loud_again() {
        assert_eq!(quietly(|| 7), Some(7));
        let none: [u8; 0] = [];
        assert_eq!(quietly(|| none[std::hint::black_box(0)]), None);
        assert!(!QUIET.get(), "the thread tells its own panics");
        assert_eq!(
            quietly(|| quietly(|| none[std::hint::black_box(0)]).is_none() && QUIET.get()),
            Some(true)
        );
    }
}
