//! An Atom feed for clients that edit its members without its server (BITSY 3.1.1): the links for reading and editing
//! members, and the same document with members added, replaced and removed.
//!
//! All parts that are not edited are preserved byte for byte, in the document's own encoding.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use feedsync_core::Payload;

use crate::context::Context;
use crate::diagnostic::{Position, ReadError};
use crate::options::ReadOptions;
use crate::payload::{Default, PayloadTag, write};
use crate::server_parts::APP;
use crate::xml::check_is_xml;
use crate::xml::{
    Element, Encoding, Namespace, Namespaces, Tree, XmlError, decode, escape_text, is_space,
};

/// A feed, or a document with one entry, with its source.
#[derive(Debug, Clone)]
pub struct MemberFeed {
    text: String,
    encoding: Encoding,
    is_feed: bool,
    links: Vec<MemberLink>,
    collection: Option<String>,
    members: Vec<Member>,
    place: InsertionPoint,
}

/// An entry of the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// `atom:id` of the entry.
    pub id: Option<String>,
    /// Links of the entry, in document order.
    pub links: Vec<MemberLink>,
    /// Address of its content, if the content is external.
    pub content: Option<String>,
    /// The trimmed text of its title, its summary and its content.
    pub wording: [Option<String>; 3],
    /// Its categories, people and rights, one per string, in document order.
    pub labels: Vec<String>,
    span: Range<usize>,
}

/// A link that has a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberLink {
    /// Relation as written, or `alternate` if it is absent.
    pub rel: String,
    /// Target address, resolved against the surrounding base.
    pub href: String,
}

/// Edits of a feed's members.
#[derive(Debug, Clone, Default)]
pub struct MemberEdits<'e> {
    /// Members that are inserted before all others, in this order.
    pub new: Vec<&'e Payload>,
    /// Members that are replaced, or removed for `None`, by their index in [`MemberFeed::members`].
    pub changed: BTreeMap<usize, Option<&'e Payload>>,
    /// New date of the feed (RFC 4287 4.2.15).
    pub updated: Option<&'e str>,
}

/// Positions and context for inserting members.
#[derive(Debug, Clone)]
struct InsertionPoint {
    /// Offset of new members: before the first entry, or else before the end tag.
    new: usize,
    /// Name of a root without content. It gets an end tag with its first entry.
    empty: Option<String>,
    default: Default,
    lang: bool,
    /// Byte range of the content of its `atom:updated`. An empty element is replaced as a whole and has a name here.
    updated: Option<(Range<usize>, Option<String>)>,
}

impl MemberFeed {
    /// Reads a feed, or a single entry, from the address in the options.
    pub fn read(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Self, ReadError> {
        let (text, encoding) = decode(bytes, options)?;
        check_is_xml(&text)?;
        let (tree, namespaces) = Tree::parse(&text, options.mode, &options.limits)
            .map_err(|error: XmlError| error.into_read_error(&text))?;
        let root = tree.root();
        let outside = Context::outside(options);
        let context = outside.enter(&text, root.attributes());
        let read = match (root.namespace(), root.local()) {
            (Namespace::ATOM, "feed") => {
                let entries = root.children().filter(|child| child.is(Namespace::ATOM, "entry"));
                let members = entries.map(|entry| member(entry, &context)).collect();
                let (links, collection) =
                    (links(root, &context), collection(root, &context, &namespaces));
                (links, collection, members)
            }
            (Namespace::ATOM, "entry") => (Vec::new(), None, vec![member(root, &outside)]),
            _ => {
                return Err(ReadError::Document {
                    position: Position::of(&text, root.span().start),
                    message: format!("{:?} is neither an atom:feed nor an atom:entry", root.name()),
                });
            }
        };
        outside.check(root.span().start).map_err(|error| error.into_read_error(&text))?;
        let place = place(root, &context);
        let (links, collection, members) = read;
        let is_feed = root.local() == "feed";
        Ok(Self { encoding, is_feed, links, collection, members, place, text: text.into_owned() })
    }

    /// Whether the document is a feed. Otherwise it contains a single entry.
    pub fn is_feed(&self) -> bool {
        self.is_feed
    }

    /// Returns the links of the feed itself.
    pub fn links(&self) -> &[MemberLink] {
        &self.links
    }

    /// Returns the address to which new entries are posted: the `href` of its `app:collection` (RFC 5023 8.3.5).
    pub fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }

    /// Returns the entries, in document order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the document with these edits, in its own encoding.
    pub fn with(&self, edits: &MemberEdits<'_>) -> Vec<u8> {
        let mut parts: BTreeMap<(usize, usize), Cow<'_, str>> = BTreeMap::new();
        if let Some(((range, name), updated)) = self.place.updated.as_ref().zip(edits.updated) {
            let mut escaped = String::new();
            escape_text(&mut escaped, updated);
            if let Some(name) = name {
                escaped = format!("<{name}>{escaped}</{name}>");
            }
            parts.insert((range.start, range.end), escaped.into());
        }
        for (&index, payload) in &edits.changed {
            let Some(member) = self.members.get(index) else { continue };
            let Range { start, end } = member.span;
            match payload {
                Some(payload) => {
                    let mut written = String::new();
                    self.push(&mut written, payload);
                    parts.insert((start, end), written.into());
                }
                None => {
                    let before = self.text[..start].bytes().rev();
                    let white = before.take_while(|byte| is_space(*byte)).count();
                    parts.insert((start - white, end), "".into());
                }
            }
        }
        let mut new = String::new();
        for payload in &edits.new {
            self.push(&mut new, payload);
            new.push('\n');
        }
        let mut out = String::with_capacity(self.text.len() + new.len());
        let mut from = 0;
        let mut new = (!new.is_empty()).then_some(new);
        for ((start, end), replacement) in parts {
            if start >= self.place.new.min(end) && end > self.place.new {
                self.push_new(&mut out, &mut from, new.take());
            }
            out.push_str(&self.text[from..start.max(from)]);
            out.push_str(&replacement);
            from = end;
        }
        self.push_new(&mut out, &mut from, new.take());
        out.push_str(&self.text[from..]);
        self.encoding.encode(&out)
    }

    /// Appends the text before the new entries, and the new entries.
    fn push_new(&self, out: &mut String, from: &mut usize, new: Option<String>) {
        let Some(new) = new else { return };
        out.push_str(&self.text[*from..self.place.new.max(*from)]);
        *from = self.place.new.max(*from);
        match &self.place.empty {
            Some(name) => {
                out.push('>');
                out.push_str(&new);
                out.push_str(&format!("</{name}>"));
                *from += "/>".len();
            }
            None => out.push_str(&new),
        }
    }

    /// Appends an entry so that it inherits neither namespace nor language from the feed. Its references are resolved
    /// against the feed's base, unless it has its own.
    fn push(&self, out: &mut String, payload: &Payload) {
        let text = payload.text();
        let tag = PayloadTag::read(text);
        let start = out.len();
        write(out, text, &tag, &self.place.default, |_, _| {});
        if self.place.lang && tag.raw("xml:lang").is_none() {
            let name = out[start..].find([' ', '\t', '\r', '\n', '>', '/']).unwrap_or(0);
            out.insert_str(start + name, " xml:lang=\"\"");
        }
    }
}

fn member(entry: Element<'_, '_>, context: &Context<'_>) -> Member {
    let inside = context.enter(entry.document(), entry.attributes());
    let id = entry.child(Namespace::ATOM, "id").map(|id| id.text().trim().to_owned());
    let text = |name| {
        let child = entry.child(Namespace::ATOM, name)?;
        let text = child.text().trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let wording = ["title", "summary", "content"].map(text);
    let content = entry.child(Namespace::ATOM, "content");
    let content = content.and_then(|content| {
        let inside = inside.enter(content.document(), content.attributes());
        Some(inside.absolute(content.value("src")?.trim()))
    });
    let labels = entry.children().filter(|child| {
        ["category", "author", "contributor", "rights"]
            .iter()
            .any(|name| child.is(Namespace::ATOM, name))
    });
    let label = |child: Element<'_, '_>| {
        let value = |name| child.value(name).unwrap_or_default().into_owned();
        let words = [value("scheme"), value("term"), value("label"), child.text().into_owned()];
        format!("{} {}", child.local(), words.join(" ")).trim_end().to_owned()
    };
    Member {
        id: id.filter(|id| !id.is_empty()),
        links: links(entry, &inside),
        content,
        wording,
        labels: labels.map(label).collect(),
        span: entry.span(),
    }
}

/// Returns the links that are children of an element, with the given context inside it.
fn links(parent: Element<'_, '_>, inside: &Context<'_>) -> Vec<MemberLink> {
    let links = parent.children().filter(|child| child.is(Namespace::ATOM, "link"));
    let link = |link: Element<'_, '_>| {
        let inside = inside.enter(link.document(), link.attributes());
        let rel = link.value("rel").map(Cow::into_owned).filter(|rel| !rel.is_empty());
        let href = inside.absolute(link.value("href")?.trim());
        Some(MemberLink { rel: rel.unwrap_or_else(|| "alternate".to_owned()), href })
    };
    links.filter_map(link).collect()
}

/// Returns the `href` of the `app:collection` in a feed's metadata.
fn collection(
    feed: Element<'_, '_>,
    context: &Context<'_>,
    namespaces: &Namespaces<'_>,
) -> Option<String> {
    let is_collection = |child: &Element<'_, '_>| {
        child.local() == "collection" && namespaces.iri(child.namespace()) == APP
    };
    let collection = feed.children().find(is_collection)?;
    let inside = context.enter(collection.document(), collection.attributes());
    Some(inside.absolute(collection.value("href")?.trim()))
}

fn place(root: Element<'_, '_>, context: &Context<'_>) -> InsertionPoint {
    let is_feed = root.local() == "feed";
    let first = root.children().find(|child| is_feed && child.is(Namespace::ATOM, "entry"));
    let end_of_tag = root.start_tag_span().end;
    let is_empty = end_of_tag == root.span().end;
    let updated = root.child(Namespace::ATOM, "updated").filter(|_| is_feed);
    InsertionPoint {
        new: match first {
            Some(entry) => entry.span().start,
            None if is_empty => end_of_tag - "/>".len(),
            None => root.content_span().end,
        },
        empty: is_empty.then(|| root.name().to_owned()),
        default: Default::of(context.default.as_deref()),
        lang: context.lang.as_deref().is_some_and(|lang| !lang.is_empty()),
        updated: updated.map(|updated| match updated.start_tag_span().end == updated.span().end {
            true => (updated.span(), Some(updated.name().to_owned())),
            false => (updated.content_span(), None),
        }),
    }
}

#[cfg(test)]
mod tests {
    use feedsync_core::Format;

    use super::*;
    use crate::submission::{Submission, read_submission};

    const FEED: &str = "<?xml version=\"1.0\"?>\n\
        <feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:app=\"http://www.w3.org/2007/app\" \
        xml:base=\"http://example.org/notes/\" xml:lang=\"en\">\n\
        <title>Notes</title><updated>2008-05-21T00:00:00Z</updated>\n\
        <app:collection href=\"members\"/><link rel=\"next\" href=\"?page=2\"/>\n\
        <entry><id>urn:x:1</id><title>one</title><link rel=\"edit\" href=\"1\"/>\
        <link href=\"/1.html\"/></entry>\n\
        <entry xml:base=\"media/\"><id>urn:x:2</id><title>two</title>\
        <link rel=\"edit-media\" href=\"2.png\"/><content src=\"2.png\" type=\"image/png\"/>\
        </entry>\n</feed>\n";

    fn read(document: &str) -> MemberFeed {
        MemberFeed::read(document.as_bytes(), &ReadOptions::tolerant()).unwrap()
    }

    fn entry(document: &str) -> Payload {
        match read_submission(document.as_bytes(), &ReadOptions::strict()).unwrap() {
            Submission::Entry { payload, .. } => payload,
            Submission::Feed => panic!("a feed"),
        }
    }

    fn with(feed: &MemberFeed, edits: &MemberEdits<'_>) -> String {
        String::from_utf8(feed.with(edits)).unwrap()
    }

    #[test]
    fn members_and_the_collection_are_found_where_they_are() {
        let feed = read(FEED);
        assert_eq!(feed.collection(), Some("http://example.org/notes/members"));
        let link =
            |rel: &str, href: &str| MemberLink { rel: rel.to_owned(), href: href.to_owned() };
        assert_eq!(feed.links(), [link("next", "http://example.org/notes/?page=2")]);
        let [one, two] = feed.members() else { panic!("two members") };
        assert_eq!(one.id.as_deref(), Some("urn:x:1"));
        assert_eq!(
            one.links,
            [
                link("edit", "http://example.org/notes/1"),
                link("alternate", "http://example.org/1.html"),
            ]
        );
        assert_eq!(two.links, [link("edit-media", "http://example.org/notes/media/2.png")]);
        assert_eq!(two.content.as_deref(), Some("http://example.org/notes/media/2.png"));
        let single = read("<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>a</id></entry>");
        assert_eq!(single.members().len(), 1);
        assert!(feed.is_feed() && !single.is_feed());
    }

    #[test]
    fn without_edits_every_byte_stays() {
        for document in [FEED, "\u{feff}<feed xmlns=\"http://www.w3.org/2005/Atom\"/>"] {
            assert_eq!(with(&read(document), &MemberEdits::default()), document);
        }
    }

    #[test]
    fn new_members_come_first_and_inherit_nothing_from_the_feed() {
        let new = entry(
            "<a:entry xmlns:a=\"http://www.w3.org/2005/Atom\"><a:title>n&amp;w</a:title>\
             <plain/></a:entry>",
        );
        let other = entry(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"da\"><id>urn:x:3</id></entry>",
        );
        let edits = MemberEdits {
            new: vec![&new, &other],
            updated: Some("2026-01-01T00:00:00Z"),
            ..MemberEdits::default()
        };
        let feed = read(FEED);
        let written = with(&feed, &edits);
        assert!(written.contains("<updated>2026-01-01T00:00:00Z</updated>"), "{written}");
        let again = read(&written);
        let titles: Vec<&str> = again.members().iter().map(|m| &written[m.span.clone()]).collect();
        assert_eq!(titles.len(), 4);
        assert!(titles[0].contains("n&amp;w") && titles[1].contains("urn:x:3"), "{titles:?}");
        assert_eq!(
            &titles[2..],
            feed.members().iter().map(|m| &FEED[m.span.clone()]).collect::<Vec<_>>()
        );
        // Reading them as items gives the original entries, except for an empty language.
        let plain = crate::read_plain(written.as_bytes(), &ReadOptions::tolerant()).unwrap();
        let text = plain.payloads[0].text();
        assert!(text.contains("xml:lang=\"\"") && text.contains("<plain/>"), "{text}");
        assert!(text.contains("xmlns=\"\"") || !text.contains("xmlns=\"http"), "{text}");
        assert!(plain.payloads[1].text().contains("xml:lang=\"da\""));
    }

    #[test]
    fn members_are_replaced_and_left_out_in_their_places() {
        let feed = read(FEED);
        let payload = entry(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:2</id><title>zwei</title></entry>",
        );
        let changed = BTreeMap::from([(0, None), (1, Some(&payload)), (7, None)]);
        let written =
            with(&feed, &MemberEdits { changed: changed.clone(), ..MemberEdits::default() });
        assert!(!written.contains("urn:x:1") && written.contains("zwei"), "{written}");
        assert!(
            !written.contains(">two<") && written.ends_with("</entry>\n</feed>\n"),
            "{written}"
        );
        let new = entry("<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:9</id></entry>");
        let both = with(&feed, &MemberEdits { new: vec![&new], changed, updated: None });
        let ids: Vec<_> =
            read(&both).members().iter().map(|member| member.id.clone().unwrap()).collect();
        assert_eq!(ids, ["urn:x:9", "urn:x:2"], "{both}");
        assert_eq!(both.replace("<entry xml:lang=\"\"><id>urn:x:9</id></entry>\n", ""), written);
    }

    #[test]
    fn a_feed_without_members_gets_its_first() {
        let new =
            Payload::from_parsed(Format::Atom, "<entry xmlns=\"http://www.w3.org/2005/Atom\"/>");
        let edits = MemberEdits { new: vec![&new], ..MemberEdits::default() };
        for (document, written) in [
            ("<f:feed xmlns:f=\"http://www.w3.org/2005/Atom\"/>", "</f:feed>"),
            ("<feed xmlns=\"http://www.w3.org/2005/Atom\"></feed>", "</feed>"),
        ] {
            let text = with(&read(document), &edits);
            assert_eq!(read(&text).members().len(), 1, "{text}");
            assert!(text.ends_with(written), "{text}");
        }
    }

    #[test]
    fn a_feed_without_a_date_gets_the_date_of_the_edit() {
        let feed = read("<a:feed xmlns:a=\"http://www.w3.org/2005/Atom\"><a:updated/></a:feed>");
        let written = with(&feed, &MemberEdits { updated: Some("now"), ..MemberEdits::default() });
        assert!(written.contains("<a:updated>now</a:updated></a:feed>"), "{written}");
    }

    #[test]
    fn a_long_base_of_many_links_is_refused() {
        let links = "<link href=\"a\"/>".repeat(2_000);
        let base = format!("http://example.org/{}/", "x".repeat(2_000));
        let document = format!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:base=\"{base}\">{links}</feed>"
        );
        let mut options = ReadOptions::tolerant();
        options.limits.bytes = 1 << 20;
        let refused = MemberFeed::read(document.as_bytes(), &options).unwrap_err();
        assert!(refused.to_string().contains("inherit"), "{refused}");
        options.limits.bytes = 1 << 23;
        assert!(MemberFeed::read(document.as_bytes(), &options).is_ok());
    }

    #[test]
    fn an_edit_comes_in_the_encoding_of_the_feed() {
        let document = "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n\
                        <feed xmlns=\"http://www.w3.org/2005/Atom\"><title>\u{e4}</title></feed>";
        let bytes: Vec<u8> = document.chars().map(|c| c as u8).collect();
        let feed = MemberFeed::read(&bytes, &ReadOptions::tolerant()).unwrap();
        let new = entry(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>\u{f6}\u{20ac}</title></entry>",
        );
        let edits = MemberEdits { new: vec![&new], ..MemberEdits::default() };
        let written = feed.with(&edits);
        assert!(
            written.windows(8).any(|w| w == b"\xf6&#8364;" || w == b"\xf6&#x20AC"),
            "{written:?}"
        );
        assert!(std::str::from_utf8(&written).is_err());
        let again = MemberFeed::read(&written, &ReadOptions::tolerant()).unwrap();
        assert!(again.text.contains("\u{f6}&#"), "{}", again.text);
    }

    #[test]
    fn documents_that_are_not_atom_are_refused_with_the_position() {
        for (document, place) in [
            ("<rss version=\"2.0\"/>", "1:1"),
            ("<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry></feed>", "1:"),
        ] {
            let error =
                MemberFeed::read(document.as_bytes(), &ReadOptions::tolerant()).unwrap_err();
            assert!(error.to_string().contains(place), "{error}");
        }
    }
}
