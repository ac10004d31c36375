//! Pages that use `bitsy.js` in a real browser, as the samples of docs/bitsy.md do, which are those of the
//! document.

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::Place;
use support::browser::Browser;
use support::origin::Origin;

const ATOM: &str = "Content-Type: application/atom+xml\r\n";

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A gateway that runs until it is dropped.
struct Gateway<'p> {
    place: &'p Place,
    child: Child,
    url: String,
    control: String,
}

impl<'p> Gateway<'p> {
    /// One that reaches these authorities, and lets pages of these origins in.
    fn start(place: &'p Place, allow: &[&str], origins: &[&str]) -> Self {
        let free = "127.0.0.1:0";
        let mut arguments = vec!["--data", "gw", "gateway", "--listen", free, "--control", free];
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

    /// What `feedsync gateway ...` prints.
    fn run(&self, arguments: &[&str]) -> Value {
        let arguments = [&["--data", "gw", "--json", "gateway"], arguments].concat();
        let run = self.place.run(&arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.out))
    }

    /// An application edits, in reverse mode; the status.
    fn put(&self, address: &str, body: &str) -> u16 {
        let host = self.url.strip_prefix("http://").unwrap();
        let path = address.replacen("://", "/", 1);
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
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
struct Page<'b> {
    browser: &'b Browser,
    origin: String,
}

impl<'b> Page<'b> {
    /// A page of an origin, at `/page`, with `bitsy.js` and a list of what it writes to the console.
    fn open(browser: &'b Browser, server: &Origin, origin: &str, gateway: &Gateway<'_>) -> Self {
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

    /// Runs a sample of docs/bitsy.md, with this origin for that of the document.
    fn sample(&self, name: &str) {
        let text = include_str!("../../../docs/bitsy.md");
        let (_, rest) = text.split_once(&format!("// sample: {name}\n")).expect("the sample");
        let (code, _) = rest.split_once("```").unwrap();
        let code = code.replace("http://www.example.com", &self.origin);
        // As a script of its own, so that what it declares stays.
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

    /// Runs something whose value does not matter.
    fn settles(&self, code: &str) {
        self.browser.ask(&format!("(() => {{ {code}; }})()"));
    }

    /// Waits until something is so.
    fn comes(&self, what: &str) {
        let end = Instant::now() + PATIENCE;
        while self.browser.ask(what) != true {
            let told =
                "[lines, [...bitsy.subscriptions].map((one) => [one.feed, one.state, one.proxy])]";
            let told = self.browser.ask(told);
            assert!(Instant::now() < end, "{what} does not come: {told}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What was written to the console since it was asked last, once there are so many lines.
    fn lines(&self, count: usize) -> Vec<String> {
        self.comes(&format!("lines.length >= {count}"));
        let lines = self.browser.ask("lines.splice(0)");
        lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
    }
}

/// A feed with an entry, and with links of it.
fn feed(links: &str) -> String {
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:app=\"http://www.w3.org/2007/app\">\
         <id>urn:f</id><title>F</title><updated>2026-01-01T00:00:00Z</updated>\
         <app:collection href=\"/feed\"/>\
         <entry><id>urn:e</id><title>E</title><updated>2026-01-01T00:00:00Z</updated>\
         <link rel=\"edit\" href=\"/feed/entry\"/>{links}<content>E</content></entry></feed>"
    )
}

#[test]
fn the_samples_of_the_document_print_what_it_prints() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    let server = Origin::start();
    let origin = format!("http://127.0.0.1:{}", server.port);
    let authority = format!("127.0.0.1:{}", server.port);
    let gateway = Gateway::start(&place, &[&authority], &[&origin]);
    let links = "<link rel=\"related\" href=\"/feed/invalid\"/>";
    server.answers("GET", "/feed", 200, ATOM, &feed(links));
    let page = Page::open(&browser, &server, &origin, &gateway);

    // All is well, then a link is not there, then it is there later.
    server.answers("GET", "/feed/invalid", 200, "Content-Type: text/plain\r\n", "it");
    page.sample("events");
    assert_eq!(page.lines(1), [format!("Completed subscription to {origin}/feed")]);
    assert_eq!(browser.ask("subscription.feed"), format!("{origin}/feed"));
    assert_eq!(browser.ask("subscription.state === bitsy.Subscription.WAITING"), true);
    assert_eq!(browser.ask("[...subscription.follows].join()"), "related");
    server.answers("GET", "/feed/invalid", 404, "Content-Type: text/plain\r\n", "not here");
    page.settles("subscription.resume()");
    assert_eq!(
        page.lines(2),
        [
            format!("Error when fetching {origin}/feed/invalid with code 404"),
            format!("Error subscribing to {origin}/feed"),
        ]
    );
    assert_eq!(browser.ask("subscription.errors.length"), 1);
    assert_eq!(browser.ask("subscription.errors[0].responseText"), "not here");
    assert_eq!(browser.ask("subscription.errors.item(0) === subscription.errors[0]"), true);
    assert_eq!(browser.ask("subscription.errors.item(1)"), Value::Null);
    server.answers("GET", "/feed/invalid", 503, "Retry-After: 3600\r\n", "later");
    page.sample("resume");
    assert_eq!(
        page.lines(3),
        [
            format!("Cleared 404 of {origin}/feed/invalid"),
            format!("Server error when fetching {origin}/feed/invalid with code 503"),
            format!("Completed subscription to {origin}/feed"),
        ]
    );
    assert_eq!(browser.ask("subscription.errors.length"), 0);
    assert_eq!(gateway.run(&["errors"]), json!([]));

    page.sample("list");
    assert_eq!(page.lines(1), [format!("{origin}/feed")]);
    page.sample("proxy");
    page.comes("subscription.proxy !== ''");
    assert_eq!(browser.ask("subscription.proxy"), format!("{origin}/proxy.xml"));
    page.settles("subscription.unsubscribe()");
    assert_eq!(browser.ask("subscription.state"), 4);
    page.comes("bitsy.subscriptions.length === 0");
    assert_eq!(
        browser.ask("lines.length"),
        0,
        "no event reaches who does not listen: {}",
        browser.ask("lines")
    );
}

#[test]
fn an_edit_without_a_network_is_told_when_it_was_carried_out_or_refused() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    let server = Origin::start();
    let origin = format!("http://127.0.0.1:{}", server.port);
    let gateway = Gateway::start(&place, &[&format!("127.0.0.1:{}", server.port)], &[&origin]);
    let entry =
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:e</id><title>Mine</title></entry>";
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    server.answers("GET", "/feed/entry", 200, ATOM, entry);
    let page = Page::open(&browser, &server, &origin, &gateway);
    page.sample("updates");
    page.comes("subscription.state === 2");
    let address = format!("{origin}/feed/entry");
    for (status, line) in [
        (200, format!("Updated entry at {address} with headers: ")),
        (409, format!("Error when updating {address} code 409")),
    ] {
        gateway.run(&["offline"]);
        assert_eq!(gateway.put(&address, entry), 200);
        assert_eq!(gateway.run(&["outbox"])[0]["location"], *address);
        server.answers("PUT", "/feed/entry", status, ATOM, entry);
        gateway.run(&["online"]);
        let told = page.lines(1);
        assert!(told[0].starts_with(&line), "{told:?}");
        if status == 200 {
            assert!(
                told[0].contains("Content-Type: application/atom+xml\nContent-Length: "),
                "{told:?}"
            );
        }
    }
    assert_eq!(server.asked("PUT", "/feed/entry"), [entry, entry]);
    page.comes("subscription.errors.length === 1");
    assert_eq!(browser.ask("subscription.errors[0].requestText"), entry);
    assert_eq!(browser.ask("subscription.errors[0].requestBody.length"), entry.len());
    assert_eq!(browser.ask("subscription.state"), 2, "an edit changes no state");
    assert_eq!(gateway.run(&["errors"])[0]["status"], 409);
}

#[test]
fn pages_of_different_origins_see_only_what_they_may() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    let server = Origin::start();
    let (first, second) =
        (format!("http://127.0.0.1:{}", server.port), format!("http://localhost:{}", server.port));
    let authority = format!("127.0.0.1:{}", server.port);
    let gateway = Gateway::start(&place, &[&authority], &[&first, &second]);
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    server.answers("GET", "/authenticated-feed/", 200, ATOM, &feed(""));
    {
        let page = Page::open(&browser, &server, &first, &gateway);
        page.sample("subscribe");
        page.comes("subscription.state === 2");
        page.sample("cookies");
        page.comes("subscription.state === 2 && bitsy.subscriptions.length === 2");
        let cookies = "PREF=ID=28face613556316e; S=DkEaab7_F7PtM3ZX";
        assert_eq!(browser.ask("subscription.getRequestHeader('cookie')"), cookies);
    }
    {
        let page = Page::open(&browser, &server, &second, &gateway);
        assert_eq!(browser.ask("bitsy.subscriptions.length"), 0);
        // What it asks for itself, it sees: it is the same, and other credentials make another.
        page.settles(&format!(
            "globalThis.subscription = bitsy.subscriptionBuilder().setFeed('{first}/feed').build()"
        ));
        page.comes("subscription.state === 2");
        page.settles(&format!(
            "bitsy.subscriptionBuilder().setFeed('{first}/authenticated-feed/').build()"
        ));
        page.comes("[...bitsy.subscriptions].every((one) => one.state === 2)");
        assert_eq!(browser.ask("bitsy.subscriptions.length"), 2);
        let shown =
            browser.ask("[...bitsy.subscriptions].flatMap((one) => [...one.getRequestHeaders()])");
        assert_eq!(shown, json!([]));
        page.settles("subscription.unsubscribe()");
        page.comes("bitsy.subscriptions.length === 1");
    }
    assert_eq!(gateway.run(&["status"])["subscriptions"].as_array().unwrap().len(), 3);
    {
        // The first still has its own, after it was loaded again.
        let page = Page::open(&browser, &server, &first, &gateway);
        page.comes("bitsy.subscriptions.length === 3");
        let private =
            "[...bitsy.subscriptions].find((one) => one.getRequestHeader('Cookie') !== null)";
        assert_ne!(browser.ask(&format!("{private}.feed")), Value::Null);
    }
    // An origin that was not allowed is refused.
    let other = Origin::start();
    let foreign = format!("http://127.0.0.1:{}", other.port);
    let page = format!("<script src=\"{}/bitsy.js\"></script><h1>Foreign</h1>", gateway.control);
    other.answers("GET", "/page", 200, "Content-Type: text/html\r\n", &page);
    browser.go(&format!("{foreign}/page"));
    browser.ask("void bitsy.ready.then(() => { globalThis.said = 'in'; }, () => { globalThis.said = 'out'; })");
    let end = Instant::now() + PATIENCE;
    while browser.ask("globalThis.said ?? 'nothing'") == "nothing" {
        assert!(Instant::now() < end, "it is not said whether the page is let in");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(browser.ask("said"), "out");
    assert_eq!(browser.ask("bitsy.subscriptions.length"), 0);
}

#[test]
fn people_see_and_steer_the_gateway_by_the_keyboard() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    let server = Origin::start();
    let origin = format!("http://127.0.0.1:{}", server.port);
    let gateway = Gateway::start(&place, &[&format!("127.0.0.1:{}", server.port)], &[]);
    let entry = |title: &str| {
        format!(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:e</id><title>{title}</title></entry>"
        )
    };
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    server.answers(
        "GET",
        "/feed/entry",
        200,
        &format!("{ATOM}ETag: \"1\"\r\n"),
        &entry("two litres"),
    );

    browser.go(&format!("{}/", gateway.control));
    browser.sees("feedsync gateway open");
    browser.go(gateway.run(&["open"])["url"].as_str().unwrap());
    browser.sees("Nothing is subscribed to yet.");
    browser.names_are_complete();
    browser.fits("gateway-empty");
    browser.tab_to("Address of the feed");
    browser.press(&format!("{origin}/feed"));
    browser.tab_to("Link relations to follow, such as enclosure");
    browser.press("edit");
    browser.tab_to("Subscribe");
    browser.press(support::browser::ENTER);
    browser.sees("It is subscribed to.");
    browser.sees("WAITING");
    browser.tab_to("Stay off the network");
    browser.press(support::browser::ENTER);
    browser.sees("The network is not used");
    assert_eq!(gateway.put(&format!("{origin}/feed/entry"), &entry("three litres")), 200);
    browser.sees("1 edit on their way");
    browser.names_are_complete();
    browser.fits("gateway-home");
    browser.go(&format!("{}/pages/outbox", gateway.control));
    browser.sees("waits for its turn");
    browser.names_are_complete();
    browser.fits("gateway-outbox");
    server.answers("PUT", "/feed/entry", 409, ATOM, &entry("four litres"));
    gateway.run(&["online"]);
    browser.sees("No edit is on its way.");
    browser.go(&format!("{}/pages/errors", gateway.control));
    browser.sees("409 Conflict");
    browser.names_are_complete();
    browser.fits("gateway-errors");
    let link = format!("PUT {origin}/feed/entry");
    browser.tab_to(&link);
    browser.press(support::browser::ENTER);
    for side in ["two litres", "three", "four"] {
        browser.sees(side);
    }
    browser.names_are_complete();
    browser.fits("gateway-error");
    server.answers("PUT", "/feed/entry", 200, ATOM, &entry("three litres"));
    browser.tab_to("Make it again");
    browser.press(support::browser::ENTER);
    browser.sees("The edit is made again");
    browser.sees("There are no errors.");
    let end = Instant::now() + PATIENCE;
    while server.asked("PUT", "/feed/entry").len() < 2 {
        assert!(Instant::now() < end, "it is not sent again");
        std::thread::sleep(Duration::from_millis(20));
    }
    browser.tab_to("Close for this browser");
    browser.press(support::browser::ENTER);
    browser.sees("feedsync gateway open");
    let complaints = browser.complaints();
    assert!(complaints.iter().all(|one| one.contains("status of 401")), "{complaints:?}");
}
