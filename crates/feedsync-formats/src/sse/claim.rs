//! FeedSync's own claim of a position on `sx:sync` (R-S9): `fs:version`, `fs:parent`, `fs:index`. It is valid for one
//! version. A program that does not know the claim and changes the item also changes the version, so the observed
//! position is used again.
//!
//! In FeedSync the position of an outline is part of its payload ([`crate::opml`]), so it is moved from the payload
//! to `sx:sync` and back.

use feedsync_core::sse::{TreePosition, VersionNumber};
use feedsync_core::{ItemId, Payload};

use crate::context::Context;
use crate::opml;
use crate::options::{Limits, Mode};
use crate::payload::{Extraction, OWN, extract, push_attribute};
use crate::xml::{Attribute, Element, Namespace, Tree};

const NAMES: [&str; 4] = ["version", "parent", "index", "self-contained"];

/// Whether an attribute is part of a claim or of the mark that belongs to it.
pub(super) fn is_part(attribute: &Attribute, text: &str) -> bool {
    attribute.namespace() == Namespace::OWN && NAMES.contains(&attribute.local(text))
}

/// Returns the position that an `sx:sync` claims for this version. Returns `None` if there is no claim or it is
/// invalid.
pub(super) fn read(sync: Element<'_, '_>, version: VersionNumber) -> Option<TreePosition> {
    let value = |name| {
        let attribute = sync.attribute(Namespace::OWN, name)?;
        Some(attribute.value(sync.document()))
    };
    if value("version")?.parse() != Ok(version) {
        return None;
    }
    let index = value("index")?.parse().ok()?;
    let parent = value("parent").map(|id| ItemId::new(&id)).transpose().ok()?;
    Some(TreePosition { parent, index })
}

/// Appends the attributes of a claim.
pub(super) fn push(out: &mut String, prefix: &str, version: VersionNumber, place: &TreePosition) {
    push_attribute(out, &format!("{prefix}:version"), &version.to_string());
    if let Some(parent) = &place.parent {
        push_attribute(out, &format!("{prefix}:parent"), parent.as_str());
    }
    push_attribute(out, &format!("{prefix}:index"), &place.index.to_string());
}

/// Returns the position of an outline in FeedSync.
pub(super) fn of_outline(payload: &Payload) -> Option<TreePosition> {
    let opml::Claim { parent, position } = opml::claim(payload);
    let parent = parent.map(|id| ItemId::new(&id)).transpose().ok()?;
    Some(TreePosition { parent, index: position? })
}

/// Returns the payload of an outline as in FeedSync, with its position. A payload that has this position already
/// stays unchanged.
pub(super) fn onto_outline(payload: &Payload, place: &TreePosition) -> Payload {
    if of_outline(payload).as_ref() == Some(place) {
        return payload.clone();
    }
    let mut claims = Vec::new();
    if let Some(parent) = &place.parent {
        claims.push(("parent", parent.to_string()));
    }
    claims.push(("position", place.index.to_string()));
    let text = without_claims(payload.text());
    let Ok((tree, _)) = Tree::parse(&text, Mode::Strict, &Limits::default()) else {
        return payload.clone();
    };
    let root = tree.root();
    let bound = root.attributes().iter().find(|a| a.declared_prefix(&text) == Some("fs"));
    let mut context = Context::default();
    match bound {
        Some(bound) if bound.value(&text) != OWN => return payload.clone(),
        Some(_) => {}
        None => context.declare("fs", OWN.into()),
    }
    let mut out = String::new();
    let extraction = Extraction { cuts: &[], self_contained: true, claims: &claims };
    extract(&mut out, root, &context, extraction);
    payload.with_parsed_text(out)
}

/// Returns a canonical text without its position.
fn without_claims(text: &str) -> String {
    let Ok((tree, _)) = Tree::parse(text, Mode::Strict, &Limits::default()) else {
        return text.to_owned();
    };
    let is_place = |attribute: &&Attribute| {
        attribute.namespace() == Namespace::OWN
            && matches!(attribute.local(text), "parent" | "position")
    };
    let mut out = String::with_capacity(text.len());
    let mut cursor = 0;
    for attribute in tree.root().attributes().iter().filter(is_place) {
        out.push_str(text[cursor..attribute.start()].trim_end());
        cursor = attribute.span().end;
    }
    out.push_str(&text[cursor..]);
    out
}

#[cfg(test)]
mod tests {
    use feedsync_core::Format;

    use super::*;

    #[test]
    fn an_outline_gets_its_place_and_keeps_all_else() {
        let place = TreePosition { parent: Some(ItemId::new("p").unwrap()), index: 5 };
        for text in [
            "<outline text=\"a\"/>",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:x=\"1\" text=\"a\"/>",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:parent=\"q\" fs:position=\"3\" text=\"a\"/>",
            "<outline text=\"a\" position=\"9\" parent=\"r\"/>",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:position=\"3\" text=\"a\" position=\"9\"/>",
        ] {
            let placed = onto_outline(&Payload::from_parsed(Format::Opml, text), &place);
            assert_eq!(of_outline(&placed).as_ref(), Some(&place), "{}", placed.text());
            for part in [" text=\"a\"", " position=\"9\"", " parent=\"r\"", " fs:x=\"1\""] {
                assert_eq!(placed.text().contains(part), text.contains(part), "{}", placed.text());
            }
            assert_eq!(onto_outline(&placed, &place), placed);
        }
    }

    #[test]
    fn an_outline_whose_prefix_means_something_else_stays_as_it_is() {
        let outline =
            Payload::from_parsed(Format::Opml, "<outline xmlns:fs=\"urn:x\" fs:a=\"1\"/>");
        assert_eq!(onto_outline(&outline, &TreePosition { parent: None, index: 0 }), outline);
    }
}
