//! Resources of paths (sections 2 and 3). Paths are split first and decoded afterwards, so that ids may
//! contain slashes.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::name::{DatabaseName, DocumentId, LocalId};
use crate::refusal::{Refusal, RefusalKind};

/// Characters that are percent-encoded in a path segment: all except the unreserved ones (RFC 3986 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The resource of a path below the server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// The server.
    Server,
    /// A resource of the server: `_all_dbs`, `_session` and the like, with the following segments.
    Special(String, Vec<String>),
    /// A database.
    Database(DatabaseName),
    /// A resource of a database: `_changes`, `_bulk_docs` and the like, with the following segments.
    Of(DatabaseName, String, Vec<String>),
    /// A document that is not replicated.
    Local(DatabaseName, LocalId),
    /// A document.
    Document(DatabaseName, DocumentId),
    /// An attachment of a document.
    Attachment(DatabaseName, DocumentId, String),
}

impl Resource {
    /// Parses a path relative to the server's address, as it was sent.
    pub fn read(path: &str) -> Result<Self, Refusal> {
        let mut segments = path.trim_start_matches('/').split('/');
        let first = decoded(segments.next().unwrap_or_default())?;
        let mut rest: Vec<String> = segments.map(decoded).collect::<Result<_, _>>()?;
        // Trailing slashes are ignored: `/{db}/` is `/{db}`.
        while rest.last().is_some_and(String::is_empty) {
            rest.pop();
        }
        if first.is_empty() {
            return Ok(Self::Server);
        }
        if first.starts_with('_') && !DatabaseName::SYSTEM.contains(&first.as_str()) {
            return Ok(Self::Special(first, rest));
        }
        let database: DatabaseName = first.parse()?;
        let mut rest = rest.into_iter();
        let Some(part) = rest.next() else { return Ok(Self::Database(database)) };
        let id = match part.as_str() {
            "_design" => match rest.next().filter(|name| !name.is_empty()) {
                Some(name) => format!("_design/{name}"),
                None => return Ok(Self::Of(database, part, Vec::new())),
            },
            "_local" => {
                let id: Vec<String> = rest.collect();
                return Ok(Self::Local(database, id.join("/").parse()?));
            }
            _ => match part.strip_prefix("_local/") {
                Some(id) if rest.len() == 0 => return Ok(Self::Local(database, id.parse()?)),
                _ if part.starts_with('_') && !part.starts_with("_design/") => {
                    return Ok(Self::Of(database, part, rest.collect()));
                }
                _ => part,
            },
        };
        let id: DocumentId = id.parse()?;
        let name: Vec<String> = rest.collect();
        match name.is_empty() {
            true => Ok(Self::Document(database, id)),
            false => Ok(Self::Attachment(database, id, name.join("/"))),
        }
    }

    /// The path of a database.
    pub fn path_of_database(name: &DatabaseName) -> String {
        format!("/{}", encoded(name.as_str()))
    }

    /// The path of a document.
    pub fn path_of_document(database: &DatabaseName, id: &DocumentId) -> String {
        let id = match id.as_str().strip_prefix("_design/") {
            Some(name) => format!("_design/{}", encoded(name)),
            None => encoded(id.as_str()),
        };
        format!("{}/{id}", Self::path_of_database(database))
    }

    /// The path of an attachment.
    pub fn path_of_attachment(database: &DatabaseName, id: &DocumentId, name: &str) -> String {
        let segments: Vec<String> = name.split('/').map(encoded).collect();
        format!("{}/{}", Self::path_of_document(database, id), segments.join("/"))
    }

    /// The database of the resource.
    pub fn database(&self) -> Option<&DatabaseName> {
        match self {
            Self::Server | Self::Special(..) => None,
            Self::Database(name)
            | Self::Of(name, ..)
            | Self::Local(name, _)
            | Self::Document(name, _)
            | Self::Attachment(name, ..) => Some(name),
        }
    }
}

fn encoded(segment: &str) -> String {
    utf8_percent_encode(segment, ENCODED).to_string()
}

fn decoded(segment: &str) -> Result<String, Refusal> {
    let decoded = percent_decode_str(segment).decode_utf8();
    let refuse = |_| RefusalKind::BadRequest.with_reason("The path is not UTF-8");
    Ok(decoded.map_err(refuse)?.into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(path: &str) -> String {
        match Resource::read(path) {
            Ok(Resource::Server) => "server".to_owned(),
            Ok(Resource::Special(name, rest)) => format!("special {name} {rest:?}"),
            Ok(Resource::Database(name)) => format!("database {name}"),
            Ok(Resource::Of(name, part, rest)) => format!("of {name} {part} {rest:?}"),
            Ok(Resource::Local(name, id)) => format!("local {name} {id}"),
            Ok(Resource::Document(name, id)) => format!("document {name} {id}"),
            Ok(Resource::Attachment(name, id, attachment)) => {
                format!("attachment {name} {id} {attachment}")
            }
            Err(refusal) => refusal.kind.error().to_owned(),
        }
    }

    /// Decoding before splitting would split ids that contain slashes (CG13).
    #[test]
    fn paths_are_split_and_then_decoded() {
        for (path, expected) in [
            ("", "server"),
            ("/", "server"),
            ("/_all_dbs", "special _all_dbs []"),
            ("/_node/_local/_config/a/b", "special _node [\"_local\", \"_config\", \"a\", \"b\"]"),
            ("/db", "database db"),
            ("/_users", "database _users"),
            ("/_users/_changes", "of _users _changes []"),
            ("/_users/org.couchdb.user%3Aanna", "document _users org.couchdb.user:anna"),
            ("/_replicator/x", "document _replicator x"),
            ("/db/", "database db"),
            ("/a%2Fb/", "database a/b"),
            ("/db/_changes", "of db _changes []"),
            ("/db/_changes/", "of db _changes []"),
            ("/db/x/", "document db x"),
            ("/db/_design", "of db _design []"),
            ("/db/_local/a%2Fb", "local db a/b"),
            ("/db/_local%2Fx", "local db x"),
            ("/db/x", "document db x"),
            ("/db/a%2Fb", "document db a/b"),
            ("/db/h:+a%2Bb", "document db h:+a+b"),
            ("/db/_design/x", "document db _design/x"),
            ("/db/_design%2Fx", "document db _design/x"),
            ("/db/x/a/b%2Fc", "attachment db x a/b/c"),
            ("/db/_design/x/_view/y", "attachment db _design/x _view/y"),
            ("/Db", "illegal_database_name"),
            ("/db/%ff", "bad_request"),
            ("/db//x", "illegal_docid"),
        ] {
            assert_eq!(said(path), expected, "{path}");
        }
    }

    proptest! {
        /// The path of a resource is parsed as that resource.
        #[test]
        fn path_round_trips(
            database in "[a-z][a-z0-9_$()+/-]{0,8}",
            id in prop_oneof!["[^_].{0,8}", "_design/.{1,8}"],
            name in "[^_/]([^/]|/[^/]){0,8}",
        ) {
            let (database, id): (DatabaseName, DocumentId) = (database.parse().unwrap(), id.parse().unwrap());
            let path = Resource::path_of_database(&database);
            prop_assert_eq!(Resource::read(&path), Ok(Resource::Database(database.clone())));
            let path = Resource::path_of_document(&database, &id);
            prop_assert_eq!(Resource::read(&path), Ok(Resource::Document(database.clone(), id.clone())));
            let path = Resource::path_of_attachment(&database, &id, &name);
            prop_assert_eq!(Resource::read(&path), Ok(Resource::Attachment(database, id, name)));
        }
    }
}
