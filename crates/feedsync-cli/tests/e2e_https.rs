//! A gateway that intercepts https, between applications that know nothing of it and servers with a certificate of an
//! authority of the test. The applications trust the authority of the gateway as `feedsync gateway ca trust-help`
//! prints, and the gateway trusts that of the test.

#[path = "https/clients.rs"]
mod clients;
mod support;
#[path = "https/trust.rs"]
mod trust;

#[path = "support/gateways/mod.rs"]
mod gateways;

#[path = "support/newsboat.rs"]
mod newsboat;

use std::path::PathBuf;

use serde_json::json;

use gateways::application::{Answer, Application, Route, entry};
use gateways::atompub;
use gateways::gateway::Gateway;
use gateways::hub::{AUTHORIZATION, Hub, LOGIN};
use gateways::listing::titles;
use gateways::recipe::Recipe;
use gateways::site::PICTURE;
use support::{TestDirectory, has};

/// The certificate of the gateway's authority, as `feedsync gateway ca show` prints it.
fn authority_of_gateway(place: &TestDirectory) -> PathBuf {
    let shown = place.run(&["--data", "gateway", "gateway", "ca", "show"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    let (_, rest) = shown.out.split_once("-----BEGIN CERTIFICATE-----").expect("a certificate");
    let (text, _) = rest.split_once("-----END CERTIFICATE-----").expect("its end");
    let path = place.path("gateway.pem");
    let pem = format!("-----BEGIN CERTIFICATE-----{text}-----END CERTIFICATE-----\n");
    std::fs::write(&path, pem).unwrap();
    path
}

#[test]
fn an_application_goes_on_without_its_server_over_https() {
    if !has("openssl") {
        return;
    }
    let place = TestDirectory::new();
    let mut hub = Hub::encrypted(&place);
    let mut gateway = Gateway::intercepting(&place, &hub.authority());
    let authority = authority_of_gateway(&place);
    let way = Route::Proxy(gateway.address.clone());
    let through = |login| Application::new(way.clone(), login);
    let application = through(Some(LOGIN)).trusting(&authority);
    let notes = hub.notes();
    let made = hub.application().post(&notes, &entry("Bread"));
    assert_eq!(made.status, 201, "{}", made.text());
    let bread = made.location();
    gateway.subscribe(&notes, Some(AUTHORIZATION));
    assert_eq!(titles(&application.get(&notes)), ["Bread"]);

    hub.kill();
    assert_eq!(titles(&application.get(&notes)), ["Bread"]);
    let made = application.post(&notes, &entry("Milk"));
    assert_eq!(made.status, 201, "{}", made.text());
    let milk = made.location();
    assert!(milk.starts_with(&hub.origin()), "{milk}");
    assert_eq!(application.put(&milk, &entry("Oat milk")).status, 200);
    assert_eq!(application.put(&bread, &entry("Rye bread")).status, 200);
    // Other applications cannot use the credentials of one application.
    assert_eq!(through(None).trusting(&authority).get(&notes).status, 401);
    gateway.kill();
    gateway.wake();
    assert_eq!(titles(&application.get(&notes)), ["Oat milk", "Rye bread"]);

    hub.wake();
    gateway.drained();
    assert_eq!(gateway.errors(), json!([]));
    assert_eq!(titles(&hub.application().get(&notes)), ["Oat milk", "Rye bread"]);
    let updates: Vec<_> = hub.members().iter().map(|member| member.updates).collect();
    assert_eq!(updates.iter().sum::<u32>(), 3, "each edit arrived once: {:?}", hub.members());

    // An application that trusts the hub's authority alone refuses the certificate, and is tunnelled from then on.
    let strict = through(Some(LOGIN)).trusting(&place.path("ca.pem"));
    assert!(strict.ask("GET", &notes, &[], None).is_none());
    assert_eq!(titles(&strict.get(&notes)), ["Oat milk", "Rye bread"]);
}

#[test]
fn server_that_only_a_star_allows_is_not_intercepted() {
    if !has("openssl") {
        return;
    }
    let place = TestDirectory::new();
    let hub = Hub::encrypted(&place);
    // A star allows tunnels, and no interception. The other tests intercept the same hub under its name.
    let gateway = Gateway::intercepting(&place, &format!("*:{}", port(&hub)));
    let through = Application::new(Route::Proxy(gateway.address.clone()), Some(LOGIN));
    let authority = authority_of_gateway(&place);
    assert!(through.trusting(&authority).ask("GET", &hub.notes(), &[], None).is_none());
}

fn port(hub: &Hub<'_>) -> String {
    hub.authority().rsplit_once(':').expect("a port").1.to_owned()
}

#[test]
fn a_client_of_atompub_works_over_https_without_its_server() {
    let has_https = || atompub::has_module("LWP::Protocol::https", "liblwp-protocol-https-perl");
    if !has("openssl") || !atompub::has_client() || !has_https() {
        return;
    }
    let place = TestDirectory::new();
    let mut hub = Hub::encrypted(&place);
    let gateway = Gateway::intercepting(&place, &hub.authority());
    for title in ["Bread", "Butter"] {
        let made = hub.application().post(&hub.notes(), &entry(title));
        assert_eq!(made.status, 201, "{}", made.text());
    }
    gateway.subscribe(&hub.notes(), Some(AUTHORIZATION));
    let proxy = format!("http://{}", gateway.address);
    let perl = Recipe::of(&place, "Perl");
    let environment = [("PERL_LWP_ENV_PROXY", "1"), ("https_proxy", &*proxy), perl.variable()];
    let (origin, notes) = (hub.origin(), hub.notes());
    atompub::run(&mut hub, "gateway.pl", [&origin, &notes], &environment, "signed in");
    hub.wake();
    gateway.drained();
    assert_eq!(titles(&hub.application().get(&hub.notes())), ["Oat milk", "Rye bread"]);
}

/// Address of the media in an entry with this title in a feed.
fn media_of(feed: &Answer, title: &str) -> String {
    let (_, rest) = feed.text().split_once(&format!(">{title}</title>")).expect("an entry");
    let (_, rest) = rest.split_once("rel=\"edit-media\" href=\"").expect("media");
    rest.split_once('"').expect("an address").0.to_owned()
}

#[test]
fn media_are_read_and_posted_over_https_without_their_server() {
    if !has("openssl") {
        return;
    }
    let place = TestDirectory::new();
    let mut hub = Hub::encrypted(&place);
    let mut gateway = Gateway::intercepting(&place, &hub.authority());
    let way = Route::Proxy(gateway.address.clone());
    let application = Application::new(way, Some(LOGIN)).trusting(&authority_of_gateway(&place));
    let notes = hub.notes();
    let post = |application: &Application, name: &str, picture: &[u8]| {
        let headers = ["Content-Type: image/png", &format!("Slug: {name}")];
        let made = application.ask("POST", &notes, &headers, Some(picture)).unwrap();
        assert_eq!(made.status, 201, "{}", made.text());
    };
    post(&hub.application(), "cat", PICTURE);
    gateway.subscribe_with(&notes, &["edit", "edit-media"], Some(AUTHORIZATION));
    hub.kill();

    let dog = [PICTURE, b"another"].concat();
    post(&application, "dog", &dog);
    for _ in 0..2 {
        let feed = application.get(&notes);
        for (name, picture) in [("cat", PICTURE), ("dog", &dog)] {
            let media = application.get(&media_of(&feed, name));
            assert_eq!((media.status, media.header("content-type")), (200, Some("image/png")));
            assert_eq!(media.body, picture, "{name}");
        }
        gateway.kill();
        gateway.wake();
    }

    hub.wake();
    gateway.drained();
    let feed = hub.application().get(&notes);
    assert_eq!(titles(&feed), ["cat", "dog"]);
    assert_eq!(hub.application().get(&media_of(&feed, "dog")).body, dog);
}
