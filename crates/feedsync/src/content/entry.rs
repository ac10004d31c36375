//! The view that all formats share as content.

use feedsync_core::{Format, Payload};
use feedsync_formats::{Entry, Revision, compose, entry, revise};

use super::{Content, ContentError, Target};

/// Title, content, links and the like, in a collection of any format.
///
/// An edit of title and content alone changes them in their places and keeps all other bytes. An edit of other fields
/// writes the item anew, and drops what an entry does not have.
impl Content for Entry {
    const FORMAT: Format = Format::Atom;

    fn read(payload: &Payload) -> Result<Self, ContentError> {
        Ok(entry(payload))
    }

    fn write(&self, target: &Target<'_>) -> Result<Payload, ContentError> {
        let Some(before) = target.before else {
            let mut new = self.clone();
            new.id.get_or_insert_with(|| format!("urn:uuid:{}", target.id));
            new.published = new.published.or(target.now);
            new.updated = new.updated.or(target.now);
            return Ok(compose(target.format, &new));
        };
        let old = entry(before);
        if *self == old {
            return Ok(before.clone());
        }
        if self.has_only_other_text_than(&old) {
            return revised(self, &old, target, before);
        }
        let mut new = self.clone();
        if new.updated == old.updated {
            new.updated = target.now.or(new.updated);
        }
        Ok(compose(before.format(), &new))
    }
}

/// Comparison of two states of one entry.
trait OtherText {
    /// Whether the entries differ in title and content only, and neither is taken away.
    fn has_only_other_text_than(&self, old: &Self) -> bool;
}

impl OtherText for Entry {
    fn has_only_other_text_than(&self, old: &Self) -> bool {
        let like_old = Self {
            title: old.title.clone(),
            content: old.content.clone(),
            content_type: old.content_type.clone(),
            ..self.clone()
        };
        let stays = |old: &Option<String>, new: &Option<String>| old.is_none() || new.is_some();
        like_old == *old && stays(&old.title, &self.title) && stays(&old.content, &self.content)
    }
}

/// The payload with another title and content, all else byte for byte.
pub(super) fn revised(
    new: &Entry,
    old: &Entry,
    target: &Target<'_>,
    before: &Payload,
) -> Result<Payload, ContentError> {
    let is_other = new.content != old.content || new.content_type != old.content_type;
    let revision = Revision {
        title: new.title.clone().filter(|_| new.title != old.title),
        content: new.content.clone().filter(|_| is_other),
        content_type: new.content_type.clone(),
        updated: target.now,
    };
    revise(before, &revision).map_err(ContentError::caused_by)
}
