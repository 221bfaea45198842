//! Objects behind handles: one body for every call.
//!
//! A call is refused, and nothing changes, if the handle is NULL, is no object of the kind or is in
//! a call already, or if time goes back. A panic of a body does not reach the caller; the object is
//! broken from then on, and later calls are refused.

use crate::memory::{self, ALIGN};
use crate::status::Answer;
use crate::status::jf_status::{self, *};
use crate::text::{Note, jf_message};
use justfull_base::{ConfigError, Instant};
use std::alloc::{Layout, alloc, dealloc};
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// The latest time of a call, in nanoseconds: 146 years after the first.
pub const JF_TIME_MAX: u64 = 4_611_686_018_427_387_904;

/// Objects begin at a multiple of this many bytes.
pub const JF_ALIGN: usize = 64;

const _: () = assert!(JF_ALIGN == ALIGN);

/// The state of an object of one kind.
pub(crate) trait Body: Sized {
    /// The handle's type in C.
    type Handle;
    /// Is the first word of each object of the kind.
    const MARK: u64;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    InCall,
    Broken,
}

/// Lies at the address of a handle.
#[repr(C, align(64))]
struct Object<T> {
    mark: Cell<u64>,
    /// Time of the latest call.
    now: Cell<u64>,
    state: Cell<State>,
    /// Bytes of the block that the library has allocated; 0 for a block of the caller.
    owned: usize,
    body: UnsafeCell<T>,
}

/// Bytes that an object of this kind needs, with everything that `make` allocates. An impossible
/// setting goes to `message`.
pub(crate) fn size<T: Body>(
    out: Option<&mut usize>,
    message: Option<&mut jf_message>,
    make: impl Fn() -> Result<T, ConfigError>,
) -> jf_status {
    let mut note = Note::new(message);
    let Some(out) = out else { return JF_ERROR_NULL };
    match needed(&make) {
        Ok(bytes) => {
            *out = bytes;
            JF_OK
        }
        Err(refused) => refused.told(&mut note),
    }
}

/// Why an object was not made.
enum Unmade {
    Settings(ConfigError),
    Fault,
}

impl Unmade {
    fn told(&self, note: &mut Note<'_>) -> jf_status {
        match self {
            Self::Settings(error) => note.settings(error),
            Self::Fault => JF_ERROR_BROKEN,
        }
    }
}

fn needed<T: Body>(make: &impl Fn() -> Result<T, ConfigError>) -> Result<usize, Unmade> {
    let made = || catch_unwind(AssertUnwindSafe(make));
    let (made, bytes) = memory::counted(size_of::<Object<T>>(), made);
    match made {
        Ok(Ok(_)) => Ok(bytes.next_multiple_of(ALIGN)),
        Ok(Err(error)) => Err(Unmade::Settings(error)),
        Err(_) => Err(Unmade::Fault),
    }
}

/// Makes an object in the `size` bytes at `block`, which stay the caller's.
pub(crate) fn init<T: Body>(
    block: Option<NonNull<u8>>,
    size: usize,
    out: Option<&mut Option<NonNull<T::Handle>>>,
    message: Option<&mut jf_message>,
    make: impl Fn() -> Result<T, ConfigError>,
) -> jf_status {
    let mut note = Note::new(message);
    let (Some(block), Some(out)) = (block, out) else { return JF_ERROR_NULL };
    *out = None;
    if block.as_ptr().addr() % ALIGN != 0 {
        return JF_ERROR_MEMORY;
    }
    match needed(&make) {
        Ok(bytes) if bytes > size => {
            note.write(format_args!("memory: found {size} B, needed are {bytes} B"));
            JF_ERROR_MEMORY
        }
        Ok(bytes) => place(block, bytes, 0, &make).map_or_else(
            |e| e.told(&mut note),
            |handle| {
                *out = Some(handle);
                JF_OK
            },
        ),
        Err(refused) => refused.told(&mut note),
    }
}

/// Makes an object in a block from the heap.
pub(crate) fn create<T: Body>(
    out: Option<&mut Option<NonNull<T::Handle>>>,
    message: Option<&mut jf_message>,
    make: impl Fn() -> Result<T, ConfigError>,
) -> jf_status {
    let mut note = Note::new(message);
    let Some(out) = out else { return JF_ERROR_NULL };
    *out = None;
    let bytes = match needed(&make) {
        Ok(bytes) => bytes,
        Err(refused) => return refused.told(&mut note),
    };
    let Some(layout) = layout(bytes) else { return JF_ERROR_MEMORY };
    // SAFETY: the size is not 0.
    let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { return JF_ERROR_MEMORY };
    match place(block, bytes, bytes, &make) {
        Ok(handle) => {
            *out = Some(handle);
            JF_OK
        }
        Err(refused) => {
            // SAFETY: allocated above with this layout, and nothing lies in it.
            unsafe { dealloc(block.as_ptr(), layout) };
            refused.told(&mut note)
        }
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, ALIGN).ok()
}

/// Makes an object in the `bytes` at `block`, enough and aligned.
fn place<T: Body>(
    block: NonNull<u8>,
    bytes: usize,
    owned: usize,
    make: &impl Fn() -> Result<T, ConfigError>,
) -> Result<NonNull<T::Handle>, Unmade> {
    let first = size_of::<Object<T>>();
    let made = memory::placed(block, bytes, first, || catch_unwind(AssertUnwindSafe(make)));
    let body = made.map_err(|_| Unmade::Fault)?.map_err(Unmade::Settings)?;
    let object = Object {
        mark: Cell::new(T::MARK),
        now: Cell::new(0),
        state: Cell::new(State::Ready),
        owned,
        body: UnsafeCell::new(body),
    };
    // SAFETY: the block is aligned, has room for an object before everything that `make` has
    // allocated in it, and is nobody else's.
    unsafe { block.cast::<Object<T>>().write(object) };
    Ok(block.cast())
}

/// The object at `handle`.
fn at_handle<'a, T: Body>(handle: Option<NonNull<T::Handle>>) -> Result<&'a Object<T>, jf_status> {
    let place = handle.ok_or(JF_ERROR_NULL)?.cast::<Object<T>>();
    if place.as_ptr().addr() % ALIGN != 0 {
        return Err(JF_ERROR_HANDLE);
    }
    // SAFETY: the contract of every call: a handle comes from the library, and its memory is still
    // there. All kinds of objects begin with the mark.
    let mark = unsafe { place.cast::<Cell<u64>>().as_ref() }.get();
    if mark != T::MARK {
        return Err(JF_ERROR_HANDLE);
    }
    // SAFETY: an object of this kind lies there, by its mark. It is only ever borrowed shared.
    Ok(unsafe { place.as_ref() })
}

impl<T: Body> Object<T> {
    /// One call of the body, and no other during it.
    #[inline(always)]
    fn call(&self, call: impl FnOnce(&mut T) -> Answer) -> Answer {
        match self.state.get() {
            State::Ready => {}
            State::InCall => return Err(JF_ERROR_BUSY),
            State::Broken => return Err(JF_ERROR_BROKEN),
        }
        self.state.set(State::InCall);
        // SAFETY: the body is borrowed here only, and only while the state was ready: not twice.
        let body = unsafe { &mut *self.body.get() };
        if let Ok(answer) = catch_unwind(AssertUnwindSafe(|| call(body))) {
            self.state.set(State::Ready);
            answer
        } else {
            self.state.set(State::Broken);
            Err(JF_ERROR_BROKEN)
        }
    }
}

/// A call that needs no time.
#[inline(always)]
pub(crate) fn call<T: Body>(
    handle: Option<NonNull<T::Handle>>,
    call: impl FnOnce(&mut T) -> Answer,
) -> jf_status {
    at_handle::<T>(handle).and_then(|object| object.call(call)).unwrap_or_else(|error| error)
}

/// A call at `now`, in nanoseconds, which does not go back.
#[inline(always)]
pub(crate) fn call_at<T: Body>(
    handle: Option<NonNull<T::Handle>>,
    now: u64,
    call: impl FnOnce(&mut T, Instant) -> Answer,
) -> jf_status {
    let answer = at_handle::<T>(handle).and_then(|object| {
        if now > JF_TIME_MAX || now < object.now.get() {
            return Err(JF_ERROR_TIME);
        }
        object.call(|body| {
            let answer = call(body, Instant::from_nanos(now))?;
            object.now.set(now);
            Ok(answer)
        })
    });
    answer.unwrap_or_else(|error| error)
}

/// Ends the object: its handle is none any more. Its block is freed if the library has allocated
/// it. NULL is allowed.
pub(crate) fn destroy<T: Body>(handle: Option<NonNull<T::Handle>>) -> jf_status {
    if handle.is_none() {
        return JF_OK;
    }
    let object = match at_handle::<T>(handle) {
        Ok(object) => object,
        Err(error) => return error,
    };
    if object.state.get() == State::InCall {
        return JF_ERROR_BUSY;
    }
    object.mark.set(0);
    let (block, owned) = (NonNull::from(object).cast::<u8>(), object.owned);
    let body = object.body.get();
    // SAFETY: no call is in it, none can begin without the mark, and the body is dropped once.
    let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { body.drop_in_place() }));
    if let Some(layout) = layout(owned).filter(|_| owned > 0) {
        // SAFETY: `create` has allocated the block with this layout.
        unsafe { dealloc(block.as_ptr(), layout) };
    }
    if dropped.is_ok() { JF_OK } else { JF_ERROR_BROKEN }
}
