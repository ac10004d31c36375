//! Atom 1.0: `feed` holds `entry`.

use feedsync_core::Format;

use crate::details::{author_element, push_markup, push_texts};
use crate::head::FeedHead;
use crate::payload::{Default, push_attribute};
use crate::structure::{Role, TagContext};
use crate::sync::push_sharing;
use crate::xml::{Namespace, escape_text};

/// The namespace of Atom 1.0.
pub(crate) const ATOM: &str = "http://www.w3.org/2005/Atom";

pub(crate) fn role(place: TagContext<'_>) -> Role {
    match (place.path, place.local) {
        ([], _) => Role::Items,
        ([_], "entry") if place.namespace == place.root || place.namespace == Namespace::ATOM => {
            Role::Item
        }
        ([_], "title") if place.namespace == place.root => Role::Title,
        _ => Role::Other,
    }
}

/// Appends everything before the first entry. A valid feed has an id, a title, an updated date and
/// an author for entries without one (RFC 4287 4.1.1).
pub(crate) fn begin(out: &mut String, head: &FeedHead<'_>, declarations: &str) {
    out.push_str("<feed xmlns=\"");
    out.push_str(ATOM);
    out.push('"');
    out.push_str(declarations);
    out.push_str(">\n");
    let mut element = |name: &str, text: &str| {
        out.push_str(&format!("<{name}>"));
        escape_text(out, text);
        out.push_str(&format!("</{name}>\n"));
    };
    element("id", head.id);
    element("title", head.title);
    element("updated", &head.updated.to_string());
    push_texts(out, head, "");
    author_element(out, head, "<author><name>", "</name></author>");
    push_links(out, head, "link", None);
    push_markup(out, head, Format::Atom, &Default::of(Some(ATOM)));
    push_complete(out, head);
    if let Some(sharing) = head.sharing {
        push_sharing(out, sharing);
    }
}

/// Appends the mark of a feed that is complete in one document (RFC 5005 2).
pub(crate) fn push_complete(out: &mut String, head: &FeedHead<'_>) {
    if head.complete {
        out.push_str("<fh:complete xmlns:fh=\"http://purl.org/syndication/history/1.0\"/>\n");
    }
}

/// Appends the links of a feed as Atom link elements with the given element name. Links to parts of
/// the feed have the given media type, if any.
pub(crate) fn push_links(
    out: &mut String,
    head: &FeedHead<'_>,
    name: &str,
    own_type: Option<&str>,
) {
    let own = [("self", head.self_link), ("next", head.next)];
    let own = own.into_iter().filter_map(|(rel, href)| Some((rel, href?, own_type)));
    for (rel, href, media_type) in
        own.chain(head.links.iter().map(|link| (link.rel, link.href, link.media_type)))
    {
        out.push('<');
        out.push_str(name);
        push_attribute(out, "rel", rel);
        push_attribute(out, "href", href);
        if let Some(media_type) = media_type {
            push_attribute(out, "type", media_type);
        }
        out.push_str("/>\n");
    }
}
