//! Tests the report in a browser: sorting of tables, and interactive charts.

use super::{Browser, results};
use serde_json::json;
use tempfile::TempDir;

#[test]
fn tables_of_a_report_sort_and_its_charts_show_values_zoom_and_hide_methods() {
    let Some(mut browser) = Browser::new() else { return };
    let folder = TempDir::new().expect("a folder");
    results(folder.path(), "r", &[]);
    browser.open(&format!("file://{}/r/report.html", folder.path().display()));
    let answer = browser.text("document.querySelector('.answer').textContent");
    assert!(answer.contains("Under Vanilla one in a hundred packets of voip waits"), "{answer}");
    assert!(answer.contains("under DRQL than") && answer.contains("intervals"), "{answer}");
    let above = "document.querySelector('.answer').compareDocumentPosition(document.querySelector(\
                 '.facts')) === Node.DOCUMENT_POSITION_FOLLOWING";
    assert_eq!(browser.eval(above), json!(true), "the facts stand below the answer");
    let names = "[...document.querySelector('table').tBodies[0].querySelectorAll('tr:not(.part)\
                 :not(.note):not(.reference) th')].map(head => head.firstChild.textContent).join()";
    let press = "document.querySelectorAll('table')[0].tHead.querySelectorAll('button')[2].click()";
    assert_eq!(browser.text(names), "Vanilla,DRQL");
    browser.eval(press);
    assert_eq!(browser.text(names), "DRQL,Vanilla", "by the mean delay");
    browser.eval(press);
    assert_eq!(browser.text(names), "Vanilla,DRQL");
    for order in ["DRQL,Vanilla", "Vanilla,DRQL"] {
        browser.eval("document.querySelector('table').tHead.querySelector('button').click()");
        assert_eq!(browser.text(names), order, "by the name");
    }
    let charts = "document.querySelectorAll('.live canvas').length";
    assert_eq!(browser.eval(charts), json!(2), "the first figure is interactive from the start");
    let at = |x: f64, what: &str| {
        format!(
            "(() => {{ const over = document.querySelector('.live .u-over'), box = \
             over.getBoundingClientRect(); over.dispatchEvent(new MouseEvent('{what}', {{ bubbles: \
             true, movementX: 9, clientX: box.left + {x} * box.width, clientY: box.top + 20 }})); }})()"
        )
    };
    browser.eval(&at(0.7, "mouseenter"));
    browser.eval(&at(0.7, "mousemove"));
    browser.until("!document.querySelector('.tip').hidden");
    let tip = browser.text("document.querySelector('.tip').textContent");
    assert!(tip.contains("Vanilla: ") && tip.contains("DRQL: ") && tip.contains(" ms"), "{tip}");
    let picture = "document.querySelector('.live canvas').toDataURL()";
    let whole = browser.text(picture);
    for (x, what) in [(0.5, "mousedown"), (0.8, "mousemove"), (0.8, "mouseup")] {
        browser.eval(&at(x, what));
    }
    browser.until(&format!("{picture} !== {}", json!(whole)));
    let zoomed = browser.text(picture);
    browser.eval("document.querySelector('.live .legend button').click()");
    browser.until(&format!("{picture} !== {}", json!(zoomed)));
    let pressed = "document.querySelector('.live .legend button').getAttribute('aria-pressed')";
    assert_eq!(browser.text(pressed), "false");
    browser.eval("[...document.querySelectorAll('.live .legend button')].at(-1).click()");
    assert_eq!(browser.eval("document.querySelectorAll('.live').length"), json!(0), "the picture");
    browser.eval("document.querySelector('button.explore').click()");
    assert_eq!(browser.eval(charts), json!(2), "and again the charts");
    browser.eval("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.eval(charts), json!(0), "paper gets the picture");
    let own = browser.requests();
    assert!(own.iter().all(|url| url.starts_with("file:") || url == "about:blank"), "{own:?}");
    assert_eq!(browser.faults(), Vec::<String>::new());
}
