//! The allocator of the library: one block holds an object and everything that it allocates while
//! it is made.
//!
//! While an object is made in a block, allocations of its thread come from that block, one after
//! the other. To find the size of the block, the library first makes the object once from the heap,
//! where each allocation counts as much as in a block. Each allocation has a header with its
//! origin, so an allocation or a release at another time is correct too.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// A multiple of the largest alignment of an object.
pub(crate) const ALIGN: usize = 64;

/// Bytes before each allocation.
const HEADER: usize = size_of::<Header>();

/// Where an allocation comes from, and where it began: the offset in its block.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Header {
    source: Source,
    start: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Source {
    Heap,
    /// From the heap, and counted as in a block.
    Counted,
    Block,
}

/// Where the allocations of a thread come from.
#[derive(Clone, Copy)]
struct Place {
    source: Source,
    /// Address of the block; 0 without one.
    block: usize,
    /// Offset of the first free byte, and of the end.
    top: usize,
    end: usize,
    /// Highest `top` so far.
    peak: usize,
}

impl Place {
    const HEAP: Self = Self { source: Source::Heap, block: 0, top: 0, end: 0, peak: 0 };
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::HEAP) };
}

/// Restores the place of the thread's allocations when it is dropped.
struct Back(Place);

impl Drop for Back {
    fn drop(&mut self) {
        PLACE.set(self.0);
    }
}

/// Runs `make` from the heap. Returns its result and the bytes that it needs in a block whose first
/// `first` bytes are taken.
pub(crate) fn counted<R>(first: usize, make: impl FnOnce() -> R) -> (R, usize) {
    let counted =
        Place { source: Source::Counted, block: 0, top: first, end: usize::MAX / 2, peak: first };
    let back = Back(PLACE.replace(counted));
    let made = make();
    let peak = PLACE.get().peak;
    drop(back);
    (made, peak)
}

/// Runs `make`, whose allocations come from the `size` bytes at `block`, without the first `first`.
/// The block must stay while anything of the result does.
pub(crate) fn placed<R>(
    block: NonNull<u8>,
    size: usize,
    first: usize,
    make: impl FnOnce() -> R,
) -> R {
    let block = block.as_ptr().expose_provenance();
    let back = Back(PLACE.replace(Place {
        source: Source::Block,
        block,
        top: first,
        end: size,
        peak: first,
    }));
    let made = make();
    drop(back);
    made
}

/// The library's allocator.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// The layout in the heap of an allocation with its header, and the offset of its data.
fn with_header(layout: Layout) -> Option<(Layout, usize)> {
    let align = layout.align().max(HEADER);
    let size = layout.size().checked_add(align)?;
    Some((Layout::from_size_align(size, align).ok()?, align))
}

/// The offset of the data of `layout` in a block of which `top` bytes are taken.
const fn data_offset(top: usize, layout: Layout) -> usize {
    let align = if layout.align() < HEADER { HEADER } else { layout.align() };
    (top + HEADER).next_multiple_of(align)
}

impl Place {
    /// Takes room for `layout`: the offset of its data, or none.
    fn take(&mut self, layout: Layout) -> Option<usize> {
        let data = data_offset(self.top, layout);
        let top = data.checked_add(layout.size()).filter(|top| *top <= self.end)?;
        self.top = top;
        self.peak = self.peak.max(top);
        Some(data)
    }

    /// The allocation that began at `start` is free again: the place, if it was the last one.
    fn give_back(&mut self, start: usize, layout: Layout) {
        if data_offset(start, layout) + layout.size() == self.top {
            self.top = start;
        }
    }
}

/// From the heap, with `header`.
fn from_heap(layout: Layout, header: Header) -> *mut u8 {
    let Some((whole, offset)) = with_header(layout) else { return null_mut() };
    // SAFETY: the size of `whole` is not 0.
    let start = unsafe { System.alloc(whole) };
    if start.is_null() {
        return start;
    }
    // SAFETY: `offset` is at least HEADER and inside `whole`, whose alignment is a multiple of
    // the header's.
    unsafe {
        let data = start.add(offset);
        data.sub(HEADER).cast::<Header>().write(header);
        data
    }
}

// SAFETY: data of different allocations never overlap: an allocation in a block begins at or after
// `top`, an allocation in the heap is the system's. `take` and `with_header` respect size and
// alignment.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let mut place = PLACE.get();
        let header = Header { source: place.source, start: place.top };
        match place.source {
            Source::Heap => from_heap(layout, header),
            _ if layout.align() > ALIGN => null_mut(),
            Source::Counted => {
                let Some(_) = place.take(layout) else { return null_mut() };
                PLACE.set(place);
                from_heap(layout, header)
            }
            Source::Block => {
                let Some(data) = place.take(layout) else { return null_mut() };
                PLACE.set(place);
                let data = std::ptr::with_exposed_provenance_mut::<u8>(place.block + data);
                // SAFETY: the header and the data lie in the block, from `start` on, and the block
                // is aligned to ALIGN.
                unsafe { data.sub(HEADER).cast::<Header>().write(header) };
                data
            }
        }
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        // SAFETY: `alloc` has written a header there.
        let header = unsafe { data.sub(HEADER).cast::<Header>().read() };
        let mut place = PLACE.get();
        if header.source != Source::Heap && header.source == place.source {
            place.give_back(header.start, layout);
            PLACE.set(place);
        }
        if header.source == Source::Block {
            return;
        }
        if let Some((whole, offset)) = with_header(layout) {
            // SAFETY: `from_heap` has allocated it with the same layout.
            unsafe { System.dealloc(data.sub(offset), whole) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors that grow, and a dropped one.
    fn made(n: usize) -> (Vec<u64>, Box<[u8]>) {
        let gone = vec![1_u8; 100];
        let mut numbers = Vec::new();
        (0..n as u64).for_each(|i| numbers.push(i));
        drop(gone);
        (numbers, vec![7; n].into())
    }

    #[repr(align(64))]
    struct Block([u8; 4096]);

    #[test]
    fn counted_memory_is_needed_and_lies_in_the_block() {
        let (from_heap, needed) = counted(64, || made(40));
        let mut block = Box::new(Block([0; 4096]));
        let start = NonNull::from(&mut block.0).cast::<u8>();
        let (from_block, peak) = placed(start, needed, 64, || {
            let made = made(40);
            (made, PLACE.get().peak)
        });
        assert_eq!((&from_heap, peak), (&from_block, needed));
        let inside = |address: usize| {
            (start.as_ptr().addr()..start.as_ptr().addr() + needed).contains(&address)
        };
        assert!(inside(from_block.0.as_ptr().addr()) && inside(from_block.1.as_ptr().addr()));
        assert!(!inside(from_heap.0.as_ptr().addr()));
        let mut grown = from_block.0;
        grown.extend(40..400);
        assert!(grown.iter().copied().eq(0..400) && !inside(grown.as_ptr().addr()));
        drop((grown, from_block.1));
    }

    #[test]
    fn the_last_allocation_gives_its_place_back() {
        let ((), once) = counted(0, || drop(vec![1_u8; 100]));
        let ((), often) = counted(0, || (0..50).for_each(|_| drop(vec![1_u8; 100])));
        assert_eq!((once, often), (116, 116));
    }
}
