//! A hub and a gateway of one user on one machine with the default configuration. No user was added to the hub,
//! and each has a separate data directory.

mod support;

#[path = "support/gateways/mod.rs"]
mod gateways;

use serde_json::json;

use gateways::application::{Application, Route, entry};
use gateways::gateway::Gateway;
use gateways::hub::Hub;
use gateways::listing::titles;
use support::TestDirectory;

#[test]
fn a_program_works_on_a_train_with_a_hub_and_a_gateway_that_nobody_configured() {
    let place = TestDirectory::new();
    let mut hub = Hub::without_user(&place);
    let mut gateway = Gateway::unconfigured(&place);
    let notes = hub.notes();
    for way in [Route::Reverse(gateway.address.clone()), Route::Proxy(gateway.address.clone())] {
        let program = Application::new(way, None);
        // A hub on this machine can be reached before the first subscription.
        let made = program.post(&notes, &entry("Bread"));
        assert_eq!(made.status, 201, "{}", made.text());
        assert_eq!(program.delete(&made.location()).status, 204);
    }
    let program = Application::new(Route::Reverse(gateway.address.clone()), None);
    let made = program.post(&notes, &entry("Butter"));
    assert_eq!(made.status, 201, "{}", made.text());
    let butter = made.location();
    gateway.subscribe(&notes, None);
    assert_eq!(titles(&program.get(&notes)), ["Butter"]);

    hub.kill();
    let made = program.post(&notes, &entry("Milk"));
    assert_eq!(made.status, 201, "{}", made.text());
    let milk = made.location();
    assert_eq!(program.put(&butter, &entry("Salted butter")).status, 200);
    gateway.kill();
    gateway.wake();
    assert_eq!(titles(&program.get(&notes)), ["Milk", "Salted butter"]);
    assert_eq!(program.put(&milk, &entry("Oat milk")).status, 200);
    assert_eq!(gateway.waiting(), 2);

    // The restarted hub has a new proof, which the gateway uses.
    hub.wake();
    gateway.drained();
    assert_eq!(gateway.errors(), json!([]));
    assert_eq!(titles(&hub.application().get(&notes)), ["Oat milk", "Salted butter"]);
    assert_eq!(titles(&program.get(&notes)), ["Oat milk", "Salted butter"]);
    assert_eq!(program.get(&milk).status, 308);
}

#[test]
fn content_of_a_hub_without_users_is_shown_to_no_page_and_to_no_proxy() {
    let place = TestDirectory::new();
    let hub = Hub::without_user(&place);
    let gateway = Gateway::unconfigured(&place);
    let notes = hub.notes();
    let program = Application::new(Route::Reverse(gateway.address.clone()), None);
    assert_eq!(program.post(&notes, &entry("Secret")).status, 201);
    let others: [&[&str]; 6] = [
        &["User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0"],
        &["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"],
        &["X-Forwarded-For: 192.0.2.1"],
        &["Via: 1.1 proxy"],
        // Headers that only the gateway sends.
        &["X-Forwarded-For: 192.0.2.1", "Feedsync-Program: local"],
        &["Forwarded: for=192.0.2.1", "Feedsync-Local-Proof: 0"],
    ];
    let refused = |statuses: &[u16]| {
        for headers in others {
            let answer = program.ask("GET", &notes, headers, None).unwrap();
            assert!(statuses.contains(&answer.status), "{headers:?}: {}", answer.text());
            assert!(!answer.text().contains("Secret"), "{headers:?}");
            let posted = [headers, &["Content-Type: application/atom+xml;type=entry"]].concat();
            let posted = program.ask("POST", &notes, &posted, Some(entry("Evil").as_bytes()));
            assert!((400..500).contains(&posted.unwrap().status), "{headers:?}");
        }
    };
    refused(&[403]);
    // The subscription makes this server reachable for all clients; stored content is still shown only to
    // programs.
    gateway.subscribe(&notes, None);
    refused(&[401]);
    assert_eq!(titles(&program.get(&notes)), ["Secret"]);
    assert_eq!(titles(&hub.application().get(&notes)), ["Secret"]);
    let proofs = std::fs::read_dir(place.path(".local/state/feedsync/hubs")).unwrap();
    for file in proofs
        .map(|file| file.unwrap().path())
        .filter(|it| it.extension().is_some_and(|kind| kind == "proof"))
    {
        let proof = std::fs::read_to_string(file).unwrap();
        assert!(!place.read("gateway.log").contains(&proof));
        assert!(!program.get(&notes).text().contains(&proof));
    }
}

#[test]
fn once_there_is_a_user_a_gateway_signs_in_and_says_why_it_does_not_fetch() {
    let place = TestDirectory::new();
    let hub = Hub::without_user(&place);
    let gateway = Gateway::unconfigured(&place);
    let notes = hub.notes();
    gateway.subscribe(&notes, None);
    let added = ["--data", "hub", "user", "add", "anna", "--administrator", "--password-stdin"];
    assert_eq!(place.run_with(&added, "correct horse").code, 0);
    gateways::until("the hub has noticed", || {
        gateway.told("POST", "/refresh", None);
        let told = gateway.told("GET", "/subscriptions", None);
        (told[0]["state"] == "PAUSED").then_some(()).ok_or_else(|| told.to_string())
    });
    let status = place.run(&["--data", "gateway", "gateway", "status"]);
    let why = format!("1 is paused because {notes} needs other credentials (401");
    assert!(status.out.contains(&why), "{}", status.out);
    assert!(status.out.contains("gateway resume 1"), "{}", status.out);
    let program = Application::new(Route::Reverse(gateway.address.clone()), None);
    assert_eq!(program.get(&notes).status, 401);
}
