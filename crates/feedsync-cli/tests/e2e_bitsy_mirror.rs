//! What `bitsy.js` holds of what the gateway tells, also once it was started again.

mod support;

#[path = "support/bitsy.rs"]
mod bitsy;

use bitsy::{ATOM, Gateway, Page, feed};
use support::Place;
use support::browser::Browser;
use support::origin::Origin;

#[test]
fn an_answer_of_a_gateway_that_was_started_again_counts_before_it_told_everything() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    let server = Origin::start();
    let origin = format!("http://127.0.0.1:{}", server.port);
    let (allow, origins) = ([&*format!("127.0.0.1:{}", server.port)], [&*origin]);
    let gateway = Gateway::start(&place, &allow, &origins);
    server.answers("GET", "/feed", 200, ATOM, &feed(""));
    let page = Page::open(&browser, &server, &origin, &gateway);
    let built = "bitsy.subscriptionBuilder().setFeed('/feed').build()";
    page.settles(&format!("globalThis.subscription = {built}"));
    page.comes("subscription.state === bitsy.Subscription.WAITING");
    // The greater its count is, the longer that of the next one is below it.
    let count =
        format!("Promise.all(Array.from({{ length: 50 }}, () => {built}.ready)).then(() => 50)");
    assert_eq!(page.promised(&count), 50);

    // What the next one tells by itself is kept from the page.
    page.settles(
        "globalThis.telling = new Promise((resolve) => { globalThis.tell = resolve; });\
         globalThis.straight = fetch;\
         globalThis.fetch = async (url, request) => {\
           if (new URL(url).pathname === '/events') await telling;\
           return straight(url, request);\
         }",
    );
    let gateway = gateway.again(&allow, &origins);
    page.settles("subscription.pause()");
    // It is asked once the pause is answered.
    let next = format!("{built}.ready.then((one) => one.state === bitsy.Subscription.PAUSED)");
    assert_eq!(page.promised(&next), true);
    assert_eq!(browser.ask("subscription.state === bitsy.Subscription.PAUSED"), true);
    page.settles("tell()");
    gateway.run(&["resume", &format!("{origin}/feed")]);
    page.comes("subscription.state === bitsy.Subscription.WAITING");
    assert_eq!(browser.ask("bitsy.subscriptions.length"), 1);
}
