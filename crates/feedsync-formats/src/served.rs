//! An Atom entry as a server publishes it, with the parts that the server owns: its date of change, the address for
//! editing, a page for people, and its media (RFC 5023 9.6, 10.2, 11.1, 11.2).
//!
//! These parts are written only here, at the end of the entry, and [`without_served`](crate::without_served) removes
//! them again. All other bytes are preserved.

use feedsync_core::{Format, Payload};

use crate::blobs::{Blob, blobs};
use crate::options::{Limits, Mode};
use crate::payload::{OWN, push_attribute, with_end};
use crate::server_parts::{APP, SERVED};
use crate::xml::{Element, Namespace, Tree};

/// A server's data about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerParts<'a> {
    /// `app:edited`: date of the last change of the entry or its media on this server, RFC 3339 with a fraction.
    pub edited: Option<&'a str>,
    /// Address at which the entry is read, replaced and deleted.
    pub edit: Option<&'a str>,
    /// Address of a page about the entry for people.
    pub alternate: Option<&'a str>,
    /// Addresses of its media, if it is a media link entry.
    pub media: Option<MediaParts<'a>>,
}

/// A media link entry's data about its media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaParts<'a> {
    /// Address at which the media are replaced and deleted.
    pub edit_media: &'a str,
    /// Address at which the media are read.
    pub src: &'a str,
    /// Media type of the media.
    pub media_type: &'a str,
}

/// Type of the page that `alternate` links to, if the entry has no other `alternate` link of that type.
const PAGE: &str = "text/html";

/// Returns the entry with these parts. A payload that is not an Atom entry is returned unchanged:
/// [project](crate::project) it first.
pub fn with_server_parts(payload: &Payload, parts: &ServerParts<'_>) -> Payload {
    if payload.format() != Format::Atom {
        return payload.clone();
    }
    let text = payload.text();
    let edited = |time| format!("<app:edited xmlns:app=\"{APP}\">{time}</app:edited>");
    let mut end = parts.edited.map(edited).unwrap_or_default();
    let mut element = |local: &str, attributes: &[(&str, &str)]| {
        end.push_str(&format!("<{}", qualified(text, local)));
        attributes.iter().for_each(|(name, value)| push_attribute(&mut end, name, value));
        end.push_str("/>");
    };
    if let Some(edit) = parts.edit {
        element("link", &[("rel", "edit"), ("href", edit)]);
    }
    if let Some(media) = &parts.media {
        let MediaParts { edit_media, src, media_type } = *media;
        element("link", &[("rel", "edit-media"), ("href", edit_media), ("type", media_type)]);
        element("content", &[("type", media_type), ("src", src)]);
    }
    if let Some(page) = parts.alternate {
        match free_alternate(text) {
            Some(PAGE) => element("link", &[("rel", "alternate"), ("type", PAGE), ("href", page)]),
            Some(_) => element("link", &[("rel", "alternate"), ("href", page)]),
            None => {}
        }
    }
    payload.with_parsed_text(with_end(text, &end))
}

/// Returns the entry with links to its media: `content`, as RFC 4287 4.1.2 requires of an entry without an
/// `alternate` link, and an `enclosure`, which other formats also have. Both are marked. A program that stores the
/// entry therefore can remove them ([`without_server_parts`](crate::without_server_parts)).
pub fn with_media_links(payload: &Payload, blob: &Blob, address: &str) -> Payload {
    let length = blob.length.to_string();
    let mut end = String::new();
    let mut element = |local: &str, attributes: &[(&str, &str)]| {
        end.push_str(&format!("<{}", qualified(payload.text(), local)));
        attributes.iter().for_each(|(name, value)| push_attribute(&mut end, name, value));
        end.push_str(&format!(" xmlns:fs=\"{OWN}\" fs:{SERVED}=\"true\"/>"));
    };
    let media_type = ("type", &*blob.media_type);
    element("content", &[media_type, ("src", address)]);
    let title = ("title", &*blob.name);
    element(
        "link",
        &[("rel", "enclosure"), ("href", address), media_type, ("length", &length), title],
    );
    payload.with_parsed_text(with_end(payload.text(), &end))
}

/// Returns the qualified name of a child in the namespace of the entry, with the entry's prefix.
fn qualified(text: &str, local: &str) -> String {
    let name = text[1.min(text.len())..].split([' ', '\t', '\r', '\n', '/', '>']).next();
    match name.and_then(|name| name.split_once(':')) {
        Some((prefix, _)) => format!("{prefix}:{local}"),
        None => local.to_owned(),
    }
}

/// Returns a type for one more `alternate` link that does not repeat one of the entry's (RFC 4287 4.1.2). An empty
/// string means a link without a type, and `None` that no type is available.
fn free_alternate(text: &str) -> Option<&'static str> {
    if crate::search::find(text.as_bytes(), b"link").is_none() {
        return Some(PAGE);
    }
    let Ok((tree, _)) = Tree::parse(text, Mode::Tolerant, &Limits::default()) else {
        return Some(PAGE);
    };
    let taken = |media_type: &str| {
        tree.root().children().any(|child| {
            is_alternate(child)
                && child.value("hreflang").is_none()
                && child.value("type").unwrap_or_default().trim() == media_type
        })
    };
    [PAGE, ""].into_iter().find(|media_type| !taken(media_type))
}

pub(crate) fn is_alternate(child: Element<'_, '_>) -> bool {
    child.is(Namespace::ATOM, "link")
        && child.value("rel").is_none_or(|rel| matches!(rel.trim(), "" | "alternate"))
}

/// Returns the media of a media link entry: the only blob that it names, if it has no content of its own.
pub fn media(payload: &Payload) -> Option<Blob> {
    let mut named = if payload.format() == Format::Atom { blobs(payload) } else { Vec::new() };
    if named.len() != 1 {
        return None;
    }
    let (tree, _) = Tree::parse(payload.text(), Mode::Tolerant, &Limits::default()).ok()?;
    tree.root().child(Namespace::ATOM, "content").is_none().then(|| named.swap_remove(0))
}

/// Returns the name that the creator of an entry requested for its address (RFC 5023 9.7): the text of a child
/// `fs:slug`.
pub fn slug(payload: &Payload) -> Option<String> {
    let mentions = crate::search::find(payload.text().as_bytes(), b":slug").is_some();
    if payload.format() != Format::Atom || !mentions {
        return None;
    }
    let (tree, _) = Tree::parse(payload.text(), Mode::Tolerant, &Limits::default()).ok()?;
    let slug = tree.root().child(Namespace::OWN, "slug")?.text().trim().to_owned();
    (!slug.is_empty()).then_some(slug)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_parts::{without_served, without_server_parts};

    const PARTS: ServerParts<'_> = ServerParts {
        edited: Some("2026-11-21T12:00:00.000001Z"),
        edit: Some("http://hub/items/a&b"),
        alternate: Some("http://hub/items/a/as/x"),
        media: None,
    };

    fn entry(inside: &str) -> Payload {
        let text = format!("<entry xmlns=\"http://www.w3.org/2005/Atom\">{inside}</entry>");
        Payload::from_parsed(Format::Atom, text)
    }

    fn author_s(payload: &Payload, for_media: bool) -> Payload {
        without_served(payload, |href| href.contains("/items/a/as/"), for_media)
    }

    #[test]
    fn server_parts_are_written_once_and_removed_without_a_trace() {
        for inside in [
            "<title>a</title>\n ",
            "\n  <link href=\"x\"/>\n",
            "<link type='text/html' href='x'/>",
            "<x:link xmlns:x='urn:x' rel='edit'/><!-- c -->",
            "x",
        ] {
            let payload = entry(inside);
            let served = with_server_parts(&payload, &PARTS);
            for once in ["<app:edited", "rel=\"edit\"", "a&amp;b\"/>", "rel=\"alternate\""] {
                assert_eq!(served.text().matches(once).count(), 1, "{once} in {}", served.text());
            }
            assert_eq!(author_s(&served, false), payload);
        }
        let prefixed = "<a:entry xmlns:a=\"http://www.w3.org/2005/Atom\"/>";
        let prefixed = Payload::from_parsed(Format::Atom, prefixed);
        let served = with_server_parts(&prefixed, &PARTS);
        assert!(served.text().contains("<a:link rel=\"edit\""), "{}", served.text());
        assert_eq!(author_s(&served, false), prefixed);
        let json = Payload::from_parsed(Format::Json, "{}");
        assert_eq!(with_server_parts(&json, &PARTS), json);
    }

    #[test]
    fn the_alternate_link_of_a_server_repeats_none_of_the_authors() {
        let alternates = |inside: &str| {
            let served = with_server_parts(&entry(inside), &PARTS).shared_text();
            served.split("rel=\"alternate\"").nth(1).map(|end| end.starts_with(" type="))
        };
        assert_eq!(alternates(""), Some(true));
        assert_eq!(alternates("<link href='x'/>"), Some(true));
        assert_eq!(alternates("<link href='x' type='text/html'/>"), Some(false));
        assert_eq!(alternates("<link rel='self' href='x' type='text/html'/>"), Some(true));
        assert_eq!(alternates("<x:link xmlns:x='urn:x' href='x' type='text/html'/>"), Some(true));
        assert_eq!(alternates("<link href='x' type='text/html' hreflang='de'/>"), Some(true));
        let both = "<link rel='alternate' href='x' type='text/html'/><link href='y'/>";
        assert_eq!(alternates(both), None);
    }

    #[test]
    fn links_to_media_are_removed_without_a_trace() {
        let blob = Blob::new("a \"b\".png", "image/png", 3, [0; 32]).unwrap();
        for entry in [
            entry("<title>a</title>\n "),
            Payload::from_parsed(
                Format::Atom,
                "<a:entry xmlns:a=\"http://www.w3.org/2005/Atom\"/>",
            ),
        ] {
            let entry = crate::with_blob(&entry, &blob);
            let linked = with_media_links(&entry, &blob, "http://hub/m?a&b");
            assert!(linked.text().contains("src=\"http://hub/m?a&amp;b\""), "{}", linked.text());
            assert_eq!(linked.text().matches("served").count(), 2);
            assert_eq!(without_server_parts(&linked).as_ref(), Some(&entry));
        }
    }

    #[test]
    fn only_atom_entries_have_a_slug() {
        let child = |text: &str| format!("<fs:slug xmlns:fs=\"{OWN}\">{text}</fs:slug>");
        assert_eq!(slug(&entry(&child(" a b "))).as_deref(), Some("a b"));
        assert_eq!(slug(&entry(&child(" "))), None);
        assert_eq!(slug(&entry("<x:slug xmlns:x='urn:x'>a</x:slug>")), None);
        let item = format!("<item>{}</item>", child("a"));
        assert_eq!(slug(&Payload::from_parsed(Format::Rss, item)), None);
    }

    #[test]
    fn a_media_link_entry_contains_the_addresses_of_its_media() {
        let blob = format!(
            "<fs:blob xmlns:fs=\"urn:feedsync:1\" name=\"a.png\" type=\"image/png\" length=\"3\" \
             sha-256=\"{}\"/>",
            "0".repeat(64)
        );
        let payload = entry(&format!("<summary>a.png</summary>{blob}"));
        assert_eq!(media(&payload).unwrap().name, "a.png");
        assert_eq!(media(&entry(&format!("{blob}<content/>"))), None);
        assert_eq!(media(&entry(&format!("{blob}{blob}"))), None);
        let parts = MediaParts { edit_media: "/m", src: "/s", media_type: "image/png" };
        let served = with_server_parts(&payload, &ServerParts { media: Some(parts), ..PARTS });
        assert!(
            served.text().contains("<link rel=\"edit-media\" href=\"/m\" type=\"image/png\"/>")
        );
        assert!(served.text().contains("<content type=\"image/png\" src=\"/s\"/>"));
        assert_eq!(author_s(&served, true).text(), entry("<summary>a.png</summary>").text());
    }
}
