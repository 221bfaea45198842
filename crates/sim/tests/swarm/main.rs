//! Swarm: random worlds of four kinds, with every assertion on. `cells` are cells alone, `umts` are
//! UMTS cells whose RLC discards SDUs, `worlds` are cells with traffic and a complete network,
//! `wires` are TCP's two ends over a hostile path.
//!
//! Runs the first seeds of each kind; `make swarm FOR=1h` (`cargo xtask swarm`) runs fresh ones for
//! the given time. A failing world is named by its seed and reduced as long as it fails at the same
//! place, and the command that runs the rest is printed. The environment selects worlds:
//! `JUSTFULL_SWARM_SEED=n` runs that world alone, `JUSTFULL_SWARM_WITHOUT=a,b` removes these parts
//! from it first, `JUSTFULL_SWARM_WORLDS=n` runs this number, `JUSTFULL_SWARM_FOR=n` runs from the
//! seed on for n seconds.

mod aqms;
mod cells;
mod draws;
mod harness;
#[path = "../../../tcp/tests/endpoints/link.rs"]
#[allow(dead_code, reason = "TCP's own tests use more of it")]
mod link;
mod reductions;
mod uplink;
mod wires;
mod worlds;

use harness::swarm;

#[test]
fn random_cells_conserve_packets_keep_order_and_never_beat_the_bound() {
    assert!(swarm::<cells::Cell<false>>(120) > 0);
}

#[test]
fn random_cells_of_umts_give_each_packet_one_fate_where_the_rlc_gives_up() {
    assert!(swarm::<cells::Cell<true>>(12) > 0);
}

#[test]
fn random_worlds_are_sound_and_the_same_when_run_again() {
    assert!(swarm::<worlds::Whole>(80) > 0);
}

#[test]
fn random_transfers_over_hostile_wires_deliver_each_byte_once() {
    assert!(swarm::<wires::Wire>(40) > 0);
}
