//! The parts of an Atom entry that a server owns and that are not part of a payload.
//!
//! An entry from an AtomPub server may contain the time at which that server stored it, and an address for editing it
//! (RFC 5023, 10.2, 11.1 and 11.2). Two servers have different values for one version. These parts are therefore
//! removed before an item is stored. Equal dots then mean equal payloads everywhere, and no client is sent
//! to another server. The parts are:
//! - `app:edited`;
//! - `atom:link` with the relation `edit` or `edit-media`, as a name or as its IRI;
//! - `atom:content` and `atom:link` that a hub marked with `fs:served`: they contain the address at which it serves
//!   the media of the entry ([`with_media_links`](crate::with_media_links)).
//!
//! `content/@src` of a blob and a server's own `alternate` look like those of an author. The server that writes them
//! also removes them ([`without_served`]).

use std::ops::Range;

use feedsync_core::{Format, Payload};

use crate::context::Context;
use crate::options::{Limits, Mode};
use crate::payload::{Extraction, extract};
use crate::served::is_alternate;
use crate::xml::{Element, Namespace, Namespaces, Tree};

/// Namespace of the Atom Publishing Protocol.
pub(crate) const APP: &str = "http://www.w3.org/2007/app";
/// Local name of the attribute that marks a hub's data about an entry's media.
pub(crate) const SERVED: &str = "served";
const RELATIONS: &str = "http://www.iana.org/assignments/relation/";

/// Returns the payload without the parts that a server owns. Returns `None` if it contains none. The white space
/// directly before them is removed, and so are the entry's declarations of prefixes that only these parts use. Every
/// other byte stays.
pub fn without_server_parts(payload: &Payload) -> Option<Payload> {
    let text = payload.text();
    let mentions = |name: &str| crate::search::find(text.as_bytes(), name.as_bytes()).is_some();
    (payload.format() == Format::Atom && (mentions("edit") || mentions(SERVED))).then_some(())?;
    without_children(payload, is_server_part)
}

/// Returns the entry as its author wrote it, without all parts of the server. This includes parts that look like an
/// author's: page links of the server and, with `for_media`, the blob and the address of its media. The native text
/// of a projection is also removed, since an edit makes it void.
pub fn without_served(
    payload: &Payload,
    is_own_page: impl Fn(&str) -> bool,
    for_media: bool,
) -> Payload {
    let is_served = |child: Element<'_, '_>, namespaces: &Namespaces<'_>| {
        is_server_part(child, namespaces)
            || child.is(Namespace::OWN, "native")
            || (is_alternate(child) && child.value("href").is_some_and(|href| is_own_page(&href)))
            || (for_media && child.is(Namespace::OWN, "blob"))
            || (for_media && child.is(Namespace::ATOM, "content"))
    };
    without_children(payload, is_served).unwrap_or_else(|| payload.clone())
}

/// Returns the payload without some of its children. Returns `None` if it has no such children.
pub(crate) fn without_children(
    payload: &Payload,
    leaves: impl Fn(Element<'_, '_>, &Namespaces<'_>) -> bool,
) -> Option<Payload> {
    let (tree, namespaces) =
        Tree::parse(payload.text(), Mode::Tolerant, &Limits::default()).ok()?;
    let entry = tree.root();
    let parts: Vec<_> =
        entry.children().filter(|child| leaves(*child, &namespaces)).map(Element::span).collect();
    if parts.is_empty() {
        return None;
    }
    let rest = without(entry, &parts);
    let mut cuts = orphans(entry, &parts, &rest);
    let text = if cuts.is_empty() {
        rest
    } else {
        cuts.extend(parts);
        without(entry, &cuts)
    };
    Some(payload.with_parsed_text(text))
}

fn is_server_part(child: Element<'_, '_>, namespaces: &Namespaces<'_>) -> bool {
    match child.local() {
        "edited" => namespaces.iri(child.namespace()) == APP,
        "content" if is_marked(child) => child.namespace() == Namespace::ATOM,
        "link" => {
            if is_marked(child) {
                return child.namespace() == Namespace::ATOM;
            }
            let relation = child.value("rel").unwrap_or_default();
            child.namespace() == Namespace::ATOM && is_edit_relation(&relation)
        }
        _ => false,
    }
}

/// Whether a relation, as a name or as its IRI, leads to where a server edits the entry or its media.
pub(crate) fn is_edit_relation(relation: &str) -> bool {
    matches!(relation.strip_prefix(RELATIONS).unwrap_or(relation), "edit" | "edit-media")
}

fn is_marked(child: Element<'_, '_>) -> bool {
    child.attribute(Namespace::OWN, SERVED).is_some()
}

/// Returns the entry's declarations of prefixes that occur in these parts and not in the rest. Reading added them for
/// the parts.
fn orphans(entry: Element<'_, '_>, parts: &[Range<usize>], rest: &str) -> Vec<Range<usize>> {
    let text = entry.document();
    let is_orphan = |prefix: &str| {
        let mention = format!("{prefix}:");
        parts.iter().any(|part| text[part.clone()].contains(&mention)) && !rest.contains(&mention)
    };
    entry
        .attributes()
        .iter()
        .filter(|attribute| {
            attribute
                .declared_prefix(text)
                .is_some_and(|prefix| !prefix.is_empty() && is_orphan(prefix))
        })
        .map(|attribute| attribute.span())
        .collect()
}

/// Returns the entry without these parts, in canonical form.
fn without(entry: Element<'_, '_>, cuts: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(entry.span().len());
    let extraction = Extraction { cuts, self_contained: true, ..Extraction::default() };
    extract(&mut out, entry, &Context::default(), extraction);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ReadOptions;
    use crate::random::Random;
    use crate::read::read;

    const ENTRY: &str = "<entry xmlns=\"http://www.w3.org/2005/Atom\"";
    const APP_PREFIX: &str = " xmlns:app=\"http://www.w3.org/2007/app\"";

    fn cleaned(text: &str) -> Option<String> {
        let payload = Payload::from_parsed(Format::Atom, text).with_sync_foreign(Some("<sync/>"));
        let cleaned = without_server_parts(&payload)?;
        assert_eq!(
            (cleaned.format(), &cleaned.sync_foreign()),
            (Format::Atom, &payload.sync_foreign())
        );
        assert_eq!(without_server_parts(&cleaned), None, "once is enough: {}", cleaned.text());
        Some(cleaned.text().to_string())
    }

    #[test]
    fn server_parts_are_removed_and_every_other_byte_stays() {
        let kept = "\r\n <title  type='text'>edit &amp; &#66;</title ><!-- app:none edit -->\n\
                    <link rel='alternate' href='/edit'/><link href='x'/>\n\
                    <edited>mine</edited><content><![CDATA[<link rel='edit'/>]]></content>";
        let parts = [
            "<app:edited xmlns:app='http://www.w3.org/2007/app'>2026-01-02T03:04:05Z</app:edited>",
            "<x xmlns:app='urn:x'/>\n <link rel=\"edit\" href=\"/1\">\n<b/></link >",
            "\t<link href='/1' type='image/png' rel='edit-media'/>",
            "<link href='/1' rel='http://www.iana.org/assignments/relation/edit'/>",
            "\n<e:edited xmlns:e='http://www.w3.org/2007/app'/>",
        ];
        let text = format!(
            "{ENTRY} >{}{kept}{}{}{}\n{}\n</entry>",
            parts[0], parts[1], parts[2], parts[3], parts[4]
        );
        let rest = format!("{ENTRY} >{kept}<x xmlns:app='urn:x'/>\n</entry>");
        assert_eq!(cleaned(&text), Some(rest));
    }

    #[test]
    fn declarations_that_only_server_parts_use_are_removed() {
        let edited = "<app:edited>2026-01-02T03:04:05Z</app:edited>";
        let text =
            format!("{ENTRY}{APP_PREFIX} xmlns:g=\"urn:g\" g:etag='1'><id>x</id> {edited}</entry>");
        let rest = format!("{ENTRY} xmlns:g=\"urn:g\" g:etag='1'><id>x</id></entry>");
        assert_eq!(cleaned(&text), Some(rest));
        let control = "<app:control><app:draft>yes</app:draft></app:control>";
        let text = format!("{ENTRY}{APP_PREFIX}>{edited}{control}</entry>");
        assert_eq!(cleaned(&text), Some(format!("{ENTRY}{APP_PREFIX}>{control}</entry>")));
        let text = "<a:entry xmlns:a='http://www.w3.org/2005/Atom'> <a:link rel='edit'/></a:entry>";
        assert_eq!(cleaned(text).unwrap(), "<a:entry xmlns:a='http://www.w3.org/2005/Atom'/>");
        let text = format!("{ENTRY}>\n<link rel='edit'/></entry>");
        assert_eq!(cleaned(&text), Some(format!("{ENTRY}/>")));
    }

    #[test]
    fn parts_that_only_resemble_server_parts_stay() {
        for inside in [
            "",
            "<title>edit</title>",
            "<link rel='editor'/><link rel='Edit'/><link href='edit'/>",
            "<x:link xmlns:x='urn:x' rel='edit'/><edited/>",
            "<source><link rel='edit'/><edited xmlns='http://www.w3.org/2007/app'/></source>",
            "<link xmlns:x='urn:x' x:rel='edit'/>",
        ] {
            assert_eq!(cleaned(&format!("{ENTRY}>{inside}</entry>")), None, "{inside}");
        }
        let link = "<link xmlns='http://www.w3.org/2005/Atom' rel='edit'/>";
        for format in [Format::Rss, Format::Opml, Format::Pox] {
            let payload = Payload::from_parsed(format, format!("<item>{link}</item>"));
            assert_eq!(without_server_parts(&payload), None);
        }
        let json = Payload::from_parsed(Format::Json, "{\"links\":[{\"rel\":\"edit\"}]}");
        assert_eq!(without_server_parts(&json), None);
        assert_eq!(cleaned("<entry edit"), None);
    }

    /// Reads the only entry of a feed whose root declares `app`.
    fn read_entry(entry: &str) -> String {
        let feed = format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:app='{APP}' \
             xmlns:sx='http://feedsync.org/2007/feedsync'>{entry}</feed>"
        );
        let reading = read(feed.as_bytes(), None, &ReadOptions::strict()).unwrap();
        reading.feed.items[0].winner.payload.text().to_string()
    }

    /// Property over random entries: an entry that is read from a feed with and without server parts gives the same
    /// bytes, and these are canonical.
    #[test]
    fn entries_with_and_without_server_parts_are_read_to_the_same_bytes() {
        let kept = [
            "<title>app edit</title>",
            "<link rel='self' href='/'/>",
            "<app:control/>",
            "<!-- edit -->",
            "text",
        ];
        let owned = [
            "<app:edited>2026-01-02T03:04:05Z</app:edited>",
            "<link app:etag='1' rel='edit' href='/'/>",
            "<link rel=\"edit-media\" href=\"/\"></link>",
        ];
        let sync = "<sx:sync id='i' updates='1'><sx:history sequence='1' by='a'/></sx:sync>";
        for seed in 0..500 {
            let mut random = Random(seed);
            let (mut plain, mut served) = (String::new(), String::new());
            for _ in 0..random.below(8) {
                let white = *random.of(&["", "", " ", "\r\n\t"]);
                if random.below(2) == 0 {
                    let part = *random.of(&kept);
                    plain += &format!("{white}{part}");
                    served += &format!("{white}{part}");
                } else {
                    served += &format!("{white}{}", random.of(&owned));
                }
            }
            let [plain, served] =
                [plain, served].map(|inside| read_entry(&format!("<entry>{inside}{sync}</entry>")));
            let text = cleaned(&served).unwrap_or(served);
            assert_eq!(text, plain, "seed {seed}");
            let again = text.strip_suffix("/>").map_or_else(
                || text.replace("</entry>", &format!("{sync}</entry>")),
                |open| format!("{open}>{sync}</entry>"),
            );
            assert_eq!(read_entry(&again), text, "seed {seed}");
        }
    }
}
