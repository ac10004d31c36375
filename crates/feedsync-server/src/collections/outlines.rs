//! Outlines of a collection of any size. They nest, so that their order is known only once all
//! positions are. A first pass stores the id and position of each item, and a second pass fetches the
//! items in that order. Memory grows with the number of items, never with their content.
//!
//! An item that changes between the passes appears in its new state at its old position. An item is
//! left out if it was removed meanwhile, or moved past the end of its window; its children move up into
//! its place.

use std::collections::HashMap;
use std::iter::Peekable;
use std::vec;

use feedsync_core::ItemId;
use feedsync_endpoint::{Endpoint, EndpointError};
use feedsync_formats::{OutlinePosition, nest};
use feedsync_store::{ChangeNumber, Collection, CollectionName, StoredItem};
use tokio::task::JoinError;

use crate::collections::span::{PAGE, Rest, Span};

/// The first pass.
pub(crate) struct OutlinePositions {
    span: Span,
    places: Vec<OutlinePosition>,
    weights: Vec<usize>,
}

/// Result of the first pass.
pub(crate) enum PositionsRead {
    More(OutlinePositions),
    All(Outlines),
}

/// Reason why positions could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PositionsError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error("cannot nest the outlines: {0}")]
    Nesting(#[from] JoinError),
}

impl OutlinePositions {
    pub(crate) fn new(span: Span) -> Self {
        Self { span, places: Vec::new(), weights: Vec::new() }
    }

    /// Reads more positions, and returns the collection at the time of the read.
    pub(crate) async fn read(
        self,
        endpoint: &Endpoint,
        name: &CollectionName,
    ) -> Result<(Collection, PositionsRead), PositionsError> {
        let Self { span, mut places, mut weights } = self;
        let up_to = span.up_to();
        let part = span.read(endpoint, name).await?;
        places.extend(part.items.iter().map(|stored| OutlinePosition::of(&stored.item)));
        weights.extend(part.items.iter().map(StoredItem::weight));
        let placed = match part.rest {
            Rest::More(span) => PositionsRead::More(Self { span, places, weights }),
            Rest::Nothing(shown) => {
                // Sorting many positions would block a shared thread for too long.
                let order = tokio::task::spawn_blocking(move || order(&places, &weights)).await?;
                let order = order.into_iter().peekable();
                PositionsRead::All(Outlines { order, up_to, gone: RemovedDepths::default(), shown })
            }
        };
        Ok((part.collection, placed))
    }
}

fn order(places: &[OutlinePosition], weights: &[usize]) -> Vec<Outline> {
    let nested = nest(places).into_iter();
    nested
        .map(|nested| Outline {
            id: places[nested.index].id().clone(),
            depth: nested.depth,
            weight: weights[nested.index],
        })
        .collect()
}

struct Outline {
    id: ItemId,
    depth: usize,
    weight: usize,
}

/// The second pass.
pub(crate) struct Outlines {
    order: Peekable<vec::IntoIter<Outline>>,
    up_to: Option<ChangeNumber>,
    gone: RemovedDepths,
    shown: Option<ChangeNumber>,
}

impl Outlines {
    /// Position that the outlines cover once all are sent.
    pub(crate) fn shown(&self) -> Option<ChangeNumber> {
        self.shown
    }

    /// Returns the next items, each with its depth; none at the end.
    pub(crate) async fn next(
        &mut self,
        endpoint: &Endpoint,
        name: &CollectionName,
    ) -> Result<Option<Vec<(usize, StoredItem)>>, EndpointError> {
        let outlines = self.page();
        if outlines.is_empty() {
            return Ok(None);
        }
        let ids: Vec<_> = outlines.iter().map(|outline| outline.id.clone()).collect();
        let items = endpoint.items(name, &ids).await?.into_iter();
        let mut items: HashMap<_, _> =
            items.map(|stored| (stored.item.id.clone(), stored)).collect();
        let mut found = Vec::with_capacity(items.len());
        for outline in outlines {
            let stored = items.remove(&outline.id);
            match stored.filter(|stored| self.up_to.is_none_or(|up_to| stored.number <= up_to)) {
                Some(stored) => found.push((self.gone.above(outline.depth), stored)),
                None => self.gone.add(outline.depth),
            }
        }
        Ok(Some(found))
    }

    /// Takes outlines for one page, by their weight.
    fn page(&mut self) -> Vec<Outline> {
        let mut page: Vec<Outline> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = self.order.next_if(|next| {
            page.is_empty() || (page.len() < PAGE.items && bytes + next.weight <= PAGE.bytes)
        }) {
            bytes += next.weight;
            page.push(next);
        }
        page
    }
}

/// Depths of removed outlines around the current one, the outermost first.
#[derive(Default)]
struct RemovedDepths(Vec<usize>);

impl RemovedDepths {
    /// Depth of an outline without the removed ones around it.
    fn above(&mut self, depth: usize) -> usize {
        while self.0.pop_if(|gone| *gone >= depth).is_some() {}
        depth - self.0.len()
    }

    /// Records that the outline at this depth was removed.
    fn add(&mut self, depth: usize) {
        self.above(depth);
        self.0.push(depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_a_removed_outline_move_up() {
        // In a(b(c(d) e) f) g, b and c were removed: a(d e f) g.
        let mut gone = RemovedDepths::default();
        assert_eq!(gone.above(0), 0);
        gone.add(1);
        gone.add(2);
        assert_eq!([3, 2, 1, 0].map(|depth| gone.above(depth)), [1, 1, 1, 0]);
    }
}
