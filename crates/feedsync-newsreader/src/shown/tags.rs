//! Tags where newsreaders know them by numbers.

use std::collections::BTreeSet;

use feedsync_reader::Tag;

use super::label::Label;
use super::number::TagNumber;
use super::numbering::{hash, numbered};

/// A tag as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownTag {
    /// What it is known by.
    pub number: TagNumber,
    /// The tag.
    pub tag: Tag,
}

/// Some tags, in order of their names. Their numbers come from their names, as those of
/// [`Folders`](super::Folders) do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(Vec<ShownTag>);

impl Tags {
    /// The list of these tags, each once.
    pub fn new<'a>(tags: impl IntoIterator<Item = &'a Tag>) -> Self {
        let tags: BTreeSet<&Tag> = tags.into_iter().collect();
        let numbers = numbered(tags.iter().map(|tag| Label::of_tag(tag)).collect(), hash);
        let shown = |tag: &Tag| {
            let number = TagNumber::new(*numbers.get(&Label::of_tag(tag))?);
            Some(ShownTag { number, tag: tag.clone() })
        };
        Self(tags.into_iter().filter_map(shown).collect())
    }

    /// How they are shown.
    pub fn iter(&self) -> impl Iterator<Item = &ShownTag> {
        self.0.iter()
    }

    /// How a tag is shown.
    pub fn shown(&self, tag: &Tag) -> Option<&ShownTag> {
        let place = self.0.binary_search_by(|shown| shown.tag.cmp(tag)).ok()?;
        self.0.get(place)
    }

    /// The tag with this number.
    pub fn numbered_as(&self, number: TagNumber) -> Option<&Tag> {
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
                prop_assert_eq!(shown.numbered_as(number), Some(tag));
            }
        }
    }
}
