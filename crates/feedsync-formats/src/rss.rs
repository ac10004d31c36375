//! RSS 2.0: `rss` contains `channel`, which contains `item`. Tolerant reading also accepts 0.9x and
//! RSS 1.0, whose items are next to the channel.

use feedsync_core::Format;

use crate::compose::push_plain;
use crate::date::to_rfc822;
use crate::details::{push_markup, push_rss};
use crate::head::FeedHead;
use crate::names::media_type;
use crate::payload::Default;
use crate::structure::{Role, TagContext};
use crate::sync::push_sharing;

pub(crate) fn role(place: TagContext<'_>) -> Role {
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

/// Appends everything before the first item. A valid channel has a title, a link and a description.
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
        ("lastBuildDate", &to_rfc822(head.updated)),
    ] {
        out.push_str(&format!("<{name}>"));
        push_plain(out, text);
        out.push_str(&format!("</{name}>\n"));
    }
    push_rss(out, head);
    if links {
        crate::atom::push_links(out, head, "atom:link", Some(media_type(Format::Rss)));
    }
    push_markup(out, head, Format::Rss, &Default::None);
    crate::atom::push_complete(out, head);
    if let Some(sharing) = head.sharing {
        push_sharing(out, sharing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::HeadLink;

    /// Returns the head of a channel, after checking that the head of an Atom feed has the same
    /// links.
    fn begun(
        self_link: Option<&str>,
        next: Option<&str>,
        links: &[HeadLink<'_>],
        complete: bool,
    ) -> String {
        let updated = "2005-05-21T09:43:33Z".parse().unwrap();
        let (id, title, author) = ("urn:id", "T", "A");
        let head = FeedHead {
            id,
            title,
            updated,
            author,
            details: None,
            self_link,
            next,
            links,
            complete,
            sharing: None,
        };
        let (mut rss, mut atom) = (String::new(), String::new());
        begin(&mut rss, &head, "");
        crate::atom::begin(&mut atom, &head, "");
        let of_rss: Vec<_> = links_of(&rss, "<atom:link").collect();
        let of_atom: Vec<_> = links_of(&atom, "<link").collect();
        assert_eq!(of_rss.len(), of_atom.len());
        for (of_rss, of_atom) in of_rss.into_iter().zip(of_atom) {
            assert_eq!(of_rss.replace(" type=\"application/rss+xml\"", ""), of_atom);
        }
        assert_eq!(rss.contains("fh:complete"), complete);
        assert_eq!(atom.contains("fh:complete"), complete);
        rss
    }

    fn links_of<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
        text.lines().filter_map(move |line| line.strip_prefix(name))
    }

    #[test]
    fn a_channel_declares_atom_where_it_has_links_and_names_its_page_first() {
        let link = |rel, href| HeadLink { rel, href, media_type: None };
        let (hub, page) = (link("hub", "/hub"), link("alternate", "/page"));
        for (self_link, next, links, site, count) in [
            (None, None, &[][..], "urn:id", 0),
            (Some("/self"), None, &[], "/self", 1),
            (None, Some("/next"), &[], "urn:id", 1),
            (None, None, &[hub], "urn:id", 1),
            (None, None, &[page], "/page", 1),
            (Some("/self"), Some("/next"), &[hub, page], "/page", 4),
        ] {
            for complete in [false, true] {
                let text = begun(self_link, next, links, complete);
                assert_eq!(text.contains("xmlns:atom"), count > 0, "{text}");
                assert_eq!(text.matches("<atom:link ").count(), count, "{text}");
                assert!(text.contains(&format!("<link>{site}</link>")), "{text}");
            }
        }
    }
}
