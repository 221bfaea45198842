//! Which files are algorithms of a kind, and which tests must notice when they change.

/// Algorithms of one kind, and the tests that must notice when they change.
pub(super) struct Area {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    /// Folder of the package.
    pub(super) folder: &'static str,
    pub(super) files: &'static [&'static str],
    /// Test programs that run beside the unit tests.
    pub(super) tests: &'static [&'static str],
}

/// Files in these folders that hold algorithms to rules and are none: what they require is their
/// author's choice.
pub(super) const RULES: [&str; 1] = ["crates/ran/src/limiter/conformance.rs"];

const RAN: &str = "justfull-ran";
const RAN_FOLDER: &str = "crates/ran";

pub(super) const AREAS: [Area; 8] = [
    Area {
        name: "aqm",
        package: "justfull-queue",
        folder: "crates/queue",
        files: &["crates/queue/src/aqm.rs", "crates/queue/src/aqm/**"],
        tests: &["--test=codel", "--test=dualpi2", "--test=managed", "--test=p06"],
    },
    Area {
        name: "discipline",
        package: "justfull-queue",
        folder: "crates/queue",
        files: &["crates/queue/src/discipline.rs", "crates/queue/src/discipline/**"],
        tests: &["--test=discipline", "--test=dualpi2", "--test=fq_codel", "--test=managed"],
    },
    Area {
        name: "limiter",
        package: RAN,
        folder: RAN_FOLDER,
        files: &["crates/ran/src/limiter.rs", "crates/ran/src/limiter/**"],
        tests: &[],
    },
    Area {
        name: "pacer",
        package: RAN,
        folder: RAN_FOLDER,
        files: &["crates/ran/src/pacer.rs", "crates/ran/src/pacer/**"],
        tests: &[],
    },
    Area {
        name: "pdcp",
        package: RAN,
        folder: RAN_FOLDER,
        files: &["crates/ran/src/pdcp.rs"],
        tests: &[],
    },
    Area {
        name: "rlc",
        package: RAN,
        folder: RAN_FOLDER,
        files: &["crates/ran/src/rlc.rs", "crates/ran/src/rlc/**"],
        tests: &[],
    },
    Area {
        name: "rb_scheduler",
        package: RAN,
        folder: RAN_FOLDER,
        files: &["crates/ran/src/rb_scheduler.rs", "crates/ran/src/rb_scheduler/**"],
        tests: &[],
    },
    Area {
        name: "cc",
        package: "justfull-tcp",
        folder: "crates/tcp",
        files: &["crates/tcp/src/cc.rs", "crates/tcp/src/cc/**", "crates/tcp/src/control.rs"],
        tests: &["--test=endpoints"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_area_is_there() {
        for file in AREAS.iter().flat_map(|area| area.files).chain(&RULES) {
            let path = crate::root().join(file.trim_end_matches("/**"));
            assert!(path.exists(), "{}", path.display());
        }
    }
}
