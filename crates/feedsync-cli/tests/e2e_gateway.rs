//! A real gateway process between applications and servers that do not know it, while servers and gateway are
//! killed. Changes written without a network arrive once, in their final state.
//!
//! `FEEDSYNC_SEED` repeats the writes and the kills; their exact interleaving depends on the machine.

mod support;

#[path = "support/gateways/mod.rs"]
mod gateways;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use feedsync_store::{Environment as _, SystemEnvironment};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use gateways::application::{Answer, Application, ENTRY, Route, entry};
use gateways::atompub;
use gateways::gateway::Gateway;
use gateways::hub::{AUTHORIZATION, Hub, LOGIN};
use gateways::listing::titles;
use gateways::writer::Writer;
use support::TestDirectory;
use support::web::WebServer;

/// Continues to work while the hub is unavailable, such as on a laptop without a network.
fn write_without_a_network(way: fn(String) -> Route) {
    let place = TestDirectory::new();
    let mut hub = Hub::start(&place);
    let mut gateway = Gateway::start(&place, &hub.authority());
    let application = Application::new(way(gateway.address.clone()), Some(LOGIN));
    let notes = hub.notes();
    let create = |title: &str| {
        let answer = hub.application().post(&notes, &entry(title));
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.location()
    };
    let (bread, butter) = (create("Bread"), create("Butter"));
    gateway.subscribe(&notes, Some(AUTHORIZATION));
    assert_eq!(titles(&application.get(&notes)), ["Bread", "Butter"]);
    hub.kill();

    // All operations still succeed.
    assert_eq!(titles(&application.get(&notes)), ["Bread", "Butter"]);
    let made = application.post(&notes, &entry("Milk"));
    assert_eq!(made.status, 201, "{}", made.text());
    let milk = made.location();
    assert_eq!(application.put(&milk, &entry("Oat milk")).status, 200);
    assert_eq!(application.put(&bread, &entry("Rye bread")).status, 200);
    assert_eq!(application.delete(&butter).status, 204);
    let picture = b"\x89PNG\r\n\x1a\n and what follows".as_slice();
    let headers = ["Content-Type: image/png", "Slug: The cat"];
    let posted = application.ask("POST", &notes, &headers, Some(picture)).unwrap();
    assert_eq!(posted.status, 201, "{}", posted.text());
    // Other applications cannot use the credentials of one application.
    let stranger = Application::new(way(gateway.address.clone()), None);
    assert_eq!(stranger.get(&notes).status, 401);
    assert_eq!(stranger.put(&bread, &entry("Mine")).status, 401);

    // All of this survives a restart of the gateway.
    for _ in 0..2 {
        let feed = application.get(&notes);
        assert_eq!(titles(&feed), ["Oat milk", "Rye bread", "The cat"]);
        // Every reader of the feed can edit an entry that was created here.
        assert!(feed.text().contains(&edit_link(&milk)), "{}", feed.text());
        assert_eq!(application.get(&media_of(&feed)).body, picture);
        assert!(application.get(&milk).text().contains("What Oat milk says"));
        assert!(application.get(&bread).text().contains("What Rye bread says"));
        assert_eq!(application.get(&butter).status, 410);
        assert_eq!(gateway.waiting(), 4);
        gateway.kill();
        gateway.wake();
    }
    let put = application.put(&milk, &entry("Almond milk"));
    assert_eq!(put.status, 200, "{}", put.text());

    hub.wake();
    gateway.drained();
    assert_eq!(gateway.errors(), json!([]));
    let there = || titles(&hub.application().get(&notes));
    assert_eq!(there(), ["Almond milk", "Rye bread", "The-cat"]);
    let moved = application.get(&milk);
    assert_eq!(moved.status, 308, "{}", moved.text());
    let member = application.get(&moved.location());
    assert!(member.text().contains("What Almond milk says"), "{}", member.text());
    // No edit was sent twice. Edits that were never sent were replaced by later ones. An edit in transit when
    // the gateway was killed may have arrived, and its replacement came after it.
    let members = hub.members();
    let updates = |title: &str| members.iter().find(|it| it.title == title).unwrap().updates;
    assert_eq!(updates("Rye bread"), 2, "{members:?}");
    assert!(matches!(updates("Almond milk"), 1 | 2), "{members:?}");

    // Nothing arrives later.
    gateway.kill();
    gateway.wake();
    gateway.told("POST", "/refresh", None);
    gateway.drained();
    assert_eq!(there(), ["Almond milk", "Rye bread", "The-cat"]);
    assert_eq!(hub.members(), members);
    assert_eq!(gateway.errors(), json!([]));
    assert_eq!(titles(&application.get(&notes)), there());
}

/// End of the edit link of an entry in the feed. The link has the address of the server, however the
/// application reaches the gateway.
fn edit_link(member: &str) -> String {
    let place = member.split_once("/.well-known/").expect("an address of the gateway's own").1;
    format!("/.well-known/{place}\"/>")
}

/// Address of the media in a feed.
fn media_of(feed: &Answer) -> String {
    let (_, rest) = feed.text().split_once("rel=\"edit-media\" href=\"").expect("media");
    rest.split_once('"').expect("an address").0.to_owned()
}

#[test]
fn an_application_goes_on_without_its_server_in_reverse_mode() {
    write_without_a_network(Route::Reverse);
}

#[test]
fn an_application_goes_on_without_its_server_through_a_proxy() {
    write_without_a_network(Route::Proxy);
}

/// Number of times that the gateway is killed: 20, or 200 with `FEEDSYNC_LONG`.
fn kills() -> usize {
    if std::env::var_os("FEEDSYNC_LONG").is_some() { 200 } else { 20 }
}

#[test]
fn every_acknowledged_write_arrives_once_while_the_gateway_is_killed() {
    let given = std::env::var("FEEDSYNC_SEED").ok();
    let seed =
        given.map_or_else(|| SystemEnvironment.random(), |text| text.parse().expect("a number"));
    eprintln!("FEEDSYNC_SEED={seed}");
    let place = TestDirectory::new();
    let mut hub = Hub::start(&place);
    let mut gateway = Gateway::start(&place, &hub.authority());
    let notes = hub.notes();
    gateway.subscribe(&notes, Some(AUTHORIZATION));
    let ways = [Route::Reverse(gateway.address.clone()), Route::Proxy(gateway.address.clone())];
    let working = AtomicBool::new(true);
    let mut random = SmallRng::seed_from_u64(seed);
    let writers: Vec<Writer> = thread::scope(|scope| {
        let (working, notes) = (&working, &notes);
        let writers: Vec<_> = ways
            .into_iter()
            .enumerate()
            .map(|(name, way)| {
                let writer = Writer::new(name, seed, Application::new(way, Some(LOGIN)), notes);
                scope.spawn(move || writer.run(working))
            })
            .collect();
        for _ in 0..kills() {
            thread::sleep(Duration::from_millis(random.random_range(20..500)));
            gateway.kill();
            match (random.random_range(0..3), hub.is_here()) {
                (0, true) => hub.kill(),
                (1.., false) => hub.wake(),
                _ => {}
            }
            gateway.wake();
        }
        working.store(false, Ordering::SeqCst);
        writers.into_iter().map(|writer| writer.join().expect("a writer")).collect()
    });
    if !hub.is_here() {
        hub.wake();
    }
    gateway.told("POST", "/refresh", None);
    let refused = gateway.left();
    let members = hub.members();
    for writer in &writers {
        eprintln!(
            "{} acknowledged, {} not answered, {} refused",
            writer.acknowledged,
            writer.unanswered,
            refused.len()
        );
        assert!(writer.acknowledged > kills(), "it wrote");
        writer.judge(&members, &refused);
    }
    let is_of_a_deletion =
        |error: &Value| matches!(error["status"].as_u64(), Some(404 | 410 | 424));
    assert!(refused.iter().all(is_of_a_deletion), "nobody was in the way of anybody: {refused:?}");
}

#[test]
fn a_full_disk_refuses_what_it_cannot_keep_and_loses_nothing() {
    let place = TestDirectory::new();
    let mut hub = Hub::start(&place);
    let Some(gateway) = Gateway::on_a_small_disk(&place, &hub.authority()) else { return };
    let application = Application::new(Route::Proxy(gateway.address.clone()), Some(LOGIN));
    let notes = hub.notes();
    gateway.subscribe(&notes, Some(AUTHORIZATION));
    hub.kill();
    // Small bodies are stored in the database, large ones in files.
    let lengths = [500, 20_000, 90_000, 200_000];
    let mut written = Vec::new();
    let mut refused = [0; 4];
    let write = |number: usize| {
        let title = format!("Note {number:03}");
        let entry = entry(&title).replace(" says", &"x".repeat(lengths[number % lengths.len()]));
        let answer = application.post(&notes, &entry);
        (title, answer)
    };
    for number in 0..200 {
        let (title, answer) = write(number);
        match answer.status {
            201 => written.push(title),
            507 => {
                assert_eq!(answer.header("content-type"), Some("application/problem+json"));
                refused[number % lengths.len()] += 1;
            }
            status => panic!("{status} {}\n{}", answer.text(), gateway.log()),
        }
        if refused.iter().all(|count| *count > 2) {
            break;
        }
    }
    assert!(written.len() > 4 && refused.iter().all(|count| *count > 2), "{refused:?}");
    assert_eq!(gateway.waiting(), written.len());
    let shown = titles(&application.get(&notes));
    assert_eq!(shown, written, "what was taken can be read");

    // Space is free again, and all operations succeed as before.
    std::fs::remove_file(gateway.path("ballast")).unwrap();
    let (title, answer) = write(200);
    assert_eq!(answer.status, 201, "{}\n{}", answer.text(), gateway.log());
    written.push(title);
    hub.wake();
    gateway.drained();
    assert_eq!(titles(&hub.application().get(&notes)), written);
}

#[test]
fn a_client_of_atompub_creates_edits_and_deletes_without_its_server() {
    if !atompub::has_client() {
        return;
    }
    let place = TestDirectory::new();
    let mut hub = Hub::start(&place);
    let gateway = Gateway::start(&place, &hub.authority());
    let application = Application::new(Route::Reverse(gateway.address.clone()), Some(LOGIN));
    for title in ["Bread", "Butter"] {
        let made = hub.application().post(&hub.notes(), &entry(title));
        assert_eq!(made.status, 201, "{}", made.text());
    }
    gateway.subscribe(&hub.notes(), Some(AUTHORIZATION));
    let (base, notes) = (application.at(&format!("http://{}", hub.authority())), hub.notes());
    atompub::run(&mut hub, "gateway.pl", [&base, &notes], &[], "signed in");
    hub.wake();
    gateway.drained();
    assert_eq!(titles(&hub.application().get(&hub.notes())), ["Oat milk", "Rye bread"]);
}

#[test]
fn a_client_of_atompub_follows_links_through_the_gateway_with_and_without_its_server() {
    if !atompub::has_client() {
        return;
    }
    let place = TestDirectory::new();
    let mut hub = Hub::start(&place);
    let made = hub.application().post(&hub.notes(), &entry("Bread"));
    assert_eq!(made.status, 201, "{}", made.text());
    let gateway = Gateway::mounting(&place, &format!("hub=http://{}/", hub.authority()));
    let follows = ["edit", "edit-media", "service", "self", "next"];
    gateway.subscribe_with(&hub.notes(), &follows, Some(AUTHORIZATION));
    let service = format!("http://{}/hub/service", gateway.address);
    atompub::run(&mut hub, "linked.pl", [&service, ""], &[], "with a network");
    hub.wake();
    gateway.drained();
    assert_eq!(gateway.errors(), json!([]));
    let expected = ["Bread", "offline three", "offline-cat", "online three", "online-cat"];
    let mut found = titles(&hub.application().get(&hub.notes()));
    found.sort();
    assert_eq!(found, expected);
    // Each edit arrived once: with a network all three, without one the last of an entry.
    let members = hub.members();
    let updates = |title: &str| members.iter().find(|it| it.title == title).unwrap().updates;
    assert_eq!((updates("online three"), updates("offline three")), (3, 1), "{members:?}");
    let pictures = hub.application().get(&hub.notes());
    for when in ["online", "offline"] {
        let (_, rest) = pictures.text().split_once(&format!("<title>{when}-cat")).unwrap();
        let (_, rest) = rest.split_once("rel=\"edit-media\" href=\"").unwrap();
        let picture = hub.application().get(rest.split_once('"').unwrap().0);
        assert!(picture.body.ends_with(when.as_bytes()), "{when}");
    }
}

/// An independent server with files that are put and deleted, and a feed that links to them.
#[test]
fn nginx_gets_what_was_put_and_deleted_without_it() {
    let place = TestDirectory::new();
    const TYPES: &str = "types {
        application/atom+xml atom;
        \"application/atom+xml;type=entry\" entry;
    }";
    let server = "dav_methods PUT DELETE;";
    let Some(mut nginx) = WebServer::nginx(&place, TYPES, server) else { return };
    let mut entries = String::new();
    for (name, title) in [("bread", "Bread"), ("butter", "Butter"), ("milk", "Milk")] {
        place.write(&format!("www/{name}.entry"), &entry(title));
        let url = nginx.url(&format!("{name}.entry"));
        entries.push_str(&format!(
            "<entry><title>{title}</title><id>urn:example:{name}</id>\
             <updated>2026-11-21T00:00:00Z</updated><link rel=\"edit\" href=\"{url}\"/></entry>"
        ));
    }
    place.write(
        "www/feed.atom",
        &format!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Shopping</title>\
             <id>urn:example:shopping</id><updated>2026-11-21T00:00:00Z</updated>\
             <author><name>Anna</name></author>{entries}</feed>"
        ),
    );
    let mut gateway = Gateway::start(&place, &nginx.authority);
    gateway.subscribe(&nginx.url("feed.atom"), None);
    let ways = [Route::Reverse(gateway.address.clone()), Route::Proxy(gateway.address.clone())];
    let [reverse, proxy] = ways.map(|way| Application::new(way, None));
    nginx.kill();

    let (bread, butter, milk) =
        (nginx.url("bread.entry"), nginx.url("butter.entry"), nginx.url("milk.entry"));
    for (application, url, title) in
        [(&reverse, &bread, "Rye bread"), (&proxy, &milk, "Oat milk"), (&reverse, &milk, "Soya")]
    {
        let put = application.put(url, &entry(title));
        assert_eq!(put.status, 200, "{}", put.text());
    }
    assert_eq!(proxy.delete(&butter).status, 204);
    gateway.kill();
    gateway.wake();
    assert_eq!(titles(&proxy.get(&nginx.url("feed.atom"))), ["Rye bread", "Soya"]);
    assert_eq!(reverse.get(&milk).text(), entry("Soya"));
    assert_eq!(reverse.get(&butter).status, 410);
    assert_eq!(place.read("www/milk.entry"), entry("Milk"));

    nginx.wake();
    gateway.drained();
    assert_eq!(place.read("www/bread.entry"), entry("Rye bread"));
    assert_eq!(place.read("www/milk.entry"), entry("Soya"));
    assert!(!place.path("www/butter.entry").exists());
    let kind = nginx_kind(&reverse, &bread);
    assert!(ENTRY.ends_with(&kind), "{kind}");
}

/// Media type that an application receives.
fn nginx_kind(application: &Application, url: &str) -> String {
    application.get(url).header("content-type").unwrap_or_default().to_owned()
}
