//! Credentials in the address of a remote are not in any report or stored record of a failure.

use feedsync_client::{Direction, SyncError};
use feedsync_test::site::{Site, answer};

use crate::world::Peer;

const PUSH: Direction = Direction { pull: false, push: true };

#[tokio::test]
async fn no_failure_shows_the_credentials_of_its_remote() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/busy" => answer(503, &[("Retry-After", "120")], ""),
        "/feed" => answer(200, &[("Content-Type", "text/xml")], "<feed/>"),
        _ => answer(404, &[], ""),
    })
    .await;
    let anna = Peer::new("anna").await;
    let secret = |path: &str| site.url(path).replace("http://", "http://anna:secret@");
    let busy = secret("/busy");
    anna.try_sync(&busy, PUSH).await.unwrap_err();
    let not_yet = anna.try_sync(&busy, PUSH).await.unwrap_err();
    assert!(matches!(not_yet, SyncError::NotYet { .. }), "{not_yet}");
    let feed = secret("/feed");
    let read_only = anna.try_sync(&feed, PUSH).await.unwrap_err();
    assert!(matches!(read_only, SyncError::ReadOnly { .. }), "{read_only}");
    let wrong = "http://anna:secret@127.0.0.1:1x/";
    let no_address = anna.try_sync(wrong, PUSH).await.unwrap_err();
    for error in [not_yet, read_only, no_address] {
        assert!(error.to_string().starts_with("http://127.0.0.1:"), "{error}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
    for url in [busy, feed, wrong.to_owned(), secret("/none")] {
        anna.try_sync(&url, PUSH).await.unwrap_err();
        let failure = anna.remembered(&url).await.failure.unwrap();
        assert!(failure.contains("127.0.0.1") && !failure.contains("anna"), "{failure}");
    }
}
