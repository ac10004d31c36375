//! The design documents of a database.

use std::ops::Bound;
use std::sync::Arc;

use feedsync_couch::{DatabaseName, DocumentId};
use feedsync_store::{Databases, DocumentRange, StoreError};

use super::leaves;

/// Maximum number of design documents that are read at once, and of bytes of their bodies.
const PAGE: usize = 100;
const PAGE_BYTES: u64 = 8 << 20;

/// Calls a function with the id and the body of each design document that is not deleted.
pub(super) async fn for_each(
    databases: &dyn Databases,
    database: &DatabaseName,
    mut visit: impl FnMut(DocumentId, &Arc<str>) + Send,
) -> Result<(), StoreError> {
    let mut from = Bound::Included(String::from("_design/"));
    loop {
        let range = DocumentRange {
            from: from.clone(),
            // The character after `/` is `0`.
            to: Bound::Excluded(String::from("_design0")),
            is_descending: false,
            live_only: true,
            skip: 0,
            most: PAGE,
        };
        let page = databases.documents_by_id(database, range, leaves::winner(), PAGE_BYTES).await?;
        let Some(last) = page.documents.iter().flatten().last() else { return Ok(()) };
        from = Bound::Excluded(last.document.id.as_str().to_owned());
        for read in page.documents.into_iter().flatten() {
            if let Some(body) = read.bodies.values().next() {
                visit(read.document.id.clone(), &body.text);
            }
        }
    }
}
