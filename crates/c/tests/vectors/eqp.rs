//! EQP over two slices with UEs at different MCSs, in blocks and in groups of blocks.

use super::Vector;
use justfull_base::{Duration, Instant, Ratio, Rng};
use justfull_ran::rb_demand::{DrbDemand, RbAllocation, RbDemand, RbUnits, UeDemand};
use justfull_ran::rb_scheduler::{Eqp, EqpConfig, RbScheduler};

const RBS: u16 = 25;
const UES: u32 = 4;
const BEARERS: u32 = 2;

pub(super) fn vector() -> Vector {
    let settings = ["shares = [0.3, 0.7]", "rbs = 25", "ues = 4", "bearers = 8", "sdus = 40"];
    let mut vector = Vector::new("eqp", "eqp", &settings);
    let mut eqp = Eqp::new(&EqpConfig::default(), &[Ratio(0.3), Ratio(0.7)]).expect("in bounds");
    let (mut rng, mut out) = (Rng::stream(4, "vectors"), RbAllocation::default());
    for slot in 0..80 {
        one(slot, &mut eqp, &mut rng, &mut out, &mut vector);
    }
    vector
}

fn one(slot: u64, eqp: &mut Eqp, rng: &mut Rng, out: &mut RbAllocation, vector: &mut Vector) {
    let (unit, mut tables) = (1 + rng.below(3) as u16, Vec::new());
    let (mut drbs, mut sdus, mut active) = (Vec::new(), Vec::new(), Vec::new());
    for ue in (0..UES).filter(|_| rng.chance(0.8)).collect::<Vec<_>>() {
        let each = 20 + rng.below(70) as u32;
        tables.push((0..=u32::from(RBS)).map(|n| n * each).collect::<Vec<_>>());
        let first = drbs.len() as u32;
        for drb in 0..=rng.below(BEARERS.into()) as u8 {
            let start = sdus.len() as u32;
            sdus.extend((0..rng.below(5)).map(|_| 30 + rng.below(600) as u32));
            let listed: u32 = sdus[start as usize..].iter().sum();
            let backlog = u64::from(listed) + 1 + rng.below(500);
            let (sdus, head_of_line) =
                (start..sdus.len() as u32, Duration::from_millis(drb.into()));
            drbs.push(DrbDemand { drb, sdus, backlog, head_of_line });
        }
        active.push((ue, each, first..drbs.len() as u32));
    }
    let demand = |(table, (ue, _, drbs)): (_, &(u32, u32, std::ops::Range<u32>))| {
        let tbs: &Vec<u32> = table;
        UeDemand { ue: *ue, slice: (*ue % 2) as u16, tbs, drbs: drbs.clone() }
    };
    let ues: Vec<UeDemand<'_>> = tables.iter().zip(&active).map(demand).collect();
    let (now, units) =
        (Instant::ZERO + Duration::from_millis(slot), RbUnits::new(RBS, unit).expect("a size"));
    let demand = RbDemand { slot, now, units, ues: &ues, drbs: &drbs, sdus: &sdus };
    eqp.schedule(&demand, out);
    let withheld = out.withheld();
    vector.say(format!("slot {} {slot} {RBS} {unit} {} {withheld}", now.as_nanos(), ues.len()));
    for (i, ((ue, each, range), demanded)) in active.iter().zip(&ues).enumerate() {
        let (grant, count) = (out.grant(i), range.len());
        let (slice, units, rbs) = (demanded.slice, grant.units, grant.rbs);
        vector.say(format!("ue {ue} {slice} {each} {count} {units} {rbs}"));
        for drb in &drbs[range.start as usize..range.end as usize] {
            let own = &sdus[drb.sdus.start as usize..drb.sdus.end as usize];
            let listed: Vec<String> = own.iter().map(ToString::to_string).collect();
            let DrbDemand { drb: number, backlog, head_of_line, .. } = drb;
            let wait = head_of_line.as_nanos();
            let head = format!("bearer {number} {backlog} {wait} {}", own.len());
            vector.say([head, listed.join(" ")].join(" ").trim_end().to_owned());
        }
    }
    let bytes: Vec<String> = out.bytes().iter().map(ToString::to_string).collect();
    vector.say(format!("bytes {}", bytes.join(" ")).trim_end().to_owned());
}
