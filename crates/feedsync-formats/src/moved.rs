//! Moves outlines of a changed document to the positions that their items claim (SSE 3.2, R-P11).
//!
//! All other outlines keep their nesting. Only outlines of rewritten items move, together with their children, and
//! only if their parent item differs from the claimed one.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use feedsync_core::{Format, Item, Payload};

use crate::feed;
use crate::items::Slot;
use crate::opml::{Claim, claim};
use crate::options::ReadOptions;

/// Returns the document with these items moved. Returns it unchanged if none has to move.
pub(crate) fn moved(text: String, ids: &HashSet<&str>) -> String {
    let options = ReadOptions::tolerant();
    let Ok(parsed) = feed::parse(&text, Some(Format::Opml), &options) else { return text };
    let items = &parsed.reading.feed.items;
    let mut tree = Tree::of(&parsed.slots, items, text.len());
    let places: HashMap<&str, usize> =
        (0..parsed.slots.len()).filter_map(|slot| Some((tree.id(slot)?, slot))).collect();
    let mut has_moved = false;
    for (slot, place) in parsed.slots.iter().enumerate() {
        let Some(item) = place.item.map(|item| &items[item]) else { continue };
        let Claim { parent, position } = claim(&item.winner.payload);
        let claims = parent.is_some() || position.is_some();
        if !claims || !ids.contains(item.id.as_str()) {
            continue;
        }
        let to = match &parent {
            None => None,
            Some(id) => match places.get(&**id) {
                Some(to) if !tree.is_within(*to, slot) && !tree.is_deleted(*to) => Some(*to),
                // If the parent is unknown, deleted, or inside the outline itself, the outline keeps its position.
                _ => continue,
            },
        };
        if tree.item_above(slot) != to {
            tree.put(slot, to, position);
            has_moved = true;
        }
    }
    if !has_moved {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    tree.write(&mut out, &text, None, parsed.end.offset);
    out
}

fn is_white(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// The outlines of a document as a tree.
struct Tree<'d> {
    slots: &'d [Slot],
    items: &'d [Item<Payload>],
    length: usize,
    /// Parent of each outline.
    parents: Vec<Option<usize>>,
    /// Children of each outline, in order. The last element has the children of the body.
    children: Vec<Vec<usize>>,
    /// Outlines that have moved from their position in the text.
    gone: HashSet<usize>,
}

impl<'d> Tree<'d> {
    fn of(slots: &'d [Slot], items: &'d [Item<Payload>], length: usize) -> Self {
        let mut parents = Vec::with_capacity(slots.len());
        let mut children = vec![Vec::new(); slots.len() + 1];
        let mut open: Vec<usize> = Vec::new();
        for (slot, place) in slots.iter().enumerate() {
            open.truncate(
                open.iter().take_while(|above| slots[**above].span.end >= place.span.end).count(),
            );
            let parent = open.last().copied();
            parents.push(parent);
            children[parent.unwrap_or(slots.len())].push(slot);
            open.push(slot);
        }
        Self { slots, items, length, parents, children, gone: HashSet::new() }
    }

    fn item(&self, slot: usize) -> Option<&'d Item<Payload>> {
        self.slots[slot].item.map(|item| &self.items[item])
    }

    fn id(&self, slot: usize) -> Option<&'d str> {
        self.item(slot).map(|item| item.id.as_str())
    }

    fn is_deleted(&self, slot: usize) -> bool {
        self.item(slot).is_some_and(|item| item.winner.deleted)
    }

    /// Whether an outline is the other one or inside it.
    fn is_within(&self, slot: usize, other: usize) -> bool {
        let mut above = Some(slot);
        while let Some(at) = above {
            if at == other {
                return true;
            }
            above = self.parents[at];
        }
        false
    }

    /// Returns the nearest ancestor that is an item.
    fn item_above(&self, slot: usize) -> Option<usize> {
        let mut above = self.parents[slot];
        while let Some(at) = above.filter(|at| self.item(*at).is_none()) {
            above = self.parents[at];
        }
        above
    }

    /// Moves an outline into another one, or into the body, before the item at a position.
    fn put(&mut self, slot: usize, to: Option<usize>, position: Option<u64>) {
        let body = self.slots.len();
        self.children[self.parents[slot].unwrap_or(body)].retain(|child| *child != slot);
        let place = to.unwrap_or(body);
        let items = self.children[place].iter().enumerate();
        let items = items.filter(|(_, child)| self.item(**child).is_some()).map(|(at, _)| at);
        let position = position.and_then(|position| usize::try_from(position).ok());
        let at = position.and_then(|position| items.clone().nth(position));
        let at = at.unwrap_or(self.children[place].len());
        self.children[place].insert(at, slot);
        self.parents[slot] = to;
        self.gone.insert(slot);
    }

    /// Appends an outline, or the document, with its current children. `end` is the offset of its end tag.
    fn write(&self, out: &mut String, text: &str, slot: Option<usize>, end: usize) {
        let span = slot.map_or(0..self.length, |slot| self.slots[slot].span.clone());
        let mut from = span.start;
        for &child in &self.children[slot.unwrap_or(self.slots.len())] {
            let is_here = !self.gone.contains(&child);
            if is_here {
                self.copy(out, (text, slot), from..self.slots[child].span.start);
                from = self.slots[child].span.end;
            } else if from == span.start {
                // Copy up to the first child that did not move, or to the end tag.
                let next = self.next_that_stayed(slot, child).unwrap_or(end);
                self.copy(out, (text, slot), from..next);
                from = next;
            }
            let inner = &self.slots[child].span;
            let end = inner.start + text[inner.clone()].rfind("</").unwrap_or(inner.len());
            if !is_here {
                // White space before an outline belongs to its old parent and is not copied.
                out.push('\n');
            }
            self.write(out, text, Some(child), end);
        }
        self.copy(out, (text, slot), from..span.end);
    }

    /// Returns the offset of the next outline that did not move, after one that was moved here.
    fn next_that_stayed(&self, slot: Option<usize>, child: usize) -> Option<usize> {
        let children = &self.children[slot.unwrap_or(self.slots.len())];
        let mut after = children.iter().skip_while(|other| **other != child);
        let stayed = after.find(|other| !self.gone.contains(other))?;
        Some(self.slots[*stayed].span.start)
    }

    /// Appends a part of an outline, or of the document, without the outlines that moved out of it.
    fn copy(&self, out: &mut String, (text, of): (&str, Option<usize>), part: Range<usize>) {
        let mut from = part.start;
        let others = self.gone.iter().filter(|slot| of != Some(**slot));
        let mut left: Vec<&Range<usize>> = others.map(|slot| &self.slots[*slot].span).collect();
        left.retain(|span| part.contains(&span.start) && span.end <= part.end);
        left.sort_by_key(|span| span.start);
        for span in left {
            // An outline nested in one that moved was removed with it.
            if span.start >= from {
                out.push_str(text[from..span.start].trim_end_matches(is_white));
                from = span.end;
            }
        }
        out.push_str(&text[from..part.end.max(from)]);
    }
}
