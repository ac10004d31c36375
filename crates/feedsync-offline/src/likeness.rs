//! Whether an entry of a feed is the one that was posted, when nobody said so (BITSY 3.5, C32, C35).
//!
//! A server may give an entry another id, and it adds to it what is its own. What a person wrote stays: the
//! id where the server keeps it, else title, summary and content.

use feedsync_formats::{Member, MemberFeed, ReadOptions};

use crate::location::Location;
use crate::overlay::edit_links;

/// By what an entry is known again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    id: Option<String>,
    wording: [Option<String>; 3],
}

impl Likeness {
    /// That of a document of one entry; none if it is no such.
    pub fn of_entry(bytes: &[u8], address: &Location) -> Option<Self> {
        let options = ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
        let document = MemberFeed::read(bytes, &options).ok().filter(|it| !it.is_feed())?;
        document.members().first().map(Self::of)
    }

    /// That of a member.
    pub fn of(member: &Member) -> Self {
        Self { id: member.id.clone(), wording: member.wording.clone() }
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
