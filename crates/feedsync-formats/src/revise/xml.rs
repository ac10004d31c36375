//! Revises an element of Atom, RSS, OPML or POX.

use feedsync_core::{Format, Payload};

use super::{Edits, ReviseError, Revision};
use crate::compose::{content_element, fits_xml, html, push_attribute, push_plain};
use crate::entry::{CONTENT, CONTENTS, ContentType, TITLES, content_type, is_rss, named_element};
use crate::markup;
use crate::options::{Limits, Mode};
use crate::xml::{Element, Namespace, Namespaces, Tree, escape_attribute, escape_text, is_space};

pub(super) fn revise(payload: &Payload, revision: &Revision) -> Result<String, ReviseError> {
    for (field, text) in [("title", &revision.title), ("content", &revision.content)] {
        let illegal = text.as_deref().and_then(|text| text.chars().find(|&c| !fits_xml(c)));
        if let Some(character) = illegal {
            return Err(ReviseError::Character { field, character });
        }
    }
    let text: &str = payload.text();
    let (tree, namespaces) = Tree::parse(text, Mode::Tolerant, &Limits::default())
        .map_err(|error| ReviseError::Payload(error.message.into_owned()))?;
    let mut item = ItemEditor { item: tree.root(), edits: Edits::default(), added: String::new() };
    match payload.format() {
        Format::Atom => item.atom(revision),
        Format::Rss => item.rss(revision, &namespaces)?,
        Format::Opml => item.outline(revision)?,
        Format::Pox | Format::Json => item.pox(revision),
    }
    Ok(item.finish())
}

struct ItemEditor<'t, 'a> {
    item: Element<'t, 'a>,
    edits: Edits,
    /// New elements, which are appended after the last one.
    added: String,
}

impl<'t, 'a> ItemEditor<'t, 'a> {
    fn atom(&mut self, revision: &Revision) {
        let child = |local| self.item.child(Namespace::ATOM, local);
        let (title, content, updated) = (child("title"), child("content"), child("updated"));
        let prefix = match self.item.prefix() {
            "" => String::new(),
            prefix => format!("{prefix}:"),
        };
        if let Some(text) = &revision.title {
            match title {
                Some(title) => self.set_typed(title, text, &ContentType::Text),
                None => self.add(&format!("{prefix}title"), text),
            }
        }
        if let Some(text) = &revision.content {
            match content {
                Some(content) => self.set_typed(content, text, &revision.content_type),
                None => {
                    let name = format!("{prefix}content");
                    let mut element = String::new();
                    content_element(&mut element, &name, text, &revision.content_type);
                    self.add_element(&element);
                }
            }
        }
        if let Some(date) = revision.updated {
            match updated {
                Some(updated) => self.set_text(updated, &date.to_string()),
                None => self.add(&format!("{prefix}updated"), &date.to_string()),
            }
        }
    }

    fn rss(&mut self, revision: &Revision, namespaces: &Namespaces<'_>) -> Result<(), ReviseError> {
        let item = self.item;
        let child = |local: &str| {
            item.children().find(|child| is_rss(child.namespace()) && child.local() == local)
        };
        if let Some(text) = &revision.title {
            let mut written = String::new();
            push_plain(&mut written, text);
            match child("title") {
                Some(title) => self.set_inside(title, written, &[]),
                None => self.add_element(&format!("<title>{written}</title>")),
            }
        }
        if let Some(text) = &revision.content {
            let kind = &revision.content_type;
            let escaped = html(text, kind).ok_or_else(|| no_place(Format::Rss, kind))?;
            let full = item.children().find(|child| {
                child.local() == "encoded" && namespaces.iri(child.namespace()) == CONTENT
            });
            match full.or_else(|| child("description")) {
                Some(content) => self.set_text(content, &escaped),
                None => self.add("description", &escaped),
            }
        }
        if let (Some(date), Some(updated)) =
            (revision.updated, item.child(Namespace::ATOM, "updated"))
        {
            self.set_text(updated, &date.to_string());
        }
        Ok(())
    }

    /// Revises an outline. Its title is in `text`, and also in `title` if that has the same value.
    /// OPML has no date of change.
    fn outline(&mut self, revision: &Revision) -> Result<(), ReviseError> {
        if let Some(text) = &revision.title {
            let (shown, title) = (self.item.value("text"), self.item.value("title"));
            if title.is_some() && (shown.is_none() || shown == title) {
                self.set_attribute("title", text);
            }
            self.set_attribute("text", text);
        }
        if let Some(text) = &revision.content {
            let text = match &revision.content_type {
                ContentType::Text => text.clone(),
                ContentType::Html | ContentType::Xhtml => markup::plain(text),
                kind @ ContentType::Other(_) => return Err(no_place(Format::Opml, kind)),
            };
            let note = self.item.value("_note").is_some();
            self.set_attribute(if note { "_note" } else { "description" }, &text);
        }
        Ok(())
    }

    fn pox(&mut self, revision: &Revision) {
        let prefix = match self.item.prefix() {
            "" => String::new(),
            prefix => format!("{prefix}:"),
        };
        if let Some(text) = &revision.title {
            match named_element(self.item, &TITLES) {
                Some(title) => self.set_text(title, text),
                None => self.add(&format!("{prefix}title"), text),
            }
        }
        if let Some(text) = &revision.content {
            match named_element(self.item, &CONTENTS) {
                // A `type` that Atom does not define has another meaning, so it stays.
                Some(content)
                    if revision.content_type == ContentType::Text
                        && content_type(content) == ContentType::Text =>
                {
                    self.set_text(content, text);
                }
                Some(content) => self.set_typed(content, text, &revision.content_type),
                None => {
                    let name = format!("{prefix}content");
                    let mut element = String::new();
                    content_element(&mut element, &name, text, &revision.content_type);
                    self.add_element(&element);
                }
            }
        }
        if let (Some(date), Some(updated)) =
            (revision.updated, named_element(self.item, &["updated", "modified"]))
        {
            self.set_text(updated, &date.to_string());
        }
    }

    /// Replaces the content of an element with text.
    fn set_text(&mut self, element: Element<'t, 'a>, text: &str) {
        let mut inside = String::new();
        escape_text(&mut inside, text);
        self.set_inside(element, inside, &[]);
    }

    /// Replaces the content of an element of RFC 4287 3.1 or 4.1.3, and its type if that changes.
    /// Content at another address becomes inline.
    fn set_typed(&mut self, element: Element<'t, 'a>, text: &str, kind: &ContentType) {
        let mut whole = String::new();
        content_element(&mut whole, "x", text, kind);
        let open = whole.find('>').map_or(0, |end| end + 1);
        let name = whole[..open].split('"').nth(1).unwrap_or("text").to_owned();
        let inside = whole[open..whole.len() - "</x>".len()].to_owned();
        let current = element.value("type").unwrap_or_default();
        let is_text = |name: &str| name.is_empty() || name == "text";
        let same = name == current.trim() || (is_text(&name) && is_text(current.trim()));
        let text = element.document();
        let mut tag = Vec::new();
        if let Some(source) = element.attribute(Namespace::NONE, "src") {
            let before = text[..source.start()].trim_end().len();
            tag.push((before..source.span().end, String::new()));
        }
        match element.attribute(Namespace::NONE, "type") {
            _ if same => {}
            Some(attribute) => tag.push((attribute.value_span(), name)),
            None => tag.push((element.name_end()..element.name_end(), format!(" type=\"{name}\""))),
        }
        self.set_inside(element, inside, &tag);
    }

    /// Replaces the content of an element and makes these changes to its start tag.
    fn set_inside(
        &mut self,
        element: Element<'t, 'a>,
        inside: String,
        tag: &[(std::ops::Range<usize>, String)],
    ) {
        for (range, text) in tag {
            self.edits.replace(range.clone(), text.clone());
        }
        let start_tag = element.start_tag_span();
        if start_tag.end == element.span().end {
            // `<name/>` has no content span yet.
            let slash = start_tag.end - "/>".len();
            self.edits.replace(slash..start_tag.end, format!(">{inside}</{}>", element.name()));
        } else {
            self.edits.replace(element.content_span(), inside);
        }
    }

    fn set_attribute(&mut self, name: &str, value: &str) {
        match self.item.attribute(Namespace::NONE, name) {
            Some(attribute) => {
                let mut escaped = String::new();
                escape_attribute(&mut escaped, value);
                // The attribute keeps its quotes, single or double.
                self.edits.replace(attribute.value_span(), escaped.replace('\'', "&apos;"));
            }
            None => {
                let last = self.item.attributes().last();
                let at = last.map_or(self.item.name_end(), |last| last.span().end);
                let mut attribute = String::new();
                push_attribute(&mut attribute, name, Some(value));
                self.edits.insert(at, attribute);
            }
        }
    }

    fn add(&mut self, name: &str, text: &str) {
        let mut element = format!("<{name}>");
        escape_text(&mut element, text);
        element.push_str(&format!("</{name}>"));
        self.add_element(&element);
    }

    /// Adds an element after the last one, with the white space that precedes the first one.
    fn add_element(&mut self, element: &str) {
        let content = self.item.content_span();
        let first = self.item.children().next().map_or(content.start, |child| child.span().start);
        let lead = &self.item.document()[content.start..first];
        if lead.bytes().all(is_space) {
            self.added.push_str(lead);
        }
        self.added.push_str(element);
    }

    fn finish(mut self) -> String {
        let item = self.item;
        if !self.added.is_empty() {
            let added = std::mem::take(&mut self.added);
            match item.children().last() {
                Some(last) => self.edits.insert(last.span().end, added),
                None => {
                    let start_tag = item.start_tag_span();
                    if start_tag.end == item.span().end {
                        let slash = start_tag.end - "/>".len();
                        let inside = format!(">{added}</{}>", item.name());
                        self.edits.replace(slash..start_tag.end, inside);
                    } else {
                        self.edits.insert(item.content_span().end, added);
                    }
                }
            }
        }
        self.edits.apply(item.document())
    }
}

fn no_place(format: Format, kind: &ContentType) -> ReviseError {
    ReviseError::ContentType { format, content_type: kind.name().to_owned() }
}
