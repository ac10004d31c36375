//! The command `reader`: the user's order of subscriptions, moved feeds, and marked articles.

use crate::reader::{FEED, LIST};
use crate::support::{TestDirectory, TestEndpoint};

/// The listed feeds, each by the first letter of its host.
fn listed(desk: &TestEndpoint<'_>) -> String {
    let listed = desk.json(&["reader", "list"]);
    let feeds = listed.as_array().unwrap().iter();
    feeds.map(|feed| feed["feed"].as_str().unwrap()[8..9].to_owned()).collect()
}

/// The list without the outline that has no feed address.
fn sound_list() -> String {
    LIST.split_inclusive('\n').filter(|line| !line.contains("Nowhere")).collect()
}

#[test]
fn subscriptions_keep_the_position_that_the_user_chose() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    let subscribe = |words: &[&str]| desk.ok(&[&["reader", "subscribe"], words].concat());
    for name in ["c", "a", "b"] {
        subscribe(&[&format!("https://{name}.example/")]);
    }
    assert_eq!(listed(&desk), "cab");
    subscribe(&["https://a.example/", "--folder", "Daily", "--title", "Old"]);
    assert_eq!(listed(&desk), "cab", "who is filed elsewhere keeps its place");
    subscribe(&["https://c.example/", "--after", "https://b.example/"]);
    assert_eq!(listed(&desk), "abc");
    // A subscription placed beside a feed is in its folder, and the list has the order of the tree.
    subscribe(&["https://c.example/", "--after", "https://a.example/"]);
    subscribe(&["https://d.example/", "--before", "https://a.example/", "--top"]);
    assert_eq!(listed(&desk), "dacb");
    let list = desk.json(&["reader", "list"]);
    assert_eq!(
        (&list[2]["folder"][0], &list[0]["folder"]),
        (&"Daily".into(), &serde_json::json!([]))
    );
    assert_eq!(
        subscribe(&["https://c.example/", "--after", "https://a.example/"]),
        "there is nothing to change\n"
    );
    subscribe(&["https://a.example/", "--top", "--no-title"]);
    let list = desk.json(&["reader", "list"]);
    assert_eq!(
        (&list[1]["folder"], &list[1]["title"]),
        (&serde_json::json!([]), &serde_json::Value::Null)
    );
    let run =
        desk.run(&["reader", "subscribe", "https://a.example/", "--after", "https://x.example/"]);
    run.fails(3, "https://x.example/ is not another subscription");
    // Imported subscriptions come last in their folders, in the order of the imported list.
    place.write("list.opml", &sound_list());
    desk.ok(&["reader", "import", "list.opml"]);
    assert_eq!(listed(&desk), "dacnb");
    desk.ok(&["reader", "unsubscribe", "https://d.example/"]);
    subscribe(&["https://d.example/"]);
    assert_eq!(listed(&desk), "acnbd");
}

#[test]
fn an_import_leaves_newer_filing_alone_unless_it_is_told_to_refile() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    let news = "https://news.example/rss";
    place.write("list.opml", &sound_list());
    desk.ok(&["reader", "import", "list.opml"]);
    desk.ok(&["reader", "subscribe", news, "--folder", "Elsewhere", "--title", "Mine"]);
    assert_eq!(desk.json(&["reader", "import", "list.opml"])["changes"], 0);
    let filed = || {
        let list = desk.json(&["reader", "list"]);
        (list[0]["title"].to_string(), list[0]["folder"][0].to_string())
    };
    assert_eq!(filed(), ("\"Mine\"".to_owned(), "\"Elsewhere\"".to_owned()));
    assert_eq!(desk.json(&["reader", "import", "list.opml", "--refile"])["changes"], 1);
    assert_eq!(filed(), ("\"News\"".to_owned(), "\"Daily\"".to_owned()));
}

#[test]
fn a_feed_is_followed_to_its_new_address_and_back() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    // The new address is lower in order. If the two addresses led to each other, it would represent both.
    let new = "https://blog.example/feed";
    desk.ok(&["reader", "subscribe", FEED, "--title", "News"]);
    desk.ok(&["reader", "star", FEED, "urn:x:1"]);
    assert_eq!(desk.json(&["reader", "relocate", FEED, new])["changed"], 1);
    assert_eq!(desk.ok(&["reader", "relocate", FEED, new]), "there is nothing to change\n");
    let articles = desk.json(&["reader", "articles", FEED]);
    assert_eq!((&articles[0]["feed"], &articles[0]["feed_title"]), (&new.into(), &"News".into()));
    assert_eq!(listed(&desk), "b");
    desk.ok(&["reader", "relocate", new, FEED]);
    assert_eq!(listed(&desk), "e");
    assert_eq!(desk.json(&["reader", "articles"])[0]["feed"], FEED);
}

#[test]
fn feed_that_moved_is_known_at_both_addresses() {
    let new = "https://blog.example/feed";
    for address in [new, FEED] {
        let place = TestDirectory::new();
        let desk = place.bare("desk");
        desk.ok(&["reader", "subscribe", FEED, "--title", "News"]);
        desk.ok(&["reader", "relocate", FEED, new]);
        assert_eq!(listed(&desk), "b");
        assert_eq!(desk.json(&["reader", "unsubscribe", address])["changed"], 1);
        assert_eq!(listed(&desk), "", "{address}");
    }
}

#[test]
fn marked_starred_and_tagged_articles_are_listed() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    let known = |words: &[&str]| {
        let found = desk.json(&[&["reader", "articles"], words].concat());
        let articles = found.as_array().unwrap().iter();
        articles.map(|one| one["article"].as_str().unwrap().to_owned()).collect::<Vec<_>>().concat()
    };
    assert_eq!(desk.ok(&["reader", "articles"]), "no such articles\n");
    desk.ok(&["reader", "subscribe", FEED, "--title", "News"]);
    desk.ok(&["reader", "mark", FEED, "--read", "a", "--read", "b"]);
    desk.ok(&["reader", "mark", FEED, "--unread", "b"]);
    desk.ok(&["reader", "star", FEED, "c", "d"]);
    desk.ok(&["reader", "tag", FEED, "c", "later", "food"]);
    desk.ok(&["reader", "tag", "https://other.example/", "e", "later"]);
    assert_eq!(known(&[]), "abcde");
    assert_eq!(known(&[FEED]), "abcd");
    assert_eq!((known(&["--read"]), known(&["--unread"])), ("a".to_owned(), "b".to_owned()));
    assert_eq!(known(&["--starred"]), "cd");
    assert_eq!(known(&["--tag", "later"]), "ce");
    assert_eq!(known(&["--tag", "later", "--tag", "food"]), "c");
    let table = desk.ok(&["reader", "articles", FEED, "--starred"]);
    assert_eq!(table.lines().nth(1).unwrap(), "News  -     *     food, later  c");
    desk.ok(&["reader", "tag", FEED, "c", "later", "--remove"]);
    desk.ok(&["reader", "star", FEED, "d", "--remove"]);
    assert_eq!(
        (known(&["--tag", "later"]), known(&["--starred"])),
        ("e".to_owned(), "c".to_owned())
    );
}
