//! Documents of five formats: the sharing information of a publisher (2.2, 2.3), and the items.
//!
//! FeedSync defines no mapping to OPML, and no form of a collection in POX and JSON. They are those of this
//! program's documentation: `sx:sharing` in `head`, outlines as items, any root, an object with `items`.

use serde_json::{Map, Value, json};

use super::item::{Content, Item};
use super::sync::{FEEDSYNC, item_of_json, item_of_xml, json_of_item, xml_of_item};
use super::xml::{Element, Node};

pub(super) const ATOM: &str = "http://www.w3.org/2005/Atom";

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Atom 1.0.
    Atom,
    /// RSS 2.0.
    Rss,
    /// OPML.
    Opml,
    /// Plain old XML.
    Pox,
    /// JSON.
    Json,
}

impl Format {
    /// All formats.
    pub(crate) const ALL: [Self; 5] = [Self::Atom, Self::Rss, Self::Opml, Self::Pox, Self::Json];

    /// Returns the media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Atom => "application/atom+xml",
            Self::Rss => "application/rss+xml",
            Self::Opml => "text/x-opml",
            Self::Pox => "application/xml",
            Self::Json => "application/json",
        }
    }

    /// Returns the content of a new item with a title. RSS requires a title or a description, and Atom also
    /// an id, a date and an author.
    pub(crate) fn content(self, title: &str, when: &str) -> Content {
        let element = |namespace: &str, local: &str, text: &str| {
            Element::new(namespace, local).with_text(text)
        };
        match self {
            Self::Atom => {
                let author = Element::new(ATOM, "author").with(element(ATOM, "name", "a peer"));
                let id = format!("urn:x:{}", title.replace(' ', "-"));
                let entry = Element::new(ATOM, "entry")
                    .with(element(ATOM, "title", title))
                    .with(element(ATOM, "id", &id))
                    .with(element(ATOM, "updated", when))
                    .with(author);
                Content::Xml(entry)
            }
            Self::Rss => Content::Xml(Element::new("", "item").with(element("", "title", title))),
            Self::Opml => {
                let mut outline = Element::new("", "outline");
                outline.set("text", Some(title));
                Content::Xml(outline)
            }
            Self::Pox => Content::Xml(Element::new("", "item").with(element("", "title", title))),
            Self::Json => Content::Json(Map::from_iter([("title".to_owned(), Value::from(title))])),
        }
    }
}

impl Content {
    /// Returns the title, wherever its format has it.
    pub(crate) fn title(&self) -> Option<String> {
        match self {
            Self::Json(members) => Some(members.get("title")?.as_str()?.to_owned()),
            Self::Xml(element) if element.name.local == "outline" => {
                element.attribute("text").map(str::to_owned)
            }
            Self::Xml(element) => {
                Some(element.elements().find(|child| child.name.local == "title")?.text())
            }
        }
    }

    /// Returns the content with another title; everything else stays.
    #[must_use]
    pub(crate) fn retitled(&self, title: &str) -> Self {
        let mut content = self.clone();
        match &mut content {
            Self::Json(members) => {
                members.insert("title".to_owned(), title.into());
            }
            Self::Xml(element) if element.name.local == "outline" => {
                element.set("text", Some(title));
            }
            Self::Xml(element) => {
                let found = element.children.iter_mut().find_map(|child| match child {
                    Node::Element(child) if child.name.local == "title" => Some(child),
                    _ => None,
                });
                if let Some(found) = found {
                    found.children = vec![Node::Text(title.to_owned())];
                }
            }
        }
        content
    }
}

/// `sx:sharing`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// `since` and `until`.
    pub(crate) window: Option<(String, String)>,
    /// The link of the first `sx:related` that is complete.
    pub(crate) complete: Option<String>,
}

/// A document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Document {
    /// The `sx:sharing` of its publisher.
    pub(crate) sharing: Sharing,
    /// Items that take part in sharing.
    pub(crate) items: Vec<Item>,
}

impl Document {
    /// Reads a document.
    pub(crate) fn read(format: Format, text: &str) -> Result<Self, String> {
        if format == Format::Json {
            return Self::read_json(text);
        }
        let root = Element::parse(text)?;
        let missing = || format!("a {format:?} document without its container");
        let (head, container) = match format {
            Format::Rss => {
                let channel = root.child("", "channel").ok_or_else(missing)?;
                (channel, channel)
            }
            Format::Opml => {
                let head = root.child("", "head").ok_or_else(missing)?;
                (head, root.child("", "body").ok_or_else(missing)?)
            }
            Format::Atom | Format::Pox | Format::Json => (&root, &root),
        };
        let mut document = Self::default();
        if let Some(sharing) = head.child(FEEDSYNC, "sharing") {
            let bound = |name: &str| sharing.attribute(name).map(str::to_owned);
            let complete = sharing.elements().find(|related| {
                related.name.is(FEEDSYNC, "related")
                    && related.attribute("type") == Some("complete")
            });
            document.sharing.window = bound("since").zip(bound("until"));
            document.sharing.complete =
                complete.and_then(|related| related.attribute("link")).map(str::to_owned);
        }
        read_items(format, container, &mut document.items)?;
        Ok(document)
    }

    fn read_json(text: &str) -> Result<Self, String> {
        let root: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let items = root["items"].as_array().ok_or("an object without items")?;
        let bound = |name: &str| root["sharing"][name].as_str().map(str::to_owned);
        let related = root["sharing"]["related"].as_array().into_iter().flatten();
        let complete = related.clone().find(|related| related["type"] == "complete");
        let mut document = Self::default();
        document.sharing.window = bound("since").zip(bound("until"));
        document.sharing.complete = complete.and_then(|it| it["link"].as_str()).map(str::to_owned);
        for item in items {
            let item = item.as_object().ok_or("an item that is no object")?;
            document.items.extend(item_of_json(item)?);
        }
        Ok(document)
    }

    /// Writes a document.
    pub(crate) fn write(&self, format: Format) -> String {
        if format == Format::Json {
            return self.write_json();
        }
        let text = |namespace: &str, local: &str, text: &str| {
            Element::new(namespace, local).with_text(text)
        };
        let items = self.items.iter().map(xml_of_item);
        let sharing = self.sharing_element();
        let root = match format {
            Format::Atom => {
                let feed = Element::new(ATOM, "feed")
                    .with(text(ATOM, "title", "A peer"))
                    .with(text(ATOM, "id", "urn:x:peer"))
                    .with(text(ATOM, "updated", "2026-01-02T03:04:05Z"))
                    .with(Element::new(ATOM, "author").with(text(ATOM, "name", "a peer")))
                    .with(sharing);
                items.fold(feed, Element::with)
            }
            Format::Rss => {
                let channel = Element::new("", "channel")
                    .with(text("", "title", "A peer"))
                    .with(text("", "link", "http://peer.example/"))
                    .with(text("", "description", "Items of a peer"))
                    .with(sharing);
                let mut rss = Element::new("", "rss");
                rss.set("version", Some("2.0"));
                rss.with(items.fold(channel, Element::with))
            }
            Format::Opml => {
                let head = Element::new("", "head").with(text("", "title", "A peer")).with(sharing);
                let mut opml = Element::new("", "opml");
                opml.set("version", Some("2.0"));
                opml.with(head).with(items.fold(Element::new("", "body"), Element::with))
            }
            Format::Pox | Format::Json => {
                items.fold(Element::new("", "list").with(sharing), Element::with)
            }
        };
        root.document()
    }

    fn sharing_element(&self) -> Element {
        let Sharing { window, complete } = &self.sharing;
        let mut sharing = Element::new(FEEDSYNC, "sharing");
        if let Some((since, until)) = window {
            sharing.set("since", Some(since));
            sharing.set("until", Some(until));
        }
        if let Some(link) = complete {
            let mut related = Element::new(FEEDSYNC, "related");
            related.set("link", Some(link));
            related.set("type", Some("complete"));
            sharing = sharing.with(related);
        }
        sharing
    }

    fn write_json(&self) -> String {
        let Sharing { window, complete } = &self.sharing;
        let mut sharing = Map::new();
        if let Some((since, until)) = window {
            sharing.insert("since".into(), since.as_str().into());
            sharing.insert("until".into(), until.as_str().into());
        }
        if let Some(link) = complete {
            sharing.insert("related".into(), json!([{"link": link, "type": "complete"}]));
        }
        let items: Vec<_> = self.items.iter().map(json_of_item).collect();
        json!({"title": "A peer", "sharing": sharing, "items": items}).to_string()
    }
}

fn read_items(format: Format, container: &Element, items: &mut Vec<Item>) -> Result<(), String> {
    for element in container.elements() {
        let is_item = match format {
            Format::Atom => element.name.is(ATOM, "entry"),
            Format::Rss => element.name.is("", "item"),
            Format::Opml => element.name.is("", "outline"),
            Format::Pox | Format::Json => true,
        };
        if is_item {
            items.extend(item_of_xml(element)?);
        }
    }
    Ok(())
}
