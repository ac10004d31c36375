//! OPML with FeedSync on outlines at any depth under `body`, which is ours, not the texts' (R-P11).
//!
//! An item is an outline without the outlines in it; its place is part of its payload, as the
//! attributes `fs:parent` (the id of the nearest enclosing item, absent at the root) and
//! `fs:position` (from 0) of the outline. Outlines of others that lack them get what is observed;
//! in a document that says `fs:self-contained="true"` absent means that no place is claimed.
//!
//! Written, children nest in their parents, siblings by position and id. A child whose parent is
//! deleted or unknown shows at the root, and of each cycle the lowest id does: computed here, never
//! stored.

use std::collections::HashMap;

use feedsync::{Format, Item, ItemId, Payload};

use crate::context::Context;
use crate::date::to_rfc822;
use crate::feed::{End, Place, Role};
use crate::head::FeedHead;
use crate::items::{Extras, Items};
use crate::payload::{OWN, PayloadTag};
use crate::sync::{Surroundings, push_item, push_sharing};
use crate::xml::{Element, Namespace, XmlError, escape_text, unescape};

/// Outlines are nested at most this deep when written; deeper ones show at the root.
const DEEPEST: usize = 100;

pub(crate) fn role(place: Place<'_>) -> Role {
    match (place.path, place.local) {
        ([], _) | ([_], "head") => Role::Container,
        ([_], "body") => Role::Outlines,
        ([_, "head"], "title") => Role::Title,
        _ => Role::Other,
    }
}

/// Reads the outlines of a body.
pub(crate) fn read_body<'a>(
    items: &mut Items<'_>,
    body: Element<'_, 'a>,
    context: &Context<'a>,
) -> Result<End, XmlError> {
    let text = body.document();
    let context = context.enter(text, body.attributes());
    let mut observed = HashMap::new();
    read_outlines(items, body, &context, None, &mut observed)?;
    let empty = text[body.start_tag_span()].ends_with("/>");
    let offset = if empty { body.span().end - 2 } else { body.content_span().end };
    Ok(End {
        offset,
        empty: empty.then(|| body.name().to_owned()),
        default: context.default.as_deref().map(str::to_owned),
        prefix: context.prefix_of(crate::payload::FEEDSYNC).map(str::to_owned),
        self_contained: items.self_contained,
    })
}

/// How many items each parent holds so far.
type Observed = HashMap<Option<ItemId>, usize>;

fn read_outlines<'a>(
    items: &mut Items<'_>,
    parent: Element<'_, 'a>,
    context: &Context<'a>,
    parent_id: Option<&ItemId>,
    observed: &mut Observed,
) -> Result<(), XmlError> {
    let text = parent.document();
    for outline in outlines(parent) {
        let next = observed.get(&parent_id.cloned()).copied().unwrap_or(0);
        let mut context_of_outline = context.clone();
        let mut extras = Extras::default();
        extras.cuts.extend(outlines(outline).map(Element::span));
        let declares_fs = |a: &crate::xml::Attribute| a.declared_prefix(text) == Some("fs");
        let claimed = outline.attribute(Namespace::OWN, "position").is_some()
            || outline.attribute(Namespace::OWN, "parent").is_some();
        let other = context.prefixes.iter().any(|d| d.prefix == "fs" && d.iri != OWN);
        if !claimed && !other && !outline.attributes().iter().any(declares_fs) {
            context_of_outline.declare("fs", OWN.into());
            if let Some(id) = parent_id {
                extras.claims.push(("parent", id.to_string()));
            }
            extras.claims.push(("position", next.to_string()));
        }
        let id = items.take(outline, &context_of_outline, &extras)?;
        if id.is_some() {
            observed.insert(parent_id.cloned(), next + 1);
        }
        let inside = context.enter(text, outline.attributes());
        read_outlines(items, outline, &inside, id.as_ref().or(parent_id), observed)?;
    }
    Ok(())
}

fn outlines<'t, 'a>(parent: Element<'t, 'a>) -> impl Iterator<Item = Element<'t, 'a>> {
    parent.children().filter(|child| child.is(Namespace::NONE, "outline"))
}

/// Where an outline says it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Claim {
    /// The item it is in; `None` at the root.
    pub(crate) parent: Option<String>,
    /// Its place among its siblings; the last, if it claims none.
    pub(crate) position: Option<u64>,
}

/// Reads the claim of a payload.
pub(crate) fn claim(payload: &Payload) -> Claim {
    let tag = PayloadTag::read(&payload.text);
    if payload.format != Format::Opml || tag.raw("xmlns:fs") != Some(OWN) {
        return Claim::default();
    }
    Claim {
        parent: tag.raw("fs:parent").map(|raw| unescape(raw).into_owned()),
        position: tag.raw("fs:position").and_then(|raw| raw.parse().ok()),
    }
}

/// Appends everything before the first outline.
pub(crate) fn begin(out: &mut String, head: &FeedHead<'_>, declarations: &str) {
    out.push_str("<opml version=\"2.0\"");
    out.push_str(declarations);
    out.push_str("><head>\n");
    let modified = to_rfc822(head.updated);
    for (name, text) in
        [("title", head.title), ("dateModified", &modified), ("ownerName", head.author)]
    {
        out.push_str(&format!("<{name}>"));
        escape_text(out, text);
        out.push_str(&format!("</{name}>\n"));
    }
    if let Some(sharing) = head.sharing {
        push_sharing(out, sharing);
    }
    out.push_str("</head><body>");
}

/// Appends all outlines, nested.
pub(crate) fn push_outlines(out: &mut String, items: &[Item<Payload>], place: &Surroundings) {
    let forest = Forest::new(items);
    for &root in &forest.roots {
        forest.push(out, root, place);
    }
}

/// Items as they show: each under its parent or at the root.
struct Forest<'i> {
    items: &'i [Item<Payload>],
    roots: Vec<usize>,
    children: Vec<Vec<usize>>,
}

impl<'i> Forest<'i> {
    fn new(items: &'i [Item<Payload>]) -> Self {
        let claims: Vec<Claim> = items.iter().map(|item| claim(&item.winner.payload)).collect();
        let index: HashMap<&str, usize> =
            items.iter().enumerate().map(|(index, item)| (item.id.as_str(), index)).collect();
        let mut parents: Vec<Option<usize>> = claims
            .iter()
            .map(|claim| {
                let parent = *index.get(claim.parent.as_deref()?)?;
                (!items[parent].winner.deleted).then_some(parent)
            })
            .collect();
        break_cycles(&mut parents, items);
        let mut forest = Self { items, roots: Vec::new(), children: vec![Vec::new(); items.len()] };
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|&index| {
            (claims[index].position.unwrap_or(u64::MAX), items[index].id.as_str())
        });
        for index in order {
            match parents[index].filter(|_| depth(index, &parents) <= DEEPEST) {
                Some(parent) => forest.children[parent].push(index),
                None => forest.roots.push(index),
            }
        }
        forest
    }

    fn push(&self, out: &mut String, index: usize, place: &Surroundings) {
        out.push('\n');
        push_item(out, &self.items[index], place, |out, place| {
            for &child in &self.children[index] {
                self.push(out, child, place);
            }
        });
    }
}

/// How many ancestors there are, counted no further than matters.
fn depth(index: usize, parents: &[Option<usize>]) -> usize {
    let ancestors = std::iter::successors(parents[index], |&parent| parents[parent]);
    ancestors.take(DEEPEST + 1).count()
}

/// Lifts the lowest id of each cycle to the root.
fn break_cycles(parents: &mut [Option<usize>], items: &[Item<Payload>]) {
    // 0: not seen, otherwise the walk that saw it first.
    let mut seen = vec![0usize; parents.len()];
    for start in 0..parents.len() {
        let walk = start + 1;
        let mut at = Some(start);
        while let Some(index) = at {
            if seen[index] == walk {
                let cycle = std::iter::successors(parents[index], |&next| {
                    (next != index).then(|| parents[next]).flatten()
                });
                let lowest = cycle.min_by_key(|&member| items[member].id.as_str());
                if let Some(lowest) = lowest {
                    parents[lowest] = None;
                }
                break;
            }
            if seen[index] != 0 {
                break;
            }
            seen[index] = walk;
            at = parents[index];
        }
    }
}
