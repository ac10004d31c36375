//! Areas of the hub's address space: which paths belong to databases, newsreader interfaces and pages.

use feedsync_store::CollectionName;
use http::Extensions;

/// Path prefix of databases.
pub(crate) const DATABASES: &str = "/couch";

/// Marks a request to an address that serves databases only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DatabasesOnly;

/// Whether a request came to an address that serves databases only.
pub(crate) fn serves_databases_only(extensions: &Extensions) -> bool {
    extensions.get::<DatabasesOnly>().is_some()
}

/// Whether a path belongs to databases, which interpret its query themselves.
pub(crate) fn is_for_databases(path: &str) -> bool {
    path.strip_prefix(DATABASES).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path belongs to newsreader interfaces, whose parameters may be repeated.
pub(crate) fn is_for_newsreaders(path: &str) -> bool {
    path.starts_with("/reader/")
}

/// Whether a path belongs to pages, existing or not.
pub(crate) fn is_for_pages(path: &str) -> bool {
    path == "/" || path == "/pages" || path.starts_with("/pages/")
}

/// Address of a collection's page.
pub(crate) fn collection_page(root: &str, collection: &CollectionName) -> String {
    format!("{root}/pages/collections/{collection}")
}
