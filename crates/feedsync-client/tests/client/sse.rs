//! Feeds of SSE 0.91 that are files on a web server, and a subscriber that knows FeedSync.

use feedsync_client::SyncReport;

use crate::scene::{ALL, FEED, Scene};

/// Returns a feed with these items: id, version and the `sx:update`s below it.
fn sse(sharing: &str, items: &[(&str, u32, &[u32])]) -> String {
    let when = |version: u32| format!("when='Sat, {version:02} May 2005 09:43:33 GMT' by='P'");
    let item = |(id, version, updates): &(&str, u32, &[u32])| {
        let updates: String =
            updates.iter().map(|version| format!("<sx:update {}/>", when(*version))).collect();
        format!(
            "<item><title>{id} {version}</title><sx:sync id='{id}' version='{version}'>\
             <sx:history {}>{updates}</sx:history></sx:sync></item>",
            when(*version)
        )
    };
    let items: String = items.iter().map(item).collect();
    format!(
        "<rss version='2.0' xmlns:sx='http://www.microsoft.com/schemas/rss/sse'><channel>\
         <title>T</title><link>http://a/</link><description>D</description>{sharing}{items}\
         </channel></rss>"
    )
}

fn bounds(since: Option<u32>, until: Option<u32>, complete: Option<&str>) -> String {
    let date = |name: &str, day: Option<u32>| {
        day.map(|day| format!(" {name}='Sat, {day:02} May 2005 00:00:00 GMT'")).unwrap_or_default()
    };
    let related = complete
        .map(|link| format!("<sx:related link='{link}' type='complete'/>"))
        .unwrap_or_default();
    format!(
        "<sx:sharing version='0.91'{}{}>{related}</sx:sharing>",
        date("since", since),
        date("until", until)
    )
}

async fn synced(scene: &Scene, sharing: &str, items: &[(&str, u32, &[u32])]) -> SyncReport {
    scene.library.put(FEED, &sse(sharing, items));
    scene.sync().await
}

#[tokio::test]
async fn a_feed_of_sse_is_followed_from_version_to_version() {
    let scene = Scene::new().await;
    let whole = bounds(None, Some(3), None);
    let report = synced(&scene, &whole, &[("a", 1, &[]), ("b", 1, &[])]).await;
    assert_eq!((report.pulled.added, report.warnings.len()), (2, 0));
    let report = synced(&scene, &whole, &[("a", 3, &[2, 1]), ("b", 1, &[])]).await;
    assert_eq!((report.pulled.updated, report.pulled.conflict, report.pulled.unchanged), (1, 0, 1));
    // A local edit and a concurrent edit of the publisher.
    let id = "a".parse().unwrap();
    scene.reader.edit(&id, "mine").await;
    let report = synced(&scene, &whole, &[("a", 4, &[3, 2, 1])]).await;
    assert_eq!(report.pulled.conflict, 1);
    assert_eq!(scene.reader.item(&id).await.conflicts.len(), 1);
}

#[tokio::test]
async fn a_gap_is_seen_and_the_complete_feed_read_and_nothing_is_discarded() {
    let scene = Scene::new().await;
    let all = scene.library.url(ALL);
    let partial = |since, until| bounds(Some(since), Some(until), Some(&all));
    scene.library.put(ALL, &sse(&bounds(None, Some(3), None), &[("a", 1, &[]), ("b", 1, &[])]));
    // A new subscriber reads the complete feed.
    let report = synced(&scene, &partial(2, 3), &[("b", 1, &[])]).await;
    assert_eq!((report.pulled.added, scene.read()), (2, vec![FEED.to_owned(), ALL.to_owned()]));
    // `since` is inclusive: equality suffices.
    synced(&scene, &partial(3, 5), &[("c", 1, &[])]).await;
    assert_eq!(scene.read(), [FEED]);
    scene.library.put(ALL, &sse(&bounds(None, Some(9), None), &[("c", 1, &[]), ("d", 1, &[])]));
    let report = synced(&scene, &partial(6, 9), &[("d", 1, &[])]).await;
    assert_eq!(scene.read(), [FEED, ALL]);
    assert_eq!((report.pulled.added, report.discarded), (1, 0), "SSE discards nothing");
    assert_eq!(scene.reader.ids().await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_publisher_need_not_say_where_its_feed_ends() {
    let scene = Scene::new().await;
    let all = scene.library.url(ALL);
    scene.library.put(ALL, &sse("", &[("a", 1, &[])]));
    let report = synced(&scene, &bounds(Some(2), None, Some(&all)), &[("b", 1, &[])]).await;
    assert_eq!((report.pulled.added, report.warnings.len()), (2, 0), "{:?}", report.warnings);
    let report = synced(&scene, &bounds(Some(2), None, Some(&all)), &[("b", 2, &[1])]).await;
    assert_eq!((scene.read(), report.warnings.len()), (vec![FEED.to_owned()], 0));
    let report = synced(&scene, &bounds(Some(4), None, Some(&all)), &[("b", 3, &[2, 1])]).await;
    assert_eq!((scene.read().len(), report.warnings.len()), (2, 0), "{:?}", report.warnings);
    // A feed without any bounds is complete.
    let report = synced(&scene, &bounds(None, None, None), &[("c", 1, &[])]).await;
    assert_eq!((report.pulled.added, report.warnings.len()), (1, 0), "{:?}", report.warnings);
    let report = synced(&scene, "", &[("d", 1, &[])]).await;
    assert_eq!(report.pulled.added, 1);
}
