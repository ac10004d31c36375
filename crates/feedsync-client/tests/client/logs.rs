//! Logs at unusual addresses, and copies of them.

use feedsync_client::{LogAccess as _, LogCopy, PendingLines, RemoteLog, synchronise};
use feedsync_fetch::{Fetcher, Policy, Private, address};
use feedsync_log::{LogRequest, LogResponse};

use feedsync_test::site::gzipped;
use feedsync_test::site::{Asked, Site, answer, redirect};

fn log(site: &Site, path: &str) -> RemoteLog {
    let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    RemoteLog::new(fetcher, address(&site.url(path)).unwrap())
}

/// LR32: appends are sent to the target of a redirect that reads followed.
#[tokio::test]
async fn a_log_that_moved_is_appended_to_where_it_is() {
    let site = Site::start(|asked: &Asked| match (&*asked.method, &*asked.target) {
        (_, "/old?who=anna") => redirect(301, "/new"),
        ("GET", "/new") => answer(200, &[("ETag", "\"a\"")], "{}\n"),
        ("POST", "/new") => answer(204, &[("ETag", "\"b\"")], ""),
        _ => answer(404, &[], ""),
    })
    .await;
    let log = log(&site, "/old?who=anna");
    let mut lines = PendingLines::new("{}\n", 7).unwrap();
    synchronise(&log, &mut PendingLines::session(), &mut lines, &|| 0).await.unwrap();
    assert!(lines.is_empty());
    let posts: Vec<_> = site.asked().into_iter().filter(|asked| asked.method == "POST").collect();
    assert_eq!(posts.len(), 1);
    assert_eq!(posts[0].target, "/new");
    assert_eq!(posts[0].headers["if-match"], "\"a\"");
}

/// The query may identify the owner of a log, and is not shown in messages.
#[test]
fn a_log_is_known_by_all_of_its_address_but_the_credentials() {
    let fetcher = || Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    let of = |text: &str| RemoteLog::new(fetcher(), address(text).unwrap());
    let (anna, bob) = (of("http://u:p@h.example/log?who=anna"), of("http://h.example/log?who=bob"));
    assert_eq!(anna.address(), "http://h.example/log?who=anna");
    assert_ne!(anna.address(), bob.address());
    assert_eq!((anna.name(), bob.name()), ("http://h.example/log".to_owned(), anna.name()));
}

/// Two processes that copy into one file do so one after the other.
#[test]
fn a_copy_is_written_by_one_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let copy = LogCopy::open(&place.path().join("copy")).unwrap();
    let guard = std::fs::File::open(place.path().join("copy.lock")).unwrap();
    assert!(guard.try_lock().is_err(), "somebody writes");
    drop(copy);
    guard.try_lock().unwrap();
}

/// LR44: a snapshot is read whole, so it may be sent compressed. A log is read in ranges, and is never
/// compressed.
#[tokio::test]
async fn a_snapshot_is_packed_on_its_way_and_a_log_is_not() {
    const LINE: &[u8] = b"{\"what\":\"somebody made of the log\"}\n";
    let snapshot = LINE.repeat(1_000);
    let packed = gzipped(&snapshot);
    let site = Site::start(move |asked: &Asked| match &*asked.target {
        "/log/snapshot" => {
            let covers = [("Log-Covers", "\"1-2\""), ("Content-Encoding", "gzip")];
            answer(200, &covers, &packed)
        }
        _ => answer(206, &[("ETag", "\"a\""), ("Content-Range", "bytes 0-2/3")], "{}\n"),
    })
    .await;
    let log = log(&site, "/log");
    let told = log.ask(&LogRequest::Snapshot).await.unwrap();
    assert_eq!((told.body, told.coding, told.ended), (snapshot, None, true));
    synchronise(&log, &mut PendingLines::session(), &mut PendingLines::new("", 7).unwrap(), &|| 0)
        .await
        .unwrap();
    let codings = site
        .asked()
        .into_iter()
        .map(|asked| (asked.target, asked.headers["accept-encoding"].clone()));
    let [snapshot, log] = [("/log/snapshot", "gzip"), ("/log", "identity")];
    let known = |(target, coding): (&str, &str)| (target.to_owned(), coding.to_owned());
    assert_eq!(codings.collect::<Vec<_>>(), [known(snapshot), known(log)]);
}

/// An unrequested coding, and a body without an end, are reported to the reader.
#[tokio::test]
async fn a_snapshot_that_cannot_be_unpacked_or_has_no_end_is_none() {
    let bomb = gzipped(&vec![b'\n'; 65 << 20]);
    let site = Site::start(move |asked: &Asked| match &*asked.target {
        "/odd/snapshot" => {
            answer(200, &[("Log-Covers", "\"1-2\""), ("Content-Encoding", "br")], "?")
        }
        _ => answer(200, &[("Log-Covers", "\"1-2\""), ("Content-Encoding", "gzip")], &bomb),
    })
    .await;
    let ask =
        async |path| -> LogResponse { log(&site, path).ask(&LogRequest::Snapshot).await.unwrap() };
    assert_eq!(ask("/odd").await.coding.as_deref(), Some("br"));
    let told = ask("/bomb").await;
    assert!(!told.ended && told.body.len() < 80 << 20, "{}", told.body.len());
}
