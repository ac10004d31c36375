//! JSON Feed 1.1, which newsreaders support. It is only a projection: it is never read, and it is not the format of
//! `.json`, which is FeedSync JSON.
//!
//! The output is a valid feed for any items: members have the required types, every item has an id and a text or
//! HTML, and every address is absolute. The sync data of an item is in an extension, `_feedsync`. `docs/mapping.md`
//! lists the fields that are written.

use feedsync_core::{Item, ItemId, Payload, Version};

use crate::compose::is_iri;
use crate::entry::{ContentType, ENCLOSURE, Entry, Link, Person, RELATED, language};
use crate::head::FeedHead;
use crate::json::{close, push_string, push_text};
use crate::mapping::shown;
use crate::names::CHANGES_RELATION;

/// The media type of JSON Feed.
pub const JSON_FEED_TYPE: &str = "application/feed+json";

const VERSION: &str = "https://jsonfeed.org/version/1.1";

/// Writes a JSON Feed to a `String` that the caller drains: the head once, any number of items, the end once.
#[derive(Debug, Default)]
pub struct JsonFeedWriter {
    items: bool,
}

impl JsonFeedWriter {
    /// Creates a writer for a new feed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends everything before the first item. On every page the feed's own link is that of its first page, since
    /// readers identify the feed by it.
    pub fn begin(&mut self, out: &mut String, head: &FeedHead<'_>) {
        out.push('{');
        push_text(out, "version", VERSION);
        push_text(out, "title", head.title);
        let linked = |rel: &str| head.links.iter().find(|link| link.rel == rel);
        push_address(out, "home_page_url", linked("alternate").map(|link| link.href));
        push_address(out, "feed_url", head.self_link);
        push_address(out, "next_url", head.next.filter(|next| Some(*next) != head.self_link));
        let details = head.details;
        if let Some(subtitle) = details.and_then(|details| details.subtitle.as_deref()) {
            push_text(out, "description", subtitle);
        }
        let author = details.and_then(|details| details.author.as_deref()).unwrap_or(head.author);
        let publisher = Person { name: Some(author.to_owned()), ..Person::default() };
        push_authors(out, &publisher);
        push_name(out, "_feedsync");
        out.push('{');
        push_text(out, "id", head.id);
        push_address(out, "changes", linked(CHANGES_RELATION).map(|link| link.href));
        if let Some(sharing) = head.sharing {
            push_address(out, "complete", sharing.complete());
            if let Some(window) = &sharing.window {
                push_text(out, "since", &window.since);
                push_text(out, "until", &window.until);
            }
        }
        close(out, "},");
        push_name(out, "items");
        out.push('[');
    }

    /// Appends the next item, with its winner only. The given links, which the server knows, follow its own links:
    /// pages about the item and its media.
    pub fn item(&mut self, out: &mut String, item: &Item<Payload>, links: &[Link]) {
        out.push_str(if self.items { ",\n{" } else { "\n{" });
        self.items = true;
        let mut entry = shown(&item.id, &item.winner);
        entry.links.extend_from_slice(links);
        push_item(out, &entry);
        if let Some(language) = language(&item.winner.payload).filter(|text| is_tag(text)) {
            push_text(out, "language", &language);
        }
        push_sync(out, &item.id, &item.winner);
        close(out, "}");
    }

    /// Appends everything after the last item.
    pub fn end(&mut self, out: &mut String) {
        out.push_str("\n]}\n");
    }
}

fn push_item(out: &mut String, entry: &Entry) {
    push_text(out, "id", entry.id.as_deref().unwrap_or_default());
    let address = |rel: &str| {
        let mut found = entry.links.iter().filter(|link| link.rel == rel);
        found.find(|link| is_iri(&link.href)).map(|link| link.href.as_str())
    };
    push_address(out, "url", address("alternate"));
    push_address(out, "external_url", address(RELATED));
    if let Some(title) = &entry.title {
        push_text(out, "title", title);
    }
    push_content(out, entry);
    if let Some(published) = entry.published {
        push_text(out, "date_published", &published.to_string());
    }
    if let Some(updated) = entry.updated {
        push_text(out, "date_modified", &updated.to_string());
    }
    if let Some(author) = &entry.author {
        push_authors(out, author);
    }
    if !entry.categories.is_empty() {
        push_name(out, "tags");
        out.push('[');
        for category in &entry.categories {
            push_string(out, &category.term);
            out.push(',');
        }
        close(out, "],");
    }
    push_attachments(out, entry);
}

/// Appends text or HTML, one of which each item must have. If its content is neither, its summary is used.
fn push_content(out: &mut String, entry: &Entry) {
    let markup = matches!(entry.content_type, ContentType::Html | ContentType::Xhtml);
    let summary = entry.summary.as_deref();
    match (entry.content.as_deref().filter(|_| markup), entry.plain_content()) {
        (Some(html), _) => push_text(out, "content_html", html),
        (None, Some(text)) => push_text(out, "content_text", &text),
        (None, None) => return push_text(out, "content_text", summary.unwrap_or_default()),
    }
    if let Some(summary) = summary {
        push_text(out, "summary", summary);
    }
}

fn push_authors(out: &mut String, author: &Person) {
    let Some(name) = author.name.as_deref().or(author.email.as_deref()) else { return };
    push_name(out, "authors");
    out.push_str("[{");
    push_text(out, "name", name);
    push_address(out, "url", author.uri.as_deref());
    close(out, "}],");
}

fn push_attachments(out: &mut String, entry: &Entry) {
    let is_attached = |link: &&Link| link.rel == ENCLOSURE && is_iri(&link.href);
    let mut attached = entry.links.iter().filter(is_attached).peekable();
    if attached.peek().is_none() {
        return;
    }
    push_name(out, "attachments");
    out.push('[');
    for link in attached {
        out.push('{');
        push_text(out, "url", &link.href);
        let unknown = "application/octet-stream";
        push_text(out, "mime_type", link.media_type.as_deref().unwrap_or(unknown));
        if let Some(title) = &link.title {
            push_text(out, "title", title);
        }
        if let Some(length) = link.length {
            push_name(out, "size_in_bytes");
            out.push_str(&length.to_string());
            out.push(',');
        }
        close(out, "},");
    }
    close(out, "],");
}

/// Appends the identification of the version for synchronizing peers, as in FeedSync JSON.
fn push_sync(out: &mut String, id: &ItemId, version: &Version<Payload>) {
    push_name(out, "_feedsync");
    out.push('{');
    push_text(out, "id", id.as_str());
    push_text(out, "updates", &version.updates.to_string());
    if version.deleted {
        push_text(out, "deleted", "true");
    }
    let dot = version.dot();
    push_text(out, "sequence", &dot.sequence().to_string());
    if let Some(when) = dot.when() {
        push_text(out, "when", &when.to_string());
    }
    if let Some(by) = dot.by() {
        push_text(out, "by", by.as_str());
    }
    close(out, "},");
}

/// Whether the text has only characters of a language tag (RFC 5646).
fn is_tag(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Appends a member whose value is an address, if there is one and it is absolute.
fn push_address(out: &mut String, name: &str, address: Option<&str>) {
    if let Some(address) = address.filter(|address| is_iri(address)) {
        push_text(out, name, address);
    }
}

fn push_name(out: &mut String, name: &str) {
    push_string(out, name);
    out.push(':');
}

#[cfg(test)]
mod tests;
