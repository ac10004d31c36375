//! A gateway and pages that use it, in a real browser.

#![allow(dead_code)] // each test binary uses a part of this

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::TestDirectory;
use crate::support::browser::Browser;
use crate::support::origin::Origin;

pub(crate) const ATOM: &str = "Content-Type: application/atom+xml\r\n";

/// Maximum duration of any wait.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// A browser, and the server whose pages it shows.
pub(crate) struct Scene {
    pub(crate) browser: Browser,
    pub(crate) place: TestDirectory,
    pub(crate) server: Origin,
    pub(crate) authority: String,
    pub(crate) origin: String,
}

impl Scene {
    /// Starts both; `None` if the programs are not installed.
    pub(crate) fn start() -> Option<Self> {
        let (browser, server) = (Browser::start()?, Origin::start());
        let authority = format!("127.0.0.1:{}", server.port);
        let origin = format!("http://{authority}");
        Some(Self { browser, place: TestDirectory::new(), server, authority, origin })
    }

    /// Starts a gateway that may reach the server, and that allows its pages.
    pub(crate) fn gateway(&self) -> Gateway<'_> {
        Gateway::start(&self.place, &[&self.authority], &[&self.origin])
    }
}

/// A running gateway, which is stopped when it is dropped.
pub(crate) struct Gateway<'p> {
    place: &'p TestDirectory,
    child: Child,
    pub(crate) url: String,
    pub(crate) control: String,
}

impl<'p> Gateway<'p> {
    /// Starts a gateway that may reach these authorities, and that allows pages of these origins.
    pub(crate) fn start(place: &'p TestDirectory, allow: &[&str], origins: &[&str]) -> Self {
        let free = "127.0.0.1:0";
        Self::start_at(place, [free, free], allow, origins)
    }

    /// Kills the gateway and starts it again at the same addresses.
    pub(crate) fn again(self, allow: &[&str], origins: &[&str]) -> Self {
        let place = self.place;
        let [url, control] = [&self.url, &self.control]
            .map(|url| url.strip_prefix("http://").expect("an address").to_owned());
        drop(self);
        Self::start_at(place, [&url, &control], allow, origins)
    }

    fn start_at(place: &'p TestDirectory, at: [&str; 2], allow: &[&str], origins: &[&str]) -> Self {
        let [listen, control] = at;
        let mut arguments =
            vec!["--data", "gw", "gateway", "--listen", listen, "--control", control];
        allow.iter().for_each(|authority| arguments.extend(["--allow", authority]));
        origins.iter().for_each(|origin| arguments.extend(["--allow-origin", origin]));
        let mut child = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut url, mut control) = (None, None);
        for line in lines.map_while(Result::ok) {
            let rest = |start: &str| {
                line.strip_prefix(start).map(|rest| rest.trim_end_matches('/').to_owned())
            };
            url = url.or_else(|| rest("listening on "));
            control = control.or_else(|| rest("controlled on "));
            if url.is_some() && control.is_some() {
                break;
            }
        }
        let said = "the gateway says where it listens";
        Self { place, child, url: url.expect(said), control: control.expect(said) }
    }

    /// Runs `feedsync gateway ...`; returns its JSON output.
    pub(crate) fn run(&self, arguments: &[&str]) -> Value {
        let arguments = [&["--data", "gw", "--json", "gateway"], arguments].concat();
        let run = self.place.run(&arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.out))
    }

    /// Sends a PUT request of an application in reverse mode; returns the status.
    pub(crate) fn put(&self, address: &str, body: &str) -> u16 {
        let host = self.url.strip_prefix("http://").unwrap();
        let path = address.replacen("://", "/", 1);
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        write!(
            stream,
            "PUT /{path} HTTP/1.1\r\nHost: {host}\r\n{ATOM}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }
}

impl Drop for Gateway<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A page in a browser, on which samples are run.
pub(crate) struct Page<'b> {
    browser: &'b Browser,
    origin: String,
}

impl<'b> Page<'b> {
    /// Opens `/page` of an origin, with `bitsy.js` and a list of the lines that the page writes to the
    /// console.
    pub(crate) fn open(
        browser: &'b Browser,
        server: &Origin,
        origin: &str,
        gateway: &Gateway<'_>,
    ) -> Self {
        let script = "var lines = []; console.log = (text) => { lines.push(text); };\
                      addEventListener('error', (event) => lines.push('failed: ' + event.message));\
                      addEventListener('unhandledrejection', (event) =>\
                      lines.push('rejected: ' + event.reason.message));";
        let page = format!(
            "<!DOCTYPE html><html lang=\"en\"><title>Page</title><script>{script}</script>\
             <script src=\"{}/bitsy.js\"></script><h1>Page</h1>",
            gateway.control
        );
        server.answers("GET", "/page", 200, "Content-Type: text/html\r\n", &page);
        server.answers("GET", "/favicon.ico", 204, "", "");
        browser.go(&format!("{origin}/page"));
        let page = Self { browser, origin: origin.to_owned() };
        page.settles("bitsy.ready.then(() => { lines.ready = true; })");
        page.comes("lines.ready === true");
        page
    }

    /// Runs a sample of docs/bitsy.md, with the origin of the document replaced by that of the page.
    pub(crate) fn sample(&self, name: &str) {
        let text = include_str!("../../../../docs/bitsy.md");
        let (_, rest) = text.split_once(&format!("// sample: {name}\n")).expect("the sample");
        let (code, _) = rest.split_once("```").unwrap();
        let code = code.replace("http://www.example.com", &self.origin);
        // The sample becomes a separate script element, so that its declarations stay.
        let node = format!(
            "(() => {{ const one = document.createElement('script'); one.textContent = {};\
             document.head.append(one); }})()",
            json!(format!(
                "{{ {} }}",
                code.replace("var subscription ", "globalThis.subscription ")
            ))
        );
        self.browser.ask(&node);
    }

    /// Runs code and ignores its value.
    pub(crate) fn settles(&self, code: &str) {
        self.browser.ask(&format!("(() => {{ {code}; }})()"));
    }

    /// Waits for a promise; returns its value, or the name of its error.
    pub(crate) fn promised(&self, code: &str) -> Value {
        self.settles(&format!(
            "globalThis.promised = undefined; ({code}).then((told) => {{ promised = told ?? null; }},\
             (error) => {{ promised = error.name; }})"
        ));
        self.comes("promised !== undefined");
        self.browser.ask("promised")
    }

    /// Waits until an expression is true.
    pub(crate) fn comes(&self, what: &str) {
        let end = Instant::now() + TIMEOUT;
        while self.browser.ask(what) != true {
            let told =
                "[lines, [...bitsy.subscriptions].map((one) => [one.feed, one.state, one.proxy])]";
            let told = self.browser.ask(told);
            assert!(Instant::now() < end, "{what} does not come: {told}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for at least `count` lines on the console; returns all lines since the previous call.
    pub(crate) fn lines(&self, count: usize) -> Vec<String> {
        self.comes(&format!("lines.length >= {count}"));
        let lines = self.browser.ask("lines.splice(0)");
        lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
    }
}

/// A feed with an entry, which has these links.
pub(crate) fn feed(links: &str) -> String {
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:app=\"http://www.w3.org/2007/app\">\
         <id>urn:f</id><title>F</title><updated>2026-01-01T00:00:00Z</updated>\
         <app:collection href=\"/feed\"/>\
         <entry><id>urn:e</id><title>E</title><updated>2026-01-01T00:00:00Z</updated>\
         <link rel=\"edit\" href=\"/feed/entry\"/>{links}<content>E</content></entry></feed>"
    )
}
