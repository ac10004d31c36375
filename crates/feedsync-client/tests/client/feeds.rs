//! Section 4.1 over HTTP, with feeds that are files on a web server.

use feedsync_client::{Direction, Side, SyncError, Warning};
use feedsync_core::window;
use feedsync_test::site::{Act, answer, raw};

use crate::library::{feed, shared};
use crate::scene::{ALL, FEED, Scene};
use crate::world::notes;

#[tokio::test]
async fn a_first_reading_takes_the_complete_feed_and_remembers_until() {
    let scene = Scene::new().await;
    let (old, new) = (scene.item("old").await, scene.item("new").await);
    scene.put(FEED, Some(("3", "5")), true, &[&new]);
    scene.put(ALL, None, false, &[&old, &new]);
    let report = scene.sync().await;
    assert_eq!(scene.read(), [FEED, ALL]);
    assert_eq!((report.pulled.added, report.pulled.unchanged), (2, 1));
    assert!(scene.holds(&[&old, &new]).await);
    assert_eq!(scene.until().await.as_deref(), Some("5"));
}

#[tokio::test]
async fn w1_w2_in_sync_only_the_partial_feed_is_read() {
    for since in ["3", "5"] {
        let scene = Scene::new().await;
        let (old, new) = (scene.item("old").await, scene.item("new").await);
        scene.put(FEED, Some(("0", "5")), false, &[&old]);
        scene.sync().await;
        scene.put(FEED, Some((since, "7")), true, &[&new]);
        let report = scene.sync().await;
        assert_eq!(scene.read(), [FEED]);
        assert_eq!((report.pulled.added, report.discarded), (1, 0));
        // Absence is not a deletion (R-F34).
        assert!(scene.holds(&[&old, &new]).await);
        assert_eq!(scene.until().await.as_deref(), Some("7"));
    }
}

#[tokio::test]
async fn w3_out_of_sync_the_complete_feed_is_read_and_what_it_lacks_discarded() {
    let scene = Scene::new().await;
    let (gone, kept, new) =
        (scene.item("gone").await, scene.item("kept").await, scene.item("new").await);
    scene.put(FEED, Some(("0", "5")), false, &[&gone, &kept]);
    scene.sync().await;
    let own = scene.reader.add("my own").await;
    // The remote provided this item, and it was edited here since.
    let touched = scene.item("touched").await;
    scene.put(FEED, Some(("5", "6")), false, &[&touched]);
    scene.sync().await;
    scene.reader.edit(&touched.id, "touched here").await;
    scene.put(FEED, Some(("8", "9")), true, &[&new]);
    scene.put(ALL, Some(("0", "9")), false, &[&kept, &new]);
    let report = scene.sync().await;
    assert_eq!(scene.read(), [FEED, ALL]);
    assert_eq!(report.discarded, 1);
    let own = scene.reader.item(&own).await;
    assert!(scene.holds(&[&kept, &new, &own, &touched]).await);
    assert_eq!(scene.until().await.as_deref(), Some("9"));
    let discarded = scene.reader.endpoint().store().discarded(&notes()).await.unwrap();
    assert_eq!(discarded.len(), 1);
    assert_eq!(discarded[0].item, gone);
}

#[tokio::test]
async fn w4_out_of_sync_without_a_complete_feed_nothing_is_discarded_until_there_is_one() {
    let scene = Scene::new().await;
    let (old, missed, new) =
        (scene.item("old").await, scene.item("missed").await, scene.item("new").await);
    scene.put(FEED, Some(("0", "2")), false, &[&old]);
    scene.sync().await;
    scene.put(FEED, Some(("3", "5")), false, &[&new]);
    let report = scene.sync().await;
    assert_eq!(report.warnings, [Warning::Window(window::Warning::MayLackItems)]);
    assert!(report.state.needs_complete);
    assert!(scene.holds(&[&old, &new]).await);
    assert_eq!(scene.until().await.as_deref(), Some("5"));
    // The complete feed is named later. It is read, although the window alone would not require it.
    scene.put(FEED, Some(("3", "5")), true, &[&new]);
    scene.put(ALL, None, false, &[&missed, &new]);
    let report = scene.sync().await;
    assert_eq!((report.pulled.added, report.discarded), (1, 0));
    assert!(!report.state.needs_complete);
    assert!(scene.holds(&[&old, &missed, &new]).await);
    scene.sync().await;
    assert_eq!(scene.read(), [FEED]);
}

#[tokio::test]
async fn w5_until_is_remembered_although_none_was_before() {
    let scene = Scene::new().await;
    let item = scene.item("item").await;
    scene.put(FEED, None, false, &[&item]);
    scene.sync().await;
    assert_eq!(scene.until().await, None);
    scene.put(FEED, Some(("3", "5")), false, &[&item]);
    scene.sync().await;
    assert_eq!(scene.until().await.as_deref(), Some("5"));
}

#[tokio::test]
async fn w6_a_vanished_window_keeps_what_was_remembered_and_the_known_complete_feed_is_read() {
    let scene = Scene::new().await;
    let (one, two) = (scene.item("one").await, scene.item("two").await);
    scene.put(FEED, Some(("3", "5")), true, &[&one]);
    scene.put(ALL, None, false, &[&one]);
    scene.sync().await;
    scene.put(FEED, None, false, &[&one]);
    scene.put(ALL, None, false, &[&one, &two]);
    let report = scene.sync().await;
    assert_eq!(scene.read(), [FEED, ALL]);
    assert_eq!(report.warnings, [Warning::Window(window::Warning::WindowVanished)]);
    assert_eq!(scene.until().await.as_deref(), Some("5"));
    assert!(scene.holds(&[&one, &two]).await);
}

#[tokio::test]
async fn w7_w8_a_publisher_that_went_back_is_read_whole_and_nothing_is_discarded() {
    for (first, then) in [(("5", "7"), ("1", "5")), (("1", "9"), ("10", "10"))] {
        let scene = Scene::new().await;
        let (gone, new) = (scene.item("gone").await, scene.item("new").await);
        scene.put(FEED, Some(first), false, &[&gone]);
        scene.sync().await;
        scene.put(FEED, Some(then), true, &[]);
        scene.put(ALL, Some(("0", then.1)), false, &[&new]);
        let report = scene.sync().await;
        assert_eq!(scene.read(), [FEED, ALL]);
        assert_eq!(report.warnings, [Warning::Window(window::Warning::UntilDecreased)]);
        assert!(scene.holds(&[&gone, &new]).await);
        assert_eq!(scene.until().await.as_deref(), Some(then.1));
    }
}

#[tokio::test]
async fn w9_a_stale_complete_feed_discards_nothing_and_is_tried_again() {
    let scene = Scene::new().await;
    let (one, two) = (scene.item("one").await, scene.item("two").await);
    scene.put(FEED, Some(("0", "2")), false, &[&one]);
    scene.sync().await;
    scene.put(FEED, Some(("6", "9")), true, &[&two]);
    scene.put(ALL, Some(("0", "5")), false, &[]);
    for _ in 0..2 {
        let report = scene.sync().await;
        assert_eq!(scene.read(), [FEED, ALL]);
        assert_eq!(report.warnings, [Warning::Window(window::Warning::StaleComplete)]);
        assert_eq!(report.discarded, 0);
        assert_eq!(scene.until().await.as_deref(), Some("5"));
    }
    scene.put(ALL, Some(("0", "9")), false, &[&two]);
    assert_eq!(scene.sync().await.discarded, 1);
    assert_eq!(scene.until().await.as_deref(), Some("9"));
}

#[tokio::test]
async fn w10_a_complete_feed_that_names_itself_is_not_read_again() {
    let scene = Scene::new().await;
    let item = scene.item("item").await;
    let link = scene.library.url(FEED);
    scene.library.put(FEED, &feed(Some(("3", "5")), Some(&link), &[item]));
    scene.sync().await;
    assert_eq!(scene.read(), [FEED]);
    assert_eq!(scene.until().await.as_deref(), Some("5"));
}

#[tokio::test]
async fn out_of_sync_with_a_feed_that_names_itself_what_it_lacks_is_discarded() {
    let scene = Scene::new().await;
    let (gone, kept, new) =
        (scene.item("gone").await, scene.item("kept").await, scene.item("new").await);
    let link = scene.library.url(FEED);
    let put =
        |window, items: &[_]| scene.library.put(FEED, &feed(Some(window), Some(&link), items));
    put(("0", "5"), &[gone.clone(), kept.clone()]);
    scene.sync().await;
    let own = scene.reader.add("my own").await;
    put(("8", "9"), &[kept.clone(), new.clone()]);
    let report = scene.sync().await;
    assert_eq!(
        (scene.read(), report.discarded, report.warnings),
        (vec![FEED.to_owned()], 1, vec![])
    );
    let own = scene.reader.item(&own).await;
    assert!(scene.holds(&[&kept, &new, &own]).await);
    assert_eq!(scene.until().await.as_deref(), Some("9"));
    // The subscriber is in sync again: absence is not a deletion.
    put(("8", "10"), &[]);
    assert_eq!(scene.sync().await.discarded, 0);
}

#[tokio::test]
async fn a_complete_feed_that_names_another_is_followed_one_step_only() {
    let scene = Scene::new().await;
    let item = scene.item("item").await;
    let further = scene.library.url("/further.xml");
    scene.put(FEED, Some(("3", "5")), true, &[]);
    scene.library.put(ALL, &feed(None, Some(&further), &[item]));
    scene.sync().await;
    assert_eq!(scene.read(), [FEED, ALL]);
}

#[tokio::test]
async fn a_complete_feed_that_fails_or_breaks_off_discards_nothing_and_is_read_next_time() {
    let scene = Scene::new().await;
    let (old, new, late) =
        (scene.item("old").await, scene.item("new").await, scene.item("late").await);
    scene.put(FEED, Some(("0", "2")), false, &[&old]);
    scene.sync().await;
    scene.put(FEED, Some(("3", "5")), true, &[&new]);
    let whole = feed(Some(("0", "5")), None, &[new.clone(), late.clone()]);
    let broken = whole[..whole.len() - 20].to_owned();
    let short = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{broken}", whole.len());
    let failures = [answer(500, &[], ""), answer(200, &[], &broken), raw(&short)];
    for failure in failures {
        scene.library.answer(ALL, failure);
        let report = scene.sync().await;
        assert!(matches!(report.warnings[..], [Warning::Complete(_), Warning::Window(_)]));
        assert!(scene.holds(&[&old, &new]).await);
        assert_eq!(scene.until().await.as_deref(), Some("2"));
        assert!(report.state.needs_complete);
    }
    scene.put(ALL, Some(("0", "5")), false, &[&new, &late]);
    assert_eq!(scene.sync().await.discarded, 1);
    assert!(scene.holds(&[&new, &late]).await);
    assert_eq!(scene.until().await.as_deref(), Some("5"));
}

#[tokio::test]
async fn an_item_of_the_complete_feed_that_cannot_be_read_is_not_taken_for_absent() {
    let scene = Scene::new().await;
    let (faulty, gone) = (scene.item("faulty").await, scene.item("gone").await);
    scene.put(FEED, Some(("0", "2")), false, &[&faulty, &gone]);
    scene.sync().await;
    scene.put(FEED, Some(("3", "5")), true, &[]);
    let whole = feed(Some(("0", "5")), None, std::slice::from_ref(&faulty));
    let whole = whole.replace("updates=\"1\"", "updates=\"none\"");
    scene.library.put(ALL, &whole);
    let report = scene.sync().await;
    assert_eq!(report.refused.len(), 1);
    assert_eq!(
        (report.refused[0].by, report.refused[0].id.as_deref()),
        (Side::Here, Some(faulty.id.as_str()))
    );
    assert_eq!(report.discarded, 1);
    assert!(scene.holds(&[&faulty]).await);
    // An unreadable item without an id could be any item.
    let again = scene.item("again").await;
    scene.put(FEED, Some(("5", "6")), true, &[&again]);
    scene.sync().await;
    scene.put(FEED, Some(("8", "9")), true, &[]);
    let id = format!("id=\"{}\"", faulty.id);
    scene.library.put(ALL, &whole.replace(&id, "").replace("\"5\"", "\"9\""));
    assert_eq!(scene.sync().await.discarded, 0);
}

/// The charset of a media type takes precedence over the XML declaration (RFC 7303).
#[tokio::test]
async fn feed_is_read_by_the_charset_of_its_media_type() {
    let scene = Scene::new().await;
    let item = scene.item("caf\u{e9}").await;
    let document = feed(Some(("3", "5")), None, std::slice::from_ref(&item));
    for (declared, named, bytes) in [
        ("", "iso-8859-1", document.chars().map(|it| it as u8).collect::<Vec<_>>()),
        (" encoding=\"shift_jis\"", "utf-8", document.clone().into_bytes()),
    ] {
        let scene = Scene::new().await;
        let start = document.find("?>").unwrap();
        let start = [b"<?xml version=\"1.0\"", declared.as_bytes(), &bytes[start..]].concat();
        let kind = format!("application/atom+xml; charset={named}");
        scene.library.answer(FEED, answer(200, &[("Content-Type", &kind)], start));
        scene.sync().await;
        assert!(scene.holds(&[&item]).await, "{named}");
        let winner = scene.reader.item(&item.id).await.winner;
        let text = winner.payload.text();
        assert!(text.contains("caf\u{e9}"), "{named} {text}");
    }
}

#[tokio::test]
async fn an_unchanged_feed_is_not_sent_again() {
    let scene = Scene::new().await;
    let item = scene.item("item").await;
    scene.put(FEED, Some(("3", "5")), false, &[&item]);
    scene.sync().await;
    let report = scene.sync().await;
    assert_eq!((report.requests, report.received, report.pulled.unchanged), (1, 0, 0));
    assert_eq!(scene.until().await.as_deref(), Some("5"));
}

#[tokio::test]
async fn a_feed_without_sync_information_is_an_error_that_says_what_to_do() {
    let scene = Scene::new().await;
    let plain = r#"<rss version="2.0"><channel><title>T</title><link>http://a.example/</link>
        <description>D</description><item><title>plain</title></item></channel></rss>"#;
    scene.library.put(FEED, plain);
    let error = scene.fail().await;
    assert!(matches!(error, SyncError::NotFeedSync { .. }), "{error}");
    assert!(error.to_string().contains("import"));
    assert!(scene.holds(&[]).await);
}

#[tokio::test]
async fn items_without_sync_information_are_counted_and_left_alone() {
    let scene = Scene::new().await;
    let item = scene.item("item").await;
    let document = feed(None, None, std::slice::from_ref(&item));
    let plain = "<entry><title>plain</title><id>urn:x</id></entry></feed>";
    scene.library.put(FEED, &document.replace("</feed>", plain));
    let report = scene.sync().await;
    assert_eq!((report.plain, report.pulled.added), (1, 1));
    assert_eq!(report.warnings, [Warning::PlainItems(1)]);
    assert!(scene.holds(&[&item]).await);
}

#[tokio::test]
async fn a_document_that_cannot_be_read_changes_nothing_and_says_where() {
    let scene = Scene::new().await;
    for body in
        ["<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<entry></feed>", "", "\u{1}", "<x/>"]
    {
        scene.library.put(FEED, body);
        let error = scene.fail().await;
        assert!(matches!(error, SyncError::Document { .. }), "{error}");
        assert!(error.to_string().starts_with(&scene.library.url(FEED)), "{error}");
    }
    let state = scene.reader.remembered(&scene.library.url(FEED)).await;
    assert_eq!((state.failures, state.until), (4, None));
    assert!(state.failure.unwrap().contains("not a feed"));
}

#[tokio::test]
async fn a_feed_is_remembered_as_read_only() {
    let scene = Scene::new().await;
    scene.put(FEED, None, false, &[]);
    scene.reader.add("mine").await;
    let report = scene.sync().await;
    assert_eq!(report.offered, 0);
    assert!(report.state.read_only);
    let url = scene.library.url(FEED);
    let push = Direction { pull: false, push: true };
    let error = scene.reader.try_sync(&url, push).await.unwrap_err();
    assert!(matches!(error, SyncError::ReadOnly { .. }), "{error}");
}

#[tokio::test]
async fn expires_is_remembered() {
    let scene = Scene::new().await;
    let sharing = feedsync_core::Sharing {
        expires: Some("2030-01-01T00:00:00Z".parse().unwrap()),
        ..feedsync_core::Sharing::default()
    };
    scene.library.put(FEED, &shared(Some(&sharing), &[]));
    let expires = scene.sync().await.state.expires.unwrap();
    assert_eq!(expires.timestamp().unwrap().to_string(), "2030-01-01T00:00:00Z");
}

#[tokio::test]
async fn retry_after_of_a_server_is_respected() {
    let scene = Scene::new().await;
    scene.library.answer(FEED, answer(429, &[("Retry-After", "3600")], ""));
    assert!(matches!(scene.fail().await, SyncError::Fetch(_)));
    let error = scene.fail().await;
    assert!(matches!(error, SyncError::NotYet { .. }), "{error}");
    assert_eq!(scene.read(), [""; 0]);
    let state = scene.reader.remembered(&scene.library.url(FEED)).await;
    assert_eq!(state.failures, 1);
}

#[tokio::test]
async fn a_success_forgets_failures() {
    let scene = Scene::new().await;
    scene.library.answer(FEED, vec![Act::Send(b"nonsense\r\n\r\n".to_vec())]);
    scene.fail().await;
    scene.fail().await;
    let url = scene.library.url(FEED);
    assert_eq!(scene.reader.remembered(&url).await.failures, 2);
    scene.put(FEED, None, false, &[]);
    let state = scene.sync().await.state;
    assert_eq!((state.failures, state.failure), (0, None));
    assert!(state.succeeded.is_some());
}

#[tokio::test]
async fn the_same_item_twice_in_a_feed_is_merged_twice() {
    let scene = Scene::new().await;
    let id = scene.publisher.add("first").await;
    let first = scene.publisher.item(&id).await;
    scene.publisher.edit(&id, "second").await;
    let second = scene.publisher.item(&id).await;
    scene.put(FEED, None, false, &[&second, &first]);
    scene.sync().await;
    assert_eq!(scene.reader.item(&id).await, second);
}
