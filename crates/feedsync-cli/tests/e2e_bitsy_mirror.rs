//! State of the gateway that `bitsy.js` stores: nothing from before a restart of the gateway, and nothing for
//! longer than needed.

mod support;

#[path = "support/bitsy.rs"]
mod bitsy;

use std::time::{Duration, Instant};

use bitsy::{ATOM, Page, Scene, TIMEOUT, feed};

#[test]
fn response_of_a_restarted_gateway_is_accepted_before_its_events() {
    let Some(scene) = Scene::start() else { return };
    let Scene { browser, server, origin, .. } = &scene;
    let gateway = scene.gateway();
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    let page = Page::open(browser, server, origin, &gateway);
    let built = "bitsy.subscriptionBuilder().setFeed('/feed').build()";
    page.settles(&format!("globalThis.subscription = {built}"));
    page.comes("subscription.state === bitsy.Subscription.WAITING");
    // The higher the counter of this gateway is, the longer the counter of the restarted one is below it.
    let count =
        format!("Promise.all(Array.from({{ length: 50 }}, () => {built}.ready)).then(() => 50)");
    assert_eq!(page.promised(&count), 50);

    // The page does not get the events of the restarted gateway yet.
    page.settles(
        "globalThis.telling = new Promise((resolve) => { globalThis.tell = resolve; });\
         globalThis.straight = fetch;\
         globalThis.fetch = async (url, request) => {\
           if (new URL(url).pathname === '/events') await telling;\
           return straight(url, request);\
         }",
    );
    let gateway = gateway.again(&[&scene.authority], &[origin]);
    page.settles("subscription.pause()");
    // The page sends this request after the response to the pause.
    let next = format!("{built}.ready.then((one) => one.state === bitsy.Subscription.PAUSED)");
    assert_eq!(page.promised(&next), true);
    assert_eq!(browser.ask("subscription.state === bitsy.Subscription.PAUSED"), true);
    page.settles("tell()");
    gateway.run(&["resume", &format!("{origin}/feed")]);
    page.comes("subscription.state === bitsy.Subscription.WAITING");
    assert_eq!(browser.ask("bitsy.subscriptions.length"), 1);
}

#[test]
fn temporary_objects_are_released_once_a_subscription_is_built() {
    let Some(scene) = Scene::start() else { return };
    let Scene { browser, server, origin, .. } = &scene;
    let gateway = scene.gateway();
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    let page = Page::open(browser, server, origin, &gateway);
    // Loads the script again, with sets that are counted as long as they are referenced.
    let counted = format!(
        "fetch('{}/bitsy.js').then((answer) => answer.text()).then((text) => {{\
           globalThis.sets = [];\
           const Counted = class extends Set {{\
             constructor(items) {{ super(items); sets.push(new WeakRef(this)); }}\
           }};\
           globalThis.its = {{ Error, document: {{ baseURI: location.href }} }};\
           new Function('globalThis', 'Set', text)(its, Counted);\
           return its.bitsy.ready;\
         }}).then(() => true)",
        gateway.control
    );
    assert_eq!(page.promised(&counted), true);
    let build = |count: u32| {
        let built = "its.bitsy.subscriptionBuilder().setFeed('/feed').build().ready";
        let all = format!(
            "Promise.all(Array.from({{ length: {count} }}, () => {built}))\
             .then((all) => {{ globalThis.kept = [...(globalThis.kept ?? []), ...all]; return true; }})"
        );
        assert_eq!(page.promised(&all), true);
    };
    let held = || {
        browser.collect_garbage();
        browser.ask("sets.filter((one) => one.deref()).length").as_i64().unwrap()
    };
    build(1);
    let first = held();
    build(20);
    // Each subscription has listeners of two kinds.
    let most = first + 2 * 20;
    let end = Instant::now() + TIMEOUT;
    let mut now = held();
    while now > most {
        assert!(Instant::now() < end, "{now} sets are held, and not {most}");
        std::thread::sleep(Duration::from_millis(50));
        now = held();
    }
    assert_eq!(browser.ask("kept.length"), 21);
}
