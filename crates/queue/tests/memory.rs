//! The memory of lanes from a pool, by an allocator that counts.

use justfull_base::{Duration, Instant, Layer, Packet, Qfi, Silent};
use justfull_queue::discipline::lanes::LanesConfig;
use justfull_queue::{DisciplineConfig, Limit, ManagedQueue, QueueConfig};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has allocated and not freed.
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counted.
struct Counting;

fn count(bytes: isize) {
    // A thread that ends has no count any more.
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps `System`'s requirements on `layout`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size().cast_signed()));
        // SAFETY: `place` comes from this allocator, and so from `System`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes of a packet's place: one packet waits at a time, and places are allocated by fours.
const PLACES: isize = 4 * 72;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// Passes a packet of `flow` through `queue` at `now`.
fn pass(queue: &mut ManagedQueue, now: Instant, flow: u32) {
    let qfi = Qfi::new(9).expect("below 64");
    let flow_hash = flow.wrapping_mul(0x9e37_79b9) | 1;
    let packet = Packet { id: flow.into(), size: 1000, qfi, flow_hash, ..Packet::default() };
    assert!(queue.enqueue(now, packet, &mut Silent));
    assert!(queue.dequeue(now, &mut Silent).is_some());
}

/// Bytes of a queue with lanes after `flows` flows had a packet each, `apart` after another.
fn bytes(flows: u32, apart: Duration) -> isize {
    let lanes = DisciplineConfig::Lanes(LanesConfig { urgent: 1 << 1, ..LanesConfig::default() });
    let limit = Limit::Bytes(1_000_000);
    let config = QueueConfig { discipline: lanes, limit, ..QueueConfig::default() };
    let before = LIVE.get();
    let mut queue = Box::new(ManagedQueue::new(Layer::Rlc, &config, 1).expect("sound"));
    for flow in 0..flows {
        pass(&mut queue, at(0) + apart.times(flow.into()), flow);
    }
    LIVE.get() - before
}

#[test]
fn an_idle_bearer_has_less_than_a_page_also_after_eight_flows() {
    let (unused, eight) = (bytes(0, Duration::ZERO), bytes(8, Duration::from_millis(1)));
    println!("unused {unused} B, after eight flows {eight} B");
    assert!(unused <= 4096 && eight <= 4096, "{unused} B, {eight} B");
}

#[test]
fn a_lane_in_use_has_the_stated_bytes() {
    let few = bytes(64, Duration::from_millis(1));
    let many = bytes(128, Duration::from_millis(1));
    let of_one = (many - few) as f64 / 64.0;
    println!("{of_one} B a lane");
    assert!(of_one <= 280.0, "{of_one} B");
}

#[test]
fn lanes_of_flows_that_ended_go_to_others() {
    // A flow each second: after ten seconds a lane is free again.
    let (some, many) = (bytes(64, Duration::from_secs(1)), bytes(4000, Duration::from_secs(1)));
    println!("{some} B, {many} B");
    assert_eq!(some, many);
    assert!(some < bytes(64, Duration::from_millis(1)) - PLACES, "{some} B");
}
