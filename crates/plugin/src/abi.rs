//! The calls between justfull and a plugin, as C has them. `include/justfull_plugin.h` is made from
//! this file.
#![allow(non_camel_case_types, reason = "names of C")]

use std::ffi::{c_char, c_double, c_void};

/// `abi` of the tables that this header describes.
pub const JF_PLUGIN_ABI: u32 = 2;

/// `flags`: an SDU larger than the room may enter as long as there is any room.
pub const JF_PLUGIN_OVERDRAWS: u64 = 1;
/// `flags`: the room changes with time alone, so that justfull asks again without an event.
pub const JF_PLUGIN_PACES: u64 = 2;

/// `unit`: amounts are packets.
pub const JF_PLUGIN_PACKETS: u32 = 0;
/// `unit`: amounts are bytes.
pub const JF_PLUGIN_BYTES: u32 = 1;

/// Result of `room`: no limit.
pub const JF_PLUGIN_NO_LIMIT: u64 = u64::MAX;
/// Largest room. A larger one counts as no limit; justfull says how many there were.
pub const JF_PLUGIN_MOST: u64 = 1_099_511_627_776;

/// Most settings of a limiter.
pub const JF_PLUGIN_MOST_SETTINGS: u64 = 64;

/// A setting of a limiter: a number that the user may give, as `plugin.NAME.SETTING` of a scenario,
/// of `--set` and of `--grid`. NAME is the method's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jf_plugin_setting {
    /// Its name: 1 to 64 of a to z, 0 to 9 and _, a letter first; once in the table.
    pub name: *const c_char,
    /// Its unit in words, such as "packets": 1 to 64 bytes of printable UTF-8.
    pub unit: *const c_char,
    /// One sentence about it: 1 to 256 bytes of printable UTF-8.
    pub text: *const c_char,
    /// Its value if the user gives none: `min` to `max`.
    pub default_value: c_double,
    /// Its least value: a finite number.
    pub min: c_double,
    /// Its greatest value: a finite number.
    pub max: c_double,
}

/// The grants of a bearer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jf_plugin_grants {
    /// Length of a slot in ns.
    pub slot: u64,
    /// Largest SDU in bytes.
    pub mtu: u32,
    /// The unit of all amounts of this limiter: JF_PLUGIN_PACKETS or JF_PLUGIN_BYTES.
    pub unit: u32,
}

/// The content of a bearer's RLC queue.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jf_plugin_queue {
    /// SDUs waiting or partly sent.
    pub packets: u64,
    /// Bytes still to be sent.
    pub bytes: u64,
    /// SDUs or bytes, by the unit of the grants.
    pub backlog: u64,
}

/// A slot that has ended.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jf_plugin_slot {
    /// When the MAC pulled, in ns.
    pub pulled_at: u64,
    /// Length of a slot in ns.
    pub slot: u64,
    /// Offered to this bearer: the amount that it sent, and its share of the unused rest.
    pub granted: u64,
    /// Sent by this bearer.
    pub used: u64,
    /// Still in its RLC queue.
    pub remaining: u64,
    /// Capacity of a whole slot at the present MCS.
    pub capacity: u64,
    /// 1 if the bearer could have sent more than it had, else 0.
    pub starved: u64,
}

/// A limiter: its name and its functions. `own` is what `create` returned.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jf_plugin_limiter {
    /// JF_PLUGIN_ABI.
    pub abi: u32,
    /// sizeof(jf_plugin_limiter).
    pub size: u32,
    /// Name of the method in tables and figures: 1 to 64 bytes of printable UTF-8. With settings it
    /// has none of . [ ] =, so that a path can name it.
    pub name: *const c_char,
    /// JF_PLUGIN_OVERDRAWS, JF_PLUGIN_PACES, both or 0.
    pub flags: u64,
    /// The settings; NULL if there are none.
    pub settings: *const jf_plugin_setting,
    /// Number of settings: 0 to JF_PLUGIN_MOST_SETTINGS.
    pub settings_count: u64,
    /// Makes the limiter of a bearer; NULL if it cannot work with the arguments. `values` has the
    /// value of each setting in the order of `settings`, within its bounds. Both arguments end with
    /// the call.
    pub create: Option<
        unsafe extern "C" fn(
            grants: *const jf_plugin_grants,
            values: *const c_double,
        ) -> *mut c_void,
    >,
    /// Ends a limiter.
    pub destroy: Option<unsafe extern "C" fn(own: *mut c_void)>,
    /// How much more may enter at `now` a queue with this content.
    pub room: Option<
        unsafe extern "C" fn(own: *mut c_void, now: u64, queue: *const jf_plugin_queue) -> u64,
    >,
    /// May be NULL. An SDU of `amount` entered at `now`; `queue` includes it.
    pub on_admitted: Option<
        unsafe extern "C" fn(
            own: *mut c_void,
            now: u64,
            amount: u64,
            queue: *const jf_plugin_queue,
        ),
    >,
    /// May be NULL. The last byte of an SDU left for the radio at `now`, `sojourn` ns after its
    /// entry.
    pub on_departed: Option<unsafe extern "C" fn(own: *mut c_void, now: u64, sojourn: u64)>,
    /// May be NULL. A slot has ended. One report of the latest idle slot stands for all idle slots
    /// before it.
    pub on_slot: Option<unsafe extern "C" fn(own: *mut c_void, slot: *const jf_plugin_slot)>,
}
