//! User documentation of the uplink and its settings.

use justfull_base::doc::MethodDoc;

/// Describes grants.
pub const DOC: MethodDoc = MethodDoc {
    name: "grants",
    kind: "uplink",
    title: "Access by scheduling requests, buffer status reports and grants",
    text: "New data in an empty buffer triggers a scheduling request at the UE's next occasion; \
           `grant_delay` later the PUSCH carries `grant` bytes and a buffer status report, after \
           which grants follow each `period` until the buffer is empty. With `configured` each \
           period has a PUSCH without a request. A lone packet so waits from `grant_delay` to \
           `grant_delay + sr_period`, uniformly.",
    sources: "TS 38.321 clauses 5.4.4, 5.4.5, 5.8.2; TS 38.214 clause 6.1.2.1; the defaults are \
              LTE as A21 and R22 met it",
    deviations: "the grant delay stands for all processing; no power headroom",
    params: super::GrantConfig::params,
};
