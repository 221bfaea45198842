//! Headless Chromium, controlled over its DevTools protocol.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

/// Longest time to wait for the browser or for a condition.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time between two checks of a condition.
const LOOK: Duration = Duration::from_millis(50);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    socket: WebSocket<TcpStream>,
    next: u64,
    requests: Vec<String>,
    faults: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts Chromium; none if it is missing, which is a failure in CI.
    pub(crate) fn new() -> Option<Self> {
        let program = chromium()?;
        let profile = TempDir::new().expect("a folder");
        let child = Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--remote-debugging-port=0", "--hide-scrollbars", "--remote-allow-origins=*"])
            .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Chromium starts");
        let file = profile.path().join("DevToolsActivePort");
        let port = wait(|| {
            let text = std::fs::read_to_string(&file).ok()?;
            text.lines().next()?.parse::<u16>().ok()
        });
        let address = wait(|| target(port));
        let path = address.split_once(&format!(":{port}")).expect("an address").1.to_owned();
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let url = format!("ws://127.0.0.1:{port}{path}");
        let (socket, _) = tungstenite::client(url, stream).expect("a handshake");
        let mut browser = Self {
            child,
            socket,
            next: 0,
            requests: Vec::new(),
            faults: Vec::new(),
            _profile: profile,
        };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls `method` of the protocol; returns its result.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let call = json!({ "id": self.next, "method": method, "params": parameters });
        self.socket.send(Message::text(call.to_string())).expect("the browser listens");
        loop {
            let message = self.socket.read().expect("the browser answers");
            let Ok(text) = message.to_text() else { continue };
            let Ok(message) = serde_json::from_str::<Value>(text) else { continue };
            if message["id"] == self.next {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    /// Records the addresses of requests, and faults of the page.
    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            Some("Runtime.exceptionThrown") => {
                self.faults.push(parameters["exceptionDetails"].to_string());
            }
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                self.faults.push(parameters["entry"].to_string());
            }
            _ => {}
        }
    }

    /// Opens `url`.
    pub(crate) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": url }));
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// The value of `expression`; for a promise, its resolved value.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let found = self.call("Runtime.evaluate", parameters);
        assert!(found["exceptionDetails"].is_null(), "{}", found["exceptionDetails"]);
        found["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.eval(expression).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        self.eval(expression).as_f64().unwrap_or(f64::NAN)
    }

    /// Waits until `condition` is true.
    pub(crate) fn until(&mut self, condition: &str) {
        let start = clock();
        while self.eval(condition) != true {
            assert!(start.elapsed() < PATIENCE, "{condition} is never true");
            sleep(LOOK);
        }
    }

    /// Makes a window of `width` x `height` pixels under a system of `theme`.
    pub(crate) fn resize(&mut self, width: u32, height: u32, theme: &str) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let feature = json!({ "name": "prefers-color-scheme", "value": theme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Writes a picture of the window to `path`.
    pub(crate) fn picture(&mut self, path: &Path) {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let text = shot["data"].as_str().expect("a picture");
        std::fs::write(path, decoded(text)).expect("a place for the picture");
    }

    /// The addresses of all requests so far.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        self.eval("0");
        self.requests.clone()
    }

    /// Exceptions and errors of the page so far.
    pub(crate) fn faults(&mut self) -> Vec<String> {
        self.eval("0");
        self.faults.clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a real browser is waited for")]
fn clock() -> Instant {
    Instant::now()
}

/// Bytes of base64 (RFC 4648 section 4).
fn decoded(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.chunks(4) {
        let joined = four.iter().fold(0u32, |sum, digit| sum << 6 | u32::from(*digit));
        let joined = joined << (6 * (4 - four.len()));
        bytes.extend_from_slice(&joined.to_be_bytes()[1..four.len()]);
    }
    bytes
}

/// The first value that `look` returns.
fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = clock();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "Chromium does not answer");
        sleep(LOOK);
    }
}

/// The address of the browser's page.
fn target(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    let request =
        format!("GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    // Chromium may keep the connection open; the answer is complete all the same.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    let list: Value =
        serde_json::from_str(answer.get(answer.find('[')?..=answer.rfind(']')?)?).ok()?;
    let page = list.as_array()?.iter().find(|target| target["type"] == "page")?;
    page["webSocketDebuggerUrl"].as_str().map(str::to_owned)
}

fn chromium() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .flat_map(|folder| ["chromium", "chromium-browser"].map(|name| folder.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "no Chromium, and CI must not skip");
        println!("skipped: no Chromium on this machine (apt-get install chromium)");
    }
    found
}
