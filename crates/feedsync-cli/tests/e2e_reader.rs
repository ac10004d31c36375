//! A user's reading state on several devices and at a hub of a real process. The hub is killed and restored
//! from a backup; its log is compacted and removed. In the end every device has all changes of all devices.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use support::application::Application;
use support::{Hub, TestDirectory, TestEndpoint, has, until};

const FEED: &str = "https://news.example/feed";

/// Complete state of a device.
fn known(desk: &TestEndpoint<'_>) -> String {
    desk.ok(&["reader", "export", "--all"])
}

fn read(desk: &TestEndpoint<'_>, article: &str) {
    assert_eq!(desk.json(&["reader", "mark", FEED, "--read", article])["changed"], 1);
}

/// Synchronises devices, and checks that they are equal.
fn settle(devices: &[TestEndpoint<'_>], url: &str) {
    for _ in 0..2 {
        for desk in devices {
            desk.ok(&["reader", "sync", url]);
        }
    }
    let first = known(&devices[0]);
    for desk in devices {
        assert_eq!(known(desk), first, "{}", desk.name);
    }
    assert_eq!(devices[0].json(&["log", "verify", url])["faults"], 0);
}

fn log(hub: &Hub) -> String {
    format!("{}/logs/reading", hub.url)
}

/// The log contains every record once, however often the hub is killed while devices append.
#[test]
fn devices_keep_in_step_through_a_hub_that_is_killed() {
    const EACH: usize = 40;
    const KILLS: usize = 12;
    let place = TestDirectory::new();
    place.bare("hub");
    let mut hub = Hub::start(&place, "hub");
    let url = log(&hub);
    let devices = ["laptop", "phone", "tablet"].map(|name| place.bare(name));
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for desk in &devices {
            let (url, done) = (&url, &done);
            scope.spawn(move || {
                for number in 0..EACH {
                    read(desk, &format!("urn:{}:{number}", desk.name));
                    until("the hub comes back", || {
                        let run = desk.run(&["reader", "sync", url]);
                        if run.code == 0 { Ok(()) } else { Err(run.err) }
                    });
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for kill in 1..=KILLS {
            let reached = kill * EACH * devices.len() / (KILLS + 1);
            until("devices go on", || match done.load(Ordering::Relaxed) {
                done if done < reached => Err(done.to_string()),
                _ => Ok(()),
            });
            hub.again(&place, "hub", || {});
        }
    });
    settle(&devices, &url);
    let verified = devices[0].json(&["log", "verify", &url]);
    assert_eq!(verified["records"], EACH * devices.len());
    assert_eq!(verified["devices"], devices.len());
}

/// Changes after a backup are not lost with the log that contained them: devices that have them record them
/// again.
#[test]
fn hub_restored_from_a_backup_gets_its_missing_records() {
    let place = TestDirectory::new();
    let keeper = place.bare("hub");
    let mut hub = Hub::start(&place, "hub");
    let url = log(&hub);
    let devices = ["laptop", "phone", "tablet"].map(|name| place.bare(name));
    let [laptop, phone, tablet] = &devices;
    laptop.ok(&["reader", "subscribe", FEED, "--title", "News"]);
    read(laptop, "urn:x:before");
    settle(&devices, &url);
    keeper.ok(&["store", "backup", "hub.backup"]);
    read(laptop, "urn:x:after");
    phone.ok(&["reader", "star", FEED, "urn:x:after"]);
    settle(&devices, &url);
    let before = known(laptop);
    // The tablet has a change of its own from while the hub is down.
    read(tablet, "urn:x:away");

    hub.again(&place, "hub", || {
        std::fs::rename(place.path("hub"), place.path("lost")).unwrap();
        keeper.ok(&["store", "restore", "--from", "hub.backup"]);
    });
    assert_eq!(log(&hub), url);
    settle(&devices, &url);
    assert_ne!(known(laptop), before);
    assert!(known(laptop).contains("urn:x:away"));
    // A new device gets all changes.
    let new = place.bare("new");
    new.ok(&["reader", "sync", &url]);
    assert_eq!(known(&new), known(laptop));
}

/// A device that was offline during a compaction loses nothing, and a new device begins with the snapshot.
#[test]
fn a_log_is_compacted_while_a_device_is_away() {
    let place = TestDirectory::new();
    place.bare("hub");
    let hub = Hub::start(&place, "hub");
    let url = log(&hub);
    let devices = ["laptop", "phone"].map(|name| place.bare(name));
    let [laptop, phone] = &devices;
    laptop.ok(&["reader", "subscribe", FEED, "--title", "News", "--folder", "Daily"]);
    read(laptop, "urn:x:1");
    settle(&devices, &url);
    read(phone, "urn:x:away");
    read(laptop, "urn:x:2");
    laptop.ok(&["reader", "sync"]);
    let compacted = laptop.json(&["log", "compact", &url]);
    assert!(compacted["log"]["length"].as_u64() < compacted["before"].as_u64(), "{compacted}");
    settle(&devices, &url);
    assert!(known(laptop).contains("urn:x:away"));
    let new = place.bare("new");
    new.ok(&["reader", "sync", &url]);
    assert_eq!(known(&new), known(laptop));
}

/// A removed log is created again only at the user's request.
#[test]
fn removed_log_is_created_again_only_on_request() {
    if !has("curl") {
        return;
    }
    let place = TestDirectory::new();
    place.bare("hub");
    let hub = Hub::start(&place, "hub");
    let url = log(&hub);
    let devices = ["laptop", "phone"].map(|name| place.bare(name));
    let [laptop, phone] = &devices;
    read(laptop, "urn:x:1");
    settle(&devices, &url);
    let removed = Application::direct().ask("DELETE", &url, &["If-Match: *"], None).unwrap();
    assert_eq!(removed.status, 204, "{}", removed.text());
    read(phone, "urn:x:2");
    for desk in &devices {
        desk.run(&["reader", "sync"]).fails(3, "was removed");
    }
    phone.ok(&["reader", "sync", "--begin-again"]);
    settle(&devices, &url);
    assert!(known(laptop).contains("urn:x:2"));
}

/// One device uses the log of a hub, another the items of its collection, and a third both: all reach the
/// same state.
#[test]
fn log_and_collection_reach_the_same_state() {
    let place = TestDirectory::new();
    place.bare("hub");
    let hub = Hub::start(&place, "hub");
    let (url, items) = (log(&hub), format!("{}/collections/reading", hub.url));
    let [by_log, by_items, by_both] = ["laptop", "phone", "tablet"].map(|name| place.bare(name));
    by_log.ok(&["reader", "subscribe", FEED, "--title", "News"]);
    by_log.ok(&["reader", "sync", &url]);
    for desk in [&by_items, &by_both] {
        desk.ok(&["collection", "create", "reading"]);
        desk.ok(&["sync", "reading", &items]);
    }
    let with_items = |desk: &TestEndpoint<'_>| {
        desk.ok(&["sync"]);
        desk.ok(&["reader", "sync", "--collection", "reading"]);
        desk.ok(&["sync"]);
    };
    read(&by_log, "urn:x:1");
    read(&by_items, "urn:x:2");
    read(&by_both, "urn:x:3");
    for _ in 0..3 {
        by_log.ok(&["reader", "sync"]);
        with_items(&by_items);
        by_both.ok(&["reader", "sync", &url]);
        with_items(&by_both);
    }
    by_both.ok(&["reader", "sync"]);
    by_log.ok(&["reader", "sync"]);
    for article in ["urn:x:1", "urn:x:2", "urn:x:3"] {
        assert!(known(&by_log).contains(article), "{article}");
    }
    assert_eq!(known(&by_log), known(&by_items));
    assert_eq!(known(&by_log), known(&by_both));
    assert_eq!(by_items.json(&["conflicts", "reading"]).as_array().unwrap().len(), 0);
    assert_eq!(by_log.json(&["log", "verify", &url])["faults"], 0);
}

/// Some devices replicate documents, and one also uses a log: all reach the same state, and no conflict is
/// left.
#[test]
fn documents_of_a_database_reach_the_same_state() {
    let place = TestDirectory::new();
    place.bare("hub");
    let hub = Hub::start(&place, "hub");
    let (url, there) = (log(&hub), format!("{}/couch/reading", hub.url));
    let [by_log, one, two] = ["laptop", "phone", "tablet"].map(|name| place.bare(name));
    by_log.ok(&["reader", "subscribe", FEED, "--title", "News"]);
    by_log.ok(&["reader", "sync", &url]);
    let with_documents = |desk: &TestEndpoint<'_>| {
        desk.ok(&["reader", "sync", "--database", "reading"]);
        desk.ok(&["database", "replicate", "reading", &there, "--create"]);
        desk.ok(&["database", "replicate", &there, "reading"]);
        desk.ok(&["reader", "sync", "--database", "reading"]);
        desk.ok(&["database", "replicate", "reading", &there]);
    };
    with_documents(&by_log);
    // Each device marks an article before it gets the changes of the other, so their documents are in
    // conflict.
    for (desk, article) in [(&one, "urn:x:1"), (&two, "urn:x:2")] {
        desk.ok(&["reader", "subscribe", FEED]);
        read(desk, article);
    }
    read(&by_log, "urn:x:3");
    for _ in 0..3 {
        by_log.ok(&["reader", "sync"]);
        [&one, &two, &by_log].into_iter().for_each(with_documents);
    }
    by_log.ok(&["reader", "sync"]);
    for article in ["urn:x:1", "urn:x:2", "urn:x:3"] {
        assert!(known(&by_log).contains(article), "{article}");
    }
    assert_eq!(known(&by_log), known(&one));
    assert_eq!(known(&by_log), known(&two));
    let again = one.json(&["reader", "sync", "--database", "reading"]);
    assert_eq!((&again["news"], &again["written"]), (&false.into(), &0.into()));
    let documents = format!("{there}/_all_docs?include_docs=true&conflicts=true");
    let answer = Application::direct().ask("GET", &documents, &[], None).unwrap();
    let told = answer.text();
    assert!(told.contains("\"feed\":") && !told.contains("_conflicts"), "{told}");
}
