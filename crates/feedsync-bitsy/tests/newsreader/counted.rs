//! Stored responses of Miniflux, Nextcloud News and Tiny Tiny RSS with waiting changes.

use feedsync_bitsy::newsreader::Interface;
use serde_json::{Value, json};

use crate::desk::{Said, said};
use crate::said::{Deed, ttrss, write};
use crate::stored::{Stored, stored};

fn miniflux(path: &str) -> Said {
    said(&format!("GET v1/{path}"), "")
}

fn entry(number: i64, feed: i64, status: &str, published: &str) -> Value {
    json!({
        "id": number, "feed_id": feed, "status": status, "starred": false,
        "published_at": published,
    })
}

fn entries(total: i64, entries: &[Value]) -> String {
    json!({ "total": total, "entries": entries }).to_string()
}

/// Two unread entries of feed 1 in category 2, and a read entry of feed 2 in the first category.
fn of_miniflux() -> Stored {
    let body = entries(
        3,
        &[
            entry(1, 1, "unread", "2026-01-01T00:00:00Z"),
            entry(2, 1, "unread", "2026-01-02T00:00:00Z"),
            entry(3, 2, "read", "2026-01-03T00:00:00Z"),
        ],
    );
    let mut stored = stored(Interface::Miniflux, &miniflux("entries"), &body);
    let feeds = json!([
        { "id": 1, "category": { "id": 2 } },
        { "id": 2, "category": { "id": 1 } },
    ]);
    stored.store(&miniflux("feeds"), &feeds.to_string());
    stored
}

fn numbers(list: &Value) -> Vec<i64> {
    list.as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect()
}

#[test]
fn miniflux_entries_are_inserted_and_removed_by_date_and_counted() {
    let mut stored = of_miniflux();
    let unread =
        |direction: &str| miniflux(&format!("entries?status=unread&direction={direction}"));
    let late = entry(4, 2, "unread", "2026-01-04T00:00:00Z");
    let early = entry(1, 1, "unread", "2026-01-01T00:00:00Z");
    stored.store(&unread("asc"), &entries(5, &[early.clone(), late.clone()]));
    stored.store(&unread("desc"), &entries(5, &[late, early]));
    stored.take(&write(Interface::Miniflux, Deed::Read(3, false))).unwrap();
    let shown = stored.json(&unread("asc"));
    assert_eq!((numbers(&shown["entries"]), &shown["total"]), (vec![1, 3, 4], &json!(6)));
    assert_eq!(shown["entries"][1]["status"], "unread");
    assert_eq!(numbers(&stored.json(&unread("desc"))["entries"]), [4, 3, 1]);
    for number in [1, 4] {
        stored.take(&write(Interface::Miniflux, Deed::Read(number, true))).unwrap();
    }
    let shown = stored.json(&unread("asc"));
    assert_eq!((numbers(&shown["entries"]), &shown["total"]), (vec![3], &json!(4)));
}

#[test]
fn counters_of_miniflux_follow_the_changes() {
    let mut stored = of_miniflux();
    let (counters, categories) = (miniflux("feeds/counters"), miniflux("categories?counts=true"));
    let body = json!({ "unreads": { "1": 2, "2": 0 }, "reads": { "1": 0, "2": 1 } });
    stored.store(&counters, &body.to_string());
    let body = json!([
        { "id": 1, "title": "All", "total_unread": 0 },
        { "id": 2, "title": "News", "total_unread": 2 },
        { "id": 3, "title": "Other" },
    ]);
    stored.store(&categories, &body.to_string());
    stored.take(&write(Interface::Miniflux, Deed::Read(1, true))).unwrap();
    stored.take(&write(Interface::Miniflux, Deed::Read(3, false))).unwrap();
    let shown = stored.json(&counters);
    assert_eq!(shown["unreads"], json!({ "1": 1, "2": 1 }));
    assert_eq!(shown["reads"], json!({ "1": 1, "2": 0 }));
    let shown = stored.json(&categories);
    assert_eq!(shown[0]["total_unread"], 1);
    assert_eq!(shown[1]["total_unread"], 1);
    assert_eq!(shown[2], json!({ "id": 3, "title": "Other" }));
}

#[test]
fn single_miniflux_entry_shows_its_changes() {
    let mut stored = of_miniflux();
    let (one, other) = (miniflux("entries/1"), miniflux("entries/2"));
    stored.store(&one, &entry(1, 1, "unread", "2026-01-01T00:00:00Z").to_string());
    stored.store(&other, &entry(2, 1, "unread", "2026-01-02T00:00:00Z").to_string());
    stored.take(&write(Interface::Miniflux, Deed::Read(1, true))).unwrap();
    stored.take(&write(Interface::Miniflux, Deed::Star(1, true))).unwrap();
    let shown = stored.json(&one);
    assert_eq!((&shown["status"], &shown["starred"]), (&json!("read"), &json!(true)));
    let shown = stored.json(&other);
    assert_eq!((&shown["status"], &shown["starred"]), (&json!("unread"), &json!(false)));
    stored.take(&write(Interface::Miniflux, Deed::Read(1, false))).unwrap();
    assert_eq!(stored.json(&one)["status"], "unread");
}

#[test]
fn malformed_responses_are_not_stored() {
    for (interface, said, bodies) in [
        (Interface::Miniflux, miniflux("entries"), ["{}", "[]", "x"]),
        (Interface::Miniflux, miniflux("entries/1"), ["{}", "[]", "x"]),
        (Interface::Miniflux, miniflux("feeds/counters"), ["", "null", "x"]),
        (Interface::Nextcloud, nextcloud("items?type=3"), ["{}", "[]", "x"]),
        (Interface::Nextcloud, nextcloud("feeds"), ["{}", "[]", "x"]),
        (Interface::Nextcloud, nextcloud("folders"), ["", "<html>", "x"]),
        (
            Interface::TinyTinyRss,
            ttrss("s1", r#""op":"getHeadlines","feed_id":-4"#),
            [r#"{"status":1,"content":[]}"#, r#"{"status":0,"content":{}}"#, r#"{"content":[]}"#],
        ),
        (
            Interface::TinyTinyRss,
            ttrss("s1", r#""op":"getCounters""#),
            [r#"{"status":1,"content":[]}"#, "{}", "x"],
        ),
        (Interface::Google, said("GET reader/api/0/stream/contents/read", ""), ["{}", "[]", "x"]),
        (
            Interface::Google,
            said("GET reader/api/0/stream/items/ids?s=read", ""),
            ["{}", "[]", "x"],
        ),
        (Interface::Google, said("GET reader/api/0/unread-count", ""), ["{}", "[]", "x"]),
    ] {
        let form = match crate::requests::call(interface, &said).operation {
            feedsync_bitsy::newsreader::Operation::ReadRequest(reading) => reading.form,
            operation => panic!("{operation:?}"),
        };
        for body in bodies {
            assert_eq!(interface.facts(&form, body.as_bytes()), None, "{said:?} {body}");
        }
    }
}

fn nextcloud(path: &str) -> Said {
    said(&format!("GET index.php/apps/news/api/v1-2/{path}"), "")
}

fn news(number: i64, feed: i64, unread: bool) -> Value {
    json!({
        "id": number, "feedId": feed, "unread": unread, "starred": false,
        "guid": format!("urn:x:{number}"), "guidHash": format!("hash{number}"),
    })
}

/// Three unread items. The third is of feed 2.
fn of_nextcloud() -> Stored {
    let items = [news(3, 2, true), news(2, 1, true), news(1, 1, true)];
    let body = json!({ "items": items });
    stored(Interface::Nextcloud, &nextcloud("items?type=3"), &body.to_string())
}

#[test]
fn counts_of_nextcloud_follow_the_changes() {
    let mut stored = of_nextcloud();
    let body = json!({ "starredCount": 4, "feeds": [
        { "id": 1, "folderId": 9, "unreadCount": 2 },
        { "id": 2, "folderId": null, "unreadCount": 1 },
        { "title": "no feed", "unreadCount": 8 },
    ] });
    stored.store(&nextcloud("feeds"), &body.to_string());
    stored.take(&write(Interface::Nextcloud, Deed::Read(1, true))).unwrap();
    stored.take(&write(Interface::Nextcloud, Deed::Star(3, true))).unwrap();
    let shown = stored.json(&nextcloud("feeds"));
    assert_eq!(shown["starredCount"], 5);
    let counts: Vec<&Value> =
        shown["feeds"].as_array().unwrap().iter().map(|feed| &feed["unreadCount"]).collect();
    assert_eq!(counts, [1, 1, 8]);
    let list = stored.json(&nextcloud("items?type=3"));
    assert_eq!(
        (&list["items"][0]["starred"], &list["items"][2]["unread"]),
        (&json!(true), &json!(false))
    );
    stored.take(&write(Interface::Nextcloud, Deed::Star(3, false))).unwrap();
    assert_eq!(stored.json(&nextcloud("feeds"))["starredCount"], 4);
}

#[test]
fn nextcloud_items_are_starred_by_name_or_its_hash_in_their_feed() {
    let mut stored = of_nextcloud();
    let star = |body: &str| said("PUT index.php/apps/news/api/v1-2/items/star/multiple", body);
    let body = r#"{"items":[{"feedId":1,"guidHash":"hash1"},{"feedId":1,"guidHash":"hash3"}]}"#;
    stored.take(&star(body)).unwrap();
    let list = stored.json(&nextcloud("items?type=3"));
    let starred: Vec<&Value> =
        list["items"].as_array().unwrap().iter().map(|item| &item["starred"]).collect();
    assert_eq!(starred, [false, false, true], "the third is of another feed");
}

#[test]
fn nextcloud_items_are_sorted_by_number() {
    let mut stored = of_nextcloud();
    let (newest, oldest) = (nextcloud("items?type=2"), nextcloud("items?type=2&oldestFirst=true"));
    let starred = |number: i64| json!({ "id": number, "feedId": 1, "starred": true });
    stored.store(&newest, &json!({ "items": [starred(4), starred(1)] }).to_string());
    stored.store(&oldest, &json!({ "items": [starred(1), starred(4)] }).to_string());
    stored.take(&write(Interface::Nextcloud, Deed::Star(2, true))).unwrap();
    assert_eq!(numbers(&stored.json(&newest)["items"]), [4, 2, 1]);
    assert_eq!(numbers(&stored.json(&oldest)["items"]), [1, 2, 4]);
}

fn ask(rest: &str) -> Said {
    ttrss("s1", rest)
}

fn headline(number: i64, feed: i64, unread: bool) -> Value {
    json!({
        "id": number, "feed_id": feed.to_string(), "unread": unread, "marked": false,
        "updated": number * 10,
    })
}

fn ok(content: &Value) -> String {
    json!({ "seq": 0, "status": 0, "content": content }).to_string()
}

/// Three unread headlines. The third is of feed 2, and feed 1 is in category 5.
fn of_ttrss() -> Stored {
    let list = json!([headline(3, 2, true), headline(2, 1, true), headline(1, 1, true)]);
    let mut stored = stored(Interface::TinyTinyRss, &all(), &ok(&list));
    let feeds = json!([
        { "id": 1, "cat_id": 5, "unread": 2 },
        { "id": 2, "cat_id": 0, "unread": "1" },
        { "id": -4, "cat_id": 5, "unread": 3 },
        { "id": -1, "cat_id": 5, "unread": 7 },
    ]);
    stored.store(&ask(r#""op":"getFeeds","cat_id":-3"#), &ok(&feeds));
    stored
}

fn all() -> Said {
    ask(r#""op":"getHeadlines","feed_id":-4"#)
}

fn read_first_and_third(stored: &mut Stored) {
    for number in [1, 3] {
        stored.take(&write(Interface::TinyTinyRss, Deed::Read(number, true))).unwrap();
    }
}

#[test]
fn feeds_categories_and_counters_of_ttrss_follow_the_changes() {
    let mut stored = of_ttrss();
    let (feeds, categories, counters) = (
        ask(r#""op":"getFeeds","cat_id":-3"#),
        ask(r#""op":"getCategories""#),
        ask(r#""op":"getCounters""#),
    );
    let body = json!([
        { "id": "5", "unread": 2 },
        { "id": 0, "unread": 1 },
        { "id": -1, "unread": 9 },
        { "id": 1, "unread": 4 },
    ]);
    stored.store(&categories, &ok(&body));
    let body = json!([
        { "id": "global-unread", "counter": 3 },
        { "id": 1, "counter": 2 },
        { "id": 5, "kind": "cat", "counter": 2 },
        { "id": -1, "counter": 6 },
        { "id": 0, "counter": 6 },
        { "id": "subscribed-feeds", "counter": 2 },
    ]);
    stored.store(&counters, &ok(&body));
    read_first_and_third(&mut stored);
    let shown = |said: &Said, name: &str| -> Vec<Value> {
        let value = stored.json(said);
        value["content"].as_array().unwrap().iter().map(|one| one[name].clone()).collect()
    };
    assert_eq!(shown(&feeds, "unread"), [json!(1), json!("0"), json!(1), json!(7)]);
    // A category with the number of a feed is still a category.
    assert_eq!(shown(&categories, "unread"), [1, 0, 9, 4]);
    assert_eq!(shown(&counters, "counter"), [1, 1, 1, 6, 6, 2]);
}

#[test]
fn the_tree_of_ttrss_follows_the_changes_at_each_depth() {
    let mut stored = of_ttrss();
    let tree = ask(r#""op":"getFeedTree""#);
    let body = json!({ "categories": { "items": [
        { "type": "category", "bare_id": -1, "unread": 0, "items": [
            { "bare_id": -4, "unread": 3 },
            { "bare_id": -1, "unread": 8 },
        ] },
        { "type": "category", "bare_id": 5, "unread": 2, "items": [
            { "bare_id": 1, "unread": 2 },
        ] },
        { "type": "category", "bare_id": 0, "unread": 1, "items": [
            { "bare_id": 2, "unread": 1 },
            { "bare_id": 0, "unread": 4 },
        ] },
    ] } });
    stored.store(&tree, &ok(&body));
    read_first_and_third(&mut stored);
    let shown = stored.json(&tree);
    let top = &shown["content"]["categories"]["items"];
    let unread: Vec<Vec<&Value>> = top
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let inner = one["items"].as_array().unwrap().iter().map(|it| &it["unread"]);
            [&one["unread"]].into_iter().chain(inner).collect()
        })
        .collect();
    assert_eq!(unread, [vec![0, 1, 8], vec![1, 1], vec![0, 0, 4]]);
}

#[test]
fn unread_counts_of_ttrss_follow_the_changes() {
    let mut stored = of_ttrss();
    let of = |rest: &str| ask(&format!(r#""op":"getUnread"{rest}"#));
    let (everything, feed, folder, starred, fresh) = (
        of(""),
        of(r#","feed_id":1"#),
        of(r#","feed_id":5,"is_cat":true"#),
        of(r#","feed_id":-1"#),
        of(r#","feed_id":-3"#),
    );
    for said in [&everything, &feed, &folder, &starred, &fresh] {
        stored.store(said, &ok(&json!({ "unread": "3" })));
    }
    read_first_and_third(&mut stored);
    let shown = |said: &Said| stored.json(said)["content"]["unread"].clone();
    assert_eq!((shown(&everything), shown(&feed)), (json!("1"), json!("2")));
    assert_eq!((shown(&folder), shown(&starred)), (json!("2"), json!("3")));
    assert_eq!(shown(&fresh), "3", "nobody knows which are new");
}

#[test]
fn ttrss_headlines_after_a_header_change_and_seen_ones_are_left_out() {
    let mut stored = of_ttrss();
    let with_header = ask(r#""op":"getHeadlines","feed_id":-4,"include_header":true"#);
    let list = json!([{ "id": -4 }, [headline(2, 1, true), headline(1, 1, true)]]);
    stored.store(&with_header, &ok(&list));
    stored.take(&write(Interface::TinyTinyRss, Deed::Star(1, true))).unwrap();
    let shown = stored.json(&with_header);
    assert_eq!(shown["content"][0], json!({ "id": -4 }));
    assert_eq!(shown["content"][1][1]["marked"], true);
    assert_eq!(shown["content"][1][0]["marked"], false);
    // Headlines are new if their number exceeds the one in the request.
    let since = ask(r#""op":"getHeadlines","feed_id":-4,"since_id":1"#);
    assert_eq!(numbers(&stored.json(&since)["content"]), [3, 2]);
    assert_eq!(numbers(&stored.json(&all())["content"]), [3, 2, 1]);
}

#[test]
fn marked_ttrss_headlines_are_inserted_at_their_position_unless_seen() {
    let mut stored = of_ttrss();
    let marked = |rest: &str| {
        ask(&format!(r#""op":"getHeadlines","feed_id":-4,"view_mode":"marked"{rest}"#))
    };
    let compact = ask(r#""op":"getCompactHeadlines","feed_id":-4,"view_mode":"marked""#);
    stored.store(&marked(""), &ok(&json!([headline(9, 1, true)])));
    stored.store(&compact, &ok(&json!([{ "id": 9 }])));
    for number in [1, 2] {
        stored.take(&write(Interface::TinyTinyRss, Deed::Star(number, true))).unwrap();
    }
    assert_eq!(numbers(&stored.json(&marked(""))["content"]), [9, 2, 1]);
    assert_eq!(numbers(&stored.json(&marked(r#","since_id":1"#))["content"]), [9, 2]);
    assert_eq!(numbers(&stored.json(&compact)["content"]), [9, 2, 1]);
}

#[test]
fn stored_ttrss_response_gets_the_sequence_number_of_the_request() {
    let body = ok(&json!([])).into_bytes();
    let renumbered = Interface::TinyTinyRss.renumbered(body.clone(), 12);
    let value: Value = serde_json::from_slice(&renumbered).unwrap();
    assert_eq!(value, json!({ "seq": 12, "status": 0, "content": [] }));
    assert_eq!(Interface::Miniflux.renumbered(body.clone(), 12), body);
    assert_eq!(Interface::TinyTinyRss.renumbered(b"x".to_vec(), 12), b"x");
}
