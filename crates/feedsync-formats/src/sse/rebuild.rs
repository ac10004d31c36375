//! Writes the merged document: the local one with items replaced, moved, added and edited.
//!
//! An item or furniture whose context does not change keeps its bytes. An element that moves into another context is
//! rewritten with all its inherited properties. The children of an item take, in their new order, the slots that its
//! children had in the local document. New children follow the child before them.

use std::collections::{HashMap, HashSet, VecDeque};

use feedsync_core::ItemId;
use feedsync_core::sse::{NAMESPACE, NAMESPACE_AS_PRINTED};

use super::document::Document;
use super::merge::MergeError;
use super::plan::{Decision, Plan, Source};
use super::read::Node;
use super::sync_text::{SyncDestination, push_edited_sync, push_moved_sync};
use crate::payload::{Default, PayloadTag, write};

/// Writes the document that a plan describes.
pub(super) fn rebuild(
    local: &Document,
    incoming: &Document,
    plan: &Plan<'_>,
) -> Result<String, MergeError> {
    let mut parents = HashMap::new();
    for entry in &local.parsed.entries {
        let mut node = local.parsed.nodes[entry.node].parent;
        while node != 0 && local.parsed.nodes[node].entry.is_none() {
            node = local.parsed.nodes[node].parent;
        }
        let above = local.parsed.nodes[node].entry;
        let above = above.map(|above| &local.parsed.entries[above].item.id);
        parents.insert(&entry.item.id, above);
    }
    let declares = |namespace: &str| local.parsed.declared.iter().any(|(_, iri)| iri == namespace);
    let as_printed = declares(NAMESPACE_AS_PRINTED) && !declares(NAMESPACE);
    let rebuild = Rebuild {
        local,
        incoming,
        plan,
        parents,
        spelling: if as_printed { NAMESPACE_AS_PRINTED } else { NAMESPACE },
    };
    rebuild.document()
}

struct Rebuild<'d> {
    local: &'d Document,
    incoming: &'d Document,
    plan: &'d Plan<'d>,
    /// Nearest item around each local item.
    parents: HashMap<&'d ItemId, Option<&'d ItemId>>,
    /// Spelling of the namespace in the local document (S2).
    spelling: &'static str,
}

/// Context of the output position.
#[derive(Clone)]
struct OutputContext {
    /// Local node at this position, if it keeps its bytes.
    node: Option<usize>,
    /// Whether only the root declares namespaces here.
    root_context: bool,
    default: Default,
    depth: usize,
}

/// New children of an item, by the slots that its children have in the local document.
struct Slots<'d> {
    /// New children before the first slot.
    first: Vec<&'d ItemId>,
    /// Child in each slot, and the new children after it.
    taken: VecDeque<(&'d ItemId, Vec<&'d ItemId>)>,
    staying: HashSet<&'d ItemId>,
}

type Written = Result<(), MergeError>;

impl<'d> Rebuild<'d> {
    fn document(&self) -> Result<String, MergeError> {
        let text = &self.local.text;
        let root = &self.local.parsed.nodes[0];
        let around = OutputContext {
            node: Some(0),
            root_context: true,
            default: Default::of(root.default.as_deref()),
            depth: 2,
        };
        let mut slots = self.slots(None);
        let mut inside = String::new();
        self.children(&mut inside, 0, None, true, &mut slots, &around)?;
        self.rest(&mut inside, &mut slots, &around)?;
        let is_open = root.content.end < root.span.end;
        let mut out = String::with_capacity(text.len() + inside.len());
        out.push_str(&text[..root.content.start]);
        if is_open {
            out.push_str(&inside);
            out.push_str(&text[root.content.end..]);
        } else if inside.is_empty() {
            out.push_str(&text[root.span.end..]);
        } else {
            let name = text[root.span.start + 1..].split([' ', '\t', '\r', '\n', '/', '>']).next();
            out.truncate(out.len() - "/>".len());
            out.push_str(&format!(">{inside}</{}>", name.unwrap_or_default()));
            out.push_str(&text[root.span.end..]);
        }
        Ok(out)
    }

    fn slots(&self, parent: Option<&ItemId>) -> Slots<'d> {
        let mut slots =
            Slots { first: Vec::new(), taken: VecDeque::new(), staying: HashSet::new() };
        for id in self.plan.tree.get(&parent.cloned()).into_iter().flatten() {
            if self.parents.get(id).is_some_and(|before| *before == parent) {
                slots.taken.push_back((id, Vec::new()));
                slots.staying.insert(id);
            } else if let Some((_, after)) = slots.taken.back_mut() {
                after.push(id);
            } else {
                slots.first.push(id);
            }
        }
        slots
    }

    /// Writes the content of a local node, with the decided changes of its own `sx:sync`. If `verbatim` is false,
    /// only its child nodes are written, since the other content belongs to another version.
    fn children(
        &self,
        out: &mut String,
        index: usize,
        sync: Option<&Decision<'d>>,
        verbatim: bool,
        slots: &mut Slots<'d>,
        around: &OutputContext,
    ) -> Written {
        let text = &self.local.text;
        let node = &self.local.parsed.nodes[index];
        let mut cursor = node.content.start;
        let mut sync = sync.filter(|decision| !decision.edit.is_none());
        for &child in &node.children {
            let span = &self.local.parsed.nodes[child].span;
            if let Some(decision) = sync.take_if(|it| it.entry.sync.span.start < span.start) {
                out.push_str(&text[cursor..decision.entry.sync.span.start]);
                push_edited_sync(out, self.local, decision.entry, &decision.edit);
                cursor = decision.entry.sync.span.end;
            }
            let gap = &text[cursor..span.start];
            let space = &gap[gap.trim_end().len()..];
            let id = self.local.parsed.nodes[child].entry;
            let id = id.map(|entry| &self.local.parsed.entries[entry].item.id);
            let leaves = id.is_some_and(|id| !slots.staying.contains(id));
            out.push_str(match (verbatim, leaves) {
                (true, false) => gap,
                (true, true) => gap.trim_end(),
                (false, false) => space,
                (false, true) => "",
            });
            cursor = span.end;
            if id.is_none() {
                self.furniture(out, child, slots, around)?;
            } else if !leaves {
                for new in std::mem::take(&mut slots.first) {
                    self.item(out, new, around)?;
                    out.push_str(space);
                }
                let Some((id, after)) = slots.taken.pop_front() else { continue };
                self.item(out, id, around)?;
                for new in after {
                    out.push_str(space);
                    self.item(out, new, around)?;
                }
            }
        }
        if !verbatim {
            return Ok(());
        }
        if let Some(decision) = sync {
            out.push_str(&text[cursor..decision.entry.sync.span.start]);
            push_edited_sync(out, self.local, decision.entry, &decision.edit);
            cursor = decision.entry.sync.span.end;
        }
        out.push_str(&text[cursor..node.content.end]);
        Ok(())
    }

    /// Appends new children for which there was no slot to follow.
    fn rest(&self, out: &mut String, slots: &mut Slots<'d>, around: &OutputContext) -> Written {
        let first = std::mem::take(&mut slots.first);
        if first.is_empty() {
            return Ok(());
        }
        let end = out.trim_end().len();
        let space = out.split_off(end);
        for new in first {
            out.push_str(if space.is_empty() { "\n" } else { &space });
            self.item(out, new, around)?;
        }
        out.push_str(&space);
        Ok(())
    }

    fn keeps_bytes(&self, node: &Node, around: &OutputContext) -> bool {
        around.node == Some(node.parent) || (around.root_context && node.under_root_context)
    }

    /// Returns the context one level deeper.
    fn enter(&self, around: &OutputContext) -> Result<OutputContext, MergeError> {
        let limit = self.local.depth;
        if around.depth + 2 >= limit {
            return Err(MergeError::Depth { limit }); // `sx:sync` holds two levels more
        }
        Ok(OutputContext { depth: around.depth + 1, ..around.clone() })
    }

    /// Returns the context inside a node that keeps its bytes.
    fn inside(&self, index: usize, around: &OutputContext) -> Result<OutputContext, MergeError> {
        let node = &self.local.parsed.nodes[index];
        let tag = &self.local.text[node.span.start..node.content.start];
        Ok(OutputContext {
            node: Some(index),
            root_context: around.root_context && passes_nothing_on(tag),
            default: Default::of(node.default.as_deref()),
            ..self.enter(around)?
        })
    }

    fn furniture(
        &self,
        out: &mut String,
        index: usize,
        slots: &mut Slots<'d>,
        around: &OutputContext,
    ) -> Written {
        let node = &self.local.parsed.nodes[index];
        if self.keeps_bytes(node, around) {
            let text = &self.local.text;
            let inside = self.inside(index, around)?;
            out.push_str(&text[node.span.start..node.content.start]);
            self.children(out, index, None, true, slots, &inside)?;
            out.push_str(&text[node.content.end..node.span.end]);
            return Ok(());
        }
        let has_children = !node.children.is_empty();
        self.alone(out, &node.alone, has_children, around, |out, inside| {
            self.children(out, index, None, false, slots, inside)
        })
    }

    fn item(&self, out: &mut String, id: &ItemId, around: &OutputContext) -> Written {
        let Some(decision) = self.plan.decisions.get(id) else { return Ok(()) };
        let mut slots = self.slots(Some(id));
        let entry = decision.entry;
        let node = &self.local.parsed.nodes[decision.local.map_or(0, |local| local.node)];
        if decision.source == Source::Local && self.keeps_bytes(node, around) {
            let text = &self.local.text;
            let inside = self.inside(entry.node, around)?;
            out.push_str(&text[node.span.start..node.content.start]);
            self.children(out, entry.node, Some(decision), true, &mut slots, &inside)?;
            self.rest(out, &mut slots, &inside)?;
            out.push_str(&text[node.content.end..node.span.end]);
            return Ok(());
        }
        let document = match decision.source {
            Source::Local => self.local,
            Source::Incoming => self.incoming,
        };
        self.alone(out, entry.item.payload.text(), true, around, |out, inside| {
            if let Some(local) = decision.local {
                self.children(out, local.node, None, false, &mut slots, inside)?;
            }
            self.rest(out, &mut slots, inside)?;
            out.push('\n');
            let declared: &[(String, String)] =
                if inside.root_context { &self.local.parsed.declared } else { &[] };
            let position = self.plan.ordered.then_some(&decision.position);
            let moved = SyncDestination { declared, spelling: self.spelling, position };
            push_moved_sync(out, document, entry, &decision.edit, &moved);
            Ok(())
        })
    }

    /// Writes an element with all its inherited properties.
    fn alone(
        &self,
        out: &mut String,
        text: &str,
        has_content: bool,
        around: &OutputContext,
        fill: impl FnOnce(&mut String, &OutputContext) -> Written,
    ) -> Written {
        let inside = self.enter(around)?;
        let mut written = Ok(());
        if !has_content && around.default == Default::None {
            out.push_str(text);
            return Ok(());
        }
        write(out, text, &PayloadTag::read(text), &around.default, |out, default| {
            let root_context = inside.root_context && passes_nothing_on(text);
            written = fill(out, &OutputContext { node: None, root_context, default, ..inside });
        });
        written
    }
}

/// Whether the start tag at the beginning of a text has nothing that child elements inherit.
fn passes_nothing_on(text: &str) -> bool {
    let mut quote = None;
    let end = text.bytes().position(|byte| {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            _ => {}
        }
        byte == b'>' && quote.is_none()
    });
    let tag = &text[..end.unwrap_or(text.len())];
    !tag.contains("xmlns") && !tag.contains("xml:")
}

#[cfg(test)]
mod tests {
    use super::passes_nothing_on;

    #[test]
    fn only_declarations_and_attributes_of_xml_in_the_start_tag_are_passed_on() {
        for text in [
            "<a>",
            "<a/>",
            "<a b='\"' c='d'>xmlns</a>",
            "<a b='>'>xml:lang</a>",
            "<a b=\"'\">xml:</a>",
        ] {
            assert!(passes_nothing_on(text), "{text}");
        }
        for text in [
            "<a xmlns='u'>",
            "<a xml:lang='e'/>",
            "<a b='>' xmlns:c='u'>",
            "<a b=\"'>\" xml:lang='e'>",
        ] {
            assert!(!passes_nothing_on(text), "{text}");
        }
    }
}
