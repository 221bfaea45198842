//! A quantity over time, one line for each method.

use super::collect;
use crate::figure::{Curve, Span};
use crate::read::{Folder, OverTime};
use crate::words;

/// The words of `what` for an axis, with its unit: `Median delay (ms)`.
#[must_use]
pub fn over_time_in_words(what: OverTime) -> String {
    words::of_quantity(what.name, what.unit)
}

/// The lines of `what`: of the runs with `seed`, or the means over all runs without a seed.
pub(super) fn series(
    folders: &[Folder],
    what: OverTime,
    seed: Option<u64>,
) -> Result<Vec<Curve>, String> {
    let (mut shown, mut read) = (Vec::new(), Vec::new());
    for folder in folders {
        let mut folder = folder.clone();
        if !what.of_flow {
            // Each row of the folder is a flow's; one flow stands for the cell.
            folder.keep_first_flow();
        }
        read.push(folder.over_time(what, seed)?);
        shown.push(folder);
    }
    let place = |folder: &Folder| shown.iter().position(|f| std::ptr::eq(f, folder)).unwrap_or(0);
    let curves = collect(
        &shown,
        |_, key| words::of_point(&key.point),
        |folder, key| {
            let key = if what.of_flow { key.clone() } else { key.in_layer("") };
            let points = read[place(folder)].get(&key).into_iter().flatten();
            points.map(|(time, value)| [Span::exact(*time), Span::exact(*value)]).collect()
        },
    );
    let has_value = |curve: &Curve| curve.points.iter().any(|[_, value]| value.mid.is_finite());
    Ok(curves.into_iter().filter(has_value).collect())
}

#[cfg(test)]
mod tests {
    use crate::chosen::{Kind, chosen};
    use crate::read::{self, Folder, testing};

    fn example() -> (tempfile::TempDir, Folder) {
        let room = tempfile::tempdir().expect("a folder");
        let cells = ["DRQL", "CoDel"].into_iter().flat_map(|m| ["call", "bulk"].map(|f| (m, f)));
        let rows: Vec<String> = cells
            .clone()
            .flat_map(|(method, flow)| {
                [1, 2].map(|seed| {
                    format!(
                        "{{\"scenario\":\"s\",\"group\":\"g\",\"method\":\"{method}\",\
                         \"seed\":{seed},\"flow\":\"{flow}\"}}"
                    )
                })
            })
            .collect();
        let head = "scenario,group,x_name,x_value,method,seed";
        let mut flows =
            format!("{head},flow,time_s,delay_ms_p10,delay_ms_p50,delay_ms_p90,goodput_mbit_s\n");
        let mut cell = format!("{head},time_s,upf_packets,sdap_packets,rlc_packets\n");
        for seed in [1, 2] {
            for (method, flow) in cells.clone() {
                let own = seed * 10;
                flows += &format!("s,g,,,{method},{seed},{flow},0,1,{own},30,0.5\n");
                flows += &format!("s,g,,,{method},{seed},{flow},1,,,,0\n");
                flows += &format!("s,g,,,{method},{seed},{flow},2,1,40,80,0.25\n");
            }
            for method in ["DRQL", "CoDel"] {
                cell += &format!("s,g,,,{method},{seed},0,1,2,{}\n", 7 * seed);
            }
        }
        let path = room.path().join("r");
        let files = [("flow_series.csv", flows.as_str()), ("series.csv", cell.as_str())];
        let folder = testing::folder_with(&path, "", &rows, &files);
        (room, folder)
    }

    fn values(folder: &Folder, name: &str, seed: Option<u64>) -> Vec<(String, Vec<(f64, f64)>)> {
        let what = read::over_time_of(name).expect("known");
        let curves = super::series(std::slice::from_ref(folder), what, seed).expect("read");
        let points = |curve: &crate::figure::Curve| {
            curve.points.iter().map(|[x, y]| (x.mid, y.mid)).collect::<Vec<_>>()
        };
        curves.iter().map(|curve| (curve.name.clone(), points(curve))).collect()
    }

    #[test]
    fn each_method_and_flow_has_the_means_of_the_bins_of_all_runs_or_the_bins_of_the_seed() {
        let (_room, folder) = example();
        let all = values(&folder, "delay", None);
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["DRQL, call", "DRQL, bulk", "CoDel, call", "CoDel, bulk"]);
        let points = &all[0].1;
        assert_eq!((points[0], points[2]), ((0.0, 15.0), (2.0, 40.0)));
        assert!(points[1].1.is_nan(), "a bin without packets is a gap");
        assert_eq!(values(&folder, "delay", Some(1))[0].1[0], (0.0, 10.0));
        assert_eq!(values(&folder, "delay.p90", Some(2))[3].1[2], (2.0, 80.0));
        assert_eq!(values(&folder, "delay_ms_p50", Some(2))[0].1[0], (0.0, 20.0));
        assert_eq!(values(&folder, "goodput", None)[1].1[1], (1.0, 0.0));
    }

    #[test]
    fn a_queue_has_one_line_for_each_method() {
        let (_room, folder) = example();
        let found = values(&folder, "rlc_packets", Some(2));
        let line = |method: &str| (method.to_owned(), vec![(0.0, 14.0)]);
        assert_eq!(found, [line("DRQL"), line("CoDel")]);
    }

    #[test]
    fn a_gap_is_not_drawn_over_and_a_missing_seed_or_quantity_is_named() {
        let (_room, folder) = example();
        let kind = |name, seed| Kind::Series { y: read::over_time_of(name).expect("known"), seed };
        let folders = [folder];
        let figure = chosen(&folders, kind("delay", None), "", None).expect("it is drawn");
        assert!(figure.svg.contains("DRQL") && !figure.svg.contains("NaN"), "{}", figure.svg);
        assert_eq!(figure.title, "Median delay (ms) over Time (s)");
        let page = crate::figure::page::Page::plain();
        let figure = chosen(&folders, kind("goodput", None), "", Some(&page)).expect("drawn");
        assert!(figure.svg.contains("Time (s)") && figure.svg.contains("Goodput (Mbit/s)"));
        let said = chosen(&folders, kind("delay", Some(9)), "", None).expect_err("no such seed");
        assert!(said.to_string().ends_with("flow_series.csv: no seed 9; there is 1, 2"), "{said}");
        let said = read::over_time_of("dely").expect_err("no such quantity").to_string();
        assert!(said.starts_with("no quantity `dely` over time; did you mean delay"), "{said}");
    }
}
