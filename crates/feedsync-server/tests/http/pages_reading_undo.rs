//! Undo of marking all articles of a list as read.

use axum::body::Body;
use http::{Method, StatusCode};
use tower::ServiceExt as _;

use crate::access::world::basic;
use crate::hub::request;
use crate::newsroom::{ARRIVAL_TIME, Newsroom, PASSWORD, article};
use crate::pages_reading::{FEED, HOME, LIST, done, reading, seen};
use crate::visitor::{Visitor, hidden};

/// Marks all of a list; returns the address that the form leads to.
async fn mark_all(visitor: &Visitor, list: &str) -> String {
    let last = hidden(&seen(visitor, list).await, "last").unwrap();
    done(visitor, list, &[("all", "1"), ("last", &last)]).await
}

/// Id of the action that a page can undo.
fn undo_id(page: &str) -> Option<String> {
    let (_, value) = page.split_once("name=\"undo\" value=\"")?;
    Some(value.split('"').next()?.to_owned())
}

/// Presses *Undo*; returns the page that follows.
async fn undo(visitor: &Visitor, id: &str) -> String {
    let next = done(visitor, LIST, &[("undo", id)]).await;
    seen(visitor, &next).await
}

#[tokio::test]
async fn undo_restores_exactly_the_articles_that_were_marked() {
    let (room, anna) = reading(60).await;
    for read in ["3", "40"] {
        done(&anna, LIST, &[("read", read)]).await;
    }
    let before = room.unread("anna").await;
    assert_eq!(before.len(), 58);
    let page = seen(&anna, &mark_all(&anna, LIST).await).await;
    assert!(page.contains("Marked 58 articles of All articles as read."), "{page}");
    assert!(page.contains("role=\"status\"") && page.contains(">Undo</button>"), "{page}");
    assert!(room.unread("anna").await.is_empty());
    let id = undo_id(&page).unwrap();
    // The page can be loaded again before it is used.
    assert_eq!(undo_id(&seen(&anna, &format!("{LIST}?said=all&undo={id}")).await).unwrap(), id);

    let page = undo(&anna, &id).await;
    assert!(page.contains("Undone: 58 articles of All articles are unread again."), "{page}");
    assert_eq!(undo_id(&page), None);
    assert_eq!(room.unread("anna").await, before);
    let log = room.log("anna").await;
    let page = undo(&anna, &id).await;
    assert!(page.contains("This was already undone."), "{page}");
    assert_eq!(room.log("anna").await, log, "a second press changes nothing");
    // What a link shows is never taken from the link alone.
    let page = seen(&anna, &format!("{LIST}?said=all&undo={id}")).await;
    assert_eq!(undo_id(&page), None);
}

#[tokio::test]
async fn articles_that_were_marked_or_arrived_since_then_stay() {
    let (room, anna) = reading(6).await;
    let page = seen(&anna, &mark_all(&anna, LIST).await).await;
    let id = undo_id(&page).unwrap();
    // Read again on a page, and through a newsreader, although they are read already.
    done(&anna, &format!("{LIST}/1"), &[("action", "read")]).await;
    let authorization = basic("anna", PASSWORD);
    let headers = [("authorization", &*authorization), ("content-type", "application/json")];
    let body = Body::from("{\"entry_ids\":[2],\"status\":\"read\"}");
    let asked = request(Method::PUT, "/reader/miniflux/v1/entries", &headers, body);
    let answer = room.router.clone().oneshot(asked).await.unwrap();
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    // Unread and read again.
    done(&anna, LIST, &[("unread", "3")]).await;
    done(&anna, LIST, &[("read", "3")]).await;
    // Unread already.
    done(&anna, LIST, &[("unread", "4")]).await;
    room.publish(FEED, vec![article("new", "New", "", 3)], ARRIVAL_TIME + 1).await;
    done(&anna, LIST, &[("read", "7")]).await;
    let page = undo(&anna, &id).await;
    assert!(page.contains("Undone: 2 articles of All articles are unread again."), "{page}");
    assert_eq!(room.unread("anna").await, ["Title 4.", "Title 5.", "Title 6."]);
}

#[tokio::test]
async fn actions_are_undone_in_the_reverse_order() {
    let (room, anna) = reading(3).await;
    let other = "https://other.example/feed";
    done(&anna, HOME, &[("action", "subscribe"), ("address", other)]).await;
    room.publish(other, vec![article("o", "Other.", "", 9)], ARRIVAL_TIME).await;
    let first = undo_id(&seen(&anna, &mark_all(&anna, &format!("{LIST}?feed=1")).await).await);
    // Read articles are in this list, but the action does not change them.
    let page = seen(&anna, &mark_all(&anna, &format!("{LIST}?show=all")).await).await;
    assert!(page.contains("Marked 1 article of All articles as read."), "{page}");
    undo(&anna, &undo_id(&page).unwrap()).await;
    assert_eq!(room.unread("anna").await, ["Other."]);
    undo(&anna, &first.unwrap()).await;
    assert_eq!(room.unread("anna").await.len(), 4);
}

#[tokio::test]
async fn parts_and_search_results_can_be_undone() {
    let (room, anna) = reading(9).await;
    let before = room.unread("anna").await;
    for (list, name, count) in
        [(LIST, "above", 5), (LIST, "below", 5), (&format!("{LIST}?q=title"), "all", 9)]
    {
        let last = hidden(&seen(&anna, list).await, "last").unwrap();
        let at = room.library.named(&[feedsync_reader_api::ArticleNumber::new(5)]).await.unwrap();
        let at = format!("{}.{}", at[0].listed.sort_date, at[0].listed.number);
        let next = done(&anna, list, &[(name, &at), ("last", &last)]).await;
        let page = seen(&anna, &next).await;
        assert!(page.contains(&format!("Marked {count} articles of ")), "{name}: {page}");
        assert_eq!(room.unread("anna").await.len(), 9 - count);
        undo(&anna, &undo_id(&page).unwrap()).await;
        assert_eq!(room.unread("anna").await, before, "{name}");
    }
}

#[tokio::test]
async fn other_users_and_invalid_ids_cannot_undo() {
    let (room, anna) = reading(3).await;
    let id = undo_id(&seen(&anna, &mark_all(&anna, LIST).await).await).unwrap();
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    let link = format!("{LIST}?said=all&undo={id}");
    assert_eq!(undo_id(&seen(&bob, &link).await), None);
    assert!(undo(&bob, &id).await.contains("too late to undo"));
    assert!(undo(&anna, "1").await.contains("too late to undo"));
    for bad in ["x", "-1", "1.5", "99999999999999999999999"] {
        let answer = anna.post(LIST, &[("undo", bad)]).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{bad}");
        seen(&anna, &format!("{LIST}?said=all&undo={bad}")).await;
    }
    for form in ["", "0a"] {
        let answer = anna.send(LIST, &[("undo", &id), ("form", form)]).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    }
    assert!(room.unread("anna").await.is_empty());
    undo(&anna, &id).await;
    assert_eq!(room.unread("anna").await.len(), 3);
}

/// Two presses at the same time undo once.
#[tokio::test]
async fn concurrent_presses_undo_once() {
    let (room, anna) = reading(5).await;
    let id = undo_id(&seen(&anna, &mark_all(&anna, LIST).await).await).unwrap();
    let fields = [("undo", &*id)];
    let (one, other) = tokio::join!(done(&anna, LIST, &fields), done(&anna, LIST, &fields));
    let both = [&one, &other];
    assert_eq!(both.iter().filter(|page| page.contains("said=undone&")).count(), 1, "{both:?}");
    assert_eq!(room.unread("anna").await.len(), 5);
}

#[tokio::test]
async fn a_hundred_thousand_articles_can_be_undone() {
    const COUNT: u64 = 100_000;
    let room = Newsroom::of(&["anna"]).await;
    let anna = Visitor::signed_in(&room.router, "anna", PASSWORD).await;
    done(&anna, HOME, &[("action", "subscribe"), ("address", FEED)]).await;
    for start in (0..COUNT).step_by(10_000) {
        let articles = start..start + 10_000;
        let articles = articles.map(|at| article(&format!("n{at}"), "Title", "", at)).collect();
        room.publish(FEED, articles, ARRIVAL_TIME).await;
    }
    let page = seen(&anna, &mark_all(&anna, LIST).await).await;
    assert!(page.contains("Marked 100000 articles of All articles as read."), "{page}");
    let page = undo(&anna, &undo_id(&page).unwrap()).await;
    assert!(page.contains("Undone: 100000 articles of"), "{page}");
    let unread = room.told("anna", "miniflux/v1/entries?status=unread&limit=1").await;
    assert_eq!(unread["total"], COUNT);
}
