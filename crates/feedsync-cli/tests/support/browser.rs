//! A headless Chromium, driven by its keyboard through chromedriver (W3C WebDriver).

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::has;

pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const END: &str = "\u{e010}";

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Roles of what can be used.
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

const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser that runs until it is dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts one; none where the programs are not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts one that speaks to everybody but one authority through a proxy.
    pub(crate) fn through(proxy: &str, but: &str) -> Option<Self> {
        // As a rule it speaks to its own machine itself.
        let but = format!("--proxy-bypass-list=<-loopback>;{but}");
        Self::start_with(&[&format!("--proxy-server={proxy}"), &but])
    }

    /// Starts one for which a name is that of an authority and no other name leads anywhere; addresses are what they
    /// are. What it does for itself, such as asking for the time, it leaves.
    pub(crate) fn knowing(name: &str, authority: &str) -> Option<Self> {
        let rules = format!("MAP {name} {authority}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1");
        Self::start_with(&[
            &format!("--host-resolver-rules={rules}"),
            "--disable-background-networking",
            "--disable-component-update",
        ])
    }

    fn start_with(arguments: &[&str]) -> Option<Self> {
        if !has("chromedriver") || !has("chromium") {
            return None;
        }
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
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

    /// Goes there, and waits until the page is loaded with its scripts: where another process shows it than
    /// the one before, the driver may answer sooner.
    pub(crate) fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
        let end = Instant::now() + PATIENCE;
        while self.ask("location.href !== 'about:blank' && document.readyState === 'complete'")
            != true
        {
            assert!(Instant::now() < end, "{url} is not loaded");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Presses keys, one after the other.
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

    /// Selects all of the field that has the focus.
    pub(crate) fn select_all(&self) {
        self.ask("document.activeElement.select()");
    }

    /// Chooses a file in a field for one.
    pub(crate) fn choose_file(&self, selector: &str, file: &std::path::Path) {
        let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        let id = found[ELEMENT].as_str().expect("a field");
        let path = file.to_str().unwrap();
        self.post(&format!("/element/{id}/value"), &json!({ "text": path }));
    }

    /// Goes on with Tab until the focus is on what has this accessible name.
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

    /// The accessible name of what has the focus.
    fn focused(&self) -> String {
        let active = self.get("/element/active");
        self.name_of(&active)
    }

    /// Who uses the keyboard sees where it is.
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

    /// What a script returns.
    pub(crate) fn ask(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": format!("return {script}"), "args": [] }))
    }

    /// Waits until the page says this.
    pub(crate) fn sees(&self, text: &str) {
        let quoted = Value::from(text).to_string();
        let script = format!("document.body.innerText.includes({quoted})");
        let end = Instant::now() + PATIENCE;
        while self.ask(&script) != true {
            if Instant::now() > end {
                panic!("{text:?} does not come: {}", self.ask("document.body.innerText"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Everything that can be used has a name, as the browser tells it to a screen reader, and a place in
    /// the order of the keyboard.
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

    /// Shows pages as a window of another width would, light or dark.
    pub(crate) fn looks(&self, width: u32, scheme: &str) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.chromium("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.chromium("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// What Chromium answers to a command of its own.
    fn chromium(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Lets go of what no script holds any more.
    pub(crate) fn collect_garbage(&self) {
        self.chromium("HeapProfiler.collectGarbage", json!({}));
    }

    /// The page fits a screen and a phone, light and dark; with pictures of it.
    pub(crate) fn fits(&self, name: &str) {
        for (width, scheme) in [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")] {
            self.looks(width, scheme);
            self.picture(&format!("{name}-{width}-{scheme}"));
            let wider = self.ask("document.documentElement.scrollWidth - innerWidth");
            assert!(wider.as_i64().unwrap() <= 0, "{name} at {width}: {wider} too wide");
        }
        self.looks(1280, "light");
    }

    /// The value of a cookie, also of one that scripts cannot read.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let cookies = self.get("/cookie");
        let cookie = cookies.as_array()?.iter().find(|cookie| cookie["name"] == name)?;
        assert_eq!((&cookie["httpOnly"], &cookie["sameSite"]), (&true.into(), &"Strict".into()));
        Some(cookie["value"].as_str()?.to_owned())
    }

    /// A picture of the page into `FEEDSYNC_SCREENSHOTS`, if that names a directory.
    pub(crate) fn picture(&self, name: &str) {
        let Some(directory) = std::env::var_os("FEEDSYNC_SCREENSHOTS") else { return };
        let whole = json!({ "captureBeyondViewport": true });
        let data = self.chromium("Page.captureScreenshot", whole)["data"].clone();
        let data = data.as_str().unwrap();
        let path = std::path::Path::new(&directory).join(format!("{name}.png"));
        let mut decode = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(std::fs::File::create(path).unwrap())
            .spawn()
            .unwrap();
        decode.stdin.take().unwrap().write_all(data.as_bytes()).unwrap();
        assert!(decode.wait().unwrap().success());
    }

    /// What the browser complained of: a policy that was broken, a script that failed.
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
        // The driver may leave the connection open, whatever it was asked.
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
        stream.set_read_timeout(Some(3 * PATIENCE))?;
        let port = self.port;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n\r\n{body}"
        )?;
        Ok(BufReader::new(stream))
    }

    /// Ends the session, and with it the browser.
    fn end(&self) -> io::Result<()> {
        if !self.session.is_empty() {
            self.request("DELETE", &self.session, "")?.read_line(&mut String::new())?;
        }
        Ok(())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Also after a test that failed: a browser outlives the driver whose session it is.
        let _ = self.end();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
