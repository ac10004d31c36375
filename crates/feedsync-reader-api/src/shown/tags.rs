//! Tags for dialects that identify them by numbers.

use std::collections::BTreeSet;

use feedsync_reading_state::Tag;

use super::label::Label;
use super::number::TagNumber;
use super::numbering::{hash, numbered};

/// A tag with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownTag {
    /// Number of the tag.
    pub number: TagNumber,
    /// The tag.
    pub tag: Tag,
}

/// A list of tags, ordered by name. Their numbers are derived from their names, as in
/// [`Folders`](super::Folders).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(Vec<ShownTag>);

impl Tags {
    /// Builds the list; each tag occurs once.
    pub fn new<'a>(tags: impl IntoIterator<Item = &'a Tag>) -> Self {
        let tags: BTreeSet<&Tag> = tags.into_iter().collect();
        let numbers = numbered(tags.iter().map(|tag| Label::of_tag(tag)).collect(), hash);
        let shown = |tag: &Tag| {
            let number = TagNumber::new(*numbers.get(&Label::of_tag(tag))?);
            Some(ShownTag { number, tag: tag.clone() })
        };
        Self(tags.into_iter().filter_map(shown).collect())
    }

    /// Returns the shown tags.
    pub fn iter(&self) -> impl Iterator<Item = &ShownTag> {
        self.0.iter()
    }

    /// Returns the shown form of a tag.
    pub fn shown(&self, tag: &Tag) -> Option<&ShownTag> {
        let place = self.0.binary_search_by(|shown| shown.tag.cmp(tag)).ok()?;
        self.0.get(place)
    }

    /// Returns the tag with a number.
    pub fn find_by_number(&self, number: TagNumber) -> Option<&Tag> {
        self.0.iter().find(|shown| shown.number == number).map(|shown| &shown.tag)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_tag_has_a_number_of_its_own(names in prop::collection::vec("[a-e]{1,3}", 0..40)) {
            let tags: Vec<Tag> = names.iter().map(|name| name.parse().unwrap()).collect();
            let shown = Tags::new(&tags);
            prop_assert_eq!(&shown, &Tags::new(tags.iter().rev()));
            for tag in &tags {
                let number = shown.shown(tag).unwrap().number;
                prop_assert_eq!(shown.find_by_number(number), Some(tag));
            }
        }
    }
}
