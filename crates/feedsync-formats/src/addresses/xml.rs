//! Addresses in Atom, AtomPub, RSS and OPML.

use std::ops::Range;

use super::Notation;
use crate::options::{Limits, Mode};
use crate::server_parts::{SERVED, is_edit_relation};
use crate::xml::{Attribute, Namespace, Reader, StartTag, Token, is_space};

/// Attributes that contain addresses. Those of `outline` are compared without case, since lists spell them so.
const ATTRIBUTES: [&str; 3] = ["href", "src", "url"];
const OF_OUTLINES: [&str; 3] = ["htmlurl", "url", "xmlurl"];

/// Elements of Atom that contain an address as text.
const ATOM_TEXTS: [&str; 3] = ["icon", "logo", "uri"];

/// Elements of RSS, and of its common extensions, that contain an address as text.
const RSS_TEXTS: [&str; 6] = ["comment", "commentRss", "comments", "docs", "link", "url"];

/// Elements of Atom whose content belongs to its author.
const CONTENT: [&str; 5] = ["content", "rights", "subtitle", "summary", "title"];

/// Returns the ranges of the addresses in order, up to the first fault. Other documents than feeds have none.
pub(super) fn addresses(text: &str, limits: &Limits) -> Vec<(Range<usize>, Notation)> {
    let Ok(mut reader) = Reader::new(text, Mode::Tolerant, limits) else { return Vec::new() };
    let mut search = Search { text, found: Vec::new(), open: Vec::new(), expected: false };
    let mut attributes = Vec::new();
    loop {
        attributes.clear();
        match reader.token(&mut attributes) {
            Ok(Token::Start(tag)) => {
                if search.open.is_empty() && !is_root(tag, text) {
                    break;
                }
                search.start(tag, &attributes);
            }
            Ok(Token::End { .. }) => search.end(),
            Ok(Token::Text { start, end }) => search.text(start..end, Notation::Markup),
            Ok(Token::CData { start, end }) => {
                search.text(start + "<![CDATA[".len()..end - "]]>".len(), Notation::CData);
            }
            Ok(Token::Other { .. }) => {}
            Ok(Token::EndOfDocument) | Err(_) => break,
        }
    }
    // A fault can leave items open.
    while !search.open.is_empty() {
        search.end();
    }
    search.found.into_iter().map(|found| (found.range, found.notation)).collect()
}

fn is_root(tag: StartTag, text: &str) -> bool {
    match tag.local_name(text) {
        "feed" | "entry" => is_atom(tag.namespace),
        "service" | "categories" => tag.namespace == Namespace::APP,
        "rss" => matches!(tag.namespace, Namespace::NONE | Namespace::RSS2),
        "RDF" => tag.namespace == Namespace::RDF,
        "opml" => tag.namespace == Namespace::NONE,
        _ => false,
    }
}

fn is_atom(namespace: Namespace) -> bool {
    matches!(namespace, Namespace::ATOM | Namespace::ATOM03)
}

/// An address, and its owner in an item.
struct Found {
    range: Range<usize>,
    notation: Notation,
    owner: Owner,
}

/// Owner of an address in an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Author,
    Server,
    /// The server if it has the media of the item, and otherwise the author.
    ServerOfMedia,
}

/// An open element.
#[derive(Clone, Copy)]
struct Open {
    /// Index of its first address.
    first: usize,
    /// Whether it is content of an author, or contains such content only.
    is_content: bool,
    /// Whether it has sync data.
    is_synced: bool,
    /// Whether it links to where its media are edited.
    has_media: bool,
}

struct Search<'a> {
    text: &'a str,
    found: Vec<Found>,
    open: Vec<Open>,
    /// Whether the next text is an address.
    expected: bool,
}

impl Search<'_> {
    fn start(&mut self, tag: StartTag, attributes: &[Attribute]) {
        let local = tag.local_name(self.text);
        let is_foreign = self.open.last().is_some_and(|parent| parent.is_content);
        let is_sync =
            local == "sync" && (tag.namespace == Namespace::FEEDSYNC || tag.namespace.is_sse());
        if let Some(parent) = self.open.last_mut() {
            parent.is_synced |= is_sync && !is_foreign;
        }
        let first = self.found.len();
        if !is_foreign {
            self.attributes(tag, local, attributes);
        }
        self.expected = !is_foreign && is_address(tag, local) && !tag.empty;
        if !tag.empty {
            let begins = is_atom(tag.namespace) && CONTENT.contains(&local);
            let is_content = is_foreign || begins || tag.namespace == Namespace::XHTML;
            self.open.push(Open { first, is_content, is_synced: false, has_media: false });
        }
    }

    fn attributes(&mut self, tag: StartTag, local: &str, attributes: &[Attribute]) {
        let owner = self.owner(tag, local, attributes);
        let is_related =
            local == "related" && (tag.namespace == Namespace::FEEDSYNC || tag.namespace.is_sse());
        for attribute in attributes {
            let name = attribute.local(self.text);
            let is_address = match attribute.namespace() {
                Namespace::XML => name == "base",
                Namespace::NONE if local == "outline" => {
                    OF_OUTLINES.contains(&&*name.to_ascii_lowercase())
                }
                Namespace::NONE => {
                    (tag.namespace != Namespace::XHTML && ATTRIBUTES.contains(&name))
                        || (is_related && name == "link")
                }
                _ => false,
            };
            if is_address {
                self.push(attribute.value_span(), Notation::Markup, owner);
            }
        }
    }

    /// Owner of the addresses of an element. Also notes that the parent has media.
    fn owner(&mut self, tag: StartTag, local: &str, attributes: &[Attribute]) -> Owner {
        if !is_atom(tag.namespace) || !matches!(local, "link" | "content") {
            return Owner::Author;
        }
        let value = |namespace, name| {
            let found = attributes.iter().find(|attribute| {
                attribute.namespace() == namespace && attribute.local(self.text) == name
            });
            found.map(|attribute| attribute.value(self.text))
        };
        let relation = value(Namespace::NONE, "rel").filter(|_| local == "link");
        let relation = relation.as_deref().unwrap_or_default();
        if relation.ends_with("edit-media")
            && is_edit_relation(relation)
            && let Some(parent) = self.open.last_mut()
        {
            parent.has_media = true;
        }
        if value(Namespace::OWN, SERVED).is_some() || is_edit_relation(relation) {
            Owner::Server
        } else if local == "content" {
            Owner::ServerOfMedia
        } else {
            Owner::Author
        }
    }

    fn text(&mut self, range: Range<usize>, notation: Notation) {
        let is_white = self.text[range.clone()].bytes().all(is_space);
        if self.expected && !is_white {
            self.expected = false;
            self.push(range, notation, Owner::Author);
        }
    }

    /// Adds an address without the white space around it.
    fn push(&mut self, range: Range<usize>, notation: Notation, owner: Owner) {
        let white = [' ', '\t', '\n', '\r'];
        let raw = self.text[range.clone()].trim_end_matches(white);
        let trimmed = raw.trim_start_matches(white);
        let start = range.start + raw.len() - trimmed.len();
        if !trimmed.is_empty() {
            self.found.push(Found { range: start..start + trimmed.len(), notation, owner });
        }
    }

    fn end(&mut self) {
        self.expected = false;
        if let Some(Open { first, is_synced: true, has_media, .. }) = self.open.pop() {
            let item = self.found.split_off(first);
            self.found.extend(item.into_iter().filter(|found| match found.owner {
                Owner::Author => false,
                Owner::Server => true,
                Owner::ServerOfMedia => has_media,
            }));
        }
    }
}

/// Whether the text of an element is an address.
fn is_address(tag: StartTag, local: &str) -> bool {
    let is_plain = matches!(
        tag.namespace,
        Namespace::NONE | Namespace::RSS090 | Namespace::RSS1 | Namespace::RSS2
    );
    match is_atom(tag.namespace) {
        true => ATOM_TEXTS.contains(&local),
        false if is_plain => RSS_TEXTS.contains(&local),
        // Of the Comment API.
        false => matches!(local, "comment" | "commentRss"),
    }
}
