//! What an application is answered with.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use feedsync_formats::{MemberFeed, ReadOptions};
use http::{HeaderMap, StatusCode};

use super::stored::{Content, Stored};
use crate::location::Location;
use crate::overlay::overlaid;
use crate::profile::Profile;

/// An answer that needs no server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, without the length and what depends on it.
    pub headers: HeaderMap,
    /// Its entity; of the answer to HEAD what it would have been.
    pub shows: Shows,
}

/// The entity of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shows {
    /// None.
    Nothing,
    /// What is said to a person; the headers name its type.
    Text(String),
    /// Bytes that are stored.
    Content(Content),
    /// A feed with edits that it does not show yet.
    Composed(Box<Composed>),
}

/// A feed with edits that it does not show yet. Two that are equal have the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Composed {
    /// Its document.
    pub document: Content,
    /// Where it came from.
    pub address: Location,
    /// The edits, in their order.
    pub edits: Vec<Edited>,
    /// What it says that it was updated: later with each edit, and the same as long as the edits are.
    pub updated: String,
    /// How closely the document is followed: members that were made here have an edit link, or none.
    pub profile: Profile,
}

/// An edit that a feed shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edited {
    /// Where the member is.
    pub member: Location,
    /// Whether it was made here.
    pub made: bool,
    /// What it is now; none if it was deleted.
    pub content: Option<Content>,
    /// The media type that was told of it.
    pub media_type: Option<String>,
    /// The name that was asked for (`Slug`).
    pub slug: Option<String>,
}

impl Composed {
    /// What tells one such document from another.
    pub fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.edits, &self.updated).hash(&mut hasher);
        format!("local-{:.16}-{:016x}", self.document.digest.to_string(), hasher.finish())
    }

    /// Its bytes. An edit that is no entry, or a document that is no feed, shows nothing (R-B30).
    pub fn bytes<S: Stored>(&self, stored: &S) -> Result<Vec<u8>, S::Error> {
        let document = stored.content(&self.document)?;
        let options = ReadOptions { base: Some(self.address.as_str()), ..ReadOptions::tolerant() };
        let Ok(feed) = MemberFeed::read(&document, &options) else { return Ok(document) };
        let mut edits = Vec::with_capacity(self.edits.len());
        for edit in &self.edits {
            // Media may be large, and are not looked into.
            let read = edit.content.filter(|_| edit.may_be_entry());
            let bytes = read.map(|content| stored.content(&content)).transpose()?;
            edits.extend(edit.shown(bytes.as_deref(), &self.updated, self.profile));
        }
        Ok(overlaid(&feed, &self.address, &edits, &self.updated).unwrap_or(document))
    }
}
