//! Ids of documents as ids of items: any text on one side, letters, digits and some marks on the other.

use feedsync::ItemId;

use crate::name::DocumentId;

/// What the id of a document begins with that stands for an item whose id is no encoded text.
const VERBATIM: &str = "fs:item/";

/// The item that a document is. None for a design document, which is a program and no item, and for an id that is too
/// long once it is encoded.
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

/// The document that an item is. None for one whose id would be too long.
pub fn document_id(item: &ItemId) -> Option<DocumentId> {
    decoded(item).or_else(|| format!("{VERBATIM}{item}").parse().ok())
}

/// The document whose encoded id this is, if it is one.
fn decoded(item: &ItemId) -> Option<DocumentId> {
    let text = percent_encoding::percent_decode_str(item.as_str()).decode_utf8().ok()?;
    let document: DocumentId = text.parse().ok()?;
    // The way back asks the same of an id that is shorter, so this ends.
    (item_id(&document).as_ref() == Some(item)).then_some(document)
}
