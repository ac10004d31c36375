//! Documents of SSE 0.91 in RSS and OPML.

use super::sse::{Conflict, Item, Stamp, moment};
use super::xml::{Element, Node};

/// The namespaces in use: the one first published, and the one printed in the text.
pub(crate) const NAMESPACES: [&str; 2] =
    ["http://www.microsoft.com/schemas/rss/sse", "https://www.microsoft.com/schemas/rss/sse"];

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// RSS 2.0.
    Rss,
    /// OPML 1.0.
    Opml,
}

impl Format {
    /// Returns the media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Rss => "application/rss+xml",
            Self::Opml => "text/x-opml",
        }
    }

    /// Returns the content of a new item with a title.
    pub(crate) fn content(self, title: &str) -> Element {
        match self {
            Self::Rss => {
                let title = Element::new("", "title").with_text(title);
                Element::new("", "item").with(title)
            }
            Self::Opml => {
                let mut outline = Element::new("", "outline");
                outline.set("text", Some(title));
                outline
            }
        }
    }
}

/// Returns the title of an item.
pub(crate) fn title(content: &Element) -> Option<String> {
    match content.attribute("text") {
        Some(text) => Some(text.to_owned()),
        None => Some(content.child("", "title")?.text()),
    }
}

fn sse<'a>(element: &'a Element, local: &str) -> Option<&'a Element> {
    NAMESPACES.iter().find_map(|namespace| element.child(namespace, local))
}

fn all<'a>(element: &'a Element, local: &'a str) -> impl Iterator<Item = &'a Element> {
    element.elements().filter(move |child| {
        child.name.local == local && NAMESPACES.contains(&&*child.name.namespace)
    })
}

/// Reads the items of a document.
pub(crate) fn read(format: Format, text: &str) -> Result<Vec<Item>, String> {
    let root = Element::parse(text)?;
    let missing = || format!("a {format:?} document without its container");
    let (head, container, local) = match format {
        Format::Rss => {
            let channel = root.child("", "channel").ok_or_else(missing)?;
            (channel, channel, "item")
        }
        Format::Opml => {
            let head = root.child("", "head").ok_or_else(missing)?;
            (head, root.child("", "body").ok_or_else(missing)?, "outline")
        }
    };
    if let Some(sharing) = sse(head, "sharing") {
        match sharing.attribute("version") {
            Some("0.91") => {}
            other => return Err(format!("an sx:sharing of version {other:?}")),
        }
    }
    let elements = container.elements().filter(|element| element.name.is("", local));
    elements.filter_map(|element| item(element).transpose()).collect()
}

fn item(element: &Element) -> Result<Option<Item>, String> {
    let Some(sync) = sse(element, "sync") else { return Ok(None) };
    let history = sse(sync, "history").ok_or("an sx:sync without an sx:history")?;
    let mut content = element.clone();
    content.children.retain(|child| {
        !matches!(child, Node::Element(child) if child.name.local == "sync"
            && NAMESPACES.contains(&&*child.name.namespace))
    });
    let conflicts = sse(sync, "conflicts").map(|conflicts| {
        all(conflicts, "conflict").map(|conflict| {
            Ok(Conflict {
                version: version(conflict)?,
                stamp: stamp(conflict)?,
                content: conflict.elements().next().cloned(),
            })
        })
    });
    Ok(Some(Item {
        id: sync.attribute("id").ok_or("an sx:sync without an id")?.to_owned(),
        version: version(sync)?,
        deleted: flag(sync.attribute("deleted"))?,
        conflict: flag(sync.attribute("conflict"))?,
        history: stamp(history)?,
        updates: all(history, "update").map(stamp).collect::<Result<_, String>>()?,
        conflicts: conflicts.into_iter().flatten().collect::<Result<_, String>>()?,
        content,
    }))
}

fn version(element: &Element) -> Result<u64, String> {
    let text = element.attribute("version").ok_or("a version is missing")?;
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("{text} is no version")),
        Ok(number) => Ok(number),
    }
}

fn flag(text: Option<&str>) -> Result<bool, String> {
    match text {
        Some("true") => Ok(true),
        None | Some("" | "false") => Ok(false),
        Some(other) => Err(format!("{other:?} is neither true nor false")),
    }
}

fn stamp(element: &Element) -> Result<Stamp, String> {
    let text = |name: &str| element.attribute(name).map(str::to_owned);
    let stamp = Stamp { when: text("when"), by: text("by") };
    if stamp == Stamp::default() {
        return Err("neither when nor by".to_owned());
    }
    match &stamp.when {
        Some(when) if moment(when).is_none() => Err(format!("{when} is no date of RFC 822")),
        _ => Ok(stamp),
    }
}

/// Writes a document with a namespace.
pub(crate) fn write(format: Format, namespace: &str, items: &[Item]) -> String {
    let text = |local: &str, text: &str| Element::new("", local).with_text(text);
    let mut sharing = Element::new(namespace, "sharing");
    sharing.set("version", Some("0.91"));
    let items = items.iter().map(|item| element(namespace, item));
    let root = match format {
        Format::Rss => {
            let channel = Element::new("", "channel")
                .with(text("title", "A peer"))
                .with(text("link", "http://peer.example/"))
                .with(text("description", "Items of a peer"))
                .with(sharing);
            let mut rss = Element::new("", "rss");
            rss.set("version", Some("2.0"));
            rss.with(items.fold(channel, Element::with))
        }
        Format::Opml => {
            let head = Element::new("", "head").with(text("title", "A peer")).with(sharing);
            let mut opml = Element::new("", "opml");
            opml.set("version", Some("1.0"));
            opml.with(head).with(items.fold(Element::new("", "body"), Element::with))
        }
    };
    root.document()
}

fn element(namespace: &str, item: &Item) -> Element {
    let stamped = |local: &str, stamp: &Stamp| {
        let mut element = Element::new(namespace, local);
        element.set("when", stamp.when.as_deref());
        element.set("by", stamp.by.as_deref());
        element
    };
    let mut sync = Element::new(namespace, "sync");
    sync.set("id", Some(&item.id));
    sync.set("version", Some(&item.version.to_string()));
    sync.set("deleted", item.deleted.then_some("true"));
    sync.set("conflict", item.conflict.then_some("true"));
    let updates = item.updates.iter().map(|update| stamped("update", update));
    sync = sync.with(updates.fold(stamped("history", &item.history), Element::with));
    if !item.conflicts.is_empty() {
        let conflicts = item.conflicts.iter().map(|conflict| {
            let mut element = stamped("conflict", &conflict.stamp);
            element.set("version", Some(&conflict.version.to_string()));
            conflict.content.iter().cloned().fold(element, Element::with)
        });
        sync = sync.with(conflicts.fold(Element::new(namespace, "conflicts"), Element::with));
    }
    item.content.clone().with(sync)
}
