//! Conflicts on the page of an item, and the forms that resolve them.

use feedsync_core::{Format, ItemId, Keep, Payload, Resolved};
use http::StatusCode;

use crate::hub::{hub, notes};
use crate::pages::{ITEM, conflicted, goes_to, hidden, item, page, post, title};
use crate::visitor::html;

#[tokio::test]
async fn conflicts_stand_side_by_side_with_their_differences_marked() {
    let hub = hub().await;
    conflicted(&hub).await;
    let page = page(&hub, ITEM).await;
    assert!(page.contains("<del>theirs</del>") && page.contains("<ins>ours</ins>"), "{page}");
    assert!(
        page.contains("What <del>theirs</del> says") && page.contains("What <ins>ours</ins> says")
    );
    assert_eq!(page.matches("<circle").count(), 4);
    assert!(page.contains(">winner</span>") && page.contains(">conflict 1</span>"));
}

#[tokio::test]
async fn conflicts_are_resolved_by_keeping_taking_or_merging() {
    for (action, place, expected) in
        [("keep", "", "theirs"), ("take", "0", "ours"), ("merge", "", "merged")]
    {
        let hub = hub().await;
        conflicted(&hub).await;
        let shown = page(&hub, ITEM).await;
        let (seen, kind) = (hidden(&shown, "seen"), hidden(&shown, "kind"));
        let fields = [
            ("action", action),
            ("seen", &*seen),
            ("place", place),
            ("kind", &*kind),
            ("title", "merged"),
            ("content", "both"),
        ];
        // Another edit was faster: nothing is changed, and the input stays.
        let before = item(&hub).await;
        let mut stale = fields;
        stale[1].1 = "0123456789abcdef0123456789abcdef";
        let refused = post(&hub, ITEM, &stale).await;
        assert_eq!(refused.status(), StatusCode::CONFLICT, "{action}");
        let again = html(refused).await;
        assert!(again.contains("has changed since you opened"), "{action}");
        assert_eq!(again.contains("value=\"merged\""), action == "merge");
        assert_eq!(item(&hub).await, before);

        let resolved = post(&hub, ITEM, &fields).await;
        goes_to(&resolved, &format!("{ITEM}?said=resolved"));
        let after = item(&hub).await;
        assert_eq!((after.conflicts.len(), &*title(&after.winner)), (0, expected), "{action}");
        assert!(before.versions().all(|version| version.is_subsumed_by(&after.winner)), "{action}");
        // The same form again: there is no conflict left.
        assert_eq!(post(&hub, ITEM, &fields).await.status(), StatusCode::CONFLICT, "{action}");
        assert_eq!(item(&hub).await, after);
    }
}

#[tokio::test]
async fn a_merge_of_conflicts_that_somebody_resolved_meanwhile_becomes_an_edit() {
    let hub = hub().await;
    conflicted(&hub).await;
    let shown = page(&hub, ITEM).await;
    let merge = |page: &str, action: &str, state: &str| {
        let kind = hidden(page, "kind");
        let state = (state.to_owned(), hidden(page, state));
        let typed = [("title", "kept words"), ("content", "and these"), ("action", action)];
        let mut fields = vec![state, ("kind".to_owned(), kind)];
        fields.extend(typed.map(|(name, value)| (name.to_owned(), value.to_owned())));
        fields
    };
    fn borrowed(fields: &[(String, String)]) -> Vec<(&str, &str)> {
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
    let typed = merge(&shown, "merge", "seen");
    let keep = feedsync_core::Resolution { resolved: Resolved::All, keep: Keep::Winner };
    hub.endpoint.resolve(&notes(), &item(&hub).await, keep).await.unwrap();
    let refused = post(&hub, ITEM, &borrowed(&typed)).await;
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    let again = html(refused).await;
    assert!(again.contains("id=\"edit\" open") && !again.contains("id=\"merge\""), "{again}");
    assert!(again.contains("value=\"kept words\"") && again.contains("and these</textarea>"));
    // The new form saves it.
    let edit = merge(&again, "edit", "base");
    goes_to(&post(&hub, ITEM, &borrowed(&edit)).await, &format!("{ITEM}?said=edited"));
    assert_eq!(title(&item(&hub).await.winner), "kept words");
}

#[tokio::test]
async fn a_content_that_was_typed_comes_back_whatever_the_winner_holds_now() {
    let hub = hub().await;
    let id = ItemId::new("a").unwrap();
    let text = |content: &str| {
        let text = format!(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:a</id><title>T</title>\
             <updated>2026-11-20T10:00:00Z</updated>{content}</entry>"
        );
        Payload::from_parsed(Format::Atom, text)
    };
    let picture = "<content type=\"image/png\">AAAA</content>";
    for (before, after, typed) in [
        ("<content type=\"html\">words</content>", picture, Some("kept &lt;b>words&lt;/b>")),
        (picture, "<content>their words</content>", None),
    ] {
        let created = hub.endpoint.item(&notes(), &id).await.is_err();
        match created {
            true => {
                let creation = Default::default();
                hub.endpoint.add(&notes(), id.clone(), creation, text(before)).await.unwrap();
            }
            false => {
                hub.endpoint.edit(&notes(), &id, None, text(before).into()).await.unwrap();
            }
        }
        let seen = page(&hub, ITEM).await;
        let kind = hidden(&seen, "kind");
        hub.endpoint.edit(&notes(), &id, None, text(after).into()).await.unwrap();
        let mut fields =
            vec![("action", "edit"), ("base", "1 "), ("kind", &*kind), ("title", "kept title")];
        fields.extend(typed.map(|typed| ("content", typed)));
        let refused = post(&hub, ITEM, &fields).await;
        assert_eq!(refused.status(), StatusCode::CONFLICT);
        let again = html(refused).await;
        assert!(again.contains("value=\"kept title\""), "{again}");
        match typed {
            Some(_) => {
                assert!(again.contains("Content (HTML)"), "{again}");
                assert!(
                    again.contains("kept &#38;lt;b&#62;words&#38;lt;/b&#62;</textarea>"),
                    "{again}"
                );
                assert_eq!(hidden(&again, "kind"), "html");
            }
            None => assert!(again.contains("their words</textarea>"), "{again}"),
        }
    }
}
