//! Discovery of the resources that belong to a feed: the links that are followed (BITSY 2.1.1, 2.1.4, R-B2,
//! R-B21).
//!
//! Links of the feed and links of its entries are treated alike, to any address of the web. `content` is our
//! relation for `atom:content/@src`. In a page of the feed, `next` and `prev-archive` lead to other pages
//! (RFC 5005 3, 4).

use feedsync_formats::{Link, Member, MemberFeed, MemberLink};

use crate::collections::SortedSet;
use crate::location::Location;
use crate::relation::Relation;
use crate::subscription::round::{MAX_ADDRESSES, Part};

/// Relations that lead to other pages of a feed.
const PAGES: [&str; 2] = ["next", "prev-archive"];

/// Our relation for the content of an entry that is at another address.
const CONTENT: &str = "content";

/// Returns the resources to fetch after a document of a feed, in document order. The document was read with
/// its address as the base. References that are not addresses of the web are left out.
pub fn targets(
    document: &MemberFeed,
    address: &Location,
    follows: &SortedSet<Relation>,
) -> Vec<(Part, Location)> {
    let resolved = |href: &str| Location::resolve(Some(address), href).ok();
    let followed = |link: &MemberLink| {
        let relation: Relation = link.rel.parse().ok()?;
        follows.contains(&relation).then_some(relation)
    };
    let of_feed = document.links().iter().filter_map(|link| {
        let relation = followed(link)?;
        let page = PAGES.contains(&relation.as_str());
        Some((if page { Part::Page } else { Part::Linked }, resolved(&link.href)?))
    });
    let takes_content = follows.iter().any(|relation| relation.as_str() == CONTENT);
    let of_member = |member: &Member| {
        let links = member.links.iter().filter(|link| followed(link).is_some());
        let content = member.content.iter().filter(|_| takes_content);
        let hrefs = links.map(|link| &link.href).chain(content);
        let locations = hrefs.filter_map(|href| resolved(href));
        locations.map(|location| (Part::Linked, location)).collect::<Vec<_>>()
    };
    let of_members = document.members().iter().flat_map(of_member);
    of_feed.chain(of_members).take(MAX_ADDRESSES).collect()
}

/// Returns the resources to fetch after a feed that cannot be edited (R-B44), of whose items these are the links.
pub fn targets_of_plain(
    links: &[Link],
    address: &Location,
    follows: &SortedSet<Relation>,
) -> Vec<(Part, Location)> {
    let followed = links.iter().filter(|link| {
        link.rel.parse().is_ok_and(|relation: Relation| follows.contains(&relation))
    });
    let locations = followed.filter_map(|link| Location::resolve(Some(address), &link.href).ok());
    locations.map(|location| (Part::Linked, location)).take(MAX_ADDRESSES).collect()
}

#[cfg(test)]
mod tests {
    use feedsync_formats::ReadOptions;

    use super::*;

    const FEED: &str = "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/notes/'>\
        <link rel='next' href='?page=2'/><link rel='icon' href='icon.png'/>\
        <entry><link href='1.html'/><link rel='Enclosure' href='http://cdn.example.net/1.mp3'/>\
        <link rel='http://www.iana.org/assignments/relation/related' href='mailto:a@example.org'/>\
        <content src='1.png' type='image/png'/></entry>\
        <entry><link rel='next' href='of-an-entry'/><link rel='enclosure' href='2.mp3'/></entry></feed>";

    fn found(follows: &[&str]) -> Vec<(Part, String)> {
        let mut options = ReadOptions::tolerant();
        options.base = Some("http://example.org/feed");
        let feed = MemberFeed::read(FEED.as_bytes(), &options).unwrap();
        let follows = follows.iter().map(|relation| relation.parse().unwrap()).collect();
        let address = "http://example.org/feed".parse().unwrap();
        let targets = targets(&feed, &address, &follows).into_iter();
        targets.map(|(part, location)| (part, location.to_string())).collect()
    }

    fn linked(location: &str) -> (Part, String) {
        (Part::Linked, location.to_owned())
    }

    #[test]
    fn links_are_followed_by_relation_and_no_others() {
        assert_eq!(found(&[]), []);
        assert_eq!(found(&["related"]), [], "no address of the web");
        let enclosures =
            [linked("http://cdn.example.net/1.mp3"), linked("http://example.org/notes/2.mp3")];
        assert_eq!(found(&["ENCLOSURE"]), enclosures);
        assert_eq!(found(&["alternate"]), [linked("http://example.org/notes/1.html")]);
        assert_eq!(found(&["content"]), [linked("http://example.org/notes/1.png")]);
        assert_eq!(found(&["icon"]), [linked("http://example.org/notes/icon.png")]);
    }

    #[test]
    fn pages_are_those_that_the_feed_itself_names() {
        let next = (Part::Page, "http://example.org/notes/?page=2".to_owned());
        assert_eq!(found(&["next"]), [next, linked("http://example.org/notes/of-an-entry")]);
    }
}
