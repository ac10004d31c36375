//! The collection that a path names.

use feedsync_store::CollectionName;
use http::Uri;

use super::Right;
use crate::http::problem::Problem;

/// Collection in which a right is needed. Creating, owning and appending use the bare name: a path with a
/// suffix names no collection.
pub(crate) fn collection_for(right: Right, segment: &str, uri: &Uri) -> Option<CollectionName> {
    match right {
        Right::Create | Right::Own | Right::Append => CollectionName::new(segment).ok(),
        _ => collection_name(segment, uri).ok(),
    }
}

/// Collection that a path segment names. The last segment may have a suffix.
pub(crate) fn collection_name(segment: &str, uri: &Uri) -> Result<CollectionName, Problem> {
    let is_last = uri.path().split('/').count() == 3;
    let name = segment.split_once('.').filter(|_| is_last).map_or(segment, |(name, _)| name);
    CollectionName::new(name).map_err(|error| Problem::not_found(error.to_string()))
}
