use super::*;
use justfull_base::Bytes;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(ms_from_start: u64) -> Instant {
    Instant::ZERO + ms(ms_from_start)
}

fn uplink(grants: GrantConfig, limit: u64) -> Uplink<Up> {
    let config = UplinkConfig {
        rate: BitRate(0),
        delay: ms(10),
        limit: Bytes(limit),
        grants: Some(grants),
        stack: None,
        cell_aqm: None,
        zhuge: None,
    };
    config.validate(1500).expect("sound settings");
    Uplink::new(&config, 2, &[Duration::ZERO], Instant::ZERO, 1)
}

fn requests() -> GrantConfig {
    GrantConfig { sr_offset: Some(ms(3)), ..GrantConfig::default() }
}

/// Arrival times of packets at their servers, in ms.
fn arrivals(uplink: &mut Uplink<Up>) -> Vec<f64> {
    let mut found = Vec::new();
    while uplink.next() < Instant::NEVER {
        let now = uplink.next();
        while uplink.pop(now, |_, _, _| false).is_some() {
            found.push(now.as_secs_f64() * 1e3);
        }
    }
    found
}

fn send(uplink: &mut Uplink<Up>, now: Instant, ue: u32, size: u32) -> bool {
    uplink.push(now, 0, size, Up::Reply(0, now), || Way { ue, ..Way::default() })
}

#[test]
fn a_lone_packet_waits_for_its_occasion_and_its_grant() {
    // Occasions at 3, 13, 23 ms; the PUSCH 8 ms after the request, then 10 ms of wire.
    for (sent, arrives) in [(0, 21.0), (3, 21.0), (4, 31.0), (13, 31.0), (14, 41.0)] {
        let mut uplink = uplink(requests(), 10_000);
        assert!(send(&mut uplink, at(sent), 0, 100));
        assert_eq!(arrivals(&mut uplink), [arrives], "sent at {sent} ms");
    }
}

#[test]
fn buffer_status_reports_keep_the_grants_coming_until_the_buffer_is_empty() {
    let mut uplink = uplink(requests(), 10_000);
    for _ in 0..5 {
        assert!(send(&mut uplink, at(0), 0, 1_000));
    }
    // 1250 B at 11 ms, and from 19 ms on each millisecond: 1, 2, 3, 5 packets are complete after
    // 11, 19, 20 and 21 ms.
    assert_eq!(arrivals(&mut uplink), [21.0, 29.0, 30.0, 31.0, 31.0]);
    // The next packet needs a new request.
    assert!(send(&mut uplink, at(34), 0, 100));
    assert_eq!(arrivals(&mut uplink), [61.0], "occasion at 43 ms");
}

#[test]
fn packets_that_come_before_the_grant_share_it() {
    let mut uplink = uplink(requests(), 10_000);
    assert!(send(&mut uplink, at(1), 0, 100));
    assert!(send(&mut uplink, at(10), 0, 100));
    assert_eq!(arrivals(&mut uplink), [21.0, 21.0]);
}

#[test]
fn a_configured_grant_needs_no_request() {
    let grants = GrantConfig { configured: true, period: ms(2), ..GrantConfig::default() };
    let mut uplink = uplink(grants, 10_000);
    assert!(send(&mut uplink, at(100), 0, 2_000));
    let found = arrivals(&mut uplink);
    let wait = found[0] - 110.0;
    assert!((2.0..=4.0).contains(&wait), "the second of two occasions, 2 ms apart: {wait}");
}

#[test]
fn each_ue_has_a_queue_of_its_own() {
    let mut uplink = uplink(requests(), 10_000);
    for ue in [0, 1] {
        assert!(send(&mut uplink, at(0), ue, 1_250));
    }
    assert_eq!(arrivals(&mut uplink), [21.0, 21.0]);
}

#[test]
fn a_full_queue_drops_and_every_packet_is_accounted_for() {
    let mut uplink = uplink(requests(), 3_000);
    let kept = (0..5).filter(|_| send(&mut uplink, at(0), 0, 1_000)).count();
    assert_eq!(kept, 3);
    let before = uplink.finish();
    assert_eq!((before.entered, before.overflow_drops, before.queued), (5, 2, 3));
    assert_eq!(before.overflow_bytes, 2_000);
    arrivals(&mut uplink);
    let after = uplink.finish();
    assert_eq!((after.delivered, after.queued), (3, 0));
    assert_eq!(after.wait.count, 3);
}

#[test]
fn a_rate_serialises_and_a_free_uplink_only_delays() {
    let config = |rate| UplinkConfig {
        rate: BitRate(rate),
        delay: ms(10),
        limit: UplinkConfig::LIMIT,
        grants: None,
        stack: None,
        cell_aqm: None,
        zhuge: None,
    };
    for (rate, wanted) in [(8_000_000, [11.0, 12.0]), (0, [10.0, 10.0])] {
        let mut uplink = Uplink::new(&config(rate), 1, &[Duration::ZERO], Instant::ZERO, 1);
        assert!(send(&mut uplink, at(0), 0, 1_000) && send(&mut uplink, at(0), 0, 1_000));
        assert_eq!(arrivals(&mut uplink), wanted);
    }
}

#[test]
fn settings_out_of_bounds_are_named() {
    let with = |change: fn(&mut GrantConfig)| {
        let mut grants = GrantConfig::default();
        change(&mut grants);
        let config = UplinkConfig {
            rate: BitRate(0),
            delay: ms(10),
            limit: UplinkConfig::LIMIT,
            grants: Some(grants),
            stack: None,
            cell_aqm: None,
            zhuge: None,
        };
        config.validate(1500).map_err(|e| e.field)
    };
    assert_eq!(with(|_| ()), Ok(()));
    assert_eq!(with(|g| g.sr_period = Duration::ZERO), Err("grants.sr_period".into()));
    assert_eq!(with(|g| g.sr_offset = Some(ms(10))), Err("grants.sr_offset".into()));
    assert_eq!(with(|g| g.period = Duration::ZERO), Err("grants.period".into()));
    assert_eq!(with(|g| g.grant = Bytes(0)), Err("grants.grant".into()));
}
