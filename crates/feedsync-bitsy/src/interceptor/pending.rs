//! Temporary addresses of members that no server knows yet.

use crate::location::Location;

/// Path of temporary addresses, for members that no server knows yet.
const PENDING: &str = "/.well-known/bitsy/pending/";

/// Temporary address of a new member, until its server has assigned one.
pub(crate) fn pending(collection: &Location, key: &str) -> Location {
    let text = format!("{}{PENDING}{key}", collection.origin());
    text.parse().unwrap_or_else(|_| collection.clone())
}

/// Whether an address is temporary. Such addresses are never requested from a server.
pub(crate) fn is_pending(location: &Location) -> bool {
    location.as_str()[location.origin().len()..].starts_with(PENDING)
}
