//! The report in a real browser: every figure shows content, on a desktop, on a phone and on paper,
//! without a network.
//!
//! Needs Chromium, which `.ci/setup` installs from Debian. Without it the test prints a note and is
//! skipped; in CI this is a failure.

mod page;

use page::run_all;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Reports the page's layout: added to a copy of the report before the browser opens it.
const PROBE: &str = r#"<script>
const figures = [...document.querySelectorAll("figure")].map(f => {
  const r = f.querySelector(".live, .plot").getBoundingClientRect();
  return { id: f.id, x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height };
});
// Boxes that show less than they hold, and whether a shadow at their edge says so.
const cut = [...document.querySelectorAll(".scroll, .plot")].filter(b =>
    b.scrollWidth > b.clientWidth + 1).map(b => {
  const shaded = getComputedStyle(b).backgroundImage.includes("gradient");
  return { what: b.className, hint: shaded };
});
// Words of pictures that reach beyond them.
const outside = [...document.querySelectorAll("svg text")].filter(t => {
  const [word, all] = [t, t.ownerSVGElement].map(e => e.getBoundingClientRect());
  return word.left < all.left - 0.5 || word.right > all.right + 0.5
      || word.top < all.top - 0.5 || word.bottom > all.bottom + 0.5;
}).map(t => t.textContent.trim()).filter(text => text !== "");
// The smallest type of pictures, in pixels.
const type = Math.min(...[...document.querySelectorAll(".plot svg text")].map(t =>
  parseFloat(getComputedStyle(t).fontSize) * Math.hypot(t.getCTM().a, t.getCTM().b)));
// Words that stand out too little from what is behind them (WCAG 2.2, contrast ratio).
const channels = colour => colour.match(/[\d.]+/g).map(Number);
const luminance = colour => channels(colour).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ground = element => {
  if (element.closest("svg")) return "rgb(255, 255, 255)";
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (channels(colour)[3] !== 0) return colour;
  }
  return "rgb(255, 255, 255)";
};
const faint = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let words = 0;
while (walk.nextNode()) {
  const text = walk.currentNode.textContent.trim(), element = walk.currentNode.parentElement;
  if (text === "" || element.getClientRects().length === 0) continue;
  words += 1;
  const style = getComputedStyle(element);
  const both = [element.closest("svg") ? style.fill : style.color, ground(element)].map(luminance);
  const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  if (ratio < 4.5) faint.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
}
const out = document.createElement("script");
out.type = "application/json";
out.id = "probe";
out.textContent = JSON.stringify({ figures, cut, outside, type, faint, words,
  height: document.documentElement.scrollHeight,
  width: document.documentElement.scrollWidth,
      loaded: performance.getEntriesByType("resource").length });
parent.document.body.append(out);
</script>"#;

/// Added before [`PROBE`] to show the whole page.
const UNFOLD: &str = r#"<script>
document.querySelectorAll("details").forEach(d => d.open = true);
</script>"#;

/// Width of a small phone. The browser's own windows are at least 500 pixels wide, so the page is
/// put in a frame.
const PHONE: u32 = 390;

/// The largest folder of a demonstration, in bytes.
const MOST_BYTES: u64 = 5_000_000;
/// Maximum height of a demonstration's page on a desktop, in pixels.
const MOST_HEIGHT: u64 = 3_000;

fn chromium() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .flat_map(|folder| {
            ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name))
        })
        .find(|path| path.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "no Chromium, and CI must not skip");
        println!("skipped: no Chromium on this machine (apt-get install chromium)");
    }
    found
}

/// Exit code of `timeout` after it has ended a command.
const TIMED_OUT: i32 = 124;

/// Runs the browser on `page` in a window of `width` x `height`; returns its standard output. On a
/// busy machine Chromium can wait forever for a picture, so it has three tries of two minutes.
fn browse(
    browser: &Path,
    folder: &Path,
    page: &Path,
    width: u32,
    height: u32,
    action: &str,
) -> String {
    let mut command = Command::new("timeout");
    command
        .arg("120")
        .arg(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
        ])
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--virtual-time-budget=2000",
            "--no-pdf-header-footer",
        ])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--window-size={width},{height}"))
        .arg(action)
        .arg(format!("file://{}", page.display()));
    let once = |_| command.output().expect("the browser starts");
    let in_time = |done: &Output| done.status.code() != Some(TIMED_OUT);
    let done = (0..3).map(once).find(in_time).expect("the browser ends in time");
    assert!(done.status.success(), "{action}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("the browser prints text")
}

/// The layout report of the page in a window of `width`.
fn probe(browser: &Path, folder: &Path, page: &Path, width: u32) -> serde_json::Value {
    let dom = browse(browser, folder, page, width, 900, "--dump-dom");
    let (_, rest) = dom.split_once("id=\"probe\">").expect("the page was laid out");
    let (text, _) = rest.split_once("</script>").expect("the page is whole");
    serde_json::from_str(text).expect("the page prints JSON")
}

/// The position of a figure on the page, in pixels.
struct Place {
    id: String,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

fn places(page: &serde_json::Value) -> Vec<Place> {
    let number =
        |figure: &serde_json::Value, key: &str| figure[key].as_f64().expect("a number") as usize;
    let figures = page["figures"].as_array().expect("a list");
    let place = |f: &serde_json::Value| Place {
        id: f["id"].as_str().expect("a name").to_owned(),
        x: number(f, "x"),
        y: number(f, "y"),
        width: number(f, "width"),
        height: number(f, "height"),
    };
    figures.iter().map(place).collect()
}

/// An RGB picture.
struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    fn read(file: &Path) -> Self {
        let file = std::io::BufReader::new(
            std::fs::File::open(file).expect("the browser has made a picture"),
        );
        let mut decoder = png::Decoder::new(file);
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().expect("a PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("a picture of finite size")];
        let info = reader.next_frame(&mut bytes).expect("a whole PNG");
        let samples = info.color_type.samples();
        let pixels =
            bytes[..info.buffer_size()].chunks_exact(samples).map(|p| [p[0], p[1], p[2]]).collect();
        Self { width: info.width as usize, pixels }
    }

    /// True if there is a drawing at `place`: several colours, and ink on at least a hundredth of
    /// it.
    fn shows(&self, place: &Place) -> bool {
        let rows = place.y..place.y + place.height;
        let inside: Vec<[u8; 3]> = rows
            .filter_map(|y| {
                self.pixels.get(y * self.width + place.x..y * self.width + place.x + place.width)
            })
            .flatten()
            .copied()
            .collect();
        let colours: BTreeSet<[u8; 3]> = inside.iter().copied().collect();
        let ink = inside.iter().filter(|p| **p != [255, 255, 255]).count();
        inside.len() == place.width * place.height
            && colours.len() >= 8
            && ink * 100 >= inside.len()
    }
}

/// A page that shows `page` in a frame as wide as a phone.
fn on_a_phone(folder: &Path, page: &Path, height: u32) -> PathBuf {
    let text = std::fs::read_to_string(page).expect("the page is there");
    let text = text.replace('&', "&amp;").replace('"', "&quot;");
    let phone = folder.join("phone.html");
    let frame = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><body style=\"margin:0\"><iframe \
         style=\"border:0;display:block\" width=\"{PHONE}\" height=\"{height}\" \
         srcdoc=\"{text}\"></iframe></body>"
    );
    std::fs::write(&phone, frame).expect("a file can be written");
    phone
}

/// A report of a short comparison, and the copy that reports its own layout.
fn report(folder: &Path) -> (PathBuf, PathBuf) {
    let out = folder.join("out");
    let done = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args([
            "run",
            "t20-individual",
            "--set",
            "duration=20s",
            "--method",
            "Vanilla",
            "--method",
            "5G-BDP",
        ])
        .args(["--runs", "3", "--quiet", "--out"])
        .arg(&out)
        .output()
        .expect("the program starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let whole = out.join("report.html");
    let text = std::fs::read_to_string(&whole).expect("the report is there");
    let probed = folder.join("probed.html");
    std::fs::write(&probed, text.replace("</body>", &format!("{UNFOLD}{PROBE}</body>")))
        .expect("a file can be written");
    (whole, probed)
}

#[test]
fn every_figure_shows_on_a_desk_on_a_phone_and_on_paper() {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (report, probed) = report(folder.path());
    for width in [1280, PHONE] {
        let framed = |height| match width {
            PHONE => on_a_phone(folder.path(), &probed, height),
            _ => probed.clone(),
        };
        let window = width.max(500);
        let page = probe(&browser, folder.path(), &framed(900), window);
        assert_eq!(page["loaded"], 0, "the page loads nothing");
        assert!(
            page["width"].as_u64() <= Some(u64::from(width)),
            "{width}: the page does not scroll sideways"
        );
        // A box with hidden content shows a hint at its edge.
        let cut = page["cut"].as_array().expect("a list");
        assert!(
            cut.iter().all(|one| one["hint"] == true),
            "{width}: cut off without a hint: {cut:?}"
        );
        // On a phone pictures scroll in their boxes, at a size at which their type can be read.
        let scrolled = cut.iter().filter(|one| one["what"] == "plot").count();
        assert_eq!(scrolled > 0, width == PHONE, "{width}: {cut:?}");
        assert!(page["type"].as_f64() >= Some(11.0), "{width}: type of {} px", page["type"]);
        assert_eq!(page["outside"].to_string(), "[]", "{width}: words beyond their pictures");
        let figures = places(&page);
        assert!(figures.len() >= 10, "figures: {}", figures.len());
        let height = page["height"].as_u64().expect("a number") as u32;
        let picture = folder.path().join(format!("{width}.png"));
        let action = format!("--screenshot={}", picture.display());
        browse(&browser, folder.path(), &framed(height), window, height, &action);
        let picture = Picture::read(&picture);
        for place in &figures {
            assert!(place.x + place.width <= width as usize, "{width}: {} is wider", place.id);
            assert!(picture.shows(place), "{width}: figure {} is empty", place.id);
        }
    }
    let text = std::fs::read_to_string(&probed).expect("the page is there");
    let dark = "@media (prefers-color-scheme: dark)";
    assert!(text.contains(dark));
    for at in ["print and (min-width: 1px)", "all"] {
        let page = folder.path().join("light.html");
        std::fs::write(&page, text.replace(dark, &format!("@media {at}"))).expect("it is written");
        let page = probe(&browser, folder.path(), &page, 1280);
        assert!(page["words"].as_u64() > Some(1000), "{page}");
        assert_eq!(page["faint"].to_string(), "[]", "{at}: contrast below 4.5");
    }
    let paper = folder.path().join("report.pdf");
    browse(
        &browser,
        folder.path(),
        &report,
        1280,
        900,
        &format!("--print-to-pdf={}", paper.display()),
    );
    let bytes = std::fs::read(&paper).expect("the browser has printed");
    assert!(bytes.starts_with(b"%PDF"));
}

#[test]
fn the_report_of_a_demonstration_is_small_and_names_no_other_place() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let done = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args(["demo", "--quiet", "--json", "--out"])
        .arg(folder.path())
        .env_remove("JUSTFULL_DATA")
        .output()
        .expect("the program starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(answer["folder"].as_str(), folder.path().to_str());
    assert_eq!(answer["rows"].as_array().map(Vec::len), Some(30), "methods, flows and seeds");
    let bytes = size_of(folder.path());
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
    let report = folder.path().join("report.html");
    let text = std::fs::read_to_string(&report).expect("the report is text");
    assert!(text.len() < 600_000, "{} bytes", text.len());
    for loads in ["src=\"http", "href=\"http", "url(http", "@import", "<link"] {
        assert!(!text.contains(loads), "the report contains {loads}");
    }
    let Some(browser) = chromium() else { return };
    let (first, height) = shows_at_once(&browser, folder.path(), &report);
    assert!(first.starts_with("delay-time"), "{first}");
    assert!(height < MOST_HEIGHT, "{height} pixels high");
}

/// Asserts that `report` shows its first figure without scrolling, on a desktop and on a phone.
/// Returns the figure's name, and the page's height on a desktop.
fn shows_at_once(browser: &Path, folder: &Path, report: &Path) -> (String, u64) {
    let text = std::fs::read_to_string(report).expect("the report is text");
    let probed = folder.join("probed.html");
    std::fs::write(&probed, text.replace("</body>", &format!("{PROBE}</body>")))
        .expect("a file can be written");
    let mut found = (String::new(), 0);
    for (width, window) in [(PHONE, 844), (1280, 800)] {
        let page = match width {
            PHONE => on_a_phone(folder, &probed, window),
            _ => probed.clone(),
        };
        let page = probe(browser, folder, &page, width.max(500));
        let figures = places(&page);
        let first = figures.iter().min_by_key(|place| place.y).expect("a figure");
        // Its legend and most of its first panel.
        let seen = (window as usize).saturating_sub(first.y);
        assert!(seen * 2 > first.height, "{width}: {seen} of {} pixels are seen", first.height);
        found = (first.id.clone(), page["height"].as_u64().expect("a number"));
    }
    found
}

#[test]
fn the_report_of_the_study_in_the_guide_is_small_and_shows_its_first_figure_at_once() {
    let folder = run_all("docs/guide/study.md", 14);
    let report = folder.path().join("r/report.html");
    let bytes = std::fs::metadata(&report).expect("it is there").len();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
    let Some(browser) = chromium() else { return };
    shows_at_once(&browser, folder.path(), &report);
}

/// Bytes of all files in `folder` and below.
fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let sizes = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let meta = entry.metadata().expect("a file");
        if meta.is_dir() { size_of(&entry.path()) } else { meta.len() }
    });
    sizes.sum()
}

#[test]
fn a_blank_place_is_not_taken_for_a_figure() {
    let mut picture = Picture { width: 100, pixels: vec![[255; 3]; 100 * 100] };
    let place = Place { id: "a".into(), x: 10, y: 10, width: 50, height: 50 };
    assert!(!picture.shows(&place));
    for (i, pixel) in picture.pixels.iter_mut().enumerate() {
        *pixel = [(i % 16) as u8, 0, 0];
    }
    assert!(picture.shows(&place));
    assert!(
        !picture.shows(&Place { y: 60, ..place }),
        "a figure below the picture's end is not seen"
    );
}
