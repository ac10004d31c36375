//! Hubs that purge, begin anew or accept no pushes, and endpoints that return after a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use feedsync_client::{Direction, NoProgress, Session, SyncError, Warning};
use feedsync_core::Format;
use feedsync_endpoint::Retention;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_store::Moment;
use feedsync_test::site::{Act, Answer, Asked, Site, answer};

use crate::library::feed;
use crate::world::{Hub, Peer, notes};

const TOMBSTONES: Retention = Retention { changed_before: Moment::MAX, live: false };

#[tokio::test]
async fn subscriber_that_missed_a_purged_deletion_reads_the_complete_feed() {
    let hub = Hub::new("hub").await;
    let (anna, ben) = (Peer::new("anna").await, Peer::new("ben").await);
    let deleted = ben.add("will be deleted").await;
    let kept = ben.add("will be kept").await;
    ben.sync(&hub.url()).await;
    anna.sync(&hub.url()).await;
    // Between Anna's synchronisations, Ben deletes an item, and the hub purges.
    let own = anna.add("Anna's, not pushed yet").await;
    ben.delete(&deleted).await;
    ben.sync(&hub.url()).await;
    assert_eq!(hub.peer.endpoint().purge(&notes(), TOMBSTONES).await.unwrap(), 1);
    let report = anna.sync(&hub.url()).await;
    assert_eq!(report.discarded, 1);
    let mut expected = [kept.to_string(), own.to_string()];
    expected.sort();
    assert_eq!(anna.ids().await, expected);
    assert_eq!(anna.state().await, hub.peer.state().await);
    let again = anna.sync(&hub.url()).await;
    assert_eq!((again.offered, again.discarded, again.pulled.unchanged), (0, 0, 0));
}

#[tokio::test]
async fn a_new_subscriber_of_a_hub_that_purged_gets_what_lies_below_the_horizon() {
    let hub = Hub::new("hub").await;
    let old = hub.peer.add("old and alive").await;
    let dead = hub.peer.add("dead").await;
    hub.peer.delete(&dead).await;
    // Items that were shown to nobody would not be purged.
    let last = hub.peer.endpoint().collection(&notes()).await.unwrap().last;
    hub.peer.endpoint().mark_sent(&notes(), last).await.unwrap();
    assert_eq!(hub.peer.endpoint().purge(&notes(), TOMBSTONES).await.unwrap(), 1);
    let anna = Peer::new("anna").await;
    anna.sync(&hub.url()).await;
    assert_eq!(anna.ids().await, [old.to_string()]);
    assert_eq!(anna.sync(&hub.url()).await.requests, 1);
}

#[tokio::test]
async fn a_hub_that_begins_anew_is_offered_all_that_is_held() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    let theirs = hub.peer.add("from the hub").await;
    let mine = anna.add("from Anna").await;
    anna.sync(&hub.url()).await;
    let before = anna.state().await;
    // Its collection is lost, and created again.
    hub.peer.endpoint().store().drop_collection(&notes()).await.unwrap();
    hub.peer.create_notes(Format::Atom).await;
    let new = hub.peer.add("in the new life").await;
    let report = anna.sync(&hub.url()).await;
    assert_eq!(
        (report.warnings.as_slice(), report.discarded),
        (
            [Warning::BeganAnew, Warning::Window(feedsync_core::window::Warning::UntilDecreased)]
                .as_slice(),
            0
        )
    );
    assert_eq!(report.pushed.added, 2);
    let state = anna.state().await;
    assert_eq!(state, hub.peer.state().await);
    assert_eq!(state.len(), 3);
    assert!(state.contains_key(new.as_str()));
    assert_eq!(state[theirs.as_str()], before[theirs.as_str()]);
    assert_eq!(state[mine.as_str()], before[mine.as_str()]);
    let again = anna.sync(&hub.url()).await;
    assert_eq!((again.offered, again.pulled.unchanged), (0, 0));
}

#[tokio::test]
async fn a_hub_that_began_anew_is_offered_all_at_the_next_push_if_none_was_wanted_at_once() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    anna.add("from Anna").await;
    hub.peer.add("from the hub").await;
    anna.sync(&hub.url()).await;
    hub.peer.endpoint().store().drop_collection(&notes()).await.unwrap();
    hub.peer.create_notes(Format::Atom).await;
    let report = anna.pull(&hub.url()).await;
    assert_eq!((report.offered, report.discarded, report.state.may_lack), (0, 0, true));
    assert_eq!(anna.ids().await.len(), 2);
    let report = anna.sync(&hub.url()).await;
    assert_eq!((report.pushed.added, report.state.may_lack), (2, false));
    assert_eq!(anna.state().await, hub.peer.state().await);
}

#[tokio::test]
async fn a_hub_restored_from_a_backup_gets_back_what_it_lost() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    let id = anna.add("one").await;
    anna.sync(&hub.url()).await;
    let backup = hub.peer.store.image();
    let environment = Arc::new(feedsync_store::SystemEnvironment);
    anna.edit(&id, "two").await;
    anna.add("three").await;
    anna.sync(&hub.url()).await;
    let store = feedsync_store::MemoryStore::restored(backup, environment);
    let restored = Hub::over(Peer::over(Arc::new(store))).await;
    // It has the address that Anna knows.
    let to = restored.address;
    let way = Site::start(move |_| vec![Act::Pass { to, bytes: usize::MAX }]).await;
    let mut remote = anna.remote(&hub.url()).await;
    remote.url = way.url("/collections/notes");
    remote.state.changes = Some(way.url("/collections/notes/changes"));
    anna.endpoint().store().change_remote(remote.clone()).await.unwrap();
    let report = anna.sync(&remote.url).await;
    assert!(report.warnings.contains(&Warning::BeganAnew));
    assert_eq!(anna.state().await, restored.peer.state().await);
    assert_eq!(anna.state().await.len(), 2);
}

/// A hub that refuses changes may accept them later, such as those of a reader who becomes an editor. It is not asked
/// again at each synchronisation, since a refused body may be large; but the refusal is reported each time.
#[tokio::test]
async fn refused_push_is_reported_each_time_and_tried_again_for_new_changes_or_after_a_while() {
    // 405: no pushes at all. 415: no pushes in the format of this collection.
    for status in [405, 415] {
        let hub = Hub::new("hub").await;
        hub.peer.add("theirs").await;
        let to = hub.address;
        let is_open = Arc::new(AtomicBool::new(false));
        let opens = Arc::clone(&is_open);
        let site = Site::start(move |asked| match asked.method.as_str() {
            "POST" if !opens.load(Ordering::Relaxed) => answer(status, &[], ""),
            _ => vec![Act::Pass { to, bytes: usize::MAX }],
        })
        .await;
        let anna = Peer::new("anna").await;
        anna.add("mine").await;
        let url = site.url("/collections/notes");
        let pushes = || site.asked().iter().filter(|asked| asked.method == "POST").count();
        let refused = async |expected: usize| {
            site.forget();
            let report = anna.sync(&url).await;
            assert!(report.state.read_only && report.state.refusal.is_some());
            assert!(matches!(report.warnings[..], [Warning::ReadOnly(_)]), "{report:?}");
            assert_eq!(pushes(), expected);
            report
        };
        assert_eq!(refused(1).await.pulled.added, 1);
        refused(0).await;
        hub.peer.add("more of theirs").await;
        assert_eq!(refused(0).await.pulled.added, 1);
        anna.add("more of mine").await;
        refused(1).await;
        refused(0).await;
        // An hour later, or after the clock was ahead.
        let shifted = async |by: i64| {
            let mut remote = anna.remote(&url).await;
            let refusal = remote.state.refusal.as_mut().unwrap();
            refusal.at = Moment::from_micros(refusal.at.micros().saturating_add_signed(by));
            anna.store_remote(&remote).await;
        };
        let hour = 3_600_000_000;
        shifted(hour).await;
        refused(1).await;
        shifted(-hour).await;
        refused(1).await;
        // A push alone is tried again.
        let push = Direction { pull: false, push: true };
        let error = anna.try_sync(&url, push).await.unwrap_err();
        assert!(matches!(error, SyncError::Fetch(_)), "{error}");

        is_open.store(true, Ordering::Relaxed);
        assert_eq!(refused(0).await.pushed.added, 0);
        shifted(-hour).await;
        let report = anna.sync(&url).await;
        assert_eq!((report.pushed.added, report.warnings.len()), (2, 0), "{report:?}");
        assert!(!report.state.read_only && report.state.refusal.is_none());
    }
}

#[tokio::test]
async fn edit_made_while_a_hub_refuses_is_offered_at_the_next_sync() {
    let hub = Hub::new("hub").await;
    let to = hub.address;
    let site = Site::start(move |asked| match asked.method.as_str() {
        "POST" => {
            let mut refused = vec![Act::Pause(Duration::from_millis(300))];
            refused.extend(answer(405, &[], ""));
            refused
        }
        _ => vec![Act::Pass { to, bytes: usize::MAX }],
    })
    .await;
    let anna = Peer::new("anna").await;
    anna.add("before").await;
    let url = site.url("/collections/notes");
    let pushes = || site.asked().iter().filter(|asked| asked.method == "POST").count();
    let edit = async {
        while pushes() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        anna.add("during").await;
    };
    tokio::join!(anna.sync(&url), edit);
    assert_eq!(pushes(), 1);
    anna.sync(&url).await;
    assert_eq!(pushes(), 2, "the edit is new for the hub");
    anna.sync(&url).await;
    assert_eq!(pushes(), 2);
}

#[tokio::test]
async fn a_hub_that_refuses_for_now_is_offered_the_same_again() {
    let hub = Hub::new("hub").await;
    let to = hub.address;
    let busy = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&busy);
    let site =
        Site::start(move |asked| match (asked.method.as_str(), switch.load(Ordering::SeqCst)) {
            ("POST", true) => answer(409, &[], ""),
            _ => vec![Act::Pass { to, bytes: usize::MAX }],
        })
        .await;
    let anna = Peer::new("anna").await;
    anna.add("mine").await;
    let url = site.url("/collections/notes");
    anna.try_sync(&url, Direction::BOTH).await.unwrap_err();
    assert_eq!(anna.remembered(&url).await.pushed.get(), 0);
    busy.store(false, Ordering::SeqCst);
    assert_eq!(anna.sync(&url).await.pushed.added, 1);
}

#[tokio::test]
async fn a_hub_whose_feed_moved_is_found_again() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    anna.add("mine").await;
    let mut remote = anna.remote(&hub.url()).await;
    remote.state.changes = Some(format!("http://{}/gone/changes", hub.address));
    anna.endpoint().store().change_remote(remote).await.unwrap();
    anna.try_sync(&hub.url(), Direction::BOTH).await.unwrap_err();
    assert_eq!(anna.sync(&hub.url()).await.pushed.added, 1);
}

#[tokio::test]
async fn a_complete_feed_in_parts_is_read_to_its_end_before_anything_is_discarded() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    let kept = [hub.peer.add("one").await, hub.peer.add("two").await];
    let gone = hub.peer.add("gone").await;
    let to = hub.address;
    let parts = Arc::new(Mutex::new(Vec::<Answer>::new()));
    let answers = Arc::clone(&parts);
    let site = Site::start(move |asked| match asked.target.split_once("/complete?limit=1000") {
        Some((_, part)) => {
            answers.lock().unwrap().get(part.len()).cloned().unwrap_or(answer(500, &[], ""))
        }
        None => vec![Act::Pass { to, bytes: usize::MAX }],
    })
    .await;
    let url = site.url("/collections/notes");
    anna.sync(&url).await;
    hub.peer.delete(&gone).await;
    let collection = hub.peer.endpoint().collection(&notes()).await.unwrap();
    hub.peer.endpoint().mark_sent(&notes(), collection.last).await.unwrap();
    assert_eq!(hub.peer.endpoint().purge(&notes(), TOMBSTONES).await.unwrap(), 1);
    let until = collection.until(collection.last).to_string();
    let part = async |id, link: &str| {
        let body = feed(Some((&until, &until)), None, &[hub.peer.item(id).await]);
        answer(200, &[("Content-Type", "text/xml"), ("Link", link)], body)
    };
    *parts.lock().unwrap() = vec![part(&kept[0], "<?limit=1000&>; rel=next").await];
    let report = anna.sync(&url).await;
    assert!(matches!(report.warnings[..], [Warning::Complete(_), _]), "{:?}", report.warnings);
    assert_eq!((report.discarded, anna.ids().await.len()), (0, 3));
    let last = part(&kept[1], "<>; rel=self").await;
    parts.lock().unwrap().push(last);
    assert_eq!(anna.sync(&url).await.discarded, 1);
    assert_eq!(anna.state().await, hub.peer.state().await);
}

#[tokio::test]
async fn credentials_in_the_address_go_with_every_request_to_the_same_hub() {
    let hub = Hub::new("hub").await;
    hub.peer.add("theirs").await;
    let to = hub.address;
    let site = Site::start(move |asked| {
        if asked.headers.contains_key("authorization") {
            vec![Act::Pass { to, bytes: usize::MAX }]
        } else {
            answer(401, &[], "")
        }
    })
    .await;
    let anna = Peer::new("anna").await;
    anna.add("mine").await;
    let url = site.url("/collections/notes").replace("http://", "http://anna:secret@");
    for _ in 0..2 {
        anna.sync(&url).await;
        assert_eq!(anna.state().await, hub.peer.state().await);
    }
    assert!(!anna.remembered(&url).await.changes.unwrap().contains("secret"));
}

#[tokio::test]
async fn a_feed_that_names_a_hub_on_another_server_is_only_read() {
    let victim = Hub::new("victim").await;
    let link = format!("<{}/changes>; rel=\"urn:feedsync:1:changes\"", victim.url());
    let site = Site::start(move |_| {
        let headers = [("Content-Type", "text/xml"), ("Link", &*link)];
        answer(200, &headers, feed(Some(("1", "1")), None, &[]))
    })
    .await;
    let anna = Peer::new("anna").await;
    anna.add("mine").await;
    let report = anna.sync(&site.url("/feed.xml")).await;
    assert!(matches!(report.warnings[..], [Warning::Elsewhere(_)]));
    assert_eq!(victim.peer.ids().await.len(), 0);
}

#[tokio::test]
async fn pages_that_lead_nowhere_are_an_error() {
    let hub = Hub::new("hub").await;
    let to = hub.address;
    hub.peer.add("one").await;
    let page = |asked: &Asked| asked.target.contains("limit");
    let site = Site::start(move |asked| {
        if page(asked) {
            let body = feed(Some(("1", "1")), None, &[]);
            answer(200, &[("Link", "<?limit=1>; rel=next"), ("Content-Type", "text/xml")], body)
        } else {
            vec![Act::Pass { to, bytes: usize::MAX }]
        }
    })
    .await;
    let anna = Peer::new("anna").await;
    let error = anna.try_sync(&site.url("/collections/notes"), Direction::BOTH).await.unwrap_err();
    assert!(matches!(error, SyncError::Protocol { .. }), "{error}");
}

/// Returns a hub with 2,500 items above a purge horizon, and one below it.
async fn purged_hub() -> Hub {
    let hub = Hub::new("hub").await;
    hub.peer.add("below the horizon").await;
    let dead = hub.peer.add("dead").await;
    hub.peer.delete(&dead).await;
    for number in 0..2_500 {
        hub.peer.add(&format!("note {number}")).await;
    }
    let last = hub.peer.endpoint().collection(&notes()).await.unwrap().last;
    hub.peer.endpoint().mark_sent(&notes(), last).await.unwrap();
    assert_eq!(hub.peer.endpoint().purge(&notes(), TOMBSTONES).await.unwrap(), 1);
    hub
}

#[tokio::test]
async fn a_hub_whose_complete_feed_cannot_be_read_is_read_in_pages_all_the_same() {
    let hub = purged_hub().await;
    let to = hub.address;
    let broken = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&broken);
    let site = Site::start(move |asked| {
        if asked.target.contains("/complete") && switch.load(Ordering::SeqCst) {
            answer(500, &[], "")
        } else {
            vec![Act::Pass { to, bytes: usize::MAX }]
        }
    })
    .await;
    let anna = Peer::new("anna").await;
    let url = site.url("/collections/notes");
    for added in [2_500, 0] {
        let report = anna.sync(&url).await;
        assert_eq!((report.pulled.added, report.discarded), (added, 0));
        assert!(matches!(report.warnings[..], [Warning::Complete(_), _]), "{:?}", report.warnings);
        assert!(report.state.needs_complete);
        assert_eq!(anna.stored().await.len(), 2_500);
    }
    broken.store(false, Ordering::SeqCst);
    assert!(!anna.sync(&url).await.state.needs_complete);
    assert_eq!(anna.state().await, hub.peer.state().await);
}

#[tokio::test]
async fn a_complete_feed_whose_parts_are_too_large_is_read_in_smaller_ones() {
    let hub = purged_hub().await;
    let anna = Peer::new("anna").await;
    let policy = Policy { bytes: 256 << 10, ..Policy::new(Private::Allowed) };
    let session = Session::new(anna.endpoint().clone(), Fetcher::new(policy).unwrap());
    let remote = anna.remote(&hub.url()).await;
    let report = session.sync(&remote, Direction::BOTH, &NoProgress, false).await.unwrap();
    assert_eq!(report.warnings, []);
    assert_eq!(anna.state().await, hub.peer.state().await);
}

#[tokio::test]
async fn items_refused_by_a_hub_are_offered_again() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    let (_, refused, _) = (anna.add("one").await, anna.add("two").await, anna.add("three").await);
    let place = hub.peer.endpoint().collection(&notes()).await.unwrap();
    let until = place.until(place.last).to_string();
    let body = format!(
        r#"{{"since":"{until}","until":"{until}","counts":{{"added":2,"refused":1}},
            "items":[{{"id":"{refused}","outcome":"refused","reason":"too many conflicts"}}]}}"#
    );
    let full = Arc::new(AtomicBool::new(true));
    let (to, switch) = (hub.address, Arc::clone(&full));
    let site = Site::start(move |asked| {
        if asked.method == "POST" && switch.load(Ordering::SeqCst) {
            answer(200, &[("Content-Type", "application/json")], &body)
        } else {
            vec![Act::Pass { to, bytes: usize::MAX }]
        }
    })
    .await;
    let url = site.url("/collections/notes");
    let report = anna.sync(&url).await;
    assert_eq!((report.refused.len(), report.state.may_lack), (1, true));
    assert!(report.warnings.contains(&Warning::OfferedAgain));
    let collection = anna.endpoint().collection(&notes()).await.unwrap();
    assert_eq!((collection.sent.get(), report.state.pushed.get()), (1, 3));
    full.store(false, Ordering::SeqCst);
    let report = anna.sync(&url).await;
    assert_eq!((report.pushed.added, report.state.may_lack), (3, false));
    assert_eq!(anna.state().await, hub.peer.state().await);
    let collection = anna.endpoint().collection(&notes()).await.unwrap();
    assert_eq!(collection.sent, collection.last);
}

#[tokio::test]
async fn the_place_after_a_push_is_not_remembered_if_it_left_a_conflict_that_is_not_here() {
    let hub = Hub::new("hub").await;
    let anna = Peer::new("anna").await;
    let id = anna.add("one").await;
    let place = hub.peer.endpoint().collection(&notes()).await.unwrap();
    let since = place.until(place.last).to_string();
    let until = place.until(feedsync_store::ChangeNumber::new(place.last.get() + 1)).to_string();
    let body = format!(
        r#"{{"since":"{since}","until":"{until}","counts":{{"conflict":1}},
            "items":[{{"id":"{id}","outcome":"conflict"}}]}}"#
    );
    let to = hub.address;
    let site = Site::start(move |asked| match asked.method.as_str() {
        "POST" => answer(200, &[("Content-Type", "application/json")], &body),
        _ => vec![Act::Pass { to, bytes: usize::MAX }],
    })
    .await;
    let report = anna.sync(&site.url("/collections/notes")).await;
    assert_eq!(report.state.until, Some(since));
}
