//! Requests as newsreaders send them, and sample objects.

use feedsync_log::Millis;
use feedsync_reader_api::{
    Article, ArticleNumber, Enclosure, FeedNumber, Folders, RawRequest, RawResponse, Subscription,
};
use feedsync_reading_state::Folder;
use serde_json::Value;

/// Media type of forms.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// A request, given by its method and address: `GET /path?query`.
pub(crate) fn asked<'a>(
    line: &'a str,
    media_type: Option<&'a str>,
    body: &'a [u8],
) -> RawRequest<'a> {
    let (method, address) = line.split_once(' ').unwrap();
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    RawRequest { method, path, query, content_type: media_type, body }
}

pub(crate) fn articles(numbers: &[i64]) -> Vec<ArticleNumber> {
    numbers.iter().copied().map(ArticleNumber::new).collect()
}

pub(crate) fn folder(names: &[&str]) -> Folder {
    Folder::new(names.iter().map(|name| name.parse().unwrap()).collect()).unwrap()
}

/// The folder `News / Local`.
pub(crate) fn folders() -> Folders {
    Folders::new([&folder(&["News", "Local"])])
}

/// Feed 1 in that folder, and feed 2 in none, with only its address known.
pub(crate) fn feeds() -> Vec<Subscription> {
    let bare = Subscription {
        number: FeedNumber::new(2),
        address: "https://b.example/feed".parse().unwrap(),
        title: "https://b.example/feed".to_owned(),
        site: None,
        folder: None,
        icon: None,
        newest: None,
        unread: 3,
        checked: None,
        fault: None,
        fault_count: 0,
    };
    let full = Subscription {
        number: FeedNumber::new(1),
        address: "https://a.example/feed?x=1&y=2".parse().unwrap(),
        title: "A \"fine\" <feed> & more".to_owned(),
        site: Some("https://a.example/".to_owned()),
        folder: folders().iter().next().cloned(),
        icon: Some("https://hub.example/icons/1".to_owned()),
        newest: Some(Millis::new(1_795_330_800_123)),
        unread: 2,
        checked: Some(Millis::new(1_795_330_900_000)),
        fault: Some("it is away".to_owned()),
        fault_count: 4,
    };
    vec![full, bare]
}

/// Article 17 of feed 1, read, starred and tagged; article 18 of a feed that is not subscribed to.
pub(crate) fn shown() -> Vec<Article> {
    let full = Article {
        number: ArticleNumber::new(17),
        feed: FeedNumber::new(1),
        name: "urn:x:17".parse().unwrap(),
        title: "One & <b>two</b>".to_owned(),
        address: Some("https://a.example/17?a=b&c=d".to_owned()),
        author: Some("Somebody".to_owned()),
        published: Millis::new(1_795_330_700_999),
        received: Millis::new(1_795_330_800_123),
        changed: Some(Millis::new(1_795_330_850_000)),
        content: "<p>What it \"says\" &amp; means</p>".to_owned(),
        enclosures: vec![
            Enclosure {
                address: "https://a.example/17.mp3".to_owned(),
                media_type: Some("audio/mpeg".to_owned()),
                length: Some(1_234),
                duration: None,
            },
            Enclosure {
                address: "https://a.example/17".to_owned(),
                media_type: None,
                length: None,
                duration: None,
            },
        ],
        is_read: true,
        is_starred: true,
        tags: vec!["later".parse().unwrap()],
    };
    let bare = Article {
        number: ArticleNumber::new(18),
        feed: FeedNumber::new(3),
        name: "18".parse().unwrap(),
        title: String::new(),
        address: None,
        author: None,
        published: Millis::default(),
        received: Millis::default(),
        changed: None,
        content: String::new(),
        enclosures: Vec::new(),
        is_read: false,
        is_starred: false,
        tags: Vec::new(),
    };
    vec![full, bare]
}

/// Value of a JSON response.
pub(crate) fn json(answer: &RawResponse) -> Value {
    assert_eq!(answer.media_type, Some("application/json; charset=utf-8"));
    serde_json::from_slice(&answer.body).unwrap()
}

/// Text of a response.
pub(crate) fn text(answer: &RawResponse) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}
