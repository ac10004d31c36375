//! Pages of other origins than the server's, in a real browser. They read and edit through the gateway in
//! reverse mode, and through a gateway that emulates a cross-domain proxy (BITSY 2.3). Both work with and without
//! a network. Pages of origins that are not allowed cannot do so.

mod support;

#[path = "support/bitsy.rs"]
mod bitsy;

use std::time::{Duration, Instant};

use bitsy::{ATOM, Gateway, Page, TIMEOUT, feed};
use serde_json::json;
use support::TestDirectory;
use support::browser::Browser;
use support::origin::Origin;

const ENTRY: &str =
    "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:e</id><title>E</title></entry>";
const MINE: &str =
    "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:e</id><title>Mine</title></entry>";

/// A server without CORS headers.
fn server() -> Origin {
    let server = Origin::start();
    let tagged = format!("{ATOM}ETag: \"1\"\r\n");
    server.answers("GET", "/feed", 200, &tagged, &feed(""));
    server.answers("GET", "/feed/entry", 200, &tagged, ENTRY);
    server.answers("PUT", "/feed/entry", 200, ATOM, MINE);
    server.answers("GET", "/else", 200, "Content-Type: text/plain\r\n", "else");
    server
}

/// Checks the requests that a page may send to a feed and its entry below an address, with and without a
/// network.
fn reads_and_edits(page: &Page<'_>, gateway: &Gateway<'_>, server: &Origin, base: &str) {
    let read = |url: &str| {
        page.promised(&format!(
            "fetch('{url}').then(async (told) => [told.status, told.headers.get('etag'),\
             told.headers.get('warning'), await told.text()])"
        ))
    };
    let put = |text: &str| {
        page.promised(&format!(
            "fetch('{base}/feed/entry', {{ method: 'PUT', body: {}, headers: {{\
             'Content-Type': 'application/atom+xml', 'X-Mine': '1' }} }})\
             .then(async (told) => [told.status, await told.text()])",
            json!(text)
        ))
    };
    let url = format!("{base}/feed");
    assert_eq!(read(&url), json!([200, "\"1\"", null, feed("")]));
    assert_eq!(put(MINE), json!([200, MINE]));
    assert_eq!(server.asked("PUT", "/feed/entry"), [MINE]);

    gateway.run(&["offline"]);
    let told = read(&url);
    assert_eq!((&told[0], &told[1]), (&json!(200), &json!("\"1\"")));
    assert!(
        told[2].as_str().unwrap().starts_with("112 "),
        "it reads that there is no network: {told}"
    );
    let yours = MINE.replace("Mine", "Yours");
    assert_eq!(put(&yours), json!([200, yours]));
    assert_eq!(read(&format!("{base}/feed/entry"))[3], yours);
    assert_eq!(gateway.run(&["outbox"])["edits"].as_array().unwrap().len(), 1);
    gateway.run(&["online"]);
    page.comes("[...bitsy.subscriptions].every((one) => one.state === 2)");
    let told = page.promised(&format!(
        "fetch('{url}', {{ credentials: 'include' }}).then((told) => told.status)"
    ));
    assert_eq!(told, "TypeError", "not with what the browser keeps");
}

/// Checks that the requests of a page that is not allowed fail.
fn cannot(browser: &Browser, url: &str) {
    for init in ["{}", "{ method: 'PUT', body: 'x' }"] {
        browser.ask(&format!(
            "(() => {{ globalThis.told = undefined; fetch('{url}', {init}).then(\
             (answer) => {{ told = answer.status; }}, (error) => {{ told = error.name; }}); }})()"
        ));
        let end = Instant::now() + TIMEOUT;
        while browser.ask("globalThis.told === undefined") == true {
            assert!(Instant::now() < end, "{url} is not answered");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(browser.ask("told"), "TypeError", "{init}");
    }
}

/// Checks that no such edit has reached the server.
fn nothing_arrived(server: &Origin) {
    let puts = server.asked("PUT", "/feed/entry");
    assert!(puts.iter().all(|put| put != "x"), "{puts:?}");
}

#[test]
fn a_page_of_an_allowed_origin_reads_and_edits_in_reverse_mode_and_no_other() {
    let Some(browser) = Browser::start() else { return };
    let place = TestDirectory::new();
    let (server, pages) = (server(), Origin::start());
    let authority = format!("127.0.0.1:{}", server.port);
    let allowed = format!("http://127.0.0.1:{}", pages.port);
    let gateway = Gateway::start(&place, &[&authority], &[&allowed]);
    let page = Page::open(&browser, &pages, &allowed, &gateway);
    page.settles(&format!(
        "bitsy.subscriptionBuilder().setFeed('http://{authority}/feed').addFollow('edit').build()"
    ));
    page.comes("bitsy.subscriptions.length === 1 && bitsy.subscriptions[0].state === 2");
    let base = format!("{}/http/{authority}", gateway.url);
    reads_and_edits(&page, &gateway, &server, &base);
    assert_eq!(page.promised(&format!("fetch('{base}/else').then((told) => told.text())")), "else");

    browser.go(&format!("http://localhost:{}/page", pages.port));
    browser.sees("Page");
    cannot(&browser, &format!("{base}/feed"));
    cannot(&browser, &format!("{base}/feed/entry"));
    nothing_arrived(&server);
}

#[test]
fn below_a_prefix_a_page_reads_and_edits_as_through_a_cross_domain_proxy() {
    let place = TestDirectory::new();
    let (server, pages) = (server(), Origin::start());
    let base = format!("http://127.0.0.1:{}", server.port);
    let configuration = format!(
        "<proxy xmlns=\"http://purl.org/BITSY\"><namespace urlPrefix=\"{base}/feed\">\
         <xd xmlns=\"http://purl.org/BITSY/xdp\"/></namespace></proxy>"
    );
    let kind = "Content-Type: application/x-bitsy-proxy-config+xml\r\n";
    server.answers("GET", "/proxy.xml", 200, kind, &configuration);
    let allowed = format!("http://127.0.0.1:{}", pages.port);
    let reached = [
        format!("127.0.0.1:{}", server.port),
        format!("127.0.0.1:{}", pages.port),
        format!("localhost:{}", pages.port),
    ];
    let reached: Vec<_> = reached.iter().map(String::as_str).collect();
    let gateway = Gateway::start(&place, &reached, &[&allowed]);
    let control = gateway.control.trim_start_matches("http://");
    let Some(browser) = Browser::through(&gateway.url, control) else { return };
    let page = Page::open(&browser, &pages, &allowed, &gateway);
    page.settles(&format!(
        "bitsy.subscriptionBuilder().setFeed('{base}/feed').addFollow('edit')\
         .setProxy('{base}/proxy.xml').build()"
    ));
    page.comes("bitsy.subscriptions.length === 1 && bitsy.subscriptions[0].state === 2");
    reads_and_edits(&page, &gateway, &server, &base);
    // For other resources the server decides who may read.
    cannot(&browser, &format!("{base}/else"));

    browser.go(&format!("http://localhost:{}/page", pages.port));
    browser.sees("Page");
    cannot(&browser, &format!("{base}/feed"));
    cannot(&browser, &format!("{base}/feed/entry"));
    nothing_arrived(&server);
}

/// A page of the public web needs a permission of the browser, and an origin that the gateway allows.
#[test]
fn a_page_of_the_public_web_uses_the_gateway_with_a_permission_of_the_browser() {
    let place = TestDirectory::new();
    let (server, pages) = (server(), Origin::start());
    let authority = format!("127.0.0.1:{}", pages.port);
    let Some(browser) = Browser::counting_as_public(&authority) else { return };
    let allowed = format!("http://{authority}");
    let gateway = Gateway::start(&place, &[&format!("127.0.0.1:{}", server.port)], &[&allowed]);
    // Without the permission, the page could not load the script of the gateway, and has a copy.
    let binding = include_str!("../../feedsync-gateway/bitsy/bitsy.js");
    let binding = binding.replace("/*control*/ null", &json!(gateway.control).to_string());
    pages.answers("GET", "/bitsy.js", 200, "Content-Type: text/javascript\r\n", &binding);
    let page = "<!DOCTYPE html><html lang=\"en\"><title>Page</title><h1>Page</h1>\
        <script src=\"/bitsy.js\"></script><script>bitsy.ready.then(() => { globalThis.found = 'ready'; }, \
        (error) => { globalThis.found = [error.message, error.permission]; });</script>";
    pages.answers("GET", "/page", 200, "Content-Type: text/html\r\n", page);
    pages.answers(
        "GET",
        "/",
        200,
        "Content-Type: text/html\r\n",
        "<title>Page</title><h1>Page</h1>",
    );
    pages.answers("GET", "/favicon.ico", 204, "", "");
    let found = |state: &str| {
        browser.go(&format!("{allowed}/"));
        browser.set_permission("loopback-network", state);
        browser.go(&format!("{allowed}/page"));
        let end = Instant::now() + TIMEOUT;
        while browser.ask("globalThis.found === undefined") == true {
            assert!(Instant::now() < end, "{state}: neither ready nor rejected");
            std::thread::sleep(Duration::from_millis(20));
        }
        browser.ask("found")
    };
    let denied = found("denied");
    let message = denied[0].as_str().unwrap_or_default();
    assert!(message.contains("grant the page the permission \"loopback-network\""), "{denied}");
    assert_eq!(denied[1], "loopback-network");
    assert_eq!(found("granted"), "ready");
    let url = format!("{}/http/127.0.0.1:{}/feed", gateway.url, server.port);
    browser.ask(&format!(
        "(() => {{ globalThis.read = undefined; fetch('{url}', {{ headers: {{ 'X-Mine': '1' }} }})\
         .then((told) => told.text()).then((text) => {{ globalThis.read = text; }}, \
         (error) => {{ globalThis.read = error.name; }}); }})()"
    ));
    let end = Instant::now() + TIMEOUT;
    while browser.ask("globalThis.read === undefined") == true {
        assert!(Instant::now() < end, "{url} is not answered");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(browser.ask("read"), feed(""));
}
