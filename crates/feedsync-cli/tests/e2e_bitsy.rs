//! Pages that use `bitsy.js` in a real browser. They run the samples of docs/bitsy.md itself.

mod support;

#[path = "support/bitsy.rs"]
mod bitsy;

use std::time::{Duration, Instant};

use bitsy::{ATOM, Gateway, Page, Scene, TIMEOUT, feed};
use serde_json::{Value, json};
use support::origin::Origin;

#[test]
fn the_samples_of_the_document_print_what_it_prints() {
    let Some(scene) = Scene::start() else { return };
    let Scene { browser, server, origin, .. } = &scene;
    let gateway = scene.gateway();
    let links = "<link rel=\"related\" href=\"/feed/invalid\"/>";
    server.answers("GET", "/feed", 200, ATOM, &feed(links));
    let page = Page::open(browser, server, origin, &gateway);

    // The first run succeeds; then a link is missing; later it exists.
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
fn built_subscriptions_are_listed_once_and_events_of_a_restarted_gateway_are_accepted() {
    let Some(scene) = Scene::start() else { return };
    let Scene { browser, server, origin, .. } = &scene;
    let gateway = scene.gateway();
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    server.answers("GET", "/other", 200, ATOM, &feed(""));
    let page = Page::open(browser, server, origin, &gateway);
    let is = |what: &str| assert_eq!(browser.ask(what), true, "{what}");
    page.settles("globalThis.other = bitsy.subscriptionBuilder().setFeed('/other').build()");
    page.comes("other.lastUpdated > 0");
    let becomes = |count: usize| {
        let end = Instant::now() + TIMEOUT;
        while gateway.run(&["status"])["subscriptions"].as_array().unwrap().len() != count {
            assert!(Instant::now() < end, "there are not {count} subscriptions");
        }
    };

    // Events of the gateway arrive before its response.
    page.settles(
        "globalThis.answered = new Promise((resolve) => { globalThis.release = resolve; });\
         globalThis.straight = fetch;\
         globalThis.fetch = async (url, request) => {\
           const answer = await straight(url, request);\
           if (request.method === 'POST') await answered;\
           return answer;\
         };\
         globalThis.subscription = bitsy.subscriptionBuilder().setFeed('/feed').build()",
    );
    becomes(2);
    gateway.run(&["pause", &format!("{origin}/other")]);
    page.comes("other.state === bitsy.Subscription.PAUSED");
    is("bitsy.subscriptions.length === 2 && bitsy.subscriptions[1] === subscription");
    page.settles("subscription.unsubscribe()");
    is("bitsy.subscriptions.length === 1 && bitsy.subscriptions[0] === other");
    page.settles("release()");
    assert_eq!(page.promised("subscription.ready.then((one) => one === subscription)"), true);
    becomes(1);
    page.settles("globalThis.subscription = bitsy.subscriptionBuilder().setFeed('/feed').build()");
    assert_eq!(page.promised("subscription.ready.then((one) => one === subscription)"), true);
    page.comes("subscription.lastUpdated > 0");
    is("bitsy.subscriptions.length === 2 && bitsy.subscriptions[1] === subscription");

    // The restarted gateway counts from the beginning, and the page still accepts its events as new.
    let gateway = gateway.again(&[&scene.authority], &[origin]);
    gateway.run(&["resume", &format!("{origin}/other")]);
    page.comes("other.state === bitsy.Subscription.WAITING");
    page.settles("other.pause()");
    page.comes("other.state === bitsy.Subscription.PAUSED");
    is("bitsy.subscriptions.length === 2 && bitsy.subscriptions[0] === other");
}

#[test]
fn builders_lists_and_listeners_are_as_the_document_has_them() {
    let Some(scene) = Scene::start() else { return };
    let Scene { browser, server, origin, .. } = &scene;
    let gateway = scene.gateway();
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    server.answers("GET", "/other", 200, ATOM, &feed(""));
    let page = Page::open(browser, server, origin, &gateway);
    let is = |what: &str| assert_eq!(browser.ask(what), true, "{what}");

    // Each call creates an independent builder.
    page.settles(
        "globalThis.first = bitsy.subscriptionBuilder(); globalThis.second = bitsy.subscriptionBuilder();\
         first.setFeed('/feed').addFollow('related'); second.setFeed('/other')",
    );
    is("first !== second");
    page.settles("globalThis.subscription = first.build(); globalThis.began = subscription.state; globalThis.other = second.build()");
    is(&format!("subscription.feed === '{origin}/feed' && other.feed === '{origin}/other'"));
    is("subscription.follows.length === 1 && other.follows.length === 0");
    is("began === bitsy.Subscription.READY");
    page.comes("[...bitsy.subscriptions].every((one) => one.state === 2)");

    // A list does not change after it was created.
    page.settles("globalThis.list = bitsy.subscriptions");
    is(
        "list.length === 2 && list[0] === subscription && list.item(1) === other && list[1] === other",
    );
    is("list.item(2) === null && list[2] === undefined && Object.isFrozen(list)");
    page.settles("other.unsubscribe()");
    page.comes("bitsy.subscriptions.length === 1");
    is("list.length === 2 && list[1] === other && other.state === bitsy.Subscription.CLOSED");
    is("bitsy.subscriptions[0] === subscription");

    // Any number of listeners get the same event in sequence until they are removed. Functions and objects
    // are both listeners. A failing listener does not prevent the others from getting the event.
    page.settles(
        "globalThis.heard = []; globalThis.told = [];\
         globalThis.plain = (event) => { heard.push('function'); told.push(event); };\
         globalThis.object = { handleEvent(event) { heard.push(this === object); told.push(event); } };\
         globalThis.failing = () => { heard.push('failing'); throw new Error('mine'); };\
         for (const one of [plain, failing, object]) subscription.addStateChangeEventListener(one);\
         subscription.addStateChangeEventListener(plain);\
         subscription.pause()",
    );
    page.comes("heard.length >= 3");
    is("heard.splice(0).join() === 'function,failing,true'");
    is("told[0] === told[1] && told[0] instanceof bitsy.StateChangeEvent");
    is("told[0].subscription === subscription && told[0].status === bitsy.Subscription.PAUSED");
    is("Math.abs(Date.now() - told[0].timeStamp) < 60000");
    assert!(page.lines(1)[0].starts_with("failed: "));
    page.settles(
        "subscription.removeStateChangeEventListener(plain);\
         subscription.removeStateChangeEventListener(failing); subscription.resume()",
    );
    page.comes("subscription.state === bitsy.Subscription.WAITING && heard.length >= 3");
    is("heard.every((one) => one === true)");
    page.settles("subscription.removeStateChangeEventListener(object); heard.length = 0; subscription.pause()");
    page.settles("subscription.resume()");
    page.comes("subscription.state === bitsy.Subscription.WAITING");
    is("heard.length === 0");
    for wrong in ["null", "undefined", "'text'", "7"] {
        let added = format!("subscription.addSyncEventListener({wrong})");
        is(&format!(
            "(() => {{ try {{ {added} }} catch (error) {{ return error instanceof TypeError; }} }})()"
        ));
    }
}

#[test]
fn an_edit_without_a_network_is_told_when_it_was_carried_out_or_refused() {
    let Some(scene) = Scene::start() else { return };
    let Scene { browser, server, origin, .. } = &scene;
    let gateway = scene.gateway();
    let entry =
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:e</id><title>Mine</title></entry>";
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    server.answers("GET", "/feed/entry", 200, ATOM, entry);
    let page = Page::open(browser, server, origin, &gateway);
    page.sample("updates");
    page.comes("subscription.state === 2");
    let address = format!("{origin}/feed/entry");
    for (status, line) in [
        (200, format!("Updated entry at {address} with headers: ")),
        (409, format!("Error when updating {address} code 409")),
    ] {
        gateway.run(&["offline"]);
        assert_eq!(gateway.put(&address, entry), 200);
        assert_eq!(gateway.run(&["outbox"])["edits"][0]["location"], *address);
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
    let Some(scene) = Scene::start() else { return };
    let Scene { browser, place, server, authority, origin: first } = &scene;
    let second = format!("http://localhost:{}", server.port);
    let gateway = Gateway::start(place, &[authority], &[first, &second]);
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    server.answers("GET", "/authenticated-feed/", 200, ATOM, &feed(""));
    {
        let page = Page::open(browser, server, first, &gateway);
        page.sample("subscribe");
        page.comes("subscription.state === 2");
        page.sample("cookies");
        page.comes("subscription.state === 2 && bitsy.subscriptions.length === 2");
        let cookies = "PREF=ID=28face613556316e; S=DkEaab7_F7PtM3ZX";
        assert_eq!(browser.ask("subscription.getRequestHeader('cookie')"), cookies);
        page.sample("authorization");
        page.comes("subscription.state === 2 && bitsy.subscriptions.length === 3");
        let token = "Scheme token=\"secret\"";
        assert_eq!(browser.ask("subscription.getRequestHeader('Authorization')"), token);
        let sent = server.headers("GET", "/authenticated-feed/");
        let sends = |line: &str| sent.iter().any(|head| head.contains(line));
        assert!(sends(&format!("authorization: {}\r\n", token.to_lowercase())), "{sent:?}");
        assert!(sends(&format!("cookie: {}\r\n", cookies.to_lowercase())), "{sent:?}");
    }
    {
        let page = Page::open(browser, server, &second, &gateway);
        assert_eq!(browser.ask("bitsy.subscriptions.length"), 0);
        // The page sees the subscriptions that it creates. The same feed gives the same subscription; other
        // credentials create another one.
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
    assert_eq!(gateway.run(&["status"])["subscriptions"].as_array().unwrap().len(), 4);
    {
        // The page of the first origin still has its subscriptions after it is loaded again.
        let page = Page::open(browser, server, first, &gateway);
        page.comes("bitsy.subscriptions.length === 4");
        let private =
            "[...bitsy.subscriptions].find((one) => one.getRequestHeader('Cookie') !== null)";
        assert_ne!(browser.ask(&format!("{private}.feed")), Value::Null);
    }
    // An origin that is not allowed is refused.
    let other = Origin::start();
    let foreign = format!("http://127.0.0.1:{}", other.port);
    let page = format!("<script src=\"{}/bitsy.js\"></script><h1>Foreign</h1>", gateway.control);
    other.answers("GET", "/page", 200, "Content-Type: text/html\r\n", &page);
    browser.go(&format!("{foreign}/page"));
    browser.ask("void bitsy.ready.then(() => { globalThis.said = 'in'; }, () => { globalThis.said = 'out'; })");
    let end = Instant::now() + TIMEOUT;
    while browser.ask("globalThis.said ?? 'nothing'") == "nothing" {
        assert!(Instant::now() < end, "it is not said whether the page is let in");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(browser.ask("said"), "out");
    assert_eq!(browser.ask("bitsy.subscriptions.length"), 0);
}

#[test]
fn people_see_and_steer_the_gateway_by_the_keyboard() {
    let Some(scene) = Scene::start() else { return };
    let Scene { browser, server, origin, .. } = &scene;
    let gateway = Gateway::start(&scene.place, &[&scene.authority], &[]);
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
    browser.sees("There are no subscriptions yet.");
    browser.names_are_complete();
    browser.fits("gateway-empty");
    browser.tab_to("Address of the feed");
    browser.press(&format!("{origin}/feed"));
    browser.tab_to("Link relations to follow, such as enclosure");
    browser.press("edit");
    browser.tab_to("Subscribe");
    browser.press(support::browser::ENTER);
    browser.sees("Subscribed.");
    browser.sees("WAITING");
    browser.tab_to("Go offline");
    browser.press(support::browser::ENTER);
    browser.sees("Offline mode");
    assert_eq!(gateway.put(&format!("{origin}/feed/entry"), &entry("three litres")), 200);
    browser.sees("1 edit pending");
    browser.names_are_complete();
    browser.fits("gateway-home");
    browser.go(&format!("{}/pages/outbox", gateway.control));
    browser.sees("It waits until the gateway uses the network again");
    browser.names_are_complete();
    browser.fits("gateway-outbox");
    server.answers("PUT", "/feed/entry", 409, ATOM, &entry("four litres"));
    gateway.run(&["online"]);
    browser.sees("There are no pending edits.");
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
    browser.tab_to("Apply again");
    browser.press(support::browser::ENTER);
    browser.sees("The edit is applied again");
    browser.sees("There are no errors.");
    let end = Instant::now() + TIMEOUT;
    while server.asked("PUT", "/feed/entry").len() < 2 {
        assert!(Instant::now() < end, "it is not sent again");
        std::thread::sleep(Duration::from_millis(20));
    }
    browser.tab_to("Sign out this browser");
    browser.press(support::browser::ENTER);
    browser.sees("feedsync gateway open");
    let complaints = browser.complaints();
    assert!(complaints.iter().all(|one| one.contains("status of 401")), "{complaints:?}");
}
