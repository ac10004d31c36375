//! The Atom that newsboat reads: it is well-formed for all contents, and contains what is known of the articles.

use crate::support::*;
use feedsync_core::Format;
use feedsync_formats::{ReadOptions, read};
use feedsync_log::Millis;
use feedsync_reader_api::google::{self, Request};
use feedsync_reader_api::{
    Article, ArticleNumber, Continuation, Enclosure, FeedName, FeedNumber, RawResponse, Selection,
    Stream, Subscription,
};
use proptest::prelude::*;
use roxmltree::{Document, Node};

const ATOM: &str = "http://www.w3.org/2005/Atom";
const READER: &str = "http://www.google.com/schemas/reader/atom/";

fn child<'a>(parent: Node<'a, 'a>, name: &'static str) -> Option<Node<'a, 'a>> {
    parent.children().find(|child| child.has_tag_name((ATOM, name)))
}

fn said<'a>(parent: Node<'a, 'a>, name: &'static str) -> Option<&'a str> {
    child(parent, name).map(|child| child.text().unwrap_or_default())
}

fn entries<'a>(document: &'a Document<'a>) -> Vec<Node<'a, 'a>> {
    let entries = document.root_element().children();
    entries.filter(|child| child.has_tag_name((ATOM, "entry"))).collect()
}

/// Labels of an entry that newsboat reads.
fn labels<'a>(entry: Node<'a, 'a>) -> Vec<&'a str> {
    let categories = entry.children().filter(|child| child.has_tag_name((ATOM, "category")));
    let of_reader = categories
        .filter(|category| category.attribute("scheme") == Some("http://www.google.com/reader/"));
    of_reader.filter_map(|category| category.attribute("label")).collect()
}

#[test]
fn newsboat_asks_for_a_feed_as_atom() {
    let line = "GET /reader/atom/feed%2F1?n=100";
    let call = google::read(&asked(line, None, b"")).unwrap();
    let Request::Atom(listing) = call.request else { panic!("{call:?}") };
    assert_eq!(listing.stream, "feed/1");
    let feed = Stream::Feed(FeedName::Number(FeedNumber::new(1)));
    assert_eq!(listing.selection, Selection::newest(feed, 100));
    for (line, status) in [
        ("POST /reader/atom/feed%2F1", 405),
        ("GET /reader/atom/", 404),
        ("GET /reader/atom/x", 400),
        ("GET /reader/atom/%ff", 400),
    ] {
        assert_eq!(google::read(&asked(line, None, b"")).unwrap_err().status(), status, "{line}");
    }
}

#[test]
fn entries_contain_all_properties_of_an_article() {
    let next = Continuation { at: Millis::new(5), article: ArticleNumber::new(6) };
    let mut articles = shown();
    articles[1].tags = vec!["read".parse().unwrap()];
    let answer = google::atom("user/-/label/a b", "A & b", &articles, &feeds(), Some(next));
    assert_eq!(answer.media_type, Some("application/atom+xml; charset=utf-8"));
    let document = Document::parse(text(&answer)).unwrap();
    let feed = document.root_element();
    assert_eq!(said(feed, "id"), Some("tag:google.com,2005:reader/user/-/label/a%20b"));
    assert_eq!(said(feed, "title"), Some("A & b"));
    assert_eq!(said(feed, "updated"), Some("2026-11-22T07:00:00Z"));
    let on = feed.children().find(|child| child.has_tag_name((READER, "continuation"))).unwrap();
    assert_eq!(on.text(), Some(&*next.to_string()));
    let entries = entries(&document);
    assert_eq!(said(entries[0], "id"), Some("tag:google.com,2005:reader/item/0000000000000011"));
    assert_eq!(labels(entries[0]), ["read", "starred"]);
    assert_eq!(said(entries[0], "content"), Some("<p>What it \"says\" &amp; means</p>"));
    assert_eq!(child(entries[0], "content").unwrap().attribute("type"), Some("html"));
    assert_eq!(said(entries[0], "published"), Some("2026-11-22T06:58:20Z"));
    assert_eq!(said(child(entries[0], "author").unwrap(), "name"), Some("Somebody"));
    let links = entries[0].children().filter(|child| child.has_tag_name((ATOM, "link")));
    let links: Vec<_> = links
        .map(|link| ["rel", "href", "type", "length"].map(|name| link.attribute(name)))
        .collect();
    let page = "https://a.example/17?a=b&c=d";
    assert_eq!(links[0], [Some("alternate"), Some(page), Some("text/html"), None]);
    let media = "https://a.example/17.mp3";
    assert_eq!(links[1], [Some("enclosure"), Some(media), Some("audio/mpeg"), Some("1234")]);
    let source = child(entries[0], "source").unwrap();
    assert_eq!(source.attribute((READER, "stream-id")), Some("feed/1"));
    assert_eq!(said(source, "title"), Some("A \"fine\" <feed> & more"));
    // A tag does not express a read state, even if it is called like one.
    assert_eq!(labels(entries[1]), ["fresh"]);
    assert_eq!(said(entries[1], "title"), Some(""));
}

/// Text after a round trip through XML, which cannot represent all characters.
fn held(text: &str) -> String {
    let is_held = |character: char| matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|character| if is_held(character) { character } else { '\u{fffd}' }).collect()
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[<>&\"'\\]\u{0}-\u{20}\u{fffe}\u{ffff}a]{0,12}"]
}

fn any_article() -> impl Strategy<Value = Article> {
    let texts = [any_text(), any_text(), any_text(), any_text()];
    (texts, any::<[bool; 3]>(), any::<i64>(), 0..=Millis::MAX.get()).prop_map(
        |([title, content, address, author], [is_read, is_starred, is_full], number, at)| Article {
            number: ArticleNumber::new(number),
            title,
            address: is_full.then(|| address.clone()),
            author: is_full.then(|| author.clone()),
            published: Millis::new(at),
            received: Millis::new(at),
            content,
            enclosures: vec![Enclosure {
                address,
                media_type: Some(author),
                length: None,
                duration: None,
            }],
            is_read,
            is_starred,
            ..shown().swap_remove(0)
        },
    )
}

fn document(stream: &str, title: &str, articles: &[Article]) -> RawResponse {
    let mut feeds: Vec<Subscription> = feeds();
    feeds[0].title = title.to_owned();
    feeds[0].site = Some(title.to_owned());
    google::atom(stream, title, articles, &feeds, None)
}

proptest! {
    #[test]
    fn atom_is_well_formed_for_arbitrary_articles(
        articles in prop::collection::vec(any_article(), 0..3),
        title in any_text(),
        stream in any_text(),
    ) {
        let answer = document(&stream, &title, &articles);
        let read = read(&answer.body, Some(Format::Atom), &ReadOptions::strict());
        prop_assert!(read.is_ok(), "{:?}", read);
        let document = Document::parse(text(&answer)).unwrap();
        prop_assert_eq!(said(document.root_element(), "title"), Some(&*held(&title)));
        let entries = entries(&document);
        prop_assert_eq!(entries.len(), articles.len());
        for (entry, article) in entries.into_iter().zip(&articles) {
            prop_assert_eq!(said(entry, "title"), Some(&*held(&article.title)));
            prop_assert_eq!(said(entry, "content"), Some(&*held(&article.content)));
            let is_read = labels(entry).contains(&"read");
            prop_assert_eq!((is_read, labels(entry).contains(&"starred")), (article.is_read, article.is_starred));
            let id: google::ItemId = said(entry, "id").unwrap().parse().unwrap();
            prop_assert_eq!(id.0, article.number);
        }
    }
}
