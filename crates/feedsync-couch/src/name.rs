//! Names of databases, and ids of documents and local documents.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use crate::refusal::{Refusal, RefusalKind};

/// Maximum size of a database's name in bytes, the same as in CouchDB.
pub const MAX_DATABASE_NAME_BYTES: usize = 238;

/// Maximum size of a document's id in bytes. A path segment is not longer, and CouchDB's limit for it is
/// 7,168.
pub const MAX_DOCUMENT_ID_BYTES: usize = 7_168;

/// The name of a database: a lower-case letter, then those, digits and `_$()+/-`; or one of
/// [`SYSTEM`](Self::SYSTEM).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseName(Box<str>);

/// The id of a document: any text that does not begin with `_`, except `_design/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(Box<str>);

/// The id of a document that is not replicated, without `_local/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalId(Box<str>);

impl FromStr for DatabaseName {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let is_known = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'$' | b'(' | b')' | b'+' | b'/' | b'-');
        if Self::SYSTEM.contains(&text) {
            return Ok(Self(text.into()));
        }
        let begins = text.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
        if begins && text.len() <= MAX_DATABASE_NAME_BYTES && text.bytes().all(is_known) {
            return Ok(Self(text.into()));
        }
        Err(RefusalKind::IllegalDatabaseName.with_reason(format_args!(
            "Name: '{}'. Only lowercase characters (a-z), digits (0-9), and any of the characters _, $, (, ), +, -, and / \
             are allowed. Must begin with a letter.",
            text.chars().take(MAX_DATABASE_NAME_BYTES).collect::<String>()
        )))
    }
}

impl DatabaseName {
    /// Name of the database of users.
    pub const USERS: &str = "_users";

    /// Name of the database of replications.
    pub const REPLICATOR: &str = "_replicator";

    /// Names of the databases in which the server itself acts on documents.
    pub const SYSTEM: [&str; 2] = [Self::USERS, Self::REPLICATOR];

    /// Whether the server itself acts on the documents of the database.
    pub fn is_system(&self) -> bool {
        self.0.starts_with('_')
    }
}

impl FromStr for DocumentId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let refuse = |reason: &str| Err(RefusalKind::IllegalDocumentId.with_reason(reason));
        match text.strip_prefix('_') {
            _ if text.is_empty() => refuse("Document id must not be empty"),
            _ if text.len() > MAX_DOCUMENT_ID_BYTES => refuse("Document id is too long"),
            Some(rest) if !is_design(rest) => {
                refuse("Only reserved document ids may start with underscore.")
            }
            _ => Ok(Self(text.into())),
        }
    }
}

fn is_design(rest: &str) -> bool {
    rest.strip_prefix("design/").is_some_and(|name| !name.is_empty())
}

impl DocumentId {
    /// Whether it is the id of a design document.
    pub fn is_design(&self) -> bool {
        self.0.starts_with("_design/")
    }
}

impl FromStr for LocalId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        match (1..=MAX_DOCUMENT_ID_BYTES).contains(&text.len()) {
            true => Ok(Self(text.into())),
            false => Err(RefusalKind::IllegalDocumentId.with_reason("Illegal local document id")),
        }
    }
}

macro_rules! text {
    ($($name:ty),*) => {$(
        impl $name {
            /// Its text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}

text!(DatabaseName, DocumentId, LocalId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_named_as_couchdb_names_them() {
        for name in ["a", "a0_$()+/-", "user/anna", "_users", "_replicator"] {
            let parsed = name.parse::<DatabaseName>().unwrap();
            assert_eq!(parsed.as_str(), name);
            assert_eq!(parsed.is_system(), name.starts_with('_'), "{name}");
        }
        for name in [
            "",
            "A",
            "aB",
            "0a",
            "_user",
            "_users/a",
            "_global_changes",
            "a b",
            "a\u{e4}",
            "a.b",
            &"a".repeat(239),
        ] {
            let refused = name.parse::<DatabaseName>().unwrap_err();
            assert_eq!(refused.kind, RefusalKind::IllegalDatabaseName, "{name}");
        }
    }

    #[test]
    fn documents_have_any_id_that_is_not_reserved() {
        for id in ["a", "folder/name.md", "h:+x", "\u{e4} \u{1f600}", "_design/x", "a_"] {
            assert_eq!(id.parse::<DocumentId>().unwrap().as_str(), id);
        }
        for id in ["", "_", "_x", "_design", "_design/", "_local/x", &"a".repeat(7_169)] {
            let refused = id.parse::<DocumentId>().unwrap_err();
            assert_eq!(refused.kind, RefusalKind::IllegalDocumentId, "{id}");
        }
    }
}
