//! Logs at odd addresses, and copies of them.

use feedsync_client::fetch::{Fetcher, Policy, Private, address};
use feedsync_client::{LineAppend, LogAccess as _, LogCopy, RemoteLog, synchronise};

use crate::site::{Asked, Site, answer, redirect};

fn log(site: &Site, path: &str) -> RemoteLog {
    let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    RemoteLog::new(fetcher, address(&site.url(path)).unwrap())
}

/// R32: where a server leads on to the log, it is appended to there.
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
    let mut lines = LineAppend::new("{}\n", 7).unwrap();
    synchronise(&log, &mut LineAppend::session(), &mut lines, &|| 0).await.unwrap();
    assert!(lines.is_empty());
    let posts: Vec<_> = site.asked().into_iter().filter(|asked| asked.method == "POST").collect();
    assert_eq!(posts.len(), 1);
    assert_eq!(posts[0].target, "/new");
    assert_eq!(posts[0].headers["if-match"], "\"a\"");
}

/// What tells whose log it is may stand in the query, and is no business of whoever reads a message.
#[test]
fn a_log_is_known_by_all_of_its_address_but_the_credentials() {
    let fetcher = || Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    let of = |text: &str| RemoteLog::new(fetcher(), address(text).unwrap());
    let (anna, bob) = (of("http://u:p@h.example/log?who=anna"), of("http://h.example/log?who=bob"));
    assert_eq!(anna.address(), "http://h.example/log?who=anna");
    assert_ne!(anna.address(), bob.address());
    assert_eq!((anna.name(), bob.name()), ("http://h.example/log".to_owned(), anna.name()));
}

/// Two who copy into one file do so one after the other.
#[test]
fn a_copy_is_written_by_one_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let copy = LogCopy::open(&place.path().join("copy")).unwrap();
    let guard = std::fs::File::open(place.path().join("copy.lock")).unwrap();
    assert!(guard.try_lock().is_err(), "somebody writes");
    drop(copy);
    guard.try_lock().unwrap();
}
