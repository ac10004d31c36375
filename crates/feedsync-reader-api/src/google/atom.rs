//! Streams as Atom, which newsboat reads. The read state of an article is in its categories.

use feedsync_formats::{escape_attribute, escape_text};
use feedsync_log::Millis;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::item_id::ItemId;
use super::items::{Feeds, by_number};
use super::stream::{READ, STARRED, feed_id};
use crate::answer::RawResponse;
use crate::continuation::Continuation;
use crate::date::rfc3339;
use crate::shown::{Article, Subscription};

/// Scheme of categories that express a read state.
const SCHEME: &str = "http://www.google.com/reader/";

const FRESH: &str = "user/-/state/com.google/fresh";

/// Characters that are not allowed in an IRI.
const NOT_IN_IRI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Response with the articles of a stream as an Atom feed, and the cursor of the next page.
pub fn atom(
    stream: &str,
    title: &str,
    articles: &[Article],
    feeds: &[Subscription],
    next: Option<Continuation>,
) -> RawResponse {
    let feeds = by_number(feeds);
    let newest = articles.iter().map(|article| article.received).max().unwrap_or_default();
    let mut out = String::from(concat!(
        r#"<?xml version="1.0" encoding="utf-8"?>"#,
        "\n",
        r#"<feed xmlns="http://www.w3.org/2005/Atom""#,
        r#" xmlns:gr="http://www.google.com/schemas/reader/atom/">"#,
    ));
    push_text(&mut out, "id", &stream_iri(stream));
    push_text(&mut out, "title", title);
    push_text(&mut out, "updated", &rfc3339(newest));
    out.push_str("<author>");
    push_text(&mut out, "name", title);
    out.push_str("</author>");
    if let Some(next) = next {
        push_text(&mut out, "gr:continuation", &next.to_string());
    }
    for article in articles {
        push_entry(&mut out, article, &feeds);
    }
    out.push_str("\n</feed>\n");
    RawResponse::document("application/atom+xml; charset=utf-8", out)
}

fn push_entry(out: &mut String, article: &Article, feeds: &Feeds<'_>) {
    out.push_str("\n<entry");
    push_attribute(out, "gr:crawl-timestamp-msec", &article.received.to_string());
    out.push('>');
    push_text(out, "id", &ItemId(article.number).to_string());
    push_state(out, if article.is_read { READ } else { FRESH });
    if article.is_starred {
        push_state(out, STARRED);
    }
    // Without the scheme, since a tag may be called "read".
    for tag in &article.tags {
        push_empty(out, "category", &[("term", tag.as_str())]);
    }
    push_text(out, "title", &article.title);
    push_dates(out, article.published);
    if let Some(address) = &article.address {
        push_link(out, "alternate", address, "text/html", None);
    }
    for enclosure in &article.enclosures {
        let media_type = enclosure.media_type.as_deref().unwrap_or("application/octet-stream");
        push_link(out, "enclosure", &enclosure.address, media_type, enclosure.length);
    }
    out.push_str(r#"<content type="html">"#);
    escape_text(out, &article.content);
    out.push_str("</content>");
    if let Some(author) = &article.author {
        out.push_str("<author>");
        push_text(out, "name", author);
        out.push_str("</author>");
    }
    push_source(out, article, feeds);
    out.push_str("</entry>");
}

fn push_dates(out: &mut String, published: Millis) {
    let date = rfc3339(published);
    push_text(out, "published", &date);
    push_text(out, "updated", &date);
}

/// Writes the feed of an article.
fn push_source(out: &mut String, article: &Article, feeds: &Feeds<'_>) {
    let stream = feed_id(article.feed);
    out.push_str("<source");
    push_attribute(out, "gr:stream-id", &stream);
    out.push('>');
    push_text(out, "id", &stream_iri(&stream));
    if let Some(feed) = feeds.get(&article.feed) {
        push_text(out, "title", &feed.title);
        if let Some(site) = &feed.site {
            push_link(out, "alternate", site, "text/html", None);
        }
    }
    out.push_str("</source>");
}

fn push_state(out: &mut String, state: &str) {
    let label = state.rsplit('/').next().unwrap_or_default();
    push_empty(out, "category", &[("term", state), ("scheme", SCHEME), ("label", label)]);
}

fn push_link(out: &mut String, rel: &str, href: &str, media_type: &str, length: Option<u64>) {
    let length = length.map(|length| length.to_string());
    let mut attributes = vec![("rel", rel), ("href", href), ("type", media_type)];
    attributes.extend(length.iter().map(|length| ("length", &**length)));
    push_empty(out, "link", &attributes);
}

fn push_empty(out: &mut String, name: &str, attributes: &[(&str, &str)]) {
    out.push('<');
    out.push_str(name);
    for (name, value) in attributes {
        push_attribute(out, name, value);
    }
    out.push_str("/>");
}

fn push_attribute(out: &mut String, name: &str, value: &str) {
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    escape_attribute(out, value);
    out.push('"');
}

fn push_text(out: &mut String, name: &str, text: &str) {
    out.push_str(&format!("<{name}>"));
    escape_text(out, text);
    out.push_str(&format!("</{name}>"));
}

fn stream_iri(stream: &str) -> String {
    format!("tag:google.com,2005:reader/{}", utf8_percent_encode(stream, NOT_IN_IRI))
}
