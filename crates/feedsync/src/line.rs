//! One `by` is one line of edits.
//!
//! FeedSync loses an edit when two concurrent versions share a `by`: the later one covers the earlier.
//! So an edit extends a line only if its base covers every update of that line there is, and takes a
//! fresh one otherwise (a stale editor, a second window, an unresolved conflict of ours). Then step 4
//! of 3.2 and S2, which look at the `by` of the new update alone, find nothing to fold that nobody
//! resolved.

use crate::counter::Sequence;
use crate::identifier::By;
use crate::item::{History, Item, Update, Version};

/// What a `by` begins with whose update is a revision of a document, named by what follows. Each has a line of its own, of
/// one update, and no endpoint may be called so.
pub const REVISIONS: &str = "couch.";

/// Whether an edit made on these histories together may extend a line of which `issued` is the
/// greatest sequence ever issued for the item.
///
/// What was issued counts even if the item no longer shows it: it may be in a purged tombstone, a
/// dropped collection, or another collection that shares the item.
pub fn may_extend<'a>(
    by: &By,
    issued: Option<Sequence>,
    base: impl IntoIterator<Item = &'a History>,
) -> bool {
    let known = base.into_iter().filter_map(|history| history.highest(by)).max();
    issued <= known
}

/// Whether an incoming item shows that somebody else writes under our current `by`: a store restored
/// behind our back, or a copied directory (R-F44).
///
/// It does by a sequence above all that we issued, or one that we issued with another `when`. Other
/// content under the same stamp shows nothing: a peer that writes markup its own way sends our edits
/// back so.
pub fn collides<P>(
    by: &By,
    issued: Option<Sequence>,
    local: Option<&Item<P>>,
    incoming: &Item<P>,
) -> bool {
    let is_not_ours = |update: &Update| {
        Some(update.sequence()) > issued
            || local
                .into_iter()
                .flat_map(Item::versions)
                .any(|ours| has_other_time(&ours.history, update))
    };
    incoming
        .versions()
        .flat_map(|version| version.history.updates())
        .any(|update| update.by() == Some(by) && is_not_ours(update))
}

/// Whether a history knows this update by another time; an absent time says nothing.
fn has_other_time(history: &History, update: &Update) -> bool {
    history.updates().iter().any(|known| {
        known.is_same(update)
            && known.when().zip(update.when()).is_some_and(|(ours, theirs)| ours != theirs)
    })
}

/// Whether an incoming item would cover a version of ours without knowing it: its history goes further
/// in our line, but by other edits. Then somebody else wrote under that line, and this is the first
/// sequence of ours that means something else there. Such a version is issued again before the merge.
///
/// A peer that cleans up histories (3.2) may have dropped the entry that proves it knew our edit. The
/// price of doubting it is a conflict, that of believing it would be an edit.
pub fn estranged<P>(ours: &Version<P>, incoming: &Item<P>) -> Option<Sequence> {
    let by = ours.dot().by()?;
    let covering = incoming.versions().find(|version| ours.is_subsumed_by(version))?;
    let is_known = |update: &Update| {
        covering.history.updates().iter().any(|known| known.is_same(update))
            && !has_other_time(&covering.history, update)
    };
    let unknown = |update: &&Update| update.by() == Some(by) && !is_known(update);
    if is_known(ours.dot()) {
        return None;
    }
    ours.history.updates().iter().filter(unknown).map(Update::sequence).min()
}

/// Issues a version again under a new line. Its history loses its old line from `from` up, since that
/// may mean somebody else's edits: covering too little costs a conflict, too much an edit.
pub fn reissue<P>(version: &mut Version<P>, from: Sequence, new: &By) {
    let old = version.dot().by().cloned();
    let sequence = Sequence::from(version.updates);
    // Signed by `new`, so it cannot be unsigned.
    let Ok(topmost) = Update::new(sequence, version.dot().when(), Some(new.clone())) else {
        return;
    };
    let mut history = History::new(topmost);
    let kept = |update: &&Update| update.by() != old.as_ref() || update.sequence() < from;
    history.extend(version.history.updates().iter().filter(kept).cloned());
    version.history = history;
}
