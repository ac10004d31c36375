//! Recognition of a posted entry in a feed when the server did not name its address (BITSY 3.5, R-B32,
//! R-B35).
//!
//! A server may change the id of an entry and add its own data. The parts that a person wrote remain: the id
//! if the server keeps it, else title, summary and content.

use feedsync_formats::{Member, MemberFeed, ReadOptions};

use crate::collections::SortedSet;
use crate::location::Location;
use crate::overlay::edit_links;

/// The parts by which an entry is recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    id: Option<String>,
    wording: [Option<String>; 3],
    labels: SortedSet<String>,
    links: SortedSet<(String, String)>,
}

/// Relations of the links that a server adds.
const SERVER_RELATIONS: [&str; 4] = ["edit", "edit-media", "self", "alternate"];

impl Fingerprint {
    /// Likeness of a document with one entry; none for any other document.
    pub fn of_entry(bytes: &[u8], address: &Location) -> Option<Self> {
        let options = ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
        let document = MemberFeed::read(bytes, &options).ok().filter(|it| !it.is_feed())?;
        document.members().first().map(Self::of)
    }

    /// Likeness of a member.
    pub fn of(member: &Member) -> Self {
        let links = member.links.iter().filter(|link| !SERVER_RELATIONS.contains(&&*link.rel));
        Self {
            id: member.id.clone(),
            wording: member.wording.clone(),
            labels: member.labels.iter().cloned().collect(),
            links: links.map(|link| (link.rel.clone(), link.href.clone())).collect(),
        }
    }

    /// Whether a server has this entry and nobody has added to it. An author where ours has none, and the
    /// links that a server adds, do not count.
    pub fn is_stored_as(&self, theirs: &Self) -> bool {
        let is_author = |label: &String| label.starts_with("author");
        let has_author = self.labels.iter().any(is_author);
        let added = theirs.labels.difference(&self.labels);
        self.says(theirs)
            && self.links == theirs.links
            && self.labels.is_subset(&theirs.labels)
            && added.into_iter().all(|label| is_author(label) && !has_author)
    }

    /// Whether the two may be the same entry.
    pub fn may_match(&self, other: &Self) -> bool {
        self.says(other) || (self.id.is_some() && self.id == other.id)
    }

    /// Whether both have the same title, summary and content, whatever their ids.
    pub fn says(&self, other: &Self) -> bool {
        self.wording == other.wording
    }

    /// Returns the addresses in a feed at which the entry may be. Members with its id are first, then members
    /// with the same wording, each in document order.
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

    fn entry(parts: &str) -> Fingerprint {
        let text =
            format!("<entry xmlns='http://www.w3.org/2005/Atom'><title>t</title>{parts}</entry>");
        Fingerprint::of_entry(text.as_bytes(), &"http://example.org/1".parse().unwrap()).unwrap()
    }

    #[test]
    fn additions_of_a_server_do_not_count_as_edits() {
        let ours = entry("<category term='a'/>");
        for theirs in [
            "<category term='a'/>",
            "<id>urn:1</id><updated>2008-05-21T00:00:00Z</updated><link rel='edit' href='1'/>\
             <author><name>Anna</name></author><category term='a'/>",
        ] {
            assert!(ours.is_stored_as(&entry(theirs)), "{theirs}");
        }
        for theirs in [
            "",
            "<category term='a'/><category term='b'/>",
            "<category term='a' scheme='urn:x'/>",
            "<category term='a'/><link rel='related' href='/x'/>",
            "<category term='a'/><rights>mine</rights>",
            "<category term='a'/><summary>s</summary>",
        ] {
            assert!(!ours.is_stored_as(&entry(theirs)), "{theirs}");
        }
        let signed = entry("<author><name>Anna</name></author>");
        let others = "<author><name>Anna</name></author><author><name>Bert</name></author>";
        assert!(!signed.is_stored_as(&entry(others)));
    }
}
