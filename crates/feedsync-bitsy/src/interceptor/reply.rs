//! Responses to applications.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use feedsync_formats::{MemberFeed, ReadOptions};
use http::{HeaderMap, StatusCode};

use super::stored::{Content, Stored};
use crate::location::Location;
use crate::overlay::compose;
use crate::profile::Profile;

/// A response that needs no server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Status of the response.
    pub status: StatusCode,
    /// Headers of the response, without the length and headers that depend on it.
    pub headers: HeaderMap,
    /// Body of the response. For HEAD it is the body of the response to GET.
    pub shows: ReplyBody,
}

/// Body of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyBody {
    /// No body.
    Nothing,
    /// A text, whose type is in the headers.
    Text(String),
    /// Stored bytes.
    Content(Content),
    /// A feed combined with edits that it does not show yet.
    Composed(Box<Composed>),
}

/// A feed combined with edits that it does not show yet. Equal values have equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Composed {
    /// Document of the feed.
    pub document: Content,
    /// Address of the document.
    pub address: Location,
    /// The edits, in their order.
    pub edits: Vec<ComposedEdit>,
    /// The `updated` time. It is later with each edit, and depends only on the document and the number of
    /// edits.
    pub updated: String,
    /// How closely the document is followed. Members that were created here have an edit link, or none in the
    /// strict profile.
    pub profile: Profile,
}

/// An edit that a feed shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ComposedEdit {
    /// Address of the member.
    pub member: Location,
    /// Whether the member was created here.
    pub made: bool,
    /// Present content of the member; none if it was deleted.
    pub content: Option<Content>,
    /// Declared media type of the content.
    pub media_type: Option<String>,
    /// Requested name (`Slug`).
    pub slug: Option<String>,
}

impl Composed {
    /// Entity tag of the combined document.
    pub fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.edits, &self.updated).hash(&mut hasher);
        format!("local-{:.16}-{:016x}", self.document.digest.to_string(), hasher.finish())
    }

    /// Bytes of the combined document. An edit that is not an entry is not shown, and a document that is not
    /// a feed is not changed (R-B30).
    pub fn bytes<S: Stored>(&self, stored: &S) -> Result<Vec<u8>, S::Error> {
        let document = stored.content(&self.document)?;
        let options = ReadOptions { base: Some(self.address.as_str()), ..ReadOptions::tolerant() };
        let Ok(feed) = MemberFeed::read(&document, &options) else { return Ok(document) };
        let mut edits = Vec::with_capacity(self.edits.len());
        for edit in &self.edits {
            // Media may be large, and are not parsed.
            let read = edit.content.filter(|_| edit.may_be_entry());
            let bytes = read.map(|content| stored.content(&content)).transpose()?;
            edits.extend(edit.shown(bytes.as_deref(), &self.updated, self.profile));
        }
        Ok(compose(&feed, &self.address, &edits, &self.updated).unwrap_or(document))
    }
}
