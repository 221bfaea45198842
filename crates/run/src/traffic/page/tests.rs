use super::*;
use crate::traffic::Span;
use justfull_base::Bytes;

#[test]
fn the_laws_have_the_means_that_3gpp_states() {
    let (config, mut rng) = (PageConfig::default(), Rng::stream(1, "pages"));
    let n = 200_000;
    let mut mean = |draw: &mut dyn FnMut(&mut Rng) -> u64| {
        (0..n).map(|_| draw(&mut rng)).sum::<u64>() as f64 / f64::from(n)
    };
    let main = mean(&mut |rng| config.main.draw(rng));
    let embedded = mean(&mut |rng| config.embedded.draw(rng));
    let objects = mean(&mut |rng| u64::from(config.objects.draw(rng)));
    assert!((main / 10_700.0 - 1.0).abs() < 0.05, "main object: {main} B");
    assert!((embedded / 8_100.0 - 1.0).abs() < 0.15, "embedded object: {embedded} B");
    // 2^1.1 (2^-0.1 - 55^-0.1) / 0.1: the mean that 3GPP states, with values beyond 55 counted
    // as 55.
    assert!((objects / 5.64 - 1.0).abs() < 0.03, "embedded objects: {objects}");
}

#[test]
fn a_page_is_a_main_object_then_the_others_over_all_connections() {
    let config = PageConfig {
        main: ObjectSize::Constant(Bytes(1_000)),
        embedded: ObjectSize::Constant(Bytes(500)),
        objects: ObjectCount::Constant(3),
        parsing: Span::Constant(Duration::from_millis(100)),
        reading: Span::Constant(Duration::from_secs(5)),
        connections: 2,
        ..PageConfig::default()
    };
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let (mut browser, _) = Browser::new(&config, 1500, at(0), Instant::NEVER, Rng::stream(1, "b"));
    let mut out = Vec::new();
    assert!(browser.wake(at(10), &mut out));
    assert_eq!(std::mem::take(&mut out), [Request { connection: 0, bytes: 1_000, size: 350 }]);
    assert!(browser.arrived(at(50), 0, 999, &mut out, |_| ()).wake.is_none(), "a byte is missing");
    assert_eq!(
        browser.arrived(at(60), 0, 1_000, &mut out, |_| ()).wake,
        Some(at(160)),
        "it parses"
    );
    assert!(!browser.wake(at(160), &mut out));
    let requested = |connection| Request { connection, bytes: 500, size: 350 };
    assert_eq!(std::mem::take(&mut out), [requested(0), requested(1)]);
    assert_eq!(browser.refused(at(160), requested(1)), at(1_160));
    assert!(browser.arrived(at(200), 0, 1_500, &mut out, |_| ()).loaded.is_none());
    assert_eq!(std::mem::take(&mut out), [requested(0)], "the third object");
    assert!(
        browser.arrived(at(300), 0, 2_000, &mut out, |_| ()).loaded.is_none(),
        "one is missing"
    );
    browser.wake(at(1_160), &mut out);
    assert_eq!(std::mem::take(&mut out), [requested(1)], "again");
    let mut times = Vec::new();
    let wish = browser.arrived(at(1_400), 1, 500, &mut out, |requested| times.push(requested));
    assert_eq!((wish.loaded, wish.wake), (Some((at(10), 2_500)), Some(at(6_400))));
    assert_eq!(times, [at(160)], "the time of an object counts from when it was wanted");
}

#[test]
fn over_http_1_1_all_embedded_objects_are_requested_at_once_and_come_one_after_the_other() {
    let law = RequestLaw { ln_mean: 5.93, ln_sd: 0.32 };
    let config = PageConfig {
        http: Http::Http11,
        connections: 1,
        main: ObjectSize::Constant(Bytes(1_000)),
        embedded: ObjectSize::Constant(Bytes(500)),
        objects: ObjectCount::Constant(3),
        request: RequestSize::LogNormal(law),
        ..PageConfig::default()
    };
    assert_eq!(config.fits(1500), Ok(()));
    let two = PageConfig { connections: 2, ..config.clone() };
    assert_eq!(two.fits(1500).map_err(|e| e.field), Err("connections".into()));
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let rng = Rng::stream(1, "b");
    let (mut browser, _) = Browser::new(&config, 1500, at(0), Instant::NEVER, rng);
    let mut out = Vec::new();
    assert!(browser.wake(at(0), &mut out));
    browser.arrived(at(100), 0, 1_000, &mut out, |_| ());
    browser.wake(at(200), &mut out);
    assert!(out.len() == 4 && out.iter().all(|request| request.connection == 0));
    assert!(out.iter().all(|request| (100..1500).contains(&request.size)), "{out:?}");
    let mut whole = 0;
    assert!(browser.arrived(at(300), 0, 2_100, &mut out, |_| whole += 1).loaded.is_none());
    let wish = browser.arrived(at(400), 0, 2_500, &mut out, |_| whole += 1);
    assert_eq!((whole, wish.loaded), (3, Some((at(0), 2_500))));
}

#[test]
fn requests_have_the_mean_of_their_law() {
    let size = RequestSize::LogNormal(RequestLaw { ln_mean: 5.93, ln_sd: 0.32 });
    let mut rng = Rng::stream(1, "requests");
    let sum: u64 = (0..100_000).map(|_| u64::from(size.draw(&mut rng, 60, 1500))).sum();
    // exp(5.93 + 0.32^2 / 2) = 396 B, rounded down, and the headers.
    assert!((sum as f64 / 1e5 - 455.6).abs() < 1.5, "{}", sum as f64 / 1e5);
}
