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

/// The first sequence at which an incoming item shows that somebody else writes under our current
/// `by`: a store restored behind our back, or a copied directory (R-F44).
///
/// That is a sequence above all that we issued, or one that we issued with another `when`, or for
/// another content.
pub fn collision<P: PartialEq>(
    by: &By,
    issued: Option<Sequence>,
    local: Option<&Item<P>>,
    incoming: &Item<P>,
) -> Option<Sequence> {
    let is_other = |version: &Version<P>, update: &Update| {
        Some(update.sequence()) > issued
            || local.into_iter().flat_map(Item::versions).any(|ours| {
                has_other_time(&ours.history, update)
                    || (update.is_same(version.dot())
                        && update.is_same(ours.dot())
                        && version.payload != ours.payload)
            })
    };
    incoming
        .versions()
        .flat_map(|version| version.history.updates().iter().map(move |update| (version, update)))
        .filter(|(_, update)| update.by() == Some(by))
        .filter(|(version, update)| is_other(version, update))
        .map(|(_, update)| update.sequence())
        .min()
}

/// Whether a history knows this update by another time; an absent time says nothing.
fn has_other_time(history: &History, update: &Update) -> bool {
    history.updates().iter().any(|known| {
        known.is_same(update)
            && known.when().zip(update.when()).is_some_and(|(ours, theirs)| ours != theirs)
    })
}

/// Issues versions again under a new line: those whose topmost update is of the old line at `from` or
/// above. Their histories lose that line from `from` up, since it may mean somebody else's edits:
/// covering too little costs a conflict, too much an edit. Returns whether any version was issued
/// again.
pub fn reissue<P>(item: &mut Item<P>, old: &By, from: Sequence, new: &By) -> bool {
    let mut reissued = false;
    let is_foreign = |update: &Update| update.by() == Some(old) && update.sequence() >= from;
    for version in std::iter::once(&mut item.winner).chain(&mut item.conflicts) {
        if !is_foreign(version.dot()) {
            continue;
        }
        let when = version.dot().when();
        let sequence = Sequence::from(version.updates);
        // Signed by `new`, so it cannot be unsigned.
        let Ok(topmost) = Update::new(sequence, when, Some(new.clone())) else { continue };
        let mut history = History::new(topmost);
        history
            .extend(version.history.updates().iter().filter(|update| !is_foreign(update)).cloned());
        version.history = history;
        reissued = true;
    }
    reissued
}
