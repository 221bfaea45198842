//! The controls and their settings, for `explain` and the reference pages.

use crate::config::{Config, EqualShareConfig, NoneConfig};
use justfull_base::doc::MethodDoc;

/// The description of every control.
pub const DOCS: &[&MethodDoc] = &[&NONE, &EQUAL_SHARE, &RAPID];

const KIND: &str = "proxy control";

const NONE: MethodDoc = MethodDoc {
    name: "none",
    kind: KIND,
    title: "No control: the proxy only splits connections",
    text: "Each leg has the window of its own congestion control and buffers. This shows the \
           effect of a split alone, without knowledge of the radio.",
    sources: "R22 section 3.2 without the bandwidth estimation module",
    deviations: "none",
    params: NoneConfig::params,
};

const EQUAL_SHARE: MethodDoc = MethodDoc {
    name: "equal_share",
    kind: KIND,
    title: "An equal share of the UE's capacity for each flow",
    text: "Capacity and windows as in `rapid`, but no flow is ever slow: no flow gets the unused \
           share of another.",
    sources: "R22 sections 3.5 and 6 (mobile throughput guidance); equation 4",
    deviations: "none",
    params: EqualShareConfig::params,
};

const RAPID: MethodDoc = MethodDoc {
    name: "rapid",
    kind: KIND,
    title: "RAPID: fast flows get the unused shares of slow ones, within the radio's capacity",
    text: "Reports of the radio network show the capacity of each UE: its own resource blocks and \
           its part of the free ones, at the transport block size of its MCS. Each active flow of \
           the UE gets an equal share. After K round trips, in which a sender in slow start fills \
           its window, a flow that arrives at less than 80 % of its window's rate is slow: it gets \
           a multiple of its demand, and the rest of its share goes to the other flows in equal \
           parts. The receive window for the server is the rate times the round trip of the wired \
           leg; the congestion window towards the UE is the rate times the round trip of the radio \
           leg. Without new reports, the last one holds, then decays towards the measured \
           delivery. The radio leg's window grows while the radio has free blocks and data waits \
           in the proxy, and shrinks while a backlog stands. Beside traffic that bypasses the \
           proxy, trials raise it, and it stays larger if the share grows with it. Presets: sound \
           (the default), open-loop (without these two loops), as-published (the equations as \
           printed), as-released (the authors' simulator), as-released-linux (their kernel \
           module).",
    sources: "R22 sections 3.3 to 3.5 and 5.3; TS 36.213 section 7.1.7, TS 38.214 section 5.1.3; \
              ETSI GS MEC 012",
    deviations: "Free blocks are divided (equation 2 gives all to each UE), and a hungry UE may \
                 expect at least an equal part of the cell. Rates are added, not windows of flows \
                 with different round trips (10 to 13). A flow releases its equal share less its \
                 allocation: the printed distance to the previous window (11) releases nothing for \
                 a flow that stays slow. A slow flow gets 1.2 times its demand and a segment: with \
                 exactly its demand it would fill its window, look fast, and get the equal share \
                 again in every other period. The expected rate (8) is that of the least window of \
                 the last two round trips, since arriving data was sent under it, and a flow \
                 without room in the proxy is not judged. An allocation is never below 2 segments; \
                 when these together exceed the capacity, reading stops in turn.",
    params: Config::params,
};
