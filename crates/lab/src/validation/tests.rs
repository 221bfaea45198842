use super::*;

/// One slow or chance-ridden experiment in a thousand would make this test a nuisance: it runs each
/// control once.
#[test]
fn every_case_is_measured_once_and_no_measurement_is_without_a_case() {
    for control in CONTROLS {
        let experiments = experiments(control).expect("it has cases");
        let file = CaseFile::load(control).expect("it ships");
        let evidence = run_all(experiments, 2);
        let mut measured: Vec<&str> = evidence.measured.iter().map(|m| m.id.as_str()).collect();
        let mut cases: Vec<&str> = file.cases.iter().map(|case| case.id.as_str()).collect();
        measured.sort_unstable();
        cases.sort_unstable();
        assert_eq!(measured, cases, "{control}");
        for case in &file.cases {
            let found = evidence.measured.iter().find(|m| m.id == case.id).expect("compared above");
            assert!(
                found.published.is_some() != case.published.is_some(),
                "{control}: {}",
                case.id
            );
        }
        let mut figures: Vec<&str> =
            evidence.plots.iter().map(|figure| figure.id.as_str()).collect();
        figures.sort_unstable();
        figures.dedup();
        assert_eq!(figures.len(), evidence.plots.len(), "{control}");
    }
    assert!(validate("tahoe", 1).is_none());
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
    // The mean is inside, but it is not known well enough.
    assert_eq!(row(&[0.91, 0.99, 0.99]).verdict, Verdict::Missed);
    assert_eq!(row(&[f64::NAN]).verdict, Verdict::Missed);
}
