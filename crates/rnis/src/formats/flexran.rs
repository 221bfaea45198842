//! The text of R22's set-up (section 5.1), from FlexRAN's statistics: `cqi,txq,tbs_bytes,prb` for
//! each requested subframe.
//!
//! In the authors' published program (`pub_stat.py` of RAPID-LINUX) the third number is the size in
//! bytes of one subframe's transport block, with the UE's scheme, on all blocks that are free or
//! its own. This is the amount that the UE could get, and the only number needed here. The second
//! is always 0 there.

use crate::malformed::Malformed;
use crate::report::Report;
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_net::Prefix;

/// A subframe of LTE (TS 36.211 section 4).
const SUBFRAME: Duration = Duration::from_millis(1);
/// Longest text.
const LONGEST: usize = 128;

/// Reads a text that arrived at `at`, about the UE with these addresses.
///
/// # Errors
/// The wrong part of the text.
pub fn flexran(text: &[u8], ue: &[Prefix], at: Instant) -> Result<Report, Malformed> {
    let wrong = || "allowed is cqi,txq,tbs_bytes,prb: four whole numbers".into();
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= LONGEST);
    let numbers: Option<Vec<u64>> =
        text.and_then(|text| text.trim().split(',').map(|n| n.trim().parse().ok()).collect());
    let Some(&[cqi, txq, tbs, _prb]) = numbers.as_deref() else { return Err(wrong()) };
    if cqi > 15 {
        return Err(
            format!("cqi: found {cqi}, allowed is 0 to 15 (TS 36.213 section 7.2.3)").into()
        );
    }
    let ran = RanReport {
        at,
        kind: CellKind::Bytes,
        slot: SUBFRAME,
        slots: 1,
        offered: tbs,
        used: 0,
        active_ues: 0,
        blocks: 0,
        repeats: 0,
        bytes: 0,
        mcs: None,
        backlog: txq,
    };
    Ok(Report { ue: ue.to_vec(), pool: None, cell: None, ran })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_number_is_what_a_subframe_could_bring() {
        let ue: [Prefix; 1] = ["10.45.0.1".parse().expect("an address")];
        let at = Instant::ZERO + Duration::from_millis(7);
        let report = flexran(b"15,0,2292,25", &ue, at).expect("a report");
        assert_eq!((report.ran.offered, report.ran.slots, report.ran.at), (2_292, 1, at));
        assert_eq!(report.ran.slot, SUBFRAME);
        for text in ["", "15,0,2292", "15,0,2292,25,1", "15,0,x,25", "16,0,1,1", "15,0,-1,2"] {
            assert!(flexran(text.as_bytes(), &ue, at).is_err(), "{text}");
        }
        assert!(flexran(b"\xff,0,1,1", &ue, at).is_err());
    }
}
