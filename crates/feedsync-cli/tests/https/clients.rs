//! Clients of others over https, with and without their server: requests for Python, newsboat and Chromium.

use std::process::Command;

use serde_json::{Value, json};

use crate::authority_of_gateway;
use crate::gateways::application::{Application, Route, entry};
use crate::gateways::gateway::Gateway;
use crate::gateways::hub::{AUTHORIZATION, Hub, LOGIN};
use crate::gateways::recipe::{Recipe, follow};
use crate::gateways::site::{self, FOLLOWS};
use crate::gateways::{client, python};
use crate::newsboat::Newsboat;
use crate::support::browser::Browser;
use crate::support::portal::renaming;
use crate::support::{TestDirectory, has};

#[test]
fn python_requests_edits_over_https_without_its_server() {
    if !has("openssl") {
        return;
    }
    let Some(python) = python::with_requests() else { return };
    let place = TestDirectory::new();
    let mut hub = Hub::encrypted(&place);
    let gateway = Gateway::intercepting(&place, &hub.authority());
    let made = ["Bread", "Butter", "Cheese"].map(|title| {
        let made = hub.application().post(&hub.notes(), &entry(title));
        assert_eq!(made.status, 201, "{}", made.text());
        made.location()
    });
    gateway.subscribe(&hub.notes(), Some(AUTHORIZATION));
    let trust = Recipe::of(&place, "Python requests");
    let (user, password) = LOGIN.split_once(':').unwrap();
    let mut script = Command::new(python);
    script
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gateway.py"))
        .arg(hub.notes())
        .env("HTTPS_PROXY", format!("http://{}", gateway.address))
        .envs([trust.variable(), ("HUB_USER", user), ("HUB_PASSWORD", password)]);
    let said = client::run(&mut hub, &mut script, "with a network");
    assert!(said.ends_with("all requests had the expected responses\n"), "{said}");
    assert_eq!(gateway.waiting(), 4);

    hub.wake();
    gateway.drained();
    assert_eq!(gateway.errors(), json!([]));
    // The feed has the newest change first, and each edit is one update.
    let members = hub.members().into_iter().map(|member| (member.title, member.updates));
    let expected = [("Eggs", 1), ("Rye bread", 2), ("Oat milk", 1), ("Cheese", 1)];
    let expected = expected.map(|(title, updates)| (title.to_owned(), updates));
    assert_eq!(members.collect::<Vec<_>>(), expected);
    assert_eq!(hub.application().get(&made[1]).status, 410);
}

#[test]
fn newsboat_reads_a_feed_over_https_without_its_server() {
    let place = TestDirectory::new();
    let Some(mut nginx) = site::start(&place) else { return };
    let gateway = Gateway::intercepting(&place, &nginx.authority);
    let trust = Recipe::of(&place, "newsboat");
    let proxy = format!("http://{}", gateway.address);
    // Each has a cache of its own, so that it shows what the gateway has.
    let newsboat = |name: &str| {
        let newsboat = Newsboat::of_feed(&place, name, &nginx.url("feed.atom"))?;
        Some(newsboat.with_variable("https_proxy", &proxy))
    };
    let Some(stranger) = newsboat("stranger") else { return };
    let (name, value) = trust.variable();
    let [online, offline, later] = ["online", "offline", "later"]
        .map(|cache| newsboat(cache).unwrap().with_variable(name, value));
    gateway.subscribe(&nginx.url("feed.atom"), None);
    assert_eq!(online.unread(), "2 unread articles");
    nginx.kill();
    assert_eq!(offline.unread(), "2 unread articles");
    let curl = Application::new(Route::Proxy(gateway.address.clone()), None);
    let curl = curl.trusting(&authority_of_gateway(&place));
    assert_eq!(curl.delete(&nginx.url("butter.entry")).status, 204);
    assert_eq!(later.unread(), "1 unread articles");
    assert_eq!(stranger.unread(), "0 unread articles", "it does not trust the gateway");
}

/// Text at a URL, as a page gets it from its network.
fn fetched(browser: &Browser, file: &str) -> String {
    let script = format!("fetch('{file}', {{ cache: 'no-store' }}).then(it => it.text())");
    browser.ask(&script).as_str().expect("a text").to_owned()
}

const SHOWN: &str =
    "document.querySelector('h1').textContent + ' ' + document.querySelector('img').naturalWidth";

#[test]
fn page_in_chromium_works_over_https_without_its_server() {
    let place = TestDirectory::new();
    let Some(mut nginx) = site::start(&place) else { return };
    if !has("certutil") {
        return;
    }
    let mut gateway = Gateway::intercepting(&place, &nginx.authority);
    gateway.subscribe_with(&nginx.url("feed.atom"), &FOLLOWS, None);
    let proxy = renaming(gateway.address.clone(), "127.0.0.1", "localhost");
    let home = place.path("home");
    let trust = Recipe::of(&place, "Chromium");
    follow(&trust.trust, &home);
    let Some(browser) = Browser::at_home(&home, &proxy) else { return };
    let page = nginx.url("page.html");
    browser.go(&page);
    assert_eq!(browser.ask(SHOWN), "Pantry 2");
    assert_eq!(fetched(&browser, "bread.entry"), entry("Bread"));

    nginx.kill();
    browser.reload();
    assert_eq!(browser.ask(SHOWN), "Pantry 2");
    let body = Value::from(entry("Rye bread"));
    let kind = "{ 'Content-Type': 'application/atom+xml;type=entry' }";
    let put = format!(
        "fetch('bread.entry', {{ method: 'PUT', headers: {kind}, body: {body} }}).then(it => it.status)"
    );
    assert_eq!(browser.ask(&put), 200);
    assert_eq!(
        browser.ask("fetch('butter.entry', { method: 'DELETE' }).then(it => it.status)"),
        204
    );
    gateway.kill();
    gateway.wake();
    browser.reload();
    assert_eq!(browser.ask(SHOWN), "Pantry 2");
    assert_eq!(fetched(&browser, "bread.entry"), entry("Rye bread"));
    let feed = fetched(&browser, "feed.atom");
    assert!(feed.contains("Rye bread") && !feed.contains("Butter"), "{feed}");
    assert_eq!(place.read("www/bread.entry"), entry("Bread"));

    nginx.wake();
    gateway.drained();
    assert_eq!(place.read("www/bread.entry"), entry("Rye bread"));
    assert!(!place.path("www/butter.entry").exists());
    let log = place.read("asked.log");
    let edits = log.lines().filter(|line| line.starts_with("PUT ") || line.starts_with("DELETE "));
    let edits: Vec<_> = edits.filter_map(|line| line.rsplitn(3, ' ').last()).collect();
    assert_eq!(edits, ["PUT /bread.entry", "DELETE /butter.entry"]);

    // The same certificate for another host. The browser sends no name to an address.
    let refused = browser.refuses(&page.replace("localhost", "127.0.0.1"));
    assert!(refused.contains("ERR_CERT_COMMON_NAME_INVALID"), "{refused}");
    drop(browser);
    follow(&trust.undo, &home);
    // Now the gateway tunnels what this browser asks for. It intercepts again after a restart.
    gateway.kill();
    gateway.wake();
    let browser = Browser::at_home(&home, &proxy).unwrap();
    let refused = browser.refuses(&page);
    assert!(refused.contains("ERR_CERT_AUTHORITY_INVALID"), "{refused}");
}
