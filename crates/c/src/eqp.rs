//! The scheduler EQP: whole SDUs, and slices that lend each other resource blocks.

use crate::object::{self, Body, JF_TIME_MAX};
use crate::packet::amount;
use crate::status::jf_status::{self, *};
use crate::text::{self, Note, items, jf_message};
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, Instant, Ratio};
use justfull_ran::rb_demand::{DrbDemand, RbAllocation, RbDemand, RbUnits, UeDemand};
use justfull_ran::rb_scheduler::{
    AnyRbScheduler, CheckedRbScheduler, Eqp, EqpConfig, EqpRoom, RbScheduler,
};
use serde::Deserialize;
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

/// The scheduler of one cell.
pub struct jf_eqp {
    _opaque: [u8; 0],
}

/// A UE with something to send.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jf_eqp_ue {
    /// Bytes that n blocks carry at its MCS and layers, for n from 0 to all blocks of the slot:
    /// `rbs` + 1 numbers, the first 0, that never decrease.
    pub tbs: *const u32,
    /// Its number in the cell.
    pub ue: u32,
    /// Number of its bearers, at least one. In `bearers` they follow the bearers of the UEs before
    /// it.
    pub bearers: u32,
    /// Its slice: an index into `shares`.
    pub slice: u16,
    /// 0.
    pub reserved: [u16; 3],
}

/// A bearer with something to send.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_eqp_bearer {
    /// Bytes on the air of all waiting data, at least the bytes of the listed SDUs.
    pub backlog: u64,
    /// How long its first SDU has waited, in ns.
    pub head_of_line: u64,
    /// Number of its listed SDUs, the first ones. In `sdus` they follow the SDUs of the bearers
    /// before it. The list may stop at the capacity of the whole slot.
    pub sdus: u32,
    /// Its number in the UE.
    pub drb: u8,
    /// 0.
    pub reserved: [u8; 3],
}

/// Everything that waits for a slot.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jf_eqp_demand {
    /// The UEs with something to send, in ascending order of `ue`.
    pub ues: *const jf_eqp_ue,
    /// How many.
    pub ues_length: usize,
    /// Their bearers, UE by UE.
    pub bearers: *const jf_eqp_bearer,
    /// How many.
    pub bearers_length: usize,
    /// Bytes on the air of each SDU, headers included, bearer by bearer. The first SDU of a bearer
    /// may be the rest of a segmented SDU.
    pub sdus: *const u32,
    /// How many.
    pub sdus_length: usize,
    /// Number of the slot since the start.
    pub slot: u64,
    /// Resource blocks that are free for new data.
    pub rbs: u16,
    /// Blocks of a unit of allocation: of a resource block group, or 1.
    pub unit: u16,
    /// 0.
    pub reserved: u32,
}

/// The share of a UE.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_eqp_grant {
    /// Units of allocation, a short last one included.
    pub units: u16,
    /// Resource blocks of these units.
    pub rbs: u16,
}

/// Settings of a scheduler. See the guide.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EqpSettings {
    shares: Vec<Ratio>,
    #[serde(default = "carrier")]
    rbs: u16,
    #[serde(default = "few")]
    ues: u32,
    #[serde(default = "few")]
    bearers: u32,
    #[serde(default = "several")]
    sdus: u32,
    #[serde(default)]
    eqp: EqpConfig,
}

const fn carrier() -> u16 {
    273
}

const fn few() -> u32 {
    32
}

const fn several() -> u32 {
    512
}

/// Most bearers of a UE.
const BEARERS_OF_UE: usize = 32;

struct Scheduler {
    eqp: CheckedRbScheduler,
    room: EqpRoom,
    slices: u16,
    out: RbAllocation,
    ues: Vec<UeDemand<'static>>,
    bearers: Vec<DrbDemand>,
}

impl Body for Scheduler {
    type Handle = jf_eqp;
    const MARK: u64 = u64::from_be_bytes(*b"jf eqp 1");
}

impl EqpSettings {
    fn room(&self) -> Result<EqpRoom, ConfigError> {
        const WHY: &str = "the tables of a slot are allocated when the scheduler is made";
        let rbs = (1..=1024).contains(&self.rbs);
        ensure(rbs, "rbs", &self.rbs, "1 to 1024", WHY)?;
        for (field, number, most) in
            [("ues", self.ues, 1024), ("bearers", self.bearers, 4096), ("sdus", self.sdus, 16_384)]
        {
            let allowed = format!("1 to {most}");
            ensure((1..=most).contains(&number), field, &number, &allowed, WHY)?;
        }
        let drbs = self.bearers as usize;
        Ok(EqpRoom {
            ues: self.ues as usize,
            drbs,
            drbs_of_ue: BEARERS_OF_UE.min(drbs),
            sdus: self.sdus as usize,
            rbs: self.rbs,
        })
    }

    fn build(&self) -> Result<Scheduler, ConfigError> {
        let room = self.room()?;
        let mut eqp = Eqp::new(&self.eqp, &self.shares).map_err(|e| e.within("eqp"))?;
        let mut out = RbAllocation::default();
        eqp.reserve(&room, &mut out);
        Ok(Scheduler {
            eqp: CheckedRbScheduler::new(AnyRbScheduler::Eqp(Box::new(eqp))),
            room,
            slices: self.shares.len() as u16,
            out,
            ues: Vec::with_capacity(room.ues),
            bearers: Vec::with_capacity(room.drbs),
        })
    }
}

/// A demand whose lists are there.
struct Listed<'a> {
    ues: &'a [jf_eqp_ue],
    bearers: &'a [jf_eqp_bearer],
    sdus: &'a [u32],
}

impl jf_eqp_demand {
    fn listed(&self, room: &EqpRoom) -> Result<Listed<'_>, jf_status> {
        let list = Listed {
            ues: items(NonNull::new(self.ues.cast_mut()), self.ues_length)?,
            bearers: items(NonNull::new(self.bearers.cast_mut()), self.bearers_length)?,
            sdus: items(NonNull::new(self.sdus.cast_mut()), self.sdus_length)?,
        };
        let fits = list.ues.len() <= room.ues
            && list.bearers.len() <= room.drbs
            && list.sdus.len() <= room.sdus
            && self.rbs <= room.rbs;
        if fits { Ok(list) } else { Err(JF_ERROR_RANGE) }
    }
}

impl Scheduler {
    /// Checks the bearers and notes them.
    fn note_bearers(&mut self, list: &Listed<'_>) -> Result<(), jf_status> {
        self.bearers.clear();
        let mut first = 0;
        for bearer in list.bearers {
            let end = first + bearer.sdus as usize;
            let own = list.sdus.get(first..end).ok_or(JF_ERROR_RANGE)?;
            let bytes: u64 = own.iter().map(|&bytes| u64::from(bytes)).sum();
            let sound = own.iter().all(|&bytes| (1..=1 << 20).contains(&bytes));
            if !sound || bytes > bearer.backlog || bearer.head_of_line > JF_TIME_MAX {
                return Err(JF_ERROR_RANGE);
            }
            self.bearers.push(DrbDemand {
                drb: bearer.drb,
                sdus: first as u32..end as u32,
                backlog: amount(bearer.backlog)?,
                head_of_line: Duration::from_nanos(bearer.head_of_line),
            });
            first = end;
        }
        if first == list.sdus.len() { Ok(()) } else { Err(JF_ERROR_RANGE) }
    }

    /// Checks the UEs and adds them to `ues`.
    fn note_ues<'a>(
        &self,
        list: &Listed<'a>,
        rbs: u16,
        ues: &mut Vec<UeDemand<'a>>,
    ) -> Result<(), jf_status> {
        let (mut first, mut before) = (0_usize, None);
        for ue in list.ues {
            let count = ue.bearers as usize;
            let tbs = items(NonNull::new(ue.tbs.cast_mut()), usize::from(rbs) + 1)?;
            let carries = tbs[0] == 0 && tbs.is_sorted() && tbs[usize::from(rbs)] <= 1 << 24;
            let ordered = before.is_none_or(|before| before < ue.ue);
            let bearers =
                (1..=self.room.drbs_of_ue).contains(&count) && first + count <= list.bearers.len();
            if !carries || !ordered || !bearers || ue.slice >= self.slices {
                return Err(JF_ERROR_RANGE);
            }
            let drbs = first as u32..(first + count) as u32;
            ues.push(UeDemand { ue: ue.ue, slice: ue.slice, tbs, drbs });
            (first, before) = (first + count, Some(ue.ue));
        }
        if first == list.bearers.len() { Ok(()) } else { Err(JF_ERROR_RANGE) }
    }

    /// Schedules the slot of `demand`; the result is in `out`.
    fn schedule(&mut self, now: Instant, demand: &jf_eqp_demand) -> Result<(), jf_status> {
        let list = demand.listed(&self.room)?;
        let units = RbUnits::new(demand.rbs, demand.unit).ok_or(JF_ERROR_RANGE)?;
        self.note_bearers(&list)?;
        let mut ues: Vec<UeDemand<'_>> = std::mem::take(&mut self.ues);
        let noted = self.note_ues(&list, demand.rbs, &mut ues);
        if noted.is_ok() {
            let (slot, drbs, sdus) = (demand.slot, &self.bearers[..], list.sdus);
            let demand = RbDemand { slot, now, units, ues: &ues, drbs, sdus };
            self.eqp.schedule(&demand, &mut self.out);
        }
        self.ues = emptied(ues);
        noted
    }
}

/// The memory of `ues` without the borrowed data. An in-place collection of nothing does not
/// allocate.
fn emptied(mut ues: Vec<UeDemand<'_>>) -> Vec<UeDemand<'static>> {
    ues.clear();
    ues.into_iter().map_while(|_| None).collect()
}

fn read(
    text: *const c_char,
    length: usize,
    message: Option<&mut jf_message>,
) -> Result<EqpSettings, jf_status> {
    text::parsed(text, length, &mut Note::new(message))
}

/// Writes to `size` how many bytes a scheduler with these settings needs.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_eqp_size(
    settings: *const c_char,
    settings_length: usize,
    size: Option<&mut usize>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => object::size(size, message, || settings.build()),
        Err(error) => error,
    }
}

/// Makes a scheduler in the caller's memory, as jf_gate_init does.
///
/// # Safety
/// Each pointer is NULL or points to a value of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_eqp_init(
    memory: Option<NonNull<c_void>>,
    memory_size: usize,
    settings: *const c_char,
    settings_length: usize,
    eqp: Option<&mut Option<NonNull<jf_eqp>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => {
            object::init(memory.map(NonNull::cast), memory_size, eqp, message, || settings.build())
        }
        Err(error) => error,
    }
}

/// Makes a scheduler in memory from the heap, in one block.
///
/// # Safety
/// As for jf_eqp_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_eqp_create(
    settings: *const c_char,
    settings_length: usize,
    eqp: Option<&mut Option<NonNull<jf_eqp>>>,
    mut message: Option<&mut jf_message>,
) -> jf_status {
    match read(settings, settings_length, message.as_deref_mut()) {
        Ok(settings) => object::create(eqp, message, || settings.build()),
        Err(error) => error,
    }
}

/// Ends `eqp`; NULL is allowed.
///
/// # Safety
/// `eqp` is NULL or a handle of this library whose memory is still there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_eqp_destroy(eqp: Option<NonNull<jf_eqp>>) -> jf_status {
    object::destroy::<Scheduler>(eqp)
}

/// Schedules the slot of `demand` at `now` (ns). `grants` has `ues_length` places for the grants of
/// the UEs, `bytes` has `bearers_length` places for the bytes of each bearer in its UE's transport
/// block. `withheld`, which may be NULL, gets the blocks left unused although something waits.
/// Slots without demand may be left out.
///
/// # Safety
/// As for jf_eqp_destroy; each pointer is NULL or points at as many items as said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_eqp_schedule(
    eqp: Option<NonNull<jf_eqp>>,
    now: u64,
    demand: Option<&jf_eqp_demand>,
    grants: Option<NonNull<jf_eqp_grant>>,
    bytes: Option<NonNull<u32>>,
    withheld: Option<&mut u16>,
) -> jf_status {
    object::call_at::<Scheduler>(eqp, now, |body, now| {
        let demand = demand.ok_or(JF_ERROR_NULL)?;
        if demand.ues_length > 0 && (grants.is_none() || bytes.is_none()) {
            return Err(JF_ERROR_NULL);
        }
        body.schedule(now, demand)?;
        let given = body.out.grants().iter();
        let given = given.map(|grant| jf_eqp_grant { units: grant.units, rbs: grant.rbs });
        text::write_all(grants, given);
        text::write_all(bytes, body.out.bytes().iter().copied());
        if let Some(withheld) = withheld {
            *withheld = body.out.withheld();
        }
        Ok(JF_OK)
    })
}

/// Writes to `rbs` the resource blocks that slice `slice` has lent (positive) or borrowed so far.
///
/// # Safety
/// As for jf_eqp_destroy; `rbs` is NULL or points at a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jf_eqp_quantum(
    eqp: Option<NonNull<jf_eqp>>,
    slice: u16,
    rbs: Option<&mut f64>,
) -> jf_status {
    object::call::<Scheduler>(eqp, |body| {
        *rbs.ok_or(JF_ERROR_NULL)? = body.eqp.quantum(slice.into()).ok_or(JF_ERROR_RANGE)?;
        Ok(JF_OK)
    })
}
