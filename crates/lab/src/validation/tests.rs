use super::*;

#[test]
fn every_control_has_cases_and_experiments_and_another_name_has_none() {
    for control in CONTROLS {
        assert!(!CaseFile::load(control).expect("it ships").cases.is_empty(), "{control}");
        assert!(!experiments(control).expect("it has cases").is_empty(), "{control}");
    }
    assert!(validate("tahoe", 1).is_none());
}

#[test]
#[should_panic(expected = "left: []")]
fn a_case_without_a_measurement_is_found() {
    assert_complete(&CaseFile::load("fixed").expect("it ships"), &Evidence::default());
}

fn row(ours: &[f64]) -> Row {
    let file = CaseFile::load("new_reno").expect("it ships");
    let case = file.cases.iter().find(|case| case.id == "jain").expect("it is a case");
    judge(case, &[Measured { id: "jain".into(), published: None, ours: ours.to_vec() }])
}

#[test]
fn the_whole_interval_must_lie_in_the_band() {
    assert_eq!(row(&[0.99]).verdict, Verdict::Met);
    assert_eq!(row(&[0.94]).verdict, Verdict::Missed);
    assert_eq!(row(&[0.97, 0.98, 0.97, 0.98]).verdict, Verdict::Met);
    // The mean is inside, but its interval is too wide.
    assert_eq!(row(&[0.91, 0.99, 0.99]).verdict, Verdict::Missed);
    assert_eq!(row(&[f64::NAN]).verdict, Verdict::Missed);
}

/// [`row`] with runs of the kernel's own control.
fn beside(ours: f64, live: &[f64]) -> Row {
    let mut case = row(&[ours]).case;
    case.live = Some(Live { runs: live.to_vec(), command: String::new() });
    judge(&case, &[Measured { id: "jain".into(), published: None, ours: vec![ours] }])
}

#[test]
fn the_kernel_explains_a_miss_that_it_shares() {
    // The band begins at 0.95.
    assert_eq!(beside(0.99, &[0.5, 0.6]).verdict, Verdict::Met);
    assert_eq!(beside(0.94, &[0.5, 0.6]).verdict, Verdict::Explained);
    assert_eq!(beside(0.94, &[0.9, 0.97]).verdict, Verdict::Explained, "ours is among them");
    assert_eq!(beside(0.94, &[0.96, 0.97]).verdict, Verdict::Missed);
    assert_eq!(beside(0.4, &[0.94, 0.97]).verdict, Verdict::Missed);
    assert_eq!(beside(1.2, &[0.5, 0.6]).verdict, Verdict::Missed, "on the other side");
    assert_eq!(beside(f64::NAN, &[0.5]).verdict, Verdict::Missed);
    assert_eq!(beside(0.94, &[]).verdict, Verdict::Missed);
}

#[test]
fn a_verdict_may_not_be_worse_than_recorded() {
    let with = |recorded, found| {
        let mut row = row(&[0.99]);
        (row.case.status, row.verdict) = (recorded, found);
        let file = CaseFile::load("new_reno").expect("it ships");
        Validation { file, rows: vec![row], plots: Vec::new() }.as_recorded()
    };
    for (found, least) in [
        (Verdict::Met, Status::Met),
        (Verdict::Explained, Status::Explained),
        (Verdict::Missed, Status::Missed),
    ] {
        for recorded in [Status::Met, Status::Explained, Status::Missed] {
            assert_eq!(with(recorded, found), recorded >= least, "{recorded:?} {found:?}");
        }
    }
}
