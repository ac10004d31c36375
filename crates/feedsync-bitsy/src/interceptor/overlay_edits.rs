//! Completed edits that feeds do not show yet, with indexes.

use std::collections::HashMap;

use super::step::OverlayEdit;
use crate::authentication::Partition;
use crate::collections::{SortedMap, SortedSet};
use crate::location::Location;

/// Completed edits that are shown until their feeds are fetched again.
#[derive(Debug, Default)]
pub(crate) struct OverlayEdits {
    all: SortedMap<u64, OverlayEdit>,
    /// Numbers by address and by temporary address.
    locations: HashMap<Location, SortedSet<u64>>,
    feeds: SortedMap<(Partition, Location), SortedSet<u64>>,
    /// Numbers of edits without a server address.
    unnamed: SortedMap<(Partition, Location), SortedSet<u64>>,
}

impl OverlayEdits {
    /// Restores the edits from a store.
    pub(crate) fn restored(shown: impl IntoIterator<Item = OverlayEdit>) -> Self {
        let mut showing = Self::default();
        shown.into_iter().for_each(|shown| showing.insert(shown));
        showing
    }

    /// All edits, in their order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &OverlayEdit> {
        self.all.values()
    }

    /// Edits of an address, the last first.
    pub(crate) fn at(&self, location: &Location) -> impl Iterator<Item = &OverlayEdit> {
        let places = self.locations.get(location).into_iter().flatten().rev();
        places.filter_map(|place| self.all.get(place))
    }

    /// Edits of a feed, in their order.
    pub(crate) fn of_feed(
        &self,
        partition: Partition,
        feed: &Location,
    ) -> impl Iterator<Item = &OverlayEdit> {
        self.listed(&self.feeds, partition, feed)
    }

    /// Edits of a feed without a server address, in their order.
    pub(crate) fn unnamed(
        &self,
        partition: Partition,
        feed: &Location,
    ) -> impl Iterator<Item = &OverlayEdit> {
        self.listed(&self.unnamed, partition, feed)
    }

    /// Feeds with edits without a server address.
    pub(crate) fn feeds_with_unnamed(&self) -> impl Iterator<Item = (Partition, Location)> {
        self.unnamed.keys().cloned()
    }

    pub(crate) fn insert(&mut self, shown: OverlayEdit) {
        let place = shown.place;
        let feed = (shown.partition, shown.feed.clone());
        if shown.is_unnamed() {
            self.unnamed.entry(feed.clone()).or_default().insert(place);
        }
        self.feeds.entry(feed).or_default().insert(place);
        for location in [Some(&shown.resource), shown.pending.as_ref()].into_iter().flatten() {
            self.locations.entry(location.clone()).or_default().insert(place);
        }
        self.all.insert(place, shown);
    }

    pub(crate) fn remove(&mut self, place: u64) -> Option<OverlayEdit> {
        let shown = self.all.remove(&place)?;
        let feed = (shown.partition, shown.feed.clone());
        for listed in [&mut self.feeds, &mut self.unnamed] {
            if let Some(places) = listed.get_mut(&feed) {
                places.remove(&place);
                if places.is_empty() {
                    listed.remove(&feed);
                }
            }
        }
        for location in [Some(&shown.resource), shown.pending.as_ref()].into_iter().flatten() {
            if let Some(places) = self.locations.get_mut(location) {
                places.remove(&place);
                if places.is_empty() {
                    self.locations.remove(location);
                }
            }
        }
        Some(shown)
    }

    fn listed<'s>(
        &'s self,
        lists: &'s SortedMap<(Partition, Location), SortedSet<u64>>,
        partition: Partition,
        feed: &Location,
    ) -> impl Iterator<Item = &'s OverlayEdit> {
        let places = lists.get(&(partition, feed.clone())).into_iter().flatten();
        places.filter_map(|place| self.all.get(place))
    }
}

impl OverlayEdit {
    /// Whether the member has no server address.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.pending.as_ref() == Some(&self.resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    fn shown(place: u64, feed: &str, resource: &str, pending: Option<&str>) -> OverlayEdit {
        OverlayEdit {
            place,
            partition: Partition::public(),
            feed: at(feed),
            resource: at(resource),
            pending: pending.map(at),
            entity: None,
            generation: 0,
        }
    }

    fn places<'s>(shown: impl Iterator<Item = &'s OverlayEdit>) -> Vec<u64> {
        shown.map(|shown| shown.place).collect()
    }

    #[test]
    fn shown_edit_is_found_by_its_addresses_and_its_feed() {
        let mut showing = OverlayEdits::restored([
            shown(1, "feed", "a", Some("pending")),
            shown(2, "feed", "a", None),
            shown(3, "other", "new", Some("new")),
            shown(4, "feed", "newer", Some("newer")),
        ]);
        let public = Partition::public();
        assert_eq!(places(showing.all()), [1, 2, 3, 4]);
        assert_eq!(places(showing.at(&at("a"))), [2, 1], "the last first");
        assert_eq!(places(showing.at(&at("pending"))), [1]);
        assert_eq!(places(showing.of_feed(public, &at("feed"))), [1, 2, 4]);
        assert_eq!(places(showing.of_feed(Partition::of_bytes([7; 32]), &at("feed"))), [0_u64; 0]);
        assert_eq!(places(showing.unnamed(public, &at("feed"))), [4]);
        let unnamed: Vec<Location> = showing.feeds_with_unnamed().map(|(_, feed)| feed).collect();
        assert_eq!(unnamed, [at("feed"), at("other")]);
        for place in [1, 3, 4] {
            assert_eq!(showing.remove(place).map(|shown| shown.place), Some(place));
            assert_eq!(showing.remove(place), None);
        }
        assert_eq!(places(showing.at(&at("a"))), [2]);
        assert_eq!(places(showing.at(&at("pending"))), [0_u64; 0]);
        assert_eq!(showing.feeds_with_unnamed().count(), 0);
        showing.remove(2);
        assert!(showing.locations.is_empty() && showing.feeds.is_empty());
        assert!(showing.unnamed.is_empty());
    }
}
