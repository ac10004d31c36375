//! Mapping between ids of documents, which are any text, and ids of items, which are letters, digits and some
//! marks.

use feedsync_core::ItemId;

use crate::name::DocumentId;

/// Prefix of the document id for an item whose id is not an encoded text.
const VERBATIM: &str = "fs:item/";

/// The item of a document. `None` for a design document, which is a program and not an item, and for an id
/// that is too long after encoding.
///
/// ```
/// # use feedsync_couch::mapping::{document_id, item_id};
/// let item = item_id(&"Grocery list/milk".parse()?).unwrap();
/// assert_eq!(item.as_str(), "Grocery%20list%2Fmilk");
/// assert_eq!(document_id(&item).unwrap().as_str(), "Grocery list/milk");
/// # Ok::<(), feedsync_couch::Refusal>(())
/// ```
pub fn item_id(document: &DocumentId) -> Option<ItemId> {
    if document.is_design() {
        return None;
    }
    let verbatim = document.as_str().strip_prefix(VERBATIM).and_then(|id| ItemId::new(id).ok());
    match verbatim {
        Some(id) if decoded(&id).is_none() => Some(id),
        _ => ItemId::encoded(document.as_str()).ok(),
    }
}

/// The document of an item. `None` if its id would be too long.
pub fn document_id(item: &ItemId) -> Option<DocumentId> {
    decoded(item).or_else(|| format!("{VERBATIM}{item}").parse().ok())
}

/// The document whose encoded id this is, if it is one.
fn decoded(item: &ItemId) -> Option<DocumentId> {
    let text = percent_encoding::percent_decode_str(item.as_str()).decode_utf8().ok()?;
    let document: DocumentId = text.parse().ok()?;
    // The check encodes a shorter id, so this terminates.
    (item_id(&document).as_ref() == Some(item)).then_some(document)
}
