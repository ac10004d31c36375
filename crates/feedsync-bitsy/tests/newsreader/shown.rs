//! Stored responses of Google Reader with waiting changes.

use feedsync_bitsy::newsreader::Interface;
use serde_json::{Value, json};

use crate::desk::{Said, said};
use crate::stored::{Stored, stored};

const STATE: &str = "user/-/state/com.google";
/// The read state in the spelling that Liferea compares.
const READ_BY_LIFEREA: &str = r"user/-/state\/com.google\/read";

fn get(path: &str) -> Said {
    said(&format!("GET reader/api/0/{path}"), "")
}

fn list() -> Said {
    get("stream/contents/reading-list")
}

fn item(number: i64, feed: i64, categories: &[&str]) -> Value {
    json!({
        "id": format!("tag:google.com,2005:reader/item/{number:016x}"),
        "crawlTimeMsec": (number * 1_000).to_string(),
        "categories": categories,
        "origin": { "streamId": format!("feed/{feed}") },
    })
}

fn items(items: &[Value]) -> String {
    json!({ "items": items }).to_string()
}

fn edit(body: &str) -> Said {
    said("POST reader/api/0/edit-tag", body)
}

/// Three unread articles. The first and the last are of feed 1, which is in the folder News.
fn three() -> Stored {
    let body = items(&[item(3, 1, &[]), item(2, 2, &[]), item(1, 1, &[])]);
    let mut stored = stored(Interface::Google, &list(), &body);
    let subscriptions = json!({ "subscriptions": [
        { "id": "feed/1", "categories": [{ "id": "user/-/label/News" }] },
        { "id": "feed/2", "categories": [] },
    ] });
    stored.store(&get("subscription/list"), &subscriptions.to_string());
    stored
}

/// Categories of the articles in a list.
fn categories(stored: &Stored, said: &Said) -> Vec<Vec<String>> {
    let value = stored.json(said);
    let of = |item: &Value| serde_json::from_value(item["categories"].clone()).unwrap();
    value["items"].as_array().unwrap().iter().map(of).collect()
}

fn numbers(stored: &Stored, said: &Said) -> Vec<i64> {
    let value = stored.json(said);
    let hex = |item: &Value| {
        let id = item["id"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        i64::from_str_radix(&id, 16).unwrap()
    };
    value["items"].as_array().unwrap().iter().map(hex).collect()
}

#[test]
fn unread_counts_of_feeds_folders_and_everything_follow_the_changes() {
    let mut stored = three();
    let counts = get("unread-count");
    let body = json!({ "max": 1000, "unreadcounts": [
        { "id": "feed/1", "count": 2 },
        { "id": "feed/2", "count": 1 },
        { "id": "user/-/label/News", "count": "2" },
        { "id": "user/-/label/Other", "count": 4 },
        { "id": format!("user/7/state/com.google/reading-list"), "count": 3 },
        { "id": format!("{STATE}/starred"), "count": 5 },
        { "id": "folder/1", "count": 6 },
    ] });
    stored.store(&counts, &body.to_string());
    stored.take(&edit(&format!("i=1&a={STATE}/read"))).unwrap();
    stored.take(&edit(&format!("i=2&a={STATE}/read"))).unwrap();
    stored.take(&edit(&format!("i=3&a={STATE}/starred"))).unwrap();
    // The article is read already, so it is not counted twice.
    stored.take(&edit(&format!("i=1&a={STATE}/read"))).unwrap();
    let shown = stored.json(&counts);
    let counted = |at: usize| shown["unreadcounts"][at]["count"].clone();
    let found: Vec<Value> = (0..7).map(counted).collect();
    assert_eq!(found, [json!(1), json!(0), json!("1"), json!(4), json!(1), json!(5), json!(6)]);
    stored.take(&edit(&format!("i=1&r={STATE}/read"))).unwrap();
    assert_eq!(stored.json(&counts)["unreadcounts"][0]["count"], 2);
}

#[test]
fn unread_count_does_not_fall_below_zero() {
    let mut stored = three();
    let counts = get("unread-count");
    let body = json!({ "unreadcounts": [{ "id": "feed/1", "count": 1 }] });
    stored.store(&counts, &body.to_string());
    for number in [1, 3] {
        stored.take(&edit(&format!("i={number}&a={STATE}/read"))).unwrap();
    }
    assert_eq!(stored.json(&counts)["unreadcounts"][0]["count"], 0);
}

#[test]
fn stream_count_is_a_plain_number() {
    let mut stored = three();
    let count = |stream: &str| get(&format!("stream/items/count?s={stream}"));
    for stream in ["unread", "starred", "read", "reading-list", "feed/1"] {
        stored.store(&count(stream), "1,234");
    }
    for change in ["i=1&a=read", "i=2&a=read", "i=3&a=starred"] {
        stored.take(&edit(change)).unwrap();
    }
    let shown = |stream: &str| stored.text(&count(stream));
    assert_eq!(shown("unread"), "1232");
    assert_eq!(shown("starred"), "1235");
    // The previous number of read articles is unknown.
    assert_eq!((shown("read"), shown("reading-list")), ("1234".to_owned(), "1234".to_owned()));
    assert_eq!(shown("feed/1"), "1234");
}

#[test]
fn states_and_labels_are_written_into_the_categories() {
    let mut stored = three();
    let body = items(&[
        item(3, 1, &["user/7/state/com.google/read", "user/7/label/old", "user/7/label/kept"]),
        item(2, 2, &["user/-/state/com.google/fresh", "user/-/state/com.google/kept-unread", "x"]),
        item(1, 1, &["user/-/state/com.google/starred", "user/-/state/other/read"]),
    ]);
    stored.store(&list(), &body);
    stored
        .take(&edit(&format!("i=3&r={STATE}/read&a=user/-/label/new&r=user/-/label/old")))
        .unwrap();
    stored.take(&edit(&format!("i=2&a={STATE}/read"))).unwrap();
    stored.take(&edit(&format!("i=1&r={STATE}/starred&a={STATE}/read"))).unwrap();
    let found = categories(&stored, &list());
    assert_eq!(found[0], ["user/7/label/kept", "user/-/label/new"]);
    assert_eq!(found[1], ["x", "user/-/state/com.google/read"]);
    assert_eq!(found[2], ["user/-/state/other/read", "user/-/state/com.google/read"]);
    // The newest change of a label applies, and the label is present once.
    stored.take(&edit("i=3&a=user/-/label/kept")).unwrap();
    stored.take(&edit("i=3&r=user/-/label/new")).unwrap();
    assert_eq!(categories(&stored, &list())[0], ["user/-/label/kept"]);
}

#[test]
fn marked_member_of_an_article_changes_where_present() {
    let mut stored = three();
    let mut starred = item(1, 1, &[]);
    starred["marked"] = json!(false);
    stored.store(&list(), &items(&[item(2, 2, &[]), starred]));
    for number in [1, 2] {
        stored.take(&edit(&format!("i={number}&a={STATE}/starred"))).unwrap();
    }
    let shown = stored.json(&list());
    assert_eq!(shown["items"][1]["marked"], true);
    assert_eq!(shown["items"][0].get("marked"), None);
}

#[test]
fn liferea_gets_its_own_spelling_of_the_read_state() {
    let mut stored = three();
    let (plain, by_liferea) =
        (get("stream/items/contents?i=1"), get("stream/items/contents?i=1&mediaRss=true"));
    for said in [&plain, &by_liferea] {
        stored.store(said, &items(&[item(1, 1, &["x"])]));
    }
    stored.take(&edit(&format!("i=1&a={STATE}/read"))).unwrap();
    let read = format!("{STATE}/read");
    assert_eq!(categories(&stored, &by_liferea)[0], [READ_BY_LIFEREA, "x", &read]);
    assert_eq!(categories(&stored, &plain)[0], ["x", &read]);
    stored.take(&edit(&format!("i=1&r={STATE}/read"))).unwrap();
    assert_eq!(categories(&stored, &by_liferea)[0], ["x"]);
    // The state for Liferea is also understood when read.
    let body = items(&[item(1, 1, &[READ_BY_LIFEREA, "x"])]);
    let facts = |said: &Said| {
        let form = stored.reading(said).form;
        Interface::Google.facts(&form, body.as_bytes()).unwrap().articles[0].is_read
    };
    assert_eq!(facts(&by_liferea), Some(true));
}

#[test]
fn marked_articles_are_inserted_into_and_removed_from_lists() {
    let mut stored = three();
    let newest = get("stream/contents/starred");
    let oldest = get("stream/contents/starred?r=o");
    let star = format!("{STATE}/starred");
    stored.store(&newest, &items(&[item(9, 2, &[&star]), item(2, 2, &[&star])]));
    stored.store(&oldest, &items(&[item(2, 2, &[&star]), item(9, 2, &[&star])]));
    stored.take(&edit(&format!("i=3&a={star}"))).unwrap();
    stored.take(&edit(&format!("i=1&a={star}"))).unwrap();
    assert_eq!(numbers(&stored, &newest), [9, 3, 2, 1]);
    assert_eq!(numbers(&stored, &oldest), [1, 2, 3, 9]);
    stored.take(&edit(&format!("i=2&r={star}"))).unwrap();
    assert_eq!(numbers(&stored, &newest), [9, 3, 1]);
    // A list of all articles does not grow.
    assert_eq!(numbers(&stored, &list()), [3, 2, 1]);
}

#[test]
fn publication_date_orders_articles_without_a_crawl_time() {
    let published = |number: i64, at: i64, states: &[&str]| {
        let mut item = item(number, 1, states);
        item.as_object_mut().unwrap().remove("crawlTimeMsec");
        item["published"] = json!(at);
        item
    };
    let star = format!("{STATE}/starred");
    let all = items(&[published(1, 50, &[]), published(2, 10, &[])]);
    let mut stored = stored(Interface::Google, &list(), &all);
    let starred = get("stream/contents/starred");
    let body = [published(3, 90, &[&star]), published(4, 20, &[&star])];
    stored.store(&starred, &items(&body));
    for number in [1, 2] {
        stored.take(&edit(&format!("i={number}&a={star}"))).unwrap();
    }
    assert_eq!(numbers(&stored, &starred), [3, 1, 4, 2]);
}

#[test]
fn article_numbers_are_inserted_and_removed_in_order() {
    let mut stored = three();
    let ids = |query: &str| get(&format!("stream/items/ids?s=reading-list&{query}"));
    let (unread, oldest) = (ids("xt=read"), ids("xt=read&r=o"));
    let body = |numbers: &[&str]| {
        let refs: Vec<Value> = numbers.iter().map(|number| json!({ "id": number })).collect();
        json!({ "itemRefs": refs }).to_string()
    };
    stored.store(&unread, &body(&["3", "2", "1"]));
    stored.store(&oldest, &body(&["1", "2", "3"]));
    stored.take(&edit("i=2&a=read")).unwrap();
    let shown = |stored: &Stored, said: &Said| -> Vec<String> {
        let value = stored.json(said);
        let refs = value["itemRefs"].as_array().unwrap().iter();
        refs.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(shown(&stored, &unread), ["3", "1"]);
    // A list that was stored when an article was read gets it back.
    stored.store(&list(), &items(&[item(2, 2, &[&format!("{STATE}/read")])]));
    let partition = stored.partition;
    let waiting = stored.accounts().pending(partition).next().unwrap().id;
    stored.accounts().sent(waiting);
    stored.store(&unread, &body(&["3", "1"]));
    stored.store(&oldest, &body(&["1", "3"]));
    stored.take(&edit("i=2&r=read")).unwrap();
    assert_eq!(shown(&stored, &unread), ["3", "2", "1"]);
    assert_eq!(shown(&stored, &oldest), ["1", "2", "3"]);
    assert_eq!(stored.json(&unread)["itemRefs"][1]["directStreamIds"], json!([]));
}

const SCHEME: &str = "http://www.google.com/reader/";

fn category(label: &str) -> String {
    format!("<category term=\"{STATE}/{label}\" scheme=\"{SCHEME}\" label=\"{label}\"/>")
}

fn entry(number: i64, before: &str, after: &str) -> String {
    format!(
        "<entry>{before}<id>tag:google.com,2005:reader/item/{number:016x}</id><title>t</title>{after}</entry>"
    )
}

fn atom(entries: &str) -> String {
    format!("<?xml version=\"1.0\"?><feed xmlns=\"http://www.w3.org/2005/Atom\">{entries}</feed>")
}

/// Labels of each entry of a stream.
fn labels(text: &str) -> Vec<Vec<String>> {
    let entries = feedsync_formats::labelled_entries(text, SCHEME).unwrap();
    let labels = |entry: feedsync_formats::LabelledEntry| {
        entry.labels.iter().map(|(_, label)| label.to_string()).collect()
    };
    entries.into_iter().map(labels).collect()
}

#[test]
fn atom_entries_show_their_changes() {
    let stream = said("GET reader/atom/feed/1", "");
    let entries = [
        entry(1, &category("kept-unread"), &category("x")),
        entry(2, &category("read"), &category("starred")),
        entry(3, "", &category("fresh")),
        entry(4, "", &category("starred")),
        entry(5, "", &category("read")),
    ];
    let mut stored = stored(Interface::Google, &stream, &atom(&entries.concat()));
    for change in ["i=1&a=read", "i=2&r=read", "i=2&r=starred", "i=3&a=starred", "i=4&a=read"] {
        stored.take(&edit(change)).unwrap();
    }
    let shown = stored.text(&stream);
    assert_eq!(
        labels(&shown),
        [
            vec!["read", "x"],
            vec!["kept-unread"],
            vec!["starred", "fresh"],
            vec!["read", "starred"],
            vec!["read"]
        ]
    );
    // Everything else is unchanged, including an entry without changes.
    assert!(shown.ends_with(&format!("{}</feed>", entries[4])), "{shown}");
    assert!(shown.starts_with(
        "<?xml version=\"1.0\"?><feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><id>"
    ));
    assert_eq!(shown.matches("<title>t</title>").count(), 5);
}

#[test]
fn facts_of_atom_entries_come_from_their_labels() {
    let stream = said("GET reader/atom/feed/1", "");
    let entries = [
        entry(1, "", &category("read")),
        entry(2, "", &category("kept-unread")),
        entry(3, "", &category("fresh")),
        entry(4, "", &category("starred")),
    ];
    let text = atom(&entries.concat());
    let stored = stored(Interface::Google, &stream, &text);
    let form = stored.reading(&stream).form;
    let facts = Interface::Google.facts(&form, text.as_bytes()).unwrap();
    let said: Vec<_> =
        facts.articles.iter().map(|it| (it.article, it.is_read, it.is_starred)).collect();
    let expected = [
        (1, Some(true), Some(false)),
        (2, Some(false), Some(false)),
        (3, Some(false), Some(false)),
        (4, None, Some(true)),
    ];
    assert_eq!(said, expected);
    assert!(facts.articles.iter().all(|fact| fact.feed.is_some()));
    assert_eq!(Interface::Google.facts(&form, b"<feed"), None);
}

#[test]
fn article_that_no_longer_matches_is_removed_from_its_atom_stream() {
    let stream = said("GET reader/atom/user/-/state/com.google/reading-list?xt=read", "");
    let text = atom(&[entry(1, "", ""), entry(2, "", "")].concat());
    let mut stored = stored(Interface::Google, &stream, &text);
    stored.take(&edit("i=1&a=read")).unwrap();
    assert_eq!(stored.text(&stream), atom(&entry(2, "", "")));
}
