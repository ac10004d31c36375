//! The state of one feed as a JSON document: equal states have equal bytes.
//!
//! ```json
//! {"feed":"https://example.org/feed","folder":[["News"],"1000.0@laptop"],
//!  "read":{"phone":[["urn:x:7",1795330800000,1795330900000]]},"star":{"phone":[["urn:x:7",1795330900001]]},
//!  "subscribed":[true,"1000.0@laptop"],"title":["Example","1000.0@laptop"],
//!  "upto":[[1795330700000,"1795330899999.0@phone"]],"v":1}
//! ```
//!
//! Each register is a pair of a value and a stamp. Marks on articles are grouped by device. A row has the
//! article's id, for `read` and `unread` its time of publication or `null`, the milliseconds of the stamp,
//! and the stamp's count unless it is 0. `docs/reader-schema.md` describes every member.
//!
//! Documents that a database stores as conflicting revisions can be [joined](read_documents) (LR49).
//!
//! The parser is strict, but accepts members, marks and blanks in any order, and preserves unknown members
//! (LR48), since a later version may add some. A version that changes the meaning of a member has another
//! `v`, and its documents are rejected. Members whose name begins with `_` belong to the database that stores
//! the document, and are ignored.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::address::FeedAddress;
use crate::article::hash;
use crate::feed::FeedState;
use crate::members::{self, UnknownMembers};

mod registers;
mod rows;

use registers::{read_registers, write_registers};
use rows::{read_marks, write_marks};

/// Version of the documents that are written.
pub const DOCUMENT_VERSION: u64 = 1;

/// Why a text is not the document of a feed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is not a JSON object, or has a member twice.
    #[error("not a JSON object without repeated members: {0}")]
    Json(String),
    /// It has a later version. A program that does not support the version must not write the document.
    #[error(
        "the document has version {version}, but this program knows only versions up to \
         {DOCUMENT_VERSION}; update the program"
    )]
    Newer {
        /// The version.
        version: u64,
    },
    /// A member is missing or is not what it must be.
    #[error("member {member:?}: {message}")]
    Member {
        /// Its name.
        member: String,
        /// Description of the fault.
        message: String,
    },
}

/// Id of a feed's document, the same for every user; also the id of its item in a collection.
pub fn document_id(feed: &FeedAddress) -> String {
    format!("feed:{}", hash(&[feed.as_str()]))
}

/// The document of a feed, on one line without a line feed.
pub fn write_document(feed: &FeedAddress, state: &FeedState) -> String {
    let mut own = BTreeMap::new();
    own.insert("v", DOCUMENT_VERSION.to_string());
    own.insert("feed", serde_json::Value::from(feed.as_str()).to_string());
    write_registers(state, &mut own);
    write_marks(state, &mut own);
    let own = own.iter().map(|(&name, json)| (name, json.as_str()));
    let all: BTreeMap<&str, &str> = state.unknown_members.iter().chain(own).collect();
    members::object(all)
}

/// Parses a document: the feed and its state.
pub fn read_document(text: &str) -> Result<(FeedAddress, FeedState), DocumentError> {
    let mut document = Members(members::members(text).map_err(DocumentError::Json)?);
    document.0.retain(|name, _| !name.starts_with('_'));
    match document.take("v")? {
        Some(DOCUMENT_VERSION) => {}
        Some(version) if version > DOCUMENT_VERSION => {
            return Err(DocumentError::Newer { version });
        }
        _ => return Err(fault("v", "must be a version number from 1")),
    }
    let feed =
        document.take("feed")?.ok_or_else(|| fault("feed", "the feed's address is missing"))?;
    let mut state = FeedState::default();
    read_registers(&mut document, &mut state)?;
    read_marks(&mut document, &mut state)?;
    state.unknown_members = UnknownMembers::read(document.0).map_err(|name| {
        fault(&name, "unknown member, too large or too deeply nested to be preserved")
    })?;
    Ok((feed, state))
}

/// Joins several documents of one feed, such as all conflicting revisions; `None` if there are none.
pub fn read_documents<'a>(
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Option<(FeedAddress, FeedState)>, DocumentError> {
    let mut joined: Option<(FeedAddress, FeedState)> = None;
    for text in texts {
        let (feed, state) = read_document(text)?;
        match &mut joined {
            None => joined = Some((feed, state)),
            Some((known, _)) if *known != feed => {
                return Err(fault(
                    "feed",
                    format!("{feed} differs from {known}, the feed of the other documents"),
                ));
            }
            Some((_, joined)) => {
                joined.join(state);
            }
        }
    }
    Ok(joined)
}

fn fault(member: &str, message: impl ToString) -> DocumentError {
    DocumentError::Member { member: member.to_owned(), message: message.to_string() }
}

/// The members of a document that are not read yet.
struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl Members<'_> {
    /// Removes and parses a member, if it exists.
    fn take<T: for<'de> Deserialize<'de>>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, DocumentError> {
        let value = self.0.remove(name).map(|raw| serde_json::from_str(raw.get()));
        value.transpose().map_err(|error| fault(name, error))
    }
}
