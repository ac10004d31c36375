//! Remotes that are away, refuse, or are no hubs: errors are values, and nothing is lost.

use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::any;
use feedsync::{Error, Following, Login, SyncReport};
use feedsync_endpoint::{NewToken, NewUser};
use feedsync_server::Config;
use feedsync_store::{Grant, NewRemote, Role, Scope, TokenKind, UserName};

use crate::scene::{Hub, nowhere, only_conflict, title, titled, titles, todo, versions};

#[tokio::test]
async fn offline_is_an_error_value_and_changes_nothing() {
    let todo = todo().await;
    let id = todo.add(titled("Milk")).await.unwrap();
    let mut stale = todo.get(&id).await.unwrap().unwrap();
    todo.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
    *stale = titled("Bread");
    todo.update(&stale).await.unwrap();
    let before = versions(&todo).await;

    let error = todo.sync(&nowhere()).await.unwrap_err();
    assert!(matches!(error, Error::Offline { .. }), "{error:?}");
    assert!(error.is_offline() && error.is_temporary());
    assert!(error.to_string().starts_with("offline: http://127.0.0.1"), "{error}");
    assert_eq!(versions(&todo).await, before);

    let hub = Hub::new().await;
    let report = todo.sync(&hub.url()).await.unwrap();
    assert_eq!((report.sent, report.received), (1, 0));
    assert_eq!(versions(&hub.todo).await, before);
}

#[tokio::test]
async fn edits_of_two_replicas_meet_at_a_hub() {
    let (hub, one, other) = (Hub::new().await, todo().await, todo().await);
    let id = one.add(titled("Milk")).await.unwrap();
    one.sync(&hub.url()).await.unwrap();
    assert_eq!(other.sync(&hub.url()).await.unwrap().received, 1);

    one.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
    other.change(&id, |item| *item = titled("Milk, two litres")).await.unwrap();
    one.sync(&hub.url()).await.unwrap();
    assert_eq!(other.sync(&hub.url()).await.unwrap().conflicts, 1);
    assert_eq!(other.get(&id).await.unwrap().unwrap().conflicts(), 1);

    let conflict = only_conflict(&other).await;
    let merged =
        conflict.keep_both(|one, other| titled(&format!("{} and {}", title(one), title(other))));
    other.resolve(merged).await.unwrap();
    other.sync(&hub.url()).await.unwrap();
    one.sync(&hub.url()).await.unwrap();
    assert_eq!(titles(&one).await, titles(&other).await);
    assert!(titles(&one).await[0].contains("Oat milk"), "{:?}", titles(&one).await);
    assert!(one.conflicts().await.unwrap().is_empty());
}

/// Gives anna a role in the collection of a hub.
async fn grant(hub: &Hub, role: Role) {
    let (user, collection) = (UserName::new("anna").unwrap(), "todo".parse().unwrap());
    hub.todo.replica().endpoint().grant(Grant { user, collection, role }).await.unwrap();
}

/// Adds users to a hub, which then lets nobody in without a login: the token of anna, who has a role.
async fn access(hub: &Hub, role: Role) -> String {
    let endpoint = hub.todo.replica().endpoint();
    let user = |name: &str| UserName::new(name).unwrap();
    for (name, administrator) in [("root", true), ("anna", false)] {
        let new =
            NewUser { name: user(name), password: None, administrator, databases_only: false };
        endpoint.add_user(new).await.unwrap();
    }
    grant(hub, role).await;
    let new = NewToken {
        user: user("anna"),
        kind: TokenKind::Access,
        label: "todo".to_owned(),
        scope: Scope::default(),
        expires: None,
    };
    endpoint.issue_token(new).await.unwrap().0.as_str().to_owned()
}

#[tokio::test]
async fn sign_in_reaches_what_is_followed_already() {
    let (hub, todo) = (Hub::new().await, todo().await);
    hub.todo.add(titled("Milk")).await.unwrap();
    let secret = access(&hub, Role::Editor).await;
    let mut following = todo.follow(&hub.url()).await.unwrap();
    let refused = following.next().await;
    assert!(matches!(refused, Err(Error::Denied { .. })), "{refused:?}");
    let sign_in = async {
        tokio::task::yield_now().await;
        todo.replica().sign_in(&hub.url(), Login::token(secret).unwrap()).unwrap();
    };
    let (done, ()) = tokio::join!(following.next(), sign_in);
    assert_eq!(done.unwrap().received, 1);
}

/// A hub that refuses changes is offered them again with the next new one, so that a reader who becomes an editor sends
/// what waited.
#[tokio::test]
async fn changes_that_a_hub_refuses_are_offered_again_with_new_ones() {
    let (hub, todo) = (Hub::new().await, todo().await);
    let secret = access(&hub, Role::Reader).await;
    todo.replica().sign_in(&hub.url(), Login::token(secret).unwrap()).unwrap();
    todo.add(titled("Milk")).await.unwrap();
    for _ in 0..3 {
        let report = todo.sync(&hub.url()).await.unwrap();
        assert_eq!(report.sent, 0);
        assert_eq!(report.warnings.len(), 1, "{report:?}");
    }
    grant(&hub, Role::Editor).await;
    // The hub caches rights for a second.
    let mut sent = 0;
    for number in 0..100 {
        todo.add(titled(&number.to_string())).await.unwrap();
        sent += todo.sync(&hub.url()).await.unwrap().sent;
        if sent > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(sent > 1);
    assert_eq!(titles(&hub.todo).await, titles(&todo).await);
    assert!(todo.sync(&hub.url()).await.unwrap().warnings.is_empty());
}

#[tokio::test]
async fn following_receives_and_sends_as_changes_happen() {
    let (hub, todo) = (Hub::new().await, todo().await);
    todo.add(titled("Milk")).await.unwrap();
    let mut following = todo.follow(&hub.url()).await.unwrap();
    assert_eq!(following.next().await.unwrap().sent, 1);
    hub.todo.add(titled("Bread")).await.unwrap();
    while titles(&todo).await.len() < 2 {
        following.next().await.unwrap();
    }
    assert_eq!(titles(&todo).await, ["Bread", "Milk"]);
}

/// Polls [`Following::next`] once each time and drops its future, as a `select!` with a busy sibling does.
async fn next_of_dropped(following: &mut Following) -> Result<SyncReport, Error> {
    let polling = async {
        loop {
            let mut next = std::pin::pin!(following.next());
            let polled =
                std::future::poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await;
            match polled {
                Poll::Ready(done) => return done,
                Poll::Pending => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), polling).await.expect("it makes progress")
}

#[tokio::test]
async fn following_makes_progress_although_its_future_is_dropped_often() {
    let (hub, todo) = (Hub::new().await, todo().await);
    todo.add(titled("Milk")).await.unwrap();
    let mut following = todo.follow(&hub.url()).await.unwrap();
    assert_eq!(next_of_dropped(&mut following).await.unwrap().sent, 1);
    hub.todo.add(titled("Bread")).await.unwrap();
    while titles(&todo).await.len() < 2 {
        next_of_dropped(&mut following).await.unwrap();
    }
}

#[tokio::test]
async fn pause_after_a_failure_ends_although_its_future_is_dropped_often() {
    let mut following = todo().await.follow(&nowhere()).await.unwrap();
    for _ in 0..2 {
        assert!(next_of_dropped(&mut following).await.unwrap_err().is_offline());
    }
}

#[tokio::test]
async fn following_begins_at_once_also_after_failures_of_earlier_runs() {
    let (todo, url) = (todo().await, nowhere());
    for _ in 0..20 {
        todo.sync(&url).await.unwrap_err();
    }
    let mut following = todo.follow(&url).await.unwrap();
    let first = tokio::time::timeout(Duration::from_secs(60), following.next()).await;
    assert!(first.expect("it does not wait").unwrap_err().is_offline());
}

#[tokio::test]
async fn spellings_of_one_address_are_one_remote_which_can_be_listed_and_removed() {
    let (hub, todo) = (Hub::new().await, todo().await);
    let id = todo.add(titled("Milk")).await.unwrap();
    let spellings = [hub.url(), format!("{}/", hub.url()), format!("{}#top", hub.url())];
    for (url, sent) in spellings.iter().zip([1, 0, 0]) {
        assert_eq!(todo.sync(url).await.unwrap().sent, sent, "{url}");
    }
    let remotes = todo.remotes().await.unwrap();
    assert_eq!(remotes.iter().map(|remote| &remote.url).collect::<Vec<_>>(), [&hub.url()]);
    assert!(remotes[0].succeeded.is_some() && remotes[0].failure.is_none());
    for url in ["https://Hub.Example:443/todo/", "HTTPS://hub.example/todo"] {
        let mut following = todo.follow(url).await.unwrap();
        assert_eq!(todo.remotes().await.unwrap().len(), 2, "{url}");
        if !url.ends_with('/') {
            todo.remove_remote("https://hub.example/todo/").await.unwrap();
            let gone = following.next().await;
            assert!(matches!(gone, Err(Error::NoRemote { .. })), "{gone:?}");
        }
    }
    let again = todo.remove_remote("https://hub.example/todo").await;
    assert!(matches!(again, Err(Error::NoRemote { .. })), "{again:?}");
    let other = format!("{}?x=1", hub.url());
    assert!(matches!(todo.remove_remote(&other).await, Err(Error::NoRemote { .. })));

    // A remote that was removed begins anew, and nothing is lost.
    todo.remove_remote(&hub.url()).await.unwrap();
    assert!(todo.remotes().await.unwrap().is_empty());
    hub.todo.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
    assert_eq!(todo.sync(&hub.url()).await.unwrap().received, 1);
    assert_eq!(versions(&todo).await, versions(&hub.todo).await);
}

/// A server that answers everything alike; its address.
async fn answering(
    status: StatusCode,
    media_type: &'static str,
    body: &'static str,
) -> (String, tokio::task::JoinHandle<()>) {
    let answer =
        move || async move { (status, [(header::CONTENT_TYPE, media_type)], body).into_response() };
    let router = Router::new().fallback(any(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/feed", listener.local_addr().unwrap());
    (url, tokio::spawn(async { axum::serve(listener, router).await.unwrap() }))
}

#[tokio::test]
async fn responses_are_errors_by_culprit() {
    let todo = todo().await;
    todo.add(titled("Milk")).await.unwrap();
    let atom = "application/atom+xml";
    for (status, media_type, body, expected) in [
        (401, atom, "", "Denied"),
        (403, atom, "", "Denied"),
        (404, atom, "", "NotFound"),
        (410, atom, "", "NotFound"),
        (404, "text/html", "<html>Nothing here</html>", "NotFound"),
        (400, atom, "", "Remote"),
        (500, atom, "", "Busy"),
        (429, atom, "", "Busy"),
        (503, atom, "", "Busy"),
        (200, atom, "<feed", "Remote"),
        (200, "text/html", "<html>Sign in</html>", "Page"),
        (200, "text/html; charset=utf-8", "<script>location = '/login'</script>", "Page"),
        (200, "application/xhtml+xml", "<?xml version=\"1.0\"?><html/>", "Page"),
        (200, atom, "<!DOCTYPE html><title>Sign in</title>", "Page"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let (url, server) = answering(status, media_type, body).await;
        let error = todo.sync(&url).await.unwrap_err();
        let found = format!("{error:?}");
        assert!(found.starts_with(expected), "{status} {body}: {found}");
        assert!(!error.is_offline() && error.is_temporary() == (expected == "Busy"));
        server.abort();
    }
    assert_eq!(titles(&todo).await, ["Milk"]);
}

/// Somebody may be listening in between: that is no network that is away, and no retry mends it.
#[tokio::test]
async fn connection_that_is_not_secure_is_not_offline() {
    let todo = todo().await;
    let (url, server) = answering(StatusCode::OK, "application/atom+xml", "").await;
    let error = todo.sync(&url.replace("http:", "https:")).await.unwrap_err();
    assert!(matches!(error, Error::Untrusted { .. }), "{error:?}");
    assert!(!error.is_offline() && !error.is_temporary());
    server.abort();

    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (directory.path().join("one.pem"), directory.path().join("one.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let tls = feedsync_server::Tls {
        certificate: Some(certificate),
        key: Some(key),
        ..feedsync_server::Tls::default()
    };
    let hub = Hub::with(Config { tls, ..Config::default() }).await;
    let error = todo.sync(&hub.url().replace("http:", "https:")).await.unwrap_err();
    assert!(matches!(error, Error::Untrusted { .. }), "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
}

/// An address that a person gave leads to no private one unless it is private itself.
#[tokio::test]
async fn private_address_behind_a_public_one_is_a_fault_of_the_address() {
    let (todo, url) = (todo().await, "http://8.8.8.8/collections/todo");
    let store = todo.replica().endpoint().store();
    let collection = "todo".parse().unwrap();
    let new = NewRemote { collection, name: None, url: url.to_owned(), subscription: None };
    let mut remote = store.add_remote(new).await.unwrap();
    remote.state.changes = Some(nowhere());
    store.change_remote(remote).await.unwrap();
    let error = todo.sync(url).await.unwrap_err();
    assert!(matches!(error, Error::Address { .. }), "{error:?}");
    assert!(!error.is_offline() && !error.is_temporary());
}

#[tokio::test]
async fn addresses_that_cannot_be_are_refused_and_not_stored() {
    let todo = todo().await;
    for wrong in ["hub.example/collections/todo", "ftp://hub.example/", "", "http://"] {
        let error = todo.sync(wrong).await.unwrap_err();
        assert!(matches!(error, Error::Address { .. }), "{wrong}: {error:?}");
    }
    let store = todo.replica().endpoint().store();
    assert!(store.remotes(None).await.unwrap().is_empty());

    let login = || Login::token("fsy_secret").unwrap();
    let replica = todo.replica();
    assert!(matches!(replica.sign_in("http://hub.example/", login()), Err(Error::Address { .. })));
    replica.sign_in("https://hub.example/collections/todo", login()).unwrap();
    replica.sign_in("http://127.0.0.1:8080/", login()).unwrap();
    assert!(!format!("{:?}", login()).contains("secret"));
}

#[tokio::test]
async fn addresses_with_credentials_are_refused_and_neither_stored_nor_shown() {
    let todo = todo().await;
    for url in ["http://anna:secret@127.0.0.1:9/todo", "http://:secret@127.0.0.1:9/todo"] {
        let errors = [
            todo.sync(url).await.map(drop).unwrap_err(),
            todo.follow(url).await.map(drop).unwrap_err(),
            todo.replicate(url).await.map(drop).unwrap_err(),
            todo.remove_remote(url).await.unwrap_err(),
            todo.replica().sign_in(url, Login::token("x").unwrap()).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::Address { .. }), "{error:?}");
            assert!(error.to_string().contains("`Login`"), "{error}");
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
        assert!(todo.remotes().await.unwrap().is_empty());
    }
    let store = todo.replica().endpoint().store();
    let url = "http://anna:secret@127.0.0.1:9/todo".to_owned();
    let collection = "todo".parse().unwrap();
    store.add_remote(NewRemote { collection, name: None, url, subscription: None }).await.unwrap();
    let stored = todo.remotes().await.unwrap();
    assert_eq!(stored[0].url, "http://127.0.0.1:9/todo");
    todo.remove_remote(&stored[0].url).await.unwrap();
}

#[tokio::test]
async fn address_that_is_no_feed_is_not_stored_and_a_remote_that_is_away_is() {
    let todo = todo().await;
    let atom = "application/atom+xml";
    let plain = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:a</id><title>A</title>\
                 <updated>2026-01-01T00:00:00Z</updated><entry><id>urn:b</id><title>B</title>\
                 <updated>2026-01-01T00:00:00Z</updated></entry></feed>";
    for (status, media_type, body, is_stored) in [
        (404, atom, "", false),
        (410, atom, "", false),
        (500, atom, "", true),
        (200, atom, "<feed", false),
        (200, atom, plain, false),
        (200, "text/html", "<html>Sign in</html>", false),
        (401, atom, "", true),
        (429, atom, "", true),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let (url, server) = answering(status, media_type, body).await;
        todo.sync(&url).await.unwrap_err();
        let stored = todo.remotes().await.unwrap();
        assert_eq!(stored.len(), usize::from(is_stored), "{status} {body}: {stored:?}");
        for remote in stored {
            assert!(remote.succeeded.is_none() && remote.failure.is_some());
            todo.remove_remote(&remote.url).await.unwrap();
        }
        server.abort();
    }
    let url = nowhere();
    todo.add(titled("Milk")).await.unwrap();
    todo.sync(&url).await.unwrap_err();
    assert_eq!(todo.remotes().await.unwrap().len(), 1);

    // A remote that was a feed once stays.
    let hub = Hub::new().await;
    todo.sync(&hub.url()).await.unwrap();
    hub.todo.replica().remove_collection("todo").await.unwrap();
    todo.sync(&hub.url()).await.unwrap_err();
    assert_eq!(todo.remotes().await.unwrap().len(), 2);
}

#[tokio::test]
async fn replicas_meet_at_a_database_of_documents() {
    let (hub, one, other) = (Hub::new().await, todo().await, todo().await);
    let database = hub.url().replace("/collections/todo", "/couch/tasks");
    let id = one.add(titled("Milk")).await.unwrap();
    let gone = one.add(titled("Bread")).await.unwrap();
    assert_eq!(one.replicate(&database).await.unwrap().sent, 2);
    other.replicate(&database).await.unwrap();
    assert_eq!(titles(&other).await, ["Bread", "Milk"]);
    other.change(&id, |item| *item = titled("Oat milk")).await.unwrap();
    other.delete_latest(&gone).await.unwrap();
    other.replicate(&database).await.unwrap();
    one.replicate(&database).await.unwrap();
    assert_eq!(titles(&one).await, ["Oat milk"]);
    assert!(matches!(one.replicate(&nowhere()).await, Err(Error::Offline { .. })));
    assert_eq!(titles(&one).await, ["Oat milk"]);
}
