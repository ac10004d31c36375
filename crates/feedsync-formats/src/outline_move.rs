//! Moves an outline: its payload then claims another parent, as the last of its children.
//!
//! The position of an outline is part of its payload, so a move is an update like any other (SSE 3.2, R-P11, R-S10).

use std::collections::{HashMap, HashSet};

use feedsync_core::{Format, Item, ItemId, Payload};

use crate::opml::claim;
use crate::options::{Limits, Mode};
use crate::outlines::{MAX_OUTLINE_DEPTH, OutlinePosition};
use crate::payload::{OWN, push_attribute, push_declaration};
use crate::revise::Edits;
use crate::xml::{Namespace, Tree};

/// Reason why an outline cannot be moved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// The item is not an outline.
    #[error("{id} is an item in the format {format}, and only OPML outlines can be moved")]
    NoOutline {
        /// The item.
        id: ItemId,
        /// Its format.
        format: Format,
    },
    /// The new parent does not exist.
    #[error("there is no outline {0}")]
    NoParent(ItemId),
    /// The new parent is deleted.
    #[error("{0} is deleted, so nothing can be moved under it")]
    DeletedParent(ItemId),
    /// The new parent is the outline itself.
    #[error("{0} cannot be moved under itself")]
    Itself(ItemId),
    /// The new parent is a descendant.
    #[error("{id} cannot be moved under {parent}, which is inside {id}")]
    Descendant {
        /// The outline that would move.
        id: ItemId,
        /// The new parent.
        parent: ItemId,
    },
    /// The outline is a child of that parent already.
    #[error("{id} is already under {parent}")]
    Already {
        /// The outline.
        id: ItemId,
        /// Its parent.
        parent: ItemId,
    },
    /// The outline is at the top already.
    #[error("{0} is already at the top")]
    AtTop(ItemId),
    /// The outlines would nest too deeply.
    #[error(
        "outlines nest at most {MAX_OUTLINE_DEPTH} deep, and {0} would be deeper there, or one inside it"
    )]
    TooDeep(ItemId),
    /// The payload uses the prefix of the claim for another namespace, or is not XML.
    #[error("{0} cannot store its position: it uses the prefix fs for another namespace")]
    Prefix(ItemId),
}

/// Returns the payload of an outline that claims to be the last child of another item, or the last at the top for
/// `None`. `places` has the positions of all items, including the outline.
pub fn move_outline(
    places: &[OutlinePosition],
    outline: &Item<Payload>,
    under: Option<&ItemId>,
) -> Result<Payload, MoveError> {
    let (id, payload) = (&outline.id, &outline.winner.payload);
    if payload.format() != Format::Opml {
        return Err(MoveError::NoOutline { id: id.clone(), format: payload.format() });
    }
    let places: HashMap<&ItemId, &OutlinePosition> =
        places.iter().map(|place| (place.id(), place)).collect();
    match under {
        Some(parent) => check_parent(&places, id, parent)?,
        None if claim(payload).parent.is_none() => return Err(MoveError::AtTop(id.clone())),
        None => {}
    }
    let position = next_position(&places, id, under);
    with_place(payload, under, position).ok_or_else(|| MoveError::Prefix(id.clone()))
}

/// Returns the payload of a new outline as the last at the top. The payload is unchanged if it claims a position or
/// is not an outline.
pub fn with_last_position(places: &[OutlinePosition], id: &ItemId, payload: Payload) -> Payload {
    let claimed = claim(&payload);
    if payload.format() != Format::Opml || claimed.parent.is_some() || claimed.position.is_some() {
        return payload;
    }
    let places: HashMap<&ItemId, &OutlinePosition> =
        places.iter().map(|place| (place.id(), place)).collect();
    with_place(&payload, None, next_position(&places, id, None)).unwrap_or(payload)
}

type PositionsById<'p> = HashMap<&'p ItemId, &'p OutlinePosition>;

fn check_parent(places: &PositionsById<'_>, id: &ItemId, parent: &ItemId) -> Result<(), MoveError> {
    let place = places.get(parent).ok_or_else(|| MoveError::NoParent(parent.clone()))?;
    if parent == id {
        return Err(MoveError::Itself(id.clone()));
    }
    if place.is_deleted() {
        return Err(MoveError::DeletedParent(parent.clone()));
    }
    if places.get(id).is_some_and(|own| own.parent() == Some(parent)) {
        return Err(MoveError::Already { id: id.clone(), parent: parent.clone() });
    }
    let above = ancestors(places, parent);
    if above.contains(id) {
        return Err(MoveError::Descendant { id: id.clone(), parent: parent.clone() });
    }
    if above.len() + 1 + height(places, id) > MAX_OUTLINE_DEPTH {
        return Err(MoveError::TooDeep(id.clone()));
    }
    Ok(())
}

/// Returns the claimed ancestors of an outline. Claims may form a cycle.
fn ancestors<'p>(places: &PositionsById<'p>, id: &ItemId) -> HashSet<&'p ItemId> {
    let mut above = HashSet::new();
    let mut at = places.get(id).and_then(|place| place.parent());
    while let Some(parent) = at.filter(|parent| above.insert(*parent)) {
        at = places.get(parent).and_then(|place| place.parent());
    }
    above
}

/// Number of levels of outlines that claim to be inside the given one.
fn height(places: &PositionsById<'_>, id: &ItemId) -> usize {
    let mut children: HashMap<&ItemId, Vec<&ItemId>> = HashMap::new();
    for place in places.values() {
        if let Some(parent) = place.parent() {
            children.entry(parent).or_default().push(place.id());
        }
    }
    let mut seen = HashSet::from([id]);
    let (mut row, mut height) = (vec![id], 0);
    loop {
        let inside = row.iter().filter_map(|id| children.get(id)).flatten().copied();
        row = inside.filter(|id| seen.insert(*id)).collect();
        if row.is_empty() {
            return height;
        }
        height += 1;
    }
}

/// Returns the position after all outlines that are shown in a parent, or at the top.
fn next_position(places: &PositionsById<'_>, id: &ItemId, under: Option<&ItemId>) -> u64 {
    let shown_in = |place: &OutlinePosition| {
        let parent = place.parent().and_then(|parent| places.get(parent));
        parent.filter(|parent| !parent.is_deleted()).map(|parent| parent.id())
    };
    let siblings = || {
        let others = places.values().filter(|place| place.id() != id);
        others.filter(|place| shown_in(place) == under)
    };
    let last = siblings().map(|place| place.order()).max();
    let after = last.map_or(0, |last| last.saturating_add(1));
    after.max(siblings().count() as u64)
}

/// Returns the payload with another claim. Returns `None` if its prefix `fs` has another namespace.
fn with_place(payload: &Payload, parent: Option<&ItemId>, position: u64) -> Option<Payload> {
    let text = payload.text();
    let (tree, _) = Tree::parse(text, Mode::Tolerant, &Limits::default()).ok()?;
    let root = tree.root();
    let mut edits = Edits::default();
    for name in ["parent", "position"] {
        if let Some(attribute) = root.attribute(Namespace::OWN, name) {
            let before = &text[root.name_end()..attribute.start()];
            let start = root.name_end() + before.trim_end().len();
            edits.replace(start..attribute.span().end, String::new());
        }
    }
    let declared = root.attributes().iter().find(|it| it.declared_prefix(text) == Some("fs"));
    let mut claim = String::new();
    let at = match declared {
        Some(declaration) if declaration.value(text) == OWN => declaration.span().end,
        Some(_) => return None,
        None => {
            push_declaration(&mut claim, "fs", OWN);
            root.name_end()
        }
    };
    if let Some(parent) = parent {
        push_attribute(&mut claim, "fs:parent", parent.as_str());
    }
    push_attribute(&mut claim, "fs:position", &position.to_string());
    edits.replace(at..at, claim);
    Some(payload.with_parsed_text(edits.apply(text)))
}

#[cfg(test)]
mod tests;
