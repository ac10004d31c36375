//! Areas of the hub's address space: which paths belong to databases, newsreader interfaces and pages.

use feedsync_core::Format;
use feedsync_formats::suffix;
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

/// Whether a path is that of a feed that replicas sync with: the changes of a collection, or its complete feed, in any
/// format.
pub(crate) fn is_for_sync(path: &str) -> bool {
    let of_collection = path.strip_prefix("/collections/").and_then(|rest| rest.split_once('/'));
    let Some((_, feed)) = of_collection else { return false };
    let format = ["changes", "complete"].iter().find_map(|stem| feed.strip_prefix(stem));
    format.is_some_and(|of| of.is_empty() || Format::ALL.map(suffix).contains(&of))
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
