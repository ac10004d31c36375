//! Property tests with arbitrary requests.

use feedsync_log::Millis;
use feedsync_reader_api::{
    ArticleNumber, Continuation, RawRequest, fever, google, miniflux, nextcloud, ttrss,
};
use proptest::prelude::*;

/// Text like the path, the query or the form of a request.
fn any_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        prop::sample::select(WORDS),
        prop::sample::select(&[
            "/", "/", "&", "=", "?", "%", "%2F", "%ff", "+", ",", "-", "\u{e4}"
        ]),
    ];
    prop_oneof![
        4 => prop::collection::vec(word, 0..12).prop_map(|words| words.concat()),
        1 => any::<String>(),
    ]
}

const WORDS: &[&str] = &[
    "accounts/ClientLogin",
    "api/greader.php",
    "reader/api/0/",
    "reader/atom/",
    "stream/contents/",
    "stream/items/ids",
    "stream/items/contents",
    "subscription/edit",
    "subscription/import",
    "edit-tag",
    "mark-all-as-read",
    "user/-/state/com.google/read",
    "user/-/label/",
    "feed/",
    "https://a.example/",
    "tag:google.com,2005:reader/item/",
    "i=",
    "s=",
    "a=",
    "r=",
    "n=",
    "c=",
    "ts=",
    "ac=edit",
    "categories/",
    "feeds/",
    "entries/",
    "entries",
    "1000/",
    "items/",
    "api/",
    "op=getHeadlines",
    "op=updateArticle",
    "op=catchupFeed",
    "feed_id=",
    "article_ids=",
    "is_cat=1",
    "{\"op\":\"updateArticle\",\"article_ids\":\"1,2\",\"field\":2,\"mode\":",
    "1}",
    "mark=item&as=read&id=",
    "mark=group&as=read&before=",
    "items&since_id=",
    "with_ids=",
    "folders/",
    "/star",
    "/multiple",
    "/read",
    "newestItemId=",
    "{\"items\":[{\"feedId\":1,\"guidHash\":\"a\"}]}",
    "mark-all-as-read",
    "status=read",
    "order=",
    "limit=",
    "changed_after=",
    "{\"entry_ids\":[1,\"2\"],\"status\":\"read\"}",
    "{\"title\":\"a\",",
    "\"category_id\":1}",
    "1",
    "18446744073709551616",
];

proptest! {
    #[test]
    fn no_request_makes_it_panic(
        method in prop::sample::select(&["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", ""]),
        path in any_text(),
        below in any_text(),
        query in any_text(),
        form in any_text(),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        media_type in prop::option::of(prop::sample::select(&[crate::support::FORM, "application/json", ";", "\u{e4}"])),
    ) {
        let starts = ["", "/reader/api/0/", "/v1/", "/v1-2/", "/api/"];
        for path in starts.map(|start| format!("{start}{}", if start.is_empty() { &path } else { &below })) {
            for body in [form.as_bytes(), &bytes] {
                let asked = RawRequest { method, path: &path, query: &query, content_type: media_type, body };
                let faults = [
                    google::read(&asked).err(),
                    miniflux::read(&asked).err(),
                    nextcloud::read(&asked).err(),
                    ttrss::read(&asked).and_then(|call| call.request).err(),
                    fever::read(&asked).and_then(|call| call.request).err(),
                ];
                for fault in faults.into_iter().flatten() {
                    prop_assert!((400..500).contains(&fault.status()) && !fault.to_string().is_empty());
                }
            }
        }
        let _ = google::authorization(&query);
    }

    #[test]
    fn continuations_survive_a_round_trip(at in 0..=Millis::MAX.get(), number in any::<i64>()) {
        let next = Continuation { at: Millis::new(at), article: ArticleNumber::new(number) };
        let text = next.to_string();
        prop_assert_eq!(text.parse(), Ok(next));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        prop_assert!(text.bytes().all(is_plain));
    }

    #[test]
    fn only_canonical_continuations_are_accepted(text in "[0-9.+-]{0,24}") {
        if let Ok(next) = text.parse::<Continuation>() {
            prop_assert_eq!(next.to_string(), text);
        }
    }
}
