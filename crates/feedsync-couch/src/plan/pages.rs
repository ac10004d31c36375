//! The documents that a plan reads: a range of ids, or of keys of an index.

use std::ops::Bound;

use super::{KeyRange, Plan};
use crate::find::FindRequest;
use crate::name::DocumentId;
use crate::refusal::Refusal;
use crate::selector::IdRange;

/// The documents that are read, from the position of the request on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pages {
    /// Documents in the order of ids.
    ById(IdRange),
    /// Documents in the order of the keys of the index.
    ByKey {
        /// Range of keys.
        keys: KeyRange,
        /// Key and id of the document after which the page begins.
        after: Option<(Vec<u8>, DocumentId)>,
    },
}

impl Plan<'_> {
    /// The documents that are read. A position in another order is an error.
    pub fn pages(&self, request: &FindRequest) -> Result<Pages, Refusal> {
        let Some(index) = self.index else {
            let after = request.position.as_id()?;
            let ids = if request.finds_nothing { IdRange::none() } else { request.selector.ids() };
            return Ok(Pages::ById(match after {
                Some(id) => ids_after(ids, id, self.is_descending),
                None => ids,
            }));
        };
        let after = request.position.in_index(index)?;
        let keys = match &after {
            // Clients can change bookmarks.
            Some((key, _)) if !self.range.contains(key) => KeyRange::none(),
            _ => self.range.clone(),
        };
        Ok(Pages::ByKey { keys, after })
    }
}

/// The range after a document that was returned. An id outside the range leaves nothing.
fn ids_after(ids: IdRange, id: &str, is_descending: bool) -> IdRange {
    if !ids.contains(id) {
        return IdRange::none();
    }
    let id = Bound::Excluded(id.to_owned());
    let left = match is_descending {
        true => IdRange { upper: id, ..ids },
        false => IdRange { lower: id, ..ids },
    };
    if left.is_empty() { IdRange::none() } else { left }
}
