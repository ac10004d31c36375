//! Outlines of a collection of any size. They nest, so that their order is known only once the places
//! of all are: a first reading keeps of each item its id and place, a second one fetches the items in
//! that order. Memory grows with the number of items, never with what they hold.
//!
//! What changes between the two shows as it is now, where it was. What is gone by then is left out, and
//! so is what has moved behind the end of its window; what was in it moves up in its stead.

use std::collections::HashMap;
use std::iter::Peekable;
use std::vec;

use feedsync::ItemId;
use feedsync_endpoint::{Endpoint, EndpointError};
use feedsync_formats::{OutlinePlace, nest};
use feedsync_store::{Collection, CollectionName, Number, StoredItem};
use tokio::task::JoinError;

use crate::span::{PAGE, Rest, Span};

/// The first reading.
pub(crate) struct Places {
    span: Span,
    places: Vec<OutlinePlace>,
    weights: Vec<usize>,
}

/// What the first reading comes to.
pub(crate) enum Placed {
    More(Places),
    All(Outlines),
}

/// Why places could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlacesError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error("the outlines could not be nested: {0}")]
    Nesting(#[from] JoinError),
}

impl Places {
    pub(crate) fn new(span: Span) -> Self {
        Self { span, places: Vec::new(), weights: Vec::new() }
    }

    /// Reads more places; gives the collection when they were read too.
    pub(crate) async fn read(
        self,
        endpoint: &Endpoint,
        name: &CollectionName,
    ) -> Result<(Collection, Placed), PlacesError> {
        let Self { span, mut places, mut weights } = self;
        let up_to = span.up_to();
        let part = span.read(endpoint, name).await?;
        places.extend(part.items.iter().map(|stored| OutlinePlace::of(&stored.item)));
        weights.extend(part.items.iter().map(StoredItem::weight));
        let placed = match part.rest {
            Rest::More(span) => Placed::More(Self { span, places, weights }),
            Rest::Nothing(shown) => {
                // Sorting many takes longer than a thread that serves others may be held.
                let order = tokio::task::spawn_blocking(move || order(&places, &weights)).await?;
                let order = order.into_iter().peekable();
                Placed::All(Outlines { order, up_to, gone: Gone::default(), shown })
            }
        };
        Ok((part.collection, placed))
    }
}

fn order(places: &[OutlinePlace], weights: &[usize]) -> Vec<Outline> {
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

/// The second reading.
pub(crate) struct Outlines {
    order: Peekable<vec::IntoIter<Outline>>,
    up_to: Option<Number>,
    gone: Gone,
    shown: Option<Number>,
}

impl Outlines {
    /// How far the collection has been shown once all outlines are sent.
    pub(crate) fn shown(&self) -> Option<Number> {
        self.shown
    }

    /// The next items, each with its depth; none at the end.
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
        let items = endpoint.store().items(name, &ids).await?.into_iter();
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

    /// As many as make a page, by what they weighed.
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

/// Depths at which outlines around the current one are gone, the outermost first.
#[derive(Default)]
struct Gone(Vec<usize>);

impl Gone {
    /// The depth of an outline once those that are gone do not count.
    fn above(&mut self, depth: usize) -> usize {
        while self.0.pop_if(|gone| *gone >= depth).is_some() {}
        depth - self.0.len()
    }

    /// The outline at this depth is gone.
    fn add(&mut self, depth: usize) {
        self.above(depth);
        self.0.push(depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_in_an_outline_that_is_gone_moves_up_in_its_stead() {
        // a(b(c(d) e) f) g, of which b and c are gone: a(d e f) g.
        let mut gone = Gone::default();
        assert_eq!(gone.above(0), 0);
        gone.add(1);
        gone.add(2);
        assert_eq!([3, 2, 1, 0].map(|depth| gone.above(depth)), [1, 1, 1, 0]);
    }
}
