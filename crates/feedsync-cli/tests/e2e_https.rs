//! A gateway that intercepts https, between applications that know nothing of it and a hub with a certificate of an
//! authority of the test. The applications trust the authority of the gateway alone, and the gateway that of the test.

mod support;

#[path = "support/gateways/mod.rs"]
mod gateways;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;

use gateways::application::{Application, Route, entry};
use gateways::atompub;
use gateways::gateway::Gateway;
use gateways::hub::{AUTHORIZATION, Hub, LOGIN};
use gateways::listing::titles;
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
fn the_key_of_the_authority_is_for_its_user_alone_and_is_never_shown() {
    if !has("openssl") {
        return;
    }
    let place = TestDirectory::new();
    let hub = Hub::encrypted(&place);
    let gateway = Gateway::intercepting(&place, &hub.authority());
    let shown = place.run(&["--data", "gateway", "gateway", "ca", "show", "--json"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    let mut keys = 0;
    let mut directories = vec![place.path("gateway")];
    while let Some(directory) = directories.pop() {
        for file in std::fs::read_dir(&directory).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if std::fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"-----BEGIN PRIV"))
            {
                keys += 1;
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                assert_eq!(mode, 0o600, "{}", path.display());
                let key = std::fs::read_to_string(&path).unwrap();
                let line = key.lines().nth(1).unwrap();
                assert!(!shown.out.contains(line) && !gateway.log().contains(line));
            }
        }
    }
    assert_eq!(keys, 1);
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
    let authority = authority_of_gateway(&place);
    for title in ["Bread", "Butter"] {
        let made = hub.application().post(&hub.notes(), &entry(title));
        assert_eq!(made.status, 201, "{}", made.text());
    }
    gateway.subscribe(&hub.notes(), Some(AUTHORIZATION));
    let proxy = format!("http://{}", gateway.address);
    let environment = [
        ("PERL_LWP_ENV_PROXY", "1"),
        ("https_proxy", &*proxy),
        ("PERL_LWP_SSL_CA_FILE", authority.to_str().unwrap()),
    ];
    let (origin, notes) = (hub.origin(), hub.notes());
    atompub::run(&mut hub, "gateway.pl", [&origin, &notes], &environment, "signed in");
    hub.wake();
    gateway.drained();
    assert_eq!(titles(&hub.application().get(&hub.notes())), ["Oat milk", "Rye bread"]);
}
