//! Whether an entry of a feed is the one that was posted, when nobody said so (BITSY 3.5, R-B32, R-B35).
//!
//! A server may give an entry another id, and it adds to it what is its own. What a person wrote stays: the
//! id where the server keeps it, else title, summary and content.

use std::collections::BTreeSet;

use feedsync_formats::{Member, MemberFeed, ReadOptions};

use crate::location::Location;
use crate::overlay::edit_links;

/// By what an entry is known again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    id: Option<String>,
    wording: [Option<String>; 3],
    labels: BTreeSet<String>,
    links: BTreeSet<(String, String)>,
}

/// Relations of links that a server gives.
const OF_SERVER: [&str; 4] = ["edit", "edit-media", "self", "alternate"];

impl Likeness {
    /// That of a document of one entry; none if it is no such.
    pub fn of_entry(bytes: &[u8], address: &Location) -> Option<Self> {
        let options = ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
        let document = MemberFeed::read(bytes, &options).ok().filter(|it| !it.is_feed())?;
        document.members().first().map(Self::of)
    }

    /// That of a member.
    pub fn of(member: &Member) -> Self {
        let links = member.links.iter().filter(|link| !OF_SERVER.contains(&&*link.rel));
        Self {
            id: member.id.clone(),
            wording: member.wording.clone(),
            labels: member.labels.iter().cloned().collect(),
            links: links.map(|link| (link.rel.clone(), link.href.clone())).collect(),
        }
    }

    /// Whether a server has this and nobody has added to it: what a server gives where nothing is, an author,
    /// and links of its own do not count.
    pub fn is_kept_as(&self, theirs: &Self) -> bool {
        let is_author = |label: &String| label.starts_with("author");
        let has_author = self.labels.iter().any(is_author);
        let added = theirs.labels.difference(&self.labels);
        self.says(theirs)
            && self.links == theirs.links
            && self.labels.is_subset(&theirs.labels)
            && added.into_iter().all(|label| is_author(label) && !has_author)
    }

    /// Whether either may be the other.
    pub fn is_like(&self, other: &Self) -> bool {
        self.says(other) || (self.id.is_some() && self.id == other.id)
    }

    /// Whether both say the same, whatever they are called.
    pub fn says(&self, other: &Self) -> bool {
        self.wording == other.wording
    }

    /// Where in a feed the entry may be: where one of its id is, then where others say the same, in document
    /// order.
    pub fn places(&self, document: &MemberFeed, address: &Location) -> Vec<Location> {
        let is_named = |member: &Member| self.id.is_some() && member.id == self.id;
        let named = document.members().iter().filter(|member| is_named(member));
        let says = |member: &&Member| !is_named(member) && self.wording == member.wording;
        let alike = named.chain(document.members().iter().filter(says));
        alike.filter_map(|member| edit_links(member, address).next()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(parts: &str) -> Likeness {
        let text =
            format!("<entry xmlns='http://www.w3.org/2005/Atom'><title>t</title>{parts}</entry>");
        Likeness::of_entry(text.as_bytes(), &"http://example.org/1".parse().unwrap()).unwrap()
    }

    #[test]
    fn what_a_server_adds_is_nobodys_edit_and_anything_else_is() {
        let ours = entry("<category term='a'/>");
        for theirs in [
            "<category term='a'/>",
            "<id>urn:1</id><updated>2008-05-21T00:00:00Z</updated><link rel='edit' href='1'/>\
             <author><name>Anna</name></author><category term='a'/>",
        ] {
            assert!(ours.is_kept_as(&entry(theirs)), "{theirs}");
        }
        for theirs in [
            "",
            "<category term='a'/><category term='b'/>",
            "<category term='a' scheme='urn:x'/>",
            "<category term='a'/><link rel='related' href='/x'/>",
            "<category term='a'/><rights>mine</rights>",
            "<category term='a'/><summary>s</summary>",
        ] {
            assert!(!ours.is_kept_as(&entry(theirs)), "{theirs}");
        }
        let signed = entry("<author><name>Anna</name></author>");
        let others = "<author><name>Anna</name></author><author><name>Bert</name></author>";
        assert!(!signed.is_kept_as(&entry(others)));
    }
}
