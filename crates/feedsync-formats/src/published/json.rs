//! JSON Feed, 1.0 and 1.1, and other objects with `items`.

use std::cell::Cell;

use feedsync_core::{Format, Payload};
use iri_string::types::IriStr;

use super::PublishedFeed;
use crate::context::resolved;
use crate::date;
use crate::diagnostic::{Position, ReadError};
use crate::entry::{self, ContentType, Entry, Link, Person};
use crate::json::{self, Kind, Node};
use crate::options::ReadOptions;
use crate::references::MAX_GROWTH_BYTES;

pub(super) fn read(text: &str, options: &ReadOptions<'_>) -> Result<PublishedFeed, ReadError> {
    json::check(text, options.limits.depth).map_err(|malformed| ReadError::Document {
        position: Position::of(text, malformed.offset),
        message: malformed.message,
    })?;
    let root = Node::root(text);
    let items = root.member("items").filter(|items| items.value.kind() == Kind::Array);
    let Some(items) = items else {
        return Err(ReadError::UnknownFormat { found: "JSON without items".to_owned() });
    };
    let items = items.value.elements().filter(|item| item.kind() == Kind::Object);
    let entries: Vec<_> = items.take(options.limits.items + 1).map(item).collect();
    if entries.len() > options.limits.items {
        return Err(ReadError::TooLarge { limit: options.limits.items });
    }
    let base = options.base.and_then(|base| IriStr::new(base).ok());
    let resolve = |text: String| resolved(base, &text).into_owned();
    let site = string(root, "home_page_url").map(resolve);
    let around = [site.as_deref(), options.base];
    let settled = |entry| entry::settled(entry, &around, &Cell::new(MAX_GROWTH_BYTES));
    let entries = entries.into_iter().map(settled).collect();
    Ok(PublishedFeed {
        format: Some(Format::Json),
        title: string(root, "title"),
        description: string(root, "description"),
        site,
        icon: string(root, "favicon").or_else(|| string(root, "icon")).map(resolve),
        address: string(root, "feed_url").map(resolve),
        entries,
        ..PublishedFeed::default()
    })
}

/// Reads an item. Members of JSON Feed take precedence over the names that other formats use.
fn item(item: Node<'_>) -> Entry {
    let mut entry = entry::entry(&Payload::from_parsed(Format::Json, item.raw()));
    let html = string(item, "content_html");
    let kind = if html.is_some() { ContentType::Html } else { ContentType::Text };
    if let Some(content) = html.or_else(|| string(item, "content_text")) {
        (entry.content, entry.content_type) = (Some(content), kind);
    }
    let moment = |name| string(item, name).as_deref().and_then(date::parse);
    entry.published = moment("date_published").or(entry.published);
    entry.updated = moment("date_modified").or(entry.updated);
    let authors = item.member("authors").into_iter().flat_map(|authors| authors.value.elements());
    entry.author = entry.author.or_else(|| authors.filter_map(author).next());
    let attachments = item.member("attachments").filter(|list| list.value.kind() == Kind::Array);
    let attachments = attachments.into_iter().flat_map(|list| list.value.elements());
    entry.links.extend(attachments.filter_map(|attachment| {
        Some(Link {
            media_type: string(attachment, "mime_type"),
            title: string(attachment, "title"),
            length: attachment
                .member("size_in_bytes")
                .and_then(|size| size.value.raw().parse().ok()),
            duration: attachment
                .member("duration_in_seconds")
                .and_then(|duration| entry::seconds(duration.value.raw())),
            ..Link::new(entry::ENCLOSURE, &string(attachment, "url")?)
        })
    }));
    let pictures = ["image", "banner_image"].into_iter().filter_map(|name| string(item, name));
    entry.links.extend(pictures.map(|href| Link {
        media_type: Some("image/*".to_owned()),
        ..Link::new(entry::ENCLOSURE, &href)
    }));
    entry
}

fn author(author: Node<'_>) -> Option<Person> {
    let name = string(author, "name")?;
    Some(Person { name: Some(name), uri: string(author, "url"), ..Person::default() })
}

/// Returns a string that is not blank.
fn string(object: Node<'_>, name: &str) -> Option<String> {
    let text = object.member(name)?.value.string()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
