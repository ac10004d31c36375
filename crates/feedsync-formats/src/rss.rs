//! RSS 2.0: `rss` holds `channel` holds `item`; leniently also 0.9x and RSS 1.0, whose items stand
//! beside the channel.

use feedsync::Format;

use crate::compose::push_plain;
use crate::date::to_rfc822;
use crate::feed::{Place, Role};
use crate::head::FeedHead;
use crate::names::media_type;
use crate::sync::push_sharing;

pub(crate) fn role(place: Place<'_>) -> Role {
    let rdf = place.root == crate::xml::Namespace::RDF;
    match (place.path, place.local) {
        ([], _) if rdf => Role::Items,
        ([], _) => Role::Container,
        ([_], "channel") if rdf => Role::Container,
        ([_], "channel") => Role::Items,
        ([_] | [_, "channel"], "item") => Role::Item,
        ([_, "channel"], "title") if rdf || place.namespace == place.root => Role::Title,
        _ => Role::Other,
    }
}

/// Appends everything before the first item: a valid channel has title, link and description.
pub(crate) fn begin(out: &mut String, head: &FeedHead<'_>, declarations: &str) {
    let links = head.self_link.is_some() || head.next.is_some() || !head.links.is_empty();
    out.push_str("<rss version=\"2.0\"");
    if links {
        crate::payload::push_declaration(out, "atom", crate::atom::ATOM);
    }
    out.push_str(declarations);
    out.push_str("><channel>\n");
    let alternate = head.links.iter().find(|link| link.rel == "alternate").map(|link| link.href);
    for (name, text) in [
        ("title", head.title),
        ("link", alternate.or(head.self_link).unwrap_or(head.id)),
        ("description", head.title),
        ("lastBuildDate", &to_rfc822(head.updated)),
    ] {
        out.push_str(&format!("<{name}>"));
        push_plain(out, text);
        out.push_str(&format!("</{name}>\n"));
    }
    if links {
        crate::atom::push_links(out, head, "atom:link", Some(media_type(Format::Rss)));
    }
    crate::atom::push_complete(out, head);
    if let Some(sharing) = head.sharing {
        push_sharing(out, sharing);
    }
}
