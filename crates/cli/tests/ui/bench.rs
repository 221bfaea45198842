//! Measures times of the page in a browser. `cargo xtask bench page` judges their percentiles.

use super::{Browser, Served, drawn};
use serde_json::{Value, json};

/// Times from each of 50 moves of a slider to the end of the redraw, in ms.
const MOVES: &str = "(async () => {
    const slider = document.querySelector('[data-key=buffer]'), times = [];
    const redrawn = () => Number($('main').dataset.redrawn);
    for (let i = 0; i < 50; i += 1) {
        const before = redrawn(), start = performance.now();
        slider.value = String(100 + 50 * i);
        slider.dispatchEvent(new Event('input'));
        while (redrawn() === before) await new Promise(requestAnimationFrame);
        times.push(performance.now() - start);
    }
    return times;
})()";
/// Times of 20 redraws of a chart of a million points, in ms.
const POINTS: &str = "(async () => {
    document.body.append(make('div', { id: 'many' }));
    const x = Float64Array.from({ length: 1e6 }, (_, i) => i), times = [];
    for (let i = 0; i < 21; i += 1) {
        const values = x.map(v => Math.sin(v / 1e4 + i)), start = performance.now();
        const line = { label: 'y', colour: '#0072b2', dash: [], values };
        draw('many', { x, lines: [line], unit: '', xLabel: 'x', yLabel: 'y' });
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - start);
    }
    return times.slice(1);
})()";

/// The 95th percentile of `times`.
fn p95(times: &Value) -> f64 {
    let mut all: Vec<f64> =
        times.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    all.sort_by(f64::total_cmp);
    let at = (0.95 * all.len() as f64).ceil() as usize;
    *all.get(at.saturating_sub(1)).expect("the page measured times")
}

#[test]
#[ignore = "its times are those of the machine; `cargo xtask bench page` runs it"]
fn times() {
    let mut browser = Browser::new().expect("Chromium is here");
    let page = Served::new();
    browser.open(&page.url);
    drawn(&mut browser, 1);
    let paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime";
    let found = json!({
        "first_paint_ms": browser.number(paint),
        "slider_p95_ms": p95(&browser.eval(MOVES)),
        "million_points_p95_ms": p95(&browser.eval(POINTS)),
    });
    println!("\n{found}");
    assert_eq!(browser.faults(), Vec::<String>::new());
}
