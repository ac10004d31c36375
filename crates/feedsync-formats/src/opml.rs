//! OPML with FeedSync on outlines at any depth under `body`. The specifications do not define this;
//! it is R-P11.
//!
//! An item is an outline without its child outlines. Its position is part of its payload: the
//! outline has the attributes `fs:parent` (the id of the nearest enclosing item, absent at the
//! root) and `fs:position` (from 0). Outlines of other software lack them and get the observed
//! position. In a document with `fs:self-contained="true"`, an absent attribute means that the
//! outline claims no position. [`crate::outlines`] describes how outlines nest when they are
//! written.

use std::collections::HashMap;

use feedsync_core::{Format, Item, ItemId, Payload};

use crate::atom::ATOM;
use crate::context::Context;
use crate::date::to_rfc822;
use crate::details::{author_element, push_markup, push_texts};
use crate::head::FeedHead;
use crate::items::{Extras, Items};
use crate::payload::{Default, OWN, PayloadTag};
use crate::structure::{End, Role, TagContext};
use crate::sync::{OutputContext, push_item, push_sharing};
use crate::xml::{Element, Namespace, XmlError, escape_text, unescape};

pub(crate) fn role(place: TagContext<'_>) -> Role {
    match (place.path, place.local) {
        ([], _) | ([_], "head") => Role::Container,
        ([_], "body") => Role::Outlines,
        ([_, "head"], "title") if place.namespace == place.root => Role::Title,
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

/// Number of items that were read so far in each parent.
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

/// Position that an outline claims.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Claim {
    /// Id of the parent item, `None` at the root.
    pub(crate) parent: Option<String>,
    /// Index among its siblings. An outline without one comes last.
    pub(crate) position: Option<u64>,
}

/// Reads the claim of a payload.
pub(crate) fn claim(payload: &Payload) -> Claim {
    let tag = PayloadTag::read(payload.text());
    if payload.format() != Format::Opml || tag.raw("xmlns:fs") != Some(OWN) {
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
    for (name, text) in [("title", head.title), ("dateModified", &modified)] {
        out.push_str(&format!("<{name}>"));
        escape_text(out, text);
        out.push_str(&format!("</{name}>\n"));
    }
    author_element(out, head, "<ownerName>", "</ownerName>");
    push_texts(out, head, &format!(" xmlns=\"{ATOM}\""));
    push_markup(out, head, Format::Opml, &Default::None);
    if let Some(sharing) = head.sharing {
        push_sharing(out, sharing);
    }
    out.push_str("</head><body>");
}

/// An outline that was appended up to its end tag.
#[derive(Debug)]
pub(crate) struct Open {
    /// Context inside the outline.
    pub(crate) place: OutputContext,
    /// Text that ends the outline.
    pub(crate) end: String,
}

/// Appends an outline without its end tag, so that others can be nested in it.
pub(crate) fn open(out: &mut String, item: &Item<Payload>, place: &OutputContext) -> Open {
    out.push('\n');
    let mut inside = (out.len(), place.clone());
    push_item(out, item, place, |out, place| inside = (out.len(), place.clone()));
    let (end, place) = inside;
    Open { place, end: out.split_off(end) }
}
