//! A headless Chromium, operated by the keyboard through chromedriver (W3C WebDriver).

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::has;

pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const END: &str = "\u{e010}";

/// Maximum time to wait for a page.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Accessibility roles of controls.
const CONTROLS: [&str; 11] = [
    "link",
    "button",
    "textbox",
    "searchbox",
    "checkbox",
    "combobox",
    "listbox",
    "radio",
    "DisclosureTriangle",
    "DisclosureTriangleGrouped",
    "spinbutton",
];

/// Script that returns whether the page contains a text.
fn contains(text: &str) -> String {
    format!("document.body.innerText.includes({})", Value::from(text))
}

const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A running browser, which is stopped when it is dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts a browser; `None` if the programs are not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts a browser that uses a proxy for all authorities but one.
    pub(crate) fn through(proxy: &str, but: &str) -> Option<Self> {
        // By default Chromium does not use a proxy for loopback addresses.
        let but = format!("--proxy-bypass-list=<-loopback>;{but}");
        Self::start_with(&[&format!("--proxy-server={proxy}"), &but])
    }

    /// Starts a browser that resolves one name to an authority and no other name; IP addresses work as usual.
    /// Background requests, such as those for the time, are disabled.
    pub(crate) fn knowing(name: &str, authority: &str) -> Option<Self> {
        let rules = format!("MAP {name} {authority}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1");
        Self::start_with(&[
            &format!("--host-resolver-rules={rules}"),
            "--disable-background-networking",
            "--disable-component-update",
        ])
    }

    /// Starts a browser that counts an authority as one of the public web, although its address is local.
    pub(crate) fn counting_as_public(authority: &str) -> Option<Self> {
        Self::start_with(&[&format!("--ip-address-space-overrides={authority}=public")])
    }

    /// Starts a browser that uses a proxy for all hosts, with the certificate database of a home directory.
    pub(crate) fn at_home(home: &Path, proxy: &str) -> Option<Self> {
        let arguments = [
            &*format!("--proxy-server={proxy}"),
            "--proxy-bypass-list=<-loopback>",
            "--disable-background-networking",
            "--disable-component-update",
        ];
        Self::start_in(Some(home), &arguments)
    }

    fn start_with(arguments: &[&str]) -> Option<Self> {
        Self::start_in(None, arguments)
    }

    fn start_in(home: Option<&Path>, arguments: &[&str]) -> Option<Self> {
        if !has("chromedriver") || !has("chromium") {
            return None;
        }
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .envs(home.map(|home| ("HOME", home)))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let port = BufReader::new(driver.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, port) = line.split_once("started successfully on port ")?;
                port.trim_end_matches('.').parse().ok()
            })
            .expect("chromedriver says where it listens");
        let mut browser = Self { driver, port, session: String::new() };
        let usual = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1280,900",
        ];
        let arguments = [&usual, arguments].concat();
        let options = json!({ "args": arguments });
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = browser.send("POST", "/session", Some(&capabilities));
        let id = session["sessionId"].as_str().expect("a session").to_owned();
        browser.session = format!("/session/{id}");
        Some(browser)
    }

    /// Opens a URL, and waits until the page and its scripts are loaded. If another process renders the page
    /// than the one before, the driver may respond earlier.
    pub(crate) fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
        let end = Instant::now() + TIMEOUT;
        while self.ask("location.href !== 'about:blank' && document.readyState === 'complete'")
            != true
        {
            assert!(Instant::now() < end, "{url} is not loaded");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Reloads the page, and waits until it is loaded.
    pub(crate) fn reload(&self) {
        self.post("/refresh", &json!({}));
    }

    /// Opens a URL whose certificate the browser refuses; returns the text that it shows instead.
    pub(crate) fn refuses(&self, url: &str) -> String {
        self.post("/url", &json!({ "url": url }));
        assert_eq!(self.ask("location.href"), "chrome-error://chromewebdata/");
        self.ask("document.body.textContent").as_str().unwrap_or_default().to_owned()
    }

    /// Sets the permission of the open page: `granted`, `denied` or `prompt`.
    pub(crate) fn set_permission(&self, name: &str, state: &str) {
        self.post("/permissions", &json!({ "descriptor": { "name": name }, "state": state }));
    }

    /// Presses keys in sequence.
    pub(crate) fn press(&self, keys: &str) {
        let strokes: Vec<_> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
            })
            .collect();
        let actions = json!({ "actions": [{ "type": "key", "id": "keys", "actions": strokes }] });
        self.post("/actions", &actions);
    }

    /// Selects the content of the focused field.
    pub(crate) fn select_all(&self) {
        self.ask("document.activeElement.select()");
    }

    /// Sets the file of a file input.
    pub(crate) fn choose_file(&self, selector: &str, file: &Path) {
        let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        let id = found[ELEMENT].as_str().expect("a field");
        let path = file.to_str().unwrap();
        self.post(&format!("/element/{id}/value"), &json!({ "text": path }));
    }

    /// Presses Tab until the element with this accessible name has the focus.
    pub(crate) fn tab_to(&self, name: &str) {
        let mut seen = Vec::new();
        for _ in 0..60 {
            self.press(TAB);
            let label = self.focused();
            self.focus_is_seen(&label);
            if label == name {
                return;
            }
            seen.push(label);
        }
        panic!("the keyboard does not reach {name:?}: {seen:?}");
    }

    /// Accessible name of the focused element.
    fn focused(&self) -> String {
        let active = self.get("/element/active");
        self.name_of(&active)
    }

    /// Checks that the focus is visible to users of the keyboard.
    fn focus_is_seen(&self, label: &str) {
        let outline = "(style => style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth))\
             (getComputedStyle(document.activeElement))";
        let inside = "['MAIN', 'BODY'].includes(document.activeElement.tagName)";
        let width = self.ask(&format!("{inside} ? 3 : {outline}"));
        assert!(width.as_f64().unwrap() >= 2.0, "the focus on {label:?} is not seen: {width}");
    }

    fn name_of(&self, element: &Value) -> String {
        let id = element[ELEMENT].as_str().expect("an element");
        self.get(&format!("/element/{id}/computedlabel")).as_str().unwrap_or_default().to_owned()
    }

    /// Runs a script; returns its value.
    pub(crate) fn ask(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": format!("return {script}"), "args": [] }))
    }

    /// Waits until a script returns true.
    pub(crate) fn waits_for(&self, script: &str) {
        let end = Instant::now() + TIMEOUT;
        while self.ask(script) != true {
            if Instant::now() > end {
                panic!("{script} does not come true: {}", self.ask("document.body.innerText"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the page contains the text.
    pub(crate) fn sees(&self, text: &str) {
        self.waits_for(&contains(text));
    }

    /// Loads a page again until it contains the text.
    pub(crate) fn loads_until(&self, url: &str, text: &str) {
        let end = Instant::now() + TIMEOUT;
        loop {
            self.go(url);
            if self.ask(&contains(text)) == true {
                return;
            }
            if Instant::now() > end {
                panic!("{text:?} does not come: {}", self.ask("document.body.innerText"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Checks that every control has an accessible name, as screen readers get it, and a place in the tab
    /// order.
    pub(crate) fn names_are_complete(&self) {
        self.ask("document.querySelectorAll('details').forEach(one => { one.open = true })");
        let tree = self.chromium("Accessibility.getFullAXTree", json!({}));
        let mut controls = 0;
        let mut names = Vec::new();
        for node in tree["nodes"].as_array().expect("the tree") {
            let role = node["role"]["value"].as_str().unwrap_or_default();
            if node["ignored"] == true || !CONTROLS.contains(&role) {
                continue;
            }
            let name = node["name"]["value"].as_str().unwrap_or_default().trim().to_owned();
            assert!(!name.is_empty(), "a {role} has no name: {node}");
            if role == "button" {
                assert!(!names.contains(&name), "two buttons are called {name:?}");
                names.push(name);
            }
            controls += 1;
        }
        assert!(controls > 0, "a page has links at least: {tree}");
        let unlabelled = "[...document.querySelectorAll('input:not([type=hidden]), textarea, select')]\
             .filter(one => one.labels.length === 0).length";
        assert_eq!(self.ask(unlabelled), 0);
        assert_eq!(self.ask("document.querySelectorAll('[tabindex]:not(#main)').length"), 0);
        assert_eq!(self.ask("document.querySelectorAll('h1').length"), 1);
        let twice = "(ids => ids.length - new Set(ids).size)\
             ([...document.querySelectorAll('[id]')].map(one => one.id))";
        assert_eq!(self.ask(twice), 0, "an id stands twice");
    }

    /// Sets the width of the window and the colour scheme, light or dark.
    pub(crate) fn looks(&self, width: u32, scheme: &str) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.chromium("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.chromium("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Sends a command of the Chrome DevTools Protocol; returns the response.
    fn chromium(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Runs the garbage collector.
    pub(crate) fn collect_garbage(&self) {
        self.chromium("HeapProfiler.collectGarbage", json!({}));
    }

    /// Checks that the page fits a screen and a phone, light and dark, and takes pictures of it.
    pub(crate) fn fits(&self, name: &str) {
        for (width, scheme) in [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")] {
            self.looks(width, scheme);
            self.picture(&format!("{name}-{width}-{scheme}"));
            let wider = self.ask("document.documentElement.scrollWidth - innerWidth");
            assert!(wider.as_i64().unwrap() <= 0, "{name} at {width}: {wider} too wide");
        }
        self.looks(1280, "light");
    }

    /// Value of a cookie, even if scripts cannot read it.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let cookies = self.get("/cookie");
        let cookie = cookies.as_array()?.iter().find(|cookie| cookie["name"] == name)?;
        assert_eq!((&cookie["httpOnly"], &cookie["sameSite"]), (&true.into(), &"Strict".into()));
        Some(cookie["value"].as_str()?.to_owned())
    }

    /// Saves a picture of the page in the directory `FEEDSYNC_SCREENSHOTS`, if that is set.
    pub(crate) fn picture(&self, name: &str) {
        let Some(directory) = std::env::var_os("FEEDSYNC_SCREENSHOTS") else { return };
        let whole = json!({ "captureBeyondViewport": true });
        let data = self.chromium("Page.captureScreenshot", whole)["data"].clone();
        let data = data.as_str().unwrap();
        let path = Path::new(&directory).join(format!("{name}.png"));
        let mut decode = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(std::fs::File::create(path).unwrap())
            .spawn()
            .unwrap();
        decode.stdin.take().unwrap().write_all(data.as_bytes()).unwrap();
        assert!(decode.wait().unwrap().success());
    }

    /// Errors in the browser's log: a violated policy, a failed script.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().expect("a log").iter();
        entries
            .filter(|entry| entry["level"] == "SEVERE")
            .map(|entry| entry["message"].to_string())
            .collect()
    }

    fn get(&self, path: &str) -> Value {
        self.send("GET", &format!("{}{path}", self.session), None)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.send("POST", &format!("{}{path}", self.session), Some(body))
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let body = body.map(Value::to_string).unwrap_or_default();
        // The driver may keep the connection open, even if the request forbids that.
        let mut answer = self.request(method, path, &body).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(answer.read_line(&mut head).unwrap(), 0, "{method} {path}: {head}");
        }
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.expect("a length").trim().parse().unwrap();
        let mut body = vec![0; length];
        answer.read_exact(&mut body).unwrap();
        let mut value: Value = serde_json::from_slice(&body).unwrap();
        assert!(head.contains(" 200 "), "{method} {path}: {value}");
        value["value"].take()
    }

    fn request(&self, method: &str, path: &str, body: &str) -> io::Result<BufReader<TcpStream>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(3 * TIMEOUT))?;
        let port = self.port;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n\r\n{body}"
        )?;
        Ok(BufReader::new(stream))
    }

    /// Ends the session and the browser.
    fn end(&self) -> io::Result<()> {
        if !self.session.is_empty() {
            self.request("DELETE", &self.session, "")?.read_line(&mut String::new())?;
        }
        Ok(())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // This also runs after a failed test, because the browser would outlive its driver.
        let _ = self.end();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
