//! Pairs of notes and files that belong together, without their contents.

use std::collections::{BTreeMap, BTreeSet};

use super::decision::Deletions;
use super::folder::Listing;
use super::notes::{StoredNote, StoredNotes};
use super::path::{CaseRule, System, check, id_of};
use super::stamp::Stamp;
use super::state::{Entry, MirrorState};
use super::trouble::Trouble;

/// A note and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    /// Id of the note's document.
    pub(super) id: String,
    /// Path of the file below the directory.
    pub(super) path: String,
    /// The note, also if its body marks it as deleted.
    pub(super) note: Option<StoredNote>,
    /// The file.
    pub(super) file: Option<Stamp>,
    /// The recorded state of both, from the last pass.
    pub(super) entry: Option<Entry>,
}

impl Pair {
    /// The note, unless it is deleted.
    pub(super) fn live_note(&self) -> Option<&StoredNote> {
        self.note.as_ref().filter(|note| !note.head.is_deleted)
    }

    /// Whether neither side changed since they were mirrored last.
    pub(super) fn is_unchanged(&self) -> bool {
        match (self.live_note(), self.file, &self.entry) {
            (Some(note), Some(stamp), Some(entry)) => {
                !entry.is_pending
                    && entry.stamp == stamp
                    && entry.revision == note.revision.to_string()
            }
            (None, None, None) => true,
            _ => false,
        }
    }
}

/// Input of a pass.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Notes and files that can be brought in line.
    pub(super) pairs: Vec<Pair>,
    /// Paths that are left as they are.
    pub(super) left_out: Vec<(String, Trouble)>,
    /// Upper bound of the deletions.
    pub(super) deletions: Deletions,
}

/// Returns the rule by which the ids of notes follow from their paths: that which some note follows alone.
pub(super) fn case_rule(notes: &StoredNotes) -> CaseRule {
    let is_sensitive = notes.iter().any(|(id, note)| {
        let path = &note.head.path;
        id_of(path, CaseRule::Insensitive) != *id && id_of(path, CaseRule::Sensitive) == *id
    });
    if is_sensitive { CaseRule::Sensitive } else { CaseRule::Insensitive }
}

impl Plan {
    /// Finds the pairs. Those whose note is deleted come first, so that their files are not in the way of others.
    pub(super) fn of(
        notes: &StoredNotes,
        listing: &Listing,
        state: &MirrorState,
        rule: CaseRule,
    ) -> Self {
        let mut plan = Self { left_out: listing.left_out.clone(), ..Self::default() };
        let mut files: BTreeMap<String, Vec<&String>> = BTreeMap::new();
        for path in listing.files.keys() {
            files.entry(id_of(path, rule)).or_default().push(path);
        }
        let ids: BTreeSet<&String> =
            notes.keys().chain(files.keys()).chain(state.entries.keys()).collect();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for id in ids {
            let note = notes.get(id);
            let is_live = note.is_some_and(|note| !note.head.is_deleted);
            let entry = state.entries.get(id);
            let found = files.get(id).map_or(&[][..], Vec::as_slice);
            let path = found.first().map(|path| path.as_str());
            let path = path.or(note.map(|note| note.head.path.as_str()).filter(|_| is_live));
            let Some(path) = path.or(entry.map(|entry| entry.path.as_str())) else { continue };
            if is_live || !found.is_empty() {
                *names.entry(path.to_lowercase()).or_default() += 1;
            }
            let pair = Pair {
                id: id.clone(),
                path: path.to_owned(),
                note: note.cloned(),
                file: found.first().map(|path| listing.files[*path]),
                entry: entry.cloned(),
            };
            let trouble = match found {
                [_, _, ..] => Some(Trouble::SameName),
                _ => trouble(&pair, listing, rule),
            };
            match trouble {
                None => plan.pairs.push(pair),
                Some(trouble) if trouble.is_expected() => {}
                Some(trouble) => plan.left_out.push((pair.path, trouble)),
            }
        }
        // What is neither a file nor a directory is named, unless a path that it is in the way of is.
        for obstacle in &listing.obstacles {
            let is_below = |path: &str| {
                path.strip_prefix(obstacle.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if !plan.left_out.iter().any(|(path, _)| is_below(path)) {
                plan.left_out.push((obstacle.clone(), Trouble::Obstructed));
            }
        }
        let (unique, same): (Vec<_>, Vec<_>) = std::mem::take(&mut plan.pairs)
            .into_iter()
            .partition(|pair| names.get(&pair.path.to_lowercase()).is_none_or(|count| *count < 2));
        plan.left_out.extend(same.into_iter().map(|pair| (pair.path, Trouble::SameName)));
        plan.pairs = unique;
        plan.pairs.sort_by_key(|pair| pair.live_note().is_some());
        plan.deletions = plan.deletions(listing, state);
        plan
    }

    fn deletions(&self, listing: &Listing, state: &MirrorState) -> Deletions {
        let count = |is_deleted: fn(&Pair) -> bool| {
            self.pairs.iter().filter(|pair| pair.entry.is_some() && is_deleted(pair)).count()
        };
        Deletions {
            notes: count(|pair| pair.live_note().is_some() && pair.file.is_none()),
            files: count(|pair| pair.live_note().is_none() && pair.file.is_some()),
            mirrored: state.entries.len(),
            is_directory_empty: listing.files.is_empty(),
        }
    }
}

/// Returns the reason for which a pair is left as it is, if there is one.
fn trouble(pair: &Pair, listing: &Listing, rule: CaseRule) -> Option<Trouble> {
    if let Some(note) = pair.live_note() {
        if let Err(trouble) = check(&note.head.path, System::HERE) {
            return Some(trouble.into());
        }
        // Without this, the file that is written here would be that of another note in the next pass.
        if id_of(&note.head.path, rule) != pair.id {
            return Some(Trouble::OtherId);
        }
    }
    // A stored path is checked again: the state is a file, too.
    if let Err(trouble) = check(&pair.path, System::HERE) {
        return Some(trouble.into());
    }
    listing.is_obstructed(&pair.path).then_some(Trouble::Obstructed)
}

#[cfg(test)]
mod tests;
