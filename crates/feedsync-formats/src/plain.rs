//! Items that take no part in sharing, as payloads, for callers that add them to sharing
//! explicitly. Reading a feed only counts them (2.4), since an item must not get an id
//! automatically.

use std::collections::HashSet;

use feedsync_core::{Format, Payload};

use crate::context::Context;
use crate::details::FeedDetails;
use crate::diagnostic::{Position, ReadError};
use crate::feed::{self, Parsed};
use crate::json;
use crate::options::ReadOptions;
use crate::payload::payload_of;
use crate::read::looks_like_json;
use crate::reading::Reading;
use crate::xml::check_is_xml;
use crate::xml::{Element, Namespace, Tree, XmlError, decode};

/// The items of a document that have no `sx:sync`, neither of FeedSync nor of SSE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    /// Format of the document.
    pub format: Format,
    /// Title of the document.
    pub title: Option<String>,
    /// Details of the feed in addition to its title.
    pub details: FeedDetails,
    /// The items in document order, each self-contained.
    pub payloads: Vec<Payload>,
}

/// Reads the items of a feed that take no part in sharing.
pub fn read_plain(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Plain, ReadError> {
    if looks_like_json(bytes) {
        let reading = json::read(bytes, options)?;
        let (text, _) = decode(bytes, options)?;
        let items = json::Node::root(&text).member("items");
        let elements = items.iter().flat_map(|items| items.value.elements());
        let payloads = elements
            .filter(|item| is_object(*item) && !takes_part(*item))
            .map(|item| Payload::from_parsed(Format::Json, json::without(item, "sync")))
            .collect();
        let Reading { title, details, .. } = reading;
        return Ok(Plain { format: Format::Json, title, details, payloads });
    }
    let (text, _) = decode(bytes, options)?;
    check_is_xml(&text)?;
    let Parsed { reading, slots, .. } = feed::parse(&text, None, options)?;
    let refused: HashSet<usize> = reading.refused.iter().map(|refused| refused.index).collect();
    let plain = slots.iter().enumerate();
    let plain = plain.filter(|(index, slot)| slot.item.is_none() && !refused.contains(index));
    let starts = plain.map(|(_, slot)| slot.span.start).collect();
    let tree = tree(&text, options)?;
    let mut items = Items { format: reading.format, starts, payloads: Vec::new() };
    let outside = Context::outside(options);
    items.visit(tree.root(), &outside);
    outside.check(tree.root().span().start).map_err(|error| error.into_read_error(&text))?;
    let Reading { format, title, details, .. } = reading;
    Ok(Plain { format, title, details, payloads: items.payloads })
}

/// Reads one item: an Atom entry, an RSS item, an outline, a JSON object or another XML element as
/// the root, or the only item of a feed. Its sync data is left out.
pub fn read_item(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Payload, ReadError> {
    if let Some(payload) = bare_item(bytes, options)? {
        return Ok(payload);
    }
    let reading = crate::read(bytes, None, options)?;
    let mut payloads = read_plain(bytes, options)?.payloads;
    payloads.extend(reading.feed.items.into_iter().map(|item| item.winner.payload));
    match payloads.len() {
        1 => Ok(payloads.swap_remove(0)),
        count => Err(ReadError::Document {
            position: Position { line: 1, column: 1 },
            message: format!("the feed has {count} items, but exactly one is required"),
        }),
    }
}

fn bare_item(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Option<Payload>, ReadError> {
    let (text, _) = decode(bytes, options)?;
    if looks_like_json(bytes) {
        json::check(&text, options.limits.depth).map_err(|malformed| ReadError::Document {
            position: Position::of(&text, malformed.offset),
            message: malformed.message,
        })?;
        let root = json::Node::root(&text);
        let is_feed =
            root.member("items").is_some_and(|items| items.value.kind() == json::Kind::Array);
        let bare = is_object(root) && !is_feed;
        return Ok(bare.then(|| Payload::from_parsed(Format::Json, json::without(root, "sync"))));
    }
    check_is_xml(&text)?;
    let tree = tree(&text, options)?;
    let root = tree.root();
    let format = match (root.namespace(), root.local()) {
        (Namespace::ATOM, "entry") => Format::Atom,
        (Namespace::NONE, "item") => Format::Rss,
        (Namespace::NONE, "outline") => Format::Opml,
        // The document is a feed, or a collection of plain XML, which contains items.
        (Namespace::ATOM | Namespace::ATOM03, "feed") | (Namespace::RDF, "RDF") => return Ok(None),
        (_, "rss" | "opml") => return Ok(None),
        _ if root.children().any(|child| child.child(Namespace::FEEDSYNC, "sync").is_some()) => {
            return Ok(None);
        }
        _ => Format::Pox,
    };
    Ok(Some(payload_of(format, root, &Context::outside(options))))
}

fn tree<'a>(text: &'a str, options: &ReadOptions<'_>) -> Result<Tree<'a>, ReadError> {
    let parsed = Tree::parse(text, options.mode, &options.limits);
    parsed.map(|(tree, _)| tree).map_err(|error: XmlError| error.into_read_error(text))
}

/// Items of an XML document, as payloads.
pub(crate) struct Items {
    pub(crate) format: Format,
    /// Offsets of the start tags of the items.
    pub(crate) starts: HashSet<usize>,
    pub(crate) payloads: Vec<Payload>,
}

impl Items {
    /// Adds the items in an element. The depth of the recursion is limited by the options.
    pub(crate) fn visit<'a>(&mut self, element: Element<'_, 'a>, context: &Context<'a>) {
        let in_sse = |child: Element<'_, '_>| child.local() == "sync" && child.namespace().is_sse();
        if self.starts.contains(&element.span().start) && !element.children().any(in_sse) {
            self.payloads.push(payload_of(self.format, element, context));
        }
        let inside = context.enter(element.document(), element.attributes());
        for child in element.children().take_while(|_| !context.is_spent()) {
            self.visit(child, &inside);
        }
    }
}

pub(crate) fn is_object(node: json::Node<'_>) -> bool {
    node.kind() == json::Kind::Object
}

pub(crate) fn takes_part(item: json::Node<'_>) -> bool {
    item.member("sync").is_some_and(|sync| sync.value.kind() != json::Kind::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(document: &str) -> Vec<String> {
        let plain = read_plain(document.as_bytes(), &ReadOptions::tolerant()).unwrap();
        plain.payloads.iter().map(|payload| payload.text().to_string()).collect()
    }

    fn item(document: &str) -> Payload {
        read_item(document.as_bytes(), &ReadOptions::tolerant()).unwrap()
    }

    #[test]
    fn plain_items_are_self_contained_and_others_are_left_out() {
        let sync =
            "<sx:sync id=\"x\" updates=\"1\"><sx:history sequence=\"1\" by=\"a\"/></sx:sync>";
        let document = format!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:sx=\"{}\" xml:lang=\"en\">\
             <entry><title>one</title></entry><entry><title>two</title>{sync}</entry></feed>",
            crate::payload::FEEDSYNC
        );
        let one = "<entry xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">\
                   <title>one</title></entry>";
        assert_eq!(texts(&document), [one]);
    }

    #[test]
    fn outlines_come_without_those_in_them() {
        let document = "<opml version=\"2.0\"><head/><body><outline text=\"a\">\
                        <outline text=\"b\"/></outline></body></opml>";
        assert_eq!(texts(document), ["<outline text=\"a\"/>", "<outline text=\"b\"/>"]);
        let item = "<item><outline/></item>";
        let document = format!("<rss version=\"2.0\"><channel>{item}</channel></rss>");
        assert_eq!(texts(&document), [item]);
    }

    #[test]
    fn rss_and_json_items_are_read() {
        let document = "<rss version=\"2.0\"><channel><title>t</title><item><title>a</title></item>\
                        </channel></rss>";
        assert_eq!(texts(document), ["<item><title>a</title></item>"]);
        assert_eq!(texts("{\"items\":[{\"title\":\"a\",\"sync\":null}]}"), ["{\"title\":\"a\"}"]);
        let sync = "{\"id\":\"i\",\"updates\":1,\"history\":[{\"sequence\":1,\"by\":\"a\"}]}";
        assert_eq!(
            texts(&format!("{{\"items\":[{{\"sync\":{sync}}},{{\"a\":1}}]}}")),
            ["{\"a\":1}"]
        );
    }

    #[test]
    fn items_of_sse_are_left_out() {
        let item = |inside: &str| {
            texts(&format!(
                "<rss version=\"2.0\" xmlns:x=\"http://www.microsoft.com/schemas/rss/sse\">\
                 <channel><item>{inside}</item></channel></rss>"
            ))
        };
        assert_eq!(item("<x:sync id=\"a\" version=\"1\"/>").len(), 0);
        assert_eq!(item("<x:other/>").len(), 1);
        assert_eq!(item("<sync/>").len(), 1);
    }

    #[test]
    fn one_item_stands_alone_or_in_a_feed() {
        let entry = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>a</title></entry>";
        assert_eq!(item(entry), Payload::from_parsed(Format::Atom, entry));
        assert_eq!(item("<item><title/></item>").format(), Format::Rss);
        assert_eq!(
            item("<contact name=\"a\"/>"),
            Payload::from_parsed(Format::Pox, "<contact name=\"a\"/>")
        );
        assert_eq!(
            item("{\"title\":\"a\"}"),
            Payload::from_parsed(Format::Json, "{\"title\":\"a\"}")
        );
        assert_eq!(
            item("<outline text=\"a\"/>"),
            Payload::from_parsed(Format::Opml, "<outline text=\"a\"/>")
        );
        let atom = format!("<feed xmlns=\"http://www.w3.org/2005/Atom\">{entry}</feed>");
        assert_eq!(item(&atom), Payload::from_parsed(Format::Atom, entry));
        let rdf = item(
            "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" \
             xmlns=\"http://purl.org/rss/1.0/\"><channel/><item><title>a</title></item></rdf:RDF>",
        );
        assert_eq!((rdf.format(), rdf.text().starts_with("<item")), (Format::Rss, true), "{rdf:?}");
        let sync =
            "<sx:sync id=\"x\" updates=\"1\"><sx:history sequence=\"1\" by=\"a\"/></sx:sync>";
        let pox = format!("<all xmlns:sx=\"{}\"><x>a{sync}</x></all>", crate::payload::FEEDSYNC);
        assert_eq!(item(&pox).format(), Format::Pox);
        assert!(item(&pox).text().starts_with("<x"), "{:?}", item(&pox));
        let opml = "<opml version=\"2.0\"><head/><body><outline text=\"a\"/></body></opml>";
        assert_eq!(item(opml), Payload::from_parsed(Format::Opml, "<outline text=\"a\"/>"));
        let feed = "<rss version=\"2.0\"><channel><item><title>a</title></item></channel></rss>";
        assert_eq!(item(feed).text(), "<item><title>a</title></item>");
        assert_eq!(item("{\"items\":[{\"a\":1}]}").text(), "{\"a\":1}");
        assert_eq!(item("{\"items\":{\"a\":1}}").text(), "{\"items\":{\"a\":1}}");
    }

    #[test]
    fn a_feed_of_two_items_is_not_one_item() {
        let feed = "<rss version=\"2.0\"><channel><item/><item/></channel></rss>";
        let error = read_item(feed.as_bytes(), &ReadOptions::tolerant()).unwrap_err();
        assert!(error.to_string().contains("the feed has 2 items"), "{error}");
        assert!(read_item(b"<a><b></a>", &ReadOptions::tolerant()).is_err());
        assert!(read_item(b"{\"a\":", &ReadOptions::tolerant()).is_err());
    }
}
