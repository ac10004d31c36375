//! Local edits: create, update, delete, un-delete, resolve (3.1, 3.2, 3.4).

use feedsync_core::{
    Base, By, Creation, Edit, EditError, Format, History, Item, Keep, Payload, Resolution,
    Resolved, Stamp, Timestamp, Update, Version, line,
};
use feedsync_formats::{carry_native, json, read_payload};

use crate::failure::Failure;
use crate::item::{bounded, edited, read_item};
use crate::request::{Issued, Request};

/// Signs edits of one item.
struct Signer {
    now: Timestamp,
    incarnation: By,
    fresh: By,
    issued: Issued,
}

impl Signer {
    fn of(request: &Request<'_>) -> Result<Self, Failure> {
        Ok(Self {
            now: request.now()?,
            incarnation: request.by("by")?,
            fresh: request.by("fresh")?,
            issued: request.issued("issued")?,
        })
    }

    /// Stamp of an edit that is based on these histories, with the first authoring line that may be extended.
    fn stamp<'a>(&self, base: impl IntoIterator<Item = &'a History> + Clone) -> (Stamp, By) {
        let issued = |by: &By| self.issued.get(by).copied();
        match line::line_for(&self.incarnation, issued, base) {
            Some((by, issued)) => (Stamp::new(self.now, by.clone()).above(issued), by),
            None => self.fresh(),
        }
    }

    /// Stamp on an authoring line that was never used.
    fn fresh(&self) -> (Stamp, By) {
        (Stamp::new(self.now, self.fresh.clone()), self.fresh.clone())
    }
}

/// Creates an item (3.1).
pub(crate) fn create(request: &Request<'_>) -> Result<String, Failure> {
    let creation = Creation { noconflicts: request.truth("noconflicts")?, deleted: false };
    let payload = content(request)?.ok_or_else(|| Failure::Request("no content".into()))?;
    let (stamp, by) = Signer::of(request)?.stamp([]);
    let item = Item::create(request.id()?, creation, &stamp, payload)?;
    stored(item, None, "applied", &by)
}

/// Updates, deletes or un-deletes an item (3.2), starting from the version that the editor had seen. If that version is
/// no longer the winner, the edit is kept as a conflict beside it. An edit that an earlier one has already made changes
/// nothing.
pub(crate) fn edit(request: &Request<'_>) -> Result<String, Failure> {
    let item = request.item()?;
    let edit = Edit { payload: content(request)?, deleted: request.truth("deleted")? };
    let base = request.find("base").map(|base| read_item(base.raw())).transpose();
    let base = base.map_err(Failure::Request)?.map(|seen| seen.winner);
    let stale = base.filter(|base| !base.dot().is_same(item.winner.dot()));
    if let Some(outcome) = made_before(&item, stale.as_ref(), &edit) {
        return edited(&item, outcome, None);
    }
    let signer = Signer::of(request)?;
    let Some(base) = stale else {
        let winner = &item.winner;
        check_format(&edit, winner)?;
        let signature = signer.stamp([&winner.history]);
        let (mut changed, by) = apply(&item, &signer, signature, |item, stamp| {
            item.update(stamp, edit.clone()).map_err(Failure::from)
        })?;
        if edit.payload.is_none() {
            keep_native(&mut changed, winner.dot());
        }
        return stored(changed, Some(&item), "applied", &by);
    };
    check_format(&edit, &base)?;
    let (stamp, by) = signer.stamp([&base.history]);
    let deleted = edit.deleted.unwrap_or(false);
    let keeps_content = edit.payload.is_none();
    let payload = edit.payload.unwrap_or_else(|| base.payload.clone());
    let mut branched = item.clone().branch(Base::from(&base), &stamp, payload, deleted)?;
    for version in branched.versions_mut().filter(|_| keeps_content) {
        if version.dot().by() == Some(&by) {
            version.payload = carry_native(&version.payload, base.dot(), version.dot());
        }
    }
    if branched.noconflicts() {
        return Err(Failure::KeepsNone);
    }
    let is_shown = branched.winner.dot().by() == Some(&by);
    stored(branched, Some(&item), if is_shown { "conflictShown" } else { "conflictHidden" }, &by)
}

/// Resolves conflicts (3.4) of the item that the resolver saw. If the item has changed since, nothing is done.
pub(crate) fn resolve(request: &Request<'_>) -> Result<String, Failure> {
    let item = request.item()?;
    let seen = read_item(request.get("seen")?.raw()).map_err(Failure::Request)?;
    let is_same = item.versions().count() == seen.versions().count()
        && item.versions().zip(seen.versions()).all(|(now, then)| now.dot() == then.dot());
    if !is_same {
        return Err(Failure::Changed);
    }
    if item.conflicts.is_empty() {
        return Err(Failure::NoConflicts);
    }
    let keep = match (content(request)?, request.number("keep")?) {
        (Some(payload), None) => Keep::Content { payload, deleted: request.truth("deleted")? },
        (None, Some(0)) => Keep::Winner,
        (None, Some(version)) => Keep::Conflict(version - 1),
        _ => return Err(Failure::Request("a resolution has either content or keep".into())),
    };
    let resolution = Resolution { resolved: Resolved::All, keep };
    let folded: Vec<_> = item.conflicts.iter().map(|version| version.history.clone()).collect();
    let signer = Signer::of(request)?;
    let signature = signer.stamp(std::iter::once(&item.winner.history).chain(&folded));
    let kept = match &resolution.keep {
        Keep::Winner => Some(&item.winner),
        Keep::Conflict(index) => item.conflicts.get(*index),
        Keep::Content { .. } => None,
    };
    let (mut resolved, by) = apply(&item, &signer, signature, |item, stamp| {
        item.resolve(stamp, resolution.clone()).map_err(Failure::from)
    })?;
    if let Some(kept) = kept {
        keep_native(&mut resolved, kept.dot());
    }
    folded.iter().for_each(|history| resolved.winner.history.remember(history));
    stored(resolved, Some(&item), "applied", &by)
}

/// Refuses new content for an item of another format, which would lose what JSON does not have.
fn check_format(edit: &Edit<Payload>, base: &Version<Payload>) -> Result<(), Failure> {
    let is_native = json::Node::root(base.payload.text()).member("fs:native").is_some();
    if is_native && edit.payload.is_some() { Err(Failure::Format) } else { Ok(()) }
}

/// Keeps the native text of a version whose content the winner has taken over.
fn keep_native(item: &mut Item<Payload>, from: &Update) {
    let payload = carry_native(&item.winner.payload, from, item.winner.dot());
    item.winner.payload = payload;
}

/// Applies an edit. If its authoring line is used up for this item, a fresh line is taken.
fn apply(
    item: &Item<Payload>,
    signer: &Signer,
    (stamp, by): (Stamp, By),
    edit: impl Fn(&mut Item<Payload>, &Stamp) -> Result<(), Failure>,
) -> Result<(Item<Payload>, By), Failure> {
    let mut changed = item.clone();
    match edit(&mut changed, &stamp) {
        Err(Failure::Edit(EditError::SequenceExhausted)) => {
            let (stamp, by) = signer.fresh();
            let mut changed = item.clone();
            edit(&mut changed, &stamp)?;
            Ok((changed, by))
        }
        outcome => outcome.map(|()| (changed, by)),
    }
}

/// Returns the outcome of an edit that an earlier one has made: a repeated deletion, or the same stale edit again.
fn made_before(
    item: &Item<Payload>,
    stale: Option<&Version<Payload>>,
    edit: &Edit<Payload>,
) -> Option<&'static str> {
    let deletes = edit.deleted == Some(true);
    let winner = &item.winner;
    let Some(base) = stale else {
        let is_same = edit.payload.as_ref().is_none_or(|payload| *payload == winner.payload)
            && edit.deleted.is_none_or(|deleted| deleted == winner.deleted);
        return is_same.then_some("unchanged");
    };
    let is_made = |version: &Version<Payload>| {
        let is_same = edit.payload.as_ref() == Some(&version.payload) || deletes;
        is_same && version.deleted == deletes && version.history.covers(base.dot())
    };
    if edit.payload.as_ref().is_some_and(|payload| *payload == base.payload) && !deletes {
        return Some("unchanged");
    }
    if is_made(winner) || (deletes && winner.deleted) {
        return Some("unchanged");
    }
    item.conflicts.iter().any(is_made).then_some("conflictHidden")
}

fn content(request: &Request<'_>) -> Result<Option<Payload>, Failure> {
    let Some(content) = request.find("content") else { return Ok(None) };
    Ok(Some(read_payload(Format::Json, content.raw())?))
}

fn stored(
    item: Item<Payload>,
    before: Option<&Item<Payload>>,
    outcome: &str,
    by: &By,
) -> Result<String, Failure> {
    let item = bounded(item, before)?;
    let line = item.highest(by).map(|sequence| (by, sequence));
    edited(&item, outcome, line)
}
