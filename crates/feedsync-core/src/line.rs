//! Authoring lines: one `by` is one endpoint's sequence of updates of an item.
//!
//! FeedSync loses an edit when two concurrent versions share a `by`: the later one covers the earlier. So an
//! edit extends a line only if its base covers every update of that line. Otherwise (an outdated editor, a
//! second window, an unresolved conflict of our own) it uses another line. Then step 4 of 3.2 and S2, which
//! read only the `by` of the new update, find no unresolved conflict to fold.
//!
//! Each incarnation of an endpoint has one line of its own name and numbered branches of it ([`branch`]). An
//! edit uses the first line that it may extend. So the number of lines is bounded by the number of concurrent
//! edits, not by the number of edits.

use crate::counter::{MAX_COUNTER, Sequence};
use crate::history::History;
use crate::identifier::By;
use crate::item::{Item, Update, Version};

/// Prefix of the `by` of an update that is a revision of a document; the rest of the `by` names the revision.
/// Each such line has one update, and no endpoint may have this name.
pub const REVISIONS: &str = "couch.";

/// Prefix of the `by` of the first import of an entry. No endpoint may have this name.
pub const IMPORTS: &str = "import.";

/// Separates the name of an endpoint from the hash of an entry that it imported again.
pub const IMPORTED_AGAIN: &str = ".import-";

/// Separates the name of an author from the digest of an edit that they made in a file.
const IN_FILE: &str = ".file-";

/// Number of hexadecimal digits of the digest of an edit in a file.
const IN_FILE_DIGITS: usize = 24;

/// Prefix of the `by` of versions that reading states derive from each other, followed by a hash.
const READING: &str = "reader.";

/// Whether a line of this kind has only one update: a revision, an import, an edit in a file, or a derived reading
/// state.
pub fn has_one_update(by: &By) -> bool {
    let text = by.as_str();
    [REVISIONS, IMPORTS, READING].iter().any(|prefix| text.starts_with(prefix))
        || text.contains(IMPORTED_AGAIN)
        || is_in_file(by)
}

/// The line of one edit that somebody made in a file: their name and a digest of the edit, in hexadecimal digits.
///
/// A file has no ledger, and copies of it are edited independently, also by one person. So no edit extends the line of
/// another one. Two edits share a line only if they are the same edit: of one version, with one result, by one name and
/// at one time. `None` if the name is too long.
pub fn in_file(name: &By, digest: &str) -> Option<By> {
    let digest = digest.get(..IN_FILE_DIGITS).unwrap_or(digest);
    By::new(&format!("{name}{IN_FILE}{digest}")).ok()
}

/// Whether a line is one of [`in_file`].
fn is_in_file(by: &By) -> bool {
    let digest = by.as_str().rsplit_once(IN_FILE).map(|(_, digest)| digest);
    digest.is_some_and(|digest| {
        digest.len() == IN_FILE_DIGITS && digest.bytes().all(|it| it.is_ascii_hexdigit())
    })
}

/// Separates an incarnation from the number of a branch. An incarnation ends with letters and digits.
const BRANCH: char = '-';

/// The authoring line of an incarnation with this number; number 0 is the incarnation itself. `None` if its name
/// would be too long.
pub fn branch(incarnation: &By, number: usize) -> Option<By> {
    match number {
        0 => Some(incarnation.clone()),
        _ => By::new(&format!("{incarnation}{BRANCH}{number}")).ok(),
    }
}

/// Whether an authoring line is one of an incarnation's: the incarnation itself, or one of its branches.
pub fn belongs_to(by: &By, incarnation: &By) -> bool {
    match by.as_str().strip_prefix(incarnation.as_str()) {
        Some("") => true,
        Some(rest) => rest.strip_prefix(BRANCH).is_some_and(is_number),
        None => false,
    }
}

/// The incarnation of a line whose name has the form of a branch; else the line itself.
fn incarnation_of(by: &By) -> &str {
    match by.as_str().rsplit_once(BRANCH) {
        Some((incarnation, number)) if is_number(number) => incarnation,
        _ => by.as_str(),
    }
}

fn is_number(text: &str) -> bool {
    !text.starts_with('0') && !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

/// Whether an edit based on these histories together may extend a line. `issued` is the greatest sequence
/// that this line ever issued for the item.
///
/// Issued sequences count even if the item no longer contains them: they may be in a purged tombstone, a
/// dropped collection, or another collection that shares the item.
pub fn may_extend<'a>(
    by: &By,
    issued: Option<Sequence>,
    base: impl IntoIterator<Item = &'a History>,
) -> bool {
    let known = base.into_iter().filter_map(|history| history.highest(by)).max();
    issued <= known
}

/// The line of an incarnation that signs an edit based on these histories together, and the greatest sequence
/// issued on it. It is the first that may be extended and has sequences left. `None` if names would get too
/// long.
pub fn line_for<'a>(
    incarnation: &By,
    issued: impl Fn(&By) -> Option<Sequence>,
    base: impl IntoIterator<Item = &'a History> + Clone,
) -> Option<(By, Option<Sequence>)> {
    // A line without updates is always free, so the search ends.
    for number in 0.. {
        let by = branch(incarnation, number)?;
        let greatest = issued(&by);
        let is_spent = base
            .clone()
            .into_iter()
            .filter_map(|history| history.highest(&by))
            .chain(greatest)
            .any(|sequence| sequence.get() == MAX_COUNTER);
        if !is_spent && may_extend(&by, greatest, base.clone()) {
            return Some((by, greatest));
        }
    }
    None
}

/// Whether an incoming item proves that another endpoint writes under a line of our current incarnation, such
/// as a restored store or a copied directory (R-F44).
///
/// The proof is a sequence above all that we issued on that line, or one that we issued with another `when`.
/// Other content under the same stamp proves nothing: a peer that serializes markup differently returns our
/// edits in that form.
pub fn collides<P>(
    incarnation: &By,
    issued: impl Fn(&By) -> Option<Sequence>,
    local: Option<&Item<P>>,
    incoming: &Item<P>,
) -> bool {
    let is_not_ours = |update: &Update, by: &By| {
        Some(update.sequence()) > issued(by)
            || local
                .into_iter()
                .flat_map(Item::versions)
                .any(|ours| has_other_time(&ours.history, update))
    };
    incoming.versions().flat_map(|version| version.history.updates()).any(|update| {
        update.by().is_some_and(|by| belongs_to(by, incarnation) && is_not_ours(update, by))
    })
}

/// Whether a history contains this update with another time; an absent time does not count.
fn has_other_time(history: &History, update: &Update) -> bool {
    history.updates().iter().any(|known| {
        known.is_same(update)
            && known.when().zip(update.when()).is_some_and(|(ours, theirs)| ours != theirs)
    })
}

/// For each of some lines, the first sequence that may be another endpoint's edit.
pub type DisputedSequences = Vec<(By, Sequence)>;

/// Returns the doubts about a version of ours that an incoming item would cover without knowing it; `None` if
/// it knows the version, or does not cover it.
///
/// The incoming history has later updates in our line, but does not list our edit, or lists it with another
/// time. Then another endpoint wrote under that line. Such a version is issued again before the merge. All
/// lines of its incarnation are then in doubt, from the first update on that the incoming history does not
/// list.
///
/// A history keeps the latest [`crate::LINE_WINDOW`] updates of a line, and peers may keep fewer (3.2). So
/// the update that proves knowledge of our edit may be missing. A false doubt costs a conflict, a missed one
/// costs an edit.
pub fn disputed_sequences<P>(ours: &Version<P>, incoming: &Item<P>) -> Option<DisputedSequences> {
    let by = ours.dot().by()?;
    let covering = incoming.versions().find(|version| ours.is_subsumed_by(version))?;
    let is_known = |update: &Update| {
        covering.history.lists(update) && !has_other_time(&covering.history, update)
    };
    if is_known(ours.dot()) {
        return None;
    }
    let incarnation = incarnation_of(by);
    let mut doubts = DisputedSequences::new();
    for update in ours.history.updates() {
        if let Some(by) = update.by()
            && incarnation_of(by) == incarnation
            && !is_known(update)
        {
            match doubts.iter_mut().find(|(line, _)| line == by) {
                Some((_, first)) => *first = update.sequence().min(*first),
                None => doubts.push((by.clone(), update.sequence())),
            }
        }
    }
    Some(doubts)
}

/// Issues a version again under a new line. Its history loses the updates in doubt, since those may be other
/// endpoints' edits: covering too little costs a conflict, too much an edit.
pub fn reissue<P>(version: &mut Version<P>, doubts: &DisputedSequences, new: &By) {
    let sequence = Sequence::from(version.updates);
    // `new` is a `by`, so the update is signed.
    let Ok(topmost) = Update::new(sequence, version.dot().when(), Some(new.clone())) else {
        return;
    };
    let is_doubted = |update: &Update| {
        let mut doubts = doubts.iter();
        doubts.any(|(by, first)| update.by() == Some(by) && update.sequence() >= *first)
    };
    let mut history = History::new(topmost);
    history.extend(version.history.updates().iter().filter(|it| !is_doubted(it)).cloned());
    version.history = history;
}
